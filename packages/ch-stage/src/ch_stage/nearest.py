"""Where a text that is not in a file nearly is, and the first character that differs.

Pure, and linear in the size of the file: whole lines are looked up, not compared pairwise.
"""

from __future__ import annotations

import re

# Lines that stand all over a file say nothing about the place.
COMMON = 50
SHOWN = 30
_NUMBERED = re.compile(r"\s*[0-9]+(?:\s*[|:→│]|\t|\s{2,})")
RESEND = "copy the exact text from the file and send the edit again"


def describe(text: str, wanted: str) -> str:
    """What a person or a model needs to send it right the next time."""
    rows = wanted.replace("\r\n", "\n").split("\n")
    said = [row for row in rows if row.strip()]
    if len(said) > 1 and all(_NUMBERED.match(row) for row in said):
        return f"line numbers seem to have been copied along; {RESEND} without them"
    lines = text.replace("\r\n", "\n").split("\n")
    start = _start(lines, rows)
    if start is None:
        return f"nothing like it is in the file; {RESEND}"
    for offset, row in enumerate(rows):
        number = start + offset
        if number >= len(lines):
            return (
                f"it nearly stands on line {start + 1}, but the file ends on line {len(lines)}"
                f" where it goes on with {_shown(row, 0)}; {RESEND}"
            )
        if lines[number] != row:
            is_last = offset == len(rows) - 1
            if is_last and offset and lines[number].startswith(row):
                continue
            column = _common(lines[number], row)
            return (
                f"the nearest text is on line {start + 1}; on line {number + 1},"
                f" column {column + 1}, the file has {_shown(lines[number], column)}"
                f" and old_string has {_shown(row, column)}; {RESEND}"
            )
    return f"the nearest text is on line {start + 1}; {RESEND}"


def _key(line: str) -> str:
    """A line without what copying damages: blanks."""
    return "".join(line.split())


def _start(lines: list[str], rows: list[str]) -> int | None:
    """The line (from 0) where most of `rows` would stand; None when nothing is like them."""
    keys = {_key(row) for row in rows} - {""}
    where: dict[str, list[int]] = {}
    for number, line in enumerate(lines):
        key = _key(line)
        if key in keys:
            found = where.setdefault(key, [])
            if len(found) <= COMMON:
                found.append(number)
    votes: dict[int, int] = {}
    for offset, row in enumerate(rows):
        for number in where.get(_key(row), ()):
            if number >= offset:
                votes[number - offset] = votes.get(number - offset, 0) + 1
    if votes:
        return max(votes, key=lambda start: (votes[start], -start))
    return _by_word(lines, rows)


def _by_word(lines: list[str], rows: list[str]) -> int | None:
    """The place by the longest words, where no whole line is the same."""
    words = sorted(
        {
            (len(word), word, offset)
            for offset, row in enumerate(rows[:50])
            for word in re.findall(r"\w{3,}", row)
        },
        key=lambda found: (-found[0], found[2], found[1]),
    )
    for _length, word, offset in words[:10]:
        number = next((n for n, line in enumerate(lines) if word in line), None)
        if number is not None:
            return max(0, number - offset)
    return None


def _common(line: str, row: str) -> int:
    """How many characters two lines have in common at the beginning."""
    for column, (one, other) in enumerate(zip(line, row, strict=False)):
        if one != other:
            return column
    return min(len(line), len(row))


def _shown(line: str, column: int) -> str:
    """A piece of a line around `column`, with tabs and blanks that can be seen."""
    start = max(0, column - SHOWN // 2)
    piece = line[start : start + SHOWN]
    if not piece:
        return "an empty line" if not line else "the end of the line"
    signs = {"\t": "→", " ": "·"}
    seen = "".join(
        signs.get(sign, sign if sign.isprintable() else f"<U+{ord(sign):04X}>") for sign in piece
    )
    before = "…" if start else ""
    after = "…" if start + SHOWN < len(line) else ""
    return f"“{before}{seen}{after}”"
