r"""[∂ₙʲ u] = 0, [n·F] = 0: which traces two cells share on a face.

Where nothing jumps these are all derivatives below the orders of the unknowns. On a plane where something
under an outer derivative jumps, fluxes (`problem.forms.interface_fluxes`) take the places of derivatives.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from pibls.arrays import Array
from pibls.assembly.hybridized.traces import Trace, beside
from pibls.errors import ProblemError
from pibls.problem import Jet, Region
from pibls.problem.forms.lowering import LoweredProblem, Residual

_SAME = 1e-9
"""Relative: a flux whose coefficients are off by more is no combination of other traces."""
_SHARES = (0.21, 0.5, 0.83)
"""Of the extents of a face: where its two sides are compared."""


def orders_across(lowered: LoweredProblem, axis: int, inside: Callable[[Region], bool]) -> tuple[int, ...]:
    """The highest derivative of each unknown across an axis in the equations."""
    out = [0] * lowered.unknowns
    for r in lowered.residuals:
        if inside(r.region):
            for j in (*r.linear, *r.nonlinear):
                out[j.unknown] = max(out[j.unknown], j.alpha[axis])
    return tuple(out)


def traces_of(orders: tuple[int, ...]) -> tuple[Trace, ...]:
    """All derivatives below the orders, where nothing jumps."""
    return tuple(Trace(k, order) for k, most in enumerate(orders) for order in range(most))


def traces_at(
    lowered: LoweredProblem, axis: int, box: Array, orders: tuple[int, ...], extent: float
) -> tuple[Trace, ...]:
    """Those on a face where fluxes jump, given its box: a flux takes the place of a derivative that it holds.

    Where two fluxes hold the same ones, k u' + l v' and m u' + n v', each takes the place of another. What no
    equation makes continuous, such as the pressure where the viscosity jumps, has no trace.
    """
    found = {(t.unknown, t.order): t for t in traces_of(orders)}
    fluxes = [f for _, a, f, _ in lowered.interfaces.fluxes if a == axis]
    with_flux = {i for i, a, _, outermost in lowered.interfaces.fluxes if a == axis and outermost}
    equations = [r for r in lowered.residuals if r.region.is_inside]
    choices = [_places(flux.jets, axis, orders) for flux in fluxes]
    choices += [
        [(j.unknown, j.alpha[axis] - 1) for j in r.jets if 0 < j.alpha[axis] == orders[j.unknown]]
        for i, r in enumerate(equations)
        if i not in with_flux
    ]
    places = _apart(choices)
    for flux, place in zip(fluxes, places[: len(fluxes)], strict=True):
        if place is not None:
            found[place] = Trace(*place, flux)
    free = {(k, most - 1) for k, most in enumerate(orders)} - set(places)
    kept = tuple(trace for key, trace in found.items() if key not in free)
    for flux, place in zip(fluxes, places[: len(fluxes)], strict=True):
        if place is None and not _is_implied(flux, kept, axis, box, extent):
            raise _overdetermined(float(box[axis, 0]))
    return kept


def _places(jets: Sequence[Jet], axis: int, orders: tuple[int, ...]) -> list[tuple[int, int]]:
    """The derivatives that a flux may stand for: its highest ones, then those just below an order."""
    most = max((j.alpha[axis] for j in jets), default=0)
    ordered = sorted(jets, key=lambda j: j.alpha[axis] != most)
    return [
        (j.unknown, j.alpha[axis])
        for j in ordered
        if j.alpha[axis] < orders[j.unknown] and j.alpha[axis] in (most, orders[j.unknown] - 1)
    ]


def _is_implied(flux: Residual, traces: Sequence[Trace], axis: int, box: Array, extent: float) -> bool:
    """Whether a flux is continuous where the traces are: its coefficients are combinations of theirs."""
    X = np.array([box[:, 0] + share * (box[:, 1] - box[:, 0]) for share in _SHARES])
    X[:, axis] = box[axis, 0]
    sides = [beside(X, axis, extent, upper) for upper in (False, True)]
    others = [t.flux for t in traces if t.flux is not None]
    jets = sorted({j for f in (flux, *others) for j in f.jets}, key=lambda j: (j.unknown, j.alpha))
    plain = {(t.unknown, t.order) for t in traces if t.flux is None}
    for i in range(len(X)):
        rows = [_row(f, jets, [Y[i : i + 1] for Y in sides]) for f in (flux, *others)]
        rows += [
            np.tile(np.eye(len(jets))[n], 2)
            for n, j in enumerate(jets)
            if (j.unknown, j.alpha[axis]) in plain
        ]
        A = np.array(rows[1:]).reshape(-1, 2 * len(jets)).T
        left = rows[0] - A @ np.linalg.lstsq(A, rows[0], rcond=None)[0]
        if np.abs(left).max() > _SAME * np.abs(rows[0]).max():
            return False
    return True


def _row(flux: Residual, jets: Sequence[Jet], sides: Sequence[Array]) -> Array:
    """The coefficients of all jets below and above; of a nonlinear flux those about some values."""
    out = []
    values = np.array([[0.3 + 0.1 * (jets.index(j) % 7)] for j in flux.nonlinear]).reshape(-1, 1)
    for X in sides:
        none, data = np.zeros_like(X), flux.known_data(X)
        slopes = [*flux.coefficients(X, none, data), *flux.partials(X, none, data, values)]
        of = dict(zip(flux.jets, slopes, strict=True))
        out += [float(of[j][0]) if j in of else 0.0 for j in jets]
    return np.array(out)


def _overdetermined(level: float) -> ProblemError:
    return ProblemError(
        "equations",
        expected="no more fluxes that jump on one plane than derivatives that may jump there",
        got=f"more of them at {level:g}",
        remedy="Write what is continuous together under one outer derivative, "
        "sympy.Derivative(k*u.diff(x) + a*w.diff(x), x), or take factors that jump out of the equation.",
    )


def _apart(choices: Sequence[Sequence[tuple[int, int]]]) -> list[tuple[int, int] | None]:
    """One of its choices for each, all different, for as many as can be."""
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
