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
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np

from pibls.arrays import Array
from pibls.basis.quasi import spread
from pibls.linalg.rows import is_finite
from pibls.problem import Inside, Jet, Region
from pibls.problem.lowering import LoweredProblem
from pibls.search.again import Again
from pibls.search.bench import Bench
from pibls.search.divided import Reference, cell_system, first_tree, without_pairs
from pibls.search.evolution import Evolution, continued, handed_over
from pibls.search.extrapolated import Extrapolated
from pibls.search.followed import Demand, Followed, Window
from pibls.search.scales import natural_sizes
from pibls.solver import GaussNewton, Outcome
from pibls.space import Cells, CellTree, Node, Space, Whole, crossed, graded
from pibls.space.spectrum import degree_in, tails
from pibls.system.cells import CellSystem
from pibls.system.judging import residuals_at
from pibls.system.placing import place_in
from pibls.system.points import PointSet
from pibls.system.system import System, assemble

NODES = {1: 32, 2: 100, 3: 500}
"""Functions per window and cell (numerics: 48 were too few for Burgers' shock, 96 enough)."""
_TRIES = 60  # of one window
_SHORTEST = 1e-13  # of the whole time, or of t itself
_MOST_CELLS = 400
_HELD = {1: 31, 2: 40, 3: 60}
_EXTRAPOLATED = 2
_SAFE = 0.85
_FADING = 0.7
_ACROSS = 4.0  # tails in space are looked at further from the end of the spectrum: they may be larger
_STUBBORN = 3  # divisions of the first window that gain nothing
_PATIENCE = 8  # tries after which a beginning that contradicts the sides is taken as it is
_OPEN = 1e-5  # of the domain: a cell in which a beginning that contradicts the sides is left open
_KEPT = 0.85
"""Of a window in space and time: at its very end nothing but the equation holds the functions. What is handed
on from there grew by 2.5 from window to window for the wave equation, to 1e-6 after 25; from here it does not
grow (7e-14)."""
_NOTHING = 3e-14
_WORTH = 1.6  # times longer, a window is worth new factors
_LEFT = 1e-3  # of what is asked of a window's spectrum: what Newton's method may leave


@dataclass
class Follower:
    """Follows an evolution from its start to its end."""

    bench: Bench
    demand: Demand
    reference: Reference
    check: Callable[[float, int, int], None] = lambda t, windows, cells: None
    """Called with t, windows and cells after each window; raises to stop."""
    steps: int = 0
    tries: int = 0
    _sizes: Array = field(default_factory=lambda: np.empty(0))
    promised: float | None = None
    rough: float | None = None
    """Until when the beginning was not resolved, because its data contradict each other."""
    softened: Array = field(default_factory=lambda: np.empty((0, 0)))
    """Places in space where the beginning is left open."""
    _noise: float = 1.0
    """How much more than was asked for is left unresolved: rounding, or what older windows have left."""
    _end: float = 0.0
    """Where the next window ends at the latest: at the end, or where something switches."""
    _done: list[Window] = field(default_factory=list)
    _again: Again | None = None
    """The last window of a linear evolution."""

    @property
    def _evolution(self) -> Evolution:
        found = self.bench.evolution
        assert found is not None
        return found

    def run(self) -> Followed:
        """All windows; where it cannot go on, those until there."""
        e, bench = self._evolution, self.bench
        total = abs(e.stop - e.start)
        sign = 1.0 if e.forward else -1.0
        self._sizes = np.zeros(bench.lowered.unknowns)
        done = self._done = []
        tree = first_tree(bench, spare=e.axis)
        breaks = sorted(level for axis, level in bench.lowered.interfaces.planes if axis == e.axis)
        t, dt, stopped = e.start, total, None
        first = True
        while sign * (e.stop - t) > 1e-14 * total:
            ahead = [b for b in breaks if sign * (b - t) > 1e-13 * total]
            end = e.stop if not ahead else (min(ahead) if e.forward else max(ahead))
            left = sign * (end - t)
            if first:
                dt, tree = self._first_length(tree, total)
            dt = min(dt, left)
            if dt < left < 1.4 * dt:
                dt = 0.5 * left
            self._end = end
            found = self._window(done[-1] if done else None, tree, t, dt, sign, total)
            if isinstance(found, str):
                stopped = found
                break
            window, tree, dt = found
            done.append(window)
            t, first = window.stop, False
            self.check(t, len(done), len(tree))
        return Followed(tuple(done), e, stopped, self.steps, self.tries)

    def partial(self) -> Followed | None:
        """What was followed until an interruption."""
        if not self._done:
            return None
        return Followed(tuple(self._done), self._evolution, None, self.steps, self.tries)

    def replay(self, followed: Followed) -> Followed:
        """The same evolution in windows that reach from the middle of one to the middle of the next."""
        e = self._evolution
        switched = {level for axis, level in self.bench.lowered.interfaces.planes if axis == e.axis}
        done: list[Window] = []
        for t, stop, tree in _between(followed, switched, self.bench.box):
            lowered = self.bench.lowered
            last = done[-1] if done else None
            if last is not None:
                lowered = continued(lowered, e, handed_over(last.space, last.w, e, t, lowered.dimension))
            self._end = self._limit(t, stop, switched | {e.stop})
            reach = t + (stop - t) / self._kept
            if abs(reach - t) > abs(self._end - t):
                reach = self._end
            try:
                space, w, _ = self._solve(lowered, last, tree, t, reach)
            except _NoSolutionError:
                return Followed(tuple(done), e, "the second solution was lost", self.steps, self.tries)
            done.append(Window(space, w, t, stop, math.nan))
            self.check(t, -1, len(tree))
        return Followed(tuple(done), e, followed.stopped, self.steps, self.tries)

    @property
    def _kept(self) -> float:
        """The share of a window that is kept, where it is not the last."""
        return _KEPT if self.bench.lowered.dimension > 1 else 1.0

    def _handed(self, t: float, stop: float) -> float:
        """Where the next window begins."""
        return stop if stop == self._end else t + self._kept * (stop - t)

    @staticmethod
    def _limit(t: float, stop: float, ends: set[float]) -> float:
        """The first of some times that a window from t beyond ``stop`` must not cross."""
        return min(
            (x for x in ends if (x - t) * (stop - t) > 0 and abs(x - t) >= abs(stop - t)),
            key=lambda x: abs(x - t),
        )

    def _first_length(self, tree: CellTree, total: float) -> tuple[float, CellTree]:
        """A length over which the solution hardly changes, from its rates in a tiny window."""
        e = self._evolution
        tiny = 1e-6 * total
        sign = 1.0 if e.forward else -1.0
        try:
            space, w, _ = self._solve(self.bench.lowered, None, tree, e.start, e.start + sign * tiny)
        except _NoSolutionError:
            return 1e-3 * total, tree
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
        return max(careful * min(lengths), 1e-7 * total), tree

    def _at_time(self, tree: CellTree, t: float) -> Array:
        """Some points at one time, in every cell."""
        e = self._evolution
        U = spread(8, len(tree.box), 0)
        X = np.concatenate([b[:, 0] + (b[:, 1] - b[:, 0]) * U for b in tree.boxes])
        X[:, e.axis] = t
        return X

    def _window(
        self, last: Window | None, tree: CellTree, t: float, dt: float, sign: float, total: float
    ) -> tuple[Window, CellTree, float] | str:
        """One accepted window, the cells and the length for the next; or why there is none."""
        e, bench = self._evolution, self.bench
        lowered = bench.lowered
        if last is not None:
            begun = handed_over(last.space, last.w, e, t, lowered.dimension)
            lowered = continued(lowered, e, begun)
        power = max(0.75 * degree_in(self.reference.nodes, lowered.dimension), 4.0)
        before: tuple[float, float, int] | None = None
        stubborn, widest, patience = 0, math.inf, _PATIENCE
        # What earlier windows have left is not resolved: it is there to stay, and fades slowly.
        easing = max(1.0, _FADING * self._noise)
        for _ in range(_TRIES):
            self.tries += 1
            self.check(t, -1, len(tree))
            if dt < max(_SHORTEST * total, 4e-16 * abs(t)):
                return "no window is short enough"
            stop = t + sign * dt
            if sign * (self._end - stop) < 1e-12 * total:
                stop = self._end
            try:
                space, w, _ = self._solve(lowered, last, tree, t, stop)
            except _NoSolutionError:
                dt *= 0.3
                continue
            here = tree.stretched(e.axis, min(t, stop), max(t, stop))
            relative, sizes = self._tails(space, w, here)
            residual = self._residual(lowered, space, w, here)
            along = float(relative[:, e.axis].max())
            across = np.delete(relative, e.axis, axis=1)
            wide = float(across.max(initial=0.0))
            demand = Demand(easing * self.demand.tail, easing * self.demand.residual)
            if not (math.isfinite(along) and math.isfinite(wide) and math.isfinite(residual)):
                dt *= 0.3
                continue
            good_space = wide <= _ACROSS * demand.tail
            if along <= demand.tail and residual <= demand.residual and good_space:
                self._sizes = np.maximum(self._sizes, sizes)
                self._noise = easing
                factor = self._factor(along / easing, residual / easing, power)
                if easing > 1.0:
                    factor = max(factor, 1.0)  # a shorter window has as much of what others have left
                merged = self._merged(tree, relative / easing, power)
                window = Window(space, w, t, self._handed(t, stop), residual)
                if self._again is not None and 1.0 <= factor < _WORTH:
                    factor = 1.0  # another length needs other factors
                return window, merged, dt * min(max(factor, 0.5), bench.limits.window_growth)
            if last is None:
                stubborn = stubborn + 1 if wide > max(0.3 * widest, demand.tail) else 0
                widest = wide
                patience -= bool(len(self.softened))
                if not patience:
                    self._sizes = np.maximum(self._sizes, sizes)
                    return Window(space, w, t, self._handed(t, stop), residual), tree, dt
                if stubborn > _STUBBORN and not len(self.softened):
                    tree, dt = self._soften(tree, relative, demand.tail, total), 1e-9 * total
                    self.rough, stubborn, widest, before = t, 0, math.inf, None
                    continue
            worst = max(along / demand.tail, residual / demand.residual, wide / (_ACROSS * demand.tail))
            # Where a shorter window or smaller cells no longer help, what is left is rounding.
            if (
                before is not None
                and worst > 0.3 * before[0]
                and (dt <= 0.75 * before[1] or len(tree) > before[2])
                and worst * max(self.demand.tail, 1e-13) < 1e-6
            ):
                easing *= 3.0 * worst
                if easing < 1e5:
                    continue
            before = (worst, dt, len(tree))
            if not good_space and wide >= 0.1 * along:
                finer = self._divided(tree, relative, _ACROSS * demand.tail)
                if len(finer) > _MOST_CELLS:
                    return f"more than {_MOST_CELLS} cells would be needed"
                if len(finer) > len(tree):
                    tree = finer
                    if along > 10.0 * demand.tail and not stubborn:
                        dt *= 0.5
                    continue
            dt *= min(max(self._factor(along / easing, residual / easing, power), 0.2), 0.7)
        return "no window was accepted"

    def _soften(self, tree: CellTree, relative: Array, limit: float, total: float) -> CellTree:
        """Data that contradict each other at the start: there no cell is small enough.

        The cells are graded towards those places, and in the last of them the beginning is left open. What
        that changes is as small as the cell, and the equation makes it smaller with time.
        """
        e = self._evolution
        box = self.bench.box
        free = [i for i in range(len(box)) if i != e.axis]
        sides = {(i, float(box[i, s])) for i in free for s in (0, 1)}
        sides.update(self.bench.lowered.interfaces.planes)
        places: list[Array] = []

        def division(number: int, cell: Array) -> Node:
            mine = np.delete(relative[number], e.axis)
            if mine.max(initial=0.0) <= _ACROSS * limit:
                return None
            # Towards the side of the domain, or of a material, that the cell touches.
            place = cell.mean(axis=1)
            touching = [(i, s) for i in free for s in (0, 1) if (i, float(cell[i, s])) in sides]
            if not touching:
                return None
            for i, s in touching:
                place[i] = cell[i, s]
            places.append(place)
            levels = max(int(math.log2(max(np.ptp(cell[i]) / np.ptp(box[i]) for i in free) / _OPEN)), 1)
            return graded(cell, free, place, levels)

        finer = tree.refine(division)
        self.softened = np.array(places).reshape(-1, len(box))[:, free]
        return finer

    def _spared(self, region: Region, cell: Array) -> bool:
        """Whether the beginning is left open in a cell."""
        e = self._evolution
        if not len(self.softened) or region not in self._starts:
            return False
        free = [i for i in range(len(cell)) if i != e.axis]
        inside = (self.softened >= cell[free, 0]) & (self.softened <= cell[free, 1])
        return bool(inside.all(axis=1).any())

    @property
    def _starts(self) -> set[Region]:
        residuals = self.bench.lowered.residuals
        return {residuals[i].region for i in self._evolution.beginning}

    def _factor(self, along: float, residual: float, power: float) -> float:
        # What is as small as rounding says nothing about how much smaller it would be.
        if max(along, 0.1 * residual) < _NOTHING:
            return self.bench.limits.window_growth
        ratio = min(self.demand.tail / max(along, 1e-18), self.demand.residual / max(residual, 1e-18))
        return _SAFE * float(ratio ** (1.0 / power))

    def _divided(self, tree: CellTree, relative: Array, limit: float) -> CellTree:
        """Cells with a large tail divided, along every axis that has one."""
        axis = self._evolution.axis

        def division(number: int, box: Array) -> Node:
            mine = np.where(np.arange(relative.shape[1]) == axis, 0.0, relative[number])
            if mine.max() <= limit:
                return None
            chosen = [i for i, tail in enumerate(mine) if tail >= max(0.1 * mine.max(), limit)]
            return crossed([(i, float(box[i].mean())) for i in chosen])

        return tree.refine(division)

    def _merged(self, tree: CellTree, relative: Array, power: float) -> CellTree:
        small = self.demand.tail * 0.1 * 2.0**-power
        spatial = np.delete(relative, self._evolution.axis, axis=1).max(axis=1, initial=0.0)
        kept = set(self.bench.lowered.interfaces.planes)
        return tree.merge(lambda i, j, plane: plane not in kept and bool(max(spatial[i], spatial[j]) < small))

    def _tails(self, space: Whole | Cells, w: Array, tree: CellTree) -> tuple[Array, Array]:
        """The tail of each cell and axis relative to the size of its unknown (cells, d), and those sizes."""
        unknowns = self.bench.lowered.unknowns
        parts = [(space, w)] if isinstance(space, Whole) else [
            (part, w[a:b])
            for part, a, b in zip(space.parts, space.starts[:-1], space.starts[1:], strict=True)
        ]  # fmt: skip
        found = [
            tails(part, mine, box, unknowns) for (part, mine), box in zip(parts, tree.boxes, strict=True)
        ]
        sizes = np.max([size for _, size in found], axis=0)
        half = 0.5 * np.ptp(tree.boxes[0], axis=1)
        natural = natural_sizes(self.bench.equations(), space, w, self._held_out(tree), half)
        scale = np.maximum(np.maximum(self._sizes, sizes), natural)
        with np.errstate(invalid="ignore", divide="ignore"):
            relative = np.array([tail / scale[:, None] for tail, _ in found])
        return np.nan_to_num(relative, nan=0.0, posinf=np.inf).max(axis=1), sizes

    def _held_out(self, tree: CellTree) -> Array:
        d = len(tree.box)
        U = spread(_HELD.get(d, 80), d, 1)
        X = np.concatenate([b[:, 0] + (b[:, 1] - b[:, 0]) * U for b in tree.boxes])
        return np.asarray(X[np.asarray(self.bench.domain.contains(X), dtype=bool)])

    def _residual(self, lowered: LoweredProblem, space: Space, w: Array, tree: CellTree) -> float:
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

    def _solve(
        self, lowered: LoweredProblem, last: Window | None, tree: CellTree, t: float, stop: float
    ) -> tuple[Whole | Cells, Array, int]:
        """One window of that length in these cells, whatever it is worth."""
        e, bench = self._evolution, self.bench
        here = tree.stretched(e.axis, min(t, stop), max(t, stop))
        paired = without_pairs(lowered)
        space: Whole | Cells
        system: System | CellSystem
        alone = len(here) == 1 and len(paired.residuals) == len(lowered.residuals)
        if self._again is not None and not len(self.softened):
            on = self.reference.on(here.boxes[0], lowered.unknowns)
            space = on if alone else self.reference.over(here, lowered.unknowns)
            again = self._again.moved(paired, here.boxes, space)
            if again is not None:
                w = GaussNewton().linear_solve(again, self._again.factors).w
                if not np.isfinite(w).all():
                    raise _NoSolutionError
                return space, w, 0
        if alone:
            box = here.boxes[0]
            space = self.reference.on(box, lowered.unknowns)
            points = {r.region: place_in(r.region, bench.domain, box, space.nodes) for r in lowered.residuals}
            found = {region: p for region, p in points.items() if len(p)}
            kept = tuple(r for r in lowered.residuals if r.region in found)
            system = assemble(LoweredProblem(kept, lowered.unknowns, lowered.dimension), found, space)
        else:
            space = self.reference.over(here, lowered.unknowns)
            system = cell_system(lowered, bench.domain, space, bench.engine, self._spared)
        method = GaussNewton(
            rounds=0,
            continuation=0,
            tolerance=max(_LEFT * self.demand.tail, 1e-15),
        )
        if system.is_linear:
            outcome = method.linear_solve(system)
            self._again = Again(e.axis, here.boxes, system, outcome.factors)
        elif last is None:
            outcome = self._begin(system, method)
        else:
            v = system.values_of(Extrapolated(last.space, last.w, e.axis, t, _EXTRAPOLATED), np.empty(0))
            if not _usable(system, v):
                v = system.values_of(Extrapolated(last.space, last.w, e.axis, t, 0), np.empty(0))
                if not _usable(system, v):
                    raise _NoSolutionError
            outcome = method.descend(system, v, 0.0)
        self.steps += outcome.steps
        if not np.isfinite(outcome.w).all():
            raise _NoSolutionError
        return space, outcome.w, outcome.steps

    def _begin(self, system: System | CellSystem, method: GaussNewton) -> Outcome:
        """The first window starts from its own initial values."""
        from pibls.search.starts import lift

        if isinstance(system, System):
            w = lift(system, self.bench)
            if w is not None and _usable(system, system.values(w)):
                return method.descend(system, system.values(w), w=w)
        for level in (0.0, 1.0, -1.0, 0.1):
            v = system.level(level)
            if _usable(system, v):
                return method.descend(system, v)
        raise _NoSolutionError


def _between(followed: Followed, switched: set[float], box: Array) -> Iterator[tuple[float, float, CellTree]]:
    """(start, stop, cells) of windows between the middles of others and the times where something jumps."""
    group: list[Window] = []
    for window in followed.windows:
        group.append(window)
        if window.stop not in switched and window is not followed.windows[-1]:
            continue
        trees = [_tree_of(x.space, box) for x in group]
        edges = [group[0].start, *(0.5 * (x.start + x.stop) for x in group), window.stop]
        if len(group) == 1:
            edges[1] = 0.55 * window.start + 0.45 * window.stop
        pairs = zip([trees[0], *trees], [*trees, trees[-1]], strict=True)
        yield from zip(edges[:-1], edges[1:], (max(p, key=len) for p in pairs), strict=True)
        group = []


def _tree_of(space: Whole | Cells, box: Array) -> CellTree:
    return space.tree if isinstance(space, Cells) else CellTree.over(box)


class _NoSolutionError(Exception):
    """Nothing that could be a solution came out."""


def _usable(system: System | CellSystem, v: Array) -> bool:
    return bool(np.isfinite(v).all()) and all(is_finite(part) for part in system.linearise(v))
