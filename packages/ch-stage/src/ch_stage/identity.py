"""How a candidate is named, and by what hash a decision means it.

Pure. The words are those of the documents: kinds, operations, formats.
"""

from __future__ import annotations

import re

from ch_contract import documents
from ch_contract.problems import Problem
from ch_contract.quiet_hashlib import hexdigest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ch_contract.messages import CandidateManifestEntry

FORMAT = "clip-harness/candidate@1"
CHANGES, COMMAND = "changes", "command"
SUFFIX = {CHANGES: "-files", COMMAND: "-command"}
LIST_HINT = "list what waits with: clip-harness candidate list"
_ID = re.compile(r"r-[0-9a-f]{8,32}(?:-files|-command)?")


def candidate_id(run_id: str, kind: str) -> str:
    """The name of the candidate of a run: a run has at most one of each kind."""
    return run_id + SUFFIX[kind]


def is_id(name: str) -> bool:
    """Whether `name` may be a candidate's; 0.3.0 named one after its run alone."""
    return _ID.fullmatch(name) is not None


def check_id(name: str) -> str:
    """`name`, which is a candidate id. Raises Problem("usage"): it becomes part of a path."""
    if not is_id(name):
        raise Problem("usage", f"{name!r} is no candidate id", LIST_HINT)
    return name


def operation(base: bytes | None, proposed: bytes | None) -> str:
    """What a change is, compared with the disk: NEW, UPDATE, DELETE or NO-CHANGE."""
    if base == proposed:
        return "NO-CHANGE"
    if base is None:
        return "NEW"
    return "DELETE" if proposed is None else "UPDATE"


def change_set_sha256(entries: list[CandidateManifestEntry]) -> str:
    """The hash that a decision about file changes names: of every path, what it was and becomes."""
    keys = ("path", "actual_op", "base_sha256", "candidate_sha256")
    return hexdigest(documents.encode([[entry[key] for key in keys] for entry in entries]))  # type: ignore[literal-required]  # they are its keys
