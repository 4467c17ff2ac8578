"""The tables: one folder a family, a text beside the payload or problem it must give."""

import json
from pathlib import Path

import pytest

from ch_contract import documents
from ch_contract.problems import Problem
from ch_parse import parse

CASES = Path(__file__).parent / "cases"
TEXTS = sorted(CASES.glob("*/*.txt"))


def answer(text, session=None):
    """What `parse` says, as a value: a payload, or the problem it raised."""
    try:
        return {"payload": parse(text, session)}
    except Problem as problem:
        kept = {name: getattr(problem, name) for name in ("kind", "message", "hint", "line")}
        return {"problem": kept}


@pytest.mark.parametrize("path", TEXTS, ids=[f"{p.parent.name}/{p.stem}" for p in TEXTS])
def test_case(path):
    """The text gives the payload or problem beside it, whole."""
    expected = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
    assert answer(path.read_bytes().decode("utf-8")) == expected
    if "payload" in expected:
        documents.check(expected["payload"], "payload.schema.json", path.name)
    else:
        documents.check(
            {"tool": "ch-parse", **expected["problem"]}, "problem.schema.json", path.name
        )


def test_every_text_has_its_answer():
    """A file without its partner is a case that nobody runs."""
    answers = sorted(CASES.glob("*/*.json"))
    assert [p.with_suffix("") for p in answers] == [p.with_suffix("") for p in TEXTS]
    assert len(TEXTS) > 300


def test_session_binds_what_names_none():
    """A session from outside binds every kind of payload, and satisfies an action that needs one."""
    assert parse("ls", "s1")["metadata"]["session"] == "s1"
    assert parse("timeout: 5\nls", "s1")["metadata"]["session"] == "s1"
    assert parse("```file\npath: a\nop: create\nx\n```", "s1")["metadata"]["session"] == "s1"
    assert parse("path: a\nop: delete", "s1")["metadata"]["session"] == "s1"
    assert parse("```cancel```", "s1")["control"] == {"action": "cancel", "session": "s1"}
    assert parse("```cancel```", "s1")["metadata"]["session"] == "s1"
    assert parse("action: goal-set\nship", "s1")["metadata"]["session"] == "s1"


def test_session_never_replaces_one():
    """A session that the text names stays."""
    assert parse("session: s2\nls", "s1")["metadata"]["session"] == "s2"
    assert parse("```cancel id=s2```", "s1")["control"]["session"] == "s2"
