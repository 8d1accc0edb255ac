r"""Conditions B u = g of an unknown on the sides of a box, and the lifting of their data.

The data are lifted one coordinate after the other. The remainder satisfies homogeneous conditions and is
determined by its values at the collocation points.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pibls.arrays import Array, Complex
from pibls.assembly.evolutions.semidiscrete import SemidiscreteStatement, SemidiscreteSystem
from pibls.assembly.evolutions.tensor_layout import Side, TensorLayout
from pibls.assembly.tensor_products.separable import ConstrainedAxis, lift_and_homogeneous, uniform_row
from pibls.linalg.kronecker import apply_along


@dataclass(frozen=True)
class SideConditions:
    """The conditions of one unknown on all sides."""

    axes: tuple[ConstrainedAxis, ...]
    sides: tuple[tuple[slice, Side, Array], ...]
    """Rows, side and divisors, ordered by coordinate."""
    is_uniform: bool
    """Whether the conditions are uniform along their sides."""

    @classmethod
    def of(
        cls, system: SemidiscreteSystem, layout: TensorLayout, k: int, weights: Sequence[Array]
    ) -> SideConditions | None:
        """Return the conditions of unknown k, or None if they do not determine it."""
        ends: list[list[Array]] = [[] for _ in layout.sizes]
        sides, exact = [], True
        equations = len(layout.equation_unknowns)
        for number, (unknown, mine) in enumerate(layout.conditions, start=equations):
            g, first, done = system.statements[number], system.first_rows[number], 0
            for side in mine:
                rows = int(np.prod(side.counts))
                if unknown == k:
                    scale, row, uniform = _condition(
                        g, weights[number][:, done : done + rows], k, side, layout
                    )
                    if not row.any():
                        return None
                    ends[side.axis].append(row)
                    sides.append((slice(first + done, first + done + rows), side, scale))
                    exact = exact and uniform
                done += rows
        axes = []
        for i, basis in enumerate(layout.axis_bases):
            every = basis.evaluate(layout.points(k, i))
            values = every[: layout.equation_point_count(k, i)]
            conditions = np.array(ends[i]).reshape(-1, basis.size)
            bounded = lift_and_homogeneous(
                values, conditions, basis.low_degree_polynomials(len(conditions) + 2)
            )
            if bounded is None:
                return None
            inverse = np.asarray(np.linalg.inv(every), dtype=float)
            axes.append(ConstrainedAxis(values, conditions, *bounded, inverse))
        return cls(tuple(axes), tuple(sorted(sides, key=lambda s: s[1].axis)), exact)

    def lift(self, B: Complex) -> Complex | None:
        """Return a function that satisfies the conditions on all sides; None if all data are zero."""
        U: Any = None
        for i, span in enumerate(self.axes):
            mine = [
                (B[rows] / scale[:, None]).reshape(*side.counts, -1)
                for rows, side, scale in self.sides
                if side.axis == i
            ]
            if not any(map(np.any, mine)) and (U is None or not mine):
                continue
            D = np.concatenate(mine, axis=i)
            for j, other in enumerate(self.axes[i + 1 :], start=i + 1):
                D = apply_along(other.from_values, D, j)
            if U is not None:
                known = apply_along(span.conditions, U, i)
                for j, other in enumerate(self.axes[:i]):
                    known = apply_along(other.values, known, j)
                D = D - known
            for j, other in enumerate(self.axes[:i]):
                D = apply_along(other.from_node_values, D, j)
            made = apply_along(span.lift, D, i)
            U = made if U is None else U + made
        return None if U is None else np.asarray(U)


def _condition(
    g: SemidiscreteStatement, W: Array, k: int, side: Side, layout: TensorLayout
) -> tuple[Array, Array, bool]:
    """Return the rows of a side as one row of unknown k, without the terms of other unknowns."""
    i, end = side.axis, np.array([2.0 * side.end - 1.0])

    def at_end(order: int) -> Array:
        return np.asarray(layout.axis_bases[i].evaluate(end, order)[0] / layout.half_lengths[i] ** order)

    each = [(unknown == k, alpha, c) for (_, unknown, alpha, _), c in zip(g.terms, W, strict=True)]
    scale, row, uniform = uniform_row(
        [(alpha, c) for own, alpha, c in each if own], layout.half_lengths, i, at_end
    )
    return scale, row, uniform and not any(c.any() for own, _, c in each if not own)
