"""The shell that runs a command, and the language it speaks.

The gate reads a command in the language of the shell that will run it, and the runner runs it in
no other: both ask here (R131).
"""

from __future__ import annotations

import os

from .problems import Problem

DIALECTS = {"bash": "bash", "zsh": "zsh", "dash": "posix", "sh": "posix", "ksh": "mksh"}
FOLDERS = ("/bin", "/usr/bin", "/usr/local/bin", "/opt/homebrew/bin", "/opt/local/bin")


class Shell:
    """A shell: its absolute path, its dialect, and the login shell it stands in for."""

    __slots__ = ("dialect", "instead_of", "path")

    def __init__(self, path: str, dialect: str, instead_of: str | None) -> None:
        self.path = path
        self.dialect = dialect
        self.instead_of = instead_of


def find(name: str) -> str | None:
    """The absolute path of the shell `name`, looked for in a fixed list of folders."""
    for folder in FOLDERS:
        path = os.path.join(folder, name)
        if _is_program(path):
            return path
    return None


def _is_program(path: str) -> bool:
    return os.path.isfile(path) and os.access(path, os.X_OK)


def login_shell() -> str:
    """The user's login shell as the password database has it; `$SHELL` where it has none."""
    import pwd

    try:
        return pwd.getpwuid(os.getuid()).pw_shell or os.environ.get("SHELL", "")
    except KeyError:
        return os.environ.get("SHELL", "")


def of_user() -> str | None:
    """The shell that the user's settings name; None when they name none.

    Reads that one key: the gate needs it before it reads any other. Raises Problem("settings") when
    the file or this key cannot be understood.
    """
    from . import places
    from .documents import check
    from .settings_file import read_values

    path = places.user_settings()
    values = read_values(path)
    if values is None or "shell" not in values:
        return None
    check({"shell": values["shell"]}, "settings.schema.json", path, kind="settings")
    return str(values["shell"])


def resolve(setting: str | None, login: str) -> Shell:
    """The shell for a command: the setting's, else the login shell where it is readable, else bash.

    Raises Problem("system") when that shell is not installed.
    """
    name = setting or os.path.basename(login)
    readable = name in DIALECTS
    if not readable:
        name = "bash"
    # the login shell itself, where it lies in one of the folders: there may be another of its name
    own = os.path.basename(login) == name and os.path.dirname(login) in FOLDERS
    path = login if own and _is_program(login) else find(name)
    if path is None:
        raise Problem(
            "system",
            f"the shell {name} was not found in {', '.join(FOLDERS)}",
            "install it, or set shell in your settings to one that is there",
        )
    return Shell(path, DIALECTS[name], None if readable or not login else login)
