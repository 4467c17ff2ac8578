"""Commands that a person allowed for one session: exactly these texts, each in its folder.

A grant answers for the person where they have answered already. It is no setting and is written to
none; it lies with the state, and a command that differs in one character is another command.
"""

from __future__ import annotations

import os

from ch_contract import documents, files
from ch_contract.quiet_hashlib import hexdigest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ch_contract.messages import Grants

FORMAT = "clip-harness/grants@1"
SCHEMA = "store/grants.schema.json"


def store_path(state: str, session: str) -> str:
    """The file that holds the grants of `session`."""
    return os.path.join(state, "grants", f"{session}.json")


def read(state: str, session: str) -> set[str]:
    """The hashes of the commands allowed for `session`.

    Raises Problem("document") when the store is damaged, Problem("system") when it cannot be read.
    """
    hint = "remove that file: then every command is asked about again"
    value = documents.kept(store_path(state, session), SCHEMA, hint=hint)
    return set() if value is None else set(value["commands"])


def key(cwd: str, command: str) -> str:
    """The hash that stands for a command: the same text in another folder is another command."""
    return hexdigest(documents.encode([cwd, command]))


def add(state: str, session: str, cwd: str, command: str) -> None:
    """Allow `command` in `cwd` for `session`. Raises as `read` does, Problem("busy")."""
    path = store_path(state, session)
    folder = files.private_folder(os.path.dirname(path))
    with files.lock(os.path.join(folder, ".lock")):
        known = read(state, session) | {key(cwd, command)}
        value: Grants = {"format": FORMAT, "session": session, "commands": sorted(known)}
        documents.check(value, SCHEMA, "grants to write", kind="bug")
        files.write_atomic(path, documents.encode(value))
