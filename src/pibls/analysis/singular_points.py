"""Singular points: places near which a solution is not smooth, with the strength of the singularity."""

from __future__ import annotations

from enum import IntEnum
from typing import Protocol

from pibls.analysis.thresholds import SCALAR_CORNERS


class Strength(IntEnum):
    """How much a singularity limits the convergence of smooth functions."""

    WEAK = 0
    """At most logarithmic in the second derivatives: singular functions are added only if needed."""
    MODERATE = 1
    """A non-integer power, finite fluxes: validated near the point; functions are added only if needed."""
    ESSENTIAL = 2
    """Infinite fluxes: the functions are part of every basis."""

    @classmethod
    def of_power(cls, least: float) -> Strength:
        """Return the strength of a least non-integer power, which is infinite if there is none."""
        if least < 1.0 - SCALAR_CORNERS.integer_tol:
            return cls.ESSENTIAL
        return cls.WEAK if least == float("inf") else cls.MODERATE


class SingularPoint(Protocol):
    """A place near which the solution is not smooth: a corner, a junction of interfaces, an end point."""

    @property
    def point(self) -> tuple[float, ...]: ...
    @property
    def strength(self) -> Strength: ...
    @property
    def reason(self) -> str:
        """What is singular, in words."""
