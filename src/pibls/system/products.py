r"""Σ_j a_j(x) ∂^{α_j} u + ρ(x, u, …) = 0 at the points of a product of lines: the rows of a problem on a box.

The solution is a product of smooth piecewise polynomials along the axes (`basis.splines`); equations are held
at the products of Gauss's points, conditions on the sides at the products of those and the ends. No matrix of
all rows is ever made: a derivative is one small matrix along each axis.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product

import numpy as np

from pibls.arrays import Array, MultiIndex
from pibls.basis.splines import Splines
from pibls.domain import Boundary, Domain, faces_of
from pibls.linalg.kronecker import along
from pibls.problem.lowering import LoweredProblem, Residual

_LOOKED = (0.0, 1e-6, 0.02, 0.13, 0.31, 0.5, 0.69, 0.87, 0.98, 1.0 - 1e-6, 1.0)
"""Where on a side, along each axis, it is asked which condition holds."""


@dataclass(frozen=True)
class Side:
    """A condition on the side x_axis = box[axis, end]."""

    residual: Residual
    axis: int
    end: int


@dataclass(frozen=True)
class Boxed:
    """A steady problem of one unknown on a box, with conditions that hold on whole sides."""

    equation: Residual
    sides: tuple[Side, ...]
    orders: tuple[int, ...]
    """The highest derivative along each axis."""
    repeated: tuple[bool, ...]
    box: Array = field(repr=False)

    @classmethod
    def of(cls, lowered: LoweredProblem, domain: Domain, box: Array) -> Boxed | None:
        """None where it is something else."""
        inside = [r for r in lowered.residuals if r.region.is_inside]
        d = lowered.dimension
        if lowered.unknowns != 1 or len(inside) != 1 or d not in (2, 3) or not _is_box(domain, box):
            return None
        faces = lowered.interfaces
        if faces.jumping or faces.sources or any(r.region.is_sum for r in lowered.residuals):
            return None
        (equation,) = inside
        orders = tuple(max((j.alpha[i] for j in equation.jets), default=0) for i in range(d))
        if min(orders) < 1:
            return None
        counts, sides = [0] * d, []
        for r in lowered.residuals:
            if r.region.is_inside:
                continue
            if r.region.period is not None:
                counts[r.region.period] += 1
                continue
            found = _sides_of(r, domain, box)
            if not found or any(j.alpha[s.axis] >= orders[s.axis] for s in found for j in r.jets):
                return None
            sides += found
        repeated = tuple(c > 0 for c in counts)
        if any(0 < c < m for c, m in zip(counts, orders, strict=True)):
            return None
        for axis, m in enumerate(orders):
            mine = [sum(s.axis == axis and s.end == e for s in sides) for e in (0, 1)]
            wanted = 0 if repeated[axis] else m
            if sum(mine) != wanted or (wanted % 2 == 0 and mine[0] != mine[1]):
                return None
        ordered = sorted(sides, key=lambda s: (s.axis, s.end))
        return cls(equation, tuple(ordered), orders, repeated, box)

    @property
    def is_linear(self) -> bool:
        return not any(r.nonlinear for r in (self.equation, *(s.residual for s in self.sides)))

    def on(self, axes: Sequence[Splines]) -> Rows:
        """All rows, for functions along the axes."""
        groups = [Group.inside(self.equation, axes)]
        groups += [Group.side(s, axes) for s in self.sides]
        return Rows(self, tuple(axes), tuple(groups))


def _is_box(domain: Domain, box: Array) -> bool:
    planes = [face.plane() for face in faces_of(domain)]
    wanted = {(i, float(level)) for i, ends in enumerate(box) for level in ends}
    if any(p is None for p in planes) or {(p[0], float(p[1])) for p in planes if p} != wanted:
        return False
    rng = np.random.default_rng(0)
    X = box[:, 0] + (box[:, 1] - box[:, 0]) * rng.random((2000, len(box)))
    return len(planes) == 2 * len(box) and bool(np.asarray(domain.contains(X), dtype=bool).all())


def _sides_of(r: Residual, domain: Domain, box: Array) -> list[Side]:
    """The sides on which a condition holds; none where it holds on a part of one, or elsewhere."""
    out = []
    rng = np.random.default_rng(0)
    plane = r.region.plane()
    if plane is not None:
        ends = [e for e in (0, 1) if plane[1] == box[plane[0], e]]
        return [Side(r, plane[0], e) for e in ends] if ends and r.region.is_whole_slice else []
    if not r.region.is_boundary:
        return []
    for face in faces_of(domain):
        where = face.plane()
        assert where is not None
        axis = where[0]
        end = 0 if where[1] == box[axis, 0] else 1
        # The rim of a side belongs to its neighbours too.
        U = np.array(list(product(_LOOKED[1:-1], repeat=len(box) - 1)))
        middle = face.at(np.full((1, face.dimension), 0.5), rng)
        X = np.repeat(middle.points, len(U), axis=0)
        free = [i for i in range(len(box)) if i != axis]
        X[:, free] = box[free, 0] + (box[free, 1] - box[free, 0]) * U
        held = r.region.mask(Boundary(X, np.repeat(middle.normals, len(X), axis=0), middle.owners * len(X)))
        if held.all():
            out.append(Side(r, axis, end))
        elif held.any():
            return []
    return out


@dataclass(frozen=True)
class Group:
    """One statement at a product of points along the axes."""

    residual: Residual
    tables: tuple[tuple[Array, ...], ...] = field(repr=False)
    """∂^k of the functions along each axis at its points, (points, functions)."""
    lines: tuple[Array, ...] = field(repr=False)
    """The points along each axis."""
    normal: tuple[float, ...]

    @classmethod
    def inside(cls, r: Residual, axes: Sequence[Splines]) -> Group:
        tables = tuple(tuple(T[: len(a.nodes)] for T in a.values) for a in axes)
        return cls(r, tables, tuple(a.nodes for a in axes), (0.0,) * len(axes))

    @classmethod
    def side(cls, s: Side, axes: Sequence[Splines]) -> Group:
        level = np.array([axes[s.axis].edges[-s.end]])
        here = tuple(axes[s.axis].at(level, k) for k in range(axes[s.axis].order))
        tables = tuple(here if i == s.axis else a.values for i, a in enumerate(axes))
        lines = tuple(level if i == s.axis else a.traced for i, a in enumerate(axes))
        normal = tuple(2.0 * s.end - 1.0 if i == s.axis else 0.0 for i in range(len(axes)))
        return cls(s.residual, tables, lines, normal)

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(len(x) for x in self.lines)

    @cached_property
    def X(self) -> Array:
        """All points, (n, d)."""
        return np.stack(np.meshgrid(*self.lines, indexing="ij"), -1).reshape(-1, len(self.lines))

    @cached_property
    def normals(self) -> Array:
        return np.broadcast_to(np.array(self.normal), self.X.shape)

    @cached_property
    def data(self) -> Array:
        return self.residual.known_data(self.X)

    @cached_property
    def known(self) -> Array:
        """The coefficients of the linear terms, (terms, …)."""
        return self.residual.coefficients(self.X, self.normals, self.data).reshape(-1, *self.shape)

    @property
    def alphas(self) -> tuple[MultiIndex, ...]:
        """The derivative of each term, those with known coefficients first."""
        return tuple(j.alpha for j in self.residual.jets)

    def jets(self, U: Array, alphas: Sequence[MultiIndex]) -> list[Array]:
        """∂^α u at the points for coefficients U; what two derivatives share is made once."""
        done: dict[MultiIndex, Array] = {(): U}
        for i in range(U.ndim):
            for start in {alpha[: i + 1] for alpha in alphas}:
                done[start] = along(self.tables[i][start[i]], done[start[:i]], i)
            for start in {alpha[:i] for alpha in alphas}:
                del done[start]
        return [done[alpha] for alpha in alphas]

    def rest(self, jets: Sequence[Array]) -> Array:
        """ρ at the points."""
        J = np.array([j.ravel() for j in jets]).reshape(len(jets), len(self.X))
        return self.residual.rest(self.X, self.normals, self.data, J).reshape(self.shape)

    def slopes(self, jets: Sequence[Array]) -> Array:
        """∂ρ/∂J at the points, (terms, …)."""
        J = np.array([j.ravel() for j in jets]).reshape(len(jets), len(self.X))
        return self.residual.partials(self.X, self.normals, self.data, J).reshape(-1, *self.shape)


@dataclass(frozen=True)
class Linear:
    """Σ_j a_j ∂^{α_j} at the points of each group."""

    groups: tuple[Group, ...]
    coefficients: tuple[Array, ...] = field(repr=False)

    def __call__(self, U: Array) -> list[Array]:
        out = []
        for g, a in zip(self.groups, self.coefficients, strict=True):
            jets = g.jets(U, g.alphas)
            total = a[0] * jets[0]
            for c, jet in zip(a[1:], jets[1:], strict=True):
                total += c * jet
            out.append(total)
        return out


@dataclass(frozen=True)
class Rows:
    """All statements of a problem at the points that products of functions along the axes need."""

    boxed: Boxed
    axes: tuple[Splines, ...]
    groups: tuple[Group, ...]
    """The equation, and the conditions on the sides."""

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(a.functions for a in self.axes)

    def residual(self, U: Array) -> tuple[list[Array], Linear]:
        """What is left of each statement, and how it changes with U."""
        left, slopes = [], []
        for g in self.groups:
            known = len(g.residual.linear)
            jets = g.jets(U, g.alphas)
            total = g.rest(jets[known:])
            for c, jet in zip(g.known, jets, strict=False):
                total = total + c * jet
            left.append(total)
            bent = len(jets) > known
            slopes.append(np.concatenate([g.known, g.slopes(jets[known:])]) if bent else g.known)
        return left, Linear(self.groups, tuple(slopes))

    def values(self, U: Array) -> Array:
        """u at the products of all points of the axes."""
        for i, a in enumerate(self.axes):
            U = along(a.values[0], U, i)
        return U

    def interpolated(self, values: Array) -> Array:
        """U from the values at these points."""
        for i, a in enumerate(self.axes):
            values = along(a.from_values, values, i)
        return values

    def in_pieces(self, U: Array) -> Array:
        """The coefficients in the pieces, (P₁, n₁, P₂, n₂, …)."""
        for i, a in enumerate(self.axes):
            U = along(a.smooth, U, i)
        return U.reshape([k for a in self.axes for k in (a.pieces, a.size)])
