"""What the tests of ch-exec need: documents that stand before it, and its real process."""

import itertools
import json
import os
import subprocess

import pytest

from hermetic import SCRIPTS, make_run

_numbers = itertools.count(1)


def verdict(text, decision="allow", dialect="bash", **part):
    return {
        "decision": decision,
        "dialect": dialect,
        "settings": {"digest": "0" * 64, "left_out": []},
        "parts": [
            {
                "kind": "command",
                "subject": text,
                "decision": decision,
                "reviewable": True,
                "rule": None,
                "reason": None,
                "note": None,
                "source": "policy",
                "matches": [],
                **part,
            }
        ],
    }


def make_staged(text="echo hello", *, decision="allow", decisions=(), dialect="bash", **metadata):
    """A document as ch-stage leaves it, with a run id of its own; `metadata` is the header."""
    document = make_run(text)
    document["run_id"] = f"r-{os.getpid():08x}{next(_numbers):08x}"
    document["payload"]["metadata"].update(metadata)
    document["verdict"] = verdict(text, decision, dialect)
    document["candidates"] = []
    document["decisions"] = list(decisions)
    return document


@pytest.fixture
def staged(user_settings, project):
    """`make_staged`, in a project, with bash as the shell."""
    user_settings({"shell": "bash"})
    return make_staged


@pytest.fixture
def pipe_step(run_tool):
    """The pipe step in this process; gives the document it wrote."""
    from ch_exec import main

    def run(document, *argv):
        return run_tool(main, argv, document)

    return run


@pytest.fixture
def started(staged):
    """Start a real ch-exec on a command and give it back while it runs; ended by the test."""
    processes = []

    def start(document, *argv, **options):
        process = subprocess.Popen(
            [str(SCRIPTS / "ch-exec"), *argv],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            **{"stderr": subprocess.PIPE, **options},
        )
        processes.append(process)
        process.stdin.write(json.dumps(document).encode())
        process.stdin.close()
        return process

    yield start
    for process in processes:
        if process.poll() is None:
            process.kill()
        process.wait()
        for stream in (process.stdout, process.stderr):
            if stream is not None:
                stream.close()
