"""The ledger: append-only lines, each with the hash of the line before, and a head beside them.

Decides where the next line goes and what a damaged end means; leaves what a line says to
receipt.py, and the judgement over the whole file to verify.py.

An append writes its lines in one synced step and then replaces `ledger.head`, both under
`ledger.lock`. So a head that is behind the file by exactly one append is a crash between the two
steps, and half a line behind the head's is a crash within the first: it was never acknowledged to
anybody and is taken off again, and a line says so. Anything else is damage. It is neither mended
nor hidden: the chain goes on from what is there, behind a line that records what was found.

Neither append nor tail reads more than the end of the file. Readers take no lock.
"""

from __future__ import annotations

import contextlib
import json
import os

from ch_contract import checker, clock, documents, files, places
from ch_contract.problems import Problem, refusal
from ch_contract.quiet_hashlib import hexdigest, sha256

from .receipt import END_EVENTS, RESUMED, entry

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from ch_contract.messages import Receipt

    Line = dict[str, Any]

LINE_LIMIT = 16 * 1024
# The line that the head names, two or three lines of one append, and half of another.
END_WINDOW = 6 * LINE_LIMIT
CHUNK = 1024 * 1024
FIRST_CHUNK = 8 * 1024  # most callers want a few lines
ZEROS = "0" * 64
OWN_EVENTS = ("LedgerOpened", "LedgerRepaired", "LedgerBroken")
EARLIER = "receipts.jsonl"


class Head:
    """The last line of a ledger: its number, its hash, and the bytes up to its end."""

    __slots__ = ("seq", "sha256", "size")

    def __init__(self, seq: int, sha256: str, size: int) -> None:
        self.seq = seq
        self.sha256 = sha256
        self.size = size


class Ending:
    """Where the next line goes: behind `last`, after bytes `removed` were taken off."""

    __slots__ = ("damage", "last", "removed", "unfinished")

    def __init__(
        self,
        last: Head,
        damage: str | None = None,
        *,
        removed: bytes = b"",
        unfinished: bool = False,
    ) -> None:
        self.last = last
        self.damage = damage
        self.removed = removed
        self.unfinished = unfinished


def ledger_path(state: str) -> str:
    """The ledger of a state folder."""
    return places.ledger(state)


def head_path(state: str) -> str:
    """The head beside the ledger."""
    return os.path.join(state, "ledger.head")


def lock_path(state: str) -> str:
    """The lock of ledger and head."""
    return places.ledger_lock(state)


def append(state: str, line: Line, *, once: bool = False) -> Receipt:
    """Append `line`, durably; gives where it stands.

    With `once`, an end receipt that stands among the last lines already, said of the same run in
    the same words, is not written again: somebody tries again what only failed to be told.
    Raises Problem("system") when it cannot be written (the ledger is as it was), Problem("busy")
    when the lock cannot be had.
    """
    files.private_folder(state)
    with files.lock(lock_path(state)):
        return append_locked(state, line, once=once)


def append_locked(state: str, line: Line, *, once: bool = False) -> Receipt:
    """`append` for a caller that holds the ledger's lock."""
    path = ledger_path(state)
    head = read_head(state)
    size, window = _end(path, head)
    ending = assess(head, size, window)
    if ending.damage in (None, "half-line") and ending.last.seq > (head.seq if head else 0):
        # else a second crash in a row would leave two appends behind the head, which is damage;
        # the crash may have come before the line was synced
        files.append(path, b"")
        _replace_head(state, ending.last)
    standing = _standing(window, line) if once and ending.damage is None else None
    if standing is not None:
        return standing
    found = size - len(ending.removed)
    added = _own_lines(state, ending, head, size)
    seq, prev = ending.last.seq, ending.last.sha256
    data = b"\n" if ending.unfinished else b""
    for fields in [*added, line]:
        seq += 1
        receipt: Receipt = {"seq": seq, "prev": prev, "sha256": ""}
        encoded = _encode(fields, seq, prev)
        prev = receipt["sha256"] = hexdigest(encoded[:-1])
        data += encoded
    end = files.append(path, data, at=found if ending.removed else None)
    try:
        _replace_head(state, Head(seq, prev, end))
    except Problem:
        after = read_head(state)
        if after is None or after.seq != seq:
            # never acknowledged: without it a second try would write the line twice
            with contextlib.suppress(Problem):
                files.append(path, ending.removed, at=found)
        raise
    return receipt


def _standing(window: bytes, line: Line) -> Receipt | None:
    """Where `line` stands already among the lines that end in `window`; None if it does not."""
    run_id = str(line["run_id"]).encode()
    for raw in reversed(window.split(b"\n")[:-1]):
        found = parse(raw) if run_id in raw else None
        if found is not None and found["event"] == RESUMED and found["run_id"] == line["run_id"]:
            # it went on after what stands before this
            return None
        if found is None or found["event"] not in END_EVENTS:
            continue
        if {**found, "at": line["at"]} == {**found, **line}:
            return {"seq": found["seq"], "prev": found["prev"], "sha256": hexdigest(raw)}
    return None


def _encode(fields: Line, seq: int, prev: str) -> bytes:
    line = {"format": "clip-harness/receipt@1", "seq": seq, "prev": prev, **fields}
    documents.check(line, "store/ledger-line.schema.json", "ledger line to write", kind="bug")
    encoded = documents.encode(line)
    if len(encoded) > LINE_LIMIT:
        raise Problem("bug", f"a ledger line of {len(encoded):,} bytes is too long")
    return encoded


def check(line: Line, what: str, kind: str) -> None:
    """Refuse `line` as `append` would, before anything is written.

    Raises Problem(kind); `what` names where the line came from.
    """
    placed = {"format": "clip-harness/receipt@1", "seq": 1, "prev": ZEROS, **line}
    documents.check(placed, "store/ledger-line.schema.json", what, kind=kind)


def _own_lines(state: str, ending: Ending, head: Head | None, size: int) -> list[Line]:
    """What the ledger has to say about itself before the next line."""
    at = clock.now()
    lines = []
    if ending.last.size == 0:
        lines.append(entry("LedgerOpened", at, pinned=pin(state)))
    if ending.damage is not None:
        damage = {
            "kind": ending.damage,
            "head_seq": head.seq if head is not None else None,
            "head_sha256": head.sha256 if head is not None else None,
            "head_size": head.size if head is not None else None,
            "size": size,
            "removed_bytes": len(ending.removed),
            "removed_sha256": hexdigest(ending.removed) if ending.removed else None,
        }
        event = "LedgerRepaired" if ending.damage == "half-line" else "LedgerBroken"
        lines.append(entry(event, at, damage=damage))
    return lines


def pin(state: str) -> dict[str, Any] | None:
    """Name, hash and size of the ledger an earlier version left here; None when there is none."""
    digest = sha256()
    size = 0
    path = os.path.join(state, EARLIER)
    try:
        with files.open_regular(path) as file:
            while data := file.read(CHUNK):
                digest.update(data)
                size += len(data)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise refusal(error, "read", path) from None
    return {"path": EARLIER, "sha256": digest.hexdigest(), "bytes": size}


def read_head(state: str) -> Head | None:
    """The head; None when there is none or it cannot be understood."""
    data = files.read(head_path(state), LINE_LIMIT, follow=False)
    if data is None:
        return None
    try:
        value = documents.parse_json(data, "ledger.head")
        documents.check(value, "store/ledger-head.schema.json", "ledger.head")
    except Problem:
        return None
    return Head(value["seq"], value["sha256"], value["size"])


def _replace_head(state: str, head: Head) -> None:
    value = {
        "format": "clip-harness/ledger-head@1",
        "seq": head.seq,
        "sha256": head.sha256,
        "size": head.size,
    }
    files.write_atomic(head_path(state), documents.encode(value))


def _end(path: str, head: Head | None) -> tuple[int, bytes]:
    """Size of the ledger and its last bytes: one line where the head fits, more where not."""
    try:
        with files.open_regular(path) as file:
            size = os.fstat(file.fileno()).st_size
            wanted = LINE_LIMIT + 1 if head is not None and head.size == size else END_WINDOW
            file.seek(max(0, size - wanted))
            return size, file.read(wanted)
    except FileNotFoundError:
        return 0, b""
    except OSError as error:
        raise refusal(error, "read", path) from None


def assess(head: Head | None, size: int, window: bytes) -> Ending:
    """Where a ledger of `size` bytes that ends in `window` goes on.

    Pure. `window` is the whole file when it is no longer than that.
    """
    whole, newline, rest = window.rpartition(b"\n")
    complete = size - len(rest)
    lines = whole.split(b"\n") if newline else []
    if lines and len(window) < size:
        del lines[0]  # its beginning lies before the window
    acknowledged = head if head is not None else Head(0, ZEROS, 0)
    behind = _lines_after(acknowledged.size, complete, lines)
    if complete < acknowledged.size:
        kind = "cut-tail"
    elif behind is None or not _ends_as(acknowledged, lines[: len(lines) - len(behind)]):
        kind = "changed-tail" if head is not None else "lost-head"
    elif not is_one_append(behind, acknowledged):
        kind = "unknown-lines" if head is not None else "lost-head"
    elif len(rest) >= 2 * LINE_LIMIT:
        kind = "unknown-lines"
    else:
        last = acknowledged
        if behind:
            last = Head(acknowledged.seq + len(behind), hexdigest(behind[-1]), complete)
        return Ending(last, "half-line" if rest else None, removed=rest)
    if rest:
        lines.append(rest)
    sha = hexdigest(lines[-1]) if lines else ZEROS
    seq = _number_of_last(lines, head)
    return Ending(Head(seq, sha, size), kind, unfinished=bool(rest))


def _lines_after(offset: int, complete: int, lines: list[bytes]) -> list[bytes] | None:
    """Those of `lines`, which end at byte `complete`, that begin at `offset` or later.

    None when no line begins there, or it lies before them.
    """
    start = complete
    for count in range(len(lines) + 1):
        if start == offset:
            return lines[len(lines) - count :]
        if start < offset or count == len(lines):
            break
        start -= len(lines[-1 - count]) + 1
    return None


def _ends_as(head: Head, lines: list[bytes]) -> bool:
    """Whether the last of `lines` is the one that `head` names."""
    if head.seq == 0:
        return not lines
    return bool(lines) and hexdigest(lines[-1]) == head.sha256


def is_one_append(lines: list[bytes], head: Head) -> bool:
    """Whether `lines` are what a single append may have put behind `head`."""
    seq, prev = head.seq, head.sha256
    for number, raw in enumerate(lines, 1):
        line = parse(raw)
        seq += 1
        if line is None or line["seq"] != seq or line["prev"] != prev:
            return False
        if number < len(lines) and line["event"] not in OWN_EVENTS:
            # a crash may also have cut the append off behind its first line
            return False
        prev = hexdigest(raw)
    return True


def _number_of_last(lines: list[bytes], head: Head | None) -> int:
    """The number of the last line, by the nearest line that can be read."""
    for count, raw in enumerate(reversed(lines)):
        line = parse(raw)
        if line is not None:
            return int(line["seq"]) + count
    return head.seq if head is not None else len(lines)


def parse(raw: bytes) -> Line | None:
    """The ledger line in `raw`; None when it is none."""
    try:
        line = json.loads(raw.decode("utf-8"))
    except (ValueError, RecursionError):
        return None
    if not isinstance(line, dict) or line.get("format") != "clip-harness/receipt@1":
        return None
    if type(line.get("seq")) is not int:
        return None
    if not isinstance(line.get("prev"), str) or not isinstance(line.get("event"), str):
        return None
    return line


def understood(raw: bytes) -> Line | None:
    """The ledger line in `raw` if every field of it is as it was once written; None when not.

    Whoever shows a line or looks for what it names asks for this: nothing in it surprises.
    """
    try:
        line = documents.parse_json(raw, "ledger line", 2 * LINE_LIMIT)
    except Problem:
        return None
    return line if checker.accepts(line, "store/ledger-line.schema.json") else None


def backwards(path: str) -> Iterator[bytes]:
    """The lines of the file `path` from the last to the first, without their newlines.

    Half a line at the end is left out. Memory stays within two chunks and a line.
    """
    try:
        with files.open_regular(path) as file:
            position = os.fstat(file.fileno()).st_size
            size = FIRST_CHUNK
            carried = b""
            is_ended = False
            while position > 0:
                count = min(size, position)
                size = min(2 * size, CHUNK)
                position -= count
                file.seek(position)
                data = file.read(count) + carried
                if not is_ended:
                    data, newline, _ = data.rpartition(b"\n")
                    if not newline:
                        carried = b""
                        continue
                    is_ended = True
                carried, *lines = data.split(b"\n")
                yield from reversed(lines)
            if is_ended:
                yield carried
    except FileNotFoundError:
        return
    except OSError as error:
        raise refusal(error, "read", path) from None


def forwards(path: str, start: int = 0) -> Iterator[bytes]:
    """The lines of the file `path` from the first on, without their newlines.

    With `start`, the lines that begin at that byte or later; all, if the file is not as long.
    Half a line at the end is left out.
    """
    try:
        with files.open_regular(path) as file:
            if 0 < start <= os.fstat(file.fileno()).st_size:
                file.seek(start - 1)
                file.readline()
            for raw in file:
                if raw.endswith(b"\n"):
                    yield raw[:-1]
    except FileNotFoundError:
        return
    except OSError as error:
        raise refusal(error, "read", path) from None
