r"""B u = g on the sides of a box, taken off one side after another: an unknown of an evolution on a box.

Functions along a coordinate that meet no condition at its ends are known by their values at its points.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pibls.arrays import Array, Complex
from pibls.assembly.evolutions.frame import Frame, Side
from pibls.assembly.evolutions.lines import Lines, LineStatement
from pibls.assembly.tensor_products.nearest import Span, at_ends, row_of
from pibls.linalg.kronecker import along


@dataclass(frozen=True)
class Bound:
    """An unknown between its sides."""

    spans: tuple[Span, ...]
    sides: tuple[tuple[slice, Side, Array], ...]
    """Rows of each side across the coordinates in order, and what they are divided by."""
    is_uniform: bool
    """Whether conditions are the same all along their sides."""

    @classmethod
    def of(cls, lines: Lines, frame: Frame, k: int, weights: Sequence[Array]) -> Bound | None:
        """None where the ends do not hold it."""
        ends: list[list[Array]] = [[] for _ in frame.sizes]
        sides, exact = [], True
        equations = len(frame.order)
        for number, (unknown, mine) in enumerate(frame.conditions, start=equations):
            g, first, done = lines.groups[number], lines.firsts[number], 0
            for side in mine:
                rows = int(np.prod(side.counts))
                if unknown == k:
                    scale, row, uniform = _condition(
                        g, weights[number][:, done : done + rows], k, side, frame
                    )
                    if not row.any():
                        return None
                    ends[side.axis].append(row)
                    sides.append((slice(first + done, first + done + rows), side, scale))
                    exact = exact and uniform
                done += rows
        spans = []
        for i, strand in enumerate(frame.strands):
            every = strand.at(frame.points(k, i))
            values = every[: frame.count(k, i)]
            conditions = np.array(ends[i]).reshape(-1, strand.size)
            bounded = at_ends(values, conditions, strand.lowest(len(conditions) + 2))
            if bounded is None:
                return None
            inverse = np.asarray(np.linalg.inv(every), dtype=float)
            spans.append(Span(values, conditions, *bounded, inverse))
        return cls(tuple(spans), tuple(sorted(sides, key=lambda s: s[1].axis)), exact)

    def lifted(self, B: Complex) -> Complex | None:
        """A function with what the sides ask, one side after another; None where they ask for nothing."""
        U: Any = None
        for i, span in enumerate(self.spans):
            mine = [
                (B[rows] / scale[:, None]).reshape(*side.counts, -1)
                for rows, side, scale in self.sides
                if side.axis == i
            ]
            if not any(map(np.any, mine)) and (U is None or not mine):
                continue
            D = np.concatenate(mine, axis=i)
            for j, other in enumerate(self.spans[i + 1 :], start=i + 1):
                D = along(other.from_values, D, j)
            if U is not None:
                known = along(span.conditions, U, i)
                for j, other in enumerate(self.spans[:i]):
                    known = along(other.values, known, j)
                D = D - known
            for j, other in enumerate(self.spans[:i]):
                D = along(other.free, D, j)
            made = along(span.lift, D, i)
            U = made if U is None else U + made
        return None if U is None else np.asarray(U)


def _condition(g: LineStatement, W: Array, k: int, side: Side, frame: Frame) -> tuple[Array, Array, bool]:
    """The rows of a side as one, of the unknown k; what it says of others is no part of it."""
    i, end = side.axis, np.array([2.0 * side.end - 1.0])

    def at_end(order: int) -> Array:
        return np.asarray(frame.strands[i].at(end, order)[0] / frame.half[i] ** order)

    each = [(unknown == k, alpha, c) for (_, unknown, alpha, _), c in zip(g.terms, W, strict=True)]
    scale, row, uniform = row_of([(alpha, c) for own, alpha, c in each if own], frame.half, i, at_end)
    return scale, row, uniform and not any(c.any() for own, _, c in each if not own)
