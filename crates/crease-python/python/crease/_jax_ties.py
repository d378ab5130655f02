"""What JAX returns at the kinks of its operations, beside what the program that is imported from it returns.

JAX is run, whatever version is installed; nothing here knows the answers. A part of docs/ties.md is made from :func:`ties_table`, by tools/ties.py.
"""

from __future__ import annotations

from typing import Any, Callable, NamedTuple

import numpy as np

from ._crease import CreaseError


class Tie(NamedTuple):
    """An operation at one of its kinks: what JAX returns for the gradient, what the program does (or why there is nothing), for which version; the program and the point."""

    operation: str
    place: str
    jax: Any
    crease: Any
    version: str
    program: Any
    point: Any

    @property
    def same(self) -> bool:
        """Whether both return the same."""
        return not isinstance(self.crease, str) and bool(np.allclose(self.jax, self.crease, rtol=1e-6, atol=0))


def cases() -> list[tuple[str, Callable[..., Any], list[float]]]:
    """Operations with a point at a kink; each is summed to a number with weights 1, 2, 3, ..."""
    import jax
    import jax.numpy as jnp
    from jax import lax, nn

    zero, three, low = [0.0], [2.0, 2.0, 1.0], [2.0, 1.0, 1.0]
    pool = lambda f, start, size, step: lambda x: lax.reduce_window(x, start, f, (size,), (step,), "VALID")  # noqa: E731
    square = lambda x: lax.reduce_window(x.reshape(1, 2, 2, 1), -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")  # noqa: E731
    return [
        ("nn.relu(x)", nn.relu, zero),
        ("abs(x)", jnp.abs, zero),
        ("sign(x)", jnp.sign, zero),
        ("floor(x)", jnp.floor, [1.0]),
        ("round(x)", jnp.round, [0.5]),
        ("maximum(x, 0)", lambda x: jnp.maximum(x, 0), zero),
        ("minimum(x, 0)", lambda x: jnp.minimum(x, 0), zero),
        ("maximum(x[0], x[1])", lambda x: jnp.maximum(x[0], x[1]), [1.0, 1.0]),
        ("minimum(x[0], x[1])", lambda x: jnp.minimum(x[0], x[1]), [1.0, 1.0]),
        ("fmax(x[0], x[1])", lambda x: jnp.fmax(x[0], x[1]), [1.0, 1.0]),
        ("max(x)", jnp.max, three),
        ("min(x)", jnp.min, low),
        ("max(x), three equal", jnp.max, [3.0, 3.0, 3.0]),
        ("median(x)", jnp.median, [2.0, 2.0, 1.0]),
        ("median(x), even", jnp.median, [1.0, 2.0, 2.0, 3.0]),
        ("sort(x)", jnp.sort, [2.0, 1.0, 2.0]),
        ("sort(x, descending)", lambda x: jnp.sort(x, descending=True), [2.0, 1.0, 2.0]),
        ("x[argsort(x)]", lambda x: x[jnp.argsort(x)], [2.0, 1.0, 2.0]),
        ("x[argmax(x)]", lambda x: x[jnp.argmax(x)], three),
        ("top_k(x, 1)", lambda x: lax.top_k(x, 1)[0], three),
        ("top_k(x, 2)", lambda x: lax.top_k(x, 2)[0], [1.0, 3.0, 3.0, 3.0]),
        ("cummax(x)", lambda x: lax.cummax(x), three),
        ("cummin(x)", lambda x: lax.cummin(x), [1.0, 1.0, 2.0]),
        ("logsumexp(x)", nn.logsumexp, [1.0, 1.0]),
        ("softmax(x)", nn.softmax, [1.0, 1.0]),
        ("clip(x, 0, 1) at 0", lambda x: jnp.clip(x, 0, 1), zero),
        ("clip(x, 0, 1) at 1", lambda x: jnp.clip(x, 0, 1), [1.0]),
        ("lax.clamp(0, x, 1) at 0", lambda x: lax.clamp(0.0, x, 1.0), zero),
        ("lax.clamp(0, x, 1) at 1", lambda x: lax.clamp(0.0, x, 1.0), [1.0]),
        ("nn.hard_tanh(x) at -1", nn.hard_tanh, [-1.0]),
        ("nn.hard_tanh(x) at 1", nn.hard_tanh, [1.0]),
        ("nn.relu6(x) at 0", nn.relu6, zero),
        ("nn.relu6(x) at 6", nn.relu6, [6.0]),
        ("nn.leaky_relu(x)", nn.leaky_relu, zero),
        ("nn.elu(x, 2)", lambda x: nn.elu(x, 2.0), zero),
        ("nn.celu(x, 2)", lambda x: nn.celu(x, 2.0), zero),
        ("nn.selu(x)", nn.selu, zero),
        ("nn.hard_sigmoid(x) at -3", nn.hard_sigmoid, [-3.0]),
        ("nn.hard_sigmoid(x) at 3", nn.hard_sigmoid, [3.0]),
        ("nn.hard_silu(x) at -3", nn.hard_silu, [-3.0]),
        ("nn.hard_silu(x) at 3", nn.hard_silu, [3.0]),
        ("nn.soft_sign(x)", nn.soft_sign, zero),
        ("nn.softplus(x)", nn.softplus, zero),
        ("nn.sparse_plus(x) at -1", nn.sparse_plus, [-1.0]),
        ("nn.sparse_plus(x) at 1", nn.sparse_plus, [1.0]),
        ("nn.squareplus(x)", nn.squareplus, zero),
        ("where(x > 0, x, 0)", lambda x: jnp.where(x > 0, x, 0), zero),
        ("where(x >= 0, x, 0)", lambda x: jnp.where(x >= 0, x, 0), zero),
        ("linalg.norm(x)", jnp.linalg.norm, [0.0, 0.0]),
        ("linalg.norm(x) ** 2", lambda x: jnp.linalg.norm(x) ** 2, [0.0, 0.0]),
        ("linalg.norm(x, 1)", lambda x: jnp.linalg.norm(x, 1), [0.0, 1.0]),
        ("linalg.norm(x, inf)", lambda x: jnp.linalg.norm(x, jnp.inf), [-2.0, 2.0, 1.0]),
        ("linalg.norm(x, inf) at 0", lambda x: jnp.linalg.norm(x, jnp.inf), [0.0, 0.0]),
        ("sqrt(sum(x * x))", lambda x: jnp.sqrt((x * x).sum()), [0.0, 0.0]),
        ("hypot(x[0], x[1])", lambda x: jnp.hypot(x[0], x[1]), [0.0, 0.0]),
        ("std(x)", jnp.std, [1.0, 1.0, 1.0]),
        ("max pool of a constant patch", pool(lax.max, -jnp.inf, 2, 2), [1.0, 1.0, 1.0, 1.0]),
        ("max pool with overlap", pool(lax.max, -jnp.inf, 3, 1), [1.0, 1.0, 1.0, 1.0]),
        ("min pool of a constant patch", pool(lax.min, jnp.inf, 2, 2), [1.0, 1.0, 1.0, 1.0]),
        ("max pool in two axes of a constant patch", square, [1.0, 1.0, 1.0, 1.0]),
        ("segment_max(x)", lambda x: jax.ops.segment_max(x, np.array([0, 0, 1]), 2), [1.0, 1.0, 2.0]),
        ("relu(x) - relu(-x)", lambda x: nn.relu(x) - nn.relu(-x), zero),
        ("maximum(x, 0) - maximum(-x, 0)", lambda x: jnp.maximum(x, 0) - jnp.maximum(-x, 0), zero),
        ("fmod(x, 1)", lambda x: jnp.fmod(x, 1), [1.0]),
        ("mod(x, 1)", lambda x: jnp.mod(x, 1), [1.0]),
        ("sqrt(x)", jnp.sqrt, zero),
        ("sqrt(relu(x))", lambda x: jnp.sqrt(nn.relu(x)), zero),
        ("cbrt(x)", jnp.cbrt, zero),
        ("x ** 0.5", lambda x: x**0.5, zero),
        ("arctan2(x[0], x[1])", lambda x: jnp.arctan2(x[0], x[1]), [0.0, 0.0]),
        ("prod(x) with a 0", jnp.prod, [0.0, 2.0]),
        ("sinc(x)", jnp.sinc, zero),
    ]


def ties_table() -> list[Tie]:
    """A row for each operation and kink: its name, the point, what JAX returns, what the imported program returns (or why there is nothing), the version of JAX.

    >>> next(row for row in ties_table() if row.operation == "nn.relu(x)")[1:4]
    ('(0)', array([0.], dtype=float32), array([0.], dtype=float32))
    """
    import jax
    import jax.numpy as jnp

    from ._jax import from_jax, gradient

    rows = []
    for name, f, point in cases():
        x = np.array(point, np.float32)

        def total(t: Any, f: Callable[..., Any] = f) -> Any:
            y = jnp.ravel(f(t))
            return (y * jnp.arange(1, y.size + 1, dtype=y.dtype)).sum()

        ours: Any
        theirs = gradient(total, (x,))
        program = None
        try:
            program = from_jax(total, x)
            ours = program.grad(x)
        except CreaseError as e:
            ours = str(e)
        place = "(" + ", ".join(f"{v:g}" for v in point) + ")"
        rows.append(Tie(name, place, theirs, ours, jax.__version__, program, x))
    return rows
