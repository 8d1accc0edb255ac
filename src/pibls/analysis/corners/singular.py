r"""u ~ r^α: corners of a plane domain in which solutions are singular, and by which powers.

At a corner with the angle ω, Δu = f has the singular parts r^α sin αθ with α = kπ/ω where both sides have
values, or both fluxes, and α = (k - 1/2)π/ω where one has values and the other fluxes; α that are whole
numbers bring a logarithm. A place on a side where the kind of condition changes is a corner with ω = π. For
a u_xx + b u_xy + d u_yy = f all of this holds in the plane of z = x + μy, a + bμ + dμ² = 0.
"""

from __future__ import annotations

import cmath
import math
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from pibls.analysis.corners.ends import Stretch, has_corners, meetings, opened
from pibls.analysis.layers import Reduction, reduction_of, steady
from pibls.analysis.thresholds import ENDS, SINGULAR
from pibls.arrays import Array
from pibls.basis.singular.tips import Singular, Tip
from pibls.geometry import Boundary, Domain, box_of, faces_of
from pibls.geometry.faces.face import join
from pibls.problem import Jet
from pibls.problem.forms.lowering import LoweredProblem, Residual

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

    def powers(self, unknown: int, most: float | None = None) -> list[float]:
        """α = kπ/ω or (k - 1/2)π/ω, up to the highest that are used or to ``most``."""
        one, two = self.kinds[unknown]
        if one is None or two is None:
            return []
        step = math.pi / self.angle
        first = step if one == two else 0.5 * step
        highest = SINGULAR.highest if most is None else most
        return [first + k * step for k in range(int((highest - first) / step) + 1)]


def corners_of(lowered: LoweredProblem, domain: Domain) -> tuple[Corner, ...]:
    """All corners in which some unknown may be singular."""
    if not has_corners(lowered, domain):
        return ()
    leads = [lead_of(lowered, k) for k in range(lowered.unknowns)]
    roots = [lead[1] for lead in leads if lead is not None]
    if not roots:
        return ()
    mu = roots[0]
    able = [lead is not None and lead[1] == mu for lead in leads]
    known: dict[int, tuple[str | None, ...]] = {}

    def kinds_on(stretch: Stretch) -> tuple[str | None, ...]:
        if id(stretch) not in known:
            known[id(stretch)] = tuple(
                _kind(stretch, k, mu) if good and not stretch.paired else None for k, good in enumerate(able)
            )
        return known[id(stretch)]

    out = []
    for one, two in meetings(lowered, domain):
        start, stop = (cmath.phase(end.along[0] + mu * end.along[1]) for end in (one, two))
        angle = opened(start, stop)
        sides = tuple(zip(kinds_on(one.stretch), kinds_on(two.stretch), strict=True))
        kinds = tuple((_leading(a), _leading(b)) for a, b in sides)
        plain = not any(BOTH in pair for pair in sides)
        corner = Corner(
            (float(one.point[0]), float(one.point[1])),
            start,
            angle,
            kinds,
            one.stretch.straight and two.stretch.straight and plain,
            join([one.near, two.near], 2),
            mu,
        )
        # Two statements of one kind may differ in what they give, or in its slope.
        others = one.stretch.holding != two.stretch.holding
        changes = abs(angle - math.pi) > ENDS.flat or others or any(a != b for a, b in kinds)
        if changes and any(corner.powers(k) for k in range(lowered.unknowns)):
            out.append(corner)
    return tuple(out)


def _kind(stretch: Stretch, unknown: int, mu: complex) -> str | None:
    """What the conditions on a stretch of the boundary give of an unknown."""
    X, normal = stretch.middle, stretch.normal
    mine = [r for r in stretch.holding if any(j.unknown == unknown for j in (*r.linear, *r.nonlinear))]
    if len(mine) != 1:
        return None
    (r,) = mine
    if any(j.unknown == unknown and any(j.alpha) for j in r.nonlinear):
        return None
    a = r.coefficients(X, normal)[:, 0]
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


def lead_of(lowered: LoweredProblem, unknown: int) -> tuple[Residual, complex] | None:
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
        by = dict(zip(r.linear, r.coefficients(X), strict=True))
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


def functions_at(
    corner: Corner, lowered: LoweredProblem, domain: Domain, *, wholly: bool = True
) -> list[Singular]:
    """The singular functions of a corner, for all unknowns together.

    They solve all of an equation with constant coefficients, or, not ``wholly``, of any one like it.
    """
    plain = _tip(corner, domain)
    terms: dict[Tip, dict[Term, None]] = {}
    for k in range(lowered.unknowns):
        lead = lead_of(lowered, k)
        if lead is None or not corner.powers(k):
            continue
        equation = lead[0]
        form = reduction_of(equation) if wholly and plain.end is None else None
        if form is not None and not _is_moderate(form, plain.length):
            form = None
        tip = plain if form is None else replace(plain, rate=form.rate, growth=form.growth)
        values = corner.kinds[k] == (VALUES, VALUES)
        # A flux of e^{g·x} v is a sum of v and its flux.
        exact = corner.straight and tip.end is None and (values or not any(tip.growth))
        # Below κR all Bessel functions are waves; from there on they fall like powers.
        waves = max(-tip.rate, 0.0) * tip.length
        found = _exact_terms(corner, k, waves) if exact else _bent_terms(corner, k, waves)
        if values:
            found.append((0.0, 0, 1, 0.5 * math.pi))  # θ, where the values of the two sides differ
        if tip.end is not None:
            # Around a hole: rational functions with their pole in it.
            found += [
                (float(p), 0, 0, delta) for p in range(1, SINGULAR.poles) for delta in (0.0, 0.5 * math.pi)
            ]
        if form is None and not _is_plain(equation, k):
            found += _lower_terms(corner, k) if exact and is_even(equation, k) else _rich_terms(corner, k)
        terms.setdefault(tip, {}).update(dict.fromkeys(found))
    out = [Singular(tip, tuple(found)) for tip, found in terms.items()]
    if out and plain.end is not None:
        out.append(
            Singular(Tip(plain.end, 0.0, plain.length, mu=plain.mu), ((0.0, 0, 1, 0.0),))
        )  # log|z - b|
    return out


def _is_moderate(form: Reduction, length: float) -> bool:
    """Whether nothing grows so much over the domain that double precision knows of one end of it only."""
    steep = max(form.rate, 0.0) + math.hypot(*form.growth)
    return steep * length < SINGULAR.steepest


Term = tuple[float, int, int, float]


def _is_plain(r: Residual, unknown: int) -> bool:
    """Whether the equation is Δu = f, with nothing else in it."""
    return not r.nonlinear and all(sum(j.alpha) == 2 and j.unknown == unknown for j in r.linear)


def is_even(r: Residual, unknown: int) -> bool:
    """Whether it is Δu + c u = f with a constant c."""
    others = any(sum(j.alpha) == 1 or j.unknown != unknown for j in r.linear)
    return not others and steady(r, 2) is not None


def _delta(corner: Corner, unknown: int, p: float) -> float:
    """sin α(θ' + ω/2) = Re(-i e^{iαω/2} e^{iαθ'}), the angle θ' from the middle; a cosine after fluxes."""
    turn = 0.5 * math.pi if corner.kinds[unknown][0] == VALUES else 0.0
    return (turn - 0.5 * p * corner.angle) % (2.0 * math.pi)


def _exact_terms(corner: Corner, unknown: int, more: float) -> list[Term]:
    """Im or Re of w^α, or of w^α log w for whole α, with w = r e^{iθ} from the first side."""
    powers = corner.powers(unknown, SINGULAR.highest + more)
    return [(_rounded(p), 0, int(_is_whole(p)), _delta(corner, unknown, p)) for p in powers]


def _lower_terms(corner: Corner, unknown: int) -> list[Term]:
    """r^(α + 2j) sin αθ, what c·u brings: the parts of a Bessel function."""
    out = []
    for p in corner.powers(unknown, SINGULAR.highest_lower):
        for j in range(1, int(0.5 * (SINGULAR.highest_lower - p)) + 1):
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


def _bent_terms(corner: Corner, unknown: int, more: float) -> list[Term]:
    """Harmonic functions, of both phases: on a bent side none of them alone fits the condition."""
    return [
        (p, 0, int(_is_whole(p)), delta)
        for p in _seeds(corner, unknown, SINGULAR.highest_bent + more)
        for delta in (0.0, 0.5 * math.pi)
    ]


def _rich_terms(corner: Corner, unknown: int) -> list[Term]:
    """ζᵖ ζ̄^q of both phases: what first derivatives, variable coefficients and nonlinear terms bring."""
    return [
        (p, q, int(_is_whole(p)), delta)
        for p in _seeds(corner, unknown, SINGULAR.highest_rich)
        for q in range(int(SINGULAR.highest_rich - p) + 1)
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
    return abs(p - round(p)) < SINGULAR.whole


def _rounded(p: float) -> float:
    return float(round(p)) if _is_whole(p) else p
