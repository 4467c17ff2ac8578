"""The ledger's runs as Markdown: what was copied, and what was pasted back.

Rendered when it is asked for, from the ledger and the runs' folders. So it costs a run nothing,
and it cannot tell another story than the ledger does.
"""

from __future__ import annotations

import os

from ch_contract import files, places

from . import clean, ledger, listing, receipt
from .block import fenced

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from .receipt import Line


def transcript(state: str, run_id: str | None = None) -> Iterator[str]:
    """The transcript of every run that has ended, or of one; in parts, in the ledger's order."""
    yield "# Transcript\n"
    for raw in ledger.forwards(ledger.ledger_path(state)):
        line = ledger.understood(raw)
        if line is None:
            if run_id is None:
                yield f"\n## {clean.line(listing.text(raw))}\n"
            continue
        if run_id is not None and line["run_id"] != run_id:
            continue
        if line["event"] in receipt.END_EVENTS:
            yield _run(state, line)
        elif line["event"] == "LedgerBroken":
            yield f"\n## {line['at']} · the ledger was found broken: {receipt.status(line)}\n"


def _kept(folder: str, name: str) -> bytes | None:
    return files.read(os.path.join(folder, name), follow=False)


def _run(state: str, line: Line) -> str:
    rows = [
        f"\n## {line['at']} · {line['run_id']}\n",
        f"- event: {line['event']}",
        f"- session: {line['session'] or 'none'}",
        f"- folder: {clean.line(line['cwd'] or 'unknown')}",
        f"- status: {clean.line(receipt.status(line)) or 'none'}",
    ]
    folder = places.run_dir(state, line["run_id"])
    payload = _kept(folder, "payload.txt")
    title = "Copied"
    if payload is None:
        # a pipe by hand keeps what was executed instead
        payload = _kept(folder, "command.txt")
        title = "Executed" if payload is not None else title
    result = _kept(folder, "result.txt")
    rows.append(f"\n{title}:\n")
    if payload is not None:
        rows.append(fenced("text", clean.visible(clean.decode(payload)).removesuffix("\n") + "\n"))
    else:
        rows.append("(not kept)\n")
    rows.append("Pasted back:\n")
    rows.append(clean.decode(result).removesuffix("\n") if result is not None else "(not kept)")
    return clean.encode("\n".join(rows) + "\n").decode("utf-8", "backslashreplace")
