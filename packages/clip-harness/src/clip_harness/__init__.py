"""One hotkey between a chat that can only talk and your shell."""

from .cli import main

__all__ = ["main"]
