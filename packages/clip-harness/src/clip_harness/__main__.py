"""`python -m clip_harness` is `clip-harness`."""

from .cli import main_process

main_process()
