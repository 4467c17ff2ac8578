"""Real commands under a real ch-exec: how they end, and that nothing of them is left."""

import errno
import hashlib
import http.server
import json
import os
import pty
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ch_contract import documents, processes
from ch_contract.checker import accepts
from ch_contract.shells import DIALECTS, find
from ch_exec import descendants, main
from ch_exec.descendants import children_of
from ch_exec.ending import end_all, send

pytestmark = pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="looks into /proc")


def wait_for(condition, seconds=20.0, what="it"):
    """Wait until `condition()` is true; gives its value."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        value = condition()
        if value:
            return value
        time.sleep(0.01)
    raise AssertionError(f"{what} did not happen within {seconds} s")


def with_word(word):
    """The ids of living processes of this test session one of whose arguments is `word`.

    The same tests may run at the same time in another environment: what counts is the folder.
    """
    own = os.path.dirname(os.environ["HOME"])
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            words = (entry / "cmdline").read_bytes().split(b"\0")
            folder = os.readlink(entry / "cwd")
        except OSError:
            continue
        if word.encode() in words and folder.startswith(f"{own}/"):
            found.append(int(entry.name))
    return found


def output_of(result):
    return Path(result["output_path"]).read_bytes()


def ending(result):
    keys = ("exit_code", "exit_desc", "signal", "timed_out", "cancelled")
    return tuple(result[key] for key in keys)


@pytest.mark.parametrize(
    ("command", "expected", "answer"),
    [
        ("true", (0, "exit 0", None, False, False), 0),
        ("exit 3", (3, "exit 3", None, False, False), 1),
        ("exit 255", (255, "exit 255", None, False, False), 1),
        ("no-such-program-anywhere", (127, "exit 127", None, False, False), 1),
        ("kill -SEGV $$", (None, "ended by SIGSEGV", "SIGSEGV", False, False), 1),
        ("kill -KILL $$", (None, "ended by SIGKILL", "SIGKILL", False, False), 1),
        ("kill -37 $$", (None, "ended by SIGRTMIN+3", "SIGRTMIN+3", False, False), 1),
        # what the shell makes of a signal to its own child is an exit code, and stays one
        ("sh -c 'kill -TERM $$'; exit $?", (143, "exit 143", None, False, False), 1),
        ("-x", (127, "exit 127", None, False, False), 1),
    ],
)
def test_how_a_command_ended(spawn, staged, command, expected, answer):
    """Exit by code and exit by signal are told apart; a failure is a result, not a problem."""
    done = spawn("ch-exec", "--exit-code", stdin=staged(command))
    document = done.document
    assert "problem" not in document
    assert ending(document["result"]) == expected
    assert (done.stderr, done.code) == ("", answer)
    assert accepts(document, "run.schema.json#/$defs/executed")


def test_the_whole_document_of_a_run(pipe_step, staged, state, project):
    """Only `result` is added, and it says everything."""
    before = staged("printf 'hé\\n'; echo err >&2", session="s1")
    done = pipe_step(before)
    after = done.document
    result = after.pop("result")
    assert (after, done.stderr, done.code) == (before, "", 0)
    folder = state / "runs" / before["run_id"]
    data = "hé\nerr\n".encode()
    assert result.pop("duration_ms") >= 0
    assert Path(result["shell"]).name == "bash"
    assert result == {
        "exit_code": 0,
        "exit_desc": "exit 0",
        "signal": None,
        "timed_out": False,
        "cancelled": False,
        "output_path": str(folder / "output.txt"),
        "output_bytes": len(data),
        "output_chars": 7,
        "output_sha256": hashlib.sha256(data).hexdigest(),
        "shell": result["shell"],
        "backend": "local",
        "sandbox": "none",
        "approval": None,
        "restored": [],
        "unenforced": [],
        "processes_ended": 0,
        "processes_left": 0,
        "output_reopened": False,
    }
    assert (folder / "output.txt").read_bytes() == data
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()}
    assert modes == {"command.txt": 0o600, "output.txt": 0o600, "run.json": 0o600}
    for private in (folder, folder.parent, state, state / "open"):
        assert stat.S_IMODE(private.stat().st_mode) == 0o700
    record = json.loads((folder / "run.json").read_bytes())
    documents.check(record, "store/run-record.schema.json", "run.json")
    assert (record["cwd"], record["backend"], record["mode"], record["sandbox"]) == (
        str(project), "local", "unsandboxed", "none",
    )  # fmt: skip
    opened = json.loads((state / "open" / f"{before['run_id']}.json").read_bytes())
    documents.check(opened, "store/open-run.schema.json", "open run")
    assert (opened["state"], opened["session"], opened["pid"]) == ("ended", "s1", os.getpid())


def test_an_open_run_of_a_flow_is_left_in_its_charge(pipe_step, staged, state):
    """Whoever opened the run before answers for its end."""
    document = staged("true")
    path = state / "open" / f"{document['run_id']}.json"
    path.parent.mkdir(parents=True)
    path.write_text("the flow's own")
    assert pipe_step(document).document["result"]["exit_code"] == 0
    assert path.read_text() == "the flow's own"


def test_the_record_stands_before_the_command_runs(pipe_step, staged, state):
    """The command finds its own process in run.json already."""
    document = staged("true")
    record = state / "runs" / document["run_id"] / "run.json"
    command = f"cat {record}; echo $$"
    document = {**staged(command), "run_id": document["run_id"]}
    result = pipe_step(document).document["result"]
    seen, pid = output_of(result).decode().splitlines()
    assert json.loads(seen)["pid"] == int(pid)


@pytest.mark.parametrize(
    ("data", "characters"),
    [(b"a\0b\n", 4), (b"\xff\xfe\xc3", 3), ("hé€😀".encode(), 4), ("hé".encode("utf-16"), 6)],
    ids=["nul", "invalid", "utf-8", "utf-16"],
)
def test_the_output_is_kept_byte_for_byte(pipe_step, staged, data, characters):
    """No byte is decoded, cleaned or lost."""
    escaped = "".join(f"\\x{byte:02x}" for byte in data)
    result = pipe_step(staged(f"printf '{escaped}'")).document["result"]
    assert output_of(result) == data
    assert (result["output_bytes"], result["output_chars"]) == (len(data), characters)
    assert result["output_sha256"] == hashlib.sha256(data).hexdigest()


def test_the_standard_input_is_closed(pipe_step, staged):
    """A question gets no answer, at once."""
    result = pipe_step(staged("read x; echo $?; cat")).document["result"]
    assert output_of(result) == b"1\n"


def test_there_is_no_terminal_to_ask_on(pipe_step, staged):
    """/dev/tty cannot be opened."""
    result = pipe_step(staged("echo hello > /dev/tty")).document["result"]
    assert result["exit_code"] == 1
    assert b"/dev/tty" in output_of(result)


def test_git_does_not_ask_for_a_password(pipe_step, staged):
    """A clone that wants a password fails instead of waiting."""

    class Locked(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(401)
            self.send_header("WWW-Authenticate", 'Basic realm="x"')
            self.end_headers()

        def log_message(self, *_):
            pass

    with http.server.HTTPServer(("127.0.0.1", 0), Locked) as server:
        child = os.fork()  # a thread and a fork later on do not go together
        if child == 0:
            server.serve_forever()
            os._exit(0)
        try:
            command = f"git clone http://127.0.0.1:{server.server_port}/x.git"
            result = pipe_step(staged(command, timeout=20)).document["result"]
        finally:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
    assert (result["timed_out"], result["exit_code"]) == (False, 128)
    assert b"terminal prompts disabled" in output_of(result)


def test_the_environment_of_the_command(pipe_step, staged, monkeypatch, project):
    """Ours is not in it, what changes the reading of the text is not, pagers are disarmed."""
    monkeypatch.setenv("CLIP_HARNESS_TOKEN", "secret")
    monkeypatch.setenv("CDPATH", "/")
    monkeypatch.setenv("KEPT", "yes")
    monkeypatch.setenv("EDITOR", "ed")
    monkeypatch.setenv("PAGER", "less")
    (project / "env.sh").write_text("echo sneaked in\n")
    for name in ("BASH_ENV", "ENV"):
        monkeypatch.setenv(name, str(project / "env.sh"))
    monkeypatch.setenv("BASHOPTS", "extglob")
    removed = (
        "BASH_COMPAT",
        "POSIXLY_CORRECT",
        "FPATH",
        "ZDOTDIR",
        "NULLCMD",
        "READNULLCMD",
        "PS4",
    )
    for name in (*removed, "BASH_FUNC_ls%%"):
        monkeypatch.setenv(name, "() { echo sneaked in; }")
    document = staged("env; shopt -q extglob; echo extglob=$?")
    result = pipe_step(document).document["result"]
    seen = dict(line.split("=", 1) for line in output_of(result).decode().splitlines())
    expected = {
        **{name: value for name, value in os.environ.items() if name not in (
            "CLIP_HARNESS_TOKEN", "CDPATH", "BASH_ENV", "ENV", "BASHOPTS", "OLDPWD",
            "BASH_FUNC_ls%%", *removed)},
        "GIT_TERMINAL_PROMPT": "0", "GIT_PAGER": "cat", "PAGER": "cat", "MANPAGER": "cat",
        "SYSTEMD_PAGER": "cat", "PWD": str(project), "CH_EXEC_RUN": document["run_id"],
        "extglob": "1", "_": seen["_"], "SHLVL": seen["SHLVL"],
    }  # fmt: skip
    assert seen == expected


def test_the_command_starts_clean(spawn, staged, project):
    """Default signals, an empty mask, the umask as it was, no descriptor but the three."""
    command = (
        "grep -E '^Sig(Blk|Ign)' /proc/self/status; umask; ls /proc/$$/fd >fds; tr '\\n' ' ' <fds"
    )
    outer = ["sh", "-c", "umask 027; trap '' PIPE; exec 7</dev/null; exec ch-exec"]
    done = subprocess.run(
        outer, input=json.dumps(staged(command)).encode(), capture_output=True, check=True
    )
    lines = output_of(json.loads(done.stdout)["result"]).decode().splitlines()
    assert lines == ["SigBlk:\t0000000000000000", "SigIgn:\t0000000000000000", "0027", "0 1 2 "]


SHELLS = ("bash", "dash", "zsh", "ksh", "sh")


def use_shell(user_settings, shell):
    """Set `shell` as the shell; gives its dialect. One that is missing is no reason to pass."""
    assert find(shell) is not None, f"{shell} is not installed; .ci/packages installs it"
    user_settings({"shell": shell})
    return DIALECTS[shell]


@pytest.mark.parametrize("long", [False, True], ids=["argument", "file"])
@pytest.mark.parametrize("shell", SHELLS)
def test_no_shell_reads_anything_before_the_judged_text(
    pipe_step, staged, user_settings, home, monkeypatch, *, shell, long
):
    """No start-up file, function, alias or parameter of the user's stands in for a command."""
    dialect = use_shell(user_settings, shell)
    sneaky = "echo sneaked in\nalias ls='echo sneaked in'\nls() { echo sneaked in; }\n"
    folder = home / "elsewhere"
    folder.mkdir()
    files = (".bashrc", ".bash_profile", ".profile", ".zshenv", ".zshrc", ".mkshrc", ".kshrc")
    for name in (*files, "elsewhere/.zshenv", "elsewhere/env", "elsewhere/sneaky"):
        (home / name).write_text(sneaky)
    for name in ("ENV", "BASH_ENV"):
        monkeypatch.setenv(name, str(folder / "env"))
    monkeypatch.setenv("ZDOTDIR", str(folder))
    monkeypatch.setenv("FPATH", str(folder))
    monkeypatch.setenv("NULLCMD", "sneaky")
    monkeypatch.setenv("READNULLCMD", "echo")
    monkeypatch.setenv("BASH_FUNC_ls%%", "() { echo sneaked in; }")
    # bash believes to be started by ssh
    monkeypatch.setenv("SSH_CLIENT", "192.0.2.1 1 22")
    monkeypatch.delenv("SHLVL", raising=False)
    (home / "seen").mkdir()
    (home / "seen" / "file").write_text("")
    text = f"ls {home}/seen; sneaky 2>/dev/null; true"
    if long:
        text += f"\n# {'x' * 130_000}\n"
    result = pipe_step(staged(text, dialect=dialect)).document["result"]
    assert (output_of(result), result["exit_code"]) == (b"file\n", 0)


@pytest.mark.parametrize("shell", SHELLS)
def test_every_shell_reads_the_text_as_it_is(pipe_step, staged, user_settings, shell):
    """Short and long, a text that begins with a dash too: no limit of the argument list."""
    dialect = use_shell(user_settings, shell)
    result = pipe_step(staged("echo 'a\tb' $((1+1))", dialect=dialect)).document["result"]
    assert output_of(result) == b"a\tb 2\n"
    text = "wc -c <<'END'\n" + "é" * 70_000 + "\nEND\n"
    assert len(text.encode()) > 131_072
    result = pipe_step(staged(text, dialect=dialect)).document["result"]
    assert output_of(result).strip() == b"140001"
    script = Path(result["output_path"]).with_name("command.sh")
    assert (script.read_text(), stat.S_IMODE(script.stat().st_mode)) == (text, 0o600)


def test_a_child_in_the_background_neither_delays_nor_is_harmed(spawn, staged):
    """The end of the run is the end of the shell, though its output is still held open."""
    word = "71.25"
    before = time.monotonic()
    done = spawn("ch-exec", stdin=staged(f"sleep {word} & echo up"))
    assert time.monotonic() - before < 10
    assert output_of(done.document["result"]) == b"up\n"
    (pid,) = with_word(word)
    os.kill(pid, signal.SIGKILL)


FLEEING = (
    "sleep {w} & (sleep {w} &) ; setsid sleep {w} & "
    "setsid env -i sh -c '(sleep {w} &) ; (setsid sleep {w} </dev/null >/dev/null 2>&1 &)' & "
    "(trap '' TERM; sleep {w}; sleep {w}) & kill -STOP $! ; sleep {w}"
)


@pytest.mark.parametrize("word", ["73.5"])
def test_a_timeout_ends_whatever_fled(spawn, staged, word):
    """Background, double fork, own session, empty environment, TERM ignored, stopped: all gone."""
    before = time.monotonic()
    done = spawn("ch-exec", stdin=staged(FLEEING.format(w=word), timeout=1))
    seconds = time.monotonic() - before
    result = done.document["result"]
    assert with_word(word) == []
    assert ending(result) == (None, "timed out after 1 s", "SIGTERM", True, False)
    assert result["processes_ended"] >= 7
    assert seconds < 1 + 2 + 1.5
    assert done.stderr == ""


def test_what_follows_the_ended_command_is_not_run(spawn, staged):
    """The shells hear of the end before their children, so none goes on to its next line."""
    command = "(sleep 74.5; echo inner >> made); sh -c 'sleep 74.5; echo sh >> made'; echo >> made"
    for _ in range(3):
        result = spawn("ch-exec", stdin=staged(command, timeout=1)).document["result"]
        assert ending(result) == (None, "timed out after 1 s", "SIGTERM", True, False)
        assert not Path("made").exists()


def test_who_does_not_mind_term_is_killed(spawn, staged):
    """A shell that ignores TERM is gone within two seconds of the timeout."""
    result = spawn("ch-exec", stdin=staged("trap '' TERM; sleep 75; :", timeout=1)).document[
        "result"
    ]
    assert ending(result) == (None, "timed out after 1 s", "SIGKILL", True, False)
    assert 1900 < result["duration_ms"] < 3500
    assert result["processes_ended"] == 2


def test_a_shell_that_tidies_up_after_term_has_still_timed_out(spawn, staged):
    """Its own exit code after the timeout is no success."""
    command = "trap 'echo tidy; exit 0' TERM; sleep 75 & wait"
    result = spawn("ch-exec", stdin=staged(command, timeout=1)).document["result"]
    assert ending(result) == (None, "timed out after 1 s", None, True, False)
    assert output_of(result) == b"tidy\n"


def with_mark(run_id):
    """The ids of living processes that carry the mark of the run."""
    return [p.pid for p in descendants.listing(run_id) if p.is_marked]


# Each step ignores TERM and hands over to a child; bounded, so that a fault leaves nothing for long.
RELAYS = {
    "slow": "b() {{ [ $1 -gt 100 ] && exit; (trap '' TERM; sleep 0.1; b $(($1+1))) & disown; }}; b 0; ",
    "quick": "trap '' TERM; b() {{ [ $1 -gt 20000 ] && exit; (b $(($1+1))) & disown; }}; b 0; ",
    "fled": (
        "printf '%s' 'import os, signal, time\nsignal.signal(15, signal.SIG_IGN)\nos.setsid()\n"
        "for _ in range(400):\n    time.sleep(0.02)\n    if os.fork(): os._exit(0)\n'"
        " > relay.py; env -u CH_EXEC_RUN {python} relay.py & "
    ),
}


@pytest.mark.parametrize("relay", RELAYS)
def test_a_timeout_ends_who_hands_over_to_a_child(spawn, staged, relay):
    """No look at the list of processes need catch one of them; none is left all the same."""
    command = RELAYS[relay].format(python=sys.executable)
    document = staged(command + "while :; do sleep 1; done", timeout=1)
    before = time.monotonic()
    result = spawn("ch-exec", stdin=document).document["result"]
    seconds = time.monotonic() - before
    assert with_mark(document["run_id"]) == []
    assert with_word("relay.py") == []
    assert (result["exit_desc"], result["processes_left"]) == ("timed out after 1 s", 0)
    assert seconds < 1 + 2 + 1.5


def test_all_are_stopped_before_one_is_killed(monkeypatch):
    """Also what is found only while the first are being stopped."""
    first, second = (descendants.Process(pid, 1, 300, 300) for pid in (300, 301))
    looks = [[first], [first, second], [first, second], [], [], []]
    sent = []
    monkeypatch.setattr(
        "ch_exec.ending.send", lambda process, number: sent.append((process.pid, number)) or True
    )
    monkeypatch.setattr(
        "ch_exec.ending.send_group", lambda group, number: sent.append((-group, number))
    )
    assert end_all(lambda: looks.pop(0), lambda _seconds: None, term_seconds=0) == (2, 0)
    assert looks == []
    stop, kill = signal.SIGSTOP, signal.SIGKILL
    assert sent == [
        (-300, stop), (300, stop), (-300, stop), (301, stop), (-300, kill), (300, kill), (301, kill),
    ]  # fmt: skip


def test_one_empty_look_is_not_the_end(monkeypatch):
    """Three in a row are, unless it is known better."""
    late = descendants.Process(300, 1, 300, 300)
    looks = [[], [], [late], [], [], [], []]
    answers = [False, True]
    monkeypatch.setattr("ch_exec.ending.send", lambda _process, _number: True)
    ended = end_all(
        lambda: looks.pop(0), lambda _seconds: None, term_seconds=9, is_gone=lambda: answers.pop(0)
    )
    assert (ended, looks, answers) == ((1, 0), [], [])


@pytest.mark.parametrize(
    "how", ["file", signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT]
)
def test_a_cancel_ends_the_run(started, staged, state, how):
    """By file or by signal, the command is gone within two seconds and the document is written."""
    word = "77.125"
    document = staged(f"echo begun; setsid env -i sleep {word} & sleep {word}")
    folder = state / "runs" / document["run_id"]
    # Python starts pytest's children with what pytest was started with: nothing is ignored here
    process = started(document, preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
    wait_for(lambda: len(with_word(word)) == 2, what="the start")
    before = time.monotonic()
    if how == "file":
        (folder / "cancel").touch()
    else:
        process.send_signal(how)
    out = process.stdout.read()
    assert process.wait() == 0
    assert time.monotonic() - before < 2.5
    result = json.loads(out)["result"]
    assert ending(result) == (None, "cancelled", "SIGTERM", False, True)
    assert output_of(result) == b"begun\n"
    assert with_word(word) == []


def test_a_cancel_that_came_first_ends_the_run_at_once(pipe_step, staged, state):
    """The file may be there before the command is."""
    document = staged("sleep 78")
    folder = state / "runs" / document["run_id"]
    folder.mkdir(parents=True)
    (folder / "cancel").touch()
    assert pipe_step(document).document["result"]["exit_desc"] == "cancelled"


@pytest.mark.parametrize("fault", ["missing", errno.ENOSYS, errno.EPERM, errno.EMFILE])
def test_a_timeout_without_process_descriptors(pipe_step, staged, monkeypatch, fault):
    """Old kernels, other builds of Python and filters of containers have none: ended all the same."""
    if fault == "missing":
        monkeypatch.delattr(os, "pidfd_open")
    else:

        def refuse(_pid):
            raise OSError(fault, os.strerror(fault))

        monkeypatch.setattr(os, "pidfd_open", refuse)
    word = "82.5"
    document = staged(f"setsid env -i sleep {word} & sleep {word}", timeout=1)
    result = pipe_step(document).document["result"]
    assert ending(result) == (None, "timed out after 1 s", "SIGTERM", True, False)
    assert (result["processes_ended"], result["processes_left"]) == (3, 0)
    assert with_word(word) == []


@pytest.mark.parametrize("fault", [errno.ENOSYS, errno.EPERM])
def test_a_timeout_where_signals_go_by_no_descriptor(pipe_step, staged, monkeypatch, fault):
    """The descriptor may be had and its call be forbidden."""

    def refuse(_fd, _number):
        raise OSError(fault, os.strerror(fault))

    monkeypatch.setattr(signal, "pidfd_send_signal", refuse)
    result = pipe_step(staged("sleep 82.25", timeout=1)).document["result"]
    assert (result["timed_out"], result["signal"], with_word("82.25")) == (True, "SIGTERM", [])


def test_an_id_that_was_given_again_gets_no_signal(monkeypatch):
    """The start time is compared whether there is a descriptor or not."""
    other = subprocess.Popen(["sleep", "83"])
    try:
        process = descendants.read(other.pid)
        process.start = str(int(process.start) - 1)
        assert not send(process, signal.SIGKILL)
        monkeypatch.delattr(os, "pidfd_open")
        assert not send(process, signal.SIGKILL)
        assert other.poll() is None
    finally:
        other.kill()
        other.wait()


def failing(monkeypatch, where, error):
    """Let a piece of the supervision fail."""

    def fail(*_arguments, **_options):
        raise error

    monkeypatch.setattr(where, fail)


IO_ERROR = OSError(errno.EIO, os.strerror(errno.EIO))
BEGUN = "the command was started, and could not be followed to its end:"


@pytest.mark.parametrize(
    ("where", "error", "kind", "said", "code"),
    [
        ("ch_exec.output.Output.advance", IO_ERROR, "system", "Input/output error", 74),
        ("ch_exec.output.Output.advance", ZeroDivisionError(), "bug", "ZeroDivisionError", 70),
        ("ch_exec.supervise.Wakeups.wait", IO_ERROR, "system", "Input/output error", 74),
    ],
)
def test_a_failure_of_the_supervision_ends_the_command(
    pipe_step, staged, state, monkeypatch, *, where, error, kind, said, code
):
    """Nothing lives on, and nobody says that nothing was run."""
    word = "84.5"
    document = staged(f"setsid env -i sleep {word} & sleep {word}")

    def fail(*_arguments):
        wait_for(lambda: len(with_word(word)) == 2, what="the start")
        raise error

    monkeypatch.setattr(where, fail)
    done = pipe_step(document, "--exit-code")
    assert with_word(word) == []
    problem, result = done.document["problem"], done.document["result"]
    assert (problem["kind"], problem["message"], done.code) == (kind, f"{BEGUN} {said}", code)
    assert problem["hint"] == "look at what it has done before you run it again"
    assert (result["exit_code"], result["exit_desc"], result["processes_left"]) == (
        None, "ended, because it could not be followed", 0,
    )  # fmt: skip
    # what has run stays claimed
    assert (state / "runs" / document["run_id"] / "run.json").exists()
    assert (state / "open" / f"{document['run_id']}.json").exists()
    assert (state / "bugs").exists() == (kind == "bug")


def test_a_failure_after_the_end_keeps_the_end(pipe_step, staged, monkeypatch):
    """The command ended by itself; only its output could not be read."""
    failing(monkeypatch, "ch_exec.output.Output.finish", IO_ERROR)
    document = pipe_step(staged("exit 3")).document
    assert ending(document["result"]) == (3, "exit 3", None, False, False)
    assert document["problem"]["message"] == f"{BEGUN} Input/output error"


def test_a_failure_that_hits_the_ending_too(pipe_step, staged, monkeypatch):
    """Where not even the processes can be listed, the shell's group is killed, and that is told."""
    word = "85.5"
    failing(monkeypatch, "ch_exec.descendants.table", OSError(errno.EMFILE, "Too many open files"))
    document = pipe_step(staged(f"sleep {word} & sleep {word}", timeout=1)).document
    result = document["result"]
    assert ending(result) == (None, "timed out after 1 s", "SIGKILL", True, False)
    wait_for(lambda: with_word(word) == [], what="the end")
    assert document["problem"]["message"] == f"{BEGUN} Too many open files"
    assert document["problem"]["hint"] == (
        f"something of it may still live: end that with ch-exec stop --run-id {document['run_id']};"
        " look at what it has done before you run it again"
    )


def test_what_could_not_be_ended_is_in_the_result(pipe_step, staged, monkeypatch):
    """The block and the ledger can tell of it."""
    monkeypatch.setattr("ch_exec.ending.send", lambda _process, _number: False)
    monkeypatch.setattr("ch_exec.ending.send_group", lambda _group, _number: None)
    word = "86.5"
    done = pipe_step(staged(f"exec sleep {word}", timeout=1))
    for pid in with_word(word):
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    result = done.document["result"]
    assert (result["processes_ended"], result["processes_left"]) == (0, 1)
    assert "1 processes of the run" in done.stderr


def orphaned(started, staged, state, command, words, **metadata):
    """A run whose ch-exec was killed; gives its id once `words` processes of it live."""
    document = staged(command, **metadata)
    process = started(document)
    word, count = words
    wait_for(lambda: len(with_word(word)) == count, what="the start")
    process.kill()
    process.wait()
    return document["run_id"]


ORPHANS = {
    "shell": "sleep {w}; true",
    "background": "sleep {w} & setsid sleep {w} & wait",
    "stubborn": "trap '' TERM; sleep {w}; sleep {w}",
    "unmarked child": "env -i sleep {w}; true",
}


@pytest.mark.parametrize("name", ORPHANS)
def test_stop_ends_what_a_killed_harness_left(started, staged, state, spawn, name):
    """No timeout and no cancel reaches such a run; `stop` does, within two seconds."""
    word = "87.5"
    count = 2 if name == "background" else 1
    run_id = orphaned(started, staged, state, ORPHANS[name].format(w=word), (word, count))
    before = time.monotonic()
    done = spawn("ch-exec", "stop", "--run-id", run_id)
    assert time.monotonic() - before < 2 + 1.5
    assert with_word(word) == []
    assert (done.stdout, done.stderr, done.code) == (f"processes ended: {count + 1}\n", "", 0)
    again = spawn("ch-exec", "stop", "--run-id", run_id)
    assert again == ("", f"ch-exec: nothing of the run {run_id} lives\n", 1)


def test_stop_finds_what_outlived_its_shell_by_the_mark(spawn, staged, pipe_step):
    """A run that has ended may have left something in the background."""
    word = "88.5"
    document = staged(f"setsid sleep {word} & echo up")
    pipe_step(document)
    wait_for(lambda: with_word(word), what="the start")
    done = spawn("ch-exec", "stop", "--run-id", document["run_id"])
    assert (done.stdout, done.stderr, done.code) == ("processes ended: 1\n", "", 0)
    wait_for(lambda: not with_word(word), what="the end")


def test_stop_lets_a_living_ch_exec_tell_of_the_cancel(started, staged, spawn):
    """Who watches the run is asked first, and its document says `cancelled`."""
    word = "89.5"
    document = staged(f"sleep {word}; true")
    process = started(document)
    wait_for(lambda: with_word(word), what="the start")
    done = spawn("ch-exec", "stop", "--run-id", document["run_id"])
    assert (done.stdout, done.stderr, done.code) == ("processes ended: 2\n", "", 0)
    result = json.loads(process.stdout.read())["result"]
    assert ending(result) == (None, "cancelled", "SIGTERM", False, True)


def test_stop_spares_strangers(run_tool, staged, state, pipe_step):
    """A number that was given again, another run's mark, a run nobody knows: nothing is ended."""
    document = staged("true")
    pipe_step(document)
    record = state / "runs" / document["run_id"] / "run.json"
    other = subprocess.Popen(["sleep", "90"], env={"CH_EXEC_RUN": "r-0123456789abcdef"})
    try:
        values = {**json.loads(record.read_bytes()), "pid": other.pid}
        record.write_text(json.dumps(values))
        for run_id in (document["run_id"], "r-00000000"):
            done = run_tool(main, ["stop", "--run-id", run_id])
            assert done == ("", f"ch-exec: nothing of the run {run_id} lives\n", 1)
        assert other.poll() is None
    finally:
        other.kill()
        other.wait()
    assert not (record.parent / "cancel").exists()


@pytest.mark.parametrize("shell", ["bash", "dash", "zsh"])
@pytest.mark.parametrize(
    ("command", "is_reopened"),
    [
        ("echo a; echo b > /dev/stderr; echo c", True),
        ("echo a; echo b | tee /dev/stderr; echo c", True),
        ("echo hi > /dev/stdout; echo a; echo b > /dev/stdout; echo c", True),
        ('echo a; : > "$(readlink /proc/$$/fd/1)"; echo c', True),
        ("echo a; echo b >&2; echo c", False),
        ("echo a; (echo b; sh -c 'echo c >&2') 2>&1", False),
    ],
)
def test_an_output_opened_anew_is_told(
    pipe_step, staged, user_settings, *, shell, command, is_reopened
):
    """However fast it was: what was printed before may be lost, and the result says so."""
    dialect = use_shell(user_settings, shell)
    done = pipe_step(staged(command, dialect=dialect))
    result = done.document["result"]
    assert (result["output_reopened"], result["exit_code"]) == (is_reopened, 0)
    assert ("opened its own output file anew" in done.stderr) == is_reopened
    # appended, with no hole in between
    assert b"\0" not in output_of(result)
    assert output_of(result).endswith(b"c\n")


REPLACING = {
    "fifo": 'mkfifo "$f"',
    "link": 'ln -s /dev/zero "$f"',
    "file": 'echo other > "$f"',
    "nothing": ":",
}


@pytest.mark.parametrize("name", REPLACING)
def test_what_the_command_puts_in_the_place_of_its_output_is_not_read(spawn, staged, name):
    """Nothing waits for it, the result tells of the first file, and it is told."""
    command = f'f=$(readlink /proc/$$/fd/1); echo a; rm "$f"; {REPLACING[name]}; echo b'
    done = spawn("ch-exec", stdin=staged(command))
    result = done.document["result"]
    assert (result["output_bytes"], result["exit_code"], result["output_reopened"]) == (4, 0, True)
    assert result["output_sha256"] == hashlib.sha256(b"a\nb\n").hexdigest()
    told = (
        "ch-exec: the command moved its own output file, or put another in its place: the result"
        " tells of the file it was given\n"
    )
    assert done.stderr == told
    done = spawn("ch-exec", "run", "--command", command)
    assert done == ("a\nb\n", told, 0)


def test_what_was_our_child_before_is_not_ended(pipe_step, staged):
    """A timeout in a long-lived process spares its other children."""
    other = subprocess.Popen(["sleep", "79.5"])
    try:
        document = staged("sleep 79.25", timeout=1)
        assert pipe_step(document).document["result"]["timed_out"]
        assert other.poll() is None
    finally:
        other.kill()
        other.wait()


def test_signals_are_handled_as_before_afterwards(pipe_step, staged):
    """A run in a larger program leaves that program's handlers alone."""
    handlers = [signal.getsignal(n) for n in (signal.SIGINT, signal.SIGTERM, signal.SIGCHLD)]
    pipe_step(staged("true"))
    assert [
        signal.getsignal(n) for n in (signal.SIGINT, signal.SIGTERM, signal.SIGCHLD)
    ] == handlers
    assert signal.set_wakeup_fd(-1) == -1


def test_no_descriptor_and_no_dead_child_is_left(pipe_step, staged):
    """A program that makes many runs does not fill up."""
    pipe_step(staged("true"))
    before = sorted(os.listdir("/proc/self/fd"))
    children = children_of(os.getpid())
    for command in ("true", "(sleep 0.05 &)", "exit 1"):
        pipe_step(staged(command))
    time.sleep(0.2)
    pipe_step(staged("true"))
    assert sorted(os.listdir("/proc/self/fd")) == before
    assert children_of(os.getpid()) == children


def test_a_run_outside_the_main_thread(staged):
    """No signal reaches another thread; the end and a timeout are noticed all the same."""
    code = (
        "import io, json, sys, threading, ch_exec\n"
        "from ch_contract.tool import Streams\n"
        "data = sys.stdin.buffer.read()\n"
        "out = io.BytesIO()\n"
        "def work(): ch_exec.main([], Streams(io.BytesIO(data), out, io.BytesIO()))\n"
        "thread = threading.Thread(target=work); thread.start(); thread.join()\n"
        "sys.stdout.buffer.write(out.getvalue())\n"
    )
    done = subprocess.run(
        [sys.executable, "-W", "ignore::DeprecationWarning", "-c", code],
        input=json.dumps(staged("sleep 80", timeout=1)).encode(),
        capture_output=True,
        check=True,
    )
    assert json.loads(done.stdout)["result"]["exit_desc"] == "timed out after 1 s"


def test_after_a_kill_the_record_and_the_open_run_stand(started, staged, state):
    """Whoever looks later finds the process by id and start time, and whose run it was."""
    word = "81.5"
    document = staged(f"sleep {word}")
    process = started(document)
    (pid,) = wait_for(lambda: with_word(word), what="the start")
    process.kill()
    process.wait()
    record = json.loads((state / "runs" / document["run_id"] / "run.json").read_bytes())
    opened = json.loads((state / "open" / f"{document['run_id']}.json").read_bytes())
    assert record["pid"] == pid
    assert processes.is_alive(record["pid"], record["started"])
    assert (opened["pid"], opened["state"]) == (process.pid, "running")
    assert not processes.is_alive(opened["pid"], opened["started"])
    os.kill(pid, signal.SIGKILL)


def test_a_run_is_never_started_twice(pipe_step, staged, state):
    """The second one of the same id is refused, and the first one's output stays."""
    document = staged("echo once; echo x >> count")
    assert "result" in pipe_step(document).document
    done = pipe_step(document)
    problem = done.document["problem"]
    assert (problem["tool"], problem["kind"]) == ("ch-exec", "refused")
    run_id = document["run_id"]
    assert problem["message"] == f"the run {run_id} was started before, and no run is started twice"
    assert Path("count").read_text() == "x\n"
    assert (state / "runs" / run_id / "output.txt").read_bytes() == b"once\n"


def test_of_two_at_once_one_runs(started, staged):
    """Two processes with one id: exactly one has a result."""
    document = staged("echo x >> count; sleep 0.3")
    both = [started(document), started(document)]
    written = [json.loads(process.stdout.read()) for process in both]
    assert sorted("result" in entry for entry in written) == [False, True]
    assert Path("count").read_text() == "x\n"


@pytest.mark.parametrize("stream", ["/dev/full", None])
def test_a_document_that_nobody_takes(staged, spawn, stream):
    """A closed or full standard output is a system error, after the run."""
    with open(stream or "/dev/null", "wb") as sink:
        done = subprocess.run(
            ["sh", "-c", "exec ch-exec" if stream else "exec ch-exec >&-"],
            input=json.dumps(staged("echo x >> count")).encode(),
            stdout=sink,
            stderr=subprocess.PIPE,
            check=False,
        )
    assert (done.returncode, Path("count").read_text()) == (74, "x\n")
    assert done.stderr.startswith(b"ch-exec: cannot write standard output: ")
    assert done.stderr.count(b"\n") == 1


def sinks():
    """Three kinds of standard output that takes nothing, each with what is to be closed later."""
    with open("/dev/null", "wb") as null:
        yield "closed", 'exec ch-exec "$@" >&-', null
    with open("/dev/full", "wb") as full:
        yield "full", 'exec ch-exec "$@"', full
    own, other = pty.openpty()
    os.close(own)
    with open(other, "wb", buffering=0) as gone:
        yield "terminal that is gone", 'exec ch-exec "$@"', gone


@pytest.mark.parametrize(
    "argv",
    [
        ["run", "--command", "echo hello"],
        ["run", "--json", "--command", "echo hello"],
        ["run", "--command", "head -c 2000000 /dev/zero"],
        ["backends"],
        ["backends", "--json"],
        ["--help"],
        ["--version"],
    ],
)
def test_a_standard_output_that_takes_nothing_is_no_bug(staged, state, argv):
    """A system error in one line, whichever command printed, and no bug report."""
    for name, script, sink in sinks():
        done = subprocess.run(
            ["sh", "-c", script, "sh", *argv], stdout=sink, stderr=subprocess.PIPE, check=False
        )
        assert (name, done.returncode, done.stderr.count(b"\n")) == (name, 74, 1)
        assert done.stderr.startswith(b"ch-exec: cannot write standard output: ")
    assert not (state / "bugs").exists()


@pytest.mark.heavy
def test_a_disk_that_fills_up(staged, project, user_settings, tmp_path):
    """The command sees the full disk; ch-exec still writes its document."""
    small = tmp_path / "small"
    small.mkdir()
    user_settings({"shell": "bash", "state_dir": str(small)})
    script = (
        f"mount -t tmpfs -o size=1m none {small} && ch-exec; code=$?;"
        f" cat {small}/runs/*/output.txt | wc -c >&2; exit $code"
    )
    command = "head -c 5000000 /dev/zero; echo code=$? > seen"
    done = subprocess.run(
        ["unshare", "-r", "-m", "sh", "-c", script],
        input=json.dumps(staged(command)).encode(),
        capture_output=True,
        check=False,
    )
    if b"unshare" in done.stderr or b"mount:" in done.stderr:
        pytest.skip("no mount can be made here")
    assert done.returncode == 0, done.stderr
    assert Path("seen").read_text() == "code=1\n"
    result = json.loads(done.stdout)["result"]
    assert result["exit_desc"] == "exit 0"
    assert done.stderr.split()[-1] == str(result["output_bytes"]).encode()


def test_a_state_folder_that_cannot_be_written(pipe_step, staged, user_settings, tmp_path):
    """Nothing runs when its record cannot be kept."""
    (tmp_path / "file").write_text("")
    user_settings({"shell": "bash", "state_dir": str(tmp_path / "file" / "state")})
    done = pipe_step(staged("echo x > made"), "--exit-code")
    assert (done.document["problem"]["kind"], done.code) == ("system", 74)
    assert not Path("made").exists()


def test_a_record_that_cannot_be_written_ends_the_child(pipe_step, staged, state, monkeypatch):
    """The forked process is gone, nothing ran, and the id is free again."""
    from ch_contract import files
    from ch_contract.problems import Problem

    def refuse(path, data, mode=0o600):
        raise Problem("system", f"cannot write {path}")

    document = staged("echo x > made")
    with monkeypatch.context() as patch:
        patch.setattr(files, "write_atomic", refuse)
        problem = pipe_step(document).document["problem"]
    assert (problem["kind"], problem["message"][:12]) == ("system", "cannot write")
    assert not Path("made").exists()
    assert list((state / "runs" / document["run_id"]).iterdir()) == []
    assert pipe_step(document).document["result"]["exit_code"] == 0


def test_a_shell_that_cannot_be_started(pipe_step, staged, monkeypatch, tmp_path):
    """The child's failure comes back as a system problem that names the shell."""
    from ch_contract.shells import Shell

    broken = tmp_path / "bash"
    broken.write_text("#!/no/such/interpreter\n")
    broken.chmod(0o755)
    shell = Shell(str(broken), "bash", None)
    monkeypatch.setattr("ch_exec.planning.resolve", lambda *_: shell)
    problem = pipe_step(staged("true")).document["problem"]
    assert (problem["kind"], problem["message"]) == (
        "system", f"cannot start {broken}: No such file or directory",
    )  # fmt: skip


@pytest.mark.heavy
def test_three_hundred_megabytes(started, staged, capsys):
    """Not much slower than into a plain file, in flat memory, and byte for byte."""
    line = "for i in $(seq 60); do head -c 5000000 /dev/zero | tr '\\0' x; sleep 0.05; done"
    before = time.monotonic()
    with open("plain.txt", "wb") as file:
        subprocess.run(["bash", "-c", line], stdout=file, check=True)
    plain = time.monotonic() - before
    before = time.monotonic()
    started(staged("true")).stdout.read()
    nothing = time.monotonic() - before
    before = time.monotonic()
    process = started(staged(line))
    peak = 0
    while process.poll() is None:
        try:
            status = Path(f"/proc/{process.pid}/status").read_text()
        except OSError:
            break
        words = [entry.split() for entry in status.splitlines() if entry.startswith("VmHWM")]
        peak = max([peak, *(int(word[1]) for word in words)])
        time.sleep(0.02)
    seconds = time.monotonic() - before
    result = json.loads(process.stdout.read())["result"]
    digest = hashlib.sha256(Path("plain.txt").read_bytes()).hexdigest()
    with capsys.disabled():
        sys.stdout.write(
            f"\n300 MB: file {plain:.2f} s, ch-exec {seconds:.2f} s, peak {peak // 1024} MiB\n"
        )
    assert (result["output_bytes"], result["output_sha256"]) == (300_000_000, digest)
    assert hashlib.sha256(output_of(result)).hexdigest() == digest
    assert peak < 48 * 1024
    assert seconds <= 1.3 * plain + nothing
