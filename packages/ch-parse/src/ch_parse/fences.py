"""Where the fenced blocks of a text begin and end.

Follows CommonMark: up to three blanks before a run of three or more backticks or tildes; closed
by a run of the same character, at least as long, with nothing after it. Where that rule leaves
a doubt about what belongs to a block, the text is refused: half a file or half a command must not
get through. What a block means is left to the rungs.
"""

from __future__ import annotations

import re

from ch_contract.problems import Problem

from . import repairs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

SHELL = frozenset({"shell", "run"})
CHANGES = frozenset({"file", "patch", "edit"})
PAYLOAD = SHELL | CHANGES

# More blocks than any message has; it bounds the time a hostile one costs.
MOST = 500

LONGER = "use a longer fence around it: four backticks outside, three inside"

_BLANKS = " \t\r\u00a0\u2007\u202f"
_HIDDEN = str.maketrans(dict.fromkeys("\u200b\u200c\u200d\u2060\ufeff"))

_LINE = r"(?m)^( {0,3})(`{3,}|~{3,})([^\n]*)"
# A block that CommonMark sees inside an indented paragraph or a list item, where we do not look.
_MISPLACED = (
    r"(?m)^[ \t\u00a0\u200b\u200c\u200d\u2060\ufeff]*(?:[-*+\u2022][ \t]+|[0-9]{1,9}[.)][ \t]+)?"
    r"(?:`{3,}|~{3,})[ \t]*(?:shell|run|file|patch|edit)[ \t\r]*$"
)
_HERE_DOCUMENT = r"<<-?[ \t]{0,8}['\"\\]?([A-Za-z_][A-Za-z0-9_]{0,80})"


class Fence:
    """One block: offsets into the text, and the number of its first line.

    `info` is what stands after the opening run. `nested` is the number of the first line inside
    that looks like the opening of another block at least as long, `nested_payload` whether any
    such line names a block of ours.
    """

    __slots__ = (
        "body_end", "body_start", "char", "closed", "end", "indent", "info", "length", "line",
        "nested", "nested_payload", "start",
    )  # fmt: skip

    def __init__(self, start: int, line: int, opening: tuple[str, str, str], body: int) -> None:
        indent, run, info = opening
        self.start = start
        self.line = line
        self.indent = len(indent)
        self.char = run[0]
        self.length = len(run)
        self.info = info
        self.body_start = body
        self.body_end = body
        self.end = body
        self.closed = False
        self.nested: int | None = None
        self.nested_payload = False

    @property
    def language(self) -> str:
        """The first word of the info string, in lower case; empty when there is none."""
        return _language(self.info)

    def body(self, text: str, record: repairs.Record) -> str:
        """What stands between the two fence lines, less the indentation of the opening one."""
        body = text[self.body_start : self.body_end]
        if self.indent:
            flush = re.sub(rf"^ {{1,{self.indent}}}", "", body, flags=re.MULTILINE)
            if flush != body:
                record.mended("fence-indent")
            return flush
        return body


def _language(info: str) -> str:
    words = info.split(None, 1)
    return words[0].lower() if words else ""


def has_run(text: str) -> bool:
    """Whether `text` holds three backticks or tildes in a row: without them there is no fence."""
    return "```" in text or "~~~" in text


def scan(text: str) -> list[Fence]:
    """The blocks of `text` in their order; the last one may be open.

    Stops when there are more than `MOST`.
    """
    found: list[Fence] = []
    if not has_run(text):
        return found
    current: Fence | None = None
    line, counted = 1, 0
    for match in re.finditer(_LINE, text):
        indent, run, info = match.groups()
        info = info.strip(_BLANKS)
        if run[0] == "`" and "`" in info:
            continue  # code within a line of prose
        start = match.start()
        if current is None:
            if len(found) > MOST:
                break  # payload_fences refuses them all
            line += text.count("\n", counted, start)
            counted = start
            body = min(match.end() + 1, len(text))
            current = Fence(start, line, (indent, run, info), body)
            found.append(current)
        elif run[0] == current.char and len(run) >= current.length:
            if info:
                if current.nested is None:
                    current.nested = line + text.count("\n", counted, start)
                if not current.nested_payload and _language(info) in PAYLOAD:
                    current.nested_payload = True
            else:
                current.body_end = start
                current.end = match.end()
                current.closed = True
                current = None
    if current is not None:
        current.body_end = current.end = len(text)
    return found


def gaps(text: str, found: list[Fence]) -> Iterator[tuple[int, str]]:
    """The stretches of `text` outside all blocks, each with its offset."""
    start = 0
    for fence in found:
        yield start, text[start : fence.start]
        start = fence.end
    yield start, text[start:]


def payload_fences(text: str, found: list[Fence]) -> list[Fence]:
    """The blocks that are ours.

    Raises Problem("malformed") when a block of ours is there but where it ends, or whether it is
    meant, is in doubt, and when there are more than `MOST` blocks.
    """
    if len(found) > MOST:
        raise Problem(
            "malformed",
            f"the text holds more than {MOST} blocks",
            "copy the blocks that are meant alone",
            found[-1].line,
        )
    if has_run(text):
        _refuse_misplaced(text, found)
    wanted = [fence for fence in found if fence.language in PAYLOAD]
    for fence in found:
        if fence.nested is not None and (wanted or fence.nested_payload):
            raise Problem(
                "malformed",
                f"the block opened on line {fence.line} holds another fence that is as long as "
                "its own: it is not clear where it ends",
                LONGER,
                fence.nested,
            )
        if not fence.closed and wanted:
            raise Problem(
                "malformed",
                "the fence opened here never closes: the message may have been cut",
                "copy the whole message; if the block itself holds fences, " + LONGER,
                fence.line,
            )
        _refuse_hidden(fence)
    if wanted:
        _refuse_leftovers(text, found)
        _refuse_here_document(text, found, wanted)
    for fence in wanted:
        if fence.info.lower() != fence.language:
            raise Problem(
                "malformed",
                f"after {fence.language} the fence line holds more: {fence.info[:60]!r}",
                "put every header on a line of its own below the fence line",
                fence.line,
            )
    return wanted


def _refuse_misplaced(text: str, found: list[Fence]) -> None:
    for start, gap in gaps(text, found):
        match = re.search(_MISPLACED, gap) if has_run(gap) else None
        if match is not None:
            raise Problem(
                "malformed",
                "a block is indented too far, or stands behind a list sign or a hidden character",
                "put the fence at the start of its line",
                text.count("\n", 0, start + match.start()) + 1,
            )


def _refuse_hidden(fence: Fence) -> None:
    plain = fence.info.translate(_HIDDEN)
    if plain != fence.info and _language(plain) in PAYLOAD:
        raise Problem(
            "malformed",
            f"the fence line holds a hidden character: {fence.info[:60]!r}",
            "type that line again",
            fence.line,
        )


def _refuse_leftovers(text: str, found: list[Fence]) -> None:
    """Refuse a block that a bare fence inside it seems to have closed early.

    An inner fence without a language ends the outer block by the rule. What gives it away: text
    right below that line, and another fence without a language further on.
    """
    torn: Fence | None = None
    for fence in found:
        if torn is not None and not fence.info:
            raise Problem(
                "malformed",
                f"the block opened on line {torn.line} seems to hold a fence that is as long as "
                "its own: it is not clear where it ends",
                LONGER + "; or leave a blank line below every block",
                fence.line,
            )
        if torn is None and fence.language in PAYLOAD:
            below, _ = repairs.take_line(text, min(fence.end + 1, len(text)))
            opening = re.match(_LINE, below)
            if below.strip() and (opening is None or not opening.group(3).strip()):
                torn = fence


def _refuse_here_document(text: str, found: list[Fence], wanted: list[Fence]) -> None:
    """Refuse a block of ours between the two ends of a here-document: it is somebody's data."""
    ends: set[str] = set()
    last = wanted[-1].end
    for start, gap in gaps(text, found):
        if start and ends and not ends.isdisjoint(line.strip() for line in gap.split("\n")):
            raise Problem(
                "malformed",
                "a block stands inside a here-document: it is not clear whether it is meant to run",
                "put the whole command into one shell block with a longer fence",
                text.count("\n", 0, start) + 1,
            )
        if start < last:
            ends.update(re.findall(_HERE_DOCUMENT, gap))
