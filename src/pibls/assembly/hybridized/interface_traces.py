r"""Selection of the traces that are continuous on a face: [∂ₙʲ u] = 0 or [n·F] = 0.

Where no coefficient jumps these are all derivatives below the orders of the unknowns. On a plane where a
coefficient under an outer derivative jumps, fluxes (`problem.forms.interface_fluxes`) replace derivatives.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pibls.arrays import Array
from pibls.assembly.hybridized.face_traces import Trace, points_beside
from pibls.errors import ProblemError
from pibls.problem import PartialDerivative
from pibls.problem.forms.compilation import CompiledProblem, Residual

_FLUX_TOL = 1e-9
"""Relative: a flux whose coefficients deviate by more is not a combination of other traces."""
_SHARES = (0.21, 0.5, 0.83)
"""Positions on a face, relative to its extents, at which its two sides are compared."""


def orders_across(compiled: CompiledProblem, axis: int) -> tuple[int, ...]:
    """Return the highest derivative of each unknown across an axis in the equations."""
    out = [0] * compiled.unknowns
    for r in compiled.residuals:
        if r.region.is_interior:
            for j in (*r.linear, *r.nonlinear):
                out[j.unknown] = max(out[j.unknown], j.alpha[axis])
    return tuple(out)


def traces_of(orders: tuple[int, ...]) -> tuple[Trace, ...]:
    """Return all derivatives below the orders: the traces where no coefficient jumps."""
    return tuple(Trace(k, order) for k, most in enumerate(orders) for order in range(most))


def traces_at(
    compiled: CompiledProblem, axis: int, box: Array, orders: tuple[int, ...], extent: float
) -> tuple[Trace, ...]:
    """Return the traces on a face with jumping coefficients: each flux replaces one of its derivatives.

    If two fluxes contain the same derivatives, k u' + l v' and m u' + n v', each replaces a different one. A
    quantity that no equation makes continuous, such as the pressure where the viscosity jumps, has no trace.
    """
    found = {(t.unknown, t.order): t for t in traces_of(orders)}
    fluxes = [f for _, a, f, _ in compiled.interfaces.fluxes if a == axis]
    choices = [_replaceable(flux.derivatives, axis, orders) for flux in fluxes]
    places = _matching(choices + _determined_without_flux(compiled, axis, orders))
    unplaced = []
    for flux, place in zip(fluxes, places, strict=False):
        if place is None:
            unplaced.append(flux)
        else:
            found[place] = Trace(*place, flux)
    free = {(k, most - 1) for k, most in enumerate(orders)} - set(places)
    kept = tuple(trace for key, trace in found.items() if key not in free)
    if not all(_is_implied(flux, kept, axis, box, extent) for flux in unplaced):
        raise _overdetermined(float(box[axis, 0]))
    return kept


def _determined_without_flux(
    compiled: CompiledProblem, axis: int, orders: tuple[int, ...]
) -> list[list[tuple[int, int]]]:
    """Return the derivatives of which each equation without a flux across makes one continuous."""
    with_flux = {i for i, a, _, outermost in compiled.interfaces.fluxes if a == axis and outermost}
    equations = [r for r in compiled.residuals if r.region.is_interior]
    return [
        [(j.unknown, j.alpha[axis] - 1) for j in r.derivatives if 0 < j.alpha[axis] == orders[j.unknown]]
        for i, r in enumerate(equations)
        if i not in with_flux
    ]


def _replaceable(
    derivatives: Sequence[PartialDerivative], axis: int, orders: tuple[int, ...]
) -> list[tuple[int, int]]:
    """Return the derivatives that a flux may replace: its highest ones, then those just below an order."""
    most = max((j.alpha[axis] for j in derivatives), default=0)
    ordered = sorted(derivatives, key=lambda j: j.alpha[axis] != most)
    return [
        (j.unknown, j.alpha[axis])
        for j in ordered
        if j.alpha[axis] < orders[j.unknown] and j.alpha[axis] in (most, orders[j.unknown] - 1)
    ]


def _is_implied(flux: Residual, traces: Sequence[Trace], axis: int, box: Array, extent: float) -> bool:
    """Whether a flux is a linear combination of the traces, and so continuous if they are."""
    X = np.array([box[:, 0] + share * (box[:, 1] - box[:, 0]) for share in _SHARES])
    X[:, axis] = box[axis, 0]
    sides = [points_beside(X, axis, extent, upper) for upper in (False, True)]
    others = [t.flux for t in traces if t.flux is not None]
    derivatives = sorted(
        {j for f in (flux, *others) for j in f.derivatives}, key=lambda j: (j.unknown, j.alpha)
    )
    plain = {(t.unknown, t.order) for t in traces if t.flux is None}
    for i in range(len(X)):
        rows = [_row(f, derivatives, [Y[i : i + 1] for Y in sides]) for f in (flux, *others)]
        rows += [
            np.tile(np.eye(len(derivatives))[n], 2)
            for n, j in enumerate(derivatives)
            if (j.unknown, j.alpha[axis]) in plain
        ]
        A = np.array(rows[1:]).reshape(-1, 2 * len(derivatives)).T
        left = rows[0] - A @ np.linalg.lstsq(A, rows[0], rcond=None)[0]
        if np.abs(left).max() > _FLUX_TOL * np.abs(rows[0]).max():
            return False
    return True


def _row(flux: Residual, derivatives: Sequence[PartialDerivative], sides: Sequence[Array]) -> Array:
    """Return the coefficients of all derivatives below and above; for a nonlinear flux at sample values."""
    out = []
    values = np.array([[0.3 + 0.1 * (derivatives.index(j) % 7)] for j in flux.nonlinear]).reshape(-1, 1)
    for X in sides:
        none, data = np.zeros_like(X), flux.data_function_values(X)
        slopes = [*flux.coefficients(X, none, data), *flux.partials(X, none, data, values)]
        of = dict(zip(flux.derivatives, slopes, strict=True))
        out += [float(of[j][0]) if j in of else 0.0 for j in derivatives]
    return np.array(out)


def _overdetermined(level: float) -> ProblemError:
    return ProblemError(
        "equations",
        expected="no more fluxes that jump on one plane than derivatives that may jump there",
        got=f"more of them at {level:g}",
        remedy="Write the terms whose sum is continuous under one outer derivative, "
        "sympy.Derivative(k*u.diff(x) + a*w.diff(x), x), or take factors that jump out of the equation.",
    )


def _matching(choices: Sequence[Sequence[tuple[int, int]]]) -> list[tuple[int, int] | None]:
    """Return a maximum bipartite matching: one of its choices for each entry, all different, or None."""
    owner: dict[tuple[int, int], int] = {}

    def settle(i: int, seen: set[tuple[int, int]]) -> bool:
        for choice in choices[i]:
            if choice not in seen:
                seen.add(choice)
                if choice not in owner or settle(owner[choice], seen):
                    owner[choice] = i
                    return True
        return False

    for i in range(len(choices)):
        settle(i, set())
    places = {i: choice for choice, i in owner.items()}
    return [places.get(i) for i in range(len(choices))]
