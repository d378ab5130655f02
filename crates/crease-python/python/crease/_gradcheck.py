"""Checks of gradients that know kinks."""

from __future__ import annotations

from typing import Any, Callable

import numpy as np

from . import _crease
from ._answers import Inspection, Status, as_program, inspect
from ._crease import CreaseError, Program, kinks_between
from ._explain import _short, finite_point, framework_gradient, judged
from ._tree import leaves_of, map_leaves, plain
from ._walkers import Static

_ENOUGH = {"gradient": ("gradient",), "clarke": ("gradient", "clarke"), "conservative": ("gradient", "clarke", "conservative")}


class GradcheckError(AssertionError):
    """A gradient that is none. The message says which kink is at fault."""


def gradcheck(
    fn: Any,
    *args: Any,
    grad: Callable[..., Any] | None = None,
    accept: str = "conservative",
    within: float = 1e-5,
    step: float = 1e-6,
    output: int | None = None,
    static: Static | str | int = (),
    **how: Any,
) -> Status:
    """Checks a gradient at a point, and returns what it is; raises :class:`GradcheckError` if it is not good enough.

    ``fn`` is a function of NumPy, JAX or PyTorch, or a program. ``grad(*args)`` returns its gradient in the structure of the arguments (as it is for one argument, else a tuple); without it the
    framework's own gradient is checked, custom rules (``jax.custom_vjp``, ``torch.autograd.Function``) included. At kinks the gradient must be an element of the conservative gradient;
    with ``accept="clarke"`` a Clarke subgradient, with ``accept="gradient"`` the gradient itself. Where possible that is decided exactly; finite differences (of step ``step``) are asked only where no kink lies
    within the step and numbers have no exact values. ``within`` is how much each number may be off by rounding, relative to its size; ``output`` and ``static`` are as in :func:`crease.explain`.

    >>> import crease, numpy as np
    >>> crease.gradcheck(lambda v: np.max(v), np.ones(2), grad=lambda v: np.array([0.5, 0.5])).word
    'clarke'
    >>> crease.gradcheck(lambda v: np.max(v), np.ones(2), grad=lambda v: np.ones(2))  # full weight to every tie
    Traceback (most recent call last):
        ...
    crease._gradcheck.GradcheckError: [1. 1.] is outside of the conservative gradient
    a right one is [1. 0.]: a Clarke subgradient
    the kink at fault: max at <doctest crease._gradcheck.gradcheck[2]>:1
    """
    if accept not in _ENOUGH:
        raise CreaseError(f"accept is one of {', '.join(_ENOUGH)}, not {accept!r}")
    by, differentiate = framework_gradient(fn, args, output, static)
    program = as_program(fn, args, static=static)
    program = program if output is None else program.output(output)
    point = finite_point(args)
    given = grad(*args) if grad is not None else differentiate() if differentiate is not None else program.grad(*point)
    given = plain((given,))[0]
    if not all(np.all(np.isfinite(np.asarray(g))) for g in leaves_of(given)):
        where = "".join(f"\nfrom {s[0]} of {s[3]:g} at {s[1] or s[2]}" for s in _singular(program, by, point)[:1])
        raise GradcheckError(f"{_short(given)} holds NaN or infinity; crease.explain says more{where}")
    inspection = inspect(program, *point, **how)
    status = judged(inspection, given, within)
    if status == "undecided" and not inspection.kinks:
        status = _by_differences(program, point, given, within, step, status)
    if status == "undecided":
        raise GradcheckError(f"{_short(given)} could not be judged: {status.why}")
    if status.word not in _ENOUGH[accept]:
        raise GradcheckError(_message(inspection, given, status))
    return status


def _singular(program: Program, by: str, point: tuple[Any, ...]) -> list[Any]:
    try:
        return _crease.singular(program.options(select=by) if by != "crease" else program, point)
    except CreaseError:
        return []


def _by_differences(program: Program, point: tuple[Any, ...], given: Any, within: float, step: float, status: Status) -> Status:
    """Where nothing is exact and no kink is active: finite differences along each coordinate, unless they would step over a kink."""
    flat = np.concatenate([np.ravel(np.asarray(g, float)) for g in leaves_of(given)])
    if program.outputs != [()]:
        return status
    places: list[tuple[int, tuple[int, ...]]] = []
    base: list[Any] = []

    def leaf(x: Any, _: str) -> Any:
        if isinstance(x, (float, np.floating)) or isinstance(x, np.ndarray) and x.dtype.kind == "f":
            base.append(np.array(x, float))
            places.extend((len(base) - 1, i) for i in np.ndindex(base[-1].shape))
            return base[-1]
        return x

    there = map_leaves(leaf, point)
    if len(places) != len(flat):
        return status
    differences = []
    for k, i in places:
        x, kept = base[k], base[k][i]
        h = step * max(1.0, abs(kept))
        sides, ends = [], []
        for side in (kept + h, kept - h):
            x[i] = side
            sides.append(float(program(*there)))
            ends.append(map_leaves(lambda a, _: np.array(a) if isinstance(a, np.ndarray) else a, there))
        x[i] = kept
        crossed = kinks_between(program, ends[0], ends[1])
        if crossed:
            operation, place, text = crossed[0]
            return Status("undecided", f"a kink lies within the step of {h:g}, and numbers have no exact values: {operation} at {place or text}; give a smaller step")
        differences.append((sides[0] - sides[1]) / (2 * h))
    off = np.abs(np.array(differences) - flat)
    # differences of step h are off by rounding of size 1e-16 / h, and by the curvature
    if np.all(off <= max(within, 1e-4) * (1.0 + np.abs(flat).max())):
        return Status("gradient")
    return Status("outside")


def _message(inspection: Inspection, given: Any, status: Status) -> str:
    lines = [f"{_short(given)} is {status}"]
    right = inspection.clarke if inspection.clarke is not None else inspection.gradient
    lines.append(f"a right one is {_short(right)}: {inspection.judge(right)}")
    for i, kink in enumerate(inspection.kinks[:4]):
        lines.append(f"the kink{'s' if len(inspection.kinks) > 1 else ''} at fault: {kink}" if i == 0 else f"  {kink}")
    return "\n".join(lines)
