"""What the walker of jaxprs knows beyond values and known arrays: index maps, bounds of integers, numbers that are infinite at known places, and values that
contain something whose gradient is stopped.

None of this needs JAX.
"""

from __future__ import annotations

import math
from typing import Any, Callable, Sequence

import numpy as np

from . import _ops as ops
from ._crease import Builder, CreaseError
from ._ops import Operand, Value

# positions are numbers of the program: beyond this they are not exact in single precision
MOST_POSITIONS = 1 << 24


class Partial:
    """An array that is infinite (or NaN) at known places: ``value`` elsewhere, and 0 there; ``fill`` holds the infinities, and 0 elsewhere."""

    __slots__ = ("value", "fill")

    def __init__(self, value: Value, fill: np.ndarray):
        self.value = value
        self.fill = fill

    @property
    def shape(self) -> tuple[int, ...]:
        return self.value.shape

    @property
    def missing(self) -> np.ndarray:
        """Where it is not finite."""
        return self.fill != 0


class Base:
    """A value behind a ``stop_gradient``, made when it is asked for: where it drops out of the result, nothing of it gets into the program."""

    __slots__ = ("make", "made")

    def __init__(self, make: Callable[[], Value] | None, made: Value | None = None):
        self.make = make
        self.made = made

    def value(self) -> Value:
        """The value."""
        if self.made is None:
            assert self.make is not None
            self.made = self.make()
        return self.made

    def is_same(self, other: "Base") -> bool:
        """Whether both are one value."""
        return self is other or same(self.made, other.made)


class Shift:
    """``value + k * base[positions]``, or the exponential of that: what JAX writes to keep logarithms of sums of exponentials in range, where ``base`` is behind a
    ``stop_gradient``. The function does not depend on the base once the powers cancel, and then it is gone."""

    __slots__ = ("value", "exponential", "k", "base", "positions")

    def __init__(self, value: Any, exponential: bool, k: float, base: Base, positions: np.ndarray):
        self.value = value
        self.exponential = exponential
        self.k = k
        self.base = base
        self.positions = positions

    @property
    def shape(self) -> tuple[int, ...]:
        return self.positions.shape

    def like(self, value: Any, k: float | None = None, exponential: bool | None = None, positions: np.ndarray | None = None) -> Any:
        """The same with other parts; if nothing of the base is left, the value itself."""
        return Shift(
            value,
            self.exponential if exponential is None else exponential,
            self.k if k is None else k,
            self.base,
            self.positions if positions is None else positions,
        )


def is_known(x: Any) -> bool:
    """Whether it is an array whose numbers are known."""
    return not isinstance(x, (Value, Partial, Shift))


def shape_of(x: Any) -> tuple[int, ...]:
    """Its shape."""
    return x.shape if isinstance(x, (Value, Partial, Shift)) else np.shape(x)


def finite(x: Any) -> bool:
    """Whether a known array holds finite numbers only."""
    a = np.asarray(x)
    return a.dtype.kind in "biu" or bool(np.all(np.isfinite(a)))


def uniform(x: Any) -> Any | None:
    """The number that a known array holds everywhere, if it does."""
    a = np.asarray(x)
    if a.size == 0:
        return None
    first = a.ravel()[0]
    return first if a.ndim == 0 or np.all(a == first) else None


def without_value(b: Builder) -> Value:
    """A number that has no value. A program that needs it says so when it runs; one that does not, because another branch is taken, goes on."""
    zero = b.constant(0.0)
    return Value(b, b.elementwise("div", zero, zero))


def affine(positions: np.ndarray) -> tuple[int, list[int]] | None:
    """Where positions start and how far each axis steps, if that is all there is to them."""
    if positions.size == 0:
        return None
    start = int(positions.ravel()[0])
    strides = []
    for axis, n in enumerate(positions.shape):
        there = tuple(1 if a == axis else 0 for a in range(positions.ndim))
        strides.append(int(positions[there]) - start if n > 1 else 0)
    made = np.full(positions.shape, start)
    for axis, (n, s) in enumerate(zip(positions.shape, strides)):
        made = made + (np.arange(n) * s).reshape([n if a == axis else 1 for a in range(positions.ndim)])
    return (start, strides) if np.array_equal(made, positions) else None


def pick(x: Value, positions: np.ndarray) -> Value:
    """Numbers of x at known positions in row-major order, by strides if they are such."""
    positions = np.asarray(positions)
    if positions.size == 0:
        raise CreaseError("crease has no arrays without elements")
    if positions.size == x.size and np.array_equal(positions.ravel(), np.arange(x.size)):
        return ops.reshape(x, positions.shape)
    told = affine(positions)
    if told is None:
        return ops.table(x, positions)
    start, strides = told
    sizes = list(positions.shape) or [1]
    return Value(x.builder, x.builder.view(x.handle, start, sizes, strides or [0], list(positions.shape)), x.truth)


def pick_or(x: Value, positions: np.ndarray, other: Operand) -> Value:
    """Numbers of x at known positions; where those are negative a number that is given, or one without value if that is not finite."""
    if np.all(positions >= 0):
        return pick(x, positions)
    b = x.builder
    fill = ops.lift(b, other) if not is_known(other) or finite(other) else without_value(b)
    both = b.concat([b.reshape(x.handle, [x.size]), b.reshape(fill.handle, [1])], 0)
    return pick(Value(b, both), np.where(positions < 0, x.size, positions))


def rows_of_lanes(name: str, x: Value, rows: np.ndarray) -> Value:
    """An operation of groups, one group for each row of positions, where negative ones are no part of the group. Rows of equal numbers of members go together."""
    counts = (rows >= 0).sum(axis=1)
    if np.any(counts == 0):
        raise CreaseError(f"`{name}` of a group without numbers is infinite")
    packed = np.sort(rows, axis=1)[:, ::-1] if np.any(rows < 0) else rows
    parts, order = [], []
    for count in np.unique(counts):
        which = np.nonzero(counts == count)[0]
        members = np.sort(packed[which, :count], axis=1) if np.any(rows < 0) else packed[which]
        parts.append(ops.lanes(name, pick(x, members), -1))
        order.append(which)
    together = ops.concatenate(parts, 0)
    back = np.empty(rows.shape[0], int)
    back[np.concatenate(order)] = np.arange(rows.shape[0])
    return pick(together, back)


def lanes_along(name: str, x: Value | Partial, axes: Sequence[int]) -> Value:
    """An operation of groups along axes, of numbers that may be missing at known places."""
    if isinstance(x, Value):
        return ops.lanes(name, x, list(axes)) if axes else x
    positions = np.where(x.missing, -1, np.arange(x.value.size).reshape(x.shape))
    rest = [a for a in range(len(x.shape)) if a not in axes]
    shape = [x.shape[a] for a in rest]
    rows = np.transpose(positions, rest + list(axes)).reshape(math.prod(shape), -1)
    return ops.reshape(rows_of_lanes(name, x.value, rows), shape)


def same(x: Any, y: Any) -> bool:
    """Whether two values are one."""
    return isinstance(x, Value) and isinstance(y, Value) and x.builder is y.builder and x.handle == y.handle


class Bounds:
    """Between which integers values lie, so that what guards indices falls away where it cannot happen."""

    def __init__(self) -> None:
        self.of: dict[int, tuple[int, int]] = {}

    def get(self, x: Any) -> tuple[int, int] | None:
        """Of a value or a known array of integers."""
        if isinstance(x, Value):
            return self.of.get(x.handle, (0, 1) if x.truth else None)
        if is_known(x):
            a = np.asarray(x)
            if a.dtype.kind in "biu" and a.size:
                return int(a.min()), int(a.max())
        return None

    def set(self, x: Any, low: int, high: int) -> Any:
        """Remembers, and gives it back."""
        if isinstance(x, Value):
            self.of[x.handle] = (int(low), int(high))
        return x

    def compare(self, name: str, x: Any, y: Any) -> bool | None:
        """What a comparison is, if the bounds decide."""
        bx, by = self.get(x), self.get(y)
        if bx is None or by is None:
            return None
        (a, b), (c, d) = bx, by
        always = {"lt": b < c, "le": b <= c, "gt": a > d, "ge": a >= d, "eq": a == b == c == d, "ne": b < c or a > d}
        never = {"lt": a >= d, "le": a > d, "gt": b <= c, "ge": b < c, "eq": b < c or a > d, "ne": a == b == c == d}
        return True if always[name] else False if never[name] else None

    def after(self, name: str, xs: Sequence[Any], p: dict[str, Any]) -> tuple[int, int] | None:
        """The bounds of a result."""
        if not xs:
            return None
        first = self.get(xs[0])
        if name in STRUCTURE or name in ("convert_element_type", "stop_gradient", "reduce_max", "reduce_min", "copy", "copy_p", "sort"):
            return first
        both = [self.get(x) for x in xs]
        if name == "select_n":
            both = both[1:]
        if any(b is None for b in both) or not both:
            return None
        lows, highs = [b[0] for b in both if b], [b[1] for b in both if b]
        if name in ("select_n", "concatenate", "gather", "dynamic_slice"):
            return (min(lows), max(highs)) if name in ("select_n", "concatenate") else first
        if name == "add":
            return sum(lows), sum(highs)
        if name == "sub":
            return lows[0] - highs[1], highs[0] - lows[1]
        if name == "mul":
            ends = [x * y for x in (lows[0], highs[0]) for y in (lows[1], highs[1])]
            return min(ends), max(ends)
        if name == "neg":
            return -highs[0], -lows[0]
        if name == "max":
            return max(lows), max(highs)
        if name == "min":
            return min(lows), min(highs)
        if name == "clamp":
            return min(max(lows[1], lows[0]), lows[2]), min(max(highs[1], highs[0]), highs[2])
        return None


# what only moves numbers
STRUCTURE = (
    "broadcast_in_dim", "reshape", "transpose", "squeeze", "expand_dims", "slice", "rev", "copy", "copy_p", "name", "device_put", "sharding_constraint",
    "optimization_barrier", "reduce_precision",
)
