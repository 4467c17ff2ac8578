"""The pipe step of ch-stage.

It passes on what needs no decision, names what waits for one, and refuses file changes: this
version cannot stage them, and a change must never be written without a review.
"""

from __future__ import annotations

import sys

from ch_contract import tool
from ch_contract.problems import Problem

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ch_contract.messages import Run

USAGE = """\
usage: ch-stage [--exit-code] < run document > run document

Name what needs a decision before it may happen.

Reads a run document that ch-gate has judged, and adds `candidates` and `decisions`. A command
the gate allows needs none. A command the gate holds stays without a decision, so ch-exec does not
run it. File changes are refused: this version cannot stage them.

options:
  --exit-code  exit with the document's answer: 0 nothing in the way, 1 denied or refused,
               3 waits for a review
  --help       show this text
  --version    show the version
"""

UNTOUCHED = frozenset({"goal", "control", "ignored", "malformed"})


def stage(document: Run) -> None:
    """Add `candidates` and `decisions` to a judged document.

    Raises Problem("unsupported") for file changes.
    """
    changes = document["payload"]["changes"]
    if changes:
        paths = ", ".join(change["path"] for change in changes)
        raise Problem(
            "unsupported",
            f"this version cannot change files yet: {paths}",
            "nothing was written and nothing was run; ask the person to make the change by hand",
        )
    document["candidates"] = []
    document["decisions"] = []


def _is_foreign(document: Run) -> bool:
    if document["payload"]["kind"] in UNTOUCHED:
        return True
    return document["verdict"]["decision"] == "deny"


def main(argv: list[str], streams: tool.Streams) -> int:
    """Run the tool with these arguments and streams; gives the exit code."""
    return tool.pipe(
        "ch-stage",
        argv,
        streams,
        lambda document, _flags: stage(document),
        usage=USAGE,
        reads="gated",
        writes="staged",
        foreign=_is_foreign,
    )


def main_process() -> None:
    """The installed command."""
    sys.exit(main(sys.argv[1:], tool.own_streams()))
