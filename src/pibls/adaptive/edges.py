r"""a = e₀ < e₁ < … < e_P = b: the pieces that an axis of a box is divided into, steady or in time."""

from __future__ import annotations

import itertools

import numpy as np
import numpy.typing as npt

from pibls.adaptive.thresholds import AXES

Marked = npt.NDArray[np.bool_]


def towards_ends(
    edges: tuple[float, ...],
    low: Marked,
    high: Marked,
    halved: Marked,
) -> tuple[float, ...]:
    """Pieces divided close to their ``low`` or ``high`` end, or ``halved``."""
    out = [edges[0]]
    for p, (a, b) in enumerate(itertools.pairwise(edges)):
        out += [a + AXES.towards * (b - a)] if low[p] else []
        out += [b - AXES.towards * (b - a)] if high[p] else []
        out += [0.5 * (a + b)] if halved[p] else []
        out.append(b)
    return tuple(out)


def moved_edges(edges: tuple[float, ...], kept: set[float]) -> tuple[float, ...]:
    """Those of pieces that reach from the middle of one to the middle of the next."""
    out = [edges[0]]
    for low, high in itertools.pairwise(edges):
        if low in kept:
            out.append(low)
        # Of a single piece not the middle: what is symmetric has an edge there by chance.
        alone = len(edges) == 2
        out.append(low + (0.45 if alone else 0.5) * (high - low))
    out.append(edges[-1])
    return tuple(out)
