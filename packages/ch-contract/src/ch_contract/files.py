"""Files at rest: whole or not at all, private, and one writer at a time.

A write goes to a temporary file in the same folder, is synced, renamed over the old one, and the
folder is synced: a reader sees the old bytes or the new ones, also after a crash. A pipe or device
in the place of a file is refused, not waited for: it would never end. A lock is
`flock` on a file that stays: removing it would split the waiters. It is waited for within a
bound and never stolen; the kernel frees it when its holder dies. No link is followed at the last
step of any path that is opened for writing.
A writer that is killed between writing and renaming leaves its temporary file; `sweep` removes it.

A file of the user's own project is written under another rule: its mode is the user's, and its
temporary name is chosen by the caller, who has written it down before.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import re
import stat
import time

from .problems import Problem, refusal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import BinaryIO

LOCK_SECONDS = 15.0
SWEEP_SECONDS = 60.0

_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_PRIVATE = os.O_CLOEXEC | os.O_NOFOLLOW
_TEMPORARY = re.compile(r"\.ch-([0-9]{1,10})-[0-9a-f]{12}\.tmp")


def private_folder(path: str) -> str:
    """Make `path`, and what is missing above it, with mode 0700 and durably; gives `path` back.

    If `path` was there, is ours and is open to others, it is closed to them; not if it is sticky,
    as `/tmp` is: such a folder is shared on purpose. Raises Problem("system") when it cannot be
    made.
    """
    missing = []
    folder = path
    while folder and not os.path.isdir(folder):
        missing.append(folder)
        folder = os.path.dirname(folder)
    try:
        for folder in reversed(missing):
            # another process may have made it meanwhile; anything else there is no folder
            with contextlib.suppress(FileExistsError):
                os.mkdir(folder, 0o700)
            sync_folder(_folder_of(folder))
        if missing and not os.path.isdir(path):
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), path)
        if not missing:
            _close_to_others(path)
    except OSError as error:
        raise refusal(error, "make the folder", path) from None
    return path


def _close_to_others(folder: str) -> None:
    found = os.stat(folder)
    is_shared = found.st_mode & 0o077 and not found.st_mode & stat.S_ISVTX
    if is_shared and found.st_uid == os.geteuid():
        os.chmod(folder, 0o700)


def _folder_of(path: str) -> str:
    return os.path.dirname(path) or "."


def write_all(fd: int, data: bytes) -> None:
    """Write every byte of `data`; a short write is continued."""
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


def sync_folder(path: str) -> None:
    """Make renames and new names in the folder `path` durable."""
    fd = os.open(path, _DIRECTORY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def temporary_name() -> str:
    """A file name that nothing has, and that `sweep` knows for a temporary one."""
    # not made of the file's own name: that may already be as long as a name can be
    return f".ch-{os.getpid()}-{os.urandom(6).hex()}.tmp"


def temporary_in(folder: str) -> str:
    """A path in `folder` with such a name."""
    return os.path.join(folder, temporary_name())


def write_atomic(path: str, data: bytes | Iterator[bytes], mode: int = 0o600) -> None:
    """Replace the file `path` by `data` (whole or in parts), durably, or leave it as it is.

    Raises Problem("system") on any failure, and when a pipe or device stands there, which a rename
    would do away with; no temporary file is left behind.
    """
    folder = _folder_of(path)
    with contextlib.suppress(OSError):
        found = os.lstat(path).st_mode
        if not (stat.S_ISREG(found) or stat.S_ISLNK(found) or stat.S_ISDIR(found)):
            raise _irregular("write", path)
    temporary = temporary_in(folder)
    try:
        fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _PRIVATE, mode)
        try:
            try:
                for part in (data,) if isinstance(data, bytes) else data:
                    write_all(fd, part)
                os.fsync(fd)
            finally:
                os.close(fd)
            os.rename(temporary, path)
        except BaseException:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(temporary)
            raise
        sync_folder(folder)
    except OSError as error:
        raise refusal(error, "write", path) from None


def sweep(folder: str, seconds: float = SWEEP_SECONDS) -> list[str]:
    """Remove the temporary files and folders of killed writers from `folder`; gives their names.

    A writer counts as killed when no process has its id and its file is older than `seconds` (it
    may run in another container, where its id means nothing here). Raises Problem("system").
    """
    removed = []
    try:
        for name in sorted(os.listdir(folder)):
            found = _TEMPORARY.fullmatch(name)
            if found is None or _exists(int(found[1])):
                continue
            path = os.path.join(folder, name)
            # somebody else may sweep too
            with contextlib.suppress(FileNotFoundError):
                left = os.lstat(path)
                if seconds <= 0 or time.time() - left.st_mtime > seconds:
                    _remove_tree(path) if stat.S_ISDIR(left.st_mode) else os.unlink(path)
                    removed.append(name)
    except FileNotFoundError:
        return []
    except OSError as error:
        raise refusal(error, "clear", folder) from None
    return removed


def _remove_tree(path: str) -> None:
    """Remove a folder and all below it; no link is followed."""
    with os.scandir(path) as entries:
        for entry in list(entries):
            if entry.is_dir(follow_symlinks=False):
                _remove_tree(entry.path)
            else:
                os.unlink(entry.path)
    os.rmdir(path)


def _exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        return True
    return True


def create_exclusive(path: str, mode: int = 0o600) -> int:
    """Create the file `path`, which must not exist, and give its descriptor for writing.

    Raises FileExistsError when it exists, Problem("system") on any other failure.
    """
    try:
        return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _PRIVATE, mode)
    except FileExistsError:
        raise
    except OSError as error:
        raise refusal(error, "create", path) from None


def write_new(path: str, data: bytes, mode: int = 0o600, *, sync: bool = True) -> None:
    """Write the file `path`, which must not exist, durably; of several writers one succeeds.

    Without `sync` its name is durable only once the caller has synced the folder. Raises
    FileExistsError when it exists, Problem("system") on any other failure; the file is not there
    then.
    """
    fd = create_exclusive(path, mode)
    try:
        try:
            write_all(fd, data)
            os.fsync(fd)
        finally:
            os.close(fd)
        if sync:
            sync_folder(_folder_of(path))
    except BaseException as error:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)
        if isinstance(error, OSError):
            raise refusal(error, "write", path) from None
        raise


def write_once(path: str, data: bytes) -> None:
    """Write the file `path`, which must not exist, whole and durably; of several writers one does.

    Unlike `write_new` it never shows half a file, not even after a crash: the name is given to a
    file that is whole. Raises FileExistsError when it exists, Problem("system") on any other
    failure.
    """
    folder = _folder_of(path)
    temporary = temporary_in(folder)
    try:
        write_new(temporary, data)
        try:
            os.link(temporary, path)
        finally:
            os.unlink(temporary)
        sync_folder(folder)
    except FileExistsError:
        raise
    except OSError as error:
        raise refusal(error, "write", path) from None


@contextlib.contextmanager
def folder_once(path: str) -> Iterator[str]:
    """A new private folder for the block to fill, which then gets the name `path`, durably.

    It appears whole or not at all, and of several writers one makes it. Raises FileExistsError when
    a folder that is not empty has the name, Problem("system") on any other failure.
    """
    above = private_folder(_folder_of(path))
    temporary = temporary_in(above)
    try:
        os.mkdir(temporary, 0o700)
        try:
            yield temporary
            sync_folder(temporary)
            os.rename(temporary, path)
        except BaseException:
            _remove_tree(temporary)
            raise
        sync_folder(above)
    except OSError as error:
        if error.errno in (errno.EEXIST, errno.ENOTEMPTY):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), path) from None
        raise refusal(error, "make the folder", path) from None


def write_plain(path: str, data: bytes) -> None:
    """Write the file `path` in a temporary folder: neither durable nor whole after a crash.

    Raises Problem("system").
    """
    try:
        with open(path, "xb") as file:
            file.write(data)
    except OSError as error:
        raise refusal(error, "write", path) from None


# ---- files of the user's project


def make_folder(path: str) -> None:
    """Make the folder `path` as the user's own programs would. Raises OSError."""
    os.mkdir(path)
    sync_folder(_folder_of(path))


def remove_folder(path: str) -> bool:
    """Remove the folder `path` if it is there and empty; whether it is gone. Raises OSError."""
    if not os.path.lexists(path):
        return True
    try:
        os.rmdir(path)
    except FileNotFoundError:
        return True
    except OSError as error:
        if error.errno in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR):
            return False
        raise
    sync_folder(_folder_of(path))
    return True


def write_like(path: str, data: bytes, mode: int | None, like: str | None) -> None:
    """Write the file `path`, which must not exist, durably, to be renamed into its place.

    `mode` are its permission bits; None leaves them to the umask, as for any new file. Owner and
    extended attributes are those of the file `like`, as far as we may set them. Raises OSError.
    """
    fd = os.open(
        path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _PRIVATE, 0o666 if mode is None else 0o600
    )
    try:
        write_all(fd, data)
        if like is not None:
            _copy_owner(fd, like)
        if mode is not None:
            os.fchmod(fd, mode)
        os.fsync(fd)
    finally:
        os.close(fd)


def _copy_owner(fd: int, like: str) -> None:
    """Give the open file the owner and the extended attributes of `like`, if it is there."""
    try:
        found = os.lstat(like)
    except FileNotFoundError:
        return
    mine = os.fstat(fd)
    if (found.st_uid, found.st_gid) != (mine.st_uid, mine.st_gid):
        # only root gives files away; whoever may write the folder may replace the file all the same
        with contextlib.suppress(PermissionError):
            os.fchown(fd, found.st_uid, found.st_gid)
    if hasattr(os, "listxattr"):
        # some belong to the system, and some file systems have none
        with contextlib.suppress(OSError):
            for name in os.listxattr(like, follow_symlinks=False):
                with contextlib.suppress(OSError):
                    os.setxattr(fd, name, os.getxattr(like, name, follow_symlinks=False))


def add_name(path: str, name: str) -> bool:
    """Give the file `path` the second name `name`; False where that cannot be done.

    Raises FileExistsError when something has that name, OSError when the disk fails.
    """
    try:
        os.link(path, name, follow_symlinks=False)
    except OSError as error:
        # FAT has no links, and a file of somebody else may not be given one
        if error.errno in (errno.EPERM, errno.EOPNOTSUPP, errno.EMLINK, errno.ENOSYS, errno.EXDEV):
            return False
        raise
    return True


def rename(path: str, name: str) -> None:
    """Put the file `path` in the place of `name`. Not synced. Raises OSError."""
    os.rename(path, name)


def remove_name(path: str) -> None:
    """Remove the file `path` if it is there. Not synced. Raises OSError."""
    # a read-only disk refuses also what need not be done
    if os.path.lexists(path):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)


# ---- the end of a file


def check_append(path: str) -> int:
    """Make sure that `path` can be appended to and its folder written; gives the file's size.

    Changes nothing and takes no lock; file and folder need not exist. Raises Problem("system")
    when it cannot be: it is a link, no regular file, or not ours to write.
    """
    folder = _folder_of(path)
    try:
        # what is no folder is said by `open`
        if os.path.isdir(folder) and not os.access(folder, os.W_OK | os.X_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        # a pipe without a reader is refused instead of waited for
        fd = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_NONBLOCK | _PRIVATE)
    except FileNotFoundError:
        return 0
    except OSError as error:
        raise refusal(error, "append to", path) from None
    try:
        found = os.fstat(fd)
    finally:
        os.close(fd)
    if not stat.S_ISREG(found.st_mode):
        raise _irregular("append to", path)
    return found.st_size


def append(path: str, data: bytes, at: int | None = None) -> int:
    """Append `data` to `path` in one durable step; gives the file's new size.

    The caller holds the lock of the file. With `at`, whatever stands behind that offset (half a
    line left by a crash) is replaced. A failed append leaves the file as it was: the old bytes
    are written over, not cut off first, so that a full disk cannot keep them from coming back.
    Raises Problem("system") on any failure.
    """
    try:
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NONBLOCK | _PRIVATE, 0o600)
        try:
            opened = os.fstat(fd)
            if not stat.S_ISREG(opened.st_mode):
                raise _irregular("append to", path)
            size = opened.st_size
            start = size if at is None else min(at, size)
            replaced = _read_at(fd, start, size - start)
            try:
                os.lseek(fd, start, os.SEEK_SET)
                write_all(fd, data)
                if len(data) < len(replaced):
                    os.ftruncate(fd, start + len(data))
                os.fsync(fd)
            except BaseException:
                os.lseek(fd, start, os.SEEK_SET)
                write_all(fd, replaced)
                os.ftruncate(fd, size)
                raise
            if size == 0:
                sync_folder(_folder_of(path))
            return start + len(data)
        finally:
            os.close(fd)
    except OSError as error:
        raise refusal(error, "append to", path) from None


def _read_at(fd: int, offset: int, count: int) -> bytes:
    """The `count` bytes of `fd` at `offset`."""
    data = b""
    while len(data) < count:
        part = os.pread(fd, count - len(data), offset + len(data))
        if not part:
            break
        data += part
    return data


def remove(path: str) -> None:
    """Remove the file `path` if it is there, durably. Raises Problem("system")."""
    try:
        os.unlink(path)
        sync_folder(_folder_of(path))
    except FileNotFoundError:
        return
    except OSError as error:
        raise refusal(error, "remove", path) from None


def _irregular(act: str, path: str) -> Problem:
    return Problem("system", f"cannot {act} {path}: it is no regular file")


def _check_regular(mode: int, path: str) -> None:
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
    if not stat.S_ISREG(mode):
        raise _irregular("read", path)


def open_regular(path: str, *, follow: bool = False) -> BinaryIO:
    """Open the regular file `path` for reading; a link at its last step only with `follow`.

    Raises OSError as `open` does, Problem("system") when a pipe or device stands there.
    """
    flags = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY
    fd = os.open(path, flags if follow else flags | os.O_NOFOLLOW)
    try:
        _check_regular(os.fstat(fd).st_mode, path)
        return open(fd, "rb")
    except BaseException:
        os.close(fd)
        raise


def read(
    path: str, limit: int | None = None, *, regular: bool = True, follow: bool = True
) -> bytes | None:
    """The bytes of `path` (at most `limit`); None when there is no such file.

    A pipe or device is refused, unless `regular` is False: a person may name one as a source and
    wait for it. Without `follow`, a link is refused: none of ours is kept as one.
    Raises Problem("system") when it cannot be read.
    """
    try:
        with open_regular(path, follow=follow) if regular else open(path, "rb") as file:
            return file.read() if limit is None else file.read(limit)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise refusal(error, "read", path) from None


@contextlib.contextmanager
def lock(path: str, seconds: float = LOCK_SECONDS) -> Iterator[None]:
    """Hold the lock file `path` while the block runs.

    It belongs to this process: a child that exec made hasn't got it, and it is given back even
    while a child that was only forked still has the descriptor.
    Raises Problem("busy") when it could not be had within `seconds`, Problem("system") when the
    lock file cannot be opened.
    """
    try:
        fd = os.open(path, os.O_RDWR | os.O_CREAT | _PRIVATE, 0o600)
    except OSError as error:
        raise refusal(error, "open the lock", path) from None
    try:
        _take(fd, path, seconds)
        try:
            yield
        finally:
            fcntl.flock(fd, fcntl.LOCK_UN)
    finally:
        os.close(fd)


def _take(fd: int, path: str, seconds: float) -> None:
    """Wait for the lock on `fd`. flock has no timeout, so it is asked for again and again."""
    deadline = time.monotonic() + seconds
    pause = 0.001
    while True:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            left = deadline - time.monotonic()
            if left <= 0:
                raise Problem(
                    "busy",
                    f"the lock {path} was not free within {seconds:g} s",
                    "another clip-harness process holds it; wait for it or end it, then try again",
                ) from None
            time.sleep(min(pause, left))
            pause = min(pause * 2, 0.05)
        except OSError as error:
            raise refusal(error, "lock", path) from None
        else:
            return


@contextlib.contextmanager
def claim(path: str) -> Iterator[None]:
    """Hold `path`, which stands for one thing that is done once at a time; gone afterwards.

    Unlike a lock nobody waits for it, so the file need not stay. Whoever opened it just before
    its holder removed it would lock a file without a name: the name is looked at again.
    Raises BlockingIOError when another process holds it, Problem("system") on a failure.
    """
    while True:
        try:
            fd = os.open(path, os.O_RDWR | os.O_CREAT | _PRIVATE, 0o600)
        except OSError as error:
            raise refusal(error, "open the claim", path) from None
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            with contextlib.suppress(FileNotFoundError):
                if os.stat(path).st_ino == os.fstat(fd).st_ino:
                    break
        except BaseException:
            os.close(fd)
            raise
        os.close(fd)
    try:
        yield
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)
        os.close(fd)
