"""From JAX: a function becomes a program, equation by equation of its jaxpr.

What is imported is the function of real numbers that the jaxpr describes. Floats of 64, 32 and 16 bits (bfloat16 too) are real numbers; constants are taken exactly as JAX holds them,
and a cast between floats, ``reduce_precision`` included, is the identity. NaN and infinity are no real numbers: ``x != x`` is false, ``isfinite(x)`` true, and a constant that is not
finite may stand only where it is known what becomes of it, as in a softmax with a mask, or in a branch that is not taken.

Integers and truth values are indices, masks and counters: they are folded by NumPy, and by JAX itself where all that an equation needs is known; random numbers
with a known key are known. Arguments of the function must be floats. One that holds integers is named ``static``, and then closed over.

A derivative of your own (``custom_jvp``, ``custom_vjp``) is left out: the program is what the function computes, so that a gradient can be judged by it. That there is one is said by the layer of its equations,
``custom_vjp of NAME``. The program's selection is what JAX picks at kinks (:mod:`crease._ties`), so ``p.grad`` returns there what JAX returns: 0 for ``jax.nn.relu`` at 0, one half for ``jnp.maximum(x, 0)``, and the
first of equals in a window. ``stop_gradient`` of what drops out of the result (the shift in ``logsumexp`` and ``softmax``) is understood; elsewhere a
function with it has no derivative that is JAX's, and it is refused unless ``stop_gradient="identity"`` says that the true derivative is wanted.

JAX is imported when a function here is called, and not before.
"""

from __future__ import annotations

import inspect as _python
import math
import os
import sys
from typing import Any, Callable, Sequence

import numpy as np

from . import _jax_compat as _compat
from . import _jax_index, _jax_linear  # noqa: F401  they declare rules
from . import _jax_special as special
from . import _ops as ops
from ._crease import CreaseError, Program
from ._jax_rules import MOVES, RULES, choose
from ._jax_values import Base, Bounds, Partial, Shift, finite, is_known, pick, shape_of
from ._ops import Value
from ._ties import Maxima, Recording, with_convention
from ._tree import leaves_of, map_leaves
from ._unsupported import Unsupported

__all__ = ["Unsupported", "from_jax", "gradient", "is_jax", "supported", "ties_table", "value_and_gradient"]

_HERE = os.path.dirname(os.path.abspath(__file__)) + os.sep
_SEE = "crease.supported('jax')"
# how many equations a loop may become if it has to be written out
_MOST_UNROLLED = 100_000

_CONTROL = ("cond", "scan", "while", "stop_gradient", "iota")


def supported() -> list[str]:
    """The primitives of JAX that can be imported, in alphabetical order.

    >>> "conv_general_dilated" in supported()
    True
    """
    return sorted({*RULES, *_compat.CALLS, *_CONTROL} - {"run_state", "real"})


def is_jax(x: Any) -> bool:
    """Whether this is JAX's: an array of it, a function that it transformed, or arguments with such an array among them. Does not import JAX.

    >>> is_jax(np.zeros(3)), is_jax(lambda x: x)
    (False, False)
    """
    jax = sys.modules.get("jax")
    if jax is None or not hasattr(jax, "Array"):
        return False
    if callable(x) and not isinstance(x, type):
        seen = 0
        while x is not None and seen < 32:
            if type(x).__module__.split(".")[0] in ("jax", "jaxlib") or (getattr(x, "__module__", None) or "").split(".")[0] in ("jax", "jaxlib"):
                return True
            x, seen = getattr(x, "__wrapped__", getattr(x, "func", None)), seen + 1
        return False
    return any(isinstance(leaf, jax.Array) for leaf in leaves_of(x))


def _check_leaf(leaf: Any, name: str) -> None:
    kind = getattr(getattr(leaf, "dtype", None), "kind", None)
    if kind is None:
        kind = {bool: "b", int: "i", float: "f", complex: "c"}.get(type(leaf))
    if kind is None and hasattr(leaf, "dtype"):
        kind = np.asarray(leaf).dtype.kind
    name_of = str(getattr(leaf, "dtype", type(leaf).__name__))
    if kind == "f" or kind == "V" and name_of == "bfloat16":
        if 0 in np.shape(leaf):
            raise CreaseError(f"`{name}` has no elements; crease has no such arrays")
        return
    if kind in ("i", "u", "b"):
        where = name.split("[")[0]
        raise CreaseError(
            f"`{name}` holds {name_of}: arguments of a program are real numbers. Write 1.0 for 1, or close over it with static=({where!r},), "
            f"which keeps the numbers of the example"
        )
    raise CreaseError(f"`{name}` is a {name_of}: arguments are floats and arrays of floats, in dicts, lists and tuples")


def _parameter_names(fn: Callable[..., Any], n: int) -> list[str]:
    """What the first n arguments are called."""
    try:
        parameters = list(_python.signature(fn).parameters.values())
    except (TypeError, ValueError):
        parameters = []
    names: list[str] = []
    for q in parameters:
        if q.kind in (q.POSITIONAL_ONLY, q.POSITIONAL_OR_KEYWORD):
            names.append(q.name)
        elif q.kind is q.VAR_POSITIONAL:
            names.extend(f"{q.name}{i}" for i in range(n - len(names)))
    names = names[:n]
    names.extend(f"arg{i}" for i in range(len(names), n))
    return [name if names.index(name) == i else f"{name}_{i}" for i, name in enumerate(names)]


def _static_places(static: Sequence[Any] | str | int, names: list[str]) -> set[int]:
    """Which arguments are closed over."""
    out = set()
    for s in [static] if isinstance(static, (str, int)) else static:
        if isinstance(s, str):
            if s not in names:
                raise CreaseError(f"there is no argument `{s}`; there are {', '.join(names)}")
            out.add(names.index(s))
        elif -len(names) <= s < len(names):
            out.add(s % len(names))
        else:
            raise CreaseError(f"there is no argument {s}; there are {len(names)}")
    return out


def _without(fn: Callable[..., Any], examples: Sequence[Any], fixed: set[int]) -> tuple[Callable[..., Any], list[Any]]:
    """The function of the other arguments."""
    if not fixed:
        return fn, list(examples)
    rest = [i for i in range(len(examples)) if i not in fixed]

    def closed(*args: Any) -> Any:
        whole = list(examples)
        for i, a in zip(rest, args):
            whole[i] = a
        return fn(*whole)

    return closed, [examples[i] for i in rest]


def from_jax(fn: Callable[..., Any], *examples: Any, static: Sequence[Any] | str | int = (), stop_gradient: str = "refuse", name: str | None = None) -> Program:
    """The program of a JAX function, for arguments of the shapes of the examples.

    Arguments are numbers and arrays of floats in nested dicts, lists and tuples; the program takes them, and returns its results, in the same structure. ``static`` names
    arguments (or counts them) that are closed over with the numbers of the example, such as labels; the program does not take them. ``stop_gradient="identity"`` imports
    ``stop_gradient(x)`` as x, where it is not refused but the true derivative is wanted. See the module for what is a real number, and what is left out.

    >>> import jax, jax.numpy as jnp
    >>> p = from_jax(lambda x: jnp.sum(jax.nn.relu(x)), jnp.zeros(3))
    >>> p(np.array([1.0, -2.0, 3.0])), p.grad(np.array([1.0, -2.0, 3.0]))
    (np.float64(4.0), array([1., 0., 1.]))
    """
    import jax

    if stop_gradient not in ("refuse", "identity"):
        raise CreaseError(f"stop_gradient is refuse or identity, not `{stop_gradient}`")
    names = _parameter_names(fn, len(examples))
    fixed = _static_places(static, names)
    fn_of_rest, args = _without(fn, examples, fixed)
    names = [n for i, n in enumerate(names) if i not in fixed]
    for n, arg in zip(names, args):
        map_leaves(lambda leaf, path, n=n: _check_leaf(leaf, n + path), arg)
    leaves, treedef = jax.tree.flatten(tuple(args))
    numbered = _in_order_of(tuple(args), jax.tree.unflatten(treedef, list(range(len(leaves)))))
    order = leaves_of(numbered)
    if len(order) != len(leaves) or not all(isinstance(i, int) for i in order):
        raise CreaseError("arguments are nested dicts, lists and tuples; take other containers apart")
    closed, out_shape = jax.make_jaxpr(fn_of_rest, return_shape=True)(*args)

    title = name or getattr(fn, "__name__", "f")

    def walked(maxima: Maxima) -> Program:
        b = Recording(title if title.isidentifier() else "f", maxima)
        handles: dict[int, Value] = {}

        def declare(i: int, path: str) -> None:
            argument, _, rest = path[1:].partition("]")
            handles[i] = Value(b, b.input(names[int(argument)] + rest, list(np.shape(leaves[i]))))

        map_leaves(declare, numbered)
        walk = Walk(b, stop_gradient)
        results = walk.jaxpr(closed.jaxpr, closed.consts, [handles[i] for i in range(len(leaves))])
        out = jax.tree.unflatten(jax.tree.structure(out_shape), [walk.lifted(r).handle for r in results])
        return b.finish(
            map_leaves(lambda h, _: h, out),
            args=map_leaves(lambda i, _: handles[i].handle, numbered),
            params=names,
        )

    return with_convention(walked, "jax")


def _in_order_of(example: Any, tree: Any) -> Any:
    """A tree with the members of dicts in the order of the example; JAX sorts them."""
    if isinstance(example, dict) and isinstance(tree, dict):
        return {k: _in_order_of(example[k], tree[k]) for k in example}
    if isinstance(example, (list, tuple)) and isinstance(tree, (list, tuple)):
        parts = [_in_order_of(a, b) for a, b in zip(example, tree)]
        return type(tree)(*parts) if hasattr(tree, "_fields") else type(tree)(parts)
    return tree


def value_and_gradient(fn: Callable[..., Any], args: Sequence[Any], static: Sequence[Any] | str | int = ()) -> tuple[Any, Any]:
    """What JAX returns: the value, and the gradient as :func:`gradient` gives it."""
    import jax

    args = tuple(args)
    fixed = _static_places(static, _parameter_names(fn, len(args)))
    rest, free = _without(fn, args, fixed)
    if not free:
        raise CreaseError("there is no argument to differentiate by")
    try:
        value, found = jax.value_and_grad(rest, argnums=tuple(range(len(free))))(*free)
    except TypeError as e:
        raise CreaseError(f"JAX gives no gradient: {e}") from e
    to_numpy = lambda tree: jax.tree.map(lambda x: np.asarray(x)[()], tree)  # noqa: E731
    found = to_numpy(found)
    return to_numpy(value), found[0] if len(free) == 1 else found


def gradient(fn: Callable[..., Any], args: Sequence[Any], static: Sequence[Any] | str | int = ()) -> Any:
    """JAX's own gradient by all arguments that are not static, as NumPy arrays in their structure, and in the precision in which JAX computes: that of the only argument, or a
    tuple, as ``Program.grad`` has it.

    >>> gradient(lambda x, y: x * y, (2.0, 3.0))
    (np.float32(3.0), np.float32(2.0))
    """
    return value_and_gradient(fn, args, static)[1]


def ties_table() -> list[Any]:
    """What installed JAX returns at kinks, beside what crease's preset ``jax`` picks: see :mod:`crease._jax_ties`."""
    from ._jax_ties import ties_table as table

    return table()


# the walk


def _numpy_of(x: Any) -> Any:
    """As NumPy's, except for what it cannot hold: keys of random numbers."""
    try:
        return np.asarray(x)
    except (TypeError, ValueError):
        return x


class Walk:
    """Walks through jaxprs, and writes what it meets into one builder."""

    def __init__(self, builder: Recording, policy: str, parent: "Walk | None" = None):
        self.builder = builder
        self.policy = policy
        self.bounds = Bounds()
        self.library = _compat.library()
        self.place: tuple[str, int] | None = parent.place if parent else None
        # the derivative of the user's own that equations are under
        self.custom: str | None = parent.custom if parent else None
        # inside of what a library wrote, the line is that of the call
        self.fixed = parent.fixed if parent else False
        self.loose = False
        # stops that take nothing from a derivative
        self.passed: set[Any] = set()
        # the variables of the jaxpr at hand that somebody reads
        self.alive: set[Any] = set()
        self.mark()

    # places

    def mark(self) -> None:
        """Says where what follows comes from, and under which derivative of the user's own it is."""
        if self.place or self.custom:
            self.builder.origin(*(self.place or (None, 0)), self.custom)

    def _frame(self, eqn: Any) -> tuple[str, int] | None:
        best = None
        for file, line in _compat.frames(eqn):
            if file.startswith((self.library, _HERE)) or file.startswith("<frozen") or file.startswith(_STANDARD) and "site-packages" not in file:
                continue
            if "site-packages" not in file:
                return file, line
            best = best or (file, line)
        return best

    def at(self, eqn: Any) -> None:
        """Says where what follows comes from."""
        place = None if self.fixed else self._frame(eqn)
        if place and place != self.place:
            self.place = place
            self.mark()

    def unsupported(self, eqn: Any, why: str | None = None) -> Unsupported:
        """The error for an equation."""
        place = self.place
        where = f"{place[0]}:{place[1]}" if place else None
        return Unsupported(eqn.primitive.name, where, supported(), why, _SEE)

    # jaxprs

    def jaxpr(self, jaxpr: Any, consts: Sequence[Any], args: Sequence[Any], wanted: Sequence[bool] | None = None) -> list[Any]:
        """The results of a jaxpr for arguments; ``None`` for what is not wanted."""
        env: dict[Any, Any] = {}
        for v, c in zip(jaxpr.constvars, consts):
            env[v] = c if isinstance(c, (Value, Partial, Shift)) else _numpy_of(c)
        for v, a in zip(jaxpr.invars, args):
            env[v] = a
        asked = [v for i, v in enumerate(jaxpr.outvars) if wanted is None or wanted[i]]
        lazy, passed = _stopped(jaxpr, env)
        self.passed |= passed
        self.demand(jaxpr, env, asked, lazy)
        read = lambda v: _numpy_of(v.val) if _compat.is_literal(v) else env[v]  # noqa: E731
        return [read(v) if wanted is None or wanted[i] else None for i, v in enumerate(jaxpr.outvars)]

    def demand(self, jaxpr: Any, env: dict[Any, Any], asked: Sequence[Any], lazy: set[Any]) -> None:
        """Runs what some variables need, and has not been run. What is behind a ``stop_gradient`` waits until somebody asks for its value."""
        read = lambda v: _numpy_of(v.val) if _compat.is_literal(v) else env[v]  # noqa: E731
        equations, alive = needed(jaxpr, asked, lazy, env)
        before = self.alive
        for eqn in equations:
            self.at(eqn)
            (first, *_), out = eqn.invars or [None], eqn.outvars
            if out[0] in lazy and first not in env:
                env[out[0]] = self.stopped(jaxpr, env, first, lazy)
                continue
            self.alive = alive
            for v, y in zip(out, self.equation(eqn, [read(v) for v in eqn.invars])):
                env[v] = y
        self.alive = before

    def stopped(self, jaxpr: Any, env: dict[Any, Any], v: Any, lazy: set[Any]) -> Shift:
        """What is behind a ``stop_gradient``, not run yet; one for each variable."""
        place = self.place, self.fixed
        key = ("stopped", v)

        def make() -> Value:
            here, (self.place, self.fixed) = (self.place, self.fixed), place
            self.demand(jaxpr, env, [v], lazy)
            (self.place, self.fixed) = here
            if not isinstance(env[v], Value):
                raise CreaseError("what is stopped is infinite at some place")
            return env[v]

        shape = tuple(v.aval.shape)
        base = env.setdefault(key, Base(make))
        return Shift(np.zeros(shape), False, 1, base, np.arange(math.prod(shape)).reshape(shape))

    def equation(self, eqn: Any, xs: list[Any]) -> list[Any]:
        """The results of one equation."""
        name = eqn.primitive.name
        if name in _compat.CALLS:
            return self.call(eqn, xs)
        if all(is_known(x) for x in xs):
            return self.fold(eqn, xs)
        try:
            out = self.computed(eqn, xs)
        except Unsupported:
            raise
        except CreaseError as e:
            raise self.unsupported(eqn, str(e)) from e
        out = list(out) if isinstance(out, (list, tuple)) else [out]
        self.check(eqn, xs, out)
        return out

    def check(self, eqn: Any, xs: list[Any], out: list[Any]) -> None:
        """That results have the shapes that JAX says, and what is known of integers."""
        if len(out) != len(eqn.outvars):
            raise AssertionError(f"{eqn.primitive.name} has {len(eqn.outvars)} results, not {len(out)}")
        for v, y in zip(eqn.outvars, out):
            if y is None:
                continue  # nobody reads it
            if not self.loose and tuple(shape_of(y)) != tuple(v.aval.shape):
                raise AssertionError(f"{eqn.primitive.name} gives shape {shape_of(y)} where JAX has {v.aval.shape}")
            if isinstance(y, Value) and v.aval.dtype.kind in "iu" and y.handle not in self.bounds.of:
                ends = self.bounds.after(eqn.primitive.name, xs, eqn.params)
                info = np.iinfo(v.aval.dtype)
                if ends and info.min <= ends[0] and ends[1] <= info.max:
                    self.bounds.set(y, *ends)

    def computed(self, eqn: Any, xs: list[Any]) -> Any:
        """One equation with computed arguments."""
        name, p = eqn.primitive.name, eqn.params
        for v in (*eqn.invars, *eqn.outvars):
            if getattr(getattr(v.aval, "dtype", None), "kind", "f") == "c":
                raise self.unsupported(eqn, "complex numbers are not taken")
        if any(isinstance(x, Shift) for x in xs):
            out = special.shift(self, eqn, xs)
            if out is not None:
                return out
            xs = [self.materialise(eqn, x) if isinstance(x, Shift) else x for x in xs]
        if name == "stop_gradient":
            return xs[0] if eqn.outvars[0] in self.passed else special.stop(self, eqn, xs[0])
        if name == "cond":
            return self.cond(eqn, xs)
        if name == "scan":
            return self.scan(eqn, xs)
        if name == "while":
            return self.loop(eqn, xs)
        if name not in RULES:
            raise self.unsupported(eqn, _WHY.get(name))
        if any(isinstance(x, Partial) for x in xs) or name in special.MEETS and any(is_known(x) and not finite(x) for x in xs):
            return special.partial(self, eqn, xs)
        return RULES[name](self, p, eqn, *xs)

    def one(self, eqn: Any, xs: list[Any]) -> Any:
        """An equation with other arguments: its one result."""
        if all(is_known(x) for x in xs):
            return self.fold(eqn, xs)[0]
        out = RULES[eqn.primitive.name](self, eqn.params, eqn, *xs)
        return out[0] if isinstance(out, list) else out

    def binary(self, eqn: Any, x: Any, y: Any) -> Any:
        """An equation of two arguments, infinities at known places included."""
        if any(isinstance(v, Partial) or is_known(v) and not finite(v) for v in (x, y)) and not (is_known(x) and is_known(y)):
            return special.partial(self, eqn, [x, y])
        return self.one(eqn, [x, y])

    def moved(self, eqn: Any, a: np.ndarray) -> np.ndarray:
        """What moves numbers, of numbers that are not those of the equation."""
        return np.asarray(RULES[eqn.primitive.name](self, eqn.params, eqn, np.asarray(a))) if eqn.primitive.name not in _SAME else np.asarray(a)

    def lifted(self, x: Any) -> Value:
        """A value of the program."""
        if isinstance(x, Shift):
            x = self.shifted(x)
        if isinstance(x, Partial):
            raise CreaseError("a result is infinite, or NaN, whatever the arguments are")
        return ops.lift(self.builder, x)

    def materialise(self, eqn: Any, x: Any) -> Any:
        """Something with a stopped part for what it is, if that is wanted."""
        if isinstance(x, Shift):
            return self.shifted(x, eqn)
        return x

    def shifted(self, x: Shift, eqn: Any = None) -> Value:
        """The value of something with a stopped part."""
        if self.policy != "identity":
            place = f"{self.place[0]}:{self.place[1]}" if self.place else None
            why = (
                "what is stopped here does not drop out of the result, so that JAX's gradient is not that of this function; "
                "stop_gradient=\"identity\" imports the function with its true derivative"
            )
            raise Unsupported("stop_gradient", place, supported(), why, _SEE)
        part = pick(x.base.value(), x.positions)
        part = part if x.k == 1 else ops.mul(part, float(x.k))
        value = part if is_known(x.value) and not np.any(x.value) else ops.add(x.value.value if isinstance(x.value, Partial) else x.value, part)
        if isinstance(x.value, Partial):
            raise CreaseError("an infinity at a known place meets something that is stopped")
        return ops.exp(value) if x.exponential else value

    # known things

    def fold(self, eqn: Any, xs: list[Any]) -> list[Any]:
        """The results of an equation whose arguments are known: by NumPy for the plainest, else by JAX."""
        name = eqn.primitive.name
        quick = _FOLD.get(name)
        if quick is not None and all(isinstance(x, (np.ndarray, np.generic, float, int, bool)) for x in xs):
            with np.errstate(all="ignore"):
                out = quick(eqn.params, *xs)
            return [np.asarray(out).astype(eqn.outvars[0].aval.dtype)]
        return [_numpy_of(y) for y in _compat.run(eqn, xs)]

    # calls

    def call(self, eqn: Any, xs: list[Any]) -> list[Any]:
        """A jaxpr in its place, or the function of crease that it is."""
        inner = eqn.params[_compat.CALLS[eqn.primitive.name]]
        jaxpr, consts = (inner.jaxpr, inner.consts) if hasattr(inner, "consts") else (inner, ())
        function, file = _compat.source_of(jaxpr)
        ours = file is not None and (file.startswith(self.library) or "site-packages" in file)
        own = _FUNCTIONS.get((eqn.primitive.name, function)) if ours and file.startswith(self.library) else None
        if own is not None and any(isinstance(x, Value) for x in xs) and all(isinstance(x, Value) or is_known(x) for x in xs):
            out = own(*xs)
            if out is not None:
                return [out]
        before = self.fixed, self.custom
        self.fixed = self.fixed or ours and self.place is not None
        if eqn.primitive.name.startswith(("custom_jvp", "custom_vjp")) and file is not None and not file.startswith(self.library):
            self.custom = f"{eqn.primitive.name[:10]} of {function}"
        self.mark()
        try:
            return self.jaxpr(jaxpr, consts, xs, [v in self.alive for v in eqn.outvars])
        finally:
            self.fixed, self.custom = before
            self.mark()

    def apply_elementwise(self, jaxpr: Any, consts: Sequence[Any], args: Sequence[Any]) -> list[Any]:
        """A jaxpr of single numbers on arrays of one shape."""
        before, self.loose = self.loose, True
        try:
            shape = np.broadcast_shapes(*(shape_of(a) for a in args))
            return [ops.broadcast_to(y, shape) for y in self.jaxpr(jaxpr, consts, args)]
        finally:
            self.loose = before

    def inner(self, jaxpr: Any, name: str) -> "Walk":
        """A walker for a program of its own."""
        return Walk(Recording(name, self.builder.maxima), self.policy, self)

    # control flow

    def plain(self, eqn: Any, xs: list[Any]) -> list[Any]:
        """Arguments that may go into a program of its own."""
        if any(isinstance(x, Partial) for x in xs):
            raise self.unsupported(eqn, "infinities at known places do not go through it")
        return xs

    def cond(self, eqn: Any, xs: list[Any]) -> list[Any]:
        """A choice of programs by a number: that one alone if it is known, else the first whose condition holds."""
        which, *args = self.plain(eqn, xs)
        branches = eqn.params["branches"]
        last = len(branches) - 1
        if is_known(which):
            chosen = branches[min(max(int(which), 0), last)]
            return self.jaxpr(chosen.jaxpr, chosen.consts, args)
        if last == 0:
            return self.jaxpr(branches[0].jaxpr, branches[0].consts, args)
        if last == 1:
            conditions = [ops.logical_not(which) if which.truth else ops.less_equal(which, 0.0)]
        else:
            conditions = [ops.less_equal(which, float(k)) for k in range(last)]
        free = [i for i, a in enumerate(args) if isinstance(a, Value)]
        if not free:
            results = [self.jaxpr(c.jaxpr, c.consts, args) for c in branches]
            out = results[-1]
            for condition, other in reversed(list(zip(conditions, results))):
                out = [choose(condition, a, z) for a, z in zip(other, out)]
            return out
        programs = []
        for k, branch in enumerate(branches):
            walk = self.inner(branch, f"branch{k}")
            inside = list(args)
            for i in free:
                inside[i] = Value(walk.builder, walk.builder.input(f"a{i}", list(args[i].shape)))
                ends = self.bounds.of.get(args[i].handle)
                if ends:
                    walk.bounds.set(inside[i], *ends)
            out = walk.jaxpr(branch.jaxpr, branch.consts, inside)
            programs.append(walk.builder.finish([walk.lifted(y).handle for y in out]))
        b = self.builder
        found = b.select([c.handle for c in conditions], programs, [args[i].handle for i in free])
        return [Value(b, h) for h in found]

    def loop(self, eqn: Any, xs: list[Any]) -> list[Any]:
        """A loop without a number of turns: written out as long as its condition is known."""
        p = eqn.params
        xs = self.plain(eqn, xs)
        nc, nb = p["cond_nconsts"], p["body_nconsts"]
        of_condition, of_body, state = xs[:nc], xs[nc : nc + nb], list(xs[nc + nb :])
        condition, body = p["cond_jaxpr"], p["body_jaxpr"]
        budget = _MOST_UNROLLED
        while True:
            (go,) = self.jaxpr(condition.jaxpr, condition.consts, [*of_condition, *state])
            if not is_known(go):
                raise self.unsupported(eqn, "how often it runs depends on computed numbers; use scan or fori_loop with a known number of turns")
            if not bool(np.asarray(go)):
                return state
            budget -= len(body.jaxpr.eqns) + 1
            if budget < 0:
                raise self.unsupported(eqn, f"it has more than {_MOST_UNROLLED} equations when written out; use scan or fori_loop with a known number of turns")
            state = self.jaxpr(body.jaxpr, body.consts, [*of_body, *state])

    def scan(self, eqn: Any, xs: list[Any]) -> list[Any]:
        """A loop with a known number of turns: as a loop of the program, or written out if its body needs to know what turn it is."""
        p = eqn.params
        xs = self.plain(eqn, xs)
        body, turns = p["jaxpr"], int(p["length"])
        if turns == 0:
            raise self.unsupported(eqn, "a loop without turns")
        small = turns * len(body.jaxpr.eqns) <= _MOST_UNROLLED
        if turns > 1:
            try:
                return self.rolled(eqn, xs)
            except CreaseError:
                if not small:
                    raise
        return self.unrolled(eqn, xs)

    def unrolled(self, eqn: Any, xs: list[Any]) -> list[Any]:
        """A loop, turn by turn."""
        p = eqn.params
        nc, ns, turns, body = p["num_consts"], p["num_carry"], int(p["length"]), p["jaxpr"]
        still, state, sequences = xs[:nc], list(xs[nc : nc + ns]), xs[nc + ns :]
        stacked: list[list[Any]] = [[] for _ in body.jaxpr.outvars[ns:]]
        for t in reversed(range(turns)) if p["reverse"] else range(turns):
            here = [s[t] if is_known(s) else ops.index(s, t) for s in sequences]
            for x, s in zip(here, sequences):
                ends = self.bounds.of.get(s.handle) if isinstance(s, Value) else None
                if ends and isinstance(x, Value):
                    self.bounds.set(x, *ends)
            out = self.jaxpr(body.jaxpr, body.consts, [*still, *state, *here])
            state = out[:ns]
            for s, y in zip(stacked, out[ns:]):
                s.append(self.materialise(eqn, y))
        for s in stacked:
            if p["reverse"]:
                s.reverse()
        return [*(self.materialise(eqn, s) for s in state), *(_stacked(s) for s in stacked)]

    def rolled(self, eqn: Any, xs: list[Any]) -> list[Any]:
        """A loop of the program. Carried things that can be known beforehand, such as counters, become sequences."""
        p = eqn.params
        nc, ns, turns, body = p["num_consts"], p["num_carry"], int(p["length"]), p["jaxpr"]
        still, state, sequences = xs[:nc], xs[nc : nc + ns], xs[nc + ns :]
        counted = self.counters(eqn, xs)
        walk = self.inner(body, "body")
        b, inner = self.builder, walk.builder
        inside: list[Any] = [None] * len(xs)
        carried, each, others = [], [], []

        def declare(name: str, i: int, shape: Sequence[int], known: Any) -> None:
            inside[i] = Value(inner, inner.input(f"{name}{i}", list(shape)))
            ends = self.bounds.get(known) if is_known(known) else self.bounds.of.get(known.handle)
            if ends and name != "c":
                walk.bounds.set(inside[i], *ends)

        for i, x in enumerate(state):
            if i not in counted:
                carried.append(self.lifted(x))
                declare("c", nc + i, shape_of(x), x)
        for i, x in enumerate(sequences):
            each.append(self.lifted(x))
            declare("x", nc + ns + i, shape_of(x)[1:], x)
        for i, (_, known) in counted.items():
            each.append(self.lifted(known))
            declare("k", nc + i, known.shape[1:], known)
        for i, x in enumerate(still):
            if is_known(x):
                inside[i] = x
            else:
                others.append(x)
                declare("s", i, x.shape, x)
        wanted = [i not in counted and (i < ns or v in self.alive) for i, v in enumerate(eqn.outvars)]
        if not any(wanted):
            raise CreaseError("nothing of the loop is computed")
        out = walk.jaxpr(body.jaxpr, body.consts, inside, wanted)
        program = inner.finish([walk.lifted(y).handle for y, w in zip(out, wanted) if w])
        found = iter(b.scan(program, turns, [v.handle for v in carried], [v.handle for v in each], [v.handle for v in others], bool(p["reverse"])))
        return [Value(b, next(found)) if w else counted[i][0] if i in counted else None for i, w in enumerate(wanted)]

    def counters(self, eqn: Any, xs: list[Any]) -> dict[int, tuple[Any, np.ndarray]]:
        """Carried things that depend on known ones only: what they are at the end, and at the beginning of each turn."""
        p = eqn.params
        nc, ns, turns, body = p["num_consts"], p["num_carry"], int(p["length"]), p["jaxpr"]
        jaxpr = body.jaxpr
        chosen = {i for i in range(ns) if is_known(xs[nc + i])}
        while chosen:
            sure = {v for v, x in zip(jaxpr.invars, xs) if is_known(x)}
            sure -= {jaxpr.invars[nc + i] for i in range(ns) if i not in chosen}
            sure |= set(jaxpr.constvars)
            for e in jaxpr.eqns:
                if all(_compat.is_literal(v) or v in sure for v in e.invars):
                    sure.update(e.outvars)
            left = {i for i in chosen if _compat.is_literal(jaxpr.outvars[i]) or jaxpr.outvars[i] in sure}
            if left == chosen:
                break
            chosen = left
        if not chosen:
            return {}
        equations, alive = needed(jaxpr, [jaxpr.outvars[i] for i in chosen])
        if turns * (len(equations) + 1) > _MOST_UNROLLED:
            return {}
        state = {i: xs[nc + i] for i in chosen}
        seen: dict[int, list[Any]] = {i: [] for i in chosen}
        for t in reversed(range(turns)) if p["reverse"] else range(turns):
            env = dict(zip(jaxpr.constvars, map(_numpy_of, body.consts)))
            for k, (v, x) in enumerate(zip(jaxpr.invars, xs)):
                if k < nc and is_known(x):
                    env[v] = x
                elif nc <= k < nc + ns and k - nc in chosen:
                    env[v] = state[k - nc]
                elif k >= nc + ns and is_known(x):
                    env[v] = np.asarray(x)[t] if isinstance(x, np.ndarray) else x[t]
            read = lambda v: _numpy_of(v.val) if _compat.is_literal(v) else env[v]  # noqa: E731
            for i in chosen:
                seen[i].append(state[i])
            before, self.alive = self.alive, alive
            for e in equations:
                for v, y in zip(e.outvars, self.equation(e, [read(v) for v in e.invars])):
                    env[v] = y
            self.alive = before
            state = {i: read(jaxpr.outvars[i]) for i in chosen}
        if p["reverse"]:
            for s in seen.values():
                s.reverse()
        if not all(isinstance(x, (np.ndarray, np.generic)) for s in seen.values() for x in s):
            raise CreaseError("keys of random numbers do not go through a loop")
        return {i: (state[i], np.stack([np.asarray(x) for x in seen[i]])) for i in chosen}


def _stacked(parts: list[Any]) -> Any:
    """One after the other along a new axis."""
    if any(isinstance(x, Partial) for x in parts):
        raise CreaseError("infinities at known places do not go through a loop")
    return ops.stack(parts)


def needed(jaxpr: Any, outvars: Sequence[Any], lazy: Any = (), done: Any = ()) -> tuple[list[Any], set[Any]]:
    """The equations that results depend on, in their order, except through lazy ones, and what is done; and which variables are read."""
    alive = {v for v in outvars if not _compat.is_literal(v)}
    kept = []
    for eqn in reversed(jaxpr.eqns):
        if any(v in alive and v not in done for v in eqn.outvars):
            kept.append(eqn)
            if eqn.outvars[0] not in lazy:
                alive.update(v for v in eqn.invars if not _compat.is_literal(v))
    return kept[::-1], alive


def _stopped(jaxpr: Any, env: dict[Any, Any]) -> tuple[set[Any], set[Any]]:
    """The results of ``stop_gradient`` that depend on computed floats; and those among all that only solvers of linear systems see."""
    stops = [e for e in jaxpr.eqns if e.primitive.name == "stop_gradient"]
    if not stops:
        return set(), set()
    seen = {e.outvars[0] for e in stops if _for_solvers_only(jaxpr, e)}
    computed = {v for v, x in env.items() if not is_known(x)}
    lazy = set()
    for e in jaxpr.eqns:
        if any(not _compat.is_literal(v) and v in computed for v in e.invars):
            computed.update(e.outvars)
            if e.primitive.name == "stop_gradient" and e.invars[0] not in env and e.invars[0].aval.dtype.kind == "f" and e.outvars[0] not in seen:
                lazy.add(e.outvars[0])
    return lazy, seen


def _for_solvers_only(jaxpr: Any, stop: Any) -> bool:
    """Whether what is stopped reaches results through the solvers of ``custom_linear_solve`` alone. JAX factors a matrix behind a stop, and takes the derivative from the system, which is
    that of the solution."""
    reached = set(stop.outvars)
    for e in jaxpr.eqns:
        if e is stop:
            continue
        if e.primitive.name == "custom_linear_solve":
            # what the system itself and its right side are made of
            lengths = e.params["const_lengths"]
            start = lengths.matvec + lengths.vecmat
            end = start + lengths.solve + lengths.transpose_solve
            inputs = [*e.invars[:start], *e.invars[end:]]
        else:
            inputs = e.invars
        if any(not _compat.is_literal(v) and v in reached for v in inputs):
            reached.update(e.outvars)
    return not any(not _compat.is_literal(v) and v in reached for v in jaxpr.outvars)


_STANDARD = os.path.dirname(os.__file__) + os.sep
_SAME = frozenset({"copy", "copy_p", "name", "device_put", "sharding_constraint", "optimization_barrier", "reduce_precision"})

_WHY = {
    **dict.fromkeys(("random_bits", "random_seed", "random_wrap", "random_unwrap", "random_split", "random_fold_in", "threefry2x32", "rng_bit_generator", "rng_uniform", "random_gamma"),
                    "random numbers with a key that is computed from the arguments; draw them outside, and close over them"),
    **dict.fromkeys(("svd", "eigh", "eig", "schur", "hessenberg", "householder_product", "geqrf", "geqp3", "tridiagonal"), "eigenvalues and singular values are not expressed"),
    **dict.fromkeys(("lgamma", "digamma", "polygamma", "igamma", "igammac", "igamma_grad_a", "random_gamma_grad", "regularized_incomplete_beta", "zeta", "bessel_i0e", "bessel_i1e",
                     "erf_inv"), "crease has no such function"),
    **dict.fromkeys(("fft", "complex", "real", "imag", "conj"), "complex numbers are not taken"),
    **dict.fromkeys(("psum", "pmax", "pmin", "ppermute", "all_gather", "all_to_all", "axis_index"), "one device only"),
    "pure_callback": "what Python computes is not seen",
    "io_callback": "what Python computes is not seen",
}


# functions of JAX whose own operation is one of crease


def _logaddexp(x: Any, y: Any) -> Any:
    shape = np.broadcast_shapes(shape_of(x), shape_of(y))
    for a, other in ((x, y), (y, x)):
        if is_known(a) and not np.any(np.asarray(a)):
            return ops.broadcast_to(ops.softplus(other), shape)
        if is_known(a) and not finite(a):
            return None
    return ops.logsumexp(ops.stack([ops.broadcast_to(x, shape), ops.broadcast_to(y, shape)]), 0)


def _logaddexp2(x: Any, y: Any) -> Any:
    natural = _logaddexp(ops.mul(x, math.log(2.0)), ops.mul(y, math.log(2.0)))
    return None if natural is None else ops.div(natural, math.log(2.0))


def _relu6(x: Value) -> Value:
    """The slope is 0 at both ends, as with ``relu``."""
    return ops.where(ops.greater(x, 0.0), ops.where(ops.less(x, 6.0), x, 6.0), 0.0)


_FUNCTIONS: dict[tuple[str, str | None], Callable[..., Any]] = {
    ("custom_jvp_call", "relu"): ops.relu,
    ("custom_jvp_call", "relu6"): _relu6,
    ("custom_jvp_call", "logaddexp"): _logaddexp,
    ("custom_jvp_call", "logaddexp2"): _logaddexp2,
    # there is no -0 among real numbers
    ("jit", "signbit"): lambda x: ops.less(x, 0.0),
}


# what NumPy folds


def _fold_broadcast(p: Any, x: Any, *sizes: Any) -> Any:
    shape = [1] * len(p["shape"])
    for a, d in enumerate(p["broadcast_dimensions"]):
        shape[d] = np.shape(x)[a]
    return np.broadcast_to(np.reshape(x, shape), p["shape"])


def _fold_iota(p: Any, *sizes: Any) -> Any:
    n = p["shape"][p["dimension"]]
    return np.broadcast_to(np.arange(n).reshape([n if a == p["dimension"] else 1 for a in range(len(p["shape"]))]), p["shape"])


def _fold_select(p: Any, which: Any, *cases: Any) -> Any:
    if np.asarray(which).dtype == bool:
        return np.where(which, cases[1], cases[0])
    return np.choose(which, cases)


_FOLD: dict[str, Callable[..., Any]] = {
    **{n: (lambda p, x, y, f=f: f(x, y)) for n, f in {
        "add": np.add, "sub": np.subtract, "mul": np.multiply, "max": np.maximum, "min": np.minimum, "lt": np.less, "le": np.less_equal, "gt": np.greater,
        "ge": np.greater_equal, "eq": np.equal, "ne": np.not_equal}.items()},
    "neg": lambda p, x: np.negative(x),
    "broadcast_in_dim": _fold_broadcast,
    "iota": _fold_iota,
    "select_n": _fold_select,
    "reshape": lambda p, x, *sizes: np.reshape(np.transpose(x, p["dimensions"]) if p.get("dimensions") else x, p["new_sizes"]),
    "transpose": lambda p, x: np.transpose(x, p["permutation"]),
    "squeeze": lambda p, x: np.squeeze(x, tuple(p["dimensions"])),
    "concatenate": lambda p, *xs: np.concatenate(xs, p["dimension"]),
    "convert_element_type": lambda p, x: np.asarray(x),
    "copy": lambda p, x: np.asarray(x),
    "stop_gradient": lambda p, x: np.asarray(x),
}
