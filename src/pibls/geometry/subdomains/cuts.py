r"""a + s (b - a), 0 ≤ s ≤ 1: lines that divide a plane domain, so that nothing goes around a point.

A function r^α φ(θ) around a point jumps somewhere: in a body with a slit behind its tip, around an inclusion
with corners at each of them. A seam from the point to where its piece ends makes two pieces of one, in which
each function has one value, and across which everything is continuous.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pibls.arrays import Array, Mask
from pibls.geometry.faces.arc import Arc
from pibls.geometry.faces.face import Face, bisected
from pibls.geometry.faces.polyline import Polyline
from pibls.geometry.protocol import Domain, box_of, faces_of

_SAME = 1e-5  # of the domain: ends that are that close meet; pieces are known to 1e-6
_BESIDE = 1e-4  # of the domain: as far from a point it is asked what is there
_MARCH = 2000
_FLAT = 1e-5  # an angle that is none

Locate = Callable[[Array], Any]


@dataclass(frozen=True)
class CutLine:
    """The line from a to b."""

    a: tuple[float, float]
    b: tuple[float, float]

    @property
    def along(self) -> Array:
        way = np.array(self.b) - np.array(self.a)
        return np.asarray(way / np.linalg.norm(way))

    def height(self, X: Array) -> Array:
        """How far points are to the left of the line through a and b."""
        t, Y = self.along, X - np.array(self.a)
        return np.asarray(t[0] * Y[:, 1] - t[1] * Y[:, 0])

    def holds(self, X: Array, tolerance: float) -> Mask:
        """Which points lie on it, between a and b."""
        s = (X - np.array(self.a)) @ self.along
        length = math.dist(self.a, self.b)
        return np.asarray((np.abs(self.height(X)) < tolerance) & (s > 0) & (s < length), dtype=np.bool_)

    def is_on_line_of(self, other: CutLine, tolerance: float) -> bool:
        return bool(np.abs(other.height(np.array([self.a, self.b]))).max() < tolerance)

    def through(self, box: Array) -> CutLine:
        """The line through a and b, from one side of a box to the other and beyond."""
        reach, a = float(np.linalg.norm(box[:, 1] - box[:, 0])), np.array(self.a)
        near = a + ((0.5 * box.sum(axis=1) - a) @ self.along) * self.along
        ends = (near + np.array([[-0.6], [0.6]]) * reach * self.along).tolist()
        return CutLine((ends[0][0], ends[0][1]), (ends[1][0], ends[1][1]))

    @property
    def points(self) -> Array:
        """Many of them."""
        s = (np.arange(2 * _MARCH) + 0.5)[:, None] / (2 * _MARCH)
        return np.asarray(np.array(self.a) * (1.0 - s) + np.array(self.b) * s)

    @property
    def face(self) -> Face:
        return Arc(Polyline(self, np.array([self.a, self.b]), closed=False))


def walls_of(domain: Domain) -> tuple[CutLine, ...]:
    """The slits of a plane domain, each straight part once."""
    lips = [
        face.at(np.array([[0.0], [1.0]])).points
        for face in faces_of(domain)
        if face.is_thin and face.dimension == 1
    ]
    out: list[CutLine] = []
    for i, lip in enumerate(lips):
        for other in lips[i + 1 :]:
            if np.abs(lip - other[::-1]).max() < 1e-9 * np.linalg.norm(lip[1] - lip[0]):
                a, b = (0.5 * (lip + other[::-1])).tolist()  # between them: which side is asked to 1e-13
                out.append(CutLine((a[0], a[1]), (b[0], b[1])))
    return tuple(out)


def seams_of(
    domain: Domain, walls: Sequence[CutLine], faces: Sequence[Face], locate: Locate
) -> tuple[CutLine, ...]:
    """Seams from the tips of slits, and from where ``faces`` between pieces bend or meet inside."""
    box = box_of(domain)
    size = float(np.linalg.norm(box[:, 1] - box[:, 0]))
    out = []
    for point, angle in _tips(domain, walls, size):
        out.append(_seam(point, angle, domain, walls, locate, size))
    for point, angles in _vertices(faces, size):
        if not _is_inside(domain, point, size):
            continue
        angles = sorted(angles)
        gaps = [(b - a) % (2.0 * math.pi) for a, b in zip(angles, [*angles[1:], angles[0]], strict=True)]
        if len(angles) < 2 or (len(angles) == 2 and abs(gaps[0] - math.pi) < _FLAT):
            continue  # one face ends where the next goes on
        for start, gap in zip(angles, gaps, strict=True):
            middle = start + 0.5 * gap
            if gap > _FLAT and _goes_around(point, middle, domain, locate, size):
                out.append(_seam(point, middle, domain, walls, locate, size))
    return tuple(out)


def _tips(domain: Domain, walls: Sequence[CutLine], size: float) -> Iterator[tuple[Array, float]]:
    """The ends of slits inside the domain, each with the direction in which the slit would go on."""
    ends = [(np.array(p), np.array(p) - np.array(q)) for c in walls for p, q in ((c.a, c.b), (c.b, c.a))]
    for i, (point, way) in enumerate(ends):
        alone = all(np.linalg.norm(p - point) > _SAME * size for j, (p, _) in enumerate(ends) if j != i)
        if alone and _is_inside(domain, point, size):
            yield point, math.atan2(way[1], way[0])


def _is_inside(domain: Domain, point: Array, size: float) -> bool:
    turn = 2.0 * np.pi * np.arange(12) / 12
    X = point + 1e-6 * size * np.column_stack([np.cos(turn), np.sin(turn)])
    return bool(np.asarray(domain.contains(X), dtype=bool).all())


def _vertices(faces: Sequence[Face], size: float) -> Iterator[tuple[Array, list[float]]]:
    """Where faces end, and the directions in which they leave."""
    ends: list[tuple[Array, float]] = []
    for face in faces:
        if face.dimension == 1 and face.has_chart and not face.is_closed:
            X = face.at(np.array([[0.0], [1e-4], [1.0 - 1e-4], [1.0]])).points
            for point, next_one in ((X[0], X[1]), (X[3], X[2])):
                way = next_one - point
                ends.append((point, math.atan2(way[1], way[0])))
    done: set[int] = set()
    for i, (point, _) in enumerate(ends):
        if i not in done:
            here = [j for j, (p, _) in enumerate(ends) if np.linalg.norm(p - point) < _SAME * size]
            done.update(here)
            yield point, [ends[j][1] for j in here]


def _ray(point: Array, angle: float, size: float) -> Array:
    s = np.linspace(_BESIDE, 1.0, _MARCH) * size
    return np.asarray(point + s[:, None] * np.array([math.cos(angle), math.sin(angle)]))


def _goes_around(point: Array, angle: float, domain: Domain, locate: Locate, size: float) -> bool:
    """Whether the piece in that direction is also in the opposite one."""
    piece = locate(_ray(point, angle, size)[:1])[0]
    behind = _ray(point, angle + math.pi, size)
    behind = behind[np.asarray(domain.contains(behind), dtype=bool)]
    return bool(len(behind) and np.any(locate(behind) == piece))


def _seam(
    point: Array, angle: float, domain: Domain, walls: Sequence[CutLine], locate: Locate, size: float
) -> CutLine:
    """From a point to where its piece ends."""
    way = np.array([math.cos(angle), math.sin(angle)])
    piece = locate((point + _BESIDE * size * way)[None, :])[0]

    def within(s: Array) -> Mask:
        X = point + s[:, None] * way
        return np.asarray(np.asarray(domain.contains(X), dtype=bool) & (locate(X) == piece))

    s = np.linspace(_BESIDE, 1.0, _MARCH) * size
    inside = within(s)
    last = int(np.argmin(inside)) if not inside.all() else len(s) - 1
    low = float(bisected(within, s[[max(last - 1, 0)]], s[[last]])[0][0])
    for wall in walls:
        # |p + s w - a| on the line of a wall.
        slope = float(wall.height((point + way)[None, :])[0] - wall.height(point[None, :])[0])
        if abs(slope) > _FLAT:
            s_there = -float(wall.height(point[None, :])[0]) / slope
            there = (point + s_there * way)[None, :]
            if _BESIDE * size < s_there < low and wall.holds(there, 1e-9 * size)[0]:
                low = s_there
    end = point + low * way
    return CutLine((float(point[0]), float(point[1])), (float(end[0]), float(end[1])))
