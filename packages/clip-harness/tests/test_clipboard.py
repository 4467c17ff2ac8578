"""The file clipboard, what counts as text, and which clipboard is chosen."""

import os
import stat
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ch_contract.problems import Problem
from clip_harness.adapters.choice import NAMES, choose
from clip_harness.adapters.clipboard import (
    LIMIT_BYTES,
    ClipboardEmpty,
    ClipboardNotText,
    ClipboardUnavailable,
    FileClipboard,
)


def problem_of(act, *arguments):
    """Class, kind, code, message and hint of what `act` raises."""
    with pytest.raises(Problem) as raised:
        act(*arguments)
    problem = raised.value
    return type(problem), problem.kind, problem.code, problem.message, problem.hint


@pytest.fixture
def file(tmp_path):
    return FileClipboard(str(tmp_path / "clipboard"))


@pytest.mark.parametrize(
    "text",
    ["x", "no newline", "line\n", "a\r\nb\r\n", "héllo 😀\u2028\x0c\n", "\ufeffbom", "a\0b", "\n"],
)
def test_file_round_trip(file, text):
    """What is written is read, byte for byte."""
    file.write(text.encode())
    assert file.read() == text.encode()


@settings(deadline=None)
@given(st.text(min_size=1, max_size=2000))
def test_file_round_trip_of_any_text(tmp_path_factory, text):
    file = FileClipboard(str(tmp_path_factory.mktemp("any") / "clipboard"))
    file.write(text.encode("utf-8"))
    assert file.read() == text.encode("utf-8")


def test_file_missing_is_empty(file):
    assert problem_of(file.read) == (
        ClipboardEmpty,
        "malformed",
        65,
        "the clipboard is empty",
        "copy the message of the chat, then trigger again",
    )
    assert not os.path.exists(file.path)


def test_file_without_bytes_is_empty(file):
    file.write(b"")
    assert problem_of(file.read)[0] is ClipboardEmpty


def test_file_that_is_no_utf8(file):
    file.write(b"ab\xff\xfe")
    assert problem_of(file.read) == (
        ClipboardNotText,
        "malformed",
        65,
        "the clipboard holds bytes that are no UTF-8 text (byte 3)",
        "copy the message of the chat as text, then trigger again",
    )


def test_file_above_the_limit(file):
    """A block of 10 MB can be written; as a payload it is refused, and its size named."""
    file.write(b"a" * 10_000_000)
    assert os.path.getsize(file.path) == 10_000_000
    assert problem_of(file.read) == (
        ClipboardNotText,
        "malformed",
        65,
        "the clipboard holds 10,000,000 bytes; at most 4,194,304 bytes are read",
        "copy only the message of the chat, then trigger again",
    )
    file.write(b"a" * LIMIT_BYTES)
    assert len(file.read()) == LIMIT_BYTES


def test_file_is_replaced_not_changed(file, tmp_path):
    """A reader that has the old file open keeps the old text; nothing else is left behind."""
    file.write(b"old")
    with open(file.path, "rb") as reader:
        file.write(b"newer")
        assert reader.read() == b"old"
    assert os.listdir(tmp_path) == ["clipboard"]
    assert stat.S_IMODE(os.stat(file.path).st_mode) == 0o600


def test_file_behind_a_link(tmp_path):
    """The file the link leads to is replaced, not the link."""
    (tmp_path / "real").write_bytes(b"old")
    (tmp_path / "link").symlink_to("real")
    FileClipboard(str(tmp_path / "link")).write(b"new")
    assert (tmp_path / "real").read_bytes() == b"new"
    assert (tmp_path / "link").is_symlink()


def test_file_in_the_working_folder(tmp_path, monkeypatch):
    """A relative name is taken from where the program was started, also after a chdir."""
    monkeypatch.chdir(tmp_path)
    file = FileClipboard("clipboard")
    monkeypatch.chdir("/")
    file.write(b"x")
    assert (tmp_path / "clipboard").read_bytes() == b"x"


def test_file_that_is_a_pipe(tmp_path):
    """A pipe nobody writes to is refused, not waited for."""
    path = str(tmp_path / "pipe")
    os.mkfifo(path)
    assert problem_of(FileClipboard(path).read) == (
        ClipboardUnavailable,
        "system",
        74,
        f"the clipboard {path} is no file",
        "set CLIP_HARNESS_CLIPBOARD_FILE to a plain file",
    )


def test_file_in_a_missing_folder(tmp_path):
    path = str(tmp_path / "missing" / "clipboard")
    file = FileClipboard(path)
    hint = "check that the folder exists"
    message = f"cannot write {path}: No such file or directory"
    assert problem_of(file.write, b"x") == (Problem, "system", 74, message, hint)
    kept = "/state/result.txt"
    hint = f"the text is in {kept}; {hint}"
    assert problem_of(file.write, b"x", kept) == (
        ClipboardUnavailable,
        "system",
        74,
        message,
        hint,
    )
    assert not os.path.exists(tmp_path / "missing")


def test_file_change(file):
    """Each copy is another change, of the same text too; reading is none."""
    seen = [file.change()]
    for text in (b"same", b"same", b"other"):
        file.write(text)
        seen.append(file.change())
        assert file.read() == text
        assert file.change() == seen[-1]
    assert seen[0] == "absent"
    assert len(set(seen)) == 4


def test_file_loads_nothing_heavy(tmp_path):
    """Choosing, reading and writing the file clipboard loads none of the slow modules."""
    code = (
        "import sys; before = set(sys.modules)\n"
        "from clip_harness.adapters.choice import NAMES, choose\n"
        f"c = choose('auto', {{'CLIP_HARNESS_CLIPBOARD_FILE': {str(tmp_path / 'c')!r}}})\n"
        "c.write(b'x'); c.read(); c.change()\n"
        "print(*sorted(set(sys.modules) - before))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)
    loaded = set(done.stdout.split())
    assert "clip_harness.adapters.clipboard" in loaded
    heavy = {
        "argparse", "dataclasses", "typing", "subprocess", "pathlib", "tempfile", "shutil", "select",
        "logging", "inspect", "traceback", "hashlib", "datetime", "random", "string", "uuid",
        "clip_harness.adapters.bounded",
    }  # fmt: skip
    assert loaded & heavy == set()


# Which one


def programs(tmp_path, *names):
    """A folder for PATH that holds nothing but programs called `names`, which succeed."""
    folder = tmp_path / "bin"
    folder.mkdir(exist_ok=True)
    for name in names:
        (folder / name).write_text("#!/bin/sh\nexit 0\n")
        (folder / name).chmod(0o755)
    return str(folder)


@pytest.mark.parametrize(
    ("variables", "setting", "expected"),
    [
        ({"CLIP_HARNESS_CLIPBOARD_FILE": "/f", "CLIP_HARNESS_CLIPBOARD": "xsel"}, "tmux", "file"),
        ({"CLIP_HARNESS_CLIPBOARD": "xsel"}, "tmux", "xsel"),
        ({"CLIP_HARNESS_CLIPBOARD": ""}, "tmux", "tmux"),
        ({}, "wayland", "wayland"),
        ({}, "macos", "macos"),
        ({}, "wsl", "wsl"),
        ({}, "osc52", "osc52"),
        ({"WSL_DISTRO_NAME": "Debian", "WAYLAND_DISPLAY": "w", "DISPLAY": ":0"}, "auto", "wsl"),
        ({"WAYLAND_DISPLAY": "w", "DISPLAY": ":0", "TMUX": "s,1,0"}, "auto", "wayland"),
        ({"DISPLAY": ":0", "TMUX": "s,1,0"}, "auto", "xclip"),
        ({"TMUX": "s,1,0"}, "auto", "tmux"),
        ({"CLIP_HARNESS_CLIPBOARD": "auto", "TMUX": "s,1,0"}, "xsel", "tmux"),
    ],
)
def test_choose(tmp_path, variables, setting, expected):
    """The file variable, then the name variable, then the setting, then what works."""
    names = ("wl-copy", "wl-paste", "xclip", "xsel", "tmux", "pbcopy", "pbpaste", "powershell.exe")
    environment = {"PATH": programs(tmp_path, *names), **variables}
    assert choose(setting, environment, "linux").name == expected


def test_choose_on_macos(tmp_path):
    environment = {"PATH": programs(tmp_path, "pbcopy", "pbpaste"), "DISPLAY": ":0"}
    assert choose("auto", environment, "darwin").name == "macos"


def test_choose_only_the_last_can_not_be_read(tmp_path):
    environment = {"PATH": programs(tmp_path, "xclip", "xsel", "tmux", "wl-copy", "wl-paste")}
    readable = {
        name: choose(name, environment, "linux").can_read
        for name in ("xclip", "xsel", "tmux", "wayland", "osc52")
    }
    assert readable == {"xclip": True, "xsel": True, "tmux": True, "wayland": True, "osc52": False}


def test_choose_passes_over_what_is_not_installed(tmp_path):
    """Without xclip, xsel is taken; without both, tmux."""
    environment = {"PATH": programs(tmp_path, "xsel", "tmux"), "DISPLAY": ":0", "TMUX": "s,1,0"}
    assert choose("auto", environment, "linux").name == "xsel"
    os.unlink(tmp_path / "bin" / "xsel")
    assert choose("auto", environment, "linux").name == "tmux"


def test_choose_passes_over_what_does_not_work(tmp_path):
    """A display that is set but gone does not stop the search."""
    path = programs(tmp_path, "xclip", "tmux", "wl-copy", "wl-paste")
    (tmp_path / "bin" / "xclip").write_text(
        '#!/bin/sh\necho "Error: Can\'t open display: $DISPLAY" >&2\nexit 1\n'
    )
    (tmp_path / "bin" / "wl-paste").write_text(
        "#!/bin/sh\necho 'Failed to connect to a Wayland server' >&2\nexit 1\n"
    )
    environment = {"PATH": path, "DISPLAY": ":9", "WAYLAND_DISPLAY": "wayland-9", "TMUX": "s,1,0"}
    assert choose("auto", environment, "linux").name == "tmux"


def test_choose_none(tmp_path, monkeypatch):
    """When there is none, everything looked for is named, and what to install."""
    monkeypatch.setattr("clip_harness.adapters.terminal.TERMINAL", str(tmp_path / "no-terminal"))
    environment = {"PATH": str(tmp_path), "DISPLAY": ":9"}
    assert problem_of(choose, "auto", environment, "linux") == (
        ClipboardUnavailable,
        "system",
        74,
        (
            "no clipboard was found; looked for wsl (not inside WSL), macos (not macOS), "
            "wayland (WAYLAND_DISPLAY is not set), xclip (xclip is not installed), "
            "xsel (xsel is not installed), tmux (TMUX is not set), "
            "osc52 (there is no terminal to send the text to)"
        ),
        (
            "install the package xclip, or set CLIP_HARNESS_CLIPBOARD_FILE to a file that serves "
            "as the clipboard"
        ),
    )
    remedies = [
        problem_of(choose, "auto", {"PATH": str(tmp_path), **more}, "linux")[4].split(", or ")[0]
        for more in ({"WAYLAND_DISPLAY": "w"}, {})
    ]
    assert remedies == [
        "install the package wl-clipboard",
        "start this from a desktop session with wl-clipboard or xclip installed",
    ]


@pytest.mark.parametrize(
    ("name", "missing", "hint"),
    [
        ("xclip", "xclip", "install the package xclip"),
        ("xsel", "xsel", "install the package xsel"),
        ("wayland", "wl-copy", "install the package wl-clipboard"),
        ("tmux", "tmux", "install the package tmux"),
        ("macos", "pbcopy", None),
    ],
)
def test_choose_one_that_is_not_installed(tmp_path, name, missing, hint):
    """The clipboard asked for is the one used, or there is none."""
    assert problem_of(choose, name, {"PATH": str(tmp_path)}, "linux") == (
        ClipboardUnavailable,
        "system",
        74,
        f"{missing} is not installed",
        hint,
    )


def test_choose_a_name_that_means_nothing():
    assert problem_of(choose, "auto", {"CLIP_HARNESS_CLIPBOARD": "gtk"}) == (
        Problem,
        "settings",
        65,
        "CLIP_HARNESS_CLIPBOARD is 'gtk', which is no clipboard",
        "use auto, file, wsl, macos, wayland, xclip, xsel, tmux, osc52",
    )


def test_choose_file_without_a_file():
    assert problem_of(choose, "file", {}) == (
        Problem,
        "settings",
        65,
        "the setting clipboard is 'file', but no file is named",
        "set CLIP_HARNESS_CLIPBOARD_FILE to its path",
    )


def test_names_are_those_of_the_settings():
    """What the settings accept is what can be chosen."""
    from ch_contract.checker import load

    properties = load("settings.schema.json")["properties"]
    assert sorted(properties["clipboard"]["enum"]) == sorted(["auto", *NAMES])
