"""Small problems, a strategy and artificial candidates for unit tests of the adaptive package."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import sympy as sp

import pibls
from pibls.adaptive.budget import Budget
from pibls.adaptive.candidate import Candidate
from pibls.adaptive.random_features.strategy import RandomFeatureStrategy
from pibls.adaptive.validation.conditioning import Conditioning
from pibls.adaptive.validation.context import ValidationContext
from pibls.adaptive.validation.estimate import Norms
from pibls.nonlinear import Outcome
from pibls.problem.forms.compilation import compile_problem
from pibls.status import Status

x, y = sp.symbols("x y")
u = sp.Function("u")
GROWTH = sp.exp(x)


def interval_problem(source: Any = GROWTH) -> pibls.Problem:
    return pibls.Problem(
        pibls.Interval(x, 0, 1), [sp.Eq(u(x).diff(x, 2), source)], [pibls.Dirichlet(u(x), 0)]
    )


def square_problem(source: Any = GROWTH) -> pibls.Problem:
    v = u(x, y)
    return pibls.Problem(
        pibls.Box({x: (0, 1), y: (0, 1)}),
        [sp.Eq(v.diff(x, 2) + v.diff(y, 2), source)],
        [pibls.Dirichlet(v, 0)],
    )


def make_strategy(tol: float = 1e-10, problem: pibls.Problem | None = None) -> RandomFeatureStrategy:
    problem = interval_problem() if problem is None else problem
    context = ValidationContext.of(compile_problem(problem), problem.domain, 0, tol)
    return RandomFeatureStrategy(context, Budget(0.0, None, 4000))


def make_candidate(
    relative: float, value: float = 1.0, *, nodes: int = 64, stability_constant: float = math.inf
) -> Candidate:
    """Return a candidate with a constant solution and the given relative residual."""
    outcome = Outcome(np.zeros(nodes), 0.0, 1, Status.SOLVED)
    norms = {"equation": Norms(relative, relative, relative)}
    basis = pibls.Waves(nodes, scale=1.0)
    values = np.full((1, 8), value)
    remaining: dict[str, Any] = {"space": None, "seconds": 0.0, "settings": {"basis": basis}}
    return Candidate(
        outcome=outcome,
        residuals=norms,
        values=values,
        conditioning=Conditioning(stability_constant),
        **remaining,
    )
