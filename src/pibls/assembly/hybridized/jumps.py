r"""M(x) [∂ₙ^(m-1) u] = -s(x), [n·F] = -s(x): what a source on a plane, s δ(x_axis - c), makes jump there.

Of each unknown only the derivative below its highest one, of the order m across the plane, jumps; M holds
what the highest ones are multiplied with. An equation without any of those says itself how they jump: of
u_x + v_y = 0 it is [u_x] = 0. Where an equation keeps a flux, it is the flux that jumps by the strength, and
what of it is given may jump by itself: of (u' + g)' = 0 it is [u'] = -[g].
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from pibls.arrays import Array, Mask
from pibls.assembly.hybridized.interface_traces import orders_across
from pibls.assembly.hybridized.traces import Trace, beside
from pibls.errors import ProblemError
from pibls.problem.forms.lowering import LoweredProblem, Residual

_NONE = 1e-10
"""A singular value beside the largest, or a jump beside the sources, that is none."""


def jump_at(
    lowered: LoweredProblem, plane: tuple[int, float], extent: float
) -> Callable[[Trace, Array], Array] | None:
    """How much larger a trace is on the upper side of a plane; None where nothing jumps.

    ``extent`` is that of the domain across the plane.
    """
    faces, axis = lowered.interfaces, plane[0]
    if plane not in faces.jumping and all(where != plane for _, where, _ in faces.sources):
        return None
    equations = [r for r in lowered.residuals if r.region.is_inside]
    orders = orders_across(lowered, axis, lambda r: r.is_inside)

    def jump(trace: Trace, X: Array) -> Array:
        s = np.zeros((len(X), len(equations)))
        for i, where, strength in faces.sources:
            if where == plane:
                none = np.empty((0, len(X)))
                s[:, i] += strength.rest(X, np.zeros_like(X), strength.known_data(X), none)
        if trace.flux is not None:
            rows = [i for i, _, f, outermost in faces.fluxes if f is trace.flux and outermost]
            above, below = (_given(trace, beside(X, axis, extent, upper)) for upper in (True, False))
            return np.asarray(below - above - s[:, rows].sum(axis=1))
        if trace.order != orders[trace.unknown] - 1 or not s.any():
            return np.zeros(len(X))
        return _jumps(equations, orders, axis, X, s)[:, trace.unknown]

    return jump


def _given(trace: Trace, X: Array) -> Array:
    """What of a flux does not depend on the solution; of one that is not linear it stands in its own rows."""
    flux = trace.flux
    if flux is None or trace.is_bent:
        return np.zeros(len(X))
    return flux.rest(X, np.zeros_like(X), flux.known_data(X), np.empty((0, len(X))))


def _jumps(equations: Sequence[Residual], orders: tuple[int, ...], axis: int, X: Array, s: Array) -> Array:
    """[∂ₙ^(m-1) u_k] at each point, (n, unknowns)."""
    M = np.zeros((len(X), len(equations), len(orders)))
    vague = np.zeros(M.shape[1:], dtype=np.bool_)
    for i, r in enumerate(equations):
        M[:, i], vague[i] = _row(r, orders, axis, X)
        if not M[:, i].any():
            M[:, i], vague[i] = _row(r, tuple(m - 1 for m in orders), axis, X)
    rows, columns = (np.abs(M).max(axis=a, keepdims=True, initial=0.0) for a in ((0, 2), (0, 1)))
    rows[rows == 0], columns[columns == 0] = 1.0, 1.0
    moving = np.array(orders) > 0
    scaled = (M / rows / columns)[:, :, moving]
    d = np.linalg.svd(scaled, compute_uv=False)
    if moving.sum() > len(equations) or np.any(d[:, -1] < _NONE * d[:, 0]):
        raise _unclear("highest derivatives across it that the equations can be solved for")
    given = s / rows[:, :, 0]
    solved = -np.einsum("nke,ne->nk", np.linalg.pinv(scaled), given)
    if np.any(
        np.abs(np.einsum("nek,nk->ne", scaled, solved) + given) > _NONE * np.abs(given).max(initial=0.0)
    ):
        raise _unclear("a source in an equation with derivatives across it")
    out = np.zeros((len(X), len(orders)))
    out[:, moving] = solved
    if np.any(vague.any(axis=0) & (np.abs(out).max(axis=0) > _NONE * np.abs(solved).max(initial=0.0))):
        raise _unclear("given coefficients of the highest derivatives across it, and none of mixed ones")
    return np.asarray(out / columns[0])


def _row(r: Residual, orders: tuple[int, ...], axis: int, X: Array) -> tuple[Array, Mask]:
    """What the derivatives of these orders across are multiplied with, and where that is not a number.

    Of a(u) ∂ₙᵐ u and of ∂ₜ ∂ₙᵐ u it is not: they ask for nothing where u does not jump, and then 1 will do.
    """
    a = r.coefficients(X)
    row, vague = np.zeros((len(X), len(orders))), np.zeros(len(orders), dtype=np.bool_)
    for jet, c in zip(r.linear, a, strict=True):
        if jet.alpha[axis] == orders[jet.unknown]:
            if sum(jet.alpha) == jet.alpha[axis]:
                row[:, jet.unknown] += c
            else:
                vague[jet.unknown] |= bool(np.any(c))
    for jet in r.nonlinear:
        vague[jet.unknown] |= jet.alpha[axis] == orders[jet.unknown]
    row[:, vague & ~row.any(axis=0)] = 1.0
    return row, vague


def _unclear(expected: str) -> ProblemError:
    return ProblemError(
        "DiracDelta",
        expected=expected,
        got="equations that leave open what jumps there",
        remedy="Write the equations so that each keeps its flux, pibls.div(k*pibls.grad(u)), or use a narrow "
        "exp(-((x - a)/w)**2).",
    )
