"""Programs from JAX: structure, places, refusals, kinks."""

import doctest
import importlib
import pickle
import subprocess
import sys
from collections import OrderedDict, namedtuple

import numpy as np
import pytest

jax = pytest.importorskip("jax")
import jax.numpy as jnp  # noqa: E402
from jax import lax, nn  # noqa: E402

from crease import CreaseError, _crease  # noqa: E402
from crease._jax import Unsupported, from_jax, gradient, is_jax, supported, value_and_gradient  # noqa: E402

Pair = namedtuple("Pair", "left right")


def line_of(text: str) -> int:
    """The line of this file that ends with a mark."""
    with open(__file__) as f:
        return next(i for i, line in enumerate(f, 1) if line.rstrip().endswith(f"# {text}"))


def inspected(fn, *args):
    return _crease.inspect(from_jax(fn, *args), args)


# structure


def test_arguments_and_results_keep_their_structure():
    def f(params, pair, scale):
        return {"sum": params["b"].sum() * scale, "parts": [pair.left, (params["a"][0], None)]}

    params = {"b": np.ones(2), "a": [np.array([1.0, 2.0, 3.0])]}
    p = from_jax(f, params, Pair(1.0, 2.0), 3.0)
    assert p.params == ["params", "pair", "scale"]
    assert [name for name, _ in p.inputs] == ["params['b']", "params['a'][0]", "pair[0]", "pair[1]", "scale"]
    out = p(params, Pair(5.0, 6.0), 3.0)
    assert list(out) == ["parts", "sum"] or list(out) == ["sum", "parts"]
    assert out["sum"] == 6.0 and out["parts"][0] == 5.0 and out["parts"][1][1] is None
    g = from_jax(lambda params, pair: (params["a"][0] * pair.left).sum() + params["b"].sum() * pair.right, params, Pair(1.0, 2.0)).grad(params, Pair(5.0, 6.0))
    assert isinstance(g[1], Pair) and g[1].right == 2.0 and np.array_equal(g[0]["a"][0], [5, 5, 5])


def test_dicts_are_taken_in_their_own_order():
    for kind in (dict, OrderedDict):
        args = kind([("z", np.array([1.0, 2.0])), ("a", np.array(3.0))])
        p = from_jax(lambda d: d["z"] * d["a"], args)
        assert np.array_equal(p(args), [3.0, 6.0])
        assert np.array_equal(p({"a": np.array(2.0), "z": np.array([1.0, 1.0])}), [2.0, 2.0])


def test_one_argument_by_name_and_a_program_that_pickles():
    p = from_jax(lambda weights, x: weights @ x, np.ones((2, 3)), np.ones(3))
    assert np.array_equal(p(x=np.arange(3.0), weights=np.ones((2, 3))), [3, 3])
    q = pickle.loads(pickle.dumps(p))
    assert np.array_equal(q(np.ones((2, 3)), np.arange(3.0)), [3, 3])


def test_constants_and_unused_arguments():
    p = from_jax(lambda x, y: (x * 2, jnp.arange(3.0), 7.0), 1.0, np.ones(2))
    out = p(1.5, np.ones(2))
    assert out[0] == 3.0 and np.array_equal(out[1], [0, 1, 2]) and out[2] == 7.0


def test_varargs_and_partial():
    import functools

    assert from_jax(lambda *xs: xs[0] * xs[1], 1.0, 2.0).params == ["xs0", "xs1"]
    assert from_jax(functools.partial(lambda k, x: k * x, 2.0), 1.0)(3.0) == 6.0
    assert from_jax(jax.jit(lambda x, y: x * y), 1.0, 2.0).params == ["x", "y"]


def test_static_arguments():
    def loss(w, x, labels):
        return -jnp.mean(nn.log_softmax(x @ w)[jnp.arange(2), labels])

    w, x, labels = np.arange(6.0).reshape(2, 3) / 7, np.ones((2, 2)), np.array([2, 0])
    p = from_jax(loss, w, x, labels, static="labels")
    assert p.params == ["w", "x"]
    assert np.allclose(p(w, x), loss(w, x, labels), rtol=1e-6)
    assert np.allclose(gradient(loss, (w, x, labels), static="labels")[0], p.grad(w, x)[0], atol=1e-6)
    assert from_jax(loss, w, x, labels, static=(-1,)).params == ["w", "x"]
    with pytest.raises(CreaseError, match="no argument `label`"):
        from_jax(loss, w, x, labels, static="label")


@pytest.mark.parametrize("bad, words", [
    (np.array([1, 2]), r"`x` holds int64.*static=\('x',\)"),
    (3, r"`x` holds int.*1.0 for 1"),
    (np.array([True]), "`x` holds bool"),
    ({"a": np.array([1], np.uint8)}, r"`x\['a'\]` holds uint8"),
    (np.array([1j]), "`x` is a complex128"),
    ("text", "`x` is a str"),
    (np.zeros((0, 2)), "`x` has no elements"),
])  # fmt: skip
def test_what_is_no_argument(bad, words):
    with pytest.raises(CreaseError, match=words):
        from_jax(lambda x: x, bad)


# precision


def test_precisions():
    x = np.array([0.5, -1.5], np.float32)
    p = from_jax(lambda x: jnp.sin(x).astype(jnp.bfloat16).astype(jnp.float32) * jnp.asarray(0.1, jnp.bfloat16), x)
    # casts are the identity; the constant is that of bfloat16
    assert np.allclose(p(x.astype(float)), np.sin(x.astype(float)) * 0.10009765625, rtol=1e-15)
    assert p(x).dtype == np.float32
    half = jnp.array([1.0, 2.0], jnp.bfloat16)
    assert np.array_equal(from_jax(lambda x: x * 2, half)(np.asarray(half)), [2, 4])


# places


def test_kinks_have_the_line_of_the_user():
    def f(x):
        y = nn.relu(x)  # relu here
        return jnp.linalg.norm(y - y)  # norm here

    text = inspected(f, np.zeros(2)).text
    assert f"test_jax.py:{line_of('relu here')}" in text
    assert f"test_jax.py:{line_of('norm here')}" in text
    # JAX traces its own functions once, and keeps them: the line is that of this call all the same
    assert f"test_jax.py:{line_of('again')}" in inspected(lambda x: nn.relu(x)[0], np.zeros(2)).text  # again


def test_inside_of_a_jitted_function_of_the_user():
    @jax.jit
    def g(x):
        return jnp.abs(x)  # abs inside

    assert f"test_jax.py:{line_of('abs inside')}" in inspected(lambda x: g(x) * 2, 0.0).text
    assert f"test_jax.py:{line_of('abs inside')}" in inspected(lambda x: g(x) * 3, 0.0).text


def test_an_unsupported_primitive_says_where_and_what_there_is():
    def f(x):
        return jnp.linalg.svd(x, compute_uv=False)  # svd here

    with pytest.raises(Unsupported) as e:
        from_jax(f, np.eye(2))
    assert e.value.primitive == "svd" and e.value.place.endswith(f"test_jax.py:{line_of('svd here')}")
    assert e.value.supported == supported() and "conv_general_dilated" in supported() and "svd" not in supported()
    assert "svd" in str(e.value) and e.value.place in str(e.value) and "crease.supported('jax')" in str(e.value)
    copy = pickle.loads(pickle.dumps(e.value))
    assert copy.primitive == "svd" and str(copy) == str(e.value)


@pytest.mark.parametrize("f, name, words", [
    (lambda x: lax.while_loop(lambda s: s < 9, lambda s: s * 2, x[0]), "while", "how often it runs"),
    (lambda x: jax.random.normal(jax.random.key(x[0].astype(int)), (2,)), "random_seed", "close over them"),
    (lambda x: jnp.linalg.svd(jnp.outer(x, x), compute_uv=False), "svd", "not expressed"),
    (lambda x: jnp.linalg.cholesky(jnp.eye(65) * x[0]), "cholesky", "64 is the most"),
    (lambda x: jnp.fft.fft(x).real, "convert_element_type", "complex"),
    (lambda x: jnp.linalg.eigh(jnp.outer(x, x))[0], "eigh", "not expressed"),
    (lambda x: lax.lgamma(x), "lgamma", "no such function"),
    (lambda x: x.at[jnp.argsort(x) // 2].set(x), "scatter", "may be the same"),
    (lambda x: x + lax.stop_gradient(jnp.round(x) - x), "stop_gradient", "identity"),
    (lambda x: jax.pure_callback(np.sin, jax.ShapeDtypeStruct((3,), np.float32), x), "pure_callback", "not seen"),
    (lambda x: x.at[0].apply(jnp.sin), "scatter", "your own"),
    (lambda x: lax.population_count(x.astype(int)) * x, "population_count", ""),
    (lambda x: (x.astype(int) & 3) * x, "and", "bits"),
    (lambda x: x * jnp.take(x, jnp.array([0, 9, 1])), "mul", "infinity times"),
])  # fmt: skip
def test_refusals(f, name, words):
    import re

    with pytest.raises(Unsupported) as e:
        from_jax(f, np.array([1.0, 2.0, 3.0], np.float32))
    assert e.value.primitive == name
    assert re.search(words, str(e.value))


# meaning


def test_relu_is_relu_and_maximum_is_a_maximum():
    at = lambda f: from_jax(f, 0.0).grad(0.0)  # noqa: E731
    assert at(nn.relu) == 0 and at(lambda x: jnp.maximum(x, 0)) == 0.5 and at(jnp.abs) == 1
    assert "relu(x)" in from_jax(nn.relu, 0.0).text

    @jax.custom_jvp
    def relu(x):
        return jnp.maximum(x, 0)

    relu.defjvp(lambda x, t: (relu(*x), t[0]))
    # one of the user's, of the same name, is what it computes
    assert "max(x, 0)" in from_jax(relu, 0.0).text


@pytest.mark.parametrize("f", [
    lambda x: jnp.linalg.norm(x),
    lambda x: jnp.sqrt(jnp.sum(x**2)),
    lambda x: jnp.sqrt(jnp.sum(x * x)),
    lambda x: jnp.sqrt(jnp.sum(jnp.square(x))),
    lambda x: jnp.sqrt(x @ x),
    lambda x: jnp.sqrt(jnp.vdot(x, x)),
    lambda x: jnp.sqrt(jnp.einsum("i,i->", x, x)),
])  # fmt: skip
def test_the_norm_at_zero_is_known(f):
    i = inspected(f, np.zeros(3))
    assert i.status[0] in ("conservative", "clarke")
    assert np.linalg.norm(i.clarke) == pytest.approx(1.0)


def test_the_square_of_a_norm_has_a_gradient():
    i = inspected(lambda x: jnp.linalg.norm(x) ** 2, np.zeros(3))
    assert np.array_equal(i.gradient, np.zeros(3))
    assert np.all(np.isnan(gradient(lambda x: jnp.linalg.norm(x) ** 2, (np.zeros(3),))))


def test_where_with_a_branch_that_has_no_value():
    p = from_jax(lambda x: jnp.where(x > 0, jnp.log(x), 0.0), -1.0)
    assert p(-1.0) == 0 and p.grad(-1.0) == 0
    assert np.isnan(p(-1.0)) == np.False_
    q = from_jax(lambda x: jnp.where(x > 0, x, jnp.nan), 1.0)
    assert q(2.0) == 2.0
    with pytest.raises(CreaseError):
        q(-2.0)


def test_no_kink_comes_from_logsumexp_and_softmax():
    for f in (nn.logsumexp, lambda x: nn.softmax(x)[0], lambda x: nn.log_softmax(x)[0], lambda x: nn.softplus(x)[0], lambda x: jnp.logaddexp(x[0], x[1])):
        p = from_jax(f, np.zeros(3))
        assert "max" not in p.text
        assert inspected(f, np.zeros(3)).status[0] == "gradient"


def test_softmax_with_a_mask():
    mask = np.array([[True, False, True], [False, True, False]])
    f = lambda x: nn.softmax(jnp.where(mask, x, -jnp.inf))  # noqa: E731
    x = np.array([[1.0, 2.0, 4.0], [0.5, 3.0, -1.0]])
    p = from_jax(f, x)
    assert np.allclose(p(x), f(x), rtol=1e-6)
    assert p(x)[1, 1] == 1.0 and p(x)[0, 1] == 0.0
    # a row without anything has no value, and that is said
    with pytest.raises(CreaseError):
        from_jax(lambda x: nn.softmax(jnp.where(np.array([[False] * 3]), x, -jnp.inf)), x[:1])(x[:1])


def test_stop_gradient_as_the_identity():
    f = lambda x: x + lax.stop_gradient(jnp.round(x) - x)  # noqa: E731
    p = from_jax(f, 0.3, stop_gradient="identity")
    assert p(0.3) == 0.0 and p.grad(0.3) == 0.0 and gradient(f, (0.3,)) == 1.0
    with pytest.raises(CreaseError, match="refuse or identity"):
        from_jax(f, 0.3, stop_gradient="no")
    # of what is known it is nothing
    assert from_jax(lambda x: x * lax.stop_gradient(jnp.ones(2) * 3), np.ones(2)).grad is not None


def test_a_wrong_custom_rule_is_left_out():
    @jax.custom_vjp
    def amax(x):
        return jnp.max(x)

    # full weight to every tie
    amax.defvjp(lambda x: (amax(x), x), lambda x, t: (t * (x == jnp.max(x)),))
    at = np.array([1.0, 1.0, 0.0])
    theirs = gradient(amax, (at,))
    assert np.array_equal(theirs, [1, 1, 0])
    assert inspected(amax, at).judge(theirs)[0] == "outside"
    assert inspected(amax, at).judge(np.array([0.5, 0.5, 0.0]))[0] in ("conservative", "clarke")
    # and named: what follows has it no more
    kinks = inspected(lambda x: amax(x) + jnp.abs(x[2]), at).text.partition("kinks")[2].splitlines()
    assert "custom_vjp of amax" in kinks[0] and "abs" in kinks[1] and "custom_vjp" not in kinks[1]


def test_both_kinds_of_maxima_in_one_program():
    x = np.ones(4)
    pool = lambda a: lax.reduce_window(a, -jnp.inf, lax.max, (2,), (2,), "VALID").sum()  # noqa: E731
    p = from_jax(pool, x)
    assert p.select == "jax, max=first" and np.array_equal(p.grad(x), [1, 0, 1, 0])
    both = from_jax(lambda a: pool(a) + a.max(), x)
    assert both.select == "jax" and np.array_equal(both.grad(x), [1.25, 0.25, 1.25, 0.25])


def test_loops_stay_loops():
    p = from_jax(lambda x: lax.scan(lambda c, t: (jnp.maximum(c, t), c), x[0], x)[0], np.arange(1000.0))
    assert len(p) < 12 and p(np.arange(1000.0)) == 999
    q = from_jax(lambda x: lax.fori_loop(0, 500, lambda i, c: c + x[i], 0.0), np.ones(500))
    assert len(q) < 12 and q(np.ones(500)) == 500


def test_branches_are_run_alone():
    f = lambda x: lax.cond(x > 0, lambda x: jnp.log(x), lambda x: 2 * x, x)  # noqa: E731
    p = from_jax(f, 1.0)
    assert p(-3.0) == -6 and p.grad(-3.0) == 2 and "select" in p.text


def test_known_indices_cost_nothing():
    p = from_jax(lambda x: x[jnp.array([3, 1, 1]) % 4].sum() + x[::-1][0], np.ones(5))
    assert "gather" not in p.text and "take_along" not in p.text


def test_a_computed_index_that_cannot_leave_has_no_guards():
    text = from_jax(lambda x: x[jnp.argmax(x)], np.ones(5)).text
    assert "where" not in text and "max(" not in text.replace("argmax(", "")


def test_gradient_is_that_of_jax():
    x = np.array([1.0, -2.0], np.float32)
    value, g = value_and_gradient(lambda p: (p["a"] * p["b"]).sum(), ({"a": x, "b": 2 * x},))
    assert value == 10 and g["a"].dtype == np.float32 and np.array_equal(g["a"], 2 * x)
    with pytest.raises(CreaseError, match="JAX gives no gradient"):
        gradient(lambda x: x, (x,))
    with pytest.raises(CreaseError, match="JAX gives no gradient"):
        gradient(lambda x: x * 1.0, (3,))


def test_whose_it_is():
    assert is_jax(jnp.ones(2)) and is_jax(([jnp.ones(2)],)) and is_jax(jax.jit(abs)) and is_jax(jnp.abs) and is_jax(nn.relu)
    assert not is_jax(np.ones(2)) and not is_jax((1.0, [2.0])) and not is_jax(np.abs) and not is_jax(lambda x: x)


def test_jax_is_not_imported_before():
    code = "import sys, crease._jax as j; assert not j.is_jax(1.0); j.supported(); assert 'jax' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("name", ["_jax", "_jax_rules", "_jax_values", "_jax_index", "_jax_special", "_jax_ties", "_unsupported"])
def test_examples(name):
    assert doctest.testmod(importlib.import_module(f"crease.{name}"), optionflags=doctest.ELLIPSIS).failed == 0
