"""NumPy's functions with NumPy's parameters: each call is right, or refused by name. Nothing is passed over."""

import inspect
import itertools
import warnings

import numpy as np
import pytest

import crease

pytestmark = pytest.mark.filterwarnings("ignore")
rng = np.random.default_rng(7)
X = rng.normal(size=(3, 4))
S = rng.normal(size=(3, 3))
V = rng.normal(size=4)
MASK = X > 0

# what parameters may be, by their names in NumPy's signatures; what is not here is not tried
VALUES = {
    "axis": [None, 0, 1, -1, (0, 1), (1,)], "axes": [None, (1, 0), 1, ([0], [0]), ([0, 1], [0, 1])], "keepdims": [True, 1, np.True_], "dtype": [np.float64, int, np.float32], "initial": [0.5, -3.0], "where": [MASK, MASK[:, :1]],
    "order": ["C", "F", "A", "K"], "ddof": [1], "correction": [1], "mean": [np.zeros((1, 4))], "decimals": [1, -1], "kind": ["stable", "heapsort"], "stable": [True], "n": [2], "k": [1, -1], "prepend": [0.0], "append": [0.0],
    "mode": ["clip", "wrap", "raise", "reflect", "edge", "symmetric", "constant", "mean", "maximum", "linear_ramp", "empty"], "constant_values": [3.0, ((1, 2), (3, 4))], "reflect_type": ["odd"], "weights": [np.arange(1.0, 5.0), np.ones((3, 4))], "returned": [True], "offset": [1, -1], "axis1": [1], "axis2": [0],
    "overwrite_input": [True], "interpolation": ["linear"], "method": ["lower"], "ord": [1, 2, 3, np.inf, -np.inf, 0, "fro", "nuc", -1], "shift": [1, (1, 2)], "left": [0.0], "right": [0.0], "period": [2.0], "default": [1.5], "a_min": [-0.5], "a_max": [0.5], "min": [0.0], "max": [0.2],
    "fill_value": [2.0], "shape": [(4, 3), (12,), (2, -1), 12, (2, 3, 4)], "copy": [True], "nan": [1.0], "subok": [False], "casting": ["unsafe"], "source": [0], "destination": [1, -1], "repeats": [2, [1, 2, 3]], "reps": [2, (2, 1)], "indices": [[0, 1], [2, -1], [1]], "q": [0.5],
    "indices_or_sections": [2, [1, 3], 3, 1], "pad_width": [1, ((1, 0), (0, 2))], "m": [2], "x1": [0.5], "x2": [2.0], "newshape": [(4, 3)], "optimize": [True], "side": ["right"], "deg": [1], "dx": [0.5], "bias": [True], "rowvar": [False], "edge_order": [2], "num": [3],
    "posinf": [1.0], "neginf": [1.0],
}  # fmt: skip

# arguments that come first
FIRST = [(X,), (S,), (V,), (X, X + 1), (X, V), (V, V), (X.T, X), (np.abs(X) + 0.5,), ([X, X],), ([MASK, ~MASK], [X, -X]), (X, 1), (X, 2), (X, [0, 2, 1]), (X, np.array([[0, 1, 0, 1]]), 0), (X, (4, 3)), (V, [-1.0, 0.0, 1.0], [0.0, 2.0, 1.0]), (X > 0, X, 0.0), ("ij,kj->ik", X, X), (X[0, 0],)]


def functions():
    for module, prefix in ((np, ""), (np.linalg, "linalg.")):
        for name in sorted(vars(module)):
            f = getattr(module, name)
            if callable(f) and not isinstance(f, type) and not name.startswith("_") and name not in SKIPPED:
                yield pytest.param(f, id=prefix + name)


# they ask what a thing is and not for its numbers (isscalar), do not take arrays, or do not return: printing, files, other objects, what makes its arrays itself, windows, settings
SKIPPED = {
    "isscalar", "test", "save", "savez", "savez_compressed", "savetxt", "load", "loadtxt", "genfromtxt", "fromfile", "memmap", "info", "show_config", "show_runtime", "get_include", "set_printoptions", "printoptions", "seterr", "seterrcall", "errstate", "setbufsize",
    "set_string_function", "array2string", "array_repr", "array_str", "format_float_positional", "format_float_scientific", "vectorize", "frompyfunc", "fromfunction", "apply_along_axis", "apply_over_axes", "piecewise", "put", "putmask", "place", "copyto", "fill_diagonal", "put_along_axis", "random", "may_share_memory", "shares_memory", "require", "from_dlpack", "frombuffer", "fromiter", "fromregex", "fromstring", "asmatrix", "bmat", "busday_count", "busday_offset", "is_busday", "datetime_as_string", "datetime_data",
}  # fmt: skip


def calls(f):
    """Arguments, and one or two parameters at a time."""
    try:
        parameters = {n: p for n, p in inspect.signature(f).parameters.items() if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)}
    except (TypeError, ValueError):
        parameters = {}
        if isinstance(f, np.ufunc):
            parameters = dict.fromkeys(("dtype", "where", "casting", "order", "subok"))
    known = [n for n in parameters if n in VALUES] + [n for n in ("order", "initial", "where", "axis") if not parameters]
    single = [{n: v} for n in dict.fromkeys(known) for v in VALUES[n]]
    pairs = [{a: u, b: v} for a, b in itertools.combinations([n for n in known if n in ("axis", "keepdims", "initial", "where", "order", "ddof", "mode")], 2) for u in VALUES[a][1:4] for v in VALUES[b][:2]]
    for args in FIRST:
        for named in [{}, *single, *pairs]:
            yield args, named


def numbers(out):
    """What comes out as a flat list of arrays of floats; None if it is something else."""
    if isinstance(out, (list, tuple)):
        parts = [numbers(x) for x in out]
        return None if any(p is None for p in parts) else [a for p in parts for a in p]
    a = np.asarray(out)
    return [a.astype(float)] if a.dtype.kind in "fiub" and a.size else None


def compare(f, args, named):
    """Right, refused, or not comparable: NumPy itself refuses, or returns no real numbers."""
    arrays = [i for i, a in enumerate(args) if isinstance(a, (np.ndarray, np.floating)) and np.asarray(a).dtype.kind == "f" or isinstance(a, list) and a and isinstance(a[0], np.ndarray) and a[0].dtype.kind == "f"]
    if not arrays:
        return "nothing to trace"
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            expected = numbers(f(*args, **named))
    except Exception:  # whatever NumPy raises
        return "NumPy refuses"
    if expected is None or not all(np.isfinite(e).all() for e in expected):
        return "no real numbers"

    def g(*traced):
        whole = list(args)
        for i, t in zip(arrays, traced):
            whole[i] = t
        out = f(*whole, **named)
        if isinstance(out, (int, float, bool)) or isinstance(out, (list, tuple)) and any(isinstance(x, (int, str)) for x in out):
            out = [np.asarray(x, float) for x in (out if isinstance(out, (list, tuple)) else [out])]
        return list(out) if isinstance(out, tuple) else out

    given = tuple(args[i] for i in arrays)
    try:
        p = crease.trace(g, *given)
        got = numbers(p(*given))
    except (crease.CreaseError, AttributeError) as e:
        assert not isinstance(e, AttributeError) or "not known to crease.trace" in str(e), e
        return "refused"
    assert got is not None and len(got) == len(expected), (f, args, named)
    for e, r in zip(expected, got):
        assert e.shape == r.shape, (f.__name__, [np.shape(a) for a in args], named, e.shape, r.shape)
        # floats of all sizes are real numbers: a shorter type does not round
        near = 1e-5 if any(v is np.float32 for v in named.values()) else 1e-9
        assert np.allclose(e, r, rtol=near, atol=near * 1e-1), (f.__name__, [np.shape(a) for a in args], named, e, r)
    return "right"


@pytest.mark.parametrize("f", functions())
def test_functions_are_right_or_refused(f):
    for args, named in calls(f):
        compare(f, args, named)


METHODS = [n for n in dir(np.ndarray) if not n.startswith("_") and callable(getattr(np.ndarray, n)) and n not in ("tofile", "dump", "dumps", "setflags", "setfield", "byteswap", "view", "getfield", "tobytes", "tostring", "to_device", "fill", "itemset", "put", "partition", "resize", "sort")]


@pytest.mark.parametrize("name", METHODS)
def test_methods_are_right_or_refused(name):
    def f(x, *args, **named):
        return getattr(x, name)(*args, **named)

    f.__name__ = name
    tried = [(), (0,), (1,), (None,), (2, 3), (-1,), ((4, 3),), ((2, -1),), (0, 1), (0.25, 0.5), ("F",), ([0, 1],), (np.arange(4.0),), (float,), (int,), (bool,)]
    named = [{}, *({k: v} for k in ("axis", "keepdims", "initial", "where", "order", "dtype", "ddof", "mode", "min", "max", "decimals", "offset") for v in VALUES[k])]
    for args, more in itertools.product(tried, named):
        for x in (X, S, X[0]):
            compare(f, (x, *args), more)


UFUNCS = [n for n in dir(np) if isinstance(getattr(np, n), np.ufunc)]


@pytest.mark.parametrize("name", UFUNCS)
def test_methods_of_functions_of_numbers(name):
    u = getattr(np, name)
    for method in ("reduce", "accumulate", "outer", "reduceat", "at"):
        def f(*args, u=u, method=method, **named):
            return getattr(u, method)(*args, **named)

        f.__name__ = f"{name}.{method}"
        for args in ((X,), (X, 1), (X, 0), (X, None), (X, (0, 1)), (X, V), (X, [0, 2]), (X, -1, None, None, True)):
            for named in ({}, {"axis": 1}, {"axis": None}, {"keepdims": True}, {"initial": 0.5}, {"where": MASK}, {"where": MASK, "initial": 2.0}, {"dtype": int}, {"axis": 1, "initial": -1.0, "keepdims": True}):
                compare(f, args, named)


def test_what_is_known_is_mostly_right():
    """The comparison itself is no empty one: with no parameters most known functions are right on some argument."""
    right = {name for name in ("sum", "max", "mean", "sort", "cumsum", "reshape", "concatenate", "where", "einsum", "pad", "clip", "median", "std", "take", "tile", "dot", "diff", "ravel", "round", "prod") if any(compare(getattr(np, name), a, n) == "right" for a, n in calls(getattr(np, name)))}
    assert len(right) == 20
    assert compare(np.max, (X,), {"initial": 5.0}) == "right" and compare(np.sum, (X,), {"where": MASK}) == "right" and compare(np.reshape, (X, (4, 3)), {"order": "F"}) == "right"
    assert compare(np.ravel, (X,), {"order": "F"}) == "right" and compare(np.add.reduce, (X, 1), {"initial": 2.0}) == "right"
    assert compare(np.pad, (X, 1), {"mode": "mean"}) == "refused" and compare(np.mean, (X,), {"where": MASK}) == "refused" and compare(np.sum, (X,), {"dtype": int}) == "refused"


def test_refusals_name_the_function_and_the_line():
    with pytest.raises(crease.UnsupportedError, match=r"`np.mean` cannot be imported \(.*test_trace_hostile.py:\d+\): where"):
        crease.trace(lambda x: np.mean(x, where=MASK), X)
    with pytest.raises(crease.UnsupportedError, match=r"crease.supported\('numpy'\) lists what can") as e:
        crease.trace(lambda x: np.linalg.inv(x), S)
    assert e.value.primitive == "np.linalg.inv" and "maximum" in e.value.supported and e.value.place.startswith(__file__)


def test_truth_values_count_as_in_numpy():
    for f in (lambda x: (x > 0) + (x > -1), lambda x: (x > 0) * (x > 1), lambda x: np.maximum(x > 0, x > 1), lambda x: (x > 0).sum(), lambda x: np.max(x > 0, axis=0) * 1.0, lambda x: (x > 0) * x, lambda x: (x > 0).astype(float) + (x > 1).astype(float), lambda x: (x > 0).astype(int) + 1):
        assert np.array_equal(crease.trace(f, X)(X), np.asarray(f(X), float))
    for f in (lambda x: (x > 0) - (x > 1), lambda x: -(x > 0), lambda x: x & 1, lambda x: ~x):
        with pytest.raises(crease.UnsupportedError):
            crease.trace(f, X)


def test_changes_in_place_are_numpys():
    def alone(x):
        y = np.maximum(x, 0)
        z = y
        y += 1
        return z * 2

    def copied(x):
        y = x.copy()
        y *= 3
        return x + y

    def number(x):
        s = x.sum()
        t = s
        t += 1
        return s

    for f in (alone, copied, number):
        assert np.allclose(crease.trace(f, X)(X), f(X.copy()))

    def view(x):
        y = x[0]
        y += 1
        return x

    def viewed(x):
        y = x.T
        x += 1
        return y

    for f in (view, viewed):
        with pytest.raises(crease.UnsupportedError, match="share"):
            crease.trace(f, X)
    with pytest.raises(crease.UnsupportedError, match="fit"):
        crease.trace(lambda x: x.__iadd__(np.ones((2, 3, 4))), X)
