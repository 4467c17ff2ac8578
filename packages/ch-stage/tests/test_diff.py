"""The diff that is shown is the change, whatever the bytes, the name and anybody's settings are."""

from __future__ import annotations

import os
import random
import subprocess
import tempfile
import time

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from ch_contract.problems import Problem
from ch_stage.diff import diffs

STEADY = settings(
    deadline=None, max_examples=120, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
LINES = st.lists(
    st.sampled_from(["", "a", "b", "-- a", "++ b", "@@ -1 +1 @@", "diff --git a/x b/x", "\\ No"]),
    max_size=12,
)
BYTES = st.one_of(
    st.none(),
    st.binary(max_size=60),
    st.builds(lambda rows, end: end.join(rows).encode(), LINES, st.sampled_from(["\n", "\r\n"])),
    st.sampled_from([b"", b"\n", b"a", b"\xef\xbb\xbfa\r\n", b"\xff\n", b"x\n" * 40, b"\x1b[2J\n"]),
)


def lines(data):
    data = data or b""
    return data.count(b"\n") + (not data.endswith(b"\n") and bool(data))


def applied(folder, name, old, diff):
    """What the real git makes of `old` by the diff; None when it deletes the file."""
    file = folder / name
    if old is not None:
        file.write_bytes(old)
    subprocess.run(
        ["git", "-c", "core.autocrlf=false", "apply", "--whitespace=nowarn", "-"],
        input=diff,
        cwd=folder,
        check=True,
        env={**os.environ, "GIT_CEILING_DIRECTORIES": str(folder.parent)},
    )
    after = file.read_bytes() if file.exists() else None
    file.unlink(missing_ok=True)
    return after


@STEADY
@example(old=b"-- a\n", new=b"++ b\n")
@example(old=b"a\r\n", new=b"a\n")
@example(old=b"a", new=b"a\n")
@example(old=None, new=b"a")
@example(old=b"a", new=None)
@given(old=BYTES, new=BYTES)
def test_the_diff_that_is_shown_is_the_change(old, new, project):
    ((diff, added, removed),) = diffs([("n.txt", old, new)])
    if old == new:
        assert (diff, added, removed) == (b"", 0, 0)
    else:
        assert added - removed == lines(new) - lines(old)
        # the real git takes no patch without a hunk
        if b"@@" in diff:
            assert applied(project, "n.txt", old, diff) == new
        else:
            assert not old
            assert not new


@settings(deadline=None, max_examples=25)
@given(st.lists(st.tuples(BYTES, BYTES), max_size=6))
def test_many_are_shown_as_each_alone(pairs):
    changes = [(f"f{number}", old, new) for number, (old, new) in enumerate(pairs)]
    assert diffs(changes) == [diffs([change])[0] for change in changes]


@pytest.mark.parametrize(
    ("old", "new", "shown"),
    [
        (b"a\nb\n", b"a\nc\n", (b"--- a/n\n+++ b/n\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n", 1, 1)),
        (b"a", b"a\n", (
            b"--- a/n\n+++ b/n\n@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+a\n", 1, 1)),
        (None, b"a\nb\n", (b"--- /dev/null\n+++ b/n\n@@ -0,0 +1,2 @@\n+a\n+b\n", 2, 0)),
        (b"a\nb\n", None, (b"--- a/n\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-a\n-b\n", 0, 2)),
        (None, b"", (b"--- /dev/null\n+++ b/n\n", 0, 0)),
        (b"", None, (b"--- a/n\n+++ /dev/null\n", 0, 0)),
        (
            None,
            b"echo x\n\0",
            (
                b"--- /dev/null\n+++ b/n\n@@ -0,0 +1,2 @@\n+echo x\n+\0\n\\ No newline at end of file\n",
                2,
                0,
            ),
        ),
        (b"\xff\n", b"\xfe\n", (b"--- a/n\n+++ b/n\n@@ -1 +1 @@\n-\xff\n+\xfe\n", 1, 1)),
        (b"-- x\n", b"++ y\n", (b"--- a/n\n+++ b/n\n@@ -1 +1 @@\n--- x\n+++ y\n", 1, 1)),
        (b"a\r\n", b"a\n", (b"--- a/n\n+++ b/n\n@@ -1 +1 @@\n-a\r\n+a\n", 1, 1)),
        (b"a  \n", b"a\n", (b"--- a/n\n+++ b/n\n@@ -1 +1 @@\n-a  \n+a\n", 1, 1)),
        (b"a", b"a", (b"", 0, 0)),
        (None, None, (b"", 0, 0)),
    ],
)  # fmt: skip
def test_whole_diffs(old, new, shown):
    assert diffs([("n", old, new)]) == [shown]


@pytest.mark.parametrize(
    "name",
    ["-rf", "a b", " a", "a'b", 'q"q', "back\\slash", "é", "日本", "$(id)", "*", ".gitattributes"],
)
def test_a_name_is_a_name(name, project):
    """It is shown as it is, and the real git applies the diff to that file."""
    ((diff, _, _),) = diffs([(name, b"a\n", b"b\n")])
    behind = b"\t" if " " in name else b""
    head = b"--- a/%s%s\n+++ b/%s%s\n" % (name.encode(), behind, name.encode(), behind)
    assert diff == head + b"@@ -1 +1 @@\n-a\n+b\n"
    assert applied(project, name, b"a\n", diff) == b"b\n"


def test_a_thing_renamed_is_shown_as_two_changes():
    data = b"".join(b"%d\n" % number for number in range(50))
    (gone, _, removed), (come, added, _) = diffs([("a", data, None), ("b", None, data)])
    assert (removed, added) == (50, 50)
    assert gone.startswith(b"--- a/a\n+++ /dev/null\n@@ -1,50 +0,0 @@\n")
    assert come.startswith(b"--- /dev/null\n+++ b/b\n@@ -0,0 +1,50 @@\n")


def test_nobodys_settings_have_a_say(project, home, monkeypatch):
    """Not the user's, nor those of a repository around the temporary folder, nor the environment's."""
    said = (
        "[core]\n\tautocrlf = true\n\teol = crlf\n\twhitespace = cr-at-eol\n\tpager = false\n"
        "[diff]\n\texternal = /bin/false\n\tnoprefix = true\n\tmnemonicPrefix = true\n"
        "\tcontext = 0\n\tinterHunkContext = 9\n\talgorithm = patience\n\trenames = copies\n"
        "\twordRegex = .\n\tcolorMoved = zebra\n\tignoreSubmodules = all\n\tsrcPrefix = evil/\n"
        '[diff "evil"]\n\ttextconv = /bin/false\n\tcommand = /bin/false\n\tbinary = true\n'
        "[color]\n\tui = always\n\tdiff = always\n[core]\n\tattributesFile = "
        f"{home}/attributes\n"
    )
    (home / ".gitconfig").write_text(said)
    (home / "attributes").write_text("* diff=evil text eol=crlf\n")
    subprocess.run(["git", "init", "-q", str(project)], check=True, env={**os.environ, "HOME": "/"})
    (project / ".git" / "config").write_text(said)
    (project / ".git" / "info" / "attributes").write_text("* diff=evil binary\n")
    (project / ".gitattributes").write_text("* diff=evil text eol=crlf binary\n")
    monkeypatch.setattr(tempfile, "tempdir", str(project))
    for name, value in {
        "GIT_EXTERNAL_DIFF": "/bin/false",
        "GIT_DIFF_OPTS": "-u0",
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": "diff.external",
        "GIT_CONFIG_VALUE_0": "/bin/false",
        "GIT_DIR": str(project / ".git"),
        "GIT_WORK_TREE": str(project),
        "GIT_TRACE": "1",
        "LC_ALL": "de_DE.UTF-8",
    }.items():
        monkeypatch.setenv(name, value)
    shown = b"--- a/n\n+++ b/n\n@@ -1,4 +1,4 @@\n a\n b\n c\n-d\n+D  \r\n"
    assert diffs([("n", b"a\nb\nc\nd\n", b"a\nb\nc\nD  \r\n")]) == [(shown, 1, 1)]
    assert sorted(os.listdir(project)) == [".git", ".gitattributes"]


def test_without_a_temporary_folder_the_sentence_says_so(project, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(project / "gone"))
    with pytest.raises(Problem) as caught:
        diffs([("n", b"a\n", b"b\n")])
    assert (caught.value.kind, caught.value.message, caught.value.hint) == (
        "system",
        "cannot make a temporary folder: No such file or directory",
        "check that the folder exists",
    )


def test_what_git_says_of_its_failure_is_told(project, monkeypatch):
    git = project / "git"
    git.write_text("#!/bin/sh\necho one >&2\necho two >&2\nexit 128\n")
    git.chmod(0o755)
    monkeypatch.setenv("PATH", f"{project}:{os.environ['PATH']}")
    with pytest.raises(Problem) as caught:
        diffs([("n", b"a\n", b"b\n")])
    assert (caught.value.kind, caught.value.message) == ("system", "git diff failed: two")


@pytest.mark.heavy
@pytest.mark.parametrize(
    "old", [b"", b"x" * (1 << 20), b"ab\n" * (1 << 18), b"\xff\xfe" * (1 << 19)]
)
@pytest.mark.parametrize("new", [b"y" * (1 << 20), b"ab\r\n" * (1 << 18), b"ba\n" * (1 << 18)])
def test_a_megabyte_by_repetition(old, new):
    started = time.perf_counter()
    ((diff, _, _),) = diffs([("n.txt", old, new)])
    assert diff
    assert time.perf_counter() - started < 10


@pytest.mark.heavy
@pytest.mark.parametrize("kinds", [2, 40, 1 << 30])
def test_no_diff_is_quadratic(kinds):
    """Lines in random order, of few kinds and of many: what is slow for an exact algorithm."""
    source = random.Random(1)
    old, new = (
        b"".join(b"%d\n" % source.randrange(kinds) for _ in range(300_000)) for _ in range(2)
    )
    started = time.perf_counter()
    ((diff, added, removed),) = diffs([("n.txt", old, new)])
    spent = time.perf_counter() - started
    assert diff
    assert added == removed
    assert spent < 10, spent
