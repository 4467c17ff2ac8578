"""The words of a command: what the program will receive, as far as the text alone says it.

Decides how quoting is taken off and how braces expand, and what is known of a word before it
runs. Leaves finding the words to `syntax`, and what they mean to whoever judges. A word is a row
of parts; only literal parts are known.
"""

from __future__ import annotations

import re

from .deadline import Unreadable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

# Unquoted text: `*`, `?`, `[`, `~` and braces in it are active.
TEXT = "text"
# Quoted or escaped text: every character stands for itself.
QUOTED = "quoted"
# `$x`, `${x}` and its forms; `name` holds the parameter's name.
PARAMETER = "parameter"
# `$(…)`, backticks.
SUBSTITUTION = "substitution"
# `<(…)` and `>(…)`: the word is the name of a pipe.
PROCESS = "process"
ARITHMETIC = "arithmetic"
# `@(a|b)` and its kin.
PATTERN = "pattern"

BRACES_LIMIT = 512


class Part:
    """One piece of a word.

    `text` is what the program receives for TEXT and QUOTED, and the source otherwise. `quoted`
    says whether the piece stands in double quotes, so that it can't split into several words.
    """

    __slots__ = ("kind", "name", "quoted", "text")

    def __init__(self, kind: str, text: str, *, quoted: bool = False, name: str = "") -> None:
        self.kind = kind
        self.text = text
        self.quoted = quoted
        self.name = name

    def __repr__(self) -> str:
        return f"Part({self.kind}, {self.text!r})"


class Word:
    """One word as written.

    `value` is the one string the program receives, None when that depends on the run: an
    expansion, a glob. A leading `~` stays in `value`, with `tilde` set. `start` and `end` count
    characters of the text that was judged; `source` is what stands there or, in a nested program,
    in that program's text.
    """

    __slots__ = ("end", "glob", "parts", "source", "start", "tilde", "value")

    def __init__(self, parts: Sequence[Part], start: int, end: int, source: str) -> None:
        self.parts = tuple(parts)
        self.start = start
        self.end = end
        self.source = source
        known = True
        glob = False
        pieces = []
        for part in self.parts:
            if part.kind == TEXT:
                glob = glob or _is_glob(part.text)
                pieces.append(part.text)
            elif part.kind == QUOTED:
                pieces.append(part.text)
            elif part.kind == PATTERN:
                glob = True
            else:
                known = False
        self.glob = glob
        self.value = "".join(pieces) if known and not glob else None
        first = self.parts[0] if self.parts else None
        self.tilde = first is not None and first.kind == TEXT and first.text.startswith("~")

    def __repr__(self) -> str:
        return f"Word({self.source!r})"

    @property
    def literal(self) -> bool:
        """Whether the text alone says what the program receives."""
        return self.value is not None

    @property
    def pattern(self) -> str | None:
        """The word as a glob, its quoted signs escaped by a backslash; None with an expansion."""
        pieces = []
        for part in self.parts:
            if part.kind == TEXT:
                pieces.append(part.text.replace("\\", "\\\\"))
            elif part.kind == QUOTED:
                pieces.append(re.sub(r"([*?\[\]\\])", r"\\\1", part.text))
            elif part.kind == PATTERN:
                pieces.append("*")
            else:
                return None
        return "".join(pieces)

    @property
    def prefix(self) -> str:
        """The literal text before the first thing that is not known."""
        pieces = []
        for part in self.parts:
            if part.kind not in (TEXT, QUOTED):
                break
            pieces.append(part.text)
        return "".join(pieces)

    @property
    def may_split(self) -> bool:
        """Whether the shell may make several words, or none, of it."""
        return self.glob or any(
            part.kind in (PARAMETER, SUBSTITUTION) and not part.quoted for part in self.parts
        )

    @property
    def names(self) -> list[str]:
        """The parameters it holds."""
        return [part.name for part in self.parts if part.kind == PARAMETER]


def _is_glob(text: str) -> bool:
    """Whether unquoted text holds a sign of a glob.

    A bracket may close in a later piece; at the very end it is the word `[` or a plain sign.
    """
    return "*" in text or "?" in text or "[" in text[:-1]


def made(text: str, like: Word) -> Word:
    """A literal word that stands where `like` stands."""
    return Word([Part(QUOTED, text)], like.start, like.end, text)


def unquoted(text: str) -> list[Part]:
    """The parts of unquoted text: a backslash quotes the character after it."""
    if "\\" not in text:
        return [Part(TEXT, text)]
    parts = []
    for run in re.finditer(r"[^\\]+|\\(?:\n|(.)|$)", text, re.DOTALL):
        piece = run.group(0)
        if piece[0] != "\\":
            parts.append(Part(TEXT, piece))
        elif run.group(1) is not None:
            parts.append(Part(QUOTED, run.group(1)))
        elif piece == "\\":
            parts.append(Part(QUOTED, piece))
    return parts


def double_quoted(text: str) -> str:
    """Text in double quotes: a backslash quotes `$`, a backtick, `"` and itself, nothing else."""
    return re.sub(r'\\([$`"\\])', r"\1", text.replace("\\\n", ""))


def here_document(text: str) -> str:
    """The body of an unquoted here-document, between its expansions."""
    return re.sub(r"\\([$`\\])", r"\1", text.replace("\\\n", ""))


_ANSI = (
    r"\\(?:([abeEfnrtv\\'\"?])|x([0-9A-Fa-f]{1,2})|u([0-9A-Fa-f]{1,4})|U([0-9A-Fa-f]{1,8})"
    r"|([0-7]{1,3})|c(.))"
)
_NAMED = {"a": 7, "b": 8, "e": 27, "E": 27, "f": 12, "n": 10, "r": 13, "t": 9, "v": 11}


def ansi_c(text: str) -> str:
    r"""Text in `$'…'`. A NUL ends it, as in the shells that read it."""
    out = bytearray()
    position = 0
    for found in re.finditer(_ANSI, text, re.DOTALL):
        out += text[position : found.start()].encode("utf-8", "surrogateescape")
        position = found.end()
        named, hexadecimal, short, long, octal, control = found.groups()
        if named:
            out += bytes([_NAMED.get(named, ord(named))])
        elif hexadecimal:
            out.append(int(hexadecimal, 16))
        elif short or long:
            code = int(short or long, 16)
            if code > 0x10FFFF or 0xD800 <= code < 0xE000:
                raise Unreadable("it holds a character escape that names no character")
            out += chr(code).encode()
        elif octal:
            out.append(int(octal, 8) & 255)
        else:
            out.append(ord(control) & 0x1F if ord(control) < 128 else 63)
        if out[-1] == 0:
            del out[-1]
            return out.decode("utf-8", "surrogateescape")
    out += text[position:].encode("utf-8", "surrogateescape")
    return out.decode("utf-8", "surrogateescape")


# -- braces ------------------------------------------------------------------------------------

# A cell is one unquoted character, or a part that braces cannot look into.
_SEQUENCE = r"(-?\d+)\.\.(-?\d+)(?:\.\.(-?\d+))?|([A-Za-z])\.\.([A-Za-z])(?:\.\.-?\d+)?"


def expand_braces(parts: list[Part]) -> list[list[Part]]:
    """The rows of parts that brace expansion makes of `parts`.

    Raises Unreadable when there are more than BRACES_LIMIT.
    """
    if not any(part.kind == TEXT and "{" in part.text for part in parts):
        return [parts]
    cells: list[str | Part] = []
    for part in parts:
        if part.kind == TEXT:
            cells += part.text
        else:
            cells.append(part)
    budget = [BRACES_LIMIT]
    rows = _expand(cells, budget)
    return [_joined(row) for row in rows]


def _joined(cells: list[str | Part]) -> list[Part]:
    parts: list[Part] = []
    run: list[str] = []
    for cell in cells:
        if isinstance(cell, str):
            run.append(cell)
            continue
        if run:
            parts.append(Part(TEXT, "".join(run)))
            run = []
        parts.append(cell)
    if run:
        parts.append(Part(TEXT, "".join(run)))
    return parts


def _expand(cells: list[str | Part], budget: list[int]) -> list[list[str | Part]]:
    opening = 0
    while True:
        while opening < len(cells) and cells[opening] != "{":
            opening += 1
        if opening == len(cells):
            budget[0] -= 1
            if budget[0] < 0:
                raise Unreadable(f"its braces make more than {BRACES_LIMIT} words")
            return [cells]
        choices = _choices(cells, opening)
        if choices is not None:
            break
        opening += 1
    alternatives, closing = choices
    before = cells[:opening]
    tails = _expand(cells[closing + 1 :], budget)
    rows = []
    for alternative in alternatives:
        for middle in _expand(alternative, budget):
            for tail in tails:
                rows.append([*before, *middle, *tail])
                if len(rows) > BRACES_LIMIT:
                    raise Unreadable(f"its braces make more than {BRACES_LIMIT} words")
    return rows


def _choices(cells: list[str | Part], opening: int) -> tuple[list[list[str | Part]], int] | None:
    """The alternatives of the brace at `opening` and where it closes; None when it is no brace."""
    level = 0
    cuts = [opening]
    for position in range(opening, len(cells)):
        cell = cells[position]
        if cell == "{":
            level += 1
        elif cell == "," and level == 1:
            cuts.append(position)
        elif cell == "}":
            level -= 1
            if level:
                continue
            if len(cuts) > 1:
                cuts.append(position)
                count = len(cuts) - 1
                return [cells[cuts[i] + 1 : cuts[i + 1]] for i in range(count)], position
            counted = _counted(cells[opening + 1 : position])
            return None if counted is None else (counted, position)
    return None


def _counted(cells: list[str | Part]) -> list[list[str | Part]] | None:
    """The alternatives of `{1..3}` and `{a..c}`; None when it is neither."""
    if not all(isinstance(cell, str) for cell in cells):
        return None
    found = re.fullmatch(_SEQUENCE, "".join(str(cell) for cell in cells))
    if found is None:
        return None
    if found.group(4):
        first, last, step = ord(found.group(4)), ord(found.group(5)), 1
    else:
        first, last = int(found.group(1)), int(found.group(2))
        step = abs(int(found.group(3) or 1)) or 1
    if abs(last - first) // step >= BRACES_LIMIT:
        raise Unreadable(f"its braces make more than {BRACES_LIMIT} words")
    numbers = range(first, last + 1, step) if first <= last else range(first, last - 1, -step)
    if found.group(4):
        return [[chr(number)] for number in numbers]
    width = max(
        (len(end) for end in (found.group(1), found.group(2)) if re.match(r"-?0\d", end)),
        default=0,
    )
    return [list(f"{number:0{width}d}") for number in numbers]
