#!/usr/bin/env python3
"""The rows of docs/cuda.md once more, crease and JAX on the same device in the same run.

Runs `cargo bench -p crease-cuda --features cuda --bench rows` and then JAX on the same functions: GA the smallest of 1,065 clauses, GB a Huber loss of a
camera's reprojection error, GC the sum of relu(x) w over 2^28 numbers, GD a network of 784, 256, 256 and 10. Data lies on the device; the least of ten
runs counts, in milliseconds. What is printed is one JSON line for each row and system, and at the end a table that says how many times as long JAX takes.

Needs JAX with CUDA: pip install 'jax[cuda13]'. With --rows FILE the lines of an earlier bench are read in place of a new one; with --jax-only there are none.
"""

import argparse
import json
import os
import subprocess
import sys
import time


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", metavar="FILE", help="what the bench of crease printed before")
    parser.add_argument("--jax-only", action="store_true", help="no rows of crease")
    parser.add_argument("--repeat", type=int, default=10, metavar="N", help="runs of which the least counts")
    return parser.parse_args()


def lines(text):
    """The JSON lines of a text that has others too."""
    found = []
    for line in text.splitlines():
        if line.startswith("{"):
            try:
                found.append(json.loads(line))
            except json.JSONDecodeError:
                sys.exit(f"the bench of crease printed a line that is no JSON: {line[:200]}")
    return found


def ours(args):
    if args.jax_only:
        return []
    if args.rows:
        with open(args.rows, encoding="utf-8") as file:
            return lines(file.read())
    command = ["cargo", "bench", "-p", "crease-cuda", "--features", "cuda", "--bench", "rows"]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"`{' '.join(command)}` ended with exit code {done.returncode}")
    rows = lines(done.stdout)
    if not rows:
        sys.exit(f"there are no rows of crease: {done.stdout.strip()[:500]}")
    return rows


def theirs(repeat):
    # set before the first import: memory is shared with the other system
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    try:
        import jax
        import jax.numpy as jnp
        import numpy as np
    except ImportError as missing:
        sys.exit(f"{missing}; install JAX with CUDA: pip install 'jax[cuda13]'")
    jax.config.update("jax_enable_x64", True)
    if jax.default_backend() != "gpu":
        sys.exit(f"JAX sees no GPU here, only {jax.default_backend()}")

    def clock(f, *at):
        jax.block_until_ready(f(*at))
        times = []
        for _ in range(repeat):
            start = time.perf_counter()
            jax.block_until_ready(f(*at))
            times.append(time.perf_counter() - start)
        return min(times) * 1e3

    def row(name, dtype, points, value, gradient, at, system="jax"):
        found = dict(row=name, system=system, dtype=dtype.__name__, points=points)
        found.update(value_ms=round(clock(value, *at), 4), gradient_ms=round(clock(gradient, *at), 4))
        return found

    random = np.random.default_rng(1)
    rows = []

    # GA: the smallest of 1,065 relus of the largest of three of 250 literals
    clauses, variables = 1065, 250
    literals = jnp.asarray(random.integers(0, variables, (clauses, 3)))
    signs = random.choice([-1.0, 1.0], (clauses, 3))
    for dtype in (np.float32, np.float64):
        sign = jnp.asarray(signs.astype(dtype))
        f = lambda x, sign=sign: jnp.min(jax.nn.relu(jnp.max(sign * x[literals], axis=1)))
        for points in (10**4, 10**5):
            x = jnp.asarray(random.standard_normal((points, variables)).astype(dtype))
            rows.append(row("GA", dtype, points, jax.jit(jax.vmap(f)), jax.jit(jax.vmap(jax.value_and_grad(f))), (x,)))

    # GB: a Huber loss of a camera's reprojection error, 15 inputs
    def rotated(w, x):
        squared = w @ w + 1e-12
        angle = jnp.sqrt(squared)
        axis, c, s = w / angle, jnp.cos(angle), jnp.sin(angle)
        return x * c + jnp.cross(axis, x) * s + axis * (axis @ x) * (1 - c)

    def camera(p, seen):
        w, centre, focal, middle, radial, x, weight = p[0:3], p[3:6], p[6], p[7:9], p[9:11], p[11:14], p[14]
        y = rotated(w, x - centre)
        q = y[:2] / y[2]
        r = q @ q
        q = q * (1 + radial[0] * r + radial[1] * r * r) * focal + middle
        off = weight * (q - seen)
        huber = lambda a: jnp.where(jnp.abs(a) <= 1, a * a / 2, jnp.abs(a) - 0.5)
        return huber(off[0]) + huber(off[1]) + jax.nn.relu(jnp.abs(1 - weight * weight) - 0.1)

    for dtype in (np.float32, np.float64):
        for points in (10**6, 10**7):
            p = random.standard_normal((points, 15)).astype(dtype)
            p[:, 13] += 10
            at = (jnp.asarray(p), jnp.asarray(random.standard_normal((points, 2)).astype(dtype)))
            value, gradient = jax.jit(jax.vmap(camera)), jax.jit(jax.vmap(jax.value_and_grad(camera)))
            rows.append(row("GB", dtype, points, value, gradient, at))

    # GC: the sum of relu(x) w
    n = 2**28
    x, w = (jnp.asarray(random.standard_normal(n, dtype=np.float32)) for _ in range(2))
    total = lambda x, w: jnp.sum(jax.nn.relu(x) * w)
    rows.append(row("GC", np.float32, n, jax.jit(total), jax.jit(jax.value_and_grad(total)), (x, w)))
    del x, w

    # GD: a network and its mean cross entropy, by its weights
    sizes, batch = [784, 256, 256, 10], 65536
    layers = [
        (jnp.asarray((random.standard_normal((a, b)) / np.sqrt(a)).astype(np.float32)), jnp.zeros(b, np.float32))
        for a, b in zip(sizes, sizes[1:])
    ]
    x = jnp.asarray(random.standard_normal((batch, 784)).astype(np.float32))
    y = jnp.asarray(random.integers(0, 10, batch))

    def loss(layers, x):
        for i, (w, b) in enumerate(layers):
            x = x @ w + b
            x = jax.nn.relu(x) if i < 2 else x
        return jnp.mean(jax.nn.logsumexp(x, axis=1) - jnp.take_along_axis(x, y[:, None], 1)[:, 0])

    for precision, products in (("highest", "full"), ("default", "short")):
        with jax.default_matmul_precision(precision):
            at = (layers, x)
            rows.append(row("GD", np.float32, batch, jax.jit(loss), jax.jit(jax.value_and_grad(loss)), at, f"jax {products}"))
    return rows


def table(rows):
    """Both systems side by side: of several ways of one system, the fastest gradient; networks by the kind of their products."""
    best = {}
    for r in rows:
        if "gradient_ms" not in r or r["row"] == "compile":
            continue
        kind = next((k for k in ("full", "short", "checked") if k in r["system"]), "")
        key = (r["row"], r["dtype"], r["points"], kind)
        name = r["system"].split()[0]
        known = best.setdefault(key, {}).get(name)
        if known is None or r["gradient_ms"] < known["gradient_ms"]:
            best[key][name] = r
    out = ["| row | numbers | points | crease | JAX | JAX / crease |", "| --- | --- | ---: | --- | --- | --- |"]
    for (row, dtype, points, kind), found in best.items():
        times = lambda r: f"{r['value_ms']:.3f} / {r['gradient_ms']:.3f}" if r else "-"
        a, b = found.get("crease"), found.get("jax")
        ratio = "-"
        if a and b:
            ratio = f"{b['value_ms'] / a['value_ms']:.1f} / {b['gradient_ms'] / a['gradient_ms']:.1f}"
        out.append(f"| {row} {kind} | {dtype} | {points:,} | {times(a)} | {times(b)} | {ratio} |")
    return "\n".join(out)


def main():
    args = arguments()
    rows = ours(args) + theirs(args.repeat)
    for r in rows:
        print(json.dumps(r), flush=True)
    print(table(rows))


if __name__ == "__main__":
    main()
