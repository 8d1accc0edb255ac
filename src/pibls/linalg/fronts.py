r"""One step of multifrontal QR: all rows that touch a group of parts, factored together.

The first rows of the triangle are the group's own; the rest, which touches its neighbours only, is handed on
to whichever of them is eliminated next. A front is a pure function of its own rows and of what was handed to
it: fronts that hand nothing to each other may run anywhere.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from pibls.arrays import Array
from pibls.linalg import staircase
from pibls.linalg.staircase import Below, Numbers, Stairs

Given = Sequence[tuple[tuple[int, ...], list[Array]]]
"""Strips of rows: the parts that each touches, and its blocks there."""


@dataclass(frozen=True)
class Plan:
    """Which parts and rows a front has, before any number is known."""

    own: tuple[int, ...]
    neighbours: tuple[int, ...]
    strips: tuple[int, ...]
    """Rows of the matrix, those that touch nothing else first."""
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


@dataclass(frozen=True)
class Front:
    """An eliminated group: the reflectors, and its rows of the triangle."""

    reflectors: Stairs = field(repr=False)
    order: Numbers | None = field(repr=False)
    """In which the rows were sorted for them."""
    triangle: Array = field(repr=False)
    beside: Array = field(repr=False)
    """The same rows in the columns of the neighbours."""
    rows: int
    """Of the whole triangle: its own, and those that are handed on."""
    inner: tuple[Stairs, int, Below] | None = field(default=None, repr=False)
    """Where its first rows touch nothing else: those alone, how many they are, and the others below them."""

    def turned(self, pieces: Sequence[Array]) -> tuple[Array, Array]:
        """Qᵀ b, for the pieces of b in its rows: its own entries, and those that are handed on."""
        m = len(self.triangle)
        c = np.concatenate([np.zeros(m), *pieces])
        if self.inner is not None:
            alone, first, below = self.inner
            top, rest = below.turned(alone.turned(c[:first])[:m, None], c[first:, None])
            return top[:, 0], self.reflectors.turned(rest[:, 0])[: self.rows - m]
        c = self.reflectors.turned(c if self.order is None else c[self.order])
        return c[:m], c[m : self.rows]


def planned(
    touched: Sequence[tuple[int, ...]], parts: int, groups: Sequence[tuple[int, ...]] = ()
) -> list[Plan]:
    """The fronts in the order of elimination; without groups, parts with the fewest neighbours go first.

    ``touched`` are the parts that each strip of rows touches.
    """
    groups = groups or tuple((p,) for p in _minimum_degree(touched, parts))
    place = {p: i for i, group in enumerate(groups) for p in group}
    strips: list[list[int]] = [[] for _ in groups]
    for i, found in enumerate(touched):
        strips[min(place[p] for p in found)].append(i)
    handed: list[list[int]] = [[] for _ in groups]
    out: list[Plan] = []
    for i, group in enumerate(groups):
        own, near = set(group), {p for s in strips[i] for p in touched[s]}
        near.update(p for f in handed[i] for p in out[f].neighbours)
        neighbours = tuple(sorted(near - own, key=lambda p: (place[p], p)))
        strips[i].sort(key=lambda s: not own.issuperset(touched[s]))
        out.append(Plan(group, neighbours, tuple(strips[i]), tuple(handed[i])))
        if neighbours:
            handed[place[neighbours[0]]].append(i)
    return out


def _minimum_degree(touched: Sequence[tuple[int, ...]], parts: int) -> list[int]:
    near: list[set[int]] = [set() for _ in range(parts)]
    for found in touched:
        for p in found:
            near[p] |= set(found) - {p}
    left, order = set(range(parts)), []
    while left:
        p = min(left, key=lambda q: (len(near[q]), q))
        order.append(p)
        left.discard(p)
        for q in near[p]:
            near[q] = (near[q] | near[p]) - {p, q}
    return order


def eliminate(
    plan: Plan,
    widths: Mapping[int, int],
    blocks: Given,
    handed: Sequence[Rest],
    ridge: float,
) -> tuple[Front, Rest]:
    """One front: a pure function of its rows and of what earlier fronts hand on."""
    at, start = {}, 0
    for p in (*plan.own, *plan.neighbours):
        at[p] = slice(start, start + widths[p])
        start += widths[p]
    m = sum(widths[p] for p in plan.own)
    alone = sum(set(parts) <= set(plan.own) for parts, _ in blocks)
    if 0 < alone < len(blocks) and not handed:
        return _condensed(plan, at, blocks[:alone], blocks[alone:], ridge)
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
    front = Front(reflectors, order, R[:m, :m].copy(order="F"), R[:m, m:].copy(order="F"), len(R))
    return front, rest


def _condensed(
    plan: Plan, at: Mapping[int, slice], alone: Given, others: Given, ridge: float
) -> tuple[Front, Rest]:
    """A front whose first rows touch nothing else, as a cell's: those first, in its own columns alone."""
    m, n = at[plan.own[-1]].stop, max(place.stop for place in at.values())
    A, F = _stacked(at, alone, m, above=m), _stacked(at, others, n)
    A[np.arange(m), np.arange(m)] = ridge
    first, R, _ = staircase.factor(A, None, m)
    below, triangle = Below.of(np.asfortranarray(R), F[:, :m])
    beside, rest = below.turned(np.zeros((m, n - m), order="F"), F[:, m:])
    reflectors, R, starts = staircase.factor(rest, None, 0)
    front = Front(reflectors, None, triangle, beside, m + len(R), (first, len(A), below))
    return front, Rest(plan.neighbours, R.copy(order="F"), starts)


def _stacked(at: Mapping[int, slice], blocks: Given, columns: int, above: int = 0) -> Array:
    """Some rows, one below the other, and so many zeros above them."""
    F = np.zeros((above + sum(len(found[0]) for _, found in blocks), columns), order="F")
    row = above
    for parts, matrices in blocks:
        for p, B in zip(parts, matrices, strict=True):
            F[row : row + len(B), at[p]] = B
        row += len(matrices[0])
    return F
