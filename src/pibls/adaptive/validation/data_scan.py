r"""max |g(x) - ḡ|: where what is given is far from all that the points that judge see of it.

A source, a coefficient or a boundary value may be narrower than the distance between these points: then all
equations hold at them, and the solution is another one. It is looked for at many points, and where what
stands inside of functions is smallest or largest, which is found however narrow they are.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pibls.adaptive.thresholds import BENCH, DEFAULT
from pibls.arrays import Array
from pibls.assembly.points import Points, PointSet
from pibls.basis.quasi import spread
from pibls.geometry import Domain, box_of, time_of
from pibls.problem import Region
from pibls.problem.forms.lowering import Residual

_SCAN = 20  # the seed of these points: they are the same for every solve of a problem
_STEEP = 10.0  # what varies by less is inside of functions that many points see
_AROUND = 24  # points around each place while it is looked at more and more closely …
_CLOSER = 0.4  # … within so much of the distance before, …
_TIMES = 36  # … until it is rounding
_ASIDE = 1e-12  # of the box: what changes within that is singular, and not narrow, …
_CHANGES = 0.1  # … if by so much
_ALIKE = 1e-9  # relative: what is given varies by more than that


class Peaks(NamedTuple):
    """Of each function that a residual is given: its middle, how far it goes from there, and where."""

    middle: Array
    furthest: Array
    places: tuple[PointSet, ...]


def extremes(
    region: Region,
    found: PointSet,
    residuals: list[Residual],
    domain: Domain,
    kept: dict[Region, list[Peaks]],
) -> list[PointSet]:
    """Places of a region where something is given that hardly any of the points found there see."""
    if region.sites != 1 or region.is_sum or (found.normals.shape[1] == 1 and not region.is_inside):
        return []
    if region not in kept:
        kept[region] = [_peaks(r, region, domain) for r in residuals]
    chosen = []
    for residual, peaks in zip(residuals, kept[region], strict=True):
        if peaks.places:
            off = _off(residual.given(found.sites[0], found.normals), peaks.middle)
            seen = np.mean(DEFAULT.narrow * off >= peaks.furthest[:, None], axis=1)
            # What fewer points see is lost in a mean over all of them.
            chosen += [peaks.places[i] for i in np.flatnonzero(seen < DEFAULT.fits**2)]
    # However few of them there are, they count.
    each = max(BENCH.extremes, len(found) // (2 * max(len(chosen), 1)))
    repeated = np.resize(np.arange(BENCH.extremes), each)
    return [PointSet((c.sites[0][repeated],), c.normals[repeated]) for c in chosen]


def _peaks(residual: Residual, region: Region, domain: Domain) -> Peaks:
    if residual.is_constant:
        return Peaks(np.empty(0), np.empty(0), ())
    points = Points(BENCH.scanned, BENCH.scanned, BENCH.scanned, rule="halton")
    scanned = region.place(domain, points, np.random.default_rng(_SCAN), name=residual.name)
    scanned = PointSet.joined([scanned, steep_from(residual, scanned, domain, inside=region.is_inside)])
    given = residual.given(scanned.sites[0], scanned.normals)
    middle = np.median(_finite(given), axis=1)
    off = _off(given, middle)
    furthest = off.max(axis=1, initial=0.0)
    varies = furthest > _ALIKE * np.abs(middle)
    largest = np.argpartition(off, -min(BENCH.extremes, len(scanned)), axis=1)[:, -BENCH.extremes :]
    places = []
    for row, chosen in zip(off, largest, strict=True):
        k = np.resize(chosen[row[chosen] >= 0.5 * row.max()], BENCH.extremes)
        places.append(PointSet((scanned.sites[0][k],), scanned.normals[k]))
    return Peaks(middle, np.where(varies, furthest, 0.0), tuple(places))


def _off(given: Array, middle: Array) -> Array:
    off = np.abs(given - middle[:, None])
    return np.where(np.isfinite(off), off, 0.0)


def places_of(residual: Residual, X: Array, domain: Domain) -> Array:
    """Where in the domain something that is given is steep: looked for from X on."""
    return steep_from(residual, PointSet.inside(X), domain, inside=True).sites[0]


def steep_from(residual: Residual, scanned: PointSet, domain: Domain, *, inside: bool) -> PointSet:
    """Where what stands inside of functions is smallest, largest, or next to nothing.

    From the best of the points on it is looked for more and more closely; on the boundary, along it.
    """
    X, (low, high) = scanned.sites[0], box_of(domain).T
    g = _finite(residual.inner(X))
    steep = np.ptp(g, axis=1) > _STEEP if len(X) else np.zeros(len(g), dtype=np.bool_)
    if not steep.any():
        return PointSet.none(len(low))
    g = g[steep]
    wanted = np.concatenate([g, -g, np.abs(g)])
    rows, first = np.arange(len(wanted)), np.argmin(wanted, axis=1)
    best, value = X[first], wanted.min(axis=1)
    around = _free(best, domain, inside)[:, None] * (2.0 * spread(_AROUND, len(low), 1) - 1.0)
    reach = 2.0 * (high - low) * len(X) ** (-1.0 / len(low))
    for _ in range(_TIMES):
        near = np.clip(best[:, None] + reach * around, low, high)
        inner = _finite(residual.inner(near.reshape(-1, len(low)))[steep]).reshape(-1, len(rows), _AROUND)
        asked = np.concatenate([inner, -inner, np.abs(inner)])[rows, rows]
        at = np.argmin(asked, axis=1)
        better = asked[rows, at] < value
        best = np.where(better[:, None], near[rows, at], best)
        value = np.where(better, asked[rows, at], value)
        reach = _CLOSER * reach
    aside = np.clip(best + _ASIDE * (high - low), low, high)
    normals = scanned.normals[first]
    here, there = residual.given(best, normals), residual.given(aside, normals)
    with np.errstate(invalid="ignore"):
        regular = (np.abs(here - there) <= _CHANGES * np.abs(here)).all(axis=0)
    return PointSet((best,), normals).select(regular & domain.contains(best))


def _free(X: Array, domain: Domain, inside: bool) -> Array:
    """Which coordinates of points may change: of those on a side of the box the others, else time alone."""
    low, high = box_of(domain).T
    if inside:
        return np.ones_like(X)
    fixed = np.minimum(X - low, high - X) <= _ASIDE * (high - low)
    free = np.where(fixed.any(axis=1)[:, None], ~fixed, False)
    if time_of(domain) is not None:
        free[:, -1] |= ~fixed.any(axis=1)
    return free.astype(float)


def _finite(g: Array) -> Array:
    return np.where(np.isfinite(g), g, 0.0)
