r"""Assembly of a batch of cells with their sides of the faces: the work of one task.

All functions are pure and at the top level of the module, so that they can be sent to workers by name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from pibls.arrays import Array, Indices
from pibls.assembly.hybridized.face_traces import CellFaces, FaceCoupling
from pibls.assembly.points import PointSet
from pibls.assembly.residual_coefficients import ResidualCoefficients, coefficients_in_cells
from pibls.assembly.shared_coefficients import SharedCoefficientSystem, merge_shared_columns
from pibls.assembly.system import System, assemble
from pibls.linalg.tree.block_sparse import RowStrip
from pibls.problem import Region
from pibls.problem.forms.compilation import CompiledProblem
from pibls.runtime.deadline import check_deadline
from pibls.spaces import SingleDomainSpace, Space, without_enrichment

PointPlacement = Callable[[], Mapping[Region, PointSet]]
"""Function that places the points of a cell."""


@dataclass(frozen=True)
class FaceSide:
    """One side of a face: the part of the matrix that belongs to the face, and the cells below and above."""

    face: int
    coupling: FaceCoupling
    cells: tuple[tuple[CellFaces, int], tuple[CellFaces, int]] = field(repr=False)
    """Each cell with the index of the face among its own faces."""
    upper: bool


@dataclass(frozen=True)
class IntegralShare:
    """Contribution of a cell to integrals over all cells: S_c(w_c) + μ (σ_before - σ_after) = 0.

    An integral over all cells would be a row that involves all of them. Instead σ is the partial sum, which
    successive cells share as neighbours share the traces of a face.
    """

    links: tuple[int, ...]
    """Parts of the matrix that hold the sum before and after; the first and the last cell have one."""
    signs: tuple[float, ...]
    system: System | SharedCoefficientSystem = field(repr=False)
    units: Array = field(repr=False)
    """Scale μ of each row."""

    def blocks(self, J: Array) -> tuple[Array, ...]:
        return (J, *(sign * np.diag(self.units) for sign in self.signs))

    def residual(self, cell: int, w: Mapping[int, Array]) -> Array:
        out = self.system.residual(w[cell])
        for sign, link in zip(self.signs, self.links, strict=True):
            out = out + sign * self.units * w[link]
        return out

    @property
    def row_norms(self) -> Array:
        """Norms of the rows; μ is their maximum over all cells."""
        squares = np.einsum("ij,ij->i", self.system.linear, self.system.linear)
        for block in self.system.blocks:
            for phi in block.tables:
                squares[block.rows] += (block.points.summed(np.abs(phi).T) ** 2).sum(axis=0)
        return np.asarray(np.sqrt(squares))


@dataclass(frozen=True)
class GlobalCoefficients:
    """Coefficients shared by all cells: γ_c = γ_(c+1) for successive cells."""

    count: int
    links: tuple[int, ...]
    """Parts of the matrix to which they are coupled, shared with the cell before and with the next."""
    face_space: tuple[SingleDomainSpace, Indices] = field(repr=False)
    """The space of the cell without these functions, and its index of shared coefficients."""

    @property
    def first_column(self) -> int:
        """The first of their columns."""
        return without_enrichment(self.face_space[0]).columns

    def expand_trace(self, T: Array) -> Array:
        """Return the traces T of the other functions with zero columns for these, which need no coupling."""
        T = merge_shared_columns(T, self.face_space[1])
        return np.asfortranarray(np.insert(T, [self.first_column] * self.count, 0.0, axis=1))

    def strips(self, cell: int, columns: int) -> list[RowStrip]:
        own = np.zeros((self.count, columns), order="F")
        own[:, self.first_column : self.first_column + self.count] = np.eye(self.count)
        return [RowStrip((cell, link), (own, -np.eye(self.count))) for link in self.links]


@dataclass(frozen=True)
class CellTask:
    """Everything that the assembly of one cell needs."""

    cell: int
    points: PointPlacement
    space: SingleDomainSpace = field(repr=False)
    sides: tuple[FaceSide, ...] = field(repr=False)
    integral_links: tuple[int, ...] | None = None
    """For integrals: the parts that hold the sums before and after the cell."""
    integral_signs: tuple[float, ...] = ()
    global_coefficients: GlobalCoefficients | None = None
    index: Indices | None = field(default=None, repr=False)
    """Index of the unknown coefficient for each coefficient of the space, if some are shared."""

    def system(
        self,
        compiled: CompiledProblem,
        points: Mapping[Region, PointSet],
        known: dict[int, ResidualCoefficients] | None = None,
    ) -> System | SharedCoefficientSystem:
        """Assemble some residuals in the space of the cell."""
        found = assemble(compiled, points, self.space, known)
        return found if self.index is None else SharedCoefficientSystem(found, self.index)


@dataclass(frozen=True)
class NonlinearFluxRows:
    """Rows of a face with a nonlinear flux F: F(x, w) - P λ = 0, with F assembled as a system."""

    strip: int
    rows: slice
    """Rows within the strip."""
    cell_rows: slice
    """Rows among those of all faces of the cell."""
    system: System | SharedCoefficientSystem = field(repr=False)


@dataclass(frozen=True)
class CellRows:
    """The system of a cell, its rows on the faces with their right-hand sides, and its share in integrals."""

    cell: int
    system: System | SharedCoefficientSystem = field(repr=False)
    face_strips: tuple[RowStrip, ...] = field(repr=False)
    jumps: Array = field(repr=False)
    nonlinear_fluxes: tuple[NonlinearFluxRows, ...] = field(repr=False)
    integral_share: IntegralShare | None = field(repr=False)

    @property
    def systems(self) -> list[System | SharedCoefficientSystem]:
        """The systems of the cell, of its nonlinear fluxes and of its integrals, in the order of v."""
        more = [] if self.integral_share is None else [self.integral_share.system]
        return [self.system, *(b.system for b in self.nonlinear_fluxes), *more]


CellBatch = tuple[CellRows, ...]


@dataclass
class _BatchTraces:
    """Traces on the faces of a batch of cells; all faces of a cell are evaluated together."""

    cells: set[int]
    traces: dict[int, list[Array]] = field(default_factory=dict)
    coefficients: dict[int, Array] = field(default_factory=dict)
    """P of faces of which one side has been assembled; the other side has the same."""

    def of(self, side: FaceSide) -> tuple[Array, Array]:
        """Return T of a side, and P of its face."""
        both = [self._traces(*one) for one in side.cells]
        P = self.coefficients.pop(side.face, None)
        if P is None:
            P = self.coefficients[side.face] = side.coupling.coefficients(*both)
        return both[side.upper], P

    def _traces(self, faces: CellFaces, number: int) -> Array:
        if faces.cell not in self.cells:  # its own rows are assembled in another batch
            return replace(faces, sides=faces.sides[number : number + 1]).traces()[0]
        if faces.cell not in self.traces:
            self.traces[faces.cell] = faces.traces()
        return self.traces[faces.cell][number]


def assemble_batch(compiled: CompiledProblem, tasks: tuple[CellTask, ...]) -> CellBatch:
    """Assemble the systems of a batch of cells."""
    if not tasks:
        return ()  # without cells the problem may not be available here
    traces = _BatchTraces({task.cell for task in tasks})
    placed = [task.points() for task in tasks]
    mine = [{r: found for r, found in p.items() if len(found) and not r.is_integral} for p in placed]
    known = coefficients_in_cells(compiled.residuals, mine)
    out = []
    for task, every, found, known_coefficients in zip(tasks, placed, mine, known, strict=True):
        check_deadline(__name__)
        local = tuple(r for r in compiled.residuals if r.region in found)
        system = task.system(replace(compiled, residuals=local), found, known_coefficients)
        strips, jumps = _face_strips(task, traces, system.shape[1])
        nonlinear, share = _nonlinear_flux_rows(task, compiled), _integral_share(task, compiled, every)
        out.append(CellRows(task.cell, system, strips, jumps, nonlinear, share))
    return tuple(out)


def _face_strips(task: CellTask, traces: _BatchTraces, columns: int) -> tuple[tuple[RowStrip, ...], Array]:
    """Return the rows of a cell on its faces and those of its global coefficients, and their targets."""
    strips, targets, shared = list[RowStrip](), [np.empty(0)], task.global_coefficients
    for side in task.sides:
        T, P = traces.of(side)
        strips.append(RowStrip((task.cell, side.face), (T if shared is None else shared.expand_trace(T), P)))
        jumps = side.coupling.jumps
        targets.append(jumps.ravel() if side.upper else np.zeros(jumps.size))
    if shared is not None:
        strips += shared.strips(task.cell, columns)
        targets += [np.zeros(shared.count)] * len(shared.links)
    return tuple(strips), np.concatenate(targets)


def _integral_share(
    task: CellTask, compiled: CompiledProblem, points: Mapping[Region, PointSet]
) -> IntegralShare | None:
    """Return the contribution of a cell to the integrals, with a row for each even where it is zero."""
    if task.integral_links is None:
        return None
    sums = tuple(r for r in compiled.residuals if r.region.is_integral)
    system = task.system(replace(compiled, residuals=sums), {r.region: points[r.region] for r in sums})
    return IntegralShare(task.integral_links, task.integral_signs, system, np.ones(system.shape[0]))


def integral_row_norms(batch: CellBatch) -> Array:
    """Return the largest norms of the rows of integrals in a batch; empty if there are none."""
    found = [c.integral_share.row_norms for c in batch if c.integral_share is not None]
    return np.asarray(np.max(found, axis=0) if found else np.empty(0))


def with_integral_units(batch: CellBatch, units: Array) -> CellBatch:
    """Return the batch with other scales of the partial sums."""
    return tuple(
        replace(c, integral_share=c.integral_share and replace(c.integral_share, units=units)) for c in batch
    )


def _nonlinear_flux_rows(task: CellTask, compiled: CompiledProblem) -> tuple[NonlinearFluxRows, ...]:
    """Return the nonlinear fluxes on the faces of a cell."""
    out, start = [], 0
    for number, side in enumerate(task.sides):
        for rows, flux, X in side.coupling.fluxes(side.upper):
            points = {flux.region: PointSet((X,), np.zeros_like(X))}
            system = task.system(replace(compiled, residuals=(flux,)), points)
            out.append(NonlinearFluxRows(number, rows, slice(start + rows.start, start + rows.stop), system))
        start += side.coupling.rows_per_side
    return tuple(out)


def row_counts(batch: CellBatch) -> tuple[list[int], dict[int, int]]:
    """Return the number of rows of each strip, and of entries of v of each cell."""
    heights = list[int]()
    for c in batch:
        heights += [c.system.shape[0], *map(len, c.face_strips)]
        if c.integral_share is not None:
            heights.append(len(c.integral_share.units))
    return heights, {c.cell: sum(s.nonlinear_values for s in c.systems) for c in batch}


def residual(batch: CellBatch, w: Mapping[int, Array]) -> Array:
    """Return r(w) in the rows of a batch, cell by cell; w maps cells and faces to their coefficients."""
    parts = [np.empty(0)]
    for c in batch:
        mine = w[c.cell]
        parts.append(c.system.residual(mine))
        if c.face_strips:
            found = np.concatenate([s.multiply(w) for s in c.face_strips]) - c.jumps
            for b in c.nonlinear_fluxes:
                found[b.cell_rows] += (
                    b.system.residual(mine) - c.face_strips[b.strip].blocks[0][b.rows] @ mine
                )
            parts.append(found)
        if c.integral_share is not None:
            parts.append(c.integral_share.residual(c.cell, w))
    return np.concatenate(parts)


def misfits(
    batch: CellBatch, w: Mapping[int, Array], sizes: Array, halves: Mapping[int, Array]
) -> dict[int, tuple[float, Array]]:
    """Return the largest misfit of the conditions of each cell, as a change of the unknowns, and its point.

    The misfit of α·u = g is the residual divided by α; derivatives are scaled by the length of the cell.
    Cells without conditions are omitted.
    """
    out: dict[int, tuple[float, Array]] = {}
    for c in batch:
        cell, system = c.cell, c.system
        r = system.residual(w[cell])
        for block in system.blocks:
            if block.residual.region.is_interior:
                continue
            strength = block.row_sensitivity(system.expand(w[cell]), system.space, sizes, halves[cell])
            with np.errstate(invalid="ignore", divide="ignore"):
                found = np.nan_to_num(np.abs(r[block.rows]) / strength, nan=0.0, posinf=0.0)
            worst = int(found.argmax())
            if cell not in out or found[worst] > out[cell][0]:
                out[cell] = float(found[worst]), block.points.sites[0][worst]
    return out


def values(batch: CellBatch, w: Mapping[int, Array]) -> Array:
    """Return v of a batch."""
    return np.concatenate([np.empty(0), *(s.values(w[c.cell]) for c in batch for s in c.systems)])


def values_of(batch: CellBatch, function: tuple[Space, Array]) -> Array:
    """Return v of a batch for a function in any space."""
    return np.concatenate([np.empty(0), *(s.values_of(*function) for c in batch for s in c.systems)])


def values_of_constant(batch: CellBatch, u: float) -> Array:
    """Return v of a batch for the constant function u."""
    return np.concatenate([np.empty(0), *(s.values_of_constant(u) for c in batch for s in c.systems)])


def linearize(batch: CellBatch, v: Array) -> tuple[tuple[RowStrip, ...], Array]:
    """Return the strips of J, and b, linearized about v."""
    strips, targets, start = list[RowStrip](), [np.empty(0)], 0
    for c in batch:
        found: list[tuple[Array, Array]] = []
        for system in c.systems:
            stop = start + system.nonlinear_values
            slopes, target = system.linearize(v[start:stop])
            found.append((np.asarray(slopes), target))
            start = stop
        faces, targets_on_faces = list(c.face_strips), c.jumps.copy() if c.nonlinear_fluxes else c.jumps
        for part, (slopes, target) in zip(c.nonlinear_fluxes, found[1:], strict=False):
            T, P = faces[part.strip].blocks
            T = T.copy(order="F")
            T[part.rows] = slopes
            faces[part.strip] = replace(faces[part.strip], blocks=(T, P))
            targets_on_faces[part.cell_rows] += target
        J, b = found[0]
        strips += [RowStrip((c.cell,), (J,)), *faces]
        targets += [b, targets_on_faces]
        if c.integral_share is not None:
            slopes, target = found[-1]
            strips.append(RowStrip((c.cell, *c.integral_share.links), c.integral_share.blocks(slopes)))
            targets.append(target)
    return tuple(strips), np.concatenate(targets)
