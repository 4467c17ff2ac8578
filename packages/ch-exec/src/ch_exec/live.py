"""What a person at a terminal sees while a command runs; never part of any file or document.

A header, the output as it is produced, and a line that says that it still runs when the output
has been quiet. The output is hostile text: of its control sequences only colours and "erase the
rest of the line" are passed on, and colours only where they are wanted. The terminal is written
without ever waiting for it, so a terminal that stands still (Ctrl-S) delays neither the command nor
its timeout; what such a terminal misses is in output.txt, and the view says how much it left out.
"""

from __future__ import annotations

import codecs
import contextlib
import os
import re
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import BinaryIO

    from .planning import Plan

QUIET_SECONDS = 5.0
# Beyond this the terminal is too slow for the output, and the view skips.
BACKLOG = 1 << 20
PATIENCE_SECONDS = 1.0
# No honest sequence is longer; what looks like one and is, is shown as text.
LONGEST_SEQUENCE = 4096

_COLOR = r"\x1b\[[0-9;:]*m"
_ERASE = r"\x1b\[[012]?K"
# other control sequences, and the strings that carry titles, clipboards and links (ECMA-48)
_DROPPED = (
    r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b[\]PX^_][^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)|\x1b[ -/]*[0-Z\\^-~]"
)
_CONTROL = r"[\x00-\x07\x0b\x0c\x0e-\x1f\x7f-\x9f]"
_TOKENS = re.compile(f"({_COLOR})|({_ERASE})|({_DROPPED})|({_CONTROL})")
_BEGUN = re.compile(r"\x1b(?:\[[0-?]*[ -/]*|[\]PX^_][^\x07\x1b\x9c]*\x1b?|[ -/]*)?\Z")


def tame(text: str, *, is_colored: bool = True) -> str:
    """`text` with every control that could do more than colour it taken out or made visible.

    Without `is_colored` the colours are taken out too.
    """

    def tamed(match: re.Match[str]) -> str:
        if match[1]:
            return match[1] if is_colored else ""
        if match[2] or match[3]:
            return match[2] or ""
        code = ord(match[4])
        if code < 0x20:
            return f"^{chr(code + 0x40)}"
        return "^?" if code == 0x7F else f"\\x{code:02x}"

    return _TOKENS.sub(tamed, text)


class Tamer:
    """`tame` for text that comes in pieces, as bytes."""

    __slots__ = ("_decoder", "_is_colored", "_rest")

    def __init__(self, *, is_colored: bool = True) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._is_colored = is_colored
        self._rest = ""

    def feed(self, data: bytes, *, final: bool = False) -> str:
        """What can be shown after `data`; a sequence that has only begun is kept back."""
        text = self._rest + self._decoder.decode(data, final)
        self._rest = ""
        if not final:
            begun = _BEGUN.search(text, max(0, len(text) - LONGEST_SEQUENCE))
            if begun is not None:
                self._rest = begun[0]
                text = text[: begun.start()]
        return tame(text, is_colored=self._is_colored)


class View:
    """The live view. `send` takes bytes and gives how many it took, without waiting."""

    __slots__ = (
        "_backlog",
        "_begin",
        "_clock",
        "_column",
        "_is_beating",
        "_is_colored",
        "_last",
        "_said",
        "_send",
        "_skipped",
        "_tamer",
        "close",
    )

    def __init__(
        self,
        send: Callable[[bytes], int],
        close: Callable[[], None],
        clock: Callable[[], float] = time.monotonic,
        *,
        is_colored: bool = True,
    ) -> None:
        self._send = send
        self.close = close
        self._clock = clock
        self._tamer = Tamer(is_colored=is_colored)
        self._is_colored = is_colored
        self._backlog = b""
        self._skipped = 0
        self._column = False
        self._is_beating = False
        self._said = 0
        self._begin = self._last = clock()

    def begin(self, plan: Plan) -> None:
        """The header: command, working folder, session, timeout."""
        first, *more = plan.command.strip().split("\n")
        rest = f"  (+{len(more)} lines)" if more else ""
        session = f" · session {plan.session}" if plan.session is not None else ""
        first = tame(first, is_colored=self._is_colored)
        where = tame(plan.cwd.replace("\n", "^J"), is_colored=self._is_colored)
        self._put(f"$ {first}{rest}\n  in {where}{session} · timeout {plan.timeout} s\n")
        self._begin = self._last = self._clock()

    def show(self, data: bytes) -> None:
        """Output as it was produced."""
        self._erase_beat()
        self._last = self._clock()
        text = self._tamer.feed(data)
        if text:
            self._column = text[-1] not in "\r\n"
            self._put(text)

    def skip(self, count: int) -> None:
        """So many bytes of output are not shown: they come faster than they could be looked at."""
        self._erase_beat()
        self._last = self._clock()
        self._skipped += count

    def beat(self) -> None:
        """Say that the command still runs, when it has been quiet."""
        self._flush()
        now = self._clock()
        seconds = int(now - self._begin)
        if now - self._last < QUIET_SECONDS or self._backlog:
            return
        if self._is_beating and seconds == self._said:
            return
        # in the middle of a line the place is kept and gone back to
        back = ("\x1b8" if self._is_beating else "\x1b7") if self._column else "\r"
        self._put(f"{back}… running {seconds}s\x1b[K")
        self._is_beating = True
        self._said = seconds

    def end(self) -> None:
        """Leave the terminal at the beginning of a line, without colours."""
        self._erase_beat()
        text = self._tamer.feed(b"", final=True)
        reset = "\x1b[0m" if self._is_colored else ""
        self._put(text + reset + ("\n" if self._column or text else ""))
        deadline = time.monotonic() + PATIENCE_SECONDS
        while self._backlog and time.monotonic() < deadline:
            if not self._flush():
                time.sleep(0.01)
            else:
                deadline = time.monotonic() + PATIENCE_SECONDS
        self.close()

    def _erase_beat(self) -> None:
        if self._is_beating:
            self._put("\x1b8\x1b[K" if self._column else "\r\x1b[K")
            self._is_beating = False

    def _put(self, text: str) -> None:
        self._flush()
        data = text.encode("utf-8", "replace")
        if len(self._backlog) + len(data) > BACKLOG:
            self._skipped += len(data)
            return
        if self._skipped:
            data = f"\n… {self._skipped:,} bytes not shown\n".encode() + data
            self._skipped = 0
        self._backlog += data
        self._flush()

    def _flush(self) -> bool:
        """Send what the terminal takes; whether it took any."""
        sent = self._send(self._backlog) if self._backlog else 0
        self._backlog = self._backlog[sent:]
        return sent > 0


def on_terminal(stream: BinaryIO, *, is_colored: bool = True) -> View | None:
    """A view on the terminal behind `stream`; None when it cannot be opened."""
    stream.flush()
    try:
        # opened anew: "do not wait" must not be set for all who share this terminal
        path = os.ttyname(stream.fileno())
        fd = os.open(path, os.O_WRONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    except OSError:
        return None

    def send(data: bytes) -> int:
        try:
            return os.write(fd, data)
        except BlockingIOError:
            return 0
        except OSError:
            # the terminal is gone; the run goes on
            return len(data)

    def close() -> None:
        with contextlib.suppress(OSError):
            os.close(fd)

    return View(send, close, is_colored=is_colored)
