"""What stands on the disk before a command begins, and what keeps it from beginning."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path

import pytest

from ch_contract import documents

LINK = "a symbolic link stands there; put the file itself in its place"
UNFIT = {
    "link": (lambda path: path.symlink_to("/dev/null"), "Too many levels of symbolic links", LINK),
    "folder": (lambda path: path.mkdir(), "Is a directory", None),
    "pipe": (os.mkfifo, "No such device or address", None),
}


@pytest.mark.parametrize("name", ["ledger.jsonl", "ledger.lock"])
@pytest.mark.parametrize("kind", UNFIT)
def test_nothing_runs_whose_receipt_cannot_be_written(pipe_step, staged, state, name, kind):
    make, told, hint = UNFIT[kind]
    state.mkdir(parents=True)
    make(state / name)
    done = pipe_step(staged("touch ran"), "--exit-code")
    message = f"cannot append to {state}/{name}: {told}"
    assert done.code == 74
    assert done.document["problem"] == {
        "tool": "ch-exec", "kind": "system", "message": message, "hint": hint, "line": None,
    }  # fmt: skip
    assert "result" not in done.document
    assert not Path("ran").exists()
    assert os.listdir(state) == [name]


def test_a_ledger_that_is_there_does_not_hinder(pipe_step, staged, state):
    state.mkdir(parents=True)
    (state / "ledger.jsonl").write_bytes(b"x" * 123)
    document = staged("true")
    assert pipe_step(document).document["result"]["exit_code"] == 0
    opened = json.loads((state / "open" / f"{document['run_id']}.json").read_bytes())
    documents.check(opened, "store/open-run.schema.json", "open run")
    assert opened["ledger_size"] == 123
    assert (state / "ledger.jsonl").read_bytes() == b"x" * 123


def test_the_executed_text_is_kept_where_no_flow_kept_the_copied_one(pipe_step, staged, state):
    document = staged("echo hé")
    folder = state / "runs" / document["run_id"]
    pipe_step(document)
    kept = folder / "command.txt"
    assert (kept.read_bytes(), stat.S_IMODE(kept.stat().st_mode)) == ("echo hé".encode(), 0o600)


def test_the_copied_text_is_enough(pipe_step, staged, state):
    document = staged("true")
    folder = state / "runs" / document["run_id"]
    folder.mkdir(parents=True)
    (folder / "payload.txt").write_text("true")
    assert pipe_step(document).document["result"]["exit_code"] == 0
    assert sorted(os.listdir(folder)) == ["output.txt", "payload.txt", "run.json"]
