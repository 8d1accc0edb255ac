r"""r(w) in each cell, and [∂ₙᵏu] = 0 across each interface: the system of a decomposed basis.

Each cell is a small system of its own, with its own points and functions; across an interface every
unknown and its normal derivatives below the order of the equations agree (C^{k-1} continuity).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from pibls.arrays import Array, MultiIndex
from pibls.basis import Basis
from pibls.basis.quasi import CLOSED_RULES
from pibls.linalg.blocks import Blocks, Strip
from pibls.problem import Region
from pibls.problem.lowering import LoweredProblem
from pibls.space import DecomposedBasis
from pibls.space.decomposed import Interface
from pibls.system.points import PointSet
from pibls.system.system import System, assemble, jet_values


@dataclass(frozen=True)
class Piece:
    """The rows of some points that lie in the same cells."""

    cells: tuple[int, ...]
    system: System
    columns: npt.NDArray[np.intp] = field(repr=False)
    """Where the coefficients of its functions stand among all."""


@dataclass(frozen=True)
class DecomposedSystem:
    """What `System` is, block-sparse."""

    basis: DecomposedBasis
    unknowns: int
    pieces: tuple[Piece, ...]
    continuity: tuple[Strip, ...]
    is_linear: bool

    @classmethod
    def of(
        cls, lowered: LoweredProblem, points: Mapping[Region, PointSet], basis: DecomposedBasis
    ) -> DecomposedSystem:
        pieces = []
        for residual in lowered.residuals:
            alone = replace(lowered, residuals=(residual,))
            for cells, found in _by_cell(points[residual.region], basis):
                local = assemble(alone, {residual.region: found}, basis.only(cells))
                pieces.append(Piece(cells, local, _columns(basis, cells, lowered.unknowns)))
        return cls(basis, lowered.unknowns, tuple(pieces), _continuity(lowered, basis), lowered.is_linear)

    @cached_property
    def shape(self) -> tuple[int, int]:
        rows = sum(p.system.shape[0] for p in self.pieces) + sum(map(len, self.continuity))
        return rows, self.basis.size * self.unknowns

    @cached_property
    def _parts(self) -> tuple[npt.NDArray[np.intp], ...]:
        return tuple(_columns(self.basis, (c,), self.unknowns) for c in range(len(self.basis.parts)))

    @cached_property
    def _joints(self) -> Blocks:
        return Blocks(self.continuity, self._parts)

    def residual(self, w: Array) -> Array:
        """r(w), (rows,)."""
        local = [p.system.residual(w[p.columns]) for p in self.pieces]
        return np.concatenate([*local, self._joints @ w])

    def jacobian(self, w: Array) -> Blocks:
        """J(w), (rows, columns)."""
        return self.linearise(self.values(w))[0]

    def values(self, w: Array) -> Array:
        """v: the nonlinear jets at the points, where the solution enters nonlinearly."""
        return np.concatenate([p.system.values(w[p.columns]) for p in self.pieces])

    def values_of(self, basis: Basis, w: Array) -> Array:
        """v of the function with coefficients w in any basis."""
        parts = [
            jet_values(basis, b.points.sites, b.residual.nonlinear, w).ravel()
            for p in self.pieces
            for b in p.system.blocks
            if b.jets
        ]
        return np.concatenate(parts) if parts else np.empty(0)

    def level(self, u: float) -> Array:
        """v of the constant function u."""
        return np.concatenate([p.system.level(u) for p in self.pieces])

    def linearise(self, v: Array) -> tuple[Blocks, Array]:
        """J and b of the system linearised about v: its solution is the next w."""
        strips, targets, start = [], [], 0
        for piece in self.pieces:
            count = sum(len(b.jets) * len(b.points) for b in piece.system.blocks)
            J, b = piece.system.linearise(v[start : start + count])
            start += count
            strips.append(self._strip(piece, J))
            targets.append(b)
        rest = np.zeros(sum(map(len, self.continuity)))
        return Blocks((*strips, *self.continuity), self._parts), np.concatenate([*targets, rest])

    def _strip(self, piece: Piece, J: Array) -> Strip:
        """The rows of a piece, split into the columns of its cells."""
        if len(piece.cells) == 1:
            return Strip(piece.cells, (J,))
        # The columns of a piece are ordered by unknown, then by cell; those of a part by unknown.
        place = np.empty(self.shape[1], dtype=np.intp)
        place[piece.columns] = np.arange(len(piece.columns))
        return Strip(piece.cells, tuple(np.asfortranarray(J[:, place[self._parts[c]]]) for c in piece.cells))


def _columns(basis: DecomposedBasis, cells: tuple[int, ...], unknowns: int) -> npt.NDArray[np.intp]:
    starts = basis.starts
    own = [np.arange(starts[c], starts[c + 1]) for c in cells]
    return np.concatenate([k * basis.size + part for k in range(unknowns) for part in own]).astype(np.intp)


def _by_cell(points: PointSet, basis: DecomposedBasis) -> list[tuple[tuple[int, ...], PointSet]]:
    """The points, grouped by the cells in which their sites lie."""
    where = np.column_stack([basis.cells_of(site) for site in points.sites])
    out = []
    for key in np.unique(where, axis=0):
        rows = np.flatnonzero((where == key).all(axis=1))
        chosen = PointSet(tuple(site[rows] for site in points.sites), points.normals[rows])
        out.append((tuple(dict.fromkeys(key.tolist())), chosen))
    return out


def _continuity(lowered: LoweredProblem, basis: DecomposedBasis) -> tuple[Strip, ...]:
    """∂ₙᵏu from below minus the same from above, for each unknown and each k below its order across."""
    strips = []
    name = "chebyshev" if lowered.dimension == 2 else "sobol"
    for face in basis.interfaces():
        X = _on(face, basis, name, lowered.dimension)
        orders = [_order(lowered, k, face.axis) for k in range(lowered.unknowns)]
        alphas = [_along(face.axis, k, lowered.dimension) for k in range(max(orders))]
        below = _stacked(basis.parts[face.low], X, alphas, orders)
        above = _stacked(basis.parts[face.high], X, alphas, orders)
        strips.append(Strip((face.low, face.high), (below, -above)))
    return tuple(strips)


def jumps(lowered: LoweredProblem, basis: DecomposedBasis, w: Array) -> Array:
    """[∂ₙᵏu] relative to ∂ₙᵏu, between the points where it was made to vanish."""
    found = []
    for face in basis.interfaces():
        X = _on(face, basis, "halton", lowered.dimension)
        for unknown in range(lowered.unknowns):
            for k in range(_order(lowered, unknown, face.axis)):
                alpha = [_along(face.axis, k, lowered.dimension)]
                sides = []
                for cell in (face.low, face.high):
                    mine = w[_columns(basis, (cell,), lowered.unknowns)].reshape(lowered.unknowns, -1)[
                        unknown
                    ]
                    sides.append(basis.parts[cell].jets(X, alpha)[0] @ mine)
                found.append((unknown, face.axis, k, *sides))
    size: dict[tuple[int, int, int], float] = {}
    for unknown, axis, k, below, above in found:
        top = float(max(np.abs(below).max(), np.abs(above).max()))
        size[unknown, axis, k] = max(size.get((unknown, axis, k), 0.0), top)
    parts = [(below - above) / (size[u, axis, k] or 1.0) for u, axis, k, below, above in found]
    return np.concatenate(parts) if parts else np.zeros(1)


def _on(face: Interface, basis: DecomposedBasis, rule: str, dimension: int) -> Array:
    """Points on a face."""
    free = [i for i in range(dimension) if i != face.axis]
    rng = np.random.default_rng(face.low)  # the same points whatever else is drawn
    U = CLOSED_RULES[rule](basis.on_interface if free else 1, len(free), rng)
    X = np.tile(face.box[:, 0], (len(U), 1))
    X[:, free] += U * (face.box[free, 1] - face.box[free, 0])
    return X


def _order(lowered: LoweredProblem, unknown: int, axis: int) -> int:
    """The highest derivative of the unknown across the axis, at least 1."""
    found = [
        j.alpha[axis] for r in lowered.residuals for j in (*r.linear, *r.nonlinear) if j.unknown == unknown
    ]
    return max(found, default=1) or 1


def _along(axis: int, order: int, dimension: int) -> MultiIndex:
    return tuple(order if i == axis else 0 for i in range(dimension))


def _stacked(part: Basis, X: Array, alphas: list[MultiIndex], orders: list[int]) -> Array:
    """The rows of all unknowns and orders on one side of a face."""
    jets = part.jets(X, alphas)
    n, size = len(X), part.size
    out = np.zeros((n * sum(orders), size * len(orders)), order="F")
    row = 0
    for unknown, order in enumerate(orders):
        for jet in jets[:order]:
            out[row : row + n, unknown * size : (unknown + 1) * size] = jet
            row += n
    return out
