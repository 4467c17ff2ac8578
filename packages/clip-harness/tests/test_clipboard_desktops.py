"""The real programs: xclip and xsel on an X server, wl-clipboard on a compositor, and tmux.

What is missing is a failure here, not a skip: `.ci/packages` installs it. Only where there is no
Linux are these desktops not to be had.
"""

import os
import pwd
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from ch_contract.problems import Problem
from clip_harness.adapters.choice import choose
from clip_harness.adapters.clipboard import (
    ClipboardEmpty,
    ClipboardNotText,
    ClipboardUnavailable,
)

pytestmark = [
    pytest.mark.heavy,
    pytest.mark.skipif(sys.platform != "linux", reason="X servers and Wayland are Linux here"),
]

BOUND = 20
PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\xff"
TEXTS = {
    "mixed-100kB": "héllo — “x” 😀 č\n\ttab\r\n\n" * 3000 + "last\n",
    "no-newline": "no newline at the end",
    "one-character": "é",
    "one-byte": "x",
    "newline": "\n",
    "crlf": "a\r\nb\r\n",
    "carriage-return": "a\rb",
    "looks-like-pdf": "%PDF-1.4 is only a text\n",
    "1MB": "0123456789abcdé\n" * 62_500,
}


def need(name):
    """Where the program lies; a clear failure when it is missing."""
    found = shutil.which(name)
    if found is None:
        pytest.fail(f"{name} is not installed; run .ci/packages")
    return found


def wait_until(condition, what):
    """Ask `condition` again and again, within a bound."""
    deadline = time.monotonic() + BOUND
    while not condition():
        if time.monotonic() > deadline:
            pytest.fail(f"{what} did not happen within {BOUND} s")
        time.sleep(0.01)


def end(process):
    process.terminate()
    try:
        process.wait(BOUND)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


@pytest.fixture(scope="module")
def x11():
    """The environment of a fresh X server on a free display."""
    reading, writing = os.pipe()
    server = subprocess.Popen(
        [need("Xvfb"), "-displayfd", str(writing), "-screen", "0", "640x480x8", "-nolisten", "tcp"],
        pass_fds=[writing],
        stderr=subprocess.DEVNULL,
    )
    os.close(writing)
    try:
        if not select.select([reading], [], [], BOUND)[0]:
            pytest.fail(f"Xvfb did not start within {BOUND} s")
        display = os.read(reading, 16).decode().strip()
        assert display, "Xvfb ended at once"
        yield {"PATH": os.environ["PATH"], "DISPLAY": f":{display}", "HOME": "/nonexistent"}
    finally:
        os.close(reading)
        end(server)


@pytest.fixture(scope="module")
def compositor():
    """The environment of a fresh headless Wayland compositor. sway does not run as root."""
    sway = need("sway")
    # not below tmp_path, which is root's alone
    folder = Path(tempfile.mkdtemp(prefix="sway-", dir="/tmp"))
    (folder / "config").write_text("xwayland disable\n")
    argv = [sway, "-c", str(folder / "config")]
    if os.geteuid() == 0:
        nobody = pwd.getpwnam("nobody")
        ids = [f"--reuid={nobody.pw_uid}", f"--regid={nobody.pw_gid}", "--clear-groups", "--"]
        argv = [need("setpriv"), *ids, *argv]
        os.chown(folder, nobody.pw_uid, nobody.pw_gid)
    process = subprocess.Popen(
        argv,
        env={
            "PATH": os.environ["PATH"],
            "HOME": str(folder),
            "XDG_RUNTIME_DIR": str(folder),
            "WLR_BACKENDS": "headless",
            "WLR_RENDERER": "pixman",
            "WLR_LIBINPUT_NO_DEVICES": "1",
        },
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        environment = {"PATH": os.environ["PATH"], "XDG_RUNTIME_DIR": str(folder)}

        def up():
            assert process.poll() is None, "sway ended at once"
            sockets = [path.name for path in folder.glob("wayland-?")]
            environment["WAYLAND_DISPLAY"] = sockets[0] if sockets else ""
            return sockets

        wait_until(up, "the start of sway")
        yield environment
    finally:
        end(process)
        shutil.rmtree(folder)


@pytest.fixture
def multiplexer():
    """The environment inside a fresh tmux server."""
    # a socket's path may be at most 107 bytes long
    folder = tempfile.mkdtemp(prefix="tmux-", dir="/tmp")
    socket = os.path.join(folder, "s")
    tmux = [need("tmux"), "-S", socket, "-f", "/dev/null"]
    subprocess.run([*tmux, "new-session", "-d", "-x", "80", "-y", "24", "cat"], check=True)
    try:
        yield {"PATH": os.environ["PATH"], "TMUX": f"{socket},1,0", "TERM": "screen"}
    finally:
        subprocess.run([*tmux, "kill-server"], check=True)
        shutil.rmtree(folder)


@pytest.fixture(params=["xclip", "xsel", "wayland", "tmux"])
def clipboard(request):
    """Each clipboard in turn, on its own desktop."""
    return make(request, request.param)


def make(request, name, **more):
    desktop = {"wayland": "compositor", "tmux": "multiplexer"}.get(name, "x11")
    environment = request.getfixturevalue(desktop)
    need({"wayland": "wl-copy"}.get(name, name))
    return choose(name, {**environment, **more})


def x11_run(environment, *argv, data=b""):
    """Run a program of the X desktop to its end, as somebody else would."""
    subprocess.run(
        argv,
        input=data,
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        check=True,
    )


def problem_of(act, *arguments):
    start = time.monotonic()
    with pytest.raises(Problem) as raised:
        act(*arguments)
    assert time.monotonic() - start < BOUND
    problem = raised.value
    return type(problem), problem.code, problem.message


@pytest.mark.parametrize("name", TEXTS)
def test_round_trip(clipboard, name):
    """What is written is read, byte for byte."""
    clipboard.write(TEXTS[name].encode())
    assert clipboard.read() == TEXTS[name].encode()


def test_one_text_after_another(clipboard):
    """The newest text is the one read; its owner is replaced without a fight."""
    for number in range(10):
        clipboard.write(b"text %d\n" % number)
        assert clipboard.read() == b"text %d\n" % number


def test_write_10_mb(request, clipboard):
    """A block of 10 MB can be put there; as a payload it is refused."""
    clipboard.write(b"0123456789abcde\n" * 625_000)
    assert problem_of(clipboard.read) == (
        ClipboardNotText,
        65,
        "the clipboard holds more than 4,194,304 bytes; at most 4,194,304 bytes are read",
    )


@pytest.mark.parametrize("name", ["xclip", "xsel", "wayland"])
def test_empty_text(request, name):
    """An empty text is an empty clipboard."""
    clipboard = make(request, name)
    clipboard.write(b"something")
    clipboard.write(b"")
    assert problem_of(clipboard.read)[:2] == (ClipboardEmpty, 65)


@pytest.mark.parametrize("name", ["xclip", "xsel", "wayland", "tmux"])
def test_others_are_not_held_up(request, name):
    """A caller whose outputs are captured gets them closed, though the text's owner lives on."""
    clipboard = make(request, name)
    done = subprocess.run(
        [sys.executable, "-c", WRITE, name, repr(environment_of(clipboard))],
        capture_output=True,
        timeout=BOUND,
        check=True,
    )
    assert (done.stdout, done.stderr) == (b"written\n", b"")
    assert clipboard.read() == "by another ä\n".encode()


WRITE = """
import ast, sys, time
from clip_harness.adapters.choice import choose
choose(sys.argv[1], ast.literal_eval(sys.argv[2])).write("by another ä\\n".encode())
print("written", flush=True)
if len(sys.argv) > 3:
    time.sleep(60)
"""


def environment_of(clipboard):
    return clipboard._programs.environment


@pytest.mark.parametrize("name", ["xclip", "xsel", "wayland"])
def test_text_outlives_the_group_of_its_writer(request, name):
    """When a run's process group is killed, the copied text is still there."""
    clipboard = make(request, name)
    clipboard.write(b"before")
    with subprocess.Popen(
        [sys.executable, "-c", WRITE, name, repr(environment_of(clipboard)), "stay"],
        stdout=subprocess.PIPE,
        start_new_session=True,
    ) as writer:
        assert writer.stdout.readline() == b"written\n"
        os.killpg(writer.pid, signal.SIGKILL)
    assert clipboard.read() == "by another ä\n".encode()


# X11


def test_x11_nothing_copied(x11):
    x11_run(x11, need("xsel"), "--clipboard", "--clear")
    assert problem_of(choose("xclip", x11).read) == (ClipboardEmpty, 65, "the clipboard is empty")
    assert problem_of(choose("xsel", x11).read) == (
        ClipboardEmpty,
        65,
        "the clipboard is empty or holds no text (xsel cannot tell which)",
    )


@pytest.mark.parametrize(("kind", "data"), [("image/png", PNG), ("image/svg+xml", b"<svg/>")])
def test_x11_image(x11, kind, data):
    """An image is no text, also one whose bytes would pass for some."""
    x11_run(x11, need("xclip"), "-selection", "clipboard", "-t", kind, "-i", data=data)
    assert problem_of(choose("xclip", x11).read) == (
        ClipboardNotText,
        65,
        f"the clipboard holds no text but {kind}",
    )
    assert problem_of(choose("xsel", x11).read)[:2] == (ClipboardEmpty, 65)


def test_x11_text_of_an_old_program(x11):
    """A program that knows only STRING offers Latin-1."""
    x11_run(x11, need("xclip"), "-selection", "clipboard", "-t", "STRING", "-i", data=b"caf\xe9\n")
    assert choose("xclip", x11).read() == "café\n".encode()


def test_x11_bytes_that_are_no_text(x11):
    x11_run(x11, need("xclip"), "-selection", "clipboard", "-i", data=b"ab\xff")
    expected = "the clipboard holds bytes that are no UTF-8 text (byte 3)"
    assert problem_of(choose("xclip", x11).read) == (ClipboardNotText, 65, expected)


@pytest.mark.parametrize("name", ["xclip", "xsel"])
def test_x11_unavailable(x11, name):
    """A display that is gone, or none at all, is neither empty nor a hang."""
    need(name)
    gone = choose(name, {**x11, "DISPLAY": ":4711"})
    none = choose(name, {key: value for key, value in x11.items() if key != "DISPLAY"})
    expected = (ClipboardUnavailable, 74, "the X display :4711 cannot be reached")
    assert problem_of(gone.read) == expected
    assert problem_of(gone.write, b"x") == expected
    assert problem_of(none.read) == (ClipboardUnavailable, 74, "DISPLAY is not set")
    assert problem_of(none.write, b"x") == (ClipboardUnavailable, 74, "DISPLAY is not set")


@pytest.mark.parametrize("name", ["xclip", "xsel"])
def test_x11_owner_that_hangs(x11, name):
    """A program that owns the clipboard and answers nobody costs the timeout, no more."""
    argv = [need("xclip"), "-selection", "clipboard", "-i", "-quiet"]
    owner = subprocess.Popen(argv, stdin=subprocess.PIPE, stderr=subprocess.DEVNULL, env=x11)
    try:
        owner.stdin.write(b"owned")
        owner.stdin.close()
        clipboard = choose(name, {**x11, "CLIP_HARNESS_CLIPBOARD_TIMEOUT": "1"})
        other = choose("xclip", x11)
        wait_until(lambda: holds(other, b"owned"), "taking the clipboard")
        owner.send_signal(signal.SIGSTOP)
        assert problem_of(clipboard.read) == (
            ClipboardUnavailable,
            74,
            f"{name} did not answer within 1 s and was ended",
        )
    finally:
        owner.kill()
        owner.wait()


def holds(clipboard, text):
    try:
        return clipboard.read() == text
    except ClipboardEmpty:
        return False


def test_x11_change(x11):
    """Copying the same text again is another change, where the owner tells its time."""
    xsel, xclip = choose("xsel", x11), choose("xclip", x11)
    seen = set()
    for _ in range(3):
        xsel.write(b"same")
        seen.add(xclip.change())
        assert xclip.change() in seen
    assert None not in seen
    assert len(seen) == 3
    xclip.write(b"same")
    assert xclip.change() is None


def test_x11_xsel_writes_the_whole_text_or_says_so(x11):
    """xsel ends a text at U+0000; what cannot be read back has not been written."""
    clipboard = choose("xsel", {**x11, "CLIP_HARNESS_CLIPBOARD_TIMEOUT": "0.5"})
    assert problem_of(clipboard.write, b"a\0b") == (
        ClipboardUnavailable,
        74,
        "the clipboard did not take the whole text within 0.5 s",
    )


def test_x11_leaves_no_log(x11, home):
    """xsel's child writes no log file into the home folder (the folder for it, it does make)."""
    choose("xsel", {**x11, "HOME": str(home)}).write(b"x")
    assert [path for path in home.rglob("*") if path.is_file()] == []


def test_x11_chosen(x11, tmp_path):
    """On an X desktop xclip is taken, without it xsel; a dead Wayland display is passed over."""
    assert choose("auto", x11).name == "xclip"
    assert choose("auto", {**x11, "WAYLAND_DISPLAY": "wayland-77"}).name == "xclip"
    (tmp_path / "xsel").symlink_to(need("xsel"))
    assert choose("auto", {**x11, "PATH": str(tmp_path)}).name == "xsel"


# Wayland


def wl_copy(environment, kind, data):
    x11_run(environment, need("wl-copy"), "--type", kind, data=data)


def test_wayland_nothing_copied(compositor):
    x11_run(compositor, need("wl-copy"), "--clear")
    expected = (ClipboardEmpty, 65, "the clipboard is empty")
    assert problem_of(choose("wayland", compositor).read) == expected


@pytest.mark.parametrize(("kind", "data"), [("image/png", PNG), ("application/pdf", b"%PDF-1.4")])
def test_wayland_no_text(compositor, kind, data):
    wl_copy(compositor, kind, data)
    assert problem_of(choose("wayland", compositor).read) == (
        ClipboardNotText,
        65,
        f"the clipboard holds no text but {kind}",
    )


def test_wayland_text_that_is_offered_without_its_encoding(compositor, tmp_path):
    """What offers plain text under an older name alone is read under that name."""
    (tmp_path / "wl-paste").write_text(OLDER)
    (tmp_path / "wl-paste").chmod(0o755)
    choose("wayland", compositor).write("é\n".encode())
    path = f"{tmp_path}{os.pathsep}{compositor['PATH']}"
    environment = {**compositor, "PATH": path, "REAL": need("wl-paste")}
    assert choose("wayland", environment).read() == "é\n".encode()


OLDER = """#!/bin/sh
case "$*" in
--list-types) printf 'text/plain\\nSTRING\\n' ;;
*utf-8*) echo 'No suitable type of content copied' >&2; exit 1 ;;
*) exec "$REAL" "$@" ;;
esac
"""


def test_wayland_unavailable(compositor):
    gone = choose("wayland", {**compositor, "WAYLAND_DISPLAY": "wayland-77"})
    expected = (ClipboardUnavailable, 74, "the Wayland display wayland-77 cannot be reached")
    assert problem_of(gone.read) == expected
    assert problem_of(gone.write, b"x") == expected


def test_wayland_chosen(compositor, x11):
    """A compositor that answers comes before an X display."""
    assert choose("auto", {**x11, **compositor}).name == "wayland"


# tmux


def test_tmux_nothing_copied(multiplexer):
    clipboard = choose("auto", multiplexer)
    assert clipboard.name == "tmux"
    assert problem_of(clipboard.read) == (ClipboardEmpty, 65, "the clipboard is empty")
    assert clipboard.change() is None


def test_tmux_takes_no_empty_text(multiplexer):
    """tmux would keep the old text and say that all is well."""
    clipboard = choose("tmux", multiplexer)
    clipboard.write(b"old")
    assert problem_of(clipboard.write, b"") == (
        ClipboardUnavailable,
        74,
        "tmux cannot hold an empty text",
    )
    assert clipboard.read() == b"old"


def test_tmux_change(multiplexer):
    """Each copy makes a new buffer, of the same text too; a buffer with a name is none."""
    clipboard = choose("tmux", multiplexer)
    seen = []
    for _ in range(3):
        clipboard.write(b"same")
        seen.append(clipboard.change())
    assert len(set(seen)) == 3
    tmux = [need("tmux"), "-S", multiplexer["TMUX"].split(",")[0]]
    subprocess.run([*tmux, "set-buffer", "-b", "mine", "named"], check=True)
    assert clipboard.change() == seen[-1]
    assert clipboard.read() == b"same"


def test_tmux_unavailable(multiplexer):
    gone = choose("tmux", {**multiplexer, "TMUX": "/nonexistent/s,1,0"})
    expected = (ClipboardUnavailable, 74, "no tmux server can be reached")
    assert problem_of(gone.read) == expected
    assert problem_of(gone.write, b"x") == expected


def test_tmux_passes_the_text_on(multiplexer):
    """The terminal around tmux gets it as an OSC 52 sequence."""
    import base64
    import fcntl
    import pty
    import struct
    import termios

    socket = multiplexer["TMUX"].split(",")[0]
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    environment = {"PATH": os.environ["PATH"], "TERM": "xterm-256color", "LC_ALL": "C.UTF-8"}
    outer = subprocess.Popen(
        [need("tmux"), "-S", socket, "attach"],
        stdin=slave,
        stdout=slave,
        stderr=slave,
        env=environment,
        start_new_session=True,
        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),  # noqa: PLW1509 - no threads here
    )
    os.close(slave)
    try:
        listed = [need("tmux"), "-S", socket, "list-clients"]
        wait_until(
            lambda: subprocess.run(listed, capture_output=True, check=True).stdout, "attaching"
        )
        choose("tmux", multiplexer).write("passed on ä".encode())
        received = b""

        def arrived():
            nonlocal received
            if select.select([master], [], [], 0)[0]:
                received += os.read(master, 65536)
            return b"\x1b]52;" in received and b"\x07" in received.partition(b"\x1b]52;")[2]

        wait_until(arrived, "the OSC 52 sequence")
        sent = received.partition(b"\x1b]52;")[2].partition(b"\x07")[0]
        assert base64.b64decode(sent.partition(b";")[2]) == "passed on ä".encode()
    finally:
        end(outer)
        os.close(master)
