r"""Tensor-product strategy u(x, y, z) = Σ c_{ijk} f_i(x) g_j(y) h_k(z) for stationary problems on boxes.

Each axis is partitioned separately; the factors are smooth piecewise polynomials
(`basis.polynomials.splines`). A separable operator is solved directly, any other iteratively with the nearest
separable operator as preconditioner (`nonlinear.tensor_newton`): N⁴ operations for N³ functions, where a
dense basis of that size would take N⁹. Intervals are divided where the coefficients have not decayed along
their axis (`adaptive.tensor_products.axes`); the error is estimated from a companion solution with shifted
intervals.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pibls.adaptive.box_detection import box_problem_of
from pibls.adaptive.candidate import Candidate, condition_errors, validation_residuals
from pibls.adaptive.strategy import Strategy
from pibls.adaptive.tensor_products.axes import (
    AxisPartitions,
    axis_spectra,
    initial_partitions,
    spectral_tail,
)
from pibls.adaptive.thresholds import CELLS, SCHEDULER, TENSOR_PRODUCTS
from pibls.adaptive.validation.estimate import (
    ErrorEstimate,
    compare,
    norms_by_name,
    unknowns_at,
    with_lower_bound,
)
from pibls.arrays import Array
from pibls.assembly.tensor_products.box_problem import BoxProblem
from pibls.assembly.tensor_products.product_system import ProductSystem
from pibls.linalg.kronecker import apply_along
from pibls.linalg.threads import limit_blas_threads
from pibls.nonlinear import Outcome
from pibls.nonlinear.tensor_newton import TensorSolution, solve_tensor_system
from pibls.spaces import Space
from pibls.status import Status


@dataclass
class TensorProductStrategy(Strategy):
    """Tensor products of piecewise polynomials with adaptive partitions of the axes."""

    guess: Space | None = None
    initial_candidate: Candidate | None = None
    box_problem: BoxProblem | None = None
    partitions: AxisPartitions | None = None
    _refinements: int = 0
    _is_finished: bool = False
    _agrees_without_solving: bool = False
    _last_tail: float | None = None
    """Largest spectral tail of the last candidate."""
    _digits_gained: float = 1.0
    _current: tuple[Candidate, ProductSystem, TensorSolution] | None = None
    """The last candidate with its system and coefficients, …"""
    _previous: tuple[Candidate, ProductSystem, TensorSolution] | None = None
    """… and the one before."""

    def __post_init__(self) -> None:
        self.box_problem = box_problem_of(self.context)

    @property
    def _max_functions(self) -> int:
        return self.budget.max_nodes**2 // TENSOR_PRODUCTS.entries_per_coefficient

    @property
    def has_ended(self) -> bool:
        too_many = self.partitions is not None and math.prod(self.partitions.functions) > self._max_functions
        return (
            self.status is not None
            or self._is_finished
            or too_many
            or self._refinements >= SCHEDULER.max_rounds
        )

    @property
    def expected_seconds(self) -> float:
        if self._current is None or self.partitions is None:
            return 0.0
        found, system, _ = self._current
        before, after = ([a.broken_size for a in system.axes], self.partitions.functions)
        ratio = math.prod(after) * sum(after) / (math.prod(before) * sum(before))
        return float(found.seconds * ratio)

    def warm_start(self, found: Candidate | None) -> None:
        self.initial_candidate = found if self.initial_candidate is None else self.initial_candidate

    def advance(self) -> None:
        assert self.box_problem is not None
        self._refinements += 1
        if self.partitions is None:
            self.partitions = initial_partitions(self.context, self.box_problem)
            if math.prod(self.partitions.functions) > self._max_functions:
                self._is_finished = True
                return
        made = self._solve(self.partitions)
        if made is None:
            self._is_finished = True
            return
        self._previous, self._current = self._current, made
        found, system, result = made
        sizes = self.scales(found)
        spectra = axis_spectra(system.piecewise_coefficients(result.U), sizes)
        worst = max(float(spectral_tail(S).max()) for S in spectra)
        self._record(found, worst)
        if self._has_corner_mismatch(system, result, sizes):
            self._is_finished = True
            return
        limit = self.context.thresholds.max_cell_tail * self.context.tol
        at_rounding_limit = (
            worst < 1e-9
            and (self._digits_gained < 0.05 or worst < 10.0 * _relative_step(result.last_step, sizes))
            and self._refinements > 1
        )
        if worst > limit and not at_rounding_limit:
            self._refine(spectra, limit)
            return
        self._confirm(found, system, result, spectra, at_rounding_limit)

    def _record(self, found: Candidate, worst: float) -> None:
        """Record a candidate with its largest spectral tail."""
        assert self.partitions is not None
        if self._last_tail is not None and worst > 0:
            self._digits_gained = math.log10(max(self._last_tail, 1e-300) / worst)
        self._last_tail = worst
        self.residual_history.append(found.relative_residual)
        if self.best is None or not self.error.checked:
            self.best = found
        self.report(found, None, cells=len(self.partitions.grid_space(1)))

    def finalize_from_history(self) -> None:
        """Bound the error by the last change, which is larger than the error while refinements gain."""
        if self._previous is None or self._current is None or self._digits_gained < CELLS.min_gain:
            return
        if self.best is not self._current[0] or not self.error.checked:
            self._keep_if_better(self._current[0], self._estimate_error(*self._current, *self._previous))

    def may_fit_budget(self) -> bool:
        return self.budget.fits(SCHEDULER.min_duration_share * self.expected_seconds)

    def _refine(self, spectra: list[Array], limit: float) -> None:
        assert self.partitions is not None
        assert self._current is not None
        finer = self.partitions.refined(spectra, limit)
        if finer == self.partitions:
            self._is_finished = True
        self.partitions = finer

    def _confirm(
        self,
        found: Candidate,
        system: ProductSystem,
        result: TensorSolution,
        spectra: list[Array],
        at_rounding_limit: bool,
    ) -> None:
        """Compare with a companion solution on shifted intervals."""
        context = self.context
        assert self.partitions is not None
        made = self._solve(self.partitions.shifted(context.compiled.interfaces.planes))
        if made is None:
            self._is_finished = True
            return
        second, other_system, other = made
        error = self._estimate_error(found, system, result, second, other_system, other)
        self._keep_if_better(found, error)
        relative_error = self.relative_error(found, error)
        self.report(found, relative_error, cells=len(self.partitions.grid_space(1)))
        if (
            relative_error <= context.tol
            and found.relative_residual < context.thresholds.max_solution_residual
        ):
            self.status = Status.TOLERANCE
        elif at_rounding_limit:
            self.status = Status.ROUNDING_LIMIT
        elif relative_error <= context.tol:
            self._is_finished = self._agrees_without_solving = (
                True  # two functions agree that are no solution
            )
        else:
            # Errors are assumed to be proportional to the spectral tails.
            worst = max(float(spectral_tail(S).max()) for S in spectra)
            share = (
                max(0.5 * context.tol / relative_error, context.thresholds.min_cell_share)
                if math.isfinite(relative_error)
                else context.thresholds.min_cell_share
            )
            self._refine(spectra, share * worst)

    def _estimate_error(
        self,
        found: Candidate,
        system: ProductSystem,
        result: TensorSolution,
        second: Candidate,
        other_system: ProductSystem,
        other: TensorSolution,
    ) -> ErrorEstimate:
        """Estimate the error, and store the estimate of each box in the notes."""
        context = self.context
        per, most = TENSOR_PRODUCTS.comparison_points[len(system.axes)]
        rng = context.stream(8, self._refinements)
        lines = [
            _comparison_coordinates(np.union1d(a.edges, b.edges), per, most, rng)
            for a, b in zip(system.axes, other_system.axes, strict=True)
        ]
        same = [lines] * len(system.spaces)
        D = np.abs(
            np.array(_evaluate_on_grid(system, result.U, same))
            - np.array(_evaluate_on_grid(other_system, other.U, same))
        )
        error = compare(found.function, second.function, len(D), context.comparison_points)
        known = context.rounding(found.magnitudes)
        # The last Newton step of either solution shows the effect of rounding in the equations.
        moved = np.maximum(result.last_step, other.last_step)
        rounding = moved if known is None else np.maximum(moved, known)
        seen = (
            D.reshape(len(D), -1).max(axis=1)
            * context.thresholds.safety_factor
            / context.thresholds.condition_error_factor
        )
        worst = D.max(axis=0)
        error = with_lower_bound(
            error, np.maximum(condition_errors(context, found.residuals), seen), rounding
        )
        per_box = np.zeros([a.intervals for a in system.axes])
        np.maximum.at(per_box, np.ix_(*(a.locate(t) for a, t in zip(system.axes, lines, strict=True))), worst)
        self.notes["cell_errors"] = context.thresholds.safety_factor * per_box.ravel()
        return error

    def _has_corner_mismatch(self, system: ProductSystem, result: TensorSolution, sizes: Array) -> bool:
        """Whether prescribed values on neighbouring sides disagree in their corner."""
        if self._refinements < 3:
            return False
        left, _ = system.residual(result.U)
        many = len(system.box_problem.equations)
        for g, r in zip(system.statements[many:], left[many:], strict=False):
            k, alpha = g.terms[0]
            values = len(g.terms) == 1 and not any(alpha) and not g.residual.nonlinear
            if values and float(np.abs(r).max()) > TENSOR_PRODUCTS.max_corner_mismatch * sizes[k] * float(
                np.abs(g.coefficients).max()
            ):
                return True
        return False

    def _solve(self, axes: AxisPartitions) -> tuple[Candidate, ProductSystem, TensorSolution] | None:
        context, box_problem = self.context, self.box_problem
        assert box_problem is not None
        began = time.perf_counter()
        with limit_blas_threads(1), np.errstate(all="ignore"):
            system = ProductSystem.of(box_problem, axes.splines(box_problem))
            result = solve_tensor_system(system, self._initial_values(system))
            if result is None or not result.converged:
                return None
            space = axes.grid_space(len(system.spaces))
            w = np.concatenate(
                [_box_coefficients(C, axes.sizes) for C in system.piecewise_coefficients(result.U)]
            )
            residuals, values = validation_residuals(context, space, w)
        outcome = Outcome(w, 0.0, result.steps, Status.SOLVED)
        seconds = time.perf_counter() - began
        settings = {"cells": len(space), "nodes": math.prod(space.sizes)}
        return (
            Candidate(space, outcome, norms_by_name(residuals), values, seconds, settings),
            system,
            result,
        )

    def _initial_values(self, system: ProductSystem) -> Array:
        """Return the initial coefficients of a nonlinear problem."""
        lines = [[a.interpolation_points for a in axes] for axes in system.spaces]
        if system.box_problem.is_linear:
            return np.zeros(system.shape)
        if self._current is not None:
            _, before, result = self._current
            return system.interpolated(_evaluate_on_grid(before, result.U, lines))
        function = None if self.guess is None else (self.guess, np.empty(0))
        if (
            self.initial_candidate is not None
            and self.initial_candidate.relative_residual < self.context.thresholds.max_start_residual
        ):
            function = self.initial_candidate.function
        if function is None:
            return np.zeros(system.shape)
        values = []
        for unknown, along_axes in enumerate(lines):
            X = np.stack(np.meshgrid(*along_axes, indexing="ij"), -1)
            here = unknowns_at(*function, X.reshape(-1, len(along_axes)), len(lines))[unknown]
            values.append(here.reshape(X.shape[:-1]))
        return system.interpolated(values)


def _relative_step(moved: Array, sizes: Array) -> float:
    """Return the largest step relative to the scale of its unknown."""
    return float((moved / np.maximum(sizes, 1e-300)).max())


def _comparison_coordinates(edges: Array, per: int, most: int, rng: np.random.Generator) -> Array:
    """Return coordinates in every interval, denser at its ends and graded at the ends of the axis.

    The error at a singular corner of a box with n polynomials is largest within 1/n² of the box.
    """
    h = np.diff(edges)
    count = max(min(per, most // len(h)), 1)
    t = edges[:-1, None] + h[:, None] * (0.5 - 0.5 * np.cos(np.pi * rng.random((len(h), count))))
    near = 10.0 ** -np.linspace(0.3, 4.0, TENSOR_PRODUCTS.end_points) * rng.uniform(
        0.5, 1.0, (2, TENSOR_PRODUCTS.end_points)
    )
    ends = [edges[[0, -1]], edges[0] + h[0] * near[0], edges[-1] - h[-1] * near[1]]
    return np.sort(np.concatenate([t.ravel(), *ends]))


def _evaluate_on_grid(system: ProductSystem, U: Array, lines: Sequence[Sequence[Array]]) -> list[Array]:
    """Return each unknown on the tensor grid of coordinates along the axes."""
    out = []
    for axes, V, along_axes in zip(system.spaces, system.parts(U), lines, strict=True):
        for i, (a, t) in enumerate(zip(axes, along_axes, strict=True)):
            V = apply_along(a.evaluate(t, 0), V, i)
        out.append(V)
    return out


def _box_coefficients(C: Array, sizes: Sequence[int]) -> Array:
    """Return the coefficients of an array (P₁, n₁, P₂, n₂, …) in the order of `TensorGridSpace`."""
    d = C.ndim // 2
    C = np.pad(C, [(0, sizes[i // 2] - C.shape[i] if i % 2 else 0) for i in range(2 * d)])
    return np.ascontiguousarray(C.transpose([*range(0, 2 * d, 2), *range(1, 2 * d, 2)])).ravel()
