r"""Error indicators of cells: spectral tails at the highest degrees, and residuals between points."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import cast

import numpy as np

from pibls.adaptive.candidate import Candidate
from pibls.adaptive.thresholds import CELLS
from pibls.adaptive.validation.context import ValidationContext
from pibls.adaptive.validation.estimate import unknowns_at
from pibls.arrays import Array
from pibls.assembly.points import PointSet
from pibls.assembly.scaled_residuals import residuals_at
from pibls.basis.cube_points import fixed_halton
from pibls.geometry import clipped_bounds
from pibls.problem import Interior, Region
from pibls.problem.forms.compilation import CompiledProblem
from pibls.spaces import (
    CellSpace,
    CellTree,
    SingleDomainSpace,
    coefficients_without_enrichment,
    without_enrichment,
)
from pibls.spaces.spectral_tail import cell_tails, decay_rates, high_degree_remainder, resolved_degree


def cell_space_of(found: Candidate) -> CellSpace:
    """Return the space of a candidate in cells."""
    return cast("CellSpace", found.space)


def cell_differences(found: Candidate, second: Candidate, X: Array, scales: Array) -> Array:
    """Return max|u - v| of two candidates at the points X per cell of the first, relative to ``scales``."""
    tree, n = cell_space_of(found).tree, len(scales)
    difference = np.abs(unknowns_at(*found.function, X, n) - unknowns_at(*second.function, X, n))
    worst = np.nan_to_num(difference / np.where(scales > 0, scales, 1.0)[:, None]).max(axis=0)
    out = np.zeros(len(tree))
    np.maximum.at(out, tree.locate(X), worst)
    return out


@dataclass(frozen=True)
class ClippedCells:
    """Bounding boxes of the intersection of each cell with the domain; cached."""

    context: ValidationContext
    _clipped: dict[bytes, Array] = field(default_factory=dict, repr=False)
    _domain_samples: dict[bytes, Array | None] = field(default_factory=dict, repr=False)
    """Points of the domain in boxes that the boundary cuts."""

    def clipped_boxes(self, tree: CellTree) -> Array:
        """Return for each cell the bounding box of its intersection with the domain, (cells, d, 2)."""
        if self.context.evolution is not None:
            return tree.boxes
        for box in tree.boxes:
            key = box.tobytes()
            if key not in self._clipped:
                self._clipped[key] = clipped_bounds(self.context.domain, box)
        return np.array([self._clipped[box.tobytes()] for box in tree.boxes])

    def clipped_box(self, box: Array) -> Array:
        """Return the clipped box of a cell, or the cell itself if it was not computed."""
        return self._clipped.get(box.tobytes(), box)

    def domain_points(self, box: Array) -> Array | None:
        """Return points of the domain in a box that the boundary cuts, in [-1, 1]^d; None if it does not."""
        key = box.tobytes()
        if key not in self._domain_samples:
            S = 2.0 * fixed_halton(CELLS.domain_samples, len(box), 5) - 1.0
            X = box.mean(axis=1) + 0.5 * (box[:, 1] - box[:, 0]) * S
            inside = np.asarray(self.context.domain.contains(X), dtype=bool)
            self._domain_samples[key] = (
                None if inside.all() or self.context.evolution is not None else S[inside]
            )
        return self._domain_samples[key]

    def sample_points(self, boxes: Array, n: int, key: int) -> Array:
        """Return n points of each box; if the boundary cuts it, points of the domain.

        In a sliver only few points of the box lie in the domain.
        """
        d = boxes.shape[1]
        S = np.array(np.broadcast_to(2.0 * fixed_halton(n, d, key) - 1.0, (len(boxes), n, d)))
        for mine, box in zip(S, boxes, strict=True):
            places = self.domain_points(box)
            if places is not None and len(places):
                mine[:] = np.resize(np.roll(places, key, axis=0), mine.shape)
        half = 0.5 * (boxes[:, :, 1] - boxes[:, :, 0])
        return np.asarray((boxes.mean(axis=2)[:, None, :] + half[:, None, :] * S).reshape(-1, d))


def clipped_cell_tails(frames: ClippedCells, part: SingleDomainSpace, w: Array, box: Array) -> Array:
    """Return the spectral tails along each axis, (unknowns, d)."""
    unknowns = frames.context.compiled.unknowns
    part, w = without_enrichment(part), coefficients_without_enrichment(part, w)
    found = cell_tails(part, w, box, unknowns)
    places = frames.domain_points(box)
    if places is None:
        return found
    most = found.max(axis=1, keepdims=True)
    left = high_degree_remainder(part, w, box, unknowns, places)[:, None]
    return np.where(most > 0, found * np.minimum(left / np.where(most > 0, most, 1.0), 1.0), 0.0)


def residual_indicators(frames: ClippedCells, found: Candidate, scales: Array) -> tuple[Array, Array]:
    """Return for each cell the relative error that corresponds to its residual, and its point.

    Points at narrow data are included: other points resolve such data only in equally narrow cells.
    """
    space = cell_space_of(found)
    equations, d = frames.context.without_conditions(), frames.context.compiled.dimension
    n = CELLS.residual_points[d]
    boxes = frames.clipped_boxes(space.tree)
    X = frames.sample_points(boxes, n, 3)
    inside = np.asarray(frames.context.domain.contains(X), dtype=bool)
    narrow = frames.context.narrow_data_points
    owners = space.tree.locate(narrow) if len(narrow) else np.empty(0, dtype=np.intp)
    where: dict[Region, PointSet] = {Interior(): PointSet.inside(np.concatenate([X, narrow]))}
    residuals, _ = residuals_at(equations, where, space, found.w, frames.context.box)
    half = 0.5 * (boxes[:, :, 1] - boxes[:, :, 0])
    out, there = np.zeros((len(boxes), n)), np.zeros(len(narrow))
    for r in equations.residuals:
        strength = _equation_scale(equations, r.name, X, space, found.w, half, n, scales)
        left = np.abs(residuals[r.name].values)
        values = np.where(inside, left[: len(X)], 0.0).reshape(-1, n)
        with np.errstate(invalid="ignore", divide="ignore"):
            out = np.maximum(out, np.nan_to_num(values / strength[:, None], nan=0.0, posinf=1.0))
            more = left[len(X) :] / strength[owners]
            there = np.maximum(there, np.nan_to_num(more, nan=0.0, posinf=1.0))
    worst, places = out.max(axis=1), X.reshape(-1, n, d)[np.arange(len(boxes)), out.argmax(axis=1)]
    for k in np.argsort(there):
        if there[k] > worst[owners[k]]:
            worst[owners[k]], places[owners[k]] = there[k], narrow[k]
    return worst, places


def spectral_decay(frames: ClippedCells, found: Candidate, number: int, box: Array, along: Array) -> float:
    """Return the digits by which the spectrum of a cell decays over all degrees, along its worst axis."""
    part, own = cell_space_of(found).parts_with_coefficients(found.w)[number]
    part, w = without_enrichment(part), coefficients_without_enrichment(part, own)
    falls = decay_rates(part, w, frames.clipped_box(box), frames.context.compiled.unknowns)
    return float(falls[:, int(np.argmax(along[number]))].min()) * resolved_degree(part.nodes, len(box))


def _equation_scale(
    equations: CompiledProblem,
    name: str,
    X: Array,
    space: CellSpace,
    w: Array,
    half: Array,
    n: int,
    scales: Array,
) -> Array:
    """Return the change of an equation if the unknowns change by ``scales`` across each cell."""
    r = next(r for r in equations.residuals if r.name == name)
    normals, data = np.zeros_like(X), r.data_function_values(X)
    values = space.values((X,), r.nonlinear, w)
    weights = np.concatenate([r.coefficients(X, normals, data), r.partials(X, normals, data, values)])
    out = np.zeros(len(half))
    for derivative, c in zip((*r.linear, *r.nonlinear), weights, strict=True):
        size = np.nan_to_num(np.abs(c)).reshape(-1, n).max(axis=1) * scales[derivative.unknown]
        out = np.maximum(out, size / np.prod(half ** np.array(derivative.alpha), axis=1))
    return np.where(out > 0, out, np.inf)
