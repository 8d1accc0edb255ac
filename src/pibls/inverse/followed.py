r"""u(θ) and ∂u/∂θ of an ordinary evolution: the windows of one orbit, kept for other parameters.

What `fitting.held` does with least squares for any problem, by collocation: all windows are linearised at
once (`search.orbits.together`), Newton's method starts from the last orbit moved along its derivative, and
the derivative is the same recurrence with ∂F/∂θ on the right side.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from pibls.adaptive.evolution import Evolution, evolution_of
from pibls.adaptive.ode.initial import InitialValues
from pibls.adaptive.ode.strategy import Setting, setting_of
from pibls.adaptive.ode.together import Together
from pibls.arrays import Array, Numbers
from pibls.basis.polynomials.chebyshev import derivative, polynomials
from pibls.inverse.held import unmoved_jumps
from pibls.inverse.slopes import Varied, residual_slopes
from pibls.inverse.stages import SMALL, LostError, serves
from pibls.linalg.threads import sensible_threads
from pibls.problem import Jet, Problem
from pibls.problem.forms.lowering import lower
from pibls.solution import Solution

_STEPS = 8  # of Newton's method
_EXACT = 1e-7  # a relative change whose square is nothing
_SLOW = 0.5
_ENOUGH = 1e-9  # a relative change that neither falls nor matters
_TABLES = 64  # sets of points whose tables are remembered


Table = tuple[Array, Numbers]
"""The derivatives of the polynomials at points, (jets, n, size), and the window of each point."""


@dataclass
class OrbitAt:
    """The orbit at one value of the parameters."""

    problem: Problem
    setting: Setting
    windows: Together
    coefficients: Array
    """(windows, unknowns group by group, size)."""
    slopes: tuple[list[Array], Array] | None = None
    """∂/∂θ of z, group by group, and of the coefficients, with the parameters last."""


@dataclass
class MovingOrbit:
    """The windows of an orbit with parameters, of which some move."""

    evolution: Evolution
    edges: Array
    """Where windows begin and end, in the order of time."""
    moving: tuple[int, ...]
    tol: float
    loss: float = 0.0
    """The residual where the windows were found."""
    _tables: dict[tuple[bytes, tuple[Jet, ...]], Table] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, solution: Solution, moving: Sequence[int]) -> tuple[MovingOrbit, OrbitAt] | None:
        """Windows that a search has found, and the orbit there; None where it is no such orbit."""
        lowered = lower(solution.problem)
        if lowered.dimension != 1 or not solution.windows or lowered.interfaces.planes:
            return None
        e = evolution_of(lowered, solution.problem.domain)
        setting = setting_of(lowered, e)
        if e is None or setting is None:
            return None
        edges = np.array([*(start for start, _ in solution.windows), solution.windows[-1][1]])
        edges = edges if e.forward else edges[::-1]
        made = cls(e, edges, tuple(moving), solution.tol)
        try:
            course = made._settled(solution.problem, setting, _sampled(solution, setting, edges))
        except LostError:
            return None
        made.loss = made._loss(course)
        return None if made.loss > 10.0 * made.tol else (made, course)

    @property
    def small(self) -> bool:
        """Whether it may be kept for the next fit."""
        return len(self.edges) * len(self.evolution.orders) < SMALL

    def at(self, problem: Problem, past: OrbitAt, step: Array) -> OrbitAt:
        """The orbit at other parameters, from one nearby; ``step`` is how far they are, in θ."""
        lowered = lower(problem)
        unmoved_jumps(lowered, ())
        setting = setting_of(lowered, self.evolution)
        if setting is None:
            raise LostError
        z = [a.copy() for a in past.windows.z]
        if past.slopes is not None:
            z = [a + d @ step for a, d in zip(z, past.slopes[0], strict=True)]
        found = self._settled(problem, setting, z)
        serves(self._loss(found), self.loss, self.tol)
        return found

    def _settled(self, problem: Problem, setting: Setting, z: list[Array]) -> OrbitAt:
        """Newton's method for all windows at once."""
        windows = Together(setting.collocation, self.edges, 0.5 * np.diff(self.edges), z)
        before = np.inf
        with sensible_threads(1), np.errstate(all="ignore"):
            for _ in range(_STEPS):
                change = _improve(windows, setting.beginning)
                if setting.collocation.line.is_linear or change < _EXACT:
                    break
                if not change <= _SLOW * before and not (change < before and before > 1.0):
                    if change > _ENOUGH:
                        raise LostError
                    break
                before = change
            else:
                raise LostError
        if not np.isfinite(change):
            raise LostError
        return OrbitAt(problem, setting, windows, windows.coefficients())

    def _loss(self, course: OrbitAt) -> float:
        """The largest residual between the points next to the terms of its equation."""
        collocation, windows = course.setting.collocation, course.windows
        line, r = collocation.line, collocation.radau
        xi, half = r.grid[r.s :], windows.half
        t = (windows.edges[:-1, None] + half[:, None] * (xi + 1.0)).ravel()
        U = np.empty((line.rows, len(half), len(xi)))
        for g, z in zip(line.groups, windows.z, strict=True):
            m, k = g.order, len(g.unknowns)
            table = r.jets[m].reshape(m + r.s, m + 1, -1)[:, :, r.s :].reshape(m + r.s, -1)
            found = (z @ table).reshape(len(half), k, m + 1, len(xi))
            found *= half[:, None, None, None] ** -np.arange(m + 1.0)[:, None]
            U[g.rows] = np.moveaxis(found.reshape(len(half), k * (m + 1), -1), 0, 1)
        with np.errstate(all="ignore"):
            held, flat = line.held(t), U.reshape(line.rows, -1)
            F = np.abs(line.values(held, flat))
            terms = np.abs(line.slopes(held, flat, len(t)) * flat).max(axis=(1, 2))
            terms = np.maximum(terms, np.abs(held.rest).max(axis=1))
        return float((F.max(axis=1) / np.where(terms > 0, terms, 1.0)).max())

    def differentiate(self, course: OrbitAt) -> tuple[list[Array], Array]:
        """∂/∂θ of the orbit; kept with it."""
        if course.slopes is not None:
            return course.slopes
        windows, line = course.windows, course.setting.collocation.line
        slopes = residual_slopes(course.problem, self.moving)
        values = tuple(course.problem.parameters.values())
        states = self._beginning_slopes(course, slopes, values)
        z: list[list[Array]] = [[] for _ in line.groups]
        with sensible_threads(1), np.errstate(all="ignore"):
            for part in windows.parts():
                found = windows.linearised(part, self._pushes(course, part, slopes, values))
                if found is None:
                    raise LostError
                begun = np.empty_like(found.pushed)
                for k in range(len(begun)):
                    begun[k] = states
                    states = found.pushed[k] + found.transfer[k] @ states
                delta = found.own + np.einsum("wnsi,wiq->wnsq", found.influence, begun)
                for mine, more in zip(z, windows.split(part, delta, begun), strict=True):
                    mine.append(more)
        whole = [np.concatenate(parts) for parts in z]
        tables = course.setting.collocation.radau.coefficients
        C = [np.einsum("wnzq,zc->wncq", d, tables[g.order]) for g, d in zip(line.groups, whole, strict=True)]
        course.slopes = whole, np.concatenate(C, axis=1)
        return course.slopes

    def _pushes(
        self, course: OrbitAt, part: slice, slopes: Mapping[str, Varied], values: tuple[float, ...]
    ) -> Array:
        """∂F/∂θ at the points, (equations, windows, s, parameters)."""
        windows, line = course.windows, course.setting.collocation.line
        t, (U, _, _) = windows.times(part), windows.derivatives(part)
        X = t.reshape(-1, 1)
        rows = {
            (k, j): g.first + i * (g.order + 1) + j
            for g in line.groups
            for i, k in enumerate(g.unknowns)
            for j in range(g.order + 1)
        }
        out = np.zeros((len(line.residuals), *t.shape, len(self.moving)))
        for e, r in enumerate(line.residuals):
            if r.name in slopes:
                varied = slopes[r.name]
                jets = U[[rows[j.unknown, j.alpha[0]] for j in varied.jets]].reshape(len(varied.jets), len(X))
                out[e] = varied.at(X, np.zeros_like(X), values, jets)[2].T.reshape(out.shape[1:])
        return out

    def _beginning_slopes(
        self, course: OrbitAt, slopes: Mapping[str, Varied], values: tuple[float, ...]
    ) -> Array:
        """∂/∂θ of what the first window begins with, (states, parameters)."""
        e, groups, start = self.evolution, course.setting.collocation.line.groups, course.setting.beginning
        at = {
            (k, j): start.state[i][row, j]
            for i, g in enumerate(groups)
            for row, k in enumerate(g.unknowns)
            for j in range(g.order)
        }
        rows, X = np.zeros((len(e.beginning), len(self.moving))), np.array([[e.start]])
        for row, i in enumerate(e.beginning):
            name = lower(course.problem).residuals[i].name
            if name in slopes:
                jets = np.array([[at[j.unknown, j.alpha[0]]] for j in slopes[name].jets])
                rows[row] = slopes[name].at(X, np.zeros_like(X), values, jets)[2][:, 0]
        return start.moved(rows)

    def values(self, course: OrbitAt, X: Array, jets: tuple[Jet, ...]) -> Array:
        """∂^α u at points, (jets, n)."""
        tables, place = self._table(course, X, jets)
        unknowns = self._columns(course, jets)
        return np.array(
            [np.einsum("nc,nc->n", T, course.coefficients[place, k]) for T, k in zip(tables, unknowns)]
        ).reshape(len(jets), len(X))

    def derivatives(self, course: OrbitAt, X: Array, jets: tuple[Jet, ...]) -> Array:
        """∂^α ∂u/∂θ at points, (parameters, jets, n)."""
        _, C = self.differentiate(course)
        tables, place = self._table(course, X, jets)
        unknowns = self._columns(course, jets)
        found = [np.einsum("nc,ncq->qn", T, C[place, k]) for T, k in zip(tables, unknowns)]
        return np.array(found).reshape(len(jets), len(self.moving), len(X)).swapaxes(0, 1)

    def _columns(self, course: OrbitAt, jets: tuple[Jet, ...]) -> list[int]:
        order = [k for g in course.setting.collocation.line.groups for k in g.unknowns]
        return [order.index(j.unknown) for j in jets]

    def _table(self, course: OrbitAt, X: Array, jets: tuple[Jet, ...]) -> Table:
        """Made once for each set of points."""
        key = (X.tobytes(), jets)
        if key not in self._tables:
            sign = 1.0 if self.evolution.forward else -1.0
            place = np.searchsorted(sign * self.edges[1:-1], sign * X[:, 0])
            half = 0.5 * np.diff(self.edges)[place]
            size = course.coefficients.shape[2]
            T = polynomials((X[:, 0] - self.edges[place]) / half - 1.0, size)
            orders = [j.alpha[0] for j in jets]
            found = [(T @ derivative(size, m)) * half[:, None] ** -float(m) for m in orders]
            if len(self._tables) >= _TABLES:
                self._tables.clear()
            self._tables[key] = np.array(found).reshape(len(jets), len(X), size), place
        return self._tables[key]


def _improve(windows: Together, beginning: InitialValues) -> float:
    """One step of Newton's method; the largest change of z next to the size of its unknown."""
    before = np.concatenate([s.ravel() for s in beginning.state])
    sizes = np.abs(windows.coefficients()).sum(axis=2).max(axis=0)
    sizes = np.where(sizes > 0, sizes, sizes.max() or 1.0)
    change = 0.0
    for part in windows.parts():
        found = windows.linearised(part)
        if found is None:
            return np.inf
        states, end = np.empty_like(found.begun), found.end + found.pushed[..., 0]
        for k in range(len(states)):
            states[k] = before - found.begun[k]
            before = end[k] + found.transfer[k] @ states[k]
        delta = found.own[..., 0] + np.einsum("wnsq,wq->wns", found.influence, states)
        # Where an orbit rests, only its beginning may tell that it has moved.
        changes = windows.split(part, delta[..., None], states[..., None])
        largest = np.concatenate([np.abs(d).max(axis=(2, 3)) for d in changes], axis=1)
        change = max(change, float((largest / sizes).max()))
        windows.move(part, delta, states)
    return change if np.isfinite(change) else np.inf


def _sampled(solution: Solution, setting: Setting, edges: Array) -> list[Array]:
    """z of a solution in each window, group by group."""
    line, r = setting.collocation.line, setting.collocation.radau
    half = 0.5 * np.diff(edges)
    starts = edges[:-1, None]
    # From within the window, whichever side a point on an edge is taken for.
    inside = np.clip(0.5 * (r.points + 1.0), 1e-9, 1.0 - 1e-9)
    points = (starts + 2.0 * half[:, None] * inside).reshape(-1, 1)
    out = []
    for g in line.groups:
        z = np.empty((len(half), len(g.unknowns), g.order + r.s))
        for i, k in enumerate(g.unknowns):
            jets = tuple(Jet(k, (j,)) for j in range(g.order + 1))
            high = solution.space.values((points,), jets[-1:], solution.coefficients)[0]
            z[:, i, g.order :] = high.reshape(len(half), r.s) * half[:, None] ** float(g.order)
            if g.order:
                low = solution.space.values((starts,), jets[:-1], solution.coefficients)
                z[:, i, : g.order] = low.T * half[:, None] ** np.arange(float(g.order))
        out.append(z)
    return out
