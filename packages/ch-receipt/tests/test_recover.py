"""Recovering: a run whose process died ends once, a live one is left alone."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys

import pytest

from ch_contract import processes
from ch_receipt import ledger, recover, verify
from ch_receipt.capture import capture
from ch_receipt.receipt import end_of, entry
from receipts import AT, chain, head_of

RUN = "r-0000000000000001"


@pytest.fixture
def dead():
    """The id and start time of a process that has died."""
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    started = processes.started(process.pid)
    process.communicate(b"\n")
    return process.pid, started


@pytest.fixture
def opened(state):
    """Write an open file; gives its path."""

    def write(owner, run_id=RUN, status="running", age=0.0, size=0):
        pid, started = owner
        value = {
            "format": "clip-harness/open-run@1",
            "run_id": run_id,
            "session": "demo",
            "state": status,
            "pid": pid,
            "started": started,
            "ledger_size": size,
            "at": AT,
        }
        path = state / "open" / f"{run_id}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(value))
        now = path.stat().st_mtime
        os.utime(path, (now - age, now - age))
        return path

    return write


def living():
    return os.getpid(), processes.started(os.getpid())


def settle(state):
    return list(recover.recover(str(state)))


def ends_of(state):
    lines = [json.loads(raw) for raw in ledger.forwards(ledger.ledger_path(str(state)))]
    return [(line["run_id"], line["event"]) for line in lines if line["run_id"]]


def test_a_run_without_a_process_ends_indeterminate(state, opened, dead):
    capture(
        str(state),
        b"echo hi",
        run_id=RUN,
        trigger="watch",
        cwd="/w",
        session="demo",
        at=AT,
        owner=os.getpid(),
    )
    path = opened(dead)
    assert settle(state) == [f"{RUN}: indeterminate, its process ended without an end receipt"]
    assert not path.exists()
    *_, line = [json.loads(raw) for raw in ledger.forwards(ledger.ledger_path(str(state)))]
    kept = ("event", "run_id", "session", "trigger", "cwd", "note")
    assert {key: line[key] for key in kept} == {
        "event": "RunIndeterminate",
        "run_id": RUN,
        "session": "demo",
        "trigger": "watch",
        "cwd": "/w",
        "note": "the process that answered for it died; no command was started",
    }
    assert line["payload"]["bytes"] == 7
    assert settle(state) == []
    assert verify.verify(str(state))["whole"]


@pytest.mark.parametrize(
    "case",
    [
        ("living", "running", 0, False),
        ("living", "running", 1000, False),
        ("living", "ended", 1000, False),
        ("dead", "running", 0, True),
        ("dead", "ended", 0, False),
        ("dead", "ended", 11, True),
        ("reused", "running", 0, True),
    ],
)
def test_only_an_abandoned_run_is_settled(state, opened, dead, case):
    who, status, age, is_settled = case
    owner = {"living": living(), "dead": dead, "reused": (os.getpid(), "another start")}[who]
    path = opened(owner, status=status, age=age)
    assert len(settle(state)) == int(is_settled)
    assert path.exists() is not is_settled
    assert (state / "ledger.jsonl").exists() is is_settled


def test_a_run_that_has_its_end_gets_no_second_one(state, opened, dead, run_document):
    document = run_document()
    ledger.append(str(state), end_of(document, AT))
    path = opened(dead)
    assert settle(state) == []
    assert not path.exists()
    assert ends_of(state) == [(RUN, "PreRun")]


@pytest.mark.parametrize("data", [b"", b"{", b"\xff", b"garbage"])
def test_an_open_file_that_is_no_json_is_settled(state, opened, dead, data):
    """None of ours wrote that, so nobody answers for the run."""
    path = opened(dead)
    path.write_bytes(data)
    assert len(settle(state)) == 1
    assert not path.exists()
    assert ends_of(state) == [(RUN, "RunIndeterminate")]


HINT = "remove it once its run has ended"


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (b"[]", "has the format None, not clip-harness/open-run@1"),
        (b"{}", "has the format None, not clip-harness/open-run@1"),
        (
            b'{"format":"clip-harness/open-run@2","owner":{"pid":1}}',
            "has the format 'clip-harness/open-run@2', not clip-harness/open-run@1",
        ),
    ],
)
def test_an_open_file_of_another_version_is_left_alone(state, opened, data, told):
    path = opened(living())
    path.write_bytes(data)
    assert settle(state) == [f"{RUN}: left alone, {path} {told} — {HINT}"]
    assert path.read_bytes() == data
    assert not (state / "ledger.jsonl").exists()


def test_an_open_file_with_other_fields_is_left_alone(state, opened):
    path = opened(living(), status="paused")
    before = path.read_bytes()
    (told,) = settle(state)
    assert told.startswith(f"{RUN}: left alone, {path}: state: 'paused' is not one of")
    assert told.endswith(HINT)
    assert (path.read_bytes(), (state / "ledger.jsonl").exists()) == (before, False)


@pytest.mark.parametrize("number", [errno.EIO, errno.EACCES])
def test_an_open_file_that_cannot_be_read_is_left_alone(state, opened, dead, monkeypatch, number):
    path = opened(dead)
    other = opened(dead, run_id="r-0000000000000002")
    real = os.open

    def fail(name, *rest, **options):
        if name == str(path):
            raise OSError(number, os.strerror(number))
        return real(name, *rest, **options)

    monkeypatch.setattr(os, "open", fail)
    first, second = settle(state)
    assert first.startswith(f"{RUN}: left alone, cannot read {path}: {os.strerror(number)}")
    assert second.startswith("r-0000000000000002: indeterminate")
    assert (path.exists(), other.exists()) == (True, False)
    assert ends_of(state) == [("r-0000000000000002", "RunIndeterminate")]


def test_a_folder_in_the_place_of_an_open_file_is_left_alone(state):
    path = state / "open" / f"{RUN}.json"
    path.mkdir(parents=True)
    assert settle(state) == [f"{RUN}: left alone, cannot read {path}: Is a directory"]


NOTE = "the process that answered for it died; "


@pytest.mark.parametrize(
    ("make", "note"),
    [
        (lambda folder: folder.mkdir(parents=True), "no command was started"),
        (lambda _: None, "nobody can tell whether its command was started"),
        (
            lambda folder: (folder / "run.json").mkdir(parents=True),
            "nobody can tell whether its command was started",
        ),
        (
            lambda folder: (folder.mkdir(parents=True), (folder / "run.json").write_text("{")),
            "nobody can tell whether its command was started",
        ),
    ],
    ids=["no-record", "no-folder", "unreadable-record", "half-a-record"],
)
def test_what_is_known_of_the_start_is_told_and_no_more(state, opened, dead, make, note):
    opened(dead)
    make(state / "runs" / RUN)
    settle(state)
    *_, line = [json.loads(raw) for raw in ledger.forwards(ledger.ledger_path(str(state)))]
    assert (line["event"], line["note"]) == ("RunIndeterminate", NOTE + note)


def test_the_ledger_is_read_from_where_it_ended_when_the_run_was_opened(
    state, opened, dead, monkeypatch
):
    """Twenty times as many older lines cost nothing."""
    seen = []
    real = ledger.forwards

    def count(path, start=0):
        for raw in real(path, start):
            seen.append(raw)
            yield raw

    counts = []
    for number, older in enumerate((100, 2000)):
        lines = chain(older)
        data = b"".join(line + b"\n" for line in lines)
        state.mkdir(parents=True, exist_ok=True)
        (state / "ledger.jsonl").write_bytes(data)
        (state / "ledger.head").write_text(json.dumps(head_of(lines)))
        run_id = f"r-00000000000000f{number}"
        opened(dead, run_id=run_id, size=len(data))
        monkeypatch.setattr(ledger, "forwards", count)
        seen.clear()
        assert len(settle(state)) == 1
        counts.append(len(seen))
        monkeypatch.undo()
    assert 0 < counts[0] <= 100
    assert counts[1] <= counts[0] + 1


def test_half_a_line_that_was_taken_off_hides_no_end(state, opened, dead, run_document):
    """The run was opened behind half a line; its end stands where that stood."""
    ledger.append(str(state), entry("PreRun", AT))
    path = state / "ledger.jsonl"
    with path.open("ab") as file:
        file.write(b'{"half":"' + b"x" * 20_000)
    size = path.stat().st_size
    ledger.append(str(state), end_of(run_document(), AT))
    assert path.stat().st_size < size
    opened(dead, size=size)
    assert settle(state) == []
    assert ends_of(state) == [(RUN, "PreRun")]


def test_a_ledger_shorter_than_it_was_is_read_whole(state, opened, dead, run_document):
    ledger.append(str(state), end_of(run_document(), AT))
    opened(dead, size=10_000_000)
    assert settle(state) == []
    assert ends_of(state) == [(RUN, "PreRun")]


def test_what_killed_writers_left_is_removed(state, opened, dead):
    """In `open/` and in a settled run's folder at once: there process ids have been trusted."""
    opened(dead)
    pid, _ = dead
    names = {"dead": f".ch-{pid}-0123456789ab.tmp", "living": f".ch-{os.getpid()}-0123456789ab.tmp"}
    folders = [state, state / "open", state / "sessions", state / "runs" / RUN]
    for folder in folders:
        folder.mkdir(parents=True, exist_ok=True)
        for name in names.values():
            (folder / name).write_text("half")
    settle(state)
    left = {
        str(path.relative_to(state)) for path in state.rglob(".ch-*") if path.name == names["dead"]
    }
    assert left == {names["dead"], f"sessions/{names['dead']}"}
    for path in state.rglob(".ch-*"):
        os.utime(path, (1, 1))
    settle(state)
    assert {path.name for path in state.rglob(".ch-*")} == {names["living"]}


def test_other_files_in_the_folder_are_left_alone(state):
    (state / "open").mkdir(parents=True)
    (state / "open" / "notes.json").write_text("{}")
    assert settle(state) == []
    assert (state / "open" / "notes.json").read_text() == "{}"


def test_a_command_that_still_runs_is_named(state, opened, dead):
    opened(dead)
    pid, started = living()
    folder = state / "runs" / RUN
    folder.mkdir(parents=True)
    record = {
        "format": "clip-harness/run-record@1",
        "run_id": RUN,
        "session": None,
        "cwd": "/w",
        "command_sha256": "c" * 64,
        "shell": "/bin/bash",
        "dialect": "bash",
        "backend": "local",
        "mode": "pipe",
        "sandbox": "none",
        "sandbox_digest": None,
        "approval": None,
        "approval_id": None,
        "writes": None,
        "timeout": 120,
        "pid": pid,
        "started": started,
        "at": AT,
    }
    (folder / "run.json").write_text(json.dumps(record))
    told = f"{RUN}: indeterminate, its process ended without an end receipt"
    assert settle(state) == [f"{told}; its command still runs as process {pid}"]


def test_many_at_once_settle_each_run_once(state, opened, dead, spawn):
    for number in range(20):
        opened(dead, run_id=f"r-{number:016x}")
    code = "from ch_receipt.cli import main_process; import sys; sys.argv[1:] = ['recover']"
    command = [sys.executable, "-c", code + "; main_process()"]
    several = [subprocess.Popen(command, stdout=subprocess.PIPE) for _ in range(4)]
    told = b"".join(process.communicate()[0] for process in several).splitlines()
    assert len(told) == 20
    assert sorted(run for run, _ in ends_of(state)) == [f"r-{n:016x}" for n in range(20)]
    assert list((state / "open").iterdir()) == []
    assert verify.verify(str(state))["whole"]
