r"""Least-squares systems with more rows than fit into memory, computed in blocks as often as needed.

`assemble_or_stream` stores a system of up to 2 GiB, if there is memory for it, and streams a larger one.

A block is a small system: some points of one region with all residuals of the region. Only the points are
kept between two passes over the blocks.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np

from pibls.arrays import Array
from pibls.assembly.points import PointSet
from pibls.assembly.residual_coefficients import PlacedPoints
from pibls.assembly.system import BYTES_PER_ENTRY, System, assemble
from pibls.assembly.system_base import SystemBase
from pibls.linalg.streamed_matrix import StreamedMatrix
from pibls.problem import Region
from pibls.problem.forms.compilation import CompiledProblem, Residual
from pibls.runtime.memory import check_memory
from pibls.spaces import SingleDomainSpace

MAX_STORED_ENTRIES = 1 << 28
"""Matrix entries (2 GiB) up to which a system is stored; solvers need two to three times as much."""
_BLOCK_ENTRIES = 1 << 22


def assemble_or_stream(
    compiled: CompiledProblem, placed: PlacedPoints, space: SingleDomainSpace
) -> System | StreamedSystem:
    """Assemble the system of a problem: stored if it fits into memory, else streamed."""
    points = placed.points
    kept = sum(
        len(points[r.region]) * (space.columns + space.nodes * len(r.nonlinear)) for r in compiled.residuals
    )
    whole = any(
        r.region.is_integral for r in compiled.residuals
    )  # a sum over points cannot be split into blocks
    if whole or (kept <= MAX_STORED_ENTRIES and _fits(kept)):
        return assemble(compiled, points, space, placed.cache)
    return StreamedSystem.of(compiled, points, space)


def _fits(entries: int) -> bool:
    try:
        check_memory(BYTES_PER_ENTRY * entries)
    except MemoryError:
        return False
    return True


@dataclass(frozen=True)
class RowBlock:
    """Some points of one region with the residuals of the region."""

    compiled: CompiledProblem
    region: Region
    points: PointSet

    @property
    def rows(self) -> int:
        return len(self.compiled.residuals) * len(self.points)

    @property
    def value_count(self) -> int:
        """Number of entries of v that belong to this block."""
        return sum(len(r.nonlinear) for r in self.compiled.residuals) * len(self.points)

    def system(self, space: SingleDomainSpace) -> System:
        return assemble(self.compiled, {self.region: self.points}, space)

    def right_side(self, v: Array) -> Array:
        """Return b of these rows, linearized about v; it does not depend on the space."""
        X, normals, n = self.points.sites[0], self.points.normals, len(self.points)
        out, start = [], 0
        for r in self.compiled.residuals:
            stop = start + len(r.nonlinear) * n
            derivatives, data = v[start:stop].reshape(-1, n), r.data_function_values(X)
            start = stop
            out.append(
                np.sum(r.partials(X, normals, data, derivatives) * derivatives, axis=0)
                - r.rest(X, normals, data, derivatives)
            )
        return np.concatenate(out)


@dataclass(frozen=True)
class StreamedSystem(SystemBase[StreamedMatrix]):
    """Like `System`, with rows that are computed block by block, and in another order."""

    space: SingleDomainSpace
    row_blocks: tuple[RowBlock, ...]
    is_linear: bool

    @classmethod
    def of(
        cls, compiled: CompiledProblem, points: Mapping[Region, PointSet], space: SingleDomainSpace
    ) -> StreamedSystem:
        columns = space.columns
        # With fewer rows than columns, updating the triangular factor would cost more than the rows.
        rows = max(_BLOCK_ENTRIES // columns, columns)
        row_blocks = []
        for region, found in points.items():
            here = tuple(r for r in compiled.residuals if r.region == region)
            part = replace(compiled, residuals=here)
            step = max(rows // max(len(here), 1), 1)
            for start in range(0, len(found), step):
                chosen = slice(start, start + step)
                sites = tuple(site[chosen] for site in found.sites)
                row_blocks.append(RowBlock(part, region, PointSet(sites, found.normals[chosen])))
        return cls(space, tuple(row_blocks), compiled.is_linear)

    @property
    def conditioning_target(self) -> None:
        """None: a test of the conditioning would need another pass over all rows."""

    @property
    def shape(self) -> tuple[int, int]:
        return sum(p.rows for p in self.row_blocks), self.space.columns

    def residual(self, w: Array) -> Array:
        """Return r(w), (rows,)."""
        return np.concatenate([p.system(self.space).residual(w) for p in self.row_blocks])

    def term_magnitudes(self, w: Array) -> Array:
        """Return Σ|terms| of each row, (rows,)."""
        return np.concatenate([p.system(self.space).term_magnitudes(w) for p in self.row_blocks])

    @property
    def nonlinear_residuals(self) -> Iterator[tuple[PointSet, Residual]]:
        return ((p.points, r) for p in self.row_blocks for r in p.compiled.residuals if r.nonlinear)

    def values(self, w: Array) -> Array:
        return self.values_of(self.space, w)

    def _linearized(self, v: Array) -> tuple[StreamedMatrix, Array]:
        ends = np.cumsum([p.value_count for p in self.row_blocks])
        parts = np.split(v, ends[:-1])

        def blocks() -> Iterator[Array]:
            for block, part in zip(self.row_blocks, parts, strict=True):
                yield block.system(self.space).linearize(part)[0]

        b = np.concatenate([p.right_side(part) for p, part in zip(self.row_blocks, parts, strict=True)])
        return StreamedMatrix(self.shape, blocks), b
