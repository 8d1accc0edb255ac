r"""F(∂_t^m u, …) = 0, u and its rates given at t₀: problems that are determined from one end.

An initial value problem is recognised by its conditions: along some coordinate as many of them hold at one
end as the equations have derivatives, none at the other, and all the rest at every time.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import permutations
from typing import Any

import numpy as np

from pibls.arrays import Array, Rng
from pibls.basis.quasi import CLOSED_RULES
from pibls.geometry import Domain, box_of, faces_of, time_of
from pibls.problem import Jet, Region
from pibls.problem.forms.lowering import LoweredProblem, Residual
from pibls.problem.regions.points import Points, PointSet
from pibls.spaces import Space

_PROBES = 64
_FEW = 5  # unknowns: 120 ways to assign them


@dataclass(frozen=True)
class Evolution:
    """Which coordinate is time, where it starts and where it ends (``stop`` may be the lower of the two)."""

    axis: int
    start: float
    stop: float
    orders: tuple[int, ...]
    """The highest derivative in time of each unknown."""
    beginning: tuple[int, ...]
    """The residuals that hold at the start alone."""

    @property
    def forward(self) -> bool:
        return self.stop > self.start

    def is_given_by(self, residual: Residual) -> bool:
        """Whether a residual at the start gives values of unknowns or of their rates, and nothing else."""
        return not residual.nonlinear and all(
            sum(j.alpha) == j.alpha[self.axis] < self.orders[j.unknown] and j.site == 0
            for j in residual.linear
        )


def evolution_of(lowered: LoweredProblem, domain: Domain) -> Evolution | None:
    """The evolution that a problem is, if it is one."""
    box = box_of(domain)
    last = len(box) - 1
    axes = [last] if time_of(domain) is not None else list(range(last, -1, -1))
    for axis in axes:
        orders = orders_in(lowered, axis)
        if sum(orders) > sum(not r.region.is_inside for r in lowered.residuals):
            continue  # fewer conditions than it takes to begin
        for start, stop in (box[axis], box[axis][::-1]):
            found = [_kind(r.region, domain, axis, float(start)) for r in lowered.residuals]
            beginning = tuple(i for i, kind in enumerate(found) if kind == "start")
            if None not in found and beginning and len(beginning) == sum(orders):
                return Evolution(axis, float(start), float(stop), orders, beginning)
    return None


def surplus_of(lowered: LoweredProblem, domain: Domain) -> tuple[int, ...]:
    """The beginnings that an evolution does not need: those beyond ∂_t^j u for all j below the order.

    It may begin at either end; a line is an evolution, too, where all conditions stand at one end.
    """
    if time_of(domain) is None and lowered.dimension > 1:
        return ()
    return next(filter(None, (_surplus(lowered, domain, float(t)) for t in box_of(domain)[-1])), ())


def _surplus(lowered: LoweredProblem, domain: Domain, start: float) -> tuple[int, ...]:
    axis = lowered.dimension - 1
    orders = orders_in(lowered, axis)
    kinds = [_kind(r.region, domain, axis, start) for r in lowered.residuals]
    beginning = [i for i, kind in enumerate(kinds) if kind == "start"]
    if None in kinds or not 0 < sum(orders) < len(beginning):
        return ()  # what has no rate has no beginning
    kept: dict[tuple[int, int], int] = {}
    for i in beginning:
        r = lowered.residuals[i]
        if len(r.linear) == 1 and not r.nonlinear and sum(r.linear[0].alpha) == r.linear[0].alpha[axis]:
            kept.setdefault((r.linear[0].unknown, r.linear[0].alpha[axis]), i)
    needed = [kept.get((k, j)) for k, order in enumerate(orders) for j in range(order)]
    return () if None in needed else tuple(i for i in beginning if i not in needed)


def orders_in(lowered: LoweredProblem, axis: int) -> tuple[int, ...]:
    """The highest derivative of each unknown along an axis in the equations."""
    out = [0] * lowered.unknowns
    for r in lowered.residuals:
        if r.region.is_inside:
            for j in (*r.linear, *r.nonlinear):
                out[j.unknown] = max(out[j.unknown], j.alpha[axis])
    return tuple(out)


def assigned(gain: Array) -> tuple[int, ...]:
    """For each row a column of its own, Σ gain as large as it may be.

    SciPy's assignment takes longer to import than most problems to solve; of few all are tried.
    """
    rows, columns = gain.shape
    if rows <= columns <= _FEW:
        every = permutations(range(columns), rows)
        return max(every, key=lambda p: sum(row[k] for row, k in zip(gain, p, strict=True)))
    from scipy.optimize import linear_sum_assignment

    return tuple(int(k) for k in linear_sum_assignment(gain, maximize=True)[1])


def jumps_in_time(lowered: LoweredProblem, evolution: Evolution) -> bool:
    """Whether u or its rates jump at some time: windows begin where the last one ended, and know no jump."""
    faces = lowered.interfaces
    planes = {*faces.jumping, *(plane for _, plane, _ in faces.sources)}
    return any(axis == evolution.axis for axis, _ in planes)


def _kind(region: Region, domain: Domain, axis: int, start: float) -> str | None:
    """Whether a region is the start, or alike at all times; None where it is neither."""
    if region.is_inside or (region.is_sum and time_of(domain) is not None):
        return "always"
    plane = region.plane()
    if plane is not None:
        if plane[0] != axis:
            return "always"
        return "start" if plane[1] == start and region.is_whole_slice else None
    if region.period is not None:
        return "always" if region.period != axis else None
    spots = region.spots(domain)
    if len(spots):
        if spots.shape[1] == 1:
            return "start" if spots[0, 0] == start else None
        return "always" if region.follows(domain) else None
    return _of_part(region, domain, axis, start)


def _of_part(part: Region, domain: Domain, axis: int, start: float) -> str | None:
    rng = np.random.default_rng(0)
    seen = set()
    for face in faces_of(domain):
        U = 0.01 + 0.98 * rng.random((_PROBES, face.dimension))
        held = part.mask(face.at(U, rng))
        if not held.any():
            continue
        plane = face.plane()
        if plane is None or plane[0] != axis:
            seen.add("always")
        else:
            seen.add("start" if plane[1] == start and held.all() else "neither")
    return seen.pop() if len(seen) == 1 and "neither" not in seen else None


@dataclass(frozen=True)
class Handed(Region):
    """The start of a window, at one of its two ends."""

    axis: int
    level: float

    is_handed = True

    def place(
        self, domain: Domain, points: Points, rng: Rng, box: Array | None = None, *, name: str = ""
    ) -> PointSet:
        assert box is not None  # a window is always a box
        d = len(box)
        free = [i for i in range(d) if i != self.axis]
        if not free:
            return PointSet.inside(np.array([[self.level]]))
        U = CLOSED_RULES[points.boundary_rule or points.rule](points.initial, d - 1, rng)
        X = np.full((len(U), d), self.level)
        X[:, free] = box[free, 0] * (1.0 - U) + box[free, 1] * U
        return PointSet.inside(X[np.asarray(domain.contains(X), dtype=bool)])

    def follows(self, domain: Domain) -> bool:
        return True

    def words(self, coordinates: tuple[Any, ...], pen: Any) -> str:
        return f"at the start of the window, {coordinates[self.axis]} = {self.level:g}"


def handed_over(
    space: Space, w: Array, evolution: Evolution, t: float, dimension: int
) -> tuple[Residual, ...]:
    """∂_t^j u(x, t) = ∂_t^j ũ(x, t) for all j below the order: a window begins where the last one ended."""
    out = []
    region = Handed(evolution.axis, t)
    for k, order in enumerate(evolution.orders):
        for j in range(order):
            alpha = tuple(j if i == evolution.axis else 0 for i in range(dimension))
            jet = Jet(k, alpha)
            out.append(
                Residual(
                    f"the start of unknown {k + 1}, derivative {j}",
                    region,
                    (jet,),
                    (),
                    (),
                    lambda *_: [1.0],
                    _minus(space, w, jet, dimension),
                    lambda *_: [],
                )
            )
    return tuple(out)


def _minus(space: Space, w: Array, jet: Jet, dimension: int) -> Callable[..., list[Array]]:
    def rest(*arguments: Array) -> list[Array]:
        X = np.stack(arguments[:dimension], axis=1)
        return [-space.values((X,), (jet,), w)[0]]

    return rest


def continued(lowered: LoweredProblem, evolution: Evolution, begun: tuple[Residual, ...]) -> LoweredProblem:
    """The problem with another beginning."""
    kept = tuple(r for i, r in enumerate(lowered.residuals) if i not in evolution.beginning)
    return replace(lowered, residuals=(*kept, *begun))
