"""Questions past one machine: what cubes give together is what one process says, whoever does them and whoever is lost."""

import multiprocessing
import os
import random
import signal
import subprocess
import sys
import textwrap
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

import numpy as np
import pytest

import crease
from crease import _cubes, _crease
from test_audit import LosesAWorker, is_gone


def linear(rng, n):
    return " + ".join(f"{rng.randint(-3, 3)}*x{i}" for i in range(n))


def program(rng, n, kinks, nested):
    """A sum of kinks of linear forms, some of which have other kinks inside."""
    parts = []
    for _ in range(kinks):
        inside = linear(rng, n) + (f" + {rng.choice((-2, 1))}*{rng.choice(parts)[1:]}" if nested and parts and rng.random() < 0.5 else "")
        parts.append(rng.choice("+-") + rng.choice((f"abs({inside})", f"relu({inside})", f"max({inside}, {linear(rng, n)}, {linear(rng, n)})")))
    # all inputs are there
    return "0 " + " ".join(parts) + "".join(f" + 0*x{i}" for i in range(n))


def arrangement(n, kinks, seed):
    """Many cells: a sum of absolute values in general position, with both signs."""
    rng = random.Random(seed)
    return "0 " + " ".join(f"{rng.choice('+-')} abs({linear(rng, n)} + {rng.randint(1, 9)}*x{i % n})" for i in range(kinks))


def said(a):
    """What a list says, without its order and without directions, of which there are many."""
    rows = [(str(g["gradient"]), g["cells"], g["vertex"]) for g in a["gradients"]]
    return sorted(rows), a["cells"], a["complete"], a["limit"], a["distinct"]


def formula(tmp_path, variables, clauses, seed):
    """The program of a random formula; it is differentiable at 0 if nothing satisfies the formula."""
    rng = random.Random(seed)
    lines = [" ".join(str(v * rng.choice((1, -1))) for v in rng.sample(range(1, variables + 1), 3)) for _ in range(clauses)]
    file = tmp_path / f"{variables}-{clauses}-{seed}.cnf"
    file.write_text(f"p cnf {variables} {clauses}\n" + "".join(f"{line} 0\n" for line in lines))
    p = crease.load(file)
    return p, [np.zeros(shape) for _, shape in p.inputs]


@pytest.fixture
def hasty(monkeypatch):
    """Cubes are taken apart after no time, and searches shared at once."""
    monkeypatch.setattr(_cubes, "LONG", 0.02)
    monkeypatch.setattr(_cubes, "TRIED", 0)


def test_threads_find_what_one_process_finds():
    rng = random.Random(3)
    with ThreadPoolExecutor(2) as executor:
        for i in range(60):
            n = rng.randint(1, 4)
            text, at = program(rng, n, rng.randint(1, 7), i % 2), [0.0] * n
            alone, shared = crease.clarke_all(text, *at), crease.clarke_all(text, *at, executor=executor)
            assert said(shared) == said(alone), text
            for g, d in zip(shared.gradients, shared.directions):
                assert crease.directional(text, *at, along=[tuple(d) if n > 1 else d[0]])["derivatives"] == [pytest.approx(g @ d)]
            v = tuple(shared.gradients.mean(axis=0)) if n > 1 else shared.gradients.mean()
            inside = crease.clarke_all(text, *at, contains=v, executor=executor)
            assert inside["contains"]["verdict"] == crease.clarke_all(text, *at, contains=v)["contains"]["verdict"]


def test_processes_find_what_one_process_finds(hasty):
    text, at = arrangement(4, 14, 1), [0.0] * 4
    told = []
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as executor:
        shared = crease.clarke_all(text, *at, executor=executor, progress=lambda *n: told.append(n))
    assert said(shared) == said(crease.clarke_all(text, *at)) and shared["complete"] and shared["cells"] > 300
    assert told[-1][0] == told[-1][1] >= 32


def test_long_cubes_are_taken_apart():
    # 2^60 gradients: no machine lists them in the time of a task
    text, at = " + ".join(f"abs(x{i})" for i in range(60)), (0.0,) * 60
    p = crease.parse(text)
    (cube, *_) = _crease.clarke_cubes(p, at, "", 2)
    found, word, smaller = _cubes._list(p, at, cube, {}, 0.1, None)
    assert len(smaller) >= _cubes.PARTS and all(s.startswith(cube) for s in smaller)
    # with no more time in all than for this there is no sense in it
    assert _cubes._list(p, at, cube, {}, 0.1, (0.1, time.time() + 10))[2] == []


def test_stationary_points_have_their_certificate():
    with ThreadPoolExecutor(2) as executor:
        a = crease.stationary("abs(x) + abs(y) + max(x, y)", 0.0, 0.0, executor=executor)
    assert a["stationary"]["verdict"] == "yes" and crease.check(a.certificate) == ("member", "0")


def test_time_ends_it_with_what_was_found():
    text = " + ".join(f"abs(x{i})" for i in range(60))
    with ThreadPoolExecutor(2) as executor:
        a = crease.clarke_all(text, *[0.0] * 60, executor=executor, time=1.0)
    assert not a["complete"] and a["limit"] == "time is up" and len(a.gradients) > 0


def test_what_cannot_be_taken_apart_is_done_here():
    with ThreadPoolExecutor(1) as executor:
        assert len(crease.clarke_all("x^2", 1.0, executor=executor)["gradients"]) == 1
        assert not crease.clarke_all("norm2(v)", np.zeros(2), executor=executor)["complete"]
        assert crease.differentiable("abs(x)", 0.0, executor=executor)["verdict"] == "no"
    with pytest.raises(crease.CreaseError, match="an executor of concurrent.futures is needed"):
        crease.clarke_all("abs(x)", 0.0, executor=3)


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="signals")
def test_a_lost_worker_is_made_up_for(hasty, tmp_path):
    text, at = arrangement(4, 12, 3), [0.0] * 4
    with LosesAWorker(2) as executor:
        shared = crease.clarke_all(text, *at, executor=executor)
        assert executor.killed and executor._broken
    assert said(shared) == said(crease.clarke_all(text, *at))
    p, at = formula(tmp_path, 12, 70, 1)
    with LosesAWorker(2) as executor:
        assert crease.differentiable(p, *at, executor=executor)["verdict"] == crease.differentiable(p, *at)["verdict"]
        assert executor.killed


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="signals")
def test_dask_loses_a_worker(hasty, tmp_path):
    distributed = pytest.importorskip("distributed")
    text, at = arrangement(4, 16, 4), [0.0] * 4
    p, zero = formula(tmp_path, 20, 110, 5)
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as cluster, distributed.Client(cluster) as client:
        killed, after = [], []

        def kill(*_):
            if killed:
                after.append(1)
                return
            busy = {address for address, tasks in client.processing().items() if tasks}
            victim = next(n for n in cluster.workers.values() if n.worker_address in busy)
            killed.append(victim.process.pid)
            os.kill(killed[0], signal.SIGKILL)
            deadline = time.time() + 30
            while not is_gone(killed[0]) and time.time() < deadline:
                time.sleep(0.01)
            assert is_gone(killed[0])

        shared = crease.clarke_all(text, *at, executor=client.get_executor(), progress=kill)
        assert len(killed) == 1 and len(after) > 20
        assert said(shared) == said(crease.clarke_all(text, *at))
        killed.clear()
        answer = crease.differentiable(p, *zero, executor=client.get_executor(), progress=kill)
    assert len(killed) == 1 and answer["verdict"] == crease.differentiable(p, *zero)["verdict"]
    assert crease.check(answer.certificate)


@pytest.mark.parametrize("variables, clauses", [(8, 60), (10, 42), (14, 80)])
def test_verdicts_are_those_of_one_process(hasty, tmp_path, variables, clauses):
    with ThreadPoolExecutor(2) as executor:
        for seed in range(4):
            p, at = formula(tmp_path, variables, clauses, seed)
            alone, shared = crease.differentiable(p, *at), crease.differentiable(p, *at, executor=executor)
            assert shared["verdict"] == alone["verdict"] and shared["by"] == "a search"
            # one certificate, that of all cubes
            assert crease.check(shared.certificate)[0] == crease.check(alone.certificate)[0]


def test_a_search_without_time_is_not_decided(hasty, tmp_path):
    p, at = formula(tmp_path, 14, 80, 1)
    with ThreadPoolExecutor(1) as executor:
        a = crease.differentiable(p, *at, executor=executor, time=0.0)
    assert a["verdict"] == "unknown"


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_interrupts_keep_what_was_found():
    code = """
        import _thread, threading, time, crease
        from concurrent.futures import ThreadPoolExecutor
        from crease import _cubes
        _cubes.LONG = 0.2
        text = " + ".join(f"abs(x{i})" for i in range(40))
        with ThreadPoolExecutor(2) as executor:
            threading.Timer(2.0, _thread.interrupt_main).start()
            try:
                crease.clarke_all(text, *[0.0] * 40, executor=executor)
            except KeyboardInterrupt as stop:
                print("stopped", stop.answer["limit"], len(stop.answer.gradients) > 0, stop.answer["complete"])
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, timeout=100)
    assert done.stdout.strip() == "stopped it was stopped True False", done.stderr
