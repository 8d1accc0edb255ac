r"""A problem on a tree of cells: spaces that share one draw, points in each cell, ties on the faces."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from pibls.arrays import Array
from pibls.basis.scale import scale_for
from pibls.basis.waves import WaveBasis, Waves
from pibls.domain import Domain
from pibls.problem import Region
from pibls.problem.lowering import LoweredProblem
from pibls.search.bench import Bench
from pibls.space import Cells, CellTree, Whole
from pibls.system.cells import CellSystem
from pibls.system.placing import place_in
from pibls.system.points import PointSet
from pibls.system.traces import Tied, orders_across, tie


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


def cell_system(lowered: LoweredProblem, domain: Domain, space: Cells, seed: int = 0) -> CellSystem:
    """The system of a problem in cells, with points as each cell needs them."""
    regions = dict.fromkeys(r.region for r in lowered.residuals)
    points = [
        {region: place_in(region, domain, box, part.nodes, seed) for region in regions}
        for box, part in zip(space.tree.boxes, space.parts, strict=True)
    ]
    return CellSystem.of(without_pairs(lowered), points, space, ties_of(lowered, domain, space))


def scattered_system(bench: Bench, space: Cells, where: Mapping[Region, PointSet]) -> CellSystem:
    """The same with given points, each of them in the cell that holds it."""
    points: list[dict[Region, PointSet]] = [{} for _ in space.parts]
    for region, found in where.items():
        if region.period is not None:
            continue
        cells = space.tree.locate(found.sites[0])
        for cell in np.unique(cells):
            rows = np.flatnonzero(cells == cell)
            points[cell][region] = PointSet(tuple(s[rows] for s in found.sites), found.normals[rows])
    lowered = bench.lowered
    return CellSystem.of(without_pairs(lowered), points, space, ties_of(lowered, bench.domain, space))


def without_pairs(lowered: LoweredProblem) -> LoweredProblem:
    """Periodic conditions are joints between the cells at both ends, and need no rows of their own."""
    return replace(lowered, residuals=tuple(r for r in lowered.residuals if r.region.period is None))


def ties_of(lowered: LoweredProblem, domain: Domain, space: Cells) -> list[Tied]:
    """All joints of a tree with their traces."""
    orders = [orders_across(lowered, axis, lambda r: r.is_inside) for axis in range(lowered.dimension)]
    repeated: dict[int, list[int]] = {}
    for r in lowered.residuals:
        if r.region.period is not None:
            counts = repeated.setdefault(r.region.period, [0] * lowered.unknowns)
            counts[r.linear[0].unknown] += 1
    out = []
    for joint in space.tree.joints(tuple(repeated)):
        nodes = min(space.parts[joint.low].nodes, space.parts[joint.high].nodes)
        across = tuple(repeated[joint.axis]) if joint.shift else orders[joint.axis]
        tied = tie(joint, across, nodes, domain.contains)
        if tied is not None:
            out.append(tied)
    return out
