r"""T_low w_low = P λ = T_high w_high: what holds two cells together.

On a face that two cells share, every unknown and its normal derivatives below the order of the equations
have coefficients λ of their own, in Legendre polynomials over the face. Each side is tied to them and not
to the other side: given λ, the cells know nothing of each other, and each can be eliminated by itself.
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
from pibls.basis.polynomials.degrees import DegreeBasis, degrees_of
from pibls.basis.quasi import lobatto, sobol
from pibls.geometry.faces.face import parts_held
from pibls.problem.forms.lowering import Residual
from pibls.spaces import Joint, Whole
from pibls.spaces.spectrum import degree_in

_PER_COEFFICIENT = 1.6  # points on a face for each coefficient of a trace
_SPARE = 2
_SPARED = 2  # degrees of the traces on the faces of a cell in space
_LOOKED_AT = 64  # places of a joint that the boundary may cut
_ASIDE = 1e-6  # of a joint: a step to its sides
_SLACK = 1e-10  # of the domain: what ``contains`` may count as inside is less
_FAR = 0.05  # of a joint
_DIGITS = 2.0**24
_BESIDE = 4e-15  # of the larger of where the face is and how long the domain is there

Term = tuple[int, MultiIndex, Array | float]
"""(unknown, α, coefficient); a number is 1."""


def beside(X: Array, axis: int, extent: float, upper: bool) -> Array:
    """Points next to a face: what jumps at it is taken there.

    In units of the problem: 4e-15 of a metre at 4 mm is 1e-12, and so much was a flux wrong.
    """
    out = X.copy()
    out[:, axis] += (_BESIDE if upper else -_BESIDE) * max(extent, float(np.abs(X[:, axis]).max()))
    return out


@dataclass(frozen=True)
class Trace:
    """∂ₙ^order of an unknown on a joint, or the flux that stands in its place where a material changes."""

    unknown: int
    order: int
    flux: Residual | None = None

    @property
    def is_bent(self) -> bool:
        """Whether it is a flux that is not linear, such as k(x) (1 + u²) ∂ₙu."""
        return self.flux is not None and bool(self.flux.nonlinear)

    def terms(self, axis: int, X: Array) -> list[Term]:
        """What is summed, at points of one side.

        For a flux that is not linear the derivative stands in: its rows are taken anew about each guess.
        """
        if self.flux is None or self.is_bent:
            return [(self.unknown, _along(axis, self.order, X.shape[1]), 1.0)]
        a = self.flux.coefficients(X)
        return [(j.unknown, j.alpha, c) for j, c in zip(self.flux.linear, a, strict=True)]


@dataclass(frozen=True)
class JointPoints:
    """A joint with its points, and the polynomials of its traces there."""

    joint: Joint
    traces: tuple[Trace, ...]
    points: Array = field(repr=False)
    polynomials: Array = field(repr=False)
    jumps: Array = field(repr=False)
    """How much larger each trace is on the upper side, one row for each."""
    extent: float
    """Of the domain, across the joint."""

    @property
    def columns(self) -> int:
        return len(self.traces) * int(self.polynomials.shape[1])

    @property
    def rows_each(self) -> int:
        """Rows of each side."""
        return len(self.points) * len(self.traces)

    def coefficients(self, below: Array, above: Array) -> Array:
        """-P (n, columns of the joint), for T (n, columns of a cell) of the lower and of the upper side."""
        n, m = self.polynomials.shape
        P = np.zeros((n * len(self.traces), self.columns), order="F")
        squares = sum(np.einsum("ij,ij->i", T, T) for T in (below, above))
        # About as long as the rows of T, so that neither side of the equation outweighs the other.
        lengths = np.sqrt(np.reshape(squares, (-1, n)).sum(axis=1) / (2 * n))
        # Without their last digits: those depend on how many points were looked up together.
        share, exponent = np.frexp(np.where(lengths > 0, lengths, 1.0) / np.sqrt(m))
        for i, length in enumerate(np.ldexp(np.round(share * _DIGITS) / _DIGITS, exponent)):
            P[i * n : (i + 1) * n, i * m : (i + 1) * m] = self.polynomials * -length
        return P

    def apart(self, residual: Array, sizes: Array, half: float) -> tuple[float, Array]:
        """How far the traces of a cell are off, as changes of the unknowns over their sizes; and where."""
        axis = self.joint.axis
        # A flux that is not linear has no strength that would be known here.
        strengths = [
            np.inf
            if trace.is_bent
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
        """The rows of each flux that is not linear, and the points where it is taken."""
        n = len(self.points)
        bent = [(i, t.flux) for i, t in enumerate(self.traces) if t.flux is not None and t.is_bent]
        if not bent:
            return []
        near = beside(self._points(upper), self.joint.axis, self.extent, upper)
        return [(slice(i * n, (i + 1) * n), flux, near) for i, flux in bent]

    def _points(self, upper: bool) -> Array:
        if not upper or not self.joint.shift:
            return self.points
        X = self.points.copy()
        X[:, self.joint.axis] += self.joint.shift
        return X

    def seen(self, upper: bool) -> tuple[Array, list[list[Term]]]:
        """The points of one side, and the terms of each trace there."""
        X, axis = self._points(upper), self.joint.axis
        if all(trace.flux is None for trace in self.traces):
            return X, [trace.terms(axis, X) for trace in self.traces]
        near = beside(X, axis, self.extent, upper)
        return X, [trace.terms(axis, near) for trace in self.traces]


@dataclass(frozen=True)
class Faces:
    """All sides of a cell: its functions are looked up once for them all."""

    cell: int
    space: Whole = field(repr=False)
    sides: tuple[tuple[JointPoints, bool], ...] = field(repr=False)
    """The joints, and whether the cell is above them."""

    def traces(self) -> list[Array]:
        """T (n, columns of the cell) of each side."""
        space, seen = self.space, [tied.seen(upper) for tied, upper in self.sides]
        wanted = {(space.owners[k], alpha) for _, terms in seen for part in terms for k, alpha, _ in part}
        tables = space.tables(np.concatenate([X for X, _ in seen]), wanted)
        out, start = [], 0
        for X, terms in seen:
            n = len(X)
            rows = slice(start, start + n)
            start += n
            T = np.zeros((n * len(terms), space.columns), order="F")
            for i, part in enumerate(terms):
                for k, alpha, c in part:
                    phi = tables[space.owners[k], alpha][rows]
                    T[i * n : (i + 1) * n, space.slices[k]] += (
                        phi if isinstance(c, float) else c[:, None] * phi
                    )
            out.append(T)
        return out


class Wanted(NamedTuple):
    """A joint between cells of so many functions, and what is to hold on it."""

    joint: Joint
    traces: tuple[Trace, ...]
    nodes: tuple[int, int]
    extent: float
    jump: Callable[[Trace, Array], Array] | None = None

    def at(self, U: Array) -> Array:
        """The points of the joint that are those of the unit cube."""
        box, free = self.joint.box, self.free
        X = np.empty((len(U), len(box)))
        X[:, self.joint.axis] = box[self.joint.axis, 0]
        X[:, free] = box[free, 0] * (1.0 - U) + box[free, 1] * U
        return X

    @property
    def free(self) -> list[int]:
        return [i for i in range(len(self.joint.box)) if i != self.joint.axis]


def tied(wanted: Sequence[Wanted], contains: Callable[[Array], Mask]) -> list[JointPoints]:
    """Points and polynomials on joints; those that lie outside of the domain are left out."""
    wanted = [one for one in wanted if one.traces]
    faces = [_face(min(one.nodes), max(one.nodes), len(one.joint.box)) for one in wanted]
    points = [one.at(U) for one, (_, U, _) in zip(wanted, faces, strict=True)]
    inside = _within([(X, one.joint, one.extent) for one, X in zip(wanted, points, strict=True)], contains)
    out = []
    for one, (degree, U, polynomials), X, keep in zip(wanted, faces, points, inside, strict=True):
        if len(one.joint.box) == 2 and not keep.all():
            parts = _stretches(one, contains)
            if not parts:
                continue
            # Each stretch has polynomials of its own: on the two sides of a hole there are two functions.
            X = one.at(np.concatenate([a + (b - a) * U for a, b in parts]))
            polynomials = block_diag(*(polynomials,) * len(parts))
        elif not keep.any():
            continue
        elif not keep.all():
            X, U, k = X[keep], U[keep], len(one.free)
            while comb(degree + k, k) * _PER_COEFFICIENT > len(U) + _SPARE and degree > 0:
                degree -= 1
            polynomials = _legendre(2.0 * U - 1.0, degree)
        jumps = np.zeros((len(one.traces), len(X)))
        if one.jump is not None:
            jumps[:] = [one.jump(t, X) for t in one.traces]
        out.append(JointPoints(one.joint, one.traces, X, polynomials, jumps, one.extent))
    return out


def _stretches(one: Wanted, contains: Callable[[Array], Mask]) -> list[tuple[float, float]]:
    """The parts of a joint in the plane that have the domain on both sides, as shares of it."""

    def inside(U: Array) -> Mask:
        return _within([(one.at(U[:, None]), one.joint, one.extent)], contains)[0]

    return parts_held(inside, (np.arange(_LOOKED_AT) + 0.5) / _LOOKED_AT, 24)


def _within(asked: Sequence[tuple[Array, Joint, float]], contains: Callable[[Array], Mask]) -> list[Mask]:
    """Which points of joints have the domain on both sides: along its boundary nothing is held together."""
    sides = list[Array]()
    for X, joint, extent in asked:
        largest = float((joint.box[:, 1] - joint.box[:, 0]).max())
        # Further than what a shape may count as inside, also on the face of a tiny cell.
        aside = max(_ASIDE, min(_SLACK * extent / largest, _FAR)) if largest > 0 else _ASIDE
        # Its ends are looked at a little inside of it: they may be corners.
        X = X + 2.0 * aside * (0.5 * (joint.box[:, 0] + joint.box[:, 1]) - X)
        step = aside * max(largest, _ASIDE * float(np.abs(X).max()))
        for move in (-step, joint.shift + step):
            sides.append(X.copy())
            sides[-1][:, joint.axis] += move
    if not sides:
        return []
    both = np.split(contains(np.concatenate(sides)), np.cumsum([len(X) for X in sides])[:-1])
    return [np.logical_and(below, above) for below, above in zip(both[::2], both[1::2], strict=True)]


@lru_cache(maxsize=64)
def _face(fewer: int, more: int, d: int) -> tuple[int, Array, Array]:
    """The degree, the points in the unit cube and the polynomials there, of a face that is all inside.

    What both cells resolve has the degree of that with fewer functions; the points hold the other one too.
    """
    degree = degree_of(fewer, d)
    wanted = int(_PER_COEFFICIENT * comb(degree_of(more, d) + d - 1, d - 1)) + _SPARE if d > 1 else 1
    U = (lobatto if d == 2 else sobol)(wanted, d - 1, np.random.default_rng(0))
    return degree, U, _legendre(2.0 * U - 1.0, degree)


def degree_of(nodes: int, d: int) -> int:
    """The degree of a trace: what a cell of that many functions resolves.

    More say nothing new: 128 functions in the plane leave 3.7e-8 of a front with 17 coefficients for each
    trace and 3.8e-8 with 13, in a third of the time. Less is felt where the rest is smooth: 2e-8 instead of
    5e-10 of a standing wave with 96 functions. In space, faces are what costs, and two degrees less change
    little: 160, 250 and 500 functions left 6e-4, 1.3e-5 and 2.7e-7 of a smooth solution with all of them, and
    7e-4, 1.6e-5 and 3.4e-7 without, in 0.4 to 0.7 of the time.
    """
    return max(degree_in(nodes, d) - (_SPARED if d == 3 else 0), 1)


def _legendre(S: Array, degree: int) -> Array:
    """The products of Legendre's polynomials of total degree up to ``degree`` at points S of [-1, 1]^k."""
    k = S.shape[1]
    if k == 0:
        return np.ones((len(S), 1))
    degrees = degrees_of(degree, k)
    table = DegreeBasis(degree, np.zeros(k), np.ones(k)).jets(S, [(0,) * k])[0]
    return np.asarray(table * np.sqrt(np.prod(2.0 * degrees + 1.0, axis=1)))


def _along(axis: int, order: int, dimension: int) -> MultiIndex:
    return tuple(order if i == axis else 0 for i in range(dimension))
