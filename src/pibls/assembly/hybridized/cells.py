r"""r_c(w_c) in each cell, T_c w_c - P λ = 0 on each face: the system of a space of cells.

Each cell is a small system of its own, with its own points and functions; faces hold them together
(`traces`). The matrix has one part per cell and one per face, and is eliminated cell by cell, then face by
face from the leaves of the tree to its root. Cells that are eliminated together are assembled together, as a
`Piece`, wherever the engine has its place.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from operator import itemgetter
from typing import Any

import numpy as np

from pibls.arrays import Array, Numbers
from pibls.assembly.hybridized import pieces
from pibls.assembly.hybridized.pieces import Alike, FaceSide, Job, Placing
from pibls.assembly.hybridized.traces import Faces, JointPoints
from pibls.assembly.system_base import Asked
from pibls.caching import cached_property
from pibls.linalg.tree.engine import HERE, Engine
from pibls.linalg.tree.layout import Layout
from pibls.linalg.tree.spread import Spread
from pibls.problem.forms.lowering import LoweredProblem
from pibls.spaces import Cells, Space, Whole

_ROWS = 3.0  # rows of a cell for each of its functions, roughly, for the estimate of cost


@dataclass(frozen=True)
class Shared:
    """Coefficients that are one: within a cell (`tied`), and the same number of them in all cells."""

    index: Mapping[int, Numbers] = field(default_factory=dict, repr=False)
    everywhere: int = 0
    """The first so many, after those that are common to the unknowns of a cell, are those of all cells."""
    apart: Mapping[int, tuple[Whole, Numbers]] = field(default_factory=dict, repr=False)
    """The functions of a cell without these, and which of their coefficients are one: what faces tie."""

    def columns(self, space: Cells) -> list[int]:
        """How many coefficients each cell has to look for."""
        return [
            int(self.index[c].max()) + 1 if c in self.index else part.columns
            for c, part in enumerate(space.parts)
        ]

    def on_faces(self, space: Cells, c: int) -> Whole:
        """What faces tie of a cell."""
        return self.apart[c][0] if c in self.apart else space.parts[c]

    def alike(self, c: int, links: tuple[int, ...]) -> Alike | None:
        links = links if self.everywhere else ()
        return Alike(self.everywhere, links, self.apart[c]) if c in self.apart else None


@dataclass(frozen=True)
class CellSystem(Asked[Spread]):
    """What `System` is, in cells; w holds the coefficients of all cells, then those of all faces."""

    space: Cells
    is_linear: bool
    engine: Engine = field(repr=False)
    layout: Layout = field(repr=False)
    pieces: tuple[Any, ...] = field(repr=False)
    """For each bundle of fronts a handle of its cells' systems."""
    heights: tuple[int, ...] = field(repr=False)
    """Rows of each strip."""
    counts: tuple[int, ...] = field(repr=False)
    """How many nonlinear values each cell has."""
    ties: tuple[JointPoints, ...] = field(repr=False)
    """What holds on each face."""
    shared: Shared = field(default_factory=Shared, repr=False)

    @classmethod
    def of(
        cls,
        lowered: LoweredProblem,
        points: Sequence[Placing],
        space: Cells,
        ties: Sequence[JointPoints],
        engine: Engine = HERE,
        alike: Shared | None = None,
    ) -> CellSystem:
        """``points`` give those of each cell when they are called."""
        alike = alike or Shared()
        sums = _rows_of_sums(lowered, points[0])
        sides, layout, expected = divided(space, ties, engine, sums, alike)
        touched, cells = layout.touched, len(space.parts)
        if len(layout.bundles) == 1:
            engine = HERE  # there is nothing to share
        copies = 1.0 if lowered.is_linear else 2.0 + sum(len(r.nonlinear) for r in lowered.residuals)
        engine.admit(layout.demand(expected, copies))
        shared = engine.put(lowered)
        links = [_links(c, cells, len(ties)) for c in range(cells)]
        others = [_links(c, cells, len(ties) + (cells - 1 if sums else 0))[0] for c in range(cells)]
        jobs = [
            tuple(
                Job(
                    c,
                    points[c],
                    space.parts[c],
                    tuple(sides[c]),
                    links[c][0] if sums else None,
                    links[c][1],
                    alike.alike(c, others[c]),
                    alike.index.get(c),
                )
                for c in dict.fromkeys(touched[s][0] for s in bundle.strips)
            )
            for bundle in layout.bundles
        ]
        frame = Spread(engine, layout, (), ())
        made = frame.each(pieces.assembled, [shared] * len(jobs), jobs)
        if sums:
            units = np.max([u for u in engine.get(frame.each(pieces.units_of, made)) if len(u)], axis=0)
            made = frame.each(pieces.in_units, made, [np.where(units > 0, units, 1.0)] * len(made))
        shapes = frame.each(pieces.sizes, made)
        heights, counts = np.zeros(len(touched), dtype=int), np.zeros(cells, dtype=int)
        for bundle, (rows, values) in zip(layout.bundles, engine.get(shapes), strict=True):
            heights[list(bundle.strips)] = rows
            for c, count in values.items():
                counts[c] = count
        return cls(
            space, lowered.is_linear, engine, layout, tuple(made),
            tuple(heights.tolist()), tuple(counts.tolist()), tuple(ties), alike,
        )  # fmt: skip

    def function(self, w: Array) -> Array:
        """The coefficients of the space."""
        parts = []
        for c, rows in enumerate(self._own_rows):
            mine, index = w[self.layout.columns[c]], self.shared.index.get(c)
            # A cell outside of the domain has no rows, and no functions, also not those of all cells.
            mine = mine if rows or self.shared.everywhere == 0 else np.zeros_like(mine)
            parts.append(mine if index is None else mine[index])
        return np.concatenate(parts)

    @property
    def _own_rows(self) -> list[int]:
        """How many rows each cell has besides those that it shares."""
        out = [0] * len(self.space.parts)
        for parts, rows in zip(self.layout.touched, self.heights, strict=True):
            if len(parts) == 1:
                out[parts[0]] = rows
        return out

    @cached_property
    def _frame(self) -> Spread:
        """The matrix without its numbers: how vectors are cut and joined."""
        return Spread(self.engine, self.layout, self.heights, ())

    @property
    def in_one_piece(self) -> None:
        """One for each cell."""

    @property
    def in_cells(self) -> CellSystem:
        return self

    @property
    def probed(self) -> None:
        """Factors of cells do not tell."""

    @property
    def shape(self) -> tuple[int, int]:
        return self._frame.shape

    @cached_property
    def _cells(self) -> tuple[tuple[int, ...], ...]:
        """The cells of each bundle."""
        touched = self.layout.touched
        return tuple(tuple(dict.fromkeys(touched[s][0] for s in b.strips)) for b in self.layout.bundles)

    @cached_property
    def _places(self) -> tuple[Numbers, ...]:
        """Where the nonlinear values of each bundle's cells stand in v."""
        ends = np.cumsum([0, *self.counts])
        none = np.empty(0, dtype=np.intp)
        return tuple(np.concatenate([none, *(np.arange(ends[c], ends[c + 1]) for c in mine)])
                     for mine in self._cells)  # fmt: skip

    def _joined(self, found: Sequence[Any]) -> Array:
        """One v of those of the bundles."""
        out = np.empty(sum(self.counts))
        for places, part in zip(self._places, self.engine.get(found), strict=True):
            out[places] = part
        return out

    def residual(self, w: Array) -> Array:
        """r(w), (rows,)."""
        found = self._frame.each(pieces.residual, self.pieces, self._frame.local(w))
        return self._frame.gathered(self.engine.get(found))

    def misfits(self, w: Array, sizes: Array) -> tuple[Array, Array]:
        """For each cell how far conditions are from being met, and its traces from those of the faces; where.

        As changes of the unknowns, in units of their sizes. Next to a singular place the functions of a cell
        are smooth and fulfil the equation: only here they show what they cannot do.
        """
        boxes = self.space.tree.boxes
        halves = 0.5 * (boxes[:, :, 1] - boxes[:, :, 0])
        mine = [{c: halves[c] for c in cells} for cells in self._cells]
        n = len(self.pieces)
        found = self._frame.each(pieces.misfits, self.pieces, self._frame.local(w), [sizes] * n, mine)
        worst, places = np.zeros(len(boxes)), boxes.mean(axis=2)
        for part in self.engine.get(found):
            for c, (value, place) in part.items():
                worst[c], places[c] = value, place
        r = self.residual(w)
        for rows, parts in zip(self._frame.strips, self.layout.touched, strict=True):
            if len(parts) > 1 and (face := parts[1] - len(boxes)) < len(self.ties):
                c, tied = parts[0], self.ties[face]
                value, place = tied.apart(r[rows], sizes, float(halves[c, tied.joint.axis]))
                if value > worst[c]:
                    worst[c], places[c] = value, place
        return worst, places

    @property
    def neighbours(self) -> Numbers:
        """The cells on both sides of each face, (faces, 2)."""
        pairs = [(t.joint.low, t.joint.high) for t in self.ties]
        return np.array(pairs, dtype=np.intp).reshape(-1, 2)

    def values(self, w: Array) -> Array:
        if self.is_linear:
            return np.empty(0)
        return self._joined(self._frame.each(pieces.values, self.pieces, self._frame.local(w)))

    def values_of(self, space: Space, w: Array) -> Array:
        """v of the function with coefficients w in any space."""
        if self.is_linear:
            return np.empty(0)
        function = self.engine.put((space, w))
        filled = [function if bundle.strips else (space, w) for bundle in self.layout.bundles]
        return self._joined(self._frame.each(pieces.values_of, self.pieces, filled))

    def level(self, u: float) -> Array:
        """v of the constant function u."""
        if self.is_linear:
            return np.empty(0)
        return self._joined(self._frame.each(pieces.level, self.pieces, [u] * len(self.pieces)))

    def _linearised(self, v: Array) -> tuple[Spread, Array]:
        both = self._frame.each(pieces.linearised, self.pieces, [v[places] for places in self._places])
        strips = tuple(self._frame.each(itemgetter(0), both))
        targets = self.engine.get(self._frame.each(itemgetter(1), both))
        matrix = Spread(self.engine, self.layout, self.heights, strips)
        return matrix, matrix.gathered(targets)


def divided(
    space: Cells,
    ties: Sequence[JointPoints],
    engine: Engine = HERE,
    sums: int = 0,
    alike: Shared | None = None,
) -> tuple[list[list[FaceSide]], Layout, list[int]]:
    """The faces of each cell, how the elimination is laid out, and the rows that its strips will have.

    ``sums`` are the rows of integrals: as many numbers go from each cell to the next, and as many as are
    alike in all cells.
    """
    cells, alike = len(space.parts), alike or Shared()
    count = alike.everywhere
    sides: list[list[FaceSide]] = [[] for _ in space.parts]
    joined: list[list[tuple[JointPoints, bool]]] = [[] for _ in space.parts]
    for tied in ties:
        joined[tied.joint.low].append((tied, False))
        joined[tied.joint.high].append((tied, True))
    faces = [Faces(c, alike.on_faces(space, c), tuple(mine)) for c, mine in enumerate(joined)]
    for number, tied in enumerate(ties):
        low, high = tied.joint.low, tied.joint.high
        pair = (faces[low], len(sides[low])), (faces[high], len(sides[high]))
        sides[low].append(FaceSide(cells + number, tied, pair, upper=False))
        sides[high].append(FaceSide(cells + number, tied, pair, upper=True))
    touched, expected = list[tuple[int, ...]](), list[int]()
    for c, (part, mine) in enumerate(zip(space.parts, sides, strict=True)):
        touched += [(c,), *((c, s.face) for s in mine)]
        expected += [int(_ROWS * part.columns), *(s.tied.rows_each for s in mine)]
        if count:
            links = _links(c, cells, len(ties) + (cells - 1 if sums else 0))[0]
            touched += [(c, link) for link in links]
            expected += [count] * len(links)
        if sums:
            touched.append((c, *_links(c, cells, len(ties))[0]))
            expected.append(sums)
    chain, chained = list(pairwise(range(cells))), [n for n in (sums, count) if n]
    widths = alike.columns(space) + [t.columns for t in ties] + [n for n in chained for _ in chain]
    columns = [np.arange(a, b, dtype=np.intp) for a, b in pairwise(np.cumsum([0, *widths]))]
    order = space.tree.groups([*((t.joint.low, t.joint.high) for t in ties), *chain * len(chained)])
    groups = [(c,) for c in range(cells)] + [tuple(cells + i for i in group) for group in order]
    return sides, Layout.of(touched, columns, groups, engine, expected), expected


def _links(cell: int, cells: int, faces: int) -> tuple[tuple[int, ...], tuple[float, ...]]:
    """The parts of the matrix that are the sums before and after a cell, with their signs in its rows."""
    first = cells + faces
    both = [(first + cell - 1, 1.0)] * (cell > 0) + [(first + cell, -1.0)] * (cell < cells - 1)
    return tuple(part for part, _ in both), tuple(sign for _, sign in both)


def _rows_of_sums(lowered: LoweredProblem, placing: Placing) -> int:
    """How many rows the integrals have: one for each condition, at each time."""
    regions = {r.name: r.region for r in lowered.residuals if r.region.is_sum}
    found = placing() if regions else {}
    return sum(found[region].rows for region in regions.values())
