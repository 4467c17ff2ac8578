"""The identity of a process: its id and the moment it started.

A process id alone is used again by the system; with the start time it names one process. Start
times are opaque strings, equal only for the same process.
"""

from __future__ import annotations

import os


def started(pid: int) -> str | None:
    """When process `pid` started, as the system tells it; None when there is no such process."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            # the name, in parentheses, may hold blanks and parentheses (proc_pid_stat(5))
            fields = file.read().rpartition(b")")[2].split()
    except FileNotFoundError:
        return None if os.path.exists("/proc/self/stat") else _started_by_ps(pid)
    except OSError:  # it ended while it was being read
        return None
    if len(fields) < 20 or fields[0] in (b"Z", b"X"):
        return None
    return f"{_boot()}-{fields[19].decode()}"


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
