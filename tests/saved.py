"""A small solution and its file, for the tests of solutions on disk."""

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
from tests.solved import x

START = struct.Struct("<8sIQ")
u, v = sp.Function("u"), sp.Function("v")


def quickly(problem: pibls.Problem, basis: Any, **settings: Any) -> pibls.Solution:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pibls.ConvergenceWarning)
        return pibls.solve(problem, basis=basis, **settings)


@lru_cache
def small() -> pibls.Solution:
    """A file of little more than a kilobyte."""
    problem = pibls.Problem(pibls.Interval(x, 0, 1), [u(x).diff(x) - u(x)], [pibls.Initial(u(x), 1)])
    solution = quickly(problem, pibls.Waves(4, scale=1.0))
    each = tuple(replace(e, history=()) for e in solution.error.each)
    estimate = replace(solution.error, history=(), each=each)
    return replace(solution, estimator=lambda: estimate)


def equal(a: Any, b: Any) -> bool:
    """Bit for bit, NaN included."""
    return np.asarray(a).tobytes() == np.asarray(b).tobytes()


def check_same(
    loaded: pibls.Solution, solution: pibls.Solution, expressions: Sequence[Any] | None = None
) -> None:
    """Everything that a solution can be asked for."""
    assert loaded.problem == solution.problem
    assert equal(loaded.coefficients, solution.coefficients)
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
    for n in (1, 7, 600):  # products round differently for few and for many points
        X = rng.uniform(low - 0.1, high + 0.1, (n, len(low))).T
        for e in expressions:
            assert equal(loaded.evaluate(e, *X), solution.evaluate(e, *X)), (e, n)


def back(solution: pibls.Solution, tmp_path: Path, **options: Any) -> pibls.Solution:
    return pibls.load(solution.save(tmp_path / "there.pibls"), **options)
