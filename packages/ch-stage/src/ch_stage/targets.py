"""Which file a change means, and whether it may be one at all.

A path is taken as a shell in the working folder would take it, and refused whenever it is not what
it seems: outside the folder, behind a link, a link or device itself, inside `.git`, or a second
name for a file that is there under another spelling.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import unicodedata

from ch_contract import files
from ch_contract.problems import Problem, refusal, visible

LIMIT_BYTES = 64 << 20
KINDS = (
    (stat.S_ISLNK, "a symbolic link"),
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISBLK, "a device"),
    (stat.S_ISCHR, "a device"),
)


class Target:
    """The file of one change: `path` below the working folder, and what stands there now.

    `data` and `mode` (permission bits) are None when there is no file.
    """

    __slots__ = ("abs_path", "data", "mode", "path")

    def __init__(self, path: str, abs_path: str, data: bytes | None, mode: int | None) -> None:
        self.path = path
        self.abs_path = abs_path
        self.data = data
        self.mode = mode


class Folder:
    """The working folder that changes are relative to; what was listed of the disk is kept."""

    __slots__ = ("_names", "cwd", "real")

    def __init__(self, cwd: str, project: str | None) -> None:
        if project is None:
            raise Problem(
                "refused",
                f"{cwd} belongs to no project, so no file of it can be changed",
                "name a folder inside one with cwd:",
            )
        self.cwd = cwd
        self.real = os.path.realpath(cwd)
        self._names: dict[str, dict[str, list[str]]] = {}

    def target(self, path: str) -> Target:
        """The file that `path` means, read.

        Raises Problem("refused") for what may not be changed, Problem("system") for what cannot be
        read.
        """
        try:
            return self._target(path)
        except OSError as error:
            if error.errno == errno.ENAMETOOLONG:
                raise refused(path[:60] + "…", "is a longer name than the disk takes") from None
            if error.errno == errno.ELOOP:
                raise refused(path, "leads through a link that leads to itself") from None
            raise refusal(error, "read", visible(path)) from None

    def _target(self, path: str) -> Target:
        shown = self._below(path)
        parts = shown.split("/")
        if any(part.casefold() == ".git" for part in parts):
            raise refused(path, "lies inside .git, which no payload may change")
        parent = os.path.realpath(os.path.join(self.real, *parts[:-1]))
        if not _is_within(parent, self.real):
            raise refused(path, f"leads through a link out of {self.cwd}")
        if os.path.realpath(os.path.join(self.cwd, os.path.dirname(path))) != parent:
            raise refused(path, "leads through a link and back with .., to another place")
        if any(part.casefold() == ".git" for part in parent.split("/")):
            raise refused(path, "leads into .git, which no payload may change")
        self._check_spelling(path, parts)
        abs_path = os.path.join(parent, parts[-1])
        try:
            found = os.lstat(abs_path)
        except FileNotFoundError:
            return Target(shown, abs_path, None, None)
        except NotADirectoryError:
            raise refused(path, "lies below a file, which is no folder") from None
        for is_kind, name in KINDS:
            if is_kind(found.st_mode):
                raise refused(path, f"is {name}, not a file")
        if found.st_size > LIMIT_BYTES:
            raise refused(path, f"is larger than {LIMIT_BYTES:,} bytes")
        with files.open_regular(abs_path) as file:
            return Target(shown, abs_path, file.read(), stat.S_IMODE(found.st_mode))

    def _below(self, path: str) -> str:
        """`path` relative to the working folder, without detours. Raises Problem("refused")."""
        odd = next((sign for sign in path if visible(sign) != sign), None)
        if odd is not None:
            raise refused(path, f"holds U+{ord(odd):04X}, which is not seen")
        if path.startswith("~"):
            raise refused(path, "begins with ~, and no path may leave the working folder")
        if not path or path.endswith(("/", "/.", "/..")) or path in (".", ".."):
            raise refused(path, "names a folder, not a file")
        whole = os.path.normpath(os.path.join(self.cwd, path))
        for folder in (os.path.normpath(self.cwd), self.real):
            if _is_within(whole, folder) and whole != folder:
                return os.path.relpath(whole, folder)
        raise refused(path, f"lies outside the working folder {self.cwd}")

    def _check_spelling(self, path: str, parts: list[str]) -> None:
        """Refuse a name that differs from one that is there in case or Unicode form alone.

        On a disk that folds them it would be that file; on others, a second one that looks alike.
        """
        folder = self.real
        for part in parts:
            names = self._listed(folder)
            twins = names.get(folded(part), ())
            if twins and part not in twins:
                there = os.path.relpath(os.path.join(folder, twins[0]), self.real)
                raise refused(
                    path,
                    f"is spelled otherwise on the disk: {there!a}",
                    "use the name as it is there",
                )
            folder = os.path.join(folder, part)
            if not os.path.isdir(folder):
                return

    def _listed(self, folder: str) -> dict[str, list[str]]:
        """The names in `folder`, by their folded form."""
        if folder not in self._names:
            found: dict[str, list[str]] = {}
            with contextlib.suppress(FileNotFoundError):
                for name in sorted(os.listdir(folder)):
                    found.setdefault(folded(name), []).append(name)
            self._names[folder] = found
        return self._names[folder]


def folded(name: str) -> str:
    """What two spellings of one name have in common: NFC and case folded away."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold())


def check_apart(targets: list[Target]) -> None:
    """Refuse two changes of one file, and a file that would lie below another one.

    Raises Problem("refused").
    """
    seen: dict[str, Target] = {}
    for target in targets:
        key = folded(target.abs_path)
        if key in seen:
            raise refused(
                target.path,
                "is changed twice in one payload",
                "send one change for each file",
            )
        seen[key] = target
    spelled: dict[str, str] = {}
    for target in targets:
        folder = os.path.dirname(target.abs_path)
        while len(folder) > 1:
            if spelled.setdefault(folded(folder), folder) != folder:
                other = os.path.basename(spelled[folded(folder)])
                raise refused(
                    target.path,
                    f"spells a folder {os.path.basename(folder)!a} that another change"
                    f" spells {other!a}",
                    "spell it in one way",
                )
            folder = os.path.dirname(folder)
    for target in targets:
        above = os.path.dirname(folded(target.abs_path))
        while len(above) > 1:
            if above in seen:
                raise refused(target.path, f"lies below {seen[above].path}, which is a file too")
            above = os.path.dirname(above)


def refused(path: str, why: str, hint: str | None = None) -> Problem:
    """The refusal of one change."""
    return Problem(
        "refused",
        f"{visible(path) or 'an empty path'} {why}",
        hint or "nothing was changed; name a plain file inside the project",
    )


def _is_within(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")
