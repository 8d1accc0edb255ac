"""Initial value problems: Chebyshev collocation in windows, and SciPy as a second computation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.integrate

from validation.references.chebyshev import chebyshev, coefficient_matrix, jacobian, piecewise
from validation.statements.types import Array, Lazy, References


def spectral_ivp(
    rhs: Callable[[Array, Array], Any],
    start: Sequence[float],
    end: float,
    *,
    n: int = 20,
    tail: float = 3e-15,
) -> Callable[[npt.ArrayLike], npt.NDArray[Any]]:
    """Adaptive Chebyshev collocation in windows for y' = rhs(t, y), from 0 to end."""

    def f(s: Array, v: Array) -> Array:
        return np.array([np.broadcast_to(c, s.shape) for c in rhs(s, v)], dtype=float)

    nodes, matrix = chebyshev(n)
    integrate, to_coefficients = np.linalg.inv(matrix[1:, 1:]), coefficient_matrix(n)
    now, value, h = 0.0, np.array(start, dtype=float), end / 50
    size = np.abs(value) + 1e-300
    d, breaks, pieces = len(value), [0.0], []
    while now < end * (1 - 1e-14):
        h = min(h, end - now)
        s = now + h * (nodes[1:] + 1) / 2
        guess, good = np.repeat(value[:, None], n, axis=1), False
        for iteration in range(25):
            defect = guess - value[:, None] - h / 2 * f(s, guess) @ integrate.T
            if not np.all(np.isfinite(defect)):
                break
            if iteration % 3 == 0 or iteration < 4:
                jac = jacobian(f, s, guess)
                big = np.eye(d * n) - h / 2 * np.einsum("pq,ijq->ipjq", integrate, jac).reshape(d * n, d * n)
                inverse = np.linalg.inv(big)
            step = (inverse @ defect.ravel()).reshape(d, n)
            guess = guess - step
            if np.all(np.abs(step).max(axis=1) <= 1e-15 * np.maximum(size, np.abs(guess).max(axis=1))):
                good = True
                break
            if iteration > 8 and np.all(np.abs(step).max(axis=1) <= 4e-14 * np.maximum(size, 1e-300)):
                good = True
                break
        series = to_coefficients @ np.column_stack([value, guess]).T
        scale = np.maximum(size, np.abs(guess).max(axis=1))
        remainder = np.max(np.abs(series[-2:]).max(axis=0) / scale) if good else np.inf
        if remainder > tail and h > end * 1e-12:
            h *= 0.6
            continue
        now += h
        breaks.append(now)
        pieces.append(series)
        value, size = guess[:, -1].copy(), scale
        h *= 1.4 if remainder < tail / 8 else 1.0
    breaks[-1] = end
    return piecewise(np.array(breaks), np.array(pieces))


def dop853(
    rhs: Callable[..., Any], start: Sequence[float], end: float, method: str = "DOP853"
) -> Callable[..., Any]:
    """SciPy's solution of the same equations, as a second opinion."""
    size = np.maximum(np.abs(np.array(start, dtype=float)), 1e-6)
    rtol = 1e-13 if method == "DOP853" else 3e-12
    sol = scipy.integrate.solve_ivp(
        rhs, (0.0, end), list(start), method=method, rtol=rtol, atol=rtol * size * 1e-2, dense_output=True
    )
    return lambda s: sol.sol(np.asarray(s, dtype=float).ravel())


def initial_value(
    names: str, rhs: Callable[..., Any], start: Sequence[float], end: float, method: str | None = None
) -> Lazy:
    """References of an initial value problem; components beyond the names are derivatives."""

    def make() -> References:
        solve = spectral_ivp(rhs, start, end) if method is None else dop853(rhs, start, end, method)
        return {
            name: (lambda s, _i=i: np.reshape(solve(s)[_i], np.shape(s)))
            for i, name in enumerate(names.split())
        }

    return make
