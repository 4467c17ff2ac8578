"""Variables whose value the text alone tells.

Decides which names may be folded: those that the text gives a value at one place and uses nowhere
but as `$x` or `${x}` (and `${x[@]}`), so that whatever else could change them would have to spell
the name or be one of the commands that write a variable they are told of. Leaves finding the
assignments, and putting the values into words, to `syntax`.
"""

from __future__ import annotations

import re

from .words import PATTERN, QUOTED, TEXT, Part, Word

# Commands that write a variable whose name they are given, or run a file in this shell; and the
# variables that change how a value is split or where it is looked for.
_DYNAMIC = (
    r"\b(?:source|read|mapfile|readarray|getopts|unset|let|select|nameref|declare|typeset|local"
    r"|integer|float|vared|zparseopts|sysread|zstat|IFS)\b|(?:^|[\s;&|({])\.\s|\bprintf\s+-v"
    r"|\bprint\s+-\w*v|\bwait\s+-\w*p|\bset\s+[-+]A|\bdo\s+\.\s"
)
_ASSIGNED = r"(?<![\w$\"'-])([A-Za-z_]\w*)=(?!=)|\bfor\s+([A-Za-z_]\w*)\s+in\b"
# What gives other positional parameters, or reads them in a place of its own.
_SHIFTING = r"\b(?:shift|function|getopts|source)\b|\(\s*\)|(?:^|[\s;&|({])\.\s"
# A value that an unquoted use would leave one word as it stands.
_WHOLE = r"[\w./:@%+,=~-]*"


def assigned(text: str) -> frozenset[str]:
    """The names that `text` gives a value anywhere, as far as its look tells."""
    if "=" not in text:
        return frozenset()
    return frozenset(re.findall(r"([A-Za-z_]\w*)\+?=", text))


def sets_once(text: str) -> bool:
    """Whether `set -- …` gives the positional parameters their only value in `text`."""
    return len(re.findall(r"\bset\s", text)) == 1 and not re.search(_SHIFTING, text)


def foldable(text: str) -> frozenset[str]:
    """The names in `text` that have one assignment and otherwise only plain uses."""
    if "=" not in text and "for" not in text:
        return frozenset()
    assigned: dict[str, int] = {}
    for found in re.finditer(_ASSIGNED, text):
        name = found.group(1) or found.group(2)
        assigned[name] = assigned.get(name, 0) + 1
    names = [name for name, count in assigned.items() if count == 1]
    if not names or re.search(_DYNAMIC, text):
        return frozenset()
    return frozenset(name for name in names if _is_plain(name, text))


def _is_plain(name: str, text: str) -> bool:
    """Whether the assignment is the only place that names it other than as a plain expansion."""
    # `-f` is an option, whatever the variable f holds
    every = len(re.findall(rf"(?<![\w-]){name}(?!\w)", text))
    plain = len(re.findall(rf"\$(?:{name}(?!\w)(?!\[)|\{{{name}(?:\[[@*]\])?\}})", text))
    return plain > 0 and every == plain + 1


def parts_of(value: Word, source: str, name: str, *, quoted: bool, listed: bool) -> list[Part]:
    """The parts that a use of `name` has, when it holds `value`; `listed` says a loop gave it.

    Where they are not certain the use stays what it is, an expansion of `source`.
    """
    unknown = [Part("parameter", source, quoted=quoted, name=name)]
    if any(part.kind not in (TEXT, QUOTED, PATTERN) for part in value.parts):
        return unknown
    if listed and value.glob:
        # the name of a file that the glob matches, in quotes or not
        return list(value.parts)
    text = "".join(part.text for part in value.parts)
    if value.glob or (not quoted and not re.fullmatch(_WHOLE, text)):
        return unknown
    if value.tilde:
        home, slash, rest = text.partition("/")
        return [Part(TEXT, home), Part(QUOTED, slash + rest)]
    return [Part(QUOTED, text)]
