"""The ledger as a person or a program reads it: its last lines, or those of one run.

Lines of the ledger that version 0.3.0 left are shown before ours, as they are.
"""

from __future__ import annotations

import itertools
import json
import os

from ch_contract import documents

from . import ledger, receipt
from .clean import visible

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ch_contract.tool import Streams


WRITTEN_BYTES = 64 * 1024


def tail(state: str, count: int) -> list[bytes]:
    """The last `count` lines, oldest first; older ones come from the earlier ledger."""
    lines = list(itertools.islice(ledger.backwards(ledger.ledger_path(state)), count))
    earlier = ledger.backwards(os.path.join(state, ledger.EARLIER))
    lines += itertools.islice(earlier, count - len(lines))
    lines.reverse()
    return lines


def of_run(state: str, run_id: str) -> Iterator[bytes]:
    """Every line of one run, oldest first."""
    name = run_id.encode("utf-8", "backslashreplace")
    for path in (os.path.join(state, ledger.EARLIER), ledger.ledger_path(state)):
        for raw in ledger.forwards(path):
            if name in raw and _object(raw).get("run_id") == run_id:
                yield raw


def write(streams: Streams, lines: Iterable[bytes], *, as_json: bool) -> None:
    """Write lines: as they are, or one sentence each. What is no line at all is only shown.

    Raises as `documents.put` does.
    """
    waiting = b""
    for raw in lines:
        if not as_json:
            waiting += (text(raw) + "\n").encode("utf-8", "backslashreplace")
        elif _object(raw):
            waiting += raw + b"\n"
        if len(waiting) >= WRITTEN_BYTES:
            documents.put(streams.stdout, waiting)
            waiting = b""
    documents.put(streams.stdout, waiting)


def text(raw: bytes) -> str:
    """One line for a terminal: number, time, event, run, session, what happened."""
    line = ledger.understood(raw)
    if line is not None:
        return _sentence(line)
    edited = ledger.parse(raw)
    if edited is not None:
        return f"{edited['seq']:>6}  was edited: see ch-receipt verify"
    old = _object(raw)
    if isinstance(old.get("event"), str):
        session = old.get("binding_id") or old.get("session_id") or "-"
        words = [f"{'-':>6}", str(old.get("ts")), f"{old['event']:<15}", str(old.get("run_id"))]
        return visible("  ".join([*words, str(session)]))
    return visible(f"{'?':>6}  not a ledger line: {raw[:60]!r}")


def _sentence(line: receipt.Line) -> str:
    """One of our lines."""
    words = [
        f"{line['seq']:>6}",
        line["at"],
        f"{line['event']:<15}",
        line["run_id"] or "-",
        line["session"] or "-",
        receipt.status(line),
    ]
    return visible("  ".join(words).rstrip())


def _object(raw: bytes) -> dict[str, object]:
    """The JSON object in `raw`; {} when it is none."""
    try:
        value = json.loads(raw.decode("utf-8"))
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}
