"""Giving runs whose process died an end.

A run is open while its file lies in `open/`. If the process that answers for it is gone and the
ledger has no end receipt of it, nobody knows how far its command came: it ends `indeterminate` and
is never run again by itself. Each run is settled under the ledger's lock, so two at once do it
once. A file that cannot be read, or that another version wrote, says nothing about a death: it is
named and left alone. What killed writers left in the state folder is removed as well.
"""

from __future__ import annotations

import os
import re
import time

from ch_contract import clock, documents, files, places, processes
from ch_contract.problems import Problem, refusal, sentence

from . import ledger, receipt

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from ch_contract.messages import OpenRun, RunRecord

# The end of a run whose tool has ended is on its way through a pipe for this long.
GRACE_SECONDS = 10.0
FORMAT = "clip-harness/open-run@1"
# So much may a later append have taken off behind what was the ledger's end: half a line.
_CUT_BYTES = 2 * ledger.LINE_LIMIT
_NAME = re.compile(r"(r-[0-9a-f]{8,32})\.json")


def recover(state: str) -> Iterator[str]:
    """Settle every open run that nobody answers for; gives one sentence for each, and others.

    Raises Problem("system") or Problem("busy") when the ledger cannot be written.
    """
    folder = os.path.join(state, "open")
    try:
        names = sorted(os.listdir(folder))
    except FileNotFoundError:
        names = []
    except OSError as error:
        raise refusal(error, "read", folder) from None
    for name in names:
        match = _NAME.fullmatch(name)
        if match is not None:
            told = _tend(state, match[1], os.path.join(folder, name))
            if told is not None:
                yield told
    # here, and in the folders of settled runs, process ids have been trusted already
    files.sweep(folder, 0)
    for folder in (state, os.path.join(state, "sessions")):
        files.sweep(folder)


def _tend(state: str, run_id: str, path: str) -> str | None:
    """Settle one open run if it is abandoned; gives what there is to tell."""
    try:
        if not _is_abandoned(path):
            return None
    except Problem as problem:
        return f"{run_id}: left alone, {sentence(problem.section('ch-receipt'))}"
    with files.lock(ledger.lock_path(state)):
        told = _settle(state, run_id, path)
    if told is not None:
        files.sweep(places.run_dir(state, run_id), 0)
    return told


def _is_abandoned(path: str) -> bool:
    """Whether nobody answers for the run of this open file any more.

    Raises Problem when the file does not tell.
    """
    data = files.read(path, follow=False)
    if data is None:
        return False
    opened = _opened(data, path)
    if opened is None:
        return True
    if processes.is_alive(opened["pid"], opened["started"]):
        return False
    return opened["state"] == "running" or _age(path) > GRACE_SECONDS


def _opened(data: bytes, path: str) -> OpenRun | None:
    """The open file; None when it is no JSON and so names no process: none of ours wrote that.

    Raises Problem when it is of another version, or not as we write it.
    """
    try:
        value = documents.parse_json(data, path)
    except Problem:
        return None
    form = value.get("format") if isinstance(value, dict) else None
    hint = "remove it once its run has ended"
    if form != FORMAT:
        raise Problem("document", f"{path} has the format {form!r}, not {FORMAT}", hint)
    try:
        documents.check(value, "store/open-run.schema.json", path)
    except Problem as problem:
        raise Problem("document", problem.message, hint) from None
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
    has_end = False
    for raw in _lines_of(state, run_id, path):
        line = ledger.parse(raw)
        if line is not None:
            has_end = line["event"] in receipt.END_EVENTS or (
                has_end and line["event"] != receipt.RESUMED
            )
        captured = captured or ledger.understood(raw)
    if has_end:
        files.remove(path)
        return None
    record, is_started = _record(state, run_id)
    end = receipt.indeterminate(
        clock.now(),
        run_id,
        captured,
        record,
        is_started=is_started,
        applied=_applied(state, run_id),
    )
    ledger.append_locked(state, end)
    files.remove(path)
    still = ""
    if record is not None and processes.is_alive(record["pid"], record["started"]):
        still = f"; its command still runs as process {record['pid']}"
    return f"{run_id}: indeterminate, its process ended without an end receipt{still}"


def _lines_of(state: str, run_id: str, path: str) -> Iterator[bytes]:
    """The ledger's lines of a run, from where the ledger ended when the run was opened."""
    data = files.read(path, follow=False)
    opened = _opened(data, path) if data is not None else None
    size = opened["ledger_size"] if opened is not None else 0
    word = run_id.encode()
    for raw in ledger.forwards(ledger.ledger_path(state), max(0, size - _CUT_BYTES)):
        line = ledger.parse(raw) if word in raw else None
        if line is not None and line.get("run_id") == run_id:
            yield raw


def _applied(state: str, run_id: str) -> str | None:
    """What became of the run's file changes; None when it applied none.

    An apply that was cut off has been settled by ch-stage before this is asked.
    """
    path = os.path.join(places.candidate_dir(state, f"{run_id}-files"), "applied.json")
    try:
        value = documents.kept(path, "store/apply-record.schema.json")
    except Problem:
        return "nobody can tell what became of its file changes"
    if value is None:
        return None
    if value["state"] == "done":
        return "its file changes were applied"
    return "its file changes were put back, so the files are as before"


def _record(state: str, run_id: str) -> tuple[RunRecord | None, bool | None]:
    """How the run's command was started, and whether it was; None when nobody can tell."""
    folder = places.run_dir(state, run_id)
    try:
        data = files.read(os.path.join(folder, "run.json"), follow=False)
        if data is None:
            # the folder is made when the run is opened: without it, its files were removed
            return None, False if os.path.isdir(folder) else None
        value = documents.parse_json(data, "run.json")
        documents.check(value, "store/run-record.schema.json", "run.json")
    except Problem:
        return None, None
    return value, True
