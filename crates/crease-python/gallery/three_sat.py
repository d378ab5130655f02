"""Deciding differentiability is hard: the paper's program of a formula is differentiable at 0 if and only if nothing satisfies the formula.

NumPy is enough. ``python three_sat.py [PICTURE.svg]``
"""

import sys
import tempfile
from pathlib import Path

import numpy as np

import crease

ALL = [(a, b, c) for a in (1, -1) for b in (2, -2) for c in (3, -3)]


def program(clauses):
    """The program of a formula in three variables."""
    text = f"p cnf 3 {len(clauses)}\n" + "".join(" ".join(map(str, c)) + " 0\n" for c in clauses)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "formula.cnf"
        file.write_text(text)
        return crease.load(file)


if __name__ == "__main__":
    for clauses, name in ((ALL, "all eight clauses"), (ALL[:-1], "seven of them")):
        p = program(clauses)
        answer = crease.differentiable(p, *[np.zeros(shape) for _, shape in p.inputs])
        print(f"{name}: differentiable at 0: {answer['verdict']}, {answer['search']['conflicts']} conflicts, certificate of {len(answer.certificate or '')} bytes")
    if len(sys.argv) > 1:
        Path(sys.argv[1]).write_text(program(ALL[:2]).draw(), encoding="utf-8")
