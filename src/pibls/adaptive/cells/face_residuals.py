r"""T_c w_c - λ on the faces of a cell, B_c w_c - g on ∂Ω: what its functions cannot do shows on its sides.

Next to a singular place the functions of a cell are smooth, and fulfil the equation between all points: tails
and residuals are small, and the error is not. It stands on the sides, where conditions and neighbours are
missed by about as much as the solution is off (r^(2/3) in a corner: by a third to all of it).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pibls.adaptive.thresholds import SEAMS
from pibls.arrays import Array, Mask, Numbers


@dataclass(frozen=True)
class Seams:
    """How far each cell is from its conditions and the traces on its faces, where, and who is beside it."""

    worst: Array
    places: Array
    neighbours: Numbers

    def beside(self, values: Array) -> Array:
        """The largest of what the neighbours of each cell have."""
        low, high = self.neighbours.T
        out = np.zeros(len(values))
        np.maximum.at(out, low, values[high])
        np.maximum.at(out, high, values[low])
        return out

    def own(self, smooth: Array) -> Array:
        """The same without what others have caused: a neighbour that leaves more, or one of those around it
        that resolves nothing itself, by these tails and residuals.

        Both sides of a face are off alike; what is off falls by a factor of three to ten from cell to cell.
        """
        around = self.beside(np.maximum(smooth, self.beside(smooth)))
        mine = (self.worst >= SEAMS.most * self.beside(self.worst)) & (around < SEAMS.caused * self.worst)
        return np.where(mine, self.worst, 0.0)

    def towards(self, boxes: Array) -> tuple[Array, Mask]:
        """The places, or a corner of the cell where one is near: singularities stand there mostly."""
        lengths = boxes[:, :, 1] - boxes[:, :, 0]
        share = (self.places - boxes[:, :, 0]) / lengths
        near = np.abs(share - np.round(share)).max(axis=1) < SEAMS.at_a_corner
        corners = boxes[:, :, 0] + np.round(share) * lengths
        return np.where(near[:, None], corners, self.places), np.asarray(near)

    def singular(self, smooth: Array) -> Mask:
        """Which cells leave much more on their sides than their tails and residuals tell of."""
        own = self.own(smooth)
        known = max(float(own.max(initial=0.0)), float(smooth.max(initial=0.0))) < SEAMS.large
        return np.asarray((own > SEAMS.singular * smooth) & known)


def meeting(boxes: Array, indicator: Array, places: Array, at_corners: Mask) -> Array:
    """All cells that meet in a singular corner are as far from resolved as the worst of them.

    ``places`` and ``at_corners``, which cells are singular there, are those of all of them afterwards.
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
