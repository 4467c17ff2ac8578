"""What happened, for the ledger and for the chat?"""

from .block import block
from .cli import main

__all__ = ["block", "main"]
