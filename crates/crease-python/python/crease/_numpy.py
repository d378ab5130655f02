"""The functions of NumPy that :func:`crease.trace` knows: two tables, :data:`UFUNCS` by name and :data:`FUNCTIONS` by function, written with :mod:`crease._ops`.

Each entry says which parameters of NumPy's signature it takes. Any other parameter must have its default, else the call is refused by name: nothing is passed over. What only moves numbers about is
done to their positions by NumPy itself.
"""

from __future__ import annotations

import inspect as _inspect
from typing import Any, Callable

import numpy as np

from . import _ops as ops
from ._crease import CreaseError

#: What says that a parameter was not given.
_MISSING = (getattr(np, "_NoValue", None), _inspect.Parameter.empty)


class Refused(CreaseError):
    """A call that is not expressed: why. Whoever traces adds the name and the line."""


def is_given(x: Any) -> bool:
    """Whether a parameter was given."""
    return not any(x is m for m in _MISSING)


def values(args: Any) -> list[ops.Value]:
    """The values of a program among arguments, those inside of lists included."""
    out: list[ops.Value] = []
    for a in args:
        if isinstance(a, ops.Value):
            out.append(a)
        elif isinstance(a, (list, tuple)):
            out.extend(values(a))
        elif isinstance(a, dict):
            out.extend(values(a.values()))
    return out


def lifted(x: Any) -> Any:
    """Lists with values in them become arrays."""
    if isinstance(x, (list, tuple)) and values(x):
        return ops.stack([lifted(v) for v in x])
    return x


def is_truth(x: Any) -> bool:
    """Whether it holds truth values, with which NumPy counts in its own way."""
    return x.truth if isinstance(x, ops.Value) else np.asarray(x).dtype == bool


# functions of single numbers


def _with_truths(f: Callable[..., Any], truths: Callable[..., Any] | None) -> Callable[..., Any]:
    """A function that NumPy has another meaning for if all of its arguments are truth values."""

    def g(*xs: Any) -> Any:
        if not ops.known(*xs) and all(is_truth(x) for x in xs):
            if truths is None:
                raise Refused("NumPy has no such operation on truth values")
            return truths(*xs)
        return f(*xs)

    return g


def _only_truths(f: Callable[..., Any]) -> Callable[..., Any]:
    def g(*xs: Any) -> Any:
        if not all(is_truth(x) for x in xs):
            raise Refused("bits of numbers; compare first, as in (x > 0) & (y > 0)")
        return f(*xs)

    return g


def _floor_divide(x: Any, y: Any) -> Any:
    return ops.floor(ops.div(x, y))


def _remainder(x: Any, y: Any) -> Any:
    return ops.sub(x, ops.mul(y, ops.floor(ops.div(x, y))))


def _trunc(x: Any) -> Any:
    return ops.where(ops.less(x, 0), ops.ceil(x), ops.floor(x))


def _logaddexp(x: Any, y: Any) -> Any:
    shape = np.broadcast_shapes(ops.shape_of(x), ops.shape_of(y))
    return ops.logsumexp(ops.stack([ops.broadcast_to(x, shape), ops.broadcast_to(y, shape)]), 0)


def _hypot(x: Any, y: Any) -> Any:
    shape = np.broadcast_shapes(ops.shape_of(x), ops.shape_of(y))
    return ops.lanes("norm2", ops.stack([ops.broadcast_to(x, shape), ops.broadcast_to(y, shape)]), 0)


#: The functions of single numbers, by their names in NumPy.
UFUNCS: dict[str, Callable[..., Any]] = {
    "add": _with_truths(ops.add, ops.logical_or), "subtract": _with_truths(ops.sub, None), "multiply": _with_truths(ops.mul, ops.logical_and),
    "divide": ops.div, "true_divide": ops.div, "negative": _with_truths(ops.neg, None), "positive": _with_truths(lambda x: x, None),
    "power": _with_truths(ops.power, None), "float_power": ops.power, "square": _with_truths(ops.square, None), "sqrt": ops.sqrt, "reciprocal": _with_truths(lambda x: ops.div(1.0, x), None),
    "cbrt": lambda x: ops.mul(ops.sign(x), ops.power(ops.absolute(x), 1 / 3)),
    "exp": ops.exp, "exp2": lambda x: ops.exp(ops.mul(x, np.log(2.0))), "expm1": ops.expm1, "log": ops.log, "log1p": ops.log1p,
    "log2": lambda x: ops.div(ops.log(x), np.log(2.0)), "log10": lambda x: ops.div(ops.log(x), np.log(10.0)),
    "sin": ops.sin, "cos": ops.cos, "tan": ops.tan, "arcsin": ops.asin, "arccos": ops.acos, "arctan": ops.atan, "arctan2": ops.atan2,
    "sinh": ops.sinh, "cosh": ops.cosh, "tanh": ops.tanh, "arcsinh": ops.asinh, "arccosh": ops.acosh, "arctanh": ops.atanh,
    "deg2rad": lambda x: ops.mul(x, np.pi / 180), "radians": lambda x: ops.mul(x, np.pi / 180), "rad2deg": lambda x: ops.mul(x, 180 / np.pi), "degrees": lambda x: ops.mul(x, 180 / np.pi),
    "maximum": _with_truths(ops.maximum, ops.logical_or), "minimum": _with_truths(ops.minimum, ops.logical_and), "fmax": _with_truths(ops.maximum, ops.logical_or), "fmin": _with_truths(ops.minimum, ops.logical_and),
    "absolute": _with_truths(ops.absolute, lambda x: x), "fabs": ops.absolute,
    "sign": _with_truths(ops.sign, None), "floor": ops.floor, "ceil": ops.ceil, "rint": ops.rint, "trunc": _trunc, "floor_divide": _floor_divide, "remainder": _remainder,
    "hypot": _hypot, "logaddexp": _logaddexp, "heaviside": lambda x, y: ops.where(ops.equal(x, 0.0), y, ops.where(ops.greater(x, 0.0), 1.0, 0.0)),
    "less": ops.less, "less_equal": ops.less_equal, "greater": ops.greater, "greater_equal": ops.greater_equal, "equal": ops.equal, "not_equal": ops.not_equal,
    "logical_and": ops.logical_and, "logical_or": ops.logical_or, "logical_not": ops.logical_not, "logical_xor": ops.logical_xor,
    "bitwise_and": _only_truths(ops.logical_and), "bitwise_or": _only_truths(ops.logical_or), "invert": _only_truths(ops.logical_not), "bitwise_xor": _only_truths(ops.logical_xor),
    "matmul": ops.matmul, "conjugate": lambda x: x,
    "isfinite": lambda x: np.ones(ops.shape_of(x), bool), "isnan": lambda x: np.zeros(ops.shape_of(x), bool), "isinf": lambda x: np.zeros(ops.shape_of(x), bool),
}  # fmt: skip


# reductions


def _extreme(f: Callable[..., Any], two: Callable[..., Any]) -> Callable[..., Any]:
    def g(a: Any, axis: Any = None, keepdims: Any = False, initial: Any = None, where: Any = True) -> Any:
        a = lifted(a)
        if where is not True:
            if initial is None:
                raise Refused("where without initial")
            a = ops.where(where, a, initial)
        if isinstance(a, ops.Value) and a.truth and initial is None:
            # among truth values the largest is whether one holds
            return ops.not_equal(f(a, axis, keepdims), 0.0)
        out = f(a, axis, keepdims)
        return out if initial is None else two(out, initial)

    return g


def _folded(f: Callable[..., Any], two: Callable[..., Any], unit: float) -> Callable[..., Any]:
    def g(a: Any, axis: Any = None, keepdims: Any = False, initial: Any = None, where: Any = True) -> Any:
        a = lifted(a)
        out = f(a if where is True else ops.where(where, a, unit), axis, keepdims)
        return out if initial is None else two(out, initial)

    return g


_sum, _prod = _folded(ops.sum, ops.add, 0.0), _folded(ops.prod, ops.mul, 1.0)
_max, _min = _extreme(ops.amax, ops.maximum), _extreme(ops.amin, ops.minimum)


def _mean(a: Any, axis: Any = None, keepdims: Any = False) -> Any:
    return ops.mean(lifted(a), axis, keepdims)


def _all(a: Any, axis: Any = None, keepdims: Any = False) -> Any:
    return ops.not_equal(ops.amin(ops.truth(a), axis, keepdims), 0.0)


def _any(a: Any, axis: Any = None, keepdims: Any = False) -> Any:
    return ops.not_equal(ops.amax(ops.truth(a), axis, keepdims), 0.0)


def _var(a: Any, axis: Any = None, ddof: Any = 0, keepdims: Any = False) -> Any:
    n = np.prod([ops.shape_of(a)[k] for k in ops.axes_of(a, axis)], dtype=int)
    off = ops.sub(a, ops.mean(a, axis, keepdims=True))
    return ops.div(ops.sum(ops.square(off), axis, keepdims), float(n - ddof))


def _std(a: Any, axis: Any = None, ddof: Any = 0, keepdims: Any = False) -> Any:
    return ops.sqrt(_var(a, axis, ddof, keepdims))


def _median(a: Any, axis: Any = None, keepdims: Any = False) -> Any:
    n = int(np.prod([ops.shape_of(a)[k] for k in ops.axes_of(a, axis)], dtype=int))
    low = ops.lanes("order_statistic", a, axis, keepdims, (n - 1) // 2)
    return low if n % 2 else ops.mul(0.5, ops.add(low, ops.lanes("order_statistic", a, axis, keepdims, n // 2)))


def _ptp(a: Any, axis: Any = None, keepdims: Any = False) -> Any:
    return ops.sub(ops.amax(a, axis, keepdims), ops.amin(a, axis, keepdims))


def _average(a: Any, axis: Any = None, weights: Any = None, keepdims: Any = False) -> Any:
    if weights is None:
        return ops.mean(a, axis, keepdims)
    if ops.shape_of(weights) != ops.shape_of(a):
        if axis is None or np.ndim(axis) or len(ops.shape_of(weights)) != 1:
            raise Refused("weights of another shape go along one axis")
        weights = ops.reshape(weights, [-1 if k in ops.axes_of(a, axis) else 1 for k in range(len(ops.shape_of(a)))])
    whole = ops.broadcast_to(weights, ops.shape_of(a))
    return ops.div(ops.sum(ops.mul(a, whole), axis, keepdims), ops.sum(whole, axis, keepdims))


def _cumulative(name: str) -> Callable[..., Any]:
    def f(a: Any, axis: Any = None) -> Any:
        return ops.cumulative(name, ops.reshape(a, (-1,)) if axis is None else a, 0 if axis is None else axis)

    return f


def _position(name: str) -> Callable[..., Any]:
    return lambda a, axis=None: ops.position(name, a, axis)


def _sort(a: Any, axis: Any = -1) -> Any:
    return ops.sort(ops.reshape(a, (-1,)) if axis is None else a, 0 if axis is None else axis)


def _argsort(a: Any, axis: Any = -1) -> Any:
    return ops.position("argsort", a, axis)


def _diff(a: Any, n: int = 1, axis: int = -1) -> Any:
    for _ in range(n):
        shape = ops.shape_of(a)
        here = ops.axes_of(a, axis)[0]
        part = lambda lo, hi: ops.slice_axes(a, [slice(lo, hi) if k == here else slice(None) for k in range(len(shape))])  # noqa: E731
        a = ops.sub(part(1, shape[here]), part(0, shape[here] - 1))
    return a


# products


def _dot(a: Any, b: Any) -> Any:
    if not ops.shape_of(a) or not ops.shape_of(b):
        return ops.mul(a, b)
    m, n = len(ops.shape_of(a)), len(ops.shape_of(b))
    return ops.dot_general(a, b, ([m - 1], [max(n - 2, 0)]))


def _inner(a: Any, b: Any) -> Any:
    if not ops.shape_of(a) or not ops.shape_of(b):
        return ops.mul(a, b)
    return ops.dot_general(a, b, ([len(ops.shape_of(a)) - 1], [len(ops.shape_of(b)) - 1]))


def _vdot(a: Any, b: Any) -> Any:
    return _dot(ops.reshape(a, (-1,)), ops.reshape(b, (-1,)))


def _outer(a: Any, b: Any) -> Any:
    return ops.mul(ops.reshape(a, (-1, 1)), ops.reshape(b, (1, -1)))


def _tensordot(a: Any, b: Any, axes: Any = 2) -> Any:
    if isinstance(axes, (int, np.integer)):
        n = len(ops.shape_of(a))
        axes = (list(range(n - axes, n)), list(range(axes)))
    side = lambda v, k: [i % len(ops.shape_of(v)) for i in ([k] if isinstance(k, (int, np.integer)) else k)]  # noqa: E731
    return ops.dot_general(a, b, (side(a, axes[0]), side(b, axes[1])))


def _einsum(spec: Any, *xs: Any, **how: Any) -> Any:
    how.pop("optimize", None)
    if not isinstance(spec, str) or how:
        raise Refused("einsum takes a text such as 'ij,jk->ik' and arrays; of its options optimize alone")
    return ops.einsum(spec, *xs)


def _norm(x: Any, ord: Any = None, axis: Any = None, keepdims: Any = False) -> Any:  # noqa: A002
    dims = len(ops.shape_of(x)) if axis is None else len(ops.axes_of(x, axis))
    if ord is None or ord == 2 and dims == 1 or ord == "fro" and dims == 2:
        return ops.lanes("norm2", x, axis, keepdims)
    if dims == 1 and ord in (1, np.inf, -np.inf):
        name = {1: "norm1", np.inf: "norminf"}.get(ord)
        return ops.lanes(name, x, axis, keepdims) if name else ops.amin(ops.absolute(x), axis, keepdims)
    if dims == 1 and ord not in (0, "fro", "nuc"):
        return ops.power(ops.sum(ops.power(ops.absolute(x), float(ord)), axis, keepdims), 1.0 / ord)
    raise Refused(f"ord={ord!r} of {dims} axes")


# structure


def _in_order(order: Any, f: Callable[[Any], Any], x: Any) -> Any:
    """Numbers in the order of rows, or of columns (``F``)."""
    if order not in ("C", "F"):
        raise Refused(f"order={order!r} depends on how numbers lie in memory")
    return f(x) if order == "C" else f(ops.transpose(x))


def _reshape(a: Any, shape: Any, order: str = "C") -> Any:
    shape = tuple(shape) if np.iterable(shape) else (shape,)
    if order == "F":
        return ops.transpose(ops.reshape(ops.transpose(a), shape[::-1]))
    return _in_order(order, lambda x: ops.reshape(x, shape), a)


def _ravel(a: Any, order: str = "C") -> Any:
    return _in_order(order, lambda x: ops.reshape(x, (-1,)), a)


def _transpose(a: Any, axes: Any = None) -> Any:
    return ops.transpose(a, axes)


def _swapaxes(a: Any, axis1: int, axis2: int) -> Any:
    order = list(range(len(ops.shape_of(a))))
    order[axis1], order[axis2] = order[axis2], order[axis1]
    return ops.transpose(a, order)


def _moveaxis(a: Any, source: Any, destination: Any) -> Any:
    n = len(ops.shape_of(a))
    # where each axis goes is told by sizes that differ
    order = np.moveaxis(np.broadcast_to(0.0, tuple(range(2, 2 + n))), source, destination).shape
    return ops.transpose(a, [k - 2 for k in order])


def _squeeze(a: Any, axis: Any = None) -> Any:
    shape = ops.shape_of(a)
    gone = [k for k, n in enumerate(shape) if n == 1] if axis is None else ops.axes_of(a, axis)
    if any(shape[k] != 1 for k in gone):
        raise Refused("only axes of size 1 can be squeezed away")
    return ops.reshape(a, [n for k, n in enumerate(shape) if k not in gone])


def _expand_dims(a: Any, axis: Any) -> Any:
    return ops.reshape(a, np.expand_dims(np.broadcast_to(0.0, ops.shape_of(a)), axis).shape)


def _by_positions(f: Callable[..., Any]) -> Callable[..., Any]:
    """What only moves numbers about, done to their positions."""

    def g(x: Any, *args: Any, **kwargs: Any) -> Any:
        if not isinstance(x, ops.Value) or values([*args, *kwargs.values()]):
            raise Refused("positions that are computed")
        return ops.table(x, f(np.arange(x.size).reshape(x.shape), *args, **kwargs))

    return g


def _take(a: Any, indices: Any, axis: Any = None, mode: str = "raise") -> Any:
    if ops.known(indices):
        return _by_positions(np.take)(a, np.asarray(indices), axis=axis, mode=mode)
    if mode != "raise":
        raise Refused(f"computed positions with mode={mode!r}")
    return ops.take(ops.reshape(a, (-1,)) if axis is None else a, indices, 0 if axis is None else axis)


def _take_along_axis(arr: Any, indices: Any, axis: Any = -1) -> Any:
    return ops.take_along_axis(ops.reshape(arr, (-1,)) if axis is None else arr, indices, 0 if axis is None else axis)


def _diagonal(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    return _by_positions(np.diagonal)(a, offset, axis1, axis2)


def _trace(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    return ops.sum(_diagonal(a, offset, axis1, axis2), -1)


def _diag(v: Any, k: int = 0) -> Any:
    if len(ops.shape_of(v)) == 2:
        return _diagonal(v, k)
    around = np.diag(np.ones(ops.shape_of(v)), k)
    return ops.add_at(v, np.nonzero(around.ravel())[0], around.shape)


def _masked(keep: Callable[..., Any]) -> Callable[..., Any]:
    return lambda m, k=0: ops.where(keep(np.ones(ops.shape_of(m), bool), k), m, 0.0)


def _concatenate(arrays: Any, axis: Any = 0) -> Any:
    parts = [lifted(p) for p in arrays]
    if axis is None:
        return ops.concatenate([ops.reshape(p, (-1,)) for p in parts], 0)
    rest = {ops.shape_of(p)[: axis % max(len(ops.shape_of(p)), 1)] + ops.shape_of(p)[axis % max(len(ops.shape_of(p)), 1) + 1 :] for p in parts}
    if len(rest) != 1 or any(not ops.shape_of(p) for p in parts):
        raise Refused("arrays that are put together agree in all axes but one")
    return ops.concatenate(parts, axis)


def _stack(arrays: Any, axis: int = 0) -> Any:
    parts = [lifted(p) for p in arrays]
    if len({ops.shape_of(p) for p in parts}) != 1:
        raise Refused("arrays that are stacked have one shape")
    return ops.stack(parts, axis)


def _hstack(tup: Any) -> Any:
    parts = [_at_least(1, lifted(p)) for p in tup]
    return _concatenate(parts, 0 if len(ops.shape_of(parts[0])) == 1 else 1)


def _vstack(tup: Any) -> Any:
    return _concatenate([_at_least(2, lifted(p)) for p in tup], 0)


def _at_least(n: int, x: Any) -> Any:
    x = x if isinstance(x, ops.Value) else np.asarray(x)
    shape = ops.shape_of(x)
    return x if len(shape) >= n else ops.reshape(x, (1,) * (n - len(shape)) + shape)


def _split(equal: bool) -> Callable[..., Any]:
    def f(ary: Any, indices_or_sections: Any, axis: int = 0) -> Any:
        n = ops.shape_of(ary)[axis]
        pieces = (np.split if equal else np.array_split)(np.arange(n), indices_or_sections)
        return [ops.take(ary, piece, axis) for piece in pieces]

    return f


def _pad(array: Any, pad_width: Any, mode: str = "constant", **how: Any) -> Any:
    if isinstance(pad_width, dict) or not isinstance(mode, str):
        raise Refused("widths are numbers or pairs, and the mode is a name")
    pairs = np.broadcast_to(np.asarray(pad_width, int), (len(ops.shape_of(array)), 2))
    if mode == "constant" and set(how) <= {"constant_values"}:
        fill = how.get("constant_values", 0)
        if ops.shape_of(fill):
            raise Refused("one value for all sides is known")
        return ops.pad(array, [(int(lo), int(hi), 0) for lo, hi in pairs], fill)
    if mode not in ("edge", "reflect", "symmetric", "wrap") or how.pop("reflect_type", "even") != "even" or how:
        raise Refused(f"mode={mode!r}{''.join(f', {k}={v!r}' for k, v in how.items())}")
    return _by_positions(np.pad)(array, pairs, mode=mode)


def _interp(x: Any, xp: Any, fp: Any) -> Any:
    if not ops.known(xp):
        raise Refused("nodes that are computed")
    xp = np.asarray(xp, float)
    if np.any(np.diff(xp) <= 0) or xp.ndim != 1 or ops.shape_of(fp) != xp.shape:
        raise Refused("nodes increase, and there is a value for each")
    out: Any = ops.index(fp, 0)
    for i in range(len(xp) - 1):
        slope = ops.div(ops.sub(ops.index(fp, i + 1), ops.index(fp, i)), xp[i + 1] - xp[i])
        out = ops.add(out, ops.mul(slope, ops.sub(ops.clip(x, xp[i], xp[i + 1]), xp[i])))
    return ops.broadcast_to(out, ops.shape_of(x))


# choices


def _where(condition: Any, *branches: Any) -> Any:
    if len(branches) != 2:
        raise Refused("where a condition holds is not known yet; give both branches, np.where(condition, a, b)")
    return ops.where(condition, *(lifted(b) for b in branches))


def _select(condlist: Any, choicelist: Any, default: Any = 0) -> Any:
    out = default
    shapes = [ops.shape_of(x) for x in [*condlist, *choicelist, default]]
    for c, x in reversed(list(zip(condlist, choicelist, strict=True))):
        out = ops.where(c, x, out)
    return ops.broadcast_to(out, np.broadcast_shapes(*shapes))


def _clip(a: Any, a_min: Any = None, a_max: Any = None, min: Any = None, max: Any = None) -> Any:  # noqa: A002
    return ops.clip(a, a_min if min is None else min, a_max if max is None else max)


def _round(a: Any, decimals: int = 0) -> Any:
    return ops.rint(a) if decimals == 0 else ops.div(ops.rint(ops.mul(a, 10.0**decimals)), 10.0**decimals)


def _sinc(x: Any) -> Any:
    return ops.where(ops.equal(x, 0.0), 1.0, ops.div(ops.sin(ops.mul(x, np.pi)), ops.mul(x, np.pi)))


def _filled(x: Any, value: Any) -> Any:
    if values([value]):
        raise Refused("an array is filled with a known number; use np.broadcast_to")
    return np.full(ops.shape_of(x), value)


# the table: function, what stands for it, the parameters that it takes, and those that do not matter

_REDUCE_PARAMETERS = "a axis keepdims initial where"
_TABLE: list[tuple[Any, Callable[..., Any], str, str]] = [
    (np.sum, _sum, _REDUCE_PARAMETERS, ""), (np.prod, _prod, _REDUCE_PARAMETERS, ""), (np.max, _max, _REDUCE_PARAMETERS, ""), (np.min, _min, _REDUCE_PARAMETERS, ""),
    (np.amax, _max, _REDUCE_PARAMETERS, ""), (np.amin, _min, _REDUCE_PARAMETERS, ""), (np.mean, _mean, "a axis keepdims", ""), (np.all, _all, "a axis keepdims", ""), (np.any, _any, "a axis keepdims", ""),
    (np.var, _var, "a axis ddof keepdims", ""), (np.std, _std, "a axis ddof keepdims", ""), (np.median, _median, "a axis keepdims", "overwrite_input"), (np.ptp, _ptp, "a axis keepdims", ""),
    (np.average, _average, "a axis weights keepdims", ""), (np.cumsum, _cumulative("cumsum"), "a axis", ""), (np.cumprod, _cumulative("cumprod"), "a axis", ""), (np.diff, _diff, "a n axis", ""),
    (np.sort, _sort, "a axis", "kind stable"), (np.argsort, _argsort, "a axis", "kind stable"), (np.argmax, _position("argmax"), "a axis", ""), (np.argmin, _position("argmin"), "a axis", ""),
    (np.clip, _clip, "a a_min a_max min max", ""), (np.reshape, _reshape, "a shape order", "copy"), (np.ravel, _ravel, "a order", ""), (np.transpose, _transpose, "a axes", ""), (np.swapaxes, _swapaxes, "a axis1 axis2", ""),
    (np.moveaxis, _moveaxis, "a source destination", ""), (np.squeeze, _squeeze, "a axis", ""), (np.expand_dims, _expand_dims, "a axis", ""),
    (np.broadcast_to, lambda array, shape: ops.broadcast_to(array, shape if np.iterable(shape) else (shape,)), "array shape", "subok"),
    (np.stack, _stack, "arrays axis", ""), (np.hstack, _hstack, "tup", ""), (np.vstack, _vstack, "tup", ""), (np.split, _split(True), "ary indices_or_sections axis", ""), (np.array_split, _split(False), "ary indices_or_sections axis", ""),
    (np.repeat, _by_positions(np.repeat), "a repeats axis", ""), (np.tile, _by_positions(np.tile), "A reps", ""), (np.roll, _by_positions(np.roll), "a shift axis", ""), (np.flip, _by_positions(np.flip), "m axis", ""), (np.rot90, _by_positions(np.rot90), "m k axes", ""),
    (np.take, _take, "a indices axis mode", ""), (np.take_along_axis, _take_along_axis, "arr indices axis", ""), (np.diagonal, _diagonal, "a offset axis1 axis2", ""), (np.trace, _trace, "a offset axis1 axis2", ""),
    (np.diag, _diag, "v k", ""), (np.tril, _masked(np.tril), "m k", ""), (np.triu, _masked(np.triu), "m k", ""), (np.outer, _outer, "a b", ""), (np.tensordot, _tensordot, "a b axes", ""), (np.linalg.norm, _norm, "x ord axis keepdims", ""),
    (np.interp, _interp, "x xp fp", ""), (np.round, _round, "a decimals", ""), (np.around, _round, "a decimals", ""), (np.real, lambda val: val, "val", ""), (np.copy, lambda a: a, "a", "order subok"),
    (np.zeros_like, lambda a: np.zeros(ops.shape_of(a)), "a", "order subok"), (np.ones_like, lambda a: np.ones(ops.shape_of(a)), "a", "order subok"), (np.full_like, lambda a, fill_value: _filled(a, fill_value), "a fill_value", "order subok"),
    (np.shape, lambda a: ops.shape_of(a), "a", ""), (np.ndim, lambda a: len(ops.shape_of(a)), "a", ""), (np.size, lambda a, axis=None: a.size if axis is None else int(np.prod([a.shape[k] for k in ops.axes_of(a, axis)])), "a axis", ""),
    (np.nan_to_num, lambda x: x, "x", "copy nan posinf neginf"), (np.select, _select, "condlist choicelist default", ""), (np.sinc, _sinc, "x", ""),
]  # fmt: skip

#: Those whose signatures NumPy does not tell, or that take any number of arguments.
_LOOSE: list[tuple[Any, Callable[..., Any]]] = [
    (np.where, _where), (np.einsum, _einsum), (np.pad, _pad),
    (np.dot, lambda a, b, out=None: _dot(a, b) if out is None else _refuse("out")), (np.inner, lambda a, b: _inner(a, b)), (np.vdot, lambda a, b: _vdot(a, b)),
    (np.concatenate, lambda arrays, axis=0, out=None, dtype=None, casting="same_kind": _concatenate(arrays, axis) if out is None and is_real(dtype) else _refuse("out or dtype")),
    (np.atleast_1d, lambda *xs: _one_or_all([_at_least(1, x) for x in xs])), (np.atleast_2d, lambda *xs: _one_or_all([_at_least(2, x) for x in xs])),
]  # fmt: skip


def _refuse(what: str) -> Any:
    raise Refused(what)


def _one_or_all(xs: list[Any]) -> Any:
    return xs[0] if len(xs) == 1 else tuple(xs)


def is_real(dtype: Any) -> bool:
    """Whether a type of numbers says nothing: none, or floats, which are real numbers."""
    return dtype is None or not is_given(dtype) or np.dtype(dtype).kind == "f"


def _strict(numpy: Callable[..., Any], f: Callable[..., Any], takes: str, whatever: str) -> Callable[..., Any]:
    """A function by NumPy's own signature. What it does not take must have its default."""
    signature = _inspect.signature(numpy)
    wanted, free = takes.split(), whatever.split()
    # NumPy's names for the same parameter have changed; the places have not
    renamed = {p: w for p, w in zip(signature.parameters, wanted) if p not in wanted and w not in signature.parameters}

    def g(*args: Any, **kwargs: Any) -> Any:
        bound = signature.bind(*args, **kwargs)
        given: dict[str, Any] = {}
        for name, value in bound.arguments.items():
            name = renamed.get(name, name)
            if not is_given(value):
                continue
            default = signature.parameters[name].default if name in signature.parameters else _inspect.Parameter.empty
            if name in wanted:
                given[name] = bool(value) if name == "keepdims" else value
            elif name == "dtype" and is_real(value) or name in free:
                continue
            elif not (value is default or _is_plain(value) and value == default):
                raise Refused(f"{name}={value!r}" if _is_plain(value) else name)
        places = [given.pop(name) for name in wanted[: _positional(given, wanted)]]
        return f(*places, **given)

    return g


def _positional(given: dict[str, Any], wanted: list[str]) -> int:
    """How many of the parameters are given from the first on: those go by their places."""
    return next((i for i, name in enumerate(wanted) if name not in given), len(wanted))


def _is_plain(x: Any) -> bool:
    return x is None or isinstance(x, (bool, int, float, str))


#: All other functions of NumPy that are known.
FUNCTIONS: dict[Callable[..., Any], Callable[..., Any]] = {n: _strict(n, f, takes, free) for n, f, takes, free in _TABLE} | dict(_LOOSE)

#: Functions whose result may share its numbers with the argument, so that writing into one would change the other.
VIEWS = {np.reshape, np.ravel, np.transpose, np.swapaxes, np.moveaxis, np.squeeze, np.expand_dims, np.broadcast_to, np.split, np.array_split, np.flip, np.rot90, np.diagonal, np.diag, np.atleast_1d, np.atleast_2d, np.real}

_REDUCE: dict[str, Callable[..., Any]] = {
    "add": _sum, "multiply": _prod, "maximum": _max, "minimum": _min, "fmax": _max, "fmin": _min,
    "logaddexp": lambda a, axis=None, keepdims=False: ops.logsumexp(a, axis, keepdims), "logical_and": _all, "logical_or": _any,
}  # fmt: skip
_ACCUMULATE = {"add": "cumsum", "multiply": "cumprod", "maximum": "cummax", "minimum": "cummin"}


def reduce(name: str, a: Any, axis: Any = 0, dtype: Any = None, out: Any = None, keepdims: Any = False, initial: Any = np._NoValue, where: Any = True) -> Any:
    """``ufunc.reduce``."""
    f = _REDUCE.get(name)
    if f is None or out is not None or not is_real(dtype):
        raise Refused("this function along an axis" if f is None else "out, or a type that is no float")
    more = ({} if not is_given(initial) or initial is None else {"initial": initial}) | ({} if where is True else {"where": where})
    if more and name not in ("add", "multiply", "maximum", "minimum"):
        raise Refused(", ".join(more))
    return f(a, axis, bool(keepdims), **more)


def accumulate(name: str, a: Any, axis: Any = 0, dtype: Any = None, out: Any = None) -> Any:
    """``ufunc.accumulate``."""
    if name not in _ACCUMULATE or out is not None or not is_real(dtype):
        raise Refused("this function along an axis" if name not in _ACCUMULATE else "out, or a type that is no float")
    return ops.cumulative(_ACCUMULATE[name], a, axis)


def names() -> list[str]:
    """The functions of NumPy that are known, by name."""
    return sorted({*UFUNCS, *(("linalg." if f is np.linalg.norm else "") + f.__name__ for f in FUNCTIONS)})
