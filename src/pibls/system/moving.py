r"""A w = b ↦ A w = b(t + s): the system of a later window, where its operator is the same."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from pibls.arrays import Array
from pibls.problem.lowering import Residual
from pibls.space import Whole
from pibls.system.points import PointSet
from pibls.system.system import Block, System


def moved(
    system: System, residuals: Mapping[str, Residual], space: Whole, axis: int, shift: float
) -> System | None:
    """The same matrix with the data of points moved along an axis; None where coefficients differ there."""
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
