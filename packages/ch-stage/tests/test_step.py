"""The pipe step: candidates written before anyone is asked, and what a decision makes of them."""

from __future__ import annotations

import json
import stat

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ch_contract import documents
from ch_contract.problems import Problem
from ch_contract.quiet_hashlib import hexdigest
from ch_stage import decision, main

RUN = "r-0123456789abcdef"
FILES, COMMAND = f"{RUN}-files", f"{RUN}-command"
EDIT = {
    "path": "n.txt",
    "kind": "edit",
    "op": "auto",
    "old_string": "two",
    "new_string": "2",
    "replace_all": False,
}
NEW = {"path": "sub/new.txt", "kind": "file", "op": "create", "content": "fresh\n"}
STEADY = settings(
    deadline=None, max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


def part(kind, subject, decision, **more):
    return {
        "kind": kind,
        "subject": subject,
        "decision": decision,
        "reviewable": decision == "ask",
        "rule": None if decision == "allow" else "some-rule",
        "reason": None if decision == "allow" else "Held: it changes files.",
        "note": None,
        "source": "policy",
        "matches": [],
        **more,
    }


@pytest.fixture
def judged(run_document, project):
    """A function that makes a judged document of changes and a command."""

    def make(changes=(), command=None, decision="ask", session=None):
        document = run_document()
        document.update(run_id=RUN, cwd=str(project), project=str(project))
        kind = "mixed" if changes and command else "changes" if changes else "command"
        document["payload"].update(kind=kind, command=command, changes=list(changes))
        document["payload"]["metadata"]["session"] = session
        parts = [part("change", change["path"], "ask") for change in changes]
        if command is not None:
            parts.append(part("command", command, decision))
        order = ("allow", "ask", "deny")
        document["verdict"] = {
            "decision": max((p["decision"] for p in parts), key=order.index),
            "dialect": "bash",
            "settings": {"digest": "0" * 64, "left_out": []},
            "parts": parts,
        }
        return document

    return make


@pytest.fixture
def decision_file(tmp_path):
    """A function that writes a decision file."""

    def write(value):
        path = tmp_path / "decision.json"
        path.write_text(json.dumps(value))
        return str(path)

    return write


@pytest.fixture
def two(project):
    (project / "n.txt").write_bytes(b"one\r\ntwo\r\n")
    (project / "n.txt").chmod(0o640)
    return [EDIT, NEW]


def tree(folder):
    return {
        str(path.relative_to(folder)): (path.read_bytes(), stat.S_IMODE(path.stat().st_mode))
        for path in folder.rglob("*")
        if path.is_file()
    }


def test_changes_become_a_candidate_and_nothing_is_changed(run_tool, judged, two, project, state):
    before = tree(project)
    done = run_tool(main, ["--exit-code"], judged(two))
    (found,) = done.document["candidates"]
    assert (done.code, done.stderr, done.document["decisions"]) == (3, "", [])
    assert "applied" not in done.document
    assert (found["candidate_id"], found["kind"], found["status"]) == (FILES, "changes", "pending")
    assert [(e["path"], e["actual_op"], e["base_sha256"]) for e in found["entries"]] == [
        ("n.txt", "UPDATE", hexdigest(b"one\r\ntwo\r\n")),
        ("sub/new.txt", "NEW", None),
    ]
    folder = state / "candidates" / FILES
    assert (folder / "candidates" / "1").read_bytes() == b"one\r\n2\r\n"
    assert (folder / "snapshots" / "1").read_bytes() == b"one\r\ntwo\r\n"
    assert (
        (folder / "diffs" / "2.diff").read_text().startswith("--- /dev/null\n+++ b/sub/new.txt\n")
    )
    assert {stat.S_IMODE(p.stat().st_mode) for p in folder.rglob("*") if p.is_file()} == {0o600}
    assert tree(project) == before


def test_the_same_document_again_finds_the_same_candidate(run_tool, judged, two):
    one = run_tool(main, [], judged(two)).document
    assert run_tool(main, [], judged(two)).document == one
    assert run_tool(main, [], one).document == one


def test_another_text_under_the_same_run_is_refused(run_tool, judged, two):
    run_tool(main, [], judged(two))
    other = judged([NEW])
    other["captured"]["sha256"] = "f" * 64
    done = run_tool(main, ["--exit-code"], other)
    assert done.code == 1
    assert done.document["problem"]["message"] == (
        f"the run {RUN} has a candidate that was made of another text"
    )


def test_an_accepting_decision_file_applies(run_tool, judged, two, project, decision_file):
    path = decision_file({"decision": "accept"})
    done = run_tool(main, ["--exit-code", "--decision-file", path], judged(two))
    assert (done.code, done.stderr) == (0, "")
    assert [d["decision"] for d in done.document["decisions"]] == ["accept"]
    assert done.document["applied"] == {
        "entries": [
            {"path": "n.txt", "outcome": "UPDATED", "sha256": hexdigest(b"one\r\n2\r\n")},
            {"path": "sub/new.txt", "outcome": "NEW", "sha256": hexdigest(b"fresh\n")},
        ],
        "rolled_back": False,
    }
    assert tree(project) == {
        "n.txt": (b"one\r\n2\r\n", 0o640),
        "sub/new.txt": (b"fresh\n", 0o644),
    }


def test_a_rejecting_one_changes_nothing(run_tool, judged, two, project, decision_file):
    before = tree(project)
    path = decision_file({"decision": "reject", "reason": "not now"})
    done = run_tool(main, ["--exit-code", "--decision-file", path], judged(two, "make"))
    assert done.code == 1
    assert [(d["decision"], d["reason"]) for d in done.document["decisions"]] == [
        ("reject", "not now")
    ]
    assert "applied" not in done.document
    assert len(done.document["candidates"]) == 1
    assert tree(project) == before


def test_a_held_command_waits_until_its_files_are_in_place(run_tool, judged, two, decision_file):
    done = run_tool(main, [], judged(two, "rm x"))
    assert [c["kind"] for c in done.document["candidates"]] == ["changes"]
    path = decision_file({"decision": "accept"})
    done = run_tool(main, ["--exit-code", "--decision-file", path], done.document)
    assert [(c["kind"], c["status"]) for c in done.document["candidates"]] == [
        ("changes", "resolved"),
        ("command", "pending"),
    ]
    assert done.code == 3
    path = decision_file({"command": {"decision": "accept-unsandboxed"}})
    last = run_tool(main, ["--exit-code", "--decision-file", path], done.document)
    assert [(d["decision"], d["subject_sha256"]) for d in last.document["decisions"]][1] == (
        "accept-unsandboxed",
        hexdigest(b"rm x"),
    )
    assert last.code == 0
    # handed over once
    again = run_tool(main, ["--exit-code"], done.document)
    assert again.code == 1
    assert f"the candidate {COMMAND} was handed over to run already" in again.stderr


def test_both_are_decided_by_one_file(run_tool, judged, two, decision_file):
    path = decision_file(
        {"changes": {"decision": "accept"}, "command": {"decision": "reject", "reason": "no"}}
    )
    done = run_tool(main, ["--exit-code", "--decision-file", path], judged(two, "rm x"))
    assert [d["decision"] for d in done.document["decisions"]] == ["accept", "reject"]
    assert "applied" in done.document
    assert done.code == 1


def test_an_allowed_command_beside_changes_has_no_candidate(run_tool, judged, two, decision_file):
    path = decision_file({"decision": "accept"})
    document = judged(two, "ls", "allow")
    done = run_tool(main, ["--decision-file", path], document)
    assert [c["kind"] for c in done.document["candidates"]] == ["changes"]


def test_a_held_command_alone(run_tool, judged, state):
    done = run_tool(main, ["--exit-code"], judged(command="rm x", session="demo"))
    (found,) = done.document["candidates"]
    assert (found["candidate_id"], found["command"], found["status"]) == (
        COMMAND,
        "rm x",
        "pending",
    )
    assert found["reason"] == "Held: it changes files."
    assert str(state) in found["protected"]
    assert done.code == 3


def test_a_command_allowed_for_its_session_is_not_asked_about_again(
    run_tool, judged, decision_file, state
):
    run_tool(main, [], judged(command="rm x", session="demo"))
    path = decision_file({"decision": "allow-for-session"})
    assert run_tool(main, ["decide", COMMAND, "--decision-file", path]).code == 0
    elsewhere = judged(command="rm x", session="demo")
    elsewhere.update(run_id="r-00000000000000bb", cwd=str(state.parent))
    assert run_tool(main, [], elsewhere).document["decisions"] == []
    later = judged(command="rm x", session="demo")
    later["run_id"] = "r-00000000000000aa"
    done = run_tool(main, [], later)
    assert [(d["decision"], d["by"]) for d in done.document["decisions"]] == [
        ("allow-for-session", "grant")
    ]
    for command, session in (("rm y", "demo"), ("rm x", "other")):
        other = judged(command=command, session=session)
        other["run_id"] = f"r-{hexdigest((command + session).encode())[:16]}"
        assert run_tool(main, [], other).document["decisions"] == []


@pytest.mark.parametrize("draft", [{"decision": "reject"}, {"command": {"decision": "reject"}}])
def test_a_decision_on_what_does_not_wait_is_never_passed_over(
    run_tool, judged, decision_file, two, project, draft
):
    """A "reject" for a command that the gate lets pass by itself: it must not run all the same."""
    before = tree(project)
    path = decision_file(draft)
    changes = two if "command" in draft else ()
    document = judged(changes, "ls", "allow")
    done = run_tool(main, ["--exit-code", "--decision-file", path], document)
    assert done.code == 1
    assert done.document["problem"]["message"] == (
        "there is a decision on a command, and no command waits for one"
    )
    assert tree(project) == before


def test_always_allow_is_not_given_by_a_file(run_tool, judged, decision_file, state):
    path = decision_file({"decision": "always-allow"})
    done = run_tool(main, ["--decision-file", path], judged(command="rm x"))
    assert "is given in a review at the terminal" in done.document["problem"]["message"]
    assert not list(state.rglob("decision.json"))


def test_strict_counts_when_it_was_set_after_the_decision(
    run_tool, judged, user_settings, decision_file, state
):
    run_tool(main, [], judged(command="rm x"))
    path = decision_file({"decision": "accept-unsandboxed"})
    assert run_tool(main, ["decide", COMMAND, "--decision-file", path]).code == 0
    user_settings({"shell_sandbox": "strict"})
    done = run_tool(main, ["--exit-code"], judged(command="rm x"))
    assert (done.code, done.document["decisions"]) == (1, [])
    assert "shell_sandbox is strict" in done.stderr
    assert not list(state.rglob("applied.json"))


def test_a_command_that_waited_is_decided_on_though_the_gate_lets_it_pass_by_now(
    run_tool, judged, two, decision_file
):
    accept = decision_file({"decision": "accept"})
    first = run_tool(main, ["--decision-file", accept], judged(two, "rm x")).document
    assert [c["status"] for c in first["candidates"]] == ["resolved", "pending"]
    reject = decision_file({"command": {"decision": "reject"}})
    later = run_tool(main, ["--decision-file", reject], judged(two, "rm x", "allow")).document
    assert [d["decision"] for d in later["decisions"]] == ["accept", "reject"]


def test_a_second_apply_tells_what_became_of_the_files(run_tool, judged, two, decision_file):
    accept = decision_file({"decision": "accept"})
    first = run_tool(main, ["--decision-file", accept], judged(two)).document
    again = run_tool(main, ["--exit-code"], judged(two))
    assert (again.code, "was applied already" in again.stderr) == (1, True)
    assert again.document["applied"] == first["applied"]


@pytest.mark.parametrize(
    ("draft", "said"),
    [
        ({"decision": "yes"}, "'yes' is no decision for file changes"),
        ({"decision": "accept-unsandboxed"}, "'accept-unsandboxed' is no decision for file"),
        ({"decision": "accept", "accepted_files": []}, "accepted_files is empty"),
        (
            {"decision": "accept", "accepted_files": ["x"]},
            "accepted_files names x, which the candidate does not change",
        ),
        ({"decision": "reject", "accepted_files": ["n.txt"]}, "reject takes no accepted_files"),
        ({"decision": "accept-edited"}, "accept-edited needs edited files"),
        ({"decision": "accept", "run_id": "r-00000000"}, "the decision is for another run id"),
        ({"decision": "accept", "session": "x"}, "the decision is for another session"),
        (
            {"decision": "accept", "subject_sha256": "0" * 64},
            "the decision is for another subject sha256",
        ),
        ({"decision": "accept", "why": "x"}, "unknown key 'why'"),
        ({"reason": "x"}, "holds no decision"),
        (["accept"], "holds no decision"),
    ],
)
def test_a_decision_that_does_not_fit_is_refused_and_none_is_kept(
    run_tool, judged, two, project, decision_file, state, draft, said
):
    before = tree(project)
    done = run_tool(main, ["--exit-code", "--decision-file", decision_file(draft)], judged(two))
    assert said in done.document["problem"]["message"]
    assert done.code in (1, 65)
    assert not list(state.rglob("decision.json"))
    assert tree(project) == before


@pytest.mark.parametrize(
    ("draft", "said"),
    [
        ({"decision": "accept-edited"}, "'accept-edited' is no decision for a command"),
        ({"decision": "allow-for-session"}, "bound to no session"),
        ({"decision": "accept-unsandboxed"}, "shell_sandbox is strict"),
    ],
)
def test_a_decision_on_a_command_that_does_not_fit(
    run_tool, judged, user_settings, decision_file, state, draft, said
):
    user_settings({"shell_sandbox": "strict"})
    document = judged(command="rm x")
    done = run_tool(main, ["--decision-file", decision_file(draft)], document)
    assert said in done.document["problem"]["message"]
    assert not list(state.rglob("decision.json"))


def test_strict_when_staged_stays_strict(run_tool, judged, user_settings, decision_file):
    path = user_settings({"shell_sandbox": "strict"})
    run_tool(main, [], judged(command="rm x"))
    path.unlink()
    draft = decision_file({"decision": "accept-unsandboxed"})
    done = run_tool(main, ["decide", COMMAND, "--decision-file", draft])
    assert (done.code, "shell_sandbox is strict" in done.stderr) == (1, True)


def test_the_same_decision_again_is_a_replay_and_another_is_refused(
    run_tool, judged, two, decision_file
):
    run_tool(main, [], judged(two))
    accept = decision_file({"decision": "accept"})
    first = run_tool(main, ["decide", FILES, "--decision-file", accept])
    assert run_tool(main, ["decide", FILES, "--decision-file", accept]) == first
    reject = decision_file({"decision": "reject"})
    other = run_tool(main, ["decide", FILES, "--decision-file", reject])
    kept = first.document
    assert (other.stdout, other.code) == ("", 1)
    assert other.stderr == (
        f"ch-stage: the candidate {FILES} was decided already: accept, at {kept['at']} by file"
        f" (process {kept['pid']}) — that decision stands; copy the payload again to decide anew\n"
    )


def test_edited_bytes_are_what_is_applied(run_tool, judged, two, project, decision_file, tmp_path):
    run_tool(main, [], judged(two))
    edited = tmp_path / "edited"
    edited.mkdir()
    (edited / "1").write_bytes(b"one\r\nzwei\r\n")
    (edited / "2").write_bytes(b"fresh\n")
    draft = decision_file({"decision": "accept-edited"})
    argv = ["decide", FILES, "--decision-file", draft, "--by", "editor", "--edited", str(edited)]
    record = run_tool(main, argv).document
    assert [(e["path"], e["candidate_sha256"]) for e in record["edited"]] == [
        ("n.txt", hexdigest(b"one\r\nzwei\r\n"))
    ]
    assert run_tool(main, argv).document == record
    done = run_tool(main, [], judged(two)).document
    assert done["candidates"][0]["entries"][0]["candidate_sha256"] == hexdigest(b"one\r\nzwei\r\n")
    assert tree(project)["n.txt"] == (b"one\r\nzwei\r\n", 0o640)
    assert tree(project)["sub/new.txt"][0] == b"fresh\n"
    assert run_tool(main, ["undo"]).code == 0
    assert tree(project) == {"n.txt": (b"one\r\ntwo\r\n", 0o640)}


def test_a_file_edited_before_the_decision_stops_the_apply(
    run_tool, judged, two, project, decision_file
):
    document = run_tool(main, [], judged(two)).document
    (project / "n.txt").write_bytes(b"mine\n")
    before = tree(project)
    path = decision_file({"decision": "accept"})
    done = run_tool(main, ["--exit-code", "--decision-file", path], document)
    assert done.code == 1
    assert done.document["problem"]["message"] == "n.txt: changed since it was staged"
    assert [e["outcome"] for e in done.document["applied"]["entries"]] == ["FAILED", "FAILED"]
    assert done.document["applied"]["rolled_back"] is True
    assert tree(project) == before


def test_another_candidate_that_waits_for_the_same_file_is_named(
    run_tool, judged, two, decision_file
):
    run_tool(main, [], judged(two))
    second = judged([{**NEW, "path": "n.txt", "op": "update"}])
    second["run_id"] = "r-00000000000000aa"
    run_tool(main, [], second)
    told = json.loads(run_tool(main, ["show", FILES]).stdout)
    assert [other["candidate_id"] for other in told["others"]] == ["r-00000000000000aa-files"]
    reject = decision_file({"decision": "reject"})
    run_tool(main, ["decide", "r-00000000000000aa-files", "--decision-file", reject])
    assert json.loads(run_tool(main, ["show", FILES]).stdout)["others"] == []


def test_a_change_that_cannot_be_staged_is_a_problem_and_leaves_no_candidate(
    run_tool, judged, state
):
    done = run_tool(main, ["--exit-code"], judged([EDIT]))
    assert done.code == 1
    assert done.document["problem"]["message"] == (
        "n.txt does not exist, and an edit never makes a file"
    )
    assert not (state / "candidates").exists()


def test_a_state_folder_that_cannot_be_written_stops_it(run_tool, judged, two, state, project):
    state.parent.mkdir(parents=True)
    state.write_text("a file\n")
    before = tree(project)
    done = run_tool(main, ["--exit-code"], judged(two))
    assert (done.code, done.document["problem"]["kind"]) == (74, "system")
    assert tree(project) == before


OLD_CHANGES = {
    "candidate_id": "r-1a2b3c4d",
    "run_id": "r-1a2b3c4d",
    "session_id": "demo",
    "entries": [
        {
            "path": "n.txt",
            "abs_path": "…",
            "declared_op": "update",
            "actual_op": "UPDATE",
            "mismatch": False,
            "base_hash": hexdigest(b"one\r\ntwo\r\n"),
            "candidate_hash": hexdigest(b"old way\n"),
            "lines_added": 1,
            "lines_removed": 2,
            "candidate_file": "candidates/1",
            "snapshot_file": "snapshots/1",
        }
    ],
    "shell_command": None,
    "cwd": "…",
    "timeout": 120,
    "clipboard_sha256": "a" * 64,
}


@pytest.fixture
def old_candidate(state, project, two):
    """A candidate as 0.3.0 left it."""
    folder = state / "candidates" / "r-1a2b3c4d"
    for name in ("candidates", "snapshots"):
        (folder / name).mkdir(parents=True)
    (folder / "candidates" / "1").write_bytes(b"old way\n")
    (folder / "snapshots" / "1").write_bytes(b"one\r\ntwo\r\n")
    manifest = json.loads(json.dumps(OLD_CHANGES))
    manifest["cwd"] = str(project)
    manifest["entries"][0]["abs_path"] = str(project / "n.txt")
    (folder / "manifest.json").write_text(json.dumps(manifest, indent=2))
    return folder


def test_a_candidate_of_030_is_listed_decided_applied_and_undone(
    run_tool, old_candidate, project, decision_file
):
    (line,) = run_tool(main, ["list"]).stdout.splitlines()
    listed = json.loads(line)
    assert (listed["candidate_id"], listed["status"]) == ("r-1a2b3c4d", "pending")
    told = json.loads(run_tool(main, ["show", "r-1a2b3c4d"]).stdout)
    assert told.items() >= listed.items()
    documents.check(told["document"], "run.schema.json#/$defs/parsed", "document")
    path = decision_file({"decision": "accept"})
    assert run_tool(main, ["decide", "r-1a2b3c4d", "--decision-file", path]).code == 0
    assert run_tool(main, ["apply", "r-1a2b3c4d"]).code == 0
    assert tree(project)["n.txt"] == (b"old way\n", 0o640)
    assert run_tool(main, ["undo", "r-1a2b3c4d"]).code == 0
    assert tree(project)["n.txt"] == (b"one\r\ntwo\r\n", 0o640)


def test_what_030_decided_is_not_acted_on_again(run_tool, old_candidate, judged, project):
    """It kept no record of what was done then."""
    (old_candidate / "decision.json").write_text('{"decision": "accept"}')
    before = tree(project)
    told = json.loads(run_tool(main, ["show", "r-1a2b3c4d"]).stdout)
    document = told["document"]
    document["verdict"] = judged([EDIT])["verdict"]
    for done in (
        run_tool(main, ["--exit-code"], document),
        run_tool(main, ["apply", "r-1a2b3c4d"]),
    ):
        assert "was decided under clip-harness 0.3.0" in done.stderr
        assert done.code == 1
    assert tree(project) == before


def test_a_candidate_of_030_is_shown_with_its_diff(run_tool, old_candidate):
    told = json.loads(run_tool(main, ["show", "r-1a2b3c4d"]).stdout)
    assert told["diffs"] == {
        "n.txt": "--- a/n.txt\n+++ b/n.txt\n@@ -1,2 +1 @@\n-one\r\n-two\r\n+old way\n"
    }


def test_the_step_goes_on_with_a_candidate_of_030(
    run_tool, old_candidate, judged, project, decision_file
):
    told = json.loads(run_tool(main, ["show", "r-1a2b3c4d"]).stdout)
    document = told["document"]
    document["verdict"] = judged([EDIT])["verdict"]
    path = decision_file({"decision": "accept"})
    done = run_tool(main, ["--decision-file", path], document)
    assert done.document["applied"]["rolled_back"] is False
    assert tree(project)["n.txt"][0] == b"old way\n"


def test_a_command_of_030_is_read(run_tool, state, project):
    folder = state / "candidates" / "r-99999999"
    folder.mkdir(parents=True)
    manifest = {
        "kind": "command",
        "candidate_id": "r-99999999",
        "run_id": "r-99999999",
        "session_id": None,
        "command": "make evidence",
        "shell_command": "make evidence",
        "cwd": str(project),
        "timeout": 120,
        "writes": None,
        "resolved_writes": [],
        "reason": "it changes files",
        "clipboard_sha256": "b" * 64,
        "files_section": "",
    }
    (folder / "manifest.json").write_text(json.dumps(manifest))
    told = json.loads(run_tool(main, ["show", "r-99999999"]).stdout)
    assert told["manifest"]["kind"] == "command"
    assert told["document"]["payload"]["command"] == "make evidence"


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "{}", '{"candidate_id": 1, "entries": []}', "\xff"]
)
def test_a_damaged_manifest_is_named_and_hides_no_other(run_tool, judged, state, text):
    run_tool(main, [], judged(command="rm x"))
    broken = state / "candidates" / "r-00000001"
    broken.mkdir()
    (broken / "manifest.json").write_text(text)
    done = run_tool(main, ["list"])
    assert [json.loads(line)["candidate_id"] for line in done.stdout.splitlines()] == [COMMAND]
    assert str(broken) in done.stderr
    assert done.code == 65


@pytest.mark.parametrize("name", ["", "../x", "r-1", "r-00000000/..", "R-00000000", "r-0000000g"])
def test_what_is_no_candidate_id_is_refused(run_tool, name):
    done = run_tool(main, ["show", name])
    assert (done.stdout, done.code) == ("", 64)


def test_an_unknown_candidate_is_refused(run_tool):
    done = run_tool(main, ["show", "r-00000000"])
    assert done.stderr == (
        "ch-stage: there is no candidate r-00000000 — list what waits with:"
        " clip-harness candidate list\n"
    )
    assert done.code == 1


@STEADY
@given(
    old=st.one_of(
        st.none(), st.binary(max_size=50), st.sampled_from([b"a\r\n" * 9, b"\xef\xbb\xbfx"])
    ),
    new=st.one_of(st.none(), st.text(max_size=50).map(str.encode)),
    mode=st.sampled_from([0o600, 0o644, 0o755, 0o4711]),
)
def test_stage_accept_undo_gives_the_old_tree(old, new, mode, project, state, judged, run_tool):
    """Byte for byte, mode included, whatever the bytes."""
    _empty(project)
    _empty(state)
    if old is not None:
        (project / "n.txt").write_bytes(old)
        (project / "n.txt").chmod(mode)
    if new is None and old is None:
        return
    change = {
        "path": "n.txt",
        "kind": "file",
        "op": "auto" if new is not None else "delete",
        "content": None if new is None else new.decode(),
    }
    before = tree(project)
    accept = project.parent / "decision.json"
    accept.write_text('{"decision": "accept"}')
    done = run_tool(main, ["--decision-file", str(accept)], judged([change]))
    assert "problem" not in done.document, done.stderr
    assert {name: data for name, (data, _) in tree(project).items()} == (
        {} if new is None else {"n.txt": new}
    )
    assert run_tool(main, ["undo"]).code == 0
    assert tree(project) == before


def _empty(folder):
    for path in sorted(folder.rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()


@STEADY
@given(st.recursive(st.none() | st.booleans() | st.text(max_size=5), st.lists, max_leaves=4))
def test_any_json_as_a_decision_is_refused(
    value,
):
    with pytest.raises(Problem) as caught:
        decision.parse(documents.encode(value), "it")
    assert caught.value.kind == "document"


def tampered(state, path, change):
    """Change a JSON file of the candidate."""
    file = state / "candidates" / FILES / path
    value = json.loads(file.read_text())
    change(value)
    file.write_text(json.dumps(value))


@pytest.mark.parametrize(
    ("path", "change", "said"),
    [
        ("manifest.json", lambda m: m["entries"][0].update(candidate_sha256="f" * 64), "manifest"),
        ("manifest.json", lambda m: m["entries"][0].update(abs_path="/tmp/elsewhere"), "manifest"),
        ("decision.json", lambda d: d.update(candidate_id="r-00000000-files"), "is no decision on"),
        ("decision.json", lambda d: d.update(subject_sha256="f" * 64), "is no decision on"),
        ("decision.json", lambda d: d.update(accepted_files=["zzz"]), "is no decision on"),
    ],
)
def test_what_is_not_what_was_decided_is_not_applied(
    run_tool, judged, two, project, state, decision_file, path, change, said
):
    run_tool(main, [], judged(two))
    accept = decision_file({"decision": "accept"})
    assert run_tool(main, ["decide", FILES, "--decision-file", accept]).code == 0
    before = tree(project)
    tampered(state, path, change)
    done = run_tool(main, ["apply", FILES])
    assert (done.stdout, said in done.stderr) == ("", True)
    assert done.code in (1, 65)
    assert tree(project) == before


def test_a_folder_that_is_gone_is_not_made_again(run_tool, judged, two, project, decision_file):
    run_tool(main, [], judged(two))
    accept = decision_file({"decision": "accept"})
    assert run_tool(main, ["decide", FILES, "--decision-file", accept]).code == 0
    project.rename(project.parent / "moved")
    done = run_tool(main, ["apply", FILES])
    assert (done.code, "is gone" in done.stderr, project.exists()) == (1, True, False)


def test_a_document_that_is_gone_is_missed(run_tool, judged, two, state):
    run_tool(main, [], judged(two))
    (state / "candidates" / FILES / "document.json").unlink()
    done = run_tool(main, ["show", FILES])
    assert (done.code, "is gone, so the candidate is no longer whole" in done.stderr) == (74, True)


def test_a_damaged_outcome_keeps_undo_from_guessing(run_tool, judged, two, state, decision_file):
    accept = decision_file({"decision": "accept"})
    run_tool(main, ["--decision-file", accept], judged(two))
    (state / "candidates" / FILES / "applied.json").write_text("{")
    done = run_tool(main, ["undo"])
    assert (done.code, "nobody can tell which was applied last" in done.stderr) == (65, True)
