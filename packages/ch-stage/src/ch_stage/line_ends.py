"""Line ends of a file: of which kind they are, and that a change leaves them of one kind.

Pure. A lone CR is no line end here: it is a character like any other.
"""

from __future__ import annotations

from .targets import refused


def is_crlf(data: bytes) -> bool:
    """Whether every line of `data` ends with CRLF."""
    return b"\r\n" in data and data.count(b"\n") == data.count(b"\r\n")


def is_mixed(data: bytes) -> bool:
    """Whether some lines of `data` end with CRLF and some with LF alone."""
    return b"\r\n" in data and data.count(b"\n") != data.count(b"\r\n")


def to_lf(text: str) -> str:
    """`text` with LF for every line end."""
    return text.replace("\r\n", "\n")


def to_crlf(text: str) -> str:
    """`text`, which has LF alone, with CRLF for every line end."""
    return text.replace("\n", "\r\n")


def check_kept(path: str, base: bytes, after: bytes) -> None:
    """Refuse a change that brings a second kind of line ends. Raises Problem("refused")."""
    if b"\n" in base and is_mixed(after) and not is_mixed(base):
        kind, other = ("CRLF", "LF alone") if b"\r\n" in base else ("LF", "CRLF")
        raise refused(
            path,
            f"has {kind} line ends, and the change would bring in {other}",
            "keep the line ends of the file, or send the whole file with a file fence",
        )
