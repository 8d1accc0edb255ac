"""Engines: where the tasks of an elimination run, in this process or on a cluster.

An engine takes a pure function and its arguments and returns a handle of the result; handles may be arguments
of further calls. In this process a handle is the value itself. On a cluster it is a future, and results that
are not fetched stay on the worker.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar, cast

from pibls.errors import ProblemError
from pibls.runtime.deadline import check_deadline
from pibls.runtime.memory import check_memory

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class Handle(Generic[T_co]):
    """Type of a handle of a value: the value itself in this process, a future on a cluster."""


@dataclass(frozen=True)
class MemoryDemand:
    """Memory that an elimination needs, in bytes."""

    total: int
    """Bytes of all matrices and factors together."""
    largest_task: int
    """Bytes of the largest task: its inputs, work arrays and results."""


@dataclass(frozen=True)
class EngineProgress:
    """Progress of an elimination on the workers, for callbacks."""

    workers: int
    needed_bytes: int
    """Largest number of bytes that a worker needs."""
    worker_limit_bytes: int
    """Memory limit of the smallest worker in bytes; 0 without a limit."""
    done: int = 0
    tasks: int = 0


class TooLargeError(ProblemError):
    """The elimination does not fit into the memory of the workers."""


class EngineLostError(ProblemError):
    """Workers or scheduler are lost or did not start."""


_OPERATIONS_PER_TASK = 2e9
"""Operations per task if the deadline is checked between tasks: about half a second."""


class Engine(Protocol):
    """Protocol of an engine, which runs pure functions."""

    def limit(self, work: float) -> float:
        """Return the largest number of operations per task, for ``work`` operations in total."""

    def admit(self, demand: MemoryDemand) -> None:
        """Raise `TooLargeError` if the memory is not sufficient; otherwise report the demand."""

    def put(self, value: T) -> Handle[T]:
        """Return a handle of a value that is an argument of several calls."""

    def call(self, function: Callable[..., T], *arguments: object) -> Handle[T]:
        """Return a handle of function(*arguments); arguments and members of list arguments may be handles."""

    def for_solve(
        self, on_progress: Callable[[EngineProgress], object], deadline: float | None = None
    ) -> Engine:
        """Return an engine for one solve, which ends at ``deadline``, a time of `time.perf_counter`.

        In this process the deadline is checked between two tasks. On a cluster ``on_progress`` is called with
        the progress, and waiting for workers ends at ``deadline``.
        """

    @property
    def available(self) -> Engine:
        """The engine itself, or the local engine if its client is closed."""

    def get(self, handles: Sequence[Handle[T]]) -> list[T]:
        """Return the values of handles; a value that is not a handle is returned unchanged."""


@dataclass(frozen=True)
class LocalEngine:
    """Runs tasks in this process, one after another."""

    has_deadline: bool = False
    """Whether the deadline is checked between two tasks."""

    def limit(self, work: float) -> float:
        return _OPERATIONS_PER_TASK if self.has_deadline else work

    def admit(self, demand: MemoryDemand) -> None:
        check_memory(demand.total + demand.largest_task)

    def put(self, value: T) -> Handle[T]:
        return cast("Handle[T]", value)

    def call(self, function: Callable[..., T], *arguments: object) -> Handle[T]:
        if self.has_deadline:
            check_deadline()
        return cast("Handle[T]", function(*arguments))

    def get(self, handles: Sequence[Handle[T]]) -> list[T]:
        return cast("list[T]", list(handles))

    def for_solve(
        self, on_progress: Callable[[EngineProgress], object], deadline: float | None = None
    ) -> Engine:
        return LocalEngine(deadline is not None)

    @property
    def available(self) -> Engine:
        return self


LOCAL = LocalEngine()
