"""Base class of strategies with piecewise polynomials: partitions of the axes, refined by spectra.

A solution is computed on the partitions, its spectrum in every interval decides where to refine
(`adaptive.tensor_products.axes`), and a companion solution on shifted intervals gives the error estimate.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pibls.adaptive.budget import Budget
from pibls.adaptive.candidate import Candidate, condition_errors
from pibls.adaptive.strategy import Strategy
from pibls.adaptive.tensor_products.axes import AxisPartitions, axis_spectra, interval_tails
from pibls.adaptive.thresholds import CELLS, SCHEDULER, TENSOR_PRODUCTS
from pibls.adaptive.validation.context import ValidationContext
from pibls.adaptive.validation.estimate import ErrorEstimate, compare, with_lower_bound
from pibls.arrays import Array
from pibls.spaces import Space
from pibls.status import Status


@dataclass(frozen=True)
class PartitionSolution(ABC):
    """A candidate in piecewise polynomials on partitions of the axes."""

    candidate: Candidate
    partitions: AxisPartitions
    last_step: Array
    """max|δu| of each unknown in the last step of the solver: the effect of rounding in the equations."""

    @abstractmethod
    def coefficients(self) -> list[Array]:
        """Return the coefficients of each unknown per interval, (P₁, n₁, P₂, n₂, …)."""

    @abstractmethod
    def evaluate(self, lines: Sequence[Array]) -> Array:
        """Return the unknowns on the tensor grid of coordinates along the axes, (unknowns, N₁, N₂, …)."""


@dataclass
class PartitionStrategy(Strategy):
    """Piecewise polynomials on adaptive partitions of the axes."""

    guess: Space | None = None
    initial_candidate: Candidate | None = None
    """Candidate of another strategy, as initial guess of a nonlinear problem."""
    partitions: AxisPartitions | None = None
    _refinements: int = 0
    _is_finished: bool = False
    _last_tail: float | None = None
    """Largest spectral tail of the last candidate."""
    _digits_gained: float = 1.0
    _current: PartitionSolution | None = None
    """The last solution, …"""
    _previous: PartitionSolution | None = None
    """… and the one before."""

    @property
    @abstractmethod
    def _max_functions(self) -> int:
        """Maximum number of functions per unknown."""

    @abstractmethod
    def _initial_partitions(self) -> AxisPartitions:
        """Return the first partitions."""

    @abstractmethod
    def _solve(self, partitions: AxisPartitions) -> PartitionSolution | None:
        """Solve on partitions; None if the solver fails."""

    @abstractmethod
    def _work_ratio(self, before: AxisPartitions, after: AxisPartitions) -> float:
        """Return the ratio of the work on two partitions."""

    @property
    def _kept_planes(self) -> Sequence[tuple[int, float]]:
        """Planes (axis, level) that are edges of the companion solution too."""
        return self.context.compiled.interfaces.planes

    def _spectra(self, made: PartitionSolution, sizes: Array) -> list[Array]:
        """Return the spectra along each axis, relative to max|u|."""
        return axis_spectra(made.coefficients(), sizes)

    def _is_unsuitable(self, made: PartitionSolution, sizes: Array) -> bool:
        """Whether refinement will not help."""
        return False

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
        return self._current.candidate.seconds * self._work_ratio(self._current.partitions, self.partitions)

    def warm_start(self, found: Candidate | None) -> None:
        self.initial_candidate = found if self.initial_candidate is None else self.initial_candidate

    def for_nearby_problem(self, context: ValidationContext, budget: Budget) -> PartitionStrategy:
        return type(self)(context, budget, initial_candidate=self.recent[-1], partitions=self.partitions)

    @property
    def indicator(self) -> float:
        return math.inf if self._last_tail is None else self._last_tail

    def advance(self) -> None:
        self._refinements += 1
        if self.partitions is None:
            self.partitions = self._initial_partitions()
            if math.prod(self.partitions.functions) > self._max_functions:
                self._is_finished = True
                return
        made = self._solve(self.partitions)
        if made is None:
            self._is_finished = True
            return
        self._previous, self._current = self._current, made
        sizes = self.scales(made.candidate)
        spectra = self._spectra(made, sizes)
        worst = max(float(interval_tails(S).max()) for S in spectra)
        self._record(made, worst)
        if self._is_unsuitable(made, sizes):
            self._is_finished = True
            return
        limit = self.context.thresholds.max_cell_tail * self.context.tol
        at_rounding_limit = (
            worst < 1e-9
            and (self._digits_gained < 0.05 or worst < 10.0 * _relative_step(made.last_step, sizes))
            and self._refinements > 1
        )
        if worst > limit and not at_rounding_limit:
            self._refine(spectra, limit)
            return
        self._confirm(made, spectra, at_rounding_limit)

    def _record(self, made: PartitionSolution, worst: float) -> None:
        """Record a solution with its largest spectral tail."""
        found = made.candidate
        if self._last_tail is not None and worst > 0:
            self._digits_gained = math.log10(max(self._last_tail, 1e-300) / worst)
        self._last_tail = worst
        self.residual_history.append(found.relative_residual)
        if self.best is None or not self.error.checked:
            self.best = found
        self.report(found, None, cells=made.partitions.boxes)

    def finalize_from_history(self) -> None:
        """Bound the error by the last change, which is larger than the error while refinements gain."""
        if self._previous is None or self._current is None or self._digits_gained < CELLS.min_gain:
            return
        if self.best is not self._current.candidate or not self.error.checked:
            self._keep_if_better(self._current.candidate, self._estimate_error(self._current, self._previous))

    def may_fit_budget(self) -> bool:
        return self.budget.fits(SCHEDULER.min_duration_share * self.expected_seconds)

    def _refine(self, spectra: list[Array], limit: float) -> None:
        assert self.partitions is not None
        finer = self.partitions.refined(spectra, limit)
        if finer == self.partitions:
            self._is_finished = True
        self.partitions = finer

    def _confirm(self, made: PartitionSolution, spectra: list[Array], at_rounding_limit: bool) -> None:
        """Compare with a companion solution on shifted intervals."""
        context, found = self.context, made.candidate
        second = self._solve(made.partitions.shifted(self._kept_planes))
        if second is None:
            self._is_finished = True
            return
        error = self._estimate_error(made, second)
        self._keep_if_better(found, error)
        relative_error = self.relative_error(found, error)
        self.report(found, relative_error, cells=made.partitions.boxes)
        if (
            relative_error <= context.tol
            and found.relative_residual < context.thresholds.max_solution_residual
        ):
            self.status = Status.TOLERANCE
        elif at_rounding_limit:
            self.status = Status.ROUNDING_LIMIT
        elif relative_error <= context.tol:
            self._is_finished = True  # two functions agree that are no solution
        else:
            # Errors are assumed to be proportional to the spectral tails.
            worst = max(float(interval_tails(S).max()) for S in spectra)
            share = (
                max(0.5 * context.tol / relative_error, context.thresholds.min_cell_share)
                if math.isfinite(relative_error)
                else context.thresholds.min_cell_share
            )
            self._refine(spectra, share * worst)

    def _estimate_error(self, first: PartitionSolution, second: PartitionSolution) -> ErrorEstimate:
        """Estimate the error, and store the estimate of each box in the notes."""
        context, found = self.context, first.candidate
        edges = first.partitions.edges
        per, most = TENSOR_PRODUCTS.comparison_points[len(edges)]
        rng = context.stream(8, self._refinements)
        lines = [
            _comparison_coordinates(np.union1d(a, b), per, most, rng)
            for a, b in zip(edges, second.partitions.edges, strict=True)
        ]
        D = np.abs(first.evaluate(lines) - second.evaluate(lines))
        error = compare(found.function, second.candidate.function, len(D), context.comparison_points)
        known = context.rounding(found.magnitudes)
        # The last Newton step of either solution shows the effect of rounding in the equations.
        moved = np.maximum(first.last_step, second.last_step)
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
        per_box = np.zeros([len(e) - 1 for e in edges])
        where = [np.searchsorted(e[1:-1], t, side="right") for e, t in zip(edges, lines, strict=True)]
        np.maximum.at(per_box, np.ix_(*where), worst)
        self.notes["cell_errors"] = context.thresholds.safety_factor * per_box.ravel()
        return error


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
