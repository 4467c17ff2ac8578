"""Output as it is shown: a table of files, and what holds for every text."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from ch_receipt import clean, elide, replay

CASES = sorted((Path(__file__).parent / "cases" / "cleaning").glob("*.json"))
STEERED = st.text(alphabet="ab \n\r\b\x1b[0123;mKGCD]\x07\\", max_size=60)


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_a_raw_output_is_shown_as_its_file_says(path):
    raw = json.loads(path.read_text())["raw"].encode("latin-1")
    wanted = path.with_suffix(".txt").read_bytes().decode()
    chars = len(clean.decode(raw))

    def read(offset, count):
        return raw[offset : offset + count]

    assert elide.compose(read, len(raw), chars, "/out", 1000) == wanted


def test_the_table_is_found():
    assert len(CASES) > 30


@settings(deadline=None, max_examples=300)
@given(st.one_of(STEERED, st.binary(max_size=80).map(clean.decode)))
def test_nothing_that_steers_a_terminal_is_left(text):
    shown = clean.output(text)
    assert not [c for c in shown if c not in "\n\t" and not (" " <= c < "\x7f" or c >= "\xa0")]
    shown.encode("utf-8")


@settings(deadline=None, max_examples=300)
@given(STEERED)
def test_lines_stay_lines(text):
    assert clean.output(text).count("\n") == text.count("\n")


@settings(deadline=None, max_examples=300)
@given(st.text(alphabet=st.characters(exclude_categories=("Cc", "Cs")), max_size=80))
def test_text_without_control_characters_is_left_alone(text):
    assert clean.output(text) == text


@settings(deadline=None)
@given(st.binary(max_size=60))
@example(b"\xf0\x9f\x92")
def test_decoding_counts_an_undecodable_byte_as_one_and_loses_nothing(data):
    assert clean.encode(clean.decode(data)) == data


@settings(deadline=None)
@given(STEERED)
def test_what_is_shown_is_never_longer_than_a_bounded_multiple(text):
    assert len(replay.replay(text)) <= len(text)


def plain_replay(line):
    """The same, cell by cell, as slow as it may be."""
    cells, cursor = [], 0
    for token in replay._TOKENS.finditer(line.rstrip("\r")):
        final, number = token["final"], token["parameters"] or "0"
        if token["text"] is not None or token[0] == "\x1b":
            for character in token[0]:
                cells[cursor : cursor + 1] = [character]
                cursor += 1
        elif token[0] == "\r":
            cursor = 0
        elif token[0] == "\b":
            cursor = max(0, cursor - 1)
        elif final is None or not number.isdigit() or len(number) > 6:
            continue
        elif final == "K":
            if int(number) in (1, 2):
                cells[:cursor] = " " * cursor
            if int(number) in (0, 2):
                del cells[cursor:]
        elif final == "G":
            cursor = min(max(int(number), 1) - 1, len(cells))
        elif final == "D":
            cursor = max(0, cursor - max(int(number), 1))
        elif final == "C":
            if cursor == len(cells):
                cells.append(" ")
            cursor = min(cursor + max(int(number), 1), len(cells))
    text = "".join(cells)
    return text.rstrip(" ") if re.search(r"\x1b\[[12]K", line) else text


MOVES = ["\r", "\b", "\x1b", "\x1b[2;1H", *(f"\x1b[{n}{c}" for n in ("", *"0123") for c in "KGCD")]
MOVED = st.lists(st.sampled_from(["a", "bc", "defg", " ", *MOVES]), max_size=30).map("".join)


@settings(deadline=None, max_examples=500)
@given(MOVED)
@example("abcdef\x1b[1K\rx\x1b[9C\x1b[1Ky")
@example("aa\x1b[2K\b\x1b[0K")
def test_a_line_is_replayed_as_cell_by_cell(line):
    assert replay.replay(line) == plain_replay(line)


# What is written once, and what is then repeated.
HOSTILE = {
    "erase-to-the-end": ("a", "\x1b[K"),
    "erase-to-the-end-by-number": ("a", "\x1b[0K"),
    "erase-from-the-start": ("a", "\x1b[1K"),
    "erase-the-line": ("a", "\x1b[2K"),
    "erase-from-the-start-in-turn": ("a", "\rx\x1b[999999C\x1b[1K"),
    "erase-the-line-in-turn": ("a", "\rx\x1b[999999C\x1b[2Kab"),
    "erase-and-write-in-turn": ("a", "\x1b[1Kb\b\b"),
    "erase-a-little": ("a", "\x1b[2D\x1b[K"),
    "backspaces": ("", "a\b"),
    "backspaces-at-the-end": ("a", "\b"),
    "returns": ("", "ab\r"),
    "returns-in-a-long-line": ("a", "\rb"),
    "returns-alone": ("", "\r"),
    "to-the-right": ("a", "\x1b[C"),
    "far-to-the-right": ("a", "\r\x1b[999999C"),
    "to-the-left": ("a", "\x1b[D"),
    "far-to-the-left": ("a", "\x1b[999999Db"),
    "to-a-column": ("a", "\x1b[77Gb"),
    "to-the-last-column": ("a", "\x1b[1G\x1b[999999Gb"),
    "colours": ("", "\x1b[31ma\x1b[0m"),
    "begun-sequences": ("\r", "\x1b["),
    "begun-titles": ("\r", "\x1b]0;"),
    "begun-parameters": ("\r\x1b[", "1;"),
    "begun-blanks": ("\r\x1b[", " "),
    "begun-title": ("\r\x1b]0;", "title"),
    "escapes": ("\r", "\x1b"),
    "lines": ("a", "\rb\n"),
}


def hostile(name, size):
    once, again = HOSTILE[name]
    first = once * (size // 2) if len(once) == 1 and once != "\r" else once
    return first + again * ((size - len(first)) // len(again))


def seconds(text):
    """The least time of several: what else the machine does only adds."""
    taken = []
    for _ in range(5):
        start = time.process_time()
        clean.output(text)
        taken.append(time.process_time() - start)
    return min(taken)


@pytest.mark.parametrize("name", HOSTILE)
def test_the_time_grows_as_the_output_does(name):
    """Eight times as much: 8 times as long if linear, 64 times if quadratic."""
    size = 20_000
    small = seconds(hostile(name, size))
    assert seconds(hostile(name, 8 * size)) < 20 * max(small, 0.001)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("ls\u202egnp.sh", "ls\\u202egnp.sh"),
        ("a\x1b[2Kb", "a\\x1b[2Kb"),
        ("zero\u200bwidth", "zero\\u200bwidth"),
        ("naïve", "naïve"),
        ("a\tb", "a\tb"),
    ],
)
def test_what_a_person_judges_by_hides_nothing(text, wanted):
    assert clean.visible(text) == wanted
