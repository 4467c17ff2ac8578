"""From a parked payload to its end: decided later, by flags, at a terminal, or never."""

from __future__ import annotations

import io
import json

import pytest

import faults
from ch_contract.tool import Streams
from clip_harness import cli
from flows import scrub_text

CHANGES = """```file
path: src/new.py
op: create
print("new")
```
```edit
path: notes.txt
old_string:
two
new_string:
TWO
```
"""
MIXED = CHANGES + "```shell\nsession: demo\ncat src/new.py; rm data.txt\n```\n"
OLD = {"notes.txt": "one\ntwo\n", "data.txt": "data\n"}
DONE = {"notes.txt": "one\nTWO\n", "data.txt": "data\n", "src/new.py": 'print("new")\n'}


@pytest.fixture(params=["in-process", "spawn"])
def runner(request, monkeypatch):
    """Both runners."""
    monkeypatch.setenv("CLIP_HARNESS_RUNNER", request.param)
    return request.param


@pytest.fixture
def clip(project, tmp_path, monkeypatch, runner):
    """A project, and a function that calls the program: gives its code, output and complaints."""
    for name, text in OLD.items():
        (project / name).write_text(text)
    clipboard = tmp_path / "clipboard.txt"
    monkeypatch.setenv("CLIP_HARNESS_CLIPBOARD_FILE", str(clipboard))

    def call(*argv, copied=None):
        if copied is not None:
            clipboard.write_text(copied)
        streams = Streams(io.BytesIO(), io.BytesIO(), io.BytesIO())
        code = cli.main(list(argv), streams)
        return code, streams.stdout.getvalue().decode(), streams.stderr.getvalue().decode()

    call.clipboard = clipboard
    return call


def files(project):
    return {
        str(path.relative_to(project)): path.read_text()
        for path in project.rglob("*")
        if path.is_file()
    }


def ledger(state):
    lines = (state / "ledger.jsonl").read_text().splitlines()
    return [json.loads(line) for line in lines]


def events(state):
    return [line["event"] for line in ledger(state)]


def waiting(clip):
    code, out, said = clip("candidate", "list", "--json")
    assert (code, said) == (0, "")
    return [json.loads(line)["candidate_id"] for line in out.splitlines()]


def test_changes_park_and_are_applied_on_a_later_accept(clip, project, state):
    code, out, said = clip(copied=CHANGES)
    assert (code, said, files(project)) == (3, "", OLD)
    assert clip.clipboard.read_text() == out
    (name,) = waiting(clip)
    assert f"It waits for a person: clip-harness candidate review {name}" in out
    assert not list((state / "open").iterdir())
    code, out, said = clip("candidate", "review", name, "--decision", "accept")
    assert (code, said, files(project)) == (0, "", DONE)
    assert scrub_text(out) == (
        "```result\n[applied · 2 files]\nfiles:\n✓ src/new.py — NEW\n--- /dev/null\n"
        '+++ b/src/new.py\n@@ -0,0 +1 @@\n+print("new")\n✓ notes.txt — UPDATED\n--- a/notes.txt\n'
        "+++ b/notes.txt\n@@ -1,2 +1,2 @@\n one\n-two\n+TWO\n```\n"
    )
    assert clip.clipboard.read_text() == out
    assert waiting(clip) == []
    assert events(state) == [
        "LedgerOpened", "PayloadCaptured", "ReviewPending", "RunResumed", "PostRun"
    ]  # fmt: skip
    assert ledger(state)[-1]["review"][0]["files"] == {
        "new": 1, "updated": 1, "deleted": 0, "unchanged": 0, "rejected": 0, "failed": 0
    }  # fmt: skip
    assert not list((state / "open").iterdir())


def test_a_rejection_tells_the_chat_what_and_why(clip, project, state):
    clip(copied=CHANGES)
    (name,) = waiting(clip)
    argv = ("candidate", "review", name, "--decision", "reject", "--reason", "use a class")
    code, out, said = clip(*argv)
    assert (code, said, files(project)) == (1, "", OLD)
    assert out.startswith("```result\n[rejected]\nuse a class\nfiles:\n✗ src/new.py — REJECTED\n")
    assert '+print("new")\n✗ notes.txt — REJECTED\n' in out
    assert clip.clipboard.read_text() == out
    assert events(state)[-1] == "PreRun"
    assert ledger(state)[-1]["review"][0]["decision"] == "reject"


def test_some_files_alone(clip, project):
    clip(copied=CHANGES)
    (name,) = waiting(clip)
    argv = ("candidate", "review", name, "--decision", "accept", "--file", "notes.txt")
    code, out, _ = clip(*argv)
    assert code == 0
    assert "[applied · 1 of 2 files]" in out
    assert "✗ src/new.py — REJECTED" in out
    assert files(project) == {**OLD, "notes.txt": "one\nTWO\n"}


def test_decide_records_and_apply_acts(clip, project):
    clip(copied=CHANGES)
    (name,) = waiting(clip)
    assert clip("candidate", "apply", name)[0] == 1
    code, out, _ = clip("candidate", "decide", name, "--decision", "accept")
    assert code == 0
    assert out == f"{name}: accept; act on it with: clip-harness candidate apply {name}\n"
    assert files(project) == OLD
    assert clip("candidate", "apply", name)[0] == 0
    assert files(project) == DONE
    code, _, said = clip("candidate", "apply", name)
    assert code == 1
    assert f"{name} was applied already" in said


def test_a_mixed_payload_asks_twice_and_runs_last(clip, project, state):
    code, _, _ = clip(copied=MIXED)
    assert code == 3
    (name,) = waiting(clip)
    code, out, _ = clip("candidate", "review", name, "--decision", "accept")
    assert code == 3
    assert files(project) == DONE
    (command,) = waiting(clip)
    assert command == name.replace("-files", "-command")
    assert "[applied · 2 files]" in out
    assert f"It waits for a person: clip-harness candidate review {command}" in out
    argv = ("candidate", "review", command, "--decision", "accept-unsandboxed")
    code, out, _ = clip(*argv)
    assert code == 0
    assert out.startswith("```result\n$ cat src/new.py; rm data.txt (reviewed · unsandboxed)\n")
    assert 'print("new")\n[exit 0 · ' in out
    assert "✓ notes.txt — UPDATED" in out
    assert files(project) == {k: v for k, v in DONE.items() if k != "data.txt"}
    assert events(state)[2:] == [
        "ReviewPending", "RunResumed", "ReviewPending", "RunResumed", "PostRun"
    ]  # fmt: skip


def test_a_mixed_payload_whose_files_are_rejected_runs_nothing(clip, project):
    clip(copied=MIXED.replace("; rm data.txt", ""))
    (name,) = waiting(clip)
    code, out, _ = clip("candidate", "review", name, "--decision", "reject")
    assert code == 1
    assert "So the command was not run." in out
    assert files(project) == OLD


def test_an_allowed_command_runs_after_its_files(clip):
    clip(copied=MIXED.replace("; rm data.txt", ""))
    (name,) = waiting(clip)
    code, out, _ = clip("candidate", "review", name, "--decision", "accept")
    assert code == 0
    assert 'print("new")\n[exit 0 · ' in out


def test_a_sandboxed_accept_fails_closed_until_there_is_a_sandbox(clip, project):
    clip(copied="rm data.txt")
    (name,) = waiting(clip)
    code, out, said = clip("candidate", "review", name, "--decision", "accept")
    assert (code, out) == (74, "")
    assert "this version has no sandbox" in said
    assert files(project) == OLD
    # nothing was decided, so it can still be accepted in the other way, once
    argv = ("candidate", "review", name, "--decision", "accept-unsandboxed")
    assert clip(*argv)[0] == 0
    assert files(project) == {"notes.txt": OLD["notes.txt"]}
    code, _, said = clip("candidate", "apply", name)
    assert (code, f"{name} was handed over to run already" in said) == (1, True)


@pytest.mark.parametrize("decision", ["reject", None, "cancelled"])
@pytest.mark.parametrize("allowlist", [[], ["cat *", "rm *"]])
def test_the_command_of_a_mixed_payload_stays_held_when_settings_loosen(
    clip, project, user_settings, decision, allowlist
):
    clip(copied=MIXED)
    (name,) = waiting(clip)
    assert clip("candidate", "review", name, "--decision", "accept")[0] == 3
    (command,) = waiting(clip)
    user_settings({"allowlist": allowlist})
    if decision == "reject":
        assert clip("candidate", "review", command, "--decision", decision)[0] == 1
    elif decision == "cancelled":
        assert clip("candidate", "cancel", command)[0] == 0
    else:
        assert waiting(clip) == [command]
    assert files(project) == DONE


def test_settings_that_loosen_before_the_files_are_accepted_lift_no_review(
    clip, project, user_settings
):
    clip(copied=MIXED)
    (name,) = waiting(clip)
    user_settings({"allowlist": ["cat *", "rm *"]})
    assert clip("candidate", "review", name, "--decision", "accept")[0] == 3
    assert files(project) == DONE
    assert len(waiting(clip)) == 1


def test_strict_set_after_the_decision_counts(clip, project, user_settings):
    clip(copied="rm data.txt")
    (name,) = waiting(clip)
    argv = ("candidate", "decide", name, "--decision", "accept-unsandboxed")
    assert clip(*argv)[0] == 0
    user_settings({"shell_sandbox": "strict"})
    code, out, _ = clip("candidate", "apply", name)
    assert (code, "shell_sandbox is strict" in out) == (1, True)
    assert files(project) == OLD


def test_edited_files_are_given_by_their_paths(clip, project, tmp_path):
    clip(copied=CHANGES)
    (name,) = waiting(clip)
    edited = tmp_path / "edited"
    edited.mkdir()
    (edited / "notes.txt").write_text("one\nzwei\n")
    argv = ("candidate", "review", name, "--decision", "accept-edited")
    code, _, said = clip(*argv)
    assert (code, "accept-edited needs edited files" in said) == (1, True)
    code, out, _ = clip(*argv, "--edited", str(edited))
    assert (code, "+zwei" in out) == (0, True)
    assert files(project) == {**DONE, "notes.txt": "one\nzwei\n"}


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (("apply", "ID", "--decision", "reject"), "candidate apply takes no --decision"),
        (("cancel", "ID", "--file", "x"), "candidate cancel takes no --file"),
        (("list", "--reason", "x"), "candidate list takes no --reason"),
        (("review", "ID", "--decision", "always-allow"), "--decision always-allow is none for"),
        (("decide", "ID", "--decision", "accept-unsandboxed"), "is none for file changes"),
    ],
)
def test_what_an_action_does_not_know_is_refused(clip, project, argv, said):
    clip(copied=CHANGES)
    (name,) = waiting(clip)
    code, out, complaint = clip("candidate", *(name if w == "ID" else w for w in argv))
    assert (code, out) == (64, "")
    assert said in complaint
    assert files(project) == OLD


def test_an_apply_that_cannot_be_settled_stops_the_next_run_there_alone(
    clip, project, state, tmp_path, monkeypatch
):
    clip(copied=CHANGES)
    (name,) = waiting(clip)
    (state / "applying").mkdir()
    intent = state / "applying" / f"{name}.apply.json"
    intent.write_text("{")
    code, out, _ = clip(copied="touch made.txt")
    assert code == 74
    assert f"could not be settled: {intent} is not JSON" in out
    assert "so nothing was run" in out
    assert files(project) == OLD
    elsewhere = tmp_path / "other" / "place"
    elsewhere.mkdir(parents=True)
    monkeypatch.chdir(elsewhere)
    code, out, said = clip(copied="echo runs")
    assert (code, "runs\n[exit 0" in out, str(intent) in said) == (0, True, True)


def test_strict_takes_no_unsandboxed_accept(clip, project, user_settings):
    user_settings({"shell_sandbox": "strict"})
    clip(copied="rm data.txt")
    (name,) = waiting(clip)
    argv = ("candidate", "review", name, "--decision", "accept-unsandboxed")
    code, _, said = clip(*argv)
    assert code == 1
    assert "shell_sandbox is strict" in said
    assert files(project) == OLD
    assert waiting(clip) == [name]


def test_the_stricter_verdict_counts_when_settings_change_meanwhile(clip, project, user_settings):
    clip(copied="rm data.txt")
    (name,) = waiting(clip)
    user_settings({"denylist": ["rm *"]})
    argv = ("candidate", "review", name, "--decision", "accept-unsandboxed")
    code, out, _ = clip(*argv)
    assert code == 2
    assert "[denied · rule=denylist]" in out
    assert files(project) == OLD


def test_a_looser_verdict_does_not_lift_the_review(clip, project, user_settings):
    clip(copied="rm data.txt")
    (name,) = waiting(clip)
    user_settings({"allowlist": ["rm *"]})
    assert clip("candidate", "decide", name, "--decision", "reject")[0] == 0
    assert clip("candidate", "apply", name)[0] == 1
    assert files(project) == OLD


def test_cancel_withdraws_and_is_recorded(clip, project, state):
    clip(copied=CHANGES)
    (name,) = waiting(clip)
    assert clip("candidate", "cancel", name)[0] == 0
    assert waiting(clip) == []
    assert ledger(state)[-1]["review"][0]["decision"] == "cancelled"
    assert files(project) == OLD
    code, _, said = clip("candidate", "review", name, "--decision", "accept")
    assert (code, "was decided already: cancelled" in said) == (1, True)


def test_undo_puts_the_files_back_and_the_ledger_says_so(clip, project, state):
    clip(copied=CHANGES)
    (name,) = waiting(clip)
    clip("candidate", "review", name, "--decision", "accept")
    code, out, said = clip("undo")
    assert (code, said) == (0, "")
    assert out == "src/new.py is gone again\nnotes.txt is as before\n"
    assert files(project) == OLD
    assert not (project / "src").exists()
    assert (events(state)[-1], ledger(state)[-1]["note"]) == (
        "Undone",
        "put back: src/new.py, notes.txt",
    )
    assert clip("undo")[0] == 1


def test_show_tells_everything(clip):
    clip(copied=MIXED)
    (name,) = waiting(clip)
    code, out, _ = clip("candidate", "show", name)
    assert code == 0
    for said in ("status: pending", "NEW src/new.py (+1 -0)", '+print("new")', "session: demo"):
        assert said in out
    assert clip("candidate", "show", "r-00000000")[0] == 1
    assert clip("candidate", "show")[0] == 64
    assert clip("candidate", "dance")[0] == 64
    assert clip("candidate")[0] == 64


def test_without_a_terminal_review_says_how_to_decide(clip):
    clip(copied=CHANGES)
    (name,) = waiting(clip)
    code, out, said = clip("candidate", "review", name)
    assert (code, out) == (1, "")
    assert f"clip-harness candidate review {name} --decision WORD, one of: accept, " in said


def test_a_change_that_cannot_be_staged_is_told_and_waits_for_nobody(clip, project):
    text = "```edit\npath: notes.txt\nold_string:\nthree\nnew_string:\n3\n```\n"
    code, out, _ = clip(copied=text)
    assert code == 1
    assert out.startswith(
        "```result\n[not applied · refused]\nnotes.txt does not hold old_string\n"
    )
    assert waiting(clip) == []
    assert files(project) == OLD


def test_a_file_changed_meanwhile_is_not_written_over(clip, project):
    clip(copied=CHANGES)
    (name,) = waiting(clip)
    (project / "notes.txt").write_text("mine\n")
    code, out, _ = clip("candidate", "review", name, "--decision", "accept")
    assert code == 1
    assert "[not applied · refused]\nnotes.txt: changed since it was staged\n" in out
    assert "✗ notes.txt — FAILED" in out
    assert files(project) == {**OLD, "notes.txt": "mine\n"}


@pytest.mark.heavy
def test_killed_while_applying_the_next_start_settles_it_and_the_ledger_says_which(
    clip, project, state, runner
):
    """SIGKILL at each change of the disk from the decision to the block."""
    if runner == "spawn":
        pytest.skip("the fault is put into one process")
    seen = set()
    for number in range(1, 400):
        for path in sorted(project.rglob("*"), reverse=True):
            path.rmdir() if path.is_dir() else path.unlink()
        for path in sorted(state.rglob("*"), reverse=True):
            path.rmdir() if path.is_dir() else path.unlink()
        for name, text in OLD.items():
            (project / name).write_text(text)
        clip(copied=CHANGES)
        (name,) = waiting(clip)
        argv = ("candidate", "review", name, "--decision", "accept", "--no-copy")
        ended, _, _ = faults.forked(lambda argv=argv: clip(*argv)[0], number, "after")
        if not ended:
            break
        # the next start: any run at all
        clip("run", "--command", "true", "--no-copy")
        assert files(project) in (OLD, DONE), number
        is_done = files(project) == DONE
        notes = [line["note"] or "" for line in ledger(state)]
        told = [line for line in ledger(state) if line["review"] or line["note"]]
        assert told, number
        kept = (
            json.loads((state / "candidates" / name / "applied.json").read_text())
            if (state / "candidates" / name / "applied.json").exists()
            else None
        )
        assert is_done == (kept is not None and kept["state"] == "done"), number
        last = [line for line in ledger(state) if line["run_id"] == name[: -len("-files")]][-1]
        if last["event"] == "RunIndeterminate":
            said = "were applied" if is_done else "put back"
            assert kept is None or said in last["note"], (number, notes)
        seen.add((is_done, last["event"]))
        assert not list((state / "applying").glob("*.json")) if (state / "applying").exists() else 1
        assert not list(project.rglob(".ch-*")), number
    assert seen >= {(False, "RunIndeterminate"), (True, "RunIndeterminate")}, seen


def test_a_diff_that_is_gone_is_not_shown_as_nothing(clip, state):
    clip(copied=CHANGES)
    (name,) = waiting(clip)
    (state / "candidates" / name / "diffs" / "1.diff").unlink()
    code, out, said = clip("candidate", "show", name)
    assert (code, out) == (74, "")
    assert "1.diff is gone, so what would change cannot be shown" in said
