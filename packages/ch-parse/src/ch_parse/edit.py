"""The inside of an edit block: exact text to find, and the text to put in its place.

Reads strictly: whatever is not exactly the form is refused, since an edit that is half understood
damages a file. Whether the text occurs in the file is ch-stage's question.
"""

from __future__ import annotations

import re

from ch_contract.problems import Problem

from . import header, repairs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ch_contract.messages import PayloadChangeEdit

KEYS = ("replace_all", "op", "path", *header.KEYS)

_OLD = r"(?m)^old_string:\r?$"
_NEW = r"(?m)^new_string:\r?$"

FORM = "write path:, then a line `old_string:`, the text, a line `new_string:`, the new text"


def is_old_marker(line: str) -> bool:
    """Whether `line` opens the section of the text to find."""
    return line.removesuffix("\r") == "old_string:"


def looks_like_edit(text: str) -> bool:
    """Whether `text` begins with the first section of an edit and holds the second."""
    line, _ = repairs.take_line(text, 0)
    opens = is_old_marker(line) or header.key_of(line, ("replace_all",)) is not None
    return opens and re.search(_NEW, text) is not None


def read(path: str, text: str, line: int, record: repairs.Record) -> PayloadChangeEdit:
    """The edit of `path` that `text` spells; `line` is the number of its first line.

    Raises Problem("malformed").
    """
    replace_all: bool | None = None
    start, number = 0, line
    while True:
        raw, after = repairs.take_line(text, start)
        if is_old_marker(raw):
            repairs.header_line(raw, record)
            break
        key = header.key_of(raw, KEYS)
        if key != "replace_all":
            raise _refusal(raw, key, number)
        if replace_all is not None:
            raise Problem(
                "malformed", "replace_all: is given twice", "keep one replace_all: line", number
            )
        value = repairs.header_line(raw, record).partition(":")[2].strip(repairs.BLANKS)
        if value not in ("true", "false"):
            raise Problem(
                "malformed",
                f"replace_all: must be true or false, got {header.shown(value)}",
                "write `replace_all: true` or leave the line out",
                number,
            )
        replace_all = value == "true"
        start = after
        number += 1
    middle = re.compile(_NEW).search(text, after)
    if middle is None:
        raise Problem("malformed", "the line new_string: is missing", FORM, number)
    repairs.header_line(middle.group(), record)
    old = repairs.unterminated(text[after : middle.start()])
    new = text[middle.end() + 1 :]
    if not old:
        raise Problem(
            "malformed",
            "old_string is empty: there is no text to find",
            "copy the exact text to replace; a new file travels in a file block",
            number,
        )
    again = re.search(_OLD, new)
    if again is not None and re.search(_NEW, new[again.end() :]) is not None:
        raise Problem(
            "malformed",
            "the edit holds a second old_string: and new_string:",
            "one edit per block and file: send the next one after the result, or the whole file in "
            "a file block",
            number + text.count("\n", after, middle.end() + 1 + again.start()) + 1,
        )
    return {
        "path": path,
        "kind": "edit",
        "op": "auto",
        "old_string": old,
        "new_string": repairs.unterminated(new),
        "replace_all": bool(replace_all),
    }


def _refusal(line: str, key: str | None, number: int) -> Problem:
    if key == "op":
        return Problem(
            "malformed",
            "an edit takes no op: line",
            "leave op: out, or send the whole file in a file block",
            number,
        )
    if key == "path":
        return Problem("malformed", "path: is given twice", "one block changes one file", number)
    return Problem(
        "malformed",
        f"expected the line old_string: and found {header.shown(line.strip())}",
        FORM,
        number,
    )
