"""Executors of other systems, in the form of :class:`concurrent.futures.Executor`, which :func:`crease.audit`, :func:`crease.clarke_all` and :func:`crease.differentiable` take.

Dask has one (``client.get_executor()``), and so has mpi4py (``MPIPoolExecutor``). Ray has none; :class:`RayExecutor` is it.
"""

from __future__ import annotations

from concurrent.futures import Executor, Future
from typing import Any, Callable

from ._crease import CreaseError


def _call(fn: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    return fn(*args, **kwargs)


class RayExecutor(Executor):
    """Tasks of Ray, as it was initialised (or is now, on this machine). A task whose worker is lost is run again by Ray, ``retries`` times."""

    def __init__(self, retries: int = 3, **options: Any):
        try:
            import ray
        except ImportError as e:
            raise CreaseError("Ray is not installed; `pip install ray`") from e
        if not ray.is_initialized():
            ray.init()
        self._ray = ray
        self._task = ray.remote(_call).options(max_retries=retries, **options)
        self._open: set[Any] = set()

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Starts a task."""
        ref = self._task.remote(fn, *args, **kwargs)
        self._open.add(ref)
        future: Future[Any] = ref.future()
        future.add_done_callback(lambda _: self._open.discard(ref))
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Lets go of the tasks; Ray itself stays as it is."""
        rest = list(self._open)
        if cancel_futures:
            for ref in rest:
                self._ray.cancel(ref)
        elif wait and rest:
            self._ray.wait(rest, num_returns=len(rest))
