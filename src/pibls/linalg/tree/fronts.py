r"""One step of multifrontal QR: all rows that touch a group of parts, factored together.

The first rows of the triangle are the group's own; the rest, which touches its neighbours only, is handed on
to whichever of them is eliminated next. A front is a pure function of its own rows and of what was handed to
it: fronts that hand nothing to each other may run anywhere.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from pibls.arrays import Array, Numbers
from pibls.linalg.tree.staircase import Below, Step, reduce

_UNSEEN = float(np.sqrt(np.finfo(float).eps))  # of a diagonal: the square of such a ridge is rounding

Given = Sequence[tuple[tuple[int, ...], Sequence[Array], Array]]
"""Strips of rows: the parts that each touches, its blocks there, and what each row is multiplied by."""


@dataclass(frozen=True)
class FrontPlan:
    """Which parts and rows a front has, before any number is known."""

    own: tuple[int, ...]
    neighbours: tuple[int, ...]
    strips: tuple[int, ...]
    """Rows of the matrix, those that touch nothing else first."""
    handed_on: tuple[int, ...]
    """Earlier fronts whose rest goes in."""


@dataclass(frozen=True)
class Rest:
    """A triangle in the columns of some parts."""

    parts: tuple[int, ...]
    rows: Array = field(repr=False)


@dataclass(frozen=True)
class Front:
    """An eliminated group: the reflectors, and its rows of the triangle."""

    steps: tuple[Step, ...] = field(repr=False)
    """Of the triangle of all its columns, and of the rows below it."""
    place: Numbers | slice = field(repr=False)
    """Where each row that goes in stands: in the triangle, or after it."""
    below: int
    """Rows below the triangle."""
    triangle: Array = field(repr=False)
    beside: Array = field(repr=False)
    """The same rows in the columns of the neighbours."""

    def turned(self, pieces: Sequence[Array]) -> tuple[Array, Array]:
        """Qᵀ b, for the pieces of b in its rows: its own entries, and those that are handed on."""
        m, n = self.beside.shape
        c = np.zeros((m + n + self.below, 1))
        c[self.place, 0] = np.concatenate(pieces)
        top, bottom = c[: m + n], c[m + n :]
        for step in self.steps:
            step.turn(top, bottom)
        return top[:m, 0], top[m:, 0]


def planned(
    touched: Sequence[tuple[int, ...]], parts: int, groups: Sequence[tuple[int, ...]] = ()
) -> list[FrontPlan]:
    """The fronts in the order of elimination; without groups, one part after another.

    ``touched`` are the parts that each strip of rows touches.
    """
    groups = groups or tuple((p,) for p in range(parts))
    place = {p: i for i, group in enumerate(groups) for p in group}
    rank = {p: i for i, p in enumerate(place)}  # a triangle stays one in every front that it is handed to
    strips: list[list[int]] = [[] for _ in groups]
    for i, found in enumerate(touched):
        strips[min(place[p] for p in found)].append(i)
    handed: list[list[int]] = [[] for _ in groups]
    out: list[FrontPlan] = []
    for i, group in enumerate(groups):
        own, near = set(group), {p for s in strips[i] for p in touched[s]}
        near.update(p for f in handed[i] for p in out[f].neighbours)
        neighbours = tuple(sorted(near - own, key=rank.__getitem__))
        strips[i].sort(key=lambda s: not own.issuperset(touched[s]))
        out.append(FrontPlan(group, neighbours, tuple(strips[i]), tuple(handed[i])))
        if neighbours:
            handed[place[neighbours[0]]].append(i)
    return out


def eliminate(
    plan: FrontPlan,
    widths: Mapping[int, int],
    blocks: Given,
    factors: Mapping[int, Array],
    handed: Sequence[Rest],
    ridge: float,
) -> tuple[Front, Rest]:
    """One front: a pure function of its rows and of what earlier fronts hand on.

    ``factors`` are what the columns of each part are multiplied by in the rows that come from the matrix.

    The ridge takes part only where the triangle would be close to singular without it: elsewhere it changes
    nothing that double precision can see, and its rows are as many as those that are handed on.
    """
    at, start = {}, 0
    for p in (*plan.own, *plan.neighbours):
        at[p] = slice(start, start + widths[p])
        start += widths[p]
    m = sum(widths[p] for p in plan.own)
    alone = sum(set(found[0]) <= set(plan.own) for found in blocks)
    if 0 < alone < len(blocks) and not handed:
        return _condensed(plan, at, (m, start), blocks, factors, alone, ridge)
    if handed and ridge < _UNSEEN:
        front, rest = _joined(plan, at, (m, start), blocks, factors, handed, 0.0)
        if np.abs(front.triangle.diagonal()).min(initial=1.0) * _UNSEEN > ridge:
            return front, rest
    return _joined(plan, at, (m, start), blocks, factors, handed, ridge)


def _joined(
    plan: FrontPlan,
    at: Mapping[int, slice],
    columns: tuple[int, int],
    blocks: Given,
    factors: Mapping[int, Array],
    handed: Sequence[Rest],
    ridge: float,
) -> tuple[Front, Rest]:
    """Triangles of several fronts, laid into one; rows whose place in it is taken, and strips, go below."""
    m, n = columns
    taken = set(plan.own) if ridge else set[int]()
    runs = [_runs(rest.parts, at, m, taken) for rest in handed]
    late = [np.full(len(found[0]), min(at[p].start for p in parts)) for parts, found, _ in blocks]
    late += [run.columns for mine in runs for run in mine if not run.fits]
    spots, begins = _below(late)
    # In the columns of its own and of its neighbours: the triangle, and the rows below it.
    own = (np.zeros((m, m), order="F"), np.zeros((m, n - m), order="F"))
    rest = np.zeros((n - m, n - m), order="F")
    below = (np.zeros((len(begins), m), order="F"), np.zeros((len(begins), n - m), order="F"))
    np.fill_diagonal(own[0], ridge)
    place, spot = [np.arange(0)], iter(spots)
    for parts, matrices, of_rows in blocks:
        start, rows = next(spot), len(of_rows)
        for p, block in zip(parts, matrices, strict=True):
            later = at[p].start >= m
            first = at[p].start - m * later
            there = below[later][start : start + rows, first : first + block.shape[1]]
            np.multiply(block, of_rows, out=there)
            there *= factors[p]
        place.append(np.arange(n + start, n + start + rows))
    for found, mine in zip(handed, runs, strict=True):
        for i, run in enumerate(mine):
            start = run.start if run.fits else n + next(spot)
            place.append(np.arange(start, start + run.length))
            for other in mine[i:]:
                if not run.fits:
                    target, row = below[other.later], start - n
                elif run.later:
                    target, row = rest, start - m
                else:
                    target, row = own[other.later], start
                column = other.start - m * other.later
                target[row : row + run.length, column : column + other.length] = found.rows[
                    run.source : run.source + run.length, other.source : other.source + other.length
                ]
    steps = reduce(own[0], below[0], begins, [(own[1], below[1])])
    steps += reduce(rest, below[1], np.maximum(begins - m, 0), start=m)
    front = Front(tuple(steps), np.concatenate(place), len(begins), *own)
    return front, Rest(plan.neighbours, rest)


class _Run(NamedTuple):
    """Columns of what is handed on that stand together in a front, too."""

    source: int
    start: int
    length: int
    later: bool
    """Whether they are columns of neighbours."""
    fits: bool
    """Whether the rows that begin there have their place in the triangle."""

    @property
    def columns(self) -> Numbers:
        return np.arange(self.start, self.start + self.length)


def _runs(parts: Sequence[int], at: Mapping[int, slice], own: int, taken: set[int]) -> list[_Run]:
    out, source = list[_Run](), 0
    for p in parts:
        start, length = at[p].start, at[p].stop - at[p].start
        run = _Run(source, start, length, start >= own, p not in taken)
        source += length
        if out and out[-1][3:] == run[3:] and out[-1].start + out[-1].length == start:
            out[-1] = out[-1]._replace(length=out[-1].length + length)
        else:
            out.append(run)
    taken.update(parts)
    return out


def _below(late: Sequence[Numbers]) -> tuple[list[int], Numbers]:
    """Where groups of rows that begin there stand below the triangle; where each row below it begins."""
    spots, begins, row = [0] * len(late), [np.empty(0, dtype=np.intp)], 0
    for i in sorted(range(len(late)), key=lambda i: int(late[i].min(initial=0))):
        spots[i] = row
        begins.append(late[i])
        row += len(late[i])
    return spots, np.minimum.accumulate(np.concatenate(begins)[::-1])[::-1]


def _condensed(
    plan: FrontPlan,
    at: Mapping[int, slice],
    columns: tuple[int, int],
    blocks: Given,
    factors: Mapping[int, Array],
    alone: int,
    ridge: float,
) -> tuple[Front, Rest]:
    """A front whose first rows touch nothing else, as a cell's: those first, in its own columns alone."""
    m, n = columns
    A = _stacked(at, blocks[:alone], factors, plan.own)
    B, below = (_stacked(at, blocks[alone:], factors, parts) for parts in (plan.own, plan.neighbours))
    triangle, beside = np.zeros((m, m), order="F"), np.zeros((m, n - m), order="F")
    rest = np.zeros((n - m, n - m), order="F")
    np.fill_diagonal(triangle, ridge)
    own, first, others = slice(0, m), slice(0, len(A)), slice(len(A), len(A) + len(B))
    steps = [Step(own, first, Below.of(triangle, A)), Step(own, others, Below.of(triangle, B))]
    steps[1].reflectors.turn(beside, below)
    steps.append(Step(slice(m, n), others, Below.of(rest, below)))
    front = Front(tuple(steps), slice(n, None), others.stop, triangle, beside)
    return front, Rest(plan.neighbours, rest)


def _stacked(
    at: Mapping[int, slice], blocks: Given, factors: Mapping[int, Array], parts: Sequence[int]
) -> Array:
    """Some rows, one below the other, in the columns of some parts."""
    start, stop = at[parts[0]].start, at[parts[-1]].stop
    F = np.zeros((sum(len(of_rows) for _, _, of_rows in blocks), stop - start), order="F")
    row = 0
    for touched, matrices, of_rows in blocks:
        rows = slice(row, row + len(of_rows))
        row = rows.stop
        for p, B in zip(touched, matrices, strict=True):
            if start <= at[p].start < stop:
                np.multiply(B, of_rows, out=F[rows, at[p].start - start : at[p].stop - start])
    F *= np.concatenate([factors[p] for p in parts])
    return F
