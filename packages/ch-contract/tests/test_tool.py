"""The one main(): flags, streams, problems, exit codes."""

from __future__ import annotations

import errno
import io
import json
import os
import re
import stat
import subprocess
import sys
import textwrap

import pytest

from ch_contract import __version__, tool
from ch_contract.problems import Problem
from ch_contract.tool import Streams

KNOWN = {"--help": False, "--exit-code": False, "--cwd": True, "--session": True}

FLAGS = {
    "none": ([], {}, []),
    "words": (["a", "-", "b"], {}, ["a", "-", "b"]),
    "a flag": (["--exit-code"], {"--exit-code": True}, []),
    "a flag twice": (["--exit-code", "--exit-code"], {"--exit-code": True}, []),
    "short help": (["-h"], {"--help": True}, []),
    "a value": (["--cwd", "/a"], {"--cwd": "/a"}, []),
    "a value with =": (["--cwd=/a=b"], {"--cwd": "/a=b"}, []),
    "an empty value": (["--cwd="], {"--cwd": ""}, []),
    "an empty value apart": (["--cwd", ""], {"--cwd": ""}, []),
    "a value like a flag": (["--cwd", "--help"], {"--cwd": "--help"}, []),
    "mixed": (["a", "--cwd", "b", "c", "--exit-code"], {"--cwd": "b", "--exit-code": True}, ["a", "c"]),
    "after --": (["--", "--cwd", "--"], {}, ["--cwd", "--"]),
    "-- as a value": (["--cwd", "--", "x"], {"--cwd": "--"}, ["x"]),
    "an empty word": ([""], {}, [""]),
}  # fmt: skip
WRONG = {
    "unknown": (["--nope"], "unknown option --nope", "see --help for the options"),
    "unknown with value": (["--nope=1"], "unknown option --nope", "see --help for the options"),
    "unknown short": (["-x"], "unknown option -x", "see --help for the options"),
    "no abbreviation": (["--sess", "a"], "unknown option --sess", "see --help for the options"),
    "no value": (["--cwd"], "--cwd needs a value", "see --help for the options"),
    "a value too many": (["--exit-code=1"], "--exit-code takes no value, got '1'", None),
    "an empty value too many": (["--help="], "--help takes no value, got ''", None),
    "twice": (["--cwd", "a", "--cwd=b"], "--cwd was given twice", None),
    "case": (["--CWD", "a"], "unknown option --CWD", "see --help for the options"),
}


@pytest.mark.parametrize(("argv", "flags", "words"), FLAGS.values(), ids=FLAGS)
def test_flags(argv, flags, words):
    assert tool.parse_flags(argv, KNOWN) == (flags, words)


@pytest.mark.parametrize(("argv", "message", "hint"), WRONG.values(), ids=WRONG)
def test_wrong_flags(argv, message, hint):
    with pytest.raises(Problem) as caught:
        tool.parse_flags(argv, KNOWN)
    assert (caught.value.kind, caught.value.message, caught.value.hint) == ("usage", message, hint)


def test_text_flag():
    assert tool.text_flag({"--cwd": "a", "--help": True}, "--cwd") == "a"
    assert tool.text_flag({"--cwd": "a", "--help": True}, "--help") is None
    assert tool.text_flag({}, "--cwd") is None


# ---- guarded


def read_text(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def guarded(body, argv=("--flag",)):
    streams = Streams(io.BytesIO(), io.BytesIO(), io.BytesIO())
    code = tool.guarded("ch-test", list(argv), streams, body)
    return code, streams.stdout.getvalue().decode(), streams.stderr.getvalue().decode()


def raising(error):
    def body():
        raise error

    return body


def test_what_the_body_answers_is_the_exit_code():
    assert guarded(lambda: 3) == (3, "", "")


@pytest.mark.parametrize(
    ("error", "code", "line"),
    [
        (Problem("usage", "no", "do it"), 64, "ch-test: no — do it\n"),
        (Problem("malformed", "two\nlines", None, 2), 65, "ch-test: two lines (line 2)\n"),
        (Problem("busy", "held"), 75, "ch-test: held\n"),
        (Problem("system", "disk"), 74, "ch-test: disk\n"),
        (Problem("refused", "stale"), 1, "ch-test: stale\n"),
        (KeyboardInterrupt(), 130, "ch-test: interrupted\n"),
        (BrokenPipeError(), 74, ""),
        (OSError("boom"), 74, "ch-test: file or system error: boom\n"),
        (
            OSError(errno.EMFILE, "Too many open files", "/a"),
            74,
            "ch-test: cannot use /a: Too many open files\n",
        ),
        (
            OSError(errno.EIO, "Input/output error", b"/a\xff"),
            74,
            "ch-test: cannot use /a\\udcff: Input/output error\n",
        ),
        (MemoryError(), 74, "ch-test: there is not enough memory\n"),
    ],
    ids=lambda part: type(part).__name__ if isinstance(part, BaseException) else str(part)[:20],
)
def test_an_exception_is_one_line_and_a_code(error, code, line, home):
    assert guarded(raising(error)) == (code, "", line)
    assert list(home.iterdir()) == []


BUG = re.compile(
    r"ch-test: this is a bug in ch-test; the traceback is in (/\S+\.txt) — please report it\n"
)


@pytest.mark.parametrize(
    "error",
    [
        ValueError("boom"),
        RecursionError(),
        AssertionError("\udcff"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_anything_else_is_a_bug_and_kept_in_private(error, state):
    code, out, said = guarded(raising(error), ["--session", "s\udcff"])
    assert (code, out) == (70, "")
    path = BUG.fullmatch(said)[1]
    assert os.path.dirname(path) == str(state / "bugs")
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
    assert stat.S_IMODE(os.stat(state).st_mode) == 0o700
    text = read_text(path)
    assert text.startswith(f"ch-test {__version__}, Python ")
    assert "arguments: ['--session', 's\\udcff']\n\nTraceback (most recent call last):\n" in text
    assert type(error).__name__ in text.splitlines()[-1]


def test_a_problem_of_the_kind_bug_is_kept_too(state):
    code, _, said = guarded(raising(Problem("bug", "a document to write is wrong")))
    assert code == 70
    start = "ch-test: a document to write is wrong — the traceback is in "
    assert said.startswith(start)
    assert said.count("\n") == 1
    assert "a document to write is wrong" in read_text(said[len(start) :].split(" — ")[0])


def test_a_bug_is_kept_in_the_temporary_folder_when_state_cannot_be_had(
    tmp_path, user_settings, monkeypatch
):
    import tempfile

    user_settings("{")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    _, _, said = guarded(raising(ValueError("boom")))
    path = BUG.fullmatch(said)[1]
    assert os.path.dirname(path) == str(tmp_path)
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600


def test_a_bug_that_can_be_kept_nowhere_is_still_one_line(tmp_path, user_settings, monkeypatch):
    import tempfile

    user_settings("{")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "no"))
    code, _, said = guarded(raising(ValueError("boom")))
    assert code == 70
    assert said.startswith("ch-test: this is a bug in ch-test; its traceback could not be kept (")
    assert said.count("\n") == 1


# ---- pipe

USAGE = "usage: ch-test < document\n"


def step(work=lambda _document, _flags: None, **more):
    return lambda argv, streams: tool.pipe(
        "ch-test", argv, streams, work, usage=USAGE, reads="parsed", writes="parsed", **more
    )


@pytest.mark.parametrize("flag", ["--help", "-h"])
def test_help(run_tool, flag):
    assert run_tool(step(), [flag]) == (USAGE, "", 0)


def test_help_gets_its_last_newline(run_tool):
    def main(argv, streams):
        return 0 if tool.information("t", {"--help": True}, streams, "usage: t") else 1

    assert run_tool(main) == ("usage: t\n", "", 0)


def test_version(run_tool):
    assert run_tool(step(), ["--version"]) == (f"ch-test {__version__}\n", "", 0)


def test_help_reads_nothing():
    class Unread(io.BytesIO):
        def read(self, *_):
            raise AssertionError

    streams = Streams(Unread(), io.BytesIO(), io.BytesIO())
    assert step()(["--help"], streams) == 0


def test_a_word_is_refused(run_tool, run_document):
    assert run_tool(step(), ["list"], run_document()) == (
        "",
        "ch-test: unexpected word 'list' — see --help\n",
        64,
    )


def test_a_document_passes_and_grows(run_tool, run_document):
    def work(document, flags):
        document["standing"] = {"goal": None, "tasks": []}
        document["x-flags"] = flags

    done = run_tool(step(work, flags={"--cwd": True}), ["--cwd", "/a"], run_document())
    assert (done.stderr, done.code) == ("", 0)
    expected = run_document(standing={"goal": None, "tasks": []}, **{"x-flags": {"--cwd": "/a"}})
    assert done.document == expected
    assert done.stdout.count("\n") == 1


def test_a_problem_of_the_work_is_in_the_document_and_on_stderr(run_tool, run_document):
    def work(_document, _flags):
        raise Problem("unsupported", "cannot do that", "leave it")

    section = {
        "tool": "ch-test",
        "kind": "unsupported",
        "message": "cannot do that",
        "hint": "leave it",
        "line": None,
    }
    done = run_tool(step(work), [], run_document())
    assert (done.document, done.stderr, done.code) == (
        run_document(problem=section),
        "ch-test: cannot do that — leave it\n",
        0,
    )
    assert run_tool(step(work), ["--exit-code"], run_document()).code == 1


@pytest.mark.parametrize("reason", ["problem", "foreign"])
def test_what_is_not_this_tools_business_passes_unchanged(run_tool, run_document, reason):
    def work(document, _flags):
        raise AssertionError

    document = run_document()
    if reason == "problem":
        document["problem"] = Problem("busy", "held").section("ch-parse")
    done = run_tool(step(work, foreign=lambda _document: reason == "foreign"), [], document)
    assert (done.document, done.stderr, done.code) == (document, "", 0)
    code = run_tool(step(work, foreign=lambda _document: True), ["--exit-code"], document).code
    assert code == (75 if reason == "problem" else 0)


@pytest.mark.parametrize(
    ("data", "line"),
    [
        (b"", "ch-test: standard input is empty — the stage before it ended without a word\n"),
        (
            b"{}",
            "ch-test: standard input is no run document: its format is None — feed it the output of ch-parse or of a later tool\n",
        ),
        (
            b"hello",
            "ch-test: standard input is not JSON: Expecting value: line 1 column 1 (char 0)\n",
        ),
    ],
)
def test_what_is_no_document_ends_the_pipe(run_tool, data, line):
    assert run_tool(step(), [], data) == ("", line, 65)


def test_a_document_that_breaks_our_promise_is_not_written(run_tool, run_document):
    def work(document, _flags):
        document["verdict"] = "yes"

    done = run_tool(step(work), [], run_document())
    assert (done.stdout, done.code) == ("", 70)
    assert done.stderr.startswith("ch-test: run document to write: verdict: 'yes' is not of type")


def test_a_working_folder_whose_name_is_not_unicode(run_tool, run_document):
    def work(document, _flags):
        document["cwd"] = "/a/\udcff"

    done = run_tool(step(work), [], run_document())
    assert (done.stdout, done.code) == ("", 65)
    assert done.stderr.count("\n") == 1


# ---- real processes

MAIN = """
    import sys
    from ch_contract import tool
    USAGE = "usage: ch-test\\n" * 1
    def work(document, flags):
        if flags.get("--interrupt"):
            import os, signal
            os.kill(os.getpid(), signal.SIGINT)
        if flags.get("--big"):
            document["x-big"] = "x" * 1_000_000
    sys.exit(tool.pipe("ch-test", sys.argv[1:], tool.own_streams(), work, usage=USAGE,
        reads="parsed", writes="parsed", flags={"--interrupt": False, "--big": False}))
"""


@pytest.fixture
def in_shell(tmp_path, run_document):
    """Run a shell line in which `$T` is a tool; the document is in `doc`."""
    script = tmp_path / "tool.py"
    script.write_text(textwrap.dedent(MAIN))
    (tmp_path / "doc").write_text(json.dumps(run_document()))

    def run(line):
        done = subprocess.run(
            ["/bin/sh", "-c", line],
            cwd=tmp_path,
            env={**os.environ, "T": f"{sys.executable} {script}"},
            capture_output=True,
            timeout=60,
            check=False,
        )
        return done.stdout.decode(), done.stderr.decode(), done.returncode

    return run


SHELL = {
    "plain": ("$T <doc >/dev/null", "", "", 0),
    "stdin closed": (
        "$T <&-",
        "",
        "ch-test: standard input is empty — the stage before it ended without a word\n",
        65,
    ),
    "stdout closed": (
        "$T <doc >&-",
        "",
        "ch-test: cannot write standard output: Bad file descriptor\n",
        74,
    ),
    "stderr closed": ("$T --no 2>&-", "", "", 64),
    "all closed": ("$T <&- >&- 2>&-", "", "", 65),
    "interrupt": ("$T --interrupt <doc", "", "ch-test: interrupted\n", 130),
}
FULL = {
    "full disk": (
        "$T <doc >/dev/full",
        "",
        "ch-test: cannot write standard output: No space left on device — free some space on that disk, then try again\n",
        74,
    ),
    "full disk, big": (
        "$T --big <doc >/dev/full",
        "",
        "ch-test: cannot write standard output: No space left on device — free some space on that disk, then try again\n",
        74,
    ),
    "stderr full": ("$T --no 2>/dev/full", "", "", 64),
}
if os.path.exists("/dev/full"):
    SHELL |= FULL


@pytest.mark.parametrize(("line", "stdout", "stderr", "code"), SHELL.values(), ids=SHELL)
def test_the_streams_of_a_process(in_shell, line, stdout, stderr, code):
    assert in_shell(line) == (stdout, stderr, code)


@pytest.mark.parametrize("big", ["", "--big"])
def test_a_reader_that_went_away(in_shell, big):
    """No traceback, no complaint of Python at exit, and a code that is not 0."""
    line = f"{{ sleep 0.3; $T {big} <doc; echo $? >code; }} | true; cat code"
    assert in_shell(line) == ("74\n", "", 0)


def test_no_file_takes_the_place_of_a_closed_stream(tmp_path):
    """Else what is printed would end up in a state file."""
    code = """
        import os, sys
        from ch_contract import tool
        streams = tool.own_streams()
        sys.exit(min(os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT), 9) > 2)
    """
    line = f'"{sys.executable}" -I -c "$CODE" {tmp_path}/state <&- >&- 2>&-'
    done = subprocess.run(
        ["/bin/sh", "-c", line], env={"CODE": textwrap.dedent(code)}, check=False, timeout=60
    )
    assert done.returncode == 1


def test_a_bug_that_becomes_a_problem_of_the_document_is_kept_too(run_tool, run_document, state):
    """The document tells of it, and the traceback with its cause is in a file."""

    def work(_document, _flags):
        raise Problem("bug", "it broke") from ZeroDivisionError()

    def main(argv, streams):
        return tool.pipe("ch-x", argv, streams, work, usage="", reads="parsed", writes="parsed")

    done = run_tool(main, [], run_document())
    assert (done.document["problem"]["kind"], done.code) == ("bug", 0)
    (report,) = (state / "bugs").iterdir()
    assert done.stderr == f"ch-x: it broke — the traceback is in {report} — please report it\n"
    assert "ZeroDivisionError" in report.read_text()
