"""Trimming: the parts of the faces of shapes that bound a combination, as in ∂(A ∪ B) ⊂ ∂A ∪ ∂B."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pibls.arrays import Array, Mask
from pibls.errors import ShapeWarning
from pibls.geometry.faces.face import ON_FACE_TOLERANCE, Boundary, BoundaryFilter, Face

if TYPE_CHECKING:
    from pibls.geometry.csg import Combined
    from pibls.geometry.protocol import Domain

_NEAR_DISTANCE = 0.02  # of the bounds: other faces within this distance may trim a face
_SMALL_STEP = 3e-14  # makes ends of arcs exact; 1e-9 would be visible in data that jump there
_MIN_AGREEMENT = 0.9  # of test points, for the small step to be used
_TEST_PARAMETERS = (np.arange(64) + 0.5) / 64
_MIN_MEASURE = 1e-7  # of the bounds: shorter parts are due to rounding


def trim_faces(
    domain: Combined,
    around: Array,
    candidates: list[tuple[Face, int]],
    *,
    warn: bool = True,
    fills: Callable[[int, Array], Mask] | None = None,
) -> tuple[Face, ...]:
    """Return the parts of candidate faces, given with the index of their shape, that bound the domain.

    A point of a face is on the boundary if the domain is on its inner but not on its outer side. A point on
    the side of a slit is on the boundary if the domain is on both sides and no other shape ``fills`` it.
    Where faces of two shapes coincide, the first one is kept.
    """
    lengths = around[:, 1] - around[:, 0]
    dense = [face.dense_points() for face, _ in candidates]
    boxes = [(X.min(axis=0), X.max(axis=0)) for X in dense]
    sides = _Sides(domain, float(lengths.min()), fills)
    out: list[Face] = []
    owners: list[int] = []
    candidate_of_part: list[int] = []
    for i, (face, number) in enumerate(candidates):
        low, high = boxes[i][0] - _NEAR_DISTANCE * lengths, boxes[i][1] + _NEAR_DISTANCE * lengths
        near = [
            X[np.all((low <= X) & (high >= X), axis=1)]
            for j, X in enumerate(dense)
            if candidates[j][1] != number and np.all((boxes[j][0] <= high) & (boxes[j][1] >= low))
        ]
        near_points = np.concatenate([np.empty((0, len(lengths))), *near])
        earlier = [
            f
            for f, n, j in zip(out, owners, candidate_of_part, strict=True)
            if n != number and np.all((boxes[j][0] <= high) & (boxes[j][1] >= low))
        ]
        for part in face.trimmed(sides.boundary_filter(face, number), near_points):
            for remaining in _without_overlaps(part, earlier, lengths):
                if _is_significant(remaining, lengths):
                    out.append(remaining)
                    owners.append(number)
                    candidate_of_part.append(i)
    if warn:
        _warn_of_unused_parts(domain, candidates, owners)
    return _split_at_slit_ends(out, 10 * ON_FACE_TOLERANCE * lengths)


def _is_significant(face: Face, lengths: Array) -> bool:
    """Return whether a face is larger than what rounding leaves of a face that is trimmed away."""
    return face.dimension == 0 or face.measure(lengths) > _MIN_MEASURE ** max(face.dimension, 1)


@dataclass(frozen=True)
class _Sides:
    """Tests whether a domain lies on the inner and on the outer side of faces."""

    domain: Domain
    size: float
    fills: Callable[[int, Array], Mask] | None

    def inside(self, boundary: Boundary, step: float) -> tuple[Mask, Mask]:
        """Return whether the domain contains the points at a distance on the inner and the outer side."""
        away = step * self.size * boundary.normals
        inner, outer = (self.domain.contains(boundary.points + sign * away) for sign in (-1.0, 1.0))
        return np.asarray(inner, dtype=np.bool_), np.asarray(outer, dtype=np.bool_)

    def boundary_filter(self, face: Face, number: int) -> BoundaryFilter:
        """Return a filter of boundary points, tested as close to the face as its accuracy allows."""
        step = ON_FACE_TOLERANCE
        if face.has_chart and face.dimension == 1:
            samples = face.at(_TEST_PARAMETERS[:, None])
            both = zip(
                self.inside(samples, ON_FACE_TOLERANCE), self.inside(samples, _SMALL_STEP), strict=True
            )
            step = _SMALL_STEP if np.mean([a == b for a, b in both]) > _MIN_AGREEMENT else ON_FACE_TOLERANCE

        def keep(boundary: Boundary) -> Mask:
            inner, outer = self.inside(boundary, step)
            if not face.is_slit_side:
                return inner & ~outer
            return inner & outer & ~self.fills(number, boundary.points) if self.fills else inner & outer

        return keep


def _split_at_slit_ends(faces: list[Face], tolerance: Array) -> tuple[Face, ...]:
    """Split faces where a slit ends on them, since there is a corner on each side of the slit."""
    ends = [X for f in faces if f.is_slit_side for X in f.at(np.array([[0.0], [1.0]])).points]
    for X in ends:
        parts = [part for face in faces for part in _split_at(face, X, tolerance)]
        faces = [f for f in parts if f.dimension != 1 or f.measure(np.ones(2)) > tolerance.max()]
    return tuple(faces)


def _split_at(face: Face, X: Array, tolerance: Array) -> Sequence[Face]:
    """Return the parts of a face on both sides of a point, the whole face if it does not touch it."""
    normals = None if face.is_slit_side or face.dimension != 1 else face.normals(X[None, :])
    if normals is None or not face.has_chart or not face.touches(X[None, :], tolerance)[0]:
        return (face,)
    along = np.array([-normals[0, 1], normals[0, 0]])
    parts: list[Face] = []
    for sign in (-1.0, 1.0):

        def is_on_side(boundary: Boundary, direction: Array = sign * along) -> Mask:
            return np.asarray((boundary.points - X) @ direction > 0)

        parts += face.trimmed(is_on_side, X[None, :])
    return parts


def _without_overlaps(face: Face, others: list[Face], lengths: Array) -> tuple[Face, ...]:
    """Return the parts of a face that do not coincide with other faces."""
    tolerance = 10 * ON_FACE_TOLERANCE * lengths
    X = face.dense_points()
    overlapping = [f for f in others if f.has_chart and f.touches(X, tolerance).any()]
    if not overlapping:
        return (face,)

    def is_free(boundary: Boundary) -> Mask:
        taken = np.zeros(len(boundary.points), dtype=np.bool_)
        for other in overlapping:
            taken |= other.touches(boundary.points, tolerance)
        return ~taken

    # At a crossing or at an end of the face a single point lies on another face: faces coincide only
    # where two consecutive points do.
    taken = ~is_free(Boundary(X, np.zeros_like(X), (None,) * len(X)))
    if face.dimension == 1 and not np.any(taken[1:] & taken[:-1]):
        return (face,)
    if np.mean(~taken) > 1 - 1.5 / len(X):
        return (face,)
    return face.trimmed(is_free, np.concatenate([f.dense_points() for f in overlapping]))


def _warn_of_unused_parts(domain: Combined, candidates: list[tuple[Face, int]], owners: list[int]) -> None:
    """Warn of shapes that do not contribute to the boundary: they are usually misplaced."""
    if not owners:
        return
    for number in sorted({n for _, n in candidates} - set(owners)):
        part = domain.parts[number]
        warnings.warn(
            f"{part!r} has no effect on {domain!r}: no part of its boundary bounds the domain. "
            "Check its position and size.",
            ShapeWarning,
            stacklevel=2,
        )


def faces_bounds(faces: tuple[Face, ...], around: Array) -> tuple[tuple[float, float], ...]:
    """Return the bounding box of faces, with sides of the box ``around`` where these are close."""
    X = np.concatenate([face.dense_points() for face in faces])
    low, high = X.min(axis=0), X.max(axis=0)
    slack = 2e-3 * (high - low)  # a curve may extend slightly beyond its dense points
    low = np.where(low - slack <= around[:, 0], around[:, 0], low - slack)
    high = np.where(high + slack >= around[:, 1], around[:, 1], high + slack)
    return tuple(zip(low.tolist(), high.tolist(), strict=True))
