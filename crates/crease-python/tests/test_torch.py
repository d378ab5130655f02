"""Programs from PyTorch: values and gradients, structure, places, refusals, kinks."""

import doctest
import importlib
import pickle
import subprocess
import sys
from collections import namedtuple

import numpy as np
import pytest

torch = pytest.importorskip("torch")
import torch.nn as nn  # noqa: E402
import torch.nn.functional as F  # noqa: E402
from torch_cases import compare, layers, networks, operators, single  # noqa: E402

from crease import CreaseError, inspect  # noqa: E402
from crease._torch import arguments, from_torch, gradient, is_torch, supported  # noqa: E402
from crease._unsupported import Unsupported  # noqa: E402

Pair = namedtuple("Pair", "left right")

# what cannot be imported, and says so
REFUSED_LAYERS = {"CTCLoss", "FractionalMaxPool2d", "FractionalMaxPool3d", "CrossMapLRN2d"}


def line_of(text: str) -> int:
    """The line of this file that ends with a mark."""
    with open(__file__, encoding="utf-8") as f:
        return next(i for i, line in enumerate(f, 1) if line.rstrip().endswith(f"# {text}"))


# values and gradients off kinks

OPERATORS = [(f"{name}-{i}", case) for name, cases in operators().items() for i, case in enumerate(cases)]
LAYERS = [(f"{kind}-{name}-{i}", case) for kind, by_name in layers().items() for name, cases in by_name.items() for i, case in enumerate(cases) if name not in REFUSED_LAYERS]
NETWORKS = list(networks().items())


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("case", [c for _, c in OPERATORS], ids=[n for n, _ in OPERATORS])
def test_operators(case):
    value, slope = compare(*case)
    assert value <= 1e-5 and slope <= 1e-5


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("case", [c for _, c in LAYERS], ids=[n for n, _ in LAYERS])
def test_layers(case):
    value, slope = compare(*case)
    assert value <= 1e-5 and slope <= 1e-5


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("case", [c for _, c in NETWORKS], ids=[n for n, _ in NETWORKS])
def test_networks(case):
    value, slope = compare(*case)
    assert value <= 1e-5 and slope <= 1e-5


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", sorted(REFUSED_LAYERS))
def test_layers_that_are_refused(name):
    for cases in layers().values():
        for module, args in cases.get(name, ()):
            with pytest.raises(CreaseError, match="random|could not export|could not decompose"):
                from_torch(module, *args)


@pytest.mark.parametrize("name", ["_softmax", "convolution", "max_pool2d_with_indices", "native_layer_norm", "sort", "amax"])
def test_single_precision(name):
    for f, args in operators()[name]:
        value, slope = compare(f, single(args))
        assert value <= 1e-5 and slope <= 1e-4


# structure


def test_arguments_and_results_keep_their_structure():
    def f(params, pair, scale):
        return {"sum": params["b"].sum() * scale, "parts": [pair.left, (params["a"][0], None)]}

    params = {"b": torch.ones(2), "a": [torch.tensor([1.0, 2.0, 3.0])]}
    p = from_torch(f, params, Pair(1.0, 2.0), 3.0)
    assert p.params == ["params", "pair", "scale"]
    assert [name for name, _ in p.inputs] == ["params.b", "params.a.0", "pair.0", "pair.1", "scale"]
    plain = {"b": np.ones(2), "a": [np.array([1.0, 2.0, 3.0])]}
    out = p(plain, Pair(5.0, 6.0), 3.0)
    assert out["sum"] == 6.0 and out["parts"][0] == 5.0 and out["parts"][1][1] is None
    g = from_torch(lambda q, pair: (q["a"][0] * pair.left).sum() + q["b"].sum() * pair.right, params, Pair(1.0, 2.0)).grad(plain, Pair(5.0, 6.0))
    assert isinstance(g[1], Pair) and g[1].right == 2.0 and np.array_equal(g[0]["a"][0], [5, 5, 5])


def test_what_is_no_float_is_static():
    labels = torch.tensor([2, 0])
    loss = lambda x, y, k: F.cross_entropy(x, y) * k  # noqa: E731
    x = torch.randn(2, 3, dtype=torch.float64)
    p = from_torch(loss, x, labels, 2)
    assert p.params == ["x"] and len(arguments((x, labels, 2))) == 1
    assert np.allclose(p(x.numpy()), loss(x, labels, 2).item(), rtol=1e-12)
    assert np.allclose(p.grad(x.numpy()), gradient(loss, (x, labels, 2)), rtol=1e-12)
    inside = from_torch(lambda d: d["x"][d["i"]].sum(), {"x": torch.ones(3), "i": torch.tensor([0, 2])})
    assert inside({"x": np.arange(3.0), "i": None}) == 2.0


def test_parameters_as_inputs():
    net = nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 1, bias=False)).double()
    x = torch.tensor([[0.3, -0.7]], dtype=torch.float64)
    f = from_torch(lambda a: net(a).sum(), x)
    p = from_torch(net, x, parameters="inputs")
    assert p.params == ["parameters", "input"]
    weights = {name: w.detach().numpy() for name, w in net.named_parameters()}
    assert np.allclose(p(weights, x.numpy()), f(x.numpy()), rtol=1e-12)
    loss = net(x).sum()
    theirs = torch.autograd.grad(loss, list(net.parameters()))
    ours, _ = p.vjp((weights, x.numpy()), np.ones((1, 1)))[1]
    for (name, _), g in zip(net.named_parameters(), theirs):
        assert np.allclose(ours[name], g.numpy(), rtol=1e-12)
    with pytest.raises(CreaseError, match="no parameters"):
        from_torch(lambda a: a, x, parameters="inputs")
    with pytest.raises(CreaseError, match="not `all`"):
        from_torch(net, x, parameters="all")


def test_shared_parameters_are_one_input():
    class Tied(nn.Module):
        def __init__(self):
            super().__init__()
            self.a = nn.Linear(2, 2, bias=False)
            self.b = nn.Linear(2, 2, bias=False)
            self.b.weight = self.a.weight

        def forward(self, x):
            return self.b(torch.relu(self.a(x))).sum()

    net = Tied().double()
    x = np.array([1.0, -2.0])
    p = from_torch(net, x, parameters="inputs")
    w = {"a.weight": net.a.weight.detach().numpy()}
    theirs = torch.autograd.grad(net(torch.tensor(x)), net.a.weight)[0]
    assert np.allclose(p.grad(w, x)[0]["a.weight"], theirs.numpy())


def test_a_method_and_a_function_and_pickles():
    net = nn.Linear(2, 2).double()
    x = np.array([1.0, 2.0])
    assert np.allclose(from_torch(net.forward, x)(x), from_torch(net, x)(x))
    p = from_torch(lambda a: torch.relu(a).sum(), x)
    q = pickle.loads(pickle.dumps(p))
    assert q(x) == 3.0 and q.select == p.select


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16])
def test_precisions(dtype):
    x = torch.tensor([0.5, -1.5, 2.0], dtype=dtype)
    p = from_torch(lambda a: (torch.relu(a) * torch.tensor(0.1, dtype=dtype)).to(torch.float64).sum(), x)
    # casts are the identity; the constant is that of the precision
    tenth = float(torch.tensor(0.1, dtype=dtype))
    assert p(np.array([0.5, -1.5, 2.0])) == pytest.approx(2.5 * tenth, rel=1e-15)
    assert np.allclose(p.grad(np.array([0.5, -1.5, 2.0])), [tenth, 0, tenth], rtol=1e-15)


def test_no_elements_and_complex_numbers():
    with pytest.raises(CreaseError, match="no elements"):
        from_torch(lambda a: a.sum(), torch.zeros(0, 2))
    with pytest.raises(CreaseError, match="complex"):
        from_torch(lambda a: a.real, torch.zeros(2, dtype=torch.complex64))
    with pytest.raises(CreaseError):
        from_torch(lambda a: torch.fft.fft(a).real, torch.zeros(2))


# places


def test_kinks_have_the_line_of_the_user_and_the_layer():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.head = nn.Sequential(nn.Linear(2, 2, bias=False), nn.ReLU())

        def forward(self, x):
            y = torch.abs(x)  # abs here
            return self.head(y).sum()

    text = inspect(Net().double(), np.zeros(2)).text
    assert f"test_torch.py:{line_of('abs here')}" in text and "head.1" in text

    def f(x):
        return F.relu(x).sum()  # relu in a function

    assert f"test_torch.py:{line_of('relu in a function')}" in inspect(f, torch.zeros(2)).text


def test_an_unsupported_operator_says_where_and_what_there_is():
    def f(x):
        return torch.linalg.svdvals(x).sum()  # svd here

    with pytest.raises(Unsupported) as e:
        from_torch(f, torch.eye(2))
    assert "svd" in e.value.primitive and e.value.place.endswith(f"test_torch.py:{line_of('svd here')}")
    assert e.value.supported == supported() and "aten.relu" in supported()
    assert e.value.place in str(e.value)
    copy = pickle.loads(pickle.dumps(e.value))
    assert copy.primitive == e.value.primitive and str(copy) == str(e.value)


@pytest.mark.parametrize("f, words", [
    (lambda x: F.dropout(x, 0.5, True), "random"),
    (lambda x: x + torch.randn(3), "random"),
    (lambda x: torch.lgamma(x), "lgamma"),
    (lambda x: x[x > 0], ""),
    (lambda x: x[0].item() * x, "`item`.*identity"),
    (lambda x: x * x.data, "could not export"),
])  # fmt: skip
def test_refusals(f, words):
    with pytest.raises(CreaseError, match=words):
        from_torch(f, torch.tensor([1.0, 2.0, 3.0]))


# where the tape stops


def stopped_value(x):
    return x * x.detach()  # detached here


def stopped_block(x):
    with torch.no_grad():
        y = x * 2
    return x * y


def stopped_branch(x):
    return torch.cond(x.sum() > 0, lambda x: x * x.detach(), lambda x: x + 0, (x,))


@pytest.mark.parametrize("f, name", [(stopped_value, "detach"), (stopped_block, "no_grad"), (stopped_branch, "detach")])
def test_stops_are_refused(f, name):
    x = torch.tensor([1.0, 2.0], dtype=torch.float64)
    with pytest.raises(Unsupported, match="identity") as e:
        from_torch(f, x)
    assert e.value.primitive == name and (f is stopped_branch or "test_torch.py" in e.value.place)
    p = from_torch(lambda x: f(x).sum(), x, stop_gradient="identity")
    assert np.allclose(p(x.numpy()), f(x).sum().item())


def test_the_line_of_a_stop():
    with pytest.raises(Unsupported) as e:
        from_torch(stopped_value, torch.ones(2))
    assert e.value.place.endswith(f"test_torch.py:{line_of('detached here')}")
    with pytest.raises(CreaseError, match="refuse or identity"):
        from_torch(stopped_value, torch.ones(2), stop_gradient="no")


@pytest.mark.parametrize("f", [
    lambda x: torch.where(x.detach() > 0, x, 0.0 * x),
    lambda x: x[torch.argmax(x.detach())],
    lambda x: x * torch.zeros_like(x.detach()),
    lambda x: x + torch.sign(x.detach()),
    lambda x: x * torch.ones(2, dtype=torch.float64).detach(),
])  # fmt: skip
def test_stops_that_change_nothing(f):
    x = torch.tensor([1.0, -2.0], dtype=torch.float64)
    total = lambda a: f(a).sum()  # noqa: E731
    p = from_torch(total, x)
    assert np.allclose(p.grad(x.numpy()), gradient(total, (x,)))


def test_a_stop_at_a_parameter_counts_if_it_is_an_input():
    class Frozen(nn.Module):
        def __init__(self):
            super().__init__()
            self.w = nn.Parameter(torch.ones(2, dtype=torch.float64))

        def forward(self, x):
            return (x * self.w.detach()).sum()

    x = np.array([1.0, 2.0])
    assert np.allclose(from_torch(Frozen(), x).grad(x), [1, 1])
    with pytest.raises(Unsupported, match="stopped"):
        from_torch(Frozen(), x, parameters="inputs")


class Loud(torch.autograd.Function):
    """The largest, with full weight to every tie."""

    @staticmethod
    def forward(ctx, x):
        y = x.amax()
        ctx.save_for_backward(x, y)
        return y

    @staticmethod
    def backward(ctx, t):
        x, y = ctx.saved_tensors
        return t * (x == y)


def test_a_derivative_of_your_own_is_left_out_and_named():
    at = np.array([1.0, 1.0, 0.0])
    f = lambda x: Loud.apply(x)  # noqa: E731
    theirs = gradient(f, (at,))
    assert np.array_equal(theirs, [1, 1, 0])
    found = inspect(f, torch.tensor(at))
    assert found.judge(theirs).word == "outside"
    assert "autograd.Function Loud" in found.text
    assert np.allclose(from_torch(f, at).grad(at), [0.5, 0.5, 0])


# meaning


def test_control_flow():
    f = lambda x: torch.cond(x.sum() > 0, lambda x: torch.log(x), lambda x: 2 * x, (x,)).sum()  # noqa: E731
    p = from_torch(f, torch.ones(2))
    assert np.allclose(p(np.array([-1.0, -2.0])), -6) and np.allclose(p.grad(np.array([-1.0, -2.0])), 2) and "select" in p.text
    assert np.allclose(p.grad(np.array([1.0, 4.0])), [1, 0.25])


def test_mutation():
    def f(x):
        y = x.clone()
        y[0] = y[1] * 2
        y.add_(1.0)
        y[:, 1].mul_(3.0)
        return y.sum()

    x = torch.tensor([[1.0, -2.0], [-3.0, 0.5]], dtype=torch.float64)
    p = from_torch(f, x)
    assert np.allclose(p(x.numpy()), f(x).item()) and np.allclose(p.grad(x.numpy()), gradient(f, (x,)))


def test_batch_norm_in_training_takes_the_batch():
    net = nn.BatchNorm1d(2).double().train()
    x = torch.randn(5, 2, dtype=torch.float64)
    p = from_torch(lambda a: net(a).pow(3).sum(), x)
    assert np.allclose(p.grad(x.numpy()), gradient(lambda a: net(a).pow(3).sum(), (x,)), atol=1e-10)


def test_both_kinds_of_maxima_in_one_program():
    x = np.array([1.0, 1.0, 1.0, 1.0])
    pool = lambda a: F.max_pool1d(a.reshape(1, 1, -1), 2).sum()  # noqa: E731
    p = from_torch(pool, x)
    assert p.select == "torch, max=first" and "max(" in p.text and np.array_equal(p.grad(x), [1, 0, 1, 0])
    both = from_torch(lambda a: pool(a) + a.amax(), x)
    assert both.select == "torch" and np.array_equal(both.grad(x), [1.25, 0.25, 1.25, 0.25])
    shared = from_torch(lambda a: a.amax(), x)
    assert shared.select == "torch" and np.array_equal(shared.grad(x), [0.25] * 4)


def test_gradient_is_that_of_torch():
    x = np.array([1.0, -2.0], np.float32)
    assert gradient(lambda a: (a * a).sum(), (x,)).dtype == np.float32
    with pytest.raises(CreaseError, match="one number"):
        gradient(lambda a: a * 2, (x,))


def test_whose_it_is():
    assert is_torch(nn.ReLU()) and is_torch(abs, (torch.ones(2),)) and is_torch(stopped_block) and not is_torch(abs, (np.ones(2),))


def test_torch_is_not_imported_before():
    code = "import sys, crease._torch as t; assert not t.is_torch(abs); assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("name", ["_torch", "_torch_ops", "_torch_nn", "_torch_ties", "_torch_stops", "_torch_compat"])
def test_examples(name):
    assert doctest.testmod(importlib.import_module(f"crease.{name}"), optionflags=doctest.ELLIPSIS).failed == 0
