"""Whether a command may run, and how."""

import hashlib

import pytest

from ch_contract.problems import Problem
from ch_contract.settings import DEFAULTS, Settings
from ch_exec.planning import is_foreign, permitted, plan

TEXT = "echo hello"


def decision(kind, text=TEXT):
    return {
        "candidate_id": "r-6a1b2c3d00000001-files",
        "decision": kind,
        "reason": None,
        "accepted_files": None,
        "subject_sha256": hashlib.sha256(text.encode()).hexdigest(),
        "by": "terminal",
        "at": "2026-11-30T12:00:00.000+00:00",
    }


def outcome(document):
    if is_foreign(document):
        return "foreign"
    try:
        return permitted(document)
    except Problem as problem:
        return f"{problem.kind}: {problem.message}"


NO_SANDBOX = "system: the command was accepted for a sandbox, and this version has none"
FINAL = "refused: the command was accepted, but the verdict leaves nothing to accept"
SILENT = "refused: the verdict does not speak of this command"


@pytest.mark.parametrize(
    ("verdict", "decisions", "expected"),
    [
        ("allow", [], True),
        ("deny", [], "foreign"),
        ("ask", [], False),
        ("ask", [decision("accept-unsandboxed")], True),
        ("ask", [decision("accept-unsandboxed", "echo other")], False),
        ("ask", [decision("reject")], False),
        ("ask", [decision("cancelled")], False),
        ("ask", [decision("accept-edited")], False),
        ("ask", [decision("accept")], NO_SANDBOX),
        ("ask", [decision("always-allow")], NO_SANDBOX),
        ("ask", [decision("allow-for-session")], NO_SANDBOX),
        ("ask", [decision("reject"), decision("accept-unsandboxed")], False),
        ("ask", [decision("accept-unsandboxed"), decision("reject")], False),
    ],
)
def test_a_verdict_and_its_decisions(staged, verdict, decisions, expected):
    """Allowed runs; held runs only when this very text was accepted, and nothing speaks against."""
    assert outcome(staged(TEXT, decision=verdict, decisions=decisions)) == expected


def test_a_verdict_on_another_text_is_none(staged):
    """The part must be of the kind command and speak of exactly this text."""
    document = staged(TEXT)
    document["verdict"]["parts"][0]["subject"] = TEXT + " "
    assert outcome(document) == SILENT
    document["verdict"]["parts"][0].update(subject=TEXT, kind="change")
    assert outcome(document) == SILENT
    document["verdict"]["parts"] = []
    assert outcome(document) == SILENT


CONTRADICTION = (
    "refused: the verdict allows the payload, but its command is held back or was turned down"
)


@pytest.mark.parametrize("part", ["deny", "ask"])
def test_the_strictest_part_on_a_text_counts(staged, part):
    """Two parts on one text: the stricter wins, and a whole that says otherwise is refused."""
    document = staged(TEXT)
    document["verdict"]["parts"].append({**document["verdict"]["parts"][0], "decision": part})
    assert outcome(document) == CONTRADICTION
    document["verdict"]["decision"] = "ask"
    assert outcome(document) is False


def test_allowed_and_turned_down_is_refused(staged):
    """A decision against the text is heard though nobody had to be asked."""
    assert outcome(staged(TEXT, decisions=[decision("reject")])) == CONTRADICTION
    assert outcome(staged(TEXT, decisions=[decision("accept")])) is True


@pytest.mark.parametrize(
    ("part", "kind"),
    [("allow", "reject"), ("allow", "cancelled"), ("allow", "accept-edited"), ("ask", "reject")],
)
def test_a_command_that_was_turned_down_never_runs(staged, part, kind):
    """Also when it was another part of the payload that had to be asked about."""
    document = staged(TEXT, decision="ask", decisions=[decision(kind)])
    document["verdict"]["parts"][0]["decision"] = part
    assert outcome(document) is False
    document["decisions"] = [decision("accept-unsandboxed"), decision(kind)]
    assert outcome(document) is False
    document["decisions"] = [decision(kind), decision("accept-unsandboxed")]
    assert outcome(document) is False


@pytest.mark.parametrize(
    ("part", "kind", "expected"),
    [
        ("ask", None, False),
        ("ask", "reject", False),
        ("ask", "accept-unsandboxed", FINAL),
        ("ask", "accept", FINAL),
        ("deny", "accept-unsandboxed", FINAL),
        ("allow", "accept-unsandboxed", True),
    ],
)
def test_what_nobody_can_accept_was_not_accepted(staged, part, kind, expected):
    """A decision on a part that is not reviewable is forged."""
    decisions = [decision(kind)] if kind is not None else []
    document = staged(TEXT, decision="ask", decisions=decisions)
    document["verdict"]["parts"][0].update(decision=part, reviewable=False)
    assert outcome(document) == expected


@pytest.mark.parametrize("kind", ["control", "ignored", "malformed"])
def test_other_kinds_are_foreign(staged, kind):
    """What is no command is none of this tool's business."""
    document = staged(TEXT)
    document["payload"]["kind"] = kind
    assert outcome(document) == "foreign"


def test_a_goal_action_needs_a_goal_tool_in_the_pipe(staged):
    """Nobody would see that nothing was done, if ch-exec passed it on in silence."""
    document = staged(TEXT, action="goal-set")
    document["payload"].update(kind="goal", command=None)
    assert outcome(document) == (
        "refused: the action goal-set needs ch-goal, and none stands in the pipe"
    )
    for section in ("standing", "result"):
        assert outcome({**document, section: {}}) == "foreign"


def test_a_payload_without_a_command_is_foreign(staged):
    """Changes alone are done when they are applied."""
    document = staged(TEXT)
    document["payload"]["command"] = None
    assert outcome(document) == "foreign"


@pytest.mark.parametrize(
    ("key", "value", "header"),
    [
        ("goal", "g-1", "goal"),
        ("expect_revision", 0, "expect-revision"),
        ("action_id", "a", "action-id"),
    ],
)
def test_a_guarded_payload_needs_its_guard(staged, key, value, header):
    """Without a standing nobody looked whether the payload is stale or repeated."""
    document = staged(TEXT, **{key: value})
    assert (
        outcome(document) == f"refused: no guard has looked at the header {header}: of this payload"
    )
    document["standing"] = {"goal": None, "tasks": []}
    assert outcome(document) is True


NOT_APPLIED = (
    "refused: the file changes of this payload were not applied, so its command was not run"
)
FAILED = "refused: a file change of this payload failed, so its command was not run"
REJECTED = "refused: all file changes of this payload were rejected, so its command was not run"


@pytest.mark.parametrize(
    ("outcomes", "rolled_back", "expected"),
    [
        (None, False, NOT_APPLIED),
        ([], False, NOT_APPLIED),
        (["NEW"], True, NOT_APPLIED),
        (["FAILED"], True, NOT_APPLIED),
        (["REJECTED"], False, REJECTED),
        (["REJECTED", "REJECTED"], False, REJECTED),
        (["FAILED"], False, FAILED),
        (["NEW", "FAILED"], False, FAILED),
        (["REJECTED", "FAILED"], False, FAILED),
        (["NEW"], False, True),
        (["UPDATED"], False, True),
        (["DELETED"], False, True),
        (["NO-CHANGE"], False, True),
        (["REJECTED", "NEW"], False, True),
    ],
)
def test_a_command_runs_after_its_changes_or_not_at_all(staged, outcomes, rolled_back, expected):
    """A mixed payload's command needs one change done, and none failed."""
    document = staged(TEXT)
    document["payload"]["kind"] = "mixed"
    document["payload"]["changes"] = [{"path": "a", "kind": "file", "op": "auto", "content": "x\n"}]
    if outcomes is not None:
        entries = [{"path": "a", "outcome": word, "sha256": None} for word in outcomes]
        document["applied"] = {"entries": entries, "rolled_back": rolled_back}
    assert outcome(document) == expected


def test_the_plan_holds_what_was_judged(staged):
    """Text, folder, shell, timeout and session come from the document and the settings."""
    settings = Settings({**DEFAULTS, "shell": "bash"}, [])
    made = plan(staged(TEXT, session="s1"), settings, "/bin/zsh")
    assert (made.command, made.dialect, made.timeout, made.session, made.approval) == (
        TEXT, "bash", 120, "s1", None,
    )  # fmt: skip
    assert made.shell.endswith("/bash")
    assert plan(staged(TEXT, timeout=7), settings, "").timeout == 7
    held = staged(TEXT, decision="ask", decisions=[decision("accept-unsandboxed")])
    under = plan(held, settings, "")
    assert (under.approval, under.approval_id) == ("accept-unsandboxed", "r-6a1b2c3d00000001-files")
    assert made.approval_id is None


def test_another_language_than_the_judged_one_is_refused(staged):
    """What was judged as one language is never read as another."""
    settings = Settings({**DEFAULTS, "shell": "dash"}, [])
    with pytest.raises(Problem) as caught:
        plan(staged(TEXT), settings, "")
    assert caught.value.kind == "refused"
    assert caught.value.message.startswith("the command was judged as bash, but /")
    assert caught.value.message.endswith("/dash reads posix")


def test_a_nul_is_refused(staged):
    """No argument and no shell text can hold one."""
    settings = Settings({**DEFAULTS, "shell": "bash"}, [])
    with pytest.raises(Problem) as caught:
        plan(staged("echo a\0b"), settings, "")
    assert (caught.value.kind, caught.value.message) == (
        "refused", "the command holds a NUL character",
    )  # fmt: skip
