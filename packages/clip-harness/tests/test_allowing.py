"""An always-allow goes where the person's own settings are, and nowhere else."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

import faults
from ch_contract import settings, trust
from ch_contract.problems import Problem
from ch_contract.quiet_hashlib import hexdigest
from clip_harness import allowing, runners


@pytest.fixture
def allow(project, state):
    """A function that allows an entry in the project; gives the file it went into."""
    runner = runners.choose(None, io.BytesIO())

    def call(pattern="make *"):
        return allowing.allow(str(project), str(project), pattern, runner)

    return call


def in_force(project):
    return settings.load(str(project), str(project))["allowlist"]


def own(project, values):
    path = project / ".clip-harness" / "settings.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(values))
    return path


def events(state):
    lines = (state / "ledger.jsonl").read_text().splitlines()
    return [line["note"] for line in map(json.loads, lines) if line["event"] == "ConfigChange"]


def test_into_a_file_of_its_own_where_there_is_none(allow, project, state):
    path = allow()
    assert path == str(project / ".clip-harness" / "settings.json")
    assert json.loads(Path(path).read_text()) == {"allowlist": ["make *"]}
    assert in_force(project) == ["make *"]
    assert events(state) == [f'always allows "make *" ({path})']
    assert allow() == path
    assert len(events(state)) == 1


def test_into_a_trusted_file_whose_other_keys_stay(allow, project, state):
    path = own(project, {"timeout": 9, "allowlist": ["ls *"]})
    trust.add(str(state), str(project), hexdigest(path.read_bytes()), lambda: None)
    assert allow() == str(path)
    assert json.loads(path.read_text()) == {"timeout": 9, "allowlist": ["ls *", "make *"]}
    assert in_force(project) == ["ls *", "make *"]


def test_into_the_users_state_where_the_file_is_not_trusted(allow, project, state):
    path = own(project, {"allowlist": ["curl *"]})
    before = path.read_bytes()
    assert allow() == str(state / "allowed.json")
    assert path.read_bytes() == before
    assert in_force(project) == ["make *"]
    assert settings.load(str(project.parent), str(project.parent))["allowlist"] == []


@pytest.mark.parametrize("kind", ["folder", "file"])
def test_never_through_a_link_of_the_project(allow, project, state, home, kind):
    """A cloned link that leads to the person's own settings, for all projects."""
    config = home / ".config" / "clip-harness"
    config.mkdir(parents=True)
    if kind == "folder":
        (project / ".clip-harness").symlink_to(config)
    else:
        (project / ".clip-harness").mkdir()
        (project / ".clip-harness" / "settings.json").symlink_to(config / "settings.json")
        (config / "settings.json").write_text("{}")
    before = sorted((path.name, path.read_bytes()) for path in config.iterdir())
    assert allow() == str(state / "allowed.json")
    assert sorted((path.name, path.read_bytes()) for path in config.iterdir()) == before


def test_killed_at_any_change_what_was_trusted_stays_trusted(allow, project, state):
    for number in range(1, 60):
        for path in sorted(state.rglob("*"), reverse=True):
            path.rmdir() if path.is_dir() else path.unlink()
        path = own(project, {"allowlist": ["ls *"]})
        trust.add(str(state), str(project), hexdigest(path.read_bytes()), lambda: None)
        ended, _, _ = faults.forked(lambda: allow() and 0, number, "after")
        assert in_force(project) in (["ls *"], ["ls *", "make *"]), number
        if not ended:
            break
    assert number > 10


def test_a_folder_that_cannot_be_written_is_a_sentence(allow, project, state):
    (project / ".clip-harness").write_text("a file\n")
    with pytest.raises(Problem) as caught:
        allow()
    assert (caught.value.kind, str(project) in caught.value.message) == ("system", True)
