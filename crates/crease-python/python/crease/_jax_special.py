"""Rules for the two things that are neither values nor known: arrays that are infinite at known places, and sums and exponentials with a stopped shift."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import _ops as ops
from ._jax_compat import from_batched_choice
from ._jax_rules import MOVES, RULES, choose
from ._jax_values import Base, Partial, Shift, finite, is_known, lanes_along, same, shape_of
from ._ops import Value

# functions of one number, whose values at infinity NumPy or JAX knows
UNARY = frozenset(
    "neg exp log sin cos tan tanh asin acos atan sinh cosh asinh acosh atanh log1p expm1 floor ceil sign abs sqrt erf erfc logistic square integer_pow exp2 rsqrt "
    "cbrt round is_finite convert_element_type".split()
)
BINARY = frozenset("add sub mul div max min pow lt le gt ge eq ne add_any".split())
# where a known array that is not finite may meet a value
MEETS = BINARY | {"concatenate", "select_n", "clamp"}


def apart(b: Any, x: Any) -> tuple[Any, np.ndarray]:
    """The finite part of something, and its infinities."""
    if isinstance(x, Partial):
        return x.value, x.fill
    if isinstance(x, Value):
        return x, np.zeros(x.shape)
    a = np.asarray(x, float)
    bad = ~np.isfinite(a)
    # NaN is kept as such: it is not 0 either
    return np.where(bad, 0.0, a), np.where(bad, a, 0.0)


def joined(value: Any, fill: np.ndarray) -> Any:
    """Put together again; without infinities it is the value alone."""
    if not np.any(fill != 0):
        return value
    if not isinstance(value, Value):
        return np.where(fill != 0, fill, value)
    return Partial(value, fill)


def partial(w: Any, eqn: Any, xs: list[Any]) -> Any:
    """An equation some of whose arguments are infinite at known places."""
    name, p = eqn.primitive.name, eqn.params
    b = w.builder
    if name in MOVES:
        (value, fill) = apart(b, xs[0])
        return joined(w.one(eqn, [value]), w.moved(eqn, fill))
    if name in UNARY and isinstance(xs[0], Partial):
        x = xs[0]
        known = np.asarray(w.fold(eqn, [x.fill.astype(eqn.invars[0].aval.dtype)])[0])
        return choose(x.missing, known, w.one(eqn, [x.value]))
    if name == "select_n":
        return RULES[name](w, p, eqn, *xs)
    if name == "concatenate":
        parts = [apart(b, x) for x in xs]
        whole = ops.concatenate([v for v, _ in parts], p["dimension"])
        return joined(whole, np.concatenate([f for _, f in parts], p["dimension"]))
    if name == "reduce_sum" and isinstance(xs[0], Partial):
        x = xs[0]
        axes = tuple(p["axes"])
        return joined(ops.sum(x.value, list(axes)), np.where((x.missing).any(axis=axes), x.fill.sum(axis=axes), 0.0))
    if name in ("reduce_max", "reduce_min") and isinstance(xs[0], Partial):
        return _extreme(w, eqn, xs[0])
    if name in BINARY:
        return _binary(w, eqn, *xs)
    if name == "clamp" and all(not isinstance(x, Partial) for x in xs):
        return RULES[name](w, p, eqn, *xs)
    raise w.unsupported(eqn, "infinities (or NaN) at known places do not go through it")


def _extreme(w: Any, eqn: Any, x: Partial) -> Any:
    axes = list(eqn.params["axes"])
    name, mark = ("max", -np.inf) if eqn.primitive.name == "reduce_max" else ("min", np.inf)
    if np.any(np.isnan(x.fill)) or np.any(x.fill == -mark):
        raise w.unsupported(eqn, "the wrong infinity, or NaN, takes part")
    nothing = x.missing.all(axis=tuple(axes), keepdims=True)
    # a group without numbers stays infinite
    held = Partial(x.value, np.where(np.broadcast_to(nothing, x.shape), 0.0, x.fill))
    out = lanes_along(name, held if np.any(held.missing) else x.value, axes)
    return joined(out, np.where(nothing.reshape(out.shape), mark, 0.0))


def _binary(w: Any, eqn: Any, x: Any, y: Any) -> Any:
    name = eqn.primitive.name
    b = w.builder
    (u, fu), (v, fv) = apart(b, x), apart(b, y)
    shape = np.broadcast_shapes(shape_of(u), shape_of(v))
    fu, fv = np.broadcast_to(fu, shape), np.broadcast_to(fv, shape)
    bad_u, bad_v = fu != 0, fv != 0
    if name in ("max", "min"):
        wins = np.inf if name == "max" else -np.inf
        if np.any(np.isnan(fu) | np.isnan(fv)):
            raise w.unsupported(eqn, "NaN takes part")
        if bad_u.all() and bad_v.all():
            return getattr(np, name + "imum")(fu, fv)
        fill = np.where((fu == wins) | (fv == wins), wins, np.where(bad_u & bad_v, -wins, 0.0))
        # where one is out of the race it is the other, without a tie
        if bad_u.all() or bad_v.all():
            value = ops.broadcast_to(v if bad_u.all() else u, shape)
        else:
            value = choose(bad_u, v, choose(bad_v, u, w.one(eqn, [u, v])))
        return joined(value, fill)
    if is_known(u) and is_known(v):
        raise AssertionError("known things are folded before")
    # what is finite in one of both is not known there: it must not matter
    either = bad_u | bad_v
    matters = name not in ("add", "sub", "add_any", "lt", "le", "gt", "ge", "eq", "ne")
    dtype = eqn.invars[0].aval.dtype
    left = _representative(u, fu, bad_u, either & ~bad_u, matters and not (name == "div" and not bad_u.any()), w, eqn, shape).astype(dtype)
    right = _representative(v, fv, bad_v, either & ~bad_v, matters, w, eqn, shape).astype(dtype)
    known = np.asarray(w.fold(eqn, [left, right])[0])
    return choose(either, known, w.one(eqn, [u, v]))


def _representative(u: Any, fill: np.ndarray, bad: np.ndarray, needed: np.ndarray, matters: bool, w: Any, eqn: Any, shape: Any) -> np.ndarray:
    """Numbers to ask about infinities with: the infinities, known numbers, and any number where it does not matter which."""
    if is_known(u):
        return np.where(bad, fill, np.broadcast_to(np.asarray(u, float), shape))
    if matters and np.any(needed):
        raise w.unsupported(eqn, "infinity times, or by, a computed number")
    return np.where(bad, fill, 1.0)


# stopped shifts


def stop(w: Any, eqn: Any, x: Any) -> Any:
    """The value behind a ``stop_gradient``."""
    if _is_base(x):
        return x
    if isinstance(x, (Partial, Shift)):
        x = w.materialise(eqn, x)
    if eqn.invars[0].aval.dtype.kind != "f":
        return x
    return Shift(np.zeros(x.shape), False, 1, Base(None, x), np.arange(x.size).reshape(x.shape))


def shift(w: Any, eqn: Any, xs: list[Any]) -> Any:
    """An equation some of whose arguments contain something stopped; ``None`` if it has to be taken for what it is."""
    name, p = eqn.primitive.name, eqn.params
    if name in MOVES or name == "convert_element_type" and eqn.outvars[0].aval.dtype.kind == "f":
        x = xs[0]
        moved = x.positions if name == "convert_element_type" else w.moved(eqn, x.positions)
        value = w.moved(eqn, x.value) if is_known(x.value) and name != "convert_element_type" else w.one(eqn, [x.value])
        return x.like(value, positions=moved)
    if name == "stop_gradient":
        return stop(w, eqn, xs[0])
    if len(xs) == 1:
        return _shift_unary(w, eqn, xs[0])
    if name == "is_finite":
        return np.ones(xs[0].shape, bool)
    if name in ("add", "sub", "add_any"):
        return _shift_sum(w, eqn, *xs)
    if name in ("mul", "div"):
        return _shift_product(w, eqn, *xs)
    if name in ("max", "min"):
        mark = -np.inf if name == "max" else np.inf
        for x, y in (xs, xs[::-1]):
            if is_known(y) and np.all(np.asarray(y) == mark) and isinstance(x, Shift):
                return x
    if name == "select_n" and is_known(xs[0]) and eqn.invars[0].aval.dtype.kind == "b":
        mask = np.asarray(xs[0])
        if mask.all() or not mask.any():
            return xs[2] if mask.all() else xs[1]
        for s, other, taken in ((xs[2], xs[1], mask), (xs[1], xs[2], ~mask)):
            # a known 0 is the exponential of minus infinity
            if isinstance(s, Shift) and s.exponential and is_known(other) and not np.any(np.where(taken, 0, other)):
                return s.like(choose(taken, s.value, np.full(s.shape, -np.inf)))
    if name == "select_n" and from_batched_choice(eqn):
        # a branch that is not taken gets its argument stopped: what is chosen from is one number
        plain = [x.base.value() if _is_base(x) else x for x in xs[1:]]
        if all(same(x, plain[0]) for x in plain):
            return plain[0]
    return None


def _is_base(x: Any) -> bool:
    return isinstance(x, Shift) and not x.exponential and x.k == 1 and is_known(x.value) and not np.any(x.value)


def _shift_unary(w: Any, eqn: Any, x: Shift) -> Any:
    name, p = eqn.primitive.name, eqn.params
    if name == "neg" and not x.exponential:
        return x.like(w.one(eqn, [x.value]) if not is_known(x.value) else -np.asarray(x.value), k=-x.k)
    if name == "is_finite":
        return np.ones(x.shape, bool)
    if name == "exp" and not x.exponential:
        return x.like(x.value, exponential=True)
    if name == "log" and x.exponential:
        return x.like(x.value, exponential=False)
    if name == "abs" and x.exponential:
        return x
    if name == "sign" and x.exponential:
        return np.ones(x.shape)
    if name in ("integer_pow", "square") and x.exponential and not isinstance(x.value, Partial):
        n = p.get("y", 2)
        return x.like(ops.mul(x.value, float(n)), k=x.k * n)
    if name == "reduce_sum" and x.exponential and isinstance(x.value, (Value, Partial)):
        axes = tuple(p["axes"])
        if not axes:
            return x
        first = tuple(slice(0, 1) if a in axes else slice(None) for a in range(len(x.shape)))
        if np.any(x.positions != x.positions[first]):
            return None
        return x.like(lanes_along("logsumexp", x.value, list(axes)), positions=x.positions[first].reshape(eqn.outvars[0].aval.shape))
    return None


def _shift_sum(w: Any, eqn: Any, x: Any, y: Any) -> Any:
    if any(isinstance(v, Shift) and v.exponential for v in (x, y)):
        return _sum_of_exponentials(w, eqn, x, y)
    sign = -1 if eqn.primitive.name == "sub" else 1
    together = _positions(x, y)
    if together is None:
        return None
    some, positions, shape = together
    k = (x.k if isinstance(x, Shift) else 0) + sign * (y.k if isinstance(y, Shift) else 0)
    u, v = (s.value if isinstance(s, Shift) else s for s in (x, y))
    if is_known(v) and not np.any(v):
        value = spread(u, shape)
    elif is_known(u) and not np.any(u):
        value = spread(v if sign == 1 else _negative(v), shape)
    else:
        value = w.binary(eqn, u, v)
    return value if k == 0 else Shift(value, False, k, some.base, positions)


def _sum_of_exponentials(w: Any, eqn: Any, x: Any, y: Any) -> Any:
    """``exp(u) + exp(v)`` with the same shift: the exponential of the logarithm of that."""
    if eqn.primitive.name == "sub" or not all(isinstance(v, Shift) and v.exponential for v in (x, y)) or x.k != y.k:
        return None
    together = _positions(x, y)
    if together is None or any(is_known(v.value) for v in (x, y)):
        return None
    some, positions, shape = together
    (u, fu), (v, fv) = (apart(w.builder, spread(s.value, shape)) for s in (x, y))
    if np.any((fu != 0) & (fu != -np.inf)) or np.any((fv != 0) & (fv != -np.inf)):
        return None
    both = ops.logsumexp(ops.stack([u, v]), 0)
    # what is 0 adds nothing
    out = choose(fu != 0, v, choose(fv != 0, u, both))
    return Shift(joined(out, np.where((fu != 0) & (fv != 0), -np.inf, 0.0)), True, x.k, some.base, positions)


def _negative(v: Any) -> Any:
    if isinstance(v, Partial):
        return Partial(ops.neg(v.value), -v.fill)
    return ops.neg(v)


def spread(x: Any, shape: Any) -> Any:
    """Over a shape."""
    if isinstance(x, Partial):
        return Partial(ops.broadcast_to(x.value, shape), np.broadcast_to(x.fill, shape))
    return ops.broadcast_to(x, shape)


def _positions(x: Any, y: Any) -> tuple[Shift, np.ndarray, tuple[int, ...]] | None:
    """What two have in common: the base and its positions."""
    shape = np.broadcast_shapes(shape_of(x), shape_of(y))
    found = [v for v in (x, y) if isinstance(v, Shift)]
    first = np.broadcast_to(found[0].positions, shape)
    if len(found) == 2:
        if not found[0].base.is_same(found[1].base) or not np.array_equal(first, np.broadcast_to(found[1].positions, shape)):
            return None
    return found[0], first, shape


def _shift_product(w: Any, eqn: Any, x: Any, y: Any) -> Any:
    """Products and quotients of exponentials, or with known positive numbers; of sums with known numbers."""
    divide = eqn.primitive.name == "div"
    if all(isinstance(v, Shift) and v.exponential for v in (x, y)):
        together = _positions(x, y)
        if together is None:
            return None
        some, positions, _ = together
        k = x.k - y.k if divide else x.k + y.k
        if not divide and any(isinstance(v.value, Partial) for v in (x, y)) or isinstance(y.value, Partial):
            return None
        value = _difference(w, x.value, y.value) if divide else ops.add(x.value, y.value)
        return _exponential(w, value) if k == 0 else Shift(value, True, k, some.base, positions)
    for s, c, left in ((x, y, True), (y, x, False)):
        if not isinstance(s, Shift) or not is_known(c) or not finite(c) or divide and not left:
            continue
        positions = np.broadcast_to(s.positions, np.broadcast_shapes(s.shape, np.shape(c)))
        c = np.asarray(c, float)
        if s.exponential and np.all(c >= 0) and np.any(c > 0) and not (divide and np.any(c == 0)):
            # 0 is the exponential of minus infinity
            factor = np.log(np.where(c > 0, c, 1.0))
            inside, fill = (s.value.value, s.value.fill) if isinstance(s.value, Partial) else (s.value, 0.0)
            scaled = (ops.sub if divide else ops.add)(inside, factor)
            fill = np.where(np.broadcast_to(c == 0, positions.shape), -np.inf, np.broadcast_to(fill, positions.shape))
            return Shift(joined(scaled, fill), True, s.k, s.base, positions)
        if not s.exponential and c.ndim == 0 and float(c) != 0 and not isinstance(s.value, Partial):
            factor = 1 / float(c) if divide else float(c)
            return Shift(ops.mul(s.value, factor), False, s.k * factor, s.base, positions)
    return None


def _difference(w: Any, x: Any, y: Any) -> Any:
    if isinstance(x, Partial) and isinstance(y, Value):
        return Partial(ops.sub(x.value, y), x.fill)
    return ops.sub(x, y)


def _exponential(w: Any, x: Any) -> Any:
    if isinstance(x, Partial):
        return choose(x.missing, np.exp(x.fill), ops.exp(x.value))
    return ops.exp(x)
