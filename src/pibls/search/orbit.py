r"""u over (t₀, t₁), then over (t₁, t₂), …: an ordinary differential equation, one short window after another.

What `search.windows` does in space and time, for problems of one coordinate, where a window must cost next to
nothing: all of them share one set of points and tables (`basis.radau`), and a window is Newton's method for a
few dozen numbers (`solver.collocation`). Its length follows from how far the Chebyshev coefficients of the
solution have fallen in it; it is accepted when they and the residual between the points are small. A window
that was too long is where the shorter one starts from.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from pibls.arrays import Array
from pibls.basis.chebyshev import ChebyshevBasis
from pibls.basis.radau import Radau
from pibls.search.evolution import Evolution
from pibls.search.initial import Beginning, Kick
from pibls.solver.collocation import Collocation, Piece, Settled
from pibls.space import Whole, Windows
from pibls.system.line import Line

_TRIES = 80  # of one window
_SHORTEST = 1e-13  # of the whole time, or of t itself
_FIRST = 1e-6  # of the whole time: the window that shows how fast the solution is
_CAREFUL = 0.3
_FROM = 0.75  # of the coefficients: from there on they are the tail
_SAFE = 0.85
_SPARE = 10.0  # times the tail that is aimed at, a window may have
_GROWTH = 3.0  # the longest of two windows in a row over the shorter one
_FAILED = 0.4  # of its length, where Newton's method does not settle
_FAILURES = 2  # after which a window starts from constant derivatives
_LEAST, _MOST = 0.2, 0.9  # of its length, where a window is rejected
_SHRINK = 0.5  # of its length, at least, after one that was accepted
_LEFT = 1e-3  # of what is asked of the coefficients: what Newton's method may leave
_TAYLOR = 3  # derivatives of the highest derivative that a window starts from
_PROBE = 0.05  # of its length: so much shorter is tried before it is called rounding
_FADING = 0.7
_SMALL = 1e-3  # of what is asked of the residual: it may be rounding, and says nothing about the length
_HOPELESS = 1e5
_OVER, _ANYWAY = 2.5, 1.5  # a spectrum that allows so much longer a window makes it so much longer
_ROUNDING = 1e-6


@dataclass(frozen=True)
class Asked:
    """What is asked of each window: the tail of its coefficients and its residual, relative."""

    tail: float
    residual: float


@dataclass(frozen=True)
class Step:
    """One accepted window: its piece, and the Chebyshev coefficients (unknowns, size) group by group."""

    piece: Piece
    coefficients: Array
    stop: float


@dataclass(frozen=True)
class Path:
    """An orbit as far as it could be followed."""

    evolution: Evolution
    line: Line
    size: int
    steps: tuple[Step, ...]
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


@dataclass
class Orbit:
    """Follows an orbit from its start to its end."""

    evolution: Evolution
    collocation: Collocation
    beginning: Beginning
    asked: Asked
    check: Callable[[float, int], None] = lambda t, windows: None
    """Called with t and the number of windows before each attempt; raises to stop."""
    watched: Array = field(default_factory=lambda: np.empty(0))
    """Times at which the data are extreme: a pulse between the points of a window is looked for there."""
    kicks: tuple[Kick, ...] = ()
    """Where something switches, with the jumps that come with it."""
    effort: int = 0
    _sizes: Array = field(default_factory=lambda: np.empty(0))
    _natural: Array = field(default_factory=lambda: np.empty(0))
    _noise: float = 1.0
    """How much more than was asked for is left unresolved: rounding."""
    _done: list[Step] = field(default_factory=list)

    @property
    def _radau(self) -> Radau:
        return self.collocation.radau

    @property
    def _scale(self) -> Array:
        """What each unknown is measured against."""
        scale = np.maximum(self._sizes, self._natural)
        return np.where(scale > 0, scale, scale.max() or 1.0)

    def run(self) -> Path:
        """All windows; where it cannot go on, those until there."""
        e = self.evolution
        total, sign = abs(e.stop - e.start), 1.0 if e.forward else -1.0
        state = self.beginning.state
        self._sizes = np.concatenate([np.abs(s[:, :1]).max(axis=1, initial=0.0) for s in state])
        self._natural = np.zeros_like(self._sizes)
        kicks = sorted(self.kicks, key=lambda k: sign * k.t)
        t, last, stopped = e.start, None, None
        length = self._first_length(state, total, sign)
        while sign * (e.stop - t) > 1e-14 * total:
            while kicks and sign * (kicks[0].t - t) <= 1e-13 * total:
                kicks.pop(0)
            end = kicks[0].t if kicks else e.stop
            found = self._window(state, last, t, length, end, total)
            if isinstance(found, str):
                stopped = found
                break
            step, settled, length = found
            self._done.append(step)
            t, last = step.stop, step.piece
            state = self._end(settled)
            if kicks and t == kicks[0].t:
                state, last = kicks[0].after(state, settled), None
                length = self._first_length(state, total, sign, t)
        return self._path(stopped)

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

    def _first_length(
        self, state: tuple[Array, ...], total: float, sign: float, t: float | None = None
    ) -> float:
        """A length over which the solution hardly changes, from its rates in a tiny window."""
        start = self.evolution.start if t is None else t
        tiny = _FIRST * total
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
        careful = 1.0 if self.collocation.line.is_linear else _CAREFUL
        return float(max(careful * min(lengths), 1e-7 * total))

    def _window(
        self, state: tuple[Array, ...], last: Piece | None, t: float, length: float, end: float, total: float
    ) -> tuple[Step, Settled, float] | str:
        """One accepted window and the length for the next; or why there is none."""
        sign = 1.0 if end > t else -1.0
        left = abs(end - t)
        length = min(length, left)
        if length < left < 1.4 * length:
            length = 0.5 * left
        before: tuple[float, float] | None = None
        probed: tuple[float, float] | None = None
        easing = max(1.0, _FADING * self._noise)
        rejected: Piece | None = None
        most, failures = _GROWTH, 0
        for _ in range(_TRIES):
            self.check(t, len(self._done))
            if length < max(_SHORTEST * total, 4e-16 * abs(t)):
                return "no window is short enough"
            stop = t + sign * length
            if sign * (end - stop) < 1e-12 * total:
                stop = end
            half = 0.5 * (stop - t)
            settled = None
            if rejected is not None:
                settled = self._settle(self._within(state, rejected, half))
            else:
                # Far from where it is known a Taylor polynomial may be where the equation has no value.
                order = _TAYLOR if failures < _FAILURES else 0
                settled = self._settle(self._guess(state, last, t, half, order))
            rejected = None
            if settled is None:
                length, most, failures = length * _FAILED, 1.0, failures + 1
                continue
            coefficients, relative, sizes = self._spectrum(settled)
            first = int(_FROM * self._radau.s)
            tail = float(relative[first])
            residual = self._residual(settled)
            if not (math.isfinite(tail) and math.isfinite(residual)):
                length, most = length * _FAILED, 1.0
                continue
            asked = Asked(_SPARE * easing * self.asked.tail, easing * self.asked.residual)
            if tail <= asked.tail and residual <= asked.residual:
                self._sizes, self._noise = sizes, easing
                self._natural = np.maximum(self._natural, settled.natural)
                factor = self._factor(relative, residual, easing)
                step = Step(settled.piece, coefficients, stop)
                told = 0.0 if probed is None else float(self._told(settled).max())
                if probed is not None and 0.3 * probed[0] * asked.residual < told < _ROUNDING:
                    # Next to its terms it is as large as before: rounding, which a short window hides.
                    self._noise = max(easing, 3.0 * told / self.asked.residual)
                    return step, settled, probed[1]
                return step, settled, length * min(max(factor, _SHRINK), most)
            worst = max(tail / asked.tail, residual / asked.residual)
            # Where a much shorter window does not help either, what is left is rounding; a bend or a jump
            # that the solution passes falls with the length.
            if before is not None and worst > 0.3 * before[0] and length <= 0.75 * before[1]:
                if length > _PROBE * before[1]:
                    before = probed = (worst, length)
                    length, rejected = 0.8 * _PROBE * length, settled.piece
                    continue
                if worst * max(self.asked.tail, 1e-13) < _ROUNDING:
                    easing *= 3.0 * worst
                    if easing < _HOPELESS:
                        rejected = settled.piece
                        continue
            if before is None or length <= 0.75 * before[1] or worst <= 0.3 * before[0]:
                before = (worst, length)  # a little shorter says nothing
            share = _SAFE * worst ** (-1.0 / (_FROM * self._radau.s))
            length, rejected = length * min(max(share, _LEAST), _MOST), settled.piece
        return "no window was accepted"

    def _settle(self, piece: Piece) -> Settled | None:
        tolerance = max(_LEFT * self.asked.tail, 1e-15)
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
        first = int(_FROM * self._radau.s)
        aim = easing * self.asked.tail
        reached = max(int(np.argmax(relative <= aim)), 3)
        factor = _SAFE * aim ** (1.0 / first - 1.0 / reached)
        if residual < _SMALL * self.asked.residual:
            return float(factor)
        limit = (easing * self.asked.residual / residual) ** (1.0 / first)
        # A residual that the spectrum knows nothing of is that of rounding, and of no length.
        return float(max(min(factor, limit), _ANYWAY if factor > _OVER else 0.0))

    def _guess(
        self, state: tuple[Array, ...], last: Piece | None, t: float, half: float, order: int = _TAYLOR
    ) -> Piece:
        """The Taylor polynomial of the highest derivatives at the end of the last window."""
        r, z = self._radau, []
        for i, g in enumerate(self.collocation.line.groups):
            begun = state[i] * half ** np.arange(float(g.order))
            eta = np.zeros((len(g.unknowns), r.s))
            if last is not None:
                ratio = half / last.half
                eta = ratio**g.order * (last.z[i][:, g.order :] @ r.beyond(ratio, order))
            z.append(np.concatenate([begun, eta], axis=1))
        return Piece(t, half, tuple(z))

    def _within(self, state: tuple[Array, ...], longer: Piece, half: float) -> Piece:
        """The beginning of a longer window."""
        r, z = self._radau, []
        share = half / longer.half
        for i, g in enumerate(self.collocation.line.groups):
            begun = state[i] * half ** np.arange(float(g.order))
            eta = share**g.order * (longer.z[i][:, g.order :] @ r.within(share))
            z.append(np.concatenate([begun, eta], axis=1))
        return Piece(longer.start, half, tuple(z))
