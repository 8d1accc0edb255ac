"""Arguments and result of a solve."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from pibls.adaptive.budget import Budget, Progress
from pibls.adaptive.candidate import Candidate
from pibls.adaptive.singular.enrichment import Enrichment
from pibls.adaptive.validation.context import ValidationContext, validation_cache
from pibls.adaptive.validation.estimate import ErrorEstimate, Norms
from pibls.arrays import Array
from pibls.assembly.points import Points
from pibls.basis import BasisSpec
from pibls.linalg.tree.engine import LOCAL, Engine
from pibls.nonlinear import Method
from pibls.problem import Problem
from pibls.problem.forms.compilation import compile_problem
from pibls.spaces import Choice, Space
from pibls.status import Status


@dataclass(frozen=True)
class Request:
    """Arguments of `solve`."""

    tol: float
    basis: Choice | None
    points: Points | None
    method: Method | None
    guess: Space | None
    seed: int
    max_nodes: int
    time_limit: float | None
    began: float
    engine: Engine = LOCAL
    enrich: tuple[BasisSpec, ...] = ()


@dataclass(frozen=True)
class SolveResult:
    """Result of a solve: a function, its residuals and its error estimator."""

    space: Space
    coefficients: Array
    status: Status
    residuals: dict[str, Norms]
    steps: int
    settings: dict[str, Any]
    history: tuple[Progress, ...]
    estimator: Callable[[], ErrorEstimate]
    notes: dict[str, Any]


def result_of(
    found: Candidate,
    status: Status,
    error: Callable[[], ErrorEstimate],
    history: tuple[Progress, ...],
    notes: dict[str, Any],
) -> SolveResult:
    coefficients = found.w[: found.space.columns]
    return SolveResult(
        found.space,
        coefficients,
        status,
        found.residuals,
        found.outcome.steps,
        found.settings,
        history,
        error,
        notes,
    )


def context_of(problem: Problem, request: Request, extra: Enrichment | None = None) -> ValidationContext:
    """Return the validation context of a problem, with singular functions."""
    context = ValidationContext.of(
        compile_problem(problem), problem.domain, request.seed, request.tol, extra, validation_cache(problem)
    )
    return replace(context, engine=request.engine)


def engine_for(request: Request, budget: Budget) -> Engine:
    """Return the engine of one solve, with its deadline and progress callback."""
    limit = request.time_limit
    return request.engine.for_solve(
        budget.report_engine_progress, None if limit is None else request.began + limit
    )
