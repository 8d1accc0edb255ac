r"""Holes of a plane domain, and basis functions that decay away from each hole.

A solution outside a hole is the sum of one that is smooth in the whole plane and one that decays away from
the hole; for Δu = 0 the second is a combination of log r and r⁻ⁿ e^{inθ}. A disc needs one centre. An
elongated hole has several centres, each with an inscribed circle, such that the circles, slightly enlarged,
cover its boundary.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from pibls.analysis.boundary_layers import constant_coefficients, helmholtz_reduction
from pibls.analysis.holes.loops import dense_points, inscribed_circles, loops, signed_double_area
from pibls.analysis.holes.mirror_images import Image, Mirror, mirror_images
from pibls.analysis.thresholds import HOLES, JUNCTIONS, SEGMENTS
from pibls.arrays import Array
from pibls.basis import Annular, BasisSpec, Singular, Tip
from pibls.geometry import Boundary, Domain, faces_of, lengths_of, time_of
from pibls.geometry.faces.face import Face, join_boundaries
from pibls.geometry.subdomains.subdomain import Subdomain
from pibls.problem.forms.compilation import CompiledProblem, Residual

_SMOOTH = math.cos(
    math.radians(15.0)
)  # least cosine between neighbouring normals of a boundary without corners
_RINGS = 0.5 ** np.arange(5)  # distances from the boundary, in units of the radius


@dataclass(frozen=True)
class CircleRing:
    """Circles along a smooth boundary of a hole, half as large as fits there, and spaced by their radius.

    For an elongated hole the singularities of the solution lie along its axis, up to the ends, and at the
    images of nearby boundaries.
    """

    centres: Array
    radii: Array
    cumulative_count: Array
    """Cumulative number of circles along the boundary."""

    @classmethod
    def of(cls, face: Face, others: list[Face]) -> CircleRing | None:
        """Return the circles along a face, or None if it has corners."""
        boundary = face.at(((np.arange(SEGMENTS.dense_samples) + 0.5) / SEGMENTS.dense_samples)[:, None])
        X, N = boundary.points, boundary.normals
        if np.sum(N * np.roll(N, -1, axis=0), axis=1).min() < _SMOOTH:
            return None
        away = X[None, :, :] - X[:, None, :]
        depth = np.einsum("ijk,ik->ij", away, N)
        with np.errstate(divide="ignore", invalid="ignore"):
            fits = np.where(depth > 0, (away**2).sum(axis=2) / (2.0 * depth), np.inf).min(axis=1)
        beside = np.concatenate([other.dense_points() for other in others])
        gap = np.linalg.norm(X[:, None, :] - beside[None, :, :], axis=2).min(axis=1)
        radii = 0.5 * np.minimum(fits, 2.0 * gap)
        along = np.cumsum(np.linalg.norm(np.roll(X, -1, axis=0) - X, axis=1) / radii)
        return cls(X + radii[:, None] * N, radii, along)

    def spaced_parameters(self, shares: Array) -> Array:
        """Return parameters of the boundary, denser where the circles are denser."""
        total = np.concatenate([[0.0], self.cumulative_count]) / self.cumulative_count[-1]
        return np.interp(shares % 1.0, total, np.linspace(0.0, 1.0, len(total)))

    def circles(self, efolds: float) -> list[tuple[float, float, float]]:
        """Return as many circles, each with functions of first order, as leave an error of e^-efolds."""
        n = math.ceil(self.cumulative_count[-1] * efolds / HOLES.efolds_per_spacing)
        at = np.searchsorted(self.cumulative_count, (np.arange(n) + 0.5) * self.cumulative_count[-1] / n)
        return [(*X, r) for X, r in zip(self.centres[at].tolist(), self.radii[at].tolist(), strict=True)]


@dataclass(frozen=True)
class HoleBasisKind:
    """The kind of functions around a hole: the highest power of z̄, κ of Δv = κ²v, and g of e^{g·x}."""

    depth: int = 0
    rate: float = 0.0
    growth: tuple[float, float] = (0.0, 0.0)

    def basis_at(self, centre: tuple[float, float], radius: float, orders: int) -> Annular:
        """Return the functions around one centre."""
        most = HOLES.max_orders[bool(self.rate)]
        return Annular(centre, radius, min(orders, most), self.depth, self.rate, self.growth)


@dataclass(frozen=True)
class Hole:
    """A hole: a closed part of the boundary that the domain surrounds."""

    faces: tuple[Face, ...]
    centres: tuple[tuple[float, float, float], ...]
    """(x, y, radius) of the inscribed circles."""
    length: float
    decays: tuple[float, ...] = ()
    """Ratio of successive orders around each centre."""
    ring: CircleRing | None = None
    """Many small circles, used instead of the centres if the boundary is smooth but not a circle."""

    def functions(self, efolds: float, kind: HoleBasisKind) -> list[Annular]:
        """Return as many functions around the centres as leave an error of e^-efolds."""
        if self.ring is not None:
            return [kind.basis_at((a, b), r, 1) for a, b, r in self.ring.circles(efolds)]
        each = zip(self.centres, self.decays, strict=True)
        return [kind.basis_at((a, b), r, _orders(efolds, q)) for (a, b, r), q in each]

    def boundary_points(self, functions: int, shift: float = 0.0) -> Boundary:
        """Return points of the boundary, as many as ``functions`` functions need."""
        n = int(HOLES.points_per_function * functions) + 8
        parts = []
        for face in self.faces:
            size = face.measure(np.ones(2)) / self.length
            k = max(int(n * size), 4)
            s = (np.arange(k) + 0.5 + shift) / k
            if not face.is_closed:
                s = 0.5 - 0.5 * np.cos(np.pi * s)  # denser towards the ends
            elif self.ring is not None:
                s = self.ring.spaced_parameters(s)
            parts.append(face.at(np.clip(s, 0.0, 1.0)[:, None]))
        return join_boundaries(parts, 2)

    def domain_points(self, functions: int, domain: Domain, shift: float = 0.0) -> Array:
        """Return points of the domain around the hole, at decreasing distances from its boundary."""
        boundary = self.boundary_points(max(functions // len(_RINGS), 8), shift)
        size = max(r for _, _, r in self.centres)
        steps = (size * np.resize(_RINGS, len(boundary.points)) * (1.0 + 0.3 * shift))[:, None]
        X = boundary.points - steps * boundary.normals
        return np.asarray(X[np.asarray(domain.contains(X), dtype=bool)])


@dataclass(frozen=True)
class HoleEnrichment:
    """All holes of a domain, with the kind of functions that the equations need around them.

    Functions are added until the error is e^-efolds.
    """

    holes: tuple[Hole, ...] = ()
    kind: HoleBasisKind = field(default_factory=HoleBasisKind)
    mirrors: tuple[Mirror, ...] = ()
    """The faces of the outer boundary, as mirrors."""
    images: tuple[Image, ...] = ()
    """Mirror images of the holes in the outer boundary."""
    outer_circle: tuple[float, float, float] | None = None
    """The outer boundary as a circle (x, y, radius), if it is one."""
    outer_decay: float = 0.0
    """Ratio of successive orders of the field from outside that circle."""

    def __bool__(self) -> bool:
        return bool(self.holes) or self.outer_decay > 0.0

    def with_neighbours(self, others: Sequence[HoleEnrichment]) -> HoleEnrichment:
        """Return the enrichment with the field from outside, if the outer circle is a hole of another one."""
        if self.outer_circle is None:
            return self
        a, b, r = self.outer_circle
        for other in others:
            for hole in other.holes:
                if np.abs(np.subtract(hole.centres[0], (a, b, r))).max() < JUNCTIONS.same_point_tol * r:
                    return replace(self, outer_decay=hole.decays[0])
        return self

    def _regular(self, efolds: float) -> tuple[BasisSpec, ...]:
        """Return r^p cos pθ and r^p sin pθ, or Bessel functions, in the outer circle."""
        if self.outer_circle is None or not self.outer_decay:
            return ()
        a, b, r = self.outer_circle
        orders = range(min(_orders(efolds, self.outer_decay), HOLES.max_orders[0]) + 1)
        terms = ((float(p), 0, 0, delta) for p in orders for delta in (0.0, 0.5 * math.pi)[: 1 + bool(p)])
        return (Singular(Tip((a, b), 0.0, r, None, 1j, self.kind.rate, self.kind.growth), tuple(terms)),)

    def functions(self, efolds: float) -> tuple[BasisSpec, ...]:
        """Return the functions of all holes and images."""
        own = (f for hole in self.holes for f in hole.functions(efolds, self.kind))
        seen = (
            self.kind.basis_at(i.centre, i.radius, n)
            for i, n in zip(self.images, self._image_orders(efolds), strict=True)
        )
        return (*own, *seen, *self._regular(efolds))

    def _image_orders(self, efolds: float) -> list[int]:
        decays = [q for hole in self.holes for q in hole.decays]
        return [image.orders(efolds, decays[image.circle_index]) for image in self.images]

    def boundary_points(self, efolds: float, shift: float = 0.0) -> Boundary:
        """Return points of the boundaries of all holes, and of the mirrors."""
        sizes = self._sizes(efolds)
        each = [hole.boundary_points(n, shift) for hole, n in zip(self.holes, sizes, strict=True)]
        seen = self._image_orders(efolds)
        return join_boundaries([*each, *(m.points(self.images, seen) for m in self.mirrors)], 2)

    def domain_points(self, efolds: float, domain: Domain, shift: float = 0.0) -> Array:
        """Return points around all holes."""
        sizes = self._sizes(efolds)
        each = [hole.domain_points(2 * n, domain, shift) for hole, n in zip(self.holes, sizes, strict=True)]
        return np.concatenate([np.empty((0, 2)), *each])

    def fit_points(self, efolds: float, domain: Domain) -> Array:
        """Return points around all holes, for functions that do not solve the equation by themselves."""
        return self.domain_points(efolds, domain) if self.kind.depth else np.empty((0, 2))

    def _sizes(self, efolds: float) -> list[int]:
        return [sum(f.size for f in h.functions(efolds, self.kind)) for h in self.holes]


def outer_faces(domain: Domain) -> tuple[Face, ...]:
    """Return the faces of the outer boundary: all but those of holes of a plane domain."""
    faces = faces_of(domain)
    if len(domain.coordinates) != 2 or not all(face.has_chart and face.dimension == 1 for face in faces):
        return faces
    return tuple(face for loop in loops(faces) if signed_double_area(loop) >= 0.0 for face in loop)


def holes_of(compiled: CompiledProblem, domain: Domain) -> HoleEnrichment:
    """Return the holes of a plane domain; none if its boundary has no charts."""
    faces = faces_of(domain) if compiled.dimension == 2 and time_of(domain) is None else ()
    return _enrichment_of(faces, _kind(compiled), domain) if len(faces) > 1 else HoleEnrichment()


def holes_in(compiled: CompiledProblem, subdomain: Subdomain) -> HoleEnrichment | None:
    """Return the holes of a subdomain, which other subdomains may fill; None if they are not known.

    The kind of functions is determined from the equations in the subdomain alone.
    """
    if len(subdomain.coordinates) != 2:
        return None
    faces = _outward_faces(subdomain)
    kind = _kind(compiled, subdomain.partition.samples[subdomain.index][: JUNCTIONS.samples])
    if faces is None or kind is None or kind.depth:
        return None
    return _enrichment_of(faces, kind, subdomain)


def _outward_faces(subdomain: Subdomain) -> tuple[Face, ...] | None:
    """Return all faces of a subdomain with outward normals; None if it has only a part of a face."""
    step = JUNCTIONS.offset * float(lengths_of(subdomain).min())
    out = []
    for face in subdomain.faces:
        if not face.has_chart or face.dimension != 1:
            return None
        boundary = face.at(((np.arange(JUNCTIONS.samples) + 0.5) / JUNCTIONS.samples)[:, None])
        within, beyond = (
            np.asarray(subdomain.contains(boundary.points + side * step * boundary.normals), dtype=bool)
            for side in (-1, 1)
        )
        if within.all() and not beyond.any():
            out.append(face)
        elif beyond.all() and not within.any():
            out.append(face.flipped())
        elif within.any() or beyond.any():
            return None
    return tuple(out)


def _enrichment_of(faces: tuple[Face, ...], kind: HoleBasisKind | None, domain: Domain) -> HoleEnrichment:
    if kind is None or not faces or not all(face.has_chart and face.dimension == 1 for face in faces):
        return HoleEnrichment()
    found, outer = _holes_and_outer_faces(faces)
    within = _circle(outer)
    if not found:
        return HoleEnrichment(kind=kind, outer_circle=within)
    if abs(kind.rate) * min(r for h in found for _, _, r in h.centres) < HOLES.min_rate_times_radius:
        kind = replace(kind, rate=0.0)
    if math.hypot(*kind.growth) * float(lengths_of(domain).max()) > HOLES.max_growth_efolds:
        return HoleEnrichment()
    mirrors = tuple(Mirror.of(face) for face in outer)
    circles = [c for hole in found for c in hole.centres]
    images = mirror_images(circles, mirrors, domain, float(lengths_of(domain).min()))
    # Faces that are too far away for images still affect the decay around a hole.
    beyond = _reflected_circles(circles, mirrors)
    beyond += [(*i.centre, i.radius) for i in images]
    complete = tuple(_with_decays(hole, found, beyond, faces) for hole in found)
    return HoleEnrichment(complete, kind, mirrors, images, outer_circle=within)


def _holes_and_outer_faces(faces: tuple[Face, ...]) -> tuple[list[Hole], list[Face]]:
    """Return the holes with their inscribed circles, and the faces of the outer boundary."""
    found: list[Hole] = []
    outer: list[Face] = []
    for loop in loops(faces):
        if signed_double_area(loop) >= 0.0:
            outer += loop
            continue
        boundary = np.concatenate([part.points for part in dense_points(loop)])
        length = sum(face.measure(np.ones(2)) for face in loop)
        centres = inscribed_circles(boundary)
        if centres:
            found.append(Hole(loop, centres, length))
    return found, outer


def _reflected_circles(
    circles: Sequence[tuple[float, float, float]], mirrors: Sequence[Mirror]
) -> list[tuple[float, float, float]]:
    """Return the images (x, y, radius) of the circles in the mirrors."""
    seen = [m.image(np.array([a, b]), r) for m in mirrors for a, b, r in circles]
    return [(float(at[0]), float(at[1]), r) for at, r in (s for s in seen if s is not None)]


def _circle(outer: Sequence[Face]) -> tuple[float, float, float] | None:
    """Return (x, y, radius) of a boundary that is a circle, else None."""
    if len(outer) != 1 or not outer[0].is_closed:
        return None
    X = outer[0].at(((np.arange(JUNCTIONS.samples) + 0.5) / JUNCTIONS.samples)[:, None]).points
    middle = X.mean(axis=0)
    away = np.linalg.norm(X - middle, axis=1)
    r = float(away.mean())
    return (float(middle[0]), float(middle[1]), r) if np.ptp(away) < JUNCTIONS.same_point_tol * r else None


def _with_decays(
    hole: Hole, holes: list[Hole], beyond: Sequence[tuple[float, float, float]], faces: tuple[Face, ...]
) -> Hole:
    """Return the hole with the decay of the orders around each circle, from its nearest images."""
    (a, b, r), ring = hole.centres[0], None
    is_disc = all(
        np.linalg.norm(f.dense_points() - (a, b), axis=1).max() < HOLES.max_disc_ratio * r for f in hole.faces
    )
    if not is_disc and len(hole.faces) == 1:
        ring = CircleRing.of(hole.faces[0], [face for face in faces if face is not hole.faces[0]])
    others = [c for other in holes if other is not hole for c in other.centres]
    others += beyond
    least = HOLES.min_decay if is_disc else HOLES.min_decay_noncircular
    found = (max((_decay(c, other) for other in others), default=0.0) for c in hole.centres)
    return replace(hole, ring=ring, decays=tuple(min(max(q, least), HOLES.max_decay) for q in found))


def _decay(circle: tuple[float, float, float], other: tuple[float, float, float]) -> float:
    """Return ϱ = r/s, where s is the distance of the limit point of repeated images in the other circle."""
    distance, r, q = math.dist(circle[:2], other[:2]), circle[2], other[2]
    # The limit point of the images satisfies s = a - q²/(a - r²/s).
    b = distance * distance + r * r - q * q
    s = (b + math.sqrt(max(b * b - 4.0 * distance * distance * r * r, 0.0))) / (2.0 * distance)
    return r / max(s, r)


def _orders(efolds: float, decay: float) -> int:
    """Return n with ϱⁿ = e^-efolds."""
    return max(math.ceil(efolds / math.log(1.0 / decay)), 1)


def _kind(compiled: CompiledProblem, X: Array | None = None) -> HoleBasisKind | None:
    """Return the kind of functions that the equations need around a hole, or None.

    Δu = f needs harmonic functions, Δu + b·∇u + c u = f Bessel functions times e^{g·x}, also for several
    unknowns that conditions couple (a real and an imaginary part). Systems with only highest derivatives
    (elasticity, Stokes flow, plates) need z̄ in addition. No such functions are known for other equations:
    for a variable coefficient, more powers of z̄ gave an error of 5e-3, cells 1e-7.
    """
    equations = compiled.equations
    forms = [form for r in equations if (form := helmholtz_reduction(r, X)) is not None and form.mu == 1j]
    if len(forms) == len(equations) and np.allclose(
        [(f.rate, *f.growth) for f in forms], (forms[0].rate, *forms[0].growth)
    ):
        return HoleBasisKind(0, forms[0].rate, forms[0].growth)
    if X is not None:
        return None
    plain = all(constant_coefficients(r, 2) is not None and _is_homogeneous(r) for r in equations)
    return HoleBasisKind(1) if plain else None


def _is_homogeneous(r: Residual) -> bool:
    """Whether each unknown has derivatives of a single order."""
    orders: dict[int, set[int]] = {}
    for j in r.linear:
        orders.setdefault(j.unknown, set()).add(sum(j.alpha))
    return all(len(found) == 1 for found in orders.values()) and 0 not in set().union(*orders.values())
