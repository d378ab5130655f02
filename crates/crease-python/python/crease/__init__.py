"""crease: differentiate nonsmooth programs, say what the answer is, and count what it cost.

Programs come from text (:func:`parse`), files (:func:`load`: the language of crease, or ONNX), NumPy code (:func:`trace`), JAX (:func:`from_jax`) and PyTorch
(:func:`from_torch`). A :class:`Program` is called like a function, and has ``grad``, ``value_and_grad``, ``jvp``, ``vjp``, ``hvp``, ``jacobian``, ``batch``, ``cost``, ``text``.

What an answer is: :func:`inspect`. What your framework returned, what it is, and where it came from: :func:`explain`. Whether a custom gradient is valid, at ties too:
:func:`gradcheck`. Exact answers to single questions: :func:`clarke`, :func:`clarke_all`, :func:`directional`, :func:`lexicographic`, :func:`conservative`,
:func:`differentiable`, :func:`stationary`. Over a data set: :func:`audit`. What can be imported: :func:`supported`; what cannot raises :class:`UnsupportedError`.

>>> import crease, numpy as np
>>> p = crease.trace(lambda x: np.maximum(x, 0) - np.maximum(-x, 0), 0.0)  # the identity
>>> p.grad(0.0)  # what automatic differentiation returns, with the first of equals at each maximum
np.float64(2.0)
>>> crease.inspect(p, 0.0).clarke  # what is right
np.float64(1.0)
"""

from __future__ import annotations

from ._answers import Answer, Inspection, Kink, Status, check, clarke, clarke_all, conservative, differentiable, directional, inspect, lexicographic, stationary
from ._audit import Audit, audit, audit_iter
from ._crease import Batch, CreaseError, Program, __version__, load, parse
from ._explain import Explanation, Singularity, explain
from ._gradcheck import GradcheckError, gradcheck
from ._trace import trace
from ._unsupported import UnsupportedError, supported
from ._walkers import from_jax, from_torch

__all__ = [
    "Answer", "Audit", "Batch", "CreaseError", "Explanation", "GradcheckError", "Inspection", "Kink", "Program", "Singularity", "Status", "UnsupportedError", "__version__",
    "audit", "audit_iter", "check", "clarke", "clarke_all", "conservative", "differentiable", "directional", "explain", "from_jax", "from_torch", "gradcheck", "inspect",
    "lexicographic", "load", "parse", "stationary", "supported", "trace",
]  # fmt: skip
