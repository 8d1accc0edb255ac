"""Enrichment of a basis, A(x) = [random features | singular functions].

The companion solution uses the same singular functions: whether they are correct is validated at held-out
points, which are graded towards each singularity.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from pibls.adaptive.singular.functions import FunctionFamily, SingularFunctions, reduced
from pibls.adaptive.thresholds import ENRICHMENT
from pibls.analysis.singular_points import Strength
from pibls.arrays import Array, Mask
from pibls.basis import BasisSpec, Joined
from pibls.geometry import Boundary, Domain, box_of
from pibls.geometry.faces.face import join_boundaries
from pibls.problem import Region
from pibls.problem.regions import Points, PointSet
from pibls.runtime.caching import cached_property
from pibls.spaces import Choice, VectorEnriched, VectorFunctions, graded_tree


@dataclass(frozen=True, eq=False)
class Enrichment:
    """Blocks of singular functions to add to a basis, and the points that they need.

    Functions around holes and in layers grow in number with each refinement; the others are the same up to
    a maximum number.
    """

    blocks: tuple[SingularFunctions, ...] = ()
    domain: Domain | None = None
    efolds: float = 0.0
    """Functions around holes and in layers are added until the error is e^-efolds."""

    def __bool__(self) -> bool:
        return any(b.parts or b.fields or b.family is not None for b in self.blocks)

    @cached_property
    def size(self) -> int:
        return sum(b.size for b in self.blocks) + sum(f.size for f in self._around_holes())

    @property
    def is_essential(self) -> bool:
        """Whether random features alone converge poorly."""
        return any(b.strength is Strength.ESSENTIAL for b in self.blocks)

    @property
    def hole_functions(self) -> tuple[FunctionFamily, ...]:
        """Functions around holes and in layers."""
        return tuple(b.family for b in self.blocks if b.family is not None)

    @property
    def vector_functions(self) -> tuple[VectorFunctions, ...]:
        """Vector-valued functions with one coefficient for all unknowns."""
        return tuple(f for b in self.blocks for f in b.fields)

    # -- points ----------------------------------------------------------------------------------------

    @property
    def validation_points(self) -> Array:
        """Validation points graded towards the singularities."""
        return self._joined(b.validation_points for b in self.blocks)

    @cached_property
    def fit_points(self) -> Array:
        """Collocation points graded towards the singularities."""
        known = [b.fit_points for b in self.blocks]
        if self.efolds and self.domain is not None:
            known += [f.fit_points(self.efolds, self.domain) for f in self.hole_functions]
        return self._joined(known)

    @property
    def comparison_points(self) -> Array:
        """Points at which two solutions are compared, but no residuals are evaluated."""
        return self._joined(b.comparison_points for b in self.blocks)

    @property
    def boundary_validation_points(self) -> Boundary | None:
        """Validation points on the boundaries of holes and at layers."""
        return _join([b.boundary_validation_points for b in self.blocks])

    @cached_property
    def boundary_fit_points(self) -> Boundary | None:
        """Collocation points on the boundary."""
        known = [b.boundary_fit_points for b in self.blocks]
        if self.efolds:
            known += [f.boundary_points(self.efolds) for f in self.hole_functions]
        return _join(known)

    @property
    def places(self) -> Array:
        """Positions of all singularities."""
        return self._joined(b.places for b in self.blocks)

    @property
    def _rough_places(self) -> Array:
        """Positions of the singularities for which quadrature rules are graded."""
        return self._joined(b.places for b in self.blocks if b.strength > Strength.WEAK)

    def _joined(self, parts: Iterable[Array]) -> Array:
        full = [X for X in parts if len(X)]
        return np.concatenate(full) if full else np.empty((0, self._dimension))

    @property
    def _dimension(self) -> int:
        return 2 if self.domain is None else len(self.domain.coordinates)

    def add_fit_points(self, where: Mapping[Region, PointSet]) -> dict[Region, PointSet]:
        """Add collocation points near singularities to those of each region."""
        out = dict(where)
        for region, found in where.items():
            if region.is_integral:
                out[region] = self.integration_points(region, found, 1.0)
            elif region.is_interior and len(self.fit_points):
                out[region] = PointSet.inside(np.concatenate([found.sites[0], self.fit_points]))
            elif self.boundary_fit_points is not None and region.is_boundary and region.sites == 1:
                # In the corner itself derivatives are infinite or discontinuous.
                size = float(np.abs(self.boundary_fit_points.points).max() or 1.0)
                kept = self._distances(found.sites[0]) > ENRICHMENT.corner_offset * size
                out[region] = _with_boundary(region, found.select(kept), self.boundary_fit_points)
        return out

    def _distances(self, X: Array) -> Array:
        """Return the distance of each point to the nearest singularity."""
        if not len(self.places):
            return np.full(len(X), np.inf)
        return np.asarray(np.linalg.norm(X[:, None, :] - self.places, axis=2).min(axis=1))

    def add_validation_points(self, region: Region, found: PointSet) -> PointSet:
        """Add validation points near singularities to those of a region."""
        if region.is_integral:
            return self.integration_points(region, found, 1.7)
        if region.is_interior and len(self.validation_points):
            return PointSet.inside(np.concatenate([found.sites[0], self.validation_points]))
        rims = self.boundary_validation_points
        if region.is_boundary and region.sites == 1 and rims is not None:
            return _with_boundary(region, found, rims)
        return found

    def integration_points(self, region: Region, found: PointSet, finer: float) -> PointSet:
        """Return quadrature points of an integral in boxes graded towards the singularities."""
        places = self._rough_places
        if not len(places) or len(found) == 1 or self.domain is None:
            return found
        if not region.is_divisible(self.domain):
            return found
        box = box_of(self.domain)
        boxes = graded_tree(box, places, ENRICHMENT.integral_levels[bool(self.vector_functions)]).boxes
        sizes = ((boxes[:, :, 1] - boxes[:, :, 0]) / (box[:, 1] - box[:, 0])).max(axis=1)
        counts = finer * (ENRICHMENT.integral_points[0] + ENRICHMENT.integral_points[1] * sizes**2)
        rng = np.random.default_rng(0)
        return PointSet.joined(
            [
                region.sample(self.domain, Points(int(n), 1), rng, here)
                for here, n in zip(boxes, counts, strict=True)
            ]
        )

    # -- columns ---------------------------------------------------------------------------------------

    def without_families(self) -> Enrichment:
        """Return the enrichment with the points of functions around holes and in layers alone."""
        return replace(self, blocks=tuple(replace(b, family=None) for b in self.blocks))

    def at_refinement(self, attempt: int) -> Enrichment:
        """Return the enrichment of a refinement: orders around holes and powers at corners grow."""
        most = ENRICHMENT.max_corner_functions[min(attempt, len(ENRICHMENT.max_corner_functions) - 1)]
        efolds = ENRICHMENT.hole_exponents[min(attempt, len(ENRICHMENT.hole_exponents) - 1)]
        return replace(self, blocks=_limit_size(self.blocks, most), efolds=efolds)

    def added_to(self, spec: BasisSpec, share: float = 1.0) -> Choice:
        """Return a basis joined with these functions; for a ``share`` below 1 without the highest powers."""
        own = _reduced_parts((p for b in self.blocks for p in b.parts), share)
        parts = (spec, *own, *self._around_holes(share))
        if self.vector_functions:
            return VectorEnriched(parts, self.reduced_vector_functions(share))
        return spec if len(parts) == 1 else Joined(parts)

    def parts_added_to(self, spec: BasisSpec, locates: Callable[[Array], Mask], share: float) -> BasisSpec:
        """Return the basis of a subdomain joined with the functions of the singularities in it."""
        own = _reduced_parts((p for b in self.blocks for p in b.parts_in(locates)), share)
        return Joined((spec, *own)) if own else spec

    def reduced_vector_functions(self, share: float) -> tuple[VectorFunctions, ...]:
        """Return the vector functions, for a ``share`` below 1 without the highest powers."""
        return tuple(f.reduced(share) if share < 1.0 else f for f in self.vector_functions)

    def _around_holes(self, share: float = 1.0) -> tuple[BasisSpec, ...]:
        efolds = share * self.efolds
        return tuple(f for family in self.hole_functions for f in family.functions(efolds)) if efolds else ()

    def restricted_to(self, locates: Callable[[Array], Mask]) -> Enrichment:
        """Return the part that lies in a subdomain, without families; ``fields`` are in all subdomains."""
        if not self:
            return self
        near, inner = (X[locates(X)] if len(X) else X for X in (self.validation_points, self.fit_points))
        rim = self.boundary_fit_points
        rim = None if rim is None else rim.select(locates(rim.points))
        mine = SingularFunctions(
            parts=tuple(p for b in self.blocks for p in b.parts_in(locates)),
            fields=self.vector_functions,
            places=self.places,
            validation_points=near,
            fit_points=inner,
            boundary_fit_points=None if rim is None or not len(rim.points) else rim,
        )
        return Enrichment((mine,))


def _with_boundary(region: Region, found: PointSet, more: Boundary) -> PointSet:
    """Add the points of a boundary that belong to a region."""
    mine = more.select(region.mask(more))
    return PointSet.joined([found, PointSet((mine.points,), mine.normals)])


def _reduced_parts(parts: Iterable[BasisSpec], share: float) -> tuple[BasisSpec, ...]:
    return tuple(reduced(p, share) if share < 1.0 else p for p in parts)


def _join(parts: Iterable[Boundary | None]) -> Boundary | None:
    known = [part for part in parts if part is not None]
    return join_boundaries(known, known[0].points.shape[1]) if known else None


def _limit_size(blocks: tuple[SingularFunctions, ...], most: int) -> tuple[SingularFunctions, ...]:
    """Drop the highest powers until at most ``most`` functions, without vector functions, are left."""
    share, less = 1.0, blocks
    while sum(p.size for b in less for p in b.parts) > most and share > ENRICHMENT.min_power_share:
        share *= 0.8
        less = tuple(b.reduced(share) for b in blocks)
    return less
