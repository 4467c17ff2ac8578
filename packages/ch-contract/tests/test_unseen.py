"""What cannot be seen is shown as an escape, everywhere in the same way."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ch_contract.problems import visible
from ch_contract.unseen import escaped


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain", "plain"),
        ("caf\u00e9 \u65e5\u672c", "caf\u00e9 \u65e5\u672c"),
        ("x\u3164y", "x\\u3164y"),
        ("\u2800", "\\u2800"),
        ("a\ufe0f", "a\\ufe0f"),
        ("a\U000e0101", "a\\U000e0101"),
        ("\u115f\u1160\u034f", "\\u115f\\u1160\\u034f"),
        ("a\u202eb\u200b", "a\\u202eb\\u200b"),
        ("\x1b[2J\r", "\\x1b[2J\\r"),
    ],
)
def test_a_text_for_a_terminal(text, shown):
    assert visible(text) == shown


@given(st.text())
def test_nothing_that_is_shown_hides(text):
    shown = visible(text)
    assert shown.isprintable()
    assert escaped(shown) == shown
    assert not any(unicodedata.category(sign) in ("Cf", "Cc", "Zl", "Zp") for sign in shown)
