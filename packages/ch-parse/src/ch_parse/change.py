"""One proposed file change: the inside of a file, patch or edit block.

Decides what the block proposes and for which path, as text. Whether the path may be written, and
what the bytes become, is left to ch-gate and ch-stage. Content is kept byte for byte.
"""

from __future__ import annotations

import re

from ch_contract.problems import Problem

from . import edit, header, repairs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .payload import Change

OPERATIONS = ("create", "update", "delete")
_LINK = r"\[[^\]\n]*\]\([^\n]*\)\Z|<[^>\n]*>\Z"
_QUOTES = "`'\"\u2018\u2019\u201c\u201d"


def path_value(line: str, number: int, record: repairs.Record) -> str:
    """The path that the header line `line` names. Raises Problem("malformed")."""
    value = repairs.header_line(line, record).partition(":")[2].strip(repairs.BLANKS)
    if not value:
        raise Problem("malformed", "path: has no value", "name the file to change", number)
    if "\0" in value or len(value) > header.LONGEST_PATH:
        raise Problem(
            "malformed",
            f"path: cannot be the name of a file: {header.shown(value)}",
            "type that line again",
            number,
        )
    if "://" in value or re.match(_LINK, value):
        raise Problem(
            "malformed",
            f"path: is a link, not the name of a file: {header.shown(value)}",
            "the chat turned the name into a link; write the plain path, such as src/app.py",
            number,
        )
    if value[0] in _QUOTES and value[-1] in _QUOTES:
        raise Problem(
            "malformed",
            f"path: stands in quotes: {header.shown(value)}",
            "write the plain path, such as src/app.py",
            number,
        )
    return value


def read(kind: str, text: str, line: int, record: repairs.Record) -> Change:
    """The change in a fenced block of this kind: `file`, `patch` or `edit`.

    `line` is the number of the first line of `text`. Raises Problem("malformed").
    """
    start = repairs.first_line(text)
    number = line + text.count("\n", 0, start)
    raw, after = repairs.take_line(text, start)
    if header.key_of(raw, ("path",)) is None:
        found = f"found {header.shown(raw.strip())}" if raw.strip() else "it is empty"
        raise Problem(
            "malformed",
            f"{_article(kind)} {kind} block begins with a path: line; {found}",
            "write `path: <file>` directly below the fence line",
            number,
        )
    path = path_value(raw, number, record)
    rest = text[after:]
    if kind == "edit":
        return edit.read(path, rest, number + 1, record)
    if kind == "patch":
        return patch(path, rest, number + 1, record)
    return _file(path, rest, number + 1, record)


def _article(word: str) -> str:
    return "an" if word[0] in "aeiou" else "a"


def patch(path: str, text: str, line: int, record: repairs.Record) -> Change:
    """The patch of `path`; `text` is its diff. Raises Problem("malformed")."""
    raw, _ = repairs.take_line(text, 0)
    key = header.key_of(raw, ("path", "op", "replace_all"))
    if key is not None:
        raise Problem(
            "malformed",
            f"a patch takes no {key}: line here",
            "put the diff directly below the path: line",
            line,
        )
    if not text.strip():
        raise Problem(
            "malformed",
            "the patch holds no diff",
            "put a unified diff below the path: line",
            line,
        )
    _note_line_ends(path, text, record)
    return {"path": path, "kind": "patch", "op": "auto", "diff": repairs.terminated(text, record)}


def _file(path: str, text: str, line: int, record: repairs.Record) -> Change:
    raw, after = repairs.take_line(text, 0)
    key = header.key_of(raw, ("path", "op"))
    if key == "path":
        raise Problem("malformed", "path: is given twice", "one block changes one file", line)
    if key is None:
        if edit.looks_like_edit(text):
            raise Problem(
                "malformed",
                "this file block holds an edit",
                "name the block edit instead of file",
                line,
            )
        if not text.strip():
            raise Problem(
                "malformed",
                "the file block holds no content",
                "give the whole content; for an empty file say `op: create`, to remove it "
                "`op: delete`",
                line,
            )
        return file(path, "auto", text, line, record)
    operation = repairs.header_line(raw, record).partition(":")[2].strip(repairs.BLANKS)
    if operation != "auto" and operation not in OPERATIONS:
        raise Problem(
            "malformed",
            f"op: must be create, update or delete, got {header.shown(operation)}",
            "leave the line out to let the harness tell; if it is content, put `op: create` or "
            "`op: update` above it",
            line,
        )
    return file(path, operation, text[after:], line + 1, record)


def file(path: str, operation: str, content: str, line: int, record: repairs.Record) -> Change:
    """The file change with this declared operation. Raises Problem("malformed")."""
    raw, _ = repairs.take_line(content, 0)
    key = header.key_of(raw, ("op",))
    if key and operation != "auto":
        again = raw.partition(":")[2].strip()
        if again in OPERATIONS or again == "auto":
            raise Problem("malformed", "op: is given twice", "keep one op: line", line)
    if operation == "delete":
        if content.strip():
            raise Problem(
                "malformed",
                "a delete carries no content",
                "leave the content out, or say `op: update`",
                line,
            )
        return {"path": path, "kind": "file", "op": operation, "content": None}
    if operation != "auto" and edit.looks_like_edit(content):
        raise Problem(
            "malformed",
            "op: stands above an edit",
            "leave op: out of an edit; to write these lines as a file, use a file block without "
            "them at its start",
            line,
        )
    if content:
        content = repairs.terminated(content, record)
    _note_line_ends(path, content, record)
    return {"path": path, "kind": "file", "op": operation, "content": content}


def _note_line_ends(path: str, content: str, record: repairs.Record) -> None:
    if "\r\n" in content:
        record.notes.append(f"the text for {header.shown(path)} has CRLF line ends; they are kept")
