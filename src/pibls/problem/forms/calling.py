"""f(x): calls of Python functions, with float arrays and inside the closed domain only."""

from __future__ import annotations

import inspect
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pibls.arrays import Array, PointFunction
from pibls.errors import ProblemError
from pibls.geometry import Domain, box_of, has_sides, space_of, within
from pibls.pickling import HoldsCallables

_ANCHORS = 64  # interior points; a point outside is moved towards the nearest of them
_HALVINGS = 52
_WITHIN = 1e-9  # of the way to the interior: ``contains`` of a disk has a tolerance of 1e-14


@dataclass(frozen=True)
class Datum(HoldsCallables):
    """A Python function in an equation: its symbol, and the coordinates it is called with."""

    symbol: Any
    function: PointFunction
    arguments: tuple[int, ...]
    name: str
    breaks: tuple[tuple[int, float], ...] = ()
    """(axis, level) of the planes where the user says that it jumps or bends."""
    domain: Domain | None = field(default=None, compare=False, repr=False)
    """Where it may be called; anywhere if None."""


def call_at_points(datum: Datum, X: Array, where: str) -> Array:
    """The values of a user's function at the points X (n, d), checked.

    Points outside the domain are moved into it first: analyses sample boxes that are larger than the domain.
    """
    if datum.domain is not None:
        X = moved_inside(datum.domain, X)
    columns = [np.array(X[:, i], dtype=float) for i in datum.arguments]  # copies: a function may write
    argument = where if datum.name == "known" else f"{where}: {datum.name}"
    _check_signature(datum, columns, argument)
    try:
        value = datum.function(*columns)
    except Exception as raised:
        raise ProblemError(
            argument,
            expected="a Python function that takes arrays of points of the domain",
            got=f"an exception that this function raised: {type(raised).__name__}: {raised}",
            remedy="It is called with one float array per coordinate, at points of the closed domain only: "
            "cover all of that, with NumPy functions, which work on whole arrays.",
        ) from raised
    return _checked_values(value, len(X), argument)


def _check_signature(datum: Datum, columns: list[Array], argument: str) -> None:
    try:
        signature = inspect.signature(datum.function)
    except (TypeError, ValueError):
        return  # some built-in callables have none
    try:
        signature.bind(*columns)
    except TypeError:
        raise ProblemError(
            argument,
            expected=f"a callable of {len(columns)} coordinate array(s)",
            got=f"one with the signature {signature}",
            remedy="Give it one argument per coordinate of the domain, in the domain's order, the time last.",
        ) from None


def _checked_values(value: Any, count: int, argument: str) -> Array:
    try:
        array = np.asarray(value)
        if array.dtype.kind not in "fiubO":
            raise TypeError(f"values of the type {array.dtype}")
        array = array.astype(float)
    except (TypeError, ValueError) as problem:
        raise ProblemError(
            argument,
            expected="a callable that takes arrays and returns real numbers",
            got=f"{type(problem).__name__}: {problem}",
            remedy="Write it with NumPy functions, which work on whole arrays.",
        ) from problem
    if array.shape not in ((), (1,), (count,)):
        raise ProblemError(
            argument,
            expected=f"values of the shape ({count},), one per point",
            got=f"shape {array.shape}",
            remedy="Return one number per point, or a single number.",
        )
    return np.broadcast_to(array, (count,))


def moved_inside(domain: Domain, X: Array) -> Array:
    """X with every point outside the closed domain replaced by one of its boundary points.

    A point of a box is clipped. In any other shape it moves along the segment to the nearest of some interior
    points, unless it lies on the boundary already, but for rounding.
    """
    low, high = box_of(domain).T
    X = np.clip(X, low, high)
    if has_sides(space_of(domain)):
        return X
    outside = np.flatnonzero(~within(domain, X))
    if not len(outside):
        return X
    anchors = np.asarray(domain.interior(_ANCHORS, np.random.default_rng(0)), dtype=float)
    distance = (X[outside, None] - anchors) / (high - low)
    nearest = anchors[np.argmin(np.einsum("naj,naj->na", distance, distance), axis=1)]
    a, b = nearest, X[outside]
    for _ in range(_HALVINGS):
        middle = 0.5 * (a + b)
        held = np.asarray(domain.contains(middle), dtype=bool)[:, None]
        a, b = np.where(held, middle, a), np.where(held, b, middle)
    X[outside] = a + _WITHIN * (nearest - a)
    return X
