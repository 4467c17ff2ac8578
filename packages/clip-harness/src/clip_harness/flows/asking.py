"""Asking the person at the terminal about a candidate, and recording the answer.

What is shown and which key means what is review.py's, the terminal is the prompt's, the decision is
kept by ch-stage. Where nobody can be asked, or nobody answers, nothing is recorded: it waits.
"""

from __future__ import annotations

import contextlib
import os

from ch_contract import documents, files, problems, settings
from ch_contract.problems import Problem
from clip_harness import allowing

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from ch_contract.tool import Streams
    from clip_harness.review import Choice, Subject
    from clip_harness.runners import Runner

# Until a kernel sandbox is there, an acceptance that relies on one cannot run.
HAS_SANDBOX = False


class Asker:
    """Asks at the terminal, over one runner."""

    __slots__ = ("_environment", "_runner", "_stopped", "_streams")

    def __init__(
        self,
        runner: Runner,
        streams: Streams,
        environment: Mapping[str, str],
        stopped: Callable[[], bool] = lambda: False,
    ) -> None:
        self._stopped = stopped
        self._runner = runner
        self._streams = streams
        self._environment = environment

    def can_ask(self) -> bool:
        """Whether a person sits at the terminal."""
        from clip_harness.adapters import prompt

        return prompt.can_ask(self._streams.stderr)

    def decide(self, name: str) -> bool:
        """Ask about the candidate `name` and record the answer; False when it was put off.

        Raises Problem as ch-stage does, and when an always-allow cannot be kept.
        """
        try:
            return self._decide(name)
        except OSError as error:
            # no terminal, or no place for copies: nobody was asked, so it waits
            self._streams.say(f"clip-harness: nobody could be asked: {error.strerror or error}")
            return False

    def _decide(self, name: str) -> bool:
        from clip_harness.adapters import prompt

        told = show(self._runner, name)
        manifest = told["manifest"]
        values = settings.load(manifest["cwd"], manifest["project"])
        is_strict = values["shell_sandbox"] == "strict"
        subject = subject_of(told, is_strict=is_strict, offer=self._offer(manifest))
        choice = prompt.ask(
            subject,
            color=values["color"],
            environment=self._environment,
            stopped=self._stopped,
        )
        try:
            if choice.decision is None:
                return False
            self._record(name, manifest, choice, subject)
        finally:
            if choice.edited is not None:
                _remove_copies(choice.edited)
        return True

    def _offer(self, manifest: dict[str, Any]) -> str | None:
        """The allow-list entry that would allow the command from now on."""
        if manifest["kind"] != "command":
            return None
        argv = ["offer", "--file", "-", "--cwd", manifest["cwd"]]
        done = self._runner.run("ch-gate", argv, manifest["command"].encode())
        return done.output.decode().strip() or None

    def _record(
        self, name: str, manifest: dict[str, Any], choice: Choice, subject: Subject
    ) -> None:
        draft = {
            "decision": choice.decision,
            "reason": choice.reason,
            "accepted_files": choice.accepted_files,
            "subject_sha256": manifest["subject_sha256"],
        }
        decide(self._runner, name, draft, by=choice.by, edited=choice.edited)
        if choice.decision == "always-allow" and subject.offer is not None:
            try:
                allowing.allow(manifest["cwd"], manifest["project"], subject.offer, self._runner)
            except Problem as problem:
                # the decision stands; only the entry for the next time is missing
                section = problem.section("clip-harness")
                self._streams.say(f"clip-harness: {problems.sentence(section)}")


def show(runner: Runner, name: str) -> dict[str, Any]:
    """What ch-stage tells of the candidate `name`. Raises Problem in its words."""
    done = runner.run("ch-stage", ["show", name], b"")
    if done.code != problems.OK:
        raise done.failure("ch-stage")
    return documents.parse_json(done.output, "a candidate")  # type: ignore[no-any-return]


def decide(
    runner: Runner, name: str, draft: dict[str, Any], *, by: str, edited: str | None = None
) -> None:
    """Record a decision. Raises Problem in ch-stage's words."""
    argv = ["decide", name, "--decision-file", "-", "--by", by]
    if edited is not None:
        argv += ["--edited", edited]
    done = runner.run("ch-stage", argv, documents.encode(draft))
    if done.code != problems.OK:
        raise done.failure("ch-stage")


def subject_of(told: dict[str, Any], *, is_strict: bool, offer: str | None) -> Subject:
    """What the prompt shows of a candidate that ch-stage told of."""
    from clip_harness.review import Entry, Subject

    manifest, folder = told["manifest"], told["dir"]
    is_command = manifest["kind"] == "command"
    place = allowing.place(manifest["cwd"], manifest["project"]) if offer is not None else None
    return Subject(
        candidate_id=told["candidate_id"],
        kind=manifest["kind"],
        dir=folder,
        entries=[
            Entry(
                path=entry["path"],
                actual_op=entry["actual_op"],
                declared_op=entry["declared_op"],
                mismatch=entry["mismatch"],
                lines_added=entry["lines_added"],
                lines_removed=entry["lines_removed"],
                diff=diff_of(told, entry),
                diff_path=os.path.join(folder, entry["diff_file"] or ""),
                live_path=entry["abs_path"],
                candidate_path=_path(folder, entry["candidate_file"]),
            )
            for entry in manifest["entries"]
        ],
        command=manifest["command"] if is_command else None,
        cwd=manifest["cwd"],
        session=manifest["session"],
        timeout=manifest["timeout"],
        reason=manifest["reason"],
        writes=manifest["writes"],
        protected=manifest["protected"],
        is_strict=is_strict or manifest["shell_sandbox"] == "strict",
        has_sandbox=HAS_SANDBOX,
        offer=offer,
        offer_place=place,
        notes=_notes(told),
        has_command_after=not is_command and manifest["command"] is not None,
    )


def _notes(told: dict[str, Any]) -> list[str]:
    """What the gate has to say of a path or a command, and which other candidate holds a file."""
    # a candidate of 0.3.0 was judged by another gate, and is judged anew before anything happens
    parts = told["document"].get("verdict", {}).get("parts", [])
    kind = "command" if told["manifest"]["kind"] == "command" else "change"
    notes = [
        f"{part['subject']}: {part['note']}" if kind == "change" else part["note"]
        for part in parts
        if part["kind"] == kind and part["note"] is not None
    ]
    return [*notes, *_held_elsewhere(told)]


def _held_elsewhere(told: dict[str, Any]) -> list[str]:
    """Files that another waiting candidate would change too (R068)."""
    own = {entry["abs_path"]: entry["path"] for entry in told["manifest"]["entries"]}
    return [
        f"{own[path]}: another candidate waits with it, {other['candidate_id']}"
        for other in told["others"]
        for path in other["paths"]
    ]


def _path(folder: str, name: str | None) -> str | None:
    return None if name is None else os.path.join(folder, name)


def diff_of(told: dict[str, Any], entry: dict[str, Any]) -> bytes:
    """The whole diff of a file. Raises Problem("system") when it is gone: it could not be shown."""
    if entry["diff_file"] is None:
        # 0.3.0 kept none; ch-stage has made it
        return str(told["diffs"][entry["path"]]).encode()
    path = os.path.join(told["dir"], entry["diff_file"])
    data = files.read(path, follow=False)
    if data is None:
        raise Problem(
            "system",
            f"{path} is gone, so what would change cannot be shown",
            "reject it, and copy the payload again",
        )
    return data


def _remove_copies(folder: str) -> None:
    """Remove the edited copies: what counts of them is kept with the candidate."""
    import shutil

    with contextlib.suppress(OSError):
        shutil.rmtree(folder)
