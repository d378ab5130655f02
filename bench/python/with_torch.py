"""PyTorch, as it comes, and through torch.compile where that works (it needs a C++ compiler; else those rows say so)."""

import logging
import os

import torch
import torch.nn.functional as F

import measure

torch.set_num_threads(1)
torch.set_num_interop_threads(1)
# what the compiler has to say about ops it leaves alone is not ours to print
logging.getLogger("torch").setLevel(logging.CRITICAL)
SYSTEM = f"PyTorch {torch.__version__.split('+')[0]}"
relu = torch.relu


def built(f, compiled):
    if not compiled:
        return f
    torch._dynamo.reset()
    return torch.compile(f, dynamic=False, fullgraph=True)


def both_ways(f, parameters, rest, compiled):
    f = built(f, compiled)
    # torch.tensor copies: nothing here may share memory with another row
    leaves = [torch.tensor(p, requires_grad=True) for p in parameters]
    rest = [torch.tensor(x) for x in rest]

    def value():
        with torch.no_grad():
            return f(*leaves, *rest)

    def gradient():
        v = f(*leaves, *rest)
        return v, torch.autograd.grad(v, leaves)

    def answer():
        v, g = gradient()
        return v.item(), [x.numpy() for x in g]

    return value, gradient, answer


def sat(variables, compiled):
    index, sign, points = measure.sat(variables)
    index, sign = torch.tensor(index), torch.tensor(sign)
    points = [torch.tensor(x, requires_grad=True) for x in points]
    following = measure.in_turn(points)
    f = built(lambda x, index, sign: relu((sign * x[index]).max(1).values).min(), compiled)

    def value():
        with torch.no_grad():
            return f(following(), index, sign)

    def at(x):
        v = f(x, index, sign)
        return v, torch.autograd.grad(v, x)[0]

    def answer():
        all_ = [at(x) for x in points]
        return sum(v.item() for v, _ in all_), [torch.cat([g for _, g in all_]).numpy()]

    return value, lambda: at(following()), answer


def mlp(batch, dtype, compiled):
    def f(w0, b0, w1, b1, w2, b2, x, labels):
        h = relu(torch.addmm(b0, x, w0))
        h = relu(torch.addmm(b1, h, w1))
        return F.cross_entropy(torch.addmm(b2, h, w2), labels)

    parameters, x, labels = measure.mlp(batch, dtype)
    return both_ways(f, parameters, (x, labels), compiled)


def of_vector(f, compiled, dtype="float64"):
    return both_ways(f, [measure.vector()[0].astype(dtype)], [], compiled)


def max_linear(compiled):
    a, q = measure.vector()
    return both_ways(lambda a, q: (a @ q).max(), [a.reshape(10, -1)], [q], compiled)


def theorem3(p, compiled):
    u, b, m, a = (torch.tensor(x) for x in measure.theorem3(p))
    zero = torch.zeros(p, dtype=torch.float64)
    f = lambda x: (u @ (b.T @ (m @ x))).abs().sum() / p
    all_ = lambda: torch.func.vmap(lambda d: torch.func.jvp(f, (zero,), (d,))[1])(a)
    return lambda: f(zero), all_, lambda: (f(zero).item(), [all_().numpy()])


def cnn(batch, compiled):
    def f(w0, b0, w1, b1, w2, b2, x, labels):
        h = F.max_pool2d(relu(F.conv2d(x, w0, b0, padding=1)), 2)
        h = F.max_pool2d(relu(F.conv2d(h, w1, b1, padding=1)), 2)
        return F.cross_entropy(torch.addmm(b2, h.flatten(1), w2), labels)

    parameters, x, labels = measure.cnn(batch)
    return both_ways(f, parameters, (x, labels), compiled)


def gmm(compiled):
    alphas, means, icf, x = measure.gmm()
    row, column = (torch.tensor(i) for i in measure.lower_triangle())
    n, d, on, constant = len(x), 10, torch.arange(10), float(measure.GMM_CONSTANT)

    def f(alphas, means, icf, x):
        scales = icf[:, :d].exp()
        every = torch.arange(len(alphas))[:, None]
        factors = torch.zeros(len(alphas), d, d, dtype=x.dtype)
        factors = factors.index_put((every, row, column), icf[:, d:]).index_put((every, on, on), scales)
        q = torch.bmm(x[None] - means[:, None], factors.transpose(1, 2))
        t = (alphas + icf[:, :d].sum(1))[:, None] - 0.5 * (q * q).sum(2)
        prior = 0.5 * ((scales**2).sum() + (icf[:, d:] ** 2).sum())
        return torch.logsumexp(t, 0).sum() - n * torch.logsumexp(alphas, 0) + prior + constant

    return both_ways(f, [alphas, means, icf], [x], compiled)


def norm(x):
    return torch.linalg.vector_norm(x, float("inf"))


ROWS = [
    ("A sat", "", lambda c: sat(250, c)),
    ("A' sat", "", lambda c: sat(2500, c)),
    ("B mlp f32, batch 1", "", lambda c: mlp(1, "float32", c)),
    ("B' mlp f32, batch 64", "", lambda c: mlp(64, "float32", c)),
    ("B' mlp f64, batch 64", "", lambda c: mlp(64, "float64", c)),
    ("C l1 10^6", "", lambda c: of_vector(lambda x: x.abs().sum(), c)),
    ("C linf 10^6", "abs, max", lambda c: of_vector(lambda x: x.abs().max(), c)),
    ("C linf 10^6", "vector_norm", lambda c: of_vector(norm, c)),
    ("C sum of relu 10^6", "", lambda c: of_vector(lambda x: relu(x).sum(), c)),
    ("C max-linear 10 x 10^5", "", max_linear),
    ("C' median 10^6 f32", "", lambda c: of_vector(lambda x: x.median(), c, "float32")),
    ("D theorem 3, p = 256", "vmap of jvp", lambda c: theorem3(256, c)),
    ("D theorem 3, p = 512", "vmap of jvp", lambda c: theorem3(512, c)),
    ("E cnn f32, batch 1", "", lambda c: cnn(1, c)),
    ("E cnn f32, batch 64", "", lambda c: cnn(64, c)),
    ("F gmm 10, 25, 1000", "", gmm),
]

if __name__ == "__main__":
    rows = []
    for compiled in (False, True):
        if compiled and os.environ.get("BENCH_TORCH_COMPILE") == "0":
            continue
        for row, mode, prepare in ROWS:
            if compiled and row.startswith("D"):
                continue  # forward mode under vmap is not for the compiler
            words = ["compile" if compiled else "eager"] + ([mode] if mode else [])
            rows.append((row, ", ".join(words), lambda prepare=prepare, compiled=compiled: prepare(compiled)))
    measure.main(SYSTEM, rows)
