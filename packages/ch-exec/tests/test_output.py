"""Bytes, characters and hash of an output that is read while it grows."""

import hashlib
import os

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ch_exec.output import BEHIND, CHUNK, MANY, Output, Tally

PIECES = st.lists(
    st.one_of(
        st.binary(max_size=8),
        st.text(max_size=4).map(lambda text: text.encode("utf-8", "surrogatepass")),
        st.text(max_size=4).map(lambda text: text.encode("utf-16")),
    ),
    max_size=8,
)


def counted(tally):
    return (tally.size, tally.characters, tally.sha256)


def expected(data):
    return (
        len(data),
        len(data.decode("utf-8", errors="surrogateescape")),
        hashlib.sha256(data).hexdigest(),
    )


@settings(deadline=None)
@given(PIECES)
def test_the_count_does_not_depend_on_how_the_bytes_are_cut(pieces):
    """A tally of pieces is the tally of the whole; an undecodable byte counts one."""
    tally = Tally()
    so_far = b""
    for piece in pieces:
        tally.update(piece)
        so_far += piece
        assert counted(tally) == expected(so_far)


def test_a_large_output_changes_the_hasher_and_not_the_hash():
    """Beyond the first megabyte another implementation goes on from the first byte."""
    tally = Tally()
    data = bytes(range(256)) * 4096 * 2
    for start in range(0, len(data), 70_001):
        tally.update(data[start : start + 70_001])
    assert tally.size > MANY
    assert counted(tally) == expected(data)


def test_what_is_written_behind_the_end_is_not_counted(tmp_path):
    """`finish` stops where the file ends at that moment, whatever is written later."""
    path = tmp_path / "output.txt"
    path.write_bytes(b"one\n")
    output = Output(str(path))
    assert output.advance() == 4
    with path.open("ab") as file:
        file.write(b"two\n")
        file.flush()
        output.finish()
        file.write(b"three\n")
    output.close()
    assert (counted(output.tally), output.reopened) == (expected(b"one\ntwo\n"), False)


def make_fifo(path):
    os.mkfifo(path)


def make_link(path):
    path.with_suffix(".other").write_bytes(b"")
    path.symlink_to(path.with_suffix(".other"))


def make_device(path):
    path.symlink_to("/dev/null")


@pytest.mark.parametrize("make", [make_fifo, make_link, make_device])
def test_only_a_file_is_an_output(tmp_path, make):
    """Nothing else is waited for or followed."""
    path = tmp_path / "output.txt"
    make(path)
    with pytest.raises(OSError, match=r"output\.txt"):
        Output(str(path))


class Shown:
    """Takes what is shown, and counts what is not."""

    def __init__(self):
        self.bytes = b""
        self.skipped = 0

    def show(self, data):
        self.bytes += data

    def skip(self, count):
        self.skipped += count


def test_what_is_new_is_shown_once(tmp_path):
    """Every byte reaches the view, in order, also those that came with the end."""
    path = tmp_path / "output.txt"
    data = b"x" * (CHUNK + 7)
    path.write_bytes(data)
    shown = Shown()
    output = Output(str(path), shown)
    assert output.advance() == CHUNK
    output.finish()
    output.close()
    assert (shown.bytes, shown.skipped) == (data, 0)


def test_a_view_far_behind_is_shown_the_end(tmp_path):
    """All is counted, the last megabyte is shown, and what was left out is told."""
    path = tmp_path / "output.txt"
    data = b"a" * (3 * BEHIND) + b"b" * BEHIND
    path.write_bytes(data)
    shown = Shown()
    output = Output(str(path), shown)
    output.finish()
    output.close()
    assert (shown.bytes[-BEHIND:], shown.skipped) == (b"b" * BEHIND, len(data) - len(shown.bytes))
    assert counted(output.tally) == expected(data)


@pytest.mark.parametrize("later", [b"", b"new", b"something longer than before"])
def test_an_output_that_was_begun_anew_is_counted_anew(tmp_path, later):
    """The result describes the bytes that are in the file, and says that others were lost."""
    path = tmp_path / "output.txt"
    path.write_bytes(b"twelve bytes")
    output = Output(str(path))
    output.advance()
    path.write_bytes(later)
    output.finish()
    output.close()
    assert (counted(output.tally), output.reopened) == (expected(later), True)


@pytest.mark.parametrize("known", ["watched", "no such call", "none left"])
@pytest.mark.parametrize("mode", ["wb", "ab"])
def test_a_writer_that_opens_the_file_itself_is_noticed(tmp_path, monkeypatch, known, mode):
    """Also before a byte was read; where the system cannot tell, lost bytes alone tell."""
    path = tmp_path / "output.txt"
    if known == "no such call":
        monkeypatch.setattr("ch_exec.libc.function", lambda _name: None)
    if known == "none left":
        monkeypatch.setattr("ch_exec.libc.function", lambda _name: lambda *_arguments: -1)
    with path.open("wb", buffering=0) as own:
        output = Output(str(path))
        own.write(b"own\n")
        with path.open(mode) as other:
            other.write(b"other\n")
        output.finish()
        output.close()
    assert output.reopened == (known == "watched")
    assert counted(output.tally) == expected(path.read_bytes())
