r"""Fronts of multifrontal QR: all rows that touch a group of parts (blocks of columns), factored together.

The first rows of the triangle belong to the group itself. The remaining triangle, in the columns of its
neighbours, is the contribution block, passed to the neighbour that is eliminated next. A front is a pure
function of its own rows and of the contribution blocks of its children, so that independent fronts can run
anywhere.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from pibls.arrays import Array, Indices
from pibls.linalg.tree.staircase import ReflectorStep, TriangleReflectors, reduce_below

_NEGLIGIBLE = float(np.sqrt(np.finfo(float).eps))  # ridge/diagonal whose square is below rounding

ScaledStrips = Sequence[tuple[tuple[int, ...], Sequence[Array], Array]]
"""Strips of rows: the parts that each strip touches, its blocks, and the row factors."""


@dataclass(frozen=True)
class FrontPlan:
    """Symbolic structure of a front: its parts and rows."""

    own: tuple[int, ...]
    neighbours: tuple[int, ...]
    strips: tuple[int, ...]
    """Strips of rows; those that touch no neighbours come first."""
    children: tuple[int, ...]
    """Earlier fronts whose contribution blocks enter."""


@dataclass(frozen=True)
class ContributionBlock:
    """The triangle that a front passes to its parent, in the columns of some parts."""

    parts: tuple[int, ...]
    rows: Array = field(repr=False)


@dataclass(frozen=True)
class Front:
    """An eliminated group of parts: reflectors and its rows of R."""

    steps: tuple[ReflectorStep, ...] = field(repr=False)
    """Reflectors of the triangle of all its columns and the rows below it."""
    row_positions: Indices | slice = field(repr=False)
    """Position of each input row, in the triangle or below it."""
    below: int
    """Number of rows below the triangle."""
    triangle: Array = field(repr=False)
    beside: Array = field(repr=False)
    """The same rows in the columns of the neighbours."""

    def apply_transpose(self, parts_of_b: Sequence[Array]) -> tuple[Array, Array]:
        """Return Qᵀ b for the parts of b in its rows: its own entries, and those passed to the parent."""
        m, n = self.beside.shape
        c = np.zeros((m + n + self.below, 1))
        c[self.row_positions, 0] = np.concatenate(parts_of_b)
        top, bottom = c[: m + n], c[m + n :]
        for step in self.steps:
            step.apply_transpose(top, bottom)
        return top[:m, 0], top[m:, 0]


def plan_fronts(
    touched: Sequence[tuple[int, ...]], parts: int, groups: Sequence[tuple[int, ...]] = ()
) -> list[FrontPlan]:
    """Return the plans of the fronts in the order of elimination; without groups, one part after another.

    ``touched`` are the parts that each strip of rows touches.
    """
    groups = groups or tuple((p,) for p in range(parts))
    place = {p: i for i, group in enumerate(groups) for p in group}
    rank = dict(zip(place, range(parts), strict=False))  # triangles stay triangles in parent fronts
    strips = _strips_by_front(touched, place, len(groups))
    contributions: list[list[int]] = [[] for _ in groups]
    out: list[FrontPlan] = []
    for i, group in enumerate(groups):
        near = {p for s in strips[i] for p in touched[s]}
        near.update(p for f in contributions[i] for p in out[f].neighbours)
        neighbours = tuple(sorted(near.difference(group), key=rank.__getitem__))
        out.append(FrontPlan(group, neighbours, tuple(strips[i]), tuple(contributions[i])))
        if neighbours:
            contributions[place[neighbours[0]]].append(i)
    return out


def _strips_by_front(
    touched: Sequence[tuple[int, ...]], place: Mapping[int, int], fronts: int
) -> list[list[int]]:
    """Return the strips of each front: the first one that eliminates a part of the strip.

    Strips that touch no parts of other fronts come first.
    """
    alone: list[list[int]] = [[] for _ in range(fronts)]
    coupled: list[list[int]] = [[] for _ in range(fronts)]
    for s, parts in enumerate(touched):
        eliminated = {place[p] for p in parts}
        (alone if len(eliminated) == 1 else coupled)[min(eliminated)].append(s)
    return [[*first, *others] for first, others in zip(alone, coupled, strict=True)]


def eliminate(
    plan: FrontPlan,
    widths: Mapping[int, int],
    blocks: ScaledStrips,
    factors: Mapping[int, Array],
    contributions: Sequence[ContributionBlock],
    ridge: float,
) -> tuple[Front, ContributionBlock]:
    """Factor one front and return it with its contribution block.

    ``factors`` are the column factors of each part for rows of the matrix. The ridge is included only if the
    triangle would be nearly singular without it: otherwise it has no effect in double precision, and its rows
    would double the rows of the contribution blocks.
    """
    at, start = {}, 0
    for p in (*plan.own, *plan.neighbours):
        at[p] = slice(start, start + widths[p])
        start += widths[p]
    m = sum(widths[p] for p in plan.own)
    alone = sum(set(found[0]) <= set(plan.own) for found in blocks)
    if 0 < alone < len(blocks) and not contributions:
        return _condense(plan, at, (m, start), blocks, factors, alone, ridge)
    if contributions and ridge < _NEGLIGIBLE:
        front, rest = _merge_triangles(plan, at, (m, start), blocks, factors, contributions, 0.0)
        if np.abs(front.triangle.diagonal()).min(initial=1.0) * _NEGLIGIBLE > ridge:
            return front, rest
    return _merge_triangles(plan, at, (m, start), blocks, factors, contributions, ridge)


def _merge_triangles(
    plan: FrontPlan,
    at: Mapping[int, slice],
    columns: tuple[int, int],
    blocks: ScaledStrips,
    factors: Mapping[int, Array],
    contributions: Sequence[ContributionBlock],
    ridge: float,
) -> tuple[Front, ContributionBlock]:
    """Merge the contribution triangles into one; strips, and rows whose position is taken, go below it."""
    m, n = columns
    taken = set(plan.own) if ridge else set[int]()
    runs = [_runs(rest.parts, at, m, taken) for rest in contributions]
    spots, begins = _below(_first_columns(blocks, runs, at))
    # The triangle and the rows below it, in the front's own columns and in those of its neighbours.
    own = (np.zeros((m, m), order="F"), np.zeros((m, n - m), order="F"))
    rest = np.zeros((n - m, n - m), order="F")
    below = (np.zeros((len(begins), m), order="F"), np.zeros((len(begins), n - m), order="F"))
    np.fill_diagonal(own[0], ridge)
    place, spot = [np.arange(0)], iter(spots)
    for strip in blocks:
        start = next(spot)
        rows = slice(start, start + len(strip[2]))
        _write_strip(strip, at, factors, m, (below[0][rows], below[1][rows]))
        place.append(np.arange(n + rows.start, n + rows.stop))
    for found, mine in zip(contributions, runs, strict=True):
        for i, run in enumerate(mine):
            start = run.start if run.fits else n + next(spot)
            place.append(np.arange(start, start + run.length))
            if not run.fits:
                targets, row = below, start - n
            elif run.later:
                targets, row = (rest, rest), start - m
            else:
                targets, row = own, start
            _write_run(found.rows, run, mine[i:], targets, row, m)
    steps = reduce_below(own[0], below[0], begins, [(own[1], below[1])])
    steps += reduce_below(rest, below[1], np.maximum(begins - m, 0), start=m)
    front = Front(tuple(steps), np.concatenate(place), len(begins), *own)
    return front, ContributionBlock(plan.neighbours, rest)


def _write_strip(
    strip: tuple[tuple[int, ...], Sequence[Array], Array],
    at: Mapping[int, slice],
    factors: Mapping[int, Array],
    own: int,
    targets: tuple[Array, Array],
) -> None:
    """Write a scaled strip into rows of the front's own columns and of those of its neighbours."""
    parts, matrices, of_rows = strip
    for p, block in zip(parts, matrices, strict=True):
        later = at[p].start >= own
        first = at[p].start - own * later
        there = targets[later][:, first : first + block.shape[1]]
        np.multiply(block, of_rows, out=there)
        there *= factors[p]


def _write_run(
    rows: Array, run: _Run, columns: Sequence[_Run], targets: tuple[Array, Array], row: int, own: int
) -> None:
    """Write rows of a contribution block into the front's own columns and those of its neighbours."""
    for other in columns:
        column = other.start - own * other.later
        targets[other.later][row : row + run.length, column : column + other.length] = rows[
            run.source : run.source + run.length, other.source : other.source + other.length
        ]


class _Run(NamedTuple):
    """Consecutive columns of a contribution block that are also consecutive in the front."""

    source: int
    start: int
    length: int
    later: bool
    """Whether these are columns of neighbours."""
    fits: bool
    """Whether the rows that begin in these columns can be placed in the triangle."""

    @property
    def columns(self) -> Indices:
        return np.arange(self.start, self.start + self.length)


def _runs(parts: Sequence[int], at: Mapping[int, slice], own: int, taken: set[int]) -> list[_Run]:
    out, source = list[_Run](), 0
    for p in parts:
        start, length = at[p].start, at[p].stop - at[p].start
        run = _Run(source, start, length, start >= own, p not in taken)
        source += length
        if out and out[-1][3:] == run[3:] and out[-1].start + out[-1].length == start:
            out[-1] = _Run(*out[-1][:2], out[-1].length + length, *out[-1][3:])
        else:
            out.append(run)
    taken.update(parts)
    return out


def _first_columns(
    blocks: ScaledStrips, runs: Sequence[Sequence[_Run]], at: Mapping[int, slice]
) -> list[Indices]:
    """Return the first column of each row below the triangle: those of strips, and runs that do not fit."""
    strips = [np.full(len(found[0]), min(at[p].start for p in parts)) for parts, found, _ in blocks]
    return strips + [run.columns for mine in runs for run in mine if not run.fits]


def _below(late: Sequence[Indices]) -> tuple[list[int], Indices]:
    """Return the position of each group of rows below the triangle, and the first column of each row."""
    spots, begins, row = [0] * len(late), [np.empty(0, dtype=np.intp)], 0
    for i in sorted(range(len(late)), key=lambda i: int(late[i].min(initial=0))):
        spots[i] = row
        begins.append(late[i])
        row += len(late[i])
    return spots, np.minimum.accumulate(np.concatenate(begins)[::-1])[::-1]


def _condense(
    plan: FrontPlan,
    at: Mapping[int, slice],
    columns: tuple[int, int],
    blocks: ScaledStrips,
    factors: Mapping[int, Array],
    alone: int,
    ridge: float,
) -> tuple[Front, ContributionBlock]:
    """Factor a front whose first rows touch no neighbours (those of a cell), starting with these rows."""
    m, n = columns
    A = _stacked(at, blocks[:alone], factors, plan.own)
    B, below = (_stacked(at, blocks[alone:], factors, parts) for parts in (plan.own, plan.neighbours))
    triangle, beside = np.zeros((m, m), order="F"), np.zeros((m, n - m), order="F")
    rest = np.zeros((n - m, n - m), order="F")
    np.fill_diagonal(triangle, ridge)
    own, first, others = slice(0, m), slice(0, len(A)), slice(len(A), len(A) + len(B))
    steps = [
        ReflectorStep(own, first, TriangleReflectors.of(triangle, A)),
        ReflectorStep(own, others, TriangleReflectors.of(triangle, B)),
    ]
    steps[1].reflectors.apply_transpose(beside, below)
    steps.append(ReflectorStep(slice(m, n), others, TriangleReflectors.of(rest, below)))
    front = Front(tuple(steps), slice(n, None), others.stop, triangle, beside)
    return front, ContributionBlock(plan.neighbours, rest)


def _stacked(
    at: Mapping[int, slice], blocks: ScaledStrips, factors: Mapping[int, Array], parts: Sequence[int]
) -> Array:
    """Return scaled rows, stacked, in the columns of some parts."""
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
