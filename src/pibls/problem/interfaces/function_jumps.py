"""Where the Python functions of a statement jump or bend: planes x_i = c, as those of a `Piecewise`.

A function of one coordinate is sampled along it, one that depends on time along time, at a few places of its
region. A jump that several places see at different times moves; it lies on no plane.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from pibls.arrays import Array
from pibls.geometry import Domain, box_of, time_of
from pibls.problem.forms.calling import Datum, call_at_points
from pibls.problem.interfaces.data_jumps import Jumps, jumps_between
from pibls.problem.interfaces.planes import Breaks, Plane
from pibls.problem.regions.points import Points
from pibls.problem.regions.protocol import Region

_PLACES = 6  # at which a function of space and time is sampled over time
_SCANNED = 512  # places among which these are chosen
_MOST_IN_SPACE = 64  # planes across which cells are divided; on a line, and in time, each is one more piece
_APART = 1e-12  # of the box: jumps at two places that are closer are one; as of planes, and of its ends
_APART_ON_A_LINE = 2e-14  # … but of the ends of a line: more than that is a window, or a piece
_ULPS = 16.0  # and at least so many numbers


@dataclass(frozen=True)
class FunctionJumps:
    """The places along one axis where a Python function is not smooth."""

    name: str
    axis: int
    jumps: tuple[float, ...] = ()
    bends: tuple[float, ...] = ()
    unlocated: float = 0.0
    """The height, relative to max|f|, of jumps that are too many to be located."""

    @property
    def breaks(self) -> Breaks:
        """The planes."""
        return Breaks(tuple(Plane(self.axis, x, flux=False) for x in (*self.jumps, *self.bends)))


def jumps_of(datum: Datum, region: Region, domain: Domain, name: str) -> FunctionJumps | None:
    """Where a function of the statement ``name`` jumps or bends; None where it is smooth, or not sampled."""
    axes = set(datum.arguments)
    timed = time_of(domain) is not None and len(domain.coordinates) - 1 in axes
    axis = next(iter(axes)) if len(axes) == 1 else len(domain.coordinates) - 1
    plane = region.plane()
    on_axis = (plane is not None and plane[0] == axis) or (
        len(domain.coordinates) == 1 and not region.is_inside
    )
    named = any(i == axis for i, _ in datum.breaks)
    if named or on_axis or region.sites != 1 or not (timed or len(axes) == 1):
        return None
    datum = replace(datum, domain=domain)
    low, high = box_of(domain)[axis]
    places = np.mean(box_of(domain), axis=1)[None] if len(axes) == 1 else _places(datum, region, domain, name)

    def course(place: Array) -> Jumps:
        def f(t: Array) -> Array:
            X = np.repeat(place[None], len(t), axis=0)
            X[:, axis] = t
            return call_at_points(datum, X, name)

        return jumps_between(f, float(low), float(high))

    found = [course(place) for place in places]
    apart = margin = _APART * (high - low)
    if len(domain.coordinates) == 1:
        ulp = float(np.spacing(max(abs(low), abs(high))))
        margin = max(_APART_ON_A_LINE * (high - low), _ULPS * ulp)
    # What is at an end is first left out: one a little inside of it is not the same.
    inner = _agreed([j.between(low + margin, high - margin) for j in found], apart)
    if len(inner) > _MOST_IN_SPACE and len(domain.coordinates) > 1 and not timed:
        inner = []
    jumps, bends = (tuple(x for x, h in inner if (h > 0.0) == steep) for steep in (True, False))
    unlocated = max(j.unlocated for j in found)
    if not (jumps or bends or unlocated):
        return None
    return FunctionJumps(datum.name, axis, jumps, bends, unlocated)


def _places(datum: Datum, region: Region, domain: Domain, name: str) -> Array:
    """Places of a region that differ in space: where the function is largest and least, and some others."""
    points = Points(_SCANNED, _SCANNED, _SCANNED, rule="halton")
    X = region.place(domain, points, np.random.default_rng(0), name=name).sites[0]
    values = np.nan_to_num(call_at_points(datum, X, name))
    order = np.concatenate([[np.argmax(values), np.argmin(values)], np.arange(len(X))])
    X = X[order]
    _, first = np.unique(X[:, :-1], axis=0, return_index=True)
    return np.asarray(X[np.sort(first)[:_PLACES]])


def _agreed(found: list[Jumps], margin: float) -> list[tuple[float, float]]:
    """(level, height) of what two places see at the same time, or one place alone sees at all."""
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
