r"""Symbolic layout of a multifrontal QR: the tree of fronts, partitioned into bundles (tasks).

A bundle is a subtree of fronts, or fronts near the root that wait for several subtrees. In one process there
is one bundle. The partition does not change the result, since every front is the same function of the same
rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from pibls.arrays import Indices
from pibls.linalg.tree.engine import LOCAL, Engine, MemoryDemand
from pibls.linalg.tree.fronts import FrontPlan, plan_fronts
from pibls.runtime.caching import cached_property

_BYTES = np.dtype(float).itemsize
_FACTORS = 1.5  # numbers per entry of a front: the front, its reflectors, its contribution block


@dataclass(frozen=True)
class Bundle:
    """Fronts that are eliminated one after another in one task."""

    fronts: tuple[int, ...]
    plans: tuple[FrontPlan, ...] = field(repr=False)
    widths: Mapping[int, int] = field(repr=False)
    """Number of columns of each part that the fronts touch."""
    strips: tuple[int, ...] = field(repr=False)
    inputs: tuple[int, ...]
    """Fronts of other bundles whose contribution blocks enter."""
    outputs: tuple[int, ...]
    """Own fronts whose contribution blocks are passed to other bundles."""
    external_parts: tuple[int, ...] = field(repr=False)
    """Parts of other bundles that the fronts touch."""


@dataclass(frozen=True)
class Layout:
    """The parts that each strip of rows touches, the plans of the fronts, and the bundles."""

    touched: tuple[tuple[int, ...], ...] = field(repr=False)
    columns: tuple[Indices, ...] = field(repr=False)
    """Columns of the matrix in each part."""
    plans: tuple[FrontPlan, ...] = field(repr=False)
    bundles: tuple[Bundle, ...] = field(repr=False)

    @classmethod
    def of(
        cls,
        touched: Sequence[tuple[int, ...]],
        columns: Sequence[Indices],
        groups: Sequence[tuple[int, ...]] = (),
        engine: Engine = LOCAL,
        heights: Sequence[int] = (),
    ) -> Layout:
        """Return the layout, partitioned for the engine; ``heights`` are the rows of the strips."""
        plans = plan_fronts(touched, len(columns), groups)
        widths = [len(c) for c in columns]
        sets = [list(range(len(plans)))]
        if heights:
            work = [_work(plan, widths, heights) for plan in plans]
            if engine.limit(sum(work)) < sum(work):
                sets = _cut(plans, work, engine.limit(sum(work)))
        return cls(tuple(touched), tuple(columns), tuple(plans), tuple(_bundles(plans, widths, sets)))

    @cached_property
    def bundle_of_front(self) -> dict[int, int]:
        """The bundle of each front."""
        return {f: b for b, bundle in enumerate(self.bundles) for f in bundle.fronts}

    @cached_property
    def solving_bundle(self) -> dict[int, int]:
        """The bundle that solves for each part."""
        return {p: self.bundle_of_front[f] for f, plan in enumerate(self.plans) for p in plan.own}

    def work(self, heights: Sequence[int]) -> list[float]:
        """Return the approximate number of operations of each bundle."""
        return [sum(_work(plan, bundle.widths, heights) for plan in bundle.plans) for bundle in self.bundles]

    def memory_demand(self, heights: Sequence[int], copies: float = 1.0) -> MemoryDemand:
        """Return the memory needed if the rows of the matrix are stored ``copies`` times."""
        sizes = []
        for bundle in self.bundles:
            matrix = sum(heights[s] * sum(bundle.widths[p] for p in self.touched[s]) for s in bundle.strips)
            fronts = sum(_rows(plan, bundle.widths, heights) * _columns(plan, bundle.widths)
                         for plan in bundle.plans)  # fmt: skip
            sizes.append(int(_BYTES * (copies * matrix + _FACTORS * fronts)))
        return MemoryDemand(sum(sizes), max(sizes))


def _columns(plan: FrontPlan, widths: Mapping[int, int] | Sequence[int]) -> int:
    return sum(widths[p] for p in (*plan.own, *plan.neighbours))


def _rows(plan: FrontPlan, widths: Mapping[int, int] | Sequence[int], heights: Sequence[int]) -> float:
    """Return the rows of a front: its strips, or the overlapping triangles of two children."""
    own = sum(widths[p] for p in plan.own)
    strips = sum(heights[s] for s in plan.strips)
    return own + (strips or (_columns(plan, widths) + own))


def _work(plan: FrontPlan, widths: Mapping[int, int] | Sequence[int], heights: Sequence[int]) -> float:
    """Return the approximate number of operations of a front."""
    n = _columns(plan, widths)
    return 2.0 * n**2 * max(_rows(plan, widths, heights) - n / 3, n / 3)


def _cut(plans: Sequence[FrontPlan], work: Sequence[float], limit: float) -> list[list[int]]:
    """Partition the fronts: subtrees up to ``limit`` operations, small ones joined; above, chains."""
    parent = {child: i for i, plan in enumerate(plans) for child in plan.children}
    total = list(work)
    for i in range(len(plans)):  # children come before their parents
        if i in parent:
            total[parent[i]] += total[i]
    heavy = [t > limit for t in total]
    home: list[int] = [-1] * len(plans)
    sets: list[list[int]] = []
    siblings = _SiblingSets(limit)
    for i in reversed(range(len(plans))):
        above = parent.get(i)
        if above is not None and _continues(plans[above], i, above, heavy):
            home[i] = home[above]
        else:
            home[i] = len(sets) if heavy[i] else siblings.place(above, total[i], len(sets))
        if home[i] == len(sets):
            sets.append([])
        sets[home[i]].append(i)
    return sorted((sorted(found) for found in sets), key=lambda found: found[-1])


def _continues(plan: FrontPlan, child: int, parent: int, heavy: Sequence[bool]) -> bool:
    """Whether a front joins the set of its parent: inside a subtree, or as the only heavy child."""
    if heavy[child]:
        return sum(heavy[c] for c in plan.children) == 1
    return not heavy[parent]


@dataclass
class _SiblingSets:
    """Sets of small subtrees with the same parent, filled one after another up to a limit."""

    limit: float
    open: dict[int | None, tuple[int, float]] = field(default_factory=dict)
    """By parent: the set that can still grow, and its work."""

    def place(self, parent: int | None, work: float, next_set: int) -> int:
        """Return the set of a subtree; ``next_set`` is the number of a new one."""
        number, held = self.open.get(parent, (next_set, 0.0))
        if held + work > self.limit and held > 0:
            number, held = next_set, 0.0
        self.open[parent] = (number, held + work)
        return number


def _bundles(plans: Sequence[FrontPlan], widths: Sequence[int], sets: Sequence[list[int]]) -> list[Bundle]:
    return [_bundle(found, [plans[i] for i in found], widths) for found in sets]


def _bundle(fronts: list[int], plans: list[FrontPlan], widths: Sequence[int]) -> Bundle:
    """Return the bundle of some fronts."""
    own = {p for plan in plans for p in plan.own}
    parts = own.union(*(plan.neighbours for plan in plans))
    used = {f for plan in plans for f in plan.children}
    return Bundle(
        tuple(fronts),
        tuple(plans),
        {p: widths[p] for p in sorted(parts)},
        tuple(sorted(s for plan in plans for s in plan.strips)),
        tuple(sorted(used.difference(fronts))),
        tuple(i for i, plan in zip(fronts, plans, strict=True) if plan.neighbours and i not in used),
        tuple(sorted(parts - own)),
    )
