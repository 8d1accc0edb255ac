r"""Parameter sweep A(k) w = b(k) with one basis for all values of k.

The first solve determines a basis, its width and its points, which are reused for other values: the values of
the basis functions at these points are cached, and a solution is validated as always at held-out points and
against a companion solution at another scale. If only b depends on k, the factors of A are reused, and all
values are solved at once. If A depends on k, solutions at some values are combined to those at others
(`adaptive.sweeps.reduced_basis`); the companion omits the nearest snapshot, so that the difference shows the
error of the combination.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pibls.adaptive.candidate import rescaled
from pibls.adaptive.request import SolveResult
from pibls.adaptive.sweeps.reduced_basis import ReducedBasis
from pibls.adaptive.thresholds import DEFAULT, SWEEPS
from pibls.adaptive.validation.conditioning import compute_conditioning
from pibls.adaptive.validation.context import ValidationContext
from pibls.adaptive.validation.estimate import (
    ComparisonPoints,
    ErrorEstimate,
    KnownEstimate,
    Norms,
    error_from_difference,
)
from pibls.arrays import Array, MultiIndex
from pibls.assembly.points import PointSet, place
from pibls.assembly.system import System, assemble
from pibls.basis import Basis
from pibls.geometry import box_of
from pibls.linalg.matrix import norms
from pibls.linalg.protocol import as_leverage_factorization
from pibls.linalg.ridge_qr import RidgeQR
from pibls.linalg.threads import limit_blas_threads
from pibls.nonlinear import GaussNewton
from pibls.problem import Problem, Region
from pibls.problem.forms.compilation import CompiledProblem, compile_problem
from pibls.spaces import SingleDomainSpace

Values = tuple[Array, Array]
"""The unknowns at all comparison points, and at the even sample of the domain."""


@dataclass(frozen=True)
class CachedBasis:
    """A basis that caches its values."""

    basis: Basis
    _tables: dict[tuple[bytes, MultiIndex], Array] = field(default_factory=dict, repr=False)

    @property
    def size(self) -> int:
        return self.basis.size

    def jets(self, X: Array, alphas: Sequence[MultiIndex]) -> list[Array]:
        where = X.tobytes()
        missing = [a for a in alphas if (where, a) not in self._tables]
        if missing:
            found = self.basis.jets(X, missing)
            self._tables.update({(where, a): phi for a, phi in zip(missing, found, strict=True)})
        return [self._tables[where, a] for a in alphas]


@dataclass
class ParametricSolve:
    """Solver of one of the two solutions: a basis, points, and the factors of the last value."""

    space: SingleDomainSpace
    basis: CachedBasis
    points: Mapping[Region, PointSet]
    factors: Any = None
    system: System | None = None
    scale: Array | None = None
    reduced: ReducedBasis | None = None

    def solve(
        self,
        compiled: CompiledProblem,
        data: Array | None,
        moved: bool,
        start: tuple[SingleDomainSpace, Array, float] | None,
    ) -> tuple[Array, int]:
        """Return W (columns, problems) and the number of steps; ``data`` has shape (rows, problems).

        ``moved`` means that the operator has changed. A nonlinear problem starts from ``start``: space,
        coefficients and relative residual of a function.
        """
        if moved or self.system is None:
            self.system = assemble(compiled, self.points, self.space)
            if not self.system.is_linear:
                return self._nonlinear(self.system, start)
            solver = RidgeQR()
            self.scale = norms(self.system.linear, 1)
            self.factors = solver.factor_scaled(self.system.linear, self.scale, solver.cond)
        assert data is not None
        W = self.factors.apply(data)
        return W + self.factors.apply(data - self.system.linear @ W), 1

    def is_determined(self, context: ValidationContext, w: Array) -> bool:
        """Whether the problem determines its solution: zero solves every problem without data."""
        factors = as_leverage_factorization(self.factors)
        if factors is None or self.system is None:
            return True
        return (
            compute_conditioning(context, self.system, factors, w, 0).stability_constant
            > context.thresholds.min_stability
        )

    def add_snapshot(self, compiled: CompiledProblem, w: Array) -> None:
        """Store a solution as a snapshot for other values."""
        if self.reduced is None:
            assert self.scale is not None
            self.reduced = ReducedBasis(self.basis, self.points, compiled.unknowns, self.scale)
        self.reduced.add(compiled, w)

    def _nonlinear(
        self, system: System, start: tuple[SingleDomainSpace, Array, float] | None
    ) -> tuple[Array, int]:
        if start is None:
            found = GaussNewton().solve(system, np.random.default_rng(0))
        else:
            space, w, relative = start
            found = GaussNewton().descend(system, system.values_of(space, w), relative)
        self.scale, self.factors = norms(system.jacobian(found.w), 1), found.factors
        return found.w[:, None], found.steps


def data_terms(compiled: CompiledProblem, where: Mapping[Region, PointSet]) -> Array:
    """Return the data terms of a linear problem at its points."""
    none = np.empty((0, 0))
    parts = []
    for r in compiled.residuals:
        found = where[r.region]
        parts.append(r.rest(found.sites[0], found.normals, r.data_function_values(found.sites[0]), none))
    return np.concatenate(parts)


@dataclass(frozen=True)
class SweepValidator:
    """Validation of several solutions at once at held-out points."""

    held_out: Mapping[Region, PointSet]
    comparison_points: ComparisonPoints
    box: Array
    dimension: int
    unknowns: int

    def values(self, basis: Basis, W: Array) -> Values:
        """Return the unknowns at the comparison points, each (unknowns, n, problems)."""
        zero = (0,) * self.dimension
        parts = _split(W, self.unknowns)
        tables = [basis.jets(X, [zero])[0] for X in (self.comparison_points.all, self.comparison_points.even)]
        everywhere, even = (np.array([phi @ w for w in parts]) for phi in tables)
        return everywhere, even

    def error(self, first: Values, second: Values, k: int) -> ErrorEstimate:
        """Estimate the error of solution number k."""
        (u, m), (v, n) = ((a[:, :, k], b[:, :, k]) for a, b in (first, second))
        return error_from_difference(u - v, m - n, np.abs(u).max(axis=1, initial=0.0), self.comparison_points)

    def residuals(
        self, problems: Sequence[CompiledProblem], basis: Basis, W: Array, sizes: Array
    ) -> list[dict[str, Norms]]:
        """Return the residuals of each solution, relative to their largest term; ``sizes`` are max|u|."""
        half = 0.5 * np.ptp(self.box, axis=1)
        parts = _split(W, self.unknowns)
        out: list[dict[str, Norms]] = [{} for _ in problems]
        for i, r in enumerate(problems[0].residuals):
            found = self.held_out[r.region]
            X = found.sites[0]
            data = r.data_function_values(X)
            derivatives = {
                j: basis.jets(found.sites[j.site], [j.alpha])[0] @ parts[j.unknown]
                for j in (*r.linear, *r.nonlinear)
            }
            natural = {j: sizes[j.unknown] / np.prod(half ** np.array(j.alpha)) for j in derivatives}
            nonlinear_values = np.array([derivatives[j] for j in r.nonlinear]).reshape(
                -1, len(X), len(problems)
            )
            values = np.column_stack(
                [
                    p.residuals[i].rest(X, found.normals, data, nonlinear_values[:, :, k])
                    for k, p in enumerate(problems)
                ]
            )
            largest = np.abs(values).max(axis=0)
            slopes = [*zip(r.linear, r.coefficients(X, found.normals, data), strict=True)]
            for derivative, a in slopes:
                values = values + a[:, None] * derivatives[derivative]
            if r.nonlinear:
                slopes += zip(
                    r.nonlinear, r.partials(X, found.normals, data, nonlinear_values[:, :, 0]), strict=True
                )
            for derivative, a in slopes:
                size = np.maximum(np.abs(derivatives[derivative]).max(axis=0), natural[derivative])
                largest = np.maximum(largest, np.abs(a).max() * size)
            rms = np.sqrt(np.mean(values**2, axis=0))
            relative = rms / np.where(largest > 0, largest, 1.0)
            for k, norm in enumerate(zip(np.abs(values).max(axis=0), rms, relative, strict=True)):
                out[k][r.name] = Norms(*map(float, norm))
        return out


def _split(W: Array, unknowns: int) -> list[Array]:
    size = len(W) // unknowns
    return [W[i * size : (i + 1) * size] for i in range(unknowns)]


@dataclass
class SharedBasisSolver:
    """Solver of a problem at further parameter values with the basis of its first solution."""

    context: ValidationContext
    validator: SweepValidator
    settings: dict[str, Any]
    solves: tuple[ParametricSolve, ParametricSolve]
    tol: float
    max_relative_error: float
    """Largest accepted estimated error, relative to max|u|."""
    previous: tuple[SingleDomainSpace, Array, float] | None = None
    """Solution at the previous value, with its relative residual."""
    snapshot_parameters: list[Array] = field(default_factory=list)
    """Parameter values of the snapshots."""

    @classmethod
    def of(cls, problem: Problem, found: Any) -> SharedBasisSolver | None:
        """Create the solver from a problem and its solution; None if the solution has no single basis."""
        spec, points = found.settings.get("basis"), found.settings.get("points")
        single = found.space.by_kind(single_domain=lambda _: True, other=lambda _: False)
        if spec is None or points is None or not single:
            return None  # not implemented for cells and time windows
        compiled, domain = compile_problem(problem), problem.domain
        if any(r.region.is_integral for r in compiled.residuals):
            return None
        context = ValidationContext.of(compiled, domain, found.seed, found.tol)
        sides = []
        where = place(compiled, domain, points, context.stream(2, 0))
        for key, one in enumerate((spec, rescaled(spec))):
            basis = CachedBasis(one.draw(box_of(domain), context.stream(1, key)))
            sides.append(ParametricSolve(SingleDomainSpace.shared(basis, compiled.unknowns), basis, where))
        judge = SweepValidator(
            context.held_out, context.comparison_points, box_of(domain), compiled.dimension, compiled.unknowns
        )
        return cls(context, judge, found.settings, (sides[0], sides[1]), found.tol, found.tol)

    def answers(self, problems: Sequence[Problem], status: Any, operator: bool) -> list[SolveResult | None]:
        """Return the solutions at other values; None where the basis is not accurate enough.

        With ``operator`` there is one problem; otherwise only the data of the problems differ.
        """
        compiled = [compile_problem(p) for p in problems]
        first, second = self.solves
        near = self._from_snapshots(problems[0], status) if operator else None
        if near is not None:
            return [near]
        columns = first.basis.size * self.validator.unknowns
        with limit_blas_threads(columns), np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            # Both solutions are fitted at the same points: evaluate the data once.
            data = (
                -np.column_stack([data_terms(p, first.points) for p in compiled])
                if compiled[0].is_linear
                else None
            )
            W, steps = first.solve(compiled[0], data, operator, self.previous)
            # Starting from the first solution, one or two steps are enough.
            other, _ = second.solve(compiled[0], data, operator, (first.space, W[:, 0], 0.0))
            if operator and not second.is_determined(self.context, other[:, 0]):
                return [None]  # an under-determined problem is left to a full solve
            u, v = self.validator.values(first.basis, W), self.validator.values(second.basis, other)
            sizes = np.abs(u[0]).max(axis=1)
            residuals = self.validator.residuals(compiled, first.basis, W, sizes)
        out = [self._accepted(W[:, k], u, v, k, found, status, steps) for k, found in enumerate(residuals)]
        if out[-1] is not None:
            self.previous = (first.space, W[:, -1], 0.0)
        if operator and out[0] is not None and len(self.snapshot_parameters) < SWEEPS.max_snapshots:
            first.add_snapshot(compiled[0], W[:, 0])
            second.add_snapshot(compiled[0], other[:, 0])
            self.snapshot_parameters.append(_parameter_values(problems[0]))
        return out

    def _from_snapshots(self, problem: Problem, status: Any) -> SolveResult | None:
        """Return a combination of snapshots, if it is accurate enough."""
        if len(self.snapshot_parameters) < 3:
            return None
        compiled, (first, second) = compile_problem(problem), self.solves
        assert first.reduced is not None
        assert second.reduced is not None
        nearest = np.argsort(
            np.linalg.norm(np.array(self.snapshot_parameters) - _parameter_values(problem), axis=1)
        )[: SWEEPS.combined_snapshots]
        with np.errstate(all="ignore"):
            w = first.reduced.solve(compiled, nearest.tolist(), 0)[:, None]
            if not w.any():
                return None  # zero solves every problem without data, also eigenvalue problems
            other = second.reduced.solve(compiled, nearest[1:].tolist(), 0)[:, None]
            u, v = self.validator.values(first.basis, w), self.validator.values(second.basis, other)
            (residuals,) = self.validator.residuals([compiled], first.basis, w, np.abs(u[0]).max(axis=1))
        return self._accepted(w[:, 0], u, v, 0, residuals, status, 1)

    def _accepted(
        self, w: Array, u: Values, v: Values, k: int, residuals: dict[str, Norms], status: Any, steps: int
    ) -> SolveResult | None:
        """Return solution number k with its estimate, if it meets the tolerance."""
        relative = max(n.relative for n in residuals.values())
        error = self.validator.error(u, v, k)
        sizes = np.abs(u[0][:, :, k]).max(axis=1)
        sizes = np.where(
            sizes > self.tol * sizes.max(), sizes, sizes.max()
        )  # unknowns that are zero relative to the others
        fine = all(e.max <= self.max_relative_error * s for e, s in zip(error.each, sizes, strict=True))
        if not (fine and relative <= max(DEFAULT.max_resolved_residual, 10 * self.tol)):
            return None
        space = SingleDomainSpace.shared(self.solves[0].basis.basis, self.validator.unknowns)
        w = np.ascontiguousarray(w)
        return SolveResult(space, w, status, residuals, steps, self.settings, (), KnownEstimate(error), {})


def _parameter_values(problem: Problem) -> Array:
    return np.array(list(problem.parameters.values()))
