"""Staging: what each proposed change would make of the file that stands there now.

Nothing is written where it could be seen. All changes of a payload are looked at before any is
accepted, so one that cannot be staged stops them all.
"""

from __future__ import annotations

from .diff import diffs
from .edit import edited
from .identity import operation
from .patch import patched
from .targets import LIMIT_BYTES, Folder, Target, check_apart, refused

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    # an entry of the payload's `changes`, whichever of its three kinds
    Change = dict[str, Any]

DECLARED = {"create": ("NEW",), "update": ("UPDATE", "NO-CHANGE"), "delete": ("DELETE",)}


class Staged:
    """One change, staged: the file as it is, as it would be, and the difference.

    `path` is relative to the working folder, `abs_path` absolute with links above it followed;
    `base` and `base_mode` are None when there is no file, `candidate` is None for a delete;
    `diff` is the whole unified diff.
    """

    __slots__ = (
        "abs_path",
        "actual_op",
        "base",
        "base_mode",
        "candidate",
        "declared_op",
        "diff",
        "lines_added",
        "lines_removed",
        "mismatch",
        "path",
    )

    def __init__(
        self,
        *,
        path: str,
        abs_path: str,
        declared_op: str,
        actual_op: str,
        mismatch: bool,
        base: bytes | None,
        base_mode: int | None,
        candidate: bytes | None,
        lines_added: int,
        lines_removed: int,
        diff: bytes,
    ) -> None:
        self.path = path
        self.abs_path = abs_path
        self.declared_op = declared_op
        self.actual_op = actual_op
        self.mismatch = mismatch
        self.base = base
        self.base_mode = base_mode
        self.candidate = candidate
        self.lines_added = lines_added
        self.lines_removed = lines_removed
        self.diff = diff


def stage(changes: list[Change], cwd: str, project: str | None) -> list[Staged]:
    """Stage the changes of a payload, which are relative to `cwd`.

    Raises Problem("refused") for the first that cannot be, with what to do; Problem("system") when
    a file cannot be read or git cannot be had.
    """
    folder = Folder(cwd, project)
    targets = [folder.target(change["path"]) for change in changes]
    check_apart(targets)
    proposed = [propose(change, target) for change, target in zip(changes, targets, strict=True)]
    shown = diffs(
        [(target.path, target.data, after) for target, after in zip(targets, proposed, strict=True)]
    )
    return [
        _staged(change["op"], target, after, told)
        for change, target, after, told in zip(changes, targets, proposed, shown, strict=True)
    ]


def propose(change: Change, target: Target) -> bytes | None:
    """The bytes that a change makes of a file; None when it deletes it. Raises Problem."""
    try:
        after = _proposed(change, target)
    except UnicodeEncodeError:
        raise refused(
            target.path, "would hold half of a surrogate pair, which is no text"
        ) from None
    if after is not None and len(after) > LIMIT_BYTES:
        raise refused(target.path, f"would be larger than {LIMIT_BYTES:,} bytes")
    return after


def _proposed(change: Change, target: Target) -> bytes | None:
    if "diff" in change:
        return patched(target.path, target.data, change["diff"])
    if "old_string" in change:
        return edited(
            target.path,
            target.data,
            change["old_string"],
            change["new_string"],
            replace_all=change["replace_all"],
        )
    if change["op"] != "delete":
        return str(change["content"] or "").encode("utf-8")
    if target.data is None:
        raise refused(target.path, "does not exist, so it cannot be deleted", "leave it out")
    return None


def _staged(
    declared: str, target: Target, after: bytes | None, told: tuple[bytes, int, int]
) -> Staged:
    actual = operation(target.data, after)
    diff, added, removed = told
    return Staged(
        path=target.path,
        abs_path=target.abs_path,
        declared_op=declared,
        actual_op=actual,
        mismatch=declared in DECLARED and actual not in DECLARED[declared],
        base=target.data,
        base_mode=target.mode,
        candidate=after,
        lines_added=added,
        lines_removed=removed,
        diff=diff,
    )
