"""The settings in force: defaults, then the user's file, then the project's.

Lists and hooks add up, the user's first; single values are overridden by the project. A project
file is not the user: until the user has trusted these very bytes (trust.py) it may only tighten.
Its deny list, protected paths and hard blocks count, a stricter mode counts, and whatever would
loosen or run something is left out and named, with why. Some keys count in the user's file alone.
"""

from __future__ import annotations

import os

from . import documents, places
from .problems import Problem
from .quiet_hashlib import hexdigest
from .settings_file import parse, read_bytes, read_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .messages import VerdictSettingsLeftOutKey

    # keys, each with a word of WHY
    Reasons = dict[str, str]

DEFAULTS: dict[str, Any] = {
    "timeout": 120,
    "allowlist": [],
    "denylist": [],
    "protected_paths": [],
    "hard_block_patterns": [],
    "mutation_gate": "review",
    "shell_sandbox": "optional",
    "result_budget_chars": 100_000,
    "color": "auto",
    "hooks": {},
    "tools": [],
    "backend": "local",
    "backends": {},
    "clipboard": "auto",
    "mode": "solo",
    "rails": {},
}
# Without a default: absent means "not set".
OPTIONAL = frozenset(
    {"state_dir", "shell", "network", "unix_sockets", "tmp", "devices", "bwrap_path", "rules"}
)
KEYS = frozenset(DEFAULTS) | OPTIONAL

USER_ONLY = frozenset(
    {"state_dir", "shell", "backend", "backends", "clipboard", "network", "unix_sockets", "tmp",
     "devices", "bwrap_path"}
)  # fmt: skip
TIGHTENING_LISTS = ("denylist", "protected_paths", "hard_block_patterns")
STRICTER = {"mutation_gate": ("review", "deny"), "shell_sandbox": ("optional", "strict")}

# Keys this version knows and does not act on, each with the values that ask for nothing. Reviews
# bring shell_sandbox; only the gate looks at it now.
NOT_YET: dict[str, tuple[Any, ...]] = {
    "hooks": ({},),
    "tools": ([],),
    "backends": ({},),
    "mode": ("solo", "focus"),
    "rails": ({},),
    "network": ("host",),
    "unix_sockets": ([],),
    "tmp": ("private",),
    "devices": ([],),
    "bwrap_path": (),
    "rules": ({},),
}
GATE_EVENTS = ("PayloadCaptured", "PreRun", "RunClosed")

# Why a key of a file is without effect, and how a person is told.
WHY = {
    "unknown": "unknown",
    "not-in-this-version": "not in this version",
    "user-only": "counts in the user's own file alone",
    "looser": "looser than what is in force",
    "untrusted": "not trusted",
}


class Settings:
    """Effective values, and what was left out of which file."""

    __slots__ = ("digest", "left_out", "values")

    def __init__(
        self,
        values: dict[str, Any],
        left_out: list[tuple[str, list[VerdictSettingsLeftOutKey]]],
    ) -> None:
        self.values = values
        self.left_out = left_out
        self.digest = hexdigest(documents.encode(dict(sorted(values.items()))))

    def __getitem__(self, key: str) -> Any:
        return self.values[key]

    def get(self, key: str) -> Any:
        """The value of `key`; None when it is not set and has no default."""
        return self.values.get(key)


class ProjectFile:
    """One settings file of a project, as it was read once: its hash and its values are of one text.

    `folder` is the real one, which trust is kept for.
    """

    __slots__ = ("folder", "is_trusted", "path", "sha256", "values")

    def __init__(
        self, path: str, folder: str, sha256: str, values: dict[str, Any], *, is_trusted: bool
    ) -> None:
        self.path = path
        self.folder = folder
        self.sha256 = sha256
        self.values = values
        self.is_trusted = is_trusted


def without_effect(values: dict[str, Any]) -> Reasons:
    """Keys of one file that this version does not act on, whoever's file it is. Pure.

    A misspelt deny list, or a guard that is not there yet, must not look as if it were in force.
    """
    return {
        key: "not-in-this-version" if key in KEYS else "unknown"
        for key, value in values.items()
        if not key.startswith("$")
        and (key not in KEYS or (key in NOT_YET and value not in NOT_YET[key]))
    }


def gate_hook(values: dict[str, Any]) -> str | None:
    """The first hook in one file that decides what may run, such as `hooks.PreRun`. Pure."""
    found = [event for event in GATE_EVENTS if values.get("hooks", {}).get(event)]
    return f"hooks.{found[0]}" if found else None


def refuse_gate_hooks(values: dict[str, Any], path: str) -> None:
    """Refuse settings whose hooks decide what may run: this version runs no hooks.

    Raises Problem("unsupported").
    """
    hook = gate_hook(values)
    if hook is not None:
        raise Problem(
            "unsupported",
            f"{path}: {hook}: this version runs no hooks, and nothing runs unchecked",
            "take the hook out of the file to run without its check",
        )


def of_user(user: dict[str, Any]) -> dict[str, Any]:
    """Effective values when only the user's file counts. Pure; `user` is {} without one."""
    return DEFAULTS | {key: value for key, value in user.items() if key in KEYS}


def merge(
    outer: dict[str, Any], project: dict[str, Any], *, trusted: bool
) -> tuple[dict[str, Any], Reasons]:
    """Effective values with one project file laid over `outer`, and its keys that were left out.

    Pure.
    """
    values = dict(outer)
    ignored: Reasons = {}
    for key, value in project.items():
        if key not in KEYS:
            continue
        if key in TIGHTENING_LISTS:
            values[key] = [*values[key], *value]
        elif key in USER_ONLY:
            ignored[key] = "user-only"
        elif key in STRICTER:
            order = STRICTER[key]
            # the stricter of the two, trusted or not: a project never loosens these (R241)
            if order.index(value) > order.index(values[key]):
                values[key] = value
            elif value != values[key]:
                ignored[key] = "looser"
        elif not trusted:
            if key == "timeout" and value <= values[key]:
                values[key] = value
            else:
                ignored[key] = "untrusted"
        elif key == "hooks":
            values[key] = {
                event: [*values[key].get(event, []), *value.get(event, [])]
                for event in dict.fromkeys([*values[key], *value])
            }
        elif isinstance(DEFAULTS.get(key), list):
            values[key] = [*values[key], *value]
        else:
            values[key] = value
    return values, ignored


def lay_over(outer: dict[str, Any], file: ProjectFile) -> tuple[dict[str, Any], Reasons]:
    """Effective values with `file` laid over `outer`, and why some of its keys have no effect.

    Pure. Where trusting the file would change nothing for a key, the reason is another one.
    """
    values, ignored = merge(outer, file.values, trusted=file.is_trusted)
    return values, {**ignored, **without_effect(file.values)}


def of_project(cwd: str, project: str | None) -> list[ProjectFile]:
    """The project's settings files that count in `cwd`, the root's first.

    Nothing of the state is read when there is none. Raises Problem("settings") when a file or the
    store of what is trusted cannot be understood, Problem("system") when one cannot be read.
    """
    paths = places.project_settings(cwd, project)
    if not paths:
        return []
    from . import trust

    trusted = trust.read(places.state_dir())
    found = []
    for path in paths:
        data = read_bytes(path)
        if data is not None:
            folder = trust.folder_of(path)
            sha256 = hexdigest(data)
            is_trusted = sha256 in trusted.get(folder, ())
            values = parse(data, path)
            found.append(ProjectFile(path, folder, sha256, values, is_trusted=is_trusted))
    return found


def _always_allowed(cwd: str, project: str | None) -> list[str]:
    """The entries a person gave in reviews in this folder, where the project's file had no place.

    Raises Problem("settings") when their store is damaged.
    """
    state = places.state_dir()
    if not os.path.lexists(os.path.join(state, "allowed.json")):
        return []
    from . import allowed

    return allowed.read(state).get(os.path.realpath(project or cwd), [])


def load(cwd: str, project: str | None) -> Settings:
    """The settings in force for a run in `cwd`.

    Raises Problem("settings") when a file cannot be understood, Problem("unsupported") when the
    user's file, or a trusted one, has hooks that decide what may run, Problem("system") when a
    file cannot be read.
    """
    path = places.user_settings()
    user = read_file(path) or {}
    refuse_gate_hooks(user, path)
    values = of_user(user)
    values["allowlist"] = [*values["allowlist"], *_always_allowed(cwd, project)]
    reasons = [(path, without_effect(user))]
    for file in of_project(cwd, project):
        if file.is_trusted:
            refuse_gate_hooks(file.values, file.path)
        values, ignored = lay_over(values, file)
        reasons.append((file.path, ignored))
    left_out: list[tuple[str, list[VerdictSettingsLeftOutKey]]] = [
        (path, [{"key": key, "why": found[key]} for key in sorted(found)])
        for path, found in reasons
        if found
    ]
    return Settings(values, left_out)
