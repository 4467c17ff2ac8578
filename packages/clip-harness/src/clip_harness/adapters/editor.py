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

from ch_contract.problems import visible

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Self

    from clip_harness.review import Entry, Subject


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
            os.makedirs(folder, 0o700)
            shutil.copyfile(entry.candidate_path, path)
        return path

    def all(self) -> list[str]:
        """Every copy."""
        found = (self.path(number, entry) for number, entry in self._numbered())
        return [path for path in found if path is not None]

    def _numbered(self) -> list[tuple[int, Entry]]:
        return list(enumerate(self._subject.entries, 1))

    def changed(self) -> dict[int, str]:
        """The copies whose bytes differ from what was proposed, by the number of their file."""
        if self._folder is None:
            return {}
        found = {}
        for number, entry in self._numbered():
            path = self.path(number, entry)
            if path is not None and _differ(path, entry.candidate_path):
                found[number] = path
        return found

    def keep(self) -> str | None:
        """The folder with the edited files named by their numbers; None when none was edited."""
        changed = self.changed()
        if not changed:
            return None
        for number, path in changed.items():
            shutil.copyfile(path, os.path.join(self.folder(), str(number)))
        self._is_kept = True
        return self.folder()


def _differ(path: str, other: str | None) -> bool:
    """Whether two files hold other bytes; one that is gone was not edited."""
    try:
        with open(path, "rb") as one, open(other or os.devnull, "rb") as two:
            return one.read() != two.read()
    except FileNotFoundError:
        return False


def edit(copies: Copies, environment: Mapping[str, str], terminal: int) -> str:
    """Open every copy in the person's editor and wait; gives a sentence on what came of it."""
    command = environment.get("VISUAL") or environment.get("EDITOR") or "vi"
    paths = copies.all()
    if not paths:
        return "there is nothing to edit: the files are only deleted"
    said = _run([*shlex.split(command), *paths], environment, terminal)
    if said is not None:
        return f"{visible(command)}: {said}; nothing was decided"
    count = len(copies.changed())
    if not count:
        return "nothing was edited"
    return f"{count} {'file was' if count == 1 else 'files were'} edited; press a to accept that"


def code(environment: Mapping[str, str]) -> str | None:
    """The command of VS Code; None when it is not there."""
    return shutil.which("code", path=environment.get("PATH"))


def open_code(
    subject: Subject, copies: Copies, environment: Mapping[str, str], terminal: int
) -> str:
    """Show the candidate in VS Code and wait until its window is closed.

    The list of files opens first and is what is waited for; each update beside it as a diff. Gives
    a sentence for the case that nothing was saved.
    """
    program = code(environment)
    if program is None:
        return "VS Code is not there"
    manifest = os.path.join(copies.folder(), "files.txt")
    from clip_harness.review import manifest_line

    with open(manifest, "w", encoding="utf-8") as file:
        file.write(f"{subject.candidate_id}: close this window when you have looked.\n")
        file.write("What you save in a file on the right is what will be written.\n\n")
        file.writelines(f"{manifest_line(entry)}\n" for entry in subject.entries)
    shown = [manifest]
    beside = []
    for number, entry in enumerate(subject.entries, 1):
        path = copies.path(number, entry)
        if path is None:
            shown.append(_view_only(entry, copies, number))
        elif entry.actual_op == "UPDATE":
            beside.append([program, "--reuse-window", "--diff", entry.live_path, path])
        else:
            shown.append(path)
    try:
        with subprocess.Popen(
            [program, "--new-window", "--wait", *shown],
            stdin=terminal, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            env=dict(environment),
        ) as window:  # fmt: skip
            for words in beside:
                said = _run(words, environment, terminal)
                if said is not None:
                    return f"VS Code: {said}; nothing was decided"
            status = window.wait()
    except OSError as error:
        return f"VS Code: {error.strerror}; nothing was decided"
    if status != 0:
        return f"VS Code ended with exit {status}; nothing was decided"
    return "nothing was saved, so nothing was decided"


def _view_only(entry: Entry, copies: Copies, number: int) -> str:
    """A copy of a live file that is to be deleted: changing it means nothing."""
    folder = os.path.join(copies.folder(), "deleted", str(number))
    path = os.path.join(folder, os.path.basename(entry.path))
    if not os.path.isdir(folder):
        os.makedirs(folder, 0o700)
        shutil.copyfile(entry.live_path, path)
    return path


def page(text: str, environment: Mapping[str, str], terminal: int) -> bool:
    """Show `text` in the person's pager; whether there was one."""
    command = environment.get("PAGER") or "less"
    with tempfile.NamedTemporaryFile("w", encoding="utf-8", suffix=".diff") as file:
        file.write(text)
        file.flush()
        return _run([*shlex.split(command), file.name], environment, terminal) is None


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
