"""An engine on the workers of a `dask.distributed.Client`.

All tasks are pure functions with their arguments, which the scheduler keeps, so that results of a lost worker
are recomputed by another one. No data are scattered, because scattered data cannot be recomputed.
"""

from __future__ import annotations

import pickle
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future as ThreadResult
from contextlib import contextmanager
from dataclasses import dataclass, field, is_dataclass, replace
from threading import Thread
from typing import Protocol, TypedDict, TypeVar, cast, runtime_checkable
from weakref import WeakSet

import numpy as np

from pibls.errors import ProblemError
from pibls.linalg.threads import limit_blas_threads
from pibls.linalg.tree.engine import (
    LOCAL,
    Engine,
    EngineLostError,
    EngineProgress,
    Handle,
    MemoryDemand,
    TooLargeError,
)
from pibls.runtime.deadline import OutOfTimeError, check_deadline, deadline

MIN_TASK_OPERATIONS = 5e8
"""Minimum number of operations per task: about a tenth of a second."""
_TASKS_PER_THREAD = 4  # several, for load balancing
_USABLE_MEMORY_FRACTION = 0.6  # above it, Dask spills data to disk
_IDLE_WORKER_BYTES = 200 << 20  # memory of an idle worker
_IMBALANCE_FACTOR = 1.25  # memory of the fullest worker relative to the mean
_POLL_INTERVAL = 0.05  # seconds between checks of the deadline while waiting for workers
_REPORT_INTERVAL = 0.2  # seconds between progress reports
_MIN_EMPTY_ANSWERS = 5  # the client's heartbeat sometimes replaces the list of workers by an empty one
_WORKER_TIMEOUT = 300.0  # seconds to wait for the first worker; cloud machines and batch queues take minutes
_NEW_CLIENT_REMEDY = "Check that the scheduler is running, and create a new client: Client(address)."
_LOST_ENGINE_REMEDIES = {
    "KilledWorker": "Check the logs of the workers: a worker that uses too much memory is ended by a nanny.",
    "FutureCancelledError": _NEW_CLIENT_REMEDY,
    "CancelledError": _NEW_CLIENT_REMEDY,
    "ClosedClientError": _NEW_CLIENT_REMEDY,
    "CommClosedError": _NEW_CLIENT_REMEDY,
}
"""Exceptions of Dask for lost workers, scheduler or client, and the remedy for each."""

T = TypeVar("T")


class Future(Protocol):
    """The members of a future of Dask that the engine uses."""

    def done(self) -> bool:
        """Return whether the task has ended."""

    def release(self) -> None:
        """Tell the scheduler that the result is not needed."""


class WorkerInfo(TypedDict):
    """What the scheduler knows about a worker."""

    nthreads: int
    memory_limit: int | None


class SchedulerInfo(TypedDict):
    """What the scheduler knows."""

    workers: dict[str, WorkerInfo]


@runtime_checkable
class Client(Protocol):
    """The members of a `dask.distributed.Client` that the engine uses."""

    @property
    def status(self) -> str:
        """The state of the connection: "running" if it is open."""

    @property
    def asynchronous(self) -> bool:
        """Whether calls return awaitable objects."""

    def submit(self, *work: object, **options: object) -> Future:
        """Send a task and return its future."""

    def gather(self, futures: list[Handle[T]]) -> list[object]:
        """Return the results of futures."""

    def scheduler_info(self, n_workers: int = 5) -> SchedulerInfo:
        """Return what the scheduler knows about its workers."""


@dataclass
class Distributed:
    """Engine that runs tasks on the workers of a client."""

    client: Client
    on_progress: Callable[[EngineProgress], object] = lambda share: None
    """Called with the progress of an elimination."""
    deadline: float | None = None
    """Time of `time.perf_counter` after which waiting for workers ends; None without a limit."""
    _live: WeakSet[Future] = field(default_factory=WeakSet, init=False)
    _sent: int = field(default=0, init=False)
    _share: EngineProgress = field(default=EngineProgress(0, 0, 0), init=False)

    def for_solve(
        self, on_progress: Callable[[EngineProgress], object], deadline: float | None = None
    ) -> Engine:
        return replace(self, on_progress=on_progress, deadline=deadline)

    @property
    def available(self) -> Engine:
        return self if self.client.status == "running" else LOCAL

    def limit(self, work: float) -> float:
        if work <= MIN_TASK_OPERATIONS:
            return MIN_TASK_OPERATIONS
        threads = sum(threads for threads, _ in self.workers())
        return max(work / (_TASKS_PER_THREAD * threads), MIN_TASK_OPERATIONS)

    def workers(self) -> list[tuple[int, int]]:
        """Return the threads and the memory limit in bytes of each worker; 0 bytes without a limit.

        An adaptive cluster starts workers when there are tasks: a trivial task is sent if there is no worker
        yet.
        """
        began, answers, sent = time.monotonic(), 0, list[Handle[None]]()
        with self._cancelling():
            while not (found := self._awaited(self._known_workers)):
                answers += 1
                waited = time.monotonic() - began
                if self.client.status not in ("running", "connecting"):
                    raise _refused("a client that is closed", _NEW_CLIENT_REMEDY)
                if waited > _WORKER_TIMEOUT:
                    raise _refused(f"no worker within {waited:.0f} s",
                                   "Start workers first: client.wait_for_workers(1).")  # fmt: skip
                if answers >= _MIN_EMPTY_ANSWERS:
                    sent = sent or [self.call(_identity, None)]
                    self.on_progress(EngineProgress(0, 0, 0))
                    self._awaited(lambda: time.sleep(_REPORT_INTERVAL))
        return [(int(w["nthreads"]), int(w["memory_limit"] or 0)) for w in found.values()]

    def _known_workers(self) -> dict[str, WorkerInfo]:
        try:
            return dict(self.client.scheduler_info(n_workers=-1)["workers"])
        except TypeError:  # older versions always return all workers
            return dict(self.client.scheduler_info()["workers"])

    def admit(self, demand: MemoryDemand) -> None:
        workers = self.workers()
        threads = sum(t for t, _ in workers)
        self._sent, self._share = 0, EngineProgress(len(workers), 0, 0)
        for mine, limit in workers:
            need = _IDLE_WORKER_BYTES + int(
                mine * (_IMBALANCE_FACTOR * demand.total / threads + demand.largest_task)
            )
            if limit and need > _USABLE_MEMORY_FRACTION * limit:
                raise TooLargeError(
                    "engine",
                    expected=f"workers that can use {_gigabytes(need)} each ({mine} thread(s), "
                    f"{_gigabytes(demand.total)} held by all, "
                    f"the largest task {_gigabytes(demand.largest_task)})",
                    got=f"a worker with {_gigabytes(limit)}, of which {_USABLE_MEMORY_FRACTION:.0%} are used",
                    remedy="Use more workers, or workers with more memory or fewer threads.",
                )
            if need > self._share.needed_bytes:
                self._share = EngineProgress(len(workers), need, min((b for _, b in workers if b), default=0))
        self.on_progress(self._share)

    def put(self, value: T) -> Handle[T]:
        return self.call(_identity, value)

    def call(self, function: Callable[..., T], *arguments: object) -> Handle[T]:
        with self._cancelling():
            self._check()
            future = self.client.submit(_run_task, function, *arguments, pure=False)
        self._live.add(future)
        self._sent += 1
        return cast("Handle[T]", future)

    def get(self, handles: Sequence[Handle[T]]) -> list[T]:
        with self._cancelling():
            found = self._awaited(lambda: self.client.gather(list(handles)))
        return [cast("T", _unwrap(value)) for value in found]

    def _check(self) -> None:
        """Raise an exception after the deadline or an interruption."""
        check_deadline()
        if self.deadline is not None and time.perf_counter() > self.deadline:
            raise OutOfTimeError

    def _awaited(self, function: Callable[[], T]) -> T:
        """Call function() in another thread while this thread checks the deadline and reports progress.

        A call of the client returns when scheduler and workers answer, which may be never.
        """
        result: ThreadResult[T] = ThreadResult()
        Thread(target=_run_into, args=(result, function), daemon=True).start()
        reported = time.monotonic()
        while True:
            self._check()
            try:
                return result.result(timeout=_POLL_INTERVAL)
            except TimeoutError:
                if result.done():  # the TimeoutError comes from the function
                    raise
            if self._sent and time.monotonic() - reported > _REPORT_INTERVAL:
                reported = time.monotonic()
                left = sum(not future.done() for future in list(self._live))
                s = self._share
                self.on_progress(
                    EngineProgress(
                        s.workers, s.needed_bytes, s.worker_limit_bytes, self._sent - left, self._sent
                    )
                )

    @contextmanager
    def _cancelling(self) -> Iterator[None]:
        """Context that cancels all tasks if it ends with an exception (Ctrl-C, deadline, error, callback)."""
        try:
            yield
        except BaseException as reason:
            self._cancel()
            name = type(reason).__name__
            if name in _LOST_ENGINE_REMEDIES:
                raise _refused(f"{name}: {str(reason).rstrip('.')}", _LOST_ENGINE_REMEDIES[name]) from reason
            raise

    def _cancel(self) -> None:
        """Release all tasks of this engine: the scheduler forgets them, and running tasks stop.

        client.cancel(…) is not used: if a task has a dependent whose handle was dropped, the scheduler fails
        an assertion and closes the connection of the client (distributed 2026.8).
        """
        for future in list(self._live):
            future.release()


def _run_into(result: ThreadResult[T], function: Callable[[], T]) -> None:
    try:
        result.set_result(function())
    except BaseException as reason:
        result.set_exception(reason)


@dataclass(frozen=True)
class TaskResult:
    """The result of a task, pickled as one string of bytes, so that its arrays are aligned after transfer.

    Arrays inside a message may be unaligned, and NumPy sums unaligned arrays in another order.
    """

    value: object
    size: int

    def __reduce__(self) -> tuple[Callable[[bytes, int], TaskResult], tuple[bytes, int]]:
        import cloudpickle

        return _unpacked, (cloudpickle.dumps(self.value), self.size)

    def __sizeof__(self) -> int:
        return self.size


def _unpacked(content: bytes, size: int) -> TaskResult:
    return TaskResult(pickle.loads(content), size)


def _unwrap(found: object) -> object:
    if isinstance(found, TaskResult):
        return found.value
    return [_unwrap(member) for member in found] if type(found) is list else found


def _identity(value: T) -> T:
    return value


def _run_task(function: Callable[..., object], *arguments: object) -> TaskResult:
    """Run a task with one BLAS thread, as in this process; more threads would round differently."""
    with limit_blas_threads(1), np.errstate(over="ignore", invalid="ignore"), deadline(_until_cancelled()):
        value = function(*map(_unwrap, arguments))
    return TaskResult(value, _bytes(value))


def _until_cancelled() -> Callable[[str], None] | None:
    """Return a check that raises an exception if the current task was cancelled; None outside a worker.

    Dask itself lets running tasks finish after they are cancelled.
    """
    from distributed import get_worker

    try:
        worker = get_worker()
        key, tasks = worker.get_current_task(), worker.state.tasks
    except (ValueError, KeyError, AttributeError):
        return None

    def check(step: str) -> None:
        task = tasks.get(key)
        if task is None or task.state == "cancelled":
            raise OutOfTimeError

    return check


def _bytes(value: object) -> int:
    """Return the bytes of the arrays in a value, which Dask uses to decide what to move."""
    if isinstance(value, np.ndarray):
        return value.nbytes
    if isinstance(value, dict):
        return sum(map(_bytes, value.values()))
    if isinstance(value, (tuple, list)):
        return sum(map(_bytes, value))
    if is_dataclass(value):
        return sum(map(_bytes, vars(value).values()))
    return 8


def _gigabytes(count: float) -> str:
    return f"{count / 2**30:.2g} GiB"


def _refused(got: str, remedy: str) -> EngineLostError:
    return EngineLostError("engine", expected="workers that are available", got=got, remedy=remedy)


def engine_of(given: object) -> Engine:
    """Return the engine for the argument ``engine`` of `solve`: local, or the workers of a client."""
    if given is None:
        return LOCAL
    if isinstance(given, type) or not isinstance(given, Client):
        raise ProblemError(
            "engine",
            expected="a dask.distributed.Client, or None",
            got=repr(given),
            remedy="Write engine=Client(n_workers=4, threads_per_worker=1) "
            "(from dask.distributed; pip install 'pibls[engine]'), or leave engine out.",
        )
    if given.asynchronous or given.status != "running":
        raise ProblemError(
            "engine",
            expected="a client that is connected, and not asynchronous",
            got=repr(given),
            remedy="Create a new client: Client(address).",
        )
    return Distributed(given)
