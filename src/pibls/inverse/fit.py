r"""θ̂ = argmin_θ Σᵢ ((gᵢ[u(θ)] - yᵢ)/σᵢ)², where u(θ) solves the problem: parameters from data."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from pibls.arrays import Array
from pibls.basis.quasi import halton
from pibls.errors import PiblsError, ProblemError
from pibls.inverse.asked import asked_for
from pibls.inverse.data import Data
from pibls.inverse.directions import verdict_of
from pibls.inverse.experiment import Experiment
from pibls.inverse.losses import check_loss
from pibls.inverse.misfit import Descent, FitProgress, Misfit
from pibls.inverse.result import Fit
from pibls.inverse.smoothing import Smoothing, fields_verdict
from pibls.inverse.unknowns import Unknowns, read_unknowns
from pibls.problem import Problem
from pibls.problem.interfaces.materials import refuse_moving

_ROUNDS = 3  # of searching for a space at the optimum
_NEAR = 0.03  # relative distance in the parameters within which a space serves without another look
_SAME = 0.02  # of σ: values that move less when the space is searched for anew are the same


def fit(
    problem: Problem | Sequence[Problem],
    data: Data | Sequence[Data] | Sequence[Sequence[Data]],
    unknown: Mapping[Any, Any],
    *,
    start: Mapping[Any, Any] | None = None,
    loss: str = "linear",
    tol: float = 1e-6,
    tolerance: float = 1e-6,
    starts: int = 1,
    max_steps: int = 60,
    seed: int = 0,
    time_limit: float | None = None,
    callback: Callable[[FitProgress], object] | None = None,
) -> Fit:
    """The parameters of a problem that explain the data, with their uncertainty.

    The equation is a constraint: for every value of the parameters it is solved, and the misfit alone
    decides. The first solve searches for a space; the others stay in it, and from the same factors comes
    the derivative. At the end a space is searched for anew, and the values must agree.

    Parameters
    ----------
    problem
        A problem with parameters, or several problems (experiments) that share some.
    data
        A `Data`, or several; for several problems a sequence with those of each.
    unknown
        ``{D: (100, 3000), r: (0, 1), c: None}``: parameters with their bounds. The search begins at the
        problem's own value if it lies between them, otherwise in the middle. ``k(x)`` or ``f(u)``, a
        function among the problem's parameters, is an unknown function with bounds on its values, or None; a
        `Field` in the place of the bounds says more. How smooth it is, the data choose.
    start
        Where to begin instead.
    loss
        "linear" is least squares; "soft_l1", "huber", "cauchy" and "arctan" bear outliers.
    tol
        Of each solve, as in `pibls.solve`: well below the noise is enough.
    tolerance
        Of the parameters, relative.
    starts
        More than one: further starts between the bounds, and the best end of all.
    max_steps
        How many solves a descent may take.
    seed, time_limit
        As in `pibls.solve`; the limit is that of each search for a space.
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
    problems, sets = _experiments(problem, data)
    loss = check_loss(loss)
    unknown, problems, fields = asked_for(unknown, problems, sets)
    for p in problems:
        refuse_moving(p, [s for s in unknown if s in p.parameters], "fit(unknown)")
    unknowns = read_unknowns(unknown, problems, [d.expression for s in sets for d in s], start)
    _check_count(sets, len(unknowns) - sum(len(f.symbols) - 1 for f in fields))
    if fields and loss != "linear":
        raise ProblemError(
            "loss",
            expected="'linear' where a function is unknown",
            got=repr(loss),
            remedy="Leave outliers out, or fit parameters only.",
        )
    known = all(d.sigma is not None for s in sets for d in s)
    smoothing = Smoothing.of(fields, unknowns, known) if fields else None
    settings = {"tol": tol, "seed": seed, "time_limit": time_limit}
    experiments = [Experiment(p, d, unknowns, settings) for p, d in zip(problems, sets, strict=True)]
    best: tuple[float, Descent, Misfit] | None = None
    refused: PiblsError | None = None
    for first in _starts(unknowns, starts, seed):
        misfit = Misfit(experiments, unknowns, loss, callback, smoothing)
        try:
            found = misfit.descend(first, tolerance, max_steps)
        except PiblsError as reason:
            refused = reason
            for e in experiments:
                e.drop()
            continue
        cost = float(np.sum(found.residuals**2)) + 2.0 * float(np.sum(np.log(found.sigma)))
        if best is None or cost < best[0]:
            best = (cost, found, misfit)
    if best is None:
        assert refused is not None
        raise refused
    _, found, misfit = best
    found, moved = _settled(experiments, misfit, found, tolerance, max_steps)
    if smoothing is not None:
        verdict = fields_verdict(
            fields, unknowns, smoothing, found.theta, found.jacobian / found.sigma[:, None]
        )
    else:
        verdict = verdict_of(
            unknowns.symbols,
            found.theta,
            unknowns.low,
            unknowns.high,
            found.jacobian,
            found.sigma,
            misfit.predict,
        )
    misfit.predict(found.theta)
    return Fit(
        unknowns=unknowns,
        fields=fields,
        experiments=tuple(experiments),
        descent=found,
        misfit=misfit,
        identifiable=verdict,
        loss=loss,
        moved=moved,
        seconds=time.perf_counter() - began,
    )


def _settled(
    experiments: list[Experiment], misfit: Misfit, found: Descent, tolerance: float, max_steps: int
) -> tuple[Descent, float]:
    """The optimum in a space that was searched for near it; how far the values moved by it, in σ."""
    moved = 0.0
    for _ in range(_ROUNDS):
        far = [e for e in experiments if _distance(e, found.theta) > _NEAR]
        if not far:
            break
        before = misfit.predict(found.theta)
        for e in far:
            e.search(found.theta)
        moved = float(np.abs((misfit.predict(found.theta) - before) / found.sigma).max())
        rounding = 1e-7 * np.abs(before).max() / found.sigma.min()
        if moved <= max(_SAME, rounding):
            break
        found = misfit.descend(found.theta, tolerance, max_steps)
    return found, moved


def _distance(experiment: Experiment, theta: Array) -> float:
    """How far from θ the space was searched for, relative."""
    if experiment.searched is None:
        return np.inf
    size = np.where(theta != 0, np.abs(theta), experiment.unknowns.scale)
    return float(np.max(np.abs(experiment.searched - theta) / size))


def _experiments(problem: Any, data: Any) -> tuple[list[Problem], list[tuple[Data, ...]]]:
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
    groups = [data] if not several else data
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
            raise ProblemError("data", expected="some", got="none", remedy="Add a pibls.Data.")
    return problems, sets


def _check_count(sets: Sequence[Sequence[Data]], wanted: int) -> None:
    n = sum(len(d) for s in sets for d in s)
    estimated = any(d.sigma is None for s in sets for d in s)
    if n < wanted + estimated:
        more = ", and one more to estimate sigma" if estimated else ""
        raise ProblemError(
            "data",
            expected=f"at least as many values as unknown parameters ({wanted}){more}",
            got=f"{n}",
            remedy="Measure more, give sigma, or fix a parameter.",
        )


def _starts(unknowns: Unknowns, count: int, seed: int) -> list[Array]:
    """The start, and others spread over the bounds; as logarithms where those are far apart."""
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
