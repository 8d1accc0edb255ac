r"""Traces on the faces between cells, which couple the cells: T_low w_low = P λ = T_high w_high.

On a face that two cells share, every unknown and its normal derivatives below the order of the equations are
expanded in Legendre polynomials over the face, with coefficients λ. Each side is coupled to λ and not to the
other side: for given λ the cells are independent, and each can be eliminated by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from math import comb
from typing import NamedTuple

import numpy as np
from scipy.linalg import block_diag

from pibls.arrays import Array, Mask, MultiIndex
from pibls.basis.cube_points import lobatto, sobol
from pibls.basis.polynomials.total_degree import TotalDegreeBasis, total_degree_indices
from pibls.geometry.faces.face import intervals_where
from pibls.problem.forms.compilation import Residual
from pibls.spaces import SharedFace, SingleDomainSpace
from pibls.spaces.spectral_tail import resolved_degree

_POINTS_PER_COEFFICIENT = 1.6  # points on a face per coefficient of a trace
_EXTRA_POINTS = 2
_DEGREE_REDUCTION_3D = 2  # of the traces on the faces of a three-dimensional cell
_SAMPLES = 64  # points of a face that the boundary may cut
_MIN_STEP = 1e-6  # relative to a face: step to its two sides
_CONTAINS_TOL = 1e-10  # relative to the domain: upper bound of the tolerance of ``contains``
_MAX_STEP = 0.05  # relative to a face
_KEPT_BITS = 2.0**24
_OFFSET = 1e-15  # relative to the larger of the position of the face and the extent of the domain: 4 ulp

Term = tuple[int, MultiIndex, Array | float]
"""(unknown, α, coefficient); a coefficient that is a number is 1."""


def points_beside(X: Array, axis: int, extent: float, upper: bool) -> Array:
    """Return points next to a face, at which coefficients that jump there are evaluated.

    The offset is relative: with an absolute offset of 4e-15 m at 4 mm a flux had an error of 1e-12.
    """
    out = X.copy()
    out[:, axis] += (_OFFSET if upper else -_OFFSET) * max(extent, float(np.abs(X[:, axis]).max()))
    return out


@dataclass(frozen=True)
class Trace:
    """∂ₙ^order of an unknown on a face, or the flux that replaces it where a coefficient jumps."""

    unknown: int
    order: int
    flux: Residual | None = None

    @property
    def is_nonlinear(self) -> bool:
        """Whether it is a nonlinear flux, such as k(x) (1 + u²) ∂ₙu."""
        return self.flux is not None and bool(self.flux.nonlinear)

    def terms(self, axis: int, X: Array) -> list[Term]:
        """Return the terms of the trace at points of one side.

        For a nonlinear flux this is the derivative; its rows are replaced at each linearization.
        """
        if self.flux is None or self.is_nonlinear:
            return [(self.unknown, _along(axis, self.order, X.shape[1]), 1.0)]
        a = self.flux.coefficients(X)
        return [(j.unknown, j.alpha, c) for j, c in zip(self.flux.linear, a, strict=True)]


@dataclass(frozen=True)
class FaceCoupling:
    """A face between two cells with its points and the polynomials of its traces there."""

    face: SharedFace
    traces: tuple[Trace, ...]
    points: Array = field(repr=False)
    polynomials: Array = field(repr=False)
    jumps: Array = field(repr=False)
    """Jump of each trace from the lower to the upper side, one row per trace."""
    extent: float
    """Extent of the domain across the face."""

    @property
    def columns(self) -> int:
        return len(self.traces) * int(self.polynomials.shape[1])

    @property
    def rows_per_side(self) -> int:
        """Number of rows of each side."""
        return len(self.points) * len(self.traces)

    def coefficients(self, below: Array, above: Array) -> Array:
        """Return -P (n, columns of the face), for T (n, columns of a cell) of the two sides."""
        n, m = self.polynomials.shape
        P = np.zeros((n * len(self.traces), self.columns), order="F")
        squares = sum(np.einsum("ij,ij->i", T, T) for T in (below, above))
        # Scaled like the rows of T, so that neither side of the equation outweighs the other.
        lengths = np.sqrt(np.reshape(squares, (-1, n)).sum(axis=1) / (2 * n))
        # Rounded, because the last digits depend on how many points were evaluated together.
        share, exponent = np.frexp(np.where(lengths > 0, lengths, 1.0) / np.sqrt(m))
        for i, length in enumerate(np.ldexp(np.round(share * _KEPT_BITS) / _KEPT_BITS, exponent)):
            P[i * n : (i + 1) * n, i * m : (i + 1) * m] = self.polynomials * -length
        return P

    def max_mismatch(self, residual: Array, sizes: Array, half: float) -> tuple[float, Array]:
        """Return the largest misfit of the traces of a cell, relative to ``sizes``, and its point."""
        axis = self.face.axis
        # The coefficients of a nonlinear flux are not known here.
        strengths = [
            np.inf
            if trace.is_nonlinear
            else max(
                (float(np.abs(c).max()) * sizes[k] / half ** alpha[axis] for k, alpha, c in terms),
                default=0.0,
            )
            for trace, terms in ((trace, trace.terms(axis, self.points)) for trace in self.traces)
        ]
        with np.errstate(invalid="ignore", divide="ignore"):
            off = np.abs(residual.reshape(len(self.traces), -1)) / np.array(strengths)[:, None]
        worst = np.nan_to_num(off, nan=0.0, posinf=0.0).max(axis=0)
        return float(worst.max()), self.points[int(worst.argmax())]

    def fluxes(self, upper: bool) -> list[tuple[slice, Residual, Array]]:
        """Return the rows of each nonlinear flux, and the points at which it is evaluated."""
        n = len(self.points)
        nonlinear = [(i, t.flux) for i, t in enumerate(self.traces) if t.flux is not None and t.is_nonlinear]
        if not nonlinear:
            return []
        near = points_beside(self._points(upper), self.face.axis, self.extent, upper)
        return [(slice(i * n, (i + 1) * n), flux, near) for i, flux in nonlinear]

    def _points(self, upper: bool) -> Array:
        if not upper or not self.face.shift:
            return self.points
        X = self.points.copy()
        X[:, self.face.axis] += self.face.shift
        return X

    def side_terms(self, upper: bool) -> tuple[Array, list[list[Term]]]:
        """Return the points of one side, and the terms of each trace there."""
        X, axis = self._points(upper), self.face.axis
        if all(trace.flux is None for trace in self.traces):
            return X, [trace.terms(axis, X) for trace in self.traces]
        near = points_beside(X, axis, self.extent, upper)
        return X, [trace.terms(axis, near) for trace in self.traces]


@dataclass(frozen=True)
class CellFaces:
    """All faces of a cell; its functions are evaluated once for all of them."""

    cell: int
    space: SingleDomainSpace = field(repr=False)
    sides: tuple[tuple[FaceCoupling, bool], ...] = field(repr=False)
    """The faces, and whether the cell is above them."""

    def traces(self) -> list[Array]:
        """Return T (n, columns of the cell) of each face."""
        space, seen = self.space, [tied.side_terms(upper) for tied, upper in self.sides]
        wanted = {
            (space.basis_owners[k], alpha) for _, terms in seen for part in terms for k, alpha, _ in part
        }
        tables = space.tables(np.concatenate([X for X, _ in seen]), wanted)
        out, start = [], 0
        for X, terms in seen:
            n = len(X)
            rows = slice(start, start + n)
            start += n
            T = np.zeros((n * len(terms), space.columns), order="F")
            for i, part in enumerate(terms):
                for k, alpha, c in part:
                    phi = tables[space.basis_owners[k], alpha][rows]
                    T[i * n : (i + 1) * n, space.slices[k]] += (
                        phi if isinstance(c, float) else c[:, None] * phi
                    )
            out.append(T)
        return out


class FaceSpec(NamedTuple):
    """A face between cells with given numbers of functions, and the traces that are coupled on it."""

    face: SharedFace
    traces: tuple[Trace, ...]
    nodes: tuple[int, int]
    extent: float
    jump: Callable[[Trace, Array], Array] | None = None

    def points_at(self, U: Array) -> Array:
        """Return the points of the face for points U of the unit cube."""
        box, free = self.face.box, self.tangential_axes
        X = np.empty((len(U), len(box)))
        X[:, self.face.axis] = box[self.face.axis, 0]
        X[:, free] = box[free, 0] * (1.0 - U) + box[free, 1] * U
        return X

    @property
    def tangential_axes(self) -> list[int]:
        return [i for i in range(len(self.face.box)) if i != self.face.axis]


def couple_faces(wanted: Sequence[FaceSpec], contains: Callable[[Array], Mask]) -> list[FaceCoupling]:
    """Return the couplings of faces with points and polynomials; faces outside the domain are left out."""
    wanted = [one for one in wanted if one.traces]
    faces = [_reference_face(min(one.nodes), max(one.nodes), len(one.face.box)) for one in wanted]
    points = [one.points_at(U) for one, (_, U, _) in zip(wanted, faces, strict=True)]
    inside = _is_inside_on_both_sides(
        [(X, one.face, one.extent) for one, X in zip(wanted, points, strict=True)], contains
    )
    out = []
    for one, reference, X, keep in zip(wanted, faces, points, inside, strict=True):
        found = (X, reference[2]) if keep.all() else _cut_face(one, reference, X, keep, contains)
        if found is None:
            continue
        X, polynomials = found
        jumps = np.zeros((len(one.traces), len(X)))
        if one.jump is not None:
            jumps[:] = [one.jump(t, X) for t in one.traces]
        out.append(FaceCoupling(one.face, one.traces, X, polynomials, jumps, one.extent))
    return out


def _cut_face(
    one: FaceSpec,
    reference: tuple[int, Array, Array],
    X: Array,
    keep: Mask,
    contains: Callable[[Array], Mask],
) -> tuple[Array, Array] | None:
    """Return points and polynomials of a face that the boundary cuts; None if it lies outside the domain."""
    degree, U, polynomials = reference
    if len(one.face.box) == 2:
        parts = _inside_intervals(one, contains)
        if not parts:
            return None
        # Each segment has its own polynomials: on the two sides of a hole the traces are independent.
        X = one.points_at(np.concatenate([a + (b - a) * U for a, b in parts]))
        return X, block_diag(*(polynomials,) * len(parts))
    if not keep.any():
        return None
    U, k = U[keep], len(one.tangential_axes)
    while comb(degree + k, k) * _POINTS_PER_COEFFICIENT > len(U) + _EXTRA_POINTS and degree > 0:
        degree -= 1
    return X[keep], _legendre(2.0 * U - 1.0, degree)


def _inside_intervals(one: FaceSpec, contains: Callable[[Array], Mask]) -> list[tuple[float, float]]:
    """Return the segments of a plane face that have the domain on both sides, as parameters in [0, 1]."""

    def inside(U: Array) -> Mask:
        return _is_inside_on_both_sides([(one.points_at(U[:, None]), one.face, one.extent)], contains)[0]

    return intervals_where(inside, (np.arange(_SAMPLES) + 0.5) / _SAMPLES, 24)


def _is_inside_on_both_sides(
    faces: Sequence[tuple[Array, SharedFace, float]], contains: Callable[[Array], Mask]
) -> list[Mask]:
    """Return which points of faces have the domain on both sides; others are not coupled."""
    sides = list[Array]()
    for X, joint, extent in faces:
        largest = float((joint.box[:, 1] - joint.box[:, 0]).max())
        # Larger than the tolerance of ``contains``, also on the face of a tiny cell.
        aside = max(_MIN_STEP, min(_CONTAINS_TOL * extent / largest, _MAX_STEP)) if largest > 0 else _MIN_STEP
        # The ends are moved slightly inwards: they may be corners.
        X = X + 2.0 * aside * (0.5 * (joint.box[:, 0] + joint.box[:, 1]) - X)
        step = aside * max(largest, _MIN_STEP * float(np.abs(X).max()))
        for move in (-step, joint.shift + step):
            sides.append(X.copy())
            sides[-1][:, joint.axis] += move
    if not sides:
        return []
    both = np.split(contains(np.concatenate(sides)), np.cumsum([len(X) for X in sides])[:-1])
    return [np.logical_and(below, above) for below, above in zip(both[::2], both[1::2], strict=True)]


@lru_cache(maxsize=64)
def _reference_face(fewer: int, more: int, d: int) -> tuple[int, Array, Array]:
    """Return the degree, the points in the unit cube and the polynomials of a face inside the domain.

    The degree follows from the cell with fewer functions, the number of points from the one with more.
    """
    degree = trace_degree(fewer, d)
    wanted = (
        int(_POINTS_PER_COEFFICIENT * comb(trace_degree(more, d) + d - 1, d - 1)) + _EXTRA_POINTS
        if d > 1
        else 1
    )
    U = (lobatto if d == 2 else sobol)(wanted, d - 1, np.random.default_rng(0))
    return degree, U, _legendre(2.0 * U - 1.0, degree)


def trace_degree(nodes: int, d: int) -> int:
    """Return the degree of a trace that a cell with ``nodes`` functions resolves.

    A higher degree gains nothing: 128 functions in the plane have an error of 3.7e-8 for a front with 17
    coefficients per trace, 3.8e-8 with 13 in a third of the time. A lower degree loses accuracy for smooth
    solutions: 2e-8 instead of 5e-10 for a standing wave with 96 functions. In three dimensions the faces
    dominate the cost, and two degrees less change little: 160, 250 and 500 functions have errors of 6e-4,
    1.3e-5 and 2.7e-7 for a smooth solution at the full degree, and 7e-4, 1.6e-5 and 3.4e-7 at the reduced
    one, in 0.4 to 0.7 of the time.
    """
    return max(resolved_degree(nodes, d) - (_DEGREE_REDUCTION_3D if d == 3 else 0), 1)


def _legendre(S: Array, degree: int) -> Array:
    """Return products of Legendre polynomials of total degree up to ``degree`` at points S of [-1, 1]^k."""
    k = S.shape[1]
    if k == 0:
        return np.ones((len(S), 1))
    degrees = total_degree_indices(degree, k)
    table = TotalDegreeBasis(degree, np.zeros(k), np.ones(k)).jets(S, [(0,) * k])[0]
    return np.asarray(table * np.sqrt(np.prod(2.0 * degrees + 1.0, axis=1)))


def _along(axis: int, order: int, dimension: int) -> MultiIndex:
    return tuple(order if i == axis else 0 for i in range(dimension))
