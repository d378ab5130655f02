"""Operations with NumPy's rules on values of a program that is being built, and on known arrays.

Every walker of foreign programs (:mod:`crease._trace`, :mod:`crease._jax`, :mod:`crease._torch`) works with two kinds of things: :class:`Value`, a value of the
program, and whatever NumPy takes for an array, which is known. Functions here take either. If all of their arguments are known, NumPy computes them, so that
shapes, indices and masks never become part of the program. Else known ones become constants, exactly, and shapes are broadcast as NumPy does.
"""

from __future__ import annotations

import math
from typing import Any, Callable, Sequence, Union

import numpy as np

from ._crease import Builder, CreaseError

Array = Any  # whatever NumPy takes for an array
Operand = Union["Value", Array]

_ANY_SIGN_OF_EMPTY = "crease has no arrays without elements"


class Value:
    """A value of a program that is being built: a handle, its shape, and whether it is a truth value by its making."""

    __slots__ = ("builder", "handle", "shape", "truth")

    def __init__(self, builder: Builder, handle: int, truth: bool = False):
        self.builder = builder
        self.handle = handle
        self.shape: tuple[int, ...] = tuple(builder.shape(handle))
        self.truth = truth

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    def __repr__(self) -> str:
        return f"<value of shape {self.shape}>"


def known(*xs: Operand) -> bool:
    """Whether none of these is a value of a program."""
    return not any(isinstance(x, Value) for x in xs)


def shape_of(x: Operand) -> tuple[int, ...]:
    """Its shape."""
    return x.shape if isinstance(x, Value) else np.shape(x)


def builder_of(*xs: Operand) -> Builder:
    """The builder whose values these are; there must be one among them."""
    found = [x.builder for x in xs if isinstance(x, Value)]
    if any(b is not found[0] for b in found):
        raise CreaseError("a value of one program is used in another; was it kept from an earlier trace?")
    return found[0]


def lift(b: Builder, x: Operand) -> Value:
    """A value for it: itself, or a constant."""
    if isinstance(x, Value):
        return x
    a = np.asarray(x)
    if a.size == 0:
        raise CreaseError(_ANY_SIGN_OF_EMPTY)
    if a.dtype == bool:
        if a.ndim == 0:
            one = b.constant(float(a))
            return Value(b, b.elementwise("!=", one, b.constant(0.0)), truth=True)
        return Value(b, b.elementwise("!=", b.constant(a.astype(np.float64)), b.constant(0.0)), truth=True)
    if not np.all(np.isfinite(a)):
        raise CreaseError("a constant that is not finite (infinity or NaN) takes part in the program")
    return Value(b, b.constant(a if a.dtype in (np.float64, np.float32) else a.astype(np.float64)))


def broadcast_to(x: Operand, shape: Sequence[int]) -> Operand:
    """Spread over a shape, axes matched from the last one."""
    shape = tuple(int(n) for n in shape)
    if known(x):
        return np.broadcast_to(x, shape)
    if x.shape == shape:
        return x
    return Value(x.builder, x.builder.broadcast(x.handle, list(shape)), x.truth)


def elementwise(op: str, *xs: Operand, truth: bool = False) -> Value:
    """An operation of single numbers by its name in the language, with NumPy's broadcasting. One argument at least is a value."""
    b = builder_of(*xs)
    shape = np.broadcast_shapes(*(shape_of(x) for x in xs))
    lifted = []
    for x in xs:
        v = lift(b, x)
        # scalars are spread by the program, which keeps constants what they are
        lifted.append(v if v.shape == () else broadcast_to(v, shape))
    out = Value(b, b.elementwise(op, *(v.handle for v in lifted)), truth)
    return broadcast_to(out, shape)


def _binary(op: str, numpy: Callable[..., Any]) -> Callable[[Operand, Operand], Operand]:
    def f(x: Operand, y: Operand) -> Operand:
        return numpy(x, y) if known(x, y) else elementwise(op, x, y)

    f.__name__, f.__doc__ = op, f"``{op}`` with broadcasting."
    return f


def _unary(op: str, numpy: Callable[..., Any]) -> Callable[[Operand], Operand]:
    def f(x: Operand) -> Operand:
        return numpy(x) if known(x) else elementwise(op, x)

    f.__name__, f.__doc__ = op, f"``{op}`` of each number."
    return f


add, sub, mul, div = (_binary(*p) for p in (("add", np.add), ("sub", np.subtract), ("mul", np.multiply), ("div", np.divide)))
maximum, minimum = _binary("max", np.maximum), _binary("min", np.minimum)
neg, absolute = _unary("neg", np.negative), _unary("abs", np.abs)
exp, log, sqrt = _unary("exp", np.exp), _unary("log", np.log), _unary("sqrt", np.sqrt)
sin, cos, tan, tanh = _unary("sin", np.sin), _unary("cos", np.cos), _unary("tan", np.tan), _unary("tanh", np.tanh)
asin, acos, atan = _unary("asin", np.arcsin), _unary("acos", np.arccos), _unary("atan", np.arctan)
sinh, cosh = _unary("sinh", np.sinh), _unary("cosh", np.cosh)
asinh, acosh, atanh = _unary("asinh", np.arcsinh), _unary("acosh", np.arccosh), _unary("atanh", np.arctanh)
log1p, expm1 = _unary("log1p", np.log1p), _unary("expm1", np.expm1)
sign, floor, ceil, rint = _unary("sign", np.sign), _unary("floor", np.floor), _unary("ceil", np.ceil), _unary("round", np.rint)
erf = _unary("erf", np.vectorize(math.erf, otypes=[float]))
erfc = _unary("erfc", np.vectorize(math.erfc, otypes=[float]))
relu = _unary("relu", lambda x: np.maximum(x, 0))
sigmoid = _unary("sigmoid", lambda x: 1 / (1 + np.exp(-np.asarray(x, float))))
softplus = _unary("softplus", lambda x: np.logaddexp(x, 0.0))


def _comparison(op: str, numpy: Callable[..., Any]) -> Callable[[Operand, Operand], Operand]:
    def f(x: Operand, y: Operand) -> Operand:
        return numpy(x, y) if known(x, y) else elementwise(op, x, y, truth=True)

    f.__name__, f.__doc__ = numpy.__name__, f"Whether ``x {op} y``, number by number."
    return f


less, less_equal = _comparison("<", np.less), _comparison("<=", np.less_equal)
greater, greater_equal = _comparison(">", np.greater), _comparison(">=", np.greater_equal)
equal, not_equal = _comparison("==", np.equal), _comparison("!=", np.not_equal)


def truth(x: Operand) -> Operand:
    """A truth value: what is one by its making, and of other numbers whether they are not 0."""
    if known(x):
        return np.asarray(x) != 0
    return x if x.truth else elementwise("!=", x, 0.0, truth=True)


def logical_and(x: Operand, y: Operand) -> Operand:
    """Both."""
    return np.logical_and(x, y) if known(x, y) else elementwise("and", truth(x), truth(y), truth=True)


def logical_or(x: Operand, y: Operand) -> Operand:
    """One of both at least."""
    return np.logical_or(x, y) if known(x, y) else elementwise("or", truth(x), truth(y), truth=True)


def logical_not(x: Operand) -> Operand:
    """Not."""
    return np.logical_not(x) if known(x) else elementwise("not", truth(x), truth=True)


def logical_xor(x: Operand, y: Operand) -> Operand:
    """One of both, but not both."""
    return np.logical_xor(x, y) if known(x, y) else elementwise("!=", truth(x), truth(y), truth=True)


def where(condition: Operand, x: Operand, y: Operand) -> Operand:
    """The second where the first holds, else the third. What is not taken need not have a value."""
    if known(condition):
        mask = np.asarray(condition, bool)
        if known(x, y):
            return np.where(mask, x, y)
        shape = np.broadcast_shapes(mask.shape, shape_of(x), shape_of(y))
        if mask.all():
            return broadcast_to(x, shape)
        if not mask.any():
            return broadcast_to(y, shape)
        return _pick_known(np.broadcast_to(mask, shape), x, y, shape)
    both_truth = all(v.truth if isinstance(v, Value) else np.asarray(v).dtype == bool for v in (x, y))
    # infinities mark what is masked away: they may stand in branches only if they are never taken, which nobody knows here
    return elementwise("where", truth(condition), x, y, truth=both_truth)


def _pick_known(mask: np.ndarray, x: Operand, y: Operand, shape: tuple[int, ...]) -> Operand:
    """A choice that is known: an index map, no operation."""
    b = builder_of(x, y)
    parts, tables = [], []
    offset = 0
    for v in (x, y):
        if not isinstance(v, Value):
            a = np.broadcast_to(np.asarray(v, float), shape)
            taken = mask if v is x else ~mask
            v = lift(b, np.where(taken, a, 0.0))
        index = np.broadcast_to(np.arange(v.size).reshape(v.shape), shape)
        parts.append(b.reshape(v.handle, [v.size]))
        tables.append(index + offset)
        offset += v.size
    joined = b.concat(parts, 0)
    return Value(b, b.table(joined, np.where(mask, *tables).ravel().tolist(), list(shape)))


def clip(x: Operand, low: Operand | None, high: Operand | None) -> Operand:
    """``min(max(x, low), high)``; a bound that is ``None`` or infinite is none."""
    if low is not None and not (known(low) and np.all(np.isneginf(low))):
        x = maximum(x, low)
    if high is not None and not (known(high) and np.all(np.isposinf(high))):
        x = minimum(x, high)
    return x


def square(x: Operand) -> Operand:
    """The square."""
    return np.square(x) if known(x) else Value(x.builder, x.builder.power(x.handle, 2.0))


def power(x: Operand, y: Operand) -> Operand:
    """``x ** y``: one operation if the exponent is one known number, else ``exp(y * log(x))``."""
    if known(x, y):
        return np.power(x, y)
    if known(y) and np.size(y) >= 1 and np.all(np.asarray(y) == np.ravel(y)[0]):
        shape = np.broadcast_shapes(shape_of(x), np.shape(y))
        k = float(np.ravel(y)[0])
        if k == 0.0:
            return np.ones(shape)
        if k == 1.0:
            return broadcast_to(x, shape)
        if k == 0.5:
            return broadcast_to(sqrt(x), shape)
        return broadcast_to(Value(x.builder, x.builder.power(x.handle, k)), shape)
    if known(y):
        return _by_exponent(x, np.asarray(y, float))
    b = builder_of(x, y)
    shape = np.broadcast_shapes(shape_of(x), shape_of(y))
    x, y = (broadcast_to(lift(b, v), shape) for v in (x, y))
    return Value(b, b.pow(x.handle, y.handle))


def _by_exponent(x: Value, y: np.ndarray) -> Value:
    """Known exponents that differ: each power where it belongs."""
    shape = np.broadcast_shapes(x.shape, y.shape)
    out: Operand = np.zeros(shape)
    for k in np.unique(y):
        out = where(np.broadcast_to(y == k, shape), power(broadcast_to(x, shape), float(k)), out)
    return out


def atan2(y: Operand, x: Operand) -> Operand:
    """The angle of a point."""
    if known(x, y):
        return np.arctan2(y, x)
    b = builder_of(x, y)
    shape = np.broadcast_shapes(shape_of(x), shape_of(y))
    x, y = (broadcast_to(lift(b, v), shape) for v in (x, y))
    return Value(b, b.atan2(y.handle, x.handle))


def named(name: str, x: Value, parameter: float | None = None) -> Value:
    """A function that is made of others: gelu, silu, leaky_relu, ... See :meth:`Builder.named`."""
    return Value(x.builder, x.builder.named(name, x.handle, parameter))


# structure


def reshape(x: Operand, shape: Sequence[int]) -> Operand:
    """The same numbers in another shape; one size may be -1."""
    shape = [int(n) for n in shape]
    if known(x):
        return np.reshape(x, shape)
    if shape.count(-1) == 1:
        rest = math.prod(n for n in shape if n != -1)
        if rest == 0 or x.size % rest:
            raise CreaseError(f"{x.size} numbers do not fill the shape {tuple(shape)}")
        shape[shape.index(-1)] = x.size // rest
    return x if x.shape == tuple(shape) else Value(x.builder, x.builder.reshape(x.handle, shape), x.truth)


def transpose(x: Operand, order: Sequence[int] | None = None) -> Operand:
    """Axes in another order, the reverse unless told."""
    if known(x):
        return np.transpose(x, order)
    order = list(range(x.ndim))[::-1] if order is None else [int(a) % x.ndim for a in order]
    if order == list(range(x.ndim)):
        return x
    return Value(x.builder, x.builder.transpose(x.handle, order), x.truth)


def concatenate(parts: Sequence[Operand], axis: int = 0) -> Operand:
    """One after the other along an axis."""
    if known(*parts):
        return np.concatenate([np.asarray(p) for p in parts], axis)
    parts = [p for p in parts if 0 not in shape_of(p)]
    b = builder_of(*parts)
    lifted = [lift(b, p) for p in parts]
    if len(lifted) == 1:
        return lifted[0]
    return Value(b, b.concat([v.handle for v in lifted], axis), all(v.truth for v in lifted))


def stack(parts: Sequence[Operand], axis: int = 0) -> Operand:
    """One after the other along a new axis."""
    if known(*parts):
        return np.stack(parts, axis)
    ndim = len(shape_of(parts[0])) + 1
    axis %= ndim
    dims = list(shape_of(parts[0]))
    dims.insert(axis, 1)
    return concatenate([reshape(p, dims) for p in parts], axis)


def slice_axes(x: Operand, axes: Sequence[slice]) -> Operand:
    """A part by slices, one for each axis."""
    if known(x):
        return np.asarray(x)[tuple(axes)]
    triples = []
    for s, n in zip(axes, x.shape):
        start, stop, step = s.indices(n)
        count = len(range(start, stop, step))
        if count == 0:
            raise CreaseError(_ANY_SIGN_OF_EMPTY)
        triples.append((start, count, step))
    if all(t == (0, n, 1) for t, n in zip(triples, x.shape)):
        return x
    return Value(x.builder, x.builder.slice(x.handle, triples), x.truth)


def table(x: Value, positions: Array, shape: Sequence[int] | None = None) -> Value:
    """Any index map: an array of positions among the numbers of x, in row-major order."""
    positions = np.asarray(positions)
    shape = positions.shape if shape is None else shape
    if positions.size == 0:
        raise CreaseError(_ANY_SIGN_OF_EMPTY)
    handle = x.builder.table(x.handle, positions.ravel().astype(np.uint32).tolist(), list(shape))
    return Value(x.builder, handle, x.truth)


def add_at(x: Value, positions: Array, shape: Sequence[int]) -> Value:
    """Adds the numbers of x into zeros at known positions, one for each number, in row-major order."""
    positions = np.asarray(positions).ravel().astype(np.uint32).tolist()
    return Value(x.builder, x.builder.add_at(x.handle, positions, list(shape)))


def index(x: Operand, key: Any) -> Operand:
    """``x[key]`` with all that NumPy allows for known keys; one computed index is read by position."""
    if isinstance(key, Value) or isinstance(key, tuple) and any(isinstance(k, Value) for k in key):
        return _computed_index(x, key)
    if known(x):
        return np.asarray(x)[key]
    # what NumPy does with positions, it would do with the numbers
    positions = np.arange(x.size).reshape(x.shape)[key]
    keys = key if isinstance(key, tuple) else (key,)
    plain = all(isinstance(k, (int, np.integer, slice)) or k is None or k is Ellipsis for k in keys)
    if plain and np.size(positions):
        return _plain_index(x, np.asarray(positions))
    return table(x, positions)


def _plain_index(x: Value, positions: np.ndarray) -> Value:
    """An index map of strides, told from the positions themselves."""
    start = int(positions.ravel()[0])
    strides = []
    for axis, n in enumerate(positions.shape):
        there = tuple(1 if a == axis else 0 for a in range(positions.ndim))
        strides.append(int(positions[there]) - start if n > 1 else 0)
    if positions.shape == x.shape and start == 0 and positions.ravel()[-1] == x.size - 1:
        return x
    sizes = list(positions.shape)
    if not sizes:
        sizes, strides = [1], [0]
    return Value(x.builder, x.builder.view(x.handle, start, sizes, strides, list(positions.shape)), x.truth)


def _computed_index(x: Operand, key: Any) -> Operand:
    """An index that is computed: of the first axis, or of the axes at the beginning."""
    keys = key if isinstance(key, tuple) else (key,)
    b = builder_of(x, *keys)
    x = lift(b, x)
    if len(keys) == 1:
        if isinstance(keys[0], Value) and keys[0].truth:
            raise CreaseError("a mask that is computed makes an array whose size is not known; use np.where(mask, x, 0)")
        return take(x, keys[0], 0)
    if not all(isinstance(k, (Value, int, np.integer, np.ndarray)) for k in keys):
        raise CreaseError("computed indices go together with numbers and arrays of indices only, not with slices")
    # several axes at once: one position in what they are together
    flat = reshape(x, (math.prod(x.shape[: len(keys)]),) + x.shape[len(keys) :])
    position: Operand = 0
    for k, n in zip(keys, x.shape):
        if known(k):
            k = np.where(np.asarray(k) < 0, np.asarray(k) + n, k)
        position = add(mul(position, n), k)
    return take(flat, position, 0)


def take(x: Operand, positions: Operand, axis: int = 0) -> Operand:
    """The parts of an axis at positions, known or computed, whose axes take its place. Computed ones count from 0."""
    if known(x, positions):
        return np.take(x, positions, axis)
    b = builder_of(x, positions)
    if known(positions):
        axis %= x.ndim
        return index(x, (slice(None),) * axis + (np.asarray(positions),))
    x = lift(b, x)
    return Value(b, b.take(x.handle, positions.handle, axis))


def take_along_axis(x: Operand, positions: Operand, axis: int) -> Operand:
    """Each lane at its own positions."""
    if known(positions):
        if known(x):
            return np.take_along_axis(x, np.asarray(positions), axis)
        where_ = np.arange(x.size).reshape(x.shape)
        return table(x, np.take_along_axis(where_, np.asarray(positions), axis))
    b = builder_of(x, positions)
    return Value(b, b.take_along(lift(b, x).handle, positions.handle, axis))


def pad(x: Operand, widths: Sequence[tuple[int, int, int]], value: Operand = 0.0) -> Operand:
    """Something around x and between its numbers: for each axis how much before, after and between; negative widths cut."""
    if all(lo == hi == between == 0 for lo, hi, between in widths):
        return x
    shape = shape_of(x)
    out = tuple(lo + hi + (n - 1) * (between + 1) + 1 for n, (lo, hi, between) in zip(shape, widths))
    if any(n <= 0 for n in out):
        raise CreaseError(_ANY_SIGN_OF_EMPTY)
    filled = np.full(out, -1)
    source: list[Any] = []
    target: list[Any] = []
    for n, (lo, _, between), size in zip(shape, widths, out):
        places = lo + np.arange(n) * (between + 1)
        inside = (places >= 0) & (places < size)
        source.append(np.nonzero(inside)[0])
        target.append(places[inside])
    if known(x, value):
        result = np.full(out, value, np.result_type(np.asarray(x), np.asarray(value)))
        result[np.ix_(*target)] = np.asarray(x)[np.ix_(*source)]
        return result
    b = builder_of(x, value)
    x, fill = lift(b, x), lift(b, value)
    filled[np.ix_(*target)] = np.arange(x.size).reshape(shape)[np.ix_(*source)]
    if known(value) and float(value) == 0.0:
        inside = filled.ravel() >= 0
        part = table(x, filled.ravel()[inside])
        return add_at(part, np.nonzero(inside)[0], out)
    both = b.concat([b.reshape(x.handle, [x.size]), fill.handle], 0)
    return Value(b, b.table(both, np.where(filled < 0, x.size, filled).ravel().tolist(), list(out)))


# reductions


def axes_of(x: Operand, axis: int | Sequence[int] | None) -> list[int]:
    """Axes as a sorted list of what they count from 0."""
    n = len(shape_of(x))
    if axis is None:
        return list(range(n))
    axes = [axis] if isinstance(axis, (int, np.integer)) else list(axis)
    for a in axes:
        if not -n <= a < n:
            raise CreaseError(f"there is no axis {a} in shape {shape_of(x)}")
    once = sorted({int(a) % n for a in axes})
    if len(once) != len(axes):
        raise CreaseError(f"an axis is named twice: {tuple(axes)}")
    return once


def _kept(x: Operand, axes: list[int], out: Operand, keepdims: bool) -> Operand:
    return reshape(out, [1 if a in axes else n for a, n in enumerate(shape_of(x))]) if keepdims else out


def sum(x: Operand, axis: Any = None, keepdims: bool = False) -> Operand:  # noqa: A001
    """The sum along axes."""
    if known(x):
        return np.sum(x, axis=None if axis is None else tuple(axes_of(x, axis)), keepdims=keepdims)
    axes = axes_of(x, axis)
    out = Value(x.builder, x.builder.sum(x.handle, axes)) if axes else x
    return _kept(x, axes, out, keepdims)


def mean(x: Operand, axis: Any = None, keepdims: bool = False) -> Operand:
    """The mean along axes."""
    if known(x):
        return np.mean(x, axis=None if axis is None else tuple(axes_of(x, axis)), keepdims=keepdims)
    axes = axes_of(x, axis)
    out = Value(x.builder, x.builder.mean(x.handle, axes)) if axes else x
    return _kept(x, axes, out, keepdims)


def prod(x: Operand, axis: Any = None, keepdims: bool = False) -> Operand:
    """The product along axes."""
    if known(x):
        return np.prod(x, axis=None if axis is None else tuple(axes_of(x, axis)), keepdims=keepdims)
    axes = axes_of(x, axis)
    out = Value(x.builder, x.builder.prod(x.handle, axes)) if axes else x
    return _kept(x, axes, out, keepdims)


def lanes(name: str, x: Value, axis: Any = None, keepdims: bool = False, k: int | None = None) -> Value:
    """An operation of groups of numbers along axes, all of them unless told: max, min, norm1, norm2, norminf, logsumexp, order_statistic."""
    axes = axes_of(x, axis)
    if not axes:
        # a group of one number
        return _kept(x, [], reshape(lanes(name, reshape(x, x.shape + (1,)), -1, k=k), x.shape), False)
    rest = [a for a in range(x.ndim) if a not in axes]
    moved = transpose(x, rest + axes)
    flat = reshape(moved, [x.shape[a] for a in rest] + [math.prod(x.shape[a] for a in axes)])
    out = Value(x.builder, x.builder.lane(name, flat.handle, -1, k))
    return _kept(x, axes, out, keepdims)


def amax(x: Operand, axis: Any = None, keepdims: bool = False) -> Operand:
    """The largest along axes."""
    return np.max(x, axis=axis, keepdims=keepdims) if known(x) else lanes("max", x, axis, keepdims)


def amin(x: Operand, axis: Any = None, keepdims: bool = False) -> Operand:
    """The smallest along axes."""
    return np.min(x, axis=axis, keepdims=keepdims) if known(x) else lanes("min", x, axis, keepdims)


def logsumexp(x: Operand, axis: Any = None, keepdims: bool = False) -> Operand:
    """``log(sum(exp(x)))`` along axes."""
    if known(x):
        return np.logaddexp.reduce(np.asarray(x, float), axis=None if axis is None else tuple(axes_of(x, axis)), keepdims=keepdims)
    return lanes("logsumexp", x, axis, keepdims)


def sort(x: Operand, axis: int = -1) -> Operand:
    """In ascending order along an axis."""
    return np.sort(x, axis) if known(x) else Value(x.builder, x.builder.lane("sort", x.handle, axis))


def position(name: str, x: Operand, axis: int | None) -> Operand:
    """``argmax``, ``argmin`` or ``argsort`` along an axis; of all numbers if it is None."""
    if known(x):
        return getattr(np, name)(x, axis=axis)
    if axis is None:
        x, axis = reshape(x, [x.size]), 0
    return Value(x.builder, x.builder.position(name, x.handle, axis))


def cumulative(name: str, x: Operand, axis: int) -> Operand:
    """``cumsum``, ``cumprod``, ``cummax`` or ``cummin`` along an axis."""
    if known(x):
        numpy = {"cumsum": np.cumsum, "cumprod": np.cumprod, "cummax": np.maximum.accumulate, "cummin": np.minimum.accumulate}
        return numpy[name](np.asarray(x), axis)
    return Value(x.builder, x.builder.cumulative(name, x.handle, axis))


def flip(x: Operand, axes: Sequence[int]) -> Operand:
    """In reverse along axes."""
    axes = axes_of(x, list(axes))
    return slice_axes(x, [slice(None, None, -1) if a in axes else slice(None) for a in range(len(shape_of(x)))])


# products


def matmul(x: Operand, y: Operand) -> Operand:
    """The product of matrices, with NumPy's rules for vectors and stacks."""
    if known(x, y):
        return np.matmul(x, y)
    b = builder_of(x, y)
    x, y = lift(b, x), lift(b, y)
    if x.ndim == 0 or y.ndim == 0:
        raise CreaseError("a product of matrices needs at least vectors")
    if x.ndim > 2 or y.ndim > 2:
        # stacks: leading axes are spread over one another
        vector_x, vector_y = x.ndim == 1, y.ndim == 1
        x = reshape(x, (1,) + x.shape) if vector_x else x
        y = reshape(y, y.shape + (1,)) if vector_y else y
        lead = np.broadcast_shapes(x.shape[:-2], y.shape[:-2])
        x, y = broadcast_to(x, lead + x.shape[-2:]), broadcast_to(y, lead + y.shape[-2:])
        out = Value(b, b.matmul(x.handle, y.handle))
        shape = lead + (() if vector_x else (x.shape[-2],)) + (() if vector_y else (y.shape[-1],))
        return reshape(out, shape)
    return Value(b, b.matmul(x.handle, y.handle))


def dot_general(
    x: Operand, y: Operand, contract: tuple[Sequence[int], Sequence[int]], batch: tuple[Sequence[int], Sequence[int]] = ((), ())
) -> Operand:
    """Products summed over some axes, with others that go along: the result has the batch axes, then the rest of x, then the rest of y."""
    (cx, cy), (bx, by) = ([[int(a) for a in side] for side in pair] for pair in (contract, batch))
    rx = [a for a in range(len(shape_of(x))) if a not in cx + bx]
    ry = [a for a in range(len(shape_of(y))) if a not in cy + by]
    sx, sy = shape_of(x), shape_of(y)
    out = [sx[a] for a in bx] + [sx[a] for a in rx] + [sy[a] for a in ry]
    size = lambda shape, axes: math.prod(shape[a] for a in axes)  # noqa: E731
    lead = [size(sx, bx)] if bx else []
    left = reshape(transpose(x, bx + rx + cx), lead + [size(sx, rx), size(sx, cx)])
    right = reshape(transpose(y, by + cy + ry), lead + [size(sy, cy), size(sy, ry)])
    return reshape(matmul(left, right), out)


def einsum(spec: str, *xs: Operand) -> Operand:
    """Einstein's sums of one or more arrays, with or without an arrow, without repeated letters in one array other than diagonals, and with ellipses."""
    if known(*xs):
        return np.einsum(spec, *xs)
    terms, out = _einsum_terms(spec, xs)
    operands = []
    for term, x in zip(terms, xs):
        # diagonals first
        for letter in set(term):
            while term.count(letter) > 1:
                i = term.index(letter)
                j = term.index(letter, i + 1)
                x, term = _diagonal(x, i, j), term[:j] + term[j + 1 :]
        operands.append((term, x))
    term, x = operands[0]
    for i, (other, y) in enumerate(operands[1:], 1):
        later = out + "".join(t for t, _ in operands[i + 1 :])
        term, x = _contract(term, x, other, y, later)
    gone = [i for i, letter in enumerate(term) if letter not in out]
    x = sum(x, gone) if gone else x
    term = "".join(letter for letter in term if letter in out)
    return transpose(x, [term.index(letter) for letter in out])


def _einsum_terms(spec: str, xs: Sequence[Operand]) -> tuple[list[str], str]:
    left, arrow, out = spec.replace(" ", "").partition("->")
    terms = left.split(",")
    if len(terms) != len(xs):
        raise CreaseError(f"einsum of `{spec}` takes {len(terms)} arrays, got {len(xs)}")
    spare = [c for c in "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz" if c not in spec]
    longest = ""
    for i, (term, x) in enumerate(zip(terms, xs)):
        extra = len(shape_of(x)) - len(term.replace("...", ""))
        dots = "".join(spare[:extra][::-1]) if "..." in term else ""
        longest = max(longest, dots, key=len)
        terms[i] = term.replace("...", dots)
        if len(terms[i]) != len(shape_of(x)):
            raise CreaseError(f"`{term}` in einsum of `{spec}` does not fit shape {shape_of(x)}")
    letters = "".join(terms)
    if not arrow:
        out = longest + "".join(sorted(c for c in set(letters) - set(longest) if letters.count(c) == 1))
    return terms, out.replace("...", longest)


def _contract(s: str, x: Operand, t: str, y: Operand, later: str) -> tuple[str, Operand]:
    both = [c for c in s if c in t]
    batch = [c for c in both if c in later]
    gone = [c for c in both if c not in later]
    for letters, name in ((s, "x"), (t, "y")):
        alone = [i for i, c in enumerate(letters) if c not in both and c not in later]
        if alone and name == "x":
            x, s = sum(x, alone), "".join(c for i, c in enumerate(s) if i not in alone)
        elif alone:
            y, t = sum(y, alone), "".join(c for i, c in enumerate(t) if i not in alone)
    place = lambda letters, which: [letters.index(c) for c in which]  # noqa: E731
    out = dot_general(x, y, (place(s, gone), place(t, gone)), (place(s, batch), place(t, batch)))
    return "".join(batch + [c for c in s if c not in both] + [c for c in t if c not in both]), out


def _diagonal(x: Operand, i: int, j: int) -> Operand:
    shape = shape_of(x)
    n = shape[i]
    positions = np.arange(math.prod(shape)).reshape(shape)
    rest = np.diagonal(positions, axis1=i, axis2=j)
    rest = np.moveaxis(rest, -1, i if i < j else i - 1)
    return table(x, rest) if isinstance(x, Value) else np.asarray(x).ravel()[rest] if n else x


# windows


def windows(x: Value, size: Sequence[int], stride: Sequence[int], dilation: Sequence[int]) -> Value:
    """All windows of the last ``len(size)`` axes: those axes become positions, and as many axes of what lies in the window follow at the end."""
    k = len(size)
    lead, spatial = x.shape[: x.ndim - k], x.shape[x.ndim - k :]
    out = [(n - (s - 1) * d - 1) // st + 1 for n, s, st, d in zip(spatial, size, stride, dilation)]
    if any(n <= 0 for n in out):
        raise CreaseError(f"a window of {tuple(size)} does not fit into {spatial}")
    steps = [math.prod(x.shape[a + 1 :]) for a in range(x.ndim)]
    tail = steps[len(lead) :]
    sizes = list(lead) + out + list(size)
    strides = steps[: len(lead)] + [t * s for t, s in zip(tail, stride)] + [t * d for t, d in zip(tail, dilation)]
    # an axis of one position takes no step
    strides = [0 if n == 1 else s for n, s in zip(sizes, strides)]
    return Value(x.builder, x.builder.view(x.handle, 0, sizes, strides, sizes))


def convolve(
    x: Operand,
    kernel: Operand,
    stride: Sequence[int],
    padding: Sequence[tuple[int, int]],
    dilation: Sequence[int],
    groups: int = 1,
    spread: Sequence[int] | None = None,
) -> Operand:
    """The correlation of images ``[N, C, *spatial]`` with kernels ``[O, C / groups, *size]``; ``spread`` puts zeros between the numbers of the image, which is how
    transposed convolutions are made."""
    b = builder_of(x, kernel)
    x, kernel = lift(b, x), lift(b, kernel)
    k = kernel.ndim - 2
    spread = spread or [1] * k
    x = pad(x, [(0, 0, 0)] * 2 + [(lo, hi, s - 1) for (lo, hi), s in zip(padding, spread)])
    n, c = x.shape[:2]
    o, per = kernel.shape[:2]
    if per * groups != c or o % groups:
        raise CreaseError(f"kernels of shape {kernel.shape} in {groups} groups do not fit {c} channels")
    size = kernel.shape[2:]
    seen = windows(x, size, stride, dilation)
    out = seen.shape[2 : 2 + k]
    many = math.prod(out)
    # [N, C, positions, window] -> [groups, C / groups * window, N * positions]
    seen = reshape(seen, [n, groups, per, many, math.prod(size)])
    columns = reshape(transpose(seen, [1, 0, 3, 2, 4]), [groups, n * many, per * math.prod(size)])
    rows = reshape(kernel, [groups, o // groups, per * math.prod(size)])
    product = matmul(columns, transpose(rows, [0, 2, 1]))
    # [groups, N * positions, O / groups] -> [N, O, positions]
    product = reshape(product, [groups, n, many, o // groups])
    return reshape(transpose(product, [1, 0, 3, 2]), [n, o, *out])
