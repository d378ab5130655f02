"""Programs: calls, derivatives, structure, precision, errors."""

import collections
import importlib.util
import pickle
import subprocess
import sys
import textwrap
import time

import numpy as np
import pytest

import crease
from crease import _crease

HUBER = "program huber(r, d) = where(abs(r) <= d, r^2 / 2, d * (abs(r) - d / 2))"


def test_values_and_gradients():
    p = crease.parse(HUBER)
    assert (p(0.5, 1.0), p(3.0, 1.0)) == (0.125, 2.5)
    assert p.grad(0.5, 1.0, wrt="r") == 0.5
    value, (dr, dd) = p.value_and_grad(3.0, 1.0)
    assert (value, dr, dd) == (2.5, 1.0, 2.0)
    assert p.grad(d=1.0, r=3.0, wrt=[1]) == (2.0,)
    assert p.params == ["r", "d"] and p.inputs == [("r", ()), ("d", ())] and p.outputs == [()]


def test_other_derivatives():
    p = crease.parse("program f(v[2], s) = s * v[0]^2 * v[1]")
    v, s = np.array([2.0, 3.0]), 0.5
    assert p.jvp((v, s), (np.array([1.0, 0.0]), 0.0)) == (6.0, 6.0)
    y, (dv, ds) = p.vjp((v, s), 2.0)
    assert y == 6.0 and dv.tolist() == [12.0, 4.0] and ds == 24.0
    hv, hs = p.hvp((v, s), (np.array([1.0, 0.0]), 0.0))
    assert hv.tolist() == [3.0, 2.0] and hs == 12.0
    q = crease.parse("program f(v[2]) { let a = v[0] * v[1]  return a, [v[0], a] }")
    for forward in (False, True):
        first, second = q.jacobian(v, forward=forward)
        assert first.tolist() == [3.0, 2.0] and second.tolist() == [[1.0, 0.0], [3.0, 2.0]]


def test_precision_follows_arrays():
    p = crease.parse("program f(x[2], s) = s * x")
    assert p(np.ones(2, np.float32), 0.1).dtype == np.float32
    assert p(np.ones(2), np.float32(0.1)).dtype == np.float64
    assert p(np.ones(2, np.float16), 0.1).dtype == np.float32
    assert p(np.array([1, 2]), 1).dtype == np.float64
    assert p([1, 2], True).tolist() == [1.0, 2.0]
    with pytest.raises(crease.CreaseError, match="2\\^53"):
        p(np.array([2**53 + 1, 0]), 1.0)


def test_arrays_of_any_layout():
    p = crease.parse("program f(x[3, 2]) = x")
    base = np.arange(24.0).reshape(4, 6)
    for x in (base[::-1, ::2][:3, :2], base.T[:3, 1:3], np.asfortranarray(base[:3, :2]), base[:3, 2:0:-1]):
        assert np.array_equal(p(x), x)
    x = np.ones((3, 2))
    x.flags.writeable = False
    assert np.array_equal(p(x), x)


Pair = collections.namedtuple("Pair", "a b")


def test_structure():
    def f(w, pair):
        return {"loss": (w["A"] @ w["b"][0]).sum() * pair.a, "rest": [pair.b, None]}

    args = ({"A": np.ones((2, 3)), "b": [np.ones(3)]}, Pair(2.0, np.zeros(2)))
    p = crease.trace(f, *args)
    out = p(*args)
    assert out["loss"] == 12.0 and out["rest"][0].tolist() == [0.0, 0.0] and out["rest"][1] is None
    loss = crease.trace(lambda w, pair: f(w, pair)["loss"], *args)
    dw, dpair = loss.grad(*args)
    assert dw["A"].shape == (2, 3) and isinstance(dw["b"], list) and isinstance(dpair, Pair) and dpair.a == 6.0
    reordered = {"b": args[0]["b"], "A": args[0]["A"]}
    assert loss(reordered, args[1]) == 12.0
    for wrong, what in (
        (({"A": args[0]["A"]}, args[1]), "w must be a dict of 2"),
        (({"A": args[0]["A"], "b": args[0]["b"][0]}, args[1]), r"w\['b'\] must be a list of 1"),
        ((args[0], (1.0,)), "pair must be a tuple of 2"),
    ):
        with pytest.raises(crease.CreaseError, match=what):
            loss(*wrong)


def test_pickles():
    p = crease.trace(lambda w: np.abs(w["x"]).sum(), {"x": np.ones(3)}).options(select="abs=1")
    q = pickle.loads(pickle.dumps(p))
    assert q == p and q.select == "abs=1" and q != 3
    assert q.grad({"x": np.array([-1.0, 0.0, 2.0])})["x"].tolist() == [-1.0, 1.0, 1.0]


def test_selections():
    p = crease.parse("relu(x)")
    assert [float(p.options(select=s).grad(0.0)) for s in ("torch", "relu=1", "relu=1/2")] == [0.0, 1.0, 0.5]
    with pytest.raises(crease.CreaseError, match="relu"):
        p.options(select="relu=2")


def test_batches():
    p = crease.parse("program f(x, v[2]) = max(x, v[0]) * v[1]")
    x, v = np.linspace(-1, 1, 1001), np.array([0.25, 3.0])
    for threads in (1, 3):
        y, (dx, dv) = p.batch(threads=threads).value_and_grad(x, v)
        assert np.array_equal(y, np.maximum(x, 0.25) * 3) and np.array_equal(dx, np.where(x >= 0.25, 3.0, 0.0))
        assert dv.shape == (1001, 2) and np.array_equal(dv[:, 1], np.maximum(x, 0.25))
    assert p.batch()(x.astype(np.float32), v.astype(np.float32)).dtype == np.float32
    for args, what in (((0.0, v), "no argument has a leading axis"), ((x, np.ones((3, 2))), "has 3 points"), ((np.ones((2, 2)), v), "leading axis")):
        with pytest.raises(crease.CreaseError, match=what):
            p.batch()(*args)


def test_transforms():
    p = crease.parse("program f(x, y) { let a = x * y  let b = x * y  return relu(a) + relu(b) }")
    q = p.simplify()
    assert q(2.0, 3.0) == p(2.0, 3.0) and q.cost()["program"] < p.cost()["program"]
    assert p.derive("backprop")(2.0, 3.0) == (12.0, 6.0, 4.0)
    assert p.cost()["theorem"] <= 5 * p.cost()["program"]
    assert "relu" in p.text and p.draw().startswith("<svg") and p.draw("dot").startswith("digraph")
    two = crease.parse("program f(x) { return x, relu(x) }")
    assert two.output(1)(-1.0) == 0.0
    assert crease.parse(p.text) == p


def test_onnx(tmp_path):
    p = crease.trace(lambda x: np.maximum(x @ np.arange(6.0).reshape(2, 3), 0).sum(), np.ones(2))
    p.to_onnx(tmp_path / "f.onnx", dtype="f64")
    q = crease.load(tmp_path / "f.onnx")
    x = np.array([0.5, -0.25])
    assert abs(q(x) - p(x)) < 1e-12
    if importlib.util.find_spec("onnx"):
        import onnx

        for dtype in ("f32", "f64"):
            p.to_onnx(tmp_path / "checked.onnx", dtype=dtype)
            onnx.checker.check_model(str(tmp_path / "checked.onnx"), full_check=True)
    with pytest.raises(crease.CreaseError, match="cannot read"):
        crease.load(tmp_path / "no.onnx")
    (tmp_path / "bad.onnx").write_bytes(b"\x08\x07garbage")
    with pytest.raises(crease.CreaseError):
        crease.load(tmp_path / "bad.onnx")
    (tmp_path / "f.crease").write_text("program a(x) = x\nprogram b(x) = -x\n")
    assert crease.load(tmp_path / "f.crease")(1.0) == -1.0 and crease.load(tmp_path / "f.crease", name="a")(1.0) == 1.0
    with pytest.raises(crease.CreaseError, match="it has a, b"):
        crease.load(tmp_path / "f.crease", name="c")


@pytest.mark.parametrize(
    "wrong, what",
    [
        (lambda p: p(1.0), "argument `d` of `huber` is missing"),
        (lambda p: p(1.0, 2.0, 3.0), "takes 2 arguments, got 3"),
        (lambda p: p(1.0, 2.0, r=1.0), "given twice"),
        (lambda p: p(1.0, 2.0, q=1.0), "no argument `q`"),
        (lambda p: p(np.ones(2), 1.0), r"takes a number, got shape \(2,\)"),
        (lambda p: p("a", 1.0), "real numbers are needed"),
        (lambda p: p(1j, 1.0), "real numbers are needed"),
        (lambda p: p(float("nan"), 1.0), "finite"),
        (lambda p: p.grad(1.0, 1.0, wrt="q"), "there is no argument `q`"),
        (lambda p: p.grad(1.0, 1.0, wrt=2), "there is no argument 2"),
        (lambda p: p.batch(threads=0), "a thread at least"),
        (lambda p: p.derive("integral"), "there is no derivative `integral`"),
        (lambda p: crease.parse("program f(x) = rleu(x)"), "did you mean `relu`"),
        (lambda p: crease.parse("1 / x")(0.0), "division by zero"),
        (lambda p: crease.parse("x")(object()), "real numbers are needed"),
        (lambda p: crease.inspect(p, 0.0, 1.0, tyme=3), "there is no option `tyme`"),
        (lambda p: crease.inspect(3, 0.0), "a program, a text"),
    ],
)
def test_errors_say_what_and_where(wrong, what):
    with pytest.raises(crease.CreaseError, match=what):
        wrong(crease.parse(HUBER))


def test_unchecked_runs_give_nan():
    p = crease.parse("1 / x").options(checked=False)
    assert np.isinf(p(0.0))


def test_the_builder_refuses_nonsense():
    b = _crease.Builder("f")
    x = b.input("x", [2])
    with pytest.raises(crease.CreaseError, match="there is no value 7"):
        b.sum(7, [0])
    with pytest.raises(crease.CreaseError, match="no operation `foo`"):
        b.elementwise("foo", x)
    with pytest.raises(crease.CreaseError, match="twice|axis"):
        b.sum(x, [0, 0])
    b.elementwise("relu", x)
    with pytest.raises(crease.CreaseError, match="all inputs come before"):
        b.input("y", [])
    b.finish(x)
    with pytest.raises(crease.CreaseError, match="has finished"):
        b.finish(x)


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_interrupts_stop_a_search():
    # all gradients of a sum of 60 absolute values are 2^60
    code = """
        import _thread, threading, time, crease
        threading.Timer(1.0, _thread.interrupt_main).start()
        began = time.time()
        try:
            crease.clarke_all(" + ".join(f"abs(x{i})" for i in range(60)), *[0.0] * 60)
        except KeyboardInterrupt as stop:
            # what was found until then is there
            a = stop.answer
            assert a["limit"] == "it was stopped" and not a["complete"] and a.gradients.shape == (a["distinct"], 60) and len(a.directions) == a["cells"]
            print("stopped after", time.time() - began)
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, timeout=60)
    assert done.stdout.startswith("stopped"), done.stderr


def test_other_threads_run_meanwhile():
    import threading

    ticks = []
    stop = threading.Event()

    def tick():
        while not stop.is_set():
            ticks.append(time.time())
            time.sleep(0.005)

    thread = threading.Thread(target=tick)
    thread.start()
    try:
        crease.clarke_all(" + ".join(f"abs(x{i})" for i in range(40)), *[0.0] * 40, time=0.5)
    finally:
        stop.set()
        thread.join()
    assert len(ticks) > 5
