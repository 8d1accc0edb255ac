r"""λ(κ) with Re λ ≈ 0, Im λ → ∞: kinks that travel, and are followed as they are.

Heat smooths what its beginning does not fit; waves carry it along for ever. No cell is small enough for a
kink that goes everywhere. It is followed in cells of one size, or in many waves, in windows that resolve as
much in time as these do in space; the same with twice as much of everything says how far that holds.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from pibls.adaptive.evolutions.grading import Grading
from pibls.adaptive.evolutions.initial_state import Beginning, State
from pibls.adaptive.evolutions.line_mesh import Places
from pibls.adaptive.evolutions.newton import Past, WindowSolver
from pibls.adaptive.evolutions.resolution import Resolution, waves_from
from pibls.adaptive.evolutions.tails import spectra, tails_of
from pibls.adaptive.evolutions.time_stepping import SHORT, March, NoWindowError
from pibls.adaptive.evolutions.trajectory import Followed, Window
from pibls.adaptive.thresholds import LINES, MARCH
from pibls.adaptive.validation.context import Bench
from pibls.arrays import Array
from pibls.assembly.evolutions.lines import Lines
from pibls.nonlinear.stages import stages
from pibls.spaces import Node, crossed


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
    turns = _roots(A) * (e.stop - e.start)  # in all the time, towards its end
    return bool(np.any((turns.real > -LINES.fades) & (np.abs(turns.imag) > LINES.fades)))


def _roots(A: np.ndarray) -> np.ndarray:
    """λ with det Σ λ^a A_a = 0, where they are finite."""
    from scipy.linalg import eigvals

    m, k = len(A) - 1, A.shape[1]
    # In units of their own size: λ² = -1e15 from entries of 1 and 1e15 was no root at all.
    sizes = np.abs(A).max(axis=(1, 2))
    unit = (sizes[0] / sizes[m]) ** (1.0 / m) if m and sizes[0] > 0 and sizes[m] > 0 else 1.0
    A = A * unit ** np.arange(m + 1.0)[:, None, None]
    size = np.abs(A).max()
    left, right = np.eye(m * k, dtype=complex), np.eye(m * k, dtype=complex)
    left[:] = 0.0
    for a in range(m - 1):
        left[a * k : (a + 1) * k, (a + 1) * k : (a + 2) * k] = np.eye(k)
    for a in range(m):
        left[-k:, a * k : (a + 1) * k] = -A[a] / size
    right[-k:, -k:] = A[m] / size
    found = eigvals(left, right)
    return np.asarray(unit * found[np.isfinite(found)])


@dataclass(frozen=True)
class _Begun:
    """Where a window begins, with the window before; rows and solver are the same for all."""

    state: State
    lines: Lines
    solver: WindowSolver
    past: Past | None = None

    def after(self, past: Past, rates: Array) -> _Begun:
        return replace(self, state=State(self.state.resolution, rates), past=past)

    def solved(self, t: float, stop: float, sizes: Array) -> tuple[Array, Array, Past]:
        """Values at the moments, the next beginning and the window."""
        U, rates = self.solver.solve(self.lines, self.state, self.past, t, stop, sizes)
        return U, rates, self.solver.past(self.state, U, t, stop)


@dataclass
class RoughFollower(March[_Begun, None]):
    """Follows kinks at one resolution."""

    places: Places
    functions: int
    moments: int
    tail: float
    halves = True
    _level: float = 0.0
    _solver: WindowSolver | None = None

    @property
    def of(self) -> Bench:
        return self.places.bench

    @property
    def effort(self) -> int:
        return 0 if self._solver is None else self._solver.steps

    def _cells(self, begun: _Begun) -> int:
        return len(begun.state.resolution.tree)

    def _resolution(self, times: int) -> Resolution:
        first = Grading(self.places).first(self.functions, True)
        if all(first.repeated):
            return Resolution(first.tree, (waves_from(times * LINES.most_waves),), first.repeated)
        axis = self.places.free[0]

        def division(number: int, box: np.ndarray) -> Node:
            return crossed([(axis, float(box[axis].mean()))])

        tree = first.tree
        while len(tree) < times * LINES.rough_cells:
            tree = tree.refine(division)
        return Resolution(tree, first.sizes, first.repeated)

    def _begun(self) -> tuple[_Begun, float]:
        begun = self._start(1)
        left = spectra(begun.state.resolution, begun.state.rates)
        self._level = max(self.tail, LINES.rough_level * float(left.max()))
        return begun, MARCH.first * self.course.total

    def _start(self, times: int) -> _Begun:
        state = Beginning(self.places).at(self._resolution(times))
        self._solver = WindowSolver(self.places, stages(self.moments), max(self._level, self.tail))
        lines = self.places.lines(state.resolution)
        self._sizes = np.zeros(lines.unknowns)
        return _Begun(state, lines, self._solver)

    def _window(self, begun: _Begun, t: float, h: float) -> tuple[Window, _Begun, float] | str:
        least = self.course.total / LINES.rough_windows
        while (stop := self.course.reached(t, h)) is not None:
            self.tries += 1
            self.check(t, -1, self._cells(begun))
            try:
                U, rates, new = begun.solved(t, stop, self._sizes)
            except NoWindowError:
                h = self.course.fitted(t, 0.4 * h)
                continue
            along, across, mine = tails_of(self.places, new.resolution, U, new.series, self._sizes)
            self._level = max(self._level, LINES.rough_level * float(across.max()))
            if not along <= self._level and h > 1.001 * least:
                factor = min(max(0.85 * (self._level / along) ** (1.0 / self.moments), 0.3), 0.8)
                h = self.course.fitted(t, max(h * factor, least))
                continue
            self._sizes = np.maximum(self._sizes, mine)
            return (
                begun.solver.window(new),
                begun.after(new, rates),
                h * (1.5 if along < 0.1 * self._level else 1.0),
            )
        return SHORT

    def _others(self, followed: Followed) -> Iterator[tuple[float, float, None]]:
        """With twice as many functions, in windows half as long."""
        for window in followed.windows:
            middle = 0.5 * (window.start + window.stop)
            yield window.start, middle, None
            yield middle, window.stop, None

    def _given(self, begun: _Begun | None, t: float, stop: float, chosen: None) -> tuple[Window, _Begun]:
        begun = self._start(2) if begun is None else begun
        _, rates, new = begun.solved(t, stop, self._sizes)
        return begun.solver.window(new), begun.after(new, rates)
