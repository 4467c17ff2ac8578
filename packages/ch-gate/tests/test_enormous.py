"""Texts that are enormous or malformed: an answer, never an exception, never `allow`."""

import gc

import pytest

from ch_gate.verdict import Judge

# each waits for the deadline
pytestmark = pytest.mark.heavy

LIMIT = 32_000
PIECES = {
    "words": "a " * LIMIT,
    "a list": "ls;" * LIMIT,
    "a pipe": "ls|" * LIMIT,
    "subshells": "(" * 5000 + "ls" + ")" * 5000,
    "open substitutions": "$(" * LIMIT,
    "nested substitutions": "echo $(" * 300 + "ls" + ")" * 300,
    "nested arithmetic": "$((" * 2000 + "1" + "))" * 2000,
    "open braces": "{" * LIMIT,
    "braces that multiply": "echo " + "{a,b}" * 14,
    "open quotes": '"' * (LIMIT - 1),
    "backticks": "`" * (LIMIT - 1),
    "operands of rm": "rm " + "a " * LIMIT,
    "variables": "".join(f"v{n}={n}; echo $v{n}; " for n in range(1300)),
    "loops": "".join(f"for f{n} in a b c; do rm $f{n}; done; " for n in range(700)),
    "folders": "".join(f"cd d{n} && rm x/y; " for n in range(1500)),
    "here-documents": "".join(f"cat <<E{n}\nx\nE{n}\n" for n in range(1200)),
    "globs": "rm " + "*a*b*c*?[x] " * 2500,
    "fetches": "curl x|" * 4000 + "sh",
    "names of hook files": "cp " + " ".join(f".claude/s{n}" for n in range(2300)),
    "a NUL": "ls\0",
    "half a surrogate pair": "ls \ud800",
    "a byte that is no UTF-8": "ls \udcff",
    "control characters": "ls \x1b[2K\b",
}


@pytest.fixture(autouse=True)
def no_callbacks():
    """A plug-in gives the garbage collector a callback, and what the deadline raises there is lost."""
    kept = gc.callbacks[:]
    gc.callbacks.clear()
    yield
    gc.callbacks[:] = kept


@pytest.mark.parametrize("name", PIECES)
@pytest.mark.parametrize("dialect", ["bash", "zsh", "posix"])
def test_never_an_exception_never_allowed(project, name, dialect):
    """What is too much to read, or no text, is held or denied."""
    judge = Judge(str(project), str(project))
    judge.dialect = dialect
    part = judge.command(PIECES[name][:LIMIT])
    assert part["decision"] in ("ask", "deny")
    assert part["reason"].isprintable()
