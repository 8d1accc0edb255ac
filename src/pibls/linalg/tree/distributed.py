"""An engine of other processes and machines: a `dask.distributed.Client`.

Everything that is sent is a pure function with its arguments, which the scheduler keeps: what a lost worker
had is made again by another. Nothing is scattered, because scattered data cannot be made again.
"""

from __future__ import annotations

import pickle
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, field, is_dataclass, replace
from threading import Thread
from typing import Any, TypeVar
from weakref import WeakSet

import numpy as np

from pibls.deadline import OutOfTimeError, asked, go_on
from pibls.errors import ProblemError
from pibls.linalg.threads import sensible_threads
from pibls.linalg.tree.engine import HERE, BytesAsked, Engine, EngineLostError, Share, TooLargeError

LEAST = 5e8
"""Operations below which a task is not worth sending: about a tenth of a second."""
_EACH = 4  # tasks for each thread, so that none waits long for the others
_USABLE = 0.6  # of a worker's memory: from there on Dask writes to the disk
_BASE = 200 << 20  # bytes of a worker that has done nothing yet
_UNEVEN = 1.25  # how much more than its share a worker may hold
_POLL = 0.05  # seconds between two checks of the deadline while workers are busy
_REPORT = 0.2  # seconds between two reports of progress
_RETRIES = 5  # the client's own heartbeat sometimes overwrites the answer by one without workers
_APPEAR = 300.0  # seconds to wait for the first worker: cloud machines and batch queues take minutes
_ANEW = "Look whether the scheduler runs. Make a new one: Client(address)."
_LOST = {
    "KilledWorker": "Look into the workers' logs: a worker that needs too much memory is ended by its nanny.",
    "FutureCancelledError": _ANEW,
    "CancelledError": _ANEW,
    "ClosedClientError": _ANEW,
    "CommClosedError": _ANEW,
}
"""Exceptions of Dask that say that workers, scheduler or client are gone, and what to do then."""

T = TypeVar("T")


@dataclass
class Distributed:
    """The workers of a client."""

    client: Any
    told: Callable[[Share], object] = lambda share: None
    """Called with what is going to be shared, and how far it is."""
    deadline: float | None = None
    """The time of `time.perf_counter` after which nobody waits for workers; None: no limit."""
    _live: WeakSet[Any] = field(default_factory=WeakSet, init=False)
    _sent: int = field(default=0, init=False)
    _share: Share = field(default=Share(0, 0, 0), init=False)

    def watched(
        self,
        check: Callable[[], None] | None,
        told: Callable[[Share], object],
        deadline: float | None = None,
    ) -> Engine:
        return replace(self, told=told, deadline=deadline)

    @property
    def available(self) -> Engine:
        return self if getattr(self.client, "status", "running") == "running" else HERE

    def limit(self, work: float) -> float:
        if work <= LEAST:
            return LEAST
        threads = sum(threads for threads, _ in self.workers())
        return max(work / (_EACH * threads), LEAST)

    def workers(self) -> list[tuple[int, int]]:
        """Threads and bytes of each worker; 0 bytes where they are not limited.

        An adaptive cluster starts workers when there are tasks: one is sent where there is no worker yet.
        """
        began, answers, sent = time.monotonic(), 0, list[Any]()
        with self._cancelling():
            while not (found := self._awaited(self._known_workers)):
                answers += 1
                waited = time.monotonic() - began
                if getattr(self.client, "status", "running") not in ("running", "connecting"):
                    raise _refused("a client that is closed", _ANEW)
                if waited > _APPEAR:
                    raise _refused(f"no worker within {waited:.0f} s",
                                   "Start some first: client.wait_for_workers(1).")  # fmt: skip
                if answers >= _RETRIES:
                    sent = sent or [self.call(_itself, None)]
                    self.told(Share(0, 0, 0))
                    self._awaited(lambda: time.sleep(_REPORT))
        return [(int(w["nthreads"]), int(w["memory_limit"] or 0)) for w in found.values()]

    def _known_workers(self) -> dict[str, Any]:
        try:
            return dict(self.client.scheduler_info(n_workers=-1)["workers"])
        except TypeError:  # older ones always tell of all
            return dict(self.client.scheduler_info()["workers"])

    def admit(self, demand: BytesAsked) -> None:
        workers = self.workers()
        threads = sum(t for t, _ in workers)
        self._sent, self._share = 0, Share(len(workers), 0, 0)
        for mine, limit in workers:
            need = _BASE + int(mine * (_UNEVEN * demand.held / threads + demand.largest))
            if limit and need > _USABLE * limit:
                raise TooLargeError(
                    "engine",
                    expected=f"workers that can use {_gigabytes(need)} each ({mine} thread(s), "
                    f"{_gigabytes(demand.held)} held by all, the largest task {_gigabytes(demand.largest)})",
                    got=f"a worker with {_gigabytes(limit)}, of which {_USABLE:.0%} are used",
                    remedy="Take more workers, or workers with more memory or fewer threads.",
                )
            if need > self._share.need:
                self._share = Share(len(workers), need, min((b for _, b in workers if b), default=0))
        self.told(self._share)

    def put(self, value: Any) -> Any:
        return self.call(_itself, value)

    def call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        with self._cancelling():
            self._check()
            future = self.client.submit(_quietly, function, *arguments, pure=False)
        self._live.add(future)
        self._sent += 1
        return future

    def get(self, handles: Sequence[Any]) -> list[Any]:
        with self._cancelling():
            return [_opened(found) for found in self._awaited(lambda: self.client.gather(list(handles)))]

    def _check(self) -> None:
        """Raise where the time is over, or an interruption has come."""
        go_on()
        if self.deadline is not None and time.perf_counter() > self.deadline:
            raise OutOfTimeError

    def _awaited(self, function: Callable[[], T]) -> T:
        """function(), called in another thread: this one checks the deadline and reports.

        A call of the client returns when scheduler and workers answer, which may be never.
        """
        result: Future[T] = Future()
        Thread(target=_settle, args=(result, function), daemon=True).start()
        reported = time.monotonic()
        while True:
            self._check()
            try:
                return result.result(timeout=_POLL)
            except TimeoutError:
                if result.done():  # it is an error of the function
                    raise
            if self._sent and time.monotonic() - reported > _REPORT:
                reported = time.monotonic()
                left = sum(not future.done() for future in list(self._live))
                s = self._share
                self.told(Share(s.workers, s.need, s.limit, self._sent - left, self._sent))

    @contextmanager
    def _cancelling(self) -> Iterator[None]:
        """Whatever ends this (Ctrl-C, the deadline, an error, a callback), nobody needs the rest any more."""
        try:
            yield
        except BaseException as reason:
            self._cancel()
            name = type(reason).__name__
            if name in _LOST:
                raise _refused(f"{name}: {str(reason).rstrip('.')}", _LOST[name]) from reason
            raise

    def _cancel(self) -> None:
        """Release all tasks of this engine: the scheduler forgets them, and those that run stop.

        client.cancel(…) is no choice: where a task has a dependent whose handle was dropped, the scheduler
        fails an assertion and closes the connection of the client (distributed 2026.8).
        """
        for future in list(self._live):
            future.release()


def _settle(result: Future[T], function: Callable[[], T]) -> None:
    try:
        result.set_result(function())
    except BaseException as reason:
        result.set_exception(reason)


@dataclass(frozen=True)
class Parcel:
    """A result of a task. It travels as one string of bytes: its arrays lie aligned where they arrive.

    Cut out of a message they would begin anywhere, and NumPy sums what lies askew in another order.
    """

    value: Any
    size: int

    def __reduce__(self) -> tuple[Any, ...]:
        import cloudpickle

        return _unpacked, (cloudpickle.dumps(self.value), self.size)

    def __sizeof__(self) -> int:
        return self.size


def _unpacked(content: bytes, size: int) -> Parcel:
    return Parcel(pickle.loads(content), size)


def _opened(found: Any) -> Any:
    if isinstance(found, Parcel):
        return found.value
    return [_opened(member) for member in found] if type(found) is list else found


def _itself(value: Any) -> Any:
    return value


def _quietly(function: Callable[..., Any], *arguments: Any) -> Parcel:
    """With one BLAS thread, as here: another number of them would round differently."""
    with sensible_threads(1), np.errstate(over="ignore", invalid="ignore"), asked(_until_cancelled()):
        value = function(*map(_opened, arguments))
    return Parcel(value, _bytes(value))


def _until_cancelled() -> Callable[[str], None] | None:
    """A check that ends the task of this thread when it was cancelled; None outside of a worker.

    Dask lets a task that runs finish, also where nobody waits for it any more.
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


def _bytes(value: Any) -> int:
    """The bytes of the arrays in a value, by which Dask decides what to move."""
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
    return EngineLostError("engine", expected="workers that are there", got=got, remedy=remedy)


def engine_of(given: Any) -> Engine:
    """The engine that `solve` was given: this process, or the workers of a client."""
    if given is None:
        return HERE
    needed = ("submit", "gather", "scheduler_info")
    if isinstance(given, type) or not all(hasattr(given, name) for name in needed):
        raise ProblemError(
            "engine",
            expected="a dask.distributed.Client, or None",
            got=repr(given),
            remedy="Write engine=Client(n_workers=4, threads_per_worker=1) "
            "(from dask.distributed; pip install 'pibls[engine]'), or leave engine out.",
        )
    if getattr(given, "asynchronous", False) or getattr(given, "status", "running") != "running":
        raise ProblemError(
            "engine",
            expected="a client that is connected, and not asynchronous",
            got=repr(given),
            remedy="Make a new one: Client(address).",
        )
    return Distributed(given)
