"""Starting one clipboard program within bounds of time and size.

Decides how such a program is started, waited for and ended. Every program has a session of its
own: it can be ended with all its children, and what a run's process group suffers does not touch
the process that keeps a copied text alive. Leaves what its answer means to the callers.
"""

from __future__ import annotations

import contextlib
import math
import os
import select
import shutil
import signal
import subprocess
import tempfile
import time

from ch_contract import files
from ch_contract.problems import Problem

from .clipboard import LIMIT_BYTES, SECONDS_VARIABLE, ClipboardUnavailable, too_large

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import IO

SECONDS = 5.0
SAID_BYTES = 2000
OWNER = "the program that owns the clipboard may hang; copy again, then try again"
AGAIN = "try again"


class Answer:
    """How a program ended, what it printed, and the first line of its complaint."""

    __slots__ = ("code", "data", "said")

    def __init__(self, code: int, data: bytes, said: str) -> None:
        self.code = code
        self.data = data
        self.said = said


class Programs:
    """The programs of one clipboard: looked up in `environment`, and run with it."""

    __slots__ = ("environment", "seconds")

    def __init__(self, environment: Mapping[str, str], seconds: float = SECONDS) -> None:
        self.environment = dict(environment)
        self.seconds = patience(environment, seconds)

    def path(self, name: str, package: str | None = None) -> str:
        """Where the program `name` lies. Raises ClipboardUnavailable naming its `package`."""
        found = shutil.which(name, path=self.environment.get("PATH", os.defpath))
        if found is None:
            hint = f"install the package {package}" if package else None
            raise ClipboardUnavailable(f"{name} is not installed", hint)
        # what PATH names may be relative, and programs are started in another folder
        return os.path.abspath(found)

    def ask(self, *argv: str, limit: int = LIMIT_BYTES, seconds: float | None = None) -> Answer:
        """Run `argv` without input and give its answer; `seconds` may shorten the usual bound.

        Raises ClipboardUnavailable when it cannot be started or does not end in time,
        ClipboardNotText when it prints more than `limit` bytes.
        """
        with _nameless_file() as errors:
            deadline = time.monotonic() + min(self.seconds, seconds or self.seconds)
            reading, writing = os.pipe()
            try:
                try:
                    process = self._start(argv, subprocess.DEVNULL, writing, errors)
                finally:
                    os.close(writing)
                try:
                    data = self._collect(argv, reading, deadline, limit)
                    code = self._wait(argv, process, deadline, OWNER)
                except BaseException:
                    _end(process)
                    raise
            finally:
                os.close(reading)
            errors.seek(0)
            return Answer(code, data, _first_line(errors.read(SAID_BYTES)))

    def hand(self, data: bytes, *argv: str, counted: bool = True) -> int:
        """Run `argv` with `data` as its input; gives its exit code.

        Such a program may leave a child behind that keeps the text for others. That child holds
        whatever output it was given, so it is given none. The input is a file without a name:
        nothing blocks however little is read, and its position tells afterwards how much was.
        With `counted` a program that left some of it unread has failed.
        Raises ClipboardUnavailable.
        """
        with _nameless_file() as source:
            try:
                files.write_all(source.fileno(), data)
                source.seek(0)
            except OSError as error:
                raise ClipboardUnavailable(
                    f"cannot keep the text for {argv[0]}: {error.strerror}",
                    "free some space in the folder for temporary files",
                ) from None
            process = self._start(argv, source, subprocess.DEVNULL, subprocess.DEVNULL)
            try:
                code = self._wait(argv, process, time.monotonic() + self.seconds, AGAIN)
            except BaseException:
                _end(process)
                raise
            taken = source.tell()
        if code == 0 and counted and taken < len(data):
            raise ClipboardUnavailable(
                f"{_name(argv)} took only {taken:,} of {len(data):,} bytes",
                "the clipboard does not hold the whole text; try again",
            )
        return code

    def _start(
        self, argv: tuple[str, ...], source: IO[bytes] | int, output: int, errors: IO[bytes] | int
    ) -> subprocess.Popen[bytes]:
        try:
            return subprocess.Popen(
                argv,
                stdin=source,
                stdout=output,
                stderr=errors,
                env=self.environment,
                # what stays behind must not keep the project's disk busy
                cwd="/",
                start_new_session=True,
            )
        except OSError as error:
            raise ClipboardUnavailable(f"cannot start {_name(argv)}: {error.strerror}") from None

    def _collect(self, argv: tuple[str, ...], fd: int, deadline: float, limit: int) -> bytes:
        """Everything that is written to `fd`. poll, since select knows no number above 1023."""
        poll = select.poll()
        poll.register(fd, select.POLLIN)
        parts: list[bytes] = []
        size = 0
        while True:
            left = deadline - time.monotonic()
            if left <= 0 or not poll.poll(left * 1000):
                raise self._hung(argv, OWNER)
            part = os.read(fd, 1 << 16)
            if not part:
                return b"".join(parts)
            parts.append(part)
            size += len(part)
            if size > limit:
                raise too_large(f"more than {limit:,} bytes")

    def _wait(
        self,
        argv: tuple[str, ...],
        process: subprocess.Popen[bytes],
        deadline: float,
        hint: str,
    ) -> int:
        try:
            return process.wait(max(deadline - time.monotonic(), 0.01))
        except subprocess.TimeoutExpired:
            raise self._hung(argv, hint) from None

    def _hung(self, argv: tuple[str, ...], hint: str) -> ClipboardUnavailable:
        return ClipboardUnavailable(
            f"{_name(argv)} did not answer within {self.seconds:g} s and was ended", hint
        )


def _nameless_file() -> IO[bytes]:
    """A file that is gone with its last descriptor. Raises ClipboardUnavailable."""
    try:
        return tempfile.TemporaryFile(buffering=0)
    except OSError as error:
        raise ClipboardUnavailable(
            f"there is no place for temporary files: {error.strerror}", "set TMPDIR to a folder"
        ) from None


def patience(environment: Mapping[str, str], seconds: float) -> float:
    """How many seconds one call may take. Raises Problem("settings")."""
    given = environment.get(SECONDS_VARIABLE)
    if not given:
        return seconds
    try:
        value = float(given)
    except ValueError:
        value = math.nan
    if not 0 < value < 3600:
        raise Problem("settings", f"{SECONDS_VARIABLE} must be a number of seconds, got {given!r}")
    return value


def failed(name: str, answer: Answer) -> ClipboardUnavailable:
    """The failure of the program `name`."""
    how = f"ended by signal {-answer.code}" if answer.code < 0 else f"exit code {answer.code}"
    return ClipboardUnavailable(
        f"{name} failed ({how})" + (f": {answer.said}" if answer.said else "")
    )


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a program and all it started."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    # a process that even this does not end is the kernel's; it is not waited for
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(1)


def _name(argv: tuple[str, ...]) -> str:
    return os.path.basename(argv[0])


def _first_line(said: bytes) -> str:
    lines = said.decode("utf-8", "replace").strip().splitlines()
    return "".join(c for c in lines[0] if c.isprintable())[:200] if lines else ""
