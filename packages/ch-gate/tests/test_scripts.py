"""awk programs and sed scripts: what they write and start, against the real programs."""

import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from ch_gate.scripts import HOLE, awk, sed


def summary(script):
    return (script.writes, script.runs, script.unclear)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{ print }", ([], False, False)),
        ('{ print > "f" }', (["f"], False, False)),
        ('{ print > "a" } END { printf "x" >> "b" }', (["a", "b"], False, False)),
        ('{ print > "f" ".bak" }', ([None], False, False)),
        ("{ print > $1 }", ([None], False, False)),
        ('{ print > "\\x66" }', ([None], False, False)),
        (f'{{ print > "{HOLE}" }}', ([None], False, False)),
        ('{ print > "/dev/stderr" }', ([], False, False)),
        ("{ print ($1 > 3) }", ([], False, False)),
        ("{ print a[1 > 2] }", ([], False, False)),
        ("{ print a,\n b > c }", ([None], False, False)),
        ("{ print a\n x = b > c }", ([], False, False)),
        ("$1 > 3 || $2 > 4", ([], False, False)),
        ("{ print $1 / 2 / 3 > 4 }", ([None], False, False)),
        ("/[/]>/ { print }", ([], False, False)),
        ("{ print 1 # > f\n}", ([], False, False)),
        ('{ "date" | getline }', ([], True, False)),
        ("{ print | cmd }", ([], True, False)),
        ("{ print || 1 }", ([], False, False)),
        ('{ system("") }', ([], True, False)),
        ('{ print "system(1) | x > y" }', ([], False, False)),
        ("{ @f(1) }", ([], True, False)),
        ('@include "lib"\n{ print }', ([], False, False)),
        ('{ print "', ([], False, True)),
        ("/x { print }", ([], False, True)),
    ],
)
def test_awk(text, expected):
    """A print statement that redirects, a pipe, a call of system; nothing in quotes or brackets."""
    assert summary(awk(text)) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("p", ([], False, False)),
        ("w f", (["f"], False, False)),
        ("1,5{/a/!w f\n}", (["f"], False, False)),
        ("s/a/b/gw f;x", (["f;x"], False, False)),
        ("s/w a/e b/;s|/|;w x|", ([], False, False)),
        ("s/[/]/x/w f", (["f"], False, False)),
        ("s/a\\/b/c/w f", (["f"], False, False)),
        ("y/ab/we/", ([], False, False)),
        ("a\\\nw f\nw g", (["g"], False, False)),
        ("a w f\\\nw g", ([], False, False)),
        ("# w f\np", ([], False, False)),
        (":a;N;$!ba;w f", (["f"], False, False)),
        ("\\,x,w f", (["f"], False, False)),
        ("0~3w f", (["f"], False, False)),
        ("e", ([], True, False)),
        ("1e date", ([], True, False)),
        ("s/a/b/pe", ([], True, False)),
        ("w /dev/stdout", ([], False, False)),
        (f"w {HOLE}", ([None], False, False)),
        (f"s/a/{HOLE}/", ([], False, False)),
        (f"s/a/b/{HOLE}", ([], False, True)),
        (f"{HOLE}", ([], False, True)),
        (f"{HOLE},{HOLE}p", ([], False, False)),
        ("k", ([], False, True)),
        ("s/a/b", ([], False, True)),
    ],
)
def test_sed(text, expected):
    """`w`, `e` and the flags of `s` wherever they stand as commands."""
    assert summary(sed(text)) == expected


def written(argv):
    """The files that a real program makes in an empty folder."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(
            argv, cwd=folder, input=b"a/b\nwe\n", capture_output=True, timeout=20, check=False
        )
        return [path.name for path in Path(folder).iterdir()]


SED_PIECES = st.sampled_from(
    ["w f", "p", "s", "/", "a", "b", "[", "]", "\\", "\n", ";", "{", "}", "1", ",", "$", "!", " ",
     "s/a/b/", "s|a|b|w f", "y/ab/ba/", "a\\\n", "i x", "#", ":x", "bx", "/a/", "\\,a,", "N", "q",
     "g", "W f", "[/]", "^", "=", "c", "&"]
)  # fmt: skip


@pytest.mark.skipif(shutil.which("sed") is None, reason="no sed to compare with")
@given(st.lists(SED_PIECES, max_size=8).map("".join))
@settings(deadline=None, max_examples=150)
@example("s/[/]/x/w f")
@example("s/[/w f")
@example(":x w f")
@example("y/a/b/;w f")
@example("a\\\n\nw f")
def test_no_sed_script_writes_unseen(text):
    """Whatever makes the real sed write a file is seen, or the script is unclear."""
    found = sed(text)
    if not (found.writes or found.unclear):
        assert written(["sed", "-n", "--", text]) == []


AWK_PIECES = st.sampled_from(
    ["print", "printf", " > ", ">>", '"f"', "{", "}", "(", ")", "/", "/a/", "[", "]", ";", "\n",
     "$1", "1", "x", "\\", '"', "#", ",", "if", "while", "&&", "!", "++", "in", "BEGIN", " ", "~",
     "/[/]", "getline", "a[1]", "-"]
)  # fmt: skip


@pytest.mark.skipif(shutil.which("awk") is None, reason="no awk to compare with")
@given(st.lists(AWK_PIECES, max_size=7).map(lambda pieces: "BEGIN{" + "".join(pieces) + "}"))
@settings(deadline=None, max_examples=150)
@example('BEGIN{if(1)/"/;print > "f" #"/}')
@example('BEGIN{print x / 1 > "f/"}')
@example('BEGIN{print 1,\n2 > "f"}')
@example('BEGIN{print $1 > "f"}')
def test_no_awk_program_writes_unseen(text):
    """Whatever makes the real awk write a file is seen, or the program is unclear."""
    found = awk(text)
    if not (found.writes or found.unclear):
        assert written(["timeout", "2", "awk", text]) == []
