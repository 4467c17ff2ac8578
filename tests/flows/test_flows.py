"""Every flow case gives the same documents in one process and as real processes.

A case is a folder: clipboard.txt is what was copied, block.txt what lies on the clipboard
afterwards (durations and ids scrubbed), expect.json the exit code and the ledger's events.
settings.json, if present, is the user's settings file, project.json that of the project.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from flows import documents, run_flow, run_pipe, scrub, scrub_text

CASES = sorted(path for path in (Path(__file__).parent / "cases").iterdir() if path.is_dir())
# Only the flow knows a cancel and a rerun; a pipe passes them on.
HUMAN = {"cancel-nothing", "rerun-nothing"}


@pytest.fixture(params=CASES, ids=lambda path: path.name)
def case(request, project, user_settings):
    """One case, with its settings and its project in place."""
    folder = request.param
    settings = folder / "settings.json"
    if settings.exists():
        user_settings(settings.read_text())
    own = folder / "project.json"
    if own.exists():
        (project / ".clip-harness").mkdir()
        (project / ".clip-harness" / "settings.json").write_text(own.read_text())
    for name in ("notes.txt", "data.txt"):
        (project / name).write_text(f"{name}\n")
    return folder


def events(state):
    """The ledger's events, in order."""
    lines = (state / "ledger.jsonl").read_text().splitlines()
    return [json.loads(line)["event"] for line in lines]


@pytest.mark.parametrize("runner", ["in-process", "spawn"])
def test_a_case_ends_as_expected(case, runner, tmp_path, state):
    expect = json.loads((case / "expect.json").read_text())
    _, clipboard, code = run_flow((case / "clipboard.txt").read_bytes(), tmp_path, runner)
    assert (scrub_text(clipboard), code, events(state)) == (
        (case / "block.txt").read_text(),
        expect["code"],
        expect["events"],
    )
    assert not list((state / "open").iterdir())


@pytest.mark.heavy
def test_both_runners_give_the_same_documents(case, tmp_path):
    text = (case / "clipboard.txt").read_bytes()
    one, _, _ = run_flow(text, tmp_path, "in-process")
    two, _, _ = run_flow(text, tmp_path, "spawn")
    assert documents(one) == documents(two)


@pytest.mark.heavy
def test_a_plain_pipe_gives_the_same_last_document(case, tmp_path):
    if case.name in HUMAN:
        pytest.skip("the flow, not the pipe, acts on this")
    text = (case / "clipboard.txt").read_bytes()
    trace, _, _ = run_flow(text, tmp_path, "in-process")
    last = [json.loads(out) for tool, _, _, out in trace if out.startswith(b'{"format"')][-1]
    piped = run_pipe(text)
    piped.pop("receipt")
    assert scrub(piped) == scrub(last)
