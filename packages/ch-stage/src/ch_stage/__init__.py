"""What exactly would change, and did a person say yes?"""

from .cli import main

__all__ = ["main"]
