"""The clipboard of a Wayland desktop, through wl-copy and wl-paste.

Decides which offered type is text. Leaves running the programs to bounded.py.
"""

from __future__ import annotations

from .bounded import Programs, failed
from .clipboard import Clipboard, ClipboardEmpty, ClipboardNotText, ClipboardUnavailable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

UTF8 = "text/plain;charset=utf-8"
PLAIN = frozenset({"text/plain", "UTF8_STRING", "TEXT", "STRING"})
NOTHING = ("No selection", "Nothing is copied")


class Wayland(Clipboard):
    """wl-clipboard."""

    __slots__ = ("_copy", "_paste", "_programs")

    name = "wayland"

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._programs = Programs(environment)
        self._copy = self._programs.path("wl-copy", "wl-clipboard")
        self._paste = self._programs.path("wl-paste", "wl-clipboard")

    def probe(self) -> None:
        """Whether the compositor can be reached."""
        self._types()

    def _types(self) -> list[str]:
        """The types offered; nothing when the clipboard is empty."""
        answer = self._programs.ask(self._paste, "--list-types")
        if answer.code == 0:
            return [line for line in answer.data.decode("utf-8", "replace").split("\n") if line]
        if answer.said.startswith(NOTHING):
            return []
        if "connect" in answer.said:
            display = self._programs.environment.get("WAYLAND_DISPLAY")
            raise ClipboardUnavailable(
                f"the Wayland display {display} cannot be reached"
                if display
                else "WAYLAND_DISPLAY is not set",
                "start this from a desktop session",
            )
        raise failed("wl-paste", answer)

    def _get(self) -> bytes:
        types = self._types()
        if not types:
            raise ClipboardEmpty
        if UTF8 in types:
            wanted = UTF8
        elif PLAIN.intersection(types):
            wanted = "text"
        else:
            raise ClipboardNotText(f"the clipboard holds no text but {', '.join(types[:3])}")
        # without --no-newline a newline is added that nobody copied
        answer = self._programs.ask(self._paste, "--no-newline", "--type", wanted)
        if answer.code != 0:
            raise failed("wl-paste", answer)
        return answer.data

    def _put(self, data: bytes) -> None:
        # without a type wl-copy guesses one, and a text may become a PDF or plain binary
        code = self._programs.hand(data, self._copy, "--type", "text/plain")
        if code != 0:
            self.probe()
            raise ClipboardUnavailable(f"wl-copy could not take the text (exit code {code})")
