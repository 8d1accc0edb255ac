r"""Corners of systems and of equations of higher order, with singular solutions u_i ~ r^(α + d_i) φ_i(θ).

The equations and the conditions of both sides are frozen at the corner (`pencil`); the resulting functions of
all unknowns are added to the basis. This covers elasticity, the Stokes and Navier-Stokes equations, plates,
and equations coupled in their highest derivatives.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from pibls.analysis.corners.boundary_segments import (
    SegmentEnd,
    has_charted_boundary,
    meeting_ends,
    opening_angle,
)
from pibls.analysis.corners.pencil import CornerPower, Pencil, PencilCondition, Sector
from pibls.analysis.corners.scalar_corners import leading_operator
from pibls.analysis.corners.symbol import Row, Symbol, symbol_of
from pibls.analysis.singular_points import SingularPoint, Strength
from pibls.analysis.thresholds import SCALAR_CORNERS, SEGMENTS, SYSTEM_CORNERS
from pibls.arrays import Array
from pibls.basis.singular.polar import PolarBasis
from pibls.basis.singular.powers import PowersBasis
from pibls.geometry import Boundary, Domain, box_of, faces_of
from pibls.geometry.faces.face import join_boundaries
from pibls.problem import PartialDerivative
from pibls.problem.forms.compilation import CompiledProblem, Residual
from pibls.runtime.caching import cached_property


@dataclass(frozen=True)
class SystemCorner:
    """A corner where two sides meet: from ``start`` the domain opens by ``angle``, counter-clockwise."""

    point: tuple[float, float]
    start: float
    angle: float
    pencil: Pencil = field(compare=False, repr=False)
    sides: Boundary = field(compare=False, repr=False)
    has_incompatible_data: bool
    """Whether the data of the two sides are incompatible at the corner."""
    lower_order: tuple[bool, bool]
    """Whether the equations have lower-order terms, and whether these are nonlinear."""

    @cached_property
    def min_exponent(self) -> float:
        """Real part of the least non-integer power, minus the least degree of the pencil."""
        most = self.pencil.min_degree + 1.3
        found = [
            a.real
            for a, _ in self.pencil.exponents(most)
            if abs(a - round(a.real)) > SCALAR_CORNERS.integer_tol
        ]
        return min(found, default=math.inf) - self.pencil.min_degree

    @property
    def is_strong(self) -> bool:
        """Whether the solution cannot be resolved well without the corner functions."""
        return self.has_incompatible_data or (
            self.angle > 0.5 * math.pi + SEGMENTS.min_angle
            and self.min_exponent < 1.0 + SCALAR_CORNERS.integer_tol
        )

    @property
    def strength(self) -> Strength:
        return Strength.ESSENTIAL if self.is_strong else Strength.WEAK

    @property
    def reason(self) -> str:
        return f"corner of {math.degrees(self.angle):.4g}° of a system"


class PencilPoint(SingularPoint, Protocol):
    """A singular point with an operator pencil: a corner of the domain, or a junction of interfaces."""

    @property
    def point(self) -> tuple[float, float]: ...
    @property
    def pencil(self) -> Pencil: ...
    @property
    def has_incompatible_data(self) -> bool: ...
    @property
    def lower_order(self) -> tuple[bool, bool]:
        """Whether terms of lower order add functions, and whether these terms are nonlinear."""

    @property
    def sides(self) -> Boundary | None:
        """Boundary points that approach the point."""


def relevant_system_corners(compiled: CompiledProblem, domain: Domain) -> tuple[SystemCorner, ...]:
    """Return the corners of a system; none if each unknown has a second-order equation of its own."""
    leads = [leading_operator(compiled, k) for k in range(compiled.unknowns)]
    if all(lead is not None for lead in leads) and len({lead[1] for lead in leads if lead}) == 1:
        return ()
    found = system_corners(compiled, domain)
    return found if len(found) <= SYSTEM_CORNERS.max_corners else ()


def system_corners(compiled: CompiledProblem, domain: Domain) -> tuple[SystemCorner, ...]:
    """Return all corners of a system coupled in its highest derivatives, or of an order higher than two."""
    if not has_charted_boundary(compiled, domain):
        return ()
    box = box_of(domain)
    size = float(np.linalg.norm(box[:, 1] - box[:, 0]))
    found = []
    for one, two in meeting_ends(compiled, domain):
        corner = _system_corner(one, two, compiled, domain, size)
        if corner is not None:
            found.append(corner)
    return tuple(found)


def _system_corner(
    one: SegmentEnd, two: SegmentEnd, compiled: CompiledProblem, domain: Domain, size: float
) -> SystemCorner | None:
    start = one.direction
    angle = opening_angle(start, two.direction)
    same = _conditions(one) == _conditions(two)
    if (
        one.segment.is_periodic
        or two.segment.is_periodic
        or (abs(angle - math.pi) < SEGMENTS.min_angle and same)
    ):
        return None
    middle = start + 0.5 * angle
    X = one.point + SEGMENTS.corner_offset * size * np.array([math.cos(middle), math.sin(middle)])
    symbol = principal_part(compiled, X[None, :])
    if symbol is None or _cut_enters_domain(one.point, middle, angle, domain, size):
        return None
    conditions: list[PencilCondition] = []
    for end, at in ((one, start), (two, start + angle)):
        for r in end.segment.conditions:
            condition = pencil_condition(r, (end.point, end.normal), at, symbol, lambda j: (0, j.unknown))
            if condition is None:
                return None
            conditions.append(condition)
    pencil = Pencil((Sector(start, start + angle, symbol),), tuple(conditions))
    if not pencil.is_square:
        return None
    return SystemCorner(
        (float(one.point[0]), float(one.point[1])),
        start,
        angle,
        pencil,
        join_boundaries([one.approach_points, two.approach_points], 2),
        _has_incompatible_data(one, two, pencil, size),
        lower_terms(compiled, symbol, np.random.default_rng(3).random((16, 2)) - 0.5),
    )


def _conditions(end: SegmentEnd) -> tuple[str, ...]:
    return tuple(r.name for r in end.segment.conditions)


def principal_part(compiled: CompiledProblem, X: Array) -> Symbol | None:
    """Return the symbol of the equations at a point (1, 2), or None."""
    equations = compiled.equations
    rows: list[Row] = []
    for r in equations:
        a = r.coefficients(X)[:, 0]
        if not np.isfinite(a).all():
            return None
        rows.append({(j.unknown, j.alpha): float(c) for j, c in zip(r.linear, a, strict=True)})
    symbol = symbol_of(rows, compiled.unknowns)
    if symbol is None:
        return None
    for r, order in zip(equations, symbol.orders, strict=True):
        if any(sum(j.alpha) - symbol.degrees[j.unknown] >= order for j in r.nonlinear):
            return None
    return symbol


def lower_terms(compiled: CompiledProblem, symbol: Symbol, X: Array) -> tuple[bool, bool]:
    """Return whether there are lower-order terms or coefficients that vary over X, and nonlinear terms."""
    equations = compiled.equations
    more = nonlinear = False
    for r, order in zip(equations, symbol.orders, strict=True):
        nonlinear |= bool(r.nonlinear)
        a = r.coefficients(X)
        for j, c in zip(r.linear, a, strict=True):
            highest = sum(j.alpha) - symbol.degrees[j.unknown] == order
            more |= bool(np.any(c)) and not (highest and np.ptp(c) <= 1e-9 * np.abs(c).max())
    return more or nonlinear, nonlinear


def pencil_condition(
    r: Residual,
    at: tuple[Array, Array],
    angle: float,
    symbol: Symbol,
    place: Callable[[PartialDerivative], tuple[int, int] | None],
) -> PencilCondition | None:
    """Return the principal part of a condition ``at`` a point and its normal; None if it has none.

    ``place`` maps a derivative to its sector and unknown, or to None if its subdomain is not at the point.
    """
    a = r.coefficients(at[0][None, :], at[1][None, :])[:, 0]
    places = [place(j) for j in r.derivatives]
    if not np.isfinite(a).all() or None in places:
        return None
    orders = [sum(j.alpha) - symbol.degrees[p[1]] for j, p in zip(r.derivatives, places, strict=True) if p]
    count = len(r.linear)
    most = max((o for o, c in zip(orders, a, strict=False) if c), default=-1)
    if most < 0 or any(o >= most for o in orders[count:]):
        return None
    terms = zip(r.linear, places, orders, a, strict=False)
    return PencilCondition(
        angle, tuple((*p, j.alpha, float(c)) for j, p, o, c in terms if p and c and o == most)
    )


def _cut_enters_domain(point: Array, middle: float, angle: float, domain: Domain, size: float) -> bool:
    """Whether the branch cut of the corner functions, the ray behind the corner, enters the domain."""
    if angle > 2.0 * math.pi - 1e-3:
        return False
    s = np.linspace(1e-4, 1.0, 2000) * size
    ray = point - s[:, None] * np.array([math.cos(middle), math.sin(middle)])
    return bool(np.asarray(domain.contains(ray), dtype=bool).any())


def _has_incompatible_data(one: SegmentEnd, two: SegmentEnd, pencil: Pencil, size: float) -> bool:
    """Whether no polynomial of the least degree satisfies the data of both sides."""
    k, step = pencil.min_degree, SEGMENTS.corner_offset * size
    A, b, usual = [], [], []
    conditions = iter(pencil.conditions)
    for end in (one, two):
        for r, condition in zip(end.segment.conditions, conditions, strict=False):
            order = max(sum(t[2]) - pencil.sectors[0].symbol.degrees[t[1]] for t in condition.terms)
            if order > k or r.nonlinear:
                continue
            steps = end.point + step * np.arange(1, 2 + k - order)[:, None] * end.tangent
            X = np.concatenate([steps, end.approach_points.points])
            normals = np.concatenate(
                [np.repeat(end.normal[None, :], len(steps), axis=0), end.approach_points.normals]
            )
            data = -r.rest(X, normals, r.data_function_values(X), np.empty((0, len(X))))
            if not np.isfinite(data).all():
                return False
            row = np.array(_on_polynomials(condition, pencil.sectors[0].symbol, k))
            weight = float(np.abs(row).max()) or 1.0
            b.append(float(np.diff(data[: len(steps)], n=k - order)[0]) / step ** (k - order) / weight)
            # Size of the data along the whole side: a difference small relative to it is not a jump.
            usual.append(float(np.abs(data).max()) / size ** (k - order) / weight)
            A.append(row / weight)
    if not A:
        return False
    matrix, target = np.array(A), np.array(b)
    rest = target - matrix @ np.linalg.lstsq(matrix, target, rcond=1e-10)[0]
    return bool(np.abs(rest).max() > SYSTEM_CORNERS.min_relative_jump * max(usual))


def _on_polynomials(condition: PencilCondition, symbol: Symbol, k: int) -> list[float]:
    """Return a condition applied to x^i y^(k - i), for each unknown."""
    x, y = math.cos(condition.angle), math.sin(condition.angle)
    out = []
    for unknown, d in enumerate(symbol.degrees):
        degree = k + d
        for i in range(degree + 1):
            value = 0.0
            for _, j, beta, c in condition.terms:
                if j == unknown and beta[0] <= i and beta[1] <= degree - i:
                    value += (
                        c
                        * math.perm(i, beta[0])
                        * math.perm(degree - i, beta[1])
                        * x ** (i - beta[0])
                        * y ** (degree - i - beta[1])
                    )
            out.append(value)
    return out


def corner_bases(
    point: tuple[float, float], pencil: Pencil, powers: Sequence[CornerPower], length: float
) -> dict[tuple[int, int], PowersBasis]:
    """Return the functions of a corner as a basis for each (sector, unknown)."""
    out = {}
    for number, sector in enumerate(pencil.sectors):
        frames = np.array(
            [
                [-np.angle(turn), length, mu.real, mu.imag]
                for turn, mu in zip(sector.rotations, sector.symbol.roots, strict=True)
            ]
        )
        for unknown in range(len(sector.symbol.degrees)):
            keys: dict[tuple[int, complex, int, int], int] = {}
            entries: list[tuple[int, int, complex]] = []
            for column, power in enumerate(powers):
                size = max(abs(t[-1]) for t in power.terms)
                for where, i, root, p, q, log, c in power.terms:
                    if where == number and i == unknown:
                        row = keys.setdefault((root, p, q, log), len(keys))
                        # ζ is scaled by R; unknowns of other degrees need the corresponding power of R.
                        entries.append((row, column, c / size * length ** sector.symbol.degrees[unknown]))
            weights = np.zeros((2, len(keys), len(powers)))
            for row, column, c in entries:
                weights[0, row, column] += c.real
                weights[1, row, column] += c.imag
            terms = np.array([[r, p.real, p.imag, q, log] for r, p, q, log in keys]).reshape(-1, 5)
            closed = sector.stop - sector.start > 2.0 * math.pi - SEGMENTS.min_angle
            ends = np.array([] if closed else [sector.start, sector.stop])
            rays = np.column_stack([np.cos(ends), np.sin(ends)])
            out[number, unknown] = PowersBasis(np.array(point), frames, terms, weights, rays)
    return out


def _lower_order_degrees(place: PencilPoint, exponents: Sequence[tuple[complex, int]]) -> list[float]:
    """Return the degrees that lower derivatives and products add to the leading, non-integer exponents."""
    least = place.pencil.min_degree
    leading = [
        a.real for a, _ in exponents if not a.imag and abs(a - round(a.real)) > SCALAR_CORNERS.integer_tol
    ]
    leading = [float(least)] * place.has_incompatible_data + [
        a for a in leading if a < least + SYSTEM_CORNERS.max_leading_degree
    ]
    sums = [a + b - least for i, a in enumerate(leading) for b in leading[i:]] if place.lower_order[1] else []
    out: dict[float, float] = {}
    for a in (*leading, *sums):
        for n in range(1, SYSTEM_CORNERS.lower_order_degrees + 1):
            if a + n <= least + SYSTEM_CORNERS.lower_order_degrees:
                out.setdefault(round(a + n, 6), a + n)
    return list(out.values())


def lower_order_bases(
    place: PencilPoint,
    sector: Sector,
    exponents: Sequence[tuple[complex, int]],
    domain: Domain,
    length: float,
) -> dict[int, PolarBasis]:
    """Return functions for lower derivatives, variable coefficients and products in a sector, per unknown."""
    degrees = _lower_order_degrees(place, exponents) if any(place.lower_order) else []
    if not degrees:
        return {}
    X = np.concatenate([face.dense_points() for face in faces_of(domain)]) - np.array(place.point)
    X = X[np.linalg.norm(X, axis=1) > 1e-9 * length]
    seen = np.angle((X[:, 0] + 1j * X[:, 1]) * np.exp(-1j * sector.middle))
    half = max(0.5 * (sector.stop - sector.start), float(np.abs(seen).max()))
    count = SYSTEM_CORNERS.angular_terms + int(2.0 * half)
    out = {}
    for k, d in enumerate(sector.symbol.degrees):
        terms = [
            (a + d, log, j)
            for a in degrees
            for log in ((0, 1) if abs(a - round(a)) < SCALAR_CORNERS.integer_tol else (0,))
            for j in range(count)
        ]
        frame = np.array([sector.middle, length, half])
        out[k] = PolarBasis(np.array(place.point), frame, np.array(terms, float))
    return out


def max_distance(point: tuple[float, float] | Array, domain: Domain) -> float:
    """Return the distance from a point to the farthest point of the boundary."""
    X = np.concatenate([face.dense_points() for face in faces_of(domain)])
    return float(np.linalg.norm(X - np.array(point), axis=1).max())
