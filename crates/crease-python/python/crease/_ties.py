"""What a walker of foreign programs keeps of a framework's conventions at kinks.

A program has one selection: one choice for all of its maxima. Frameworks have two: ``torch.maximum`` and ``jnp.max`` share the weight among equals, a max-pool gives it to the first of
a window. A walker writes into a :class:`Recording`, a builder that notes which of both it is asked for. A program with one kind of maxima alone keeps them, and its selection says who of equals takes the
weight. In a program with both kinds those that take the first are written as order statistics, for which a selection has a choice of its own; for that it is walked once more.

Order statistics are of both kinds, too: ``torch.median`` of all numbers shares, ``torch.median`` along an axis takes the first. A program with both takes the first.

What is no maximum has one convention in each framework, or is built such that the preset picks what the framework picks.
"""

from __future__ import annotations

from typing import Any, Callable

from ._crease import Builder, Program

_MAXIMA = frozenset({"max", "min"})
_LANES = frozenset({"max", "min", "norminf"})


class Maxima:
    """Which kinds of maxima a program has: ``shared`` among equals, taken by the ``first``; and whether both are to be kept ``apart``. ``ranks``: the same of order statistics."""

    def __init__(self, apart: bool = False):
        self.apart = apart
        self.shared = False
        self.first = False
        self.ranks: set[str] = set()

    @property
    def clash(self) -> bool:
        """Whether one selection is not enough for both kinds."""
        return self.shared and self.first and not self.apart

    def selection(self, preset: str) -> str:
        """What the program picks at kinks."""
        chosen = [preset]
        if self.first and not self.shared:
            chosen.append("max=first")
        if self.ranks == {"shared"}:
            chosen.append("order=average")
        return ", ".join(chosen)


class Recording:
    """A builder that notes which maxima are asked for. Beside ``max`` and ``min`` along an axis it knows ``first_max`` and ``first_min``, whose weight goes to the first of equals; beside
    ``order_statistic`` a ``shared_statistic``, whose weight equals share."""

    def __init__(self, name: str, maxima: Maxima):
        self.inner = Builder(name)
        self.maxima = maxima
        # called for each value
        self.shape: Callable[..., Any] = self.inner.shape

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    def elementwise(self, op: str, *args: int) -> int:
        """An operation of single numbers."""
        if op in _MAXIMA:
            self.maxima.shared = True
        return self.inner.elementwise(op, *args)

    def cumulative(self, name: str, x: int, axis: int) -> int:
        """What runs along an axis."""
        if name in ("cummax", "cummin"):
            self.maxima.shared = True
        return self.inner.cumulative(name, x, axis)

    def lane(self, name: str, x: int, axis: int, k: int | None = None) -> int:
        """An operation of the numbers along an axis."""
        if name in ("first_max", "first_min"):
            self.maxima.first = True
            name = name.removeprefix("first_")
            if not self.maxima.apart:
                return self.inner.lane(name, x, axis)
            self.maxima.ranks.add("first")
            return self.inner.lane("order_statistic", x, axis, self.shape(x)[axis] - 1 if name == "max" else 0)
        if name in _LANES:
            self.maxima.shared = True
        if name in ("order_statistic", "shared_statistic"):
            self.maxima.ranks.add("shared" if name == "shared_statistic" else "first")
            name = "order_statistic"
        return self.inner.lane(name, x, axis, k)


def with_convention(walk: Callable[[Maxima], Program], preset: str) -> Program:
    """The program that a walk gives, with the framework's selection. The walk is done again if its maxima are of both kinds."""
    maxima = Maxima()
    program = walk(maxima)
    if maxima.clash:
        maxima = Maxima(apart=True)
        program = walk(maxima)
    return program.options(select=maxima.selection(preset))
