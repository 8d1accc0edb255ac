"""x ↦ x + d, c + R (x - c), c + s (x - c): what moves, turns and scales shapes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from pibls.arrays import Array
from pibls.errors import ProblemError
from pibls.geometry.checks.arguments import mentioned, place_of, positive, real_number
from pibls.geometry.maps import Affine
from pibls.geometry.protocol import box_of
from pibls.geometry.shape import map_of


def moved(shape: Any, distances: tuple[Any, ...]) -> Any:
    """The shape, ``distances`` further."""
    names = tuple(shape.coordinates)
    if len(distances) != len(names):
        raise ProblemError(
            "moved(…)",
            expected=f"a distance for each of {mentioned(names)}",
            got=f"{len(distances)}",
            remedy=f"Write moved({', '.join('0' for _ in names)}) with your numbers.",
        )
    offset = tuple(real_number(d, "moved(…)") for d in distances)
    return map_of(shape, Affine(tuple(map(tuple, np.eye(len(names)).tolist())), offset))


def turned(shape: Any, angle: Any, center: Any, axis: Any) -> Any:
    """The shape, turned about a center; a body, about an axis through it."""
    names = tuple(shape.coordinates)
    if len(names) not in (2, 3):
        raise ProblemError(
            "turned(angle)",
            expected="a shape in the plane or a body in space",
            got=f"one of {mentioned(names)}",
            remedy="Leave it as it is, or build it from turned parts.",
        )
    if len(names) == 3 and axis not in names:
        raise ProblemError(
            "turned(axis)",
            expected=f"the coordinate about which to turn, one of {mentioned(names)}",
            got=repr(axis),
            remedy=f"Write turned(angle, axis={names[2]}).",
        )
    if len(names) == 2 and axis is not None:
        raise ProblemError(
            "turned(axis)",
            expected="none for a shape in the plane",
            got=repr(axis),
            remedy="Leave axis out; center says about which point to turn.",
        )
    a = real_number(angle, "turned(angle)")
    c, s = math.cos(a), math.sin(a)
    fixed = None if axis is None else names.index(axis)
    i, j = (0, 1) if fixed is None else ((fixed + 1) % 3, (fixed + 2) % 3)
    matrix = np.eye(len(names))
    matrix[i, i], matrix[i, j], matrix[j, i], matrix[j, j] = c, -s, s, c
    return map_of(shape, Affine.about(matrix, _center(shape, center, "turned(center)")))


def scaled(shape: Any, factor: Any, center: Any) -> Any:
    """The shape, larger or smaller."""
    names = tuple(shape.coordinates)
    if np.ndim(factor):
        factors = place_of(factor, names, "scaled(factor)")
    else:
        factors = (real_number(factor, "scaled(factor)"),) * len(names)
    for f in factors:
        positive(f, "scaled(factor)")
    return map_of(shape, Affine.about(np.diag(factors), _center(shape, center, "scaled(center)")))


def _center(shape: Any, center: Any, argument: str) -> Array:
    if center is None:
        return np.asarray(box_of(shape).mean(axis=1))
    return np.array(place_of(center, tuple(shape.coordinates), argument))
