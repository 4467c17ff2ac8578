"""What each change makes of a file: tables of cases, and what holds for all bytes."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st

from ch_contract.problems import Problem
from ch_stage import staging
from ch_stage.diff import diffs
from ch_stage.edit import edited
from ch_stage.nearest import describe
from ch_stage.patch import patched

CASES = sorted((Path(__file__).parent / "cases" / "staging").glob("*.json"))
STEADY = settings(
    deadline=None, max_examples=120, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
# Lines as files have them, and what makes them hard: no last newline, CRLF, BOM, form feeds.
LINE = st.one_of(
    st.sampled_from(["", "a", "b", "same", "\tx", "  y ", "-- z", "++ w", "@@ -1 +1 @@", "\\ No"]),
    st.text(
        alphabet=st.characters(exclude_categories=("Cs",), exclude_characters="\n"), max_size=8
    ),
)
TEXT = st.builds(
    lambda lines, end, last, bom: bom + end.join(lines) + (end if last and lines else ""),
    st.lists(LINE, max_size=12),
    st.sampled_from(["\n", "\r\n"]),
    st.booleans(),
    st.sampled_from(["", "\ufeff"]),
)
BYTES = st.one_of(
    st.binary(max_size=60),
    TEXT.map(str.encode),
    st.sampled_from([b"", b"\n", b"a", b"a\r\n", b"\xff\n", b"x\n" * 40]),
)


def build(folder, files):
    for path, data in files.items():
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data.encode() if isinstance(data, str) else bytes.fromhex(data["hex"]))


def told(item):
    return {
        "path": item.path,
        "actual_op": item.actual_op,
        "declared_op": item.declared_op,
        "mismatch": item.mismatch,
        "candidate": None if item.candidate is None else item.candidate.decode(),
        "lines_added": item.lines_added,
        "lines_removed": item.lines_removed,
        "diff": item.diff.decode("utf-8", "backslashreplace"),
    }


def names(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_a_change_is_staged_or_refused_as_its_file_says(path, project):
    case = json.loads(path.read_text())
    build(project, case["files"])
    before = names(project)
    try:
        found = {"staged": [told(i) for i in staging.stage(case["changes"], *[str(project)] * 2)]}
    except Problem as problem:
        message = problem.message.replace(str(project), "<project>")
        found = {"problem": {"kind": problem.kind, "message": message, "hint": problem.hint}}
    assert found == case["expect"]
    assert names(project) == before


def test_the_table_is_found():
    assert len(CASES) > 90


def outcome(work):
    """What `work` gives, and the Problem it ends with: one of the two is None."""
    try:
        return work(), None
    except Problem as problem:
        return None, problem


def file_change(path, data, op="auto"):
    return {"path": path, "kind": "file", "op": op, "content": data}


def patch_of(project, old, new):
    """What the real git says of two files, as a person would make it."""
    (project / "old").write_bytes(old)
    (project / "new").write_bytes(new)
    done = subprocess.run(
        ["git", "diff", "--no-index", "--no-color", "old", "new"],
        cwd=project,
        capture_output=True,
        check=False,
    )
    (project / "old").unlink()
    (project / "new").unlink()
    assert done.returncode == 1, done.stderr
    return done.stdout


def is_text(data):
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return b"\0" not in data


@STEADY
@example(old=b"a\nb\n", new=b"a\nb")
@example(old=b"a\nb", new=b"a\nb\n")
@example(old=b"-- a\n", new=b"++ b\n")
@example(old=b"a\r\nb\n", new=b"a\r\nc\n")
@example(old=b"\n\n\n", new=b"\n\n")
@example(old=b"a\rb\n", new=b"c\rb\n")
@given(old=BYTES, new=BYTES)
def test_a_patch_that_git_made_gives_the_new_bytes(old, new, project):
    """Of text: the payload it comes in is text. Line ends that are not one kind may be refused."""
    assume(old != new and is_text(old) and is_text(new) and old and new)
    text = patch_of(project, old, new).decode()
    text = text.replace("a/old", "a/n.txt").replace("b/new", "b/n.txt")
    assert patched("n.txt", old, text) == new


@STEADY
@given(old=BYTES, new=BYTES)
def test_the_diff_that_is_shown_is_the_change(old, new, project):
    ((diff, added, removed),) = diffs([("n.txt", old, new)])
    if old == new:
        assert (diff, added, removed) == (b"", 0, 0)
        return
    if b"Binary file, " in diff:
        assert b"\0" in old + new
        return
    (project / "n.txt").write_bytes(old)
    subprocess.run(
        ["git", "-c", "core.autocrlf=false", "apply", "--whitespace=nowarn", "-"],
        input=diff,
        cwd=project,
        check=True,
        env={**os.environ, "GIT_CEILING_DIRECTORIES": str(project.parent)},
    )
    assert (project / "n.txt").read_bytes() == new
    assert added - removed == _lines(new) - _lines(old)


def _lines(data):
    return data.count(b"\n") + (not data.endswith(b"\n") and bool(data))


@settings(deadline=None, max_examples=300)
@given(TEXT, st.data())
def test_an_edit_changes_its_span_and_no_byte_besides(text, data):
    assume(text)
    start = data.draw(st.integers(0, len(text) - 1))
    end = data.draw(st.integers(start + 1, len(text)))
    # a span that begins or ends within a CRLF is none that a message could hold
    assume("\r\n" not in (text[max(0, start - 1) : start + 1], text[end - 1 : end + 1]))
    old, new = text[start:end], data.draw(st.text(alphabet="xyz\n", max_size=6))
    assume(old != new)
    if text.find(old, text.find(old) + 1) >= 0:
        with pytest.raises(Problem, match="holds old_string"):
            edited("n.txt", text.encode(), old, new, replace_all=False)
        return
    after = edited("n.txt", text.encode(), old, new, replace_all=False).decode()
    assert after.startswith(text[:start])
    assert after.endswith(text[end:])
    middle = after[start : len(after) - len(text) + end]
    assert middle.replace("\r\n", "\n") == new
    if (
        "\r\n" in text
        and text.count("\n") == text.count("\r\n")
        and old.count("\n") == old.count("\r\n")
    ):
        assert after.count("\n") == after.count("\r\n")


@settings(deadline=None, max_examples=200)
@given(TEXT, st.text(max_size=40))
def test_the_nearest_text_is_told_of_anything(text, wanted):
    assert describe(text, wanted)


PIECES = st.lists(
    st.one_of(
        st.sampled_from(
            ["--- a/n.txt\n", "+++ b/n.txt\n", "--- /dev/null\n", "+++ /dev/null\n", "@@ -1 +1 @@\n",
             "@@ -0,0 +1,2 @@\n", "@@ -1,2 +1,3 @@\n", "@@\n", " a\n", "-a\n", "+b\n", "\n", "\\ No\n",
             "diff --git a/n.txt b/n.txt\n", "new file mode 100644\n", "deleted file mode 100644\n",
             "rename from x\n", "GIT binary patch\n", "Binary files a and b differ\n", " a", "\r\n"]
        ),
        st.text(max_size=10),
    ),
    max_size=12,
)  # fmt: skip


@STEADY
@given(PIECES, st.sampled_from([None, b"", b"a\n", b"a\nb\n", b"a", b"\xff\n"]))
def test_any_text_as_a_patch_is_applied_or_refused(pieces, base):
    after, problem = outcome(lambda: patched("n.txt", base, "".join(pieces)))
    if problem is None:
        assert after != base
    else:
        assert (problem.kind, problem.message[:6]) == ("refused", "n.txt ")


@STEADY
@given(st.text(max_size=30).filter(lambda text: "\0" not in text))
def test_any_path_is_inside_or_refused(path):
    with tempfile.TemporaryDirectory() as folder:
        project = Path(folder, "work", "project")
        project.mkdir(parents=True)
        found, problem = outcome(
            lambda: staging.stage([file_change(path, "x")], str(project), str(project))
        )
        assert names(Path(folder)) == ["work", "work/project"]
        if problem is not None:
            assert problem.kind == "refused"
            return
        assert found[0].abs_path.startswith(os.path.realpath(project) + "/")
        assert ".." not in found[0].path.split("/")


def refusal(changes, folder, project="same"):
    with pytest.raises(Problem) as caught:
        staging.stage(changes, str(folder), str(folder) if project == "same" else project)
    return caught.value.kind, caught.value.message


def test_without_a_project_nothing_is_staged(project):
    assert refusal([file_change("a", "x")], project, None) == (
        "refused",
        f"{project} belongs to no project, so no file of it can be changed",
    )


def test_links_are_refused_as_targets_and_followed_inside_alone(project, tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "a").write_text("1\n")
    (project / "inner").mkdir()
    (project / "inner" / "a").write_text("1\n")
    (project / "link").symlink_to(outside / "a")
    (project / "out").symlink_to(outside)
    (project / "in").symlink_to("inner")
    (project / ".git").mkdir()
    (project / "git").symlink_to(".git")
    said = {
        path: refusal([file_change(path, "x")], project)[1]
        for path in ("link", "out/a", "git/config")
    }
    assert said == {
        "link": "link is a symbolic link, not a file",
        "out/a": f"out/a leads through a link out of {project}",
        "git/config": "git/config leads through a link into .git, which no payload may change",
    }
    (item,) = staging.stage([file_change("in/a", "x")], str(project), str(project))
    assert (item.path, item.abs_path) == ("in/a", str(project / "inner" / "a"))
    both = [file_change("in/a", "x"), file_change("inner/a", "y")]
    assert refusal(both, project)[1] == "inner/a is changed twice in one payload"


def test_a_project_reached_by_a_link_is_itself(project, tmp_path):
    (tmp_path / "alias").symlink_to(project)
    alias = tmp_path / "alias"
    (item,) = staging.stage([file_change(str(alias / "a"), "x")], str(alias), str(project))
    assert (item.path, item.abs_path) == ("a", str(project / "a"))


def test_what_is_no_file_is_refused(project):
    os.mkfifo(project / "pipe")
    assert refusal([file_change("pipe", "x")], project)[1] == "pipe is a pipe, not a file"


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_a_file_that_cannot_be_read_is_named(project):
    (project / "a").write_text("x")
    (project / "a").chmod(0)
    kind, message = refusal([file_change("a", "y")], project)
    assert (kind, "cannot read a" in message) == ("system", True)


def test_nobodys_git_settings_have_a_say(project, home):
    """Settings and attributes that would change which bytes are reviewed."""
    (home / ".gitconfig").write_text(
        "[core]\n\tautocrlf = true\n\teol = crlf\n[apply]\n\twhitespace = fix\n"
        "[diff]\n\texternal = /bin/false\n\tnoprefix = true\n\talgorithm = patience\n"
        "[color]\n\tui = always\n"
    )
    subprocess.run(["git", "init", "-q"], cwd=project, check=True)
    (project / ".gitattributes").write_text("* text eol=crlf diff=evil\n")
    (project / "n.txt").write_bytes(b"a\nb\nc\n")
    text = "--- a/n.txt\n+++ b/n.txt\n@@ -1,3 +1,3 @@\n a\n-b\n+b \n c\n"
    change = {"path": "n.txt", "kind": "patch", "op": "auto", "diff": text}
    (item,) = staging.stage([change], str(project), str(project))
    assert (item.candidate, item.diff.decode()) == (b"a\nb \nc\n", text)


def test_without_git_the_sentence_says_so(project, monkeypatch):
    monkeypatch.setenv("PATH", str(project))
    assert refusal([file_change("a", "x")], project) == (
        "system",
        "git is not installed, and file changes need it",
    )


@pytest.mark.heavy
def test_forty_edits_of_a_megabyte_are_staged_and_shown_in_time(project):
    """Under two seconds on an idle machine; twice that here."""
    block = "".join(f"line {number} of the file\n" for number in range(40_000))
    for number in range(40):
        (project / f"f{number}.txt").write_text(block)
    changes = [
        {
            "path": f"f{number}.txt",
            "kind": "edit",
            "op": "auto",
            "old_string": "line 20000 of the file",
            "new_string": "line twenty thousand",
            "replace_all": False,
        }
        for number in range(40)
    ]
    started = time.perf_counter()
    items = staging.stage(changes, str(project), str(project))
    spent = time.perf_counter() - started
    assert [(item.lines_added, item.lines_removed) for item in items] == [(1, 1)] * 40
    assert spent < 4, spent


@pytest.mark.heavy
def test_a_patch_of_a_hundred_hunks_on_ten_megabytes_in_time(project):
    """Under a second on an idle machine; twice that here."""
    lines = [f"line {number} of a file that is ten megabytes long\n" for number in range(200_000)]
    (project / "n.txt").write_text("".join(lines))
    text = "--- a/n.txt\n+++ b/n.txt\n"
    for place in range(1000, 200_000, 2000):
        text += f"@@ -{place},3 +{place},3 @@\n {lines[place - 1]}-{lines[place]}+changed\n {lines[place + 1]}"
    change = {"path": "n.txt", "kind": "patch", "op": "auto", "diff": text}
    started = time.perf_counter()
    (item,) = staging.stage([change], str(project), str(project))
    spent = time.perf_counter() - started
    assert (item.lines_added, item.lines_removed) == (100, 100)
    assert spent < 2, spent


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
