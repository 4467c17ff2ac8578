"""Running one flow case: under a runner, or as a plain shell pipe, with every document kept."""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
from pathlib import Path

from ch_contract import places
from ch_contract.tool import Streams
from clip_harness import runners
from clip_harness.adapters.choice import choose
from clip_harness.flows.trigger import Captured, Flow

# What may differ between two runs of the same text: times, durations, ids, and what hangs on them.
SCRUBBED = {
    "at", "duration_ms", "output_path", "run_id", "receipt", "dir", "cwd", "project",
    "candidate_id", "diff_path",
}  # fmt: skip

PIPE = "ch-parse | ch-goal guard | ch-gate | ch-stage | ch-exec | ch-goal | ch-receipt"


class Recording:
    """A runner that keeps what every tool was given and gave back."""

    def __init__(self, runner):
        self.runner = runner
        self.trace = []

    def run(self, tool, argv, data):
        done = self.runner.run(tool, argv, data)
        self.trace.append((tool, argv, done.code, done.output))
        return done


def scrub(value):
    """`value` without what differs from run to run."""
    if isinstance(value, dict):
        return {k: "…" if k in SCRUBBED else scrub(v) for k, v in value.items()}
    if isinstance(value, list):
        return [scrub(entry) for entry in value]
    return value


def scrub_text(text: str) -> str:
    """A block without durations, run ids and folders of the test."""
    text = re.sub(r"\d+(\.\d+)? ?(s|ms)\b", "0.0s", text)
    text = re.sub(r"r-[0-9a-f]{8,32}", "r-…", text)
    return text.replace(str(Path.home()), "~").replace(os.getcwd(), "<project>")


def documents(trace):
    """The scrubbed documents at every boundary of a flow, with the tool that wrote them."""
    found = []
    for tool, argv, code, output in trace:
        words = [word for word in argv if not word.startswith("-") and word in ("guard", "capture")]
        try:
            value = scrub(json.loads(output))
        except ValueError:
            value = scrub_text(output.decode())
        found.append((tool, words, code, value))
    return found


def run_flow(text: bytes, folder: Path, runner_name: str):
    """Take `text` through the trigger flow; gives the trace, the clipboard and the exit code."""
    stdout, stderr = io.BytesIO(), io.BytesIO()
    runner = Recording(runners.choose(runner_name, stderr))
    clipboard_file = folder / "clipboard.txt"
    clipboard_file.write_bytes(text)
    clipboard = choose("auto", {**os.environ, "CLIP_HARNESS_CLIPBOARD_FILE": str(clipboard_file)})
    streams = Streams(io.BytesIO(), stdout, stderr)
    code = Flow(runner, clipboard, places.state_dir(), streams).run(Captured(text, os.getcwd()))
    assert stdout.getvalue() == clipboard_file.read_bytes()
    return runner.trace, clipboard_file.read_text(), code


def run_pipe(text: bytes):
    """Take `text` through a plain shell pipe; gives its last document."""
    done = subprocess.run(
        ["sh", "-c", PIPE], input=text, capture_output=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)
