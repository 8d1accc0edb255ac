"""Problems that one smooth basis does not resolve: layers, fronts, peaks, waves, corners."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
from benchmarks.hard_problems import PROBLEMS, Hard

import pibls
from pibls.arrays import Array
from validation.entry import Entry, References

Make = Callable[[], Hard]


def _problem(make: Make) -> pibls.Problem:
    return make().problem


def _references(make: Make) -> References:
    hard = make()
    (unknown,) = hard.problem.unknowns
    return {str(unknown.func): lambda *X: hard.exact(np.column_stack(X))}


def points(hard: Hard) -> Array:
    """Return points in the whole domain, and near the point where the problem is hard."""
    rng = np.random.default_rng(99)
    X = np.asarray(hard.problem.domain.interior(4000, rng))
    if hard.near is None:
        return X
    close = hard.near[0] + hard.near[1] * rng.standard_normal((2000, X.shape[1]))
    close = close[np.asarray(hard.problem.domain.contains(close), dtype=bool)]
    return np.concatenate([X, close])


def _points(make: Make, problem: pibls.Problem, seed: int) -> Array:
    return points(make())


def entries() -> Iterator[Entry]:
    """Yield the problems in a fixed order."""
    for name, make in PROBLEMS.items():
        yield Entry(
            name=name,
            set="hard_cells",
            build=partial(_problem, make),
            references=partial(_references, make),
            tol=make().tol,
            points=partial(_points, make),
        )
