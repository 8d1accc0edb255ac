r"""The function `fit`: θ̂ = argmin_θ Σᵢ ((gᵢ[u(θ)] - yᵢ)/σᵢ)², where u(θ) solves the problem."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from pibls.arrays import Array
from pibls.basis.cube_points import halton
from pibls.errors import PiblsError, ProblemError
from pibls.expressions import Number, Parameter
from pibls.inverse.data import Data
from pibls.inverse.experiment import Experiment
from pibls.inverse.fit_parameters import FitParameters, parse_fit_parameters
from pibls.inverse.function_parameters import expand_unknown_functions
from pibls.inverse.identifiability import Identifiability
from pibls.inverse.losses import check_loss
from pibls.inverse.misfit import FitProgress, Minimum, Misfit
from pibls.inverse.null_directions import assess_identifiability
from pibls.inverse.result import Fit
from pibls.inverse.roughness_penalty import Smoothing, assess_field_identifiability
from pibls.inverse.unknown_function import Field
from pibls.problem import Problem
from pibls.problem.interfaces.unsupported_interfaces import refuse_moving_interfaces
from pibls.solution.settings import SolveSettings

_MAX_FINAL_SOLVES = 3  # full solves at the optimum
_MAX_SPACE_DISTANCE = 0.03  # relative distance in θ up to which a space needs no full solve at the optimum
_PREDICTION_TOLERANCE = 0.02  # in units of σ: change of the predictions by a full solve that is accepted


def fit(
    problem: Problem | Sequence[Problem],
    data: Data | Sequence[Data] | Sequence[Sequence[Data]],
    unknown: Mapping[Any, Any],
    *,
    start: Mapping[Parameter | str, Number] | None = None,
    loss: str = "linear",
    tol: float = 1e-6,
    tolerance: float = 1e-6,
    starts: int = 1,
    max_steps: int = 60,
    seed: int = 0,
    time_limit: float | None = None,
    callback: Callable[[FitProgress], object] | None = None,
) -> Fit:
    """Fit parameters of a problem to data, and estimate their uncertainty.

    The equation is a constraint: it is solved for every value of the parameters, and only the misfit is
    minimized. The first solve determines a space adaptively; the others reuse it, and derivatives follow from
    the same factorization. At the optimum the space is determined again, and the predictions must agree.

    Parameters
    ----------
    problem
        A problem with parameters, or several problems (experiments) that share some.
    data
        A `Data`, or several; for several problems a sequence with the data of each.
    unknown
        ``{D: (100, 3000), r: (0, 1), c: None}``: parameters with their bounds. The initial value is the
        problem's own if it lies between the bounds, otherwise the middle. ``k(x)`` or ``f(u)``, a function
        among the problem's parameters, is an unknown function with bounds on its values, or None; a `Field`
        in place of the bounds sets degree and ranges. Its smoothness is estimated from the data.
    start
        Other initial values, ``{D: 500}``.
    loss
        "linear" is least squares; "soft_l1", "huber", "cauchy" and "arctan" are robust against outliers.
    tol
        The tolerance of each solve, as in `pibls.solve`; it should be well below the noise.
    tolerance
        The relative tolerance of the parameters.
    starts
        The number of start values; beyond the first they are spread between the bounds, and the best minimum
        is returned.
    max_steps
        The maximum number of solves of each minimization.
    seed, time_limit
        As in `pibls.solve`; the limit applies to each full solve.
    callback
        Called with a `FitProgress` after each solve.

    >>> import numpy as np, sympy as sp, pibls
    >>> t, k = sp.symbols("t k")
    >>> u = sp.Function("u")(t)
    >>> decay = pibls.Problem(
    ...     pibls.Interval(t, 0, 2), [u.diff(t) + k * u], [pibls.Initial(u, 1)], parameters={k: 1.0}
    ... )
    >>> ts = np.linspace(0.1, 2, 20)
    >>> noise = 0.01 * np.random.default_rng(0).standard_normal(20)
    >>> found = pibls.fit(decay, pibls.Data(u, {t: ts}, np.exp(-1.3 * ts) + noise), {k: (0, 10)})
    >>> low, high = found.interval(k, 0.95)
    >>> bool(low < 1.3 < high), round(found.values[k], 1)
    (True, 1.3)
    """
    began = time.perf_counter()
    problems, sets = _check_experiments(problem, data)
    loss = check_loss(loss)
    unknown, problems, fields = expand_unknown_functions(unknown, problems, sets)
    for p in problems:
        refuse_moving_interfaces(p, [s for s in unknown if s in p.parameters], "fit(unknown)")
    unknowns = parse_fit_parameters(unknown, problems, [d.expression for s in sets for d in s], start)
    _check_count(sets, len(unknowns) - sum(len(f.symbols) - 1 for f in fields))
    _check_loss_of_functions(loss, fields)
    known = all(d.sigma is not None for s in sets for d in s)
    smoothing = Smoothing.for_fields(fields, unknowns, known) if fields else None
    settings: SolveSettings = {"tol": tol, "seed": seed, "time_limit": time_limit}
    experiments = [Experiment(p, d, unknowns, settings) for p, d in zip(problems, sets, strict=True)]
    trials = (
        (first, Misfit(experiments, unknowns, loss, callback, smoothing))
        for first in _start_values(unknowns, starts, seed)
    )
    found, misfit = _best_minimum(trials, experiments, tolerance, max_steps)
    found, moved = _verified_minimum(experiments, misfit, found, tolerance, max_steps)
    identifiability = _assess(fields, unknowns, smoothing, found, misfit)
    misfit.predict(found.theta)
    return Fit(
        unknowns=unknowns,
        fields=fields,
        experiments=tuple(experiments),
        descent=found,
        misfit=misfit,
        identifiable=identifiability,
        loss=loss,
        moved=moved,
        seconds=time.perf_counter() - began,
    )


def _verified_minimum(
    experiments: list[Experiment], misfit: Misfit, found: Minimum, tolerance: float, max_steps: int
) -> tuple[Minimum, float]:
    """Repeat the minimization in a space determined at the optimum, until the predictions agree.

    Returns the minimum, and the last change of the predictions in units of σ.
    """
    moved = 0.0
    for _ in range(_MAX_FINAL_SOLVES):
        far = [e for e in experiments if _space_distance(e, found.theta) > _MAX_SPACE_DISTANCE]
        if not far:
            break
        before = misfit.predict(found.theta)
        for e in far:
            e.rebuild_space(found.theta)
        moved = float(np.abs((misfit.predict(found.theta) - before) / found.sigma).max())
        rounding = 1e-7 * np.abs(before).max() / found.sigma.min()
        if moved <= max(_PREDICTION_TOLERANCE, rounding):
            break
        found = misfit.minimize(found.theta, tolerance, max_steps)
    return found, moved


def _space_distance(experiment: Experiment, theta: Array) -> float:
    """Return the relative distance of θ from the parameters at which the space was determined."""
    if experiment.space_theta is None:
        return np.inf
    size = np.where(theta != 0, np.abs(theta), experiment.unknowns.scale)
    return float(np.max(np.abs(experiment.space_theta - theta) / size))


def _best_minimum(
    trials: Iterable[tuple[Array, Misfit]],
    experiments: Sequence[Experiment],
    tolerance: float,
    max_steps: int,
) -> tuple[Minimum, Misfit]:
    """Minimize from several start values and return the lowest minimum; raise the last error if all fail."""
    best: tuple[float, Minimum, Misfit] | None = None
    failure: PiblsError | None = None
    for first, misfit in trials:
        try:
            found = misfit.minimize(first, tolerance, max_steps)
        except PiblsError as reason:
            failure = reason
            for e in experiments:
                e.discard_state()
            continue
        cost = float(np.sum(found.residuals**2)) + 2.0 * float(np.sum(np.log(found.sigma)))
        if best is None or cost < best[0]:
            best = (cost, found, misfit)
    if best is None:
        assert failure is not None
        raise failure
    return best[1], best[2]


def _check_loss_of_functions(loss: str, fields: tuple[Field, ...]) -> None:
    if fields and loss != "linear":
        raise ProblemError(
            "loss",
            expected="'linear' if a function is unknown",
            got=repr(loss),
            remedy="Remove outliers from the data, or fit parameters only.",
        )


def _assess(
    fields: tuple[Field, ...], unknowns: FitParameters, smoothing: Smoothing | None, found: Minimum,
    misfit: Misfit,
) -> Identifiability:  # fmt: skip
    """Return which parameters the data determine."""
    if smoothing is not None:
        return assess_field_identifiability(
            fields, unknowns, smoothing, found.theta, found.jacobian / found.sigma[:, None]
        )
    return assess_identifiability(
        unknowns.symbols,
        found.theta,
        unknowns.low,
        unknowns.high,
        found.jacobian,
        found.sigma,
        misfit.predict,
    )


def _check_experiments(problem: Any, data: Any) -> tuple[list[Problem], list[tuple[Data, ...]]]:
    several = not isinstance(problem, Problem)
    problems = list(problem) if several and isinstance(problem, Sequence) else [problem]
    for p in problems:
        if not isinstance(p, Problem):
            raise ProblemError(
                "problem",
                expected="a pibls.Problem, or a list of them",
                got=repr(p),
                remedy="Write Problem(domain, equations, conditions, parameters={…}).",
            )
    return problems, _check_data(data if several else [data], problems)


def _check_data(groups: Any, problems: Sequence[Problem]) -> list[tuple[Data, ...]]:
    """Return the data of each problem as a tuple."""
    if not isinstance(groups, Sequence) or len(groups) != len(problems):
        raise ProblemError(
            "data",
            expected=f"the data of each of the {len(problems)} problems",
            got=f"{len(groups)}" if isinstance(groups, Sequence) else repr(groups),
            remedy="Write fit([first, second], [[data of the first], [data of the second]], unknown).",
        )
    sets = [(g,) if isinstance(g, Data) else tuple(g) if isinstance(g, Sequence) else (g,) for g in groups]
    for group in sets:
        for d in group:
            if not isinstance(d, Data):
                raise ProblemError(
                    "data",
                    expected="pibls.Data, or a list of them",
                    got=repr(d),
                    remedy="Write pibls.Data(u, {x: xs}, values).",
                )
        if not group:
            raise ProblemError(
                "data", expected="at least one pibls.Data", got="none", remedy="Add a pibls.Data."
            )
    return sets


def _check_count(sets: Sequence[Sequence[Data]], wanted: int) -> None:
    n = sum(len(d) for s in sets for d in s)
    estimated = any(d.sigma is None for s in sets for d in s)
    if n < wanted + estimated:
        more = ", and one more to estimate sigma" if estimated else ""
        raise ProblemError(
            "data",
            expected=f"at least as many values as unknown parameters ({wanted}){more}",
            got=f"{n}",
            remedy="Add data, give sigma, or fix a parameter.",
        )


def _start_values(unknowns: FitParameters, count: int, seed: int) -> list[Array]:
    """Return the start values: the first one, and others spread over the bounds.

    They are spread logarithmically between positive bounds with a ratio above 10.
    """
    out = [unknowns.start]
    if count > 1:
        low, high = unknowns.low, unknowns.high
        U = halton(count - 1, len(unknowns), np.random.default_rng(seed))
        spans = [
            np.exp(np.log(a) + x * np.log(b / a)) if a > 0 and b > 10 * a else a + x * (b - a)
            if np.isfinite(b - a) else s * 4.0 ** (2 * x - 1)
            for a, b, s, x in zip(low, high, unknowns.start, U.T, strict=True)
        ]  # fmt: skip
        out += list(np.column_stack(spans))
    return out
