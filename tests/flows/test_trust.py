"""A cloned folder is not the user: what its settings loosen or run waits for `clip-harness trust`.

Its deny list counts at once, the block says what does not, and a file that holds a value nobody
knows stops everything: whatever it says, nothing runs looser.
"""

from __future__ import annotations

import json
import subprocess

import pytest

from flows import run_flow, scrub_text

HOOKED = {"PreRun": [{"command": "touch hooked.txt"}]}
LOOSE = {
    "allowlist": ["*"],
    "denylist": ["npm *"],
    "state_dir": "~/elsewhere",
    "shell": "zsh",
    "timeout": 86400,
}
HOSTILE = {**LOOSE, "hooks": HOOKED}
INVALID = {**HOSTILE, "mutation_gate": "allow"}


@pytest.fixture
def clone(project, tmp_path, monkeypatch):
    """A function that publishes a repository with these settings and clones it."""

    def make(values):
        origin = tmp_path / "origin"
        (origin / ".clip-harness").mkdir(parents=True)
        (origin / ".clip-harness" / "settings.json").write_text(json.dumps(values))
        (origin / "notes.txt").write_text("notes\n")
        folder = project / "clone"
        for words in (
            ["init", "-q", str(origin)],
            ["-C", str(origin), "add", "."],
            ["-C", str(origin), "commit", "-q", "-m", "x"],
            ["clone", "-q", str(origin), str(folder)],
        ):
            subprocess.run(["git", *words], check=True)
        monkeypatch.chdir(folder)
        return folder

    return make


@pytest.fixture(params=["in-process", "spawn"])
def copied(request, tmp_path):
    """A function that runs a copied text; gives its scrubbed block and the exit code."""

    def run(text):
        _, block, code = run_flow(text.encode(), tmp_path, request.param)
        return scrub_text(block), code

    return run


def names(folder):
    return {path.name for path in folder.iterdir()}


UNTRUSTED = (
    "settings without effect in <project>/.clip-harness/settings.json: allowlist (not trusted),"
    " hooks (not in this version), shell (counts in the user's own file alone),"
    " state_dir (counts in the user's own file alone), timeout (not trusted)\n"
    "to trust that file, look at it, then run by hand in <project>: clip-harness trust\n"
)


def test_nothing_of_a_hostile_file_takes_effect_before_it_is_trusted(clone, copied, home, state):
    folder = clone(HOSTILE)
    before = names(folder)
    block, code = copied("rm notes.txt")
    assert (code, "[held · rule=mutation]\n" in block, UNTRUSTED in block) == (3, True, True)
    block, code = copied("npm test")
    assert (code, "[denied · rule=denylist]\n" in block, UNTRUSTED in block) == (2, True, True)
    block, code = copied("cat notes.txt")
    assert (code, block) == (
        0,
        f"```result\n$ cat notes.txt\nnotes\n[exit 0 · 0.0s]\n{UNTRUSTED}```\n",
    )
    assert (names(folder), names(home) & {"elsewhere"}) == (before, set())
    assert not (state / "trust.json").exists()
    (record,) = state.glob("runs/*/run.json")
    ran = json.loads(record.read_text())
    assert (ran["timeout"], ran["shell"].rpartition("/")[2]) == (120, "bash")


def test_a_hostile_file_with_a_value_that_is_none_stops_everything(clone, copied, home, spawn):
    folder = clone(INVALID)
    before = names(folder)
    refused = (
        "[not run · settings]\n<project>/.clip-harness/settings.json: mutation_gate: 'allow' is"
        " not one of ['review', 'deny']\ncorrect the file; nothing runs until it can be read\n"
    )
    for text in ("rm notes.txt", "npm test", "cat notes.txt"):
        assert copied(text) == (f"```result\n$ {text}\n{refused}```\n", 65)
    # and it cannot be trusted either
    assert spawn("clip-harness", "trust").code == 65
    assert copied("rm notes.txt") == (f"```result\n$ rm notes.txt\n{refused}```\n", 65)
    assert (names(folder), names(home) & {"elsewhere"}) == (before, set())


def test_once_trusted_it_counts_as_far_as_a_project_may(clone, copied, home, state, spawn):
    folder = clone(LOOSE)
    assert copied("rm notes.txt")[1] == 3
    assert spawn("clip-harness", "trust").code == 0
    assert copied("npm test")[1] == 2
    block, code = copied("rm notes.txt")
    assert (code, block) == (
        0,
        (
            "```result\n$ rm notes.txt\n[exit 0 · 0.0s]\n"
            "settings without effect in <project>/.clip-harness/settings.json:"
            " shell (counts in the user's own file alone),"
            " state_dir (counts in the user's own file alone)\n```\n"
        ),
    )
    assert "notes.txt" not in names(folder)
    assert "elsewhere" not in names(home)
    # the repository changes its mind: what was trusted was the other file
    (folder / "notes.txt").write_text("notes\n")
    (folder / ".clip-harness" / "settings.json").write_text(json.dumps({**LOOSE, "timeout": 1}))
    assert copied("rm notes.txt")[1] == 3
    # and back again: a set of versions is trusted, not the last one
    (folder / ".clip-harness" / "settings.json").write_text(json.dumps(LOOSE))
    assert copied("rm notes.txt")[1] == 0


def test_a_trusted_hook_that_decides_stops_the_run_as_the_users_would(clone, copied, spawn):
    """This version runs no hooks; the person is told before, and nothing runs unchecked."""
    folder = clone(HOSTILE)
    path = folder / ".clip-harness" / "settings.json"
    done = spawn("clip-harness", "trust")
    told = "  hooks.PreRun: this version runs no hooks; once trusted, nothing runs here until it"
    assert (done.code, told in done.stdout) == (0, True)
    before = names(folder)
    block, code = copied("cat notes.txt")
    assert (code, block) == (
        1,
        (
            "```result\n$ cat notes.txt\n[not run · unsupported]\n"
            "<project>/.clip-harness/settings.json: hooks.PreRun: this version runs no hooks, and"
            " nothing runs unchecked\ntake the hook out of the file to run without its check\n```\n"
        ),
    )
    assert names(folder) == before
    path.write_text(json.dumps(LOOSE))
    assert copied("cat notes.txt")[1] == 0


def test_a_damaged_store_trusts_nothing_and_the_block_says_so(clone, copied, state, spawn):
    folder = clone(LOOSE)
    spawn("clip-harness", "trust")
    (state / "trust.json").write_text("{")
    block, code = copied("rm notes.txt")
    assert (code, "notes.txt" in names(folder)) == (65, True)
    assert block.startswith(
        "```result\n$ rm notes.txt\n[not run · settings]\n"
        "~/.local/state/clip-harness/trust.json is not JSON: "
    )
    assert "no project is trusted while it is so" in block
