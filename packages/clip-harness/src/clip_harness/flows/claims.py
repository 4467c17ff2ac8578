"""One clipboard change is run once at a time.

A claim is a locked file named after the change: its owner count, serial or modification time
where the clipboard has one, else its content. The kernel frees it when the process dies. Copying
the same text again later is another change, or finds the claim free.
"""

from __future__ import annotations

import contextlib
import os

from ch_contract import files, places
from ch_contract.problems import Problem
from ch_contract.quiet_hashlib import hexdigest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


@contextlib.contextmanager
def claim(clipboard: str, change: str | None, raw: bytes) -> Iterator[None]:
    """Hold the claim on one change of `clipboard` while the block runs.

    Raises Problem("busy") when another process runs that same change. Where the state folder
    cannot be had or written there is nothing to hold: the flow cannot record the run there either,
    so it runs nothing and says why.
    """
    token = change.encode() if change is not None else raw
    name = hexdigest(clipboard.encode() + b"\0" + token)[:16]
    with contextlib.ExitStack() as stack:
        try:
            folder = files.private_folder(os.path.join(places.state_dir(), "claims"))
            stack.enter_context(files.claim(os.path.join(folder, name)))
            _sweep(folder, name)
        except Problem as problem:
            if problem.kind not in ("system", "settings"):
                raise
        except BlockingIOError:
            raise Problem(
                "busy",
                "this copy is running already",
                "wait for its result, or stop it with: clip-harness cancel",
            ) from None
        yield


def _sweep(folder: str, own: str) -> None:
    """Remove the claims of processes that died: whoever can take one may remove it."""
    for name in os.listdir(folder):
        if name != own:
            with contextlib.suppress(BlockingIOError), files.claim(os.path.join(folder, name)):
                continue
