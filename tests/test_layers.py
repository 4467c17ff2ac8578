"""The structure, kept by the machine: who imports whom, who writes files, who starts processes.

Every rule is shown to bite: a breach of its kind is planted in a copy of the tree and found.
"""

from __future__ import annotations

import ast
import configparser
import functools
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

# the sources are the same under every interpreter
pytestmark = pytest.mark.heavy

ROOT = Path(__file__).parents[1]

# Calls and flags that change the file system. Only ch_contract/files.py has them.
WRITING_FLAGS = {"O_WRONLY", "O_RDWR", "O_CREAT", "O_APPEND", "O_TRUNC", "O_TMPFILE"}
WRITING_CALLS = {
    "os": {
        "chmod", "chown", "ftruncate", "lchown", "link", "makedirs", "mkdir", "mkfifo", "mknod",
        "remove", "removedirs", "rename", "renames", "replace", "rmdir", "symlink", "truncate",
        "unlink", "utime",
    },
    "shutil": {
        "chown", "copy", "copy2", "copyfile", "copymode", "copystat", "copytree", "make_archive",
        "move", "rmtree", "unpack_archive",
    },
    "tempfile": {
        "NamedTemporaryFile", "SpooledTemporaryFile", "TemporaryDirectory", "TemporaryFile",
        "mkdtemp", "mkstemp",
    },
}  # fmt: skip
WRITING_METHODS = {"write_text", "write_bytes", "touch", "hardlink_to", "symlink_to"}
MAY_WRITE = {
    ("ch_contract/files.py", None): "the one place that writes",
    ("ch_contract/tool.py", "O_WRONLY"): "the null device in the place of a closed stream",
    ("ch_contract/tool.py", "open for writing"): "the standard streams by their numbers",
    ("ch_exec/live.py", "O_WRONLY"): "the terminal, for the live view",
    ("ch_exec/record.py", "O_APPEND"): "a flag of a descriptor that files.py has created",
    ("ch_receipt/capture.py", "rmdir"): "the empty folder of a run that could not be recorded",
    ("ch_stage/isolated.py", None): "a temporary folder for git; no state",
    ("clip_harness/adapters/prompt.py", None): "the terminal",
    ("clip_harness/adapters/editor.py", None): "copies that other programs are lent; no state",
    ("clip_harness/candidates.py", "TemporaryDirectory"): "edited files under their numbers",
    ("clip_harness/flows/asking.py", "rmtree"): "the edited copies, once they are kept",
    ("clip_harness/adapters/bounded.py", "TemporaryFile"): "nameless, for a program's output",
    ("clip_harness/adapters/wsl.py", "TemporaryDirectory"): "what the Windows side reads; no state",
    ("clip_harness/adapters/terminal.py", "O_WRONLY"): "the terminal, for OSC 52",
}

STARTING_CALLS = {
    "os": {
        "execl", "execle", "execlp", "execlpe", "execv", "execve", "execvp", "execvpe", "fork",
        "forkpty", "popen", "posix_spawn", "posix_spawnp", "spawnl", "spawnle", "spawnlp",
        "spawnlpe", "spawnv", "spawnve", "spawnvp", "spawnvpe", "startfile", "system",
    },
}  # fmt: skip
STARTING_MODULES = {"subprocess", "multiprocessing", "pty", "_posixsubprocess", "concurrent"}
MAY_START = {
    "ch_exec/supervise.py": "runs the command",
    "ch_exec/descendants.py": "asks ps for the processes where there is no /proc",
    "ch_exec/backends/": "run the command elsewhere",
    "ch_stage/isolated.py": "calls git",
    "ch_gate/shfmt.py": "asks shfmt for the syntax tree",
    "ch_contract/processes.py": "asks ps for a start time where there is no /proc",
    "clip_harness/runners.py": "starts the tools with --runner spawn",
    "clip_harness/adapters/": "ask clipboard, terminal and editor programs",
}

VAGUE_NAMES = {
    "utils",
    "util",
    "helpers",
    "helper",
    "common",
    "manager",
    "managers",
    "core",
    "misc",
}
MAY_CATCH_ALL = {
    "ch_contract/tool.py": "the last line of defence: one line and a file with the traceback",
    "ch_exec/supervise.py": "the forked child reports by a pipe; a failure must not keep us from"
    " ending the command",
}


def modules(root):
    """Every module of ours below `root` as (name, tree); the name is as in `ch_exec/live.py`."""
    for folder in sorted(root.glob("packages/*/src")):
        for path in sorted(folder.rglob("*.py")):
            yield str(path.relative_to(folder)), parse(path.read_text(encoding="utf-8"))


@functools.cache
def parse(text):
    return ast.parse(text)


def named(tree, wanted):
    """Where `tree` uses a name out of a module, written `os.fork` or imported from it."""
    aliases = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            aliases |= {alias.asname or alias.name: alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module in wanted:
            for alias in node.names:
                if alias.name in wanted[node.module]:
                    yield node.lineno, alias.name
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            module = aliases.get(node.value.id, node.value.id)
            if node.attr in wanted.get(module, ()):
                yield node.lineno, node.attr


def opens_for_writing(node):
    """Whether a call is an `open` with a mode that writes, or with one that is not written out."""
    name = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", None)
    if name not in ("open", "fdopen"):
        return False
    if isinstance(node.func, ast.Attribute) and ast.unparse(node.func) == "os.open":
        return False  # its flags are looked for
    method = isinstance(node.func, ast.Attribute) and ast.unparse(node.func.value) not in (
        "io",
        "os",
    )
    place = 0 if method else 1
    mode = next((k.value for k in node.keywords if k.arg == "mode"), None)
    if mode is None and len(node.args) > place:
        mode = node.args[place]
    if mode is None:
        return False
    return not isinstance(mode, ast.Constant) or bool(set(str(mode.value)) & set("wax+"))


def writing(root):
    """Every place that changes the file system and may not."""
    for name, tree in modules(root):
        found = list(named(tree, WRITING_CALLS))
        found += named(tree, {"os": WRITING_FLAGS})
        for node in ast.walk(tree):
            if isinstance(node, ast.Call):
                if opens_for_writing(node):
                    found.append((node.lineno, "open for writing"))
                elif getattr(node.func, "attr", None) in WRITING_METHODS:
                    found.append((node.lineno, node.func.attr))
        for line, what in found:
            if (name, None) not in MAY_WRITE and (name, what) not in MAY_WRITE:
                yield f"{name}:{line}: {what}"


def starting(root):
    """Every place that starts a process and may not."""
    for name, tree in modules(root):
        if any(
            name == place or (place[-1] == "/" and name.startswith(place)) for place in MAY_START
        ):
            continue
        for line, what in named(tree, STARTING_CALLS):
            yield f"{name}:{line}: {what}"
        for node in ast.walk(tree):
            imported = []
            if isinstance(node, ast.Import):
                imported = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and node.level == 0:
                imported = [node.module or ""]
            for module in imported:
                if module.partition(".")[0] in STARTING_MODULES:
                    yield f"{name}:{node.lineno}: import {module}"


def swallowing(root):
    """Every bare except, catch-all and handler that says nothing."""
    for name, tree in modules(root):
        for node in ast.walk(tree):
            if isinstance(node, ast.ExceptHandler):
                caught = "" if node.type is None else ast.unparse(node.type)
                raises = any(isinstance(part, ast.Raise) for part in ast.walk(node))
                if not caught:
                    yield f"{name}:{node.lineno}: bare except"
                elif caught in ("Exception", "BaseException") and not raises:
                    if name not in MAY_CATCH_ALL:
                        yield f"{name}:{node.lineno}: except {caught} without raise"
                elif all(
                    isinstance(part, ast.Pass)
                    or (isinstance(part, ast.Expr) and isinstance(part.value, ast.Constant))
                    for part in node.body
                ):
                    yield f"{name}:{node.lineno}: swallowed {caught}"
            elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith("suppress"):
                names = [ast.unparse(part) for part in node.args]
                if {"Exception", "BaseException"} & set(names):
                    yield f"{name}:{node.lineno}: suppresses {', '.join(names)}"


def vague(root):
    """Every module or package whose name says nothing."""
    for name, _tree in modules(root):
        if VAGUE_NAMES & set(Path(name).with_suffix("").parts):
            yield name


def silent(root):
    """Every module that does not open with what it decides."""
    for name, tree in modules(root):
        if not ast.get_docstring(tree):
            yield name


RULES = [writing, starting, swallowing, vague, silent]


def test_there_is_something_to_look_at():
    names = [name for name, _ in modules(ROOT)]
    assert "ch_contract/files.py" in names
    assert len({name.partition("/")[0] for name in names}) == 8


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_the_tree_keeps_the_rule(rule):
    assert list(rule(ROOT)) == []


def test_no_exception_of_the_rules_is_left_over():
    present = {name for name, _ in modules(ROOT)}
    places = {name for name, _ in MAY_WRITE} | {name for name in MAY_START if name[-1] != "/"}
    assert places | set(MAY_CATCH_ALL) <= present
    for place in MAY_START:
        assert any(name.startswith(place) for name in present), place


@pytest.fixture(scope="module")
def copied(tmp_path_factory):
    """A copy of the sources and the rules for imports."""
    root = tmp_path_factory.mktemp("tree")
    for folder in ROOT.glob("packages/*/src"):
        shutil.copytree(
            folder,
            root / folder.relative_to(ROOT),
            ignore=shutil.ignore_patterns("schemas", "__pycache__"),
        )
    shutil.copy(ROOT / ".importlinter", root)
    return root


@pytest.fixture
def plant(copied):
    """Add code to a module of the copy for one test."""
    kept: list = []

    def add(name, code):
        path = next(copied.glob(f"packages/*/src/{name.partition('/')[0]}")).parent / name
        kept.append((path, path.read_bytes() if path.exists() else None))
        with path.open("a") as file:
            file.write(f"\n{code}\n")
        return copied

    yield add
    for path, before in kept:
        if before is None:
            path.unlink()
        else:
            path.write_bytes(before)


BREACHES = [
    (writing, "ch_goal/cli.py", "open('a', 'w')", "open for writing"),
    (writing, "ch_goal/cli.py", "open('a', mode='rb+')", "open for writing"),
    (writing, "ch_goal/cli.py", "open('a', chosen)", "open for writing"),
    (writing, "ch_goal/cli.py", "import io\nio.open('a', 'x')", "open for writing"),
    (writing, "ch_goal/cli.py", "Path('a').open('a')", "open for writing"),
    (writing, "ch_goal/cli.py", "import os\nos.open('a', os.O_RDWR | os.O_CREAT)", "O_RDWR"),
    (writing, "ch_goal/cli.py", "from os import O_WRONLY as how", "O_WRONLY"),
    (writing, "ch_goal/cli.py", "import os as system\nsystem.replace('a', 'b')", "replace"),
    (writing, "ch_goal/cli.py", "from os import unlink", "unlink"),
    (writing, "ch_goal/cli.py", "Path('a').write_text('b')", "write_text"),
    (writing, "ch_goal/cli.py", "import shutil\nshutil.rmtree('a')", "rmtree"),
    (writing, "ch_contract/tool.py", "import os\nos.mkdir('a')", "mkdir"),
    (starting, "ch_goal/cli.py", "import subprocess", "import subprocess"),
    (starting, "ch_goal/cli.py", "def f():\n    from subprocess import run", "import subprocess"),
    (starting, "ch_goal/cli.py", "import os\nos.fork()", "fork"),
    (starting, "ch_goal/cli.py", "from os import posix_spawn", "posix_spawn"),
    (starting, "ch_exec/planning.py", "import os\nos.execve('a', [], {})", "execve"),
    (starting, "ch_gate/policy.py", "import os\nos.system('a')", "system"),
    (starting, "ch_goal/cli.py", "import multiprocessing.pool", "import multiprocessing.pool"),
    (swallowing, "ch_goal/cli.py", "try:\n    f()\nexcept:\n    raise", "bare except"),
    (swallowing, "ch_goal/cli.py", "try:\n    f()\nexcept OSError:\n    pass", "swallowed OSError"),
    (swallowing, "ch_goal/cli.py", "try:\n    f()\nexcept OSError:\n    ...", "swallowed OSError"),
    (swallowing, "ch_goal/cli.py", "try:\n    f()\nexcept Exception:\n    f()", "except Exception without raise"),
    (swallowing, "ch_goal/cli.py", "with contextlib.suppress(Exception):\n    f()", "suppresses Exception"),
    (vague, "ch_goal/utils.py", '"""x"""', "ch_goal/utils.py"),
    (vague, "ch_exec/backends/core.py", '"""x"""', "ch_exec/backends/core.py"),
    (silent, "ch_goal/fresh.py", "x = 1", "ch_goal/fresh.py"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("rule", "name", "code", "what"), BREACHES, ids=lambda part: str(part)[:40]
)
def test_a_planted_breach_is_found(plant, rule, name, code, what):
    found = list(rule(plant(name, code)))
    assert any(line.startswith(name) and line.endswith(what) for line in found), found


# ---- what import-linter checks


def lint_imports(root):
    """Exit code and output of import-linter on the tree at `root`."""
    sources = os.pathsep.join(str(path) for path in sorted(root.glob("packages/*/src")))
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            "from importlinter.cli import lint_imports_command as c; c()",
            "--no-cache",
        ],
        cwd=root,
        env={**os.environ, "PYTHONPATH": sources},
        capture_output=True,
        timeout=120,
        check=False,
    )
    return done.returncode, done.stdout.decode() + done.stderr.decode()


@pytest.mark.heavy
def test_the_imports_keep_the_contracts(copied):
    code, said = lint_imports(copied)
    assert code == 0, said


IMPORTS = [
    ("ch_contract/clock.py", "import ch_parse", "ch_contract is not allowed to import ch_parse"),
    ("ch_goal/cli.py", "import ch_stage", "ch_goal is not allowed to import ch_stage"),
    ("ch_goal/cli.py", "def f():\n    import clip_harness", "ch_goal is not allowed to import clip_harness"),
    ("clip_harness/cli.py", "from ch_goal.cli import USAGE", "Of ch_goal only the package itself"),
    ("clip_harness/runners.py", "import ch_gate.policy", "Of ch_gate only the package itself"),
    ("ch_parse/ladder.py", "import os", "ch_parse.ladder is not allowed to import os"),
    ("ch_parse/ladder.py", "from ch_contract import files", "ch_parse.ladder is not allowed to import ch_contract.files"),
    ("ch_gate/policy.py", "def f():\n    import time", "ch_gate.policy is not allowed to import time"),
    ("ch_gate/syntax.py", "import subprocess", "ch_gate.syntax is not allowed to import subprocess"),
]  # fmt: skip


@pytest.mark.heavy
@pytest.mark.parametrize(("name", "code", "what"), IMPORTS, ids=lambda part: str(part)[:40])
def test_a_planted_import_is_found(plant, name, code, what):
    exit_code, said = lint_imports(plant(name, code))
    plain = " ".join(said.split())
    assert exit_code == 1, said
    assert what in plain, said


def rules():
    parser = configparser.ConfigParser()
    parser.read(ROOT / ".importlinter")
    return {section: parser[section] for section in parser.sections()}


def test_the_contracts_name_every_package():
    packages = {
        path.name
        for path in ROOT.glob("packages/*/src/*")
        if path.is_dir() and path.name.isidentifier()
    }
    found = rules()
    assert set(found["importlinter"]["root_packages"].split()) == packages
    for name in packages - {"ch_contract", "clip_harness"}:
        assert f"importlinter:contract:protected-{name.removeprefix('ch_')}" in found


def test_every_module_of_the_parser_but_its_command_is_pure():
    pure = set(rules()["importlinter:contract:pure-parse"]["source_modules"].split())
    present = {path.stem for path in (ROOT / "packages/ch-parse/src/ch_parse").glob("*.py")}
    assert pure == {f"ch_parse.{name}" for name in present - {"__init__", "__main__", "cli"}}
