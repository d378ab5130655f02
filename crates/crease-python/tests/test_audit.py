"""Audits, on this machine and past it."""

import json
import os
import pickle
import signal
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
import multiprocessing

import numpy as np
import pytest

import crease

NET = "program net(x[4]) { let h = max(x[0], x[1])  let k = relu(x[2] - x[3])  return [h + k, h - k] }"


def inputs(n):
    rng = np.random.default_rng(0)
    return rng.integers(0, 2, size=(n, 4)).astype(np.float32)


def test_audits():
    net, x = crease.parse(NET), inputs(10)
    a = crease.audit(net, x)
    assert a.complete and len(a.findings) == 10 and [f["input"] for f in a.findings] == list(range(10))
    for finding, row in zip(a.findings, x):
        tied = row[0] == row[1] or row[2] == row[3]
        assert {o["differentiable"] for o in finding["outputs"]} == ({"no"} if tied else {"yes"})
    assert a.summary["inputs"] == 10 and "<!doctype html>" in a.to_html("net") and str(a)
    b = crease.audit(net, [tuple([row]) for row in x], labels=[0] * 10, names=[f"n{i}" for i in range(10)], threads=2)
    assert b.findings[3]["name"] == "n3"


@pytest.mark.parametrize("pool", ["threads", "processes"])
def test_executors_give_the_same(pool):
    net, x = crease.parse(NET), inputs(9)
    expected = [f["outputs"] for f in crease.audit(net, x).findings]
    if pool == "threads":
        executor = ThreadPoolExecutor(2)
    else:
        executor = ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn"))
    seen = []
    with executor:
        a = crease.audit(net, x, executor=executor, chunk=2, progress=lambda done, all: seen.append((done, all)))
    assert [f["outputs"] for f in a.findings] == expected and [f["input"] for f in a.findings] == list(range(9))
    assert seen[-1] == (9, 9) and len(seen) == 5


def test_workers_name_the_same_layers():
    def net(x):
        h = np.maximum(x[:2], 0)
        return np.stack([h.max(), np.abs(x[2] - x[3])])

    p, x = crease.trace(net, np.zeros(4)), inputs(4).astype(float)
    expected = [f["layers"] for f in crease.audit(p, x).findings]
    assert any(str(net.__code__.co_firstlineno + 1) in json.dumps(layers) or "test_audit.py" in json.dumps(layers) for layers in expected)
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as executor:
        assert [f["layers"] for f in crease.audit(p, x, executor=executor).findings] == expected
    again = crease.inspect(pickle.loads(pickle.dumps(crease.trace(lambda x: np.abs(x).sum(), np.zeros(2)))), np.zeros(2))
    assert [k.place.rsplit(":", 1)[0] for k in again.kinks] == [__file__]


def test_findings_stream():
    net, x = crease.parse(NET), inputs(9)
    whole = [f["outputs"] for f in crease.audit(net, x).findings]
    stream = crease.audit_iter(net, x)
    first = next(stream)
    assert first["input"] == 0 and [first["outputs"], *(f["outputs"] for f in stream)] == whole
    with ThreadPoolExecutor(3) as executor:
        assert [f["input"] for f in crease.audit_iter(net, x, executor=executor, chunk=2)] == list(range(9))
        as_they_come = list(crease.audit_iter(net, x, executor=executor, ordered=False))
    assert sorted(f["input"] for f in as_they_come) == list(range(9))
    assert [f["outputs"] for f in sorted(as_they_come, key=lambda f: f["input"])] == whole


@pytest.mark.parametrize("executor", [None, "threads"])
def test_an_input_that_fails_does_not_take_the_others_with_it(executor):
    net = crease.parse("program f(x[2]) = relu(x[0]) * x[1]")
    x = np.array([[1.0, 1.0], [0.0, 2.0], [1.0, np.nan], [2.0, 1.0]])
    with ThreadPoolExecutor(2) as pool:
        a = crease.audit(net, x, executor=pool if executor else None)
        b = list(crease.audit_iter(net, x, executor=pool if executor else None, chunk=2))
    assert [f["input"] for f in a.findings] == [0, 1, 3] and list(a.failed) == [2] and "finite numbers" in a.failed[2] and not a.complete
    assert "finite numbers" in str(a) and "<table" in a._repr_html_() and a == pickle.loads(pickle.dumps(a))
    assert [f["input"] for f in b] == [0, 1, 2, 3] and "finite numbers" in b[2]["error"]
    with pytest.raises(crease.CreaseError, match="finite numbers"):
        crease.audit(net, x[2:3])


class LosesAWorker(ProcessPoolExecutor):
    """A pool that loses one of its workers when the first chunk is submitted."""

    def __init__(self, workers):
        super().__init__(workers, mp_context=multiprocessing.get_context("spawn"))
        # all of them have started: a pool that breaks while it starts a worker may wait for that worker for ever
        list(self.map(time.sleep, [0.1] * workers))
        self.killed = None

    def submit(self, *args, **kwargs):
        future = super().submit(*args, **kwargs)
        if getattr(self, "killed", 0) is None:
            self.killed = next(iter(self._processes))
            os.kill(self.killed, signal.SIGKILL)
        return future


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="signals")
def test_a_lost_worker_is_made_up_for():
    net, x = crease.parse(NET), inputs(6)
    with LosesAWorker(2) as executor:
        a = crease.audit(net, x, executor=executor, chunk=2)
        assert executor.killed and executor._broken
    assert a.complete and [f["outputs"] for f in a.findings] == [f["outputs"] for f in crease.audit(net, x).findings]


def test_it_goes_on_where_it_was(tmp_path):
    net, x = crease.parse(NET), inputs(8)
    whole = crease.audit(net, x)
    whole.save(tmp_path / "lines")
    known = (tmp_path / "lines").read_text().splitlines()[:5]
    seen = []
    again = crease.audit(net, x, known=known, progress=lambda done, all: seen.append(done))
    assert [f["outputs"] for f in again.findings] == [f["outputs"] for f in whole.findings] and len(seen) == 1
    assert again.findings[:4] == whole.findings[:4]
    with pytest.raises(crease.CreaseError, match="none of these inputs"):
        crease.audit(net, x[:2], known=known)


def test_interrupts_keep_what_was_found():
    net, x = crease.parse(NET), inputs(8)

    def stop(done, _):
        if done >= 4:
            raise KeyboardInterrupt

    a = crease.audit(net, x, progress=stop)
    assert not a.complete and len(a.findings) == 4 and a.summary["done"] == 4


def test_bad_audits():
    net = crease.parse(NET)
    for args, what in (
        (dict(inputs=np.zeros((0, 4))), "no inputs"),
        (dict(inputs=np.zeros((2, 3))), "shape"),
        (dict(inputs=np.zeros((2, 4)), labels=[0]), "2 inputs and 1 labels"),
        (dict(inputs=np.zeros((2, 4)), labels=[0, 7]), "labels are 0 to 1"),
        (dict(inputs=np.zeros((2, 4)), names=["a"]), "2 inputs and 1 names"),
        (dict(inputs=np.full((1, 4), np.nan)), "finite"),
        (dict(inputs=np.zeros((2, 4)), chunk=0), "one input at least"),
    ):
        with pytest.raises(crease.CreaseError, match=what):
            crease.audit(net, **args)


def is_gone(pid):
    """Whether a process has ended; one that nobody asked about yet has as well."""
    import psutil

    try:
        return psutil.Process(pid).status() in (psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD)
    except psutil.NoSuchProcess:
        return True


def test_dask_loses_a_worker():
    distributed = pytest.importorskip("distributed")
    net, x = crease.parse(NET), inputs(40)
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as cluster, distributed.Client(cluster) as client:
        killed, after = [], []

        def kill(done, _):
            if killed:
                after.append(done)
                return
            # one that has work to do
            busy = {address for address, tasks in client.processing().items() if tasks}
            victim = next(n for n in cluster.workers.values() if n.worker_address in busy)
            pid = victim.process.pid
            os.kill(pid, signal.SIGKILL)
            deadline = time.time() + 30
            while not is_gone(pid) and time.time() < deadline:
                time.sleep(0.01)
            killed.append(pid)
            assert is_gone(pid)

        a = crease.audit(net, x, executor=client.get_executor(), chunk=1, progress=kill)
    assert len(killed) == 1 and len(after) == 39 and a.complete
    assert [f["outputs"] for f in a.findings] == [f["outputs"] for f in crease.audit(net, x).findings]


def test_ray(monkeypatch, tmp_path):
    monkeypatch.setenv("RAY_AUTH_MODE", "disabled")
    ray = pytest.importorskip("ray")
    # workers find the package where this process does
    here = os.path.dirname(os.path.dirname(os.path.abspath(crease.__file__)))
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, runtime_env={"env_vars": {"PYTHONPATH": here}})
    try:
        net, x = crease.parse(NET), inputs(12)
        a = crease.audit(net, x, executor="ray", chunk=2)
        assert a.complete and [f["outputs"] for f in a.findings] == [f["outputs"] for f in crease.audit(net, x).findings]
        from crease.executors import RayExecutor

        def dies_once(mark):
            """A task that takes its worker with it, the first time."""
            if not os.path.exists(mark):
                with open(mark, "w"):
                    pass
                os.kill(os.getpid(), signal.SIGKILL)
            return "done"

        mark = str(tmp_path / "died-once")
        with RayExecutor() as executor:
            assert executor.submit(dies_once, mark).result(timeout=120) == "done" and os.path.exists(mark)
            with pytest.raises(ZeroDivisionError):
                executor.submit(divmod, 1, 0).result(timeout=60)
    finally:
        ray.shutdown()


def test_executors_that_are_none():
    class Client:
        submit = get_executor = None

    with pytest.raises(crease.CreaseError, match="client.get_executor"):
        crease.audit(crease.parse(NET), inputs(1), executor=Client())
    with pytest.raises(crease.CreaseError, match="executor of concurrent.futures"):
        crease.audit(crease.parse(NET), inputs(1), executor=3)
