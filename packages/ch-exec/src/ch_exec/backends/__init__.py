"""Where commands run. Every backend is a module here and declares its contract."""

from __future__ import annotations

from ch_contract.problems import Problem

from . import local

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any

BACKENDS = {"local": local}
# What a contract says, in the order it is printed (R143).
TERMS = (
    ("name", "the value of the setting backend"),
    ("modes", "permission modes it knows"),
    ("maximum_noninteractive_mode", "the widest mode without a person at hand"),
    ("isolation", "what the kernel enforces"),
    ("cancel", "how a running command is ended on request"),
    ("timeout", "how a command is ended that takes too long"),
    ("streaming", "how its output can be followed"),
    ("exit_status", "how faithfully the end of the command is told"),
    ("recovery", "what can be known after a crash"),
    ("writable_scope", "where the command may write"),
    ("environment_set", "names of the variables the command is given"),
    ("environment_removed", "names of the variables it does not see; * stands for any rest"),
)


def contract(name: str) -> dict[str, Any]:
    """What the backend `name` promises.

    Raises Problem("system") for an unknown backend and for one that leaves a term open.
    """
    module = find(name)
    promised: dict[str, Any] = getattr(module, "CONTRACT", {})
    missing = [term for term, _ in TERMS if not promised.get(term)]
    if missing or promised["name"] != name:
        raise Problem(
            "system",
            f"the backend {name} does not declare {', '.join(missing) or 'its own name'}",
            "nothing was run; set backend in your settings to local",
        )
    return promised


def find(name: str) -> ModuleType:
    """The backend `name`. Raises Problem("system") when there is none."""
    try:
        return BACKENDS[name]
    except KeyError:
        raise Problem(
            "system",
            f"there is no backend {name}",
            f"set backend in your settings to one of: {', '.join(sorted(BACKENDS))}",
        ) from None
