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
        # a server that is ending must not take the next one's session
        self.socket = str(folder / f"tmux-{time.monotonic_ns()}")
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
            # a Ctrl-C for a program in it does not end the shell around it
            f"trap : INT; cd {shlex.quote(str(self.project))};"
            f" env -i {words} {command}; echo $? >{self.exit}"
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

    def innermost(self):
        """The process that runs in it, below the shells."""
        pid = self.tmux("display", "-p", "#{pane_pid}").strip()
        while children := Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
            (pid,) = children
        return pid

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
    subprocess.run(["kill", f"-{signal}", found.innermost()], check=True)
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
    found.until(lambda: found.text().count(KEYS) == 2)
    found.press("Enter")
    found.until(lambda: found.text().count(KEYS) == 3)
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


@pytest.mark.parametrize("how", ["NO_COLOR", "never", "dumb"])
def test_without_colour(screen, user_settings, how):
    settings = {"NO_COLOR": "always", "never": "never", "dumb": "auto"}
    user_settings({"color": settings[how]})
    found = screen(
        CHANGES, **{"NO_COLOR": {"NO_COLOR": "1"}, "dumb": {"TERM": "dumb"}}.get(how, {})
    )
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


@pytest.mark.parametrize("keys", ["\x1ba", "\x1bOa", "\x1b[a", "\x1b[?1;2c", "\x1b[A", "\x1b"])
def test_a_special_key_is_none_of_the_letters_it_is_sent_as(screen, project, state, keys):
    """Alt-a, a modified arrow or a terminal's own answer once accepted everything."""
    found = screen(CHANGES)
    found.until(KEYS)
    found.press("-l", keys)
    found.until("that key does nothing here")
    found.until(lambda: found.text().count(KEYS) == 2)
    found.press("l")
    assert found.code() == 3
    assert files(project) == OLD
    assert decision(state) is None


def test_a_pasted_text_decides_nothing(screen, project, state):
    found = screen(CHANGES)
    found.until(KEYS)
    found.tmux("set-buffer", "apply this\nafter all\n")
    found.tmux("paste-buffer")
    found.until("several keys came at once, so none was taken")
    found.until(lambda: found.text().count(KEYS) == 2)
    found.press("s")
    found.until("[y] accept  [n] leave  [q] back")
    found.press("-l", "yyyy")
    found.until("press y, n, or q to go back")
    found.press("q")
    found.until("nothing was decided")
    found.press("l")
    assert found.code() == 3
    assert decision(state) is None


def test_a_reason_is_a_line_of_any_letters(screen, state):
    found = screen(CHANGES)
    found.until(KEYS)
    found.press("r")
    found.until("why (Enter")
    found.press("-l", "gone")
    found.press("C-u")
    found.press("Left")
    found.tmux("set-buffer", "trop t\u00f4t\n\u6f22\u202ex")
    found.tmux("paste-buffer")
    found.until("\u6f22x")
    found.press("BSpace", "BSpace")
    found.press("Enter")
    assert found.code() == 1
    assert decision(state)["reason"] == "trop t\u00f4t"


def test_a_long_line_goes_on_marked(screen):
    """Without a mark it could look like a line of the prompt or of another file."""
    body = "x" * 50 + " note: nothing else is changed" + " " * 60 + "[a] reject " + "\u6f22" * 60
    found = screen(f"```file\npath: new.txt\nop: create\n{body}\n```\n", width=60)
    found.until(KEYS)
    shown = found.text().splitlines()
    start = shown.index("@@ -0,0 +1 @@") + 1
    end = next(number for number, row in enumerate(shown) if row.startswith("[a] accept"))
    first, *more = shown[start:end]
    assert first.startswith("+xxx")
    assert [row[:1] for row in more] == ["↳"] * len(more)
    assert sum(row.count("\u6f22") for row in more) == 60
    found.press("l")
    assert found.code() == 3


def test_control_z_suspends_and_comes_back(screen, project, state, tmp_path):
    """In a shell with job control; the modes are the shell's meanwhile."""
    program = shlex.quote(str(SCRIPTS / "clip-harness"))
    rc = tmp_path / "rc"
    rc.write_text(f"alias t='{program} run --file {tmp_path}/payload.txt'; PS1='ready> '\n")
    found = screen(CHANGES, command=f"bash --rcfile {rc} -i")
    found.until("ready>")
    found.press("-l", "t")
    found.press("Enter")
    found.until(KEYS)
    found.press("C-z")
    found.until("Stopped")
    found.press("-l", "stty -a | grep -o .icanon; echo a")
    found.press("Enter")
    found.until(lambda: " icanon\na" in found.text())
    found.press("-l", "fg")
    found.press("Enter")
    found.until(lambda: found.text().count(KEYS) == 2)
    # stopped without a word, it finds the shell's modes in place when it goes on
    subprocess.run(["kill", "-STOP", found.innermost()], check=True)
    found.until(lambda: found.text().count("Stopped") == 2)
    found.press("-l", "fg")
    found.press("Enter")
    found.until(lambda: found.text().count(KEYS) == 3)
    found.press("l")
    found.until("clip-harness candidate review r-")
    found.press("-l", "exit 3")
    found.press("Enter")
    assert found.code() == 3
    assert decision(state) is None
    assert files(project) == OLD


def test_nobody_is_asked_in_the_background(screen, state, tmp_path):
    program = shlex.quote(str(SCRIPTS / "clip-harness"))
    rc = tmp_path / "rc"
    rc.write_text("PS1='ready> '\n")
    found = screen(CHANGES, command=f"bash --rcfile {rc} -i")
    found.until("ready>")
    found.press("-l", f"{program} run --file {tmp_path}/payload.txt & wait")
    found.press("Enter")
    found.until("clip-harness candidate review r-")
    found.until("Exit 3")
    assert decision(state) is None
    assert KEYS not in found.text()


@pytest.mark.parametrize("signal", ["TERM", "INT", "HUP"])
def test_a_signal_to_a_later_review_gives_the_terminal_back(screen, state, tmp_path, signal):
    tool = shlex.quote(str(SCRIPTS / "clip-harness"))
    script = program(
        tmp_path,
        "later",
        f"{tool} run --file {tmp_path}/payload.txt </dev/null >/dev/null 2>&1\n"
        f"{tool} candidate review $({tool} candidate list | cut -d ' ' -f 1)\n"
        f"code=$?; stty -a >{tmp_path}/modes; exit $code",
    )
    found = screen(CHANGES, command=script)
    found.until(KEYS)
    subprocess.run(["kill", f"-{signal}", found.innermost()], check=True)
    assert found.code() == 3
    assert "still waits" in found.text()
    modes = (tmp_path / "modes").read_text().split()
    assert {"icanon", "echo", "isig", "icrnl"} <= {mode.rstrip(";") for mode in modes}
    assert decision(state) is None


def test_control_c_in_the_pager_is_the_pagers(screen, tmp_path):
    ready = tmp_path / "ready"
    pager = program(tmp_path, "pager", f"trap 'exit 0' INT; : >{ready}; while :; do sleep 1; done")
    found = screen(CHANGES, PAGER=pager)
    found.until(KEYS)
    found.press("v")
    found.until(ready.exists)
    found.press("C-c")
    found.until(lambda: found.text().count(KEYS) == 2)
    found.press("l")
    assert found.code() == 3


def test_a_save_behind_the_prompt_must_be_accepted_as_such(screen, project, state, tmp_path):
    """An editor that doesn't wait: `a` was pressed for other bytes than lie there now."""
    held = tmp_path / "held"
    tool = program(tmp_path, "ed", f'echo "$2" >{held}')
    found = screen(CHANGES, EDITOR=tool)
    found.until(KEYS)
    found.press("e")
    found.until("an editor with its own window must wait")
    found.until(lambda: found.text().count(KEYS) == 2)
    Path(held.read_text().strip()).write_text("saved late\n")
    found.press("a")
    found.until("a file was saved since you were asked; press a again to accept that")
    assert files(project) == OLD
    found.until("accept all 2 files, 1 of them edited")
    found.press("a")
    assert found.code() == 0
    assert files(project) == {**DONE, "n.txt": "saved late\n"}
    assert decision(state)["decision"] == "accept-edited"


def test_looking_at_an_edit_in_vs_code_does_not_accept_it(screen, project, state, tmp_path):
    tool = program(tmp_path, "ed", 'echo three >>"$2"')
    program(tmp_path / "bin", "code", "true")
    found = screen(CHANGES, EDITOR=tool, PATH=f"{tmp_path}/bin:{os.environ['PATH']}")
    found.until(KEYS)
    found.press("e")
    found.until("1 file was edited (n.txt)")
    found.until(lambda: found.text().count(KEYS) == 2)
    found.press("c")
    found.until("nothing was saved, so nothing was decided")
    assert decision(state) is None
    found.until(lambda: found.text().count(KEYS) == 3)
    found.press("s")
    found.until("[y] accept  [n] leave")
    found.press("y")
    found.until(lambda: found.text().count("[y] accept  [n] leave") == 2)
    found.press("n")
    assert found.code() == 0
    # the edited file was left out, so nothing edited was accepted
    assert files(project) == {**OLD, "new.txt": "fresh\n"}
    assert decision(state)["decision"] == "accept"


def test_a_copy_that_cannot_be_read_parks_with_a_sentence(screen, project, state, tmp_path):
    tool = program(tmp_path, "ed", 'rm "$2"; mkdir "$2"')
    found = screen(CHANGES, EDITOR=tool)
    found.until(KEYS)
    found.press("e")
    assert found.code() == 3
    found.until("Is a directory: nothing was decided")
    assert files(project) == OLD
    assert decision(state) is None
