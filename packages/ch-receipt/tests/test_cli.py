"""The command: flags, streams, exit codes, and what is left on disk."""

from __future__ import annotations

import errno
import json
import os
import re
import resource
import subprocess
import sys
import textwrap
from concurrent.futures import ThreadPoolExecutor

import pytest

from ch_contract import documents, files
from ch_contract.quiet_hashlib import hexdigest
from ch_receipt import cli, main
from ch_receipt.cli import USAGE
from receipts import part, verdict

RUN = "r-0000000000000001"
CAPTURE = ["capture", "--run-id", RUN, "--trigger", "explicit", "--cwd", "/w"]
AT = r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}\+00:00"


def lines_of(state):
    return [json.loads(line) for line in (state / "ledger.jsonl").read_bytes().splitlines()]


def tree(state):
    return {
        str(path.relative_to(state)): path.read_bytes()
        for path in sorted(state.rglob("*"))
        if path.is_file() and path.name != "ledger.lock"
    }


@pytest.fixture
def full_disk(monkeypatch):
    """Every write into the state folder fails after 20 bytes."""
    write = os.write

    def full(fd, data):
        if len(data) > 20:
            return write(fd, bytes(data)[:20])
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(files.os, "write", full)


def test_the_pipe_step_adds_the_receipt(state, run_tool, executed):
    document = executed()
    done = run_tool(main, [], document)
    assert (done.stderr, done.code) == ("", 0)
    line = (state / "ledger.jsonl").read_bytes().splitlines()[-1]
    receipt = {"seq": 2, "prev": json.loads(line)["prev"], "sha256": hexdigest(line)}
    assert done.document == {**document, "receipt": receipt}
    assert sorted(tree(state)) == ["ledger.head", "ledger.jsonl"]


def test_the_line_holds_hashes_and_no_payload_or_output(state, run_tool, executed, tmp_path):
    raw = b"very secret output\n"
    path = tmp_path / "output.txt"
    path.write_bytes(raw)
    document = executed("echo very secret", path, raw, exit_code=3, exit_desc="exit 3")
    run_tool(main, ["append"], document)
    *_, line = lines_of(state)
    at = line.pop("at")
    assert re.fullmatch(AT, at)
    assert b"secret" not in (state / "ledger.jsonl").read_bytes()
    assert line == {
        "format": "clip-harness/receipt@1",
        "seq": 2,
        "prev": line["prev"],
        "event": "PostRunFailure",
        "run_id": RUN,
        "session": None,
        "trigger": "explicit",
        "cwd": document["cwd"],
        "project": document["project"],
        "payload": {
            "sha256": document["captured"]["sha256"],
            "bytes": 16,
            "kind": "command",
            "form": "bare",
            "repairs": [],
        },
        "command_sha256": hexdigest(b"echo very secret"),
        "verdict": {
            "decision": "allow",
            "rule": None,
            "source": "policy",
            "settings_digest": "a" * 64,
        },
        "review": None,
        "result": {
            "exit_code": 3,
            "signal": None,
            "duration_ms": 3210,
            "timed_out": False,
            "cancelled": False,
            "output_sha256": hexdigest(raw),
            "output_bytes": 19,
            "output_chars": 19,
            "shell": "/bin/bash",
            "backend": "local",
            "sandbox": "none",
            "approval": None,
            "processes_ended": 0,
        },
        "problem": None,
        "pinned": None,
        "damage": None,
        "note": None,
    }


PROBLEM = {"tool": "ch-gate", "kind": "settings", "message": "no", "hint": None, "line": None}
SPAWN = {**PROBLEM, "tool": "ch-exec", "kind": "system"}
DENIED = verdict("deny", part("deny", "some-rule", "No."))
CONTROLLED = {
    "kind": "control",
    "command": None,
    "control": {"action": "cancel", "session": None},
}
EVENTS = {
    "success": ({}, {}, "PostRun"),
    "exit-1": ({"exit_code": 1}, {}, "PostRunFailure"),
    "signal": ({"exit_code": None, "signal": "SIGKILL"}, {}, "PostRunFailure"),
    "timeout": ({"timed_out": True}, {}, "PostRunFailure"),
    "cancel": ({"cancelled": True}, {}, "PostRunFailure"),
    "problem-after-the-run": ({}, {"problem": PROBLEM}, "PostRunFailure"),
    "not-started": (None, {"problem": SPAWN}, "PostRunFailure"),
    "problem-before": (None, {"problem": PROBLEM}, "PreRun"),
    "denied": (None, {"verdict": DENIED}, "PreRun"),
    "held": (None, {"verdict": verdict("ask")}, "PreRun"),
    "ignored": (None, {"payload": {"kind": "ignored", "form": None, "command": None}}, "PreRun"),
    "control": (None, {"payload": CONTROLLED}, "RunClosed"),
    "applied": (None, {"applied": {"entries": [], "rolled_back": False}}, "PostRun"),
    "rolled-back": (None, {"applied": {"entries": [], "rolled_back": True}}, "PostRunFailure"),
}


@pytest.mark.parametrize("name", EVENTS)
def test_every_end_has_its_event(state, run_tool, executed, name):
    result, sections, event = EVENTS[name]
    document = executed(**(result or {}))
    if result is None:
        del document["result"]
    payload = sections.get("payload", {})
    document.update({**sections, "payload": {**document["payload"], **payload}})
    assert run_tool(main, [], document).code == 0
    assert lines_of(state)[-1]["event"] == event


def test_a_document_that_has_its_receipt_passes_unchanged(state, run_tool, executed):
    first = run_tool(main, [], executed()).stdout
    before = tree(state)
    assert run_tool(main, [], first.encode()) == (first, "", 0)
    assert tree(state) == before


def test_a_document_with_a_problem_is_receipted_too(state, run_tool, executed):
    document = executed()
    del document["result"]
    document["problem"] = PROBLEM
    done = run_tool(main, ["--exit-code"], document)
    assert done.code == 65
    assert done.document["problem"] == PROBLEM
    assert lines_of(state)[-1]["problem"] == {
        "tool": "ch-gate",
        "kind": "settings",
        "message": "no",
    }


def test_the_open_file_goes_after_the_end_receipt(state, run_tool, executed):
    assert run_tool(main, [*CAPTURE, "--session", "demo"], b"echo hello").code == 0
    opened = state / "open" / f"{RUN}.json"
    assert json.loads(opened.read_text())["pid"] == os.getppid()
    run_tool(main, [], executed())
    assert not opened.exists()


def test_a_full_disk_is_a_problem_and_no_receipt(state, run_tool, executed, full_disk):
    done = run_tool(main, [], executed())
    message = f"cannot append to {state}/ledger.jsonl: No space left on device"
    hint = "free some space on that disk, then try again"
    assert done.code == 0
    assert done.stderr == f"ch-receipt: {message} — {hint}\n"
    assert "receipt" not in done.document
    assert done.document["problem"] == {
        "tool": "ch-receipt",
        "kind": "system",
        "message": message,
        "hint": hint,
        "line": None,
    }
    assert set(tree(state).values()) == {b""}


def test_the_first_cause_stays(run_tool, executed, full_disk):
    document = executed()
    document["problem"] = PROBLEM
    done = run_tool(main, ["--exit-code"], document)
    assert (done.document["problem"], done.code) == (PROBLEM, 65)


def test_a_block_without_a_receipt_says_so(state, run_tool, executed, full_disk):
    done = run_tool(main, ["block", "--exit-code"], executed())
    message = f"cannot append to {state}/ledger.jsonl: No space left on device"
    assert done.stdout == (
        f"```result\n$ echo hello\n[exit 0 · 3.2s]\n[no receipt · {message}"
        " — free some space on that disk, then try again]\n```\n"
    )
    assert done.code == 74
    assert not (state / "runs").exists()


def test_a_file_size_limit_leaves_nothing_half_written(state, spawn, executed):
    """The same by the kernel's own refusal, in a real process."""
    spawn("ch-receipt", stdin=executed())
    before = tree(state)
    document = {**executed(), "run_id": "r-0000000000000002"}
    limit = len(before["ledger.jsonl"]) + 100

    def limited():
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    code = "import signal, sys; signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
    code += "from ch_receipt.cli import main_process; main_process()"
    done = subprocess.run(
        [sys.executable, "-c", code],
        input=json.dumps(document).encode(),
        capture_output=True,
        check=False,
        preexec_fn=limited,
    )
    assert done.returncode == 0
    assert (
        done.stderr.decode()
        == f"ch-receipt: cannot append to {state}/ledger.jsonl: File too large\n"
    )
    assert "receipt" not in json.loads(done.stdout)
    assert tree(state) == before


AS_ORDINARY_USER = """
    import os, sys
    from ch_receipt.cli import main_process
    if os.getuid() == 0:
        os.setgid(65534)
        os.setuid(65534)
    main_process()
"""


def test_a_read_only_state_folder_is_a_problem(state, executed, home):
    """As an ordinary user, whoever runs the tests: root may write everywhere."""
    state.mkdir(parents=True)
    above = [home, *home.parents[:2], *list(state.parents)[:3]]
    for folder in above:
        folder.chmod(0o755)
    state.chmod(0o555)
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(AS_ORDINARY_USER)],
        input=json.dumps(executed()).encode(),
        capture_output=True,
        check=False,
    )
    message = f"cannot open the lock {state}/ledger.lock: Permission denied"
    hint = "check who owns it and its mode"
    assert (done.stderr.decode(), done.returncode) == (f"ch-receipt: {message} — {hint}\n", 0)
    assert json.loads(done.stdout)["problem"] == {
        "tool": "ch-receipt",
        "kind": "system",
        "message": message,
        "hint": hint,
        "line": None,
    }
    assert list(state.iterdir()) == []


SUBCOMMANDS = {
    "append": [],
    "append-by-name": ["append"],
    "block": ["block"],
    "block-without-receipt": ["block", "--no-append"],
    "capture": [*CAPTURE[:2], "r-0000000000000002", *CAPTURE[3:]],
    "config": ["config", "--cwd", "/w", "--note", "trusted it"],
    "resume": ["resume", "--run-id", RUN, "--cwd", "/w", "--note", "goes on"],
    "happened": ["happened", "Undone", "--run-id", RUN, "--cwd", "/w", "--note", "put back"],
    "tail": ["tail"],
    "tail-json": ["tail", "--json"],
    "show": ["show", "--run", RUN],
    "show-json": ["show", "--run", RUN, "--json"],
    "summary": ["summary"],
    "summary-json": ["summary", "--json"],
    "transcript": ["transcript"],
    "verify": ["verify"],
    "verify-json": ["verify", "--json"],
    "recover": ["recover"],
    "help": ["--help"],
    "version": ["--version"],
}


def test_every_subcommand_has_a_row():
    named = {argv[0] for argv in SUBCOMMANDS.values() if argv and not argv[0].startswith("-")}
    assert named == set(cli.SUBCOMMANDS)


@pytest.mark.parametrize("name", SUBCOMMANDS)
def test_a_full_standard_output_is_no_bug(state, run_tool, executed, name):
    run_tool(main, [], executed())
    opened = state / "open" / f"{RUN[:-1]}f.json"
    opened.parent.mkdir()
    opened.write_text("garbage")
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [sys.executable, "-c", "from ch_receipt.cli import main_process; main_process()"]
            + SUBCOMMANDS[name],
            input=json.dumps(executed()).encode(),
            stdout=full,
            stderr=subprocess.PIPE,
            check=False,
        )
    told = "cannot write standard output: No space left on device"
    hint = "free some space on that disk, then try again"
    assert (done.stderr.decode(), done.returncode) == (f"ch-receipt: {told} — {hint}\n", 74)
    assert not (state / "bugs").exists()


def test_whoever_tries_again_gets_the_receipt_that_stands(state, run_tool, executed):
    """The line was written and only its reader did not hear of it."""
    first = run_tool(main, [], executed())
    before = tree(state)
    assert run_tool(main, [], executed()) == first
    block = run_tool(main, ["block"], executed())
    assert block.stdout == "```result\n$ echo hello\n[exit 0 · 3.2s]\n```\n"
    assert {name: tree(state)[name] for name in before} == before


def test_another_end_of_the_same_run_is_written(state, run_tool, executed):
    """Both are true, and the later one knows more."""
    run_tool(main, [], executed())
    run_tool(main, [], executed(exit_code=1))
    run_tool(main, [], {**executed(), "run_id": "r-0000000000000002"})
    assert [line["event"] for line in lines_of(state)] == [
        "LedgerOpened",
        "PostRun",
        "PostRunFailure",
        "PostRun",
    ]


def test_a_receipt_that_a_crash_kept_from_the_head_is_confirmed(state, run_tool, executed):
    run_tool(main, [], {**executed(), "run_id": "r-0000000000000002"})
    head = (state / "ledger.head").read_bytes()
    first = run_tool(main, [], executed())
    after = tree(state)
    (state / "ledger.head").write_bytes(head)
    assert run_tool(main, [], executed()) == first
    assert tree(state) == after


@pytest.fixture
def kept(state):
    """Where the output of the run is kept; its folder is there."""
    path = state / "runs" / RUN / "output.txt"
    path.parent.mkdir(parents=True)
    return path


def test_a_block_is_kept_byte_for_byte(state, run_tool, executed, kept):
    path = kept
    path.write_bytes(b"\x1b[32mhello\x1b[0m\r\n")
    done = run_tool(main, ["block"], executed("echo hello", path, path.read_bytes()))
    assert done == ("```result\n$ echo hello\nhello\n[exit 0 · 3.2s]\n```\n", "", 0)
    assert (state / "runs" / RUN / "result.txt").read_text() == done.stdout
    assert (state / "runs" / RUN / "result.txt").stat().st_mode & 0o777 == 0o600
    assert lines_of(state)[-1]["event"] == "PostRun"
    assert path.read_bytes() == b"\x1b[32mhello\x1b[0m\r\n"


def test_no_append_writes_nothing(state, run_tool, executed):
    done = run_tool(main, ["block", "--no-append"], executed())
    assert (done.code, done.stderr) == (0, "")
    assert not state.exists()


@pytest.mark.parametrize(
    "case",
    [
        (["--budget", "1000"], None, 1000),
        (["--budget", "copilot"], None, 8000),
        (["--budget=m365-copilot"], None, 100000),
        ([], {"result_budget_chars": 2000}, 2000),
        ([], {"result_budget_chars": "copilot"}, 8000),
        ([], None, 100000),
        ([], "{", 100000),
        (["--budget", "1000"], {"result_budget_chars": 2000}, 1000),
    ],
)
def test_the_budget_comes_from_the_flag_or_the_settings(
    run_tool, executed, kept, user_settings, case
):
    flags, settings, shown = case
    path = kept
    path.write_bytes(b"x" * 150_000)
    if settings is not None:
        user_settings(settings)
    argv = ["block", "--no-append", *flags]
    done = run_tool(main, argv, executed("true", path, path.read_bytes()))
    assert done.code == 0
    assert f"[output elided: {shown} of 150000 chars shown" in done.stdout


def test_a_change_of_settings_has_a_line_of_its_own(state, run_tool):
    done = run_tool(main, ["config", "--cwd", "/w/\u202e", "--note", "trusted it"])
    *_, line = (state / "ledger.jsonl").read_bytes().splitlines()
    told = json.loads(line)
    assert (done.stderr, done.code) == ("", 0)
    assert done.document == {"seq": 2, "prev": told["prev"], "sha256": hexdigest(line)}
    said = {key: value for key, value in told.items() if value is not None}
    assert (said.pop("at"), said) == (
        told["at"],
        {
            "format": "clip-harness/receipt@1",
            "seq": 2,
            "prev": told["prev"],
            "event": "ConfigChange",
            "cwd": "/w/\u202e",
            "note": "trusted it",
        },
    )
    listed = run_tool(main, ["tail", "1"]).stdout
    assert listed == f"     2  {told['at']}  ConfigChange     -  -  /w/\\u202e: trusted it\n"
    assert run_tool(main, ["verify"]).stdout == "2 lines, the chain is whole\n"
    # it is the end of no run
    assert run_tool(main, ["summary", "--json"]).document["runs"] == 0


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["--cwd", "/w"], "--note is missing"),
        (["--note", "x"], "--cwd is missing"),
        (["--cwd", "w", "--note", "x"], "--cwd: must be an absolute path, got 'w'"),
        (["--cwd", "/w", "--note", "x" * 601], "config: note: this text is too long"),
    ],
)
def test_a_change_that_is_told_wrongly_is_not_recorded(state, run_tool, argv, message):
    done = run_tool(main, ["config", *argv])
    assert (done.stdout, done.code, state.exists()) == ("", 64, False)
    assert message in done.stderr


def test_capture_records_before_anything_else(state, run_tool):
    argv = [*CAPTURE, "--session", "demo", "--owner-pid", str(os.getpid())]
    done = run_tool(main, [*argv, "--at", "2026-11-30T12:00:00.000+01:00"], b"echo \xff hello")
    assert (done.stderr, done.code) == ("", 0)
    assert done.document == {
        "run_id": RUN,
        "sha256": hexdigest(b"echo \xff hello"),
        "bytes": 12,
        "at": "2026-11-30T12:00:00.000+01:00",
    }
    payload = state / "runs" / RUN / "payload.txt"
    assert (payload.read_bytes(), payload.stat().st_mode & 0o777) == (b"echo \xff hello", 0o600)
    opened = json.loads((state / "open" / f"{RUN}.json").read_text())
    documents.check(opened, "store/open-run.schema.json", "open run")
    assert (opened["pid"], opened["session"], opened["state"]) == (os.getpid(), "demo", "running")
    *_, line = lines_of(state)
    assert (line["event"], line["run_id"], line["session"]) == ("PayloadCaptured", RUN, "demo")
    assert line["payload"]["sha256"] == done.document["sha256"]
    assert b"hello" not in (state / "ledger.jsonl").read_bytes()


def test_capture_on_a_full_disk_leaves_nothing(state, run_tool, full_disk):
    done = run_tool(main, CAPTURE, b"echo hello")
    assert (done.stdout, done.code) == ("", 74)
    assert "No space left on device" in done.stderr
    assert tree(state) == {}


def test_a_run_is_captured_once(state, run_tool):
    run_tool(main, CAPTURE, b"one")
    before = tree(state)
    done = run_tool(main, CAPTURE, b"two")
    assert done == (
        "",
        f"ch-receipt: --run-id: {RUN} was captured before — mint a new run id\n",
        64,
    )
    assert tree(state) == before


def test_of_many_captures_of_one_id_one_succeeds(state, spawn):
    with ThreadPoolExecutor(8) as pool:
        done = list(pool.map(lambda n: spawn("ch-receipt", *CAPTURE, stdin=b"%d" % n), range(8)))
    (won,) = [n for n, one in enumerate(done) if one.code == 0]
    told = f"ch-receipt: --run-id: {RUN} was captured before — mint a new run id\n"
    assert {(one.stdout, one.stderr, one.code) for n, one in enumerate(done) if n != won} == {
        ("", told, 64)
    }
    assert (state / "runs" / RUN / "payload.txt").read_bytes() == b"%d" % won
    assert [line["event"] for line in lines_of(state)] == ["LedgerOpened", "PayloadCaptured"]


@pytest.mark.parametrize("name", ["ledger.jsonl", "ledger.lock"])
def test_capture_leaves_nothing_where_the_ledger_is_a_link(state, run_tool, name):
    state.mkdir(parents=True)
    (state / name).symlink_to(state / "elsewhere")
    done = run_tool(main, CAPTURE, b"hi")
    assert (done.stdout, done.code) == ("", 74)
    assert "a symbolic link stands there" in done.stderr
    assert tree(state) == {}


@pytest.mark.parametrize(
    ("argv", "told"),
    [
        (["capture"], "--run-id is missing — see --help"),
        ([*CAPTURE[:-2]], "--cwd is missing — see --help"),
        ([*CAPTURE, "--owner-pid", "me"], "--owner-pid: must be a process id, got 'me'"),
        ([*CAPTURE, "--owner-pid", "999999999"], "--owner-pid: there is no process 999999999"),
        ([*CAPTURE, "--session", "a/b"], "capture: session: 'a/b' does not match"),
        ([*CAPTURE, "--at", "noon"], "capture: at: 'noon' does not match"),
        (["capture", *CAPTURE[1:4], "by hand", *CAPTURE[5:]], "capture: trigger: 'by hand' is not"),
        (["bolck"], "unknown subcommand 'bolck' — see --help"),
        (["tail", "x"], "tail: must be a number of lines, got 'x'"),
        (["tail", "1", "2"], "unexpected word '2' — see ch-receipt --help"),
        (["show"], "--run is missing — see --help"),
        (["verify", "--all"], "unknown option --all — see --help for the options"),
        (["block", "--budget", "5"], "--budget: got '5' — give 1000 to 10000000, m365-copilot"),
        (["append", "now"], "unexpected word 'now' — see ch-receipt --help"),
    ],
)
def test_a_wrong_call_is_explained_and_writes_nothing(state, run_tool, argv, told):
    done = run_tool(main, argv, b"text")
    assert (done.stdout, done.code) == ("", 64)
    assert done.stderr.startswith(f"ch-receipt: {told}")
    assert not state.exists()


@pytest.mark.parametrize("stdin", [b"", b"{}", b'{"format":"clip-harness/run@1"}'])
@pytest.mark.parametrize("argv", [[], ["block"]])
def test_a_bad_document_is_refused(state, run_tool, argv, stdin):
    done = run_tool(main, argv, stdin)
    assert (done.stdout, done.code) == ("", 65)
    assert not state.exists()


def test_tail_shows_the_last_lines_and_those_of_an_earlier_version(state, run_tool, executed):
    state.mkdir(parents=True)
    old = {
        "ts": "2026-11-29T17:09:54+0000",
        "run_id": "r-12345678",
        "event": "PostRun",
        "session_id": "sess-20261129",
        "binding_id": "old",
        "data": {},
    }
    (state / "receipts.jsonl").write_text(json.dumps(old) + "\n")
    run_tool(main, [*CAPTURE, "--session", "demo", "--at", "2026-11-30T12:00:00.000+00:00"], b"hi")
    run_tool(main, [], executed())
    done = run_tool(main, ["tail"])
    assert re.sub(AT, "TIME", done.stdout).splitlines() == [
        "     -  2026-11-29T17:09:54+0000  PostRun          r-12345678  old",
        "     1  TIME  LedgerOpened     -  -",
        f"     2  TIME  PayloadCaptured  {RUN}  demo  2 bytes",
        f"     3  TIME  PostRun          {RUN}  -  exit 0 · 3.2s",
    ]
    found = [json.loads(row) for row in run_tool(main, ["tail", "9", "--json"]).stdout.splitlines()]
    assert found == [old, *lines_of(state)]
    assert len(run_tool(main, ["tail", "2"]).stdout.splitlines()) == 2
    assert run_tool(main, ["tail", "0"]).stdout == ""


def test_show_gives_every_line_of_one_run(state, run_tool, executed):
    run_tool(main, CAPTURE, b"hi")
    run_tool(main, ["capture", "--run-id", "r-0000000000000002", *CAPTURE[3:]], b"other")
    run_tool(main, [], executed())
    done = run_tool(main, ["show", "--run", RUN, "--json"])
    events = [json.loads(row)["event"] for row in done.stdout.splitlines()]
    assert (events, done.code) == (["PayloadCaptured", "PostRun"], 0)


@pytest.mark.parametrize("flags", [[], ["--json"]])
def test_show_of_a_run_that_is_not_there(run_tool, executed, flags):
    run_tool(main, [], executed())
    told = "ch-receipt: the ledger has no run nosuch — ch-receipt tail lists some\n"
    assert run_tool(main, ["show", "--run", "nosuch", *flags]) == ("", told, 1)


@pytest.mark.parametrize("path", ["/etc/passwd", "/dev/zero", "/dev/stdin"])
def test_a_block_shows_no_file_but_the_output_of_its_run(run_tool, executed, path):
    document = executed("true", path, b"x" * 500)
    done = run_tool(main, ["block", "--no-append"], document)
    told = f"[output not shown: {path} is not the output of this run]"
    assert done == (f"```result\n$ true\n{told}\n[exit 0 · 3.2s]\n```\n", "", 0)


def test_a_duration_that_is_no_float(run_tool, executed):
    done = run_tool(main, ["block", "--no-append"], executed("true", duration_ms=10**400))
    assert done == (f"```result\n$ true\n[exit 0 · 1{'0' * 397}.0s]\n```\n", "", 0)


@pytest.mark.parametrize("make", [os.mkfifo, lambda path: os.symlink("/dev/zero", path)])
@pytest.mark.parametrize(
    "argv",
    [
        ["append"],
        ["block"],
        ["tail"],
        ["show", "--run", RUN],
        ["summary"],
        ["transcript"],
        ["verify"],
    ],
)
@pytest.mark.parametrize("name", ["ledger.jsonl", "ledger.head", "receipts.jsonl"])
def test_what_is_no_file_in_the_state_folder_ends_at_once(state, spawn, executed, name, argv, make):
    state.mkdir(parents=True)
    make(state / name)
    done = spawn("ch-receipt", *argv, stdin=executed(), timeout=20)
    reads_it = (
        argv[0]
        in {
            "ledger.jsonl": ("append", "block", "tail", "show", "summary", "transcript", "verify"),
            "ledger.head": ("append", "block", "verify"),
            "receipts.jsonl": ("append", "block", "tail", "show", "summary"),
        }[name]
    )
    if reads_it:
        assert done.stderr.startswith("ch-receipt: cannot "), done
        assert f"{state / name}: " in done.stderr
        # a pipe step that wrote its document has done its work
        assert done.code == (0 if argv[0] in ("append", "block") else 74)
    else:
        assert done.code in (0, 1)


def test_a_pipe_in_place_of_an_open_run_is_left_alone(state, spawn):
    (state / "open").mkdir(parents=True)
    path = state / "open" / f"{RUN}.json"
    os.mkfifo(path)
    told = f"{RUN}: left alone, cannot read {path}: it is no regular file\n"
    assert spawn("ch-receipt", "recover", timeout=20) == (told, "", 0)


@pytest.mark.parametrize("name", ["payload.txt", "result.txt"])
def test_a_pipe_in_place_of_what_a_run_kept(state, spawn, run_tool, executed, name):
    run_tool(main, ["append"], executed())
    folder = state / "runs" / RUN
    folder.mkdir(parents=True)
    os.mkfifo(folder / name)
    done = spawn("ch-receipt", "transcript", timeout=20)
    told = f"ch-receipt: cannot read {folder / name}: it is no regular file\n"
    assert (done.stderr, done.code) == (told, 74)


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir, lambda path: os.symlink("/dev/full", path)])
def test_a_transcript_takes_the_place_of_nothing_but_a_file(tmp_path, run_tool, executed, make):
    run_tool(main, [], executed())
    out = tmp_path / "out"
    make(out)
    before = out.lstat()
    hint = "name a file, or leave --out away and redirect the output"
    told = f"ch-receipt: cannot write {out}: it is no regular file — {hint}\n"
    assert run_tool(main, ["transcript", "--out", str(out)]) == ("", told, 74)
    assert out.lstat() == before


@pytest.mark.parametrize("where", ["/etc/passwd", "/dev/null"])
@pytest.mark.parametrize(
    "argv",
    [
        ["append"],
        ["tail"],
        ["show", "--run", RUN],
        ["summary"],
        ["transcript"],
        ["verify"],
        ["recover"],
        CAPTURE,
    ],
)
def test_a_state_folder_that_is_none(run_tool, executed, user_settings, argv, where):
    user_settings({"state_dir": where})
    done = run_tool(main, argv, executed())
    assert done.stderr.startswith("ch-receipt: cannot ")
    assert where in done.stderr
    assert "Not a directory" in done.stderr
    assert done.code == (0 if argv == ["append"] else 74)


def test_summary_counts(state, run_tool, executed):
    run_tool(main, CAPTURE, b"hi")
    run_tool(main, [], executed())
    denied = executed()
    del denied["result"]
    denied["verdict"] = DENIED
    run_tool(main, [], denied)
    done = run_tool(main, ["summary", "--json"])
    found = done.document
    assert re.fullmatch(AT, found.pop("first_at"))
    assert re.fullmatch(AT, found.pop("last_at"))
    assert found == {
        "lines": 4,
        "runs": 2,
        "events": {"LedgerOpened": 1, "PayloadCaptured": 1, "PostRun": 1, "PreRun": 1},
        "decisions": {"allow": 1, "deny": 1},
        "rules": {"some-rule": 1},
        "unreadable": 0,
        "earlier": None,
    }
    text = run_tool(main, ["summary"]).stdout
    assert text.startswith("4 lines, 2 ended runs\nfrom ")
    assert "rules:\n        1  some-rule\n" in text


def test_transcript_tells_what_was_copied_and_pasted_back(state, run_tool, executed, tmp_path):
    run_tool(main, CAPTURE, b"echo hello\n```\x1b[2K")
    run_tool(main, ["block"], executed())
    document = executed()
    document["run_id"] = "r-0000000000000002"
    run_tool(main, [], document)
    done = run_tool(main, ["transcript"])
    text = re.sub(AT, "TIME", done.stdout).replace(document["cwd"], "/w")
    assert text == (
        "# Transcript\n"
        f"\n## TIME · {RUN}\n\n"
        "- event: PostRun\n- session: none\n- folder: /w\n- status: exit 0 · 3.2s\n"
        "\nCopied:\n\n````text\necho hello\n```\\x1b[2K\n````\n\nPasted back:\n\n"
        "```result\n$ echo hello\n[exit 0 · 3.2s]\n```\n"
        "\n## TIME · r-0000000000000002\n\n"
        "- event: PostRun\n- session: none\n- folder: /w\n- status: exit 0 · 3.2s\n"
        "\nCopied:\n\n(not kept)\n\nPasted back:\n\n(not kept)\n"
    )
    out = tmp_path / "transcript.md"
    assert run_tool(main, ["transcript", "--out", str(out)]) == ("", "", 0)
    assert out.read_text() == done.stdout
    one = run_tool(main, ["transcript", "--run", RUN]).stdout
    assert (RUN in one, "r-0000000000000002" in one) == (True, False)


def test_transcript_tells_what_a_pipe_by_hand_executed(state, run_tool, executed):
    run_tool(main, ["block"], executed())
    (state / "runs" / RUN / "command.txt").write_text("echo hello")
    text = run_tool(main, ["transcript"]).stdout
    assert "\nExecuted:\n\n```text\necho hello\n```\n\nPasted back:\n\n```result\n" in text
    assert "Copied" not in text


EDITED = {
    "no-fields": {"format": "clip-harness/receipt@1", "seq": 3, "prev": "", "event": "PostRun"},
    "path-as-run-id": {"run_id": "../../../etc"},
    "number-as-run-id": {"run_id": 5},
    "number-as-time": {"at": 5},
    "no-time": {"at": None},
    "half-a-surrogate-pair": {"cwd": "\udc80\ud800"},
    "event-of-half-a-pair": {"event": "\ud800"},
    "terminal-sequence": {"event": "\x1b[2K"},
    "text-as-result": {"result": "gone"},
    "other-damage": {"event": "LedgerBroken", "damage": {"kind": "\ud800"}},
}


@pytest.mark.parametrize("name", EDITED)
@pytest.mark.parametrize(
    "argv",
    [
        ["tail"],
        ["tail", "--json"],
        ["show", "--run", RUN],
        ["summary"],
        ["summary", "--json"],
        ["transcript"],
        ["verify"],
        ["verify", "--json"],
        ["recover"],
    ],
    ids=" ".join,
)
def test_an_edited_line_breaks_no_reader(state, run_tool, executed, argv, name):
    run_tool(main, CAPTURE, b"hi")
    run_tool(main, [], executed())
    path = state / "ledger.jsonl"
    *lines, last = path.read_bytes().splitlines()
    fields = EDITED[name]
    edited = fields if name == "no-fields" else {**json.loads(last), **fields}
    path.write_bytes(b"\n".join([*lines, json.dumps(edited).encode(), b""]))
    done = run_tool(main, argv)
    assert (done.stderr, done.code) == ("", int(argv[0] == "verify"))
    assert "\x1b" not in done.stdout
    assert "None" not in done.stdout


def test_an_edited_line_is_told_as_that(state, run_tool, executed):
    run_tool(main, [], executed())
    path = state / "ledger.jsonl"
    path.write_bytes(path.read_bytes().replace(RUN.encode(), b"../../escape"))
    assert run_tool(main, ["tail", "1"]).stdout == "     2  was edited: see ch-receipt verify\n"
    assert run_tool(main, ["transcript"]).stdout == (
        "# Transcript\n\n## 2 was edited: see ch-receipt verify\n"
    )


def test_summary_takes_no_time_from_a_line_that_has_none(state, run_tool, executed):
    run_tool(main, [], executed())
    path = state / "ledger.jsonl"
    first, last = (json.loads(line) for line in path.read_bytes().splitlines())
    last["at"] = None
    path.write_text(json.dumps(first) + "\n" + json.dumps(last) + "\n")
    found = run_tool(main, ["summary", "--json"]).document
    assert (found["first_at"], found["last_at"]) == (first["at"], first["at"])


def test_verify_answers_by_its_exit_code(state, run_tool, executed):
    run_tool(main, [], executed())
    assert run_tool(main, ["verify"]) == ("2 lines, the chain is whole\n", "", 0)
    path = state / "ledger.jsonl"
    path.write_bytes(path.read_bytes().replace(b'"explicit"', b'"watch"'))
    done = run_tool(main, ["verify"])
    assert done == (
        "line 2 was edited: the head has another hash of it\n2 lines, the ledger is not whole\n",
        "",
        1,
    )
    assert run_tool(main, ["verify", "--json"]).document["findings"][0]["line"] == 2


def test_a_long_path_and_message_keep_the_line_small(state, run_tool, executed):
    document = executed(shell="\x05" * 5000, backend="\x06" * 5000)
    document["cwd"] = "/" + "\x01" * 4000
    document["project"] = document["cwd"]
    message = "\x02" * 60_000
    document["problem"] = {**PROBLEM, "message": message, "tool": "\x03" * 5000}
    document["verdict"] = verdict("deny", part("deny", "\x04" * 5000, "No."))
    document["payload"]["repairs"] = ["bom"] * 5000
    assert run_tool(main, [], document).code == 0
    line = (state / "ledger.jsonl").read_bytes().splitlines()[-1]
    assert len(line) < 16 * 1024
    found = json.loads(line)
    assert found["cwd"].endswith(f"… (sha256 {hexdigest(document['cwd'].encode())})")
    assert found["payload"]["repairs"] == ["bom"]


def test_help_and_version(run_tool):
    for argv in (["--help"], ["block", "--help"], ["capture", "-h"]):
        assert run_tool(main, argv) == (USAGE, "", 0)
    assert run_tool(main, ["--version"]).stdout.startswith("ch-receipt 0.")


def test_the_real_command_in_a_pipe(state, spawn, executed):
    first = spawn("ch-receipt", stdin=executed())
    assert (first.stderr, first.code) == ("", 0)
    block = spawn("ch-receipt", "block", stdin=first.stdout)
    assert block == ("```result\n$ echo hello\n[exit 0 · 3.2s]\n```\n", "", 0)
    assert len(lines_of(state)) == 2


def test_the_hot_path_loads_no_heavy_module():
    heavy = [
        "argparse",
        "dataclasses",
        "typing",
        "subprocess",
        "pathlib",
        "tempfile",
        "jsonschema",
        "rich",
        "asyncio",
        "sqlite3",
        "urllib",
        "importlib.metadata",
        "shutil",
        "logging",
        "inspect",
        "traceback",
        "hashlib",
        "datetime",
        "string",
        "random",
        "uuid",
    ]
    code = (
        "import sys, ch_receipt, ch_receipt.capture, ch_receipt.elide, ch_receipt.replay\n"
        f"print([name for name in {heavy} if name in sys.modules])"
    )
    # -S -s: what site loads for an editable install is not ours
    paths = [path for path in sys.path if path]
    done = subprocess.run(
        [sys.executable, "-S", "-s", "-c", f"import sys; sys.path[:0] = {paths!r}\n{code}"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "[]\n"


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        (b"not json \x1b[2K", "     ?  not a ledger line: b'not json \\x1b[2K'"),
        (b'{"format":"clip-harness/receipt@1","seq":2,"prev":"","event":"PostRun"}', None),
        (b'{"event":"PostRun","ts":"t","run_id":"r","session_id":"s"}', None),
    ],
)
def test_tail_tells_an_edited_line_as_what_it_is(state, run_tool, raw, shown):
    state.mkdir(parents=True)
    (state / "ledger.jsonl").write_bytes(raw + b"\n")
    done = run_tool(main, ["tail"])
    assert (done.stderr, done.code) == ("", 0)
    assert len(done.stdout.splitlines()) == 1
    assert shown is None or done.stdout == shown + "\n"


def reviewed(executed, tmp_path, *, decided):
    """A run document with a candidate that waits, or was accepted and applied."""
    path = tmp_path / "output.txt"
    path.write_bytes(b"")
    document = executed("make", path, b"", exit_code=0, exit_desc="exit 0")
    del document["result"]
    document["payload"].update(
        kind="changes",
        command=None,
        changes=[{"path": "n.txt", "kind": "file", "op": "auto", "content": "x"}],
    )
    document["verdict"]["decision"] = "ask"
    document["candidates"] = [
        {
            "candidate_id": f"{RUN}-files",
            "kind": "changes",
            "status": "resolved" if decided else "pending",
            "dir": "/s",
            "entries": [],
            "command": None,
            "reason": None,
            "writes": None,
            "protected": [],
            "settings_digest": "0" * 64,
        }
    ]
    document["decisions"] = []
    if decided:
        document["decisions"] = [
            {
                "candidate_id": f"{RUN}-files",
                "decision": "accept",
                "reason": None,
                "accepted_files": None,
                "subject_sha256": "a" * 64,
                "by": "terminal",
                "at": "2026-11-30T12:00:00.000+00:00",
            }
        ]
        document["applied"] = {
            "entries": [{"path": "n.txt", "outcome": "NEW", "sha256": "b" * 64}],
            "rolled_back": False,
        }
    return document


def test_a_run_that_waited_and_went_on_is_counted_once(state, run_tool, executed, tmp_path):
    run_tool(main, ["append"], reviewed(executed, tmp_path, decided=False))
    found = json.loads(run_tool(main, ["summary", "--json"]).stdout)
    assert (found["runs"], found["decisions"]) == (0, {"ask": 1})
    resume = ["resume", "--run-id", RUN, "--cwd", "/w", "--note", "goes on"]
    assert run_tool(main, resume).code == 0
    assert (state / "open" / f"{RUN}.json").exists()
    again = run_tool(main, resume)
    assert (again.stdout, again.code) == ("", 75)
    run_tool(main, ["append"], reviewed(executed, tmp_path, decided=True))
    assert not (state / "open" / f"{RUN}.json").exists()
    found = json.loads(run_tool(main, ["summary", "--json"]).stdout)
    assert (found["runs"], found["decisions"]) == (1, {"ask": 1})
    assert [line["event"] for line in lines_of(state)[1:]] == [
        "ReviewPending",
        "RunResumed",
        "PostRun",
    ]
    told = run_tool(main, ["show", "--run", RUN]).stdout.splitlines()
    assert told[0].endswith(f"waits for a review · {RUN}-files")
    assert told[2].endswith("accept · 1 new")


def test_a_resumed_run_whose_process_died_ends_and_says_what_became_of_its_files(
    state, run_tool, executed, tmp_path, project
):
    """The earlier line that it waits is no end of it."""
    run_tool(main, ["append"], reviewed(executed, tmp_path, decided=False))
    with subprocess.Popen(["sleep", "60"]) as process:
        argv = ["resume", "--run-id", RUN, "--cwd", "/w", "--note", "on"]
        assert run_tool(main, [*argv, "--owner-pid", str(process.pid)]).code == 0
        assert run_tool(main, ["recover"]).stdout == ""
        process.kill()
    folder = state / "candidates" / f"{RUN}-files"
    folder.mkdir(parents=True)
    record = {
        "format": "clip-harness/apply@1",
        "candidate_id": f"{RUN}-files",
        "run_id": RUN,
        "act": "apply",
        "state": "done",
        "at": "2026-11-30T12:00:00.000+00:00",
        "pid": 4711,
        "entries": [],
        "made": [],
        "emptied": [],
        "note": None,
    }
    (folder / "applied.json").write_text(json.dumps(record))
    assert "indeterminate" in run_tool(main, ["recover"]).stdout
    assert lines_of(state)[-1]["note"] == (
        "the process that answered for it died; its file changes were applied;"
        " nobody can tell whether its command was started"
    )
    (folder / "applied.json").write_text("{")
    assert run_tool(main, ["recover"]).stdout == ""


@pytest.mark.parametrize("words", [[], ["Applied"], ["PostRun"]])
def test_only_what_happens_later_is_recorded_by_name(run_tool, state, words):
    done = run_tool(main, ["happened", *words, "--run-id", RUN, "--cwd", "/w", "--note", "x"])
    assert (done.stdout, done.code) == ("", 64)
    assert not state.exists()


def test_the_same_end_after_a_run_went_on_is_written_again(state, run_tool, executed, tmp_path):
    """Else the run that went on would have no end."""
    document = reviewed(executed, tmp_path, decided=False)
    run_tool(main, ["append"], document)
    run_tool(main, ["append"], document)
    assert [line["event"] for line in lines_of(state)[1:]] == ["ReviewPending"]
    assert run_tool(main, ["resume", "--run-id", RUN, "--cwd", "/w", "--note", "on"]).code == 0
    run_tool(main, ["append"], document)
    assert [line["event"] for line in lines_of(state)[1:]] == [
        "ReviewPending",
        "RunResumed",
        "ReviewPending",
    ]
