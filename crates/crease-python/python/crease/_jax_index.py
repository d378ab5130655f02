"""Reading and writing at positions: gather, scatter and slices whose start is computed.

Where indices are known, JAX itself says which number goes where: its own gather is run on the positions. Where they are computed, positions are numbers of the program, and one
flat index is made of them.
"""

from __future__ import annotations

import math
from typing import Any, Sequence

import numpy as np

from . import _ops as ops
from ._jax_compat import gather_numbers
from ._jax_rules import choose, rule, window_rows
from ._jax_values import MOST_POSITIONS, Partial, is_known, pick, pick_or, rows_of_lanes, shape_of, without_value
from ._ops import Operand, Value

_FILL, _CLIP = "FILL_OR_DROP", "CLIP"


def _gathered(shape: Sequence[int], indices: np.ndarray, numbers: Any, sizes: Sequence[int], mode: Any) -> np.ndarray:
    """The positions that JAX's gather reads, -1 beside."""
    import jax

    with jax.ensure_compile_time_eval():
        positions = np.arange(math.prod(shape), dtype=np.int32).reshape(shape)
        out = jax.lax.gather(positions, np.asarray(indices), numbers, tuple(int(n) for n in sizes), mode=mode, fill_value=-1)
    return np.asarray(out).astype(np.int64)


def positions_of(w: Any, eqn: Any, shape: Sequence[int], indices: Operand, numbers: Any, sizes: Sequence[int], mode: Any):
    """Where each number is read or written: known positions, -1 beside; or computed ones, with whether they are inside if that is not sure."""
    if is_known(indices):
        return _gathered(shape, np.asarray(indices), numbers, sizes, mode), None
    if math.prod(shape) > MOST_POSITIONS:
        raise w.unsupported(eqn, f"a computed position among more than {MOST_POSITIONS} numbers")
    # as if all indices were 0, then how far the computed ones move that
    known = _gathered(shape, np.zeros(indices.shape, np.int32), numbers, sizes, mode)
    strides = [math.prod(shape[a + 1 :]) for a in range(len(shape))]
    moved: Operand = 0.0
    valid: Operand = np.array(True)
    for k, axis in enumerate(numbers.start_index_map):
        part = ops.slice_axes(indices, [slice(None)] * (indices.ndim - 1) + [slice(k, k + 1)])
        part = ops.reshape(part, indices.shape[:-1])
        most = shape[axis] - sizes[axis]
        ends = w.bounds.get(indices)
        if ends is None or ends[0] < 0 or ends[1] > most:
            if _FILL in str(mode):
                inside = ops.logical_and(ops.greater_equal(part, 0.0), ops.less_equal(part, float(most)))
                valid = inside if is_known(valid) else ops.logical_and(valid, inside)
            part = ops.minimum(ops.maximum(part, 0.0), float(most))
        step = part if strides[axis] == 1 else ops.mul(part, float(strides[axis]))
        moved = step if is_known(moved) else ops.add(moved, step)
    offsets = set(numbers.offset_dims)
    rank = known.ndim
    lead = iter(shape_of(moved))
    place = [1 if a in offsets else next(lead) for a in range(rank)]
    spread = lambda x: ops.broadcast_to(ops.reshape(x, place), known.shape)  # noqa: E731
    position = ops.add(spread(moved), known.astype(float)) if np.any(known) else spread(moved)
    return position, None if is_known(valid) else spread(valid)


def read(w: Any, x: Operand, position: Any, valid: Any, fill: Any) -> Any:
    """The numbers at positions."""
    if isinstance(position, np.ndarray):
        if np.any(position < 0) and not np.isfinite(float(np.asarray(fill))):
            return Partial(pick_or(x, position, 0.0), np.where(position < 0, float(np.asarray(fill)), 0.0))
        return pick_or(x, position, fill)
    b = position.builder
    flat = ops.reshape(ops.lift(b, x), [math.prod(shape_of(x))])
    out = ops.take(flat, position, 0)
    if isinstance(x, Value) and x.truth:
        out = ops.truth(out)
    if valid is None:
        return out
    beside = without_value(b) if not np.isfinite(float(np.asarray(fill))) else fill
    return ops.where(valid, out, beside)


@rule("gather")
def _gather(w, p, eqn, x, indices):
    position, valid = positions_of(w, eqn, shape_of(x), indices, p["dimension_numbers"], p["slice_sizes"], p["mode"])
    fill = p["fill_value"]
    if fill is None:
        fill = np.nan if eqn.invars[0].aval.dtype.kind == "f" else np.iinfo(eqn.invars[0].aval.dtype).min if eqn.invars[0].aval.dtype.kind == "i" else 0
    if is_known(x) and isinstance(position, np.ndarray):
        raise AssertionError("known things are folded before")
    return read(w, x, position, valid, fill)


@rule("dynamic_slice")
def _dynamic_slice(w, p, eqn, x, *starts):
    position = slice_positions(w, eqn, shape_of(x), p["slice_sizes"], starts[: len(shape_of(x))])
    return read(w, x, position, None, 0.0)


def slice_positions(w, eqn, shape, sizes, starts):
    """The positions of a part that begins somewhere; a start that goes too far is moved back."""
    positions = np.arange(math.prod(shape)).reshape(shape)
    if all(is_known(s) for s in starts):
        begin = [min(max(int(s), 0), n - m) for s, n, m in zip(starts, shape, sizes)]
        return positions[tuple(slice(a, a + m) for a, m in zip(begin, sizes))]
    if positions.size > MOST_POSITIONS:
        raise w.unsupported(eqn, f"a computed position among more than {MOST_POSITIONS} numbers")
    known = positions[tuple(slice(0, m) for m in sizes)].astype(float)
    moved: Operand = 0.0
    for a, s in enumerate(starts):
        most, stride = shape[a] - sizes[a], math.prod(shape[a + 1 :])
        if is_known(s):
            part: Operand = float(min(max(int(s), 0), most) * stride)
        else:
            ends = w.bounds.get(s)
            if ends is None or ends[0] < 0 or ends[1] > most:
                s = ops.minimum(ops.maximum(s, 0.0), float(most)) if most else 0.0
            part = s if stride == 1 else ops.mul(s, float(stride))
        moved = part if is_known(moved) and float(np.asarray(moved)) == 0.0 else ops.add(moved, part)
    if is_known(moved):
        return (known + float(np.asarray(moved))).astype(int)
    return ops.add(ops.broadcast_to(moved, known.shape), known) if np.any(known) else ops.broadcast_to(moved, known.shape)


@rule("dynamic_update_slice")
def _dynamic_update_slice(w, p, eqn, x, update, *starts):
    position = slice_positions(w, eqn, shape_of(x), shape_of(update), starts)
    return write(w, eqn, x, update, position, None, True)


def write(w, eqn, x, update, position, valid, unique):
    """Numbers put into x at positions. Where they are known, and there are several, the last one stays."""
    shape = shape_of(x)
    size = math.prod(shape)
    b = ops.builder_of(*(v for v in (x, update, position) if isinstance(v, Value)))
    if isinstance(position, np.ndarray):
        table = np.arange(size)
        inside = position.ravel() >= 0
        table[position.ravel()[inside]] = size + np.nonzero(inside)[0]
        if np.all(table >= size):
            return pick(ops.lift(b, update), (table - size).reshape(shape))
        x, update = ops.lift(b, x), ops.lift(b, update)
        both = Value(b, b.concat([b.reshape(x.handle, [size]), b.reshape(update.handle, [update.size])], 0), x.truth and update.truth)
        return pick(both, table.reshape(shape))
    if not unique:
        raise w.unsupported(eqn, "numbers put at computed positions that may be the same; say unique_indices=True, or add them")
    many = position.size
    ones: Operand = np.ones(many)
    flat = ops.reshape(position, [many])
    update = ops.reshape(ops.broadcast_to(update, position.shape), [many])
    if valid is not None:
        inside = ops.reshape(valid, [many])
        update, ones = ops.where(inside, update, 0.0), ops.where(inside, 1.0, 0.0)
    put = lambda v: ops.reshape(Value(b, b.add_along(ops.lift(b, v).handle, flat.handle, 0, size)), shape)  # noqa: E731
    taken = ops.greater(put(ones), 0.5)
    return choose(taken, put(update), x)


def _scatter_numbers(eqn, p, x, updates):
    d = p["dimension_numbers"]
    numbers = gather_numbers(
        offset_dims=d.update_window_dims,
        collapsed_slice_dims=d.inserted_window_dims,
        start_index_map=d.scatter_dims_to_operand_dims,
        operand_batching_dims=d.operand_batching_dims,
        start_indices_batching_dims=d.scatter_indices_batching_dims,
    )
    gone = set(d.inserted_window_dims) | set(d.operand_batching_dims)
    window = iter(shape_of(updates)[a] for a in d.update_window_dims)
    sizes = [1 if a in gone else next(window) for a in range(len(shape_of(x)))]
    return numbers, sizes


def _single(w, p, indices, updates):
    """Whether no number can be written twice: one window, or indices that are promised to be different."""
    windows = math.prod(shape_of(indices)[:-1])
    return windows == 1 or p["unique_indices"]


@rule("scatter", "scatter-add", "scatter-sub", "scatter-mul", "scatter-min", "scatter-max")
def _scatter(w, p, eqn, x, indices, updates):
    name = eqn.primitive.name
    numbers, sizes = _scatter_numbers(eqn, p, x, updates)
    position, valid = positions_of(w, eqn, shape_of(x), indices, numbers, sizes, p["mode"])
    if name == "scatter":
        put = p["update_jaxpr"]
        if put is not None and (put.eqns or put.outvars[0] is not put.invars[1]):
            raise w.unsupported(eqn, "a function of your own at indices; read, apply it, and write")
        return write(w, eqn, x, updates, position, valid, _single(w, p, indices, updates))
    if name in ("scatter-add", "scatter-sub"):
        added = add_at(w, shape_of(x), updates, position, valid)
        if name == "scatter-sub":
            return ops.sub(x, added)
        return added if is_known(x) and not np.any(np.asarray(x)) else ops.add(x, added)
    f = {"scatter-mul": ops.mul, "scatter-min": ops.minimum, "scatter-max": ops.maximum}[name]
    if not isinstance(position, np.ndarray):
        if not _single(w, p, indices, updates):
            raise w.unsupported(eqn, "computed positions that may be the same")
        old = read(w, x, position, None, 0.0)
        return write(w, eqn, x, f(old, updates), position, valid, True)
    b = ops.builder_of(*(v for v in (x, updates) if isinstance(v, Value)))
    flat = position.ravel()
    if name != "scatter-mul":
        return extremes_at(w, eqn, b, name.removeprefix("scatter-"), x, ops.lift(b, updates), flat)
    # in rounds, in each of which no position comes twice
    x, updates = ops.lift(b, x), ops.lift(b, updates)
    left = np.nonzero(flat >= 0)[0]
    while left.size:
        _, first = np.unique(flat[left], return_index=True)
        now = left[np.sort(first)]
        x = write(w, eqn, x, f(pick(x, flat[now]), pick(updates, now)), flat[now], None, True)
        left = np.setdiff1d(left, now)
    return x


def extremes_at(w, eqn, b, name, x, updates, flat):
    """The largest or smallest of what is at each position and of all that comes there: one group for each."""
    shape = shape_of(x)
    size = math.prod(shape)
    held, fill = special_parts(x)
    base = ops.reshape(ops.lift(b, held), [size])
    both = Value(b, b.concat([base.handle, b.reshape(updates.handle, [updates.size])], 0))
    mark = -np.inf if name == "max" else np.inf
    if np.any((fill != 0) & (fill != mark)):
        raise w.unsupported(eqn, "the wrong infinity, or NaN, takes part")
    groups: list[list[int]] = [[] if fill.ravel()[i] != 0 else [i] for i in range(size)]
    for u, at in enumerate(flat):
        if at >= 0:
            groups[at].append(size + u)
    nothing = np.array([not g for g in groups]).reshape(shape)
    longest = max(1, max(len(g) for g in groups))
    rows = np.full((size, longest), -1)
    for i, g in enumerate(groups):
        rows[i, : max(1, len(g))] = g or [i]
    out = ops.reshape(rows_of_lanes(name, both, rows), shape)
    return Partial(out, np.where(nothing, mark, 0.0)) if nothing.any() else out


def special_parts(x):
    """Numbers with 0 for what is not finite, and what is not."""
    if not is_known(x):
        return x, np.zeros(shape_of(x))
    a = np.asarray(x, float)
    bad = ~np.isfinite(a)
    return np.where(bad, 0.0, a), np.where(bad, a, 0.0)


def add_at(w, shape, updates, position, valid):
    """Zeros with numbers added at positions."""
    size = math.prod(shape)
    if isinstance(position, np.ndarray):
        flat = position.ravel()
        if is_known(updates):
            return _known_add(updates, flat, shape)
        inside = flat >= 0
        if not inside.any():
            return np.zeros(shape)
        part = ops.reshape(updates, [updates.size])
        if not inside.all():
            part = pick(part, np.nonzero(inside)[0])
        return ops.add_at(part, flat[inside], shape)
    b = position.builder
    many = position.size
    update = ops.reshape(ops.broadcast_to(updates, position.shape), [many])
    if valid is not None:
        update = ops.where(ops.reshape(valid, [many]), update, 0.0)
    flat = ops.reshape(position, [many])
    return ops.reshape(Value(b, b.add_along(ops.lift(b, update).handle, flat.handle, 0, size)), shape)


def _known_add(updates, flat, shape):
    out = np.zeros(math.prod(shape))
    inside = flat >= 0
    np.add.at(out, flat[inside], np.asarray(updates, float).ravel()[inside])
    return out.reshape(shape)


def _chosen(w, eqn, p, select, operand):
    """For each number of windows that hold equally many: which windows those are, their members, and where among them the first best one is."""
    rows, out = window_rows(shape_of(operand), p)
    counts = (rows >= 0).sum(axis=1)
    if np.any(counts == 0):
        raise w.unsupported(eqn, "a window without numbers")
    found = []
    for count in np.unique(counts):
        which = np.nonzero(counts == count)[0]
        members = np.stack([r[r >= 0] for r in rows[which]])
        where = ops.position("argmax" if select in ("ge", "gt") else "argmin", pick(operand, members), 1)
        found.append((which, members, ops.reshape(where, [len(which), 1])))
    return found, out


def _scattered(w, eqn, p, select, source, operand):
    b = ops.builder_of(*(v for v in (source, operand) if isinstance(v, Value)))
    source, operand = ops.lift(b, source), ops.lift(b, operand)
    parts, places = [], []
    for which, members, where in _chosen(w, eqn, p, select, operand)[0]:
        there = ops.take_along_axis(ops.lift(b, members.astype(float)), where, 1)
        places.append(ops.reshape(there, [len(which)]))
        parts.append(pick(ops.reshape(source, [source.size]), which))
    flat, positions = ops.concatenate(parts, 0), ops.concatenate(places, 0)
    return ops.reshape(Value(b, b.add_along(flat.handle, positions.handle, 0, operand.size)), operand.shape)


@rule("select_and_scatter_add")
def _select_and_scatter_add(w, p, eqn, source, operand):
    """What the derivative of a pool of maxima does: each number goes to the first place of its window that is largest."""
    return _scattered(w, eqn, p, p["select_prim"].name, source, operand)


@rule("select_and_scatter")
def _select_and_scatter(w, p, eqn, operand, source, start):
    """The same, as a general operation: it is taken if it picks the largest or smallest, and adds."""
    names = lambda jaxpr: [e.primitive.name for e in getattr(jaxpr, "jaxpr", jaxpr).eqns]  # noqa: E731
    select, scatter = names(p["select_jaxpr"]), names(p["scatter_jaxpr"])
    if select not in (["ge"], ["le"]) or scatter not in (["add"], ["add_any"]):
        raise w.unsupported(eqn, "functions of your own in windows")
    return ops.add(_scattered(w, eqn, p, select[0], source, operand), start)


@rule("select_and_gather_add")
def _select_and_gather_add(w, p, eqn, tangents, operand):
    """The tangent of a pool of maxima: that of the first place of each window that is largest."""
    b = ops.builder_of(*(v for v in (tangents, operand) if isinstance(v, Value)))
    tangents, operand = ops.lift(b, tangents), ops.lift(b, operand)
    found, out = _chosen(w, eqn, p, p["select_prim"].name, operand)
    parts = [ops.reshape(ops.take_along_axis(pick(tangents, members), where, 1), [len(which)]) for which, members, where in found]
    back = np.empty(math.prod(out), int)
    back[np.concatenate([which for which, _, _ in found])] = np.arange(back.size)
    return ops.reshape(pick(ops.concatenate(parts, 0), back), out)
