r"""u ~ r^α: corners of a plane domain in which solutions are singular, and by which powers.

At a corner with the angle ω, Δu = f has the singular parts r^α sin αθ with α = kπ/ω where both sides have
values, or both fluxes, and α = (k - 1/2)π/ω where one has values and the other fluxes; α that are whole
numbers bring a logarithm. A place on a side where the kind of condition changes is a corner with ω = π. For
a u_xx + b u_xy + d u_yy = f all of this holds in the plane of z = x + μy, a + bμ + dμ² = 0.
"""

from __future__ import annotations

import cmath
import math
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
import sympy as sp
from sympy.core.relational import Relational

from pibls.arrays import Array
from pibls.basis.singular import Singular, Tip
from pibls.domain import Boundary, Domain, box_of, faces_of, time_of
from pibls.domain.face import Face, join, stretches
from pibls.problem import Jet
from pibls.problem.lowering import LoweredProblem, Residual
from pibls.problem.program import program

_SAME = 1e-7  # of the size of the domain: two ends that are that close meet
_WHOLE = 1e-6  # a power that is that close to a whole number is one
_HIGHEST = 48.0  # powers; errors fell like those of a power series: 1e-9 at 20, 1e-11 at 28, 1e-13 at 48
_HIGHEST_BENT = 20.0  # where sides are bent, or the cut ends, and twice as many functions are needed
_HIGHEST_LOWER = 16.0  # of what a term c·u of the equation brings along …
_POLES = 16
_HIGHEST_RICH = 6.0  # … and of what other terms do
_SLACK = 1e-7
_CLOSER, _LEVELS = 0.6, 28  # points on a side towards its end
_RNG = np.random.default_rng(0)

VALUES, FLUXES, BOTH = "values", "fluxes", "both"
"""What is given on a side: u, ∂u/∂n, or a sum of the two, which has the powers of ∂u/∂n and more."""


@dataclass(frozen=True)
class Corner:
    """Where two sides meet: from ``start`` (an angle) the domain opens by ``angle``, counter-clockwise.

    Angles are those of z = x + μy.
    """

    point: tuple[float, float]
    start: float
    angle: float
    kinds: tuple[tuple[str | None, str | None], ...]
    """For each unknown what is given on the first and on the second side."""
    straight: bool
    """Whether its functions satisfy the conditions of both sides exactly."""
    sides: Boundary = field(compare=False, repr=False)
    """Points of both sides, closer and closer to the corner."""
    mu: complex = 1j

    def at(self, z: Array) -> Array:
        """The points (n, 2) that lie by z, complex, from the corner."""
        y = z.imag / self.mu.imag
        return np.array(self.point) + np.stack([z.real - self.mu.real * y, y], axis=-1)

    def first_power(self, unknown: int) -> float | None:
        """The least power that is no whole number, or None where there is none below the highest."""
        powers = [p for p in self.powers(unknown) if not _is_whole(p)]
        return min(powers, default=None)

    def powers(self, unknown: int, most: float = _HIGHEST) -> list[float]:
        """α = kπ/ω or (k - 1/2)π/ω."""
        one, two = self.kinds[unknown]
        if one is None or two is None:
            return []
        step = math.pi / self.angle
        first = step if one == two else 0.5 * step
        return [first + k * step for k in range(int((most - first) / step) + 1)]


@dataclass(frozen=True)
class _End:
    """The end of a stretch of the boundary: where it is, which way it goes on from there, its normal."""

    point: Array
    along: Array
    normal: Array
    kinds: tuple[str | None, ...]
    straight: bool
    near: Boundary

    @property
    def is_first(self) -> bool:
        """Whether the domain lies to the left of it."""
        inward = -self.normal
        return bool(self.along[0] * inward[1] - self.along[1] * inward[0] > 0)


def corners_of(lowered: LoweredProblem, domain: Domain) -> tuple[Corner, ...]:
    """All corners in which some unknown may be singular."""
    faces = faces_of(domain) if lowered.dimension == 2 and time_of(domain) is None else ()
    if not faces or not all(face.has_chart and face.dimension == 1 for face in faces):
        return ()
    leads = [_lead(lowered, k) for k in range(lowered.unknowns)]
    roots = [lead[1] for lead in leads if lead is not None]
    if not roots:
        return ()
    mu = roots[0]
    able = [lead is not None and lead[1] == mu for lead in leads]
    box = box_of(domain)
    size = float(np.linalg.norm(box[:, 1] - box[:, 0]))
    ends = [end for face in faces for end in _ends(face, lowered, able, mu)]
    if len(ends) < 2:
        return ()
    points = np.array([end.point for end in ends])
    out, done = [], set()
    for i in range(len(ends)):
        here = np.flatnonzero(np.linalg.norm(points - points[i], axis=1) < _SAME * size).tolist()
        if len(here) != 2 or here[0] in done:
            continue
        done.add(here[0])
        one, two = sorted((ends[j] for j in here), key=lambda end: not end.is_first)
        if not one.is_first or two.is_first:
            continue
        start, stop = (cmath.phase(end.along[0] + mu * end.along[1]) for end in (one, two))
        angle = (stop - start) % (2.0 * math.pi) or 2.0 * math.pi
        sides = tuple(zip(one.kinds, two.kinds, strict=True))
        kinds = tuple((_leading(a), _leading(b)) for a, b in sides)
        plain = not any(BOTH in pair for pair in sides)
        corner = Corner(
            (float(one.point[0]), float(one.point[1])),
            start,
            angle,
            kinds,
            one.straight and two.straight and plain,
            join([one.near, two.near], 2),
            mu,
        )
        changes = abs(angle - math.pi) > 1e-6 or any(a != b for a, b in kinds)
        if changes and any(corner.powers(k) for k in range(lowered.unknowns)):
            out.append(corner)
    return tuple(out)


def _ends(face: Face, lowered: LoweredProblem, able: list[bool], mu: complex) -> list[_End]:
    """Both ends of every stretch of a face on which the same conditions hold."""
    boundary = [r for r in lowered.residuals if r.region.is_boundary]
    shares = np.linspace(0.0, 1.0, 65)
    cuts: list[float] = [0.0, 1.0]
    exact: list[float] = []
    for region in dict.fromkeys(r.region for r in boundary):
        if region.sites == 1:
            ends = [c for pair in stretches(face, shares, region.mask) for c in pair]
            for cut in (c % 1.0 if c > 1.0 else c for c in ends):
                place = _exactly(face, cut, region)
                (cuts if place is None else exact).append(cut if place is None else place)
    # What is left to others begins where a relation ends, but for its slack.
    known = [*exact, *(c for c in cuts if all(abs(c - e) > _SLACK for e in exact))]
    places = [c for i, c in enumerate(sorted(known)) if i == 0 or c - sorted(known)[i - 1] > 1e-9]
    out = []
    closed = face.is_closed
    if closed and len(places) == 2:
        return []
    if closed:
        inner = [c for c in places if 1e-9 < c < 1.0 - 1e-9]
        places = [*inner, inner[0] + 1.0]
    for a, b in pairwise(places):
        u = np.array([a, b, 0.5 * (a + b), a + 0.25 * (b - a), a + 0.75 * (b - a)])
        found = face.at(np.where(u > 1.0, u - 1.0, u)[:, None], _RNG)
        X, N = found.points, found.normals
        straight = bool(np.abs(N[2:] - N[0]).max() < 1e-9 and np.abs(N[1] - N[0]).max() < 1e-9)
        middle = found.select(np.array([False, False, True, False, False]))
        holding = [r for r in boundary if r.region.sites == 1 and r.region.mask(middle)[0]]
        pairs = any(r.region.sites == 2 and r.region.mask(middle)[0] for r in boundary)
        kinds = tuple(
            _kind(holding, k, X[2:3], N[2:3], mu) if good and not pairs else None
            for k, good in enumerate(able)
        )
        close = face.at(np.array([[a + 1e-4 * (b - a)], [b - 1e-4 * (b - a)]]) % (1.0 + 1e-15), _RNG).points
        for i in (0, 1):
            tangent = np.array([-N[i, 1], N[i, 0]])
            tangent *= 1.0 if tangent @ (close[i] - X[i]) > 0 else -1.0
            steps = 0.5 * (b - a) * _CLOSER ** np.arange(_LEVELS)
            u = a + steps if i == 0 else b - steps
            near = face.at(np.where(u > 1.0, u - 1.0, u)[:, None], _RNG)
            out.append(_End(X[i], tangent, N[i], kinds, straight, near))
    return out


def _exactly(face: Face, cut: float, region: Any) -> float | None:
    """Where the sides of a relation are equal: it holds only up to a slack beside that place."""
    relation = getattr(region, "relation", None)
    if relation is None or not _SLACK < cut < 1.0 - _SLACK:
        return None
    for atom in relation.expression.atoms(Relational):
        if isinstance(atom, (sp.Equality, sp.Unequality)):
            continue
        f = program(list(relation.coordinates), [atom.lhs - atom.rhs])
        a, b = cut - _SLACK, cut + _SLACK
        ends = [f(*face.at(np.array([[u]]), _RNG).points[0])[0] for u in (a, b)]
        if ends[0] * ends[1] > 0:
            continue
        for _ in range(60):
            c = 0.5 * (a + b)
            if f(*face.at(np.array([[c]]), _RNG).points[0])[0] * ends[0] > 0:
                a = c
            else:
                b = c
        return 0.5 * (a + b)
    return None


def _kind(holding: list[Residual], unknown: int, X: Array, normal: Array, mu: complex) -> str | None:
    """What the conditions at a point of the boundary give of an unknown."""
    mine = [r for r in holding if any(j.unknown == unknown for j in (*r.linear, *r.nonlinear))]
    if len(mine) != 1:
        return None
    (r,) = mine
    if any(j.unknown == unknown and any(j.alpha) for j in r.nonlinear):
        return None
    a = r.coefficients(X, normal, r.known_data(X))[:, 0]
    slopes, values = np.zeros(2), any(j.unknown == unknown for j in r.nonlinear)
    for jet, c in zip(r.linear, a, strict=True):
        values |= jet.unknown == unknown and not any(jet.alpha) and bool(c)
        if jet.unknown == unknown and sum(jet.alpha) == 1:
            slopes += c * np.array(jet.alpha)
        elif jet.unknown == unknown and sum(jet.alpha) > 1:
            return None
    if not slopes.any():
        return VALUES
    # The flux of the equation: what is normal to the side in the plane of z.
    n = np.array([[abs(mu) ** 2, -mu.real], [-mu.real, 1.0]]) @ normal[0]
    along = abs(slopes[0] * n[1] - slopes[1] * n[0])
    if along >= 1e-9 * float(np.abs(slopes).max() * np.abs(n).max()):
        return None
    return BOTH if values else FLUXES


def _leading(kind: str | None) -> str | None:
    """Near the corner, ∂u/∂n is larger than u."""
    return FLUXES if kind == BOTH else kind


def _lead(lowered: LoweredProblem, unknown: int) -> tuple[Residual, complex] | None:
    """c(x) (a u_xx + b u_xy + d u_yy) + lower derivatives and others without second ones = 0, and μ."""
    found = []
    for r in lowered.residuals:
        if not r.region.is_inside:
            continue
        highest = [j for j in (*r.linear, *r.nonlinear) if sum(j.alpha) >= 2]
        if any(j.unknown == unknown for j in highest):
            if any(j.unknown != unknown or sum(j.alpha) > 2 for j in highest):
                return None
            if any(sum(j.alpha) >= 2 for j in r.nonlinear):
                return None
            found.append((r, {j.alpha for j in highest}))
    if len(found) != 1 or not found[0][1] >= {(2, 0), (0, 2)}:
        return None
    r = found[0][0]
    X = np.random.default_rng(1).random((16, lowered.dimension))
    X = X - 0.5
    with np.errstate(all="ignore"):
        by = dict(zip(r.linear, r.coefficients(X, np.zeros_like(X), r.known_data(X)), strict=True))
        zero = np.zeros(len(X))
        along, mixed, across = (by.get(Jet(unknown, alpha), zero) for alpha in ((2, 0), (1, 1), (0, 2)))
        shares = np.stack([mixed / along, across / along])
    shares = shares[:, np.isfinite(shares).all(axis=0)]
    if not shares.size or np.any(np.abs(shares - shares[:, :1]) > 1e-9 * np.abs(shares).max()):
        return None
    b, d = shares[:, 0].tolist()
    if b * b >= 4.0 * d:
        return None  # not elliptic
    if abs(b) < 1e-9 and abs(d - 1.0) < 1e-9:
        return r, 1j
    return r, complex(-b, math.sqrt(4.0 * d - b * b)) / (2.0 * d)


def functions_at(corner: Corner, lowered: LoweredProblem, domain: Domain) -> list[Singular]:
    """The singular functions of a corner, for all unknowns together."""
    tip = _tip(corner, domain)
    terms: dict[tuple[float, int, int, float], None] = {}
    for k in range(lowered.unknowns):
        lead = _lead(lowered, k)
        if lead is None or not corner.powers(k):
            continue
        equation = lead[0]
        exact = corner.straight and tip.end is None
        found = _exact_terms(corner, k) if exact else _bent_terms(corner, k)
        if corner.kinds[k] == (VALUES, VALUES):
            found.append((0.0, 0, 1, 0.5 * math.pi))  # θ, where the values of the two sides differ
        if tip.end is not None:
            # Around a hole: rational functions with their pole in it.
            found += [(float(p), 0, 0, delta) for p in range(1, _POLES) for delta in (0.0, 0.5 * math.pi)]
        if not _is_plain(equation, k):
            found += _lower_terms(corner, k) if exact and _is_even(equation, k) else _rich_terms(corner, k)
        terms |= dict.fromkeys(found)
    if not terms:
        return []
    out = [Singular(tip, tuple(terms))]
    if tip.end is not None:
        out.append(Singular(Tip(tip.end, 0.0, tip.length, mu=tip.mu), ((0.0, 0, 1, 0.0),)))  # log|z - b|
    return out


Term = tuple[float, int, int, float]


def _is_plain(r: Residual, unknown: int) -> bool:
    """Whether the equation is Δu = f, with nothing else in it."""
    return not r.nonlinear and all(sum(j.alpha) == 2 and j.unknown == unknown for j in r.linear)


def _is_even(r: Residual, unknown: int) -> bool:
    """Whether it is Δu + c u = f with a constant c."""
    if r.nonlinear or any(sum(j.alpha) == 1 or j.unknown != unknown for j in r.linear):
        return False
    X = np.random.default_rng(2).random((16, 2))
    with np.errstate(all="ignore"):
        a = r.coefficients(X, np.zeros_like(X), r.known_data(X))
    return bool(np.all(np.abs(a - a[:, :1]) <= 1e-12 * np.abs(a[:, :1])))


def _delta(corner: Corner, unknown: int, p: float) -> float:
    """sin α(θ' + ω/2) = Re(-i e^{iαω/2} e^{iαθ'}), the angle θ' from the middle; a cosine after fluxes."""
    turn = 0.5 * math.pi if corner.kinds[unknown][0] == VALUES else 0.0
    return (turn - 0.5 * p * corner.angle) % (2.0 * math.pi)


def _exact_terms(corner: Corner, unknown: int) -> list[Term]:
    """Im or Re of w^α, or of w^α log w for whole α, with w = r e^{iθ} from the first side."""
    return [(_rounded(p), 0, int(_is_whole(p)), _delta(corner, unknown, p)) for p in corner.powers(unknown)]


def _lower_terms(corner: Corner, unknown: int) -> list[Term]:
    """r^(α + 2j) sin αθ, what c·u brings: the parts of a Bessel function."""
    out = []
    for p in corner.powers(unknown, _HIGHEST_LOWER):
        for j in range(1, int(0.5 * (_HIGHEST_LOWER - p)) + 1):
            out.append((_rounded(p + j), j, int(_is_whole(p)), _delta(corner, unknown, p)))
    return out


def _seeds(corner: Corner, unknown: int, most: float) -> list[float]:
    """α, their multiples, and whole numbers more: all powers that can come of products."""
    powers = corner.powers(unknown, most)
    if not powers:
        return []
    multiples = (*powers, *(powers[0] * j for j in range(1, int(most / powers[0]) + 1)))
    # By their rounded values, so that none is there twice.
    found = {round(p + m, 9): _rounded(p + m) for p in multiples for m in range(int(most)) if p + m <= most}
    least = min((p for p in powers if _is_whole(p)), default=math.inf)
    return sorted(p for p in found.values() if not _is_whole(p) or p >= least)


def _bent_terms(corner: Corner, unknown: int) -> list[Term]:
    """Harmonic functions, of both phases: on a bent side none of them alone fits the condition."""
    return [
        (p, 0, int(_is_whole(p)), delta)
        for p in _seeds(corner, unknown, _HIGHEST_BENT)
        for delta in (0.0, 0.5 * math.pi)
    ]


def _rich_terms(corner: Corner, unknown: int) -> list[Term]:
    """ζᵖ ζ̄^q of both phases: what first derivatives, variable coefficients and nonlinear terms bring."""
    return [
        (p, q, int(_is_whole(p)), delta)
        for p in _seeds(corner, unknown, _HIGHEST_RICH)
        for q in range(int(_HIGHEST_RICH - p) + 1)
        for delta in (0.0, 0.5 * math.pi)
    ]


def _tip(corner: Corner, domain: Domain) -> Tip:
    """The corner with its cut: along the middle of what is outside, and not into the domain again."""
    box = box_of(domain)
    reach = float(np.linalg.norm(box[:, 1] - box[:, 0])) * max(abs(corner.mu), 1.0)
    middle = corner.start + 0.5 * corner.angle
    s = np.linspace(1e-4, 1.0, 2000) * reach
    ray = corner.at(-s * np.exp(1j * middle))
    inside = np.asarray(domain.contains(ray), dtype=bool)
    end = None
    if corner.angle < 2.0 * math.pi - 1e-3 and inside.any():
        b = corner.at(-0.5 * s[np.argmax(inside)] * np.exp(1j * np.array([middle])))[0]
        end = (float(b[0]), float(b[1]))
    # |ζ| ≤ 1 all over the domain, so that no power is larger than another.
    X = np.concatenate([face.dense() for face in faces_of(domain)])

    def distance(Y: Array, c: tuple[float, float]) -> Any:
        return np.abs((Y[..., 0] - c[0]) + corner.mu * (Y[..., 1] - c[1]))

    away = distance(X, corner.point)
    if end is not None:
        away = away * distance(np.array(corner.point), end) / distance(X, end)
    return Tip(corner.point, middle, float(away.max()), end, corner.mu)


def _is_whole(p: float) -> bool:
    return abs(p - round(p)) < _WHOLE


def _rounded(p: float) -> float:
    return float(round(p)) if _is_whole(p) else p
