"""kill -9 of the harness at any moment: the evidence holds and the clipboard is never half written."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import time
from collections import Counter

import pytest

from hermetic import SCRIPTS

MOMENTS = 200
TEXT = "echo first; sleep 0.02; echo second"


def is_whole_block(text):
    """Whether `text` is one complete result block."""
    lines = text.splitlines()
    return (
        bool(lines)
        and text.endswith("\n")
        and lines[0].rstrip("result").startswith("```")
        and lines[-1] == lines[0].removesuffix("result")
        and lines[0].endswith("result")
    )


def killed_once(clipboard, delay):
    """Start a run, end it with SIGKILL after `delay` seconds; whether it was still running."""
    clipboard.write_text(TEXT)
    process = subprocess.Popen(
        [str(SCRIPTS / "clip-harness")],
        env={**os.environ, "CLIP_HARNESS_CLIPBOARD_FILE": str(clipboard)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    time.sleep(delay)  # the moment itself, not a wait for something
    process.send_signal(signal.SIGKILL)
    return process.wait() == -signal.SIGKILL


@pytest.mark.heavy
def test_killed_at_any_moment_nothing_is_half_done(project, state, tmp_path, spawn):
    clipboard = tmp_path / "clipboard.txt"
    seed = random.randrange(2**32)
    print(f"seed {seed}")
    moments = random.Random(seed)
    start = time.monotonic()
    spawn("clip-harness", "run", "--command", TEXT, "--no-copy")
    whole = time.monotonic() - start
    killed = 0
    for _ in range(MOMENTS):
        killed += killed_once(clipboard, moments.uniform(0, whole * 1.2))
        text = clipboard.read_text()
        assert text == TEXT or is_whole_block(text), text
    assert killed > MOMENTS / 4
    after = spawn("clip-harness", "run", "--command", "true", "--no-copy")
    assert after.code == 0, after.stderr
    verified = spawn("ch-receipt", "verify")
    assert verified.code == 0, verified.stdout + verified.stderr
    assert list((state / "open").iterdir()) == []
    lines = [json.loads(line) for line in (state / "ledger.jsonl").read_text().splitlines()]
    captured = {line["run_id"] for line in lines if line["event"] == "PayloadCaptured"}
    ends = Counter(line["run_id"] for line in lines if line["event"] != "PayloadCaptured")
    without_one_end = {run: ends[run] for run in captured if ends[run] != 1}
    assert without_one_end == {}
