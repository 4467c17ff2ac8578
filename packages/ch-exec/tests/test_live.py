"""What a person at a terminal sees, and that it is nowhere else."""

import json
import os
import pty
import re
import select
import subprocess
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ch_exec.live import BACKLOG, Tamer, View, tame
from ch_exec.planning import Plan
from hermetic import SCRIPTS

PLAN = Plan(
    run_id="r-00000001",
    command="make test\necho done\n",
    cwd="/src/project",
    shell="/bin/bash",
    dialect="bash",
    timeout=120,
    session="alpha",
)
HEADER = "$ make test  (+1 lines)\n  in /src/project · session alpha · timeout 120 s\n"


class Terminal:
    """Takes what a view sends, as long as it is not held; and the time."""

    def __init__(self, *, is_colored=True):
        self.bytes = b""
        self.held = False
        self.now = 0.0
        self.closed = False
        self.view = View(self.send, self.close, lambda: self.now, is_colored=is_colored)

    def send(self, data):
        if self.held:
            return 0
        self.bytes += data
        return len(data)

    def close(self):
        self.closed = True

    @property
    def text(self):
        return self.bytes.decode()


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain\ttext\r\nback\b", "plain\ttext\r\nback\b"),
        ("\x1b[1;31mred\x1b[0m\x1b[K", "\x1b[1;31mred\x1b[0m\x1b[K"),
        ("a\x1b[2Jb\x1b[1Ac\x1b[?1049hd\x1b[6n", "abcd"),
        ("\x1b]0;title\x07a\x1b]52;c;ZXZpbA==\x1b\\b", "ab"),
        ("\x1bP1$r\x1b\\a\x1bcb\x1b(0c", "abc"),
        ("\x07\x00\x7f\x9b", "^G^@^?\\x9b"),
        ("a\x1b", "a^["),
        ("\x1b]0;never ended", "^[]0;never ended"),
    ],
)
def test_only_colours_pass(text, shown):
    """Controls that move, clear, answer or set something are taken out or made visible."""
    assert tame(text) == shown


def test_without_colour_no_colour_passes():
    """Header, output and end hold no sequence that colours; the rest is as ever."""
    terminal = Terminal(is_colored=False)
    terminal.view.begin(
        Plan(
            run_id="r-00000001", command="echo \x1b[31mred", cwd="/a\x1b[1m", shell="/bin/sh",
            dialect="posix", timeout=5,
        )
    )  # fmt: skip
    terminal.view.show(b"\x1b[1;31mred\x1b[")
    terminal.view.show(b"0m\x1b[K\x07\n")
    terminal.view.end()
    assert terminal.text == "$ echo red\n  in /a · timeout 5 s\nred\x1b[K^G\n"


@settings(deadline=None)
@given(st.text(alphabet="a\n\x1b[]0;1mKJ\x07\\\x9bé", max_size=30), st.integers(1, 7))
def test_cutting_the_bytes_lets_nothing_through(text, size):
    """A control sequence cut in two is still no control sequence of the terminal's."""
    tamer = Tamer()
    data = text.encode()
    shown = "".join(tamer.feed(data[at : at + size]) for at in range(0, len(data), size))
    shown += tamer.feed(b"", final=True)
    left = re.sub(r"\x1b\[[0-9;:]*m|\x1b\[[012]?K", "", shown)
    assert "\x1b" not in left
    assert "\x07" not in left


def test_header_output_and_end():
    """The header names command, folder, session and timeout; the end leaves a clean line."""
    terminal = Terminal()
    terminal.view.begin(PLAN)
    terminal.view.show(b"one\n")
    terminal.view.show(b"two")
    terminal.view.beat()
    terminal.view.end()
    assert terminal.text == HEADER + "one\ntwo\x1b[0m\n"
    assert terminal.closed


def test_quiet_output_is_told_and_the_line_erased():
    """From five quiet seconds on, once a second; erased when the output goes on."""
    terminal = Terminal()
    terminal.view.begin(PLAN)
    terminal.view.show(b"one\n")
    for now in (4.9, 5.0, 5.5, 6.1):
        terminal.now = now
        terminal.view.beat()
    terminal.view.show(b"two\n")
    terminal.now = 10.0
    terminal.view.beat()
    assert terminal.text == (f"{HEADER}one\n\r… running 5s\x1b[K\r… running 6s\x1b[K\r\x1b[Ktwo\n")


def test_quiet_in_the_middle_of_a_line():
    """The place in the line is kept and gone back to."""
    terminal = Terminal()
    terminal.view.begin(PLAN)
    terminal.view.show(b"Password: ")
    for now in (5.0, 6.0):
        terminal.now = now
        terminal.view.beat()
    terminal.view.show(b"ok\n")
    assert terminal.text == (
        f"{HEADER}Password: \x1b7… running 5s\x1b[K\x1b8… running 6s\x1b[K\x1b8\x1b[Kok\n"
    )


def test_a_terminal_that_stands_still_delays_nothing():
    """Beyond the backlog the view skips, and says how much."""
    terminal = Terminal()
    terminal.view.begin(PLAN)
    terminal.held = True
    terminal.view.show(b"x" * BACKLOG)
    terminal.view.show(b"y" * 1000)
    terminal.view.show(b"z" * 500)
    terminal.held = False
    terminal.view.show(b"end\n")
    terminal.view.show(b"more\n")
    assert terminal.text == HEADER + "x" * BACKLOG + "\n… 1,500 bytes not shown\nend\nmore\n"


def test_a_header_cannot_draw():
    """The command and the folder are shown, not obeyed."""
    terminal = Terminal()
    terminal.view.begin(
        Plan(
            run_id="r-00000001", command="echo \x1b[2J\x1b]0;x\x07", cwd="/a\nb", shell="/bin/sh",
            dialect="posix", timeout=5,
        )
    )  # fmt: skip
    assert terminal.text == "$ echo \n  in /a^Jb · timeout 5 s\n"


def on_pty(document, *argv, seconds=30.0):
    """Run ch-exec with a terminal as its standard error; gives its document and what was shown."""
    own, other = pty.openpty()
    process = subprocess.Popen(
        [str(SCRIPTS / "ch-exec"), *argv],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=other,
    )
    os.close(other)
    process.stdin.write(json.dumps(document).encode())
    process.stdin.close()
    shown = b""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if not select.select([own], [], [], 0.1)[0]:
            if process.poll() is not None:
                break
            continue
        try:
            shown += os.read(own, 65536)
        except OSError:
            break
    out = process.stdout.read()
    process.stdout.close()
    assert process.wait() == 0
    os.close(own)
    return json.loads(out), shown.decode()


def scrubbed(document):
    result = {**document["result"], "duration_ms": 0, "output_path": ""}
    return {**document, "run_id": "", "result": result}


@pytest.mark.heavy
def test_a_live_run_and_a_silent_one_give_the_same_document(staged, spawn, project):
    """On a real terminal: header, output, heartbeat; none of it in the document or the files."""
    command = "printf 'one\\n'; sleep 6.3; printf '\\033[32mtwo\\033[0m\\n'"
    live, shown = on_pty(staged(command, timeout=60))
    silent = spawn("ch-exec", stdin=staged(command, timeout=60)).document
    assert scrubbed(live) == scrubbed(silent)
    assert shown.replace("\r\n", "\n") == (
        f"$ {command}\n".replace("\\033", "\\033")
        + f"  in {project} · timeout 60 s\none\n"
        + "\r… running 5s\x1b[K\r… running 6s\x1b[K\r\x1b[K\x1b[32mtwo\x1b[0m\n\x1b[0m"
    )
    with open(live["result"]["output_path"], "rb") as file:
        assert file.read() == b"one\n\x1b[32mtwo\x1b[0m\n"


@pytest.mark.parametrize(
    ("setting", "variable", "is_colored"),
    [
        (None, None, True),
        ("auto", "", True),
        ("always", None, True),
        ("never", None, False),
        (None, "1", False),
        ("always", "0", False),
    ],
)
def test_who_wants_no_colour(staged, user_settings, monkeypatch, *, setting, variable, is_colored):
    """The setting decides, and NO_COLOR outweighs it whatever it holds."""
    user_settings({"shell": "bash", **({"color": setting} if setting is not None else {})})
    if variable is not None:
        monkeypatch.setenv("NO_COLOR", variable)
    document, shown = on_pty(staged("printf '\\033[31mred\\033[0m\\n'"))
    lines = shown.replace("\r\n", "\n").split("\n", 2)
    assert lines[2] == ("\x1b[31mred\x1b[0m\n\x1b[0m" if is_colored else "red\n")
    with open(document["result"]["output_path"], "rb") as file:
        assert file.read() == b"\x1b[31mred\x1b[0m\n"


@pytest.mark.parametrize(
    ("trigger", "argv"),
    [("explicit", ["--live", "never"]), ("watch", []), ("hook", ["--live=auto"])],
)
def test_who_does_not_stream(staged, trigger, argv):
    """Asked not to, or with nobody watching, nothing is shown."""
    document, shown = on_pty({**staged("echo hello"), "trigger": trigger}, *argv)
    assert (document["result"]["exit_code"], shown) == (0, "")


def test_a_terminal_nobody_reads_does_not_hold_the_timeout(staged):
    """More output than the terminal takes: the timeout comes all the same."""
    own, other = pty.openpty()
    process = subprocess.Popen(
        [str(SCRIPTS / "ch-exec")], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=other
    )
    os.close(other)
    before = time.monotonic()
    out, _ = process.communicate(
        json.dumps(staged("yes | head -c 20000000; sleep 60", timeout=2)).encode(), timeout=30
    )
    assert time.monotonic() - before < 10
    os.close(own)
    assert json.loads(out)["result"]["timed_out"]
