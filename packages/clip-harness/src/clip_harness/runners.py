"""How a flow calls one of the six tools: in this process, or as a process of its own.

Both give the tool the same arguments and bytes and give back the same bytes and code; standard
error is inherited, so the live view of ch-exec reaches the terminal either way.
"""

from __future__ import annotations

import contextlib
import io
import os
import sys

from ch_contract.problems import CODES, Problem
from ch_contract.tool import Streams

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import BinaryIO, Protocol

    class Runner(Protocol):
        """What both runners offer."""

        def run(self, tool: str, argv: list[str], data: bytes) -> Completed:
            """Feed `data` to `tool` and wait for its output."""


# The tool whose standard error is the live view of a command; it is never held back.
LIVE = "ch-exec"


class Completed:
    """What a tool gave back: exit code, standard output, and the last line of its complaint."""

    __slots__ = ("code", "complaint", "output")

    def __init__(self, code: int, output: bytes, complaint: str | None = None) -> None:
        self.code = code
        self.output = output
        self.complaint = complaint

    def failure(self, tool: str) -> Problem:
        """What it means that `tool` wrote nothing: its own sentence, where it left one."""
        kind = next((name for name, number in CODES.items() if number == self.code), "bug")
        said = self.complaint or f"{tool} ended with exit {self.code} and wrote nothing"
        problem = Problem(kind, said)
        # what a tool complains of has been passed on
        problem.is_told = self.complaint is not None
        return problem


def complaint(tool: str, said: bytes) -> str | None:
    """The last line of what a tool said on standard error, without its name; None if nothing."""
    lines = said.decode("utf-8", "replace").splitlines()
    return lines[-1].removeprefix(f"{tool}: ") if lines else None


class InProcess:
    """Calls the public `main` of a sibling; a tool is imported when it is first needed."""

    __slots__ = ("_stderr",)

    def __init__(self, stderr: BinaryIO) -> None:
        self._stderr = stderr

    def run(self, tool: str, argv: list[str], data: bytes) -> Completed:
        """Feed `data` to `tool` and wait for its output."""
        module = __import__(tool.replace("-", "_"))
        stdout = io.BytesIO()
        if tool == LIVE:
            code = module.main(argv, Streams(io.BytesIO(data), stdout, self._stderr))
            return Completed(code, stdout.getvalue())
        stderr = io.BytesIO()
        code = module.main(argv, Streams(io.BytesIO(data), stdout, stderr))
        said = stderr.getvalue()
        _pass_on(self._stderr, said)
        return Completed(code, stdout.getvalue(), complaint(tool, said))


def _pass_on(stderr: BinaryIO, said: bytes) -> None:
    """Show what a tool said; where standard error is gone, the exit code alone tells."""
    if said:
        with contextlib.suppress(OSError):
            stderr.write(said)
            stderr.flush()


class Spawned:
    """Starts the installed command of a sibling."""

    __slots__ = ("_folder", "_stderr")

    def __init__(self, stderr: BinaryIO) -> None:
        self._folder = scripts_folder()
        self._stderr = stderr

    def run(self, tool: str, argv: list[str], data: bytes) -> Completed:
        """Feed `data` to `tool` and wait for its output.

        ch-exec shares the terminal and gets every signal this process gets: it ends the command
        and still writes its document. The others are short; a Ctrl-C at the terminal is kept from
        them, so that none is cut off between a receipt and its answer.
        Raises Problem("system") when the tool cannot be started.
        """
        import subprocess

        path = os.path.join(self._folder, tool)
        is_live = tool == LIVE
        try:
            with (
                subprocess.Popen(
                    [path, *argv],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=None if is_live else subprocess.PIPE,
                    process_group=None if is_live else 0,
                ) as process,
                _forwarding(process.pid if is_live else None),
            ):
                output, said = process.communicate(data)
        except OSError as error:
            raise Problem(
                "system", f"cannot start {path}: {error.strerror}", "install clip-harness again"
            ) from None
        _pass_on(self._stderr, said or b"")
        return Completed(process.returncode, output, complaint(tool, said or b""))


@contextlib.contextmanager
def _forwarding(pid: int | None) -> Iterator[None]:
    """Hand the signals that end a run on to the process `pid` while the block runs."""
    if pid is None:
        yield
        return

    import signal

    from .flows.interrupts import NOTED

    def forward(number: int, _frame: object) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)

    before = {}
    try:
        for number in NOTED:
            if signal.getsignal(number) is not signal.SIG_IGN:
                before[number] = signal.signal(number, forward)
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def scripts_folder() -> str:
    """The folder the commands were installed in: that of the interpreter, or the user's own."""
    beside = os.path.dirname(sys.executable)
    if os.path.exists(os.path.join(beside, "ch-parse")):
        return beside
    import sysconfig

    for scheme in (sysconfig.get_default_scheme(), sysconfig.get_preferred_scheme("user")):
        folder = sysconfig.get_path("scripts", scheme)
        if os.path.exists(os.path.join(folder, "ch-parse")):
            return folder
    raise Problem("system", "the commands of clip-harness are not installed", "install them again")


def choose(name: str | None, stderr: BinaryIO) -> Runner:
    """The runner called `name`, or by the variable CLIP_HARNESS_RUNNER, else the one in process.

    Raises Problem("usage") for an unknown name.
    """
    name = name or os.environ.get("CLIP_HARNESS_RUNNER") or "in-process"
    if name == "in-process":
        return InProcess(stderr)
    if name == "spawn":
        return Spawned(stderr)
    raise Problem("usage", f"unknown runner {name!r}", "use in-process or spawn")
