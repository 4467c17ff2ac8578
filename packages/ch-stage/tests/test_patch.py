"""What a patch makes of the bytes of a file, and why it is not applied."""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
import time

import pytest
from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st

from ch_contract.problems import Problem
from ch_stage.patch import patched, read

STEADY = settings(
    deadline=None, max_examples=120, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
LINE = st.one_of(
    st.sampled_from(["", "a", "b", "same", "\tx", "  y ", "-- z", "++ w", "@@ -1 +1 @@", "\\ No"]),
    st.text(
        alphabet=st.characters(exclude_categories=("Cs",), exclude_characters="\n\0"), max_size=8
    ),
)
TEXT = st.builds(
    lambda lines, end, last, bom: bom + end.join(lines) + (end if last and lines else ""),
    st.lists(LINE, max_size=12),
    st.sampled_from(["\n", "\r\n"]),
    st.booleans(),
    st.sampled_from(["", "\ufeff"]),
).map(str.encode)
TEXTS = st.one_of(TEXT, st.sampled_from([b"", b"\n", b"a", b"a\r\n", b"x\n" * 40]))
# Few kinds of lines, so that a piece of text stands in several places.
REPEATING = st.lists(st.sampled_from([b"a\n", b"b\n", b"c\n"]), min_size=4, max_size=40).map(
    b"".join
)
HEAD = "--- a/n.txt\n+++ b/n.txt\n"
SEVEN = "a\nb\nc\nd\ne\nf\ng\n"
FENCE = "send an edit fence instead: it needs no counts and no line numbers"
COMMAND = "send the whole file with a file fence, or do it with a command"


def outcome(base, text):
    """The bytes after the patch and the Problem it ends with: one of the two is None."""
    try:
        return patched("n.txt", base, text), None
    except Problem as problem:
        return None, problem


def patch(base, text):
    """The text after the patch, or what it was refused for: message and hint."""
    after, problem = outcome(None if base is None else base.encode(), text)
    if problem is not None:
        assert problem.kind == "refused"
        return problem.message, problem.hint
    return None if after is None else after.decode()


def diff_of(folder, old, new, *options):
    """What the real git says of two files, as a person would make it."""
    (folder / "old").write_bytes(old)
    (folder / "new").write_bytes(new)
    done = subprocess.run(
        ["git", "diff", "--no-index", "--no-color", *options, "old", "new"],
        cwd=folder,
        capture_output=True,
        check=False,
    )
    assert done.returncode == 1, done.stderr
    return done.stdout.decode().replace("a/old", "a/n.txt").replace("b/new", "b/n.txt")


def is_mixed(data):
    return len(set(re.findall(b"\r\n|\n", data))) > 1


@STEADY
@example(old=b"a\nb\n", new=b"a\nb")
@example(old=b"a\nb", new=b"a\nb\n")
@example(old=b"-- a\n", new=b"++ b\n")
@example(old=b"a\r\nb\n", new=b"a\r\nc\n")
@example(old=b"a\r\nb\r\n", new=b"a\r\nb\n")
@example(old=b"a\r\nb\r\n", new=b"a\nb\n")
@example(old=b"\n\n\n", new=b"\n\n")
@example(old=b"a\rb\n", new=b"c\rb\n")
@example(old=b"", new=b"a\r\n")
@example(old=b"a", new=b"")
@given(old=TEXTS, new=TEXTS)
def test_a_patch_that_git_made_gives_the_new_bytes(old, new, project):
    """Unless it would bring a second kind of line ends into the file."""
    assume(old != new)
    after, problem = outcome(old, diff_of(project, old, new))
    if problem is None:
        assert after == new
    else:
        assert "line ends, and the change would bring in" in problem.message
        assert is_mixed(new)
        assert not is_mixed(old)


ROWS = st.lists(LINE.filter(lambda line: "\r" not in line), min_size=1, max_size=12)


@STEADY
@given(old=ROWS, new=ROWS, end=st.sampled_from(["\n", "\r\n"]), last=st.booleans())
def test_a_patch_survives_what_the_clipboard_does_to_it(old, new, end, last, project):
    """CRLF became LF, the last newline is gone, blanks of empty context lines are cut."""
    old, new = ((end.join(["first", *rows]) + end * last).encode() for rows in (old, new))
    assume(old != new)
    text = re.sub(r"(?m)^ $", "", diff_of(project, old, new).replace("\r\n", "\n"))
    if not text.endswith("\n\n"):
        text = text.removesuffix("\n")
    assert patched("n.txt", old, text) == new


@settings(STEADY, max_examples=200)
@given(old=REPEATING, data=st.data())
def test_a_patch_for_an_older_file_goes_to_the_one_place_or_nowhere(old, data, project):
    """Lines were added above since it was made: never is a like piece of text changed instead."""
    place = data.draw(st.integers(0, old.count(b"\n") - 1))
    rows = old.splitlines(keepends=True)
    new = b"".join([*rows[:place], b"changed\n", *rows[place + 1 :]])
    context = data.draw(st.integers(1, 3))
    text = diff_of(project, old, new, f"-U{context}")
    above = data.draw(st.lists(st.sampled_from([b"a\n", b"b\n", b"c\n"]), min_size=1, max_size=9))
    after, problem = outcome(b"".join(above) + old, text)
    if problem is not None:
        assert problem.kind == "refused"
        return
    if after == b"".join(above) + new:
        return
    # the number of the line says another place, and there it fits
    assert after.splitlines().index(b"changed") == place


@pytest.mark.parametrize(
    ("text", "said"),
    [
        # hunk 2 is right and is not named
        ("@@ -1,2 +1,2 @@\n a\n-b\n+B\n c\n@@ -4 +4 @@\n-d\n+D\n@@ -5,9 +5,8 @@\n e\n-f\n+F\n",
         "hunk 1 declares 2 old and 2 new lines and holds 3 and 3; hunk 3 declares 9 old and 8 new lines and holds 2 and 2"),
        ("@@ -1,3 +1,4 @@\n a\n-b\n+B\n c\n", "hunk 1 declares 3 old and 4 new lines and holds 3 and 3"),
        ("@@ -1,3 +1,2 @@\n a\n-b\n+B\n c\n", "hunk 1 declares 3 old and 2 new lines and holds 3 and 3"),
        ("@@ -1 +1 @@\n a\n-b\n+B\n c\n", "hunk 1 declares 1 old and 1 new lines and holds 3 and 3"),
        ("@@ -1,9 +1,9 @@\n a\n-b\n+B\n c\n\n\n\n", "hunk 1 declares 9 old and 9 new lines and holds 3 and 3"),
        ("@@ -1,4 +1,4 @@\n a\n-b\n+B\n \n", "hunk 1 declares 4 old and 4 new lines and holds 3 and 3"),
        ("@@ -1,0 +1,0 @@\n a\n-b\n+B\n", "hunk 1 declares 0 old and 0 new lines and holds 2 and 2"),
        ("@@ -1,999999999 +1,1 @@\n-a\n", "hunk 1 declares 999999999 old and 1 new lines and holds 1 and 0"),
        ("@@ -1,2 +1,2 @@\n", "hunk 1 declares 2 old and 2 new lines and holds 0 and 0"),
    ],
)  # fmt: skip
def test_wrong_counts_are_named_by_hunk(text, said):
    assert patch(SEVEN, HEAD + text) == (
        f"n.txt has a patch with wrong counts: {said}",
        "lines may have been lost on the way; fix the counts after @@, or send an edit fence",
    )


GOOD = "@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n"


@pytest.mark.parametrize(
    "head",
    [
        "",
        HEAD,
        "--- n.txt\n+++ n.txt\n",
        "--- a/n.txt\n\n+++ b/n.txt\n\n",
        "--- a/n.txt\n",
        "--- /tmp/x/n.txt\n+++ /home/you/n.txt\n",
        "--- other/n.txt\n+++ ./n.txt\n",
        "--- C/n.txt\t2024-01-01 10:00:00.123456789 +0100\n+++ n.txt\t2024-01-01 10:00:00 +0100\n",
        "--- n.txt 2024-01-01 10:00:00.123456789 +0100\n+++ n.txt  2024-01-01 10:00\n",
        '--- "a/n.txt"\n+++ "b/n.txt"\n',
        '--- "a/\\303\\244/n.txt"\n+++ "b/\\t/n.txt"\t\n',
        '--- "a/\\156.txt"\n+++ b/n.txt\n',
        f"diff --git a/n.txt b/n.txt\nindex 0123456..789abcd 100644\n{HEAD}",
        'diff --git "a/n.txt" "b/n.txt"\n' + HEAD,
        f"diff --git n.txt n.txt\n{HEAD}",
        "diff --git a/x/n.txt b/x/n.txt\n",
        f"Index: n.txt\n{'=' * 67}\n{HEAD}",
        f"diff -u a/n.txt b/n.txt\n{HEAD}",
        f"Here is the patch:\n\n{HEAD}",
        f"From 0123 Mon Sep 17 00:00:00 2001\nFrom: x <x@example.invalid>\nSubject: [PATCH] y\n\n---\n n.txt | 2 +-\n\n{HEAD}",
        HEAD.replace("\n", "\r\n"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("behind", ["", "\n\n", "-- \n2.39.2\n\n", "--\n2.50.1 (Apple Git-155)\n"])
def test_headers_of_any_shape_are_taken(head, behind):
    assert patch(SEVEN, head + GOOD + behind) == SEVEN.replace("b", "B")


@pytest.mark.parametrize(
    ("head", "name"),
    [
        ("--- a/m.txt\n+++ b/n.txt\n", "a/m.txt"),
        ("--- a/n.txt\n+++ b/m.txt\n", "b/m.txt"),
        ("--- a/n.txt/\n+++ b/n.txt\n", "a/n.txt/"),
        ("--- \n+++ b/n.txt\n", "nothing"),
        ("--- a/m.txt\n\n+++ b/m.txt\n", "a/m.txt"),
        ("--- a/n.txt\n\n+++ b/m.txt\n", "b/m.txt"),
        ("+++ b/m.txt\n", "b/m.txt"),
        ('--- "a/\\155.txt"\n+++ b/n.txt\n', "a/m.txt"),
        ('--- "a/\\033[2J"\n+++ b/n.txt\n', "a/\\x1b[2J"),
        ("--- a/N.txt\n+++ b/N.txt\n", "a/N.txt"),
        ("diff --git a/m.txt b/m.txt\n", "a/m.txt b/m.txt"),
        ('diff --git a/n.txt "b/\\155"\n', "b/m"),
        ("diff --git a/xn.txt b/xn.txt\n", "a/xn.txt b/xn.txt"),
    ],
)
def test_a_header_for_another_file_is_refused(head, name):
    assert patch(SEVEN, head + GOOD) == (
        f"n.txt got a patch whose header names {name}",
        "path: and the patch must mean the same file",
    )


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("rename from n.txt\nrename to m.txt\n", "got a patch that renames a file", COMMAND),
        ("similarity index 100%\n", "got a patch that renames or copies a file", COMMAND),
        ("copy from n.txt\ncopy to m.txt\n", "got a patch that copies a file", COMMAND),
        ("old mode 100644\nnew mode 100755\n", "got a patch that changes a file's mode", COMMAND),
        ("new file mode 120000\n", "got a patch that makes or removes a link", COMMAND),
        ("deleted file mode 120000\n", "got a patch that makes or removes a link", COMMAND),
        ("new file mode 160000\n", "got a patch that makes or removes a link", COMMAND),
        ("new file mode 100755\n", "got a patch that sets a file's mode", COMMAND),
        ("diff --cc n.txt\n" + HEAD + "@@@ -1 -1 +1 @@@\n", "got a patch that belongs to a merge", COMMAND),
        ("*** Begin Patch\n*** Update File: n.txt\n@@\n a\n", "got a patch that is no unified diff", COMMAND),
        ("*** n.txt\n--- n.txt\n", "got a patch that is no unified diff", COMMAND),
        ("GIT binary patch\nliteral 3\n", "got a patch that holds bytes instead of text", COMMAND),
        ("Binary files a/n.txt and b/n.txt differ\n", "got a patch that is about a file that is no text", COMMAND),
        (HEAD + GOOD + HEAD + GOOD, "got a patch of several files", "send one patch fence for each file"),
        (HEAD + GOOD + "diff --git a/m b/m\n", "got a patch of several files", "send one patch fence for each file"),
        ("diff --git a/m b/m\nnew file mode 100644\ndiff --git a/n.txt b/n.txt\n" + HEAD + GOOD,
         "got a patch of several files", "send one patch fence for each file"),
        (HEAD, "would not change: the patch has no hunk", FENCE),
        ("just some words\n", "would not change: the patch has no hunk", FENCE),
        ("", "would not change: the patch has no hunk", FENCE),
        (HEAD + "@@ ... @@\n a\n-b\n+B\n", "has a hunk without line numbers: @@ ... @@", FENCE),
        (HEAD + "@@ -1,3 +1,3 @@\na\n-b\n+B\n c\n", "has a line in its patch that is none: a", FENCE),
        (HEAD + GOOD + "and that is all\n", "has a line in its patch that is none: and that is all", FENCE),
        (HEAD + "@@ -1,3 +1,3 @@\n a\n-b\n+b\n c\n", "would stay as it is: the patch changes nothing", FENCE),
        (HEAD + "@@ -1,3 +1,3 @@\n a\n b\n c\n", "would stay as it is: the patch changes nothing", FENCE),
        ("--- /dev/null\n+++ b/n.txt\n@@ -0,0 +1 @@\n+x\n", "exists, and the patch makes it anew", "make the patch against it"),
        ("new file mode 100644\n" + HEAD + "@@ -0,0 +1 @@\n+x\n", "exists, and the patch makes it anew", "make the patch against it"),
        ("--- a/n.txt\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-a\n-b\n", "holds more than the lines that the patch deletes",
         "make the patch against it, or delete it with a file fence and op: delete"),
        ("--- a/n.txt\n+++ /dev/null\n", "would not change: the patch has no hunk", FENCE),
        (HEAD + "@@ -2,2 +2,2 @@\n b\n-c\n+C\n",
         "has no place for hunk 1: without context behind its last change it can only go to the end of the file",
         "give a line of context behind it, or send an edit fence"),
        (HEAD + "@@ -3,0 +4 @@\n+x\n", "has several places where hunk 1 fits: lines 1, 2, 3, 4, 5, 6, 7, 8",
         "give more lines of context, or send an edit fence"),
        (HEAD + "@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n@@ -3,3 +3,3 @@\n c\n-d\n+D\n e\n",
         "does not fit its patch: each hunk fits alone, but not all of them together", FENCE),
        (HEAD + "@@ -1,3 +1,3 @@\n a\n-x\n+B\n c\n", "does not hold the old lines of hunk 1",
         "the nearest text is on line 1; on line 2, column 1, the file has “b” and hunk 1 has “x”; copy the exact text from the file and make the patch against it"),
        (HEAD + "@@ -1,3 +1,3 @@\n a\n-b\n+B\r\n c\n", "has LF line ends, and the change would bring in CRLF",
         "keep the line ends of the file, or send the whole file with a file fence"),
    ],
)  # fmt: skip
def test_what_a_patch_may_not_do_is_refused_by_its_reason(text, message, hint):
    assert patch(SEVEN, text) == (f"n.txt {message}", hint)


def test_a_file_that_is_not_there_is_made_by_a_patch_that_says_so_alone():
    assert patch(None, "--- /dev/null\n+++ b/n.txt\n@@ -0,0 +1,2 @@\n+x\n+y\n") == "x\ny\n"
    assert patch(None, "diff --git a/n.txt b/n.txt\nnew file mode 100644\nindex 0..e69de29\n") == ""
    assert patch(None, HEAD + GOOD) == (
        "n.txt does not exist, so there is nothing to patch",
        "use a file fence",
    )


def test_a_patch_to_nowhere_deletes_the_file():
    assert patch("a\nb\n", "--- a/n.txt\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-a\n-b\n") is None
    assert patch("", "diff --git a/n.txt b/n.txt\ndeleted file mode 100644\n") is None


def test_an_empty_line_in_a_hunk_is_context():
    text = HEAD + "@@ -1,4 +1,4 @@\n a\n-b\n+B\n c\n\n\n\n"
    assert patch("a\nb\nc\n\n\n", text) == "a\nB\nc\n\n\n"


BLOCKS = "top\n" + "a\nb\nc\nd\ne\n" * 4


@pytest.mark.parametrize(
    ("base", "text", "found"),
    [
        # it stands where its number says
        (BLOCKS, "@@ -8,3 +8,3 @@\n b\n-c\n+C\n d\n", BLOCKS[:18] + "C" + BLOCKS[19:]),
        (BLOCKS, "@@ -9,3 +9,3 @@\n b\n-c\n+C\n d\n", "hunk 1 fits: lines 3, 8, 13, 18"),
        # the old and the new number disagree
        (BLOCKS, "@@ -8,3 +13,3 @@\n b\n-c\n+C\n d\n", "hunk 1 fits: lines 3, 8, 13, 18"),
        # the first hunk has moved, so the second is not where it stands by chance
        ("1\n2\n3\n4\n5\n0\n" + BLOCKS,
         "@@ -2,3 +2,3 @@\n top\n-a\n+A\n b\n@@ -9,3 +9,3 @@\n b\n-c\n+C\n d\n", "hunk 2 fits: lines 9, 14, 19, 24"),
        # a hunk with one place may move
        ("1\n2\n3\n" + BLOCKS, "@@ -1,3 +1,3 @@\n top\n-a\n+A\n b\n", "n.txt does not begin with the old lines of hunk 1: they are on line 4"),
        ("1\n2\n3\n" + BLOCKS, "@@ -2,3 +2,3 @@\n top\n-a\n+A\n b\n", "1\n2\n3\ntop\nA" + BLOCKS[5:]),
    ],
)  # fmt: skip
def test_where_several_places_fit_nobody_guesses(base, text, found):
    after = patch(base, HEAD + text)
    if isinstance(after, tuple):
        after = after[0].removeprefix("n.txt has several places where ")
    assert after == found


def test_so_many_places_are_listed():
    said, _ = patch("x\n" * 50, HEAD + "@@ -60,3 +60,3 @@\n x\n-x\n+y\n x\n")
    numbers = ", ".join(map(str, range(1, 21)))
    assert said == f"n.txt has several places where hunk 1 fits: lines {numbers} and more"


@pytest.mark.parametrize(
    ("base", "text", "after"),
    [
        ("a\r\nb\r\nc\r\n", GOOD, "a\r\nB\r\nc\r\n"),
        ("a\r\n\r\nc", "@@ -1,3 +1,3 @@\n-a\n+A\n\n c\n\\ No newline at end of file\n", "A\r\n\r\nc"),
        ("a\r\nb", "@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+B\n", "a\r\nB\r\n"),
        ("a\r\nb\nc\r\n", "@@ -1,3 +1,3 @@\n a\r\n-b\n+B\n c\r\n", "a\r\nB\nc\r\n"),
        ("a\u2028b\n\x0c\nc\x85\n", "@@ -1,3 +1,3 @@\n a\u2028b\n-\x0c\n+B\n c\x85\n", "a\u2028b\nB\nc\x85\n"),
        ("\ufeffa\nb\nc\n", "@@ -1,3 +1,3 @@\n \ufeffa\n-b\n+B\n c\n", "\ufeffa\nB\nc\n"),
        ("a\nb", "@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+b\n", "a\nb\n"),
        ("-- a\nb\n", "@@ -1,2 +1,2 @@\n--- a\n+++ c\n b\n", "++ c\nb\n"),
        ("a\n\n\nb\n", "@@ -1,4 +1,4 @@\n a\n\n\n-b\n+B\n", "a\n\n\nB\n"),
    ],
)  # fmt: skip
def test_line_ends_stay_those_of_the_file(base, text, after):
    assert patch(base, HEAD + text) == after


@pytest.mark.parametrize("end", ["\r\n", "\r", ""])
def test_a_patch_with_crlf_is_applied_to_a_file_with_lf(end):
    """And to one with CRLF, where its CR are those of the file."""
    text = (HEAD + GOOD).replace("\n", "\r\n").removesuffix("\r\n") + end
    assert patch(SEVEN, text) == SEVEN.replace("b", "B")
    crlf = SEVEN.replace("\n", "\r\n")
    assert patch(crlf, text) == crlf.replace("b", "B")


def test_a_patch_with_crlf_knows_a_file_without_last_newline():
    rows = [
        "@@ -1,2 +1,2 @@",
        " a",
        "-b",
        "\\ No newline at end of file",
        "+B",
        "\\ No newline at end of file",
        "",
    ]
    text = HEAD.replace("\n", "\r\n") + "\r\n".join(rows)
    assert patch("a\r\nb", text) == "a\r\nB"
    assert patch("a\nb", text) == "a\nB"


def test_bytes_that_are_no_utf8_stay():
    text = HEAD + "@@ -2,3 +2,3 @@\n a\n-b\n+B\n c\n"
    assert patched("n.txt", b"\xff\xfe\na\nb\nc\n\xff", text) == b"\xff\xfe\na\nB\nc\n\xff"


def test_a_missing_newline_at_the_end_is_told():
    assert patch("a\nb\nc", HEAD + GOOD) == (
        "n.txt has no newline at its end, which hunk 1 takes for granted",
        "write “\\ No newline at end of file” below that line, or send an edit fence",
    )


PIECES = st.lists(
    st.one_of(
        st.sampled_from(
            ["--- a/n.txt\n", "+++ b/n.txt\n", "--- /dev/null\n", "+++ /dev/null\n", "@@ -1 +1 @@\n",
             "@@ -0,0 +1,2 @@\n", "@@ -1,2 +1,3 @@\n", "@@\n", " a\n", "-a\n", "+b\n", "\n", "\\ No\n",
             "\\ No newline at end of file\n", "diff --git a/n.txt b/n.txt\n", "new file mode 100644\n",
             "deleted file mode 100644\n", "rename from x\n", "GIT binary patch\n", "-- \n", "2.39.2\n",
             "Binary files a and b differ\n", " a", "\r\n", "+\0\n", HEAD, "@@ -1,2 +0,0 @@\n", '--- "\\']
        ),
        st.text(alphabet=st.characters(exclude_categories=("Cs",)), max_size=10),
    ),
    max_size=12,
)  # fmt: skip


@settings(STEADY, max_examples=300)
@given(PIECES, st.sampled_from([None, b"", b"a\n", b"a\nb\n", b"a", b"\xff\n", b"a\r\na\r\n"]))
def test_any_text_as_a_patch_is_applied_or_refused(pieces, base):
    after, problem = outcome(base, "".join(pieces))
    if problem is not None:
        assert (problem.kind, problem.message[:6]) == ("refused", "n.txt ")
        assert problem.hint
    else:
        assert after != base
        if base is not None and not is_mixed(base):
            assert base.count(b"\n") == 0 or after is None or not is_mixed(after)


def test_nobodys_settings_have_a_say(project, home, monkeypatch):
    """Not the user's, nor those of a repository around the temporary folder, nor the environment's."""
    said = (
        "[core]\n\tautocrlf = true\n\teol = crlf\n\twhitespace = trailing-space,tab-in-indent\n"
        f"\tattributesFile = {home}/attributes\n[apply]\n\twhitespace = fix\n\tignoreWhitespace = change\n"
    )
    (home / ".gitconfig").write_text(said)
    (home / "attributes").write_text("* text eol=crlf\n")
    subprocess.run(["git", "init", "-q", str(project)], check=True, env={**os.environ, "HOME": "/"})
    (project / ".git" / "config").write_text(said)
    (project / ".gitattributes").write_text("* text eol=crlf whitespace=trailing-space\n")
    monkeypatch.setattr(tempfile, "tempdir", str(project))
    monkeypatch.setenv("GIT_DIR", str(project / ".git"))
    monkeypatch.setenv("GIT_WORK_TREE", str(project))
    monkeypatch.setenv("GIT_CONFIG_PARAMETERS", "'apply.whitespace'='fix'")
    # with and without the line that makes git skip a patch in a folder of a repository
    for head in (HEAD, f"diff --git a/n.txt b/n.txt\n{HEAD}"):
        assert (
            patch("a\nb\nc\n", f"{head}@@ -1,3 +1,3 @@\n a\n-b\n+ \tB  \n c\n") == "a\n \tB  \nc\n"
        )
    # and blanks are never ignored
    assert isinstance(patch("a\n  b\nc\n", HEAD + GOOD), tuple)
    assert sorted(os.listdir(project)) == [".git", ".gitattributes"]


@pytest.mark.heavy
def test_a_patch_of_a_hundred_hunks_on_ten_megabytes_in_time():
    """Under a second on an idle machine; twice that here."""
    lines = [f"line {number} of a file that is ten megabytes long\n" for number in range(200_000)]
    text = HEAD
    for place in range(1000, 200_000, 2000):
        text += f"@@ -{place},3 +{place},3 @@\n {lines[place - 1]}-{lines[place]}+changed\n {lines[place + 1]}"
    for above in ("", "one\n"):
        base = (above + "".join(lines)).encode()
        started = time.perf_counter()
        after = patched("n.txt", base, text)
        spent = time.perf_counter() - started
        assert after.count(b"\nchanged\n") == 100
        assert spent < 2, spent


@pytest.mark.heavy
def test_a_patch_that_takes_a_megabyte_for_another(tmp_path):
    old, new = b"ab\n" * (1 << 18), b"ba\r\n" * (1 << 18)
    text = diff_of(tmp_path, old, new)
    started = time.perf_counter()
    assert patched("n.txt", old, text) == new
    assert time.perf_counter() - started < 20


def spliced(base, text):
    """What a patch makes of `base`, without git: each hunk at its one place, or at its number."""
    lines = base.split(b"\n")
    made, done = [], 0
    for hunk in read("n.txt", text).hunks:
        old, new = (
            [row[1:].encode() for row in hunk.rows if row[:1] in (" ", sign)] for sign in "-+"
        )
        fits = [
            start
            for start in range(len(lines) - len(old) + 1)
            if lines[start : start + len(old)] == old
        ]
        place = fits[0] if len(fits) == 1 else hunk.starts[0] - bool(old)
        assert place in fits
        assert place >= done
        made += [*lines[done:place], *new]
        done = place + len(old)
    return b"\n".join([*made, *lines[done:]])


@settings(STEADY, max_examples=400)
@given(old=REPEATING, new=REPEATING, above=st.integers(0, 4), data=st.data())
def test_a_damaged_patch_is_refused_or_goes_where_it_must(old, new, above, data, project):
    """Lines of it lost, doubled or changed places, numbers changed, or lines added to the file."""
    assume(old != new)
    rows = diff_of(project, old, new, f"-U{data.draw(st.integers(1, 3))}").splitlines()[2:]
    for _ in range(data.draw(st.integers(0, 2))):
        place = data.draw(st.integers(0, len(rows) - 1))
        kind = data.draw(st.sampled_from(["lost", "doubled", "swapped", "number"]))
        if kind == "number":
            places = [at for at, row in enumerate(rows) if row.startswith("@@")]
            if places:
                at = data.draw(st.sampled_from(places))
                other = str(data.draw(st.integers(0, 40)))
                rows[at] = re.sub(r"\d+", other, rows[at], count=1)
        elif kind == "swapped":
            rows[place : place + 2] = reversed(rows[place : place + 2])
        else:
            rows[place : place + 1] = [rows[place]] * (2 * (kind == "doubled"))
        assume(rows)
    text = "".join(f"{row}\n" for row in rows)
    base = b"b\n" * above + old
    after, problem = outcome(base, text)
    if problem is None:
        assert after == spliced(base, text)
    else:
        assert problem.kind == "refused"
