"""The clipboards of macOS and Windows, by programs that behave as theirs are reported to do."""

import json
import os
from pathlib import Path

import pytest

from ch_contract.problems import Problem
from clip_harness.adapters import wsl
from clip_harness.adapters.choice import choose
from clip_harness.adapters.clipboard import (
    ClipboardEmpty,
    ClipboardNotText,
    ClipboardUnavailable,
)

STANDINS = Path(__file__).parent / "standins"
# every line end, a character outside the basic plane, one only MacRoman and one only cp437 lacks
TEXT = ("héllo — “x” 😀 č ﬁ\n\ttab\n\n" * 3000) + "last\n"
TEXTS = {
    "mixed": TEXT,
    "no-newline": "no newline at the end",
    "one": "é",
    "newline": "\n",
    "large": "0123456789abcdé\n" * 62_500,
}


def problem_of(act, *arguments):
    with pytest.raises(Problem) as raised:
        act(*arguments)
    problem = raised.value
    return type(problem), problem.code, problem.message


def calls(state):
    return [json.loads(line) for line in (state / "calls").read_text().splitlines()]


@pytest.fixture
def environment(tmp_path):
    return {"PATH": os.environ["PATH"], "STANDIN_STATE": str(tmp_path)}


@pytest.fixture
def macos(environment):
    path = f"{STANDINS / 'macos'}{os.pathsep}{environment['PATH']}"
    # what a hotkey gives: no locale that knows UTF-8, or one that says otherwise
    return choose("macos", {**environment, "PATH": path, "LC_CTYPE": "C", "LANG": "en_US.UTF-8"})


@pytest.fixture
def windows(environment):
    path = f"{STANDINS / 'wsl'}{os.pathsep}{environment['PATH']}"
    return choose("auto", {**environment, "PATH": path, "WSL_DISTRO_NAME": "Debian"})


# macOS


@pytest.mark.parametrize("name", TEXTS)
def test_macos_round_trip(macos, tmp_path, name):
    """UTF-8 survives, whatever the locale of the caller is."""
    macos.write(TEXTS[name].encode())
    assert (tmp_path / "text").read_bytes() == TEXTS[name].encode()
    assert macos.read() == TEXTS[name].encode()


def test_macos_keeps_carriage_returns(macos):
    macos.write(b"a\r\nb\rc")
    assert macos.read() == b"a\r\nb\rc"


def test_macos_calls(macos, tmp_path):
    """The locale is forced in both programs; the writer's outputs lead nowhere."""
    macos.write(b"x")
    macos.read()
    write, read = calls(tmp_path)
    assert write == {
        "program": "pbcopy",
        "arguments": [],
        "LC_ALL": "en_US.UTF-8",
        "input": b"x".hex(),
        "outputs": ["/dev/null", "/dev/null"],
    }
    assert (read["program"], read["arguments"], read["LC_ALL"]) == (
        "pbpaste",
        ["-Prefer", "txt"],
        "en_US.UTF-8",
    )


def test_macos_stand_in_needs_the_locale(environment):
    """The stand-in does damage the text without it: the tests above prove something."""
    import subprocess

    program = str(STANDINS / "macos" / "pbcopy")
    subprocess.run([program], input="é".encode(), env={**environment, "LC_CTYPE": "C"}, check=True)
    assert Path(environment["STANDIN_STATE"], "text").read_text() == "√©"


@pytest.mark.parametrize(
    ("kinds", "expected"),
    [
        ("", (ClipboardEmpty, 65, "the clipboard is empty")),
        (
            "«class utf8», 0, «class ut16», 2, string, 0, Unicode text, 0",
            (ClipboardEmpty, 65, "the clipboard is empty"),
        ),
        (
            "«class PNGf», 3254, «class 8BPS», 9000, TIFF picture, 222, JPEG picture, 12",
            (
                ClipboardNotText,
                65,
                "the clipboard holds no text but «class PNGf», «class 8BPS», TIFF picture",
            ),
        ),
    ],
)
def test_macos_nothing_to_read(macos, tmp_path, kinds, expected):
    """pbpaste prints nothing for an image too; the two are told apart."""
    (tmp_path / "kinds").write_text(kinds)
    assert problem_of(macos.read) == expected


def test_macos_change(macos, tmp_path):
    """The pasteboard's count."""
    assert macos.change() == "7"
    (tmp_path / "text-copies").write_text("8")
    assert macos.change() == "8"
    (tmp_path / "text-copies").write_text("no count")
    assert macos.change() is None


# Windows


@pytest.mark.parametrize("name", TEXTS)
def test_wsl_round_trip(windows, tmp_path, name):
    r"""The text arrives whole, and comes back with `\n` as its only line end."""
    windows.write(TEXTS[name].encode())
    assert (tmp_path / "text").read_bytes() == TEXTS[name].encode()
    assert windows.read() == TEXTS[name].encode()


@pytest.mark.parametrize(
    ("held", "read"),
    [
        ("a\r\nb\r\n", b"a\nb\n"),
        ("a\r\nb", b"a\nb"),
        ("a\n\n", b"a\n\n"),
        ("é", "é".encode()),
        ("x\ry", b"x\ry"),
    ],
)
def test_wsl_line_ends(windows, tmp_path, held, read):
    """CR LF becomes LF, and only the newline that PowerShell adds is dropped."""
    (tmp_path / "text").write_bytes(held.encode())
    assert windows.read() == read


def test_wsl_calls(windows, tmp_path):
    """A text is neither in a command line nor on standard input; the file is gone afterwards."""
    windows.write(TEXTS["large"].encode())
    windows.read()
    write, read = calls(tmp_path)
    assert [write["arguments"][:2], write["input"]] == [["-NoProfile", "-Command"], ""]
    assert len(write["arguments"][2]) < 500
    name = write["arguments"][2].split("'")[3].replace("\\", "/")
    folder = name.removeprefix("//wsl.localhost/Debian").rpartition("/")[0]
    assert folder.rpartition("/")[2].startswith("clip-harness-")
    assert not os.path.exists(folder)
    assert read["arguments"] == [
        "-NoProfile",
        "-Command",
        "[Console]::OutputEncoding=[Text.Encoding]::UTF8; Get-Clipboard -Raw",
    ]


def test_wsl_folder_with_a_quote(windows, tmp_path, monkeypatch):
    """A quote in the name of the folder for temporary files does not end PowerShell's string."""
    folder = tmp_path / "it's"
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    windows.write("é".encode())
    assert (tmp_path / "text").read_text() == "é"
    assert os.listdir(folder) == []


def test_wsl_busy_for_a_moment(windows, tmp_path, monkeypatch):
    """Another program may hold the clipboard: it is tried again."""
    monkeypatch.setattr(wsl, "PAUSES", (0, 0, 0))
    (tmp_path / "busy").write_text("3")
    windows.write(b"x")
    assert (tmp_path / "text").read_text() == "x"
    assert len(calls(tmp_path)) == 4


def test_wsl_busy_for_long(windows, tmp_path, monkeypatch):
    monkeypatch.setattr(wsl, "PAUSES", (0, 0, 0))
    (tmp_path / "busy").write_text("9")
    assert problem_of(windows.write, b"x") == (
        ClipboardUnavailable,
        74,
        (
            "powershell.exe failed (exit code 1): "
            "Set-Clipboard : Requested Clipboard operation did not succeed."
        ),
    )
    assert len(calls(tmp_path)) == 4
    assert not (tmp_path / "text").exists()


@pytest.mark.parametrize(
    ("kinds", "expected"),
    [
        ("", (ClipboardEmpty, 65, "the clipboard is empty")),
        ("Text\nUnicodeText\n", (ClipboardEmpty, 65, "the clipboard is empty")),
        (
            "System.Drawing.Bitmap\nBitmap\n",
            (ClipboardNotText, 65, "the clipboard holds no text but System.Drawing.Bitmap, Bitmap"),
        ),
    ],
)
def test_wsl_nothing_to_read(windows, tmp_path, kinds, expected):
    (tmp_path / "kinds").write_text(kinds)
    assert problem_of(windows.read) == expected


def test_wsl_without_powershell(environment, monkeypatch, tmp_path):
    """Inside WSL with its border closed, the next clipboard is looked for."""
    monkeypatch.setattr(wsl, "USUAL_PLACE", str(tmp_path / "missing"))
    assert problem_of(choose, "wsl", environment) == (
        ClipboardUnavailable,
        74,
        "powershell.exe is not installed",
    )


def test_wsl_with_windows_kept_out_of_path(environment, monkeypatch, tmp_path):
    monkeypatch.setattr(wsl, "USUAL_PLACE", str(STANDINS / "wsl" / "powershell.exe"))
    (tmp_path / "text").write_text("x")
    assert choose("wsl", environment).read() == b"x"
