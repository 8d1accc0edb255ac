r"""u(θ) by a full solve, ∂u/∂θ ≈ (u(θ + h) - u(θ - h))/2h: where nothing can be kept.

A source that lives on one moment kicks the solution between two windows. What `fitting.held` and
`fitting.followed` hand on from window to window knows nothing of it. Materials have a space for each piece,
which is kept, and is solved in again.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pibls.arrays import Array
from pibls.errors import ConvergenceWarning, ProblemError
from pibls.inverse.held import unmoved_jumps
from pibls.inverse.stages import serves
from pibls.problem import Jet, Problem
from pibls.problem.forms.lowering import lower
from pibls.solution import Solution
from pibls.solution.solve import resolved, solve

_LEAST = 1e-4  # of a parameter: the step of differences, where tol allows it


@dataclass
class Solved:
    """The solution at one value of the parameters, and those beside it once they are asked for."""

    solution: Solution
    beside: list[tuple[float, Solution, Solution]] = field(default_factory=list)
    """For each moving parameter: 2h, and the solutions at both sides."""


@dataclass
class Anew:
    """Every solution is searched for."""

    moving: tuple[int, ...]
    planes: tuple[tuple[int, float], ...]
    settings: dict[str, Any]
    about: Solution | None = None
    """In whose space and at whose points all others are solved, where there are materials."""
    small: bool = True

    def at(self, problem: Problem, past: Solved, step: Array) -> Solved:
        """The solution at other parameters."""
        unmoved_jumps(lower(problem), self.planes)
        return Solved(self._solved(problem))

    def _solved(self, problem: Problem) -> Solution:
        if self.about is None:
            return solution_at(problem, self.settings)
        found = resolved(problem, self.about)
        serves(_left(found), _left(self.about), found.tol)
        return found

    def values(self, chain: Solved, X: Array, jets: tuple[Jet, ...]) -> Array:
        """∂^α u at points, (jets, n)."""
        return chain.solution.space.values((X,), jets, chain.solution.coefficients)

    def derivatives(self, chain: Solved, X: Array, jets: tuple[Jet, ...]) -> Array:
        """∂^α ∂u/∂θ at points, (parameters, jets, n)."""
        if not chain.beside:
            chain.beside = [self._beside(chain.solution, k) for k in self.moving]
        found = [
            (up.space.values((X,), jets, up.coefficients) - down.space.values((X,), jets, down.coefficients))
            / width
            for width, up, down in chain.beside
        ]
        return np.array(found).reshape(len(self.moving), len(jets), len(X))

    def _beside(self, solution: Solution, k: int) -> tuple[float, Solution, Solution]:
        problem = solution.problem
        symbol = list(problem.parameters)[k]
        value = problem.parameters[symbol]
        # What h² leaves and what the error of two solutions makes of 1/h are alike.
        share = max(solution.tol ** (1 / 3), _LEAST) if self.about is None else _LEAST
        h = share * (abs(value) or 1.0)
        up, down = (self._solved(problem.at({symbol: value + s * h})) for s in (1.0, -1.0))
        return 2.0 * h, up, down


def solution_at(problem: Problem, settings: dict[str, Any]) -> Solution:
    """A full solve, which must end with a solution."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        found = solve(problem, **settings)
    error = found.error
    sizes = _size(found)
    if not found.converged and not (error.checked and error.max < 1e-2 * sizes):
        values = ", ".join(f"{k} = {v:.6g}" for k, v in problem.parameters.items())
        raise ProblemError(
            "problem",
            expected="a problem that has a solution wherever its parameters may lie",
            got=f"none at {values}. {found.explanation}",
            remedy="Begin elsewhere (the values in Problem(parameters=…)), or narrow the bounds.",
        )
    return found


def _left(solution: Solution) -> float:
    return max(n.relative for n in solution.residuals.values())


def _size(solution: Solution) -> float:
    X = solution.problem.domain.interior(128, np.random.default_rng(0))
    return max(float(np.abs(solution[u](*X.T)).max()) for u in solution.problem.unknowns)
