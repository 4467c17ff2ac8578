"""Whether the ledger is whole, and which line is the first that is not.

Reads every line once, in constant memory. It is evidence against accidents and edits by programs,
not against an owner who computes the whole chain anew.
"""

from __future__ import annotations

import contextlib
import os

from ch_contract import files
from ch_contract.problems import Problem, refusal
from ch_contract.quiet_hashlib import hexdigest, sha256

from . import ledger

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .ledger import Head
    from .receipt import Line

    Finding = dict[str, Any]
    Report = dict[str, Any]

# Later findings follow from earlier ones more often than not.
MOST_FINDINGS = 20


class Reader:
    """The chain as far as it has been read, and what was wrong with it."""

    def __init__(self) -> None:
        self.findings: list[Finding] = []
        self.notes: list[str] = []
        self.lines = 0
        self.size = 0  # bytes of these lines
        self.pinned: dict[str, Any] | None = None
        self._seq = 0
        self._sha256 = ledger.ZEROS
        self._ending: list[bytes] = []  # as many lines as one append may have written, and one more
        self._missing: dict[int, Finding] = {}
        self._doubtful: Finding | None = None  # its later line has yet to be confirmed

    def add(self, kind: str, line: int, message: str) -> Finding:
        """Note one thing that is wrong at `line`."""
        finding = {"kind": kind, "line": line, "message": message}
        if len(self.findings) < MOST_FINDINGS:
            self.findings.append(finding)
        return finding

    def read(self, raw: bytes) -> None:
        """Check the next line against the ones before it."""
        self.lines += 1
        self.size += len(raw) + 1
        expected = self._seq + 1
        line = ledger.parse(raw)
        self._settle(line["prev"] if line is not None else None)
        if line is None:
            self.add("edited", expected, f"line {expected} was edited: it is no ledger line")
            self._seq = expected
        elif line["seq"] != expected:
            self._misplaced(expected, line["seq"])
        else:
            if line["prev"] != self._sha256 and not self._is_named(expected - 1):
                self._doubtful = self.add("edited", max(1, expected - 1), "")
            self._seq = expected
        if line is not None:
            self._own_event(line)
        self._sha256 = hexdigest(raw)
        self._ending = [*self._ending[-len(ledger.OWN_EVENTS) :], raw]

    def _is_named(self, line: int) -> bool:
        return bool(self.findings) and self.findings[-1]["line"] == line

    def _misplaced(self, expected: int, seq: int) -> None:
        """The line that stands where `expected` should has another number."""
        gap = self._missing.pop(seq, None)
        if gap is not None:
            gap["kind"] = "reordered"
            gap["message"] = f"line {seq} was moved: it stands behind line {self._seq}"
        elif seq > expected:
            message = f"line {expected} was removed: line {seq} stands in its place"
            finding = self.add("removed", expected, message)
            if len(self._missing) < MOST_FINDINGS:
                self._missing[expected] = finding
            self._seq = seq
        elif seq == self._seq:
            self.add("added", seq, f"line {seq} stands twice: one of the two was added")
        elif seq - 1 in self._missing:
            gap = self._missing[seq - 1]
            gap["kind"] = "edited"
            gap["message"] = f"line {seq - 1} was edited: it has the number {self._seq}"
            self._seq = seq
        else:
            self.add("edited", expected, f"line {expected} was edited: it has the number {seq}")
            self._seq = expected

    def _settle(self, confirmed: str | None) -> None:
        """Say which of two lines that do not fit was changed.

        `confirmed` is the hash that the next line, or the head, has of the later one. If it fits,
        the later line is as it was written, and the earlier one is not.
        """
        finding, self._doubtful = self._doubtful, None
        if finding is None:
            return
        earlier, later = finding["line"], self._seq
        if earlier == later:
            finding["message"] = "line 1 was edited: no line can stand before it"
        elif confirmed == self._sha256:
            finding["message"] = f"line {earlier} was edited: line {later} has another hash of it"
        elif confirmed is None:
            finding["message"] = f"line {earlier} or line {later} was edited: they do not fit"
        else:
            finding["line"] = later
            finding["message"] = (
                f"line {later} was edited: it fits neither of its neighbours"
                f" (line {earlier} may have been too)"
            )

    def _own_event(self, line: Line) -> None:
        """What the ledger says about itself."""
        seq, damage = self._seq, line.get("damage")
        if seq == 1:
            pinned = line.get("pinned")
            self.pinned = pinned if isinstance(pinned, dict) else None
        if line["event"] == "LedgerBroken" and isinstance(damage, dict):
            named = damage.get("head_seq")
            words = {
                "cut-tail": f"the lines after {seq - 1}, up to {named}, are gone"
                if type(named) is int and named >= seq
                else "its end is gone",
                "changed-tail": "the line before had been changed",
                "unknown-lines": "lines that no append wrote had been added",
                "lost-head": "ledger.head had been lost",
            }
            what = words.get(str(damage.get("kind")), "its end was damaged")
            if damage.get("head_sha256") == line["prev"]:
                what = "the head had the size of another ledger"
            self.add("broken", seq, f"line {seq} records that {what}")
        if line["event"] == "LedgerRepaired" and isinstance(damage, dict):
            self.notes.append(
                f"line {seq} records a write cut short by a crash:"
                f" {damage.get('removed_bytes')} bytes were taken off"
            )

    def close(self, head: Head | None, rest: bytes) -> None:
        """Compare the end of the file with the head; `rest` is half a line behind it."""
        self._settle(head.sha256 if head is not None else None)
        seq = self._seq
        if head is not None and head.seq > seq:
            self.add("cut-tail", seq + 1, f"the end was cut off: the head names line {head.seq}")
            return
        if head is not None and head.seq == seq:
            if head.sha256 != self._sha256 and not self._is_named(seq):
                self.add("edited", seq, f"line {seq} was edited: the head has another hash of it")
            elif head.size != self.size and all(f["kind"] == "broken" for f in self.findings):
                self._misfit(head, self.size)
        elif seq > 0:
            self._behind(head if head is not None else ledger.Head(0, ledger.ZEROS, 0))
        if rest:
            message = f"half a line of {len(rest)} bytes at the end: a write that a crash cut short"
            self.add("half-line", seq + 1, f"{message}; the next append takes it off")

    def _behind(self, head: Head) -> None:
        """The head names an earlier line: a crash, if the lines behind it are one append."""
        behind = self._seq - head.seq
        size = self.size - sum(len(raw) + 1 for raw in self._ending[-behind:])
        before, lines = self._ending[:-behind], self._ending[-behind:]
        known = head.seq == 0 or (bool(before) and hexdigest(before[-1]) == head.sha256)
        is_crash = known and len(lines) == behind and ledger.is_one_append(lines, head)
        if is_crash and head.size != size:
            self._misfit(head, size)
        elif is_crash:
            self.notes.append(
                f"the head does not know line {self._seq} yet: a crash came in between,"
                " the next append mends it"
            )
        elif head.seq == 0:
            self.add("lost-head", self._seq, "ledger.head is missing or cannot be read")
        else:
            first = head.seq + 1
            self.add("unknown-lines", first, f"line {first} and what follows are not the head's")

    def _misfit(self, head: Head, size: int) -> None:
        """The head names the right line, and an end of it where it does not end."""
        message = f"the head's size does not fit: {head.size} bytes, the line ends at {size}"
        self.add("head-size", head.seq, message)


def verify(state: str) -> Report:
    """Check ledger, head and pinned earlier ledger of a state folder.

    Raises Problem("system") when a file cannot be read.
    """
    reader = Reader()
    size, head = _snapshot(state)
    rest = _feed(reader, ledger.ledger_path(state), size)
    reader.close(head, rest)
    if reader.lines:
        _check_pin(state, reader)
    return {
        "whole": not reader.findings,
        "lines": reader.lines,
        "findings": sorted(reader.findings, key=lambda finding: int(finding["line"])),
        "notes": reader.notes,
    }


def _feed(reader: Reader, path: str, size: int) -> bytes:
    """Read the first `size` bytes, line by line; gives what stands behind the last newline."""
    left = size
    try:
        with files.open_regular(path) as file:
            for found in file:
                raw = found[:left]
                left -= len(raw)
                if not raw.endswith(b"\n"):
                    return raw
                reader.read(raw[:-1])
                if left == 0:
                    break
    except FileNotFoundError:
        return b""
    except OSError as error:
        raise refusal(error, "read", path) from None
    return b""


def _snapshot(state: str) -> tuple[int, Head | None]:
    """Size of the ledger, and the head of that moment.

    The lock is only asked for when the two do not fit: somebody may be between a line and its head.
    """
    size, head = _look(state)
    if size != (head.size if head is not None else 0):
        with contextlib.suppress(Problem), files.lock(ledger.lock_path(state)):
            size, head = _look(state)
    return size, head


def _look(state: str) -> tuple[int, Head | None]:
    path = ledger.ledger_path(state)
    head = ledger.read_head(state)
    try:
        return os.stat(path).st_size, head
    except FileNotFoundError:
        return 0, head
    except OSError as error:
        raise refusal(error, "read", path) from None


def _check_pin(state: str, reader: Reader) -> None:
    """Whether the earlier ledger is the one that line 1 pins."""
    found = ledger.pin(state)
    pinned = reader.pinned
    if found == pinned:
        return
    if pinned is None:
        reader.add("pin", 1, f"{ledger.EARLIER} appeared after this ledger began")
    elif found is None:
        reader.add("pin", 1, f"{ledger.EARLIER}, which line 1 pins, is gone")
    elif found["bytes"] > pinned["bytes"] and _prefix(state, pinned["bytes"]) == pinned["sha256"]:
        reader.notes.append(f"{ledger.EARLIER} has grown since line 1 pinned it")
    else:
        reader.add("pin", 1, f"{ledger.EARLIER} is not the file that line 1 pins")


def _prefix(state: str, size: int) -> str:
    """The hash of the first `size` bytes of the earlier ledger."""
    digest = sha256()
    path = os.path.join(state, ledger.EARLIER)
    try:
        with files.open_regular(path) as file:
            while size > 0 and (data := file.read(min(size, ledger.CHUNK))):
                digest.update(data)
                size -= len(data)
    except OSError as error:
        raise refusal(error, "read", path) from None
    return digest.hexdigest()


def text(report: Report) -> str:
    """The report for a terminal."""
    rows = [finding["message"] for finding in report["findings"]]
    rows += [f"note: {note}" for note in report["notes"]]
    if report["whole"]:
        rows.append(f"{report['lines']} lines, the chain is whole")
    else:
        rows.append(f"{report['lines']} lines, the ledger is not whole")
    return "\n".join(rows) + "\n"
