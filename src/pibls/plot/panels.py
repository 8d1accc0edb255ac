"""Arrangement of panels in a figure, and the axes to draw on: given ones or new ones."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from pibls.errors import ProblemError
from pibls.plot.backend import matplotlib

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_WIDTHS = {1: 4.4, 2: 3.4, 3: 2.9, 4: 2.5}  # inches, by the number of columns
_MAX_HEIGHT = 1.3  # of a panel, relative to the usual width for that number of columns
_COLOUR_BAR_WIDTH = 0.85  # inches
_LABEL_SIZE = 0.6  # inches
_TITLE_HEIGHT = 0.25  # inches


@dataclass(frozen=True)
class Panels:
    """Number, arrangement and size (inches) of the panels of a figure."""

    count: int
    widths: tuple[float, ...]
    """Widths of the columns."""
    heights: tuple[float, ...]
    """Heights of the rows."""
    size: tuple[float, float]
    """Width and height of the figure, including labels and colour bars."""
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
        """Arrange fields in rows and sections in columns; a single row of panels is wrapped.

        ``cuts`` are the side lengths of each section; ``bars`` reserves space for colour bars.
        """
        count = fields * len(cuts)
        max_columns = 2 if projection else 4
        rows, columns = (fields, len(cuts)) if fields > 1 and len(cuts) > 1 else _wrapped(count, max_columns)
        sides = np.full((rows * columns, 2), 1e-9)
        sides[:count] = [cut for _ in range(fields) for cut in cuts]
        table = sides.reshape(rows, columns, 2)
        widths, heights = table[..., 0].max(axis=0), table[..., 1].max(axis=1)
        usual = _WIDTHS.get(columns, 2.1)
        scale = min(usual * columns / widths.sum(), _MAX_HEIGHT * usual / heights.max())
        widths, heights = scale * widths, np.maximum(scale * heights, 0.25 * usual)
        each = bars and len(cuts) == 1
        width = (
            widths.sum()
            + columns * (_COLOUR_BAR_WIDTH + _LABEL_SIZE if each else _LABEL_SIZE)
            + _COLOUR_BAR_WIDTH * (bars and not each)
        )
        height = heights.sum() + rows * (_LABEL_SIZE + _TITLE_HEIGHT * (len(cuts) > 1))
        # In the compressed layout colour bars are as high as their panels, but panels of different shapes
        # would all be reduced to the smallest.
        layout = "compressed" if len(set(cuts)) == 1 else "constrained"
        size = (float(width), float(height))
        return cls(count, tuple(widths), tuple(heights), size, layout, projection)


def _wrapped(n: int, max_columns: int) -> tuple[int, int]:
    if n <= max_columns:
        return 1, n
    if n == 4:
        return 2, 2
    columns = 3 if n <= 6 else min(math.ceil(n / 2), 5)
    return math.ceil(n / columns), columns


def axes_for(panels: Panels, ax: Axes | Sequence[Axes] | None) -> tuple[list[Axes], Any]:
    """Return the axes to draw on, one per panel, and the value to return to the user."""
    if ax is None:
        return _new_axes(panels)
    given = list(np.ravel(np.asarray(ax, dtype=object)))
    if len(given) != panels.count:
        raise ProblemError(
            "ax",
            expected=f"{panels.count} axes, one per panel" if panels.count > 1 else "one Axes",
            got=f"{len(given)}",
            remedy=f"Create them with pyplot.subplots(1, {panels.count}), or omit ax.",
        )
    for one in given:
        if not isinstance(one, matplotlib("axes").Axes):
            raise ProblemError(
                "ax", expected="matplotlib Axes", got=repr(one), remedy="Leave ax out for new ones."
            )
        if (panels.projection == "3d") != (one.name == "3d"):
            kind = 'with projection="3d"' if panels.projection else "in the plane"
            raise ProblemError(
                "ax", expected=f"Axes {kind}", got=repr(one), remedy="Leave ax out for new ones."
            )
    return given, ax


def _new_axes(panels: Panels) -> tuple[list[Axes], Any]:
    # Created by pyplot so that a notebook shows the figure.
    figure = matplotlib("pyplot").figure(figsize=panels.size, layout=panels.layout)
    axes = add_axes(figure, panels)
    if panels.count == 1:
        return axes, axes[0]
    together = np.empty(len(axes), dtype=object)
    together[:] = axes
    return axes, together


def file_figure(panels: Panels) -> Figure:
    """Return a figure that is not registered with pyplot, for output to files."""
    figure: Figure = matplotlib("figure").Figure(figsize=panels.size, layout=panels.layout)
    matplotlib("backends.backend_agg").FigureCanvasAgg(figure)
    return figure


def add_axes(figure: Figure, panels: Panels) -> list[Axes]:
    """Add the panels to a figure and return their axes."""
    grid = figure.add_gridspec(
        len(panels.heights), len(panels.widths), width_ratios=panels.widths, height_ratios=panels.heights
    )
    return [figure.add_subplot(grid[i], projection=panels.projection) for i in _grid_positions(panels)]


def _grid_positions(panels: Panels) -> list[tuple[int, int]]:
    return [divmod(i, len(panels.widths)) for i in range(panels.count)]
