"""Why is this NaN? The gradient of a norm at 0, explained: which line did it, what is right, and what to write instead.

Needs JAX. ``python nan_of_a_norm.py [PICTURE.svg]``
"""

import sys

import jax
import jax.numpy as jnp
import numpy as np

import crease


def distance(x, center):
    return jnp.linalg.norm(x - center)


def safe_distance(x, center):
    s = jnp.sum((x - center) ** 2)
    return jnp.where(s > 0, jnp.sqrt(jnp.where(s > 0, s, 1.0)), 0.0)


if __name__ == "__main__":
    x = jnp.array([1.0, 2.0])
    print("JAX says", jax.grad(distance)(x, x))
    why = crease.explain(distance, x, x)
    print(why)
    safe = jax.grad(safe_distance, (0, 1))(x, x)
    print("the safe one says", safe[0], "which is", why.inspection.judge(safe))
    if len(sys.argv) > 1:
        from picture import Picture

        # as wide as it is high, so that a disc is one
        p = Picture((-2.17, 2.17), (-1.5, 1.5), title="all Clarke subgradients of the norm at 0")
        t = np.linspace(0, 2 * np.pi, 80)
        p.area(np.stack([np.cos(t), np.sin(t)], 1))
        right = np.asarray(why.right[0])
        p.dot(*right, "what was found", "#1b7f4b", "start" if right[0] > 0 else "end")
        p.dot(0, 0, "0, what PyTorch says", side="end" if right[0] > 0 else "start")
        p.save(sys.argv[1])
