"""The pages: every example runs and prints what it says, every usage text is the command's own."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[1]
SKIPPED = {
    ".git",
    ".venv",
    ".tox",
    ".hatch",
    ".demo",
    "dist",
    "build",
    "node_modules",
    "__pycache__",
}
PAGES = [
    path
    for path in sorted(ROOT.rglob("*.md"))
    if not SKIPPED & set(path.relative_to(ROOT).parts[:-1])
    and not any(part.startswith(".") for part in path.relative_to(ROOT).parts)
]
READMES = [ROOT / "README.md", *sorted(ROOT.glob("packages/*/README.md"))]
TOOLS = ["ch-parse", "ch-gate", "ch-stage", "ch-exec", "ch-goal", "ch-receipt", "clip-harness"]


class Fence(NamedTuple):
    """A fenced block of a page."""

    page: Path
    line: int
    info: str
    lines: list


def fences(page):
    """The fenced blocks of a page, as CommonMark finds them; a longer fence holds shorter ones."""
    opened = None
    for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), 1):
        mark = re.match(r"(`{3,})([^`]*)$", line)
        if opened is None:
            if mark:
                opened = (mark[1], Fence(page, number, mark[2].strip(), []))
        elif mark and not mark[2].strip() and len(mark[1]) >= len(opened[0]):
            yield opened[1]
            opened = None
        else:
            opened[1].lines.append(line)
    assert opened is None, f"{page}: the fence of line {opened[1].line} is never closed"


def ident(fence):
    return f"{fence.page.relative_to(ROOT)}:{fence.line}"


FENCES = [fence for page in PAGES for fence in fences(page)]
CONSOLE = [fence for fence in FENCES if fence.info == "console" and fence.page in READMES]
USAGE = [fence for fence in FENCES if fence.info == "text" and fence.lines[0].startswith("usage: ")]


def examples(fence):
    """The commands of a console block, each with the lines it prints; `> ` goes on with one.

    A block that is printed is output to its end: a result block has lines that begin with `$ `.
    """
    found = []
    printed = False
    for line in fence.lines:
        if line.startswith("```"):
            printed = not printed
        if line.startswith("$ ") and not printed:
            found.append((line[2:], []))
        elif line.startswith("> ") and found and not found[-1][1]:
            found[-1] = (f"{found[-1][0]}\n{line[2:]}", [])
        else:
            assert found, f"{ident(fence)}: output before the first command"
            found[-1][1].append(line)
    return found


def sh(line, cwd):
    """What a real sh prints for `line`, both streams as they come, line by line."""
    done = subprocess.run(
        ["/bin/sh", "-c", f"exec 2>&1\n{line}"],
        cwd=cwd,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        timeout=60,
        check=False,
    )
    return done.stdout.decode("utf-8", "backslashreplace").splitlines()


def test_a_fence_in_a_longer_fence_is_its_text(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("````console\n$ a\n```result\n$ b\n```\n$ c\n````\ntext\n```text\nd\n```\n")
    assert [(f.line, f.info, f.lines) for f in fences(page)] == [
        (1, "console", ["$ a", "```result", "$ b", "```", "$ c"]),
        (9, "text", ["d"]),
    ]
    assert examples(next(fences(page))) == [("a", ["```result", "$ b", "```"]), ("c", [])]


@pytest.mark.parametrize("fence", CONSOLE, ids=ident)
def test_an_example_prints_what_the_page_says(fence, project):
    """In an empty project folder; the commands of one block share it."""
    printed = [(line, sh(line, project)) for line, _ in examples(fence)]
    assert printed == examples(fence)


@pytest.mark.parametrize("name", TOOLS)
def test_every_page_has_an_example(name):
    assert any(fence.page == ROOT / "packages" / name / "README.md" for fence in CONSOLE)


def answer(*argv):
    """What a command prints, its errors and its code."""
    done = subprocess.run(
        argv, capture_output=True, stdin=subprocess.DEVNULL, timeout=60, check=False
    )
    return done.stdout.decode(), done.stderr.decode(), done.returncode


def subcommands(name, usage):
    """The subcommands that a usage text names, in its synopsis or its list."""
    lines = re.findall(rf"^(?:usage:|      ) {name} \[?([a-z]+)\]?(?=[\s]|$)", usage, re.MULTILINE)
    listed = re.search(r"^(?:sub)?commands:\n((?:  .*\n)+)", usage, re.MULTILINE)
    if listed:
        lines += re.findall(r"^  ([a-z]+) ", listed[1], re.MULTILINE)
    # a word in square brackets that is a subcommand is one; `[options]` and `[OPTION]` are none
    return sorted(set(lines) - {"options"})


@pytest.fixture(scope="module")
def usages():
    """The help of every command and subcommand."""
    found = {}
    for name in TOOLS:
        found[name] = answer(_path(name), "--help")
        for word in subcommands(name, found[name][0]):
            found[f"{name} {word}"] = answer(_path(name), word, "--help")
    return found


def _path(name):
    from hermetic import SCRIPTS

    return str(SCRIPTS / name)


def test_subcommands_are_found():
    usage = (
        "usage: t [append] [--x] < a\n       t block [--y]\n       t (--a | --b)\n\n"
        "Text.\n\ncommands:\n  run        r\n  stop       s\n\noptions:\n  --help  h\n"
    )
    assert subcommands("t", usage) == ["append", "block", "run", "stop"]


def test_every_command_and_subcommand_has_help(usages):
    wrong = {
        command: (said, error, code)
        for command, (said, error, code) in usages.items()
        if code != 0 or error or not said.startswith(f"usage: {command.split()[0]}")
    }
    assert wrong == {}
    assert {command.split()[0] for command in usages} == set(TOOLS)


def test_the_second_name_is_the_same_program(usages):
    assert answer(_path("clip"), "--help") == usages["clip-harness"]


def test_every_command_and_subcommand_has_a_version(usages):
    from ch_contract import __version__

    wrong = {}
    for command in usages:
        name, *words = command.split()
        said = answer(_path(name), *words, "--version")
        if said != (f"{name} {__version__}\n", "", 0):
            wrong[command] = said
    assert wrong == {}


def test_every_command_and_subcommand_is_on_its_page(usages):
    missing = []
    for command in usages:
        name, *words = command.split()
        text = (ROOT / "packages" / name / "README.md").read_text()
        if not re.search(rf"\b{re.escape(words[-1] if words else name)}\b", text):
            missing.append(command)
    assert missing == []


def test_every_option_of_a_usage_text_is_on_its_page(usages):
    missing = []
    for command, (usage, _, _) in usages.items():
        text = (ROOT / "packages" / command.split()[0] / "README.md").read_text()
        options = set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", usage))
        missing += [f"{command}: {option}" for option in sorted(options) if option not in text]
    assert missing == []


@pytest.mark.parametrize("fence", USAGE, ids=ident)
def test_a_usage_block_is_the_commands_own(fence, usages):
    texts = [said for said, _, _ in usages.values()]
    assert "\n".join(fence.lines) + "\n" in texts


@pytest.mark.parametrize("name", TOOLS)
def test_every_page_holds_its_usage(name, usages):
    page = ROOT / "packages" / name / "README.md"
    blocks = ["\n".join(fence.lines) + "\n" for fence in USAGE if fence.page == page]
    assert usages[name][0] in blocks


def anchors(page):
    """The names that headings of a page can be linked by."""
    text = re.sub(r"(?ms)^(`{3,}).*?^\1`*\s*$", "", page.read_text(encoding="utf-8"))
    found = set()
    for title in re.findall(r"^#+ (.*)$", text, re.MULTILINE):
        plain = re.sub(r"[^\w\- ]", "", title.replace("`", "").lower())
        found.add(plain.strip().replace(" ", "-"))
    return found


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_relative_links_resolve(page):
    text = re.sub(r"(?ms)^(`{3,}).*?^\1`*\s*$", "", page.read_text(encoding="utf-8"))
    text = re.sub(r"`[^`\n]*`", "", text.replace("[`", "[").replace("`]", "]"))
    broken = []
    for link in re.findall(r"\]\(([^)\s]+)\)", text):
        if re.match(r"[a-z][a-z0-9+.-]*:", link):
            continue
        name, _, anchor = link.partition("#")
        target = page if not name else page.parent / name
        missing = not target.exists() or ROOT not in [target.resolve(), *target.resolve().parents]
        if missing or (anchor and target.suffix == ".md" and anchor not in anchors(target)):
            broken.append(link)
    assert broken == []
