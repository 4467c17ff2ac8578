"""What each change makes of a file: tables of cases, and what holds for all bytes."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ch_contract.problems import Problem
from ch_stage import staging

CASES = sorted((Path(__file__).parent / "cases" / "staging").glob("*.json"))
STEADY = settings(
    deadline=None, max_examples=120, suppress_health_check=[HealthCheck.function_scoped_fixture]
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
        "git/config": "git/config leads into .git, which no payload may change",
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


def staged(change, folder):
    (item,) = staging.stage([change], str(folder), str(folder))
    return {name: getattr(item, name) for name in staging.Staged.__slots__}


def test_what_is_staged_holds_the_file_as_it_is_and_as_it_would_be(project):
    (project / "run").write_bytes(b"a\r\n")
    (project / "run").chmod(0o751)
    assert staged(file_change("./x/..//run", "b\n", "create"), project) == {
        "path": "run",
        "abs_path": str(project / "run"),
        "declared_op": "create",
        "actual_op": "UPDATE",
        "mismatch": True,
        "base": b"a\r\n",
        "base_mode": 0o751,
        "candidate": b"b\n",
        "lines_added": 1,
        "lines_removed": 1,
        "diff": b"--- a/run\n+++ b/run\n@@ -1 +1 @@\n-a\r\n+b\n",
    }
    assert (project / "run").read_bytes() == b"a\r\n"


@pytest.mark.parametrize(
    ("exists", "declared", "content", "actual", "mismatch"),
    [
        (False, "auto", "x\n", "NEW", False),
        (False, "create", "x\n", "NEW", False),
        (False, "update", "x\n", "NEW", True),
        (True, "auto", "y\n", "UPDATE", False),
        (True, "create", "y\n", "UPDATE", True),
        (True, "update", "y\n", "UPDATE", False),
        (True, "auto", "x\n", "NO-CHANGE", False),
        (True, "create", "x\n", "NO-CHANGE", True),
        (True, "update", "x\n", "NO-CHANGE", False),
        (True, "delete", None, "DELETE", False),
        (True, "auto", "", "UPDATE", False),
    ],
)
def test_what_is_declared_is_compared_with_the_disk(
    exists, declared, content, actual, mismatch, project
):
    if exists:
        (project / "n").write_text("x\n")
    found = staged(file_change("n", content, declared), project)
    assert (found["actual_op"], found["mismatch"]) == (actual, mismatch)


def test_links_that_lead_nowhere_or_in_circles_are_refused(project):
    (project / "loop").symlink_to("loop")
    (project / "one").symlink_to("two")
    (project / "two").symlink_to("one")
    (project / "dangling").symlink_to("not-there")
    said = {
        path: refusal([file_change(path, "x")], project)
        for path in ("loop", "dangling", "loop/a", "one/b/c")
    }
    assert said == {
        "loop": ("refused", "loop is a symbolic link, not a file"),
        "dangling": ("refused", "dangling is a symbolic link, not a file"),
        "loop/a": ("refused", "loop/a leads through a link that leads to itself"),
        "one/b/c": ("refused", "one/b/c leads through a link that leads to itself"),
    }


def test_back_out_of_a_link_is_not_where_it_seems(project):
    """A shell takes `in/..` as the folder above the one the link leads to."""
    (project / "deep" / "er").mkdir(parents=True)
    (project / "in").symlink_to("deep/er")
    assert refusal([file_change("in/../a", "x")], project) == (
        "refused",
        "in/../a leads through a link and back with .., to another place",
    )
    assert staged(file_change("deep/er/../a", "x"), project)["abs_path"] == str(
        project / "deep" / "a"
    )


def test_no_working_folder_inside_git(project):
    (project / ".git" / "hooks").mkdir(parents=True)
    hooks = project / ".git" / "hooks"
    assert refusal([file_change("pre-commit", "x")], hooks) == (
        "refused",
        "pre-commit leads into .git, which no payload may change",
    )


@pytest.mark.parametrize(
    ("there", "path", "said"),
    [
        ("README.md", "readme.md", "'README.md'"),
        ("Src/a", "src/b", "'Src'"),
        ("a/B/c", "a/b/c", "'a/B'"),
        ("stra\u00dfe", "STRASSE", "'stra\\xdfe'"),
        ("\u00e9", "e\u0301", "'\\xe9'"),
        ("e\u0301/x", "\u00e9/y", "'e\\u0301'"),
        ("\u00c9", "e\u0301", "'\\xc9'"),
    ],
)
def test_a_look_alike_is_never_made(there, path, said, project):
    build(project, {there: "x"})
    assert refusal([file_change(path, "y")], project) == (
        "refused",
        f"{path} is spelled otherwise on the disk: {said}",
    )


def test_of_two_spellings_that_are_there_each_is_itself(project):
    build(project, {"a": "1", "A": "2"})
    if (project / "a").read_text() == "2":
        pytest.skip("this disk folds case")
    assert staged(file_change("a", "x"), project)["base"] == b"1"
    assert staged(file_change("A", "x"), project)["base"] == b"2"


def test_large_files_are_refused_before_and_after(project, monkeypatch):
    with open(project / "big", "wb") as file:
        file.truncate((64 << 20) + 1)
    assert refusal([file_change("big", "x")], project) == (
        "refused",
        "big is larger than 67,108,864 bytes",
    )
    monkeypatch.setattr(staging, "LIMIT_BYTES", 10)
    assert refusal([file_change("a", "x" * 11)], project) == (
        "refused",
        "a would be larger than 10 bytes",
    )
    assert staged(file_change("a", "x" * 10), project)["actual_op"] == "NEW"


def test_half_a_surrogate_pair_is_no_text(project):
    (project / "n").write_text("a\n")
    edit = {"kind": "edit", "old_string": "a", "new_string": "\ud800", "replace_all": False}
    diff = "@@ -1 +1 @@\n-a\n+\udfff\n"
    for change in (
        file_change("n", "\ud800"),
        {"path": "n", "op": "auto", **edit},
        {"path": "n", "op": "auto", "kind": "patch", "diff": diff},
    ):
        assert refusal([change], project) == (
            "refused",
            "n would hold half of a surrogate pair, which is no text",
        )


def test_the_longest_names_are_taken(project):
    for name in ("x" * 255, "\u00e9" * 127 + "x"):
        assert staged(file_change(name, "x"), project)["path"] == name
    for name in ("x" * 256, "\u00e9" * 128, "a/" * 2050 + "b"):
        kind, message = refusal([file_change(name, "x")], project)
        assert (kind, message[60:]) == ("refused", "\u2026 is a longer name than the disk takes")


STEPS = st.lists(
    st.sampled_from(
        ["a", "A", "d", "d/a", "in", "out", "loop", "file", "fifo", "..", ".", "", "~", ".git", "git",
         ".GIT", "new", "e\u0301", "\u00e9", " ", "a b", "-x", "*", "\u202e", "x\n"]
    ),
    min_size=1,
    max_size=6,
).map("/".join)  # fmt: skip


@settings(STEADY, max_examples=400)
@given(path=st.one_of(STEPS, STEPS.map(lambda path: "/" + path)), absolute=st.booleans())
def test_a_path_means_what_a_shell_takes_it_for_or_is_refused(path, absolute):
    with tempfile.TemporaryDirectory() as folder:
        project = Path(os.path.realpath(folder), "work", "project")
        (project / "d").mkdir(parents=True)
        (project / ".git").mkdir()
        for name in ("file", "d/a", "\u00e9"):
            (project / name).write_text("old\n")
        os.mkfifo(project / "fifo")
        links = {"in": "d", "out": "..", "loop": "loop", "git": ".git"}
        for name, to in links.items():
            (project / name).symlink_to(to)
        said = f"{project}/{path}" if absolute else path
        before = names(Path(folder))
        found, problem = outcome(
            lambda: staging.stage([file_change(said, "new\n")], str(project), str(project))
        )
        assert names(Path(folder)) == before
        if problem is not None:
            assert problem.kind == "refused"
            return
        (item,) = found
        assert item.abs_path == os.path.realpath(os.path.join(project, said))
        assert item.abs_path.startswith(f"{project}/")
        assert ".git" not in item.abs_path.split("/")
        assert (item.base is None) == (not os.path.lexists(item.abs_path))
        assert os.path.normpath(os.path.join(project, item.path)) == os.path.join(
            project, item.path
        )


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
        before, line, behind = lines[place - 1 : place + 2]
        text += f"@@ -{place},3 +{place},3 @@\n {before}-{line}+changed\n {behind}"
    change = {"path": "n.txt", "kind": "patch", "op": "auto", "diff": text}
    started = time.perf_counter()
    (item,) = staging.stage([change], str(project), str(project))
    spent = time.perf_counter() - started
    assert (item.lines_added, item.lines_removed) == (100, 100)
    assert spent < 2, spent


@pytest.mark.heavy
def test_a_path_below_a_folder_of_many_names_in_time(project):
    """A folder is listed once, however many changes lie in it."""
    for number in range(5000):
        (project / f"f{number}").touch()
    changes = [file_change(f"new{number}", "x") for number in range(200)]
    started = time.perf_counter()
    assert len(staging.stage(changes, str(project), str(project))) == 200
    spent = time.perf_counter() - started
    assert spent < 2, spent
