"""The protocol of solvers for θ ↦ u(θ), ∂u/∂θ, and the choice among them.

ODEs use fixed windows, other problems a fixed space. Impulses in time and tensor-product spaces on a box need
full solves; a problem with several materials is solved again in the spaces of its subdomains.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from pibls.analysis.evolution import evolution_of, has_jumps_in_time
from pibls.arrays import Array
from pibls.inverse.fixed_space_solver import FixedSpaceSolver, supports_fixed_space
from pibls.inverse.full_solver import FullSolver, SolutionStencil
from pibls.inverse.ode_parameter_solver import ODEParameterSolver
from pibls.problem import PartialDerivative, Problem
from pibls.problem.forms.compilation import compile_problem
from pibls.problem.interfaces.decomposition import subdomain_decomposition
from pibls.solution import Solution
from pibls.solution.settings import SolveSettings


class ParametricSolver(Protocol):
    """Solver of one problem at varying parameters.

    A state is the solver's own representation of the solution at one value of the parameters.
    """

    @property
    def is_cacheable(self) -> bool:
        """Whether it is small enough to be cached for the next fit."""

    def solve_at(self, problem: Problem, previous: Any, step: Array) -> Any:
        """Return the state at other parameters; raise a `FixedSpaceError` if that fails.

        ``previous`` is the state at nearby parameters, ``step`` the difference in θ.
        """

    def values(self, state: Any, X: Array, derivatives: tuple[PartialDerivative, ...]) -> Array:
        """Return ∂^α u at points, (derivatives, n)."""

    def derivatives(self, state: Any, X: Array, derivatives: tuple[PartialDerivative, ...]) -> Array:
        """Return ∂^α ∂u/∂θ at points, (parameters, derivatives, n)."""


def parametric_solver(
    solution: Solution, parameter_indices: Sequence[int], settings: SolveSettings
) -> tuple[ParametricSolver, Any]:
    """Return a solver that reuses the space of this solution if possible, and the state at its parameters."""
    compiled = compile_problem(solution.problem)
    evolution = evolution_of(compiled, solution.problem.domain)
    windows = bool(solution.windows)  # space-time cells resolve jumps in time at their faces
    if windows and evolution is not None and has_jumps_in_time(compiled, evolution):
        return FullSolver(tuple(parameter_indices), compiled.interfaces.planes, settings), SolutionStencil(
            solution
        )
    if subdomain_decomposition(solution.problem) is not None:
        return FullSolver(
            tuple(parameter_indices), compiled.interfaces.planes, settings, solution
        ), SolutionStencil(solution)
    trajectory = ODEParameterSolver.from_solution(solution, parameter_indices)
    if trajectory is not None:
        return trajectory
    if not supports_fixed_space(solution.space):  # tensor-product bases on a box
        return FullSolver(tuple(parameter_indices), compiled.interfaces.planes, settings), SolutionStencil(
            solution
        )
    fixed = FixedSpaceSolver.from_solution(solution, parameter_indices)
    return fixed, fixed.reproduce(solution)
