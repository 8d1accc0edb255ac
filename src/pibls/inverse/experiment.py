r"""One problem with its data: the predictions θ ↦ g[u(θ)](xᵢ) and their derivatives."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from pibls.arrays import Array
from pibls.errors import ProblemError
from pibls.expressions import Expression
from pibls.inverse.data import Data
from pibls.inverse.fit_parameters import FitParameters
from pibls.inverse.full_solver import solution_at
from pibls.inverse.least_squares_window import FixedSpaceError
from pibls.inverse.observation import Observation, compile_observation
from pibls.inverse.parametric_solver import ParametricSolver, parametric_solver
from pibls.problem import Problem
from pibls.solution import Solution
from pibls.solution.settings import SolveSettings


@dataclass
class StoredSpace:
    """Solver, state and θ of an earlier fit, from which a later fit of the same problem starts."""

    value: tuple[ParametricSolver, Any, Array] | None = None


@dataclass
class Experiment:
    """A problem, its data, and the solver that is reused for all values of the parameters."""

    problem: Problem
    data: tuple[Data, ...]
    unknowns: FitParameters
    settings: SolveSettings
    fixed_space_solves: int = 0
    """The number of solves that reused a space."""
    full_solves: int = 0
    """The number of adaptive solves, each of which determines a new space."""
    _solver: ParametricSolver | None = None
    _state: Any = None
    """The solution at the last θ, in the representation of the solver."""
    _theta: Array = field(default_factory=lambda: np.empty(0))
    _observations: list[Observation] = field(default_factory=list)
    space_theta: Array | None = None
    """θ of the last full solve, which determined the space."""
    space_solution: Solution | None = None
    """The solution of the last full solve."""

    def __post_init__(self) -> None:
        own = list(self.problem.parameters)
        self._fitted_indices = [i for i, s in enumerate(self.unknowns.symbols) if s in own]
        """Indices of the fit's parameters that occur in the problem."""
        self._parameter_indices = [own.index(self.unknowns.symbols[i]) for i in self._fitted_indices]
        points = [d.points_in(self.problem) for d in self.data]
        self._observations = [
            self.observation(d.expression, X) for d, X in zip(self.data, points, strict=True)
        ]

    def observation(self, expression: Expression, X: Array) -> Observation:
        """Return an expression compiled for evaluation at points."""
        return compile_observation(self.problem, expression, X, self.unknowns.symbols)

    def problem_at(self, theta: Array) -> Problem:
        """Return the problem at these parameter values."""
        return self.problem.at({self.unknowns.symbols[i]: theta[i] for i in self._fitted_indices})

    def solve(self, theta: Array) -> None:
        """Set the state to the solution at θ: in the fixed space if that works, else by a full solve."""
        if self._state is not None and np.array_equal(theta, self._theta):
            return
        if self._state is None:
            self._restore_cached_space()
        if self._solver is not None and self._state is not None:
            step = (theta - self._theta)[self._fitted_indices]
            try:
                self._state = self._solver.solve_at(self.problem_at(theta), self._state, step)
                self._theta = theta.copy()
                self.fixed_space_solves += 1
                return
            except FixedSpaceError:
                pass
        self.rebuild_space(theta)

    def rebuild_space(self, theta: Array) -> Solution:
        """Determine a new space by a full solve at θ."""
        found = solution_at(self.problem_at(theta), self.settings)
        self.full_solves += 1
        try:
            solver, state = parametric_solver(found, self._parameter_indices, self.settings)
        except FixedSpaceError:
            raise ProblemError(
                "tol",
                expected="solutions that can be reproduced in their own space",
                got=f"one that cannot, with tol = {found.tol:g}. {found.explanation}",
                remedy="Lower tol.",
            ) from None
        self._solver, self._state, self._theta = solver, state, theta.copy()
        self.space_theta, self.space_solution = theta.copy(), found
        if solver.is_cacheable:
            self._stored_space.value = (solver, state, theta.copy())
        return found

    @property
    def _stored_space(self) -> StoredSpace:
        """The space that an earlier fit of this problem with the same unknowns and settings has found."""
        key = f"{self.unknowns.symbols} {sorted(self.settings.items(), key=lambda item: item[0])}"
        return self.problem.symbolic_memo(StoredSpace, key=key)

    def _restore_cached_space(self) -> None:
        """Restore the solver and state that an earlier fit of this problem has cached."""
        cached = self._stored_space.value
        if cached is not None and not self.full_solves:
            self._solver, self._state, theta = cached
            self._theta = self.space_theta = theta.copy()

    def predict(self, theta: Array) -> Array:
        """Return g[u(θ)] at all data, (data,)."""
        self.solve(theta)
        return np.concatenate([self.observation_value(m, theta) for m in self._observations])

    def observation_value(self, m: Observation, theta: Array) -> Array:
        """Return one observation of the current solution, (points,)."""
        assert self._solver is not None
        assert self._state is not None
        return m.value(self._parameter_values(theta), partial(self._solver.values, self._state))

    def jacobian(self, theta: Array) -> Array:
        """Return ∂g/∂θ at all data, (data, parameters)."""
        self.solve(theta)
        return np.concatenate([self.observation_jacobian(m, theta) for m in self._observations])

    def observation_jacobian(self, m: Observation, theta: Array) -> Array:
        """Return ∂g/∂θ of one observation, (points, parameters)."""
        assert self._solver is not None
        assert self._state is not None
        slopes = partial(self._solver.derivatives, self._state) if self._parameter_indices else None
        values = partial(self._solver.values, self._state)
        return m.jacobian(self._parameter_values(theta), values, slopes, self._fitted_indices)

    def _parameter_values(self, theta: Array) -> tuple[float, ...]:
        """Values of the problem's parameters, followed by those that occur only in the data."""
        values = dict(self.problem.parameters)
        values.update(zip(self.unknowns.symbols, theta, strict=True))
        return tuple(values.values())

    def discard_state(self) -> Any:
        """Discard the state, so that the next solve does not start from it."""
        old, self._state = self._state, None
        return old
