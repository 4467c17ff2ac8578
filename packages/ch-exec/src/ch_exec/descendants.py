"""Which processes belong to a run, however far they fled.

Pure over a list of processes. A run's processes are the shell, whoever shares its process group
or session, whoever carries the run's mark in its environment, all their children, and every
orphan that came to us since the run began (on Linux we are the one that orphans below us come
to). What was our child before the run began is none of it.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

MARK = "CH_EXEC_RUN"


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


def parse_stat(data: bytes) -> Process | None:
    """One process from the text of /proc/<pid>/stat; None when it is cut short."""
    # the name, in parentheses, may hold blanks and parentheses (proc_pid_stat(5))
    head, _, rest = data.rpartition(b")")
    fields = rest.split()
    try:
        return Process(
            int(head.partition(b"(")[0]),
            int(fields[1]),
            int(fields[2]),
            int(fields[3]),
            start=fields[19].decode("ascii"),
            is_dead=fields[0] in (b"Z", b"X"),
        )
    except (IndexError, ValueError):
        return None


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
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return parse_stat(file.read())
    except OSError:
        return None


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
    processes: Iterable[Process], shell: int, own: int, before: frozenset[int] | None
) -> list[Process]:
    """The processes of the run whose shell is `shell`; dead ones (zombies) too.

    `own` is our own process, `before` are its children from before the run; None where orphans
    do not come to us, so that a child of ours says nothing about the run.
    """
    spared = (before or frozenset()) | {own}
    children: dict[int, list[Process]] = {}
    roots = []
    for process in processes:
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
