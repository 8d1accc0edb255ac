r"""Σ wᵢ r(xᵢ): an integral over the domain, a shape in it or a part of its boundary."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from math import ceil
from typing import Any, Protocol

import numpy as np

from pibls.arrays import Array
from pibls.basis.quasi import CLOSED_RULES
from pibls.domain import Box, Domain, box_of, faces_of, space_of, time_of, within
from pibls.domain.gauss import Rule
from pibls.domain.piece import bounded
from pibls.domain.quadrature import rule_boundary, rule_common, rule_inside, rule_rim, rule_slice, settled
from pibls.errors import ProblemError
from pibls.problem.regions.points import Points, PointSet, owned
from pibls.problem.regions.protocol import Pen, Place, Region

_MOST_POINTS = 40_000
_MOST_DIMENSIONS = 6
_OTHER = 5  # nodes more, at random
_FINEST = {1: 200, 2: 160, 3: 40}


class Extent(Protocol):
    """Where an integral is taken."""

    @property
    def has_normal(self) -> bool:
        """Whether dn(u) means something there."""

    def rule(self, space: Domain, n: int) -> Rule:
        """Points and weights in the domain without its time, about n along each side of its bounds."""

    def rule_in(self, space: Domain, n: int, box: Array) -> Rule:
        """The same of what belongs to a cell, about n along each of its sides."""

    def words(self, coordinates: tuple[Any, ...], pen: Pen) -> str:
        """Where that is."""


@dataclass(frozen=True)
class Within:
    """What of the domain lies in a shape; None for all of it."""

    shape: Any = field(hash=False)
    has_normal = False

    def rule(self, space: Domain, n: int) -> Rule:
        if self.shape is None or self.shape is space:
            return rule_inside(space, n)
        return rule_common(self.shape, space, n)

    def rule_in(self, space: Domain, n: int, box: Array) -> Rule:
        if self.shape is None or self.shape is space:
            cell = Box(dict(zip(space.coordinates, box.tolist(), strict=True)))
            return rule_common(cell, space, n)
        return _share(self, space, box)

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

    @property
    def has_normal(self) -> bool:
        return self.region.is_boundary

    def rule(self, space: Domain, n: int) -> Rule:
        region = self.region
        if region.is_boundary:
            ground, mine = bounded(space)
            return rule_boundary(ground, n, lambda found: region.mask(found) & mine(found))
        plane = region.plane()
        if plane is not None:
            return rule_slice(space, *plane, n, region.holds)
        faces = getattr(region, "faces", ())
        return rule_rim(faces, n, box_of(space), lambda X: within(space, X) & region.relation(X))  # type: ignore[attr-defined]

    def rule_in(self, space: Domain, n: int, box: Array) -> Rule:
        return _share(self, space, box)

    def words(self, coordinates: tuple[Any, ...], pen: Pen) -> str:
        return self.region.words(coordinates, pen)


@dataclass(frozen=True)
class Nothing:
    """No integral: the constant of the condition, once."""

    has_normal = False

    def rule(self, space: Domain, n: int) -> Rule:
        return Rule.inside(box_of(space).mean(axis=1)[None, :], np.ones(1))

    def rule_in(self, space: Domain, n: int, box: Array) -> Rule:
        return _share(self, space, box)

    def words(self, coordinates: tuple[Any, ...], pen: Pen) -> str:
        return ""


@dataclass(frozen=True)
class Total(Place):
    """The sum over a rule, one row; in time, one row at each of some times."""

    extent: Extent
    more: bool = False
    """Whether it is a further term of a condition."""

    is_sum = True

    @property
    def continues(self) -> bool:
        return self.more

    def place(
        self,
        domain: Domain,
        points: Points,
        rng: np.random.Generator,
        box: Array | None = None,
        *,
        name: str = "",
    ) -> PointSet:
        space = space_of(domain)
        n = _count(points.interior, len(space.coordinates))
        if box is not None:
            return self._in_cell(space, domain, n, box)
        if not all(face.has_chart for face in faces_of(space)):
            # Two solutions must not share what a rule of low order leaves.
            n += int(_OTHER * rng.integers(3))
        found = rule_for(self.extent, space, n)
        if not len(found.weights) and isinstance(self.extent, Within):
            raise self.extent.refused()
        return self._over(found, domain, points, rng)

    def _in_cell(self, space: Domain, domain: Domain, n: int, box: Array) -> PointSet:
        """What a cell adds to the sum."""
        if time_of(domain) is not None:
            raise ProblemError(
                "integral",
                expected="one basis for all of space and time",
                got="cells or windows in time, which an integral would couple all at once",
                remedy="Leave basis out, or give one basis such as Waves(400, scale=12).",
            )
        found = self.extent.rule_in(space, n, box)
        return PointSet((found.points,), found.normals, found.weights[None, :])

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

    def _over(self, found: Rule, domain: Domain, points: Points, rng: np.random.Generator) -> PointSet:
        d, q = len(space_of(domain).coordinates), len(found.weights)
        if time_of(domain) is None:
            return PointSet((found.points,), found.normals, found.weights[None, :])
        start, stop = box_of(domain)[-1]
        m = ceil(points.interior ** (1 / (d + 1))) + 4
        t = start + (stop - start) * CLOSED_RULES["chebyshev"](m, 1, rng)[:, 0]
        X = np.column_stack([np.tile(found.points, (len(t), 1)), np.repeat(t, q)])
        normals = np.column_stack([np.tile(found.normals, (len(t), 1)), np.zeros(len(X))])
        return PointSet((X,), normals, np.tile(found.weights, (len(t), 1)))

    def follows(self, domain: Domain) -> bool:
        return False

    def words(self, coordinates: tuple[Any, ...], pen: Pen) -> str:
        return self.extent.words(coordinates, pen)


def _count(interior: int, d: int) -> int:
    """Nodes along each side for functions that as many points inside resolve."""
    wanted = interior // 2 + 16 if d == 1 else ceil((1.2 if d == 2 else 1.6) * interior ** (1 / d)) + 6
    # In steps, so that few rules are made.
    return int(min(8 * ceil(wanted / 8), _MOST_POINTS ** (1 / d), 200))


def _share(extent: Extent, space: Domain, box: Array) -> Rule:
    """Of a rule for the whole domain what belongs to a cell."""
    found = rule_for(extent, space, _FINEST[len(box)])
    mine = owned(found.points, box, space)
    return Rule(found.points[mine], found.weights[mine], found.normals[mine])


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
