r"""r(w) and J(w) of more points than memory holds: the rows are made in blocks, as often as needed.

A block is a small system of its own: some points of one region, all residuals that hold there.
Nothing but the points is kept between two passes over the blocks.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np

from pibls.arrays import Array
from pibls.assembly.known import Placed
from pibls.assembly.points import PointSet
from pibls.assembly.system import HELD_BYTES, System, assemble
from pibls.assembly.system_base import Asked
from pibls.linalg.rows import Rows
from pibls.memory import check_memory
from pibls.problem import Region
from pibls.problem.forms.lowering import LoweredProblem, Residual
from pibls.spaces import Whole

HELD_ENTRIES = 1 << 28
"""Entries (2 GiB) up to which the matrices are held; solvers need two to three times as much."""
_BLOCK_ENTRIES = 1 << 22


def held_or_streamed(lowered: LoweredProblem, placed: Placed, space: Whole) -> System | StreamedSystem:
    """The system of a problem at these points in this space: held where it fits, else streamed."""
    points = placed.points
    kept = sum(
        len(points[r.region]) * (space.columns + space.nodes * len(r.nonlinear)) for r in lowered.residuals
    )
    whole = any(r.region.is_sum for r in lowered.residuals)  # a sum over points is not taken in blocks
    if whole or (kept <= HELD_ENTRIES and _fits(kept)):
        return assemble(lowered, points, space, placed.known)
    return StreamedSystem.of(lowered, points, space)


def _fits(entries: int) -> bool:
    try:
        check_memory(HELD_BYTES * entries)
    except MemoryError:
        return False
    return True


@dataclass(frozen=True)
class RowPiece:
    """Some points of one region and the residuals there."""

    lowered: LoweredProblem
    region: Region
    points: PointSet

    @property
    def rows(self) -> int:
        return len(self.lowered.residuals) * len(self.points)

    @property
    def values(self) -> int:
        """How many numbers of v belong to it."""
        return sum(len(r.nonlinear) for r in self.lowered.residuals) * len(self.points)

    def system(self, space: Whole) -> System:
        return assemble(self.lowered, {self.region: self.points}, space)

    def target(self, v: Array) -> Array:
        """b of these rows, linearised about v; no space is needed for it."""
        X, normals, n = self.points.sites[0], self.points.normals, len(self.points)
        out, start = [], 0
        for r in self.lowered.residuals:
            stop = start + len(r.nonlinear) * n
            jets, data = v[start:stop].reshape(-1, n), r.known_data(X)
            start = stop
            out.append(
                np.sum(r.partials(X, normals, data, jets) * jets, axis=0) - r.rest(X, normals, data, jets)
            )
        return np.concatenate(out)


@dataclass(frozen=True)
class StreamedSystem(Asked[Rows]):
    """What `System` is, with rows that are never all there; they come in another order."""

    space: Whole
    pieces: tuple[RowPiece, ...]
    is_linear: bool

    @classmethod
    def of(cls, lowered: LoweredProblem, points: Mapping[Region, PointSet], space: Whole) -> StreamedSystem:
        columns = space.columns
        # With fewer rows than columns, the triangle that is carried along would cost more than the rows.
        rows = max(_BLOCK_ENTRIES // columns, columns)
        pieces = []
        for region, found in points.items():
            here = tuple(r for r in lowered.residuals if r.region == region)
            part = replace(lowered, residuals=here)
            step = max(rows // max(len(here), 1), 1)
            for start in range(0, len(found), step):
                chosen = slice(start, start + step)
                sites = tuple(site[chosen] for site in found.sites)
                pieces.append(RowPiece(part, region, PointSet(sites, found.normals[chosen])))
        return cls(space, tuple(pieces), lowered.is_linear)

    @property
    def probed(self) -> None:
        """Its rows would have to be made once more."""

    @property
    def shape(self) -> tuple[int, int]:
        return sum(p.rows for p in self.pieces), self.space.columns

    def residual(self, w: Array) -> Array:
        """r(w), (rows,)."""
        return np.concatenate([p.system(self.space).residual(w) for p in self.pieces])

    def terms(self, w: Array) -> Array:
        """Σ|terms| of each row, (rows,)."""
        return np.concatenate([p.system(self.space).terms(w) for p in self.pieces])

    @property
    def bent(self) -> Iterator[tuple[PointSet, Residual]]:
        return ((p.points, r) for p in self.pieces for r in p.lowered.residuals if r.nonlinear)

    def values(self, w: Array) -> Array:
        return self.values_of(self.space, w)

    def _linearised(self, v: Array) -> tuple[Rows, Array]:
        ends = np.cumsum([p.values for p in self.pieces])
        parts = np.split(v, ends[:-1])

        def blocks() -> Iterator[Array]:
            for piece, part in zip(self.pieces, parts, strict=True):
                yield piece.system(self.space).linearise(part)[0]

        b = np.concatenate([p.target(part) for p, part in zip(self.pieces, parts, strict=True)])
        return Rows(self.shape, blocks), b
