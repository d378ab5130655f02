"""HIPS autograd: numpy functions, traced anew in every call. It has no convolution that is fit to be timed, and no median."""

import importlib.metadata

import autograd.numpy as np
import numpy
from autograd import make_jvp, value_and_grad
from autograd.scipy.special import logsumexp

import measure

SYSTEM = f"autograd {importlib.metadata.version('autograd')}"


def traced(f, parameters):
    """The usual three functions for f(parameters), a tuple or an array."""
    both = value_and_grad(f)

    def answer():
        v, g = both(parameters)
        return v, list(g) if isinstance(parameters, tuple) else [g]

    return lambda: f(parameters), lambda: both(parameters), answer


def sat(variables):
    index, sign, points = measure.sat(variables)
    following = measure.in_turn(points)
    f = lambda x: np.min(np.maximum(np.max(sign * x[index], axis=1), 0.0))
    both = value_and_grad(f)

    def answer():
        all_ = [both(x) for x in points]
        return sum(v for v, _ in all_), [numpy.concatenate([g for _, g in all_])]

    return lambda: f(following()), lambda: both(following()), answer


def mlp(batch, dtype):
    parameters, x, labels = measure.mlp(batch, dtype)
    each = numpy.arange(batch)

    def f(parameters):
        w0, b0, w1, b1, w2, b2 = parameters
        h = np.maximum(np.dot(x, w0) + b0, 0.0)
        h = np.maximum(np.dot(h, w1) + b1, 0.0)
        z = np.dot(h, w2) + b2
        return np.mean(logsumexp(z, axis=1) - z[each, labels])

    return traced(f, tuple(parameters))


def of_vector(f):
    return traced(f, measure.vector()[0])


def max_linear():
    a, q = measure.vector()
    return traced(lambda a: np.max(np.dot(a, q)), a.reshape(10, -1))


def theorem3(p):
    u, b, m, a = measure.theorem3(p)
    zero = numpy.zeros(p)
    f = lambda x: np.sum(np.abs(np.dot(u, np.dot(b.T, np.dot(m, x))))) / p
    along = make_jvp(f)(zero)
    # there is no vmap: one direction after the other
    all_ = lambda: numpy.array([along(d)[1] for d in a])
    return lambda: f(zero), all_, lambda: (f(zero), [all_()])


def gmm():
    alphas, means, icf, x = measure.gmm()
    row, column = measure.lower_triangle()
    n, d = len(x), 10
    # no assignment to parts of an array: the triangle is read through a table from the entries and a zero
    table = numpy.full((d, d), 55)
    table[row, column] = d + numpy.arange(len(row))
    nothing = numpy.zeros((len(alphas), 1))

    def f(parameters):
        alphas, means, icf = parameters
        scales = np.exp(icf[:, :d])
        below = np.concatenate([icf, nothing], axis=1)[:, table]
        centred = x[None] - means[:, None]
        q = scales[:, None] * centred + np.matmul(centred, np.transpose(below, (0, 2, 1)))
        t = np.reshape(alphas + np.sum(icf[:, :d], axis=1), (-1, 1)) - 0.5 * np.sum(q * q, axis=2)
        prior = 0.5 * (np.sum(scales**2) + np.sum(icf[:, d:] ** 2))
        return np.sum(logsumexp(t, axis=0)) - n * logsumexp(alphas) + prior + measure.GMM_CONSTANT

    return traced(f, (alphas, means, icf))


if __name__ == "__main__":
    measure.main(SYSTEM, [
        ("A sat", "", lambda: sat(250)),
        ("A' sat", "", lambda: sat(2500)),
        ("B mlp f32, batch 1", "", lambda: mlp(1, "float32")),
        ("B' mlp f32, batch 64", "", lambda: mlp(64, "float32")),
        ("B' mlp f64, batch 64", "", lambda: mlp(64, "float64")),
        ("C l1 10^6", "", lambda: of_vector(lambda x: np.sum(np.abs(x)))),
        ("C linf 10^6", "", lambda: of_vector(lambda x: np.max(np.abs(x)))),
        ("C sum of relu 10^6", "", lambda: of_vector(lambda x: np.sum(np.maximum(x, 0.0)))),
        ("C max-linear 10 x 10^5", "", max_linear),
        ("D theorem 3, p = 256", "jvp, one by one", lambda: theorem3(256)),
        ("D theorem 3, p = 512", "jvp, one by one", lambda: theorem3(512)),
        ("F gmm 10, 25, 1000", "", gmm),
    ])
