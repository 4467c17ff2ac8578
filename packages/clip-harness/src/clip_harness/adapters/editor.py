"""Other programs that a review hands the files to: an editor, VS Code, a pager.

They get copies in a private folder, under the files' own names so that they know the language; the
store's own bytes are never lent. What differs afterwards is what was edited.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import tempfile
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Self

    from clip_harness.review import Entry, Subject

# A person needs longer than this to edit anything.
SOON_SECONDS = 1.0


class Copies:
    """Copies of the proposed files, made when they are first needed and removed at the end.

    Unless they are kept: then whoever got the folder removes it.
    """

    __slots__ = ("_folder", "_is_kept", "_subject")

    def __init__(self, subject: Subject) -> None:
        self._subject = subject
        self._folder: str | None = None
        self._is_kept = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._folder is not None and not self._is_kept:
            shutil.rmtree(self._folder, ignore_errors=True)

    def folder(self) -> str:
        """The private folder they lie in."""
        if self._folder is None:
            self._folder = tempfile.mkdtemp(prefix="clip-harness-review-")
        return self._folder

    def path(self, number: int, entry: Entry) -> str | None:
        """The copy of the `number`th file (from 1); None for one that is deleted."""
        if entry.candidate_path is None:
            return None
        folder = os.path.join(self.folder(), "files", str(number))
        path = os.path.join(folder, os.path.basename(entry.path))
        if not os.path.isdir(folder):
            _copy(entry.candidate_path, folder, path)
        return path

    def all(self) -> list[str]:
        """Every copy."""
        found = (self.path(number, entry) for number, entry in self._numbered())
        return [path for path in found if path is not None]

    def _numbered(self) -> list[tuple[int, Entry]]:
        return list(enumerate(self._subject.entries, 1))

    def edited(self) -> dict[int, bytes]:
        """The bytes of the copies that are no longer as proposed, by the number of their file.

        One that is gone was not edited. Raises OSError when one cannot be read.
        """
        if self._folder is None:
            return {}
        found = {}
        for number, entry in self._numbered():
            path = self.path(number, entry)
            if path is None or entry.candidate_path is None:
                continue
            try:
                with open(path, "rb") as copy, open(entry.candidate_path, "rb") as proposed:
                    data = copy.read()
                    if data != proposed.read():
                        found[number] = data
            except FileNotFoundError:
                continue
        return found

    def names(self, numbers: Iterable[int]) -> str:
        """The paths of files, by their numbers."""
        return ", ".join(self._subject.entries[number - 1].path for number in numbers)

    def keep(self, edited: dict[int, bytes], paths: list[str] | None) -> str | None:
        """The folder with the edited files named by their numbers; None when there is none.

        Of `paths` alone, unless it is None. Raises OSError.
        """
        entries = self._subject.entries
        kept = [
            (number, data)
            for number, data in edited.items()
            if paths is None or entries[number - 1].path in paths
        ]
        for number, data in kept:
            with open(os.path.join(self.folder(), str(number)), "xb") as file:
                file.write(data)
        self._is_kept = bool(kept)
        return self.folder() if kept else None


def _copy(source: str, folder: str, path: str) -> None:
    """Copy a file into a new folder; half a copy would count as edited, so it is none then."""
    os.makedirs(folder, 0o700)
    try:
        shutil.copyfile(source, path)
    except OSError:
        shutil.rmtree(folder, ignore_errors=True)
        raise


def edit(copies: Copies, environment: Mapping[str, str], terminal: int) -> str:
    """Open every copy in the person's editor and wait; gives a sentence on what came of it."""
    command = _setting(environment, "VISUAL", "EDITOR")
    started = time.monotonic()
    try:
        words = shlex.split(command or "vi")
        paths = copies.all()
    except ValueError:
        return f"VISUAL or EDITOR has an open quote: {command}; mend it to edit here"
    except OSError as error:
        return f"the files cannot be copied for an editor: {error.strerror}; nothing was decided"
    if not paths:
        return "there is nothing to edit: the files are only deleted"
    said = _run([*words, *paths], environment, terminal)
    if said is not None:
        hint = "" if command else "; set EDITOR to the editor you like"
        return f"{command or 'vi'}: {said}; nothing was decided{hint}"
    edited = copies.edited()
    if edited:
        files = "1 file was" if len(edited) == 1 else f"{len(edited)} files were"
        return f"{files} edited ({copies.names(edited)}); press a to accept that"
    if time.monotonic() - started < SOON_SECONDS:
        return "nothing was edited; an editor with its own window must wait, as code --wait does"
    return "nothing was edited"


def _setting(environment: Mapping[str, str], *names: str) -> str | None:
    """The first of some variables that says anything."""
    return next((value for name in names if (value := environment.get(name, "").strip())), None)


def code(environment: Mapping[str, str]) -> str | None:
    """The command of VS Code; None when it is not there."""
    return shutil.which("code", path=environment.get("PATH"))


def open_code(
    subject: Subject, copies: Copies, environment: Mapping[str, str], terminal: int
) -> str | None:
    """Show the candidate in VS Code and wait until its window is closed.

    The list of files opens first and is what is waited for; each update beside it as a diff, one
    call each, for VS Code opens one diff a call. None when something was saved there; else a
    sentence, for nothing was decided.
    """
    program = code(environment)
    if program is None:
        return "VS Code is not there"
    try:
        before = copies.edited()
        shown, beside = _for_code(subject, copies)
        with subprocess.Popen(
            [program, "--new-window", "--wait", *shown],
            stdin=terminal, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            env=dict(environment),
        ) as window:  # fmt: skip
            for pair in beside:
                said = _run([program, "--reuse-window", "--diff", *pair], environment, terminal)
                if said is not None:
                    return f"VS Code: {said}; nothing was decided"
            status = window.wait()
        edited = copies.edited()
    except OSError as error:
        return f"VS Code: {error.strerror}; nothing was decided"
    if status < 0:
        return "VS Code is no longer waited for; nothing was decided"
    if status != 0:
        return f"VS Code ended with exit {status}; nothing was decided"
    if not edited or edited == before:
        return "nothing was saved, so nothing was decided"
    return None


def _for_code(subject: Subject, copies: Copies) -> tuple[list[str], list[tuple[str, str]]]:
    """What VS Code opens as it is, the list of files first, and the pairs it compares."""
    from clip_harness.review import manifest_line

    manifest = os.path.join(copies.folder(), "files.txt")
    with open(manifest, "w", encoding="utf-8") as file:
        file.write(f"{subject.candidate_id}: close this window when you have looked.\n")
        file.write("What you save in a file on the right is what will be written.\n\n")
        file.writelines(f"{manifest_line(entry)}\n" for entry in subject.entries)
    shown = [manifest]
    beside = []
    for number, entry in enumerate(subject.entries, 1):
        path = copies.path(number, entry)
        if path is None:
            if os.path.exists(entry.live_path):
                shown.append(_view_only(entry, copies, number))
        elif entry.actual_op == "UPDATE" and os.path.exists(entry.live_path):
            beside.append((entry.live_path, path))
        else:
            shown.append(path)
    return shown, beside


def _view_only(entry: Entry, copies: Copies, number: int) -> str:
    """A copy of a live file that is to be deleted: changing it means nothing."""
    folder = os.path.join(copies.folder(), "deleted", str(number))
    path = os.path.join(folder, os.path.basename(entry.path))
    if not os.path.isdir(folder):
        _copy(entry.live_path, folder, path)
    return path


def page(text: str, environment: Mapping[str, str], terminal: int) -> bool:
    """Show `text` in the person's pager; whether there was one."""
    try:
        words = shlex.split(_setting(environment, "PAGER") or "less")
        with tempfile.NamedTemporaryFile("w", encoding="utf-8", suffix=".diff") as file:
            file.write(text)
            file.flush()
            return _run([*words, file.name], environment, terminal) is None
    except (OSError, ValueError):
        return False


def _run(words: list[str], environment: Mapping[str, str], terminal: int) -> str | None:
    """Run a program on the terminal and wait; what went wrong, or None."""
    try:
        done = subprocess.run(
            words,
            stdin=terminal,
            stdout=terminal,
            stderr=terminal,
            env=dict(environment),
            check=False,
        )
    except OSError as error:
        return error.strerror or "it cannot be started"
    if done.returncode != 0:
        return f"it ended with exit {done.returncode}"
    return None
