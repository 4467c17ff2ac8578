"""What a review shows, as whole texts, and which keys there are."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clip_harness import review
from clip_harness.review import Entry, Subject

UPDATE = b"--- a/n.txt\n+++ b/n.txt\n@@ -1,2 +1,2 @@\n one\n-two\n+TWO \n"


def entry(path="n.txt", op="UPDATE", diff=UPDATE, **more):
    fields = {
        "path": path,
        "actual_op": op,
        "declared_op": "auto",
        "mismatch": False,
        "lines_added": 1,
        "lines_removed": 1,
        "diff": diff,
        "diff_path": "/state/diffs/1.diff",
        "live_path": f"/w/{path}",
        "candidate_path": f"/state/{path}",
    }
    return Entry(**{**fields, **more})


def subject(**more):
    fields = {
        "candidate_id": "r-00000000-files",
        "kind": "changes",
        "dir": "/state",
        "entries": [entry()],
        "command": None,
        "cwd": "/w",
        "session": None,
        "timeout": None,
        "reason": None,
        "writes": None,
        "protected": [],
        "is_strict": False,
        "has_sandbox": False,
        "offer": None,
        "offer_place": None,
        "notes": [],
        "has_command_after": False,
    }
    return Subject(**{**fields, **more})


COMMAND = {"kind": "command", "entries": [], "command": "rm x\necho done", "reason": "it changes"}


def text(rows):
    return "\n".join(row for _, row in rows)


def test_changes_are_shown_with_the_list_of_files_first():
    shown = subject(
        entries=[
            entry(),
            entry("new.txt", "NEW", b"--- /dev/null\n+++ b/new.txt\n@@ -0,0 +1 @@\n+a\n",
                  declared_op="update", mismatch=True, lines_removed=0),
            entry("old.txt", "DELETE", b"--- a/old.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n",
                  lines_added=0),
            entry("same.txt", "NO-CHANGE", b"", lines_added=0, lines_removed=0),
            entry("empty.txt", "NEW", b"--- /dev/null\n+++ b/empty.txt\n", lines_added=0),
        ],
        notes=["n.txt: it looks like another name"],
        has_command_after=True,
    )  # fmt: skip
    assert text(review.surface(shown)) == (
        "5 files to change in /w\n"
        "  UPDATE    n.txt  +1 -1\n"
        "  NEW       new.txt  +1 -0  declared update\n"
        "  DELETE    old.txt  +0 -1\n"
        "  NO-CHANGE same.txt  +0 -0\n"
        "  NEW       empty.txt  +0 -1\n"
        "note: n.txt: it looks like another name\n"
        "note: a command of the same message comes after these files\n"
        "── n.txt (UPDATE)\n@@ -1,2 +1,2 @@\n one\n-two\n+TWO·\n"
        "── new.txt (NEW)\n@@ -0,0 +1 @@\n+a\n"
        "── old.txt (DELETE)\n@@ -1 +0,0 @@\n-a\n"
        "── same.txt (NO-CHANGE)\nthe same as it is\n"
        "── empty.txt (NEW)\nan empty file"
    )
    styles = [style for style, _ in review.diff_rows(shown.entries[0])]
    assert styles == ["hunk", "plain", "removed", "added"]


def test_a_command_is_shown_whole_with_its_scope():
    shown = subject(
        **COMMAND, session="demo", timeout=20, writes=["dist/"], protected=["/w/.git/hooks"]
    )
    assert text(review.surface(shown)) == (
        "a command to run in /w\n$ rm x\n> echo done\nwhy it waits: it changes\nsession: demo\n"
        "timeout: 20 s\nsandboxed it may write: /w and the temporary folder, dist/\n"
        "and never: /w/.git/hooks"
    )


@pytest.mark.parametrize(
    ("more", "has_code", "found"),
    [
        ({}, False, "averl?"),
        ({}, True, "avecrl?"),
        ({"entries": [entry(), entry("b")]}, False, "asverl?"),
        (COMMAND, True, "aurl?"),
        ({**COMMAND, "is_strict": True}, True, "arl?"),
        ({**COMMAND, "session": "demo", "offer": "make *", "offer_place": "/x"}, True, "auwrl?"),
        ({**COMMAND, "session": "demo", "has_sandbox": True}, True, "augrl?"),
    ],
)
def test_which_keys_there_are(more, has_code, found):
    keys = review.keys(subject(**more), has_code=has_code)
    assert "".join(key for key, _ in keys) == found


def test_without_a_sandbox_accepting_a_command_says_so():
    assert review.keys(subject(**COMMAND), has_code=False)[0] == (
        "a",
        f"accept, sandboxed ({review.NO_SANDBOX})",
    )
    with_one = subject(**COMMAND, has_sandbox=True)
    assert review.keys(with_one, has_code=False)[0] == ("a", "accept, sandboxed")


@pytest.mark.parametrize(
    ("lines", "size", "hidden"), [(80, 1, 0), (81, 1, 1), (200, 1, 120), (80, 100, 21)]
)
def test_a_long_diff_is_cut_and_says_where_the_rest_is(lines, size, hidden):
    body = b"".join(b"+" + b"x" * (size - 1) + b"\n" for _ in range(lines))
    rows = review.diff_rows(entry(diff=b"--- a\n+++ b\n" + body))
    shown = [row for style, row in rows if style == "added"]
    assert lines - len(shown) == hidden
    assert sum(len(row) + 1 for row in shown) <= 6000
    if hidden:
        word = "line" if hidden == 1 else "lines"
        assert rows[-1] == ("note", f"… {hidden} more {word} — full diff in /state/diffs/1.diff")
    assert len(review.diff_rows(entry(diff=b"--- a\n+++ b\n" + body), is_whole=True)) == lines


def test_what_steers_hides_or_turns_is_shown_escaped():
    body = "+\x1b[31mred\x1b]0;title\x07\n+a\u202eb\u200b\n+\ttab\n-\r\n+x\x00\n".encode()
    rows = review.diff_rows(entry(diff=b"--- a\n+++ b\n" + body + b"+\xff\xfe\n"))
    assert text(rows) == (
        "+\\x1b[31mred\\x1b]0;title\\x07\n+a\\u202eb\\u200b\n+       tab\n-\\r\n+x\\x00\n+\\xff\\xfe"
    )


def test_crlf_is_told_once():
    body = b"@@ -1 +1 @@\n-a\r\n+b\r\n"
    rows = review.diff_rows(entry(diff=b"--- a\n+++ b\n" + body))
    assert text(rows) == "its lines end with CRLF\n@@ -1 +1 @@\n-a\n+b"


@settings(deadline=None, max_examples=200)
@given(st.binary(max_size=80), st.text(max_size=40), st.text(max_size=40))
def test_nothing_of_a_candidate_reaches_the_terminal_as_it_is(diff, path, command):
    for shown in (
        subject(entries=[entry(path, diff=b"--- a\n+++ b\n" + diff)], cwd=path, notes=[command]),
        subject(**{**COMMAND, "command": command, "reason": path, "writes": [path]}, session=path),
    ):
        for _, row in review.surface(shown):
            assert row.isprintable(), row


@pytest.mark.parametrize(
    "sign", ["\u3164", "\u115f", "\u2800", "\ufe0f", "\U000e0101", "\u034f", "\uffa0", "\xad"]
)
def test_what_counts_as_printable_and_cannot_be_seen_is_escaped(sign):
    told = sign.encode("unicode_escape").decode()
    assert review.shown(f"+a{sign}b") == f"+a{told}b"
    assert review.manifest_line(entry(f"a{sign}")) == f"  UPDATE    a{told}  +1 -1"


def test_text_that_looks_like_an_escaped_byte_is_shown_as_it_is():
    assert review.shown("+\\udc80 \udc80") == "+\\udc80 \\x80"


def test_a_path_whose_blanks_could_be_ours_is_quoted():
    assert review.manifest_line(entry("a.txt  +9 -9")) == '  UPDATE    "a.txt  +9 -9"  +1 -1'
    assert review.manifest_line(entry("a.txt ")) == '  UPDATE    "a.txt "  +1 -1'
    assert review.manifest_line(entry("a b.txt")) == "  UPDATE    a b.txt  +1 -1"


@pytest.mark.parametrize(
    ("diff", "shown"),
    [
        (b"", "no diff of it was kept; look into /state/n.txt before you accept it"),
        (
            b"--- a/n.txt\n+++ b/n.txt\nBinary file, 3 bytes -> 5 bytes\n",
            "Binary file, 3 bytes -> 5 bytes; look into /state/n.txt before you accept it",
        ),
        (b"@@ -1 +1 @@\n-a\n+b\n", "@@ -1 +1 @@\n-a\n+b"),
    ],
)
def test_a_diff_that_says_little_is_not_taken_for_an_empty_file(diff, shown):
    assert text(review.diff_rows(entry(diff=diff))) == shown


def test_a_long_line_goes_on_marked_and_whole():
    assert review.folded("+" + "x" * 12 + " [a] reject", 10) == [
        "+xxxxxxxxx",
        "↳ xxx [a]",
        "↳  reject",
    ]
    assert review.folded("+ab", 80) == ["+ab"]
    assert review.folded("", 80) == [""]


@settings(deadline=None, max_examples=200)
@given(st.text(alphabet=st.sampled_from("ab [+-漢é\u0301"), max_size=200), st.integers(0, 60))
def test_folding_loses_nothing_and_keeps_to_the_width(line, width):
    first, *more = review.folded(line, width)
    assert all(row.startswith(review.CONTINUED) for row in more)
    assert first + "".join(row.removeprefix(review.CONTINUED) for row in more) == line
    for row in (first, *more):
        assert sum(1 if sign.isascii() else 2 for sign in row) <= max(width, review.LEAST_WIDTH)
