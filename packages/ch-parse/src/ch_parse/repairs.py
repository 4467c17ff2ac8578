"""What copying did to the structure of a text, and how it is mended.

Mends only what stands around the content, and names every mend. Damage inside a command (curly
quotes, a no-break space, hidden characters) stays as it is: holding such a command is the gate's
business. The content of a file is never touched.
"""

from __future__ import annotations

import re

from ch_contract.problems import Problem

NAMES = (
    "bom",
    "label-line",
    "nbsp-header",
    "fence-indent",
    "crlf",
    "prompt-sign",
    "final-newline",
)

# What a chat prints above a block: the text of its copy button, or the language.
BUTTONS = frozenset({"copy", "copy code", "copied", "copied!", "copy to clipboard"})
LABELS = BUTTONS | {
    "shell", "run", "file", "patch", "edit", "bash", "sh", "zsh", "console", "terminal",
    "text", "txt", "plaintext", "plain text", "code", "diff", "yaml", "markdown",
    "wrap", "download",
}  # fmt: skip
MOST_LABELS = 4

BOM = "\ufeff"
BLANKS = " \t"
# Patterns are compiled where they are first needed: a plain command needs hardly any of them.
_INK = r"\S"
_INDENT = " \t\u00a0\u2007\u202f\u200b\ufeff"
# `me@host:~/src$ ls`, with the name of an environment in front or not.
_LONG_PROMPT = r"[ \t]*(?:\([^()\n]*\)[ \t]*)?\[?[\w.-]+@(?=[\w.-])[^\n$#%>]*[$#%>] "
_HARD_BLANKS = str.maketrans(dict.fromkeys("\u00a0\u2007\u202f", " "))


class Record:
    """What there is to say about one text besides its content: mends and notes."""

    __slots__ = ("_names", "notes")

    def __init__(self) -> None:
        self._names: set[str] = set()
        self.notes: list[str] = []

    def mended(self, name: str) -> None:
        """Name one mend; naming it again changes nothing."""
        self._names.add(name)

    def repairs(self) -> list[str]:
        """The mends, each once, in a fixed order."""
        return [name for name in NAMES if name in self._names]


def without_bom(text: str, record: Record) -> str:
    """`text` without the byte order mark at its start."""
    if not text.startswith(BOM):
        return text
    record.mended("bom")
    return text.removeprefix(BOM)


def take_line(text: str, start: int) -> tuple[str, int]:
    """The line of `text` at offset `start`, without its line end, and where the next one begins.

    A carriage return at its end is kept: it is the caller's to judge.
    """
    end = text.find("\n", start)
    return (text[start:], len(text)) if end < 0 else (text[start:end], end + 1)


def header_line(line: str, record: Record) -> str:
    """`line` as structure: no carriage return at its end, no-break spaces as blanks."""
    if line.endswith("\r"):
        record.mended("crlf")
        line = line[:-1]
    mended = line.translate(_HARD_BLANKS)
    if mended != line:
        record.mended("nbsp-header")
    return mended.rstrip(BLANKS)


def first_line(text: str, start: int = 0) -> int:
    """The offset of the first line that is not blank, from `start`; the length if none is."""
    ink = re.compile(_INK).search(text, start)
    if ink is None:
        return len(text)
    return max(start, text.rfind("\n", start, ink.start()) + 1)


def unterminated(text: str) -> str:
    """`text` without the one line end at its end."""
    shorter = text.removesuffix("\r\n")
    return shorter if shorter != text else text.removesuffix("\n")


def terminated(text: str, record: Record) -> str:
    """The content of a file or diff with the last line end that copying took away."""
    if text.endswith("\n"):
        return text
    record.mended("final-newline")
    return text + "\n"


def shell_text(text: str, record: Record) -> str:
    """`text` with plain line ends and without the last one: what a shell is given."""
    if "\r\n" in text:
        record.mended("crlf")
        text = text.replace("\r\n", "\n")
    return unterminated(text)


def without_prompt(command: str, line: int, record: Record) -> str:
    """`command` without one `$ ` copied from a terminal; `line` is the line it starts on.

    Raises Problem("malformed") for a transcript: what a terminal printed must not run.
    """
    start = first_line(command)
    first, _ = take_line(command, start)
    indent = len(first) - len(first.lstrip(_INDENT))
    is_prompt = first.startswith("$ ", indent)
    is_other = "@" in first and re.match(_LONG_PROMPT, first) is not None
    if not is_prompt and not is_other:
        return command
    lines = command[start:].rstrip().split("\n")
    if is_other or not all(text.endswith("\\") for text in lines[:-1]):
        sign = "the prompt `$ ` and goes on" if is_prompt else "the prompt of a shell"
        raise Problem(
            "malformed",
            f"the text begins with {sign}: it looks like a copy of a terminal",
            "send the commands alone, without prompts and without their output",
            line + command.count("\n", 0, start),
        )
    record.mended("prompt-sign")
    start += indent
    return command[:start] + command[start + 2 :]
