r"""Uniqueness of solutions of an ODE that is singular at the start: M(t) u⁽ᵐ⁾ + … = 0, M(t₀) singular.

For t u' = λu from t = 0, every c t^λ is a solution, and collocation finds one of them. A perturbation t^λ
with the same initial values is t^(λ-m+1) in the derivative m - 1. It grows from one tiny window to the next,
twice as long, which no perturbation does where M is regular.
"""

from __future__ import annotations

import numpy as np

from pibls.arrays import Array
from pibls.assembly.evolutions.ode_equations import ODESystem
from pibls.basis.polynomials.chebyshev import chebyshev_values, derivative_matrix
from pibls.time.ode.collocation import Collocation, ODEWindow
from pibls.time.ode.linearized_windows import LinearizedWindows
from pibls.time.thresholds import ODE


def has_free_solutions(first: ODEWindow, stop: float, collocation: Collocation, magnitudes: Array) -> bool:
    """Whether several solutions have the same initial values because the equation is singular there.

    ``first`` is the first window, and ``magnitudes`` holds those of the unknowns, group by group.
    """
    if not _is_singular(first, stop, collocation):
        return False
    shares = 2.0 ** -np.arange(ODE.start_halvings[0], ODE.start_halvings[1] - 1.0, -1.0)
    return _perturbation_growth(first, collocation, magnitudes, shares) > ODE.min_perturbation_growth


def _is_singular(first: ODEWindow, stop: float, collocation: Collocation) -> bool:
    """Whether the matrix of the highest derivatives is singular at the start only."""
    equations = collocation.equations
    if equations.constant_coefficients is not None and equations.is_linear:
        return False
    ends = np.array([first.start, stop])
    U = np.empty((equations.rows, 2))
    for g, z in zip(equations.groups, first.z, strict=True):
        found = [_derivative(collocation, z, g.order, j, np.array([-1.0, 1.0])) for j in range(g.order + 1)]
        U[g.rows] = np.stack(found, axis=1).reshape(-1, 2)
    U *= first.powers(equations)
    G = equations.jacobian(equations.tables(ends), U, 2)
    if not np.isfinite(G[..., 0]).all():
        return True  # written as u' = λu/t
    start, end = np.moveaxis(_leading_matrix(equations, G), 2, 0)
    for axis in (1, 0):
        size = np.abs(end).max(axis=axis, keepdims=True)
        size[size == 0.0] = 1.0
        start, end = start / size, end / size
    return _smallest_singular_value(start) < ODE.max_singular_value_ratio * _smallest_singular_value(end)


def _leading_matrix(equations: ODESystem, G: Array) -> Array:
    """Return ∂F/∂u⁽ᵐ⁾, (equations, unknowns, n)."""
    parts = [G[:, g.rows].reshape(len(G), -1, g.order + 1, G.shape[2])[:, :, -1] for g in equations.groups]
    return np.concatenate(parts, axis=1)


def _smallest_singular_value(M: Array) -> float:
    return float(np.linalg.svd(M, compute_uv=False)[-1])


def _derivative(collocation: Collocation, z: Array, m: int, j: int, xi: Array) -> Array:
    """Return the derivative j with respect to ξ of a window at points ξ, (unknowns, n)."""
    r = collocation.radau
    if j == m:
        return np.asarray(z[:, m:] @ (chebyshev_values(xi, r.s) @ r.interpolation).T)
    return np.asarray(z @ r.coefficients[m] @ derivative_matrix(r.size, j).T @ chebyshev_values(xi, r.size).T)


def _perturbation_growth(
    first: ODEWindow, collocation: Collocation, magnitudes: Array, shares: Array
) -> float:
    """Return the growth of a perturbation from the first to the last fraction of the first window."""
    r, equations = collocation.radau, collocation.equations
    length, z = np.diff(shares), []
    for g, window_z in zip(equations.groups, first.z, strict=True):
        sub_z = np.empty((len(length), len(window_z), g.order + r.s))
        for k, (low, d) in enumerate(zip(shares, length, strict=False)):
            for j in range(g.order):
                sub_z[k, :, j] = (
                    d**j * _derivative(collocation, window_z, g.order, j, np.array([2.0 * low - 1.0]))[:, 0]
                )
            xi = 2.0 * low - 1.0 + d * (r.points + 1.0)
            sub_z[k, :, g.order :] = d**g.order * _derivative(collocation, window_z, g.order, g.order, xi)
        z.append(sub_z)
    windows = LinearizedWindows(collocation, first.start + 2.0 * first.half * shares, first.half * length, z)
    found = windows.linearize(slice(0, len(length)))
    if found is None:
        return 0.0
    P = np.linalg.multi_dot(list(found.transfer[::-1]))
    # u⁽ʲ⁾ t^(j-m+1), relative to the magnitude of the unknown
    powers = np.concatenate(
        [np.tile(np.arange(1.0 - g.order, 1.0), len(g.unknowns)) for g in equations.groups]
    )
    sizes = np.concatenate([np.repeat(magnitudes[g.columns], g.order) for g in equations.groups])
    t = abs(2.0 * first.half) * shares[[0, -1]]
    before, after = (b**powers / sizes for b in t)
    return float(np.abs(after[:, None] * P / before).max())
