"""From a request to an answer: one attempt with given settings, or a search for all of them."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np

from pibls.adaptive.budget import Budget, OutOfTimeError, Progress
from pibls.adaptive.candidate import Attempt, attempt, misfits, rescaled
from pibls.adaptive.evolution import surplus_of
from pibls.adaptive.evolutions.ends import told_beyond
from pibls.adaptive.evolutions.growth import growth_of, told_at_outflow, untold_where_it_is_needed
from pibls.adaptive.scheduler import Search
from pibls.adaptive.singular.enrich import Enrichment, are_mild, enrichment_of, with_ends, worst_corners
from pibls.adaptive.singular.wedged import in_pieces, with_junctions, with_wedges, worst_wedges
from pibls.adaptive.split_conditions import with_divided_sides
from pibls.adaptive.strategy import Plan
from pibls.adaptive.thresholds import CELLS, DEFAULT, GROWTH, LOOP
from pibls.adaptive.validation.context import Bench
from pibls.adaptive.validation.estimate import (
    UNCHECKED,
    ErrorEstimate,
    KnownEstimate,
    Norms,
    at_least,
    compare,
    norms_by_name,
    unknowns_at,
)
from pibls.analysis.balance import imbalance_of
from pibls.analysis.corners.junctions import junctions_of
from pibls.analysis.frobenius import singular_ends
from pibls.analysis.surplus import told_twice
from pibls.analysis.walls import is_bare
from pibls.arrays import Array
from pibls.assembly.judging import residuals_at
from pibls.assembly.points import Points, place
from pibls.basis import BasisSpec
from pibls.deadline import asked
from pibls.errors import ProblemError
from pibls.geometry import Domain, box_of, time_of
from pibls.linalg.memory import keep_freed_memory
from pibls.linalg.tree.engine import HERE, Engine
from pibls.nonlinear import GaussNewton, Method, StructuredLeastSquares
from pibls.problem import Problem, refuse_unsolved
from pibls.problem.forms.lowering import LoweredProblem, Residual, lower
from pibls.problem.interfaces.materials import in_one_piece, materials_of, refuse_pieces
from pibls.problem.statement import distinct
from pibls.spaces import Choice, Space
from pibls.status import Status

_SURPLUS = 64  # points at which what a beginning has too much is looked at


@dataclass(frozen=True)
class Request:
    """What the user asked of `solve`."""

    tol: float
    basis: Choice | None
    points: Points | None
    method: Method | None
    guess: Space | None
    seed: int
    max_nodes: int
    time_limit: float | None
    began: float
    engine: Engine = HERE
    enrich: tuple[BasisSpec, ...] = ()


@dataclass(frozen=True)
class Answer:
    """What a search found: a function, and what is known about how good it is."""

    space: Space
    coefficients: Array
    status: Status
    residuals: dict[str, Norms]
    steps: int
    settings: dict[str, Any]
    history: tuple[Progress, ...]
    estimator: Callable[[], ErrorEstimate]
    notes: dict[str, Any]


def run(problem: Problem, request: Request, callback: Callable[[Progress], object] | None) -> Answer:
    """Solve as requested."""
    keep_freed_memory()
    budget = Budget(request.began, request.time_limit, request.max_nodes, callback)
    with asked(budget.check):
        try:
            refuse_unsolved(problem.breaks, problem.coordinates, box_of(problem.domain))
            refuse_pieces(problem)
            _refuse_many_cells(problem, request.max_nodes)
            return _noted(problem, _run(with_divided_sides(problem), request, budget))
        except OutOfTimeError:
            # It was over before anything was begun: a few waves are left.
            with asked(None):
                bench = _bench(problem, request)
            return _searched(bench, request, budget, None)


def _refuse_many_cells(problem: Problem, max_nodes: int) -> None:
    """Raise a ProblemError where jumps divide space into more cells than may have functions."""
    time, levels = time_of(problem.domain), [0] * len(problem.coordinates)
    for plane in problem.breaks.planes:
        levels[plane.axis] += problem.coordinates[plane.axis] != time
    cells = math.prod(n + 1 for n in levels)
    if len(levels) == 1 or cells <= max_nodes:
        return
    from pibls.adaptive.cells.hp_selection import NODES

    most = CELLS.columns * max_nodes // NODES.get(len(levels), (max_nodes,))[0]
    if cells > most:
        raise ProblemError(
            "problem",
            expected=f"jumps that divide the domain into at most {most} cells",
            got=f"{cells} cells",
            remedy="Use mean values where data change so quickly, take a smaller domain, or raise max_nodes.",
        )


def _noted(problem: Problem, answer: Answer) -> Answer:
    """An answer that says where Python functions were found to jump."""
    names = [str(c) for c in problem.coordinates]
    jumps = tuple((j.name, names[j.axis], j.jumps) for j in problem.function_jumps if j.jumps)
    return replace(answer, notes=answer.notes | {"function_jumps": jumps}) if jumps else answer


def _run(problem: Problem, request: Request, budget: Budget) -> Answer:
    lowered, domain = lower(problem), problem.domain
    if request.basis is not None:
        return _as_given(problem, request, budget)
    if surplus := problem.once("surplus", lambda: _surplus(lowered, domain)):
        return _without(problem, [lowered.residuals[i] for i in surplus], request, budget)
    if (wrong := problem.once("wrong", lambda: _wrong(lowered, domain))) is not None:
        return _nevertheless(problem, wrong, request, budget)
    twice = [lowered.residuals[i] for i in problem.once("twice", lambda: told_twice(lowered, domain))]
    if twice and (decided := _decided(problem, twice, request, budget)) is not None:
        return decided
    corners, wedges, mild = problem.once("corners", lambda: _corners(lowered, domain))
    ends = problem.once("ends", lambda: singular_ends(problem))

    def functions() -> Enrichment:
        plain = with_ends(enrichment_of(corners, lowered, domain, request.enrich), ends)
        try:
            return with_wedges(plain, wedges, domain, is_linear=lowered.is_linear)
        except OutOfTimeError:
            return plain

    materials = materials_of(problem)
    if materials is not None:
        plain = in_pieces(corners, wedges, lowered, materials, request.enrich)
        junctions = junctions_of(lowered, domain, materials)

        def joined() -> Bench | None:
            extra = with_junctions(plain, junctions, domain, materials)
            return None if extra is plain else _bench(problem, request, extra).in_pieces(materials)

        # What interfaces bring where they end is made when the solution turns out to need it; it does need
        # what is around a corner inside, or the tip of a slit.
        bench = joined() if any(j.is_around for j in junctions) else None
        plainly = _bench(problem, request, plain).in_pieces(materials) if bench is None else bench
        whole = _bench(problem, request) if materials.optional else None
        return _searched(plainly, request, budget, None, joined if bench is None else None, whole=whole)

    def around() -> Bench | None:
        # In the plane what is around holes is known from the equation, or left to cells.
        one = in_one_piece(problem) if lowered.dimension > 2 else None
        return None if one is None else _bench(problem, request, functions()).in_pieces(one)

    if mild and not ends and not request.enrich:
        # What the corners of a rectangle and holes bring is made when the solution turns out to need it.
        # To corners of a system that is not linear they bring less than cells that are divided there.
        later = functions if lowered.is_linear or not wedges else None
        return _searched(_bench(problem, request), request, budget, later, around)
    extra = functions()
    bench = _bench(problem, request, extra)
    return _searched(bench, request, budget, None if extra.strong else lambda: extra, around)


def _surplus(lowered: LoweredProblem, domain: Domain) -> tuple[int, ...]:
    """Conditions that an evolution does not need."""
    return surplus_of(lowered, domain) or told_at_outflow(lowered, domain) or told_beyond(lowered, domain)


def _corners(lowered: LoweredProblem, domain: Domain) -> tuple[Any, Any, bool]:
    """Corners of one equation, or of a system, and whether what they bring can wait."""
    wedges = worst_wedges(lowered, domain)
    found = () if wedges else worst_corners(lowered, domain)
    return found, wedges, are_mild(found) and not any(w.strong for w in wedges)


def _wrong(lowered: LoweredProblem, domain: Domain) -> tuple[Status, dict[str, Any]] | None:
    """What is wrong with a problem, whatever the functions, and what there is to say about it."""
    growth = growth_of(lowered, domain)
    if growth is not None:
        return Status.UNSTABLE, {"growth": growth}
    if untold_where_it_is_needed(lowered, domain) or is_bare(lowered, domain):
        return Status.UNDETERMINED, {}
    imbalance = imbalance_of(lowered, domain)
    return None if imbalance is None else (Status.NO_SOLUTION, {"imbalance": imbalance})


def _nevertheless(
    problem: Problem, wrong: tuple[Status, dict[str, Any]], request: Request, budget: Budget
) -> Answer:
    """A few waves come as close as they can; of what is unstable the data may be those of a solution."""
    status, notes = wrong
    unstable = status is Status.UNSTABLE
    most = GROWTH.nodes if unstable else LOOP.few * lower(problem).unknowns
    bench = replace(_bench(problem, request), evolution=None)
    few = replace(budget, max_nodes=min(budget.max_nodes, most))
    answer = _searched(bench, request, few, None, divided=False)
    if unstable and answer.status.converged:
        return answer
    return replace(answer, status=status, estimator=KnownEstimate(UNCHECKED), notes=answer.notes | notes)


def _without(problem: Problem, surplus: list[Residual], request: Request, budget: Budget) -> Answer:
    """What begins with more than it needs is followed without that, and judged by it."""
    reduced = _reduced(problem, surplus)
    # A contradiction shows in a rough solution as well as in a good one.
    rough = replace(request, tol=max(request.tol, DEFAULT.loose))
    if rough.tol > request.tol:
        answer = _judged_by(problem, surplus, request, _run(reduced, rough, budget), DEFAULT.rough)
        if answer.status is Status.NO_SOLUTION:
            return answer
    return _judged_by(problem, surplus, request, _run(reduced, request, budget), 0.0)


def _decided(problem: Problem, twice: list[Residual], request: Request, budget: Budget) -> Answer | None:
    """What the other conditions decide, where what is told twice holds too, or plainly does not.

    None where nothing is known: what the others leave undetermined may be just what is told beside them.
    """
    reduced = _reduced(problem, twice)
    rough = replace(request, tol=max(request.tol, DEFAULT.loose))
    answer = _run(reduced, rough, budget)
    if not answer.status.converged:
        return None
    judged = _judged_by(problem, twice, request, answer, DEFAULT.fits)
    if judged.status is Status.NO_SOLUTION:
        return judged
    judged = _judged_by(problem, twice, request, _run(reduced, request, budget), 0.0)
    return None if judged.status is Status.NO_SOLUTION else judged


def _reduced(problem: Problem, surplus: list[Residual]) -> Problem:
    """The problem without these conditions."""
    names = {r.name for r in surplus}
    labels = distinct([c.label for c in problem.conditions])
    kept = [c for c, label in zip(problem.conditions, labels, strict=True) if label not in names]
    return Problem(problem.domain, problem.equations, kept, parameters=dict(problem.parameters))


def _judged_by(
    problem: Problem, surplus: list[Residual], request: Request, answer: Answer, clearly: float
) -> Answer:
    """An answer with what it leaves of conditions that it was not asked for.

    Where that is known, and more than ``clearly`` relative to their terms, there is none.
    """
    part = replace(lower(problem), residuals=tuple(surplus))
    rng = np.random.default_rng(request.seed)
    where = place(part, problem.domain, Points(1, _SURPLUS, _SURPLUS), rng)
    function = answer.space, answer.coefficients
    # Zero that is missed by rounding is missed by all of it: what counts is how large u is elsewhere.
    inside = np.asarray(problem.domain.interior(_SURPLUS, rng), dtype=float)
    sizes = np.abs(unknowns_at(*function, inside, part.unknowns)).max(axis=1)
    judged, _ = residuals_at(part, where, *function, box_of(problem.domain), sizes)
    norms = norms_by_name(judged)
    answer = replace(answer, residuals=answer.residuals | norms)
    missed = max(n.relative for n in norms.values())
    if missed <= max(10.0 * request.tol, DEFAULT.small, clearly) or not np.isfinite(answer.estimator().max):
        return answer
    notes = answer.notes | {"told": {name: n.max for name, n in norms.items()}}
    return replace(answer, status=Status.NO_SOLUTION, estimator=KnownEstimate(UNCHECKED), notes=notes)


def _bench(problem: Problem, request: Request, extra: Enrichment | None = None) -> Bench:
    bench = Bench.of(lower(problem), problem.domain, request.seed, request.tol, extra, problem.derived)
    return replace(bench, engine=request.engine)


def _given_bench(problem: Problem, request: Request) -> Bench:
    bench = _bench(problem, request, Enrichment(request.enrich))
    materials = materials_of(problem)
    return bench if materials is None else bench.in_pieces(materials)


def _searched(
    bench: Bench,
    request: Request,
    budget: Budget,
    later: Callable[[], Enrichment] | None,
    around: Callable[[], Bench | None] | None = None,
    *,
    whole: Bench | None = None,
    divided: bool = True,
) -> Answer:
    engine = _watched(request, budget)
    bench, whole = replace(bench, engine=engine), None if whole is None else replace(whole, engine=engine)
    search = Search(bench, budget, request.points, request.method, request.guess, later, around)
    search.whole, search.divided = whole, divided
    search.run()
    best, error = search.best, search.error
    assert best is not None  # run() makes at least one attempt
    assert best.best is not None
    notes = dict(best.notes)
    status = _agreeing(search.status, best, error)
    if "stopped" in notes and search.status is not Status.STOPPED:
        error = UNCHECKED  # it was cut off, and nothing bounds the error of what is not there
    if search.lost:
        notes["engine"] = search.lost
    scales = best.scales(best.best)
    notes["lost"] = _lost(error, float(np.max(scales, initial=0.0)), best.best, notes.get("layers", ()))
    return _answer(best.best, status, KnownEstimate(error), tuple(budget.history), notes)


def _watched(request: Request, budget: Budget) -> Engine:
    """The engine of one solve, with its deadline and its progress."""
    limit = request.time_limit
    check = None if limit is None else budget.check
    return request.engine.watched(check, budget.tell_share, None if limit is None else request.began + limit)


def _agreeing(status: Status, best: Plan, error: ErrorEstimate) -> Status:
    """The status, or one that agrees with the estimated error: said here of all plans alike.

    TOLERANCE means an estimate within the tolerance. FLOOR means one that rounding explains: as small as
    ``limits.small``, or not above what rounding in the equations does to the solution; in an evolution at
    some time, since perturbations may grow after it.
    """
    found, bench = best.best, best.bench
    assert found is not None
    excess = best.excess(found, error)
    if status is Status.TOLERANCE and excess > bench.tol:
        return Status.SLOW
    if status is not Status.FLOOR:
        return status
    scales = best.scales(found)
    moved = bench.rounding(found.sizes)
    with np.errstate(divide="ignore", invalid="ignore"):
        share = 0.0 if moved is None else float(np.nan_to_num(moved / scales).max(initial=0.0))
    least = min((e for _, e in error.history), default=math.inf) / max(float(scales.max(initial=0.0)), 1e-300)
    explained = min(excess, least) <= max(bench.limits.small, bench.limits.misfit * share)
    return status if explained else Status.SLOW


def _lost(
    error: ErrorEstimate,
    size: float,
    found: Attempt | None = None,
    layers: tuple[tuple[float, float], ...] = (),
) -> float | None:
    """The time from which no digit is left, if there is one; in layers nothing is promised."""
    if not error.history or max(e for _, e in error.history) <= DEFAULT.fits * size:
        return None
    times, errors = np.array(error.history).T
    sizes = np.full(len(times), size)
    if found is not None and found.space.is_line:
        # What grew out of an error is no size to measure it by: what counts is what was there before.
        order = np.argsort(times)
        u = np.abs(unknowns_at(*found.function, times[order][:, None], len(found.sizes))).max(axis=0)
        sizes[order] = np.minimum(np.maximum.accumulate(u), size)
    gone = errors > DEFAULT.fits * sizes
    for a, b in layers:
        gone &= (times < min(a, b)) | (times > max(a, b))
    late = np.flatnonzero(gone)
    # What is lost at the very end is not lost after it.
    return float(times[late[0]]) if len(late) and late[0] < len(times) - 1 else None


def _as_given(problem: Problem, request: Request, budget: Budget) -> Answer:
    """Exactly the given basis; the error is estimated when it is asked for."""
    bench, spec, method = _given(problem, request)
    watched = replace(bench, engine=_watched(request, budget))
    try:
        found = attempt(watched, spec, request.points, method, key=0)
    except MemoryError as reason:
        raise ProblemError(
            "basis",
            expected="functions and points whose matrices fit into memory",
            got=f"{spec.size} functions for each unknown: {reason}",
            remedy="Give fewer functions or points, more but smaller cells (Decomposed), or an engine.",
        ) from reason
    status = found.outcome.status
    if status is Status.SOLVED and not found.relative <= DEFAULT.holds:
        status = Status.UNRESOLVED
    return _answer(found, status, SecondSolve(problem, request, found), (), {})


def _given(problem: Problem, request: Request) -> tuple[Bench, Choice, Method]:
    assert request.basis is not None
    bench, method = _given_bench(problem, request), request.method
    spec = bench.extra.joined(cast("BasisSpec", request.basis)) if bench.extra else request.basis
    if method is None:
        method = StructuredLeastSquares() if bench.lowered.is_linear else GaussNewton()
    return bench, spec, method


@dataclass(frozen=True)
class SecondSolve:
    """The estimator of a solution with a given basis: it solves once more, at another scale and seed."""

    problem: Problem
    request: Request
    found: Attempt

    def __call__(self) -> ErrorEstimate:
        bench, spec, method = _given(self.problem, self.request)
        # At other points, too: given ones may be few. The client may be closed by now.
        bench = replace(bench, engine=bench.engine.available)
        second = attempt(bench, rescaled(spec), self.request.points, method, key=1)
        error = compare(self.found.function, second.function, bench.lowered.unknowns, bench.where)
        return at_least(error, misfits(bench, self.found.residuals))

    def __getstate__(self) -> dict[str, Any]:
        # Workers belong to the process that solves.
        return {**vars(self), "request": replace(self.request, engine=HERE, guess=None)}


def _answer(
    found: Attempt,
    status: Status,
    error: Callable[[], ErrorEstimate],
    history: tuple[Progress, ...],
    notes: dict[str, Any],
) -> Answer:
    coefficients = found.w[: found.space.columns]
    return Answer(
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
