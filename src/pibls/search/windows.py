r"""u over (t₀, t₁), then over (t₁, t₂), …: an evolution, one short window after another.

Each window is a small problem in space and time with the same few functions, begun where the last one
ended. Its length follows from how far the solution's own spectrum has fallen in it (`space.spectrum`); in
space it is divided into cells where the spectrum asks for it, and cells are joined again where nothing is
left to resolve. A window is accepted when its spectrum and its residual on points that were not fitted are
small. The same evolution followed once more, at another scale and in windows of other lengths, is the
estimate of its accumulated error.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from pibls.arrays import Array
from pibls.basis.quasi import spread
from pibls.problem import Inside, Jet, Region
from pibls.problem.lowering import LoweredProblem
from pibls.search.bench import Bench
from pibls.search.divided import Reference, first_tree
from pibls.search.evolution import continued, handed_over
from pibls.search.followed import Demand, Followed, Window
from pibls.search.march import SHORT, Course, Easing, March, NoWindowError, between, faded
from pibls.search.scales import natural_sizes
from pibls.search.thresholds import MARCH, WINDOWS
from pibls.search.wave_solver import WaveSolver
from pibls.space import Cells, CellTree, Node, Space, Whole, crossed, graded
from pibls.space.spectrum import degree_in, tails
from pibls.system.judging import residuals_at
from pibls.system.points import PointSet

NODES = {1: 32, 2: 100, 3: 500}
"""Functions per window and cell (numerics: 48 were too few for Burgers' shock, 96 enough)."""

Held = tuple[Window | None, CellTree]
"""The last window and the cells of the next."""


@dataclass
class Follower(March[Held, CellTree]):
    """Follows an evolution from its start to its end."""

    bench: Bench
    demand: Demand
    reference: Reference
    softened: Array = field(default_factory=lambda: np.empty((0, 0)))
    """Places in space where the beginning is left open, because its data contradict each other."""
    _noise: float = 1.0
    """How much more than was asked for is left unresolved: rounding, or what older windows have left."""

    @cached_property
    def _solver(self) -> WaveSolver:
        return WaveSolver(self.bench, self.evolution, self.reference, self.demand.tail)

    @cached_property
    def course(self) -> Course:
        return Course.of(self.evolution, self.bench.lowered, even=1.4)

    @property
    def of(self) -> Bench:
        return self.bench

    @property
    def effort(self) -> int:
        return self._solver.steps

    def _cells(self, held: Held) -> int:
        return len(held[1])

    def _begun(self) -> tuple[Held, float]:
        self._sizes = np.zeros(self.bench.lowered.unknowns)
        tree = first_tree(self.bench, spare=self.evolution.axis)
        return (None, tree), self._first_length(tree)

    def _others(self, followed: Followed) -> Iterator[tuple[float, float, CellTree]]:
        trees = [window.space.tree_over(self.bench.box) for window in followed.windows]
        return between(followed, trees, self.course.switched, len)

    def _given(self, held: Held | None, t: float, stop: float, chosen: CellTree) -> tuple[Window, Held]:
        last, end = None if held is None else held[0], self.course.end(t)
        reach = t + (stop - t) / self._kept
        if abs(reach - t) > abs(end - t):
            reach = end
        space, w = self._solved(self._continued(last, t), last, chosen, t, reach)
        window = Window(space, w, t, stop, math.nan)
        return window, (window, chosen)

    @property
    def _kept(self) -> float:
        """The share of a window that is kept, where it is not the last."""
        return WINDOWS.kept if self.bench.lowered.dimension > 1 else 1.0

    def _handed(self, t: float, stop: float) -> float:
        """Where the next window begins."""
        return stop if stop == self.course.end(t) else t + self._kept * (stop - t)

    def _continued(self, last: Window | None, t: float) -> LoweredProblem:
        """The problem that begins where the last window ended."""
        e, lowered = self.evolution, self.bench.lowered
        if last is None:
            return lowered
        return continued(lowered, e, handed_over(last.space, last.w, e, t, lowered.dimension))

    def _solved(
        self, lowered: LoweredProblem, last: Window | None, tree: CellTree, t: float, stop: float
    ) -> tuple[Whole | Cells, Array]:
        self._solver.spared = self._spared if len(self.softened) else None
        return self._solver.solve(lowered, last, tree, t, stop)

    def _first_length(self, tree: CellTree) -> float:
        """A length over which the solution hardly changes, from its rates in a tiny window."""
        e, total = self.evolution, self.course.total
        tiny = 1e-6 * total
        sign = self.course.sign
        try:
            space, w = self._solved(self.bench.lowered, None, tree, e.start, e.start + sign * tiny)
        except NoWindowError:
            return 1e-3 * total
        X = self._at_time(tree, e.start + 0.5 * sign * tiny)
        d, axis = X.shape[1], e.axis
        lengths = [total]
        orders = [tuple(m if i == axis else 0 for i in range(d)) for m in range(3)]
        rates = np.array(
            [
                [np.abs(v).max() for v in space.values((X,), tuple(Jet(k, a) for a in orders), w)]
                for k in range(self.bench.lowered.unknowns)
            ]
        )
        for u, v, a in rates:
            size = max(u, 1e-3 * float(rates[:, 0].max()))
            if size > 0 < v:
                lengths.append(size / v)
            if size > 0 < a:
                lengths.append(math.sqrt(size / a))
        # Newton's method may find what is none in a window that is too long; a linear system does not.
        careful = 1.0 if self.bench.lowered.is_linear else 0.3
        return max(careful * min(lengths), 1e-7 * total)

    def _at_time(self, tree: CellTree, t: float) -> Array:
        """Some points at one time, in every cell."""
        e = self.evolution
        U = spread(8, len(tree.box), 0)
        X = np.concatenate([b[:, 0] + (b[:, 1] - b[:, 0]) * U for b in tree.boxes])
        X[:, e.axis] = t
        return X

    def _window(self, held: Held, t: float, h: float) -> tuple[Window, Held, float] | str:
        last, tree = held
        e, total, lowered = self.evolution, self.course.total, self._continued(held[0], t)
        power = max(0.75 * degree_in(self.reference.nodes, lowered.dimension), 4.0)
        stubborn, widest, patience = 0, math.inf, WINDOWS.patience
        # What earlier windows have left is not resolved: it is there to stay, and fades slowly.
        easing = Easing(self.demand, faded(self._noise))
        while True:
            self.tries += 1
            self.check(t, -1, len(tree))
            stop = self.course.reached(t, h)
            if stop is None:
                return SHORT
            try:
                space, w = self._solved(lowered, last, tree, t, stop)
            except NoWindowError:
                h *= 0.3
                continue
            here = tree.stretched(e.axis, min(t, stop), max(t, stop))
            relative, sizes = self._tails(space, w, here)
            residual = self._residual(space, w, here)
            along = float(relative[:, e.axis].max())
            across = np.delete(relative, e.axis, axis=1)
            wide = float(across.max(initial=0.0))
            asked = easing.eased
            if not all(map(math.isfinite, (along, wide, residual))):
                h *= 0.3
                continue
            good_space = wide <= WINDOWS.across * asked.tail
            if along <= asked.tail and residual <= asked.residual and good_space:
                self._sizes = np.maximum(self._sizes, sizes)
                self._noise = easing.factor
                factor = self._factor(along / easing.factor, residual / easing.factor, power)
                if easing.factor > 1.0:
                    factor = max(factor, 1.0)  # a shorter window has as much of what others have left
                merged = self._merged(tree, relative / easing.factor, power)
                window = Window(space, w, t, self._handed(t, stop), residual)
                if self._solver.kept is not None and 1.0 <= factor < WINDOWS.worth:
                    factor = 1.0  # another length needs other factors
                return window, (window, merged), h * min(max(factor, 0.5), self.bench.limits.window_growth)
            if last is None:
                stubborn = stubborn + 1 if wide > max(0.3 * widest, asked.tail) else 0
                widest = wide
                patience -= bool(len(self.softened))
                if not patience:
                    self._sizes = np.maximum(self._sizes, sizes)
                    window = Window(space, w, t, self._handed(t, stop), residual)
                    return window, (window, tree), h
                if stubborn > WINDOWS.stubborn and not len(self.softened):
                    tree, h = self._soften(tree, relative, asked.tail), 1e-9 * total
                    self.rough, stubborn, widest, easing.before = t, 0, math.inf, None
                    continue
            worst = max(along / asked.tail, residual / asked.residual, wide / (WINDOWS.across * asked.tail))
            # Where a shorter window or smaller cells no longer help, what is left is rounding.
            if easing.is_rounding(worst, h, len(tree)):
                continue
            easing.before = (worst, h, len(tree))
            if not good_space and wide >= 0.1 * along:
                finer = self._divided(tree, relative, WINDOWS.across * asked.tail)
                if len(finer) > WINDOWS.most_cells:
                    return f"more than {WINDOWS.most_cells} cells would be needed"
                if len(finer) > len(tree):
                    tree = finer
                    if along > 10.0 * asked.tail and not stubborn:
                        h *= 0.5
                    continue
            h *= min(max(self._factor(along / easing.factor, residual / easing.factor, power), 0.2), 0.7)

    def _soften(self, tree: CellTree, relative: Array, limit: float) -> CellTree:
        """Data that contradict each other at the start: there no cell is small enough.

        The cells are graded towards those places, and in the last of them the beginning is left open. What
        that changes is as small as the cell, and the equation makes it smaller with time.
        """
        e = self.evolution
        box = self.bench.box
        free = [i for i in range(len(box)) if i != e.axis]
        sides = {(i, float(box[i, s])) for i in free for s in (0, 1)}
        sides.update(self.bench.lowered.interfaces.planes)
        places: list[Array] = []

        def division(number: int, cell: Array) -> Node:
            mine = np.delete(relative[number], e.axis)
            if mine.max(initial=0.0) <= WINDOWS.across * limit:
                return None
            # Towards the side of the domain, or of a material, that the cell touches.
            place = cell.mean(axis=1)
            touching = [(i, s) for i in free for s in (0, 1) if (i, float(cell[i, s])) in sides]
            if not touching:
                return None
            for i, s in touching:
                place[i] = cell[i, s]
            places.append(place)
            levels = max(
                int(math.log2(max(np.ptp(cell[i]) / np.ptp(box[i]) for i in free) / WINDOWS.open)), 1
            )
            return graded(cell, free, place, levels)

        finer = tree.refine(division)
        self.softened = np.array(places).reshape(-1, len(box))[:, free]
        return finer

    def _spared(self, region: Region, cell: Array) -> bool:
        """Whether the beginning is left open in a cell."""
        e = self.evolution
        if not len(self.softened) or region not in self._starts:
            return False
        free = [i for i in range(len(cell)) if i != e.axis]
        inside = (self.softened >= cell[free, 0]) & (self.softened <= cell[free, 1])
        return bool(inside.all(axis=1).any())

    @property
    def _starts(self) -> set[Region]:
        residuals = self.bench.lowered.residuals
        return {residuals[i].region for i in self.evolution.beginning}

    def _factor(self, along: float, residual: float, power: float) -> float:
        # What is as small as rounding says nothing about how much smaller it would be.
        if max(along, 0.1 * residual) < MARCH.nothing:
            return self.bench.limits.window_growth
        ratio = min(self.demand.tail / max(along, 1e-18), self.demand.residual / max(residual, 1e-18))
        return MARCH.safe * float(ratio ** (1.0 / power))

    def _divided(self, tree: CellTree, relative: Array, limit: float) -> CellTree:
        """Cells with a large tail divided, along every axis that has one."""
        axis = self.evolution.axis

        def division(number: int, box: Array) -> Node:
            mine = np.where(np.arange(relative.shape[1]) == axis, 0.0, relative[number])
            if mine.max() <= limit:
                return None
            chosen = [i for i, tail in enumerate(mine) if tail >= max(0.1 * mine.max(), limit)]
            return crossed([(i, float(box[i].mean())) for i in chosen])

        return tree.refine(division)

    def _merged(self, tree: CellTree, relative: Array, power: float) -> CellTree:
        small = self.demand.tail * 0.1 * 2.0**-power
        spatial = np.delete(relative, self.evolution.axis, axis=1).max(axis=1, initial=0.0)
        kept = set(self.bench.lowered.interfaces.planes)
        return tree.merge(lambda i, j, plane: plane not in kept and bool(max(spatial[i], spatial[j]) < small))

    def _tails(self, space: Whole | Cells, w: Array, tree: CellTree) -> tuple[Array, Array]:
        """The tail of each cell and axis relative to the size of its unknown (cells, d), and those sizes."""
        unknowns = self.bench.lowered.unknowns
        parts = zip(space.each(w), tree.boxes, strict=True)
        found = [tails(part, mine, box, unknowns) for (part, mine), box in parts]
        sizes = np.max([size for _, size in found], axis=0)
        half = 0.5 * np.ptp(tree.boxes[0], axis=1)
        natural = natural_sizes(self.bench.equations(), space, w, self._held_out(tree), half)
        scale = np.maximum(np.maximum(self._sizes, sizes), natural)
        with np.errstate(invalid="ignore", divide="ignore"):
            relative = np.array([tail / scale[:, None] for tail, _ in found])
        return np.nan_to_num(relative, nan=0.0, posinf=np.inf).max(axis=1), sizes

    def _held_out(self, tree: CellTree) -> Array:
        d = len(tree.box)
        U = spread(WINDOWS.held.get(d, 80), d, 1)
        X = np.concatenate([b[:, 0] + (b[:, 1] - b[:, 0]) * U for b in tree.boxes])
        return np.asarray(X[np.asarray(self.bench.domain.contains(X), dtype=bool)])

    def _residual(self, space: Space, w: Array, tree: CellTree) -> float:
        """The largest residual of an equation between the fitted points, next to its terms there."""
        X = self._held_out(tree)
        judged, _ = residuals_at(
            self.bench.equations(),
            {Inside(): PointSet((X,), np.zeros_like(X))},
            space,
            w,
            tree.boxes[0],
            self._sizes,
        )
        return max(float(np.sqrt(np.mean(j.relative**2))) for j in judged.values())
