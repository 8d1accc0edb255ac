r"""S(θ_k) = min over the others: the interval where the misfit rises by no more than chance allows."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

_HALVINGS = 30
_EXACT = 1e-3  # of the rise that is looked for
_STRETCH = 1.7


def profile_interval(
    profile: Callable[[float], float], best: float, std: float, rise: float, low: float, high: float
) -> tuple[float, float]:
    """Where ``profile`` (zero at ``best``) reaches ``rise``, on both sides; a bound where it does not."""
    return (
        _side(profile, best, -std, rise, low),
        _side(profile, best, std, rise, high),
    )


def _side(profile: Callable[[float], float], best: float, step: float, rise: float, bound: float) -> float:
    inside, outside = best, None
    at_inside, at_outside = 0.0, np.nan
    h = step * np.sqrt(rise)
    for _ in range(_HALVINGS):
        if outside is None:
            x = inside + h
            if (step > 0 and x >= bound) or (step < 0 and x <= bound):
                x = bound
        else:
            # √S is nearly linear: a secant, kept away from the ends.
            a, b = np.sqrt(max(at_inside, 0.0)), np.sqrt(at_outside)
            share = float(np.clip((np.sqrt(rise) - a) / max(b - a, 1e-300), 0.05, 0.95))
            x = inside + share * (outside - inside)
        value = profile(x)
        if abs(value - rise) <= _EXACT * rise:
            return float(x)
        if value < rise:
            if x == bound:
                return bound
            inside, at_inside, h = x, value, h * (_STRETCH if outside is None else 1.0) * 0.5
        else:
            outside, at_outside = x, value
    return inside if outside is None else 0.5 * (inside + outside)


def t_quantile(level: float, degrees: int, estimated: bool) -> float:
    """How many standard deviations hold ``level`` of the probability on both sides."""
    from scipy import special  # scipy.stats takes a second to import

    q = 0.5 * (1.0 + level)
    return float(special.stdtrit(degrees, q) if estimated else special.ndtri(q))


def rise_of(level: float, degrees: int, estimated: bool) -> float:
    """The rise of Σr² that bounds an interval of that level."""
    return t_quantile(level, degrees, estimated) ** 2
