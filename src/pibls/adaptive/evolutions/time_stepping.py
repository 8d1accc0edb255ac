r"""u(t₀) → u(t₁) → …: an evolution is followed window after window, and each way gives its window.

What all ways share stands here: where a window may end at the latest, how long it is tried, what is left
where neither a shorter one nor more functions help (rounding), what is kept where the time is over, and the
second solution, followed in windows that begin and end elsewhere.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Generic, Protocol, TypeVar

import numpy as np

from pibls.adaptive.evolution import Evolution
from pibls.adaptive.evolutions.data_monitor import Watch
from pibls.adaptive.evolutions.trajectory import Demand, Followed, Window
from pibls.adaptive.thresholds import DEFAULT, MARCH
from pibls.adaptive.validation.context import Bench
from pibls.arrays import Array
from pibls.caching import cached_property
from pibls.problem.forms.lowering import LoweredProblem

SHORT = "no window is short enough; the solution may blow up, or the equation may be singular there"
LOST = "the second solution was lost"

Check = Callable[[float, int, int], None]
"""Called with t, windows (after each of them, else -1) and cells; raises to stop."""


class NoWindowError(Exception):
    """The equations of a window were not solved."""


class Ends(Protocol):
    """Something that was solved until a time."""

    @property
    def stop(self) -> float: ...


_ROUNDING = 1e-14  # of the whole time: moments that are closer are one

S = TypeVar("S")
"""What a window begins with."""
W = TypeVar("W", bound=Ends)
R = TypeVar("R")
"""How a window is resolved."""


@dataclass(frozen=True)
class Course:
    """The time of an evolution, in stretches between the moments where something switches."""

    start: float
    stop: float
    switched: tuple[float, ...] = ()
    even: float = 1.6
    """Windows that much shorter than what is left are made half of it."""

    @classmethod
    def of(cls, e: Evolution, lowered: LoweredProblem, **more: float) -> Course:
        levels = (level for axis, level in lowered.interfaces.planes if axis == e.axis)
        return cls(e.start, e.stop, tuple(levels), **more)

    @property
    def total(self) -> float:
        return abs(self.stop - self.start)

    @property
    def sign(self) -> float:
        return 1.0 if self.stop > self.start else -1.0

    def is_over(self, t: float) -> bool:
        return self.sign * (self.stop - t) <= _ROUNDING * self.total

    def end(self, t: float) -> float:
        """Where the next window ends at the latest."""
        ahead = [b for b in self.switched if self.sign * (b - t) > _ROUNDING * self.total]
        return min(ahead, key=lambda b: self.sign * b, default=self.stop)

    def is_switched(self, t: float) -> bool:
        """Whether something switches at a time."""
        return any(abs(b - t) <= _ROUNDING * self.total for b in self.switched)

    def beside(self, t: float, way: float) -> float:
        """A moment before (``way`` -1) or after (+1) what switches at a time; else the time itself."""
        if not self.is_switched(t):
            return t
        return t + way * self.sign * 4e-15 * max(abs(t), self.total)

    def moments(self, t: float, stop: float, nodes: Array) -> Array:
        """Those of a window: what switches at its end has not done so yet."""
        times = t + (stop - t) * nodes
        times[-1] = self.beside(stop, -1.0)
        return np.asarray(times)

    def fitted(self, t: float, h: float) -> float:
        """A length that leaves no tiny window before the next end."""
        left = self.sign * (self.end(t) - t)
        h = min(h, left)
        return 0.5 * left if h < left < self.even * h else h

    def reached(self, t: float, h: float) -> float | None:
        """Where a window of that length ends; None where it is too short to be one."""
        stop, end = t + self.sign * h, self.end(t)
        whole = h >= self.sign * (end - t)  # what lies between two switches may be shorter than any other
        if not whole and h < max(DEFAULT.shortest * self.total, 4e-16 * abs(t)):
            return None
        return end if self.sign * (end - stop) < 1e-12 * self.total else stop


def follow(
    course: Course,
    begun: tuple[S, float],
    window: Callable[[S, float, float], tuple[W, S, float] | str],
    done: list[W],
    told: Callable[[float, S], None],
) -> str | None:
    """All windows, from a state and a first length; why it ends before its time, if it does.

    ``window`` gives one from a state, a time and a length: with the next state and length, or why none;
    ``told`` hears of each.
    """
    t, (state, h) = course.start, begun
    while not course.is_over(t):
        found = window(state, t, course.fitted(t, h))
        if isinstance(found, str):
            return found
        made, state, h = found
        done.append(made)
        t = made.stop
        told(t, state)
    return None


@dataclass
class Easing:
    """What one window may leave: more than was asked for, where that is rounding."""

    demand: Demand
    factor: float = 1.0
    before: tuple[float, float, int] | None = None
    """What the last try left, in units of what it may; its length, its functions."""

    @property
    def eased(self) -> Demand:
        return Demand(self.factor * self.demand.tail, self.factor * self.demand.residual)

    def is_helpless(self, worst: float, count: int) -> bool:
        """Whether more functions than before gained nothing."""
        return self.before is not None and count > self.before[2] and worst > 0.5 * self.before[0]

    def is_rounding(
        self, worst: float, h: float, count: int, *, least: float = 0.3, limit: float = 1e-6
    ) -> bool:
        """Whether neither a shorter window nor more functions (by ``least``) help; then it may be left."""
        if self.before is None:
            return False
        shorter = h <= 0.75 * self.before[1] and worst > 0.3 * self.before[0]
        finer = count > self.before[2] and worst > least * self.before[0]
        if not (shorter or finer) or worst * max(self.demand.tail, 1e-13) >= limit:
            return False
        self.factor *= 3.0 * worst
        return self.factor < MARCH.hopeless


def left_by_newton(tail: float) -> float:
    """What Newton's method may leave in a window whose tail may be that large."""
    return max(MARCH.left[0] * tail, 1e-15)


def shortened(asked: Demand, along: float, between: float, moments: int) -> float:
    """How much shorter the next try is, after a tail in time and a residual between the moments."""
    ratio = min(asked.tail / max(along, 1e-300), asked.residual / max(between, 1e-300))
    return float(min(max(MARCH.safe * ratio ** (1.0 / (moments + 1.0)), 0.1), 0.7))


def lengthened(tail: float, along: float, moments: int) -> float:
    """How much longer the next window is; another length needs other factors, and must be worth them."""
    factor = min(MARCH.safe * (tail / max(along, 1e-300)) ** (1.0 / (moments + 1.0)), MARCH.growth)
    return 1.0 if 0.95 <= factor < MARCH.longer else factor


@dataclass(kw_only=True)
class March(ABC, Generic[S, R]):
    """Follows an evolution from its start to its end."""

    check: Check = lambda t, windows, cells: None
    tries: int = 0
    rough: float | None = None
    """Since when the beginning was not resolved."""
    halves: ClassVar[bool] = False
    """Whether a window of the second solution, whose windows are given, is halved where it fails."""
    layers: dict[float, float] = field(default_factory=dict)
    """Where the beginning, or what begins at a switch, contradicts what holds at the sides: when that is, and
    from when on anything is promised."""
    expected: Array | None = None
    """How large the unknowns become, as far as is known beforehand."""
    _sizes: Array = field(default_factory=lambda: np.empty(0))
    """How large each unknown was until now."""
    _done: list[Window] = field(default_factory=list)

    @property
    @abstractmethod
    def of(self) -> Bench:
        """The problem."""

    @cached_property
    def course(self) -> Course:
        return Course.of(self.evolution, self.of.lowered)

    @cached_property
    def watch(self) -> Watch:
        return Watch.over(self.of)

    def _from_nothing(self, begun: Array) -> Array:
        """What unknowns become that begin at zero, from max|u| of each: that is what they are measured by.

        u_t = Δu + 1 would be followed from 1e-7 of its time on to so many digits of itself.
        """
        nothing = np.full_like(begun, MARCH.nothing)
        return nothing if self.expected is None else np.where(begun == 0, self.expected, nothing)

    @property
    def evolution(self) -> Evolution:
        found = self.of.evolution
        assert found is not None
        return found

    @property
    @abstractmethod
    def effort(self) -> int:
        """Steps of Newton's method, in all windows."""

    @abstractmethod
    def _begun(self) -> tuple[S, float]:
        """The beginning and a first length."""

    @abstractmethod
    def _window(self, state: S, t: float, h: float) -> tuple[Window, S, float] | str:
        """One accepted window, where the next begins and its length; or why there is none."""

    @abstractmethod
    def _others(self, followed: Followed) -> Iterable[tuple[float, float, R]]:
        """(start, stop, resolution) of the windows of the second solution."""

    @abstractmethod
    def _given(self, state: S | None, t: float, stop: float, chosen: R) -> tuple[Window, S]:
        """One of them, from the start where there is no state. Raises a `NoWindowError`."""

    @abstractmethod
    def _cells(self, state: S) -> int: ...

    def run(self) -> Followed:
        """All windows; where it cannot go on, those until there."""
        done = self._done = []

        def told(t: float, state: S) -> None:
            self.check(t, len(done), self._cells(state))

        return self._followed(follow(self.course, self._begun(), self._window, done, told))

    def partial(self) -> Followed | None:
        """What was followed until an interruption."""
        return self._followed(None) if self._done else None

    def _followed(self, stopped: str | None) -> Followed:
        return Followed(tuple(self._done), self.evolution, stopped, self.effort, self.tries)

    def replay(self, followed: Followed) -> Followed:
        """The same evolution in other windows."""
        self._done, state = [], None
        for t, stop, chosen in self._others(followed):
            ends = [stop]
            while ends:
                try:
                    window, state = self._given(state, t, ends[-1], chosen)
                except NoWindowError:
                    if not self.halves or self.course.reached(t, 0.5 * abs(ends[-1] - t)) is None:
                        return self._followed(LOST)
                    ends.append(0.5 * (t + ends[-1]))
                    continue
                self._done.append(window)
                t = ends.pop()
                self.check(t, -1, self._cells(state))
        return self._followed(followed.stopped)


def between(
    followed: Followed, chosen: Sequence[R], switched: Iterable[float], size: Callable[[R], Any]
) -> Iterator[tuple[float, float, R]]:
    """(start, stop, resolution) of windows that reach from the middle of one to the middle of the next.

    They end where something switches; of two resolutions they have the one of the larger ``size``.
    """
    ends, group, mine = {*switched, followed.until}, [], []
    for window, own in zip(followed.windows, chosen, strict=True):
        group.append(window)
        mine.append(own)
        if window.stop not in ends:
            continue
        edges = [group[0].start, *(0.5 * (x.start + x.stop) for x in group), window.stop]
        if len(group) == 1:
            edges[1] = 0.55 * window.start + 0.45 * window.stop
        pairs = zip([mine[0], *mine], [*mine, mine[-1]], strict=True)
        yield from zip(edges[:-1], edges[1:], (max(p, key=size) for p in pairs), strict=True)
        group, mine = [], []
