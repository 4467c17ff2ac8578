"""Raw output and foreign text as something a person can read and a chat can hold.

Decides what is shown for bytes that are no text and for characters that steer a terminal. The
raw bytes stay in `output.txt`. Pure.
"""

from __future__ import annotations

from ch_contract.unseen import escaped

# Every control character but newline and tab, and every byte that was no UTF-8.
_CONTROLS = {code: f"\\x{code:02x}" for code in (*range(9), *range(11, 32), 127)}
_CONTROLS.update({code: f"\\u{code:04x}" for code in range(0x80, 0xA0)})
_CONTROLS.update({0xDC00 + byte: f"\\x{byte:02x}" for byte in range(0x80, 0x100)})

_STEERING = ("\x1b", "\r", "\b")


def decode(data: bytes) -> str:
    """`data` as UTF-8; each byte that is none counts as one (surrogate) character."""
    return data.decode("utf-8", "surrogateescape")


def encode(text: str) -> bytes:
    """The bytes that `decode` made `text` of."""
    return text.encode("utf-8", "surrogateescape")


def output(text: str) -> str:
    """Output as the terminal would have shown it in the end, without colours.

    Escape sequences go, carriage returns and backspaces are replayed, what is left of control
    characters and undecodable bytes becomes a backslash escape.
    """
    if any(sign in text for sign in _STEERING):
        from .replay import replay

        text = replay(text)
    return text.translate(_CONTROLS)


def visible(text: str) -> str:
    """A command, path or sentence with nothing in it that hides or turns text around."""
    if text.isascii() and text.isprintable():
        return text
    # in what a person judges by, what cannot be seen is no better than a control character
    return escaped(text.translate(_CONTROLS))


def line(text: str) -> str:
    """`visible`, on one line."""
    return visible(" ".join(text.split()))
