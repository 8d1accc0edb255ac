r"""λ(κ) with Re λ ≈ 0, Im λ → ∞: kinks that travel, and are followed as they are.

Heat smooths what its beginning does not fit; waves carry it along for ever. No cell is small enough for a
kink that goes everywhere. It is followed in cells of one size, or in many waves, in windows that resolve as
much in time as these do in space; the same with twice as much of everything says how far that holds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from pibls.search.beginning import Beginning, State
from pibls.search.chain import Places
from pibls.search.followed import Followed, Window
from pibls.search.grading import Grading
from pibls.search.newton import NoWindowError, Past, WindowSolver
from pibls.search.resolution import Resolution, waves_from
from pibls.search.tails import spectra, tails_of
from pibls.search.thresholds import LINES
from pibls.solver.stages import stages
from pibls.space import Node, crossed
from pibls.system.lines import Lines


def travels(places: Places, state: State, lines: Lines) -> bool:
    """Whether short waves of a line move and do not fade: from the coefficients at the start, their means."""
    e = places.evolution
    if len(places.free) > 1:
        return False
    rates = [r[..., None] for r in state.rates]
    rates += [np.zeros_like(rates[0])] * (lines.highest + 1 - len(rates))
    weights = lines.at(np.array([e.start])).slopes(rates).weights
    half = 0.5 * float(np.ptp(places.bench.box[places.free[0]]))
    kappa = 0.5 * np.pi * LINES.most_waves / half
    k = lines.unknowns
    A = np.zeros((lines.highest + 1, k, k), dtype=complex)
    for row, (g, W) in enumerate(zip(lines.groups[:k], weights, strict=False)):
        for (_, unknown, alpha, a), w in zip(g.terms, W.mean(axis=1), strict=True):
            A[a, row, unknown] += w * (1j * kappa) ** alpha[0]
    roots = _roots(A)
    total = abs(e.stop - e.start)
    return bool(np.any((roots.real > -LINES.fades / total) & (np.abs(roots.imag) > LINES.fades / total)))


def _roots(A: np.ndarray) -> np.ndarray:
    """λ with det Σ λ^a A_a = 0, where they are finite."""
    from scipy.linalg import eigvals

    m, k = len(A) - 1, A.shape[1]
    size = np.abs(A).max()
    left, right = np.eye(m * k, dtype=complex), np.eye(m * k, dtype=complex)
    left[:] = 0.0
    for a in range(m - 1):
        left[a * k : (a + 1) * k, (a + 1) * k : (a + 2) * k] = np.eye(k)
    for a in range(m):
        left[-k:, a * k : (a + 1) * k] = -A[a] / size
    right[-k:, -k:] = A[m] / size
    found = eigvals(left, right)
    return np.asarray(found[np.isfinite(found)])


@dataclass
class RoughFollower:
    """Follows kinks at one resolution."""

    places: Places
    functions: int
    moments: int
    tail: float
    check: Callable[[float, int, int], None]
    steps: int = 0
    done: list[Window] = field(default_factory=list)
    _level: float = 0.0

    @cached_property
    def _grading(self) -> Grading:
        return Grading(self.places)

    def _resolution(self, times: int) -> Resolution:
        first = self._grading.first(self.functions, True)
        if all(first.repeated):
            return Resolution(first.tree, (waves_from(times * LINES.rough_waves),), first.repeated)
        axis = self.places.free[0]

        def division(number: int, box: np.ndarray) -> Node:
            return crossed([(axis, float(box[axis].mean()))])

        tree = first.tree
        while len(tree) < times * LINES.rough_cells:
            tree = tree.refine(division)
        return Resolution(tree, first.sizes, first.repeated)

    def run(self) -> Followed:
        """All windows."""
        e = self.places.evolution
        total, sign = abs(e.stop - e.start), 1.0 if e.forward else -1.0
        state, lines, solver = self._begun(1)
        found = state.resolution
        self._level = max(self.tail, LINES.rough_level * float(spectra(found, state.rates).max()))
        t, h, sizes = e.start, 0.02 * total, np.zeros(lines.unknowns)
        past: Past | None = None
        stopped, least = None, total / LINES.rough_windows
        while sign * (e.stop - t) > 1e-14 * total:
            self.check(t, len(self.done), len(found.tree))
            end = min(self._ends(), key=lambda x: (sign * (x - t) <= 1e-13 * total, abs(x - t)))
            left = sign * (end - t)
            h = min(h, left) if not h < left < 1.6 * h else 0.5 * left
            stop = end if h >= left else t + sign * h
            if h < LINES.shortest * total:
                stopped = "no window is short enough"
                break
            try:
                U, after = solver.solve(lines, state, past, t, stop, sizes)
            except NoWindowError:
                h *= 0.4
                continue
            new = solver.past(state, U, t, stop)
            along, across, mine = tails_of(self.places, found, U, new.series, sizes)
            self._level = max(self._level, LINES.rough_level * float(across.max()))
            if not along <= self._level and h > 1.001 * least:
                h = max(h * min(max(0.85 * (self._level / along) ** (1.0 / self.moments), 0.3), 0.8), least)
                continue
            sizes = np.maximum(sizes, mine)
            past, state = new, State(found, after)
            self.done.append(solver.window(new))
            if along < 0.1 * self._level:
                h *= 1.5
            t = stop
        self.steps += solver.steps
        return Followed(tuple(self.done), e, stopped, self.steps, len(self.done))

    def replay(self, followed: Followed) -> Followed:
        """The same with twice as many functions, in windows half as long."""
        e = self.places.evolution
        state, lines, solver = self._begun(2)
        sizes = np.zeros(lines.unknowns)
        past: Past | None = None
        done: list[Window] = []
        for t, stop in _halves(followed):
            ends, halvings = [stop], 0
            while ends:
                self.check(t, -1, len(state.resolution.tree))
                try:
                    U, after = solver.solve(lines, state, past, t, ends[-1], sizes)
                except NoWindowError:
                    halvings += 1
                    if halvings > LINES.halvings:
                        return Followed(tuple(done), e, "the second solution was lost", self.steps, 0)
                    ends.append(0.5 * (t + ends[-1]))
                    continue
                past, state = solver.past(state, U, t, ends[-1]), State(state.resolution, after)
                done.append(solver.window(past))
                t = ends.pop()
        return Followed(tuple(done), e, followed.stopped, self.steps, 0)

    def _begun(self, times: int) -> tuple[State, Lines, WindowSolver]:
        state = Beginning(self.places).at(self._resolution(times))
        solver = WindowSolver(self.places, stages(self.moments), max(self._level, self.tail))
        return state, self.places.lines(state.resolution), solver

    def _ends(self) -> set[float]:
        """Where windows end: where something jumps, and at the end of all time."""
        e, faces = self.places.evolution, self.places.bench.lowered.interfaces
        return {e.stop, *(level for axis, level in faces.planes if axis == e.axis)}


def _halves(followed: Followed) -> Iterator[tuple[float, float]]:
    for window in followed.windows:
        middle = 0.5 * (window.start + window.stop)
        yield window.start, middle
        yield middle, window.stop
