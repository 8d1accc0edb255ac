"""f(a, b, …) here or elsewhere: where the pure functions run that an elimination is made of.

An engine takes a function and its arguments and gives back a handle of the result; handles may be arguments
of further calls. In this process a handle is the value itself. Elsewhere it is a promise, and what is not
asked for stays where it was made.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from pibls.errors import ProblemError
from pibls.memory import check_memory


@dataclass(frozen=True)
class BytesAsked:
    """What an elimination will ask of those who share it, in bytes."""

    held: int
    """All matrices and factors together."""
    largest: int
    """The largest task: what it takes in, works on and gives back."""


@dataclass(frozen=True)
class Share:
    """How an elimination is shared, for those who watch it."""

    workers: int
    need: int
    """Bytes that a worker will need at most."""
    limit: int
    """Bytes that the smallest worker may use; 0 where there is no limit."""
    done: int = 0
    tasks: int = 0


class TooLargeError(ProblemError):
    """What was to be shared does not fit into the memory of those who share it."""


class EngineLostError(ProblemError):
    """Workers or scheduler are gone, or never came."""


_A_MOMENT = 2e9
"""Operations of a task between which the clock is looked at: about half a second."""


class Engine(Protocol):
    """Where pure functions run."""

    def limit(self, work: float) -> float:
        """How many operations one task should have at most, of so many in all."""

    def admit(self, demand: BytesAsked) -> None:
        """Raise `TooLargeError` where that would not fit; otherwise announce it."""

    def put(self, value: Any) -> Any:
        """A handle of a value that several calls take."""

    def call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """A handle of function(*arguments); arguments, and members of lists among them, may be handles."""

    def watched(
        self,
        check: Callable[[], None] | None,
        told: Callable[[Share], object],
        deadline: float | None = None,
    ) -> Engine:
        """The same for one solve.

        In this process ``check`` is called between two tasks. Elsewhere ``told`` hears of progress, and
        nobody waits for workers after ``deadline``, a time of `time.perf_counter`.
        """

    @property
    def available(self) -> Engine:
        """Itself, or this process where it is closed."""

    def get(self, handles: Sequence[Any]) -> list[Any]:
        """The values of some handles; what is none is its own value."""


@dataclass(frozen=True)
class Here:
    """This process: at once, one after another."""

    check: Callable[[], None] | None = None
    """Called between two tasks; raises to stop."""

    def limit(self, work: float) -> float:
        return work if self.check is None else _A_MOMENT

    def admit(self, demand: BytesAsked) -> None:
        check_memory(demand.held + demand.largest)

    def put(self, value: Any) -> Any:
        return value

    def call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        if self.check is not None:
            self.check()
        return function(*arguments)

    def get(self, handles: Sequence[Any]) -> list[Any]:
        return list(handles)

    def watched(
        self,
        check: Callable[[], None] | None,
        told: Callable[[Share], object],
        deadline: float | None = None,
    ) -> Engine:
        return self if check is None else Here(check)

    @property
    def available(self) -> Engine:
        return self


HERE = Here()
