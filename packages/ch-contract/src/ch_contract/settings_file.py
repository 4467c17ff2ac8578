"""Reading one settings file; what its keys mean together is settings.py's."""

from __future__ import annotations

import os

from . import documents, files
from .problems import Problem

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# Written by hand; a project's file is a stranger's.
LIMIT_BYTES = 1024 * 1024

HINT = "correct the file; nothing runs until it can be read"


def read_bytes(path: str) -> bytes | None:
    """The bytes of one file, as far as they may be settings; None when there is no such file.

    A link is followed: the settings are the bytes it gives. Raises Problem("settings") when it
    leads to nothing, Problem("system") when the file cannot be read.
    """
    data = files.read(path, LIMIT_BYTES + 1)
    if data is None and os.path.islink(path):
        # somebody meant settings to be in force
        raise Problem("settings", f"{path}: it is a link to a file that is not there", HINT)
    return data


def _parse(data: bytes, path: str) -> dict[str, Any]:
    """The keys and values in `data`, unchecked."""
    try:
        values = documents.parse_json(data, path, LIMIT_BYTES)
    except Problem as problem:
        raise Problem("settings", problem.message, HINT) from None
    if not isinstance(values, dict):
        raise Problem(
            "settings", f"{path}: the document: {values!r:.80} is not of type 'object'", HINT
        )
    return values


def parse(data: bytes, path: str) -> dict[str, Any]:
    """The settings in `data`, which was read from `path`, checked.

    Raises Problem("settings") that names file and key.
    """
    values = _parse(data, path)
    try:
        documents.check(values, "settings.schema.json", path, kind="settings")
    except Problem as problem:
        raise Problem("settings", problem.message, HINT) from None
    return values


def read_values(path: str) -> dict[str, Any] | None:
    """The keys and values in one file, unchecked; None when there is no such file.

    For whoever needs one key and must not depend on the others. Raises Problem("settings") that
    names the file when it holds no JSON object, or is a link to nothing.
    """
    data = read_bytes(path)
    return None if data is None else _parse(data, path)


def read_file(path: str) -> dict[str, Any] | None:
    """The settings in one file, checked; None when there is no such file.

    Raises Problem("settings") that names file and key.
    """
    data = read_bytes(path)
    return None if data is None else parse(data, path)
