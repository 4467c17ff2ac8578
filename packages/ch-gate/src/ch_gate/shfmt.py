"""The shell parser: `shfmt` as a child process, within bounds.

Decides which binary is started, what it may use, and when to give up on it; leaves the meaning of
the tree to `syntax`. Every way this can fail is `Unreadable`, because a text that was not parsed
is never allowed. The binary is the one of the wheel `shfmt-py`, found in the scripts folder it was
installed into and never by PATH: whoever could write a folder on PATH could answer for the parser.
"""

from __future__ import annotations

import errno
import json
import os
import select
import signal
import sys
import time

from .deadline import LATE, Clock, Unreadable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# Deeper nesting is no command anybody wrote, and the parser's time and output grow with it
# (`$((` and 5,000 parentheses: 290 MB of JSON in 4.5 s).
DEPTH_LIMIT = 50
INPUT_LIMIT = 1024 * 1024
OUTPUT_LIMIT = 8 * 1024 * 1024
MEMORY_LIMIT = 512 * 1024 * 1024
# Nothing of our environment: a parser needs none. One thread is fastest for one short text, and
# for a process that lives a few milliseconds collecting garbage is a loss until memory runs short.
ENVIRONMENT = {"GOMAXPROCS": "1", "GOGC": "off", "GOMEMLIMIT": "256MiB"}


def find() -> str:
    """The absolute path of the parser. Raises Unreadable when it is not installed."""
    path = os.path.join(sys.prefix, "bin", "shfmt")
    if os.access(path, os.X_OK):
        return path
    for folder in sys.path:
        recorded = _recorded(folder)
        if recorded is not None and os.access(recorded, os.X_OK):
            return recorded
    raise Unreadable("the parser shfmt is not installed (the package shfmt-py brings it)")


def _recorded(folder: str) -> str | None:
    """The script that the installed wheel in `folder` records; None when there is none."""
    try:
        names = os.listdir(folder or ".")
    except OSError:
        return None
    for name in names:
        if not (name.startswith("shfmt_py-") and name.endswith(".dist-info")):
            continue
        try:
            with open(os.path.join(folder, name, "RECORD"), encoding="utf-8") as record:
                for line in record:
                    script = line.partition(",")[0]
                    if script.rpartition("/")[2] == "shfmt" and "/bin/" in f"/{script}":
                        return os.path.normpath(os.path.join(folder, script))
        except OSError:
            return None
    return None


def depth(text: str) -> int:
    """The deepest nesting of brackets, braces, parentheses and backticks, quotes ignored.

    Ignoring quotes errs towards too deep, never towards too shallow. Linear in the text.
    """
    deepest = level = 0
    for character in text:
        if character in "([{":
            level += 1
            deepest = max(deepest, level)
        elif character in ")]}":
            level = max(0, level - 1)
    ticks = 0
    run = 0
    for character in text:
        # an escaped backtick opens a level inside the backticks around it
        if character == "\\":
            run += 1
            continue
        if character == "`" and run:
            ticks = max(ticks, run)
        run = 0
    return max(deepest, ticks)


def parse(text: str, dialect: str, clock: Clock) -> dict[str, Any]:
    """The syntax tree of `text`, as `shfmt --to-json` writes it; offsets are in bytes.

    Raises Unreadable: not installed, crashed, over a cap, past the deadline, or no valid text.
    """
    try:
        data = text.encode("utf-8")
    except UnicodeEncodeError:
        raise Unreadable("it is not valid Unicode") from None
    if len(data) > INPUT_LIMIT:
        raise Unreadable(f"it is larger than {INPUT_LIMIT:,} bytes")
    if depth(text) > DEPTH_LIMIT:
        raise Unreadable(f"it is nested more than {DEPTH_LIMIT} deep")
    binary = find()
    try:
        output = _run(binary, dialect, data, clock)
    except OSError as error:
        raise Unreadable(f"the parser could not be run: {error.strerror or error}") from None
    try:
        tree = json.loads(output)
    except (ValueError, RecursionError):
        raise Unreadable("the parser gave no tree") from None
    clock.check()
    if not isinstance(tree, dict) or tree.get("Type") != "File":
        raise Unreadable("the parser gave no tree")
    return tree


def _run(binary: str, dialect: str, data: bytes, clock: Clock) -> bytes:
    """What the parser prints for `data`. No process and no descriptor outlives the call."""
    stdin_read, stdin_write = os.pipe()
    stdout_read, stdout_write = os.pipe()
    stderr_read, stderr_write = os.pipe()
    ours = [stdin_write, stdout_read, stderr_read]
    theirs = [stdin_read, stdout_write, stderr_write]
    pid = 0
    try:
        # os.pipe gives descriptors that are not inherited: dup2 makes the three that are
        pid = os.posix_spawn(
            binary,
            [binary, "--to-json", "-ln", dialect],
            ENVIRONMENT,
            file_actions=[
                (os.POSIX_SPAWN_DUP2, stdin_read, 0),
                (os.POSIX_SPAWN_DUP2, stdout_write, 1),
                (os.POSIX_SPAWN_DUP2, stderr_write, 2),
            ],
            setsigmask=[],
            setsigdef=[signal.SIGPIPE],
        )
        _limit(pid)
        for descriptor in theirs:
            os.close(descriptor)
        theirs = []
        output, complaint = _exchange(ours, data, clock, pid)
        status = _reap(pid, clock)
        pid = 0
    finally:
        if pid:
            _kill(pid)
        for descriptor in [*ours, *theirs]:
            os.close(descriptor)
    if status == 0:
        return output
    if status < 0:
        raise Unreadable("the parser was ended by the system")
    lines = complaint.decode("utf-8", "replace").strip().splitlines()
    if status != 1 or not lines:
        raise Unreadable("the parser crashed")
    raise Unreadable(_sentence(lines[0]))


def _sentence(complaint: str) -> str:
    """The parser's complaint, `<standard input>:LINE:COLUMN: WHAT`, in our words."""
    fields = complaint.removeprefix("<standard input>:").split(":", 2)
    if len(fields) == 3 and fields[0].isdigit():
        return f"line {fields[0]}: {fields[2].strip()}"
    return complaint


def _limit(pid: int) -> None:
    """Cap the memory of the parser where the system can do that from outside (Linux).

    The cap is on writable memory: the Go runtime reserves 600 MB of addresses it never touches,
    and does not start under a smaller cap on the address space.
    """
    import resource

    prlimit = getattr(resource, "prlimit", None)
    if prlimit is not None:
        try:
            prlimit(pid, resource.RLIMIT_DATA, (MEMORY_LIMIT, MEMORY_LIMIT))
        except (OSError, ValueError):
            # already gone, or a lower limit is in force: the other caps still hold
            return


def _used(pid: int, start: float) -> float:
    """The processor time of a running process, in seconds.

    Where the system does not tell (it is Linux that does), the time since `start` stands for it.
    """
    try:
        # the number of a process's processor clock, as clock_getcpuclockid(3) makes it
        return time.clock_gettime((~pid << 3) | 2)
    except (OSError, OverflowError):
        return time.monotonic() - start


def _exchange(descriptors: list[int], data: bytes, clock: Clock, pid: int) -> tuple[bytes, bytes]:
    """Write `data` and read both outputs at once, so that neither side waits for the other.

    Closes the descriptor it writes to and takes it out of `descriptors`.
    """
    source, output, complaint = descriptors
    os.set_blocking(source, False)
    waiting = select.poll()
    waiting.register(source, select.POLLOUT)
    waiting.register(output, select.POLLIN)
    waiting.register(complaint, select.POLLIN)
    open_ends = 2
    chunks: dict[int, list[bytes]] = {output: [], complaint: []}
    size = 0
    rest = memoryview(data)
    start = time.monotonic()
    while open_ends:
        left = clock.left(_used(pid, start))
        if left <= 0:
            raise Unreadable(LATE)
        for descriptor, _event in waiting.poll(max(1, int(left * 1000))):
            if descriptor == source:
                rest = rest[_write_some(source, rest) :]
                if not rest:
                    waiting.unregister(source)
                    os.close(source)
                    descriptors.remove(source)
                continue
            chunk = os.read(descriptor, 1 << 16)
            size += len(chunk)
            if size > OUTPUT_LIMIT:
                raise Unreadable(f"its tree is larger than {OUTPUT_LIMIT:,} bytes")
            if chunk:
                chunks[descriptor].append(chunk)
            else:
                waiting.unregister(descriptor)
                open_ends -= 1
    return b"".join(chunks[output]), b"".join(chunks[complaint])


def _write_some(descriptor: int, rest: memoryview) -> int:
    """How many bytes the reader took; all of them when it no longer reads."""
    try:
        return os.write(descriptor, rest) if rest else 0
    except BlockingIOError:
        return 0
    except OSError as error:
        if error.errno == errno.EPIPE:
            return len(rest)
        raise


def _reap(pid: int, clock: Clock) -> int:
    """The exit status of a parser that has closed its outputs; negative for a signal."""
    while True:
        done, status, usage = os.wait4(pid, os.WNOHANG)
        if done:
            clock.parsers += usage.ru_utime + usage.ru_stime
            return os.waitstatus_to_exitcode(status)
        if clock.left() <= 0:
            raise Unreadable("the parser did not end in time")
        time.sleep(0.0002)


def _kill(pid: int) -> None:
    """End the parser and take its status, so that nothing stays behind."""
    try:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    except (ProcessLookupError, ChildProcessError):
        # gone before us
        return
