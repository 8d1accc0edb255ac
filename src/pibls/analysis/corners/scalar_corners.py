r"""Corners of plane domains where solutions of scalar equations are singular, u ~ r^α, and their exponents.

At a corner of angle ω, the singular parts of Δu = f are r^α sin αθ, with α = kπ/ω for values or fluxes on
both sides, and α = (k - 1/2)π/ω for values on one and fluxes on the other; integer α give a logarithm. A
point on a side where the kind of condition changes is a corner with ω = π. For a u_xx + b u_xy + d u_yy = f
the same holds in the plane of z = x + μy, a + bμ + dμ² = 0.
"""

from __future__ import annotations

import cmath
import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from pibls.analysis.boundary_layers import HelmholtzReduction, constant_coefficients, helmholtz_reduction
from pibls.analysis.corners.boundary_segments import (
    BoundarySegment,
    SegmentEnd,
    has_charted_boundary,
    meeting_ends,
    opening_angle,
)
from pibls.analysis.singular_points import Strength
from pibls.analysis.thresholds import SCALAR_CORNERS, SEGMENTS
from pibls.arrays import Array, Complex
from pibls.basis.singular.corner_functions import Singular, Tip
from pibls.geometry import Boundary, Domain, box_of, faces_of
from pibls.geometry.faces.face import join_boundaries
from pibls.problem import PartialDerivative
from pibls.problem.forms.compilation import CompiledProblem, Residual

VALUES, FLUXES, BOTH = "values", "fluxes", "both"
"""Kind of condition on a side: u, ∂u/∂n, or a sum of the two, which has the powers of ∂u/∂n and more."""


@dataclass(frozen=True)
class Corner:
    """A corner of two sides: from the angle ``start`` the domain opens by ``angle``, counter-clockwise.

    Angles are those of z = x + μy.
    """

    point: tuple[float, float]
    start: float
    angle: float
    kinds: tuple[tuple[str | None, str | None], ...]
    """For each unknown the kind of condition on the first and on the second side."""
    satisfies_conditions: bool
    """Whether the corner functions satisfy the conditions of both sides exactly."""
    sides: Boundary = field(compare=False, repr=False)
    """Points of both sides that approach the corner."""
    mu: complex = 1j

    def points_at(self, z: Complex) -> Array:
        """Return the points (n, 2) at the complex offsets z from the corner."""
        y = z.imag / self.mu.imag
        return np.array(self.point) + np.stack([z.real - self.mu.real * y, y], axis=-1)

    @property
    def min_power(self) -> float:
        """Smallest non-integer power of any unknown; infinite if there is none."""
        powers = [self.first_power(k) for k in range(len(self.kinds))]
        return min((p for p in powers if p is not None), default=math.inf)

    @property
    def strength(self) -> Strength:
        """Weak at the corners of a rectangle, essential at re-entrant ones."""
        return Strength.of_power(self.min_power)

    @property
    def reason(self) -> str:
        return f"corner of {math.degrees(self.angle):.4g}°"

    @property
    def is_angular_or_mixed(self) -> bool:
        """Whether the sides form an angle, or the kind of condition changes."""
        return abs(self.angle - math.pi) > SEGMENTS.min_angle or any(a != b for a, b in self.kinds)

    def first_power(self, unknown: int) -> float | None:
        """Return the least non-integer power, or None if there is none below the highest."""
        powers = [p for p in self.powers(unknown) if not _is_integer(p)]
        return min(powers, default=None)

    def powers(self, unknown: int, most: float | None = None) -> list[float]:
        """Return α = kπ/ω or (k - 1/2)π/ω, up to ``most`` or the highest power used."""
        one, two = self.kinds[unknown]
        if one is None or two is None:
            return []
        step = math.pi / self.angle
        first = step if one == two else 0.5 * step
        highest = SCALAR_CORNERS.max_power if most is None else most
        return [first + k * step for k in range(int((highest - first) / step) + 1)]


def corners_of(compiled: CompiledProblem, domain: Domain) -> tuple[Corner, ...]:
    """Return all corners at which some unknown may be singular."""
    if not has_charted_boundary(compiled, domain):
        return ()
    operators = (leading_operator(compiled, k) for k in range(compiled.unknowns))
    roots = [None if leading is None else leading[1] for leading in operators]
    mu = next((root for root in roots if root is not None), None)
    if mu is None:
        return ()
    known: dict[int, tuple[str | None, ...]] = {}

    def kinds_on(segment: BoundarySegment) -> tuple[str | None, ...]:
        if id(segment) not in known:
            known[id(segment)] = _kinds(segment, roots, mu)
        return known[id(segment)]

    out = []
    for one, two in meeting_ends(compiled, domain):
        sides = tuple(zip(kinds_on(one.segment), kinds_on(two.segment), strict=True))
        corner = _corner(one, two, sides, mu)
        # Two conditions of one kind may have different data, or data with different derivatives.
        changes = corner.is_angular_or_mixed or one.segment.conditions != two.segment.conditions
        if changes and any(corner.powers(k) for k in range(compiled.unknowns)):
            out.append(corner)
    return tuple(out)


def strongest_corners(compiled: CompiledProblem, domain: Domain) -> tuple[Corner, ...]:
    """Return the strongest corners; a digitised outline has hundreds of nearly straight ones."""
    corners = corners_of(compiled, domain)
    if len(corners) > SCALAR_CORNERS.max_corners:
        corners = tuple(sorted(corners, key=lambda c: c.min_power)[: SCALAR_CORNERS.max_corners])
    return corners


def _corner(
    one: SegmentEnd, two: SegmentEnd, sides: tuple[tuple[str | None, str | None], ...], mu: complex
) -> Corner:
    """Return the corner between two ends, with the kinds of the conditions on both ``sides``."""
    start, stop = (cmath.phase(end.tangent[0] + mu * end.tangent[1]) for end in (one, two))
    plain = not any(BOTH in pair for pair in sides)
    return Corner(
        (float(one.point[0]), float(one.point[1])),
        start,
        opening_angle(start, stop),
        tuple((_leading(a), _leading(b)) for a, b in sides),
        one.segment.is_straight and two.segment.is_straight and plain,
        join_boundaries([one.approach_points, two.approach_points], 2),
        mu,
    )


def _kinds(segment: BoundarySegment, roots: Sequence[complex | None], mu: complex) -> tuple[str | None, ...]:
    """Return the kind of condition on each unknown; None if its equation does not have the root μ."""
    if segment.is_periodic:
        return (None,) * len(roots)
    return tuple(_kind(segment, k, mu) if root == mu else None for k, root in enumerate(roots))


def _kind(segment: BoundarySegment, unknown: int, mu: complex) -> str | None:
    """Return the kind of condition on an unknown on a boundary segment, or None if it is another one."""
    X, normal = segment.middle, segment.normal
    mine = [r for r in segment.conditions if any(j.unknown == unknown for j in (*r.linear, *r.nonlinear))]
    if len(mine) != 1:
        return None
    (r,) = mine
    nonlinear = [j for j in r.nonlinear if j.unknown == unknown]
    if any(any(j.alpha) for j in nonlinear):
        return None
    slopes, values = np.zeros(2), bool(nonlinear)
    for derivative, c in zip(r.linear, r.coefficients(X, normal)[:, 0], strict=True):
        if derivative.unknown != unknown:
            continue
        order = sum(derivative.alpha)
        if order > 1:
            return None
        if order == 1:
            slopes += c * np.array(derivative.alpha)
        else:
            values |= bool(c)
    if not slopes.any():
        return VALUES
    # The flux of the equation is the derivative normal to the side in the plane of z.
    n = np.array([[abs(mu) ** 2, -mu.real], [-mu.real, 1.0]]) @ normal[0]
    along = abs(slopes[0] * n[1] - slopes[1] * n[0])
    if along >= 1e-9 * float(np.abs(slopes).max() * np.abs(n).max()):
        return None
    return BOTH if values else FLUXES


def _leading(kind: str | None) -> str | None:
    """Return the leading part of a condition: near the corner ∂u/∂n dominates u."""
    return FLUXES if kind == BOTH else kind


def leading_operator(compiled: CompiledProblem, unknown: int) -> tuple[Residual, complex] | None:
    """Return the equation c(x) (a u_xx + b u_xy + d u_yy) + lower terms = 0 of an unknown, and μ; or None."""
    r = _second_order_equation(compiled, unknown)
    if r is None:
        return None
    X = np.random.default_rng(1).random((16, compiled.dimension))
    X = X - 0.5
    with np.errstate(all="ignore"):
        by = dict(zip(r.linear, r.coefficients(X), strict=True))
        zero = np.zeros(len(X))
        along, mixed, across = (
            by.get(PartialDerivative(unknown, alpha), zero) for alpha in ((2, 0), (1, 1), (0, 2))
        )
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


def _second_order_equation(compiled: CompiledProblem, unknown: int) -> Residual | None:
    """Return the equation with second derivatives of an unknown, if linear in them and without others."""
    found = []
    for r in compiled.equations:
        highest = [j for j in (*r.linear, *r.nonlinear) if sum(j.alpha) >= 2]
        if any(j.unknown == unknown for j in highest):
            if any(j.unknown != unknown or sum(j.alpha) > 2 for j in highest):
                return None
            if any(sum(j.alpha) >= 2 for j in r.nonlinear):
                return None
            found.append((r, {j.alpha for j in highest}))
    if len(found) != 1 or not found[0][1] >= {(2, 0), (0, 2)}:
        return None
    return found[0][0]


def singular_functions(
    corner: Corner, compiled: CompiledProblem, domain: Domain, *, full_operator: bool = True
) -> list[Singular]:
    """Return the singular functions of a corner, for all unknowns together.

    With ``full_operator`` they solve the full equation if its coefficients are constant, otherwise its
    principal part.
    """
    plain = _tip(corner, domain)
    terms: dict[Tip, dict[Term, None]] = {}
    for k in range(compiled.unknowns):
        leading = leading_operator(compiled, k)
        if leading is None or not corner.powers(k):
            continue
        form = helmholtz_reduction(leading[0]) if full_operator and plain.end is None else None
        if form is not None and not _is_moderate(form, plain.length):
            form = None
        tip = plain if form is None else replace(plain, rate=form.rate, growth=form.growth)
        found = _terms_of(corner, k, tip, leading[0], is_reduced=form is not None)
        terms.setdefault(tip, {}).update(dict.fromkeys(found))
    out = [Singular(tip, tuple(found)) for tip, found in terms.items()]
    if out and plain.end is not None:
        out.append(
            Singular(Tip(plain.end, 0.0, plain.length, mu=plain.mu), ((0.0, 0, 1, 0.0),))
        )  # log|z - b|
    return out


def _terms_of(corner: Corner, unknown: int, tip: Tip, equation: Residual, *, is_reduced: bool) -> list[Term]:
    """Return the singular terms of one unknown; ``is_reduced``: they solve its full equation."""
    values = corner.kinds[unknown] == (VALUES, VALUES)
    # The flux of e^{g·x} v is a combination of v and its flux.
    exact = corner.satisfies_conditions and tip.end is None and (values or not any(tip.growth))
    # Bessel functions of order below κR oscillate; higher ones behave like powers.
    waves = max(-tip.rate, 0.0) * tip.length
    found = _exact_terms(corner, unknown, waves) if exact else _curved_terms(corner, unknown, waves)
    if values:
        found.append((0.0, 0, 1, 0.5 * math.pi))  # θ, for different values on the two sides
    if tip.end is not None:
        # The branch cut ends in a hole: rational functions with their pole in it.
        found += [
            (float(p), 0, 0, delta)
            for p in range(1, SCALAR_CORNERS.pole_orders)
            for delta in (0.0, 0.5 * math.pi)
        ]
    if is_reduced or _is_plain(equation, unknown):
        return found
    is_reaction = exact and is_helmholtz(equation, unknown)
    return found + (_reaction_terms(corner, unknown) if is_reaction else _general_terms(corner, unknown))


def _is_moderate(form: HelmholtzReduction, length: float) -> bool:
    """Whether the growth over the domain is small enough for double precision."""
    steep = max(form.rate, 0.0) + math.hypot(*form.growth)
    return steep * length < SCALAR_CORNERS.max_growth_efolds


Term = tuple[float, int, int, float]


def _is_plain(r: Residual, unknown: int) -> bool:
    """Whether the equation is Δu = f without other terms."""
    return not r.nonlinear and all(sum(j.alpha) == 2 and j.unknown == unknown for j in r.linear)


def is_helmholtz(r: Residual, unknown: int) -> bool:
    """Whether the equation is Δu + c u = f with a constant c."""
    others = any(sum(j.alpha) == 1 or j.unknown != unknown for j in r.linear)
    return not others and constant_coefficients(r, 2) is not None


def _delta(corner: Corner, unknown: int, p: float) -> float:
    """Return the phase of sin α(θ' + ω/2), θ' from the bisector, or of the cosine for fluxes.

    sin α(θ' + ω/2) = Re(-i e^{iαω/2} e^{iαθ'}).
    """
    turn = 0.5 * math.pi if corner.kinds[unknown][0] == VALUES else 0.0
    return (turn - 0.5 * p * corner.angle) % (2.0 * math.pi)


def _exact_terms(corner: Corner, unknown: int, more: float) -> list[Term]:
    """Return Im or Re of w^α, or of w^α log w for integer α, with w = r e^{iθ} from the first side."""
    powers = corner.powers(unknown, SCALAR_CORNERS.max_power + more)
    return [(_rounded(p), 0, int(_is_integer(p)), _delta(corner, unknown, p)) for p in powers]


def _reaction_terms(corner: Corner, unknown: int) -> list[Term]:
    """Return the terms r^(α + 2j) sin αθ that c·u adds: the series of a Bessel function."""
    out = []
    for p in corner.powers(unknown, SCALAR_CORNERS.max_power_reaction):
        for j in range(1, int(0.5 * (SCALAR_CORNERS.max_power_reaction - p)) + 1):
            out.append((_rounded(p + j), j, int(_is_integer(p)), _delta(corner, unknown, p)))
    return out


def _product_powers(corner: Corner, unknown: int, most: float) -> list[float]:
    """Return α, their multiples, and these plus integers: all powers that products can have."""
    powers = corner.powers(unknown, most)
    if not powers:
        return []
    multiples = (*powers, *(powers[0] * j for j in range(1, int(most / powers[0]) + 1)))
    # Keyed by rounded values to remove duplicates.
    found = {round(p + m, 9): _rounded(p + m) for p in multiples for m in range(int(most)) if p + m <= most}
    least = min((p for p in powers if _is_integer(p)), default=math.inf)
    return sorted(p for p in found.values() if not _is_integer(p) or p >= least)


def _curved_terms(corner: Corner, unknown: int, more: float) -> list[Term]:
    """Return harmonic functions of both phases: on a curved side no single one satisfies the condition."""
    return [
        (p, 0, int(_is_integer(p)), delta)
        for p in _product_powers(corner, unknown, SCALAR_CORNERS.max_power_curved + more)
        for delta in (0.0, 0.5 * math.pi)
    ]


def _general_terms(corner: Corner, unknown: int) -> list[Term]:
    """Return ζᵖ ζ̄^q of both phases: for first derivatives, variable coefficients and nonlinear terms."""
    return [
        (p, q, int(_is_integer(p)), delta)
        for p in _product_powers(corner, unknown, SCALAR_CORNERS.max_power_general)
        for q in range(int(SCALAR_CORNERS.max_power_general - p) + 1)
        for delta in (0.0, 0.5 * math.pi)
    ]


def _tip(corner: Corner, domain: Domain) -> Tip:
    """Return the corner with its branch cut along the outer bisector, ended before it enters the domain."""
    box = box_of(domain)
    reach = float(np.linalg.norm(box[:, 1] - box[:, 0])) * max(abs(corner.mu), 1.0)
    middle = corner.start + 0.5 * corner.angle
    s = np.linspace(1e-4, 1.0, 2000) * reach
    ray = corner.points_at(-s * np.exp(1j * middle))
    inside = np.asarray(domain.contains(ray), dtype=bool)
    end = None
    if corner.angle < 2.0 * math.pi - 1e-3 and inside.any():
        b = corner.points_at(-0.5 * s[np.argmax(inside)] * np.exp(1j * np.array([middle])))[0]
        end = (float(b[0]), float(b[1]))
    # Scaled to |ζ| ≤ 1 on the domain, so that all powers have comparable size.
    X = np.concatenate([face.dense_points() for face in faces_of(domain)])

    def distance(Y: Array, c: tuple[float, float]) -> Any:
        return np.abs((Y[..., 0] - c[0]) + corner.mu * (Y[..., 1] - c[1]))

    away = distance(X, corner.point)
    if end is not None:
        away = away * distance(np.array(corner.point), end) / distance(X, end)
    return Tip(corner.point, middle, float(away.max()), end, corner.mu)


def _is_integer(p: float) -> bool:
    return abs(p - round(p)) < SCALAR_CORNERS.integer_tol


def _rounded(p: float) -> float:
    return float(round(p)) if _is_integer(p) else p
