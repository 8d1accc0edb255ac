r"""F(u) = 0 = F(ũ), ũ ≠ u: the other solutions of a nonlinear problem."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from pibls.adaptive.evolution import evolution_of
from pibls.adaptive.thresholds import DEFAULT
from pibls.arrays import Array
from pibls.errors import ConvergenceWarning, ProblemError
from pibls.geometry import box_of
from pibls.problem.forms.lowering import lower
from pibls.solution import Solution
from pibls.solution.solve import solve

_FACTORS = (-1.0, 3.0, 10.0, 30.0, -5.0)
"""Starts are multiples of what was found: other branches are mostly larger, or mirrored. Bratu's second
solution (29 times the first for λ = 1) is found from 10 and 30 times the first."""
_WAVES = (2, 3)
"""… and the first few waves over the domain, as large as what was found: buckled shapes."""
_PLACES = 400
_ROUGH, _APART, _FEW = 1e-3, 1e-2, 400
"""A start is followed to few digits first, which is quick, and to all of them where it leads elsewhere: on
Liouville's equation seven starts took minutes, now seconds, and more of them find the second solution."""


def others(solution: Solution) -> tuple[Solution, ...]:
    """Other solutions of the same problem, each with its own estimate; none for a linear problem.

    The problem is solved again from other starts. What is found from several of them is named once. That
    nothing was found proves nothing.

    >>> import sympy as sp, pibls
    >>> x = sp.Symbol("x")
    >>> u = sp.Function("u")(x)
    >>> bratu = pibls.Problem(pibls.Interval(x, 0, 1), [u.diff(x, 2) + sp.exp(u)], [pibls.Dirichlet(u, 0)])
    >>> first = pibls.solve(bratu)
    >>> [round(float(s(0.5)), 4) for s in (first, *first.others)]
    [0.1405, 4.0915]
    """
    problem = solution.problem
    if problem.is_linear or evolution_of(lower(problem), problem.domain) is not None:
        return ()
    X = np.asarray(problem.domain.interior(_PLACES, np.random.default_rng(9)), dtype=float)
    known = [_values(solution, X)]
    out: list[Solution] = []
    for start in _starts(solution, known[0]):
        rough = _from(solution, start, max(solution.tol, _ROUGH), _FEW * len(problem.unknowns))
        if rough is None or not _is_new(rough, X, known, _APART):
            continue
        found = _from(solution, rough, solution.tol)
        if found is not None and _is_new(found, X, known, DEFAULT.different):
            known.append(_values(found, X))
            out.append(found)
    return tuple(out)


def _from(solution: Solution, start: Any, tol: float, max_nodes: int = 4000) -> Solution | None:
    """What is found from a start; None where nothing is, or where the equation is not finite there."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        try:
            found = solve(solution.problem, tol=tol, seed=solution.seed, guess=start, max_nodes=max_nodes)
        except ProblemError:
            return None
    return found if found.converged else None


def _is_new(found: Solution, X: Array, known: list[Array], apart: float) -> bool:
    values = _values(found, X)
    return all(_differ(values, v, apart) for v in known)


def _starts(solution: Solution, values: Array) -> list[dict[Any, Any]]:
    unknowns = solution.problem.unknowns
    sizes = np.abs(values).max(axis=1, initial=0.0)
    # Of what is zero multiples lead nowhere: a rod that is loaded and straight.
    straight = bool(sizes.max() <= solution.error.max)
    sizes = np.ones(len(sizes)) if straight else np.where(sizes > 0, sizes, sizes.max())

    def multiple(u: Any, factor: float) -> Any:
        return lambda *X: factor * solution[u](*X)

    def wave(size: float, k: int) -> Any:
        low, high = box_of(solution.problem.domain).T

        def shape(*X: Array) -> Array:
            parts = [np.sin(k * np.pi * (x - a) / (b - a)) for x, a, b in zip(X, low, high, strict=True)]
            return np.asarray(size * np.prod(parts, axis=0))

        return shape

    out = [{u: multiple(u, c) for u in unknowns} for c in _FACTORS if not straight]
    waves = (1, *_WAVES) if straight else _WAVES
    return out + [{u: wave(float(s), k) for u, s in zip(unknowns, sizes, strict=True)} for k in waves]


def _values(solution: Solution, X: Array) -> Array:
    return np.array([solution[u](*X.T) for u in solution.problem.unknowns])


def _differ(first: Array, second: Array, apart: float) -> bool:
    """Whether two functions are not the same, for some unknown."""
    size = np.maximum(np.abs(first).max(axis=1), np.abs(second).max(axis=1))
    return bool(np.any(np.abs(first - second).max(axis=1) > apart * size))
