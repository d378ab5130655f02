"""Questions past one machine: the directions around a point in cubes, each a task, and what the tasks found as one answer.

A task is the program, the point and the name of a cube, so that whoever has this package can do it. A cube that takes long is taken apart into smaller ones, which are tasks of their own: so the work is shared
though nobody knows beforehand where most of it is, no task is long, and little is lost with a worker.
"""

from __future__ import annotations

import itertools
import json
import time
from collections import deque
from concurrent.futures import Executor
from typing import Any, Callable

from . import _crease
from ._crease import Program
from ._tree import plain
from ._work import Spread

#: How many cubes there are to begin with, and how many a cube that takes long is taken apart into; powers of two.
CUBES, PARTS = 64, 8
#: How long a task takes, in seconds, before its cube is taken apart; more if the local model takes long to make.
LONG = 5.0
#: How long the last tasks are waited for when time is up, in seconds.
GRACE = 2.0
#: So many conflicts of a search are tried here before it is shared.
TRIED = 2000

#: What a task found, how it ended in a word, and the cubes that are to be done in place of its own if it did not get to its end.
Found = tuple[str, str, list[str]]
#: Told how many cubes are done, and of how many that are known.
Progress = Callable[[int, int], None]


#: When time is up: how many seconds there were when a task was sent, and the time of day then, for those that had to wait and whose clock is right.
End = tuple[float, float]


def _left(end: End | None) -> float | None:
    return None if end is None else max(0.0, min(end[0], end[1] - time.time()))


class _Shared:
    """A question that is shared: its cubes, which of them are done, and what is left of its time."""

    def __init__(self, program: Program, args: tuple[Any, ...], how: dict[str, Any], began: float, task: Callable[..., Found]):
        self.program, self.args, self.task = program, plain(args), task
        self.limit = how.get("time")
        self.how = {k: v for k, v in how.items() if k != "time"}
        self.until = float("inf") if self.limit is None else began + self.limit
        # what makes the local model takes part of the time of every task
        self.long = max(LONG, 20 * (time.monotonic() - began))
        #: What was found in cubes that were done, and in those that were done again in smaller ones.
        self.done: dict[str, str] = {}
        self.again: dict[str, str] = {}

    def left(self) -> float | None:
        """What is left of the time."""
        return None if self.limit is None else max(0.0, self.until - time.monotonic())

    def job(self, cube: str) -> tuple[Any, ...]:
        return (self.program, self.args, cube, self.how, self.long, None if self.limit is None else (left := self.left() or 0.0, time.time() + left))

    def work(self, executor: Executor, cubes: list[str], progress: Progress | None, enough: str | None = None) -> str | None:
        """Does all cubes, or as many as it takes until one ends with the word that is enough: why some are missing, if they are."""
        known, waiting = len(cubes), deque(cubes)
        spread = Spread(executor, lambda cube: (self.task, self.job(cube)), lambda cube: self.task(*self.job(cube)))
        results = spread.each(waiting, self.until + GRACE)
        try:
            for cube, (found, word, smaller) in results:
                (self.again if smaller else self.done)[cube] = found
                waiting.extend(smaller)
                known += max(0, len(smaller) - 1)
                if progress is not None:
                    progress(len(self.done), known)
                if word == enough:
                    return None
        finally:
            results.close()
        return "time" if spread.unfinished else None


def _list(program: Program, args: tuple[Any, ...], cube: str, how: dict[str, Any], long: float, end: End | None) -> Found:
    """All gradients of a cube, done by whoever has this package."""
    left = _left(end)
    found, unfinished = _crease.clarke_in(program, args, cube, {**how, "time": long if left is None else min(long, left)})
    if not unfinished or left is not None and left <= long:
        return found, "", []
    parts = _crease.clarke_cubes(program, args, cube, PARTS, how)
    if parts != [cube]:
        return found, "", parts
    # one cell, which takes as long as it takes
    return _crease.clarke_in(program, args, cube, how if left is None else {**how, "time": left})[0], "", []


def clarke_all(program: Program, args: tuple[Any, ...], executor: Executor, how: dict[str, Any], contains: Any, stationary: bool, progress: Progress | None) -> _crease.Answer:
    """The answer of :func:`crease.clarke_all`, by an executor."""
    began = time.monotonic()
    cubes = _crease.clarke_cubes(program, args, "", CUBES, how)
    if len(cubes) < 2:
        return _crease.question("clarke_all", program, args, contains, how, stationary)
    shared = _Shared(program, args, how, began, _list)

    def united(missing: str | None, left: float | None) -> _crease.Answer:
        # in an order that does not depend on who was first
        parts = [shared.done[cube] for cube in sorted(shared.done, key=_winners)]
        again = list(shared.again.values()) if missing else []
        asked = shared.how if left is None else {**shared.how, "time": left}
        return _crease.clarke_united(program, shared.args, parts, again, missing, contains, asked, stationary)

    try:
        missing = shared.work(executor, cubes, progress)
    except KeyboardInterrupt as stop:
        stop.answer = united("stopped", 0.0)  # type: ignore[attr-defined]
        raise
    return united(missing, shared.left())


def _winners(cube: str) -> list[tuple[int, ...]]:
    return [tuple(int(n) for n in pair.split(":")) for pair in cube.split()]


def _search(program: Program, args: tuple[Any, ...], cube: str, how: dict[str, Any], long: float, end: End | None) -> Found:
    """Searches a cube for a direction that shows something, done by whoever has this package."""
    left = _left(end)
    word, found = _crease.differentiable_in(program, args, cube, {**how, "time": long if left is None else min(long, left)})
    more = word == "time" and (left is None or left > long)
    return found, word, [cube + signs for signs in _signs(PARTS)] if more else []


def differentiable(program: Program, args: tuple[Any, ...], executor: Executor, how: dict[str, Any], progress: Progress | None) -> _crease.Answer:
    """The answer of :func:`crease.differentiable`, by an executor if it is not found at once."""
    began = time.monotonic()
    first = _crease.question("differentiable", program, args, None, {**how, "conflicts": min(TRIED, how.get("conflicts", TRIED))})
    # another limit would end the search of a cube just so
    if json.loads(first.summary).get("limit") != f"the limit of {TRIED} conflicts was reached" or how.get("conflicts", TRIED + 1) <= TRIED:
        return first
    shared = _Shared(program, args, how, began, _search)

    def united(missing: str | None) -> _crease.Answer:
        return _crease.differentiable_united(program, shared.args, sorted(shared.done.items()), missing, shared.how)

    try:
        missing = shared.work(executor, _signs(CUBES), progress, enough="found")
    except KeyboardInterrupt as stop:
        stop.answer = united("stopped")  # type: ignore[attr-defined]
        raise
    return united(missing)


def _signs(many: int) -> list[str]:
    """All signs of the forms that matter most, in so many ways."""
    return ["".join(signs) for signs in itertools.product("-+", repeat=many.bit_length() - 1)]
