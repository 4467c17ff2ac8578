"""Elision: the windows, the numbers in the marker, and the budget."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ch_receipt import clean, elide

MARKER = re.compile(
    r"\[output elided: (\d+) of (\d+) chars shown · full output \((\d+) chars\) saved at (\S+)"
    r" · page it with: sed -n '(\d+),(\d+)p' (\S+) · grep (\S+) · tail -c (\d+) (\S+)\]"
)
PIECES = st.sampled_from(["a", "é", "€", "💥", "\n", "word ", "\n\n", "x" * 30])
BAD_PIECES = st.sampled_from([b"\xff", b"\xe2\x82", b"\x00", b"\xf0\x9f", b"\x80", b"ok\n"])


def digest(raw, budget):
    chars = len(clean.decode(raw))
    reads = []

    def read(offset, count):
        reads.append(count)
        return raw[offset : offset + count]

    return elide.compose(read, len(raw), chars, "/state/out.txt", budget), chars


def split(text):
    """Head, the marker's fields, tail."""
    found = MARKER.search(text)
    assert found, text
    numbers = [int(found[n]) for n in (1, 2, 3, 5, 6, 9)]
    assert {found[n] for n in (4, 7, 8, 10)} == {"/state/out.txt"}
    return text[: found.start()], numbers, text[found.end() + 1 :]


@settings(deadline=None, max_examples=300)
@given(st.lists(PIECES, min_size=1, max_size=80).map("".join), st.integers(4, 40))
def test_head_and_tail_are_the_ends_of_the_text(text, budget):
    shown, chars = digest(text.encode(), budget)
    if chars <= budget:
        assert shown == text
        return
    head, (count, total, again, first, last, rest), tail = split(shown)
    head_chars, tail_chars = budget // 2, budget - budget // 2
    assert (total, again, count) == (chars, chars, head_chars + tail_chars)
    assert tail_chars >= head_chars
    wanted = text[:head_chars]
    assert head == (wanted if wanted.endswith("\n") else wanted + "\n")
    assert tail == text[-tail_chars:]
    elided = text[head_chars:-tail_chars]
    assert count + len(elided) == total
    assert (elided + tail).encode() == text.encode()[-rest:]
    lines = text.split("\n")
    paged = "\n".join(lines[first - 1 : last])
    assert elided.removesuffix("\n") in paged + "\n"
    assert first == text[:head_chars].count("\n") + 1
    assert last == text[: len(text) - tail_chars - 1].count("\n") + 1


@settings(deadline=None, max_examples=300)
@given(
    st.lists(st.one_of(PIECES.map(str.encode), BAD_PIECES), min_size=1, max_size=60).map(b"".join),
    st.integers(6, 60),
)
def test_the_budget_holds_for_bytes_that_are_no_text(raw, budget):
    shown, chars = digest(raw, budget)
    if MARKER.search(shown) is None:
        assert len(shown) <= budget
        return
    head, (count, total, _, _, _, rest), tail = split(shown)
    assert len(head.removesuffix("\n")) <= budget // 2
    assert len(tail) <= budget - budget // 2
    assert total == chars
    assert 0 <= count < chars
    assert 0 < rest <= len(raw)


@settings(deadline=None, max_examples=200)
@given(
    st.lists(st.one_of(PIECES.map(str.encode), BAD_PIECES), min_size=20, max_size=60).map(b"".join)
)
def test_the_tail_window_counts_characters_as_the_whole_file_does(raw):
    """A window that begins amid a character shows the same as the end of the whole."""
    chars = clean.decode(raw)
    for count in range(1, 12):
        reach = 4 * (count + 4)
        window = clean.decode(raw[-reach:])
        assert window[-count:] == chars[-count:]


@pytest.mark.parametrize(
    ("raw", "wanted"),
    [
        (b"aaaa\x1b[31mred and more" + b"b" * 30 + b"z" * 10, "aaaa\n"),
        (b"aaaaaaa\x1b[31mred and more" + b"b" * 30 + b"z" * 10, "aaaaaaa\n"),
    ],
)
def test_a_sequence_that_the_head_cuts_is_not_shown_in_part(raw, wanted):
    head, _, _ = split(digest(raw, 20 if len(wanted) > 5 else 16)[0])
    assert head == wanted


def test_a_sequence_that_the_tail_cuts_is_not_shown_in_part():
    raw = b"a" * 40 + b"\x1b[38;5;196mred end"
    _, _, tail = split(digest(raw, 20)[0])
    assert tail == "red end"


def test_utf_16_is_read_in_both_windows():
    raw = "".join(f"line {n}\r\n" for n in range(200)).encode("utf-16-le")
    head, _, tail = split(digest(raw, 101)[0])
    assert head.startswith("line 0\nline 1\n")
    assert tail.endswith("line 198\nline 199\n")
    assert "\\x00" not in head + tail


@pytest.mark.parametrize(
    ("path", "word"),
    [("/a/b-c_d.txt", "/a/b-c_d.txt"), ("/a b/o.txt", "'/a b/o.txt'"), ("/it's", "'/it'\\''s'")],
)
def test_a_path_is_one_word_of_a_shell(path, word):
    assert elide.quoted(path) == word


def test_the_commands_of_the_marker_work(tmp_path):
    """What a model copies from the marker prints what was left out."""
    folder = tmp_path / "with blank"
    folder.mkdir()
    file = folder / "output.txt"
    text = "".join(f"line {n} é\n" for n in range(1, 3001))
    file.write_text(text)
    shown = elide.digest(result(file), 2000, str(file))
    commands = re.search(r"page it with: (sed .*?) · (grep .*?) · (tail .*?)\]", shown)
    head, _, tail = shown.partition("[output elided")
    tail = tail.partition("]\n")[2]

    def run(command):
        return subprocess.run(["sh", "-c", command], capture_output=True, check=True, text=True)

    paged = run(commands[1]).stdout
    elided = text[1000:-1000]
    assert elided in paged
    assert len(paged) < len(elided) + 40
    assert run(commands[3]).stdout == text[1000:]
    assert run(commands[2].replace("grep", "grep -c 'line 1500 '")).stdout == "1\n"
    assert head + elided + tail == text.replace(text[:1000], text[:1000] + "\n", 1)


def result(path, **changes):
    raw = path.read_bytes()
    return {
        "output_path": str(path),
        "output_bytes": len(raw),
        "output_chars": len(clean.decode(raw)),
        **changes,
    }


def test_what_a_background_process_adds_later_is_left_out(tmp_path):
    file = tmp_path / "output.txt"
    file.write_text("first\n")
    taken = result(file)
    file.write_text("first\nlater\n")
    assert elide.digest(taken, 1000, str(file)) == "first\n"


def test_an_output_that_is_gone_is_said_to_be(tmp_path):
    gone = {"output_path": str(tmp_path / "gone.txt"), "output_bytes": 5, "output_chars": 5}
    assert elide.digest(gone, 1000, gone["output_path"]) == (
        f"[output not readable: No such file or directory · {tmp_path}/gone.txt]"
    )


def test_another_file_is_not_shown(tmp_path):
    secret = tmp_path / "secret"
    secret.write_text("secret\n")
    assert elide.digest(result(secret), 1000, str(tmp_path / "output.txt")) == (
        f"[output not shown: {secret} is not the output of this run]"
    )


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (os.mkfifo, "cannot read {path}: it is no regular file"),
        (
            lambda path: os.symlink("/etc/passwd", path),
            "Too many levels of symbolic links · {path}",
        ),
        (os.mkdir, "Is a directory · {path}"),
    ],
    ids=["pipe", "link", "folder"],
)
def test_what_is_no_file_is_neither_waited_for_nor_followed(tmp_path, make, told):
    path = tmp_path / "output.txt"
    make(path)
    forged = {"output_path": str(path), "output_bytes": 10**400, "output_chars": 5}
    shown = elide.digest(forged, 1000, str(path))
    assert shown == f"[output not readable: {told.format(path=path)}]"


@pytest.mark.parametrize("chars", [1, 5, 10**400], ids=["1", "5", "huge"])
def test_numbers_that_are_not_true_cost_nothing(tmp_path, chars):
    file = tmp_path / "output.txt"
    file.write_text("short\n")
    taken = result(file, output_bytes=10**400, output_chars=chars)
    shown = elide.digest(taken, 1000, str(file))
    assert "short\n" in shown
    os.truncate(file, 1 << 40)
    shown = elide.digest(taken, 1000, str(file))
    assert len(shown) < 6000


@pytest.mark.heavy
@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="memory is read from /proc")
def test_300_megabytes_are_not_read_as_a_whole(tmp_path):
    """Time and memory stay flat: the middle is skimmed within a bound."""
    file = tmp_path / "output.txt"
    line = b"0123456789abcde\n"
    with open(file, "wb") as out:
        out.writelines(line * 65536 for _ in range(300))
    size = os.path.getsize(file)
    code = f"""
import time
from ch_receipt import elide
begun = time.perf_counter()
text = elide.digest({{"output_path": {str(file)!r}, "output_bytes": {size},
    "output_chars": {size}}}, 100_000, {str(file)!r})
taken = time.perf_counter() - begun
peak = [row for row in open("/proc/self/status") if row.startswith("VmHWM")][0].split()[1]
print(taken, len(text), peak)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    seconds, length, peak = done.stdout.split()
    file.unlink()
    assert int(length) < 101_000
    assert float(seconds) < 1.0
    assert int(peak) < 48 * 1024
