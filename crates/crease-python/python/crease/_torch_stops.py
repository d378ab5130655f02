"""Where PyTorch's tape stops: ``detach``, ``no_grad`` and what they stand between.

The gradient that PyTorch returns for a function with a ``detach`` in it is not that of the function, unless what is detached has no part in it. A program has one derivative, so such a function is refused
unless the caller wants the true one. What is found here, on the graph as it was exported: a stop on a way from an input to a float of the result, along operators whose result moves
with their arguments.
"""

from __future__ import annotations

from typing import Any, Iterator

# operators whose result does not move with their arguments, or depends on their shapes only
_FLAT = frozenset(
    """sign sgn floor ceil round trunc fix heaviside zeros_like ones_like full_like empty_like rand_like randn_like new_zeros new_ones new_full new_empty new_empty_strided
    floor_divide bernoulli""".split()
)
# the last two give a number to Python, which has no tape
_STOPS = {"detach": "detach", "detach_copy": "detach", "item": "item", "_local_scalar_dense": "item"}


def first_stop(torch: Any, exported: Any, with_parameters: bool) -> tuple[Any, str] | None:
    """The node of a stop that changes the derivative, and what it is called; None if there is none."""
    signature = exported.graph_signature
    kinds, results = torch.export.graph_signature.InputKind, torch.export.graph_signature.OutputKind
    moving_kinds = {kinds.USER_INPUT} | ({kinds.PARAMETER} if with_parameters else set())
    moving = {spec.arg.name for spec in signature.input_specs if spec.kind in moving_kinds}
    wanted = [spec.kind == results.USER_OUTPUT for spec in signature.output_specs]
    return _first(torch, exported.graph_module, moving, wanted)


def _first(torch: Any, gm: Any, moving: set[str], wanted: list[bool] | None) -> tuple[Any, str] | None:
    nodes = list(gm.graph.nodes)
    depends = set()
    for node in nodes:
        if node.op == "placeholder" and node.name in moving or node.op != "placeholder" and any(n in depends for n in node.all_input_nodes):
            depends.add(node)
    mutating = any(_mutates(n) for n in nodes)
    live: set[Any] = set()
    for node in reversed(nodes):
        if node.op == "output":
            found = node.args[0]
            for i, x in enumerate(found if isinstance(found, (list, tuple)) else [found]):
                if isinstance(x, torch.fx.Node) and (wanted is None or wanted[i]):
                    live.add(x)
            continue
        # what is written into others may be read under another name
        changed = mutating and _mutates(node)
        if node not in live and not changed or node not in depends or node.op != "call_function":
            continue
        if not changed and not _has_floats(torch, node.meta.get("val")):
            continue
        name = _packet(node)
        if name in _STOPS:
            return node, _STOPS[name]
        if name in _FLAT:
            continue
        inside = list(_graphs(torch, gm, node))
        if name == "wrap_with_set_grad_enabled" and not node.args[0]:
            # the operator itself has no place, what it runs has
            placed = [n for graph in inside for n in graph.graph.nodes if n.meta.get("stack_trace")]
            return (placed or [node])[0], "no_grad"
        for graph in inside:
            inputs = {n.name for n in graph.graph.nodes if n.op == "placeholder"}
            found = _first(torch, graph, inputs, None)
            if found is not None:
                return found
        live.update(node.all_input_nodes)
    return None


def _graphs(torch: Any, gm: Any, node: Any) -> Iterator[Any]:
    """The graphs that an operator runs."""
    for n in node.all_input_nodes:
        if n.op == "get_attr":
            value = gm
            for part in n.target.split("."):
                value = getattr(value, part)
            if isinstance(value, torch.fx.GraphModule):
                yield value


def _packet(node: Any) -> str:
    """The name of an operator without its overload, that of the functional one for an operator in place."""
    target = node.target
    if hasattr(target, "name") and not hasattr(target, "_schema"):
        return str(target.name())
    name = str(target).removeprefix("aten.").partition(".")[0]
    return name[:-1] if name.endswith("_") and not name.endswith("__") else name


def _mutates(node: Any) -> bool:
    schema = getattr(node.target, "_schema", None)
    return schema is not None and schema.is_mutable


def _has_floats(torch: Any, val: Any) -> bool:
    if isinstance(val, (list, tuple)):
        return any(_has_floats(torch, v) for v in val)
    return val is None or isinstance(val, (torch.SymFloat, float)) or isinstance(val, torch.Tensor) and val.is_floating_point()
