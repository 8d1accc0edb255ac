r"""Hybridized system of a problem on a tree of cells: spaces, collocation points and face couplings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise

import numpy as np

from pibls.adaptive.singular.cell_corners import CellCornerFunctions
from pibls.adaptive.thresholds import ENRICHMENT
from pibls.adaptive.validation.context import ValidationContext
from pibls.arrays import Array
from pibls.assembly.cell_points import place_in_cell
from pibls.assembly.hybridized.cell_batches import PointPlacement
from pibls.assembly.hybridized.cell_system import CellSystem
from pibls.assembly.hybridized.face_traces import FaceCoupling, FaceSpec, couple_faces
from pibls.assembly.hybridized.interface_jumps import jump_at
from pibls.assembly.hybridized.interface_traces import orders_across, traces_at, traces_of
from pibls.assembly.points import PointSet
from pibls.basis.random_fourier import RandomFourierBasis, RandomFourierFeatures
from pibls.basis.scale import scale_for
from pibls.geometry import Domain
from pibls.linalg.tree.engine import LOCAL, Engine
from pibls.problem import Region
from pibls.problem.forms.compilation import CompiledProblem
from pibls.spaces import CellSpace, CellTree, SingleDomainSpace, without_enrichment

_VALIDATION_FACTOR = 1.5


@dataclass(frozen=True)
class ReferenceCell:
    """Random features drawn once for the reference cell [-1, 1]^d and used in every cell."""

    basis: RandomFourierBasis

    @classmethod
    def drawn(cls, nodes: int, d: int, shrink: float, rng: np.random.Generator) -> ReferenceCell:
        box = np.array([[-1.0, 1.0]] * d)
        return cls(RandomFourierFeatures(nodes, shrink * scale_for("waves", nodes, d)).draw(box, rng))

    @property
    def nodes(self) -> int:
        return self.basis.size

    def on(self, box: Array, unknowns: int) -> SingleDomainSpace:
        """Return the random features mapped to a cell."""
        half = 0.5 * (box[:, 1] - box[:, 0])
        return SingleDomainSpace.shared(
            RandomFourierBasis(self.basis.frequencies, box.mean(axis=1), half), unknowns
        )

    def over(self, tree: CellTree, unknowns: int) -> CellSpace:
        """Return the random features in every cell of a tree."""
        return CellSpace(tree, tuple(self.on(box, unknowns) for box in tree.boxes))


def cell_system(
    compiled: CompiledProblem,
    domain: Domain,
    space: CellSpace,
    engine: Engine = LOCAL,
    frames: Array | None = None,
    corners: CellCornerFunctions | None = None,
) -> CellSystem:
    """Assemble a problem in cells, with collocation points for the functions of each cell.

    ``frames`` are the clipped boxes in which cells have their functions and points, if they differ from the
    cells. ``corners`` are the corner functions of the space.
    """
    corners = corners or CellCornerFunctions()
    regions = dict.fromkeys(r.region for r in compiled.residuals)
    boxes = space.tree.boxes
    points = [
        partial(corners.place_points, list(regions), domain, box, frame, part.nodes)
        for frame, box, part in zip(boxes if frames is None else frames, boxes, space.parts, strict=True)
    ]
    ties, shared = (
        face_couplings(compiled, domain, space),
        corners.shared_coefficients(space, compiled.unknowns),
    )
    return CellSystem.of(without_periodic_conditions(compiled), points, space, ties, engine, shared)


def system_with_points(
    context: ValidationContext, space: CellSpace, where: Mapping[Region, PointSet]
) -> CellSystem:
    """Assemble a problem in cells with given points, each assigned to its cell."""
    points: list[dict[Region, PointSet]] = [{} for _ in space.parts]
    for region, found in where.items():
        if region.periodic_axis is not None:
            continue
        if region.is_integral:
            for mine, box, part in zip(points, space.tree.boxes, space.parts, strict=True):
                mine[region] = place_in_cell(region, context.domain, box, part.nodes)
            continue
        # A boundary point belongs to the cell on the inner side of the boundary.
        inwards = ENRICHMENT.corner_offset * (context.box[:, 1] - context.box[:, 0]) * found.normals
        cells = space.tree.locate(found.sites[0] - inwards)
        order = np.argsort(cells, kind="stable")
        ends = np.searchsorted(cells[order], np.arange(len(points) + 1)).tolist()
        for cell, (start, stop) in enumerate(pairwise(ends)):
            if start < stop:
                rows = order[start:stop]
                points[cell][region] = PointSet(tuple(s[rows] for s in found.sites), found.normals[rows])
    compiled = context.compiled
    given: list[PointPlacement] = [partial(_given, mine) for mine in points]
    ties = face_couplings(compiled, context.domain, space)
    return CellSystem.of(without_periodic_conditions(compiled), given, space, ties, context.engine)


def _given(points: dict[Region, PointSet]) -> dict[Region, PointSet]:
    return points


def without_periodic_conditions(compiled: CompiledProblem) -> CompiledProblem:
    """Drop periodic conditions, which are face couplings between the cells at both ends."""
    return replace(compiled, residuals=tuple(r for r in compiled.residuals if r.region.periodic_axis is None))


def face_couplings(compiled: CompiledProblem, domain: Domain, space: CellSpace) -> list[FaceCoupling]:
    """Return the couplings on all faces of a tree."""
    orders = [orders_across(compiled, axis) for axis in range(compiled.dimension)]
    repeated: dict[int, list[int]] = {}
    for r in compiled.residuals:
        if r.region.periodic_axis is not None:
            counts = repeated.setdefault(r.region.periodic_axis, [0] * compiled.unknowns)
            counts[r.linear[0].unknown] += 1
    wanted = []
    faces = compiled.interfaces
    extents = np.ptp(space.tree.box, axis=1).tolist()
    smooth = [without_enrichment(part).nodes for part in space.parts]
    plain = [traces_of(across) for across in orders]
    for joint in space.tree.shared_faces(tuple(repeated)):
        axis = joint.axis
        nodes = smooth[joint.low], smooth[joint.high]
        plane = (axis, float(joint.box[axis, 0]))
        traces = plain[axis]
        if joint.shift:
            traces = traces_of(tuple(repeated[axis]))
        elif plane in faces.flux_planes:
            traces = traces_at(compiled, axis, joint.box, orders[axis], extents[axis])
        wanted.append(FaceSpec(joint, traces, nodes, extents[axis], jump_at(compiled, plane, extents[axis])))
    return couple_faces(wanted, domain.contains)


def integral_validation_points(context: ValidationContext, space: CellSpace) -> dict[Region, PointSet]:
    """Return quadrature points of all integrals for validation, cell by cell."""
    regions = dict.fromkeys(r.region for r in context.compiled.residuals if r.region.is_integral)
    pairs = list(zip(space.tree.boxes, space.parts, strict=True))
    return {
        region: PointSet.joined(
            [
                place_in_cell(region, context.domain, box, int(_VALIDATION_FACTOR * part.nodes))
                for box, part in pairs
            ]
        )
        for region in regions
    }
