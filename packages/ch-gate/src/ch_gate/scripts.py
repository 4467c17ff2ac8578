"""The little languages that stand in arguments: awk programs and sed scripts.

Decides which files such a text writes and whether it starts programs. Leaves finding the text to
`script_text` and its callers, and judging to `policy`. Where the two readings of a text differ
between dialects the one that reveals more is taken; what can't be read is `unclear`.
"""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from .words import Word

# Stands in a script for a piece that is known only at run time.
HOLE = "\ufffc"

# Names that are no files of anybody.
STREAMS = frozenset(
    {"/dev/stdout", "/dev/stderr", "/dev/null", "/dev/tty", "/dev/fd/1", "/dev/fd/2", "-"}
)


class Script:
    """What a script does.

    writes   the names of the files it writes; None for one that is known only at run time
    runs     whether it starts other programs
    unclear  whether it could not be read to its end
    """

    __slots__ = ("runs", "unclear", "writes")

    def __init__(self) -> None:
        self.writes: list[str | None] = []
        self.runs = False
        self.unclear = False


def script_text(word: Word) -> str | None:
    """The text of a script given as one word, HOLE for each unknown piece; None without any.

    A script that another program prints is not known at all.
    """
    if word.value is not None:
        return word.value
    pieces = []
    for part in word.parts:
        if part.kind in ("text", "quoted"):
            pieces.append(part.text)
        elif part.kind in ("substitution", "process", "pattern") or word.may_split:
            return None
        else:
            pieces.append(HOLE)
    text = "".join(pieces)
    return text if text.strip(HOLE + " ") else None


# -- awk -------------------------------------------------------------------------------------------

_AWK_PIECE = (
    r"[ \t\r]+|\\\r?\n|\#[^\n]*|\"(?:[^\"\\]|\\.)*+\"|[A-Za-z_]\w*|(?:\d|\.\d)[\w.]*"
    r"|&&|\|\||\|&|>>|[<>=!]=|\+\+|--|\n|."
)
# Nothing here is tried twice (`*+`): a hostile text costs no more than a plain one.
_CLASS = r"\[([:.=])(?:(?!\1\])[^\n]){1,30}+\1\]"
_AWK_REGEX = rf"/(?:[^/\\\n\[]|\\.|\[\^?+\]?+(?:{_CLASS}|[^\]\\\n]|\\.)*+\])*+/"
_AWK_BARE = r"/(?:[^/\\\n]|\\.)*+/"
# After these a slash starts a regular expression; after any other word it divides.
_AWK_KEYWORDS = frozenset(
    {"print", "printf", "return", "in", "if", "while", "for", "else", "do", "case", "delete",
     "exit", "BEGIN", "END", "switch"}
)  # fmt: skip
_AWK_CONDITIONS = frozenset({"if", "while", "for", "switch"})
# After these a new line does not end the statement.
_AWK_OPEN = frozenset({",", "{", "&&", "||", "?", ":", "do", "else"})


def awk(text: str) -> Script:
    """What the awk program `text` writes and starts."""
    return _either(_awk, text)


def _either(read: Callable[[str, bool], Script], text: str) -> Script:
    """Both readings of `text`: a slash in a bracket expression ends the expression, or does not.

    A reading that fails is no program in the dialects that read it so.
    """
    found = read(text, True)
    if "[" not in text:
        return found
    other = read(text, False)
    if other.unclear:
        return found
    if found.unclear:
        return other
    found.writes += [name for name in other.writes if name not in found.writes]
    found.runs = found.runs or other.runs
    return found


def _awk(text: str, brackets: bool) -> Script:
    found = Script()
    tokens = _awk_tokens(text, found, _AWK_REGEX if brackets else _AWK_BARE)
    printing: int | None = None  # the depth of brackets at which a print statement stands
    depth = 0
    for position, sign in enumerate(tokens):
        if sign in ("print", "printf"):
            printing = depth
        elif sign in ("(", "["):
            depth += 1
        elif sign in (")", "]"):
            depth = max(0, depth - 1)
        elif sign in (";", "}", "{"):
            printing, depth = None, 0
        elif sign == "\n":
            if not (position and tokens[position - 1] in _AWK_OPEN):
                printing, depth = None, 0
        elif sign in (">", ">>") and printing is not None and depth <= printing:
            name = _awk_target(tokens[position + 1 : position + 3])
            if name is None or name not in STREAMS:
                found.writes.append(name)
        elif sign in ("|", "|&", "system"):
            found.runs = True
        elif sign == "@" and tokens[position + 1 : position + 2] != ["include"]:
            # @load, and a call of the function that a variable names
            found.runs = True
    return found


def _awk_target(tokens: list[str]) -> str | None:
    """The file behind `>`, when one plain string names it."""
    if not tokens or not tokens[0].startswith('"') or HOLE in tokens[0]:
        return None
    if tokens[1:] and tokens[1] not in (";", "}", "\n"):
        return None
    name = tokens[0][1:-1]
    return None if "\\" in name else name


def _awk_tokens(text: str, found: Script, expression: str) -> list[str]:
    """The tokens without blanks and comments; a regular expression is one token."""
    plain = re.compile(_AWK_PIECE, re.DOTALL)
    regex = re.compile(expression, re.DOTALL)
    tokens: list[str] = []
    brackets: list[bool] = []  # for each open parenthesis: whether it holds a condition
    closed_condition = False
    position = 0
    while position < len(text):
        last = tokens[-1] if tokens else "\n"
        if text[position] == "/" and _awk_regex_may_start(last, closed=closed_condition):
            hit = regex.match(text, position)
            if hit is None or last == "getline":
                found.unclear = True
                return tokens
            tokens.append("/regex/")
            position = hit.end()
            continue
        hit = plain.match(text, position)
        if hit is None:
            found.unclear = True
            return tokens
        piece = hit.group(0)
        position = hit.end()
        if piece[0] in " \t\r\\#" and piece != "\\":
            continue
        if piece in ('"', "\\"):
            # a string without an end
            found.unclear = True
        closed_condition = False
        if piece == "(":
            brackets.append(last in _AWK_CONDITIONS)
        elif piece == ")" and brackets:
            closed_condition = brackets.pop()
        tokens.append(piece)
    return tokens


def _awk_regex_may_start(last: str, *, closed: bool) -> bool:
    if last == ")":
        return closed
    if last == "getline":
        return True
    if last[0].isalpha() or last[0] == "_":
        return last in _AWK_KEYWORDS
    return not (last[0].isdigit() or last[0] in '."])$' + HOLE or last in ("++", "--", "/regex/"))


# -- sed -------------------------------------------------------------------------------------------

# One address: a line, the last line, a step, a regular expression with its flags.
_SED_LINE = rf"(?:[\d{HOLE}]+(?:~[\d{HOLE}]+)?|\$|[+~][\d{HOLE}]+)"
_SED_PLAIN = frozenset("=dDgGhHnNpPxzF")
_SED_LABELS = frozenset("btT:")
_SED_NUMBERS = frozenset("lLqQ")


class _Sed:
    """Reads a sed script command by command."""

    def __init__(self, text: str, found: Script, *, brackets: bool) -> None:
        self.text = text
        self.found = found
        self.brackets = brackets
        self.at = 0

    def skip(self, signs: str) -> None:
        while self.at < len(self.text) and self.text[self.at] in signs:
            self.at += 1

    def next(self) -> str:
        """The character at the place, taken; empty at the end."""
        sign = self.text[self.at : self.at + 1]
        self.at += 1
        return sign

    def line(self) -> str:
        """The rest of the line, taken."""
        end = self.text.find("\n", self.at)
        end = len(self.text) if end < 0 else end
        rest = self.text[self.at : end]
        self.at = end
        return rest

    def until(self, limit: str, *, regex: bool) -> bool:
        """Take everything up to an unescaped `limit`; False when there is none."""
        while self.at < len(self.text):
            sign = self.next()
            if sign == limit:
                return True
            if sign == "\\":
                self.at += 1
            elif sign == "[" and regex and self.brackets and not self.bracket():
                return False
        return False

    def bracket(self) -> bool:
        """Take a bracket expression, in which the limit stands for itself; False without an end."""
        hit = re.compile(rf"\^?+\]?+(?:{_CLASS}|[^\]\n])*+\]").match(self.text, self.at)
        if hit is not None:
            self.at = hit.end()
        return hit is not None

    def address(self) -> bool:
        """Take an address if one stands here; False when it can't be read."""
        hit = re.compile(_SED_LINE).match(self.text, self.at)
        if hit is not None:
            self.at = hit.end()
            return True
        sign = self.text[self.at : self.at + 1]
        if sign not in ("/", "\\"):
            return True
        self.at += 1
        limit = "/" if sign == "/" else self.next()
        if not limit or not self.until(limit, regex=True):
            return False
        self.skip("IM")
        return True

    def command(self) -> bool:
        """Take one command with its addresses; False when it can't be read."""
        self.skip(" \t\r\n;")
        if self.at >= len(self.text):
            return True
        if not self.address():
            return False
        self.skip(" \t")
        if self.text[self.at : self.at + 1] == ",":
            self.at += 1
            self.skip(" \t")
            if not self.address():
                return False
        self.skip(" \t!")
        verb = self.next()
        if verb in _SED_PLAIN or verb in ("{", "}"):
            return True
        if verb == "#" or verb in ("r", "R", "v"):
            self.line()
            return True
        if verb in _SED_LABELS:
            self.skip(" \t")
            while self.at < len(self.text) and self.text[self.at] not in " \t;\n}":
                self.at += 1
            return True
        if verb in _SED_NUMBERS:
            self.skip(" \t0123456789" + HOLE)
            return True
        if verb in ("a", "i", "c"):
            return self.inserted()
        if verb in ("w", "W"):
            self.writes(self.line())
            return True
        if verb == "e":
            self.found.runs = True
            self.line()
            return True
        if verb == "y":
            limit = self.next()
            return self.until(limit, regex=False) and self.until(limit, regex=False)
        return verb == "s" and self.substitute()

    def inserted(self) -> bool:
        """The text of `a`, `i` and `c`: to the end of the line, and on after a backslash."""
        while True:
            rest = self.line()
            stripped = rest.rstrip("\\")
            if (len(rest) - len(stripped)) % 2 == 0 or self.at >= len(self.text):
                return True
            self.at += 1

    def substitute(self) -> bool:
        limit = self.next()
        if limit in ("", "\n", "\\", HOLE):
            return False
        if not (self.until(limit, regex=True) and self.until(limit, regex=False)):
            return False
        while self.at < len(self.text):
            flag = self.text[self.at]
            if flag == "w":
                self.at += 1
                self.writes(self.line())
                return True
            if flag == "e":
                self.found.runs = True
            elif flag in "};\n" or flag in "# \t\r":
                self.skip(" \t\r")
                return self.text[self.at : self.at + 1] in ("", ";", "}", "\n", "#")
            elif flag not in "gpiImM0123456789":
                return False
            self.at += 1
        return True

    def writes(self, rest: str) -> None:
        name = rest.strip(" \t\r")
        if HOLE in name:
            self.found.writes.append(None)
        elif name not in STREAMS:
            self.found.writes.append(name)


def sed(text: str) -> Script:
    """What the sed script `text` writes and starts."""
    return _either(_sed, text)


def _sed(text: str, brackets: bool) -> Script:
    found = Script()
    reader = _Sed(text, found, brackets=brackets)
    while reader.at < len(text):
        before = reader.at
        if not reader.command() or reader.at == before:
            found.unclear = True
            break
    return found
