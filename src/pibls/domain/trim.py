"""∂(A ∪ B) ⊂ ∂A ∪ ∂B: which parts of the faces of some shapes bound what is made of them."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from pibls.arrays import Array, Mask
from pibls.domain.face import ON, Boundary, Face
from pibls.errors import ShapeWarning

_NEAR = 0.02  # of the bounds: other faces that far away may still cut
_SLIVER = 1e-7  # of the bounds: shorter pieces are rounding


def trim(
    domain: Any,
    around: Array,
    candidates: list[tuple[Face, int]],
    *,
    warn: bool = True,
    fills: Callable[[int, Array], Mask] | None = None,
) -> tuple[Face, ...]:
    """The parts of the candidates, each with the number of its shape, that bound the domain.

    A point of a face is on the boundary if the domain is on its inner side and not on its outer one; a lip of
    a slit, if it is on both and no other shape ``fills`` it. Where faces of two shapes coincide, the first
    has the points.
    """
    lengths = around[:, 1] - around[:, 0]
    dense = [face.dense() for face, _ in candidates]
    boxes = [(X.min(axis=0), X.max(axis=0)) for X in dense]
    step = ON * float(lengths.min())

    def bounds_domain(boundary: Boundary) -> Mask:
        X, N = boundary.points, boundary.normals
        return np.asarray(domain.contains(X - step * N) & ~domain.contains(X + step * N), dtype=np.bool_)

    def is_within(boundary: Boundary) -> Mask:
        X, N = boundary.points, boundary.normals
        both = domain.contains(X - step * N) & domain.contains(X + step * N)
        return np.asarray(both & ~fills(number, X) if fills else both, dtype=np.bool_)

    out: list[Face] = []
    owners: list[int] = []
    places: list[int] = []
    for i, (face, number) in enumerate(candidates):
        low, high = boxes[i][0] - _NEAR * lengths, boxes[i][1] + _NEAR * lengths
        near = [
            X[np.all((low <= X) & (high >= X), axis=1)]
            for j, X in enumerate(dense)
            if candidates[j][1] != number and np.all((boxes[j][0] <= high) & (boxes[j][1] >= low))
        ]
        beside = np.concatenate([np.empty((0, len(lengths))), *near])
        first = [
            f
            for f, n, j in zip(out, owners, places, strict=True)
            if n != number and np.all((boxes[j][0] <= high) & (boxes[j][1] >= low))
        ]
        for part in face.trimmed(is_within if face.is_thin else bounds_domain, beside):
            for left in _without(part, first, lengths):
                if left.dimension == 0 or left.measure(lengths) > _SLIVER ** max(left.dimension, 1):
                    out.append(left)
                    owners.append(number)
                    places.append(i)
    if warn:
        _warn_of_idle(domain, candidates, owners)
    return _parted(out, 10 * ON * lengths)


def _parted(faces: list[Face], tolerance: Array) -> tuple[Face, ...]:
    """The faces, those at which a slit ends in two parts: there is a corner on each side of it."""
    rng = np.random.default_rng(0)
    ends = [X for f in faces if f.is_thin for X in f.at(np.array([[0.0], [1.0]]), rng).points]
    for X in ends:
        parts: list[Face] = []
        for face in faces:
            normals = None if face.is_thin or face.dimension != 1 else face.normals(X[None, :])
            if normals is None or not face.has_chart or not face.touches(X[None, :], tolerance)[0]:
                parts.append(face)
                continue
            along = np.array([-normals[0, 1], normals[0, 0]])
            for sign in (-1.0, 1.0):

                def beyond(boundary: Boundary, way: Array = sign * along, X: Array = X) -> Mask:
                    return np.asarray((boundary.points - X) @ way > 0)

                parts += face.trimmed(beyond, X[None, :])
        faces = [f for f in parts if f.dimension != 1 or f.measure(np.ones(2)) > tolerance.max()]
    return tuple(faces)


def _without(face: Face, others: list[Face], lengths: Array) -> tuple[Face, ...]:
    """What is left of a face when others that run along it have taken their share."""
    tolerance = 10 * ON * lengths
    X = face.dense()
    along = [f for f in others if f.has_chart and f.touches(X, tolerance).any()]
    if not along:
        return (face,)

    def free(boundary: Boundary) -> Mask:
        taken = np.zeros(len(boundary.points), dtype=np.bool_)
        for other in along:
            taken |= other.touches(boundary.points, tolerance)
        return ~taken

    # A crossing is one point; only where several in a row are taken do faces coincide.
    if np.mean(free(Boundary(X, np.zeros_like(X), (None,) * len(X)))) > 1 - 1.5 / len(X):
        return (face,)
    return face.trimmed(free, np.concatenate([f.dense() for f in along]))


def _warn_of_idle(domain: Any, candidates: list[tuple[Face, int]], owners: list[int]) -> None:
    """A shape that leaves no trace is most often in the wrong place."""
    if not owners:
        return
    for number in sorted({n for _, n in candidates} - set(owners)):
        part = domain.parts[number]
        warnings.warn(
            f"{part!r} changes nothing of {domain!r}: no part of its boundary is one of the domain. "
            "Check its place and size.",
            ShapeWarning,
            stacklevel=2,
        )


def outline(faces: tuple[Face, ...], around: Array) -> tuple[tuple[float, float], ...]:
    """The box around all faces; a side of ``around`` where it is as good as that."""
    X = np.concatenate([face.dense() for face in faces])
    low, high = X.min(axis=0), X.max(axis=0)
    slack = 2e-3 * (high - low)  # between two dense points a curve may go a little further
    low = np.where(low - slack <= around[:, 0], around[:, 0], low - slack)
    high = np.where(high + slack >= around[:, 1], around[:, 1], high + slack)
    return tuple(zip(low.tolist(), high.tolist(), strict=True))
