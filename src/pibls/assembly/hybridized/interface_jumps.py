r"""Jumps across a plane with a source s δ(x_axis - c): M(x) [∂ₙ^(m-1) u] = -s(x), or [n·F] = -s(x).

For each unknown only the derivative below its highest order m across the plane jumps; M holds the
coefficients of the highest derivatives. An equation without highest derivatives gives the jumps directly: u_x
+ v_y = 0 implies [u_x] = 0. In an equation in flux form the flux jumps by the strength of the source, and its
given part may jump as well: (u' + g)' = 0 implies [u'] = -[g].
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from pibls.arrays import Array, Mask
from pibls.assembly.hybridized.face_traces import Trace, points_beside
from pibls.assembly.hybridized.interface_traces import orders_across
from pibls.errors import ProblemError
from pibls.problem.forms.compilation import CompiledProblem, Residual

_ZERO_TOL = 1e-10
"""A singular value relative to the largest, or a jump relative to the sources, that counts as zero."""


def jump_at(
    compiled: CompiledProblem, plane: tuple[int, float], extent: float
) -> Callable[[Trace, Array], Array] | None:
    """Return a function that gives the jump of a trace from the lower to the upper side of a plane.

    None if nothing jumps. ``extent`` is that of the domain across the plane.
    """
    faces, axis = compiled.interfaces, plane[0]
    if plane not in faces.flux_planes and all(where != plane for _, where, _ in faces.sources):
        return None
    equations = [r for r in compiled.residuals if r.region.is_interior]
    orders = orders_across(compiled, axis)

    def jump(trace: Trace, X: Array) -> Array:
        s = _source_strengths(compiled, plane, len(equations), X)
        if trace.flux is not None:
            rows = [i for i, _, f, outermost in faces.fluxes if f is trace.flux and outermost]
            above, below = (
                _given_part(trace, points_beside(X, axis, extent, upper)) for upper in (True, False)
            )
            return np.asarray(below - above - s[:, rows].sum(axis=1))
        if trace.order != orders[trace.unknown] - 1 or not s.any():
            return np.zeros(len(X))
        return _jumps(equations, orders, axis, X, s)[:, trace.unknown]

    return jump


def _source_strengths(compiled: CompiledProblem, plane: tuple[int, float], equations: int, X: Array) -> Array:
    """Return the strength of the sources on a plane in each equation, (n, equations)."""
    s = np.zeros((len(X), equations))
    for i, where, strength in compiled.interfaces.sources:
        if where == plane:
            none = np.empty((0, len(X)))
            s[:, i] += strength.rest(X, np.zeros_like(X), strength.data_function_values(X), none)
    return s


def _given_part(trace: Trace, X: Array) -> Array:
    """Return the given part of a flux; zero for a nonlinear flux, whose rows contain it."""
    flux = trace.flux
    if flux is None or trace.is_nonlinear:
        return np.zeros(len(X))
    return flux.rest(X, np.zeros_like(X), flux.data_function_values(X), np.empty((0, len(X))))


def _jumps(equations: Sequence[Residual], orders: tuple[int, ...], axis: int, X: Array, s: Array) -> Array:
    """Return [∂ₙ^(m-1) u_k] at each point, (n, unknowns)."""
    M = np.zeros((len(X), len(equations), len(orders)))
    ambiguous = np.zeros(M.shape[1:], dtype=np.bool_)
    for i, r in enumerate(equations):
        M[:, i], ambiguous[i] = _row(r, orders, axis, X)
        if not M[:, i].any():
            M[:, i], ambiguous[i] = _row(r, tuple(m - 1 for m in orders), axis, X)
    rows, columns = (np.abs(M).max(axis=a, keepdims=True, initial=0.0) for a in ((0, 2), (0, 1)))
    rows[rows == 0], columns[columns == 0] = 1.0, 1.0
    moving = np.array(orders) > 0
    scaled = (M / rows / columns)[:, :, moving]
    d = np.linalg.svd(scaled, compute_uv=False)
    if moving.sum() > len(equations) or np.any(d[:, -1] < _ZERO_TOL * d[:, 0]):
        raise _undetermined_jump("equations that can be solved for the highest derivatives across its plane")
    given = s / rows[:, :, 0]
    solved = -np.einsum("nke,ne->nk", np.linalg.pinv(scaled), given)
    if np.any(
        np.abs(np.einsum("nek,nk->ne", scaled, solved) + given) > _ZERO_TOL * np.abs(given).max(initial=0.0)
    ):
        raise _undetermined_jump("a source in an equation with derivatives across its plane")
    out = np.zeros((len(X), len(orders)))
    out[:, moving] = solved
    if np.any(
        ambiguous.any(axis=0) & (np.abs(out).max(axis=0) > _ZERO_TOL * np.abs(solved).max(initial=0.0))
    ):
        raise _undetermined_jump(
            "given coefficients of the highest derivatives across its plane, and no mixed derivatives"
        )
    return np.asarray(out / columns[0])


def _row(r: Residual, orders: tuple[int, ...], axis: int, X: Array) -> tuple[Array, Mask]:
    """Return the coefficients of the derivatives of these orders across, and which are not given functions.

    Those of a(u) ∂ₙᵐ u and of ∂ₜ ∂ₙᵐ u are not; they do not matter where u does not jump, and are set to 1.
    """
    a = r.coefficients(X)
    row, ambiguous = np.zeros((len(X), len(orders))), np.zeros(len(orders), dtype=np.bool_)
    for derivative, c in zip(r.linear, a, strict=True):
        if derivative.alpha[axis] == orders[derivative.unknown]:
            if sum(derivative.alpha) == derivative.alpha[axis]:
                row[:, derivative.unknown] += c
            else:
                ambiguous[derivative.unknown] |= bool(np.any(c))
    for derivative in r.nonlinear:
        ambiguous[derivative.unknown] |= derivative.alpha[axis] == orders[derivative.unknown]
    row[:, ambiguous & ~row.any(axis=0)] = 1.0
    return row, ambiguous


def _undetermined_jump(expected: str) -> ProblemError:
    return ProblemError(
        "DiracDelta",
        expected=expected,
        got="equations that do not determine the jump there",
        remedy="Write the equations in flux form, pibls.div(k*pibls.grad(u)), or use a narrow "
        "exp(-((x - a)/w)**2).",
    )
