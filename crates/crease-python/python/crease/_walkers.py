"""Whose a function is, and who reads it: the way from a function of NumPy, JAX or PyTorch to a program that is called as the function is.

A walker makes a program of what is real among the arguments. What is not (labels, sizes, flags) is *still*: the program keeps the example's, and a call may leave it out or give it again, but not
change it. Frameworks are found by arrays, modules and the code of the function, and imported only if they are asked for.
"""

from __future__ import annotations

import functools
import inspect as _inspect
import sys
import types
from typing import Any, Callable, Sequence

import numpy as np

from ._crease import CreaseError, Program
from ._tree import Still, leaves_of, map_leaves

Static = Sequence[Any]


def framework(fn: Any, args: tuple[Any, ...]) -> str | None:
    """``jax``, ``torch`` or None: whose function or arrays these are, without importing either.

    >>> framework(np.abs, (1.0,)) is None
    True
    """
    torch = sys.modules.get("torch")
    leaves = leaves_of(list(args))
    of = lambda x: (getattr(type(x), "__module__", None) or "").split(".")[0]  # noqa: E731
    if torch is not None and hasattr(torch, "nn") and isinstance(fn, torch.nn.Module) or any(of(x) == "torch" for x in leaves):
        return "torch"
    if any(of(x) in ("jax", "jaxlib") for x in leaves):
        return "jax"
    return _named_by(fn, 0)


def _named_by(fn: Any, depth: int) -> str | None:
    """The framework whose function it is, or that its code names."""
    for _ in range(32):
        owner = getattr(fn, "__self__", None)
        for thing in (type(fn), fn, None if isinstance(owner, types.ModuleType) else type(owner)):
            root = (getattr(thing, "__module__", None) or "").split(".")[0]
            if root in ("jax", "jaxlib"):
                return "jax"
            if root == "torch":
                return "torch"
        if isinstance(fn, functools.partial):
            fn = fn.func
        elif hasattr(fn, "__wrapped__"):
            fn = fn.__wrapped__
        else:
            break
    code = getattr(fn, "__code__", None)
    if code is None and not isinstance(fn, type):
        fn = getattr(type(fn), "__call__", None)
        code = getattr(fn, "__code__", None)
    if code is None:
        return None
    try:
        inside = dict(_inspect.getclosurevars(fn).nonlocals)
    except (TypeError, ValueError):
        inside = {}
    found = []
    for name in _names(code):
        thing = inside.get(name, getattr(fn, "__globals__", {}).get(name))
        if isinstance(thing, types.ModuleType):
            found.append(thing.__name__.split(".")[0])
        elif thing is not fn and depth < 3 and (isinstance(thing, types.FunctionType) or type(thing).__module__.split(".")[0] in ("jax", "jaxlib", "torch")):
            found.append(_named_by(thing, depth + 1))
    return next((f for f in ("torch", "jax") if f in found), None)


def _names(code: types.CodeType) -> list[str]:
    """The names that a code and those inside of it look up outside."""
    out = [*code.co_names, *code.co_freevars]
    for c in code.co_consts:
        if isinstance(c, types.CodeType):
            out.extend(_names(c))
    return out


def walker(fn: Any, args: tuple[Any, ...]) -> Callable[..., Program]:
    """Who reads a function: the framework whose arrays or modules it has, else NumPy."""
    from ._trace import trace

    return {"jax": from_jax, "torch": from_torch, None: trace}[framework(fn, args)]


def from_jax(fn: Callable[..., Any], *examples: Any, static: Static | str | int = (), stop_gradient: str = "refuse", name: str | None = None) -> Program:
    """A program from a function of JAX, at the shapes of the examples. JAX is imported now, and must be installed.

    ``static`` names arguments (or counts them) that keep the numbers of the example, such as labels and sizes; arguments of integers and truth values are static unless all are. A
    call of the program may give them again, or leave them out. ``stop_gradient="identity"`` imports ``stop_gradient(x)`` as x, where the true derivative is wanted and not JAX's.
    """
    from ._jax import from_jax as walk

    places = jax_static(fn, examples, static)
    program = walk(fn, *examples, static=tuple(places), stop_gradient=stop_gradient, name=name)
    return calling(program, [Still(x) if i in places else None for i, x in enumerate(examples)], fn) if places else program


def jax_static(fn: Callable[..., Any], examples: Sequence[Any], static: Static | str | int = ()) -> list[int]:
    """Which arguments of a function of JAX are closed over, counted from 0: those that are named, and those of integers, unless there are no others."""
    from ._jax import _parameter_names, _static_places

    named = _static_places(static, _parameter_names(fn, len(examples)))
    whole = {i for i, x in enumerate(examples) if i not in named and (kinds := [_kind(leaf) for leaf in leaves_of(x)]) and all(k in "iub" for k in kinds)}
    return sorted(named | whole) if len(named | whole) < len(examples) else sorted(named)


def _kind(x: Any) -> str:
    """The kind of numbers that a leaf holds, as NumPy calls it; ``O`` for what is none."""
    if isinstance(x, (bool, int, float, complex)):
        return {bool: "b", int: "i", float: "f", complex: "c"}.get(type(x), "O")
    dtype = getattr(x, "dtype", None)
    return getattr(dtype, "kind", "O") if dtype is not None else "O"


def from_torch(module_or_fn: Callable[..., Any], *examples: Any, parameters: str = "constants") -> Program:
    """A program from a module or a function of PyTorch, at the shapes of the examples. PyTorch is imported now, and must be installed.

    What is no float among the examples (integer tensors, numbers that are ints, strings) is part of the program; a call may give it again, or leave it out. With ``parameters="inputs"`` the
    parameters of a module are the first argument, a dict by name.
    """
    from ._torch import from_torch as walk

    program = walk(module_or_fn, *examples, parameters=parameters)
    frame: list[Any] = [x if _holds_a_float(x) else Still(x) for x in examples]
    if not any(isinstance(f, Still) for f in frame) and all(_is_float(leaf) for leaf in leaves_of(list(examples))):
        return program
    frame = [x if isinstance(x, Still) else map_leaves(lambda leaf, _: None if _is_float(leaf) else Still(leaf), x) for x in frame]
    return calling(program, [None] * (parameters == "inputs") + frame, module_or_fn)


def _is_float(x: Any) -> bool:
    """Whether PyTorch would take a leaf for real numbers."""
    if hasattr(x, "is_floating_point"):
        return bool(x.is_floating_point())
    return isinstance(x, (float, np.ndarray, np.generic)) and np.asarray(x).dtype.kind == "f" or not isinstance(x, (int, str, bytes)) and _kind(x) == "f"


def _holds_a_float(x: Any) -> bool:
    """Whether an argument stays one: structures do, and leaves of real numbers."""
    return isinstance(x, (dict, list, tuple)) or x is not None and _is_float(x)


def calling(program: Program, frame: Sequence[Any], fn: Any) -> Program:
    """The program with the arguments of a function: where the frame has :class:`Still`, something stands still; elsewhere the arguments of the program follow one another."""
    taken = [name for name in program.params]
    names = parameter_names(getattr(fn, "forward", fn), len(frame))
    free = iter(taken)
    return program.calling([n if isinstance(f, Still) else next(free, n) for n, f in zip(names, frame)], tuple(frame))


def parameter_names(fn: Any, n: int) -> list[str]:
    """What the first n arguments of a function are called, as far as that is known."""
    try:
        kinds = (_inspect.Parameter.POSITIONAL_ONLY, _inspect.Parameter.POSITIONAL_OR_KEYWORD)
        names = [p.name for p in _inspect.signature(fn).parameters.values() if p.kind in kinds]
    except (TypeError, ValueError):
        names = []
    return [names[i] if i < len(names) else f"arg{i}" for i in range(n)]


def static_places(static: Static | str | int, fn: Any, n: int) -> list[int]:
    """Which of n arguments are meant by names and places."""
    names = parameter_names(fn, n)
    out = set()
    for s in [static] if isinstance(static, (str, int)) else static:
        if isinstance(s, str) and s in names:
            out.add(names.index(s))
        elif isinstance(s, int) and -n <= s < n:
            out.add(s % n)
        else:
            raise CreaseError(f"there is no argument {s!r}; there are {', '.join(names)}")
    return sorted(out)
