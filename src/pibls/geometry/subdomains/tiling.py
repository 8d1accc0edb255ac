r"""Partition of a rectangle into convex polygons by straight cut lines from side to side.

A point belongs to the polygon on the same side of every cut line. A `Tiling` has the members of
`subdomains.partition.Partition` that `subdomains.subdomain.Subdomain` uses. Coordinates are scaled to the
unit square, since distances and times have different units.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from pibls.arrays import Array, Indices, Mask
from pibls.geometry.faces.face import Face
from pibls.geometry.protocol import Domain, box_of
from pibls.geometry.subdomains.cut_lines import CutLine
from pibls.runtime.caching import cached_property

Point = tuple[float, float]

_TOLERANCE = 1e-9  # of the sides: closer cut lines are identical, thinner polygons are dropped


@dataclass(frozen=True)
class Tile:
    """A convex polygon between cut lines."""

    corners: Array
    sides: tuple[int, ...] = ()
    """For each cut line, 1 if the polygon is on its left, 0 if on its right."""

    def cut(self, cut_line: CutLine) -> Iterator[Tile]:
        """Yield the nonempty parts to the right and to the left of a cut line."""
        heights = cut_line.signed_distance(self.corners)
        heights[np.abs(heights) < _TOLERANCE] = 0.0
        for side, sign in enumerate((-1.0, 1.0)):
            kept = []
            for i, h in enumerate(heights):
                p, q, other = self.corners[i - 1], self.corners[i], heights[i - 1]
                if h * other < 0:
                    kept.append(p + (q - p) * other / (other - h))
                if sign * h >= 0:
                    kept.append(q)
            if (sign * heights > 0).any():
                yield Tile(np.array(kept), (*self.sides, side))

    def edge(self, cut_line: CutLine) -> Array:
        """Return the ends of the edge on a cut line, (2, 2)."""
        there = self.corners[np.abs(cut_line.signed_distance(self.corners)) < 10 * _TOLERANCE]
        along = there @ cut_line.direction
        return np.asarray(there[[along.argmin(), along.argmax()]])


@dataclass(frozen=True)
class Tiling:
    """The partition of a domain with two coordinates into polygons between cut lines."""

    domain: Domain
    cut_lines: tuple[CutLine, ...]
    """The lines, in coordinates of the unit square."""
    tiles: tuple[Tile, ...]

    @classmethod
    def of(cls, domain: Domain, lines: Iterable[tuple[Point, Point]]) -> Tiling:
        """Return the tiling by lines from side to side, in coordinates of the unit square."""
        cut_lines: list[CutLine] = []
        for line in lines:
            cut_line = CutLine(*line)
            if not any(cut_line.is_collinear(other, _TOLERANCE) for other in cut_lines):
                cut_lines.append(cut_line)
        tiles = [Tile(np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]]))]
        for cut_line in cut_lines:
            tiles = [part for tile in tiles for part in tile.cut(cut_line)]
        return cls(domain, tuple(cut_lines), tuple(tiles))

    def __len__(self) -> int:
        return len(self.tiles)

    @cached_property
    def _sides(self) -> Array:
        return np.array([tile.sides for tile in self.tiles], dtype=float)

    def locate(self, X: Array) -> Indices:
        """Return the index of the polygon of each point; near a common corner, the one it violates least."""
        low, size = _origin_and_lengths(self.domain)
        heights = np.array([cut_line.signed_distance((X - low) / size) for cut_line in self.cut_lines])
        violation = (
            np.maximum(-heights, 0.0).T @ self._sides.T + np.maximum(heights, 0.0).T @ (1 - self._sides).T
        )
        return np.asarray(violation.argmin(axis=1), dtype=np.intp)

    def is_on_interface(self, X: Array) -> Mask:
        """Return which points lie on a cut line, where data may jump."""
        low, size = _origin_and_lengths(self.domain)
        heights = np.array([cut_line.signed_distance((X - low) / size) for cut_line in self.cut_lines])
        return np.asarray((np.abs(heights) < _TOLERANCE).any(axis=0))

    def box(self, subdomain: int) -> Array:
        """Return the bounding box (2, 2) of a polygon."""
        low, size = _origin_and_lengths(self.domain)
        corners = low + self.tiles[subdomain].corners * size
        return np.stack([corners.min(axis=0), corners.max(axis=0)], axis=1)

    def interfaces(self) -> Iterator[tuple[CutLine, tuple[int, int], Face]]:
        """Yield (cut line, (right polygon, left polygon), face) for each edge between two polygons."""
        low, size = _origin_and_lengths(self.domain)
        numbers = {tile.sides: i for i, tile in enumerate(self.tiles)}
        for n, cut_line in enumerate(self.cut_lines):
            for i, tile in enumerate(self.tiles):
                neighbor = numbers.get((*tile.sides[:n], 1, *tile.sides[n + 1 :]))
                if tile.sides[n] == 0 and neighbor is not None:
                    a, b = (low + tile.edge(cut_line) * size).tolist()
                    yield cut_line, (i, neighbor), CutLine((a[0], a[1]), (b[0], b[1])).face

    @property
    def samples(self) -> Sequence[Array]:
        """One point, the mean of the corners, of each polygon."""
        low, size = _origin_and_lengths(self.domain)
        return [low + tile.corners.mean(axis=0, keepdims=True) * size for tile in self.tiles]

    def cavities(self, subdomain: int) -> tuple[tuple[tuple[float, ...], float], ...]:
        """Return the holes of a subdomain, like `Partition.cavities`: none, since polygons are convex."""
        return ()

    def have_same_material(self, p: int, q: int) -> bool:
        """Whether no interface conditions are needed between two subdomains, as in `Partition`: False.

        Every edge between two polygons is an interface.
        """
        return False


def _origin_and_lengths(domain: Domain) -> tuple[Array, Array]:
    low, high = box_of(domain).T
    return low, high - low
