"""What a plain run and a gate call load; architecture: the budget of the hot path."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent / "hot_path"
FORBIDDEN = [
    line
    for line in (HERE / "forbidden.txt").read_text().splitlines()
    if line and not line.startswith("#")
]
# Without the site module nothing of an editable install or of a .pth file is loaded: what is
# found is ours. The folders are given by hand.
WRAPPER = """
import sys
sys.path += {path!r}
from {module} import {main}
from ch_contract import tool
code = {main}({argv!r}, tool.own_streams())
loaded = sorted(sys.modules)
with open({report!r}, "w") as file:
    file.write("\\n".join([str(code), *loaded]))
"""


@pytest.fixture
def loaded(tmp_path, project):
    """Run `main(argv, streams)` in a fresh interpreter; gives what it printed, its code and modules."""

    def run(module, argv, stdin=b"", main="main", env=None):
        report = tmp_path / "modules"
        path = [entry for entry in sys.path if entry and not entry.startswith(str(HERE.parent))]
        code = WRAPPER.format(path=path, module=module, main=main, argv=argv, report=str(report))
        done = subprocess.run(
            [sys.executable, "-I", "-S", "-c", code],
            input=stdin,
            capture_output=True,
            cwd=project,
            env={**os.environ, **(env or {})},
            timeout=60,
            check=False,
        )
        assert report.exists(), done.stderr.decode()
        exit_code, *modules = report.read_text().split("\n")
        return done.stdout.decode(), done.stderr.decode(), int(exit_code), modules

    return run


def heavy(modules):
    return [
        name
        for name in modules
        if any(name == word or name.startswith(f"{word}.") for word in FORBIDDEN)
    ]


def test_the_list_is_read():
    assert "argparse" in FORBIDDEN
    assert heavy(["argparse", "urllib.parse", "urllibx", "json"]) == ["argparse", "urllib.parse"]


def test_a_heavy_module_would_be_seen(loaded, tmp_path):
    stand_in = tmp_path / "stand_in.py"
    stand_in.write_text("def main(argv, streams):\n    import argparse\n    return 7\n")
    sys.path.append(str(tmp_path))
    try:
        _, _, code, modules = loaded("stand_in", [])
    finally:
        sys.path.remove(str(tmp_path))
    assert code == 7
    assert "argparse" in heavy(modules)


@pytest.mark.parametrize("command", ["true", "git status", "ls -l | sort", "rm -rf /"])
def test_a_gate_call_loads_nothing_heavy(loaded, command):
    out, err, code, modules = loaded("ch_gate.cli", ["check", "--command", command])
    assert (err, code) == ("", 0), out
    assert heavy(modules) == []


@pytest.mark.parametrize("text", ["true", "```shell\necho hello\n```\n", "echo $((1 + 2)); ls"])
def test_a_run_loads_nothing_heavy(loaded, tmp_path, text):
    """From a file as clipboard, all tools in one process."""
    clipboard = tmp_path / "clipboard.txt"
    clipboard.write_text(text)
    out, err, code, modules = loaded(
        "clip_harness.cli",
        ["run", "--clipboard"],
        env={"CLIP_HARNESS_CLIPBOARD_FILE": str(clipboard)},
    )
    assert code == 0, out + err
    assert clipboard.read_text() != text, "nothing was run"
    assert heavy(modules) == []


@pytest.mark.parametrize(
    ("module", "argv"),
    [
        ("ch_parse.cli", []),
        ("ch_goal.cli", ["guard"]),
        ("ch_gate.cli", []),
        ("ch_stage.cli", []),
        ("ch_exec.cli", []),
        ("ch_goal.cli", []),
        ("ch_receipt.cli", []),
    ],
    ids=lambda part: part if isinstance(part, str) else " ".join(part),
)
def test_a_pipe_step_loads_nothing_heavy(loaded, module, argv, spawn, project):
    document = b"true"
    steps = ["ch-parse", "ch-goal guard", "ch-gate", "ch-stage", "ch-exec", "ch-goal", "ch-receipt"]
    own = " ".join([module.partition(".")[0].replace("_", "-"), *argv])
    for step in steps[: steps.index(own)]:
        command, *words = step.split()
        document = spawn(command, *words, stdin=document, cwd=project).stdout.encode()
    out, err, code, modules = loaded(module, argv, document)
    assert (err, code) == ("", 0)
    assert json.loads(out)["format"] == "clip-harness/run@1"
    assert heavy(modules) == []
