"""Run documents as they reach ch-receipt, and ledgers to read. For the tests of ch-receipt."""

from __future__ import annotations

from ch_contract import documents
from ch_contract.quiet_hashlib import hexdigest
from ch_receipt import ledger
from ch_receipt.receipt import entry

AT = "2026-11-30T12:00:00.000+00:00"


def part(decision="allow", rule=None, reason=None, **fields):
    return {
        "kind": "command",
        "subject": "echo hello",
        "decision": decision,
        "reviewable": decision == "ask",
        "rule": rule,
        "reason": reason,
        "note": None,
        "source": "policy",
        "matches": [],
        **fields,
    }


def verdict(decision="allow", *parts, left_out=()):
    return {
        "decision": decision,
        "dialect": "bash",
        "settings": {"digest": "a" * 64, "left_out": list(left_out)},
        "parts": list(parts) or [part(decision)],
    }


def result(path=None, raw=b"", **fields):
    return {
        "exit_code": 0,
        "exit_desc": "exit 0",
        "signal": None,
        "duration_ms": 3210,
        "timed_out": False,
        "cancelled": False,
        "output_path": str(path) if path is not None else None,
        "output_bytes": len(raw),
        "output_chars": len(raw.decode("utf-8", "surrogateescape")),
        "output_sha256": hexdigest(raw) if path is not None else None,
        "shell": "/bin/bash",
        "backend": "local",
        "sandbox": "none",
        "approval": None,
        "restored": [],
        "unenforced": [],
        "processes_ended": 0,
        "processes_left": 0,
        "output_reopened": False,
        **fields,
    }


def line_of(seq, prev, event="PreRun", **fields):
    """The bytes of a ledger line, without a newline."""
    values = {"run_id": f"r-{seq:08x}", "session": None, "cwd": "/w", **fields}
    line = entry(event, AT, **values)
    return documents.encode({"format": "clip-harness/receipt@1", "seq": seq, "prev": prev, **line})[
        :-1
    ]


def chain(count, **fields):
    """The lines of a whole ledger."""
    lines = []
    prev = ledger.ZEROS
    for seq in range(1, count + 1):
        own = {"event": "LedgerOpened", "run_id": None} if seq == 1 else {}
        lines.append(line_of(seq, prev, **{**fields, **own}))
        prev = hexdigest(lines[-1])
    return lines


def head_of(lines, size=None):
    """The head of a ledger of these lines."""
    return {
        "format": "clip-harness/ledger-head@1",
        "seq": len(lines),
        "sha256": hexdigest(lines[-1]),
        "size": sum(len(line) + 1 for line in lines) if size is None else size,
    }
