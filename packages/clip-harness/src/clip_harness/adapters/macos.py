"""The clipboard of macOS, through pbcopy and pbpaste.

Decides the locale they run in, and how an empty pasteboard differs from one without text. Leaves
running the programs to bounded.py.
"""

from __future__ import annotations

import contextlib

from .bounded import Programs, failed
from .clipboard import Clipboard, ClipboardEmpty, ClipboardNotText, ClipboardUnavailable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

# Both convert by locale, and what a hotkey or launchd starts has none: the text would become
# MacRoman or question marks. LC_ALL is above LC_CTYPE, which is above LANG.
LOCALE = "en_US.UTF-8"
TEXT_CLASSES = ("string", "Unicode text", "utf8", "ut16")
COUNT = 'ObjC.import("AppKit"); $.NSPasteboard.generalPasteboard.changeCount'


class MacOS(Clipboard):
    """The general pasteboard."""

    __slots__ = ("_copy", "_paste", "_programs")

    name = "macos"

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._programs = Programs({**environment, "LC_ALL": LOCALE})
        self._copy = self._programs.path("pbcopy")
        self._paste = self._programs.path("pbpaste")

    def _get(self) -> bytes:
        answer = self._programs.ask(self._paste, "-Prefer", "txt")
        if answer.code != 0:
            raise failed("pbpaste", answer)
        if not answer.data:
            self._explain_nothing()
        return answer.data

    def _explain_nothing(self) -> None:
        """Ask what there is: for an image too pbpaste prints nothing and succeeds."""
        info = self._programs.ask(self._programs.path("osascript"), "-e", "clipboard info")
        if info.code != 0:
            raise failed("osascript", info)
        said = info.data.decode("utf-8", "replace").strip()
        if said and not any(name in said for name in TEXT_CLASSES):
            kinds = [word for word in said.split(", ") if not word.isdigit()]
            raise ClipboardNotText(f"the clipboard holds no text but {', '.join(kinds[:3])}")
        raise ClipboardEmpty

    def _put(self, data: bytes) -> None:
        # how pbcopy reads a file is not documented, so its exit code alone counts
        code = self._programs.hand(data, self._copy, counted=False)
        if code != 0:
            raise ClipboardUnavailable(f"pbcopy could not take the text (exit code {code})")

    def change(self) -> str | None:
        """The pasteboard's own count of changes; None when it cannot be had."""
        with contextlib.suppress(ClipboardUnavailable):
            program = self._programs.path("osascript")
            answer = self._programs.ask(program, "-l", "JavaScript", "-e", COUNT)
            count = answer.data.decode("ascii", "replace").strip()
            if answer.code == 0 and count.isdigit():
                return count
        return None
