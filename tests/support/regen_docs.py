"""Write what is derived into the documents: AGENTS.md, and the usage texts in the manual pages.

    python tests/support/regen_docs.py           write the files
    python tests/support/regen_docs.py --check   write nothing; exit 1 if a file is out of date

AGENTS.md is the protocol section of ch-parse's page. A ```text block in a page that is empty or
begins with `usage:` gets the help text of the command named by the heading above it (`### clip-harness
run`), or of the page's own command when that heading names none. Between `<!-- rules:begin -->` and
`<!-- rules:end -->` stands the table that `ch-gate rules` prints. The index of ch-gate's catalogue
says in which family each program's name stands.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
AGENTS = ROOT / "AGENTS.md"
PROTOCOL = ROOT / "packages" / "ch-parse" / "README.md"
PROGRAMS = ROOT / "packages" / "ch-gate" / "src" / "ch_gate" / "programs"
BEGIN, END = "<!-- protocol:begin -->\n", "<!-- protocol:end -->\n"
MARKER = "clip-harness: ignore\n"

# what the instruction field of a well-known chat holds
MOST_CHARACTERS = 8_000


def protocol(page: str) -> str:
    """The protocol section of ch-parse's page, without its markers."""
    before, begin, rest = page.partition(BEGIN)
    section, end, after = rest.partition(END)
    if not begin or not end or BEGIN in after or END in before:
        sys.exit(f"{PROTOCOL}: expected one protocol:begin and one protocol:end, in this order")
    return section


def agents(page: str) -> str:
    """AGENTS.md: the marker that keeps it from being run, and the section one level higher."""
    lines = []
    fence = ""
    for line in protocol(page).splitlines():
        run = line[: len(line) - len(line.lstrip("`"))]
        if len(run) >= 3 and (not fence or (run == fence and line == run)):
            fence = "" if fence else run
        lines.append(line[1:] if line.startswith("##") and not fence else line)
    return MARKER + "\n" + "\n".join(lines) + "\n"


def usage(command: list[str]) -> str:
    """What `command --help` prints."""
    program = os.path.join(sysconfig.get_path("scripts"), command[0])
    done = subprocess.run(
        [program, *command[1:], "--help"], capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)} --help: exit {done.returncode}: {done.stderr.strip()}")
    return done.stdout


def with_usage(page: str, command: str) -> str:
    """`page` with every usage block as the commands print it."""
    lines = page.splitlines(keepends=True)
    made: list[str] = []
    heading = [command]
    position = 0
    while position < len(lines):
        line = lines[position]
        made.append(line)
        position += 1
        if line.startswith("#"):
            words = line.strip("# \n`").split()
            heading = words if words[:1] == [command] else [command]
        if line == "```text\n":
            end = lines.index("```\n", position)
            if position == end or lines[position].startswith("usage:"):
                made.append(usage(heading))
                position = end
    return "".join(made)


def with_rules(page: str) -> str:
    """`page` with the table of rules as `ch-gate rules` has it."""
    before, begin, rest = page.partition("<!-- rules:begin -->\n")
    _old, end, after = rest.partition("<!-- rules:end -->\n")
    if not begin or not end:
        return page
    program = os.path.join(sysconfig.get_path("scripts"), "ch-gate")
    done = subprocess.run([program, "rules", "--json"], capture_output=True, check=True)
    rows = [
        f"| `{row['rule']}` | {'floor' if row['floor'] else row['decision']} | {row['about']} |\n"
        for row in json.loads(done.stdout)
    ]
    table = "| rule | decides | about |\n| --- | --- | --- |\n" + "".join(rows)
    return before + begin + table + end + after


def index() -> str:
    """The index of the catalogue: the names of each family."""
    families = {
        path.stem: [
            name
            for row in json.loads(path.read_text(encoding="utf-8"))["programs"]
            for name in row["names"]
        ]
        for path in sorted(PROGRAMS.glob("*.json"))
        if path.stem != "index"
    }
    rows = [
        f" {json.dumps(family)}: {json.dumps(' '.join(sorted(names)))}"
        for family, names in families.items()
    ]
    return "{\n" + ",\n".join(rows) + "\n}\n"


def derived() -> dict[Path, str]:
    """Every document that holds something derived, as it should be."""
    documents = {PROGRAMS / "index.json": index()}
    documents |= {AGENTS: agents(PROTOCOL.read_text(encoding="utf-8"))}
    for path in sorted(ROOT.glob("packages/*/README.md")):
        page = path.read_text(encoding="utf-8")
        if "```text\n" in page:
            documents[path] = with_rules(with_usage(page, path.parent.name))
    return documents


def main(argv: list[str]) -> int:
    """Write or check; gives the exit code."""
    if argv not in ([], ["--check"]):
        sys.exit("usage: python tests/support/regen_docs.py [--check]")
    late = [
        path
        for path, text in derived().items()
        if not path.exists() or path.read_text(encoding="utf-8") != text
    ]
    if not argv:
        for path, text in derived().items():
            if path in late:
                path.write_text(text, encoding="utf-8")
    for path in late:
        print(f"{'out of date' if argv else 'written'}: {path.relative_to(ROOT)}")
    return 1 if late and argv else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
