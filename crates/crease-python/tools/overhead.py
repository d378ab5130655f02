"""What a call from Python costs, beside the work: times of small programs, and batches beside jit(vmap(value_and_grad)) where JAX is installed. It prints, and asserts nothing.

``python overhead.py [POINTS]``
"""

import importlib.util
import sys
import time

import numpy as np

import crease


def least(f, many, tries=7):
    """The least time of a call, in microseconds."""
    times = []
    for _ in range(tries):
        began = time.perf_counter()
        for _ in range(many):
            f()
        times.append((time.perf_counter() - began) / many)
    return 1e6 * min(times)


def calls():
    huber = crease.parse("program huber(r, d) = where(abs(r) <= d, r^2 / 2, d * (abs(r) - d / 2))")
    vector = crease.parse("program f(v[8]) = max(v)")
    v = np.arange(8.0)
    nested = crease.trace(lambda p: np.maximum(p["a"], 0) + p["b"][0], {"a": 1.0, "b": [2.0]})
    tree = {"a": 1.0, "b": [2.0]}
    for name, f in (
        ("relu(x)", lambda p=crease.parse("relu(x)"): p(1.0)),
        ("huber(r, d)", lambda: huber(0.5, 1.0)),
        ("huber.grad(r, d)", lambda: huber.grad(0.5, 1.0)),
        ("max(v), 8 numbers", lambda: vector(v)),
        ("max(v).grad", lambda: vector.grad(v)),
        ("a dict of two numbers", lambda: nested(tree)),
    ):
        f()
        print(f"{name:<24}{least(f, 2000):8.2f} us")


def batches(n):
    loss = lambda np: lambda w, x, y: np.where(np.abs(np.tanh(w @ x) - y) < 0.1, 0.5 * (np.tanh(w @ x) - y) ** 2, 0.1 * (np.abs(np.tanh(w @ x) - y) - 0.05))  # noqa: E731
    rng = np.random.default_rng(0)
    w, x, y = (a.astype(np.float32) for a in (rng.normal(size=4), rng.normal(size=(n, 4)), rng.uniform(-1, 1, size=n)))
    p = crease.trace(loss(np), w, x[0], y[0])
    for threads in (1, 2):
        batch = p.batch(threads=threads)
        f = lambda batch=batch: batch.value_and_grad(w, x, y, wrt="w")  # noqa: E731
        f()
        print(f"{n} points, {threads} thread(s) {least(f, 1) / 1e3:14.2f} ms")
    if importlib.util.find_spec("jax"):
        import jax
        import jax.numpy as jnp

        theirs = jax.jit(jax.vmap(jax.value_and_grad(loss(jnp)), (None, 0, 0)))
        f = lambda: jax.block_until_ready(theirs(w, x, y))  # noqa: E731
        f()
        print(f"{n} points, jit(vmap(value_and_grad)) {least(f, 1) / 1e3:8.2f} ms")


if __name__ == "__main__":
    calls()
    batches(int(sys.argv[1]) if len(sys.argv) > 1 else 100_000)
