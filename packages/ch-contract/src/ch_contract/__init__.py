"""What two processes of clip-harness must agree on.

Documents and their schemas, problems and exit codes, files at rest, the places they lie in, the
settings that are in force, the shell that runs a command. It decides nothing about a payload.
"""

__version__ = "0.4.0"
