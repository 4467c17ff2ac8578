"""The one main() of all tools: flags, streams, problems, exit codes.

`argparse` costs as much as a whole gate call, so flags are read here: long options only, `--name
value` or `--name=value`. A tool's pipe step is `pipe`; any other command is `guarded`.
"""

from __future__ import annotations

import os
import sys

from . import documents, problems
from .problems import Problem

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import BinaryIO, TextIO

    from .messages import Run

    Flags = dict[str, str | bool]


class Streams:
    """The three streams of a process, as bytes."""

    __slots__ = ("stderr", "stdin", "stdout")

    def __init__(self, stdin: BinaryIO, stdout: BinaryIO, stderr: BinaryIO) -> None:
        self.stdin = stdin
        self.stdout = stdout
        self.stderr = stderr

    def say(self, line: str) -> None:
        """One line on standard error. Where that is gone, the exit code alone tells."""
        try:
            self.stderr.write(line.encode("utf-8", "backslashreplace") + b"\n")
            self.stderr.flush()
        except OSError:
            _forget(self.stderr, sys.stderr, 2)

    def out(self, text: str) -> None:
        """Text on standard output. Raises as `documents.put` does."""
        documents.put(self.stdout, text.encode("utf-8", "surrogateescape"))


def own_streams() -> Streams:
    """The streams of this process; a closed one is empty, or cannot be written."""
    # Python leaves a closed one closed, and the next file that is opened would take its number.
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_WRONLY if number == 2 else os.O_RDONLY)
    return Streams(
        sys.stdin.buffer if sys.stdin else open(0, "rb", buffering=0, closefd=False),
        sys.stdout.buffer if sys.stdout else open(1, "wb", buffering=0, closefd=False),
        sys.stderr.buffer if sys.stderr else open(2, "wb", buffering=0, closefd=False),
    )


def _forget(stream: BinaryIO, own: TextIO | None, number: int) -> None:
    """Let what `stream` could not write go: Python flushes once more at exit and would complain."""
    if own is not None and stream is own.buffer:
        os.dup2(os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC), number)


def parse_flags(argv: list[str], known: dict[str, bool]) -> tuple[Flags, list[str]]:
    """Flags and the remaining words of `argv`.

    `known` maps a flag to whether it takes a value. Words after `--` are never flags.
    Raises Problem("usage") for an unknown flag, a missing value or a value too many.
    """
    flags: Flags = {}
    words: list[str] = []
    position = 0
    while position < len(argv):
        word = argv[position]
        position += 1
        if word == "--":
            words += argv[position:]
            break
        if not word.startswith("-") or word == "-":
            words.append(word)
            continue
        name, equals, value = word.partition("=")
        if name == "-h":
            name = "--help"
        if name not in known:
            raise Problem("usage", f"unknown option {name}", "see --help for the options")
        if not known[name]:
            if equals:
                raise Problem("usage", f"{name} takes no value, got {value!r}")
            flags[name] = True
            continue
        if not equals:
            if position >= len(argv):
                raise Problem("usage", f"{name} needs a value", "see --help for the options")
            value = argv[position]
            position += 1
        if name in flags:
            raise Problem("usage", f"{name} was given twice")
        flags[name] = value
    return flags, words


def text_flag(flags: Flags, name: str) -> str | None:
    """The value of a flag that takes one; None when it was not given."""
    value = flags.get(name)
    return value if isinstance(value, str) else None


def guarded(tool: str, argv: list[str], streams: Streams, body: Callable[[], int]) -> int:
    """Run `body` and turn whatever it raises into one line and an exit code.

    A Problem has the code of its kind, an interrupt 130, a closed pipe and what else the machine
    would not do 74, anything else 70 with the path of a file that holds the traceback. A Problem
    of the kind "bug" is kept there too.
    """
    try:
        code = body()
    except Problem as problem:
        line = problems.sentence(problem.section(tool))
        if problem.kind == "bug":
            line = f"{line} — {_record_bug(tool, argv)}"
        if not problem.is_told:
            streams.say(f"{tool}: {line}")
        code = problem.code
    except KeyboardInterrupt:
        streams.say(f"{tool}: interrupted")
        code = problems.INTERRUPTED
    except BrokenPipeError:
        # nobody reads, so there is nobody to tell
        code = problems.SYSTEM
    except (OSError, MemoryError) as error:
        # the machine's trouble, wherever it struck: too many open files, no memory, a bad disk
        streams.say(f"{tool}: {problems.sentence(_of_machine(error).section(tool))}")
        code = problems.SYSTEM
    except Exception:  # noqa: BLE001 - the last line of defence; it is recorded, not lost
        streams.say(f"{tool}: this is a bug in {tool}; {_record_bug(tool, argv)}")
        code = problems.BUG
    try:
        streams.stdout.flush()
    except OSError:
        _forget(streams.stdout, sys.stdout, 1)
        code = code or problems.SYSTEM
    return code


def _of_machine(error: OSError | MemoryError) -> Problem:
    if isinstance(error, MemoryError):
        return Problem("system", "there is not enough memory")
    if error.filename is None:
        return Problem("system", f"file or system error: {error}")
    name = error.filename
    return problems.refusal(
        error, "use", os.fsdecode(name) if isinstance(name, bytes) else f"{name}"
    )


def _record_bug(tool: str, argv: list[str]) -> str:
    """Keep the traceback of the present exception; gives half a sentence that says where."""
    import platform
    import tempfile
    import traceback

    from . import __version__, files, places

    text = f"{tool} {__version__}, Python {platform.python_version()}, {platform.platform()}\n"
    text += f"arguments: {argv!r}\n\n{traceback.format_exc()}"
    data = text.encode("utf-8", "backslashreplace")
    name = f"{tool}-{os.urandom(4).hex()}.txt"
    try:
        folder = files.private_folder(os.path.join(places.state_dir(), "bugs"))
        path = os.path.join(folder, name)
        files.write_atomic(path, data)
    except Problem:
        try:
            path = os.path.join(tempfile.gettempdir(), name)
            files.write_atomic(path, data)
        except (OSError, Problem) as error:
            return f"its traceback could not be kept ({error})"
    return f"the traceback is in {path} — please report it"


def pipe(
    tool: str,
    argv: list[str],
    streams: Streams,
    work: Callable[[Run, Flags], None],
    *,
    usage: str,
    reads: str,
    writes: str,
    flags: dict[str, bool] | None = None,
    foreign: Callable[[Run], bool] | None = None,
) -> int:
    """A pipe step: read a run document, let `work` add its section, write the document.

    A document that holds a problem, or that `foreign` calls none of this tool's business, passes
    unchanged. A Problem raised by `work` becomes the document's `problem`. The exit code is 0
    whenever the document could be written, unless `--exit-code` asks for what it says.
    """

    def body() -> int:
        known = {"--exit-code": False, "--help": False, "--version": False, **(flags or {})}
        given, words = parse_flags(argv, known)
        if information(tool, given, streams, usage):
            return problems.OK
        if words:
            raise Problem("usage", f"unexpected word {words[0]!r}", "see --help")
        document = documents.read_run(streams.stdin, reads)
        if "problem" not in document and not (foreign is not None and foreign(document)):
            attempt(tool, document, streams, lambda: work(document, given))
        documents.write_run(streams.stdout, document, writes)
        return problems.answer(document) if given.get("--exit-code") else problems.OK

    return guarded(tool, argv, streams, body)


def attempt(tool: str, document: Run, streams: Streams, work: Callable[[], None]) -> None:
    """Run `work`; a Problem it raises is added to `document` and told on standard error.

    The traceback of one of the kind "bug" is kept.
    """
    try:
        work()
    except Problem as problem:
        document["problem"] = problem.section(tool)
        line = problems.sentence(document["problem"])
        if problem.kind == "bug":
            line = f"{line} — {_record_bug(tool, [])}"
        streams.say(f"{tool}: {line}")


def subcommand(
    tool: str, argv: list[str], streams: Streams, known: dict[str, bool], *, most: int, usage: str
) -> tuple[Flags, list[str]] | None:
    """Flags and words of a subcommand; None when `--help` or `--version` was asked for.

    Raises Problem("usage") for a flag that is not known and for more than `most` words.
    """
    flags, words = parse_flags(argv, {"--help": False, "--version": False, **known})
    if information(tool, flags, streams, usage):
        return None
    if len(words) > most:
        raise Problem("usage", f"unexpected word {words[most]!r}", f"see {tool} --help")
    return flags, words


def information(tool: str, flags: Flags, streams: Streams, usage: str) -> bool:
    """Answer `--help` or `--version`; whether one of them was asked for."""
    if flags.get("--help"):
        streams.out(usage if usage.endswith("\n") else usage + "\n")
        return True
    if flags.get("--version"):
        from . import __version__

        streams.out(f"{tool} {__version__}\n")
        return True
    return False
