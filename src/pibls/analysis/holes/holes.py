r"""∂Ω = Γ₀ ∪ Γ₁ ∪ …: the holes of a plane domain, and the functions around each.

A solution outside of a hole is the sum of one that is smooth over all of the plane and one that decays away
from the hole; of Δu = 0 the second is log r and r⁻ⁿ e^{inθ}. Around a disc its centre will do. In a long hole
there are several centres, each with a circle about it in the hole, until the circles, a little larger, hold
the whole rim.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from pibls.analysis.holes.images import Image, Mirror, mirrored
from pibls.analysis.holes.rims import area, centres_in, dense, loops
from pibls.analysis.layers import Layers, reduction_of, steady
from pibls.analysis.thresholds import ENDS, HOLES, JUNCTIONS
from pibls.arrays import Array
from pibls.basis import Annular, BasisSpec, Singular, Tip
from pibls.geometry import Boundary, Domain, faces_of, lengths_of, time_of
from pibls.geometry.faces.face import Face, join
from pibls.geometry.subdomains.piece import Piece
from pibls.problem.forms.lowering import LoweredProblem, Residual

_SMOOTH = math.cos(math.radians(15.0))  # between normals of neighbours on a rim without corners
_RINGS = 0.5 ** np.arange(5)  # distances from the rim, in units of the radius


@dataclass(frozen=True)
class Ring:
    """Circles along a smooth rim, as large as half of what fits there, and as far apart as they are large.

    Around a long hole singularities lie all along its middle, up to its ends, and mirror what is close by.
    """

    places: Array
    radii: Array
    along: Array
    """How many circles there are up to each place."""

    @classmethod
    def of(cls, face: Face, others: list[Face]) -> Ring | None:
        """None where the rim has corners."""
        rim = face.at(((np.arange(ENDS.dense) + 0.5) / ENDS.dense)[:, None])
        X, N = rim.points, rim.normals
        if np.sum(N * np.roll(N, -1, axis=0), axis=1).min() < _SMOOTH:
            return None
        away = X[None, :, :] - X[:, None, :]
        depth = np.einsum("ijk,ik->ij", away, N)
        with np.errstate(divide="ignore", invalid="ignore"):
            fits = np.where(depth > 0, (away**2).sum(axis=2) / (2.0 * depth), np.inf).min(axis=1)
        beside = np.concatenate([other.dense() for other in others])
        gap = np.linalg.norm(X[:, None, :] - beside[None, :, :], axis=2).min(axis=1)
        radii = 0.5 * np.minimum(fits, 2.0 * gap)
        along = np.cumsum(np.linalg.norm(np.roll(X, -1, axis=0) - X, axis=1) / radii)
        return cls(X + radii[:, None] * N, radii, along)

    def spaced(self, shares: Array) -> Array:
        """Parameters of the rim, closer together where circles are."""
        total = np.concatenate([[0.0], self.along]) / self.along[-1]
        return np.interp(shares % 1.0, total, np.linspace(0.0, 1.0, len(total)))

    def circles(self, digits: float) -> list[tuple[float, float, float]]:
        """As many as leave e^-digits, with functions of the first order around each."""
        n = math.ceil(self.along[-1] * digits / HOLES.per_spacing)
        at = np.searchsorted(self.along, (np.arange(n) + 0.5) * self.along[-1] / n)
        return [(*X, r) for X, r in zip(self.places[at].tolist(), self.radii[at].tolist(), strict=True)]


@dataclass(frozen=True)
class HoleFunctions:
    """Which functions the equations ask for around a hole: powers of z̄ beside those of z, κ, and g."""

    depth: int = 0
    rate: float = 0.0
    growth: tuple[float, float] = (0.0, 0.0)

    def around(self, centre: tuple[float, float], radius: float, orders: int) -> Annular:
        """Those around one point."""
        most = HOLES.most_orders[bool(self.rate)]
        return Annular(centre, radius, min(orders, most), self.depth, self.rate, self.growth)


@dataclass(frozen=True)
class Hole:
    """A closed piece of the boundary with the domain around it."""

    faces: tuple[Face, ...]
    centres: tuple[tuple[float, float, float], ...]
    """x, y and the radius of the circle about them."""
    length: float
    decays: tuple[float, ...] = ()
    """What is left around each of them from one order to the next."""
    ring: Ring | None = None
    """Many small circles instead, where the rim is smooth but no circle."""

    def functions(self, digits: float, kind: HoleFunctions) -> list[Annular]:
        """The functions around its centres, as many as leave e^-digits."""
        if self.ring is not None:
            return [kind.around((a, b), r, 1) for a, b, r in self.ring.circles(digits)]
        each = zip(self.centres, self.decays, strict=True)
        return [kind.around((a, b), r, _orders(digits, q)) for (a, b, r), q in each]

    def rim(self, functions: int, shift: float = 0.0) -> Boundary:
        """Points of the rim, as many as that many functions need."""
        n = int(HOLES.per_function * functions) + 8
        parts = []
        for face in self.faces:
            size = face.measure(np.ones(2)) / self.length
            k = max(int(n * size), 4)
            s = (np.arange(k) + 0.5 + shift) / k
            if not face.is_closed:
                s = 0.5 - 0.5 * np.cos(np.pi * s)  # more towards its ends
            elif self.ring is not None:
                s = self.ring.spaced(s)
            parts.append(face.at(np.clip(s, 0.0, 1.0)[:, None]))
        return join(parts, 2)

    def around(self, functions: int, domain: Domain, shift: float = 0.0) -> Array:
        """Points of the domain around it, ever closer to the rim."""
        rim = self.rim(max(functions // len(_RINGS), 8), shift)
        size = max(r for _, _, r in self.centres)
        steps = (size * np.resize(_RINGS, len(rim.points)) * (1.0 + 0.3 * shift))[:, None]
        X = rim.points - steps * rim.normals
        return np.asarray(X[np.asarray(domain.contains(X), dtype=bool)])


@dataclass(frozen=True)
class Around:
    """All holes, with the kind of functions that the equations ask for."""

    holes: tuple[Hole, ...] = ()
    kind: HoleFunctions = field(default_factory=HoleFunctions)
    mirrors: tuple[Mirror, ...] = ()
    """The faces of the outer boundary …"""
    images: tuple[Image, ...] = ()
    """… and what is seen of the holes in them."""
    digits: float = 0.0
    """e^-digits is left out."""
    layers: Layers | None = None
    """Thin layers along the outer boundary."""
    within: tuple[float, float, float] | None = None
    """The circle around it, if it is in one …"""
    decay: float = 0.0
    """… and what is left of what comes from beyond that circle from one order to the next."""

    def __bool__(self) -> bool:
        return bool(self.holes) or self.layers is not None or self.decay > 0.0

    def beside(self, others: Sequence[Around]) -> Around:
        """With what comes from beyond the circle around it, where that is the rim of a hole of another."""
        if self.within is None:
            return self
        a, b, r = self.within
        for other in others:
            for hole in other.holes:
                if np.abs(np.subtract(hole.centres[0], (a, b, r))).max() < JUNCTIONS.same * r:
                    return replace(self, decay=hole.decays[0])
        return self

    def _regular(self, digits: float) -> tuple[BasisSpec, ...]:
        """R^p cos pθ and r^p sin pθ, or Bessel functions, in the circle."""
        if self.within is None or not self.decay:
            return ()
        a, b, r = self.within
        orders = range(min(_orders(digits, self.decay), HOLES.most_orders[0]) + 1)
        terms = ((float(p), 0, 0, delta) for p in orders for delta in (0.0, 0.5 * math.pi)[: 1 + bool(p)])
        return (Singular(Tip((a, b), 0.0, r, None, 1j, self.kind.rate, self.kind.growth), tuple(terms)),)

    def functions(self, share: float = 1.0) -> tuple[BasisSpec, ...]:
        """Those of all holes, of their images and of layers; for a ``share`` below 1, fewer."""
        if not self.digits:
            return ()
        digits = share * self.digits
        own = (f for hole in self.holes for f in hole.functions(digits, self.kind))
        seen = (
            self.kind.around(i.centre, i.radius, n)
            for i, n in zip(self.images, self._seen(digits), strict=True)
        )
        layers = () if self.layers is None else self.layers.functions(digits)
        return (*own, *seen, *layers, *self._regular(digits))

    def _seen(self, digits: float) -> list[int]:
        decays = [q for hole in self.holes for q in hole.decays]
        return [image.orders(digits, decays[image.of]) for image in self.images]

    def rim(self, shift: float = 0.0) -> Boundary:
        """Points of all rims."""
        each = [hole.rim(n, shift) for hole, n in zip(self.holes, self._sizes, strict=True)]
        seen = self._seen(self.digits)
        parts = [*each, *(m.points(self.images, seen) for m in self.mirrors)]
        parts += [] if self.layers is None else [self.layers.rim(self.digits)]
        return join(parts, parts[0].points.shape[1] if parts else 2)

    def inside(self, domain: Domain, shift: float = 0.0) -> Array:
        """Points around all holes, where the functions do not solve the equation by themselves."""
        each = [hole.around(2 * n, domain, shift) for hole, n in zip(self.holes, self._sizes, strict=True)]
        return np.concatenate([np.empty((0, 2)), *each])

    @property
    def _sizes(self) -> list[int]:
        return [sum(f.size for f in h.functions(self.digits, self.kind)) for h in self.holes]


def outer_faces(domain: Domain) -> tuple[Face, ...]:
    """The faces of a domain that go around it: all but those of holes in the plane."""
    faces = faces_of(domain)
    if len(domain.coordinates) != 2 or not all(face.has_chart and face.dimension == 1 for face in faces):
        return faces
    return tuple(face for loop in loops(faces) if area(loop) >= 0.0 for face in loop)


def holes_of(lowered: LoweredProblem, domain: Domain) -> Around:
    """The holes of a plane domain; none where its boundary has no charts."""
    faces = faces_of(domain) if lowered.dimension == 2 and time_of(domain) is None else ()
    return _around(faces, _kind(lowered), domain) if len(faces) > 1 else Around()


def holes_in(lowered: LoweredProblem, piece: Piece) -> Around | None:
    """The holes of a piece of a plane domain, where other pieces may lie; None where they are not known.

    What its equation asks for, and whether there are such functions, is asked of the piece alone.
    """
    if len(piece.coordinates) != 2:
        return None
    faces = _outwards(piece)
    kind = _kind(lowered, piece.division.samples[piece.number][: JUNCTIONS.looked])
    if faces is None or kind is None or kind.depth:
        return None
    return _around(faces, kind, piece)


def _outwards(piece: Piece) -> tuple[Face, ...] | None:
    """All faces around a piece, with their normals outwards; None where it has only a part of one."""
    step = JUNCTIONS.inside * float(lengths_of(piece).min())
    out = []
    for face in piece.faces:
        if not face.has_chart or face.dimension != 1:
            return None
        rim = face.at(((np.arange(JUNCTIONS.looked) + 0.5) / JUNCTIONS.looked)[:, None])
        within, beyond = (
            np.asarray(piece.contains(rim.points + side * step * rim.normals), dtype=bool) for side in (-1, 1)
        )
        if within.all() and not beyond.any():
            out.append(face)
        elif beyond.all() and not within.any():
            out.append(face.flipped())
        elif within.any() or beyond.any():
            return None
    return tuple(out)


def _around(faces: tuple[Face, ...], kind: HoleFunctions | None, domain: Domain) -> Around:
    if kind is None or not faces or not all(face.has_chart and face.dimension == 1 for face in faces):
        return Around()
    found: list[Hole] = []
    outer: list[Face] = []
    for loop in loops(faces):
        if area(loop) >= 0.0:
            outer += loop
            continue
        rim = np.concatenate([part.points for part in dense(loop)])
        length = sum(face.measure(np.ones(2)) for face in loop)
        centres = centres_in(rim)
        if centres:
            found.append(Hole(loop, centres, length))
    within = _circle(outer)
    if not found:
        return Around(kind=kind, within=within)
    if abs(kind.rate) * min(r for h in found for _, _, r in h.centres) < HOLES.weak:
        kind = replace(kind, rate=0.0)
    if math.hypot(*kind.growth) * float(lengths_of(domain).max()) > HOLES.steepest:
        return Around()
    mirrors = tuple(Mirror.of(face) for face in outer)
    circles = [c for hole in found for c in hole.centres]
    images = mirrored(circles, mirrors, domain, float(lengths_of(domain).min()))
    # Walls that are too far away to see images in still bend what is around a hole.
    seen = [m.image(np.array([a, b]), r) for m in mirrors for a, b, r in circles]
    beyond = [(float(at[0]), float(at[1]), r) for at, r in (s for s in seen if s is not None)]
    beyond += [(*i.centre, i.radius) for i in images]
    complete = tuple(_completed(hole, found, beyond, faces) for hole in found)
    return Around(complete, kind, mirrors, images, within=within)


def _circle(outer: Sequence[Face]) -> tuple[float, float, float] | None:
    """The circle that a boundary is, if it is one."""
    if len(outer) != 1 or not outer[0].is_closed:
        return None
    X = outer[0].at(((np.arange(JUNCTIONS.looked) + 0.5) / JUNCTIONS.looked)[:, None]).points
    middle = X.mean(axis=0)
    away = np.linalg.norm(X - middle, axis=1)
    r = float(away.mean())
    return (float(middle[0]), float(middle[1]), r) if np.ptp(away) < JUNCTIONS.same * r else None


def _completed(
    hole: Hole, holes: list[Hole], beyond: Sequence[tuple[float, float, float]], faces: tuple[Face, ...]
) -> Hole:
    """With how fast what is around each circle falls with the order, from what it mirrors in turn."""
    (a, b, r), ring = hole.centres[0], None
    is_disc = all(np.linalg.norm(f.dense() - (a, b), axis=1).max() < HOLES.round * r for f in hole.faces)
    if not is_disc and len(hole.faces) == 1:
        ring = Ring.of(hole.faces[0], [face for face in faces if face is not hole.faces[0]])
    others = [c for other in holes if other is not hole for c in other.centres]
    others += beyond
    least = HOLES.fastest if is_disc else HOLES.of_its_shape
    found = (max((_decay(c, other) for other in others), default=0.0) for c in hole.centres)
    return replace(hole, ring=ring, decays=tuple(min(max(q, least), HOLES.slowest) for q in found))


def _decay(circle: tuple[float, float, float], other: tuple[float, float, float]) -> float:
    """ϱ = r/s: what another circle sends here is singular where that one mirrors this one, s away."""
    apart, r, q = math.dist(circle[:2], other[:2]), circle[2], other[2]
    # s = a - q²/(a - r²/s): there the images of the images end.
    b = apart * apart + r * r - q * q
    s = (b + math.sqrt(max(b * b - 4.0 * apart * apart * r * r, 0.0))) / (2.0 * apart)
    return r / max(s, r)


def _orders(digits: float, decay: float) -> int:
    """n with ϱⁿ = e^-digits."""
    return max(math.ceil(digits / math.log(1.0 / decay)), 1)


def _kind(lowered: LoweredProblem, X: Array | None = None) -> HoleFunctions | None:
    """Which functions the equations ask for around a hole.

    Δu = f asks for harmonic ones, Δu + b·∇u + c u = f for Bessel functions times e^{g·x}, also of several
    unknowns that conditions tie (a real and an imaginary part); what has nothing but highest derivatives
    (elasticity, Stokes flow, plates) for z̄ beside them. Of everything else there is no such list: with more
    powers of z̄ a variable coefficient ended at 5e-3, where cells reach 1e-7.
    """
    equations = [r for r in lowered.residuals if r.region.is_inside]
    forms = [form for r in equations if (form := reduction_of(r, X)) is not None and form.mu == 1j]
    if len(forms) == len(equations) and np.allclose(
        [(f.rate, *f.growth) for f in forms], (forms[0].rate, *forms[0].growth)
    ):
        return HoleFunctions(0, forms[0].rate, forms[0].growth)
    if X is not None:
        return None
    plain = all(steady(r, 2) is not None and _is_homogeneous(r) for r in equations)
    return HoleFunctions(1) if plain else None


def _is_homogeneous(r: Residual) -> bool:
    """Whether each unknown is differentiated by one order only."""
    orders: dict[int, set[int]] = {}
    for j in r.linear:
        orders.setdefault(j.unknown, set()).add(sum(j.alpha))
    return all(len(found) == 1 for found in orders.values()) and 0 not in set().union(*orders.values())
