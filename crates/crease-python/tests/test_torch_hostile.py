"""Random compositions of small functions of PyTorch, at points with many ties: values and gradients as PyTorch has them."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")
import torch.nn.functional as F  # noqa: E402

from crease._torch import from_torch, gradient  # noqa: E402


def in_place(x):
    y = x.clone()
    y[0] = y[1] * 2
    y += 1
    return y


def parts_in_place(x):
    y = x * 1.0
    y[1:].mul_(2.0)
    y[:2].clamp_(max=1.0)
    return y


def row(x):
    return x.reshape(1, 1, -1)


# of a vector, to a vector of its length; what follows whichever of equals an algorithm leaves in front (topk, kthvalue, quantile) is not among them
OF_ONE = {
    "abs": torch.abs, "relu": torch.relu, "relu6": lambda x: F.relu6(3 * x), "leaky": F.leaky_relu, "elu": F.elu, "celu": lambda x: F.celu(x, 0.5), "selu": F.selu, "hardtanh": F.hardtanh,
    "hardswish": F.hardswish, "softshrink": lambda x: F.softshrink(x, 1.0), "threshold": lambda x: F.threshold(x, 1.0, 1.0), "clamp": lambda x: x.clamp(-1, 1), "clamp_min": lambda x: x.clamp_min(0),
    "clamp by tensors": lambda x: torch.clamp(x, torch.zeros_like(x), x.max()), "maximum": lambda x: torch.maximum(x, x.flip(0)), "fmax": lambda x: torch.fmax(x, x.roll(2)), "square": lambda x: x * x,
    "flip": lambda x: x.flip(0), "roll": lambda x: x.roll(1), "strides": lambda x: x[::2].repeat_interleave(2)[: x.shape[0]], "stable sort": lambda x: x.sort(descending=True, stable=True).values,
    "by argsort": lambda x: x[torch.argsort(x, stable=True)], "cummax": lambda x: x.cummax(0).values, "cummin": lambda x: x.cummin(0).values, "cumprod": lambda x: (x * 0.5).cumprod(0),
    "pool": lambda x: F.max_pool1d(row(x), 2, 1, 1).reshape(-1)[: x.shape[0]], "adaptive pool": lambda x: F.adaptive_max_pool1d(row(x), 2).reshape(-1).repeat(4)[: x.shape[0]],
    "max": lambda x: x - x.max(), "amax": lambda x: x - x.amax(), "max along": lambda x: x - x.max(0).values, "min along": lambda x: x + x.min(0).values, "aminmax": lambda x: x * x.aminmax().max,
    "argmax": lambda x: x * x[x.argmax()], "where": lambda x: torch.where(x >= 1, x * x, x), "floor": lambda x: x * torch.floor(x * 0.3 + 0.1),
    "fmod": lambda x: torch.fmod(x, 1.5), "remainder": lambda x: torch.remainder(x, 1.5), "in place": in_place, "parts in place": parts_in_place, "softmax": lambda x: x.softmax(0),
    "index_put": lambda x: x.index_put((torch.tensor([0, 0, 1]),), x[:3], True), "scatter": lambda x: x.scatter(0, torch.tensor([2, 0]), x[:2]),
    "scatter_reduce": lambda x: x.scatter_reduce(0, torch.tensor([0, 0, 1]), x[:3], "amax"), "gather": lambda x: x.gather(0, torch.clamp(torch.floor(x).long(), 0, x.shape[0] - 1)),
    "bfloat16": lambda x: x.bfloat16().double(), "half": lambda x: (x.half() * 2).double(), "norm1": lambda x: x * x.norm(1), "norminf": lambda x: x + torch.linalg.vector_norm(x, float("inf")),
    "cond": lambda x: torch.cond(x[0] > 0, lambda x: x.abs(), lambda x: 2 * x, (x,)), "outer": lambda x: (x[:, None] - x[None, :]).amax(1), "outer along": lambda x: (x[:, None] + x[None, :]).abs().min(0).values,
    "unfold": lambda x: F.pad(x, (0, 1)).unfold(0, 2, 1).amax(-1), "conv": lambda x: F.conv1d(row(x), torch.tensor([[[1.0, -1.0, 0.5]]]).double(), padding=1).reshape(-1),
    "huber": lambda x: F.huber_loss(x, torch.zeros_like(x), reduction="none"), "l1": lambda x: F.l1_loss(x, torch.ones_like(x), reduction="none"), "masked_fill": lambda x: x.masked_fill(x > 1, 0.0),
    "cross_entropy": lambda x: x * F.cross_entropy(x[None], torch.tensor([2])), "multi_margin": lambda x: x + F.multi_margin_loss(x[None], torch.tensor([1])),
}  # fmt: skip
OF_TWO = {
    "add": torch.add, "mul": torch.mul, "maximum": torch.maximum, "minimum": torch.minimum, "where": lambda a, b: torch.where(a > b, a, b), "dot": lambda a, b: a * torch.dot(a, b),
    "masks": lambda a, b: a * (a >= b) + b * (a < b), "joined": lambda a, b: torch.cat([a, b])[::2], "scatter_add": lambda a, b: a.scatter_add(0, torch.argsort(b, stable=True), b),
    "logaddexp": torch.logaddexp, "clamp": lambda a, b: torch.clamp(a, b - 1, b + 1),
}  # fmt: skip


def made(seed: int):
    """A function of two vectors, its parts, and points: two of integers, one beside them."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(3, 7))
    parts = [str(rng.choice(list(OF_ONE))) if rng.random() < 0.75 else "with " + str(rng.choice(list(OF_TWO))) for _ in range(int(rng.integers(1, 5)))]
    weights = torch.tensor(rng.integers(-2, 3, n) + 0.25)

    def f(x, y):
        start = y
        for part in parts:
            x, y = (OF_TWO[part[5:]](x, y), x) if part.startswith("with ") else (OF_ONE[part](x), y)
        return (x * weights).sum() + 0.0 * start.sum()

    points = [[rng.integers(-1, 3, n) + scale * rng.normal(size=n) for _ in range(2)] for scale in (0.0, 0.0, 0.1)]
    return f, parts, points


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("seed", range(40))
def test_as_torch(seed):
    f, parts, points = made(seed)
    p = from_torch(f, *points[0])
    # casts are the identity on real numbers
    within = 2e-2 if "bfloat16" in parts else 5e-3 if "half" in parts else 1e-9
    for x, y in points:
        value, theirs = float(f(torch.tensor(x), torch.tensor(y))), gradient(f, (x, y))
        if not np.isfinite(value) or not all(np.all(np.isfinite(g)) for g in theirs):
            continue
        found, ours = p.value_and_grad(x, y)
        scale = 1 + max(np.max(np.abs(g)) for g in theirs)
        assert abs(found - value) <= within * (1 + abs(value)), parts
        for a, b in zip(ours, theirs):
            assert np.max(np.abs(a - b)) <= within * scale, (parts, x, y, a, b)
