"""The trace a run leaves before it begins: its folder, its record, and the sign that it is open.

Whoever makes `output.txt` has the run; nobody runs it again, also after a crash. `run.json` says
which process it is. `command.txt` keeps the executed text where no flow kept the copied one.
Nothing begins whose receipt the ledger could not take. `open/<id>.json` stands until the end
receipt is written, and names the process that answers for that: a flow that made it before is left
in charge.
"""

from __future__ import annotations

import fcntl
import os

from ch_contract import clock, documents, files, places, processes
from ch_contract.problems import Problem
from ch_contract.quiet_hashlib import hexdigest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ch_contract.messages import OpenRun, RunRecord

    from .planning import Plan


class Record:
    """The folder of one run, and the descriptor its command writes to."""

    __slots__ = (
        "_command_path", "_is_mine", "_ledger_size", "_opened", "_path", "folder", "output",
        "output_path", "plan",
    )  # fmt: skip

    def __init__(self, plan: Plan, state: str) -> None:
        """Claim the run.

        Raises Problem("refused") when it was claimed before, Problem("system") when the state
        folder or the ledger cannot be written.
        """
        self.plan = plan
        self._ledger_size = files.check_append(places.ledger(state))
        files.check_append(places.ledger_lock(state))
        self.folder = files.private_folder(places.run_dir(state, plan.run_id))
        self.output_path = os.path.join(self.folder, "output.txt")
        self._path = os.path.join(self.folder, "run.json")
        self._command_path = os.path.join(self.folder, "command.txt")
        self._opened = places.open_run(state, plan.run_id)
        self._is_mine = False
        if os.path.lexists(self._path):
            raise self._refusal()
        try:
            self.output = files.create_exclusive(self.output_path)
        except FileExistsError:
            raise self._refusal() from None
        # two writers, such as a program and one that opened /dev/stderr, must not overwrite
        flags = fcntl.fcntl(self.output, fcntl.F_GETFL)
        fcntl.fcntl(self.output, fcntl.F_SETFL, flags | os.O_APPEND)

    def _refusal(self) -> Problem:
        return Problem(
            "refused",
            f"the run {self.plan.run_id} was started before, and no run is started twice",
            f"what it left is in {self.folder}; copy the payload again for a new run",
        )

    @property
    def cancel_path(self) -> str:
        """The file whose appearance cancels the run."""
        return os.path.join(self.folder, "cancel")

    def write(self, pid: int, start: str, backend: str, mode: str, sandbox: str) -> None:
        """Put on the disk what is about to start. Raises Problem("system")."""
        plan = self.plan
        record: RunRecord = {
            "format": "clip-harness/run-record@1",
            "run_id": plan.run_id,
            "session": plan.session,
            "cwd": plan.cwd,
            "command_sha256": hexdigest(plan.command.encode()),
            "shell": plan.shell,
            "dialect": plan.dialect,
            "backend": backend,
            "mode": mode,
            "sandbox": sandbox,
            "sandbox_digest": None,
            "approval": plan.approval,
            "approval_id": plan.approval_id,
            "writes": plan.writes,
            "timeout": plan.timeout,
            "pid": pid,
            "started": start,
            "at": clock.now(),
        }
        if not os.path.lexists(self._opened):
            files.private_folder(os.path.dirname(self._opened))
            self._write_open("running")
            self._is_mine = True
        if not os.path.lexists(os.path.join(self.folder, "payload.txt")):
            files.write_atomic(self._command_path, plan.command.encode())
        files.write_atomic(self._path, documents.encode(record))

    def abandon(self) -> None:
        """Take the claim back: nothing was started."""
        if not os.path.lexists(self._path):
            files.remove(self.output_path)
            files.remove(self._command_path)
        self.remove_open()

    def end(self) -> None:
        """Say that the run has ended, where we answer for it; its receipt is still to come."""
        if self._is_mine:
            self._write_open("ended")

    def remove_open(self) -> None:
        """Say that the run needs no receipt any more, where we answer for it."""
        if self._is_mine:
            files.remove(self._opened)

    def _write_open(self, state: str) -> None:
        own = os.getpid()
        entry: OpenRun = {
            "format": "clip-harness/open-run@1",
            "run_id": self.plan.run_id,
            "session": self.plan.session,
            "state": state,
            "pid": own,
            "started": processes.started(own) or "",
            "ledger_size": self._ledger_size,
            "at": clock.now(),
        }
        files.write_atomic(self._opened, documents.encode(entry))
