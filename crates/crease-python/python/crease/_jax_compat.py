"""What is private in JAX, or has changed between its versions: all of it, and nothing else. JAX is imported when a function here is called."""

from __future__ import annotations

import functools
import os
from typing import Any, Iterator


@functools.cache
def library() -> str:
    """The folder of JAX, with a separator at its end."""
    import jax

    return os.path.dirname(os.path.abspath(jax.__file__)) + os.sep


def frames(eqn: Any) -> Iterator[tuple[str, int]]:
    """The files and lines that an equation was made at, the innermost first; nothing if JAX keeps none."""
    traceback = getattr(eqn.source_info, "traceback", None)
    for f in traceback.frames if traceback is not None else ():
        yield f.file_name, int(f.line_num)


def source_of(jaxpr: Any) -> tuple[str | None, str | None]:
    """The function and the file that a jaxpr was made of."""
    info = getattr(jaxpr, "debug_info", None)
    text = getattr(info, "func_src_info", None) or ""
    function, _, place = text.partition(" at ")
    file = place.rpartition(":")[0]
    return function or None, file or None


def run(eqn: Any, xs: list[Any]) -> list[Any]:
    """The results of an equation for known arguments, computed by JAX."""
    import jax

    with jax.ensure_compile_time_eval():
        params = eqn.primitive.get_bind_params(eqn.params)
        # older ones give functions apart
        functions, params = params if isinstance(params, tuple) else ((), params)
        out = eqn.primitive.bind(*functions, *xs, **params)
    return list(out) if eqn.primitive.multiple_results else [out]


def is_literal(v: Any) -> bool:
    """Whether a variable of a jaxpr is a number that is written there."""
    return hasattr(v, "val")


def gather_numbers(**how: Any) -> Any:
    """The numbers of dimensions of a gather."""
    from jax.lax import GatherDimensionNumbers

    return GatherDimensionNumbers(**how)


def from_batched_choice(eqn: Any) -> bool:
    """Whether JAX made this equation of a ``cond`` under ``vmap``."""
    return any(file.endswith("conditionals.py") and "control_flow" in file for file, _ in frames(eqn))


def primitive_names() -> list[str]:
    """The names of all primitives that JAX shows, as its attributes spell them."""
    import jax.extend.core.primitives as primitives

    return sorted(n[:-2] for n in dir(primitives) if n.endswith("_p"))


# calls of other jaxprs, by the names that versions have for them, and where they keep them
CALLS = {
    "jit": "jaxpr", "pjit": "jaxpr", "closed_call": "call_jaxpr", "core_call": "call_jaxpr", "call": "call_jaxpr", "checkpoint": "jaxpr", "remat": "jaxpr", "remat2": "jaxpr",
    "custom_jvp_call": "call_jaxpr", "custom_vjp_call": "call_jaxpr", "custom_vjp_call_jaxpr": "fun_jaxpr", "custom_lin": "call_jaxpr", "run_state": "jaxpr",
}
