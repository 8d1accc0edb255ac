r"""∂Ω = Γ₀ ∪ Γ₁ ∪ …: the holes of a plane domain, and the functions around each.

A solution outside of a hole is the sum of one that is smooth over all of the plane and one that decays away
from the hole; of Δu = 0 the second is log r and r⁻ⁿ e^{inθ}. Around a disc its centre will do. In a long hole
there are several centres, each with a circle about it in the hole, until the circles, a little larger, hold
the whole rim.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from pibls.arrays import Array, Mask
from pibls.basis import Annular
from pibls.diagnose.images import Image, Mirror, mirrored
from pibls.domain import Boundary, Domain, faces_of, lengths_of, time_of
from pibls.domain.face import Face, join
from pibls.problem.lowering import LoweredProblem, Residual

_SAME = 1e-7  # of the size of the domain: two ends that are that close meet
_REACH = 1.35  # of its circle, that a centre serves
_MOST_CENTRES = 12
_GRID = 40
_WEAK = 1e-3  # κ times the radius of a hole, below which κ is as good as zero
_PER_FUNCTION = 2.5  # points of the rim per function around it
_RINGS = 0.5 ** np.arange(5)  # distances from the rim, in units of the radius
_RNG = np.random.default_rng(0)


@dataclass(frozen=True)
class Hole:
    """A closed piece of the boundary with the domain around it."""

    faces: tuple[Face, ...]
    centres: tuple[tuple[float, float, float], ...]
    """x, y and the radius of the circle about them."""
    length: float

    def functions(self, orders: int, depth: int, rate: float) -> list[Annular]:
        """The functions around its centres."""
        return [Annular((a, b), r, orders, depth, rate) for a, b, r in self.centres]

    def rim(self, functions: int, shift: float = 0.0) -> Boundary:
        """Points of the rim, as many as that many functions need."""
        n = int(_PER_FUNCTION * functions) + 8
        parts = []
        for face in self.faces:
            size = face.measure(np.ones(2)) / self.length
            k = max(int(n * size), 4)
            s = (np.arange(k) + 0.5 + shift) / k
            if not face.is_closed:
                s = 0.5 - 0.5 * np.cos(np.pi * s)  # more towards its ends
            parts.append(face.at(np.clip(s, 0.0, 1.0)[:, None], _RNG))
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
    depth: int = 0
    rate: float = 0.0
    mirrors: tuple[Mirror, ...] = ()
    """The faces of the outer boundary …"""
    images: tuple[Image, ...] = ()
    """… and what is seen of the holes in them."""

    def __bool__(self) -> bool:
        return bool(self.holes)

    def functions(self, orders: int) -> tuple[Annular, ...]:
        """Those of all holes, with n ≤ ``orders``, and of their images."""
        own = (f for hole in self.holes for f in hole.functions(orders, self.depth, self.rate))
        seen = (Annular(i.centre, i.radius, i.orders(orders), self.depth, self.rate) for i in self.images)
        return (*own, *seen)

    def rim(self, orders: int, shift: float = 0.0) -> Boundary:
        """Points of all rims."""
        each = [
            hole.rim(sum(f.size for f in hole.functions(orders, self.depth, self.rate)), shift)
            for hole in self.holes
        ]
        return join([*each, *(m.points(self.images, orders) for m in self.mirrors)], 2)

    def inside(self, orders: int, domain: Domain, shift: float = 0.0) -> Array:
        """Points around all holes, where the functions do not solve the equation by themselves."""
        sizes = [sum(f.size for f in hole.functions(orders, self.depth, self.rate)) for hole in self.holes]
        each = [hole.around(2 * n, domain, shift) for hole, n in zip(self.holes, sizes, strict=True)]
        return np.concatenate([np.empty((0, 2)), *each])


def holes_of(lowered: LoweredProblem, domain: Domain) -> Around:
    """The holes of a plane domain; none where its boundary has no charts."""
    faces = faces_of(domain) if lowered.dimension == 2 and time_of(domain) is None else ()
    if len(faces) < 2 or not all(face.has_chart and face.dimension == 1 for face in faces):
        return Around()
    found: list[Hole] = []
    outer: list[Face] = []
    for loop in _loops(faces):
        dense = [face.at(np.linspace(0.0, 1.0, 129)[:, None], _RNG) for face in loop]
        # ∮ x·n ds is twice the area inside, with the sign of the normals.
        area = sum(_flux(part) for part in dense)
        if area >= 0.0:
            outer += loop
            continue
        rim = np.concatenate([part.points for part in dense])
        length = sum(face.measure(np.ones(2)) for face in loop)
        centres = _centres(rim)
        if centres:
            found.append(Hole(loop, centres, length))
    kind = _kind(lowered)
    if kind is None:
        return Around()
    depth, rate = kind
    if found and rate and abs(rate) * min(r for h in found for _, _, r in h.centres) < _WEAK:
        rate = 0.0
    if not found:
        return Around()
    mirrors = tuple(Mirror.of(face) for face in outer)
    circles = [c for hole in found for c in hole.centres]
    images = mirrored(circles, mirrors, domain, float(lengths_of(domain).min()))
    return Around(tuple(found), depth, rate, mirrors, images)


def _flux(part: Boundary) -> float:
    X, N = part.points, part.normals
    step = np.linalg.norm(np.diff(X, axis=0), axis=1)
    f = np.sum(X * N, axis=1)
    return float(np.sum(step * 0.5 * (f[1:] + f[:-1])))


def _loops(faces: tuple[Face, ...]) -> list[tuple[Face, ...]]:
    """Faces that follow each other around, each a closed line."""
    out: list[tuple[Face, ...]] = [(face,) for face in faces if face.is_closed]
    rest = [face for face in faces if not face.is_closed]
    ends = [face.at(np.array([[0.0], [1.0]]), _RNG).points for face in rest]
    size = float(np.max([np.ptp(f.dense(), axis=0) for f in faces]))
    left = set(range(len(rest)))
    while left:
        first = left.pop()
        chain, start, stop = [rest[first]], ends[first][0], ends[first][1]
        while np.linalg.norm(stop - start) > _SAME * size:
            found = [
                (i, k) for i in left for k in (0, 1) if np.linalg.norm(ends[i][k] - stop) <= _SAME * size
            ]
            if not found:
                break
            i, k = found[0]
            left.discard(i)
            chain.append(rest[i])
            stop = ends[i][1 - k]
        else:
            out.append(tuple(chain))
    return out


def _centres(rim: Array) -> tuple[tuple[float, float, float], ...]:
    """Places in a hole with circles in it that, a little larger, hold its whole rim."""
    low, high = rim.min(axis=0), rim.max(axis=0)
    U = (np.arange(_GRID) + 0.5) / _GRID
    grid = np.stack(np.meshgrid(*(low[i] + (high[i] - low[i]) * U for i in (0, 1))), axis=-1).reshape(-1, 2)
    middle = 0.5 * (low + high)
    X = np.concatenate([middle[None, :], rim.mean(axis=0)[None, :], grid])
    X = X[_within(rim, X)]
    if not len(X):
        return ()
    apart = np.linalg.norm(X[:, None, :] - rim[None, :, :], axis=2)
    radius = apart.min(axis=1)
    # The middle itself, where it is as good as any.
    radius_for_choice = radius * np.where(np.arange(len(X)) == 0, 1.02, 1.0)
    served: Mask = np.zeros(len(rim), dtype=np.bool_)
    out: list[tuple[float, float, float]] = []
    while not served.all() and len(out) < _MOST_CENTRES:
        if not out:
            best = int(np.argmax(radius_for_choice))
        else:
            serves = apart <= _REACH * radius[:, None]
            gain = np.count_nonzero(serves & ~served, axis=1) * radius
            best = int(np.argmax(gain))
            if not gain[best] > 0:
                break
        served |= apart[best] <= _REACH * radius[best]
        out.append((float(X[best, 0]), float(X[best, 1]), float(radius[best])))
    return tuple(out)


def _within(rim: Array, X: Array) -> Mask:
    """Which points a closed line of points goes around, by its winding number."""
    z = (rim[:, 0] + 1j * rim[:, 1])[None, :] - (X[:, 0] + 1j * X[:, 1])[:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        turn = np.angle(np.roll(z, -1, axis=1) / z).sum(axis=1)
    return np.asarray(np.abs(np.nan_to_num(turn)) > math.pi)


def _kind(lowered: LoweredProblem) -> tuple[int, float] | None:
    """(depth, rate): which functions the equations ask for around a hole.

    Δu = f asks for harmonic ones, Δu + c u = f for Bessel functions; what has nothing but highest
    derivatives (elasticity, Stokes flow, plates) for z̄ beside them. Of everything else there is no such list:
    with more powers of z̄ a variable coefficient ended at 5e-3, where cells reach 1e-7.
    """
    equations = [r for r in lowered.residuals if r.region.is_inside]
    if lowered.unknowns == 1 and len(equations) == 1:
        rate = _rate(equations[0])
        if rate is not None:
            return 0, rate
    if all(_rate(r) == 0.0 for r in equations):
        return 0, 0.0
    plain = all(not r.nonlinear and _constant(r) and _is_homogeneous(r) for r in equations)
    return (1, 0.0) if plain else None


def _constant(r: Residual) -> bool:
    return bool(np.all(np.ptp(_sampled(r), axis=1) <= 1e-12 * np.abs(_sampled(r)).max(axis=1)))


def _sampled(r: Residual) -> Array:
    X = np.random.default_rng(2).random((16, 2))
    with np.errstate(all="ignore"):
        return np.nan_to_num(r.coefficients(X, np.zeros_like(X), r.known_data(X)))


def _is_homogeneous(r: Residual) -> bool:
    """Whether each unknown is differentiated by one order only."""
    orders: dict[int, set[int]] = {}
    for j in r.linear:
        orders.setdefault(j.unknown, set()).add(sum(j.alpha))
    return all(len(found) == 1 for found in orders.values()) and 0 not in set().union(*orders.values())


def _rate(r: Residual) -> float | None:
    """κ of Δu - κ²u (above zero) or Δu + κ²u (below) with constant coefficients; else None."""
    if r.nonlinear or len({j.unknown for j in r.linear}) != 1 or not _constant(r):
        return None
    a = dict(zip((j.alpha for j in r.linear), _sampled(r)[:, 0].tolist(), strict=True))
    a = {alpha: c for alpha, c in a.items() if c}
    if set(a) - {(0, 0)} != {(2, 0), (0, 2)} or not math.isclose(a[2, 0], a[0, 2], rel_tol=1e-9):
        return None
    c = -a.get((0, 0), 0.0) / a[2, 0]
    return math.copysign(math.sqrt(abs(c)), c) if c else 0.0
