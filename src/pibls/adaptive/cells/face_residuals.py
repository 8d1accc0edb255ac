r"""Residuals T_c w_c - λ on the faces of a cell and B_c w_c - g on ∂Ω, which reveal singular points.

Next to a singular point the functions of a cell are smooth and satisfy the equation between all points:
spectral tails and interior residuals are small although the error is not. The mismatch with conditions and
neighbours on the faces is about as large as the error (r^(2/3) in a corner: a third to all of it).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pibls.adaptive.thresholds import FACE_RESIDUALS
from pibls.arrays import Array, Indices, Mask


@dataclass(frozen=True)
class FaceResiduals:
    """Largest face residual of each cell, its position, and the pairs of neighbouring cells."""

    max_residual: Array
    points: Array
    neighbours: Indices

    def max_of_neighbours(self, values: Array) -> Array:
        """Return the largest value of the neighbours of each cell."""
        low, high = self.neighbours.T
        out = np.zeros(len(values))
        np.maximum.at(out, low, values[high])
        np.maximum.at(out, high, values[low])
        return out

    def originating(self, smooth: Array) -> Array:
        """Return the face residuals that originate in the cell itself, and zero for the other cells.

        A residual originates elsewhere if a neighbour has a larger one, or if a cell in the vicinity has a
        large interior indicator ``smooth``. Both cells of a face have similar residuals; they decrease by a
        factor of three to ten from cell to cell.
        """
        around = self.max_of_neighbours(np.maximum(smooth, self.max_of_neighbours(smooth)))
        mine = (
            self.max_residual
            >= FACE_RESIDUALS.min_neighbour_ratio * self.max_of_neighbours(self.max_residual)
        ) & (around < FACE_RESIDUALS.max_neighbour_indicator * self.max_residual)
        return np.where(mine, self.max_residual, 0.0)

    def snap_to_corners(self, boxes: Array) -> tuple[Array, Mask]:
        """Return the points moved to a nearby corner of the cell, where singularities usually are."""
        lengths = boxes[:, :, 1] - boxes[:, :, 0]
        share = (self.points - boxes[:, :, 0]) / lengths
        near = np.abs(share - np.round(share)).max(axis=1) < FACE_RESIDUALS.corner_distance
        corners = boxes[:, :, 0] + np.round(share) * lengths
        return np.where(near[:, None], corners, self.points), np.asarray(near)

    def singular(self, smooth: Array) -> Mask:
        """Return the cells whose face residual is much larger than their interior indicator."""
        own = self.originating(smooth)
        known = (
            max(float(own.max(initial=0.0)), float(smooth.max(initial=0.0)))
            < FACE_RESIDUALS.max_resolved_indicator
        )
        return np.asarray((own > FACE_RESIDUALS.min_singular_ratio * smooth) & known)


def share_at_corners(boxes: Array, indicator: Array, places: Array, at_corners: Mask) -> Array:
    """Assign to all cells that meet in a singular corner the largest indicator among them.

    ``places`` and ``at_corners`` are updated for these cells.
    """
    out = indicator.copy()
    slack = 1e-6 * (boxes[:, :, 1] - boxes[:, :, 0])
    for cell in np.flatnonzero(at_corners):
        place = places[cell]
        meet = ((boxes[:, :, 0] - slack <= place) & (boxes[:, :, 1] + slack >= place)).all(axis=1)
        meet &= out <= indicator[cell]
        out[meet] = indicator[cell]
        places[meet] = place
        at_corners[meet] = True
    return out
