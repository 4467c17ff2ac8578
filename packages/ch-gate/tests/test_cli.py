"""The commands of ch-gate: flags, exit codes, documents, settings."""

import json
import shutil
import signal
import tempfile
import time
from pathlib import Path

import pytest

from ch_gate import main, rules, shfmt
from ch_gate.cli import USAGE
from ch_gate.offers import entry_for
from ch_gate.verdict import Judge


@pytest.fixture(autouse=True)
def _bash(monkeypatch):
    """The login shell is bash, whoever runs the tests."""
    monkeypatch.setattr("ch_contract.shells.login_shell", lambda: "/bin/bash")


def check(run_tool, command, *flags):
    return run_tool(main, ["check", "--command", command, *flags])


@pytest.mark.parametrize(
    ("command", "decision", "code"),
    [("ls", "allow", 0), ("rm x", "ask", 3), ("rm -rf /", "deny", 1)],
)
def test_the_pipe_step(run_tool, run_document, project, command, decision, code):
    """The verdict is added, everything else stays; --exit-code gives the answer."""
    document = run_document(command)
    done = run_tool(main, stdin=document)
    assert (done.code, done.stderr) == (0, "")
    added = done.document.pop("verdict") if False else done.document["verdict"]
    assert {**done.document, "verdict": None} == {**document, "verdict": None}
    assert (added["decision"], added["dialect"], added["settings"]["left_out"]) == (
        decision,
        "bash",
        [],
    )
    assert [part["subject"] for part in added["parts"]] == [command]
    assert run_tool(main, ["--exit-code"], stdin=document).code == code


def test_changes_come_before_the_command(run_tool, run_document, project, user_settings):
    """One part a change, then the command; the strictest decides."""
    user_settings({"protected_paths": ["b.txt"]})
    document = run_document("ls")
    document["payload"]["kind"] = "mixed"
    document["payload"]["changes"] = [
        {"path": path, "kind": "file", "op": "auto", "content": "x\n"}
        for path in ("a.txt", "b.txt")
    ]
    found = run_tool(main, stdin=document).document["verdict"]
    assert found["decision"] == "deny"
    assert [
        (part["kind"], part["subject"], part["decision"], part["rule"]) for part in found["parts"]
    ] == [
        ("change", "a.txt", "ask", "file-review"),
        ("change", "b.txt", "deny", "protected-path"),
        ("command", "ls", "allow", None),
    ]


@pytest.mark.parametrize("kind", ["goal", "control", "ignored", "malformed"])
def test_what_is_not_its_business_passes(run_tool, run_document, kind, project):
    """Other kinds, and documents that hold a problem, are written as they came."""
    document = run_document()
    document["payload"].update(kind=kind, command=None)
    if kind == "control":
        document["payload"]["control"] = {"action": "cancel", "session": None}
    if kind == "goal":
        document["payload"]["metadata"]["action"] = "goal-list"
    if kind in ("ignored", "malformed"):
        document["payload"]["form"] = None
    if kind == "malformed":
        document["problem"] = {
            "tool": "ch-parse",
            "kind": "malformed",
            "message": "m",
            "hint": None,
            "line": 1,
        }
    assert run_tool(main, stdin=document).document == document


def test_a_project_may_only_tighten(run_tool, run_document, project, user_settings):
    """Its deny list counts, its allow list does not and is named."""
    user_settings({"allowlist": ["ls *"]})
    folder = project / ".clip-harness"
    folder.mkdir()
    (folder / "settings.json").write_text('{"denylist": ["date"], "allowlist": ["rm *"]}')
    found = run_tool(main, stdin=run_document("rm x")).document["verdict"]
    assert found["decision"] == "ask"
    assert found["settings"]["left_out"] == [
        {
            "path": str(folder / "settings.json"),
            "ignored": [{"key": "allowlist", "why": "untrusted"}],
        }
    ]
    assert run_tool(main, stdin=run_document("date")).document["verdict"]["decision"] == "deny"


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"mutation_gate": "maybe"}, "mutation_gate: 'maybe' is not one of ['review', 'deny']"),
        ({"hard_block_patterns": ["("]}, "hard_block_patterns: '(' is no regular expression: missing ), unterminated subpattern at position 0"),
        ({"hard_block_patterns": ["(a+)+$"]}, "hard_block_patterns: '(a+)+$' repeats a group that repeats itself, which can take for ever"),
        ({"allowlist": [{"pattern": "ls *", "must_match": ["pwd"]}]}, "allowlist: 'ls *' does not match its example 'pwd'"),
        ({"denylist": [{"pattern": "ls *", "must_not_match": ["ls"]}]}, "denylist: 'ls *' matches 'ls', which it must not"),
    ],
)  # fmt: skip
def test_settings_that_cannot_be_used_stop_everything(
    run_tool, run_document, project, user_settings, values, message
):
    """The problem names key and pattern; there is no verdict."""
    path = user_settings(values)
    done = run_tool(main, stdin=run_document("ls"))
    assert "verdict" not in done.document
    assert done.document["problem"]["kind"] == "settings"
    assert done.document["problem"]["message"].removeprefix(f"{path}: ") == message
    assert check(run_tool, "ls").code == 65


def test_a_pattern_that_runs_wild_is_stopped(run_tool, project, user_settings):
    """The watchdog ends it, and nothing is allowed."""
    user_settings({"hard_block_patterns": ["(x|x|xx)*y|(?:a|aa)+$"]})
    start = time.monotonic()
    done = check(run_tool, "echo " + "x" * 60)
    assert time.monotonic() - start < 5
    assert (done.code, done.stdout) == (65, "")
    assert done.stderr == (
        "ch-gate: hard_block_patterns: the command took more than 0.2 s to judge — a pattern in "
        "your settings takes too long on this command; simplify it\n"
    )
    assert signal.getitimer(signal.ITIMER_VIRTUAL) == (0.0, 0.0)


def test_a_working_folder_that_is_gone(run_tool, tmp_path, monkeypatch):
    """Named as what it is, not as a bug."""
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    done = check(run_tool, "ls")
    assert (done.code, done.stdout, done.stderr) == (
        74, "",
        "ch-gate: the working folder is gone — name a folder with --cwd, or change to one\n",
    )  # fmt: skip


def test_a_link_on_the_disk_is_followed(run_tool, project):
    """What lies behind a link in a temporary folder is no temporary file."""
    place = Path(tempfile.mkdtemp(dir="/var/tmp"))
    try:
        (place / "link").symlink_to(project)
        (place / "own").mkdir()
        found = {
            name: check(run_tool, f"rm -r {place}/{name}/x", "--exit-code").code
            for name in ("link", "own")
        }
    finally:
        shutil.rmtree(place)
    assert found == {"link": 3, "own": 0}


@pytest.mark.parametrize(
    "where", ["ch_gate.policy.own", "ch_gate.verdict.floor", "ch_gate.syntax.read"]
)
def test_a_verdict_that_comes_too_late_is_unreadable(run_tool, project, monkeypatch, where):
    """Without a pattern to blame the command is held as one that could not be read in time."""

    def slow(*_):
        while True:
            pass

    monkeypatch.setattr(where, slow)
    done = check(run_tool, "ls", "--exit-code")
    assert done.code == 3
    assert done.stdout == (
        "ask: Held: the command could not be read (it took longer to read than the time allowed "
        "for a verdict), and what can't be read is never allowed. Send less at once.\n"
    )


def test_a_bug_allows_nothing(run_tool, run_document, project, monkeypatch):
    """An exception of ours ends with 70 and no document at all."""
    monkeypatch.setattr("ch_gate.policy.own", lambda *_: 1 / 0)
    done = run_tool(main, stdin=run_document("ls"))
    assert (done.code, done.stdout) == (70, "")
    assert done.stderr.startswith("ch-gate: this is a bug in ch-gate; the traceback is in ")


def test_another_shell_is_said_to_the_operator(run_tool, project, monkeypatch):
    """With fish as login shell bash runs the text, and the note says so."""
    monkeypatch.setattr("ch_contract.shells.login_shell", lambda: "/usr/bin/fish")
    part = json.loads(check(run_tool, "ls", "--json").stdout)
    assert part["note"] == "bash runs this: payloads never run in /usr/bin/fish"


@pytest.mark.parametrize(
    ("command", "code", "start"),
    [
        ("ls", 0, "allow\n"),
        ("rm x", 3, "ask: Held: rm x looks"),
        ("rm -rf /", 1, "deny: Denied: rm -rf / would "),
    ],
)
def test_check(run_tool, project, command, code, start):
    """One line; the exit code only when it is asked for."""
    done = check(run_tool, command)
    assert (done.code, done.stdout[: len(start)]) == (0, start)
    assert check(run_tool, command, "--exit-code").code == code


def test_check_reads_a_file(run_tool, project):
    """From a file, and from standard input."""
    (project / "c.sh").write_text("rm x\n")
    assert run_tool(main, ["check", "--file", "c.sh", "--exit-code"]).code == 3
    assert run_tool(main, ["check", "--file", "-", "--exit-code"], stdin="ls").code == 0


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["check"], "give either --command or --file"),
        (["check", "--command", "a", "--file", "b"], "give either --command or --file"),
        (["check", "ls"], "unexpected word 'ls' — put the command after --command"),
        (["check", "--command", "a", "--cwd", "/nowhere"], "--cwd: there is no folder /nowhere"),
        (["test"], "give the one file of examples — see --help for its form"),
        (["rules", "x"], "unexpected word 'x' — see --help"),
        (["judge"], "unexpected word 'judge' — see --help"),
    ],
)
def test_called_wrongly(run_tool, project, argv, message):
    """64 and one line."""
    done = run_tool(main, argv)
    assert (done.code, done.stdout, done.stderr) == (64, "", f"ch-gate: {message}\n")


def test_explain(run_tool, project):
    """Each command, the rule it met, the deciding one, and the way through."""
    done = run_tool(main, ["explain", "--command", "timeout 5 rm x | wc -l"])
    assert done.stdout == (
        "read as bash\n"
        "1. timeout 5 rm x\n"
        "   class: read\n"
        "   no rule objects\n"
        "2. rm x  [started by timeout]\n"
        "   class: destructive\n"
        f"   delete: {project}/x, inside\n"
        "   ask: mutation (Delete)\n"
        "3. wc -l\n"
        "   class: read\n"
        "   no rule objects\n"
        "verdict: ask (mutation)\n"
        "  Held: rm x looks as if it changes something; a person must accept it. To change the "
        "text of a file, send an edit, patch or file block.\n"
        "to make it pass: accept it in a review, or add an entry for it to allowlist (a non-empty "
        "allow list holds every command it does not name)\n"
    )


@pytest.mark.parametrize(
    ("command", "entry"),
    [
        ("suppliers/openapi/discover --all", "suppliers/openapi/discover *"),
        ("rm x", "rm *"),
        ("bash x.sh", None),
        ("python3 x.py", None),
        ("sudo rm x", None),
        ("timeout 5 rm x", None),
        ("rm x; rm y", None),
        ("echo x > y", None),
        ("A=1 rm x", None),
        ("$X y", None),
        ("find . -delete", None),
        ("rm 'a b'; (", None),
    ],
)
def test_an_entry_is_offered_for_a_single_plain_command(project, command, entry):
    """First word and a star; never for what would run whatever it is given."""
    judge = Judge(str(project), str(project))
    assert entry_for(judge.read(command, shfmt.Clock(10))) == entry


def test_rules_lists_every_rule_there_is(run_tool):
    """The catalogue holds each id of the code, and each has its line, its reason and its advice."""
    from ch_gate.explain import _PASS

    ids = {
        value for name, value in vars(rules).items() if name.isupper() and isinstance(value, str)
    }
    assert ids == set(rules.CATALOGUE)
    assert set(_PASS) == ids - {rules.ALLOWLIST}
    listed = json.loads(run_tool(main, ["rules", "--json"]).stdout)
    assert [row["rule"] for row in listed] == list(rules.CATALOGUE)
    plain = run_tool(main, ["rules"]).stdout.splitlines()
    assert [line.split()[0] for line in plain] == list(rules.CATALOGUE)


def test_examples_of_ones_own(run_tool, project):
    """Lines or a list; what does not hold is named, and gives 1."""
    (project / "e.jsonl").write_text(
        '{"command": "ls", "expect": "allow"}\n\n{"command": "rm x", "expect": "deny"}\n'
    )
    done = run_tool(main, ["test", "e.jsonl"])
    assert (done.code, done.stdout) == (
        1, "2: expected deny, got ask (mutation): rm x\n1 of 2 examples hold\n",
    )  # fmt: skip
    (project / "e.json").write_text('[{"command": "ls", "expect": "allow", "note": "why"}]')
    done = run_tool(main, ["test", "e.json"])
    assert (done.code, done.stdout) == (0, "1 of 1 examples hold\n")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "e holds no example"),
        ('{"command": "ls"}', "e, line 1: an example has the keys command and expect"),
        (
            '[{"command": "ls", "expect": "no"}]',
            "e, example 1: command is a text, and expect is allow, ask or deny",
        ),
    ],
)
def test_examples_that_are_none(run_tool, project, text, message):
    """The place is named."""
    (project / "e").write_text(text)
    done = run_tool(main, ["test", "e"])
    assert (done.code, done.stderr) == (65, f"ch-gate: {message}\n")


def test_help_and_version(run_tool):
    """Every command knows --help."""
    for argv in ([], ["check"], ["explain"], ["rules"], ["test"]):
        assert run_tool(main, [*argv, "--help"]).stdout == USAGE


def test_a_real_process(spawn, run_document, project):
    """The installed command in a pipe, and one that dies leaves no document."""
    done = spawn("ch-gate", stdin=run_document("ls"), env={"SHELL": "/bin/bash"})
    assert (done.code, done.document["verdict"]["decision"]) == (0, "allow")
    done = spawn("ch-gate", stdin="{}")
    assert (done.code, done.stdout) == (65, "")
