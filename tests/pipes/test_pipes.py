"""The tools in a real shell, joined by `|`."""

from __future__ import annotations

import json
import re
import subprocess

import pytest

from ch_contract import documents
from mutations import of_stage

STAGES = {
    "parsed": "ch-parse",
    "gated": "ch-parse | ch-gate",
    "staged": "ch-parse | ch-gate | ch-stage",
    "executed": "ch-parse | ch-gate | ch-stage | ch-exec",
    "receipted": "ch-parse | ch-gate | ch-stage | ch-exec | ch-receipt",
}


def sh(script, text):
    """Run `script` by a real sh; gives the finished process."""
    return subprocess.run(
        ["sh", "-c", script], input=text.encode(), capture_output=True, timeout=60, check=False
    )


def test_a_pipe_prints_a_result_block_and_leaves_a_receipt(project, state):
    done = sh("ch-parse | ch-gate | ch-stage | ch-exec | ch-receipt block", "echo hello")
    block = re.sub(r"\d+\.\d+s", "0.0s", done.stdout.decode())
    assert (block, done.returncode) == ("```result\n$ echo hello\nhello\n[exit 0 · 0.0s]\n```\n", 0)
    lines = (state / "ledger.jsonl").read_text().splitlines()
    assert [json.loads(line)["event"] for line in lines] == ["LedgerOpened", "PostRun"]


@pytest.mark.heavy
@pytest.mark.parametrize("stage", STAGES)
@pytest.mark.parametrize("text", ["echo hello", "session: s\ntimeout: 9\nls"])
def test_every_stage_passes_its_schema_and_no_mutation_of_it_does(project, stage, text):
    done = sh(STAGES[stage], text)
    document = json.loads(done.stdout)
    ref = f"run.schema.json#/$defs/{stage}"
    assert documents.explain(document, ref) is None
    accepted = [
        wrong.name
        for wrong in of_stage(document, stage)
        if documents.explain(wrong.document, ref) is None
    ]
    assert accepted == []


def test_a_denied_command_does_not_run_under_any_shell_option(project, user_settings):
    user_settings({"denylist": ["touch *"]})
    done = sh(
        "set -eu; ch-parse | ch-gate | ch-stage | ch-exec | ch-receipt block", "touch made.txt"
    )
    assert done.returncode == 0
    assert "[denied · rule=denylist]" in done.stdout.decode()
    assert list(project.iterdir()) == []


@pytest.mark.parametrize("dead", ["ch-gate", "ch-stage"])
def test_a_stage_that_dies_silently_stops_the_next_one(project, dead):
    pipe = "ch-parse | ch-gate | ch-stage | ch-exec".replace(dead, "false")
    done = sh(pipe, "touch made.txt")
    assert (done.stdout, done.returncode) == (b"", 65)
    assert list(project.iterdir()) == []


def test_exec_refuses_a_document_nobody_judged(project):
    done = sh("ch-parse | ch-exec", "touch made.txt")
    assert (done.stdout, done.returncode) == (b"", 65)
    assert list(project.iterdir()) == []


def test_exec_refuses_a_command_that_was_swapped_after_the_verdict(project):
    swap = """jq -c '.payload.command = "touch made.txt"'"""
    done = sh(f"ch-parse | ch-gate | ch-stage | {swap} | ch-exec", "echo hello")
    assert "result" not in json.loads(done.stdout)
    assert list(project.iterdir()) == []


def test_headers_that_need_a_guard_do_not_run_without_one(project):
    done = sh(
        "ch-parse | ch-gate | ch-stage | ch-exec --exit-code", "action-id: 1-2\ntouch made.txt"
    )
    assert (done.returncode, list(project.iterdir())) == (1, [])
