"""What every Python peer needs: the data as arrays, a clock, and the line that it prints for each row.

A peer hands over a list of (row, mode, prepare); prepare() builds whatever is built once and returns three functions without
arguments: the value; value and gradient; and the answer to be checked, as (value, [gradient parts]).
"""

import argparse
import json
import os
import time

import numpy as np

DATA = os.environ.get("BENCH_DATA", "")


def read(name, shape, dtype=np.float64):
    path = os.path.join(DATA, name)
    if name.endswith(".i32"):
        return np.fromfile(path, "<i4").astype(np.int64).reshape(shape)
    return np.fromfile(path, "<f8").astype(dtype).reshape(shape)


def sat(variables):
    """Which variable each literal reads, its sign, and the points."""
    clauses = read(f"sat_{variables}/clauses.i32", (-1, 3))
    return np.abs(clauses) - 1, np.sign(clauses).astype(float), read(f"sat_{variables}/points.f64", (16, variables))


def mlp(batch, dtype):
    """Weights and biases in turn, images, labels."""
    sizes, parameters = [784, 256, 256, 10], []
    for i, (a, b) in enumerate(zip(sizes, sizes[1:])):
        parameters += [read(f"mlp_{batch}/w{i}.f64", (a, b), dtype), read(f"mlp_{batch}/b{i}.f64", (b,), dtype)]
    return parameters, read(f"mlp_{batch}/x.f64", (batch, 784), dtype), read(f"mlp_{batch}/labels.i32", (batch,))


def vector():
    return read("vector/x.f64", (-1,)), read("vector/q.f64", (-1,))


def theorem3(p):
    """U, B, M, and the directions, one in each row."""
    u = np.ones((1, 1))
    while len(u) < p:
        u = np.block([[u, u], [u, -u]])
    return (u, *(read(f"theorem3_{p}/{name}.f64", (p, p)) for name in ("b", "m", "directions")))


def cnn(batch, dtype=np.float32):
    shapes = {"w0": (8, 1, 3, 3), "b0": (8,), "w1": (16, 8, 3, 3), "b1": (16,), "w2": (784, 10), "b2": (10,)}
    parameters = [read(f"cnn_{batch}/{name}.f64", shape, dtype) for name, shape in shapes.items()]
    return parameters, read(f"cnn_{batch}/x.f64", (batch, 1, 28, 28), dtype), read(f"cnn_{batch}/labels.i32", (batch,))


def gmm():
    """Alphas, means, factors, points."""
    shapes = {"alphas": (25,), "means": (25, 10), "icf": (25, 55), "x": (-1, 10)}
    return tuple(read(f"gmm/{name}.f64", shape) for name, shape in shapes.items())


def lasso():
    """Matrix, targets, penalty and rate."""
    return read("lasso/a.f64", (50, 100)), read("lasso/b.f64", (50,)), np.float64(0.1), np.float64(0.25)


def gru():
    """The series; then six matrices and the last layer."""
    n, m = 32, 16
    square = [read(f"gru/{name}.f64", (n, n)) for name in "WUV"]
    wide = [read(f"gru/{name}_in.f64", (n, m)) for name in "wuv"]
    return read("gru/x.f64", (-1, m)), (*square, *wide, read("gru/out.f64", (n,)))


def camera():
    """Rotation, centre, focal length, principal point, distortion, points, weights; then what was seen."""
    centre, radial = np.array([0.0, 0.0, -10.0]), np.array([0.1, 0.01])
    parameters = (read("camera/w.f64", (3,)), centre, np.float64(2.0), read("camera/principal.f64", (2,)), radial)
    return (*parameters, read("camera/point.f64", (-1, 3)), read("camera/weight.f64", (-1,))), read("camera/seen.f64", (-1, 2))


def lower_triangle(d=10):
    """Row and column of each factor below the diagonal, which come column by column."""
    cells = [(row, column) for column in range(d) for row in range(column + 1, d)]
    return np.array(cells).T


GMM_CONSTANT = -1000 * 10 * 0.5 * np.log(2 * np.pi)


def in_turn(points):
    """A function that hands out the points round and round: a program must not get used to one of them."""
    state = [0]

    def next_point():
        state[0] = (state[0] + 1) % len(points)
        return points[state[0]]

    return next_point


def times(f, seconds):
    """Least and median time of a call in microseconds. Calls that are short are timed in groups."""
    f()
    f()
    start = time.perf_counter()
    f()
    group = max(1, int(2e-4 / max(time.perf_counter() - start, 1e-9)))
    seen, begin = [], time.perf_counter()
    while len(seen) < 7 or (time.perf_counter() - begin < seconds and len(seen) < 5000):
        start = time.perf_counter()
        for _ in range(group):
            f()
        seen.append((time.perf_counter() - start) / group * 1e6)
    seen.sort()
    return [seen[0], seen[len(seen) // 2]]


def fingerprint(part):
    """How many entries, the sum of their sizes, and a sum with weights that no permutation leaves alone."""
    g = np.asarray(part, np.float64).ravel()
    weights = (np.arange(g.size, dtype=np.uint64) * 0x9E3779B1 % 2**32) / 2.0**31 - 1.0
    return [int(g.size), float(np.abs(g).sum()), float((weights * g).sum())]


def main(system, rows):
    options = argparse.ArgumentParser()
    options.add_argument("--seconds", type=float, default=0.5)
    options.add_argument("rows", nargs="*")
    options = options.parse_args()
    for row, mode, prepare in rows:
        if options.rows and row not in options.rows:
            continue
        line = {"row": row, "system": system, "mode": mode}
        try:
            start = time.perf_counter()
            value, gradient, answer = prepare()
            value(), gradient()
            line["prepare_ms"] = (time.perf_counter() - start) * 1e3
            line["value_us"] = times(value, options.seconds)
            line["gradient_us"] = times(gradient, options.seconds)
            v, parts = answer()
            line["answer"] = float(v)
            line["gradient"] = [fingerprint(p) for p in parts]
        except Exception as error:  # one row that a peer cannot do must not cost the others
            line["error"] = f"{type(error).__name__}: {error}".split("\n")[0][:200]
        print(json.dumps(line), flush=True)
