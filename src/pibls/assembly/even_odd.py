r"""Problems whose operator is invariant under the point reflection x ↦ 2c - x: L(2c - x) = ±L(x).

An example is the Laplacian on a box or a disc, with any source and boundary values. Functions that are even
about c involve only sums of the rows at a point and at its image, odd functions only differences. Rows are
assembled at half of the points, and the two kinds of functions are solved for separately (`linalg.even_odd`).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from pibls.arrays import Array, Mask
from pibls.assembly.points import Points, PointSet, place
from pibls.assembly.residual_coefficients import PlacedPoints, ResidualCoefficients
from pibls.assembly.streaming import MAX_STORED_ENTRIES
from pibls.assembly.system import Block, System, assemble
from pibls.assembly.system_base import SystemBase
from pibls.basis.random_fourier import is_half_even_half_odd
from pibls.geometry import Boundary, Domain, box_of
from pibls.linalg.even_odd import EvenOdd
from pibls.problem import Region
from pibls.problem.forms.compilation import CompiledProblem, Residual
from pibls.spaces import SingleDomainSpace

_SAMPLES = 64
_OFFSET = 1e-6  # relative to the domain: a boundary point has the domain on exactly one side at this distance
_ROUNDING = 1e-13


@dataclass(frozen=True, eq=False)
class Inversion:
    """x ↦ 2c - x with the centre c of a box (d, 2), and the sign by which each residual changes."""

    box: Array
    signs: tuple[float, ...] = ()

    @property
    def centre(self) -> Array:
        return np.asarray(self.box.mean(axis=1))

    def image(self, points: PointSet) -> PointSet:
        # Points on the box stay on it exactly: otherwise the root of 1 - x at x = 1 would be undefined.
        X = np.clip(2.0 * self.centre - points.sites[0], self.box[:, 0], self.box[:, 1])
        return PointSet((X,), -points.normals)

    def applies_to(self, space: SingleDomainSpace, points: Points) -> bool:
        """Whether the basis consists of even and odd functions and its matrix can be stored."""
        if len(space.bases) != 1 or not is_half_even_half_odd(space.bases[0]):
            return False
        return points.interior * space.bases[0].size <= MAX_STORED_ENTRIES

    def split_points(self, placed: PlacedPoints) -> tuple[PlacedPoints, PlacedPoints]:
        """Return one half of the points, and their images."""
        taken = {r: _one_of_each_pair(found, self.centre) for r, found in placed.points.items()}
        return PlacedPoints(taken), PlacedPoints({r: self.image(found) for r, found in taken.items()})

    def system(
        self, compiled: CompiledProblem, halves: tuple[PlacedPoints, ...], space: SingleDomainSpace
    ) -> EvenOddSystem:
        """Assemble the system at the points and at their images."""
        here, there = halves
        system = assemble(compiled, here.points, space, here.cache)
        images, constants = [], []
        for block, sign in zip(system.blocks, self.signs, strict=True):
            r = block.residual
            known = ResidualCoefficients.of(r, there.points[r.region], there.cache).checked
            images.append(replace(block, points=known.points, data=known.data))
            constants.append(sign * np.asarray(known.rest))
        return EvenOddSystem(system, tuple(images), np.concatenate([system.constant, *constants]))


def inversion_of(compiled: CompiledProblem, domain: Domain) -> Inversion | None:
    """Return the point reflection that leaves the operator of a scalar problem invariant, or None."""
    box = box_of(domain)
    residuals = compiled.residuals
    plain = all((r.region.is_interior or r.region.is_boundary) and not r.nonlinear for r in residuals)
    if not plain or compiled.unknowns > 1 or compiled.dimension < 2 or compiled.interfaces.planes:
        return None
    trial = Inversion(box)
    samples = Points(_SAMPLES, _SAMPLES, _SAMPLES, rule="uniform")
    points = place(compiled, domain, samples, np.random.default_rng(0))
    slack = _OFFSET * float((box[:, 1] - box[:, 0]).max())
    for region, found in points.items():
        if not _is_in_region(region, trial.image(found), domain, slack):
            return None
    signs = [_sign(r, points[r.region], trial.image(points[r.region])) for r in residuals]
    return Inversion(box, tuple(signs)) if all(signs) else None


def _is_in_region(region: Region, there: PointSet, domain: Domain, slack: float) -> bool:
    """Whether all of these points are in the region; regions that are given by a shape are not."""
    X, n = there.sites[0], there.normals
    if region.is_interior:
        return bool(np.all(domain.contains(X)))
    if not region.mask(Boundary(X, n, (None,) * len(X))).all():
        return False
    return bool(np.all(domain.contains(X - slack * n)) and not np.any(domain.contains(X + slack * n)))


def _sign(residual: Residual, here: PointSet, there: PointSet) -> float:
    """Return ±1 if the terms of even order are ± equal at the image and those of odd order ∓; else 0."""
    c, other = (
        residual.coefficients(p.sites[0], p.normals, residual.data_function_values(p.sites[0]))
        for p in (here, there)
    )
    parity = np.array([(-1.0) ** sum(derivative.alpha) for derivative in residual.linear])[:, None]
    for sign in (1.0, -1.0):
        if np.all(np.abs(sign * parity * other - c) <= _ROUNDING * np.abs(c).max(axis=1, keepdims=True)):
            return sign
    return 0.0


def _one_of_each_pair(points: PointSet, centre: Array) -> PointSet:
    """Return one point of each pair of images: its first coordinate off the centre lies above it."""
    away = points.sites[0] - centre
    if np.abs(away[:, 0]).min(initial=np.inf) > 1e-9 * np.abs(away[:, 0]).max(initial=0.0):
        above: Mask = away[:, 0] > 0.0
        return PointSet((points.sites[0][above],), points.normals[above])
    away = np.where(np.abs(away) > 1e-9 * np.abs(away).max(axis=0, initial=0.0), away, 0.0)
    first = np.argmax(away != 0.0, axis=1)
    keep: Mask = away[np.arange(len(away)), first] > 0.0
    return PointSet((points.sites[0][keep],), points.normals[keep])


@dataclass(frozen=True)
class EvenOddSystem(SystemBase[EvenOdd]):
    """A linear system at one half of the points and at their images."""

    half_system: System
    images: tuple[Block, ...]
    constant: Array = field(repr=False)

    is_linear = True
    fronts = 2

    @property
    def as_single_matrix(self) -> None:
        """None: the matrix is split into even and odd functions."""

    @property
    def space(self) -> SingleDomainSpace:
        return self.half_system.space

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.constant), self.space.columns

    def _linearized(self, v: Array) -> tuple[EvenOdd, Array]:
        return EvenOdd(self.half_system.linear), -self.constant

    def residual(self, w: Array) -> Array:
        return self._linear[0] @ w + self.constant

    def values(self, w: Array) -> Array:
        return np.empty(0)

    def term_magnitudes(self, w: Array) -> Array:
        """Return Σ|terms| of each row."""
        there = (block.term_magnitudes(w, self.space) for block in self.images)
        return np.concatenate([self.half_system.term_magnitudes(w), *there])
