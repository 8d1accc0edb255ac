"""Accumulated errors of long trajectories in an error estimate: rounding, divergence, lost accuracy."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from pibls.adaptive.validation.estimate import ErrorEstimate, combine_unknowns
from pibls.arrays import Array
from pibls.time.thresholds import ODE


def with_rounding(error: ErrorEstimate, t: Array, rounding: Array) -> ErrorEstimate:
    """Add the rounding error (unknowns, times t): both solutions may deviate alike by chance."""
    by = ODE.rounding_deviations
    each = [
        e.with_history(
            zip((s for s, _ in e.history), _added_over_time(e.history, t, by * r), strict=True),
            l2=e.l2 + by * float(np.sqrt(np.mean(r**2))),
        )
        for e, r in zip(error.each, rounding, strict=True)
    ]
    return replace(combine_unknowns(each), pair=error.pair)


def _added_over_time(history: tuple[tuple[float, float], ...], t: Array, more: Array) -> list[float]:
    """Return the errors of a history increased by the largest of ``more`` (at times t) near each time."""
    times, errors = np.array(history).T
    order = np.argsort(t)
    out = errors + np.interp(times, t[order], more[order])
    # The end of a window between two times counts for both.
    position = np.searchsorted(times, t)
    for k in (np.maximum(position - 1, 0), np.minimum(position, len(times) - 1)):
        np.maximum.at(out, k, errors[k] + more)
    return [float(e) for e in out]


def with_lost_accuracy(error: ErrorEstimate, sizes: Array, fits: float, until: float) -> ErrorEstimate:
    """Set the error to the magnitude of the solution from the time on at which all accuracy is lost.

    That is the first time at which the error of an unknown exceeds ``fits`` of its magnitude; from there on,
    two solutions may agree by chance.
    """
    if not error.each:
        return error
    lost = [t for e, size in zip(error.each, sizes, strict=True) for t, d in e.history if d > fits * size]
    since = min(lost, key=lambda t: -abs(t - until), default=until)
    each = [
        e.with_history(
            (t, max(d, 2.0 * float(size)) if abs(t - until) <= abs(since - until) else d)
            for t, d in e.history
        )
        for e, size in zip(error.each, sizes, strict=True)
    ]
    return replace(combine_unknowns(each), pair=error.pair)


def with_divergence(error: ErrorEstimate, sizes: Array, times: tuple[float, ...]) -> ErrorEstimate:
    """Set the error to the magnitude of the solution at the times after two solutions have diverged."""
    each = []
    for e, size in zip(error.each, sizes, strict=True):
        most = max(e.max, 2.0 * float(size))
        each.append(e.with_history(sorted((*e.history, *((t, most) for t in times))), l2=most))
    return replace(combine_unknowns(each), pair=error.pair)
