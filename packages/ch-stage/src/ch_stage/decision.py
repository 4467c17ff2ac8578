"""Decisions at rest: each candidate is resolved once, by whoever is first.

A draft is what a prompt, an editor or a file proposes; it becomes the record only if it fits the
candidate. The record is created under a name that must be free, so of two deciders at once one
wins and the other is told who did. The same decision again is a replay and changes nothing.
"""

from __future__ import annotations

import os

from ch_contract import clock, documents, files, places
from ch_contract.problems import Problem
from ch_contract.quiet_hashlib import hexdigest

from . import candidate, grants
from .identity import CHANGES, COMMAND, operation

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ch_contract.messages import (
        CandidateManifest,
        Decision,
        DecisionRecord,
        DecisionRecordEdited,
    )

FORMAT = "clip-harness/decision@1"
SCHEMA = "store/decision-record.schema.json"
ALLOWED = {
    CHANGES: ("accept", "accept-edited", "reject", "cancelled"),
    COMMAND: (
        "accept",
        "accept-unsandboxed",
        "always-allow",
        "allow-for-session",
        "reject",
        "cancelled",
    ),
}
KEYS = frozenset(
    {
        "decision",
        "reason",
        "accepted_files",
        "candidate_id",
        "run_id",
        "session",
        "subject_sha256",
    }
)
REASON_CHARS = 4000


def parse(data: bytes, what: str) -> dict[str, Any]:
    """The draft in `data`; `what` names the source. Raises Problem("document")."""
    draft = documents.parse_json(data, what)
    if not isinstance(draft, dict) or not isinstance(draft.get("decision"), str):
        raise Problem(
            "document",
            f"{what} holds no decision",
            'it is a JSON object such as {"decision": "reject", "reason": "not now"}',
        )
    unknown = sorted(set(draft) - KEYS)
    if unknown:
        raise Problem(
            "document",
            f"{what}: unknown key {unknown[0]!r}",
            f"a decision has the keys {', '.join(sorted(KEYS))}",
        )
    reason, paths = draft.get("reason"), draft.get("accepted_files")
    if reason is not None and (not isinstance(reason, str) or len(reason) > REASON_CHARS):
        raise Problem(
            "document", f"{what}: reason must be a text of at most {REASON_CHARS:,} characters"
        )
    if paths is not None and not (
        isinstance(paths, list) and all(isinstance(path, str) for path in paths)
    ):
        raise Problem("document", f"{what}: accepted_files must be a list of paths")
    return draft


def find(state: str, manifest: CandidateManifest) -> DecisionRecord | None:
    """The recorded decision; None while there is none. Raises as `candidate.find` does."""
    path = _path(state, manifest)
    data = files.read(path, follow=False)
    if data is None:
        return None
    value = documents.parse_json(data, path)
    if isinstance(value, dict) and "format" not in value:
        # 0.3.0 wrote the bare draft
        value = _record(manifest, parse(data, path), "file", [], at=manifest["at"])
    documents.check(value, SCHEMA, path)
    is_meant = (
        value["candidate_id"] == manifest["candidate_id"]
        and value["run_id"] == manifest["run_id"]
        and value["subject_sha256"] == manifest["subject_sha256"]
        and {entry["path"] for entry in manifest["entries"]}.issuperset(
            value["accepted_files"] or ()
        )
    )
    if not is_meant:
        raise Problem(
            "document",
            f"{path} is no decision on {manifest['candidate_id']} as it was staged",
            "nothing was changed; copy the payload again",
        )
    return value  # type: ignore[no-any-return]


def check_ours(state: str, manifest: CandidateManifest) -> None:
    """Refuse to act on a decision that 0.3.0 recorded: nobody can tell whether it was acted on.

    Raises Problem("refused").
    """
    data = files.read(_path(state, manifest), follow=False)
    if data is not None and "format" not in documents.parse_json(data, _path(state, manifest)):
        raise Problem(
            "refused",
            f"the candidate {manifest['candidate_id']} was decided under clip-harness 0.3.0, which"
            " kept no record of what was done then",
            "copy the payload again to have it judged and decided anew",
        )


def _path(state: str, manifest: CandidateManifest) -> str:
    folder = places.candidate_dir(state, manifest["candidate_id"])
    return os.path.join(folder, "decision.json")


def record(
    state: str,
    manifest: CandidateManifest,
    draft: dict[str, Any],
    by: str,
    edited: dict[str, bytes] | None = None,
    *,
    strict_now: bool = False,
) -> DecisionRecord:
    """Resolve the candidate by `draft`; gives the decision in force, new or replayed.

    `edited` maps the paths whose bytes the decider changed to their new bytes. `strict_now` says
    that the setting `shell_sandbox` is strict now, whatever it was at staging.
    Raises Problem("refused") when the draft does not fit or another decision stands, Problem of
    kind "system" when it cannot be written.
    """
    check(manifest, draft, edited or {}, strict_now=strict_now)
    files.sweep(places.candidate_dir(state, manifest["candidate_id"]))
    first = find(state, manifest)
    if first is None and candidate.status(manifest, None) == "expired":
        raise Problem(
            "refused",
            f"the candidate {manifest['candidate_id']} has expired: the process that asked is gone",
            "nothing was changed; ask for it again",
        )
    if first is None:
        kept = _keep_edited(state, manifest, edited or {})
        new = _record(manifest, draft, by, kept, at=clock.now())
        documents.check(new, SCHEMA, "decision.json to write", kind="bug")
        try:
            files.write_once(_path(state, manifest), documents.encode(new))
        except FileExistsError:
            first = find(state, manifest)
        else:
            if new["decision"] == "allow-for-session" and manifest["session"] is not None:
                grants.add(state, manifest["session"], manifest["cwd"], manifest["command"] or "")
            return new
    if first is None:
        raise Problem("system", f"{_path(state, manifest)} came and went", "try again")
    if _meaning(first) != _meaning(_record(manifest, draft, by, [], at=first["at"]), edited or {}):
        raise Problem(
            "refused",
            f"the candidate {manifest['candidate_id']} was decided already:"
            f" {first['decision']}, at {first['at']} by {first['by']} (process {first['pid']})",
            "that decision stands; copy the payload again to decide anew",
        )
    return first


def _meaning(found: DecisionRecord, edited: dict[str, bytes] | None = None) -> list[object]:
    """What makes two decisions the same: not who recorded it, nor when."""
    paths = found["accepted_files"]
    bytes_of = {entry["path"]: entry["candidate_sha256"] for entry in found["edited"]}
    bytes_of |= {path: hexdigest(data) for path, data in (edited or {}).items()}
    return [
        found["decision"],
        found["reason"],
        None if paths is None else sorted(set(paths)),
        bytes_of,
    ]


def check(
    manifest: CandidateManifest,
    draft: dict[str, Any],
    edited: dict[str, bytes],
    *,
    strict_now: bool,
) -> None:
    """Refuse a draft that is not for this candidate. Pure. Raises Problem("refused")."""
    name, kind, decided = manifest["candidate_id"], manifest["kind"], draft["decision"]
    for key in ("candidate_id", "run_id", "session", "subject_sha256"):
        meant = draft.get(key)
        if meant is not None and meant != manifest[key]:
            raise Problem(
                "refused",
                f"the decision is for another {key.replace('_', ' ')}: it names {meant},"
                f" the candidate {name} has {manifest[key]}",
                "nothing was decided; look at the candidate, then decide on it",
            )
    allowed = ALLOWED[kind]
    if decided not in allowed:
        what = "a command" if kind == COMMAND else "file changes"
        raise Problem(
            "refused",
            f"{decided!r} is no decision for {what}",
            f"it is one of: {', '.join(allowed)}",
        )
    check_sandbox(manifest, decided, strict_now=strict_now)
    if decided == "allow-for-session" and manifest["session"] is None:
        raise Problem(
            "refused",
            "the command is bound to no session that it could be allowed for",
            "accept it once, or always",
        )
    paths = draft.get("accepted_files")
    if paths is not None:
        _check_paths(manifest, paths, decided)
    if bool(edited) != (decided == "accept-edited"):
        raise Problem(
            "refused",
            f"{decided} takes no edited files" if edited else "accept-edited needs edited files",
            "accept them as they are, or edit them first",
        )


def check_sandbox(manifest: CandidateManifest, decided: str, *, strict_now: bool) -> None:
    """Refuse what a strict sandbox forbids: when it is decided, and again when it is acted on.

    Strict is strict if it was when the command was staged, or is now. Pure. Raises
    Problem("refused").
    """
    if decided == "accept-unsandboxed" and (strict_now or manifest["shell_sandbox"] == "strict"):
        raise Problem(
            "refused",
            "shell_sandbox is strict, so nothing may run unsandboxed",
            "accept it sandboxed, or reject it",
        )


def _check_paths(manifest: CandidateManifest, paths: list[str], decided: str) -> None:
    known = [entry["path"] for entry in manifest["entries"]]
    if decided not in ("accept", "accept-edited"):
        raise Problem("refused", f"{decided} takes no accepted_files", "leave them out")
    if not paths:
        raise Problem("refused", "accepted_files is empty", "reject the candidate instead")
    for path in paths:
        if path not in known:
            raise Problem(
                "refused",
                f"accepted_files names {path}, which the candidate does not change",
                f"it changes: {', '.join(known) or 'no file'}",
            )


def _keep_edited(
    state: str, manifest: CandidateManifest, edited: dict[str, bytes]
) -> list[DecisionRecordEdited]:
    """Keep edited bytes beside the proposed ones; they count only once the decision names them."""
    if not edited:
        return []
    from .diff import diffs

    folder = places.candidate_dir(state, manifest["candidate_id"])
    found: list[tuple[int, str, bytes | None, bytes]] = []
    for number, entry in enumerate(manifest["entries"], 1):
        if entry["path"] in edited:
            snapshot = entry["snapshot_file"]
            base = None if snapshot is None else candidate.contents(state, manifest, snapshot)
            found.append((number, entry["path"], base, edited[entry["path"]]))
    shown = diffs([(path, base, new) for _number, path, base, new in found])
    kept: list[DecisionRecordEdited] = []
    files.private_folder(os.path.join(folder, "edited"))
    for (number, path, base, new), (diff, added, removed) in zip(found, shown, strict=True):
        entry_file = _kept_under_a_new_name(folder, number, new)
        diff_file = f"{entry_file}.diff"
        files.write_new(os.path.join(folder, diff_file), diff)
        kept.append(
            {
                "path": path,
                "actual_op": operation(base, new),
                "candidate_sha256": hexdigest(new),
                "lines_added": added,
                "lines_removed": removed,
                "candidate_file": entry_file,
                "diff_file": diff_file,
            }
        )
    return kept


def _kept_under_a_new_name(folder: str, number: int, data: bytes) -> str:
    """Keep `data` under a name that nothing has: two deciders at once have each their own."""
    while True:
        name = f"edited/{int.from_bytes(os.urandom(2)) % 900 * 1000 + number}"
        try:
            files.write_new(os.path.join(folder, name), data)
        except FileExistsError:
            continue
        return name


def _record(
    manifest: CandidateManifest,
    draft: dict[str, Any],
    by: str,
    edited: list[DecisionRecordEdited],
    *,
    at: str,
) -> DecisionRecord:
    paths = draft.get("accepted_files")
    return {
        "format": FORMAT,
        "candidate_id": manifest["candidate_id"],
        "run_id": manifest["run_id"],
        "session": manifest["session"],
        "decision": draft["decision"],
        "reason": draft.get("reason") or None,
        "accepted_files": list(dict.fromkeys(paths)) if paths is not None else None,
        "subject_sha256": manifest["subject_sha256"],
        "by": by,
        "at": at,
        "pid": os.getpid(),
        "edited": edited,
    }


def section(found: DecisionRecord) -> Decision:
    """The decision as a run document carries it."""
    return {
        "candidate_id": found["candidate_id"],
        "decision": found["decision"],
        "reason": found["reason"],
        "accepted_files": found["accepted_files"],
        "subject_sha256": found["subject_sha256"],
        "by": found["by"],
        "at": found["at"],
    }
