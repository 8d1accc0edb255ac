"""Pipeline of a solve: analysis of the problem, then given settings or the strategy scheduler."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np

from pibls.adaptive.budget import Budget, OutOfTimeError, Progress
from pibls.adaptive.dropped_conditions import solve_with_redundant, solve_without_redundant
from pibls.adaptive.given_basis import solve_as_given
from pibls.adaptive.request import Request, SolveResult, context_of, engine_for, result_of
from pibls.adaptive.scheduler import StrategyScheduler
from pibls.adaptive.singular.builder import build, build_mirrored
from pibls.adaptive.singular.enrichment import Enrichment
from pibls.adaptive.strategies import Setup
from pibls.adaptive.thresholds import CELLS, SCHEDULER
from pibls.adaptive.validation.consistency import consistent_status, time_of_total_loss
from pibls.adaptive.validation.context import ValidationContext
from pibls.adaptive.validation.estimate import (
    UNCHECKED,
    KnownEstimate,
)
from pibls.analysis.analysis import Analysis, IllPosedness, analyze
from pibls.analysis.split_conditions import split_piecewise_conditions
from pibls.errors import ProblemError
from pibls.geometry import box_of, time_of
from pibls.linalg.memory import keep_freed_memory
from pibls.problem import Problem, refuse_unsupported_sources
from pibls.problem.forms.compilation import compile_problem
from pibls.problem.interfaces.decomposition import single_subdomain
from pibls.problem.interfaces.unsupported_interfaces import refuse_unsupported_interfaces
from pibls.runtime.deadline import deadline
from pibls.status import Status


def run(problem: Problem, request: Request, callback: Callable[[Progress], object] | None) -> SolveResult:
    """Solve a problem as requested."""
    keep_freed_memory()
    budget = Budget(request.began, request.time_limit, request.max_nodes, callback)
    with deadline(budget.check):
        try:
            refuse_unsupported_sources(problem.breaks, problem.coordinates, box_of(problem.domain))
            refuse_unsupported_interfaces(problem)
            _refuse_many_cells(problem, request.max_nodes)
            return _with_function_jumps(problem, _run(split_piecewise_conditions(problem), request, budget))
        except OutOfTimeError:
            # The time limit was reached during the analysis: only the fallback is computed.
            with deadline(None):
                context = context_of(problem, request)
            return _follow_table(_setup(context, request, budget), request)


def _refuse_many_cells(problem: Problem, max_nodes: int) -> None:
    """Raise a ProblemError if jumps divide space into more cells than max_nodes allows."""
    time, levels = time_of(problem.domain), [0] * len(problem.coordinates)
    for plane in problem.breaks.planes:
        levels[plane.axis] += problem.coordinates[plane.axis] != time
    cells = math.prod(n + 1 for n in levels)
    if len(levels) == 1 or cells <= max_nodes:
        return
    from pibls.adaptive.cells.hp_selection import CELL_NODES

    most = CELLS.columns_per_node * max_nodes // CELL_NODES.get(len(levels), (max_nodes,))[0]
    if cells > most:
        raise ProblemError(
            "problem",
            expected=f"jumps that divide the domain into at most {most} cells",
            got=f"{cells} cells",
            remedy="Average data that change so quickly, use a smaller domain, or raise max_nodes.",
        )


def _with_function_jumps(problem: Problem, answer: SolveResult) -> SolveResult:
    """Add the detected jumps of Python functions to the notes of a result."""
    names = [str(c) for c in problem.coordinates]
    jumps = tuple((j.name, names[j.axis], j.jumps) for j in problem.function_jumps if j.jumps)
    return replace(answer, notes=answer.notes | {"function_jumps": jumps}) if jumps else answer


def _run(problem: Problem, request: Request, budget: Budget) -> SolveResult:
    if request.basis is not None:
        return solve_as_given(problem, request, budget)

    def solve_reduced(reduced: Problem, changed: Request) -> SolveResult:
        return _run(reduced, changed, budget)

    analysis = analyze(problem)
    if analysis.redundant_in_time:
        return solve_without_redundant(problem, analysis.redundant_in_time, request, solve_reduced)
    if analysis.ill_posedness is not None:
        return _solve_ill_posed(problem, analysis.ill_posedness, request, budget)
    if analysis.redundant:
        decided = solve_with_redundant(problem, analysis.redundant, request, solve_reduced)
        if decided is not None:
            return decided
    return _solve_analyzed(analysis, request, budget)


def _solve_analyzed(analysis: Analysis, request: Request, budget: Budget) -> SolveResult:
    """Solve on the domain, or on its subdomains, with singular functions; some are added only if needed."""
    problem, decomposition = analysis.problem, analysis.decomposition
    singular = build(analysis, request.enrich)
    delayed = singular.delayed
    if decomposition is not None:
        context = context_of(problem, request, singular.initial).on_subdomains(decomposition)
        undivided = context_of(problem, request) if decomposition.is_optional else None

        def context_with(make: Callable[[], Enrichment]) -> ValidationContext | None:
            extra = make()
            return context_of(problem, request, extra).on_subdomains(decomposition) if extra else None

        later = None if delayed is None else partial(context_with, delayed)
        setup = _setup(context, request, budget)
        return _follow_table(replace(setup, hole_context=later, undivided_context=undivided), request)

    def context_with_holes() -> ValidationContext | None:
        one = single_subdomain(problem)
        if one is None:
            return None
        return context_of(problem, request, build_mirrored(analysis)).on_subdomains(one)

    # In 2D functions around holes are known from the equation, or cells are used.
    hole_context = context_with_holes if analysis.compiled.dimension > 2 else None
    context = context_of(problem, request, singular.initial)
    setup = _setup(context, request, budget)
    return _follow_table(replace(setup, weak_enrichment=delayed, hole_context=hole_context), request)


def _solve_ill_posed(
    problem: Problem, ill_posed: IllPosedness, request: Request, budget: Budget
) -> SolveResult:
    """Solve an ill-posed problem with few random features, which may succeed for smooth data."""
    status = ill_posed.status
    unstable = status is Status.UNSTABLE
    most = (
        SCHEDULER.unstable_nodes if unstable else SCHEDULER.fallback_nodes * compile_problem(problem).unknowns
    )
    context = replace(context_of(problem, request), evolution=None)
    small_budget = replace(budget, max_nodes=min(budget.max_nodes, most))
    setup = replace(_setup(context, request, small_budget), allows_subdivision=False)
    answer = _follow_table(setup, request)
    if unstable and answer.status.converged:
        return answer
    found = {"growth": ill_posed.growth, "imbalance": ill_posed.imbalance}
    notes = answer.notes | {name: value for name, value in found.items() if value is not None}
    return replace(answer, status=status, estimator=KnownEstimate(UNCHECKED), notes=notes)


def _setup(context: ValidationContext, request: Request, budget: Budget) -> Setup:
    """Return what all strategies of a solve are built from."""
    return Setup(context, budget, request.points, request.method, request.guess)


def _follow_table(setup: Setup, request: Request) -> SolveResult:
    """Follow the strategy table, and return the best candidate with its status and estimate."""
    scheduler = StrategyScheduler(setup.on_engine(engine_for(request, setup.budget)))
    scheduler.run()
    best, error = scheduler.best, scheduler.error
    assert best is not None  # run() computes at least one candidate
    assert best.best is not None
    notes = dict(best.notes)
    status = consistent_status(scheduler.status, best, error)
    if "stopped" in notes and scheduler.status is not Status.INCOMPLETE:
        error = UNCHECKED  # the solution is incomplete, and nothing bounds the error of the missing part
    if scheduler.engine_failure:
        notes["engine"] = scheduler.engine_failure
    scales = best.scales(best.best)
    notes["lost"] = time_of_total_loss(
        error, float(np.max(scales, initial=0.0)), best.best, notes.get("layers", ())
    )
    return result_of(best.best, status, KnownEstimate(error), tuple(setup.budget.history), notes)
