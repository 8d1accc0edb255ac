"""Bodies enclosed by triangulated surfaces."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from pibls.arrays import Array, Mask, floats
from pibls.errors import ProblemError
from pibls.expressions import Coordinate
from pibls.geometry.affine import Affine
from pibls.geometry.checks.arguments import (
    check_coordinates,
    check_extent,
    check_magnitude,
    check_sign_assumptions,
)
from pibls.geometry.faces.face import Face, rejection_sample
from pibls.geometry.faces.patch import Patch
from pibls.geometry.faces.surface import Surface
from pibls.geometry.shape import Shape
from pibls.runtime.caching import cached_property

_BINS = 64


class TriangleSurface(Surface):
    """A surface of triangles (T, 3, 3); the first parameter selects the triangle and the position in it."""

    def __init__(self, owner: object, triangles: Array) -> None:
        self.owner, self._corners = owner, triangles
        cross = np.cross(triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0])
        doubled = np.linalg.norm(cross, axis=1)
        self._normals = cross / np.maximum(doubled, 1e-300)[:, None]
        self._ends = np.cumsum(doubled) / doubled.sum()

    @cached_property
    def cells(self) -> Array:
        low = np.concatenate([[0.0], self._ends[:-1]])
        first = np.stack([low, self._ends], axis=1)
        return np.stack([first, np.tile([0.0, 1.0], (len(low), 1))], axis=1)

    def cells_near(self, box: Array) -> Array:
        low, high = self._corners.min(axis=1), self._corners.max(axis=1)
        return np.asarray(self.cells[np.all((low <= box[:, 1]) & (high >= box[:, 0]), axis=1)])

    def areas(self, boxes: Array, lengths: Array) -> Array:
        middle = boxes[:, 0].mean(axis=1)
        index = np.minimum(np.searchsorted(self._ends, middle, side="right"), len(self._ends) - 1)
        a, b, c = (self._corners[index] / lengths).transpose(1, 0, 2)
        total = self._ends[index] - np.where(index > 0, self._ends[index - 1], 0.0)
        fraction = (boxes[..., 1] - boxes[..., 0]).prod(axis=1) / np.maximum(total, 1e-300)
        return np.asarray(0.5 * fraction * np.linalg.norm(np.cross(b - a, c - a), axis=1))

    def _locate(self, U: Array) -> tuple[Array, Array, Array]:
        index = np.minimum(np.searchsorted(self._ends, U[:, 0], side="right"), len(self._ends) - 1)
        low = np.where(index > 0, self._ends[index - 1], 0.0)
        s = np.sqrt(np.clip((U[:, 0] - low) / np.maximum(self._ends[index] - low, 1e-300), 0.0, 1.0))
        return index, s, U[:, 1]

    def position(self, U: Array) -> Array:
        index, s, t = self._locate(U)
        a, b, c = self._corners[index].transpose(1, 0, 2)
        s, t = s[:, None], t[:, None]
        return np.asarray(a * (1 - s) + s * (b * (1 - t) + c * t))

    def normal(self, U: Array) -> Array:
        return np.asarray(self._normals[self._locate(U)[0]])


@dataclass(frozen=True, init=False, repr=False, eq=False)
class Solid(Shape):
    """The body enclosed by a triangulated surface, such as one read from an STL file by `pibls.read_shape`.

    Parameters
    ----------
    triangles
        Corners (T, 3, 3), counter-clockwise seen from outside; each edge belongs to two triangles.
    """

    coordinates: tuple[Coordinate, ...]
    triangles: Array = field(hash=False)

    def __init__(self, coordinates: Sequence[Coordinate], triangles: npt.ArrayLike) -> None:
        symbols = check_coordinates(coordinates, "Solid(coordinates)", least=3, most=3)
        try:
            T = np.array(floats(triangles))
        except (TypeError, ValueError):  # rows of different lengths, or not numbers
            T = np.empty(0)
        if T.ndim != 3 or T.shape[1:] != (3, 3) or len(T) < 4 or not np.isfinite(T).all():
            raise ProblemError(
                "Solid(triangles)",
                expected="finite numbers in an array of shape (T, 3, 3), with at least four triangles",
                got=f"shape {T.shape}",
                remedy="Give three corners (x, y, z) for each triangle.",
            )
        check_magnitude(float(T.ravel()[np.abs(T).argmax()]), "Solid(triangles)")
        low = T.reshape(-1, 3).min(axis=0)
        size = float((T.reshape(-1, 3).max(axis=0) - low).max())
        check_extent(size, "Solid(triangles)")
        R = (T - low) / size  # in the unit cube
        area = np.linalg.norm(np.cross(R[:, 1] - R[:, 0], R[:, 2] - R[:, 0]), axis=1)
        T, R = T[area > 1e-14], R[area > 1e-14]
        _check_closed(R)
        object.__setattr__(self, "coordinates", symbols)
        object.__setattr__(self, "triangles", T)
        if self._volume < 0:  # all triangles are oriented inwards
            object.__setattr__(self, "triangles", T[:, ::-1])
        check_sign_assumptions(symbols, self.bounds, "Solid(coordinates)")

    @property
    def _volume(self) -> float:
        T = self.triangles
        return float(np.einsum("ij,ij->i", T[:, 0], np.cross(T[:, 1], T[:, 2])).sum() / 6)

    @cached_property
    def bounds(self) -> tuple[tuple[float, float], ...]:
        P = self.triangles.reshape(-1, 3)
        return tuple(zip(P.min(axis=0).tolist(), P.max(axis=0).tolist(), strict=True))

    @cached_property
    def faces(self) -> tuple[Face, ...]:
        return (Patch(TriangleSurface(self, self.triangles)),)

    def interior(self, n: int, rng: np.random.Generator) -> Array:
        fraction = self._volume / float(np.prod(np.ptp(np.array(self.bounds), axis=1)))
        return rejection_sample(self.contains, np.array(self.bounds), max(fraction, 1e-3), n, rng)

    def contains(self, X: Array) -> Mask:
        """Return which points lie inside, by the winding number of a ray in the direction +z."""
        index, points = self._pairs(X)
        a, b, c = self.triangles[index].transpose(1, 0, 2)
        p = X[points]
        area = _cross(b - a, c - a)
        # Barycentric coordinates of the projection; ties on edges are broken by the orientation.
        u, v, w = _cross(b - p, c - p), _cross(c - p, a - p), _cross(a - p, b - p)
        sign = np.sign(area)
        hit = (area != 0) & (u * sign >= 0) & (v * sign >= 0) & (w * sign > 0)
        with np.errstate(all="ignore"):
            z = (u * a[:, 2] + v * b[:, 2] + w * c[:, 2]) / area
        above = hit & (z >= p[:, 2])
        winding = np.bincount(points[above], weights=sign[above], minlength=len(X))
        return np.asarray(winding > 0.5)

    @cached_property
    def _bins(self) -> tuple[Array, Array, list[Array]]:
        """Origin and cell size of an (x, y) grid, and the triangles that cover each of its cells."""
        low, high = np.array(self.bounds)[:2].T
        size = (high - low) / _BINS
        T = self.triangles[:, :, :2]
        first = np.clip(((T.min(axis=1) - low) / size - 1e-9).astype(int), 0, _BINS - 1)
        last = np.clip(((T.max(axis=1) - low) / size + 1e-9).astype(int), 0, _BINS - 1)
        table: list[list[int]] = [[] for _ in range(_BINS * _BINS)]
        for k, ((i0, j0), (i1, j1)) in enumerate(zip(first.tolist(), last.tolist(), strict=True)):
            for i in range(i0, i1 + 1):
                for j in range(j0, j1 + 1):
                    table[i * _BINS + j].append(k)
        return low, size, [np.array(t, dtype=np.int64) for t in table]

    def _pairs(self, X: Array) -> tuple[Array, Array]:
        """Return index arrays of (triangle, point) pairs whose (x, y) projections may overlap."""
        low, size, table = self._bins
        cell = np.floor((X[:, :2] - low) / size).astype(int)
        outside = np.any((cell < -1) | (cell > _BINS), axis=1)
        cell = np.clip(cell, 0, _BINS - 1)
        number = cell[:, 0] * _BINS + cell[:, 1]
        order = np.argsort(number, kind="stable")
        order = order[~outside[order]]
        triangles, points = [np.empty(0, dtype=np.int64)], [np.empty(0, dtype=np.int64)]
        values, starts = np.unique(number[order], return_index=True)
        parts = np.split(order, starts[1:]) if len(order) else []
        for value, members in zip(values, parts, strict=True):
            cell_triangles = table[value]
            triangles.append(np.tile(cell_triangles, len(members)))
            points.append(np.repeat(members, len(cell_triangles)))
        return np.concatenate(triangles), np.concatenate(points)

    def mapped(self, affine: Affine) -> Shape:
        moved = affine.points(self.triangles.reshape(-1, 3)).reshape(-1, 3, 3)
        return Solid(self.coordinates, moved)

    def __repr__(self) -> str:
        return f"<Solid of ({', '.join(map(str, self.coordinates))}), {len(self.triangles)} triangles>"


def _cross(a: Array, b: Array) -> Array:
    return np.asarray(a[:, 0] * b[:, 1] - a[:, 1] * b[:, 0])


def _check_closed(T: Array) -> None:
    """Raise a ProblemError unless each edge occurs once in each direction and the volume is not zero."""
    points = np.round(T.reshape(-1, 3) / 1e-9).astype(np.int64)
    _, number = np.unique(points, axis=0, return_inverse=True)
    corner = number.reshape(-1, 3)
    a, b = np.concatenate([corner[:, [0, 1]], corner[:, [1, 2]], corner[:, [2, 0]]]).T
    forth, back = np.unique(a * len(points) + b), b * len(points) + a
    open_edges = np.count_nonzero(~np.isin(forth, back))
    if open_edges:
        raise ProblemError(
            "Solid(triangles)",
            expected="a closed surface: each edge in two triangles with consistent orientation",
            got=f"{open_edges} edge(s) with a triangle on one side only",
            remedy="Repair the surface in the program that exported it.",
        )
    volume = np.einsum("ij,ij->i", T[:, 0], np.cross(T[:, 1], T[:, 2])).sum() / 6
    if abs(volume) <= 1e-12:
        raise ProblemError(
            "Solid(triangles)",
            expected="a surface that encloses a volume",
            got=f"{len(T)} triangles that enclose {abs(volume):.1g} of the volume of their bounding cube",
            remedy="Check the coordinates and the orientation of the triangles.",
        )
