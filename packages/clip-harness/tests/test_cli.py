"""The commands of clip-harness: flags, exit codes, and what they leave behind."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import time

import pytest

from ch_contract import processes
from clip_harness import main
from hermetic import SCRIPTS


@pytest.fixture
def clipboard(tmp_path, monkeypatch):
    """A file that is the clipboard."""
    path = tmp_path / "clipboard.txt"
    monkeypatch.setenv("CLIP_HARNESS_CLIPBOARD_FILE", str(path))
    return path


def block(text):
    """A block with its durations scrubbed."""
    return re.sub(r"\d+\.\d+s", "0.0s", text)


HELLO = "```result\n$ echo hello\nhello\n[exit 0 · 0.0s]\n```\n"


def test_without_arguments_the_clipboard_is_run_and_replaced(run_tool, clipboard, project):
    clipboard.write_text("echo hello")
    done = run_tool(main)
    assert (block(done.stdout), done.stderr, done.code) == (HELLO, "", 0)
    assert clipboard.read_text() == done.stdout


@pytest.mark.parametrize("source", ["--clipboard", "--stdin", "--file", "--command"])
def test_all_four_sources_give_the_same_block(run_tool, clipboard, project, source, tmp_path):
    text = "echo hello"
    clipboard.write_text(text if source == "--clipboard" else "something else")
    path = tmp_path / "payload.txt"
    path.write_text(text)
    words = {"--file": [str(path)], "--command": [text]}.get(source, [])
    done = run_tool(main, ["run", source, *words], text if source == "--stdin" else "")
    assert (block(done.stdout), done.code) == (HELLO, 0)
    assert clipboard.read_text() == done.stdout


def test_no_copy_leaves_the_clipboard_alone(run_tool, clipboard, project):
    clipboard.write_text("mine")
    assert run_tool(main, ["run", "--command", "echo hello", "--no-copy"]).code == 0
    assert clipboard.read_text() == "mine"


def test_a_command_from_the_command_line_is_never_read_as_a_payload(run_tool, clipboard, project):
    done = run_tool(main, ["run", "--command", "session: x\necho hi"])
    assert done.code == 0
    assert done.stdout.startswith("```result\n$ session: x\n> echo hi\n")
    assert "session:: command not found" in done.stdout


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("true", 0),
        ("false", 1),
        ("rm x", 3),
        ("timeout: soon\nls", 65),
        ("clip-harness: ignore\nls", 65),
        ("", 65),
        ("```cancel```", 1),
        ("goal: x\nls", 1),
    ],
)
def test_exit_codes(run_tool, clipboard, project, text, code):
    clipboard.write_text(text)
    done = run_tool(main)
    assert done.code == code
    assert clipboard.read_text() == done.stdout


def test_a_denied_command_is_exit_2(run_tool, clipboard, project, user_settings):
    user_settings({"denylist": ["touch *"]})
    clipboard.write_text("touch made.txt")
    assert run_tool(main).code == 2
    assert list(project.iterdir()) == []


def test_the_result_of_the_last_run_is_not_run_and_stays(run_tool, clipboard, project):
    clipboard.write_text("echo hello")
    first = run_tool(main)
    second = run_tool(main)
    assert second.code == 65
    assert clipboard.read_text() == first.stdout


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["nonsense"], "unexpected word 'nonsense'"),
        (["run"], "exactly one of --clipboard, --stdin, --file and --command is needed"),
        (["run", "--stdin", "--clipboard"], "exactly one of"),
        (["run", "--nope"], "unknown option --nope"),
        (["run", "--command"], "--command needs a value"),
        (["--runner", "magic"], "unknown runner 'magic'"),
        (["receipt", "--run", "r-1", "--tail", "3"], "--run and --tail do not go together"),
        (["receipt", "forge"], "unexpected word 'forge'"),
    ],
)
def test_a_wrong_call_is_exit_64_and_touches_nothing(
    run_tool, clipboard, project, state, argv, message
):
    clipboard.write_text("touch made.txt")
    done = run_tool(main, argv)
    assert (done.stdout, done.code) == ("", 64)
    assert message in done.stderr
    assert (list(project.iterdir()), clipboard.read_text()) == ([], "touch made.txt")


@pytest.mark.parametrize(
    "name", ["run", "sessions", "cancel", "rerun", "receipt", "trust", "version"]
)
def test_every_command_has_help(run_tool, name):
    done = run_tool(main, [name, "--help"])
    assert done.stdout.startswith(f"usage: clip-harness {name}")
    assert done.code == 0


def test_no_clipboard_is_exit_74(run_tool, monkeypatch, project):
    monkeypatch.setenv("PATH", "/nonexistent")
    done = run_tool(main)
    assert (done.stdout, done.code) == ("", 74)


def test_a_session_is_listed_and_rerun_in_its_own_folder(
    run_tool, clipboard, project, monkeypatch, tmp_path
):
    clipboard.write_text("session: demo\ncwd: .\npwd")
    first = run_tool(main)
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    again = run_tool(main, ["rerun", "demo"])
    assert (block(again.stdout), again.code) == (block(first.stdout), 0)
    listed = run_tool(main, ["sessions", "--json"]).document
    assert (listed["binding_id"], listed["command"], listed["state"]) == ("demo", "pwd", "done")
    runs = {
        json.loads(line)["run_id"]
        for line in run_tool(main, ["receipt", "--json"]).stdout.splitlines()
    }
    assert len(runs - {None}) == 2


def test_a_rerun_is_judged_again(run_tool, clipboard, project, user_settings):
    clipboard.write_text("session: demo\necho hi")
    assert run_tool(main).code == 0
    user_settings({"denylist": ["echo *"]})
    clipboard.write_text("```rerun id=demo```")
    done = run_tool(main)
    assert done.code == 2
    assert "[denied · rule=denylist]" in clipboard.read_text()


@pytest.mark.parametrize("runner", ["in-process", "spawn"])
@pytest.mark.parametrize("how", ["the command", "the trigger"])
def test_cancel_stops_a_running_session(clipboard, project, state, tmp_path, spawn, how, runner):
    payload = tmp_path / "payload.txt"
    payload.write_text("session: demo\necho started; sleep 60; echo never")
    running = subprocess.Popen(
        [
            str(SCRIPTS / "clip-harness"),
            "--runner",
            runner,
            "run",
            "--file",
            str(payload),
            "--no-copy",
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**os.environ},
    )
    try:
        wait_for(
            lambda: "started" in "".join(p.read_text() for p in state.glob("runs/*/output.txt"))
        )
        if how == "the command":
            done = spawn("clip-harness", "cancel", "demo")
        else:
            clipboard.write_text("```cancel id=demo```")
            done = spawn("clip-harness")
        assert done.code == 0, done.stderr
        output, _ = running.communicate(timeout=10)
    finally:
        running.kill()
    assert "was stopped" in done.stdout
    assert "[cancelled · " in output.decode()
    assert "never" not in output.decode().split("\n", 2)[2]
    assert running.returncode == 130


def test_cancel_finds_an_earlier_run_of_its_session(clipboard, project, state, spawn):
    clipboard.write_text("session: demo\necho started; sleep 60")
    running = subprocess.Popen([str(SCRIPTS / "clip-harness")], stdout=subprocess.DEVNULL)
    try:
        wait_for(
            lambda: "started" in "".join(p.read_text() for p in state.glob("runs/*/output.txt"))
        )
        short = spawn("clip-harness", "run", "--command", "true", "--session", "demo", "--no-copy")
        assert short.code == 0
        assert spawn("clip-harness", "cancel", "demo").code == 0
        assert running.wait(timeout=10) == 130
    finally:
        running.kill()


def test_a_working_folder_that_is_gone_is_told_in_a_block(clipboard, tmp_path):
    clipboard.write_text("echo hello")
    gone = tmp_path / "gone"
    gone.mkdir()
    script = f"cd {gone} && rmdir {gone} && exec clip-harness"
    done = subprocess.run(["sh", "-c", script], capture_output=True, timeout=20, check=False)
    assert done.returncode == 74
    assert clipboard.read_text() == (
        "```result\n$ echo hello\n[not run · system]\nthe working folder is gone\nchange to another one\n```\n"
    )


def test_a_command_whose_harness_was_killed_can_still_be_cancelled(
    clipboard, project, state, spawn
):
    clipboard.write_text("session: demo\necho started; sleep 60")
    running = subprocess.Popen([str(SCRIPTS / "clip-harness")], stdout=subprocess.DEVNULL)
    wait_for(lambda: "started" in "".join(p.read_text() for p in state.glob("runs/*/output.txt")))
    running.kill()
    running.wait(timeout=10)
    (record,) = state.glob("runs/*/run.json")
    command = json.loads(record.read_text())
    assert processes.is_alive(command["pid"], command["started"])
    done = spawn("clip-harness", "cancel", "demo")
    assert (done.stdout, done.code) == (f"{command['run_id']} was stopped\n", 0)
    assert not processes.is_alive(command["pid"], command["started"])
    assert spawn("clip-harness", "cancel", "demo").code == 1


@pytest.mark.parametrize("runner", ["in-process", "spawn"])
@pytest.mark.parametrize("number", ["INT", "TERM", "HUP", "QUIT"])
def test_a_signal_cancels_the_command_and_still_gives_a_block(
    clipboard, project, state, number, runner
):
    clipboard.write_text("echo started; sleep 60")
    running = subprocess.Popen(
        [str(SCRIPTS / "clip-harness"), "--runner", runner],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    try:
        wait_for(
            lambda: "started" in "".join(p.read_text() for p in state.glob("runs/*/output.txt"))
        )
        running.send_signal(signal.Signals[f"SIG{number}"])
        output, _ = running.communicate(timeout=10)
    finally:
        running.kill()
    assert running.returncode == 130
    assert clipboard.read_bytes() == output
    assert b"[cancelled" in output


def test_one_clipboard_change_is_run_once_at_a_time(clipboard, project, state, spawn):
    clipboard.write_text("echo started; sleep 60")
    running = subprocess.Popen(
        [str(SCRIPTS / "clip-harness")], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        wait_for(
            lambda: "started" in "".join(p.read_text() for p in state.glob("runs/*/output.txt"))
        )
        second = spawn("clip-harness")
        assert (second.stdout, second.code) == ("", 75)
        assert "this copy is running already" in second.stderr
    finally:
        running.send_signal(signal.SIGINT)
        running.wait(timeout=10)


def test_a_state_folder_that_cannot_be_written_runs_nothing(
    run_tool, clipboard, project, user_settings
):
    user_settings({"state_dir": "/proc/nowhere"})
    clipboard.write_text("touch made.txt")
    done = run_tool(main)
    assert done.code == 74
    assert list(project.iterdir()) == []
    assert "nothing was run" in done.stdout + done.stderr


@pytest.mark.parametrize("runner", ["in-process", "spawn"])
def test_rerun_by_trigger_runs_the_payload_of_the_session(
    run_tool, clipboard, project, state, runner
):
    clipboard.write_text("session: demo\necho one")
    run_tool(main, ["--runner", runner])
    clipboard.write_text("echo two")
    run_tool(main, ["--runner", runner])
    clipboard.write_text("```rerun id=demo```")
    done = run_tool(main, ["--runner", runner])
    assert (block(done.stdout), done.code) == (
        block("```result\n$ echo one\none\n[exit 0 · 0.0s]\n```\n"),
        0,
    )
    assert clipboard.read_text() == done.stdout


def test_a_held_payload_can_be_rerun_by_its_session(run_tool, clipboard, project, user_settings):
    clipboard.write_text("session: demo\ntouch made.txt; rm made.txt")
    assert run_tool(main).code == 3
    user_settings({"allowlist": ["touch *", "rm made.txt"]})
    assert run_tool(main, ["rerun", "demo"]).code == 0
    assert run_tool(main, ["sessions", "--json"]).document["state"] == "done"


def test_the_last_run_is_found_behind_many_ignored_texts(run_tool, clipboard, project):
    clipboard.write_text("echo hello")
    first = run_tool(main)
    for _ in range(30):
        run_tool(main, ["run", "--stdin", "--no-copy"], "clip-harness: ignore\nls")
    again = run_tool(main, ["rerun"])
    assert block(again.stdout) == block(first.stdout)


def test_a_settings_file_that_is_no_json_gives_a_block_and_touches_nothing(
    run_tool, clipboard, project, user_settings, state
):
    user_settings("{")
    clipboard.write_text("touch made.txt")
    done = run_tool(main)
    assert done.code == 65
    assert "[not run · settings]" in clipboard.read_text()
    assert (list(project.iterdir()), state.exists()) == ([], False)


@pytest.mark.parametrize("damage", ["{", "", "[]", "\0"])
def test_a_damaged_note_of_the_last_block_costs_no_result(
    run_tool, clipboard, project, state, damage
):
    state.mkdir(parents=True)
    (state / "clipboard.json").write_text(damage)
    clipboard.write_text("echo hello")
    done = run_tool(main)
    assert (block(clipboard.read_text()), done.code) == (HELLO, 0)


@pytest.mark.parametrize("stdout", [">&-", ">/dev/full", "| true"])
def test_a_lost_terminal_does_not_cost_the_result(clipboard, project, stdout):
    clipboard.write_text("echo hello")
    script = f"clip-harness {stdout}"
    done = subprocess.run(["sh", "-c", script], capture_output=True, timeout=20, check=False)
    assert block(clipboard.read_text()) == HELLO
    assert done.returncode in ((74,) if "|" not in stdout else (0,))
    assert b"bug" not in done.stderr


def test_a_clipboard_that_cannot_be_written_still_prints_the_block(
    run_tool, project, tmp_path, monkeypatch, state
):
    folder = tmp_path / "folder"
    folder.mkdir()
    monkeypatch.setenv("CLIP_HARNESS_CLIPBOARD_FILE", str(folder))
    done = run_tool(main, ["run", "--command", "echo hello"])
    assert (block(done.stdout), done.code) == (HELLO, 74)
    (kept,) = state.glob("runs/*/result.txt")
    assert str(kept) in done.stderr


def test_the_trigger_survives_a_hung_clipboard_tool(spawn, project, tmp_path):
    tools = tmp_path / "tools"
    tools.mkdir()
    (tools / "xclip").write_text("#!/bin/sh\nexec sleep 60\n")
    (tools / "xclip").chmod(0o755)
    done = spawn(
        "clip-harness",
        timeout=20,
        env={
            "PATH": f"{tools}:{os.environ['PATH']}",
            "CLIP_HARNESS_CLIPBOARD": "xclip",
            "CLIP_HARNESS_CLIPBOARD_TIMEOUT": "1",
            "DISPLAY": ":77",
        },
    )
    assert (done.stdout, done.code) == ("", 74)
    assert "xclip" in done.stderr
    assert "1 s" in done.stderr


def test_a_damaged_open_file_hides_no_other_run(run_tool, clipboard, project, state):
    (state / "sessions").mkdir(parents=True)
    (state / "sessions" / "broken.json").write_text("{")
    (state / "open").mkdir()
    (state / "open" / "r-0000000000000000.json").write_text("{")
    clipboard.write_text("session: demo\necho hi")
    assert run_tool(main).code == 0
    listed = run_tool(main, ["sessions"])
    assert listed.stdout.startswith("demo  r-")
    assert "broken.json" in listed.stderr
    assert run_tool(main, ["cancel"]).code == 1


def test_a_session_name_that_is_none_is_a_wrong_call(run_tool, clipboard, project):
    clipboard.write_text("mine")
    done = run_tool(main, ["run", "--command", "true", "--session", "a/b"])
    assert (done.stdout, done.code, clipboard.read_text()) == ("", 64, "mine")


def test_a_bug_report_does_not_hold_the_command(run_tool, clipboard, project, state, monkeypatch):
    monkeypatch.setattr("clip_harness.cli._captured", lambda *_: 1 / 0)
    assert run_tool(main, ["run", "--command", "curl -H 'token: secret'"]).code == 70
    (report,) = (state / "bugs").iterdir()
    assert "secret" not in report.read_text()
    assert "ZeroDivisionError" in report.read_text()


def test_copy_puts_the_block_back(run_tool, clipboard, project):
    clipboard.write_text("echo hello")
    first = run_tool(main)
    clipboard.write_text("something else")
    assert run_tool(main, ["receipt", "--copy"]).code == 0
    assert clipboard.read_text() == first.stdout


def wait_for(condition, seconds=10):
    """Wait until `condition` holds; fails when it does not within the bound."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.01)
