"""Programs from PyTorch: a module or a function is exported by ``torch.export``, and its graph is walked node by node.

- **Arguments.** What is a float is an input of the program: tensors, NumPy arrays, Python floats (and NumPy's), nested in dicts, lists and tuples. All else is *static*: integer and
  boolean tensors, Python ints, strings and ``None`` become part of the program. A static argument is no argument of the program; inside of a structure ``None`` stands in its place.
  :func:`arguments` leaves out of a call's arguments what is static. NumPy arrays and numbers take the precision of the module's parameters.
- **Numbers.** They are real numbers: casts between floats, half precision included, are the identity. What depends on constants alone is computed by PyTorch, in its precision.
- **Parameters** are constants, or with ``parameters="inputs"`` the first argument, a dict by name. Buffers are constants.
- **Modes.** A module is exported in the mode that it is in. What is random (dropout in training) is refused; batch normalisation in training takes the statistics of the batch, and
  that it changes those it keeps is no part of the program. Mutation of tensors is resolved by PyTorch before.
- **``detach``** and ``no_grad`` on the way from an input to a result are refused: PyTorch's gradient is not that of the function then. With ``stop_gradient="identity"`` they are left out, and the
  program has the true derivative. Where they change nothing (indices, comparisons, constants) they are left out anyway.
- **``autograd.Function``**: what its ``forward`` computes. That its ``backward`` was left out is said by the layer of its equations, ``autograd.Function NAME``.
- **Ties.** The program's selection is what PyTorch picks, so ``p.grad`` returns at kinks what PyTorch returns (:mod:`crease._ties`). Where PyTorch follows whichever of equals its algorithm leaves in front
  (``topk``, ``kthvalue``, ``median`` along an axis, unstable ``sort``) the program takes the first.
- **Places.** Each equation knows the user's line, the innermost one outside of PyTorch and crease, and the path of its layer.

Operators that have a meaning or a kink of their own are translated as they stand (:mod:`crease._torch_ops`, :mod:`crease._torch_nn`). Others are decomposed by PyTorch's own table
for core ATen first; an operator for which there is neither raises :class:`crease.UnsupportedError`.
"""

from __future__ import annotations

import inspect
import math
import operator
import os
import re
import warnings
from typing import Any, Callable, NamedTuple, Sequence

import numpy as np

from . import _ops as ops
from . import _torch_compat as _compat
from ._crease import CreaseError, Program
from ._ops import Value
from ._ties import Maxima, Recording, with_convention
from ._torch_stops import first_stop
from ._tree import map_leaves
from ._unsupported import Unsupported

_HERE = os.path.dirname(os.path.abspath(__file__)) + os.sep
_SEE = "crease.supported('torch')"


def supported() -> list[str]:
    """The operators that are translated as they stand; PyTorch decomposes others into them.

    >>> "aten.relu" in supported()
    True
    """
    _load()
    return sorted(_HANDLERS)


def _load() -> None:
    """The handlers, which are many, when they are first needed."""
    global _HANDLERS, _T
    from . import _torch_nn, _torch_ops as _T  # noqa: F401

    _HANDLERS = _T.HANDLERS


def _torch() -> Any:
    try:
        import torch
    except ImportError as e:
        raise CreaseError("PyTorch is not installed; `pip install torch`") from e
    _load()
    return torch


def is_torch(fn: Any, args: Sequence[Any] = ()) -> bool:
    """Whether a function is one of PyTorch's: a module, one of its methods, a function that gets tensors, or one whose code names PyTorch. It does not import PyTorch."""
    torch = _compat.loaded()
    if torch is None:
        return False
    if isinstance(fn, torch.nn.Module) or isinstance(getattr(fn, "__self__", None), torch.nn.Module):
        return True
    found: list[bool] = []
    map_leaves(lambda x, _: found.append(isinstance(x, torch.Tensor)), tuple(args))
    return any(found) or _names_torch(fn)


def _names_torch(fn: Any) -> bool:
    code, names = getattr(fn, "__code__", None), getattr(fn, "__globals__", {})
    if code is None:
        return False
    is_module = lambda x: inspect.ismodule(x) and x.__name__.partition(".")[0] == "torch"  # noqa: E731
    return any(is_module(names.get(n)) for n in code.co_names)


# arguments


def _precision(torch: Any, fn: Any) -> Any:
    """The precision of the parameters of a module."""
    module = fn if isinstance(fn, torch.nn.Module) else getattr(fn, "__self__", None)
    if isinstance(module, torch.nn.Module):
        for p in module.parameters():
            if p.is_floating_point():
                return p.dtype
    return None


def _leaf(torch: Any, x: Any, path: str, precision: Any) -> tuple[Any, bool]:
    """What PyTorch gets for a leaf, and whether it is an input."""
    if isinstance(x, torch.Tensor):
        if x.is_complex():
            raise CreaseError(f"{path} is complex: crease works with real numbers")
        return x.detach(), x.is_floating_point()
    if isinstance(x, (float, np.ndarray, np.generic)) or hasattr(x, "__array__") and not isinstance(x, (str, bytes)):
        a = np.asarray(x)
        if a.dtype.kind == "f":
            t = torch.from_numpy(np.array(a, np.float64 if a.dtype.itemsize >= 8 else np.float32))
            return (t if precision is None else t.to(precision)), True
        if a.dtype.kind in "iub":
            return torch.from_numpy(np.array(a)) if a.ndim else a.item(), False
        raise CreaseError(f"{path} holds {a.dtype}: real numbers are needed")
    return x, False


_STATIC = object()


def _dropped(tree: Any) -> Any:
    """A static argument is none at all; inside of structures None stands for it."""
    return tuple(map_leaves(lambda x, _: None if x is _STATIC else x, t) for t in tree if t is not _STATIC and t is not None)


def arguments(args: Sequence[Any], parameters: str = "constants") -> tuple[Any, ...]:
    """The arguments of a program among those of the function that it was made of: without what is static.

    >>> import numpy as np
    >>> arguments((np.array([1.0]), np.array([2]), {"a": 1.5, "b": 3}))
    (array([1.]), {'a': 1.5, 'b': None})
    """
    torch = _torch()
    return _dropped(map_leaves(lambda x, path: x if _leaf(torch, x, path, None)[1] else _STATIC, tuple(args)))


def _names(fn: Callable[..., Any], n: int) -> list[str]:
    """What the arguments are called."""
    try:
        params = list(inspect.signature(fn).parameters.values())
    except (TypeError, ValueError):
        params = []
    names = [p.name for p in params if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    rest = next((p.name for p in params if p.kind == p.VAR_POSITIONAL), "arg")
    return (names + [f"{rest}{i}" for i in range(len(names), n)])[:n]


def _input_name(name: str, path: str) -> str:
    """`x['a'][0]` as `x.a.0`."""
    return name + "".join(f".{part}" for part in re.findall(r"\['?([^\]]*?)'?\]", path))


# from PyTorch


def from_torch(module_or_fn: Any, *examples: Any, parameters: str = "constants", stop_gradient: str = "refuse") -> Program:
    """A program that computes what a PyTorch module or function computes.

    ``examples`` are arguments; their shapes and structure become the program's. See :mod:`crease._torch` for what is an input and what is static.

    >>> import torch
    >>> p = from_torch(lambda x: torch.relu(x).sum(), torch.zeros(3))
    >>> p(np.array([1.0, -2.0, 3.0]))
    np.float64(4.0)
    >>> p.grad(np.array([1.0, 0.0, 3.0]))
    array([1., 0., 1.])

    With ``parameters="inputs"`` the parameters are the first argument:

    >>> net = torch.nn.Linear(2, 1).double()
    >>> p = from_torch(net, torch.zeros(2), parameters="inputs")
    >>> p.params
    ['parameters', 'input']
    """
    torch = _torch()
    if parameters not in ("constants", "inputs"):
        raise CreaseError(f"parameters are `constants` or `inputs`, not `{parameters}`")
    if stop_gradient not in ("refuse", "identity"):
        raise CreaseError(f"stop_gradient is refuse or identity, not `{stop_gradient}`")
    owner, call = _owner(torch, module_or_fn)
    if parameters == "inputs" and owner is None:
        raise CreaseError("a function has no parameters of its own; give them as arguments, or make it a method of a module")
    exported, frame = _export(torch, owner, call, examples, _precision(torch, module_or_fn))
    make = lambda what, maxima: _Walk(torch, what, frame, _title(module_or_fn), parameters == "inputs", owner, maxima)  # noqa: E731
    if stop_gradient == "refuse":
        make(exported, Maxima()).refuse_stops()
    settled = _settled(torch, exported)

    return with_convention(lambda maxima: make(settled, maxima).program(), "torch")


def _owner(torch: Any, fn: Any) -> tuple[Any, Callable[..., Any]]:
    """The module that a function belongs to, and what is called."""
    if isinstance(fn, torch.nn.Module):
        return fn, fn
    if isinstance(getattr(fn, "__self__", None), torch.nn.Module):
        return fn.__self__, fn
    if not callable(fn):
        raise CreaseError(f"a module or a function is needed, got {type(fn).__name__}")
    return None, fn


def _title(fn: Any) -> str:
    name = getattr(fn, "__name__", type(fn).__name__)
    return re.sub(r"\W+", "_", name).strip("_") or "f"


def _export(torch: Any, owner: Any, call: Callable[..., Any], examples: Sequence[Any], precision: Any) -> tuple[Any, Any]:
    """Exports a shell around the function that takes the inputs one after the other, and gives its results likewise."""
    leaves: list[Any] = []

    def leaf(x: Any, path: str) -> Any:
        value, real = _leaf(torch, x, path, precision)
        if not real:
            return _Still(value)
        leaves.append(value)
        return len(leaves) - 1

    tree = map_leaves(leaf, tuple(examples))
    results: list[Any] = []

    class Shell(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            if owner is not None:
                self.inner = owner

        def forward(self, *inputs: Any) -> Any:
            args = map_leaves(lambda x, _: x.value if isinstance(x, _Still) else inputs[x], tree)
            flat: list[Any] = []

            def keep(y: Any, path: str) -> int:
                flat.append(y)
                return len(flat) - 1

            with _unchecked(torch):
                out = call(*args)
            results[:] = [map_leaves(keep, _plain_structure(out))]
            return tuple(flat)

    names = _names(call.forward if isinstance(call, torch.nn.Module) else call, len(examples))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return _compat.export(torch, Shell(), tuple(leaves), __file__, (_compat.folder(torch), _HERE)), _Frame(tree, names, results[-1])
    except CreaseError:
        raise
    except Exception as e:
        head = str(e).strip().partition("\n")[0]
        raise CreaseError(f"PyTorch could not export this: {type(e).__name__}: {head}") from e


def _unchecked(torch: Any) -> Any:
    """Functions of PyTorch that look at numbers to check them, which no export survives, without their checks."""
    functional = torch.nn.functional

    def gaussian_nll_loss(x: Any, target: Any, var: Any, full: bool = False, eps: float = 1e-6, reduction: str = "mean") -> Any:
        if isinstance(var, float):
            var = var * torch.ones_like(x)
        if var.size() != x.size() and x.size()[:-1] == var.size():
            var = var.unsqueeze(-1)
        var = torch.clamp(var, min=eps)
        loss = 0.5 * (torch.log(var) + (x - target) ** 2 / var)
        loss = loss + 0.5 * math.log(2 * math.pi) if full else loss
        return loss.mean() if reduction == "mean" else loss.sum() if reduction == "sum" else loss

    class Unchecked(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            if func is functional.gaussian_nll_loss:
                func = gaussian_nll_loss
            return func(*args, **(kwargs or {}))

    return Unchecked()


class _Frame(NamedTuple):
    """The structure of arguments, with places among the inputs for leaves, their names, and the structure of results."""

    tree: Any
    names: list[str]
    out: Any


class _Still:
    """What is static among the arguments."""

    def __init__(self, value: Any):
        self.value = value


def _plain_structure(out: Any) -> Any:
    """Results of PyTorch that are tuples with names of its own become tuples."""
    if isinstance(out, tuple) and type(out) is not tuple and type(out).__module__.startswith("torch"):
        return tuple(_plain_structure(x) for x in out)
    if isinstance(out, tuple) and not hasattr(out, "_fields"):
        return tuple(_plain_structure(x) for x in out)
    if isinstance(out, list):
        return [_plain_structure(x) for x in out]
    if isinstance(out, dict):
        return {k: _plain_structure(v) for k, v in out.items()}
    return out


def _settled(torch: Any, exported: Any) -> Any:
    """Decomposed as far as there are operators without a handler, and without mutation."""
    if not any(_unsettled(torch, gm) for gm in exported.graph_module.modules() if isinstance(gm, torch.fx.GraphModule)):
        return exported
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return _compat.decomposed(torch, exported, lambda target: _T.handler_name(target) is not None)
    except Exception as e:
        head = str(e).strip().partition("\n")[0]
        raise CreaseError(f"PyTorch could not decompose this: {type(e).__name__}: {head}") from e


def _unsettled(torch: Any, gm: Any) -> bool:
    """Whether a graph has operators without a handler that PyTorch may decompose, or that mutate what others see."""
    still: set[Any] = set()
    for node in gm.graph.nodes:
        if node.op == "placeholder":
            # parameters, buffers and constants; a parameter that is an input is taken for one, too
            if node.name.startswith(("p_", "b_", "c_", "obj_")):
                still.add(node)
            continue
        if node.op == "call_function" and all(n in still for n in node.all_input_nodes) and not _mutates(node):
            still.add(node)
            continue
        if node.op != "call_function" or not _compat.is_operator(torch, node.target):
            continue
        if _mutates(node) and not _rebindable(torch, node):
            return True
        if _T.handler_name(node.target) is None and not _compat.is_check(node.target):
            return True
    return False


def _mutates(node: Any) -> bool:
    schema = _compat.schema(node)
    return schema is not None and schema.is_mutable


def _aliases(node: Any) -> bool:
    """Whether a node is a view of its argument, or may be."""
    schema = _compat.schema(node)
    if schema is None:
        return node.op == "call_function"
    name = str(node.target)
    return any(r.alias_info is not None for r in schema.returns) or any(w in name for w in ("reshape", "contiguous", "flatten", ".to.", "expand_as"))


def _rebindable(torch: Any, node: Any) -> bool:
    """Whether an operator in place changes nothing but its own argument, so that a new value in its place is the same."""
    mutated = [a for a, s in zip(node.args, _compat.schema(node).arguments) if s.alias_info is not None and s.alias_info.is_write]
    if len(mutated) != 1 or mutated[0] is not node.args[0] or node.kwargs.get("out") is not None:
        return False
    target = mutated[0]
    if not isinstance(target, torch.fx.Node) or target.op == "call_function" and _aliases(target):
        return False
    if any(_aliases(user) and user is not node for user in target.users):
        return False
    return not any(_aliases(user) for user in node.users)


class _Walk:
    """Writes a graph into a builder."""

    def __init__(self, torch: Any, exported: Any, frame: _Frame, title: str, parameters: bool, owner: Any, maxima: Maxima):
        self.torch, self.exported, self.frame, self.owner = torch, exported, frame, owner
        self.with_parameters = parameters
        self.maxima = maxima
        self.b = Recording(title, maxima)
        self.place: str | None = None
        self._outside = (_compat.folder(torch), _HERE)

    def refuse_stops(self) -> None:
        """An error if PyTorch's tape stops where the derivative does not."""
        found = first_stop(self.torch, self.exported, self.with_parameters)
        if found is None:
            return
        node, name = found
        self._origin(node)
        why = (
            "what is stopped here has a part in the result, so that PyTorch's gradient is not that of this function; "
            "stop_gradient=\"identity\" imports the function with its true derivative"
        )
        raise Unsupported(name, self.place, supported(), why, _SEE)

    def program(self) -> Program:
        ep = self.exported
        kinds = self.torch.export.graph_signature.InputKind
        specs = {spec.arg.name: spec for spec in ep.graph_signature.input_specs}
        nodes = [n for n in ep.graph.nodes if n.op == "placeholder"]
        env: dict[Any, Any] = {}
        params = {}
        if self.with_parameters:
            shared = {id(p): name for name, p in self.owner.named_parameters()}
            for name, p in self.owner.named_parameters():
                handle = self.b.input(f"parameters.{name}", list(p.shape))
                params[name] = Value(self.b, handle)
        tree, args, params_names = self._inputs()
        reals = iter(args)
        later = []
        for node in nodes:
            spec = specs[node.name]
            if spec.kind == kinds.USER_INPUT:
                env[node] = Value(self.b, next(reals))
                continue
            later.append((node, spec))
        for node, spec in later:
            target = spec.target
            known = ep.state_dict.get(target, ep.constants.get(target))
            if spec.kind == kinds.PARAMETER and self.with_parameters:
                original = dict(self.owner.named_parameters(remove_duplicate=False)).get(target.removeprefix("inner."))
                name = shared.get(id(original), target.removeprefix("inner."))
                if name in params:
                    env[node] = params[name]
                    continue
            if isinstance(known, self.torch.Tensor):
                known = known.detach().cpu().clone() if spec.kind == kinds.BUFFER else known.detach().cpu()
            env[node] = known
        outputs = self.graph(ep.graph_module, env)
        wanted = self.torch.export.graph_signature.OutputKind.USER_OUTPUT
        flat = [x for x, spec in zip(outputs, ep.graph_signature.output_specs) if spec.kind == wanted]
        self.place = None
        self.b.origin()
        out = map_leaves(lambda i, path: self._result(flat[i], path), self.frame.out)
        if self.with_parameters:
            first = {name: v.handle for name, v in params.items()}
            return self.b.finish(out, (first, *tree), ["parameters", *params_names])
        return self.b.finish(out, tree, params_names)

    def _inputs(self) -> tuple[Any, list[int], list[str]]:
        """Declares the inputs: the tree of their handles, the handles, the names of arguments."""
        shapes = iter(n.meta["val"].shape for n in self._user_inputs())
        handles: list[int] = []
        taken = {"parameters"} if self.with_parameters else set()
        trees, names = [], []
        for name, tree in zip(self.frame.names, self.frame.tree):
            if tree is None or isinstance(tree, _Still):
                continue
            while name in taken:
                name += "_"
            taken.add(name)

            def declare(x: Any, path: str, name: str = name) -> Any:
                if isinstance(x, _Still):
                    return None
                shape = [int(n) for n in next(shapes)]
                if 0 in shape:
                    raise CreaseError(f"{name}{path} has no elements: crease has no arrays without elements")
                handles.append(self.b.input(_input_name(name, path), shape))
                return handles[-1]

            trees.append(map_leaves(declare, tree))
            names.append(name)
        return tuple(trees), handles, names

    def _user_inputs(self) -> list[Any]:
        sig = self.exported.graph_signature
        kind = self.torch.export.graph_signature.InputKind.USER_INPUT
        wanted = [s.arg.name for s in sig.input_specs if s.kind == kind]
        by_name = {n.name: n for n in self.exported.graph.nodes if n.op == "placeholder"}
        return [by_name[n] for n in wanted]

    def _result(self, x: Any, path: str) -> int:
        if isinstance(x, _T.Refused):
            raise CreaseError(x.why)
        if isinstance(x, _T.Masked):
            raise CreaseError(f"a result{path and ' ' + path} of the program is infinite where it is masked")
        if isinstance(x, self.torch.Tensor):
            x = _array(x)
        return ops.lift(self.b, x).handle

    # nodes

    def graph(self, gm: Any, env: dict[Any, Any]) -> list[Any]:
        """Runs a graph whose inputs are in `env`; the outputs, flat."""
        used = _used(gm)
        for node in gm.graph.nodes:
            if node.op == "output":
                get = lambda x: env[x] if isinstance(x, self.torch.fx.Node) else x  # noqa: E731
                found = node.args[0]
                return [get(x) for x in (found if isinstance(found, (list, tuple)) else [found])]
            if node.op == "get_attr":
                value = gm
                for part in node.target.split("."):
                    value = getattr(value, part)
                env[node] = value.detach().cpu() if isinstance(value, self.torch.Tensor) else value
            elif node.op == "call_function" and node in used:
                self._origin(node)
                env[node] = self._call(node, env)
                if _mutates(node) and isinstance(node.args[0], self.torch.fx.Node):
                    env[node.args[0]] = env[node]
            elif node.op not in ("placeholder", "call_function"):
                raise Unsupported(f"{node.op} {node.target}", self.place, supported(), see=_SEE)
        raise CreaseError("a graph of PyTorch without an output")

    def _origin(self, node: Any) -> None:
        """Says where what follows comes from: the user's line, and the path of the layer or the derivative of the user's own that it is under."""
        file, line = self._line(node)
        layer = _compat.layer_of(node).removeprefix("inner.")
        layer = "" if layer == "inner" else layer
        self.place = f"{file}:{line}" if file else layer or None
        own = _compat.derivative_of_the_user(node)
        self.b.origin(file, line, f"autograd.Function {own}" if own else layer or None)

    def _line(self, node: Any) -> tuple[str | None, int]:
        for file, line in _compat.lines(node):
            if not os.path.abspath(file).startswith(self._outside):
                return file, line
        return None, 0

    def _call(self, node: Any, env: dict[Any, Any]) -> Any:
        args = _mapped(node.args, env, self.torch)
        kwargs = _mapped(node.kwargs, env, self.torch)
        target = node.target
        if target is operator.getitem:
            found = args[0][args[1]]
            return self._checked(node, found.make(), node.meta.get("val")) if isinstance(found, _T.Later) else found
        if _compat.runs_graphs(self.torch, target):
            return self._higher(node, args, kwargs)
        computed = _computed((args, kwargs))
        if not computed:
            return self._fold(node, args, kwargs)
        for x in computed:
            if isinstance(x, _T.Refused):
                raise self._refusal(node, x.why)
        if not _compat.is_operator(self.torch, target):
            raise self._refusal(node, None)
        if _compat.is_check(target):
            return None
        if str(target) == "aten.sym_size.int":
            return args[0].shape[args[1]]
        name = _T.handler_name(target)
        if name is None:
            raise self._refusal(node, "it is random" if _compat.is_random(self.torch, target) else None)
        if name not in _T.TAKES_MASKED and any(isinstance(x, _T.Masked) for x in computed):
            raise self._refusal(node, "it gets a value that is infinite where it is masked")
        for k in ("dtype", "layout", "device", "pin_memory", "memory_format", "non_blocking"):
            kwargs.pop(k, None)
        if "as_strided" in name and not _straight(node.args[0]):
            raise self._refusal(node, "it reads the memory of a tensor that is a view of another")
        args, kwargs = _arrays(self.torch, args), _arrays(self.torch, kwargs)
        val = node.meta.get("val")
        where = (_T.At(val, _compat.functional(self.torch, target)),) if name in _T.NEEDS_PLACE else ()
        try:
            out = _HANDLERS[name](*where, *args, **kwargs)
        except Unsupported:
            raise
        except CreaseError as e:
            raise self._refusal(node, str(e)) from e
        return self._checked(node, out, val)

    def _checked(self, node: Any, out: Any, val: Any) -> Any:
        """Known results as tensors; shapes must be those that PyTorch has."""
        if isinstance(out, (list, tuple)):
            return [self._checked(node, x, v) for x, v in zip(out, val)]
        if isinstance(out, (_T.Refused, _T.Later)) or not isinstance(val, self.torch.Tensor):
            return out
        if not isinstance(out, (Value, _T.Masked)):
            out = self.torch.as_tensor(np.array(out)).to(val.dtype)
        # sizes that PyTorch does not know before a run, such as that of a known mask, are known here
        if tuple(out.shape) != tuple(n if isinstance(n, int) else m for n, m in zip(val.shape, out.shape)) or len(val.shape) != len(out.shape):
            raise CreaseError(f"{node.target} has the shape {tuple(val.shape)} in PyTorch, and {tuple(out.shape)} here; this is a defect of crease")
        return out

    def _refusal(self, node: Any, why: str | None) -> Unsupported:
        return Unsupported(_compat.written(node), self.place, supported(), why=why, see=None if why else _SEE)

    def _fold(self, node: Any, args: Any, kwargs: Any) -> Any:
        """What is known is computed by PyTorch."""
        target = node.target
        if _compat.is_random(self.torch, target) and not _quiet(target, args):
            raise self._refusal(node, "it is random")
        if _compat.is_check(target):
            return None
        if _mutates(node):
            args = [x.clone() if isinstance(x, self.torch.Tensor) else x for x in args]
        if "device" in kwargs:
            kwargs["device"] = "cpu"
        with self.torch.no_grad():
            out = target(*args, **kwargs)
        if ".empty" in str(target) or "new_empty" in str(target):
            # what nobody has written yet
            out = out.fill_(float("nan")) if out.is_floating_point() else out.zero_()
        return out

    # operators that run graphs

    def _higher(self, node: Any, args: Any, kwargs: Any) -> Any:
        name = node.target.name()
        inside = _compat.wrapped(name, args)
        if inside is not None:
            return self._inline(*inside)
        if name == "cond":
            condition, yes, no, operands = args
            if not isinstance(condition, Value):
                return self._inline(yes if bool(condition) else no, operands)
            return self._branch(condition, yes, no, operands)
        raise Unsupported(f"higher_order.{name}", self.place, supported(), see=_SEE)

    def _inline(self, gm: Any, args: Sequence[Any]) -> list[Any]:
        inputs = [n for n in gm.graph.nodes if n.op == "placeholder"]
        return self.graph(gm, dict(zip(inputs, args)))

    def _branch(self, condition: Value, yes: Any, no: Any, operands: Sequence[Any]) -> list[Any]:
        """A choice that the inputs make: each branch is a program, and only one runs."""
        if any(isinstance(x, (_T.Masked, _T.Refused)) for x in operands):
            raise CreaseError("a masked value goes into a branch of torch.cond")
        values = [x for x in operands if isinstance(x, Value)]
        outer, programs = self.b, []
        try:
            for title, gm in (("yes", yes), ("no", no)):
                self.b = Recording(title, self.maxima)
                handles = [self.b.input(f"x{i}", list(v.shape)) for i, v in enumerate(values)]
                inside = iter(Value(self.b, h, v.truth) for h, v in zip(handles, values))
                out = self._inline(gm, [next(inside) if isinstance(x, Value) else x for x in operands])
                programs.append(self.b.finish([self._result(x, "") for x in out]))
        finally:
            self.b = outer
        handle = ops.reshape(ops.truth(condition), []).handle
        found = outer.select([handle], programs, [v.handle for v in values])
        return [Value(outer, h) for h in found]


def _used(gm: Any) -> set[Any]:
    """The nodes that results depend on: not those that are only checked."""
    used: set[Any] = set()
    for node in reversed(gm.graph.nodes):
        if node.op == "output" or node.op == "call_function" and (_mutates(node) or node in used) and not _compat.is_check(node.target):
            used.add(node)
            used.update(node.all_input_nodes)
    return used


def _straight(node: Any) -> bool:
    """Whether a tensor lies in memory in the order of its numbers, from the beginning."""
    val = node.meta["val"]
    return val.is_contiguous() and val.storage_offset() == 0


def _quiet(target: Any, args: Any) -> bool:
    """Whether an operator that may be random is not: dropout that is switched off."""
    return "dropout" in str(target) and (args[1] == 0 or not args[2])


def _mapped(x: Any, env: dict[Any, Any], torch: Any) -> Any:
    """Arguments of a node with what they stand for."""
    if isinstance(x, torch.fx.Node):
        return env[x]
    if isinstance(x, (list, tuple)):
        return [_mapped(v, env, torch) for v in x]
    if isinstance(x, dict):
        return {k: _mapped(v, env, torch) for k, v in x.items()}
    return x


def _computed(x: Any) -> list[Any]:
    """What among arguments depends on the inputs."""
    if isinstance(x, (list, tuple)):
        return [v for part in x for v in _computed(part)]
    if isinstance(x, dict):
        return [v for part in x.values() for v in _computed(part)]
    return [x] if isinstance(x, (Value, _T.Masked, _T.Refused)) else []


def _array(t: Any) -> np.ndarray:
    """A known tensor as an array, floats in double precision."""
    import torch

    t = t.detach()
    if t.is_complex():
        raise CreaseError("complex numbers are not expressed")
    return (t.to(torch.float64) if t.is_floating_point() else t).numpy(force=True)


def _arrays(torch: Any, x: Any) -> Any:
    if isinstance(x, torch.Tensor):
        return _array(x)
    if isinstance(x, (list, tuple)):
        return [_arrays(torch, v) for v in x]
    if isinstance(x, dict):
        return {k: _arrays(torch, v) for k, v in x.items()}
    return x


# PyTorch's own gradient


def gradient(module_or_fn: Any, args: Sequence[Any], parameters: str = "constants") -> Any:
    """What PyTorch returns for the gradient, in the structure of :func:`arguments`: a tuple unless there is one argument.

    Zeros where nothing depends on an argument. With ``parameters="inputs"`` the first of ``args`` is the dict of parameters.

    >>> import torch
    >>> gradient(lambda x: torch.relu(x).sum(), (np.array([1.0, 0.0, -1.0]),))
    array([1., 0., 0.])
    """
    torch = _torch()
    precision = _precision(torch, module_or_fn)
    reals: list[tuple[Any, Any]] = []

    def leaf(x: Any, path: str) -> Any:
        value, real = _leaf(torch, x, path, precision)
        if not real:
            return value
        value = value.clone().requires_grad_(True)
        reals.append((value, x))
        return value

    given = map_leaves(leaf, tuple(args))
    with torch.enable_grad():
        if parameters == "inputs":
            owner, call = _owner(torch, module_or_fn)
            if call is not owner:
                raise CreaseError("the gradient by parameters is of a module, not of one of its methods")
            out = torch.func.functional_call(owner, given[0], tuple(given[1:]))
        else:
            out = module_or_fn(*given)
        if not isinstance(out, torch.Tensor) or out.numel() != 1:
            raise CreaseError("a gradient is of one number; this function returns something else")
        if not out.requires_grad:
            found = [None] * len(reals)
        else:
            try:
                found = torch.autograd.grad(out.reshape(()), [t for t, _ in reals], allow_unused=True)
            except RuntimeError as e:
                raise CreaseError(f"PyTorch has no gradient: {str(e).partition(chr(10))[0]}") from e
    results = iter(
        _like(np.zeros(tuple(t.shape)) if g is None else _array(g), x) for (t, x), g in zip(reals, found)
    )
    parts = _dropped(map_leaves(lambda x, path: next(results) if _leaf(torch, x, path, None)[1] else _STATIC, tuple(args)))
    return parts[0] if len(parts) == 1 else parts


def _like(g: np.ndarray, x: Any) -> Any:
    """In the precision of an argument; a number for a number."""
    dtype = np.float64
    name = str(getattr(x, "dtype", "float64"))
    if name.endswith(("float32", "float16")):
        dtype = np.float32
    return g.astype(dtype)[()]


def ties_table() -> list[tuple[str, str, Any, Any, str]]:
    """What PyTorch returns at the kinks of its operations, and what the preset ``torch`` returns: see :mod:`crease._torch_ties`."""
    from ._torch_ties import ties_table

    return ties_table()
