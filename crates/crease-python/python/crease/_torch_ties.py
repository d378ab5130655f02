"""What PyTorch returns at the kinks of its operations, beside what the program that is imported from it returns.

PyTorch is run, whatever version is installed; nothing here knows the answers. A part of docs/ties.md is made from :func:`ties_table`, by tools/ties.py.
"""

from __future__ import annotations

from typing import Any, Callable, NamedTuple

import numpy as np

from ._crease import CreaseError


class Tie(NamedTuple):
    """An operation at one of its kinks: what PyTorch returns for the gradient, what the program does (or why there is nothing), for which version; the program and the point."""

    operation: str
    place: str
    torch: Any
    crease: Any
    version: str
    program: Any
    point: Any

    @property
    def same(self) -> bool:
        """Whether both return the same."""
        return not isinstance(self.crease, str) and bool(np.allclose(self.torch, self.crease, rtol=1e-12, atol=0))


def cases() -> list[tuple[str, Callable[..., Any], list[float]]]:
    """Operations with a point at a kink; each is summed to a number with weights 1, 2, 3, ..."""
    import torch
    import torch.nn.functional as F

    zero, three, tied = [0.0], [2.0, 2.0, 1.0], [1.0, 3.0, 3.0, 3.0]
    row = lambda x: x.reshape(1, 1, -1)  # noqa: E731
    square = lambda x: x.reshape(1, 1, 2, 2)  # noqa: E731
    one = torch.ones((), dtype=torch.float64)
    return [
        ("relu(x)", torch.relu, zero),
        ("abs(x)", torch.abs, zero),
        ("sign(x)", torch.sign, zero),
        ("floor(x)", torch.floor, [1.0]),
        ("round(x)", torch.round, [0.5]),
        ("maximum(x, 0)", lambda x: torch.maximum(x, 0 * one), zero),
        ("maximum(x[0], x[1])", lambda x: torch.maximum(x[0], x[1]), [1.0, 1.0]),
        ("minimum(x[0], x[1])", lambda x: torch.minimum(x[0], x[1]), [1.0, 1.0]),
        ("fmax(x[0], x[1])", lambda x: torch.fmax(x[0], x[1]), [1.0, 1.0]),
        ("x.max()", torch.max, three),
        ("x.min()", torch.min, [2.0, 1.0, 1.0]),
        ("x.amax()", torch.amax, three),
        ("x.amin()", torch.amin, [2.0, 1.0, 1.0]),
        ("x.max(dim=0)", lambda x: torch.max(x, 0).values, three),
        ("x.min(dim=0)", lambda x: torch.min(x, 0).values, [2.0, 1.0, 1.0]),
        ("aminmax(x)", lambda x: torch.aminmax(x).max, three),
        ("median(x)", torch.median, [2.0, 2.0, 1.0]),
        ("median(x, dim=0)", lambda x: torch.median(x, 0).values, tied),
        ("kthvalue(x, 2)", lambda x: torch.kthvalue(x, 2).values, three),
        ("sort(x)", lambda x: torch.sort(x).values, [2.0, 1.0, 2.0]),
        ("sort(x, descending)", lambda x: torch.sort(x, descending=True, stable=True).values, [2.0, 1.0, 2.0]),
        ("topk(x, 1)", lambda x: torch.topk(x, 1).values, three),
        ("topk(x, 2)", lambda x: torch.topk(x, 2).values, tied),
        ("cummax(x)", lambda x: torch.cummax(x, 0).values, three),
        ("cummin(x)", lambda x: torch.cummin(x, 0).values, [1.0, 1.0, 2.0]),
        ("logsumexp(x)", lambda x: torch.logsumexp(x, 0), [1.0, 1.0]),
        ("clamp(x, 0, 1) at 0", lambda x: torch.clamp(x, 0, 1), zero),
        ("clamp(x, 0, 1) at 1", lambda x: torch.clamp(x, 0, 1), [1.0]),
        ("clamp(x, min=0)", lambda x: torch.clamp_min(x, 0), zero),
        ("clamp(x, max=0)", lambda x: torch.clamp_max(x, 0), zero),
        ("clamp(x, x[1], 3) of tensors", lambda x: torch.clamp(x[0], x[1], 3 * one), [1.0, 1.0]),
        ("hardtanh(x) at -1", F.hardtanh, [-1.0]),
        ("hardtanh(x) at 1", F.hardtanh, [1.0]),
        ("relu6(x) at 0", F.relu6, zero),
        ("relu6(x) at 6", F.relu6, [6.0]),
        ("leaky_relu(x)", F.leaky_relu, zero),
        ("elu(x, alpha=2)", lambda x: F.elu(x, 2.0), zero),
        ("celu(x, alpha=2)", lambda x: F.celu(x, 2.0), zero),
        ("selu(x)", F.selu, zero),
        ("prelu(x)", lambda x: F.prelu(x, 0.25 * one.reshape(1)), zero),
        ("rrelu(x)", F.rrelu, zero),
        ("hardsigmoid(x) at -3", F.hardsigmoid, [-3.0]),
        ("hardsigmoid(x) at 3", F.hardsigmoid, [3.0]),
        ("hardswish(x) at -3", F.hardswish, [-3.0]),
        ("hardswish(x) at 3", F.hardswish, [3.0]),
        ("softshrink(x) at 1/2", F.softshrink, [0.5]),
        ("softshrink(x) at -1/2", F.softshrink, [-0.5]),
        ("hardshrink(x) at 1/2", F.hardshrink, [0.5]),
        ("threshold(x, 0, 0)", lambda x: F.threshold(x, 0, 0), zero),
        ("softsign(x)", F.softsign, zero),
        ("softplus(x)", F.softplus, zero),
        ("where(x > 0, x, 0)", lambda x: torch.where(x > 0, x, 0 * one), zero),
        ("where(x >= 0, x, 0)", lambda x: torch.where(x >= 0, x, 0 * one), zero),
        ("linalg.norm(x)", torch.linalg.norm, [0.0, 0.0]),
        ("norm(x, 1)", lambda x: torch.norm(x, 1), [0.0, 1.0]),
        ("norm(x, inf)", lambda x: torch.norm(x, float("inf")), [-2.0, 2.0, 1.0]),
        ("norm(x, inf) at 0", lambda x: torch.norm(x, float("inf")), [0.0, 0.0]),
        ("std(x)", torch.std, [1.0, 1.0, 1.0]),
        ("cdist(x, 0)", lambda x: torch.cdist(x.reshape(1, -1), 0 * one.reshape(1, 1).expand(1, 2)), [0.0, 0.0]),
        ("dist(x, 0)", lambda x: torch.dist(x, 0 * one), [0.0, 0.0]),
        ("max_pool1d of a constant patch", lambda x: F.max_pool1d(row(x), 2), [1.0, 1.0, 1.0, 1.0]),
        ("max_pool1d with overlap", lambda x: F.max_pool1d(row(x), 3, 1), [1.0, 1.0, 1.0, 1.0]),
        ("max_pool2d of a constant patch", lambda x: F.max_pool2d(square(x), 2), [1.0, 1.0, 1.0, 1.0]),
        ("adaptive_max_pool2d of a constant patch", lambda x: F.adaptive_max_pool2d(square(x), 1), [1.0, 1.0, 1.0, 1.0]),
        ("l1_loss(x, 0)", lambda x: F.l1_loss(x, torch.zeros_like(x)), zero),
        ("smooth_l1_loss(x, 0) at 0", lambda x: F.smooth_l1_loss(x, torch.zeros_like(x)), zero),
        ("smooth_l1_loss(x, 0) at 1", lambda x: F.smooth_l1_loss(x, torch.zeros_like(x)), [1.0]),
        ("huber_loss(x, 0) at 1", lambda x: F.huber_loss(x, torch.zeros_like(x)), [1.0]),
        ("hinge_embedding_loss(x, -1)", lambda x: F.hinge_embedding_loss(x, -one), [1.0]),
        ("margin_ranking_loss", lambda x: F.margin_ranking_loss(x[:1], x[1:], one.reshape(1)), [1.0, 1.0]),
        ("multi_margin_loss", lambda x: F.multi_margin_loss(x.reshape(1, -1), torch.tensor([0])), [1.0, 0.0]),
        ("triplet_margin_loss", lambda x: F.triplet_margin_loss(x.reshape(1, 1), one.expand(1, 1), 2 * one.expand(1, 1), eps=0.0), zero),
        ("relu(x) - relu(-x)", lambda x: torch.relu(x) - torch.relu(-x), zero),
        ("fmod(x, 1)", lambda x: torch.fmod(x, 1), [1.0]),
        ("remainder(x, 1)", lambda x: torch.remainder(x, 1), [1.0]),
        ("hypot(x[0], x[1])", lambda x: torch.hypot(x[0], x[1]), [0.0, 0.0]),
        ("sqrt(x)", torch.sqrt, zero),
        ("sqrt(sum(x * x))", lambda x: torch.sqrt((x * x).sum()), [0.0, 0.0]),
        ("sqrt(relu(x))", lambda x: torch.sqrt(torch.relu(x)), zero),
        ("atan2(x[0], x[1])", lambda x: torch.atan2(x[0], x[1]), [0.0, 0.0]),
        ("prod(x) with a 0", torch.prod, [0.0, 2.0]),
        ("x ** 0.5", lambda x: x**0.5, zero),
    ]


def ties_table() -> list[Tie]:
    """A row for each operation and kink: its name, the point, what PyTorch returns, what the imported program returns (or why there is nothing), the version of PyTorch.

    >>> next(row for row in ties_table() if row.operation == "relu(x)")[1:4]
    ('(0)', array([0.]), array([0.]))
    """
    import torch

    from ._torch import from_torch, gradient

    rows = []
    for name, f, point in cases():
        x = np.array(point)

        def total(t: Any, f: Callable[..., Any] = f) -> Any:
            y = f(t)
            return (y.reshape(-1) * torch.arange(1, y.numel() + 1, dtype=torch.float64)).sum()

        theirs = gradient(total, (x,))
        program = None
        try:
            program = from_torch(total, x)
            ours = program.grad(x)
        except CreaseError as e:
            ours = str(e)
        place = "(" + ", ".join(f"{v:g}" for v in point) + ")"
        rows.append(Tie(name, place, theirs, ours, torch.__version__, program, x))
    return rows
