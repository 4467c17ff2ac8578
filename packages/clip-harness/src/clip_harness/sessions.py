"""The session registry: which run a session id stands for, and how a run is asked to stop.

A session is a name the chat gives; `sessions/<id>.json` remembers its last run. The state of a
run that is still open is looked up, never trusted from that file.
"""

from __future__ import annotations

import contextlib
import os
import time

from ch_contract import checker, documents, files, places, processes
from ch_contract.problems import Problem

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ch_contract.messages import OpenRun, Run, RunRecord, Session
    from clip_harness.runners import Runner

# A run ends within two seconds of a cancel (ch-exec); the rest is for a busy machine.
CANCEL_SECONDS = 5.0


def remember(state: str, document: Run, outcome: str, started: float) -> None:
    """Record `document` as the last run of its session; an unbound run is not recorded."""
    session = document["payload"]["metadata"]["session"]
    command = document["payload"]["command"]
    if session is None or command is None:
        return
    folder = files.private_folder(os.path.join(state, "sessions"))
    record: Session = {
        "run_id": document["run_id"],
        "binding_id": session,
        "command": command,
        "cwd": document["cwd"],
        "state": outcome,
        "output_file": document["result"]["output_path"] if "result" in document else None,
        "started_at": started,
    }
    files.write_atomic(os.path.join(folder, f"{session}.json"), documents.encode(record))


def update(state: str, document: Run, outcome: str, started: float) -> None:
    """Record how a run ended, unless a later run of its session is on record by now."""
    session = document["payload"]["metadata"]["session"]
    if session is None:
        return
    record = read(state, session)
    if record is None or record["run_id"] == document["run_id"]:
        remember(state, document, outcome, started)


def is_session(name: str) -> bool:
    """Whether `name` may be a session id, and so a file name."""
    return checker.accepts(name, "store/session.schema.json#/properties/binding_id")


def read(state: str, session: str) -> Session | None:
    """The last run of a session; None when there is none.

    Raises Problem("document") when its file is damaged.
    """
    path = os.path.join(state, "sessions", f"{session}.json")
    return documents.kept(path, "store/session.schema.json")  # type: ignore[no-any-return]


def names(state: str) -> list[str]:
    """All known session ids, sorted."""
    try:
        entries = os.listdir(os.path.join(state, "sessions"))
    except FileNotFoundError:
        return []
    return sorted(name.removesuffix(".json") for name in entries if name.endswith(".json"))


def has_records(folder: str) -> bool:
    """Whether anything lies in a folder of the state; cheap enough for the start of every run."""
    try:
        return bool(os.listdir(folder))
    except FileNotFoundError:
        return False


def open_runs(state: str) -> list[OpenRun]:
    """The runs without an end yet, oldest first.

    A file that cannot be read as one is left out: it must not hide the others. ch-receipt settles
    it.
    """
    folder = os.path.join(state, "open")
    try:
        entries = sorted(os.listdir(folder))
    except FileNotFoundError:
        return []
    found: list[OpenRun] = []
    for name in entries:
        if name.endswith(".json"):
            with contextlib.suppress(Problem):
                path = os.path.join(folder, name)
                record = documents.kept(path, "store/open-run.schema.json")
                if record is not None:
                    found.append(record)
    return sorted(found, key=lambda run: run["at"])


def cancel(state: str, runner: Runner, name: str | None, but: str | None = None) -> str:
    """Ask a running command to stop and wait until it has; gives its run id.

    `name` is a session or a run id; None means the last run that is still open, other than the
    run `but`, which asks. A command whose harness was killed is ended by ch-exec.
    Raises Problem("refused") when nothing like that is running, Problem("busy") when it does not
    stop in time.
    """
    running = [
        run
        for run in open_runs(state)
        if run["run_id"] != but
        and run["state"] == "running"
        and processes.is_alive(run["pid"], run["started"])
        and (command := _command(state, run["run_id"])) is not None
        and name in (None, run["run_id"], command["session"])
    ]
    if running:
        run_id = running[-1]["run_id"]
        _ask(state, run_id)
        return run_id
    record = read(state, name) if name is not None and is_session(name) else None
    orphan = record["run_id"] if record is not None else name
    if orphan is not None and runner.run("ch-exec", ["stop", "--run-id", orphan], b"").code == 0:
        return orphan
    what = "no command is running" if name is None else f"nothing is running under {name!r}"
    raise Problem("refused", what, "list what is known with: clip-harness sessions")


def _command(state: str, run_id: str) -> RunRecord | None:
    """How the command of a run was started; None when it was not.

    It knows the session: a text is recorded before it is read, so an open run may not.
    """
    path = os.path.join(places.run_dir(state, run_id), "run.json")
    try:
        return documents.kept(path, "store/run-record.schema.json")  # type: ignore[no-any-return]
    except Problem:
        return None


def _ask(state: str, run_id: str) -> None:
    """Ask the owner of a run to end it, and wait until it is no longer running."""
    folder = places.run_dir(state, run_id)
    files.write_atomic(os.path.join(folder, "cancel"), b"")
    deadline = time.monotonic() + CANCEL_SECONDS
    while time.monotonic() < deadline:
        if all(run["run_id"] != run_id or run["state"] != "running" for run in open_runs(state)):
            return
        time.sleep(0.02)
    raise Problem(
        "busy",
        f"{run_id} has not stopped within {CANCEL_SECONDS:g} s",
        f"look at its process in {os.path.join(folder, 'run.json')}",
    )
