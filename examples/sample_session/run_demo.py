"""A sample session on a file clipboard: what a person would copy, and what lies there afterwards.

    python3 examples/sample_session/run_demo.py

Works on a fresh checkout: when clip-harness is not installed for this interpreter, it is first
installed from the checkout into the folder .venv of the checkout. The session has a home folder,
a state folder and a project of its own, which are removed at the end.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
TOOLS = ROOT / ".venv"

STEPS = (
    (
        "A command in a fence, bound to a session",
        "Look:\n\n```shell\nsession: demo\naction: look around\nls && wc -l notes.txt\n```\n",
        0,
    ),
    ("The same, the fence lost in copying", "session: demo\ntimeout: 20\ncat notes.txt\n", 0),
    ("Bare text is run because a person pressed the key", "echo hello from the shell", 0),
    ("A command that fails is told apart from one that ends well", "ls no-such-file", 1),
    ("A command on the deny list never runs", "```shell\nsudo reboot\n```\n", 2),
    ("A command that changes files waits for a review", "```shell\nrm notes.txt\n```\n", 3),
    (
        "So does a file change; what would change is shown line by line",
        "```edit\npath: notes.txt\nold_string:\nsecond line\nnew_string:\na better line\n```\n",
        3,
    ),
    (
        "A goal is refused: this version cannot keep it yet",
        "```shell\nsession: demo\naction: goal-set\nShip the release\n```\n",
        1,
    ),
    ("A damaged header is never run as shell text", "timeout: soon\nls\n", 65),
    ("A message that was cut off does not run", "```shell\ncat <<EOF > notes.txt\nhal", 65),
)


def installed() -> bool:
    """Whether this interpreter has clip-harness."""
    done = subprocess.run(
        [sys.executable, "-c", "import clip_harness"], capture_output=True, check=False
    )
    return done.returncode == 0


def install() -> Path:
    """Install the checkout into its own folder; gives the interpreter that has it."""
    import venv

    python = TOOLS / "bin" / "python"
    if not python.exists():
        print("Setting up .venv from this checkout ...", flush=True)
        venv.create(TOOLS, with_pip=True)
    packages = sorted(str(path.parent) for path in ROOT.glob("packages/*/pyproject.toml"))
    command = [str(python), "-m", "pip", "install", "--quiet"]
    for package in packages:
        command += ["-e", package]
    subprocess.run(command, check=True)
    return python


def session(folder: Path) -> int:
    """Play the session in `folder`; gives the number of steps that went another way."""
    clipboard = folder / "clipboard.txt"
    project = folder / "work" / "project"
    home = folder / "home"
    project.mkdir(parents=True)
    (home / ".config" / "clip-harness").mkdir(parents=True)
    settings = (ROOT / "examples" / "settings.example.json").read_bytes()
    (home / ".config" / "clip-harness" / "settings.json").write_bytes(settings)
    (project / "notes.txt").write_text("first line\nsecond line\n")
    environment = {
        "HOME": str(home),
        "PATH": os.environ.get("PATH", os.defpath),
        "LC_ALL": "C.UTF-8",
        "CLIP_HARNESS_CLIPBOARD_FILE": str(clipboard),
    }
    program = [sys.executable, "-m", "clip_harness"]
    wrong = 0
    for title, text, expected in STEPS:
        print(f"\n=== {title}\n--- copied from the chat\n{text.rstrip()}", flush=True)
        clipboard.write_text(text)
        done = subprocess.run(
            program, cwd=project, env=environment, capture_output=True, text=True, check=False
        )
        print(f"--- on the clipboard afterwards (exit {done.returncode})")
        print(clipboard.read_text().rstrip(), flush=True)
        if done.returncode != expected:
            wrong += 1
            print(f"!!! expected exit {expected}\n{done.stderr}")
    wrong += decide(program, project, environment)
    print("\n=== What the ledger holds", flush=True)
    for words in (["receipt", "--summary"], ["receipt", "verify"]):
        if subprocess.run([*program, *words], cwd=project, env=environment, check=False).returncode:
            wrong += 1
    untouched = (project / "notes.txt").read_text() == "first line\nsecond line\n"
    print(f"\nnotes.txt is {'as before' if untouched else 'CHANGED'}.")
    return wrong + (not untouched)


def decide(program: list[str], project: Path, environment: dict[str, str]) -> int:
    """Accept the file change that waits, then undo it; gives the number of surprises."""

    def run(*words: str) -> str:
        done = subprocess.run(
            [*program, *words], cwd=project, env=environment, stdout=subprocess.PIPE, check=False
        )
        return done.stdout.decode()

    print("\n=== Later the person looks at what waits", flush=True)
    print(run("candidate", "list").rstrip())
    lines = [json.loads(line) for line in run("candidate", "list", "--json").splitlines()]
    names = [line["candidate_id"] for line in lines if line["manifest"]["kind"] == "changes"]
    print("\n=== ... accepts the file change: this is copied for the chat", flush=True)
    print(run("candidate", "review", names[0], "--decision", "accept").rstrip())
    changed = (project / "notes.txt").read_text() == "first line\na better line\n"
    print("\n=== ... and thinks better of it", flush=True)
    print(run("undo").rstrip())
    return int(len(names) != 1) + int(not changed)


def main() -> int:
    """Play the session; gives 0 when every step went as it should."""
    if not installed():
        python = install()
        return subprocess.run([str(python), __file__], check=False).returncode
    # not below the temporary folder itself: a project is never a top-level folder
    with tempfile.TemporaryDirectory(prefix="clip-harness-demo-") as folder:
        return 1 if session(Path(folder)) else 0


if __name__ == "__main__":
    sys.exit(main())
