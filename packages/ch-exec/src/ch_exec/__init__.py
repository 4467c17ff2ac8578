"""Run an approved command, and tell exactly what happened."""

from .cli import main
from .planning import plan

__all__ = ["main", "plan"]
