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

from pibls.arrays import Array, Mask
from pibls.basis.quasi import spread
from pibls.domain import frame
from pibls.linalg.engine import TooLargeError
from pibls.linalg.threads import sensible_threads
from pibls.problem import Inside, Region
from pibls.problem.lowering import LoweredProblem
from pibls.search.attempt import Attempt, judge, misfits
from pibls.search.cornered import Cornered
from pibls.search.divided import Reference, cell_system, first_tree, sums_divide
from pibls.search.estimate import Where, at_least, compare, norms_by_name, unknowns_at
from pibls.search.plan import Offer, Plan
from pibls.search.rates import sites, towards, walls_of, waves_across
from pibls.search.seams import Seams
from pibls.search.sizes import NODES, Sized, first_level, functions, grid_for
from pibls.search.work import divided
from pibls.solver import GaussNewton, Outcome
from pibls.solver.protocol import starting_values
from pibls.space import Cells, CellTree, Node, Space, Whole, bare, bared, graded
from pibls.space.spectrum import degree_in, fall, left_at, tails
from pibls.status import Status
from pibls.system.cells import CellSystem
from pibls.system.judging import residuals_at
from pibls.system.points import PointSet

_FIRST = {1: 4, 2: 2, 3: 2}  # cells along each axis
_WITH_FACES = 1.5  # functions of a cell with those of its faces, over those of the cell
_USUAL = {1: 0.3, 2: 4.0, 3: 30.0}  # seconds until the tolerance is met, roughly
_HELD = {1: 13, 2: 24, 3: 40}
_COLUMNS = 25  # columns in cells for each one that a dense system may have
_ROUNDS = 40
_SPECTRAL = (
    7.0  # digits from the first degree to the last: of singular corners some 4 to 6, whatever the degree
)
_CLOSE = 10.0  # an indicator up to this many times its limit: tails say more than what is left out
_ROUGH = 1e-2  # an indicator above which nothing is resolved yet
_FEW = 0.1  # of all cells
_DIGITS = 2.0  # times less than wanted is aimed at where a comparison was not good enough
_SWINGS = {1: 0.0, 2: 0.5, 3: 0.5}  # of its degree: how fast the residual of a cell oscillates
_LAST = 20.0
_LOOKED_AT = 768  # places that tell where in a cell the domain is
_SMOOTH = 1.2  # digits that a halving gains at least where the solution is smooth
_DEEP, _SHALLOW = 8, 3  # halvings at once towards the corner of a cell, and to a place that is known roughly
_IN_THE_CORNER = 3.0  # r^(2/3): the error in the corner was up to 3.6 times what stood on the sides
_BESIDE = 1e-3  # of a cell, from its singular corner: where two solutions are compared
_RESOLVED = 0.05  # of the residual of zero: what the first cells may leave
_LEAST_FALL = 0.02  # of what the last division changed is left at least


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
    _places: Array = field(default_factory=lambda: np.empty((0, 0)))
    """Where in each cell the residual is largest."""
    _framed: dict[bytes, Array] = field(default_factory=dict)
    """What is known of the frames of cells."""
    _cut: dict[bytes, Array | None] = field(default_factory=dict)
    """And of the domain in them."""
    _singular: Mask = field(default_factory=lambda: np.zeros(0, dtype=np.bool_))
    """Which cells leave more on their seams than their functions tell of."""
    _at_corner: Mask = field(default_factory=lambda: np.zeros(0, dtype=np.bool_))
    """Which of the places are corners of their cell."""
    _halvings: int = 1
    """How often the worst cell was halved last."""
    _per_halving: float = 1.0
    """Digits that each of them gained."""

    @property
    def tree(self) -> CellTree:
        assert self.sized is not None
        return self.sized.tree

    @property
    def _most(self) -> int:
        """Functions for each unknown, in all cells together."""
        return _COLUMNS * self.budget.max_nodes // self.bench.lowered.unknowns

    def offer(self) -> Offer | None:
        d = self.bench.lowered.dimension
        if not sums_divide(self.bench):
            return None
        if self.status is not None or d not in NODES or self._rounds >= _ROUNDS:
            return None
        if self._last is None:
            usual = _USUAL[d] * self.bench.lowered.unknowns
            # All of space and time at once is what an evolution comes to last.
            first, each = _FIRST[d] ** d, NODES[d][first_level(self.bench.tol)] * self.bench.lowered.unknowns
            work = divided(first, int(_WITH_FACES * first * each), 0, 1)
            return Offer(work, usual if self.bench.evolution is None else _LAST * usual)
        assert self.sized is not None
        done, work, worst = self._last
        if functions(self.sized) > self._most:
            return None
        expected = work * (self.sized.work / done) ** 1.3
        needed = max(math.log10(max(worst, 1e-300) / self.bench.tol), 0.0)
        rounds = max(needed / max(self._rate, 0.2), 1.0)
        return Offer(expected, expected * min(rounds, 20.0))

    def hear_of(self, found: Attempt | None) -> None:
        self.start = self.start or found

    def advance(self) -> None:
        if self.sized is None:
            self.sized = self._first()
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
        limit = bench.limits.cell_tail * bench.tol
        if worst > _CLOSE * limit and not (self._rate < 0.05 and worst < 1e-9 and self._rounds > 3):
            self.sized, self._before = self._refined(found, indicator, axes, limit), found.function
            return
        if not self.affords(found.work):
            return
        # Also in finer cells where it is hardest: what a singular place leaves is the same in the same cells.
        hardest = self._hardest(found, indicator, axes)
        second, _ = self._solve(bench.limits.other_scale, found, hardest)
        where = self._where(found)
        error = compare(found.function, second.function, bench.lowered.unknowns, where)
        error = at_least(error, misfits(bench, found.residuals), bench.rounding(found.sizes))
        # What stands on the sides of a singular cell is a part of what it is off in its corner.
        left = np.where(self._singular, _IN_THE_CORNER, 1.0) * seams.worst
        error = at_least(error, float(left.max()) * self.scales(found))
        if self._before is not None:
            # What a singularity leaves is the same in both; it shows in what the last division changed.
            fall = min(max(10.0**-self._rate, _LEAST_FALL), 1.0)
            change = compare(found.function, self._before, bench.lowered.unknowns, where, 2.0 * fall)
            error = max(error, change, key=lambda e: e.max)
        if not self.error.checked or error.max <= self.error.max:
            self.best, self.error = self._whole(found), error
        excess = self.excess(found, error)
        self.tell(found, excess, cells=len(self.tree))
        per_cell = self._differences(found, second)
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
        short = float(every.max()) * bench.tol / (_DIGITS * max(excess, bench.tol))
        self.sized = self._refined(found, every, axes, max(0.1 * bench.tol, min(short, bench.tol)))
        self._before = found.function

    def _whole(self, found: Attempt) -> Attempt:
        """With something everywhere in the domain."""
        space = found.space
        assert isinstance(space, Cells)
        if self.bench.evolution is not None:
            return found
        filled, w = space.filled(found.w, self._frames(space.tree))
        return found if filled is space else replace(found, space=filled, outcome=replace(found.outcome, w=w))

    def _first(self) -> Sized:
        """The first cells: those of the layers and waves that the equations' own rates tell of."""
        bench, d = self.bench, self.bench.lowered.dimension
        level = first_level(bench.tol)
        if Cornered.of(bench.extra):
            # Beside a corner all cells are alike, and few functions leave the same in each of them.
            level = max(level, 1)
        tree = first_tree(bench, _FIRST[d])
        if bench.evolution is not None:
            return Sized.even(tree, level)
        waves = waves_across(bench)
        grid = grid_for(waves, bench.tol, 0.9 * self._most) if waves.any() else None
        if grid is not None and not bench.lowered.interfaces.planes:
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
            if indicator[number] < mark or self._steepness(found, number, box, along) > _SPECTRAL:
                return None
            axes = [i for i in range(len(box)) if along[number, i] >= 0.1 * along[number].max()]
            return graded(self._framed_as(box), axes, self._places[number], 1)

        return self.sized.divided(division)

    def _frames(self, tree: CellTree) -> Array:
        """For each cell the box around what of the domain lies in it."""
        if self.bench.evolution is not None:
            return tree.boxes
        for box in tree.boxes:
            key = box.tobytes()
            if key not in self._framed:
                self._framed[key] = frame(self.bench.domain, box)
        return np.array([self._framed[box.tobytes()] for box in tree.boxes])

    def _framed_as(self, box: Array) -> Array:
        return self._framed.get(box.tobytes(), box)

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
        frames = self._frames(sized.tree)
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
        if outcome.status is Status.STALLED and not outcome.relative < _RESOLVED:
            return usual.solve(system, self.bench.stream(3, 2000 + self._key))
        return outcome

    def _indicators(self, found: Attempt, seams: Seams) -> tuple[Array, Array]:
        """For each cell how far it is from resolved, relative to max|u|; and the tails along each axis."""
        space, w = found.space, found.w
        assert isinstance(space, Cells)
        scales = self.scales(found)
        spectra = [
            self._tails(part, w[a:b], box)
            for part, a, b, box in zip(
                space.parts, space.starts[:-1], space.starts[1:], self._frames(space.tree), strict=True
            )
        ]
        with np.errstate(invalid="ignore", divide="ignore"):
            along = np.nan_to_num(np.array(spectra) / scales[None, :, None]).max(axis=1)
        unmet, self._places = self._unmet(found, scales)
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
        return self._around(space.tree.boxes, np.maximum(smooth, misfit)), along

    def _around(self, boxes: Array, indicator: Array) -> Array:
        """All cells that meet in a singular corner are as far from resolved as the worst of them."""
        out = indicator.copy()
        slack = 1e-6 * (boxes[:, :, 1] - boxes[:, :, 0])
        for cell in np.flatnonzero(self._singular & self._at_corner):
            place = self._places[cell]
            meet = ((boxes[:, :, 0] - slack <= place) & (boxes[:, :, 1] + slack >= place)).all(axis=1)
            meet &= out <= indicator[cell]
            out[meet] = indicator[cell]
            self._places[meet] = place
            self._singular[meet] = self._at_corner[meet] = True
        return out

    def _tails(self, part: Whole, w: Array, box: Array) -> Array:
        """What is left at the highest degrees along each axis (unknowns, d)."""
        unknowns = self.bench.lowered.unknowns
        part, w = bare(part), bared(part, w)
        found = tails(part, w, box, unknowns)[0]
        places = self._places_in(box)
        if places is None:
            return found
        most = found.max(axis=1, keepdims=True)
        left = left_at(part, w, box, unknowns, places)[:, None]
        return np.where(most > 0, found * np.minimum(left / np.where(most > 0, most, 1.0), 1.0), 0.0)

    def _places_in(self, box: Array) -> Array | None:
        """Places of the domain in a frame that the boundary cuts, seen from it; None where it does not."""
        key = box.tobytes()
        if key not in self._cut:
            S = 2.0 * spread(_LOOKED_AT, len(box), 5) - 1.0
            X = box.mean(axis=1) + 0.5 * (box[:, 1] - box[:, 0]) * S
            inside = np.asarray(self.bench.domain.contains(X), dtype=bool)
            self._cut[key] = None if inside.all() or self.bench.evolution is not None else S[inside]
        return self._cut[key]

    def _spread_in(self, boxes: Array, n: int, key: int) -> Array:
        """n places of each frame, one frame after the other; where the boundary cuts it, of the domain.

        A sliver had none of the domain, was off by 0.9, and two solutions agreed to 0.02 elsewhere.
        """
        S = np.array(
            np.broadcast_to(2.0 * spread(n, boxes.shape[1], key) - 1.0, (len(boxes), n, len(boxes[0])))
        )
        for mine, box in zip(S, boxes, strict=True):
            places = self._places_in(box)
            if places is not None and len(places):
                mine[:] = np.resize(np.roll(places, key, axis=0), mine.shape)
        X = boxes.mean(axis=2)[:, None, :] + 0.5 * (boxes[:, :, 1] - boxes[:, :, 0])[:, None, :] * S
        return np.asarray(X.reshape(-1, boxes.shape[1]))

    def _unmet(self, found: Attempt, scales: Array) -> tuple[Array, Array]:
        """For each cell the error that the residual between its points stands for, relative; and where."""
        space = found.space
        assert isinstance(space, Cells)
        equations, d = self.bench.equations(), self.bench.lowered.dimension
        n = _HELD[d]
        boxes = self._frames(space.tree)
        X = self._spread_in(boxes, n, 3)
        inside = np.asarray(self.bench.domain.contains(X), dtype=bool)
        where: dict[Region, PointSet] = {Inside(): PointSet((X,), np.zeros_like(X))}
        judged, _ = residuals_at(equations, where, space, found.w, self.bench.box)
        # What is left of a fit oscillates as fast as the functions can.
        degrees = np.array([degree_in(part.nodes, d) for part in space.parts])
        half = 0.5 * (boxes[:, :, 1] - boxes[:, :, 0]) / np.maximum(_SWINGS[d] * degrees, 1.0)[:, None]
        out = np.zeros((len(boxes), n))
        for r in equations.residuals:
            strength = _strength(equations, r.name, X, space, found.w, half, n, scales)
            values = np.where(inside, np.abs(judged[r.name].values), 0.0).reshape(-1, n)
            with np.errstate(invalid="ignore", divide="ignore"):
                out = np.maximum(out, np.nan_to_num(values / strength[:, None], nan=0.0, posinf=1.0))
        places = X.reshape(-1, n, d)[np.arange(len(boxes)), out.argmax(axis=1)]
        return out.max(axis=1), places

    def _differences(self, found: Attempt, second: Attempt) -> Array:
        X = self._where(found).all
        unknowns = self.bench.lowered.unknowns
        difference = np.abs(
            unknowns_at(*found.function, X, unknowns) - unknowns_at(*second.function, X, unknowns)
        )
        scales = self.scales(found)
        assert self.tree is not None
        worst = np.nan_to_num(difference / np.where(scales > 0, scales, 1.0)[:, None]).max(axis=0)
        out = np.zeros(len(self.tree))
        np.maximum.at(out, self.tree.locate(X), worst)
        return out

    def _where(self, found: Attempt) -> Where:
        """The points that accept, and some in every cell."""
        space, where = found.space, self.bench.where
        assert isinstance(space, Cells)
        boxes = self._frames(space.tree)
        X = self._spread_in(boxes, 8, 11)
        singular = np.flatnonzero(self._singular)
        corners = self._places[singular]
        X = np.concatenate([X, corners + _BESIDE * (boxes[singular].mean(axis=2) - corners)])
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
        few = bool(np.count_nonzero(indicator >= mark) < _FEW * len(indicator))
        more: set[int] = set()
        done = [(0.0, 1)]

        def division(number: int, box: Array) -> Node:
            if indicator[number] < mark:
                return None
            mine = along[number]
            axes = [i for i in range(len(box)) if mine[i] >= share * mine.max()]
            singular = bool(self._singular[number])
            levels = self._levels(float(indicator[number]) / limit, few, singular)
            if singular and not self._at_corner[number]:
                levels = min(levels, _SHALLOW)
            done.append((float(indicator[number]), levels))
            if singular:
                axes = list(range(len(box)))
            elif levels == 1 and indicator[number] < _ROUGH:
                missing = math.log10(float(indicator[number]) / limit)
                falls = self._steepness(found, number, box, along) / degree_in(sized.nodes[number], len(box))
                if sized.wants_more(number, mine, axes, falls, missing):
                    more.add(number)
                    return None
            return graded(self._framed_as(box), axes, self._places[number], levels)

        divided = sized.divided(division)
        self._halvings = max(done)[1]
        where = {int(i): n for n, i in enumerate(sized.tree.locate(divided.tree.boxes.mean(axis=2)))}
        return divided.raised({where[i] for i in more})

    def _steepness(self, found: Attempt, number: int, box: Array, along: Array) -> float:
        """Digits that the spectrum of a cell would fall over all degrees, along its worst axis."""
        space = found.space
        assert isinstance(space, Cells)
        own = found.w[space.starts[number] : space.starts[number + 1]]
        part, w = bare(space.parts[number]), bared(space.parts[number], own)
        falls = fall(part, w, self._framed_as(box), self.bench.lowered.unknowns)
        return float(falls[:, int(np.argmax(along[number]))].min()) * degree_in(part.nodes, len(box))

    def _levels(self, excess: float, few: bool, singular: bool) -> int:
        """How often to halve a cell at once: where halving gains little, the solution is singular there.

        Where few cells are left, to go on towards one place costs next to nothing.
        """
        if singular:
            if self._rounds > 1 and self._per_halving > 0.5 * _SMOOTH:
                return 1
            wanted = math.log10(max(excess, 1.0)) / max(self._per_halving, 0.1)
            return int(min(max(wanted, 1.0), _DEEP if self._rounds > 2 else 2))
        if few and excess > 10.0:
            return 3
        assert self._last is not None
        if self._rounds < 3 or self._rate > _SMOOTH or self._last[2] > _ROUGH:
            return 1
        return int(min(max(0.5 * math.log10(max(excess, 1.0)) / max(self._rate, 0.3), 1.0), 4.0))


def _strength(
    equations: LoweredProblem, name: str, X: Array, space: Cells, w: Array, half: Array, n: int, scales: Array
) -> Array:
    """How much a change of the unknowns by their sizes over a cell changes an equation there."""
    r = next(r for r in equations.residuals if r.name == name)
    normals, data = np.zeros_like(X), r.known_data(X)
    values = space.values((X,), r.nonlinear, w)
    weights = np.concatenate([r.coefficients(X, normals, data), r.partials(X, normals, data, values)])
    out = np.zeros(len(half))
    for jet, c in zip((*r.linear, *r.nonlinear), weights, strict=True):
        size = np.nan_to_num(np.abs(c)).reshape(-1, n).max(axis=1) * scales[jet.unknown]
        out = np.maximum(out, size / np.prod(half ** np.array(jet.alpha), axis=1))
    return np.where(out > 0, out, np.inf)
