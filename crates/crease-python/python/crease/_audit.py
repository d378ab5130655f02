"""Audits of networks over data sets, on this machine or past it."""

from __future__ import annotations

import functools
import json
import math
import os
from collections import deque
from concurrent.futures import Executor
from typing import Any, Callable, Iterable, Iterator, Sequence

import numpy as np

from . import _crease
from ._answers import as_program, table
from ._crease import CreaseError, Program
from ._work import Spread, executor_of


class Audit:
    """What an audit found: a finding for each input, and what they say together. It prints as the command-line tool's summary."""

    def __init__(self, program: Program, inputs: list[tuple[Any, ...]], names: list[str], lines: dict[int, str], failed: dict[int, str] | None = None):
        self._program, self._inputs, self._names = program, inputs, names
        self._lines = [lines[i] for i in sorted(lines)]
        summary, text = _crease.audit_summary(self._lines, len(inputs))
        #: What all findings say together, as a dict.
        self.summary: dict[str, Any] = json.loads(summary)
        #: The inputs that could not be audited, and why.
        self.failed: dict[int, str] = dict(sorted((failed or {}).items()))
        more = [f"failed          {names[i]}: {why}" for i, why in self.failed.items()]
        self.text: str = "\n".join([text.rstrip(), *more[:8], *([f"                and {len(more) - 8} more"] if len(more) > 8 else [])])

    @property
    def findings(self) -> list[dict[str, Any]]:
        """One for each input that was done, in order."""
        return [json.loads(line) for line in self._lines]

    @property
    def complete(self) -> bool:
        """Whether all inputs were done."""
        return len(self._lines) == len(self._inputs)

    def to_html(self, title: str = "network") -> str:
        """One self-contained page, with pictures."""
        return _crease.audit_page(self._program, title, self._lines, self._inputs, self._names)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes a line of JSON for each finding, as ``crease audit --json`` does."""
        with open(path, "w", encoding="utf-8") as f:
            f.writelines(line + "\n" for line in self._lines)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Audit) and (self._lines, self._names, self.failed) == (other._lines, other._names, other.failed)

    def __hash__(self) -> int:
        return hash(tuple(self._lines))

    def __str__(self) -> str:
        return self.text.rstrip()

    def __repr__(self) -> str:
        return f"<crease.Audit of {len(self._lines)} inputs>"

    def _repr_html_(self) -> str:
        return table(str(self))


@functools.lru_cache(maxsize=4)
def _loaded(path: str) -> Program:
    return _crease.load(path)


#: What a chunk gives: lines of JSON, and why inputs failed that did, by their numbers.
Found = tuple[list[str], dict[int, str]]


def _chunk(net: Program | str, inputs: list[tuple[Any, ...]], names: list[str], labels: list[int] | None, first: int, each: float | None, threads: int = 1) -> Found:
    """Some inputs, done by whoever has this package. One that fails does not take the others with it."""
    program = _loaded(net) if isinstance(net, str) else net
    try:
        return [_renumbered(line, first) for line in _crease.audit_lines(program, inputs, names, labels, each, threads)], {}
    except CreaseError as e:
        if len(inputs) == 1:
            return [], {first: str(e)}
    lines: list[str] = []
    failed: dict[int, str] = {}
    for i in range(len(inputs)):
        part = slice(i, i + 1)
        more, wrong = _chunk(program, inputs[part], names[part], None if labels is None else labels[part], first + i, each)
        lines += more
        failed |= wrong
    return lines, failed


def _renumbered(line: str, first: int) -> str:
    finding = json.loads(line)
    finding["input"] += first
    return json.dumps(finding)


class _Plan:
    """What is to be audited, checked before any work is done."""

    def __init__(self, net: Any, inputs: Any, labels: Sequence[int] | None, names: Sequence[str] | None, executor: Any, chunk: int, each: float | None, threads: int, known: Iterable[str]):
        listed = inputs if isinstance(inputs, (list, tuple)) else np.asarray(inputs.detach().cpu() if hasattr(inputs, "detach") else inputs)
        if not np.shape(listed) and not isinstance(listed, (list, tuple)):
            raise CreaseError(f"inputs are a list of arguments, or an array with a leading axis, not {type(inputs).__name__}")
        self.cases = [x if isinstance(x, tuple) else (x,) for x in listed]
        if not self.cases:
            raise CreaseError("there are no inputs to audit")
        if chunk < 1:
            raise CreaseError("a chunk must hold one input at least")
        self.program = as_program(os.fspath(net) if isinstance(net, os.PathLike) else net, self.cases[0])
        shapes = self.program.inputs
        self.cases = [tuple(_fitted(a, shape) for a, (_, shape) in zip(case, shapes)) if len(case) == len(shapes) else case for case in self.cases]
        self.titles = [f"input {i}" for i in range(len(self.cases))] if names is None else [str(n) for n in names]
        if len(self.titles) != len(self.cases):
            raise CreaseError(f"there are {len(self.cases)} inputs and {len(self.titles)} names")
        self.marks = None if labels is None else [int(n) for n in labels]
        if self.marks is not None:
            if len(self.marks) != len(self.cases):
                raise CreaseError(f"there are {len(self.cases)} inputs and {len(self.marks)} labels")
            classes = math.prod(self.program.outputs[0])
            wrong = next((m for m in self.marks if not 0 <= m < classes), None)
            if wrong is not None:
                raise CreaseError(f"there is no label {wrong}: labels are 0 to {classes - 1}")
        self.lines: dict[int, str] = {}
        self.failed: dict[int, str] = {}
        for line in known:
            finding = json.loads(line)
            if not 0 <= finding["input"] < len(self.cases) or finding["name"] != self.titles[finding["input"]]:
                raise CreaseError(f"`{finding['name']}` was found before, and is none of these inputs at its place")
            self.lines[finding["input"]] = line.rstrip("\n")
        self.executor = executor_of(executor)
        # a file is read by the workers, where they are
        is_file = isinstance(net, (str, os.PathLike)) and str(net).endswith(".onnx")
        self.payload: Program | str = os.path.abspath(net) if is_file and self.executor is not None else self.program
        self.each, self.threads = each, threads
        self.todo = [c for c in _chunks(len(self.cases), chunk) if any(i not in self.lines for i in c)]

    def job(self, indices: range) -> tuple[Any, ...]:
        """The arguments of a chunk."""
        part = slice(indices.start, indices.stop)
        return (self.payload, self.cases[part], self.titles[part], None if self.marks is None else self.marks[part], indices.start, self.each)

    def work(self) -> Iterator[tuple[range, Found]]:
        """All chunks that are not known, as they come, kept as they are found."""
        for indices, (lines, failed) in _done(self):
            for line in lines:
                self.lines[json.loads(line)["input"]] = line
            self.failed |= failed
            yield indices, (lines, failed)

    def audit(self) -> Audit:
        """What was found so far."""
        if self.failed and not self.lines:
            raise CreaseError(next(iter(self.failed.values())))
        return Audit(self.program, self.cases, self.titles, self.lines, self.failed)


def audit(
    net: Any,
    inputs: Any,
    *,
    labels: Sequence[int] | None = None,
    names: Sequence[str] | None = None,
    executor: Executor | str | None = None,
    chunk: int = 4,
    each: float | None = None,
    threads: int = 1,
    known: Iterable[str] = (),
    progress: Callable[[int, int], None] | None = None,
) -> Audit:
    """For each input: which kinks are active, whether the network is differentiable there, with a certificate that was checked, and what the conventions of frameworks return.

    ``net`` is a program, the name of an ONNX file, or a module or function of PyTorch or JAX. ``inputs`` is an array with a leading axis, or a list of arguments (tuples where there are several). With
    ``labels`` the loss of each label is audited instead of all outputs. ``each`` is how many seconds an input may take.

    ``executor`` is any :class:`concurrent.futures.Executor`: threads, processes, Dask's ``client.get_executor()``, mpi4py's; ``"ray"`` is Ray as it was initialised. Work is done in chunks; the chunk of a worker that
    was lost is done again, on this machine if nothing else helps. Without an executor ``threads`` of this process work. An input that fails is named in ``failed``, and the others are done. Ctrl-C ends it, and
    what was found is kept: the result is not ``complete`` then. ``known`` are lines of an earlier audit (see :meth:`Audit.save`), which are not done again. :func:`crease.audit_iter` gives findings while it works.

    >>> import crease, numpy as np
    >>> pool = crease.parse("program pool(x[2]) = max(x)")
    >>> a = crease.audit(pool, np.array([[1.0, 1.0], [0.0, 1.0]]))
    >>> [f["outputs"][0]["differentiable"] for f in a.findings]
    ['no', 'yes']
    """
    plan = _Plan(net, inputs, labels, names, executor, chunk, each, threads, known)
    try:
        for _ in plan.work():
            if progress is not None:
                progress(len(plan.lines) + len(plan.failed), len(plan.cases))
    except KeyboardInterrupt:
        # what was found is kept
        pass
    return plan.audit()


def audit_iter(
    net: Any,
    inputs: Any,
    *,
    labels: Sequence[int] | None = None,
    names: Sequence[str] | None = None,
    executor: Executor | str | None = None,
    chunk: int = 1,
    each: float | None = None,
    threads: int = 1,
    ordered: bool = True,
) -> Iterator[dict[str, Any]]:
    """The findings of :func:`crease.audit` one by one while it works, in the order of the inputs, or as they come (``ordered=False``). An input that fails gives a dict with ``input``, ``name`` and ``error``.

    >>> import crease, numpy as np
    >>> pool = crease.parse("program pool(x[2]) = max(x)")
    >>> for finding in crease.audit_iter(pool, np.array([[1.0, 1.0], [0.0, 1.0]])):
    ...     print(finding["name"], finding["outputs"][0]["differentiable"])
    input 0 no
    input 1 yes
    """
    plan = _Plan(net, inputs, labels, names, executor, chunk, each, threads, ())
    return _findings(plan, ordered)


def _findings(plan: _Plan, ordered: bool) -> Iterator[dict[str, Any]]:
    waiting: dict[int, dict[str, Any]] = {}
    next_ = 0
    for _, (lines, failed) in plan.work():
        found = [json.loads(line) for line in lines] + [{"input": i, "name": plan.titles[i], "error": why} for i, why in failed.items()]
        for finding in sorted(found, key=lambda f: f["input"]):
            if not ordered:
                yield finding
                continue
            waiting[finding["input"]] = finding
            while next_ in waiting:
                yield waiting.pop(next_)
                next_ += 1


def _fitted(x: Any, shape: tuple[int, ...]) -> np.ndarray:
    """An argument in the shape of the input; a batch axis of 1 may be missing."""
    a = np.asarray(x.detach().cpu() if hasattr(x, "detach") else x)
    return a.reshape(shape) if a.shape != shape and a.shape == tuple(shape[1:]) and shape[0] == 1 else a


def _chunks(n: int, size: int) -> Iterator[range]:
    return (range(i, min(i + size, n)) for i in range(0, n, size))


def _done(plan: _Plan) -> Iterator[tuple[range, Found]]:
    """What each chunk gives, as they come."""
    if plan.executor is None:
        for indices in plan.todo:
            _, *rest = plan.job(indices)
            yield indices, _chunk(plan.program, *rest, threads=plan.threads)
        return
    here = lambda indices: _chunk(plan.program, *plan.job(indices)[1:])  # noqa: E731
    yield from Spread(plan.executor, lambda indices: (_chunk, plan.job(indices)), here).each(deque(plan.todo))
