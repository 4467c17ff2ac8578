"""Start one process, follow it to its end, and end it with everything it started.

Decides nothing about commands: a backend says what to start. The child is forked first and waits
until the record of the run is on the disk; only then does it become the command. The end of the
run is the end of that process and not of its output, so what it leaves in the background neither
delays nor is harmed by it. Timeout and cancel send TERM to every process of the run, then KILL,
until none is left.
"""

from __future__ import annotations

import contextlib
import errno
import os
import select
import signal
import sys
import time

from ch_contract import processes
from ch_contract.problems import Problem

from . import descendants, libc
from .ending import KILL_SECONDS, SHORT_PAUSE, end_all, send_group
from .output import CHUNK

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import FrameType, TracebackType
    from typing import NoReturn, Protocol, Self

    from .output import Output

    class Beat(Protocol):
        """What is told that time passes."""

        def beat(self) -> None:
            """Called between two looks at the output."""


CANCEL = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
# A cancel that comes as a file is seen within the longer of these, in seconds.
STEP_SHORTEST = 0.02
STEP_LONGEST = 0.2
# The number of that call in the interface of Linux.
PR_SET_CHILD_SUBREAPER = 36
_ADOPTS = sys.platform.startswith("linux")


class Launch:
    """What to start: argument vector, environment, working folder, descriptor of the output.

    `is_released` says whether it has become the command: from then on something has run.
    """

    __slots__ = ("argv", "cwd", "environment", "is_released", "output")

    def __init__(
        self, argv: list[bytes], environment: dict[bytes, bytes], cwd: str, output: int
    ) -> None:
        self.argv = argv
        self.environment = environment
        self.cwd = cwd
        self.output = output
        self.is_released = False


class Ending:
    """How a process ended.

    `code` is the wait status as `os.waitstatus_to_exitcode` gives it (a signal is negative), None
    when it could not be ended. `reason` is "timeout", "cancel", "failure" or None. `seconds` is how
    long it ran, `ended` how many processes were ended, `left` how many could not be; `is_unsure`
    says that only the shell's process group could be reached, and others may live on. `failure` is
    what kept us from following it, or its output, to the end.
    """

    __slots__ = ("code", "ended", "failure", "is_unsure", "left", "reason", "seconds")

    def __init__(self) -> None:
        self.code: int | None = None
        self.reason: str | None = None
        self.seconds = 0.0
        self.ended = 0
        self.left = 0
        self.is_unsure = False
        self.failure: Exception | None = None


class Wakeups:
    """Signals as bytes on a pipe, so that one wait covers time, a child's end and a cancel.

    A cancelling signal that was ignored when we were started (nohup) stays ignored.
    """

    __slots__ = ("_before", "_before_fd", "_poll", "_reader", "_writer", "cancelled", "is_deaf")

    def __init__(self) -> None:
        self.cancelled = 0
        self.is_deaf = False
        self._before: list[tuple[int, object]] = []

    def __enter__(self) -> Self:
        self._reader, self._writer = os.pipe()
        os.set_blocking(self._reader, False)
        os.set_blocking(self._writer, False)
        self._poll = select.poll()
        self._poll.register(self._reader, select.POLLIN)
        try:
            self._before_fd = signal.set_wakeup_fd(self._writer, warn_on_full_buffer=False)
        except ValueError:
            # not the main thread: no signal comes to us, so waits are kept short
            self.is_deaf = True
            return self
        for number in (signal.SIGCHLD, *CANCEL):
            if number != signal.SIGCHLD and signal.getsignal(number) is signal.SIG_IGN:
                continue
            self._before.append((number, signal.signal(number, _only_wake)))
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if not self.is_deaf:
            for number, handler in self._before:
                # None: it was not set from Python and cannot be set back
                signal.signal(number, handler or signal.SIG_DFL)  # type: ignore[arg-type]
            signal.set_wakeup_fd(self._before_fd)
        os.close(self._reader)
        os.close(self._writer)

    def wait(self, seconds: float) -> None:
        """Sleep until a signal comes, at most `seconds`; cancelling ones are counted."""
        if self.is_deaf:
            seconds = min(seconds, STEP_SHORTEST)
        if self._poll.poll(max(0.0, seconds) * 1000):
            numbers = os.read(self._reader, 4096)
            self.cancelled += sum(number in CANCEL for number in numbers)


def _only_wake(_number: int, _frame: FrameType | None) -> None:
    """Let the byte on the pipe say it."""


class Child:
    """A forked process that waits to become the command."""

    __slots__ = ("_gate", "_report", "before", "pid")

    def __init__(self, launch: Launch) -> None:
        self.before = _children()
        gate, self._gate = os.pipe()
        self._report, report = os.pipe()
        try:
            self.pid = os.fork()
        except OSError as error:
            for fd in (gate, self._gate, self._report, report):
                os.close(fd)
            raise Problem(
                "system", f"cannot start a process: {error.strerror}", "nothing was run"
            ) from None
        if self.pid == 0:
            _become(launch, gate, report)
        os.close(gate)
        os.close(report)

    def start(self) -> str:
        """Its start time. Raises Problem("system") when it is gone already."""
        start = processes.started(self.pid)
        if start is None:
            raise Problem("system", "the process ended before it began", "nothing was run")
        return start

    def release(self) -> None:
        """Let it become the command. Raises Problem("system") when it cannot."""
        # should it be gone already, the report below says so
        with contextlib.suppress(BrokenPipeError):
            os.write(self._gate, b"g")
        os.close(self._gate)
        # the pipe closes by itself when the program is started
        report = os.read(self._report, select.PIPE_BUF)
        os.close(self._report)
        if not report:
            return
        os.waitpid(self.pid, 0)
        step, _, number = os.fsdecode(report).rpartition(" ")
        raise Problem("system", f"cannot {step}: {os.strerror(int(number))}", "nothing was run")

    def discard(self) -> None:
        """End it before it becomes anything."""
        os.close(self._gate)
        os.close(self._report)
        os.waitpid(self.pid, 0)


def _become(launch: Launch, gate: int, report: int) -> NoReturn:
    """In the child: wait for the gate, then be the command. Never returns."""
    step = "prepare the process"
    try:
        signal.set_wakeup_fd(-1)
        for number in signal.valid_signals():
            # KILL, STOP and those of the C library cannot be set
            with contextlib.suppress(OSError, ValueError):
                signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        # a session without a terminal: nothing can ask on /dev/tty (field-notes, prompts)
        os.setsid()
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(launch.output, 1)
        os.dup2(launch.output, 2)
        for name in os.listdir("/dev/fd"):
            fd = int(name)
            if fd > 2 and fd not in (gate, report):
                # the listing's own descriptor is closed already
                with contextlib.suppress(OSError):
                    os.close(fd)
        if os.read(gate, 1) != b"g":
            os._exit(0)
        step = f"enter {launch.cwd}"
        os.chdir(launch.cwd)
        step = f"start {os.fsdecode(launch.argv[0])}"
        os.execve(launch.argv[0], launch.argv, launch.environment)  # noqa: S606 (a shell it is)
    except OSError as error:
        os.write(report, os.fsencode(f"{step} {error.errno or errno.EINVAL}"))
    except BaseException:  # noqa: BLE001 (this process has no caller to tell)
        # without a word on the pipe this would look like a command that exited with 127
        os.write(report, os.fsencode(f"{step} {errno.EINVAL}"))
    finally:
        os._exit(127)


def run(
    launch: Launch,
    output: Output,
    *,
    timeout: float,
    cancel_path: str,
    run_id: str,
    record: Callable[[int, str], None],
    view: Beat | None = None,
) -> Ending:
    """Start `launch` and follow it to its end.

    `record` is called with the process id and its start time and must have everything on the disk
    when it returns; whatever it raises, nothing is run. `timeout` is in seconds. Raises
    Problem("system") when the process cannot be started. Once it has, nothing that fails here
    leaves it running: it is ended, and the ending holds the failure.
    """
    with Wakeups() as wakeups:
        _reap(_left_behind)
        child = Child(launch)
        try:
            record(child.pid, child.start())
        except BaseException:
            child.discard()
            raise
        with _adopting_orphans():
            child.release()
            launch.is_released = True
            ending = Ending()
            begin = time.monotonic()
            try:
                _follow(
                    child,
                    output,
                    wakeups,
                    ending,
                    deadline=begin + timeout,
                    cancel_path=cancel_path,
                    run_id=run_id,
                    view=view,
                )
            except BaseException as error:
                if ending.code is None or ending.reason is not None:
                    ending.reason = ending.reason or "failure"
                    _end_anyhow(child, run_id, ending)
                    ending.seconds = time.monotonic() - begin
                if not isinstance(error, Exception):
                    raise
                ending.failure = error
            finally:
                # where they cannot be listed, they are not buried: that harms nobody
                with contextlib.suppress(OSError):
                    _left_behind.update(_children() - child.before)
            return ending


def _children() -> frozenset[int]:
    """Our children; none where no orphan ever comes to us."""
    return descendants.children_of(os.getpid()) if _ADOPTS else frozenset()


# Orphans of earlier runs that live on in the background: they are ours to bury.
_left_behind: set[int] = set()


def _reap(pids: set[int]) -> None:
    """Bury those of `pids` that have died."""
    for pid in list(pids):
        try:
            gone = os.waitpid(pid, os.WNOHANG)[0] == pid
        except ChildProcessError:
            gone = True
        if gone:
            pids.discard(pid)


def _follow(
    child: Child,
    output: Output,
    wakeups: Wakeups,
    ending: Ending,
    *,
    deadline: float,
    cancel_path: str,
    run_id: str,
    view: Beat | None,
) -> None:
    begin = time.monotonic()
    step = STEP_SHORTEST
    while True:
        pid, status = os.waitpid(child.pid, os.WNOHANG)
        if pid:
            ending.code = os.waitstatus_to_exitcode(status)
            break
        grown = output.advance()
        if view is not None:
            view.beat()
        left = deadline - time.monotonic()
        if wakeups.cancelled or os.path.lexists(cancel_path):
            ending.reason = "cancel"
        elif left <= 0:
            ending.reason = "timeout"
        if ending.reason is not None:
            break
        step = STEP_SHORTEST if grown else min(step * 1.5, STEP_LONGEST)
        # a step even while it writes: the command needs the processor more than we do
        wakeups.wait(0 if grown == CHUNK else min(step, left))
    if ending.reason is not None:
        cancelled = wakeups.cancelled
        # asked once more: no more patience
        _end(child, run_id, ending, wakeups.wait, lambda: wakeups.cancelled > cancelled)
    ending.seconds = time.monotonic() - begin
    output.finish()


def _end(
    child: Child,
    run_id: str,
    ending: Ending,
    wait: Callable[[float], None],
    is_urged: Callable[[], bool],
) -> None:
    """End every process of the run."""
    own = os.getpid()
    before = child.before if _ADOPTS else None

    def find() -> list[descendants.Process]:
        alive = []
        for process in descendants.members(descendants.table(run_id), child.pid, own, before):
            # the dead shell is kept: its number, which is its group's too, stays its own
            if process.is_dead and process.parent == own and process.pid != child.pid:
                _bury(process.pid, child.pid, ending)
            if not process.is_dead:
                alive.append(process)
        return alive

    def is_gone() -> bool:
        if ending.code is None:
            # whoever was missed by every look is most likely still in the shell's group
            send_group(child.pid, signal.SIGKILL)
            _bury(child.pid, child.pid, ending)
        return before is None or len(before) > 0 or not _has_children()

    ending.ended, ending.left = end_all(find, wait, is_urged=is_urged, is_gone=is_gone)
    _bury(child.pid, child.pid, ending)


def _end_anyhow(child: Child, run_id: str, ending: Ending) -> None:
    """The same with less to rely on, also where not even the processes can be listed."""
    try:
        _end(child, run_id, ending, time.sleep, lambda: False)
    except Exception:  # noqa: BLE001 (the failure that brought us here is the one that is told)
        ending.is_unsure = True
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)
        deadline = time.monotonic() + KILL_SECONDS
        while ending.code is None and time.monotonic() < deadline:
            _bury(child.pid, child.pid, ending)
            time.sleep(SHORT_PAUSE)
        ending.ended = 1 if ending.code is not None else 0
        ending.left = 1 - ending.ended


def _has_children() -> bool:
    """Whether we have any child, living or dead; unlike a list of them this misses none."""
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return False
    return True


def _bury(pid: int, shell: int, ending: Ending) -> None:
    """Collect the exit status of our child `pid` if it is dead; keep the shell's."""
    try:
        done, status = os.waitpid(pid, os.WNOHANG)
    except ChildProcessError:
        return
    if done == shell and ending.code is None:
        ending.code = os.waitstatus_to_exitcode(status)


@contextlib.contextmanager
def _adopting_orphans() -> Iterator[None]:
    """While the block runs, orphans below us come to us instead of to process 1 (Linux).

    So nothing that forks twice and starts a session of its own gets out of sight.
    """
    call = libc.function("prctl")
    if call is not None:
        call(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    try:
        yield
    finally:
        if call is not None:
            call(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)
