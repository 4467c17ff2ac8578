"""The two pipe steps of ch-goal: `guard` before the gate, and the standing after the run.

This version keeps no goals. It passes on whatever asks for none, and refuses whatever does: a
guard that is silently left out is worse than none.
"""

from __future__ import annotations

import sys

from ch_contract import tool
from ch_contract.problems import Problem

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ch_contract.messages import Run

USAGE = """\
usage: ch-goal [guard] [--exit-code] < run document > run document

Say where the goal stands.

`guard` stands before ch-gate and refuses what must not run: an unknown goal, a stale revision, a
repeated action. Without a subcommand it stands after ch-exec. This version keeps no goals: both
pass on every document that asks for none, and refuse the headers goal, expect-revision and
action-id and every goal action.

options:
  --exit-code  exit with the document's answer: 0 nothing in the way, 1 refused
  --help       show this text
  --version    show the version
"""

HEADERS = (
    ("goal", "goal"),
    ("expect_revision", "expect-revision"),
    ("action_id", "action-id"),
)


def guard(document: Run) -> None:
    """Refuse a payload that needs a goal.

    Raises Problem("unsupported") that names the header or the action.
    """
    payload = document["payload"]
    if payload["kind"] == "goal":
        raise Problem(
            "unsupported",
            f"this version cannot do the action {payload['metadata']['action']} yet",
            "nothing was changed; leave goal actions out, and keep the goal in the chat",
        )
    for key, header in HEADERS:
        if payload["metadata"].get(key) is not None:
            raise Problem(
                "unsupported",
                f"this version cannot honour the header {header}: yet",
                "nothing was run; ask the person before sending it without that header",
            )


def main(argv: list[str], streams: tool.Streams) -> int:
    """Run the tool with these arguments and streams; gives the exit code."""
    stage = "executed"
    if argv[:1] == ["guard"]:
        argv, stage = argv[1:], "parsed"
    return tool.pipe(
        "ch-goal",
        argv,
        streams,
        lambda document, _flags: guard(document),
        usage=USAGE,
        reads=stage,
        writes=stage,
    )


def main_process() -> None:
    """The installed command."""
    sys.exit(main(sys.argv[1:], tool.own_streams()))
