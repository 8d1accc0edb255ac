r"""Scan of the data for extremes that are narrower than the distance of the held-out points.

A source, a coefficient or a boundary value f may vary between the held-out points only: then all equations
hold at them, although the function is no solution. Extremes max |f(x) - median(f)| are searched at many
points, and where an inner function g, as in exp(-g(x)), is smallest, largest or zero, which is found
however narrow exp(-g) is.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pibls.adaptive.thresholds import DEFAULT, VALIDATION
from pibls.arrays import Array
from pibls.assembly.points import Points, PointSet
from pibls.basis.cube_points import fixed_halton
from pibls.geometry import Domain, box_of, time_of
from pibls.problem import Region
from pibls.problem.forms.compilation import Residual

_SEED = 20  # the scan points are the same for every solve of a problem
_MIN_ARGUMENT_RANGE = 10.0  # range of an argument below which the held-out points resolve the function
_NEIGHBOURS = 24  # trial points around each extreme in an iteration …
_CONTRACTION = 0.4  # … whose radius is reduced by this factor …
_ITERATIONS = 36  # … this many times, down to rounding
_OFFSET = 1e-12  # relative to the box: data that change within this distance are singular, not narrow, …
_MAX_RELATIVE_CHANGE = 0.1  # … if they change by more than this
_MIN_RELATIVE_VARIATION = 1e-9  # data that vary by less are constant


class DataExtremes(NamedTuple):
    """Median, largest deviation from it and its position, for each data function of a residual."""

    median: Array
    max_deviation: Array
    points: tuple[PointSet, ...]


def narrow_extremes(
    region: Region,
    found: PointSet,
    residuals: list[Residual],
    domain: Domain,
    kept: dict[Region, list[DataExtremes]],
) -> list[PointSet]:
    """Return points of a region at extremes of the data that hardly any of its points resolve."""
    if region.sites != 1 or region.is_integral or (found.normals.shape[1] == 1 and not region.is_interior):
        return []
    if region not in kept:
        kept[region] = [_data_extremes(r, region, domain) for r in residuals]
    chosen = []
    for residual, peaks in zip(residuals, kept[region], strict=True):
        if peaks.points:
            deviation = _deviation(residual.data_values(found.sites[0], found.normals), peaks.median)
            visible_share = np.mean(
                DEFAULT.narrow_data_ratio * deviation >= peaks.max_deviation[:, None], axis=1
            )
            # Extremes that fewer points resolve are lost in a mean over all of them.
            chosen += [
                peaks.points[i] for i in np.flatnonzero(visible_share < DEFAULT.max_solution_residual**2)
            ]
    # Repeat the points so that they count in a mean.
    each = max(VALIDATION.points_per_extreme, len(found) // (2 * max(len(chosen), 1)))
    repeated = np.resize(np.arange(VALIDATION.points_per_extreme), each)
    return [PointSet((c.sites[0][repeated],), c.normals[repeated]) for c in chosen]


def _data_extremes(residual: Residual, region: Region, domain: Domain) -> DataExtremes:
    if residual.is_constant:
        return DataExtremes(np.empty(0), np.empty(0), ())
    points = Points(VALIDATION.scan_points, VALIDATION.scan_points, VALIDATION.scan_points, rule="halton")
    scanned = region.sample(domain, points, np.random.default_rng(_SEED), name=residual.name)
    scanned = PointSet.joined(
        [scanned, _find_steep_points(residual, scanned, domain, inside=region.is_interior)]
    )
    given = residual.data_values(scanned.sites[0], scanned.normals)
    middle = np.median(_finite(given), axis=1)
    deviation = _deviation(given, middle)
    furthest = deviation.max(axis=1, initial=0.0)
    varies = furthest > _MIN_RELATIVE_VARIATION * np.abs(middle)
    largest = np.argpartition(deviation, -min(VALIDATION.points_per_extreme, len(scanned)), axis=1)[
        :, -VALIDATION.points_per_extreme :
    ]
    places = []
    for row, chosen in zip(deviation, largest, strict=True):
        k = np.resize(chosen[row[chosen] >= 0.5 * row.max()], VALIDATION.points_per_extreme)
        places.append(PointSet((scanned.sites[0][k],), scanned.normals[k]))
    return DataExtremes(middle, np.where(varies, furthest, 0.0), tuple(places))


def _deviation(given: Array, middle: Array) -> Array:
    deviation = np.abs(given - middle[:, None])
    return np.where(np.isfinite(deviation), deviation, 0.0)


def steep_data_points(residual: Residual, X: Array, domain: Domain) -> Array:
    """Return interior points at which the data are steep, starting the search at the points X."""
    return _find_steep_points(residual, PointSet.inside(X), domain, inside=True).sites[0]


def _find_steep_points(residual: Residual, scanned: PointSet, domain: Domain, *, inside: bool) -> PointSet:
    """Return points at which the inner functions g of the data are smallest, largest or closest to zero.

    The search contracts around the best of the scanned points; on the boundary it moves along it.
    """
    X, (low, high) = scanned.sites[0], box_of(domain).T
    g = _finite(residual.inner_function_values(X))
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
        inner = _finite(residual.inner_function_values(near.reshape(-1, len(low)))[steep]).reshape(
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


def _finite(g: Array) -> Array:
    return np.where(np.isfinite(g), g, 0.0)
