"""Numbers beside the parts of a boundary, which overlap neither each other nor, if possible, the boundary."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pibls.arrays import Array
from pibls.plot.backend import figure_of, matplotlib

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.transforms import Bbox

_FONT_SIZE = "small"
_PLACES = (0.5, 0.35, 0.65, 0.2, 0.8, 0.08, 0.92)  # along a part of the boundary
_DISTANCES = (9.0, 16.0, 24.0, 34.0, 46.0)  # points, from the boundary to the centre of a number
_MIN_LEADER = 12.0  # distance from which a thin line connects the number with the boundary
_ROTATIONS = (0.0, 40.0, -40.0)  # degrees, from the normal
_GAP = 1.5  # points around a number


@dataclass(frozen=True)
class NumberedPart:
    """A part of the boundary and the text beside it."""

    text: str
    colour: str
    points: Array
    """Points along the part in the plane, (n, 2)."""
    normals: Array
    """Outward normals at the points, (n, 2)."""


def place_numbers(axes: Axes, parts: Sequence[NumberedPart], boundary: Array) -> None:
    """Draw the numbers on axes whose limits are final; a number for which there is no space is left out.

    ``boundary`` are points (n, 2) that the numbers should not cover.
    """
    figure = figure_of(axes)
    figure.draw_without_rendering()  # computes the layout
    scale = figure.dpi / 72
    frame = axes.get_window_extent()
    obstacles = axes.transData.transform(boundary)
    taken: list[Bbox] = []
    # Short parts first, because there are fewer places for their numbers.
    for part in sorted(parts, key=lambda p: len(p.points)):
        size = _text_size(part.text, figure) + 2 * _GAP * scale
        best: tuple[int, Array, Array, Bbox] | None = None
        for anchor, offset in _candidates(part, axes):
            centre = axes.transData.transform(anchor) + scale * offset
            low, high = centre - size / 2, centre + size / 2
            box = matplotlib("transforms").Bbox([low, high])
            outside = (low < frame.min).any() or (high > frame.max).any()
            if outside or any(box.overlaps(other) for other in taken):
                continue
            covered = int(((obstacles >= low) & (obstacles <= high)).all(axis=1).sum())
            if best is None or covered < best[0]:
                best = covered, anchor, offset, box
            if not covered:
                break
        if best is not None:
            taken.append(best[3])
            _draw(axes, part, best[1], best[2])


def _candidates(part: NumberedPart, axes: Axes) -> Iterator[tuple[Array, Array]]:
    """Yield anchors in data coordinates with offsets in points, the best first."""
    zero = axes.transData.transform((0.0, 0.0))
    for distance in _DISTANCES:
        for side in (1.0, -1.0):
            for rotation in _ROTATIONS:
                for place in _PLACES if len(part.points) > 1 else (0.5,):
                    i = min(int(place * len(part.points)), len(part.points) - 1)
                    # Normals are orthogonal to the boundary in the plane, not always in the figure.
                    x, y = part.normals[i] * np.sign(axes.transData.transform((1.0, 1.0)) - zero)
                    angle = np.arctan2(side * y, side * x) + np.radians(rotation)
                    yield part.points[i], distance * np.array([np.cos(angle), np.sin(angle)])


def _text_size(text: str, figure: Figure) -> Array:
    measured = matplotlib("text").Text(text=text, fontsize=_FONT_SIZE, fontweight="bold")
    measured.set_figure(figure)
    extent = measured.get_window_extent()
    return np.array([extent.width, extent.height])


def _draw(axes: Axes, part: NumberedPart, anchor: Array, offset: Array) -> None:
    has_leader = float(np.hypot(*offset)) > _MIN_LEADER
    leader = {"arrowstyle": "-", "color": part.colour, "linewidth": 0.7, "shrinkA": 0, "shrinkB": 1}
    place, shift = (float(anchor[0]), float(anchor[1])), (float(offset[0]), float(offset[1]))
    label = axes.annotate(part.text, place, shift, textcoords="offset points", ha="center", va="center",
                          color=part.colour, fontsize=_FONT_SIZE, fontweight="bold", zorder=5,
                          arrowprops=leader if has_leader else None)  # fmt: skip
    label.set_in_layout(False)
