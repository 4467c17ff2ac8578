"""The time as people read it: local, with its offset from UTC, to the millisecond."""

from __future__ import annotations

import os
import time


def now() -> str:
    """The present moment, such as `2026-11-30T17:09:54.120+01:00`."""
    # whole nanoseconds: rounding a float could show the next second's .000 with this second
    seconds, rest = divmod(time.time_ns(), 1_000_000_000)
    local = time.localtime(seconds)
    offset = local.tm_gmtoff // 60
    sign = "-" if offset < 0 else "+"
    hours, minutes = divmod(abs(offset), 60)
    stamp = time.strftime("%Y-%m-%dT%H:%M:%S", local)
    return f"{stamp}.{rest // 1_000_000:03d}{sign}{hours:02d}:{minutes:02d}"


def moment(stamp: str) -> float:
    """Seconds since the epoch of a time as `now` writes it. Raises ValueError for another text."""
    from datetime import datetime

    return datetime.fromisoformat(stamp).timestamp()


def run_id() -> str:
    """A new run id: seconds since the epoch and 32 random bits, in hexadecimal."""
    return f"r-{int(time.time()):08x}{os.urandom(4).hex()}"
