"""The layers and losses of PyTorch: activations, products of matrices, convolutions, pools, normalisations, attention, interpolation, losses.

Like :mod:`crease._torch_ops`, whose handlers these join.
"""

from __future__ import annotations

import itertools
import math
from typing import Any, Callable, Sequence

import numpy as np

from . import _ops as ops
from ._crease import CreaseError
from ._ops import Operand, Value
from ._torch_ops import (
    At, Later, Masked, Refused, axes, clamp, first_of, log_softmax, mapped, masked, norm, op, plain, safe_softmax, split, times,
)

# activations: where PyTorch's slope at a kink is that of one side, a `where` takes that side


@op("leaky_relu")
def _leaky_relu(x: Value, slope: float = 0.01) -> Operand:
    return ops.named("leaky_relu", x, float(slope))


@op("elu")
def _elu(x: Value, alpha: float = 1, scale: float = 1, input_scale: float = 1) -> Operand:
    if input_scale == 1:
        return times(scale, ops.named("elu", x, float(alpha)))
    return ops.where(ops.greater(x, 0.0), times(scale, x), ops.mul(alpha * scale, ops.expm1(ops.mul(x, input_scale))))


@op("celu")
def _celu(x: Value, alpha: float = 1.0) -> Operand:
    return ops.named("celu", x, float(alpha))


for _name in ("selu", "silu", "mish"):
    op(_name)(lambda x, name=_name: ops.named(name, x))


@op("hardsigmoid")
def _hardsigmoid(x: Value) -> Operand:
    return ops.div(hardtanh(ops.add(x, 3.0), 0.0, 6.0), 6.0)


@op("hardswish")
def _hardswish(x: Value) -> Operand:
    """As PyTorch has it at -3 and 3: the slope of the outer branch."""
    middle = ops.mul(x, ops.div(ops.add(x, 3.0), 6.0))
    return ops.where(ops.less_equal(x, -3.0), 0.0, ops.where(ops.greater_equal(x, 3.0), x, middle))


@op("log_sigmoid")
def _log_sigmoid(x: Value) -> Operand:
    return ops.named("logsigmoid", x)


@op("log_sigmoid_forward")
def _log_sigmoid_forward(x: Value) -> Any:
    return ops.named("logsigmoid", x), Refused("the buffer of log_sigmoid is not expressed")


@op("gelu")
def _gelu(x: Value, approximate: str = "none") -> Operand:
    return ops.named("gelu" if approximate == "none" else "gelu_tanh", x)


@op("hardtanh")
def hardtanh(x: Value, low: float = -1, high: float = 1) -> Operand:
    """Between bounds, with the slope 0 at both."""
    return ops.where(ops.less_equal(x, low), low, ops.where(ops.greater_equal(x, high), high, x))


@op("relu6")
def _relu6(x: Value) -> Operand:
    return hardtanh(x, 0.0, 6.0)


@op("softplus")
def _softplus(x: Value, beta: float = 1, threshold: float = 20) -> Operand:
    """Above the threshold PyTorch takes x itself, a jump. From 20 on that is rounding, and left out; a smaller one is kept."""
    soft = ops.softplus(times(beta, x))
    soft = soft if beta == 1 else ops.div(soft, beta)
    return soft if threshold >= 20 else ops.where(ops.greater(times(beta, x), threshold), x, soft)


@op("softshrink")
def _softshrink(x: Value, bound: float = 0.5) -> Operand:
    return ops.where(ops.greater(x, bound), ops.sub(x, bound), ops.where(ops.less(x, -bound), ops.add(x, bound), 0.0))


@op("hardshrink")
def _hardshrink(x: Value, bound: float = 0.5) -> Operand:
    return ops.where(ops.logical_and(ops.less_equal(x, bound), ops.greater_equal(x, -bound)), 0.0, x)


@op("threshold")
def _threshold(x: Value, threshold: float, value: float) -> Operand:
    return ops.where(ops.less_equal(x, threshold), value, x)


@op("prelu", "_prelu_kernel")
def _prelu(x: Any, weight: Any) -> Operand:
    shape = ops.shape_of(weight)
    n = len(ops.shape_of(x))
    if len(shape) <= 1 and n >= 2 and math.prod(shape) > 1:
        weight = ops.reshape(weight, [1, -1] + [1] * (n - 2))
    elif math.prod(shape) == 1:
        weight = ops.reshape(weight, [])
    return ops.where(ops.greater(x, 0.0), x, ops.mul(weight, x))


@op("rrelu")
def _rrelu(x: Value, lower: float = 1 / 8, upper: float = 1 / 3, training: bool = False, *_: Any) -> Operand:
    if training:
        raise CreaseError("rrelu in training is random; call eval() on the module first")
    return ops.named("leaky_relu", x, (lower + upper) / 2)


@op("glu")
def _glu(x: Value, dim: int = -1) -> Operand:
    n = x.shape[dim] // 2
    cut = lambda s: [s if a == dim % x.ndim else slice(None) for a in range(x.ndim)]  # noqa: E731
    return ops.mul(ops.slice_axes(x, cut(slice(0, n))), ops.sigmoid(ops.slice_axes(x, cut(slice(n, None)))))


@op("dropout", "feature_dropout", "alpha_dropout", "feature_alpha_dropout", masked=True)
def _dropout(x: Any, p: float, train: bool) -> Any:
    if train and p > 0:
        raise CreaseError("dropout in training is random; call eval() on the module first")
    return x


@op("native_dropout")
def _native_dropout(x: Value, p: float, train: bool | None) -> Any:
    return _dropout(x, p, bool(train)), np.ones(x.shape, bool)


# products of matrices


@op("mm", "bmm", "matmul", "mv", "dot", "vdot", "linalg_matmul", "inner_")
def _matmul(x: Any, y: Any) -> Operand:
    return ops.matmul(x, y)


@op("inner")
def _inner(x: Any, y: Any) -> Operand:
    if not ops.shape_of(x) or not ops.shape_of(y):
        return ops.mul(x, y)
    return ops.dot_general(x, y, ([len(ops.shape_of(x)) - 1], [len(ops.shape_of(y)) - 1]))


@op("outer", "ger")
def _outer(x: Any, y: Any) -> Operand:
    return ops.mul(ops.reshape(x, [-1, 1]), ops.reshape(y, [1, -1]))


def _combined(x: Any, product: Operand, beta: Any, alpha: Any) -> Operand:
    product = times(alpha, product)
    return product if beta == 0 else ops.add(times(beta, x), product)


@op("addmm", "addmv", "baddbmm")
def _addmm(x: Any, a: Any, b: Any, beta: Any = 1, alpha: Any = 1) -> Operand:
    return _combined(x, ops.matmul(a, b), beta, alpha)


@op("addbmm")
def _addbmm(x: Any, a: Any, b: Any, beta: Any = 1, alpha: Any = 1) -> Operand:
    return _combined(x, ops.sum(ops.matmul(a, b), 0), beta, alpha)


@op("addr")
def _addr(x: Any, a: Any, b: Any, beta: Any = 1, alpha: Any = 1) -> Operand:
    return _combined(x, _outer(a, b), beta, alpha)


@op("linear")
def linear(x: Any, weight: Any, bias: Any = None) -> Operand:
    """``x @ weight.T + bias``, any number of axes before the last."""
    lead = ops.shape_of(x)[:-1]
    rows = ops.reshape(x, [math.prod(lead), ops.shape_of(x)[-1]]) if len(lead) > 1 else x
    columns = ops.transpose(weight) if len(ops.shape_of(weight)) > 1 else weight
    out = ops.matmul(rows, columns)
    out = ops.reshape(out, (*lead, *ops.shape_of(weight)[:-1])) if len(lead) > 1 else out
    return out if bias is None else ops.add(out, bias)


@op("einsum")
def _einsum(spec: str, xs: Sequence[Any], path: Any = None) -> Operand:
    return ops.einsum(spec, *xs)


@op("bilinear")
def _bilinear(x: Any, y: Any, weight: Any, bias: Any = None) -> Operand:
    out = ops.einsum("...i,oij,...j->...o", x, weight, y)
    return out if bias is None else ops.add(out, bias)


@op("linalg_cross", "cross")
def _cross(x: Any, y: Any, dim: int | None = -1) -> Operand:
    shape = np.broadcast_shapes(ops.shape_of(x), ops.shape_of(y))
    dim = shape.index(3) if dim is None else dim % len(shape)
    b = ops.builder_of(x, y)
    part = lambda v, i: ops.slice_axes(  # noqa: E731
        ops.broadcast_to(ops.lift(b, v), shape), [slice(i, i + 1) if a == dim else slice(None) for a in range(len(shape))]
    )
    turn = lambda i, j: ops.sub(ops.mul(part(x, i), part(y, j)), ops.mul(part(x, j), part(y, i)))  # noqa: E731
    return ops.concatenate([turn(1, 2), turn(2, 0), turn(0, 1)], dim)


@op("trace")
def _trace(x: Value) -> Operand:
    return ops.einsum("ii->", x) if x.shape[0] == x.shape[1] else ops.sum(ops.table(x, [i * x.shape[1] + i for i in range(min(x.shape))]))


@op("cdist", "_cdist_forward")
def _cdist(x: Any, y: Any, p: float = 2, *_: Any) -> Operand:
    sx, sy = ops.shape_of(x), ops.shape_of(y)
    difference = ops.sub(ops.reshape(x, [*sx[:-1], 1, sx[-1]]), ops.reshape(y, [*sy[:-2], 1, *sy[-2:]]))
    return norm(difference, float(p), [len(ops.shape_of(difference)) - 1], False)


@op("pdist", "_pdist_forward")
def _pdist(x: Value, p: float = 2) -> Operand:
    i, j = np.triu_indices(x.shape[0], 1)
    return norm(ops.sub(ops.take(x, i, 0), ops.take(x, j, 0)), float(p), [1], False)


@op("pairwise_distance")
def _pairwise(x: Any, y: Any, p: float = 2, eps: float = 1e-6, keepdim: bool = False) -> Operand:
    difference = ops.add(ops.sub(x, y), eps)
    return norm(difference, float(p), [len(ops.shape_of(difference)) - 1], keepdim)


@op("cosine_similarity")
def cosine(x: Any, y: Any, dim: int = 1, eps: float = 1e-8) -> Operand:
    """The product over the norms, which are at least eps."""
    shape = np.broadcast_shapes(ops.shape_of(x), ops.shape_of(y))
    b = ops.builder_of(x, y)
    x, y = (ops.broadcast_to(ops.lift(b, v), shape) for v in (x, y))
    axis = axes(x, dim)
    sizes = [clamp(norm(v, 2.0, axis, True), eps, None) for v in (x, y)]
    return ops.sum(ops.mul(ops.div(x, sizes[0]), ops.div(y, sizes[1])), axis)


# convolutions


def _many(x: Any, n: int) -> list[int]:
    out = [int(x)] * n if isinstance(x, (int, np.integer)) else [int(v) for v in x]
    return out * n if len(out) == 1 else out


def convolution(
    x: Any, weight: Any, bias: Any, stride: Any, padding: Any, dilation: Any, transposed: bool, output_padding: Any, groups: int
) -> Operand:
    """Convolutions of any number of axes, transposed ones by zeros between the numbers and a kernel in reverse."""
    k = len(ops.shape_of(weight)) - 2
    alone = len(ops.shape_of(x)) == k + 1
    if alone:
        x = ops.reshape(x, (1, *ops.shape_of(x)))
    stride, dilation, output_padding = _many(stride, k), _many(dilation, k), _many(output_padding, k)
    size = ops.shape_of(weight)[2:]
    if isinstance(padding, str):
        total = [d * (s - 1) if padding == "same" else 0 for d, s in zip(dilation, size)]
        pads = [(t // 2, t - t // 2) for t in total]
    else:
        pads = [(p, p) for p in _many(padding, k)]
    if ops.known(x, weight):
        raise CreaseError("a convolution of known numbers takes part where only its bias is computed; fold the bias outside")
    if not transposed:
        out = ops.convolve(x, weight, stride, pads, dilation, groups)
    else:
        c_in, per = ops.shape_of(weight)[:2]
        kernel = ops.reshape(weight, [groups, c_in // groups, per, *size])
        kernel = ops.transpose(kernel, [0, 2, 1, *range(3, 3 + k)])
        kernel = ops.flip(ops.reshape(kernel, [groups * per, c_in // groups, *size]), range(2, 2 + k))
        around = [(d * (s - 1) - p, d * (s - 1) - p + o) for d, s, (p, _), o in zip(dilation, size, pads, output_padding)]
        out = ops.convolve(x, kernel, [1] * k, around, dilation, groups, stride)
    if bias is not None:
        out = ops.add(out, ops.reshape(bias, [-1] + [1] * k))
    return ops.reshape(out, ops.shape_of(out)[1:]) if alone else out


@op("conv1d", "conv2d", "conv3d")
def _conv(x: Any, weight: Any, bias: Any = None, stride: Any = 1, padding: Any = 0, dilation: Any = 1, groups: int = 1) -> Operand:
    return convolution(x, weight, bias, stride, padding, dilation, False, 0, groups)


@op("conv_transpose1d", "conv_transpose2d", "conv_transpose3d")
def _conv_transpose(
    x: Any, weight: Any, bias: Any = None, stride: Any = 1, padding: Any = 0, output_padding: Any = 0, groups: int = 1, dilation: Any = 1
) -> Operand:
    return convolution(x, weight, bias, stride, padding, dilation, True, output_padding, groups)


@op("convolution", "_convolution")
def _convolution(
    x: Any, weight: Any, bias: Any, stride: Any, padding: Any, dilation: Any, transposed: bool, output_padding: Any, groups: int, *_: Any
) -> Operand:
    return convolution(x, weight, bias, stride, padding, dilation, transposed, output_padding, groups)


# pools: windows, each with the numbers that lie in it


def _window_axis(n: int, size: int, stride: int, padding: int, dilation: int, ceil_mode: bool) -> list[np.ndarray]:
    """The indices in each window along one axis."""
    span = dilation * (size - 1) + 1
    count = (n + 2 * padding - span + (stride - 1 if ceil_mode else 0)) // stride + 1
    if ceil_mode and (count - 1) * stride >= n + padding:
        count -= 1
    if count <= 0:
        raise CreaseError(f"a window of {size} does not fit into {n} numbers")
    places = [np.arange(i * stride - padding, i * stride - padding + span, dilation) for i in range(count)]
    return [p[(p >= 0) & (p < n)] for p in places]


def _adaptive_axis(n: int, out: int) -> list[np.ndarray]:
    return [np.arange(i * n // out, -(-(i + 1) * n // out)) for i in range(out)]


def over_windows(x: Value, windows: list[list[np.ndarray]], reduce: Callable[[Value, np.ndarray], Operand]) -> Operand:
    """Reduces windows of the last axes. `reduce` gets rows ``[lead, windows, numbers]``, of one length each time, and their places among the last axes."""
    k = len(windows)
    lead, spatial = x.shape[: x.ndim - k], x.shape[x.ndim - k :]
    rows = math.prod(lead)
    area = math.prod(spatial)
    out_shape = [len(w) for w in windows]
    by_length = [{n: [i for i, p in enumerate(w) if len(p) == n] for n in {len(p) for p in w}} for w in windows]
    parts: list[Operand] = []
    order = np.zeros(math.prod(out_shape), np.int64)
    done = 0
    for lengths in itertools.product(*(sorted(d) for d in by_length)):
        if 0 in lengths:
            raise CreaseError("a window holds nothing but padding")
        which = [d[n] for d, n in zip(by_length, lengths)]
        place = np.zeros([1] * (2 * k), np.int64)
        for a in range(k):
            inside = np.array([windows[a][i] for i in which[a]]) * math.prod(spatial[a + 1 :])
            place = place + inside.reshape([len(which[j]) if j == a else 1 for j in range(k)] + [lengths[j] if j == a else 1 for j in range(k)])
        place = place.reshape(-1, math.prod(lengths))
        numbers = np.ravel_multi_index(np.meshgrid(*which, indexing="ij"), out_shape).ravel()
        order[numbers] = done + np.arange(len(numbers))
        done += len(numbers)
        every = (np.arange(rows) * area)[:, None, None] + place
        parts.append(reduce(mapped(x, every), place))
    out = parts[0]
    if len(parts) > 1:
        out = ops.table(ops.concatenate(parts, 1), np.arange(rows)[:, None] * done + order)
    return ops.reshape(out, [*lead, *out_shape])


def max_windows(x: Value, windows: list[list[np.ndarray]]) -> tuple[Operand, Later]:
    """The largest of each window, and its place among the last axes. PyTorch follows one place in its derivative, the first."""

    def place_of(rows: Value, place: np.ndarray) -> Operand:
        found = ops.position("argmax", rows, 2)
        table = np.broadcast_to(place.astype(float), rows.shape)
        return ops.reshape(ops.take_along_axis(table, ops.reshape(found, [*found.shape, 1]), 2), found.shape)

    largest = over_windows(x, windows, lambda rows, _: first_of("max", rows, -1, False))
    return largest, Later(lambda: over_windows(x, windows, place_of))


def _max_pool(k: int, positions: bool) -> Callable[..., Any]:
    def run(x: Value, size: Any, stride: Any = (), padding: Any = 0, dilation: Any = 1, ceil_mode: bool = False) -> Any:
        size = _many(size, k)
        stride = _many(stride, k) if not isinstance(stride, (list, tuple)) or len(stride) else size
        padding, dilation = _many(padding, k), _many(dilation, k)
        spatial = x.shape[x.ndim - k :]
        windows = [_window_axis(*p, ceil_mode) for p in zip(spatial, size, stride, padding, dilation)]
        found = max_windows(x, windows)
        return found if positions else found[0]

    return run


for _k in (1, 2, 3):
    op(f"max_pool{_k}d")(_max_pool(_k, False))
    op(f"max_pool{_k}d_with_indices")(_max_pool(_k, True))


def _avg_pool(k: int) -> Callable[..., Any]:
    def run(
        x: Value, size: Any, stride: Any = (), padding: Any = 0, ceil_mode: bool = False, count_include_pad: bool = True, divisor_override: int | None = None
    ) -> Any:
        size = _many(size, k)
        stride = _many(stride, k) if not isinstance(stride, (list, tuple)) or len(stride) else size
        padding = _many(padding, k)
        spatial = x.shape[x.ndim - k :]
        windows = [_window_axis(n, s, st, p, 1, ceil_mode) for n, s, st, p in zip(spatial, size, stride, padding)]
        total = over_windows(x, windows, lambda rows, _: ops.sum(rows, -1))
        if divisor_override:
            return ops.div(total, float(divisor_override))
        count = np.ones([1] * k)
        for a, (n, s, st, p, w) in enumerate(zip(spatial, size, stride, padding, windows)):
            # padding counts as far as it was asked for, and not what ceil_mode adds beyond it
            along = [min(i * st - p + s, n + p) - (i * st - p) for i in range(len(w))] if count_include_pad else [len(one) for one in w]
            count = count * np.array(along, float).reshape([-1 if j == a else 1 for j in range(k)])
        return ops.div(total, float(count.ravel()[0]) if (count == count.ravel()[0]).all() else count)

    return run


for _k in (1, 2, 3):
    op(f"avg_pool{_k}d")(_avg_pool(_k))


def _adaptive(x: Value, size: Any, k: int) -> list[list[np.ndarray]]:
    spatial = x.shape[x.ndim - k :]
    size = [int(size)] * k if isinstance(size, int) else list(size)
    return [_adaptive_axis(n, n if o is None else int(o)) for n, o in zip(spatial, size)]


def _adaptive_mean(k: int) -> Callable[..., Any]:
    return lambda x, size: over_windows(x, _adaptive(x, size, k), lambda rows, _: ops.mean(rows, -1))


for _k in (1, 2, 3):
    op(f"adaptive_avg_pool{_k}d", f"_adaptive_avg_pool{_k}d")(_adaptive_mean(_k))
    op(f"adaptive_max_pool{_k}d")(lambda x, size, k=_k: max_windows(x, _adaptive(x, size, k)))


@op("col2im", at=True)
def _col2im(at: At, x: Any, size: Any, kernel: Any, dilation: Any, padding: Any, stride: Any) -> Operand:
    """The transpose of taking windows: what falls on one place is added."""
    import torch

    shape = at.shape
    ones = torch.arange(1, math.prod(shape) + 1, dtype=torch.float64).reshape(shape)
    where = torch.ops.aten.im2col.default(ones, kernel, dilation, padding, stride).numpy().astype(np.int64).ravel()
    inside = np.nonzero(where)[0]
    return ops.add_at(ops.table(x, inside), where[inside] - 1, shape)


def _linear_map(at: At, x: Value, f: Callable[[Any], Any], sizes: Sequence[int]) -> Operand:
    """An interpolation: a product with a matrix along each of the last axes, which PyTorch makes of the unit vectors."""
    import torch

    k = len(sizes)
    for a in range(x.ndim - k, x.ndim):
        n = x.shape[a]
        unit = torch.eye(n, dtype=torch.float64).reshape([n, 1] + [n if b == a else 1 for b in range(x.ndim - k, x.ndim)])
        out = [sizes[b - x.ndim + k] if b == a else 1 for b in range(x.ndim - k, x.ndim)]
        matrix = f(unit, out, a - x.ndim + k).reshape(n, -1).numpy()
        order = [b for b in range(x.ndim) if b != a] + [a]
        moved = ops.matmul(ops.transpose(x, order), matrix)
        x = ops.transpose(moved, [order.index(b) for b in range(x.ndim)])
    return x


def _upsample(name: str, k: int, aligned: bool) -> None:
    def run(at: At, x: Value, *args: Any, **kwargs: Any) -> Operand:
        import torch

        function = getattr(torch.ops.aten, name).default
        overload = str(at.target).rpartition(".")[2]
        names = ["output_size", "align_corners"] if aligned else ["output_size"]
        names += ["scale_factors"] if overload == "vec" else ["scales"] if k == 1 else ["scales_d", "scales_h", "scales_w"][3 - k :]
        given = dict(zip(names, args)) | kwargs
        scales = given.get("scale_factors") or [given.get(n) for n in names[2 if aligned else 1 :]]
        scales = list(scales) + [None] * (k - len(scales))
        corners = bool(given.get("align_corners", False))

        def one(unit: Any, out: list[int], axis: int) -> Any:
            factors = [s if a == axis else None for a, s in enumerate(scales)]
            return function(unit, out, *([corners] if aligned else []), *factors)

        return _linear_map(at, x, one, at.shape[2:])

    op(name, at=True)(run)


for _name, _k in (("upsample_linear1d", 1), ("upsample_bilinear2d", 2), ("upsample_trilinear3d", 3), ("upsample_bicubic2d", 2),
                  ("_upsample_bilinear2d_aa", 2), ("_upsample_bicubic2d_aa", 2)):
    _upsample(_name, _k, True)


@op("grid_sampler", "grid_sampler_2d", "grid_sampler_3d", at=True)
def _grid_sampler(at: At, x: Any, grid: Any, *args: Any) -> Operand:
    """With a known grid it is a linear map of the image."""
    import torch

    if not ops.known(grid):
        raise CreaseError("grid_sample with a grid that is computed is not expressed")
    n, c, *spatial = x.shape
    area = math.prod(spatial)
    unit = torch.eye(area, dtype=torch.float64).reshape(1, area, *spatial)
    out = []
    for i in range(n):
        matrix = at.target(unit, torch.as_tensor(np.asarray(grid)[i : i + 1], dtype=torch.float64), *args).reshape(area, -1).numpy()
        image = ops.slice_axes(x, [slice(i, i + 1), slice(None)] + [slice(None)] * len(spatial))
        out.append(ops.matmul(ops.reshape(image, [c, area]), matrix))
    return ops.reshape(ops.stack(out, 0), at.shape)


# normalisations


def standardized(x: Operand, axis: Sequence[int], eps: float) -> Operand:
    """Less its mean, over its deviation."""
    centre = ops.sub(x, ops.mean(x, axis, True))
    var = ops.mean(ops.square(centre), axis, True)
    return ops.mul(centre, ops.power(ops.add(var, eps), -0.5))


def _affine(x: Operand, weight: Any, bias: Any, shape: Sequence[int] | None = None) -> Operand:
    for f, v in ((ops.mul, weight), (ops.add, bias)):
        if v is not None:
            x = f(x, v if shape is None else ops.reshape(v, shape))
    return x


def _channels(x: Operand) -> list[int]:
    return [1, -1] + [1] * (len(ops.shape_of(x)) - 2)


def batch_norm(x: Any, weight: Any, bias: Any, mean: Any, var: Any, training: bool, eps: float) -> Operand:
    """With the statistics of the batch in training, else those that are kept, which are constants. That training changes those is no part of the program."""
    shape = _channels(x)
    if training or mean is None:
        out = standardized(x, [a for a in range(len(ops.shape_of(x))) if a != 1], eps)
    else:
        scale = ops.power(ops.add(var, eps), -0.5)
        out = ops.mul(ops.sub(x, ops.reshape(mean, shape)), ops.reshape(scale, shape))
    return _affine(out, weight, bias, shape)


@op("batch_norm")
def _batch_norm(x: Any, weight: Any, bias: Any, mean: Any, var: Any, training: bool, momentum: float, eps: float, *_: Any) -> Operand:
    return batch_norm(x, weight, bias, mean, var, training, eps)


_STATISTICS = "the statistics that a normalisation keeps are not expressed"


@op("native_batch_norm", "_native_batch_norm_legit_functional", "_native_batch_norm_legit", "cudnn_batch_norm")
def _native_batch_norm(x: Any, weight: Any, bias: Any, mean: Any, var: Any, training: bool, momentum: float, eps: float) -> Any:
    return (batch_norm(x, weight, bias, mean, var, training, eps), *[Refused(_STATISTICS)] * 4)


@op("_batch_norm_with_update", "_batch_norm_with_update_functional")
def _batch_norm_with_update(x: Any, weight: Any, bias: Any, mean: Any, var: Any, momentum: float, eps: float) -> Any:
    return (batch_norm(x, weight, bias, mean, var, True, eps), *[Refused(_STATISTICS)] * 5)


@op("_native_batch_norm_legit.no_stats")
def _native_batch_norm_no_stats(x: Any, weight: Any, bias: Any, training: bool, momentum: float, eps: float) -> Any:
    return (batch_norm(x, weight, bias, None, None, True, eps), *[Refused(_STATISTICS)] * 2)


@op("_native_batch_norm_legit_no_training")
def _native_batch_norm_eval(x: Any, weight: Any, bias: Any, mean: Any, var: Any, momentum: float, eps: float) -> Any:
    return (batch_norm(x, weight, bias, mean, var, False, eps), *[Refused(_STATISTICS)] * 2)


@op("layer_norm")
def _layer_norm(x: Any, shape: Sequence[int], weight: Any = None, bias: Any = None, eps: float = 1e-5, *_: Any) -> Operand:
    n = len(ops.shape_of(x))
    return _affine(standardized(x, range(n - len(shape), n), eps), weight, bias)


@op("native_layer_norm")
def _native_layer_norm(x: Any, shape: Sequence[int], weight: Any, bias: Any, eps: float) -> Any:
    n = len(ops.shape_of(x))
    axis = list(range(n - len(shape), n))
    var = ops.mean(ops.square(ops.sub(x, ops.mean(x, axis, True))), axis, True)
    return _layer_norm(x, shape, weight, bias, eps), ops.mean(x, axis, True), ops.power(ops.add(var, eps), -0.5)


@op("rms_norm")
def _rms_norm(x: Any, shape: Sequence[int], weight: Any = None, eps: float | None = None) -> Operand:
    n = len(ops.shape_of(x))
    eps = 2.0**-23 if eps is None else eps
    mean = ops.mean(ops.square(x), range(n - len(shape), n), True)
    return _affine(ops.mul(x, ops.power(ops.add(mean, eps), -0.5)), weight, None)


@op("_fused_rms_norm")
def _fused_rms_norm(x: Any, shape: Sequence[int], weight: Any = None, eps: float | None = None) -> Any:
    return _rms_norm(x, shape, weight, eps), Refused(_STATISTICS)


def group_norm(x: Any, groups: int, weight: Any, bias: Any, eps: float) -> Operand:
    """Normalised over groups of channels."""
    shape = ops.shape_of(x)
    flat = ops.reshape(x, [shape[0], groups, math.prod(shape[1:]) // groups])
    return _affine(ops.reshape(standardized(flat, [2], eps), shape), weight, bias, _channels(x))


@op("group_norm")
def _group_norm(x: Any, groups: int, weight: Any = None, bias: Any = None, eps: float = 1e-5, *_: Any) -> Operand:
    return group_norm(x, groups, weight, bias, eps)


@op("native_group_norm")
def _native_group_norm(x: Any, weight: Any, bias: Any, n: int, c: int, hw: int, groups: int, eps: float) -> Any:
    return group_norm(x, groups, weight, bias, eps), Refused(_STATISTICS), Refused(_STATISTICS)


@op("instance_norm")
def _instance_norm(x: Any, weight: Any, bias: Any, mean: Any, var: Any, use_input_stats: bool, momentum: float, eps: float, *_: Any) -> Operand:
    if not use_input_stats:
        return batch_norm(x, weight, bias, mean, var, False, eps)
    out = standardized(x, range(2, len(ops.shape_of(x))), eps)
    return _affine(out, weight, bias, _channels(x))


@op("_weight_norm")
def _weight_norm(v: Any, g: Any, dim: int = 0) -> Operand:
    n = len(ops.shape_of(v))
    b = ops.builder_of(v, g)
    size = norm(ops.lift(b, v), 2.0, [a for a in range(n) if a != dim % n] if dim != -1 else list(range(n)), True)
    return ops.mul(v, ops.div(g, size))


@op("renorm")
def _renorm(x: Value, p: float, dim: int, most: float) -> Operand:
    axis = [a for a in range(x.ndim) if a != dim % x.ndim]
    size = norm(x, float(p), axis, True)
    return ops.mul(x, ops.where(ops.greater(size, most), ops.div(most, ops.add(size, 1e-7)), 1.0))


# attention


@op("scaled_dot_product_attention", masked=True)
def _attention(
    q: Any, k: Any, v: Any, mask: Any = None, dropout_p: float = 0.0, is_causal: bool = False, scale: float | None = None, enable_gqa: bool = False
) -> Operand:
    if dropout_p > 0:
        raise CreaseError("dropout in attention is random; call eval() on the module first")
    if enable_gqa:
        heads, others = ops.shape_of(q)[-3], ops.shape_of(k)[-3]
        which = np.repeat(np.arange(others), heads // others)
        k, v = (ops.take(x, which, len(ops.shape_of(x)) - 3) for x in (k, v))
    n = len(ops.shape_of(k))
    scale = 1.0 / math.sqrt(ops.shape_of(q)[-1]) if scale is None else scale
    scores = ops.mul(ops.matmul(q, ops.transpose(k, [*range(n - 2), n - 1, n - 2])), scale)
    return ops.matmul(safe_softmax(_hidden(scores, mask, is_causal), -1), v)


@op("_scaled_dot_product_flash_attention_for_cpu")
def _flash(q: Any, k: Any, v: Any, dropout_p: float = 0.0, is_causal: bool = False, attn_mask: Any = None, scale: float | None = None) -> Any:
    return _attention(q, k, v, attn_mask, dropout_p, is_causal, scale), Refused("the sums that attention keeps are not expressed")


def _hidden(scores: Operand, mask: Any, is_causal: bool) -> Any:
    """Scores with minus infinity where nothing is to be seen, or with a mask of numbers added."""
    if is_causal:
        mask = np.tril(np.ones(ops.shape_of(scores)[-2:], bool))
    if mask is None:
        return scores
    if isinstance(mask, Masked):
        return masked(ops.add(scores, mask.value), mask.holes, mask.sign)
    if isinstance(mask, Value):
        if mask.truth:
            raise CreaseError("a mask of attention that depends on the inputs is not expressed")
        return ops.add(scores, mask)
    mask = np.asarray(mask)
    if mask.dtype == bool:
        return masked(scores, np.broadcast_to(~mask, ops.shape_of(scores)), -1.0)
    finite, holes, sign = split(mask)
    out = ops.add(scores, finite)
    return masked(out, None if holes is None else np.broadcast_to(holes, ops.shape_of(out)), sign)


# losses


def reduced(x: Operand, reduction: int) -> Operand:
    """As it is, its mean, or its sum."""
    if reduction == 0 or not ops.shape_of(x):
        return x
    return ops.mean(x) if reduction == 1 else ops.sum(x)


@op("mse_loss")
def _mse(x: Any, y: Any, reduction: int = 1) -> Operand:
    return reduced(ops.square(ops.sub(x, y)), reduction)


@op("l1_loss")
def _l1(x: Any, y: Any, reduction: int = 1) -> Operand:
    return reduced(ops.absolute(ops.sub(x, y)), reduction)


@op("smooth_l1_loss")
def _smooth_l1(x: Any, y: Any, reduction: int = 1, beta: float = 1.0) -> Operand:
    difference = ops.sub(x, y)
    size = ops.absolute(difference)
    if beta == 0:
        return reduced(size, reduction)
    near = ops.div(ops.square(difference), 2 * beta)
    return reduced(ops.where(ops.less(size, beta), near, ops.sub(size, beta / 2)), reduction)


@op("huber_loss")
def _huber(x: Any, y: Any, reduction: int = 1, delta: float = 1.0) -> Operand:
    difference = ops.sub(x, y)
    size = ops.absolute(difference)
    near = ops.mul(0.5, ops.square(difference))
    return reduced(ops.where(ops.less_equal(size, delta), near, ops.mul(delta, ops.sub(size, delta / 2))), reduction)


def _chosen(log_p: Any, target: Any, weight: Any, ignore: int) -> tuple[Operand, Operand]:
    """For each example the negative of its class's number, weighted, and its weight; the classes are on axis 1, or 0 of a vector."""
    log_p = plain(log_p)
    shape = ops.shape_of(log_p)
    axis = 0 if len(shape) == 1 else 1
    classes = shape[axis]
    if not ops.known(target):
        if weight is not None:
            raise CreaseError("weights of classes that are computed are not expressed")
        spread = ops.reshape(target, [*shape[:axis], 1, *shape[axis + 1 :]])
        return ops.neg(ops.reshape(ops.take_along_axis(log_p, spread, axis), target.shape)), np.ones(target.shape)
    target = np.asarray(target)
    there = target != ignore
    safe = np.where(there, target, 0)
    if (safe < 0).any() or (safe >= classes).any():
        raise CreaseError(f"a class is not among the {classes} there are")
    picked = ops.take_along_axis(log_p, np.expand_dims(safe, axis), axis)
    picked = ops.reshape(picked, target.shape)
    if weight is None:
        weights: Operand = there.astype(float)
    elif ops.known(weight):
        weights = np.asarray(weight)[safe] * there
    else:
        weights = ops.mul(ops.take(weight, safe, 0), there.astype(float))
    if ops.known(weights) and (np.asarray(weights) == 1).all():
        return ops.neg(picked), weights
    return ops.neg(ops.where(there, ops.mul(weights, picked), 0.0)), weights


def nll(log_p: Any, target: Any, weight: Any, reduction: int, ignore: int) -> tuple[Operand, Operand]:
    """The loss, and the sum of the weights."""
    terms, weights = _chosen(log_p, target, weight, ignore)
    total = ops.sum(weights)
    if reduction == 0:
        return terms, total
    if reduction == 1 and ops.known(total) and float(total) == 0:
        raise CreaseError("a mean over no examples: all of them are ignored (PyTorch: NaN)")
    out = ops.sum(terms)
    return (ops.div(out, float(total) if ops.known(total) else total) if reduction == 1 else out), total


@op("nll_loss", "nll_loss2d", "nll_loss_nd")
def _nll(x: Any, target: Any, weight: Any = None, reduction: int = 1, ignore: int = -100) -> Operand:
    return nll(x, target, weight, reduction, ignore)[0]


@op("nll_loss_forward", "nll_loss2d_forward")
def _nll_forward(x: Any, target: Any, weight: Any, reduction: int, ignore: int) -> Any:
    return nll(x, target, weight, reduction, ignore)


@op("cross_entropy_loss", at=True, masked=True)
def _cross_entropy(
    at: At, x: Any, target: Any, weight: Any = None, reduction: int = 1, ignore: int = -100, smoothing: float = 0.0
) -> Operand:
    axis = 0 if len(x.shape) == 1 else 1
    classes = x.shape[axis]
    log_p = log_softmax(x, axis)
    along = [-1 if a == axis else 1 for a in range(len(x.shape))]
    if tuple(ops.shape_of(target)) == tuple(x.shape):
        # probabilities
        log_p = plain(log_p)
        if smoothing:
            target = ops.add(ops.mul(target, 1 - smoothing), smoothing / classes)
        terms = ops.mul(log_p, target) if weight is None else ops.mul(ops.mul(log_p, target), ops.reshape(weight, along))
        loss = ops.neg(ops.sum(terms, axis))
        examples = math.prod(x.shape) // classes
        return loss if reduction == 0 else ops.div(ops.sum(loss), float(examples)) if reduction == 1 else ops.sum(loss)
    if isinstance(log_p, Masked):
        log_p = log_p.value if _misses(log_p.holes, target, axis) and not smoothing else plain(log_p)
    loss, total = nll(log_p, target, weight, reduction, ignore)
    if not smoothing:
        return loss
    spread = ops.neg(ops.sum(log_p if weight is None else ops.mul(log_p, ops.reshape(weight, along)), axis))
    if not ops.known(target):
        raise CreaseError("label smoothing of classes that are computed is not expressed")
    spread = ops.where(np.asarray(target) != ignore, spread, 0.0)
    spread = spread if reduction == 0 else ops.sum(spread)
    spread = ops.div(spread, total) if reduction == 1 else spread
    return ops.add(ops.mul(1 - smoothing, loss), ops.mul(smoothing / classes, spread))


def _misses(holes: np.ndarray, target: Any, axis: int) -> bool:
    """Whether no example's class is masked away."""
    if not ops.known(target):
        return False
    at = np.expand_dims(np.clip(np.asarray(target), 0, holes.shape[axis] - 1), axis)
    return not np.take_along_axis(holes, at, axis).any()


def _log_at_least(x: Operand) -> Operand:
    """log(x), but -100 where it is less, 0 included."""
    if ops.known(x):
        with np.errstate(divide="ignore"):
            return np.maximum(np.log(x), -100.0)
    return ops.where(ops.greater(x, math.exp(-100.0)), ops.log(x), -100.0)


@op("binary_cross_entropy")
def _bce(x: Any, y: Any, weight: Any = None, reduction: int = 1) -> Operand:
    out = ops.neg(ops.add(ops.mul(y, _log_at_least(x)), ops.mul(ops.sub(1.0, y), _log_at_least(ops.sub(1.0, x)))))
    return reduced(out if weight is None else ops.mul(out, weight), reduction)


@op("binary_cross_entropy_with_logits")
def _bce_logits(x: Any, y: Any, weight: Any = None, pos_weight: Any = None, reduction: int = 1) -> Operand:
    soft = ops.softplus(ops.neg(x))
    if pos_weight is not None:
        soft = ops.mul(soft, ops.add(1.0, ops.mul(ops.sub(pos_weight, 1.0), y)))
    out = ops.add(ops.mul(ops.sub(1.0, y), x), soft)
    return reduced(out if weight is None else ops.mul(out, weight), reduction)


@op("kl_div")
def _kl(x: Any, y: Any, reduction: int = 1, log_target: bool = False) -> Operand:
    if log_target:
        return reduced(ops.mul(ops.exp(y), ops.sub(y, x)), reduction)
    entropy = ops.where(ops.equal(y, 0.0), 0.0, ops.mul(y, ops.log(y if not ops.known(y) else np.where(np.asarray(y) == 0, 1.0, y))))
    return reduced(ops.sub(entropy, ops.mul(y, x)), reduction)


@op("hinge_embedding_loss")
def _hinge_embedding(x: Any, y: Any, margin: float = 1.0, reduction: int = 1) -> Operand:
    """The margin is a clamp from below: slope 1 at its end."""
    far = clamp(ops.sub(margin, x), 0.0, None)
    out = ops.add(ops.where(ops.not_equal(y, 1.0), far, 0.0), ops.where(ops.not_equal(y, -1.0), x, 0.0))
    return reduced(out, reduction)


@op("margin_ranking_loss")
def _margin_ranking(x: Any, z: Any, y: Any, margin: float = 0.0, reduction: int = 1) -> Operand:
    return reduced(clamp(ops.add(ops.mul(ops.neg(y), ops.sub(x, z)), margin), 0.0, None), reduction)


@op("cosine_embedding_loss")
def _cosine_embedding(x: Any, z: Any, y: Any, margin: float = 0.0, reduction: int = 1) -> Operand:
    axis = len(ops.shape_of(x)) - 1
    total = lambda a, b: ops.sum(ops.mul(a, b), axis)  # noqa: E731
    sizes = [ops.add(total(v, v), 1e-12) for v in (x, z)]
    angle = ops.div(total(x, z), ops.sqrt(ops.mul(*sizes)))
    apart = clamp(ops.sub(angle, margin), 0.0, None)
    out = ops.add(ops.where(ops.equal(y, 1.0), ops.sub(1.0, angle), 0.0), ops.where(ops.equal(y, -1.0), apart, 0.0))
    return reduced(out, reduction)


@op("soft_margin_loss")
def _soft_margin(x: Any, y: Any, reduction: int = 1) -> Operand:
    return reduced(ops.softplus(ops.mul(ops.neg(y), x)), reduction)


@op("multi_margin_loss")
def _multi_margin(x: Value, target: Any, p: Any = 1, margin: Any = 1, weight: Any = None, reduction: int = 1) -> Operand:
    if not ops.known(target):
        raise CreaseError("classes that are computed are not expressed here")
    rows = x if x.ndim == 2 else ops.reshape(x, [1, -1])
    target = np.asarray(target).reshape(-1)
    n, classes = rows.shape
    own = ops.take_along_axis(rows, target[:, None], 1)
    over = ops.relu(ops.add(ops.sub(rows, own), float(margin)))
    over = over if p == 1 else ops.power(over, float(p))
    if weight is not None:
        over = ops.mul(over, ops.reshape(ops.take(weight, target, 0), [-1, 1]))
    over = ops.where(np.arange(classes) == target[:, None], 0.0, over)
    out = ops.div(ops.sum(over, 1), float(classes))
    return ops.reshape(out, []) if x.ndim < 2 else reduced(out, reduction)


@op("multilabel_margin_loss")
def _multilabel_margin(x: Value, target: Any, reduction: int = 1) -> Operand:
    if not ops.known(target):
        raise CreaseError("classes that are computed are not expressed here")
    rows = x if x.ndim == 2 else ops.reshape(x, [1, -1])
    n, classes = rows.shape
    out = []
    for i, row in enumerate(np.asarray(target).reshape(n, -1)):
        ends = np.nonzero(row < 0)[0]
        own = row[: ends[0]] if len(ends) else row
        others = np.setdiff1d(np.arange(classes), own)
        numbers = ops.reshape(ops.slice_axes(rows, [slice(i, i + 1), slice(None)]), [classes])
        if not len(own) or not len(others):
            out.append(np.zeros(()))
            continue
        gap = ops.sub(ops.reshape(ops.take(numbers, others, 0), [1, -1]), ops.reshape(ops.take(numbers, own, 0), [-1, 1]))
        out.append(ops.div(ops.sum(ops.relu(ops.add(gap, 1.0))), float(classes)))
    return ops.reshape(ops.stack(out, 0), []) if x.ndim < 2 else reduced(ops.stack(out, 0), reduction)


@op("triplet_margin_loss")
def _triplet(a: Any, good: Any, bad: Any, margin: float = 1.0, p: float = 2, eps: float = 1e-6, swap: bool = False, reduction: int = 1) -> Operand:
    near, far = _pairwise(a, good, p, eps), _pairwise(a, bad, p, eps)
    if swap:
        far = ops.minimum(far, _pairwise(good, bad, p, eps))
    return reduced(clamp(ops.add(ops.sub(near, far), margin), 0.0, None), reduction)


@op("poisson_nll_loss")
def _poisson(x: Any, y: Any, log_input: bool, full: bool, eps: float, reduction: int) -> Operand:
    out = ops.sub(ops.exp(x), ops.mul(y, x)) if log_input else ops.sub(x, ops.mul(y, ops.log(ops.add(x, eps))))
    if full:
        stirling = ops.add(ops.sub(ops.mul(y, ops.log(y)), y), ops.mul(0.5, ops.log(ops.mul(2 * math.pi, y))))
        out = ops.add(out, ops.where(ops.less_equal(y, 1.0), 0.0, stirling))
    return reduced(out, reduction)
