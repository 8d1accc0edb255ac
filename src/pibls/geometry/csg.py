"""A ∪ B, A ∩ B, A \\ B: shapes from shapes, to any depth."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import sympy as sp

from pibls.arrays import Array, Mask
from pibls.caching import cached_property
from pibls.errors import ProblemError
from pibls.geometry.boxes_met import clusters, points_in_boxes
from pibls.geometry.checks.arguments import mentioned
from pibls.geometry.faces.face import Face, drawn_within
from pibls.geometry.faces.trim import outline, trim
from pibls.geometry.maps import Affine
from pibls.geometry.protocol import Domain, box_of, faces_of, is_domain, leaves_of, time_of
from pibls.geometry.shape import Shape, inside_of, map_of

_APART = 1e-8  # of the size: boxes that are further apart than this have nothing in common


class Combined(Shape):
    """What unions, intersections and differences have in common: the faces of their parts, trimmed."""

    sign = ""
    """As it is written between the parts."""

    def __repr__(self) -> str:
        return f" {self.sign} ".join(map(_bracketed, self.parts))

    @property
    def parts(self) -> tuple[Domain, ...]:
        """The shapes it is made of."""
        raise NotImplementedError

    def contains(self, X: Array) -> Mask:
        """Which points lie inside."""
        raise NotImplementedError

    def _flips(self) -> tuple[bool, ...]:
        """Which of the parts are taken away."""
        return (False,) * len(self.parts)

    def _around(self) -> Array:
        """A box (d, 2) that holds it."""
        raise NotImplementedError

    def _fills(self, number: int, X: Array) -> Mask:
        """Which points are inside whatever that part says: a slit is none there."""
        return np.zeros(len(X), dtype=np.bool_)

    @property
    def coordinates(self) -> tuple[Any, ...]:
        return tuple(self.parts[0].coordinates)

    @property
    def leaves(self) -> tuple[object, ...]:
        return tuple(leaf for part in self.parts for leaf in leaves_of(part))

    def _together(self) -> list[list[int]]:
        """The numbers of the parts, in lists; parts of different lists have nothing to do with each other."""
        return [list(range(len(self.parts)))]

    @cached_property
    def faces(self) -> tuple[Face, ...]:
        parts, flips = self.parts, self._flips()
        found: list[Face] = []
        for numbers in self._together():
            faces = [(face, i) for i in numbers for face in faces_of(parts[i])]
            if len(numbers) == 1 and all(f.has_chart and not f.is_thin for f, _ in faces):
                found += [f for f, _ in faces]  # nothing is near that could cut it
                continue
            candidates = [(face.flipped() if flips[i] else face, i) for face, i in faces]
            found += trim(self, self._around(), candidates, fills=self._fills)
        if not found:
            raise empty(self)
        return tuple(found)

    @cached_property
    def bounds(self) -> tuple[tuple[float, float], ...]:
        return outline(self.faces, self._around())

    @cached_property
    def _share(self) -> float:
        """The share of the bounds that is inside, roughly."""
        low, high = np.array(self.bounds).T
        X = np.random.default_rng(0).uniform(low, high, (4096, len(low)))
        return float(np.mean(self.contains(X)))

    def interior(self, n: int, rng: np.random.Generator) -> Array:
        found = drawn_within(self.contains, np.array(self.bounds), max(self._share, 1e-3), n, rng)
        if len(found) < n:
            raise empty(self)
        return found


def empty(shape: Any) -> ProblemError:
    """Nothing is left of it."""
    return ProblemError(
        "domain",
        expected="a shape with something inside",
        got=f"{shape!r}, which is empty",
        remedy="Check the places and sizes of its parts: nothing is left of them.",
    )


@dataclass(frozen=True, repr=False)
class _Alike(Combined):
    """Of shapes that all count in the same way."""

    shapes: tuple[Domain, ...]

    @property
    def parts(self) -> tuple[Domain, ...]:
        return self.shapes

    @cached_property
    def _boxes(self) -> tuple[Array, Array]:
        boxes = np.array([box_of(s) for s in self.shapes])
        return boxes[..., 0], boxes[..., 1]

    def mapped(self, affine: Affine) -> Shape:
        return type(self)(tuple(map_of(s, affine) for s in self.shapes))


@dataclass(frozen=True, repr=False)
class Union(_Alike):
    """A ∪ B ∪ …: what lies in any of the shapes. Written ``a | b``."""

    sign = "|"

    def contains(self, X: Array) -> Mask:
        return self._contained(X, None)

    def _fills(self, number: int, X: Array) -> Mask:
        return self._contained(X, number)

    def _contained(self, X: Array, but: int | None) -> Mask:
        """Which points lie in one of the shapes, one of them left out; each shape sees those in its box."""
        inside = np.zeros(len(X), dtype=np.bool_)
        low, high = self._boxes
        slack = _APART * np.maximum(high - low, np.maximum(np.abs(low), np.abs(high)))
        for i, near in points_in_boxes(low - slack, high + slack, X):
            left = near[~inside[near]]
            if i != but and len(left):
                inside[left] = np.asarray(self.shapes[i].contains(X[left]), dtype=np.bool_)
        return inside

    @cached_property
    def bounds(self) -> tuple[tuple[float, float], ...]:
        low, high = self._around().T.tolist()
        return tuple(zip(low, high, strict=True))

    def _together(self) -> list[list[int]]:
        around = self._around()
        slack = _APART * (around[:, 1] - around[:, 0])
        low, high = self._boxes
        return clusters(low - slack, high + slack)

    def _around(self) -> Array:
        low, high = self._boxes
        return np.stack([low.min(axis=0), high.max(axis=0)], axis=1)

    @property
    def inside(self) -> Any:
        return sp.Or(*(inside_of(s) for s in self.shapes))


@dataclass(frozen=True, repr=False)
class Intersection(_Alike):
    """A ∩ B ∩ …: what lies in all of the shapes. Written ``a & b``."""

    sign = "&"

    def __post_init__(self) -> None:
        box = self._around()
        if not np.all(box[:, 0] < box[:, 1]):
            raise empty(self)

    def contains(self, X: Array) -> Mask:
        return np.asarray(np.logical_and.reduce([np.asarray(s.contains(X)) for s in self.shapes]))

    def _around(self) -> Array:
        low, high = self._boxes
        return np.stack([low.max(axis=0), high.min(axis=0)], axis=1)

    @property
    def inside(self) -> Any:
        return sp.And(*(inside_of(s) for s in self.shapes))


@dataclass(frozen=True, repr=False)
class Difference(Combined):
    """A \\ (B ∪ …): what of a body holes leave over. Written ``a - b``."""

    body: Domain
    holes: tuple[Domain, ...]
    sign = "-"

    @property
    def parts(self) -> tuple[Domain, ...]:
        return (self.body, *self.holes)

    def _flips(self) -> tuple[bool, ...]:
        return (False, *(True for _ in self.holes))

    def contains(self, X: Array) -> Mask:
        inside = np.array(self.body.contains(X), dtype=np.bool_)
        for i, near in points_in_boxes(*self._hole_boxes, X):  # most points are far from most holes
            left = near[inside[near]]
            if len(left):
                inside[left] = ~np.asarray(self.holes[i].contains(X[left]), dtype=np.bool_)
        return inside

    @cached_property
    def _hole_boxes(self) -> tuple[Array, Array]:
        boxes = np.array([box_of(hole) for hole in self.holes])
        return boxes[..., 0], boxes[..., 1]

    def _around(self) -> Array:
        return box_of(self.body)

    @property
    def inside(self) -> Any:
        return sp.And(inside_of(self.body), *(sp.Not(inside_of(h)) for h in self.holes))

    def mapped(self, affine: Affine) -> Shape:
        return Difference(map_of(self.body, affine), tuple(map_of(h, affine) for h in self.holes))


def combined(shape: object) -> Combined | None:
    """A shape itself, if it is written as one that is made of others."""
    return shape if isinstance(shape, Combined) and shape.sign else None


def _bracketed(shape: object) -> str:
    return repr(shape) if combined(shape) is None else f"({shape!r})"


def combine(sign: str, a: Any, b: Any) -> Any:
    """a | b, a & b or a - b, as flat as can be; NotImplemented where one of them is no shape."""
    if not (is_domain(a) and is_domain(b)):
        return NotImplemented
    for shape in (a, b):
        if time_of(shape) is not None:
            raise ProblemError(
                f"a {sign} b",
                expected="shapes in space",
                got=f"{shape!r}, which has a time",
                remedy=f"Join the shapes first, and add time to the result: (a {sign} b).during(t, 0, 1).",
            )
    if tuple(a.coordinates) != tuple(b.coordinates):
        raise ProblemError(
            f"a {sign} b",
            expected=f"two shapes of the same coordinates, {mentioned(a.coordinates)}",
            got=f"one of {mentioned(b.coordinates)}",
            remedy="Use the same symbols, in the same order, for both.",
        )
    if sign == "-":
        holes = (*a.holes, b) if isinstance(a, Difference) else (b,)
        return Difference(a.body if isinstance(a, Difference) else a, holes)
    kind = Union if sign == "|" else Intersection
    shapes = tuple(s for part in (a, b) for s in (part.shapes if isinstance(part, kind) else (part,)))
    return kind(shapes)
