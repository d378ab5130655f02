#!/usr/bin/env python3
"""What installed frameworks return at kinks, as a table in markdown: each operation is run at its kink, imported, and what the framework returned is judged.

    python tools/ties.py jax|torch [--write]

With ``--write`` it becomes the part of docs/ties.md with the framework's name.
"""

from __future__ import annotations

import argparse
import pathlib
import sys
from typing import Any

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).parent))

import page  # noqa: E402

from crease import CreaseError, inspect  # noqa: E402
from crease._explain import judged  # noqa: E402

NAMES = {"jax": "JAX", "torch": "PyTorch"}
WORDS = {"gradient": "the gradient", "clarke": "a Clarke subgradient", "conservative": "of the conservative gradient", "outside": "outside of it", "nan": "no number", "undecided": "not judged"}


def shown(x: Any) -> str:
    """Numbers as text: halves and thirds as they are, others rounded."""
    if isinstance(x, str):
        return "an error"
    flat = np.ravel(np.asarray(x, float))
    parts = ["NaN" if np.isnan(v) else "inf" if v == np.inf else "-inf" if v == -np.inf else f"{v + 0.0:.4g}" for v in flat]
    return parts[0] if len(parts) == 1 else f"({', '.join(parts)})"


def verdict(row: Any, theirs: Any) -> str:
    """What the framework's answer is."""
    if not np.all(np.isfinite(np.asarray(theirs, float))):
        return WORDS["nan"]
    try:
        found = judged(inspect(row.program, row.point, time=20.0), theirs, 1e-5)
    except CreaseError:
        return "there is no derivative"
    return WORDS.get(found.word, found.word)


def section(framework: str) -> str:
    """The part of the page: a line with the version, and the table."""
    if framework == "jax":
        from crease._jax import ties_table
    else:
        from crease._torch import ties_table
    rows = ties_table()
    name = NAMES[framework]
    lines = [f"{name} {rows[0].version}.\n", f"| operation | at | {name} | the imported program | what that is |", "| --- | --- | --- | --- | --- |"]
    for row in rows:
        theirs = getattr(row, framework)
        lines.append(f"| `{row.operation}` | {row.place} | {shown(theirs)} | {shown(row.crease)} | {verdict(row, theirs)} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("framework", choices=sorted(NAMES))
    parser.add_argument("--write", action="store_true", help="into docs/ties.md")
    options = parser.parse_args()
    text = section(options.framework)
    if options.write:
        page.write("ties.md", options.framework, text)
    else:
        print(text, end="")


if __name__ == "__main__":
    main()
