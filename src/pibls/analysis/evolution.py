r"""Recognition of evolutions: problems F(∂_t^m u, …) = 0 with u and its time derivatives given at t₀.

A problem is an evolution if, along some coordinate, as many conditions hold at one end as the equations have
derivatives in that coordinate, none at the other end, and all other conditions at every time.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import permutations

import numpy as np

from pibls.arrays import Array
from pibls.geometry import Domain, box_of, faces_of, time_of
from pibls.problem import Region
from pibls.problem.forms.compilation import CompiledProblem, Residual

_PROBE_COUNT = 64
_MAX_PERMUTED = 5  # columns: 120 permutations


@dataclass(frozen=True)
class Evolution:
    """The time coordinate of an evolution and its interval; ``stop`` may be less than ``start``."""

    axis: int
    start: float
    stop: float
    orders: tuple[int, ...]
    """Highest time derivative of each unknown."""
    initial_conditions: tuple[int, ...]
    """Indices of the residuals that hold only at the start."""

    @property
    def forward(self) -> bool:
        return self.stop > self.start

    def is_given_by(self, residual: Residual) -> bool:
        """Whether an initial condition is linear in values and time derivatives below the order only."""
        return not residual.nonlinear and all(
            sum(j.alpha) == j.alpha[self.axis] < self.orders[j.unknown] and j.site == 0
            for j in residual.linear
        )


def evolution_of(compiled: CompiledProblem, domain: Domain) -> Evolution | None:
    """Return the time coordinate and interval of a problem; None if it is not an evolution."""
    box = box_of(domain)
    last = len(box) - 1
    axes = [last] if time_of(domain) is not None else list(range(last, -1, -1))
    for axis in axes:
        orders = orders_in(compiled, axis)
        if sum(orders) > sum(not r.region.is_interior for r in compiled.residuals):
            continue  # too few conditions for initial values
        for start, stop in (box[axis], box[axis][::-1]):
            found = [_time_role(r.region, domain, axis, float(start)) for r in compiled.residuals]
            initial_conditions = tuple(i for i, kind in enumerate(found) if kind == "start")
            if None not in found and initial_conditions and len(initial_conditions) == sum(orders):
                return Evolution(axis, float(start), float(stop), orders, initial_conditions)
    return None


def redundant_initial_conditions(compiled: CompiledProblem, domain: Domain) -> tuple[int, ...]:
    """Return the indices of initial conditions beyond ∂_t^j u for all j below the order.

    The evolution may start at either end; a problem in one coordinate is one if all conditions are at one
    end.
    """
    if time_of(domain) is None and compiled.dimension > 1:
        return ()
    return next(
        filter(None, (_redundant_initial_conditions(compiled, domain, float(t)) for t in box_of(domain)[-1])),
        (),
    )


def _redundant_initial_conditions(compiled: CompiledProblem, domain: Domain, start: float) -> tuple[int, ...]:
    axis = compiled.dimension - 1
    orders = orders_in(compiled, axis)
    kinds = [_time_role(r.region, domain, axis, start) for r in compiled.residuals]
    initial_conditions = [i for i, kind in enumerate(kinds) if kind == "start"]
    if None in kinds or not 0 < sum(orders) < len(initial_conditions):
        return ()  # without time derivatives there are no initial values
    kept: dict[tuple[int, int], int] = {}
    for i in initial_conditions:
        r = compiled.residuals[i]
        if len(r.linear) == 1 and not r.nonlinear and sum(r.linear[0].alpha) == r.linear[0].alpha[axis]:
            kept.setdefault((r.linear[0].unknown, r.linear[0].alpha[axis]), i)
    needed = [kept.get((k, j)) for k, order in enumerate(orders) for j in range(order)]
    return () if None in needed else tuple(i for i in initial_conditions if i not in needed)


def orders_in(compiled: CompiledProblem, axis: int) -> tuple[int, ...]:
    """Return the highest derivative of each unknown along an axis in the equations."""
    out = [0] * compiled.unknowns
    for r in compiled.residuals:
        if r.region.is_interior:
            for j in (*r.linear, *r.nonlinear):
                out[j.unknown] = max(out[j.unknown], j.alpha[axis])
    return tuple(out)


def max_assignment(gain: Array) -> tuple[int, ...]:
    """Assign to each row its own column such that Σ gain is maximal.

    For few columns all permutations are tried: importing SciPy's solver takes longer than most problems.
    """
    rows, columns = gain.shape
    if rows <= columns <= _MAX_PERMUTED:
        every = permutations(range(columns), rows)
        return max(every, key=lambda p: sum(row[k] for row, k in zip(gain, p, strict=True)))
    from scipy.optimize import linear_sum_assignment

    return tuple(int(k) for k in linear_sum_assignment(gain, maximize=True)[1])


def has_jumps_in_time(compiled: CompiledProblem, evolution: Evolution) -> bool:
    """Whether u or its time derivatives jump at some time, which continuous time windows do not allow."""
    interfaces = compiled.interfaces
    planes = {*interfaces.flux_planes, *(plane for _, plane, _ in interfaces.sources)}
    return any(axis == evolution.axis for axis, _ in planes)


def _time_role(region: Region, domain: Domain, axis: int, start: float) -> str | None:
    """Return "start" for the initial time, "always" for a region that is the same at all times, else None."""
    if region.is_interior or (region.is_integral and time_of(domain) is not None):
        return "always"
    plane = region.plane()
    if plane is not None:
        if plane[0] != axis:
            return "always"
        return "start" if plane[1] == start and region.is_whole_slice else None
    if region.periodic_axis is not None:
        return "always" if region.periodic_axis != axis else None
    spots = region.isolated_points(domain)
    if len(spots):
        if spots.shape[1] == 1:
            return "start" if spots[0, 0] == start else None
        return "always" if region.allows_time_stepping(domain) else None
    return _boundary_time_role(region, domain, axis, start)


def _boundary_time_role(part: Region, domain: Domain, axis: int, start: float) -> str | None:
    rng = np.random.default_rng(0)
    seen = set()
    for face in faces_of(domain):
        U = 0.01 + 0.98 * rng.random((_PROBE_COUNT, face.dimension))
        is_held = part.mask(face.at(U, rng))
        if not is_held.any():
            continue
        plane = face.plane()
        if plane is None or plane[0] != axis:
            seen.add("always")
        else:
            seen.add("start" if plane[1] == start and is_held.all() else "neither")
    return seen.pop() if len(seen) == 1 and "neither" not in seen else None
