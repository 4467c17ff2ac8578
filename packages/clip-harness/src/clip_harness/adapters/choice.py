"""Which clipboard is used: the one that is named, else the first that can be reached."""

from __future__ import annotations

import sys

from ch_contract.problems import Problem

from .clipboard import FILE_VARIABLE, ClipboardUnavailable, FileClipboard

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from .clipboard import Clipboard

NAME_VARIABLE = "CLIP_HARNESS_CLIPBOARD"

# In the order in which they are looked for; `file` is never guessed.
PROBED = ("wsl", "macos", "wayland", "xclip", "xsel", "tmux", "osc52")
NAMES = ("file", *PROBED)


def choose(setting: str, environment: Mapping[str, str], platform: str = sys.platform) -> Clipboard:
    """The clipboard to use: by variable, else by `setting`, else the first that works.

    `setting` is one of `NAMES` or "auto". Raises Problem("settings") for a name or a value that
    means nothing, ClipboardUnavailable when the one asked for, or every one, cannot be used.
    """
    path = environment.get(FILE_VARIABLE)
    if path:
        return FileClipboard(path)
    name = environment.get(NAME_VARIABLE) or setting
    source = NAME_VARIABLE if environment.get(NAME_VARIABLE) else "the setting clipboard"
    if name == "auto":
        return _first_that_works(environment, platform)
    if name == "file":
        raise Problem(
            "settings",
            f"{source} is 'file', but no file is named",
            f"set {FILE_VARIABLE} to its path",
        )
    if name not in NAMES:
        raise Problem(
            "settings",
            f"{source} is {name!r}, which is no clipboard",
            f"use auto, {', '.join(NAMES)}",
        )
    return _make(name, environment)


def _first_that_works(environment: Mapping[str, str], platform: str) -> Clipboard:
    missing = []
    for name in PROBED:
        reason = _unlikely(name, environment, platform)
        if reason is None:
            try:
                clipboard = _make(name, environment)
                clipboard.probe()
            except ClipboardUnavailable as problem:
                reason = problem.message
            else:
                return clipboard
        missing.append(f"{name} ({reason})")
    raise ClipboardUnavailable(
        f"no clipboard was found; looked for {', '.join(missing)}",
        f"{_remedy(environment)}, or set {FILE_VARIABLE} to a file that serves as the clipboard",
    )


def _unlikely(name: str, environment: Mapping[str, str], platform: str) -> str | None:
    """Why `name` need not be tried here; None when it should be."""
    if name == "wsl":
        inside = environment.get("WSL_DISTRO_NAME") or environment.get("WSL_INTEROP")
        return None if inside else "not inside WSL"
    if name == "macos":
        return None if platform == "darwin" else "not macOS"
    variable = {"wayland": "WAYLAND_DISPLAY", "xclip": "DISPLAY", "xsel": "DISPLAY", "tmux": "TMUX"}
    if name in variable and not environment.get(variable[name]):
        return f"{variable[name]} is not set"
    return None


def _remedy(environment: Mapping[str, str]) -> str:
    if environment.get("WAYLAND_DISPLAY"):
        return "install the package wl-clipboard"
    if environment.get("DISPLAY"):
        return "install the package xclip"
    return "start this from a desktop session with wl-clipboard or xclip installed, or from tmux"


def _make(name: str, environment: Mapping[str, str]) -> Clipboard:
    """The clipboard called `name`. Raises ClipboardUnavailable when its program is missing."""
    if name == "wsl":
        from .wsl import Wsl

        return Wsl(environment)
    if name == "macos":
        from .macos import MacOS

        return MacOS(environment)
    if name == "wayland":
        from .wayland import Wayland

        return Wayland(environment)
    if name in ("xclip", "xsel"):
        from .x11 import Xclip, Xsel

        return Xclip(environment) if name == "xclip" else Xsel(environment)
    from .terminal import Osc52, Tmux

    return Tmux(environment) if name == "tmux" else Osc52(environment)
