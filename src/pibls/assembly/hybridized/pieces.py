r"""The systems of some cells, with their sides of the faces: what one task assembles.

All functions here are pure and at the top of the module, so that they can be sent anywhere by name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from pibls.arrays import Array, Numbers
from pibls.assembly.hybridized.traces import Faces, JointPoints
from pibls.assembly.known import Known, known_in
from pibls.assembly.points import PointSet
from pibls.assembly.system import System, assemble
from pibls.assembly.tied import TiedSystem, shared_columns
from pibls.deadline import go_on
from pibls.linalg.tree.spread import Strip
from pibls.problem import Region
from pibls.problem.forms.lowering import LoweredProblem
from pibls.spaces import Space, Whole, bare

Placing = Callable[[], Mapping[Region, PointSet]]
"""The points of a cell, placed when it is called."""


@dataclass(frozen=True)
class FaceSide:
    """One side of a face: the part of the matrix that the face is, and the cells below and above."""

    face: int
    tied: JointPoints
    cells: tuple[tuple[Faces, int], tuple[Faces, int]] = field(repr=False)
    """Each with the number that the face has among its own."""
    upper: bool


@dataclass(frozen=True)
class IntegralShare:
    """S_c(w_c) + μ (σ_before - σ_after) = 0: what a cell adds to integrals, which run from cell to cell.

    An integral over all cells would be a row that touches all of them. Instead σ is the sum so far, which
    two cells have in common as they have the traces of a face.
    """

    links: tuple[int, ...]
    """The parts of the matrix that are the sum before and the sum after; the first and last have one."""
    signs: tuple[float, ...]
    system: System | TiedSystem = field(repr=False)
    units: Array = field(repr=False)
    """μ of each row."""

    def blocks(self, J: Array) -> tuple[Array, ...]:
        return (J, *(sign * np.diag(self.units) for sign in self.signs))

    def residual(self, cell: int, w: Mapping[int, Array]) -> Array:
        out = self.system.residual(w[cell])
        for sign, link in zip(self.signs, self.links, strict=True):
            out = out + sign * self.units * w[link]
        return out

    @property
    def sizes(self) -> Array:
        """How large the rows are: μ is as large as the largest of all cells."""
        squares = np.einsum("ij,ij->i", self.system.linear, self.system.linear)
        for block in self.system.blocks:
            for phi in block.jets:
                squares[block.rows] += (block.points.summed(np.abs(phi).T) ** 2).sum(axis=0)
        return np.asarray(np.sqrt(squares))


@dataclass(frozen=True)
class Alike:
    """γ_c = γ_(c+1): coefficients that are the same in all cells, as two of them have a face in common."""

    count: int
    links: tuple[int, ...]
    """The parts of the matrix that they are tied to, one with the cell before and one with the next."""
    apart: tuple[Whole, Numbers] = field(repr=False)
    """The functions of the cell without these, and which of their coefficients are one."""

    @property
    def first(self) -> int:
        """Where they begin among those that are looked for."""
        return bare(self.apart[0]).columns

    def on_face(self, T: Array) -> Array:
        """The traces of the other functions, in all columns: these are the same on both sides of a face."""
        T = shared_columns(T, self.apart[1])
        return np.asfortranarray(np.insert(T, [self.first] * self.count, 0.0, axis=1))

    def strips(self, cell: int, columns: int) -> list[Strip]:
        own = np.zeros((self.count, columns), order="F")
        own[:, self.first : self.first + self.count] = np.eye(self.count)
        return [Strip((cell, link), (own, -np.eye(self.count))) for link in self.links]


@dataclass(frozen=True)
class Job:
    """What a cell is assembled from."""

    cell: int
    points: Placing
    space: Whole = field(repr=False)
    sides: tuple[FaceSide, ...] = field(repr=False)
    links: tuple[int, ...] | None = None
    """Of integrals that it has a share in: the sum before and after it."""
    signs: tuple[float, ...] = ()
    alike: Alike | None = None
    index: Numbers | None = field(default=None, repr=False)
    """Which of the coefficients that are looked for each one of the space is, where some are one."""

    def system(
        self,
        lowered: LoweredProblem,
        points: Mapping[Region, PointSet],
        known: dict[int, Known] | None = None,
    ) -> System | TiedSystem:
        """That of some residuals, in the functions of the cell."""
        found = assemble(lowered, points, self.space, known)
        return found if self.index is None else TiedSystem(found, self.index)


@dataclass(frozen=True)
class Bent:
    """F(x, w) - P λ = 0 in some rows of a face, where a flux F is not linear: F is a system of its own."""

    strip: int
    rows: slice
    """In the strip."""
    places: slice
    """Among the rows of all faces of the cell."""
    system: System | TiedSystem = field(repr=False)


@dataclass(frozen=True)
class CellRows:
    """The system of a cell, its rows on the faces, with what these are to be, and its share in integrals."""

    cell: int
    system: System | TiedSystem = field(repr=False)
    ties: tuple[Strip, ...] = field(repr=False)
    jumps: Array = field(repr=False)
    bent: tuple[Bent, ...] = field(repr=False)
    share: IntegralShare | None = field(repr=False)

    @property
    def systems(self) -> list[System | TiedSystem]:
        """Its own, those of its fluxes, that of its integrals: v has their values in this order."""
        more = [] if self.share is None else [self.share.system]
        return [self.system, *(b.system for b in self.bent), *more]


CellBatch = tuple[CellRows, ...]


def assembled(lowered: LoweredProblem, jobs: tuple[Job, ...]) -> CellBatch:
    """The systems of some cells."""
    out = []
    known: dict[int, Array] = {}  # both sides of a face have the same coefficients
    here, traces = {job.cell for job in jobs}, dict[int, list[Array]]()

    def of_side(faces: Faces, number: int) -> Array:
        if faces.cell not in here:  # its own rows are made elsewhere
            return replace(faces, sides=faces.sides[number : number + 1]).traces()[0]
        if faces.cell not in traces:
            traces[faces.cell] = faces.traces()
        return traces[faces.cell][number]

    placed = [job.points() for job in jobs]
    mine = [{r: found for r, found in p.items() if len(found) and not r.is_sum} for p in placed]
    known_there = known_in(lowered.residuals, mine) if jobs else []  # else the problem may be elsewhere
    for job, every, found, told in zip(jobs, placed, mine, known_there, strict=True):
        go_on(__name__)
        local = tuple(r for r in lowered.residuals if r.region in found)
        system = job.system(replace(lowered, residuals=local), found, told)
        strips, wanted = [], [np.empty(0)]
        for side in job.sides:
            both = [of_side(*one) for one in side.cells]
            T, P = both[side.upper], known.pop(side.face, None)
            if P is None:
                P = known[side.face] = side.tied.coefficients(*both)
            strips.append(Strip((job.cell, side.face), (T if job.alike is None else job.alike.on_face(T), P)))
            wanted.append(side.tied.jumps.ravel() if side.upper else np.zeros(side.tied.jumps.size))
        if job.alike is not None:
            strips += job.alike.strips(job.cell, system.shape[1])
            wanted += [np.zeros(job.alike.count)] * len(job.alike.links)
        bent, share = _bent(job, lowered), _share(job, lowered, every)
        out.append(CellRows(job.cell, system, tuple(strips), np.concatenate(wanted), bent, share))
    return tuple(out)


def _share(job: Job, lowered: LoweredProblem, points: Mapping[Region, PointSet]) -> IntegralShare | None:
    """What a cell adds to the integrals; also a row for each where it adds nothing."""
    if job.links is None:
        return None
    sums = tuple(r for r in lowered.residuals if r.region.is_sum)
    system = job.system(replace(lowered, residuals=sums), {r.region: points[r.region] for r in sums})
    return IntegralShare(job.links, job.signs, system, np.ones(system.shape[0]))


def units_of(piece: CellBatch) -> Array:
    """How large the rows of integrals are at most; nothing where there is none."""
    found = [c.share.sizes for c in piece if c.share is not None]
    return np.asarray(np.max(found, axis=0) if found else np.empty(0))


def in_units(piece: CellBatch, units: Array) -> CellBatch:
    """The same with the sums measured in other units."""
    return tuple(replace(c, share=c.share and replace(c.share, units=units)) for c in piece)


def _bent(job: Job, lowered: LoweredProblem) -> tuple[Bent, ...]:
    """The fluxes of a cell's faces that are not linear."""
    out, start = [], 0
    for number, side in enumerate(job.sides):
        for rows, flux, X in side.tied.fluxes(side.upper):
            points = {flux.region: PointSet((X,), np.zeros_like(X))}
            system = job.system(replace(lowered, residuals=(flux,)), points)
            out.append(Bent(number, rows, slice(start + rows.start, start + rows.stop), system))
        start += side.tied.rows_each
    return tuple(out)


def sizes(piece: CellBatch) -> tuple[list[int], dict[int, int]]:
    """The rows of each strip, and how many nonlinear values each cell has."""
    heights = list[int]()
    for c in piece:
        heights += [c.system.shape[0], *map(len, c.ties)]
        if c.share is not None:
            heights.append(len(c.share.units))
    return heights, {c.cell: sum(s.nonlinear_values for s in c.systems) for c in piece}


def residual(piece: CellBatch, w: Mapping[int, Array]) -> Array:
    """r(w) in the rows of a piece, cell by cell; w are the coefficients of cells and faces."""
    parts = [np.empty(0)]
    for c in piece:
        mine = w[c.cell]
        parts.append(c.system.residual(mine))
        if c.ties:
            found = np.concatenate([s.at(w) for s in c.ties]) - c.jumps
            for b in c.bent:
                found[b.places] += b.system.residual(mine) - c.ties[b.strip].blocks[0][b.rows] @ mine
            parts.append(found)
        if c.share is not None:
            parts.append(c.share.residual(c.cell, w))
    return np.concatenate(parts)


def misfits(
    piece: CellBatch, w: Mapping[int, Array], sizes: Array, halves: Mapping[int, Array]
) -> dict[int, tuple[float, Array]]:
    """For each cell how far its conditions are from being met, as a change of the unknowns; and where.

    α·u = g is off by the residual over α; of a derivative the length of the cell makes a value. Cells without
    conditions are not listed.
    """
    out: dict[int, tuple[float, Array]] = {}
    for c in piece:
        cell, system = c.cell, c.system
        r = system.residual(w[cell])
        for block in system.blocks:
            if block.residual.region.is_inside:
                continue
            strength = block.strength(system.full(w[cell]), system.space, sizes, halves[cell])
            with np.errstate(invalid="ignore", divide="ignore"):
                found = np.nan_to_num(np.abs(r[block.rows]) / strength, nan=0.0, posinf=0.0)
            worst = int(found.argmax())
            if cell not in out or found[worst] > out[cell][0]:
                out[cell] = float(found[worst]), block.points.sites[0][worst]
    return out


def values(piece: CellBatch, w: Mapping[int, Array]) -> Array:
    """v of the cells."""
    return np.concatenate([np.empty(0), *(s.values(w[c.cell]) for c in piece for s in c.systems)])


def values_of(piece: CellBatch, function: tuple[Space, Array]) -> Array:
    """v of a function in any space."""
    return np.concatenate([np.empty(0), *(s.values_of(*function) for c in piece for s in c.systems)])


def level(piece: CellBatch, u: float) -> Array:
    """v of the constant function u."""
    return np.concatenate([np.empty(0), *(s.level(u) for c in piece for s in c.systems)])


def linearised(piece: CellBatch, v: Array) -> tuple[tuple[Strip, ...], Array]:
    """The strips of J and b, linearised about v."""
    strips, targets, start = list[Strip](), [np.empty(0)], 0
    for c in piece:
        found: list[tuple[Any, Array]] = []
        for system in c.systems:
            stop = start + system.nonlinear_values
            found.append(system.linearise(v[start:stop]))
            start = stop
        faces, wanted = list(c.ties), c.jumps.copy() if c.bent else c.jumps
        for part, (slopes, target) in zip(c.bent, found[1:], strict=False):
            T, P = faces[part.strip].blocks
            T = T.copy(order="F")
            T[part.rows] = slopes
            faces[part.strip] = replace(faces[part.strip], blocks=(T, P))
            wanted[part.places] += target
        J, b = found[0]
        strips += [Strip((c.cell,), (J,)), *faces]
        targets += [b, wanted]
        if c.share is not None:
            slopes, target = found[-1]
            strips.append(Strip((c.cell, *c.share.links), c.share.blocks(slopes)))
            targets.append(target)
    return tuple(strips), np.concatenate(targets)
