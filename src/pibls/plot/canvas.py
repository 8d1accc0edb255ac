"""Axes to draw on: the ones that were given, or new ones."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pibls.errors import ProblemError
from pibls.plot.backend import matplotlib

_WIDTHS = {1: 4.4, 2: 3.4, 3: 2.9, 4: 2.5}  # inches, by the number of columns
_TALLEST = 1.3  # height of a panel over the width that is usual for so many columns
_BAR = 0.85
_LABELS = 0.6
_TITLE = 0.25


@dataclass(frozen=True)
class Panels:
    """How many panels a picture needs, in which arrangement, and of which size (inches)."""

    count: int
    widths: tuple[float, ...]
    """Of the columns."""
    heights: tuple[float, ...]
    """Of the rows."""
    size: tuple[float, float]
    """Width and height of the figure, with room for labels and colour bars."""
    layout: str
    projection: str | None = None

    @classmethod
    def of(
        cls,
        fields: int,
        cuts: Sequence[tuple[float, float]],
        *,
        bars: bool = False,
        projection: str | None = None,
    ) -> Panels:
        """Fields below each other and cuts side by side; a single line of panels is wrapped.

        ``cuts`` are the sides of each cut, all to one scale; ``bars`` leaves room for colour bars.
        """
        count = fields * len(cuts)
        most = 2 if projection else 4
        rows, columns = (fields, len(cuts)) if fields > 1 and len(cuts) > 1 else _wrapped(count, most)
        sides = np.full((rows * columns, 2), 1e-9)
        sides[:count] = [cut for _ in range(fields) for cut in cuts]
        table = sides.reshape(rows, columns, 2)
        widths, heights = table[..., 0].max(axis=0), table[..., 1].max(axis=1)
        usual = _WIDTHS.get(columns, 2.1)
        scale = min(usual * columns / widths.sum(), _TALLEST * usual / heights.max())
        widths, heights = scale * widths, np.maximum(scale * heights, 0.25 * usual)
        each = bars and len(cuts) == 1
        across = widths.sum() + columns * (_BAR + _LABELS if each else _LABELS) + _BAR * (bars and not each)
        down = heights.sum() + rows * (_LABELS + _TITLE * (len(cuts) > 1))
        # Compressed, colour bars are as high as their panels; but panels of different shapes would all
        # be pressed into the smallest.
        layout = "compressed" if len(set(cuts)) == 1 else "constrained"
        size = (float(across), float(down))
        return cls(count, tuple(widths), tuple(heights), size, layout, projection)


def _wrapped(n: int, most: int) -> tuple[int, int]:
    if n <= most:
        return 1, n
    if n == 4:
        return 2, 2
    columns = 3 if n <= 6 else min(math.ceil(n / 2), 5)
    return math.ceil(n / columns), columns


def axes_for(panels: Panels, ax: Any) -> tuple[list[Any], Any]:
    """Axes to draw on, one per panel, and what to hand back to the caller."""
    if ax is None:
        return _new(panels)
    given = list(np.ravel(np.asarray(ax, dtype=object)))
    if len(given) != panels.count:
        raise ProblemError(
            "ax",
            expected=f"{panels.count} axes, one per panel" if panels.count > 1 else "one Axes",
            got=f"{len(given)}",
            remedy=f"Make as many with pyplot.subplots(1, {panels.count}), or leave ax out.",
        )
    for one in given:
        if not hasattr(one, "plot"):
            raise ProblemError(
                "ax", expected="matplotlib Axes", got=repr(one), remedy="Leave ax out for new ones."
            )
        if (panels.projection == "3d") != (getattr(one, "name", "") == "3d"):
            kind = 'with projection="3d"' if panels.projection else "in the plane"
            raise ProblemError(
                "ax", expected=f"Axes {kind}", got=repr(one), remedy="Leave ax out for new ones."
            )
    return given, ax


def _new(panels: Panels) -> tuple[list[Any], Any]:
    # Through pyplot, so that a notebook shows the figure; nothing else of its state is touched.
    figure = matplotlib("pyplot").figure(figsize=panels.size, layout=panels.layout)
    axes = add_axes(figure, panels)
    if panels.count == 1:
        return axes, axes[0]
    together = np.empty(len(axes), dtype=object)
    together[:] = axes
    return axes, together


def figure_of(panels: Panels) -> Any:
    """A figure that pyplot does not know about, for files."""
    figure = matplotlib("figure").Figure(figsize=panels.size, layout=panels.layout)
    matplotlib("backends.backend_agg").FigureCanvasAgg(figure)
    return figure


def add_axes(figure: Any, panels: Panels) -> list[Any]:
    """The panels as axes of a figure."""
    grid = figure.add_gridspec(
        len(panels.heights), len(panels.widths), width_ratios=panels.widths, height_ratios=panels.heights
    )
    return [figure.add_subplot(grid[i], projection=panels.projection) for i in _places(panels)]


def _places(panels: Panels) -> list[tuple[int, int]]:
    return [divmod(i, len(panels.widths)) for i in range(panels.count)]
