r"""A(x) = [waves | singular functions]: what is known about a solution, added to the basis.

Corners and holes bring functions of their own (`diagnose.corners.singular`, `diagnose.holes.holes`), and a
person may give expressions. The second
solution, at another scale, has the same ones: whether they are the right ones is judged by the held-out
points, of which there are more and more towards each corner.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from pibls.adaptive.thresholds import ENRICH
from pibls.analysis.corners.singular import Corner, corners_of, functions_at
from pibls.analysis.frobenius import SingularEnd
from pibls.analysis.holes.holes import Around, holes_of, outer_faces
from pibls.analysis.layers import layers_of
from pibls.arrays import Array, Mask
from pibls.basis import BasisSpec, Joined
from pibls.basis.singular.tips import as_singular
from pibls.geometry import Boundary, Domain, box_of
from pibls.geometry.faces.face import join
from pibls.problem import Region
from pibls.problem.forms.lowering import LoweredProblem
from pibls.problem.regions import Points, PointSet
from pibls.spaces import Choice, Tied, TiedFunctions, graded_towards


@dataclass(frozen=True)
class Enrichment:
    """Functions to add, if there are any.

    Those of corners and of a person are the same at every attempt, those around holes grow with the attempts.
    """

    parts: tuple[BasisSpec, ...] = ()
    strong: bool = False
    """Whether nothing works well without them."""
    near: Array = field(default_factory=lambda: np.empty((0, 2)), compare=False, repr=False)
    """Points towards the corners, that judge …"""
    inner: Array = field(default_factory=lambda: np.empty((0, 2)), compare=False, repr=False)
    """… and others, that are fitted."""
    rim: Boundary | None = field(default=None, compare=False, repr=False)
    """The same on the boundary."""

    points: Array = field(default_factory=lambda: np.empty((0, 2)), compare=False, repr=False)
    """The corners."""
    around: Around = field(default_factory=Around, compare=False, repr=False)
    """The holes."""
    domain: Domain | None = field(default=None, compare=False, repr=False)
    held: Boundary | None = field(default=None, compare=False, repr=False)
    """Points of the rims of holes, that judge."""
    mild: Array = field(default_factory=lambda: np.empty((0, 2)), compare=False, repr=False)
    """Points towards corners with logarithms at most, at which two solutions are compared.

    They too are wrong in their corner first: the estimate of four discs in a square was 1.7 to 2.4 of the
    error without these, and is 6 to 9 with them. To judge residuals by their own terms means nothing there.
    """
    fields: tuple[TiedFunctions, ...] = field(default=(), compare=False, repr=False)
    """Functions of all unknowns together."""
    tips: Array = field(default_factory=lambda: np.empty((0, 2)), compare=False, repr=False)
    """The corners at which a solution has a power that is no whole number."""

    def __bool__(self) -> bool:
        return bool(self.parts) or bool(self.around) or bool(self.fields)

    def at(self, attempt: int) -> Enrichment:
        """With what is added at that attempt: more and more orders around holes, and powers at corners."""
        parts = _fewer(self.parts, ENRICH.corners[min(attempt, len(ENRICH.corners) - 1)])
        if not self.around:
            return replace(self, parts=parts)
        assert self.domain is not None
        around = replace(self.around, digits=ENRICH.left[min(attempt, len(ENRICH.left) - 1)])
        rim = around.rim()
        return replace(
            self,
            parts=parts,
            around=around,
            inner=np.concatenate([self.inner, around.inside(self.domain)])
            if around.kind.depth
            else self.inner,
            rim=rim if self.rim is None else join([self.rim, rim], rim.points.shape[1]),
        )

    @property
    def size(self) -> int:
        return sum(p.size for p in (*self.parts, *self.around.functions())) + sum(f.size for f in self.fields)

    def placed(self, where: Mapping[Region, PointSet]) -> dict[Region, PointSet]:
        """The points that are fitted, with more of them towards the corners."""
        out = dict(where)
        for region, found in where.items():
            if region.is_sum:
                out[region] = self.summed(region, found, 1.0)
            elif region.is_inside and len(self.inner):
                X = np.concatenate([found.sites[0], self.inner])
                out[region] = PointSet((X,), np.zeros_like(X))
            elif self.rim is not None and region.is_boundary and region.sites == 1:
                more = self.rim.select(region.mask(self.rim))
                # In the corner itself derivatives are infinite, or have another value on each side.
                away = np.linalg.norm(found.sites[0][:, None, :] - self.points, axis=2)
                kept = away.min(axis=1, initial=np.inf) > ENRICH.beside * float(
                    np.abs(self.rim.points).max() or 1.0
                )
                X = np.concatenate([found.sites[0][kept], more.points])
                out[region] = PointSet((X,), np.concatenate([found.normals[kept], more.normals]))
        return out

    def summed(self, region: Region, found: PointSet, finer: float) -> PointSet:
        """The points of an integral, in boxes that shrink towards the corners: r^(2/3) is no polynomial."""
        if not len(self.tips) or len(found) == 1 or self.domain is None:
            return found
        if not region.is_divisible(self.domain):
            return found
        box = box_of(self.domain)
        boxes = graded_towards(box, self.tips, ENRICH.summed[bool(self.fields)]).boxes
        sizes = ((boxes[:, :, 1] - boxes[:, :, 0]) / (box[:, 1] - box[:, 0])).max(axis=1)
        counts = finer * (ENRICH.in_box[0] + ENRICH.in_box[1] * sizes**2)
        rng = np.random.default_rng(0)
        return PointSet.joined(
            [
                region.place(self.domain, Points(int(n), 1), rng, here)
                for here, n in zip(boxes, counts, strict=True)
            ]
        )

    def within(self, locates: Callable[[Array], Mask]) -> Enrichment:
        """What of it lies in a piece of the domain; what is nowhere in particular is in all of them."""
        if not self:
            return self
        parts = tuple(
            p
            for p, own in zip(self.parts, map(as_singular, self.parts), strict=True)
            if own is None or bool(locates(own.tip.inside[None, :])[0])
        )
        near, inner = (X[locates(X)] if len(X) else X for X in (self.near, self.inner))
        rim = None if self.rim is None else self.rim.select(locates(self.rim.points))
        rim = None if rim is None or not len(rim.points) else rim
        return Enrichment(parts, self.strong, near, inner, rim, self.points, fields=self.fields)

    def reduced_fields(self, share: float) -> tuple[TiedFunctions, ...]:
        """The functions of all unknowns together, for a ``share`` below 1 without the highest powers."""
        return tuple(f.reduced(share) if share < 1.0 else f for f in self.fields)

    def joined(self, spec: BasisSpec, share: float = 1.0) -> Choice:
        """A basis with these functions beside it; for a ``share`` below 1, without the highest powers."""
        own = (_reduced(p, share) if share < 1.0 else p for p in self.parts)
        parts = (spec, *own, *self.around.functions(share))
        if self.fields:
            return Tied(parts, self.reduced_fields(share))
        return spec if len(parts) == 1 else Joined(parts)


def _reduced(part: Any, share: float) -> BasisSpec:
    """Without its highest orders, where it has any."""
    less: BasisSpec = part.reduced(share) if hasattr(part, "reduced") else part
    return less


def _fewer(parts: tuple[BasisSpec, ...], most: int) -> tuple[BasisSpec, ...]:
    """Without the highest powers, until there are no more than that many functions."""
    share = 1.0
    less = parts
    while sum(p.size for p in less) > most and share > ENRICH.least_share:
        share *= 0.8
        less = tuple(_reduced(p, share) for p in parts)
    return less


def worst_corners(lowered: LoweredProblem, domain: Domain) -> tuple[Corner, ...]:
    """The corners that count; a digitised outline has hundreds that are as good as straight."""
    corners = corners_of(lowered, domain)
    if len(corners) > ENRICH.most_corners:
        corners = tuple(sorted(corners, key=_first)[: ENRICH.most_corners])
    return corners


def are_mild(corners: Sequence[Corner]) -> bool:
    """Whether they bring logarithms at most, which most data do not call for: those of a rectangle."""
    return all(math.isinf(_first(corner)) for corner in corners)


def enrichment_of(
    corners: Sequence[Corner],
    lowered: LoweredProblem,
    domain: Domain,
    given: Sequence[BasisSpec] = (),
    piece: Callable[[Corner], Domain] | None = None,
) -> Enrichment:
    """What corners, each in its ``piece`` of the domain, and a person bring."""
    found = [functions_at(c, lowered, domain if piece is None else piece(c)) for c in corners]
    strong = any(_first(corner) < ENRICH.strong for corner in corners) or bool(given)
    singular = [c for c in corners if math.isfinite(_first(c))]
    none = np.empty((0, lowered.dimension))
    near, inner = (
        np.concatenate([none, *(_towards(corner, domain, shift) for corner in singular)])
        for shift in (0.5, 0.2)
    )
    mild = np.concatenate([none, *(_towards(c, domain, 0.5) for c in corners if math.isinf(_first(c)))])
    parts = (*(f for some in found for f in some), *given)
    rim = join([corner.sides for corner in corners], 2) if corners else None
    layers = layers_of(lowered, domain, outer_faces(domain))
    around = replace(holes_of(lowered, domain), layers=layers)
    judging = replace(around, digits=ENRICH.held)
    if around.holes:
        near = np.concatenate([near, judging.inside(domain, 0.4)])
    if layers is not None:
        near = np.concatenate([near, layers.near])
    return Enrichment(
        parts,
        strong,
        near,
        inner,
        rim,
        np.array([c.point for c in corners]).reshape(-1, lowered.dimension),
        around,
        domain,
        judging.rim(0.3) if around else None,
        mild,
        tips=np.array([c.point for c in singular]).reshape(-1, lowered.dimension),
    )


def with_ends(plain: Enrichment, ends: Sequence[SingularEnd]) -> Enrichment:
    """The same with what the ends of a line bring."""
    if not ends:
        return plain
    places = np.array([[end.point] for end in ends])
    near, inner = (
        np.concatenate([X, *(end.towards(ENRICH.levels, shift) for end in ends)])
        for X, shift in ((plain.near, 0.5), (plain.inner, 0.2))
    )
    return replace(
        plain,
        parts=(*plain.parts, *(end.functions for end in ends)),
        strong=plain.strong or any(end.first < ENRICH.strong for end in ends),
        near=near,
        inner=inner,
        points=places,
        tips=places,
    )


def _first(corner: Corner) -> float:
    """The least power of any unknown that is no whole number."""
    powers = [corner.first_power(k) for k in range(len(corner.kinds))]
    return min((p for p in powers if p is not None), default=math.inf)


def _towards(corner: Corner, domain: Domain, shift: float) -> Array:
    """Points of the domain at ever smaller distances from a corner."""
    box = box_of(domain)
    reach = 0.25 * float((box[:, 1] - box[:, 0]).min())
    r = reach * 0.5 ** (np.arange(ENRICH.levels) + shift)
    angle = corner.start + corner.angle * (np.arange(ENRICH.angles) + shift) / ENRICH.angles
    X = corner.at((r[:, None] * np.exp(1j * angle)).ravel())
    return np.asarray(X[np.asarray(domain.contains(X), dtype=bool)])
