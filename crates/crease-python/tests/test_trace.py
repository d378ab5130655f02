"""NumPy code on proxies: values against NumPy itself, gradients against finite differences."""

import numpy as np
import pytest

import crease

rng = np.random.default_rng(1)
X, Y, V, S = rng.normal(size=(3, 4)), rng.normal(size=(3, 4)), rng.normal(size=4), 0.7
P = np.abs(X) + 0.1
IMAGE = rng.normal(size=(2, 3, 5))

ONE = {
    "neg": lambda x: -x, "abs": abs, "power": lambda x: x**3, "rpow": lambda x: 2.0**x, "negative power": lambda x: np.power(np.abs(x) + 1, -1.5),
    "exp": np.exp, "expm1": np.expm1, "exp2": np.exp2, "sin": np.sin, "cos": np.cos, "tan": lambda x: np.tan(x / 4), "tanh": np.tanh, "arctan": np.arctan,
    "arcsin": lambda x: np.arcsin(x / 4), "arccos": lambda x: np.arccos(x / 4), "sinh": np.sinh, "cosh": np.cosh, "arcsinh": np.arcsinh, "arctanh": lambda x: np.arctanh(x / 4),
    "square": np.square, "reciprocal": lambda x: np.reciprocal(x + 9), "cbrt": lambda x: np.cbrt(x), "deg2rad": np.deg2rad, "sinc": np.sinc,
    "maximum": lambda x: np.maximum(x, 0.1), "minimum": lambda x: np.minimum(0.1, x), "fmax": lambda x: np.fmax(x, Y), "clip": lambda x: np.clip(x, -0.5, 0.5), "clip method": lambda x: x.clip(None, 0.3),
    "sum": lambda x: x.sum(), "sum axis": lambda x: x.sum(axis=0), "np.sum": lambda x: np.sum(x, axis=1, keepdims=True), "mean": lambda x: x.mean(axis=-1), "np.mean": np.mean,
    "prod": lambda x: x.prod(axis=1), "max": lambda x: x.max(), "np.max": lambda x: np.max(x, axis=1), "min": lambda x: x.min(axis=0, keepdims=True), "ptp": np.ptp, "var": lambda x: x.var(axis=1), "std": lambda x: np.std(x, ddof=1),
    "median": lambda x: np.median(x, axis=0), "median even": lambda x: np.median(x), "average": lambda x: np.average(x, axis=1, weights=np.arange(1.0, 5.0)), "sort": lambda x: np.sort(x, axis=0), "sort flat": lambda x: np.sort(x, axis=None),
    "cumsum": lambda x: np.cumsum(x, axis=1), "cumsum flat": np.cumsum, "cumprod": lambda x: x.cumprod(axis=0), "accumulate": lambda x: np.maximum.accumulate(x, axis=1), "diff": lambda x: np.diff(x, axis=0), "add.reduce": lambda x: np.add.reduce(x),
    "argmax": lambda x: x[np.arange(3), 1] + 0 * x.argmax(axis=1), "argsort": lambda x: np.take_along_axis(x, np.argsort(x, axis=1), axis=1),
    "index": lambda x: x[1], "index 2": lambda x: x[1, ::-2], "slice": lambda x: x[::-1, 1:3], "ellipsis": lambda x: x[..., 0], "newaxis": lambda x: x[:, None] * x[None], "list": lambda x: x[[2, 0, 2]], "mask": lambda x: x[Y > 0], "pairs": lambda x: x[[0, 1], [3, 2]], "negative": lambda x: x[-1, -2],
    "iter": lambda x: sum(row[0] * row[1] for row in x), "reshape": lambda x: x.reshape(4, -1) * np.arange(3.0), "reshape 2": lambda x: np.reshape(x, (2, 6)), "ravel": lambda x: x.ravel()[3:], "flatten": lambda x: x.flatten(), "T": lambda x: x.T @ Y, "transpose": lambda x: np.transpose(x), "swapaxes": lambda x: x.swapaxes(0, 1),
    "moveaxis": lambda x: np.moveaxis(x[None], 0, 2), "squeeze": lambda x: x[None].squeeze(0), "expand_dims": lambda x: np.expand_dims(x, 1), "broadcast_to": lambda x: np.broadcast_to(x[0], (2, 4)), "repeat": lambda x: np.repeat(x, 2, axis=1), "tile": lambda x: np.tile(x, (2, 1)), "roll": lambda x: np.roll(x, 1, axis=0), "flip": lambda x: np.flip(x),
    "concatenate": lambda x: np.concatenate([x, Y, x[:1]]), "stack": lambda x: np.stack([x, 2 * x], axis=1), "hstack": lambda x: np.hstack([x, x]), "vstack": lambda x: np.vstack([x[0], x]), "split": lambda x: np.split(x, 2, axis=1)[1], "pad": lambda x: np.pad(x, ((1, 0), (0, 2))), "pad value": lambda x: np.pad(x, 1, constant_values=3.0), "pad reflect": lambda x: np.pad(x, 1, mode="reflect"), "pad edge": lambda x: np.pad(x, 2, mode="edge"),
    "diag": lambda x: np.diag(x[:, :3]), "diag 2": lambda x: np.diag(x[0]), "trace": lambda x: np.trace(x[:, :3]), "tril": np.tril, "triu": lambda x: np.triu(x, 1), "take": lambda x: np.take(x, [1, 1, 0], axis=1), "select": lambda x: np.select([x > 1, x > 0], [x * 2, x * 3], -x),
    "where": lambda x: np.where(x > 0, np.log(np.where(x > 0, x, 1.0)), x), "where known": lambda x: np.where(Y > 0, x, -1.0), "where branches": lambda x: np.where(x > 0, x, Y), "compare": lambda x: (x > 0) * x + (x <= Y), "logic": lambda x: np.where((x > 0) & ~(x > 1) | (x < -1), x, 0.0), "xor": lambda x: np.where((x > 0) ^ (Y > 0), x, 0.0),
    "sign": lambda x: np.sign(x) * x, "floor": lambda x: x - np.floor(x), "round": lambda x: x - np.round(x), "rint": lambda x: x * np.rint(x), "ceil": lambda x: x * np.ceil(x), "trunc": lambda x: x * np.trunc(x), "mod": lambda x: x % 0.7, "floordiv": lambda x: x * (x // 0.7), "heaviside": lambda x: x * np.heaviside(x, 0.5),
    "norm": np.linalg.norm, "norm 1": lambda x: np.linalg.norm(x, 1, axis=1), "norm inf": lambda x: np.linalg.norm(x, np.inf, axis=0), "norm -inf": lambda x: np.linalg.norm(x, -np.inf, axis=0), "norm 3": lambda x: np.linalg.norm(x[0], 3), "fro": lambda x: np.linalg.norm(x, "fro"), "einsum": lambda x: np.einsum("ij,kj->ik", x, Y), "einsum diagonal": lambda x: np.einsum("ii->i", x[:, :3]), "einsum trace": lambda x: np.einsum("ii", x[:, :3]),
    "einsum three": lambda x: np.einsum("ij,kj,il->kl", x, Y, x), "einsum batch": lambda x: np.einsum("...j,j->...", x, V), "einsum sum": lambda x: np.einsum("ij->", x), "matmul": lambda x: x @ V, "rmatmul": lambda x: Y.T @ x, "vector": lambda x: V @ x.T, "stacked": lambda x: IMAGE.transpose(0, 2, 1) @ x, "dot": lambda x: np.dot(x, Y.T), "inner": lambda x: np.inner(x, Y), "outer": lambda x: np.outer(x[0], x[1]), "tensordot": lambda x: np.tensordot(x, Y, axes=([0, 1], [0, 1])), "vdot": lambda x: np.vdot(x, Y),
    "multiply.outer": lambda x: np.multiply.outer(x[0], V), "hypot": lambda x: np.hypot(x, Y), "arctan2": lambda x: np.arctan2(x, 1.5 + Y**2), "logaddexp": lambda x: np.logaddexp(x, Y), "interp": lambda x: np.interp(x, [-1.0, 0.0, 2.0], [0.0, 1.0, -1.0]), "divide": lambda x: Y / (x**2 + 1), "rsub": lambda x: 1 - x, "broadcasting": lambda x: x * V + np.arange(3.0)[:, None] - S, "astype": lambda x: x.astype(np.float64) * 1.0, "all": lambda x: np.where(np.all(x > -9, axis=1), x[:, 0], 0.0), "isfinite": lambda x: np.where(np.isfinite(x), x, 0.0), "float_power": lambda x: np.float_power(P + 0 * x, Y),
}  # fmt: skip
POSITIVE = {"log": np.log, "log2": np.log2, "log10": np.log10, "log1p": np.log1p, "sqrt": np.sqrt, "half": lambda x: x**0.5, "arccosh": lambda x: np.arccosh(x + 1), "pow": lambda x: x**x, "exponents": lambda x: x ** np.array([0.0, 1.0, 2.0, 0.5])}


def differences(f, x, adjoint, h=1e-6):
    g = np.zeros_like(x)
    for i in np.ndindex(x.shape):
        up, down = x.copy(), x.copy()
        up[i] += h
        down[i] -= h
        g[i] = (np.sum(adjoint * f(up)) - np.sum(adjoint * f(down))) / (2 * h)
    return g


@pytest.mark.parametrize("name", [*ONE, *POSITIVE])
def test_values_and_gradients_are_those_of_numpy(name):
    f, x = (ONE[name], X) if name in ONE else (POSITIVE[name], P)
    p = crease.trace(f, x)
    expected = np.asarray(f(x), float)
    got = p(x)
    assert got.shape == expected.shape
    assert np.allclose(got, expected, rtol=1e-12, atol=1e-12)
    adjoint = np.asarray(rng.normal(size=expected.shape))
    _, gradient = p.vjp((x,), adjoint)
    assert np.allclose(gradient, differences(f, x, adjoint), rtol=1e-5, atol=1e-6)


def test_programs_of_several_arguments():
    def f(x, w, s):
        return {"y": np.maximum(w @ x, 0) * s, "n": np.linalg.norm(x)}

    w = rng.normal(size=(3, 4))
    p = crease.trace(f, V, w, 2.0)
    assert p.params == ["x", "w", "s"] and p.name == "f"
    out = p(V, w, 2.0)
    assert np.allclose(out["y"], f(V, w, 2.0)["y"]) and np.isclose(out["n"], np.linalg.norm(V))


def test_functions_without_tracers_are_constants():
    p = crease.trace(lambda x: np.ones(3), 0.0)
    assert p(5.0).tolist() == [1.0, 1.0, 1.0] and p.vjp((5.0,), np.ones(3))[1] == 0.0


@pytest.mark.parametrize(
    "f, what",
    [
        (lambda x: x if x > 0 else -x, r"test_trace.py:\d+: this decision needs numbers"),
        (lambda x: np.array([x, x]), r"asked for while the program is traced"),
        (lambda x: float(x), "asked for"),
        (lambda x: np.linalg.inv(np.eye(2) * x), r"`np.linalg.inv` cannot be imported"),
        (lambda x: np.fft.fft(x * np.ones(2)), r"`np.fft.*fft` cannot be imported"),
        (lambda x: np.add(x, 1.0, out=np.zeros(())), "out="),
        (lambda x: x.astype(int), "jumps"),
        (lambda x: None, "returned nothing"),
        (lambda x: x * np.inf, "not finite"),
        (lambda x: np.full(3, x), "asked for|not known"),
    ],
)
def test_what_cannot_be_traced_says_why(f, what):
    with pytest.raises(crease.CreaseError, match=what):
        crease.trace(f, 1.0)


def test_values_of_another_trace_are_refused():
    kept = []
    crease.trace(lambda x: kept.append(x) or x, 1.0)
    with pytest.raises(crease.CreaseError, match="another"):
        crease.trace(lambda x: x + kept[0], 1.0)


def test_arrays_are_not_written_into():
    def f(x):
        x[0] = 1.0
        return x

    with pytest.raises(crease.CreaseError, match="np.where or np.concatenate"):
        crease.trace(f, np.ones(2))
