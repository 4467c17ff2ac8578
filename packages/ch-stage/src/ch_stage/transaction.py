"""Changing several files of the user as one step: all of them, or none.

The order is the protocol. The intent is written and synced first: every file with what it was and
becomes, and the temporary names that will appear beside it. Then the new bytes are written beside
each file, the old file gets a second name, and the new one takes its place by a rename. When all
stand and have been read back, the outcome is written: that is the moment it is done. Only then the
second names go, and last the intent.

Whoever fails on the way puts back what was placed, from the second names: that needs no room on
the disk and gives back the very same files. Whoever is killed leaves the intent, and the next start
reads from it what to do: with an outcome it clears up, without one it puts everything back. Both
may be killed again and do the same again. A file that somebody has changed meanwhile is never
written over.

The caller holds the lock; nothing here waits.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Callable

from ch_contract import documents, files, places
from ch_contract.problems import Problem, refusal
from ch_contract.quiet_hashlib import hexdigest

from . import candidate
from .candidate import outcome_path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from ch_contract.messages import ApplyRecord, ApplyRecordEntry

SCHEMA = "store/apply-record.schema.json"
PLACED = frozenset({"NEW", "UPDATED", "DELETED"})
LATER = "start clip-harness again once that is mended: it puts back what was changed"

Source = Callable[["ApplyRecordEntry"], bytes]


def lock_path(state: str) -> str:
    """The lock of every apply and undo: two at once may mean the same file."""
    return os.path.join(state, "applying.lock")


def intent_path(state: str, record: ApplyRecord) -> str:
    """The file of an intent."""
    return os.path.join(places.applying(state), f"{record['candidate_id']}.{record['act']}.json")


class Stale(Problem):
    """Files are no longer what the intent starts from; `paths` names them."""

    __slots__ = ("paths", "why")

    def __init__(
        self,
        paths: list[str],
        why: str,
        hint: str = "nothing was changed; read the file as it is now, and send the change again",
    ) -> None:
        super().__init__("refused", f"{', '.join(paths)}: {why}", hint)
        self.paths = paths
        self.why = why


def run(
    state: str, record: ApplyRecord, source: Source, before: Source, *, hold: bool = False
) -> ApplyRecord:
    """Do what `record` intends, with the bytes that an entry becomes and those it had `before`.

    With `hold` the intent stays, for `forget`. Gives the record of the outcome.
    Raises Stale when a file is not what it should be before, Problem("system") when the machine
    would not do it. Nothing is changed then; where even putting back failed the intent stays for
    the next start, and the sentence says so.
    """
    _check_before(record)
    files.private_folder(places.applying(state))
    path = intent_path(state, record)
    documents.check(record, SCHEMA, "the intent to write", kind="bug")
    try:
        files.write_once(path, documents.encode(record))
    except FileExistsError:
        raise Problem(
            "busy", f"{path} tells of an apply that was cut off", "start clip-harness again"
        ) from None
    try:
        _place(record, source)
        done = _write_outcome(state, record, "done", None)
    except BaseException as error:
        _give_up(state, record, before, error)
        raise
    try:
        _clear(record)
        if not hold:
            _forget(state, record)
    except (OSError, Problem):
        # it is done, and the next start clears up
        return done
    return done


def settle(state: str, record: ApplyRecord, before: Source) -> ApplyRecord:
    """Bring an intent that was cut off to its end; gives the record of the outcome.

    `before` gives the bytes that an entry had, should its second name be gone.

    The intent stays until `forget`. Raises Problem("system") when the machine would not do it; then
    it can be tried again.
    """
    try:
        done = _outcome_of(state, record)
        if done is None or done["state"] == "intent":
            notes = _put_back(record, before)
            done = _write_outcome(state, record, "rolled-back", "; ".join(notes) or None)
        elif done["state"] == "done":
            _clear(record)
    except OSError as error:
        raise _of_project(error, record, "settle what was cut off in") from None
    return done


def forget(state: str, record: ApplyRecord) -> None:
    """Remove the intent of a settled record, unless it is another one by now.

    Raises Problem("system").
    """
    found = documents.kept(intent_path(state, record), SCHEMA)
    if found is not None and (found["at"], found["pid"]) == (record["at"], record["pid"]):
        _forget(state, record)


def _outcome_of(state: str, record: ApplyRecord) -> ApplyRecord | None:
    """The outcome that was written of this very intent."""
    value: ApplyRecord | None = candidate.outcome(state, record["candidate_id"], record["act"])
    if value is None or (value["at"], value["pid"]) != (record["at"], record["pid"]):
        return None
    return value


def _write_outcome(state: str, record: ApplyRecord, how: str, note: str | None) -> ApplyRecord:
    done: ApplyRecord = {**record, "state": how, "note": note}
    documents.check(done, SCHEMA, "the outcome to write", kind="bug")
    path = outcome_path(state, record["candidate_id"], record["act"])
    files.write_atomic(path, documents.encode(done))
    return done


def _forget(state: str, record: ApplyRecord) -> None:
    files.remove(intent_path(state, record))


def _give_up(state: str, record: ApplyRecord, before: Source, error: BaseException) -> None:
    """Put everything back after `error`; what cannot be put back is left to the next start."""
    try:
        if _outcome_of(state, record) is not None:
            # it has its name and may not be durable: a record of "done" must go before its deeds
            files.remove(outcome_path(state, record["candidate_id"], record["act"]))
        notes = _put_back(record, before)
        with contextlib.suppress(Problem):
            # a full disk takes no record; everything is as if nothing had been tried
            _write_outcome(state, record, "rolled-back", "; ".join(notes) or None)
        _forget(state, record)
    except (OSError, Problem) as second:
        reason = second.strerror if isinstance(second, OSError) else str(second)
        raise Problem(
            "system",
            f"{_told(error)}; and putting the files back was cut off: {reason}",
            LATER,
        ) from None
    if isinstance(error, OSError):
        raise _of_project(error, record, "change") from None


def _of_project(error: OSError, record: ApplyRecord, act: str) -> Problem:
    """The problem that an error in the user's project means: its disk is meant, not the state's."""
    problem = refusal(error, act, _name_in(error, record))
    if error.errno in (errno.EROFS, errno.ENOSPC, errno.EDQUOT):
        verb = "make that disk writable" if error.errno == errno.EROFS else "free some space there"
        problem.hint = f"{verb}, then try again"
    return problem


def _told(error: BaseException) -> str:
    if isinstance(error, OSError):
        return f"cannot change the files: {error.strerror}"
    return str(error) or type(error).__name__


def _name_in(error: OSError, record: ApplyRecord) -> str:
    """The file an error is about, as a person knows it: not by its temporary name."""
    for entry in _placing(record):
        names = {entry["abs_path"], *(name for name in _beside(entry) if name is not None)}
        if {error.filename, error.filename2} & names:
            return entry["path"]
    placing = _placing(record)
    where = os.path.dirname(placing[0]["abs_path"]) if placing else "the project"
    return f"{error.filename or where}"


def _placing(record: ApplyRecord) -> list[ApplyRecordEntry]:
    return [entry for entry in record["entries"] if entry["outcome"] in PLACED]


def _beside(entry: ApplyRecordEntry) -> tuple[str | None, str | None]:
    """The temporary name and the second name of an entry, whole."""
    folder = os.path.dirname(entry["abs_path"])

    def whole(name: str | None) -> str | None:
        return None if name is None else os.path.join(folder, name)

    return whole(entry["temporary"]), whole(entry["backup"])


def live_sha256(path: str) -> str | None:
    """The hash of the file `path`; None when nothing stands there.

    What is no regular file, a link too, has the hash "", which no file has. Raises
    Problem("system") when it cannot be read.
    """
    try:
        with files.open_regular(path) as file:
            return hexdigest(file.read())
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (Problem, IsADirectoryError):
        return ""
    except OSError as error:
        if error.errno == errno.ELOOP:
            return ""
        raise refusal(error, "read", path) from None


def mode_of(path: str) -> int | None:
    """The permission bits of the file `path`; None when nothing stands there."""
    try:
        return stat.S_IMODE(os.lstat(path).st_mode)
    except (FileNotFoundError, NotADirectoryError):
        return None


def _check_before(record: ApplyRecord) -> None:
    """Refuse when a file is not what it was when it was staged. Raises Stale."""
    stale = [
        entry["path"]
        for entry in record["entries"]
        if entry["outcome"] != "REJECTED"
        and live_sha256(entry["abs_path"]) != entry["before_sha256"]
    ]
    if stale:
        raise Stale(stale, "changed since it was staged")
    for entry in _placing(record):
        _check_folder(entry)


def _place(record: ApplyRecord, source: Source) -> None:
    """Put every file in its place. Raises Stale, Problem or OSError, with some of them placed."""
    for folder in record["made"]:
        files.make_folder(folder)
    placing = _placing(record)
    for entry in placing:
        temporary, _ = _beside(entry)
        if temporary is not None:
            like = entry["abs_path"] if entry["before_sha256"] is not None else None
            files.write_like(temporary, source(entry), entry["after_mode"], like)
    for entry in placing:
        _name_twice(entry)
    # a second name must not be lost where the rename after it is not
    _sync(placing)
    for entry in placing:
        _check_folder(entry)
        _place_one(entry)
    _sync(placing)
    for entry in placing:
        _, backup = _beside(entry)
        is_other = backup is not None and live_sha256(backup) != entry["before_sha256"]
        if is_other or live_sha256(entry["abs_path"]) != entry["after_sha256"]:
            raise Stale([entry["path"]], "changed while it was being written")


def _name_twice(entry: ApplyRecordEntry) -> None:
    """Give a file that is to be replaced its second name; where it can have but one, not yet."""
    temporary, backup = _beside(entry)
    if backup is not None and temporary is not None:
        files.add_name(entry["abs_path"], backup)


def _check_folder(entry: ApplyRecordEntry) -> None:
    """Refuse a file whose folder has become a link, or a file. Raises Stale."""
    folder = os.path.dirname(entry["abs_path"])
    if os.path.realpath(folder) != folder:
        raise Stale([entry["path"]], "a folder above it has become a link since it was staged")
    while not os.path.lexists(folder):
        folder = os.path.dirname(folder)
    if not os.path.isdir(folder):
        raise Stale([entry["path"]], "a folder above it has become a file since it was staged")


def _place_one(entry: ApplyRecordEntry) -> None:
    path = entry["abs_path"]
    temporary, backup = _beside(entry)
    if backup is not None:
        # a deleted file is moved aside; an updated one keeps its name until the new one takes it
        if not os.path.lexists(backup):
            files.rename(path, backup)
        if live_sha256(backup) != entry["before_sha256"]:
            raise Stale([entry["path"]], "changed since it was staged")
        if temporary is not None:
            files.rename(temporary, path)
    elif temporary is not None:
        try:
            has_name = files.add_name(temporary, path)
        except FileExistsError:
            raise Stale([entry["path"]], "appeared since it was staged") from None
        if not has_name:
            files.rename(temporary, path)


def _put_back(record: ApplyRecord, before: Source) -> list[str]:
    """Put every file back as it was before, as far as it was placed at all.

    Gives a sentence for each file that somebody has changed meanwhile: it is left as it is. Raises
    OSError or Problem.
    """
    placing = _placing(record)
    left = [entry["path"] for entry in reversed(placing) if not _put_back_one(entry, before)]
    for entry in placing:
        for name in _beside(entry):
            if name is not None:
                files.remove_name(name)
    _sync(placing)
    for folder in reversed(record["made"]):
        files.remove_folder(folder)
    return [f"{path} was changed by somebody else meanwhile and was left" for path in left]


def _put_back_one(entry: ApplyRecordEntry, before: Source) -> bool:
    """Put one file back; False when somebody else has changed it and it is left."""
    path = entry["abs_path"]
    temporary, backup = _beside(entry)
    if backup is not None:
        found = live_sha256(path)
        if not os.path.lexists(backup):
            return _restore(entry, found, before)
        if found == entry["before_sha256"] and _is_same_file(path, backup):
            return True
        if found not in (None, entry["after_sha256"]):
            return False
        files.rename(backup, path)
        return True
    if temporary is not None:
        if not os.path.lexists(path):
            return True
        if os.path.lexists(temporary) and not _is_same_file(path, temporary):
            # it was there before ours, or has replaced it: not ours to remove
            return True
        if live_sha256(path) != entry["after_sha256"]:
            return False
        files.remove_name(path)
    return True


def _restore(entry: ApplyRecordEntry, found: str | None, before: Source) -> bool:
    """Put back a file without its second name: it was never placed, or the name was removed since.

    Then its bytes come from the snapshot. False when somebody else has changed the file.
    """
    path = entry["abs_path"]
    temporary, _ = _beside(entry)
    if found == entry["before_sha256"]:
        return True
    if found != entry["after_sha256"]:
        return False
    name = temporary or os.path.join(os.path.dirname(path), files.temporary_name())
    files.remove_name(name)
    files.write_like(name, before(entry), entry["before_mode"], path if found is not None else None)
    files.rename(name, path)
    return True


def _is_same_file(path: str, other: str) -> bool:
    try:
        return os.path.samestat(os.lstat(path), os.lstat(other))
    except OSError:
        return False


def _clear(record: ApplyRecord) -> None:
    """Remove what was needed to put back, after the outcome was written. Raises OSError."""
    placing = _placing(record)
    for entry in placing:
        for name in _beside(entry):
            if name is not None:
                files.remove_name(name)
    _sync(placing)
    for folder in record["emptied"]:
        files.remove_folder(folder)


def _sync(entries: list[ApplyRecordEntry]) -> None:
    for folder in _folders(entries):
        files.sync_folder(folder)


def _folders(entries: list[ApplyRecordEntry]) -> Iterator[str]:
    """The folders of the files that are there, each once."""
    for folder in dict.fromkeys(os.path.dirname(entry["abs_path"]) for entry in entries):
        if os.path.isdir(folder):
            yield folder
