"""A run document with a result, and a ledger laid out on disk."""

from __future__ import annotations

import json

import pytest

from receipts import head_of, result, verdict


@pytest.fixture
def executed(run_document):
    """A run document as ch-exec leaves it; keyword arguments change its result."""

    def make(text="echo hello", path=None, raw=b"", **fields):
        return run_document(
            text,
            verdict=verdict(),
            candidates=[],
            decisions=[],
            result=result(path, raw, **fields),
        )

    return make


@pytest.fixture
def lay(state):
    """Write a ledger of these lines, with the head of others (or none)."""

    def write(lines, head="same", rest=b""):
        state.mkdir(parents=True, exist_ok=True)
        data = b"".join(line + b"\n" for line in lines) + rest
        (state / "ledger.jsonl").write_bytes(data)
        (state / "ledger.head").unlink(missing_ok=True)
        if head is not None:
            value = head_of(lines) if head == "same" else head
            (state / "ledger.head").write_text(json.dumps(value))
        return state

    return write
