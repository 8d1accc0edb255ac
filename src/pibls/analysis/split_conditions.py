r"""Splitting of conditions u = g with a piecewise g into one condition for each part of the side.

A jump or kink of the values on a side acts as a corner. Its singular functions are known where two conditions
meet (`analysis.corners.incompatible_conditions`), but not inside a single condition.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import sympy as sp
from sympy.logic.boolalg import Boolean

from pibls.analysis.evolution import evolution_of
from pibls.geometry import time_of
from pibls.problem import Periodic, Problem
from pibls.problem.conditions import BoundaryCondition
from pibls.problem.forms.compilation import compile_problem
from pibls.problem.regions.selection import boundary_probes, region_of

_PIECEWISE = (sp.Piecewise, sp.Heaviside, sp.sign, sp.Abs, sp.Max, sp.Min)


def split_piecewise_conditions(problem: Problem) -> Problem:
    """Return the problem with piecewise conditions in 2D split at their breakpoints."""
    if len(problem.coordinates) != 2 or time_of(problem.domain) is not None or problem.parameters:
        return problem
    return problem.memo(_split)


def _split(problem: Problem) -> Problem:
    if any(s.form.switches for s in problem.statements[: len(problem.equations)]):
        return problem  # singular functions at the ends of interfaces are derived from undivided sides
    conditions = [part for c in problem.conditions for part in _split_condition(c, problem)]
    # The initial condition of an evolution is not split.
    if (
        len(conditions) == len(problem.conditions)
        or evolution_of(compile_problem(problem), problem.domain) is not None
    ):
        return problem
    return Problem(problem.domain, problem.equations, conditions)


def _names_whole_place(condition: BoundaryCondition, problem: Problem) -> bool:
    """Whether a condition holds where a relation does, or, alone for its unknown, on the whole boundary."""
    if condition.on is not None:
        return isinstance(condition.on, Boolean)
    kinds = BoundaryCondition | Periodic
    return not any(
        isinstance(c, kinds) and c is not condition and c.u == condition.u for c in problem.conditions
    )


def _folded(value: Any, coordinates: tuple[Any, ...]) -> Any:
    """Return an expression of real coordinates with all branches in one outermost Piecewise."""
    real = {c: sp.Dummy(str(c), real=True) for c in coordinates}
    folded = sp.piecewise_fold(value.xreplace(real).rewrite(sp.Piecewise))
    return folded.xreplace({symbol: c for c, symbol in real.items()})


def _split_condition(condition: Any, problem: Problem) -> list[Any]:
    if not isinstance(condition, BoundaryCondition) or not _names_whole_place(condition, problem):
        return [condition]
    value, on = condition.value, condition.on
    if not isinstance(value, sp.Basic) or not value.has(*_PIECEWISE):
        return [condition]
    folded = _folded(value, problem.coordinates)
    if not isinstance(folded, sp.Piecewise) or any(e.has(*_PIECEWISE) for e, _ in folded.args):
        return [condition]
    side = boundary_probes(problem.domain)
    X = side.points[region_of(condition, problem.domain).mask(side)]
    out, before = [], sp.false
    for part, where in folded.args:
        mine = sp.And(where, sp.Not(before))
        before = sp.Or(before, where)
        # A branch at a single point, as in sin(x)/x, is dropped.
        if np.any(sp.lambdify(problem.coordinates, mine, "numpy")(*X.T)):
            out.append(replace(condition, value=part, on=mine if on is None else sp.And(on, mine)))
    return out if len(out) > 1 else [condition]
