"""The manual page: its usage text is --help, its examples print what it says."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from ch_receipt.cli import SUBCOMMANDS, USAGE

PAGE = (Path(__file__).parents[1] / "README.md").read_text()


def test_the_synopsis_is_the_help_text():
    assert re.search(r"```text\n(.*?)```", PAGE, re.DOTALL)[1] == USAGE


def test_every_subcommand_is_explained():
    assert [name for name in SUBCOMMANDS if f"\n  {name} " not in USAGE] == []


@pytest.mark.parametrize("example", re.findall(r"```console\n(.*?)```", PAGE, re.DOTALL))
def test_an_example_prints_what_the_page_says(example, project):
    commands = [row[2:] for row in example.splitlines() if row.startswith("$ ")]
    script = "".join(f"printf '%s\\n' {_quoted('$ ' + row)}\n{row}\n" for row in commands)
    done = subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == (example, "")


def _quoted(text):
    return "'" + text.replace("'", "'\\''") + "'"
