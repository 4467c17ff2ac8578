"""May it run?"""

from .cli import main
from .policy import judge

__all__ = ["judge", "main"]
