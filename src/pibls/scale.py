"""R(N, d): the scale at which N random features just stop being numerically rank-deficient."""

from __future__ import annotations

import math

# Sine features, rank fraction 0.7, inputs in [-1, 1]^d: log-log interpolation between these widths.
_WIDTHS = (32, 64, 128, 256, 512)
_RADII = {1: (9.5, 33.0, 95.0, 223.0, 405.0), 2: (0.1, 0.27, 1.25, 3.8, 9.1)}


def sine_scale(nodes: int, dimension: int) -> float:
    """The radius for ``nodes`` sine features; a power law beyond the measured dimensions."""
    if dimension > 2:
        return 0.55 * nodes ** (1.0 / dimension)
    radii = _RADII[dimension]
    n = min(max(nodes, _WIDTHS[0]), 4 * _WIDTHS[-1])
    i = next((i for i in range(1, len(_WIDTHS)) if n <= _WIDTHS[i]), len(_WIDTHS) - 1)
    a, b = _WIDTHS[i - 1], _WIDTHS[i]
    p = math.log(radii[i] / radii[i - 1]) / math.log(b / a)
    return radii[i - 1] * (n / a) ** p
