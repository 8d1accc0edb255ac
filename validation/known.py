"""Problems built from known solutions: sources and data are derived from them by SymPy."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import sympy as sp

import pibls
from pibls import Problem
from pibls.arrays import Array
from validation.entry import Entry, Reference, References

x, y, z, s, t = sp.symbols("x y z s t")
SETTINGS: Mapping[str, Any] = {"max_nodes": 1500}
TOL = 1e-7
Points = Callable[[pibls.Problem, int], Array]


@dataclass(frozen=True)
class Known:
    """A problem and its exact solution, one expression per unknown."""

    name: str
    kind: str
    problem: Problem
    exact: dict[Any, Any]


def one(
    name: str, kind: str, domain: Any, operator: Callable[[Any], Any], exact: Any,
    conditions: Callable[[Any], list[Any]],
) -> Known:  # fmt: skip
    """Return a problem for one unknown: operator(u) = operator(exact)."""
    u = sp.Function("u")(*domain.coordinates)
    problem = Problem(domain, [sp.Eq(operator(u), operator(exact))], conditions(u))
    return Known(name, kind, problem, {u: exact})


def several(
    name: str, kind: str, domain: Any, operator: Callable[..., list[Any]], exact: list[Any],
    conditions: Callable[..., list[Any]],
) -> Known:  # fmt: skip
    """Return a system: operator(u, v, …) = operator(exact…), component by component."""
    names = ["u", "v", "p", "q"][: len(exact)]
    unknowns = [sp.Function(n)(*domain.coordinates) for n in names]
    left, right = operator(*unknowns), operator(*exact)
    equations = [sp.Eq(a, b) for a, b in zip(left, right, strict=True)]
    problem = Problem(domain, equations, conditions(*unknowns))
    return Known(name, kind, problem, dict(zip(unknowns, exact, strict=True)))


def laplacian(u: Any) -> Any:
    return sum(u.diff(c, 2) for c in u.free_symbols & {x, y, z, s})


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


def interior_points(problem: pibls.Problem, seed: int) -> Array:
    """Return the same 3000 random points for every seed."""
    return np.asarray(problem.domain.interior(3000, np.random.default_rng(77)), dtype=float)


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
