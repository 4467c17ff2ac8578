"""A disk that is really full, and one that is really read-only."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

UNSHARE = ["unshare", "--mount", "true"]
CAN_MOUNT = (
    sys.platform == "linux"
    and os.geteuid() == 0
    and subprocess.run(UNSHARE, capture_output=True, check=False).returncode == 0
)
pytestmark = [
    pytest.mark.heavy,
    pytest.mark.skipif(not CAN_MOUNT, reason="needs a mount namespace of its own"),
]

SCRIPT = """
set -u
mount -t tmpfs -o size=48k tmpfs "$STATE" || exit 99
receipt() { "$PYTHON" -c "from ch_receipt.cli import main_process; main_process()" "$@"; }
full=no
for n in $(seq 10 70); do
    sed "s/r-0000000000000001/r-00000000000000$n/" "$DOCUMENT" | receipt >"$OUT/$n.json" 2>"$OUT/err"
    if [ -s "$OUT/err" ]; then full=$n; break; fi
done
echo "full $full"
receipt verify; echo "verify $?"
receipt tail 1 --json >"$OUT/last.json"
echo hello | receipt capture --run-id r-00000099 --trigger explicit --cwd / 2>"$OUT/capture"
echo "capture $?"
ls -A "$STATE/open" "$STATE/runs" 2>/dev/null | grep r-00000099
mount -o remount,ro "$STATE"
receipt <"$DOCUMENT" 2>"$OUT/read-only" >"$OUT/read-only.json"; echo "append $?"
echo hello | receipt capture --run-id r-00000099 --trigger explicit --cwd / 2>/dev/null
echo "capture $?"
receipt verify; echo "verify $?"
"""


def test_nothing_is_half_written(state, executed, tmp_path):
    """The last line that was acknowledged is the last one there, and the chain is whole."""
    state.mkdir(parents=True)
    document = tmp_path / "document.json"
    document.write_text(json.dumps(executed()))
    out = tmp_path / "out"
    out.mkdir()
    done = subprocess.run(
        ["unshare", "--mount", "--propagation", "private", "sh", "-c", SCRIPT],
        env={
            **os.environ,
            "STATE": str(state),
            "DOCUMENT": str(document),
            "OUT": str(out),
            "PYTHON": sys.executable,
        },
        capture_output=True,
        text=True,
        check=False,
    )
    rows = done.stdout.splitlines()
    assert (done.stderr, done.returncode) == ("", 0)
    full = int(rows[0].removeprefix("full "))
    last = json.loads((out / "last.json").read_text())
    known = json.loads(Path(out / f"{full - 1}.json").read_text())
    refused = json.loads((out / f"{full}.json").read_text())
    assert (last["seq"], last["run_id"]) == (known["receipt"]["seq"], f"r-00000000000000{full - 1}")
    assert ("receipt" in refused, refused["problem"]["kind"]) == (False, "system")
    assert rows[1:] == [
        f"{last['seq']} lines, the chain is whole",
        "verify 0",
        "capture 74",
        "append 0",
        "capture 74",
        f"{last['seq']} lines, the chain is whole",
        "verify 0",
    ]
    assert "No space left on device — free some space" in (out / "err").read_text()
    assert "No space left on device — free some space" in (out / "capture").read_text()
    assert "Read-only file system — that disk is read-only" in (out / "read-only").read_text()
    assert "receipt" not in json.loads((out / "read-only.json").read_text())
