"""Candidates that clip-harness 0.3.0 wrote, as manifests of today.

Pure. They lack what 0.3.0 did not keep: permission bits, diffs, the settings and the time. A field
of theirs that this version has no place for is not needed to decide or to apply them.
"""

from __future__ import annotations

from ch_contract.problems import Problem
from ch_contract.quiet_hashlib import hexdigest

from .identity import CHANGES, COMMAND, FORMAT, change_set_sha256

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ch_contract.messages import CandidateManifest, CandidateManifestEntry, Run

# 0.3.0 kept no time; this one sorts before every other.
NO_TIME = "1970-01-01T00:00:00+00:00"
NO_DIGEST = "0" * 64


def manifest(old: dict[str, Any], path: str) -> CandidateManifest:
    """The manifest that `old`, read from the file `path`, means.

    Raises Problem("document") when it is none of 0.3.0's.
    """
    try:
        is_command = old.get("kind") == "command"
        entries = [] if is_command else [_entry(entry) for entry in old["entries"]]
        command = old["command"] if is_command else (old.get("shell_command") or None)
        new: CandidateManifest = {
            "format": FORMAT,
            "candidate_id": old["candidate_id"],
            "kind": COMMAND if is_command else CHANGES,
            "run_id": old["run_id"],
            "session": old.get("session_id") or None,
            "trigger": "explicit",
            "host": None,
            "cwd": old["cwd"],
            "project": old["cwd"],
            "timeout": int(old["timeout"]) if old.get("timeout") else None,
            "captured_sha256": old["clipboard_sha256"],
            "command": command,
            "reason": old.get("reason") or None,
            "writes": old.get("writes") or None,
            "protected": [],
            "settings_digest": NO_DIGEST,
            "shell_sandbox": "optional",
            "subject_sha256": NO_DIGEST,
            "entries": entries,
            "at": NO_TIME,
        }
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise Problem(
            "document",
            f"{path} is no manifest of this version, nor of 0.3.0: {error!r}",
            "remove the candidate's folder if nothing in it is needed",
        ) from None
    new["subject_sha256"] = (
        hexdigest((command or "").encode()) if is_command else change_set_sha256(entries)
    )
    return new


def is_of_030(manifest: CandidateManifest) -> bool:
    """Whether 0.3.0 wrote the candidate: it kept no time."""
    return manifest["at"] == NO_TIME


def _entry(old: dict[str, Any]) -> CandidateManifestEntry:
    return {
        "path": old["path"],
        "abs_path": old["abs_path"],
        "declared_op": str(old["declared_op"]).lower(),
        "actual_op": old["actual_op"],
        "mismatch": bool(old["mismatch"]),
        "base_sha256": old["base_hash"],
        "base_mode": None,
        "candidate_sha256": old["candidate_hash"],
        "lines_added": old["lines_added"],
        "lines_removed": old["lines_removed"],
        "candidate_file": _inside(old.get("candidate_file"), "candidates"),
        "snapshot_file": _inside(old.get("snapshot_file"), "snapshots"),
        "diff_file": None,
    }


def _inside(name: str | None, folder: str) -> str | None:
    """A file of the candidate by its name within the folder; 0.3.0 may have written it absolute."""
    return None if not name else f"{folder}/{name.rpartition('/')[2]}"


def document(manifest: CandidateManifest, project: str | None) -> Run:
    """The run document that such a candidate stands for, to be judged anew.

    0.3.0 kept none, and knew neither this gate nor its rules. `project` is the project of its
    folder. What would change is the candidate's own; the document only names the paths.
    """
    is_command = manifest["kind"] == COMMAND
    kind = "command" if is_command else "changes" if manifest["command"] is None else "mixed"
    return {
        "format": "clip-harness/run@1",
        "run_id": manifest["run_id"],
        "cwd": manifest["cwd"],
        "project": project,
        "trigger": "explicit",
        "captured": {"at": manifest["at"], "sha256": manifest["captured_sha256"], "bytes": 0},
        "payload": {
            "kind": kind,
            "form": "fenced",
            "metadata": {
                "session": manifest["session"],
                "action": "run",
                "label": None,
                "cwd": manifest["cwd"],
                "timeout": manifest["timeout"],
                "attend": False,
                "writes": manifest["writes"],
                "goal": None,
                "expect_revision": None,
                "action_id": None,
            },
            "command": manifest["command"],
            "body": None,
            "changes": [
                {
                    "path": entry["path"],
                    "kind": "file",
                    "op": entry["declared_op"],
                    "content": None if entry["actual_op"] == "DELETE" else "",
                }
                for entry in manifest["entries"]
            ],
            "control": None,
            "repairs": [],
            "notes": ["It was staged by clip-harness 0.3.0."],
        },
    }
