"""The shape of an answer: one payload, every field present.

Decides nothing about the text; the rungs fill in what they found.
"""

from __future__ import annotations

from . import repairs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ch_contract.messages import (
        Payload,
        PayloadChangeEdit,
        PayloadChangeFile,
        PayloadChangePatch,
        PayloadControl,
        PayloadMetadata,
    )

    Change = PayloadChangeFile | PayloadChangePatch | PayloadChangeEdit


def no_metadata(session: str | None = None) -> PayloadMetadata:
    """The metadata of a text without a header; `session` binds it from outside."""
    return {
        "session": session,
        "action": "run",
        "label": None,
        "cwd": None,
        "timeout": None,
        "attend": False,
        "writes": None,
        "goal": None,
        "expect_revision": None,
        "action_id": None,
    }


def build(
    kind: str,
    form: str | None,
    record: repairs.Record,
    metadata: PayloadMetadata | None = None,
    *,
    command: str | None = None,
    body: str | None = None,
    changes: list[Change] | None = None,
    control: PayloadControl | None = None,
) -> Payload:
    """A payload of this kind."""
    return {
        "kind": kind,
        "form": form,
        "metadata": metadata or no_metadata(),
        "command": command,
        "body": body,
        "changes": changes or [],
        "control": control,
        "repairs": record.repairs(),
        "notes": record.notes,
    }


def ignored(note: str) -> Payload:
    """The payload of a text that asks for nothing; `note` says why."""
    record = repairs.Record()
    record.notes.append(note)
    return build("ignored", None, record)


def malformed() -> Payload:
    """The payload of a text that cannot be understood; the problem beside it says why."""
    return build("malformed", None, repairs.Record())
