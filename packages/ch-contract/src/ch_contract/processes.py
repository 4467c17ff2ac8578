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
        if fields[0] in (b"Z", b"X"):
            return None
        with open("/proc/sys/kernel/random/boot_id", "rb") as file:
            boot = file.read(8)
        return f"{boot.decode()}-{fields[19].decode()}"
    except FileNotFoundError:
        if os.path.exists("/proc/self/stat"):
            return None
    except (OSError, IndexError):
        return None
    return _started_by_ps(pid)


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
