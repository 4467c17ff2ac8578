"""Which settings files of projects the user trusts: a set of hashes for each real folder.

Decides what is kept and how it changes; what an untrusted file may say is settings.py's. A set, so
that a folder whose file changes with the branch keeps what was trusted on each. The hash is of the
bytes a file gives, whether it is reached through a link or not, and the folder is the one all links
lead to: the same bytes in another folder are not trusted.
"""

from __future__ import annotations

import os

from . import documents, files

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from .messages import Trust

    Trusted = dict[str, set[str]]

FORMAT = "clip-harness/trust@1"
SCHEMA = "store/trust.schema.json"
HINT = (
    "no project is trusted while it is so, and nothing runs where one has settings;"
    " remove that file, then run clip-harness trust again where you want it"
)


def store_path(state: str) -> str:
    """The file that holds the hashes, in the state folder `state`."""
    return os.path.join(state, "trust.json")


def lock_path(state: str) -> str:
    """Its lock. Readers need none: the file is replaced whole."""
    return os.path.join(state, "trust.lock")


def folder_of(path: str) -> str:
    """The real folder that the settings file `path` (`FOLDER/.clip-harness/settings.json`) is of.

    Wherever the file or `.clip-harness` may be linked to, it is the settings of that folder.
    """
    return os.path.realpath(os.path.dirname(os.path.dirname(path)))


def read(state: str) -> Trusted:
    """The trusted hashes of every folder; {} when nothing was ever trusted.

    Raises Problem("settings") when the store is damaged, Problem("system") when it cannot be read.
    """
    store = documents.kept(store_path(state), SCHEMA, kind="settings", hint=HINT)
    if store is None:
        return {}
    found: Trusted = {}
    for entry in store["folders"]:
        found.setdefault(entry["folder"], set()).update(entry["sha256"])
    return found


def add(state: str, folder: str, sha256: str, announce: Callable[[], None]) -> bool:
    """Trust the file of `folder` whose bytes have the hash `sha256`; whether it was not before.

    `announce` is called before anything is written, and what it raises leaves the store as it was.
    Raises Problem as `read` does, Problem("busy") when the lock cannot be had, Problem("document")
    for a folder whose name is not UTF-8, Problem("system") when the store cannot be written.
    """
    files.private_folder(state)
    with files.lock(lock_path(state)):
        store = read(state)
        if sha256 in store.get(folder, ()):
            return False
        store.setdefault(folder, set()).add(sha256)
        _write(state, store, announce)
    return True


def revoke(state: str, folder: str, announce: Callable[[], None]) -> int:
    """Trust no file of `folder` any more; gives how many hashes were trusted.

    `announce` and what is raised are as with `add`; `announce` is not called when there were none.
    """
    if not os.path.lexists(store_path(state)):
        return 0
    with files.lock(lock_path(state)):
        store = read(state)
        count = len(store.pop(folder, ()))
        if count:
            _write(state, store, announce)
    return count


def _write(state: str, store: Trusted, announce: Callable[[], None]) -> None:
    """Replace the store. The caller holds the lock."""
    value: Trust = {
        "format": FORMAT,
        "folders": [
            {"folder": folder, "sha256": sorted(store[folder])} for folder in sorted(store)
        ],
    }
    documents.check(value, SCHEMA, "trust.json to write", kind="bug")
    data = documents.encode(value)
    announce()
    files.write_atomic(store_path(state), data)
