r"""The boundary of a domain in a box, from ``contains`` only: crossings of grid lines, found by bisection.

A shape that only samples its boundary at random may have no sample in a small cell. Lines parallel to the
axes are intersected with the boundary to rounding; two neighbouring crossings in each tangential direction
give the normal.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pibls.arrays import Array, Mask
from pibls.geometry.faces.face import Boundary, bisect

if TYPE_CHECKING:
    from pibls.geometry.protocol import Domain

_LINES_PER_AXIS = {2: 64, 3: 18}  # per transverse direction
_SAMPLES_PER_LINE = 12  # thinner features may be missed
_OVERHANG = 0.01  # of the box: lines extend beyond it, so that a boundary along its side is crossed
_MIN_COSINE = 0.5  # between axis and normal: other crossings are left to the lines of another axis
_NORMAL_STEP = 1e-3  # of the box: distance of the neighbouring crossings
_SEARCH_STEPS = 4.0
_MAX_SLOPE_JUMP = 0.02  # a larger difference of the slopes on both sides is a corner
_NEAREST_POINTS = 32  # known boundary points that are compared with a crossing
_NORMAL_TOLERANCE = 1e-3  # between the normals of a crossing and of known points on the same face
_PLANE_TOLERANCE = 1e-12  # between known points of one plane
_MAX_OFFSET = 1e-8  # of the domain: tolerance that ``contains`` may have


_Inside = Callable[[Array], Mask]


class Crossings(NamedTuple):
    """Boundary points and normals (n, d), and the boundary measure that each represents (n,)."""

    points: Array
    normals: Array
    sizes: Array


def boundary_crossings(domain: Domain, box: Array) -> Crossings:
    """Return roughly evenly distributed boundary points in a slightly enlarged box (d, 2)."""
    low, lengths = box[:, 0], box[:, 1] - box[:, 0]
    d = len(box)

    def inside(U: Array) -> Mask:
        return np.asarray(domain.contains(low + lengths * U), dtype=np.bool_)

    k = _LINES_PER_AXIS[d]
    ticks = (np.arange(k) + 0.5) / k
    across = np.stack(np.meshgrid(*(ticks,) * (d - 1), indexing="ij"), -1).reshape(-1, d - 1)
    points, normals = [np.empty((0, d))], [np.empty((0, d))]
    for axis in range(d):
        U, leaves = _line_crossings(inside, axis, across)
        n, valid = _normals(inside, axis, U, leaves)
        valid &= np.abs(n[:, axis]) >= _MIN_COSINE
        points.append(U[valid])
        normals.append(n[valid])
    U, n = np.concatenate(points), np.concatenate(normals)
    size = np.abs(n)
    sizes = 1.0 / (len(across) * np.where(size >= _MIN_COSINE, size, 0.0).sum(axis=1))
    # From units of the box to coordinates: n ↦ n/L, dA ↦ dA |n/L| ΠL.
    n = n / lengths
    stretch = np.linalg.norm(n, axis=1)
    return Crossings(low + lengths * U, n / stretch[:, None], sizes * stretch * np.prod(lengths))


def _line_crossings(inside: _Inside, axis: int, across: Array) -> tuple[Array, Array]:
    """Return where lines along an axis cross the boundary, and 1 where they leave, -1 where they enter."""
    d = across.shape[1] + 1
    s = np.concatenate(
        [[-_OVERHANG], (np.arange(_SAMPLES_PER_LINE) + 0.5) / _SAMPLES_PER_LINE, [1.0 + _OVERHANG]]
    )
    U = np.empty((len(across), len(s), d))
    U[..., [i for i in range(d) if i != axis]] = across[:, None, :]
    U[..., axis] = s
    is_inside = inside(U.reshape(-1, d)).reshape(U.shape[:2])
    lines, steps = np.nonzero(is_inside[:, 1:] != is_inside[:, :-1])
    found = U[lines, steps]
    found[:, axis] = _bisect_along(inside, axis, found, s[steps], s[steps + 1], is_inside[lines, steps])
    return found, np.where(is_inside[lines, steps], 1.0, -1.0)


def _bisect_along(inside: _Inside, axis: int, U: Array, a: Array, b: Array, starts_inside: Mask) -> Array:
    """Return the crossing between a and b, on its inner side; ``starts_inside`` is whether a is inside."""
    U = U.copy()

    def same(c: Array) -> Mask:
        U[:, axis] = c
        return np.asarray(inside(U) == starts_inside)

    return np.where(starts_inside, *bisect(same, a, b))


def _normals(inside: _Inside, axis: int, U: Array, leaves: Array) -> tuple[Array, Mask]:
    """Return outward normals from neighbouring crossings, and which are valid (no corner nearby)."""
    n = np.zeros_like(U)
    n[:, axis] = 1.0
    valid = np.ones(len(U), dtype=np.bool_)
    starts_inside = leaves > 0
    for j in range(U.shape[1]):
        if j == axis or not len(U):
            continue
        slopes = []
        for sign in (1.0, -1.0):
            shifted = U.copy()
            shifted[:, j] += sign * _NORMAL_STEP
            ends = [U[:, axis] - _SEARCH_STEPS * _NORMAL_STEP, U[:, axis] + _SEARCH_STEPS * _NORMAL_STEP]
            for end, expected in zip(ends, (starts_inside, ~starts_inside), strict=True):
                shifted[:, axis] = end
                valid &= inside(shifted) == expected
            crossing = _bisect_along(inside, axis, shifted, ends[0], ends[1], starts_inside)
            slopes.append(sign * (crossing - U[:, axis]) / _NORMAL_STEP)
        valid &= np.abs(slopes[0] - slopes[1]) <= _MAX_SLOPE_JUMP
        n[:, j] = -0.5 * (slopes[0] + slopes[1])
    n *= leaves[:, None]
    return n / np.linalg.norm(n, axis=1, keepdims=True), valid


def with_known_planes(crossings: Crossings, known: Boundary, extent: float) -> tuple[Boundary, Array]:
    """Return the crossings as a `Boundary` with owners of the nearest known points, and their measures.

    Where the known points lie in a plane, crossings are projected onto it, since ``contains`` may have a
    tolerance.
    """
    from scipy.spatial import cKDTree

    k = min(_NEAREST_POINTS, len(known.points))
    near = cKDTree(known.points).query(crossings.points, k=k)[1].reshape(len(crossings.points), k)
    X, n = crossings.points.copy(), crossings.normals.copy()
    near_points, near_normals = known.points[near], known.normals[near]
    same_face = np.linalg.norm(near_normals - n[:, None, :], axis=2) < _NORMAL_TOLERANCE
    rows = np.arange(len(X))
    q, m = near_points[rows, same_face.argmax(axis=1)], near_normals[rows, same_face.argmax(axis=1)]
    # A plane has several known points with exactly equal normals; a curved face has not.
    same = np.abs(near_normals - m[:, None, :]).max(axis=2) < _PLANE_TOLERANCE
    same &= np.abs(np.einsum("pd,pkd->pk", m, near_points - q[:, None, :])) < _PLANE_TOLERANCE * extent
    height = np.einsum("pd,pd->p", m, X - q)
    is_planar = (
        same_face.any(axis=1) & (np.count_nonzero(same, axis=1) > 2) & (np.abs(height) < _MAX_OFFSET * extent)
    )
    X[is_planar] -= height[is_planar, None] * m[is_planar]
    n[is_planar] = m[is_planar]
    return Boundary(X, n, tuple(known.owners[i] for i in near[:, 0])), crossings.sizes
