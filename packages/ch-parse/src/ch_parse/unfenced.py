"""Rungs three and four: a block whose fence was lost in copying, standing alone.

The first line decides, before anybody looks for fences: a README that shows a shell block must
never run it. What begins like a block and is none is refused; it never becomes a bare command.
"""

from __future__ import annotations

import re

from ch_contract.problems import Problem

from . import change, edit, fences, header, own, payload, repairs, shell

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ch_contract.messages import Payload

_CHANGE = r"(?m)^[ \t]*path:[^\n]*\n[ \t]*(?:op:|replace_all:|old_string:|--- |diff --git )"
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
    _refuse_block(head)
    return shell.read(head, "unfenced", record, [])


def _refuse_block(head: header.Header) -> None:
    """Refuse a header that stands above a block of ours instead of in it."""
    start = repairs.first_line(head.rest)
    first, _ = repairs.take_line(head.rest, start)
    if any(fence.language in fences.PAYLOAD for fence in fences.scan(first)):
        raise Problem(
            "malformed",
            "the header stands above the block",
            "put the header inside the block, directly below its fence line",
            head.line + head.rest.count("\n", 0, start),
        )


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


def refuse_beside(text: str, found: list[fences.Fence]) -> None:
    """Refuse a message of blocks beside which a header or a change stands that lost its fence.

    A header above the fence would get lost in silence, and with it the folder or the time limit;
    a change beside a shell block is what the command was meant to build on.
    Raises Problem("malformed").
    """
    for start, gap in fences.gaps(text, found):
        match = re.search(_CHANGE, gap) if "path:" in gap else None
        if match is not None:
            raise Problem(
                "malformed",
                "a file change without its fence stands beside a block",
                "copy the whole message, or write the fence lines again",
                text.count("\n", 0, start + match.start()) + 1,
            )
    before = 0
    for fence in found:
        if fence.language in fences.SHELL:
            above = text[before : fence.start].rstrip()
            line = above[above.rfind("\n") + 1 :]
            if header.key_of(line) is not None:
                raise Problem(
                    "malformed",
                    f"the header line {header.shown(line)} stands above the block",
                    "put the header inside the block, directly below its fence line",
                    text.count("\n", 0, before + len(above)) + 1,
                )
        before = fence.end


def _change(block: str, line: int, record: repairs.Record) -> payload.Change:
    raw, after = repairs.take_line(block, 0)
    path = change.path_value(raw, line, record)
    rest = block[after:]
    printed = own.status_lines(rest)
    if printed:
        raise Problem(
            "malformed",
            "the status line of a result stands in the change: it looks like a command's output",
            "copy the block alone; if the line belongs to the file, write the fence lines",
            line + 1 + rest.count("\n", 0, printed[0]),
        )
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
