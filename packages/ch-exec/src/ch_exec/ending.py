"""End every process of a run, wherever it fled: TERM, after a while KILL, until none is left.

Decides nothing about which processes those are (descendants.py), and waits as it is told to.
"""

from __future__ import annotations

import os
import signal
import time

from . import descendants

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

# Both together are the two seconds in which a run must be gone.
TERM_SECONDS = 1.0
KILL_SECONDS = 0.9
# Between two looks at what is left, in seconds.
PAUSE = 0.02
SHORT_PAUSE = 0.002


def end_all(
    find: Callable[[], list[descendants.Process]],
    wait: Callable[[float], None],
    *,
    term_seconds: float = TERM_SECONDS,
    is_urged: Callable[[], bool] = lambda: False,
) -> tuple[int, int]:
    """End what `find` finds; gives how many processes were ended and how many could not be.

    `find` is called again and again, for processes start others. `wait` takes seconds. TERM is
    given `term_seconds`, unless `is_urged` says that there is no more patience.
    """
    patience = time.monotonic() + term_seconds
    asked: set[tuple[int, str]] = set()
    killed: set[tuple[int, str]] = set()
    reached: set[tuple[int, str]] = set()
    while True:
        alive = find()
        now = time.monotonic()
        if not alive or now > patience + KILL_SECONDS:
            break
        if is_urged():
            patience = min(patience, now)
        before = len(asked) + len(killed)
        for process in alive:
            key = (process.pid, process.start)
            if now >= patience:
                if key not in killed and send(process, signal.SIGKILL):
                    reached.add(key)
                killed.add(key)
            elif key not in asked:
                if send(process, signal.SIGTERM):
                    reached.add(key)
                # one that is stopped takes TERM only when it goes on
                send(process, signal.SIGCONT)
                asked.add(key)
        wait(SHORT_PAUSE if len(asked) + len(killed) > before else PAUSE)
    return len(reached.difference((p.pid, p.start) for p in alive)), len(alive)


def send(process: descendants.Process, number: int) -> bool:
    """Send a signal to exactly this process; whether it was still there."""
    fd = None
    try:
        # a descriptor holds the process; the start time tells it from a later one of its id
        fd = _hold(process.pid) if process.start else None
        if process.start:
            same = descendants.read(process.pid)
            if same is None or same.start != process.start:
                return False
        if fd is None or not _send_held(fd, number):
            os.kill(process.pid, number)
    except (ProcessLookupError, PermissionError):
        return False
    finally:
        if fd is not None:
            os.close(fd)
    return True


def _hold(pid: int) -> int | None:
    """A descriptor of the process; None where the system has, or allows, none.

    Old kernels and builds of Python lack it, and filters of containers forbid it. Raises
    ProcessLookupError when there is no such process.
    """
    try:
        fd: int = os.pidfd_open(pid)
    except ProcessLookupError:
        raise
    except (AttributeError, OSError):
        return None
    return fd


def _send_held(fd: int, number: int) -> bool:
    """Whether the signal could be sent by a descriptor. Raises ProcessLookupError."""
    try:
        signal.pidfd_send_signal(fd, number)
    except ProcessLookupError:
        raise
    except (AttributeError, OSError):
        return False
    return True
