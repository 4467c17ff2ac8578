"""The clipboard of an X11 desktop, through xclip or xsel.

Decides which form of a selection is text. Leaves running the programs to bounded.py. The text
lives in the process that offers it: xclip and xsel stay behind as such a process until somebody
else copies something.
"""

from __future__ import annotations

import time

from .bounded import Programs, failed
from .clipboard import Clipboard, ClipboardEmpty, ClipboardNotText, ClipboardUnavailable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from .bounded import Answer

UTF8 = ("UTF8_STRING", "text/plain;charset=utf-8")
# Offered beside the content itself; ICCCM section 2.6.2.
ABOUT = frozenset(
    {"TARGETS", "TIMESTAMP", "MULTIPLE", "SAVE_TARGETS", "DELETE", "INCR", "INSERT_SELECTION"}
)


class Xclip(Clipboard):
    """xclip. It can tell empty from non-text, because it can list what is offered."""

    __slots__ = ("_program", "_programs")

    name = "xclip"

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._programs = Programs(environment)
        self._program = self._programs.path("xclip", "xclip")

    def probe(self) -> None:
        """Whether the display can be reached."""
        self._targets()

    def _reading(self, target: str) -> tuple[str, ...]:
        return (self._program, "-selection", "clipboard", "-o", "-t", target)

    def _ask(self, target: str) -> Answer:
        return self._programs.ask(*self._reading(target))

    def _targets(self) -> list[str]:
        """What the owner of the clipboard offers; nothing when there is no owner."""
        answer = self._ask("TARGETS")
        if answer.code == 0:
            return answer.data.decode("ascii", "replace").split("\n")
        if "not available" in answer.said:
            return []
        _check_display(self._programs, answer.said)
        raise failed("xclip", answer)

    def _get(self) -> bytes:
        offered = [target for target in self._targets() if target]
        if not offered:
            raise ClipboardEmpty
        # xclip gives an image's bytes for any target asked for, so only what is listed is asked for
        for target in (*UTF8, "STRING"):
            if target in offered:
                answer = self._ask(target)
                if answer.code != 0:
                    raise failed("xclip", answer)
                # STRING is Latin-1 by definition (ICCCM); old programs offer nothing else
                return answer.data.decode("latin-1").encode() if target == "STRING" else answer.data
        content = [target for target in offered if target not in ABOUT]
        raise ClipboardNotText(
            f"the clipboard holds no text but {', '.join(content[:3]) or 'something unnamed'}"
        )

    def _put(self, data: bytes) -> None:
        code = self._programs.hand(data, self._program, "-selection", "clipboard", "-i")
        if code != 0:
            self.probe()
            raise ClipboardUnavailable(f"xclip could not take the text (exit code {code})")
        _wait_until_held(self._programs, data, *self._reading("UTF8_STRING"))

    def change(self) -> str | None:
        """When the present owner took the clipboard, in the X server's time.

        None where the owner does not say so: a text xclip itself offers has no such time.
        """
        if "TIMESTAMP" not in self._targets():
            return None
        answer = self._ask("TIMESTAMP")
        return answer.data.decode("ascii", "replace").strip() if answer.code == 0 else None


class Xsel(Clipboard):
    """xsel. It says nothing both for an empty clipboard and for one that holds no text."""

    __slots__ = ("_program", "_programs")

    name = "xsel"

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._programs = Programs(environment)
        self._program = self._programs.path("xsel", "xsel")

    def probe(self) -> None:
        """Whether the display can be reached."""
        self._output()

    def _output(self) -> bytes:
        answer = self._programs.ask(self._program, "--clipboard", "--output")
        if answer.code != 0:
            _check_display(self._programs, answer.said)
            raise failed("xsel", answer)
        return answer.data

    def _get(self) -> bytes:
        data = self._output()
        if not data:
            raise ClipboardEmpty(
                "the clipboard is empty or holds no text (xsel cannot tell which)",
                "copy the message of the chat as text; with xclip installed the two are told apart",
            )
        return data

    def _put(self, data: bytes) -> None:
        # without --logfile its child writes a log into the home folder
        code = self._programs.hand(
            data, self._program, "--clipboard", "--input", "--logfile", "/dev/null"
        )
        if code != 0:
            self.probe()
            raise ClipboardUnavailable(f"xsel could not take the text (exit code {code})")
        _wait_until_held(self._programs, data, self._program, "--clipboard", "--output")


def _wait_until_held(programs: Programs, data: bytes, *reader: str) -> None:
    """Ask `reader` until it gives `data`.

    Both programs end before the X server knows that the child left behind owns the clipboard: for
    a moment others still get the old text, or ask an owner that is just leaving and wait for ever.
    Raises ClipboardUnavailable.
    """
    deadline = time.monotonic() + programs.seconds + _seconds_for(data)
    while not _gives(programs, data, *reader):
        if time.monotonic() > deadline:
            raise ClipboardUnavailable(
                f"the clipboard did not take the whole text within {programs.seconds:g} s",
                "another program may hold it; try again",
            )
        time.sleep(0.005)


def _seconds_for(data: bytes) -> float:
    """How long a busy X server may take to hand `data` over; it does so in small pieces."""
    return len(data) / 1_000_000


def _gives(programs: Programs, data: bytes, *reader: str) -> bool:
    try:
        answer = programs.ask(*reader, limit=len(data), seconds=1 + _seconds_for(data))
    except (ClipboardNotText, ClipboardUnavailable):
        # a longer text, or asked just while one owner followed the other
        return False
    return answer.code == 0 and answer.data == data


def _check_display(programs: Programs, said: str) -> None:
    """Raises ClipboardUnavailable when a program said that it cannot reach the display."""
    if "open display" in said:
        display = programs.environment.get("DISPLAY")
        raise ClipboardUnavailable(
            f"the X display {display} cannot be reached" if display else "DISPLAY is not set",
            "start this from a desktop session",
        )
