r"""A problem on a tree of cells: spaces that share one draw, points in each cell, ties on the faces."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise

import numpy as np

from pibls.adaptive.singular.cornered import Cornered
from pibls.adaptive.thresholds import ENRICH
from pibls.adaptive.validation.context import Bench
from pibls.arrays import Array
from pibls.assembly.hybridized.cells import CellSystem
from pibls.assembly.hybridized.interface_traces import orders_across, traces_at, traces_of
from pibls.assembly.hybridized.jumps import jump_at
from pibls.assembly.hybridized.pieces import Placing
from pibls.assembly.hybridized.traces import JointPoints, Wanted, tied
from pibls.assembly.placing import place_in
from pibls.assembly.points import PointSet
from pibls.basis.scale import scale_for
from pibls.basis.waves import WaveBasis, Waves
from pibls.geometry import Domain, time_of
from pibls.linalg.tree.engine import HERE, Engine
from pibls.problem import Region
from pibls.problem.forms.lowering import LoweredProblem
from pibls.spaces import Cells, CellTree, Whole, bare

_FINER = 1.5


@dataclass(frozen=True)
class Reference:
    """Waves drawn once for the reference cell [-1, 1]^d; every cell uses the same."""

    basis: WaveBasis

    @classmethod
    def drawn(cls, nodes: int, d: int, shrink: float, rng: np.random.Generator) -> Reference:
        box = np.array([[-1.0, 1.0]] * d)
        return cls(Waves(nodes, shrink * scale_for("waves", nodes, d)).draw(box, rng))

    @property
    def nodes(self) -> int:
        return self.basis.size

    def on(self, box: Array, unknowns: int) -> Whole:
        """The same waves in another cell."""
        half = 0.5 * (box[:, 1] - box[:, 0])
        return Whole.shared(WaveBasis(self.basis.frequencies, box.mean(axis=1), half), unknowns)

    def over(self, tree: CellTree, unknowns: int) -> Cells:
        """The same waves in every cell of a tree."""
        return Cells(tree, tuple(self.on(box, unknowns) for box in tree.boxes))


def cell_system(
    lowered: LoweredProblem,
    domain: Domain,
    space: Cells,
    engine: Engine = HERE,
    frames: Array | None = None,
    corners: Cornered | None = None,
) -> CellSystem:
    """The system of a problem in cells, with points as each cell needs them.

    ``frames`` are the boxes in which the cells have their functions and points, where those are not the
    cells. ``corners`` is what the space has of them.
    """
    corners = corners or Cornered()
    regions = dict.fromkeys(r.region for r in lowered.residuals)
    boxes = space.tree.boxes
    points = [
        partial(corners.placed, list(regions), domain, box, frame, part.nodes)
        for frame, box, part in zip(boxes if frames is None else frames, boxes, space.parts, strict=True)
    ]
    ties, shared = ties_of(lowered, domain, space), corners.shared(space, lowered.unknowns)
    return CellSystem.of(without_pairs(lowered), points, space, ties, engine, shared)


def scattered_system(bench: Bench, space: Cells, where: Mapping[Region, PointSet]) -> CellSystem:
    """The same with given points, each of them in the cell that holds it."""
    points: list[dict[Region, PointSet]] = [{} for _ in space.parts]
    for region, found in where.items():
        if region.period is not None:
            continue
        if region.is_sum:
            for mine, box, part in zip(points, space.tree.boxes, space.parts, strict=True):
                mine[region] = place_in(region, bench.domain, box, part.nodes)
            continue
        # A point on the boundary belongs to the cell that has the domain on its side.
        inwards = ENRICH.beside * (bench.box[:, 1] - bench.box[:, 0]) * found.normals
        cells = space.tree.locate(found.sites[0] - inwards)
        order = np.argsort(cells, kind="stable")
        ends = np.searchsorted(cells[order], np.arange(len(points) + 1)).tolist()
        for cell, (start, stop) in enumerate(pairwise(ends)):
            if start < stop:
                rows = order[start:stop]
                points[cell][region] = PointSet(tuple(s[rows] for s in found.sites), found.normals[rows])
    lowered = bench.lowered
    given: list[Placing] = [partial(_given, mine) for mine in points]
    ties = ties_of(lowered, bench.domain, space)
    return CellSystem.of(without_pairs(lowered), given, space, ties, bench.engine)


def _given(points: dict[Region, PointSet]) -> dict[Region, PointSet]:
    return points


def without_pairs(lowered: LoweredProblem) -> LoweredProblem:
    """Periodic conditions are joints between the cells at both ends, and need no rows of their own."""
    return replace(lowered, residuals=tuple(r for r in lowered.residuals if r.region.period is None))


def ties_of(lowered: LoweredProblem, domain: Domain, space: Cells) -> list[JointPoints]:
    """All joints of a tree with their traces."""
    orders = [orders_across(lowered, axis, lambda r: r.is_inside) for axis in range(lowered.dimension)]
    repeated: dict[int, list[int]] = {}
    for r in lowered.residuals:
        if r.region.period is not None:
            counts = repeated.setdefault(r.region.period, [0] * lowered.unknowns)
            counts[r.linear[0].unknown] += 1
    wanted = []
    faces = lowered.interfaces
    extents = np.ptp(space.tree.box, axis=1).tolist()
    smooth = [bare(part).nodes for part in space.parts]
    plain = [traces_of(across) for across in orders]
    for joint in space.tree.joints(tuple(repeated)):
        axis = joint.axis
        nodes = smooth[joint.low], smooth[joint.high]
        plane = (axis, float(joint.box[axis, 0]))
        traces = plain[axis]
        if joint.shift:
            traces = traces_of(tuple(repeated[axis]))
        elif plane in faces.jumping:
            traces = traces_at(lowered, axis, joint.box, orders[axis], extents[axis])
        wanted.append(Wanted(joint, traces, nodes, extents[axis], jump_at(lowered, plane, extents[axis])))
    return tied(wanted, domain.contains)


def sums_divide(bench: Bench) -> bool:
    """Whether integrals can be taken cell by cell: not where times are those of the cells."""
    sums = [r.region for r in bench.lowered.residuals if r.region.is_sum]
    return not sums or (time_of(bench.domain) is None and all(r.is_divisible(bench.domain) for r in sums))


def shares_in(bench: Bench, space: Cells) -> dict[Region, PointSet]:
    """The points of all integrals, cell by cell, other ones than are fitted."""
    regions = dict.fromkeys(r.region for r in bench.lowered.residuals if r.region.is_sum)
    pairs = list(zip(space.tree.boxes, space.parts, strict=True))
    return {
        region: PointSet.joined(
            [place_in(region, bench.domain, box, int(_FINER * part.nodes)) for box, part in pairs]
        )
        for region in regions
    }
