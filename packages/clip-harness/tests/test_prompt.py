"""The review in a real terminal: every key, any width, and every way a terminal can end."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sysconfig
import time
from pathlib import Path

import pytest

pytestmark = [
    pytest.mark.heavy,
    pytest.mark.skipif(shutil.which("tmux") is None, reason="there is no tmux"),
]
SCRIPTS = Path(sysconfig.get_path("scripts"))
SECONDS = 30.0
OLD = {"n.txt": "one\ntwo\n", "data.txt": "data\n"}
CHANGES = """```file
path: new.txt
op: create
fresh
```
```edit
path: n.txt
old_string:
two
new_string:
TWO
```
"""
DONE = {**OLD, "n.txt": "one\nTWO\n", "new.txt": "fresh\n"}
KEYS = "[l] later"


def pressed(text):
    """A text without its blanks and line breaks, those of the prompt among them."""
    return "".join(text.replace("↳", "").split())


class Screen:
    """A tmux session of our own that runs one payload."""

    def __init__(self, folder, project, variables, width=80):
        self.socket = str(folder / "tmux")
        self.exit = folder / "exit"
        self.exit.unlink(missing_ok=True)
        self.variables = variables
        self.project = project
        self.tmux("-f", os.devnull, "new-session", "-d", "-x", str(width), "-y", "50", "sh")
        self.tmux("set", "-g", "remain-on-exit", "on")

    def tmux(self, *words):
        done = subprocess.run(
            ["tmux", "-S", self.socket, *words], capture_output=True, text=True, check=False
        )
        return done.stdout

    def start(self, command):
        """Run a shell command in a window of its own, with our variables alone."""
        words = " ".join(f"{k}={shlex.quote(v)}" for k, v in self.variables.items())
        line = (
            f"cd {shlex.quote(str(self.project))}; env -i {words} {command}; echo $? >{self.exit}"
        )
        self.tmux("respawn-window", "-k", f"sh -c {shlex.quote(line)}")

    def text(self, *flags):
        return self.tmux("capture-pane", "-p", "-J", "-S", "-200", *flags)

    def has(self, found):
        """Whether the screen holds a text, wherever its lines are wrapped."""
        return pressed(found) in pressed(self.text())

    def until(self, found):
        """Wait until the screen holds a text, or a condition is true."""
        deadline = time.monotonic() + SECONDS
        while time.monotonic() < deadline:
            if found() if callable(found) else self.has(found):
                return
            time.sleep(0.03)
        raise AssertionError(f"{found} did not come:\n{self.text()}")

    def press(self, *keys):
        self.tmux("send-keys", *keys)

    def code(self):
        self.until(lambda: self.exit.exists() and self.exit.read_text().strip())
        return int(self.exit.read_text())

    def close(self):
        self.tmux("kill-server")


@pytest.fixture
def screen(project, tmp_path, home):
    """A function that starts a payload in a terminal; gives the screen."""
    for name, text in OLD.items():
        (project / name).write_text(text)
    opened = []

    def start(payload, *, width=80, command=None, **variables):
        (tmp_path / "payload.txt").write_bytes(
            payload if isinstance(payload, bytes) else payload.encode()
        )
        given = {
            "HOME": str(home),
            "PATH": os.environ["PATH"],
            "TERM": "tmux-256color",
            "LC_ALL": "C.UTF-8",
            "CLIP_HARNESS_CLIPBOARD_FILE": str(tmp_path / "clipboard.txt"),
            **variables,
        }
        found = Screen(tmp_path, project, given, width)
        opened.append(found)
        program = shlex.quote(str(SCRIPTS / "clip-harness"))
        found.start(command or f"{program} run --file {tmp_path}/payload.txt")
        return found

    yield start
    for found in opened:
        found.close()


def files(project):
    return {
        str(path.relative_to(project)): path.read_text()
        for path in project.rglob("*")
        if path.is_file()
    }


def decision(state):
    """The decision that was recorded; None when none was."""
    found = list(state.glob("candidates/*/decision.json"))
    return json.loads(found[0].read_text()) if found else None


def test_a_accepts_and_the_files_are_applied(screen, project, state):
    found = screen(CHANGES)
    found.until(KEYS)
    shown = found.text()
    assert shown.index("NEW       new.txt  +1 -0") < shown.index("── new.txt (NEW)")
    found.press("a")
    assert found.code() == 0
    assert files(project) == DONE
    assert decision(state)["by"] == "terminal"


def test_r_rejects_with_a_reason(screen, project, state):
    found = screen(CHANGES)
    found.until(KEYS)
    found.press("r")
    found.until("why (Enter")
    found.press("-l", "not like thiz")
    found.press("BSpace", "s", "Enter")
    assert found.code() == 1
    assert (decision(state)["decision"], decision(state)["reason"]) == ("reject", "not like this")
    assert files(project) == OLD


def test_escape_takes_a_rejection_back(screen, project, state):
    found = screen(CHANGES)
    found.until(KEYS)
    found.press("r")
    found.until("why (Enter")
    found.press("Escape")
    found.until(lambda: found.text().count(KEYS) == 2)
    found.press("l")
    assert found.code() == 3
    assert decision(state) is None


@pytest.mark.parametrize("key", ["l", "C-c", "C-d"])
def test_putting_it_off_applies_nothing_and_parks(screen, project, state, key):
    found = screen(CHANGES)
    found.until(KEYS)
    found.press(key)
    assert found.code() == 3
    assert files(project) == OLD
    assert decision(state) is None
    assert "clip-harness candidate review r-" in found.text()


def test_a_terminal_that_goes_away_decides_nothing(screen, project, state):
    found = screen(CHANGES)
    found.until(KEYS)
    pid = int(found.tmux("display", "-p", "#{pane_pid}"))
    found.close()
    deadline = time.monotonic() + SECONDS
    while Path(f"/proc/{pid}").exists() and time.monotonic() < deadline:
        time.sleep(0.03)
    assert files(project) == OLD
    assert decision(state) is None


@pytest.mark.parametrize("signal", ["TERM", "HUP", "INT"])
def test_a_signal_while_it_waits_parks(screen, project, state, signal):
    found = screen(CHANGES)
    found.until(KEYS)
    pane = found.tmux("display", "-p", "#{pane_pid}").strip()
    (child,) = Path(f"/proc/{pane}/task/{pane}/children").read_text().split()
    subprocess.run(["kill", f"-{signal}", child], check=True)
    assert found.code() == 3
    assert files(project) == OLD
    assert decision(state) is None


def test_type_ahead_is_no_decision(screen, project, state, tmp_path):
    program = shlex.quote(str(SCRIPTS / "clip-harness"))
    go = tmp_path / "go"
    wait = (
        f"sh -c 'until [ -e {go} ]; do :; done; exec {program} run --file {tmp_path}/payload.txt'"
    )
    found = screen(CHANGES, command=wait)
    found.press("a", "a", "a")
    go.write_text("")
    found.until(KEYS)
    found.press("l")
    assert found.code() == 3
    assert decision(state) is None


def test_unknown_keys_and_enter_decide_nothing(screen, project, state):
    found = screen(CHANGES)
    found.until(KEYS)
    found.press("x")
    found.until("that key does nothing here")
    found.press("Enter")
    found.press("?")
    found.until(lambda: found.text().count("── new.txt (NEW)") == 2)
    found.press("l")
    assert found.code() == 3
    assert decision(state) is None


def test_s_chooses_files(screen, project, state):
    found = screen(CHANGES)
    found.until(KEYS)
    found.press("s")
    found.until("[y] accept  [n] leave")
    found.press("n")
    found.until(lambda: found.text().count("[y] accept  [n] leave") == 2)
    found.press("y")
    assert found.code() == 0
    assert files(project) == {**OLD, "n.txt": "one\nTWO\n"}
    assert decision(state)["accepted_files"] == ["n.txt"]


def test_v_shows_the_whole_diff_in_the_pager_and_comes_back(screen, project, tmp_path):
    pager = tmp_path / "pager"
    pager.write_text(f'#!/bin/sh\ncp "$1" {tmp_path}/paged\n')
    pager.chmod(0o755)
    body = "".join(f"line {number}\n" for number in range(200))
    found = screen(f"```file\npath: new.txt\nop: create\n{body}```\n", PAGER=str(pager))
    found.until("… 121 more lines — full diff in ")
    found.until(KEYS)
    found.press("v")
    found.until(lambda: found.text().count(KEYS) == 2)
    assert "+line 199\n" in (tmp_path / "paged").read_text()
    found.press("l")
    assert found.code() == 3


def test_v_without_a_pager_prints_it(screen):
    found = screen(CHANGES, PAGER="/nowhere/pager")
    found.until(KEYS)
    found.press("v")
    found.until(lambda: found.text().count("+fresh") == 2)
    found.press("l")
    assert found.code() == 3


def program(folder, name, body):
    path = folder / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return str(path)


def test_e_edits_and_a_accepts_the_edited_bytes(screen, project, state, tmp_path):
    tool = program(tmp_path, "ed", 'for f; do case $f in */n.txt) echo three >>"$f";; esac; done')
    found = screen(CHANGES, EDITOR=tool)
    found.until(KEYS)
    found.press("e")
    found.until("1 file was edited (n.txt); press a to accept that")
    assert files(project) == OLD
    found.press("a")
    assert found.code() == 0
    assert files(project) == {**DONE, "n.txt": "one\nTWO\nthree\n"}
    assert decision(state)["decision"] == "accept-edited"


@pytest.mark.parametrize(
    ("body", "said"),
    [("exit 3", "it ended with exit 3; nothing was decided"), ("true", "nothing was edited")],
)
def test_an_editor_that_fails_or_does_nothing(screen, project, tmp_path, body, said):
    found = screen(CHANGES, EDITOR=program(tmp_path, "ed", body))
    found.until(KEYS)
    found.press("e")
    found.until(said)
    found.press("l")
    assert found.code() == 3
    assert files(project) == OLD


def test_a_missing_editor_is_named(screen, project):
    found = screen(CHANGES, VISUAL="/nowhere/editor")
    found.until(KEYS)
    found.press("e")
    found.until("/nowhere/editor: No such file or directory; nothing was decided")
    found.press("a")
    assert found.code() == 0
    assert files(project) == DONE


CODE = """case $* in *--wait*) {wait} ;; *) echo "$@" >>{log} ;; esac"""


def test_c_opens_vs_code_and_a_save_there_accepts(screen, project, state, tmp_path):
    """A stand-in that saves into the copy of the update when its window is closed."""
    log = tmp_path / "log"
    save = (
        f'for f; do last=$f; done; until [ -s {log} ]; do :; done; cp "$4" {tmp_path}/list;'
        f' set -- $(cat {log}); echo saved >>"$4"'
    ).replace('"$4" ', '"$3" ', 1)
    program(tmp_path / "bin", "code", CODE.format(wait=save, log=log))
    found = screen(CHANGES, PATH=f"{tmp_path}/bin:{os.environ['PATH']}")
    found.until("[c] open in VS Code")
    found.press("c")
    assert found.code() == 0
    assert files(project) == {**DONE, "n.txt": "one\nTWO\nsaved\n"}
    assert (decision(state)["decision"], decision(state)["by"]) == ("accept-edited", "editor")
    assert log.read_text().startswith(f"--reuse-window --diff {project}/n.txt ")
    assert "UPDATE    n.txt  +1 -1" in (tmp_path / "list").read_text()


def test_c_closed_without_a_save_decides_nothing(screen, project, state, tmp_path):
    program(tmp_path / "bin", "code", "true")
    found = screen(CHANGES, PATH=f"{tmp_path}/bin:{os.environ['PATH']}")
    found.until(KEYS)
    found.press("c")
    found.until("nothing was saved, so nothing was decided")
    found.press("l")
    assert found.code() == 3
    assert decision(state) is None


def test_forty_columns_and_a_resize_while_it_waits(screen, project):
    found = screen(CHANGES)
    found.until(KEYS)
    found.tmux("resize-window", "-x", "40", "-y", "50")
    found.until(lambda: found.text().count("[a] accept") == 2)
    found.press("?")
    found.until(lambda: found.text().count("── new.txt (NEW)") == 2)
    rows = found.tmux("capture-pane", "-p").splitlines()
    assert max(len(row) for row in rows) <= 40
    found.press("a")
    assert found.code() == 0
    assert files(project) == DONE


def test_colour_is_the_terminals_and_can_be_switched_off(screen):
    found = screen(CHANGES)
    found.until(KEYS)
    shown = found.text("-e")
    assert "\x1b[32m+fresh" in shown
    assert "\x1b[31m-two" in shown
    found.press("l")
    assert found.code() == 3
    assert "\x1b[3" not in found.text("-e").rpartition("```result")[2]


@pytest.mark.parametrize("how", ["NO_COLOR", "never"])
def test_without_colour(screen, user_settings, how):
    if how == "never":
        user_settings({"color": "never"})
    found = screen(CHANGES, **({"NO_COLOR": "1"} if how == "NO_COLOR" else {}))
    found.until(KEYS)
    assert "\x1b[3" not in found.text("-e")
    found.press("l")
    assert found.code() == 3


def test_hostile_content_is_shown_escaped(screen, project):
    body = "\x1b[2J\x1b]0;owned\x07 a\u202eb\u200bc \x1b[31mred"
    found = screen(f"```file\npath: new.txt\nop: create\n{body}\n```\n")
    found.until(KEYS)
    shown = found.text("-e")
    assert "+\\x1b[2J\\x1b]0;owned\\x07 a\\u202eb\\u200bc \\x1b[31mred" in shown
    assert "\u202e" not in shown
    assert found.tmux("display", "-p", "#{pane_title}").strip() != "owned"
    found.press("l")
    assert found.code() == 3


def test_a_held_command_is_asked_about_and_runs_unsandboxed(screen, project):
    found = screen("rm data.txt; echo gone")
    found.until(KEYS)
    assert "why it waits: Held: rm data.txt" in found.text()
    found.press("u")
    assert found.code() == 0
    assert "(reviewed · unsandboxed)" in found.text()
    assert files(project) == {"n.txt": OLD["n.txt"]}


def test_a_mixed_payload_asks_for_the_files_and_then_for_the_command(screen, project):
    found = screen(CHANGES + "```shell\nrm data.txt\n```\n")
    found.until("a command of the same message comes after these files")
    found.until(KEYS)
    found.press("a")
    found.until("a command to run in")
    assert files(project) == DONE
    found.until(lambda: found.text().count(KEYS) == 2)
    found.press("u")
    assert found.code() == 0
    assert files(project) == {k: v for k, v in DONE.items() if k != "data.txt"}


def test_w_always_allows_after_a_second_key(screen, project, state, user_settings):
    user_settings({"allowlist": ["echo *"]})
    found = screen("cat data.txt")
    found.until("[w] always allow cat *")
    found.press("w")
    found.until(f"allows cat * from now on, in {project}/.clip-harness/settings.json")
    found.press("n")
    found.until(lambda: found.text().count(KEYS) == 2)
    assert decision(state) is None
    found.press("w")
    found.until(lambda: found.text().count("press y to do so") == 2)
    found.press("y")
    assert found.code() == 74
    settings = json.loads((project / ".clip-harness" / "settings.json").read_text())
    assert settings == {"allowlist": ["cat *"]}
    found.close()
    again = screen("cat data.txt")
    assert again.code() == 0
