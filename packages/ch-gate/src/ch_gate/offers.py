"""The allow-list entry that a person may be offered for a command.

Decides which commands have one: a single plain command whose program does what its name says. None
is offered for shells, interpreters, wrappers and whole scripts, where the entry would cover
anything at all (R122).
"""

from __future__ import annotations

from .catalogue import entry
from .patterns import written
from .wrappers import OTHER_SHELLS, SHELLS, interpreter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .commands import Reading

# They run what they are handed, though no table of wrappers has them.
_HANDING = frozenset(
    {"eval", "source", ".", "trap", "xargs", "parallel", "find", "ssh", "make", "npx", "docker",
     "podman", "kubectl", "alias", "hash", "enable", "coproc", "awk", "gawk", "mawk", "nawk", "sed"}
)  # fmt: skip


def entry_for(reading: Reading) -> str | None:
    """The entry that would allow this command and its like from now on; None where none fits."""
    if reading.cause is not None or len(reading.commands) != 1:
        return None
    (command,) = reading.commands
    name, path = command.program, command.path
    if name is None or path is None or command.inner or command.unread or command.assignments:
        return None
    if any(redirect.writes for redirect in command.redirects):
        return None
    if (
        name in SHELLS
        or name in OTHER_SHELLS
        or entry(name).starts is not None
        or entry(name).runs
        or name in _HANDING
    ):
        return None
    if interpreter(name) is not None:
        return None
    return f"{written(path)} *"
