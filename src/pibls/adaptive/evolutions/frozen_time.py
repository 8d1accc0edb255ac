r"""λ^a u instead of ∂_t^a u: an evolution at one moment, as a problem in space.

Corners and holes ask what functions such a problem has there; what rests with the time is the same at
every moment.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from pibls.arrays import Array, Mask
from pibls.geometry import Boundary, Face, space_of
from pibls.problem import Jet, Region
from pibls.problem.forms.lowering import LoweredProblem, Residual


@dataclass(frozen=True)
class Still:
    """A region in space and time, seen at one moment."""

    region: Region
    moment: float

    relation: ClassVar[None] = None  # that of the region has a time

    @property
    def is_inside(self) -> bool:
        return self.region.is_inside

    @property
    def is_boundary(self) -> bool:
        return self.region.is_boundary

    @property
    def sites(self) -> int:
        return self.region.sites

    def mask(self, boundary: Boundary) -> Mask:
        return mask_of(self.region, boundary, self.moment)

    def cuts(self, face: Face) -> Array:
        """None are known: its inequalities have a time. Its ends are looked for."""
        return np.empty(0)


def mask_of(region: Region, boundary: Boundary, moment: float) -> Mask:
    """Which points of the boundary in space belong to a region in space and time, at a moment."""
    n = len(boundary.points)
    X = np.column_stack([boundary.points, np.full(n, moment)])
    plane = region.plane()
    if plane is not None:
        size = float(np.abs(boundary.points).max(initial=1.0))
        across = np.abs(boundary.normals[:, plane[0]]) > 1.0 - 1e-9
        near = np.abs(X[:, plane[0]] - plane[1]) < 1e-9 * size
        return np.asarray(across & near & np.asarray(region.holds(X), dtype=bool))
    return region.mask(Boundary(X, np.column_stack([boundary.normals, np.zeros(n)]), boundary.owners))


def at_rest(lowered: LoweredProblem, beginning: tuple[int, ...], moment: float) -> LoweredProblem:
    """The problem in space, time being the last coordinate, without what holds at the start."""
    kept = (r for i, r in enumerate(lowered.residuals) if i not in beginning)
    residuals = tuple(_still(r, moment, lowered.dimension - 1) for r in kept)
    return LoweredProblem(residuals, lowered.unknowns, lowered.dimension - 1)


def _still(r: Residual, moment: float, d: int) -> Residual:
    def timeless(j: Jet) -> Jet:
        return Jet(j.unknown, j.alpha[:-1], j.site)

    def function(compiled: Any) -> Callable[..., Any]:
        def called(*arguments: Any) -> Any:
            t = np.full(np.shape(arguments[0]), moment)
            return compiled(*arguments[:d], t, *arguments[d : 2 * d], 0.0 * t, *arguments[2 * d :])

        return called

    data = tuple(
        replace(
            datum,
            function=_at_moment(datum.function, datum.arguments, moment, d),
            arguments=tuple(i for i in datum.arguments if i < d),
            domain=None if datum.domain is None else space_of(datum.domain),
        )
        for datum in r.data
    )
    return Residual(
        r.name,
        Still(r.region, moment),  # type: ignore[arg-type]
        tuple(map(timeless, r.linear)),
        tuple(map(timeless, r.nonlinear)),
        data,
        function(r._coefficients),
        function(r._rest),
        function(r._partials),
        r.parameters,
    )


def _at_moment(function: Any, arguments: tuple[int, ...], moment: float, d: int) -> Callable[..., Array]:
    def called(*columns: Array) -> Array:
        given = iter(columns)
        t = np.full(len(columns[0]) if columns else 1, moment)
        found: Array = function(*(next(given) if i < d else t for i in arguments))
        return found

    return called
