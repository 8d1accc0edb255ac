r"""An evolution frozen at one time: the steady problem with λ^a u in place of ∂_t^a u.

The analysis of corners and holes uses it to find the singular functions of the spatial operator.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from pibls.arrays import Array, Mask
from pibls.geometry import Boundary, Face, space_of
from pibls.problem import PartialDerivative, Region
from pibls.problem.forms.compilation import CompiledProblem, Residual


@dataclass(frozen=True)
class FrozenRegion:
    """A region of space and time, restricted to one time."""

    region: Region
    time: float

    relation: ClassVar[None] = None  # the relation of the region depends on time

    @property
    def is_interior(self) -> bool:
        return self.region.is_interior

    @property
    def is_boundary(self) -> bool:
        return self.region.is_boundary

    @property
    def sites(self) -> int:
        return self.region.sites

    def mask(self, boundary: Boundary) -> Mask:
        return mask_at_time(self.region, boundary, self.time)

    def breakpoints(self, face: Face) -> Array:
        """Return no breakpoints: the inequalities of the region depend on time."""
        return np.empty(0)


def mask_at_time(region: Region, boundary: Boundary, time: float) -> Mask:
    """Return which points of the spatial boundary belong to a region of space and time at one time."""
    n = len(boundary.points)
    X = np.column_stack([boundary.points, np.full(n, time)])
    plane = region.plane()
    if plane is not None:
        size = float(np.abs(boundary.points).max(initial=1.0))
        across = np.abs(boundary.normals[:, plane[0]]) > 1.0 - 1e-9
        near = np.abs(X[:, plane[0]] - plane[1]) < 1e-9 * size
        return np.asarray(across & near & np.asarray(region.holds(X), dtype=bool))
    return region.mask(Boundary(X, np.column_stack([boundary.normals, np.zeros(n)]), boundary.owners))


def frozen_problem(
    compiled: CompiledProblem, initial_conditions: tuple[int, ...], time: float
) -> CompiledProblem:
    """Return the problem in space at one time (the last coordinate), without initial conditions."""
    kept = (r for i, r in enumerate(compiled.residuals) if i not in initial_conditions)
    residuals = tuple(_frozen_residual(r, time, compiled.dimension - 1) for r in kept)
    return CompiledProblem(residuals, compiled.unknowns, compiled.dimension - 1)


def _frozen_residual(r: Residual, time: float, d: int) -> Residual:
    def without_time(j: PartialDerivative) -> PartialDerivative:
        return PartialDerivative(j.unknown, j.alpha[:-1], j.site)

    def function(compiled: Any) -> Callable[..., Any]:
        def called(*arguments: Any) -> Any:
            t = np.full(np.shape(arguments[0]), time)
            return compiled(*arguments[:d], t, *arguments[d : 2 * d], 0.0 * t, *arguments[2 * d :])

        return called

    data = tuple(
        replace(
            datum,
            function=_at_time(datum.function, datum.arguments, time, d),
            arguments=tuple(i for i in datum.arguments if i < d),
            domain=None if datum.domain is None else space_of(datum.domain),
        )
        for datum in r.data
    )
    return Residual(
        r.name,
        FrozenRegion(r.region, time),  # type: ignore[arg-type]
        tuple(map(without_time, r.linear)),
        tuple(map(without_time, r.nonlinear)),
        data,
        function(r.coefficient_function),
        function(r.rest_function),
        function(r.partials_function),
        r.parameters,
    )


def _at_time(function: Any, arguments: tuple[int, ...], time: float, d: int) -> Callable[..., Array]:
    def called(*columns: Array) -> Array:
        given = iter(columns)
        t = np.full(len(columns[0]) if columns else 1, time)
        found: Array = function(*(next(given) if i < d else t for i in arguments))
        return found

    return called
