r"""Hybridized least-squares system on a tree of cells: r_c(w_c) per cell, T_c w_c - P λ = 0 per face.

Each cell is a small system with its own points and basis; trace unknowns λ on the faces couple the cells
(`face_traces`). The matrix has one part per cell and one per face. Cells are eliminated first, then faces
from the leaves of the tree to its root. Cells that are eliminated together are assembled together
(`cell_batches`), in this process or wherever the engine runs them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from pibls.arrays import Array, Indices
from pibls.assembly.hybridized import cell_batches
from pibls.assembly.hybridized.cell_batches import (
    CellBatch,
    CellTask,
    FaceSide,
    GlobalCoefficients,
    PointPlacement,
)
from pibls.assembly.hybridized.face_traces import CellFaces, FaceCoupling
from pibls.assembly.system_base import SystemBase
from pibls.linalg.tree.block_sparse import BlockSparseMatrix, Strips
from pibls.linalg.tree.engine import LOCAL, Engine, Handle
from pibls.linalg.tree.layout import Layout
from pibls.problem.forms.compilation import CompiledProblem
from pibls.runtime.caching import cached_property
from pibls.spaces import CellSpace, SingleDomainSpace, Space

_ROWS = 3.0  # approximate rows of a cell per function, for the cost estimate


@dataclass(frozen=True)
class SharedCoefficients:
    """Coefficients shared by the unknowns of a cell (`shared_coefficients`), and by all cells."""

    index: Mapping[int, Indices] = field(default_factory=dict, repr=False)
    global_count: int = 0
    """How many coefficients all cells share: the first ones after the regular functions of a cell."""
    face_spaces: Mapping[int, tuple[SingleDomainSpace, Indices]] = field(default_factory=dict, repr=False)
    """Per cell the space without global functions, and its index of shared coefficients: used on faces."""

    def columns(self, space: CellSpace) -> list[int]:
        """Return the number of unknown coefficients of each cell."""
        return [
            int(self.index[c].max()) + 1 if c in self.index else part.columns
            for c, part in enumerate(space.parts)
        ]

    def face_space(self, space: CellSpace, c: int) -> SingleDomainSpace:
        """Return the space of a cell whose traces the faces couple."""
        return self.face_spaces[c][0] if c in self.face_spaces else space.parts[c]

    def global_coefficients(self, c: int, links: tuple[int, ...]) -> GlobalCoefficients | None:
        links = links if self.global_count else ()
        return (
            GlobalCoefficients(self.global_count, links, self.face_spaces[c])
            if c in self.face_spaces
            else None
        )


@dataclass(frozen=True)
class CellSystem(SystemBase[BlockSparseMatrix]):
    """Like `System`, in cells; w holds the coefficients of all cells, then those of all faces."""

    space: CellSpace
    is_linear: bool
    engine: Engine = field(repr=False)
    layout: Layout = field(repr=False)
    batches: tuple[Handle[CellBatch], ...] = field(repr=False)
    """For each bundle of fronts a handle of the systems of its cells."""
    strip_heights: tuple[int, ...] = field(repr=False)
    """Rows of each strip."""
    value_counts: tuple[int, ...] = field(repr=False)
    """Number of entries of v of each cell."""
    couplings: tuple[FaceCoupling, ...] = field(repr=False)
    """The coupling on each face."""
    shared: SharedCoefficients = field(default_factory=SharedCoefficients, repr=False)

    @classmethod
    def of(
        cls,
        compiled: CompiledProblem,
        points: Sequence[PointPlacement],
        space: CellSpace,
        couplings: Sequence[FaceCoupling],
        engine: Engine = LOCAL,
        shared_coefficients: SharedCoefficients | None = None,
    ) -> CellSystem:
        """Assemble the system; ``points`` are functions that return the points of each cell."""
        shared_coefficients = shared_coefficients or SharedCoefficients()
        chains = _CellChains(
            len(space.parts),
            len(couplings),
            _rows_of_sums(compiled, points[0]),
            shared_coefficients.global_count,
        )
        sides, layout, expected = elimination_layout(
            space, couplings, engine, chains.sums, shared_coefficients
        )
        if len(layout.bundles) == 1:
            engine = LOCAL  # nothing to distribute
        copies = 1.0 if compiled.is_linear else 2.0 + sum(len(r.nonlinear) for r in compiled.residuals)
        engine.admit(layout.memory_demand(expected, copies))
        shared = engine.put(compiled)
        tasks = [
            tuple(
                CellTask(
                    c,
                    points[c],
                    space.parts[c],
                    tuple(sides[c]),
                    chains.sum_links(c) if chains.sums else None,
                    chains.sum_signs(c),
                    shared_coefficients.global_coefficients(c, chains.coefficient_links(c)),
                    shared_coefficients.index.get(c),
                )
                for c in cells
            )
            for cells in _cells_of_bundles(layout)
        ]
        frame = BlockSparseMatrix(engine, layout, (), ())
        made = frame.call_per_bundle(cell_batches.assemble_batch, [shared] * len(tasks), tasks)
        if chains.sums:
            norms = engine.get(frame.call_per_bundle(cell_batches.integral_row_norms, made))
            units = np.max([u for u in norms if len(u)], axis=0)
            made = frame.call_per_bundle(
                cell_batches.with_integral_units, made, [np.where(units > 0, units, 1.0)] * len(made)
            )
        shapes = frame.call_per_bundle(cell_batches.row_counts, made)
        heights, counts = np.zeros(len(layout.touched), dtype=int), np.zeros(chains.cells, dtype=int)
        for bundle, (rows, values) in zip(layout.bundles, engine.get(shapes), strict=True):
            heights[list(bundle.strips)] = rows
            for c, count in values.items():
                counts[c] = count
        return cls(
            space, compiled.is_linear, engine, layout, tuple(made),
            tuple(heights.tolist()), tuple(counts.tolist()), tuple(couplings), shared_coefficients,
        )  # fmt: skip

    def function_coefficients(self, w: Array) -> Array:
        """Return the coefficients of the space."""
        parts = []
        for c, rows in enumerate(self._own_rows):
            mine, index = w[self.layout.columns[c]], self.shared.index.get(c)
            # A cell outside the domain has no rows, and its functions are zero, including the global ones.
            mine = mine if rows or self.shared.global_count == 0 else np.zeros_like(mine)
            parts.append(mine if index is None else mine[index])
        return np.concatenate(parts)

    @property
    def _own_rows(self) -> list[int]:
        """Number of rows of each cell besides those of faces and integrals."""
        out = [0] * len(self.space.parts)
        for parts, rows in zip(self.layout.touched, self.strip_heights, strict=True):
            if len(parts) == 1:
                out[parts[0]] = rows
        return out

    @cached_property
    def frame(self) -> BlockSparseMatrix:
        """The block structure without entries, which splits and joins vectors."""
        return BlockSparseMatrix(self.engine, self.layout, self.strip_heights, ())

    @property
    def local_batches(self) -> list[CellBatch]:
        """The systems of the cells of each bundle, fetched into this process."""
        return self.engine.get(self.batches)

    @property
    def as_single_matrix(self) -> None:
        """None: there is one matrix for each cell."""

    @property
    def as_cell_system(self) -> CellSystem:
        return self

    @property
    def conditioning_target(self) -> None:
        """None: the factors of cells do not allow the test."""

    @property
    def shape(self) -> tuple[int, int]:
        return self.frame.shape

    @cached_property
    def _cells(self) -> tuple[tuple[int, ...], ...]:
        """The cells of each bundle."""
        return _cells_of_bundles(self.layout)

    @cached_property
    def _places(self) -> tuple[Indices, ...]:
        """Positions in v of the values of each bundle's cells."""
        ends = np.cumsum([0, *self.value_counts])
        none = np.empty(0, dtype=np.intp)
        return tuple(np.concatenate([none, *(np.arange(ends[c], ends[c + 1]) for c in mine)])
                     for mine in self._cells)  # fmt: skip

    def _joined(self, found: Sequence[Handle[Array]]) -> Array:
        """Join v from the values of the bundles."""
        out = np.empty(sum(self.value_counts))
        for places, part in zip(self._places, self.engine.get(found), strict=True):
            out[places] = part
        return out

    def residual(self, w: Array) -> Array:
        """Return r(w), (rows,)."""
        found = self.frame.call_per_bundle(
            cell_batches.residual, self.batches, self.frame.local_coefficients(w)
        )
        return self.frame.gather_rows(self.engine.get(found))

    def misfits(self, w: Array, sizes: Array) -> tuple[Array, Array]:
        """Return for each cell the largest misfit of its conditions and traces, and its point.

        Misfits are changes of the unknowns relative to ``sizes``. Near a singularity the functions of a cell
        are smooth and satisfy the equation; only conditions and traces show that they do not resolve it.
        """
        boxes = self.space.tree.boxes
        halves = 0.5 * (boxes[:, :, 1] - boxes[:, :, 0])
        mine = [{c: halves[c] for c in cells} for cells in self._cells]
        n = len(self.batches)
        found = self.frame.call_per_bundle(
            cell_batches.misfits, self.batches, self.frame.local_coefficients(w), [sizes] * n, mine
        )
        worst, places = np.zeros(len(boxes)), boxes.mean(axis=2)
        for part in self.engine.get(found):
            for c, (value, place) in part.items():
                worst[c], places[c] = value, place
        r = self.residual(w)
        for rows, parts in zip(self.frame.strips, self.layout.touched, strict=True):
            if len(parts) > 1 and (face := parts[1] - len(boxes)) < len(self.couplings):
                c, coupling = parts[0], self.couplings[face]
                value, place = coupling.max_mismatch(r[rows], sizes, float(halves[c, coupling.face.axis]))
                if value > worst[c]:
                    worst[c], places[c] = value, place
        return worst, places

    @property
    def neighbours(self) -> Indices:
        """The cells on both sides of each face, (faces, 2)."""
        pairs = [(t.face.low, t.face.high) for t in self.couplings]
        return np.array(pairs, dtype=np.intp).reshape(-1, 2)

    def values(self, w: Array) -> Array:
        if self.is_linear:
            return np.empty(0)
        return self._joined(
            self.frame.call_per_bundle(cell_batches.values, self.batches, self.frame.local_coefficients(w))
        )

    def values_of(self, space: Space, w: Array) -> Array:
        """Return v of the function with coefficients w in any space."""
        if self.is_linear:
            return np.empty(0)
        function = self.engine.put((space, w))
        filled = [function if bundle.strips else (space, w) for bundle in self.layout.bundles]
        return self._joined(self.frame.call_per_bundle(cell_batches.values_of, self.batches, filled))

    def values_of_constant(self, u: float) -> Array:
        """Return v of the constant function u."""
        if self.is_linear:
            return np.empty(0)
        return self._joined(
            self.frame.call_per_bundle(cell_batches.values_of_constant, self.batches, [u] * len(self.batches))
        )

    def _linearized(self, v: Array) -> tuple[BlockSparseMatrix, Array]:
        both = self.frame.call_per_bundle(
            cell_batches.linearize, self.batches, [v[places] for places in self._places]
        )
        strips = tuple(self.frame.call_per_bundle(_strips_of, both))
        targets = self.engine.get(self.frame.call_per_bundle(_targets_of, both))
        matrix = BlockSparseMatrix(self.engine, self.layout, self.strip_heights, strips)
        return matrix, matrix.gather_rows(targets)


def _strips_of(linearized: tuple[Strips, Array]) -> Strips:
    return linearized[0]


def _targets_of(linearized: tuple[Strips, Array]) -> Array:
    return linearized[1]


@dataclass(frozen=True)
class _CellChains:
    """Parts of the matrix between successive cells: partial sums of integrals, then global coefficients."""

    cells: int
    faces: int
    sums: int
    """The number of rows of integrals."""
    coefficients: int
    """The number of coefficients that all cells share."""

    def sum_links(self, cell: int) -> tuple[int, ...]:
        """Return the parts with the sums before and after a cell."""
        return self._links(cell, self.cells + self.faces)

    def sum_signs(self, cell: int) -> tuple[float, ...]:
        """Return the signs of these sums in the rows of a cell."""
        return (1.0,) * (cell > 0) + (-1.0,) * (cell < self.cells - 1)

    def coefficient_links(self, cell: int) -> tuple[int, ...]:
        """Return the parts that couple the global coefficients of a cell to those before and after it."""
        return self._links(cell, self.cells + self.faces + (self.cells - 1 if self.sums else 0))

    def _links(self, cell: int, first: int) -> tuple[int, ...]:
        return (first + cell - 1,) * (cell > 0) + (first + cell,) * (cell < self.cells - 1)

    @property
    def widths(self) -> list[int]:
        """The number of columns in each kind of link that there is."""
        return [n for n in (self.sums, self.coefficients) if n]


def elimination_layout(
    space: CellSpace,
    couplings: Sequence[FaceCoupling],
    engine: Engine = LOCAL,
    sums: int = 0,
    shared_coefficients: SharedCoefficients | None = None,
) -> tuple[list[list[FaceSide]], Layout, list[int]]:
    """Return the faces of each cell, the layout of the elimination, and the expected rows of its strips.

    ``sums`` is the number of rows of integrals: as many partial sums pass from each cell to the next, as do
    the coefficients that all cells share.
    """
    shared_coefficients = shared_coefficients or SharedCoefficients()
    chains = _CellChains(len(space.parts), len(couplings), sums, shared_coefficients.global_count)
    sides = _face_sides(space, couplings, shared_coefficients)
    touched, expected = _strips(space, sides, chains)
    successive, cells = list(pairwise(range(chains.cells))), chains.cells
    widths = (
        shared_coefficients.columns(space)
        + [t.columns for t in couplings]
        + [n for n in chains.widths for _ in successive]
    )
    columns = [np.arange(a, b, dtype=np.intp) for a, b in pairwise(np.cumsum([0, *widths]))]
    pairs = [(t.face.low, t.face.high) for t in couplings]
    order = space.tree.elimination_groups([*pairs, *successive * len(chains.widths)])
    groups = [(c,) for c in range(cells)] + [tuple(cells + i for i in group) for group in order]
    return sides, Layout.of(touched, columns, groups, engine, expected), expected


def _face_sides(
    space: CellSpace, couplings: Sequence[FaceCoupling], shared: SharedCoefficients
) -> list[list[FaceSide]]:
    """Return the sides of faces that belong to each cell."""
    cells = len(space.parts)
    joined: list[list[tuple[FaceCoupling, bool]]] = [[] for _ in space.parts]
    for coupling in couplings:
        joined[coupling.face.low].append((coupling, False))
        joined[coupling.face.high].append((coupling, True))
    faces = [CellFaces(c, shared.face_space(space, c), tuple(mine)) for c, mine in enumerate(joined)]
    sides: list[list[FaceSide]] = [[] for _ in space.parts]
    for number, coupling in enumerate(couplings):
        low, high = coupling.face.low, coupling.face.high
        pair = (faces[low], len(sides[low])), (faces[high], len(sides[high]))
        sides[low].append(FaceSide(cells + number, coupling, pair, upper=False))
        sides[high].append(FaceSide(cells + number, coupling, pair, upper=True))
    return sides


def _strips(
    space: CellSpace, sides: Sequence[Sequence[FaceSide]], chains: _CellChains
) -> tuple[list[tuple[int, ...]], list[int]]:
    """Return the parts that each strip of rows touches, and the expected number of its rows."""
    touched, expected = list[tuple[int, ...]](), list[int]()
    for c, (part, mine) in enumerate(zip(space.parts, sides, strict=True)):
        touched += [(c,), *((c, s.face) for s in mine)]
        expected += [int(_ROWS * part.columns), *(s.coupling.rows_per_side for s in mine)]
        if chains.coefficients:
            links = chains.coefficient_links(c)
            touched += [(c, link) for link in links]
            expected += [chains.coefficients] * len(links)
        if chains.sums:
            touched.append((c, *chains.sum_links(c)))
            expected.append(chains.sums)
    return touched, expected


def _cells_of_bundles(layout: Layout) -> tuple[tuple[int, ...], ...]:
    """Return the cells of each bundle of fronts, in the order of its strips."""
    return tuple(tuple(dict.fromkeys(layout.touched[s][0] for s in b.strips)) for b in layout.bundles)


def _rows_of_sums(compiled: CompiledProblem, placing: PointPlacement) -> int:
    """Return the number of rows of the integrals: one for each condition and time."""
    regions = {r.name: r.region for r in compiled.residuals if r.region.is_integral}
    found = placing() if regions else {}
    return sum(found[region].rows for region in regions.values())
