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


class _Cells:
    """The cells of one line: what was written into each, and the time of it.

    What is erased in front of the cursor is not blanked at once, which would cost as much as the
    line is long each time: it is noted, and whatever is older than that is blank in the end.
    """

    __slots__ = ("characters", "cursor", "erased", "now", "times")

    def __init__(self) -> None:
        self.characters: list[str] = []
        self.times: list[int] = []
        self.erased: dict[int, int] = {}  # end of an erased front -> when it last was
        self.cursor = 0
        self.now = 0

    def write(self, text: str) -> None:
        """Put `text` where the cursor is."""
        end = self.cursor + len(text)
        self.characters[self.cursor : end] = text
        self.times[self.cursor : end] = [self.now] * len(text)
        self.cursor = end

    def cut(self) -> None:
        """Erase from the cursor to the end."""
        del self.characters[self.cursor :]
        del self.times[self.cursor :]

    def blank(self) -> None:
        """Erase everything in front of the cursor."""
        self.now += 1
        self.erased[self.cursor] = self.now

    def text(self) -> str:
        """What is to be seen."""
        if not self.erased:
            return "".join(self.characters)
        shown = []
        length = len(self.characters)
        since = max((now for place, now in self.erased.items() if place > length), default=0)
        for place in range(length, 0, -1):
            since = max(since, self.erased.get(place, 0))
            shown.append(self.characters[place - 1] if self.times[place - 1] >= since else " ")
        return "".join(reversed(shown))


def _line(line: str) -> str:
    line = line.rstrip("\r")
    if not _MOVING.search(line):
        return _ESCAPES.sub("", line)
    cells = _Cells()
    for token in _TOKENS.finditer(line):
        written = token["text"]
        if written is not None:
            cells.write(written)
        elif token[0] == "\r":
            cells.cursor = 0
        elif token[0] == "\b":
            cells.cursor = max(0, cells.cursor - 1)
        elif token[0] == "\x1b":
            cells.write("\x1b")
        elif token["final"] is not None:
            _obey(cells, token["final"], token["parameters"])
    text = cells.text()
    # what was erased behind the last character is nothing to see
    return text.rstrip(" ") if _ERASING.search(line) else text


def _obey(cells: _Cells, final: str, parameters: str) -> None:
    """Obey one control sequence.

    The cursor stays within what was written, so that a short sequence can't make a long line.
    """
    if parameters and not (parameters.isdigit() and len(parameters) <= 6):
        return
    number = int(parameters or 0)
    length = len(cells.characters)
    if final == "K":
        if number in (0, 2):
            cells.cut()
        if number in (1, 2):
            cells.blank()
    elif final == "G":
        cells.cursor = min(max(number, 1) - 1, length)
    elif final == "D":
        cells.cursor = max(0, cells.cursor - max(number, 1))
    elif final == "C":
        if cells.cursor == length:
            cells.characters.append(" ")
            cells.times.append(cells.now)
        cells.cursor = min(cells.cursor + max(number, 1), len(cells.characters))


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
