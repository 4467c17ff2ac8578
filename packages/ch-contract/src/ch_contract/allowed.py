"""Allow-list entries that a person gave in a review, for one folder, kept in the user's own state.

They count as the user's own: no project can write here. They are kept here, and not in the
project's settings file, where that file is not trusted: trusting it by the way would trust all of
it.
"""

from __future__ import annotations

import os

from . import documents, files

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from .messages import Allowed

FORMAT = "clip-harness/allowed@1"
SCHEMA = "store/allowed.schema.json"


def store_path(state: str) -> str:
    """The file that holds the entries, in the state folder `state`."""
    return os.path.join(state, "allowed.json")


def read(state: str) -> dict[str, list[str]]:
    """The entries of every folder; {} when none was ever given.

    Raises Problem("settings") when the store is damaged, Problem("system") when it cannot be read.
    """
    hint = "remove that file: then the commands it allowed are asked about again"
    store = documents.kept(store_path(state), SCHEMA, kind="settings", hint=hint)
    if store is None:
        return {}
    return {entry["folder"]: list(entry["allowlist"]) for entry in store["folders"]}


def add(state: str, folder: str, pattern: str, announce: Callable[[], None]) -> bool:
    """Allow `pattern` in `folder`; whether it was not before.

    `announce` is called before anything is written, and what it raises leaves the store as it was.
    Raises Problem as `read` does, Problem("busy") when the lock cannot be had.
    """
    files.private_folder(state)
    with files.lock(os.path.join(state, "allowed.lock")):
        store = read(state)
        if pattern in store.get(folder, ()):
            return False
        store.setdefault(folder, []).append(pattern)
        value: Allowed = {
            "format": FORMAT,
            "folders": [{"folder": name, "allowlist": store[name]} for name in sorted(store)],
        }
        documents.check(value, SCHEMA, "allowed.json to write", kind="bug")
        data = documents.encode(value)
        announce()
        files.write_atomic(store_path(state), data)
    return True
