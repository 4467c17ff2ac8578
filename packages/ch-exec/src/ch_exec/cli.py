"""The commands of ch-exec: the pipe step, `run`, `stop` and `backends`."""

from __future__ import annotations

import os
import sys

from ch_contract import clock, documents, places, problems, shells, tool
from ch_contract import settings as settings_in_force
from ch_contract.problems import Problem

from . import backends
from .planning import Plan, Unfollowed, is_foreign, permitted, plan

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from ch_contract.messages import Result, Run

    from .live import View

NAME = "ch-exec"
# No text that a person wrote is longer.
COMMAND_BYTES = 4 << 20
USAGE = """\
usage: ch-exec [--exit-code] [--live auto|never] < run document > run document
       ch-exec run --command TEXT | --file FILE [--cwd DIR] [--timeout SECONDS]
                   [--live auto|never] [--json] [--exit-code]
       ch-exec stop --run-id ID
       ch-exec backends [--json]

Run an approved command and tell exactly what happened.

Reads a run document that ch-stage has passed on, runs its command if the verdict allows exactly
this text (or a person accepted exactly this text), and adds `result`. Everything else passes
unchanged. Ending ch-exec by INT, TERM, HUP or QUIT, or making the file runs/<run_id>/cancel,
cancels the command and all it started.

`run` runs a command of your own, judged by nobody, prints its output and leaves no receipt.
`stop` ends whatever still lives of a run, also when the harness that started it was killed.
`backends` tells what each backend promises.

options:
  --exit-code        exit with the document's answer: 0 succeeded, 1 failed or denied,
                     3 waits for a review; `run`: with the command's own exit code
                     (128 + number after a signal, 124 after a timeout, 130 when cancelled)
  --live auto|never  show the running command on standard error if that is a terminal (auto)
  --command TEXT     the shell text to run
  --file FILE        read the shell text from FILE (- for standard input)
  --cwd DIR          where to run it (here)
  --timeout SECONDS  how long it may take (the setting timeout)
  --run-id ID        the run to end
  --json             print the result instead of the output, or the backends, as JSON
  --help             show this text
  --version          show the version
"""


def execute(document: Run, streams: tool.Streams, live: str) -> None:
    """Run the command of `document` if it may run, and add its result.

    Raises Problem; then nothing was run, unless the document has a result all the same.
    """
    if not permitted(document):
        return
    cwd = document["cwd"]
    _check_folder(cwd)
    settings = settings_in_force.load(cwd, document["project"])
    planned = plan(document, settings, shells.login_shell())
    # nobody watches a run that a watch or a hook began
    watched = document["trigger"] == "explicit"
    view = _view(streams, live, settings["color"]) if watched else None
    try:
        document["result"] = _run(planned, settings["backend"], streams, view)
    except Unfollowed as problem:
        document["result"] = problem.result
        raise


def _run(
    planned: Plan,
    name: str,
    streams: tool.Streams,
    view: View | None,
    *,
    alone: bool = False,
    deliver: Callable[[bytes], None] | None = None,
) -> Result:
    backends.contract(name)
    result: Result = backends.find(name).run(
        planned,
        places.state_dir(),
        tell=lambda line: streams.say(f"{NAME}: {line}"),
        view=view,
        alone=alone,
        deliver=deliver,
    )
    return result


def _view(streams: tool.Streams, live: str, color: str) -> View | None:
    """The live view; `color` is the setting. None where there is no terminal to show it on."""
    if live == "never" or not streams.stderr.isatty():
        return None
    from .live import on_terminal

    # the view is on a terminal or not at all, so that auto and always say the same
    is_colored = color != "never" and not os.environ.get("NO_COLOR")
    return on_terminal(streams.stderr, is_colored=is_colored)


def _check_folder(cwd: str) -> None:
    if not os.path.isdir(cwd):
        raise Problem(
            "refused",
            f"the working folder {cwd} does not exist",
            "nothing was run; make it, or name another with cwd:",
        )


def _live(flags: tool.Flags) -> str:
    live = tool.text_flag(flags, "--live") or "auto"
    if live not in ("auto", "never"):
        raise Problem("usage", f"--live is auto or never, got {live!r}")
    return live


def _run_command(argv: list[str], streams: tool.Streams) -> int:
    """`ch-exec run`."""
    flags, words = tool.parse_flags(
        argv,
        {
            "--command": True, "--file": True, "--cwd": True, "--timeout": True, "--live": True,
            "--json": False, "--exit-code": False, "--help": False, "--version": False,
        },
    )  # fmt: skip
    if tool.information(NAME, flags, streams, USAGE):
        return problems.OK
    if words:
        # the word is not repeated: it may be a piece of the command
        raise Problem("usage", "the command is given with --command or --file, not as a word")
    live = _live(flags)
    command = _command_text(flags, streams)
    cwd = _absolute(os.path.expanduser(tool.text_flag(flags, "--cwd") or "."))
    _check_folder(cwd)
    settings = settings_in_force.load(cwd, places.project_root(cwd))
    shell = shells.resolve(settings.get("shell"), shells.login_shell())
    planned = Plan(
        run_id=clock.run_id(),
        command=command,
        cwd=cwd,
        shell=shell.path,
        dialect=shell.dialect,
        timeout=_seconds(tool.text_flag(flags, "--timeout")) or settings["timeout"],
    )
    view = _view(streams, live, settings["color"])
    # on a terminal the view has just shown the output
    is_shown = view is not None and streams.stdout.isatty()
    result = _run(
        planned,
        settings["backend"],
        streams,
        view,
        alone=True,
        deliver=None
        if flags.get("--json") or is_shown
        else lambda data: documents.put(streams.stdout, data),
    )
    if flags.get("--json"):
        documents.put(streams.stdout, documents.encode(result))
    if flags.get("--exit-code"):
        return _own_code(result)
    return problems.OK if result["exit_code"] == 0 else problems.NO


def _absolute(folder: str) -> str:
    try:
        return os.path.abspath(folder)
    except FileNotFoundError:
        raise Problem(
            "refused",
            "the working folder was removed",
            "nothing was run; go to another, or name one with --cwd as a whole path",
        ) from None


def _command_text(flags: tool.Flags, streams: tool.Streams) -> str:
    command = tool.text_flag(flags, "--command")
    path = tool.text_flag(flags, "--file")
    if (command is None) == (path is None):
        raise Problem("usage", "give either --command or --file", "see ch-exec --help")
    if path is not None:
        data = streams.stdin.read(COMMAND_BYTES + 1) if path == "-" else _file_bytes(path)
        if len(data) > COMMAND_BYTES:
            raise Problem(
                "document",
                f"{path} is longer than {COMMAND_BYTES:,} bytes, too long for a command",
                "nothing was run; let a short command start the file",
            )
        try:
            command = data.decode()
        except UnicodeDecodeError as error:
            raise Problem("document", f"{path} is not UTF-8 at byte {error.start}") from None
    if not command or "\0" in command:
        raise Problem("usage", "the command is empty, or holds a NUL character")
    try:
        command.encode()
    except UnicodeEncodeError:
        raise Problem("usage", "the command is not UTF-8", "give it with --file") from None
    return command


def _file_bytes(path: str) -> bytes:
    """The file `path`, or its beginning if it is longer than a command may be."""
    import stat

    from ch_contract import files

    try:
        mode = os.stat(path).st_mode
    except OSError:
        # what is wrong with it is told below
        mode = stat.S_IFREG
    # a shell's <(…) is a pipe
    if not (stat.S_ISREG(mode) or stat.S_ISFIFO(mode)):
        raise Problem("system", f"cannot read {path}: it is neither a file nor a pipe")
    data = files.read(path, COMMAND_BYTES + 1, regular=False)
    if data is None:
        raise Problem("system", f"cannot read {path}: there is no such file")
    return data


def _seconds(value: str | None) -> int | None:
    if value is None:
        return None
    if not (value.isascii() and value.isdigit() and 1 <= int(value[:9]) <= 86400):
        raise Problem("usage", f"--timeout is 1 to 86400 seconds, got {value!r}")
    return int(value)


def _own_code(result: Result) -> int:
    """The code a shell would give for this end."""
    import signal

    if result["exit_code"] is not None:
        return result["exit_code"]
    if result["timed_out"]:
        return 124
    if result["cancelled"]:
        return problems.INTERRUPTED
    name = result["signal"] or ""
    base, _, offset = name.partition("+")
    return 128 + (int(signal.Signals[base]) + int(offset or 0) if name else 0)


def _stop(argv: list[str], streams: tool.Streams) -> int:
    """`ch-exec stop`."""
    import re

    flags, words = tool.parse_flags(argv, {"--run-id": True, "--help": False, "--version": False})
    if tool.information(NAME, flags, streams, USAGE):
        return problems.OK
    if words:
        raise Problem("usage", f"unexpected word {words[0]!r}", "see ch-exec --help")
    run_id = tool.text_flag(flags, "--run-id")
    if run_id is None or not re.fullmatch("r-[0-9a-f]{8,32}", run_id):
        raise Problem("usage", "name the run with --run-id", "run ids look like r-6a1b2c3d4e5f6071")
    from .stop import stop

    ended, left = stop(places.state_dir(), run_id)
    if left:
        raise Problem(
            "system",
            f"{left} processes of the run {run_id} could not be ended ({ended} were)",
            "they may be another user's, or wait for a device; look for CH_EXEC_RUN in their"
            " environment",
        )
    if not ended:
        streams.say(f"{NAME}: nothing of the run {run_id} lives")
        return problems.NO
    streams.out(f"processes ended: {ended}\n")
    return problems.OK


def _tell_backends(argv: list[str], streams: tool.Streams) -> int:
    """`ch-exec backends`."""
    flags, words = tool.parse_flags(argv, {"--json": False, "--help": False, "--version": False})
    if tool.information(NAME, flags, streams, USAGE):
        return problems.OK
    if words:
        raise Problem("usage", f"unexpected word {words[0]!r}", "see ch-exec --help")
    contracts = [backends.contract(name) for name in sorted(backends.BACKENDS)]
    if flags.get("--json"):
        message: dict[str, Any] = {"format": "clip-harness/backends@1", "backends": contracts}
        documents.put(streams.stdout, documents.encode(message))
        return problems.OK
    for promised in contracts:
        for term, _ in backends.TERMS:
            value = promised[term]
            text = ", ".join(value) if isinstance(value, list) else value
            streams.out(f"{term.replace('_', ' ') + ':':<30}{text}\n")
    return problems.OK


def main(argv: list[str], streams: tool.Streams) -> int:
    """Run the tool with these arguments and streams; gives the exit code."""
    if argv and argv[0] == "run":
        # a report of a bug names the arguments, and a command may hold a secret
        return tool.guarded(NAME, ["run", "…"], streams, lambda: _run_command(argv[1:], streams))
    if argv and argv[0] == "stop":
        return tool.guarded(NAME, argv, streams, lambda: _stop(argv[1:], streams))
    if argv and argv[0] == "backends":
        return tool.guarded(NAME, argv, streams, lambda: _tell_backends(argv[1:], streams))
    return tool.guarded(NAME, argv, streams, lambda: _pipe_step(argv, streams))


def _pipe_step(argv: list[str], streams: tool.Streams) -> int:
    known = {"--exit-code": False, "--help": False, "--version": False, "--live": True}
    # called wrongly is told before a document is read: it is no problem of the run
    live = _live(tool.parse_flags(argv, known)[0])
    return tool.pipe(
        NAME,
        argv,
        streams,
        lambda document, _flags: execute(document, streams, live),
        usage=USAGE,
        reads="staged",
        writes="executed",
        flags={"--live": True},
        foreign=is_foreign,
    )


def main_process() -> None:
    """The installed command."""
    sys.exit(main(sys.argv[1:], tool.own_streams()))
