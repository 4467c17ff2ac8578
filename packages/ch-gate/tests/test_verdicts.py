"""Verdicts without any setting, by table: each row a command, what must be said of it, and by whom.

deny      the floor refuses it, under one of `rules`
not-allow ask or deny are both right
ask       held for a person
allow     runs at once
not-deny  allow or ask
"""

import json
from pathlib import Path

import pytest

from ch_gate import patterns, policy, shfmt, syntax
from ch_gate.paths import Facts

# the tables are long, and the same under every interpreter
pytestmark = pytest.mark.heavy

CASES = Path(__file__).parent / "cases"
HOME = "/home/dev"
PROJECT = f"{HOME}/work/shop"
WHERE = Facts(
    PROJECT,
    PROJECT,
    HOME,
    surface=(f"{HOME}/.config/clip-harness", f"{HOME}/.local/state/clip-harness"),
)
POLICY = policy.Policy(
    patterns.load({"hard_block_patterns": [], "denylist": [], "allowlist": []}), [], "review"
)
RIGHT = {
    "deny": ("deny",),
    "not-allow": ("ask", "deny"),
    "ask": ("ask",),
    "allow": ("allow",),
    "not-deny": ("allow", "ask"),
}


def judge(text, dialect="bash"):
    clock = shfmt.Clock(10)
    reading = syntax.read(text, dialect, lambda part, tongue: shfmt.parse(part, tongue, clock))
    return policy.judge(reading, WHERE, POLICY)


def rows(name):
    lines = (CASES / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def check(row):
    part = judge(row["command"], row.get("dialect", "bash"))
    assert part["decision"] in RIGHT[row["verdict"]], part
    if row["verdict"] == "deny":
        assert part["source"] == "floor"
        assert part["rule"] in row["rules"]
        assert f"(rule={part['rule']})" in part["reason"]


COMMANDS = rows("commands")
FAMILIES = rows("families")
ADVERSARIAL = rows("adversarial")
LATE = rows("late")


@pytest.mark.parametrize("row", COMMANDS, ids=[row["id"] for row in COMMANDS])
def test_the_conventions(row):
    """The kinds that the conventions name."""
    check(row)


@pytest.mark.parametrize("row", FAMILIES, ids=[row["id"] for row in FAMILIES])
def test_the_families(row):
    """Each family of bypass and of false alarm, from both sides."""
    check(row)


@pytest.mark.parametrize("row", ADVERSARIAL, ids=[row["id"] for row in ADVERSARIAL])
def test_no_attempt_is_allowed(row):
    """Attempts to get something destructive allowed, in bash, zsh and sh."""
    check(row)


@pytest.mark.parametrize("row", LATE, ids=[row["id"] for row in LATE])
def test_names_that_arrive_late(row):
    """What a reader or a push is told at run time only: by a variable, a function, xargs, find."""
    check(row)
