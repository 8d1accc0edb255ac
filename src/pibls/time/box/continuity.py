r"""Continuity conditions u⁻ = u⁺, n·F⁻ = n·F⁺ between the cells of an evolution on an interval."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from pibls.arrays import Array, Indices, MultiIndex
from pibls.assembly.evolutions.nonlinear_flux import NonlinearFluxes
from pibls.assembly.evolutions.semidiscrete import SemidiscreteStatement, Site, StatementAtTimes, without_axis
from pibls.assembly.hybridized.face_traces import Trace, points_beside
from pibls.assembly.hybridized.interface_jumps import jump_at
from pibls.assembly.hybridized.interface_traces import traces_at, traces_of
from pibls.spaces.cell_tree import SharedFace
from pibls.time.box.resolution import Resolution, tensor_values

if TYPE_CHECKING:
    from pibls.time.box.operator import CollocationOperator


def continuity_conditions(
    operator: CollocationOperator, resolution: Resolution
) -> list[SemidiscreteStatement]:
    """Return the conditions on values and derivatives, or fluxes, at the ends shared by two cells."""
    faces, compiled = operator.context.compiled.interfaces, operator.context.compiled
    special = {plane for _, plane, _ in faces.sources} | set(faces.flux_planes)
    plain_faces, out = [], []
    for joint in resolution.tree.shared_faces():
        plane = (joint.axis, float(joint.box[joint.axis, 0]))
        if plane not in special:
            plain_faces.append(joint)
            continue
        extent = float(np.ptp(operator.context.box[joint.axis]))
        traces = traces_of(operator.orders[0])
        if plane in faces.flux_planes:
            traces = traces_at(compiled, joint.axis, joint.box, operator.orders[0], extent)
        jump = jump_at(compiled, plane, extent)
        out.append(_continuity_condition(operator, [joint], traces, jump, resolution))
    if plain_faces:
        out.append(
            _continuity_condition(operator, plain_faces, traces_of(operator.orders[0]), None, resolution)
        )
    return out


def _continuity_condition(
    operator: CollocationOperator,
    faces_shared: list[SharedFace],
    traces: tuple[Trace, ...],
    jump: Callable[[Trace, Array], Array] | None,
    resolution: Resolution,
) -> SemidiscreteStatement:
    axis, n = faces_shared[0].axis, len(traces)
    X = np.zeros((len(faces_shared), n, operator.context.compiled.dimension))
    X[:, :, axis] = np.array([j.box[axis, 0] for j in faces_shared])[:, None]
    cells = np.array([(j.low, j.high) for j in faces_shared])
    sites = tuple(
        Site(cells[:, i], X, _end_tables(operator, cells[:, i], 1.0 - 2.0 * i, n, resolution)) for i in (0, 1)
    )
    linear_terms = [
        (i, number, site, k, alpha)
        for i, trace in enumerate(traces)
        for number, (k, alpha, _) in enumerate(trace.terms(axis, X[0, :1]))
        for site in (0, 1)
        if not trace.is_nonlinear
    ]
    bent = [(i, site, trace.flux) for i, trace in enumerate(traces) for site in (0, 1)
            if trace.flux is not None and trace.is_nonlinear]  # fmt: skip
    derivatives = [(site, j.unknown, j.alpha) for _, site, f in bent for j in (*f.linear, *f.nonlinear)]
    term_derivatives = [(site, k, alpha) for _, _, site, k, alpha in linear_terms] + derivatives
    terms = tuple(
        (site, k, without_axis(alpha, operator.axis), alpha[operator.axis])
        for site, k, alpha in term_derivatives
    )
    extent = float(np.ptp(operator.context.box[axis]))

    def at(times: Array) -> StatementAtTimes:
        a = np.zeros((len(linear_terms), len(faces_shared), n, len(times)))
        Y = np.repeat(X[0, :1], len(times), axis=0)
        Y[:, operator.axis] = times
        one_sided_points = [points_beside(Y, axis, extent, site == 1) for site in (0, 1)]
        for row, (i, number, site, _, _) in enumerate(linear_terms):
            sign = 2.0 * site - 1.0
            a[row, :, i] = sign * np.asarray(traces[i].terms(axis, one_sided_points[site])[number][2])
        rest = np.zeros((len(faces_shared), n, len(times)))
        if jump is not None:
            rest[:] = -np.array([jump(trace, Y) for trace in traces])
        shape = (len(faces_shared) * n, len(times))
        known = rest.reshape(shape)
        if not bent:
            return StatementAtTimes(a.reshape(-1, *shape), lambda J: known, lambda J: J)
        nonlinear_fluxes = NonlinearFluxes(tuple(bent), (one_sided_points[0], one_sided_points[1]), known)
        return StatementAtTimes(a.reshape(-1, *shape), nonlinear_fluxes.rest, nonlinear_fluxes.partials)

    return SemidiscreteStatement(
        f"between {len(faces_shared) + 1} cells", sites, terms, len(linear_terms), at
    )


def _end_tables(
    operator: CollocationOperator, cells: Indices, end: float, rows: int, resolution: Resolution
) -> Callable[[MultiIndex], Array]:
    """Return tables of the functions of some cells at one of their ends, repeated in ``rows`` rows."""
    boxes = resolution.tree.boxes[cells][:, operator.space_axes[0], :]
    half = 0.5 * (boxes[:, 1] - boxes[:, 0])
    known: dict[MultiIndex, Array] = {}

    def tables(alpha: MultiIndex) -> Array:
        if alpha not in known:
            one = tensor_values(np.array([[end]]), resolution, alpha)[0]
            table = half[:, None] ** -float(alpha[0]) * one
            known[alpha] = np.repeat(table[:, None, :], rows, axis=1)
        return known[alpha]

    return tables
