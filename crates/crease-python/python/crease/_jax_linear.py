"""The linear algebra of JAX that is made of arithmetic and roots. Nothing here imports JAX."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import _linear as linear
from . import _ops as ops
from ._jax_rules import rule
from ._jax_values import shape_of
from ._ops import Value


def _of_last(x: Any) -> Any:
    """The last two axes exchanged."""
    n = len(shape_of(x))
    return ops.transpose(x, [*range(n - 2), n - 1, n - 2])


@rule("cholesky")
def _cholesky(w: Any, p: Any, eqn: Any, x: Any) -> Any:
    return linear.cholesky(x)


@rule("triangular_solve")
def _triangular_solve(w: Any, p: Any, eqn: Any, a: Any, b: Any) -> Any:
    """``op(a) x = b`` or ``x op(a) = b``, turned until the matrix stands on the left as it is."""
    flip = not p["left_side"]
    turned = bool(p["transpose_a"]) != flip
    a = _of_last(a) if turned else a
    out = linear.triangular_solve(a, _of_last(b) if flip else b, bool(p["lower"]) != turned, bool(p["unit_diagonal"]))
    return _of_last(out) if flip else out


@rule("lu")
def _lu(w: Any, p: Any, eqn: Any, x: Value) -> Any:
    factors, pivots, order = linear.lu(x)
    rows = x.shape[-2] - 1
    return [factors, *(w.bounds.set(v, 0, rows) for v in (pivots, order))]


@rule("lu_pivots_to_permutation")
def _permutation(w: Any, p: Any, eqn: Any, pivots: Value) -> Any:
    """The order of rows that exchanges, one after the other, lead to."""
    *lead, k = pivots.shape
    n = int(p["permutation_size"])
    order: Any = ops.lift(pivots.builder, np.broadcast_to(np.arange(float(n)), (*lead, n)))
    count = np.arange(float(n))
    axis = len(lead)
    for j in range(k):
        other = ops.slice_axes(pivots, [slice(None)] * axis + [slice(j, j + 1)])
        places = ops.where(ops.equal(count, other), float(j), np.broadcast_to(count, (*lead, n)))
        places = ops.where(np.broadcast_to(count == j, (*lead, n)), ops.broadcast_to(other, (*lead, n)), places)
        order = ops.take_along_axis(order, places, axis)
    return w.bounds.set(order, 0, n - 1)


@rule("qr")
def _qr(w: Any, p: Any, eqn: Any, x: Any) -> Any:
    if p.get("pivoting"):
        raise w.unsupported(eqn, "pivots of a QR factorisation are not expressed")
    return list(linear.qr(x, bool(p["full_matrices"])))


@rule("tridiagonal_solve")
def _tridiagonal_solve(w: Any, p: Any, eqn: Any, low: Any, diagonal: Any, high: Any, b: Any) -> Any:
    return linear.tridiagonal_solve(low, diagonal, high, b)


@rule("custom_linear_solve")
def _linear_solve(w: Any, p: Any, eqn: Any, *xs: Any) -> Any:
    """What its solver computes: the derivative that JAX takes of the equation is that of the solution."""
    lengths, jaxprs = p["const_lengths"], p["jaxprs"]
    start = 0
    for name in lengths._fields:
        n = getattr(lengths, name)
        if name == "solve":
            constants = xs[start : start + n]
        start += n
    solve = jaxprs.solve
    return w.jaxpr(solve.jaxpr, solve.consts, [*constants, *xs[start:]])


@rule("approx_top_k")
def _approx_top_k(w: Any, p: Any, eqn: Any, x: Value) -> Any:
    """The best ones themselves, which is what JAX computes where there is no hardware for less."""
    axis, k = int(p["reduction_dimension"]) % x.ndim, int(p["k"])
    if int(p.get("reduction_input_size_override", -1)) != -1 or not p.get("aggregate_to_topk", True):
        raise w.unsupported(eqn, "parts of what is approximate")
    turned = ops.neg(x) if p["is_max_k"] else x
    first = [slice(0, k) if a == axis else slice(None) for a in range(x.ndim)]
    values = ops.slice_axes(ops.sort(turned, axis), first)
    places = ops.slice_axes(ops.position("argsort", turned, axis), first)
    return [ops.neg(values) if p["is_max_k"] else values, w.bounds.set(places, 0, x.shape[axis] - 1)]


@rule("householder_product")
def _householder_product(w: Any, p: Any, eqn: Any, a: Any, factors: Any) -> Any:
    return linear.householder_product(a, factors)


@rule("tridiagonal")
def _tridiagonal(w: Any, p: Any, eqn: Any, a: Any) -> Any:
    if not p["lower"]:
        raise w.unsupported(eqn, "of a matrix whose upper triangle is read")
    return list(linear.tridiagonal(a))[: len(eqn.outvars)]
