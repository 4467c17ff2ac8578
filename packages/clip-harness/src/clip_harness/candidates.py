"""The command `candidate`: what waits for a decision, shown, decided and acted on.

The store is ch-stage's; what is done after a decision is the flow's. Here it is put into words.
"""

from __future__ import annotations

import contextlib
import os

from ch_contract import documents, problems
from ch_contract.problems import Problem, visible
from clip_harness.flows import asking
from clip_harness.flows.interrupts import Interrupts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from ch_contract.tool import Streams
    from clip_harness.flows.trigger import Flow
    from clip_harness.runners import Runner

    Action = Callable[["Asked", Runner, Flow, Streams], int]


class Asked:
    """What was asked for on the command line."""

    __slots__ = ("as_json", "decision", "edited", "is_all", "name", "paths", "reason")

    def __init__(
        self,
        *,
        name: str | None,
        decision: str | None,
        reason: str | None,
        edited: str | None,
        paths: list[str],
        is_all: bool,
        as_json: bool,
    ) -> None:
        self.name = name
        self.decision = decision
        self.edited = edited
        self.reason = reason
        self.paths = paths
        self.is_all = is_all
        self.as_json = as_json

    def named(self) -> str:
        """The candidate that was named. Raises Problem("usage") when none was."""
        if self.name is None:
            raise Problem(
                "usage", "which candidate?", "list what waits with: clip-harness candidate list"
            )
        return self.name

    def draft(self, decision: str) -> dict[str, Any]:
        """The decision as ch-stage takes it."""
        return {
            "decision": decision,
            "reason": self.reason,
            "accepted_files": self.paths or None,
        }


def _list(asked: Asked, runner: Runner, _flow: Flow, streams: Streams) -> int:
    """What waits, or everything, a line each."""
    done = runner.run("ch-stage", ["list"], b"")
    count = 0
    for line in done.output.splitlines():
        told = documents.parse_json(line, "a candidate")
        if told["status"] != "pending" and not asked.is_all:
            continue
        count += 1
        streams.out(line.decode() + "\n" if asked.as_json else f"{_line(told)}\n")
    if not count and not asked.as_json and done.code == problems.OK:
        streams.out("nothing waits for a decision\n" if not asked.is_all else "no candidates\n")
    return done.code


def _line(told: dict[str, Any]) -> str:
    """One candidate on one line: id, where it stands, folder, what it is and why it waits."""
    manifest = told["manifest"]
    if manifest["kind"] == "command":
        first, *more = manifest["command"].split("\n")
        what = f"$ {first}{' …' if more else ''}"
        why = f"  ({manifest['reason']})" if manifest["reason"] else ""
    else:
        entries = manifest["entries"]
        what = ", ".join(f"{entry['actual_op']} {entry['path']}" for entry in entries[:3])
        what += f" and {len(entries) - 3} more" if len(entries) > 3 else ""
        why = ""
    return visible(f"{told['candidate_id']}  {_standing(told)}  {manifest['cwd']}  {what}{why}")


def _standing(told: dict[str, Any]) -> str:
    """Where a candidate stands, in a word or two."""
    decision, applied, undone = told["decision"], told["applied"], told["undone"]
    if decision is None or told["status"] != "resolved":
        return str(told["status"])
    words = [decision["decision"]]
    if undone is not None and undone["state"] == "done":
        words.append("undone")
    elif applied is not None:
        done = {"apply": "applied", "run": "handed over to run"}
        is_done = applied["state"] == "done"
        words.append(done[applied["act"]] if is_done else "put back after a failure")
    elif decision["decision"] != "reject":
        words.append("not applied yet")
    return ", ".join(words)


def _show(asked: Asked, runner: Runner, _flow: Flow, streams: Streams) -> int:
    """One candidate, whole."""
    told = asking.show(runner, asked.named())
    if asked.as_json:
        documents.put(streams.stdout, documents.encode(told))
        return problems.OK
    manifest = told["manifest"]
    decision = told["decision"]
    rows = [
        f"candidate: {told['candidate_id']}",
        f"status: {_standing(told)}",
        f"staged: {manifest['at']}",
        f"folder: {manifest['cwd']}",
        f"session: {manifest['session'] or 'none'}",
        f"kept in: {told['dir']}",
    ]
    if decision is not None:
        why = f": {decision['reason']}" if decision["reason"] else ""
        rows.append(f"decided: {decision['at']} by {decision['by']}{why}")
    if manifest["kind"] == "command":
        rows += [
            f"why it waits: {manifest['reason'] or 'unknown'}",
            f"timeout: {_timeout(manifest['timeout'])}",
            f"may write: {_scope(manifest)}",
            f"never: {', '.join(manifest['protected']) or 'none named'}",
            *(f"{'$' if not number else '>'} {line}" for number, line in _numbered(manifest)),
        ]
    for entry in manifest["entries"]:
        counts = f"+{entry['lines_added']} -{entry['lines_removed']}"
        declared = f", declared {entry['declared_op']}" if entry["mismatch"] else ""
        rows.append(f"{entry['actual_op']} {entry['path']} ({counts}{declared})")
        diff = asking.diff_of(told, entry).decode("utf-8", "backslashreplace")
        rows += diff.removesuffix("\n").split("\n") if diff else []
    streams.out("".join(f"{visible(row)}\n" for row in rows))
    return problems.OK


def _timeout(seconds: int | None) -> str:
    return "the setting" if seconds is None else f"{seconds} s"


def _scope(manifest: dict[str, Any]) -> str:
    """What a sandboxed run may write."""
    writes = manifest["writes"]
    own = f"{manifest['cwd']} and the temporary folder"
    return own if writes is None else f"{own}, {', '.join(writes)}"


def _numbered(manifest: dict[str, Any]) -> list[tuple[int, str]]:
    return list(enumerate(manifest["command"].removesuffix("\n").split("\n")))


def _review(asked: Asked, runner: Runner, flow: Flow, streams: Streams) -> int:
    """Decide, at the terminal or by the flags, and act on it."""
    name = asked.named()
    told = asking.show(runner, name)
    if told["decision"] is None and asked.decision is None:
        # a signal while it asks puts the decision off, and the terminal is given back
        with Interrupts() as interrupts:
            asker = asking.Asker(runner, streams, os.environ, lambda: interrupts.caught is not None)
            if not asker.can_ask():
                raise Problem(
                    "refused",
                    "there is no terminal to ask at",
                    f"decide with: clip-harness candidate review {name} --decision WORD,"
                    f" one of: {', '.join(WORDS[told['manifest']['kind']])}",
                )
            is_decided = asker.decide(told["candidate_id"])
        if not is_decided:
            streams.out(f"{told['candidate_id']} still waits\n")
            return problems.PENDING
    elif asked.decision is not None:
        _record(asked, told, runner)
    else:
        raise Problem(
            "refused",
            f"{name} is decided already: {told['decision']['decision']}",
            f"act on it with: clip-harness candidate apply {name}",
        )
    return _act(asking.show(runner, told["candidate_id"]), flow)


def _decide(asked: Asked, runner: Runner, _flow: Flow, streams: Streams) -> int:
    """Record a decision."""
    if asked.decision is None:
        raise Problem("usage", "--decision is missing", "such as: --decision reject")
    told = asking.show(runner, asked.named())
    _record(asked, told, runner)
    name = told["candidate_id"]
    streams.out(f"{name}: {asked.decision}; act on it with: clip-harness candidate apply {name}\n")
    return problems.OK


def _record(asked: Asked, told: dict[str, Any], runner: Runner) -> None:
    """Record the decision that the flags give. Raises Problem("usage") for another word."""
    kind = told["manifest"]["kind"]
    if asked.decision not in WORDS[kind]:
        what = "a command" if kind == "command" else "file changes"
        raise Problem(
            "usage",
            f"--decision {asked.decision} is none for {what}",
            f"it is one of: {', '.join(WORDS[kind])}",
        )
    if kind == "command" and asked.decision == "accept" and not asking.HAS_SANDBOX:
        raise Problem(
            "system",
            "this version has no sandbox, so an accepted command cannot run in one",
            "nothing was decided; give --decision accept-unsandboxed if it may run without one",
        )
    draft = asked.draft(asked.decision)
    with contextlib.ExitStack() as stack:
        edited = None
        if asked.edited is not None:
            edited = stack.enter_context(_by_number(asked.edited, told["manifest"]))
        asking.decide(runner, told["candidate_id"], draft, by="terminal", edited=edited)


@contextlib.contextmanager
def _by_number(folder: str, manifest: dict[str, Any]) -> Iterator[str]:
    """A temporary folder with the edited files of `folder` under the numbers of their entries."""
    import tempfile

    from ch_contract import files

    if not os.path.isdir(folder):
        raise Problem("usage", f"--edited: there is no folder {folder}")
    with tempfile.TemporaryDirectory(prefix="clip-harness-review-") as numbered:
        for number, entry in enumerate(manifest["entries"], 1):
            data = files.read(os.path.join(folder, entry["path"]))
            if data is not None:
                files.write_plain(os.path.join(numbered, str(number)), data)
        yield numbered


def _apply(asked: Asked, runner: Runner, flow: Flow, _streams: Streams) -> int:
    """Act on the decision that was recorded."""
    return _act(asking.show(runner, asked.named()), flow)


def _cancel(asked: Asked, runner: Runner, flow: Flow, _streams: Streams) -> int:
    """Withdraw a candidate, and record it."""
    told = asking.show(runner, asked.named())
    name = told["candidate_id"]
    asking.decide(runner, name, asked.draft("cancelled"), by="terminal")
    code = _act(asking.show(runner, name), flow)
    # that it was withdrawn is what was asked for
    return problems.OK if code == problems.NO else code


def _act(told: dict[str, Any], flow: Flow) -> int:
    """Go on with the run of a decided candidate; gives the exit code."""
    name = told["candidate_id"]
    if told["decision"] is None:
        raise Problem(
            "refused",
            f"{name} has no decision yet",
            f"decide with: clip-harness candidate review {name}",
        )
    applied = told["applied"]
    if applied is not None and applied["state"] == "done":
        what = "applied" if applied["act"] == "apply" else "handed over to run"
        raise Problem(
            "refused",
            f"{name} was {what} already, at {applied['at']}",
            f"look at its result with: clip-harness receipt --run {applied['run_id']}",
        )
    return flow.resume(told)


# The decisions that flags can give: the others are made at the terminal, where they are shown.
WORDS = {
    "changes": ("accept", "accept-edited", "reject"),
    "command": ("accept", "accept-unsandboxed", "reject"),
}
# The flags of each action, beside those of every command.
FLAGS = {
    "list": ("--all", "--json"),
    "show": ("--json",),
    "review": ("--decision", "--reason", "--file", "--edited", "--no-copy"),
    "decide": ("--decision", "--reason", "--file", "--edited"),
    "apply": ("--no-copy",),
    "cancel": ("--reason",),
}
ACTIONS: dict[str, Action] = {
    "list": _list,
    "show": _show,
    "review": _review,
    "decide": _decide,
    "apply": _apply,
    "cancel": _cancel,
}
