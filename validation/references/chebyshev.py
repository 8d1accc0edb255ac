"""Chebyshev points, differentiation matrices and piecewise Chebyshev series."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from validation.statements.types import Array


@cache
def chebyshev(n: int) -> tuple[Array, Array]:
    """Chebyshev points from -1 to 1 and the differentiation matrix on them."""
    nodes = -np.cos(np.pi * np.arange(n + 1) / n)
    weights = np.where(np.arange(n + 1) % 2 == 0, 1.0, -1.0)
    weights[[0, -1]] *= 0.5
    gap = nodes[:, None] - nodes[None, :] + np.eye(n + 1)
    matrix = weights[None, :] / weights[:, None] / gap
    np.fill_diagonal(matrix, 0.0)
    np.fill_diagonal(matrix, -matrix.sum(axis=1))
    return nodes, matrix


@cache
def coefficient_matrix(n: int) -> Array:
    """The matrix from values at Chebyshev points to Chebyshev coefficients."""
    nodes, _ = chebyshev(n)
    matrix: Array = np.linalg.inv(np.polynomial.chebyshev.chebvander(nodes, n))
    return matrix


def piecewise(breaks: Array, coefficients: Array) -> Callable[[npt.ArrayLike], npt.NDArray[Any]]:
    """Evaluate piecewise Chebyshev series; coefficients have the shape (pieces, degree + 1, components)."""

    def evaluate(points: npt.ArrayLike) -> npt.NDArray[Any]:
        flat = np.asarray(points, dtype=float).ravel()
        k = np.clip(np.searchsorted(breaks, flat, side="right") - 1, 0, len(breaks) - 2)
        s = (2 * flat - breaks[k] - breaks[k + 1]) / (breaks[k + 1] - breaks[k])
        vander = np.polynomial.chebyshev.chebvander(s, coefficients.shape[1] - 1)
        found: npt.NDArray[Any] = np.einsum("pj,pjd->dp", vander, coefficients[k])
        return found

    return evaluate


def jacobian(rhs: Callable[..., Array], s: Array, values: Array) -> Array:
    """Difference quotients of the right-hand side by the components, (d, d, points)."""
    base = rhs(s, values)
    result = np.empty((len(values), len(values), len(s)))
    for j in range(len(values)):
        step = 1e-7 * np.maximum(np.abs(values[j]), 1e-3 * np.max(np.abs(values[j])) + 1e-12)
        moved = values.copy()
        moved[j] += step
        result[:, j] = (rhs(s, moved) - base) / step
    return result
