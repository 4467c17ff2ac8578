"""Characters that are not what they look like."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ch_gate import characters
from ch_gate.characters import mended, name_of, oddities


@pytest.mark.parametrize(
    ("text", "names", "meant"),
    [
        ("git\u00a0status", ["U+00A0 (no-break space)"], "git status"),
        ("ls \u2013la", ["U+2013 (en dash)"], "ls -la"),
        ("npm run x \u2014watch", ["U+2014 (em dash)"], "npm run x --watch"),
        ("echo \u201cit\u2019s\u201d", ["U+201C (curly quote)", "U+2019 (curly quote)", "U+201D (curly quote)"], "echo \"it's\""),
        ("ls\u200b -l", ["U+200B (zero-width space)"], "ls -l"),
        ("\ufeffls", ["U+FEFF (byte order mark)"], "ls"),
        ("a &amp;&amp; b", ["the HTML entity &amp;"] * 2, "a && b"),
        ("a &gt; /dev/null", ["the HTML entity &gt;"], "a > /dev/null"),
        ("ls \\ \n-l", ["blanks after a backslash at the end of a line"], "ls \\\n-l"),
        ("a \u202e b", ["U+202E (right-to-left override)"], None),
        ("a\x00b", ["U+0000 (NUL)"], None),
        ("a\x1b[0m", ["U+001B (escape)"], None),
        ("a\bb", ["U+0008 (backspace)"], None),
        ("a\rb", ["U+000D (a lone carriage return)"], None),
        ("a\u2066b", ["U+2066 (left-to-right isolate)"], None),
    ],
)  # fmt: skip
def test_damage_is_named_and_mended(text, names, meant):
    """Each place has its code point; what can be meant is offered, what hides is not."""
    found = oddities(text)
    assert [oddity.name for oddity in found] == names
    assert mended(text, found) == meant
    assert [oddity.hides for oddity in found] == [meant is None] * len(found)


@pytest.mark.parametrize(
    "text",
    [
        "ls -la",
        "a\r\nb",
        "a\tb\n",
        "x=a\u2013b",
        "echo größe 日本語",
        "a && b; c & d",
        "touch \u2705\ufe0f",
    ],
)
def test_ordinary_text_is_left_alone(text):
    """Letters of any script, a dash inside a word, line ends, emoji."""
    assert oddities(text) == []


def test_in_quotes_only_what_cannot_be_seen_counts():
    """Typographic signs in quotes are what somebody wrote."""
    text = "\u201ca\u201d \u2013b &amp; \u200b"
    assert [oddity.name for oddity in oddities(text, [(0, len(text))])] == [name_of("\u200b")]


@given(st.text(max_size=80))
@settings(max_examples=300, deadline=None)
def test_spans_lie_in_the_text_in_order(text):
    """Places do not overlap, and without any the text is its own proposal."""
    found = oddities(text)
    ends = [0]
    for oddity in sorted(found, key=lambda item: item.start):
        assert ends[-1] <= oddity.start < oddity.end <= len(text)
        ends.append(oddity.end)
    if not found:
        assert mended(text, found) == text


@pytest.mark.parametrize(
    ("word", "alone", "letter"),
    [
        ("cat", True, None),
        ("größe", True, None),
        ("c\u0430t", True, "\u0430"),
        ("\u0441\u0430t", False, "\u0441"),
        ("\u043f\u0440\u0438\u0432\u0435\u0442", False, None),
        ("\u0441\u043e\u043a", True, "\u0441"),
        ("5\u03bcm", False, None),
        ("src-\u0441\u043e\u043a/x", False, None),
        ("\uff52\uff4d", True, "\uff52"),
        ("\U0001d42bm", False, "\U0001d42b"),
    ],
)
def test_letters_that_look_like_latin_ones(word, alone, letter):
    """Mixed into a Latin name, or in the name of a program; not a name in another script."""
    assert characters.look_alike(word, alone=alone) == letter
