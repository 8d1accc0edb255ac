r"""u_i ~ r^(α + d_i) φ_i(θ): corners of systems, and of equations of higher order.

The equations and the conditions of both sides are frozen at the corner (`pencil`); what they allow there is
added to the basis as functions of all unknowns together. Elasticity, Stokes' and Navier and Stokes'
equations, plates, and equations that are coupled in their highest derivatives are all of this kind.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from pibls.analysis.corners.ends import End, has_corners, meetings, opened
from pibls.analysis.corners.pencil import CornerPower, Pencil, Sector, Tie
from pibls.analysis.corners.symbol import Row, Symbol, symbol_of
from pibls.analysis.thresholds import ENDS, SINGULAR, WEDGES
from pibls.arrays import Array
from pibls.basis.singular.polar import PolarBasis
from pibls.basis.singular.powers import PowersBasis
from pibls.caching import cached_property
from pibls.geometry import Boundary, Domain, box_of, faces_of
from pibls.geometry.faces.face import join
from pibls.problem import Jet
from pibls.problem.forms.lowering import LoweredProblem, Residual


@dataclass(frozen=True)
class Wedge:
    """Where sides meet: from ``start`` the domain opens by ``angle``, counter-clockwise."""

    point: tuple[float, float]
    start: float
    angle: float
    pencil: Pencil = field(compare=False, repr=False)
    sides: Boundary = field(compare=False, repr=False)
    straight: bool
    clash: bool
    """Whether the data of the two sides contradict each other there."""
    lower: tuple[bool, bool]
    """Whether the equations have more than their highest part, and whether that is nonlinear."""

    @cached_property
    def first(self) -> float:
        """The real part of the least power that is no whole number, beyond what is always smooth."""
        most = self.pencil.least + 1.3
        found = [a.real for a, _ in self.pencil.exponents(most) if abs(a - round(a.real)) > SINGULAR.whole]
        return min(found, default=math.inf) - self.pencil.least

    @property
    def strong(self) -> bool:
        """Whether nothing works well without its functions."""
        return self.clash or (self.angle > 0.5 * math.pi + ENDS.flat and self.first < 1.0 + SINGULAR.whole)


class CornerPlace(Protocol):
    """A corner: of the domain, or of what meets inside."""

    @property
    def point(self) -> tuple[float, float]: ...
    @property
    def pencil(self) -> Pencil: ...
    @property
    def clash(self) -> bool: ...
    @property
    def lower(self) -> tuple[bool, bool]: ...


def wedges_of(lowered: LoweredProblem, domain: Domain) -> tuple[Wedge, ...]:
    """All corners of a system whose highest derivatives are coupled, or of a higher order than two."""
    if not has_corners(lowered, domain):
        return ()
    box = box_of(domain)
    size = float(np.linalg.norm(box[:, 1] - box[:, 0]))
    found = []
    for one, two in meetings(lowered, domain):
        wedge = _wedge(one, two, lowered, domain, size)
        if wedge is not None:
            found.append(wedge)
    return tuple(found)


def _wedge(one: End, two: End, lowered: LoweredProblem, domain: Domain, size: float) -> Wedge | None:
    start = one.direction
    angle = opened(start, two.direction)
    same = _conditions(one) == _conditions(two)
    if one.stretch.paired or two.stretch.paired or (abs(angle - math.pi) < ENDS.flat and same):
        return None
    middle = start + 0.5 * angle
    X = one.point + ENDS.beside * size * np.array([math.cos(middle), math.sin(middle)])
    symbol = principal_part(lowered, X[None, :])
    if symbol is None or _meets_again(one.point, middle, angle, domain, size):
        return None
    ties: list[Tie] = []
    for end, at in ((one, start), (two, start + angle)):
        for r in end.stretch.holding:
            tie = tie_of(r, (end.point, end.normal), at, symbol, lambda j: (0, j.unknown))
            if tie is None:
                return None
            ties.append(tie)
    pencil = Pencil((Sector(start, start + angle, symbol),), tuple(ties))
    if not pencil.is_square:
        return None
    return Wedge(
        (float(one.point[0]), float(one.point[1])),
        start,
        angle,
        pencil,
        join([one.near, two.near], 2),
        one.stretch.straight and two.stretch.straight,
        _clash(one, two, pencil, size),
        lower_terms(lowered, symbol, np.random.default_rng(3).random((16, 2)) - 0.5),
    )


def _conditions(end: End) -> tuple[str, ...]:
    return tuple(r.name for r in end.stretch.holding)


def principal_part(lowered: LoweredProblem, X: Array) -> Symbol | None:
    """The symbol of the equations at a point (1, 2)."""
    equations = [r for r in lowered.residuals if r.region.is_inside]
    rows: list[Row] = []
    for r in equations:
        a = r.coefficients(X)[:, 0]
        if not np.isfinite(a).all():
            return None
        rows.append({(j.unknown, j.alpha): float(c) for j, c in zip(r.linear, a, strict=True)})
    symbol = symbol_of(rows, lowered.unknowns)
    if symbol is None:
        return None
    for r, order in zip(equations, symbol.orders, strict=True):
        if any(sum(j.alpha) - symbol.degrees[j.unknown] >= order for j in r.nonlinear):
            return None
    return symbol


def lower_terms(lowered: LoweredProblem, symbol: Symbol, X: Array) -> tuple[bool, bool]:
    """Whether there are lower terms, or coefficients that vary over points X, and nonlinear ones."""
    equations = [r for r in lowered.residuals if r.region.is_inside]
    more = nonlinear = False
    for r, order in zip(equations, symbol.orders, strict=True):
        nonlinear |= bool(r.nonlinear)
        a = r.coefficients(X)
        for j, c in zip(r.linear, a, strict=True):
            highest = sum(j.alpha) - symbol.degrees[j.unknown] == order
            more |= bool(np.any(c)) and not (highest and np.ptp(c) <= 1e-9 * np.abs(c).max())
    return more or nonlinear, nonlinear


def tie_of(
    r: Residual,
    at: tuple[Array, Array],
    angle: float,
    symbol: Symbol,
    place: Callable[[Jet], tuple[int, int] | None],
) -> Tie | None:
    """The highest part of a condition, ``at`` a point and its normal; None where it has none.

    ``place`` gives the sector and the unknown that it speaks of, or None where that is not beside the point.
    """
    a = r.coefficients(at[0][None, :], at[1][None, :])[:, 0]
    places = [place(j) for j in r.jets]
    if not np.isfinite(a).all() or None in places:
        return None
    orders = [sum(j.alpha) - symbol.degrees[p[1]] for j, p in zip(r.jets, places, strict=True) if p]
    count = len(r.linear)
    most = max((o for o, c in zip(orders, a, strict=False) if c), default=-1)
    if most < 0 or any(o >= most for o in orders[count:]):
        return None
    terms = zip(r.linear, places, orders, a, strict=False)
    return Tie(angle, tuple((*p, j.alpha, float(c)) for j, p, o, c in terms if p and c and o == most))


def _meets_again(point: Array, middle: float, angle: float, domain: Domain, size: float) -> bool:
    """Whether the ray behind a corner, on which its functions jump, enters the domain."""
    if angle > 2.0 * math.pi - 1e-3:
        return False
    s = np.linspace(1e-4, 1.0, 2000) * size
    ray = point - s[:, None] * np.array([math.cos(middle), math.sin(middle)])
    return bool(np.asarray(domain.contains(ray), dtype=bool).any())


def _clash(one: End, two: End, pencil: Pencil, size: float) -> bool:
    """Whether no polynomial of the least degree has the data of both sides."""
    k, step = pencil.least, ENDS.beside * size
    A, b, usual = [], [], []
    ties = iter(pencil.ties)
    for end in (one, two):
        for r, tie in zip(end.stretch.holding, ties, strict=False):
            order = max(sum(t[2]) - pencil.sectors[0].symbol.degrees[t[1]] for t in tie.terms)
            if order > k or r.nonlinear:
                continue
            steps = end.point + step * np.arange(1, 2 + k - order)[:, None] * end.along
            X = np.concatenate([steps, end.near.points])
            normals = np.concatenate([np.repeat(end.normal[None, :], len(steps), axis=0), end.near.normals])
            data = -r.rest(X, normals, r.known_data(X), np.empty((0, len(X))))
            if not np.isfinite(data).all():
                return False
            row = np.array(_on_polynomials(tie, pencil.sectors[0].symbol, k))
            weight = float(np.abs(row).max()) or 1.0
            b.append(float(np.diff(data[: len(steps)], n=k - order)[0]) / step ** (k - order) / weight)
            # As large as the data are along the whole side: what is small beside that is no jump.
            usual.append(float(np.abs(data).max()) / size ** (k - order) / weight)
            A.append(row / weight)
    if not A:
        return False
    matrix, target = np.array(A), np.array(b)
    rest = target - matrix @ np.linalg.lstsq(matrix, target, rcond=1e-10)[0]
    return bool(np.abs(rest).max() > WEDGES.jump * max(usual))


def _on_polynomials(tie: Tie, symbol: Symbol, k: int) -> list[float]:
    """What a tie is of x^i y^(k - i), for each unknown of the highest degree."""
    x, y = math.cos(tie.angle), math.sin(tie.angle)
    out = []
    for unknown, d in enumerate(symbol.degrees):
        degree = k + d
        for i in range(degree + 1):
            value = 0.0
            for _, j, beta, c in tie.terms:
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


def bases_of(
    point: tuple[float, float], pencil: Pencil, powers: Sequence[CornerPower], length: float
) -> dict[tuple[int, int], PowersBasis]:
    """The functions of a corner as a basis for each (sector, unknown)."""
    out = {}
    for number, sector in enumerate(pencil.sectors):
        frames = np.array(
            [
                [-np.angle(turn), length, mu.real, mu.imag]
                for turn, mu in zip(sector.turns, sector.symbol.roots, strict=True)
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
                        # ζ is taken in units of R, in which derivatives of the others are not.
                        entries.append((row, column, c / size * length ** sector.symbol.degrees[unknown]))
            weights = np.zeros((2, len(keys), len(powers)))
            for row, column, c in entries:
                weights[0, row, column] += c.real
                weights[1, row, column] += c.imag
            terms = np.array([[r, p.real, p.imag, q, log] for r, p, q, log in keys]).reshape(-1, 5)
            closed = sector.stop - sector.start > 2.0 * math.pi - ENDS.flat
            ends = np.array([] if closed else [sector.start, sector.stop])
            rays = np.column_stack([np.cos(ends), np.sin(ends)])
            out[number, unknown] = PowersBasis(np.array(point), frames, terms, weights, rays)
    return out


def richer(
    place: CornerPlace,
    sector: Sector,
    exponents: Sequence[tuple[complex, int]],
    domain: Domain,
    length: float,
) -> dict[int, PolarBasis]:
    """What lower derivatives, variable coefficients and products bring in a sector, unknown by unknown."""
    if not any(place.lower):
        return {}
    least, symbol = place.pencil.least, sector.symbol
    leading = [a.real for a, _ in exponents if not a.imag and abs(a - round(a.real)) > SINGULAR.whole]
    leading = [float(least)] * place.clash + [a for a in leading if a < least + WEDGES.leading]
    sums = [a + b - least for i, a in enumerate(leading) for b in leading[i:]] if place.lower[1] else []
    degrees: dict[float, float] = {}
    for a in (*leading, *sums):
        for n in range(1, WEDGES.rich + 1):
            if a + n <= least + WEDGES.rich:
                degrees.setdefault(round(a + n, 6), a + n)
    if not degrees:
        return {}
    X = np.concatenate([face.dense() for face in faces_of(domain)]) - np.array(place.point)
    X = X[np.linalg.norm(X, axis=1) > 1e-9 * length]
    seen = np.angle((X[:, 0] + 1j * X[:, 1]) * np.exp(-1j * sector.middle))
    half = max(0.5 * (sector.stop - sector.start), float(np.abs(seen).max()))
    count = WEDGES.angular + int(2.0 * half)
    out = {}
    for k, d in enumerate(symbol.degrees):
        terms = [
            (a + d, log, j)
            for a in degrees.values()
            for log in ((0, 1) if abs(a - round(a)) < SINGULAR.whole else (0,))
            for j in range(count)
        ]
        frame = np.array([sector.middle, length, half])
        out[k] = PolarBasis(np.array(place.point), frame, np.array(terms, float))
    return out


def reach_of(point: tuple[float, float], domain: Domain) -> float:
    """The distance of the farthest point of the boundary."""
    X = np.concatenate([face.dense() for face in faces_of(domain)])
    return float(np.linalg.norm(X - np.array(point), axis=1).max())
