"""Values and gradients off kinks against JAX itself: all functions of the catalogue in tools/coverage_jax.py."""

import importlib.util
import pathlib
import subprocess
import sys

import pytest

pytest.importorskip("jax")

TOOL = pathlib.Path(__file__).parents[1] / "tools" / "coverage_jax.py"

# what cannot be imported, and says so
REFUSED = {
    "lax": {
        "lgamma", "digamma", "bessel_i0e", "bessel_i1e", "erf_inv", "nextafter", "while with a computed bound", "igamma", "igammac", "regularized_incomplete_beta",
        "polygamma", "zeta", "fft", "eigh", "svd",
    },
    "norm": {"matrix, ord=2", "matrix, ord=nuc"},
    "jax.scipy.special": {"gammaln", "digamma", "i0", "i1", "i0e", "i1e", "erfinv"},
}  # fmt: skip

# these are tried in single precision as well; the script tries all
BOTH = ("jax.nn", "networks", "norm")


@pytest.fixture(scope="module")
def tool():
    """The catalogue, with 64 bits switched on, and off again at the end."""
    import jax

    before = jax.config.jax_enable_x64
    module = load()
    jax.config.update("jax_enable_x64", True)
    yield module
    jax.config.update("jax_enable_x64", before)


def load():
    import jax

    before = jax.config.jax_enable_x64
    spec = importlib.util.spec_from_file_location("coverage_jax", TOOL)
    module = importlib.util.module_from_spec(spec)
    sys.modules["coverage_jax"] = module
    spec.loader.exec_module(module)
    jax.config.update("jax_enable_x64", before)
    return module


CASES = load().CASES
# what the tests below found, for the count at the end
FOUND: dict[str, str] = {}


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("i", range(len(CASES)), ids=[f"{c.group}-{c.name}" for c in CASES])
def test_as_jax(tool, i):
    case = tool.CASES[i]
    status, why = tool.judge(case, ("float64", "float32") if case.group in BOTH else ("float64",))
    if status == "broken" and "JAX itself" in why:
        status, why = tool.judge(case, ("float32",))
    expected = "refused" if case.name in REFUSED.get(case.group, ()) else "ok"
    FOUND[str(case)] = status
    assert status == expected, why


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_nine_tenths_of_lax(tool):
    """Of the primitives that stand in functions which agree with JAX, not of names in a list."""

    def status(case):
        if str(case) not in FOUND:
            FOUND[str(case)] = tool.judge(case, ("float64",))[0] if case.group == "lax" else "not tried"
        return FOUND[str(case)]

    yes, no = tool.lax_primitives(status)
    assert len(yes) >= 0.9 * (len(yes) + len(no)), no


def test_the_script():
    done = subprocess.run([sys.executable, str(TOOL), "--group", "jax.nn", "--name", "relu"], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert "| jax.nn | 3 | 3 | 0 | 0 | 0 |" in done.stdout
