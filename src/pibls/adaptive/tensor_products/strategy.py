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
from pibls.adaptive.candidate import Candidate, validation_residuals
from pibls.adaptive.tensor_products.axes import AxisPartitions, initial_partitions
from pibls.adaptive.tensor_products.partition_strategy import PartitionSolution, PartitionStrategy
from pibls.adaptive.thresholds import TENSOR_PRODUCTS
from pibls.adaptive.validation.estimate import norms_by_name, unknowns_at
from pibls.arrays import Array
from pibls.assembly.tensor_products.box_problem import BoxProblem
from pibls.assembly.tensor_products.product_system import ProductSystem
from pibls.linalg.kronecker import apply_along
from pibls.linalg.threads import limit_blas_threads
from pibls.nonlinear import Outcome
from pibls.nonlinear.tensor_newton import solve_tensor_system
from pibls.status import Status


@dataclass(frozen=True)
class BoxSolution(PartitionSolution):
    """A tensor-product solution with its system."""

    system: ProductSystem
    U: Array

    def coefficients(self) -> list[Array]:
        return self.system.piecewise_coefficients(self.U)

    def evaluate(self, lines: Sequence[Array]) -> Array:
        return np.array(_evaluate_on_grid(self.system, self.U, [lines] * len(self.system.spaces)))


@dataclass
class TensorProductStrategy(PartitionStrategy):
    """Tensor products of piecewise polynomials with adaptive partitions of the axes."""

    box_problem: BoxProblem | None = None

    def __post_init__(self) -> None:
        self.box_problem = box_problem_of(self.context)

    @property
    def _max_functions(self) -> int:
        return self.budget.max_nodes**2 // TENSOR_PRODUCTS.entries_per_coefficient

    def _initial_partitions(self) -> AxisPartitions:
        assert self.box_problem is not None
        return initial_partitions(self.context, self.box_problem.orders)

    def _work_ratio(self, before: AxisPartitions, after: AxisPartitions) -> float:
        work, done = (math.prod(p.functions) * sum(p.functions) for p in (after, before))
        return work / done

    def _is_unsuitable(self, made: PartitionSolution, sizes: Array) -> bool:
        assert isinstance(made, BoxSolution)
        return self._has_corner_mismatch(made, sizes)

    def _has_corner_mismatch(self, made: BoxSolution, sizes: Array) -> bool:
        """Whether prescribed values on neighbouring sides disagree in their corner."""
        if self._refinements < 3:
            return False
        system = made.system
        left, _ = system.residual(made.U)
        many = len(system.box_problem.equations)
        for g, r in zip(system.statements[many:], left[many:], strict=False):
            k, alpha = g.terms[0]
            values = len(g.terms) == 1 and not any(alpha) and not g.residual.nonlinear
            if values and float(np.abs(r).max()) > TENSOR_PRODUCTS.max_corner_mismatch * sizes[k] * float(
                np.abs(g.coefficients).max()
            ):
                return True
        return False

    def _solve(self, partitions: AxisPartitions) -> BoxSolution | None:
        context, box_problem, axes = self.context, self.box_problem, partitions
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
        found = Candidate(space, outcome, norms_by_name(residuals), values, seconds, settings)
        return BoxSolution(found, axes, result.last_step, system, result.U)

    def _initial_values(self, system: ProductSystem) -> Array:
        """Return the initial coefficients of a nonlinear problem."""
        lines = [[a.interpolation_points for a in axes] for axes in system.spaces]
        if system.box_problem.is_linear:
            return np.zeros(system.shape)
        if isinstance(self._current, BoxSolution):
            return system.interpolated(_evaluate_on_grid(self._current.system, self._current.U, lines))
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
