"""What does this text ask for?"""

from .cli import main
from .ladder import parse

__all__ = ["main", "parse"]
