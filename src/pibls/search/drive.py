"""From a request to a solution: one attempt with given settings, or a search for all of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, cast

from pibls.arrays import Array
from pibls.basis import Basis, BasisSpec
from pibls.linalg import PivotedQR
from pibls.problem import Problem
from pibls.problem.lowering import lower
from pibls.search.attempt import Attempt, Bench, attempt
from pibls.search.estimate import OTHER_SCALE, ErrorEstimate, Norms, compare
from pibls.search.loop import Progress, Search
from pibls.solver import GaussNewton, LeastSquares, Method
from pibls.status import Status
from pibls.system.points import Points

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


@dataclass(frozen=True)
class Answer:
    """What a search found: a function, and what is known about how good it is."""

    basis: Basis
    weights: Array
    status: Status
    residuals: dict[str, Norms]
    steps: int
    settings: dict[str, Any]
    history: tuple[Progress, ...]
    estimator: Callable[[], ErrorEstimate]


def run(problem: Problem, request: Request, callback: Callable[[Progress], object] | None) -> Answer:
    """Solve as requested."""
    bench = Bench.of(lower(problem), problem.domain, request.seed, request.tol)
    if request.basis is not None:
        return _as_given(bench, request)
    return _searched(bench, request, callback)


def _searched(bench: Bench, request: Request, callback: Callable[[Progress], object] | None) -> Answer:
    r = request
    search = Search(bench, r.tol, r.max_nodes, r.time_limit, r.points, r.method, callback, r.began)
    search.run()
    best, error = search.best, search.error
    assert best is not None  # run() makes at least one attempt
    return _answer(best, search.status, lambda: error, tuple(search.history))


def _as_given(bench: Bench, request: Request) -> Answer:
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

    return _answer(found, status, error, ())


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


def _answer(
    found: Attempt, status: Status, error: Callable[[], ErrorEstimate], history: tuple[Progress, ...]
) -> Answer:
    settings = {"basis": found.spec, "points": found.points}
    return Answer(
        found.basis, found.outcome.w, status, found.residuals, found.outcome.steps, settings, history, error
    )
