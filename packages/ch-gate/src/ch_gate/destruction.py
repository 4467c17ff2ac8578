"""Floor: what is destroyed outside the project, or cannot be told beforehand.

Decides what a destructive command reaches: its operands, seen from the folder it stands in, with
links on the disk followed. Inside are the project and what lies in a temporary folder. A target
that only the run can tell is unprovable, and so is a destructive verb in a text that is.
"""

from __future__ import annotations

import re

from . import rules
from .commands import STARTED
from .findings import Finding, met, shown
from .mutations import CHANGES
from .paths import is_known, is_within, landings, may_match, target
from .words import PARAMETER, Word, made

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .commands import Command, Reading
    from .folders import Folders
    from .mutations import Effect
    from .paths import Facts

    # words, each with the text to take off its start
    Targets = list[tuple[Word, str]]

VERBS = frozenset(
    {
        "rm",
        "rmdir",
        "unlink",
        "srm",
        "shred",
        "truncate",
        "dd",
        "mkfs",
        "wipefs",
        "mkswap",
        "blkdiscard",
    }
)
# They write through a link; the others remove the link itself.
_FOLLOWING = frozenset({"shred", "truncate", "dd", "mkfs", "wipefs", "mkswap"})
_FINDERS = frozenset({"find", "gfind", "bfs"})
_FDS = frozenset({"fd", "fdfind"})
# What a text that cannot be read would have to hold.
VERB_IN_TEXT = (
    r"(?<![\w./-])(?:/\S*/)?(?:rm|rmdir|unlink|shred|truncate|mkfs(?:\.\w+)?|wipefs)(?=\s)"
    r"|(?<![\w./-])dd\s+\S*=|\s-delete\b"
)
# Folders of the system: whatever lies there is somebody's.
_SYSTEM = (
    "/bin", "/boot", "/dev", "/etc", "/lib", "/lib32", "/lib64", "/opt", "/proc", "/root", "/run",
    "/sbin", "/srv", "/sys", "/usr", "/var", "/Applications", "/Library", "/System",
)  # fmt: skip
_STREAMS = r"/dev/(?:null|zero|full|stdin|stdout|stderr|tty|fd/\d+|pts/\d+|shm/.*)"
_SHELLS = frozenset({"sh", "bash", "dash", "ash", "zsh", "ksh", "mksh", "eval", "source", "."})


def found_in(
    reading: Reading, changes: list[Effect], folders: Folders, facts: Facts
) -> list[Finding]:
    """The findings of outside-project-destruction and unprovable-destruction."""
    out: list[Finding] = []
    homeless = any(
        item.name in ("HOME", "PWD") for command in reading.commands for item in command.assignments
    )
    for effect in changes:
        if effect.what != CHANGES:
            continue
        command = effect.command
        judged = destroyed(command, effect)
        if judged is None:
            continue
        words, verb = judged
        if verb:
            out += _unprovable(command, words, reading, homeless=homeless)
        if words is not None:
            out += _outside(command, words, folders, facts, verb=verb)
    for command in reading.commands:
        if command.words and command.words[0].glob and _may_be_verb(command.words[0]):
            operands = [w for w in command.words[1:] if not (w.value or w.prefix).startswith("-")]
            targets = [(word, "") for word in operands]
            found = _outside(command, targets, folders, facts, verb=True)
            said = f"which program {shown(command.words[0].source, 40)} is"
            out += found or [_deny(command, rules.UNPROVABLE_DESTRUCTION, said)]
        if command.words and command.path is None and not command.words[0].glob:
            out += _unknown_verb(command, folders, facts)
        if command.unread and command.program in _SHELLS:
            hit = re.search(VERB_IN_TEXT, " ".join(item.text for item in command.unread))
            hit = hit or re.search(VERB_IN_TEXT, command.source)
            if hit:
                out.append(_deny(command, rules.UNPROVABLE_DESTRUCTION, "a text it would run"))
    return out


def _unknown_verb(command: Command, folders: Folders, facts: Facts) -> list[Finding]:
    """A program known only at run time that is told to go through something outside by force."""
    words = command.words[1:]
    forced = any(re.fullmatch(r"-[a-zA-Z]*[rRf][a-zA-Z]*", word.value or "") for word in words)
    operands = [word for word in words if (word.value or "").startswith(("/", "~", ".."))]
    if not forced or not _outside(command, [(w, "") for w in operands], folders, facts, verb=True):
        return []
    said = f"what {shown(command.words[0].source, 40)} is"
    return [_deny(command, rules.UNPROVABLE_DESTRUCTION, said)]


def _may_be_verb(word: Word) -> bool:
    """Whether a glob in the place of a program may be the path of a destructive one."""
    folder, _, name = (word.pattern or "").rpartition("/")
    return bool(folder) and any(may_match(name, verb) for verb in VERBS)


def destroyed(command: Command, effect: Effect) -> tuple[Targets | None, bool] | None:
    """What a command destroys, and whether by a verb that does nothing else; None for nothing.

    The words are None when they come at run time.
    """
    name = command.program or ""
    name = "mkfs" if name.startswith("mkfs.") else name
    if name in VERBS:
        if command.how == STARTED and command.outer is not None:
            return _handed(command, effect), True
        return effect.targets, True
    if name in _FINDERS:
        deletes = any(word.value == "-delete" for word in command.words)
        return (roots(command), True) if deletes else None
    if name == "rsync" and any((word.value or "").startswith("--del") for word in command.words):
        local = [word for word in command.words[-1:] if ":" not in (word.value or "")]
        return [(word, "") for word in local], False
    if name == "cp" and any(word.value == "/dev/null" for word in command.words[1:-1]):
        return [(command.words[-1], "")], False
    # a redirect that empties a file
    if not effect.why and any(
        redirect.writes and ">>" not in redirect.op and redirect.op != "<>"
        for redirect in command.redirects
    ):
        emptied = [redirect.target for redirect in command.redirects if redirect.writes]
        targets = effect.targets or []
        if targets and all(any(word is own for own in emptied) for word, _ in targets):
            return targets, False
    return None


def roots(command: Command) -> Targets | None:
    """The folders a find command looks through; None when they come at run time."""
    if any(word.value == "-files0-from" for word in command.words):
        return None
    found = []
    for word in command.words[1:]:
        text = word.value if word.value is not None else word.prefix
        if text in ("-H", "-L", "-P", "--") or re.fullmatch(r"-O\d|-D", text):
            continue
        if text.startswith(("-", "(", "!")):
            break
        found.append((word, ""))
    return found or [(made(".", command.words[0]), "")]


def _handed(command: Command, effect: Effect) -> Targets | None:
    """The targets of a verb that another program starts with what it finds."""
    outer = command.outer
    while outer is not None and outer.how == STARTED:
        outer = outer.outer
    if outer is None or outer.program not in (*_FINDERS, *_FDS):
        return None
    own = [pair for pair in effect.targets or () if "{" not in (pair[0].value or "")]
    if outer.program in _FDS:
        from .options import scan

        operands = scan(outer.words[1:], "dtesSxXEcjgop").operands
        places = [(word, "") for word in operands[1:]]
        return [*(places or [(made(".", outer.words[0]), "")]), *own]
    found = roots(outer)
    return None if found is None else [*found, *own]


def _unprovable(
    command: Command,
    words: Targets | None,
    reading: Reading,
    *,
    homeless: bool,
) -> list[Finding]:
    if words is None:
        absent = not command.appended and command.how != STARTED
        said = "its targets: none is named" if absent else "targets that come at run time"
        return [_deny(command, rules.UNPROVABLE_DESTRUCTION, said)]
    for word, _strip in words:
        if _is_fresh(word, reading):
            continue
        moved = homeless and (word.tilde or {"HOME", "PWD"}.intersection(word.names))
        if moved or (word.pattern is None and not is_known(word)):
            said = f"the target {shown(word.source, 60)}"
            return [_deny(command, rules.UNPROVABLE_DESTRUCTION, said)]
    return []


def _is_fresh(word: Word, reading: Reading) -> bool:
    """Whether the word is a variable that holds a file or folder just made by mktemp."""
    return (
        len(word.parts) == 1
        and word.parts[0].kind == PARAMETER
        and word.parts[0].name in reading.temporary
    )


def _outside(
    command: Command,
    words: Targets,
    folders: Folders,
    facts: Facts,
    *,
    verb: bool,
) -> list[Finding]:
    bases = folders.at(command)
    follow = not verb or command.program in _FOLLOWING or (command.program or "")[:4] == "mkfs"
    for word, strip in words:
        text = (word.pattern or "")[len(strip) :]
        absolute = text.startswith(("/", "~"))
        if bases is None and not absolute and word.pattern is not None:
            if verb:
                said = f"{shown(word.source, 60)} in a folder that is known only then"
                return [_deny(command, rules.UNPROVABLE_DESTRUCTION, said)]
            continue
        found = target(word, facts, bases or (facts.cwd,), strip)
        if word.tilde and not found.known and verb:
            return [_deny(command, rules.OUTSIDE_DESTRUCTION, "another user's home")]
        for path in landings(found, facts, follow=follow):
            if is_inside(path, facts) or re.fullmatch(_STREAMS, path):
                continue
            if verb or _is_somebodys(path, facts):
                return [_deny(command, rules.OUTSIDE_DESTRUCTION, shown(path, 200))]
    return []


def _is_somebodys(path: str, facts: Facts) -> bool:
    """Whether overwriting the file destroys something: it exists, or lies where the system's do."""
    if any(is_within(path, folder) for folder in _SYSTEM):
        return not any(is_within(path, folder) for folder in facts.temporary)
    return facts.exists(path)


def is_inside(path: str, facts: Facts) -> bool:
    """Whether the absolute `path` is in the project, or in a temporary folder and not that one."""
    if facts.project is not None and is_within(path, facts.real(facts.project)):
        return True
    return any(
        is_within(path, place) and path != place
        for folder in facts.temporary
        for place in (folder, facts.real(folder))
    )


def _deny(command: Command, rule: str, detail: str) -> Finding:
    where = {
        rules.OUTSIDE_DESTRUCTION: f"it reaches {detail}, outside the project",
        rules.UNPROVABLE_DESTRUCTION: f"only the run would tell {detail}",
    }[rule]
    return met(rule, "deny", command, detail=detail, note=where, source="floor")
