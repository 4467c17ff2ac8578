"""The commands of clip-harness: flags, exit codes, and what they leave behind."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import time

import pytest

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


@pytest.mark.parametrize("name", ["run", "sessions", "cancel", "rerun", "receipt", "version"])
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


@pytest.mark.parametrize("how", ["the command", "the trigger"])
def test_cancel_stops_a_running_session(clipboard, project, state, tmp_path, spawn, how):
    payload = tmp_path / "payload.txt"
    payload.write_text("session: demo\necho started; sleep 60; echo never")
    running = subprocess.Popen(
        [str(SCRIPTS / "clip-harness"), "run", "--file", str(payload), "--no-copy"],
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


def test_ctrl_c_cancels_the_command_and_still_gives_a_block(clipboard, project, state):
    clipboard.write_text("echo started; sleep 60")
    running = subprocess.Popen(
        [str(SCRIPTS / "clip-harness")], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    try:
        wait_for(
            lambda: "started" in "".join(p.read_text() for p in state.glob("runs/*/output.txt"))
        )
        running.send_signal(signal.SIGINT)
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
