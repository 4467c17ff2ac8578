"""Where things lie, and what counts as the project."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap

import pytest

from ch_contract import places
from ch_contract.problems import Problem


def test_the_folders_of_a_home(home):
    assert places.home() == str(home)
    assert places.user_settings() == f"{home}/.config/clip-harness/settings.json"
    assert places.state_dir() == places.default_state_dir() == f"{home}/.local/state/clip-harness"
    assert places.run_dir("/s", "r-1") == "/s/runs/r-1"
    assert places.open_run("/s", "r-1") == "/s/open/r-1.json"
    assert places.ledger("/s") == "/s/ledger.jsonl"
    assert places.ledger_lock("/s") == "/s/ledger.lock"


@pytest.mark.parametrize("value", [None, ""])
def test_without_home_the_password_database_knows(monkeypatch, value):
    import pwd

    if value is None:
        monkeypatch.delenv("HOME")
    else:
        monkeypatch.setenv("HOME", value)
    assert places.home() == pwd.getpwuid(os.getuid()).pw_dir


def test_a_relative_home_is_refused(monkeypatch):
    monkeypatch.setenv("HOME", "here")
    with pytest.raises(Problem) as caught:
        places.home()
    assert (caught.value.kind, caught.value.message, caught.value.hint) == (
        "system",
        "there is no home folder",
        "set HOME to an absolute path",
    )


def test_a_user_without_an_entry_and_without_home(monkeypatch):
    import pwd

    def nobody(_):
        raise KeyError

    monkeypatch.delenv("HOME")
    monkeypatch.setattr(pwd, "getpwuid", nobody)
    with pytest.raises(Problem, match="there is no home folder"):
        places.home()


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("/var/state", "/var/state"),
        ("/var/../state/", "/state"),
        ("~", "{home}"),
        ("~/st", "{home}/st"),
        ("~/../x", "{above}/x"),
        ("~root/x", "{root}/x"),
    ],
)
def test_the_users_settings_name_another_state_folder(home, user_settings, value, expected):
    user_settings({"state_dir": value})
    wanted = expected.format(home=home, above=home.parent, root=os.path.expanduser("~root"))
    assert places.state_dir() == wanted


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("state", "{file}: state_dir: 'state' does not match '^(/|~)[^\\x00]*$'"),
        ("", "{file}: state_dir: '' does not match '^(/|~)[^\\x00]*$'"),
        ("/a\0b", "{file}: state_dir: '/a\\x00b' does not match '^(/|~)[^\\x00]*$'"),
        (7, "{file}: state_dir: 7 is not of type 'string'"),
        (
            "~no-such-user/x",
            "{file}: state_dir: there is no user whose home '~no-such-user/x' could mean",
        ),
    ],
)
def test_a_state_folder_that_cannot_be_meant(user_settings, value, message):
    file = user_settings({"state_dir": value})
    with pytest.raises(Problem) as caught:
        places.state_dir()
    assert (caught.value.kind, caught.value.message) == ("settings", message.format(file=file))


def test_a_fault_in_another_key_does_not_hide_the_state_folder(user_settings):
    user_settings({"state_dir": "/elsewhere", "timeout": "soon"})
    assert places.state_dir() == "/elsewhere"


def test_a_broken_settings_file_does_not_send_state_elsewhere(user_settings):
    user_settings("{")
    with pytest.raises(Problem) as caught:
        places.state_dir()
    assert caught.value.kind == "settings"


def test_a_project_has_no_say_in_the_state_folder(home, project):
    folder = project / ".clip-harness"
    folder.mkdir()
    (folder / "settings.json").write_text('{"state_dir": "/elsewhere"}')
    assert places.state_dir() == f"{home}/.local/state/clip-harness"


def test_the_project_settings_are_those_of_the_root_and_of_the_folder(project):
    below = project / "a"
    for folder in (project, below):
        (folder / ".clip-harness").mkdir(parents=True)
    assert places.project_settings(str(below), str(project)) == []
    root = project / ".clip-harness" / "settings.json"
    root.write_text("{}")
    assert places.project_settings(str(below), str(project)) == [str(root)]
    own = below / ".clip-harness" / "settings.json"
    own.write_text("{}")
    assert places.project_settings(str(below), str(project)) == [str(root), str(own)]
    assert places.project_settings(str(project), str(project)) == [str(root)]
    assert places.project_settings("/", None) == []


# ---- the project


@pytest.fixture
def tree(tmp_path, home):
    """Folders as people have them; names stand for them in the table."""
    work = tmp_path / "work"
    (work / "repo" / "src" / "deep").mkdir(parents=True)
    (work / "repo" / ".git").mkdir()
    (work / "plain" / "sub").mkdir(parents=True)
    (work / "tree" / "src").mkdir(parents=True)
    (work / "tree" / ".git").write_text("gitdir: ../repo/.git/worktrees/tree\n")
    (work / "repo" / "inner" / ".git").mkdir(parents=True)
    (work / "link").symlink_to(work / "repo" / "src")
    (work / "dangling").mkdir()
    (work / "dangling" / ".git").symlink_to(work / "nowhere")
    (home / "src" / "mine").mkdir(parents=True)
    return work


@pytest.mark.parametrize(
    ("cwd", "expected"),
    [
        ("{work}/repo", "{work}/repo"),
        ("{work}/repo/src/deep", "{work}/repo"),
        ("{work}/repo/src/../src", "{work}/repo"),
        ("{work}/repo/inner", "{work}/repo/inner"),
        ("{work}/plain", "{work}/plain"),
        ("{work}/plain/sub", "{work}/plain/sub"),
        ("{work}/tree/src", "{work}/tree"),
        ("{work}/link", "{work}/repo"),
        ("{work}/dangling", "{work}/dangling"),
        ("{work}/not-there", "{work}/not-there"),
        ("{home}/src/mine", "{home}/src/mine"),
        ("{home}/src", "{home}/src"),
        ("{home}", None),
        ("{home}/", None),
        ("{home}/src/..", None),
        ("{above}", None),
        ("/", None),
        ("//", None),
        ("/usr", None),
        ("/usr/", None),
        ("/usr/../usr", None),
        ("/no-such-top-level", None),
    ],
)
def test_the_project_of_a_folder(tree, home, cwd, expected):
    names = {"work": tree, "home": home, "above": home.parent}
    wanted = None if expected is None else os.path.realpath(expected.format(**names))
    assert places.project_root(cwd.format(**names)) == wanted


def test_a_link_to_the_home_is_no_project(tree, home):
    (tree / "home").symlink_to(home)
    assert places.project_root(str(tree / "home")) is None


def test_a_home_that_is_a_link(tree, home, monkeypatch):
    (tree / "home").symlink_to(home)
    monkeypatch.setenv("HOME", str(tree / "home"))
    assert places.project_root(str(home)) is None


def test_a_repository_whose_work_tree_is_the_home_is_no_project(home):
    (home / ".git").mkdir()
    (home / "src").mkdir()
    assert places.project_root(str(home / "src")) is None
    (home / "src" / ".git").mkdir()
    assert places.project_root(str(home / "src")) == os.path.realpath(home / "src")


def test_a_look_alike_of_the_home_is_a_project(home):
    other = home.parent / f"{home.name}-2"
    other.mkdir()
    assert places.project_root(str(other)) == os.path.realpath(other)


def test_a_real_git_work_tree(tmp_path):
    main = tmp_path / "a" / "main"
    other = tmp_path / "b" / "other"
    main.mkdir(parents=True)
    other.parent.mkdir()
    for argv in (
        ["init", "-q"],
        ["commit", "-q", "--allow-empty", "-m", "x"],
        ["worktree", "add", "-q", str(other)],
    ):
        subprocess.run(["git", *argv], cwd=main, check=True, capture_output=True)
    (other / "sub").mkdir()
    assert places.project_root(str(other / "sub")) == os.path.realpath(other)


def test_a_folder_of_settings_that_may_not_be_entered_is_no_absence(project):
    code = """
        import os, sys
        from ch_contract import places
        from ch_contract.problems import Problem
        if os.getuid() == 0:
            os.setgid(65534)
            os.setuid(65534)
        try:
            print(places.project_settings(sys.argv[1], None))
        except Problem as problem:
            print(problem.kind, problem.message)
    """
    (project / ".clip-harness").mkdir()
    (project / ".clip-harness" / "settings.json").write_text('{"denylist": ["rm *"]}')
    for folder in (project, *project.parents[:3]):
        folder.chmod(0o755)
    (project / ".clip-harness").chmod(0)
    argv = [sys.executable, "-c", textwrap.dedent(code), str(project)]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    (project / ".clip-harness").chmod(0o700)
    path = project / ".clip-harness" / "settings.json"
    assert done.stdout == f"system cannot read {path}: Permission denied\n", done.stderr


def test_a_file_in_place_of_the_folder_of_settings_has_none(project):
    (project / ".clip-harness").write_text("")
    assert places.project_settings(str(project), None) == []
