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
from pibls.analysis.steep_data import find_steep_points, finite
from pibls.arrays import Array
from pibls.assembly.points import Points, PointSet
from pibls.geometry import Domain
from pibls.problem import Region
from pibls.problem.forms.compilation import Residual

_SEED = 20  # the scan points are the same for every solve of a problem
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
        [scanned, find_steep_points(residual, scanned, domain, inside=region.is_interior)]
    )
    given = residual.data_values(scanned.sites[0], scanned.normals)
    middle = np.median(finite(given), axis=1)
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
