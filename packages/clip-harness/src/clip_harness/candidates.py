"""The command `candidate`: what waits for a decision, shown, decided and acted on.

The store is ch-stage's; what is done after a decision is the flow's. Here it is put into words.
"""

from __future__ import annotations

import os

from ch_contract import documents, files, problems
from ch_contract.problems import Problem, visible
from clip_harness.flows import asking
from clip_harness.flows.interrupts import Interrupts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from ch_contract.tool import Streams
    from clip_harness.flows.trigger import Flow
    from clip_harness.runners import Runner

    Action = Callable[["Asked", Runner, Flow, Streams], int]


class Asked:
    """What was asked for on the command line."""

    __slots__ = ("as_json", "decision", "is_all", "name", "paths", "reason")

    def __init__(
        self,
        *,
        name: str | None,
        decision: str | None,
        reason: str | None,
        paths: list[str],
        is_all: bool,
        as_json: bool,
    ) -> None:
        self.name = name
        self.decision = decision
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
    if not count and not asked.as_json:
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
        rows += _diff(told["dir"], entry["diff_file"])
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


def _diff(folder: str, name: str | None) -> list[str]:
    if name is None:
        return []
    data = files.read(os.path.join(folder, name), follow=False) or b""
    return data.decode("utf-8", "backslashreplace").removesuffix("\n").split("\n")


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
                    f"decide with: clip-harness candidate review {name} --decision accept"
                    " (or reject)",
                )
            is_decided = asker.decide(told["candidate_id"])
        if not is_decided:
            streams.out(f"{told['candidate_id']} still waits\n")
            return problems.PENDING
    elif asked.decision is not None:
        asking.decide(runner, told["candidate_id"], asked.draft(asked.decision), by="terminal")
    return _act(asking.show(runner, told["candidate_id"]), flow)


def _decide(asked: Asked, runner: Runner, _flow: Flow, streams: Streams) -> int:
    """Record a decision."""
    if asked.decision is None:
        raise Problem("usage", "--decision is missing", "such as: --decision reject")
    name = asking.show(runner, asked.named())["candidate_id"]
    asking.decide(runner, name, asked.draft(asked.decision), by="terminal")
    streams.out(f"{name}: {asked.decision}; act on it with: clip-harness candidate apply {name}\n")
    return problems.OK


def _apply(asked: Asked, runner: Runner, flow: Flow, _streams: Streams) -> int:
    """Act on the decision that was recorded."""
    return _act(asking.show(runner, asked.named()), flow)


def _cancel(asked: Asked, runner: Runner, flow: Flow, _streams: Streams) -> int:
    """Withdraw a candidate, and record it."""
    told = asking.show(runner, asked.named())
    name = told["candidate_id"]
    asking.decide(runner, name, asked.draft("cancelled"), by="terminal")
    _act(asking.show(runner, name), flow)
    return problems.OK


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


ACTIONS: dict[str, Action] = {
    "list": _list,
    "show": _show,
    "review": _review,
    "decide": _decide,
    "apply": _apply,
    "cancel": _cancel,
}
