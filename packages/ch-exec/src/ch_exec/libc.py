"""Calls of the system that Python's `os` does not have (Linux)."""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable


def function(name: str) -> Callable[..., int] | None:
    """The function `name` of the C library; it takes integers and bytes. None where none is known.

    The interface of other systems differs, so there is none but on Linux.
    """
    if not sys.platform.startswith("linux"):
        return None
    try:
        # the part of ctypes written in C is enough, and costs a quarter of the whole
        import _ctypes

        # None is this program itself with all its libraries; the type stub does not know that
        address = _ctypes.dlsym(_ctypes.dlopen(None, 0), name)  # type: ignore[arg-type]
    except (ImportError, OSError):
        return None
    # the type stub knows it for integers alone
    call: Callable[..., int] = _ctypes.call_function
    return lambda *arguments: call(address, arguments)
