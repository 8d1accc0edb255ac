r"""Σ wᵢ r(xᵢ): an integral over the domain, a shape in it or a part of its boundary."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from math import ceil
from typing import Any, Protocol, cast

import numpy as np

from pibls.arrays import Array, Rng
from pibls.basis.quasi import CLOSED_RULES
from pibls.deadline import go_on
from pibls.errors import ProblemError
from pibls.geometry import Domain, box_of, faces_of, space_of, time_of
from pibls.geometry.integrals.cut import Cut, around, bounded, middles
from pibls.geometry.integrals.gauss import Rule
from pibls.geometry.integrals.quadrature import rule_common, rule_faces, rule_inside, rule_slice, settled
from pibls.problem.regions.points import Points, PointSet
from pibls.problem.regions.protocol import Pen, Region

_MOST_POINTS = 40_000
_MOST_DIMENSIONS = 6
_OTHER = 5  # nodes more, at random
_IN_CELL, _FINEST_IN_CELL = 0.8, 40
_KEPT = 8192  # rules of cells
_HALVINGS = (18, 24)
"""Towards corners; nearer than 1e-10 of their length singular functions are not differentiated. What is left
of r^(-2/3) differs by a factor of four between the two, of r^(-1/3) by sixteen."""
_FINEST = {1: 200, 2: 160, 3: 40}


class Extent(Protocol):
    """Where an integral is taken."""

    @property
    def has_normal(self) -> bool:
        """Whether dn(u) means something there."""

    @property
    def towards_corners(self) -> tuple[Extent, ...]:
        """The same with rules that go towards corners, near and nearer, where there are such."""

    def rule(self, space: Domain, n: int) -> Rule:
        """Points and weights in the domain without its time, about n along each side of its bounds."""

    def words(self, coordinates: tuple[Any, ...], pen: Pen) -> str:
        """Where that is."""


@dataclass(frozen=True)
class InShape:
    """What of the domain lies in a shape; None for all of it."""

    shape: Any = field(hash=False)
    has_normal = False

    @property
    def towards_corners(self) -> tuple[Extent, ...]:
        return ()

    def rule(self, space: Domain, n: int) -> Rule:
        if self.shape is None or self.shape is space:
            return rule_inside(space, n)
        return rule_common(self.shape, space, n)

    def refused(self) -> ProblemError:
        """There is nothing of it in the domain."""
        return ProblemError(
            "integral(over)",
            expected="a shape that has a part of the domain in it",
            got=repr(self.shape),
            remedy="Check its place and size.",
        )

    def words(self, coordinates: tuple[Any, ...], pen: Pen) -> str:
        return "over the domain" if self.shape is None else f"over {pen.thing(self.shape)}"


@dataclass(frozen=True)
class Along:
    """A part of the boundary, or a line, plane or curve inside."""

    region: Region
    halvings: int = 0

    @property
    def has_normal(self) -> bool:
        return self.region.is_boundary

    @property
    def towards_corners(self) -> tuple[Extent, ...]:
        return tuple(replace(self, halvings=n) for n in _HALVINGS) if self.region.is_boundary else ()

    def rule(self, space: Domain, n: int) -> Rule:
        region = self.region
        if region.is_boundary:
            bounding, mine = bounded(space)
            return rule_faces(
                bounding, n, box_of(space), lambda found: region.mask(found) & mine(found), self.halvings
            )
        plane = region.plane()
        if plane is not None:
            return rule_slice(space, *plane, n, region.holds)
        rims, keep = around(space, region.faces)
        own = region.relation
        return rule_faces(rims, n, box_of(space), lambda found: keep(found.points) & own(found.points))

    def words(self, coordinates: tuple[Any, ...], pen: Pen) -> str:
        return self.region.words(coordinates, pen)


@dataclass(frozen=True)
class Nothing:
    """No integral: the constant of the condition, once."""

    has_normal = False

    @property
    def towards_corners(self) -> tuple[Extent, ...]:
        return ()

    def rule(self, space: Domain, n: int) -> Rule:
        X = middles(space)
        return Rule.inside(X, np.ones(len(X)))

    def words(self, coordinates: tuple[Any, ...], pen: Pen) -> str:
        return ""


@dataclass(frozen=True)
class Total(Region):
    """The sum over a rule, one row; in time, one row at each of some times."""

    extent: Extent
    more: bool = False
    """Whether it is a further term of a condition."""

    is_sum = True

    @property
    def continues(self) -> bool:
        return self.more

    def place(
        self, domain: Domain, points: Points, rng: Rng, box: Array | None = None, *, name: str = ""
    ) -> PointSet:
        space = space_of(domain)
        if box is not None:
            d = len(space.coordinates)
            rule = self.rule_in(domain, box[:d], _count(points.interior, d, in_cell=True))
            return self._over(rule, domain, points, rng, box)
        n = _count(points.interior, len(space.coordinates))
        if not all(face.has_chart for face in faces_of(space)):
            # Two solutions must not share what a rule of low order leaves.
            n += int(_OTHER * rng.integers(3))
        found = rule_for(self.extent, space, n)
        if not len(found.weights) and isinstance(self.extent, InShape):
            raise self.extent.refused()
        return self._over(found, domain, points, rng)

    def place_in(
        self, space: Domain, domain: Domain, points: Points, rng: np.random.Generator
    ) -> PointSet | None:
        """What a piece of the domain, given without its time, adds to the sum; None where it adds nothing."""
        found = rule_for(self.extent, space, _count(points.interior, len(space.coordinates)))
        return self._over(found, domain, points, rng) if len(found.weights) else None

    @property
    def is_constant(self) -> bool:
        """Whether it is there once, whatever the pieces."""
        return isinstance(self.extent, Nothing)

    def rule_in(self, domain: Domain, box: Array, n: int) -> Rule:
        """Points and weights in a cell of space, about n along each of its sides."""
        go_on(__name__)
        return _rule_in(self.extent, space_of(domain), box, n)

    def is_divisible(self, domain: Domain) -> bool:
        """Whether cells can each take their share: curves and flat sides can be cut, surfaces cannot."""
        space = space_of(domain)
        faces = faces_of(space)
        flat = all(face.plane() is not None for face in faces)
        return flat or (len(space.coordinates) <= 2 and all(face.has_chart for face in faces))

    def _over(
        self,
        found: Rule,
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

    def follows(self, domain: Domain) -> bool:
        return False

    def words(self, coordinates: tuple[Any, ...], pen: Pen) -> str:
        return self.extent.words(coordinates, pen)


def _count(interior: int, d: int, *, in_cell: bool = False) -> int:
    """Nodes along each side for functions that as many points inside resolve."""
    if in_cell and d > 1:
        return int(ceil(_IN_CELL * interior ** (1 / d)) + 4)
    wanted = interior // 2 + 16 if d == 1 else ceil((1.2 if d == 2 else 1.6) * interior ** (1 / d)) + 6
    # In steps, so that few rules are made.
    return int(min(8 * ceil(wanted / 8), _MOST_POINTS ** (1 / d), 200))


_cut: dict[tuple[int, int, bytes, int], tuple[Extent, Domain, Rule]] = {}


def _rule_in(extent: Extent, space: Domain, box: Array, n: int) -> Rule:
    """The rule of a cell, made once: cells stay as they are while others are divided."""
    key = (id(extent), id(space), box.tobytes(), n)
    if key not in _cut:
        if len(_cut) > _KEPT:
            _cut.clear()
        cell = Cut(space, box)
        most = n if not cell.is_crossed and extent == InShape(None) else _FINEST_IN_CELL
        _cut[key] = extent, space, settled(lambda m: extent.rule(cast("Domain", cell), m), n, most)
    return _cut[key][2]


_made: list[tuple[Extent, Domain, int, Rule]] = []


def rule_for(extent: Extent, space: Domain, n: int) -> Rule:
    """The rule of that size, made once; a user's shape need not be hashable."""
    d = len(space.coordinates)
    if d > _MOST_DIMENSIONS:
        raise ProblemError(
            "integral",
            expected=f"at most {_MOST_DIMENSIONS} coordinates",
            got=f"{d}",
            remedy="Integrals are sums over a grid of points; write the condition without one.",
        )
    for known, where, size, rule in _made:
        if known is extent and where is space and size == n:
            return rule
    make: Callable[[int], Rule] = lambda m: extent.rule(space, m)  # noqa: E731
    rule = settled(make, n, max(_FINEST.get(d, 0), n)) if d <= 2 else make(n)
    _made.append((extent, space, n, rule))
    del _made[:-24]
    return rule
