"""Where a text that is not in a file nearly is, and the first character that differs.

Pure, and linear in the size of the file: whole lines are looked up, not compared pairwise.
"""

from __future__ import annotations

import re
from itertools import compress, count

# Lines that stand all over a file say nothing about the place.
COMMON = 50
SHOWN = 30
# What viewers put before a line: a number, then a bar, an arrow, a tab or blanks.
_GUTTER = re.compile(r"[ \t]*[0-9]+(?:[ \t]*[|:→│] ?|\t|[ ]{2,})")
RESEND = "copy the exact text from the file and send the edit again"


def describe(text: str, wanted: str) -> str:
    """What a person or a model needs to send it right the next time."""
    text, wanted = text.replace("\r\n", "\n"), wanted.replace("\r\n", "\n")
    rows = wanted.split("\n")
    lines = text.split("\n")
    if not lines[-1]:
        lines.pop()
    numbered = _numbered(text, rows)
    if numbered is not None:
        return numbered
    start = _start(lines, rows)
    if start is None:
        start = _by_word(text, rows)
    if start is None:
        return f"nothing like it is in the file; {RESEND}"
    nearest = f"the nearest text is on line {start + 1}"
    for offset, row in enumerate(rows):
        number = start + offset
        is_last = offset == len(rows) - 1
        if number >= len(lines):
            if is_last and not row:
                break
            return (
                f"{nearest}; the file ends on line {len(lines)},"
                f" where old_string goes on with {_shown(row, 0)}; {RESEND}"
            )
        line = lines[number]
        is_first = not offset
        if line == row or (is_last and not is_first and line.startswith(row)):
            continue
        if is_first and not is_last and line.endswith(row):
            continue
        left, right = _difference(line, row) if is_first else (0, 0)
        same = _common(line[left:], row[right:])
        left, right = left + same, right + same
        return (
            f"{nearest}; on line {number + 1}, column {left + 1}, the file has"
            f" {_shown(line, left)} and old_string has {_shown(row, right)}; {RESEND}"
        )
    if text and not text.endswith("\n") and start + len(rows) > len(lines):
        return f"{nearest}, but the file has no newline at its end; {RESEND}"
    return f"{nearest}; {RESEND}"


def _numbered(text: str, rows: list[str]) -> str | None:
    """What to say of line numbers that were copied along; None when there are none."""
    said = [row for row in rows if row.strip()]
    if not said or not all(_GUTTER.match(row) for row in said):
        return None
    plain = "\n".join(_GUTTER.sub("", row, count=1) for row in rows)
    place = text.find(plain) if plain.strip() else -1
    if place < 0 and len(said) == 1:
        return None
    where = (
        ""
        if place < 0
        else f"; the text behind them is on line {text.count(chr(10), 0, place) + 1}"
    )
    return f"line numbers seem to have been copied along{where}; {RESEND} without them"


def _key(line: str) -> str:
    """A line without what copying damages: blanks."""
    return "".join(line.split())


def _start(lines: list[str], rows: list[str]) -> int | None:
    """The line (from 0) where most of `rows` would stand; None when nothing is like them."""
    where: dict[str, list[int]] = {_key(row): [] for row in rows}
    where.pop("", None)
    alike = {line: key for line in set(lines) if (key := _key(line)) in where}
    for number in compress(count(), map(alike.__contains__, lines)):
        found = where[alike[lines[number]]]
        if len(found) < COMMON:
            found.append(number)
        else:
            # those that follow are looked at no more
            del alike[lines[number]]
    votes: dict[int, int] = {}
    for offset, row in enumerate(rows):
        for number in where.get(_key(row), ()):
            if number >= offset:
                votes[number - offset] = votes.get(number - offset, 0) + 1
    return max(votes, key=lambda start: (votes[start], -start)) if votes else None


def _words(row: str) -> list[str]:
    """The words of a line that can tell a place, the longest first."""
    return sorted(set(re.findall(r"\w{3,}", row)), key=lambda word: (-len(word), word))


def _by_word(text: str, rows: list[str]) -> int | None:
    """The place by the longest words, where no whole line is the same."""
    words = [
        (-len(word), offset, word)
        for offset, row in enumerate(rows[:50])
        for word in _words(row[:10_000])[:10]
    ]
    for _length, offset, word in sorted(words)[:10]:
        place = text.find(word)
        if place >= 0:
            return max(0, text.count("\n", 0, place) - offset)
    return None


def _difference(line: str, row: str) -> tuple[int, int]:
    """Where to begin comparing: a text may begin in the middle of a line.

    The longest word that both have is laid over itself; what is before it in `row` comes first.
    """
    if _key(row) == _key(line):
        return 0, 0
    for word in _words(row[:10_000])[:10]:
        place = line.find(word)
        if place >= 0:
            return max(0, place - row.index(word)), 0
    return 0, 0


def _common(line: str, row: str) -> int:
    """How many characters two lines have in common at the beginning."""
    low, high = 0, min(len(line), len(row))
    while low < high:
        middle = (low + high + 1) // 2
        if line.startswith(row[low:middle], low):
            low = middle
        else:
            high = middle - 1
    return low


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
