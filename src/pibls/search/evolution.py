r"""F(∂_t^m u, …) = 0, u and its rates given at t₀: problems that are determined from one end.

An initial value problem is recognised by its conditions: along some coordinate as many of them hold at one
end as the equations have derivatives, none at the other, and all the rest at every time.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from pibls.arrays import Array
from pibls.domain import Domain, box_of, faces_of, time_of
from pibls.domain.face import Extruded, FlatFace
from pibls.problem import Inside, Jet, Pair, Part, Slice, Spot
from pibls.problem.lowering import LoweredProblem, Residual
from pibls.space import Space

_PROBES = 64


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


def evolution_of(lowered: LoweredProblem, domain: Domain) -> Evolution | None:
    """The evolution that a problem is, if it is one."""
    box = box_of(domain)
    last = len(box) - 1
    axes = [last] if time_of(domain) is not None else list(range(last, -1, -1))
    for axis in axes:
        orders = orders_in(lowered, axis)
        for start, stop in (box[axis], box[axis][::-1]):
            found = [_kind(r, domain, axis, float(start), float(stop)) for r in lowered.residuals]
            beginning = tuple(i for i, kind in enumerate(found) if kind == "start")
            if None not in found and beginning and len(beginning) == sum(orders):
                return Evolution(axis, float(start), float(stop), orders, beginning)
    return None


def orders_in(lowered: LoweredProblem, axis: int) -> tuple[int, ...]:
    """The highest derivative of each unknown along an axis in the equations."""
    out = [0] * lowered.unknowns
    for r in lowered.residuals:
        if isinstance(r.region, Inside):
            for j in (*r.linear, *r.nonlinear):
                out[j.unknown] = max(out[j.unknown], j.alpha[axis])
    return tuple(out)


def _kind(residual: Residual, domain: Domain, axis: int, start: float, stop: float) -> str | None:
    """Whether a residual holds at the start, or at all times; None where it is neither."""
    region = residual.region
    if isinstance(region, Inside):
        return "always"
    if isinstance(region, Slice):
        if region.axis != axis:
            return "always"
        return "start" if region.level == start and region.relation is None else None
    if isinstance(region, Pair):
        return "always" if region.axis != axis else None
    if isinstance(region, Spot):
        place = region.point[axis]
        if place is None:
            return "always"
        return "start" if place == start and len(region.point) == 1 else None
    return _of_part(region, domain, axis, start)


def _of_part(part: Part, domain: Domain, axis: int, start: float) -> str | None:
    rng = np.random.default_rng(0)
    seen = set()
    for face in faces_of(domain):
        flat = face.face if isinstance(face, Extruded) else face
        U = 0.01 + 0.98 * rng.random((_PROBES, face.dimension))
        held = part.mask(face.at(U, rng))
        if not held.any():
            continue
        across = isinstance(flat, FlatFace) and flat.axis == axis and not isinstance(face, Extruded)
        if not across:
            seen.add("always")
        else:
            assert isinstance(flat, FlatFace)
            level = flat.bounds[axis][flat.side]
            seen.add("start" if level == start and held.all() else "neither")
    return seen.pop() if len(seen) == 1 and "neither" not in seen else None


def handed_over(
    space: Space, w: Array, evolution: Evolution, t: float, dimension: int
) -> tuple[Residual, ...]:
    """∂_t^j u(x, t) = ∂_t^j ũ(x, t) for all j below the order: a window begins where the last one ended."""
    out = []
    region = Slice(evolution.axis, t)
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
