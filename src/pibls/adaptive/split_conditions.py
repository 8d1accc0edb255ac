r"""u = g with a g that jumps or bends within a side: several conditions, each on its part of the side.

Where values jump, or bend, a side has a corner of its own: what that brings is known where two conditions
meet (`diagnose.corners.clashes`), and is not where one formula says both.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import sympy as sp
from sympy.logic.boolalg import Boolean

from pibls.adaptive.evolution import evolution_of
from pibls.geometry import time_of
from pibls.problem import Problem
from pibls.problem.forms.lowering import lower
from pibls.problem.regions.on import probe, region_of

_SWITCHING = (sp.Piecewise, sp.Heaviside, sp.sign, sp.Abs, sp.Max, sp.Min)


def with_divided_sides(problem: Problem) -> Problem:
    """The same problem; what in the plane changes its law on a side is told part by part."""
    if len(problem.coordinates) != 2 or time_of(problem.domain) is not None or problem.parameters:
        return problem
    return problem.once("sided", lambda: _divided(problem))


def _divided(problem: Problem) -> Problem:
    if any(s.form.switches for s in problem.statements[: len(problem.equations)]):
        return problem  # what interfaces bring where they end is known from whole sides
    told = [part for c in problem.conditions for part in _parts(c, problem)]
    # What begins with values that jump is an evolution from one beginning.
    if len(told) == len(problem.conditions) or evolution_of(lower(problem), problem.domain) is not None:
        return problem
    return Problem(problem.domain, problem.equations, told)


def _parts(condition: Any, problem: Problem) -> list[Any]:
    value, on = getattr(condition, "value", None), getattr(condition, "on", None)
    if not isinstance(value, sp.Basic) or not value.has(*_SWITCHING):
        return [condition]
    others = [c for c in problem.conditions if c is not condition and getattr(c, "u", None) == condition.u]
    if (on is None and others) or not (on is None or isinstance(on, Boolean)):
        return [condition]  # it holds on what others leave, or on a shape
    real = {c: sp.Dummy(str(c), real=True) for c in problem.coordinates}
    folded = sp.piecewise_fold(value.xreplace(real).rewrite(sp.Piecewise))
    folded = folded.xreplace({symbol: c for c, symbol in real.items()})
    if not isinstance(folded, sp.Piecewise) or any(e.has(*_SWITCHING) for e, _ in folded.args):
        return [condition]
    side = probe(problem.domain)
    X = side.points[region_of(condition, problem.domain).mask(side)]
    out, before = [], sp.false
    for part, where in folded.args:
        mine = sp.And(where, sp.Not(before))
        before = sp.Or(before, where)
        # One point only, as in sin(x)/x, is no part.
        if np.any(sp.lambdify(problem.coordinates, mine, "numpy")(*X.T)):
            out.append(replace(condition, value=part, on=mine if on is None else sp.And(on, mine)))
    return out if len(out) > 1 else [condition]
