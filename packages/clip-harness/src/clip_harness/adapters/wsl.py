r"""The clipboard of Windows, from inside WSL, through PowerShell.

Decides how text passes the border between the two systems. `clip.exe` is no use: it reads the
console's code page and cannot give anything back. Standard input of PowerShell is read in the
ANSI code page, and a command line ends at 32,767 characters; so a text goes over in a file.
Windows ends lines by `\r\n`: what is read has `\n` only.
"""

from __future__ import annotations

import os
import tempfile
import time

from ch_contract import files

from .bounded import SECONDS, Programs, failed
from .clipboard import Clipboard, ClipboardEmpty, ClipboardNotText, ClipboardUnavailable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from .bounded import Answer

# Where it lies when the Windows folders are kept out of PATH.
USUAL_PLACE = "/mnt/c/Windows/System32/WindowsPowerShell/v1.0/powershell.exe"
# A cold start of PowerShell alone takes seconds.
PATIENCE = 4 * SECONDS
# Another program may hold the Windows clipboard for a moment.
PAUSES = (0.1, 0.3, 0.6)

UTF8_OUT = "[Console]::OutputEncoding=[Text.Encoding]::UTF8; "
READ = UTF8_OUT + "Get-Clipboard -Raw"
FORMATS = (
    UTF8_OUT + "Add-Type -AssemblyName System.Windows.Forms; "
    "$held=[Windows.Forms.Clipboard]::GetDataObject(); if ($held) {$held.GetFormats()}"
)
WRITE = (
    "$ErrorActionPreference='Stop'; "
    "Set-Clipboard -Value ([IO.File]::ReadAllText('{path}',[Text.Encoding]::UTF8))"
)
# PowerShell ends a quoted string at any of these, and reads two of them as one.
QUOTES = "'\u2018\u2019\u201a\u201b"


class Wsl(Clipboard):
    """The clipboard of the Windows beneath."""

    __slots__ = ("_powershell", "_programs")

    name = "wsl"

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._programs = Programs(environment, PATIENCE)
        try:
            self._powershell = self._programs.path("powershell.exe")
        except ClipboardUnavailable:
            if not os.access(USUAL_PLACE, os.X_OK):
                raise
            self._powershell = USUAL_PLACE

    def _ask(self, script: str) -> Answer:
        return self._programs.ask(self._powershell, "-NoProfile", "-Command", script)

    def _get(self) -> bytes:
        answer = self._ask(READ)
        if answer.code != 0:
            raise failed("powershell.exe", answer)
        text = answer.data.removeprefix(b"\xef\xbb\xbf").replace(b"\r\n", b"\n")
        if not text:
            self._explain_nothing()
        return text.removesuffix(b"\n")

    def _explain_nothing(self) -> None:
        """Ask what there is: for an image too Get-Clipboard prints nothing."""
        answer = self._ask(FORMATS)
        if answer.code != 0:
            raise failed("powershell.exe", answer)
        formats = answer.data.decode("utf-8", "replace").split()
        if formats and not any("Text" in name for name in formats):
            raise ClipboardNotText(f"the clipboard holds no text but {', '.join(formats[:3])}")
        raise ClipboardEmpty

    def _put(self, data: bytes) -> None:
        try:
            with tempfile.TemporaryDirectory(prefix="clip-harness-") as folder:
                path = os.path.join(folder, "text.txt")
                files.write_atomic(path, data)
                self._set_from(path)
        except OSError as error:
            raise ClipboardUnavailable(
                f"cannot keep the text for powershell.exe: {error.strerror}"
            ) from None

    def _set_from(self, path: str) -> None:
        translated = self._programs.ask(self._programs.path("wslpath"), "-w", path)
        if translated.code != 0:
            raise failed("wslpath", translated)
        name = translated.data.decode("utf-8", "surrogateescape").rstrip("\r\n")
        for quote in QUOTES:
            name = name.replace(quote, quote * 2)
        script = WRITE.replace("{path}", name)
        answer = self._ask(script)
        for pause in PAUSES:
            if answer.code == 0:
                return
            time.sleep(pause)
            answer = self._ask(script)
        if answer.code != 0:
            raise failed("powershell.exe", answer)
