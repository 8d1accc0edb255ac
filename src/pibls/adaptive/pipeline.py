"""Pipeline of a solve: analysis of the problem, then given settings or the strategy scheduler."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np

from pibls.adaptive.budget import Budget, OutOfTimeError, Progress
from pibls.adaptive.candidate import Candidate, compute_candidate, condition_errors, rescaled
from pibls.adaptive.scheduler import StrategyScheduler
from pibls.adaptive.singular.enrichment import (
    Enrichment,
    corner_enrichment,
    with_singular_ends,
)
from pibls.adaptive.singular.system_corners import (
    enrich_subdomains,
    with_junctions,
    with_system_corners,
)
from pibls.adaptive.strategies import Setup
from pibls.adaptive.strategy import Strategy
from pibls.adaptive.thresholds import CELLS, DEFAULT, SCHEDULER
from pibls.adaptive.validation.context import ValidationContext, validation_cache
from pibls.adaptive.validation.estimate import (
    UNCHECKED,
    ErrorEstimate,
    KnownEstimate,
    Norms,
    compare,
    norms_by_name,
    unknowns_at,
    with_lower_bound,
)
from pibls.analysis.analysis import Analysis, IllPosedness, analyze
from pibls.analysis.split_conditions import split_piecewise_conditions
from pibls.arrays import Array
from pibls.assembly.points import Points, place
from pibls.assembly.scaled_residuals import residuals_at
from pibls.basis import BasisSpec
from pibls.errors import ProblemError
from pibls.geometry import box_of, time_of
from pibls.linalg.memory import keep_freed_memory
from pibls.linalg.tree.engine import LOCAL, Engine
from pibls.nonlinear import GaussNewton, Method, StructuredLeastSquares
from pibls.problem import Problem, refuse_unsupported_sources
from pibls.problem.forms.compilation import Residual, compile_problem
from pibls.problem.interfaces.decomposition import SubdomainDecomposition, single_subdomain
from pibls.problem.interfaces.unsupported_interfaces import refuse_unsupported_interfaces
from pibls.problem.statement import unique_labels
from pibls.runtime.deadline import deadline
from pibls.spaces import Choice, Space
from pibls.status import Status

_REDUNDANCY_POINTS = 64  # points at which redundant conditions are checked


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
                context = _context(problem, request)
            return _schedule(context, request, budget, None)


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
        return _solve_as_given(problem, request, budget)
    analysis = analyze(problem)
    if analysis.redundant_in_time:
        return _solve_without_redundant(problem, analysis.redundant_in_time, request, budget)
    if analysis.ill_posedness is not None:
        return _solve_ill_posed(problem, analysis.ill_posedness, request, budget)
    if analysis.redundant:
        decided = _solve_with_redundant(problem, analysis.redundant, request, budget)
        if decided is not None:
            return decided
    if analysis.decomposition is not None:
        return _solve_on_subdomains(analysis, analysis.decomposition, request, budget)
    return _solve_on_one_domain(analysis, request, budget)


def _solve_on_subdomains(
    analysis: Analysis, decomposition: SubdomainDecomposition, request: Request, budget: Budget
) -> SolveResult:
    """Solve on subdomains between interfaces, with the singular functions of corners and junctions."""
    problem, compiled, corners = analysis.problem, analysis.compiled, analysis.corners
    plain = enrich_subdomains(corners.scalar, corners.system, compiled, decomposition, request.enrich)
    junctions = analysis.junctions

    def with_junction_functions() -> ValidationContext | None:
        extra = with_junctions(plain, junctions, problem.domain, decomposition)
        return None if extra is plain else _context(problem, request, extra).on_subdomains(decomposition)

    # Singular functions at the ends of interfaces are computed only if the solution needs them. It always
    # needs them around an interior corner or the tip of a slit.
    context = with_junction_functions() if any(j.is_full_angle for j in junctions) else None
    later = with_junction_functions if context is None else None
    if context is None:
        context = _context(problem, request, plain).on_subdomains(decomposition)
    undivided = _context(problem, request) if decomposition.is_optional else None
    return _schedule(context, request, budget, None, later, undivided=undivided)


def _solve_on_one_domain(analysis: Analysis, request: Request, budget: Budget) -> SolveResult:
    """Solve on the whole domain; singular functions of weak corners are added only if needed."""
    problem, compiled, corners = analysis.problem, analysis.compiled, analysis.corners
    ends = analysis.singular_ends

    def make_enrichment() -> Enrichment:
        plain = corner_enrichment(corners.scalar, compiled, problem.domain, request.enrich)
        plain = with_singular_ends(plain, ends)
        try:
            return with_system_corners(plain, corners.system, problem.domain, is_linear=compiled.is_linear)
        except OutOfTimeError:
            return plain

    def context_with_holes() -> ValidationContext | None:
        one = single_subdomain(problem)
        return None if one is None else _context(problem, request, make_enrichment()).on_subdomains(one)

    # In 2D functions around holes are known from the equation, or cells are used.
    hole_context = context_with_holes if compiled.dimension > 2 else None

    if corners.are_weak and not ends and not request.enrich:
        # Functions for the corners of a rectangle and for holes are computed only if the solution needs them.
        # At corners of a nonlinear system refined cells are better.
        weak_enrichment = make_enrichment if compiled.is_linear or not corners.system else None
        return _schedule(_context(problem, request), request, budget, weak_enrichment, hole_context)
    extra = make_enrichment()
    context = _context(problem, request, extra)
    return _schedule(context, request, budget, None if extra.is_essential else lambda: extra, hole_context)


def _solve_ill_posed(
    problem: Problem, ill_posed: IllPosedness, request: Request, budget: Budget
) -> SolveResult:
    """Solve an ill-posed problem with few random features, which may succeed for smooth data."""
    status = ill_posed.status
    unstable = status is Status.UNSTABLE
    most = (
        SCHEDULER.unstable_nodes if unstable else SCHEDULER.fallback_nodes * compile_problem(problem).unknowns
    )
    context = replace(_context(problem, request), evolution=None)
    small_budget = replace(budget, max_nodes=min(budget.max_nodes, most))
    answer = _schedule(context, request, small_budget, None, allows_subdivision=False)
    if unstable and answer.status.converged:
        return answer
    found = {"growth": ill_posed.growth, "imbalance": ill_posed.imbalance}
    notes = answer.notes | {name: value for name, value in found.items() if value is not None}
    return replace(answer, status=status, estimator=KnownEstimate(UNCHECKED), notes=notes)


def _solve_without_redundant(
    problem: Problem, redundant: Sequence[Residual], request: Request, budget: Budget
) -> SolveResult:
    """Drop redundant initial conditions, solve, then check them."""
    reduced = _drop_conditions(problem, redundant)
    # A loose tolerance is enough to detect a contradiction.
    loose_request = replace(request, tol=max(request.tol, DEFAULT.loose_tol))
    if loose_request.tol > request.tol:
        answer = _check_dropped(
            problem, redundant, request, _run(reduced, loose_request, budget), DEFAULT.unresolved_residual
        )
        if answer.status is Status.NO_SOLUTION:
            return answer
    return _check_dropped(problem, redundant, request, _run(reduced, request, budget), 0.0)


def _solve_with_redundant(
    problem: Problem, redundant_boundary: Sequence[Residual], request: Request, budget: Budget
) -> SolveResult | None:
    """Solve without redundant conditions, and return the result if these hold or are clearly violated.

    None if the reduced problem does not converge: the dropped conditions may be needed.
    """
    reduced = _drop_conditions(problem, redundant_boundary)
    loose_request = replace(request, tol=max(request.tol, DEFAULT.loose_tol))
    answer = _run(reduced, loose_request, budget)
    if not answer.status.converged:
        return None
    judged = _check_dropped(problem, redundant_boundary, request, answer, DEFAULT.max_solution_residual)
    if judged.status is Status.NO_SOLUTION:
        return judged
    judged = _check_dropped(problem, redundant_boundary, request, _run(reduced, request, budget), 0.0)
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


def _context(problem: Problem, request: Request, extra: Enrichment | None = None) -> ValidationContext:
    context = ValidationContext.of(
        compile_problem(problem), problem.domain, request.seed, request.tol, extra, validation_cache(problem)
    )
    return replace(context, engine=request.engine)


def _given_context(problem: Problem, request: Request) -> ValidationContext:
    context = _context(problem, request, Enrichment(request.enrich))
    decomposition = analyze(problem).decomposition
    return context if decomposition is None else context.on_subdomains(decomposition)


def _schedule(
    context: ValidationContext,
    request: Request,
    budget: Budget,
    weak_enrichment: Callable[[], Enrichment] | None,
    hole_context: Callable[[], ValidationContext | None] | None = None,
    *,
    undivided: ValidationContext | None = None,
    allows_subdivision: bool = True,
) -> SolveResult:
    engine = _engine_for(request, budget)
    context, undivided = (
        replace(context, engine=engine),
        None if undivided is None else replace(undivided, engine=engine),
    )
    setup = Setup(
        context,
        budget,
        request.points,
        request.method,
        request.guess,
        weak_enrichment,
        hole_context,
        undivided,
        allows_subdivision,
    )
    scheduler = StrategyScheduler(setup)
    scheduler.run()
    best, error = scheduler.best, scheduler.error
    assert best is not None  # run() computes at least one candidate
    assert best.best is not None
    notes = dict(best.notes)
    status = _consistent_status(scheduler.status, best, error)
    if "stopped" in notes and scheduler.status is not Status.INCOMPLETE:
        error = UNCHECKED  # the solution is incomplete, and nothing bounds the error of the missing part
    if scheduler.engine_failure:
        notes["engine"] = scheduler.engine_failure
    scales = best.scales(best.best)
    notes["lost"] = _time_of_total_loss(
        error, float(np.max(scales, initial=0.0)), best.best, notes.get("layers", ())
    )
    return _answer(best.best, status, KnownEstimate(error), tuple(budget.history), notes)


def _engine_for(request: Request, budget: Budget) -> Engine:
    """Return the engine of one solve, with its deadline and progress callback."""
    limit = request.time_limit
    check = None if limit is None else budget.check
    return request.engine.for_solve(
        check, budget.report_engine_progress, None if limit is None else request.began + limit
    )


def _consistent_status(status: Status, best: Strategy, error: ErrorEstimate) -> Status:
    """Return the status, or one that is consistent with the estimated error.

    TOLERANCE means an estimate within the tolerance. ROUNDING_LIMIT means one that rounding explains: at most
    ``thresholds.rounding_residual``, or the effect of rounding in the equations; in an evolution at some
    time, since perturbations may grow after it.
    """
    found, context = best.best, best.context
    assert found is not None
    excess = best.relative_error(found, error)
    if status is Status.TOLERANCE and excess > context.tol:
        return Status.SLOW_CONVERGENCE
    if status is not Status.ROUNDING_LIMIT:
        return status
    scales = best.scales(found)
    rounding_shift = context.rounding(found.magnitudes)
    with np.errstate(divide="ignore", invalid="ignore"):
        rounding_share = (
            0.0 if rounding_shift is None else float(np.nan_to_num(rounding_shift / scales).max(initial=0.0))
        )
    smallest_error = min((e for _, e in error.history), default=math.inf) / max(
        float(scales.max(initial=0.0)), 1e-300
    )
    is_explained = min(excess, smallest_error) <= max(
        context.thresholds.rounding_residual, context.thresholds.condition_error_factor * rounding_share
    )
    return status if is_explained else Status.SLOW_CONVERGENCE


def _time_of_total_loss(
    error: ErrorEstimate,
    size: float,
    found: Candidate | None = None,
    layers: tuple[tuple[float, float], ...] = (),
) -> float | None:
    """Return the time from which no digit is correct, if there is one; times in ``layers`` are ignored."""
    if not error.history or max(e for _, e in error.history) <= DEFAULT.max_solution_residual * size:
        return None
    times, errors = np.array(error.history).T
    sizes = np.full(len(times), size)
    if found is not None and found.space.is_time_only:
        # Scale by the largest earlier |u|: later values may have grown out of the error itself.
        order = np.argsort(times)
        u = np.abs(unknowns_at(*found.function, times[order][:, None], len(found.magnitudes))).max(axis=0)
        sizes[order] = np.minimum(np.maximum.accumulate(u), size)
    is_lost = errors > DEFAULT.max_solution_residual * sizes
    for a, b in layers:
        is_lost &= (times < min(a, b)) | (times > max(a, b))
    lost_indices = np.flatnonzero(is_lost)
    # A loss at the last time only does not count.
    return float(times[lost_indices[0]]) if len(lost_indices) and lost_indices[0] < len(times) - 1 else None


def _solve_as_given(problem: Problem, request: Request, budget: Budget) -> SolveResult:
    """Solve with the given basis; the error is estimated on demand."""
    context, spec, method = _given_settings(problem, request)
    watched = replace(context, engine=_engine_for(request, budget))
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
    return _answer(found, status, SecondSolve(problem, request, found), (), {})


def _given_settings(problem: Problem, request: Request) -> tuple[ValidationContext, Choice, Method]:
    assert request.basis is not None
    context, method = _given_context(problem, request), request.method
    spec = (
        context.enrichment.added_to(cast("BasisSpec", request.basis)) if context.enrichment else request.basis
    )
    if method is None:
        method = StructuredLeastSquares() if context.compiled.is_linear else GaussNewton()
    return context, spec, method


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


def _answer(
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
