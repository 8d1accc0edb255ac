"""Translation, rotation and scaling of shapes, with validation of their arguments."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from pibls.arrays import Array
from pibls.errors import ProblemError
from pibls.expressions import Coordinate, Number
from pibls.geometry.affine import Affine
from pibls.geometry.checks.arguments import format_coordinates, point_of, positive_number, real_number
from pibls.geometry.protocol import box_of
from pibls.geometry.shape import affine_image

if TYPE_CHECKING:
    from pibls.geometry.protocol import Domain
    from pibls.geometry.shape import Shape


def translated(shape: Domain, distances: tuple[Number, ...]) -> Shape:
    """Return the shape translated by ``distances``."""
    names = tuple(shape.coordinates)
    if len(distances) != len(names):
        raise ProblemError(
            "moved(…)",
            expected=f"a distance for each of {format_coordinates(names)}",
            got=f"{len(distances)}",
            remedy=f"Write moved({', '.join('0' for _ in names)}) with your numbers.",
        )
    offset = tuple(real_number(d, "moved(…)") for d in distances)
    return affine_image(shape, Affine(tuple(map(tuple, np.eye(len(names)).tolist())), offset))


def rotated(shape: Domain, angle: Number, center: Sequence[Number] | None, axis: Coordinate | None) -> Shape:
    """Return the shape rotated about a centre in 2D, or about an axis through the centre in 3D."""
    names = tuple(shape.coordinates)
    if len(names) not in (2, 3):
        raise ProblemError(
            "turned(angle)",
            expected="a shape in two or three dimensions",
            got=f"a shape with {format_coordinates(names)}",
            remedy="Build the shape from rotated parts.",
        )
    if len(names) == 3 and axis not in names:
        raise ProblemError(
            "turned(axis)",
            expected=f"the coordinate of the rotation axis, one of {format_coordinates(names)}",
            got=repr(axis),
            remedy=f"Write turned(angle, axis={names[2]}).",
        )
    if len(names) == 2 and axis is not None:
        raise ProblemError(
            "turned(axis)",
            expected="none for a shape in the plane",
            got=repr(axis),
            remedy="Omit axis; center is the point about which the shape is rotated.",
        )
    a = real_number(angle, "turned(angle)")
    c, s = math.cos(a), math.sin(a)
    fixed = None if axis is None else names.index(axis)
    i, j = (0, 1) if fixed is None else ((fixed + 1) % 3, (fixed + 2) % 3)
    matrix = np.eye(len(names))
    matrix[i, i], matrix[i, j], matrix[j, i], matrix[j, j] = c, -s, s, c
    return affine_image(shape, Affine.about(matrix, _center(shape, center, "turned(center)")))


def scaled(shape: Domain, factor: Number | Sequence[Number], center: Sequence[Number] | None) -> Shape:
    """Return the shape scaled about a centre."""
    names = tuple(shape.coordinates)
    if isinstance(factor, Sequence | np.ndarray):
        factors = point_of(factor, names, "scaled(factor)")
    else:
        factors = (real_number(factor, "scaled(factor)"),) * len(names)
    for f in factors:
        positive_number(f, "scaled(factor)")
    return affine_image(shape, Affine.about(np.diag(factors), _center(shape, center, "scaled(center)")))


def _center(shape: Domain, center: Sequence[Number] | None, argument: str) -> Array:
    if center is None:
        return np.asarray(box_of(shape).mean(axis=1))
    return np.array(point_of(center, tuple(shape.coordinates), argument))
