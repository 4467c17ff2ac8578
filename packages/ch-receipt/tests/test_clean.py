"""Output as it is shown: a table of files, and what holds for every text."""

from __future__ import annotations

import json
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


def test_replaying_takes_linear_time():
    """A hostile line of a megabyte is replayed in well under a second."""
    for text in ("\x1b[" * 300_000, "\x1b]0;" * 200_000, "a\b" * 500_000, "ab\r" * 300_000):
        assert len(clean.output(text)) <= 4 * len(text)


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
