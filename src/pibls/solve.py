"""problem → points → basis → system → method → solution."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from pibls.arrays import Array
from pibls.basis import Basis, BasisSpec, Features
from pibls.domain import Domain, box_of, time_of
from pibls.errors import ProblemError
from pibls.lowering import LoweredProblem, lower
from pibls.points import Points, place
from pibls.problem import Problem
from pibls.scale import sine_scale
from pibls.solution import Norms, Solution
from pibls.solver import GaussNewton, LeastSquares, Method, Outcome, PivotedQR
from pibls.status import Status
from pibls.system import assemble, residuals_at

_WIDTH = {1: 96, 2: 512, 3: 1000}
_RESOLVED = 1e-6  # held-out residual, relative to the terms it is made of, that counts as solved


def solve(
    problem: Problem,
    *,
    tol: float = 1e-10,
    basis: BasisSpec | None = None,
    points: Points | None = None,
    method: Method | None = None,
    seed: int = 0,
) -> Solution:
    """Solve a problem; with nothing but the problem, everything else is chosen.

    Parameters
    ----------
    problem
        What to solve.
    tol
        The wanted maximum error relative to max|u|.
    basis, points, method
        Given, exactly these are used: a `Broad` or `Features`, a `Points`, and `LeastSquares`,
        `GaussNewton` or `NLSQPerturb`.
    seed
        Same seed, same result.

    >>> import sympy as sp, pibls
    >>> x = sp.Symbol("x")
    >>> u = sp.Function("u")(x)
    >>> problem = pibls.Problem(
    ...     domain=pibls.Interval(x, 0, 1),
    ...     equations=[sp.Eq(u.diff(x, 2), -sp.pi**2 * sp.sin(sp.pi * x))],
    ...     conditions=[pibls.Dirichlet(u, 0)],
    ... )
    >>> round(float(pibls.solve(problem)(0.5)), 9)
    1.0
    """
    start = time.perf_counter()
    _check_arguments(problem, tol, basis, points, method, seed)
    lowered = lower(problem)
    d = lowered.dimension
    # Independent streams: the points do not change when the basis draws more numbers.
    streams = [np.random.default_rng(s) for s in np.random.SeedSequence(seed).spawn(4)]
    spec = basis if basis is not None else _default_basis(d)
    points = points if points is not None else _default_points(spec.size, problem.domain)
    if method is None:
        method = LeastSquares(PivotedQR()) if lowered.is_linear else GaussNewton()
    drawn = spec.draw(box_of(problem.domain), streams[0])
    system = assemble(lowered, place(lowered, problem.domain, points, streams[1]), drawn)
    outcome = method.solve(system, streams[2])
    residuals, relative = _held_out(lowered, problem.domain, points, drawn, outcome.w, streams[3])
    return Solution(
        problem=problem,
        basis=drawn,
        weights=outcome.w,
        status=_status(outcome, relative),
        residuals=residuals,
        seconds=time.perf_counter() - start,
        seed=seed,
        steps=outcome.steps,
        settings={"basis": spec, "points": points, "method": method},
    )


def _default_basis(d: int) -> Features:
    nodes = _WIDTH.get(d, 1500)
    return Features(nodes, scale=sine_scale(nodes, d))


def _default_points(nodes: int, domain: Domain) -> Points:
    d = len(box_of(domain))
    if d == 1:
        return Points(2 * nodes, 2, 1, rule="chebyshev")
    # About 1.5 (2N)^{(d-1)/d} points on each of the faces, clustered towards edges and corners.
    face = int(1.5 * (2 * nodes) ** ((d - 1) / d))
    space = d - 1 if time_of(domain) is not None else d
    return Points(2 * nodes, 2 * space * face, face, rule="sobol", boundary_rule="chebyshev")


def _held_out(
    lowered: LoweredProblem, domain: Domain, points: Points, basis: Basis, w: Array, rng: np.random.Generator
) -> tuple[dict[str, Norms], float]:
    """Residuals at points that were not fitted, and the largest relative to its own terms."""
    n = min(max(points.interior // 2, 64), 1000)
    fresh = Points(n, max(n // 4, 2), max(n // 4, 1), rule="halton")
    where = place(lowered, domain, fresh, rng)
    found = residuals_at(lowered, where, basis, w)
    rough = residuals_at(lowered, where, basis, np.zeros_like(w))
    scale = max((float(np.abs(r).max()) for r in rough.values() if np.isfinite(r).all()), default=1.0)
    norms, worst = {}, 0.0
    for name, r in found.items():
        largest = float(np.abs(r).max()) if np.isfinite(r).all() else np.inf
        norms[name] = Norms(largest, float(np.sqrt(np.mean(r**2))))
        worst = max(worst, largest / scale if scale > 0 else largest)
    return norms, worst


def _status(outcome: Outcome, relative: float) -> Status:
    if outcome.status is not Status.SOLVED:
        return outcome.status
    return Status.SOLVED if relative <= _RESOLVED else Status.UNRESOLVED


def _check_arguments(problem: Any, tol: Any, basis: Any, points: Any, method: Any, seed: Any) -> None:
    if not isinstance(problem, Problem):
        raise ProblemError(
            "problem",
            expected="a pibls.Problem",
            got=repr(problem),
            remedy="Write Problem(domain, equations, conditions).",
        )
    if isinstance(tol, bool) or not isinstance(tol, (int, float)) or not 0 < tol < 1:
        raise ProblemError(
            "tol",
            expected="a number between 0 and 1",
            got=repr(tol),
            remedy="tol is the wanted error relative to max|u|, such as 1e-10.",
        )
    if basis is not None and not (hasattr(basis, "draw") and hasattr(basis, "size")):
        raise ProblemError(
            "basis",
            expected="Broad(…), Features(…) or an object with size and draw(box, rng)",
            got=repr(basis),
            remedy="Write basis=Broad(10, 10, 4, 10, scale=3.9).",
        )
    if points is not None and not isinstance(points, Points):
        raise ProblemError(
            "points",
            expected="Points(interior, boundary, initial)",
            got=repr(points),
            remedy="Write points=Points(400, 80).",
        )
    if method is not None and (isinstance(method, (str, type)) or not hasattr(method, "solve")):
        raise ProblemError(
            "method",
            expected="LeastSquares(), GaussNewton(), NLSQPerturb() or an object with solve(system, rng)",
            got=repr(method),
            remedy="Methods are objects: write method=GaussNewton().",
        )
    if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)) or seed < 0:
        raise ProblemError(
            "seed",
            expected="a whole number of at least 0",
            got=repr(seed),
            remedy="Same seed, same result; write seed=0.",
        )
