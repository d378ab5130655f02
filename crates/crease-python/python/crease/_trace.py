"""Programs from NumPy code: a function is run once on proxies, by NumPy's own protocols, and what it does is written down.

``np.maximum(x, 0).sum()``, operators, indices, ``@``, and what else :mod:`crease._numpy` lists just work. What is not known, a parameter of a known function included, is refused with its name and the
line. What depends on numbers that are not known yet cannot decide which code runs: ``if x > 0`` raises an error that says so, with the line. ``y += 1`` changes y as in NumPy, and is refused where
another array shares its numbers.
"""

from __future__ import annotations

import os
import sys
from typing import Any, Callable

import numpy as np

from . import _numpy
from . import _ops as ops
from ._crease import Builder, CreaseError, Program
from ._numpy import FUNCTIONS, UFUNCS, VIEWS, Refused
from ._tree import Still, leaves_of, map_leaves
from ._unsupported import UnsupportedError
from ._walkers import Static, calling, parameter_names, static_places

_HERE = os.path.dirname(os.path.abspath(__file__)) + os.sep
_NUMPY = os.path.dirname(os.path.abspath(np.__file__)) + os.sep


def _users_line() -> tuple[str | None, int]:
    """The line of the code that called, outside of this package and of NumPy."""
    frame = sys._getframe(1)
    while frame is not None:
        file = frame.f_code.co_filename
        if not file.startswith((_HERE, _NUMPY)):
            return file, frame.f_lineno
        frame = frame.f_back
    return None, 0


class Tracer(ops.Value):
    """Stands for an array whose numbers are not known yet."""

    __slots__ = ("shared",)
    __array_priority__ = 1000

    def __init__(self, builder: Builder, handle: int, truth: bool = False):
        super().__init__(builder, handle, truth)
        # whether another array may share the numbers
        self.shared = False

    @property
    def dtype(self) -> np.dtype[Any]:
        """Floats, or truth values."""
        return np.dtype(bool) if self.truth else np.dtype(np.float64)

    # what NumPy asks

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *args: Any, **kwargs: Any) -> Any:
        name = ufunc.__name__
        what = f"np.{name}" if method == "__call__" else f"np.{name}.{method}"
        if kwargs.get("out") not in (None, (None,)):
            raise _unsupported(what, "it cannot write into an array (out=) while a program is traced")
        kwargs.pop("out", None)
        if method == "reduce":
            return _traced(what, _numpy.reduce, name, *args, **kwargs)
        if method == "accumulate":
            return _traced(what, _numpy.accumulate, name, *args, **kwargs)
        unusual = {k for k, v in kwargs.items() if not (k == "dtype" and _numpy.is_real(v) or k == "casting" or k == "where" and v is True or k == "subok")}
        if unusual:
            raise _unsupported(what, f"{', '.join(sorted(unusual))} is not known here")
        if method == "outer" and name in UFUNCS:
            x, y = args
            return _traced(what, UFUNCS[name], ops.reshape(x, ops.shape_of(x) + (1,) * len(ops.shape_of(y))), y)
        if method != "__call__" or name not in UFUNCS:
            raise _unsupported(what)
        return _traced(what, UFUNCS[name], *args)

    def __array_function__(self, function: Callable[..., Any], types: Any, args: Any, kwargs: Any) -> Any:
        return _function(function, *args, **kwargs)

    def __array__(self, *_: Any, **__: Any) -> Any:
        file, line = _users_line()
        raise CreaseError(f"{file}:{line}: the numbers of an argument are asked for while the program is traced; they are not known yet (np.stack puts values together where np.array does not, and a list of numbers is a structure: give np.array([...]) for an array)")

    def __bool__(self) -> bool:
        file, line = _users_line()
        raise CreaseError(f"{file}:{line}: this decision needs numbers that are not known while a program is traced; use np.where(condition, a, b)")

    def __float__(self) -> float:
        return self.__array__()

    __int__ = __index__ = __complex__ = __float__  # type: ignore[assignment]

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("_") and hasattr(np.ndarray, name):
            file, line = _users_line()
            raise AttributeError(f"{file}:{line}: `{name}` of an array is not known to crease.trace; crease.supported('numpy') lists what is")
        raise AttributeError(name)

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("a number has no length")
        return self.shape[0]

    def __iter__(self) -> Any:
        return (self[i] for i in range(len(self)))

    def __getitem__(self, key: Any) -> Any:
        out = _traced("indexing", ops.index, self, key)
        # what is picked by indices is a copy, and so is a single number
        keys = key if isinstance(key, tuple) else (key,)
        if isinstance(out, Tracer) and out.shape and all(isinstance(k, (int, np.integer, slice)) or k is None or k is Ellipsis for k in keys):
            self.shared = out.shared = True
        return out

    def __setitem__(self, key: Any, value: Any) -> None:
        raise _unsupported("x[...] = y", "arrays cannot be written into while a program is traced; make a new one, with np.where or np.concatenate")

    def __hash__(self) -> int:
        return id(self)

    def _become(self, operator: str, out: Any) -> Any:
        """``x op= y``: the array itself changes, as in NumPy; a number is replaced."""
        if not self.shape:
            return out
        if self.shared:
            raise _unsupported(f"x {operator}= y", f"another array may share these numbers; write x = x {operator} y if it does not")
        if out.shape != self.shape or self.truth and not out.truth:
            raise _unsupported(f"x {operator}= y", "the result does not fit into the array")
        self.handle, self.truth = out.handle, out.truth
        return self

    # operators

    def __add__(self, y: Any) -> Any: return _ufunc("add", self, y)
    def __radd__(self, y: Any) -> Any: return _ufunc("add", y, self)
    def __sub__(self, y: Any) -> Any: return _ufunc("subtract", self, y)
    def __rsub__(self, y: Any) -> Any: return _ufunc("subtract", y, self)
    def __mul__(self, y: Any) -> Any: return _ufunc("multiply", self, y)
    def __rmul__(self, y: Any) -> Any: return _ufunc("multiply", y, self)
    def __truediv__(self, y: Any) -> Any: return _ufunc("divide", self, y)
    def __rtruediv__(self, y: Any) -> Any: return _ufunc("divide", y, self)
    def __pow__(self, y: Any) -> Any: return _ufunc("power", self, y)
    def __rpow__(self, y: Any) -> Any: return _ufunc("power", y, self)
    def __matmul__(self, y: Any) -> Any: return _ufunc("matmul", self, y)
    def __rmatmul__(self, y: Any) -> Any: return _ufunc("matmul", y, self)
    def __floordiv__(self, y: Any) -> Any: return _ufunc("floor_divide", self, y)
    def __rfloordiv__(self, y: Any) -> Any: return _ufunc("floor_divide", y, self)
    def __mod__(self, y: Any) -> Any: return _ufunc("remainder", self, y)
    def __rmod__(self, y: Any) -> Any: return _ufunc("remainder", y, self)
    def __and__(self, y: Any) -> Any: return _ufunc("bitwise_and", self, y)
    def __rand__(self, y: Any) -> Any: return _ufunc("bitwise_and", y, self)
    def __or__(self, y: Any) -> Any: return _ufunc("bitwise_or", self, y)
    def __ror__(self, y: Any) -> Any: return _ufunc("bitwise_or", y, self)
    def __xor__(self, y: Any) -> Any: return _ufunc("bitwise_xor", self, y)
    def __rxor__(self, y: Any) -> Any: return _ufunc("bitwise_xor", y, self)
    def __iadd__(self, y: Any) -> Any: return self._become("+", _ufunc("add", self, y))
    def __isub__(self, y: Any) -> Any: return self._become("-", _ufunc("subtract", self, y))
    def __imul__(self, y: Any) -> Any: return self._become("*", _ufunc("multiply", self, y))
    def __itruediv__(self, y: Any) -> Any: return self._become("/", _ufunc("divide", self, y))
    def __ipow__(self, y: Any) -> Any: return self._become("**", _ufunc("power", self, y))
    def __ifloordiv__(self, y: Any) -> Any: return self._become("//", _ufunc("floor_divide", self, y))
    def __imod__(self, y: Any) -> Any: return self._become("%", _ufunc("remainder", self, y))
    def __iand__(self, y: Any) -> Any: return self._become("&", _ufunc("bitwise_and", self, y))
    def __ior__(self, y: Any) -> Any: return self._become("|", _ufunc("bitwise_or", self, y))
    def __ixor__(self, y: Any) -> Any: return self._become("^", _ufunc("bitwise_xor", self, y))
    def __neg__(self) -> Any: return _ufunc("negative", self)
    def __pos__(self) -> Any: return _ufunc("positive", self)
    def __abs__(self) -> Any: return _ufunc("absolute", self)
    def __invert__(self) -> Any: return _ufunc("invert", self)
    def __lt__(self, y: Any) -> Any: return _ufunc("less", self, y)
    def __le__(self, y: Any) -> Any: return _ufunc("less_equal", self, y)
    def __gt__(self, y: Any) -> Any: return _ufunc("greater", self, y)
    def __ge__(self, y: Any) -> Any: return _ufunc("greater_equal", self, y)
    def __eq__(self, y: Any) -> Any: return _ufunc("equal", self, y)  # type: ignore[override]
    def __ne__(self, y: Any) -> Any: return _ufunc("not_equal", self, y)  # type: ignore[override]

    # methods of arrays: those of NumPy's functions, whose parameters they share

    @property
    def T(self) -> Any: return _function(np.transpose, self)
    @property
    def real(self) -> Any: return _function(np.real, self)
    @property
    def flat(self) -> Any: return _function(np.ravel, self)

    def sum(self, *a: Any, **k: Any) -> Any: return _function(np.sum, self, *a, **k)
    def mean(self, *a: Any, **k: Any) -> Any: return _function(np.mean, self, *a, **k)
    def prod(self, *a: Any, **k: Any) -> Any: return _function(np.prod, self, *a, **k)
    def max(self, *a: Any, **k: Any) -> Any: return _function(np.max, self, *a, **k)
    def min(self, *a: Any, **k: Any) -> Any: return _function(np.min, self, *a, **k)
    def all(self, *a: Any, **k: Any) -> Any: return _function(np.all, self, *a, **k)
    def any(self, *a: Any, **k: Any) -> Any: return _function(np.any, self, *a, **k)
    def var(self, *a: Any, **k: Any) -> Any: return _function(np.var, self, *a, **k)
    def std(self, *a: Any, **k: Any) -> Any: return _function(np.std, self, *a, **k)
    def argmax(self, *a: Any, **k: Any) -> Any: return _function(np.argmax, self, *a, **k)
    def argmin(self, *a: Any, **k: Any) -> Any: return _function(np.argmin, self, *a, **k)
    def argsort(self, *a: Any, **k: Any) -> Any: return _function(np.argsort, self, *a, **k)
    def cumsum(self, *a: Any, **k: Any) -> Any: return _function(np.cumsum, self, *a, **k)
    def cumprod(self, *a: Any, **k: Any) -> Any: return _function(np.cumprod, self, *a, **k)
    def clip(self, min: Any = None, max: Any = None, out: Any = None, **k: Any) -> Any: return _function(np.clip, self, min, max, out, **k)  # noqa: A002
    def round(self, *a: Any, **k: Any) -> Any: return _function(np.round, self, *a, **k)
    def dot(self, *a: Any, **k: Any) -> Any: return _function(np.dot, self, *a, **k)
    def swapaxes(self, *a: Any) -> Any: return _function(np.swapaxes, self, *a)
    def ravel(self, *a: Any, **k: Any) -> Any: return _function(np.ravel, self, *a, **k)
    def flatten(self, order: str = "C") -> Any: return _unshared(_function(np.ravel, self, order))
    def squeeze(self, *a: Any, **k: Any) -> Any: return _function(np.squeeze, self, *a, **k)
    def repeat(self, *a: Any, **k: Any) -> Any: return _function(np.repeat, self, *a, **k)
    def take(self, *a: Any, **k: Any) -> Any: return _function(np.take, self, *a, **k)
    def diagonal(self, *a: Any, **k: Any) -> Any: return _function(np.diagonal, self, *a, **k)
    def trace(self, *a: Any, **k: Any) -> Any: return _function(np.trace, self, *a, **k)
    def conj(self, *out: Any) -> Any: return _ufunc("conjugate", self, *out)
    conjugate = conj
    def copy(self, order: str = "C") -> Any: return _function(np.copy, self)
    def tolist(self) -> Any: return [x.tolist() if x.ndim else x for x in self] if self.ndim else self
    def reshape(self, *shape: Any, order: str = "C") -> Any: return _function(np.reshape, self, shape[0] if len(shape) == 1 and np.iterable(shape[0]) else shape, order=order)
    def transpose(self, *axes: Any) -> Any: return _function(np.transpose, self, (axes[0] if len(axes) == 1 and (axes[0] is None or np.iterable(axes[0])) else axes) or None)

    def astype(self, dtype: Any, **_: Any) -> Any:
        if np.dtype(dtype).kind == "f":
            return _traced("astype", lambda x: ops.where(x, 1.0, 0.0) if x.truth else x, self)
        if np.dtype(dtype).kind == "b":
            return _traced("astype", ops.truth, self)
        if self.truth and np.dtype(dtype).kind in "iu":
            return _traced("astype", lambda x: ops.where(x, 1.0, 0.0), self)
        raise _unsupported("astype", f"a conversion to {np.dtype(dtype)} jumps; use np.floor or np.round, and mind that their derivative is 0")


def _ufunc(name: str, *args: Any) -> Any:
    return _traced(f"np.{name}", UFUNCS[name], *args)


def _function(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """A function of NumPy's that is no ufunc."""
    known = FUNCTIONS.get(function)
    module = (getattr(function, "__module__", None) or "numpy").replace("numpy", "np", 1)
    what = f"{module}.{function.__name__}"
    if known is None:
        raise _unsupported(what)
    out = _traced(what, known, *args, **kwargs)
    if function in VIEWS:
        for x in _numpy.values([*args, out]):
            x.shared = True
    return out


def _unshared(x: Any) -> Any:
    return _wrap(ops.Value(x.builder, x.handle, x.truth))


def _traced(what: str, f: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Does it, says which line it was, and wraps what comes out."""
    builder = ops.builder_of(*_numpy.values(args), *_numpy.values(kwargs.values()))
    builder.origin(*_users_line())
    try:
        return _wrap(f(*args, **kwargs))
    except Refused as e:
        raise _unsupported(what, str(e)) from e
    except (TypeError, ValueError, IndexError, KeyError, AttributeError, ZeroDivisionError) as e:
        if isinstance(e, CreaseError):
            raise
        raise _unsupported(what, f"{type(e).__name__}: {e}") from e


def _wrap(out: Any) -> Any:
    """Values become tracers, each a new one, so that none of them changes with another."""
    if isinstance(out, ops.Value):
        return Tracer(out.builder, out.handle, out.truth)
    return type(out)(map(_wrap, out)) if type(out) in (list, tuple) else out


def _unsupported(what: str, why: str | None = None) -> UnsupportedError:
    file, line = _users_line()
    return UnsupportedError(what, f"{file}:{line}", _numpy.names(), why, "crease.supported('numpy')" if why is None else None)


def known_names() -> list[str]:
    """The functions of NumPy that are known, by name."""
    return _numpy.names()


def input_name(parameter: str, path: str) -> str:
    """A name for an input of a program, made of a parameter and a path inside of it: letters, digits and underscores."""
    rest = "".join(c if c.isalnum() else "_" for c in path.replace("'", "").replace("]", "")).rstrip("_")
    name = (parameter + rest) if parameter.isidentifier() else "x" + rest
    return name if name.isascii() else "x" + rest.encode("ascii", "ignore").decode()


def declare(b: Builder, examples: tuple[Any, ...], params: list[str], value: Callable[..., Any], shape: Callable[[Any], Any] = np.shape) -> tuple[Any, Any]:
    """Declares an input for each leaf of the examples: the tree of handles, and the tree of values."""
    taken: set[str] = set()
    handles: list[Any] = []
    values: list[Any] = []
    for example, param in zip(examples, params):

        def one(leaf: Any, path: str, param: str = param) -> int:
            name = input_name(param, path)
            while name in taken:
                name += "_"
            taken.add(name)
            return b.input(name, list(shape(leaf)))

        tree = map_leaves(one, example)
        handles.append(tree)
    for tree in handles:
        values.append(map_leaves(lambda h, _: value(b, h), tree))
    return tuple(handles), tuple(values)


def trace(fn: Callable[..., Any], *examples: Any, static: Static | str | int = (), name: str | None = None) -> Program:
    """A program from a function of NumPy arrays, which is run once on proxies in the shapes of the examples.

    Examples, arguments and results may be nested dicts, lists and tuples. Kinks know the line they come from. ``static`` names arguments (or counts them) that keep what the example is,
    such as sizes, positions and flags; what holds no numbers (a text, a function) is static by itself. A call of the program may give them again, or leave them out.

    >>> import crease, numpy as np
    >>> p = crease.trace(lambda v: np.maximum(v, 0).sum() - v.max(), np.zeros(3))
    >>> p(np.array([1.0, -2.0, 3.0]))
    np.float64(1.0)
    >>> p.grad(np.array([1.0, -2.0, 3.0]))
    array([1., 0., 0.])
    """
    title: str = name or getattr(fn, "__name__", None) or "f"
    b = Builder(title if title.isidentifier() else "f")
    params = parameter_names(fn, len(examples))
    fixed = set(static_places(static, fn, len(examples))) | {i for i, x in enumerate(examples) if isinstance(x, (str, bytes)) or callable(x)}
    free = [i for i in range(len(examples)) if i not in fixed]
    for i in free:
        map_leaves(lambda leaf, path, i=i: _check_example(leaf, params[i] + path), examples[i])
    if not leaves_of([examples[i] for i in free]):
        raise CreaseError(f"no argument of `{title}` holds real numbers")
    handles, traced = declare(b, tuple(examples[i] for i in free), [params[i] for i in free], Tracer)
    whole = list(examples)
    for i, x in zip(free, traced):
        whole[i] = x
    result = fn(*whole)
    out = map_leaves(lambda x, path: _result(b, x, title, path), result)
    if not leaves_of(out):
        raise CreaseError(f"`{title}` returned nothing that could be the result of a program")
    program = b.finish(out, handles, [params[i] for i in free])
    return calling(program, [Still(x) if i in fixed else None for i, x in enumerate(examples)], fn) if fixed else program


def _result(b: Builder, x: Any, title: str, path: str) -> int:
    if not isinstance(x, ops.Value) and np.asarray(x).dtype.kind not in "fiub":
        raise CreaseError(f"`{title}` returned {type(x).__name__}{f' at {path}' if path else ''}: results are real numbers, and arrays of them")
    return ops.lift(b, x).handle


def _check_example(leaf: Any, name: str) -> None:
    a = np.asarray(leaf)
    if a.dtype.kind == "b":
        raise CreaseError(f"`{name}` holds truth values: arguments of a program are real numbers. Name it in static=, which keeps what the example is, or give 1.0 and 0.0")
    if a.dtype.kind not in "fiu":
        what = f"holds {a.dtype}" if hasattr(leaf, "dtype") else f"is a {type(leaf).__name__}"
        raise CreaseError(f"`{name}` {what}: examples are real numbers and arrays of them, nested in dicts, lists and tuples; name it in static= if it is none")
    if a.size == 0:
        raise CreaseError(f"`{name}` has no elements; crease has no such arrays")
