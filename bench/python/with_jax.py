"""JAX, each function under jit with all its data as arguments, so that XLA can fold nothing; results are waited for."""

import os

os.environ.setdefault("JAX_PLATFORMS", "cpu")
# beside what the caller says, which may be the instructions to be used
ONE_THREAD = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
os.environ["XLA_FLAGS"] = " ".join([os.environ.get("XLA_FLAGS", ""), ONE_THREAD]).strip()

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import logsumexp

import measure

jax.config.update("jax_enable_x64", True)
SYSTEM = f"JAX {jax.__version__}"


def by_jit(f, parameters, rest=()):
    """The usual three functions for f(parameters, *rest)."""
    parameters, rest = jax.tree.map(jnp.asarray, (parameters, rest))
    value, both = jax.jit(f), jax.jit(jax.value_and_grad(f))

    def answer():
        v, g = both(parameters, *rest)
        return v, jax.tree.leaves(g)

    wait = jax.block_until_ready
    return lambda: wait(value(parameters, *rest)), lambda: wait(both(parameters, *rest)), answer


def sat(variables):
    index, sign, points = measure.sat(variables)
    index, sign, points = jnp.asarray(index), jnp.asarray(sign), [jnp.asarray(x) for x in points]
    following = measure.in_turn(points)
    f = lambda x, index, sign: jnp.min(jax.nn.relu(jnp.max(sign * x[index], axis=1)))
    value, both = jax.jit(f), jax.jit(jax.value_and_grad(f))

    def answer():
        all_ = [both(x, index, sign) for x in points]
        return sum(float(v) for v, _ in all_), [np.concatenate([g for _, g in all_])]

    wait = jax.block_until_ready
    return lambda: wait(value(following(), index, sign)), lambda: wait(both(following(), index, sign)), answer


def cross_entropy(z, labels):
    return -jnp.mean(jnp.take_along_axis(jax.nn.log_softmax(z), labels[:, None], 1))


def mlp(batch, dtype):
    parameters, x, labels = measure.mlp(batch, dtype)

    def f(parameters, x, labels):
        w0, b0, w1, b1, w2, b2 = parameters
        h = jax.nn.relu(x @ w0 + b0)
        h = jax.nn.relu(h @ w1 + b1)
        return cross_entropy(h @ w2 + b2, labels)

    return by_jit(f, parameters, (x, labels))


def of_vector(f, dtype=np.float64):
    return by_jit(f, measure.vector()[0].astype(dtype))


def lower_median(x):
    # jnp.median averages the two middle values of an even number; it sorts as well
    return jnp.sort(x)[(x.size - 1) // 2]


def max_linear():
    a, q = measure.vector()
    return by_jit(lambda a, q: jnp.max(a @ q), a.reshape(10, -1), (q,))


def theorem3(p):
    u, b, m, a = (jnp.asarray(x) for x in measure.theorem3(p))
    zero = jnp.zeros(p)
    f = lambda x, u, b, m: jnp.sum(jnp.abs(u @ (b.T @ (m @ x)))) / p
    along = lambda x, d, u, b, m: jax.jvp(lambda x: f(x, u, b, m), (x,), (d,))[1]
    value, all_ = jax.jit(f), jax.jit(jax.vmap(along, in_axes=(None, 0, None, None, None)))
    wait = jax.block_until_ready
    answer = lambda: (value(zero, u, b, m), [all_(zero, a, u, b, m)])
    return lambda: wait(value(zero, u, b, m)), lambda: wait(all_(zero, a, u, b, m)), answer


def cnn(batch):
    parameters, x, labels = measure.cnn(batch)
    names = ("NCHW", "OIHW", "NCHW")

    def layer(h, w, b):
        h = jax.lax.conv_general_dilated(h, w, (1, 1), "SAME", dimension_numbers=names) + b[:, None, None]
        return jax.lax.reduce_window(jax.nn.relu(h), -jnp.inf, jax.lax.max, (1, 1, 2, 2), (1, 1, 2, 2), "VALID")

    def f(parameters, x, labels):
        w0, b0, w1, b1, w2, b2 = parameters
        h = layer(layer(x, w0, b0), w1, b1)
        return cross_entropy(h.reshape(len(h), -1) @ w2 + b2, labels)

    return by_jit(f, parameters, (x, labels))


def gmm():
    alphas, means, icf, x = measure.gmm()
    row, column = measure.lower_triangle()
    n, d, on = len(x), 10, np.arange(10)

    def f(parameters, x):
        alphas, means, icf = parameters
        scales = jnp.exp(icf[:, :d])
        factors = jnp.zeros((len(alphas), d, d)).at[:, row, column].set(icf[:, d:]).at[:, on, on].set(scales)
        q = jnp.einsum("kij,knj->kni", factors, x[None] - means[:, None])
        t = (alphas + icf[:, :d].sum(1))[:, None] - 0.5 * (q * q).sum(2)
        prior = 0.5 * ((scales**2).sum() + (icf[:, d:] ** 2).sum())
        return logsumexp(t, axis=0).sum() - n * logsumexp(alphas) + prior + measure.GMM_CONSTANT

    return by_jit(f, (alphas, means, icf), (x,))


def lasso():
    a, b, penalty, rate = measure.lasso()
    soft = lambda x, t: jax.nn.relu(x - t) - jax.nn.relu(-x - t)

    def f(parameters, a, rate):
        b, penalty = parameters
        step = lambda x, _: (soft(x - rate * (a.T @ (a @ x - b)), rate * penalty), None)
        x, _ = jax.lax.scan(step, jnp.zeros(a.shape[1]), None, length=1000)
        r = a @ x - b
        return 0.5 * (r @ r) + penalty * jnp.sum(jnp.abs(x))

    return by_jit(f, (b, penalty), (a, rate))


def gru():
    x, parameters = measure.gru()

    def f(parameters, x):
        W, U, V, w, u, v, out = parameters

        def cell(h, x):
            z = jax.nn.sigmoid(W @ h + w @ x)
            r = jax.nn.sigmoid(U @ h + u @ x)
            new = jnp.tanh(V @ (r * h) + v @ x)
            h = h + z * (new - h)
            return h, jnp.abs(out @ h - x[0])

        return jnp.mean(jax.lax.scan(cell, jnp.zeros(len(out)), x)[1])

    return by_jit(f, parameters, (x,))


def camera():
    parameters, seen = measure.camera()

    def one(w, centre, focal, principal, radial, point, weight, seen):
        angle = jnp.sqrt(w @ w)
        axis, c = w / angle, jnp.cos(angle)
        x = point - centre
        y = c * x + jnp.sin(angle) * jnp.cross(axis, x) + (1 - c) * (axis @ x) * axis
        q = y[:2] / y[2]
        r2 = q @ q
        image = (1 + radial[0] * r2 + radial[1] * r2 * r2) * focal * q + principal
        size = jnp.abs(weight * (image - seen))
        near = jnp.minimum(size, 1.0)
        return jnp.sum(near * (size - near / 2)) + jax.nn.relu(jnp.abs(1 - weight * weight) - 0.1)

    def f(parameters, seen):
        return jnp.sum(jax.vmap(one, (None,) * 5 + (0,) * 3)(*parameters, seen))

    return by_jit(f, parameters, (seen,))


if __name__ == "__main__":
    measure.main(SYSTEM, [
        ("A sat", "jit", lambda: sat(250)),
        ("A' sat", "jit", lambda: sat(2500)),
        ("B mlp f32, batch 1", "jit", lambda: mlp(1, np.float32)),
        ("B' mlp f32, batch 64", "jit", lambda: mlp(64, np.float32)),
        ("B' mlp f64, batch 64", "jit", lambda: mlp(64, np.float64)),
        ("C l1 10^6", "jit", lambda: of_vector(lambda x: jnp.sum(jnp.abs(x)))),
        ("C linf 10^6", "jit", lambda: of_vector(lambda x: jnp.max(jnp.abs(x)))),
        ("C sum of relu 10^6", "jit", lambda: of_vector(lambda x: jnp.sum(jax.nn.relu(x)))),
        ("C max-linear 10 x 10^5", "jit", max_linear),
        ("C' median 10^6 f32", "jit, sort", lambda: of_vector(lower_median, np.float32)),
        ("D theorem 3, p = 256", "jit, vmap of jvp", lambda: theorem3(256)),
        ("D theorem 3, p = 512", "jit, vmap of jvp", lambda: theorem3(512)),
        ("E cnn f32, batch 1", "jit", lambda: cnn(1)),
        ("E cnn f32, batch 64", "jit", lambda: cnn(64)),
        ("F gmm 10, 25, 1000", "jit", gmm),
        ("H lasso 50 x 100, 1000 steps", "jit, lax.scan", lasso),
        ("I gru 32, 100 steps", "jit, lax.scan", gru),
        ("J camera, 1000 points", "jit, vmap", camera),
    ])
