r"""Enrichment of a basis, A(x) = [random features | singular functions].

Singular functions are known at corners (`analysis.corners.scalar_corners`) and around holes
(`analysis.holes.enrichment`), and the user may give expressions. The companion solution uses the same ones:
whether they are correct is validated at held-out points, which are graded towards each corner.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from pibls.adaptive.basis_parts import ReducibleSpec
from pibls.adaptive.thresholds import ENRICHMENT
from pibls.analysis.boundary_layers import find_boundary_layers
from pibls.analysis.corners.scalar_corners import Corner, singular_functions
from pibls.analysis.corners.selection import min_power
from pibls.analysis.frobenius import SingularEnd
from pibls.analysis.holes.enrichment import HoleEnrichment, holes_of, outer_faces
from pibls.arrays import Array, Mask
from pibls.basis import BasisSpec, Joined
from pibls.basis.singular.corner_functions import as_singular
from pibls.geometry import Boundary, Domain, box_of
from pibls.geometry.faces.face import join_boundaries
from pibls.problem import Region
from pibls.problem.forms.compilation import CompiledProblem
from pibls.problem.regions import Points, PointSet
from pibls.spaces import Choice, VectorEnriched, VectorFunctions, graded_tree


@dataclass(frozen=True)
class Enrichment:
    """Singular functions to add to a basis, and the points that they need.

    Functions of corners and of the user are the same in every refinement, those around holes grow in number.
    """

    parts: tuple[BasisSpec, ...] = ()
    is_essential: bool = False
    """Whether random features alone converge poorly."""
    validation_points: Array = field(default_factory=lambda: np.empty((0, 2)), compare=False, repr=False)
    """Validation points graded towards the corners."""
    fit_points: Array = field(default_factory=lambda: np.empty((0, 2)), compare=False, repr=False)
    """Collocation points graded towards the corners."""
    boundary_fit_points: Boundary | None = field(default=None, compare=False, repr=False)
    """Collocation points on the boundary, graded towards the corners."""

    corners: Array = field(default_factory=lambda: np.empty((0, 2)), compare=False, repr=False)
    """Positions of the corners."""
    hole_functions: HoleEnrichment = field(default_factory=HoleEnrichment, compare=False, repr=False)
    """Functions around holes."""
    domain: Domain | None = field(default=None, compare=False, repr=False)
    boundary_validation_points: Boundary | None = field(default=None, compare=False, repr=False)
    """Validation points on the boundaries of holes."""
    weak_corner_points: Array = field(default_factory=lambda: np.empty((0, 2)), compare=False, repr=False)
    """Points near corners with at most logarithmic singularities, at which two solutions are compared.

    The error is largest there too: the estimate for four discs in a square was 1.7 to 2.4 of the error
    without these points, and is 6 to 9 with them. Residuals relative to their terms are meaningless there.
    """
    vector_functions: tuple[VectorFunctions, ...] = field(default=(), compare=False, repr=False)
    """Vector-valued functions with one coefficient for all unknowns."""
    singular_points: Array = field(default_factory=lambda: np.empty((0, 2)), compare=False, repr=False)
    """Corners with a non-integer power."""

    def __bool__(self) -> bool:
        return bool(self.parts) or bool(self.hole_functions) or bool(self.vector_functions)

    def at_refinement(self, attempt: int) -> Enrichment:
        """Return the enrichment of a refinement: orders around holes and powers at corners grow."""
        parts = _limit_size(
            self.parts,
            ENRICHMENT.max_corner_functions[min(attempt, len(ENRICHMENT.max_corner_functions) - 1)],
        )
        if not self.hole_functions:
            return replace(self, parts=parts)
        assert self.domain is not None
        around = replace(
            self.hole_functions,
            efolds=ENRICHMENT.hole_exponents[min(attempt, len(ENRICHMENT.hole_exponents) - 1)],
        )
        rim = around.boundary_points()
        return replace(
            self,
            parts=parts,
            hole_functions=around,
            fit_points=np.concatenate([self.fit_points, around.domain_points(self.domain)])
            if around.kind.depth
            else self.fit_points,
            boundary_fit_points=rim
            if self.boundary_fit_points is None
            else join_boundaries([self.boundary_fit_points, rim], rim.points.shape[1]),
        )

    @property
    def size(self) -> int:
        return sum(p.size for p in (*self.parts, *self.hole_functions.functions())) + sum(
            f.size for f in self.vector_functions
        )

    def add_fit_points(self, where: Mapping[Region, PointSet]) -> dict[Region, PointSet]:
        """Add collocation points near corners to those of each region."""
        out = dict(where)
        for region, found in where.items():
            if region.is_integral:
                out[region] = self.integration_points(region, found, 1.0)
            elif region.is_interior and len(self.fit_points):
                X = np.concatenate([found.sites[0], self.fit_points])
                out[region] = PointSet((X,), np.zeros_like(X))
            elif self.boundary_fit_points is not None and region.is_boundary and region.sites == 1:
                more = self.boundary_fit_points.select(region.mask(self.boundary_fit_points))
                # In the corner itself derivatives are infinite or discontinuous.
                away = np.linalg.norm(found.sites[0][:, None, :] - self.corners, axis=2)
                kept = away.min(axis=1, initial=np.inf) > ENRICHMENT.corner_offset * float(
                    np.abs(self.boundary_fit_points.points).max() or 1.0
                )
                X = np.concatenate([found.sites[0][kept], more.points])
                out[region] = PointSet((X,), np.concatenate([found.normals[kept], more.normals]))
        return out

    def integration_points(self, region: Region, found: PointSet, finer: float) -> PointSet:
        """Return quadrature points of an integral in boxes graded towards the corners."""
        if not len(self.singular_points) or len(found) == 1 or self.domain is None:
            return found
        if not region.is_divisible(self.domain):
            return found
        box = box_of(self.domain)
        boxes = graded_tree(
            box, self.singular_points, ENRICHMENT.integral_levels[bool(self.vector_functions)]
        ).boxes
        sizes = ((boxes[:, :, 1] - boxes[:, :, 0]) / (box[:, 1] - box[:, 0])).max(axis=1)
        counts = finer * (ENRICHMENT.integral_points[0] + ENRICHMENT.integral_points[1] * sizes**2)
        rng = np.random.default_rng(0)
        return PointSet.joined(
            [
                region.sample(self.domain, Points(int(n), 1), rng, here)
                for here, n in zip(boxes, counts, strict=True)
            ]
        )

    def restricted_to(self, locates: Callable[[Array], Mask]) -> Enrichment:
        """Return the part that lies in a subdomain; functions without a position are in all subdomains."""
        if not self:
            return self
        parts = tuple(
            p
            for p, own in zip(self.parts, map(as_singular, self.parts), strict=True)
            if own is None or bool(locates(own.tip.inside[None, :])[0])
        )
        near, inner = (X[locates(X)] if len(X) else X for X in (self.validation_points, self.fit_points))
        rim = (
            None
            if self.boundary_fit_points is None
            else self.boundary_fit_points.select(locates(self.boundary_fit_points.points))
        )
        rim = None if rim is None or not len(rim.points) else rim
        return Enrichment(
            parts, self.is_essential, near, inner, rim, self.corners, vector_functions=self.vector_functions
        )

    def reduced_vector_functions(self, share: float) -> tuple[VectorFunctions, ...]:
        """Return the vector functions, for a ``share`` below 1 without the highest powers."""
        return tuple(f.reduced(share) if share < 1.0 else f for f in self.vector_functions)

    def added_to(self, spec: BasisSpec, share: float = 1.0) -> Choice:
        """Return a basis joined with these functions; for a ``share`` below 1 without the highest powers."""
        own = (_reduced(p, share) if share < 1.0 else p for p in self.parts)
        parts = (spec, *own, *self.hole_functions.functions(share))
        if self.vector_functions:
            return VectorEnriched(parts, self.reduced_vector_functions(share))
        return spec if len(parts) == 1 else Joined(parts)


def _reduced(part: BasisSpec, share: float) -> BasisSpec:
    """Drop the highest orders, if there are any."""
    return part.reduced(share) if isinstance(part, ReducibleSpec) else part


def _limit_size(parts: tuple[BasisSpec, ...], most: int) -> tuple[BasisSpec, ...]:
    """Drop the highest powers until at most ``most`` functions are left."""
    share = 1.0
    less = parts
    while sum(p.size for p in less) > most and share > ENRICHMENT.min_power_share:
        share *= 0.8
        less = tuple(_reduced(p, share) for p in parts)
    return less


def corner_enrichment(
    corners: Sequence[Corner],
    compiled: CompiledProblem,
    domain: Domain,
    given: Sequence[BasisSpec] = (),
    piece: Callable[[Corner], Domain] | None = None,
) -> Enrichment:
    """Return the enrichment by corners, each in its ``piece`` of the domain, and by given functions."""
    found = [singular_functions(c, compiled, domain if piece is None else piece(c)) for c in corners]
    strong = any(min_power(corner) < ENRICHMENT.max_strong_power for corner in corners) or bool(given)
    singular = [c for c in corners if math.isfinite(min_power(c))]
    mild = [c for c in corners if math.isinf(min_power(c))]
    rim = join_boundaries([corner.sides for corner in corners], 2) if corners else None
    layers = find_boundary_layers(compiled, domain, outer_faces(domain))
    around = replace(holes_of(compiled, domain), layers=layers)
    judging = replace(around, efolds=ENRICHMENT.validation_hole_exponent)
    near = [_points_towards(singular, domain, 0.5)]
    if around.holes:
        near.append(judging.domain_points(domain, 0.4))
    if layers is not None:
        near.append(layers.validation_points)
    return Enrichment(
        (*(f for some in found for f in some), *given),
        strong,
        np.concatenate(near),
        _points_towards(singular, domain, 0.2),
        rim,
        _places(corners, compiled.dimension),
        around,
        domain,
        judging.boundary_points(0.3) if around else None,
        _points_towards(mild, domain, 0.5),
        singular_points=_places(singular, compiled.dimension),
    )


def _places(corners: Sequence[Corner], d: int) -> Array:
    """Return the positions of corners, (N, d)."""
    return np.array([c.point for c in corners]).reshape(-1, d)


def _points_towards(corners: Sequence[Corner], domain: Domain, shift: float) -> Array:
    """Return points graded towards all corners, (N, d)."""
    none = _places((), len(box_of(domain)))
    return np.concatenate([none, *(_graded_points(corner, domain, shift) for corner in corners)])


def with_singular_ends(plain: Enrichment, ends: Sequence[SingularEnd]) -> Enrichment:
    """Add the singular functions at the ends of an interval."""
    if not ends:
        return plain
    places = np.array([[end.point] for end in ends])
    near, inner = (
        np.concatenate([X, *(end.points_towards(ENRICHMENT.validation_levels, shift) for end in ends)])
        for X, shift in ((plain.validation_points, 0.5), (plain.fit_points, 0.2))
    )
    return replace(
        plain,
        parts=(*plain.parts, *(end.functions for end in ends)),
        is_essential=plain.is_essential
        or any(end.min_exponent < ENRICHMENT.max_strong_power for end in ends),
        validation_points=near,
        fit_points=inner,
        corners=places,
        singular_points=places,
    )


def _graded_points(corner: Corner, domain: Domain, shift: float) -> Array:
    """Return points of the domain at geometrically decreasing distances from a corner."""
    box = box_of(domain)
    reach = 0.25 * float((box[:, 1] - box[:, 0]).min())
    r = reach * 0.5 ** (np.arange(ENRICHMENT.validation_levels) + shift)
    angle = (
        corner.start
        + corner.angle * (np.arange(ENRICHMENT.validation_angles) + shift) / ENRICHMENT.validation_angles
    )
    X = corner.points_at((r[:, None] * np.exp(1j * angle)).ravel())
    return np.asarray(X[np.asarray(domain.contains(X), dtype=bool)])
