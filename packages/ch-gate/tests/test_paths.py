"""Globs that may name the same file, against the standard library's matching."""

import fnmatch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ch_gate.paths import may_match

GLOB = st.text(alphabet="ab*?", max_size=6)
NAME = st.text(alphabet="ab", max_size=6)


@given(GLOB, NAME)
@settings(max_examples=500, deadline=None)
def test_a_glob_and_a_name(glob, name):
    """With one literal side it is plain matching."""
    assert may_match(glob, name) == may_match(name, glob) == fnmatch.fnmatchcase(name, glob)


@given(GLOB, GLOB, NAME)
@settings(max_examples=800, deadline=None)
def test_two_globs_that_match_one_name_meet(left, right, name):
    """Nothing that both match is missed."""
    if fnmatch.fnmatchcase(name, left) and fnmatch.fnmatchcase(name, right):
        assert may_match(left, right)


@pytest.mark.parametrize(
    ("left", "right", "meet"),
    [
        ("a*", "b*", False),
        ("*.pem", "k*", True),
        ("a?", "?b", True),
        ("a", "a?", False),
        (r"\*", "a", False),
        (r"\*", "*", True),
        ("[ab]c", "bc", True),
    ],
)
def test_pairs(left, right, meet):
    """A few by hand."""
    assert may_match(left, right) is meet
