"""Checks of the hyperparameters of bases."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from pibls.errors import ProblemError


def check_integer(value: object, argument: str, least: int) -> None:
    """Raise a `ProblemError` unless ``value`` is an integer of at least ``least``."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least:
        raise ProblemError(
            argument,
            expected=f"a whole number of at least {least}",
            got=repr(value),
            remedy="A basis needs at least one node." if least else "Write 0 for none.",
        )


def check_positive_scale(value: Any, argument: str) -> None:
    """Raise a `ProblemError` unless ``value`` is a finite positive number."""
    if (
        isinstance(value, bool)
        or not isinstance(value, (int, float, np.integer, np.floating))
        or not (math.isfinite(value) and value > 0)
    ):
        raise ProblemError(
            argument,
            expected="a positive number, the range R of the random weights",
            got=repr(value),
            remedy="Values between 1 and 20 are usual for inputs mapped to [-1, 1].",
        )
