"""Do all systems give the same answer? One referee for each row; all others are held against it.

The gradient is compared part by part (each weight matrix and each bias is a part) through its fingerprint: number of entries,
sum of their sizes, and a weighted sum. Two gradients that differ in one entry by more than the tolerance times the size of
their part differ in the fingerprint, but for a coincidence.
"""

import math

from . import rows

# Who is trusted: code that was derived by hand before any system.
REFEREES = ["numpy", "Rust, by hand", "crease"]


def referee(lines):
    for name in REFEREES:
        for line in lines:
            if line["system"].startswith(name) and line.get("gradient"):
                return line
    return None


def distance(line, other):
    """How far two answers are apart, relative to their size, and where."""
    a, b = line["answer"], other["answer"]
    worst = (abs(a - b) / max(abs(a), abs(b), 1e-300) if a != b else 0.0, "value")
    if [p[0] for p in line["gradient"]] != [p[0] for p in other["gradient"]]:
        return math.inf, "number of entries"
    for k, ((_, size, mix), (_, size2, mix2)) in enumerate(zip(line["gradient"], other["gradient"])):
        scale = max(size, size2, 1e-300)
        off = max(abs(size - size2), abs(mix - mix2)) / scale
        worst = max(worst, (off if off == off else math.inf, f"derivative, part {k}"))
    return worst


def judge(lines):
    """Gives every line a verdict: agrees, wrong, failed or unchecked."""
    for row, tolerance in rows.ROWS.items():
        here = [l for l in lines if l.get("row") == row]
        judge_ = referee(here)
        for line in here:
            if "error" in line:
                line["verdict"], line["why"] = "failed", line["error"]
            elif "gradient" not in line:
                line["verdict"], line["why"] = "unchecked", "printed no answer"
            elif line is judge_:
                line["verdict"], line["why"] = "agrees", "referee"
            else:
                off, where = distance(line, judge_)
                line["verdict"] = "agrees" if off <= tolerance else "wrong"
                line["why"] = "" if off <= tolerance else f"{where} off by {off:.1e}"
        if len([l for l in here if "gradient" in l]) == 1 and judge_:
            judge_["verdict"], judge_["why"] = "unchecked", "nobody to compare with"
    return lines
