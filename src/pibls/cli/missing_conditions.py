"""Missing initial and boundary conditions, found without solving the problem."""

from __future__ import annotations

import numpy as np

from pibls.analysis.coverage import count_conditions, missing_initial_conditions, uncovered_boundary
from pibls.analysis.evolution import orders_in
from pibls.analysis.missing_conditions import lacks_boundary_condition
from pibls.analysis.well_posedness import has_missing_inflow_conditions
from pibls.arrays import Array
from pibls.geometry import box_of, faces_of, time_of
from pibls.problem import PartialDerivative, Problem
from pibls.problem.forms.compilation import CompiledProblem, Residual, compile_problem

_MIN_RELATIVE_LEADING_COEFFICIENT = 1e-6
"""Relative to the sum of all coefficients; an end point below it is singular and needs fewer conditions."""


def missing_conditions(problem: Problem) -> tuple[str, ...]:
    """Describe the conditions that a well-posed problem needs in addition; empty if that is uncertain."""
    compiled, domain = compile_problem(problem), problem.domain
    found = list(_missing_initial_data(problem))
    if has_missing_inflow_conditions(compiled, domain) or lacks_boundary_condition(compiled, domain):
        found += [f"a condition where {place}" for place in uncovered_boundary(problem)]
    return (*found, *_missing_in_1d(problem, compiled))


def _missing_initial_data(problem: Problem) -> list[str]:
    """Initial values and time derivatives that are not given, unless other conditions may replace them."""
    time = time_of(problem.domain)
    if time is None:
        return []
    axis = len(problem.coordinates) - 1
    regions = [s.region for s in problem.statements if not s.region.is_interior]
    if not all(
        r.is_boundary or r.plane() is not None or r.periodic_axis not in (None, axis) for r in regions
    ):
        return []
    start = float(box_of(problem.domain)[axis, 0])
    statements = [(s.region, s.form.derivatives) for s in problem.statements]
    rates = missing_initial_conditions(problem.domain, statements)
    return [f"{problem.unknowns[k].diff(time, j)} at {time} = {start:g}" for k, j in rates]


def _missing_in_1d(problem: Problem, compiled: CompiledProblem) -> list[str]:
    """Missing conditions in 1D: their number must be the sum of the orders if no end is singular."""
    if compiled.dimension != 1:
        return []
    inside, orders = compiled.equations, orders_in(compiled, 0)
    leading = [[j for j in r.derivatives if j.alpha[0] == orders[j.unknown]] for r in inside]
    is_explicit = all(len(terms) == 1 for terms in leading)
    if not is_explicit or len({terms[0].unknown for terms in leading}) != len(orders):
        return []  # algebraic or coupled in the highest derivatives: fewer conditions may suffice
    X = np.concatenate([face.at(np.empty((1, 0))).points for face in faces_of(problem.domain)])
    if any(_is_singular_at(X, r, term) for r, (term,) in zip(inside, leading, strict=True)):
        return []
    given, needed = _condition_count_1d(problem, compiled), sum(orders)
    return [f"{needed - given} of {needed} conditions"] if given < needed else []


def _is_singular_at(X: Array, residual: Residual, term: PartialDerivative) -> bool:
    """Whether the coefficient of the highest derivative is nonlinear, or negligible at one of the points."""
    with np.errstate(all="ignore"):
        a = residual.coefficients(X, np.zeros_like(X), residual.data_function_values(X))
    if term not in residual.linear or not np.isfinite(a).all():
        return True
    leading = np.abs(a[residual.linear.index(term)])
    return bool((leading <= _MIN_RELATIVE_LEADING_COEFFICIENT * np.abs(a).sum(axis=0)).any())


def _condition_count_1d(problem: Problem, compiled: CompiledProblem) -> int:
    """Number of conditions; one on both ends counts twice, unless it is periodic."""
    rng = np.random.default_rng(0)
    given = 0
    for residual in compiled.residuals:
        if not residual.region.is_interior:
            faces_with_condition = [
                bool(count_conditions(face, [residual.region], rng)[1].any())
                for face in faces_of(problem.domain)
            ]
            given += 1 if residual.region.sites > 1 else max(sum(faces_with_condition), 1)
    return given
