"""From a domain to paper: where its points go in a small drawing, and the strokes to draw it with (SVG)."""

from __future__ import annotations

import numpy as np

from pibls.arrays import Array, Mask
from pibls.geometry import Domain, box_of, space_of, time_of

SIZE = 150.0  # pixels, the longer side of the drawing
MARGIN = 52.0
_SHORTEST = 0.35  # a side is drawn at least that long, relative to the longest, so that it can be written on
_OBLIQUE = np.array([[1.0, 0.0], [0.45, 0.32], [0.0, 1.0]])
"""Where the three coordinates of a body point: x to the right, y into the page, z up."""


class Paper:
    """A line for one coordinate, a plane for two, a parallel projection for three.

    Time is drawn beside one coordinate in space; beside more it is left out, and its middle is shown.
    """

    def __init__(self, domain: Domain) -> None:
        self.box = box_of(domain)
        space = len(space_of(domain).coordinates)
        self.hides_time = time_of(domain) is not None and space > 1
        self.drawn = len(self.box) - self.hides_time
        """How many coordinates are drawn; they are the first ones."""
        lengths = np.ptp(self.box, axis=1)[: self.drawn]
        to_scale = time_of(domain) is None or self.hides_time
        ratio = np.maximum(lengths / lengths.max(), _SHORTEST) if to_scale else np.ones(self.drawn)
        self._scale = ratio / lengths
        frame = self._plane(self.corners())
        self._low = frame.min(axis=0)
        extent = np.ptp(frame, axis=0)
        self._zoom = SIZE / float(extent.max())
        self.width, self.height = (float(self._zoom * e) for e in extent)
        self.base = float(self._zoom * ratio[0])
        """The length of the first coordinate."""

    def corners(self) -> Array:
        """The corners of the bounds, (2**drawn, drawn)."""
        return np.array(np.meshgrid(*self.box[: self.drawn])).reshape(self.drawn, -1).T

    def place(self, X: Array) -> Array:
        """Points (n, ≥ drawn) in pixels (n, 2), downwards from the upper left."""
        P = self._zoom * (self._plane(X) - self._low)
        return np.column_stack([P[:, 0], self.height - P[:, 1]]) + MARGIN

    def direction(self, normals: Array) -> Array:
        """Directions (n, ≥ drawn) on paper, (n, 2)."""
        D = self._project(normals[:, : self.drawn])
        return np.column_stack([D[:, 0], -D[:, 1]])

    def points(self, P: Array) -> Array:
        """Points (n, drawn) as points of the domain (n, d), at the middle of what is not drawn."""
        rest = self.box[self.drawn :].mean(axis=1)
        return np.column_stack([P, np.tile(rest, (len(P), 1))])

    def _plane(self, X: Array) -> Array:
        return self._project((X[:, : self.drawn] - self.box[: self.drawn, 0]) * self._scale)

    def _project(self, Y: Array) -> Array:
        if self.drawn == 1:
            return np.column_stack([Y, np.zeros(len(Y))])
        return Y if self.drawn == 2 else np.asarray(Y @ _OBLIQUE)


def runs(mask: Mask) -> list[tuple[int, int]]:
    """(start, stop) of each run of true values.

    >>> runs(np.array([True, True, False, True]))
    [(0, 2), (3, 4)]
    """
    edges = np.flatnonzero(np.diff(np.concatenate([[False], mask, [False]]).astype(int)))
    return list(zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True))


def line(points: Array, colour: str, width: float, *, dashed: bool = False) -> str:
    places = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    dash = ' stroke-dasharray="3 3"' if dashed else ""
    return f'<polyline points="{places}" fill="none" stroke="{colour}" stroke-width="{width:g}"{dash}/>'


def dot(point: Array, colour: str, radius: float) -> str:
    return f'<circle cx="{point[0]:.1f}" cy="{point[1]:.1f}" r="{radius:g}" fill="{colour}"/>'


def block(x: float, y: float, width: float, height: float) -> str:
    size = f'width="{width:.1f}" height="{height:.1f}"'
    return f'<rect x="{x:.1f}" y="{y:.1f}" {size} fill-opacity="0.08"/>'


def words(
    place: tuple[float, float],
    text: str,
    anchor: str,
    *,
    colour: str = "currentColor",
    bold: bool = False,
    italic: bool = False,
) -> str:
    """Text that is HTML already: whoever writes a name escapes it."""
    style = (' font-weight="bold"' if bold else "") + (' font-style="italic"' if italic else "")
    where = f'x="{place[0]:.1f}" y="{place[1]:.1f}" text-anchor="{anchor}"'
    return f'<text {where} fill="{colour}"{style}>{text}</text>'
