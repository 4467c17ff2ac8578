"""ch-goal passes on what asks for no goal and refuses what does, before anything runs."""

from __future__ import annotations

import pytest

from ch_goal import main

HEADERS = {"goal": "1-2-3", "expect_revision": 3, "action_id": "4-5-6"}
ACTIONS = (
    "goal-set", "goal-status", "task-add", "task-update", "goal-list", "goal-show", "plan-set",
    "plan-show",
)  # fmt: skip


def problem(message, hint):
    """The problem section ch-goal adds."""
    return {
        "tool": "ch-goal",
        "kind": "unsupported",
        "message": message,
        "hint": hint,
        "line": None,
    }


@pytest.mark.parametrize("session", [None, "demo"])
def test_a_payload_without_a_goal_passes_untouched(run_tool, run_document, session):
    document = run_document()
    document["payload"]["metadata"]["session"] = session
    done = run_tool(main, ["guard", "--exit-code"], document)
    assert (done.document, done.stderr, done.code) == (document, "", 0)


@pytest.mark.parametrize("key", HEADERS)
def test_a_header_that_needs_a_goal_is_refused(run_tool, run_document, key):
    document = run_document()
    document["payload"]["metadata"][key] = HEADERS[key]
    done = run_tool(main, ["guard", "--exit-code"], document)
    header = key.replace("_", "-")
    expected = problem(
        f"this version cannot honour the header {header}: yet",
        "nothing was run; ask the person before sending it without that header",
    )
    assert (done.document, done.code) == ({**document, "problem": expected}, 1)


@pytest.mark.parametrize("argv", [["guard"], []], ids=["guard", "after the run"])
@pytest.mark.parametrize("action", ACTIONS)
def test_a_goal_action_is_refused(run_tool, run_document, action, argv):
    document = run_document()
    document["payload"].update(kind="goal", command=None, body="Ship it")
    document["payload"]["metadata"]["action"] = action
    done = run_tool(main, argv, document)
    expected = problem(
        f"this version cannot do the action {action} yet",
        "nothing was changed; leave goal actions out, and keep the goal in the chat",
    )
    assert (done.document, done.code) == ({**document, "problem": expected}, 0)


def test_an_earlier_problem_passes_untouched(run_tool, run_document):
    first = {"tool": "ch-parse", "kind": "malformed", "message": "no", "hint": None, "line": 3}
    document = run_document(problem=first)
    document["payload"]["metadata"]["goal"] = "1-2-3"
    done = run_tool(main, ["guard"], document)
    assert (done.document, done.stderr, done.code) == (document, "", 0)


def test_no_document_is_no_goal(spawn):
    done = spawn("ch-goal", "guard", stdin=b'{"format": "clip-harness/goal-export@2"}')
    assert (done.stdout, done.code) == ("", 65)
    assert "its format is 'clip-harness/goal-export@2'" in done.stderr
