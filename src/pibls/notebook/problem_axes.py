"""The axes of ``problem.plot()``: size of the figure, limits, ticks and legend."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from pibls.arrays import Array
from pibls.plot.backend import matplotlib
from pibls.plot.colours import use_powers_of_ten
from pibls.plot.maps import limit_ticks
from pibls.plot.style_sheet import draw_frame

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis

_FIGURE_WIDTH = 5.4  # inches
_MAX_SIZE = np.array([4.6, 3.8])  # of the axes, inches
_SLENDER = 1.7  # inches, the shorter side of axes that are not drawn to scale
_LABEL_SIZE = 0.6  # inches
_TICK_SIZE = 0.5  # inches, from the lower end of given axes to their legend
_MARGIN = 0.32  # inches between the domain and the frame, for the numbers of the conditions
_MAX_SCALED_RATIO = 12.0  # ratio of the sides above which a domain is not drawn to scale
_MIN_SIDE = 0.2  # of a body relative to its longest side, which leaves space for the ticks


@dataclass(frozen=True)
class ProblemAxes:
    """Axes for a domain with bounds ``box`` (d, 2), d ≤ 3: new ones in their own figure, or given ones."""

    axes: Any
    """Matplotlib axes in the plane or, without stubs, in space."""
    box: Array
    new_size: Array | None
    """Width and height of new axes in inches, or None if the axes were given."""

    @classmethod
    def of(cls, box: Array, ax: Axes | None) -> ProblemAxes:
        if ax is not None:
            return cls(ax, box, None)
        size = _new_size(box)
        figsize = (_FIGURE_WIDTH, float(size[1]) + _LABEL_SIZE)
        figure = matplotlib("pyplot").figure(figsize=figsize, layout="constrained")
        return cls(figure.add_subplot(projection="3d" if len(box) == 3 else None), box, size)

    @property
    def size(self) -> Array:
        """Width and height of the axes in inches."""
        if self.new_size is not None:
            return self.new_size
        extent = self.axes.get_window_extent()
        return np.array([extent.width, extent.height], dtype=float) / float(self.axes.get_figure().dpi)

    @property
    def legend_width(self) -> float:
        """The width that is available for the legend, in inches."""
        return _FIGURE_WIDTH - 0.2 if self.new_size is not None else max(float(self.size[0]), 2.0)

    def set_limits(self, names: Sequence[str]) -> None:
        """Set labels, limits with a margin for the numbers, and ticks that do not overlap."""
        axes, lengths = self.axes, np.ptp(self.box, axis=1)
        if len(lengths) == 3:
            self._set_body_limits(names)
            return
        axes.set_xlabel(names[0])
        if len(lengths) == 2:
            axes.set_ylabel(names[1])
        inner = np.maximum(self.size - 2 * _MARGIN, 0.3 * self.size)
        per_inch = lengths / inner[: len(lengths)]
        if len(lengths) == 2 and _is_to_scale(lengths):
            per_inch = np.full(2, per_inch.max())
            axes.set_aspect("equal")
        pad = per_inch * _MARGIN
        axes.set_xlim(self.box[0, 0] - pad[0], self.box[0, 1] + pad[0])
        if len(lengths) == 1:
            axes.set_ylim(-1.0, 1.0)
            axes.set_yticks([])
            axes.spines[["left", "top", "right"]].set_visible(False)
            axes.grid(visible=False)
        else:
            draw_frame(axes)
            axes.set_ylim(self.box[1, 0] - pad[1], self.box[1, 1] + pad[1])
        use_powers_of_ten(axes)
        axes.get_figure().draw_without_rendering()  # computes the size of the axes
        limit_ticks(axes)
        _thin_ticks(axes)

    def _set_body_limits(self, names: Sequence[str]) -> None:
        axes, lengths = self.axes, np.ptp(self.box, axis=1)
        sides = np.maximum(lengths / lengths.max(), _MIN_SIDE)
        for axis, name, side, (low, high) in zip("xyz", names, sides, self.box, strict=True):
            getattr(axes, f"set_{axis}lim")(low, high)
            # At a common corner of two axes only one has a tick.
            bins = 5 if side > 0.8 else 4 if side > 0.4 else 3
            axes.locator_params(axis=axis, nbins=bins, prune=None if axis == "x" else "lower")
            label = _with_power_of_ten(getattr(axes, f"{axis}axis"), name, float(np.abs([low, high]).max()))
            getattr(axes, f"set_{axis}label")(label, labelpad=12 if axis == "x" else 8)
        axes.set_box_aspect(sides, zoom=0.85)  # leaves space for the labels

    def add_legend(self, handles: Sequence[Artist], labels: Sequence[str]) -> None:
        """Add the legend below the axes, and enlarge a new figure by its height."""
        axes, figure = self.axes, self.axes.get_figure()
        if self.new_size is not None:
            legend = figure.legend(handles, labels, loc="outside lower center", fontsize="small")
            height = legend.get_window_extent().height / figure.dpi
            figure.set_size_inches(_FIGURE_WIDTH, float(self.size[1]) + _LABEL_SIZE + height)
            return
        points = matplotlib("transforms").ScaledTranslation(0, -_TICK_SIZE, figure.dpi_scale_trans)
        legend = axes.legend(
            handles, labels, loc="upper center", bbox_to_anchor=(0.5, 0.0), fontsize="small", frameon=False,
            bbox_transform=axes.transAxes + points, borderaxespad=0.0,
        )  # fmt: skip
        if figure.get_layout_engine() is None:
            # Nothing else reserves space for the legend: the axes are made lower by its height.
            needed = legend.get_window_extent().height + 0.5 * _TICK_SIZE * figure.dpi
            place = axes.get_position()
            lower = min(needed / figure.bbox.height, 0.7 * place.height)
            axes.set_position((place.x0, place.y0 + lower, place.width, place.height - lower))
            axes.set_anchor("S")


def _thin_ticks(axes: Any) -> None:
    """Reduce the number of ticks until their labels do not overlap."""
    for name, axis in (("x", axes.xaxis), ("y", axes.yaxis)):
        for bins in (5, 4, 3, 2, 1):
            axes.get_figure().draw_without_rendering()
            labels = [tick.label1 for tick in axis._update_ticks()]
            boxes = [label.get_window_extent().padded(1.0) for label in labels if label.get_text()]
            if not any(a.overlaps(b) for a, b in pairwise(boxes)):
                break
            axes.locator_params(axis=name, nbins=bins)


def _with_power_of_ten(axis: Axis, name: str, size: float) -> str:
    """Return the label of an axis of a body, with the power of ten of its ticks.

    Matplotlib would write the power of ten at a place of its own, where it overlaps the label.
    """
    power = int(np.floor(np.log10(size))) if size > 0 else 0
    if -3 < power < 4:
        return name
    axis.set_major_formatter(lambda value, _: f"{value / 10.0**power:.4g}")
    return rf"{name} ($\times 10^{{{power}}}$)"


def _new_size(box: Array) -> Array:
    lengths = np.ptp(box, axis=1)
    if len(lengths) == 1:
        return np.array([_MAX_SIZE[0], 0.7])
    if len(lengths) == 3:
        return _MAX_SIZE
    if not _is_to_scale(lengths):
        return np.where(lengths == lengths.max(), _MAX_SIZE, _SLENDER)
    return np.asarray(lengths / (lengths / (_MAX_SIZE - 2 * _MARGIN)).max() + 2 * _MARGIN)


def _is_to_scale(lengths: Array) -> bool:
    return float(lengths.max() / lengths.min()) <= _MAX_SCALED_RATIO
