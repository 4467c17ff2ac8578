"""Giving runs whose process died an end.

A run is open while its file lies in `open/`. If the process that answers for it is gone and the
ledger has no end receipt of it, nobody knows how far its command came: it ends `indeterminate` and
is never run again by itself. Each run is settled under the ledger's lock, so two at once do it
once.
"""

from __future__ import annotations

import os
import re
import time

from ch_contract import clock, documents, files, places, processes
from ch_contract.problems import Problem, refusal

from . import ledger, receipt

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from ch_contract.messages import OpenRun, RunRecord

# The end of a run whose tool has ended is on its way through a pipe for this long.
GRACE_SECONDS = 10.0
_NAME = re.compile(r"(r-[0-9a-f]{8,32})\.json")


def recover(state: str) -> Iterator[str]:
    """Settle every open run that nobody answers for; gives one sentence for each.

    Raises Problem("system") or Problem("busy") when the ledger cannot be written.
    """
    folder = os.path.join(state, "open")
    try:
        names = sorted(os.listdir(folder))
    except FileNotFoundError:
        return
    except OSError as error:
        raise refusal(error, "read", folder) from None
    for name in names:
        match = _NAME.fullmatch(name)
        if match is not None and _is_abandoned(os.path.join(folder, name)):
            with files.lock(ledger.lock_path(state)):
                sentence = _settle(state, match[1], os.path.join(folder, name))
            if sentence is not None:
                yield sentence


def _is_abandoned(path: str) -> bool:
    """Whether nobody answers for the run of this open file any more."""
    try:
        opened = _opened(path)
        if opened is None:
            return False
    except Problem:
        return True  # it says nothing about a process
    if processes.is_alive(opened["pid"], opened["started"]):
        return False
    return opened["state"] == "running" or _age(path) > GRACE_SECONDS


def _opened(path: str) -> OpenRun | None:
    """The open file; None when it is gone. Raises Problem when it cannot be understood."""
    data = files.read(path, ledger.LINE_LIMIT)
    if data is None:
        return None
    value = documents.parse_json(data, path)
    documents.check(value, "store/open-run.schema.json", path)
    return value  # type: ignore[no-any-return]


def _age(path: str) -> float:
    """Seconds since the file was written; 0 when it is gone."""
    try:
        return time.time() - os.stat(path).st_mtime
    except OSError:
        return 0.0


def _settle(state: str, run_id: str, path: str) -> str | None:
    """End one run; None when somebody else has. The caller holds the ledger's lock."""
    if not _is_abandoned(path):
        return None
    captured: receipt.Line | None = None
    for raw in ledger.backwards(ledger.ledger_path(state)):
        line = ledger.parse(raw) if run_id.encode() in raw else None
        if line is None or line.get("run_id") != run_id:
            continue
        if line["event"] in receipt.END_EVENTS:
            files.remove(path)
            return None
        captured = line
        break
    record = _record(state, run_id)
    end = receipt.indeterminate(clock.now(), run_id, captured, record)
    ledger.append_locked(state, end)
    files.remove(path)
    still = ""
    if record is not None and processes.is_alive(record["pid"], record["started"]):
        still = f"; its command still runs as process {record['pid']}"
    return f"{run_id}: indeterminate, its process ended without an end receipt{still}"


def _record(state: str, run_id: str) -> RunRecord | None:
    """How the run's command was started; None when it was not, or nobody can tell."""
    try:
        data = files.read(os.path.join(places.run_dir(state, run_id), "run.json"))
        if data is None:
            return None
        value = documents.parse_json(data, "run.json")
        documents.check(value, "store/run-record.schema.json", "run.json")
    except Problem:
        return None
    return value  # type: ignore[no-any-return]
