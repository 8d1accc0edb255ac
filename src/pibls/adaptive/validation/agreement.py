r"""Comparison of two candidates of a problem."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from pibls.adaptive.candidate import Candidate
from pibls.adaptive.validation.context import ValidationContext
from pibls.adaptive.validation.estimate import ErrorEstimate, compare, error_from_difference


def compare_candidates(
    context: ValidationContext, now: Candidate, second: Candidate, *, chosen: bool
) -> ErrorEstimate:
    """Estimate the error from a second candidate, at the held-out points if nothing was selected by them."""
    region, inside = next(iter(context.held_out.items()))
    others = chosen or context.subdomains is not None or context.evolution is not None
    if others or not region.is_interior:
        return compare(now.function, second.function, context.compiled.unknowns, context.comparison_points)
    difference = now.values - context.values_at_held_out(*second.function)
    even = difference[:, : len(inside) - len(context.narrow_data_points)]
    found = error_from_difference(difference, even, now.magnitudes, context.comparison_at_held_out)
    return replace(found, pair=(now.function, second.function))


def are_same_function(now: Candidate, last: Candidate, settled: float) -> bool:
    """Whether two candidates are the same function, with a large residual everywhere."""
    if abs(math.log(now.relative_residual / max(last.relative_residual, 1e-300))) >= settled:
        return False
    moved = np.abs(now.values - last.values).max(axis=1)
    worst = max(now.residuals.values(), key=lambda n: n.relative)
    return worst.rms > 0.1 * worst.max and bool(np.all(moved <= settled * now.magnitudes))
