"""The clipboards a terminal offers: a tmux buffer, and the OSC 52 sequence.

Decides what fits. Leaves to the terminal whether it passes a text on: neither way gives an
answer about that. `load-buffer -w` also sends the text to the terminal around tmux, unless tmux's
option set-clipboard is off.
"""

from __future__ import annotations

import base64
import os
import re
import select
import time

from .bounded import SECONDS, Programs, failed, patience
from .clipboard import Clipboard, ClipboardEmpty, ClipboardUnavailable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

# Terminals commonly take a sequence of at most 100,000 bytes; base64 makes 4 out of 3.
OSC52_BYTES = 74_994
TERMINAL = "/dev/tty"


class Tmux(Clipboard):
    """The newest buffer of tmux among those it named itself: buffer0, buffer1 and so on.

    Versions differ in whether a buffer that somebody named counts as the newest; here it never
    does, so that what is read and what `change` watches are the same buffer.
    """

    __slots__ = ("_program", "_programs")

    name = "tmux"

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._programs = Programs(environment)
        self._program = self._programs.path("tmux", "tmux")

    def probe(self) -> None:
        """Whether a tmux server can be reached."""
        self._newest()

    def _newest(self) -> str | None:
        """The name of the newest buffer; None when there is no buffer. Numbers only grow."""
        listed = self._programs.ask(self._program, "list-buffers", "-F", "#{buffer_name}")
        if listed.code != 0:
            if listed.said.startswith(("error connecting", "no server")):
                raise ClipboardUnavailable(
                    "no tmux server can be reached", "start this inside tmux"
                )
            raise failed("tmux", listed)
        names = listed.data.decode("utf-8", "replace").splitlines()
        numbers = [int(name[6:]) for name in names if re.fullmatch(r"buffer[0-9]+", name)]
        return f"buffer{max(numbers)}" if numbers else None

    def _get(self) -> bytes:
        newest = self._newest()
        if newest is None:
            raise ClipboardEmpty
        answer = self._programs.ask(self._program, "save-buffer", "-b", newest, "-")
        if answer.code != 0:
            raise failed("tmux", answer)
        return answer.data

    def _put(self, data: bytes) -> None:
        if not data:
            # tmux takes it without a word and keeps the old text
            raise ClipboardUnavailable("tmux cannot hold an empty text")
        code = self._programs.hand(data, self._program, "load-buffer", "-w", "-")
        if code != 0:
            self.probe()
            raise ClipboardUnavailable(
                f"tmux could not take the text (exit code {code})", "tmux 3.2 or newer is needed"
            )

    def change(self) -> str | None:
        """Which buffer is the newest: each copy makes a new one."""
        return self._newest()


class Osc52(Clipboard):
    """The terminal's clipboard by an escape sequence: written blindly, never read."""

    __slots__ = ("_inside_tmux", "_seconds")

    name = "osc52"
    can_read = False

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._inside_tmux = bool(environment.get("TMUX"))
        self._seconds = patience(environment, SECONDS)

    def probe(self) -> None:
        """Whether there is a terminal."""
        os.close(self._open())

    def _open(self) -> int:
        try:
            return os.open(TERMINAL, os.O_WRONLY | os.O_NOCTTY | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError:
            raise ClipboardUnavailable(
                "there is no terminal to send the text to", "start this from a terminal"
            ) from None

    def _get(self) -> bytes:
        raise ClipboardUnavailable(
            "the terminal's clipboard can only be written (osc52)",
            "install xclip or wl-clipboard, or use tmux",
        )

    def _put(self, data: bytes) -> None:
        if len(data) > OSC52_BYTES:
            raise ClipboardUnavailable(
                f"the text has {len(data):,} bytes; a terminal takes at most {OSC52_BYTES:,}",
                "set result_budget_chars lower, or use a clipboard that takes more",
            )
        fd = self._open()
        try:
            self._send(fd, sequence(data, inside_tmux=self._inside_tmux))
        except OSError as error:
            raise ClipboardUnavailable(f"cannot write to the terminal: {error.strerror}") from None
        finally:
            os.close(fd)

    def _send(self, fd: int, data: bytes) -> None:
        """Write `data` without waiting for ever on a terminal that was stopped by Ctrl-S."""
        deadline = time.monotonic() + self._seconds
        poll = select.poll()
        poll.register(fd, select.POLLOUT)
        view = memoryview(data)
        while view:
            left = deadline - time.monotonic()
            if left <= 0 or not poll.poll(left * 1000):
                raise ClipboardUnavailable(
                    f"the terminal took no more text for {self._seconds:g} s",
                    "it may be stopped: press Ctrl-Q, then try again",
                )
            try:
                view = view[os.write(fd, view) :]
            except BlockingIOError:
                continue


def sequence(data: bytes, *, inside_tmux: bool) -> bytes:
    """The OSC 52 sequence for `data`; inside tmux in the wrapping that tmux passes through."""
    plain = b"\x1b]52;c;" + base64.b64encode(data) + b"\a"
    if not inside_tmux:
        return plain
    return b"\x1bPtmux;" + plain.replace(b"\x1b", b"\x1b\x1b") + b"\x1b\\"
