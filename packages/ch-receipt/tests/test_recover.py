"""Recovering: a run whose process died ends once, a live one is left alone."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from ch_contract import processes
from ch_receipt import ledger, recover, verify
from ch_receipt.capture import capture
from ch_receipt.receipt import end_of
from receipts import AT

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

    def write(owner, run_id=RUN, status="running", age=0.0):
        pid, started = owner
        value = {
            "format": "clip-harness/open-run@1",
            "run_id": run_id,
            "session": "demo",
            "state": status,
            "pid": pid,
            "started": started,
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


def test_an_open_file_that_cannot_be_read_is_settled(state, opened, dead):
    path = opened(dead)
    path.write_text("{")
    assert len(settle(state)) == 1
    assert ends_of(state) == [(RUN, "RunIndeterminate")]


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
