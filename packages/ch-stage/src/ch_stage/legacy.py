"""Candidates that clip-harness 0.3.0 wrote, as manifests of today.

Pure. They lack what 0.3.0 did not keep: permission bits, diffs, the settings and the time. A field
of theirs that this version has no place for is not needed to decide or to apply them.
"""

from __future__ import annotations

from ch_contract.problems import Problem
from ch_contract.quiet_hashlib import hexdigest

from .candidate import CHANGES, COMMAND, FORMAT, change_set_sha256

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ch_contract.messages import CandidateManifest, CandidateManifestEntry

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


def payload(manifest: CandidateManifest) -> bytes | None:
    """The command of such a candidate as a payload again; None when it holds none.

    It is judged anew: 0.3.0 knew neither this gate nor its rules.
    """
    command = manifest["command"]
    if command is None:
        return None
    header = [f"cwd: {manifest['cwd']}"]
    if manifest["session"] is not None:
        header.append(f"session: {manifest['session']}")
    if manifest["timeout"] is not None:
        header.append(f"timeout: {manifest['timeout']}")
    if manifest["writes"]:
        header.append(f"writes: {', '.join(manifest['writes'])}")
    fence = "`" * max(3, _longest_run(command) + 1)
    body = "\n".join([*header, command.removesuffix("\n")])
    return f"{fence}shell\n{body}\n{fence}\n".encode()


def _longest_run(text: str) -> int:
    longest = run = 0
    for sign in text:
        run = run + 1 if sign == "`" else 0
        longest = max(longest, run)
    return longest
