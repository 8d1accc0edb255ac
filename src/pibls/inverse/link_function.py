r"""The link function h(s), which keeps the values of an unknown function between bounds l and u.

No bound: h(s) = s. One bound: l + eˢ or u - eˢ. Two bounds: l + (u - l)/(1 + e⁻ˢ).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, isfinite

import numpy as np
import sympy as sp

from pibls.arrays import Array
from pibls.errors import ProblemError
from pibls.expressions import Expression


@dataclass(frozen=True)
class LinkFunction:
    """The map s ↦ h(s) onto the interval between two bounds, each of which may be infinite."""

    low: float = -inf
    high: float = inf

    @property
    def is_bounded(self) -> bool:
        """Whether at least one bound is finite."""
        return isfinite(self.low) or isfinite(self.high)

    @property
    def description(self) -> str:
        """The condition on the values, for messages."""
        return f"between {self.low:g} and {self.high:g}" if self.is_bounded else "that are finite"

    def contains(self, values: Array) -> bool:
        """Whether all values lie strictly between the bounds."""
        return bool(np.all((values > self.low) & (values < self.high)))

    def expression(self, s: Expression) -> Expression:
        """Return h(s) as a SymPy expression."""
        low, high = (sp.nsimplify(v, rational=True) if isfinite(v) else v for v in (self.low, self.high))
        if isfinite(self.low) and isfinite(self.high):
            return low + (high - low) / (1 + sp.exp(-s))
        if isfinite(self.low):
            return low + sp.exp(s)
        return high - sp.exp(s) if isfinite(self.high) else s

    def forward(self, s: Array) -> Array:
        """Return h(s)."""
        with np.errstate(over="ignore"):
            if isfinite(self.low) and isfinite(self.high):
                return np.asarray(self.low + (self.high - self.low) / (1 + np.exp(-s)))
            if isfinite(self.low):
                return np.asarray(self.low + np.exp(s))
            return np.asarray(self.high - np.exp(s) if isfinite(self.high) else s)

    def inverse(self, values: Array) -> Array:
        """Return s with h(s) = value."""
        if isfinite(self.low) and isfinite(self.high):
            return np.asarray(np.log((values - self.low) / (self.high - values)))
        if isfinite(self.low):
            return np.asarray(np.log(values - self.low))
        return np.asarray(np.log(self.high - values) if isfinite(self.high) else values)


def link_function(bounds: Sequence[float | None] | None, name: str) -> LinkFunction:
    """Return the link function of bounds: None, or (low, high) with None or an infinity for no bound."""
    if bounds is None:
        return LinkFunction()
    try:
        if isinstance(bounds, (str, bytes)):
            raise TypeError
        low, high = (s * inf if v is None else float(v) for v, s in zip(bounds, (-1, 1), strict=True))
        if not low < high:
            raise ValueError
    except (TypeError, ValueError):
        raise ProblemError(
            f"bounds of {name}",
            expected="(low, high) with low < high, or None",
            got=repr(bounds),
            remedy="Write (0, None) for a positive function, None for any.",
        ) from None
    return LinkFunction(low, high)
