"""The identity of a process: its id and the moment it started.

A process id alone is used again by the system; with the start time it names one process. Start
times are opaque strings, equal only for the same process.
"""

from __future__ import annotations

import os


class Stat:
    """What /proc tells of a process; `ticks` is its start time, counted from the boot."""

    __slots__ = ("group", "is_dead", "parent", "session", "ticks")

    def __init__(self, *, parent: int, group: int, session: int, ticks: str, is_dead: bool) -> None:
        self.parent = parent
        self.group = group
        self.session = session
        self.ticks = ticks
        self.is_dead = is_dead


def parse_stat(data: bytes) -> Stat | None:
    """The text of /proc/<pid>/stat; None when it is cut short."""
    # the name, in parentheses, may hold blanks and parentheses (proc_pid_stat(5))
    fields = data.rpartition(b")")[2].split()
    try:
        return Stat(
            parent=int(fields[1]),
            group=int(fields[2]),
            session=int(fields[3]),
            ticks=fields[19].decode("ascii"),
            is_dead=fields[0] in (b"Z", b"X"),
        )
    except (IndexError, ValueError):
        return None


def stat(pid: int) -> Stat | None:
    """Process `pid` as /proc has it, a dead one (zombie) too; None when there is none."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return parse_stat(file.read())
    except OSError:
        return None


def started(pid: int) -> str | None:
    """When process `pid` started, as the system tells it; None when there is no such process."""
    found = stat(pid)
    if found is None:
        return None if os.path.exists("/proc/self/stat") else _started_by_ps(pid)
    return None if found.is_dead else f"{_boot()}-{found.ticks}"


def _boot() -> str:
    """Which boot of the machine this is: start times begin anew at each; "" where it is hidden."""
    try:
        with open("/proc/sys/kernel/random/boot_id", "rb") as file:
            return file.read(8).decode("ascii", "replace")
    except OSError:
        return ""


def _started_by_ps(pid: int) -> str | None:
    """Where there is no /proc (macOS): what `ps` tells."""
    import subprocess

    try:
        done = subprocess.run(
            ["/bin/ps", "-o", "lstart=,stat=", "-p", str(pid)],
            capture_output=True,
            env={"LC_ALL": "C", "TZ": "UTC"},
            timeout=5,
            check=False,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    words = done.stdout.decode("utf-8", "replace").split()
    if done.returncode != 0 or not words or words[-1].startswith("Z"):
        return None
    return " ".join(words[:-1])


def is_alive(pid: int, start: str) -> bool:
    """Whether the process that started as `start` under this id still lives."""
    return started(pid) == start
