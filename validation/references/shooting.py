"""All solutions of a boundary value problem by shooting: u(0) = a, u'(0) = s, every s with u'(1) = b.

A nonlinear problem built from one exact solution may have others. Each of them is a valid result; the error
is the distance to the nearest one. The module is independent of pibls.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.integrate
import scipy.optimize

from pibls.arrays import Array

Rates = Callable[[float, Array], Array]
STEPS = 1500  # minimum number of steps, so that the interpolant is as accurate as the values


def integrate(rates: Rates, start: Array, ends: tuple[float, float], **options: Any) -> Any:
    """Integrate from one end to the other."""
    return scipy.integrate.solve_ivp(
        rates, ends, start, method="DOP853", rtol=3e-14, atol=1e-14, dense_output=True, **options
    )


def all_slopes(miss: Callable[[float], float], slopes: Array) -> list[float]:
    """Return all zeros of ``miss`` with a sign change between two of these slopes."""
    values = [miss(s) for s in slopes]
    return [
        float(scipy.optimize.brentq(miss, *ends, xtol=1e-15, rtol=1e-14))
        for ends, (a, b) in zip(pairwise(slopes), pairwise(values), strict=True)
        if np.isfinite(a) and np.isfinite(b) and a * b < 0
    ]


def conductivity_of_u() -> list[Callable[[Array], Array]]:
    """Return the solutions of ((1 + u²)u')' - u = f, u(0) = 2, u'(1) = 5 cos 5, f from u = 2 + sin 5x."""

    def source(x: float) -> float:
        u, slope, second = 2.0 + np.sin(5.0 * x), 5.0 * np.cos(5.0 * x), -25.0 * np.sin(5.0 * x)
        return float((1.0 + u**2) * second + 2.0 * u * slope**2 - u)

    def rates(x: float, state: Array) -> Array:
        u, flux = state
        return np.array([flux / (1.0 + u**2), u + source(x)])

    def miss(slope: float) -> float:
        u, flux = integrate(rates, np.array([2.0, 5.0 * slope]), (0.0, 1.0)).y[:, -1]
        return float(flux / (1.0 + u**2) - 5.0 * np.cos(5.0))

    trajectories = [
        integrate(rates, np.array([2.0, 5.0 * s]), (0.0, 1.0), max_step=1.0 / STEPS)
        for s in all_slopes(miss, np.linspace(-30.0, 30.0, 241))
    ]

    def function(trajectory: Any) -> Callable[[Array], Array]:
        return lambda x: np.asarray(trajectory.sol(x)[0])

    return [function(trajectory) for trajectory in trajectories]


OTHERS = {"conductivity of u": conductivity_of_u}
"""The problems of `validation.sets.unseen` that are known to have several solutions."""
