"""Points at which data are steep: where an inner function g, as in exp(-g(x)), is extreme or zero."""

from __future__ import annotations

import numpy as np

from pibls.arrays import Array
from pibls.basis.cube_points import fixed_halton
from pibls.geometry import Domain, box_of, time_of
from pibls.problem.forms.compilation import Residual
from pibls.problem.regions import PointSet

_MIN_ARGUMENT_RANGE = 10.0  # range of an argument below which the held-out points resolve the function
_NEIGHBOURS = 24  # trial points around each extreme in an iteration …
_CONTRACTION = 0.4  # … whose radius is reduced by this factor …
_ITERATIONS = 36  # … this many times, down to rounding
_OFFSET = 1e-12  # relative to the box: data that change within this distance are singular, not narrow, …
_MAX_RELATIVE_CHANGE = 0.1  # … if they change by more than this


def steep_data_points(residual: Residual, X: Array, domain: Domain) -> Array:
    """Return interior points at which the data are steep, starting the search at the points X."""
    return find_steep_points(residual, PointSet.inside(X), domain, inside=True).sites[0]


def find_steep_points(residual: Residual, scanned: PointSet, domain: Domain, *, inside: bool) -> PointSet:
    """Return points at which the inner functions g of the data are smallest, largest or closest to zero.

    The search contracts around the best of the scanned points; on the boundary it moves along it.
    """
    X, (low, high) = scanned.sites[0], box_of(domain).T
    g = finite(residual.inner_function_values(X))
    steep = np.ptp(g, axis=1) > _MIN_ARGUMENT_RANGE if len(X) else np.zeros(len(g), dtype=np.bool_)
    if not steep.any():
        return PointSet.none(len(low))
    g = g[steep]
    wanted = np.concatenate([g, -g, np.abs(g)])
    rows, first = np.arange(len(wanted)), np.argmin(wanted, axis=1)
    best, value = X[first], wanted.min(axis=1)
    around = _free_coordinates(best, domain, inside)[:, None] * (
        2.0 * fixed_halton(_NEIGHBOURS, len(low), 1) - 1.0
    )
    reach = 2.0 * (high - low) * len(X) ** (-1.0 / len(low))
    for _ in range(_ITERATIONS):
        near = np.clip(best[:, None] + reach * around, low, high)
        inner = finite(residual.inner_function_values(near.reshape(-1, len(low)))[steep]).reshape(
            -1, len(rows), _NEIGHBOURS
        )
        trial = np.concatenate([inner, -inner, np.abs(inner)])[rows, rows]
        at = np.argmin(trial, axis=1)
        better = trial[rows, at] < value
        best = np.where(better[:, None], near[rows, at], best)
        value = np.where(better, trial[rows, at], value)
        reach = _CONTRACTION * reach
    aside = np.clip(best + _OFFSET * (high - low), low, high)
    normals = scanned.normals[first]
    here, there = residual.data_values(best, normals), residual.data_values(aside, normals)
    with np.errstate(invalid="ignore"):
        regular = (np.abs(here - there) <= _MAX_RELATIVE_CHANGE * np.abs(here)).all(axis=0)
    return PointSet((best,), normals).select(regular & domain.contains(best))


def _free_coordinates(X: Array, domain: Domain, inside: bool) -> Array:
    """Return which coordinates of points may vary: on a side of the box the others, else time only."""
    low, high = box_of(domain).T
    if inside:
        return np.ones_like(X)
    fixed = np.minimum(X - low, high - X) <= _OFFSET * (high - low)
    free = np.where(fixed.any(axis=1)[:, None], ~fixed, False)
    if time_of(domain) is not None:
        free[:, -1] |= ~fixed.any(axis=1)
    return free.astype(float)


def finite(g: Array) -> Array:
    return np.where(np.isfinite(g), g, 0.0)
