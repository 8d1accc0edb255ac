r"""ODE initial value problem at other parameters θ: u(θ) and ∂u/∂θ in the fixed windows of one solution.

The counterpart of `pibls.inverse.fixed_space_solver` for ODEs: all windows are linearized at once
(`pibls.time.ode.linearized_windows`), Newton's method starts from the previous trajectory extrapolated
along its derivative, and the derivative solves the same recurrence with ∂F/∂θ on the right-hand side.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from pibls.analysis.evolution import Evolution, evolution_of
from pibls.arrays import Array, Indices
from pibls.basis.polynomials.chebyshev import chebyshev_values, derivative_matrix
from pibls.inverse.fixed_space_solver import check_fixed_interfaces
from pibls.inverse.least_squares_window import MAX_CACHED_COLUMNS, FixedSpaceError, check_residual
from pibls.inverse.parameter_derivatives import DifferentiatedExpression, residual_derivatives
from pibls.linalg.threads import limit_blas_threads
from pibls.problem import PartialDerivative, Problem
from pibls.problem.forms.compilation import compile_problem
from pibls.solution import Solution
from pibls.time.ode.initial_values import InitialValues
from pibls.time.ode.linearized_windows import LinearizedWindows
from pibls.time.ode.setup import ODESetup, ode_setup

_MAX_NEWTON_STEPS = 8
_NEWTON_TOLERANCE = 1e-7  # relative change, whose square is below rounding
_MAX_CONTRACTION = 0.5  # ratio of successive changes above which the iteration stagnates
_ACCEPTED_CHANGE = 1e-9  # relative change that is accepted when the iteration stagnates
_MAX_CACHED_TABLES = 64  # sets of points whose basis values are cached


Table = tuple[Array, Indices]
"""Derivatives of the basis polynomials at points, (derivatives, n, size), and the window of each point."""


@dataclass
class TrajectorySolution:
    """The trajectory at one value of the parameters."""

    problem: Problem
    setup: ODESetup
    windows: LinearizedWindows
    coefficients: Array
    """(windows, unknowns, size), with the unknowns ordered by group."""
    derivatives: tuple[list[Array], Array] | None = None
    """∂/∂θ of the collocation unknowns z of each group, and of the coefficients; parameters last."""


@dataclass
class ODEParameterSolver:
    """Solver for an ODE with varying parameters in fixed windows."""

    evolution: Evolution
    window_edges: Array
    """Ends of the windows, in the order of integration."""
    parameter_indices: tuple[int, ...]
    tol: float
    reference_residual: float = 0.0
    """The relative residual at the parameters where the windows were found."""
    _tables: dict[tuple[bytes, tuple[PartialDerivative, ...]], Table] = field(
        default_factory=dict, repr=False
    )

    @classmethod
    def from_solution(
        cls, solution: Solution, parameter_indices: Sequence[int]
    ) -> tuple[ODEParameterSolver, TrajectorySolution] | None:
        """Return a solver with the windows of a solution, and the trajectory in them.

        None if the problem is not an ODE initial value problem, or has interfaces, if Newton's method
        fails, or if the relative residual exceeds 10 tol.
        """
        compiled = compile_problem(solution.problem)
        if compiled.dimension != 1 or not solution.windows or compiled.interfaces.planes:
            return None
        e = evolution_of(compiled, solution.problem.domain)
        setup = ode_setup(compiled, e)
        if e is None or setup is None:
            return None
        edges = np.array([*(start for start, _ in solution.windows), solution.windows[-1][1]])
        edges = edges if e.forward else edges[::-1]
        made = cls(e, edges, tuple(parameter_indices), solution.tol)
        try:
            trajectory = made._newton(solution.problem, setup, _sampled_unknowns(solution, setup, edges))
        except FixedSpaceError:
            return None
        made.reference_residual = made._max_residual(trajectory)
        return None if made.reference_residual > 10.0 * made.tol else (made, trajectory)

    @property
    def is_cacheable(self) -> bool:
        """Whether it is small enough to be cached for the next fit."""
        return len(self.window_edges) * len(self.evolution.orders) < MAX_CACHED_COLUMNS

    def solve_at(self, problem: Problem, previous: TrajectorySolution, step: Array) -> TrajectorySolution:
        """Solve at other parameters, starting from a nearby trajectory; ``step`` is the difference in θ."""
        compiled = compile_problem(problem)
        check_fixed_interfaces(compiled, ())
        setup = ode_setup(compiled, self.evolution)
        if setup is None:
            raise FixedSpaceError
        z = [a.copy() for a in previous.windows.z]
        if previous.derivatives is not None:
            z = [a + d @ step for a, d in zip(z, previous.derivatives[0], strict=True)]
        found = self._newton(problem, setup, z)
        check_residual(self._max_residual(found), self.reference_residual, self.tol)
        return found

    def _newton(self, problem: Problem, setup: ODESetup, z: list[Array]) -> TrajectorySolution:
        """Newton's method for all windows at once."""
        windows = LinearizedWindows(setup.collocation, self.window_edges, 0.5 * np.diff(self.window_edges), z)
        before = np.inf
        with limit_blas_threads(1), np.errstate(all="ignore"):
            for _ in range(_MAX_NEWTON_STEPS):
                change = _newton_step(windows, setup.initial_values)
                if setup.collocation.equations.is_linear or change < _NEWTON_TOLERANCE:
                    break
                if not change <= _MAX_CONTRACTION * before and not (change < before and before > 1.0):
                    if change > _ACCEPTED_CHANGE:
                        raise FixedSpaceError
                    break
                before = change
            else:
                raise FixedSpaceError
        if not np.isfinite(change):
            raise FixedSpaceError
        return TrajectorySolution(problem, setup, windows, windows.coefficients())

    def _max_residual(self, trajectory: TrajectorySolution) -> float:
        """Return the largest residual between the collocation points, relative to the equation's terms."""
        collocation, windows = trajectory.setup.collocation, trajectory.windows
        equations, r = collocation.equations, collocation.radau
        xi, half = r.grid[r.s :], windows.half
        t = (windows.edges[:-1, None] + half[:, None] * (xi + 1.0)).ravel()
        U = np.empty((equations.rows, len(half), len(xi)))
        for g, z in zip(equations.groups, windows.z, strict=True):
            m, k = g.order, len(g.unknowns)
            table = r.derivative_tables[m].reshape(m + r.s, m + 1, -1)[:, :, r.s :].reshape(m + r.s, -1)
            found = (z @ table).reshape(len(half), k, m + 1, len(xi))
            found *= half[:, None, None, None] ** -np.arange(m + 1.0)[:, None]
            U[g.rows] = np.moveaxis(found.reshape(len(half), k * (m + 1), -1), 0, 1)
        with np.errstate(all="ignore"):
            held, flat = equations.tables(t), U.reshape(equations.rows, -1)
            F = np.abs(equations.residual(held, flat))
            terms = np.abs(equations.jacobian(held, flat, len(t)) * flat).max(axis=(1, 2))
            terms = np.maximum(terms, np.abs(held.rest).max(axis=1))
        return float((F.max(axis=1) / np.where(terms > 0, terms, 1.0)).max())

    def differentiate(self, trajectory: TrajectorySolution) -> tuple[list[Array], Array]:
        """Return ∂/∂θ of the trajectory; cached in it."""
        if trajectory.derivatives is not None:
            return trajectory.derivatives
        windows, equations = trajectory.windows, trajectory.setup.collocation.equations
        expressions = residual_derivatives(trajectory.problem, self.parameter_indices)
        values = tuple(trajectory.problem.parameters.values())
        states = self._initial_derivatives(trajectory, expressions, values)
        z: list[list[Array]] = [[] for _ in equations.groups]
        with limit_blas_threads(1), np.errstate(all="ignore"):
            for part in windows.parts():
                found = windows.linearize(
                    part, self._residual_derivatives(trajectory, part, expressions, values)
                )
                if found is None:
                    raise FixedSpaceError
                initial_states = np.empty_like(found.end_change)
                for k in range(len(initial_states)):
                    initial_states[k] = states
                    states = found.end_change[k] + found.transfer[k] @ states
                delta = found.particular + np.einsum("wnsi,wiq->wnsq", found.influence, initial_states)
                for mine, more in zip(z, windows.split(part, delta, initial_states), strict=True):
                    mine.append(more)
        whole = [np.concatenate(parts) for parts in z]
        tables = trajectory.setup.collocation.radau.coefficients
        C = [
            np.einsum("wnzq,zc->wncq", d, tables[g.order])
            for g, d in zip(equations.groups, whole, strict=True)
        ]
        trajectory.derivatives = whole, np.concatenate(C, axis=1)
        return trajectory.derivatives

    def _residual_derivatives(
        self,
        trajectory: TrajectorySolution,
        part: slice,
        expressions: Mapping[str, DifferentiatedExpression],
        values: tuple[float, ...],
    ) -> Array:
        """Return ∂F/∂θ at the collocation points, (equations, windows, s, parameters)."""
        windows, equations = trajectory.windows, trajectory.setup.collocation.equations
        t, (U, _, _) = windows.times(part), windows.derivatives(part)
        X = t.reshape(-1, 1)
        rows = {
            (k, j): g.first + i * (g.order + 1) + j
            for g in equations.groups
            for i, k in enumerate(g.unknowns)
            for j in range(g.order + 1)
        }
        out = np.zeros((len(equations.residuals), *t.shape, len(self.parameter_indices)))
        for e, r in enumerate(equations.residuals):
            if r.name in expressions:
                expression = expressions[r.name]
                derivatives = U[[rows[j.unknown, j.alpha[0]] for j in expression.derivatives]].reshape(
                    len(expression.derivatives), len(X)
                )
                out[e] = expression.at(X, np.zeros_like(X), values, derivatives)[2].T.reshape(out.shape[1:])
        return out

    def _initial_derivatives(
        self,
        trajectory: TrajectorySolution,
        expressions: Mapping[str, DifferentiatedExpression],
        values: tuple[float, ...],
    ) -> Array:
        """Return ∂/∂θ of the initial state, (states, parameters)."""
        e, groups, start = (
            self.evolution,
            trajectory.setup.collocation.equations.groups,
            trajectory.setup.initial_values,
        )
        at = {
            (k, j): start.state[i][row, j]
            for i, g in enumerate(groups)
            for row, k in enumerate(g.unknowns)
            for j in range(g.order)
        }
        rows, X = np.zeros((len(e.initial_conditions), len(self.parameter_indices))), np.array([[e.start]])
        for row, i in enumerate(e.initial_conditions):
            name = compile_problem(trajectory.problem).residuals[i].name
            if name in expressions:
                derivatives = np.array([[at[j.unknown, j.alpha[0]]] for j in expressions[name].derivatives])
                rows[row] = expressions[name].at(X, np.zeros_like(X), values, derivatives)[2][:, 0]
        return start.changes(rows)

    def values(
        self, trajectory: TrajectorySolution, X: Array, derivatives: tuple[PartialDerivative, ...]
    ) -> Array:
        """Return ∂^α u at points, (derivatives, n)."""
        tables, place = self._table(trajectory, X, derivatives)
        unknowns = self._columns(trajectory, derivatives)
        return np.array(
            [np.einsum("nc,nc->n", T, trajectory.coefficients[place, k]) for T, k in zip(tables, unknowns)]
        ).reshape(len(derivatives), len(X))

    def derivatives(
        self, trajectory: TrajectorySolution, X: Array, derivatives: tuple[PartialDerivative, ...]
    ) -> Array:
        """Return ∂^α ∂u/∂θ at points, (parameters, derivatives, n)."""
        _, C = self.differentiate(trajectory)
        tables, place = self._table(trajectory, X, derivatives)
        unknowns = self._columns(trajectory, derivatives)
        found = [np.einsum("nc,ncq->qn", T, C[place, k]) for T, k in zip(tables, unknowns)]
        return np.array(found).reshape(len(derivatives), len(self.parameter_indices), len(X)).swapaxes(0, 1)

    def _columns(
        self, trajectory: TrajectorySolution, derivatives: tuple[PartialDerivative, ...]
    ) -> list[int]:
        order = [k for g in trajectory.setup.collocation.equations.groups for k in g.unknowns]
        return [order.index(j.unknown) for j in derivatives]

    def _table(
        self, trajectory: TrajectorySolution, X: Array, derivatives: tuple[PartialDerivative, ...]
    ) -> Table:
        """Basis values at points; cached for each set of points."""
        key = (X.tobytes(), derivatives)
        if key not in self._tables:
            sign = 1.0 if self.evolution.forward else -1.0
            place = np.searchsorted(sign * self.window_edges[1:-1], sign * X[:, 0])
            half = 0.5 * np.diff(self.window_edges)[place]
            size = trajectory.coefficients.shape[2]
            T = chebyshev_values((X[:, 0] - self.window_edges[place]) / half - 1.0, size)
            orders = [j.alpha[0] for j in derivatives]
            found = [(T @ derivative_matrix(size, m)) * half[:, None] ** -float(m) for m in orders]
            if len(self._tables) >= _MAX_CACHED_TABLES:
                self._tables.clear()
            self._tables[key] = np.array(found).reshape(len(derivatives), len(X), size), place
        return self._tables[key]


def _newton_step(windows: LinearizedWindows, initial_values: InitialValues) -> float:
    """Do one Newton step; return the largest change of z, relative to the magnitude of its unknown."""
    before = np.concatenate([s.ravel() for s in initial_values.state])
    sizes = np.abs(windows.coefficients()).sum(axis=2).max(axis=0)
    sizes = np.where(sizes > 0, sizes, sizes.max() or 1.0)
    change = 0.0
    for part in windows.parts():
        found = windows.linearize(part)
        if found is None:
            return np.inf
        states, end = np.empty_like(found.initial), found.end + found.end_change[..., 0]
        for k in range(len(states)):
            states[k] = before - found.initial[k]
            before = end[k] + found.transfer[k] @ states[k]
        delta = found.particular[..., 0] + np.einsum("wnsq,wq->wns", found.influence, states)
        # For a constant trajectory only the initial state changes, so the states are included.
        changes = windows.split(part, delta[..., None], states[..., None])
        largest = np.concatenate([np.abs(d).max(axis=(2, 3)) for d in changes], axis=1)
        change = max(change, float((largest / sizes).max()))
        windows.update(part, delta, states)
    return change if np.isfinite(change) else np.inf


def _sampled_unknowns(solution: Solution, setup: ODESetup, edges: Array) -> list[Array]:
    """Return the collocation unknowns z of a solution in each window, group by group."""
    equations, r = setup.collocation.equations, setup.collocation.radau
    half = 0.5 * np.diff(edges)
    starts = edges[:-1, None]
    # Strictly inside the window, because a point on an edge may be attributed to the other window.
    inside = np.clip(0.5 * (r.points + 1.0), 1e-9, 1.0 - 1e-9)
    points = (starts + 2.0 * half[:, None] * inside).reshape(-1, 1)
    out = []
    for g in equations.groups:
        z = np.empty((len(half), len(g.unknowns), g.order + r.s))
        for i, k in enumerate(g.unknowns):
            derivatives = tuple(PartialDerivative(k, (j,)) for j in range(g.order + 1))
            high = solution.space.values((points,), derivatives[-1:], solution.coefficients)[0]
            z[:, i, g.order :] = high.reshape(len(half), r.s) * half[:, None] ** float(g.order)
            if g.order:
                low = solution.space.values((starts,), derivatives[:-1], solution.coefficients)
                z[:, i, : g.order] = low.T * half[:, None] ** np.arange(float(g.order))
        out.append(z)
    return out
