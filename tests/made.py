"""Problems, plans and attempts that tests make by hand."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import sympy as sp

import pibls
from pibls.adaptive.budget import Budget
from pibls.adaptive.candidate import Attempt
from pibls.adaptive.random_features.strategy import WavePlan
from pibls.adaptive.validation.conditioning import Probed
from pibls.adaptive.validation.context import Bench
from pibls.adaptive.validation.estimate import Norms
from pibls.nonlinear import Outcome
from pibls.problem.forms.lowering import lower
from pibls.status import Status

x, y = sp.symbols("x y")
u = sp.Function("u")
GROWTH = sp.exp(x)


def line(source: Any = GROWTH) -> pibls.Problem:
    return pibls.Problem(
        pibls.Interval(x, 0, 1), [sp.Eq(u(x).diff(x, 2), source)], [pibls.Dirichlet(u(x), 0)]
    )


def plane(source: Any = GROWTH) -> pibls.Problem:
    v = u(x, y)
    return pibls.Problem(
        pibls.Box({x: (0, 1), y: (0, 1)}),
        [sp.Eq(v.diff(x, 2) + v.diff(y, 2), source)],
        [pibls.Dirichlet(v, 0)],
    )


def plan(tol: float = 1e-10, problem: pibls.Problem | None = None) -> WavePlan:
    problem = line() if problem is None else problem
    bench = Bench.of(lower(problem), problem.domain, 0, tol)
    return WavePlan(bench, Budget(0.0, None, 4000))


def found(relative: float, value: float = 1.0, *, nodes: int = 64, stiffness: float = math.inf) -> Attempt:
    """An attempt that found a constant, with that residual everywhere."""
    outcome = Outcome(np.zeros(nodes), 0.0, 1, Status.SOLVED)
    norms = {"equation": Norms(relative, relative, relative)}
    basis = pibls.Waves(nodes, scale=1.0)
    values = np.full((1, 8), value)
    made: dict[str, Any] = {"space": None, "seconds": 0.0, "work": 0.0, "settings": {"basis": basis}}
    return Attempt(outcome=outcome, residuals=norms, values=values, probed=Probed(stiffness), **made)
