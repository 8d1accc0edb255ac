"""Faces x_axis = level of axis-parallel boxes."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from pibls.arrays import Array, Mask, Rng
from pibls.geometry.affine import Affine
from pibls.geometry.faces.arc import Arc
from pibls.geometry.faces.face import ON_FACE_TOLERANCE, Boundary, BoundaryFilter, Face, face_intervals
from pibls.geometry.faces.patch import Patch
from pibls.geometry.faces.polyline import Polyline
from pibls.geometry.faces.surface import FaceSurface


@dataclass(frozen=True)
class FlatFace:
    """The face x_axis = bounds[axis][side] of an axis-parallel box; with ``flip``, its normal is reversed."""

    owner: object
    bounds: tuple[tuple[float, float], ...]
    axis: int
    side: int
    flip: bool = False

    has_chart = True
    is_closed = False
    is_slit_side = False

    @property
    def dimension(self) -> int:
        return len(self.bounds) - 1

    @property
    def level(self) -> float:
        """The coordinate of the face along its axis."""
        return self.bounds[self.axis][self.side]

    def at(self, U: Array, rng: Rng | None = None) -> Boundary:
        n, d = len(U), len(self.bounds)
        other_axes = [i for i in range(d) if i != self.axis]
        X = np.empty((n, d))
        X[:, self.axis] = self.level
        for column, i in enumerate(other_axes):
            low, high = self.bounds[i]
            u = U[:, column]
            # This form, unlike low + (high - low) u, gives both ends exactly.
            X[:, i] = low * (1.0 - u) + high * u
        return Boundary(X, self.normals(X), (self.owner,) * n)

    def normals(self, X: Array) -> Array:
        out = np.zeros((len(X), len(self.bounds)))
        out[:, self.axis] = 1.0 if self.side != self.flip else -1.0
        return out

    def measure(self, lengths: Array) -> float:
        sides = [(b - a) / lengths[i] for i, (a, b) in enumerate(self.bounds) if i != self.axis]
        return math.prod(map(float, sides))

    def touches(self, X: Array, tolerance: Array) -> Mask:
        low, high = np.array(self.bounds).T
        inside = np.all((low - tolerance <= X) & (high + tolerance >= X), axis=1)
        on = np.abs(X[:, self.axis] - self.level) <= tolerance[self.axis]
        return np.asarray(inside & on, dtype=np.bool_)

    def plane(self) -> tuple[int, float] | None:
        return self.axis, self.level

    def clipped(self, box: Array) -> tuple[Face, ...]:
        slack = ON_FACE_TOLERANCE * (box[:, 1] - box[:, 0])
        inward = self.level + (-2.0 if self.side != self.flip else 2.0) * slack[self.axis]
        if not box[self.axis, 0] - slack[self.axis] <= inward <= box[self.axis, 1] + slack[self.axis]:
            return ()
        ends = []
        for i, (low, high) in enumerate(self.bounds):
            a, b = (low, high) if i == self.axis else (max(low, box[i, 0]), min(high, box[i, 1]))
            if b - a <= slack[i]:
                return ()
            ends.append((float(a), float(b)))
        return (replace(self, bounds=tuple(ends)),)

    def dense_points(self) -> Array:
        n = {0: 1, 1: 65, 2: 17}.get(self.dimension, 4)
        grids = np.meshgrid(*(np.linspace(0.0, 1.0, n),) * self.dimension, indexing="ij")
        U = np.stack(grids, axis=-1).reshape(-1, self.dimension) if grids else np.empty((1, 0))
        return self.at(U).points

    def trimmed(self, keep: BoundaryFilter, near: Array) -> tuple[Face, ...]:
        if self.dimension == 0:
            return (self,) if keep(self.at(np.empty((1, 0))))[0] else ()
        if self.dimension > 1:
            patch = Patch(FaceSurface(self, flip=self.flip), self.flip)
            found = patch.trimmed(keep, near)
            return (self,) if found == (patch,) else found
        other_axis = 1 - self.axis
        low, high = self.bounds[other_axis]
        parameters = (near[:, other_axis] - low) / (high - low)
        parameters = np.concatenate(
            [np.linspace(0.0, 1.0, 129), parameters[(parameters > 0) & (parameters < 1)]]
        )
        out = []
        for start, stop in face_intervals(self, np.unique(parameters), keep):
            ends = (low * (1.0 - start) + high * start, low * (1.0 - stop) + high * stop)
            bounds = tuple(ends if i == other_axis else b for i, b in enumerate(self.bounds))
            out.append(replace(self, bounds=bounds))
        return tuple(out)

    def flipped(self) -> FlatFace:
        return replace(self, flip=not self.flip)

    def mapped(self, affine: Affine, owner: object) -> Face:
        if affine.is_diagonal:
            ends = affine.points(np.array(self.bounds).T).T
            return replace(self, owner=owner, bounds=tuple((float(a), float(b)) for a, b in ends))
        if self.dimension > 1:
            return Patch(FaceSurface(self, flip=self.flip), self.flip).mapped(affine, owner)
        X = self.at(np.array([[0.0], [1.0]])).points
        # Counter-clockwise around the box: to the right at the bottom, up on the right, and so on.
        forward = (self.axis == 1) != bool(self.side)
        return Arc(Polyline(owner, affine.points(X if forward else X[::-1]), closed=False), flip=self.flip)
