"""End every process of a run, wherever it fled: TERM, after a while KILL, until none is left.

Decides nothing about which processes those are (descendants.py), and waits as it is told to.
A list of processes is no snapshot: one that hands over to its child while the list is made is
missed with the child. So one empty look proves nothing, and before KILL all are stopped, for who
is stopped starts no other.
"""

from __future__ import annotations

import contextlib
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
# So many looks in a row must find nothing.
EMPTY_LOOKS = 3
# How long new ones are looked for and stopped before what is stopped is killed.
FREEZE_SECONDS = 0.2


def end_all(
    find: Callable[[], list[descendants.Process]],
    wait: Callable[[float], None],
    *,
    term_seconds: float = TERM_SECONDS,
    is_urged: Callable[[], bool] = lambda: False,
    is_gone: Callable[[], bool] = lambda: True,
) -> tuple[int, int]:
    """End what `find` finds; gives how many processes were ended and how many could not be.

    `find` is called again and again, for processes start others. `wait` takes seconds. TERM is
    given `term_seconds`, unless `is_urged` says that there is no more patience. `is_gone` is asked
    when nothing is found any more, and may know better.
    """
    patience = time.monotonic() + term_seconds
    asked: set[tuple[int, str]] = set()
    killed: set[tuple[int, str]] = set()
    reached: set[tuple[int, str]] = set()
    frozen: set[tuple[int, str]] = set()
    seen: set[int] = set()
    empty_looks = 0
    while True:
        alive = find()
        now = time.monotonic()
        if now > patience + KILL_SECONDS:
            break
        if is_urged():
            patience = min(patience, now)
        if not alive:
            empty_looks += 1
            if empty_looks >= EMPTY_LOOKS and is_gone():
                break
            wait(SHORT_PAUSE)
            continue
        empty_looks = 0
        before = len(asked) + len(killed)
        if now >= patience:
            alive = _freeze(alive, find, frozen, seen)
            for group in _own_groups(alive, seen):
                send_group(group, signal.SIGKILL)
        seen.update(process.pid for process in alive)
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


def _freeze(
    alive: list[descendants.Process],
    find: Callable[[], list[descendants.Process]],
    frozen: set[tuple[int, str]],
    seen: set[int],
) -> list[descendants.Process]:
    """Stop `alive`, and what `find` finds beside, until nothing new comes; gives all of them."""
    deadline = time.monotonic() + FREEZE_SECONDS
    while True:
        new = [process for process in alive if (process.pid, process.start) not in frozen]
        if not new or time.monotonic() > deadline:
            return alive
        seen.update(process.pid for process in alive)
        for group in _own_groups(new, seen):
            send_group(group, signal.SIGSTOP)
        for process in new:
            send(process, signal.SIGSTOP)
            frozen.add((process.pid, process.start))
        found = find()
        listed = {(process.pid, process.start) for process in found}
        # one that is missing was on its way out; it is sent KILL all the same, to no harm
        alive = found + [p for p in alive if (p.pid, p.start) not in listed]


def _own_groups(alive: list[descendants.Process], seen: set[int]) -> list[int]:
    """The process groups of `alive` that a process of the run has founded.

    Only processes of one session can be in one group, so no stranger is in such a one.
    """
    return sorted({process.group for process in alive}.intersection(seen))


def send_group(group: int, number: int) -> None:
    """Send a signal to a process group: also to those that are being forked at this moment."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)


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
