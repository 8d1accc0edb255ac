r"""Detection of data that change between the collocation times of a window.

A pulse shorter than the distance of two collocation times is invisible to a window: windows grow while
nothing happens and step over it. Coefficients and data are therefore sampled beforehand, at many times and a
few points. A window is checked at the time where the samples g differ most from their piecewise linear
interpolant at its collocation times, max abs(g(t) - Ig(t)).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial

import numpy as np

from pibls.analysis.steep_data import steep_data_points
from pibls.arrays import Array
from pibls.problem.forms.compilation import Residual
from pibls.problem.forms.data_functions import DataFunction, call_at_points
from pibls.problem.interfaces.jump_detection import find_jumps
from pibls.time.context import EvolutionContext
from pibls.time.thresholds import TIME_STEPPING

_PEAK_OFFSETS = np.concatenate([[0.0], np.outer([-1.0, 1.0], 10.0 ** np.arange(-12.0, -4.0)).ravel()])
_ROUNDING = 1e-14
_JUMP_NEIGHBOURHOOD = 1e-6  # fraction of the duration around a failure that is searched for a jump
_JUMP_SAMPLES = 256
_SAMPLE_POINTS = 6
"""Sample points in space per statement: events in time usually happen at many points."""


@dataclass(frozen=True)
class DataMonitor:
    """Coefficients and data of an evolution sampled over time, each scaled to maximum 1."""

    times: Array
    histories: Array = field(repr=False)
    """Samples (histories, times); constant ones are left out."""

    @classmethod
    def sample(cls, context: EvolutionContext) -> DataMonitor:
        e = context.evolution
        assert e is not None
        # The end points are left out: they may be switching times.
        times = np.linspace(min(e.start, e.stop), max(e.start, e.stop), TIME_STEPPING.scan_points + 2)[1:-1]
        residuals = [
            r
            for i, r in enumerate(context.compiled.residuals)
            if i not in e.initial_conditions and not r.region.is_integral
        ]
        peaks = [
            steep_data_points(r, context.comparison_points.all, context.domain)[:, e.axis] for r in residuals
        ]
        # The width of a peak is not known, so it is sampled at distances of many orders of magnitude.
        around_peaks = (np.concatenate([times[:0], *peaks])[:, None] + np.ptp(times) * _PEAK_OFFSETS).ravel()
        times = np.union1d(times, around_peaks[(around_peaks > times[0]) & (around_peaks < times[-1])])
        found = [data_histories(r, context, e.axis, times) for r in residuals]
        samples = np.concatenate([np.empty((0, len(times))), *found])
        samples = np.where(np.isfinite(samples), samples, 0.0)
        size = np.abs(samples).max(axis=1, initial=0.0)
        changing = np.ptp(samples, axis=1) > 1e-12 * size
        return cls(times, samples[changing] / size[changing, None])

    def worst_fraction(self, t: float, stop: float, nodes: Array) -> Array:
        """Return the fraction of a window where data differ most from their interpolant; empty if none do."""
        low, high = min(t, stop), max(t, stop)
        first, last = np.searchsorted(self.times, [low, high])
        if last - first < 2 or not len(self.histories):
            return np.empty(0)
        times, histories = self.times[first:last], self.histories[:, first:last]
        seen = np.unique(np.clip([t, *(t + (stop - t) * nodes), stop], *self.times[[0, -1]]))
        difference = np.zeros(len(times))
        for whole, part in zip(self.histories, histories, strict=True):
            difference = np.maximum(
                difference, np.abs(part - np.interp(times, seen, np.interp(seen, self.times, whole)))
            )
        # Differences at rounding level are ignored.
        return np.array(
            [(times[k] - t) / (stop - t) for k in [int(np.argmax(difference))] if difference[k] > _ROUNDING]
        )


def reason_to_stop(context: EvolutionContext, t: float, reason: str) -> str:
    """Return why an evolution ends at t: a jump of a Python function there, or else ``reason``."""
    e = context.evolution
    assert e is not None
    low, high = sorted((e.start, e.stop))
    near = _JUMP_NEIGHBOURHOOD * (high - low)
    for residual in (r for i, r in enumerate(context.compiled.residuals) if i not in e.initial_conditions):
        held_out = context.held_out[residual.region].sites[0][:_SAMPLE_POINTS]
        for function in (d for d in residual.data if e.axis in d.arguments):
            for point in held_out:
                f = partial(_history, function, point, e.axis)
                found = find_jumps(f, max(t - near, low), min(t + near, high), _JUMP_SAMPLES)
                if found.unlocated or any(found.heights):
                    return (
                        f"the Python function {function.name} jumps there; give the location with breaks=, "
                        "or write it as a Piecewise"
                    )
    return reason


def _history(function: DataFunction, point: Array, axis: int, times: Array) -> Array:
    """Evaluate a Python function over time at one point."""
    X = np.repeat(point[None], len(times), axis=0)
    X[:, axis] = times
    return call_at_points(function, X, function.name)


def data_histories(residual: Residual, context: EvolutionContext, axis: int, times: Array) -> Array:
    """Sample coefficients and data of a statement at a few points, (histories, times)."""
    held_out = context.held_out[residual.region]
    stride = max(len(held_out.sites[0]) // _SAMPLE_POINTS, 1)
    X, N = (
        np.repeat(A[::stride][:_SAMPLE_POINTS], len(times), axis=0)
        for A in (held_out.sites[0], held_out.normals)
    )
    X[:, axis] = np.tile(times, len(X) // len(times))
    data, zero = residual.data_function_values(X), np.zeros((len(residual.nonlinear), len(X)))
    with np.errstate(all="ignore"):
        samples = np.vstack([residual.coefficients(X, N, data), residual.rest(X, N, data, zero)[None]])
    return np.asarray(samples.reshape(-1, len(times)))
