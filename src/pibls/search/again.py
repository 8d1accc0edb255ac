r"""A w = b, A w = b': a linear window that does not depend on time is factored once for all that follow."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from pibls.arrays import Array
from pibls.problem.lowering import LoweredProblem, Residual
from pibls.space import Cells, Whole
from pibls.system.cells import CellSystem
from pibls.system.points import PointSet
from pibls.system.system import Block, System

_EPS = float(np.finfo(float).eps)


@dataclass(frozen=True)
class Again:
    """A solved window with its factors, for another one of the same length in the same cells."""

    axis: int
    boxes: Array = field(repr=False)
    """Those of its cells, (cells, d, 2)."""
    system: System | CellSystem = field(repr=False)
    factors: Any = field(repr=False)

    def moved(
        self, lowered: LoweredProblem, boxes: Array, space: Whole | Cells
    ) -> System | CellSystem | None:
        """The system of another window: the same operator with other data; None where it is another one."""
        if boxes.shape != self.boxes.shape or lowered.interfaces.fluxes or lowered.interfaces.sources:
            return None
        shift = float(boxes[0, self.axis, 0] - self.boxes[0, self.axis, 0])
        there = self.boxes.copy()
        there[:, self.axis] += shift
        if np.abs(there - boxes).max() > 4.0 * _EPS * np.abs(boxes).max():
            return None
        residuals = {r.name: r for r in lowered.residuals}
        if isinstance(self.system, System):
            assert isinstance(space, Whole)
            return _moved(self.system, residuals, space, self.axis, shift)
        assert isinstance(space, Cells)
        systems = []
        for one, part in zip(self.system.systems, space.parts, strict=True):
            found = _moved(one, residuals, part, self.axis, shift)
            if found is None:
                return None
            systems.append(found)
        return replace(self.system, space=space, systems=tuple(systems))


def _moved(
    system: System, residuals: Mapping[str, Residual], space: Whole, axis: int, shift: float
) -> System | None:
    constant = np.empty_like(system.constant)
    blocks = []
    for block in system.blocks:
        r = residuals.get(block.name)
        if r is None:
            return None
        before = block.points
        points = PointSet(tuple(_later(X, axis, shift) for X in before.sites), before.normals)
        X, data = points.sites[0], r.known_data(points.sites[0])
        old = block.residual.coefficients(before.sites[0], before.normals, block.data)
        if not np.array_equal(r.coefficients(X, points.normals, data), old):
            return None
        constant[block.rows] = r.rest(X, points.normals, data, np.empty((0, len(X))))
        blocks.append(Block(r, points, block.rows, data, ()))
    if not np.isfinite(constant).all():
        return None
    return replace(system, space=space, blocks=tuple(blocks), constant=constant)


def _later(X: Array, axis: int, shift: float) -> Array:
    out = X.copy()
    out[:, axis] += shift
    return out
