"""Recording a text before anything else is done with it.

Writes the raw bytes, the file that says the run is open, and the ledger line, in this order: what
the ledger tells of is there.
"""

from __future__ import annotations

import contextlib
import os

from ch_contract import clock, documents, files, places, processes
from ch_contract.problems import Problem
from ch_contract.quiet_hashlib import hexdigest

from . import ledger, receipt

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ch_contract.messages import OpenRun

    Captured = dict[str, str | int]


def capture(
    state: str,
    raw: bytes,
    *,
    run_id: str,
    trigger: str,
    cwd: str,
    session: str | None,
    at: str | None,
    owner: int,
) -> Captured:
    """Record `raw` as what run `run_id` began with; gives its id, hash, size and time.

    `owner` is the process whose death leaves the run without an end. Raises Problem("usage") when
    it does not live or the run was captured before, Problem("system") when a file cannot be
    written (no line is added then).
    """
    at = at if at is not None else clock.now()
    folder = places.run_dir(state, run_id)
    payload = os.path.join(folder, "payload.txt")
    opened = _opened(state, run_id, session, owner, at)
    digest = hexdigest(raw)
    line = receipt.captured(
        at, run_id, session=session, trigger=trigger, cwd=cwd, sha256=digest, size=len(raw)
    )
    documents.check(opened, "store/open-run.schema.json", "capture", kind="usage")
    # everything the flags bring is checked before the first byte is written
    ledger.check(line, "capture", kind="usage")
    open_path = places.open_run(state, run_id)
    files.private_folder(folder)
    files.private_folder(os.path.dirname(open_path))
    try:
        files.write_new(payload, raw)
    except FileExistsError:
        raise Problem(
            "usage", f"--run-id: {run_id} was captured before", "mint a new run id"
        ) from None
    except Problem:
        _remove(folder)
        raise
    try:
        files.write_atomic(open_path, documents.encode(opened))
        ledger.append(state, line)
    except Problem:
        # nothing will run: no file that no line tells of, no run without an end
        _remove(folder, open_path, payload)
        raise
    return {"run_id": run_id, "sha256": digest, "bytes": len(raw), "at": at}


def _opened(state: str, run_id: str, session: str | None, owner: int, at: str) -> OpenRun:
    """The sign that a run is open and process `owner` answers for it.

    Raises Problem("usage") when there is no such process.
    """
    started = processes.started(owner)
    if started is None:
        raise Problem("usage", f"--owner-pid: there is no process {owner}")
    return {
        "format": "clip-harness/open-run@1",
        "run_id": run_id,
        "session": session,
        "state": "running",
        "pid": owner,
        "started": started,
        "ledger_size": files.check_append(places.ledger(state)),
        "at": at,
    }


def resume(
    state: str, *, run_id: str, session: str | None, cwd: str, note: str, owner: int
) -> Captured:
    """Open the run `run_id` again, which waited for a person; gives its id and the time.

    Raises Problem("usage") when the flags do not fit, Problem("busy") when another process answers
    for the run already, Problem("system") when a file cannot be written (no line is added then).
    """
    at = clock.now()
    opened = _opened(state, run_id, session, owner, at)
    line = receipt.happened(at, receipt.RESUMED, run_id, session=session, cwd=cwd, note=note)
    documents.check(opened, "store/open-run.schema.json", "resume", kind="usage")
    ledger.check(line, "resume", kind="usage")
    open_path = places.open_run(state, run_id)
    files.private_folder(os.path.dirname(open_path))
    try:
        files.write_once(open_path, documents.encode(opened))
    except FileExistsError:
        raise Problem(
            "busy",
            f"another process is at work on the run {run_id}",
            "wait for its result, then look at: clip-harness candidate list",
        ) from None
    try:
        ledger.append(state, line)
    except Problem:
        with contextlib.suppress(Problem):
            files.remove(open_path)
        raise
    return {"run_id": run_id, "at": at}


def _remove(folder: str, *paths: str) -> None:
    """Take back what was made for a run that will not begin."""
    with contextlib.suppress(Problem, OSError):
        for path in paths:
            files.remove(path)
        os.rmdir(folder)
