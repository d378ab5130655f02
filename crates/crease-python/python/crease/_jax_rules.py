"""What each primitive of JAX is in crease: one small rule for each, or for several that are alike.

A rule is called with the walker, the equation's parameters, the equation, and its arguments, at least one of which is a :class:`~crease._ops.Value`; what is known has
been folded before. It gives the result, or a list of results. Nothing here imports JAX.
"""

from __future__ import annotations

import math
from typing import Any, Callable

import numpy as np

from . import _ops as ops
from ._crease import CreaseError, parse
from ._jax_values import Partial, STRUCTURE, finite, is_known, pick, pick_or, rows_of_lanes, same, shape_of, uniform, without_value
from ._ops import Operand, Value

RULES: dict[str, Callable[..., Any]] = {}


def rule(*names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Declares what is called for these primitives."""

    def declare(f: Callable[..., Any]) -> Callable[..., Any]:
        for name in names:
            RULES[name] = f
        return f

    return declare


def simple(name: str, f: Callable[..., Any]) -> None:
    """A primitive without parameters that is one function of its arguments."""
    RULES[name] = lambda w, p, eqn, *xs: f(*xs)


def is_integer(eqn: Any, i: int = 0) -> bool:
    """Whether an argument of an equation holds integers."""
    return eqn.invars[i].aval.dtype.kind in "iu"


def is_bool(eqn: Any, i: int = 0) -> bool:
    """Whether an argument of an equation holds truth values."""
    return eqn.invars[i].aval.dtype.kind == "b"


def narrow(*xs: Operand) -> list[Operand]:
    """Known arrays that hold one number everywhere as that number, if something else has the shape."""
    shapes = [shape_of(x) for x in xs]
    whole = np.broadcast_shapes(*shapes)
    if not any(not is_known(x) and s == whole for x, s in zip(xs, shapes)):
        return list(xs)
    out: list[Operand] = []
    for x in xs:
        one = uniform(x) if is_known(x) and np.size(x) > 1 else None
        out.append(x if one is None else one)
    return out


# numbers, one by one

for _name, _f in {
    "add": ops.add, "sub": ops.sub, "max": ops.maximum, "min": ops.minimum, "add_any": ops.add,
}.items():
    RULES[_name] = lambda w, p, eqn, *xs, _f=_f: _f(*narrow(*xs))

for _name, _f in {
    "neg": ops.neg, "exp": ops.exp, "log": ops.log, "sin": ops.sin, "cos": ops.cos, "tan": ops.tan, "tanh": ops.tanh, "asin": ops.asin,
    "acos": ops.acos, "atan": ops.atan, "sinh": ops.sinh, "cosh": ops.cosh, "asinh": ops.asinh, "acosh": ops.acosh, "atanh": ops.atanh, "log1p": ops.log1p,
    "expm1": ops.expm1, "floor": ops.floor, "ceil": ops.ceil, "sign": ops.sign, "abs": ops.absolute, "sqrt": ops.sqrt, "erf": ops.erf, "erfc": ops.erfc,
    "logistic": ops.sigmoid, "square": ops.square,
}.items():
    RULES[_name] = lambda w, p, eqn, x, _f=_f: _f(x)


@rule("mul")
def _mul(w, p, eqn, x, y):
    return ops.square(x) if same(x, y) else ops.mul(*narrow(x, y))


def truncate(x: Value) -> Value:
    """The integer part, towards 0."""
    return ops.where(ops.less(x, 0.0), ops.ceil(x), ops.floor(x))


@rule("div")
def _div(w, p, eqn, x, y):
    out = ops.div(*narrow(x, y))
    return truncate(out) if is_integer(eqn) else out


@rule("rem")
def _rem(w, p, eqn, x, y):
    x, y = narrow(x, y)
    low = w.bounds.get(x)
    whole = ops.floor(ops.div(x, y)) if low and low[0] >= 0 and is_known(y) and np.all(np.asarray(y) > 0) else truncate(ops.div(x, y))
    return ops.sub(x, ops.mul(y, whole))


@rule("integer_pow")
def _integer_pow(w, p, eqn, x):
    return ops.power(x, float(p["y"]))


@rule("pow")
def _pow(w, p, eqn, x, y):
    return ops.power(*narrow(x, y))


@rule("exp2")
def _exp2(w, p, eqn, x):
    return ops.exp(ops.mul(x, math.log(2.0)))


@rule("rsqrt")
def _rsqrt(w, p, eqn, x):
    return ops.div(1.0, ops.sqrt(x))


@rule("cbrt")
def _cbrt(w, p, eqn, x):
    shape = f"[{', '.join(map(str, x.shape))}]" if x.shape else ""
    root = parse(f"program cbrt(x{shape}) = x ^ (1/3)")
    below = ops.less(x, 0.0)
    size = ops.where(below, ops.neg(x), x)
    out = Value(x.builder, x.builder.call(root, [size.handle])[0])
    return ops.where(below, ops.neg(out), out)


@rule("atan2")
def _atan2(w, p, eqn, y, x):
    return ops.atan2(y, x)


@rule("round")
def _round(w, p, eqn, x):
    if is_integer(eqn):
        return x
    if int(p["rounding_method"]) == 1:
        return ops.rint(x)
    return ops.where(ops.less(x, 0.0), ops.ceil(ops.sub(x, 0.5)), ops.floor(ops.add(x, 0.5)))


@rule("clamp")
def _clamp(w, p, eqn, low, x, high):
    """Where JAX takes the slope 0 at both ends: a choice keeps that, and is exact. Without bounds that matter it is the number itself."""
    shape = np.broadcast_shapes(shape_of(low), shape_of(x), shape_of(high))
    inside, above = w.bounds.get(x), w.bounds.get(low)
    below = w.bounds.get(high)
    no_low = is_known(low) and bool(np.all(np.isneginf(np.asarray(low, float)))) or bool(inside and above and inside[0] >= above[1])
    no_high = is_known(high) and bool(np.all(np.isposinf(np.asarray(high, float)))) or bool(inside and below and inside[1] <= below[0])
    low, x, high = narrow(low, x, high)
    out = x if no_high else ops.where(ops.less(x, high), x, high)
    out = out if no_low else ops.where(ops.greater(x, low), out, low)
    if not no_low and not no_high and not (is_known(low) and is_known(high) and np.all(np.asarray(low) <= np.asarray(high))):
        # bounds may cross: then it is the upper one
        out = ops.where(ops.greater(low, high), high, out)
    return ops.broadcast_to(out, shape)


@rule("is_finite")
def _is_finite(w, p, eqn, x):
    return np.ones(shape_of(x), bool)


_COMPARISONS = {"lt": ops.less, "le": ops.less_equal, "gt": ops.greater, "ge": ops.greater_equal, "eq": ops.equal, "ne": ops.not_equal}


def _compare(w, p, eqn, x, y):
    name = eqn.primitive.name.removesuffix("_to")
    shape = np.broadcast_shapes(shape_of(x), shape_of(y))
    if same(x, y):
        # real numbers equal themselves: this is how JAX asks for NaN
        return np.full(shape, name in ("le", "ge", "eq"))
    told = w.bounds.compare(name, x, y)
    if told is not None:
        return np.full(shape, told)
    for a, b, flip in ((x, y, False), (y, x, True)):
        # every real number is above minus infinity
        if is_known(b) and not is_known(a) and not finite(b):
            return _compare_infinite(name, a, np.broadcast_to(b, shape), flip, w, eqn)
    if is_bool(eqn) and name in ("eq", "ne"):
        differ = ops.logical_xor(x, y)
        return differ if name == "ne" else ops.logical_not(differ)
    return _COMPARISONS[name](*narrow(x, y))


def _compare_infinite(name, x, y, flip, w, eqn):
    """A comparison with known numbers, some of which are not finite."""
    numpy = {"lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal, "eq": np.equal, "ne": np.not_equal}[name]
    told = numpy(y, 0.0) if flip else numpy(0.0, y)
    bad = ~np.isfinite(y)
    if bad.all():
        return told
    plain = np.where(bad, 0.0, y)
    found = _COMPARISONS[name](plain, x) if flip else _COMPARISONS[name](x, plain)
    return choose(bad, told, found)


for _name in ("lt", "le", "gt", "ge", "eq", "ne", "lt_to", "le_to", "eq_to"):
    RULES[_name] = _compare


def choose(mask: Operand, x: Any, y: Any) -> Any:
    """The second where the first holds, else the third; truth values stay such, infinities at known places stay known, and at others have no value."""
    if is_known(mask):
        mask = np.asarray(mask, bool)
        shape = np.broadcast_shapes(mask.shape, shape_of(x), shape_of(y))
        mask = np.broadcast_to(mask, shape)
        if mask.all() or not mask.any():
            only = x if mask.all() else y
            return ops.broadcast_to(only, shape) if not isinstance(only, Partial) else only
        if is_known(x) and is_known(y):
            return np.where(mask, x, y)
        fill = np.zeros(shape)
        plain = []
        for v, taken in ((x, mask), (y, ~mask)):
            if isinstance(v, Partial):
                fill = np.where(taken, v.fill, fill)
                v = v.value
            elif is_known(v) and not finite(v):
                a = np.broadcast_to(np.asarray(v, float), shape)
                bad = ~np.isfinite(a)
                fill = np.where(taken & bad, a, fill)
                v = np.where(bad, 0.0, a)
            plain.append(v)
        x, y = plain
        truth = all(v.truth if isinstance(v, Value) else np.asarray(v).dtype == bool for v in (x, y))
        if is_known(x) and is_known(y):
            out: Any = np.where(mask, x, y)
        else:
            out = ops._pick_known(mask, x, y, shape)
            out.truth = truth
        return Partial(out, fill) if np.any(fill) else out
    b = mask.builder
    arms = []
    for v in (x, y):
        if isinstance(v, Partial):
            bad = v.missing
            v = pick_known_or(bad, without_value(b), v.value)
        elif is_known(v) and not finite(v):
            a = np.asarray(v, float)
            bad = ~np.isfinite(a)
            v = without_value(b) if bad.all() else pick_known_or(bad, without_value(b), np.where(bad, 0.0, a))
        arms.append(v)
    shape = np.broadcast_shapes(mask.shape, *(shape_of(v) for v in arms))
    return ops.broadcast_to(ops.where(mask, *narrow_arms(arms, mask.shape == shape)), shape)


def narrow_arms(arms, whole):
    """Arms of a choice that are one number everywhere as that number, if the condition has the shape."""
    if not whole:
        return arms
    out = []
    for v in arms:
        one = uniform(v) if is_known(v) and np.size(v) > 1 else None
        out.append(v if one is None else one)
    return out


def pick_known_or(mask: np.ndarray, x: Operand, y: Operand) -> Value:
    """A choice by a known mask."""
    return ops._pick_known(mask, x, y, mask.shape)


@rule("select_n")
def _select_n(w, p, eqn, which, *cases):
    if is_bool(eqn):
        return choose(which, cases[1], cases[0])
    out = cases[-1]
    for k in range(len(cases) - 2, -1, -1):
        out = choose(ops.equal(which, k) if not is_known(which) else np.asarray(which) == k, cases[k], out)
    return out


def _logic(name: str, f: Callable[..., Any]) -> None:
    def g(w, p, eqn, *xs):
        if not is_bool(eqn):
            raise w.unsupported(eqn, f"`{name}` of the bits of computed integers")
        return f(*narrow(*xs))

    RULES[name] = g


for _name, _f in {"and": ops.logical_and, "or": ops.logical_or, "not": ops.logical_not, "xor": ops.logical_xor}.items():
    _logic(_name, _f)


@rule("convert_element_type")
def _convert(w, p, eqn, x):
    """Between floats the identity, as a function of real numbers; to integers towards 0; to truth values whether it is not 0."""
    old, new = eqn.invars[0].aval.dtype, eqn.outvars[0].aval.dtype
    if new.kind == "c":
        raise w.unsupported(eqn, "complex numbers are not taken")
    if new.kind == "b":
        return ops.truth(x)
    if new.kind in "iu" and old.kind not in "iub":
        return truncate(x)
    return x


@rule("copy", "copy_p", "name", "device_put", "sharding_constraint", "optimization_barrier", "reduce_precision", "pvary", "real")
def _same(w, p, eqn, *xs):
    return list(xs)


# structure


@rule("broadcast_in_dim")
def _broadcast_in_dim(w, p, eqn, x, *sizes):
    shape, dims = p["shape"], p["broadcast_dimensions"]
    middle = [1] * len(shape)
    for a, d in enumerate(dims):
        middle[d] = shape_of(x)[a]
    return ops.broadcast_to(ops.reshape(x, middle), shape)


@rule("reshape")
def _reshape(w, p, eqn, x, *sizes):
    if p.get("dimensions") is not None:
        x = ops.transpose(x, p["dimensions"])
    return ops.reshape(x, p["new_sizes"])


@rule("squeeze")
def _squeeze(w, p, eqn, x):
    gone = {int(d) % len(shape_of(x)) for d in p["dimensions"]}
    return ops.reshape(x, [n for a, n in enumerate(shape_of(x)) if a not in gone])


@rule("expand_dims")
def _expand_dims(w, p, eqn, x):
    return ops.reshape(x, eqn.outvars[0].aval.shape)


@rule("transpose")
def _transpose(w, p, eqn, x):
    return ops.transpose(x, p["permutation"])


@rule("rev")
def _rev(w, p, eqn, x):
    return ops.flip(x, p["dimensions"])


@rule("slice")
def _slice(w, p, eqn, x):
    steps = p["strides"] or [1] * len(shape_of(x))
    return ops.slice_axes(x, [slice(a, b, s) for a, b, s in zip(p["start_indices"], p["limit_indices"], steps)])


@rule("concatenate")
def _concatenate(w, p, eqn, *xs):
    return ops.concatenate(xs, p["dimension"])


@rule("stack")
def _stack(w, p, eqn, *xs):
    return ops.stack(xs, p["axis"])


@rule("unstack")
def _unstack(w, p, eqn, x):
    axis, out = p["axis"], []
    for i in range(shape_of(x)[axis]):
        part = ops.slice_axes(x, [slice(i, i + 1) if a == axis else slice(None) for a in range(len(shape_of(x)))])
        out.append(ops.reshape(part, [n for a, n in enumerate(shape_of(x)) if a != axis]))
    return out


@rule("split")
def _split(w, p, eqn, x):
    out, start, axis = [], 0, p["axis"]
    for n in p["sizes"]:
        axes = [slice(None)] * len(shape_of(x))
        axes[axis] = slice(start, start + n)
        out.append(ops.slice_axes(x, axes))
        start += n
    return out


@rule("tile")
def _tile(w, p, eqn, x):
    reps = p["reps"]
    positions = np.tile(np.arange(x.size).reshape(x.shape), reps)
    return pick(x, positions)


@rule("pad")
def _pad(w, p, eqn, x, value):
    config = [(int(a), int(b), int(c)) for a, b, c in p["padding_config"]]
    if is_known(value) and not finite(value):
        positions = ops.pad(np.arange(x.size).reshape(x.shape), config, -1)
        if np.all(positions >= 0):
            return pick(x, positions)
        fill = np.where(positions < 0, float(np.asarray(value)), 0.0)
        return Partial(pick_or(x, positions, 0.0), fill)
    if is_known(value):
        value = float(np.asarray(value))
    return ops.pad(x, config, value)


# reductions


@rule("reduce_sum")
def _reduce_sum(w, p, eqn, x):
    return ops.sum(x, list(p["axes"])) if p["axes"] else x


@rule("reduce_max")
def _reduce_max(w, p, eqn, x):
    return reduce_lane(w, "max", x, p["axes"], eqn)


@rule("reduce_min")
def _reduce_min(w, p, eqn, x):
    return reduce_lane(w, "min", x, p["axes"], eqn)


def reduce_lane(w, name, x, axes, eqn):
    """The largest or smallest along axes; of truth values that is a logical operation."""
    if not axes:
        return x
    if is_bool(eqn):
        return reduce_logic(ops.logical_or if name == "max" else ops.logical_and, x, axes)
    return ops.lanes(name, x, list(axes))


@rule("reduce_prod")
def _reduce_prod(w, p, eqn, x):
    return ops.prod(x, list(p["axes"])) if p["axes"] else x


def reduce_logic(f, x, axes):
    """A logical operation of all truth values along axes, by halves."""
    rest = [a for a in range(len(x.shape)) if a not in axes]
    shape = [x.shape[a] for a in rest]
    x = ops.reshape(ops.transpose(x, rest + list(axes)), [math.prod(shape), math.prod(x.shape[a] for a in axes)])
    while x.shape[1] > 1:
        half = x.shape[1] // 2
        left, right = (ops.slice_axes(x, [slice(None), slice(s, s + half)]) for s in (0, half))
        both = f(left, right)
        odd = ops.slice_axes(x, [slice(None), slice(2 * half, None)]) if x.shape[1] % 2 else None
        x = both if odd is None else ops.concatenate([both, odd], 1)
    return ops.reshape(ops.truth(x), shape)


@rule("reduce_and")
def _reduce_and(w, p, eqn, x):
    if not is_bool(eqn):
        raise w.unsupported(eqn, "the bits of computed integers")
    return reduce_logic(ops.logical_and, x, p["axes"]) if p["axes"] else x


@rule("reduce_or")
def _reduce_or(w, p, eqn, x):
    if not is_bool(eqn):
        raise w.unsupported(eqn, "the bits of computed integers")
    return reduce_logic(ops.logical_or, x, p["axes"]) if p["axes"] else x


@rule("reduce_xor")
def _reduce_xor(w, p, eqn, x):
    if not is_bool(eqn):
        raise w.unsupported(eqn, "the bits of computed integers")
    return reduce_logic(ops.logical_xor, x, p["axes"]) if p["axes"] else x


@rule("argmax", "argmin")
def _arg(w, p, eqn, x):
    (axis,) = p["axes"]
    out = ops.position(eqn.primitive.name, x, int(axis))
    return w.bounds.set(out, 0, x.shape[axis] - 1)


def _running(w, p, eqn, x):
    name, axis = eqn.primitive.name, p["axis"]
    if p["reverse"]:
        x = ops.flip(x, [axis])
    if name in ("cummax", "cummin"):
        out = by_pairs(ops.maximum if name == "cummax" else ops.minimum, x, axis)
    else:
        out = running_logsumexp(x, axis) if name == "cumlogsumexp" else ops.cumulative(name, x, axis)
    return ops.flip(out, [axis]) if p["reverse"] else out


for _name in ("cumsum", "cumprod", "cummax", "cummin", "cumlogsumexp"):
    RULES[_name] = _running


def by_pairs(f: Callable[..., Any], x: Value, axis: int) -> Value:
    """What runs along an axis, pairs first: the order in which JAX differentiates it, so that equals share the weight as they do there."""
    n = x.shape[axis]
    if n < 2:
        return x
    cut = lambda v, s: ops.slice_axes(v, [s if a == axis else slice(None) for a in range(v.ndim)])  # noqa: E731
    odd = by_pairs(f, f(cut(x, slice(0, n - 1, 2)), cut(x, slice(1, n, 2))), axis)
    if n == 2:
        return ops.concatenate([cut(x, slice(0, 1)), odd], axis)
    later = cut(x, slice(2, n, 2))
    even = ops.concatenate([cut(x, slice(0, 1)), f(cut(odd, slice(0, later.shape[axis])), later)], axis)
    order = np.empty(n, int)
    order[0::2], order[1::2] = np.arange(even.shape[axis]), even.shape[axis] + np.arange(odd.shape[axis])
    return ops.take(ops.concatenate([even, odd], axis), order, axis)


def running_logsumexp(x: Value, axis: int) -> Value:
    """``log(sum(exp(...)))`` of all up to here: a loop."""
    from ._crease import Builder

    n = x.shape[axis]
    if n == 1:
        return x
    order = [axis] + [a for a in range(x.ndim) if a != axis]
    first = ops.transpose(x, order)
    part = first.shape[1:]
    inner = Builder("cumlogsumexp")
    so_far, following = (Value(inner, inner.input(s, list(part))) for s in ("so_far", "next"))
    both = ops.logsumexp(ops.stack([so_far, following]), 0)
    body = inner.finish([both.handle, both.handle])
    start = ops.slice_axes(first, [slice(0, 1)] + [slice(None)] * len(part))
    rest = ops.slice_axes(first, [slice(1, None)] + [slice(None)] * len(part))
    b = x.builder
    out = b.scan(body, n - 1, [ops.reshape(start, part).handle], [rest.handle], [])
    every = ops.concatenate([start, Value(b, out[1])], 0)
    return ops.transpose(every, [order.index(a) for a in range(x.ndim)])


@rule("sort")
def _sort(w, p, eqn, *xs):
    """By the first operands, of which equal numbers keep their order; all others go along by position."""
    axis, keys = p["dimension"], p["num_keys"]
    if len(xs) == 1:
        if is_bool(eqn):
            raise w.unsupported(eqn, "sorting truth values")
        return [ops.sort(xs[0], axis)]
    b = ops.builder_of(*xs)
    order: Operand | None = None
    for x in reversed(xs[:keys]):
        if order is not None:
            x = ops.take_along_axis(x, order, axis)
        found = np.argsort(np.asarray(x), axis, kind="stable") if is_known(x) else ops.position("argsort", x, axis)
        order = found if order is None else ops.take_along_axis(order, found, axis)
    assert order is not None
    out: list[Any] = []
    n = xs[0].shape[axis]
    counting = np.arange(n).reshape([n if a == axis else 1 for a in range(len(shape_of(xs[0])))])
    for i, x in enumerate(xs):
        if eqn.outvars[i] not in w.alive:
            out.append(None)
        elif i == 0 and keys == 1 and isinstance(x, Value):
            out.append(ops.sort(x, axis))
        elif is_known(x) and np.array_equal(np.broadcast_to(counting, np.shape(x)), x):
            out.append(w.bounds.set(order, 0, n - 1))
        else:
            moved = ops.take_along_axis(x if is_known(order) else ops.lift(b, x), order, axis)
            ends = w.bounds.get(x)
            out.append(w.bounds.set(moved, *ends) if ends else moved)
    return out


@rule("top_k")
def _top_k(w, p, eqn, x):
    axis, k = int(p.get("axis", -1)) % x.ndim, int(p["k"])
    n = x.shape[axis]
    part = lambda s: [s if a == axis else slice(None) for a in range(x.ndim)]  # noqa: E731
    values = positions = None
    # turned round, so that of equal numbers the first comes first
    turned = ops.neg(x)
    if eqn.outvars[0] in w.alive:
        values = ops.neg(ops.slice_axes(ops.sort(turned, axis), part(slice(0, k))))
    if eqn.outvars[1] in w.alive:
        order = ops.position("argsort", turned, axis)
        positions = w.bounds.set(ops.slice_axes(order, part(slice(0, k))), 0, n - 1)
    return [values, positions]


# products


@rule("dot_general")
def _dot_general(w, p, eqn, x, y):
    contract, batch = p["dimension_numbers"]
    return ops.dot_general(x, y, contract, batch)


@rule("conv_general_dilated")
def _conv(w, p, eqn, x, kernel):
    d = p["dimension_numbers"]
    x, kernel = ops.transpose(x, d.lhs_spec), ops.transpose(kernel, d.rhs_spec)
    groups, batches = p["feature_group_count"], p["batch_group_count"]
    if batches > 1:
        # groups of the batch are groups of channels of fewer images
        n, c, *rest = shape_of(x)
        x = ops.reshape(x, [batches, n // batches, c, *rest])
        x = ops.transpose(x, [1, 0, *range(2, len(rest) + 3)])
        x, groups = ops.reshape(x, [n // batches, batches * c, *rest]), batches
    k = len(shape_of(kernel)) - 2
    if k == 0:
        x, kernel = ops.reshape(x, [*shape_of(x), 1]), ops.reshape(kernel, [*shape_of(kernel), 1])
        out = ops.reshape(ops.convolve(x, kernel, [1], [(0, 0)], [1], groups), [shape_of(x)[0], shape_of(kernel)[0]])
    else:
        padding = [(int(a), int(b)) for a, b in p["padding"]]
        out = ops.convolve(x, kernel, p["window_strides"], padding, p["rhs_dilation"], groups, p["lhs_dilation"])
    return ops.transpose(out, [d.out_spec.index(a) for a in range(k + 2)])


# windows


def window_rows(shape, p):
    """For each window the positions of what lies in it, -1 for what lies beside, and the shape of the windows."""
    positions = np.arange(math.prod(shape)).reshape(shape)
    base = p.get("base_dilation") or [1] * len(shape)
    config = [(int(lo), int(hi), int(d) - 1) for (lo, hi), d in zip(p["padding"], base)]
    positions = np.asarray(ops.pad(positions, config, -1))
    size, stride = p["window_dimensions"], p["window_strides"]
    dilation = p.get("window_dilation") or [1] * len(shape)
    reach = [(s - 1) * d + 1 for s, d in zip(size, dilation)]
    views = np.lib.stride_tricks.sliding_window_view(positions, reach)
    views = views[tuple(slice(None, None, s) for s in stride) + tuple(slice(None, None, d) for d in dilation)]
    out = views.shape[: len(shape)]
    return views.reshape(math.prod(out), -1), out


@rule("reduce_window_max", "reduce_window_min")
def _window_lane(w, p, eqn, x):
    rows, out = window_rows(x.shape, p)
    # the weight goes to the first of equals in a window
    return ops.reshape(rows_of_lanes("first_max" if "max" in eqn.primitive.name else "first_min", x, rows), out)


@rule("reduce_window_sum")
def _window_sum(w, p, eqn, x):
    rows, out = window_rows(x.shape, p)
    return ops.reshape(ops.sum(pick_or(x, rows, 0.0), [1]), out)


@rule("reduce_window")
def _window_any(w, p, eqn, *xs):
    """Windows of an operation that is given as a program: it is applied to one place of the window after the other."""
    half = len(xs) // 2
    xs, starts = xs[:half], xs[half:]
    rows, out = window_rows(shape_of(xs[0]), p)
    b = ops.builder_of(*xs, *starts)
    lifted = [ops.lift(b, x) for x in xs]
    state = [ops.broadcast_to(s, [rows.shape[0]]) for s in starts]
    if not all(finite(s) for s in starts if is_known(s)):
        if np.any(rows < 0) or [e.primitive.name for e in p["jaxpr"].eqns] not in (["max"], ["min"]):
            raise w.unsupported(eqn, "windows of an operation of your own with an infinite start")
        state, rest = [pick(x, rows[:, 0]) for x in lifted], range(1, rows.shape[1])
    else:
        rest = range(rows.shape[1])
    for i in rest:
        here = [pick_or(x, rows[:, i], s) for x, s in zip(lifted, starts)]
        state = w.apply_elementwise(p["jaxpr"], p["consts"], [*state, *here])
    return [ops.reshape(s, out) for s in state]


@rule("reduce")
def _reduce(w, p, eqn, *xs):
    """A reduction by an operation that is given as a program, by halves."""
    half = len(xs) // 2
    xs, starts = xs[:half], xs[half:]
    axes = list(p["dimensions"])
    shape = shape_of(xs[0])
    rest = [a for a in range(len(shape)) if a not in axes]
    kept = [shape[a] for a in rest]
    n = math.prod(shape[a] for a in axes)
    flat = [ops.reshape(ops.transpose(x, rest + axes), [math.prod(kept), n]) for x in xs]
    jaxpr = p["jaxpr"]
    part = lambda xs, a, b: [ops.slice_axes(x, [slice(None), slice(a, b)]) for x in xs]  # noqa: E731
    while n > 1:
        middle = n // 2
        both = w.apply_elementwise(jaxpr.jaxpr, jaxpr.consts, [*part(flat, 0, middle), *part(flat, middle, 2 * middle)])
        flat = [ops.concatenate([x, y], 1) for x, y in zip(both, part(flat, 2 * middle, n))] if n % 2 else both
        n = shape_of(flat[0])[1]
    flat = [ops.reshape(x, kept) for x in flat]
    if any(is_known(s) and not finite(s) for s in starts):
        if [e.primitive.name for e in jaxpr.eqns] not in (["max"], ["min"]):
            raise w.unsupported(eqn, "an operation of your own with an infinite start")
        return flat
    starts = [ops.broadcast_to(s, kept) for s in starts]
    return w.apply_elementwise(jaxpr.jaxpr, jaxpr.consts, [*starts, *flat])


MOVES = frozenset(STRUCTURE)
