"""Applying what was accepted, and undoing it: from a candidate and its decision to an intent.

Decides what each file becomes. How several files change as one step is transaction.py's.
"""

from __future__ import annotations

import os

from ch_contract import clock, documents, files, places
from ch_contract.problems import TURNING_DOWN, Problem, refusal
from ch_contract.quiet_hashlib import hexdigest

from . import candidate, transaction
from .decision import check_ours
from .identity import change_set_sha256

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from ch_contract.messages import (
        Applied,
        ApplyRecord,
        ApplyRecordEntry,
        CandidateManifest,
        CandidateManifestEntry,
        DecisionRecord,
        DecisionRecordEdited,
    )

FORMAT = "clip-harness/apply@1"
OUTCOME = {"NEW": "NEW", "UPDATE": "UPDATED", "DELETE": "DELETED", "NO-CHANGE": "NO-CHANGE"}
# Whether the lock is free is only asked: who holds it is alive and needs no recovery.
AT_ONCE = 0.0


def apply(state: str, manifest: CandidateManifest, decision: DecisionRecord) -> Applied:
    """Apply the accepted entries of a candidate, all or none.

    Raises Problem("refused") when the decision is no acceptance, or the candidate was applied
    before; transaction.Stale when a file is not what it was; Problem("busy") when another apply
    holds the lock for too long; Problem("system") when the machine would not do it.
    """
    name = manifest["candidate_id"]
    check_ours(state, manifest)
    check_whole(manifest)
    if decision["decision"] in TURNING_DOWN:
        raise Problem("refused", f"the candidate {name} was not accepted: {decision['decision']}")
    files.private_folder(state)
    with files.lock(transaction.lock_path(state)):
        check_unused(state, name)
        record = _intent(manifest, decision)
        after, before = _after(state, manifest), _before(state, manifest)
        return section(transaction.run(state, record, after, before))


def check_whole(manifest: CandidateManifest) -> None:
    """Refuse a candidate whose folder is gone, or that is not what was decided on.

    The files it names are those its paths mean now; the hash that decisions name is of its entries.
    Raises Problem("refused").
    """
    if not os.path.isdir(manifest["cwd"]):
        raise Problem(
            "refused",
            f"the folder {manifest['cwd']} is gone, so nothing of it can be changed",
            "nothing was changed; copy the payload again in the folder it is meant for",
        )
    is_whole = change_set_sha256(manifest["entries"]) == manifest["subject_sha256"]
    for entry in manifest["entries"]:
        meant = os.path.join(os.path.realpath(manifest["cwd"]), entry["path"])
        folder, base = os.path.split(entry["abs_path"])
        above = os.path.dirname(meant)
        # a folder that became a link is told file by file
        is_meant = folder in (above, os.path.realpath(above)) and base == os.path.basename(meant)
        is_whole = is_whole and is_meant
    if not is_whole:
        raise Problem(
            "refused",
            f"the manifest of {manifest['candidate_id']} is not the one that was staged",
            "nothing was changed; copy the payload again",
        )


def check_unused(state: str, name: str) -> None:
    """Refuse a candidate that was applied, or handed over to run, before."""
    first = candidate.outcome(state, name)
    if first is not None and first["state"] == "done":
        what = "handed over to run" if first["act"] == "run" else "applied"
        undone = candidate.outcome(state, name, "undo")
        if undone is not None and undone["state"] == "done":
            what = "applied, and undone,"
        raise Problem(
            "refused",
            f"the candidate {name} was {what} already, at {first['at']} (process {first['pid']})",
            "nothing was done again; copy the payload again to do it once more",
        )


def hand_over(state: str, manifest: CandidateManifest) -> None:
    """Note that the accepted command is about to run; of several processes one may.

    Raises Problem("refused") when it was handed over before, Problem("system") when it cannot be
    noted: then it does not run.
    """
    record = _record(manifest, "run", [], [], [])
    record["state"] = "done"
    documents.check(record, transaction.SCHEMA, "applied.json to write", kind="bug")
    path = candidate.outcome_path(state, manifest["candidate_id"], "apply")
    try:
        files.write_once(path, documents.encode(record))
    except FileExistsError:
        check_unused(state, manifest["candidate_id"])
        raise Problem("bug", f"{path} tells of no hand-over") from None


def undo(state: str, manifest: CandidateManifest, *, hold: bool = False) -> ApplyRecord:
    """Put back what applying the candidate changed; gives the record of the outcome.

    With `hold` the intent stays until `settled`, so that a crash cannot keep it from being told.
    Raises Problem("refused") when it was not applied or was undone before, transaction.Stale when
    a file was changed since, others as `apply` does.
    """
    name = manifest["candidate_id"]
    with files.lock(transaction.lock_path(state)):
        first = candidate.outcome(state, name)
        if first is None or first["state"] != "done" or first["act"] != "apply":
            raise Problem(
                "refused", f"the candidate {name} changed no file, so there is nothing to undo"
            )
        undone = candidate.outcome(state, name, "undo")
        if undone is not None and undone["state"] == "done":
            raise Problem("refused", f"the candidate {name} was undone already, at {undone['at']}")
        record = _inverse(manifest, first)
        after, before = _after(state, manifest), _before(state, manifest)
        try:
            return transaction.run(state, record, after, before, hold=hold)
        except transaction.Stale as stale:
            raise transaction.Stale(
                stale.paths,
                stale.why.replace("staged", "applied"),
                "nothing was undone; put it back by hand, or from version control",
            ) from None


def last_applied(state: str) -> CandidateManifest:
    """The candidate that was applied last and not undone. Raises Problem("refused")."""
    found: list[tuple[str, str]] = []
    for name in candidate.names(state):
        try:
            record = candidate.outcome(state, name)
            undone = candidate.outcome(state, name, "undo")
        except Problem as problem:
            raise Problem(
                problem.kind,
                f"{problem.message} — so nobody can tell which was applied last",
                "name the one that is meant: clip-harness undo ID",
            ) from None
        is_applied = record is not None and record["act"] == "apply" and record["state"] == "done"
        if record is not None and is_applied and (undone is None or undone["state"] != "done"):
            found.append((record["at"], name))
    if not found:
        raise Problem("refused", "nothing was applied that could be undone")
    return candidate.load(state, max(found, key=lambda pair: clock.moment(pair[0]))[1])


def recover(state: str) -> Iterator[tuple[str, ApplyRecord | Problem]]:
    """Bring every apply and undo that was cut off to its end; gives candidate id and outcome.

    For one that cannot be read or settled a Problem is given, and the others are settled all the
    same. Each stays known until `settled`. While another process applies, nothing is done:
    it is alive. Raises Problem("system") when the machine would not do it.
    """
    folder = places.applying(state)
    try:
        names = sorted(os.listdir(folder))
    except FileNotFoundError:
        return
    except OSError as error:
        raise refusal(error, "read", folder) from None
    if not names:
        return
    try:
        with files.lock(transaction.lock_path(state), AT_ONCE):
            files.sweep(folder, 0)
            for name in names:
                meant, _, ending = name.partition(".")
                if not ending.endswith("json"):
                    continue
                try:
                    record = documents.kept(os.path.join(folder, name), transaction.SCHEMA)
                    if record is not None:
                        yield meant, _settled(state, record)
                except Problem as problem:
                    yield meant, problem
    except Problem as problem:
        if problem.kind != "busy":
            raise


def _settled(state: str, record: ApplyRecord) -> ApplyRecord:
    """An intent brought to its end; what its files were comes from the candidate's snapshots."""
    manifest = candidate.load(state, record["candidate_id"])
    return transaction.settle(state, record, _before(state, manifest))


def _before(state: str, manifest: CandidateManifest) -> transaction.Source:
    """Gives the bytes that a file had before, as they were kept."""

    def source(entry: ApplyRecordEntry) -> bytes:
        name = entry["before_file"]
        return candidate.contents(state, manifest, name) if name is not None else b""

    return source


def settled(state: str, name: str) -> None:
    """Forget the ended intents of the candidate `name`: what became of them has been told.

    One that another process has begun meanwhile stays. Raises Problem("system"), Problem("busy").
    """
    with files.lock(transaction.lock_path(state)):
        for act in ("apply", "undo"):
            record = candidate.outcome(state, name, act)
            if record is not None and record["act"] != "run":
                transaction.forget(state, record)


def _record(
    manifest: CandidateManifest,
    act: str,
    entries: list[ApplyRecordEntry],
    made: list[str],
    emptied: list[str],
) -> ApplyRecord:
    return {
        "format": FORMAT,
        "candidate_id": manifest["candidate_id"],
        "run_id": manifest["run_id"],
        "act": act,
        "state": "intent",
        "at": clock.now(),
        "pid": os.getpid(),
        "entries": entries,
        "made": made,
        "emptied": emptied,
        "note": None,
    }


def _intent(manifest: CandidateManifest, decision: DecisionRecord) -> ApplyRecord:
    """What applying is going to do, file by file."""
    accepted = decision["accepted_files"]
    edited = {entry["path"]: entry for entry in decision["edited"]}
    entries = [
        _entry(entry, edited.get(entry["path"]), is_accepted=accepted is None or path in accepted)
        for entry in manifest["entries"]
        for path in [entry["path"]]
    ]
    return _record(manifest, "apply", entries, _missing_folders(entries), [])


def _entry(
    entry: CandidateManifestEntry, edited: DecisionRecordEdited | None, *, is_accepted: bool
) -> ApplyRecordEntry:
    actual = edited["actual_op"] if edited is not None else entry["actual_op"]
    after = edited["candidate_sha256"] if edited is not None else entry["candidate_sha256"]
    outcome = OUTCOME[actual] if is_accepted else "REJECTED"
    mode = transaction.mode_of(entry["abs_path"])
    return {
        "path": entry["path"],
        "abs_path": entry["abs_path"],
        "outcome": outcome,
        "before_sha256": entry["base_sha256"],
        "before_mode": mode,
        "before_file": entry["snapshot_file"],
        "after_sha256": after,
        # permission bits are the user's, as they are now; a new file gets what any new file gets
        "after_mode": mode if outcome == "UPDATED" else None,
        "after_file": (edited or entry)["candidate_file"],
        "temporary": _name_if(outcome in ("NEW", "UPDATED")),
        "backup": _name_if(outcome in ("UPDATED", "DELETED")),
    }


def _name_if(is_needed: bool) -> str | None:
    """A name that appears beside a file while it changes."""
    return files.temporary_name() if is_needed else None


def _inverse(manifest: CandidateManifest, first: ApplyRecord) -> ApplyRecord:
    """What undoing is going to do: each placed file backwards."""
    back = {"NEW": "DELETED", "UPDATED": "UPDATED", "DELETED": "NEW"}
    entries: list[ApplyRecordEntry] = []
    for entry in first["entries"]:
        if entry["outcome"] not in back:
            continue
        outcome = back[entry["outcome"]]
        entries.append(
            {
                "path": entry["path"],
                "abs_path": entry["abs_path"],
                "outcome": outcome,
                "before_sha256": entry["after_sha256"],
                "before_mode": transaction.mode_of(entry["abs_path"]),
                "before_file": entry["after_file"],
                "after_sha256": entry["before_sha256"],
                "after_mode": entry["before_mode"],
                "after_file": entry["before_file"],
                "temporary": _name_if(outcome in ("NEW", "UPDATED")),
                "backup": _name_if(outcome in ("UPDATED", "DELETED")),
            }
        )
    emptied = list(reversed(first["made"]))
    return _record(manifest, "undo", entries, _missing_folders(entries), emptied)


def _missing_folders(entries: list[ApplyRecordEntry]) -> list[str]:
    """The folders that new files need and that are not there, outermost first."""
    missing: set[str] = set()
    for entry in entries:
        folder = os.path.dirname(entry["abs_path"])
        while entry["outcome"] == "NEW" and not os.path.lexists(folder):
            missing.add(folder)
            folder = os.path.dirname(folder)
    return sorted(missing)


def _after(state: str, manifest: CandidateManifest) -> transaction.Source:
    """Gives the bytes an entry becomes, if they are those that were kept for it."""

    def source(entry: ApplyRecordEntry) -> bytes:
        name = entry["after_file"]
        data = candidate.contents(state, manifest, name) if name is not None else b""
        if hexdigest(data) != entry["after_sha256"]:
            raise Problem(
                "system",
                f"the bytes kept for {entry['path']} are no longer those that were shown",
                "nothing was changed; it can no longer be done from there, so copy the payload"
                " again",
            )
        return data

    return source


def section(done: ApplyRecord) -> Applied:
    """What became of the changes, as a run document carries it."""
    is_back = done["state"] != "done"
    return {
        "entries": [
            {
                "path": entry["path"],
                "outcome": _told(entry, is_back=is_back),
                "sha256": _left_sha256(entry, is_back=is_back),
            }
            for entry in done["entries"]
        ],
        "rolled_back": is_back,
    }


def failed(manifest: CandidateManifest, decision: DecisionRecord) -> Applied:
    """The section of an apply that changed nothing."""
    accepted = decision["accepted_files"]
    return {
        "entries": [
            {
                "path": entry["path"],
                "outcome": "FAILED"
                if accepted is None or entry["path"] in accepted
                else "REJECTED",
                "sha256": transaction.live_sha256(entry["abs_path"]) or None,
            }
            for entry in manifest["entries"]
        ],
        "rolled_back": True,
    }


def _told(entry: ApplyRecordEntry, *, is_back: bool) -> str:
    return "FAILED" if is_back and entry["outcome"] != "REJECTED" else entry["outcome"]


def _left_sha256(entry: ApplyRecordEntry, *, is_back: bool) -> str | None:
    """The hash of the file as it is left."""
    is_before = is_back or entry["outcome"] == "REJECTED"
    return entry["before_sha256"] if is_before else entry["after_sha256"]
