r"""u⁻ = u⁺, n·F⁻ = n·F⁺: what the cells of an evolution on a line share at their ends."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from pibls.adaptive.evolutions.resolution import Resolution, product_of
from pibls.arrays import Array, MultiIndex, Numbers
from pibls.assembly.evolutions.lines import LineStatement, Site, StatementAt, without
from pibls.assembly.evolutions.nonlinear_flux import BentFluxes
from pibls.assembly.hybridized.interface_traces import traces_at, traces_of
from pibls.assembly.hybridized.jumps import jump_at
from pibls.assembly.hybridized.traces import Trace, beside
from pibls.spaces.tree import Joint

if TYPE_CHECKING:
    from pibls.adaptive.evolutions.line_mesh import Places


def ties_in(places: Places, found: Resolution) -> list[LineStatement]:
    """Values and derivatives, or fluxes, that two cells share."""
    faces, lowered = places.bench.lowered.interfaces, places.bench.lowered
    special = {plane for _, plane, _ in faces.sources} | set(faces.jumping)
    plain, out = [], []
    for joint in found.tree.joints():
        plane = (joint.axis, float(joint.box[joint.axis, 0]))
        if plane not in special:
            plain.append(joint)
            continue
        extent = float(np.ptp(places.bench.box[joint.axis]))
        traces = traces_of(places.orders[0])
        if plane in faces.jumping:
            traces = traces_at(lowered, joint.axis, joint.box, places.orders[0], extent)
        jump = jump_at(lowered, plane, extent)
        out.append(_tie(places, [joint], traces, jump, found))
    if plain:
        out.append(_tie(places, plain, traces_of(places.orders[0]), None, found))
    return out


def _tie(
    places: Places,
    joints: list[Joint],
    traces: tuple[Trace, ...],
    jump: Callable[[Trace, Array], Array] | None,
    found: Resolution,
) -> LineStatement:
    axis, n = joints[0].axis, len(traces)
    X = np.zeros((len(joints), n, places.bench.lowered.dimension))
    X[:, :, axis] = np.array([j.box[axis, 0] for j in joints])[:, None]
    cells = np.array([(j.low, j.high) for j in joints])
    sites = tuple(
        Site(cells[:, i], X, _end_tables(places, cells[:, i], 1.0 - 2.0 * i, n, found)) for i in (0, 1)
    )
    wanted = [
        (i, number, site, k, alpha)
        for i, trace in enumerate(traces)
        for number, (k, alpha, _) in enumerate(trace.terms(axis, X[0, :1]))
        for site in (0, 1)
        if not trace.is_bent
    ]
    bent = [(i, site, trace.flux) for i, trace in enumerate(traces) for site in (0, 1)
            if trace.flux is not None and trace.is_bent]  # fmt: skip
    jets = [(site, j.unknown, j.alpha) for _, site, f in bent for j in (*f.linear, *f.nonlinear)]
    wanted_at = [(site, k, alpha) for _, _, site, k, alpha in wanted] + jets
    terms = tuple((site, k, without(alpha, places.axis), alpha[places.axis]) for site, k, alpha in wanted_at)
    extent = float(np.ptp(places.bench.box[axis]))

    def at(times: Array) -> StatementAt:
        a = np.zeros((len(wanted), len(joints), n, len(times)))
        Y = np.repeat(X[0, :1], len(times), axis=0)
        Y[:, places.axis] = times
        beside_it = [beside(Y, axis, extent, site == 1) for site in (0, 1)]
        for row, (i, number, site, _, _) in enumerate(wanted):
            sign = 2.0 * site - 1.0
            a[row, :, i] = sign * np.asarray(traces[i].terms(axis, beside_it[site])[number][2])
        rest = np.zeros((len(joints), n, len(times)))
        if jump is not None:
            rest[:] = -np.array([jump(trace, Y) for trace in traces])
        shape = (len(joints) * n, len(times))
        known = rest.reshape(shape)
        if not bent:
            return StatementAt(a.reshape(-1, *shape), lambda J: known, lambda J: J)
        curved = BentFluxes(tuple(bent), (beside_it[0], beside_it[1]), known)
        return StatementAt(a.reshape(-1, *shape), curved.rest, curved.slopes)

    return LineStatement(f"between {len(joints) + 1} cells", sites, terms, len(wanted), at)


def _end_tables(
    places: Places, cells: Numbers, end: float, rows: int, found: Resolution
) -> Callable[[MultiIndex], Array]:
    """The functions of some cells at one of their ends, the same in ``rows`` rows."""
    boxes = found.tree.boxes[cells][:, places.free[0], :]
    half = 0.5 * (boxes[:, 1] - boxes[:, 0])
    known: dict[MultiIndex, Array] = {}

    def tables(alpha: MultiIndex) -> Array:
        if alpha not in known:
            one = product_of(np.array([[end]]), found, alpha)[0]
            table = half[:, None] ** -float(alpha[0]) * one
            known[alpha] = np.repeat(table[:, None, :], rows, axis=1)
        return known[alpha]

    return tables
