"""The manual page names everything there is, and copying its protocol runs nothing."""

from pathlib import Path

from ch_contract.problems import Problem
from ch_parse import parse
from ch_parse.fences import scan
from ch_parse.header import GOAL_ACTIONS, KEYS
from ch_parse.repairs import NAMES

PAGE = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")
PROTOCOL = PAGE.partition("<!-- protocol:begin -->")[2].partition("<!-- protocol:end -->")[0]


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


def test_protocol_says_at_each_place_what_is_refused():
    """A model reads from top to bottom: what this version refuses says so where it is taught."""
    assert PROTOCOL.split("### Goals\n\n")[1].startswith("Not in this version: refused")
    for key in ("goal", "expect-revision", "action-id"):
        assert f"| `{key}` | not in this version: refused; " in PROTOCOL


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
