"""What a ledger holds, counted: events, decisions, rules, and over which time."""

from __future__ import annotations

import json
import os

from . import clean, ledger
from .receipt import END_EVENTS, RESUMED, WAITING

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Summary = dict[str, Any]


def summarise(state: str) -> Summary:
    """Counts over the ledger, read once from end to end, and over that of version 0.3.0."""
    found: Summary = {
        "lines": 0,
        "runs": 0,
        "first_at": None,
        "last_at": None,
        "events": {},
        "decisions": {},
        "rules": {},
        "unreadable": 0,
        "earlier": _earlier(os.path.join(state, ledger.EARLIER)),
    }
    resumed: set[object] = set()
    for raw in ledger.forwards(ledger.ledger_path(state)):
        line = ledger.parse(raw)
        if line is None:
            found["unreadable"] += 1
            continue
        found["lines"] += 1
        at = line.get("at")
        if isinstance(at, str):
            found["last_at"] = _unicode(at)
            found["first_at"] = found["first_at"] or found["last_at"]
        _count(found["events"], line["event"])
        if line["event"] == RESUMED:
            resumed.add(line.get("run_id"))
        if line["event"] in END_EVENTS:
            # one that waits for a person has not ended yet
            found["runs"] += line["event"] != WAITING
            if line.get("run_id") in resumed:
                # it was counted when it was held
                continue
            verdict = line.get("verdict")
            if isinstance(verdict, dict):
                _count(found["decisions"], verdict.get("decision"))
                if verdict.get("rule") is not None:
                    _count(found["rules"], verdict["rule"])
    return found


def _earlier(path: str) -> Summary | None:
    """The same, as far as it goes, for a ledger of version 0.3.0."""
    events: dict[str, int] = {}
    lines = 0
    for raw in ledger.forwards(path):
        lines += 1
        try:
            line = json.loads(raw.decode("utf-8"))
        except (ValueError, RecursionError):
            continue
        if isinstance(line, dict):
            _count(events, line.get("event"))
    return {"lines": lines, "events": events} if lines else None


def _count(counts: dict[str, int], name: object) -> None:
    if isinstance(name, str):
        name = _unicode(name)
        counts[name] = counts.get(name, 0) + 1


def _unicode(text: str) -> str:
    """`text` with half surrogate pairs, which an edited line can hold, as escapes."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def text(found: Summary) -> str:
    """The summary for a terminal."""
    rows = [f"{found['lines']} lines, {found['runs']} ended runs"]
    if found["first_at"] is not None:
        rows.append(clean.line(f"from {found['first_at']} to {found['last_at']}"))
    for title in ("events", "decisions", "rules"):
        if found[title]:
            rows.append(f"{title}:")
            ordered = sorted(found[title].items(), key=lambda pair: (-pair[1], pair[0]))
            rows += [f"  {count:>7}  {clean.line(name)}" for name, count in ordered]
    if found["unreadable"]:
        rows.append(f"{found['unreadable']} lines cannot be read: see ch-receipt verify")
    if found["earlier"] is not None:
        rows.append(f"before them {found['earlier']['lines']} lines of version 0.3.0")
    return "\n".join(rows) + "\n"
