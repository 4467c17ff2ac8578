"""Texts of the harness's own: what it wrote for the chat, and what is marked as reading matter.

Decides from the lines alone, also when copying took the fence away, put a label above it or quoted
it: a result shows whatever a command printed, and that may be a block of ours.
"""

from __future__ import annotations

import re

from ch_contract.problems import Problem

from . import fences, repairs

MARKER = "clip-harness:"

# The chat's own label above a rendered result.
_LABEL = "result"
_RESULT = r"(?i)(?:`{3,}|~{3,})[ \t]*result(?![\w`-])"
# What quoting, a list, emphasis, a heading or a comment puts before a line.
_BEFORE = " \t\u00a0\u2007\u202f\u200b\u200c\u200d\u2060\ufeff>*+\u2022-"
_AROUND = _BEFORE + "`_#<!\"'/|"
_MARKED = (
    r"(?im)^[ \t\u00a0\u2007\u202f\u200b\u200c\u200d\u2060\ufeff>*+\u2022`_#<!\"'/|-]*"
    r"clip[-\u2010\u2011]harness[*_`]*[:\uff1a][*_` \t\u00a0]*ignore"
)
# `[exit 0 \u00b7 3.2s]`, `[denied]`: a word that only a result has, or a duration at the end.
_STATUS = (
    r"\[(?:(?:cancel asked|cancelled|denied|held|no receipt|not run|problem|rejected|rerun asked"
    r"|exit -?[0-9]+)(?:[ \u00a0]\u00b7[ \u00a0][^\n]*)?\]"
    r"|[^ \n][^\n]*[ \u00a0]\u00b7[ \u00a0][0-9]+\.[0-9]s\])[ \t\r\u00a0]*$"
    r"|\[(?:goal|open tasks|update)\] |\[output elided: "
)
_STATUS_LINE = rf"(?m)^[ \t\u00a0>#]*(?:{_STATUS})"


def reason(text: str) -> str | None:
    """Why the text is one of the harness's own, None when it is not."""
    line, _, is_labelled = _beginning(text)
    if is_marker(line):
        return f"the text begins with {line.strip()[:60]!r}: it is meant for reading, not to be run"
    line = line.lstrip(_BEFORE + "#")
    is_fence = line.startswith(("```", "~~~"))
    if is_fence and re.match(_RESULT, line):
        return "the text is a result block: it is meant for the chat"
    if is_labelled and line.strip() and not is_fence:
        return "the text is a result without its fence: it is meant for the chat"
    if is_status(line) or (line.startswith("$ ") and status_lines(text)):
        return "the text is a result without its fence: it is meant for the chat"
    return None


def _beginning(text: str) -> tuple[str, int, bool]:
    """The first line below the labels, its offset, and whether a label says it is a result."""
    is_labelled = False
    offset = repairs.first_line(text)
    line, after = repairs.take_line(text, offset)
    for _ in range(repairs.MOST_LABELS):
        label = line.strip(_BEFORE + "\r").lower()
        if label not in repairs.LABELS and label != _LABEL:
            break
        is_labelled = is_labelled or label == _LABEL
        offset = repairs.first_line(text, after)
        line, after = repairs.take_line(text, offset)
    return line, offset, is_labelled


def is_marker(line: str) -> bool:
    """Whether `line` begins as the harness's own words do, whatever stands around it."""
    plain = line[:120].lstrip(_AROUND).replace("\u2011", "-").replace("\u2010", "-")
    plain = plain.replace("*", "").replace("`", "").replace("\uff1a", ":")
    return plain.lower().startswith(MARKER)


def marked_lines(text: str) -> list[int]:
    """The offsets of the lines of `text` that mark it as reading matter."""
    if (":" not in text and "\uff1a" not in text) or "ignore" not in text.lower():
        return []
    return [match.start() for match in re.finditer(_MARKED, text)]


def is_status(line: str) -> bool:
    """Whether `line` reads like the status in a result, such as `[exit 0 \u00b7 3.2s]`."""
    return line.startswith("[") and re.match(_STATUS, line) is not None


def status_lines(text: str) -> list[int]:
    """The offsets of the lines of `text` that read like the status in a result."""
    if "[" not in text:
        return []
    return [match.start() for match in re.finditer(_STATUS_LINE, text)]


def refuse_quoted(text: str, found: list[fences.Fence]) -> None:
    """Refuse blocks of ours that a result or a page seems to show.

    Raises Problem("malformed").
    """
    line, first, _ = _beginning(text)
    if line.lstrip(_BEFORE + "#").startswith("$ "):
        raise Problem(
            "malformed",
            "the text begins with the prompt `$ ` and holds a block: it looks like a copy of a "
            "terminal, and what a command printed must not run",
            "copy the block alone",
            text.count("\n", 0, first) + 1,
        )
    for start, gap in fences.gaps(text, found):
        shown = status_lines(gap)
        if shown:
            raise Problem(
                "malformed",
                "the status line of a result stands beside a block: what a command printed must "
                "not run",
                "copy the block alone",
                text.count("\n", 0, start + shown[0]) + 1,
            )
        marked = marked_lines(gap)
        if marked:
            raise _marked(text, start + marked[0])
    for fence in found:
        if fence.language in fences.PAYLOAD:
            continue
        start = repairs.first_line(text, fence.body_start)
        line, _ = repairs.take_line(text, start)
        if start < fence.body_end and marked_lines(line):
            raise _marked(text, start)


def _marked(text: str, offset: int) -> Problem:
    return Problem(
        "malformed",
        "a part of the text is marked as reading matter: its blocks are examples",
        "copy the block that is meant alone",
        text.count("\n", 0, offset) + 1,
    )
