r"""The tree of fronts, cut into bundles: what is known of an elimination before any number is.

A bundle is what one task does: a subtree of fronts, or a front near the root that waits for several subtrees.
Where everything is done in one place there is one bundle. How it is cut changes nothing in the result, since
every front is the same function of the same rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from pibls.arrays import Numbers
from pibls.caching import cached_property
from pibls.linalg.tree.engine import HERE, BytesAsked, Engine
from pibls.linalg.tree.fronts import FrontPlan, planned

_FACTORS = 1.5  # bytes of a task for each of its fronts' entries: the front, its reflectors, what it hands on
_NUMBER = 8


@dataclass(frozen=True)
class Bundle:
    """Fronts that are eliminated one after another in one place."""

    fronts: tuple[int, ...]
    plans: tuple[FrontPlan, ...] = field(repr=False)
    widths: Mapping[int, int] = field(repr=False)
    """Columns of the parts that they touch."""
    strips: tuple[int, ...] = field(repr=False)
    given: tuple[int, ...]
    """Fronts of other bundles whose rest goes in."""
    gives: tuple[int, ...]
    """Own fronts whose rest goes to other bundles."""
    beyond: tuple[int, ...] = field(repr=False)
    """Parts of other bundles that they touch."""


@dataclass(frozen=True)
class Layout:
    """Which parts each strip of rows touches, the fronts, and how they are bundled."""

    touched: tuple[tuple[int, ...], ...] = field(repr=False)
    columns: tuple[Numbers, ...] = field(repr=False)
    """Which columns of the matrix each part has."""
    plans: tuple[FrontPlan, ...] = field(repr=False)
    bundles: tuple[Bundle, ...] = field(repr=False)

    @classmethod
    def of(
        cls,
        touched: Sequence[tuple[int, ...]],
        columns: Sequence[Numbers],
        groups: Sequence[tuple[int, ...]] = (),
        engine: Engine = HERE,
        heights: Sequence[int] = (),
    ) -> Layout:
        """Cut as the engine wants it; ``heights`` are the rows that the strips will have."""
        plans = planned(touched, len(columns), groups)
        widths = [len(c) for c in columns]
        sets = [list(range(len(plans)))]
        if heights:
            work = [_work(plan, widths, heights) for plan in plans]
            if engine.limit(sum(work)) < sum(work):
                sets = _cut(plans, work, engine.limit(sum(work)))
        return cls(tuple(touched), tuple(columns), tuple(plans), tuple(_bundles(plans, widths, sets)))

    @cached_property
    def owners(self) -> dict[int, int]:
        """The bundle of each front."""
        return {f: b for b, bundle in enumerate(self.bundles) for f in bundle.fronts}

    @cached_property
    def solvers(self) -> dict[int, int]:
        """The bundle that solves for each part."""
        return {p: self.owners[f] for f, plan in enumerate(self.plans) for p in plan.own}

    def work(self, heights: Sequence[int]) -> list[float]:
        """The operations of each bundle, roughly."""
        return [sum(_work(plan, bundle.widths, heights) for plan in bundle.plans) for bundle in self.bundles]

    def demand(self, heights: Sequence[int], copies: float = 1.0) -> BytesAsked:
        """The memory that it will take; the rows of the matrix are held ``copies`` times."""
        sizes = []
        for bundle in self.bundles:
            matrix = sum(heights[s] * sum(bundle.widths[p] for p in self.touched[s]) for s in bundle.strips)
            fronts = sum(_rows(plan, bundle.widths, heights) * _columns(plan, bundle.widths)
                         for plan in bundle.plans)  # fmt: skip
            sizes.append(int(_NUMBER * (copies * matrix + _FACTORS * fronts)))
        return BytesAsked(sum(sizes), max(sizes))


def _columns(plan: FrontPlan, widths: Mapping[int, int] | Sequence[int]) -> int:
    return sum(widths[p] for p in (*plan.own, *plan.neighbours))


def _rows(plan: FrontPlan, widths: Mapping[int, int] | Sequence[int], heights: Sequence[int]) -> float:
    """Rows of a front: its strips, or the triangles of two halves, which overlap."""
    own = sum(widths[p] for p in plan.own)
    strips = sum(heights[s] for s in plan.strips)
    return own + (strips or (_columns(plan, widths) + own))


def _work(plan: FrontPlan, widths: Mapping[int, int] | Sequence[int], heights: Sequence[int]) -> float:
    """Operations of a front, roughly."""
    n = _columns(plan, widths)
    return 2.0 * n**2 * max(_rows(plan, widths, heights) - n / 3, n / 3)


def _cut(plans: Sequence[FrontPlan], work: Sequence[float], limit: float) -> list[list[int]]:
    """Subtrees up to the limit, small neighbours joined; above them, one set for each way up to a fork."""
    parent = {child: i for i, plan in enumerate(plans) for child in plan.handed_on}
    total = list(work)
    for i in range(len(plans)):  # children come before their parents
        if i in parent:
            total[parent[i]] += total[i]
    heavy = [t > limit for t in total]
    home: list[int] = [-1] * len(plans)
    sets: list[list[int]] = []
    open_set: dict[int, tuple[int, float]] = {}  # of each parent: the set that still has room, and its work
    for i in reversed(range(len(plans))):
        above = parent.get(i, -1)
        if heavy[i]:
            forks = sum(heavy[c] for c in plans[above].handed_on) if above >= 0 else 2
            home[i] = home[above] if forks == 1 else len(sets)
        elif above >= 0 and not heavy[above]:
            home[i] = home[above]
        else:
            number, held = open_set.get(above, (len(sets), 0.0))
            if held + total[i] > limit and held > 0:
                number, held = len(sets), 0.0
            open_set[above] = (number, held + total[i])
            home[i] = number
        if home[i] == len(sets):
            sets.append([])
        sets[home[i]].append(i)
    return sorted((sorted(found) for found in sets), key=lambda found: found[-1])


def _bundles(plans: Sequence[FrontPlan], widths: Sequence[int], sets: Sequence[list[int]]) -> list[Bundle]:
    out = []
    for found in sets:
        mine = [plans[i] for i in found]
        inside = set(found)
        own = {p for plan in mine for p in plan.own}
        parts = own.union(*(plan.neighbours for plan in mine)) if mine else own
        used = {f for plan in mine for f in plan.handed_on}
        out.append(
            Bundle(
                tuple(found),
                tuple(mine),
                {p: widths[p] for p in sorted(parts)},
                tuple(sorted(s for plan in mine for s in plan.strips)),
                tuple(sorted(used - inside)),
                tuple(i for i, plan in zip(found, mine, strict=True) if plan.neighbours and i not in used),
                tuple(sorted(parts - own)),
            )
        )
    return out
