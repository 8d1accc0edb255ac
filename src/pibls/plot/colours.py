"""Colour scales: the colour map and its limits for given values.

All maps are suitable for colour-blind readers: viridis for values, a blue-white-red map centred at zero for
signed quantities (errors, residuals, values of both signs), cividis on a logarithmic scale for magnitudes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pibls.arrays import Array
from pibls.plot.backend import matplotlib

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import Normalize
    from matplotlib.ticker import ScalarFormatter

_CONSTANT = 1e-9  # relative range below which values are shown as one colour
_MIN_SIGN_RATIO = 0.2  # smaller of |min| and |max| over the larger, above which the signed scale is used
_DECADES = 8  # shown below the largest value on a logarithmic scale


@dataclass(frozen=True)
class ColourScale:
    """Base class of the maps from values to colours; each kind chooses its limits."""

    cmap: str
    """The name of a colour map."""
    line_colour: str
    """The colour of lines that are drawn over the map."""
    is_fixed: bool = False
    """Whether the scale was chosen explicitly and must not be replaced by a more suitable one."""
    fixed_limits: tuple[float, float] | None = None
    """Fixed limits, so that the frames of an animation can be compared."""

    def suitable_for(self, values: Array) -> ColourScale:
        """Return this scale, or a more suitable one for these displayed values."""
        return self

    def displayed(self, values: Array) -> Array:
        """Return the displayed values, for example their magnitude."""
        return values

    def limits(self, values: Array) -> tuple[float, float]:
        """Return the limits of the colour map for these displayed values."""
        return self.fixed_limits or self._limits(*_range(values), values)

    def _limits(self, low: float, high: float, values: Array) -> tuple[float, float]:
        raise NotImplementedError

    def norm(self, low: float, high: float) -> Normalize:
        """Return a Matplotlib norm between the limits."""
        norm: Normalize = matplotlib("colors").Normalize(low, high)
        return norm

    def label(self, text: str) -> str:
        """Return LaTeX of the displayed quantity, from LaTeX of the quantity."""
        return text

    def set_value_axis(self, ax: Axes, values: Array) -> None:
        """Set the value axis of a curve with these displayed values."""
        # Fixed limits take the place of the values, so that the axis is the same in every frame.
        self._set_value_axis(ax, values if self.fixed_limits is None else np.array(self.fixed_limits))
        if self.fixed_limits is not None:
            low, high = self.fixed_limits
            ax.set_ylim(low - 0.05 * (high - low), high + 0.05 * (high - low))

    def _set_value_axis(self, ax: Axes, values: Array) -> None:
        raise NotImplementedError


@dataclass(frozen=True)
class Sequential(ColourScale):
    """A sequential scale from the smallest to the largest value."""

    cmap: str = "viridis"
    line_colour: str = "white"

    def suitable_for(self, values: Array) -> ColourScale:
        low, high = _range(values)
        swings = low < 0 < high and _MIN_SIGN_RATIO < -low / high < 1 / _MIN_SIGN_RATIO
        return Signed() if swings and not self.is_fixed else self

    def _limits(self, low: float, high: float, values: Array) -> tuple[float, float]:
        size = max(abs(low), abs(high))
        if high - low > _CONSTANT * size:
            return low, high
        # Show a constant in one colour, not its rounding errors.
        margin = 0.1 * size or 1.0
        return low - margin, high + margin

    def _set_value_axis(self, ax: Axes, values: Array) -> None:
        low, high = self._limits(*_range(values), values)
        if (low, high) != _range(values):  # a constant: do not show its rounding errors
            ax.set_ylim(low, high)
        use_powers_of_ten(ax)


@dataclass(frozen=True)
class Signed(ColourScale):
    """A diverging scale with symmetric limits about zero."""

    cmap: str = "RdBu_r"
    line_colour: str = "0.3"

    def _limits(self, low: float, high: float, values: Array) -> tuple[float, float]:
        size = max(abs(low), abs(high)) or 1.0
        return -size, size

    def _set_value_axis(self, ax: Axes, values: Array) -> None:
        ax.axhline(0.0, color="0.5", linewidth=0.6, zorder=0)
        use_powers_of_ten(ax)


@dataclass(frozen=True)
class Magnitude(ColourScale):
    """|f| on a logarithmic scale."""

    cmap: str = "cividis"
    line_colour: str = "white"

    def displayed(self, values: Array) -> Array:
        # Zero has no logarithm; the smallest normal number is shown in the lowest colour.
        return np.maximum(np.abs(values), np.finfo(float).tiny)

    def _limits(self, low: float, high: float, values: Array) -> tuple[float, float]:
        finite = values[np.isfinite(values) & (values > np.finfo(float).tiny)]
        if not finite.size:
            return 1e-16, 1.0
        return max(float(finite.min()), high * 10.0**-_DECADES), high * (1 + 1e-12)

    def norm(self, low: float, high: float) -> Normalize:
        norm: Normalize = matplotlib("colors").LogNorm(low, high, clip=True)
        return norm

    def label(self, text: str) -> str:
        return rf"|{text}|"

    def _set_value_axis(self, ax: Axes, values: Array) -> None:
        low, high = self._limits(*_range(values), values)
        ax.set_yscale("log")
        ax.set_ylim(low / 2, high * 2)


def use_powers_of_ten(ax: Axes) -> None:
    """Write ×10⁶ instead of 1e6 on axes with the default tick format."""
    usual: type[ScalarFormatter] = matplotlib("ticker").ScalarFormatter
    for axis in (ax.xaxis, ax.yaxis):
        formatter = axis.get_major_formatter()
        if isinstance(formatter, usual):
            formatter.set_useMathText(True)


def _range(values: Array) -> tuple[float, float]:
    finite = values[np.isfinite(values)]
    return (float(finite.min()), float(finite.max())) if finite.size else (0.0, 0.0)
