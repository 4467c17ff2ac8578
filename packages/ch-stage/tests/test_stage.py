"""ch-stage passes on what needs no decision."""

from __future__ import annotations

import json

import pytest

from ch_stage import main


def verdict(decision, kind="command", subject="echo hello"):
    """A verdict with one part."""
    return {
        "decision": decision,
        "dialect": "bash",
        "settings": {"digest": "0" * 64, "left_out": []},
        "parts": [
            {
                "kind": kind,
                "subject": subject,
                "decision": decision,
                "reviewable": decision == "ask",
                "rule": None if decision == "allow" else "some-rule",
                "reason": None,
                "note": None,
                "source": "policy",
                "matches": [],
            }
        ],
    }


def test_an_allowed_command_gets_empty_candidates(run_tool, run_document, state):
    document = run_document(verdict=verdict("allow"))
    done = run_tool(main, ["--exit-code"], document)
    expected = {**document, "candidates": [], "decisions": []}
    assert (done.document, done.stderr, done.code) == (expected, "", 0)
    assert not state.exists()


def test_a_denied_command_passes_untouched(run_tool, run_document):
    document = run_document(verdict=verdict("deny"))
    done = run_tool(main, ["--exit-code"], document)
    assert (done.document, done.stderr, done.code) == (document, "", 1)


@pytest.mark.parametrize(
    ("kind", "more"),
    [
        ("goal", {"body": "Ship it"}),
        ("control", {"control": {"action": "cancel", "session": None}}),
        ("ignored", {"form": None}),
    ],
)
def test_what_is_not_its_business_passes_untouched(run_tool, run_document, kind, more):
    document = run_document()
    document["payload"].update(kind=kind, command=None, **more)
    if kind == "goal":
        document["payload"]["metadata"].update(action="goal-set", session="demo")
    done = run_tool(main, [], document)
    assert (done.document, done.stderr, done.code) == (document, "", 0)


def test_an_earlier_problem_passes_untouched(run_tool, run_document):
    problem = {"tool": "ch-gate", "kind": "refused", "message": "no", "hint": None, "line": None}
    document = run_document(problem=problem)
    done = run_tool(main, ["--exit-code"], document)
    assert (done.document, done.stderr, done.code) == (document, "", 1)


def test_a_document_without_a_verdict_is_refused(run_tool, run_document):
    done = run_tool(main, [], run_document())
    assert (done.stdout, done.code) == ("", 65)
    assert done.stderr == "ch-stage: run document: the document: 'verdict' is a required property\n"


def test_silence_before_it_stops_it(spawn):
    done = spawn("ch-stage")
    assert (done.stdout, done.code) == ("", 65)
    assert "standard input is empty" in done.stderr


def test_foreign_keys_are_carried_through(run_tool, run_document):
    document = run_document(verdict=verdict("allow"), **{"x-mine": {"a": [1, None]}})
    assert run_tool(main, [], json.dumps(document)).document["x-mine"] == {"a": [1, None]}
