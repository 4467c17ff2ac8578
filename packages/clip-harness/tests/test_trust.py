"""The command `trust`: what it shows, what it records, and that it records nothing else."""

from __future__ import annotations

import json
import os
import subprocess

import pytest

from ch_contract import trust
from ch_contract.quiet_hashlib import hexdigest
from clip_harness import main
from hermetic import SCRIPTS

CHANGED = "  trusted from now on, as it is; changed, it has to be trusted again\n"


@pytest.fixture
def write():
    """A function that writes a folder's settings file; gives its path."""

    def put(folder, values):
        path = folder / ".clip-harness" / "settings.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(values if isinstance(values, str) else json.dumps(values))
        return path

    return put


def changes(state):
    """The folder and the note of every ConfigChange in the ledger."""
    ledger = state / "ledger.jsonl"
    lines = ledger.read_text().splitlines() if ledger.exists() else []
    found = [json.loads(line) for line in lines]
    return [(line["cwd"], line["note"]) for line in found if line["event"] == "ConfigChange"]


def digest(path):
    return hexdigest(path.read_bytes())


def granted(path):
    return (str(path.parents[1]), f"trusted its settings file, sha256 {digest(path)}")


@pytest.mark.parametrize("runner", ["in-process", "spawn"])
def test_it_shows_what_would_take_effect_and_trusts_it(run_tool, project, state, write, runner):
    path = write(
        project,
        {
            "$schema": "x",
            "allowlist": ["make *"],
            "denylist": ["curl *"],
            "rails": {"frame": "off"},
            "state_dir": "~/elsewhere",
            "timeout": 600,
        },
    )
    done = run_tool(main, ["trust", "--runner", runner])
    assert done == (
        (
            f"{path}\n"
            '  waits for trust: allowlist = ["make *"]\n'
            "  waits for trust: timeout = 600\n"
            '  counts: denylist = ["curl *"]\n'
            '  without effect: rails = {"frame": "off"} (not in this version)\n'
            '  without effect: state_dir = "~/elsewhere" (counts in the user\'s own file alone)\n'
            f"{CHANGED}"
        ),
        "",
        0,
    )
    assert trust.read(str(state)) == {str(project): {digest(path)}}
    assert changes(state) == [granted(path)]


def test_trusting_twice_changes_nothing(run_tool, project, state, write):
    path = write(project, {"allowlist": ["make *"]})
    run_tool(main, ["trust"])
    before = {p.name: p.read_bytes() for p in state.iterdir()}
    assert run_tool(main, ["trust"]) == (
        f'{path}\n  counts: allowlist = ["make *"]\n  trusted already\n',
        "",
        0,
    )
    assert {p.name: p.read_bytes() for p in state.iterdir()} == before


def test_show_tells_what_waits_and_changes_nothing(run_tool, project, state, write):
    path = write(project, {"allowlist": ["make *"], "timeout": 10})
    told = '  waits for trust: allowlist = ["make *"]\n  counts: timeout = 10\n'
    assert run_tool(main, ["trust", "--show"]) == (f"{path}: not trusted\n{told}", "", 0)
    assert not state.exists()
    run_tool(main, ["trust"])
    told = '  counts: allowlist = ["make *"]\n  counts: timeout = 10\n'
    assert run_tool(main, ["trust", "--show"]) == (f"{path}: trusted\n{told}", "", 0)
    assert len(changes(state)) == 1


def test_show_measures_against_what_is_in_force(run_tool, project, write, user_settings):
    user_settings({"mutation_gate": "deny", "timeout": 10})
    path = write(project, {"mutation_gate": "review", "timeout": 20})
    assert run_tool(main, ["trust", "--show"]).stdout == (
        f"{path}: not trusted\n"
        "  waits for trust: timeout = 20\n"
        '  without effect: mutation_gate = "review" (looser than what is in force)\n'
    )


def test_revoke_takes_every_version_back(run_tool, project, state, write):
    for name in "ab":
        path = write(project, {"allowlist": [name]})
        run_tool(main, ["trust"])
    path.unlink()
    done = run_tool(main, ["trust", "--revoke"])
    assert done == (f"{project}: no longer trusted (2 versions)\n", "", 0)
    assert trust.read(str(state)) == {}
    assert changes(state)[2:] == [(str(project), "trusts no settings file of it any more")]
    assert run_tool(main, ["trust", "--revoke"]) == (f"{project}: nothing was trusted\n", "", 0)
    assert len(changes(state)) == 3


def test_revoke_needs_no_file_that_can_be_read(run_tool, project, state, write):
    write(project, {"allowlist": ["a"]})
    run_tool(main, ["trust"])
    write(project, "{")
    assert run_tool(main, ["trust", "--revoke"]).code == 0
    assert trust.read(str(state)) == {}


def test_the_root_and_the_folder_are_each_handled(run_tool, project, state, write, monkeypatch):
    (project / ".git").mkdir()
    below = project / "below"
    root, own = write(project, {"allowlist": ["root *"]}), write(below, {"allowlist": ["below *"]})
    monkeypatch.chdir(below)
    assert run_tool(main, ["trust"]).stdout == (
        f'{root}\n  waits for trust: allowlist = ["root *"]\n{CHANGED}'
        f'{own}\n  waits for trust: allowlist = ["below *"]\n{CHANGED}'
    )
    assert trust.read(str(state)) == {str(project): {digest(root)}, str(below): {digest(own)}}
    assert changes(state) == [granted(root), granted(own)]
    assert run_tool(main, ["trust", "--revoke"]).stdout == (
        f"{project}: no longer trusted (1 version)\n{below}: no longer trusted (1 version)\n"
    )


def test_another_folder_can_be_named(run_tool, project, state, write, tmp_path):
    other = tmp_path / "work" / "other"
    path = write(other, {"allowlist": ["a"]})
    link = tmp_path / "link"
    link.symlink_to(other)
    assert run_tool(main, ["trust", "--cwd", str(link)]).code == 0
    assert trust.read(str(state)) == {str(other): {digest(path)}}
    assert run_tool(main, ["trust", "--cwd", "../other", "--show"]).stdout.endswith(
        '.clip-harness/settings.json: trusted\n  counts: allowlist = ["a"]\n'
    )


@pytest.mark.parametrize("argv", [[], ["--show"]])
def test_no_file_is_one_sentence_and_exit_1(run_tool, project, state, argv):
    assert run_tool(main, ["trust", *argv]) == (
        "",
        (
            f"clip-harness: no settings file of a project counts in {project} — one would be"
            " .clip-harness/settings.json there or at the project's root\n"
        ),
        1,
    )
    assert not state.exists()


@pytest.mark.parametrize("argv", [[], ["--show"]])
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "{file} is not JSON: "),
        ('{"mutation_gate": "allow"}', "{file}: mutation_gate: 'allow' is not one of"),
        ('{"allowlist": "*"}', "{file}: allowlist: '*' is not of type 'array'"),
    ],
)
def test_a_malformed_file_is_exit_65_and_nothing_is_recorded(
    run_tool, project, state, write, monkeypatch, argv, text, message
):
    """Not even for the good one beside it."""
    (project / ".git").mkdir()
    below = project / "below"
    write(project, {"allowlist": ["a"]})
    path = write(below, text)
    monkeypatch.chdir(below)
    done = run_tool(main, ["trust", *argv])
    assert (done.stdout, done.code) == ("", 65)
    assert done.stderr.startswith(f"clip-harness: {message.format(file=path)}")
    assert not state.exists()


@pytest.mark.parametrize(
    ("argv", "code", "message"),
    [
        (["--show", "--revoke"], 64, "--show and --revoke do not go together"),
        (["now"], 64, "unexpected word 'now'"),
        (["--cwd", "nowhere"], 74, "there is no folder nowhere"),
    ],
)
def test_a_wrong_call_records_nothing(run_tool, project, state, write, argv, code, message):
    write(project, {"allowlist": ["a"]})
    done = run_tool(main, ["trust", *argv])
    assert (done.stdout, done.code, state.exists()) == ("", code, False)
    assert message in done.stderr


def test_nothing_hides_on_the_screen(run_tool, project, write):
    """What a stranger's file says is shown escaped where it would turn or hide text."""
    values = {"allowlist": ["ls \u202e*", "\x1b[2J", "ä\n"], "x\u200by\x1b": 1}
    write(project, json.dumps(values, ensure_ascii=False).replace("\x1b", "\\u001b"))
    done = run_tool(main, ["trust", "--show"])
    assert done.stdout.splitlines()[1:] == [
        r'  waits for trust: allowlist = ["ls \u202e*", "\u001b[2J", "ä\n"]',
        r"  without effect: x\u200by\x1b = 1 (unknown)",
    ]


def test_who_has_not_seen_it_has_not_trusted_it(project, state, write):
    write(project, {"allowlist": ["a"]})
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [SCRIPTS / "clip-harness", "trust"], stdout=full, stderr=subprocess.PIPE, check=False
        )
    assert (done.returncode, b"cannot write standard output" in done.stderr) == (74, True)
    assert not (state / "trust.json").exists()
    assert changes(state) == []


@pytest.mark.parametrize("runner", ["in-process", "spawn"])
def test_what_no_ledger_tells_of_is_not_trusted(run_tool, project, state, write, runner):
    """Neither trusted, nor trusted no longer."""
    path = write(project, {"allowlist": ["a"]})
    (state / "ledger.jsonl").mkdir(parents=True)
    done = run_tool(main, ["trust", "--runner", runner])
    assert (done.code, f"{state}/ledger.jsonl" in done.stderr) == (74, True)
    assert "trusted from now on" not in done.stdout
    assert trust.read(str(state)) == {}
    trust.add(str(state), str(project), digest(path), lambda: None)
    assert run_tool(main, ["trust", "--revoke", "--runner", runner]).code == 74
    assert trust.read(str(state)) == {str(project): {digest(path)}}


@pytest.mark.parametrize("argv", [[], ["--show"], ["--revoke"]])
def test_a_damaged_store_is_named_and_left_alone(run_tool, project, state, write, argv):
    write(project, {"allowlist": ["a"]})
    state.mkdir(parents=True)
    (state / "trust.json").write_text("[]")
    done = run_tool(main, ["trust", *argv])
    assert (done.stdout, done.code) == ("", 65)
    assert f"{state}/trust.json: the document: [] is not of type 'object'" in done.stderr
    assert "remove that file" in done.stderr
    assert ((state / "trust.json").read_text(), changes(state)) == ("[]", [])


def test_two_people_at_two_keyboards_lose_nothing(tmp_path, project, state, write, spawn):
    """Real processes, at once: every folder is trusted, and every change is in the ledger."""
    paths = [write(tmp_path / "work" / f"p{n}", {"allowlist": [f"{n}"]}) for n in range(6)]
    started = [
        subprocess.Popen(
            [SCRIPTS / "clip-harness", "--runner", runner, "trust"],
            cwd=path.parents[1],
            stdout=subprocess.DEVNULL,
        )
        for path, runner in zip(paths, ["in-process", "spawn"] * 3, strict=True)
    ]
    assert [process.wait(60) for process in started] == [0] * 6
    assert trust.read(str(state)) == {str(path.parents[1]): {digest(path)} for path in paths}
    assert sorted(changes(state)) == sorted(map(granted, paths))
    assert spawn("ch-receipt", "verify").code == 0


def test_a_folder_whose_name_is_no_text_is_refused(run_tool, project, state, write):
    other = project.parent / os.fsdecode(b"no-\xff-text")
    write(other, {"allowlist": ["a"]})
    done = run_tool(main, ["trust", "--cwd", str(other)])
    assert (done.code, "not Unicode text" in done.stderr) == (65, True)
    assert trust.read(str(state)) == {}
    assert changes(state) == []
