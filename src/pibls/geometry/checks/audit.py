"""A shape asked once, at the door, so that a slip in a user's own class is named and not solved for."""

from __future__ import annotations

from typing import Any

import numpy as np

from pibls.arrays import Array, Mask
from pibls.errors import ProblemError
from pibls.geometry.checks.arguments import coordinate, distinct, ordered, signed
from pibls.geometry.protocol import Domain, is_domain
from pibls.geometry.slit import Slit

_PROBES = 64
_STEP = 1e-6  # how far off the boundary to look, relative to the bounds


def check_domain(domain: Any, argument: str) -> None:
    """Raise a ProblemError unless the object answers as `Domain` says."""
    if not is_domain(domain):
        raise ProblemError(
            argument,
            expected="a shape such as Interval(x, 0, 1) or Box({x: (0, 1), y: (0, 1)})",
            got=repr(domain),
            remedy="A shape of your own needs coordinates, bounds, interior, boundary and contains.",
        )
    if isinstance(domain, Slit):
        raise ProblemError(
            argument,
            expected="a shape with something inside",
            got=f"{domain!r}, which has no width",
            remedy="Take it away from a shape: box - slit.",
        )
    for symbol in domain.coordinates:
        coordinate(symbol, f"{argument}: coordinates")
    distinct(domain.coordinates, f"{argument}: coordinates")
    box = _check_bounds(domain, argument)
    for symbol, (low, high) in zip(domain.coordinates, box, strict=True):
        signed(symbol, low, high, f"{argument}: coordinates")
    rng = np.random.default_rng(0)
    _check_interior(domain, box, argument, rng)
    _check_boundary(domain, box, argument, rng)


def _wrong(argument: str, member: str, expected: str, got: object) -> ProblemError:
    return ProblemError(
        f"{argument}: {member}",
        expected=expected,
        got=got,
        remedy="See pibls.Domain for what a shape must answer.",
    )


def _check_bounds(domain: Domain, argument: str) -> Array:
    d = len(domain.coordinates)
    try:
        box = np.asarray(domain.bounds, dtype=float)
    except (TypeError, ValueError):
        box = np.empty(0)
    if d == 0 or box.shape != (d, 2) or not np.isfinite(box).all() or not (box[:, 0] < box[:, 1]).all():
        expected = f"finite ends (low, high) for each of the {d} coordinates"
        raise _wrong(argument, "bounds", expected, repr(domain.bounds))
    for low, high in box.tolist():
        ordered(low, high, f"{argument}: bounds")
    return box


def _table(values: Any, d: int, argument: str, member: str) -> Array:
    try:
        X = np.asarray(values, dtype=float)
    except (TypeError, ValueError):
        X = np.empty(0)
    if X.shape != (_PROBES, d) or not np.isfinite(X).all():
        got = f"shape {X.shape}" if X.size else repr(values)
        raise _wrong(argument, member, f"finite numbers of the shape (n, {d})", got)
    return X


def _inside(domain: Domain, X: Array, argument: str) -> Mask:
    mask = np.asarray(domain.contains(X))
    if mask.shape != (len(X),) or mask.dtype != np.bool_:
        got = f"{mask.dtype} of the shape {mask.shape}"
        raise _wrong(argument, "contains(X)", f"one bool per point, shape ({len(X)},)", got)
    return mask


def _check_interior(domain: Domain, box: Array, argument: str, rng: np.random.Generator) -> None:
    X = _table(domain.interior(_PROBES, rng), len(box), argument, "interior(n, rng)")
    slack = _STEP * (box[:, 1] - box[:, 0])
    if not np.all((box[:, 0] - slack <= X) & (box[:, 1] + slack >= X)):
        raise _wrong(argument, "bounds", "a box that holds the domain", "points of interior(n, rng) outside")
    # Rounding may put a point on the wrong side of the boundary, but not most of them.
    if np.mean(_inside(domain, X, argument)) < 0.5:
        got = "points for which contains(X) is false"
        raise _wrong(argument, "interior(n, rng)", "points inside the domain", got)


def _check_boundary(domain: Domain, box: Array, argument: str, rng: np.random.Generator) -> None:
    answer = domain.boundary(_PROBES, rng)
    member = "boundary(n, rng)"
    if not isinstance(answer, tuple) or len(answer) != 3:
        raise _wrong(argument, member, "three things: points, normals, owners", repr(type(answer).__name__))
    X = _table(answer[0], len(box), argument, f"{member}, points")
    normals = _table(answer[1], len(box), argument, f"{member}, normals")
    if len(answer[2]) != _PROBES:
        got = f"{len(answer[2])} for {_PROBES} points"
        raise _wrong(argument, f"{member}, owners", "the shape that owns each point", got)
    lengths = np.linalg.norm(normals, axis=1)
    if not np.allclose(lengths, 1.0, atol=1e-6):
        worst = lengths[np.argmax(np.abs(lengths - 1.0))]
        raise _wrong(argument, f"{member}, normals", "unit vectors", f"one of length {worst:.3g}")
    step = _STEP * float((box[:, 1] - box[:, 0]).min()) * normals
    inward = _inside(domain, X + step, argument) & ~_inside(domain, X - step, argument)
    if np.mean(inward) > 0.5:
        raise _wrong(argument, f"{member}, normals", "normals that point out of the domain", "inward ones")
