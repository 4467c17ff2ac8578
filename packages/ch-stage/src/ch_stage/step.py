"""The pipe step: what of a judged document needs a decision, and what is done once it has one.

Files come first. A held command of the same payload becomes a candidate only when they have been
applied, so that nobody decides on a command whose files are still open. Called again with the same
document it finds what it made before and goes on from there.
"""

from __future__ import annotations

import os

from ch_contract import places, settings
from ch_contract.problems import TURNING_DOWN, Problem

from . import apply, candidate, decision, grants, transaction
from .identity import CHANGES, COMMAND, candidate_id

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ch_contract.messages import CandidateManifest, DecisionRecord, Run


def stage(document: Run, drafts: dict[str, dict[str, Any]]) -> None:
    """Add `candidates`, `decisions` and, once changes were accepted, `applied`.

    `drafts` holds a decision by the kind of candidate it is for. Raises Problem for changes that
    cannot be staged, a decision that does not fit, files that are not what they were, a disk that
    would not take it. What is known by then stands in the document all the same.
    """
    document["candidates"] = []
    document["decisions"] = []
    state = places.state_dir()
    values = settings.load(document["cwd"], document["project"])
    waits = _is_held(document) or _found(state, document, COMMAND) is not None
    _check_drafts(drafts, has_changes=bool(document["payload"]["changes"]), has_command=waits)
    if document["payload"]["changes"]:
        manifest = _changes(document, values)
        decided = _decided(document, manifest, drafts, values)
        if decided is None or decided["decision"] in TURNING_DOWN:
            return
        if "applied" not in document:
            _apply(document, manifest, decided)
        elif document["applied"]["rolled_back"]:
            return
    # one that waited once is decided on, also where the gate would let it pass by now
    if waits:
        manifest = _command(document, values)
        decided = _decided(document, manifest, drafts, values)
        if decided is not None and decided["decision"] not in TURNING_DOWN:
            apply.hand_over(state, manifest)


def _check_drafts(
    drafts: dict[str, dict[str, Any]], *, has_changes: bool, has_command: bool
) -> None:
    """Refuse a decision on what does not wait for one: nobody's "reject" is passed over.

    Raises Problem("refused").
    """
    for kind, is_there, what in (
        (CHANGES, has_changes, "file change"),
        (COMMAND, has_command, "command"),
    ):
        if kind in drafts and not is_there:
            raise Problem(
                "refused",
                f"there is a decision on a {what}, and no {what} waits for one",
                "nothing was changed and nothing was run; leave that decision out",
            )
        if drafts.get(kind, {}).get("decision") == "always-allow":
            raise Problem(
                "refused",
                "always-allow is given in a review at the terminal, which keeps the entry",
                "nothing was run; use: clip-harness candidate review",
            )


def _changes(document: Run, values: settings.Settings) -> CandidateManifest:
    """The candidate of the document's changes, staged now unless it was."""
    state = places.state_dir()
    found = _found(state, document, CHANGES)
    if found is not None:
        return found
    from .staging import stage as staged

    changes = [dict(change) for change in document["payload"]["changes"]]
    items = staged(changes, document["cwd"], document["project"])
    return candidate.stage_changes(
        state,
        document,
        items,
        protected=carve_outs(document, values),
        shell_sandbox=values["shell_sandbox"],
    )


def _command(document: Run, values: settings.Settings) -> CandidateManifest:
    """The candidate of the document's held command, staged now unless it was."""
    state = places.state_dir()
    found = _found(state, document, COMMAND)
    if found is not None:
        return found
    command = document["payload"]["command"]
    reason = next(
        (
            part["reason"]
            for part in document["verdict"]["parts"]
            if part["kind"] == "command" and part["subject"] == command
        ),
        None,
    )
    return candidate.stage_command(
        state,
        document,
        reason=reason,
        protected=carve_outs(document, values),
        shell_sandbox=values["shell_sandbox"],
    )


def _found(state: str, document: Run, kind: str) -> CandidateManifest | None:
    """The candidate that was made of this document before; None when there is none.

    Raises Problem("refused") when one of this run was made of another text: run ids are no secret.
    """
    run_id = document["run_id"]
    found = candidate.find(state, candidate_id(run_id, kind))
    if found is None:
        # 0.3.0 named a candidate after its run alone
        found = candidate.find(state, run_id)
    if found is None or found["kind"] != kind:
        return None
    same = (
        found["captured_sha256"] == document["captured"]["sha256"]
        and found["cwd"] == document["cwd"]
        and found["command"] == document["payload"]["command"]
    )
    if not same:
        raise Problem(
            "refused",
            f"the run {run_id} has a candidate that was made of another text",
            "nothing was changed; copy the payload again: a new run has a candidate of its own",
        )
    return found


def _is_held(document: Run) -> bool:
    """Whether the document's command waits for a person."""
    command = document["payload"]["command"]
    parts = [
        part
        for part in document["verdict"]["parts"]
        if part["kind"] == "command" and part["subject"] == command
    ]
    return (
        bool(parts)
        and all(part["reviewable"] for part in parts)
        and any(part["decision"] == "ask" for part in parts)
    )


def _decided(
    document: Run,
    manifest: CandidateManifest,
    drafts: dict[str, dict[str, Any]],
    values: settings.Settings,
) -> DecisionRecord | None:
    """The decision on a candidate, recorded now if a draft or a grant gives one."""
    state = places.state_dir()
    draft = drafts.pop(manifest["kind"], None)
    found = decision.find(state, manifest)
    is_strict = values["shell_sandbox"] == "strict"
    if draft is not None:
        found = decision.record(state, manifest, draft, "file", strict_now=is_strict)
    elif found is None and _is_granted(state, manifest):
        found = decision.record(state, manifest, {"decision": "allow-for-session"}, "grant")
    document["candidates"].append(candidate.section(state, manifest, found))
    if found is not None:
        decision.check_ours(state, manifest)
        decision.check_sandbox(manifest, found["decision"], strict_now=is_strict)
        document["decisions"].append(decision.section(found))
    return found


def _is_granted(state: str, manifest: CandidateManifest) -> bool:
    session = manifest["session"]
    return (
        manifest["kind"] == COMMAND
        and session is not None
        and grants.key(manifest["cwd"], manifest["command"] or "") in grants.read(state, session)
    )


def _apply(document: Run, manifest: CandidateManifest, decided: DecisionRecord) -> None:
    """Apply the accepted changes; what a failure left as it was is told file by file.

    Where they were applied before, and the command of the same payload still waits, the run goes
    on from there.
    """
    state = places.state_dir()
    first = candidate.outcome(state, manifest["candidate_id"])
    is_done = first is not None and first["state"] == "done"
    if first is not None and is_done and _found(state, document, COMMAND) is not None:
        undone = candidate.outcome(state, manifest["candidate_id"], "undo")
        if undone is not None and undone["state"] == "done":
            raise Problem(
                "refused",
                f"the files of this run were put back at {undone['at']}, so its command is not run",
                "send the command alone if it may run without them",
            )
        document["applied"] = apply.section(first)
        return
    if first is not None and is_done:
        # what became of the files is told, whoever did it
        document["applied"] = apply.section(first)
    try:
        document["applied"] = apply.apply(state, manifest, decided)
    except Problem as problem:
        if isinstance(problem, transaction.Stale) or problem.kind == "system":
            document["applied"] = apply.failed(manifest, decided)
        raise


def carve_outs(document: Run, values: settings.Settings) -> list[str]:
    """What no accept opens: the harness's own folders, git's hooks and settings, protected paths.

    A sandbox denies writing them whatever a payload declares (R138).
    """
    cwd = document["cwd"]
    root = document["project"] or cwd
    own = [
        os.path.join(root, ".git", "hooks"),
        os.path.join(root, ".git", "config"),
        os.path.join(root, ".clip-harness"),
        os.path.join(cwd, ".git", "hooks"),
        os.path.join(cwd, ".git", "config"),
        os.path.join(cwd, ".clip-harness"),
        places.config_dir(),
        places.state_dir(),
        *values["protected_paths"],
    ]
    return list(dict.fromkeys(own))
