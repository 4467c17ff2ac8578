"""Rungs three and four: a block whose fence was lost in copying, standing alone.

The first line decides, before anybody looks for fences: a README that shows a shell block must
never run it. What begins like a block and is none is refused; it never becomes a bare command.
"""

from __future__ import annotations

import re

from ch_contract.problems import Problem

from . import change, edit, fences, header, payload, repairs, shell

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ch_contract.messages import Payload

_GLUED_CHANGE = r"(?m)^path:[^\n]*\n(?:op:|replace_all:|old_string:\r?$|--- )"
_FENCED_CHANGE = r"(?m)^ {0,3}(?:`{3,}|~{3,})(?:file|patch|edit)[ \t\r]*\npath:"
_OLD = r"(?m)^old_string:\r?$"
_NEW = r"(?m)^new_string:\r?$"
_GIT_PREAMBLE = (
    "diff --git ", "index ", "old mode ", "new mode ", "new file mode ", "deleted file mode ",
    "similarity index ", "dissimilarity index ", "rename from ", "rename to ", "copy from ",
    "copy to ", "Binary files ",
)  # fmt: skip


class Start:
    """Where an unfenced block begins, and with which of the two kinds of header."""

    __slots__ = ("labels", "offset", "path")

    def __init__(self, offset: int, *, path: bool, labels: bool) -> None:
        self.offset = offset
        self.path = path
        self.labels = labels


def find(text: str) -> Start | None:
    """Where the block begins if the first line is a header; labels above it do not count."""
    offset = repairs.first_line(text)
    for labels in range(repairs.MOST_LABELS + 1):
        line, after = repairs.take_line(text, offset)
        if header.key_of(line, ("path",)) is not None:
            return Start(offset, path=True, labels=labels > 0)
        if header.key_of(line) is not None:
            return Start(offset, path=False, labels=labels > 0)
        if line.strip().lower() not in repairs.LABELS:
            return None
        offset = repairs.first_line(text, after)
    return None


def read(text: str, start: Start, record: repairs.Record, session: str | None) -> Payload:
    """The payload of the block that begins at `start`. Raises Problem("malformed")."""
    if start.labels:
        record.mended("label-line")
    line = text.count("\n", 0, start.offset) + 1
    block = text[start.offset :]
    _refuse_closing_fence(block, line)
    if start.path:
        entry = _change(block, line, record)
        metadata = payload.no_metadata(session)
        return payload.build("changes", "unfenced", record, metadata, changes=[entry])
    head = header.read(block, line, record, fenced=False, session=session)
    if head.metadata["action"] == "run":
        refuse_lost_change(head.rest, head.line)
    return shell.read(head, "unfenced", record, [])


def _refuse_closing_fence(block: str, line: int) -> None:
    """Refuse a block whose opening fence was lost while the closing one is still there."""
    found = fences.scan(block)
    if found and not found[-1].closed and not found[-1].info:
        last = found[-1]
        if not block[last.body_start :].strip():
            raise Problem(
                "malformed",
                "a closing fence ends the text, and the opening one is missing",
                "copy the whole block, or none of its fences",
                line + last.line - 1,
            )


def refuse_lost_change(text: str, line: int) -> None:
    """Refuse shell text in which a file change seems to be glued on: it would run as commands.

    Raises Problem("malformed").
    """
    match = None
    if "path:" in text:
        match = re.search(_GLUED_CHANGE, text) or re.search(_FENCED_CHANGE, text)
    if match is None and "old_string:" in text:
        match = re.search(_OLD, text)
        if match is not None and re.search(_NEW, text[match.end() :]) is None:
            match = None
    if match is not None:
        raise Problem(
            "malformed",
            "the command is followed by a file change without its own fence: the content of a file "
            "must not run",
            "send the command in a shell block and the change in a file, patch or edit block",
            line + text.count("\n", 0, match.start()),
        )


def _change(block: str, line: int, record: repairs.Record) -> payload.Change:
    raw, after = repairs.take_line(block, 0)
    path = change.path_value(raw, line, record)
    rest = block[after:]
    first, below = repairs.take_line(rest, 0)
    key = header.key_of(first, ("op", "replace_all"))
    if key == "op":
        operation = repairs.header_line(first, record).partition(":")[2].strip(repairs.BLANKS)
        return _file(path, operation, rest[below:], line + 1, record)
    if key == "replace_all" or edit.is_old_marker(first):
        return edit.read(path, rest, line + 1, record)
    if _is_diff(rest):
        return change.patch(path, rest, line + 1, record)
    raise Problem(
        "malformed",
        "path: is followed by neither op:, nor a diff, nor old_string:",
        "without its fence a file change needs an `op: create`, `op: update` or `op: delete` line "
        "below path:",
        line + 1,
    )


def _file(
    path: str, operation: str, content: str, line: int, record: repairs.Record
) -> payload.Change:
    if operation not in change.OPERATIONS:
        raise Problem(
            "malformed",
            f"op: must be create, update or delete, got {header.shown(operation)}",
            "without its fence a file change must name its operation",
            line,
        )
    if operation != "delete" and not content.strip():
        raise Problem(
            "malformed",
            f"op: {operation} carries no content",
            "copy the whole block, with the content of the file",
            line,
        )
    return change.file(path, operation, content, line + 1, record)


def _is_diff(text: str) -> bool:
    """Whether `text` begins with the two lines that name the files of a unified diff."""
    offset = 0
    line, after = repairs.take_line(text, offset)
    if line.startswith("diff --git "):
        while line.startswith(_GIT_PREAMBLE) and after < len(text):
            offset = after
            line, after = repairs.take_line(text, offset)
    below, _ = repairs.take_line(text, after)
    return line.startswith("---") and below.startswith("+++")
