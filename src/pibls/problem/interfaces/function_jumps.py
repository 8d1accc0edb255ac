"""Jumps and kinks of the Python functions of a statement, on planes x_i = c.

A function of one coordinate is sampled along it; a function of time is sampled along time at a few points of
its region. A jump at different times at several points is moving and not on a plane.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from pibls.arrays import Array
from pibls.geometry import Domain, box_of, time_of
from pibls.problem.forms.data_functions import DataFunction, call_at_points
from pibls.problem.interfaces.discontinuities import Discontinuities, Plane
from pibls.problem.interfaces.jump_detection import Jumps, find_jumps
from pibls.problem.regions.points import Points
from pibls.problem.regions.protocol import Region

_SPACE_POINTS = 6  # at which a function of space and time is sampled over time
_CANDIDATE_POINTS = 512  # from which these are chosen
_MAX_SPACE_PLANES = 64  # in several dimensions; on an interval and in time each is one more subdomain
_MIN_DISTANCE = 1e-12  # of the box: jumps closer to each other, or to its ends, are identified
_MIN_END_DISTANCE = 2e-14  # of an interval without time: smallest distance from its ends
_END_ULPS = 16.0  # the same in floating-point spacings


@dataclass(frozen=True)
class FunctionJumps:
    """Jumps and kinks of a Python function along one axis."""

    name: str
    axis: int
    jumps: tuple[float, ...] = ()
    kinks: tuple[float, ...] = ()
    unlocated: float = 0.0
    """Height, relative to max|f|, of jumps that are too many to be located."""

    @property
    def breaks(self) -> Discontinuities:
        """The planes of the jumps and kinks."""
        return Discontinuities(
            tuple(Plane(self.axis, x, coefficient_jumps=False) for x in (*self.jumps, *self.kinks))
        )


def find_function_jumps(
    data_function: DataFunction, region: Region, domain: Domain, name: str
) -> FunctionJumps | None:
    """Return jumps and kinks of a function of the statement ``name``; None if smooth or not sampled."""
    axis = _sampled_axis(data_function, region, domain)
    if axis is None:
        return None
    data_function = replace(data_function, domain=domain)
    places = (
        np.mean(box_of(domain), axis=1)[None]
        if len(set(data_function.arguments)) == 1
        else _space_points(data_function, region, domain, name)
    )
    found = [_jumps_along(data_function, place, axis, domain, name) for place in places]
    inner = _inner_jumps(found, axis, domain)
    jumps, kinks = (tuple(x for x, h in inner if (h > 0.0) == steep) for steep in (True, False))
    unlocated = max(j.unlocated for j in found)
    if not (jumps or kinks or unlocated):
        return None
    return FunctionJumps(data_function.name, axis, jumps, kinks, unlocated)


def _sampled_axis(data_function: DataFunction, region: Region, domain: Domain) -> int | None:
    """Return the axis along which a function is sampled: its only one, or time; None if it is not sampled."""
    axes, last = set(data_function.arguments), len(domain.coordinates) - 1
    if len(axes) != 1 and not (time_of(domain) is not None and last in axes):
        return None
    axis = next(iter(axes)) if len(axes) == 1 else last
    plane = region.plane()
    is_fixed = (plane is not None and plane[0] == axis) or (last == 0 and not region.is_interior)
    is_declared = any(i == axis for i, _ in data_function.breaks)
    return None if is_declared or is_fixed or region.sites != 1 else axis


def _jumps_along(data_function: DataFunction, place: Array, axis: int, domain: Domain, name: str) -> Jumps:
    """Return the jumps of a function along an axis through a point."""

    def f(t: Array) -> Array:
        X = np.repeat(place[None], len(t), axis=0)
        X[:, axis] = t
        return call_at_points(data_function, X, name)

    low, high = box_of(domain)[axis]
    return find_jumps(f, float(low), float(high))


def _inner_jumps(found: list[Jumps], axis: int, domain: Domain) -> list[tuple[float, float]]:
    """Return (level, height) of the jumps inside the domain; none if there are too many planes in space."""
    low, high = box_of(domain)[axis]
    is_interval = len(domain.coordinates) == 1
    apart = margin = _MIN_DISTANCE * (high - low)
    if is_interval:
        ulp = float(np.spacing(max(abs(low), abs(high))))
        margin = max(_MIN_END_DISTANCE * (high - low), _END_ULPS * ulp)
    # Jumps at the ends are removed first: one slightly inside is different.
    inner = _common_jumps([j.between(low + margin, high - margin) for j in found], apart)
    is_time = time_of(domain) is not None and axis == len(domain.coordinates) - 1
    return [] if len(inner) > _MAX_SPACE_PLANES and not (is_interval or is_time) else inner


def _space_points(data_function: DataFunction, region: Region, domain: Domain, name: str) -> Array:
    """Return points with distinct space coordinates: the maximum and minimum of the function, and others."""
    points = Points(_CANDIDATE_POINTS, _CANDIDATE_POINTS, _CANDIDATE_POINTS, rule="halton")
    X = region.sample(domain, points, np.random.default_rng(0), name=name).sites[0]
    values = np.nan_to_num(call_at_points(data_function, X, name))
    order = np.concatenate([[np.argmax(values), np.argmin(values)], np.arange(len(X))])
    X = X[order]
    _, first = np.unique(X[:, :-1], axis=0, return_index=True)
    return np.asarray(X[np.sort(first)[:_SPACE_POINTS]])


def _common_jumps(found: list[Jumps], margin: float) -> list[tuple[float, float]]:
    """Return (level, height) of jumps found at two points, or at the only point with jumps."""
    seen = [list(zip(j.levels, j.heights, strict=True)) for j in found]
    alone = sum(map(bool, seen)) == 1
    every = sorted((x, h, k) for k, pairs in enumerate(seen) for x, h in pairs)
    out = list[tuple[float, float]]()
    i = 0
    while i < len(every):
        group = [e for e in every[i:] if e[0] - every[i][0] <= margin]
        i += len(group)
        if alone or len({k for _, _, k in group}) > 1:
            out.append(max(((x, h) for x, h, _ in group), key=lambda pair: pair[1]))
    return out
