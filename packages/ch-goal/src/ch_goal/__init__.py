"""Where do we stand?"""

from .cli import main

__all__ = ["main"]
