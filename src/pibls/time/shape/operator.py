r"""Galerkin spaces u(x, t) = Σ c_i(t) f_i(x) on a domain of any shape, with the equations of an evolution.

The functions are polynomials up to a degree, corner singularities r^α (`analysis.corners`) and functions r⁻ⁿ
that decay away from holes (`analysis.holes`). Restricted to the domain they are nearly dependent, so they are
replaced by orthonormal combinations: first those of the lower degrees, then those that the highest degrees
add. The coefficients of the latter measure how well a function is resolved.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import linalg, sparse

from pibls.analysis.evolution import Evolution, max_assignment
from pibls.analysis.holes.enrichment import holes_of
from pibls.arrays import Array, Mask, MultiIndex
from pibls.assembly.evolutions.semidiscrete import SemidiscreteSystem, Site, semidiscrete_statement
from pibls.basis import Annular, Basis, JoinedBasis
from pibls.basis.cube_points import halton
from pibls.basis.polynomials.total_degree import TotalDegreeBasis, total_degree_indices
from pibls.errors import ProblemError
from pibls.geometry import Boundary, Domain, box_of, faces_of, space_of, time_of
from pibls.geometry.integrals.gauss import QuadratureRule
from pibls.geometry.integrals.quadrature import boundary_rule, interior_rule
from pibls.linalg.panels import qr
from pibls.problem import Region
from pibls.problem.forms.compilation import CompiledProblem, Residual
from pibls.problem.regions.points import Points
from pibls.runtime.caching import cached_property
from pibls.runtime.deadline import check_deadline
from pibls.time.context import EvolutionContext
from pibls.time.shape.corner_functions import corner_functions
from pibls.time.shape.frozen_time import frozen_problem, mask_at_time
from pibls.time.thresholds import GALERKIN


@dataclass(frozen=True)
class GalerkinSpace:
    """Orthonormal functions on a domain, with the equations at quadrature points and at check points."""

    degree: int
    basis: Basis
    transform: Any = field(repr=False)
    """Matrix (N, n) from coefficients of the orthonormal functions to those of the basis; sparse on a box."""
    is_orthonormal: bool
    """Whether the functions are orthonormal up to rounding, as Legendre polynomials on a box."""
    low_degree_count: int
    """Number of functions spanned by the lower degrees; the rest belongs to the highest two."""
    weights: Array = field(repr=False)
    """Quadrature weights of the interior points."""
    values: Array = field(repr=False)
    """The functions at the interior points, (points, n)."""
    points: Array = field(repr=False)
    system: SemidiscreteSystem = field(repr=False)
    boundary_weights: Array = field(repr=False)
    check_system: SemidiscreteSystem = field(repr=False)
    check_values: Array = field(repr=False)
    """The functions at the check points, (points, n)."""

    @property
    def functions(self) -> int:
        return int(self.transform.shape[1])

    @cached_property
    def _fit(self) -> Array:
        """Projection of values at the points, (n, points).

        The evaluated functions are orthonormal only up to rounding over `GALERKIN.dependence_tolerance`. A
        least-squares fit tolerates this; inner products would assign that share to the highest degrees.
        """
        if self.is_orthonormal:
            return self.values.T * self.weights
        check_deadline(__name__)
        roots = np.sqrt(self.weights)
        Q, R = qr(roots[:, None] * self.values)
        return np.asarray(linalg.solve_triangular(R, Q.T * roots, check_finite=False))

    def coefficients(self, values: Array) -> Array:
        """Return the coefficients (…, n) of the projection of values (…, points)."""
        return np.asarray(values @ self._fit.T)

    def at(self, X: Array) -> Array:
        """Return the functions at points X (N, d) in space, (N, n)."""
        return np.asarray(self.basis.jets(X, [(0,) * X.shape[1]])[0] @ self.transform)


@dataclass(frozen=True)
class GalerkinOperator:
    """Builds the Galerkin space of a given degree for an evolution."""

    context: EvolutionContext
    spatial_domain: Domain
    equations: tuple[Residual, ...]
    conditions: tuple[Residual, ...]
    matched_unknowns: tuple[int, ...]
    """For each equation the unknown it determines; empty if some unknown has no time derivative."""
    corner_parts: tuple[tuple[Basis, Array], ...]
    """Bases of corner singularities, and the power of each function."""
    holes: tuple[tuple[float, float, float], ...]
    """Centre and radius (x, y, r) of each hole."""

    @property
    def evolution(self) -> Evolution:
        found = self.context.evolution
        assert found is not None
        return found

    @cached_property
    def box(self) -> Array:
        return box_of(self.spatial_domain)

    @classmethod
    def of(cls, context: EvolutionContext) -> GalerkinOperator | None:
        """Return the operator of a problem; None if this method cannot discretize it."""
        e, compiled = context.evolution, context.compiled
        if e is None or time_of(context.domain) is None or e.axis != compiled.dimension - 1:
            return None
        if compiled.dimension not in GALERKIN.extra_quadrature_nodes:
            return None
        conditions = _boundary_conditions(compiled, e)
        inside = [r for r in compiled.residuals if r.region.is_interior]
        if conditions is None or len(inside) != compiled.unknowns:
            return None
        matched_unknowns = _match_unknowns(inside, e, compiled.unknowns) if all(e.orders) else ()
        spatial_domain = space_of(context.domain)
        if matched_unknowns is None or not all(
            _is_time_independent(r.region, spatial_domain, e) for r in conditions
        ):
            return None
        corner_parts, holes = _singular_parts(compiled, e, spatial_domain)
        return cls(
            context, spatial_domain, tuple(inside), tuple(conditions), matched_unknowns, corner_parts, holes
        )

    def columns(self, degree: int) -> int:
        """Return the number of functions of all unknowns at a degree."""
        d = len(self.box)
        more = sum(len(powers) for _, powers in self.corner_parts)
        more += sum(Annular((a, b), r, *_hole_orders(degree)).size for a, b, r in self.holes)
        return (math.comb(degree + d, d) + more) * self.context.compiled.unknowns

    def space(self, degree: int) -> GalerkinSpace:
        """Return the Galerkin space of a degree."""
        basis, powers = self._functions(degree)
        inside = self._interior_rule(degree, basis.size)
        table = basis.jets(inside.points, [(0,) * len(self.box)])[0]
        last = powers > degree - 2
        # Legendre polynomials are orthogonal on the whole box.
        is_orthonormal = not self.corner_parts and not self.holes and self._is_box(inside)
        transform, low_degree_count = (
            _normalized(table, inside.weights, last)
            if is_orthonormal
            else _orthonormal(table, inside.weights, last)
        )
        n = transform.shape[1]
        compiled, e = self.context.compiled, self.evolution
        site = self._site(inside.points, basis, transform)
        groups = [
            semidiscrete_statement(r, (site,), np.zeros_like(site.points), e.axis) for r in self.equations
        ]
        weights = []
        check_site = self._check_site(basis, transform, n)
        check_groups = [
            semidiscrete_statement(r, (check_site,), np.zeros_like(check_site.points), e.axis)
            for r in self.equations
        ]
        for r in self.conditions:
            check_deadline(__name__)
            rule = self._boundary_rule(r.region, degree)
            for target, chosen in ((groups, rule), (check_groups, self._boundary_rule(r.region, degree + 3))):
                lifted = np.column_stack([chosen.normals, np.zeros(len(chosen.normals))])
                target.append(
                    semidiscrete_statement(
                        r, (self._site(chosen.points, basis, transform),), lifted[None], e.axis
                    )
                )
            weights.append(rule.weights)
        extent = (1, compiled.unknowns, n)
        highest = max(e.orders)
        system = SemidiscreteSystem(*extent, tuple(groups), highest)
        check_system = SemidiscreteSystem(*extent, tuple(check_groups), highest)
        zero = (0,) * len(self.box)
        return GalerkinSpace(
            degree,
            basis,
            transform,
            is_orthonormal,
            low_degree_count,
            inside.weights,
            site.tables(zero)[0],
            inside.points,
            system,
            np.concatenate([np.empty(0), *weights]),
            check_system,
            check_site.tables(zero)[0],
        )

    def _functions(self, degree: int) -> tuple[Basis, Array]:
        """Return the basis, and the degree or power of each function."""
        box = self.box
        d = len(box)
        parts: list[Basis] = [TotalDegreeBasis(degree, box.mean(axis=1), 0.5 * (box[:, 1] - box[:, 0]))]
        powers = [total_degree_indices(degree, d).sum(axis=1).astype(float)]
        rng = np.random.default_rng(0)
        for basis, found in self.corner_parts:
            parts.append(basis)
            powers.append(np.minimum(found, degree - 2.0))
        for a, b, r in self.holes:
            around = Annular((a, b), r, *_hole_orders(degree))
            parts.append(around.draw(box, rng))
            powers.append(_hole_degrees(around))
        return (parts[0] if len(parts) == 1 else JoinedBasis(tuple(parts))), np.concatenate(powers)

    def _interior_rule(self, degree: int, functions: int) -> QuadratureRule:
        n = degree + GALERKIN.extra_quadrature_nodes[self.context.compiled.dimension]
        while True:
            rule = interior_rule(self.spatial_domain, n)
            if len(rule.weights) >= GALERKIN.min_points_per_function * functions:
                return rule
            n = int(1.2 * n) + 1

    def _is_box(self, inside: QuadratureRule) -> bool:
        volume = float(np.prod(self.box[:, 1] - self.box[:, 0]))
        return math.isclose(float(inside.weights.sum()), volume, rel_tol=1e-12)

    def _boundary_rule(self, region: Region, degree: int) -> QuadratureRule:
        """Return a quadrature rule on a part of the boundary."""
        e = self.evolution
        spots = region.isolated_points(self.context.domain)
        if len(spots) and region.plane() is None and not region.is_boundary:
            return QuadratureRule.interior(spots[:1, :-1], np.ones(1))
        mid_time = 0.5 * (e.start + e.stop)

        def keep(found: Boundary) -> Mask:
            return mask_at_time(region, found, mid_time)

        try:
            return boundary_rule(
                self.spatial_domain,
                degree + GALERKIN.extra_quadrature_nodes[self.context.compiled.dimension],
                keep,
            )
        except ProblemError:
            n = int(GALERKIN.min_points_per_function * 6 * degree ** (len(self.box) - 1))
            placed = region.sample(self.context.domain, Points(n, n, n), np.random.default_rng(degree))
            points, normals = placed.sites[0][:, :-1], placed.normals[:, :-1]
            return QuadratureRule(points, np.full(len(points), 1.0 / max(len(points), 1)), normals)

    def _check_site(self, basis: Basis, transform: Any, n: int) -> Site:
        """Return check points, distinct from the quadrature points."""
        U = halton(2 * n + 64, len(self.box), np.random.default_rng(n))
        X = self.box[:, 0] + (self.box[:, 1] - self.box[:, 0]) * U
        return self._site(X[np.asarray(self.spatial_domain.contains(X), dtype=bool)], basis, transform)

    def _site(self, X: Array, basis: Basis, transform: Any) -> Site:
        lifted = np.column_stack([X, np.zeros(len(X))])
        return Site(None, lifted[None], _tables(X, basis, transform))


def _tables(X: Array, basis: Basis, transform: Any) -> Callable[[MultiIndex], Array]:
    known: dict[MultiIndex, Array] = {}

    def tables(alpha: MultiIndex) -> Array:
        if alpha not in known:
            check_deadline(__name__)
            known[alpha] = (basis.jets(X, [alpha])[0] @ transform)[None]
        return known[alpha]

    return tables


def _hole_orders(degree: int) -> tuple[int, int]:
    """Return the orders and the depth of the functions around a hole."""
    return max(degree // 2, 3), min(max(degree // 6, 2), 4)


def _hole_degrees(spec: Annular) -> Array:
    """Return the degree of each function around a hole, in the order of the basis."""
    out: list[int] = []
    for q in range(spec.depth + 1):
        out += 2 * [n + q for n in range(1, spec.orders + 1)]
    for p in range(spec.depth + 1):
        for q in range(p + 1):
            out += [p + q] * (1 if p == q else 2)
    return 2.0 * np.array(out, dtype=float)


def _normalized(table: Array, weights: Array, last: Mask) -> tuple[Any, int]:
    """Return what `_orthonormal` does for functions that are orthogonal and ordered by degree."""
    size = np.sqrt(weights @ table**2)
    return sparse.diags_array(1.0 / size).tocsr(), int(np.count_nonzero(~last))


def _orthonormal(table: Array, weights: Array, last: Mask) -> tuple[Array, int]:
    """Return T with orthonormal table @ T, and how many columns span the functions not in ``last``."""
    A = table * np.sqrt(weights)[:, None]
    scale = np.linalg.norm(A, axis=0)
    scale = np.where(scale > 0, scale, 1.0)
    A = A / scale
    first, then = np.flatnonzero(~last), np.flatnonzero(last)
    Q, T, size = _orthonormal_columns(A[:, first], None)
    rest = A[:, then]
    along = np.zeros((Q.shape[1], len(then)))
    for _ in range(2):  # the second pass removes rounding errors
        more = Q.T @ rest
        rest = rest - Q @ more
        along += more
    _, S, _ = _orthonormal_columns(rest, size)
    low_degree_count = T.shape[1]
    out = np.zeros((len(last), low_degree_count + S.shape[1]))
    out[first, :low_degree_count] = T
    out[then, low_degree_count:] = S
    out[first, low_degree_count:] = -T @ (along @ S)
    return out / scale[:, None], low_degree_count


def _orthonormal_columns(A: Array, size: float | None) -> tuple[Array, Array, float]:
    """Return Q = A T with orthonormal columns that span A without nearly dependent columns, T, and a size of
    A."""
    check_deadline(__name__)
    Q, R = qr(A)
    check_deadline(__name__)
    P, R, pivots = linalg.qr(R, mode="economic", pivoting=True, check_finite=False)
    diagonal = np.abs(np.diag(R))
    size = float(diagonal[0]) if size is None else size
    rank = int(np.count_nonzero(diagonal > GALERKIN.dependence_tolerance * size))
    T = np.zeros((A.shape[1], rank))
    T[pivots[:rank]] = linalg.solve_triangular(R[:rank, :rank], np.eye(rank), check_finite=False)
    return np.asarray(Q @ P[:, :rank]), T, size


def _boundary_conditions(compiled: CompiledProblem, e: Evolution) -> list[Residual] | None:
    """Return the conditions on the boundary of space; None if some statement is not supported."""
    if any(axis != e.axis for axis, _ in compiled.interfaces.planes):
        return None
    conditions = []
    for i, r in enumerate(compiled.residuals):
        if r.region.is_integral or r.region.periodic_axis is not None or r.region.sites > 1:
            return None
        if r.region.is_interior or (i in e.initial_conditions and e.is_given_by(r)):
            continue
        if i in e.initial_conditions or any(j.alpha[e.axis] > e.orders[j.unknown] for j in r.derivatives):
            return None
        conditions.append(r)
    return conditions


def _singular_parts(
    compiled: CompiledProblem, e: Evolution, spatial_domain: Domain
) -> tuple[tuple[tuple[Basis, Array], ...], tuple[tuple[float, float, float], ...]]:
    """Return the functions of corners, and the holes, of a domain in the plane."""
    if compiled.dimension != 3:
        return (), ()
    frozen = frozen_problem(compiled, e.initial_conditions, e.start)
    corner_parts = corner_functions(frozen, spatial_domain)
    return corner_parts, tuple(c for hole in holes_of(frozen, spatial_domain).holes for c in hole.centres)


def _match_unknowns(inside: list[Residual], e: Evolution, unknowns: int) -> tuple[int, ...] | None:
    """Match each equation to an unknown whose highest time derivative it contains; None if impossible."""
    if len(inside) != unknowns:
        return None
    has = np.zeros((unknowns, unknowns))
    for i, r in enumerate(inside):
        for j in r.derivatives:
            if j.alpha[e.axis] == e.orders[j.unknown]:
                has[i, j.unknown] = 1.0
    chosen = max_assignment(has)
    return chosen if all(row[k] for row, k in zip(has, chosen, strict=True)) else None


def _is_time_independent(region: Region, spatial_domain: Domain, e: Evolution) -> bool:
    """Whether a condition holds on the same part of the boundary at all times."""
    if not region.is_boundary and region.plane() is None:
        return True
    rng = np.random.default_rng(0)
    for face in faces_of(spatial_domain):
        found = face.at(rng.random((64, face.dimension)), rng)
        masks = [mask_at_time(region, found, t) for t in np.linspace(e.start, e.stop, 7)[1:-1]]
        if any(not np.array_equal(masks[0], m) for m in masks[1:]):
            return False
    return True
