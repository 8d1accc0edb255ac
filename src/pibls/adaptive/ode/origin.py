r"""M(t₀) u⁽ᵐ⁾ + … = 0 with M singular: does what is given at the start determine an orbit?

Where t u' = λu begins at 0, every c t^λ does; collocation finds one of them. What differs from an orbit by
t^λ, and from its beginning by nothing, is t^(λ-m+1) in its derivative m - 1: it grows from one tiny window to
the next, twice as long, as nothing does where M is regular.
"""

from __future__ import annotations

import numpy as np

from pibls.adaptive.ode.orbit import Path
from pibls.adaptive.ode.together import Together
from pibls.adaptive.thresholds import ORBITS
from pibls.arrays import Array
from pibls.assembly.evolutions.line import Line
from pibls.basis.polynomials.chebyshev import derivative, polynomials
from pibls.nonlinear.collocation import Collocation


def is_free(path: Path, collocation: Collocation) -> bool:
    """Whether other orbits begin alike, because the equation is singular at the start."""
    if not _is_singular(path, collocation):
        return False
    shares = 2.0 ** -np.arange(ORBITS.origin[0], ORBITS.origin[1] - 1.0, -1.0)
    return _growth(path, collocation, shares) > ORBITS.free


def _is_singular(path: Path, collocation: Collocation) -> bool:
    """Whether the matrix of the highest derivatives is at the start, and not after the first window."""
    line, first = path.line, path.steps[0].piece
    if line.constant is not None and line.is_linear:
        return False
    ends = np.array([first.start, path.steps[0].stop])
    U = np.empty((line.rows, 2))
    for g, z in zip(line.groups, first.z, strict=True):
        found = [_taken(collocation, z, g.order, j, np.array([-1.0, 1.0])) for j in range(g.order + 1)]
        U[g.rows] = np.stack(found, axis=1).reshape(-1, 2)
    U *= first.powers(line)
    G = line.slopes(line.held(ends), U, 2)
    if not np.isfinite(G[..., 0]).all():
        return True  # written as u' = λu/t
    start, end = np.moveaxis(_leading(line, G), 2, 0)
    for axis in (1, 0):
        size = np.abs(end).max(axis=axis, keepdims=True)
        size[size == 0.0] = 1.0
        start, end = start / size, end / size
    return _least(start) < ORBITS.singular * _least(end)


def _leading(line: Line, G: Array) -> Array:
    """∂F/∂u⁽ᵐ⁾, (equations, unknowns, n)."""
    parts = [G[:, g.rows].reshape(len(G), -1, g.order + 1, G.shape[2])[:, :, -1] for g in line.groups]
    return np.concatenate(parts, axis=1)


def _least(M: Array) -> float:
    return float(np.linalg.svd(M, compute_uv=False)[-1])


def _taken(collocation: Collocation, z: Array, m: int, j: int, xi: Array) -> Array:
    """The derivative j by ξ of a window at some ξ, (unknowns, n)."""
    r = collocation.radau
    if j == m:
        return np.asarray(z[:, m:] @ (polynomials(xi, r.s) @ r.inverse).T)
    return np.asarray(z @ r.coefficients[m] @ derivative(r.size, j).T @ polynomials(xi, r.size).T)


def _growth(path: Path, collocation: Collocation, shares: Array) -> float:
    """How much a change at the first of some shares of the first window has grown at the last of them."""
    r, line, first = collocation.radau, collocation.line, path.steps[0].piece
    length, z = np.diff(shares), []
    for g, mine in zip(line.groups, first.z, strict=True):
        here = np.empty((len(length), len(mine), g.order + r.s))
        for k, (low, d) in enumerate(zip(shares, length, strict=False)):
            for j in range(g.order):
                here[k, :, j] = (
                    d**j * _taken(collocation, mine, g.order, j, np.array([2.0 * low - 1.0]))[:, 0]
                )
            xi = 2.0 * low - 1.0 + d * (r.points + 1.0)
            here[k, :, g.order :] = d**g.order * _taken(collocation, mine, g.order, g.order, xi)
        z.append(here)
    windows = Together(collocation, first.start + 2.0 * first.half * shares, first.half * length, z)
    found = windows.linearised(slice(0, len(length)))
    if found is None:
        return 0.0
    P = np.linalg.multi_dot(list(found.transfer[::-1]))
    # u⁽ʲ⁾ t^(j-m+1), next to the size of its unknown
    powers = np.concatenate([np.tile(np.arange(1.0 - g.order, 1.0), len(g.unknowns)) for g in line.groups])
    sizes = np.concatenate([np.repeat(path.sizes[g.columns], g.order) for g in line.groups])
    t = abs(2.0 * first.half) * shares[[0, -1]]
    before, after = (b**powers / sizes for b in t)
    return float(np.abs(after[:, None] * P / before).max())
