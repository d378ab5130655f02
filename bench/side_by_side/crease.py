"""crease's own bench: how to call it. It prints the same lines as the peers do, and times against size."""

import json

BENCH = ["cargo", "bench", "--quiet", "-p", "crease-engine", "--bench", "workloads"]
# A plot of time against size has many points; each gets this share of the time of a row.
SWEEP_SHARE = 0.2


def rows(letters, seconds):
    return [*BENCH, "--", "--json", "--seconds", str(seconds), *letters]


def sweeps(letters, seconds):
    return [*BENCH, "--", "--json", "--sweeps", "--seconds", str(seconds * SWEEP_SHARE), *letters]


def parse(text):
    return [json.loads(l) for l in text.splitlines() if l.startswith("{")]
