r"""Confidence intervals from the profile S(θ_k), the minimum of the misfit over the other parameters."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

_MAX_STEPS = 30
_RISE_TOLERANCE = 1e-3  # relative to the rise that bounds the interval
_STEP_GROWTH = 1.7


def profile_interval(
    profile: Callable[[float], float], best: float, std: float, rise: float, low: float, high: float
) -> tuple[float, float]:
    """Return the points on both sides of ``best`` where ``profile`` reaches ``rise``, or the bounds.

    ``profile`` is zero at ``best``.
    """
    return (
        _interval_end(profile, best, -std, rise, low),
        _interval_end(profile, best, std, rise, high),
    )


def _interval_end(
    profile: Callable[[float], float], best: float, step: float, rise: float, bound: float
) -> float:
    inside, outside = best, None
    at_inside, at_outside = 0.0, np.nan
    h = step * np.sqrt(rise)
    for _ in range(_MAX_STEPS):
        if outside is None:
            x = inside + h
            if (step > 0 and x >= bound) or (step < 0 and x <= bound):
                x = bound
        else:
            # A secant step for √S, which is nearly linear, kept away from the ends.
            a, b = np.sqrt(max(at_inside, 0.0)), np.sqrt(at_outside)
            fraction = float(np.clip((np.sqrt(rise) - a) / max(b - a, 1e-300), 0.05, 0.95))
            x = inside + fraction * (outside - inside)
        value = profile(x)
        if abs(value - rise) <= _RISE_TOLERANCE * rise:
            return float(x)
        if value < rise:
            if x == bound:
                return bound
            inside, at_inside, h = x, value, h * (_STEP_GROWTH if outside is None else 1.0) * 0.5
        else:
            outside, at_outside = x, value
    return inside if outside is None else 0.5 * (inside + outside)


def t_quantile(level: float, degrees: int, estimated: bool) -> float:
    """Return the number of standard deviations of a two-sided interval of this confidence level.

    It is a quantile of Student's t if σ is estimated, else of the normal distribution.
    """
    from scipy import special  # scipy.stats takes a second to import

    q = 0.5 * (1.0 + level)
    return float(special.stdtrit(degrees, q) if estimated else special.ndtri(q))


def misfit_rise(level: float, degrees: int, estimated: bool) -> float:
    """Return the rise of Σr² that bounds an interval of this confidence level."""
    return t_quantile(level, degrees, estimated) ** 2
