"""The examples in docstrings, those of the compiled part included."""

import doctest
import importlib

import pytest

import crease
from crease import _crease

MODULES = ["crease", *(f"crease.{m}" for m in ("_answers", "_audit", "_explain", "_gradcheck", "_numpy", "_ops", "_trace", "_tree", "_unsupported", "_walkers", "executors"))]


@pytest.mark.parametrize("name", MODULES)
def test_modules(name):
    result = doctest.testmod(importlib.import_module(name), optionflags=doctest.ELLIPSIS)
    assert result.failed == 0


def compiled():
    for name, thing in vars(_crease).items():
        members = vars(thing).items() if isinstance(thing, type) else ()
        for label, x in [(name, thing), *((f"{name}.{k}", v) for k, v in members)]:
            if ">>>" in (getattr(x, "__doc__", None) or ""):
                yield pytest.param(x.__doc__, id=label)


@pytest.mark.parametrize("text", list(compiled()))
def test_compiled(text):
    test = doctest.DocTestParser().get_doctest(text, {}, "compiled", None, 0)
    assert doctest.DocTestRunner().run(test).failed == 0


def test_everything_is_documented():
    missing = [n for n in crease.__all__ if n != "__version__" and not (getattr(crease, n).__doc__ or "").strip()]
    methods = [f"Program.{n}" for n, m in vars(crease.Program).items() if not n.startswith("_") and not (getattr(m, "__doc__", None) or "").strip()]
    assert missing + methods == []


def test_stubs_name_what_there_is():
    """The stubs of the compiled part list its names, and no others."""
    import ast
    from pathlib import Path

    tree = ast.parse((Path(crease.__file__).parent / "_crease.pyi").read_text(encoding="utf-8"))
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            assert hasattr(_crease, node.name), node.name
        if isinstance(node, ast.ClassDef):
            stated = {m.name for m in node.body if isinstance(m, ast.FunctionDef) if not m.name.startswith("__")}
            real = {n for n in vars(getattr(_crease, node.name)) if not n.startswith("_")}
            assert stated == real, node.name
    stated = {n.name for n in tree.body if isinstance(n, (ast.FunctionDef, ast.ClassDef))}
    assert stated == {n for n in vars(_crease) if not n.startswith("_")}
