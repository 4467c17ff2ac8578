"""Appending: the chain, the head, and every way their ends can disagree."""

from __future__ import annotations

import errno
import json
import os
import random
import signal
import subprocess
import sys
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ch_contract import files
from ch_contract.problems import Problem
from ch_contract.quiet_hashlib import hexdigest
from ch_receipt import ledger, verify
from ch_receipt.receipt import entry
from receipts import AT, chain, head_of, line_of


def a_line(number=0, **fields):
    values = {"run_id": f"r-{number:08x}", "cwd": "/w", **fields}
    return entry("PreRun", AT, **values)


def lines_of(state):
    data = (state / "ledger.jsonl").read_bytes()
    assert data.endswith(b"\n")
    return [json.loads(line) for line in data.splitlines()]


def test_the_first_append_opens_the_ledger(state):
    receipt = ledger.append(str(state), a_line())
    first, second = (state / "ledger.jsonl").read_bytes().splitlines()
    assert json.loads(first)["event"] == "LedgerOpened"
    assert json.loads(first)["prev"] == ledger.ZEROS
    assert json.loads(first)["pinned"] is None
    assert receipt == {"seq": 2, "prev": hexdigest(first), "sha256": hexdigest(second)}
    assert json.loads((state / "ledger.head").read_text()) == head_of([first, second])
    assert verify.verify(str(state)) == {"whole": True, "lines": 2, "findings": [], "notes": []}


def test_files_are_private(state):
    ledger.append(str(state), a_line())
    modes = {path.name: path.stat().st_mode & 0o777 for path in state.iterdir()}
    assert modes == {"ledger.jsonl": 0o600, "ledger.head": 0o600, "ledger.lock": 0o600}
    assert state.stat().st_mode & 0o777 == 0o700


def test_line_1_pins_the_ledger_of_an_earlier_version(state):
    state.mkdir(parents=True)
    old = b'{"ts":"2026-11-30T17:09:54+0000","run_id":"r-1","event":"PostRun"}\n'
    (state / "receipts.jsonl").write_bytes(old)
    ledger.append(str(state), a_line())
    assert lines_of(state)[0]["pinned"] == {
        "path": "receipts.jsonl",
        "sha256": hexdigest(old),
        "bytes": len(old),
    }
    assert (state / "receipts.jsonl").read_bytes() == old


def test_a_head_that_is_one_append_behind_is_a_crash_and_is_mended(lay, state):
    lines = chain(5)
    lay(lines, head_of(lines[:4]))
    receipt = ledger.append(str(state), a_line())
    assert receipt["seq"] == 6
    assert [line["event"] for line in lines_of(state)][-2:] == ["PreRun", "PreRun"]
    assert verify.verify(str(state))["whole"]


@pytest.mark.parametrize("rest", [b"", b'{"half'], ids=["whole", "half-line"])
def test_a_second_crash_at_the_same_place_is_mended_too(lay, state, monkeypatch, rest):
    """Each of three appends in a row dies between its line and the head."""
    lines = chain(5)
    lay(lines, head_of(lines[:4]), rest)
    real = files.write_atomic

    def count():
        return (state / "ledger.jsonl").read_bytes().count(b"\n")

    def die(path, data, *mode):
        if count() > known:  # its line stands: this is its head
            raise SystemExit
        real(path, data, *mode)

    monkeypatch.setattr(files, "write_atomic", die)
    for number in range(3):
        known = count()
        with pytest.raises(SystemExit):
            ledger.append(str(state), a_line(number))
    monkeypatch.undo()
    assert verify.verify(str(state))["whole"]
    ledger.append(str(state), a_line(9))
    assert [line["event"] for line in lines_of(state)][-4:] == ["PreRun"] * 4
    assert verify.verify(str(state))["whole"]


def test_half_a_line_comes_back_when_the_head_cannot_follow(lay, state, monkeypatch):
    lay(chain(3), "same", b'{"format":"clip-')
    before = (state / "ledger.jsonl").read_bytes()

    def fail(path, *_):
        raise Problem("system", f"cannot write {path}: No space left on device")

    monkeypatch.setattr(files, "write_atomic", fail)
    with pytest.raises(Problem, match=r"cannot write .*ledger\.head"):
        ledger.append(str(state), a_line())
    assert (state / "ledger.jsonl").read_bytes() == before


def test_a_crash_between_the_first_line_and_its_head_is_mended(lay, state):
    lay(chain(2), None)
    assert ledger.append(str(state), a_line())["seq"] == 3
    assert verify.verify(str(state))["whole"]


def test_half_a_line_is_taken_off_and_recorded(lay, state):
    lines = chain(3)
    lay(lines, "same", b'{"format":"clip-')
    assert verify.verify(str(state))["findings"] == [
        {
            "kind": "half-line",
            "line": 4,
            "message": "half a line of 16 bytes at the end: a write that a crash cut short; "
            "the next append takes it off",
        }
    ]
    ledger.append(str(state), a_line())
    repaired = lines_of(state)[3]
    assert repaired["event"] == "LedgerRepaired"
    assert repaired["damage"] == {
        "kind": "half-line",
        "head_seq": 3,
        "head_sha256": hexdigest(lines[2]),
        "head_size": sum(len(line) + 1 for line in lines),
        "size": sum(len(line) + 1 for line in lines) + 16,
        "removed_bytes": 16,
        "removed_sha256": hexdigest(b'{"format":"clip-'),
    }
    report = verify.verify(str(state))
    assert report["whole"]
    assert report["notes"] == [
        "line 4 records a write cut short by a crash: 16 bytes were taken off"
    ]


def test_half_of_the_very_first_line_is_taken_off(lay, state):
    lay([], None, b'{"for')
    assert ledger.append(str(state), a_line())["seq"] == 3
    assert [line["event"] for line in lines_of(state)] == [
        "LedgerOpened",
        "LedgerRepaired",
        "PreRun",
    ]
    assert verify.verify(str(state))["whole"]


BROKEN = {
    "cut-tail": (lambda lines: (lines[:3], head_of(lines), b""), 4),
    "cut-tail-amid-a-line": (lambda lines: (lines[:3], head_of(lines), lines[3][:40]), 5),
    "changed-tail": (
        lambda lines: ([*lines[:4], lines[4].replace(b"/w", b"/x")], head_of(lines), b""),
        6,
    ),
    "unknown-lines": (lambda lines: ([*lines, b'{"a":1}'], head_of(lines), b""), 7),
    "unknown-lines-of-a-chain": (lambda lines: (lines, head_of(lines[:2]), b""), 6),
    "lost-head": (lambda lines: (lines, None, b""), 6),
    "lost-head-unreadable": (lambda lines: (lines, {"seq": 5}, b""), 6),
}


@pytest.mark.parametrize("name", BROKEN)
def test_other_damage_is_recorded_and_never_healed(lay, state, name):
    make, seq = BROKEN[name]
    lines, head, rest = make(chain(5))
    lay(lines, head, rest)
    before = (state / "ledger.jsonl").read_bytes()
    ledger.append(str(state), a_line())
    after = (state / "ledger.jsonl").read_bytes()
    assert after.startswith(before)
    added = after[len(before) :].lstrip(b"\n").splitlines()
    broken = json.loads(added[0])
    assert (broken["event"], broken["seq"]) == ("LedgerBroken", seq)
    assert name.startswith(broken["damage"]["kind"])
    assert json.loads(added[1])["prev"] == hexdigest(added[0])
    report = verify.verify(str(state))
    assert not report["whole"]
    assert "broken" in [finding["kind"] for finding in report["findings"]]
    assert ledger.append(str(state), a_line())["seq"] == seq + 2


@settings(deadline=None, max_examples=200)
@given(st.integers(1, 8), st.integers(0, 8), st.integers(0, 200), st.binary(max_size=40))
def test_any_end_has_one_meaning(count, known, cut, garbage):
    """assess never raises, and goes on behind the last complete byte unless it takes off half."""
    lines = chain(count)
    data = b"".join(line + b"\n" for line in lines)
    data = data[: len(data) - cut] + garbage
    known = min(known, count)
    head = None
    if known:
        value = head_of(lines[:known])
        head = ledger.Head(value["seq"], value["sha256"], value["size"])
    ending = ledger.assess(head, len(data), data[-ledger.END_WINDOW :])
    assert ending.last.size == len(data) - len(ending.removed)
    assert ending.removed == b"" or (data.endswith(ending.removed) and b"\n" not in ending.removed)
    if not cut and not garbage and count - known in (0, 1) and head:
        assert (ending.damage, ending.last.seq) == (None, count)


def test_a_full_disk_leaves_the_ledger_as_it_was(lay, state, monkeypatch):
    lines = chain(3)
    lay(lines)
    before = (state / "ledger.jsonl").read_bytes()
    write = os.write

    def full(fd, data):
        if len(data) > 20:
            return write(fd, bytes(data)[:20])
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(files.os, "write", full)
    with pytest.raises(Problem) as caught:
        ledger.append(str(state), a_line())
    assert caught.value.kind == "system"
    assert caught.value.message == (
        f"cannot append to {state}/ledger.jsonl: No space left on device"
    )
    assert (state / "ledger.jsonl").read_bytes() == before
    monkeypatch.undo()
    assert verify.verify(str(state))["whole"]


def test_a_head_that_cannot_be_written_takes_its_line_back(lay, state, monkeypatch):
    """Otherwise the second try would write the run's end twice."""
    lay(chain(3))
    before = (state / "ledger.jsonl").read_bytes()

    def full(*_):
        raise Problem("system", "cannot write ledger.head: No space left on device")

    monkeypatch.setattr(files, "write_atomic", full)
    with pytest.raises(Problem, match=r"cannot write ledger\.head"):
        ledger.append(str(state), a_line())
    assert (state / "ledger.jsonl").read_bytes() == before
    monkeypatch.undo()
    assert verify.verify(str(state))["whole"]


def test_a_line_that_breaks_its_schema_is_a_bug_and_is_not_written(state):
    with pytest.raises(Problem) as caught:
        ledger.append(str(state), a_line(session="no/slash"))
    assert (caught.value.kind, "session" in caught.value.message) == ("bug", True)
    assert not (state / "ledger.jsonl").exists()


def test_a_busy_ledger_is_named(state, monkeypatch):
    state.mkdir(parents=True)
    path = ledger.lock_path(str(state))
    monkeypatch.setattr(files.lock.__wrapped__, "__defaults__", (0.05,))
    with files.lock(path), pytest.raises(Problem) as caught:
        ledger.append(str(state), a_line())
    assert (caught.value.kind, path in caught.value.message) == ("busy", True)
    assert not (state / "ledger.jsonl").exists()


@pytest.mark.parametrize("size", [1, 7, ledger.FIRST_CHUNK, ledger.FIRST_CHUNK + 1, 3_000_000])
def test_backwards_gives_the_lines_in_reverse(tmp_path, size):
    rng = random.Random(size)
    data = bytearray()
    while len(data) < size:
        data += b"x" * rng.choice((0, 1, 5, 700, 20000)) + b"\n"
    path = tmp_path / "lines"
    for rest in (b"", b"half"):
        path.write_bytes(bytes(data) + rest)
        assert list(ledger.backwards(str(path))) == bytes(data).split(b"\n")[-2::-1]
    path.write_bytes(b"only half")
    assert list(ledger.backwards(str(path))) == []


APPENDER = """
import sys
from ch_receipt import ledger
from ch_receipt.receipt import entry
state, name, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
for number in range(count):
    line = entry("PreRun", "2026-11-30T12:00:00.000+00:00", run_id=f"r-{number:08x}", note=name)
    print(ledger.append(state, line)["seq"], flush=True)
"""


def start(state, name, count):
    command = [sys.executable, "-c", APPENDER, str(state), name, str(count)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)


def test_processes_that_append_at_once_make_one_chain(state):
    """Whatever the interleaving: no gap, no line twice, each writer's lines in its own order."""
    writers = [start(state, f"writer {n}", 25) for n in range(4)]
    seqs = [[int(row) for row in writer.communicate()[0].split()] for writer in writers]
    assert sorted(seq for own in seqs for seq in own) == list(range(2, 102))
    assert all(own == sorted(own) for own in seqs)
    lines = lines_of(state)
    assert [line["seq"] for line in lines] == list(range(1, 102))
    for number, own in enumerate(seqs):
        assert [lines[seq - 1]["note"] for seq in own] == [f"writer {number}"] * 25
    assert verify.verify(str(state)) == {"whole": True, "lines": 101, "findings": [], "notes": []}


@pytest.mark.heavy
def test_kill_9_at_random_moments_leaves_a_ledger_that_verifies(state):
    """After the next append the chain is whole, and no acknowledged line is missing."""
    rng = random.Random(20261130)
    acknowledged = set()
    for attempt in range(120):
        writer = start(state, f"attempt {attempt}", 10_000)
        seqs = [int(writer.stdout.readline())]
        time.sleep(rng.random() * 0.03)
        os.kill(writer.pid, signal.SIGKILL)
        rest = writer.communicate()[0]
        seqs += [int(row) for row in rest.splitlines(keepends=True) if row.endswith(b"\n")]
        acknowledged.update(seqs)
        ledger.append(str(state), a_line(attempt))
    report = verify.verify(str(state))
    assert (report["whole"], report["findings"]) == (True, [])
    assert acknowledged <= {line["seq"] for line in lines_of(state)}


def million(state, count=1_000_000):
    """A whole ledger of `count` lines, written at once."""
    state.mkdir(parents=True, exist_ok=True)
    begin, _, end = line_of(7, "P" * 64).partition(b'"seq":7,"prev":"' + b"P" * 64)
    prev = ledger.ZEROS
    size = 0
    with open(state / "ledger.jsonl", "wb") as file:
        for seq in range(1, count + 1):
            line = b'%s"seq":%d,"prev":"%s%s' % (begin, seq, prev.encode(), end)
            prev = hexdigest(line)
            size += len(line) + 1
            file.write(line + b"\n")
    head = {"format": "clip-harness/ledger-head@1", "seq": count, "sha256": prev, "size": size}
    (state / "ledger.head").write_text(json.dumps(head))


@pytest.mark.heavy
def test_a_million_lines_cost_tail_and_append_nothing(tmp_path_factory):
    """Within 10 % of a ledger of ten lines, plus what a noisy clock adds."""
    from ch_receipt import listing

    shared = "/dev/shm" if os.path.isdir("/dev/shm") else None
    folder = tmp_path_factory.mktemp("ledgers")
    if shared is not None:
        folder = type(folder)(shared) / f"ledgers-{os.getpid()}"
    try:
        for name, count in (("small", 10), ("large", 1_000_000)):
            million(folder / name, count)

        def cost(name):
            begun = time.perf_counter()
            for _ in range(5):
                listing.tail(str(folder / name), 5)
                ledger.append(str(folder / name), a_line())
            return time.perf_counter() - begun

        pairs = [(cost("small"), cost("large")) for _ in range(40)]
        small, large = (sorted(column)[len(column) // 2] for column in zip(*pairs, strict=True))
        assert large <= small * 1.10, f"{large * 200:.3f} ms, {small * 200:.3f} ms when small"
        report = verify.verify(str(folder / "large"))
        assert (report["whole"], report["lines"]) == (True, 1_000_200)
    finally:
        for name in ("small", "large"):
            for path in (folder / name).glob("*"):
                path.unlink()
            (folder / name).rmdir()
        folder.rmdir()
