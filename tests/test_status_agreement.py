"""A status agrees with the estimated error: TOLERANCE and FLOOR are checked in one place for all plans."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from pibls.adaptive.pipeline import _agreeing
from pibls.adaptive.thresholds import DEFAULT
from pibls.adaptive.validation.estimate import ErrorEstimate
from pibls.status import Status


def plan(excess: float, rounding: float | None) -> Any:
    """A plan whose unknown has the size 1, with that estimate and that effect of rounding."""
    moved = None if rounding is None else np.array([rounding])
    bench = SimpleNamespace(limits=DEFAULT, tol=1e-10, rounding=lambda sizes: moved)
    return SimpleNamespace(
        best=SimpleNamespace(sizes=np.ones(1)),
        bench=bench,
        excess=lambda found, error: excess,
        scales=lambda found: np.ones(1),
    )


def error(size: float, *history: float) -> ErrorEstimate:
    return ErrorEstimate(size, size, history=tuple((float(i), e) for i, e in enumerate(history)))


@pytest.mark.parametrize(
    ("said", "size", "rounding", "history", "status"),
    [
        (Status.TOLERANCE, 5e-11, None, (), Status.TOLERANCE),
        (Status.TOLERANCE, 5e-10, None, (), Status.SLOW),
        (Status.TOLERANCE, math.inf, None, (), Status.SLOW),
        (Status.FLOOR, 5e-10, None, (), Status.FLOOR),
        (Status.FLOOR, 1e-6, None, (), Status.SLOW),
        (Status.FLOOR, 6e8, None, (), Status.SLOW),
        (Status.FLOOR, 1e-6, 1e-6, (), Status.FLOOR),  # beside a resonance
        (Status.FLOOR, 1e-6, 1e-12, (), Status.SLOW),
        (Status.FLOOR, 1e-2, None, (1e-14, 1e-2), Status.FLOOR),  # chaos: perturbations grow
        (Status.FLOOR, 1e-2, None, (1e-4, 1e-2), Status.SLOW),
        (Status.TIME_LIMIT, 6e8, None, (), Status.TIME_LIMIT),
    ],
)
def test_status_and_estimate(
    said: Status, size: float, rounding: float | None, history: tuple[float, ...], status: Status
) -> None:
    assert _agreeing(said, plan(size, rounding), error(size, *history)) is status
