"""The floor on a real disk, its texts, and that no setting reaches it."""

import json
import os

import pytest

from ch_gate import floor, main, rules
from ch_gate.reasons import FLOOR
from ch_gate.verdict import Judge


def check(run_tool, command, *flags):
    return run_tool(main, ["check", "--command", command, *flags])


@pytest.fixture(autouse=True)
def nothing_is_temporary(monkeypatch):
    """The tests' own folders lie in a temporary one, where everything may be removed."""
    monkeypatch.setattr("ch_gate.verdict.TEMPORARY", ())
    monkeypatch.delenv("TMPDIR", raising=False)


@pytest.fixture
def linked(project, home):
    """A project with links that lead out of it, and folders beside it."""
    outside = home / "other"
    (outside / "deep").mkdir(parents=True)
    (outside / "notes.txt").write_text("kept")
    (project / "out").symlink_to(outside)
    (project / "notes").symlink_to(outside / "notes.txt")
    (project / "sub").mkdir()
    (project / "within").symlink_to(project / "sub")
    return project


@pytest.mark.parametrize(
    ("command", "rule"),
    [
        ("rm -rf out/deep", "outside-project-destruction"),
        ("rm -rf out/", "outside-project-destruction"),
        ("rm -rf out/*", "outside-project-destruction"),
        ("cd out && rm -rf deep", "outside-project-destruction"),
        ("truncate -s 0 notes", "outside-project-destruction"),
        ("shred notes", "outside-project-destruction"),
        ("echo x > notes", "outside-project-destruction"),
        ("rm -rf within/../../../other", "outside-project-destruction"),
        ("rm -rf sub/../out/deep", "outside-project-destruction"),
        ("rm out", "mutation"),
        ("rm -f notes", "mutation"),
        ("rm -rf within/x", "mutation"),
        ("rm -rf sub", "mutation"),
        ("echo x > sub/new.txt", "mutation"),
        ("echo x > ~/new.txt", "mutation"),
        ("echo x > ~/other/notes.txt", "outside-project-destruction"),
        ("echo x >> ~/other/notes.txt", "mutation"),
    ],
)
def test_links_and_files_on_the_disk(run_tool, linked, command, rule):
    """A link is followed where the system follows it, and itself is only a name."""
    part = json.loads(check(run_tool, command, "--json").stdout)
    assert part["rule"] == rule


def test_a_link_to_the_harness_is_the_harness(run_tool, linked):
    """Another name for `.clip-harness` is no way around it."""
    (linked / ".clip-harness").mkdir()
    (linked / "h").symlink_to(".clip-harness")
    for command in ("tee h/settings.json", "cp x h/", "cd h && tee settings.json"):
        assert json.loads(check(run_tool, command, "--json").stdout)["rule"] == rules.SURFACE_WRITE
    assert json.loads(check(run_tool, "cat h/settings.json", "--json").stdout)["rule"] is None


@pytest.mark.parametrize(
    ("path", "rule"),
    [
        (".clip-harness/settings.json", "policy-surface-write"),
        ("sub/../.clip-harness/x", "policy-surface-write"),
        ("~/.config/clip-harness/settings.json", "policy-surface-write"),
        (".claude/settings.json", "wiring-tamper"),
        (".CLAUDE/settings.json", "wiring-tamper"),
        (".github/hooks/a.json", "wiring-tamper"),
        (".claude/settings.json.bak", "file-review"),
        ("docs/claude-settings.md", "file-review"),
        ("src/a.py", "file-review"),
    ],
)
def test_file_changes_meet_the_floor(project, path, rule):
    """A change of the harness or of the wiring is denied whatever the settings say."""
    part = Judge(str(project), str(project)).change(path)
    assert (part["rule"], part["decision"]) == (rule, "ask" if rule == "file-review" else "deny")


def test_no_setting_reaches_the_floor(run_tool, project, user_settings):
    """An allow list of everything and no gate at all leave it as it is."""
    user_settings({"allowlist": ["*"]})
    part = json.loads(check(run_tool, "rm -rf /srv/x", "--json").stdout)
    assert (part["decision"], part["source"], part["reviewable"]) == ("deny", "floor", False)
    assert (
        check(run_tool, "rm -rf build").stdout
        == "allow: Every command in it is on the allow list.\n"
    )


def test_the_floor_is_decided_before_the_settings_are_read(run_tool, project, user_settings):
    """A fault in another key does not hide what the floor says."""
    user_settings({"denylist": 7})
    assert check(run_tool, "rm -rf /srv/x").stdout.startswith("deny: Denied: rm -rf /srv/x")
    done = check(run_tool, "ls")
    assert (done.code, done.stdout) == (65, "")


def test_every_rule_of_the_floor_has_its_sentence():
    """Why, and a way that works; and that nothing lifts it."""
    assert set(FLOOR) == set(rules.FLOOR)
    assert set(floor.CHANGED) == {rules.SURFACE_WRITE, rules.WIRING_TAMPER}


def test_a_denial_speaks_to_both_readers(run_tool, project):
    """The reason is for the model and names no command it may not run; the note is for the operator."""
    part = json.loads(check(run_tool, "cd /srv && rm -rf data", "--json").stdout)
    assert part["reason"] == (
        "Denied: rm -rf data would destroy /srv/data, which lies outside the project. Work on files "
        "inside the project, or tell the person what should go and why. No setting or review lifts "
        "this (rule=outside-project-destruction)."
    )
    assert part["note"] == "it reaches /srv/data, outside the project"


def test_no_project_means_nothing_is_inside(run_tool, home, monkeypatch):
    """In the home folder only temporary folders count as inside (R071a)."""
    monkeypatch.chdir(home)
    found = json.loads(check(run_tool, "rm -rf projects", "--json").stdout)["rule"]
    assert found == "outside-project-destruction"
    assert os.getcwd() == str(home)


def test_a_state_folder_of_ones_own_is_the_surface_too(run_tool, home, project, user_settings):
    """`state_dir` of the user's settings, wherever it lies (R052)."""
    user_settings({"state_dir": "~/var/kept"})
    for command in (
        "tee ~/var/kept/decision.json",
        "cd ~/var/kept; tee x",
        f"cp x {home}/var/kept/",
    ):
        assert json.loads(check(run_tool, command, "--json").stdout)["rule"] == rules.SURFACE_WRITE
