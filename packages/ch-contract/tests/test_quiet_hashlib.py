"""sha256 is right, and a Python without blake2 prints nothing (R208)."""

from __future__ import annotations

import hashlib
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ch_contract import quiet_hashlib

# What CPython's hashlib does at import when constructors are missing.
NOISY = """
import logging
logging.exception("code for hash %s was not found.", "blake2b")
logging.error("ValueError: unsupported hash type blake2b")
import sys
here = sys.path.pop(0)
del sys.modules["hashlib"]
import hashlib as real
sys.modules["hashlib"] = real
sha256 = real.sha256
"""
BLOCKED = """
import sys
sys.modules["_sha2"] = sys.modules["_sha256"] = None
"""


@settings(deadline=None, max_examples=50)
@given(st.binary(max_size=300), st.binary(max_size=300))
def test_sha256_is_right(one, two):
    assert quiet_hashlib.hexdigest(one) == hashlib.sha256(one).hexdigest()
    digest = quiet_hashlib.sha256(one)
    digest.update(two)
    assert digest.hexdigest() == hashlib.sha256(one + two).hexdigest()
    assert quiet_hashlib.sha256().hexdigest() == hashlib.sha256().hexdigest()


@pytest.mark.parametrize("blocked", ["", BLOCKED], ids=["built-in", "hashlib"])
@pytest.mark.parametrize("before", ["", "import logging; logging.disable(10)\n"])
def test_a_python_without_blake2_prints_nothing(tmp_path, blocked, before):
    (tmp_path / "hashlib.py").write_text(NOISY)
    code = f"""{blocked}
import sys
sys.path.insert(0, {str(tmp_path)!r})
{before}
from ch_contract.quiet_hashlib import hexdigest
print(hexdigest(b"abc"))
if "logging" in sys.modules:
    import logging
    print(logging.root.manager.disable)
"""
    done = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, check=False)
    lines = done.stdout.decode().splitlines()
    assert (lines[0], done.stderr, done.returncode) == (hashlib.sha256(b"abc").hexdigest(), b"", 0)
    assert lines[1:] in ([], ["10" if before else "0"])


def test_the_stand_in_is_noisy_without_us(tmp_path):
    """Else the test above shows nothing."""
    (tmp_path / "hashlib.py").write_text(NOISY)
    code = f"import sys; sys.path.insert(0, {str(tmp_path)!r}); import hashlib"
    done = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, check=True)
    assert b"blake2b" in done.stderr


def test_no_tool_brings_hashlib_or_logging_by_this_module():
    code = (
        "import sys; from ch_contract import quiet_hashlib; "
        "print([name for name in ('hashlib', '_hashlib', 'logging') if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", f"import sys; sys.path[:0] = {sys.path!r}; {code}"],
        capture_output=True,
        check=True,
    )
    assert done.stdout == b"[]\n"
