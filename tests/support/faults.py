"""Faults at every system call that changes a disk: killed before or after it, or refused.

The functions of `os` that change something are counted in a forked child, whatever module calls
them; at the chosen one the child is killed, or the call and the ones after it fail.
"""

from __future__ import annotations

import os
import signal
import sys
import traceback

CHANGING = (
    "open", "write", "fsync", "link", "rename", "replace", "unlink", "mkdir", "rmdir", "ftruncate",
    "fchmod", "fchown", "chmod", "setxattr",
)  # fmt: skip
# A full disk takes no new bytes; it still renames and removes.
GROWING = frozenset({"open", "write", "mkdir", "link", "fsync"})
NAMING = frozenset({"open", "link", "rename", "replace", "unlink", "mkdir", "rmdir"})
WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT


def _changes(name, args):
    """Whether this call changes anything: an `open` for reading does not."""
    if name != "open":
        return True
    flags = args[1] if len(args) > 1 else 0
    return bool(flags & WRITES)


def forked(body, number, act):
    """Run `body` in a forked child with a fault at its `number`th change.

    `act` is "before" or "after" (SIGKILL), an error number with the set of calls that fail from
    there on, or None to count. Gives (signal or 0, exit code or None, how many changes there were).
    """
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(reader)
        code = 70
        write = os.write
        try:
            counter = _install(number, act)
            code = body() or 0
            write(writer, str(counter[0]).encode())
        except BaseException:  # noqa: BLE001 - the child tells of it and ends
            traceback.print_exc(file=sys.stderr)
        finally:
            os._exit(code)
    os.close(writer)
    told = b""
    while part := os.read(reader, 100):
        told += part
    os.close(reader)
    _, status = os.waitpid(pid, 0)
    if os.WIFSIGNALED(status):
        return os.WTERMSIG(status), None, int(told or b"0")
    return 0, os.WEXITSTATUS(status), int(told or b"0")


def _install(number, act):
    counter = [0]

    def wrapped(name, real):
        def call(*args, **kwargs):
            if not _changes(name, args):
                return real(*args, **kwargs)
            counter[0] += 1
            if isinstance(act, tuple):
                error, names = act
                if counter[0] >= number and name in names:
                    # the path is where it stands for every call but those on a descriptor
                    path = args[0] if isinstance(args[0], str) else None
                    raise OSError(error, os.strerror(error), path)
            elif counter[0] == number and act == "before":
                os.kill(os.getpid(), signal.SIGKILL)
            value = real(*args, **kwargs)
            if counter[0] == number and act == "after":
                os.kill(os.getpid(), signal.SIGKILL)
            return value

        return call

    for name in CHANGING:
        if hasattr(os, name):
            setattr(os, name, wrapped(name, getattr(os, name)))
    return counter
