"""The status agrees with the estimated error: TOLERANCE and ROUNDING_LIMIT are checked for all strategies."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from pibls.adaptive.thresholds import DEFAULT
from pibls.adaptive.validation.consistency import consistent_status
from pibls.adaptive.validation.estimate import ErrorEstimate
from pibls.status import Status


def strategy(relative_error: float, rounding: float | None) -> Any:
    """Return a strategy with an unknown of magnitude 1, the given error and the given effect of rounding."""
    shifts = None if rounding is None else np.array([rounding])
    context = SimpleNamespace(thresholds=DEFAULT, tol=1e-10, rounding=lambda magnitudes: shifts)
    return SimpleNamespace(
        best=SimpleNamespace(magnitudes=np.ones(1)),
        context=context,
        relative_error=lambda found, error: relative_error,
        scales=lambda found: np.ones(1),
    )


def error(size: float, *history: float) -> ErrorEstimate:
    return ErrorEstimate(size, size, history=tuple((float(i), e) for i, e in enumerate(history)))


@pytest.mark.parametrize(
    ("claimed", "size", "rounding", "history", "status"),
    [
        (Status.TOLERANCE, 5e-11, None, (), Status.TOLERANCE),
        (Status.TOLERANCE, 5e-10, None, (), Status.SLOW_CONVERGENCE),
        (Status.TOLERANCE, math.inf, None, (), Status.SLOW_CONVERGENCE),
        (Status.ROUNDING_LIMIT, 5e-10, None, (), Status.ROUNDING_LIMIT),
        (Status.ROUNDING_LIMIT, 1e-6, None, (), Status.SLOW_CONVERGENCE),
        (Status.ROUNDING_LIMIT, 6e8, None, (), Status.SLOW_CONVERGENCE),
        (Status.ROUNDING_LIMIT, 1e-6, 1e-6, (), Status.ROUNDING_LIMIT),  # close to a resonance
        (Status.ROUNDING_LIMIT, 1e-6, 1e-12, (), Status.SLOW_CONVERGENCE),
        (
            Status.ROUNDING_LIMIT,
            1e-2,
            None,
            (1e-14, 1e-2),
            Status.ROUNDING_LIMIT,
        ),  # chaos: perturbations grow
        (Status.ROUNDING_LIMIT, 1e-2, None, (1e-4, 1e-2), Status.SLOW_CONVERGENCE),
        (Status.TIME_LIMIT, 6e8, None, (), Status.TIME_LIMIT),
    ],
)
def test_status_agrees_with_estimate(
    claimed: Status, size: float, rounding: float | None, history: tuple[float, ...], status: Status
) -> None:
    assert consistent_status(claimed, strategy(size, rounding), error(size, *history)) is status
