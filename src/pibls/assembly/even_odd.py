r"""L(2c - x) = ±L(x): equations that are the same at the image of every place under the inversion at c.

With Laplace's operator on a box or a disc, say, whatever the source and the values on the boundary. Functions
that are even about c then know only of sums of rows at a place and at its image, odd ones of differences:
half of the places are asked, and the two kinds are solved for apart (`linalg.even_odd`).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from pibls.arrays import Array, Mask
from pibls.assembly.known import Known, Placed
from pibls.assembly.points import Points, PointSet, place
from pibls.assembly.streaming import HELD_ENTRIES
from pibls.assembly.system import Block, System, assemble
from pibls.assembly.system_base import Asked
from pibls.caching import cached_property
from pibls.geometry import Boundary, Domain, box_of
from pibls.linalg.even_odd import EvenOdd
from pibls.problem import Region
from pibls.problem.forms.lowering import LoweredProblem, Residual
from pibls.spaces import Whole

_PLACES = 64
_NEAR = 1e-6  # of the size of the domain: a place on the boundary has the domain on one side of it
_SAME = 1e-13


@dataclass(frozen=True, eq=False)
class Inversion:
    """x ↦ 2c - x with c in the middle of a box (d, 2); each residual is itself there, or its negative."""

    box: Array
    signs: tuple[float, ...] = ()

    @cached_property
    def centre(self) -> Array:
        return np.asarray(self.box.mean(axis=1))

    def image(self, points: PointSet) -> PointSet:
        # What lies on the box stays on it: the root of 1 - x is asked for at x = 1.
        X = np.clip(2.0 * self.centre - points.sites[0], self.box[:, 0], self.box[:, 1])
        return PointSet((X,), -points.normals)

    def serves(self, space: Whole, points: Points) -> bool:
        """Whether the functions are even and odd, and so few that their matrix is held."""
        bases: tuple[Any, ...] = space.bases
        if len(bases) != 1 or 2 * getattr(bases[0], "even", 0) != bases[0].size:
            return False
        return bool(points.interior * bases[0].size <= HELD_ENTRIES)

    def halves(self, placed: Placed) -> tuple[Placed, Placed]:
        """One half of these places, and their images."""
        taken = {r: _one_side(found, self.centre) for r, found in placed.points.items()}
        return Placed(taken), Placed({r: self.image(found) for r, found in taken.items()})

    def system(self, lowered: LoweredProblem, halves: tuple[Placed, ...], space: Whole) -> EvenOddSystem:
        """The system at places and at their images."""
        here, there = halves
        system = assemble(lowered, here.points, space, here.known)
        images, constants = [], []
        for block, sign in zip(system.blocks, self.signs, strict=True):
            r = block.residual
            known = Known.of(r, there.points[r.region], there.known).checked
            images.append(replace(block, points=known.points, data=known.data))
            constants.append(sign * np.asarray(known.rest))
        return EvenOddSystem(system, tuple(images), np.concatenate([system.constant, *constants]))


def inversion_of(lowered: LoweredProblem, domain: Domain) -> Inversion | None:
    """The inversion that leaves a problem of one unknown as it is, if there is one."""
    box = box_of(domain)
    residuals = lowered.residuals
    plain = all((r.region.is_inside or r.region.is_boundary) and not r.nonlinear for r in residuals)
    if not plain or lowered.unknowns > 1 or lowered.dimension < 2 or lowered.interfaces.planes:
        return None
    trial = Inversion(box)
    few = Points(_PLACES, _PLACES, _PLACES, rule="uniform")
    points = place(lowered, domain, few, np.random.default_rng(0))
    slack = _NEAR * float((box[:, 1] - box[:, 0]).max())
    for region, found in points.items():
        if not _is_own(region, trial.image(found), domain, slack):
            return None
    signs = [_sign(r, points[r.region], trial.image(points[r.region])) for r in residuals]
    return Inversion(box, tuple(signs)) if all(signs) else None


def _is_own(region: Region, there: PointSet, domain: Domain, slack: float) -> bool:
    """Whether all of these places are in the region; one that belongs to a shape by its name is not asked."""
    X, n = there.sites[0], there.normals
    if region.is_inside:
        return bool(np.all(domain.contains(X)))
    if not region.mask(Boundary(X, n, (None,) * len(X))).all():
        return False
    return bool(np.all(domain.contains(X - slack * n)) and not np.any(domain.contains(X + slack * n)))


def _sign(residual: Residual, here: PointSet, there: PointSet) -> float:
    """±1 where the terms of even order are ± the same at the image, and those of odd order ∓; else 0."""
    c, other = (
        residual.coefficients(p.sites[0], p.normals, residual.known_data(p.sites[0])) for p in (here, there)
    )
    parity = np.array([(-1.0) ** sum(jet.alpha) for jet in residual.linear])[:, None]
    for sign in (1.0, -1.0):
        if np.all(np.abs(sign * parity * other - c) <= _SAME * np.abs(c).max(axis=1, keepdims=True)):
            return sign
    return 0.0


def _one_side(points: PointSet, centre: Array) -> PointSet:
    """One of each place and its image: the first coordinate that is not in the middle lies above."""
    away = points.sites[0] - centre
    if np.abs(away[:, 0]).min(initial=np.inf) > 1e-9 * np.abs(away[:, 0]).max(initial=0.0):
        above: Mask = away[:, 0] > 0.0
        return PointSet((points.sites[0][above],), points.normals[above])
    away = np.where(np.abs(away) > 1e-9 * np.abs(away).max(axis=0, initial=0.0), away, 0.0)
    first = np.argmax(away != 0.0, axis=1)
    keep: Mask = away[np.arange(len(away)), first] > 0.0
    return PointSet((points.sites[0][keep],), points.normals[keep])


@dataclass(frozen=True)
class EvenOddSystem(Asked[EvenOdd]):
    """A linear system at places and at their images."""

    places: System
    images: tuple[Block, ...]
    constant: Array = field(repr=False)

    is_linear = True
    fronts = 2

    @property
    def in_one_piece(self) -> None:
        """Two halves."""

    @property
    def space(self) -> Whole:
        return self.places.space

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.constant), self.space.columns

    def _linearised(self, v: Array) -> tuple[EvenOdd, Array]:
        return EvenOdd(self.places.linear), -self.constant

    def residual(self, w: Array) -> Array:
        return self._linear[0] @ w + self.constant

    def values(self, w: Array) -> Array:
        return np.empty(0)

    def terms(self, w: Array) -> Array:
        """Σ|terms| of each row."""
        there = (block.terms(w, self.space) for block in self.images)
        return np.concatenate([self.places.terms(w), *there])
