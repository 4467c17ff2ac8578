"""Candidates at rest: what is proposed, written whole and synced before anyone is asked.

One folder each, named after the run and never after its text. It appears whole or not at all, is
never changed afterwards, and never expires for the clipboard: whoever comes later, after a crash or
a reboot, finds it and may decide. What was decided and what became of it are files of their own
beside the manifest, so where a candidate stands is read off the folder. Candidates of 0.3.0 are
read as they are.
"""

from __future__ import annotations

import os

from ch_contract import clock, documents, files, places, processes
from ch_contract.problems import Problem, refusal
from ch_contract.quiet_hashlib import hexdigest

from .identity import (
    CHANGES,
    COMMAND,
    FORMAT,
    LIST_HINT,
    candidate_id,
    change_set_sha256,
    check_id,
    is_id,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ch_contract.messages import (
        ApplyRecord,
        Candidate,
        CandidateManifest,
        CandidateManifestEntry,
        DecisionRecord,
        Run,
    )

    from .staging import Staged

SCHEMA = "store/candidate-manifest.schema.json"
# What is kept of the run document: the payload and the verdict on it. The rest is made anew.
JUDGED = frozenset(
    {"format", "run_id", "cwd", "project", "trigger", "captured", "payload", "verdict"}
)


def stage_changes(
    state: str, document: Run, staged: list[Staged], *, protected: list[str], shell_sandbox: str
) -> CandidateManifest:
    """Keep proposed file changes; gives the manifest, also that of another process that was first.

    Raises Problem("system") when it cannot be written, Problem("refused") when the run has another
    candidate already.
    """
    entries: list[CandidateManifestEntry] = []
    contents: list[tuple[str, bytes]] = []
    for number, item in enumerate(staged, 1):
        kept = {}
        for key, folder, data in (
            ("candidate_file", "candidates", item.candidate),
            ("snapshot_file", "snapshots", item.base),
            ("diff_file", "diffs", item.diff),
        ):
            suffix = ".diff" if key == "diff_file" else ""
            kept[key] = f"{folder}/{number}{suffix}" if data is not None else None
            if data is not None:
                contents.append((f"{folder}/{number}{suffix}", data))
        entries.append(
            {
                "path": item.path,
                "abs_path": item.abs_path,
                "declared_op": item.declared_op,
                "actual_op": item.actual_op,
                "mismatch": item.mismatch,
                "base_sha256": None if item.base is None else hexdigest(item.base),
                "base_mode": item.base_mode,
                "candidate_sha256": None if item.candidate is None else hexdigest(item.candidate),
                "lines_added": item.lines_added,
                "lines_removed": item.lines_removed,
                "candidate_file": kept["candidate_file"],
                "snapshot_file": kept["snapshot_file"],
                "diff_file": kept["diff_file"],
            }
        )
    manifest = _manifest(document, CHANGES, protected=protected, shell_sandbox=shell_sandbox)
    manifest["entries"] = entries
    manifest["subject_sha256"] = change_set_sha256(entries)
    return _keep(state, manifest, document, contents)


def stage_command(
    state: str, document: Run, *, reason: str | None, protected: list[str], shell_sandbox: str
) -> CandidateManifest:
    """Keep a held command, as `stage_changes` keeps changes."""
    manifest = _manifest(document, COMMAND, protected=protected, shell_sandbox=shell_sandbox)
    manifest["reason"] = reason
    return _keep(state, manifest, document, [])


def _manifest(
    document: Run, kind: str, *, protected: list[str], shell_sandbox: str
) -> CandidateManifest:
    metadata = document["payload"]["metadata"]
    command = document["payload"]["command"]
    return {
        "format": FORMAT,
        "candidate_id": candidate_id(document["run_id"], kind),
        "kind": kind,
        "run_id": document["run_id"],
        "session": metadata["session"],
        "trigger": document["trigger"],
        "host": None,
        "cwd": document["cwd"],
        "project": document["project"],
        "timeout": metadata["timeout"],
        "captured_sha256": document["captured"]["sha256"],
        "command": command,
        "reason": None,
        "writes": metadata["writes"],
        "protected": protected,
        "settings_digest": document["verdict"]["settings"]["digest"],
        "shell_sandbox": shell_sandbox,
        "subject_sha256": hexdigest((command or "").encode()),
        "entries": [],
        "at": clock.now(),
    }


def _keep(
    state: str, manifest: CandidateManifest, document: Run, contents: list[tuple[str, bytes]]
) -> CandidateManifest:
    documents.check(manifest, SCHEMA, "manifest.json to write", kind="bug")
    judged = {
        key: value for key, value in document.items() if key in JUDGED or key.startswith("x-")
    }
    path = places.candidate_dir(state, manifest["candidate_id"])
    sweep(state)
    try:
        with files.folder_once(path) as folder:
            for name in sorted({os.path.dirname(name) for name, _data in contents}):
                files.private_folder(os.path.join(folder, name))
            for name, data in contents:
                files.write_new(os.path.join(folder, name), data, sync=False)
            for name, value in (("document.json", judged), ("manifest.json", manifest)):
                path_of = os.path.join(folder, name)
                files.write_new(path_of, documents.encode(value), sync=False)
            for name in sorted({os.path.dirname(name) for name, _data in contents}):
                files.sync_folder(os.path.join(folder, name))
    except FileExistsError:
        first = load(state, manifest["candidate_id"])
        if first["subject_sha256"] != manifest["subject_sha256"]:
            raise Problem(
                "refused",
                f"the run {manifest['run_id']} has another candidate already, staged {first['at']}",
                "nothing was changed; copy the payload again: a new run has a candidate of its own",
            ) from None
        return first
    return manifest


def find(state: str, name: str) -> CandidateManifest | None:
    """The manifest of the candidate `name`; None when there is none.

    Raises Problem("document") when it cannot be understood, Problem("system") when it cannot be
    read.
    """
    path = os.path.join(places.candidate_dir(state, check_id(name)), "manifest.json")
    data = files.read(path, follow=False)
    if data is None:
        return None
    value = documents.parse_json(data, path)
    if isinstance(value, dict) and "format" not in value:
        from . import legacy

        value = legacy.manifest(value, path)
    documents.check(value, SCHEMA, path)
    if value["candidate_id"] != name:
        raise Problem("document", f"{path} is the manifest of {value['candidate_id']}")
    return value  # type: ignore[no-any-return]


def load(state: str, name: str) -> CandidateManifest:
    """As `find`. Raises Problem("refused") when there is none."""
    manifest = find(state, name)
    if manifest is None:
        raise Problem("refused", f"there is no candidate {name}", LIST_HINT)
    return manifest


def document_of(state: str, manifest: CandidateManifest) -> Run | None:
    """The judged run document that was staged; None for a candidate of 0.3.0."""
    path = os.path.join(places.candidate_dir(state, manifest["candidate_id"]), "document.json")
    return documents.kept(path, "run.schema.json#/$defs/gated")  # type: ignore[no-any-return]


def names(state: str) -> list[str]:
    """Every candidate's id, the oldest run first. Raises Problem("system")."""
    folder = places.candidates(state)
    try:
        found = [name for name in os.listdir(folder) if is_id(name)]
    except FileNotFoundError:
        return []
    except OSError as error:
        raise refusal(error, "read", folder) from None
    # the ids of this version begin with the time; of one run the files come before the command
    return sorted(found, key=lambda name: (name.replace("-files", "-a"), name))


def status(manifest: CandidateManifest, decision: DecisionRecord | None) -> str:
    """Where the candidate stands: pending, resolved, cancelled or expired."""
    if decision is not None:
        return "cancelled" if decision["decision"] == "cancelled" else "resolved"
    host = manifest["host"]
    if host is not None and not processes.is_alive(host["pid"], host["started"]):
        return "expired"
    return "pending"


def contents(state: str, manifest: CandidateManifest, name: str) -> bytes:
    """The bytes of a file of the candidate. Raises Problem("system") when it is gone."""
    path = os.path.join(places.candidate_dir(state, manifest["candidate_id"]), name)
    data = files.read(path, follow=False)
    if data is None:
        raise Problem(
            "system",
            f"{path} is gone, so the candidate is no longer whole",
            "nothing was changed; it can no longer be done from there",
        )
    return data


def section(state: str, manifest: CandidateManifest, decision: DecisionRecord | None) -> Candidate:
    """The candidate as a run document carries it; what the decider edited is told as edited."""
    folder = places.candidate_dir(state, manifest["candidate_id"])
    edited = {entry["path"]: entry for entry in decision["edited"]} if decision is not None else {}
    # each entry with what it is now: as staged, or as the decider edited it
    entries = [(entry, edited.get(entry["path"], entry)) for entry in manifest["entries"]]

    def path_of(name: str | None) -> str | None:
        return None if name is None else os.path.join(folder, name)

    return {
        "candidate_id": manifest["candidate_id"],
        "kind": manifest["kind"],
        "status": status(manifest, decision),
        "dir": folder,
        "entries": [
            {
                "path": entry["path"],
                "declared_op": entry["declared_op"],
                "actual_op": now["actual_op"],
                "mismatch": entry["mismatch"],
                "base_sha256": entry["base_sha256"],
                "candidate_sha256": now["candidate_sha256"],
                "lines_added": now["lines_added"],
                "lines_removed": now["lines_removed"],
                "diff_path": path_of(now["diff_file"]),
            }
            for entry, now in entries
        ],
        "command": manifest["command"] if manifest["kind"] == COMMAND else None,
        "reason": manifest["reason"],
        "writes": manifest["writes"],
        "protected": manifest["protected"],
        "settings_digest": manifest["settings_digest"],
    }


def outcome(state: str, name: str, act: str = "apply") -> ApplyRecord | None:
    """What became of the candidate: the record of its apply (or hand-over), or of its undo.

    None when there is none. Raises Problem as `find` does.
    """
    path = outcome_path(state, name, act)
    return documents.kept(path, "store/apply-record.schema.json")  # type: ignore[no-any-return]


def outcome_path(state: str, name: str, act: str) -> str:
    """The file that says what became of the candidate."""
    file = "undone.json" if act == "undo" else "applied.json"
    return os.path.join(places.candidate_dir(state, name), file)


def sweep(state: str) -> None:
    """Remove what killed writers left among the candidates."""
    files.sweep(places.candidates(state))
