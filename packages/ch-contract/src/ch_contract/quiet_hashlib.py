"""sha256 without the log lines of a Python that was built without blake2.

CPython's `hashlib` logs a traceback for every missing constructor when it is first imported. The
built-in module is asked first: it is also the cheaper import.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hashlib import _Hash


def _import() -> object:
    """`hashlib`, imported with logging disabled for that moment."""
    import sys

    if "hashlib" in sys.modules:
        return sys.modules["hashlib"]
    import logging

    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        import hashlib
    finally:
        logging.disable(before)
    return hashlib


try:
    from _sha2 import sha256 as _sha256  # type: ignore[import-not-found]  # from CPython 3.12 on
except ImportError:
    try:
        from _sha256 import sha256 as _sha256  # type: ignore[import-not-found]  # CPython 3.11
    except ImportError:
        _sha256 = _import().sha256  # type: ignore[attr-defined]


def sha256(data: bytes = b"") -> _Hash:
    """A sha256 object, as `hashlib.sha256` gives it."""
    return _sha256(data)  # type: ignore[no-any-return]


def hexdigest(data: bytes) -> str:
    """sha256 of `data`, 64 lower-case hexadecimal digits."""
    return sha256(data).hexdigest()
