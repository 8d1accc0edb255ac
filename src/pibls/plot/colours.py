"""From values to colours: which map, between which limits.

All maps can be told apart by colour-blind readers: viridis for values, a blue-white-red one centred at
zero for what has a sign that matters (errors, residuals, and values that swing to both sides), cividis
on a logarithmic scale for sizes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from pibls.arrays import Array
from pibls.plot.backend import matplotlib

_CONSTANT = 1e-9  # values that differ by less, relative to their size, are shown as one colour
_SWING = 0.2  # the smaller of |min| and |max| over the larger, above which both signs matter
_DECADES = 8  # what a logarithmic scale shows below the largest value


@dataclass(frozen=True)
class ColourScale:
    """How values become colours: as they are, between limits that each kind chooses."""

    cmap: str
    """The name of a colour map."""
    ink: str
    """The colour of lines that are drawn over the map."""
    decided: bool = False
    """Whether no other scale may suit the values better: someone asked for this one."""
    held: tuple[float, float] | None = None
    """Limits that do not change, so that the frames of a film can be compared."""

    def suited(self, values: Array) -> ColourScale:
        """This scale, or the one that suits these (shown) values better."""
        return self

    def shown(self, values: Array) -> Array:
        """What of the values is shown."""
        return values

    def limits(self, values: Array) -> tuple[float, float]:
        """The ends of the colour map for these (shown) values."""
        return self.held or self._limits(*_range(values), values)

    def _limits(self, low: float, high: float, values: Array) -> tuple[float, float]:
        raise NotImplementedError

    def norm(self, low: float, high: float) -> Any:
        """A matplotlib norm between the limits."""
        return matplotlib("colors").Normalize(low, high)

    def label(self, text: str) -> str:
        """LaTeX of what is shown, from LaTeX of the quantity."""
        return text

    def frame(self, ax: Any, values: Array) -> None:
        """Set the value axis of a curve with these (shown) values."""
        # A curve that happens to reach limits that are held, so that the axis is the same for every frame.
        self._frame(ax, values if self.held is None else np.array(self.held))
        if self.held is not None:
            low, high = self.held
            ax.set_ylim(low - 0.05 * (high - low), high + 0.05 * (high - low))

    def _frame(self, ax: Any, values: Array) -> None:
        raise NotImplementedError


@dataclass(frozen=True)
class Sequential(ColourScale):
    """From the smallest to the largest value."""

    cmap: str = "viridis"
    ink: str = "white"

    def suited(self, values: Array) -> ColourScale:
        low, high = _range(values)
        swings = low < 0 < high and _SWING < -low / high < 1 / _SWING
        return Signed() if swings and not self.decided else self

    def _limits(self, low: float, high: float, values: Array) -> tuple[float, float]:
        size = max(abs(low), abs(high))
        if high - low > _CONSTANT * size:
            return low, high
        # Rounding noise of a constant is not a picture: leave the constant its one colour.
        margin = 0.1 * size or 1.0
        return low - margin, high + margin

    def _frame(self, ax: Any, values: Array) -> None:
        low, high = self._limits(*_range(values), values)
        if (low, high) != _range(values):  # a constant, whose rounding noise is no picture
            ax.set_ylim(low, high)
        powers_of_ten(ax)


@dataclass(frozen=True)
class Signed(ColourScale):
    """Zero in the middle, both signs to the same extent."""

    cmap: str = "RdBu_r"
    ink: str = "0.3"

    def _limits(self, low: float, high: float, values: Array) -> tuple[float, float]:
        size = max(abs(low), abs(high)) or 1.0
        return -size, size

    def _frame(self, ax: Any, values: Array) -> None:
        ax.axhline(0.0, color="0.5", linewidth=0.6, zorder=0)
        powers_of_ten(ax)


@dataclass(frozen=True)
class Magnitude(ColourScale):
    """|f| on a logarithmic scale."""

    cmap: str = "cividis"
    ink: str = "white"

    def shown(self, values: Array) -> Array:
        # Where f is exactly zero there is no logarithm; the smallest number shows as the bottom.
        return np.maximum(np.abs(values), np.finfo(float).tiny)

    def _limits(self, low: float, high: float, values: Array) -> tuple[float, float]:
        finite = values[np.isfinite(values) & (values > np.finfo(float).tiny)]
        if not finite.size:
            return 1e-16, 1.0
        return max(float(finite.min()), high * 10.0**-_DECADES), high * (1 + 1e-12)

    def norm(self, low: float, high: float) -> Any:
        return matplotlib("colors").LogNorm(low, high, clip=True)

    def label(self, text: str) -> str:
        return rf"|{text}|"

    def _frame(self, ax: Any, values: Array) -> None:
        low, high = self._limits(*_range(values), values)
        ax.set_yscale("log")
        ax.set_ylim(low / 2, high * 2)


def powers_of_ten(ax: Any) -> None:
    """×10⁶ instead of 1e6, where the axes have numbers of the usual kind."""
    usual = matplotlib("ticker").ScalarFormatter
    for axis in (ax.xaxis, ax.yaxis):
        if isinstance(axis.get_major_formatter(), usual):
            axis.get_major_formatter().set_useMathText(True)


def _range(values: Array) -> tuple[float, float]:
    finite = values[np.isfinite(values)]
    return (float(finite.min()), float(finite.max())) if finite.size else (0.0, 0.0)
