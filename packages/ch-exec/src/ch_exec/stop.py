"""End a run whose harness is gone, so that no timeout and no cancel reaches it any more.

Decides which processes are still the run's: its shell, as run.json names it, with all below it and
in its session, and whatever carries the run's mark. A ch-exec that does watch the run is asked
first, for then its document tells of the cancel.
"""

from __future__ import annotations

import os
import time

from ch_contract import documents, files, places, processes

from . import descendants
from .ending import PAUSE, end_all

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ch_contract.messages import RunRecord

# With KILL_SECONDS these are the two seconds in which a run must be gone. The first is a little
# more than a ch-exec that watches takes to see the file.
ASK_SECONDS = 0.25
TERM_SECONDS = 0.8


def stop(state: str, run_id: str) -> tuple[int, int]:
    """End every process of the run; gives how many were ended and how many could not be.

    `state` is the state folder. Raises Problem("document") when run.json cannot be understood,
    Problem("system") when the state folder cannot be used.
    """
    shell = _shell(state, run_id)

    def find() -> list[descendants.Process]:
        found = descendants.members(descendants.table(run_id), shell, os.getpid(), None)
        return [process for process in found if not process.is_dead]

    first = find()
    if not first:
        return 0, 0
    folder = places.run_dir(state, run_id)
    if os.path.isdir(folder):
        files.write_atomic(os.path.join(folder, "cancel"), b"")
    deadline = time.monotonic() + ASK_SECONDS
    rest = first
    while rest and time.monotonic() < deadline:
        time.sleep(PAUSE)
        rest = find()
    still = {(process.pid, process.start) for process in rest}
    gone = sum((process.pid, process.start) not in still for process in first)
    ended, left = end_all(find, time.sleep, term_seconds=TERM_SECONDS)
    return gone + ended, left


def _shell(state: str, run_id: str) -> int | None:
    """The process of the run's shell; None when it is gone, or was never started.

    Raises Problem("document") when the record cannot be understood.
    """
    path = os.path.join(places.run_dir(state, run_id), "run.json")
    data = files.read(path, regular=True)
    if data is None:
        return None
    record: RunRecord = documents.parse_json(data, path)
    documents.check(record, "store/run-record.schema.json", path)
    return record["pid"] if processes.is_alive(record["pid"], record["started"]) else None
