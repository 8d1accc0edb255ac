"""Solve with a given basis, points or method; the error is estimated on demand."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, cast

from pibls.adaptive.budget import Budget
from pibls.adaptive.candidate import Candidate, compute_candidate, condition_errors, rescaled
from pibls.adaptive.request import Request, SolveResult, context_of, engine_for, result_of
from pibls.adaptive.singular.builder import given_functions
from pibls.adaptive.thresholds import DEFAULT
from pibls.adaptive.validation.context import ValidationContext
from pibls.adaptive.validation.estimate import ErrorEstimate, compare, with_lower_bound
from pibls.analysis.analysis import analyze
from pibls.basis import BasisSpec
from pibls.errors import ProblemError
from pibls.linalg.tree.engine import LOCAL
from pibls.nonlinear import GaussNewton, Method, StructuredLeastSquares
from pibls.problem import Problem
from pibls.spaces import Choice
from pibls.status import Status


def solve_as_given(problem: Problem, request: Request, budget: Budget) -> SolveResult:
    """Solve with the given basis; the error is estimated on demand."""
    context, spec, method = _given_settings(problem, request)
    watched = replace(context, engine=engine_for(request, budget))
    try:
        found = compute_candidate(watched, spec, request.points, method, key=0)
    except MemoryError as reason:
        raise ProblemError(
            "basis",
            expected="a number of functions and points whose matrices fit into memory",
            got=f"{spec.size} functions for each unknown: {reason}",
            remedy="Use fewer functions or points, more but smaller cells (Decomposed), or an engine.",
        ) from reason
    status = found.outcome.status
    if status is Status.SOLVED and not found.relative_residual <= DEFAULT.max_resolved_residual:
        status = Status.UNRESOLVED
    return result_of(found, status, SecondSolve(problem, request, found), (), {})


def _given_settings(problem: Problem, request: Request) -> tuple[ValidationContext, Choice, Method]:
    assert request.basis is not None
    context, method = _given_context(problem, request), request.method
    spec = (
        context.enrichment.added_to(cast("BasisSpec", request.basis)) if context.enrichment else request.basis
    )
    if method is None:
        method = StructuredLeastSquares() if context.compiled.is_linear else GaussNewton()
    return context, spec, method


def _given_context(problem: Problem, request: Request) -> ValidationContext:
    context = context_of(problem, request, given_functions(request.enrich, problem.domain))
    decomposition = analyze(problem).decomposition
    return context if decomposition is None else context.on_subdomains(decomposition)


@dataclass(frozen=True)
class SecondSolve:
    """Estimator of a solution with a given basis: solves again at another scale and seed."""

    problem: Problem
    request: Request
    found: Candidate

    def __call__(self) -> ErrorEstimate:
        context, spec, method = _given_settings(self.problem, self.request)
        # At other points, because the given ones may be few. The client may be closed by now.
        context = replace(context, engine=context.engine.available)
        second = compute_candidate(context, rescaled(spec), self.request.points, method, key=1)
        error = compare(
            self.found.function, second.function, context.compiled.unknowns, context.comparison_points
        )
        return with_lower_bound(error, condition_errors(context, self.found.residuals))

    def __getstate__(self) -> dict[str, Any]:
        # The engine belongs to the process that solves and is not pickled.
        return {**vars(self), "request": replace(self.request, engine=LOCAL, guess=None)}
