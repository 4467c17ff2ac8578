"""The manual page tells the truth: its usage text and its examples."""

import subprocess
from pathlib import Path

import pytest

from ch_contract.problems import Problem
from ch_parse import main, parse
from ch_parse.fences import scan
from ch_parse.header import GOAL_ACTIONS, KEYS
from ch_parse.repairs import NAMES

PAGE = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")
PROTOCOL = PAGE.partition("<!-- protocol:begin -->")[2].partition("<!-- protocol:end -->")[0]


def block_bodies(text, language):
    """The inside of every block of `text` in this language."""
    return [text[f.body_start : f.body_end] for f in scan(text) if f.language == language]


def examples():
    """Every command of the page's console blocks, with the output it must give."""
    found = []
    for body in block_bodies(PAGE, "console"):
        for part in f"\n{body}".split("\n$ ")[1:]:
            command, _, output = part.partition("\n")
            found.append(
                (command, output if output.endswith("\n") or not output else output + "\n")
            )
    return found


def test_usage_is_the_help_text(run_tool):
    """The usage block is what --help prints."""
    assert block_bodies(PAGE, "text") == [run_tool(main, ["--help"]).stdout]


@pytest.mark.parametrize(("command", "output"), examples(), ids=[c for c, _ in examples()])
def test_example(command, output, project):
    """Each example prints exactly what the page shows."""
    done = subprocess.run(
        ["sh", "-c", command], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.stdout, done.stderr) == (output, "")


def test_every_repair_is_explained():
    """The table of mends has a row for each name."""
    for name in NAMES:
        assert f"| `{name}` |" in PAGE


def test_protocol_names_everything():
    """The protocol tells a model every key and every action there is."""
    for key in KEYS:
        assert f"| `{key}` |" in PROTOCOL
    for action in GOAL_ACTIONS:
        assert f"`{action}`" in PROTOCOL


def test_protocol_examples_are_payloads():
    """Every example in the protocol reads as what it is shown as; a result never does."""
    shown = [
        text for fence in scan(PROTOCOL) for text in [PROTOCOL[fence.body_start : fence.body_end]]
    ]
    kinds = [parse(text)["kind"] for text in shown]
    assert kinds == ["command", "changes", "changes", "changes", "ignored"]


def test_the_protocol_itself_runs_nothing():
    """Copied whole, even without the marker of AGENTS.md, the protocol asks for nothing."""
    try:
        payload = parse(PROTOCOL)
    except Problem:
        return
    assert payload["kind"] == "ignored"
