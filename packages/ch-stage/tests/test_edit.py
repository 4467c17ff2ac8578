"""What an edit makes of the bytes of a file, and what is said where its text is not there."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from ch_contract.problems import Problem
from ch_stage.edit import edited
from ch_stage.nearest import describe

LINE = st.one_of(
    st.sampled_from(["", "a", "b", "same", "\tx", "  y ", "\ufeff", "\u2028", "\x0c", "\x85z"]),
    st.text(
        alphabet=st.characters(exclude_categories=("Cs",), exclude_characters="\n"), max_size=8
    ),
)
# of one kind, and with each line its own
TEXT = st.one_of(
    st.builds(
        lambda lines, end, last: end.join(lines) + (end if last else ""),
        st.lists(LINE, min_size=1, max_size=12),
        st.sampled_from(["\n", "\r\n"]),
        st.booleans(),
    ),
    st.lists(st.tuples(LINE, st.sampled_from(["\n", "\r\n", ""])), max_size=12).map(
        lambda rows: "".join(line + end for line, end in rows)
    ),
)


def edit(text, old, new, *, replace_all=False):
    """The text after the edit, or what it was refused for."""
    try:
        return edited("n.txt", text.encode(), old, new, replace_all=replace_all).decode()
    except Problem as problem:
        return f"{problem.kind}: {problem.message}"


def ends(text):
    """The kinds of line ends of a text."""
    return set(re.findall("\r\n|\n", text))


@settings(deadline=None, max_examples=500)
@example("a\r\nb\r\n", 1, 3, " b")
@example("a\r\nb\n", 0, 4, "x\ny")
@example("a\nb\n", 0, 1, "x\r\ny")
@example("a\r\nb\r\n", 0, 1, "x\r")
@given(TEXT, st.integers(0, 80), st.integers(1, 30), st.text(alphabet="xy\n", max_size=6))
def test_an_edit_changes_its_span_and_no_byte_besides(text, start, length, new):
    """The span is one of signs as an editor counts them: CRLF is one."""
    signs = re.findall("\r\n|.", text, re.DOTALL)
    old = "".join(signs[start : start + length]).replace("\r\n", "\n")
    assume(old and old != new.replace("\r\n", "\n"))
    view = text.replace("\r\n", "\n")
    # a lone CR before a CRLF: a message with LF alone cannot say it
    assume("\r\n" not in view)
    found = edit(text, old, new)
    if view.find(old, view.find(old) + 1) >= 0:
        assert found.startswith("refused: n.txt holds old_string ")
        return
    if found.startswith("refused: "):
        span = ends("".join(signs[start : start + length]))
        if found.startswith("refused: n.txt holds both kinds of line ends"):
            assert len(span) == 2
        else:
            # a lone CR that comes to stand before a newline
            assert re.search(r"has (LF|CRLF) line ends, and the change would bring in", found)
            assert len(ends(text)) == 1
            assert "\r" in old + new + view
        return
    before, behind = "".join(signs[:start]), "".join(signs[start + length :])
    assert found.startswith(before)
    assert found.endswith(behind)
    middle = found[len(before) : len(found) - len(behind)]
    assert middle.replace("\r\n", "\n") == new.replace("\r\n", "\n")
    if len(ends(text)) == 1 and "\r" not in view:
        assert ends(found) <= ends(text)


@settings(deadline=None, max_examples=300)
@given(
    TEXT,
    st.sampled_from(["a", "\n", "same", "b\n", "\na", "\n\n"]),
    st.sampled_from(["", "q", "x\ny"]),
)
def test_all_places_are_replaced_from_the_first_on(text, old, new):
    view = text.replace("\r\n", "\n")
    assume(old in view and "\r\n" not in view)
    found = edit(text, old, new, replace_all=True)
    if not found.startswith("refused: "):
        assert found.replace("\r\n", "\n") == view.replace(old, new).replace("\r\n", "\n")
        if len(ends(text)) == 1 and "\r" not in view:
            assert ends(found) <= ends(text)


@settings(deadline=None, max_examples=300)
@given(TEXT, st.text(max_size=40), st.text(max_size=10))
def test_any_edit_gives_bytes_or_says_why_not(text, old, new):
    found = edit(text, old, new)
    lf = old.replace("\r\n", "\n")
    if lf and lf not in text.replace("\r\n", "\n") and lf != new.replace("\r\n", "\n"):
        assert found == "refused: n.txt does not hold old_string"


@pytest.mark.parametrize(
    ("text", "old", "new", "after"),
    [
        ("a\r\nb\r\n", "\nb", " b", "a b\r\n"),
        ("a\r\nb\r\n", "a\n", "", "b\r\n"),
        ("a\r\nb\r\n", "b", "b\nc", "a\r\nb\r\nc\r\n"),
        ("a\nb\n", "a\r\nb", "x\r\ny", "x\ny\n"),
        ("a\r\nb\nc\r\nd\n", "b", "b\nB", "a\r\nb\nB\nc\r\nd\n"),
        ("a\r\nb\nc\r\nd\n", "c", "c\nC", "a\r\nb\nc\r\nC\r\nd\n"),
        ("a\r\nb\nc", "c", "c\nC", "a\r\nb\nc\nC"),
        ("a\nb\r\nc", "c", "c\nC", "a\nb\r\nc\r\nC"),
        ("a", "a", "x\ny", "x\ny"),
        ("\ufeffa\r\nb", "a\nb", "b\na", "\ufeffb\r\na"),
        ("a\u2028b\x0cc\x85d\n", "b", "B", "a\u2028B\x0cc\x85d\n"),
        ("a\rb\rc", "b\r", "B\r", "a\rB\rc"),
        ("a\r\r\nb\r\n", "a\r", "x", "x\r\nb\r\n"),
        ("a\r\nb\r\n", "a\r", "b", "refused: n.txt does not hold old_string"),
        (
            "a\nb\n", "a", "x\r",
            "refused: n.txt has LF line ends, and the change would bring in CRLF",
        ),
        (
            "a\r\nb\nc\n", "a\nb\nc", "x",
            "refused: n.txt holds both kinds of line ends in the text from line 1 on",
        ),
        ("a\r\nb\r\na\nb\n", "a\nb", "x", "refused: n.txt holds old_string 2 times: on lines 1, 3"),
        ("aXaXa", "aXa", "b", "refused: n.txt holds old_string 2 times: on lines 1, 1"),
        ("", "a", "b", "refused: n.txt does not hold old_string"),
        ("a", "", "b", "refused: n.txt has an edit whose old_string is empty"),
        (
            "a\r\n", "a\r\n", "a\n",
            "refused: n.txt would stay as it is: old_string and new_string are the same",
        ),
    ],
)  # fmt: skip
def test_line_ends_stay_those_of_the_file(text, old, new, after):
    assert edit(text, old, new) == after


@pytest.mark.parametrize(
    ("text", "old", "new", "after"),
    [
        ("a\r\nb\r\n", "\n", "\n\n", "a\r\n\r\nb\r\n\r\n"),
        ("a\r\nb\na\n", "a\n", "x\ny\n", "x\r\ny\r\nb\nx\ny\n"),
        ("aaa", "aa", "b", "ba"),
        ("a b a", "a", "", " b "),
    ],
)
def test_each_place_is_replaced_with_the_ends_it_has(text, old, new, after):
    assert edit(text, old, new, replace_all=True) == after


@pytest.mark.parametrize(
    ("times", "said"),
    [
        (20, f"20 times: on lines {', '.join(map(str, range(1, 21)))}"),
        (21, f"21 times: on lines {', '.join(map(str, range(1, 21)))} and 1 more"),
        (10_000, f"10,000 times: on lines {', '.join(map(str, range(1, 21)))} and 9,980 more"),
        (20_000, f"more than 10,000 times: on lines {', '.join(map(str, range(1, 21)))} and more"),
    ],
)
def test_the_lines_of_several_places_are_listed_up_to_a_limit(times, said):
    assert edit("x\n" * times, "x", "y") == f"refused: n.txt holds old_string {said}"


RESEND = "; copy the exact text from the file and send the edit again"


@pytest.mark.parametrize(
    ("text", "wanted", "said"),
    [
        ("a\n  if x:\n    y\n", "  if x:\n\ty",
         "the nearest text is on line 2; on line 3, column 1, the file has “····y” and old_string has “→y”"),
        ("hello world\nfoo bar\nbaz\n", "world\nfoo bar\nbax",
         "the nearest text is on line 1; on line 3, column 3, the file has “baz” and old_string has “bax”"),
        ("x\nsay hello world\n", "hello wxrld",
         "the nearest text is on line 2; on line 2, column 12, the file has “say·hello·world” and old_string has “hello·wxrld”"),
        ("say “hello” there\n", 'say "hello" there',
         'the nearest text is on line 1; on line 1, column 5, the file has “say·“hello”·there” and old_string has “say·"hello"·there”'),
        ("one two\n", "one\u00a0two",
         "the nearest text is on line 1; on line 1, column 4, the file has “one·two” and old_string has “one<U+00A0>two”"),
        ("alpha\nbeta", "beta\n",
         "the nearest text is on line 2, but the file has no newline at its end"),
        ("alpha\nbeta\n", "beta\ngamma",
         "the nearest text is on line 2; the file ends on line 2, where old_string goes on with “gamma”"),
        ("alpha\nbeta\n", "quite another thing", "nothing like it is in the file"),
        ("", "x", "nothing like it is in the file"),
        ("alpha\nbeta\n", "  2 | beta",
         "line numbers seem to have been copied along; the text behind them is on line 2"),
        ("alpha\nbeta\n", "1\talpha\n2\tbeta",
         "line numbers seem to have been copied along; the text behind them is on line 1"),
        ("alpha\nbeta\n", "1: alpha\n2: gamma", "line numbers seem to have been copied along"),
        ("port: 80\n", "81: x", "nothing like it is in the file"),
    ],
)  # fmt: skip
def test_the_nearest_text_is_told_with_what_differs(text, wanted, said):
    behind = " without them" if said.startswith("line numbers") else ""
    assert describe(text, wanted) == said + RESEND + behind


@settings(deadline=None, max_examples=300)
@given(TEXT, st.text(max_size=40))
def test_the_nearest_text_is_told_of_anything(text, wanted):
    assert RESEND in describe(text, wanted)


@pytest.mark.heavy
@pytest.mark.parametrize(
    "text",
    [
        "".join(f"line {number} of a file that is ten megabytes\n" for number in range(230_000)),
        "x\n" * (5 << 20),
        "x y " * (5 << 19),
        "a" * (10 << 20),
        "\n" * (10 << 20),
    ],
    ids=["lines", "same-lines", "one-line-of-words", "one-word", "newlines"],
)
@pytest.mark.parametrize(
    "wanted",
    [
        "".join(f"line  {number} of the file that is not\n" for number in range(300)),
        "x\n" * 299 + "y",
        "x y " * 300 + "z",
        "a" * 10_000 + "b",
    ],
    ids=["lines", "same-lines", "words", "one-word"],
)
def test_the_nearest_text_of_ten_megabytes_in_time(text, wanted):
    """Under a second on an idle machine; three times that here."""
    started = time.perf_counter()
    assert RESEND in describe(text, wanted)
    spent = time.perf_counter() - started
    assert spent < 3, spent
