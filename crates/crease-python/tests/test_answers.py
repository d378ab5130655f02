"""Questions and their answers."""

import pickle

import numpy as np
import pytest

import crease

IDENTITY = "relu(x) - relu(-x)"


def test_inspection():
    i = crease.inspect(IDENTITY, 0.0)
    assert (i.value, i.gradient, i.clarke, i.differentiable) == (0, 0.0, 1.0, "yes")
    assert i.status == "conservative" and i.status != "gradient"
    assert [k.operation for k in i.kinks] == ["relu", "relu"] and i.kinks[0].place == "1:1"
    assert i.to_dict()["kind"] == "conservative" and i.cost["program"] == 4
    assert [i.judge(g).word for g in (0.0, 1.0, 2.0, 3.0)] == ["conservative", "gradient", "conservative", "outside"]
    assert i.certificate and "<table" in i._repr_html_() and "conservative" in repr(i)
    assert crease.inspect(IDENTITY, 0.5).status == "gradient"


def test_places_are_lines_of_the_user():
    def f(x):
        a = np.abs(x)
        return np.maximum(a, 0.0)

    here = f.__code__.co_firstlineno
    i = crease.inspect(f, 0.0)
    assert [k.place.rsplit(":", 1)[1] for k in i.kinks] == [str(here + 1), str(here + 2)]
    assert all(k.place.startswith(__file__) for k in i.kinks)


def test_full_weight_to_every_tie_is_outside():
    i = crease.inspect("program f(v[3]) = max(v)", np.ones(3))
    assert i.judge(np.ones(3)) == "outside"
    assert i.judge(np.ones(3) / 3, within=1e-12) == "clarke"
    assert i.judge(np.array([1.0, 0.0, 0.0])) == "clarke"


def test_norms():
    v = np.zeros(3)
    i = crease.inspect(lambda v: np.sqrt((v**2).sum()), v)
    assert i.gradient.tolist() == [0.0, 0.0, 0.0] and i.differentiable == "no"
    assert i.judge(np.array([0.6, 0.8, 0.0]), within=1e-9) == "clarke"
    assert i.judge(np.array([0.9, 0.9, 0.0])) == "outside"
    assert crease.inspect(lambda v: np.linalg.norm(v) ** 2, v).status == "gradient"


def test_single_questions():
    assert crease.clarke(IDENTITY, 0.0).gradient == 1.0
    both = crease.clarke_all("abs(x) + abs(y)", 0.0, 0.0, contains=(0.0, 0.5))
    assert len(both["gradients"]) == 4 and both["contains"]["verdict"] == "hull" and both.certificate
    assert crease.stationary("max(x, -2*x)", 0.0)["stationary"]["verdict"] == "yes"
    assert crease.stationary("max(x, 2*x)", 0.0)["stationary"]["verdict"] == "no"
    d = crease.differentiable(IDENTITY, 0.0)
    assert d["verdict"] == "yes" and d.certificate.startswith("crease")
    assert crease.conservative(IDENTITY, 0.0)["verdict"] == "several"
    assert crease.conservative("program f(v[2]) = max(v)", np.ones(2), contains=np.ones(2))["contains"]["verdict"] == "outside"
    assert crease.directional("program f(v[2]) = max(v)", np.zeros(2), along=[np.array([1.0, 2.0]), np.array([-1.0, -2.0])])["derivatives"] == [2, -1]
    assert crease.lexicographic("abs(x)", 0.0).gradient == 1.0
    assert crease.lexicographic("abs(x)", 0.0, basis=[-1.0]).gradient == -1.0


def test_certificates_are_accepted_by_the_checker():
    yes = crease.stationary("max(x, -2*x)", 0.0)
    assert crease.check(yes.certificate) == ("member", "0")
    assert crease.stationary("max(x, 2*x)", 0.0).certificate is None
    two = crease.stationary(lambda v: np.abs(v).sum(), np.zeros(2))
    assert two["stationary"]["verdict"] == "yes" and crease.check(two.certificate) == ("member", "0")
    with pytest.raises(crease.CreaseError, match="proves nothing: line"):
        crease.check(yes.certificate.replace("side", "side 9", 1))
    assert crease.check(crease.differentiable(IDENTITY, 0.0).certificate) == ("differentiable", "1*d0")
    assert crease.check(crease.inspect(IDENTITY, 0.0).certificate)[0] == "differentiable"


def test_certificates_are_compared_with_a_program_at_a_point():
    proof = crease.differentiable(IDENTITY, 0.0).certificate
    assert crease.check(proof, IDENTITY, 0.0) == ("differentiable", "1*d0")
    with pytest.raises(crease.CreaseError, match="of another model"):
        crease.check(proof, "relu(x)", 0.0)
    with pytest.raises(crease.CreaseError, match="of another model"):
        crease.check(proof, IDENTITY, 1.0)
    norm = lambda v, w: np.abs(v - w).sum()
    no = crease.differentiable(norm, np.ones(2), np.ones(2)).certificate
    assert crease.check(no, norm, np.ones(2), np.ones(2)) == ("not-differentiable", None)


def test_answers_pickle_and_compare():
    i = crease.inspect(lambda v: np.abs(v).max(), np.zeros(2))
    j = pickle.loads(pickle.dumps(i))
    assert i == j and str(i) == str(j) and j.certificate == i.certificate and j.kinks == i.kinks and np.array_equal(j.gradient, i.gradient)
    assert j.judge(np.ones(2)) == i.judge(np.ones(2)) == "outside" and pickle.loads(pickle.dumps(j)) == i
    a = crease.clarke_all("abs(x)", 0.0)
    assert pickle.loads(pickle.dumps(a)) == a and a != crease.clarke_all("abs(x)", 1.0)
    e = crease.explain(IDENTITY, 0.0)
    assert pickle.loads(pickle.dumps(e)) == e and str(pickle.loads(pickle.dumps(e))) == str(e)
    b = crease.parse("relu(x)").batch(threads=2)
    c = pickle.loads(pickle.dumps(b))
    assert c == b and c(np.array([-1.0, 2.0])).tolist() == [0.0, 2.0]
    with pytest.raises(crease.UnsupportedError) as error:
        crease.trace(lambda x: np.linalg.inv(x), np.eye(2))
    again = pickle.loads(pickle.dumps(error.value))
    assert str(again) == str(error.value) and again.primitive == error.value.primitive


def test_arguments_that_are_part_of_the_program():
    def f(x, k, kind):
        return (x**k).sum() if kind == "sum" else x.max()

    p = crease.trace(f, np.ones(2), 3, "sum", static="k")
    x = np.array([1.0, 2.0])
    assert p(x, 3, "sum") == p(x) == p(x, kind="sum") == 9.0 and p.params == ["x"]
    assert p.grad(x).tolist() == p.grad(x, 3, "sum").tolist() == [3.0, 12.0] and p.grad(x, wrt="x").tolist() == [3.0, 12.0]
    assert pickle.loads(pickle.dumps(p))(x, 3, "sum") == 9.0
    for wrong, what in (
        (lambda: p(x, 4, "sum"), "`k`|k is part of the program, as 3"), (lambda: p(x, 3, "max"), "part of the program"), (lambda: p(x, k=4), "part of the program"), (lambda: p.grad(x, wrt="k"), "no derivative by it"),
        (lambda: p(x, 3, "sum", 1), "takes 3 arguments, got 4"), (lambda: crease.trace(f, x, 3, "sum", static="q"), "no argument 'q'"),
    ):  # fmt: skip
        with pytest.raises(crease.CreaseError, match=what):
            wrong()
    assert crease.inspect(f, x, 2, "max", static="k").gradient.tolist() == [0.0, 1.0]
    assert crease.explain(f, x, 2, "max", static="k").status == "gradient"
    assert crease.gradcheck(f, x, 2, "sum", static="k", grad=lambda x, k, kind: 2 * x) == "gradient"


def test_supported():
    assert {"maximum", "linalg.norm", "einsum"} <= set(crease.supported("numpy"))
    assert {"Conv", "MaxPool", "Relu"} <= set(crease.supported("onnx"))
    with pytest.raises(crease.CreaseError, match="numpy, jax, torch and onnx"):
        crease.supported("tensorflow")
    assert issubclass(crease.UnsupportedError, crease.CreaseError)


def test_outputs():
    def f(x):
        return {"a": x * x, "b": np.abs(x)}

    for k, right in ((0, 6.0), (1, 1.0)):
        e = crease.explain(f, 3.0, output=k)
        assert e.status == "gradient" and e.gradient == right
        assert crease.gradcheck(f, 3.0, output=k, grad=lambda x, r=right: r) == "gradient"
    with pytest.raises(crease.CreaseError, match="no output 2"):
        crease.explain(f, 3.0, output=2)
    with pytest.raises(crease.CreaseError, match="pick an output with output=0"):
        crease.explain(f, 3.0)
    with pytest.raises(crease.CreaseError, match="output=0"):
        crease.clarke(f, 0.0)


def test_explanation_of_a_file(tmp_path):
    p = crease.trace(lambda x: np.maximum(x, 0).sum() - np.maximum(-x, 0).sum(), np.ones(2))
    p.to_onnx(tmp_path / "f.onnx", dtype="f64")
    for name in (tmp_path / "f.onnx", str(tmp_path / "f.onnx")):
        e = crease.explain(name, np.zeros(2))
        assert e.by == "crease" and e.status == "conservative" and np.array_equal(e.right, np.ones(2)) and e.right_status == "gradient"


def test_own_gradients_that_are_infinite():
    e = crease.explain(lambda x: np.sqrt(x), 0.0)
    assert e.status in ("nan", "undecided") and e.status == "nan" and e.singular[0].operation == "sqrt" and e.singular[0].place.startswith(__file__)


def test_differences_do_not_step_over_kinks():
    # exp has no exact value, and the kink is nearer than the step
    f = lambda x: np.exp(x) + np.abs(x - 1e-7)  # noqa: E731
    assert crease.gradcheck(f, 0.0, grad=lambda x: np.exp(x) - 1) == "gradient"
    from crease import _crease

    p = crease.trace(f, 0.0)
    (one,) = _crease.kinks_between(p, (1e-6,), (-1e-6,))
    assert one[0] == "abs" and one[1].startswith(__file__) and _crease.kinks_between(p, (-1e-6,), (-1e-7,)) == []
    groups = crease.trace(lambda v: v.max() + np.sort(v)[0] + np.where(v[0] > 0.5, 1.0, 0.0), np.zeros(2))
    assert {k[0] for k in _crease.kinks_between(groups, (np.array([0.0, 1.0]),), (np.array([1.0, 0.0]),))} == {"max", "sort", ">"}


@pytest.mark.parametrize(
    "x, what",
    [
        (np.zeros(0), "no elements"), (np.array([1.0, np.nan]), "finite"), (np.array([1j, 0]), "complex"), (np.array([True, False]), "truth values"), ("a", "no argument"), (np.array(["a"]), "holds <U1"), (None, "no argument"), (object(), "object"), (np.inf, "finite"),
        (np.array([np.datetime64("2020-01-01")]), "real numbers"),
    ],
)  # fmt: skip
def test_odd_points_are_refused(x, what):
    for ask in (crease.inspect, crease.explain, crease.clarke, crease.differentiable):
        with pytest.raises(crease.CreaseError, match=what):
            ask(lambda v: np.abs(v).sum() if hasattr(v, "sum") else np.abs(v), x)


def test_odd_points_that_are_fine():
    f = lambda v: np.abs(v).sum()  # noqa: E731
    for x in (0, 3, np.int32(2), np.float32(0.5), np.array(1.5), np.ones((2, 3)), np.ones((1, 1, 1)), [1.0, 2.0], 1e300, -5e-324, np.ones(3, np.float16)):
        assert crease.inspect(f if not isinstance(x, list) else lambda v: abs(v[0]) + abs(v[1]), x).value is not None


def test_limits_are_arguments():
    wide = " + ".join(f"abs(x{i})" for i in range(12))
    few = crease.clarke_all(wide, *[0.0] * 12, cells=10)
    assert not few["complete"] and few["cells"] <= 11
    identity = "relu(x) - relu(-x)"
    assert crease.differentiable(identity, 0.0)["verdict"] == "yes"
    assert crease.differentiable(identity, 0.0, graph=0)["verdict"] == "unknown"
    with pytest.raises(crease.CreaseError, match="there is no option `grph`; there are time, .*tableau"):
        crease.differentiable(identity, 0.0, grph=0)


def test_explanations_of_own_gradients():
    e = crease.explain(lambda x: np.maximum(x, 0) - np.maximum(-x, 0), 0.0)
    assert e.by == "crease" and e.status == "conservative" and e.right == 1.0 and e.right_status == "gradient"
    assert "right" in str(e) and "<table" in e._repr_html_() and e.singular == []
    steep = crease.explain("sqrt(relu(x))", 0.0)
    assert [s.operation for s in steep.singular] == ["sqrt"] and steep.rewrites and steep.trouble


def test_gradcheck():
    f = lambda v: np.max(v)  # noqa: E731
    assert crease.gradcheck(f, np.ones(2)) == "clarke"
    with pytest.raises(crease.GradcheckError, match="outside(.|\n)*kink at fault: max at .*test_answers.py"):
        crease.gradcheck(f, np.ones(2), grad=lambda v: np.ones(2))
    with pytest.raises(crease.GradcheckError, match="NaN"):
        crease.gradcheck(f, np.ones(2), grad=lambda v: np.full(2, np.nan))
    with pytest.raises(crease.GradcheckError):
        crease.gradcheck(f, np.ones(2), grad=lambda v: np.array([0.5, 0.5]), accept="gradient")
    # smooth, and not exact
    g = lambda x: np.exp(x) * np.sin(x)  # noqa: E731
    assert crease.gradcheck(g, 0.3, grad=lambda x: np.exp(x) * (np.sin(x) + np.cos(x))) == "gradient"
    with pytest.raises(crease.GradcheckError):
        crease.gradcheck(g, 0.3, grad=lambda x: np.exp(x) * np.cos(x))
    # smooth and exact
    with pytest.raises(crease.GradcheckError):
        crease.gradcheck(lambda x: x * x, 3.0, grad=lambda x: x)
    assert crease.gradcheck(lambda v: (v * v).sum(), np.array([0.1, 0.0, 3.0]), grad=lambda v: 2 * v + np.array([0, 1e-17, 0])) == "gradient"
