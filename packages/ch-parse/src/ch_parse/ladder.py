"""The detection ladder: which rung a text stands on, and what it asks for there.

The first line decides first: a text of the harness's own or one marked as documentation is never
a payload, a header on line one makes the text an unfenced block. Then come fences and control
triggers, and what is left is a bare command. Everything here is a function of the text alone.
"""

from __future__ import annotations

import re

from ch_contract.problems import Problem

from . import change, control, fences, header, own, payload, repairs, shell, strays, unfenced

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ch_contract.messages import Payload

# Unicode characters of one text; chats refuse longer messages anyway.
LIMIT = 32_000

_FENCE_ALIKE = r"(?m)^[ \t\u00a0\u200b\ufeff>]*(?:```|~~~)"


def parse(text: str, session: str | None = None) -> Payload:
    """What `text` asks for.

    `session` binds a text that names none. Raises Problem("malformed"), with the line it concerns
    and what to do, for a text that is empty, longer than `LIMIT` characters, or cannot be read
    without guessing. Takes time in proportion to the length of the text.
    """
    refuse_size(len(text))
    return climb(text, session)


def refuse_size(characters: int) -> None:
    """Raise Problem("malformed") for a text with more than `LIMIT` characters."""
    if characters > LIMIT:
        raise Problem(
            "malformed",
            f"the text has {characters:,} characters; at most {LIMIT:,} are taken",
            "copy the block alone, or send it in parts",
        )


def climb(text: str, session: str | None = None) -> Payload:
    """`parse` for a text of any length."""
    try:
        return _climb(text, session)
    except Problem as problem:
        # what is missing is missed behind the end: name the last line there is
        if problem.line is not None:
            problem.line = min(problem.line, text.count("\n") + 1)
        raise


def _climb(text: str, session: str | None) -> Payload:
    record = repairs.Record()
    text = repairs.without_bom(text, record)
    if not text.strip():
        raise Problem("malformed", "the text is empty", "copy a command or a block, then try again")
    reason = own.reason(text)
    if reason is not None:
        return payload.ignored(reason)
    start = unfenced.find(text)
    if start is not None:
        return unfenced.read(text, start, record, session)
    found = fences.scan(text)
    wanted = fences.payload_fences(text, found)
    trigger = control.find(text, found)
    if trigger is not None or wanted:
        own.refuse_quoted(text, found)
    if trigger is not None:
        trigger["session"] = trigger["session"] or session
        metadata = payload.no_metadata(trigger["session"])
        return payload.build("control", "fenced", record, metadata, control=trigger)
    if wanted:
        unfenced.refuse_beside(text, found)
        return _fenced(text, wanted, record, session)
    if found:
        return payload.ignored(_foreign(found))
    return _bare(text, record, session)


def is_bare(text: str) -> bool:
    """Whether `text` stands on the last rung: nothing in it says that it is meant for us."""
    text = repairs.without_bom(text, repairs.Record())
    if own.reason(text) is not None or unfenced.find(text) is not None:
        return False
    return not any(
        fence.language in fences.PAYLOAD
        or fence.language in control.ACTIONS
        or fence.nested_payload
        for fence in fences.scan(text)
    )


def bare(text: str, session: str | None = None) -> Payload:
    """The payload of a text that is known to be a command: no header, no fence, no mend."""
    refuse_size(len(text))
    if not text.strip():
        raise Problem("malformed", "the command is empty", "give a command")
    command = repairs.unterminated(text)
    metadata = payload.no_metadata(session)
    return payload.build("command", "bare", repairs.Record(), metadata, command=command)


def _foreign(found: list[fences.Fence]) -> str:
    names = sorted({fence.language for fence in found})[:8]
    shown = ", ".join(header.shown(name) if name else "without a language" for name in names)
    return (
        f"no block here is meant for the harness ({shown}); "
        "a command belongs into a shell block, a change into a file, patch or edit block"
    )


def _fenced(
    text: str, wanted: list[fences.Fence], record: repairs.Record, session: str | None
) -> Payload:
    """The payload of a message with blocks of ours: at most one shell block, any changes."""
    shells = [fence for fence in wanted if fence.language in fences.SHELL]
    if len(shells) > 1:
        raise Problem(
            "malformed",
            "the message holds more than one shell block",
            "send one shell block at a time; it may hold several commands",
            shells[1].line,
        )
    changes = []
    for fence in wanted:
        _note_hard_blanks(text, fence, record)
        if fence.language in fences.CHANGES:
            body = fence.body(text, record)
            changes.append(change.read(fence.language, body, fence.line + 1, record))
    if not shells:
        metadata = payload.no_metadata(session)
        return payload.build("changes", "fenced", record, metadata, changes=changes)
    fence = shells[0]
    body = fence.body(text, record)
    head = header.read(body, fence.line + 1, record, fenced=True, session=session)
    return shell.read(head, "fenced", record, changes)


def _note_hard_blanks(text: str, fence: fences.Fence, record: repairs.Record) -> None:
    opening, _ = repairs.take_line(text, fence.start)
    closing = text[fence.body_end : fence.end]
    for line in (opening, closing):
        repairs.header_line(line, record)


# A sentence, or an item of a list, with code in it: a shell would run what stands in the backticks.
_PROSE_WITH_CODE = r"(?m)^[ \t]*(?:[A-Z][a-z']+[,:;]?|[0-9]+[.)]|[-*+\u2022])[ \t][^`\n]*`[^`\n]+`"
# A sentence that leads over to a command on the lines below.
_LEAD = r"\s*[A-Z][a-z']*,? [^\n]*[.:][ \t]*\n"


def _refuse_prose(command: str) -> None:
    """Refuse text that is written for a reader; a here-document may hold any text."""
    if "<<" in command:
        return
    code = re.search(_PROSE_WITH_CODE, command)
    if code is not None or re.match(_LEAD, command) is not None:
        raise Problem(
            "malformed",
            "the text reads like prose with a command in it",
            "copy the command alone, or ask for it in a shell block",
            command.count("\n", 0, code.start()) + 1 if code is not None else 1,
        )


def _bare(text: str, record: repairs.Record, session: str | None) -> Payload:
    match = re.search(_FENCE_ALIKE, text) if fences.has_run(text) else None
    if match is not None:
        raise Problem(
            "malformed",
            "the text holds a fence that cannot be read",
            "put the fence at the start of its line and the text on lines of its own",
            text.count("\n", 0, match.end()) + 1,
        )
    offset = repairs.first_line(text)
    line = text.count("\n", 0, offset) + 1
    first, after = repairs.take_line(text, offset)
    second, _ = repairs.take_line(text, after)
    for number, above in ((line, first), (line + 1, second)):
        label = above.strip().lower()
        if label in repairs.BUTTONS and "\n" in text.strip():
            raise Problem(
                "malformed",
                f"the line {header.shown(above.strip())} is the text of a copy button",
                "copy the command without it",
                number,
            )
        if label not in repairs.LABELS:
            break
    whole = text.strip()
    if len(whole) > 1 and whole[0] == whole[-1] == "`" and "`" not in whole[1:-1]:
        raise Problem(
            "malformed",
            "the whole text stands in backticks: a shell would run what it prints",
            "copy it without the backticks",
            line,
        )
    header.refuse_alike(first, line)
    command = repairs.without_prompt(repairs.shell_text(text, record), 1, record)
    if not command.strip():
        raise Problem("malformed", "there is a prompt and no command", "copy the command too", line)
    strays.refuse(command, 1)
    _refuse_prose(command)
    metadata = payload.no_metadata(session)
    return payload.build("command", "bare", record, metadata, command=command)
