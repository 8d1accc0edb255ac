"""Integrals Σ wᵢ r(xᵢ) over the domain, a shape in it or a part of its boundary, as regions of one row."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from math import ceil
from typing import Protocol, cast

import numpy as np

from pibls.arrays import Array, Rng
from pibls.basis.cube_points import CLOSED_RULES
from pibls.errors import ProblemError
from pibls.expressions import Coordinate
from pibls.geometry import Domain, box_of, faces_of, space_of, time_of
from pibls.geometry.integrals.cell_domain import CellDomain, boundary_faces, faces_near, representative_point
from pibls.geometry.integrals.gauss import QuadratureRule
from pibls.geometry.integrals.quadrature import (
    converged_rule,
    face_rule,
    interior_rule,
    intersection_rule,
    slice_rule,
)
from pibls.problem.regions.points import Points, PointSet
from pibls.problem.regions.protocol import Notation, Region
from pibls.runtime.deadline import check_deadline

_MAX_POINTS = 40_000
_MAX_DIMENSIONS = 6
_NODE_OFFSET = 5  # times a random number 0, 1 or 2: further nodes along each side
_NODES_PER_CELL_POINT, _MAX_CELL_NODES = 0.8, 40
_MAX_CACHED_RULES = 8192  # of cells
_HALVINGS = (18, 24)
"""Bisections towards corners. Closer than 1e-10 of a side, singular functions are not differentiated.
The remaining integral of r^(-2/3) differs by a factor of 4 between the two, that of r^(-1/3) by 16."""
_MAX_NODES = {1: 200, 2: 160, 3: 40}


class IntegrationDomain(Protocol):
    """The set over which an integral is taken."""

    @property
    def has_normal(self) -> bool:
        """Whether an outward normal, and so dn(u), is defined there."""

    @property
    def towards_corners(self) -> tuple[IntegrationDomain, ...]:
        """Return the same with two rules graded towards corners, or nothing if there is no boundary."""

    def rule(self, space: Domain, n: int) -> QuadratureRule:
        """Return the quadrature rule in the space domain, about n points along each side of its box."""

    def describe(self, coordinates: tuple[Coordinate, ...], pen: Notation) -> str:
        """Return a description such as "over the domain"."""


@dataclass(frozen=True)
class ShapeInterior:
    """The part of the domain inside a shape; None for the whole domain."""

    shape: Domain | None = field(hash=False)
    has_normal = False

    @property
    def towards_corners(self) -> tuple[IntegrationDomain, ...]:
        return ()

    def rule(self, space: Domain, n: int) -> QuadratureRule:
        if self.shape is None or self.shape is space:
            return interior_rule(space, n)
        return intersection_rule(self.shape, space, n)

    def refused(self) -> ProblemError:
        """Return the error for a shape that does not intersect the domain."""
        return ProblemError(
            "integral(over)",
            expected="a shape that intersects the domain",
            got=repr(self.shape),
            remedy="Check its position and size.",
        )

    def describe(self, coordinates: tuple[Coordinate, ...], pen: Notation) -> str:
        return "over the domain" if self.shape is None else f"over {pen.shape(self.shape)}"


@dataclass(frozen=True)
class SurfacePart:
    """A part of the boundary, or a curve or surface inside the domain."""

    region: Region
    halvings: int = 0

    @property
    def has_normal(self) -> bool:
        return self.region.is_boundary

    @property
    def towards_corners(self) -> tuple[IntegrationDomain, ...]:
        return tuple(replace(self, halvings=n) for n in _HALVINGS) if self.region.is_boundary else ()

    def rule(self, space: Domain, n: int) -> QuadratureRule:
        region = self.region
        if region.is_boundary:
            bounding, mine = boundary_faces(space)
            return face_rule(
                bounding, n, box_of(space), lambda found: region.mask(found) & mine(found), self.halvings
            )
        plane = region.plane()
        if plane is not None:
            return slice_rule(space, *plane, n, region.holds)
        rims, keep = faces_near(space, region.faces)
        own = region.relation
        assert own is not None
        return face_rule(rims, n, box_of(space), lambda found: keep(found.points) & own(found.points))

    def describe(self, coordinates: tuple[Coordinate, ...], pen: Notation) -> str:
        return self.region.describe(coordinates, pen)


@dataclass(frozen=True)
class ConstantTerm:
    """The constant term of a condition with integrals, evaluated once."""

    has_normal = False

    @property
    def towards_corners(self) -> tuple[IntegrationDomain, ...]:
        return ()

    def rule(self, space: Domain, n: int) -> QuadratureRule:
        X = representative_point(space)
        return QuadratureRule.interior(X, np.ones(len(X)))

    def describe(self, coordinates: tuple[Coordinate, ...], pen: Notation) -> str:
        return ""


@dataclass(frozen=True)
class IntegralRegion(Region):
    """One row that is the sum over a quadrature rule; with time, one row at each of several times."""

    integration_domain: IntegrationDomain
    is_further_term: bool = False
    """Whether it is not the first term of its condition."""

    is_integral = True

    @property
    def continues_condition(self) -> bool:
        return self.is_further_term

    def sample(
        self, domain: Domain, points: Points, rng: Rng, box: Array | None = None, *, name: str = ""
    ) -> PointSet:
        space = space_of(domain)
        if box is not None:
            d = len(space.coordinates)
            rule = self.cell_rule(domain, box[:d], _count(points.interior, d, in_cell=True))
            return self._at_times(rule, domain, points, rng, box)
        n = _count(points.interior, len(space.coordinates))
        if not all(face.has_chart for face in faces_of(space)):
            # Two solutions that are compared must not share the error of a low-order rule.
            n += int(_NODE_OFFSET * rng.integers(3))
        found = cached_rule(self.integration_domain, space, n)
        if not len(found.weights) and isinstance(self.integration_domain, ShapeInterior):
            raise self.integration_domain.refused()
        return self._at_times(found, domain, points, rng)

    def sample_subdomain(
        self, space: Domain, domain: Domain, points: Points, rng: np.random.Generator
    ) -> PointSet | None:
        """Return the points of a subdomain ``space`` (without time); None if it does not contribute."""
        found = cached_rule(self.integration_domain, space, _count(points.interior, len(space.coordinates)))
        return self._at_times(found, domain, points, rng) if len(found.weights) else None

    @property
    def is_constant(self) -> bool:
        """Whether it is a constant term, which is counted once and not for each subdomain."""
        return isinstance(self.integration_domain, ConstantTerm)

    def cell_rule(self, domain: Domain, box: Array, n: int) -> QuadratureRule:
        """Return the quadrature rule in a cell of space, about n points along each side."""
        check_deadline(__name__)
        return _rule_in(self.integration_domain, space_of(domain), box, n)

    def is_divisible(self, domain: Domain) -> bool:
        """Return whether it can be divided among cells: curves and flat sides can, curved surfaces cannot."""
        space = space_of(domain)
        faces = faces_of(space)
        flat = all(face.plane() is not None for face in faces)
        return flat or (len(space.coordinates) <= 2 and all(face.has_chart for face in faces))

    def _at_times(
        self,
        found: QuadratureRule,
        domain: Domain,
        points: Points,
        rng: np.random.Generator,
        box: Array | None = None,
    ) -> PointSet:
        d, q = len(space_of(domain).coordinates), len(found.weights)
        if time_of(domain) is None:
            return PointSet((found.points,), found.normals, found.weights[None, :])
        start, stop = (box_of(domain) if box is None else box)[-1]
        m = ceil(points.interior ** (1 / (d + 1))) + 4
        t = start + (stop - start) * CLOSED_RULES["chebyshev"](m, 1, rng)[:, 0]
        X = np.column_stack([np.tile(found.points, (len(t), 1)), np.repeat(t, q)])
        normals = np.column_stack([np.tile(found.normals, (len(t), 1)), np.zeros(len(X))])
        return PointSet((X,), normals, np.tile(found.weights, (len(t), 1)))

    def allows_time_stepping(self, domain: Domain) -> bool:
        return False

    def describe(self, coordinates: tuple[Coordinate, ...], pen: Notation) -> str:
        return self.integration_domain.describe(coordinates, pen)


def _count(interior: int, d: int, *, in_cell: bool = False) -> int:
    """Return the number of nodes along each side for functions that ``interior`` points resolve."""
    if in_cell and d > 1:
        return int(ceil(_NODES_PER_CELL_POINT * interior ** (1 / d)) + 4)
    wanted = interior // 2 + 16 if d == 1 else ceil((1.2 if d == 2 else 1.6) * interior ** (1 / d)) + 6
    # In steps of 8, so that few different rules are computed.
    return int(min(8 * ceil(wanted / 8), _MAX_POINTS ** (1 / d), 200))


_cell_rules: dict[tuple[int, int, bytes, int], tuple[IntegrationDomain, Domain, QuadratureRule]] = {}


def _rule_in(extent: IntegrationDomain, space: Domain, box: Array, n: int) -> QuadratureRule:
    """Return the rule of a cell, cached: most cells do not change when others are divided."""
    key = (id(extent), id(space), box.tobytes(), n)
    if key not in _cell_rules:
        if len(_cell_rules) > _MAX_CACHED_RULES:
            _cell_rules.clear()
        cell = CellDomain(space, box)
        most = n if not cell.is_crossed and extent == ShapeInterior(None) else _MAX_CELL_NODES
        _cell_rules[key] = (
            extent,
            space,
            converged_rule(lambda m: extent.rule(cast("Domain", cell), m), n, most),
        )
    return _cell_rules[key][2]


_cached_rules: list[tuple[IntegrationDomain, Domain, int, QuadratureRule]] = []


def cached_rule(extent: IntegrationDomain, space: Domain, n: int) -> QuadratureRule:
    """Return the rule with n nodes along each side, cached by identity (shapes need not be hashable)."""
    d = len(space.coordinates)
    if d > _MAX_DIMENSIONS:
        raise ProblemError(
            "integral",
            expected=f"at most {_MAX_DIMENSIONS} coordinates",
            got=f"{d}",
            remedy="Integrals are sums over a grid of points: write the condition without an integral.",
        )
    for known, where, size, rule in _cached_rules:
        if known is extent and where is space and size == n:
            return rule
    make: Callable[[int], QuadratureRule] = lambda m: extent.rule(space, m)  # noqa: E731
    rule = converged_rule(make, n, max(_MAX_NODES.get(d, 0), n)) if d <= 2 else make(n)
    _cached_rules.append((extent, space, n, rule))
    del _cached_rules[:-24]
    return rule
