r"""max |g(t) - Ig(t)|: where in a window its data are furthest from what its moments see of them.

A flash of light, shorter than the time between two moments, is in no moment: windows grow while nothing
happens, and step over it. All that equations and conditions are given is looked at beforehand, at many times
in a few places; a window is then judged where that is furthest from the straight lines between its moments.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial

import numpy as np

from pibls.adaptive.thresholds import BENCH
from pibls.adaptive.validation.context import Bench
from pibls.adaptive.validation.data_scan import places_of
from pibls.arrays import Array
from pibls.problem.forms.calling import Datum, call_at_points
from pibls.problem.forms.lowering import Residual
from pibls.problem.interfaces.data_jumps import jumps_between

_AROUND = np.concatenate([[0.0], np.outer([-1.0, 1.0], 10.0 ** np.arange(-12.0, -4.0)).ravel()])
_ROUNDING = 1e-14
_NEAR = 1e-6  # of the time: windows that are shorter fail at a jump …
_NEAR_SAMPLES = 256  # … which is looked for there
_PLACES = 6
"""In space for each statement: what happens at one time mostly does so in many places."""


@dataclass(frozen=True)
class Watch:
    """What is given over the time of an evolution, each course next to its largest value."""

    times: Array
    courses: Array = field(repr=False)
    """(courses, times); those that never change are left out."""

    @classmethod
    def over(cls, bench: Bench) -> Watch:
        e = bench.evolution
        assert e is not None
        # The ends themselves may be switches.
        times = np.linspace(min(e.start, e.stop), max(e.start, e.stop), BENCH.scanned + 2)[1:-1]
        residuals = [
            r for i, r in enumerate(bench.lowered.residuals) if i not in e.beginning and not r.region.is_sum
        ]
        peaks = [places_of(r, bench.where.all, bench.domain)[:, e.axis] for r in residuals]
        # How wide it is around them is not known: they are looked at from near and far.
        steep = (np.concatenate([times[:0], *peaks])[:, None] + np.ptp(times) * _AROUND).ravel()
        times = np.union1d(times, steep[(steep > times[0]) & (steep < times[-1])])
        found = [courses_of(r, bench, e.axis, times) for r in residuals]
        every = np.concatenate([np.empty((0, len(times))), *found])
        every = np.where(np.isfinite(every), every, 0.0)
        size = np.abs(every).max(axis=1, initial=0.0)
        changing = np.ptp(every, axis=1) > 1e-12 * size
        return cls(times, every[changing] / size[changing, None])

    def furthest(self, t: float, stop: float, nodes: Array) -> Array:
        """Of a window: where in it something is furthest from what its moments see; none where nothing is."""
        low, high = min(t, stop), max(t, stop)
        first, last = np.searchsorted(self.times, [low, high])
        if last - first < 2 or not len(self.courses):
            return np.empty(0)
        times, courses = self.times[first:last], self.courses[:, first:last]
        seen = np.unique(np.clip([t, *(t + (stop - t) * nodes), stop], *self.times[[0, -1]]))
        off = np.zeros(len(times))
        for whole, part in zip(self.courses, courses, strict=True):
            off = np.maximum(off, np.abs(part - np.interp(times, seen, np.interp(seen, self.times, whole))))
        # What is rounding next to its largest value is none of this window.
        return np.array([(times[k] - t) / (stop - t) for k in [int(np.argmax(off))] if off[k] > _ROUNDING])


def reason_to_stop(bench: Bench, t: float, reason: str) -> str:
    """Why an evolution ends at a time: where a Python function jumps there, that is it."""
    e = bench.evolution
    assert e is not None
    low, high = sorted((e.start, e.stop))
    near = _NEAR * (high - low)
    for residual in (r for i, r in enumerate(bench.lowered.residuals) if i not in e.beginning):
        held = bench.held_out[residual.region].sites[0][:_PLACES]
        for datum in (d for d in residual.data if e.axis in d.arguments):
            for place in held:
                f = partial(_course, datum, place, e.axis)
                found = jumps_between(f, max(t - near, low), min(t + near, high), _NEAR_SAMPLES)
                if found.unlocated or any(found.heights):
                    return (
                        f"the Python function {datum.name} jumps there; name the place with breaks=, "
                        "or write it as a Piecewise"
                    )
    return reason


def _course(datum: Datum, place: Array, axis: int, times: Array) -> Array:
    """A Python function over time at one place."""
    X = np.repeat(place[None], len(times), axis=0)
    X[:, axis] = times
    return call_at_points(datum, X, datum.name)


def courses_of(residual: Residual, bench: Bench, axis: int, times: Array) -> Array:
    """Coefficients and data of a statement in a few places, (courses, times)."""
    held = bench.held_out[residual.region]
    every_so_many = max(len(held.sites[0]) // _PLACES, 1)
    X, N = (
        np.repeat(A[::every_so_many][:_PLACES], len(times), axis=0) for A in (held.sites[0], held.normals)
    )
    X[:, axis] = np.tile(times, len(X) // len(times))
    data, zero = residual.known_data(X), np.zeros((len(residual.nonlinear), len(X)))
    with np.errstate(all="ignore"):
        every = np.vstack([residual.coefficients(X, N, data), residual.rest(X, N, data, zero)[None]])
    return np.asarray(every.reshape(-1, len(times)))
