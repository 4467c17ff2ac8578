"""The command: flags, streams, exit codes, and the document around the payload."""

import hashlib
import json
import os
import subprocess

import pytest

from ch_contract import documents
from ch_parse import main

AT = "2026-11-30T12:00:00.000+00:00"
FIXED = ["--run-id", "r-0000000000000001", "--at", AT]


def test_bare_command_whole(run_tool, project, run_document):
    """A bare command gives the whole document that every later tool reads."""
    done = run_tool(main, FIXED, "echo hello")
    assert (done.stderr, done.code) == ("", 0)
    assert done.document == run_document("echo hello")
    assert done.stdout.endswith("}\n")
    assert done.stdout.count("\n") == 1


def test_run_id_and_time_are_minted(run_tool, project):
    """Without flags the command mints an id and a time; no two runs share an id."""
    first, second = (run_tool(main, [], "ls").document for _ in range(2))
    assert first["run_id"] != second["run_id"]
    documents.check(first, "run.schema.json#/$defs/parsed", "document")


def test_captured_is_of_the_raw_bytes(run_tool, project):
    """Size and hash are of the bytes that came, before any mend."""
    raw = "\ufeffsession: s1\r\nls\r\n".encode()
    document = run_tool(main, FIXED, raw).document
    assert document["captured"] == {
        "at": AT,
        "sha256": hashlib.sha256(raw).hexdigest(),
        "bytes": len(raw),
    }
    assert document["payload"]["repairs"] == ["bom", "crlf"]


def test_malformed_is_data(run_tool, project):
    """A malformed text gives a document with a problem, one line on stderr, and exit code 0."""
    done = run_tool(main, FIXED, "timeout: soon\nls")
    assert done.code == 0
    assert done.document["payload"]["kind"] == "malformed"
    assert done.document["payload"]["command"] is None
    assert done.document["problem"] == {
        "tool": "ch-parse",
        "kind": "malformed",
        "message": "timeout: must be a whole number of seconds, got 'soon'",
        "hint": "write it like `timeout: 300`",
        "line": 1,
    }
    assert done.stderr == (
        "ch-parse: timeout: must be a whole number of seconds, got 'soon' (line 1) "
        "— write it like `timeout: 300`\n"
    )


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (b"ls", 0),
        (b"session: s1\naction: goal-set\nship\n", 0),
        (b"```cancel```", 0),
        (b"timeout: soon\nls", 65),
        (b"", 65),
        (b"\xff\xfe", 65),
        (b"```python\nx\n```\n", 65),
        (b"clip-harness: ignore\n", 65),
    ],
)
def test_exit_code_on_request(run_tool, project, text, code):
    """--exit-code says what the document says; without it a written document is 0."""
    assert run_tool(main, ["--exit-code"], text).code == code
    assert run_tool(main, [], text).code == 0


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (b"", "the text is empty"),
        (b"\n \n", "the text is empty"),
        (b"ls \xff", "the text is not UTF-8 at byte 3"),
        (b"l\x00s\x00", None),
        (b"a" * 32_001, "the text has 32,001 characters; at most 32,000 are taken"),
        (b"a" * 32_000, None),
        (("\U0001f600" * 32_000).encode(), None),
        (("\U0001f600" * 32_001).encode(), "the text has 128,004 bytes; at most 32,000 characters are taken"),
        (b"a" * 9_000_000, "the text has 9,000,000 bytes; at most 32,000 characters are taken"),
    ],
)  # fmt: skip
def test_what_is_no_text(run_tool, project, raw, message):
    """Empty, oversized and non-text input is refused as data."""
    document = run_tool(main, FIXED, raw).document
    if message is None:
        assert "problem" not in document
    else:
        assert document["problem"]["kind"] == "malformed"
        assert document["problem"]["message"] == message
        assert document["payload"]["kind"] == "malformed"
    assert document["captured"]["bytes"] == len(raw)
    assert document["captured"]["sha256"] == hashlib.sha256(raw).hexdigest()


def test_working_folder(run_tool, project, home):
    """`cwd:` is seen from --cwd, `~` is the home folder, and dots go by the text alone."""

    def cwd(text, *flags):
        return run_tool(main, [*FIXED, *flags], text).document["cwd"]

    here = str(project)
    assert cwd("ls") == here
    assert cwd("cwd: api\nls") == f"{here}/api"
    assert cwd("cwd: ../x/./y\nls") == f"{os.path.dirname(here)}/x/y"
    assert cwd("cwd: ~/work\nls") == f"{home}/work"
    assert cwd("cwd: ~\nls") == str(home)
    assert cwd("cwd: /srv//a/\nls") == "/srv/a"
    assert cwd("cwd: //srv\nls") == "/srv"
    assert cwd("ls", "--cwd", "/srv/a") == "/srv/a"
    assert cwd("cwd: b\nls", "--cwd", "/srv/a") == "/srv/a/b"
    assert cwd("ls", "--cwd", "sub") == f"{here}/sub"
    assert cwd("cwd: api\ntimeout: soon\nls") == here


def test_project_is_that_of_the_effective_folder(run_tool, project, home):
    """The project is the work tree around the folder the payload works in; a home is none."""
    (project / ".git").mkdir()
    (project / "api").mkdir()

    def root(text):
        return run_tool(main, FIXED, text).document["project"]

    assert root("ls") == str(project)
    assert root("cwd: api\nls") == str(project)
    assert root("cwd: ~\nls") is None
    assert root("cwd: /\nls") is None


def test_no_folder_to_work_in(run_tool, project):
    """A present folder that is gone is a system problem, unless another one is given."""
    os.rmdir(project)
    done = run_tool(main, FIXED, "ls")
    assert (done.stdout, done.code) == ("", 74)
    assert "the present folder" in done.stderr
    assert run_tool(main, [*FIXED, "--cwd", "/srv/a"], "ls").document["cwd"] == "/srv/a"
    os.mkdir(project)


@pytest.mark.parametrize(
    "text",
    [
        "npm test\n",
        "hunter2",
        "",
        "$ ls\na.txt\n",
        "    ```\n",
        "`npm test`",
        "a" * 40_000,
        "```python\nx\n```\n",
        "clip-harness: ignore\n```shell\nls\n```\n",
        b"\xff\xfe\x00",
        "```result\n$ ls\n```\n",
    ],
)
def test_watch_ignores_what_is_not_meant_for_us(run_tool, project, text):
    """Under watch a text without fence and header is nobody's business, broken or not."""
    done = run_tool(main, [*FIXED, "--trigger", "watch"], text)
    assert (done.stderr, done.code) == ("", 0)
    payload = done.document["payload"]
    assert (payload["kind"], payload["form"], payload["command"]) == ("ignored", None, None)
    assert len(payload["notes"]) == 1
    assert "problem" not in done.document


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("```shell\nls\n```\n", "command"),
        ("session: s1\nls\n", "command"),
        ("path: a\nop: delete\n", "changes"),
        ("```cancel```", "control"),
        ("```shell\nls\n", "malformed"),
        ("timeout: soon\nls\n", "malformed"),
        ("```shell\n" + "a" * 40_000 + "\n```\n", "malformed"),
    ],
)
def test_watch_takes_what_is_meant_for_us(run_tool, project, text, kind):
    """Under watch a block is read as ever, and a broken block is told."""
    document = run_tool(main, [*FIXED, "--trigger", "watch"], text).document
    assert (document["trigger"], document["payload"]["kind"]) == ("watch", kind)
    assert ("problem" in document) == (kind == "malformed")


def test_bare_flag(run_tool, project):
    """--bare takes the text as the command it is, header, fence and prompt or not."""
    for text in (
        "session: s1\nls",
        "```shell\nls\n```",
        "$ ls",
        "clip-harness: ignore",
        "ls\r\npwd",
    ):
        payload = run_tool(main, [*FIXED, "--bare", "--session", "s9"], text).document["payload"]
        assert (payload["form"], payload["command"]) == ("bare", text)
        assert payload["metadata"]["session"] == "s9"
        assert payload["repairs"] == []
    assert run_tool(main, [*FIXED, "--bare"], " \n").document["problem"]["message"] == (
        "the command is empty"
    )
    watched = run_tool(main, [*FIXED, "--bare", "--trigger", "watch"], "ls").document
    assert watched["payload"]["kind"] == "ignored"


def test_session_flag(run_tool, project):
    """--session binds an unbound text; a text of another session is refused, readable as it is."""

    def parsed(text):
        return run_tool(main, [*FIXED, "--session", "s1"], text).document

    assert parsed("ls")["payload"]["metadata"]["session"] == "s1"
    assert parsed("action: goal-set\nship")["payload"]["kind"] == "goal"
    assert "problem" not in parsed("session: s1\nls")
    assert "problem" not in parsed("```rerun id=s1```")
    for text, kind in (("session: s2\nls", "command"), ("```rerun id=s2```", "control")):
        document = parsed(text)
        assert document["payload"]["kind"] == kind
        assert document["problem"] == {
            "tool": "ch-parse",
            "kind": "refused",
            "message": "the text names the session s2, and this run is bound to s1",
            "hint": "start it without --session, or copy the block of that session",
            "line": None,
        }
    assert run_tool(main, ["--session", "s1", "--exit-code"], "session: s2\nls").code == 1


@pytest.mark.parametrize(
    "argv",
    [
        ["--trigger", "often"],
        ["--session", "../x"],
        ["--session", ""],
        ["--run-id", "1"],
        ["--at", "yesterday"],
        ["--cwd", ""],
        ["--cwd"],
        ["--nope"],
        ["--bare=yes"],
        ["word"],
        ["--at", AT, "--at", AT],
    ],
)
def test_called_wrongly(run_tool, project, argv):
    """A bad call writes no document, says one line, and exits 64."""
    done = run_tool(main, argv, "ls")
    assert (done.stdout, done.code) == ("", 64)
    assert done.stderr.startswith("ch-parse: ")
    assert done.stderr.count("\n") == 1


def test_hook_trigger(run_tool, project):
    """The trigger is carried into the document."""
    assert run_tool(main, ["--trigger", "hook"], "ls").document["trigger"] == "hook"


def test_real_process(spawn, project):
    """The installed command reads bytes on stdin and writes one line of UTF-8 JSON."""
    done = spawn("ch-parse", *FIXED, stdin="echo “hé”\n")
    assert (done.stderr, done.code) == ("", 0)
    document = json.loads(done.stdout)
    assert document["payload"]["command"] == "echo “hé”"
    assert "“hé”" in done.stdout


def test_real_process_under_a_plain_locale(spawn, project):
    """A locale without UTF-8 changes nothing."""
    done = spawn("ch-parse", *FIXED, stdin="session: ../é\nls", env={"LC_ALL": "C", "LANG": "C"})
    assert done.code == 0
    assert json.loads(done.stdout)["problem"]["line"] == 1


def test_folder_with_a_name_that_is_no_text(spawn, tmp_path):
    """A folder whose name is not UTF-8 cannot stand in a document: a sentence, and exit 74."""
    folder = os.fsencode(tmp_path) + b"/caf\xe9"
    try:
        os.mkdir(folder)
    except OSError:
        pytest.skip("this disk takes UTF-8 names only")
    done = spawn("ch-parse", stdin="ls", cwd=folder)
    assert (done.stdout, done.code) == ("", 74)
    assert "not UTF-8" in done.stderr


def test_home_with_a_name_that_is_no_text(run_tool, project, monkeypatch):
    """A home folder whose name is not UTF-8 is a problem only for a text that names it."""
    monkeypatch.setenv("HOME", os.fsdecode(b"/home/caf\xe9"))
    document = run_tool(main, FIXED, "cwd: ~/x\nls").document
    assert document["cwd"] == str(project)
    assert document["problem"]["kind"] == "system"
    assert "not UTF-8" in document["problem"]["message"]
    assert "problem" not in run_tool(main, FIXED, "ls").document


def test_link_to_a_folder_with_a_name_that_is_no_text(spawn, tmp_path):
    """A plain name that leads to such a folder is refused too: the project is its real name."""
    folder = os.fsencode(tmp_path) + b"/caf\xe9"
    try:
        os.mkdir(folder)
    except OSError:
        pytest.skip("this disk takes UTF-8 names only")
    os.symlink(folder, tmp_path / "plain")
    done = spawn("ch-parse", "--cwd", str(tmp_path / "plain"), stdin="ls")
    assert (done.stdout, done.code) == ("", 74)
    assert "not UTF-8" in done.stderr


def test_reader_that_goes_away(project):
    """Nobody reading the document is exit 74, without a traceback."""
    script = "{ sleep 0.3; ch-parse; echo $? >code; } | true; cat code"
    done = subprocess.run(
        ["sh", "-c", script], input=b"ls", capture_output=True, timeout=60, check=False
    )
    assert (done.stdout, done.stderr) == (b"74\n", b"")
