"""The scripts of the gallery, run as a reader would run them."""

import subprocess
import sys
from pathlib import Path

import pytest

GALLERY = Path(__file__).resolve().parents[1] / "gallery"

SCRIPTS = {
    "nan_of_a_norm.py": ("jax", ["JAX says [nan nan]", "sqrt of 0 at", "nan_of_a_norm.py:16", "the safe one says [0. 0.] which is a Clarke subgradient"]),
    "audit_of_a_max_pool.py": (None, ["images with ties: 20 of 20"]),
    "custom_gradient_refuted.py": (None, ["equal parts: a Clarke subgradient", "full weight: [1. 1.] is outside", "custom_gradient_refuted.py:14"]),
    "minimax_is_stationary.py": (None, ["stationary: yes", "is a Clarke subgradient: 0", "another line: no"]),
    "batches.py": ("jax", ["largest difference", "crease"]),
    "three_sat.py": (None, ["all eight clauses: differentiable at 0: yes", "seven of them: differentiable at 0: no"]),
}


def test_all_are_tested():
    assert {p.name for p in GALLERY.glob("*.py")} == {*SCRIPTS, "picture.py"}


@pytest.mark.parametrize("name", SCRIPTS)
def test_script(name, tmp_path):
    needs, lines = SCRIPTS[name]
    if needs:
        pytest.importorskip(needs)
    picture = tmp_path / "picture.svg"
    done = subprocess.run([sys.executable, GALLERY / name, picture], capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    for line in lines:
        assert line in done.stdout, done.stdout
    assert picture.read_text(encoding="utf-8").startswith("<svg")
