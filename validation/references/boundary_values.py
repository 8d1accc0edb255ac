"""Boundary value problems on an interval: piecewise Chebyshev collocation, and SciPy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.integrate

from validation.references.chebyshev import chebyshev, coefficient_matrix, jacobian, piecewise
from validation.statements.types import Array, Lazy, References


def spectral_bvp(
    rhs: Callable[[Array, Array], Any],
    ends: Callable[[Array, Array], Any],
    breaks: Sequence[float],
    guess: Callable[[Array], Any],
    *,
    n: int = 24,
) -> Callable[[npt.ArrayLike], npt.NDArray[Any]]:
    """Piecewise Chebyshev collocation with Newton for y' = rhs(x, y), ends(y(a), y(b)) = 0."""
    edges, (nodes, matrix) = np.array(breaks, dtype=float), chebyshev(n)
    pieces = len(edges) - 1
    s = (edges[:-1, None] + np.diff(edges)[:, None] * (nodes + 1) / 2).ravel()

    def f(p: Array, v: Array) -> Array:
        return np.array([np.broadcast_to(c, p.shape) for c in rhs(p, v)], dtype=float)

    values = np.array([np.broadcast_to(c, s.shape) for c in guess(s)], dtype=float)
    d, m = values.shape
    derive = np.zeros((m, m))
    for k in range(pieces):
        here = slice(k * (n + 1), (k + 1) * (n + 1))
        derive[here, here] = matrix * 2 / (edges[k + 1] - edges[k])
    keep = np.array([i for i in range(m) if i % (n + 1) != 0])
    joins = [(k * (n + 1) - 1, k * (n + 1)) for k in range(1, pieces)]
    damping = 1.0
    for _ in range(200):
        jac = jacobian(f, s, values)
        rows, defects = [], []
        residual = values @ derive.T - f(s, values)
        for i in range(d):
            block = np.zeros((len(keep), d, m))
            block[:, i, :] = derive[keep]
            for j in range(d):
                block[np.arange(len(keep)), j, keep] -= jac[i, j, keep]
            rows.append(block.reshape(len(keep), d * m))
            defects.append(residual[i, keep])
            for left, right in joins:
                row = np.zeros((d, m))
                row[i, left], row[i, right] = 1.0, -1.0
                rows.append(row.reshape(1, -1))
                defects.append(np.array([values[i, left] - values[i, right]]))
        base = np.array(ends(values[:, 0], values[:, -1]), dtype=float)
        block = np.zeros((len(base), d, m))
        for j in range(d):
            for at in (0, m - 1):
                moved = [values[:, 0].copy(), values[:, -1].copy()]
                step = 1e-7 * max(abs(values[j, at]), 1e-3)
                moved[0 if at == 0 else 1][j] += step
                block[:, j, at] += (np.array(ends(*moved), dtype=float) - base) / step
        rows.append(block.reshape(len(base), d * m))
        defects.append(base)
        big, defect = np.vstack(rows), np.concatenate(defects)
        weight = 1 / np.abs(big).max(axis=1)
        update = np.linalg.solve(big * weight[:, None], defect * weight).reshape(d, m)
        relative = np.max(np.abs(update).max(axis=1) / (np.abs(values).max(axis=1) + 1e-300))
        damping = min(1.0, 0.7 / relative) if relative > 0.7 else 1.0
        values = values - damping * update
        if relative < 3e-13:
            break
    series = np.einsum("ij,pjd->pid", coefficient_matrix(n), values.T.reshape(pieces, n + 1, d))
    return piecewise(edges, series)


def boundary_value(
    names: str,
    rhs: Callable[..., Any],
    ends: Callable[..., Any],
    breaks: Sequence[float],
    guess: Callable[..., Any],
    scipy_tol: float | None = None,
) -> Lazy:
    """References of a boundary value problem, by collocation of our own or by SciPy's solve_bvp."""

    def make() -> References:
        if scipy_tol is None:
            solve = spectral_bvp(rhs, ends, breaks, guess)
        else:
            mesh = np.unique(np.concatenate([np.linspace(a, b, 60) for a, b in pairwise(breaks)]))
            start = np.array([np.broadcast_to(c, mesh.shape) for c in guess(mesh)], dtype=float)

            def full(s: Any, v: Any) -> Any:
                return np.array([np.broadcast_to(c, s.shape) for c in rhs(s, v)])

            def bc(a: Any, b: Any) -> Any:
                return np.array(ends(a, b))

            found = scipy.integrate.solve_bvp(full, bc, mesh, start, tol=scipy_tol, max_nodes=200000)

            def solve(s: Any) -> Any:
                return found.sol(np.asarray(s, dtype=float).ravel())

        return {
            name: (lambda s, _i=i: np.reshape(solve(s)[_i], np.shape(s)))
            for i, name in enumerate(names.split())
        }

    return make


def cheb_line(n: Any, a: Any, b: Any, p2: Any, p1: Any, p0: Any, f: Any, ends: Any) -> Any:
    """p2 u'' + p1 u' + p0 u = f by one Chebyshev expansion; ends(D) gives two rows and their values."""
    nodes, D = chebyshev(n)
    q, D = a + (b - a) * (nodes + 1) / 2, D * 2 / (b - a)
    A = p2 * D @ D + np.diag(p1(q)) @ D + np.diag(p0(q))
    right = f(q).copy()
    (A[0], right[0]), (A[-1], right[-1]) = ends(D)
    weight = 1 / np.abs(A).max(axis=1)
    c = coefficient_matrix(n) @ np.linalg.solve(A * weight[:, None], right * weight)
    return {"u": lambda p: np.polynomial.chebyshev.chebval((2 * np.asarray(p, float) - a - b) / (b - a), c)}
