"""File changes in the result block: what became of each file, and its diff.

Pure: the diffs come in as text. Each is cut after so many lines or characters, and all of them
together after a budget; the whole diff stays in the candidate's folder, and the line says where.
"""

from __future__ import annotations

from ch_contract.problems import TURNING_DOWN

from .clean import line, visible

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ch_contract.messages import Candidate, CandidateEntry, Run

DIFF_LINES = 80
DIFF_CHARS = 6000
# Of all diffs of a block together; the files themselves are always named.
ALL_CHARS = 40_000
KEPT = frozenset({"NEW", "UPDATED", "DELETED", "NO-CHANGE"})


def files_section(document: Run, diffs: dict[str, str]) -> list[str]:
    """The lines of the section; [] when the document has no file changes that were staged.

    `diffs` maps a path to its unified diff.
    """
    changes = of_changes(document)
    if changes is None:
        return []
    outcomes = _outcomes(document, changes)
    rows = ["files:"]
    left = ALL_CHARS
    for entry in changes["entries"]:
        rows.append(_headline(entry, outcomes.get(entry["path"])))
        shown = _cut(diffs.get(entry["path"], ""), left, entry["diff_path"])
        left -= sum(len(row) + 1 for row in shown)
        rows += shown
    return rows


def of_changes(document: Run) -> Candidate | None:
    """The candidate of file changes; None when there is none."""
    return next((c for c in document.get("candidates", ()) if c["kind"] == "changes"), None)


def _outcomes(document: Run, changes: Candidate) -> dict[str, str]:
    """What became of each file; {} while nobody has decided."""
    applied = document.get("applied")
    if applied is not None:
        return {entry["path"]: entry["outcome"] for entry in applied["entries"]}
    for decision in document.get("decisions", ()):
        is_meant = decision["candidate_id"] == changes["candidate_id"]
        if is_meant and decision["decision"] in TURNING_DOWN:
            return {entry["path"]: "REJECTED" for entry in changes["entries"]}
    # accepted, and a problem came before: what became of the files is not known here
    return {}


def _headline(entry: CandidateEntry, outcome: str | None) -> str:
    """Such as `✓ src/a.py — UPDATED`."""
    path = line(entry["path"])
    if outcome is None:
        counts = f"+{entry['lines_added']} -{entry['lines_removed']}"
        declared = f", declared {entry['declared_op']}" if entry["mismatch"] else ""
        return f"· {path} — {entry['actual_op']} ({counts}{declared})"
    sign = "✓" if outcome in KEPT else "✗"
    return f"{sign} {path} — {outcome}"


def _cut(diff: str, left: int, kept: str | None) -> list[str]:
    """The first lines of a diff, and how many are not shown."""
    rows = visible(diff).removesuffix("\n").split("\n") if diff else []
    shown: list[str] = []
    room = min(DIFF_CHARS, left)
    for row in rows[:DIFF_LINES]:
        room -= len(row) + 1
        if room < 0:
            break
        shown.append(row)
    hidden = len(rows) - len(shown)
    if hidden:
        where = f" — full diff in {line(kept)}" if kept is not None else ""
        shown.append(f"… {hidden} more {'line' if hidden == 1 else 'lines'}{where}")
    return shown
