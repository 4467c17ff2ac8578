"""The store of what is trusted: a set of hashes for each real folder, whole after anything."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import settings as budget
from hypothesis import strategies as st

from ch_contract import files, settings, trust
from ch_contract.problems import Problem
from ch_contract.quiet_hashlib import hexdigest

A, B, C = (hexdigest(name.encode()) for name in "abc")


def quiet():
    """Nobody is told of a change."""


def stored(state):
    return json.loads((state / "trust.json").read_text())


def test_what_is_trusted_is_kept_and_can_be_taken_back(state):
    assert trust.read(str(state)) == {}
    assert trust.add(str(state), "/w", B, quiet) is True
    assert trust.add(str(state), "/w", A, quiet) is True
    assert trust.add(str(state), "/v", A, quiet) is True
    assert trust.read(str(state)) == {"/w": {A, B}, "/v": {A}}
    assert stored(state) == {
        "format": "clip-harness/trust@1",
        "folders": [
            {"folder": "/v", "sha256": [A]},
            {"folder": "/w", "sha256": sorted([A, B])},
        ],
    }
    assert trust.revoke(str(state), "/w", quiet) == 2
    assert trust.read(str(state)) == {"/v": {A}}
    assert (state / "trust.json").stat().st_mode & 0o777 == 0o600
    assert state.stat().st_mode & 0o777 == 0o700


def test_what_changes_nothing_writes_nothing_and_tells_nobody(state):
    told = []
    assert trust.revoke(str(state), "/w", lambda: told.append("revoked")) == 0
    assert not state.exists()
    trust.add(str(state), "/w", A, quiet)
    before = (state / "trust.json").stat()
    assert trust.add(str(state), "/w", A, lambda: told.append("added")) is False
    assert trust.revoke(str(state), "/v", lambda: told.append("revoked")) == 0
    assert (told, (state / "trust.json").stat()) == ([], before)


def add_another(state, announce):
    trust.add(str(state), "/w", B, announce)


def revoke_all(state, announce):
    trust.revoke(str(state), "/w", announce)


@pytest.mark.parametrize("act", [add_another, revoke_all])
def test_a_change_that_cannot_be_told_does_not_happen(state, act):
    trust.add(str(state), "/w", A, quiet)

    def fail():
        raise Problem("system", "the disk is full")

    with pytest.raises(Problem, match="the disk is full"):
        act(state, fail)
    assert trust.read(str(state)) == {"/w": {A}}
    # the lock is free again
    assert trust.add(str(state), "/w", C, quiet) is True


@pytest.mark.parametrize("act", [add_another, revoke_all])
def test_a_damaged_store_is_left_as_it_is(state, act):
    state.mkdir(parents=True)
    (state / "trust.json").write_text("{")
    with pytest.raises(Problem) as caught:
        act(state, quiet)
    assert (caught.value.kind, caught.value.hint) == ("settings", trust.HINT)
    assert (state / "trust.json").read_text() == "{"


def test_a_folder_whose_name_is_no_text_is_refused_before_anybody_is_told(state):
    told = []
    with pytest.raises(Problem) as caught:
        trust.add(str(state), os.fsdecode(b"/w/\xff"), A, lambda: told.append(1))
    assert caught.value.kind == "document"
    assert (told, (state / "trust.json").exists()) == ([], False)


def test_the_lock_is_waited_for_and_named(state, monkeypatch):
    trust.add(str(state), "/w", A, quiet)
    lock = files.lock
    monkeypatch.setattr(files, "lock", lambda path: lock(path, 0.05))
    with lock(trust.lock_path(str(state))), pytest.raises(Problem) as caught:
        trust.add(str(state), "/w", B, quiet)
    assert (caught.value.kind, trust.read(str(state))) == ("busy", {"/w": {A}})


# What a person does: change to a branch (its settings file, or none), trust what is there, revoke.
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("branch"), st.sampled_from("vw"), st.sampled_from("abcd-")),
        st.tuples(st.sampled_from(["trust", "revoke"]), st.sampled_from("vw"), st.none()),
    ),
    max_size=25,
)


@budget(deadline=None, max_examples=60)
@given(STEPS)
def test_any_sequence_of_branches_and_decisions_is_as_the_model_says(steps):
    """What counts in a folder is what was trusted there since it was last revoked."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(os.path.realpath(folder))
        home = os.environ["HOME"]
        os.environ["HOME"] = str(root / "home")
        try:
            state = str(root / "home" / ".local" / "state" / "clip-harness")
            branch = dict.fromkeys("vw", "-")
            model = {"v": set(), "w": set()}
            for name in "vw":
                (root / name / ".clip-harness").mkdir(parents=True)
            for act, name, content in steps:
                here = root / name
                path = here / ".clip-harness" / "settings.json"
                if act == "branch":
                    branch[name] = content
                    path.unlink(missing_ok=True)
                    if content != "-":
                        path.write_text(json.dumps({"allowlist": [content]}))
                elif act == "revoke":
                    assert trust.revoke(state, str(here), quiet) == len(model[name])
                    model[name] = set()
                else:
                    for file in settings.of_project(str(here), str(here)):
                        is_new = trust.add(state, file.folder, file.sha256, quiet)
                        assert is_new == (branch[name] not in model[name])
                        model[name].add(branch[name])
                for other in "vw":
                    found = settings.load(str(root / other), str(root / other))
                    counts = branch[other] in model[other]
                    assert found["allowlist"] == ([branch[other]] if counts else [])
        finally:
            os.environ["HOME"] = home


# ---- real processes

ADD = """
import sys
from ch_contract import trust
from ch_contract.quiet_hashlib import hexdigest
state, folder, first, count = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
print("ready", flush=True)
for number in range(first, first + count):
    trust.add(state, folder, hexdigest(str(number).encode()), lambda: None)
"""


def adding(state, folder, first, count):
    """A process that trusts `count` files of `folder`, one after the other."""
    words = [str(state), folder, str(first), str(count)]
    return subprocess.Popen([sys.executable, "-c", ADD, *words], stdout=subprocess.PIPE)


def test_processes_that_trust_at_once_lose_nothing(state):
    processes = [adding(state, f"/w{n % 2}", 100 * n, 15) for n in range(4)]
    for process in processes:
        process.communicate(timeout=60)
        assert process.returncode == 0
    assert trust.read(str(state)) == {
        f"/w{k}": {hexdigest(str(100 * n + i).encode()) for n in (k, k + 2) for i in range(15)}
        for k in range(2)
    }


def test_a_killed_process_leaves_a_whole_store_and_a_free_lock(state):
    """What was there before it is there still, and what it added is a beginning of its list."""
    trust.add(str(state), "/before", A, quiet)
    chance = random.Random(3)
    for round_ in range(20):
        process = adding(state, f"/w{round_}", 0, 100_000)
        process.stdout.readline()
        time.sleep(chance.uniform(0, 0.05))
        process.send_signal(signal.SIGKILL)
        process.communicate(timeout=60)
        found = trust.read(str(state))
        assert found["/before"] == {A}
        added = found.get(f"/w{round_}", set())
        assert added == {hexdigest(str(n).encode()) for n in range(len(added))}
        assert trust.add(str(state), f"/after{round_}", B, quiet) is True
