"""The rows that are compared: their names as crease's own bench prints them, and how closely answers must agree.

The tolerance is relative, and allows for another order of summation, not for another answer.
"""

F64, F32 = 1e-9, 2e-5

ROWS = {
    "A sat": F64,
    "A' sat": F64,
    "B mlp f32, batch 1": F32,
    "B' mlp f32, batch 64": F32,
    "B' mlp f64, batch 64": F64,
    "C l1 10^6": F64,
    "C linf 10^6": F64,
    "C sum of relu 10^6": F64,
    "C max-linear 10 x 10^5": F64,
    "C' median 10^6 f32": F64,
    "D theorem 3, p = 256": F64,
    "D theorem 3, p = 512": F64,
    "E cnn f32, batch 1": F32,
    "E cnn f32, batch 64": F32,
    "F gmm 10, 25, 1000": F64,
    "H lasso 50 x 100, 1000 steps": F64,
    "I gru 32, 100 steps": F64,
    "J camera, 1000 points": F64,
}

# What the second time means, where it is not "value and gradient".
DIRECTIONAL = {"D theorem 3, p = 256", "D theorem 3, p = 512"}


def wanted(names):
    """The rows that a list of words asks for: a letter (with its primes) or a whole name; all for an empty list."""
    if not names:
        return list(ROWS)
    return [r for r in ROWS if r in names or r.split()[0] in names]
