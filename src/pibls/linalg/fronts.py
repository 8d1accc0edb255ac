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
    """Of the whole triangle: its own, and those that are handed on."""

    def turned(self, pieces: Sequence[Array]) -> tuple[Array, Array]:
        """Qᵀ b, for the pieces of b in its rows: its own entries, and those that are handed on."""
        m = len(self.triangle)
        c = np.concatenate([np.zeros(m), *pieces])
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
        near = {p for s in strips[i] for p in touched[s]}
        near.update(p for f in handed[i] for p in out[f].neighbours)
        neighbours = tuple(sorted(near - set(group), key=lambda p: (place[p], p)))
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
    blocks: Sequence[tuple[tuple[int, ...], list[Array]]],
    handed: Sequence[Rest],
    ridge: float,
) -> tuple[Front, Rest]:
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
    front = Front(reflectors, order, R[:m, :m].copy(order="F"), R[:m, m:].copy(order="F"), len(R))
    return front, rest
