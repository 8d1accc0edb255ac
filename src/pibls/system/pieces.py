r"""The systems of some cells, with their sides of the faces: what one task assembles.

All functions here are pure and at the top of the module, so that they can be sent anywhere by name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from pibls.arrays import Array
from pibls.linalg.blocks import Strip
from pibls.problem import Region
from pibls.problem.lowering import LoweredProblem, Residual
from pibls.space import Space, Whole, bare
from pibls.system.moving import moved
from pibls.system.points import PointSet
from pibls.system.system import System, assemble
from pibls.system.tied import Index, TiedSystem, shared_columns
from pibls.system.traces import Tied

Placing = Callable[[], Mapping[Region, PointSet]]
"""The points of a cell, placed when it is called."""


@dataclass(frozen=True)
class Side:
    """One side of a face: the part of the matrix that the face is, and the spaces below and above."""

    face: int
    tied: Tied
    spaces: tuple[Whole, Whole] = field(repr=False)
    upper: bool


@dataclass(frozen=True)
class Chain:
    """s_c = s_(c-1) + Σ wᵢ r(xᵢ), γ_c = γ_(c+1): integrals, and coefficients that are the same in all cells.

    Sums are carried on from cell to cell, and the last one is to be zero. Each subtree of cells is tied to the
    others by two of these numbers only.
    """

    names: tuple[str, ...]
    """Of the integrals."""
    alike: int
    """How many coefficients are the same."""
    sum: int
    """The part of the matrix that holds s_c; that before it holds s_(c-1)."""
    link: int
    """The part that γ_c and γ_(c+1) are to be; that before it is the one of γ_(c-1)."""
    is_first: bool
    is_last: bool

    @property
    def _ends(self) -> list[int]:
        """How far back the parts of the chain are: one for the cell before, none for the next one."""
        return [1] * (not self.is_first) + [0] * (not self.is_last)

    @property
    def touched(self) -> list[tuple[int, ...]]:
        """The parts of each strip, besides the cell."""
        out = [tuple(self.sum - back for back in self._ends)] if self.names else []
        return out + [(self.link - back,) for back in self._ends if self.alike]

    @property
    def heights(self) -> list[int]:
        return [len(self.names)] * bool(self.names) + [self.alike] * (len(self._ends) * bool(self.alike))

    def strips(self, cell: int, columns: int, first: int) -> list[Strip]:
        """Those of a cell, whose coefficients from ``first`` on are the same in all cells.

        What the cell itself adds to the sums is taken anew about each guess.
        """
        out = []
        if self.names:
            one = np.eye(len(self.names))
            blocks = [one if back else -one for back in self._ends]
            out.append(Strip((cell, *self.touched[0]), (np.zeros((len(one), columns), order="F"), *blocks)))
        for parts in self.touched[bool(self.names) :]:
            own = np.zeros((self.alike, columns), order="F")
            own[:, first : first + self.alike] = np.eye(self.alike)
            out.append(Strip((cell, *parts), (own, -np.eye(self.alike))))
        return out


@dataclass(frozen=True)
class Job:
    """What a cell is assembled from."""

    cell: int
    points: Placing
    space: Whole = field(repr=False)
    sides: tuple[Side, ...] = field(repr=False)
    chain: Chain
    index: Index | None = field(default=None, repr=False)
    """Which of the coefficients that are looked for each one of the space is, where some are one."""
    apart: tuple[Whole, Index] | None = field(default=None, repr=False)
    """The same without what is the same in all cells, which is so on both sides of a face."""

    def on_face(self, T: Array) -> Array:
        """The traces of the cell, in the coefficients that are looked for."""
        if self.apart is None:
            return T
        T = shared_columns(T, self.apart[1])
        return np.asfortranarray(np.insert(T, [self.common] * self.chain.alike, 0.0, axis=1))

    @property
    def common(self) -> int:
        """Where what is the same in all cells begins."""
        return bare(self.space).columns

    def system(self, lowered: LoweredProblem, points: Mapping[Region, PointSet]) -> System | TiedSystem:
        """That of some residuals, in the functions of the cell."""
        found = assemble(lowered, points, self.space)
        return found if self.index is None else TiedSystem(found, self.index)


@dataclass(frozen=True)
class Bent:
    """F(x, w) - P λ = 0 in some rows of a face: F is a system of its own, a flux that is not linear or an
    integral."""

    strip: int
    rows: slice
    """In the strip."""
    places: slice
    """Among the rows of all faces of the cell."""
    system: System | TiedSystem = field(repr=False)


@dataclass(frozen=True)
class Piece:
    """The systems of some cells; ``ties`` are their rows on the faces, with what these are to be."""

    cells: tuple[int, ...]
    systems: tuple[System | TiedSystem, ...] = field(repr=False)
    ties: tuple[tuple[Strip, ...], ...] = field(repr=False)
    jumps: tuple[Array, ...] = field(repr=False)
    bent: tuple[tuple[Bent, ...], ...] = field(repr=False)

    def all_systems(self) -> list[System | TiedSystem]:
        """Of each cell its own and those of its fluxes: v has their values in this order."""
        return [s for own, bent in zip(self.systems, self.bent, strict=True)
                for s in (own, *(b.system for b in bent))]  # fmt: skip


def assembled(lowered: LoweredProblem, jobs: tuple[Job, ...]) -> Piece:
    """The systems of some cells."""
    systems, ties, jumps, bent = [], [], [], []
    known: dict[int, Any] = {}  # both sides of a face come from one computation
    for job in jobs:
        found = {region: chosen for region, chosen in job.points().items() if len(chosen)}
        placed = {region: chosen for region, chosen in found.items() if not region.is_sum}
        local = tuple(r for r in lowered.residuals if r.region in placed)
        systems.append(job.system(replace(lowered, residuals=local), placed))
        strips, wanted = [], [np.empty(0)]
        for side in job.sides:
            rows = known.pop(side.face, None)
            if rows is None:
                rows = known[side.face] = side.tied.rows(*side.spaces)
            T, P = rows[side.upper]
            strips.append(Strip((job.cell, side.face), (job.on_face(T), P)))
            wanted.append(side.tied.jumps.ravel() if side.upper else np.zeros(side.tied.jumps.size))
        strips += job.chain.strips(job.cell, systems[-1].shape[1], job.common)
        wanted.append(np.zeros(sum(job.chain.heights)))
        ties.append(tuple(strips))
        jumps.append(np.concatenate(wanted))
        bent.append(_bent(job, lowered, found))
    cells = tuple(job.cell for job in jobs)
    return Piece(cells, tuple(systems), tuple(ties), tuple(jumps), tuple(bent))


def _bent(job: Job, lowered: LoweredProblem, found: Mapping[Region, PointSet]) -> tuple[Bent, ...]:
    """The fluxes of a cell's faces that are not linear, and what it adds to integrals."""
    out, start = [], 0
    for number, side in enumerate(job.sides):
        for rows, flux, X in side.tied.fluxes(side.upper):
            points = {flux.region: PointSet((X,), np.zeros_like(X))}
            system = job.system(replace(lowered, residuals=(flux,)), points)
            out.append(Bent(number, rows, slice(start + rows.start, start + rows.stop), system))
        start += side.tied.rows_each
    for row, name in enumerate(job.chain.names):
        terms = tuple(r for r in lowered.residuals if r.name == name and r.region in found)
        if terms:
            points = {r.region: found[r.region] for r in terms}
            system = job.system(replace(lowered, residuals=terms), points)
            out.append(Bent(len(job.sides), slice(row, row + 1), slice(start + row, start + row + 1), system))
    return tuple(out)


def later(
    piece: Piece, residuals: Mapping[str, Residual], spaces: Mapping[int, Whole], axis: int, shift: float
) -> Piece | None:
    """The same cells in a later window; None where the operator is another one."""
    if any(piece.bent):
        return None
    systems = []
    for cell, system in zip(piece.cells, piece.systems, strict=True):
        found = moved(system, residuals, spaces[cell], axis, shift)
        if found is None:
            return None
        systems.append(found)
    return replace(piece, systems=tuple(systems))


def is_there(piece: Piece | None) -> bool:
    return piece is not None


def sizes(piece: Piece) -> tuple[list[int], dict[int, int]]:
    """The rows of each strip, and how many nonlinear values each cell has."""
    heights = [rows for system, strips in zip(piece.systems, piece.ties, strict=True)
               for rows in (system.shape[0], *map(len, strips))]  # fmt: skip
    counts = {
        c: s.nonlinear_values + sum(b.system.nonlinear_values for b in bent)
        for c, s, bent in zip(piece.cells, piece.systems, piece.bent, strict=True)
    }
    return heights, counts


def residual(piece: Piece, w: Mapping[int, Array]) -> Array:
    """r(w) in the rows of a piece, cell by cell; w are the coefficients of cells and faces."""
    parts = [np.empty(0)]
    for cell, system, strips, jump, bent in zip(
        piece.cells, piece.systems, piece.ties, piece.jumps, piece.bent, strict=True
    ):
        parts.append(system.residual(w[cell]))
        if strips:
            found = np.concatenate([s.at(w) for s in strips]) - jump
            for b in bent:
                stand_in = strips[b.strip].blocks[0][b.rows] @ w[cell]
                found[b.places] += b.system.residual(w[cell]) - stand_in
            parts.append(found)
    return np.concatenate(parts)


def misfits(
    piece: Piece, w: Mapping[int, Array], sizes: Array, halves: Mapping[int, Array]
) -> dict[int, tuple[float, Array]]:
    """For each cell how far its conditions are from being met, as a change of the unknowns; and where.

    α·u = g is off by the residual over α; of a derivative the length of the cell makes a value. Cells without
    conditions are not listed.
    """
    out: dict[int, tuple[float, Array]] = {}
    for cell, system in zip(piece.cells, piece.systems, strict=True):
        r = system.residual(w[cell])
        for block in system.blocks:
            if block.residual.region.is_inside or block.points.weights is not None:
                continue
            strength = block.strength(system.full(w[cell]), system.space, sizes, halves[cell])
            with np.errstate(invalid="ignore", divide="ignore"):
                found = np.nan_to_num(np.abs(r[block.rows]) / strength, nan=0.0, posinf=0.0)
            worst = int(found.argmax())
            if cell not in out or found[worst] > out[cell][0]:
                out[cell] = float(found[worst]), block.points.sites[0][worst]
    return out


def values(piece: Piece, w: Mapping[int, Array]) -> Array:
    """v of the cells."""
    found = [np.empty(0)]
    for c, system, bent in zip(piece.cells, piece.systems, piece.bent, strict=True):
        found += [s.values(w[c]) for s in (system, *(b.system for b in bent))]
    return np.concatenate(found)


def values_of(piece: Piece, function: tuple[Space, Array]) -> Array:
    """v of a function in any space."""
    return np.concatenate([np.empty(0), *(s.values_of(*function) for s in piece.all_systems())])


def level(piece: Piece, u: float) -> Array:
    """v of the constant function u."""
    return np.concatenate([np.empty(0), *(s.level(u) for s in piece.all_systems())])


def linearised(piece: Piece, v: Array) -> tuple[tuple[Strip, ...], Array]:
    """The strips of J and b, linearised about v."""
    strips, targets, start = list[Strip](), [np.empty(0)], 0
    for cell, system, ties, jump, bent in zip(
        piece.cells, piece.systems, piece.ties, piece.jumps, piece.bent, strict=True
    ):
        stop = start + system.nonlinear_values
        J, b = system.linearise(v[start:stop])
        start = stop
        faces, wanted = list(ties), jump.copy() if bent else jump
        for part in bent:
            stop = start + part.system.nonlinear_values
            slopes, target = part.system.linearise(v[start:stop])
            start = stop
            T, *others = faces[part.strip].blocks
            T = T.copy(order="F")
            T[part.rows] = slopes
            faces[part.strip] = replace(faces[part.strip], blocks=(T, *others))
            wanted[part.places] += target
        strips += [Strip((cell,), (J,)), *faces]
        targets += [b, wanted]
    return tuple(strips), np.concatenate(targets)


def first(pair: tuple[Any, Any]) -> Any:
    return pair[0]


def second(pair: tuple[Any, Any]) -> Any:
    return pair[1]
