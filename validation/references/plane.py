"""Nonlinear problems on the unit square, and finite elements at arrays of points."""

from __future__ import annotations

from typing import Any

import numpy as np

from validation.references.chebyshev import chebyshev, coefficient_matrix


def cheb_square(n: Any, nonlinear: Any, derivative: Any, guess: Any = 0.0) -> Any:
    """Laplace(u) + nonlinear(u) = 0 on the unit square, u = 0 around, by Chebyshev collocation and Newton."""
    nodes, D = chebyshev(n)
    D2 = (4 * D @ D)[1:-1, 1:-1]
    m = n - 1
    bump = np.sin(np.pi * (nodes[1:-1] + 1) / 2)
    U = guess * np.outer(bump, bump)
    L = np.kron(D2, np.eye(m)) + np.kron(np.eye(m), D2)
    for _ in range(12):
        F = (L @ U.ravel()) + nonlinear(U.ravel())
        step = np.linalg.solve(L + np.diag(derivative(U.ravel())), F)
        U = U - step.reshape(m, m)
        if np.max(np.abs(step)) < 1e-12:
            break
    full = np.zeros((n + 1, n + 1))
    full[1:-1, 1:-1] = U
    C = coefficient_matrix(n) @ full @ coefficient_matrix(n).T
    return {
        "u": lambda X, Y: np.polynomial.chebyshev.chebval2d(
            2 * np.asarray(X, float) - 1, 2 * np.asarray(Y, float) - 1, C
        )
    }


def at_points(mesh: Any, g: Any) -> Any:
    def f(X: Any, Y: Any) -> Any:
        X, Y = np.broadcast_arrays(np.asarray(X, float), np.asarray(Y, float))
        return np.array(g(mesh(X.ravel(), Y.ravel()))).reshape(X.shape)

    return f
