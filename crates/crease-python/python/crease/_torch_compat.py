"""What is private in PyTorch, or has changed between its versions: all of it, and nothing else. PyTorch is given, or imported when a function here is called."""

from __future__ import annotations

import contextlib
import os
import re
import sys
import traceback
from typing import Any, Callable, Iterator

# operators of a graph that stand for no number: checks
_CHECKS = ("aten._assert", "aten.sym_constrain", "aten._functional_assert", "aten._make_dep_token")
# operators that run a graph as it stands: where the graph and its arguments are
_WRAPPERS = {
    "wrap_with_set_grad_enabled": (1, 2), "wrap_with_autocast": (4, 5), "tag_activation_checkpoint": (0, 1), "wrap_activation_checkpoint": (0, 1), "invoke_subgraph": (0, 2),
}
_CUSTOM = "<derivative of "


def folder(torch: Any) -> str:
    """The folder of PyTorch, with a separator at its end."""
    return os.path.dirname(os.path.abspath(torch.__file__)) + os.sep


def export(torch: Any, module: Any, args: tuple[Any, ...], entry: str, inner: tuple[str, ...]) -> Any:
    """The program of a module. Traces keep the user's frames inside of the function `forward` of the file `entry`, and none of the folders `inner`."""
    fast = torch.backends.mha.get_fastpath_enabled()
    # a transformer's fast path is one operator that nothing decomposes
    torch.backends.mha.set_fastpath_enabled(False)
    try:
        with torch.enable_grad(), _named_derivatives(torch), _all_frames(torch, entry, inner):
            return torch.export.export(module, args, strict=False)
    finally:
        torch.backends.mha.set_fastpath_enabled(fast)


_running: list[str] = []


@contextlib.contextmanager
def _named_derivatives(torch: Any) -> Iterator[None]:
    """Knows under which ``autograd.Function`` an operator runs; an export keeps its forward part and drops the rest."""
    base = torch.autograd.Function
    usual = base.__dict__.get("apply")
    if usual is None:
        yield
        return

    def apply(cls: Any, *args: Any, **kwargs: Any) -> Any:
        _running.append(cls.__name__)
        try:
            return usual.__get__(None, cls)(*args, **kwargs)
        finally:
            _running.pop()

    base.apply = classmethod(apply)
    try:
        yield
    finally:
        base.apply = usual


@contextlib.contextmanager
def _all_frames(torch: Any, entry: str, inner: tuple[str, ...]) -> Iterator[None]:
    """Traces of nodes keep all frames of the user's code; PyTorch keeps those of methods called `forward` only, and loses functions."""
    tracer = torch.fx.proxy.TracerBase
    usual = getattr(tracer, "_filter_traceback_frames", None)
    if usual is None:
        yield
        return

    def keep(self: Any, summary: Any) -> Any:
        inside = [i for i, f in enumerate(summary) if f.name == "forward" and f.filename == entry]
        if not inside:
            return usual(self, summary)
        frames = [f for f in summary[inside[-1] + 1 :] if not f.filename.startswith(inner)]
        frames += [traceback.FrameSummary(f"{_CUSTOM}{name}>", 1, name, lookup_line=False, line="") for name in _running[-1:]]
        return traceback.StackSummary.from_list(frames)

    tracer._filter_traceback_frames = keep
    try:
        yield
    finally:
        tracer._filter_traceback_frames = usual


def lines(node: Any) -> list[tuple[str, int]]:
    """The files and lines of a node, the innermost first."""
    found = re.findall(r'File "([^"]+)", line (\d+)', node.meta.get("stack_trace") or "")
    return [(file, int(line)) for file, line in reversed(found) if not file.startswith(("<eval_with_key>", _CUSTOM))]


def derivative_of_the_user(node: Any) -> str | None:
    """The ``autograd.Function`` that a node is under, by its name."""
    found = re.findall(f'File "{_CUSTOM}([^">]+)>"', node.meta.get("stack_trace") or "")
    return found[-1] if found else None


def layer_of(node: Any) -> str:
    """The path of the layer that a node belongs to."""
    stack = [path for path, _ in (node.meta.get("nn_module_stack") or {}).values()]
    return stack[-1] if stack else ""


def written(node: Any) -> str:
    """The operator that the user called, if PyTorch has decomposed it."""
    return str(node.meta.get("original_aten") or node.target)


def is_operator(torch: Any, target: Any) -> bool:
    return isinstance(target, torch._ops.OpOverload)


def runs_graphs(torch: Any, target: Any) -> bool:
    return isinstance(target, torch._ops.HigherOrderOperator)


def wrapped(name: str, args: Any) -> tuple[Any, Any] | None:
    """The graph and its arguments of an operator that runs it as it stands; None for others."""
    where = _WRAPPERS.get(name)
    return None if where is None else (args[where[0]], args[where[1] :])


def is_core(torch: Any, target: Any) -> bool:
    return torch.Tag.core in target.tags


def is_random(torch: Any, target: Any) -> bool:
    return torch.Tag.nondeterministic_seeded in getattr(target, "tags", ())


def is_check(target: Any) -> bool:
    """Whether an operator is a check, which is no part of a program."""
    return str(target).startswith(_CHECKS)


def schema(node: Any) -> Any:
    return getattr(node.target, "_schema", None)


def functional(torch: Any, target: Any) -> Any:
    """The operator that computes the same in a new place."""
    packet, _, overload = str(target).rpartition(".")
    if not target._schema.is_mutable or not packet.endswith("_"):
        return target
    found = getattr(torch.ops.aten, packet.removeprefix("aten.")[:-1], None)
    return getattr(found, overload, target) if found is not None else target


def decomposed(torch: Any, exported: Any, is_ours: Callable[[Any], bool]) -> Any:
    """The program in operators that are ours, as far as PyTorch knows how."""
    table = torch.export.default_decompositions()
    chosen = {target: table[target] for target in list(table.keys()) if not is_ours(target)}
    for target, rule in torch._decomp.decomposition_table.items():
        if target not in chosen and is_operator(torch, target) and not is_ours(target) and not is_core(torch, target):
            chosen[target] = rule
    return exported.run_decompositions(chosen)


def core_operators(torch: Any) -> list[str]:
    """The packets of core ATen, by name."""
    names = set()
    for name in dir(torch.ops.aten):
        packet = getattr(torch.ops.aten, name)
        if not hasattr(packet, "overloads"):
            continue
        if any(is_core(torch, getattr(packet, o)) for o in packet.overloads()):
            names.add(name)
    return sorted(names)


def loaded() -> Any | None:
    """PyTorch, if somebody has imported it."""
    torch = sys.modules.get("torch")
    return torch if torch is not None and hasattr(torch, "nn") else None
