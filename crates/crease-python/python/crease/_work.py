"""Work that is spread over an executor: tasks go out, results come as they come, and what a lost worker had is done again."""

from __future__ import annotations

import time
from collections import deque
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait
from typing import Any, Callable, Generator, Generic, TypeVar

from ._crease import CreaseError

#: How often the task of a worker that was lost is tried again before it is done here.
TRIES = 3
#: How many tasks are with an executor at a time.
AHEAD = 64

Task = TypeVar("Task")
Result = TypeVar("Result")


def executor_of(executor: Any) -> Executor | None:
    """Who works: an executor, or Ray by its name."""
    if executor == "ray":
        from .executors import RayExecutor

        return RayExecutor()
    if executor is None or hasattr(executor, "submit") and not hasattr(executor, "get_executor"):
        return executor
    hint = "; of a client of Dask it is client.get_executor()" if hasattr(executor, "get_executor") else ""
    raise CreaseError(f'an executor of concurrent.futures is needed, or "ray", got {type(executor).__name__}{hint}')


class Spread(Generic[Task, Result]):
    """Does tasks with an executor. ``job`` says what a worker is to call for a task, a function that can be pickled and its arguments; ``here`` does a task in this process, if the
    executor cannot: since the pool is broken, or the task failed too often. If it fails here as well, that is raised."""

    def __init__(self, executor: Executor, job: Callable[[Task], tuple[Callable[..., Result], tuple[Any, ...]]], here: Callable[[Task], Result]):
        self.executor, self.job, self.here = executor, job, here
        self.unfinished = 0

    def each(self, tasks: deque[Task], until: float = float("inf")) -> Generator[tuple[Task, Result], None, None]:
        """What each task gives, as they come, until a time of ``time.monotonic``. Tasks may be appended meanwhile. Who stops to listen, stops the tasks that have not begun. ``unfinished`` says afterwards how many
        were not done."""
        open_: dict[Future[Result], tuple[Task, int]] = {}
        try:
            while True:
                while tasks and len(open_) < AHEAD:
                    task = tasks.popleft()
                    if (done := self._submit(open_, task, 0)) is not None:
                        yield task, done[0]
                left = until - time.monotonic()
                if not open_ or left <= 0:
                    return
                finished, _ = wait(open_, timeout=None if left == float("inf") else left, return_when=FIRST_COMPLETED)
                for future in finished:
                    task, tries = open_.pop(future)
                    try:
                        done = (future.result(),)
                    except Exception:  # whatever a pool raises when it loses a worker
                        done = self._submit(open_, task, tries + 1)
                    if done is not None:
                        yield task, done[0]
        finally:
            self.unfinished = len(open_) + len(tasks)
            for future in open_:
                future.cancel()

    def _submit(self, open_: dict[Future[Result], tuple[Task, int]], task: Task, tries: int) -> tuple[Result] | None:
        if tries < TRIES:
            try:
                work, args = self.job(task)
                open_[self.executor.submit(work, *args)] = (task, tries)
                return None
            except Exception:  # the pool is broken: what is left is done here
                pass
        return (self.here(task),)
