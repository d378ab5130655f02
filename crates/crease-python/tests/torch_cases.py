"""Cases for the tests of crease's import from PyTorch, and for the table of its coverage: functions and layers with inputs off kinks.

A case is a function and its examples, floats in double precision; a seed makes them. What is not a float is static.
"""

from __future__ import annotations

import math
from typing import Any, Callable

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

from crease._torch import arguments, from_torch, gradient

Case = tuple[Callable[..., Any], list[Any]]
aten = torch.ops.aten


def randn(*shape: int, seed: int = 0) -> torch.Tensor:
    """Numbers off kinks, with a seed."""
    g = torch.Generator().manual_seed(1000 + seed + sum(shape))
    return torch.randn(shape, generator=g, dtype=torch.float64)


def unit(*shape: int, seed: int = 0) -> torch.Tensor:
    """Numbers between 0.05 and 0.95."""
    return 0.05 + 0.9 * torch.sigmoid(randn(*shape, seed=seed))


def leaves(tree: Any) -> list[Any]:
    """Tensors of a nested result."""
    if isinstance(tree, (list, tuple)):
        return [x for t in tree for x in leaves(t)]
    if isinstance(tree, dict):
        return [x for t in tree.values() for x in leaves(t)]
    return [] if tree is None else [tree]


def off_by(a: Any, b: Any) -> float:
    """How far arrays are from one another, relative to their size where it is more than 1."""
    a, b = np.asarray(a, float), np.asarray(b, float)
    if a.shape != b.shape or not np.isfinite(b).all():
        return math.inf
    return float(np.max(np.abs(a - b), initial=0.0) / max(1.0, np.max(np.abs(b), initial=0.0)))


def total(f: Callable[..., Any]) -> Callable[..., Any]:
    """All floats of the results, summed with weights."""

    def run(*args: Any) -> Any:
        out: Any = 0.0
        for k, y in enumerate(leaves(f(*args))):
            if isinstance(y, torch.Tensor) and y.is_floating_point():
                weights = torch.cos(torch.arange(y.numel(), dtype=torch.float64) + k).to(y.dtype).reshape(y.shape)
                out = out + (y * weights).sum()
        return out

    return run


def compare(f: Callable[..., Any], args: list[Any], gradients: bool = True) -> tuple[float, float]:
    """How far crease's values and gradients are from PyTorch's."""
    real = arguments(args)
    with torch.no_grad():
        theirs = leaves(f(*args))
    ours = leaves(from_torch(f, *args)(*real))
    value = math.inf if len(ours) != len(theirs) else max((off_by(a, torch.as_tensor(b).double().numpy()) for a, b in zip(ours, theirs)), default=0.0)
    if not gradients or not any(isinstance(y, torch.Tensor) and y.is_floating_point() for y in theirs):
        return value, 0.0
    found = from_torch(total(f), *args).grad(*real)
    wanted = gradient(total(f), args)
    return value, max((off_by(a, b) for a, b in zip(leaves(found), leaves(wanted))), default=0.0)


def single(args: list[Any]) -> list[Any]:
    """The same in single precision."""
    return [x.float() if isinstance(x, torch.Tensor) and x.is_floating_point() else x for x in args]


# the operators of core ATen on real floats, one packet or more cases each


def operators() -> dict[str, list[Case]]:
    """Cases for operators of core ATen, by packet."""
    x, m, v = randn(2, 3), randn(3, 4), randn(5)
    image = randn(2, 3, 5, 6)
    idx = torch.tensor([2, 0, 1])
    out: dict[str, list[Case]] = {}
    for name in "abs asinh atan ceil cos cosh erf exp expm1 floor neg relu round sigmoid sign sin sinh tan tanh trunc".split():
        out[name] = [(getattr(aten, name), [randn(2, 3)]), (getattr(aten, name), [randn()])]
    for name in "log log10 log2 rsqrt sqrt reciprocal log1p".split():
        out[name] = [(getattr(aten, name), [unit(2, 3)])]
    for name in ("acos", "asin", "atanh"):
        out[name] = [(getattr(aten, name), [unit(4)])]
    out["acosh"] = [(aten.acosh, [1.1 + unit(4)])]
    for name in ("add", "sub"):
        f = getattr(aten, name)
        out[name] = [(f, [x, randn(3, seed=1)]), (lambda a, b, f=f: f(a, b, alpha=0.5), [x, randn(2, 1, seed=1)]), (lambda a, f=f: f(a, 2), [x])]
    out["mul"] = [(aten.mul, [x, randn(3, seed=1)]), (lambda a: a * 3, [x]), (lambda a: a * a, [x])]
    out["div"] = [(aten.div, [x, unit(2, 1)])] + [(lambda a, b, r=r: torch.div(a, b, rounding_mode=r), [3 * x, unit(3)]) for r in ("floor", "trunc")]
    out["fmod"] = [(torch.fmod, [5 * x, unit(3)]), (lambda a: torch.fmod(a, 0.7), [x])]
    out["remainder"] = [(torch.remainder, [5 * x, -unit(3)]), (lambda a: torch.remainder(a, 0.7), [x])]
    out["pow"] = [(lambda a, k=k: a**k, [x]) for k in (2, 3, -1, -2, 1, 0)] + [(lambda a, k=k: a**k, [unit(3)]) for k in (0.5, 1 / 3, 2.5)]
    out["pow"] += [(torch.pow, [unit(2, 3), randn(3)]), (lambda a: 2.0**a, [x])]
    out["atan2"] = [(torch.atan2, [randn(3, 4), randn(4, seed=1)])]
    for name in ("maximum", "minimum"):
        out[name] = [(getattr(aten, name), [x, randn(3, seed=1)])]
    out["clamp"] = [(lambda a, lo=lo, hi=hi: torch.clamp(a, lo, hi), [randn(9)]) for lo, hi in ((-0.3, 0.4), (None, 0.2), (0.1, None), (0.5, -0.5))]
    out["clamp"] += [(torch.clamp, [randn(4), randn(4, seed=1), randn(4, seed=2)]), (lambda a, b: torch.clamp(a, max=b), [randn(4), randn(1)])]
    for name in "eq ne lt le gt ge logical_and logical_or logical_xor".split():
        out[name] = [(lambda a, b, f=getattr(aten, name): f(a, b), [x, randn(3, seed=1)])]
    out["logical_not"] = [(torch.logical_not, [x])]
    for name in ("bitwise_and", "bitwise_or", "bitwise_xor"):
        out[name] = [(lambda a, b, f=getattr(torch, name): torch.where(f(a > 0, b > 0), a, b), [x, randn(2, 3, seed=1)])]
    out["bitwise_not"] = [(lambda a: torch.where(~(a > 0), a, 2 * a), [x])]
    out["where"] = [(lambda a, b: torch.where(a > b, a * a, b), [x, randn(3, seed=1)]), (lambda a: torch.where(torch.tensor([True, False, True]), a, -1.0), [x])]
    out["isnan"] = [(lambda a: torch.where(torch.isnan(a), 0.0, a), [x])]
    out["isinf"] = [(lambda a: torch.where(torch.isinf(a), 0.0, a), [x])]
    for name in ("sum", "mean", "amax", "amin", "prod", "var"):
        f = getattr(torch, name)
        out[name] = [(f, [randn(2, 3, 4)]), (lambda a, f=f: f(a, -1), [randn(2, 3, 4)]), (lambda a, f=f: f(a, 0, keepdim=True), [randn(2, 3, 4)])]
        if name not in ("prod",):
            out[name].append((lambda a, f=f: f(a, (0, -1)), [randn(2, 3, 4)]))
    out["var"] += [(lambda a: torch.var(a, 1, correction=0), [m]), (lambda a: torch.std(a, dim=(0, 1), correction=0.5), [m]), (lambda a: torch.var_mean(a, -1), [m])]
    for name in ("max", "min"):
        f = getattr(torch, name)
        out[name] = [(f, [m]), (lambda a, f=f: tuple(f(a, -1)), [m]), (lambda a, f=f: tuple(f(a, 0, keepdim=True)), [m]), (lambda a, b, f=f: f(a, b), [x, randn(3)])]
    for name in ("argmax", "argmin"):
        f = getattr(torch, name)
        out[name] = [(f, [m]), (lambda a, f=f: f(a, -2), [m]), (lambda a, f=f: f(a, 1, keepdim=True), [m])]
    out["any"] = [(lambda a: torch.any(a > 1, 1), [m]), (lambda a: torch.any(a > 1), [m])]
    out["cumsum"] = [(lambda a, d=d: torch.cumsum(a, d), [m]) for d in (0, -1)]
    out["sort"] = [(lambda a, k=k: tuple(torch.sort(a, **k)), [m]) for k in ({}, {"dim": 0}, {"descending": True}, {"dim": -2, "stable": True})]
    out["topk"] = [(lambda a, k=k: tuple(torch.topk(a, 2, **k)), [m]) for k in ({}, {"dim": 0}, {"largest": False})]
    out["_softmax"] = [(lambda a, d=d: torch.softmax(a, d), [m]) for d in (0, -1)]
    out["_log_softmax"] = [(lambda a, d=d: torch.log_softmax(a, d), [m]) for d in (0, -1)]
    out["mm"], out["bmm"] = [(torch.mm, [x, m])], [(torch.bmm, [randn(2, 3, 4), randn(2, 4, 5)])]
    out["addmm"] = [(torch.addmm, [randn(4), x, m]), (lambda a, b, c: torch.addmm(a, b, c, beta=0.5, alpha=-2), [randn(2, 4), x, m])]
    conv = lambda *a, **k: lambda i, w, b: aten.convolution(i, w, b, *a, **k)  # noqa: E731
    out["convolution"] = [
        (conv([1, 1], [0, 0], [1, 1], False, [0, 0], 1), [image, randn(4, 3, 3, 2), randn(4)]),
        (conv([2, 1], [1, 2], [2, 1], False, [0, 0], 3), [image, randn(6, 1, 2, 3), randn(6)]),
        (conv([2, 3], [1, 0], [1, 2], True, [1, 2], 1), [image, randn(3, 4, 3, 2), randn(4)]),
        (conv([2, 2], [3, 0], [1, 1], True, [0, 1], 3), [image, randn(3, 2, 2, 3), randn(6)]),
        (lambda i, w: F.conv1d(i, w, stride=2, padding=1), [randn(2, 3, 7), randn(2, 3, 3)]),
        (lambda i, w: F.conv1d(i, w, padding="same", dilation=2), [randn(3, 8), randn(2, 3, 4)]),
        (lambda i, w: F.conv3d(i, w, padding=1), [randn(1, 2, 3, 4, 3), randn(2, 2, 2, 3, 2)]),
        (lambda i, w: F.conv_transpose3d(i, w, stride=2, output_padding=1), [randn(1, 2, 2, 2, 3), randn(2, 1, 2, 3, 2)]),
    ]
    out["max_pool2d_with_indices"] = [
        (lambda a, k=k: F.max_pool2d(a, **k), [image])
        for k in ({"kernel_size": 2}, {"kernel_size": 3, "stride": 2, "padding": 1}, {"kernel_size": (2, 3), "stride": 2, "ceil_mode": True, "padding": 1}, {"kernel_size": 2, "dilation": 2, "stride": 1})
    ] + [(lambda a: F.max_pool2d(a, 2, return_indices=True), [image]), (lambda a: F.max_pool2d(a, 3, 2, 1, return_indices=True), [image[0]])]
    out["max_pool3d_with_indices"] = [(lambda a: F.max_pool3d(a, 2, ceil_mode=True), [randn(1, 2, 3, 4, 5)])]
    out["avg_pool2d"] = [
        (lambda a, k=k: F.avg_pool2d(a, **k), [image])
        for k in ({"kernel_size": 2}, {"kernel_size": 3, "stride": 2, "padding": 1}, {"kernel_size": 3, "padding": 1, "count_include_pad": False},
                  {"kernel_size": (3, 2), "stride": 2, "ceil_mode": True, "padding": 1}, {"kernel_size": 2, "divisor_override": 3},
                  {"kernel_size": 3, "stride": 2, "ceil_mode": True, "padding": 1, "count_include_pad": False})
    ]
    out["avg_pool3d"] = [(lambda a: F.avg_pool3d(a, 2, padding=1, ceil_mode=True), [randn(1, 2, 3, 4, 5)])]
    out["_adaptive_avg_pool2d"] = [(lambda a, s=s: F.adaptive_avg_pool2d(a, s), [image]) for s in (1, 3, (4, None))]
    out["_adaptive_avg_pool3d"] = [(lambda a: F.adaptive_avg_pool3d(a, (2, 3, 2)), [randn(1, 2, 3, 4, 5)])]
    out["native_layer_norm"] = [(lambda a, w, b: F.layer_norm(a, (4,), w, b), [m, randn(4), randn(4, seed=1)]), (lambda a: F.layer_norm(a, (3, 4)), [m])]
    out["native_group_norm"] = [(lambda a, w, b: F.group_norm(a, 3, w, b), [randn(2, 6, 4), randn(6), randn(6, seed=1)])]
    out["_native_batch_norm_legit"] = [(lambda a: F.batch_norm(a, None, None, training=True), [image])]
    out["_native_batch_norm_legit_no_training"] = [
        (lambda a, w, b: F.batch_norm(a, torch.tensor([0.1, 0.2, 0.3]).double(), torch.tensor([1.0, 2.0, 0.5]).double(), w, b), [image, randn(3), randn(3, seed=1)])
    ]
    out["native_dropout"] = [(lambda a: aten.native_dropout(a, 0.5, False)[0], [x]), (lambda a: F.dropout(a, 0.5, False), [x])]
    out["embedding"] = [(lambda w: F.embedding(torch.tensor([[0, 2], [1, 1]]), w), [m]), (lambda w, a: F.embedding(torch.argmax(a, -1), w), [m, randn(2, 3)])]
    out["_embedding_bag"] = [(lambda w, mode=mode: F.embedding_bag(torch.tensor([[0, 2], [1, 1]]), w, mode=mode), [m]) for mode in ("sum", "mean", "max")]
    out["index"] = [
        (lambda a: a[idx], [m]), (lambda a: a[:, torch.tensor([[0, -1]])], [m]), (lambda a: a[torch.tensor([True, False, True])], [m]),
        (lambda a: a[idx, torch.tensor([0, 1, 3])], [m]), (lambda a: a[..., 1::2], [m]), (lambda a, b: a[b.argmax(-1)], [m, randn(2, 3)]),
    ]
    out["index_select"] = [(lambda a: torch.index_select(a, -1, idx), [m]), (lambda a, b: torch.index_select(a, 1, b.argmax(0)), [m, randn(3, 2)])]
    out["gather"] = [(lambda a: torch.gather(a, 1, torch.tensor([[0, 2], [1, 1]])), [m]), (lambda a: torch.gather(a, 1, a.argmax(1, keepdim=True)), [m])]
    out["scatter"] = [(lambda a, b: torch.scatter(a, 1, torch.tensor([[0, 2], [1, 3]]), b), [m, randn(2, 2)]), (lambda a: torch.scatter(a, 0, torch.tensor([[0, 2, 1]]), 5.0), [m]),
                      (lambda a: torch.scatter(a, 1, a.argmax(1, keepdim=True), 0.0), [m])]
    out["scatter_add"] = [(lambda a, b: torch.scatter_add(a, 1, torch.tensor([[0, 0], [1, 3]]), b), [m, randn(2, 2)]), (lambda a, b: torch.scatter_add(a, 1, a.argsort(1), b), [m, randn(3, 4, seed=3)])]
    out["scatter_reduce"] = [
        (lambda a, b, r=r, s=s: torch.scatter_reduce(a, 1, torch.tensor([[0, 0, 2], [1, 3, 3]]), b, r, include_self=s), [m, randn(2, 3, seed=5)])
        for r in ("sum", "prod", "mean", "amax", "amin") for s in (True, False)
    ]
    out["index_put"] = [(lambda a, b, acc=acc: torch.index_put(a, (idx[:2], torch.tensor([1, 1])), b, acc), [m, randn(2)]) for acc in (False, True)]
    out["masked_scatter"] = [(lambda a, b: torch.masked_scatter(a, torch.eye(3, 4) > 0, b), [m, randn(5)])]
    out["select_scatter"] = [(lambda a, b: torch.select_scatter(a, b, -1, 2), [m, randn(3)])]
    out["slice_scatter"] = [(lambda a, b: torch.slice_scatter(a, b, 1, 0, 4, 2), [m, randn(3, 2)])]
    moves: dict[str, list[Callable[..., Any]]] = {
        "view": [lambda a: a.view(4, 3), lambda a: a.view(-1)], "permute": [lambda a: a.permute(1, 0)], "expand": [lambda a: a[None].expand(2, -1, -1)],
        "squeeze": [lambda a: a[:1].squeeze(0), lambda a: a[:1, :1].squeeze()], "unsqueeze": [lambda a: a.unsqueeze(-1)],
        "slice": [lambda a: a[1:], lambda a: a[:, -3:-1], lambda a: a[::2, 1::2]], "select": [lambda a: a.select(-1, -2), lambda a: a[1]],
        "split_with_sizes": [lambda a: a.split([1, 3], -1)], "flip": [lambda a: a.flip(0, -1)], "repeat": [lambda a: a.repeat(2, 1, 2)],
        "diagonal": [lambda a: a.diagonal(), lambda a: a.diagonal(1)], "as_strided": [lambda a: a.as_strided((2, 2), (5, 3), 1)],
        "clone": [lambda a: a.clone()], "alias": [aten.alias], "_to_copy": [lambda a: a.to(torch.float64, copy=True) * 2, lambda a: a.to(torch.int64), lambda a: a.bool()],
        "constant_pad_nd": [lambda a: F.pad(a, (1, 2)), lambda a: F.pad(a, (-1, 1, 2, 0), value=1.5)], "fill": [lambda a: aten.fill(a, 2.0) * a],
        "full_like": [lambda a: torch.full_like(a, 0.5) * a], "copy": [lambda a: aten.copy(torch.zeros(3, 4, dtype=torch.float64), a.detach()) > 0],
    }
    for name, fs in moves.items():
        out[name] = [(f, [m]) for f in fs]
    out["cat"] = [(lambda a, b: torch.cat([a, b, a], 0), [x, randn(1, 3)]), (lambda a: torch.cat([a, torch.ones(2, 1).double()], -1), [x])]
    for mode in ("reflect", "replicate"):
        base = "reflection_pad" if mode == "reflect" else "replication_pad"
        out[base + "1d"] = [(lambda a, mode=mode: F.pad(a, (2, 1), mode), [randn(2, 3, 4)])]
        out[base + "2d"] = [(lambda a, mode=mode: F.pad(a, (2, 1, 0, 3), mode), [image])]
        out[base + "3d"] = [(lambda a, mode=mode: F.pad(a, (1, 1, 0, 2, 1, 0), mode), [randn(1, 2, 3, 4, 3)])]
    del out["replication_pad1d"]
    out["upsample_nearest2d"] = [(lambda a: F.interpolate(a, scale_factor=2), [image]), (lambda a: F.interpolate(a, size=(3, 7)), [image])]
    out["upsample_bilinear2d"] = [(lambda a, c=c: F.interpolate(a, size=(7, 4), mode="bilinear", align_corners=c), [image]) for c in (True, False)] + [
        (lambda a: F.interpolate(a, scale_factor=1.7, mode="bilinear"), [image])
    ]
    grid = torch.tanh(randn(2, 3, 2, 2))
    out["grid_sampler_2d"] = [(lambda a, k=k: F.grid_sample(a, grid, **k), [image]) for k in ({"align_corners": False}, {"align_corners": True, "padding_mode": "border"})]
    out["col2im"] = [(lambda a: F.fold(a, (5, 4), (2, 3), padding=1, stride=2), [randn(2, 12, 6)])]
    out["elu"] = [(F.elu, [x]), (lambda a: F.elu(a, 0.3), [x])]
    out["gelu"] = [(F.gelu, [x]), (lambda a: F.gelu(a, approximate="tanh"), [x])]
    out["hardtanh"], out["leaky_relu"] = [(lambda a: F.hardtanh(a, -0.3, 0.8), [x])], [(lambda a: F.leaky_relu(a, 0.2), [x])]
    out["_cdist_forward"] = [(lambda a, b, p=p: torch.cdist(a, b, p), [x, randn(4, 3)]) for p in (1.0, 2.0, 3.0, math.inf)]
    out["_pdist_forward"] = [(F.pdist, [randn(4, 3)])]
    out["arange"] = [(lambda a: a * torch.arange(0, 3, 1), [x])]
    out["full"] = [(lambda a: a + torch.full((3,), 0.5), [x])]
    out["scalar_tensor"] = [(lambda a: a * aten.scalar_tensor(0.5), [x])]
    out["empty"] = [(lambda a: torch.empty(2, 3, dtype=torch.float64).copy_(a) * 2, [x])]
    out["var"].append((lambda a: torch.var(a, unbiased=False), [v]))
    return out


# layers


class Fixed(nn.Module):
    """A module whose last arguments are part of it."""

    def __init__(self, module: nn.Module, *last: Any):
        super().__init__()
        self.module, self.last = module, last

    def forward(self, *args: Any) -> Any:
        return self.module(*args, *self.last)


def layers() -> dict[str, dict[str, list[tuple[nn.Module, list[Any]]]]]:
    """torch.nn's activations, losses, pools and normalisations: by kind and class, with arguments."""
    torch.manual_seed(7)
    x, image, signal, volume = randn(3, 4), randn(2, 4, 6, 5), randn(2, 4, 9), randn(1, 2, 4, 5, 4)
    y, labels = randn(3, 4, seed=1), torch.tensor([1, 3, 0])
    signs = torch.tensor([1.0, -1.0, 1.0]).double()
    plain = "ReLU RReLU Hardtanh ReLU6 Sigmoid Hardsigmoid Tanh SiLU Mish Hardswish ELU CELU SELU GLU GELU Hardshrink LeakyReLU LogSigmoid Softplus Softshrink PReLU Softsign Tanhshrink"
    activations: dict[str, list[tuple[nn.Module, list[Any]]]] = {name: [(getattr(nn, name)(), [2 * x])] for name in plain.split()}
    activations["Threshold"] = [(nn.Threshold(0.1, 2.0), [x])]
    activations["GELU"].append((nn.GELU("tanh"), [x]))
    activations["Softplus"] += [(nn.Softplus(2.0), [x]), (nn.Softplus(1.0, 0.5), [x])]
    activations["PReLU"].append((nn.PReLU(4), [x]))
    activations["RReLU"].append((nn.RReLU(0.1, 0.2), [x]))
    for name in ("Softmin", "Softmax", "LogSoftmax"):
        activations[name] = [(getattr(nn, name)(d), [x]) for d in (0, 1)]
    activations["Softmax2d"] = [(nn.Softmax2d(), [image])]
    attention = nn.MultiheadAttention(4, 2, batch_first=True)
    activations["MultiheadAttention"] = [(attention, [randn(2, 3, 4), randn(2, 5, 4), randn(2, 5, 4, seed=1)])]
    losses: dict[str, list[tuple[nn.Module, list[Any]]]] = {}
    for name in "L1Loss MSELoss SmoothL1Loss HuberLoss".split():
        losses[name] = [(getattr(nn, name)(reduction=r), [x, y]) for r in ("mean", "sum", "none")]
    losses["SmoothL1Loss"].append((nn.SmoothL1Loss(beta=0.3), [x, y]))
    losses["HuberLoss"].append((nn.HuberLoss(delta=0.3), [x, y]))
    weight = unit(4)
    losses["NLLLoss"] = [(nn.NLLLoss(weight=weight, ignore_index=3), [F.log_softmax(x, 1), labels]), (nn.NLLLoss(reduction="none"), [x, labels]), (nn.NLLLoss(), [image, torch.arange(60).reshape(2, 6, 5) % 4])]
    losses["NLLLoss2d"] = [(nn.NLLLoss(), [image, torch.arange(60).reshape(2, 6, 5) % 4])]
    losses["CrossEntropyLoss"] = [
        (nn.CrossEntropyLoss(), [x, labels]), (nn.CrossEntropyLoss(weight=weight, label_smoothing=0.1, ignore_index=0), [x, labels]), (nn.CrossEntropyLoss(reduction="sum"), [x, torch.softmax(y, 1)]),
        (nn.CrossEntropyLoss(label_smoothing=0.2), [x, torch.softmax(y, 1)]), (nn.CrossEntropyLoss(), [x[0], torch.tensor(2)]), (nn.CrossEntropyLoss(), [image, torch.arange(60).reshape(2, 6, 5) % 4]),
    ]
    losses["PoissonNLLLoss"] = [(nn.PoissonNLLLoss(), [x, 3 * unit(3, 4)]), (nn.PoissonNLLLoss(False, True), [unit(3, 4), 1.5 + unit(3, 4, seed=1)])]
    losses["GaussianNLLLoss"] = [(nn.GaussianNLLLoss(), [x, y, unit(3, 4)]), (nn.GaussianNLLLoss(full=True), [x, y, unit(3, 4)])]
    losses["KLDivLoss"] = [(nn.KLDivLoss(reduction=r), [F.log_softmax(x, 1), torch.softmax(y, 1)]) for r in ("batchmean", "sum", "none")] + [(nn.KLDivLoss(reduction="sum", log_target=True), [x, y])]
    losses["BCELoss"] = [(nn.BCELoss(), [unit(3, 4), unit(3, 4, seed=1)]), (nn.BCELoss(weight=weight), [unit(3, 4), torch.eye(3, 4).double()])]
    losses["BCEWithLogitsLoss"] = [(nn.BCEWithLogitsLoss(), [x, unit(3, 4)]), (nn.BCEWithLogitsLoss(weight=weight, pos_weight=1 + weight), [x, unit(3, 4)])]
    losses["HingeEmbeddingLoss"] = [(nn.HingeEmbeddingLoss(margin=0.7), [x, torch.sign(y)])]
    losses["MultiLabelMarginLoss"] = [(nn.MultiLabelMarginLoss(), [x, torch.tensor([[3, 0, -1, 1], [1, -1, -1, -1], [0, 1, 2, 3]])])]
    losses["SoftMarginLoss"] = [(Fixed(nn.SoftMarginLoss(), torch.sign(y)), [x])]
    losses["MultiLabelSoftMarginLoss"] = [(nn.MultiLabelSoftMarginLoss(), [x, (y > 0).double()])]
    losses["CosineEmbeddingLoss"] = [(nn.CosineEmbeddingLoss(margin=0.1), [x, y, signs])]
    losses["MarginRankingLoss"] = [(nn.MarginRankingLoss(margin=0.1), [x[:, 0], y[:, 0], signs])]
    losses["MultiMarginLoss"] = [(nn.MultiMarginLoss(), [x, labels]), (nn.MultiMarginLoss(p=2, margin=0.5, weight=weight, reduction="sum"), [x, labels])]
    losses["TripletMarginLoss"] = [(nn.TripletMarginLoss(), [x, y, randn(3, 4, seed=2)]), (nn.TripletMarginLoss(p=1, swap=True), [x, y, randn(3, 4, seed=2)])]
    losses["TripletMarginWithDistanceLoss"] = [(nn.TripletMarginWithDistanceLoss(), [x, y, randn(3, 4, seed=2)])]
    losses["CTCLoss"] = [(nn.CTCLoss(), [F.log_softmax(randn(5, 1, 3), -1), torch.tensor([[1, 2]]), torch.tensor([5]), torch.tensor([2])])]
    if hasattr(nn, "LinearCrossEntropyLoss"):
        losses["LinearCrossEntropyLoss"] = [(nn.LinearCrossEntropyLoss(4, 3), [x, torch.tensor([0, 2, 1])])]
    spaces = {1: signal, 2: image, 3: volume}
    pools: dict[str, list[tuple[nn.Module, list[Any]]]] = {}
    for k, a in spaces.items():
        make = lambda name, *args, k=k, **kw: getattr(nn, f"{name}{k}d")(*args, **kw)  # noqa: E731
        pools[f"MaxPool{k}d"] = [(make("MaxPool", 2), [a]), (make("MaxPool", 3, 2, 1), [a]), (make("MaxPool", 3, 2, padding=1, ceil_mode=True), [a]), (make("MaxPool", 2, return_indices=True), [a])]
        pools[f"AvgPool{k}d"] = [(make("AvgPool", 2), [a]), (make("AvgPool", 3, 2, 1), [a]), (make("AvgPool", 3, 2, padding=1, ceil_mode=True, count_include_pad=False), [a])]
        pools[f"AdaptiveMaxPool{k}d"] = [(make("AdaptiveMaxPool", s), [a]) for s in (1, 3)]
        pools[f"AdaptiveAvgPool{k}d"] = [(make("AdaptiveAvgPool", s), [a]) for s in (1, 3)]
        pools[f"LPPool{k}d"] = [(make("LPPool", p, 2), [a.abs() + 0.1]) for p in (1, 2)]
        pooled, places = getattr(F, f"max_pool{k}d")(a[(slice(None), slice(None)) + (slice(0, 4),) * k], 2, return_indices=True)
        pools[f"MaxUnpool{k}d"] = [(make("MaxUnpool", 2), [pooled, places])]
    for k in (2, 3):
        pools[f"FractionalMaxPool{k}d"] = [(getattr(nn, f"FractionalMaxPool{k}d")(2, output_ratio=0.5), [spaces[k]])]
    norms: dict[str, list[tuple[nn.Module, list[Any]]]] = {
        "LocalResponseNorm": [(nn.LocalResponseNorm(2), [image])], "CrossMapLRN2d": [(nn.CrossMapLRN2d(2), [image])],
        "LayerNorm": [(nn.LayerNorm(4), [x]), (nn.LayerNorm((6, 5), elementwise_affine=False), [image])], "GroupNorm": [(nn.GroupNorm(2, 4), [image])],
        "RMSNorm": [(nn.RMSNorm(4, eps=1e-5), [x])],
    }
    for k, a in spaces.items():
        c = a.shape[1]
        batch = getattr(nn, f"BatchNorm{k}d")
        norms[f"BatchNorm{k}d"] = [(batch(c), [a]), (batch(c).eval(), [a]), (batch(c, affine=False, track_running_stats=False), [a])]
        norms[f"InstanceNorm{k}d"] = [(getattr(nn, f"InstanceNorm{k}d")(c, affine=True), [a]), (getattr(nn, f"InstanceNorm{k}d")(c, track_running_stats=True).eval(), [a])]
    found = {"activations": activations, "losses": losses, "pooling": pools, "normalisation": norms}
    for kind in found.values():
        for cases in kind.values():
            for module, _ in cases:
                module.double()
                for p in module.parameters():
                    # off the values that all networks begin with
                    p.data = p.data + 0.1 * randn(*p.shape)
                if not isinstance(module, (nn.modules.batchnorm._BatchNorm, nn.modules.instancenorm._InstanceNorm)):
                    module.eval()
    return found


def networks() -> dict[str, tuple[nn.Module, list[Any]]]:
    """Small networks of the usual kinds."""
    torch.manual_seed(3)

    class Residual(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.conv, self.norm = nn.Conv2d(3, 3, 3, padding=1), nn.BatchNorm2d(3)
            self.head = nn.Linear(3, 2)

        def forward(self, x: Any) -> Any:
            y = F.relu_(self.norm(self.conv(x))) + x
            return self.head(F.max_pool2d(y, 2).mean((2, 3)))

    class Tagger(nn.Module):
        def __init__(self, cell: type) -> None:
            super().__init__()
            self.words, self.cell = nn.Embedding(5, 3), cell(3, 4, batch_first=True, bidirectional=True)
            self.scale = nn.Linear(1, 1)

        def forward(self, words: Any, t: Any) -> Any:
            return self.cell(self.words(words) * self.scale(t))[0]

    causal = nn.Transformer.generate_square_subsequent_mask(3)
    made = {
        "MLP": (nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 8), nn.GELU(), nn.Linear(8, 2)), [randn(2, 3)]),
        "CNN": (nn.Sequential(nn.Conv2d(1, 4, 3, padding=1), nn.ReLU(inplace=True), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(36, 3)), [randn(2, 1, 6, 7)]),
        "residual": (Residual(), [randn(2, 3, 4, 4)]),
        "transformer encoder": (nn.TransformerEncoderLayer(4, 2, 8, batch_first=True, norm_first=True), [randn(2, 3, 4)]),
        "transformer, causal": (Fixed(nn.TransformerEncoderLayer(4, 2, 8), causal.double()), [randn(3, 2, 4)]),
        "transformer decoder": (nn.TransformerDecoderLayer(4, 2, 8), [randn(3, 2, 4), randn(5, 2, 4)]),
        "RNN": (nn.RNN(3, 4, nonlinearity="relu"), [randn(3, 2, 3)]),
        "LSTM": (nn.LSTM(3, 4, 2), [randn(3, 2, 3)]),
        "GRU": (nn.GRU(3, 4), [randn(3, 2, 3)]),
        "tagger": (Tagger(nn.GRU), [torch.tensor([[0, 3, 1]]), randn(1, 1, 1)]),
        "LSTM cell": (nn.LSTMCell(3, 4), [randn(2, 3), (randn(2, 4), randn(2, 4, seed=1))]),
        "autoencoder": (nn.Sequential(nn.Conv2d(1, 2, 3, stride=2), nn.Mish(), nn.ConvTranspose2d(2, 1, 3, stride=2, output_padding=1), nn.Upsample(scale_factor=2, mode="bilinear")), [randn(1, 1, 6, 6)]),
    }
    return {name: (m.double().eval(), args) for name, (m, args) in made.items()}
