"""The complaints that people have about gradients at kinks, each with what the framework says, what it is, and what is right."""

import numpy as np
import pytest

import crease


def nan(tree):
    return any(np.isnan(np.asarray(x)).any() for x in (tree if isinstance(tree, tuple) else (tree,)))


class TestJax:
    @pytest.fixture(autouse=True)
    def _jax(self):
        self.jax = pytest.importorskip("jax")
        self.jnp = self.jax.numpy

    def test_norm_at_0(self):
        jnp = self.jnp

        def f(x):
            return jnp.linalg.norm(x)

        e = crease.explain(f, jnp.zeros(3))
        assert e.by == "jax" and nan(e.gradient) and e.status == "nan"
        assert e.singular[0].place.startswith(__file__) and e.singular[0].place.endswith(f":{f.__code__.co_firstlineno + 1}")
        assert e.right_status == "clarke" and np.isclose(np.linalg.norm(e.right), 1.0) and e.rewrites
        assert "nan" in str(e) and "right" in str(e)

    def test_square_of_the_norm_at_0(self):
        e = crease.explain(lambda x: self.jnp.linalg.norm(x) ** 2, self.jnp.zeros(2))
        assert e.status == "nan" and e.right_status == "gradient" and np.array_equal(e.right, np.zeros(2))

    def test_masked_logarithm(self):
        jnp = self.jnp
        f = lambda x: jnp.where(x > 0, jnp.log(x), 0.0)  # noqa: E731
        e = crease.explain(f, jnp.float32(-1.0))
        # the slope of the logarithm at -1 is finite, and 0 times it is 0
        assert e.right == 0.0 and e.right_status == "gradient" and e.status == "gradient" and e.gradient == 0.0 and e.singular == []
        at_0 = crease.explain(lambda x: jnp.where(x > 0, x * jnp.log(x), 0.0), jnp.float32(0.0))
        # backward, 0 meets the infinite factor first, then the infinite slope
        assert at_0.status == "nan" and at_0.right is None and [s.operation for s in at_0.singular] == ["*", "log"]
        assert at_0.singular[0].argument == -np.inf and at_0.singular[1].argument == 0.0 and all("double where" in r for r in at_0.rewrites)

    def test_the_first_place_is_that_of_the_backward_run(self):
        jnp = self.jnp

        def f(x):
            a = jnp.sqrt(x)
            b = jnp.log(x + 1.0) * 0.0
            return jnp.where(x > 0, a, 0.0) + b

        e = crease.explain(f, jnp.float32(0.0))
        assert e.status == "nan" and [s.operation for s in e.singular] == ["sqrt"] and e.singular[0].place.endswith(f":{f.__code__.co_firstlineno + 1}")

        def g(x):
            early = jnp.where(x > 0, 1.0 / x, 0.0)
            # the slope of this root is infinite as well, and a run meets it last; but nothing comes back to it
            return jnp.where(jnp.sqrt(x) < 1.0, early, 0.0)

        e = crease.explain(g, jnp.float32(0.0))
        assert e.status == "nan" and [s.operation for s in e.singular] == ["/"] and e.singular[0].place.endswith(f":{g.__code__.co_firstlineno + 1}")
        assert "division by 0" in str(e) and "guard the denominator" in e.rewrites[0]

    def test_largest_of_equals(self):
        e = crease.explain(lambda x: x.max(), self.jnp.ones(4))
        assert e.status == "clarke" and np.allclose(e.gradient, 0.25)

    def test_sort_of_equals(self):
        e = crease.explain(lambda x: self.jnp.sort(x) @ self.jnp.arange(3.0), self.jnp.array([1.0, 1.0, 0.0]))
        assert e.status == "clarke"

    def test_root_of_a_ramp(self):
        e = crease.explain(lambda x: self.jnp.sqrt(self.jax.nn.relu(x)), self.jnp.float32(0.0))
        # JAX multiplies an infinite slope by what a choice makes 0; there is no derivative of any kind
        assert e.gradient == 0.0 and e.status == "undecided" and e.singular[0].operation == "sqrt" and e.right is None
        assert "infinite slope" in e.trouble or "Lipschitz" in e.trouble

    def test_softmax_of_a_masked_row(self):
        jnp = self.jnp
        mask = np.array([True, False, True])

        def f(x):
            return self.jax.nn.softmax(jnp.where(mask, x, -1e30))[0]

        e = crease.explain(f, jnp.array([0.1, 0.2, 0.3]))
        assert e.status == "gradient" and e.gradient[1] == 0.0

    def test_softmax_of_a_row_that_is_masked_altogether(self):
        jax, jnp = self.jax, self.jnp
        x = jnp.array([[0.1, 0.2], [0.3, 0.4]])
        mask = np.array([[True, False], [False, False]])

        def f(x):
            return jax.nn.softmax(jnp.where(mask, x, -jnp.inf), axis=-1)[0, 0]

        # the second row is 0 / 0 whatever the numbers are: no function of real numbers, and NaN in JAX
        assert np.isnan(np.asarray(jax.nn.softmax(jnp.where(mask, x, -jnp.inf), axis=-1))[1]).all()
        with pytest.raises(crease.UnsupportedError) as e:
            crease.explain(f, x)
        assert __file__ in str(e.value)
        one = crease.explain(lambda x: jax.nn.softmax(jnp.where(mask[0], x, -jnp.inf))[0], x[0])
        assert one.status == "gradient" and np.array_equal(one.gradient, np.zeros(2))

    def test_angle_of_the_origin(self):
        e = crease.explain(lambda y, x: self.jnp.arctan2(y, x), self.jnp.float32(0.0), self.jnp.float32(0.0))
        assert e.status == "nan" and e.right is None and e.trouble

    def test_max_pool_of_a_constant_patch(self):
        jax, jnp = self.jax, self.jnp

        def pool(x):
            return jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (2, 2), (2, 2), "VALID").sum()

        e = crease.explain(pool, jnp.ones((2, 2)))
        assert e.status == "clarke" and e.kinks[0].operation == "max"

    def test_full_weight_to_every_tie(self):
        jax, jnp = self.jax, self.jnp

        @jax.custom_vjp
        def largest(x):
            return jnp.max(x)

        largest.defvjp(lambda x: (jnp.max(x), x), lambda x, g: ((x == jnp.max(x)) * g,))
        e = crease.explain(lambda x: largest(x), jnp.ones(3))
        assert e.status == "outside" and np.array_equal(e.gradient, np.ones(3))
        with pytest.raises(crease.GradcheckError, match="outside(.|\n)*max at"):
            crease.gradcheck(lambda x: largest(x), jnp.ones(3))
        assert crease.gradcheck(lambda x: largest(x), jnp.array([1.0, 2.0, 3.0])) == "gradient"

    def test_a_custom_rule_that_is_right(self):
        jax, jnp = self.jax, self.jnp

        @jax.custom_vjp
        def ramp(x):
            return jnp.maximum(x, 0.0)

        ramp.defvjp(lambda x: (ramp(x), x), lambda x, g: (jnp.where(x > 0, g, 0.0),))
        assert crease.gradcheck(lambda x: ramp(x), jnp.float32(0.0)) == "clarke"


class TestTorch:
    @pytest.fixture(autouse=True)
    def _torch(self):
        self.torch = pytest.importorskip("torch")
        self.torch.set_num_threads(1)

    def test_clamp_at_its_ends(self):
        torch = self.torch
        for end in (0.0, 1.0):
            e = crease.explain(lambda x: torch.clamp(x, 0.0, 1.0), torch.tensor(end))
            assert e.by == "torch" and e.status == "clarke" and e.kinks

    def test_largest_of_equals(self):
        e = crease.explain(lambda x: x.max(), self.torch.ones(3))
        assert e.status == "clarke" and np.allclose(e.gradient, 1 / 3)

    def test_sort_of_equals(self):
        torch = self.torch
        e = crease.explain(lambda x: torch.sort(x).values @ torch.arange(3.0), torch.tensor([2.0, 2.0, 1.0]))
        assert e.status == "clarke"

    def test_norm_at_0(self):
        torch = self.torch
        zero = crease.explain(lambda x: torch.linalg.vector_norm(x), torch.zeros(2))
        assert zero.status == "clarke" and np.array_equal(zero.gradient, np.zeros(2))
        root = crease.explain(lambda x: torch.sqrt((x * x).sum()), torch.zeros(2))
        assert root.status == "nan" and root.right_status == "clarke"

    def test_max_pool_of_a_constant_patch(self):
        torch = self.torch
        net = torch.nn.Sequential(torch.nn.MaxPool2d(2), torch.nn.Flatten(0))
        e = crease.explain(lambda x: net(x).sum(), torch.ones(1, 1, 2, 2))
        assert e.status == "clarke" and len(e.kinks) == 1 and np.array_equal(e.gradient.ravel(), [1.0, 0.0, 0.0, 0.0])

    def test_full_weight_by_a_function_of_ones_own(self):
        torch = self.torch

        class Largest(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.save_for_backward(x)
                return x.max()

            @staticmethod
            def backward(ctx, g):
                (x,) = ctx.saved_tensors
                return (x == x.max()) * g

        f = lambda x: Largest.apply(x)  # noqa: E731
        e = crease.explain(f, torch.ones(3))
        assert e.by == "torch" and e.status == "outside" and np.array_equal(e.gradient, np.ones(3)) and e.kinks[0].operation == "max"
        with pytest.raises(crease.GradcheckError, match="outside(.|\n)*the kink at fault: max at"):
            crease.gradcheck(f, torch.ones(3))
        assert crease.gradcheck(f, torch.tensor([1.0, 2.0, 3.0])) == "gradient"

    def test_full_weight_to_every_tie(self):
        torch = self.torch
        e = crease.explain(lambda x: x.max(), torch.ones(2))
        assert e.inspection.judge(np.ones(2)) == "outside"
        with pytest.raises(crease.GradcheckError, match="outside"):
            crease.gradcheck(lambda x: x.max(), torch.ones(2), grad=lambda x: torch.ones(2))

    def test_the_identity_of_two_ramps(self):
        torch = self.torch
        e = crease.explain(lambda x: torch.relu(x) - torch.relu(-x), torch.tensor(0.0))
        assert e.gradient == 0.0 and e.status == "conservative" and e.right == 1.0 and e.right_status == "gradient"
        assert all(k.place.split(":")[0].split(", ")[-1] == __file__ for k in e.kinks)
