"""The flow of one explicit trigger: a text in, its result block out.

It decides the order of the tools and where text and answers come from and go to; what a text
means, whether it may run, and what the block says is decided by the tools. A tool that wrote its
document has answered, whatever the document says; a tool that could not ends the flow.
"""

from __future__ import annotations

import os
import time

from ch_contract import checker, clock, documents, files, places, problems
from ch_contract.problems import Problem
from clip_harness import sessions
from clip_harness.flows import delivery
from clip_harness.flows.interrupts import Interrupts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from ch_contract.messages import Notices, Run, Verdict
    from ch_contract.tool import Streams
    from clip_harness.adapters.clipboard import Clipboard
    from clip_harness.runners import Runner

BEFORE: tuple[tuple[str, list[str]], ...] = (("ch-goal", ["guard"]), ("ch-gate", []))
AFTER: tuple[tuple[str, list[str]], ...] = (("ch-exec", []), ("ch-goal", []))
STRICTNESS = ("allow", "ask", "deny")
# How far back the last run is looked for, in ledger lines; each look costs what it reads.
LOOKS = (50, 2_000, 100_000)


class Captured:
    """A text as it was found, and what is known of where it came from."""

    __slots__ = ("bare", "cwd", "is_copied", "problem", "raw", "session")

    def __init__(
        self,
        raw: bytes,
        cwd: str,
        session: str | None = None,
        *,
        bare: bool = False,
        is_copied: bool = False,
        problem: Problem | None = None,
    ) -> None:
        self.raw = raw
        self.cwd = cwd
        self.session = session
        self.bare = bare
        self.is_copied = is_copied
        self.problem = problem


class Flow:
    """One run of the trigger flow over one runner, into one clipboard (or none)."""

    __slots__ = ("_clipboard", "_runner", "_state", "_streams")

    def __init__(
        self,
        runner: Runner,
        clipboard: Clipboard | None,
        state: str,
        streams: Streams,
    ) -> None:
        self._runner = runner
        self._clipboard = clipboard
        self._state = state
        self._streams = streams

    def run(self, captured: Captured) -> int:
        """Take `captured` through the tools; gives the exit code of the meta command."""
        with Interrupts() as interrupts:
            return self._run(captured, interrupts)

    def _run(self, captured: Captured, interrupts: Interrupts) -> int:
        run_id = clock.run_id()
        if interrupts.caught is not None:
            return problems.INTERRUPTED
        try:
            self.settle(captured.cwd)
            at = self._record(captured, run_id)
        except Problem as problem:
            cause = Problem(
                problem.kind,
                f"{problem.message} — so nothing was run",
                problem.hint or "mend the cause, then copy the payload again",
            )
            return refuse(self._runner, self._clipboard, captured, cause, self._streams)
        document = self._parse(captured, run_id, at)
        kind = document["payload"]["kind"]
        if kind == "control" and "problem" not in document:
            return self._control(document, interrupts)
        if kind not in ("ignored", "malformed"):
            document = self._act(document, interrupts)
        if document.get("problem", {}).get("kind") == "interrupted":
            self._call("ch-receipt", [], documents.encode(document))
            return problems.INTERRUPTED
        return self._finish(document, captured)

    def settle(self, cwd: str | None = None) -> None:
        """Bring what a crash cut off to its end: file changes first, then the runs.

        Raises Problem as `_settle_changes` does, and when the ledger cannot be written.
        """
        if sessions.has_records(places.applying(self._state)):
            self._settle_changes(cwd)
        if sessions.has_records(os.path.join(self._state, "open")):
            done = self._runner.run("ch-receipt", ["recover"], b"")
            self._tell(done.output.decode("utf-8", "replace").splitlines())

    def _settle_changes(self, cwd: str | None) -> None:
        """Finish or put back applies that were cut off; the ledger gets a line for each.

        Raises Problem("system") when one of the folder `cwd` could not be: the files there may be
        half changed, and nothing is run on top of that.
        """
        done = self._runner.run("ch-stage", ["recover"], b"")
        for line in done.output.splitlines():
            record = documents.parse_json(line, "a recovered apply")
            name = record["candidate_id"]
            if "problem" in record:
                if cwd is not None and _is_related(record["cwd"], cwd):
                    raise Problem(
                        "system",
                        f"an apply was cut off here and could not be settled: {record['problem']}",
                        "mend that first; until then the files here may be half changed",
                    )
                continue
            note = recovered(record)
            argv = ["ApplyRecovered", "--run-id", record["run_id"], "--cwd", _folder_of(record)]
            self._call("ch-receipt", ["happened", *argv, "--note", note[:600]], b"")
            self._tell([f"{name}: {note}"])
            self._call("ch-stage", ["settled", name], b"")

    def _tell(self, lines: list[str]) -> None:
        for line in lines:
            self._streams.say(f"clip-harness: {line}")

    def _record(self, captured: Captured, run_id: str) -> str:
        """Record the text before anything is done with it; gives the time of the record."""
        argv = ["capture", *_place(captured, run_id), "--owner-pid", str(os.getpid())]
        receipt = self._call("ch-receipt", argv, captured.raw)
        return str(documents.parse_json(receipt, "the capture receipt")["at"])

    def _parse(self, captured: Captured, run_id: str, at: str) -> Run:
        bare = ["--bare"] if captured.bare else []
        argv = [*_place(captured, run_id), "--at", at, *bare]
        document = _document(self._call("ch-parse", argv, captured.raw))
        if captured.problem is not None:
            # the clipboard knows better than the parser why there is nothing to read
            document["problem"] = captured.problem.section("clip-harness")
        return document

    def _act(self, document: Run, interrupts: Interrupts, judged: Verdict | None = None) -> Run:
        """Judge, stage, execute; every tool passes on what is not its business.

        `judged` is the verdict a candidate was staged under: the stricter of the two counts (R129).
        A tool that writes nothing has failed at its own job: nothing more is done, and the run
        gets its receipt and its block like any other.
        """
        started = time.time()
        runs = False
        try:
            for tool, argv in BEFORE:
                document = self._step(tool, argv, document)
            document = self._review(stricter(document, judged), interrupts)
            if interrupts.caught is not None and _is_untouched(document):
                raise Problem("interrupted", "stopped before anything was run")  # noqa: TRY301
            runs = _runs(document)
            if runs and interrupts.caught is not None:
                raise Problem(  # noqa: TRY301 - as any tool's that could not go on
                    "refused",
                    "stopped after the files were applied, so the command was not run",
                    "send the command alone to run it",
                )
            if runs:
                sessions.remember(self._state, document, "running", started)
            for tool, argv in AFTER:
                document = self._step(tool, argv, document)
        except Problem as problem:
            document["problem"] = problem.section("clip-harness")
        try:
            if runs:
                sessions.update(self._state, document, _outcome(document), started)
            else:
                sessions.remember(self._state, document, "not run", started)
        except Problem as problem:
            # what is only noted of a run must not cost its result
            self._complain(problem)
        return document

    def _review(self, document: Run, interrupts: Interrupts) -> Run:
        """Stage what needs a decision, and ask for it where a person can be asked.

        A payload has at most two candidates, its files and then its command. Whoever puts one off
        finds it again in the list; so does everybody who cannot be asked here.
        """
        document = self._step("ch-stage", [], document)
        if first_waiting(document) is None:
            return document
        from clip_harness.flows.asking import Asker

        asker = Asker(
            self._runner, self._streams, os.environ, lambda: interrupts.caught is not None
        )
        while interrupts.caught is None and "problem" not in document and asker.can_ask():
            waiting = first_waiting(document)
            if waiting is None or not asker.decide(waiting):
                break
            document = self._step("ch-stage", [], document)
        return document

    def resume(self, told: dict[str, Any]) -> int:
        """Go on with a run that waited for a person; `told` is what ch-stage tells of it.

        It is judged again, and runs under its own id. Raises Problem when another process is at
        work on it, or it was done before.
        """
        with Interrupts() as interrupts:
            document: Run = told["document"]
            self.settle(document["cwd"])
            judged = document.pop("verdict", None)
            argv = ["--run-id", document["run_id"], "--cwd", document["cwd"]]
            session = document["payload"]["metadata"]["session"]
            argv += ["--session", session] if session is not None else []
            note = f"goes on after the decision on {told['candidate_id']}"
            owner = ["--owner-pid", str(os.getpid())]
            self._call("ch-receipt", ["resume", *argv, *owner, "--note", note], b"")
            document = self._act(document, interrupts, judged)
            if document.get("problem", {}).get("kind") == "interrupted":
                self._call("ch-receipt", [], documents.encode(document))
                return problems.INTERRUPTED
            return self._finish(document, None)

    def undo(self, name: str | None) -> dict[str, Any]:
        """Put back what a candidate changed, and record it; gives the record of the outcome.

        Raises Problem in ch-stage's words.
        """
        self.settle()
        argv = ["undo", "--hold", *([name] if name is not None else [])]
        record = documents.parse_json(self._call("ch-stage", argv, b""), "an undo")
        paths = ", ".join(entry["path"] for entry in record["entries"])
        argv = ["Undone", "--run-id", record["run_id"], "--cwd", _folder_of(record)]
        note = f"put back: {paths}"[:600]
        self._call("ch-receipt", ["happened", *argv, "--note", note], b"")
        self._call("ch-stage", ["settled", record["candidate_id"]], b"")
        return record  # type: ignore[no-any-return]

    def _complain(self, problem: Problem) -> None:
        section = problem.section("clip-harness")
        self._streams.say(f"clip-harness: {problems.sentence(section)}")

    def _control(self, document: Run, interrupts: Interrupts) -> int:
        """Cancel a run, or run a payload again as a new run that is judged afresh."""
        control = document["payload"]["control"]
        if control is None:
            raise Problem("bug", "a control payload without a control section")
        try:
            if control["action"] == "cancel":
                stopped = sessions.cancel(
                    self._state, self._runner, control["session"], document["run_id"]
                )
                document["notices"] = notices(context=f"{stopped} was stopped.")
                return self._finish(document, None)
            again, old = self.last_payload(control["session"])
        except Problem as problem:
            document["problem"] = problem.section("clip-harness")
            return self._finish(document, None)
        document["notices"] = notices(context=f"{old} runs again as a new run.")
        self._call("ch-receipt", [], documents.encode(document))
        return self._run(again, interrupts)

    def last_payload(self, session: str | None) -> tuple[Captured, str]:
        """The payload of a session's last run, of a run id, or of the last run; and its run id.

        Raises Problem("refused") when there is none.
        """
        if session is None:
            run_id = self.last_run()
        else:
            known = sessions.is_session(session)
            record = sessions.read(self._state, session) if known else None
            run_id = record["run_id"] if record is not None else session
        raw = None
        if run_id is not None and is_run_id(run_id):
            raw = files.read(os.path.join(places.run_dir(self._state, run_id), "payload.txt"))
        if run_id is None or raw is None:
            what = "there is no run yet" if session is None else f"no payload is kept for {session}"
            raise Problem("refused", what, "list what is known with: clip-harness sessions")
        lines = list(self._lines("show", "--run", run_id))
        cwd = next((line["cwd"] for line in lines if line.get("cwd")), os.getcwd())
        bound = next((line["session"] for line in lines if line.get("session")), None)
        bare = any((line.get("payload") or {}).get("form") == "bare" for line in lines)
        return Captured(raw, cwd, bound, bare=bare), run_id

    def last_run(self) -> str | None:
        """The last run of a payload that asked for a command or a change."""
        for look in LOOKS:
            lines = list(self._lines("tail", str(look)))
            for line in reversed(lines):
                kind = (line.get("payload") or {}).get("kind")
                if kind in ("command", "changes", "mixed") or line.get("command_sha256"):
                    return str(line["run_id"])
            if len(lines) < look:
                break
        return None

    def _lines(self, *argv: str) -> Iterator[dict[str, Any]]:
        output = self._call("ch-receipt", [*argv, "--json"], b"")
        for line in output.splitlines():
            yield documents.parse_json(line, "a ledger line")

    def _finish(self, document: Run, captured: Captured | None) -> int:
        """Receipt first, then the block.

        The harness's own text, copied again, stays where it is: the block in it may be the one
        that was never pasted.
        """
        done = self._runner.run("ch-receipt", ["block", "--exit-code"], documents.encode(document))
        if not done.output:
            raise done.failure("ch-receipt")
        own = (
            captured is not None
            and captured.is_copied
            and delivery.is_own(self._state, captured.raw)
        )
        delivered = delivery.deliver(
            done.output,
            self._streams,
            None if own else self._clipboard,
            self._state,
            delivery.kept_block(self._state, document["run_id"]),
        )
        # a receipt that could not be written outweighs whatever it would have said
        if done.code in (problems.SYSTEM, problems.BUSY):
            return done.code
        return delivered or exit_code(document)

    def _step(self, tool: str, argv: list[str], document: Run) -> Run:
        return _document(self._call(tool, argv, documents.encode(document)))

    def _call(self, tool: str, argv: list[str], data: bytes) -> bytes:
        """What a tool wrote.

        Raises Problem of the kind its exit code means, in its own words, when it wrote nothing.
        """
        done = self._runner.run(tool, argv, data)
        if done.code != problems.OK:
            raise done.failure(tool)
        return done.output


def refuse(
    runner: Runner,
    clipboard: Clipboard | None,
    captured: Captured,
    cause: Problem,
    streams: Streams,
) -> int:
    """Deliver the block of a run that could not be recorded: nothing was run, no state is touched.

    Gives the exit code of `cause`.
    """
    parsed = runner.run("ch-parse", ["--cwd", captured.cwd], captured.raw)
    if parsed.code != problems.OK:
        raise parsed.failure("ch-parse")
    document = _document(parsed.output)
    document["problem"] = cause.section("clip-harness")
    block = runner.run("ch-receipt", ["block", "--no-append"], documents.encode(document))
    if block.code != problems.OK:
        raise block.failure("ch-receipt")
    streams.say(f"clip-harness: {problems.sentence(document['problem'])}")
    delivery.deliver(block.output, streams, clipboard)
    return cause.code


def notices(*, context: str | None = None) -> Notices:
    """The `notices` section with what the flow has to say."""
    return {"manifest": None, "context": context, "pending": None, "update": None, "host": None}


def _place(captured: Captured, run_id: str) -> list[str]:
    """What a text is recorded and read under."""
    session = ["--session", captured.session] if captured.session is not None else []
    return ["--run-id", run_id, "--trigger", "explicit", "--cwd", captured.cwd, *session]


def _document(data: bytes) -> Run:
    """The document a tool wrote."""
    return documents.parse_json(data, "a run document")  # type: ignore[no-any-return]


def _runs(document: Run) -> bool:
    """Whether ch-exec will run its command."""
    verdict = document.get("verdict")
    if verdict is None or verdict["decision"] == "deny" or "problem" in document:
        return False
    if document["payload"]["command"] is None or first_waiting(document) is not None:
        return False
    decisions = document.get("decisions", ())
    return all(entry["decision"] not in problems.TURNING_DOWN for entry in decisions)


def first_waiting(document: Run) -> str | None:
    """The candidate of a document that waits for a decision; None when none does."""
    return next(
        (c["candidate_id"] for c in document.get("candidates", ()) if c["status"] == "pending"),
        None,
    )


def _is_untouched(document: Run) -> bool:
    """Whether nothing was changed and nothing waits, so that a stop leaves nothing to tell."""
    return "applied" not in document and first_waiting(document) is None


def stricter(document: Run, judged: Verdict | None) -> Run:
    """`document` with each part under the stricter of its verdict and the one it was staged under.

    Part by part: files are always asked about, and must not lift what was asked of the command.
    """
    verdict = document.get("verdict")
    if judged is None or verdict is None or "problem" in document:
        return document
    before = {(part["kind"], part["subject"]): part for part in judged["parts"]}
    parts = []
    for part in verdict["parts"]:
        old = before.get((part["kind"], part["subject"]), part)
        is_stricter = STRICTNESS.index(old["decision"]) > STRICTNESS.index(part["decision"])
        parts.append(old if is_stricter else part)
    verdict["parts"] = parts
    verdict["decision"] = max((part["decision"] for part in parts), key=STRICTNESS.index)
    return document


def recovered(record: dict[str, Any]) -> str:
    """What a recovered apply or undo came to, in a sentence."""
    paths = ", ".join(entry["path"] for entry in record["entries"])
    what = {"apply": "applying it", "undo": "undoing it"}[record["act"]]
    if record["state"] == "done":
        return f"{what} was cut off after all was done: {paths}"
    note = f"; {record['note']}" if record["note"] is not None else ""
    return f"{what} was cut off, and the files were put back: {paths}{note}"


def _folder_of(record: dict[str, Any]) -> str:
    """A folder that the files of an apply lie in."""
    return os.path.dirname(record["entries"][0]["abs_path"]) if record["entries"] else "/"


def _is_related(one: str | None, other: str) -> bool:
    """Whether one of two folders lies in the other; not where the first is not known."""
    if one is None:
        return False
    first, second = os.path.realpath(one) + "/", os.path.realpath(other) + "/"
    return first.startswith(second) or second.startswith(first)


def _outcome(document: Run) -> str:
    result = document.get("result")
    if result is None:
        return "not run"
    if result["cancelled"]:
        return "cancelled"
    return "done" if result["exit_code"] == 0 else "failed"


def is_run_id(name: str) -> bool:
    """Whether `name` may be a run id, and so the name of a folder."""
    return checker.accepts(name, "run.schema.json#/properties/run_id")


def exit_code(document: Run) -> int:
    """The meta command's answer: 0 done, 1 failed, 2 denied, 3 waits for a person (R209)."""
    verdict = document.get("verdict")
    if "problem" not in document and verdict is not None and verdict["decision"] == "deny":
        return problems.BLOCKED
    result = document.get("result")
    if result is not None and result["cancelled"]:
        return problems.INTERRUPTED
    return problems.answer(document)
