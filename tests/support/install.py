"""How tox installs: `python tests/support/install.py REQUIREMENT ...`.

The build backend is installed once and used for all eight distributions. Left to itself, pip sets
up a build environment for each of them, which takes longer than most test environments run.
"""

from __future__ import annotations

import subprocess
import sys

PIP = (sys.executable, "-m", "pip", "install", "--quiet")


def main(argv: list[str]) -> int:
    """Install the build backend, then what was asked for; gives pip's exit code."""
    subprocess.run([*PIP, "hatchling>=1.27,<2", "editables"], check=True)
    return subprocess.run([*PIP, "--no-build-isolation", *argv], check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
