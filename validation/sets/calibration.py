"""Problems of many kinds with known solutions, on which the error estimate is calibrated."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import sympy as sp
from benchmarks.calibration import paper_cases, square_torsion
from benchmarks.problems import Known, all_problems

import pibls
from pibls.arrays import Array
from validation.entry import Entry, Reference, References, interior_points

SETTINGS: Mapping[str, Any] = {"max_nodes": 1500}
TOL = 1e-7
Points = Callable[[pibls.Problem, int], Array]


def function(expression: Any, coordinates: Sequence[Any]) -> Reference:
    """Return a function of arrays for an expression, or for a function or a case of the paper."""
    exact: Any = getattr(expression, "exact", expression)
    if isinstance(exact, sp.Basic):
        exact = sp.lambdify(coordinates, exact, modules=["scipy", "numpy"])

    def values(*X: Array) -> Array:
        return np.broadcast_to(np.asarray(exact(*X), dtype=float), np.shape(X[0]))

    return values


def _problem(known: Known) -> pibls.Problem:
    return known.problem


def _references(known: Known) -> References:
    return {str(u.func): function(e, known.problem.coordinates) for u, e in known.exact.items()}


def from_known(known: Known, name_of_set: str, points: Points = interior_points) -> Entry:
    """Return the entry of a problem with a known solution."""
    return Entry(
        name=known.name,
        set=name_of_set,
        build=partial(_problem, known),
        references=partial(_references, known),
        tol=TOL,
        tags=tuple(known.kind.split(", ")),
        settings=SETTINGS,
        points=points,
    )


def entries() -> Iterator[Entry]:
    """Yield the problems in a fixed order."""
    for known in (*paper_cases(), *all_problems(), square_torsion()):
        yield from_known(known, "calibration")
