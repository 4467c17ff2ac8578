"""Ctrl-C, a closed terminal and a polite end while a run is under way.

A signal is noted, not raised: it must not fall between a command that has run and its receipt. The
flow looks at it between two tools, before anything has run; ch-exec takes the signals over while
the command runs and ends it; whatever comes afterwards waits until the block is delivered.
"""

from __future__ import annotations

import signal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType, TracebackType
    from typing import Self

NOTED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)


class Interrupts:
    """A context in which those signals are noted in `caught`."""

    __slots__ = ("_before", "caught")

    def __init__(self) -> None:
        self.caught: int | None = None
        self._before: dict[signal.Signals, object] = {}

    def _note(self, number: int, _frame: FrameType | None) -> None:
        self.caught = number

    def __enter__(self) -> Self:
        for number in NOTED:
            before = signal.getsignal(number)
            # what is ignored (nohup) stays ignored
            if before is not signal.SIG_IGN:
                signal.signal(number, self._note)
                self._before[number] = before
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for number, before in self._before.items():
            signal.signal(number, before)  # type: ignore[arg-type]  # what getsignal gave
