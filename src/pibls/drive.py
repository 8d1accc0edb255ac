"""From a request to a solution: one attempt with given settings, or a search for all of them."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, cast

from pibls.attempt import Attempt, Bench, attempt
from pibls.basis import BasisSpec
from pibls.estimate import OTHER_SCALE, ErrorEstimate, compare
from pibls.lowering import lower
from pibls.points import Points
from pibls.problem import Problem
from pibls.solution import Solution
from pibls.solver import GaussNewton, LeastSquares, Method, PivotedQR
from pibls.status import Status
from pibls.tune import Progress, Search

_RESOLVED = 1e-6  # held-out residual, relative to its own terms, that counts as solved


@dataclass(frozen=True)
class Request:
    """What the user asked of `solve`."""

    tol: float
    basis: BasisSpec | None
    points: Points | None
    method: Method | None
    seed: int
    max_nodes: int
    time_limit: float | None
    began: float


def run(problem: Problem, request: Request, callback: Callable[[Progress], object] | None) -> Solution:
    """Solve as requested."""
    bench = Bench.of(lower(problem), problem.domain, request.seed, request.tol)
    if request.basis is not None:
        return _as_given(problem, bench, request)
    return _searched(problem, bench, request, callback)


def _searched(
    problem: Problem, bench: Bench, request: Request, callback: Callable[[Progress], object] | None
) -> Solution:
    r = request
    search = Search(bench, r.tol, r.max_nodes, r.time_limit, r.points, r.method, callback, r.began)
    search.run()
    best, error = search.best, search.error
    assert best is not None  # run() makes at least one attempt
    return _solution(problem, best, request, search.status, lambda: error, tuple(search.history))


def _as_given(problem: Problem, bench: Bench, request: Request) -> Solution:
    """Exactly the given basis; the error is estimated when it is asked for."""
    spec = request.basis
    assert spec is not None
    method = request.method
    if method is None:
        method = LeastSquares(PivotedQR()) if bench.lowered.is_linear else GaussNewton()
    found = attempt(bench, spec, request.points, method, key=0)
    status = found.outcome.status
    if status is Status.SOLVED and not found.relative <= _RESOLVED:
        status = Status.UNRESOLVED

    def error() -> ErrorEstimate:
        second = attempt(bench, _rescaled(spec), request.points, method, key=1)
        return compare(found.values, second.values)

    return _solution(problem, found, request, status, error, ())


def _rescaled(spec: Any) -> BasisSpec:
    """The same basis at another scale, where it has one."""
    scale = getattr(spec, "scale", None)
    if isinstance(scale, tuple):
        scale = tuple(OTHER_SCALE * s for s in scale)
    elif isinstance(scale, (int, float)):
        scale = OTHER_SCALE * scale
    else:
        return cast("BasisSpec", spec)
    return cast("BasisSpec", replace(spec, scale=scale))


def _solution(
    problem: Problem,
    found: Attempt,
    request: Request,
    status: Status,
    error: Callable[[], ErrorEstimate],
    history: tuple[Progress, ...],
) -> Solution:
    return Solution(
        problem=problem,
        basis=found.basis,
        weights=found.outcome.w,
        status=status,
        residuals=found.residuals,
        seconds=time.perf_counter() - request.began,
        seed=request.seed,
        tol=request.tol,
        steps=found.outcome.steps,
        settings={"basis": found.spec, "points": found.points},
        history=history,
        estimator=error,
    )
