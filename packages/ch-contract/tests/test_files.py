"""Files at rest: whole or not at all, private, one writer at a time."""

from __future__ import annotations

import errno
import os
import signal
import stat
import subprocess
import sys
import textwrap
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ch_contract import files
from ch_contract.problems import Problem


def python(code, *argv, **options):
    """Start a fresh interpreter; it prints `ready` when it has come to where the test wants it."""
    return subprocess.Popen(
        [sys.executable, "-I", "-c", textwrap.dedent(code), *map(str, argv)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        **options,
    )


def mode(path):
    return stat.S_IMODE(os.stat(path).st_mode)


# ---- folders


def test_every_folder_that_was_missing_is_private(tmp_path):
    old = os.umask(0)
    try:
        path = tmp_path / "a" / "b" / "c"
        assert files.private_folder(str(path)) == str(path)
    finally:
        os.umask(old)
    assert [mode(p) for p in (path, path.parent, path.parent.parent)] == [0o700] * 3


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (0o755, 0o700),
        (0o701, 0o700),
        (0o500, 0o500),  # narrower is not ours to widen
        (0o1777, 0o1777),  # shared on purpose, as /tmp is
    ],
)
def test_a_folder_that_is_there_is_closed_to_others(tmp_path, before, after):
    path = tmp_path / "a"
    path.mkdir()
    path.chmod(before)
    files.private_folder(str(path))
    assert mode(path) == after


def test_the_folders_above_keep_their_mode(tmp_path):
    tmp_path.chmod(0o755)
    files.private_folder(str(tmp_path / "a"))
    files.private_folder(str(tmp_path / "a"))
    assert mode(tmp_path) == 0o755


def test_a_folder_of_somebody_else_keeps_its_mode(tmp_path, monkeypatch):
    tmp_path.chmod(0o755)
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    files.private_folder(str(tmp_path))
    assert mode(tmp_path) == 0o755


def test_a_new_folder_is_synced_into_the_one_above(tmp_path, monkeypatch):
    synced = []
    monkeypatch.setattr(files, "sync_folder", synced.append)
    files.private_folder(str(tmp_path / "a" / "b"))
    files.private_folder(str(tmp_path / "a" / "b"))
    assert synced == [str(tmp_path), str(tmp_path / "a")]


@pytest.mark.parametrize("below", ["", "/b"])
def test_a_file_in_the_place_of_a_folder_is_a_problem(tmp_path, below):
    (tmp_path / "a").write_text("")
    path = str(tmp_path / "a") + below
    with pytest.raises(Problem) as caught:
        files.private_folder(path)
    assert (caught.value.kind, caught.value.message) == (
        "system",
        f"cannot make the folder {path}: Not a directory",
    )


def test_two_processes_make_one_folder(tmp_path):
    code = """
        import sys
        from ch_contract import files
        sys.stdin.read(1)
        for n in range(300):
            files.private_folder(f"{sys.argv[1]}/{n}/x/y")
    """
    pair = [python(code, tmp_path) for _ in range(2)]
    for process in pair:
        process.stdin.close()
    assert [process.wait(60) for process in pair] == [0, 0]
    assert len(list(tmp_path.iterdir())) == 300
    for process in pair:
        process.stdout.close()


# ---- write_atomic


def test_a_write_is_private_and_whole(tmp_path):
    path = tmp_path / "a.json"
    files.write_atomic(str(path), b"one")
    files.write_atomic(str(path), b"two")
    assert (path.read_bytes(), mode(path), os.listdir(tmp_path)) == (b"two", 0o600, ["a.json"])


def test_a_name_as_long_as_a_name_can_be(tmp_path):
    path = tmp_path / ("n" * 255)
    files.write_atomic(str(path), b"one")
    assert path.read_bytes() == b"one"


def test_a_relative_path(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    files.write_atomic("a", b"one")
    assert files.append("b", b"two") == 3
    files.remove("a")
    assert os.listdir() == ["b"]


def test_a_link_is_replaced_not_followed(tmp_path):
    other = tmp_path / "other"
    other.write_bytes(b"theirs")
    link = tmp_path / "a"
    link.symlink_to(other)
    files.write_atomic(str(link), b"ours")
    assert (other.read_bytes(), link.read_bytes(), link.is_symlink()) == (b"theirs", b"ours", False)


def test_a_missing_folder_is_a_problem(tmp_path):
    path = str(tmp_path / "no" / "a")
    with pytest.raises(Problem) as caught:
        files.write_atomic(path, b"x")
    assert (caught.value.kind, caught.value.message, caught.value.hint) == (
        "system",
        f"cannot write {path}: No such file or directory",
        "check that the folder exists",
    )


@pytest.mark.parametrize("act", ["write", "fsync", "rename"])
@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EIO, errno.EDQUOT])
def test_a_failure_leaves_the_old_bytes_and_no_temporary_file(tmp_path, monkeypatch, act, number):
    path = tmp_path / "a"
    path.write_bytes(b"old")

    def fail(*_):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, act, fail)
    with pytest.raises(Problem) as caught:
        files.write_atomic(str(path), b"new")
    monkeypatch.undo()
    assert caught.value.message == f"cannot write {path}: {os.strerror(number)}"
    assert (path.read_bytes(), os.listdir(tmp_path)) == (b"old", ["a"])


def test_an_interrupt_leaves_the_old_bytes_and_no_temporary_file(tmp_path, monkeypatch):
    path = tmp_path / "a"
    path.write_bytes(b"old")

    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", interrupt)
    with pytest.raises(KeyboardInterrupt):
        files.write_atomic(str(path), b"new")
    assert (path.read_bytes(), os.listdir(tmp_path)) == (b"old", ["a"])


def test_short_writes_are_continued(tmp_path, monkeypatch):
    write = os.write
    monkeypatch.setattr(os, "write", lambda fd, data: write(fd, bytes(data[:3])))
    files.write_atomic(str(tmp_path / "a"), b"0123456789")
    files.append(str(tmp_path / "b"), b"0123456789")
    monkeypatch.undo()
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes() == b"0123456789"


LIMITED = """
    import resource, signal, sys
    from ch_contract import files
    from ch_contract.problems import Problem
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
    try:
        getattr(files, sys.argv[1])(sys.argv[2], b"x" * 2000)
    except Problem as problem:
        print(problem.kind, problem.message)
"""


@pytest.mark.parametrize(("act", "verb"), [("write_atomic", "write"), ("append", "append to")])
def test_a_disk_that_fills_up_midway(tmp_path, act, verb):
    """The limit takes half of the bytes, as a full disk does; nothing of them stays."""
    path = tmp_path / "a"
    path.write_bytes(b"old")
    process = python(LIMITED, act, path)
    said, _ = process.communicate(timeout=60)
    assert said.decode().strip() == f"system cannot {verb} {path}: File too large"
    assert (path.read_bytes(), os.listdir(tmp_path)) == (b"old", ["a"])


def test_a_folder_that_may_not_be_written(tmp_path):
    """As an ordinary user: root may write everywhere."""
    path = tmp_path / "a"
    path.write_bytes(b"old")
    code = """
        import os, sys
        from ch_contract import files
        from ch_contract.problems import Problem
        if os.getuid() == 0:
            os.setgid(65534)
            os.setuid(65534)
        for act in (files.write_atomic, files.append, files.private_folder):
            try:
                act(sys.argv[1], *([b"new"] if act is not files.private_folder else []))
            except Problem as problem:
                print(problem.kind, problem.message, problem.hint)
            sys.argv[1] = sys.argv[1] + "2"
    """
    for folder in (tmp_path, *tmp_path.parents[:2]):
        folder.chmod(0o555)
    process = python(code, path)
    said, _ = process.communicate(timeout=60)
    for folder in (tmp_path, *tmp_path.parents[:2]):
        folder.chmod(0o755)
    hint = "check who owns it and its mode"
    assert said.decode().splitlines() == [
        f"system cannot write {path}: Permission denied {hint}",
        f"system cannot append to {path}2: Permission denied {hint}",
        f"system cannot make the folder {path}22: Permission denied {hint}",
    ]
    assert (path.read_bytes(), os.listdir(tmp_path)) == (b"old", ["a"])


WRITER = """
    import sys
    from ch_contract import files
    print("ready", flush=True)
    n = 0
    while True:
        n += 1
        files.write_atomic(sys.argv[1], (b"%d\\n" % n) * 20000)
"""


def whole(data):
    lines = data.split(b"\n")
    return len(lines) == 20001 and set(lines[:-1]) == {lines[0]}


def test_a_reader_never_sees_half_a_write(tmp_path):
    path = tmp_path / "a"
    process = python(WRITER, path)
    process.stdout.readline()
    seen = set()
    until = time.monotonic() + 1.5
    while time.monotonic() < until:
        data = files.read(str(path))
        assert data is None or whole(data)
        seen.add(data)
    process.kill()
    process.communicate()
    assert len(seen) > 2


@pytest.mark.heavy
def test_a_killed_writer_leaves_the_old_bytes_or_the_new(tmp_path):
    """kill -9 at 60 moments; the next sweep removes what a killed writer left."""
    path = tmp_path / "a"
    left = 0
    for attempt in range(60):
        process = python(WRITER, path)
        process.stdout.readline()
        time.sleep(attempt % 20 * 0.0007)
        process.kill()
        process.communicate()
        data = files.read(str(path))
        assert data is None or whole(data)
        left += sum(name != "a" for name in os.listdir(tmp_path))
        for name in os.listdir(tmp_path):
            assert mode(tmp_path / name) == 0o600
            os.utime(tmp_path / name, (1, 1))
        files.sweep(str(tmp_path))
        assert [name for name in os.listdir(tmp_path) if name != "a"] == []
    assert left > 0, "no kill came between write and rename: the test shows nothing"


def test_a_kill_between_write_and_rename(tmp_path):
    """The writer is stopped exactly there."""
    path = tmp_path / "a"
    path.write_bytes(b"old")
    code = """
        import os, sys
        from ch_contract import files
        os.rename = lambda *_: os.kill(os.getpid(), 9)
        files.write_atomic(sys.argv[1], b"new")
    """
    process = python(code, path)
    process.communicate(timeout=60)
    assert process.returncode == -signal.SIGKILL
    assert path.read_bytes() == b"old"
    (name,) = set(os.listdir(tmp_path)) - {"a"}
    assert (tmp_path / name).read_bytes() == b"new"
    assert files.sweep(str(tmp_path)) == []  # too young: it could be another container's
    os.utime(tmp_path / name, (1, 1))
    assert files.sweep(str(tmp_path)) == [name]
    assert os.listdir(tmp_path) == ["a"]


@pytest.mark.parametrize(
    "name",
    [
        f".ch-{os.getpid()}-0123456789ab.tmp",  # a living writer
        ".ch-1-0123456789ab.tmp",  # a living writer of somebody else
        ".ch-999999999-0123456789AB.tmp",
        ".ch-999999999-0123456789ab.tmp.json",
        "ch-999999999-0123456789ab.tmp",
        "ledger.jsonl",
    ],
)
def test_sweep_leaves_everything_else(tmp_path, name):
    (tmp_path / name).write_text("")
    os.utime(tmp_path / name, (1, 1))
    assert files.sweep(str(tmp_path)) == []
    assert os.listdir(tmp_path) == [name]


def test_sweep_takes_young_files_when_it_is_told_that_ids_suffice(tmp_path):
    dead, living = (f".ch-{pid}-0123456789ab.tmp" for pid in (999999999, os.getpid()))
    for name in (dead, living):
        (tmp_path / name).write_text("")
    assert files.sweep(str(tmp_path), 0) == [dead]
    assert os.listdir(tmp_path) == [living]


def test_sweep_of_a_folder_that_is_not_there(tmp_path):
    assert files.sweep(str(tmp_path / "no")) == []


# ---- create_exclusive, read, remove


def test_create_exclusive_creates_once(tmp_path):
    path = str(tmp_path / "a")
    fd = files.create_exclusive(path)
    os.write(fd, b"x")
    os.close(fd)
    with pytest.raises(FileExistsError):
        files.create_exclusive(path)
    assert (mode(path), files.read(path)) == (0o600, b"x")


def test_create_exclusive_follows_no_link(tmp_path):
    (tmp_path / "a").symlink_to(tmp_path / "target")
    with pytest.raises(FileExistsError):
        files.create_exclusive(str(tmp_path / "a"))
    assert not (tmp_path / "target").exists()


def test_read_and_remove(tmp_path):
    path = str(tmp_path / "a")
    assert files.read(path) is None
    files.remove(path)
    files.write_atomic(path, b"0123")
    assert (files.read(path), files.read(path, 2)) == (b"0123", b"01")
    files.remove(path)
    assert os.listdir(tmp_path) == []


def test_a_folder_cannot_be_read_or_removed(tmp_path):
    with pytest.raises(Problem, match=r"cannot read .*: Is a directory"):
        files.read(str(tmp_path))
    with pytest.raises(Problem, match=r"cannot remove .*"):
        files.remove(str(tmp_path))


def test_a_pipe_is_refused_at_once_where_a_file_is_wanted(tmp_path):
    path = str(tmp_path / "fifo")
    os.mkfifo(path)
    with pytest.raises(Problem) as caught:
        files.read(path)
    assert caught.value.message == f"cannot read {path}: it is no regular file"


# ---- write_new


def test_a_pipe_is_a_source_for_whoever_says_so(tmp_path):
    path = str(tmp_path / "pipe")
    os.mkfifo(path)
    writer = python("import sys; open(sys.argv[1], 'w').write('hello')", path)
    assert files.read(path, 3, regular=False) == b"hel"
    writer.communicate(timeout=60)


def test_a_link_is_followed_unless_it_may_not_be(tmp_path):
    (tmp_path / "a").write_bytes(b"hello")
    path = str(tmp_path / "link")
    os.symlink("a", path)
    assert files.read(path) == b"hello"
    with pytest.raises(Problem) as caught:
        files.read(path, follow=False)
    assert caught.value.message == f"cannot read {path}: {os.strerror(errno.ELOOP)}"


@pytest.mark.parametrize("act", [files.append, files.write_atomic])
def test_a_pipe_is_neither_written_nor_replaced(tmp_path, act):
    path = str(tmp_path / "pipe")
    os.mkfifo(path)
    with pytest.raises(Problem, match="it is no regular file"):
        act(path, b"new")
    assert stat.S_ISFIFO(os.lstat(path).st_mode)
    assert os.listdir(tmp_path) == ["pipe"]


def test_a_refused_file_keeps_no_descriptor(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    before = os.listdir("/proc/self/fd")
    for path in (tmp_path, tmp_path / "pipe"):
        with pytest.raises(Problem):
            files.read(str(path))
    assert os.listdir("/proc/self/fd") == before


def test_of_many_writers_one_makes_the_file(tmp_path):
    code = """
        import sys
        from ch_contract import files
        sys.stdin.read(1)
        for n in range(100):
            try:
                files.write_new(f"{sys.argv[1]}/{n}", sys.argv[2].encode())
            except FileExistsError:
                pass
            else:
                print(n)
    """
    several = [python(code, tmp_path, word) for word in "abcd"]
    for process in several:
        process.stdin.close()
    won = [set(process.stdout.read().split()) for process in several]
    assert [process.wait(60) for process in several] == [0] * 4
    for process in several:
        process.stdout.close()
    assert sum(map(len, won)) == 100
    for word, numbers in zip("abcd", won, strict=True):
        assert {(tmp_path / n.decode()).read_text() for n in numbers} <= {word}
    assert mode(tmp_path / "0") == 0o600


def test_a_new_file_that_cannot_be_synced_is_not_there(tmp_path, monkeypatch):
    def fail(_fd):
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(Problem, match=f"cannot write {tmp_path}/a: Input/output error"):
        files.write_new(str(tmp_path / "a"), b"new")
    assert os.listdir(tmp_path) == []


# ---- check_append


def test_what_can_be_appended_to_has_a_size(tmp_path):
    path = tmp_path / "a"
    assert (files.check_append(str(path)), os.listdir(tmp_path)) == (0, [])
    path.write_bytes(b"0123")
    assert (files.check_append(str(path)), path.read_bytes()) == (4, b"0123")


LINK = "a symbolic link stands there; put the file itself in its place"


@pytest.mark.parametrize(
    ("make", "told", "hint"),
    [
        (
            lambda path: path.symlink_to(path.parent / "b"),
            "Too many levels of symbolic links",
            LINK,
        ),
        (lambda path: path.mkdir(), "Is a directory", None),
        (os.mkfifo, os.strerror(errno.ENXIO), None),
    ],
    ids=["link", "folder", "pipe"],
)
def test_what_cannot_be_appended_to_is_told(tmp_path, make, told, hint):
    make(tmp_path / "a")
    with pytest.raises(Problem) as caught:
        files.check_append(str(tmp_path / "a"))
    assert (caught.value.kind, caught.value.message, caught.value.hint) == (
        "system",
        f"cannot append to {tmp_path}/a: {told}",
        hint,
    )
    assert os.listdir(tmp_path) == ["a"]


def test_a_pipe_with_a_reader_is_no_file_either(tmp_path):
    os.mkfifo(tmp_path / "a")
    reader = os.open(tmp_path / "a", os.O_RDONLY | os.O_NONBLOCK)
    with pytest.raises(Problem, match="it is no regular file"):
        files.check_append(str(tmp_path / "a"))
    os.close(reader)


@pytest.mark.parametrize("folder_mode", [0o755, 0o555], ids=["file", "folder"])
def test_a_file_of_somebody_else_cannot_be_appended_to(tmp_path, folder_mode):
    """As an ordinary user: root may write everywhere. The folder alone suffices to refuse."""
    path = tmp_path / "a"
    if folder_mode == 0o755:
        path.write_bytes(b"old")
        path.chmod(0o444)
    code = """
        import os, sys
        from ch_contract import files
        from ch_contract.problems import Problem
        if os.getuid() == 0:
            os.setgid(65534)
            os.setuid(65534)
        try:
            files.check_append(sys.argv[1])
        except Problem as problem:
            print(problem.kind, problem.message)
    """
    for folder in tmp_path.parents[:2]:
        folder.chmod(0o755)
    tmp_path.chmod(folder_mode)
    said, _ = python(code, path).communicate(timeout=60)
    tmp_path.chmod(0o755)
    assert said.decode() == f"system cannot append to {path}: Permission denied\n"


# ---- append


def test_append_gives_the_new_size(tmp_path):
    path = str(tmp_path / "a")
    assert [files.append(path, b"one\n"), files.append(path, b"two\n")] == [4, 8]
    assert (files.read(path), mode(path)) == (b"one\ntwo\n", 0o600)


@pytest.mark.parametrize(
    ("at", "expected"),
    [
        (None, b"one\nhalNEW"),
        (4, b"one\nNEW"),
        (0, b"NEW"),
        (7, b"one\nhalNEW"),
        (99, b"one\nhalNEW"),
    ],
)
def test_append_cuts_what_stands_behind(tmp_path, at, expected):
    path = str(tmp_path / "a")
    files.write_atomic(path, b"one\nhal")
    assert files.append(path, b"NEW", at) == len(expected)
    assert files.read(path) == expected


@pytest.mark.parametrize(
    "opens",
    [
        lambda path: files.append(path, b"ours"),
        lambda path: files.lock(path).__enter__(),
    ],
    ids=["append", "lock"],
)
def test_a_link_in_the_place_of_a_file_is_refused(tmp_path, opens):
    other = tmp_path / "other"
    other.write_bytes(b"theirs")
    link = tmp_path / "a"
    link.symlink_to(other)
    with pytest.raises(Problem) as caught:
        opens(str(link))
    assert caught.value.kind == "system"
    assert caught.value.hint == "a symbolic link stands there; put the file itself in its place"
    assert other.read_bytes() == b"theirs"


def test_a_failed_append_leaves_nothing_behind(tmp_path, monkeypatch):
    path = tmp_path / "a"
    path.write_bytes(b"old\n")

    def fail(_fd):
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(Problem, match=f"cannot append to {path}: Input/output error"):
        files.append(str(path), b"new\n")
    assert path.read_bytes() == b"old\n"


@pytest.mark.parametrize("new", [b"n", b"much longer than half"], ids=["shorter", "longer"])
def test_a_failed_append_leaves_what_it_should_have_replaced(tmp_path, monkeypatch, new):
    """The half line of a crash is evidence until a line tells of it."""
    path = tmp_path / "a"
    path.write_bytes(b"old\nhalf")

    def fail(_fd):
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(Problem, match=f"cannot append to {path}: Input/output error"):
        files.append(str(path), new, at=4)
    assert path.read_bytes() == b"old\nhalf"


def test_a_full_disk_takes_nothing_of_what_an_append_should_have_replaced(tmp_path):
    """The kernel refuses amid the write."""
    path = tmp_path / "a"
    before = b"old\n" + b"h" * 900
    path.write_bytes(before)
    code = LIMITED.replace("sys.argv[2], ", "sys.argv[2], at=4, data=")
    said, _ = python(code, "append", path).communicate(timeout=60)
    assert said.decode().strip() == f"system cannot append to {path}: File too large"
    assert path.read_bytes() == before


def test_an_append_is_synced_before_it_returns(tmp_path, monkeypatch):
    """File first, then, for a new file, the folder."""
    synced = []
    fsync = os.fsync

    def note(fd):
        synced.append(os.readlink(f"/proc/self/fd/{fd}") if os.path.isdir("/proc/self") else fd)
        fsync(fd)

    monkeypatch.setattr(os, "fsync", note)
    path = str(tmp_path / "a")
    files.append(path, b"one")
    files.append(path, b"two")
    assert len(synced) == 3
    if os.path.isdir("/proc/self"):
        assert synced == [path, str(tmp_path), path]


@settings(deadline=None, max_examples=60)
@given(st.lists(st.tuples(st.binary(max_size=50), st.none() | st.integers(0, 120)), max_size=8))
def test_appends_are_as_a_list_of_bytes_would_be(tmp_path_factory, steps):
    path = str(tmp_path_factory.mktemp("append") / "a")
    model = b""
    for data, at in steps:
        model = (model if at is None else model[:at]) + data
        assert files.append(path, data, at) == len(model)
    assert (files.read(path) or b"") == model


# ---- lock

HOLDER = """
    import sys
    from ch_contract import files
    with files.lock(sys.argv[1]):
        print("ready", flush=True)
        sys.stdin.readline()
    print("free", flush=True)
    sys.stdin.readline()
"""


@pytest.fixture
def holder(tmp_path):
    """A process that holds the lock until it is written to."""
    process = python(HOLDER, tmp_path / "lock")
    assert process.stdout.readline() == b"ready\n"
    yield process
    process.kill()
    process.communicate()


def test_the_wait_is_bounded_and_names_the_lock(tmp_path, holder):
    path = str(tmp_path / "lock")
    start = time.monotonic()
    with pytest.raises(Problem) as caught, files.lock(path, 0.3):
        pytest.fail("two held it")
    assert 0.3 <= time.monotonic() - start < 1.5
    assert (caught.value.kind, caught.value.code, caught.value.message, caught.value.hint) == (
        "busy",
        75,
        f"the lock {path} was not free within 0.3 s",
        "another clip-harness process holds it; wait for it or end it, then try again",
    )
    assert mode(path) == 0o600


def test_an_old_lock_is_not_stolen(tmp_path, holder):
    path = str(tmp_path / "lock")
    os.utime(path, (1, 1))
    with pytest.raises(Problem), files.lock(path, 0.05):
        pytest.fail("stolen")


def test_a_lock_is_free_when_its_holder_lets_go(tmp_path, holder):
    holder.stdin.write(b"\n")
    holder.stdin.flush()
    with files.lock(str(tmp_path / "lock"), 10):
        pass
    assert (tmp_path / "lock").exists()


def test_a_lock_is_free_when_its_holder_is_killed(tmp_path, holder):
    holder.kill()
    with files.lock(str(tmp_path / "lock"), 10):
        pass


def test_a_lock_file_that_was_left_lying_about_is_free(tmp_path):
    (tmp_path / "lock").write_text("4711")
    with files.lock(str(tmp_path / "lock"), 0):
        pass
    assert (tmp_path / "lock").read_text() == "4711"


def test_a_lock_is_given_back_after_an_exception(tmp_path):
    path = str(tmp_path / "lock")
    with pytest.raises(ZeroDivisionError), files.lock(path, 0):
        raise ZeroDivisionError
    with files.lock(path, 0):
        pass


def test_a_lock_excludes_the_same_process_too(tmp_path):
    path = str(tmp_path / "lock")
    with files.lock(path), pytest.raises(Problem), files.lock(path, 0.02):
        pytest.fail("held twice")


@pytest.mark.parametrize("how", ["exec", "fork"])
def test_a_child_does_not_keep_the_lock(tmp_path, how):
    """A child that outlives the block: made by exec, or only forked and still waiting."""
    code = """
        import os, subprocess, sys
        from ch_contract import files
        hold, ready = os.pipe()
        with files.lock(sys.argv[1]):
            if sys.argv[2] == "exec":
                child = subprocess.Popen(["/bin/sleep", "30"], close_fds=False).pid
            else:
                child = os.fork()
                if child == 0:
                    os.close(ready)
                    os.read(hold, 1)
                    os._exit(0)
        print("ready", flush=True)
        sys.stdin.readline()
        os.kill(child, 9)
        os.waitpid(child, 0)
    """
    process = python(code, tmp_path / "lock", how)
    try:
        assert process.stdout.readline() == b"ready\n"
        with files.lock(str(tmp_path / "lock"), 0):
            pass
    finally:
        process.communicate(b"\n", timeout=30)


def test_two_processes_exclude_each_other(tmp_path):
    """Each adds one to a number 300 times; no addition is lost."""
    code = """
        import sys
        from ch_contract import files
        folder = sys.argv[1]
        sys.stdin.read(1)
        for _ in range(300):
            with files.lock(folder + "/lock"):
                n = int(files.read(folder + "/n") or b"0")
                open(folder + "/n", "w").write(str(n + 1))
    """
    pair = [python(code, tmp_path) for _ in range(2)]
    for process in pair:
        process.stdin.close()
    assert [process.wait(60) for process in pair] == [0, 0]
    for process in pair:
        process.stdout.close()
    assert (tmp_path / "n").read_text() == "600"


def test_a_lock_in_a_folder_that_is_not_there(tmp_path):
    path = str(tmp_path / "no" / "lock")
    with pytest.raises(Problem) as caught, files.lock(path):
        pytest.fail("held")
    assert caught.value.message == f"cannot open the lock {path}: No such file or directory"
