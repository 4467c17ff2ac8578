"""Calling git where nothing of the user's, the system's or the project's has a say.

Settings, attributes and a repository around the folder would change which bytes are reviewed.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import tempfile

from ch_contract.problems import Problem, refusal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

SECONDS = 60.0
# Settings that no file is asked for.
FIXED = (
    "core.autocrlf=false", "core.safecrlf=false", "core.attributesFile=/dev/null",
    "core.quotePath=false", "apply.whitespace=nowarn", "diff.noprefix=false",
    "diff.mnemonicPrefix=false",
)  # fmt: skip


@contextlib.contextmanager
def folder(*names: str) -> Iterator[str]:
    """A temporary folder with the folders `names` in it. Raises Problem("system")."""
    try:
        made = tempfile.TemporaryDirectory(prefix="ch-stage-")
    except OSError as error:
        raise refusal(error, "make", "a temporary folder") from None
    with made as path:
        try:
            for name in names:
                os.mkdir(os.path.join(path, name))
        except OSError as error:
            raise refusal(error, "make", "a temporary folder") from None
        yield path


def git(where: str, words: list[str], data: bytes = b"", fine: tuple[int, ...] = (0,)) -> bytes:
    """Standard output of `git WORDS` in `where`, fed `data`. Raises Problem("system")."""
    done = run(where, words, data)
    if done.returncode not in fine:
        said = done.stderr.decode("utf-8", "replace").strip() or f"exit {done.returncode}"
        raise Problem("system", f"git {words[0]} failed: {said.splitlines()[-1]}")
    return done.stdout


def run(where: str, words: list[str], data: bytes) -> subprocess.CompletedProcess[bytes]:
    """`git WORDS` in `where`, fed `data`. Raises Problem("system") when it cannot be had."""
    real = os.path.realpath(where)
    settings = [word for setting in FIXED for word in ("-c", setting)]
    environment = {
        "PATH": os.environ.get("PATH", os.defpath),
        "HOME": real,
        "LC_ALL": "C",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_ATTR_NOSYSTEM": "1",
        # git looks no further up than this
        "GIT_CEILING_DIRECTORIES": os.path.dirname(real),
        "GIT_TERMINAL_PROMPT": "0",
    }
    try:
        return subprocess.run(
            ["git", *settings, *words],
            input=data,
            capture_output=True,
            cwd=where,
            env=environment,
            timeout=SECONDS,
            check=False,
        )
    except FileNotFoundError:
        raise Problem(
            "system", "git is not installed, and file changes need it", "install git"
        ) from None
    except subprocess.TimeoutExpired:
        raise Problem("system", f"git {words[0]} took more than {SECONDS:g} s") from None
    except OSError as error:
        raise Problem("system", f"cannot start git: {error.strerror}") from None
