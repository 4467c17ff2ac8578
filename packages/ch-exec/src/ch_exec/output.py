"""What a command has written: how many bytes and characters, and their hash, while it runs.

The command writes into the file itself; nothing stands in between that could fill up, stall or
outlive it. The file is opened once, before the command starts: what the command puts in its place
is never read. So this reads behind the writer, and must notice when the command cuts its own output
off: a redirection to /dev/stdout or /dev/stderr opens the file anew, and empties it before it
writes. On Linux the system tells that the file was opened for writing; elsewhere it is seen only
when bytes that were counted are gone.
"""

from __future__ import annotations

import codecs
import errno
import os
import stat

from ch_contract.quiet_hashlib import sha256

from .reopening import Watch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from hashlib import _Hash
    from typing import Protocol

    class Viewer(Protocol):
        """What is shown the output."""

        def show(self, data: bytes) -> None:
            """New bytes of the output, in order."""

        def skip(self, count: int) -> None:
            """So many bytes are left out."""


CHUNK = 256 * 1024
# From here on it pays to load OpenSSL, whose sha256 is ten times as fast as the built-in one.
MANY = 1 << 20
# A view that is further behind than this is shown what comes next instead.
BEHIND = 1 << 20
# Enough of the bytes before the present place to recognise that the file was begun anew.
MEMORY = 64


class Tally:
    """Bytes, characters and sha256 of a stream of bytes, however it is cut into pieces.

    Characters are those of UTF-8; a byte that cannot be decoded counts one.
    """

    __slots__ = ("_characters", "_decoder", "_first", "_partial", "_sha256", "size")

    def __init__(self) -> None:
        self.size = 0
        self._characters = 0
        self._partial = False
        self._sha256: _Hash | None = None
        self._first: list[bytes] = []
        self._decoder = codecs.getincrementaldecoder("utf-8")("surrogateescape")

    def update(self, data: bytes) -> None:
        """Count `data`."""
        self.size += len(data)
        if self._sha256 is not None:
            self._sha256.update(data)
        else:
            self._first.append(data)
            if self.size >= MANY:
                self._sha256 = _fast_sha256(b"".join(self._first))
                self._first.clear()
        if data.isascii() and not self._partial:
            self._characters += len(data)
            return
        self._characters += len(self._decoder.decode(data))
        self._partial = self._decoder.getstate()[0] != b""

    @property
    def characters(self) -> int:
        """Characters so far; the bytes of one cut short count one each."""
        return self._characters + len(self._decoder.getstate()[0])

    @property
    def sha256(self) -> str:
        """The hash so far, 64 hexadecimal digits."""
        done = self._sha256 if self._sha256 is not None else sha256(b"".join(self._first))
        return done.hexdigest()


def _fast_sha256(data: bytes) -> _Hash:
    """sha256 by OpenSSL, where this Python has it."""
    try:
        from _hashlib import openssl_sha256
    except ImportError:
        return sha256(data)
    return openssl_sha256(data)


class Output:
    """Reads the file `path` behind the one who writes it; `view` is shown what is new."""

    __slots__ = ("_fd", "_memory", "_path", "_view", "_watch", "reopened", "replaced", "tally")

    def __init__(self, path: str, view: Viewer | None = None) -> None:
        self._path = path
        self._fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOFOLLOW)
        if not stat.S_ISREG(os.fstat(self._fd).st_mode):
            os.close(self._fd)
            raise OSError(errno.EINVAL, "it is no regular file", path)
        self._watch = Watch(path)
        self._memory = b""
        self._view = view
        self.tally = Tally()
        self.reopened = False
        self.replaced = False

    def close(self) -> None:
        """Close the file."""
        os.close(self._fd)
        self._watch.end()

    def advance(self) -> int:
        """Read one piece of what is new; gives its size, CHUNK when there is more to read."""
        data = os.pread(self._fd, CHUNK, self.tally.size)
        if data:
            self._take(data)
        return len(data)

    def finish(self) -> None:
        """Read up to where the file ends now; a process in the background may write on."""
        self.reopened = self._watch.end()
        self.replaced = not self._is_in_place()
        size = os.fstat(self._fd).st_size
        kept = len(self._memory)
        if size < self.tally.size or (
            kept and os.pread(self._fd, kept, self.tally.size - kept) != self._memory
        ):
            # begun anew: what was counted is no longer in the file
            self.reopened = True
            self.tally = Tally()
            self._memory = b""
            self._view = None
        while self.tally.size < size:
            data = os.pread(self._fd, min(CHUNK, size - self.tally.size), self.tally.size)
            if not data:
                break
            self._take(data)

    def deliver(self, put: Callable[[bytes], None]) -> None:
        """Give all that was counted to `put`, in order, as far as it is still there."""
        place = 0
        while place < self.tally.size:
            data = os.pread(self._fd, min(CHUNK, self.tally.size - place), place)
            if not data:
                break
            put(data)
            place += len(data)

    def _is_in_place(self) -> bool:
        """Whether the file is still to be found under its name."""
        try:
            named = os.lstat(self._path)
        except OSError:
            return False
        own = os.fstat(self._fd)
        return (named.st_dev, named.st_ino) == (own.st_dev, own.st_ino)

    def _take(self, data: bytes) -> None:
        self.tally.update(data)
        self._memory = (self._memory + data[-MEMORY:])[-MEMORY:]
        if self._view is None:
            return
        if os.fstat(self._fd).st_size - self.tally.size > BEHIND:
            self._view.skip(len(data))
        else:
            self._view.show(data)
