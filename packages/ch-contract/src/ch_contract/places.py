"""Where things lie: the home, configuration and state folders, and the project.

The user's settings alone name another state folder; a project's file has no say in it.
"""

from __future__ import annotations

import os

from .problems import Problem, refusal

STATE = (".local", "state", "clip-harness")
CONFIG = (".config", "clip-harness")


def home() -> str:
    """The user's home folder, absolute. Raises Problem("system") when there is none."""
    # an empty HOME is none: `expanduser` would make it `/`
    path = os.environ.get("HOME") or _home_of_user()
    if not os.path.isabs(path):
        raise Problem("system", "there is no home folder", "set HOME to an absolute path")
    return os.path.normpath(path)


def _home_of_user() -> str:
    import pwd

    try:
        return pwd.getpwuid(os.getuid()).pw_dir
    except KeyError:
        return ""


def config_dir() -> str:
    """The folder of the user's settings."""
    return os.path.join(home(), *CONFIG)


def user_settings() -> str:
    """The user's settings file."""
    return os.path.join(config_dir(), "settings.json")


def project_settings(cwd: str, project: str | None) -> list[str]:
    """The project's settings files that count in `cwd`: the project root's, then that of `cwd`.

    Both, so that a payload that picks its working folder does not pick a way around the root's.
    Raises Problem("system") when nobody can tell whether there is one: what it forbids must not
    be passed over.
    """
    found: dict[str, str] = {}
    for folder in (project, cwd):
        if folder is not None:
            path = os.path.join(folder, ".clip-harness", "settings.json")
            if path != user_settings() and _exists(path):
                # a link to the project's root has no settings of its own
                found.setdefault(os.path.realpath(folder), path)
    return list(found.values())


def _exists(path: str) -> bool:
    """Whether something has the name `path`. Raises Problem("system") when that cannot be told."""
    try:
        os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError as error:
        raise refusal(error, "read", path) from None
    return True


def default_state_dir() -> str:
    """The state folder when no setting names another."""
    return os.path.join(home(), *STATE)


def state_dir() -> str:
    """The state folder in force, absolute.

    Reads one key of the user's settings; a fault in another key is for whoever reads that one.
    Raises Problem("settings") when the file or this key cannot be understood: state must not end
    up in a folder the user did not mean.
    """
    from .documents import check
    from .settings_file import read_values

    path = user_settings()
    values = read_values(path)
    if values is None or "state_dir" not in values:
        return default_state_dir()
    wanted: str = values["state_dir"]
    check({"state_dir": wanted}, "settings.schema.json", path, kind="settings")
    if wanted == "~" or wanted.startswith("~/"):
        wanted = home() + wanted[1:]
    folder = os.path.expanduser(wanted)
    if not os.path.isabs(folder):
        raise Problem(
            "settings",
            f"{path}: state_dir: there is no user whose home {wanted!r} could mean",
            "name the folder by its absolute path",
        )
    return os.path.normpath(folder)


def run_dir(state: str, run_id: str) -> str:
    """The folder of one run's payload, output and record."""
    return os.path.join(state, "runs", run_id)


def candidates(state: str) -> str:
    """The folder that holds every candidate's folder."""
    return os.path.join(state, "candidates")


def candidate_dir(state: str, candidate_id: str) -> str:
    """The folder of one candidate."""
    return os.path.join(candidates(state), candidate_id)


def applying(state: str) -> str:
    """The folder of the intents: a file for every apply that has no end yet."""
    return os.path.join(state, "applying")


def ledger(state: str) -> str:
    """The ledger of a state folder."""
    return os.path.join(state, "ledger.jsonl")


def ledger_lock(state: str) -> str:
    """The lock of the ledger."""
    return os.path.join(state, "ledger.lock")


def open_run(state: str, run_id: str) -> str:
    """The file that says that a run has no end yet."""
    return os.path.join(state, "open", f"{run_id}.json")


def project_root(cwd: str) -> str | None:
    """The root of the git work tree around `cwd`, else `cwd`; None where that is no project.

    `/`, a top-level folder, the home folder and what lies above it are no project: a payload
    chooses its working folder, and must not thereby choose what counts as inside (R071a).
    """
    real = os.path.realpath(cwd)
    root = real
    folder = real
    while True:
        if os.path.lexists(os.path.join(folder, ".git")):
            root = folder
            break
        above = os.path.dirname(folder)
        if above == folder:
            break
        folder = above
    own = os.path.realpath(home())
    if os.path.dirname(root) in ("/", root) or (own + "/").startswith(root + "/"):
        return None
    return root
