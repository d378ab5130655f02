"""What installed JAX returns at kinks, and what the imported program picks: computed, not remembered."""

import importlib.util
import pathlib

import numpy as np
import pytest

pytest.importorskip("jax")

from crease._jax import ties_table  # noqa: E402

# where JAX's answer is NaN, and the program has the convention 0 for the norm at 0
NAN = {"linalg.norm(x)", "linalg.norm(x) ** 2", "sqrt(sum(x * x))", "std(x)"}
# where the slope is infinite, or there is no value, and the program says so
NO_SLOPE = {"sqrt(x)", "sqrt(relu(x))", "cbrt(x)", "x ** 0.5", "arctan2(x[0], x[1])"}

ROWS = ties_table()


@pytest.mark.parametrize("row", ROWS, ids=lambda r: f"{r.operation} {r.place}")
def test_as_jax(row):
    if row.operation in NO_SLOPE:
        assert isinstance(row.crease, str)
    elif row.operation in NAN:
        assert np.all(np.isnan(row.jax)) and not np.any(row.crease)
    else:
        assert row.same, f"JAX {row.version} returns {row.jax}, the program {row.crease}"


def test_every_row_is_known():
    names = {r.operation for r in ROWS}
    assert NAN | NO_SLOPE <= names
    assert len(names) == len(ROWS)


def test_the_page():
    """docs/ties.md has the table that the installed version gives; another version may have another number."""
    tool = pathlib.Path(__file__).parents[1] / "tools" / "ties.py"
    spec = importlib.util.spec_from_file_location("crease_tools_ties", tool)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    version, _, table = module.section("jax").partition("\n")
    written, _, there = module.page.part("ties.md", "jax").partition("\n")
    assert written.startswith("JAX ") and table == there, "python tools/ties.py jax --write"
