"""What installed PyTorch returns at kinks, and what the imported program picks: computed, not remembered."""

import importlib.util
import pathlib

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from crease._torch import ties_table  # noqa: E402

# where the slope is infinite, or there is no value, and the program says so
NO_SLOPE = {"sqrt(x)", "sqrt(relu(x))", "x ** 0.5", "atan2(x[0], x[1])"}
# where PyTorch's answer is NaN, and the program has the convention 0 for a norm at 0
NAN = {"hypot(x[0], x[1])", "sqrt(sum(x * x))"}
# where PyTorch follows whichever of equals its algorithm leaves in front
ANY = {"topk(x, 2)"}

ROWS = ties_table()


@pytest.mark.parametrize("row", ROWS, ids=lambda r: f"{r.operation} {r.place}")
def test_as_torch(row):
    if row.operation in NO_SLOPE:
        assert isinstance(row.crease, str)
    elif row.operation in NAN:
        assert np.all(np.isnan(row.torch)) and not np.any(row.crease)
    elif row.operation in ANY:
        assert np.sum(row.torch) == np.sum(row.crease) and np.array_equal(np.sort(row.torch), np.sort(row.crease))
    else:
        assert row.same, f"PyTorch {row.version} returns {row.torch}, the program {row.crease}"


def test_every_row_is_known():
    names = {r.operation for r in ROWS}
    assert NAN | NO_SLOPE | ANY <= names
    assert len(names) == len(ROWS)


def test_the_page():
    """docs/ties.md has the table that the installed version gives; another version may have another number."""
    tool = pathlib.Path(__file__).parents[1] / "tools" / "ties.py"
    spec = importlib.util.spec_from_file_location("crease_tools_ties", tool)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    version, _, table = module.section("torch").partition("\n")
    written, _, there = module.page.part("ties.md", "torch").partition("\n")
    assert written.startswith("PyTorch ") and table == there, "python tools/ties.py torch --write"
