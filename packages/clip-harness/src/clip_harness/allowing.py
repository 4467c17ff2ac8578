"""Always-allow: an entry that a person gave in a review, put where it will be read.

Into the project's settings file only where that is the person's own: absent, or trusted already.
Otherwise into the user's state, for this folder alone. The ledger's line comes first.
"""

from __future__ import annotations

import json
import os

from ch_contract import allowed, documents, files, places, problems, settings, trust
from ch_contract.quiet_hashlib import hexdigest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from clip_harness.runners import Runner


def place(cwd: str, project: str | None) -> str:
    """The file an entry for a command in `cwd` would go into."""
    folder = os.path.realpath(project or cwd)
    path = os.path.join(folder, ".clip-harness", "settings.json")
    if not os.path.lexists(path):
        return path
    found = [file for file in settings.of_project(cwd, project) if file.path == path]
    is_own = bool(found) and found[0].is_trusted
    return path if is_own else allowed.store_path(places.state_dir())


def allow(cwd: str, project: str | None, pattern: str, runner: Runner) -> str:
    """Allow `pattern` from now on; gives the file it went into.

    Raises Problem when the ledger or the file cannot be written: nothing is allowed then.
    """
    path = place(cwd, project)
    folder = os.path.realpath(project or cwd)

    def announce() -> None:
        _record(runner, folder, f"always allows {json.dumps(pattern, ensure_ascii=False)} ({path})")

    if path == allowed.store_path(places.state_dir()):
        allowed.add(places.state_dir(), folder, pattern, announce)
        return path
    data = files.read(path, documents.LIMIT_BYTES + 1)
    values = documents.parse_json(data, path) if data is not None else {}
    entries = values.get("allowlist", [])
    if pattern in entries:
        return path
    values["allowlist"] = [*entries, pattern]
    documents.check(values, "settings.schema.json", path, kind="settings")
    written = (json.dumps(values, indent=2, ensure_ascii=False) + "\n").encode()
    announce()
    if not os.path.isdir(os.path.dirname(path)):
        files.make_folder(os.path.dirname(path))
    files.write_atomic(path, written, 0o644)
    # these very bytes are the person's: they were trusted before, and the entry was just given
    trust.add(places.state_dir(), trust.folder_of(path), hexdigest(written), lambda: None)
    return path


def _record(runner: Runner, folder: str, note: str) -> None:
    """Put the change into the ledger. Raises Problem when it cannot be, in ch-receipt's words."""
    argv = ["config", "--cwd", folder, "--note", note[:600]]
    done = runner.run("ch-receipt", argv, b"")
    if done.code != problems.OK:
        raise done.failure("ch-receipt")
