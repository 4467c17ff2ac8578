"""What a shell text with its header amounts to: a command, a goal action, or a bound change.

The command is handed on byte for byte; what it may do is the gate's question.
"""

from __future__ import annotations

from ch_contract.problems import Problem

from . import header, payload, repairs, strays

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ch_contract.messages import Payload


def read(
    head: header.Header, form: str, record: repairs.Record, changes: list[payload.Change]
) -> Payload:
    """The payload of a shell text; `changes` travel in the same message.

    Raises Problem("malformed") when there is nothing to run, an action lacks its text, or a
    goal action travels with file changes.
    """
    metadata = head.metadata
    text = repairs.shell_text(head.rest, record)
    empty = not text.strip()
    action = metadata["action"]
    if action != "run":
        if changes:
            raise Problem(
                "malformed",
                f"action: {action} and file changes cannot travel in one message",
                "send them one after the other",
                head.line,
            )
        if empty and action in header.NEED_BODY:
            raise Problem(
                "malformed",
                f"action: {action} has no text",
                "put its text below the header",
                head.line,
            )
        body = None if empty else text
        return payload.build("goal", form, record, metadata, body=body)
    if empty:
        if not changes or not head.given:
            raise Problem(
                "malformed",
                "there is a header and no command" if head.given else "the shell block is empty",
                "put the command below the header",
                head.line,
            )
        return payload.build("changes", form, record, metadata, changes=changes)
    command = repairs.without_prompt(text, head.line, record)
    if not command.strip():
        raise Problem(
            "malformed",
            "there is a prompt and no command",
            "put the command on that line",
            head.line,
        )
    strays.refuse(command, head.line)
    kind = "mixed" if changes else "command"
    return payload.build(kind, form, record, metadata, command=command, changes=changes)
