"""The settings in force: defaults, then the user's file, then the project's.

Lists and hooks add up, the user's first; single values are overridden by the project. A project
file is not the user: until it is trusted it may only tighten. Its deny list, protected paths and
hard blocks count, a stricter mode counts, and whatever would loosen or run something is left out
and named. Some keys count in the user's file alone.
"""

from __future__ import annotations

from . import documents, places
from .problems import Problem
from .quiet_hashlib import hexdigest
from .settings_file import read_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

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


class Settings:
    """Effective values, and what was left out of which file."""

    __slots__ = ("digest", "left_out", "values")

    def __init__(self, values: dict[str, Any], left_out: list[tuple[str, list[str]]]) -> None:
        self.values = values
        self.left_out = left_out
        self.digest = hexdigest(documents.encode(dict(sorted(values.items()))))

    def __getitem__(self, key: str) -> Any:
        return self.values[key]

    def get(self, key: str) -> Any:
        """The value of `key`; None when it is not set and has no default."""
        return self.values.get(key)


def without_effect(values: dict[str, Any]) -> list[str]:
    """Keys of one file that this version does not act on, sorted. Pure.

    A misspelt deny list, or a guard that is not there yet, must not look as if it were in force.
    """
    return sorted(
        key
        for key, value in values.items()
        if not key.startswith("$")
        and (key not in KEYS or (key in NOT_YET and value not in NOT_YET[key]))
    )


def refuse_gate_hooks(values: dict[str, Any], path: str) -> None:
    """Refuse settings whose hooks decide what may run: this version runs no hooks.

    Raises Problem("unsupported").
    """
    found = [event for event in GATE_EVENTS if values.get("hooks", {}).get(event)]
    if found:
        raise Problem(
            "unsupported",
            f"{path}: hooks.{found[0]}: this version runs no hooks, and nothing runs unchecked",
            "take the hook out of the file to run without its check",
        )


def of_user(user: dict[str, Any]) -> dict[str, Any]:
    """Effective values when only the user's file counts. Pure; `user` is {} without one."""
    return DEFAULTS | {key: value for key, value in user.items() if key in KEYS}


def merge(
    outer: dict[str, Any], project: dict[str, Any], *, trusted: bool
) -> tuple[dict[str, Any], list[str]]:
    """Effective values with one project file laid over `outer`, and its keys that were left out.

    Pure.
    """
    values = dict(outer)
    ignored = []
    for key, value in project.items():
        if key not in KEYS:
            continue
        if key in TIGHTENING_LISTS:
            values[key] = [*values[key], *value]
        elif key in USER_ONLY:
            ignored.append(key)
        elif key in STRICTER:
            order = STRICTER[key]
            # the stricter of the two, trusted or not: a project never loosens these (R241)
            if order.index(value) > order.index(values[key]):
                values[key] = value
            elif value != values[key]:
                ignored.append(key)
        elif not trusted:
            if key == "timeout" and value <= values[key]:
                values[key] = value
            else:
                ignored.append(key)
        elif key == "hooks":
            values[key] = {
                event: [*values[key].get(event, []), *value.get(event, [])]
                for event in dict.fromkeys([*values[key], *value])
            }
        elif isinstance(DEFAULTS.get(key), list):
            values[key] = [*values[key], *value]
        else:
            values[key] = value
    return values, sorted(ignored)


def load(cwd: str, project: str | None) -> Settings:
    """The settings in force for a run in `cwd`.

    Raises Problem("settings") when a file cannot be understood, Problem("unsupported") when the
    user's file has hooks that decide what may run.
    """
    path = places.user_settings()
    user = read_file(path) or {}
    refuse_gate_hooks(user, path)
    values = of_user(user)
    left_out = [(path, keys)] if (keys := without_effect(user)) else []
    for path in places.project_settings(cwd, project):
        own = read_file(path) or {}
        # No project file is trusted in this version.
        values, ignored = merge(values, own, trusted=False)
        if keys := sorted({*ignored, *without_effect(own)}):
            left_out.append((path, keys))
    return Settings(values, left_out)
