"""A small solution, and comparisons of solutions, for tests of saved files."""

from __future__ import annotations

import struct
import warnings
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import sympy as sp

import pibls
from tests.solved_problems import x

HEADER_START = struct.Struct("<8sIQ")
u, v = sp.Function("u"), sp.Function("v")


def solve_quietly(problem: pibls.Problem, basis: Any, **settings: Any) -> pibls.Solution:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pibls.ConvergenceWarning)
        return pibls.solve(problem, basis=basis, **settings)


@lru_cache
def small_solution() -> pibls.Solution:
    """Return a solution whose file has little more than a kilobyte."""
    problem = pibls.Problem(pibls.Interval(x, 0, 1), [u(x).diff(x) - u(x)], [pibls.Initial(u(x), 1)])
    solution = solve_quietly(problem, pibls.Waves(4, scale=1.0))
    each = tuple(replace(e, history=()) for e in solution.error.each)
    estimate = replace(solution.error, history=(), each=each)
    return replace(solution, estimator=lambda: estimate)


def is_bitwise_equal(a: Any, b: Any) -> bool:
    """Whether two arrays agree bit for bit, NaN included."""
    return np.asarray(a).tobytes() == np.asarray(b).tobytes()


def assert_same_solution(
    loaded: pibls.Solution, solution: pibls.Solution, expressions: Sequence[Any] | None = None
) -> None:
    """Assert that all public attributes and values of two solutions agree."""
    assert loaded.problem == solution.problem
    assert is_bitwise_equal(loaded.coefficients, solution.coefficients)
    assert loaded.summary() == solution.summary()
    assert loaded.message == solution.message
    for name in (
        "status",
        "residuals",
        "seconds",
        "seed",
        "tol",
        "steps",
        "history",
        "error",
        "nodes",
        "windows",
    ):
        assert getattr(loaded, name) == getattr(solution, name), name
    for name in ("checked", "each", "history"):
        assert getattr(loaded.error, name) == getattr(solution.error, name), name
    assert loaded.notes.keys() == solution.notes.keys()
    low, high = np.array(solution.problem.domain.bounds, dtype=float).T
    rng = np.random.default_rng(5)
    unknowns = solution.problem.unknowns
    if expressions is None:
        c, last = solution.problem.coordinates[0], solution.problem.coordinates[-1]
        expressions = [e for w in unknowns for e in (w, w.diff(c), w.diff(c, 2), w.diff(c, last) * w + c)]
    for n in (1, 7, 600):  # matrix products round differently for few and for many points
        X = rng.uniform(low - 0.1, high + 0.1, (n, len(low))).T
        for e in expressions:
            assert is_bitwise_equal(loaded.evaluate(e, *X), solution.evaluate(e, *X)), (e, n)


def save_and_load(solution: pibls.Solution, tmp_path: Path, **options: Any) -> pibls.Solution:
    return pibls.load(solution.save(tmp_path / "saved.pibls"), **options)
