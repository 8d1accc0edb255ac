r"""Partitions a = e₀ < e₁ < … < e_P = b of an axis of a box into intervals."""

from __future__ import annotations

import itertools

import numpy as np
import numpy.typing as npt

GRADING_RATIO = 0.15
"""Position of the new edge in an interval at a singular end; each division gains 1.6 digits for r² log r."""

BoolArray = npt.NDArray[np.bool_]


def refine_partition(
    edges: tuple[float, ...],
    low: BoolArray,
    high: BoolArray,
    halved: BoolArray,
) -> tuple[float, ...]:
    """Divide intervals close to their ``low`` or ``high`` end, or in the middle if ``halved``."""
    out = [edges[0]]
    for p, (a, b) in enumerate(itertools.pairwise(edges)):
        out += [a + GRADING_RATIO * (b - a)] if low[p] else []
        out += [b - GRADING_RATIO * (b - a)] if high[p] else []
        out += [0.5 * (a + b)] if halved[p] else []
        out.append(b)
    return tuple(out)


def shifted_edges(edges: tuple[float, ...], kept: set[float]) -> tuple[float, ...]:
    """Return edges at the midpoints of the intervals, for a companion solution; ``kept`` edges remain."""
    out = [edges[0]]
    for low, high in itertools.pairwise(edges):
        if low in kept:
            out.append(low)
        # Not the middle of a single interval: for a symmetric solution it is a special point.
        alone = len(edges) == 2
        out.append(low + (0.45 if alone else 0.5) * (high - low))
    out.append(edges[-1])
    return tuple(out)
