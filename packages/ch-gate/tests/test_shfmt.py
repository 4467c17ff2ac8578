"""The parser as a child process: bounds, failures, and nothing left behind."""

import os
import stat
import sys
import time
from pathlib import Path

import pytest

from ch_gate import shfmt, syntax

CHILDREN = Path(f"/proc/self/task/{os.getpid()}/children")


def descriptors():
    return sorted(os.listdir("/proc/self/fd"))


@pytest.fixture(autouse=True)
def _nothing_left():
    """Every test leaves the same descriptors and no child of its own."""
    before = descriptors()
    children = CHILDREN.read_text()
    yield
    assert descriptors() == before
    assert CHILDREN.read_text() == children


@pytest.fixture
def stand_in(tmp_path, monkeypatch):
    """Put a script in the place of the parser."""

    def put(script):
        (tmp_path / "bin").mkdir()
        path = tmp_path / "bin" / "shfmt"
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        monkeypatch.setattr("sys.prefix", str(tmp_path))
        return path

    return put


def cause(text="ls", seconds=5.0):
    with pytest.raises(shfmt.Unreadable) as caught:
        shfmt.parse(text, "bash", shfmt.Clock(seconds))
    return str(caught.value)


def test_a_tree_comes_back():
    """A valid text gives its tree."""
    assert shfmt.parse("ls", "bash", shfmt.Clock(5))["Type"] == "File"


def test_an_invalid_text_gives_line_and_cause():
    """The parser's complaint, with the line."""
    assert cause("ls\necho $(") == "line 2: reached EOF without matching `$(` with `)`"


def test_a_missing_parser_allows_nothing(tmp_path, monkeypatch):
    """Neither in the scripts folder nor on record: unreadable, whatever PATH holds."""
    monkeypatch.setattr("sys.prefix", str(tmp_path))
    monkeypatch.setattr("sys.path", [str(tmp_path)])
    assert cause() == "the parser shfmt is not installed (the package shfmt-py brings it)"
    reading = syntax.read(
        "ls", "bash", lambda text, tongue: shfmt.parse(text, tongue, shfmt.Clock())
    )
    assert (reading.cause, reading.commands) == (
        "the parser shfmt is not installed (the package shfmt-py brings it)", [],
    )  # fmt: skip


def test_the_parser_is_found_where_its_wheel_was_installed(tmp_path, monkeypatch):
    """The record of the installed wheel leads to the script, wherever that folder is."""
    site = tmp_path / "lib" / "site-packages"
    record = site / "shfmt_py-9.9.dist-info" / "RECORD"
    record.parent.mkdir(parents=True)
    record.write_text("shfmt_py-9.9.dist-info/METADATA,sha256=x,1\n../../bin/shfmt,sha256=y,2\n")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "shfmt").symlink_to(shfmt.find())
    monkeypatch.setattr("sys.prefix", str(tmp_path / "elsewhere"))
    monkeypatch.setattr("sys.path", [str(tmp_path / "nothing"), str(site)])
    assert shfmt.find() == str(tmp_path / "bin" / "shfmt")


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("exit 3", "the parser crashed"),
        ("exit 0", "the parser gave no tree"),
        ("echo '[]'", "the parser gave no tree"),
        ("echo '{'", "the parser gave no tree"),
        ("kill -9 $$", "the parser was ended by the system"),
        (
            "exec /bin/sh -c 'while :; do printf %100000d 1; done'",
            "its tree is larger than 8,388,608 bytes",
        ),
        ("cat >/dev/null; echo 'x: 1' >&2; exit 1", "x: 1"),
    ],
)
def test_a_parser_that_fails(stand_in, script, expected):
    """Each way to fail has its cause."""
    stand_in(script)
    assert cause() == expected


@pytest.mark.parametrize("script", ["exec sleep 60", "exec >&- 2>&-; exec sleep 60"])
def test_a_parser_that_hangs_is_killed_at_the_deadline(stand_in, script):
    """Open or closed outputs: it is ended, and the verdict is late by little."""
    stand_in(script)
    start = time.monotonic()
    found = cause(seconds=0.3)
    assert found in (
        "it took longer to read than the time allowed for a verdict",
        "the parser did not end in time",
    )
    assert time.monotonic() - start < 5


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells what a process has used")
def test_a_busy_machine_is_no_refusal(stand_in):
    """A parser that gets no processor for twice the deadline is waited for, and its tree read."""
    real = shfmt.find()
    stand_in(f'sleep 0.4; exec {real} "$@"')
    assert shfmt.parse("ls", "bash", shfmt.Clock(0.2))["Type"] == "File"


def test_a_parser_that_works_too_long_is_ended(stand_in):
    """Processor time is what the deadline counts."""
    stand_in("while :; do :; done")
    start = time.process_time(), time.monotonic()
    assert cause(seconds=0.2) == shfmt.LATE
    assert time.process_time() - start[0] < 0.2
    assert time.monotonic() - start[1] < 2


def test_neither_side_waits_for_the_other(stand_in):
    """A parser that answers before it has read a text larger than a pipe does not block."""
    stand_in("printf %300000d 1; cat >/dev/null; printf %300000d 1")
    assert cause("x" * 500_000) == "the parser gave no tree"


def test_a_parser_that_never_reads(stand_in):
    """A closed input is no error of ours."""
    stand_in("exec <&-; echo no; exit 3")
    assert cause("x" * 500_000) == "the parser crashed"


@pytest.mark.parametrize(
    ("text", "deep"),
    [("", 0), ("((()))", 3), ("()()", 1), ("${a[b]}", 2), (")))(((", 3), ("`a \\`b \\\\\\`c`", 3)],
)
def test_depth(text, deep):
    """Brackets of any kind count, closed ones do not add up."""
    assert shfmt.depth(text) == deep


def test_memory_is_limited(stand_in, tmp_path):
    """The parser can't take the machine's memory."""
    stand_in(f"ulimit -d >{tmp_path}/limit; sleep 0.2; ulimit -d >{tmp_path}/limit; exit 3")
    cause()
    assert (tmp_path / "limit").read_text() == f"{shfmt.MEMORY_LIMIT // 1024}\n"
