"""The time as people read it."""

from __future__ import annotations

import datetime as dt
import time

import pytest

from ch_contract import checker, clock

AT = checker.load("decision.schema.json")["properties"]["at"]["pattern"]
RUN_ID = checker.load("run.schema.json")["properties"]["run_id"]["pattern"]


@pytest.fixture
def zone(monkeypatch):
    def use(name):
        monkeypatch.setenv("TZ", name)
        time.tzset()

    yield use
    monkeypatch.undo()
    time.tzset()


@pytest.mark.parametrize(
    ("name", "nanoseconds", "expected"),
    [
        ("UTC", 0, "1970-01-01T00:00:00.000+00:00"),
        ("UTC", 1_796_073_594_999_999_999, "2026-11-30T21:19:54.999+00:00"),
        ("UTC", 1_796_073_595_000_000_000, "2026-11-30T21:19:55.000+00:00"),
        ("UTC", 1_796_073_595_001_000_000, "2026-11-30T21:19:55.001+00:00"),
        # rules as POSIX writes them, so that no zone files are needed
        ("CET-1CEST,M3.5.0,M10.5.0/3", 1_793_494_799_999_000_000, "2026-11-01T01:59:59.999+01:00"),
        ("CET-1CEST,M3.5.0,M10.5.0/3", 1_774_745_999_000_000_000, "2026-03-29T01:59:59.000+01:00"),
        ("CET-1CEST,M3.5.0,M10.5.0/3", 1_774_746_000_000_000_000, "2026-03-29T03:00:00.000+02:00"),
        ("NST3:30NDT,M3.2.0,M11.1.0", 1_796_073_595_000_000_000, "2026-11-30T17:49:55.000-03:30"),
        ("<+0545>-5:45", 1_796_073_595_000_000_000, "2026-12-01T03:04:55.000+05:45"),
        ("<-12>12", 1_796_073_595_000_000_000, "2026-11-30T09:19:55.000-12:00"),
    ],
)
def test_now(zone, monkeypatch, name, nanoseconds, expected):
    zone(name)
    monkeypatch.setattr(time, "time_ns", lambda: nanoseconds)
    assert clock.now() == expected
    assert checker.search(AT, expected)
    parsed = dt.datetime.fromisoformat(expected)
    assert int(parsed.timestamp() * 1000) == nanoseconds // 1_000_000


def test_now_is_now():
    before = time.time()
    found = dt.datetime.fromisoformat(clock.now()).timestamp()
    assert before - 0.002 <= found <= time.time()


def test_run_ids_match_the_schema_and_differ():
    ids = {clock.run_id() for _ in range(1000)}
    assert len(ids) == 1000
    assert all(checker.search(RUN_ID, entry) for entry in ids)


def test_run_ids_sort_by_time(monkeypatch):
    monkeypatch.setattr(time, "time", lambda: 1_796_073_595.9)
    assert clock.run_id().startswith(f"r-{1_796_073_595:08x}")
