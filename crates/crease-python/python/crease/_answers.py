"""Answers: what can be said about a program at a point, as objects with fields, text, JSON and a table for notebooks."""

from __future__ import annotations

import functools
import html
import json
import os
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Any, Callable

import numpy as np

from . import _crease, _cubes
from ._crease import CreaseError, Program
from ._tree import plain
from ._walkers import Static, from_torch, walker
from ._work import executor_of


def table(text: str) -> str:
    """Lines of labels and what they say, for notebooks.

    >>> table("value  1 < 2")
    "<table class='crease'><tr><th style='text-align:left'>value</th><td style='text-align:left'><code>1 &lt; 2</code></td></tr></table>"
    """
    rows = [line.partition("  ") if not line.startswith(" ") else ("", "", line) for line in text.splitlines()]
    cells = "".join(
        f"<tr><th style='text-align:left'>{html.escape(label)}</th><td style='text-align:left'><code>{html.escape(what.strip())}</code></td></tr>" for label, _, what in rows
    )
    return f"<table class='crease'>{cells}</table>"


@dataclass(frozen=True)
class Status:
    """What a vector is at a point: ``gradient``, ``clarke``, ``conservative``, ``outside`` or ``undecided``, with the reason. It equals its word.

    >>> Status("clarke") == "clarke"
    True
    """

    word: str
    why: str | None = None

    def __eq__(self, other: object) -> bool:
        return self.word == (other.word if isinstance(other, Status) else other)

    def __hash__(self) -> int:
        return hash(self.word)

    def __str__(self) -> str:
        words = {
            "nan": "no number (NaN or infinite)",
            "gradient": "the gradient",
            "clarke": "a Clarke subgradient",
            "conservative": "an element of the conservative gradient, and not known to be more",
            "outside": "outside of the conservative gradient",
        }
        return words.get(self.word, f"undecided: {self.why}")


@dataclass(frozen=True)
class Kink:
    """A place where a program is not smooth at a point."""

    operation: str
    place: str
    text: str
    elements: int

    def __str__(self) -> str:
        many = f" ({self.elements} elements)" if self.elements > 1 else ""
        return f"{self.operation}{many} at {self.place or self.text}"


def _place(place: Any) -> str:
    """Where an equation comes from, in words: a line of code, a node, a layer, or line and column of a text."""
    if isinstance(place, dict):
        return f"{place['line']}:{place['column']}"
    return place or ""


class _Shown:
    """What has text, JSON and a table."""

    text: str
    _json: str

    def to_dict(self) -> dict[str, Any]:
        """The JSON of the command-line tool, as a dict."""
        return json.loads(self._json)

    def __str__(self) -> str:
        return self.text.rstrip()

    def _repr_html_(self) -> str:
        return table(self.text.rstrip())


@dataclass
class _Left:
    """What is left of an inspection in a pickle: all that was said, and what was asked, so that another gradient can be judged by asking again."""

    program: Program
    certificate: str | None
    asked: tuple[tuple[Any, ...], dict[str, Any]]

    def again(self) -> _crease.Inspection:
        """The inspection itself."""
        args, how = self.asked
        return _crease.inspect(self.program, args, how)


class Inspection(_Shown):
    """Everything that can be said about a derivative at a point: see :func:`crease.inspect`."""

    def __init__(self, raw: _crease.Inspection, asked: tuple[tuple[Any, ...], dict[str, Any]]):
        self._raw: Any = raw
        self._asked = asked
        self.text: str = raw.text
        self._json: str = raw.json
        d = self.to_dict()
        #: The value, as a float or nested lists.
        self.value: Any = d.get("value")
        #: What differentiation returned, in the structure of the arguments.
        self.gradient: Any = raw.gradient
        #: What that is.
        self.status = Status(*raw.status)
        #: A true Clarke subgradient, in the structure of the arguments; None if none is known or none was needed.
        self.clarke: Any = raw.clarke
        #: ``yes``, ``no`` or ``unknown``.
        self.differentiable: str = _verdict(d)
        #: The kinks that are active at the point, with their places.
        self.kinks: list[Kink] = [Kink(m["operation"], _place(m["place"]), m["text"], m["elements"]) for m in d.get("met", [])]
        #: Whether numbers are exact, or why they are not.
        self.arithmetic: str = d.get("arithmetic", "")
        #: What the program and its derivative cost.
        self.cost: dict[str, Any] = d.get("cost", {})

    @property
    def certificate(self) -> str | None:
        """The certificate of the verdict on differentiability, for ``crease check``."""
        return self._raw.certificate

    @property
    def program(self) -> Program:
        """The program."""
        return self._raw.program

    def judge(self, gradient: Any, within: float | None = None) -> Status:
        """What a gradient from elsewhere is, in the structure of the arguments: exactly as given, or within a relative distance, for numbers that were rounded.

        >>> import crease
        >>> i = crease.inspect("relu(x) - relu(-x)", 0.0)
        >>> [i.judge(g).word for g in (0.0, 1.0, 3.0)]
        ['conservative', 'gradient', 'outside']
        """
        if isinstance(self._raw, _Left):
            self._raw = self._raw.again()
        return Status(*self._raw.judge(gradient, within))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Inspection) and self._json == other._json and self.program == other.program

    def __hash__(self) -> int:
        return hash(self._json)

    def __getstate__(self) -> dict[str, Any]:
        raw, (args, how) = self._raw, self._asked
        asked = (plain(args), how)
        return {**self.__dict__, "_asked": asked, "_raw": _Left(raw.program, raw.certificate, asked)}

    def __repr__(self) -> str:
        return f"<crease.Inspection: {self.status}; {len(self.kinks)} kinks>"


def _verdict(d: dict[str, Any]) -> str:
    """Whether the program is differentiable, from the JSON of an inspection."""
    verdict = d.get("differentiable")
    if verdict is not None:
        return verdict.get("verdict", "unknown")
    # without kinks nobody had to ask
    return "yes" if d["kind"] in ("gradient", "jacobian") else "unknown"


class Answer(_Shown):
    """The answer to one question: its text, its JSON as :meth:`to_dict`, its certificate if it has one, and the gradient that it is about if it is about one. Text and JSON are made when
    they are asked for, since a list of all gradients can be long."""

    def __init__(self, question: str, raw: _crease.Answer, program: Program):
        self.question = question
        self._raw = raw
        #: The certificate, for ``crease check``.
        self.certificate: str | None = raw.certificate
        #: The gradient, in the structure of the arguments.
        self.gradient: Any = raw.gradient(program)

    @functools.cached_property
    def text(self) -> str:
        """The text of the command-line tool."""
        return self._raw.text

    @functools.cached_property
    def _json(self) -> str:
        return self._raw.json

    @functools.cached_property
    def _summary(self) -> dict[str, Any]:
        return json.loads(self._raw.summary)

    @functools.cached_property
    def gradients(self) -> np.ndarray | None:
        """Of a list of all gradients, the gradients as rows of an array, the numbers of all arguments one after the other; no JSON is made for it.

        >>> import crease
        >>> sorted(crease.clarke_all("abs(x) + 2*abs(y)", 0.0, 0.0).gradients.tolist())
        [[-1.0, -2.0], [-1.0, 2.0], [1.0, -2.0], [1.0, 2.0]]
        """
        return self._raw.gradients

    @functools.cached_property
    def directions(self) -> np.ndarray | None:
        """Of a list of all gradients, the directions that show them, as rows of an array."""
        return self._raw.directions

    def __getitem__(self, key: str) -> Any:
        return self._summary[key] if key in self._summary else self.to_dict()[key]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Answer) and (self.question, self._json, self.certificate) == (other.question, other._json, other.certificate)

    def __hash__(self) -> int:
        return hash((self.question, self._json))

    def __getstate__(self) -> dict[str, Any]:
        # all that can be asked for, and not what it is made of
        made = {name: getattr(self, name) for name in ("text", "_json", "_summary", "gradients", "directions")}
        return {**{k: v for k, v in self.__dict__.items() if k != "_raw"}, **made}

    def __repr__(self) -> str:
        return f"<crease.Answer to {self.question}>"


def as_program(p: Any, args: tuple[Any, ...], select: str | None = None, static: Static | str | int = ()) -> Program:
    """A program from whatever stands for one: a program, a text, the name of a file, a function of NumPy, JAX or PyTorch, a module."""
    if isinstance(p, Program):
        program = p
    elif isinstance(p, os.PathLike) or isinstance(p, str) and p.endswith((".onnx", ".crease", ".cnf")):
        program = _crease.load(p)
    elif isinstance(p, str):
        program = _parsed(p, args)
    elif callable(p):
        read = walker(p, args)
        # PyTorch's are told by their kind
        program = read(p, *args) if read is from_torch else read(p, *args, static=static)
    else:
        raise CreaseError(f"a program, a text, the name of a file or a function is needed, got {type(p).__name__}")
    return program.options(select=select) if select is not None else program


def _parsed(text: str, args: tuple[Any, ...]) -> Program:
    """A program from a text; the inputs of an expression have the shapes of the arguments."""
    program = _crease.parse(text)
    shapes = [np.shape(a) if not hasattr(a, "detach") else tuple(a.shape) for a in args if not isinstance(a, (dict, list, tuple))]
    if len(shapes) != len(args) or len(args) != len(program.inputs) or not any(shapes) or text.lstrip().startswith(("program", "#")):
        return program
    return _crease.parse(text, at=", ".join(f"{name}={np.zeros(shape).tolist()}" for (name, _), shape in zip(program.inputs, shapes)))


def inspect(p: Any, *args: Any, select: str | None = None, static: Static | str | int = (), **how: Any) -> Inspection:
    """Differentiates at a point, and says what the answer is.

    ``p`` is a program, a text of the language, or a function of NumPy, JAX or PyTorch. ``select`` says what is picked at kinks (``"torch"``, ``"jax"``, ``"relu=1/2"``, ...). How far to go:
    ``time`` in seconds, ``bits``, ``conflicts``, ``cells``, ``gradients``, ``local_operations``, ...; which output: ``output``; in which numbers: ``numbers="exact"`` or ``"float"``. ``static`` names
    arguments of a function that are part of the program, as in :func:`crease.from_jax`.

    >>> import crease, numpy as np
    >>> crease.inspect("max(v)", np.array([1.0, 3.0, 3.0])).gradient
    array([0., 1., 0.])
    >>> print(crease.inspect("relu(x) - relu(-x)", 0.0))
    value           0
    backprop        0     an element of the conservative gradient (relu'(0) = 0)
    clarke          1     the gradient
    differentiable  yes   the gradient is 1
    conservative    not a singleton: 0 and 2 both belong to it
    kinks           2     relu  1:1   relu(x)
                          relu  1:11  relu(-x)
    cost            P 4 · backprop 5 counted, 14 by Theorem 2 (3.5 x, bound 5 x)
    """
    return Inspection(_crease.inspect(as_program(p, args, select, static), args, how), (args, how))


def _ask(question: str, p: Any, args: tuple[Any, ...], how: dict[str, Any], along: Any = None, stationary: bool = False, executor: Any = None, progress: _cubes.Progress | None = None) -> Answer:
    program = as_program(p, args, static=how.pop("static", ()))
    workers = executor_of(executor)
    try:
        if workers is None:
            raw = _crease.question(question, program, args, along, how, stationary)
        elif question == "differentiable":
            raw = _cubes.differentiable(program, args, workers, how, progress)
        else:
            raw = _cubes.clarke_all(program, args, workers, how, along, stationary, progress)
        return Answer(question, raw, program)
    except KeyboardInterrupt as stop:
        # what was found until then
        if isinstance(found := getattr(stop, "answer", None), _crease.Answer):
            stop.answer = Answer(question, found, program)  # type: ignore[attr-defined]
        raise


def clarke(p: Any, *args: Any, **how: Any) -> Answer:
    """One true Clarke subgradient, exactly: ``.gradient``.

    >>> import crease
    >>> crease.clarke("relu(x) - relu(-x)", 0.0).gradient
    np.float64(1.0)
    """
    return _ask("clarke", p, args, how)


def clarke_all(p: Any, *args: Any, contains: Any = None, executor: Executor | str | None = None, progress: Callable[[int, int], None] | None = None, **how: Any) -> Answer:
    """All limits of gradients around a point; whether a vector is in their hull, if ``contains`` names one. There can be very many: ``time`` limits the search, and Ctrl-C ends it; what was found until then
    is the ``answer`` of the exception (``sys.last_value.answer`` in a session). ``.gradients`` is an array of them.

    ``executor`` is as in :func:`crease.audit`: the directions around the point are taken apart into cubes, each a task, and what the tasks find is one answer, which is ``complete`` only if all of them are done. A cube
    that takes long is taken apart further; that of a worker that was lost is done again. Limits on ``cells`` hold for each cube. ``progress`` is told how many cubes are done, and of how many that are known.

    >>> import crease
    >>> len(crease.clarke_all("abs(x) + abs(y)", 0.0, 0.0)["gradients"])
    4
    """
    return _ask("clarke_all", p, args, how, contains, executor=executor, progress=progress)


def stationary(p: Any, *args: Any, executor: Executor | str | None = None, **how: Any) -> Answer:
    """Whether 0 is a Clarke subgradient: in the JSON under ``stationary``. A yes where the local model is exact has a certificate, 0 as a combination of limits of gradients, which ``crease check`` accepts.
    ``executor`` is as in :func:`crease.clarke_all`.

    >>> import crease
    >>> answer = crease.stationary("max(x, -2*x)", 0.0)
    >>> answer["stationary"]["verdict"], answer.certificate.splitlines()[1]
    ('yes', 'claim member')
    """
    return _ask("clarke_all", p, args, how, stationary=True, executor=executor)


def differentiable(p: Any, *args: Any, executor: Executor | str | None = None, progress: Callable[[int, int], None] | None = None, **how: Any) -> Answer:
    """Whether the program is differentiable at a point, with a certificate.

    ``executor`` is as in :func:`crease.clarke_all`, for what is not found at once: the search is taken apart by the signs of the forms that matter most. It is *no* as soon as one cube shows two gradients, and *yes* if
    none does; what the cubes have proved is one certificate. Limits on ``conflicts`` hold for each cube.

    >>> import crease
    >>> crease.differentiable("relu(x) - relu(-x)", 0.0)["verdict"]
    'yes'
    """
    return _ask("differentiable", p, args, how, executor=executor, progress=progress)


def conservative(p: Any, *args: Any, contains: Any = None, **how: Any) -> Answer:
    """What automatic differentiation can return at all, and whether it can return a vector, if ``contains`` names one.

    >>> import crease
    >>> crease.conservative("relu(x) - relu(-x)", 0.0)["verdict"]
    'several'
    """
    return _ask("conservative", p, args, how, contains)


def directional(p: Any, *args: Any, along: Any, **how: Any) -> Answer:
    """The derivatives along directions, a list whose members are like the arguments.

    >>> import crease
    >>> crease.directional("abs(x)", 0.0, along=[1.0, -2.0])["derivatives"]
    [1, 2]
    """
    return _ask("directional", p, args, how, along)


def lexicographic(p: Any, *args: Any, basis: Any = None, **how: Any) -> Answer:
    """The lexicographic derivative along a basis, a list whose members are like the arguments; the standard one unless told."""
    return _ask("lexicographic", p, args, how, basis)


def check(certificate: str, p: Any = None, *args: Any, **how: Any) -> tuple[str, str | None]:
    """Checks a certificate, by code that shares nothing with the search but exact arithmetic: the claim that it proves, and its vector, as a form in the coordinates d0, d1, ... of a direction, if it is
    about one. With a program and its arguments, the local model that the certificate states is compared with that of the program there.

    >>> import crease
    >>> crease.check(crease.stationary("max(x, -2*x)", 0.0).certificate)
    ('member', '0')
    >>> no = crease.differentiable("abs(x)", 0.0).certificate
    >>> crease.check(no)
    ('not-differentiable', None)
    >>> crease.check(no, "abs(x)", 0.0)
    ('not-differentiable', None)
    """
    program = None if p is None else as_program(p, args, static=how.pop("static", ()))
    return _crease.check(certificate, program, args, how)
