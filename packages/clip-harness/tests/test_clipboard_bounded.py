"""Programs that hang, fail half-way, stop reading or stay behind; the terminal's own clipboard."""

import base64
import json
import os
import pty
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ch_contract.problems import Problem
from clip_harness.adapters import terminal
from clip_harness.adapters.bounded import Programs
from clip_harness.adapters.choice import choose
from clip_harness.adapters.clipboard import ClipboardNotText, ClipboardUnavailable
from clip_harness.adapters.terminal import Osc52, sequence

STANDINS = Path(__file__).parent / "standins"
SECONDS = 0.5
# As a program that is hung is ended after SECONDS, nothing here takes much longer.
BOUND = 10


@pytest.fixture
def environment(tmp_path):
    """An environment in which only the broken programs come before the usual ones."""
    return {
        "PATH": f"{STANDINS / 'broken'}{os.pathsep}{os.environ['PATH']}",
        "STANDIN_STATE": str(tmp_path),
        "CLIP_HARNESS_CLIPBOARD_TIMEOUT": str(SECONDS),
    }


@pytest.fixture
def as_xclip(tmp_path, environment):
    """A function that makes a broken program answer as xclip; gives that clipboard."""

    def make(name):
        folder = tmp_path / "bin"
        folder.mkdir()
        (folder / "xclip").symlink_to(STANDINS / "broken" / name)
        path = f"{folder}{os.pathsep}{environment['PATH']}"
        return choose("xclip", {**environment, "PATH": path})

    return make


def problem_of(act, *arguments):
    start = time.monotonic()
    with pytest.raises(Problem) as raised:
        act(*arguments)
    assert time.monotonic() - start < BOUND
    problem = raised.value
    return type(problem), problem.code, problem.message, problem.hint


def ends(pid):
    """Whether process `pid` ends within the bound."""
    deadline = time.monotonic() + BOUND
    while time.monotonic() < deadline:
        try:
            if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
                return True
        except FileNotFoundError:
            return True
        time.sleep(0.01)
    return False


def test_hung_reader(as_xclip, tmp_path):
    """A program that answers never is ended within the timeout, its children too."""
    clipboard = as_xclip("hangs")
    assert problem_of(clipboard.read) == (
        ClipboardUnavailable,
        74,
        "xclip did not answer within 0.5 s and was ended",
        "the program that owns the clipboard may hang; copy again, then try again",
    )
    assert ends(int((tmp_path / "child").read_text()))


def test_hung_writer(as_xclip, tmp_path):
    """A writer that reads nothing does not block, however long the text; the text is named."""
    clipboard = as_xclip("hangs")
    assert problem_of(clipboard.write, b"a" * 1_000_000, "/state/result.txt") == (
        ClipboardUnavailable,
        74,
        "xclip did not answer within 0.5 s and was ended",
        "the text is in /state/result.txt; try again",
    )
    assert ends(int((tmp_path / "child").read_text()))


def test_half_an_answer_is_none(as_xclip):
    """What was printed before a failure is never taken for the text."""
    clipboard = as_xclip("halves")
    assert problem_of(clipboard.read) == (
        ClipboardUnavailable,
        74,
        "xclip failed (exit code 1): lost the display",
        None,
    )


@pytest.mark.parametrize("size", [100, 1_000_000])
def test_writer_that_stops_reading(as_xclip, size):
    """A writer that took only part of the text has failed, whatever it says."""
    kind, code, message, hint = problem_of(as_xclip("stops_reading").write, b"a" * size)
    assert (kind, code) == (ClipboardUnavailable, 74)
    assert message.startswith("xclip took only ")
    assert message.endswith(f" of {size:,} bytes")
    assert hint == "the clipboard does not hold the whole text; try again"


def test_writer_that_refuses(environment):
    assert Programs(environment).hand(b"x" * 100_000, "refuses") == 3


def test_reader_that_floods(environment):
    """A program that prints without end is ended at the limit."""
    assert problem_of(Programs(environment).ask, "floods") == (
        ClipboardNotText,
        65,
        "the clipboard holds more than 4,194,304 bytes; at most 4,194,304 bytes are read",
        "copy only the message of the chat, then trigger again",
    )


def test_program_that_stays_behind(environment, tmp_path):
    """It holds no output of ours, has a session of its own, and is not waited for."""
    start = time.monotonic()
    assert Programs(environment).hand("ä\n".encode() * 50_000, "stays") == 0
    assert time.monotonic() - start < BOUND
    child = int((tmp_path / "child").read_text())
    try:
        assert (tmp_path / "text").read_bytes() == "ä\n".encode() * 50_000
        assert (tmp_path / "outputs").read_text() == "/dev/null\n/dev/null\n"
        assert int((tmp_path / "session").read_text()) != os.getsid(0)
        assert os.getsid(child) == int((tmp_path / "session").read_text())
    finally:
        os.kill(child, signal.SIGKILL)


def test_program_that_cannot_be_started(tmp_path, environment):
    (tmp_path / "odd").write_bytes(b"\0\0not a program")
    (tmp_path / "odd").chmod(0o755)
    assert problem_of(Programs(environment).ask, str(tmp_path / "odd")) == (
        ClipboardUnavailable,
        74,
        "cannot start odd: Exec format error",
        None,
    )


def test_program_found_by_a_relative_path(tmp_path, monkeypatch, environment):
    """PATH may name a relative folder; the program is started elsewhere all the same."""
    monkeypatch.chdir(STANDINS)
    programs = Programs({**environment, "PATH": f"broken{os.pathsep}{environment['PATH']}"})
    assert programs.path("refuses") == str(STANDINS / "broken" / "refuses")


@pytest.mark.parametrize("value", ["soon", "0", "-1", "nan", "inf", "1e9"])
def test_timeout_that_means_nothing(environment, value):
    with pytest.raises(Problem) as raised:
        Programs({**environment, "CLIP_HARNESS_CLIPBOARD_TIMEOUT": value})
    assert (raised.value.kind, raised.value.message) == (
        "settings",
        f"CLIP_HARNESS_CLIPBOARD_TIMEOUT must be a number of seconds, got {value!r}",
    )


def test_complaint_is_cleaned(environment, tmp_path):
    """What a program says is cut to one printable line before a terminal sees it."""
    loud = tmp_path / "loud"
    loud.write_text("#!/bin/sh\nprintf '\\n\\033]0;x\\007bad\\nmore' >&2; exit 1\n")
    loud.chmod(0o755)
    answer = Programs(environment).ask(str(loud))
    assert (answer.code, answer.data, answer.said) == (1, b"", "]0;xbad")


# OSC 52


def test_sequence():
    assert sequence("hé".encode(), inside_tmux=False) == b"\x1b]52;c;aMOp\x07"
    assert sequence("hé".encode(), inside_tmux=True) == b"\x1bPtmux;\x1b\x1b]52;c;aMOp\x07\x1b\\"


def test_sequence_at_its_limit():
    """The longest text that is sent makes a sequence of 100,000 bytes."""
    assert len(sequence(b"a" * terminal.OSC52_BYTES, inside_tmux=False)) == 100_000


def test_osc52_too_long(monkeypatch, tmp_path):
    """A text that does not fit is not sent at all, and the file that holds it is named."""
    monkeypatch.setattr(terminal, "TERMINAL", str(tmp_path / "terminal"))
    (tmp_path / "terminal").touch()
    assert problem_of(Osc52({}).write, b"a" * 74_995, "/state/result.txt") == (
        ClipboardUnavailable,
        74,
        "the text has 74,995 bytes; a terminal takes at most 74,994",
        (
            "the text is in /state/result.txt; set result_budget_chars lower, or use a clipboard "
            "that takes more"
        ),
    )
    assert (tmp_path / "terminal").read_bytes() == b""


def test_osc52_cannot_be_read():
    assert problem_of(Osc52({}).read) == (
        ClipboardUnavailable,
        74,
        "the terminal's clipboard can only be written (osc52)",
        "install xclip or wl-clipboard, or use tmux",
    )


def test_osc52_without_a_terminal(monkeypatch, tmp_path):
    monkeypatch.setattr(terminal, "TERMINAL", str(tmp_path / "missing"))
    expected = (
        ClipboardUnavailable,
        74,
        "there is no terminal to send the text to",
        "start this from a terminal",
    )
    assert problem_of(Osc52({}).write, b"x") == expected
    assert problem_of(Osc52({}).probe) == expected


WRITE_TO_TERMINAL = """
import fcntl, json, sys, termios
from clip_harness.adapters.choice import choose
from ch_contract.problems import Problem
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
environment, size = json.loads(sys.argv[1]), int(sys.argv[2])
clipboard = choose("auto", environment, "linux")
try:
    clipboard.write(b"a" * size)
except Problem as problem:
    print(problem.message, file=sys.stderr)
print(clipboard.name, file=sys.stderr)
"""


def start_on_terminal(slave, environment, size):
    return subprocess.Popen(
        [sys.executable, "-c", WRITE_TO_TERMINAL, json.dumps(environment), str(size)],
        stdin=slave,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )


def test_osc52_on_a_real_terminal(tmp_path):
    """With nothing but a terminal it is chosen, and the whole sequence arrives."""
    master, slave = pty.openpty()
    try:
        process = start_on_terminal(slave, {"PATH": str(tmp_path)}, 60_000)
        expected = b"\x1b]52;c;" + base64.b64encode(b"a" * 60_000) + b"\x07"
        received = b""
        while len(received) < len(expected) and select.select([master], [], [], BOUND)[0]:
            received += os.read(master, 65536)
        _, errors = process.communicate(timeout=BOUND)
        assert received == expected
        assert (errors, process.returncode) == (b"osc52\n", 0)
    finally:
        os.close(master)
        os.close(slave)


def test_osc52_on_a_stopped_terminal(tmp_path):
    """A terminal that takes nothing (Ctrl-S, or nobody reads) is given up on in time."""
    master, slave = pty.openpty()
    try:
        environment = {"PATH": str(tmp_path), "CLIP_HARNESS_CLIPBOARD_TIMEOUT": "0.3"}
        process = start_on_terminal(slave, environment, 60_000)
        _, errors = process.communicate(timeout=BOUND)
        assert errors == b"the terminal took no more text for 0.3 s\nosc52\n"
    finally:
        os.close(master)
        os.close(slave)
