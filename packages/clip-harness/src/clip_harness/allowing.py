"""Always-allow: an entry that a person gave in a review, put where it will be read.

Into the project's settings file only where that is the person's own: absent, or trusted already,
and no link of somebody's making. Otherwise into the user's state, for this folder alone. The
ledger's line comes first, then the trust in the bytes to be written, then the bytes: whatever is
cut off, nothing is allowed that no line tells of, and what was trusted stays so.
"""

from __future__ import annotations

import json
import os
import stat

from ch_contract import allowed, documents, files, places, problems, settings_file, trust
from ch_contract.problems import refusal
from ch_contract.quiet_hashlib import hexdigest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from clip_harness.runners import Runner


def place(cwd: str, project: str | None) -> str:
    """The file an entry for a command in `cwd` would go into."""
    folder = os.path.realpath(project or cwd)
    state = places.state_dir()
    is_own = _own_values(state, folder) is not None
    return _settings_of(folder) if is_own else allowed.store_path(state)


def allow(cwd: str, project: str | None, pattern: str, runner: Runner) -> str:
    """Allow `pattern` from now on; gives the file it went into.

    Raises Problem when the ledger or the file cannot be written: nothing is allowed then.
    """
    folder = os.path.realpath(project or cwd)
    state = places.state_dir()

    def announce(path: str) -> None:
        shown = json.dumps(pattern, ensure_ascii=False)
        note = f"always allows {shown} ({path})"[:600]
        done = runner.run("ch-receipt", ["config", "--cwd", folder, "--note", note], b"")
        if done.code != problems.OK:
            raise done.failure("ch-receipt")

    files.private_folder(state)
    with files.lock(os.path.join(state, "allowing.lock")):
        values = _own_values(state, folder)
        if values is None:
            path = allowed.store_path(state)
            allowed.add(state, folder, pattern, lambda: announce(path))
            return path
        path = _settings_of(folder)
        entries = values.get("allowlist", [])
        if pattern not in entries:
            values["allowlist"] = [*entries, pattern]
            documents.check(values, "settings.schema.json", path, kind="settings")
            data = (json.dumps(values, indent=2, ensure_ascii=False) + "\n").encode()
            announce(path)
            trust.add(state, folder, hexdigest(data), lambda: None)
            _write(path, data)
    return path


def _settings_of(folder: str) -> str:
    return os.path.join(folder, ".clip-harness", "settings.json")


def _own_values(state: str, folder: str) -> dict[str, Any] | None:
    """What the project's file says if it is the person's own; None when it is not theirs to add to.

    The bytes whose hash is trusted are the very bytes that are read.
    """
    path = _settings_of(folder)
    if path == places.user_settings() or _is_link(os.path.dirname(path)) or _is_link(path):
        return None
    data = settings_file.read_bytes(path)
    if data is None:
        return {}
    if hexdigest(data) not in trust.read(state).get(folder, ()):
        return None
    return settings_file.parse(data, path)


def _is_link(path: str) -> bool:
    try:
        return stat.S_ISLNK(os.lstat(path).st_mode)
    except OSError:
        return False


def _write(path: str, data: bytes) -> None:
    """Write the project's file, for all to read as the project's others."""
    folder = os.path.dirname(path)
    if not os.path.isdir(folder):
        try:
            files.make_folder(folder)
        except OSError as error:
            raise refusal(error, "make the folder", folder) from None
    files.write_atomic(path, data, 0o644)
