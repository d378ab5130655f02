"""What is called certain is true: numbers with their bounds, of programs that doubles get wrong.

The cases, with truths of 45 digits, are made by `cargo run -p crease-corpus --example rounding -- 40 > rounding.jsonl`.
"""

import json
from fractions import Fraction
from pathlib import Path


import crease

LINES = (Path(__file__).parent / "rounding.jsonl").read_text().splitlines()
CASES = [json.loads(line) for line in LINES]
DIGITS = Fraction(1, 10**40)


def truth(parts):
    return sum(map(Fraction, parts))


def numbers(value):
    """All numbers of lists of lists, or of a dictionary of such."""
    if isinstance(value, dict):
        value = list(value.values())
    return [n for v in value for n in numbers(v)] if isinstance(value, list) else [value]


def assert_encloses(near, radius, truths):
    near, radius = numbers(near), None if radius is None else numbers(radius)
    assert len(near) == len(truths)
    for k, (x, t) in enumerate(zip(near, truths)):
        # a number without a bound is exact, and shown as the nearest double
        bound = abs(Fraction(x)) / 2**53 if radius is None else Fraction(radius[k])
        assert abs(Fraction(x) - t) <= bound + abs(t) * DIGITS, (x, float(bound), float(t))


def is_good(near, radius):
    """Whether numbers have six digits."""
    return radius is None or all(r <= 1e-6 * abs(x) for x, r in zip(numbers(near), numbers(radius)))


def test_certain_numbers_are_true():
    good = 0
    for case in CASES:
        value, gradient = truth(case["value"]), [truth(g) for g in case["gradient"]]
        try:
            i = crease.inspect(case["program"], *case["point"])
        except crease.CreaseError:
            continue
        assert i.status != "outside", case
        exact = [float(g) for g in gradient]
        exact = exact[0] if len(exact) == 1 else tuple(exact)
        assert i.judge(exact, within=1e-12) != "outside", case
        said = i.to_dict()
        if said["certain"]:
            radius = said.get("radius") or {}
            assert_encloses(said["value"], radius.get("value"), [value])
            assert_encloses(said["gradient"], radius.get("gradient"), gradient)
            good += all(is_good(said[of], radius.get(of)) for of in ("value", "gradient"))
    assert good >= 0.8 * len(CASES), f"{good} of {len(CASES)}"
