r"""[τI; D_r A D_c] = QR of a block-sparse matrix, group by group: multifrontal QR.

To eliminate a group of parts, all rows that touch it are gathered in a dense front and factored; the first
rows of the triangle are the group's own, and the rest, which touches its neighbours only, is handed on to
whichever of them is eliminated next. A chain of S parts with m columns each costs S m³ instead of (S m)³.
Each front is a pure function of its own rows and of what was handed to it: fronts that hand nothing to
each other may run anywhere.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from pibls.arrays import Array
from pibls.linalg import staircase
from pibls.linalg.blocks import Blocks
from pibls.linalg.staircase import Full, Numbers, Stairs


@dataclass(frozen=True)
class Plan:
    """Which parts and rows a front has, before any number is known."""

    own: tuple[int, ...]
    neighbours: tuple[int, ...]
    strips: tuple[int, ...]
    """Rows of the matrix."""
    handed_on: tuple[int, ...]
    """Earlier fronts whose rest goes in."""


@dataclass(frozen=True)
class Rest:
    """Rows in the columns of some parts; each is zero before the column where it begins."""

    parts: tuple[int, ...]
    rows: Array = field(repr=False)
    begins: Numbers = field(repr=False)

    def begins_in(self, at: Mapping[int, slice]) -> Numbers:
        """The same in a front that has the parts there."""
        columns = np.concatenate([np.arange(at[p].start, at[p].stop) for p in self.parts])
        return np.minimum.accumulate(columns[::-1])[::-1][self.begins]


_NOTHING = Rest((), np.empty((0, 0)), np.empty(0, dtype=np.intp))


@dataclass(frozen=True)
class Front:
    """An eliminated group: the reflectors, and its rows of the triangle."""

    reflectors: Stairs | Full = field(repr=False)
    order: Numbers | None = field(repr=False)
    """In which the rows were sorted for them."""
    triangle: Array = field(repr=False)
    beside: Array = field(repr=False)
    """The same rows in the columns of the neighbours."""
    rows: int
    """Of the whole triangle: its own, and what is handed on."""
    rest: Rest = field(repr=False)
    """What is handed on."""


def planned(A: Blocks) -> list[Plan]:
    """The fronts in the order of elimination; without groups, parts with the fewest neighbours go first."""
    groups = A.groups or tuple((p,) for p in _minimum_degree(A))
    place = {p: i for i, group in enumerate(groups) for p in group}
    strips: list[list[int]] = [[] for _ in groups]
    for i, strip in enumerate(A.strips):
        strips[min(place[p] for p in strip.parts)].append(i)
    handed: list[list[int]] = [[] for _ in groups]
    out: list[Plan] = []
    for i, group in enumerate(groups):
        touched = {p for s in strips[i] for p in A.strips[s].parts}
        touched.update(p for f in handed[i] for p in out[f].neighbours)
        neighbours = tuple(sorted(touched - set(group), key=lambda p: (place[p], p)))
        out.append(Plan(group, neighbours, tuple(strips[i]), tuple(handed[i])))
        if neighbours:
            handed[place[neighbours[0]]].append(i)
    return out


def _minimum_degree(A: Blocks) -> list[int]:
    near: list[set[int]] = [set() for _ in A.columns]
    for strip in A.strips:
        for p in strip.parts:
            near[p] |= set(strip.parts) - {p}
    left, order = set(range(len(A.columns))), []
    while left:
        p = min(left, key=lambda q: (len(near[q]), q))
        order.append(p)
        left.discard(p)
        for q in near[p]:
            near[q] = (near[q] | near[p]) - {p, q}
    return order


def factor(A: Blocks, scale: Array, cond: float) -> BlockFactorization:
    """Factor diag(1/scale)·A with columns of unit length; τ = cond·√columns."""
    lengths = _column_norms(A, scale)
    ridge = cond * np.sqrt(A.shape[1])
    widths = [len(c) for c in A.columns]
    plans = planned(A)
    fronts: list[Front] = []
    for plan in plans:
        blocks = [
            (A.strips[i].parts, [B / (scale[A.rows[i], None] * lengths[p]) for p, B in _pairs(A, i)])
            for i in plan.strips
        ]
        handed = [fronts[f].rest for f in plan.handed_on]
        fronts.append(eliminate(plan, widths, blocks, handed, ridge))
    kept = tuple(Front(f.reflectors, f.order, f.triangle, f.beside, f.rows, _NOTHING) for f in fronts)
    return BlockFactorization(A.columns, A.rows, scale, tuple(lengths), tuple(plans), kept)


def _pairs(A: Blocks, i: int) -> zip[tuple[int, Array]]:
    return zip(A.strips[i].parts, A.strips[i].blocks, strict=True)


def eliminate(
    plan: Plan,
    widths: Sequence[int],
    blocks: Sequence[tuple[tuple[int, ...], list[Array]]],
    handed: Sequence[Rest],
    ridge: float,
) -> Front:
    """One front: a pure function of its rows and of what earlier fronts hand on."""
    at, start = {}, 0
    for p in (*plan.own, *plan.neighbours):
        at[p] = slice(start, start + widths[p])
        start += widths[p]
    m = sum(widths[p] for p in plan.own)
    begins = [np.arange(m)]
    begins += [np.full(len(found[0]), min(at[p].start for p in parts)) for parts, found in blocks]
    begins += [rest.begins_in(at) for rest in handed]
    edges = np.cumsum([0, *map(len, begins)]).tolist()
    every = np.concatenate(begins)
    order = staircase.sorting(every, start)
    place = np.arange(len(every)) if order is None else np.argsort(order)

    F = np.zeros((len(every), start), order="F")
    F[place[:m], np.arange(m)] = ridge
    for (parts, matrices), rows in zip(blocks, map(slice, edges[1:], edges[2:])):
        where = rows if order is None else place[rows]
        for p, B in zip(parts, matrices, strict=True):
            F[where, at[p]] = B
    for rest, rows in zip(handed, map(slice, edges[1 + len(blocks) :], edges[2 + len(blocks) :])):
        where, column = rows if order is None else place[rows], 0
        for p in rest.parts:
            F[where, at[p]] = rest.rows[:, column : column + widths[p]]
            column += widths[p]
    reflectors, R, starts = staircase.factor(F, None if order is None else every[order], m)
    below = slice(m, len(R))
    rest = Rest(plan.neighbours, R[below, m:].copy(order="F"), starts[below] - m)
    return Front(reflectors, order, R[:m, :m].copy(order="F"), R[:m, m:].copy(order="F"), len(R), rest)


def _column_norms(A: Blocks, scale: Array) -> list[Array]:
    squares = [np.zeros(len(c)) for c in A.columns]
    for i, rows in enumerate(A.rows):
        weights = scale[rows] ** -2
        for p, B in _pairs(A, i):
            squares[p] += np.einsum("ij,ij,i->j", B, B, weights)
    return [np.where(s > 0, np.sqrt(s), 1.0) for s in squares]


@dataclass(frozen=True)
class BlockFactorization:
    """The fronts in the order of elimination."""

    columns: tuple[npt.NDArray[np.intp], ...]
    rows: tuple[slice, ...]
    row_scale: Array
    column_scale: tuple[Array, ...]
    plans: tuple[Plan, ...]
    fronts: tuple[Front, ...]

    @property
    def rank(self) -> int:
        return sum(map(len, self.columns))

    def apply(self, b: Array) -> Array:
        from scipy.linalg import lapack

        scaled = b / self.row_scale
        tops: list[Array] = []
        handed: list[Array] = []
        for plan, front in zip(self.plans, self.fronts, strict=True):
            m = len(front.triangle)
            pieces = [scaled[self.rows[i]] for i in plan.strips] + [handed[f] for f in plan.handed_on]
            c = np.concatenate([np.zeros(m), *pieces])
            c = front.reflectors.turned(c if front.order is None else c[front.order])
            tops.append(c[:m])
            handed.append(c[m : front.rows])
        y: dict[int, Array] = {}
        for plan, front, top in zip(reversed(self.plans), reversed(self.fronts), reversed(tops), strict=True):
            if plan.neighbours:
                top = top - front.beside @ np.concatenate([y[p] for p in plan.neighbours])
            found = lapack.dtrtrs(front.triangle, top[:, None])[0][:, 0]
            start = 0
            for p in plan.own:
                y[p] = found[start : start + len(self.columns[p])]
                start += len(self.columns[p])
        w = np.empty(self.rank)
        for p, (columns, lengths) in enumerate(zip(self.columns, self.column_scale, strict=True)):
            w[columns] = y[p] / lengths
        return w

    def leverage(self, values: Array) -> Array:
        """‖R⁻ᵀ a‖ for each row a of ``values``: how far a·w may move per unit of residual."""
        from scipy.linalg import lapack

        left = {
            p: (values[:, columns] / lengths).T
            for p, (columns, lengths) in enumerate(zip(self.columns, self.column_scale, strict=True))
        }
        squares = np.zeros(len(values))
        for plan, front in zip(self.plans, self.fronts, strict=True):
            mine = np.concatenate([left.pop(p) for p in plan.own])
            y = lapack.dtrtrs(front.triangle, mine, trans=1)[0]
            squares += np.einsum("ij,ij->j", y, y)
            start = 0
            for p in plan.neighbours:
                width = len(left[p])
                left[p] = left[p] - front.beside[:, start : start + width].T @ y
                start += width
        return np.sqrt(squares)
