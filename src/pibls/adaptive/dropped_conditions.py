"""Redundant conditions: they are dropped, the problem is solved, and then they are checked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from pibls.adaptive.request import Request, SolveResult
from pibls.adaptive.thresholds import DEFAULT
from pibls.adaptive.validation.estimate import UNCHECKED, KnownEstimate, norms_by_name, unknowns_at
from pibls.assembly.points import Points, place
from pibls.assembly.scaled_residuals import residuals_at
from pibls.geometry import box_of
from pibls.problem import Problem
from pibls.problem.forms.compilation import Residual, compile_problem
from pibls.problem.statement import unique_labels
from pibls.status import Status

_REDUNDANCY_POINTS = 64  # points at which redundant conditions are checked

Solve = Callable[[Problem, Request], SolveResult]
"""The solve of a problem without the redundant conditions."""


def solve_without_redundant(
    problem: Problem, redundant: Sequence[Residual], request: Request, solve: Solve
) -> SolveResult:
    """Drop redundant initial conditions, solve, then check them."""
    reduced = _drop_conditions(problem, redundant)
    # A loose tolerance is enough to detect a contradiction.
    loose_request = replace(request, tol=max(request.tol, DEFAULT.loose_tol))
    if loose_request.tol > request.tol:
        answer = _check_dropped(
            problem, redundant, request, solve(reduced, loose_request), DEFAULT.unresolved_residual
        )
        if answer.status is Status.NO_SOLUTION:
            return answer
    return _check_dropped(problem, redundant, request, solve(reduced, request), 0.0)


def solve_with_redundant(
    problem: Problem, redundant_boundary: Sequence[Residual], request: Request, solve: Solve
) -> SolveResult | None:
    """Solve without redundant conditions, and return the result if these hold or are clearly violated.

    None if the reduced problem does not converge: the dropped conditions may be needed.
    """
    reduced = _drop_conditions(problem, redundant_boundary)
    loose_request = replace(request, tol=max(request.tol, DEFAULT.loose_tol))
    answer = solve(reduced, loose_request)
    if not answer.status.converged:
        return None
    judged = _check_dropped(problem, redundant_boundary, request, answer, DEFAULT.max_solution_residual)
    if judged.status is Status.NO_SOLUTION:
        return judged
    judged = _check_dropped(problem, redundant_boundary, request, solve(reduced, request), 0.0)
    return None if judged.status is Status.NO_SOLUTION else judged


def _drop_conditions(problem: Problem, redundant: Sequence[Residual]) -> Problem:
    """Return the problem without these conditions."""
    names = {r.name for r in redundant}
    labels = unique_labels([c.label for c in problem.conditions])
    kept = [c for c, label in zip(problem.conditions, labels, strict=True) if label not in names]
    return Problem(problem.domain, problem.equations, kept, parameters=dict(problem.parameters))


def _check_dropped(
    problem: Problem, redundant: Sequence[Residual], request: Request, answer: SolveResult, clearly: float
) -> SolveResult:
    """Add the residuals of dropped conditions to a result.

    If they exceed the tolerance and ``clearly``, relative to their terms, the status is NO_SOLUTION.
    """
    dropped_problem = replace(compile_problem(problem), residuals=tuple(redundant))
    rng = np.random.default_rng(request.seed)
    where = place(dropped_problem, problem.domain, Points(1, _REDUNDANCY_POINTS, _REDUNDANCY_POINTS), rng)
    function = answer.space, answer.coefficients
    # For a homogeneous condition, scale the residual by max abs(u) in the interior.
    inside = np.asarray(problem.domain.interior(_REDUNDANCY_POINTS, rng), dtype=float)
    sizes = np.abs(unknowns_at(*function, inside, dropped_problem.unknowns)).max(axis=1)
    judged, _ = residuals_at(dropped_problem, where, *function, box_of(problem.domain), sizes)
    norms = norms_by_name(judged)
    answer = replace(answer, residuals=answer.residuals | norms)
    violation = max(n.relative for n in norms.values())
    if violation <= max(10.0 * request.tol, DEFAULT.rounding_residual, clearly) or not np.isfinite(
        answer.estimator().max
    ):
        return answer
    notes = answer.notes | {"told": {name: n.max for name, n in norms.items()}}
    return replace(answer, status=Status.NO_SOLUTION, estimator=KnownEstimate(UNCHECKED), notes=notes)
