"""Lines that got into a shell text and belong to something else: they would run as commands.

When fences are lost in copying, the content of a file, a diff, a result or another block ends up
below a command. No such line is a sane command, so the whole text is refused. Lines of a
here-document are data; which lines those are is told cautiously: in doubt they are none.
"""

from __future__ import annotations

import bisect
import re

from ch_contract.problems import Problem

from . import header, own, repairs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_SIGNS = r"\u00a0\u2007\u202f\u200b\u200c\u200d\u2060\ufeff>*+\u2022`_-"
_CHANGE = (
    rf"(?im)^(?![ \t])[ \t{_SIGNS}]*(?:path|op|replace_all|old_string|new_string)"
    r"[ \t\u00a0*_`]*[:\uff1a]"
)
# Indented, one such key may be data in quotes; two of them are a change.
_INDENTED = (
    r"(?im)^[ \t]+path[ \t]*:[^\n]*\n[ \t]*(?:(?:op|replace_all|old_string)[ \t]*:|--- )"
    r"|^[ \t]+old_string:[ \t]*$"
)
_FENCE = r"(?m)^[ \t\u00a0\u200b\ufeff>]*(?:```|~~~)"
_DIFF = r"(?m)^(?:diff --git |@@+ -[0-9]|--- [^\n]*\n\+\+\+ )"
_QUOTED = r">[ \t]+[^ \t\n]+[ \t]+(?![0-9]>)[\w./~$-]"
_LIST_SIGNS = ("- ", "* ", "+ ", "\u2022 ")

# The pieces of one line as far as `<<WORD` goes: what may hold a false one is passed over whole.
# A double-quoted string with a substitution in it is not, since it may hold a real one.
_PIECES = (
    r"""[^'"\\#(<\s;&|]+|'[^'\n]*'|"(?:[^"\\\n$`]|\\[^\n])*"|\\[^\n]"""
    r"""|(?:^|(?<=[\s;&|()]))\#[^\n]*|\(\([^\n]*|<<<"""
    r"""|<<(?P<dash>-?)[ \t]*(?:(?P<quote>['"])(?P<quoted>\w+)(?P=quote)|\\?(?P<plain>\w+))"""
)
_WORD_ALONE = r"(?m)^(\t*)(\w+)$"

# Of what ends a here-document; and how many are looked for: it bounds what a hostile text costs.
LONGEST_WORD = 80
MOST = 100

_CHANGE_WORDS = (
    "a file change without its own fence stands in the command: the content of a file must not run",
    (
        "send the command in a shell block and the change in a file, patch or edit block; if the "
        "line is data, hand it over in a here-document"
    ),
)
_FENCE_WORDS = (
    "a fence stands in the command",
    "put the header inside the block, below its fence line, and only commands below the header",
)
_DIFF_WORDS = (
    "a diff stands in the command: its lines must not run",
    "send a diff in a patch block, with path: above it",
)
_STATUS_WORDS = (
    "the status line of a result stands in the command: what a command printed must not run",
    "send the commands alone, without their output",
)
_MARKED_WORDS = (
    "the text is marked as reading matter: its blocks are examples",
    "copy the block that is meant alone",
)


def refuse(command: str, line: int) -> None:
    """Refuse `command`, whose first line has the number `line`, if it holds a stray line.

    Raises Problem("malformed").
    """
    _refuse_beginning(command, line)
    data: list[tuple[int, int]] | None = None
    for found, message, hint in (
        (_changes(command), *_CHANGE_WORDS),
        (_matches(command, ("```", "~~~"), _FENCE), *_FENCE_WORDS),
        (_matches(command, ("diff --git ", "@@ -", "\n+++ "), _DIFF), *_DIFF_WORDS),
        (own.status_lines(command), *_STATUS_WORDS),
        (own.marked_lines(command), *_MARKED_WORDS),
    ):
        if found and data is None:
            data = here_documents(command)
        offset = _first_outside(sorted(found), data or [])
        if offset is not None:
            raise Problem("malformed", message, hint, line + command.count("\n", 0, offset))


def _refuse_beginning(command: str, line: int) -> None:
    """Refuse a command that begins with what a quotation or a list puts before a line."""
    start = repairs.first_line(command)
    first, after = repairs.take_line(command, start)
    number = line + command.count("\n", 0, start)
    first = first.lstrip(repairs.BLANKS).replace("\t", " ", 1)
    if first.startswith(_LIST_SIGNS):
        raise Problem(
            "malformed",
            f"the command begins with a list sign: {header.shown(first.strip())}",
            "send the commands without it",
            number,
        )
    if not first.startswith(">"):
        return
    rest = command[after:]
    is_all = rest.strip() and all(
        text.lstrip(repairs.BLANKS).startswith(">") for text in rest.split("\n") if text.strip()
    )
    if is_all or re.match(_QUOTED, first):
        raise Problem(
            "malformed",
            f"the command looks quoted: {header.shown(first.strip())}",
            "send it without the sign >; a redirection goes behind its command",
            number,
        )


def _changes(command: str) -> list[int]:
    if ":" not in command and "\uff1a" not in command:
        return []
    found = [match.start() for match in re.finditer(_CHANGE, command)]
    return found + [match.start() for match in re.finditer(_INDENTED, command)]


def _matches(command: str, signs: tuple[str, ...], pattern: str) -> list[int]:
    if not any(sign in command for sign in signs):
        return []
    return [match.start() for match in re.finditer(pattern, command)]


def _first_outside(offsets: list[int], ranges: list[tuple[int, int]]) -> int | None:
    """The first of the ascending `offsets` in none of the ascending `ranges`."""
    position = 0
    for offset in offsets:
        while position < len(ranges) and ranges[position][1] <= offset:
            position += 1
        if position == len(ranges) or offset < ranges[position][0]:
            return offset
    return None


def here_documents(command: str) -> list[tuple[int, int]]:
    """Where the bodies of the here-documents in `command` begin and end, in their order.

    Only those that are closed, since a text may have been cut, and the first `MOST`.
    """
    if "<<" not in command:
        return []
    exact: dict[str, list[int]] = {}
    behind_tabs: dict[str, list[int]] = {}
    for match in re.finditer(_WORD_ALONE, command):
        tabs, word = match.groups()
        behind_tabs.setdefault(word, []).append(match.start())
        if not tabs:
            exact.setdefault(word, []).append(match.start())
    found: list[tuple[int, int]] = []
    position = tried = 0
    while tried < MOST:
        sign = command.find("<<", position)
        line_end = command.find("\n", sign)
        if sign < 0 or line_end < 0:
            break
        line = command[max(position, command.rfind("\n", position, sign) + 1) : line_end]
        position = line_end + 1
        for word, is_indented in _openers(line):
            tried += 1
            ends = (behind_tabs if is_indented else exact).get(word, [])
            index = bisect.bisect_left(ends, position)
            if index == len(ends) or tried > MOST:
                break
            found.append((position, ends[index]))
            line_end = command.find("\n", ends[index])
            position = len(command) if line_end < 0 else line_end + 1
    return found


def _openers(line: str) -> Iterator[tuple[str, bool]]:
    """The words that end the here-documents opened on `line`, and whether tabs may precede them."""
    for match in re.finditer(_PIECES, line[: line.rfind("<<") + LONGEST_WORD]):
        word = match["quoted"] or match["plain"]
        if word:
            yield word, bool(match["dash"])
