r"""u(θ) by full solves, and ∂u/∂θ ≈ (u(θ + h) - u(θ - h))/2h, where no fixed space can be used.

An impulse in time makes the solution jump between two windows, which `pibls.inverse.fixed_space_solver` and
`pibls.inverse.ode_parameter_solver` do not support. A problem with several materials is solved again in the
subdomain spaces of the first solution.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field

import numpy as np

from pibls.arrays import Array
from pibls.errors import ConvergenceWarning, ProblemError
from pibls.inverse.fixed_space_solver import check_fixed_interfaces
from pibls.inverse.least_squares_window import check_residual
from pibls.problem import PartialDerivative, Problem
from pibls.problem.forms.compilation import compile_problem
from pibls.solution import Solution
from pibls.solution.settings import SolveSettings
from pibls.solution.solve import solve, solve_again

_MIN_RELATIVE_STEP = 1e-4  # of a parameter in central differences; tol may require a larger one


@dataclass
class SolutionStencil:
    """The solution at one value of the parameters, with the neighbours used in central differences."""

    solution: Solution
    neighbours: list[tuple[float, Solution, Solution]] = field(default_factory=list)
    """For each varying parameter 2h and the solutions at θ ± h; computed on first use."""


@dataclass
class FullSolver:
    """Solver that computes a full solution for each value of the parameters."""

    parameter_indices: tuple[int, ...]
    interface_planes: tuple[tuple[int, float], ...]
    settings: SolveSettings
    reference: Solution | None = None
    """The solution whose space and points all others use, for a problem with several materials."""
    is_cacheable: bool = True

    def solve_at(self, problem: Problem, previous: SolutionStencil, step: Array) -> SolutionStencil:
        """Solve at other parameters; ``previous`` and ``step`` are not used."""
        check_fixed_interfaces(compile_problem(problem), self.interface_planes)
        return SolutionStencil(self._solve(problem))

    def _solve(self, problem: Problem) -> Solution:
        if self.reference is None:
            return solution_at(problem, self.settings)
        found = solve_again(problem, self.reference)
        check_residual(_max_residual(found), _max_residual(self.reference), found.tol)
        return found

    def values(self, stencil: SolutionStencil, X: Array, derivatives: tuple[PartialDerivative, ...]) -> Array:
        """Return ∂^α u at points, (derivatives, n)."""
        return stencil.solution.space.values((X,), derivatives, stencil.solution.coefficients)

    def derivatives(
        self, stencil: SolutionStencil, X: Array, derivatives: tuple[PartialDerivative, ...]
    ) -> Array:
        """Return ∂^α ∂u/∂θ at points, (parameters, derivatives, n)."""
        if not stencil.neighbours:
            stencil.neighbours = [self._difference_pair(stencil.solution, k) for k in self.parameter_indices]
        found = [
            (
                up.space.values((X,), derivatives, up.coefficients)
                - down.space.values((X,), derivatives, down.coefficients)
            )
            / width
            for width, up, down in stencil.neighbours
        ]
        return np.array(found).reshape(len(self.parameter_indices), len(derivatives), len(X))

    def _difference_pair(self, solution: Solution, k: int) -> tuple[float, Solution, Solution]:
        problem = solution.problem
        symbol = list(problem.parameters)[k]
        value = problem.parameters[symbol]
        # Balances the truncation error O(h²) and the error of the solutions divided by h.
        relative_step = (
            max(solution.tol ** (1 / 3), _MIN_RELATIVE_STEP) if self.reference is None else _MIN_RELATIVE_STEP
        )
        h = relative_step * (abs(value) or 1.0)
        up, down = (self._solve(problem.at({symbol: value + s * h})) for s in (1.0, -1.0))
        return 2.0 * h, up, down


def solution_at(problem: Problem, settings: SolveSettings) -> Solution:
    """Solve a problem; raise a `ProblemError` if no usable solution is found."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        found = solve(problem, **settings)
    error = found.error
    sizes = _max_abs(found)
    if not found.converged and not (error.checked and error.max < 1e-2 * sizes):
        values = ", ".join(f"{k} = {v:.6g}" for k, v in problem.parameters.items())
        raise ProblemError(
            "problem",
            expected="a problem that has a solution for all parameters within the bounds",
            got=f"none at {values}. {found.explanation}",
            remedy="Change the initial values in Problem(parameters=…), or narrow the bounds.",
        )
    return found


def _max_residual(solution: Solution) -> float:
    return max(n.relative for n in solution.residuals.values())


def _max_abs(solution: Solution) -> float:
    X = solution.problem.domain.interior(128, np.random.default_rng(0))
    return max(float(np.abs(solution[u](*X.T)).max()) for u in solution.problem.unknowns)
