"""Nested dicts, lists and tuples with leaves, as in JAX: the Python side of what the programs' arguments are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Callable

import numpy as np


def map_leaves(f: Callable[..., Any], tree: Any, path: str = "") -> Any:
    """The same structure with ``f(leaf, path)`` for each leaf, from left to right. ``None`` has no leaves.

    >>> map_leaves(lambda x, path: (path, x), {"a": [1, None]})
    {'a': [("['a'][0]", 1), None]}
    """
    if tree is None:
        return None
    if isinstance(tree, tuple):
        parts = [map_leaves(f, t, f"{path}[{i}]") for i, t in enumerate(tree)]
        return type(tree)(*parts) if hasattr(tree, "_fields") else tuple(parts)
    if isinstance(tree, list):
        return [map_leaves(f, t, f"{path}[{i}]") for i, t in enumerate(tree)]
    if isinstance(tree, dict):
        return {k: map_leaves(f, t, f"{path}[{k!r}]") for k, t in tree.items()}
    return f(tree, path)


def plain(args: tuple[Any, ...]) -> tuple[Any, ...]:
    """Arguments with NumPy arrays for the arrays of frameworks; numbers and what else there is stay.

    >>> plain((1.5, [np.ones(2)], "sum"))
    (1.5, [array([1., 1.])], 'sum')
    """

    def one(x: Any, _: str) -> Any:
        if hasattr(x, "detach"):
            return x.detach().cpu().numpy()
        if isinstance(x, (int, float, complex, str, bytes)) or not hasattr(x, "__array__"):
            return x
        return np.asarray(x)

    return tuple(map_leaves(one, a) for a in args)


@dataclass(frozen=True)
class Still:
    """Stands among the arguments of a program for one that is part of it: a call may leave it out or give it again, but not change it."""

    value: Any

    def is_same(self, other: Any) -> bool:
        """Whether it is given again.

        >>> Still([1, 2]).is_same((1, 2)), Still(3).is_same(4), Still("sum").is_same("sum")
        (True, False, True)
        """
        if other is self.value or other is None:
            return True
        a, b = _numbers(self.value), _numbers(other)
        if a is not None and b is not None:
            return a.shape == b.shape and bool(np.array_equal(a, b))
        try:
            return bool(self.value == other)
        except (TypeError, ValueError, RuntimeError):
            return False


def _numbers(x: Any) -> Any:
    """An array of what holds numbers, else None."""
    if isinstance(x, (str, bytes, dict)) or x is None:
        return None
    try:
        a = np.asarray(x.detach().cpu() if hasattr(x, "detach") else x)
    except (TypeError, ValueError, RuntimeError):
        return None
    return a if a.dtype.kind in "fiubc" else None


def leaves_of(tree: Any) -> list[Any]:
    """The leaves, from left to right."""
    out: list[Any] = []
    map_leaves(lambda x, _: out.append(x), tree)
    return out
