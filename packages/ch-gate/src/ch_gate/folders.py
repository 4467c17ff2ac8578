"""In which folder each command of a text stands.

Follows `cd` and `pushd` through the text: what a subshell does stays in it, a `cd` in a branch or
a loop may have happened or not, one that is certain is believed to succeed. Options such as `-C`
move one command alone. Where nobody can tell, there is no folder.
"""

from __future__ import annotations

from .commands import FUNCTION, SAME, STARTED, WRAPPED
from .paths import target
from .words import made

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .commands import Command, Reading
    from .paths import Facts
    from .words import Word

LIMIT = 16
MOVERS = frozenset({"cd", "chdir", "pushd", "popd"})
# They change to the folder of -C (or a long option) before they do anything.
_CHANGING = frozenset({"git", "tar", "make", "env", "ninja", "gmake", "gtar", "bsdtar"})
_LONG = ("--directory", "--chdir", "--cwd", "--working-directory")
# Variables that say where `cd` leads; a text that writes one leads nobody knows where.
_STEERING = frozenset({"CDPATH", "HOME", "OLDPWD", "PWD"})


class Folders:
    """The folders a command may stand in, for every command of one reading."""

    __slots__ = ("_facts", "_moves", "_moving", "_steered")

    def __init__(self, reading: Reading, facts: Facts) -> None:
        self._facts = facts
        self._moves = [
            (number, command)
            for number, command in enumerate(reading.commands)
            if command.program in MOVERS
        ]
        numbers = {id(command): number for number, command in enumerate(reading.commands)}
        self._moving = numbers if self._moves else {}
        self._steered = any(
            item.name in _STEERING for command in reading.commands for item in command.assignments
        )

    def at(self, command: Command) -> tuple[str, ...] | None:
        """The absolute folders that `command` may stand in; None where nobody can tell."""
        folders = self._of_shell(command)
        chain = [command]
        while chain[-1].outer is not None and chain[-1].how in (WRAPPED, STARTED, SAME):
            chain.append(chain[-1].outer)
        for step in reversed(chain):
            place = own_folder(step)
            if place is not None:
                folders = self._entered(place, folders)
        return folders

    def _of_shell(self, command: Command) -> tuple[str, ...] | None:
        folders: tuple[str, ...] | None = (self._facts.cwd,)
        if not self._moves:
            return folders
        own = self._moving.get(id(command), 0)
        for number, move in self._moves:
            if number >= own:
                break
            depth = len(move.scope)
            if command.scope[:depth] != move.scope:
                continue
            entered = self._moved(move, folders)
            if move.contexts and (
                FUNCTION in move.contexts or command.contexts[: len(move.contexts)] != move.contexts
            ):
                # it may not have happened
                if entered is None or folders is None:
                    folders = None
                else:
                    folders = tuple(dict.fromkeys((*folders, *entered)))
            else:
                folders = entered
            if folders is not None and len(folders) > LIMIT:
                folders = None
        return folders

    def _moved(self, move: Command, folders: tuple[str, ...] | None) -> tuple[str, ...] | None:
        if self._steered or move.program == "popd" or move.appended:
            return None
        words = [word for word in move.words[1:] if word.value not in ("-P", "-L", "-e", "--")]
        if not words:
            return (self._facts.home,) if move.program != "pushd" else None
        value = words[0].value
        if len(words) > 1 or (value is not None and value.startswith(("-", "+"))):
            return None
        return self._entered(words[0], folders)

    def _entered(self, place: Word, folders: tuple[str, ...] | None) -> tuple[str, ...] | None:
        """The folders that `place` names, seen from `folders`."""
        known = place.pattern or ""
        if folders is None and not (place.tilde or known.startswith("/")):
            return None
        if self._steered and (place.tilde or place.names):
            return None
        found = target(place, self._facts, folders or (self._facts.cwd,))
        return tuple(found.paths) if found.known else None


def own_folder(command: Command) -> Word | None:
    """The word of the folder that an option of `command` names for it alone."""
    name = command.program
    words = command.words
    for position, word in enumerate(words[1:], 1):
        text = word.value if word.value is not None else word.prefix
        if text in _LONG or (name in _CHANGING and text == "-C"):
            return words[position + 1] if words[position + 1 :] else None
        if text.startswith(tuple(f"{option}=" for option in _LONG)):
            return made(text.partition("=")[2], word) if word.literal else word
        if name in _CHANGING and text.startswith("-C") and len(text) > 2:
            return made(text[2:], word) if word.literal else word
        if name == "sudo" and text == "-D":
            return words[position + 1] if words[position + 1 :] else None
    return None
