r"""B → cells, divided where the solution is hard: a tree that grows until every cell is resolved.

Each cell has the same few waves. Where the spectrum of the solution has not fallen at the end of a cell's
degrees, or where the equations do not hold between its points, the cell is divided, along the axes that need
it. When all are resolved, a second solution in the same cells, drawn at another scale, is the estimate.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field, replace

import numpy as np

from pibls.adaptive.candidate import Attempt, judge, misfits
from pibls.adaptive.cells.error_indicators import Frames, apart_in, cells_of, steepness, tails_in, unmet_in
from pibls.adaptive.cells.face_residuals import Seams, meeting
from pibls.adaptive.cells.hp_selection import NODES, Sized, first_level, functions, grid_for
from pibls.adaptive.cells.hybridized import Reference, cell_system, sums_divide
from pibls.adaptive.rates import sites, towards, walls_of, waves_across
from pibls.adaptive.singular.cornered import Cornered
from pibls.adaptive.strategy import Offer, Plan
from pibls.adaptive.thresholds import CELLS, LOOP, STARTS
from pibls.adaptive.validation.estimate import ErrorEstimate, Where, at_least, compare, norms_by_name
from pibls.adaptive.work import divided
from pibls.arrays import Array, Mask
from pibls.assembly.hybridized.cells import CellSystem
from pibls.caching import cached_property
from pibls.linalg.threads import sensible_threads
from pibls.linalg.tree.engine import TooLargeError
from pibls.nonlinear import GaussNewton, Outcome
from pibls.nonlinear.protocol import starting_values
from pibls.spaces import CellTree, Node, Space, graded
from pibls.spaces.spectrum import degree_in
from pibls.status import Status


@dataclass
class CellPlan(Plan):
    """A tree of cells, refined where it is hard."""

    start: Attempt | None = None
    """What another plan has found, for a nonlinear problem to start from."""
    guess: Space | None = None
    sized: Sized | None = None
    """The cells, with the number of functions of each."""
    _rounds: int = 0
    _key: int = 0
    _last: tuple[float, float, float] | None = None
    """Size, work and largest indicator of the last attempt."""
    _rate: float = field(default=1.0)
    """Digits gained by the last attempt."""
    _before: tuple[Space, Array] | None = None
    """What the attempt before found."""
    _coarser: tuple[Attempt, Seams, tuple[Space, Array]] | None = None
    """The last attempt, what its seams leave, and the attempt before it."""
    _places: Array = field(default_factory=lambda: np.empty((0, 0)))
    """Where in each cell the residual is largest."""
    _singular: Mask = field(default_factory=lambda: np.zeros(0, dtype=np.bool_))
    """Which cells leave more on their seams than their functions tell of."""
    _at_corner: Mask = field(default_factory=lambda: np.zeros(0, dtype=np.bool_))
    """Which of the places are corners of their cell."""
    _halvings: int = 1
    """How often the worst cell was halved last."""
    _per_halving: float = 1.0
    """Digits that each of them gained."""

    @cached_property
    def _frames(self) -> Frames:
        return Frames(self.bench)

    @property
    def tree(self) -> CellTree:
        assert self.sized is not None
        return self.sized.tree

    @property
    def _most(self) -> int:
        """Functions for each unknown, in all cells together."""
        return CELLS.columns * self.budget.max_nodes // self.bench.lowered.unknowns

    def offer(self) -> Offer | None:
        d = self.bench.lowered.dimension
        if not sums_divide(self.bench):
            return None
        if self.status is not None or d not in NODES or self._rounds >= LOOP.rounds:
            return None
        if self._last is None:
            usual = CELLS.usual[d] * self.bench.lowered.unknowns
            # All of space and time at once is what an evolution comes to last.
            first, each = (
                CELLS.first[d] ** d,
                NODES[d][first_level(self.bench.tol)] * self.bench.lowered.unknowns,
            )
            if first * each > CELLS.columns * self.budget.max_nodes:
                return None
            work = divided(first, first * each, 0, 1)
            return Offer(work, usual if self.bench.evolution is None else CELLS.last * usual)
        assert self.sized is not None
        done, work, worst = self._last
        if functions(self.sized) > self._most:
            return None
        expected = work * (self.sized.work / done) ** 1.3
        needed = max(math.log10(max(worst, 1e-300) / self.bench.tol), 0.0)
        rounds = max(needed / max(self._rate, 0.2), 1.0)
        # Where Newton's method ends nowhere, indicators say nothing of what is left.
        return Offer(expected, math.inf if self.finds_nothing else expected * min(rounds, 20.0))

    def hear_of(self, found: Attempt | None) -> None:
        self.start = self.start or found

    def advance(self) -> None:
        if self.sized is None:
            self.sized = self._first()
            if functions(self.sized) > self._most:
                self._rounds = LOOP.rounds
                return
        self._rounds += 1
        try:
            self._try()
        except TooLargeError:
            if self.best is None:
                raise
            self.status = Status.MEMORY_LIMIT

    def _try(self) -> None:
        """Solve in the cells of the tree, and refine or accept."""
        bench = self.bench
        assert self.sized is not None
        found, seams = self._solve(1.0)
        indicator, axes = self._indicators(found, seams)
        worst = float(indicator.max())
        if self._last is not None and worst > 0:
            self._rate = math.log10(max(self._last[2], 1e-300) / worst)
            self._per_halving = self._rate / max(self._halvings, 1)
        self._last = (self.sized.work, found.work, worst)
        self.marks.append(found.relative)
        if self.best is None or not self.error.checked:
            self.best = self._whole(found)
        self.tell(found, None, cells=len(self.tree))
        self._coarser = None if self._before is None else (found, seams, self._before)
        limit = bench.limits.cell_tail * bench.tol
        if worst > CELLS.close * limit and not (self._rate < 0.05 and worst < 1e-9 and self._rounds > 3):
            self.sized, self._before = self._refined(found, indicator, axes, limit), found.function
            return
        # Also in finer cells where it is hardest: what a singular place leaves is the same in the same cells.
        hardest = self._hardest(found, indicator, axes)
        second, _ = self._solve(bench.limits.other_scale, found, hardest)
        where = self._where(found)
        error = compare(found.function, second.function, bench.lowered.unknowns, where)
        error = at_least(error, misfits(bench, found.residuals), bench.rounding(found.sizes))
        # What stands on the sides of a singular cell is a part of what it is off in its corner.
        left = np.where(self._singular, CELLS.in_the_corner, 1.0) * seams.worst
        error = at_least(error, float(left.max()) * self.scales(found))
        if self._before is not None:
            # What a singularity leaves is the same in both; it shows in what the last division changed.
            fall = min(max(10.0**-self._rate, CELLS.least_fall), 1.0)
            change = compare(found.function, self._before, bench.lowered.unknowns, where, 2.0 * fall)
            error = max(error, change, key=lambda e: e.max)
        excess = self.excess(found, error)
        if excess > bench.tol:
            error = self._added_up(found, left, error)
        self._keep(self._whole(found), error)
        self.tell(found, excess, cells=len(self.tree))
        per_cell = apart_in(found, second, self._where(found).all, self.scales(found))
        shown = np.maximum(bench.limits.safety * per_cell, bench.limits.misfit * left)
        self.notes["cell_errors"] = shown * float(self.scales(found).max())
        if excess <= bench.tol and found.relative < bench.limits.fits:
            self.status = Status.TOLERANCE
            return
        if worst <= limit and self._rate < 0.05 and self._rounds > 3 and worst < 1e-9:
            self.status = Status.FLOOR
            return
        # As much less as is missing, and not all of it everywhere: a division gains a digit and more.
        every = np.maximum(indicator, per_cell)
        short = float(every.max()) * bench.tol / (CELLS.digits * max(excess, bench.tol))
        self.sized = self._refined(found, every, axes, max(0.1 * bench.tol, min(short, bench.tol)))
        self._before = found.function

    def conclude(self) -> None:
        """As long as divisions gain, the last one changed more than it left."""
        if self._coarser is None or self._rate < CELLS.gaining:
            return
        bench, (found, seams, before) = self.bench, self._coarser
        error = compare(found.function, before, bench.lowered.unknowns, self._where(found))
        error = at_least(error, misfits(bench, found.residuals), bench.rounding(found.sizes))
        left = np.where(self._singular, CELLS.in_the_corner, 1.0) * seams.worst
        self._keep(self._whole(found), self._added_up(found, left, error))

    def _added_up(self, found: Attempt, left: Array, error: ErrorEstimate) -> ErrorEstimate:
        """The same, but not below what all cells leave together.

        Two divisions agree where each cell loses a little of the same flux on its way to a small contact.
        """
        limits = self.bench.limits
        most = limits.safety / limits.misfit * float(left.sum()) * self.scales(found)
        return at_least(error, most, most)

    def may_fit(self, work: float) -> bool:
        return self.budget.allows(self, LOOP.unsure * work)

    def _whole(self, found: Attempt) -> Attempt:
        """With something everywhere in the domain."""
        if self.bench.evolution is not None:
            return found
        space = cells_of(found)
        filled, w = space.filled(found.w, self._frames.of(space.tree))
        return found if filled is space else replace(found, space=filled, outcome=replace(found.outcome, w=w))

    def _first(self) -> Sized:
        """The first cells: those of the layers and waves that the equations' own rates tell of."""
        bench, d = self.bench, self.bench.lowered.dimension
        level = first_level(bench.tol)
        if Cornered.of(bench.extra):
            # Beside a corner all cells are alike, and few functions leave the same in each of them.
            level = max(level, 1)
        planes = bench.lowered.interfaces.planes
        tree = CellTree.cut(bench.box, planes) if planes else CellTree.grid(bench.box, (CELLS.first[d],) * d)
        if bench.evolution is not None:
            return Sized.even(tree, level)
        waves = waves_across(bench)
        grid = grid_for(waves, bench.tol, 0.9 * self._most) if waves.any() else None
        if grid is not None and not planes:
            level, counts = grid
            tree = CellTree.grid(bench.box, counts)
        degree, most = degree_in(NODES[d][level], d), self._most // (2 * NODES[d][level])
        tree = walls_of(bench).towards(tree, degree, most)
        fine = Sized.even(towards(tree, sites(bench), degree), level)
        return fine if functions(fine) <= self._most // 2 else Sized.even(tree, level)

    def _hardest(self, found: Attempt, indicator: Array, along: Array) -> Sized:
        """The same cells, and the hardest of them divided, unless the solution is plainly smooth there."""
        assert self.sized is not None
        mark = max(0.1 * float(indicator.max()), float(np.sort(indicator)[-max(len(indicator) // 5, 1)]))

        def division(number: int, box: Array) -> Node:
            if (
                indicator[number] < mark
                or steepness(self._frames, found, number, box, along) > CELLS.spectral
            ):
                return None
            axes = [i for i in range(len(box)) if along[number, i] >= 0.1 * along[number].max()]
            return graded(self._frames.around(box), axes, self._places[number], 1)

        return self.sized.divided(division)

    def _solve(
        self, shrink: float, near: Attempt | None = None, sized: Sized | None = None
    ) -> tuple[Attempt, Seams]:
        """What is found in the cells, and how far conditions and faces are from being met in each."""
        bench = self.bench
        began = time.perf_counter()
        self._key += 1
        d, unknowns = bench.lowered.dimension, bench.lowered.unknowns
        sized = sized or self.sized
        assert sized is not None
        references = {
            level: Reference.drawn(NODES[d][level], d, shrink, bench.stream(1, 2000 + self._key))
            for level in set(sized.levels)
        }
        frames = self._frames.of(sized.tree)
        corners = Cornered.of(bench.extra, shrink)
        space = corners.space(sized.over(references, unknowns, frames))
        with sensible_threads(1), np.errstate(over="ignore", invalid="ignore"):
            system = cell_system(
                bench.lowered, bench.domain, space, bench.engine, frames=frames, corners=corners
            )
            outcome = self._newton(system, near or self.best or self.start)
            w = system.function(outcome.w)
            judged, values = judge(bench, space, w)
        kept = Outcome(w, outcome.cost, outcome.steps, outcome.status)
        seconds = time.perf_counter() - began
        settings = {"cells": len(sized), "nodes": max(sized.nodes)}
        work = divided(len(sized), space.columns, len(outcome.w) - space.columns, outcome.steps)
        self.budget.charge(self, work, seconds)
        found = Attempt(space, kept, norms_by_name(judged), values, seconds, work, settings)
        worst, places = system.misfits(outcome.w, self.scales(found))
        return found, Seams(worst, places, system.neighbours)

    def _newton(self, system: CellSystem, before: Attempt | None) -> Outcome:
        """From what was found before, or from the first guess.

        In cells no pivots need to be cut off on the way, which costs two to four factors each time. What is
        left at the first few cells is what they cannot do, and not for a path from easier problems to mend.
        """
        usual = GaussNewton(rounds=0)
        if system.is_linear:
            return usual.linear_solve(system)
        if self.guess is not None and self._key == 1:
            return usual.descend(system, system.values_of(self.guess, np.empty(0)))
        quick = replace(usual, truncation=0.0, to_the_last=False)
        if before is not None and before.relative < self.bench.limits.trust_start:
            start = system.values_of(*before.function)
            return quick.descend(system, start, before.relative)
        outcome = quick.descend(system, starting_values(system))
        if outcome.status is Status.STALLED and not outcome.relative < STARTS.astray:
            return usual.solve(system, self.bench.stream(3, 2000 + self._key))
        return outcome

    def _indicators(self, found: Attempt, seams: Seams) -> tuple[Array, Array]:
        """For each cell how far it is from resolved, relative to max|u|; and the tails along each axis."""
        space, scales = cells_of(found), self.scales(found)
        pairs = zip(space.each(found.w), self._frames.of(space.tree), strict=True)
        spectra = [tails_in(self._frames, part, w, box) for (part, w), box in pairs]
        with np.errstate(invalid="ignore", divide="ignore"):
            along = np.nan_to_num(np.array(spectra) / scales[None, :, None]).max(axis=1)
        unmet, self._places = unmet_in(self._frames, found, scales)
        # Beside functions of its own corner the waves of a cell are not unique: their tails mean nothing.
        corners = Cornered.of(self.bench.extra)
        own = np.array([corners.holds(box) for box in space.tree.boxes])
        along[own] = np.maximum(unmet, seams.worst)[own, None]
        smooth = np.maximum(along.max(axis=1), unmet)
        misfit = seams.own(smooth)
        self._singular = seams.singular(smooth)
        more = misfit > smooth
        places, self._at_corner = seams.towards(space.tree.boxes)
        self._places[more] = places[more]
        worst = np.maximum(smooth, misfit)
        at_corners = self._singular & self._at_corner
        together = meeting(space.tree.boxes, worst, self._places, at_corners)
        self._singular |= at_corners
        self._at_corner |= at_corners
        return together, along

    def _where(self, found: Attempt) -> Where:
        """The points that accept, and some in every cell."""
        boxes, where = self._frames.of(cells_of(found).tree), self.bench.where
        X = self._frames.spread(boxes, 8, 11)
        singular = np.flatnonzero(self._singular)
        corners = self._places[singular]
        X = np.concatenate([X, corners + CELLS.beside * (boxes[singular].mean(axis=2) - corners)])
        X = X[np.asarray(self.bench.domain.contains(X), dtype=bool)]
        return replace(where, all=np.concatenate([where.all, X]))

    def _refined(self, found: Attempt, indicator: Array, along: Array, limit: float) -> Sized:
        """The marked cells divided, along every axis whose tail is not much smaller than the largest.

        Where the spectrum falls fast enough, they get more functions instead.
        """
        sized = self.sized
        assert sized is not None
        mark = max(limit, self.bench.limits.cell_share * float(indicator.max()))
        # Not more at once than doubles the cells, nor than may be had: the worst first.
        room = (self._most - functions(sized)) // (3 * max(sized.nodes))
        most = max(min(len(indicator), room), 4)
        if np.count_nonzero(indicator >= mark) > most:
            mark = float(np.sort(indicator)[-most])
        share = self.bench.limits.cell_axis
        more: set[int] = set()
        done = [(0.0, 1)]

        def division(number: int, box: Array) -> Node:
            if indicator[number] < mark:
                return None
            mine = along[number]
            axes = [i for i in range(len(box)) if mine[i] >= share * mine.max()]
            singular = bool(self._singular[number])
            levels = self._levels(float(indicator[number]) / limit, singular)
            if singular and not self._at_corner[number]:
                levels = min(levels, CELLS.shallow)
            done.append((float(indicator[number]), levels))
            if singular:
                axes = list(range(len(box)))
            elif levels == 1 and indicator[number] < self.bench.limits.rough:
                missing = math.log10(float(indicator[number]) / limit)
                steep = steepness(self._frames, found, number, box, along)
                falls = steep / degree_in(sized.nodes[number], len(box))
                if sized.wants_more(number, mine, axes, falls, missing):
                    more.add(number)
                    return None
            return graded(self._frames.around(box), axes, self._places[number], levels)

        divided = sized.divided(division)
        self._halvings = max(done)[1]
        where = {int(i): n for n, i in enumerate(sized.tree.locate(divided.tree.boxes.mean(axis=2)))}
        return divided.raised({where[i] for i in more})

    def _levels(self, excess: float, singular: bool) -> int:
        """How often to halve a cell at once: where halving gains little, the solution is singular there."""
        if singular:
            if self._rounds > 1 and self._per_halving > 0.5 * CELLS.smooth:
                return 1
            wanted = math.log10(max(excess, 1.0)) / max(self._per_halving, 0.1)
            return int(min(max(wanted, 1.0), CELLS.deep if self._rounds > 2 else 2))
        assert self._last is not None
        if self._rounds < 3 or self._rate > CELLS.smooth or self._last[2] > self.bench.limits.rough:
            return 1
        return int(min(max(0.5 * math.log10(max(excess, 1.0)) / max(self._rate, 0.3), 1.0), 4.0))
