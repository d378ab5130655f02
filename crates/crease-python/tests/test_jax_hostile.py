"""Random compositions of small functions of JAX, at points with many ties: values and gradients as JAX has them."""

import numpy as np
import pytest

jax = pytest.importorskip("jax")
import jax.numpy as jnp  # noqa: E402
from jax import lax, nn  # noqa: E402

from crease._jax import from_jax  # noqa: E402

# of a vector, to a vector of its length
OF_ONE = {
    "abs": jnp.abs, "relu": nn.relu, "relu6": lambda x: nn.relu6(3 * x), "leaky": nn.leaky_relu, "elu": nn.elu, "hard_tanh": nn.hard_tanh, "hard_swish": nn.hard_swish,
    "maximum": lambda x: jnp.maximum(x, 0), "minimum": lambda x: jnp.minimum(x, 1), "clip": lambda x: jnp.clip(x, -1, 1), "clamp": lambda x: lax.clamp(-1.0, x, 1.0),
    "square": lambda x: x * x, "flip": lambda x: x[::-1], "roll": lambda x: jnp.roll(x, 1), "strides": lambda x: jnp.repeat(x[::-2], 2)[: x.shape[0]],
    "sort": jnp.sort, "sort back": lambda x: -jnp.sort(-x), "by argsort": lambda x: x[jnp.argsort(x)], "rows": lambda x: jnp.sort(jnp.stack([x, x[::-1]]), axis=0)[0],
    "cummax": lax.cummax, "cummin": lax.cummin, "cumsum": jnp.cumsum, "cumprod": lambda x: jnp.cumprod(x * 0.5), "top_k": lambda x: jnp.concatenate([lax.top_k(x, 2)[0], x[2:]]),
    "pool": lambda x: lax.reduce_window(x, -jnp.inf, lax.max, (2,), (1,), "SAME"), "max": lambda x: x - jnp.max(x), "min": lambda x: x + jnp.min(x), "median": lambda x: x - jnp.median(x),
    "quantile": lambda x: x - jnp.quantile(x, 0.25), "ptp": lambda x: x * jnp.ptp(x), "prod": lambda x: x + jnp.prod(x), "var": lambda x: x / (1 + jnp.var(x)),
    "where": lambda x: jnp.where(x > 0, x, 2 * x), "select": lambda x: jnp.select([x > 1, x > 0], [x, x * x], -x), "floor": lambda x: x * jnp.floor(x * 0.3 + 0.1), "mod": lambda x: jnp.mod(x, 1.5),
    "softmax": nn.softmax, "logsumexp": lambda x: x - nn.logsumexp(x), "tanh": jnp.tanh, "norm1": lambda x: x * jnp.linalg.norm(x, 1), "norminf": lambda x: x + jnp.linalg.norm(x, jnp.inf),
    "argmax": lambda x: x * x[jnp.argmax(x)], "set": lambda x: x.at[0].set(x[-1]), "add": lambda x: x.at[jnp.array([0, 0, 1])].add(x[:3]), "max at": lambda x: x.at[1].max(x[0]),
    "computed index": lambda x: x[jnp.clip(jnp.floor(x).astype(int), 0, x.shape[0] - 1)], "segments": lambda x: jax.ops.segment_max(x, np.arange(x.shape[0]) % 2, 2)[np.arange(x.shape[0]) % 2],
    "bfloat16": lambda x: x.astype(jnp.bfloat16).astype(x.dtype), "float16": lambda x: (x.astype(jnp.float16) * jnp.float16(2)).astype(x.dtype),
    "scan": lambda x: lax.scan(lambda c, t: (jnp.maximum(c, t), c - t), x[0], x)[1], "scan back": lambda x: lax.scan(lambda c, t: (nn.relu(c + t) - 1, c), 0 * x[0], x, reverse=True)[1],
    "fori": lambda x: lax.fori_loop(0, 3, lambda i, c: jnp.maximum(c, c[i] - x), x), "cond": lambda x: lax.cond(x[0] > 0, jnp.abs, lambda x: 2 * x, x),
    "switch": lambda x: lax.switch(jnp.argmax(x[:3]), [jnp.abs, lambda x: x * 2, nn.relu], x), "vmap": jax.vmap(lambda a: jnp.max(jnp.stack([a, -a, 0 * a]))),
    "outer": lambda x: jnp.max(x[:, None] - x[None, :], axis=1), "checkpoint": jax.checkpoint(lambda x: jnp.abs(x) * x), "convolve": lambda x: jnp.convolve(x, jnp.array([1.0, -1.0, 0.5]), mode="same"),
}  # fmt: skip
OF_TWO = {
    "add": jnp.add, "mul": jnp.multiply, "maximum": jnp.maximum, "minimum": jnp.minimum, "where": lambda a, b: jnp.where(a > b, a, b), "dot": lambda a, b: a * jnp.dot(a, b),
    "masks": lambda a, b: a * (a >= b) + b * (a < b), "joined": lambda a, b: jnp.concatenate([a, b])[::2], "scatter": lambda a, b: a.at[jnp.argsort(b)].add(b), "logaddexp": jnp.logaddexp,
}  # fmt: skip


def made(seed: int):
    """A function of two vectors, its parts, and points: two of integers, one beside them."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(3, 7))
    parts = [str(rng.choice(list(OF_ONE))) if rng.random() < 0.7 else "with " + str(rng.choice(list(OF_TWO))) for _ in range(int(rng.integers(1, 5)))]
    weights = rng.integers(-2, 3, n) + 0.25

    def f(x, y):
        for part in parts:
            x, y = (OF_TWO[part[5:]](x, y), x) if part.startswith("with ") else (OF_ONE[part](x), y)
        return jnp.sum(x * weights)

    points = [[rng.integers(-1, 3, n) + scale * rng.normal(size=n) for _ in range(2)] for scale in (0.0, 0.0, 0.1)]
    return f, parts, points


@pytest.mark.parametrize("seed", range(40))
def test_as_jax(seed):
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", True)
    try:
        f, parts, points = made(seed)
        p = from_jax(f, *points[0])
        # casts are the identity on real numbers
        within = 2e-2 if "bfloat16" in parts else 5e-3 if "float16" in parts else 1e-9
        for x, y in points:
            # equation by equation: what XLA fuses it rounds otherwise, and so breaks ties
            value, theirs = jax.value_and_grad(f, (0, 1))(jnp.asarray(x), jnp.asarray(y))
            theirs = [np.asarray(g) for g in theirs]
            if not all(np.all(np.isfinite(g)) for g in (value, *theirs)):
                continue
            found, ours = p.value_and_grad(x, y)
            scale = 1 + max(np.max(np.abs(g)) for g in theirs)
            assert abs(found - value) <= within * (1 + abs(value)), parts
            for a, b in zip(ours, theirs):
                assert np.max(np.abs(a - b)) <= within * scale, (parts, x, y, a, b)
    finally:
        jax.config.update("jax_enable_x64", before)
