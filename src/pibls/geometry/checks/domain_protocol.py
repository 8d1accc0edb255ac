"""Check that an object implements the `Domain` protocol correctly, so that errors are reported early."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from pibls.arrays import Array, Mask
from pibls.errors import ProblemError
from pibls.geometry.checks.arguments import (
    check_coordinate,
    check_distinct_names,
    check_sign_assumption,
    ordered_ends,
)
from pibls.geometry.protocol import Domain, is_domain
from pibls.geometry.slit import Slit

_TEST_POINTS = 64
_RELATIVE_STEP = 1e-6  # distance of test points from the boundary, relative to the bounds


def check_domain(domain: object, argument: str) -> None:
    """Raise a ProblemError unless ``domain`` implements the `Domain` protocol."""
    if not is_domain(domain):
        raise ProblemError(
            argument,
            expected="a shape such as Interval(x, 0, 1) or Box({x: (0, 1), y: (0, 1)})",
            got=repr(domain),
            remedy="A user-defined shape needs coordinates, bounds, interior, boundary and contains.",
        )
    if isinstance(domain, Slit):
        raise ProblemError(
            argument,
            expected="a shape with a nonempty interior",
            got=f"{domain!r}, which has zero width",
            remedy="Subtract it from a shape: box - slit.",
        )
    for symbol in domain.coordinates:
        check_coordinate(symbol, f"{argument}: coordinates")
    check_distinct_names(domain.coordinates, f"{argument}: coordinates")
    box = _check_bounds(domain, argument)
    for symbol, (low, high) in zip(domain.coordinates, box, strict=True):
        check_sign_assumption(symbol, low, high, f"{argument}: coordinates")
    rng = np.random.default_rng(0)
    _check_interior(domain, box, argument, rng)
    _check_boundary(domain, box, argument, rng)


def _protocol_error(argument: str, member: str, expected: str, got: object) -> ProblemError:
    return ProblemError(
        f"{argument}: {member}",
        expected=expected,
        got=got,
        remedy="See pibls.Domain for the members that a shape must have.",
    )


def _check_bounds(domain: Domain, argument: str) -> Array:
    d = len(domain.coordinates)
    try:
        box = np.asarray(domain.bounds, dtype=float)
    except (TypeError, ValueError):
        box = np.empty(0)
    if d == 0 or box.shape != (d, 2) or not np.isfinite(box).all() or not (box[:, 0] < box[:, 1]).all():
        expected = f"finite ends (low, high) for each of the {d} coordinates"
        raise _protocol_error(argument, "bounds", expected, repr(domain.bounds))
    for low, high in box.tolist():
        ordered_ends(low, high, f"{argument}: bounds")
    return box


def _checked_points(values: npt.ArrayLike, d: int, argument: str, member: str) -> Array:
    try:
        X = np.asarray(values, dtype=float)
    except (TypeError, ValueError):
        X = np.empty(0)
    if X.shape != (_TEST_POINTS, d) or not np.isfinite(X).all():
        got = f"shape {X.shape}" if X.size else repr(values)
        raise _protocol_error(argument, member, f"finite numbers in an array of shape (n, {d})", got)
    return X


def _checked_mask(domain: Domain, X: Array, argument: str) -> Mask:
    mask = np.asarray(domain.contains(X))
    if mask.shape != (len(X),) or mask.dtype != np.bool_:
        got = f"{mask.dtype} of shape {mask.shape}"
        raise _protocol_error(argument, "contains(X)", f"one bool per point, shape ({len(X)},)", got)
    return mask


def _check_interior(domain: Domain, box: Array, argument: str, rng: np.random.Generator) -> None:
    X = _checked_points(domain.interior(_TEST_POINTS, rng), len(box), argument, "interior(n, rng)")
    slack = _RELATIVE_STEP * (box[:, 1] - box[:, 0])
    if not np.all((box[:, 0] - slack <= X) & (box[:, 1] + slack >= X)):
        raise _protocol_error(
            argument, "bounds", "a box that contains the domain", "points of interior(n, rng) outside"
        )
    # Rounding may move single points to the wrong side of the boundary, but not half of them.
    if np.mean(_checked_mask(domain, X, argument)) < 0.5:
        got = "points for which contains(X) is false"
        raise _protocol_error(argument, "interior(n, rng)", "points inside the domain", got)


def _check_boundary(domain: Domain, box: Array, argument: str, rng: np.random.Generator) -> None:
    result = domain.boundary(_TEST_POINTS, rng)
    member = "boundary(n, rng)"
    if not isinstance(result, tuple) or len(result) != 3:
        raise _protocol_error(
            argument, member, "a tuple (points, normals, owners)", repr(type(result).__name__)
        )
    X = _checked_points(result[0], len(box), argument, f"{member}, points")
    normals = _checked_points(result[1], len(box), argument, f"{member}, normals")
    if len(result[2]) != _TEST_POINTS:
        got = f"{len(result[2])} for {_TEST_POINTS} points"
        raise _protocol_error(argument, f"{member}, owners", "the shape that owns each point", got)
    lengths = np.linalg.norm(normals, axis=1)
    if not np.allclose(lengths, 1.0, atol=1e-6):
        worst = lengths[np.argmax(np.abs(lengths - 1.0))]
        raise _protocol_error(
            argument, f"{member}, normals", "unit vectors", f"a vector of length {worst:.3g}"
        )
    step = _RELATIVE_STEP * float((box[:, 1] - box[:, 0]).min()) * normals
    inward = _checked_mask(domain, X + step, argument) & ~_checked_mask(domain, X - step, argument)
    if np.mean(inward) > 0.5:
        raise _protocol_error(
            argument, f"{member}, normals", "normals that point out of the domain", "inward normals"
        )
