r"""u(x, t) = Σ c_i(t) f_i(x) on any shape: the functions and points of an evolution in space.

The functions are polynomials up to a degree, what corners bring (r^α, `diagnose.corners.singular`), and what
decays away from holes (r⁻ⁿ, `diagnose.holes.holes`). On a shape they are nearly dependent: they are replaced
by combinations that are orthonormal there, first those of the lower degrees, then what the last degrees add,
so that the size of the latter says how well a function is resolved.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import linalg, sparse

from pibls.adaptive.evolution import Evolution, assigned
from pibls.adaptive.evolutions.frozen_time import at_rest, mask_of
from pibls.adaptive.singular.corner_functions import corner_functions
from pibls.adaptive.thresholds import ROOMS
from pibls.adaptive.validation.context import Bench
from pibls.analysis.holes.holes import holes_of
from pibls.arrays import Array, Mask, MultiIndex
from pibls.assembly.evolutions.lines import Lines, Site, group_of
from pibls.basis import Annular, Basis, JoinedBasis
from pibls.basis.polynomials.degrees import DegreeBasis, degrees_of
from pibls.basis.quasi import halton
from pibls.caching import cached_property
from pibls.deadline import go_on
from pibls.errors import ProblemError
from pibls.geometry import Boundary, Domain, box_of, faces_of, space_of, time_of
from pibls.geometry.integrals.gauss import Rule
from pibls.geometry.integrals.quadrature import rule_boundary, rule_inside
from pibls.linalg.panels import qr
from pibls.problem import Region
from pibls.problem.forms.lowering import Residual
from pibls.problem.regions.points import Points


@dataclass(frozen=True)
class Room:
    """Orthonormal functions on a shape, with the rows of an evolution and those that judge it."""

    degree: int
    basis: Basis
    turn: Any = field(repr=False)
    """From coefficients of the orthonormal functions to those of the basis, (N, n); sparse on a box."""
    plain: bool
    """Whether they are orthonormal to rounding."""
    low: int
    """How many of them the lower degrees make."""
    weights: Array = field(repr=False)
    """Of the points inside."""
    values: Array = field(repr=False)
    """The functions there, (points, n)."""
    points: Array = field(repr=False)
    lines: Lines = field(repr=False)
    wall_weights: Array = field(repr=False)
    checks: Lines = field(repr=False)
    seen: Array = field(repr=False)
    """The functions at the points that judge, (points, n)."""

    @property
    def functions(self) -> int:
        return int(self.turn.shape[1])

    @cached_property
    def _fit(self) -> Array:
        """(n, points). The functions, evaluated, are orthonormal but for rounding over `ROOMS.dependent`: a
        fit does not mind, while inner products would give that much of a function to the last degrees."""
        if self.plain:
            return self.values.T * self.weights
        go_on(__name__)
        roots = np.sqrt(self.weights)
        Q, R = qr(roots[:, None] * self.values)
        return np.asarray(linalg.solve_triangular(R, Q.T * roots, check_finite=False))

    def coefficients(self, values: Array) -> Array:
        """Values (…, points) ↦ coefficients (…, n): what is orthogonal to the functions is left out."""
        return np.asarray(values @ self._fit.T)

    def at(self, X: Array) -> Array:
        """The functions at points in space, (N, n)."""
        return np.asarray(self.basis.jets(X, [(0,) * X.shape[1]])[0] @ self.turn)


@dataclass(frozen=True)
class RoomPlaces:
    """Turns an evolution on a shape and a degree into functions and rows."""

    bench: Bench
    space: Domain
    equations: tuple[Residual, ...]
    conditions: tuple[Residual, ...]
    order: tuple[int, ...]
    """For each equation the unknown that it determines; none where some have no rate."""
    extra: tuple[tuple[Basis, Array], ...]
    """What corners bring, and the power of each function."""
    holes: tuple[tuple[float, float, float], ...]
    """Centres of holes, with radii."""

    @property
    def evolution(self) -> Evolution:
        found = self.bench.evolution
        assert found is not None
        return found

    @cached_property
    def box(self) -> Array:
        return box_of(self.space)

    @classmethod
    def of(cls, bench: Bench) -> RoomPlaces | None:
        """None where this is no evolution of that kind."""
        e, lowered = bench.evolution, bench.lowered
        if e is None or time_of(bench.domain) is None or e.axis != lowered.dimension - 1:
            return None
        if lowered.dimension not in ROOMS.spare:
            return None
        if any(axis != e.axis for axis, _ in lowered.interfaces.planes):
            return None
        inside, conditions = [], []
        for i, r in enumerate(lowered.residuals):
            if r.region.is_sum or r.region.period is not None or r.region.sites > 1:
                return None
            if r.region.is_inside:
                inside.append(r)
            elif i in e.beginning:
                if not e.is_given_by(r):
                    return None
            elif any(j.alpha[e.axis] > e.orders[j.unknown] for j in r.jets):
                return None
            else:
                conditions.append(r)
        order = _order(inside, e, lowered.unknowns) if all(e.orders) else ()
        space = space_of(bench.domain)
        if (
            order is None
            or len(inside) != lowered.unknowns
            or not all(_rests(r.region, space, e) for r in conditions)
        ):
            return None
        still = at_rest(lowered, e.beginning, e.start)
        flat = lowered.dimension == 3
        extra = corner_functions(still, space) if flat else ()
        holes = tuple(c for hole in holes_of(still, space).holes for c in hole.centres) if flat else ()
        return cls(bench, space, tuple(inside), tuple(conditions), order, extra, holes)

    def columns(self, degree: int) -> int:
        """How many functions of all unknowns there are."""
        d = len(self.box)
        more = sum(len(powers) for _, powers in self.extra)
        more += sum(Annular((a, b), r, *_around(degree)).size for a, b, r in self.holes)
        return (math.comb(degree + d, d) + more) * self.bench.lowered.unknowns

    def room(self, degree: int) -> Room:
        """The functions up to a degree, and the rows."""
        basis, powers = self._functions(degree)
        inside = self._inside(degree, basis.size)
        table = basis.jets(inside.points, [(0,) * len(self.box)])[0]
        last = powers > degree - 2
        # Legendre's polynomials are orthogonal on all of their box.
        plain = not self.extra and not self.holes and self._is_box(inside)
        turn, low = (
            _scaled(table, inside.weights, last) if plain else _orthonormal(table, inside.weights, last)
        )
        n = turn.shape[1]
        lowered, e = self.bench.lowered, self.evolution
        site = self._site(inside.points, basis, turn)
        groups = [group_of(r, (site,), np.zeros_like(site.points), e.axis) for r in self.equations]
        weights = []
        between = self._judging(basis, turn, n)
        judging = [group_of(r, (between,), np.zeros_like(between.points), e.axis) for r in self.equations]
        for r in self.conditions:
            go_on(__name__)
            rule = self._on(r.region, degree)
            for target, chosen in ((groups, rule), (judging, self._on(r.region, degree + 3))):
                lifted = np.column_stack([chosen.normals, np.zeros(len(chosen.normals))])
                target.append(group_of(r, (self._site(chosen.points, basis, turn),), lifted[None], e.axis))
            weights.append(rule.weights)
        extent = (1, lowered.unknowns, n)
        highest = max(e.orders)
        lines = Lines(*extent, tuple(groups), highest)
        checks = Lines(*extent, tuple(judging), highest)
        zero = (0,) * len(self.box)
        return Room(
            degree,
            basis,
            turn,
            plain,
            low,
            inside.weights,
            site.tables(zero)[0],
            inside.points,
            lines,
            np.concatenate([np.empty(0), *weights]),
            checks,
            between.tables(zero)[0],
        )

    def _functions(self, degree: int) -> tuple[Basis, Array]:
        """The functions, and the degree or power of each."""
        box = self.box
        d = len(box)
        parts: list[Basis] = [DegreeBasis(degree, box.mean(axis=1), 0.5 * (box[:, 1] - box[:, 0]))]
        powers = [degrees_of(degree, d).sum(axis=1).astype(float)]
        rng = np.random.default_rng(0)
        for basis, found in self.extra:
            parts.append(basis)
            powers.append(np.minimum(found, degree - 2.0))
        for a, b, r in self.holes:
            around = Annular((a, b), r, *_around(degree))
            parts.append(around.draw(box, rng))
            powers.append(_powers_around(around))
        return (parts[0] if len(parts) == 1 else JoinedBasis(tuple(parts))), np.concatenate(powers)

    def _inside(self, degree: int, functions: int) -> Rule:
        n = degree + ROOMS.spare[self.bench.lowered.dimension]
        while True:
            rule = rule_inside(self.space, n)
            if len(rule.weights) >= ROOMS.dense * functions:
                return rule
            n = int(1.2 * n) + 1

    def _is_box(self, inside: Rule) -> bool:
        volume = float(np.prod(self.box[:, 1] - self.box[:, 0]))
        return math.isclose(float(inside.weights.sum()), volume, rel_tol=1e-12)

    def _on(self, region: Region, degree: int) -> Rule:
        """Points and weights of a part of the boundary."""
        e = self.evolution
        spots = region.spots(self.bench.domain)
        if len(spots) and region.plane() is None and not region.is_boundary:
            return Rule.inside(spots[:1, :-1], np.ones(1))
        moment = 0.5 * (e.start + e.stop)

        def keep(found: Boundary) -> Mask:
            return mask_of(region, found, moment)

        try:
            return rule_boundary(self.space, degree + ROOMS.spare[self.bench.lowered.dimension], keep)
        except ProblemError:
            n = int(ROOMS.dense * 6 * degree ** (len(self.box) - 1))
            placed = region.place(self.bench.domain, Points(n, n, n), np.random.default_rng(degree))
            points, normals = placed.sites[0][:, :-1], placed.normals[:, :-1]
            return Rule(points, np.full(len(points), 1.0 / max(len(points), 1)), normals)

    def _judging(self, basis: Basis, turn: Any, n: int) -> Site:
        """Points between those where the equations are held."""
        U = halton(2 * n + 64, len(self.box), np.random.default_rng(n))
        X = self.box[:, 0] + (self.box[:, 1] - self.box[:, 0]) * U
        return self._site(X[np.asarray(self.space.contains(X), dtype=bool)], basis, turn)

    def _site(self, X: Array, basis: Basis, turn: Any) -> Site:
        lifted = np.column_stack([X, np.zeros(len(X))])
        return Site(None, lifted[None], _tables(X, basis, turn))


def _tables(X: Array, basis: Basis, turn: Any) -> Callable[[MultiIndex], Array]:
    known: dict[MultiIndex, Array] = {}

    def tables(alpha: MultiIndex) -> Array:
        if alpha not in known:
            go_on(__name__)
            known[alpha] = (basis.jets(X, [alpha])[0] @ turn)[None]
        return known[alpha]

    return tables


def _around(degree: int) -> tuple[int, int]:
    """Orders and depth of the functions around a hole."""
    return max(degree // 2, 3), min(max(degree // 6, 2), 4)


def _powers_around(spec: Annular) -> Array:
    """The order of each function around a hole, as its tables have them."""
    out: list[int] = []
    for q in range(spec.depth + 1):
        out += 2 * [n + q for n in range(1, spec.orders + 1)]
    for p in range(spec.depth + 1):
        for q in range(p + 1):
            out += [p + q] * (1 if p == q else 2)
    return 2.0 * np.array(out, dtype=float)


def _scaled(table: Array, weights: Array, last: Mask) -> tuple[Any, int]:
    """The same where the functions are orthogonal; by their degree, the last ones are last."""
    size = np.sqrt(weights @ table**2)
    return sparse.diags_array(1.0 / size).tocsr(), int(np.count_nonzero(~last))


def _orthonormal(table: Array, weights: Array, last: Mask) -> tuple[Array, int]:
    """T and how many come first: A T has orthonormal columns, those of the functions not ``last`` first."""
    A = table * np.sqrt(weights)[:, None]
    scale = np.linalg.norm(A, axis=0)
    scale = np.where(scale > 0, scale, 1.0)
    A = A / scale
    first, then = np.flatnonzero(~last), np.flatnonzero(last)
    Q, T, size = _independent(A[:, first], None)
    rest = A[:, then]
    along = np.zeros((Q.shape[1], len(then)))
    for _ in range(2):  # once more for what rounding left
        more = Q.T @ rest
        rest = rest - Q @ more
        along += more
    _, S, _ = _independent(rest, size)
    low = T.shape[1]
    out = np.zeros((len(last), low + S.shape[1]))
    out[first, :low] = T
    out[then, low:] = S
    out[first, low:] = -T @ (along @ S)
    return out / scale[:, None], low


def _independent(A: Array, size: float | None) -> tuple[Array, Array, float]:
    """Q = A T with orthonormal columns that span A, but for what is as good as dependent; the size of A."""
    go_on(__name__)
    Q, R = qr(A)
    go_on(__name__)
    P, R, order = linalg.qr(R, mode="economic", pivoting=True, check_finite=False)
    diagonal = np.abs(np.diag(R))
    size = float(diagonal[0]) if size is None else size
    rank = int(np.count_nonzero(diagonal > ROOMS.dependent * size))
    T = np.zeros((A.shape[1], rank))
    T[order[:rank]] = linalg.solve_triangular(R[:rank, :rank], np.eye(rank), check_finite=False)
    return np.asarray(Q @ P[:, :rank]), T, size


def _order(inside: list[Residual], e: Evolution, unknowns: int) -> tuple[int, ...] | None:
    """For each equation the unknown whose highest rate it has; None where that is not one each."""
    if len(inside) != unknowns:
        return None
    has = np.zeros((unknowns, unknowns))
    for i, r in enumerate(inside):
        for j in r.jets:
            if j.alpha[e.axis] == e.orders[j.unknown]:
                has[i, j.unknown] = 1.0
    chosen = assigned(has)
    return chosen if all(row[k] for row, k in zip(has, chosen, strict=True)) else None


def _rests(region: Region, space: Domain, e: Evolution) -> bool:
    """Whether a condition holds at the same places at every time."""
    if not region.is_boundary and region.plane() is None:
        return True
    rng = np.random.default_rng(0)
    for face in faces_of(space):
        found = face.at(rng.random((64, face.dimension)), rng)
        masks = [mask_of(region, found, t) for t in np.linspace(e.start, e.stop, 7)[1:-1]]
        if any(not np.array_equal(masks[0], m) for m in masks[1:]):
            return False
    return True
