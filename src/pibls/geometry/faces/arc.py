"""Faces of plane shapes that are a curve γ(u) or a part start ≤ u ≤ stop of it."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from pibls.arrays import Array, Mask, Rng
from pibls.geometry.affine import Affine
from pibls.geometry.faces.curve import Curve
from pibls.geometry.faces.face import Boundary, BoundaryFilter, Face, bounds_part_in_box, face_intervals

_BOX_FRACTION = 8  # segments of a curve in a box are this much shorter than the box
_MAX_REFINEMENTS = 12
_BOX_HALVINGS = 12  # locate the ends of an arc in a box to 1e-5 of the box
_MIN_MEASURE_SEGMENTS = 64


@dataclass(frozen=True)
class Arc:
    """A part of a curve; with ``flip``, for a shape that is subtracted, its normals are reversed.

    For a closed curve ``stop`` may exceed 1: the part then passes through u = 1.
    """

    curve: Curve
    start: float = 0.0
    stop: float = 1.0
    flip: bool = False

    dimension = 1
    has_chart = True

    @property
    def is_closed(self) -> bool:
        return self.curve.is_closed and self.stop - self.start >= 1.0

    @property
    def is_slit_side(self) -> bool:
        return self.curve.is_slit_side

    def at(self, U: Array, rng: Rng | None = None) -> Boundary:
        u = self._parameters(U[:, 0])
        return Boundary(self.curve.position(u), self._normals(u), (self.curve.owner,) * len(u))

    def _parameters(self, parameter: Array) -> Array:
        return self.curve.wrapped(self.start * (1.0 - parameter) + self.stop * parameter)

    def _normals(self, u: Array) -> Array:
        t = self.curve.tangent(u)
        outward = np.column_stack([t[:, 1], -t[:, 0]]) / np.linalg.norm(t, axis=1, keepdims=True)
        return np.asarray(-outward if self.flip else outward)

    def quadrature_points(self, start: float, stop: float, nodes: Array) -> tuple[Array, Array, Array]:
        """Return points, speeds and normals at Gauss nodes of the part between two parameters of the face."""
        a, b = (self.start + (self.stop - self.start) * parameter for parameter in (start, stop))
        turn = np.floor(0.5 * (a + b)) if self.curve.is_closed else 0.0
        X, along = self.curve.quadrature_points(max(a - turn, 0.0), min(b - turn, 1.0), nodes)
        speed = np.linalg.norm(along, axis=1)
        outward = np.column_stack([along[:, 1], -along[:, 0]]) / speed[:, None]
        return X, speed, np.asarray(-outward if self.flip else outward)

    def measure(self, lengths: Array) -> float:
        n = max(_MIN_MEASURE_SEGMENTS, int(self.curve.segments * (self.stop - self.start)))
        X = self.curve.position(self._parameters(np.linspace(0.0, 1.0, n + 1))) / lengths
        return float(np.linalg.norm(np.diff(X, axis=0), axis=1).sum())

    def touches(self, X: Array, tolerance: Array) -> Mask:
        table = self.curve.table
        low, high = table.low.min(axis=0) - tolerance, table.high.max(axis=0) + tolerance
        candidates = np.flatnonzero(np.all((low <= X) & (high >= X), axis=1))
        out = np.zeros(len(X), dtype=np.bool_)
        out[candidates] = self._touches(X[candidates], tolerance)
        return out

    def _touches(self, X: Array, tolerance: Array) -> Mask:
        u = self.curve.nearest_parameters(X)
        near = np.all(np.abs(self.curve.position(u) - X) <= tolerance, axis=1)
        slack = float(tolerance.max()) / self.curve.length
        # On a closed curve, u and u + 1 are the same point.
        return np.asarray(
            near
            & (
                ((self.start - slack <= u) & (u <= self.stop + slack))
                | (self.curve.is_closed & (u + 1.0 <= self.stop + slack))
                | (self.curve.is_closed & (u - 1.0 >= self.start - slack))
            ),
            dtype=np.bool_,
        )

    def normals(self, X: Array) -> Array | None:
        return self._normals(self.curve.nearest_parameters(X))

    def plane(self) -> tuple[int, float] | None:
        return None

    def flipped(self) -> Arc:
        """Return the arc with reversed normals."""
        return replace(self, flip=not self.flip)

    def part(self, start: float, stop: float) -> Arc:
        """Return the part between two parameters of the face; for a closed one, ``stop`` may exceed 1."""
        span = self.stop - self.start
        return replace(self, start=self.start + span * start, stop=self.start + span * stop)

    def _nodes(self, low: Array, high: Array) -> Array:
        """Return parameters of the face, increasing from 0 to 1, that are dense where it meets a box."""
        table, span = self.curve.table, self.stop - self.start
        meets = np.all((table.low <= high) & (table.high >= low), axis=1)
        edges = np.concatenate([table.u[:-1][meets], table.u[1:][meets]])
        parameters = np.concatenate([(edges + turn - self.start) / span for turn in (0.0, 1.0)])
        return np.unique(np.concatenate([[0.0, 1.0], parameters[(parameters > 0) & (parameters < 1)]]))

    def clipped(self, box: Array) -> tuple[Face, ...]:
        table, around = self.curve.table, self.curve.bounding_box
        if any(low > b or high < a for (low, high), (a, b) in zip(around, box.tolist(), strict=True)):
            return ()
        if not np.any(np.all((table.low <= box[:, 1]) & (table.high >= box[:, 0]), axis=1)):
            return ()

        def in_box(boundary: Boundary) -> Mask:
            return bounds_part_in_box(box, boundary.points, boundary.normals)

        parameters = self._nodes(box[:, 0], box[:, 1])
        max_step = (box[:, 1] - box[:, 0]) / _BOX_FRACTION
        for _ in range(_MAX_REFINEMENTS):
            X = self.curve.position(self._parameters(parameters))
            a, b = X[:-1], X[1:]
            is_long = np.any(np.abs(b - a) > max_step, axis=1)
            margin = 0.5 * np.linalg.norm(b - a, axis=1)[:, None]
            near = np.all(
                (np.minimum(a, b) - margin <= box[:, 1]) & (np.maximum(a, b) + margin >= box[:, 0]), axis=1
            )
            split = np.flatnonzero(is_long & near)
            if not len(split):
                break
            step = (parameters[split + 1] - parameters[split])[:, None] * (np.arange(1, 4) / 4.0)
            parameters = np.unique(np.concatenate([parameters, (parameters[split][:, None] + step).ravel()]))
        return tuple(self.part(*ends) for ends in face_intervals(self, parameters, in_box, _BOX_HALVINGS))

    def dense_points(self) -> Array:
        n = max(int(self.curve.segments * (self.stop - self.start)), 16)
        return self.curve.position(self._parameters(np.linspace(0.0, 1.0, n + 1)))

    def trimmed(self, keep: BoundaryFilter, near: Array) -> tuple[Face, ...]:
        n = max(int(self.curve.segments * (self.stop - self.start)), 16)
        found = self.curve.nearest_parameters(near)
        parameters = (np.concatenate([found, found + 1.0]) - self.start) / (self.stop - self.start)
        parameters = np.concatenate(
            [np.linspace(0.0, 1.0, n + 1), parameters[(parameters > 0) & (parameters < 1)]]
        )
        return tuple(self.part(*ends) for ends in face_intervals(self, np.unique(parameters), keep))

    def mapped(self, affine: Affine, owner: object) -> Face:
        return Arc(_Image(self.curve, affine, owner), self.start, self.stop, self.flip)


class _Image(Curve):
    """The image M γ(u) + b of a curve."""

    def __init__(self, curve: Curve, affine: Affine, owner: object) -> None:
        self._curve, self._affine, self.owner = curve, affine, owner
        self.is_closed, self.segments = curve.is_closed, curve.segments
        self.is_slit_side = curve.is_slit_side
        self.is_nonsmooth_at_knots = curve.is_nonsmooth_at_knots

    @property
    def knots(self) -> Array:
        return self._curve.knots

    def position(self, u: Array) -> Array:
        return self._affine.points(self._curve.position(u))

    def tangent(self, u: Array) -> Array:
        return np.asarray(self._curve.tangent(u) @ self._affine.matrix.T)

    def quadrature_points(self, start: float, stop: float, nodes: Array) -> tuple[Array, Array]:
        X, along = self._curve.quadrature_points(start, stop, nodes)
        return self._affine.points(X), np.asarray(along @ self._affine.matrix.T)
