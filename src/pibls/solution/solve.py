"""The function `solve`: check the arguments, run the pipeline, return a `Solution`."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, SupportsIndex

from pibls.errors import ConvergenceWarning, ProblemError

if TYPE_CHECKING:
    # Imported at the first solve instead, which keeps `import pibls` fast.
    from pibls.adaptive.budget import Progress
    from pibls.assembly.points import Points
    from pibls.basis import BasisSpec
    from pibls.expressions import Expression
    from pibls.nonlinear import Method
    from pibls.problem import Problem
    from pibls.solution import Solution
    from pibls.spaces import Choice

_MESSAGE_TIME_FACTOR = 1.1  # times time_limit: the search for causes to report ends there


def solve(
    problem: Problem,
    *,
    tol: float = 1e-10,
    basis: Choice | None = None,
    points: Points | None = None,
    method: Method | None = None,
    guess: Any = None,
    enrich: Sequence[Expression] | Expression | None = None,
    seed: int = 0,
    max_nodes: int = 4000,
    time_limit: float | None = None,
    progress: bool = False,
    callback: Callable[[Progress], object] | None = None,
    engine: Any = None,
) -> Solution:
    """Solve a problem to a given tolerance; basis, points and method are chosen unless given.

    Parameters
    ----------
    problem
        The problem to solve.
    tol
        The wanted maximum error of every unknown, relative to its own max|u|.
    basis, points, method
        If given, exactly these are used: `Broad`, `RandomFourierFeatures` or `Features`; `Points`;
        `LeastSquares`, `GaussNewton`, `NLSQPerturb` or `TrustRegion`. A given basis is not adapted.
    guess
        The initial guess for a nonlinear problem: a number, an expression, a callable or a `Solution`; for
        several unknowns a mapping. Optional.
    enrich
        SymPy expressions of the coordinates that are added to the basis, such as
        ``sympy.sqrt(x**2 + y**2)``; they may be singular at points of the boundary. The singular functions
        of corners are added automatically.
    seed
        Seed of the random numbers; the same seed gives the same result.
    max_nodes
        The largest number of columns of one dense least-squares system (in an evolution: per window); cells
        may have 25 times as many in total, and tensor-product bases on a box as many coefficients as a
        quarter of the entries of that system. Rejected if it is too small for any basis.
    time_limit
        The time that the solve may take, in seconds.
    progress
        Show a progress line (needs rich).
    callback
        Called with a `Progress` after each candidate, and with an engine also in between.
    engine
        A `dask.distributed.Client`: cells are assembled and eliminated by its workers, with the same result.
        Single-domain systems, and systems too small to be worth sending, are solved locally.

    Returns
    -------
    Solution
        With a `ConvergenceWarning` if it did not converge. Ctrl-C returns the best solution so far, if there
        is one, with the status INTERRUPTED.

    >>> import sympy as sp, pibls
    >>> x = sp.Symbol("x")
    >>> u = sp.Function("u")(x)
    >>> problem = pibls.Problem(
    ...     domain=pibls.Interval(x, 0, 1),
    ...     equations=[sp.Eq(u.diff(x, 2), -sp.pi**2 * sp.sin(sp.pi * x))],
    ...     conditions=[pibls.Dirichlet(u, 0)],
    ... )
    >>> solution = pibls.solve(problem)
    >>> round(float(solution(0.5)), 9), solution.converged
    (1.0, True)
    """
    start_time = time.perf_counter()
    _check_choices(problem, basis, points, method)
    _check_numbers(tol, seed, max_nodes, time_limit)
    if callback is not None and not callable(callback):
        raise ProblemError(
            "callback",
            expected="a function of one argument, the `Progress`, or None",
            got=repr(callback),
            remedy="Write callback=print to see what it is called with.",
        )
    from pibls.adaptive import pipeline
    from pibls.adaptive.budget import Budget
    from pibls.adaptive.request import Request
    from pibls.linalg.tree.distributed import engine_of
    from pibls.runtime.deadline import deadline
    from pibls.runtime.interruption import keep_interrupts
    from pibls.solution import Solution

    workers = engine_of(engine)

    start = None
    if guess is not None:
        from pibls.adaptive.initial_guess.user_guess import parse_guess

        start = parse_guess(guess, problem)
    added: tuple[BasisSpec, ...] = ()
    if enrich is not None:
        from pibls.problem.forms.enrichment import enrichment_functions

        added = enrichment_functions(enrich, problem)
    request = Request(
        tol, basis, points, method, start, int(seed), max_nodes, time_limit, start_time, workers, added
    )
    with keep_interrupts():
        if not progress:
            answer = pipeline.run(problem, request, callback)
        else:
            from pibls.adaptive.progress_display import progress_line

            with progress_line(callback) as both:
                answer = pipeline.run(problem, request, both)
    seconds = time.perf_counter() - start_time
    solution = Solution(problem=problem, seconds=seconds, seed=int(seed), tol=tol, **vars(answer))
    if not solution.converged:
        limit = None if time_limit is None else _MESSAGE_TIME_FACTOR * time_limit
        budget = Budget(start_time, limit, max_nodes)
        with deadline(lambda step: budget.check(step, limit)):
            message = solution.message
        warnings.warn(message, ConvergenceWarning, stacklevel=2)
    return solution


def solve_again(problem: Problem, solution: Solution) -> Solution:
    """Solve a problem of the same kind with the basis and points of a solution, if it has them."""
    kept = {key: solution.settings[key] for key in ("basis", "points") if key in solution.settings}
    method = None
    if "basis" in kept:
        from pibls.nonlinear import GaussNewton

        method = GaussNewton(rounds=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return solve(problem, tol=solution.tol, seed=solution.seed, method=method, **kept)


def _is_instance_with(value: object, *alternatives: tuple[str, ...]) -> bool:
    """Whether a value is an object, not a class, with all members of one of the alternatives."""
    return not isinstance(value, type) and any(
        all(hasattr(value, name) for name in names) for names in alternatives
    )


def _check_choices(problem: object, basis: object, points: object, method: object) -> None:
    from pibls.problem import Problem

    if not isinstance(problem, Problem):
        raise ProblemError(
            "problem",
            expected="a pibls.Problem",
            got=repr(problem),
            remedy="Write Problem(domain, equations, conditions).",
        )
    if basis is not None and not _is_instance_with(basis, ("size", "draw"), ("size", "space")):
        raise ProblemError(
            "basis",
            expected="Broad(…), Waves(…), Decomposed(…) or an object with size and draw(box, rng)",
            got=repr(basis),
            remedy="Write basis=Broad(10, 10, 4, 10, scale=3.9).",
        )
    if points is not None and not _is_instance_with(points, ("interior", "rule")):
        raise ProblemError(
            "points",
            expected="Points(interior, boundary, initial)",
            got=repr(points),
            remedy="Write points=Points(400, 80).",
        )
    if method is not None and not _is_instance_with(method, ("solve",)):
        raise ProblemError(
            "method",
            expected="LeastSquares(), GaussNewton(), NLSQPerturb(), TrustRegion() or an object with "
            "solve(system, rng)",
            got=repr(method),
            remedy="Methods are objects: write method=GaussNewton().",
        )


def _check_numbers(tol: float, seed: int, max_nodes: int, time_limit: float | None) -> None:
    is_valid_limit = time_limit is None or (_is_real(time_limit) and time_limit > 0)
    wanted = (
        ("tol", tol, _is_real(tol) and 0 < tol < 1, "a number between 0 and 1",
         "tol is the wanted error relative to max|u|, such as 1e-10."),
        ("seed", seed, _is_whole(seed) and seed >= 0, "a whole number of at least 0",
         "The same seed gives the same result; write seed=0."),
        ("max_nodes", max_nodes, _is_whole(max_nodes) and max_nodes >= 2, "a whole number of at least 2",
         "It limits the width of the basis; write max_nodes=4000."),
        ("time_limit", time_limit, is_valid_limit, "a positive number of seconds, or None",
         "Write time_limit=10.0."),
    )  # fmt: skip
    for name, value, is_valid, expected, remedy in wanted:
        if not is_valid:
            raise ProblemError(name, expected=expected, got=repr(value), remedy=remedy)


def _is_real(value: object) -> bool:
    return not isinstance(value, bool) and isinstance(value, (int, float))


def _is_whole(value: object) -> bool:
    return not isinstance(value, bool) and isinstance(value, SupportsIndex)
