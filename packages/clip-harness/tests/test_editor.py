"""The programs a review hands files to: what counts as edited, and what they may not do."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from clip_harness.adapters import editor
from clip_harness.review import Entry, Subject

PATH = os.environ["PATH"]


def program(folder, name, body):
    path = folder / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return str(path)


@pytest.fixture
def store(tmp_path):
    """A candidate of three files: a.txt updated, b.txt new, c.txt deleted."""
    folder = tmp_path / "store"
    folder.mkdir()
    live = tmp_path / "live"
    live.mkdir()
    (live / "a.txt").write_text("old\n")
    (live / "c.txt").write_text("gone\n")
    (folder / "1").write_text("proposed a\n")
    (folder / "2").write_text("proposed b\n")
    return folder


def subject(store):
    ops = (("a.txt", "UPDATE"), ("sub/b.txt", "NEW"), ("c.txt", "DELETE"))
    entries = [
        Entry(
            path=path,
            actual_op=op,
            declared_op="auto",
            mismatch=False,
            lines_added=1,
            lines_removed=1,
            diff=b"",
            diff_path="",
            live_path=str(store.parent / "live" / path),
            candidate_path=None if op == "DELETE" else str(store / str(number)),
        )
        for number, (path, op) in enumerate(ops, 1)
    ]
    return Subject(
        candidate_id="r-00000000-files", kind="changes", dir=str(store), entries=entries,
        command=None, cwd="/w", session=None, timeout=None, reason=None, writes=None,
        protected=[], is_strict=False, has_sandbox=False, offer=None, offer_place=None,
        notes=[], has_command_after=False,
    )  # fmt: skip


@pytest.fixture
def copies(store):
    with editor.Copies(subject(store)) as found:
        yield found
        folder = Path(found.folder())
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def terminal():
    """A descriptor that stands for the terminal."""
    fd = os.open(os.devnull, os.O_RDWR)
    yield fd
    os.close(fd)


def saves(text="saved"):
    """The body of an editor that adds a line to the first file that it is given."""
    return f'echo {text} >>"$1"'


def test_copies_lie_apart_under_their_own_names_and_go_away(store):
    with editor.Copies(subject(store)) as copies:
        found = [Path(path) for path in copies.all()]
        assert [path.name for path in found] == ["a.txt", "b.txt"]
        assert [path.read_text() for path in found] == ["proposed a\n", "proposed b\n"]
        assert Path(copies.folder()).stat().st_mode & 0o777 == 0o700
        assert not any(path.is_relative_to(store) for path in found)
    assert not Path(copies.folder()).exists()


def test_all_files_open_in_one_call_and_the_edited_ones_are_named(copies, terminal, tmp_path):
    log = tmp_path / "log"
    tool = program(tmp_path, "ed", f'echo "$#" >>{log}; {saves()}')
    said = editor.edit(copies, {"PATH": PATH, "VISUAL": tool, "EDITOR": "/nowhere"}, terminal)
    assert said == "1 file was edited (a.txt); press a to accept that"
    assert log.read_text() == "2\n"
    assert copies.edited() == {1: b"proposed a\nsaved\n"}
    kept = copies.keep(copies.edited(), None)
    assert Path(kept, "1").read_bytes() == b"proposed a\nsaved\n"
    assert not Path(kept, "2").exists()


def test_an_edit_of_a_file_that_is_not_accepted_is_not_kept(copies, terminal, tmp_path):
    tool = program(tmp_path, "ed", saves())
    editor.edit(copies, {"PATH": PATH, "EDITOR": tool}, terminal)
    assert copies.keep(copies.edited(), ["sub/b.txt"]) is None
    assert copies.keep(copies.edited(), ["a.txt"]) == copies.folder()


def test_a_copy_that_was_removed_was_not_edited(copies, terminal, tmp_path):
    tool = program(tmp_path, "ed", 'rm "$1"')
    said = editor.edit(copies, {"PATH": PATH, "EDITOR": tool}, terminal)
    assert said.startswith("nothing was edited")
    assert copies.keep(copies.edited(), None) is None


@pytest.mark.parametrize(
    ("variables", "said"),
    [
        ({"EDITOR": "/nowhere/ed"}, "/nowhere/ed: No such file or directory; nothing was decided"),
        ({"EDITOR": "sh -c 'exit 3'"}, "sh -c 'exit 3': it ended with exit 3; nothing was decided"),
        (
            {"EDITOR": "vim 'x"},
            "VISUAL or EDITOR has an open quote: vim 'x; mend it to edit here",
        ),
        (
            {"EDITOR": "true"},
            "nothing was edited; an editor with its own window must wait, as code --wait does",
        ),
        # a blank name must not make the first file the program
        (
            {"VISUAL": " ", "EDITOR": "  ", "PATH": "/nowhere"},
            "vi: No such file or directory; nothing was decided; set EDITOR to the editor you like",
        ),
    ],
)
def test_an_editor_that_edits_nothing(copies, terminal, variables, said):
    assert editor.edit(copies, {"PATH": PATH, **variables}, terminal) == said
    assert copies.edited() == {}


def test_files_that_cannot_be_copied_are_told_and_half_a_copy_is_no_edit(
    store, copies, terminal, monkeypatch
):
    def full(_source, target):
        Path(target).write_bytes(b"prop")
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(shutil, "copyfile", full)
        said = editor.edit(copies, {"PATH": PATH, "EDITOR": "true"}, terminal)
    assert said == (
        "the files cannot be copied for an editor: No space left on device; nothing was decided"
    )
    assert copies.edited() == {}


def code(tmp_path, body):
    program(tmp_path / "bin", "code", body)
    return {"PATH": f"{tmp_path}/bin:{PATH}"}


def test_vs_code_gets_the_list_first_and_one_call_for_each_diff(store, copies, terminal, tmp_path):
    log = tmp_path / "log"
    variables = code(tmp_path, f'echo "$@" >>{log}')
    said = editor.open_code(subject(store), copies, variables, terminal)
    assert said == "nothing was saved, so nothing was decided"
    folder, live = copies.folder(), store.parent / "live"
    assert sorted(log.read_text().splitlines()) == [
        f"--new-window --wait {folder}/files.txt {folder}/files/2/b.txt {folder}/deleted/3/c.txt",
        f"--reuse-window --diff {live}/a.txt {folder}/files/1/a.txt",
    ]
    assert "  DELETE    c.txt  +1 -1\n" in Path(folder, "files.txt").read_text()


def test_a_save_in_vs_code_counts(store, copies, terminal, tmp_path):
    variables = code(tmp_path, 'case $* in *--diff*) echo saved >>"$4";; esac')
    assert editor.open_code(subject(store), copies, variables, terminal) is None
    assert copies.edited() == {1: b"proposed a\nsaved\n"}


def test_changing_the_view_of_a_deleted_file_is_no_edit(store, copies, terminal, tmp_path):
    variables = code(tmp_path, 'case $* in *--wait*) echo x >>"$5";; esac')
    said = editor.open_code(subject(store), copies, variables, terminal)
    assert said == "nothing was saved, so nothing was decided"
    assert (store.parent / "live" / "c.txt").read_text() == "gone\n"
    assert Path(copies.folder(), "deleted", "3", "c.txt").read_text() == "gone\nx\n"


def test_an_edit_before_vs_code_is_no_save_in_it(store, copies, terminal, tmp_path):
    """Only to look at an edit in VS Code must not accept it."""
    tool = program(tmp_path, "ed", saves())
    editor.edit(copies, {"PATH": PATH, "EDITOR": tool}, terminal)
    said = editor.open_code(subject(store), copies, code(tmp_path, "true"), terminal)
    assert said == "nothing was saved, so nothing was decided"


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("exit 5", "VS Code: it ended with exit 5; nothing was decided"),
        (
            'case $* in *--wait*) echo x >>"$4"; exit 5;; esac',
            "VS Code ended with exit 5; nothing was decided",
        ),
        (
            "case $* in *--wait*) kill -INT $$;; esac",
            "VS Code is no longer waited for; nothing was decided",
        ),
    ],
)
def test_vs_code_that_fails_decides_nothing(store, copies, terminal, tmp_path, body, said):
    assert editor.open_code(subject(store), copies, code(tmp_path, body), terminal) == said


def test_live_files_that_are_gone_meanwhile_do_not_end_the_review(
    store, copies, terminal, tmp_path
):
    shutil.rmtree(store.parent / "live")
    variables = code(tmp_path, "true")
    said = editor.open_code(subject(store), copies, variables, terminal)
    assert said == "nothing was saved, so nothing was decided"


@pytest.mark.parametrize("pager", ["/nowhere/pager", "false", "less 'x"])
def test_a_pager_that_does_not_show_it(terminal, pager):
    assert not editor.page("text\n", {"PATH": PATH, "PAGER": pager}, terminal)


def test_a_pager_is_given_the_text(terminal, tmp_path):
    tool = program(tmp_path, "pager", f'cp "$2" {tmp_path}/paged; test "$1" = -x')
    assert editor.page("a\u202e\n", {"PATH": PATH, "PAGER": f"{tool} -x"}, terminal)
    assert (tmp_path / "paged").read_text() == "a\u202e\n"
