"""100,000 points at once, beside jit(vmap(value_and_grad)) in one run: a robust fit, the Huber loss of each sample.

Needs JAX. ``python batches.py [PICTURE.svg]``
"""

import sys
import time

import jax
import jax.numpy as jnp
import numpy as np

import crease


def loss_with(np):
    """The loss of one sample, in whichever NumPy."""

    def loss(w, x, y):
        r = np.abs(np.tanh(w @ x) - y)
        return np.where(r < 0.1, 0.5 * r * r, 0.1 * (r - 0.05))

    return loss


def least(f, tries=5):
    """The least of some times."""
    times = []
    for _ in range(tries):
        began = time.perf_counter()
        f()
        times.append(time.perf_counter() - began)
    return 1e3 * min(times)


if __name__ == "__main__":
    n = 100_000
    rng = np.random.default_rng(0)
    w, x, y = rng.normal(size=4), rng.normal(size=(n, 4)), rng.uniform(-1, 1, size=n)
    w, x, y = (a.astype(np.float32) for a in (w, x, y))
    batch = crease.trace(loss_with(np), w, x[0], y[0]).batch(threads=2)
    ours = batch.value_and_grad(w, x, y, wrt="w")
    theirs = jax.jit(jax.vmap(jax.value_and_grad(loss_with(jnp)), (None, 0, 0)))
    them = jax.block_until_ready(theirs(w, x, y))
    off = max(float(np.abs(a - np.asarray(b)).max()) for a, b in zip(ours, them))
    print(f"largest difference {off:.1e}")
    ms = {"crease": least(lambda: batch.value_and_grad(w, x, y, wrt="w")), "jit(vmap(...))": least(lambda: jax.block_until_ready(theirs(w, x, y)))}
    for name, t in ms.items():
        print(f"{name:<16}{t:8.2f} ms for {n} values and gradients")
    assert off < 1e-5
    if len(sys.argv) > 1:
        from picture import Picture

        p = Picture((0, 2), (0, max(ms.values()) * 1.2), title="ms for 100,000 values and gradients, f32, this machine")
        for i, (name, t) in enumerate(ms.items()):
            p.bar(i + 0.2, 0.6, t, name)
        p.save(sys.argv[1])
