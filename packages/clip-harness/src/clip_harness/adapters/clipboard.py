"""What a clipboard is: UTF-8 bytes in, UTF-8 bytes out.

Decides what counts as text, and how an empty clipboard, one without text and one that cannot be
reached differ. Leaves the programs of each platform to the modules beside it, which one is used to
choice.py, and what the text means to ch-parse. The file clipboard stands here because it starts no
program: this module is on the hot path and loads nothing that is not needed for it.
"""

from __future__ import annotations

import abc
import os
import stat

from ch_contract import files
from ch_contract.problems import Problem, refusal

TYPE_CHECKING = False

# A payload is at most 32,000 characters; what is far larger was copied by mistake.
LIMIT_BYTES = 4 * 1024 * 1024

FILE_VARIABLE = "CLIP_HARNESS_CLIPBOARD_FILE"
SECONDS_VARIABLE = "CLIP_HARNESS_CLIPBOARD_TIMEOUT"


class ClipboardEmpty(Problem):
    """There is nothing on the clipboard."""

    __slots__ = ()

    def __init__(
        self,
        message: str = "the clipboard is empty",
        hint: str = "copy the message of the chat, then trigger again",
    ) -> None:
        super().__init__("malformed", message, hint)


class ClipboardNotText(Problem):
    """What is on the clipboard is no text that can be used."""

    __slots__ = ()

    def __init__(
        self, message: str, hint: str = "copy the message of the chat as text, then trigger again"
    ) -> None:
        super().__init__("malformed", message, hint)


class ClipboardUnavailable(Problem):
    """The clipboard cannot be reached, or its program failed or hung."""

    __slots__ = ()

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__("system", message, hint)


class Clipboard(abc.ABC):
    """One clipboard. A kind of clipboard fills in `_get`, `_put` and what else it knows."""

    __slots__ = ()

    name = ""
    can_read = True

    def read(self) -> bytes:
        """The text on the clipboard as UTF-8 bytes, byte for byte.

        Raises ClipboardEmpty, ClipboardNotText (also for a text above `LIMIT_BYTES`) or
        ClipboardUnavailable.
        """
        data = self._get()
        if len(data) > LIMIT_BYTES:
            raise too_large(f"{len(data):,} bytes")
        if not data:
            raise ClipboardEmpty
        try:
            data.decode()
        except UnicodeDecodeError as error:
            raise ClipboardNotText(
                f"the clipboard holds bytes that are no UTF-8 text (byte {error.start + 1})"
            ) from None
        return data

    def write(self, data: bytes, kept: str | None = None) -> None:
        """Replace what is on the clipboard by the UTF-8 text `data`, of any length.

        `kept` is the path of a file that holds the same text; a failure names it.
        Raises Problem("system").
        """
        try:
            self._put(data)
        except Problem as problem:
            if kept is None:
                raise
            where = f"the text is in {kept}"
            hint = f"{where}; {problem.hint}" if problem.hint else where
            raise ClipboardUnavailable(problem.message, hint) from None

    def change(self) -> str | None:
        """A token that is another one whenever somebody copied something; None if unknown here."""
        return None

    def probe(self) -> None:  # noqa: B027 - a file needs no asking
        """Do nothing if this clipboard can be used now; raises ClipboardUnavailable if not."""

    @abc.abstractmethod
    def _get(self) -> bytes:
        """The bytes that lie there. Raises the problems that `read` names."""

    @abc.abstractmethod
    def _put(self, data: bytes) -> None:
        """Put `data` there. Raises ClipboardUnavailable."""


def too_large(size: str) -> ClipboardNotText:
    """The refusal of a text of `size`, which says its unit."""
    return ClipboardNotText(
        f"the clipboard holds {size}; at most {LIMIT_BYTES:,} bytes are read",
        "copy only the message of the chat, then trigger again",
    )


class FileClipboard(Clipboard):
    """A file as the clipboard. No file is an empty clipboard; it is replaced whole or not at all.

    A link is followed, so that the file it leads to is the one replaced. The new file is the
    user's alone (mode 0600).
    """

    __slots__ = ("path",)

    name = "file"

    def __init__(self, path: str) -> None:
        self.path = os.path.abspath(path)

    def _get(self) -> bytes:
        try:
            status = os.stat(self.path)
        except FileNotFoundError:
            return b""
        except OSError as error:
            raise refusal(error, "read", self.path) from None
        # a pipe or a device would be waited for, perhaps for ever
        if not stat.S_ISREG(status.st_mode):
            raise ClipboardUnavailable(
                f"the clipboard {self.path} is no file", f"set {FILE_VARIABLE} to a plain file"
            )
        if status.st_size > LIMIT_BYTES:
            raise too_large(f"{status.st_size:,} bytes")
        return files.read(self.path, LIMIT_BYTES + 1) or b""

    def _put(self, data: bytes) -> None:
        files.write_atomic(os.path.realpath(self.path), data)

    def change(self) -> str:
        """Inode, time of change and size: another one after every replacement."""
        try:
            status = os.stat(self.path)
        except OSError:
            return "absent"
        return f"{status.st_ino}-{status.st_mtime_ns}-{status.st_size}"
