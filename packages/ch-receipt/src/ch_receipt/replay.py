"""What a terminal line looks like once everything written to it has been written.

Replays carriage return, backspace and the sequences that move or erase within one line; drops
every other escape sequence. Movements over lines are not replayed: what they overwrite stays.
Pure, and linear in the length of the text. Rules: ECMA-48.
"""

from __future__ import annotations

import re

# A string sequence (title, link) ends on its own line or is none: it must not swallow the output.
_SEQUENCE = (
    r"\x1b\[(?P<parameters>[0-?]*)[ -/]*(?P<final>[@-~])"
    r"|\x1b[\]PX^_][^\x07\x1b\n]*(?:\x07|\x1b\\)"
    r"|\x1b[ -/]*[0-~]"
)
_ESCAPES = re.compile(_SEQUENCE)
_TOKENS = re.compile(rf"{_SEQUENCE}|(?P<text>[^\x1b\r\x08]+)|[\r\x08\x1b]")
_BEGUN = re.compile(r"\x1b(?:\[[0-?]*[ -/]*|[\]PX^_][^\x07\x1b\n]*\x1b?|[ -/]*)\Z")
_MOVING = re.compile(r"[\r\x08]|\x1b\[[0-?]*[CDGK]")

_ERASING = re.compile(r"\x1b\[[12]K")

# No sequence that belongs to a cut is looked for further away than this.
REACH = 256


def replay(text: str) -> str:
    """`text` with every line in its last state."""
    if not _MOVING.search(text):
        return _ESCAPES.sub("", text)
    return "\n".join(_line(line) for line in text.split("\n"))


def _line(line: str) -> str:
    line = line.rstrip("\r")
    if not _MOVING.search(line):
        return _ESCAPES.sub("", line)
    cells: list[str] = []
    cursor = 0
    for token in _TOKENS.finditer(line):
        written = token["text"]
        if written is not None:
            cells[cursor : cursor + len(written)] = written
            cursor += len(written)
        elif token[0] == "\r":
            cursor = 0
        elif token[0] == "\b":
            cursor = max(0, cursor - 1)
        elif token[0] == "\x1b":
            cells[cursor : cursor + 1] = "\x1b"
            cursor += 1
        elif token["final"] is not None:
            cursor = _move(cells, cursor, token["final"], token["parameters"])
    text = "".join(cells)
    # what was erased behind the last character is nothing to see
    return text.rstrip(" ") if _ERASING.search(line) else text


def _move(cells: list[str], cursor: int, final: str, parameters: str) -> int:
    """Obey one control sequence; gives where the cursor is afterwards.

    The cursor stays within what was written, so that a short sequence can't make a long line.
    """
    if parameters and not (parameters.isdigit() and len(parameters) <= 6):
        return cursor
    number = int(parameters or 0)
    if final == "K":
        if not number:
            del cells[cursor:]
        elif number == 1:
            cells[:cursor] = " " * cursor
        elif number == 2:
            cells[:] = " " * cursor
    elif final == "G":
        return min(max(number, 1) - 1, len(cells))
    elif final == "D":
        return max(0, cursor - max(number, 1))
    elif final == "C":
        if cursor == len(cells):
            cells.append(" ")
        return min(cursor + max(number, 1), len(cells))
    return cursor


def without_begun(text: str) -> str:
    """`text` without a sequence that its end cuts off."""
    begun = _BEGUN.search(text[-REACH:])
    return text[: len(text) - len(begun[0])] if begun else text


def without_rest(before: str, text: str) -> str:
    """`text` without the rest of a sequence that began in `before`, which it follows."""
    begun = _BEGUN.search(before[-REACH:])
    if begun is None:
        return text
    whole = _ESCAPES.match(begun[0] + text[:REACH])
    return text[max(0, whole.end() - len(begun[0])) :] if whole else text
