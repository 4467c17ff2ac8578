"""A pytest plugin: every test has its own home, a cleared environment and no real clipboard."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import NamedTuple

import pytest

KEPT = ("PATH", "LANG", "LC_ALL", "TZ", "TMPDIR", "COVERAGE_PROCESS_START", "PYTHONWARNINGS")
SCRIPTS = Path(sysconfig.get_path("scripts"))


class Completed(NamedTuple):
    """What a tool did: its two outputs as text and its exit code."""

    stdout: str
    stderr: str
    code: int

    @property
    def document(self):
        """The one JSON document on standard output."""
        return json.loads(self.stdout)


@pytest.fixture(autouse=True)
def home(tmp_path_factory, monkeypatch):
    """An empty home folder of this test alone; the environment holds nothing else of the user's."""
    # not below tmp_path: a test may remove or count what lies there
    folder = tmp_path_factory.mktemp("home")
    for name in list(os.environ):
        if name not in KEPT and not name.startswith(("PYTEST_", "COV_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.setenv("LC_ALL", "C.UTF-8")
    monkeypatch.setenv("TZ", "UTC")
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    for role in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{role}_NAME", "Test")
        monkeypatch.setenv(f"GIT_{role}_EMAIL", "test@example.invalid")
    monkeypatch.setenv("PATH", f"{SCRIPTS}{os.pathsep}{os.environ.get('PATH', os.defpath)}")
    return folder


@pytest.fixture
def state(home):
    """The state folder of this test's home (it may not exist yet)."""
    return home / ".local" / "state" / "clip-harness"


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A folder that counts as a project, outside the home; it is the working folder."""
    folder = tmp_path / "work" / "project"
    folder.mkdir(parents=True)
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def user_settings(home):
    """A function that writes the user's settings file."""

    def write(values) -> Path:
        path = home / ".config" / "clip-harness" / "settings.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(values if isinstance(values, str) else json.dumps(values))
        return path

    return write


@pytest.fixture
def run_tool():
    """Call a tool's `main(argv, streams)` in this process; gives what it printed and its code."""
    from ch_contract.tool import Streams

    def run(main, argv=(), stdin=b"") -> Completed:
        if isinstance(stdin, dict):
            stdin = json.dumps(stdin).encode()
        if isinstance(stdin, str):
            stdin = stdin.encode()
        streams = Streams(io.BytesIO(stdin), io.BytesIO(), io.BytesIO())
        code = main(list(argv), streams)
        return Completed(
            streams.stdout.getvalue().decode(), streams.stderr.getvalue().decode(), code
        )

    return run


@pytest.fixture
def spawn():
    """Start an installed command as a real process and wait for it."""

    def run(command, *argv, stdin=b"", cwd=None, timeout=60, env=None) -> Completed:
        if isinstance(stdin, dict):
            stdin = json.dumps(stdin).encode()
        if isinstance(stdin, str):
            stdin = stdin.encode()
        done = subprocess.run(
            [str(SCRIPTS / command), *argv],
            input=stdin,
            capture_output=True,
            cwd=cwd,
            timeout=timeout,
            env={**os.environ, **(env or {})},
            check=False,
        )
        return Completed(
            done.stdout.decode("utf-8", "surrogateescape"),
            done.stderr.decode("utf-8", "surrogateescape"),
            done.returncode,
        )

    return run


def make_run(text="echo hello", **sections):
    """A run document as ch-parse leaves it, for a bare command; `sections` are laid over it."""
    import hashlib

    document = {
        "format": "clip-harness/run@1",
        "run_id": "r-0000000000000001",
        "cwd": os.getcwd(),
        "project": os.getcwd(),
        "trigger": "explicit",
        "captured": {
            "at": "2026-11-30T12:00:00.000+00:00",
            "sha256": hashlib.sha256(text.encode()).hexdigest(),
            "bytes": len(text.encode()),
        },
        "payload": {
            "kind": "command",
            "form": "bare",
            "metadata": {
                "session": None,
                "action": "run",
                "label": None,
                "cwd": None,
                "timeout": None,
                "attend": False,
                "writes": None,
                "goal": None,
                "expect_revision": None,
                "action_id": None,
            },
            "command": text,
            "body": None,
            "changes": [],
            "control": None,
            "repairs": [],
            "notes": [],
        },
    }
    document.update(sections)
    return document


@pytest.fixture
def run_document():
    """`make_run`: a run document for a bare command."""
    return make_run


def pytest_report_header():
    """Name the interpreter the tests run under."""
    return f"hermetic: {sys.executable}"
