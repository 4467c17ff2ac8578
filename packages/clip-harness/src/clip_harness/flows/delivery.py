"""Bringing a block to where people read it.

The clipboard comes first: it is what the person waits for, and a terminal that has gone away must
not cost them the result. What this harness last put on the clipboard is remembered by its hash, so
that it is never taken for a payload; that is bookkeeping, and its failure costs nobody a block.
"""

from __future__ import annotations

import os

from ch_contract import clock, documents, files, places, problems
from ch_contract.problems import Problem
from ch_contract.quiet_hashlib import hexdigest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ch_contract.tool import Streams
    from clip_harness.adapters.clipboard import Clipboard


def deliver(
    block: bytes,
    streams: Streams,
    clipboard: Clipboard | None,
    state: str | None = None,
    kept: str | None = None,
) -> int:
    """Put `block` on the clipboard, then on standard output; gives 0, or 74 when one failed.

    `kept` is a file that holds the same text; it is named when the clipboard cannot take it.
    """
    code = problems.OK
    if clipboard is not None:
        try:
            if state is not None:
                remember(block, streams, state)
            clipboard.write(block, kept if kept is not None and os.path.exists(kept) else None)
        except Problem as problem:
            streams.say(f"clip-harness: {problems.sentence(problem.section('clip-harness'))}")
            code = problem.code
    try:
        documents.put(streams.stdout, block)
    except Problem as problem:
        streams.say(f"clip-harness: {problems.sentence(problem.section('clip-harness'))}")
        code = problem.code
    except BrokenPipeError:
        code = problems.SYSTEM
    return code


def remember(block: bytes, streams: Streams, state: str) -> None:
    """Note the hash of the text that goes to the clipboard."""
    record = {"sha256": hexdigest(block), "at": clock.now()}
    try:
        files.private_folder(state)
        files.write_atomic(os.path.join(state, "clipboard.json"), documents.encode(record))
    except Problem as problem:
        streams.say(f"clip-harness: {problems.sentence(problem.section('clip-harness'))}")


def is_own(state: str, raw: bytes) -> bool:
    """Whether `raw` is the text this harness last wrote to the clipboard."""
    try:
        data = files.read(os.path.join(state, "clipboard.json"))
        record = documents.parse_json(data, "clipboard.json") if data is not None else None
    except Problem:
        return False
    return isinstance(record, dict) and record.get("sha256") == hexdigest(raw)


def kept_block(state: str, run_id: str) -> str:
    """Where ch-receipt keeps the block of a run."""
    return os.path.join(places.run_dir(state, run_id), "result.txt")
