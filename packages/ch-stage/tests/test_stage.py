"""ch-stage passes on what needs no decision and refuses what it cannot stage."""

from __future__ import annotations

import json

import pytest

from ch_stage import main

CHANGES = {
    "file": {"path": "a.txt", "kind": "file", "op": "create", "content": "x\n"},
    "patch": {"path": "a.txt", "kind": "patch", "op": "auto", "diff": "--- a\n+++ b\n"},
    "edit": {
        "path": "a.txt",
        "kind": "edit",
        "op": "auto",
        "old_string": "a",
        "new_string": "b",
        "replace_all": False,
    },
}


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


@pytest.mark.parametrize(("decision", "code"), [("allow", 0), ("ask", 3)])
def test_a_judged_command_gets_empty_candidates(run_tool, run_document, decision, code):
    document = run_document(verdict=verdict(decision))
    done = run_tool(main, ["--exit-code"], document)
    expected = {**document, "candidates": [], "decisions": []}
    assert (done.document, done.stderr, done.code) == (expected, "", code)


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


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
@pytest.mark.parametrize("kind", ["changes", "mixed"])
def test_a_file_change_is_refused_and_nothing_is_written(
    run_tool, run_document, project, change, kind
):
    document = run_document(verdict=verdict("ask", "change", "a.txt"))
    document["payload"]["kind"] = kind
    document["payload"]["changes"] = [change]
    if kind == "changes":
        document["payload"]["command"] = None
    done = run_tool(main, ["--exit-code"], document)
    problem = {
        "tool": "ch-stage",
        "kind": "unsupported",
        "message": "this version cannot change files yet: a.txt",
        "hint": "nothing was written and nothing was run; ask the person to make the change by hand",
        "line": None,
    }
    assert done.document == {**document, "problem": problem}
    assert done.stderr == (
        "ch-stage: this version cannot change files yet: a.txt — "
        "nothing was written and nothing was run; ask the person to make the change by hand\n"
    )
    assert done.code == 1
    assert list(project.iterdir()) == []


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
