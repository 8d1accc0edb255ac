r"""∂Ω ∩ B from x ∈ Ω? alone: where lines through a box enter or leave the domain, found by bisection.

A shape that only draws from its boundary has no points in a tiny cell of a tree. Whether a point lies inside
it always knows: along lines parallel to the axes the boundary is found to rounding, and two more crossings
beside each of them, for every tangent, give the normal.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pibls.arrays import Array, Mask
from pibls.geometry.faces.face import Boundary, bisected

if TYPE_CHECKING:
    from pibls.geometry.protocol import Domain

_LINES = {2: 64, 3: 18}  # along each axis, across each of the others
_STEPS = 12  # places along a line: what is thinner may be missed
_BEYOND = 0.01  # of the box: a boundary along its side is found from both sides of it
_STEEP = 0.5  # cosine between axis and normal: flatter crossings belong to the lines of another axis
_ASIDE = 1e-3  # of the box: from one crossing to the two beside it
_REACH = 4.0
_BEND = 0.02  # the angle between both sides of a crossing above which it is a corner
_NEAR = 32  # known points that are looked at beside a crossing
_ALIKE = 1e-3  # normals of a crossing and of known points on the same side of a corner
_SAME = 1e-12  # of one plane
_SLACK = 1e-8  # of the domain: what ``contains`` may count as inside


_Inside = Callable[[Array], Mask]


class Crossings(NamedTuple):
    """Points and normals (n, d), and the size of the boundary that each stands for."""

    points: Array
    normals: Array
    sizes: Array


def crossings(domain: Domain, box: Array) -> Crossings:
    """The boundary in a box and a little around it, about evenly."""
    low, lengths = box[:, 0], box[:, 1] - box[:, 0]
    d = len(box)

    def inside(U: Array) -> Mask:
        return np.asarray(domain.contains(low + lengths * U), dtype=np.bool_)

    k = _LINES[d]
    ticks = (np.arange(k) + 0.5) / k
    across = np.stack(np.meshgrid(*(ticks,) * (d - 1), indexing="ij"), -1).reshape(-1, d - 1)
    points, normals = [np.empty((0, d))], [np.empty((0, d))]
    for axis in range(d):
        U, leaves = _on_lines(inside, axis, across)
        n, good = _normals(inside, axis, U, leaves)
        good &= np.abs(n[:, axis]) >= _STEEP
        points.append(U[good])
        normals.append(n[good])
    U, n = np.concatenate(points), np.concatenate(normals)
    size = np.abs(n)
    sizes = 1.0 / (len(across) * np.where(size >= _STEEP, size, 0.0).sum(axis=1))
    # Back from the units of the box: n ↦ n/L, and dA ↦ dA |n/L| ΠL.
    n = n / lengths
    stretch = np.linalg.norm(n, axis=1)
    return Crossings(low + lengths * U, n / stretch[:, None], sizes * stretch * np.prod(lengths))


def _on_lines(inside: _Inside, axis: int, across: Array) -> tuple[Array, Array]:
    """Where lines along an axis cross the boundary, and whether they leave (1) or enter (-1) the domain."""
    d = across.shape[1] + 1
    s = np.concatenate([[-_BEYOND], (np.arange(_STEPS) + 0.5) / _STEPS, [1.0 + _BEYOND]])
    U = np.empty((len(across), len(s), d))
    U[..., [i for i in range(d) if i != axis]] = across[:, None, :]
    U[..., axis] = s
    held = inside(U.reshape(-1, d)).reshape(U.shape[:2])
    lines, steps = np.nonzero(held[:, 1:] != held[:, :-1])
    found = U[lines, steps]
    found[:, axis] = _bisected(inside, axis, found, s[steps], s[steps + 1], held[lines, steps])
    return found, np.where(held[lines, steps], 1.0, -1.0)


def _bisected(inside: _Inside, axis: int, U: Array, a: Array, b: Array, first: Mask) -> Array:
    """The place between a and b where it changes; ``first`` is what holds at a. Inside, if only just."""
    U = U.copy()

    def same(c: Array) -> Mask:
        U[:, axis] = c
        return np.asarray(inside(U) == first)

    return np.where(first, *bisected(same, a, b))


def _normals(inside: _Inside, axis: int, U: Array, leaves: Array) -> tuple[Array, Mask]:
    """Outward normals from the crossings on both sides, and where there is no corner between these."""
    n = np.zeros_like(U)
    n[:, axis] = 1.0
    good = np.ones(len(U), dtype=np.bool_)
    first = leaves > 0
    for j in range(U.shape[1]):
        if j == axis or not len(U):
            continue
        slopes = []
        for sign in (1.0, -1.0):
            beside = U.copy()
            beside[:, j] += sign * _ASIDE
            ends = [U[:, axis] - _REACH * _ASIDE, U[:, axis] + _REACH * _ASIDE]
            for end, expected in zip(ends, (first, ~first), strict=True):
                beside[:, axis] = end
                good &= inside(beside) == expected
            there = _bisected(inside, axis, beside, ends[0], ends[1], first)
            slopes.append(sign * (there - U[:, axis]) / _ASIDE)
        good &= np.abs(slopes[0] - slopes[1]) <= _BEND
        n[:, j] = -0.5 * (slopes[0] + slopes[1])
    n *= leaves[:, None]
    return n / np.linalg.norm(n, axis=1, keepdims=True), good


def flattened(found: Crossings, known: Boundary, extent: float) -> tuple[Boundary, Array]:
    """The crossings as a boundary, with their sizes: owners from the nearest known points.

    Where the boundary is a plane, known points say exactly which: ``contains`` may have some slack.
    """
    from scipy.spatial import cKDTree

    k = min(_NEAR, len(known.points))
    near = cKDTree(known.points).query(found.points, k=k)[1].reshape(len(found.points), k)
    X, n = found.points.copy(), found.normals.copy()
    there, its = known.points[near], known.normals[near]
    alike = np.linalg.norm(its - n[:, None, :], axis=2) < _ALIKE
    rows = np.arange(len(X))
    q, m = there[rows, alike.argmax(axis=1)], its[rows, alike.argmax(axis=1)]
    # Of one plane are several whose normals are the same, and not only nearly: a curve has none such.
    same = np.abs(its - m[:, None, :]).max(axis=2) < _SAME
    same &= np.abs(np.einsum("pd,pkd->pk", m, there - q[:, None, :])) < _SAME * extent
    height = np.einsum("pd,pd->p", m, X - q)
    flat = alike.any(axis=1) & (np.count_nonzero(same, axis=1) > 2) & (np.abs(height) < _SLACK * extent)
    X[flat] -= height[flat, None] * m[flat]
    n[flat] = m[flat]
    return Boundary(X, n, tuple(known.owners[i] for i in near[:, 0])), found.sizes
