"""The shell that runs a command, and the language it speaks."""

from __future__ import annotations

import os

import pytest

from ch_contract import shells
from ch_contract.problems import Problem


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """Put shells into two folders, which stand for the fixed list."""
    folders = tuple(str(tmp_path / name) for name in ("one", "two"))
    for folder in folders:
        os.mkdir(folder)
    monkeypatch.setattr(shells, "FOLDERS", folders)

    def install(*names):
        for name in names:
            path = os.path.join(tmp_path, name)
            with open(path, "w") as file:
                file.write("#!/bin/sh\n")
            os.chmod(path, 0o755)
        return str(tmp_path)

    return install


# setting, login shell, what is installed -> path, dialect, instead of
TABLE = {
    "login bash": (None, "{0}/one/bash", "one/bash", "one/bash", "bash", None),
    "login zsh": (None, "{0}/one/zsh", "one/zsh one/bash", "one/zsh", "zsh", None),
    "login dash": (None, "{0}/two/dash", "two/dash", "two/dash", "posix", None),
    "login ksh": (None, "{0}/two/ksh", "two/ksh", "two/ksh", "mksh", None),
    "login sh": (None, "{0}/one/sh", "one/sh", "one/sh", "posix", None),
    "login fish": (None, "{0}/one/fish", "one/fish two/bash", "two/bash", "bash", "{0}/one/fish"),
    "login nu": (None, "/opt/nu", "one/bash", "one/bash", "bash", "/opt/nu"),
    "login pwsh": (None, "/usr/bin/pwsh", "one/bash", "one/bash", "bash", "/usr/bin/pwsh"),
    "nologin": (None, "/sbin/nologin", "one/bash", "one/bash", "bash", "/sbin/nologin"),
    "no login shell": (None, "", "one/bash", "one/bash", "bash", None),
    "setting": ("zsh", "{0}/one/bash", "one/bash two/zsh", "two/zsh", "zsh", None),
    "setting over fish": ("dash", "/bin/fish", "one/dash", "one/dash", "posix", None),
    "the login shell's own path": (None, "{0}/two/bash", "one/bash two/bash", "two/bash", "bash", None),
    "the setting names the login shell": ("bash", "{0}/two/bash", "one/bash two/bash", "two/bash", "bash", None),
    "a login shell elsewhere": (None, "/home/me/bin/bash", "one/bash", "one/bash", "bash", None),
    "a login shell that is gone": (None, "{0}/two/bash", "one/bash", "one/bash", "bash", None),
}  # fmt: skip


@pytest.mark.parametrize("row", TABLE.values(), ids=TABLE)
def test_resolve(row, installed):
    setting, login, present, path, dialect, instead_of = row
    root = installed(*present.split())
    found = shells.resolve(setting, login.format(root))
    assert (found.path, found.dialect, found.instead_of) == (
        f"{root}/{path}",
        dialect,
        instead_of and instead_of.format(root),
    )


@pytest.mark.parametrize(
    ("setting", "login", "name"), [("zsh", "/bin/bash", "zsh"), (None, "", "bash")]
)
def test_a_shell_that_is_not_installed(installed, setting, login, name):
    root = installed()
    with pytest.raises(Problem) as caught:
        shells.resolve(setting, login)
    assert (caught.value.kind, caught.value.message, caught.value.hint) == (
        "system",
        f"the shell {name} was not found in {root}/one, {root}/two",
        "install it, or set shell in your settings to one that is there",
    )


def test_a_folder_or_a_plain_file_is_no_shell(installed, tmp_path):
    os.mkdir(tmp_path / "one" / "bash")
    (tmp_path / "two" / "bash").write_text("")
    installed()
    assert shells.find("bash") is None


def test_path_has_no_say(installed, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    installed("bash")
    assert shells.find("bash") is None


def test_every_folder_of_the_fixed_list_is_absolute():
    assert all(os.path.isabs(folder) for folder in shells.FOLDERS)


def test_the_login_shell_is_that_of_the_password_database(monkeypatch):
    import pwd

    monkeypatch.setenv("SHELL", "/bin/other")
    assert shells.login_shell() == (pwd.getpwuid(os.getuid()).pw_shell or "/bin/other")


@pytest.mark.parametrize(("value", "expected"), [("/bin/other", "/bin/other"), (None, "")])
def test_a_user_without_an_entry_has_the_shell_of_the_environment(monkeypatch, value, expected):
    import pwd

    def nobody(_):
        raise KeyError

    monkeypatch.setattr(pwd, "getpwuid", nobody)
    if value:
        monkeypatch.setenv("SHELL", value)
    assert shells.login_shell() == expected
