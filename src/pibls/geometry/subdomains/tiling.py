r"""Ω = ∪ Pᵢ: a rectangle, divided by chords from side to side into convex polygons.

A point belongs to the polygon on its side of every chord. All is done in coordinates from 0 to 1: metres and
nanoseconds have no angle between them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from pibls.arrays import Array, Mask, Numbers
from pibls.caching import cached_property
from pibls.geometry.faces.face import Face
from pibls.geometry.protocol import Domain, box_of
from pibls.geometry.subdomains.cuts import CutLine

Point = tuple[float, float]

_SAME = 1e-9  # of the sides: chords that are closer than that are one, and polygons thinner than that none


@dataclass(frozen=True)
class Tile:
    """A convex polygon, and on which side of each chord it lies, 1 to the left."""

    corners: Array
    sides: tuple[int, ...] = ()

    def cut(self, chord: CutLine) -> Iterator[Tile]:
        """What of it is to the right of a chord, and what is to the left."""
        heights = chord.height(self.corners)
        heights[np.abs(heights) < _SAME] = 0.0
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

    def edge(self, chord: CutLine) -> Array:
        """The ends of its edge on a chord, (2, 2)."""
        there = self.corners[np.abs(chord.height(self.corners)) < 10 * _SAME]
        along = there @ chord.along
        return np.asarray(there[[along.argmin(), along.argmax()]])


@dataclass(frozen=True)
class Tiling:
    """The polygons between the chords of a domain with two coordinates."""

    domain: Domain
    chords: tuple[CutLine, ...]
    """In coordinates from 0 to 1."""
    tiles: tuple[Tile, ...]

    @classmethod
    def of(cls, domain: Domain, lines: Iterable[tuple[Point, Point]]) -> Tiling:
        """By lines from side to side, in coordinates from 0 to 1."""
        chords: list[CutLine] = []
        for line in lines:
            chord = CutLine(*line)
            if not any(chord.is_on_line_of(other, _SAME) for other in chords):
                chords.append(chord)
        tiles = [Tile(np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]]))]
        for chord in chords:
            tiles = [part for tile in tiles for part in tile.cut(chord)]
        return cls(domain, tuple(chords), tuple(tiles))

    def __len__(self) -> int:
        return len(self.tiles)

    @cached_property
    def _sides(self) -> Array:
        return np.array([tile.sides for tile in self.tiles], dtype=float)

    def locate(self, X: Array) -> Numbers:
        """The polygon of each point; next to a corner of many, the one that it is least far outside of."""
        low, size = _frame(self.domain)
        heights = np.array([chord.height((X - low) / size) for chord in self.chords])
        wrong = np.maximum(-heights, 0.0).T @ self._sides.T + np.maximum(heights, 0.0).T @ (1 - self._sides).T
        return np.asarray(wrong.argmin(axis=1), dtype=np.intp)

    def is_between(self, X: Array) -> Mask:
        """Which points lie on a chord, where what is given may jump."""
        low, size = _frame(self.domain)
        heights = np.array([chord.height((X - low) / size) for chord in self.chords])
        return np.asarray((np.abs(heights) < _SAME).any(axis=0))

    def box(self, piece: int) -> Array:
        """A box (2, 2) around a polygon."""
        low, size = _frame(self.domain)
        corners = low + self.tiles[piece].corners * size
        return np.stack([corners.min(axis=0), corners.max(axis=0)], axis=1)

    def interfaces(self) -> Iterator[tuple[CutLine, tuple[int, int], Face]]:
        """Each edge between two polygons: its chord, the polygons to its right and left, and the edge."""
        low, size = _frame(self.domain)
        numbers = {tile.sides: i for i, tile in enumerate(self.tiles)}
        for n, chord in enumerate(self.chords):
            for i, tile in enumerate(self.tiles):
                beyond = numbers.get((*tile.sides[:n], 1, *tile.sides[n + 1 :]))
                if tile.sides[n] == 0 and beyond is not None:
                    a, b = (low + tile.edge(chord) * size).tolist()
                    yield chord, (i, beyond), CutLine((a[0], a[1]), (b[0], b[1])).face

    @property
    def samples(self) -> Sequence[Array]:
        """The middle of each polygon."""
        low, size = _frame(self.domain)
        return [low + tile.corners.mean(axis=0, keepdims=True) * size for tile in self.tiles]

    def gaps(self, piece: int) -> tuple[tuple[tuple[float, ...], float], ...]:
        """What is convex has none."""
        return ()

    def are_alike(self, p: int, q: int) -> bool:
        """Whether nothing is to be seen between two polygons: something is."""
        return False


def _frame(domain: Domain) -> tuple[Array, Array]:
    low, high = box_of(domain).T
    return low, high - low
