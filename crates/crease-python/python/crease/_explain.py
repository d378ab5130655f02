"""What a framework returned, what it is, and where it came from."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any, Callable

import numpy as np

from . import _crease
from ._answers import Inspection, Kink, Status, as_program, clarke, inspect, table
from ._crease import CreaseError, Program
from ._tree import leaves_of, map_leaves, plain
from ._walkers import Static, framework, jax_static

#: What to write instead, by operation: the way around a slope that is infinite or NaN.
REWRITES = {
    "norm2": "a norm at 0: guard the sum of squares, s = (x * x).sum(); where(s > 0, sqrt(where(s > 0, s, 1)), 0)",
    "sqrt": "a square root at 0: guard its argument, where(s > 0, sqrt(where(s > 0, s, 1)), 0), or use sqrt(s + eps) if a smooth function is meant",
    "log": "a logarithm that a `where` masks: guard its argument as well, where(x > 0, log(where(x > 0, x, 1)), 0) (the double where)",
    "*": "a product with an infinite factor that a `where` masks: guard the argument of the factor, so that it is finite (the double where)",
    "/": "a quotient that a `where` masks: guard the denominator as well, where(d != 0, n / where(d != 0, d, 1), 0) (the double where)",
    "inv": "a reciprocal at 0: guard its argument, where(x != 0, 1 / where(x != 0, x, 1), 0) (the double where)",
    "^": "a power at 0: guard its base, where(x > 0, where(x > 0, x, 1) ** p, 0) (the double where)",
    "acos": "acos at the end of its domain: use atan2 of sine and cosine, which has finite slopes there",
    "asin": "asin at the end of its domain: use atan2 of sine and cosine, which has finite slopes there",
}


@dataclass(frozen=True)
class Singularity:
    """A place where a slope is infinite or NaN."""

    operation: str
    place: str
    text: str
    argument: float
    elements: int

    def __str__(self) -> str:
        what = {"*": "product with", "/": "division by"}.get(self.operation, f"{self.operation} of")
        return f"{what} {self.argument:g} at {self.place or self.text}"


@dataclass(eq=False)
class Explanation:
    """What :func:`explain` found. It prints as a report; in notebooks it is a table."""

    #: Who computed the gradient: ``jax``, ``torch`` or ``crease``.
    by: str
    #: What they returned, in the structure of the arguments.
    gradient: Any
    #: What that is; for NaN the word is ``nan``.
    status: Status
    #: A right answer: the gradient, a Clarke subgradient, or an element of the conservative gradient if nothing better is known; None if there is none.
    right: Any
    #: What the right answer is.
    right_status: Status | None
    #: The kinks that are active at the point.
    kinks: list[Kink]
    #: Where infinity or NaN first arose, in the order of the backward run: the first one is where 0 times infinity (or a slope that is infinite) was met first.
    singular: list[Singularity]
    #: What to write instead, where something is known.
    rewrites: list[str]
    #: Everything else, if the program could be inspected.
    inspection: Inspection | None = None
    #: Why not, if it could not.
    trouble: str | None = None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Explanation) and (str(self), self.status, self.inspection) == (str(other), other.status, other.inspection)

    def __hash__(self) -> int:
        return hash(str(self))

    def __str__(self) -> str:
        rows = [(self.by, f"{_short(self.gradient)}  {self.status}")]
        if self.singular:
            rows.append(("where", f"{self.singular[0]}: its slope is infinite or NaN, and what comes back there is multiplied by it"))
            rows += [("", str(s)) for s in self.singular[1:5]]
        if self.right is not None:
            rows.append(("right", f"{_short(self.right)}  {self.right_status}"))
        if self.trouble and self.trouble != self.status.why:
            rows.append(("but", self.trouble))
        for i, k in enumerate(self.kinks[:8]):
            rows.append(("kinks" if i == 0 else "", str(k)))
        if len(self.kinks) > 8:
            rows.append(("", f"and {len(self.kinks) - 8} more"))
        for i, r in enumerate(self.rewrites):
            rows.append(("instead" if i == 0 else "", r))
        width = max(len(label) for label, _ in rows) + 2
        return "\n".join(f"{label:<{width}}{text}".rstrip() for label, text in rows)

    def _repr_html_(self) -> str:
        return table(str(self))


def _short(tree: Any) -> str:
    """Numbers as text, not too many of them."""
    with np.printoptions(precision=6, threshold=12, edgeitems=3):
        shown = map_leaves(lambda x, _: np.asarray(x), tree)
        return str(shown).replace("\n", " ")


@dataclass(frozen=True)
class _Picked:
    """A function with one of its outputs only."""

    fn: Any
    output: int
    leaves: Callable[[Any], list[Any]]

    @property
    def __self__(self) -> Any:
        # the module whose precision counts
        return self.fn

    def __call__(self, *args: Any) -> Any:
        found = self.leaves(self.fn(*args))
        if not 0 <= self.output < len(found):
            raise CreaseError(f"there is no output {self.output}: there are {len(found)}, counted from 0")
        return found[self.output]


def framework_gradient(fn: Any, args: tuple[Any, ...], output: int | None = None, static: Static | str | int = ()) -> tuple[str, Callable[[], Any] | None]:
    """Who differentiates a function, and how: the framework whose function it is, else crease itself, and then there is nothing to call."""
    kind = framework(fn, args) if callable(fn) and not isinstance(fn, Program) else None
    if kind == "jax":
        from ._jax import gradient

        jax = sys.modules.get("jax")
        places = jax_static(fn, args, static)
        leaves = jax.tree.leaves if jax is not None else leaves_of
        whole = fn if output is None else _Picked(fn, output, leaves)
        return "jax", lambda: gradient(whole, args, static=tuple(places))
    if kind == "torch":
        from ._torch import gradient as torch_gradient

        whole = fn if output is None else _Picked(fn, output, leaves_of)
        return "torch", lambda: torch_gradient(whole, args)
    return "crease", None


def explain(fn: Any, *args: Any, within: float = 1e-5, output: int | None = None, static: Static | str | int = (), **how: Any) -> Explanation:
    """Runs a framework's own gradient at a point, and says what it is worth.

    ``fn`` is a function of JAX, a module or function of PyTorch, the name of an ONNX file, a program, or a function of NumPy (for the last three crease differentiates). The gradient
    is judged: *the* gradient, a Clarke subgradient, an element of the conservative gradient only, outside of everything, or NaN, and then from where. Kinks and singular places are
    named with the line they come from. ``within`` is how much each number may be off by rounding, relative to its size; ``output`` is which output is meant, if there are several;
    ``static`` is as in :func:`crease.from_jax`. Limits are those of :func:`crease.inspect`.

    >>> import crease, numpy as np
    >>> print(crease.explain(lambda x: np.maximum(x, 0) - np.maximum(-x, 0), 0.0).status)
    an element of the conservative gradient, and not known to be more
    """
    by, differentiate = framework_gradient(fn, args, output, static)
    program = as_program(fn, args, static=static)
    if output is not None:
        if not 0 <= output < len(program.outputs):
            raise CreaseError(f"there is no output {output}: there are {len(program.outputs)}, counted from 0")
        program = program.output(output)
    if program.outputs != [()]:
        advice = "pick an output with output=0, or return one number" if len(program.outputs) > 1 else "return one number of it"
        raise CreaseError(f"a gradient is of one number, and this returns {_shapes(program)}; {advice}")
    point = finite_point(args)
    trouble: str | None = None
    gradient: Any = None
    if differentiate is not None:
        gradient = differentiate()
    else:
        try:
            gradient = program.options(checked=False).grad(*point)
        except CreaseError as e:
            trouble = str(e)
    inspection: Inspection | None = None
    try:
        inspection = inspect(program, *point, **how)
    except CreaseError as e:
        trouble = _why(program, point, how) or str(e)
    finite = gradient is not None and all(np.all(np.isfinite(np.asarray(g))) for g in leaves_of(gradient))
    if not finite:
        status = Status("nan") if gradient is not None else Status("undecided", trouble)
    elif inspection is None:
        status = Status("undecided", trouble)
    else:
        status = judged(inspection, gradient, within)
    right, right_status = _right(inspection)
    # a finite gradient did not come from singular places, unless it is wrong
    told: list[Singularity] = []
    if not finite or status in ("outside", "undecided"):
        try:
            told = [Singularity(*s) for s in _crease.singular(program.options(select=by) if by != "crease" else program, point)]
        except CreaseError as e:
            trouble = trouble or str(e)
    # what has no line of the user's is inside of a function that is made of others
    rewrites = [REWRITES[o] for o in dict.fromkeys(s.operation for s in told if s.place) if o in REWRITES]
    kinks = inspection.kinks if inspection is not None else []
    return Explanation(by, gradient, status, right, right_status, kinks, told, rewrites, inspection, trouble)


def finite_point(args: tuple[Any, ...]) -> tuple[Any, ...]:
    """The arguments as NumPy's, if they are a point."""
    point = plain(args)

    def check(x: Any, path: str) -> None:
        a = np.asarray(x)
        if a.dtype.kind == "f" and not np.all(np.isfinite(a)):
            raise CreaseError(f"argument {path} holds {a[~np.isfinite(a)].ravel()[0]}: a point needs finite numbers")

    map_leaves(check, point)
    return point


def _shapes(program: Program) -> str:
    several = [f"shape {s}" if s else "a number" for s in program.outputs]
    return several[0] if len(several) == 1 else f"{len(several)} outputs ({', '.join(several[:4])})"


def _why(program: Program, point: tuple[Any, ...], how: dict[str, Any]) -> str | None:
    """Why there is no derivative: the local model knows more than a run that failed."""
    try:
        clarke(program, *point, **how)
    except CreaseError as e:
        return str(e)
    return None


def _right(inspection: Inspection | None) -> tuple[Any, Status | None]:
    if inspection is None:
        return None, None
    if inspection.status == "gradient":
        return inspection.gradient, inspection.status
    if inspection.clarke is not None:
        return inspection.clarke, inspection.judge(inspection.clarke)
    return (inspection.gradient, inspection.status) if inspection.status == "conservative" else (None, None)


def judged(inspection: Inspection, gradient: Any, within: float) -> Status:
    """What a gradient in floats is. Numbers that should be 0 may be off by rounding as well, relative to the largest of the gradient."""
    status = inspection.judge(gradient, within)
    if status in ("gradient", "clarke", "conservative"):
        return status
    flat = np.concatenate([np.ravel(np.asarray(g, float)) for g in leaves_of(gradient)])
    for other, what in ((inspection.gradient, inspection.status), (inspection.clarke, None)):
        if other is None:
            continue
        near = np.concatenate([np.ravel(np.asarray(g, float)) for g in leaves_of(other)])
        if near.shape == flat.shape and np.all(np.abs(near - flat) <= within * max(np.abs(flat).max(), np.abs(near).max())):
            return what if what is not None else inspection.judge(other)
    return status
