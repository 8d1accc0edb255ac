"""Python functions as data of a problem, and their evaluation at points of the closed domain."""

from __future__ import annotations

import inspect
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import sympy as sp

from pibls.arrays import Array, PointFunction
from pibls.errors import ProblemError
from pibls.geometry import Domain, box_of, is_box, space_of, within
from pibls.runtime.pickling import HoldsCallables

_ANCHORS = 64  # interior points, towards the nearest of which a point outside is moved
_HALVINGS = 52
_INWARD_SHIFT = 1e-9  # fraction of the way to the interior; ``contains`` of a disk has a tolerance of 1e-14


@dataclass(frozen=True)
class DataFunction(HoldsCallables):
    """A Python function in an equation, with its symbol and the indices of the coordinates it depends on."""

    symbol: sp.Symbol
    function: PointFunction
    arguments: tuple[int, ...]
    name: str
    breaks: tuple[tuple[int, float], ...] = ()
    """(axis, level) of the planes that the user declared as discontinuities."""
    domain: Domain | None = field(default=None, compare=False, repr=False)
    """The domain in which it may be called; None for everywhere."""


def call_at_points(data_function: DataFunction, X: Array, where: str) -> Array:
    """Return the values of a user's function at the points X (n, d), after checking them.

    Points outside the domain are moved into it first, since analyses sample boxes larger than the domain.
    """
    if data_function.domain is not None:
        X = project_into_domain(data_function.domain, X)
    columns = [
        np.array(X[:, i], dtype=float) for i in data_function.arguments
    ]  # copies, since a function may modify its arguments
    argument = where if data_function.name == "known" else f"{where}: {data_function.name}"
    _check_signature(data_function, columns, argument)
    try:
        value = data_function.function(*columns)
    except Exception as raised:
        raise ProblemError(
            argument,
            expected="a Python function that takes arrays of points of the domain",
            got=f"an exception that this function raised: {type(raised).__name__}: {raised}",
            remedy="It is called with one float array per coordinate, at points of the closed domain. It "
            "must be defined there and use NumPy functions, which work on whole arrays.",
        ) from raised
    return _checked_values(value, len(X), argument)


def _check_signature(data_function: DataFunction, columns: list[Array], argument: str) -> None:
    try:
        signature = inspect.signature(data_function.function)
    except (TypeError, ValueError):
        return  # some built-in callables have no signature
    try:
        signature.bind(*columns)
    except TypeError:
        raise ProblemError(
            argument,
            expected=f"a callable of {len(columns)} coordinate array(s)",
            got=f"one with the signature {signature}",
            remedy="Give it one argument per coordinate of the domain, in the domain's order, the time last.",
        ) from None


def _checked_values(value: npt.ArrayLike, count: int, argument: str) -> Array:
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


def project_into_domain(domain: Domain, X: Array) -> Array:
    """Return X with every point outside the closed domain replaced by a point of its boundary.

    Points outside a box are clipped. For other shapes a point moves along the segment to the nearest of some
    interior points, unless it is on the boundary up to rounding.
    """
    low, high = box_of(domain).T
    X = np.clip(X, low, high)
    if is_box(space_of(domain)):
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
        is_inside = np.asarray(domain.contains(middle), dtype=bool)[:, None]
        a, b = np.where(is_inside, middle, a), np.where(is_inside, b, middle)
    X[outside] = a + _INWARD_SHIFT * (nearest - a)
    return X
