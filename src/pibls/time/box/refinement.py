"""Refinement and coarsening of the spatial resolution by the spectral tails of its cells."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from pibls.arrays import Array
from pibls.basis.polynomials.basis_1d import REFERENCE_INTERVAL
from pibls.spaces import CellTree, Node, divided_at_planes, graded_node
from pibls.spaces.axis_partition import refine_partition, shifted_edges
from pibls.time.box.operator import CollocationOperator
from pibls.time.box.resolution import Resolution, fourier_size
from pibls.time.thresholds import COLLOCATION, TIME_DISCRETIZATIONS, TIME_STEPPING


@dataclass(frozen=True)
class Refinement:
    """Chooses the spatial resolutions of an evolution."""

    operator: CollocationOperator
    divide_axes: bool = False
    """Whether the axes of a box may be divided into intervals."""

    def initial(self, functions: int, use_fourier: bool) -> Resolution:
        """Return the first resolution, with ``functions`` per cell of an interval."""
        operator = self.operator
        periodic = tuple(yes and use_fourier for yes in operator.periodic)
        context = operator.context
        tree = CellTree.divided_at(
            context.box, [p for p in context.compiled.interfaces.planes if p[0] != operator.axis]
        )
        if len(operator.space_axes) == 1:
            return Resolution(
                tree, (COLLOCATION.first_fourier_functions if periodic[0] else functions,), periodic
            )
        return Resolution(tree, tuple(COLLOCATION.first_product_functions[yes] for yes in periodic), periodic)

    @staticmethod
    def companion(resolution: Resolution) -> Resolution:
        """Return a resolution for the companion solution: the same cells with a few more functions.

        For one periodic coordinate a fifth more. With only two more, both solutions missed the same part of
        initial data that are not exactly periodic, and the estimate for a soliton was 1.1 times its error.
        """
        if resolution.edges:  # from the middle of one interval to the middle of the next
            return _with_intervals(
                resolution,
                [shifted_edges(e, set()) for e in resolution.edges],
                resolution.bases[0].functions_per_interval,
            )
        is_fourier = resolution.periodic == (True,)
        sizes = tuple(fourier_size(1.2 * n) if is_fourier else n + 2 for n in resolution.sizes)
        return Resolution(resolution.tree, sizes, resolution.periodic)

    @staticmethod
    def _is_single_cell(resolution: Resolution) -> bool:
        """Whether the resolution is a single cell, refined by more functions."""
        return any(resolution.periodic) or len(resolution.sizes) > 1

    def refine(self, resolution: Resolution, cell_tails: Array, residual: Array) -> Resolution | None:
        """Return a finer resolution where it is needed; None if the limit is reached.

        ``cell_tails`` (cells, axes) and ``residual`` (cells,) exceed one where they are too large.
        """
        if self.divide_axes and max(resolution.sizes) > self._interval_degrees(resolution):
            divided = self._divide_intervals(resolution, cell_tails, 1.0)
            if divided is not None or resolution.edges:
                return divided
        if self._is_single_cell(resolution):
            return self._with_more_functions(resolution, cell_tails, residual)
        indicator = np.maximum(cell_tails[:, 0], residual if cell_tails.max() <= 1.0 else 0.0)
        axis = self.operator.space_axes[0]

        def division(number: int, box: Array) -> Node:
            return divided_at_planes([(axis, float(box[axis].mean()))]) if indicator[number] > 1.0 else None

        tree = resolution.tree.refine(division)
        if len(tree) > COLLOCATION.max_cells:
            return None
        return Resolution(tree, resolution.sizes, resolution.periodic)

    def _with_more_functions(
        self, resolution: Resolution, cell_tails: Array, residual: Array
    ) -> Resolution | None:
        """Return a single cell with more functions along some coordinates; None if the limit is reached."""
        only_residual = cell_tails.max() <= 1.0 and residual.max() > 1.0
        sizes = tuple(
            _increased_size(n, is_periodic) if only_residual or cell_tails[:, i].max() > 1.0 else n
            for i, (n, is_periodic) in enumerate(zip(resolution.sizes, resolution.periodic, strict=True))
        )
        if int(np.prod(sizes)) > self._max_functions(len(sizes)):
            return None
        return Resolution(resolution.tree, sizes, resolution.periodic)

    def _max_functions(self, dimension: int) -> float:
        """Return the largest number of functions per unknown of a single cell."""
        unknowns = self.operator.context.compiled.unknowns
        if self.operator.is_separable:
            return COLLOCATION.max_separable_functions[dimension] / unknowns
        if dimension == 1:
            return COLLOCATION.max_fourier_functions
        return 1.5 * COLLOCATION.max_dense_functions / unknowns

    def refine_layers(self, resolution: Resolution, cell_tails: Array) -> Resolution:
        """Return a resolution with the worst cells divided, graded towards boundaries and interfaces."""
        if self._is_single_cell(resolution):
            return self._refine_boundary_layers(resolution, cell_tails)
        axis, context = self.operator.space_axes[0], self.operator.context
        box = context.box[axis]
        ends = {*map(float, box), *(level for i, level in context.compiled.interfaces.planes if i == axis)}
        mark = COLLOCATION.layer_marking_fraction * float(cell_tails.max())

        def division(number: int, cell: Array) -> Node:
            if cell_tails[number, 0] < mark or np.ptp(
                cell[axis]
            ) < TIME_STEPPING.min_relative_length * np.ptp(box):
                return None
            touching = [end for end in map(float, cell[axis]) if end in ends]
            if len(touching) != 1:
                return divided_at_planes([(axis, float(cell[axis].mean()))])
            end_point = np.full(len(cell), touching[0])
            return graded_node(cell, [axis], end_point, COLLOCATION.layer_grading_levels)

        return Resolution(resolution.tree.refine(division), resolution.sizes, resolution.periodic)

    def _refine_boundary_layers(self, resolution: Resolution, cell_tails: Array) -> Resolution:
        """Refine towards the faces of a box; n polynomials resolve boundary layers of width 1/n²."""
        if self.operator.face_conditions is None:
            return resolution
        if self.divide_axes:
            return (
                self._divide_intervals(
                    resolution, cell_tails, COLLOCATION.layer_marking_fraction * float(cell_tails.max())
                )
                or resolution
            )
        most = COLLOCATION.layer_functions[len(resolution.sizes)]
        sizes = tuple(
            n if yes else max(n, most) for n, yes in zip(resolution.sizes, resolution.periodic, strict=True)
        )
        return Resolution(resolution.tree, sizes, resolution.periodic)

    def _interval_degrees(self, resolution: Resolution) -> int:
        """Return the number of polynomials per interval."""
        context = self.operator.context
        return (
            resolution.bases[0].functions_per_interval
            if resolution.edges
            else TIME_DISCRETIZATIONS.functions_per_cell[context.tol < context.thresholds.tight_tol]
        )

    def _divide_intervals(self, resolution: Resolution, cell_tails: Array, limit: float) -> Resolution | None:
        """Divide intervals with tails above the limit: at the boundary towards it, others in the middle."""
        face_conditions = self.operator.face_conditions
        assert face_conditions is not None
        context, edges, n = self.operator.context, [], self._interval_degrees(resolution)
        for i, e in enumerate(resolution.edges or [REFERENCE_INTERVAL] * len(resolution.sizes)):
            at = np.arange(len(e) - 1)
            hard = (cell_tails[: len(at), i] > limit) & (np.diff(e) > TIME_STEPPING.min_relative_length)
            low, high = hard & (at == 0), hard & (at == len(at) - 1)
            halved = hard & ~(low | high)
            edges.append(refine_partition(e, low, high, halved))
        most = COLLOCATION.max_separable_functions[len(edges)] / context.compiled.unknowns
        made = _with_intervals(replace(resolution, orders=face_conditions.interface_orders), edges, n)
        return made if made.functions <= most and made.edges != resolution.edges else None

    def coarsen_intervals(self, resolution: Resolution, cell_tails: Array, tail: float) -> Resolution:
        """Return a resolution without those divisions next to the boundary that are not needed any more."""
        edges = []
        for i, e in enumerate(resolution.edges):
            small = cell_tails[: len(e) - 1, i] < COLLOCATION.merge_tail_fraction * tail
            out = {
                *([1] if len(e) > 2 and small[:2].all() else []),
                *([len(e) - 2] if len(e) > 2 and small[-2:].all() else []),
            }
            edges.append(tuple(x for p, x in enumerate(e) if p not in out))
        return (
            _with_intervals(resolution, edges, resolution.bases[0].functions_per_interval)
            if edges
            else resolution
        )

    def merge_cells(self, resolution: Resolution, cell_tails: Array, tail: float) -> Resolution:
        """Return a resolution with neighbouring cells merged where their tails are negligible."""
        if self._is_single_cell(resolution) or len(resolution.tree) == 1:
            return resolution
        small = tail * COLLOCATION.merge_tail_fraction * 2.0 ** (-0.75 * resolution.sizes[0])
        kept = set(self.operator.context.compiled.interfaces.planes)
        tree = resolution.tree.merge(
            lambda i, j, plane: plane not in kept and bool(max(cell_tails[i, 0], cell_tails[j, 0]) < small)
        )
        return Resolution(tree, resolution.sizes, resolution.periodic)


def _increased_size(n: int, is_periodic: bool) -> int:
    """Return the next number of functions along a coordinate."""
    return fourier_size(1.4 * n) if is_periodic else n + max(n // 4, 2)


def _with_intervals(resolution: Resolution, edges: Sequence[tuple[float, ...]], n: int) -> Resolution:
    """Return the resolution with other intervals, of n polynomials each."""
    sizes = tuple((len(e) - 1) * (n - m) + m for e, m in zip(edges, resolution.orders, strict=True))
    return replace(resolution, sizes=sizes, edges=tuple(edges))
