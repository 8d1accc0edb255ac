"""The sections of a domain that a plot shows.

Coordinates in ``at`` are fixed. Of the free ones, one gives a curve, and two give a map. Two in space, plus
time, give a map at each of several times. More in space give all coordinate planes through the centre, if
there is time only at the final time, unless ``times`` are given.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from pibls.arrays import Array
from pibls.errors import ProblemError
from pibls.expressions import Coordinate, Number
from pibls.geometry import Domain, box_of, time_of
from pibls.geometry.checks.arguments import real_number
from pibls.sampling import Section, fixed_values

_MAP_TIMES = 4  # default number of times of maps
_CURVE_TIMES = 5  # default number of times of curves


@dataclass(frozen=True)
class View:
    """A domain with some coordinates fixed, and the times to show."""

    domain: Domain
    fixed: Mapping[int, float]
    times: tuple[float, ...] | None

    @classmethod
    def of(
        cls, domain: Domain, at: Mapping[Coordinate | str, Number] | None, times: int | Sequence[float] | None
    ) -> View:
        """Return the view with the coordinates in ``at`` fixed, after checking the arguments."""
        fixed = fixed_values(domain, at)
        return cls(domain, fixed, _checked_times(domain, fixed, times))

    @property
    def time(self) -> int | None:
        """The index of the time coordinate, or None if there is none or it is fixed."""
        symbol = time_of(self.domain)
        axis = None if symbol is None else tuple(self.domain.coordinates).index(symbol)
        return None if axis in self.fixed else axis

    @property
    def space(self) -> tuple[int, ...]:
        """The indices of the free space coordinates."""
        n = len(self.domain.coordinates)
        return tuple(i for i in range(n) if i not in self.fixed and i != self.time)

    @property
    def free_count(self) -> int:
        """The number of free coordinates."""
        return len(self.space) + (self.time is not None)

    def at_time(self, t: float) -> View:
        """Return the view at one time."""
        assert self.time is not None
        return replace(self, fixed={**self.fixed, self.time: t}, times=None)

    def lines(self) -> tuple[Section, ...]:
        """Return a tuple of one section with one free coordinate."""
        free = self.space if self.time is None else (*self.space, self.time)
        return (Section(self.domain, free, self.fixed),)

    def snapshots(self) -> tuple[Section, ...]:
        """Return lines in space, one for each time."""
        return tuple(self.at_time(t).lines()[0] for t in self._shown_times(_CURVE_TIMES))

    def planes(self) -> tuple[Section, ...]:
        """Return sections with two free coordinates."""
        if self.free_count == 2:
            free = self.space if self.time is None else (*self.space, self.time)
            return (Section(self.domain, free, self.fixed),)
        if self.time is not None:
            times = self._shown_times(_MAP_TIMES if len(self.space) == 2 else 1)
            return tuple(plane for t in times for plane in self.at_time(t).planes())
        middle = np.mean(box_of(self.domain), axis=1)
        return tuple(
            Section(
                self.domain,
                pair,
                {**{i: float(middle[i]) for i in self.space if i not in pair}, **self.fixed},
            )
            for pair in combinations(self.space, 2)
        )

    def sample_times(self, n: int) -> Array:
        """Return n equidistant times from start to end."""
        assert self.time is not None
        start, stop = box_of(self.domain)[self.time]
        return np.linspace(start, stop, n)

    def _shown_times(self, n: int) -> tuple[float, ...]:
        if self.times is not None:
            return self.times
        return tuple(map(float, self.sample_times(n) if n > 1 else self.sample_times(2)[-1:]))


def _checked_times(
    domain: Domain, fixed: Mapping[int, float], times: int | Sequence[float] | None
) -> tuple[float, ...] | None:
    if times is None:
        return None
    symbol = time_of(domain)
    axis = None if symbol is None else tuple(domain.coordinates).index(symbol)
    if axis is None or axis in fixed:
        raise ProblemError(
            "times",
            expected="a problem with time, and a time that is not fixed with at=…",
            got=repr(times),
            remedy="Omit times.",
        )
    if isinstance(times, (int, np.integer)) and not isinstance(times, bool) and times >= 2:
        start, stop = box_of(domain)[axis]
        return tuple(map(float, np.linspace(start, stop, int(times))))
    if not isinstance(times, (Sequence, np.ndarray)) or isinstance(times, str) or not len(times):
        raise ProblemError(
            "times",
            expected="a number of times (at least 2) or a list of times",
            got=repr(times),
            remedy="Write times=4, or times=[0, 0.5].",
        )
    values = tuple(real_number(t, "times") for t in times)
    for t in values:
        fixed_values(domain, {symbol: t}, "times")
    return values
