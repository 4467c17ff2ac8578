"""Which processes belong to a run."""

import os

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ch_exec.descendants import Process, children_of, listing, members, parse_ps

OWN, SHELL = 100, 200


def belonging(processes, before=frozenset()):
    return sorted(p.pid for p in members(processes, SHELL, OWN, before))


@pytest.mark.parametrize(
    ("process", "before", "belongs"),
    [
        (Process(300, SHELL, 300, 300), frozenset(), True),
        (Process(300, 1, SHELL, SHELL), frozenset(), True),
        (Process(300, 1, 300, SHELL), frozenset(), True),
        (Process(300, 1, 300, 300), frozenset(), False),
        (Process(300, 1, 300, 300, is_marked=True), frozenset(), True),
        (Process(300, OWN, 300, 300), frozenset(), True),
        (Process(300, OWN, 300, 300), frozenset({300}), False),
        (Process(300, OWN, 300, 300), None, False),
        (Process(300, OWN, 300, 300, is_marked=True), frozenset({300}), False),
    ],
    ids=[
        "child", "group", "session", "stranger", "marked", "orphan that came to us",
        "ours from before", "child of ours where no orphans come", "spared though marked",
    ],
)  # fmt: skip
def test_one_process_beside_the_shell(process, before, belongs):
    """A process is the run's by descent, group, session, mark, or by having come to us."""
    shell = Process(SHELL, OWN, SHELL, SHELL)
    expected = [SHELL, 300] if belongs else [SHELL]
    assert belonging([shell, Process(OWN, 1, OWN, OWN), process], before) == expected


def test_without_its_shell_a_run_is_known_by_its_mark():
    """Its number may be another's by now: group and session say nothing."""
    table = [
        Process(SHELL, 1, SHELL, SHELL),
        Process(300, 1, SHELL, SHELL),
        Process(400, 1, 400, 400, is_marked=True),
        Process(401, 400, 401, 401),
    ]
    assert [process.pid for process in members(table, None, OWN, None)] == [400, 401]


def test_children_of_what_was_ours_before_are_spared():
    """The subtree of a child from before the run is not looked into."""
    processes = [
        Process(SHELL, OWN, SHELL, SHELL),
        Process(300, OWN, 300, 300),
        Process(301, 300, 300, 300),
        Process(400, SHELL, 400, 400),
        Process(401, 400, 401, 401),
    ]
    assert belonging(processes, frozenset({300})) == [SHELL, 400, 401]


@settings(deadline=None)
@given(
    st.lists(
        st.tuples(
            st.integers(1, 12), st.integers(0, 12), st.integers(0, 12), st.integers(0, 12),
            st.booleans(),
        ),
        max_size=20,
        unique_by=lambda row: row[0],
    ),
    st.frozensets(st.integers(1, 12)),
)  # fmt: skip
def test_we_and_what_was_ours_before_never_belong(rows, before):
    """Whatever the process table looks like, cycles too: it ends, and spares the spared."""
    table = [Process(pid, up, group, session, is_marked=m) for pid, up, group, session, m in rows]
    found = {process.pid for process in members(table, 2, 1, before)}
    assert not found & (before | {1})


def test_parents_come_before_their_children():
    """The shell first, then by age: ids begin anew when they are used up."""
    processes = [
        Process(7, 301, 300, 300, start="12"),
        Process(301, 300, 300, 300, start="11"),
        Process(300, SHELL, 300, 300, start="9"),
        Process(SHELL, OWN, SHELL, SHELL, start="9"),
    ]
    assert [p.pid for p in members(processes, SHELL, OWN, frozenset())] == [SHELL, 300, 301, 7]


PS = """\
    1     0     1      0 Ss   /sbin/launchd
  200   100   200      0 Ss   /bin/bash -c -- sleep 9 CH_EXEC_RUN=r-00000001 HOME=/Users/a
  201   200   200      0 S    sleep 9 HOME=/Users/a CH_EXEC_RUN=r-00000001
  202     1   202      0 S    sleep 9 CH_EXEC_RUN=r-00000001 A=b
  203     1   203      0 S    sleep 9 CH_EXEC_RUN=r-00000002
  204   200   204      0 Z    (sleep)
  nonsense
"""


def test_the_listing_of_ps_is_read_where_there_is_no_proc():
    """Ids, parents, dead ones and the mark of the run come from one call of ps."""
    table = parse_ps(PS, "r-00000001")
    assert [(p.pid, p.parent, p.group, p.is_dead, p.is_marked) for p in table] == [
        (1, 0, 1, False, False),
        (200, 100, 200, False, True),
        (201, 200, 200, False, True),
        (202, 1, 202, False, True),
        (203, 1, 203, False, False),
        (204, 200, 204, True, False),
    ]
    assert belonging(table, None) == [200, 201, 202, 204]


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="there is no /proc")
def test_the_real_table_knows_this_process():
    """/proc lists this process under its parent, and its children."""
    own = {process.pid: process for process in listing("r-00000001")}[os.getpid()]
    assert (own.parent, own.is_dead, own.is_marked) == (os.getppid(), False, False)
    pid = os.fork()
    if pid == 0:
        os._exit(0)
    try:
        assert pid in children_of(os.getpid())
    finally:
        os.waitpid(pid, 0)
