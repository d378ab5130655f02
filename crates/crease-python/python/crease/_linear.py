"""Linear systems and the factorisations that are made of arithmetic and roots alone, written out: triangular systems, Cholesky, LU with pivots, QR by reflections.

Matrices are the last two axes; all others go along. A factorisation of an n by n matrix becomes some ten equations for each column, so sizes are bounded. Eigenvalues and singular values are no
such functions, and are not here.
"""

from __future__ import annotations

from typing import Sequence

import numpy as np

from . import _ops as ops
from ._crease import CreaseError
from ._ops import Operand, Value

#: Columns that are written out at most.
MOST_COLUMNS = 64


def _bounded(n: int, what: str) -> None:
    if n > MOST_COLUMNS:
        raise CreaseError(f"{what} of {n} columns is too large to be written out; {MOST_COLUMNS} is the most")


def part(x: Operand, rows: slice, columns: slice) -> Operand:
    """A block of the last two axes."""
    return ops.slice_axes(x, [slice(None)] * (len(ops.shape_of(x)) - 2) + [rows, columns])


def _swapped(x: Operand) -> Operand:
    """The last two axes exchanged."""
    n = len(ops.shape_of(x))
    return ops.transpose(x, [*range(n - 2), n - 1, n - 2])


def _joined(parts: Sequence[Operand], axis: int) -> Operand:
    return parts[0] if len(parts) == 1 else ops.concatenate(parts, axis % len(ops.shape_of(parts[0])))


def cholesky(x: Operand) -> Operand:
    """The lower triangle L with L Lᵀ = x, of which the lower triangle is read."""
    shape = ops.shape_of(x)
    n = shape[-1]
    _bounded(n, "a Cholesky factorisation")
    columns = []
    for j in range(n):
        m = n - j
        root = ops.sqrt(part(x, slice(0, 1), slice(0, 1)))
        column: Operand = root
        if m > 1:
            below = ops.div(part(x, slice(1, None), slice(0, 1)), root)
            column = _joined([root, below], -2)
            x = ops.sub(part(x, slice(1, None), slice(1, None)), ops.mul(below, _swapped(below)))
        columns.append(_joined([np.zeros((*shape[:-2], j, 1)), column], -2) if j else column)
    return _joined(columns, -1)


def triangular_solve(a: Operand, b: Operand, lower: bool, unit: bool = False) -> Operand:
    """x with a x = b, where one triangle of a is read, and its diagonal unless it is 1."""
    n = ops.shape_of(a)[-1]
    _bounded(n, "a triangular system")
    rows: list[Operand] = []
    for i in range(n):
        # the next row to be known is the first, or the last
        first = slice(0, 1) if lower else slice(n - i - 1, n - i)
        rest = slice(1, None) if lower else slice(0, n - i - 1)
        row = part(b, first, slice(None))
        if not unit:
            row = ops.div(row, part(a, first, first))
        rows.append(row)
        if i + 1 < n:
            b = ops.sub(part(b, rest, slice(None)), ops.mul(part(a, rest, first), row))
            a = part(a, rest, rest) if lower else a
    return _joined(rows if lower else rows[::-1], -2)


def lu(x: Value) -> tuple[Operand, Operand, Operand]:
    """L (below the diagonal) and U in one matrix; for each column the row that was its pivot, the first of the largest; and the order of the rows."""
    *lead, m, n = x.shape
    k = min(m, n)
    _bounded(k, "an LU factorisation")
    b = x.builder
    order: Operand = ops.lift(b, np.broadcast_to(np.arange(float(m))[:, None], (*lead, m, 1)))
    pivots = []
    for j in range(k):
        # the rows from j on, all of their columns: those before hold the factors that were found
        size = m - j
        column = part(x, slice(j, None), slice(j, j + 1))
        if size > 1:
            best = ops.position("argmax", ops.absolute(ops.reshape(column, [*lead, size])), len(lead))
            best = ops.reshape(best, [*lead, 1, 1])
            count = np.arange(float(size))[:, None]
            places = ops.where(ops.equal(count, best), 0.0, np.broadcast_to(count, (*lead, size, 1)))
            places = ops.where(np.broadcast_to(count == 0, (*lead, size, 1)), ops.broadcast_to(best, (*lead, size, 1)), places)
            pivots.append(ops.add(ops.reshape(best, [*lead, 1]), float(j)))
            axis = len(lead)
            moved = [ops.take_along_axis(part(v, slice(j, None), slice(None)), ops.broadcast_to(places, (*lead, size, ops.shape_of(v)[-1])), axis) for v in (x, order)]
            x, order = (_joined([part(v, slice(0, j), slice(None)), w], -2) if j else w for v, w in zip((x, order), moved))
            below = ops.div(part(x, slice(j + 1, None), slice(j, j + 1)), part(x, slice(j, j + 1), slice(j, j + 1)))
            pieces = [part(x, slice(j + 1, None), slice(0, j))] if j else []
            pieces.append(below)
            if j + 1 < n:
                pieces.append(ops.sub(part(x, slice(j + 1, None), slice(j + 1, None)), ops.mul(below, part(x, slice(j, j + 1), slice(j + 1, None)))))
            x = _joined([part(x, slice(0, j + 1), slice(None)), _joined(pieces, -1)], -2)
        else:
            pivots.append(np.full((*lead, 1), float(j)))
    return x, _joined(pivots, -1), ops.reshape(order, [*lead, m])


def qr(x: Operand, full: bool) -> tuple[Operand, Operand]:
    """Q and R by reflections, with the signs of LAPACK: a diagonal element of R has the opposite sign of what it replaces, except in the last row."""
    *lead, m, n = ops.shape_of(x)
    k = min(m, n)
    _bounded(k, "a QR factorisation")
    q: Operand = np.broadcast_to(np.eye(m), (*lead, m, m))
    for j in range(k if m > n else m - 1):
        column = part(x, slice(j, None), slice(j, j + 1))
        head = part(column, slice(0, 1), slice(None))
        length = ops.reshape(ops.lanes("norm2", ops.reshape(column, [*lead, m - j]), -1), [*lead, 1, 1])
        beta = ops.where(ops.less(head, 0.0), length, ops.neg(length))
        v = _joined([ops.sub(head, beta), part(column, slice(1, None), slice(None))], -2)
        scale = ops.div(2.0, ops.sum(ops.square(v), [len(lead)], True))
        rows = part(x, slice(j, None), slice(None))
        rows = ops.sub(rows, ops.mul(ops.mul(scale, v), ops.matmul(_swapped(v), rows)))
        x = _joined([part(x, slice(0, j), slice(None)), rows], -2) if j else rows
        columns = part(q, slice(None), slice(j, None))
        columns = ops.sub(columns, ops.mul(ops.matmul(columns, v), _swapped(ops.mul(scale, v))))
        q = _joined([part(q, slice(None), slice(0, j)), columns], -1) if j else columns
    rows_kept = m if full else k
    upper = np.arange(rows_kept)[:, None] <= np.arange(n)[None, :]
    r = ops.where(np.broadcast_to(upper, (*lead, rows_kept, n)), part(x, slice(0, rows_kept), slice(None)), 0.0)
    return (q if full else part(q, slice(None), slice(0, k))), r


def tridiagonal_solve(low: Operand, diagonal: Operand, high: Operand, b: Operand) -> Operand:
    """x of a system whose matrix has three diagonals, without pivots; the first of the lower and the last of the upper one are not read."""
    n = ops.shape_of(b)[-2]
    _bounded(n, "a tridiagonal system")
    at = lambda v, i: ops.reshape(ops.slice_axes(v, [slice(None)] * (len(ops.shape_of(v)) - 1) + [slice(i, i + 1)]), [*ops.shape_of(v)[:-1], 1, 1])  # noqa: E731
    ratios, rows = [], []
    for i in range(n):
        d, row = at(diagonal, i), part(b, slice(i, i + 1), slice(None))
        if i:
            d = ops.sub(d, ops.mul(at(low, i), ratios[-1]))
            row = ops.sub(row, ops.mul(at(low, i), rows[-1]))
        rows.append(ops.div(row, d))
        if i + 1 < n:
            ratios.append(ops.div(at(high, i), d))
    for i in range(n - 2, -1, -1):
        rows[i] = ops.sub(rows[i], ops.mul(ratios[i], rows[i + 1]))
    return _joined(rows, -2)


def householder_product(a: Operand, factors: Operand) -> Operand:
    """The first columns of a product of reflections, whose vectors stand below the diagonal of a."""
    *lead, m, n = ops.shape_of(a)
    k = ops.shape_of(factors)[-1]
    _bounded(k, "a product of reflections")
    q: Operand = np.broadcast_to(np.eye(m, n), (*lead, m, n))
    for i in reversed(range(k)):
        v = _reflection(a, i, i)
        factor = ops.reshape(ops.slice_axes(factors, [slice(None)] * len(lead) + [slice(i, i + 1)]), [*lead, 1, 1])
        q = ops.sub(q, ops.mul(ops.mul(factor, v), ops.matmul(_swapped(v), q)))
    return q


def _reflection(a: Operand, i: int, column: int) -> Operand:
    """The vector (0, ..., 0, 1, what stands below row i of a column)."""
    *lead, m, _ = ops.shape_of(a)
    head = np.zeros((*lead, i + 1, 1))
    head[..., i, 0] = 1.0
    if i + 1 == m:
        return head
    return _joined([head, part(a, slice(i + 1, None), slice(column, column + 1))], -2)


def tridiagonal(a: Operand) -> tuple[Operand, Operand, Operand, Operand]:
    """A symmetric matrix, of which the lower triangle is read, by reflections from both sides: what LAPACK packs into it, the diagonal, the one below, and the factors of the reflections."""
    *lead, n, _ = ops.shape_of(a)
    _bounded(n, "a reduction to three diagonals")
    lower = np.broadcast_to(np.tril(np.ones((n, n), bool)), (*lead, n, n))
    rest: Operand = ops.where(lower, a, _swapped(a))
    columns, diagonal, below, factors = [], [], [], []
    for i in range(n):
        size = n - i
        head = part(rest, slice(0, 1), slice(0, 1))
        diagonal.append(head)
        above = [part(a, slice(0, i), slice(i, i + 1))] if i else []
        if size == 1:
            columns.append(_joined([*above, head], -2))
            break
        alpha = part(rest, slice(1, 2), slice(0, 1))
        inner = part(rest, slice(1, None), slice(1, None))
        if size == 2:
            below.append(alpha)
            factors.append(np.zeros((*lead, 1, 1)))
            columns.append(_joined([*above, head, alpha], -2))
            rest = inner
            continue
        x = part(rest, slice(1, None), slice(0, 1))
        length = ops.reshape(ops.lanes("norm2", ops.reshape(x, [*lead, size - 1]), -1), [*lead, 1, 1])
        beta = ops.where(ops.less(alpha, 0.0), length, ops.neg(length))
        factor = ops.div(ops.sub(beta, alpha), beta)
        tail = ops.div(part(rest, slice(2, None), slice(0, 1)), ops.sub(alpha, beta))
        v = _joined([np.ones((*lead, 1, 1)), tail], -2)
        p = ops.mul(factor, ops.matmul(inner, v))
        w = ops.sub(p, ops.mul(ops.mul(ops.mul(0.5, factor), ops.matmul(_swapped(p), v)), v))
        rest = ops.sub(inner, ops.add(ops.matmul(v, _swapped(w)), ops.matmul(w, _swapped(v))))
        below.append(beta)
        factors.append(factor)
        columns.append(_joined([*above, head, beta, tail], -2))
    flat = lambda parts: ops.reshape(_joined(parts, -1), [*lead, len(parts)])  # noqa: E731
    return _joined(columns, -1), flat(diagonal), flat(below), flat(factors)
