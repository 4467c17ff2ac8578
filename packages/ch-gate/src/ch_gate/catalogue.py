"""What programs are and what they change: the catalogue in `programs/`, as data.

Decides nothing: it gives an `Entry` for a program's name. A family of programs is one file, read
when the first of its names is asked for; `index.json` says which, and is derived from them. A name
that stands nowhere gets an empty entry: a program that reads, builds or tests.

A class says how far a command reaches. In rising order: `read`, `write-preserving` (something new,
nothing is overwritten), `write`, `privilege` (as somebody else, or the machine), `network` (what
leaves this machine, or comes in), `destructive`, and `opaque` (nobody can tell beforehand).
"""

from __future__ import annotations

import json
import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

CLASSES = (
    "read", "write-preserving", "write", "privilege", "network", "destructive", "opaque",
)  # fmt: skip

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "programs")


class Rule:
    """When a program changes something, and what.

    grade     the class of the change
    kind      as in `effects`: Write, Edit, Delete or Create
    targets   which operands are changed, as in `effects`
    when      options one of which must stand there; empty: always
    unless    options with which it changes nothing
    values    options whose value is a changed path; `-` is standard output
    acts      options that change something which is no file, wherever the files are
    valued    short options that take a value (the rest of the word, or the next word)
    attached  short options that take the rest of the word only
    long      long options that take a value, without their dashes
    """

    __slots__ = (
        "acts", "attached", "grade", "kind", "long", "targets", "unless", "valued", "values",
        "when",
    )  # fmt: skip

    def __init__(self, row: dict[str, Any]) -> None:
        self.grade: str = row["class"]
        self.kind: str = row["kind"]
        self.targets: str = row["targets"]
        self.when: tuple[str, ...] = tuple(row.get("when", ()))
        self.unless: tuple[str, ...] = tuple(row.get("unless", ()))
        self.values: tuple[str, ...] = tuple(row.get("values", ()))
        self.acts: tuple[str, ...] = tuple(row.get("acts", ()))
        self.valued: str = row.get("valued", "")
        self.attached: str = row.get("attached", "")
        self.long: frozenset[str] = frozenset(row.get("long", ()))


class Wrapper:
    """How a program's arguments lead to the command it starts.

    valued, attached, long  as in `options.scan`
    operands     how many operands come before the command
    assignments  whether NAME=VALUE words may come before it
    lookup       options with which it starts nothing
    script       options whose value is a text for a shell
    joined       the arguments are joined by blanks and given to a shell
    appended     further arguments come at run time
    transparent  the command runs as it would alone: an allow-list entry for it counts
    """

    __slots__ = (
        "appended", "assignments", "attached", "joined", "long", "lookup", "operands", "script",
        "transparent", "valued",
    )  # fmt: skip

    def __init__(self, row: dict[str, Any]) -> None:
        self.valued: str = row.get("valued", "")
        self.attached: str = row.get("attached", "")
        self.long: frozenset[str] = frozenset(row.get("long", ()))
        self.operands: int = row.get("operands", 0)
        self.assignments: bool = row.get("assignments", False)
        self.lookup: tuple[str, ...] = tuple(row.get("lookup", ()))
        self.script: tuple[str, ...] = tuple(row.get("script", ()))
        self.joined: bool = row.get("joined", False)
        self.appended: bool = row.get("appended", False)
        self.transparent: bool = row.get("transparent", False)


class Tasks:
    """Tasks that a project defines and a program runs by name.

    after     the words that stand before a task's name; "" where it comes at once
    shown     options with which a task is only shown
    several   whether one call may name several
    installs  whether a task `install` puts files into the system
    """

    __slots__ = ("after", "installs", "several", "shown")

    def __init__(self, row: dict[str, Any]) -> None:
        self.after: tuple[str, ...] = tuple(row["after"])
        self.shown: tuple[str, ...] = tuple(row.get("shown", ()))
        self.several: bool = row.get("several", False)
        self.installs: bool = row.get("installs", False)


class Entry:
    """What the catalogue says of one program.

    grade    the class it has whatever it is told; `read` where it says nothing
    rule     what it changes by its options and operands; None for none
    rows     first operands that change something (`*` is any operand), each with its class
    options  options that change something wherever they stand, each with its class
    valued, long  its options before a subcommand that take a value
    tasks    None when it runs none
    traits   see `is_a`
    starts   how it starts the command in its arguments; None when it does not
    runs     the subcommands that start a command ("" is the program alone)
    before   options before those subcommands that take a value: short ones, long ones
    """

    __slots__ = (
        "before", "grade", "long", "options", "rows", "rule", "runs", "starts", "tasks", "traits",
        "valued",
    )  # fmt: skip

    def __init__(self, row: dict[str, Any]) -> None:
        self.grade: str = row.get("class", "read")
        self.rule = Rule(row["change"]) if "change" in row else None
        self.rows = _by_class(row.get("subcommands", {}))
        self.options = _by_class(row.get("options", {}))
        self.valued: str = row.get("valued", "")
        self.long: frozenset[str] = frozenset(row.get("long", ()))
        self.tasks = Tasks(row["tasks"]) if "tasks" in row else None
        self.traits: frozenset[str] = frozenset(row.get("traits", ()))
        self.starts = Wrapper(row["starts"]) if "starts" in row else None
        self.runs = {name: Wrapper(own) for name, own in row.get("runs", {}).items()}
        before = row.get("before", {})
        self.before: tuple[str, frozenset[str]] = (
            before.get("valued", ""), frozenset(before.get("long", ())),
        )  # fmt: skip


def _by_class(table: dict[str, list[str]]) -> tuple[tuple[str, str], ...]:
    return tuple((row, grade) for grade, rows in table.items() for row in rows)


_EMPTY = Entry({})
_families: dict[str, str] = {}
_entries: dict[str, Entry] = {}


def entry(name: str | None) -> Entry:
    """What the catalogue says of the program `name`; an empty entry when it says nothing."""
    if name is None:
        return _EMPTY
    found = _entries.get(name)
    if found is None:
        family = families().get(name)
        if family is None:
            found = entry("mkfs") if name.startswith("mkfs.") else _EMPTY
            _entries[name] = found
        else:
            _load(family)
            found = _entries[name]
    return found


def is_a(name: str | None, trait: str) -> bool:
    """Whether the program `name` has a trait.

    reads     it only reads or names what it is given; told otherwise, it has a rule
    talks     words after it are text: a verb among them is no command
    names     it names files without showing what is in them, or names none
    searches  its first operand is a pattern or a program, the others are files
    fetches   it asks other machines
    filters   without an operand it reads standard input
    idles     a word of the shell that touches nothing outside it
    cloud     a client whose verbs tell what it changes
    sql       a client that is given statements
    """
    return trait in entry(name).traits


def families() -> dict[str, str]:
    """The family of every program's name."""
    if not _families:
        for family, names in _read("index").items():
            _families.update(dict.fromkeys(names.split(), family))
    return _families


def _load(family: str) -> None:
    for row in _read(family)["programs"]:
        made = Entry(row)
        for name in row["names"]:
            _entries[name] = made


def _read(name: str) -> Any:
    with open(os.path.join(FOLDER, f"{name}.json"), encoding="utf-8") as file:
        return json.load(file)
