"""Predictions of the scratch assay for data that were not fitted: docs/data/assay_holdout.json.

    python -m benchmarks.assay_holdout              # all studies, about ten minutes on one core
    python -m benchmarks.assay_holdout time         # one of them: time, replicate, density, crowding

- ``time``: D and r from 12 and 24 h, predictions for 36 and 48 h; ``crowding``: with D + E u/K.
- ``replicate``: D, r and the initial state from two replicates, predictions for the third.
- ``density``: D and r on straight lines through the other five densities; only the initial state is known.

A score is the root mean square of prediction minus measurement, over all replicates, divided by the scatter
of the replicates about their mean at the same time. A prediction that equals the true mean has a score of 1.
Coverage is the fraction of measurements inside the 95 % prediction band.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import optimize, stats

import pibls
from benchmarks.assay import BOUNDS, HOLDOUT, TOL
from benchmarks.assay import STORED as FITS
from pibls.arrays import Array
from pibls.cases import assay

STORED = HOLDOUT
EARLY, LATE = assay.TIMES[:2], assay.TIMES[2:]
LEVEL = 0.95
_STEPS = {"D": 0.02, "r": 0.01}
"""Relative steps of the central differences in D and r."""


def at(cells: int, time: float, replicates: tuple[int, ...] = assay.REPLICATES) -> Array:
    """Return the measured densities at one time, shape (strips, replicates)."""
    rows = assay.experiment(cells)
    return assay.densities(rows[rows[:, 1] == time], replicates)


def positions(cells: int) -> Array:
    """Return the x of the strips."""
    rows = assay.experiment(cells)
    return np.asarray(rows[rows[:, 1] == 0, 0])


def scatter(cells: int, time: float) -> float:
    """Return the standard deviation of a replicate about the mean of all three, pooled over the strips."""
    return float(np.sqrt(at(cells, time).var(axis=1, ddof=1).mean()))


def rms(difference: Array) -> float:
    return float(np.sqrt(np.mean(difference**2)))


def score(cells: int, time: float, value: Array, replicates: tuple[int, ...] = assay.REPLICATES) -> float:
    """Return the RMS of prediction minus replicates in units of the scatter."""
    return rms(value[:, None] - at(cells, time, replicates)) / scatter(cells, time)


def coverage(
    cells: int, time: float, low: Array, high: Array, replicates: tuple[int, ...] = assay.REPLICATES
) -> float:
    """Return the fraction of measurements inside the band."""
    seen = at(cells, time, replicates)
    return float(np.mean((low[:, None] <= seen) & (seen <= high[:, None])))


def fit_subset(
    cells: int,
    times: tuple[float, ...] = assay.TIMES,
    replicates: tuple[int, ...] = assay.REPLICATES,
    *,
    crowding: bool = False,
    start: dict[str, float] | None = None,
) -> pibls.Fit:
    """Fit D and r (and E) to a part of the data."""
    problem = assay.problem(cells, crowding=crowding, replicates=replicates)
    unknown = {k: BOUNDS[k] for k in problem.parameters if k in BOUNDS}
    data = assay.data(cells, times=times, replicates=replicates)
    return pibls.fit(problem, data, unknown, start=start, tol=TOL, tolerance=1e-4)


def parameters(fit: pibls.Fit) -> dict[str, Any]:
    """Return values, standard deviations and σ of a fit, for JSON."""
    return {
        "values": {str(k): v for k, v in fit.values.items()},
        "std": {str(k): v for k, v in fit.std.items()},
        "sigma": fit.sigma[0],
    }


def band(fit: pibls.Fit, cells: int, time: float) -> tuple[Array, Array, Array]:
    """Return the prediction for a measurement: value, lower and upper end of its 95 % band."""
    return fit.band(assay.u, {assay.x: positions(cells), assay.t: time}, LEVEL, noise=True)


def prediction_scores(
    fit: pibls.Fit, cells: int, times: tuple[float, ...], held: tuple[int, ...]
) -> dict[str, Any]:
    """Return score, coverage and bias of a prediction at each time."""
    found: dict[str, Any] = {}
    for time in times:
        value, low, high = band(fit, cells, time)
        found[f"{time:g}"] = {
            "score": score(cells, time, value, held),
            "coverage": coverage(cells, time, low, high, held),
            "rms": rms(value - at(cells, time, held).mean(axis=1)),
            "bias": float(np.mean(value - at(cells, time, held).mean(axis=1))),
            "curve": np.round([value, low, high], 8).tolist(),
        }
    return found


def logistic(u0: Array, r: float, time: float) -> Array:
    """Return the solution of u' = r u (1 - u/K), growth without migration, strip by strip."""
    grown = u0 * np.exp(r * time)
    return np.asarray(grown / (1 + (grown - u0) / assay.CAPACITY))


def growth_alone(cells: int) -> float:
    """Return r of growth without migration, fitted to 12 and 24 h."""
    u0 = at(cells, 0.0).mean(axis=1)

    def squares(r: float) -> float:
        return sum(rms(logistic(u0, r, s)[:, None] - at(cells, s)) ** 2 for s in EARLY)

    return float(optimize.minimize_scalar(squares, bounds=(0.0, 0.2), method="bounded").x)


def baselines(cells: int, fit_of_all: dict[str, Any]) -> dict[str, Any]:
    """Return scores of extrapolation, of growth without migration, and of the fit to all times."""
    u0, r = at(cells, 0.0).mean(axis=1), growth_alone(cells)
    last, before = at(cells, EARLY[1]).mean(axis=1), at(cells, EARLY[0]).mean(axis=1)
    seen = solution_at_strips(cells, fit_of_all["D"], fit_of_all["r"])
    found = {}
    for s in LATE:
        line = last + (last - before) * (s - EARLY[1]) / (EARLY[1] - EARLY[0])
        found[f"{s:g}"] = {
            "unchanged": score(cells, s, last),
            "line": score(cells, s, line),
            "growth alone": score(cells, s, logistic(u0, r, s)),
            "fitted": score(cells, s, seen(s)),
        }
    return found


def solution_at_strips(cells: int, D: float, r: float) -> Callable[[float], Array]:
    """Return u at the strips as a function of time, for given parameters."""
    solution = pibls.solve(assay.problem(cells).at({assay.D: D, assay.r: r}), tol=TOL)
    where = positions(cells)
    return lambda time: np.asarray(solution(where, np.full(len(where), time)))


def by_time(cells: int, fits: dict[str, Any]) -> dict[str, Any]:
    """Fit on 12 and 24 h, predict 36 and 48 h."""
    plain = fit_subset(cells, EARLY, start=fits[f"{cells} fisher"]["values"])
    return {
        "fisher": {**parameters(plain), "times": prediction_scores(plain, cells, LATE, assay.REPLICATES)},
        "baselines": baselines(cells, fits[f"{cells} fisher"]["values"]),
        "scatter": {f"{s:g}": scatter(cells, s) for s in (0.0, *assay.TIMES)},
    }


def with_crowding(cells: int, fits: dict[str, Any]) -> dict[str, Any]:
    """As by_time with D + E u/K; the message if the fit fails."""
    try:
        fit = fit_subset(cells, EARLY, crowding=True, start=fits[f"{cells} crowding"]["values"])
    except pibls.ProblemError as reason:
        return {"failed": str(reason)}
    return {**parameters(fit), "times": prediction_scores(fit, cells, LATE, assay.REPLICATES)}


def by_replicate(cells: int, fits: dict[str, Any]) -> dict[str, Any]:
    """Fit two replicates and predict the third; compare with the mean of the two at the same time."""
    found = {}
    for out in assay.REPLICATES:
        kept = tuple(i for i in assay.REPLICATES if i != out)
        fit = fit_subset(cells, replicates=kept, start=fits[f"{cells} fisher"]["values"])
        means = {f"{s:g}": score(cells, s, at(cells, s, kept).mean(axis=1), (out,)) for s in assay.TIMES}
        found[f"{out}"] = {
            **parameters(fit),
            "times": prediction_scores(fit, cells, assay.TIMES, (out,)),
            "other two": means,
        }
    return found


def line_through(cells: int, fits: dict[str, Any], name: str) -> tuple[float, float]:
    """Return a parameter by linear regression over the other five densities, and half its 95 % interval."""
    others = np.array([c for c in assay.INITIAL_CELLS if c != cells], dtype=float)
    values = np.array([fits[f"{int(c)} fisher"]["values"][name] for c in others])
    line = stats.linregress(others, values)
    rest = values - line.intercept - line.slope * others
    free = len(others) - 2
    spread = (cells - others.mean()) ** 2 / np.sum((others - others.mean()) ** 2)
    std = float(np.sqrt(rest @ rest / free * (1 + 1 / len(others) + spread)))
    return float(line.intercept + line.slope * cells), std * float(stats.t.ppf(0.5 + LEVEL / 2, free))


def by_density(cells: int, fits: dict[str, Any]) -> dict[str, Any]:
    """Predict one density with parameters of the other five and its own initial state."""
    values = {name: line_through(cells, fits, name) for name in _STEPS}
    D, r = values["D"][0], values["r"][0]
    sigma = rms(np.array([fits[f"{c} fisher"]["sigma"] for c in assay.INITIAL_CELLS if c != cells]))
    u, own = (
        solution_at_strips(cells, D, r),
        solution_at_strips(cells, *fits[f"{cells} fisher"]["values"].values()),
    )
    sides = {
        "D": [solution_at_strips(cells, D * (1 + s), r) for s in (_STEPS["D"], -_STEPS["D"])],
        "r": [solution_at_strips(cells, D, r * (1 + s)) for s in (_STEPS["r"], -_STEPS["r"])],
    }
    nearest = {
        f"{n}": solution_at_strips(cells, *fits[f"{n} fisher"]["values"].values())
        for n in (cells - 2000, cells + 2000)
        if n in assay.INITIAL_CELLS
    }
    times: dict[str, Any] = {}
    for s in assay.TIMES:
        value, variance = u(s), np.full(len(positions(cells)), (stats.norm.ppf(0.5 + LEVEL / 2) * sigma) ** 2)
        for name, (up, down) in sides.items():
            slope = (up(s) - down(s)) / (2 * _STEPS[name] * values[name][0])
            variance = variance + (slope * values[name][1]) ** 2
        half = np.sqrt(variance)
        times[f"{s:g}"] = {
            "score": score(cells, s, value),
            "coverage": coverage(cells, s, value - half, value + half),
            "rms": rms(value - at(cells, s).mean(axis=1)),
            "bias": float(np.mean(value - at(cells, s).mean(axis=1))),
            "own": score(cells, s, own(s)),
            "neighbours": {k: score(cells, s, v(s)) for k, v in nearest.items()},
        }
    return {"values": {k: v[0] for k, v in values.items()}, "half": {k: v[1] for k, v in values.items()},
            "sigma": sigma, "times": times}  # fmt: skip


STUDIES = {"time": by_time, "replicate": by_replicate, "density": by_density, "crowding": with_crowding}


def read() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(STORED.read_text())
    return found


def main(words: list[str]) -> None:
    fits = json.loads(FITS.read_text())
    stored = read() if STORED.exists() else {}
    for name in words or list(STUDIES):
        for cells in assay.INITIAL_CELLS:
            stored.setdefault(name, {})[f"{cells}"] = STUDIES[name](cells, fits)
            STORED.write_text(json.dumps(stored) + "\n")
            print(name, cells, flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
