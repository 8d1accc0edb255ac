"""Constructive solid geometry: unions A ∪ B, intersections A ∩ B and differences A \\ B of shapes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import sympy as sp

from pibls.arrays import Array, Mask
from pibls.errors import ProblemError
from pibls.expressions import Coordinate, Logical
from pibls.geometry.affine import Affine
from pibls.geometry.box_overlap import overlap_clusters, points_in_boxes
from pibls.geometry.checks.arguments import format_coordinates
from pibls.geometry.faces.face import Face, rejection_sample
from pibls.geometry.faces.trimming import faces_bounds, trim_faces
from pibls.geometry.protocol import Domain, box_of, faces_of, leaves_of, time_of
from pibls.geometry.shape import Shape, affine_image, inside_condition
from pibls.runtime.caching import cached_property

_RELATIVE_SLACK = 1e-8  # of the size of a box: boxes further apart than this are disjoint


class Combined(Shape):
    """Base class of unions, intersections and differences: its faces are the trimmed faces of its parts."""

    operator = ""
    """The Python operator that is written between the parts."""

    def __repr__(self) -> str:
        return f" {self.operator} ".join(map(_parenthesized, self.parts))

    @property
    def parts(self) -> tuple[Domain, ...]:
        """The shapes that are combined."""
        raise NotImplementedError

    def contains(self, X: Array) -> Mask:
        """Return which points X (n, d) lie inside."""
        raise NotImplementedError

    def _is_subtracted(self) -> tuple[bool, ...]:
        """Return, for each part, whether it is subtracted."""
        return (False,) * len(self.parts)

    def _bounding_box(self) -> Array:
        """Return a box (d, 2) that contains the shape."""
        raise NotImplementedError

    def _covered_by_others(self, number: int, X: Array) -> Mask:
        """Return which points X lie in other parts than ``number``, whose slits have no effect there."""
        return np.zeros(len(X), dtype=np.bool_)

    @property
    def coordinates(self) -> tuple[Coordinate, ...]:
        return tuple(self.parts[0].coordinates)

    @property
    def leaves(self) -> tuple[object, ...]:
        return tuple(leaf for part in self.parts for leaf in leaves_of(part))

    def _part_groups(self) -> list[list[int]]:
        """Return the indices of the parts in groups; parts of different groups do not meet."""
        return [list(range(len(self.parts)))]

    @cached_property
    def faces(self) -> tuple[Face, ...]:
        parts, flips = self.parts, self._is_subtracted()
        found: list[Face] = []
        for numbers in self._part_groups():
            faces = [(face, i) for i in numbers for face in faces_of(parts[i])]
            if len(numbers) == 1 and all(f.has_chart and not f.is_slit_side for f, _ in faces):
                found += [f for f, _ in faces]  # no other part is near enough to trim it
                continue
            candidates = [(face.flipped() if flips[i] else face, i) for face, i in faces]
            found += trim_faces(self, self._bounding_box(), candidates, fills=self._covered_by_others)
        if not found:
            raise empty_shape_error(self)
        return tuple(found)

    @cached_property
    def bounds(self) -> tuple[tuple[float, float], ...]:
        return faces_bounds(self.faces, self._bounding_box())

    @cached_property
    def _volume_fraction(self) -> float:
        """The approximate fraction of the bounding box that lies inside."""
        low, high = np.array(self.bounds).T
        X = np.random.default_rng(0).uniform(low, high, (4096, len(low)))
        return float(np.mean(self.contains(X)))

    def interior(self, n: int, rng: np.random.Generator) -> Array:
        found = rejection_sample(
            self.contains, np.array(self.bounds), max(self._volume_fraction, 1e-3), n, rng
        )
        if len(found) < n:
            raise empty_shape_error(self)
        return found


def empty_shape_error(shape: object) -> ProblemError:
    """Return the error for a shape without interior points."""
    return ProblemError(
        "domain",
        expected="a shape with a nonempty interior",
        got=f"{shape!r}, which is empty",
        remedy="Check the positions and sizes of its parts.",
    )


@dataclass(frozen=True, repr=False)
class _CommutativeCombination(Combined):
    """A combination in which the order of the shapes does not matter."""

    shapes: tuple[Domain, ...]

    @property
    def parts(self) -> tuple[Domain, ...]:
        return self.shapes

    @cached_property
    def _boxes(self) -> tuple[Array, Array]:
        boxes = np.array([box_of(s) for s in self.shapes])
        return boxes[..., 0], boxes[..., 1]

    def mapped(self, affine: Affine) -> Shape:
        return type(self)(tuple(affine_image(s, affine) for s in self.shapes))


@dataclass(frozen=True, repr=False)
class Union(_CommutativeCombination):
    """The union A ∪ B ∪ … of shapes, written ``a | b``."""

    operator = "|"

    def contains(self, X: Array) -> Mask:
        return self._contained(X, None)

    def _covered_by_others(self, number: int, X: Array) -> Mask:
        return self._contained(X, number)

    def _contained(self, X: Array, excluded: int | None) -> Mask:
        """Return which points lie in a shape other than ``excluded``; each tests only points in its box."""
        inside = np.zeros(len(X), dtype=np.bool_)
        low, high = self._boxes
        slack = _RELATIVE_SLACK * np.maximum(high - low, np.maximum(np.abs(low), np.abs(high)))
        for i, near in points_in_boxes(low - slack, high + slack, X):
            remaining = near[~inside[near]]
            if i != excluded and len(remaining):
                inside[remaining] = np.asarray(self.shapes[i].contains(X[remaining]), dtype=np.bool_)
        return inside

    @cached_property
    def bounds(self) -> tuple[tuple[float, float], ...]:
        low, high = self._bounding_box().T.tolist()
        return tuple(zip(low, high, strict=True))

    def _part_groups(self) -> list[list[int]]:
        box = self._bounding_box()
        slack = _RELATIVE_SLACK * (box[:, 1] - box[:, 0])
        low, high = self._boxes
        return overlap_clusters(low - slack, high + slack)

    def _bounding_box(self) -> Array:
        low, high = self._boxes
        return np.stack([low.min(axis=0), high.max(axis=0)], axis=1)

    @property
    def inside(self) -> Logical:
        return sp.Or(*(inside_condition(s) for s in self.shapes))


@dataclass(frozen=True, repr=False)
class Intersection(_CommutativeCombination):
    """The intersection A ∩ B ∩ … of shapes, written ``a & b``."""

    operator = "&"

    def __post_init__(self) -> None:
        box = self._bounding_box()
        if not np.all(box[:, 0] < box[:, 1]):
            raise empty_shape_error(self)

    def contains(self, X: Array) -> Mask:
        return np.asarray(np.logical_and.reduce([np.asarray(s.contains(X)) for s in self.shapes]))

    def _bounding_box(self) -> Array:
        low, high = self._boxes
        return np.stack([low.max(axis=0), high.min(axis=0)], axis=1)

    @property
    def inside(self) -> Logical:
        return sp.And(*(inside_condition(s) for s in self.shapes))


@dataclass(frozen=True, repr=False)
class Difference(Combined):
    """The difference A \\ (B ∪ …) of a body and holes, written ``a - b``."""

    body: Domain
    holes: tuple[Domain, ...]
    operator = "-"

    @property
    def parts(self) -> tuple[Domain, ...]:
        return (self.body, *self.holes)

    def _is_subtracted(self) -> tuple[bool, ...]:
        return (False, *(True for _ in self.holes))

    def contains(self, X: Array) -> Mask:
        inside = np.array(self.body.contains(X), dtype=np.bool_)
        for i, near in points_in_boxes(*self._hole_boxes, X):  # most points are far from most holes
            remaining = near[inside[near]]
            if len(remaining):
                inside[remaining] = ~np.asarray(self.holes[i].contains(X[remaining]), dtype=np.bool_)
        return inside

    @cached_property
    def _hole_boxes(self) -> tuple[Array, Array]:
        boxes = np.array([box_of(hole) for hole in self.holes])
        return boxes[..., 0], boxes[..., 1]

    def _bounding_box(self) -> Array:
        return box_of(self.body)

    @property
    def inside(self) -> Logical:
        return sp.And(inside_condition(self.body), *(sp.Not(inside_condition(h)) for h in self.holes))

    def mapped(self, affine: Affine) -> Shape:
        return Difference(affine_image(self.body, affine), tuple(affine_image(h, affine) for h in self.holes))


def as_combined(shape: object) -> Combined | None:
    """Return the shape if it is a union, intersection or difference, else None."""
    return shape if isinstance(shape, Combined) and shape.operator else None


def _parenthesized(shape: object) -> str:
    return repr(shape) if as_combined(shape) is None else f"({shape!r})"


def combine(operator: str, a: Domain, b: Domain) -> Shape:
    """Return ``a | b``, ``a & b`` or ``a - b`` of two domains, flattened."""
    for shape in (a, b):
        if time_of(shape) is not None:
            raise ProblemError(
                f"a {operator} b",
                expected="shapes without a time coordinate",
                got=f"{shape!r}, which has a time coordinate",
                remedy=f"Combine the shapes first, then add time: (a {operator} b).during(t, 0, 1).",
            )
    if tuple(a.coordinates) != tuple(b.coordinates):
        raise ProblemError(
            f"a {operator} b",
            expected=f"two shapes with the same coordinates, {format_coordinates(a.coordinates)}",
            got=f"a shape with {format_coordinates(b.coordinates)}",
            remedy="Use the same symbols in the same order for both shapes.",
        )
    if operator == "-":
        holes = (*a.holes, b) if isinstance(a, Difference) else (b,)
        return Difference(a.body if isinstance(a, Difference) else a, holes)
    kind = Union if operator == "|" else Intersection
    shapes = tuple(s for part in (a, b) for s in (part.shapes if isinstance(part, kind) else (part,)))
    return kind(shapes)
