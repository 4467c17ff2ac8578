"""Unified diffs of many files by one call of `git diff`.

The files lie in two folders under names of ours, so that no name of theirs and no setting or
attribute of anybody has a say; the headers are then written with their own names.
"""

from __future__ import annotations

import os

from ch_contract import files

from . import isolated


def diffs(changes: list[tuple[str, bytes | None, bytes | None]]) -> list[tuple[bytes, int, int]]:
    """For each (path, old bytes, new bytes): the diff, lines added, lines removed.

    None stands for a file that is not there. Also what is no text is shown line by line: a script
    with a NUL in it runs, and nobody accepts what was not shown. Raises Problem("system") when git
    cannot do it.
    """
    differing = [number for number, (_, old, new) in enumerate(changes) if old != new]
    if not differing:
        return [(b"", 0, 0)] * len(changes)
    with isolated.folder("old", "new") as folder:
        for number in differing:
            for name, data in zip(("old", "new"), changes[number][1:], strict=True):
                if data is not None:
                    files.write_plain(os.path.join(folder, name, f"{number:04d}"), data)
        output = isolated.git(
            folder,
            ["diff", "--no-index", "--text", "--no-color", "--no-ext-diff", "--no-textconv",
             "--no-renames", "--unified=3", "--diff-algorithm=myers", "--", "old", "new"],
            fine=(0, 1),
        )  # fmt: skip
    found = _by_number(output)
    return [
        _told(path, old, new, found.get(number, []))
        for number, (path, old, new) in enumerate(changes)
    ]


def _by_number(output: bytes) -> dict[int, list[bytes]]:
    """The lines of the diff of each file, its git header apart."""
    found: dict[int, list[bytes]] = {}
    rows: list[bytes] = []
    is_body = False
    for line in _lines(output):
        if line.startswith(b"diff --git "):
            rows = found.setdefault(int(line.rstrip(b"\n").rpartition(b"/")[2]), [])
            is_body = False
        elif is_body or line.startswith(b"@@ "):
            is_body = True
            rows.append(line)
    return found


def _lines(data: bytes) -> list[bytes]:
    """Lines that end with a newline and nothing else."""
    rows = [row + b"\n" for row in data.split(b"\n")]
    last = rows.pop()[:-1]
    return [*rows, last] if last else rows


def _told(
    path: str, old: bytes | None, new: bytes | None, rows: list[bytes]
) -> tuple[bytes, int, int]:
    if old == new:
        return b"", 0, 0
    # git puts a tab behind a name with a blank, so that the name's end is seen
    name = path.encode() + (b"\t" if " " in path else b"")
    head = b"--- " + (b"/dev/null" if old is None else b"a/" + name) + b"\n"
    head += b"+++ " + (b"/dev/null" if new is None else b"b/" + name) + b"\n"
    added = sum(row.startswith(b"+") for row in rows)
    removed = sum(row.startswith(b"-") for row in rows)
    return head + b"".join(rows), added, removed
