#!/usr/bin/env python3
"""How much of JAX is imported: tries every function of the catalogue below, and prints a table in markdown.

Each function is imported, run, and differentiated off kinks, and both are compared with JAX: in double precision within 1e-10 of the largest number, in single precision within 1e-5. What is
different is listed as wrong, what is refused with its reason. A primitive of lax counts if it stands in a function that agrees; those that do not are listed. Groups with kinks are tried at ties as well.

    python tools/coverage_jax.py [--group GROUP] [--name PART] [--write]

With ``--write`` the table becomes a part of docs/coverage.md.
"""

from __future__ import annotations

import argparse
import functools
import pathlib
import re
import sys
import zlib
from dataclasses import dataclass
from typing import Any, Callable

import jax

jax.config.update("jax_enable_x64", True)

import jax.numpy as jnp  # noqa: E402
import jax.scipy.special as special  # noqa: E402
import numpy as np  # noqa: E402
from jax import lax, nn  # noqa: E402
from jax.ad_checkpoint import checkpoint_name  # noqa: E402

sys.path.insert(0, str(pathlib.Path(__file__).parent))

import page  # noqa: E402
from at_ties import COLUMNS, Ties, tied_points  # noqa: E402

from crease import CreaseError  # noqa: E402
from crease._jax import Unsupported, from_jax  # noqa: E402
from crease._jax_compat import primitive_names  # noqa: E402

PRECISION = {"float64": 1e-10, "float32": 1e-5}


@dataclass
class Case:
    """One function with arguments to try it at, off its kinks."""

    group: str
    name: str
    fn: Callable[..., Any]
    args: tuple[Any, ...]
    # how exact single precision can be, where a subtraction loses digits in both
    single: float = PRECISION["float32"]
    double: float = PRECISION["float64"]
    # whether it has a gradient that is not 0 everywhere
    gradient: bool = True

    def __str__(self) -> str:
        return f"{self.group}: {self.name}"


def numbers(name: str, *shape: int, low: float = -2.0, high: float = 2.0) -> np.ndarray:
    """Numbers without ties, the same in each run."""
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    return rng.uniform(low, high, shape)


CASES: list[Case] = []
_group = ""


def add(name: str, fn: Callable[..., Any], *args: Any, **how: Any) -> None:
    """Adds a case; a tuple among the arguments is a shape of numbers."""
    made = tuple(numbers(f"{name}{i}", *a) if isinstance(a, tuple) and all(isinstance(n, int) for n in a) else a for i, a in enumerate(args))
    CASES.append(Case(_group, name, fn, made, **how))


def positive(name: str, *shape: int) -> np.ndarray:
    return numbers(name, *shape, low=0.2, high=2.0)


def primitives() -> None:
    """The primitives of lax, each once at least."""
    global _group
    _group = "lax"
    V = (7,)
    for f in (lax.neg, lax.sign, lax.floor, lax.ceil, lax.exp, lax.exp2, lax.expm1, lax.logistic, lax.sin, lax.cos, lax.tan, lax.tanh, lax.sinh, lax.cosh, lax.asinh, lax.atan,
              lax.abs, lax.erf, lax.erfc, lax.cbrt, lax.square, lax.is_finite):
        add(f.__name__, f, V)
    for f in (lax.log, lax.log1p, lax.sqrt, lax.rsqrt, lax.lgamma, lax.digamma, lax.bessel_i0e, lax.bessel_i1e):
        add(f.__name__, f, positive(f.__name__, 5))
    for f in (lax.asin, lax.acos, lax.atanh, lax.erf_inv):
        add(f.__name__, f, numbers(f.__name__, 5, low=-0.9, high=0.9))
    add("acosh", lax.acosh, numbers("acosh", 4, low=1.1, high=3))
    for f in (lax.add, lax.sub, lax.mul, lax.div, lax.max, lax.min, lax.atan2, lax.rem):
        add(f.__name__, f, V, V)
    add("nextafter", lax.nextafter, V, V, gradient=False)
    add("rem by a constant", lambda x: lax.rem(x * 5, jnp.full_like(x, 1.5)), V)
    add("pow", lax.pow, positive("pow", 4), (4,))
    add("pow known", lambda x: lax.pow(x, jnp.array([2.0, 0.5, -1.0, 3.0], x.dtype)), positive("pk", 4))
    add("integer_pow", lambda x: lax.integer_pow(x, 3) + lax.integer_pow(x, -2), positive("ip", 4))
    add("round even", lambda x: lax.round(x * 3, lax.RoundingMethod.TO_NEAREST_EVEN) * x, V)
    add("round away", lambda x: lax.round(x * 3, lax.RoundingMethod.AWAY_FROM_ZERO) * x, V)
    add("clamp", lambda x: lax.clamp(jnp.asarray(-1.0, x.dtype), x, jnp.asarray(0.5, x.dtype)), V)
    add("clamp computed", lambda a, x, b: lax.clamp(-jnp.abs(a), x, jnp.abs(b)), V, V, V)
    for name in ("eq", "ne", "lt", "le", "gt", "ge"):
        add(name, lambda x, y, f=getattr(lax, name): jnp.where(f(x, y), x * 2, y * y), V, V)
    add("and or not xor", lambda x, y: jnp.where((x > 0) & (y > 0) | ~(x > y) ^ (y > 1), x * 3, y), V, V)
    add("select_n", lambda x, y: lax.select_n(x > 0, x, y * 2), V, V)
    add("select_n of integers", lambda x: lax.select_n((x > 0).astype(jnp.int32) + (x > 1), x, x * 2, x * 3), V)
    add("broadcast_in_dim", lambda x: lax.broadcast_in_dim(x, (2, 3, 4), (1,)), (3,))
    add("reshape", lambda x: lax.reshape(x, (4, 3), dimensions=(1, 0)), (3, 4))
    add("transpose", lambda x: lax.transpose(x, (2, 0, 1)), (2, 3, 4))
    add("squeeze", lambda x: lax.squeeze(x, (0, 2)), (1, 3, 1))
    add("expand_dims", lambda x: lax.expand_dims(x, (0, 2)), (3,))
    add("rev", lambda x: lax.rev(x, (0, 2)) * x, (2, 3, 4))
    add("concatenate", lambda x, y: lax.concatenate([x, y, x], 1), (2, 3), (2, 1))
    add("pad", lambda x: lax.pad(x, jnp.asarray(0.5, x.dtype), ((1, 2, 1), (-1, 0, 2))), (3, 4))
    add("pad computed", lambda x, c: lax.pad(x, c, ((2, -1, 0),)), (5,), ())
    add("slice", lambda x: lax.slice(x, (0, 1), (3, 6), (2, 3)), (3, 7))
    add("split", lambda x: lax.split(x, (1, 3), axis=1), (2, 4))
    add("tile", lambda x: jnp.tile(x, (2, 3)), (2, 2))
    add("iota", lambda x: x * lax.iota(x.dtype, 5), (5,))
    add("dynamic_slice known", lambda x: lax.dynamic_slice(x, (1, 9), (2, 2)), (3, 4))
    add("dynamic_slice computed", lambda x: lax.dynamic_slice(x, (jnp.argmax(x[:, 0]), 1), (1, 2)), (4, 4))
    add("dynamic_update_slice known", lambda x, y: lax.dynamic_update_slice(x, y, (1, 2)) * 2, (3, 4), (2, 2))
    add("dynamic_update_slice computed", lambda x, y: lax.dynamic_update_slice(x, y, (jnp.argmax(x[:, 0]), 0)), (4, 3), (1, 2))
    add("gather", lambda x: x[jnp.array([2, 0, 2]), :, jnp.array([1, 1, 3])], (3, 2, 4))
    add("gather computed", lambda x: x[jnp.argsort(x[:, 0])], (4, 3))
    add("gather along", lambda x, y: jnp.take_along_axis(y, jnp.argsort(x, axis=1), axis=1), (3, 4), (3, 4))
    add("gather clip", lambda x: jnp.take(x, jnp.array([5, -9, 1]), mode="clip"), (4,))
    add("gather computed clip", lambda x: jnp.take(x, 2 * jnp.argsort(x), mode="clip"), (4,))
    add("scatter", lambda x, y: x.at[jnp.array([2, 0])].set(y), (3, 2), (2, 2))
    add("scatter-add", lambda x, y: x.at[jnp.array([2, 0, 2])].add(y), (3, 2), (3, 2))
    add("scatter-sub", lambda x, y: x.at[jnp.array([2, 0, 2])].subtract(y), (3,), (3,))
    add("scatter-mul", lambda x, y: x.at[jnp.array([2, 0])].multiply(y, unique_indices=True), (3,), (2,))
    add("scatter-max", lambda x, y: x.at[jnp.array([2, 0, 2])].max(y), (3,), (3,), gradient=False)
    add("scatter-min", lambda x, y: x.at[jnp.array([2, 0, 2])].min(y), (3,), (3,), gradient=False)
    add("scatter computed", lambda x, y: x.at[jnp.argmax(x)].set(y), (4,), ())
    add("scatter-add computed", lambda x, y: x.at[jnp.argsort(x)].add(y), (4,), (4,))
    add("scatter-add drop", lambda x, y: x.at[jnp.array([9, 1])].add(y, mode="drop"), (4,), (2,))
    for f in (lax.reduce_max_p, lax.reduce_min_p, lax.reduce_sum_p, lax.reduce_prod_p):
        name = f.name
        add(name, lambda x, g={"reduce_max": jnp.max, "reduce_min": jnp.min, "reduce_sum": jnp.sum, "reduce_prod": jnp.prod}[name]: g(x, axis=(0, 2)), (2, 3, 4))
    add("reduce_and", lambda x: jnp.where(jnp.all(x > -1, axis=1), x.sum(1), x[:, 0]), (4, 3))
    add("reduce_or", lambda x: jnp.where(jnp.any(x > 1, axis=0), x.sum(0), x[0]), (4, 3))
    add("reduce_xor", lambda x: jnp.where(lax.reduce(x > 0, False, lax.bitwise_xor, (0,)), x.sum(0), x[0]), (5, 3))
    add("reduce by a function", lambda x: lax.reduce(x, jnp.asarray(1.0, x.dtype), lambda a, b: a * b + 0 * a, (1,)), (2, 5))
    add("argmax", lambda x: x * jnp.argmax(x, axis=0), (4, 3))
    add("argmin", lambda x: x.sum() * jnp.argmin(x), (4, 3))
    for f in (lax.cumsum, lax.cumprod, lax.cummax, lax.cummin, lax.cumlogsumexp):
        add(f.__name__, lambda x, f=f: f(x, axis=1), (2, 5))
        add(f.__name__ + " reverse", lambda x, f=f: f(x, axis=0, reverse=True), (4, 2))
    add("sort", lambda x: lax.sort(x, dimension=0), (5, 3))
    add("sort with payload", lambda x, y: lax.sort((x, y, x * y), dimension=1, num_keys=1), (2, 5), (2, 5))
    add("sort two keys", lambda x, y: lax.sort((jnp.round(x), x * y, y), dimension=0, num_keys=2), (6,), (6,))
    add("argsort", lambda x: x * jnp.argsort(x), (5,))
    add("top_k", lambda x: lax.top_k(x, 3), (2, 6))
    add("approx_max_k", lambda x: lax.approx_max_k(x, 2), (6,))
    add("approx_min_k", lambda x: lax.approx_min_k(x, 2)[0], (6,))
    add("dot_general", lambda x, y: lax.dot_general(x, y, (((2,), (1,)), ((0,), (2,)))), (2, 3, 4), (5, 4, 2))
    add("dot_general with a constant", lambda x: lax.dot_general(jnp.asarray(numbers("k", 3, 4), x.dtype), x, (((1,), (0,)), ((), ()))), (4, 2))
    conv = functools.partial(lax.conv_general_dilated, window_strides=(1, 1), padding="VALID")
    add("conv", conv, (1, 2, 5, 5), (3, 2, 2, 3))
    add("conv all", lambda x, k: lax.conv_general_dilated(x, k, (2, 1), ((1, 2), (-1, 3)), lhs_dilation=(2, 1), rhs_dilation=(1, 2), dimension_numbers=("NHWC", "HWIO", "NHWC"),
                                                           feature_group_count=2), (2, 4, 5, 4), (2, 2, 2, 6))
    add("conv batch groups", lambda x, k: lax.conv_general_dilated(x, k, (1,), "SAME", dimension_numbers=("NCH", "OIH", "NCH"), batch_group_count=2), (4, 3, 5), (6, 3, 2))
    add("conv_transpose", lambda x, k: lax.conv_transpose(x, k, (2, 2), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")), (1, 3, 3, 2), (3, 3, 2, 4))
    pool = lambda f, start, **how: lambda x: lax.reduce_window(x, start, f, (1, 2, 3), (1, 2, 1), **how)  # noqa: E731
    add("reduce_window_max", pool(lax.max, -jnp.inf, padding="SAME"), (2, 5, 4))
    add("reduce_window_min", pool(lax.min, jnp.inf, padding=((0, 0), (1, 0), (0, 2))), (2, 5, 4))
    add("reduce_window_sum", pool(lax.add, 0.0, padding="SAME", window_dilation=(1, 2, 1)), (2, 5, 4))
    add("reduce_window_max dilated", pool(lax.max, -jnp.inf, padding="VALID", window_dilation=(1, 2, 1)), (2, 5, 4), gradient=False)
    add("reduce_window by a function", lambda x: lax.reduce_window(x, jnp.asarray(1.0, x.dtype), lambda a, b: a * b + 0 * b, (2,), (2,), "SAME"), (5,), gradient=False)
    add("convert_element_type", lambda x: (x * 4).astype(jnp.int32) * x + (x > 0).astype(x.dtype), V)
    add("reduce_precision", lambda x: lax.reduce_precision(x, 11, 52), V)
    add("stop_gradient that drops out", _shifted, V)
    add("copy", lambda x: jnp.copy(x) * 2, V)
    add("optimization_barrier", lambda x: lax.optimization_barrier(x) * 2, V)
    add("jit", jax.jit(lambda x: jnp.sin(x) * 2), V)
    add("checkpoint", jax.checkpoint(lambda x: jnp.sin(jnp.cos(x))), V)
    add("name", lambda x: checkpoint_name(jnp.sin(x), "here") * x, V)
    add("igammac", lambda x: lax.igammac(jnp.full_like(x, 1.5), x), positive("ig", 3))
    add("custom_jvp_call", _custom_jvp(), V)
    add("custom_vjp_call", _custom_vjp(), V)
    add("cond", lambda x: lax.cond(x[0] > 0, lambda x: jnp.sin(x), lambda x: x * 2, x), V)
    add("switch", lambda x: lax.switch(jnp.argmax(x[:3]), [jnp.sin, jnp.cos, jnp.exp], x), V)
    add("cond known", lambda x: lax.cond(np.array(True), jnp.sin, jnp.cos, x), V)
    add("scan", lambda x: lax.scan(lambda c, t: (jnp.tanh(c + t), c * t), x[0], x), V)
    add("scan reverse", lambda x, y: lax.scan(lambda c, t: (jnp.tanh(c + t[0]) * y, c * t[1]), y, (x, x * 2), reverse=True), (5, 3), (3,))
    add("scan with a counter", lambda x: lax.scan(lambda c, i: (c + x[i] * i, c), 0.0 * x[0], jnp.arange(4)), (4, 2))
    add("fori_loop", lambda x: lax.fori_loop(0, 4, lambda i, c: jnp.sin(c) * x[i], x.sum()), V)
    add("while with a known bound", lambda x: lax.while_loop(lambda s: s[0] < 3, lambda s: (s[0] + 1, jnp.sin(s[1])), (0, x))[1], V, gradient=False)
    add("while with a computed bound", lambda x: lax.while_loop(lambda s: s < 10, lambda s: s * 2, jnp.abs(x[0]) + 1), V, gradient=False)
    add("vmap", jax.vmap(lambda x: jnp.max(jnp.sort(x)[:2] * x[1])), (4, 3))
    add("random bits with a known key", lambda x: x * jax.random.normal(jax.random.key(3), x.shape, x.dtype), V)
    add("igamma", lambda x: lax.igamma(jnp.full_like(x, 1.5), x), positive("ig", 3))
    add("regularized_incomplete_beta", lambda x: special.betainc(1.5, 2.5, x), numbers("rib", 3, low=0.2, high=0.8))
    add("polygamma", lambda x: lax.polygamma(jnp.ones_like(x), x), positive("pg", 3), gradient=False)
    add("zeta", lambda x: lax.zeta(x + 2, jnp.ones_like(x)), positive("z", 3), gradient=False)
    add("fft", lambda x: jnp.abs(jnp.fft.rfft(x)), (6,))
    spd = lambda x: x @ x.T + 4 * jnp.eye(3, dtype=x.dtype)  # noqa: E731
    add("cholesky", lambda x: jnp.linalg.cholesky(spd(x)), (3, 3))
    add("triangular_solve", lambda x, y: jax.scipy.linalg.solve_triangular(jnp.tril(x) + 3 * jnp.eye(3), y, lower=True), (3, 3), (3,))
    add("lu", lambda x: jnp.linalg.det(spd(x)) + jnp.linalg.solve(spd(x), x[0]).sum(), (3, 3))
    add("qr", lambda x: jnp.abs(jnp.linalg.qr(spd(x))[1]), (3, 3))
    add("eigh", lambda x: jnp.linalg.eigvalsh(spd(x)), (3, 3))
    add("svd", lambda x: jnp.linalg.svd(x, compute_uv=False), (3, 3))
    add("solve", lambda x, y: jnp.linalg.solve(spd(x), y), (3, 3), (3, 2))
    add("inverse", lambda x: jnp.linalg.inv(spd(x)), (3, 3))
    add("lu of stacks", lambda x: lax.linalg.lu(x)[0], (2, 4, 4))
    add("qr, thin", lambda x: jnp.linalg.qr(x), (5, 3))
    add("householder_product", lax.linalg.householder_product, (5, 3), (3,), gradient=False)
    add("tridiagonal", lambda x: lax.linalg.tridiagonal(spd(x), lower=True), (3, 3), gradient=False)
    add("tridiagonal_solve", lambda d, b: lax.linalg.tridiagonal_solve(jnp.roll(d, 1).at[0].set(0), d + 5, (d * 2).at[-1].set(0), b), (4,), (4, 2))
    add("cho_solve", lambda x, y: jax.scipy.linalg.cho_solve((jnp.linalg.cholesky(spd(x)), True), y), (3, 3), (3,))
    windows = lambda x: lax.reduce_window(x, -jnp.inf, lax.max, (2, 2), (1, 2), "SAME")  # noqa: E731
    add("select_and_gather_add", lambda x, t: jax.jvp(windows, (x,), (t,)), (5, 4), (5, 4), gradient=False)
    add("select_and_scatter_add", jax.grad(lambda x: (lax.reduce_window(x, -jnp.inf, lax.max, (2,), (2,), "VALID") ** 2).sum()), (6,), gradient=False)


def _shifted(x):
    top = lax.stop_gradient(x.max())
    return jnp.log(jnp.sum(jnp.exp(x - top))) + top


def _custom_jvp() -> Callable[..., Any]:
    @jax.custom_jvp
    def f(x):
        return jnp.sin(x) * x

    f.defjvp(lambda x, t: (f(*x), t[0] * (jnp.cos(x[0]) * x[0] + jnp.sin(x[0]))))
    return f


def _custom_vjp() -> Callable[..., Any]:
    @jax.custom_vjp
    def f(x):
        return jnp.exp(x) * x

    f.defvjp(lambda x: (f(x), x), lambda x, t: (t * jnp.exp(x) * (1 + x),))
    return f


def functions_of_nn() -> None:
    """jax.nn."""
    global _group
    _group = "jax.nn"
    X = (3, 5)
    for f in (nn.relu, nn.relu6, nn.sigmoid, nn.softplus, nn.sparse_plus, nn.sparse_sigmoid, nn.soft_sign, nn.silu, nn.swish, nn.log_sigmoid, nn.leaky_relu, nn.hard_sigmoid, nn.hard_silu,
              nn.hard_swish, nn.hard_tanh, nn.tanh, nn.elu, nn.celu, nn.selu, nn.squareplus, nn.mish, nn.identity):
        add(f.__name__, f, X)
    add("gelu", nn.gelu, X)
    add("gelu exact", lambda x: nn.gelu(x, approximate=False), X)
    add("glu", nn.glu, (3, 4))
    add("logsumexp", lambda x: nn.logsumexp(x, axis=1), X)
    add("logsumexp weighted", lambda x: nn.logsumexp(x, axis=1, b=jnp.array([0.5, 1.0, 2.0, 1.0, 3.0], x.dtype)), X)
    add("logmeanexp", lambda x: nn.logmeanexp(x, axis=0), X)
    add("softmax", nn.softmax, X)
    add("softmax axis", lambda x: nn.softmax(x, axis=(0, 1)), X)
    add("softmax where", lambda x: nn.softmax(x, where=np.arange(5) < 3), X)
    add("softmax of a mask", lambda x: nn.softmax(jnp.where(np.tri(5, dtype=bool), x, -jnp.inf)), (5, 5))
    add("log_softmax", nn.log_softmax, X)
    add("log_softmax large", lambda x: nn.log_softmax(x * 300), X)
    add("log1mexp", nn.log1mexp, positive("log1mexp", 4))
    add("standardize", nn.standardize, X, single=1e-4)
    add("one_hot", lambda x: x @ nn.one_hot(np.array([1, 0, 4]), 5, dtype=x.dtype).T, X)
    # it computes in single precision whatever it gets
    add("dot_product_attention", nn.dot_product_attention, (1, 4, 2, 3), (1, 4, 2, 3), (1, 4, 2, 3), double=1e-6)
    add("dot_product_attention causal", lambda q, k, v: nn.dot_product_attention(q, k, v, is_causal=True), (1, 4, 2, 3), (1, 4, 2, 3), (1, 4, 2, 3), double=1e-6)
    # scaled_matmul and scaled_dot_general need numbers of 8 bits, get_scaled_dot_general_config makes none


def norms() -> None:
    """jax.numpy.linalg.norm."""
    global _group
    _group = "norm"
    norm = jnp.linalg.norm
    add("vector", norm, (5,))
    for o in (1, 2, 3, 0.5, np.inf, -np.inf, -1):
        add(f"vector, ord={o}", lambda x, o=o: norm(x, ord=o), (5,))
    add("matrix", norm, (3, 4))
    for o in ("fro", 1, -1, np.inf, -np.inf):
        add(f"matrix, ord={o}", lambda x, o=o: norm(x, ord=o), (3, 4))
    for o in (2, "nuc"):
        add(f"matrix, ord={o}", lambda x, o=o: norm(x, ord=o), (3, 4))
    add("axis, keepdims", lambda x: norm(x, axis=1, keepdims=True), (3, 4))
    add("squared", lambda x: norm(x) ** 2, (4,))
    add("two axes", lambda x: norm(x, axis=(0, 2)), (2, 3, 4))


def losses() -> None:
    """optax's losses, and its norms and projections."""
    global _group
    _group = "optax losses"
    try:
        import optax
        from optax import losses as L
    except ImportError:
        return
    X = (4, 5)
    labels = np.array([0, 3, 1, 4])
    one_hot = np.eye(5)[labels]
    signs = np.array([1.0, -1.0, 1.0, -1.0])
    like = lambda x, a: jnp.asarray(a, x.dtype)  # noqa: E731
    add("binary_dice_loss", lambda x: L.binary_dice_loss(x, like(x, (one_hot > 0) * 1.0)), X)
    add("convex_kl_divergence", lambda x: L.convex_kl_divergence(nn.log_softmax(x), like(x, one_hot * 0.9 + 0.02)), X)
    add("cosine_distance", L.cosine_distance, X, X)
    add("cosine_similarity", L.cosine_similarity, X, X)
    pads = np.zeros((2, 4))
    add("ctc_loss", lambda x: L.ctc_loss(x, pads, np.array([[1, 2], [3, 1]]), np.zeros((2, 2))), (2, 4, 5), single=1e-4)
    add("ctc_loss_with_forward_probs", lambda x: L.ctc_loss_with_forward_probs(x, pads, np.array([[1, 2], [3, 1]]), np.zeros((2, 2)))[0], (2, 4, 5), single=1e-4)
    add("dice_loss", lambda x: L.dice_loss(x, like(x, one_hot)), X)
    add("generalized_kl_divergence", lambda x: L.generalized_kl_divergence(x, like(x, one_hot * 0.9 + 0.02)), X)
    add("hinge_loss", lambda x: L.hinge_loss(x, like(x, signs)), (4,))
    add("huber_loss", L.huber_loss, X, X)
    add("kl_divergence", lambda x: L.kl_divergence(nn.log_softmax(x), like(x, one_hot * 0.9 + 0.02)), X)
    add("kl_divergence_with_log_targets", L.kl_divergence_with_log_targets, X, X)
    add("l2_loss", L.l2_loss, X, X)
    add("log_cosh", L.log_cosh, X, X)
    add("make_fenchel_young_loss", lambda x: L.make_fenchel_young_loss(nn.logsumexp)(x[0], like(x, one_hot[0])), X)
    add("multiclass_generalized_dice_loss", lambda x: L.multiclass_generalized_dice_loss(x, like(x, one_hot)), X)
    add("multiclass_hinge_loss", lambda x: L.multiclass_hinge_loss(x, labels), X)
    add("multiclass_perceptron_loss", lambda x: L.multiclass_perceptron_loss(x, labels), X)
    add("multiclass_sparsemax_loss", lambda x: L.multiclass_sparsemax_loss(x, labels), X)
    add("ntxent", lambda x: L.ntxent(x, np.array([0, 0, 1, 1])), X, single=1e-4)
    add("perceptron_loss", lambda x: L.perceptron_loss(x, like(x, signs)), (4,))
    add("poly_loss_cross_entropy", lambda x: L.poly_loss_cross_entropy(x, like(x, one_hot)), X)
    add("ranking_softmax_loss", lambda x: L.ranking_softmax_loss(x, like(x, one_hot * 2)), X)
    add("safe_softmax_cross_entropy", lambda x: L.safe_softmax_cross_entropy(x, like(x, one_hot)), X)
    add("sigmoid_binary_cross_entropy", lambda x: L.sigmoid_binary_cross_entropy(x, like(x, one_hot)), X)
    add("sigmoid_focal_loss", lambda x: L.sigmoid_focal_loss(x, like(x, one_hot), alpha=0.3), X)
    add("smooth_labels", lambda x: L.smooth_labels(x, 0.1), X)
    add("softmax_cross_entropy", lambda x: L.softmax_cross_entropy(x, like(x, one_hot)), X)
    add("softmax_cross_entropy_with_integer_labels", lambda x: L.softmax_cross_entropy_with_integer_labels(x, labels), X)
    add("sparsemax_loss", lambda x: L.sparsemax_loss(x, like(x, (signs + 1) / 2)), (4,))
    add("squared_error", L.squared_error, X, X)
    add("triplet_margin_loss", L.triplet_margin_loss, X, X, X)
    _group = "optax other"
    add("safe_norm", lambda x: optax.safe_norm(x, 1e-3), X)
    add("global_norm", lambda x, y: optax.global_norm({"a": x, "b": [y]}), X, (3,))
    P = getattr(optax, "projections", None)
    if P is not None:
        add("projection_non_negative", P.projection_non_negative, X)
        add("projection_box", lambda x: P.projection_box(x, -1.0, 1.0), X)
        add("projection_simplex", P.projection_simplex, (5,))
        add("projection_l1_ball", lambda x: P.projection_l1_ball(x, 1.0), (5,))
        add("projection_l2_ball", lambda x: P.projection_l2_ball(x, 1.0), (5,))
        add("projection_linf_ball", lambda x: P.projection_linf_ball(x, 1.0), (5,))


def functions_of_numpy() -> None:
    """A broad part of jax.numpy on real floats."""
    global _group
    _group = "jax.numpy"
    X, V = (3, 4), (6,)
    unary = "abs absolute arcsinh arctan ceil cbrt cos cosh deg2rad degrees exp exp2 expm1 fabs floor negative positive radians rint sign sin sinc sinh square tan tanh trunc real nan_to_num "
    unary += "ravel mean sum prod std var max min ptp median argmax argmin sort argsort cumsum cumprod diff ediff1d flip fliplr flipud rot90 transpose trace diag diagonal tril triu atleast_3d "
    unary += "nansum nanmax nanmin nanmean nanprod nanstd nanvar nancumsum isfinite isnan isinf heaviside_ signbit copy squeeze count_nonzero any all modf_ gradient cov corrcoef i0_ nanmedian unwrap_"
    for name in unary.split():
        if not name.endswith("_"):
            add(name, getattr(jnp, name), X, single=1e-4 if name in ("corrcoef", "nanprod") else 1e-5)
    for name in "log log10 log1p log2 reciprocal sqrt".split():
        add(name, getattr(jnp, name), positive(name, 5))
    for name in "arcsin arccos arctanh".split():
        add(name, getattr(jnp, name), numbers(name, 5, low=-0.9, high=0.9))
    add("arccosh", jnp.arccosh, numbers("arccosh", 5, low=1.1, high=3))
    for name in ("add subtract multiply divide maximum minimum fmax fmin arctan2 hypot logaddexp logaddexp2 copysign fmod remainder mod floor_divide heaviside greater where_ inner outer "
                 "vdot dot matmul_ kron convolve correlate polyadd polymul append isclose float_power_ vecdot divmod interp_").split():
        if not name.endswith("_"):
            add(name, getattr(jnp, name), V, V)
    add("power", jnp.power, positive("power", 4), (4,))
    add("float_power", lambda x: jnp.float_power(x, 2.5), positive("float_power", 4))
    add("matmul", jnp.matmul, (2, 3, 4), (4, 5))
    add("tensordot", lambda x, y: jnp.tensordot(x, y, 2), (2, 3, 4), (3, 4, 5))
    add("einsum", lambda x, y: jnp.einsum("bij,bjk->bik", x, y), (2, 3, 4), (2, 4, 2))
    add("einsum with a diagonal", lambda x: jnp.einsum("iij->j", x), (3, 3, 4))
    add("cross", jnp.cross, (2, 3), (2, 3))
    add("clip", lambda x: jnp.clip(x, -0.5, 1.0), X)
    add("clip above", lambda x: jnp.clip(x, max=0.5), X)
    add("where", lambda x: jnp.where(x > 0, jnp.log(jnp.where(x > 0, x, 1)), 0), X)
    add("where with log of what is not taken", lambda x: jnp.where(x > 0, jnp.log(x), 0), positive("wl", 4))
    add("select", lambda x: jnp.select([x < -1, x < 1], [x, x * 2], x * 3), X)
    add("piecewise", lambda x: jnp.piecewise(x, [x < 0, x >= 0], [lambda x: -x, lambda x: x * x]), V)
    add("average", lambda x: jnp.average(x, axis=0, weights=jnp.array([1.0, 2.0, 3.0], x.dtype)), X)
    add("percentile", lambda x: jnp.percentile(x, 30.0, axis=1), X)
    add("quantile", lambda x: jnp.quantile(x, jnp.array([0.25, 0.6], x.dtype), axis=0), X)
    add("interp", lambda x: jnp.interp(x, jnp.array([-1.5, 0.0, 1.5], x.dtype), jnp.array([1.0, 2.0, 0.0], x.dtype)), V)
    add("take", lambda x: jnp.take(x, jnp.array([2, 0]), axis=1), X)
    add("take_along_axis", lambda x: jnp.take_along_axis(x, jnp.array([[0], [2], [1]]), axis=1), X)
    add("roll", lambda x: jnp.roll(x, (1, -2), axis=(0, 1)), X)
    add("repeat", lambda x: jnp.repeat(x, 2, axis=1), X)
    add("stack", lambda x, y: jnp.stack([x, y], 1), X, X)
    add("hstack", lambda x, y: jnp.hstack([x, y]), X, X)
    add("vstack", lambda x, y: jnp.vstack([x, y]), X, X)
    add("block", lambda x, y: jnp.block([[x, y], [y, x]]), (2, 2), (2, 2))
    add("meshgrid", lambda x, y: jnp.meshgrid(x, y), (3,), (4,))
    for mode in ("constant", "edge", "reflect", "symmetric", "wrap", "mean", "maximum", "linear_ramp"):
        add(f"pad {mode}", lambda x, m=mode: jnp.pad(x, ((1, 2), (2, 1)), mode=m), X)
    add("array_split", lambda x: jnp.array_split(x, 3), V)
    add("moveaxis", lambda x: jnp.moveaxis(x, 0, 2), (2, 3, 4))
    add("expand and index", lambda x: x[::-2, None, 1:3, ...], X)
    add("negative indices", lambda x: x[-1] + x[-2, ::-1], X)
    add("mask known", lambda x: x[np.array([True, False, True])], X)
    add("delete", lambda x: jnp.delete(x, 1), V)
    add("insert", lambda x: jnp.insert(x, 2, 5.0), V)
    add("trapezoid", lambda x: jnp.trapezoid(x), V)
    add("polyval", lambda p, x: jnp.polyval(p, x), (4,), (3,))
    add("vander", lambda x: jnp.vander(x, 3), V)
    add("searchsorted", lambda x: x * jnp.searchsorted(jnp.array([-1.0, 0.0, 1.0], x.dtype), x), V)
    add("digitize", lambda x: x * jnp.digitize(x, jnp.array([-1.0, 0.0, 1.0], x.dtype)), V)
    add("partition", lambda x: jnp.partition(x, 3)[3], V)
    add("segment_sum", lambda x: jax.ops.segment_sum(x, np.array([0, 1, 0, 2, 1, 0]), 3), V)
    add("segment_max", lambda x: jax.ops.segment_max(x, np.array([0, 1, 0, 2, 1, 0]), 3), V)
    _group = "jax.scipy.special"
    for name in "erf erfc expit log_ndtr ndtr entr_ logsumexp log_softmax softmax".split():
        if not name.endswith("_"):
            add(name, getattr(special, name), (5,))
    for name in "entr gammaln digamma i0 i1 i0e i1e".split():
        add(name, getattr(special, name), positive(name, 5))
    for name in "xlogy xlog1py rel_entr kl_div".split():
        add(name, getattr(special, name), positive(name + "1", 5), positive(name + "2", 5))
    add("logit", special.logit, numbers("logit", 5, low=0.1, high=0.9))
    add("erfinv", special.erfinv, numbers("erfinv", 5, low=-0.9, high=0.9))
    add("boxcox", lambda x: special.boxcox(x, 0.7), positive("boxcox", 4))


def networks() -> None:
    """Small networks as people write them."""
    global _group
    _group = "networks"
    mlp = {"w": [numbers("w0", 4, 6), numbers("w1", 6, 3)], "b": [numbers("b0", 6), numbers("b1", 3)]}

    def net(params, x):
        for w, b in zip(params["w"][:-1], params["b"][:-1]):
            x = nn.relu(x @ w + b)
        return x @ params["w"][-1] + params["b"][-1]

    add("MLP", lambda p, x: jnp.mean(net(p, x) ** 2), mlp, (5, 4))
    add("MLP, vmap and jit", jax.jit(jax.vmap(net, (None, 0))), mlp, (5, 4))

    def cnn(p, x):
        x = lax.conv_general_dilated(x, p["k"], (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))
        x = nn.relu(x + p["b"])
        x = lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
        x = x.reshape(x.shape[0], -1) @ p["w"]
        return -jnp.mean(nn.log_softmax(x)[jnp.arange(2), np.array([1, 0])])

    add("CNN", cnn, {"k": numbers("k", 3, 3, 1, 2), "b": numbers("b", 2), "w": numbers("w", 18, 3)}, (2, 6, 6, 1))

    def layer_norm(x):
        m = x.mean(-1, keepdims=True)
        return (x - m) * lax.rsqrt(((x - m) ** 2).mean(-1, keepdims=True) + 1e-5)

    def block(p, x):
        h = layer_norm(x)
        q, k, v = (jnp.einsum("td,dhe->the", h, p[n]) for n in "qkv")
        scores = jnp.einsum("the,she->hts", q, k) / jnp.sqrt(3.0).astype(x.dtype)
        scores = jnp.where(jnp.tril(jnp.ones((4, 4), bool)), scores, -jnp.inf)
        x = x + jnp.einsum("hts,she,hed->td", nn.softmax(scores), v, p["o"])
        return x + nn.gelu(layer_norm(x) @ p["up"]) @ p["down"]

    shapes = {"q": (6, 2, 3), "k": (6, 2, 3), "v": (6, 2, 3), "o": (2, 3, 6), "up": (6, 8), "down": (8, 6)}
    weights = {n: numbers("t" + n, *s, low=-0.5, high=0.5) for n, s in shapes.items()}
    add("transformer block", block, weights, (4, 6), single=1e-4)

    def gru(p, xs):
        def cell(h, x):
            z, r = nn.sigmoid(x @ p["wz"] + h @ p["uz"]), nn.sigmoid(x @ p["wr"] + h @ p["ur"])
            n = jnp.tanh(x @ p["wn"] + r * (h @ p["un"]))
            h = (1 - z) * n + z * h
            return h, h

        last, states = lax.scan(cell, jnp.zeros((5,), xs.dtype), xs)
        return last.sum() + jnp.max(states)

    gates = {n: numbers("g" + n, 3 if n[0] == "w" else 5, 5, low=-0.7, high=0.7) for n in ("wz", "uz", "wr", "ur", "wn", "un")}
    add("GRU by scan", gru, gates, (6, 3))

    def batch_norm(x):
        return (x - x.mean(0)) / jnp.sqrt(x.var(0) + 1e-3)

    add("batch norm", batch_norm, (6, 3), single=1e-4)
    add("dropout with a known key", lambda x: jnp.where(jax.random.bernoulli(jax.random.key(0), 0.7, x.shape), x / 0.7, 0), (4, 5))
    add("embedding", lambda e: e[np.array([[0, 2], [1, 1]])].mean(1), (4, 3))
    add("average pool", lambda x: lax.reduce_window(x, 0.0, lax.add, (1, 2, 2, 1), (1, 2, 2, 1), "SAME") / 4, (1, 5, 5, 2))
    add("k-means step", lambda c, x: jnp.min(((x[:, None] - c[None]) ** 2).sum(-1), axis=1).sum(), (3, 2), (7, 2))
    add("Newton by fori_loop", lambda x: lax.fori_loop(0, 5, lambda i, y: 0.5 * (y + x / y), x), positive("newton", 3))
    add("gradient as a function", lambda p, x: jax.grad(lambda p: jnp.sum(net(p, x) ** 2))(p)["b"][0], mlp, (5, 4), gradient=False)
    add("gradient penalty", lambda x: jnp.sum(jax.grad(lambda x: jnp.sum(jnp.tanh(x) ** 2 * x[::-1]))(x) ** 2), (4,))


def hostile() -> None:
    """Odd shapes, steps, padding and nesting."""
    global _group
    _group = "hostile"
    add("number", lambda x: jnp.sin(x) * x, ())
    add("one element", lambda x: jnp.max(x) + jnp.sort(x)[0] + jnp.cumsum(x)[-1], (1,))
    add("long axis of ones", lambda x: jnp.max(x, axis=(0, 2)) * x[0, :, 0], (1, 3, 1))
    add("negative steps in all axes", lambda x: x[::-2, ::-1, ::3] * 2, (4, 3, 5))
    add("interior and negative padding", lambda x: lax.pad(x, jnp.asarray(0.0, x.dtype), ((-1, 3, 2), (2, -4, 1))), (3, 5))
    add("padding that cuts to one", lambda x: lax.pad(x, jnp.asarray(1.5, x.dtype), ((-2, -2, 0),)), (5,))
    add("dilated pool with odd padding", lambda x: lax.reduce_window(x, -jnp.inf, lax.max, (3,), (2,), ((2, 1),)), (7,))
    add("nested scans", lambda x: lax.scan(lambda c, r: (lax.scan(lambda d, t: (d * 0.5 + jnp.sin(t), d), c, r)[0], c), x[0, 0], x), (3, 4))
    add("scan in cond", lambda x: lax.cond(x[0] > 0, lambda x: lax.scan(lambda c, t: (c + t * t, None), 0.0 * x[0], x)[0], lambda x: x.sum(), x), (4,))
    add("cond in scan", lambda x: lax.scan(lambda c, t: (lax.cond(t > 0, lambda c: c * t, lambda c: c - t, c), c), x[0], x), (6,))
    add("cond that gives several", lambda x: lax.cond(x[0] > x[1], lambda x: (x, x[0]), lambda x: (x * 2, x[1]), x), (3,))
    add("switch out of range", lambda x: lax.switch(7, [jnp.sin, jnp.cos], x), (3,))
    add("loop with index arithmetic", lambda x: lax.fori_loop(0, 3, lambda i, c: c + x[2 * i] * x[-i - 1] - x[i // 2] + x[i % 2], 0.0 * x[0]), (6,))
    add("loop that writes", lambda x: lax.fori_loop(0, 4, lambda i, a: a.at[i].set(a[i - 1] * x[i]), jnp.ones(4, x.dtype)), (4,))
    add("while that counts down", lambda x: lax.while_loop(lambda s: s[0] > 0, lambda s: (s[0] - 2, s[1] * x), (7, x))[1], (3,), gradient=False)
    add("random numbers in a scan", lambda x: lax.scan(lambda k, t: (jax.random.split(k)[0], t * jax.random.uniform(k, (), x.dtype)), jax.random.key(1), x)[1], (3,))
    add("structure", lambda a: {"u": (a["b"][0] * a["a"], [a["b"][1]]), "v": None}, {"b": [numbers("s1", 2), numbers("s2", 3)], "a": numbers("s3", 2)})
    add("half precision inside", lambda x: (x.astype(jnp.float64) * jnp.asarray(0.1, jnp.bfloat16).astype(x.dtype)).astype(x.dtype), (3,))
    add("truth values along", lambda x: jnp.cumsum(x > 0) * x + jnp.sum(x > 0) + (x > 0).argmax() * x[0], (5,))
    add("sorting pairs with a tie in the keys", lambda x: lax.sort((jnp.array([1.0, 0.0, 1.0, 0.0], x.dtype), x), num_keys=1)[1], (4,))
    add("a matrix of constants alone", lambda x: x.sum() * jnp.linalg.inv(jnp.eye(3, dtype=x.dtype) * 2), (3,))
    add("minus infinity as a start", lambda x: lax.scan(lambda c, t: (jnp.maximum(c, t), c), x[0], x)[0], (5,))
    add("max with initial", lambda x: jnp.max(x, initial=-jnp.inf, where=np.array([True, False, True, True])), (4,))
    add("sum with where", lambda x: jnp.sum(x, where=x > 0), (6,))
    add("logsumexp of a mask", lambda x: nn.logsumexp(jnp.where(np.array([True, False, True, False]), x, -jnp.inf)), (4,))
    add("softmax of softmax", lambda x: nn.softmax(nn.softmax(x * 3) * 5), (4,))
    add("attention bias", lambda x: nn.softmax(x + np.where(np.tri(4, dtype=bool), 0.0, -np.inf).astype(x.dtype)), (4, 4))
    add("repeat a jitted function", lambda x: _twice(_twice(x)), (3,))
    add("integer arithmetic", lambda x: x * ((jnp.arange(5) * 7) // 3 % 4 - 2), (5,))
    add("pick by a computed index of two axes", lambda x: x[jnp.argmax(x[:, 0]), jnp.argmin(x[0])], (3, 4))
    add("gather of gather", lambda x: x[jnp.argsort(x)][jnp.argsort(-x)], (5,))
    add("median by sort", lambda x: jnp.median(x, axis=0), (5, 3))
    add("power with a number", lambda x: x**2 + jnp.abs(x) ** 2.5 + 2.0**x, (4,))


@jax.jit
def _twice(x):
    return jnp.where(x > 0, x * 2, x - 1)


for _make in (primitives, functions_of_nn, norms, losses, functions_of_numpy, networks, hostile):
    _make()


# judging


def cast(tree: Any, dtype: str) -> Any:
    return jax.tree.map(lambda a: np.asarray(a, dtype)[()] if np.ndim(a) == 0 else np.asarray(a, dtype), tree)


def _floats(out: Any) -> list[Any]:
    return [x for x in jax.tree.leaves(out) if jnp.asarray(x).dtype.kind == "f"]


def _apart(ours: Any, theirs: Any, tolerance: float) -> str | None:
    """How far two lists of arrays are apart, if it is too much."""
    a, b = (jax.tree.leaves(t) for t in (ours, theirs))
    if len(a) != len(b):
        return f"{len(a)} results for {len(b)}"
    for x, y in zip(a, b):
        x, y = np.asarray(x, float), np.asarray(y, float)
        if x.shape != y.shape:
            return f"shape {x.shape} for {y.shape}"
        if not np.all(np.isfinite(y)):
            return "JAX has NaN or infinity here"
        scale = max(1.0, float(np.max(np.abs(y), initial=0.0)))
        far = float(np.max(np.abs(x - y), initial=0.0))
        if not far <= tolerance * scale:
            return f"{far / scale:.1e} apart"
    return None


def judge(case: Case, precisions: tuple[str, ...] = ("float64", "float32")) -> tuple[str, str]:
    """``ok``, ``wrong``, ``refused``, or ``broken`` where JAX itself or the import failed otherwise; and why."""
    tried: list[str] = []
    for dtype in precisions:
        tolerance = case.single if dtype == "float32" else case.double
        args = cast(case.args, dtype)
        fn = case.fn
        try:
            theirs = jax.jit(fn)(*args)
            if case.gradient and _floats(theirs):
                jax.eval_shape(jax.grad(lambda *a: sum(jnp.sum(x) for x in _floats(fn(*a)))), *args)
        except TypeError as e:
            tried.append(f"{dtype}: JAX itself: {e}")
            continue
        try:
            p = from_jax(fn, *args)
            ours = p(*args)
        except Unsupported as e:
            return "refused", str(e).split("; crease.supported")[0]
        except CreaseError as e:
            return "broken", f"{dtype}: {e}"
        far = _apart(ours, jax.tree.map(lambda x: x, theirs), tolerance)
        if far:
            return "wrong", f"{dtype} value: {far}"
        weights = [numbers(f"w{i}", *np.shape(x)) for i, x in enumerate(_floats(theirs))]
        if not weights or not case.gradient:
            continue

        def loss(*a, fn=fn, weights=weights):
            return sum(jnp.sum(x * w.astype(x.dtype)) for x, w in zip(_floats(fn(*a)), weights))

        gradient = jax.jit(jax.grad(loss, argnums=tuple(range(len(args)))))(*args)
        try:
            q = from_jax(loss, *args)
            found = q.grad(*args)
        except CreaseError as e:
            return "broken", f"{dtype} gradient: {e}"
        found = found if len(args) != 1 else (found,)
        far = _apart(found, gradient, tolerance * 10)
        if far:
            return "wrong", f"{dtype} gradient: {far}"
    return ("ok", "") if len(tried) < len(precisions) else ("broken", "; ".join(tried))


# what is not a primitive of one device on real floats, or is never met in a function
NOT_REAL = set(
    """after_all all_gather all_to_all axis_index bitcast_convert_type call clz complex conj create_token eq_to le_to lt_to get imag pmax pmin population_count ppermute psum
    ragged_all_to_all random_bits random_fold_in random_gamma random_seed random_split real rng_bit_generator rng_uniform shift_left shift_right_arithmetic shift_right_logical swap threefry2x32
    eig schur hessenberg empty2 custom_lin add_jaxvals device_put igamma_grad_a sharding_constraint copy_p fft select_and_scatter closed_call nextafter""".split()
)
# what an attribute of JAX calls otherwise than an equation does
SAME_NAME = {"remat": "remat2", "scatter_add": "scatter-add", "scatter_mul": "scatter-mul", "scatter_min": "scatter-min", "scatter_max": "scatter-max", "linear_solve": "custom_linear_solve"}


def primitives_of(jaxpr: Any) -> set[str]:
    """The names of all primitives in a jaxpr, and in those inside of it."""
    jaxpr = getattr(jaxpr, "jaxpr", jaxpr)
    found = set()
    for eqn in jaxpr.eqns:
        found.add(eqn.primitive.name)
        for value in jax.tree.leaves(list(eqn.params.values()), is_leaf=lambda x: hasattr(x, "eqns") or hasattr(x, "jaxpr")):
            if hasattr(value, "eqns") or hasattr(getattr(value, "jaxpr", None), "eqns"):
                found |= primitives_of(value)
    return found


def lax_primitives(status: Callable[[Case], str]) -> tuple[list[str], list[str]]:
    """The primitives of lax on real floats: those that stand in a case which agrees with JAX, and those that do not."""
    names = [n for n in primitive_names() if n not in NOT_REAL]
    agreed: set[str] = set()
    for case in CASES:
        if status(case) != "ok":
            continue
        try:
            agreed |= primitives_of(jax.make_jaxpr(case.fn)(*cast(case.args, "float64")))
        except TypeError:
            agreed |= primitives_of(jax.make_jaxpr(case.fn)(*cast(case.args, "float32")))
    # one that is only met with known arguments, which JAX folds, is not imported: its own case says so
    refused = {c.name for c in CASES if c.group == "lax" and status(c) != "ok"}
    yes = [n for n in names if SAME_NAME.get(n, n) in agreed and n not in refused]
    return yes, [n for n in names if n not in yes]


# the groups whose answers at ties are compared and judged
AT_TIES = ("jax.nn", "norm", "optax losses")


def at_ties(case: Case, found: Ties, seconds: float = 5.0) -> None:
    """What JAX returns where many numbers are equal, and what the program does."""
    if not case.gradient:
        return
    args = cast(case.args, "float64")
    weights = [numbers(f"w{i}", *np.shape(x)) for i, x in enumerate(y for y in jax.tree.leaves(jax.eval_shape(case.fn, *args)) if y.dtype.kind == "f")]

    def loss(*a):
        return sum(jnp.sum(x * w.astype(x.dtype)) for x, w in zip(_floats(case.fn(*a)), weights))

    try:
        program = from_jax(loss, *args)
    except CreaseError:
        return
    for point in tied_points(args, lambda f, x: f(np.asarray(x))):
        theirs = jax.grad(loss, argnums=tuple(range(len(args))))(*point)
        theirs = theirs[0] if len(args) == 1 else theirs
        found.add(case.name, program, point, jax.tree.map(np.asarray, theirs), 1e-5, seconds)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--group", help="only this group")
    parser.add_argument("--name", nargs="*", help="only names that contain one of these")
    parser.add_argument("--write", action="store_true", help="into docs/coverage.md")
    options = parser.parse_args()
    chosen = [c for c in CASES if (not options.group or c.group == options.group) and (not options.name or any(n in c.name for n in options.name))]
    results: dict[str, list[tuple[Case, str, str]]] = {}
    ties: dict[str, Ties] = {}
    known: dict[int, str] = {}
    for c in chosen:
        try:
            status, why = judge(c)
            if c.group in AT_TIES and status == "ok":
                at_ties(c, ties.setdefault(c.group, Ties()))
        except Exception as e:  # noqa: BLE001  the table shows whatever happens
            status, why = "broken", f"{type(e).__name__}: {e}"
        known[id(c)] = status
        results.setdefault(c.group, []).append((c, status, " ".join(why.split())))
        print(f"{status:8} {c}  {why.splitlines()[0] if why else ''}", file=sys.stderr, flush=True)
    lines = [f"JAX {jax.__version__}.\n"]
    if not options.name and not options.group:
        yes, no = lax_primitives(lambda c: known[id(c)])
        lines.append(f"Primitives of lax on real floats: {len(yes)} of {len(yes) + len(no)} stand in a function that agrees with JAX ({len(yes) / (len(yes) + len(no)):.0%}).")
        lines.append(f"The others: {', '.join(no)}.\n")
    lines.append("| group | tried | agree | refused | wrong | broken |\n| --- | --- | --- | --- | --- | --- |")
    total = [0] * 5
    for group, rows in results.items():
        counts = [len(rows)] + [sum(s == which for _, s, _ in rows) for which in ("ok", "refused", "wrong", "broken")]
        total = [a + b for a, b in zip(total, counts)]
        lines.append(f"| {group} | {' | '.join(map(str, counts))} |")
    lines.append(f"| all | {' | '.join(map(str, total))} |")
    if ties:
        lines.append(f"\n| group | {COLUMNS} |\n| --- |{' --- |' * 7}")
        lines += [f"| {group} | {found.row()} |" for group, found in ties.items()]
        for which, of in (("Other at ties", "other"), ("Judged wrong", "wrong")):
            listed = [f"- {group}, {one}" for group, found in ties.items() for one in getattr(found, of)]
            if listed:
                lines.append(f"\n{which}:\n")
                lines += listed
    for which in ("wrong", "broken", "refused"):
        rows_of = [(c, why) for rows in results.values() for c, s, why in rows if s == which]
        if rows_of:
            lines.append(f"\n{which.capitalize()}:\n")
            lines += [f"- {c}: {without_place(why)}" for c, why in rows_of]
    text = "\n".join(lines) + "\n"
    if options.write:
        page.write("coverage.md", "jax", text)
    else:
        print(text, end="")
    return 1 if total[3] or total[4] else 0


def without_place(why: str) -> str:
    """A reason without the line of this file."""
    return re.sub(r" \([^()]*\.py:\d+\)", "", why)


if __name__ == "__main__":
    sys.exit(main())
