"""The time one verdict may take, and what is said of a text that could not be read."""

from __future__ import annotations

import time

# For one whole verdict: processor time, the parser's and ours. A machine that is busy with other
# work makes a verdict late; it must not make it a refusal. What takes no processor time ends by
# the clock on the wall.
DEADLINE_SECONDS = 0.2
WALL_FACTOR = 10
LATE = "it took longer to read than the time allowed for a verdict"


class Unreadable(Exception):
    """A text that could not be parsed; the message is the cause, in a few words."""


class Clock:
    """The time left for one verdict: processor time of this thread and of its parsers."""

    __slots__ = ("end", "own", "parsers", "seconds")

    def __init__(self, seconds: float = DEADLINE_SECONDS) -> None:
        self.seconds = seconds
        self.own = time.thread_time()
        self.parsers = 0.0
        self.end = time.monotonic() + seconds * WALL_FACTOR

    def left(self, running: float = 0.0) -> float:
        """Seconds until the deadline, `running` being what a running parser has used."""
        used = time.thread_time() - self.own + self.parsers + running
        return min(self.seconds - used, self.end - time.monotonic())

    def check(self, running: float = 0.0) -> None:
        """Raises Unreadable once the deadline has passed."""
        if self.left(running) <= 0:
            raise Unreadable(LATE)
