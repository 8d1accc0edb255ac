r"""|c_n| at the end of a cell's degrees, |r| between its points: what a cell has not resolved, and where."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import cast

import numpy as np

from pibls.adaptive.candidate import Attempt
from pibls.adaptive.thresholds import CELLS
from pibls.adaptive.validation.context import Bench
from pibls.adaptive.validation.estimate import unknowns_at
from pibls.arrays import Array
from pibls.assembly.judging import residuals_at
from pibls.assembly.points import PointSet
from pibls.basis.quasi import spread
from pibls.geometry import frame
from pibls.problem import Inside, Region
from pibls.problem.forms.lowering import LoweredProblem
from pibls.spaces import Cells, CellTree, Whole, bare, bared
from pibls.spaces.spectrum import degree_in, fall, left_at, tails


def cells_of(found: Attempt) -> Cells:
    """The space of an attempt in cells."""
    return cast("Cells", found.space)


def apart_in(found: Attempt, second: Attempt, X: Array, scales: Array) -> Array:
    """max|u - v| of two attempts at the places X in each cell of the first, in units of the sizes."""
    tree, n = cells_of(found).tree, len(scales)
    difference = np.abs(unknowns_at(*found.function, X, n) - unknowns_at(*second.function, X, n))
    worst = np.nan_to_num(difference / np.where(scales > 0, scales, 1.0)[:, None]).max(axis=0)
    out = np.zeros(len(tree))
    np.maximum.at(out, tree.locate(X), worst)
    return out


@dataclass(frozen=True)
class Frames:
    """The boxes around what of the domain lies in each cell."""

    bench: Bench
    _framed: dict[bytes, Array] = field(default_factory=dict, repr=False)
    _cut: dict[bytes, Array | None] = field(default_factory=dict, repr=False)
    """The domain in them."""

    def of(self, tree: CellTree) -> Array:
        """For each cell the box around what of the domain lies in it."""
        if self.bench.evolution is not None:
            return tree.boxes
        for box in tree.boxes:
            key = box.tobytes()
            if key not in self._framed:
                self._framed[key] = frame(self.bench.domain, box)
        return np.array([self._framed[box.tobytes()] for box in tree.boxes])

    def around(self, box: Array) -> Array:
        """The frame of a cell that is known."""
        return self._framed.get(box.tobytes(), box)

    def places_in(self, box: Array) -> Array | None:
        """Places of the domain in a frame that the boundary cuts, seen from it; None where it does not."""
        key = box.tobytes()
        if key not in self._cut:
            S = 2.0 * spread(CELLS.looked_at, len(box), 5) - 1.0
            X = box.mean(axis=1) + 0.5 * (box[:, 1] - box[:, 0]) * S
            inside = np.asarray(self.bench.domain.contains(X), dtype=bool)
            self._cut[key] = None if inside.all() or self.bench.evolution is not None else S[inside]
        return self._cut[key]

    def spread(self, boxes: Array, n: int, key: int) -> Array:
        """n places of each frame, one frame after the other; where the boundary cuts it, of the domain.

        Of a sliver few places of its frame are.
        """
        d = boxes.shape[1]
        S = np.array(np.broadcast_to(2.0 * spread(n, d, key) - 1.0, (len(boxes), n, d)))
        for mine, box in zip(S, boxes, strict=True):
            places = self.places_in(box)
            if places is not None and len(places):
                mine[:] = np.resize(np.roll(places, key, axis=0), mine.shape)
        half = 0.5 * (boxes[:, :, 1] - boxes[:, :, 0])
        return np.asarray((boxes.mean(axis=2)[:, None, :] + half[:, None, :] * S).reshape(-1, d))


def tails_in(frames: Frames, part: Whole, w: Array, box: Array) -> Array:
    """What is left at the highest degrees along each axis (unknowns, d)."""
    unknowns = frames.bench.lowered.unknowns
    part, w = bare(part), bared(part, w)
    found = tails(part, w, box, unknowns)[0]
    places = frames.places_in(box)
    if places is None:
        return found
    most = found.max(axis=1, keepdims=True)
    left = left_at(part, w, box, unknowns, places)[:, None]
    return np.where(most > 0, found * np.minimum(left / np.where(most > 0, most, 1.0), 1.0), 0.0)


def unmet_in(frames: Frames, found: Attempt, scales: Array) -> tuple[Array, Array]:
    """For each cell the error that the residual between its points stands for, relative; and where.

    Where narrow data are, no cell has a point before it is as narrow: they are looked at themselves.
    """
    space = cells_of(found)
    equations, d = frames.bench.equations(), frames.bench.lowered.dimension
    n = CELLS.held[d]
    boxes = frames.of(space.tree)
    X = frames.spread(boxes, n, 3)
    inside = np.asarray(frames.bench.domain.contains(X), dtype=bool)
    narrow = frames.bench.narrow
    owners = space.tree.locate(narrow) if len(narrow) else np.empty(0, dtype=np.intp)
    where: dict[Region, PointSet] = {Inside(): PointSet.inside(np.concatenate([X, narrow]))}
    judged, _ = residuals_at(equations, where, space, found.w, frames.bench.box)
    half = 0.5 * (boxes[:, :, 1] - boxes[:, :, 0])
    out, there = np.zeros((len(boxes), n)), np.zeros(len(narrow))
    for r in equations.residuals:
        strength = _strength(equations, r.name, X, space, found.w, half, n, scales)
        left = np.abs(judged[r.name].values)
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


def steepness(frames: Frames, found: Attempt, number: int, box: Array, along: Array) -> float:
    """Digits that the spectrum of a cell would fall over all degrees, along its worst axis."""
    part, own = cells_of(found).each(found.w)[number]
    part, w = bare(part), bared(part, own)
    falls = fall(part, w, frames.around(box), frames.bench.lowered.unknowns)
    return float(falls[:, int(np.argmax(along[number]))].min()) * degree_in(part.nodes, len(box))


def _strength(
    equations: LoweredProblem, name: str, X: Array, space: Cells, w: Array, half: Array, n: int, scales: Array
) -> Array:
    """How much a change of the unknowns by their sizes over a cell changes an equation there."""
    r = next(r for r in equations.residuals if r.name == name)
    normals, data = np.zeros_like(X), r.known_data(X)
    values = space.values((X,), r.nonlinear, w)
    weights = np.concatenate([r.coefficients(X, normals, data), r.partials(X, normals, data, values)])
    out = np.zeros(len(half))
    for jet, c in zip((*r.linear, *r.nonlinear), weights, strict=True):
        size = np.nan_to_num(np.abs(c)).reshape(-1, n).max(axis=1) * scales[jet.unknown]
        out = np.maximum(out, size / np.prod(half ** np.array(jet.alpha), axis=1))
    return np.where(out > 0, out, np.inf)
