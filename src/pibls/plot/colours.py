"""From values to colours: which map, between which limits.

All maps can be told apart by colour-blind readers: viridis for values, a blue-white-red one centred at
zero for what has a sign that matters (errors, residuals, and values that swing to both sides), cividis
on a logarithmic scale for sizes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from pibls.arrays import Array
from pibls.plot.backend import matplotlib

_CONSTANT = 1e-9  # values that differ by less, relative to their size, are shown as one colour
_SWING = 0.2  # the smaller of |min| and |max| over the larger, above which both signs matter
_DECADES = 8  # what a logarithmic scale shows below the largest value


class ColourScale(Protocol):
    """How values become colours."""

    @property
    def cmap(self) -> str:
        """The name of a colour map."""

    @property
    def ink(self) -> str:
        """The colour of lines that are drawn over the map."""

    def suited(self, values: Array) -> ColourScale:
        """This scale, or the one that suits these (shown) values better."""

    def shown(self, values: Array) -> Array:
        """What of the values is shown."""

    def limits(self, values: Array) -> tuple[float, float]:
        """The ends of the colour map for these (shown) values."""

    def norm(self, low: float, high: float) -> Any:
        """A matplotlib norm between the limits."""

    def label(self, text: str) -> str:
        """LaTeX of what is shown, from LaTeX of the quantity."""

    def frame(self, ax: Any, values: Array) -> None:
        """Set the value axis of a curve with these (shown) values."""


@dataclass(frozen=True)
class Sequential:
    """From the smallest to the largest value."""

    cmap: str = "viridis"
    ink: str = "white"

    def suited(self, values: Array) -> ColourScale:
        low, high = _range(values)
        return Signed() if low < 0 < high and _SWING < -low / high < 1 / _SWING else self

    def shown(self, values: Array) -> Array:
        return values

    def limits(self, values: Array) -> tuple[float, float]:
        low, high = _range(values)
        size = max(abs(low), abs(high))
        if high - low > _CONSTANT * size:
            return low, high
        # Rounding noise of a constant is not a picture: leave the constant its one colour.
        margin = 0.1 * size or 1.0
        return low - margin, high + margin

    def norm(self, low: float, high: float) -> Any:
        return matplotlib("colors").Normalize(low, high)

    def label(self, text: str) -> str:
        return text

    def frame(self, ax: Any, values: Array) -> None:
        low, high = self.limits(values)
        if (low, high) != _range(values):  # a constant, whose rounding noise is no picture
            ax.set_ylim(low, high)
        powers_of_ten(ax)


@dataclass(frozen=True)
class Signed:
    """Zero in the middle, both signs to the same extent."""

    cmap: str = "RdBu_r"
    ink: str = "0.3"

    def suited(self, values: Array) -> ColourScale:
        return self

    def shown(self, values: Array) -> Array:
        return values

    def limits(self, values: Array) -> tuple[float, float]:
        low, high = _range(values)
        size = max(abs(low), abs(high)) or 1.0
        return -size, size

    def norm(self, low: float, high: float) -> Any:
        return matplotlib("colors").Normalize(low, high)

    def label(self, text: str) -> str:
        return text

    def frame(self, ax: Any, values: Array) -> None:
        ax.axhline(0.0, color="0.5", linewidth=0.6, zorder=0)
        powers_of_ten(ax)


@dataclass(frozen=True)
class Magnitude:
    """|f| on a logarithmic scale."""

    cmap: str = "cividis"
    ink: str = "white"

    def suited(self, values: Array) -> ColourScale:
        return self

    def shown(self, values: Array) -> Array:
        # Where f is exactly zero there is no logarithm; the smallest number shows as the bottom.
        return np.maximum(np.abs(values), np.finfo(float).tiny)

    def limits(self, values: Array) -> tuple[float, float]:
        _, high = _range(values)
        finite = values[np.isfinite(values) & (values > np.finfo(float).tiny)]
        if not finite.size:
            return 1e-16, 1.0
        return max(float(finite.min()), high * 10.0**-_DECADES), high * (1 + 1e-12)

    def norm(self, low: float, high: float) -> Any:
        return matplotlib("colors").LogNorm(low, high, clip=True)

    def label(self, text: str) -> str:
        return rf"|{text}|"

    def frame(self, ax: Any, values: Array) -> None:
        low, high = self.limits(values)
        ax.set_yscale("log")
        ax.set_ylim(low / 2, high * 2)


@dataclass(frozen=True)
class Coloured:
    """Another scale with another colour map."""

    scale: ColourScale
    cmap: str

    @property
    def ink(self) -> str:
        return self.scale.ink

    def suited(self, values: Array) -> ColourScale:
        return self  # whoever asks for a map has decided

    def shown(self, values: Array) -> Array:
        return self.scale.shown(values)

    def limits(self, values: Array) -> tuple[float, float]:
        return self.scale.limits(values)

    def norm(self, low: float, high: float) -> Any:
        return self.scale.norm(low, high)

    def label(self, text: str) -> str:
        return self.scale.label(text)

    def frame(self, ax: Any, values: Array) -> None:
        self.scale.frame(ax, values)


@dataclass(frozen=True)
class Fixed:
    """Another scale with limits that do not change, so that the frames of a film can be compared."""

    scale: ColourScale
    low: float
    high: float

    @property
    def cmap(self) -> str:
        return self.scale.cmap

    @property
    def ink(self) -> str:
        return self.scale.ink

    def suited(self, values: Array) -> ColourScale:
        return self

    def shown(self, values: Array) -> Array:
        return self.scale.shown(values)

    def limits(self, values: Array) -> tuple[float, float]:
        return self.low, self.high

    def norm(self, low: float, high: float) -> Any:
        return self.scale.norm(low, high)

    def label(self, text: str) -> str:
        return self.scale.label(text)

    def frame(self, ax: Any, values: Array) -> None:
        # A curve that happens to reach the limits, so that the axis is the same for every frame.
        margin = 0.05 * (self.high - self.low)
        self.scale.frame(ax, np.array([self.low, self.high]))
        ax.set_ylim(self.low - margin, self.high + margin)


def powers_of_ten(ax: Any) -> None:
    """×10⁶ instead of 1e6, where the axes have numbers of the usual kind."""
    usual = matplotlib("ticker").ScalarFormatter
    for axis in (ax.xaxis, ax.yaxis):
        if isinstance(axis.get_major_formatter(), usual):
            axis.get_major_formatter().set_useMathText(True)


def _range(values: Array) -> tuple[float, float]:
    finite = values[np.isfinite(values)]
    return (float(finite.min()), float(finite.max())) if finite.size else (0.0, 0.0)
