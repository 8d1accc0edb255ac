r"""c(t₀) → c(t₁) → …: an evolution as coefficients in space that move, window after window.

Each window holds the equations at a few moments (`solver.stages`) and points in space (`system.lines`). Its
matrix is taken once, in the middle of what the window goes through, and serves all steps, also those of
later windows as long as the steps contract; a linear evolution whose coefficients rest keeps it altogether.
A window is accepted where its series have fallen in space and in time, and where the equations hold
between the points. Where the beginning contradicts what holds at the sides, cells and windows are graded
towards it, and what comes before the first window that is resolved is not promised.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pibls.arrays import Array
from pibls.linalg.shifted import Shifted
from pibls.search.bench import Bench
from pibls.search.chain import Places, Resolution, coefficients_of
from pibls.search.divided import first_tree
from pibls.search.followed import Demand, Followed, Window
from pibls.solver.stages import Stages, stages
from pibls.space import Node, Space, crossed, graded
from pibls.system.lines import Group, Lines, Moments, Term

SHORT = "no window is short enough"
_TOO_MANY = "more cells would be needed than there may be"
_BEGUN = 1e-3  # of what windows may leave
_ROUNDS = 14  # of divisions until the beginning is resolved
_TRIES = 80  # of one window
_STEPS = 12  # of Newton's method in one window
_CONTRACTION = 0.25  # slower than that, the matrix is taken anew
_SHORTEST = 1e-14  # of the whole time
_MOST_CELLS = 300
_WAVES = 257  # functions of a periodic coordinate, at most
_PRODUCT = 900  # functions in the plane, at most
_SAFE = 0.85
_LONGER = 1.25  # times longer, a window is worth new factors
_MUCH_LONGER = 2.0  # in the plane, where factors are expensive
_NOTHING = 1e-14
_GROWTH = 3.0
_FIRST = 1e-11  # of the whole time: the first window of a beginning that contradicts the sides
_HARD = 6  # tries after which the beginning is taken for one that does not fit
_LAYER = 1e-3  # of the whole time: later than that, a window that is not resolved is none
_HARDEST = 0.05  # of the largest tail: cells that are divided at a beginning that does not fit …
_FORCED = 30  # windows after which what was not smoothed will not be
_LEVELS = 3  # … so often at once
_SMALLEST = 1e-10  # of the domain
_LAST = np.array([0.1, 1.0])  # weights of the last two coefficients in time: the next is smaller still
_SHARE = 0.1  # of what a derivative in space is where a function varies over a cell: rounding is below
_RATIO = 0.2  # of the time since the start: shorter windows are not tried in the layer


@dataclass(frozen=True)
class State:
    """Where a window begins: ∂_t^a of all coefficients, (rates, cells, unknowns, n)."""

    resolution: Resolution
    rates: Array


@dataclass
class Factors:
    """The factored matrix of a window, for those that follow."""

    resolution: Resolution
    h: float
    weights: list[Array]
    solver: Shifted


class _NoWindowError(Exception):
    """The equations of a window were not solved."""


@dataclass
class LineFollower:
    """Follows an evolution from its start to its end."""

    bench: Bench
    demand: Demand
    places: Places
    functions: int
    """Of a cell on a line."""
    moments: int
    check: Callable[[float, int, int], None] = lambda t, windows, cells: None
    steps: int = 0
    tries: int = 0
    rough: float | None = None
    promised: float | None = None
    """From when on anything is promised, where the beginning contradicts what holds at the sides."""
    shadowed: LineFollower | None = None
    """Who made the first solution."""
    resolutions: list[Resolution] = field(default_factory=list)
    """Those of the windows."""
    waves: bool = True
    """Whether periodic coordinates have waves instead of cells."""
    _sizes: Array = field(default_factory=lambda: np.empty(0))
    _noise: float = 1.0
    _done: list[Window] = field(default_factory=list)
    _made: dict[Any, tuple[Lines, Lines]] = field(default_factory=dict)
    _factors: Factors | None = None

    @property
    def _stages(self) -> Stages:
        return stages(self.moments)

    @property
    def _evolution(self) -> Any:
        return self.bench.evolution

    def run(self) -> Followed:
        """All windows; where it cannot go on, those until there."""
        found = self._run() if not any(self.places.repeated) or self._is_smooth() else None
        if found is None or (found.stopped == _TOO_MANY and any(self.places.repeated)):
            self.waves, self.promised, self._factors = len(self.places.free) > 1, None, None
            found = self._run()
        return found

    def _is_smooth(self) -> bool:
        """Whether the beginning is smooth all round, where it should repeat itself."""
        if len(self.places.free) > 1:
            return True
        first = self._first()
        most = Resolution(first.tree, (_WAVES,), first.repeated)
        state = self._begin(most)
        size = float(np.abs(state.rates).max())
        return float(np.abs(state.rates[..., -4:]).max()) <= self.demand.tail * size

    def _run(self) -> Followed:
        e = self._evolution
        total, sign = abs(e.stop - e.start), 1.0 if e.forward else -1.0
        self._sizes = np.zeros(self.bench.lowered.unknowns)
        done = self._done = []
        self.resolutions = []
        breaks = sorted(level for axis, level in self.bench.lowered.interfaces.planes if axis == e.axis)
        state, stopped = self._resolved(self._begin(self._first())), None
        t, h = e.start, 0.02 * total
        previous: Window | None = None
        while sign * (e.stop - t) > 1e-14 * total:
            ahead = [b for b in breaks if sign * (b - t) > 1e-13 * total]
            end = e.stop if not ahead else (min(ahead) if e.forward else max(ahead))
            left = sign * (end - t)
            h = min(h, left)
            if h < left < 1.6 * h:
                h = 0.5 * left
            found = self._window(state, previous, t, h, sign, total, end)
            if isinstance(found, str):
                stopped = found
                break
            previous, state, h = found
            done.append(previous)
            t = previous.stop
            self.check(t, len(done), len(state.resolution.tree))
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
        state: State | None = None
        previous: Window | None = None
        assert self.shadowed is not None
        self._sizes = self.shadowed._sizes
        for t, stop, chosen in _between(followed, self.shadowed.resolutions, switched):
            resolution = self._finer(chosen)
            state = self._begin(resolution) if state is None else self._moved(state, resolution)
            try:
                previous, state = self._both(state, previous, t, stop)
            except _NoWindowError:
                return Followed(tuple(done), e, "the second solution was lost", self.steps, self.tries)
            done.append(previous)
            self.check(t, -1, len(resolution.tree))
        return Followed(tuple(done), e, followed.stopped, self.steps, self.tries)

    # -- resolutions --

    def _first(self) -> Resolution:
        places = self.places
        repeated = tuple(yes and self.waves for yes in places.repeated)
        tree = first_tree(self.bench, spare=self._evolution.axis)
        if len(places.free) == 1:
            return Resolution(tree, (17 if repeated[0] else self.functions,), repeated)
        return Resolution(tree, tuple(13 if yes else 12 for yes in repeated), repeated)

    def _finer(self, found: Resolution) -> Resolution:
        """The same cells with a few functions more, for the second solution."""
        return Resolution(found.tree, tuple(n + 2 for n in found.sizes), found.repeated)

    def _lines(self, found: Resolution) -> tuple[Lines, Lines]:
        if found not in self._made:
            if len(self._made) > 4:
                self._made.clear()
            self._made[found] = self.places.lines(found), self.places.checks(found)
        return self._made[found]

    def _moved(self, state: State, resolution: Resolution) -> State:
        """The same functions at another resolution."""
        if state.resolution == resolution:
            return state
        site = self.places.grid(resolution, resolution.sizes)
        X = site.points.reshape(-1, site.points.shape[-1])
        old = state.resolution
        cells = old.tree.locate(X)
        spots = self.places.spots(X, cells, old)
        table = spots.tables((0,) * len(self.places.free)).reshape(len(X), -1)
        owners = np.zeros(len(X), dtype=np.intp) if spots.cells is None else spots.cells
        values = np.einsum("xn,axkn->akx", table, state.rates[:, owners].transpose(0, 1, 2, 3))
        shape = (*values.shape[:2], len(resolution.tree), -1)
        values = values.reshape(shape).transpose(0, 2, 1, 3)
        return State(resolution, coefficients_of(values, resolution.sizes, resolution.repeated))

    # -- the beginning --

    def _begin(self, resolution: Resolution) -> State:
        """∂_t^a u(x, t₀) from the initial conditions."""
        e, lowered = self._evolution, self.bench.lowered
        site = self.places.grid(resolution, resolution.sizes)
        cells, n, d = site.points.shape
        X = site.points.reshape(-1, d).copy()
        X[:, e.axis] = e.start
        # What jumps at a face is taken from the cell's own side: Gauss's nodes lie inside.
        values = self._given(X)
        rates = values.reshape(*values.shape[:2], cells, n).transpose(0, 2, 1, 3)
        assert lowered.unknowns == rates.shape[2]
        return State(resolution, coefficients_of(rates, resolution.sizes, resolution.repeated))

    def _resolved(self, state: State) -> State:
        """The beginning, at a resolution that has it, as far as it can be had."""
        # What is left out here stays in a wave for ever: it has to be below what windows may leave.
        wanted = max(_BEGUN * self.demand.tail, 1e-14)
        for _ in range(_ROUNDS):
            across = self._spectra(state.resolution, state.rates)
            finer = self._refined(state.resolution, across / wanted, np.zeros(len(across)))
            if across.max() <= wanted or finer is None:
                break
            state = self._begin(finer)
        return state

    def _given(self, X: Array) -> Array:
        """∂_t^a u at points of the start, (rates, unknowns, N): one small system at each of them."""
        e, lowered = self._evolution, self.bench.lowered
        wanted = [(a, k) for k, order in enumerate(e.orders) for a in range(order)]
        A = np.zeros((len(X), len(wanted), len(wanted)))
        b = np.zeros((len(X), len(wanted)))
        normals = np.zeros_like(X)
        for row, i in enumerate(e.beginning):
            r = lowered.residuals[i]
            data = r.known_data(X)
            for j, c in zip(r.linear, r.coefficients(X, normals, data), strict=True):
                A[:, row, wanted.index((j.alpha[e.axis], j.unknown))] += c
            b[:, row] = -r.rest(X, normals, data, np.empty((0, len(X))))
        out = np.zeros((max(e.orders), lowered.unknowns, len(X)))
        found = np.linalg.solve(A, b[:, :, None])[:, :, 0]
        for column, (a, k) in enumerate(wanted):
            out[a, k] = found[:, column]
        return out

    def _misfit(self, state: State) -> float:
        """How far the beginning is from what holds at the sides and between the cells, relative."""
        lines, _ = self._lines(state.resolution)
        start = np.array([self._evolution.start])
        rates = [r[..., None] for r in state.rates]
        out = 0.0
        for g in lines.groups[len(self.places.equations) :]:
            if all(a < self._evolution.orders[k] for _, k, _, a in g.terms):
                natural = self._natural(state, np.abs(state.rates[0]).max(axis=(0, 2)), math.inf, g)
                (judged,) = Lines(*lines.extent, (g,), lines.highest).at(start).judged(rates, natural)
                size = float(judged[1].max(initial=0.0))
                out = max(out, float(np.abs(judged[0]).max(initial=0.0)) / size if size > 0 else 0.0)
        return out

    def _natural(
        self, state: State, sizes: Array, h: float, group: Group, share: float = 1.0
    ) -> Callable[[Term], Array]:
        """What a term of a group is at least, of unknowns that vary by their size over a cell or window."""
        boxes = state.resolution.tree.boxes[:, self.places.free, :]
        half = 0.5 * (boxes[:, :, 1] - boxes[:, :, 0])

        def natural(term: Term) -> Array:
            site, k, alpha, a = term
            scale = np.prod(half ** -np.array(alpha, dtype=float), axis=1) * (0.5 * abs(h)) ** -a
            return np.asarray((share if sum(alpha) else 1.0) * sizes[k] * group.sites[site].of(scale))

        return natural

    # -- one window --

    def _window(
        self, state: State, previous: Window | None, t: float, h: float, sign: float, total: float, end: float
    ) -> tuple[Window, State, float] | str:
        """One accepted window, where the next begins and its length; or why there is none."""
        first = previous is None
        before: tuple[float, float, int] | None = None
        easing = max(1.0, 0.7 * self._noise)
        since = abs(t - self._evolution.start)
        layered = self.promised is not None and self.promised == t
        if first and self._misfit(state) > max(10.0 * self.demand.tail, 1e-9):
            layered, h = True, _FIRST * total
        power = self.moments + 1.0
        for attempt in range(_TRIES):
            self.tries += 1
            self.check(t, -1, len(state.resolution.tree))
            if h < max(_SHORTEST * total, 4e-16 * abs(t)):
                return SHORT
            stop = t + sign * h
            if sign * (end - stop) < 1e-12 * total:
                stop = end
            try:
                U, after = self._solve(state, previous, t, stop)
            except _NoWindowError:
                h *= 0.4
                continue
            along, across, sizes = self._tails(state, U)
            residual = self._residual(state, U, after, t, stop)
            wide, between = float(across.max()), float(residual.max())
            if not all(map(math.isfinite, (along, wide, between))):
                h *= 0.3
                continue
            tail, rest = easing * self.demand.tail, easing * self.demand.residual
            narrow = wide <= tail and between <= rest
            if along <= tail and narrow:
                self._noise = easing
                if layered and first:
                    self.promised = None  # it was hard for another reason
                return self._accepted(state, U, after, t, stop, sizes, along / easing, across / easing)
            worst = max(along / tail, wide / tail, between / rest)
            if first and attempt == _HARD and not layered and along > tail:
                layered, h, before = True, _FIRST * total, None
                continue
            if layered and wide > tail:
                steeper = self._graded(state.resolution, across)
                if len(steeper.tree) > _MOST_CELLS:
                    return _TOO_MANY
                if steeper != state.resolution:
                    state = self._begin(steeper) if first else self._moved(state, steeper)
                    continue
            if layered and (h <= 1.001 * _RATIO * since or first):
                if since > _LAYER * total or len(self._done) > _FORCED:
                    return "the beginning is not resolved"
                window, following, _ = self._accepted(state, U, after, t, stop, sizes, along, across)
                self.promised = stop
                return window, following, since + h
            if (
                before is not None
                and worst > 0.3 * before[0]
                and (h <= 0.75 * before[1] or self._count(state) > before[2])
                # A beginning that does not fit also gains little by little: only rounding is that small.
                and worst * max(self.demand.tail, 1e-13) < (1e-11 if first or layered else 1e-6)
            ):
                easing *= 3.0 * worst
                if easing < 1e5:
                    continue
            helpless = before is not None and self._count(state) > before[2] and worst > 0.5 * before[0]
            before = (worst, h, self._count(state))
            # What is left between the points may be a matter of space or of time.
            unmet = wide <= tail and along <= tail and not helpless
            if (wide > max(tail, 0.1 * along) or unmet) and not layered:
                finer = self._refined(state.resolution, across / tail, residual / rest)
                if finer is None:
                    return _TOO_MANY
                state = self._begin(finer) if first else self._moved(state, finer)
                if along > 100.0 * tail and not layered:
                    h *= 0.5
                continue
            factor = _SAFE * min(tail / along, rest / max(between, 1e-300)) ** (1.0 / power)
            h *= min(max(factor, 0.1), 0.7)
            if layered:
                h = max(h, _RATIO * since)
        return "no window was accepted"

    @staticmethod
    def _count(state: State) -> int:
        return len(state.resolution.tree) * state.resolution.functions

    def _accepted(
        self,
        state: State,
        U: Array,
        after: Array,
        t: float,
        stop: float,
        sizes: Array,
        along: float,
        across: Array,
    ) -> tuple[Window, State, float]:
        self._sizes = np.maximum(self._sizes, sizes)
        window = self._made_of(state, U, t, stop)
        self.resolutions.append(state.resolution)
        h = abs(stop - t)
        if along < _NOTHING:
            factor = _GROWTH
        else:
            factor = min(_SAFE * (self.demand.tail / along) ** (1.0 / (self.moments + 1.0)), _GROWTH)
        if 0.95 <= factor < (_LONGER if len(state.resolution.sizes) == 1 else _MUCH_LONGER):
            factor = 1.0  # another length needs other factors
        following = State(state.resolution, after)
        coarser = self._merged(state.resolution, across)
        return window, self._moved(following, coarser), h * factor

    def _made_of(self, state: State, U: Array, t: float, stop: float) -> Window:
        """The window as a function of space and time."""
        found, e, st = state.resolution, self._evolution, self._stages
        series = self._series(state, U)  # (cells, unknowns, n, moments + 1)
        if not e.forward:
            series = series * (-1.0) ** np.arange(series.shape[-1])
        shape = (*series.shape[:2], *found.sizes, st.count + 1)
        ordered = np.moveaxis(series.reshape(shape), -1, 2 + e.axis)
        space = self.places.space(found, min(t, stop), max(t, stop), st.count + 1)
        return Window(space, np.ascontiguousarray(ordered).ravel(), t, stop, math.nan)

    def _series(self, state: State, U: Array) -> Array:
        """Coefficients in time of every coefficient in space."""
        st, e = self._stages, self._evolution
        out = np.empty((*U.shape[:3], st.count + 1))
        every = np.concatenate([state.rates[0][..., None], U], axis=-1)
        for k, order in enumerate(e.orders):
            out[:, k] = every[:, k] @ st.series.T if order else U[:, k] @ st.bare.T
        return out

    def _both(self, state: State, previous: Window | None, t: float, stop: float) -> tuple[Window, State]:
        U, after = self._solve(state, previous, t, stop)
        return self._made_of(state, U, t, stop), State(state.resolution, after)

    def _solve(self, state: State, previous: Window | None, t: float, stop: float) -> tuple[Array, Array]:
        """The coefficients at all moments (cells, unknowns, n, s), and the rates at the end."""
        st, h = self._stages, stop - t
        lines, _ = self._lines(state.resolution)
        times = t + h * st.nodes
        times[-1] = stop
        moments = lines.at(times)
        shape = (lines.cells, lines.unknowns, lines.functions)
        # Unknowns without a rate have no beginning: the last window's end is as good a start as any.
        U = np.repeat(state.rates[0][..., None], st.count, axis=-1)
        if previous is not None and not lines.is_linear:
            U = self._continued(state, previous, t, times)
        old, last, fresh = self._factors, math.inf, False
        if (
            old is None
            or old.resolution != state.resolution
            or not math.isclose(old.h, h, rel_tol=1e-9)
            or (lines.is_linear and not moments.has_operator(old.weights))
        ):
            old = None
        size = max(float(np.abs(U).max()), float(self._sizes.max(initial=0.0)), 1e-300)
        enough = max(1e-3 * self.demand.tail, 2e-16) * size
        slow = 0
        for step in range(_STEPS):
            rates = st.rates(U, state.rates, lines.highest, h)
            R = moments.residual(rates)
            if not np.isfinite(R).all():
                raise _NoWindowError
            if old is None:
                old, fresh = self._factored(moments, rates, state.resolution, h), True
            Z = old.solver.solve(st.apart(R))
            change = st.together(Z).reshape(*shape, st.count)
            moved = float(np.abs(change).max())
            if not math.isfinite(moved):
                raise _NoWindowError
            self.steps += 1
            U = U - change
            ratio = moved / last if math.isfinite(last) else (1e-9 if lines.is_linear else 0.1)
            if moved <= enough or moved * ratio / (1.0 - min(ratio, 0.9)) <= enough:
                break
            if step >= 1 and ratio > 0.7 and moved < 1e3 * enough + 1e-11 * size:
                break  # rounding
            if step >= 1 and ratio > _CONTRACTION:
                slow += 1
                if (ratio > 2.0 and fresh and step > 2) or slow > 3:
                    raise _NoWindowError
                if not fresh or ratio < 1.0:
                    old = None  # a matrix nearer to the solution
            last = moved
        else:
            raise _NoWindowError
        rates = st.rates(U, state.rates, lines.highest, h)
        after = np.stack([r[..., -1] for r in rates[: max(lines.highest, 1)]])
        return U, after

    def _factored(self, moments: Moments, rates: list[Array], found: Resolution, h: float) -> Factors:
        operator = moments.slopes(rates)
        try:
            solver = Shifted.of(operator.parts(), self._stages.values / h)
        except (np.linalg.LinAlgError, RuntimeError, ValueError):
            raise _NoWindowError from None
        self._factors = Factors(found, h, operator.weights, solver)
        return self._factors

    def _continued(self, state: State, previous: Window, t: float, times: Array) -> Array:
        """The last window's polynomials, a little further."""
        space, found = previous.space, state.resolution
        site = self.places.grid(found, found.sizes)
        cells, n, d = site.points.shape
        X = np.repeat(site.points.reshape(-1, d), len(times), axis=0)
        X[:, self._evolution.axis] = np.tile(times, cells * n)
        values = _beyond(space, previous.w, X, self.bench.lowered.unknowns, previous, self._evolution.axis)
        values = values.reshape(-1, cells, n, len(times)).transpose(1, 0, 3, 2)
        out = coefficients_of(values, found.sizes, found.repeated).transpose(0, 1, 3, 2)
        held = np.repeat(state.rates[0][..., None], len(times), axis=-1)
        for k, order in enumerate(self._evolution.orders):
            if not order:
                held[:, k] = out[:, k]
        far = np.abs(out - held).max()
        size = max(float(self._sizes.max()), 1e-300)
        return np.ascontiguousarray(out if np.isfinite(far) and far < 0.5 * size else held)

    # -- judging --

    def _tails(self, state: State, U: Array) -> tuple[float, Array, Array]:
        """The tail in time; those in space, (cells, axes); max|u| of each unknown."""
        found = state.resolution
        table = self.places.grid(found, found.sizes).tables((0,) * len(found.sizes))
        series = self._series(state, U)
        values = np.abs(np.matmul(table[:, None], U))
        sizes = values.max(axis=(0, 2, 3))
        scale = np.maximum(
            np.maximum(self._sizes, sizes), 1e-9 * max(float(sizes.max()), float(self._sizes.max()))
        )
        scale = np.where(scale > 0, scale, 1.0)
        late = np.abs(np.matmul(table[:, None], series[..., -2:] * _LAST)).max(axis=(0, 2, 3))
        along = float((late / scale).max())
        return along, self._spectra(found, np.moveaxis(U, -1, 0), scale), sizes

    @staticmethod
    def _spectra(found: Resolution, U: Array, scale: Array | None = None) -> Array:
        """The last coefficients in space of functions (…, cells, unknowns, n), relative: (cells, axes)."""
        split = np.abs(U).reshape(*U.shape[:3], *found.sizes)
        if scale is None:
            split = split / np.maximum(split.max(axis=(1, 3), keepdims=True), 1e-300).max(
                axis=tuple(range(4, split.ndim)), keepdims=True
            )
        else:
            split = split / scale.reshape(-1, *(1,) * len(found.sizes))
        out = np.empty((len(found.tree), len(found.sizes)))
        for i, (n, yes) in enumerate(zip(found.sizes, found.repeated, strict=True)):
            top = np.take(split, range(n - (4 if yes else 3), n), axis=3 + i)
            out[:, i] = top.max(axis=(0, *range(2, top.ndim)))
        return out

    def _residual(self, state: State, U: Array, after: Array, t: float, stop: float) -> Array:
        """How well the equations hold between the points, next to their terms: of each cell."""
        st, h = self._stages, stop - t
        _, checks = self._lines(state.resolution)
        rates = st.rates(U, state.rates, checks.highest, h)
        between = np.array([0.12, 0.55, 0.91])
        V = np.polynomial.legendre.legvander(2.0 * between - 1.0, st.count)
        seen = []
        for a, r in enumerate(rates):
            if a < len(state.rates):
                every = np.concatenate([state.rates[a][..., None], r], axis=-1)
                value = every @ (V @ st.series).T
                for k, order in enumerate(self._evolution.orders):
                    if order <= a:
                        value[:, k] = r[:, k] @ (V @ st.bare).T
            else:
                value = r @ (V @ st.bare).T
            seen.append(value)
        out = np.zeros(len(state.resolution.tree))
        sizes = np.maximum(self._sizes, np.abs(U).max(axis=(0, 2, 3)))
        natural = self._natural(state, sizes, h, checks.groups[0], _SHARE)
        for r, size in checks.at(t + h * between).judged(seen, natural):
            r, size = (x.reshape(len(out), -1) for x in (r, size))
            local = size.max(axis=1)
            out = np.maximum(out, np.sqrt(np.mean(r**2, axis=1)) / np.where(local > 0, local, 1.0))
        return out

    def _refined(self, found: Resolution, across: Array, residual: Array) -> Resolution | None:
        """More of what is not enough, where it is not enough; None where there is no more."""
        if any(found.repeated) or len(found.sizes) > 1:
            sizes = []
            for i, (n, yes) in enumerate(zip(found.sizes, found.repeated, strict=True)):
                needs = across[:, i].max() > 1.0 or (across.max() <= 1.0 and residual.max() > 1.0)
                more = n + (n // 2 + 1) // 2 * 2 if yes else n + max(n // 4, 2)
                sizes.append(more if needs else n)
            most = _WAVES if len(sizes) == 1 else _PRODUCT
            if int(np.prod(sizes)) * self.bench.lowered.unknowns > most * (2 if len(sizes) == 1 else 1.5):
                return None
            return Resolution(found.tree, tuple(sizes), found.repeated)
        needs_it = np.maximum(across[:, 0], residual if across.max() <= 1.0 else 0.0)
        axis = self.places.free[0]

        def division(number: int, box: Array) -> Node:
            return crossed([(axis, float(box[axis].mean()))]) if needs_it[number] > 1.0 else None

        tree = found.tree.refine(division)
        return None if len(tree) > _MOST_CELLS else Resolution(tree, found.sizes, found.repeated)

    def _graded(self, found: Resolution, across: Array) -> Resolution:
        """The hardest cells divided; those at a side or at a face of a material towards it, at once."""
        if any(found.repeated) or len(found.sizes) > 1:
            return found
        axis = self.places.free[0]
        box = self.bench.box[axis]
        ends = {*map(float, box), *(level for i, level in self.bench.lowered.interfaces.planes if i == axis)}
        mark = _HARDEST * float(across.max())

        def division(number: int, cell: Array) -> Node:
            if across[number, 0] < mark or np.ptp(cell[axis]) < _SMALLEST * np.ptp(box):
                return None
            touching = [end for end in map(float, cell[axis]) if end in ends]
            if len(touching) != 1:
                return crossed([(axis, float(cell[axis].mean()))])
            place = np.full(len(cell), touching[0])
            return graded(cell, [axis], place, _LEVELS)

        return Resolution(found.tree.refine(division), found.sizes, found.repeated)

    def _merged(self, found: Resolution, across: Array) -> Resolution:
        """Cells joined again where nothing is left to resolve."""
        if any(found.repeated) or len(found.sizes) > 1 or len(found.tree) == 1:
            return found
        small = self.demand.tail * 0.1 * 2.0 ** (-0.75 * found.sizes[0])
        kept = set(self.bench.lowered.interfaces.planes)
        tree = found.tree.merge(
            lambda i, j, plane: plane not in kept and bool(max(across[i, 0], across[j, 0]) < small)
        )
        return Resolution(tree, found.sizes, found.repeated)


def _beyond(space: Space, w: Array, X: Array, unknowns: int, last: Window, axis: int) -> Array:
    """The unknowns of a window at points that lie after it, (unknowns, N)."""
    from pibls.problem import Jet

    jets = tuple(Jet(k, (0,) * X.shape[1]) for k in range(unknowns))
    return space.values((X,), jets, w)


def _between(
    followed: Followed, cells: list[Resolution], switched: set[float]
) -> Iterator[tuple[float, float, Resolution]]:
    """(start, stop, resolution) of windows between the middles of others and where something jumps."""
    group: list[tuple[Window, Resolution]] = []
    for window, own in zip(followed.windows, cells, strict=True):
        group.append((window, own))
        if window.stop not in switched and window is not followed.windows[-1]:
            continue
        edges = [group[0][0].start, *(0.5 * (x.start + x.stop) for x, _ in group), window.stop]
        if len(group) == 1:
            edges[1] = 0.55 * window.start + 0.45 * window.stop
        mine = [r for _, r in group]
        pairs = zip([mine[0], *mine], [*mine, mine[-1]], strict=True)
        chosen = (max(p, key=lambda r: (len(r.tree), r.functions)) for p in pairs)
        yield from zip(edges[:-1], edges[1:], chosen, strict=True)
        group = []
