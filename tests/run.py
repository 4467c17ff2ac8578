"""Set up and run every test, on a fresh checkout: `python3 tests/run.py`.

It installs what the tests need into the folder .venv of the checkout (and, as root on a Debian
system, the packages of .ci/packages), then calls tox. Options are passed on to tox.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TOOLS = ROOT / ".venv"
INTERPRETERS = ("3.11", "3.12", "3.13")


def pyenv_versions() -> str | None:
    """The newest pyenv interpreter of each version we test, as PYENV_VERSION takes them."""
    try:
        done = subprocess.run(
            ["pyenv", "versions", "--bare"], capture_output=True, text=True, check=True
        )
    except (OSError, subprocess.CalledProcessError):
        return None
    found = []
    for wanted in INTERPRETERS:
        numbers = [
            line.strip()
            for line in done.stdout.splitlines()
            if line.strip().startswith(f"{wanted}.") and line.strip().replace(".", "").isdigit()
        ]
        if numbers:
            found.append(max(numbers, key=lambda text: [int(part) for part in text.split(".")]))
    return ":".join(found) or None


def tox(environment: dict[str, str], *words: str) -> int:
    """Run tox and wait for it; whoever ends this process ends tox too."""
    process = subprocess.Popen([TOOLS / "bin" / "python", "-m", "tox", *words], env=environment)
    try:
        return process.wait()
    finally:
        process.terminate()
        process.wait()


def main(argv: list[str]) -> int:
    """Set up, then run tox; gives its exit code."""
    subprocess.run(["bash", str(ROOT / ".ci" / "packages")], check=True)
    python = TOOLS / "bin" / "python"
    if not python.exists():
        venv.create(TOOLS, with_pip=True)
    subprocess.run([python, "-m", "pip", "install", "--quiet", "tox>=4.20,<5"], check=True)
    environment = dict(os.environ)
    # pyenv's shims answer only for the versions that are switched on; the shim that started this
    # script has switched on its own alone
    if ":" not in environment.get("PYENV_VERSION", ""):
        versions = pyenv_versions()
        if versions is not None:
            environment["PYENV_VERSION"] = versions
    os.chdir(ROOT)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    if argv:
        return tox(environment, "run", *argv)
    # what measures time runs alone, the rest two at a time
    first = tox(environment, "run", "-e", "soak")
    others = "^(soak|bench)$"
    second = tox(
        environment, "run-parallel", "-p", "2", "--parallel-no-spinner", "--skip-env", others
    )
    return first or second


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
