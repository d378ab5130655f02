"""What is the same for all frameworks: whose a function is, how its program is called, which output is meant, what is refused."""

import functools
import pickle

import numpy as np
import pytest

import crease
from crease._walkers import framework

jax = pytest.importorskip("jax")
jnp = jax.numpy


def of_modules(x):
    return jnp.abs(x).sum()


def by_another(x):
    return of_modules(x) * 2.0


def test_whose_a_function_is():
    x = np.zeros(2)
    inner = jnp

    def closed(x):
        return inner.abs(x).sum()

    class Callable:
        def __call__(self, x):
            return jnp.abs(x).sum()

    for f in (of_modules, by_another, closed, Callable(), lambda x: (lambda y: jnp.sum(y))(x), jax.jit(of_modules), functools.partial(of_modules), jax.nn.relu, jnp.sum):
        assert framework(f, (x,)) == "jax", f
    for f in (lambda x: np.abs(x).sum(), np.sum, abs, max):
        assert framework(f, (x,)) is None
    assert framework(lambda x: x, ({"a": jnp.zeros(2)},)) == "jax"
    e = crease.explain(of_modules, np.array([0.0, 1.0]))
    assert e.by == "jax" and e.status == "clarke" and e.kinks[0].place.startswith(__file__)


def test_arguments_of_jax_that_are_part_of_the_program():
    def loss(w, labels, k):
        return jnp.take(jnp.maximum(w, 0.0), labels).sum() * k

    w, labels = np.array([1.0, -2.0, 3.0], np.float32), np.array([0, 2])
    p = crease.from_jax(loss, w, labels, 2)
    assert p.params == ["w"] and p(w, labels, 2) == p(w) == 8.0
    assert p.grad(w, labels, 2).tolist() == p.grad(w).tolist() == [2.0, 0.0, 2.0]
    assert pickle.loads(pickle.dumps(p))(w, labels, 2) == 8.0
    with pytest.raises(crease.CreaseError, match="part of the program"):
        p(w, np.array([0, 1]), 2)
    i = crease.inspect(loss, w, labels, 2)
    assert i.gradient.tolist() == [2.0, 0.0, 2.0] and i.judge(np.array([2.0, 0.0, 2.0])) == "gradient"
    assert crease.explain(loss, w, labels, 2).status == "gradient" and crease.gradcheck(loss, w, labels, 2) == "gradient"
    named = crease.from_jax(lambda x, s: x * s, 3.0, 2.0, static="s")
    assert named(4.0) == 8.0 and named(4.0, 2.0) == 8.0 and named.grad(4.0) == 2.0
    with pytest.raises(crease.CreaseError, match="holds int"):
        crease.from_jax(lambda x: x * x, 3)
    with pytest.raises(crease.CreaseError, match="there is no argument `t`"):
        crease.from_jax(lambda x: x, 1.0, static="t")


def test_stop_gradient_can_be_the_identity():
    f = lambda x: x * jax.lax.stop_gradient(x)  # noqa: E731
    with pytest.raises(crease.UnsupportedError, match="stop_gradient"):
        crease.from_jax(f, 1.0)
    assert crease.from_jax(f, 1.0, stop_gradient="identity").grad(3.0) == 6.0


def test_unsupported():
    with pytest.raises(crease.UnsupportedError) as e:
        crease.from_jax(lambda x: jnp.linalg.eigvalsh(x), jnp.eye(2))
    assert e.value.place.startswith(__file__) and "add" in e.value.supported and "add" in crease.supported("jax")
    assert isinstance(e.value, crease.CreaseError) and pickle.loads(pickle.dumps(e.value)).primitive == e.value.primitive


def test_outputs_of_jax():
    def f(x):
        return {"b": jnp.abs(x), "a": x * x}  # JAX sorts the names

    p = crease.from_jax(f, 3.0)
    for k in range(2):
        e = crease.explain(f, 3.0, output=k)
        assert e.by == "jax" and e.status == "gradient" and e.gradient == p.output(k).grad(3.0)
    assert {float(crease.explain(f, 3.0, output=k).gradient) for k in range(2)} == {1.0, 6.0}
    with pytest.raises(crease.CreaseError, match="pick an output"):
        crease.explain(f, 3.0)


class TestTorch:
    @pytest.fixture(autouse=True)
    def _torch(self):
        self.torch = pytest.importorskip("torch")
        self.torch.set_num_threads(1)

    def test_arguments_that_are_part_of_the_program(self):
        torch = self.torch

        def loss(x, labels, options):
            return torch.nn.functional.cross_entropy(x, labels, reduction=options["how"]) * options["scale"]

        x, labels, options = torch.tensor([[1.0, 2.0], [0.0, 1.0]]), torch.tensor([0, 1]), {"how": "sum", "scale": 2.0}
        p = crease.from_torch(loss, x, labels, options)
        same = {"how": None, "scale": 2.0}
        assert np.isclose(p(x, labels, options), float(loss(x, labels, options)), rtol=1e-6) and p(x, options) == p(x, same) == p(x, labels, options)
        with pytest.raises(crease.CreaseError, match="part of the program"):
            p(x, torch.tensor([1, 1]), options)
        with pytest.raises(crease.CreaseError, match="part of the program"):
            p(x, labels, {"how": "mean", "scale": 2.0})
        e = crease.explain(loss, x, labels, options)
        assert e.by == "torch" and e.status in ("gradient",) and crease.gradcheck(loss, x, labels, options) == "gradient"
        assert crease.inspect(loss, x, labels, options).differentiable == "yes"

    def test_outputs(self):
        torch = self.torch
        net = torch.nn.Linear(2, 1)

        class Two(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.net = net

            def forward(self, x):
                y = self.net(x)[0]
                return y * y, torch.relu(y)

        for k in range(2):
            e = crease.explain(Two(), np.array([0.3, 0.4]), output=k)
            assert e.by == "torch" and e.status == "gradient"

    def test_supported_and_unsupported(self):
        torch = self.torch
        assert any("relu" in name for name in crease.supported("torch"))
        with pytest.raises(crease.UnsupportedError) as e:
            crease.from_torch(lambda x: torch.linalg.eigvalsh(x), torch.eye(2))
        assert __file__ in e.value.place

    def test_whose(self):
        torch = self.torch
        assert framework(lambda x: torch.relu(x), (np.zeros(2),)) == "torch" and framework(torch.nn.ReLU(), (np.zeros(2),)) == "torch"
