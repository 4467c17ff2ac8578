"""How a flow calls one of the six tools: in this process, or as a process of its own.

Both give the tool the same arguments and bytes and give back the same bytes and code; standard
error is inherited, so the live view of ch-exec reaches the terminal either way.
"""

from __future__ import annotations

import io
import os
import sys

from ch_contract.problems import Problem
from ch_contract.tool import Streams

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import BinaryIO, Protocol

    class Runner(Protocol):
        """What both runners offer."""

        def run(self, tool: str, argv: list[str], data: bytes) -> Completed:
            """Feed `data` to `tool` and wait for its output."""


TOOLS = ("ch-parse", "ch-gate", "ch-stage", "ch-exec", "ch-goal", "ch-receipt")


class Completed:
    """What a tool gave back: its exit code and its standard output."""

    __slots__ = ("code", "output")

    def __init__(self, code: int, output: bytes) -> None:
        self.code = code
        self.output = output


class InProcess:
    """Calls the public `main` of a sibling; a tool is imported when it is first needed."""

    __slots__ = ("_stderr",)

    def __init__(self, stderr: BinaryIO) -> None:
        self._stderr = stderr

    def run(self, tool: str, argv: list[str], data: bytes) -> Completed:
        """Feed `data` to `tool` and wait for its output."""
        module = __import__(tool.replace("-", "_"))
        stdout = io.BytesIO()
        code = module.main(argv, Streams(io.BytesIO(data), stdout, self._stderr))
        return Completed(code, stdout.getvalue())


class Spawned:
    """Starts the installed command of a sibling."""

    __slots__ = ("_folder",)

    def __init__(self) -> None:
        self._folder = scripts_folder()

    def run(self, tool: str, argv: list[str], data: bytes) -> Completed:
        """Feed `data` to `tool` and wait for its output.

        A Ctrl-C reaches the tool by itself: it ends the command and still writes its document,
        which is waited for. Raises Problem("system") when the tool cannot be started.
        """
        import signal
        import subprocess

        path = os.path.join(self._folder, tool)
        before = signal.signal(signal.SIGINT, lambda _number, _frame: None)
        try:
            with subprocess.Popen(
                [path, *argv], stdin=subprocess.PIPE, stdout=subprocess.PIPE
            ) as process:
                output, _ = process.communicate(data)
        except OSError as error:
            raise Problem(
                "system", f"cannot start {path}: {error.strerror}", "install clip-harness again"
            ) from None
        finally:
            signal.signal(signal.SIGINT, before)
        return Completed(process.returncode, output)


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
        return Spawned()
    raise Problem("usage", f"unknown runner {name!r}", "use in-process or spawn")
