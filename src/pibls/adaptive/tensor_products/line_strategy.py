r"""Piecewise polynomials u(x) = Σ c_i P_i on the intervals of a line, with interfaces as edges.

The one-dimensional case of `adaptive.tensor_products.strategy`: the intervals follow from the same partition
of an axis and are refined by the same spectra. Equations are collocated in each interval; values, derivatives
or fluxes that are continuous couple neighbouring intervals (`assembly.hybridized`), so that coefficients and
sources may jump, unknowns may have different orders, and integrals and points inside may be prescribed.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from pibls.adaptive.candidate import Candidate, validation_residuals
from pibls.adaptive.cell_indicators import ClippedCells, cell_space_of, residual_indicators
from pibls.adaptive.hybridized import cell_system
from pibls.adaptive.tensor_products.axes import AxisPartitions, axis_spectra, initial_partitions
from pibls.adaptive.tensor_products.partition_strategy import PartitionSolution, PartitionStrategy
from pibls.adaptive.thresholds import CELLS, INITIAL_GUESS
from pibls.adaptive.validation.estimate import norms_by_name, unknowns_at
from pibls.arrays import Array
from pibls.assembly.hybridized.cell_system import CellSystem
from pibls.basis.polynomials.product import ProductBasis
from pibls.geometry import faces_of
from pibls.linalg.threads import limit_blas_threads
from pibls.nonlinear import GaussNewton, Outcome
from pibls.nonlinear.protocol import starting_values
from pibls.spaces import CellSpace, CellTree, SingleDomainSpace
from pibls.status import Status


@dataclass(frozen=True)
class LineSolution(PartitionSolution):
    """A solution in piecewise polynomials on a line."""

    @property
    def space(self) -> CellSpace:
        return cell_space_of(self.candidate)

    def coefficients(self) -> list[Array]:
        C = self.candidate.w.reshape(len(self.space.parts), -1, self.partitions.sizes[0])
        return list(C.swapaxes(0, 1))

    def evaluate(self, lines: Sequence[Array]) -> Array:
        return unknowns_at(*self.candidate.function, lines[0][:, None], len(self.last_step))


@dataclass
class LineStrategy(PartitionStrategy):
    """Piecewise polynomials with an adaptive partition of an interval."""

    @property
    def _max_functions(self) -> int:
        return CELLS.columns_per_node * self.budget.max_nodes // self.context.compiled.unknowns

    def _initial_partitions(self) -> AxisPartitions:
        compiled = self.context.compiled
        order = max((j.alpha[0] for r in compiled.residuals for j in r.derivatives), default=0)
        found = initial_partitions(self.context, (order,))
        inner = {level for _, level in self._inner_ends}
        return replace(found, edges=(tuple(sorted({*found.edges[0], *inner})),))

    @property
    def _inner_ends(self) -> list[tuple[int, float]]:
        """The ends of gaps of the domain."""
        (low, high), planes = self.context.box[0], [f.plane() for f in faces_of(self.context.domain)]
        return [(p[0], float(p[1])) for p in planes if p is not None and low < p[1] < high]

    @property
    def _kept_planes(self) -> Sequence[tuple[int, float]]:
        return [*super()._kept_planes, *self._inner_ends]

    def _work_ratio(self, before: AxisPartitions, after: AxisPartitions) -> float:
        return after.boxes / before.boxes

    def _spectra(self, made: PartitionSolution, sizes: Array) -> list[Array]:
        """Return the spectra, with the error that corresponds to the residual between the points as tail."""
        assert isinstance(made, LineSolution)
        (S,) = axis_spectra(made.coefficients(), sizes)
        unmet, _ = residual_indicators(ClippedCells(self.context), made.candidate, sizes)
        S[:, -2:] = np.maximum(S[:, -2:], unmet[:, None])
        return [S]

    def _solve(self, partitions: AxisPartitions) -> LineSolution | None:
        context, unknowns = self.context, self.context.compiled.unknowns
        began = time.perf_counter()
        (edges,), (n,) = partitions.edges, partitions.sizes
        tree = CellTree.divided_at(context.box, [(0, e) for e in edges[1:-1]])
        boxes = tree.boxes
        bases = map(partial(ProductBasis, (n,), ()), boxes.mean(axis=2), 0.5 * np.diff(boxes)[:, :, 0])
        space = CellSpace(tree, tuple(SingleDomainSpace.shared(basis, unknowns) for basis in bases))
        with limit_blas_threads(1), np.errstate(over="ignore", invalid="ignore"):
            system = cell_system(context.compiled, context.domain, space, context.engine)
            outcome = self._newton(system)
            outcome = replace(outcome, w=system.function_coefficients(outcome.w), factors=None)
            residuals, values = validation_residuals(context, space, outcome.w)
        seconds = time.perf_counter() - began
        settings = {"cells": len(tree), "nodes": n}
        found = Candidate(space, outcome, norms_by_name(residuals), values, seconds, settings)
        return LineSolution(found, partitions, np.zeros(unknowns))

    def _newton(self, system: CellSystem) -> Outcome:
        """Solve from the last solution, that of another strategy, or the initial guess."""
        newton = GaussNewton(rounds=0)
        if system.is_linear:
            return newton.linear_solve(system)
        if self.guess is not None and self._current is None:
            return newton.descend(system, system.values_of(self.guess, np.empty(0)))
        quick = replace(newton, truncation=0.0, to_the_last=False)
        before = self.initial_candidate if self._current is None else self._current.candidate
        if before is not None and before.relative_residual < self.context.thresholds.max_start_residual:
            return quick.descend(system, system.values_of(*before.function), before.relative_residual)
        outcome = quick.descend(system, starting_values(system))
        if outcome.status is Status.STALLED and not outcome.relative < INITIAL_GUESS.max_unresolved_residual:
            return newton.solve(system, self.context.stream(3, 2000 + self._refinements))
        return outcome
