r"""u over (t₀, t₁), then over (t₁, t₂), …: an ordinary differential equation, one short window after another.

A window must cost next to nothing: all of them share one set of points and tables
(`basis.polynomials.radau`), and a window is Newton's method for a few dozen numbers (`solver.collocation`).
Its length follows from how far the Chebyshev coefficients of the solution have fallen in it; it is accepted
when they and the residual between the points are small. A window that was too long is where the shorter one
starts from.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from pibls.adaptive.evolution import Evolution
from pibls.adaptive.evolutions.time_stepping import SHORT, Course, follow, left_by_newton
from pibls.adaptive.evolutions.trajectory import Demand
from pibls.adaptive.ode.initial import InitialValues, Kick
from pibls.adaptive.thresholds import MARCH, ORBITS
from pibls.arrays import Array
from pibls.assembly.evolutions.line import Line
from pibls.basis.polynomials.chebyshev import ChebyshevBasis
from pibls.basis.polynomials.radau import Radau
from pibls.caching import cached_property
from pibls.nonlinear.collocation import Collocation, OrbitPiece, Settled
from pibls.spaces import Whole, Windows


@dataclass(frozen=True)
class OrbitWindow:
    """One accepted window: its piece, and the Chebyshev coefficients (unknowns, size) group by group."""

    piece: OrbitPiece
    coefficients: Array
    stop: float


@dataclass(frozen=True)
class Path:
    """An orbit as far as it could be followed."""

    evolution: Evolution
    line: Line
    size: int
    steps: tuple[OrbitWindow, ...]
    stopped: str | None
    """Why it ends before its time, if it does."""
    effort: int = 0
    """Steps of Newton's method."""
    sizes: Array = field(default_factory=lambda: np.empty(0), repr=False)

    @property
    def until(self) -> float:
        return self.steps[-1].stop

    @property
    def edges(self) -> Array:
        """Where windows begin and end, in the order of time."""
        return np.array([*(s.piece.start for s in self.steps), self.until])

    def function(self) -> tuple[Windows, Array]:
        """All windows as one function."""
        return function_of(self.edges, self.line, np.array([s.coefficients for s in self.steps]))


def function_of(edges: Array, line: Line, coefficients: Array) -> tuple[Windows, Array]:
    """Polynomials with the coefficients (windows, unknowns group by group, size) between edges."""
    size = coefficients.shape[2]
    order = np.argsort([k for g in line.groups for k in g.unknowns])
    C = coefficients[:, order]
    if edges[-1] < edges[0]:
        # Followed backwards: the same polynomials of -ξ.
        edges, C = edges[::-1], C[::-1] * (-1.0) ** np.arange(size)
    low, high = edges[:-1], edges[1:]
    centres, halves = 0.5 * (low + high)[:, None], 0.5 * (high - low)[:, None]
    bases = (ChebyshevBasis(size, c, h) for c, h in zip(centres, halves, strict=True))
    unknowns = C.shape[1]
    return Windows(0, tuple(edges.tolist()), tuple(Whole.shared(b, unknowns) for b in bases)), C.ravel()


Held = tuple[tuple[Array, ...], OrbitPiece | None]
"""u and its derivatives below the highest, group by group, and the last window."""


@dataclass
class Orbit:
    """Follows an orbit from its start to its end."""

    evolution: Evolution
    collocation: Collocation
    beginning: InitialValues
    asked: Demand
    check: Callable[[float, int], None] = lambda t, windows: None
    """Called with t and the number of windows before each attempt; raises to stop."""
    watched: Array = field(default_factory=lambda: np.empty(0))
    """Times at which the data are extreme: a pulse between the points of a window is looked for there."""
    kicks: tuple[Kick, ...] = ()
    """Where something switches, with the jumps that come with it."""
    effort: int = 0
    _sizes: Array = field(default_factory=lambda: np.empty(0))
    _natural: Array = field(default_factory=lambda: np.empty(0))
    _done: list[OrbitWindow] = field(default_factory=list)

    @property
    def _radau(self) -> Radau:
        return self.collocation.radau

    @property
    def _scale(self) -> Array:
        """What each unknown is measured against."""
        scale = np.maximum(self._sizes, self._natural)
        return np.where(scale > 0, scale, scale.max() or 1.0)

    @cached_property
    def course(self) -> Course:
        e, kicks = self.evolution, tuple(k.t for k in self.kicks)
        return Course(e.start, e.stop, kicks, even=1.4)

    def run(self) -> Path:
        """All windows; where it cannot go on, those until there."""
        state = self.beginning.state
        self._sizes = np.concatenate([np.abs(s[:, :1]).max(axis=1, initial=0.0) for s in state])
        self._natural = np.zeros_like(self._sizes)
        held: Held = state, None
        begun = held, self._first_length(state, self.evolution.start)
        return self._path(follow(self.course, begun, self._next, self._done, lambda t, held: None))

    def _next(self, held: Held, t: float, length: float) -> tuple[OrbitWindow, Held, float] | str:
        """One window; where something switches at its end, what comes after is begun anew."""
        found = self._window(*held, t, length)
        if isinstance(found, str):
            return found
        step, settled, length = found
        state = self._end(settled)
        for kick in self.kicks:
            if kick.t == step.stop:
                state = kick.after(state, settled)
                return step, (state, None), self._first_length(state, step.stop)
        return step, (state, step.piece), length

    def partial(self, why: str) -> Path | None:
        """What was followed until an interruption."""
        return self._path(why) if self._done else None

    def _path(self, stopped: str | None) -> Path:
        line = self.collocation.line
        size = self._radau.size
        return Path(self.evolution, line, size, tuple(self._done), stopped, self.effort, self._scale)

    def _end(self, settled: Settled) -> tuple[Array, ...]:
        """u⁽ʲ⁾ below the order at the end of a window."""
        last = self._radau.s - 1
        out = []
        for g in self.collocation.line.groups:
            U = settled.U[g.rows, last].reshape(-1, g.order + 1)
            out.append(U[:, : g.order])
        return tuple(out)

    def _first_length(self, state: tuple[Array, ...], start: float) -> float:
        """A length over which the solution hardly changes, from its rates in a tiny window."""
        total, sign = self.course.total, self.course.sign
        tiny = ORBITS.first * total
        settled = self._settle(self._guess(state, None, start, 0.5 * sign * tiny))
        if settled is None:
            return 1e-3 * total
        self._natural = np.maximum(self._natural, settled.natural)
        lengths = [total]
        for g in self.collocation.line.groups:
            rates = np.abs(settled.U[g.rows]).max(axis=1).reshape(len(g.unknowns), g.order + 1)
            for rate, size in zip(rates, self._scale[g.columns], strict=True):
                # What is zero at the start is in a tiny window what the next derivative makes of it.
                own = [max(rate[0], size), *rate[1:]]
                after = [*(10.0 * tiny * r for r in rate[1:]), 0.0]
                known = [(j, r) for j, r in enumerate(own) if r > after[j]]
                lengths += [(a / b) ** (1.0 / (k - j)) for (j, a), (k, b) in pairwise(known)]
        # Newton's method may find what is none in a window that is too long; a linear system does not.
        careful = 1.0 if self.collocation.line.is_linear else ORBITS.careful
        return float(max(careful * min(lengths), 1e-7 * total))

    def _window(
        self, state: tuple[Array, ...], last: OrbitPiece | None, t: float, length: float
    ) -> tuple[OrbitWindow, Settled, float] | str:
        """One accepted window and the length for the next; or why there is none."""
        before: tuple[float, float] | None = None
        probed: tuple[float, float] | None = None
        easing = 1.0
        rejected: OrbitPiece | None = None
        most = MARCH.growth
        while True:
            self.check(t, len(self._done))
            stop = self.course.reached(t, length)
            if stop is None:
                return SHORT
            half = 0.5 * (stop - t)
            begun = (
                self._guess(state, last, t, half) if rejected is None else self._within(state, rejected, half)
            )
            settled, rejected = self._settle(begun), None
            if settled is None:
                length, most = length * ORBITS.failed, 1.0
                continue
            coefficients, relative, sizes = self._spectrum(settled)
            first = int(ORBITS.tail_from * self._radau.s)
            tail = float(relative[first])
            residual = self._residual(settled)
            if not (math.isfinite(tail) and math.isfinite(residual)):
                length, most = length * ORBITS.failed, 1.0
                continue
            asked = Demand(ORBITS.spare * easing * self.asked.tail, easing * self.asked.residual)
            if tail <= asked.tail and residual <= asked.residual:
                self._sizes = sizes
                self._natural = np.maximum(self._natural, settled.natural)
                factor = self._factor(relative, residual, easing)
                step = OrbitWindow(settled.piece, coefficients, stop)
                told = 0.0 if probed is None else float(self._told(settled).max())
                if probed is not None and 0.3 * probed[0] * asked.residual < told < ORBITS.rounding:
                    # Next to its terms it is as large as before: rounding, which a short window hides.
                    return step, settled, probed[1]
                return step, settled, length * min(factor, most)
            worst = max(tail / asked.tail, residual / asked.residual)
            # Where a much shorter window does not help either, what is left is rounding; a bend or a jump
            # that the solution passes falls with the length.
            if before is not None and worst > 0.3 * before[0] and length <= 0.75 * before[1]:
                if length > ORBITS.probe * before[1]:
                    before = probed = (worst, length)
                    length, rejected = 0.8 * ORBITS.probe * length, settled.piece
                    continue
                if worst * max(self.asked.tail, 1e-13) < ORBITS.rounding:
                    easing *= 3.0 * worst
                    if easing < MARCH.hopeless:
                        rejected = settled.piece
                        continue
            if before is None or length <= 0.75 * before[1] or worst <= 0.3 * before[0]:
                before = (worst, length)  # a little shorter says nothing
            share = MARCH.safe * worst ** (-1.0 / (ORBITS.tail_from * self._radau.s))
            length, rejected = length * share, settled.piece

    def _settle(self, piece: OrbitPiece) -> Settled | None:
        tolerance = left_by_newton(self.asked.tail)
        settled = self.collocation.settle(piece, self._scale, tolerance)
        if settled is not None:
            self.effort += settled.steps
        return settled

    def _spectrum(self, settled: Settled) -> tuple[Array, Array, Array]:
        """The coefficients, their largest from each degree on relative to their unknown, and the sizes."""
        line, r = self.collocation.line, self._radau
        pairs = list(zip(line.groups, settled.piece.z, strict=True))
        C = np.concatenate([z @ r.coefficients[g.order] for g, z in pairs])
        U = np.concatenate([settled.U[g.rows][:: g.order + 1] for g in line.groups])
        sizes = np.maximum(self._sizes, np.abs(U).max(axis=1))
        scale = np.maximum(np.maximum(sizes, settled.natural), self._natural)
        scale = np.where(scale > 0, scale, scale.max() or 1.0)
        largest = (np.abs(C) / scale[:, None]).max(axis=0)
        return C, np.maximum.accumulate(largest[::-1])[::-1], sizes

    def _residual(self, settled: Settled) -> float:
        """The largest residual between the points next to its terms.

        Or next to what it can do: where a spring changes as the mass passes its middle, every term vanishes
        there and the residual does not, but in a short window it moves nothing.
        """
        felt = self._between(settled) / np.where(settled.felt > 0, settled.felt, 1.0)
        return float(np.minimum(self._told(settled), felt * (self.asked.residual / self.asked.tail)).max())

    def _told(self, settled: Settled) -> Array:
        """The residual of each equation next to its terms."""
        sizes = self._between(settled)
        known = np.where(settled.terms > 0, settled.terms, sizes)
        return np.asarray(sizes / np.where(known > 0, known, 1.0))

    def _between(self, settled: Settled) -> Array:
        """The residual of each equation between the points, and where the data are extreme."""
        F = settled.residual[:, self._radau.s :]
        sizes = np.sqrt(np.einsum("en,en->e", F, F) / F.shape[1])
        if len(self.watched):
            sizes = np.maximum(sizes, self.collocation.largest_at(self.watched, settled.piece))
        return np.asarray(sizes)

    def _factor(self, relative: Array, residual: float, easing: float) -> float:
        """How much longer the next window may be: a coefficient of degree j grows as the length to the j."""
        first = int(ORBITS.tail_from * self._radau.s)
        aim = easing * self.asked.tail
        reached = max(int(np.argmax(relative <= aim)), 3)
        factor = MARCH.safe * aim ** (1.0 / first - 1.0 / reached)
        return float(min(factor, (easing * self.asked.residual / max(residual, 1e-300)) ** (1.0 / first)))

    def _guess(self, state: tuple[Array, ...], last: OrbitPiece | None, t: float, half: float) -> OrbitPiece:
        """The highest derivatives as they are at the end of the last window."""
        z = []
        for i, g in enumerate(self.collocation.line.groups):
            begun = state[i] * half ** np.arange(float(g.order))
            eta = np.zeros((len(g.unknowns), self._radau.s))
            if last is not None:
                eta += (half / last.half) ** g.order * last.z[i][:, -1:]
            z.append(np.concatenate([begun, eta], axis=1))
        return OrbitPiece(t, half, tuple(z))

    def _within(self, state: tuple[Array, ...], longer: OrbitPiece, half: float) -> OrbitPiece:
        """The beginning of a longer window."""
        r, z = self._radau, []
        share = half / longer.half
        for i, g in enumerate(self.collocation.line.groups):
            begun = state[i] * half ** np.arange(float(g.order))
            eta = share**g.order * (longer.z[i][:, g.order :] @ r.within(share))
            z.append(np.concatenate([begun, eta], axis=1))
        return OrbitPiece(longer.start, half, tuple(z))
