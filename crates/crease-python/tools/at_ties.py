"""What frameworks return at ties, beside what imported programs do: the part of the tables of coverage that both frameworks share.

A case is tried at points where many numbers are equal: all zeros, all ones, and its own numbers rounded. Points at which the framework has no finite value or gradient are counted apart.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Callable

import numpy as np

from crease import CreaseError, inspect
from crease._explain import judged
from crease._tree import leaves_of, map_leaves

RIGHT = ("gradient", "clarke", "conservative")
COLUMNS = "points at ties | the same gradient | no number | other | judged right | not judged | judged wrong"


def tied_points(args: tuple[Any, ...], make: Callable[[np.ndarray, Any], Any]) -> list[tuple[Any, ...]]:
    """Arguments with ties; `make` gives a leaf its kind again, or the old one if it is none of numbers that move."""
    changes = (np.zeros_like, np.ones_like, np.round)
    return [tuple(map_leaves(lambda x, _, f=f: make(f, x), a) for a in args) for f in changes]


@dataclass
class Ties:
    """What was found at ties."""

    points: int = 0
    same: int = 0
    nothing: int = 0
    other: list[str] = field(default_factory=list)
    right: int = 0
    unknown: int = 0
    wrong: list[str] = field(default_factory=list)

    def row(self) -> str:
        """The cells of :data:`COLUMNS`."""
        return " | ".join(map(str, (self.points, self.same, self.nothing, len(self.other), self.right, self.unknown, len(self.wrong))))

    def add(self, name: str, program: Any, args: tuple[Any, ...], theirs: Any, tolerance: float, seconds: float) -> None:
        """Counts one point."""
        self.points += 1
        wanted = [np.asarray(g, float) for g in leaves_of(theirs)]
        if not all(np.all(np.isfinite(g)) for g in wanted):
            self.nothing += 1
            return
        try:
            ours = [np.asarray(g, float) for g in leaves_of(program.grad(*args))]
            scale = max(1.0, *(float(np.max(np.abs(g), initial=0.0)) for g in wanted))
            near = all(a.shape == b.shape and np.max(np.abs(a - b), initial=0.0) <= tolerance * scale for a, b in zip(ours, wanted))
            if near:
                self.same += 1
            else:
                self.other.append(f"{name}: {_short(wanted)}, the program {_short(ours)}")
        except CreaseError as e:
            self.other.append(f"{name}: {_short(wanted)}, the program: {str(e).splitlines()[0]}")
        try:
            word = judged(inspect(program, *args, time=seconds), theirs, 1e-5).word
        except CreaseError:
            word = "unknown"
        if word in RIGHT:
            self.right += 1
        elif word == "outside":
            self.wrong.append(f"{name}: {_short(wanted)}")
        else:
            self.unknown += 1


def _short(gs: list[np.ndarray]) -> str:
    flat = np.concatenate([g.ravel() for g in gs])
    return "(" + ", ".join(f"{v:.4g}" for v in flat[:8]) + (", ..." if flat.size > 8 else "") + ")"
