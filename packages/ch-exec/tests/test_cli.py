"""Flags, exit codes, and the commands beside the pipe step."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from ch_exec import main
from ch_exec.cli import COMMAND_BYTES, USAGE
from hermetic import SCRIPTS

ROOT = Path(__file__).resolve().parents[1]


def test_help_is_the_manual_page(run_tool):
    """`--help` prints what the README shows."""
    done = run_tool(main, ["--help"])
    assert (done.stdout, done.stderr, done.code) == (USAGE, "", 0)
    assert f"```text\n{USAGE}```" in (ROOT / "README.md").read_text()
    for command in ("run", "stop", "backends"):
        assert run_tool(main, [command, "--help"]) == done


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["--nonsense"], "unknown option --nonsense — see --help for the options"),
        (["word"], "unexpected word 'word' — see --help"),
        (["--live"], "--live needs a value — see --help for the options"),
        (["--live", "sometimes"], "--live is auto or never, got 'sometimes'"),
        (["run"], "give either --command or --file — see ch-exec --help"),
        (["run", "--command", "a", "--file", "b"], "give either --command or --file — see ch-exec --help"),
        (["run", "--command", ""], "the command is empty, or holds a NUL character"),
        (["run", "--command", "a", "b"], "the command is given with --command or --file, not as a word"),
        (["run", "curl -H 'Authorization: abc'"], "the command is given with --command or --file, not as a word"),
        (["stop"], "name the run with --run-id — run ids look like r-6a1b2c3d4e5f6071"),
        (["stop", "--run-id", "../x"], "name the run with --run-id — run ids look like r-6a1b2c3d4e5f6071"),
        (["stop", "r-00000001"], "unexpected word 'r-00000001' — see ch-exec --help"),
        (["run", "--command", "a", "--timeout", "0"], "--timeout is 1 to 86400 seconds, got '0'"),
        (["run", "--command", "a", "--timeout", "1.5"], "--timeout is 1 to 86400 seconds, got '1.5'"),
        (["run", "--command", "a", "--timeout", "9" * 5000], f"--timeout is 1 to 86400 seconds, got '{'9' * 5000}'"),
        (["backends", "x"], "unexpected word 'x' — see ch-exec --help"),
    ],
)  # fmt: skip
def test_called_wrongly(run_tool, state, argv, message):
    """64, one line, and nothing is made."""
    assert run_tool(main, argv) == ("", f"ch-exec: {message}\n", 64)
    assert not state.exists()


def without(key):
    def change(document):
        del document[key]

    return change


def unknown_decision(document):
    document["verdict"]["parts"][0]["decision"] = "perhaps"


def unknown_field(document):
    document["approved"] = True


@pytest.mark.parametrize(
    "change",
    [without("verdict"), without("decisions"), without("candidates"), without("run_id"),
     unknown_decision, unknown_field],
    ids=["no verdict", "no decisions", "no candidates", "no run id", "decision", "field"],
)  # fmt: skip
def test_a_document_that_is_not_whole_is_refused(pipe_step, staged, state, change):
    """65, nothing on standard output, and nothing ran."""
    document = staged("echo x > made")
    change(document)
    done = pipe_step(document)
    assert (done.stdout, done.code) == ("", 65)
    assert done.stderr.startswith("ch-exec: run document: ")
    assert not Path("made").exists()
    assert not state.exists()


@pytest.mark.parametrize(
    ("change", "answer"),
    [
        ({"decision": "deny"}, 1),
        ({"decision": "ask"}, 3),
    ],
)
def test_what_may_not_run_passes_untouched(pipe_step, staged, state, change, answer):
    """Denied and waiting documents go through as they came, and nothing ran."""
    document = staged("echo x > made", **change)
    done = pipe_step(document, "--exit-code")
    assert (done.document, done.stderr, done.code) == (document, "", answer)
    assert not Path("made").exists()
    assert not state.exists()


def test_a_problem_passes_untouched(pipe_step, staged, state):
    """The first cause is the one that is told."""
    problem = {"tool": "ch-gate", "kind": "settings", "message": "no", "hint": None, "line": None}
    document = {**staged("echo x > made"), "problem": problem}
    done = pipe_step(document, "--exit-code")
    assert (done.document, done.stderr, done.code) == (document, "", 65)
    assert not state.exists()


def problem_of(done):
    document = done.document
    assert "result" not in document
    return document["problem"]


def test_a_folder_that_is_gone(pipe_step, staged, project, state):
    """The problem names the folder."""
    document = {**staged("true"), "cwd": str(project / "gone")}
    assert problem_of(pipe_step(document)) == {
        "tool": "ch-exec",
        "kind": "refused",
        "message": f"the working folder {project / 'gone'} does not exist",
        "hint": "nothing was run; make it, or name another with cwd:",
        "line": None,
    }
    assert not state.exists()


def test_another_shell_than_the_judged_one(pipe_step, staged, user_settings, state):
    """A verdict on bash does not hold for dash."""
    document = staged("true")
    user_settings({"shell": "dash"})
    problem = problem_of(pipe_step(document))
    assert (problem["kind"], problem["hint"]) == (
        "refused", "nothing was run; use one shell setting for ch-gate and ch-exec",
    )  # fmt: skip
    assert not state.exists()


def test_settings_that_cannot_be_read(pipe_step, staged, user_settings, state):
    """Nothing runs, and the file is named."""
    document = staged("true")
    path = user_settings("{")
    problem = problem_of(pipe_step(document))
    assert problem["kind"] == "settings"
    assert problem["message"].startswith(str(path))
    assert not state.exists()


def test_the_timeout_of_the_settings(pipe_step, staged, user_settings):
    """Without a header the setting counts."""
    document = staged("sleep 60")
    user_settings({"shell": "bash", "timeout": 1})
    assert pipe_step(document).document["result"]["exit_desc"] == "timed out after 1 s"


@pytest.mark.parametrize(
    ("command", "code", "own"),
    [("echo out; echo err >&2", 0, 0), ("exit 7", 1, 7), ("kill -9 $$", 1, 137)],
)
def test_run_prints_the_output(run_tool, staged, state, *, command, code, own):
    """`run` gives the output; the exit code says yes or no, or is the command's own."""
    printed = "out\nerr\n" if "echo" in command else ""
    assert run_tool(main, ["run", "--command", command]) == (printed, "", code)
    assert run_tool(main, ["run", "--exit-code", "--command", command]) == (printed, "", own)
    assert list((state / "open").iterdir()) == []
    assert len(list((state / "runs").iterdir())) == 2


def test_run_from_a_file_elsewhere_with_a_timeout(run_tool, staged, tmp_path):
    """The text may come from a file or standard input, the folder from --cwd."""
    script = tmp_path / "script.sh"
    script.write_text("pwd\nsleep 60\n")
    argv = ["run", "--cwd", str(tmp_path), "--timeout", "1", "--exit-code"]
    assert run_tool(main, [*argv, "--file", str(script)]) == (f"{tmp_path}\n", "", 124)
    assert run_tool(main, ["run", "--file", "-"], "echo in") == ("in\n", "", 0)


def test_run_as_json_is_a_result(run_tool, staged):
    """--json prints the result section alone."""
    from ch_contract import documents

    done = run_tool(main, ["run", "--json", "--command", "exit 5"])
    documents.check(done.document, "result.schema.json", "the result")
    assert (done.document["exit_code"], done.stderr, done.code) == (5, "", 1)


TOO_LONG = (
    "is longer than 4,194,304 bytes, too long for a command"
    " — nothing was run; let a short command start the file"
)


@pytest.mark.parametrize(
    ("argv", "stdin", "line", "code"),
    [
        (["--file", "gone"], b"", "cannot read gone: there is no such file", 74),
        (["--file", "-"], b"a\xff", "- is not UTF-8 at byte 1", 65),
        (["--file", "-"], b":" * (COMMAND_BYTES + 1), f"- {TOO_LONG}", 65),
        (["--file", "/dev/zero"], b"", "cannot read /dev/zero: it is neither a file nor a pipe", 74),
        (["--file", "/"], b"", "cannot read /: it is neither a file nor a pipe", 74),
        (["--command", "a", "--cwd", "/gone"], b"", "the working folder /gone does not exist — nothing was run; make it, or name another with cwd:", 1),
    ],
)  # fmt: skip
def test_run_that_cannot(run_tool, staged, state, *, argv, stdin, line, code):
    """One line, and nothing is made."""
    assert run_tool(main, ["run", *argv], stdin) == ("", f"ch-exec: {line}\n", code)
    assert not state.exists()


def test_a_file_that_is_too_long(run_tool, staged, state, tmp_path):
    """However long it is, no more than a command's length is read."""
    script = tmp_path / "long.sh"
    with script.open("wb") as file:
        file.truncate(1 << 40)
    done = run_tool(main, ["run", "--file", str(script)])
    assert done == ("", f"ch-exec: {script} {TOO_LONG}\n", 65)
    assert not state.exists()


def test_run_from_a_pipe_of_the_shell(staged):
    """As <(…) gives it."""
    text = f"{SCRIPTS}/ch-exec run --file <(echo 'echo piped')"
    done = subprocess.run(["bash", "-c", text], capture_output=True, check=False)
    assert (done.stdout, done.stderr, done.returncode) == (b"piped\n", b"", 0)


def test_run_where_the_folder_was_removed(run_tool, staged, state, tmp_path, monkeypatch):
    """A sentence, and a whole path helps."""
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    line = (
        "ch-exec: the working folder was removed"
        " — nothing was run; go to another, or name one with --cwd as a whole path\n"
    )
    assert run_tool(main, ["run", "--command", "pwd"]) == ("", line, 1)
    assert run_tool(main, ["run", "--cwd", "x", "--command", "pwd"]) == ("", line, 1)
    assert not state.exists()
    argv = ["run", "--cwd", str(tmp_path), "--command", "pwd"]
    assert run_tool(main, argv) == (f"{tmp_path}\n", "", 0)


def test_a_bug_report_does_not_hold_the_command(run_tool, staged, state, monkeypatch):
    """The command may hold a secret."""

    def fail(*_arguments, **_options):
        raise ZeroDivisionError

    monkeypatch.setattr("ch_exec.cli._run", fail)
    done = run_tool(main, ["run", "--command", "curl -H 'Authorization: abc'"])
    assert done.code == 70
    (report,) = (state / "bugs").iterdir()
    assert "Authorization" not in report.read_text()


def test_the_backends_and_their_contracts(run_tool):
    """Every term of every contract, as text and as JSON."""
    done = run_tool(main, ["backends", "--json"])
    (local,) = done.document["backends"]
    assert (done.document["format"], done.code) == ("clip-harness/backends@1", 0)
    assert {name: local[name] for name in ("name", "modes", "isolation")} == {
        "name": "local", "modes": ["unsandboxed"], "isolation": "none",
    }  # fmt: skip
    text = run_tool(main, ["backends"]).stdout
    assert [line.split(":")[0].replace(" ", "_") for line in text.splitlines()] == list(local)


def test_a_contradiction_is_a_problem_and_runs_nothing(pipe_step, staged, state):
    """An allowed document always leaves with a result or with a problem."""
    document = staged("echo x > made")
    document["verdict"]["parts"][0]["decision"] = "deny"
    assert problem_of(pipe_step(document))["kind"] == "refused"
    assert not state.exists()


def test_an_accepted_command_runs_and_says_under_what(pipe_step, staged, state):
    """The acceptance is in the result and in the record."""
    import hashlib

    text = "echo yes"
    accepted = {
        "candidate_id": "r-6a1b2c3d00000001-files", "decision": "accept-unsandboxed", "reason": None,
        "accepted_files": None, "subject_sha256": hashlib.sha256(text.encode()).hexdigest(),
        "by": "terminal", "at": "2026-11-30T12:00:00.000+00:00",
    }  # fmt: skip
    document = staged(text, decision="ask", decisions=[accepted])
    done = pipe_step(document, "--exit-code")
    record = json.loads((state / "runs" / document["run_id"] / "run.json").read_bytes())
    assert (record["approval"], record["approval_id"]) == (
        "accept-unsandboxed",
        "r-6a1b2c3d00000001-files",
    )
    assert (done.document["result"]["approval"], done.code) == ("accept-unsandboxed", 0)


GOAL = (
    "the action goal-set needs ch-goal, and none stands in the pipe",
    "nothing was done; put `ch-goal guard` before ch-gate and `ch-goal` after ch-exec",
)


def test_a_goal_action_is_not_passed_on_in_silence(pipe_step, staged, state):
    """Without a ch-goal in the pipe the document leaves with a problem."""
    document = staged("true")
    del document["verdict"]
    document["payload"].update(kind="goal", form="fenced", command=None, body="Ship it\n")
    document["payload"]["metadata"].update(session="s1", action="goal-set")
    problem = problem_of(pipe_step(document))
    assert (problem["kind"], problem["message"], problem["hint"]) == ("refused", *GOAL)
    assert not state.exists()


SECRET = "curl -H 'Authorization: Bearer abcdefgh'"


def a_list(document):
    document["payload"]["command"] = [SECRET]


def an_object(document):
    document["verdict"]["parts"][0] = {"kind": "command", "subject": SECRET}


def a_wrong_kind(document):
    document["payload"]["kind"] = SECRET


def an_unknown_decision(document):
    document["verdict"]["parts"][0]["matches"] = SECRET


@pytest.mark.parametrize("change", [a_list, an_object, a_wrong_kind, an_unknown_decision])
def test_what_is_said_of_a_bad_document_does_not_hold_the_command(pipe_step, staged, change):
    """Complaints end up in logs and in bug reports; commands hold secrets."""
    document = staged(SECRET)
    change(document)
    done = pipe_step(document)
    assert (done.stdout, done.code) == ("", 65)
    assert "Authorization" not in done.stderr
    assert "abcdefgh" not in done.stderr


def test_a_backend_without_a_contract_is_refused(pipe_step, staged, state, monkeypatch):
    """What is not promised is not used."""
    from ch_exec.backends import local

    monkeypatch.setattr(local, "CONTRACT", {**local.CONTRACT, "recovery": ""})
    problem = problem_of(pipe_step(staged("true")))
    assert (problem["kind"], problem["message"]) == (
        "system", "the backend local does not declare recovery",
    )  # fmt: skip
    assert not state.exists()


FORBIDDEN = {
    "argparse", "asyncio", "dataclasses", "datetime", "hashlib", "importlib.metadata", "inspect",
    "jsonschema", "logging", "pathlib", "random", "rich", "shutil", "sqlite3", "string",
    "subprocess", "tempfile", "traceback", "typing", "urllib", "uuid",
}  # fmt: skip


def test_a_plain_run_loads_little(staged):
    """What a whole run of `true` has imported when it ends."""
    code = (
        "import sys; before = set(sys.modules); import ch_exec\n"
        "from ch_contract.tool import own_streams\n"
        "ch_exec.main([], own_streams())\n"
        "print(*sorted(set(sys.modules) - before), file=sys.stderr)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        input=json.dumps(staged("true")).encode(),
        capture_output=True,
        check=True,
    )
    loaded = set(done.stderr.decode().split())
    assert json.loads(done.stdout)["result"]["exit_code"] == 0
    assert not loaded & FORBIDDEN
    assert not loaded & {"ch_exec.live", "_hashlib", "ctypes"}
