r"""B ∩ Ω: which part of each cell lies inside the domain, and the box around that part.

The functions of a cell that the boundary cuts are drawn for the box around what is inside: in a sliver they
would be told apart by hardly anything. What they do outside means nothing, and is not asked for.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from pibls.arrays import Array
from pibls.basis.quasi import spread
from pibls.domain import Domain

_FEW = 40
_PROBES = {1: 64, 2: 400, 3: 1000}


@dataclass(frozen=True)
class Filled:
    """What is known of the boxes that were asked for."""

    domain: Domain
    known: dict[bytes, tuple[Array, Array | None]] = field(default_factory=dict, repr=False)

    def of(self, boxes: Array) -> tuple[Array, list[Array | None]]:
        """The box around the inside part of each box (M, d, 2); points of it, None where that is all."""
        asked = [b for b in boxes if b.tobytes() not in self.known]
        if asked:
            self._look(np.array(asked))
        found = [self.known[b.tobytes()] for b in boxes]
        return np.array([box for box, _ in found]), [points for _, points in found]

    def _look(self, boxes: Array) -> None:
        d = boxes.shape[1]
        n = _PROBES[d]
        U = spread(n, d, 5)
        lengths = boxes[:, :, 1] - boxes[:, :, 0]
        X = boxes[:, None, :, 0] + lengths[:, None, :] * U
        inside = np.asarray(self.domain.contains(X.reshape(-1, d)), dtype=bool).reshape(len(boxes), n)
        margin = 1.0 / n ** (1.0 / d)
        for box, Y, mask in zip(boxes, X, inside, strict=True):
            if mask.sum() < _FEW or mask.all():  # a few points do not say how far a sliver goes
                self.known[box.tobytes()] = box, None if mask.all() else Y[mask]
                continue
            low, high = U[mask].min(axis=0) - margin, U[mask].max(axis=0) + margin
            ends = np.stack(
                [np.where(low < margin, 0.0, low), np.where(high > 1.0 - margin, 1.0, high)], axis=1
            )
            length = box[:, 1:] - box[:, :1]
            self.known[box.tobytes()] = box[:, :1] + length * ends, Y[mask]
