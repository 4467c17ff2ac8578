"""The identity of a process: its id and the moment it started."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ch_contract import processes


@pytest.fixture
def child():
    process = subprocess.Popen(["/bin/sleep", "60"])
    yield process
    process.kill()
    process.wait()


@pytest.fixture(params=["system", "ps"])
def started(request, monkeypatch):
    """As this system tells it, and as `ps` tells it where there is no /proc."""
    if request.param == "ps":
        if not os.path.exists("/bin/ps"):
            pytest.skip("there is no /bin/ps here")
        monkeypatch.setattr(processes, "started", processes._started_by_ps)
    return processes.started


def test_a_start_time_stays_the_same(started, child):
    first = started(child.pid)
    assert first
    assert started(child.pid) == first
    assert processes.is_alive(child.pid, first)


def test_two_processes_have_different_identities(child):
    mine = processes.started(os.getpid())
    assert mine
    assert (os.getpid(), mine) != (child.pid, processes.started(child.pid))
    assert not processes.is_alive(child.pid, f"{mine}0")


def test_another_process_sees_the_same_start_time():
    code = (
        "import sys; from ch_contract import processes; print(processes.started(int(sys.argv[1])))"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-c", code, str(os.getpid())], capture_output=True, check=True
    )
    assert done.stdout.decode().strip() == processes.started(os.getpid())


def test_a_process_that_ended_is_none(started):
    process = subprocess.Popen(["/bin/true"])
    process.wait()
    assert started(process.pid) is None


def test_a_zombie_is_none(started):
    pid = os.fork()
    if pid == 0:
        os._exit(0)
    os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
    assert started(pid) is None
    os.waitpid(pid, 0)


@pytest.mark.parametrize("pid", [2**31 - 1, 2**22 + 7])
def test_an_id_that_nobody_has(started, pid):
    assert started(pid) is None


@pytest.mark.skipif(not os.path.exists("/proc/self/stat"), reason="needs /proc")
def test_a_name_with_parentheses_and_blanks(tmp_path):
    path = tmp_path / "a) (b c"
    shutil.copy("/bin/sleep", path)
    process = subprocess.Popen([str(path), "60"])
    try:
        plain = processes.started(process.pid)
        assert plain
        assert plain.rpartition("-")[2].isdigit()
    finally:
        process.kill()
        process.wait()


def test_stat_is_read_though_the_name_holds_parentheses():
    """A program may call itself anything."""
    rest = b"S 7 8 9 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 4242 1 2"
    found = processes.parse_stat(b"31 (a) R 1 (b) " + rest)
    assert (found.parent, found.group, found.session) == (7, 8, 9)
    assert (found.ticks, found.is_dead) == ("4242", False)


@settings(deadline=None)
@given(st.binary(max_size=60))
def test_any_bytes_are_a_process_or_none(data):
    """What is cut short is none, never an exception of the parser."""
    found = processes.parse_stat(data)
    assert found is None or isinstance(found, processes.Stat)


def test_a_reused_id_is_another_process(child):
    """The system gives an id again; the start time tells the two apart."""
    first = processes.started(child.pid)
    boot, _, ticks = first.rpartition("-")
    assert not processes.is_alive(child.pid, f"{boot}-{int(ticks) - 1}")
    assert not processes.is_alive(child.pid, f"other-{ticks}")


@pytest.mark.skipif(not os.path.exists("/proc/self/stat"), reason="needs /proc")
def test_without_a_boot_id_a_living_process_is_still_alive(monkeypatch):
    """Some sandboxes hide /proc/sys."""
    import builtins

    real = builtins.open

    def hidden(path, *rest, **more):
        if str(path).startswith("/proc/sys/"):
            raise FileNotFoundError(path)
        return real(path, *rest, **more)

    monkeypatch.setattr(builtins, "open", hidden)
    start = processes.started(os.getpid())
    assert start
    assert processes.is_alive(os.getpid(), start)
