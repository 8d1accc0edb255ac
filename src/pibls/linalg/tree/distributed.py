"""An engine of other processes and machines: a `dask.distributed.Client`.

Everything that is sent is a pure function with its arguments, which the scheduler keeps: what a lost worker
had is made again by another. Nothing is scattered, because scattered data cannot be made again.
"""

from __future__ import annotations

import pickle
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, is_dataclass
from typing import Any
from weakref import WeakSet

import numpy as np

from pibls.errors import ProblemError
from pibls.linalg.threads import sensible_threads
from pibls.linalg.tree.engine import HERE, BytesAsked, Engine, Share, TooLargeError

LEAST = 5e8
"""Operations below which a task is not worth sending: about a tenth of a second."""
_EACH = 4  # tasks for each thread, so that none waits long for the others
_USABLE = 0.6  # of a worker's memory: from there on Dask writes to the disk
_BASE = 200 << 20  # bytes of a worker that has done nothing yet
_UNEVEN = 1.25  # how much more than its share a worker may hold
_PAUSE = 0.005
_LOOK = 0.2  # seconds between two looks
_ASKED = 5  # times: the client's own heartbeat sometimes overwrites the answer by one without workers


@dataclass
class Distributed:
    """The workers of a client; ``told`` hears of what is going to be shared and how far it is."""

    client: Any
    told: Callable[[Share], object] = lambda share: None
    _live: WeakSet[Any] = field(default_factory=WeakSet)
    _sent: int = 0
    _share: Share = field(default=Share(0, 0, 0))

    def watched(self, check: Callable[[], None] | None, told: Callable[[Share], object]) -> Engine:
        self.told = told
        return self

    def limit(self, work: float) -> float:
        threads = sum(threads for threads, _ in self.workers())
        return max(work / (_EACH * threads), LEAST)

    def workers(self) -> list[tuple[int, int]]:
        """Threads and bytes of each worker; 0 bytes where they are not limited."""
        for _ in range(_ASKED):
            try:
                found = self.client.scheduler_info(n_workers=-1)["workers"]
            except TypeError:  # older ones always tell of all
                found = self.client.scheduler_info()["workers"]
            if found:
                return [(int(w["nthreads"]), int(w["memory_limit"] or 0)) for w in found.values()]
        raise _refused("no worker", "Start some first: client.wait_for_workers(1).")

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
        future = self.client.submit(_quietly, function, *arguments, pure=False)
        self._live.add(future)
        self._sent += 1
        return future

    def get(self, handles: Sequence[Any]) -> list[Any]:
        try:
            self._wait(handles)
            return [_opened(found) for found in self.client.gather(list(handles))]
        except BaseException as reason:
            # Whatever ends the wait (Ctrl-C, an error, a callback), nobody needs the rest any more.
            with suppress(Exception):
                self.client.cancel(list(self._live))
            if type(reason).__name__ in ("KilledWorker", "FutureCancelledError", "CancelledError"):
                raise _refused(f"{type(reason).__name__}: {reason}", "Look into the workers' logs: a worker "
                               "that needs too much memory is ended by its nanny.") from reason  # fmt: skip
            raise

    def _wait(self, handles: Sequence[Any]) -> None:
        looked = time.monotonic()
        futures = [h for h in handles if hasattr(h, "done")]
        while not all(future.done() for future in futures):
            time.sleep(_PAUSE)
            if time.monotonic() - looked > _LOOK:
                looked = time.monotonic()
                left = sum(not future.done() for future in list(self._live))
                s = self._share
                self.told(Share(s.workers, s.need, s.limit, self._sent - left, self._sent))


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
    with sensible_threads(1), np.errstate(over="ignore", invalid="ignore"):
        value = function(*map(_opened, arguments))
    return Parcel(value, _bytes(value))


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


def _refused(got: str, remedy: str) -> ProblemError:
    return ProblemError("engine", expected="workers that are there", got=got, remedy=remedy)


def engine_of(given: Any) -> Engine:
    """The engine that `solve` was given: this process, or the workers of a client."""
    if given is None:
        return HERE
    needed = ("submit", "gather", "cancel", "scheduler_info")
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
