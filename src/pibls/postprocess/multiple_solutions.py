r"""Further solutions ũ ≠ u of a nonlinear stationary problem F(u) = 0, found from other initial guesses.

The guesses are multiples of the known solution, and sine waves.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from pibls.adaptive.thresholds import DEFAULT
from pibls.analysis.evolution import evolution_of
from pibls.arrays import Array, PointFunction
from pibls.errors import ConvergenceWarning, ProblemError
from pibls.expressions import Unknown
from pibls.geometry import box_of
from pibls.problem.forms.compilation import compile_problem
from pibls.solution import Solution
from pibls.solution.solve import solve

_FACTORS = (-1.0, 3.0, 10.0, 30.0, -5.0)
"""Multiples of the known solution used as guesses, because other branches are mostly larger or mirrored. The
second solution of Bratu's equation (29 times the first for λ = 1) is found from the factors 10 and 30."""
_HALF_WAVES = (2, 3)
"""Numbers of half waves of sine guesses with the magnitude of the known solution, for buckled shapes."""
_SAMPLE_POINTS = 400
_COARSE_TOL, _COARSE_DIFFERENCE, _COARSE_NODES = 1e-3, 1e-2, 400
"""Each guess is solved to a coarse tolerance first, and to the full tolerance only if the result is new. For
Liouville's equation this reduced the time for seven guesses from minutes to seconds, and more of them
find the second solution."""


def other_solutions(solution: Solution) -> tuple[Solution, ...]:
    """Return further solutions of the same problem, each with its own error estimate.

    The problem is solved again from other initial guesses, and duplicates are removed. An empty result does
    not prove that there is no other solution. It is always empty for linear problems and evolutions.

    >>> import sympy as sp, pibls
    >>> x = sp.Symbol("x")
    >>> u = sp.Function("u")(x)
    >>> bratu = pibls.Problem(pibls.Interval(x, 0, 1), [u.diff(x, 2) + sp.exp(u)], [pibls.Dirichlet(u, 0)])
    >>> first = pibls.solve(bratu)
    >>> [round(float(s(0.5)), 4) for s in (first, *first.others)]
    [0.1405, 4.0915]
    """
    problem = solution.problem
    if problem.is_linear or evolution_of(compile_problem(problem), problem.domain) is not None:
        return ()
    X = np.asarray(problem.domain.interior(_SAMPLE_POINTS, np.random.default_rng(9)), dtype=float)
    known = [_values(solution, X)]
    out: list[Solution] = []
    for guess in _guesses(solution, known[0]):
        coarse = _solve_from(
            solution, guess, max(solution.tol, _COARSE_TOL), _COARSE_NODES * len(problem.unknowns)
        )
        if coarse is None or not _is_new(coarse, X, known, _COARSE_DIFFERENCE):
            continue
        found = _solve_from(solution, coarse, solution.tol)
        if found is not None and _is_new(found, X, known, DEFAULT.min_solution_difference):
            known.append(_values(found, X))
            out.append(found)
    return tuple(out)


def _solve_from(solution: Solution, guess: Any, tol: float, max_nodes: int = 4000) -> Solution | None:
    """Return the solution found from a guess, or None if there is none or the equation is not finite."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        try:
            found = solve(solution.problem, tol=tol, seed=solution.seed, guess=guess, max_nodes=max_nodes)
        except ProblemError:
            return None
    return found if found.converged else None


def _is_new(found: Solution, X: Array, known: list[Array], min_difference: float) -> bool:
    values = _values(found, X)
    return all(_differ(values, v, min_difference) for v in known)


def _guesses(solution: Solution, values: Array) -> list[dict[Unknown, Any]]:
    unknowns = solution.problem.unknowns
    sizes = np.abs(values).max(axis=1, initial=0.0)
    # Multiples of zero are no new guesses, for example for a straight rod under axial load.
    is_zero = bool(sizes.max() <= solution.error.max)
    sizes = np.ones(len(sizes)) if is_zero else np.where(sizes > 0, sizes, sizes.max())

    def multiple(u: Unknown, factor: float) -> PointFunction:
        return lambda *X: factor * solution[u](*X)

    def wave(size: float, k: int) -> PointFunction:
        low, high = box_of(solution.problem.domain).T

        def shape(*X: Array) -> Array:
            parts = [np.sin(k * np.pi * (x - a) / (b - a)) for x, a, b in zip(X, low, high, strict=True)]
            return np.asarray(size * np.prod(parts, axis=0))

        return shape

    out = [{u: multiple(u, c) for u in unknowns} for c in _FACTORS if not is_zero]
    waves = (1, *_HALF_WAVES) if is_zero else _HALF_WAVES
    return out + [{u: wave(float(s), k) for u, s in zip(unknowns, sizes, strict=True)} for k in waves]


def _values(solution: Solution, X: Array) -> Array:
    return np.array([solution[u](*X.T) for u in solution.problem.unknowns])


def _differ(first: Array, second: Array, min_difference: float) -> bool:
    """Whether two functions differ in some unknown."""
    size = np.maximum(np.abs(first).max(axis=1), np.abs(second).max(axis=1))
    return bool(np.any(np.abs(first - second).max(axis=1) > min_difference * size))
