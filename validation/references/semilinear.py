"""Semilinear evolutions by modes in space and Chebyshev collocation in time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from validation.references.chebyshev import chebyshev, coefficient_matrix, piecewise
from validation.statements.types import Array, Reference


def semilinear(
    rates: npt.NDArray[Any],
    start: npt.NDArray[Any],
    nonlinear: Callable[[npt.NDArray[Any]], npt.NDArray[Any]],
    breaks: Sequence[float],
    n: int = 14,
) -> Callable[[npt.ArrayLike], npt.NDArray[Any]]:
    """Chebyshev collocation in time for y' = rates*y + nonlinear(y), the linear part exact.

    The state is (modes,), `nonlinear` maps (modes, times) to the same shape. The windows are the breaks.
    """
    _, matrix = chebyshev(n)
    integrate, to_coefficients = np.linalg.inv(matrix[1:, 1:]), coefficient_matrix(n)
    value, pieces = start.copy(), []
    for a, b in pairwise(breaks):
        h = b - a
        solver = np.linalg.inv(np.eye(n)[None] - h / 2 * rates[:, None, None] * integrate[None])
        guess, before = np.repeat(value[:, None], n, axis=1), np.inf
        for _ in range(80):
            right = value[:, None] + h / 2 * nonlinear(guess) @ integrate.T
            new = np.einsum("mpq,mq->mp", solver, right)
            change = np.max(np.abs(new - guess)) / np.max(np.abs(new))
            guess = new
            if change < 5e-16 or (change < 1e-13 and change > before / 2):
                break
            before = change
        pieces.append(to_coefficients @ np.column_stack([value, guess]).T)
        value = guess[:, -1].copy()
    return piecewise(np.array(breaks, dtype=float), np.array(pieces))


def on_times(
    solve: Callable[[npt.ArrayLike], npt.NDArray[Any]],
    basis: Callable[[Array], npt.NDArray[Any]],
    part: slice,
) -> Reference:
    """A function of (x, t) from modes in time and their shapes in space, (points, modes)."""

    def evaluate(xs: Array, ts: Array) -> Array:
        xs, ts = np.broadcast_arrays(np.asarray(xs, dtype=float), np.asarray(ts, dtype=float))
        modes = solve(ts.ravel())[part]
        values = np.einsum("pm,mp->p", basis(xs.ravel()), modes)
        found: Array = np.real(values).reshape(xs.shape)
        return found

    return evaluate
