"""Batches: blocks of points give what calls at the points give, up to rounding, however many there are and whoever runs them."""

import numpy as np
import pytest

import crease

RNG = np.random.default_rng(7)


def huber(w, x, y):
    r = np.abs(np.tanh(w @ x) - y)
    return np.where(r < 0.1, 0.5 * r * r, 0.1 * (r - 0.05))


def layers(m, v, x):
    return np.max(np.maximum(m @ x, 0) + v) + np.sum(np.sort(x) * x) - np.exp(-np.abs(x[0]))


def outer(a, b):
    return np.sum(np.outer(a, b) ** 2) + np.linalg.norm(a - b[: a.shape[0]])


CASES = {
    "huber": (huber, [(4,), (4,), ()], [(False, True, True), (True, True, True), (False, False, True)]),
    "layers": (layers, [(5, 3), (5,), (3,)], [(False, False, True), (True, False, True)]),
    "outer": (outer, [(3,), (4,)], [(True, True), (False, True)]),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("points", [1, 63, 64, 65, 700, 5000])
def test_blocks_give_what_calls_give(name, dtype, points):
    f, shapes, ways = CASES[name]
    p = crease.trace(f, *[np.zeros(s, dtype) for s in shapes])
    near = dict(rtol=1e-12, atol=1e-12) if dtype == np.float64 else dict(rtol=2e-5, atol=2e-5)
    for along in ways:
        args = [RNG.normal(size=(points, *s) if many else s).astype(dtype) for s, many in zip(shapes, along)]
        one = p.batch()
        value, grads = one.value_and_grad(*args)
        assert np.array_equal(value, one.value_and_grad(*args)[0])
        assert value.shape == (points,) and value.dtype == dtype and np.allclose(one(*args), value, **near)
        # whoever runs them
        several = p.batch(threads=3).value_and_grad(*args)
        assert np.array_equal(value, several[0]) and all(np.array_equal(a, b) for a, b in zip(grads, several[1]))
        for i in {0, points // 2, points - 1}:
            at = [a[i] if many else a for a, many in zip(args, along)]
            v, g = p.value_and_grad(*at)
            assert np.allclose(value[i], v, **near) and all(np.allclose(a[i], b, **near) for a, b in zip(grads, g))


def test_ties_are_decided_as_in_a_call():
    p = crease.parse("program f(x[3], y) = max(x) + abs(y) + relu(x[0] - x[1])").options(select="torch")
    x, y = RNG.integers(-1, 2, size=(500, 3)).astype(float), RNG.integers(-1, 2, size=500).astype(float)
    got = p.batch().grad(x, y)
    for i in range(500):
        assert all(np.array_equal(a[i], b) for a, b in zip(got, p.grad(x[i], y[i])))


def test_errors_name_what_went_wrong():
    p = crease.parse("program f(x) = log(x)")
    x = np.linspace(0.5, 2.0, 1000)
    assert np.allclose(p.batch()(x), np.log(x))
    x[777] = -1.0
    for threads in (1, 2):
        with pytest.raises(crease.CreaseError, match="log"):
            p.batch(threads=threads)(x)
    assert np.isnan(p.options(checked=False).batch()(x)[777])


def test_branches_may_differ_from_point_to_point():
    jax = pytest.importorskip("jax")
    p = crease.from_jax(lambda x: jax.lax.cond(x < 0, lambda x: -x, lambda x: x * x, x), np.float64(0.0))
    x = np.linspace(-1, 1, 301)
    assert np.allclose(p.batch()(x), np.where(x < 0, -x, x * x)) and np.allclose(p.batch().grad(x), np.where(x < 0, -1, 2 * x))
