r"""Slits and branch cuts of plane domains: segments a + s (b - a), 0 ≤ s ≤ 1.

A singular function r^α φ(θ) about a point inside a subdomain, such as the tip of a slit or the corner of an
inclusion, is multivalued. A branch cut from the point to the boundary of the subdomain divides it in two, in
each of which the function is single-valued. The solution is continuous across the branch cut.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from pibls.arrays import Array, Indices, Mask
from pibls.geometry.faces.arc import Arc
from pibls.geometry.faces.face import Face, bisect
from pibls.geometry.faces.polyline import Polyline
from pibls.geometry.protocol import Domain, box_of, faces_of

_MEETING_DISTANCE = 1e-5  # of the domain: closer ends coincide; subdomains are located to 1e-6
_START_DISTANCE = 1e-4  # of the domain: distance of the first test point on a ray
_RAY_POINTS = 2000
_MIN_ANGLE = 1e-5  # radians; smaller angles count as zero

Locate = Callable[[Array], Indices]


@dataclass(frozen=True)
class CutLine:
    """The segment from a to b."""

    a: tuple[float, float]
    b: tuple[float, float]

    @property
    def direction(self) -> Array:
        difference = np.array(self.b) - np.array(self.a)
        return np.asarray(difference / np.linalg.norm(difference))

    def signed_distance(self, X: Array) -> Array:
        """Return the distances of points from the line through a and b, positive to its left."""
        t, Y = self.direction, X - np.array(self.a)
        return np.asarray(t[0] * Y[:, 1] - t[1] * Y[:, 0])

    def is_on_segment(self, X: Array, tolerance: float) -> Mask:
        """Return which points lie on the segment, between a and b."""
        s = (X - np.array(self.a)) @ self.direction
        length = math.dist(self.a, self.b)
        return np.asarray(
            (np.abs(self.signed_distance(X)) < tolerance) & (s > 0) & (s < length), dtype=np.bool_
        )

    def is_collinear(self, other: CutLine, tolerance: float) -> bool:
        return bool(np.abs(other.signed_distance(np.array([self.a, self.b]))).max() < tolerance)

    def extended_across(self, box: Array) -> CutLine:
        """Return the line through a and b, extended across a box."""
        reach, a = float(np.linalg.norm(box[:, 1] - box[:, 0])), np.array(self.a)
        near = a + ((0.5 * box.sum(axis=1) - a) @ self.direction) * self.direction
        ends = (near + np.array([[-0.6], [0.6]]) * reach * self.direction).tolist()
        return CutLine((ends[0][0], ends[0][1]), (ends[1][0], ends[1][1]))

    @property
    def points(self) -> Array:
        """Evenly spaced points of the segment, (n, 2)."""
        s = (np.arange(2 * _RAY_POINTS) + 0.5)[:, None] / (2 * _RAY_POINTS)
        return np.asarray(np.array(self.a) * (1.0 - s) + np.array(self.b) * s)

    @property
    def face(self) -> Face:
        return Arc(Polyline(self, np.array([self.a, self.b]), closed=False))


def slit_segments(domain: Domain) -> tuple[CutLine, ...]:
    """Return the straight segments of the slits of a plane domain, each once."""
    sides = [
        face.at(np.array([[0.0], [1.0]])).points
        for face in faces_of(domain)
        if face.is_slit_side and face.dimension == 1
    ]
    out: list[CutLine] = []
    for i, side in enumerate(sides):
        for other in sides[i + 1 :]:
            if np.abs(side - other[::-1]).max() < 1e-9 * np.linalg.norm(side[1] - side[0]):
                a, b = (0.5 * (side + other[::-1])).tolist()  # halfway between both sides of the slit
                out.append(CutLine((a[0], a[1]), (b[0], b[1])))
    return tuple(out)


def branch_cuts(
    domain: Domain, slits: Sequence[CutLine], faces: Sequence[Face], locate: Locate
) -> tuple[CutLine, ...]:
    """Return branch cuts from the tips of slits, and from points where interfaces bend or meet.

    ``faces`` are the interfaces; ``locate`` returns the subdomain of each point.
    """
    box = box_of(domain)
    size = float(np.linalg.norm(box[:, 1] - box[:, 0]))
    out = []
    for point, angle in _tips(domain, slits, size):
        out.append(_branch_cut(point, angle, domain, slits, locate, size))
    for point, angles in _vertices(faces, size):
        if not _is_inside(domain, point, size):
            continue
        angles = sorted(angles)
        gaps = [(b - a) % (2.0 * math.pi) for a, b in zip(angles, [*angles[1:], angles[0]], strict=True)]
        if len(angles) < 2 or (len(angles) == 2 and abs(gaps[0] - math.pi) < _MIN_ANGLE):
            continue  # a smooth continuation from one face to the next
        for start, gap in zip(angles, gaps, strict=True):
            middle = start + 0.5 * gap
            if gap > _MIN_ANGLE and _surrounds(point, middle, domain, locate, size):
                out.append(_branch_cut(point, middle, domain, slits, locate, size))
    return tuple(out)


def _tips(domain: Domain, slits: Sequence[CutLine], size: float) -> Iterator[tuple[Array, float]]:
    """Yield the tips of slits inside the domain, with the angle of the continuation of the slit."""
    ends = [(np.array(p), np.array(p) - np.array(q)) for c in slits for p, q in ((c.a, c.b), (c.b, c.a))]
    for i, (point, difference) in enumerate(ends):
        is_tip = all(
            np.linalg.norm(p - point) > _MEETING_DISTANCE * size for j, (p, _) in enumerate(ends) if j != i
        )
        if is_tip and _is_inside(domain, point, size):
            yield point, math.atan2(difference[1], difference[0])


def _is_inside(domain: Domain, point: Array, size: float) -> bool:
    turn = 2.0 * np.pi * np.arange(12) / 12
    X = point + 1e-6 * size * np.column_stack([np.cos(turn), np.sin(turn)])
    return bool(np.asarray(domain.contains(X), dtype=bool).all())


def _vertices(faces: Sequence[Face], size: float) -> Iterator[tuple[Array, list[float]]]:
    """Yield the end points of faces, with the angles in which the faces leave them."""
    ends: list[tuple[Array, float]] = []
    for face in faces:
        if face.dimension == 1 and face.has_chart and not face.is_closed:
            X = face.at(np.array([[0.0], [1e-4], [1.0 - 1e-4], [1.0]])).points
            for point, neighbor in ((X[0], X[1]), (X[3], X[2])):
                difference = neighbor - point
                ends.append((point, math.atan2(difference[1], difference[0])))
    done: set[int] = set()
    for i, (point, _) in enumerate(ends):
        if i not in done:
            members = [
                j for j, (p, _) in enumerate(ends) if np.linalg.norm(p - point) < _MEETING_DISTANCE * size
            ]
            done.update(members)
            yield point, [ends[j][1] for j in members]


def _ray(point: Array, angle: float, size: float) -> Array:
    s = np.linspace(_START_DISTANCE, 1.0, _RAY_POINTS) * size
    return np.asarray(point + s[:, None] * np.array([math.cos(angle), math.sin(angle)]))


def _surrounds(point: Array, angle: float, domain: Domain, locate: Locate, size: float) -> bool:
    """Return whether the subdomain in this direction is also found in the opposite one."""
    subdomain = locate(_ray(point, angle, size)[:1])[0]
    opposite = _ray(point, angle + math.pi, size)
    opposite = opposite[np.asarray(domain.contains(opposite), dtype=bool)]
    return bool(len(opposite) and np.any(locate(opposite) == subdomain))


def _branch_cut(
    point: Array, angle: float, domain: Domain, slits: Sequence[CutLine], locate: Locate, size: float
) -> CutLine:
    """Return the branch cut from a point in a direction to the boundary of its subdomain."""
    direction = np.array([math.cos(angle), math.sin(angle)])
    subdomain = locate((point + _START_DISTANCE * size * direction)[None, :])[0]

    def is_in_subdomain(s: Array) -> Mask:
        X = point + s[:, None] * direction
        return np.asarray(np.asarray(domain.contains(X), dtype=bool) & (locate(X) == subdomain))

    s = np.linspace(_START_DISTANCE, 1.0, _RAY_POINTS) * size
    inside = is_in_subdomain(s)
    last = int(np.argmin(inside)) if not inside.all() else len(s) - 1
    length = float(bisect(is_in_subdomain, s[[max(last - 1, 0)]], s[[last]])[0][0])
    for slit in slits:
        # The branch cut ends at a slit that it meets.
        slope = float(
            slit.signed_distance((point + direction)[None, :])[0] - slit.signed_distance(point[None, :])[0]
        )
        if abs(slope) > _MIN_ANGLE:
            s_slit = -float(slit.signed_distance(point[None, :])[0]) / slope
            intersection = (point + s_slit * direction)[None, :]
            if _START_DISTANCE * size < s_slit < length and slit.is_on_segment(intersection, 1e-9 * size)[0]:
                length = s_slit
    end = point + length * direction
    return CutLine((float(point[0]), float(point[1])), (float(end[0]), float(end[1])))
