"""The local backend: the user's shell, on this machine, as the user, without a sandbox.

Decides the argument vector and the environment, and reads the result off the way the process
ended. Starting and ending processes is supervise.py's.
"""

from __future__ import annotations

import os
import signal

from ch_contract import files
from ch_contract.problems import Problem
from ch_exec import descendants, supervise
from ch_exec.output import Output
from ch_exec.planning import Unfollowed
from ch_exec.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from ch_contract.messages import Result
    from ch_exec.live import View
    from ch_exec.planning import Plan

NAME = "local"
MODE = "unsandboxed"
SANDBOX = "none"

# Linux takes no single argument of 131,072 bytes or more; the shell reads a longer text as a file.
ARGUMENT_BYTES = 120_000

# What would run code, or change how the shell reads the judged text, before its first line.
REMOVED = frozenset(
    {
        # bash
        b"BASH_ENV", b"SHELLOPTS", b"BASHOPTS", b"BASH_COMPAT", b"POSIXLY_CORRECT", b"GLOBIGNORE",
        # ksh and dash; FPATH holds functions that stand in for commands
        b"ENV", b"FPATH",
        # zsh
        b"ZDOTDIR", b"NULLCMD", b"READNULLCMD",
        # all of them; PS4 is evaluated by `set -x`
        b"CDPATH", b"OLDPWD", b"PS4",
    }
)  # fmt: skip
# The second are functions of bash, which would stand in for the commands that were judged.
REMOVED_PREFIXES = (b"CLIP_HARNESS_", b"BASH_FUNC_")
# So that the shell reads no file of the user's first, whose aliases and functions nobody judged.
# bash reads ~/.bashrc when it believes to be started by ssh, zsh reads ~/.zshenv always.
PLAIN = {"bash": [b"--norc"], "zsh": [b"-f"]}
# Nobody is there to answer a question or to turn a page. Editors are left alone: an editor that
# answers by itself would carry out a rebase nobody looked at.
SET = {
    b"GIT_TERMINAL_PROMPT": b"0",
    b"GIT_PAGER": b"cat",
    b"PAGER": b"cat",
    b"MANPAGER": b"cat",
    b"SYSTEMD_PAGER": b"cat",
}

CONTRACT: dict[str, Any] = {
    "name": NAME,
    "modes": [MODE],
    "maximum_noninteractive_mode": MODE,
    "isolation": SANDBOX,
    "cancel": "every process of the run: TERM, then KILL; gone within 2 s",
    "timeout": "as cancel; 1 s to 24 h",
    "streaming": "output.txt fills while the command runs; a live view on a terminal",
    "exit_status": "exact: exit code, or the signal that ended the shell",
    "recovery": "process id and start time are on the disk before the command starts",
    "writable_scope": "whatever the user may write",
    "environment_set": sorted([*map(os.fsdecode, SET), "PWD", descendants.MARK]),
    "environment_removed": sorted(
        [*map(os.fsdecode, REMOVED), *(f"{os.fsdecode(prefix)}*" for prefix in REMOVED_PREFIXES)]
    ),
}


def environment(own: Mapping[bytes, bytes], plan: Plan) -> dict[bytes, bytes]:
    """The environment of the command, made from that of this process."""
    kept = {
        name: value
        for name, value in own.items()
        if name not in REMOVED and not name.startswith(REMOVED_PREFIXES)
    }
    kept.update(SET)
    kept[b"PWD"] = os.fsencode(plan.cwd)
    kept[descendants.MARK.encode()] = plan.run_id.encode()
    return kept


def argv(plan: Plan, script: str | None) -> list[bytes]:
    """How the shell is given the text: as an argument, or as the file `script`."""
    shell = [os.fsencode(plan.shell), *PLAIN.get(plan.dialect, ())]
    if script is not None:
        return [*shell, os.fsencode(script)]
    # without the `--` a text that begins with a dash would be taken for options
    return [*shell, b"-c", b"--", plan.command.encode()]


def run(
    plan: Plan,
    state: str,
    *,
    tell: Callable[[str], None],
    view: View | None = None,
    alone: bool = False,
    deliver: Callable[[bytes], None] | None = None,
) -> Result:
    """Run `plan` and give its result; `state` is the state folder.

    `tell` takes a line for the person at hand, `deliver` the output once the command has ended.
    `alone`: no receipt will follow. Raises
    Problem("refused") for a run that was started before, Problem("system") when nothing could be
    started, Unfollowed when it was started and could not be followed to its end.
    """
    record = Record(plan, state)
    try:
        script = None
        text = plan.command.encode()
        if len(text) > ARGUMENT_BYTES:
            script = os.path.join(record.folder, "command.sh")
            files.write_atomic(script, text)
        output = Output(record.output_path, view)
    except BaseException:
        os.close(record.output)
        record.abandon()
        raise
    try:
        told = _follow(plan, record, output, script, tell=tell, view=view, alone=alone)
        if deliver is not None:
            output.deliver(deliver)
    finally:
        output.close()
        os.close(record.output)
    return told


def _follow(
    plan: Plan,
    record: Record,
    output: Output,
    script: str | None,
    *,
    tell: Callable[[str], None],
    view: View | None,
    alone: bool,
) -> Result:
    """Start the command, follow it to its end and give its result. Raises as `run` does."""
    launch = supervise.Launch(
        argv(plan, script), environment(os.environb, plan), plan.cwd, record.output
    )
    try:
        if view is not None:
            view.begin(plan)
        ending = supervise.run(
            launch,
            output,
            timeout=plan.timeout,
            cancel_path=record.cancel_path,
            run_id=plan.run_id,
            record=lambda pid, start: record.write(pid, start, NAME, MODE, SANDBOX),
            view=view,
        )
    except BaseException:
        # what has run is never taken back: its open run stands until somebody settles it
        if not launch.is_released:
            record.abandon()
        raise
    finally:
        if view is not None:
            view.end()
    _close(record, tell, alone=alone)
    if output.reopened:
        tell(
            "the command opened its own output file anew (a redirection to /dev/stdout or"
            " /dev/stderr does that; >&1 and >&2 do not): what it printed before may be lost"
        )
    if output.replaced:
        tell(
            "the command moved its own output file, or put another in its place: the result tells"
            " of the file it was given"
        )
    if ending.left:
        tell(f"{ending.left} processes of the run {plan.run_id} could not be ended")
    told = result(plan, record.output_path, output, ending)
    if ending.failure is not None:
        lives = "may still live" if ending.is_unsure else "still lives"
        hint = (
            f"something of it {lives}: end that with ch-exec stop --run-id {plan.run_id}; look"
            if ending.left or ending.is_unsure
            else "look"
        )
        raise Unfollowed(
            told, ending.failure, f"{hint} at what it has done before you run it again"
        ) from ending.failure
    return told


def _close(record: Record, tell: Callable[[str], None], *, alone: bool) -> None:
    """Note the end. The command may have filled the disk; its result is told all the same."""
    try:
        if alone:
            record.remove_open()
        else:
            record.end()
    except Problem as problem:
        tell(problem.message)


def result(plan: Plan, path: str, output: Output, ending: supervise.Ending) -> Result:
    """The `result` section: the end of the process in words and numbers."""
    code = ending.code
    is_own_end = ending.reason is None and code is not None and code >= 0
    name = signal_name(-code) if code is not None and code < 0 else None
    return {
        "exit_code": code if is_own_end else None,
        "exit_desc": describe(code, name, ending.reason, plan.timeout),
        "signal": name,
        "duration_ms": round(ending.seconds * 1000),
        "timed_out": ending.reason == "timeout",
        "cancelled": ending.reason == "cancel",
        "output_path": path,
        "output_bytes": output.tally.size,
        "output_chars": output.tally.characters,
        "output_sha256": output.tally.sha256,
        "shell": plan.shell,
        "backend": NAME,
        "sandbox": SANDBOX,
        "approval": plan.approval,
        "restored": [],
        "unenforced": [],
        "processes_ended": ending.ended,
        "processes_left": ending.left,
        "output_reopened": output.reopened or output.replaced,
    }


def describe(code: int | None, name: str | None, reason: str | None, timeout: int) -> str:
    """The end in words: `exit 3`, `ended by SIGSEGV`, `timed out after 5 s`, `cancelled`."""
    if reason == "failure":
        return "ended, because it could not be followed"
    if reason == "timeout":
        return f"timed out after {timeout} s"
    if reason == "cancel":
        return "cancelled"
    return f"ended by {name}" if name is not None else f"exit {code}"


def signal_name(number: int) -> str:
    """The name of a signal, such as SIGTERM or SIGRTMIN+3."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"SIGRTMIN+{number - signal.SIGRTMIN}"
