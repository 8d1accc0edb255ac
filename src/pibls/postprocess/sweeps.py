"""Parameter sweeps: the solutions u(k₁), u(k₂), … of one problem at many parameter values."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import product
from typing import TYPE_CHECKING, TypeAlias, Unpack

from pibls.adaptive.sweeps.shared_basis import SharedBasisSolver
from pibls.adaptive.sweeps.superposition import SuperposedSolutions, Superposition
from pibls.errors import ConvergenceWarning, ProblemError
from pibls.expressions import Number, Parameter
from pibls.problem import Problem
from pibls.problem.parameters import find_parameter
from pibls.solution import Solution
from pibls.solution.settings import SolveSettings
from pibls.solution.solve import solve
from pibls.status import Status

if TYPE_CHECKING:
    from pibls.adaptive.request import SolveResult

SweepValues: TypeAlias = (
    Mapping[Parameter | str, Iterable[Number]] | Sequence[Mapping[Parameter | str, Number]]
)
"""{parameter: values}, where several parameters give all combinations, or a list of mappings."""


def sweep(problem: Problem, values: SweepValues, **settings: Unpack[SolveSettings]) -> list[Solution]:
    """Return the solutions at many values of the parameters, in the order of the values.

    The basis, its width and the points of the first solve are reused for the others, and the factorization
    too if only the data depend on the parameters. Each solution is validated on held-out points and against a
    companion solution; if it does not meet the tolerance, that value is solved separately.

    Parameters
    ----------
    problem
        A problem with parameters.
    values
        ``{k: [1.0, 2.0, 3.0]}``, where several parameters give all combinations, or a list of mappings.
    settings
        Keyword arguments of `pibls.solve`.

    >>> import sympy as sp, pibls
    >>> x, k = sp.symbols("x k")
    >>> u = sp.Function("u")(x)
    >>> decay = pibls.Problem(
    ...     pibls.Interval(x, 0, 1), [u.diff(x) + k * u], [pibls.Initial(u, 1)], parameters={k: 1.0}
    ... )
    >>> [round(float(s(1.0)), 6) for s in pibls.sweep(decay, {k: [1.0, 2.0, 3.0]})]
    [0.367879, 0.135335, 0.049787]
    """
    problems = [problem.at(point) for point in _parameter_points(problem, values)]
    found: dict[int, Solution] = dict(iterate_sweep(problems, **settings))
    return [found[i] for i in range(len(problems))]


def iterate_sweep(
    problems: Sequence[Problem], **settings: Unpack[SolveSettings]
) -> Iterator[tuple[int, Solution]]:
    """Yield (index, solution) for one problem at several parameter values, as soon as each is solved.

    The order is by bisection: first both ends, then the middle of each remaining interval.
    """
    chosen = {"basis", "points", "method", "time_limit"} & {k for k, v in settings.items() if v is not None}
    if chosen or not problems:
        for i, problem in enumerate(problems):
            yield i, _solve_separately(problem, settings)
        return
    moving = [k for k in problems[0].parameters if len({p.parameters[k] for p in problems}) > 1]
    order = _solve_order(problems, moving)
    data_only = changes_only_data(problems[0], moving)
    if data_only:
        for i, solution in _superposed(problems, settings):
            order.remove(i)
            yield i, solution
    yield from _solve_with_shared_bases(problems, order, data_only, settings)


def _solve_with_shared_bases(
    problems: Sequence[Problem], order: list[int], data_only: bool, settings: SolveSettings
) -> Iterator[tuple[int, Solution]]:
    """Yield the solutions in this order; each adaptive solve determines a space, which others reuse."""
    kept: SharedBasisSolver | None = None
    status = Status.TOLERANCE
    while order:
        if kept is not None:
            batch, order = (order, []) if data_only else (order[:1], order[1:])
            start_time = time.perf_counter()
            answers = kept.answers([problems[i] for i in batch], status, not data_only)
            seconds = (time.perf_counter() - start_time) / len(batch)
            for i, answer in zip(batch, answers, strict=True):
                if answer is not None:
                    yield i, _solution(problems[i], answer, seconds, settings, kept.tol)
            left = [i for i, answer in zip(batch, answers, strict=True) if answer is None]
            if not left:
                continue
            order = left + order
        # The reused space failed here: solve the next value adaptively and reuse its space.
        first, *order = order
        solution = _solve_separately(problems[first], settings)
        yield first, solution
        kept = SharedBasisSolver.of(problems[first], solution) if solution.converged else None
        status = solution.status


def _solve_order(problems: Sequence[Problem], moving: Sequence[Parameter]) -> list[int]:
    """Return the indices by bisection, with the end further from zero first.

    A space for a large wave number also resolves smaller ones.
    """
    order = _bisection_order(len(problems))
    ends = [sum(abs(problems[i].parameters[k]) for k in moving) for i in order[:2]]
    if len(ends) == 2 and ends[1] > ends[0]:
        order[:2] = order[1::-1]
    return order


def _superposed(problems: Sequence[Problem], settings: SolveSettings) -> Iterator[tuple[int, Solution]]:
    """Yield the solutions that are linear combinations of a few, and these few."""
    plan = Superposition.of(problems)
    if plan is None:
        return
    solved = []
    for i in plan.solved_indices:
        solved.append(_solve_separately(problems[i], settings))
        yield i, solved[-1]
    if not all(s.converged for s in solved):
        return
    sums = SuperposedSolutions(plan, solved, solved[0].tol)
    for k, problem in enumerate(problems):
        start_time = time.perf_counter()
        answer = None if k in plan.solved_indices else sums.answer(k)
        if answer is not None:
            yield k, _solution(problem, answer, time.perf_counter() - start_time, settings, sums.tol)


def _solve_separately(problem: Problem, settings: SolveSettings) -> Solution:
    solution = solve(problem, **settings)
    if solution.status is Status.INTERRUPTED:
        raise KeyboardInterrupt
    return solution


def _solution(
    problem: Problem, answer: SolveResult, seconds: float, settings: SolveSettings, tol: float
) -> Solution:
    seed = int(settings.get("seed", 0))
    solution = Solution(problem=problem, seconds=seconds, seed=seed, tol=tol, **vars(answer))
    if not solution.converged:
        warnings.warn(solution.message, ConvergenceWarning, stacklevel=3)
    return solution


def _bisection_order(n: int) -> list[int]:
    """Return each index once, in the order 0, n-1, the middle, the quarters, ….

    >>> _bisection_order(6)
    [0, 5, 2, 1, 3, 4]
    """
    out = [0, n - 1][: min(n, 2)]
    gaps = [(0, n - 1)]
    while gaps:
        low, high = gaps.pop(0)
        middle = (low + high) // 2
        if middle > low:
            out.append(middle)
            gaps += [(low, middle), (middle, high)]
    return out


def changes_only_data(problem: Problem, moving: Sequence[Parameter]) -> bool:
    """Whether only the data and not the operator depend on these parameters."""
    if not problem.is_linear:
        return False
    places = [list(problem.parameters).index(k) for k in moving]
    for statement in problem.statements:
        symbols = {statement.form.variables.parameters[i] for i in places} if places else set()
        if any(a.free_symbols & symbols for _, a in statement.form.linear):
            return False
    return True


def _parameter_points(problem: Problem, values: SweepValues) -> list[dict[Parameter | str, Number]]:
    if isinstance(values, Mapping):
        lists = {find_parameter(k, problem.parameters, "sweep"): v for k, v in values.items()}
        try:
            return [dict(zip(lists, point, strict=True)) for point in product(*lists.values())]
        except TypeError:
            pass
    elif isinstance(values, Sequence) and all(isinstance(v, Mapping) for v in values):
        return [dict(v) for v in values]
    raise ProblemError(
        "sweep(values)",
        expected="a mapping of parameters to lists of values, or a list of mappings",
        got=repr(values),
        remedy="Write pibls.sweep(problem, {k: [1.0, 2.0, 3.0]}).",
    )
