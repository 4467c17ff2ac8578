"""Whether somebody else opens a file and writes into it, as the system tells it (inotify).

The process keeps one instance of inotify for all its runs: closing one makes the kernel wait for
all its processors, which takes longer than a short command.
"""

from __future__ import annotations

import os

from . import libc

# From the interface of inotify: the file was closed by one who had opened it for writing.
IN_CLOSE_WRITE = 0x8

# Empty until the first run of this process, and where the system has no such thing.
_instance: list[int] = []


class Watch:
    """Watches the file `path` from now on; where the system cannot, nothing is ever seen."""

    __slots__ = ("_number", "_seen")

    def __init__(self, path: str) -> None:
        self._seen = False
        self._number = -1
        begin, add = libc.function("inotify_init1"), libc.function("inotify_add_watch")
        if begin is None or add is None:
            return
        if not _instance and (fd := begin(os.O_NONBLOCK | os.O_CLOEXEC)) >= 0:
            _instance.append(fd)
        for instance in _instance:
            self._number = add(instance, os.fsencode(path), IN_CLOSE_WRITE)

    def end(self) -> bool:
        """Stop watching; whether a writer that had opened the file itself has closed it since."""
        remove = libc.function("inotify_rm_watch")
        if self._number >= 0 and remove is not None:
            (instance,) = _instance
            self._seen = _is_told(instance)
            remove(instance, self._number)
            # the farewell of this watch must not be taken for an answer in the next run
            _is_told(instance)
            self._number = -1
        return self._seen


def _is_told(instance: int) -> bool:
    """Take what the system has to say; whether it is anything."""
    try:
        return len(os.read(instance, 4096)) > 0
    except BlockingIOError:
        return False
