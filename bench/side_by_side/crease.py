"""crease's own bench: how to call it. It prints the same lines as the peers do, and times against size."""

import json

BENCH = ["cargo", "bench", "--quiet", "-p", "crease-engine", "--bench", "workloads"]
# Code by hand multiplies with the crate gemm, which uses AVX-512 where the machine has it if it is built so, and cannot be told not to.
WIDE = ["--features", "gemm/x86-v4"]
# A plot of time against size has many points; each gets this share of the time of a row.
SWEEP_SHARE = 0.2


def bench(level):
    """The command, for all that the machine has or for a level of instructions."""
    return [*BENCH, *(WIDE if level in (None, "avx512") else [])]


def rows(letters, seconds, level):
    return [*bench(level), "--", "--json", "--seconds", str(seconds), *letters]


def sweeps(letters, seconds, level):
    return [*bench(level), "--", "--json", "--sweeps", "--seconds", str(seconds * SWEEP_SHARE), *letters]


def parse(text):
    return [json.loads(l) for l in text.splitlines() if l.startswith("{")]
