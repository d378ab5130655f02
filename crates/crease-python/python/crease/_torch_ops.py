"""The operators of PyTorch on single numbers, on groups of them and on their places, as equations of crease.

A handler is called with what stands in the node, in the order of the operator's schema: values of the program, and what is known as NumPy arrays (floats in double precision, which
is exact) and Python numbers. It is registered under the name of its operator, `aten.add` for all overloads or `aten.max.dim` for one, and returns values, known
arrays, or a tuple of such. Layers and losses are in :mod:`crease._torch_nn`; how a graph is walked is in :mod:`crease._torch`.

Three things are peculiar. *Moves*, operators that only place numbers elsewhere, are run by PyTorch itself on positions. *Infinities* that mask numbers away stay outside of the
program: a :class:`Masked` knows where they are. *Ties*: an operator is built such that the preset ``torch`` picks at its kinks what PyTorch picks, so `clamp` is a `where`
whose inner branch holds at its ends, and `max(dim)`, which follows one index, is a maximum whose weight goes to the first of equals (:mod:`crease._ties`).
"""

from __future__ import annotations

import functools
import math
from typing import Any, Callable, Sequence

import numpy as np

from . import _ops as ops
from ._crease import Builder, CreaseError
from ._ops import Operand, Value

Handler = Callable[..., Any]
HANDLERS: dict[str, Handler] = {}
TAKES_MASKED: set[str] = set()
NEEDS_PLACE: set[str] = set()


class At:
    """What is known of the result of a node: shapes and kinds of numbers, and the operator."""

    __slots__ = ("val", "target")

    def __init__(self, val: Any, target: Any):
        self.val, self.target = val, target

    @property
    def shape(self) -> tuple[int, ...]:
        if not all(isinstance(n, int) for n in self.val.shape):
            raise CreaseError("the shape of a result depends on numbers")
        return tuple(self.val.shape)

    @property
    def dtype(self) -> Any:
        return self.val.dtype


class Masked:
    """A value with infinities at known places, all of one sign, where the value itself is 0 or whatever."""

    __slots__ = ("value", "holes", "sign")

    def __init__(self, value: Value, holes: np.ndarray, sign: float):
        self.value, self.holes, self.sign = value, holes, sign

    @property
    def shape(self) -> tuple[int, ...]:
        return self.value.shape


class Refused:
    """A second result that cannot be expressed: an error if it is used."""

    def __init__(self, why: str):
        self.why = why


class Later:
    """A second result that is made if it is used."""

    def __init__(self, make: Callable[[], Any]):
        self.make = make


def op(*names: str, masked: bool = False, at: bool = False) -> Callable[[Handler], Handler]:
    """Registers a handler. `masked`: it takes masked values. `at`: its first argument is an :class:`At`."""

    def register(f: Handler) -> Handler:
        for name in names:
            HANDLERS[f"aten.{name}"] = f
            if masked:
                TAKES_MASKED.add(f"aten.{name}")
            if at:
                NEEDS_PLACE.add(f"aten.{name}")
        return f

    return register


def handler_name(target: Any) -> str | None:
    """Under which name an operator has a handler; the functional one's for an operator in place."""
    full = str(target)
    packet = full.rpartition(".")[0]
    overload = full[len(packet) :]
    for name in (full, packet):
        if name in HANDLERS:
            return name
    if packet.endswith("_") and not packet.endswith("__"):
        for name in (packet[:-1] + overload, packet[:-1]):
            if name in HANDLERS:
                return name
    return None


# what is infinite


def split(x: Any) -> tuple[Operand, np.ndarray | None, float]:
    """A finite part, where it is infinite, and with which sign."""
    if isinstance(x, Masked):
        return x.value, x.holes, x.sign
    if isinstance(x, Value):
        return x, None, 0.0
    a = np.asarray(x)
    if a.dtype.kind != "f" or np.isfinite(a).all():
        return x, None, 0.0
    holes = np.isinf(a)
    signs = np.unique(np.sign(a[holes]))
    if np.isnan(a).any() or len(signs) != 1:
        raise CreaseError("a constant that is NaN, or infinite with both signs, takes part in the program")
    return np.where(holes, 0.0, a), holes, float(signs[0])


def masked(value: Operand, holes: np.ndarray | None, sign: float) -> Any:
    """The opposite of :func:`split`."""
    if holes is None or not holes.any():
        return value
    holes = np.broadcast_to(holes, ops.shape_of(value))
    return Masked(value, holes, sign) if isinstance(value, Value) else np.where(holes, sign * np.inf, value)


def _sum_of(x: Any, y: Any, turn: float) -> Any:
    """x + y, or x - y."""
    (a, hx, sx), (b, hy, sy) = split(x), split(y)
    value = ops.add(a, b) if turn > 0 else ops.sub(a, b)
    if hx is None and hy is None:
        return value
    sy *= turn
    if hx is not None and hy is not None and sx != sy:
        raise CreaseError("infinities of both signs are added")
    shape = ops.shape_of(value)
    holes = np.zeros(shape, bool)
    for h in (hx, hy):
        if h is not None:
            holes |= np.broadcast_to(h, shape)
    return masked(value, holes, sx if hx is not None else sy)


def _scaled(x: Any, y: Any, f: Callable[[Operand, Operand], Operand]) -> Any:
    """A product or a quotient; what is infinite may be scaled by known numbers of one sign."""
    a, hx, sx = split(x)
    if hx is None:
        if split(y)[1] is not None:
            raise CreaseError("a number that is computed is multiplied with infinity, or divided by it")
        return f(a, y)
    if not ops.known(y) or isinstance(y, Masked):
        raise CreaseError("infinity is scaled by a number that is computed")
    signs = np.unique(np.sign(np.asarray(y)))
    if len(signs) != 1 or signs[0] == 0:
        raise CreaseError("infinity is scaled by 0, or by numbers of both signs")
    return masked(f(a, y), np.broadcast_to(hx, np.broadcast_shapes(np.shape(hx), np.shape(y))), sx * float(signs[0]))


# moves: PyTorch moves positions, and the numbers follow


def move(at: At, f: Callable[..., Any], data: Sequence[Any], fill: float = 0.0) -> Any:
    """The result of an operator that only moves numbers: `f` is called with arrays of positions for `data`, counted from 1; what is 0 in its result is `fill`."""
    import torch

    sources, holes, signs, offset = [], [], set(), 1
    positions = []
    for x in data:
        a, h, sign = split(x)
        shape = ops.shape_of(a)
        n = math.prod(shape)
        positions.append(torch.arange(offset, offset + n, dtype=torch.float64).reshape(shape))
        sources.append(a)
        holes.append(np.zeros(n, bool) if h is None else np.broadcast_to(h, shape).ravel())
        if h is not None:
            signs.add(sign)
        offset += n
    if math.isinf(fill):
        signs.add(math.copysign(1.0, fill))
    if len(signs) > 1:
        raise CreaseError("infinities of both signs come together")
    with torch.no_grad():
        out = f(*positions)
    hollow = np.concatenate([[math.isinf(fill)], *holes]) if signs else None
    sign = signs.pop() if signs else 0.0

    def one(where: Any) -> Any:
        where = where.numpy().astype(np.int64)
        value = _placed(sources, where, 0.0 if math.isinf(fill) else fill)
        return value if hollow is None else masked(value, hollow[where], sign)

    return tuple(one(w) for w in out) if isinstance(out, (list, tuple)) else one(out)


def _placed(sources: Sequence[Operand], where: np.ndarray, fill: float) -> Operand:
    """Numbers from their positions among all sources, counted from 1; `fill` for 0."""
    starts = np.cumsum([1, *(math.prod(ops.shape_of(s)) for s in sources)])
    used = [i for i in range(len(sources)) if ((where >= starts[i]) & (where < starts[i + 1])).any()]
    filled = bool((where == 0).any())
    if all(ops.known(sources[i]) for i in used):
        flat = np.concatenate([[fill], *(np.ravel(np.asarray(s, float)) if ops.known(s) else np.zeros(s.size) for s in sources)])
        return flat[where]
    if where.size == 0:
        raise CreaseError("crease has no arrays without elements")
    if len(used) == 1 and not filled:
        return mapped(sources[used[0]], where - starts[used[0]])
    b = ops.builder_of(*sources)
    if len(used) == 1 and fill == 0.0:
        inside = np.nonzero(where.ravel())[0]
        part = mapped(sources[used[0]], where.ravel()[inside] - starts[used[0]])
        return ops.add_at(part, inside, where.shape)
    new = np.zeros(starts[-1], np.int64)
    parts, offset = [], 0
    for i in used:
        v = ops.lift(b, sources[i])
        parts.append(b.reshape(v.handle, [v.size]))
        new[starts[i] : starts[i + 1]] = np.arange(offset, offset + v.size)
        offset += v.size
    if filled:
        parts.append(b.constant(float(fill)))
        new[0] = offset
    truth = not filled and all(isinstance(sources[i], Value) and sources[i].truth for i in used)
    joined = Value(b, b.concat(parts, 0) if len(parts) > 1 else parts[0], truth)
    return ops.table(joined, new[where])


def mapped(x: Value, where: np.ndarray) -> Value:
    """An index map, by strides if it is one of strides."""
    start = int(where.ravel()[0])
    strides = [int(np.take(where, 1, axis).ravel()[0]) - start if n > 1 else 0 for axis, n in enumerate(where.shape)]
    straight = np.full(where.shape, start, np.int64)
    for axis, (n, s) in enumerate(zip(where.shape, strides)):
        straight += (np.arange(n) * s).reshape([-1 if a == axis else 1 for a in range(where.ndim)])
    if not np.array_equal(straight, where):
        return ops.table(x, where)
    if where.size == x.size and np.array_equal(where.ravel(), np.arange(x.size)):
        return ops.reshape(x, where.shape)
    sizes = list(where.shape)
    if not sizes:
        sizes, strides = [1], [0]
    return Value(x.builder, x.builder.view(x.handle, start, sizes, strides, list(where.shape)), x.truth)


def tensor(x: Any) -> Any:
    """A known array for PyTorch."""
    import torch

    return torch.from_numpy(np.ascontiguousarray(x)) if isinstance(x, np.ndarray) else x


def _unmoved(xs: Any) -> Any:
    return [_unmoved(x) for x in xs] if isinstance(xs, (list, tuple)) else tensor(xs)


# of one value, with other arguments that are known
_MOVES = """select slice narrow diagonal unbind split split_with_sizes chunk tensor_split unsafe_chunk unsafe_split unsafe_split_with_sizes hsplit vsplit dsplit
    flip fliplr flipud roll rot90 tril triu repeat tile repeat_interleave unfold as_strided diag diag_embed diagflat
    movedim moveaxis swapaxes swapdims mT mH adjoint numpy_T matrix_H channel_shuffle native_channel_shuffle pixel_shuffle pixel_unshuffle
    reflection_pad1d reflection_pad2d reflection_pad3d replication_pad1d replication_pad2d replication_pad3d
    upsample_nearest1d upsample_nearest2d upsample_nearest3d _upsample_nearest_exact1d _upsample_nearest_exact2d _upsample_nearest_exact3d
    im2col select_copy slice_copy diagonal_copy unbind_copy split_copy split_with_sizes_copy as_strided_copy unfold_copy select_backward slice_backward
    combinations block_diag cartesian_prod trapezoid_ flatten_dense_tensors ravel""".split()


@op(*_MOVES, masked=True, at=True)
def _move_one(at: At, x: Any, *args: Any, **kwargs: Any) -> Any:
    if isinstance(x, (list, tuple)):
        return move(at, lambda *p: at.target(list(p), *_unmoved(args), **kwargs), x)
    if len(args) > 1 and isinstance(args[1], Value):
        return _computed_part(at, x, *args)
    return move(at, lambda p: at.target(p, *_unmoved(args), **kwargs), [x])


def _computed_part(at: At, x: Any, dim: int, position: Value, *rest: Any) -> Operand:
    """``x.select(dim, position)`` with a position that is computed, counted from the end if it is negative."""
    if not str(at.target).startswith("aten.select.") or rest:
        raise CreaseError("where a part begins is computed; use index_select or gather")
    position = plain(position)
    n = x.shape[dim]
    position = ops.where(ops.less(position, 0.0), ops.add(position, float(n)), position)
    return ops.reshape(ops.take(plain(x), ops.reshape(position, []), dim % len(x.shape)), at.shape)


@op("item", "_local_scalar_dense")
def _item(x: Any) -> Any:
    """One number; what Python does with it must not be more than to index."""
    return ops.reshape(x, [])


@op("cat", "concat", "concatenate", "stack", "hstack", "vstack", "dstack", "column_stack", "row_stack", masked=True, at=True)
def _join(at: At, parts: Sequence[Any], *args: Any, **kwargs: Any) -> Any:
    return move(at, lambda *p: at.target(list(p), *args, **kwargs), parts)


@op("view", "reshape", "_unsafe_view", "flatten", "unflatten", "squeeze", "unsqueeze", "view_as", "reshape_as", "view_copy", "squeeze_copy", "unsqueeze_copy",
    "atleast_1d", "atleast_2d", "atleast_3d", "_reshape_alias", masked=True, at=True)
def _reshaped(at: At, x: Any, *_: Any, **__: Any) -> Any:
    a, holes, sign = split(x)
    return masked(ops.reshape(a, at.shape), None if holes is None else holes.reshape(at.shape), sign)


@op("permute", "permute_copy", masked=True)
def _permute(x: Any, order: Sequence[int]) -> Any:
    a, holes, sign = split(x)
    order = [d % a.ndim for d in order] if a.ndim else []
    return masked(ops.transpose(a, order), None if holes is None else holes.transpose(order), sign)


@op("transpose", "transpose_copy", masked=True)
def _transpose(x: Any, i: int, j: int) -> Any:
    n = len(x.shape)
    if n == 0:
        return x
    order = list(range(n))
    order[i], order[j] = order[j % n], order[i % n]
    return _permute(x, order)


@op("t", "t_copy", masked=True)
def _t(x: Any) -> Any:
    return _permute(x, list(range(len(x.shape)))[::-1])


@op("expand", "expand_as", "expand_copy", "broadcast_to", masked=True, at=True)
def _expand(at: At, x: Any, *_: Any, **__: Any) -> Any:
    a, holes, sign = split(x)
    return masked(ops.broadcast_to(a, at.shape), None if holes is None else np.broadcast_to(holes, at.shape), sign)


@op("broadcast_tensors", masked=True)
def _broadcast_tensors(xs: Sequence[Any]) -> Any:
    shape = np.broadcast_shapes(*(tuple(np.shape(x)) if ops.known(x) and not isinstance(x, Masked) else x.shape for x in xs))

    def one(x: Any) -> Any:
        a, holes, sign = split(x)
        return masked(ops.broadcast_to(a, shape), None if holes is None else np.broadcast_to(holes, shape), sign)

    return tuple(one(x) for x in xs)


@op("meshgrid", at=True)
def _meshgrid(at: At, xs: Sequence[Any], **kwargs: Any) -> Any:
    return move(at, lambda *p: at.target(list(p), **kwargs), xs)


@op("clone", "contiguous", "alias", "alias_copy", "detach", "detach_copy", "lift_fresh", "lift_fresh_copy", "positive", "conj", "resolve_conj", "resolve_neg", "real",
    "_conj", "conj_physical", "view_as_real_", masked=True)
def _same(x: Any, *_: Any, **__: Any) -> Any:
    return x


@op("_to_copy", "to", "type_as", "float", "double", "_cast_Float", "_cast_Double", masked=True, at=True)
def _cast(at: At, x: Any, *_: Any, **__: Any) -> Any:
    """Casts between floats are the identity on real numbers; to integers they cut; to truth values they ask for 0."""
    import torch

    if at.dtype == torch.bool:
        return ops.truth(plain(x))
    if at.dtype.is_complex:
        raise CreaseError("complex numbers are not expressed")
    if at.dtype.is_floating_point or isinstance(x, Value) and x.truth:
        return x
    return trunc(plain(x))


def plain(x: Any) -> Operand:
    """Not masked."""
    if isinstance(x, Masked):
        raise CreaseError("a value that is infinite where it is masked is used for something other than a softmax, a maximum or a sum of exponentials")
    return x


@op("constant_pad_nd", masked=True, at=True)
def _constant_pad(at: At, x: Any, pad: Sequence[int], value: float = 0.0) -> Any:
    return move(at, lambda p: at.target(p, pad, 0.0), [x], float(value))


@op("pad", masked=True, at=True)
def _pad(at: At, x: Any, pad: Sequence[int], mode: str = "constant", value: float | None = None) -> Any:
    return move(at, lambda p: at.target(p, pad, mode, 0.0 if mode == "constant" else None), [x], float(value or 0.0))


@op("_pad_circular", masked=True, at=True)
def _pad_circular(at: At, x: Any, pad: Sequence[int]) -> Any:
    return move(at, lambda p: at.target(p, pad), [x])


@op("fill", at=True, masked=True)
def _fill(at: At, x: Any, value: Any) -> Any:
    return ops.broadcast_to(value, at.shape)


@op("copy", "copy_", at=True, masked=True)
def _copy(at: At, x: Any, source: Any, *_: Any) -> Any:
    return _expand(at, source)


@op("zero", "zeros_like", "new_zeros", at=True, masked=True)
def _zeros(at: At, *_: Any, **__: Any) -> Any:
    return np.zeros(at.shape)


@op("ones_like", "new_ones", at=True, masked=True)
def _ones(at: At, *_: Any, **__: Any) -> Any:
    return np.ones(at.shape)


@op("full_like", at=True, masked=True)
def _full(at: At, _: Any, value: Any, **__: Any) -> Any:
    return ops.broadcast_to(value, at.shape)


@op("new_full", at=True, masked=True)
def _new_full(at: At, _: Any, __: Any, value: Any, **___: Any) -> Any:
    return ops.broadcast_to(value, at.shape)


@op("empty_like", "new_empty", "new_empty_strided", at=True, masked=True)
def _empty(at: At, *_: Any, **__: Any) -> Any:
    # what nobody has written yet: an error if it is read
    return np.full(at.shape, np.nan)


# arithmetic


def trunc(x: Operand) -> Operand:
    """Towards 0."""
    return np.trunc(x) if ops.known(x) else ops.where(ops.less(x, 0.0), ops.ceil(x), ops.floor(x))


def times(k: Any, x: Any) -> Any:
    """A known number times x; nothing for 1."""
    return x if ops.known(k) and np.ndim(k) == 0 and k == 1 else ops.mul(x, k)


@op("add", masked=True)
def _add(x: Any, y: Any, alpha: Any = 1) -> Any:
    return _sum_of(x, _scaled(y, alpha, ops.mul) if alpha != 1 else y, 1.0)


@op("sub", "subtract", masked=True)
def _sub(x: Any, y: Any, alpha: Any = 1) -> Any:
    return _sum_of(x, _scaled(y, alpha, ops.mul) if alpha != 1 else y, -1.0)


@op("rsub", masked=True)
def _rsub(x: Any, y: Any, alpha: Any = 1) -> Any:
    return _sub(y, x, alpha)


@op("mul", "multiply", masked=True)
def _mul(x: Any, y: Any) -> Any:
    if split(x)[1] is None and split(y)[1] is not None:
        x, y = y, x
    if x is y:
        return ops.square(plain(x))
    return _scaled(x, y, ops.mul)


@op("div", "divide", "true_divide", masked=True)
def _div(x: Any, y: Any, rounding_mode: str | None = None) -> Any:
    out = _scaled(x, y, ops.div)
    if rounding_mode == "floor":
        return ops.floor(plain(out))
    return trunc(plain(out)) if rounding_mode == "trunc" else out


@op("floor_divide")
def _floor_divide(x: Any, y: Any) -> Any:
    return ops.floor(ops.div(x, y))


@op("remainder")
def _remainder(x: Any, y: Any) -> Any:
    return ops.sub(x, ops.mul(y, ops.floor(ops.div(x, y))))


@op("fmod")
def _fmod(x: Any, y: Any) -> Any:
    return ops.sub(x, ops.mul(y, trunc(ops.div(x, y))))


@op("neg", "negative", masked=True)
def _neg(x: Any) -> Any:
    a, holes, sign = split(x)
    return masked(ops.neg(a), holes, -sign)


@op("exp", masked=True)
def _exp(x: Any) -> Any:
    a, holes, sign = split(x)
    if holes is None:
        return ops.exp(a)
    if sign > 0:
        raise CreaseError("the exponential of infinity is infinite")
    return ops.where(holes, 0.0, ops.exp(a))


def _of_one(name: str, f: Callable[[Operand], Operand]) -> None:
    op(name)(lambda x, *_, **__: f(x))


for _name, _f in {
    "abs": ops.absolute, "absolute": ops.absolute, "sqrt": ops.sqrt, "log": ops.log, "log1p": ops.log1p, "expm1": ops.expm1, "sin": ops.sin, "cos": ops.cos,
    "tan": ops.tan, "tanh": ops.tanh, "asin": ops.asin, "acos": ops.acos, "atan": ops.atan, "arcsin": ops.asin, "arccos": ops.acos, "arctan": ops.atan,
    "sinh": ops.sinh, "cosh": ops.cosh, "asinh": ops.asinh, "acosh": ops.acosh, "atanh": ops.atanh, "arcsinh": ops.asinh, "arccosh": ops.acosh,
    "arctanh": ops.atanh, "sign": ops.sign, "sgn": ops.sign, "floor": ops.floor, "ceil": ops.ceil, "trunc": trunc, "fix": trunc, "erf": ops.erf, "erfc": ops.erfc,
    "special_erf": ops.erf, "special_erfc": ops.erfc, "special_expm1": ops.expm1, "special_log1p": ops.log1p,
    "relu": ops.relu, "sigmoid": ops.sigmoid, "special_expit": ops.sigmoid, "square": ops.square, "logical_not": ops.logical_not,
    "frac": lambda x: ops.sub(x, trunc(x)), "reciprocal": lambda x: ops.div(1.0, x), "rsqrt": lambda x: ops.power(x, -0.5),
    "exp2": lambda x: ops.exp(ops.mul(x, math.log(2.0))), "log2": lambda x: ops.div(ops.log(x), math.log(2.0)),
    "log10": lambda x: ops.div(ops.log(x), math.log(10.0)), "deg2rad": lambda x: ops.mul(x, math.pi / 180), "rad2deg": lambda x: ops.mul(x, 180 / math.pi),
    "signbit": lambda x: ops.less(x, 0.0), "isnan": lambda x: np.zeros(x.shape, bool), "isinf": lambda x: np.zeros(x.shape, bool),
    "isposinf": lambda x: np.zeros(x.shape, bool), "isneginf": lambda x: np.zeros(x.shape, bool), "isfinite": lambda x: np.ones(x.shape, bool),
    "isreal": lambda x: np.ones(x.shape, bool), "nan_to_num": lambda x: x, "sinc": lambda x: _sinc(x), "special_sinc": lambda x: _sinc(x),
    "special_ndtr": lambda x: ops.mul(0.5, ops.erfc(ops.mul(x, -math.sqrt(0.5)))),
    "special_entr": lambda x: ops.where(ops.equal(x, 0.0), 0.0, ops.neg(ops.mul(x, ops.log(x)))),
}.items():
    _of_one(_name, _f)


def _sinc(x: Value) -> Operand:
    angle = ops.mul(x, math.pi)
    return ops.where(ops.equal(x, 0.0), 1.0, ops.div(ops.sin(angle), angle))


@op("special_exp2")
def _exp2(x: Value) -> Operand:
    return HANDLERS["aten.exp2"](x)


@op("round", "special_round")
def _round(x: Value, decimals: int = 0) -> Operand:
    scale = 10.0**abs(decimals)
    if decimals == 0:
        return ops.rint(x)
    return ops.div(ops.rint(ops.mul(x, scale)), scale) if decimals > 0 else ops.mul(ops.rint(ops.div(x, scale)), scale)


@op("logit", "special_logit")
def _logit(x: Value, eps: float | None = None) -> Operand:
    if eps is not None:
        x = clamp(x, eps, 1.0 - eps)
    return ops.sub(ops.log(x), ops.log1p(ops.neg(x)))


@op("pow", "float_power")
def _pow(x: Any, y: Any) -> Operand:
    if ops.known(x) and np.any(np.asarray(x) <= 0):
        raise CreaseError("a power of 0 or of a negative number with an exponent that is computed")
    return ops.power(x, y)


@op("atan2", "arctan2")
def _atan2(y: Any, x: Any) -> Operand:
    return ops.atan2(y, x)


@op("hypot")
def _hypot(x: Any, y: Any) -> Operand:
    b = ops.builder_of(x, y)
    shape = np.broadcast_shapes(ops.shape_of(x), ops.shape_of(y))
    return ops.lanes("norm2", ops.stack([ops.broadcast_to(ops.lift(b, v), shape) for v in (x, y)], -1), -1)


@op("maximum", "max.other", "fmax")
def _maximum(x: Any, y: Any) -> Operand:
    return ops.maximum(x, y)


@op("minimum", "min.other", "fmin")
def _minimum(x: Any, y: Any) -> Operand:
    return ops.minimum(x, y)


@op("xlogy", "special_xlogy")
def _xlogy(x: Any, y: Any) -> Operand:
    return ops.where(ops.equal(x, 0.0), 0.0, ops.mul(x, ops.log(y)))


@op("special_xlog1py")
def _xlog1py(x: Any, y: Any) -> Operand:
    return ops.where(ops.equal(x, 0.0), 0.0, ops.mul(x, ops.log1p(y)))


@op("logaddexp")
def _logaddexp(x: Any, y: Any) -> Operand:
    return ops.add(y, ops.softplus(ops.sub(x, y)))


@op("logaddexp2")
def _logaddexp2(x: Any, y: Any) -> Operand:
    two = math.log(2.0)
    return ops.add(y, ops.div(ops.softplus(ops.mul(ops.sub(x, y), two)), two))


@op("lerp")
def _lerp(x: Any, y: Any, weight: Any) -> Operand:
    return ops.add(x, ops.mul(weight, ops.sub(y, x)))


@op("addcmul")
def _addcmul(x: Any, a: Any, b: Any, value: Any = 1) -> Operand:
    return ops.add(x, times(value, ops.square(a) if a is b else ops.mul(a, b)))


@op("addcdiv")
def _addcdiv(x: Any, a: Any, b: Any, value: Any = 1) -> Operand:
    return ops.add(x, times(value, ops.div(a, b)))


@op("heaviside")
def _heaviside(x: Any, at_zero: Any) -> Operand:
    return ops.where(ops.greater(x, 0.0), 1.0, ops.where(ops.less(x, 0.0), 0.0, at_zero))


@op("copysign")
def _copysign(x: Any, y: Any) -> Operand:
    size = ops.absolute(x)
    if ops.known(y):
        return ops.mul(size, np.copysign(1.0, y))
    return ops.where(ops.less(y, 0.0), ops.neg(size), size)


@functools.cache
def end_slope(of_tensors: bool) -> float:
    """The slope that the installed PyTorch has at the ends of a clamp; it has changed between versions, and depends on whether the bounds are tensors."""
    import torch

    x = torch.zeros((), dtype=torch.float64, requires_grad=True)
    with torch.enable_grad():
        y = torch.clamp(x, torch.zeros((), dtype=torch.float64)) if of_tensors else torch.clamp(x, 0.0)
        return float(torch.autograd.grad(y, x)[0])


def clamp(x: Operand, low: Any, high: Any, of_tensors: bool = False) -> Operand:
    """Between bounds; the upper one where they cross. At its ends the branch is taken that has PyTorch's slope."""
    if high is not None and not (ops.known(high) and np.all(np.isposinf(high))):
        raised = clamp(x, low, None, of_tensors)
        return _bounded(ops.minimum, ops.greater_equal, ops.greater, raised, high, of_tensors)
    if low is None or ops.known(low) and np.all(np.isneginf(low)):
        return x
    return _bounded(ops.maximum, ops.less_equal, ops.less, x, low, of_tensors)


def _bounded(shared: Callable[..., Operand], beyond_or_at: Callable[..., Operand], beyond: Callable[..., Operand], x: Operand, bound: Any, of_tensors: bool) -> Operand:
    slope = end_slope(of_tensors)
    if slope == 0.5:
        return shared(x, bound)
    return ops.where((beyond_or_at if slope == 0.0 else beyond)(x, bound), bound, x)


@op("clamp", "clip")
def _clamp(x: Any, low: Any = None, high: Any = None) -> Operand:
    return clamp(x, low, high)


@op("clamp.Tensor", "clip.Tensor")
def _clamp_tensor(x: Any, low: Any = None, high: Any = None) -> Operand:
    return clamp(x, low, high, True)


@op("clamp_min")
def _clamp_min(x: Any, low: Any) -> Operand:
    return clamp(x, low, None)


@op("clamp_max")
def _clamp_max(x: Any, high: Any) -> Operand:
    return clamp(x, None, high)


@op("clamp_min.Tensor")
def _clamp_min_tensor(x: Any, low: Any) -> Operand:
    return clamp(x, low, None, True)


@op("clamp_max.Tensor")
def _clamp_max_tensor(x: Any, high: Any) -> Operand:
    return clamp(x, None, high, True)


# comparisons and logic
for _names, _f in (
    ("lt less", ops.less), ("le less_equal", ops.less_equal), ("gt greater", ops.greater), ("ge greater_equal", ops.greater_equal),
    ("eq", ops.equal), ("ne not_equal", ops.not_equal), ("logical_and bitwise_and __and__", ops.logical_and),
    ("logical_or bitwise_or __or__", ops.logical_or), ("logical_xor bitwise_xor __xor__", ops.logical_xor),
):
    for _name in _names.split():
        op(_name)(lambda x, y, f=_f: f(x, y))


def _only_truths(name: str, xs: Sequence[Any]) -> None:
    if not all(isinstance(x, Value) and x.truth or ops.known(x) and np.asarray(x).dtype == bool for x in xs):
        raise CreaseError(f"`{name}` of integers is not expressed, of truth values it is")


for _name, _f in (("bitwise_and", ops.logical_and), ("bitwise_or", ops.logical_or), ("bitwise_xor", ops.logical_xor),
                  ("__and__", ops.logical_and), ("__or__", ops.logical_or), ("__xor__", ops.logical_xor)):
    op(_name)(lambda x, y, f=_f, name=_name: (_only_truths(name, [x, y]), f(x, y))[1])


@op("bitwise_not")
def _bitwise_not(x: Value) -> Operand:
    _only_truths("bitwise_not", [x])
    return ops.logical_not(x)


@op("isclose")
def _isclose(x: Any, y: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> Operand:
    return ops.less_equal(ops.absolute(ops.sub(x, y)), ops.add(atol, ops.mul(rtol, ops.absolute(y))))


@op("where", masked=True, at=True)
def _where(at: At, condition: Any, x: Any = None, y: Any = None) -> Any:
    if x is None:
        raise CreaseError("the places where a condition holds are not known before the program runs")
    if ops.known(condition):
        mask = tensor(np.asarray(condition, bool))
        import torch

        return move(at, lambda p, q: torch.where(mask, p, q), [x, y])
    for v in (x, y):
        if split(v)[1] is not None:
            raise CreaseError(
                "a value is infinite where a condition holds that depends on the inputs; crease works with real numbers: use a mask that is known, or a large finite number"
            )
    return ops.where(condition, x, y)


@op("masked_fill", masked=True, at=True)
def _masked_fill(at: At, x: Any, mask: Any, value: Any) -> Any:
    out = _where(at, mask, value, x)
    # a mask of one element may have more axes than a number
    return out if tuple(out.shape) == at.shape else _reshaped(at, out)


# groups of numbers


def axes(x: Operand, dim: Any) -> list[int]:
    """The axes that `dim` means; none or no list: all of them."""
    if dim is None or isinstance(dim, (list, tuple)) and len(dim) == 0:
        return list(range(len(ops.shape_of(x))))
    return ops.axes_of(x, dim) if ops.shape_of(x) else []


def _reduced(f: Callable[..., Operand]) -> Callable[..., Operand]:
    def run(x: Operand, dim: Any = None, keepdim: bool = False, **_: Any) -> Operand:
        return f(x, axes(x, dim), keepdim)

    return run


_sum = op("sum", "nansum")(_reduced(lambda x, a, k: ops.sum(x, a, k) if a else x))
_mean = op("mean", "nanmean")(_reduced(lambda x, a, k: ops.mean(x, a, k) if a else x))


@op("prod")
def _prod(x: Value, dim: int | None = None, keepdim: bool = False, **_: Any) -> Operand:
    a = axes(x, dim)
    return ops.prod(x, a, keepdim) if a else x


def without_holes(name: str, x: Masked, axis: list[int], keepdim: bool, f: Callable[[Value], Value]) -> Value:
    """A group operation along axes of what is not masked away: `f` of rows, for rows of each length. No row may be empty."""
    rest = [a for a in range(len(x.shape)) if a not in axis]
    rows = math.prod(x.shape[a] for a in rest)
    order = rest + axis
    value = ops.reshape(ops.transpose(x.value, order), [rows, -1])
    there = ~np.transpose(x.holes, order).reshape(rows, -1)
    counts = there.sum(1)
    if (counts == 0).any():
        raise CreaseError(f"all numbers of a group are masked away by infinities: {name} has no value there (PyTorch: NaN or infinity)")
    n = there.shape[1]
    parts, place = [], np.zeros(rows, np.int64)
    for count in np.unique(counts):
        which = np.nonzero(counts == count)[0]
        positions = np.array([r * n + np.nonzero(there[r])[0] for r in which])
        place[which] = sum(ops.shape_of(p)[0] for p in parts) + np.arange(len(which))
        parts.append(f(ops.table(value, positions)))
    out = ops.table(ops.concatenate(parts, 0), place)
    shape = [1 if a in axis else x.shape[a] for a in range(len(x.shape))] if keepdim else [x.shape[a] for a in rest]
    return ops.reshape(out, shape)


def extreme(name: str, x: Any, dim: Any, keepdim: bool) -> Operand:
    """The largest or smallest, ties shared."""
    axis = axes(x if not isinstance(x, Masked) else x.value, dim)
    if isinstance(x, Masked):
        if x.sign != (-1.0 if name == "max" else 1.0):
            raise CreaseError(f"the {name} of a group is infinite")
        return without_holes(name, x, axis, keepdim, lambda rows: ops.lanes(name, rows, -1))
    return ops.lanes(name, x, axis, keepdim) if axis else x


@op("amax", masked=True)
def _amax(x: Any, dim: Any = (), keepdim: bool = False) -> Operand:
    return extreme("max", x, dim, keepdim)


@op("amin", masked=True)
def _amin(x: Any, dim: Any = (), keepdim: bool = False) -> Operand:
    return extreme("min", x, dim, keepdim)


@op("max.default", masked=True)
def _max(x: Any) -> Operand:
    return extreme("max", x, None, False)


@op("min.default", masked=True)
def _min(x: Any) -> Operand:
    return extreme("min", x, None, False)


@op("aminmax")
def _aminmax(x: Value, dim: int | None = None, keepdim: bool = False) -> tuple[Operand, Operand]:
    return Later(lambda: extreme("min", x, dim, keepdim)), Later(lambda: extreme("max", x, dim, keepdim))


def statistic(x: Value, k: int, dim: int, keepdim: bool) -> Value:
    """The k-th smallest along an axis, counted from 0; of equal ones the first is meant."""
    n = x.shape[dim] if x.shape else 1
    if n == 1:
        return ops.reshape(x, _less(x.shape, dim, keepdim))
    return ops.lanes("order_statistic", x, dim, keepdim, k=k)


def first_of(name: str, x: Value, dim: int, keepdim: bool) -> Value:
    """The largest or smallest along an axis, whose weight goes to the first of equals."""
    if (x.shape[dim] if x.shape else 1) == 1:
        return ops.reshape(x, _less(x.shape, dim, keepdim))
    return ops.lanes(f"first_{name}", x, dim, keepdim)


def _less(shape: Sequence[int], dim: int, keepdim: bool) -> list[int]:
    """A shape after a reduction."""
    if not shape:
        return []
    return [1 if a == dim % len(shape) else n for a, n in enumerate(shape) if keepdim or a != dim % len(shape)]


def _position(name: str, x: Value, dim: int, keepdim: bool) -> Operand:
    if not x.shape:
        return np.zeros(())
    out = ops.position(name, x, dim % x.ndim)
    return ops.reshape(out, _less(x.shape, dim, keepdim))


def _one_of(name: str, x: Any, dim: int, keepdim: bool) -> tuple[Any, Any]:
    """What a maximum or minimum with positions is: PyTorch follows one position in its derivative, the first."""
    if isinstance(x, Masked):
        return extreme(name, x, dim, keepdim), Refused(f"the positions of {name} of masked numbers are not expressed")
    return first_of(name, x, dim, keepdim), Later(lambda: _position(f"arg{name}", x, dim, keepdim))


@op("max.dim", masked=True)
def _max_dim(x: Any, dim: int, keepdim: bool = False) -> Any:
    return _one_of("max", x, dim, keepdim)


@op("min.dim", masked=True)
def _min_dim(x: Any, dim: int, keepdim: bool = False) -> Any:
    return _one_of("min", x, dim, keepdim)


def _arg(name: str) -> Handler:
    def run(x: Value, dim: int | None = None, keepdim: bool = False) -> Operand:
        if dim is None:
            out = ops.position(name, x, None) if x.shape else np.zeros(())
            return ops.reshape(out, [1] * x.ndim) if keepdim else out
        return _position(name, x, dim, keepdim)

    return run


op("argmax")(_arg("argmax"))
op("argmin")(_arg("argmin"))


@op("median.default", "nanmedian.default")
def _median(x: Value) -> Operand:
    # of all numbers: the weight is shared, where that along an axis goes to the first
    return ops.lanes("shared_statistic", ops.reshape(x, [x.size]), 0, k=(x.size - 1) // 2) if x.size > 1 else ops.reshape(x, [])


@op("median.dim", "nanmedian.dim")
def _median_dim(x: Value, dim: int, keepdim: bool = False) -> Any:
    return _kth(x, ((x.shape[dim] if x.shape else 1) + 1) // 2, dim, keepdim)


@op("kthvalue")
def _kth(x: Value, k: int, dim: int = -1, keepdim: bool = False) -> Any:
    if not x.shape:
        return x, np.zeros(())
    cut = [slice(k - 1, k) if a == dim % x.ndim else slice(None) for a in range(x.ndim)]
    place = lambda: ops.slice_axes(ops.position("argsort", x, dim % x.ndim), cut)  # noqa: E731
    return statistic(x, k - 1, dim, keepdim), Later(lambda: ops.reshape(place(), _less(x.shape, dim, keepdim)))


def sorted_along(x: Value, dim: int, descending: bool) -> tuple[Any, Later]:
    """Sorted, and the positions; equal numbers stay in their order, also when the largest comes first."""
    if not x.shape:
        return x, Later(lambda: np.zeros(()))
    axis = dim % x.ndim
    turn = ops.neg if descending else lambda v: v
    return turn(ops.sort(turn(x), axis)), Later(lambda: ops.position("argsort", turn(x), axis))


@op("sort.default")
def _sort(x: Value, dim: int = -1, descending: bool = False) -> Any:
    return sorted_along(x, dim, descending)


@op("sort.stable")
def _sort_stable(x: Value, stable: bool | None = None, dim: int = -1, descending: bool = False) -> Any:
    return sorted_along(x, dim, descending)


@op("msort")
def _msort(x: Value) -> Any:
    return sorted_along(x, 0, False)[0]


@op("argsort.default")
def _argsort(x: Value, dim: int = -1, descending: bool = False) -> Any:
    return sorted_along(x, dim, descending)[1].make()


@op("argsort.stable")
def _argsort_stable(x: Value, stable: bool = True, dim: int = -1, descending: bool = False) -> Any:
    return sorted_along(x, dim, descending)[1].make()


@op("topk")
def _topk(x: Value, k: int, dim: int = -1, largest: bool = True, sorted: bool = True) -> Any:
    if not x.shape:
        return x, np.zeros(())
    axis = dim % x.ndim
    values, positions = sorted_along(x, dim, largest)
    cut = [slice(0, k) if a == axis else slice(None) for a in range(x.ndim)]
    return ops.slice_axes(values, cut), Later(lambda: ops.slice_axes(positions.make(), cut))


def centered(x: Operand, axis: list[int]) -> Operand:
    """Less its mean."""
    return ops.sub(x, ops.mean(x, axis, True))


def _count(x: Operand, axis: list[int]) -> int:
    return math.prod(ops.shape_of(x)[a] for a in axis)


def _correction(unbiased: Any, correction: Any) -> float:
    if correction is not None:
        return float(correction)
    return float(unbiased) if isinstance(unbiased, bool) else 1.0


def _var_args(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, float, bool]:
    """The overloads of var and std: (unbiased), (dim, unbiased, keepdim), (dim, *, correction, keepdim)."""
    args_ = list(args)
    if args_ and isinstance(args_[0], bool):
        return None, float(args_[0]), False
    dim = kwargs.get("dim", args_[0] if args_ else None)
    unbiased = kwargs.get("unbiased", args_[1] if len(args_) > 1 else None)
    keepdim = kwargs.get("keepdim", args_[2] if len(args_) > 2 else False)
    return dim, _correction(unbiased, kwargs.get("correction")), keepdim


def variance(x: Value, *args: Any, **kwargs: Any) -> Operand:
    """The mean squared distance from the mean, with a correction of the number."""
    dim, correction, keepdim = _var_args(args, kwargs)
    axis = axes(x, dim)
    n = _count(x, axis) - correction
    if n <= 0:
        raise CreaseError("a variance of so few numbers has no value")
    return ops.div(ops.sum(ops.square(centered(x, axis)), axis, keepdim), n)


def deviation(x: Value, *args: Any, **kwargs: Any) -> Operand:
    """The root of the variance, as a Euclidean norm, so that its kink is one."""
    dim, correction, keepdim = _var_args(args, kwargs)
    axis = axes(x, dim)
    n = _count(x, axis) - correction
    if n <= 0:
        raise CreaseError("a deviation of so few numbers has no value")
    return ops.div(ops.lanes("norm2", centered(x, axis), axis, keepdim), math.sqrt(n))


op("var")(variance)
op("std")(deviation)


def _mean_beside(x: Value, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Operand:
    dim, _, keepdim = _var_args(args, kwargs)
    return ops.mean(x, axes(x, dim), keepdim)


@op("var_mean")
def _var_mean(x: Value, *args: Any, **kwargs: Any) -> Any:
    return variance(x, *args, **kwargs), Later(lambda: _mean_beside(x, args, kwargs))


@op("std_mean")
def _std_mean(x: Value, *args: Any, **kwargs: Any) -> Any:
    return deviation(x, *args, **kwargs), Later(lambda: _mean_beside(x, args, kwargs))


def norm(x: Value, order: float, axis: list[int], keepdim: bool) -> Operand:
    """Any norm of vectors along axes."""
    if not axis:
        return ops.absolute(x) if order != 0 else ops.add(0.0, ops.not_equal(x, 0.0))
    if order in (1.0, 2.0, math.inf):
        return ops.lanes({1.0: "norm1", 2.0: "norm2", math.inf: "norminf"}[order], x, axis, keepdim)
    if order == 0.0:
        return ops.sum(ops.not_equal(x, 0.0), axis, keepdim)
    if order == -math.inf:
        return ops.lanes("min", ops.absolute(x), axis, keepdim)
    # an even power needs no absolute value
    base = x if order % 2 == 0 else ops.absolute(x)
    return ops.power(ops.sum(ops.power(base, order), axis, keepdim), 1.0 / order)


@op("linalg_vector_norm")
def _vector_norm(x: Value, order: float = 2, dim: Any = None, keepdim: bool = False, dtype: Any = None) -> Operand:
    return norm(x, float(order), axes(x, dim), keepdim)


@op("norm")
def _norm(x: Value, p: Any = 2, dim: Any = None, keepdim: bool = False, dtype: Any = None) -> Operand:
    return norm(x, 2.0 if p is None else float(p), axes(x, dim), keepdim)


@op("dist")
def _dist(x: Any, y: Any, p: float = 2) -> Operand:
    difference = ops.sub(x, y)
    return norm(difference, float(p), axes(difference, None), False)


@op("logsumexp", "special_logsumexp", masked=True)
def logsumexp(x: Any, dim: Any, keepdim: bool = False) -> Operand:
    """The logarithm of a sum of exponentials along axes."""
    if isinstance(x, Masked):
        if x.sign > 0:
            raise CreaseError("a sum of exponentials is infinite")
        return without_holes("logsumexp", x, axes(x.value, dim), keepdim, lambda rows: ops.logsumexp(rows, -1))
    a = axes(x, dim)
    return ops.logsumexp(x, a, keepdim) if a else x


@op("log_softmax", "_log_softmax", "special_log_softmax", masked=True)
def log_softmax(x: Any, dim: int, *_: Any, **__: Any) -> Any:
    """Less the logarithm of the sum of exponentials: no maximum, and so no kink."""
    if isinstance(x, Masked):
        return masked(ops.sub(x.value, logsumexp(x, dim, True)), x.holes, x.sign)
    return ops.sub(x, logsumexp(x, dim, True))


@op("softmax", "_softmax", "special_softmax", masked=True)
def softmax(x: Any, dim: int, *_: Any, **__: Any) -> Any:
    """The exponentials over their sum; 0 where masked."""
    return _exp(log_softmax(x, dim))


@op("_safe_softmax", masked=True)
def safe_softmax(x: Any, dim: int, *_: Any, **__: Any) -> Any:
    """The same with 0 in rows that are masked entirely."""
    if not isinstance(x, Masked):
        return softmax(x, dim)
    gone = x.holes.all(axis=dim, keepdims=True)
    if not gone.any():
        return softmax(x, dim)
    # rows that are gone take part as zeros, and become 0 after that
    value = ops.where(np.broadcast_to(gone, x.shape), 0.0, x.value)
    return ops.where(np.broadcast_to(gone, x.shape), 0.0, softmax(masked(value, x.holes & ~gone, x.sign), dim))


for _name in ("cumsum", "cumprod"):
    op(_name)(lambda x, dim, name=_name, **_: ops.cumulative(name, x, dim % x.ndim) if x.shape else x)
def _running(comparison: str) -> Handler:
    """The largest or smallest so far, and where it was: a loop that takes what is new if it is not worse, as PyTorch follows the last of equals."""

    def run(x: Value, dim: int) -> tuple[Any, Any]:
        if not x.shape:
            return x, np.zeros(())
        dim %= x.ndim
        order = [dim] + [a for a in range(x.ndim) if a != dim]
        front = ops.transpose(x, order)
        n, shape = front.shape[0], front.shape[1:]
        if n == 1:
            return x, np.zeros(x.shape)
        cut = lambda s: ops.slice_axes(front, [s] + [slice(None)] * len(shape))  # noqa: E731
        turn = Builder("running")
        best, where, new, place = (Value(turn, turn.input(name, list(s))) for name, s in (("best", shape), ("where", shape), ("new", shape), ("place", ())))
        taken = ops.elementwise(comparison, new, best, truth=True)
        best, where = ops.where(taken, new, best), ops.where(taken, ops.broadcast_to(place, shape), where)
        body = turn.finish([best.handle, where.handle, best.handle, where.handle])
        b = x.builder
        start, zero = ops.reshape(cut(slice(0, 1)), shape), ops.lift(b, np.zeros(shape))
        places = ops.lift(b, np.arange(1.0, n))
        found = b.scan(body, n - 1, [start.handle, zero.handle], [cut(slice(1, None)).handle, places.handle], [])
        back = [order.index(a) for a in range(x.ndim)]
        whole = lambda first, rest: ops.transpose(ops.concatenate([ops.reshape(first, (1, *shape)), rest], 0), back)  # noqa: E731
        return whole(start, Value(b, found[2])), whole(zero, Value(b, found[3]))

    return run


op("cummax")(_running(">="))
op("cummin")(_running("<="))


@op("logcumsumexp")
def _logcumsumexp(x: Value, dim: int) -> Operand:
    if not x.shape:
        return x
    dim %= x.ndim
    cut = lambda i: [slice(0, i + 1) if a == dim else slice(None) for a in range(x.ndim)]  # noqa: E731
    return ops.concatenate([ops.logsumexp(ops.slice_axes(x, cut(i)), dim, True) for i in range(x.shape[dim])], dim)


@op("any")
def _any(x: Value, dim: Any = None, keepdim: bool = False) -> Operand:
    a = axes(x, dim)
    return ops.greater(ops.sum(ops.truth(x), a, keepdim), 0.0) if a else ops.truth(x)


@op("all")
def _all(x: Value, dim: Any = None, keepdim: bool = False) -> Operand:
    a = axes(x, dim)
    return ops.equal(ops.sum(ops.logical_not(x), a, keepdim), 0.0) if a else ops.truth(x)


@op("count_nonzero")
def _count_nonzero(x: Value, dim: Any = None) -> Operand:
    a = axes(x, dim)
    return ops.sum(ops.truth(x), a) if a else ops.add(0.0, ops.truth(x))


@op("bucketize")
def _bucketize(x: Value, boundaries: Any, out_int32: bool = False, right: bool = False) -> Operand:
    below = (ops.less_equal if right else ops.less)(boundaries, ops.reshape(x, x.shape + (1,)))
    return ops.sum(below, -1)


# reading and writing at positions


@op("embedding")
def _embedding(weight: Any, positions: Any, *_: Any) -> Operand:
    return ops.take(weight, positions, 0)


@op("_embedding_bag", "_embedding_bag_forward_only")
def _embedding_bag(
    weight: Any, positions: Any, offsets: Any, scale: bool = False, mode: int = 0, sparse: bool = False, factors: Any = None, include_last: bool = False, padding: int = -1
) -> Any:
    """Rows of a table, bag by bag: their sum, mean or largest numbers. Bags are known."""
    if not ops.known(positions, offsets):
        raise CreaseError("which rows go into a bag is computed")
    ends = np.append(np.asarray(offsets), [] if include_last else [len(positions)]).astype(int)
    bags = []
    for start, end in zip(ends[:-1], ends[1:]):
        members = np.array([i for i in range(start, end) if positions[i] != padding], int)
        if not len(members):
            bags.append(np.zeros((1, ops.shape_of(weight)[1])))
            continue
        rows = ops.take(weight, np.asarray(positions)[members], 0)
        if factors is not None:
            rows = ops.mul(rows, ops.reshape(ops.take(factors, members, 0), [-1, 1]))
        bags.append(first_of("max", rows, 0, True) if mode == 2 else (ops.mean if mode == 1 else ops.sum)(rows, 0, True))
    other = Refused("what embedding_bag keeps for its derivative is not expressed")
    return ops.concatenate(bags, 0), other, other, other


@op("index_select", masked=True, at=True)
def _index_select(at: At, x: Any, dim: int, positions: Any) -> Any:
    if ops.known(positions):
        return move(at, lambda p: at.target(p, dim, tensor(positions)), [x])
    x = plain(x)
    return ops.take(x, positions, dim % len(ops.shape_of(x)))


@op("take", at=True)
def _take(at: At, x: Any, positions: Any) -> Operand:
    return ops.take(ops.reshape(x, [-1]), positions, 0)


@op("gather", "take_along_dim", masked=True, at=True)
def _gather(at: At, x: Any, dim: Any, positions: Any = None, **kwargs: Any) -> Any:
    if "take_along_dim" in str(at.target):
        dim, positions = kwargs.get("dim", positions), dim
        if ops.known(positions):
            return move(at, lambda p: at.target(p, tensor(positions), dim), [x])
    elif ops.known(positions):
        return move(at, lambda p: at.target(p, dim, tensor(positions)), [x])
    x = plain(x)
    n = len(ops.shape_of(x))
    if n == 0:
        return x
    dim %= n
    # axes other than the one that is read may be longer than those of the positions
    cut = [slice(None) if a == dim else slice(0, m) for a, m in enumerate(ops.shape_of(positions))]
    return ops.take_along_axis(ops.slice_axes(x, cut), positions, dim)


@op("index", "_unsafe_index", masked=True, at=True)
def _index(at: At, x: Any, keys: Sequence[Any]) -> Any:
    if all(k is None or ops.known(k) for k in keys):
        return move(at, lambda p: at.target(p, [tensor(k) for k in keys]), [x])
    x = plain(x)
    there = [i for i, k in enumerate(keys) if k is not None]
    if any(isinstance(keys[i], Value) and keys[i].truth for i in there):
        raise CreaseError("a mask that is computed makes an array whose size is not known; use torch.where(mask, x, 0)")
    if there != list(range(there[0], there[-1] + 1)):
        raise CreaseError("computed indices of axes that do not follow one another are not expressed")
    shape = ops.shape_of(x)
    first, after = there[0], there[-1] + 1
    flat = ops.reshape(x, shape[:first] + (math.prod(shape[first:after]),) + shape[after:])
    position: Operand = 0
    for i in there:
        k, n = keys[i], shape[i]
        k = np.where(np.asarray(k) < 0, np.asarray(k) + n, k) if ops.known(k) else ops.where(ops.less(k, 0.0), ops.add(k, float(n)), k)
        position = ops.add(ops.mul(position, n), k)
    return ops.take(flat, position, first)


def _all_positions(shape: Sequence[int]) -> Any:
    import torch

    return torch.arange(math.prod(shape)).reshape(tuple(shape))


@op("index_put", "_unsafe_index_put", masked=True, at=True)
def _index_put(at: At, x: Any, keys: Sequence[Any], values: Any, accumulate: bool = False) -> Any:
    if not all(k is None or ops.known(k) for k in keys):
        raise CreaseError("writing at computed positions is not expressed, reading is")
    keys = [tensor(k) for k in keys]
    if not accumulate:
        return move(at, lambda p, v: at.target(p, keys, v), [x, values])
    import torch

    where = torch.ops.aten.index.Tensor(_all_positions(at.shape), keys)
    b = ops.builder_of(plain(x), plain(values))
    spread = ops.lift(b, ops.broadcast_to(values, where.shape))
    return ops.add(x, ops.add_at(spread, where.numpy(), at.shape))


@op("masked_scatter", "select_scatter", "slice_scatter", "diagonal_scatter", "as_strided_scatter", masked=True, at=True)
def _scattered(at: At, x: Any, other: Any, *args: Any, **kwargs: Any) -> Any:
    if "masked_scatter" in str(at.target):
        if not ops.known(other):
            raise CreaseError("writing where a computed mask holds is not expressed")
        return move(at, lambda p, s: at.target(p, tensor(other), s), [x, *args])
    return move(at, lambda p, s: at.target(p, s, *args, **kwargs), [x, other])


def _is_number(x: Any) -> bool:
    return not isinstance(x, (Value, Masked)) and np.ndim(x) == 0


@op("scatter", masked=True, at=True)
def _scatter(at: At, x: Any, dim: int, positions: Any, source: Any = None, value: Any = None, reduce: str | None = None) -> Any:
    if reduce is not None:
        return _scatter_reduce(at, x, dim, positions, source if source is not None else value, {"add": "sum", "multiply": "prod"}[reduce])
    source = value if source is None else source
    if ops.known(positions):
        import torch

        index = tensor(np.asarray(positions))
        if _is_number(source):
            zero = np.zeros(index.shape)
            out = move(at, lambda p: torch.scatter(p, dim, index, 0.0), [x], float(source))
            return out if index.numel() or zero.size else x
        return move(at, lambda p, s: torch.scatter(p, dim, index, s), [x, source])
    if not _is_number(source):
        raise CreaseError("writing arrays at computed positions is not expressed; numbers can be written, and arrays be added")
    axis = dim % len(ops.shape_of(x)) if ops.shape_of(x) else 0
    times_written = _added(np.ones(ops.shape_of(positions)), positions, axis, at.shape)
    return ops.where(ops.greater(times_written, 0.0), float(source), plain(x))


def _added(source: Any, positions: Value, axis: int, shape: tuple[int, ...]) -> Operand:
    """Adds into zeros at computed positions."""
    b = positions.builder
    if tuple(ops.shape_of(positions)) != tuple(n if a != axis else ops.shape_of(positions)[a] for a, n in enumerate(shape)):
        raise CreaseError("adding at computed positions needs positions for all of the other axes")
    return Value(b, b.add_along(ops.lift(b, source).handle, positions.handle, axis, shape[axis]))


@op("scatter_add", at=True)
def _scatter_add(at: At, x: Any, dim: int, positions: Any, source: Any) -> Operand:
    return _scatter_reduce(at, x, dim, positions, source, "sum")


def _fitting(source: Any, shape: Sequence[int]) -> Operand:
    """The part of a source that positions of a shape mean."""
    if _is_number(source):
        return np.full(tuple(shape), float(source))
    if not ops.shape_of(source):
        return ops.reshape(source, shape)
    return ops.slice_axes(source, [slice(0, n) for n in shape])


@op("scatter_reduce", at=True)
def _scatter_reduce(at: At, x: Any, dim: int, positions: Any, source: Any, reduce: str, include_self: bool = True) -> Operand:
    import torch

    shape = at.shape
    axis = dim % len(shape) if shape else 0
    source = _fitting(source, ops.shape_of(positions))
    if not ops.known(positions):
        if reduce != "sum" or not include_self:
            raise CreaseError(f"`{reduce}` at computed positions is not expressed")
        return ops.add(x, _added(source, positions, axis, shape))
    index = tensor(np.asarray(positions))
    where = torch.gather(_all_positions(shape), axis, index) if shape else torch.zeros_like(index)
    return reduced_at(x, source, where.numpy().ravel(), shape, reduce, include_self)


def reduced_at(x: Any, source: Any, where: np.ndarray, shape: tuple[int, ...], reduce: str, include_self: bool) -> Operand:
    """What falls on one place is reduced, together with what was there."""
    b = ops.builder_of(x, source)
    source = ops.lift(b, source)
    count = np.bincount(where, minlength=math.prod(shape)).reshape(shape)
    if reduce in ("sum", "mean"):
        total = ops.add_at(source, where, shape)
        base = x if include_self else ops.where(count > 0, 0.0, x)
        total = ops.add(base, total)
        return total if reduce == "sum" else ops.div(total, np.maximum(count + (1 if include_self else 0), 1))
    if reduce not in ("amax", "amin", "prod"):
        raise CreaseError(f"the reduction `{reduce}` is not expressed")
    both = ops.concatenate([ops.reshape(ops.lift(b, x), [-1]), ops.reshape(source, [-1])], 0)
    size = math.prod(shape)
    lists = [([i] if include_self or not c else []) for i, c in enumerate(count.ravel())]
    for j, i in enumerate(where):
        lists[i].append(size + j)
    lengths = np.array([len(one) for one in lists])
    parts, place, done = [], np.zeros(size, np.int64), 0
    for n in np.unique(lengths):
        which = np.nonzero(lengths == n)[0]
        rows = ops.table(both, np.array([lists[i] for i in which]))
        parts.append(ops.prod(rows, -1) if reduce == "prod" else ops.lanes(reduce[1:], rows, -1))
        place[which] = done + np.arange(len(which))
        done += len(which)
    return ops.table(ops.concatenate(parts, 0), place.reshape(shape))


@op("index_add", at=True)
def _index_add(at: At, x: Any, dim: int, positions: Any, source: Any, alpha: Any = 1) -> Operand:
    return _by_rows(at, x, dim, positions, times(alpha, source), "sum", True)


@op("index_reduce", at=True)
def _index_reduce(at: At, x: Any, dim: int, positions: Any, source: Any, reduce: str, include_self: bool = True) -> Operand:
    return _by_rows(at, x, dim, positions, source, reduce, include_self)


def _by_rows(at: At, x: Any, dim: int, positions: Any, source: Any, reduce: str, include_self: bool) -> Operand:
    if not ops.known(positions):
        raise CreaseError("adding parts at computed positions is not expressed")
    import torch

    where = torch.index_select(_all_positions(at.shape), dim, tensor(np.asarray(positions)).reshape(-1)) if at.shape else np.zeros(1, int)
    return reduced_at(x, source, np.asarray(where).ravel(), at.shape, reduce, include_self)


@op("index_copy", masked=True, at=True)
def _index_copy(at: At, x: Any, dim: int, positions: Any, source: Any) -> Any:
    if not ops.known(positions):
        raise CreaseError("writing at computed positions is not expressed")
    return move(at, lambda p, s: at.target(p, dim, tensor(positions), s), [x, source])


@op("index_fill", masked=True, at=True)
def _index_fill(at: At, x: Any, dim: int, positions: Any, value: Any) -> Any:
    if not (ops.known(positions) and ops.known(value)):
        raise CreaseError("writing at computed positions is not expressed")
    import torch

    return move(at, lambda p: torch.index_fill(p, dim, tensor(positions), 0.0), [x], float(value))


@op("put", at=True)
def _put(at: At, x: Any, positions: Any, source: Any, accumulate: bool = False) -> Operand:
    if not ops.known(positions):
        raise CreaseError("writing at computed positions is not expressed")
    if not accumulate:
        return move(at, lambda p, s: at.target(p, tensor(positions), s), [x, source])
    return reduced_at(x, source, np.asarray(positions).ravel() % math.prod(at.shape), at.shape, "sum", True)


@op("one_hot", at=True)
def _one_hot(at: At, x: Value, classes: int = -1) -> Operand:
    if classes < 0:
        raise CreaseError("one_hot of computed classes needs their number")
    return ops.add(0.0, ops.equal(ops.reshape(x, x.shape + (1,)), np.arange(classes)))


@op("masked_select", masked=True, at=True)
def _masked_select(at: At, x: Any, mask: Any) -> Any:
    return move(at, lambda p: at.target(p, tensor(np.asarray(mask))), [x]) if ops.known(mask) else _unknown_size()


@op("nonzero", "unique_dim", "_unique2", "unique_consecutive")
def _unknown_size(*_: Any, **__: Any) -> Any:
    raise CreaseError("the size of the result depends on the numbers; use torch.where(mask, x, 0)")
