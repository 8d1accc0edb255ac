"""Projection of a domain onto a small drawing, and the SVG elements of the drawing."""

from __future__ import annotations

import numpy as np

from pibls.arrays import Array, Mask
from pibls.geometry import Domain, box_of, space_of, time_of

SIZE = 150.0  # pixels, the longer side of the drawing
MARGIN = 52.0
_MIN_SIDE_RATIO = 0.35  # minimum length of a side relative to the longest, which leaves space for labels
_OBLIQUE = np.array([[1.0, 0.0], [0.45, 0.32], [0.0, 1.0]])
"""Directions of the coordinates of a body in the drawing: x to the right, y into the page, z up."""


class SketchProjection:
    """Projection of a domain: a line for one coordinate, a plane for two, an oblique projection for three.

    Time is drawn together with one space coordinate; with more it is not drawn, and its middle is shown.
    """

    def __init__(self, domain: Domain) -> None:
        self.box = box_of(domain)
        space = len(space_of(domain).coordinates)
        self.hides_time = time_of(domain) is not None and space > 1
        self.drawn_dimensions = len(self.box) - self.hides_time
        """The number of coordinates that are drawn, which are the first ones."""
        lengths = np.ptp(self.box, axis=1)[: self.drawn_dimensions]
        to_scale = time_of(domain) is None or self.hides_time
        ratio = (
            np.maximum(lengths / lengths.max(), _MIN_SIDE_RATIO)
            if to_scale
            else np.ones(self.drawn_dimensions)
        )
        self._scale = ratio / lengths
        frame = self._plane(self.corners())
        self._low = frame.min(axis=0)
        extent = np.ptp(frame, axis=0)
        self._zoom = SIZE / float(extent.max())
        self.width, self.height = (float(self._zoom * e) for e in extent)
        self.x_length = float(self._zoom * ratio[0])
        """The length of the first coordinate, in pixels."""

    def corners(self) -> Array:
        """Return the corners of the bounds, (2**drawn, drawn)."""
        return np.array(np.meshgrid(*self.box[: self.drawn_dimensions])).reshape(self.drawn_dimensions, -1).T

    def place(self, X: Array) -> Array:
        """Return points (n, ≥ drawn) in pixels (n, 2), measured from the upper left corner."""
        P = self._zoom * (self._plane(X) - self._low)
        return np.column_stack([P[:, 0], self.height - P[:, 1]]) + MARGIN

    def direction(self, normals: Array) -> Array:
        """Return directions (n, ≥ drawn) in the drawing, (n, 2)."""
        D = self._project(normals[:, : self.drawn_dimensions])
        return np.column_stack([D[:, 0], -D[:, 1]])

    def points(self, P: Array) -> Array:
        """Return points (n, drawn) as points of the domain (n, d), at the middle of other coordinates."""
        rest = self.box[self.drawn_dimensions :].mean(axis=1)
        return np.column_stack([P, np.tile(rest, (len(P), 1))])

    def _plane(self, X: Array) -> Array:
        return self._project(
            (X[:, : self.drawn_dimensions] - self.box[: self.drawn_dimensions, 0]) * self._scale
        )

    def _project(self, Y: Array) -> Array:
        if self.drawn_dimensions == 1:
            return np.column_stack([Y, np.zeros(len(Y))])
        return Y if self.drawn_dimensions == 2 else np.asarray(Y @ _OBLIQUE)


def runs(mask: Mask) -> list[tuple[int, int]]:
    """Return (start, stop) of each run of true values.

    >>> runs(np.array([True, True, False, True]))
    [(0, 2), (3, 4)]
    """
    edges = np.flatnonzero(np.diff(np.concatenate([[False], mask, [False]]).astype(int)))
    return list(zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True))


def polyline(points: Array, colour: str, width: float, *, dashed: bool = False) -> str:
    places = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    dash = ' stroke-dasharray="3 3"' if dashed else ""
    return f'<polyline points="{places}" fill="none" stroke="{colour}" stroke-width="{width:g}"{dash}/>'


def circle(point: Array, colour: str, radius: float) -> str:
    return f'<circle cx="{point[0]:.1f}" cy="{point[1]:.1f}" r="{radius:g}" fill="{colour}"/>'


def rectangle(x: float, y: float, width: float, height: float) -> str:
    size = f'width="{width:.1f}" height="{height:.1f}"'
    return f'<rect x="{x:.1f}" y="{y:.1f}" {size} fill-opacity="0.08"/>'


def text_element(
    place: tuple[float, float],
    text: str,
    anchor: str,
    *,
    colour: str = "currentColor",
    bold: bool = False,
    italic: bool = False,
) -> str:
    """Return a text element; the caller must have escaped the text."""
    style = (' font-weight="bold"' if bold else "") + (' font-style="italic"' if italic else "")
    where = f'x="{place[0]:.1f}" y="{place[1]:.1f}" text-anchor="{anchor}"'
    return f'<text {where} fill="{colour}"{style}>{text}</text>'
