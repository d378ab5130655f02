"""The data of all rows, as files that every peer reads, so that no two systems can differ in their inputs.

crease's own bench draws the same numbers in Rust: SplitMix64, then Box and Muller's formula through the C library's log and
cos, which is also what Python's math module calls. Here and there the order of the draws is the definition; a slip in either
shows at once, for no value would agree.

A file is little-endian numbers and nothing else: .f64 or .i32. Rows in single precision round the same f64 numbers.
"""

import array
import math
import os
import sys

MASK = (1 << 64) - 1
# Part of the folder's name: change it with the definitions below, and old files are not taken for new ones.
EDITION = "1"


class Draw:
    def __init__(self, seed):
        self.state = seed

    def bits(self):
        self.state = (self.state + 0x9E3779B97F4A7C15) & MASK
        z = self.state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
        return z ^ (z >> 31)

    def below(self, n):
        return self.bits() % n

    def uniform(self):
        return (self.bits() >> 11) / (1 << 53)

    def normal(self):
        r = math.sqrt(-2.0 * math.log(1.0 - self.uniform()))
        return r * math.cos(math.tau * self.uniform())

    def normals(self, n, scale=1.0):
        return [self.normal() * scale for _ in range(n)]

    def labels(self, batch, classes=10):
        return [self.below(classes) for _ in range(batch)]


def sat(variables, clauses):
    """Clauses of three literals that a planted assignment satisfies, and sixteen points with the signs of the plant: the value
    is positive there, and the gradient one entry of +1 or -1."""
    draw = Draw(20_230_501 + variables)
    plant = [-1 if draw.below(2) == 0 else 1 for _ in range(variables)]
    literals = []
    while len(literals) < 3 * clauses:
        v = []
        while len(v) < 3:
            k = draw.below(variables)
            if k not in v:
                v.append(k)
        clause = [(k + 1) * (-1 if draw.below(2) == 0 else 1) for k in v]
        if any(c * plant[abs(c) - 1] > 0 for c in clause):
            literals += clause
    points = [s * abs(draw.normal()) for _ in range(16) for s in plant]
    return {"clauses.i32": literals, "points.f64": points}


def mlp(batch):
    draw, sizes = Draw(0), [784, 256, 256, 10]
    files = {}
    for i, (a, b) in enumerate(zip(sizes, sizes[1:])):
        files[f"w{i}.f64"] = draw.normals(a * b, math.sqrt(2.0 / a))
        files[f"b{i}.f64"] = [0.0] * b
    files["x.f64"] = draw.normals(batch * 784)
    files["labels.i32"] = draw.labels(batch)
    return files


def vector(n):
    draw = Draw(2)
    return {"x.f64": draw.normals(n), "q.f64": draw.normals(n // 10)}


def theorem3(p):
    draw = Draw(3)
    return {f"{name}.f64": draw.normals(p * p) for name in ("b", "m", "directions")}


def cnn(batch):
    draw, files = Draw(1), {}
    parts = [("w0", 72, 0.3), ("b0", 8, 0.0), ("w1", 1152, 0.15), ("b1", 16, 0.0), ("w2", 7840, 0.05), ("b2", 10, 0.0)]
    for name, n, scale in parts + [("x", batch * 784, 1.0)]:
        files[f"{name}.f64"] = draw.normals(n, scale)
    files["labels.i32"] = draw.labels(batch)
    return files


def gmm(d, k, n):
    draw = Draw(6)
    files = {"alphas.f64": draw.normals(k), "means.f64": [draw.uniform() for _ in range(k * d)]}
    files["icf.f64"] = draw.normals(k * (d + d * (d - 1) // 2))
    files["x.f64"] = draw.normals(n * d)
    return files


def lasso(rows, columns):
    draw = Draw(8)
    return {"a.f64": draw.normals(rows * columns, 0.1), "b.f64": draw.normals(rows)}


def gru(n, m, steps):
    draw = Draw(9)
    files = {"x.f64": draw.normals(steps * m)}
    for name, size, scale in [("W", n * n, 0.15), ("U", n * n, 0.15), ("V", n * n, 0.15)]:
        files[f"{name}.f64"] = draw.normals(size, scale)
    for name in ("w", "u", "v"):
        files[f"{name}_in.f64"] = draw.normals(n * m, 0.25)
    files["out.f64"] = draw.normals(n, 0.2)
    return files


def camera(points):
    draw = Draw(10)
    files = {"w.f64": draw.normals(3, 0.3), "principal.f64": draw.normals(2, 0.1), "point.f64": draw.normals(points * 3)}
    files["weight.f64"] = [1.0 + x for x in draw.normals(points, 0.2)]
    files["seen.f64"] = draw.normals(points * 2)
    return files


SETS = {
    "sat_250": lambda: sat(250, 1065),
    "sat_2500": lambda: sat(2500, 10650),
    "mlp_1": lambda: mlp(1),
    "mlp_64": lambda: mlp(64),
    "vector": lambda: vector(10**6),
    "theorem3_256": lambda: theorem3(256),
    "theorem3_512": lambda: theorem3(512),
    "cnn_1": lambda: cnn(1),
    "cnn_64": lambda: cnn(64),
    "gmm": lambda: gmm(10, 25, 1000),
    "lasso": lambda: lasso(50, 100),
    "gru": lambda: gru(32, 16, 100),
    "camera": lambda: camera(1000),
}


def write(folder):
    """Writes what is missing and returns the folder; a set is written beside its place and then renamed, so a set that exists
    is whole."""
    folder = os.path.join(folder, f"data-{EDITION}")
    os.makedirs(folder, exist_ok=True)
    for name, make in SETS.items():
        place = os.path.join(folder, name)
        if os.path.isdir(place):
            continue
        half = f"{place}.{os.getpid()}"
        os.mkdir(half)
        for file, numbers in make().items():
            cells = array.array("i" if file.endswith(".i32") else "d", numbers)
            if sys.byteorder == "big":
                cells.byteswap()
            with open(os.path.join(half, file), "wb") as f:
                cells.tofile(f)
        os.rename(half, place)
    return folder
