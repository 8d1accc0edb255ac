"""Faces ∂Ω × (t₀, t₁) that are extruded along a last coordinate, such as time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pibls.arrays import Array, Mask, Rng
from pibls.geometry.affine import Affine
from pibls.geometry.faces.face import ON_FACE_TOLERANCE, Boundary, BoundaryFilter, Face
from pibls.geometry.faces.patch import Patch
from pibls.geometry.faces.surface import FaceSurface


@dataclass(frozen=True)
class ExtrudedFace:
    """The extruded face: face × (start, stop)."""

    face: Face
    start: float
    stop: float

    @property
    def dimension(self) -> int:
        return self.face.dimension + 1

    @property
    def has_chart(self) -> bool:
        return self.face.has_chart

    @property
    def is_closed(self) -> bool:
        return self.face.is_closed

    @property
    def is_slit_side(self) -> bool:
        return self.face.is_slit_side

    def at(self, U: Array, rng: Rng | None = None) -> Boundary:
        base = self.face.at(U[:, :-1], rng)
        t = self.start * (1.0 - U[:, -1]) + self.stop * U[:, -1]
        return Boundary(
            np.column_stack([base.points, t]),
            np.column_stack([base.normals, np.zeros(len(U))]),
            base.owners,
        )

    def measure(self, lengths: Array) -> float:
        return self.face.measure(lengths[:-1]) * (self.stop - self.start) / float(lengths[-1])

    def touches(self, X: Array, tolerance: Array) -> Mask:
        slack = tolerance[-1]
        during = (self.start - slack <= X[:, -1]) & (self.stop + slack >= X[:, -1])
        return np.asarray(self.face.touches(X[:, :-1], tolerance[:-1]) & during, dtype=np.bool_)

    def normals(self, X: Array) -> Array | None:
        base = self.face.normals(X[:, :-1])
        return None if base is None else np.column_stack([base, np.zeros(len(X))])

    def plane(self) -> tuple[int, float] | None:
        return self.face.plane()

    def clipped(self, box: Array) -> tuple[Face, ...]:
        start, stop = max(self.start, float(box[-1, 0])), min(self.stop, float(box[-1, 1]))
        if stop - start <= ON_FACE_TOLERANCE * (box[-1, 1] - box[-1, 0]):
            return ()
        return tuple(ExtrudedFace(face, start, stop) for face in self.face.clipped(box[:-1]))

    def dense_points(self) -> Array:
        base = self.face.dense_points()
        times = np.linspace(self.start, self.stop, 9)
        return np.column_stack([np.tile(base, (9, 1)), np.repeat(times, len(base))])

    def trimmed(self, keep: BoundaryFilter, near: Array) -> tuple[Face, ...]:
        return Patch(FaceSurface(self)).trimmed(keep, near)

    def flipped(self) -> ExtrudedFace:
        return ExtrudedFace(self.face.flipped(), self.start, self.stop)

    def mapped(self, affine: Affine, owner: object) -> Face:
        return Patch(FaceSurface(self)).mapped(affine, owner)
