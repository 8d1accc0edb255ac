"""Images M Ω + b of shapes under affine maps."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import sympy as sp

from pibls.arrays import Array, Mask
from pibls.expressions import Coordinate, Logical
from pibls.geometry.affine import Affine
from pibls.geometry.faces.face import Boundary, Face
from pibls.geometry.faces.sampled_face import SampledFace
from pibls.geometry.faces.trimming import faces_bounds
from pibls.geometry.protocol import Domain, box_of, faces_of
from pibls.geometry.shape import Shape, inside_condition
from pibls.runtime.caching import cached_property


@dataclass(frozen=True)
class Mapped(Shape):
    """The image {M x + b : x ∈ shape}, which owns its whole boundary."""

    shape: Domain
    affine: Affine

    @property
    def coordinates(self) -> tuple[Coordinate, ...]:
        return tuple(self.shape.coordinates)

    @cached_property
    def bounds(self) -> tuple[tuple[float, float], ...]:
        corners = np.array(np.meshgrid(*box_of(self.shape))).reshape(len(self.coordinates), -1).T
        moved = self.affine.points(corners)
        image_box = np.stack([moved.min(axis=0), moved.max(axis=0)], axis=1)
        return faces_bounds(self.faces, image_box)

    @cached_property
    def faces(self) -> tuple[Face, ...]:
        faces = faces_of(self.shape)
        if all(face.has_chart for face in faces):
            return tuple(face.mapped(self.affine, self) for face in faces)
        return (SampledFace(self),)

    def interior(self, n: int, rng: np.random.Generator) -> Array:
        return self.affine.points(np.asarray(self.shape.interior(n, rng), dtype=float))

    def boundary(self, n: int, rng: np.random.Generator) -> Boundary:
        points, normals, _ = self.shape.boundary(n, rng)
        points, normals = np.asarray(points, dtype=float), np.asarray(normals, dtype=float)
        return Boundary(self.affine.points(points), self.affine.normals(normals), (self,) * n)

    def contains(self, X: Array) -> Mask:
        return np.asarray(self.shape.contains(self.affine.inverse_points(X)))

    @property
    def inside(self) -> Logical:
        shift = sp.Matrix(self.coordinates) - sp.Matrix(self.affine.offset)
        back = sp.Matrix(self.affine.inverse) * shift
        return inside_condition(self.shape).subs(
            dict(zip(self.coordinates, back, strict=True)), simultaneous=True
        )

    def mapped(self, affine: Affine) -> Shape:
        matrix = affine.matrix @ self.affine.matrix
        offset = affine.points(np.array([self.affine.offset]))[0]
        return Mapped(self.shape, Affine(tuple(map(tuple, matrix.tolist())), tuple(offset.tolist())))

    def __repr__(self) -> str:
        return f"<{self.shape!r}, moved>"
