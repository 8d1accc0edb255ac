"""Consistency of the final status with the estimated error."""

from __future__ import annotations

import math

import numpy as np

from pibls.adaptive.candidate import Candidate
from pibls.adaptive.strategy import Strategy
from pibls.adaptive.thresholds import DEFAULT
from pibls.adaptive.validation.estimate import ErrorEstimate, unknowns_at
from pibls.status import Status


def consistent_status(status: Status, best: Strategy, error: ErrorEstimate) -> Status:
    """Return the status, or one that is consistent with the estimated error.

    TOLERANCE means an estimate within the tolerance. ROUNDING_LIMIT means one that rounding explains: at most
    ``thresholds.rounding_residual``, or the effect of rounding in the equations; in an evolution at some
    time, since perturbations may grow after it.
    """
    found, context = best.best, best.context
    assert found is not None
    excess = best.relative_error(found, error)
    if status is Status.TOLERANCE and excess > context.tol:
        return Status.SLOW_CONVERGENCE
    if status is not Status.ROUNDING_LIMIT:
        return status
    scales = best.scales(found)
    rounding_shift = context.rounding(found.magnitudes)
    with np.errstate(divide="ignore", invalid="ignore"):
        rounding_share = (
            0.0 if rounding_shift is None else float(np.nan_to_num(rounding_shift / scales).max(initial=0.0))
        )
    smallest_error = min((e for _, e in error.history), default=math.inf) / max(
        float(scales.max(initial=0.0)), 1e-300
    )
    is_explained = min(excess, smallest_error) <= max(
        context.thresholds.rounding_residual, context.thresholds.condition_error_factor * rounding_share
    )
    return status if is_explained else Status.SLOW_CONVERGENCE


def time_of_total_loss(
    error: ErrorEstimate,
    size: float,
    found: Candidate | None = None,
    layers: tuple[tuple[float, float], ...] = (),
) -> float | None:
    """Return the time from which no digit is correct, if there is one; times in ``layers`` are ignored."""
    if not error.history or max(e for _, e in error.history) <= DEFAULT.max_solution_residual * size:
        return None
    times, errors = np.array(error.history).T
    sizes = np.full(len(times), size)
    if found is not None and found.space.is_time_only:
        # Scale by the largest earlier |u|: later values may have grown out of the error itself.
        order = np.argsort(times)
        u = np.abs(unknowns_at(*found.function, times[order][:, None], len(found.magnitudes))).max(axis=0)
        sizes[order] = np.minimum(np.maximum.accumulate(u), size)
    is_lost = errors > DEFAULT.max_solution_residual * sizes
    for a, b in layers:
        is_lost &= (times < min(a, b)) | (times > max(a, b))
    lost_indices = np.flatnonzero(is_lost)
    # A loss at the last time only does not count.
    return float(times[lost_indices[0]]) if len(lost_indices) and lost_indices[0] < len(times) - 1 else None
