"""Which processes belong to a run, however far they fled.

`members` is pure over a list of processes. A run's processes are the shell, whoever shares its
process group or session, whoever carries the run's mark in its environment, all their children,
and every orphan that came to us since the run began (on Linux we are the one that orphans below us
come to). What was our child before the run began is none of it.
"""

from __future__ import annotations

import os
import sys

from ch_contract import processes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

MARK = "CH_EXEC_RUN"
_HAS_PROC = sys.platform.startswith("linux")


class Process:
    """One process as the system lists it; `start` tells it from a later one of the same id."""

    __slots__ = ("group", "is_dead", "is_marked", "parent", "pid", "session", "start")

    def __init__(
        self,
        pid: int,
        parent: int,
        group: int,
        session: int,
        *,
        start: str = "",
        is_dead: bool = False,
        is_marked: bool = False,
    ) -> None:
        self.pid = pid
        self.parent = parent
        self.group = group
        self.session = session
        self.start = start
        self.is_dead = is_dead
        self.is_marked = is_marked


def table(run_id: str) -> list[Process]:
    """All processes of the machine."""
    if _HAS_PROC:
        return listing(run_id)
    return parse_ps(_ps(), run_id)


def _ps() -> str:
    """What `ps` tells, where there is no /proc (macOS): with each process's environment."""
    import subprocess

    command = ["/bin/ps", "-A", "-E", "-ww", "-o", "pid=,ppid=,pgid=,sess=,stat=,command="]
    try:
        done = subprocess.run(
            command, capture_output=True, env={"LC_ALL": "C"}, timeout=1, check=False
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.decode("utf-8", "replace")


def parse_ps(text: str, run_id: str) -> list[Process]:
    """Processes from `ps -A -E -ww -o pid=,ppid=,pgid=,sess=,stat=,command=`."""
    found = []
    for line in text.splitlines():
        fields = line.split(None, 5)
        if len(fields) < 5 or not all(word.isdigit() for word in fields[:3]):
            continue
        # macOS prints an address, or 0, where others print the session's id
        session = int(fields[3]) if fields[3].isdigit() else 0
        found.append(
            Process(
                int(fields[0]),
                int(fields[1]),
                int(fields[2]),
                session,
                is_dead=fields[4].startswith("Z"),
                is_marked=f"{MARK}={run_id}" in (fields[5] if len(fields) > 5 else "").split(),
            )
        )
    return found


def listing(run_id: str) -> list[Process]:
    """All processes, from /proc."""
    mark = f"{MARK}={run_id}".encode()
    found = []
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        process = read(int(name))
        if process is None:
            continue
        process.is_marked = not process.is_dead and mark in _environment(name)
        found.append(process)
    return found


def read(pid: int) -> Process | None:
    """Process `pid` from /proc; None when there is none."""
    found = processes.stat(pid)
    if found is None:
        return None
    return Process(
        pid,
        found.parent,
        found.group,
        found.session,
        start=found.ticks,
        is_dead=found.is_dead,
    )


def _environment(name: str) -> list[bytes]:
    """The environment a process was started with; nothing where we may not look."""
    try:
        with open(f"/proc/{name}/environ", "rb") as file:
            return file.read().split(b"\0")
    except OSError:
        return []


def children_of(own: int) -> frozenset[int]:
    """The children of process `own`, from /proc."""
    try:
        threads = os.listdir(f"/proc/{own}/task")
        words = []
        for thread in threads:
            with open(f"/proc/{own}/task/{thread}/children", "rb") as file:
                words += file.read().split()
        return frozenset(int(word) for word in words)
    except OSError:
        return _children_by_parent(own)


def _children_by_parent(own: int) -> frozenset[int]:
    """The same on a kernel without that file: every process is asked for its parent."""
    pids = [int(name) for name in os.listdir("/proc") if name.isdigit()]
    found = [process for process in map(read, pids) if process is not None]
    return frozenset(process.pid for process in found if process.parent == own)


def members(
    table: Iterable[Process], shell: int | None, own: int, before: frozenset[int] | None
) -> list[Process]:
    """The processes of the run whose shell is `shell` (None: it is gone); dead ones (zombies) too.

    `own` is our own process, `before` are its children from before the run; None where orphans
    do not come to us, so that a child of ours says nothing about the run.
    """
    spared = (before or frozenset()) | {own}
    children: dict[int, list[Process]] = {}
    roots = []
    for process in table:
        children.setdefault(process.parent, []).append(process)
        if process.pid in spared:
            continue
        if (
            shell in (process.pid, process.group, process.session)
            or process.is_marked
            or (process.parent == own and before is not None)
        ):
            roots.append(process)
    found: dict[int, Process] = {}
    while roots:
        process = roots.pop()
        if process.pid in found or process.pid in spared:
            continue
        found[process.pid] = process
        roots += children.get(process.pid, ())
    # the shell first and parents before children: whoever loses a child goes on to the next command
    return sorted(found.values(), key=lambda p: (p.pid != shell, int(p.start or 0), p.pid))
