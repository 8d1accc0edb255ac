r"""[τI; D_r A D_c] = QR of a block-sparse matrix, group by group: multifrontal QR.

To eliminate a group of parts, all rows that touch it are gathered in a dense front and factored; the first
rows of the triangle are the group's own, and the rest, which touches its neighbours only, is handed on to
whichever of them is eliminated next. A chain of S parts with m columns each costs S m³ instead of (S m)³.
Each front is a pure function of its own rows and of what was handed to it: fronts that hand nothing to
each other may run anywhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from pibls.arrays import Array
from pibls.linalg.blocks import Blocks


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
class Front:
    """An eliminated group: the reflectors, and its rows of the triangle."""

    reflectors: tuple[Array, Array] = field(repr=False)
    triangle: Array = field(repr=False)
    beside: Array = field(repr=False)
    """The same rows in the columns of the neighbours."""
    rest: Array = field(repr=False)
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
        handed = [(plans[f].neighbours, fronts[f].rest) for f in plan.handed_on]
        fronts.append(eliminate(plan, widths, blocks, handed, ridge))
    kept = tuple(Front(f.reflectors, f.triangle, f.beside, np.empty((0, 0))) for f in fronts)
    return BlockFactorization(A.columns, A.rows, scale, tuple(lengths), tuple(plans), kept)


def _pairs(A: Blocks, i: int) -> zip[tuple[int, Array]]:
    return zip(A.strips[i].parts, A.strips[i].blocks, strict=True)


def eliminate(
    plan: Plan,
    widths: Sequence[int],
    blocks: Sequence[tuple[tuple[int, ...], list[Array]]],
    handed: Sequence[tuple[tuple[int, ...], Array]],
    ridge: float,
) -> Front:
    """One front: a pure function of its rows and of what earlier fronts hand on."""
    from scipy.linalg import lapack

    at, start = {}, 0
    for p in (*plan.own, *plan.neighbours):
        at[p] = slice(start, start + widths[p])
        start += widths[p]
    m = sum(widths[p] for p in plan.own)
    count = m + sum(len(parts[0]) for _, parts in blocks) + sum(len(rest) for _, rest in handed)
    F = np.zeros((count, start), order="F")
    F[np.arange(m), np.arange(m)] = ridge
    row = m
    for parts, matrices in blocks:
        for p, B in zip(parts, matrices, strict=True):
            F[row : row + len(B), at[p]] = B
        row += len(matrices[0])
    for parts, rest in handed:
        column = 0
        for p in parts:
            F[row : row + len(rest), at[p]] = rest[:, column : column + widths[p]]
            column += widths[p]
        row += len(rest)
    qr, tau, _, _ = lapack.dgeqrf(F, lwork=64 * max(F.shape[1], 2), overwrite_a=True)
    k = min(F.shape)
    R = np.triu(qr[:k])
    return Front(
        (qr[:, :k], tau), R[:m, :m].copy(order="F"), R[:m, m:].copy(order="F"), R[m:, m:].copy(order="F")
    )


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
            c = np.concatenate([np.zeros(m), *pieces])[:, None]
            qr, tau = front.reflectors
            c = lapack.dormqr("L", "T", qr, tau, c, lwork=64)[0][:, 0]
            tops.append(c[:m])
            handed.append(c[m : len(tau)])
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
