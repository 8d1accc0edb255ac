"""How a window of an evolution is solved: at points of a box, or with the functions of any shape."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

from pibls.adaptive.evolutions.galerkin import RoomFollower
from pibls.adaptive.evolutions.galerkin_operator import RoomPlaces
from pibls.adaptive.evolutions.line_mesh import Places
from pibls.adaptive.evolutions.lines import LineFollower
from pibls.adaptive.evolutions.time_stepping import SHORT, Check, March
from pibls.adaptive.evolutions.trajectory import FULL, LATE, Demand, Followed
from pibls.adaptive.thresholds import LINES, ROOMS, WAYS
from pibls.adaptive.validation.context import Bench
from pibls.arrays import Array

Follows = March[Any, Any]


class Way(Protocol):
    """How an evolution is followed."""

    expected: Array | None
    """How large the unknowns become, as far as something else has found."""

    @property
    def tighter(self) -> tuple[float, float]:
        """How much less a window may leave where the estimate is too large: at most, and next to the aim."""

    @property
    def layer(self) -> float:
        """What is left out after a beginning that does not fit, at most, of the whole time."""

    def seconds(self, bench: Bench) -> float | None:
        """What it usually takes; None where it plainly cannot."""

    def demand(self, bench: Bench) -> Demand:
        """What is asked of each window at first."""

    def nodes(self, bench: Bench) -> int:
        """Functions of a cell."""

    def gives_up(self, followed: Followed) -> bool:
        """Whether another way should be tried."""

    @property
    def is_exhausted(self) -> bool:
        """Whether asking for more would change nothing."""

    def follower(
        self, bench: Bench, demand: Demand, key: int, before: Followed | None, check: Check
    ) -> Follows | None:
        """For the first solution, or, with what was followed ``before``, for the second; None: it cannot."""


@dataclass
class InMoments:
    """Polynomials or whole waves in space, held at points and at moments in time."""

    _places: Places | None = None
    _first: LineFollower | None = None
    expected: Array | None = None
    tighter = (0.3, 0.3)
    is_exhausted = False

    @property
    def layer(self) -> float:
        pieces = self._places is not None and len(self._places.free) > 1
        return LINES.layer[not pieces]

    def seconds(self, bench: Bench) -> float | None:
        return WAYS.quick.get(bench.lowered.dimension)

    def demand(self, bench: Bench) -> Demand:
        return Demand(WAYS.tail * bench.tol, bench.limits.window_residual * bench.tol).above(bench)

    def nodes(self, bench: Bench) -> int:
        return WAYS.functions[bench.tol < bench.limits.tight]

    def gives_up(self, followed: Followed) -> bool:
        if followed.stopped in (None, LATE, FULL):
            return False
        e = followed.evolution
        way = abs(followed.until - e.start) / abs(e.stop - e.start) if followed.windows else 0.0
        return followed.stopped != SHORT or way < WAYS.on_the_way

    def follower(
        self, bench: Bench, demand: Demand, key: int, before: Followed | None, check: Check
    ) -> Follows | None:
        self._places = self._places or Places.of(bench)
        if self._places is None:
            return None
        tight = bench.tol < bench.limits.tight
        many = bench.lowered.is_linear or all(self._places.repeated)
        if (
            len(self._places.free) > 1
        ):  # where factors are expensive, many windows pay for them: those of waves
            many = bench.lowered.is_linear and max(self._places.evolution.orders) > 1
        moments = WAYS.many if many else WAYS.moments[tight]
        if before is None:
            made = LineFollower(demand, self._places, WAYS.functions[tight], moments, check=check)
            made.expected = self.expected
            self._first = made
            return made
        assert self._first is not None
        made = LineFollower(demand, self._places, WAYS.functions[tight], moments + 1, check=check)
        made.shadowed = self._first
        return made


@dataclass
class InRooms:
    """Functions on any shape, tested with themselves, held at moments in time."""

    _places: RoomPlaces | None = None
    _first: RoomFollower | None = None
    expected: Array | None = None
    tighter = (0.1, 0.1)

    @property
    def layer(self) -> float:
        return LINES.layer[0]

    def seconds(self, bench: Bench) -> float | None:
        return WAYS.roomy.get(bench.lowered.dimension)

    def demand(self, bench: Bench) -> Demand:
        return Demand(0.1 * bench.tol, ROOMS.residual * bench.tol).above(bench)

    def nodes(self, bench: Bench) -> int:
        return 0 if self._first is None or not self._first.degrees else self._first.degrees[-1]

    def gives_up(self, followed: Followed) -> bool:
        return followed.stopped not in (None, LATE, FULL)

    @property
    def is_exhausted(self) -> bool:
        return self._first is not None and self._first.crowded

    def follower(
        self, bench: Bench, demand: Demand, key: int, before: Followed | None, check: Check
    ) -> Follows | None:
        self._places = self._places or RoomPlaces.of(bench)
        if self._places is None:
            return None
        tight = bench.tol < bench.limits.tight
        made = RoomFollower(demand, self._places, WAYS.moments[tight] + (before is not None), check=check)
        if before is None:
            made.expected = self.expected
            self._first = made
        else:
            made.shadowed = self._first
        return made
