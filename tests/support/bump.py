"""Set one version everywhere: `python tests/support/bump.py 0.4.1`.

Rewrites the version and the pins of siblings in every packages/*/pyproject.toml, and
`ch_contract.__version__`. Prints each file it changed.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
VERSION = re.compile(r"[0-9]+\.[0-9]+\.[0-9]+((a|b|rc)[0-9]+)?")


def bump(root, version):
    """Write `version` into the tree at `root`; gives the changed files. Raises ValueError."""
    if not VERSION.fullmatch(version):
        raise ValueError(f"not a version: {version}")
    projects = sorted(root.glob("packages/*/pyproject.toml"))
    own = "|".join(path.parent.name for path in projects)
    rules = [(rf'"((?:{own})(?:\[[a-z0-9,]+\])?)==[^"]+"', rf'"\1=={version}"')]
    rules.append((r'(?m)^version = "[^"]+"$', f'version = "{version}"'))
    rules.append((r'(?m)^__version__ = "[^"]+"$', f'__version__ = "{version}"'))
    changed = []
    for path in [*projects, root / "packages/ch-contract/src/ch_contract/__init__.py"]:
        before = text = path.read_text()
        for pattern, new in rules:
            text = re.sub(pattern, new, text)
        if text != before:
            path.write_text(text)
            changed.append(path)
    return changed


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    for path in bump(ROOT, sys.argv[1]):
        print(path.relative_to(ROOT))
