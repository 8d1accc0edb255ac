"""∂(A ∪ B) ⊂ ∂A ∪ ∂B: which parts of the faces of some shapes bound what is made of them."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from pibls.arrays import Array, Mask
from pibls.errors import ShapeWarning
from pibls.geometry.faces.face import ON, Boundary, Face, Keep

_NEAR = 0.02  # of the bounds: other faces that far away may still cut
_CLOSELY, _KNOWN = 3e-14, 0.9  # ends of arcs are then exact: values that jump there tell 1e-9 from zero
_PLACES = (np.arange(64) + 0.5) / 64
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
    size = float(lengths.min())

    def beside(boundary: Boundary, step: float) -> tuple[Mask, Mask]:
        away = step * size * boundary.normals
        inner, outer = (domain.contains(boundary.points + sign * away) for sign in (-1.0, 1.0))
        return np.asarray(inner, dtype=np.bool_), np.asarray(outer, dtype=np.bool_)

    def keeps(face: Face, number: int) -> Keep:
        """Whether a point bounds the domain, asked as close to the face as the face is known."""
        step = ON
        if face.has_chart and face.dimension == 1:
            there = face.at(_PLACES[:, None])
            same = [a == b for a, b in zip(beside(there, ON), beside(there, _CLOSELY), strict=True)]
            step = _CLOSELY if np.mean(same) > _KNOWN else ON

        def keep(boundary: Boundary) -> Mask:
            inner, outer = beside(boundary, step)
            if not face.is_thin:
                return inner & ~outer
            return inner & outer & ~fills(number, boundary.points) if fills else inner & outer

        return keep

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
        around_it = np.concatenate([np.empty((0, len(lengths))), *near])
        first = [
            f
            for f, n, j in zip(out, owners, places, strict=True)
            if n != number and np.all((boxes[j][0] <= high) & (boxes[j][1] >= low))
        ]
        for part in face.trimmed(keeps(face, number), around_it):
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
    ends = [X for f in faces if f.is_thin for X in f.at(np.array([[0.0], [1.0]])).points]
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

    # At a crossing one point is taken, at its ends another face begins: only where two in a row are taken do
    # faces coincide.
    taken = ~free(Boundary(X, np.zeros_like(X), (None,) * len(X)))
    if face.dimension == 1 and not np.any(taken[1:] & taken[:-1]):
        return (face,)
    if np.mean(~taken) > 1 - 1.5 / len(X):
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
