r"""Σ_j a_j(x) ∂^{α_j} u + ρ(x, u, …) = 0 at the points of a product of lines: the rows of a problem on a box.

Each unknown is a product of smooth piecewise polynomials along the axes (`basis.splines`); equations are held
at the products of Gauss's points, conditions on the sides at the products of those and the ends. No matrix of
all rows is ever made: a derivative is one small matrix along each axis.
"""

from __future__ import annotations

import math
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
from pibls.system.placing import place_in
from pibls.system.points import Points, PointSet

_LOOKED = (0.0, 1e-6, 0.02, 0.13, 0.31, 0.5, 0.69, 0.87, 0.98, 1.0 - 1e-6, 1.0)
"""Where on a side, along each axis, it is asked which condition holds."""
_NO_JETS = np.empty((0, 0))


@dataclass(frozen=True)
class Side:
    """A condition on the side x_axis = box[axis, end]."""

    residual: Residual
    axis: int
    end: int


@dataclass(frozen=True)
class Boxed:
    """A steady problem on a box, with conditions that hold on whole sides."""

    equations: tuple[Residual, ...]
    sides: tuple[Side, ...]
    orders: tuple[int, ...]
    """The highest derivative along each axis."""
    repeated: tuple[bool, ...]
    box: Array = field(repr=False)
    light: tuple[bool, ...] = (False,)
    """Of each unknown, whether it has one derivative less and no condition of its own, as a pressure, …"""
    weak: tuple[bool, ...] = (False,)
    """… and of each equation, whether it takes the place of one for such an unknown."""
    single: tuple[Residual, ...] = ()
    """What is asked once, in a point or of an integral: all terms of one condition."""
    domain: Domain | None = field(default=None, repr=False)

    @classmethod
    def of(cls, lowered: LoweredProblem, domain: Domain, box: Array) -> Boxed | None:
        """None where it is something else."""
        inside = tuple(r for r in lowered.residuals if r.region.is_inside)
        d, many = lowered.dimension, lowered.unknowns
        if len(inside) != many or d not in (2, 3) or (many > 1 and d > 2) or not _is_box(domain, box):
            return None
        if lowered.interfaces.jumping or lowered.interfaces.sources:
            return None
        kinds = _kinds(inside, many, d)
        if kinds is None:
            return None
        orders, light, weak = kinds
        heavy = light.count(False)
        counts, sides, single = [0] * d, [], []
        for r in lowered.residuals:
            if r.region.is_inside:
                continue
            if r.region.period is not None:
                counts[r.region.period] += 1
                continue
            if r.region.is_divisible(domain) if r.region.is_sum else len(r.region.spots(domain)):
                single.append(r)
                continue
            found = _sides_of(r, domain, box)
            if not found or any(
                j.alpha[s.axis] >= (1 if light[j.unknown] else orders[s.axis]) for s in found for j in r.jets
            ):
                return None
            sides += found
        repeated = tuple(c > 0 for c in counts)
        wanted = [heavy * m for m in orders]
        if any(c and c != w + light.count(True) for c, w in zip(counts, wanted, strict=True)):
            return None
        for axis, w in enumerate(wanted):
            mine = [sum(s.axis == axis and s.end == e for s in sides) for e in (0, 1)]
            if sum(mine) != (0 if repeated[axis] else w) or (w % 2 == 0 and mine[0] != mine[1]):
                return None
        held = any(light[j.unknown] for s in sides for j in s.residual.jets)
        once = sum(not r.region.continues for r in single)
        if once > 1 or (once and d > 2) or any(r.nonlinear for r in single) or (any(light) and not (held or once)):
            return None
        ordered = sorted(sides, key=lambda s: (s.axis, s.end))
        return cls(
            inside, tuple(ordered), orders, repeated, box, light, weak, tuple(single), domain
        )  # fmt: skip

    @property
    def is_linear(self) -> bool:
        return not any(r.nonlinear for r in (*self.equations, *(s.residual for s in self.sides)))

    @property
    def is_plain(self) -> bool:
        """Whether it is one equation, and conditions on sides: what a sum along the axes may be."""
        return len(self.equations) == 1 and not self.single

    def on(self, axes: Sequence[Splines]) -> Rows:
        """All rows, for functions along the axes."""
        light = tuple(a.lighter for a in axes) if any(self.light) else ()
        spaces = tuple(light if is_light else tuple(axes) for is_light in self.light)
        groups = []
        for r, weak in zip(self.equations, self.weak, strict=True):
            lines = tuple(a.joined for a in light) if weak else tuple(a.nodes for a in axes)
            groups.append(Group.at(r, lines, spaces, (0.0,) * len(axes)))
        for s in self.sides:
            level = np.array([axes[s.axis].edges[-s.end]])
            lines = tuple(level if i == s.axis else a.traced for i, a in enumerate(axes))
            normal = tuple(2.0 * s.end - 1.0 if i == s.axis else 0.0 for i in range(len(axes)))
            groups.append(Group.at(s.residual, lines, spaces, normal))
        return Rows(self, tuple(axes), spaces, tuple(groups))


def _kinds(
    equations: Sequence[Residual], many: int, d: int
) -> tuple[tuple[int, ...], tuple[bool, ...], tuple[bool, ...]] | None:
    """The highest derivatives, and which unknowns and equations are those of a pressure.

    Those have first derivatives where the others have second ones, and there is an equation without them, of
    first derivatives, for each: ∇·u = 0.
    """
    each = [
        tuple(max((j.alpha[i] for e in equations for j in e.jets if j.unknown == k), default=0) for i in range(d))
        for k in range(many)
    ]
    orders = tuple(max(m[i] for m in each) for i in range(d))
    light = tuple(m != orders for m in each)
    if min(orders) < 1:
        return None
    weak = tuple(
        any(light) and all(sum(j.alpha) <= 1 and not light[j.unknown] for j in e.jets) for e in equations
    )
    if any(light) and (
        any(o != 2 for o in orders)
        or any(m != (1,) * d for m, is_light in zip(each, light, strict=True) if is_light)
        or weak.count(True) != light.count(True)
    ):
        return None
    return orders, light, weak


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
    tables: tuple[tuple[dict[int, Array], ...], ...] = field(repr=False)
    """Of each unknown ∂^k of its functions along each axis at the points, (points, functions)."""
    lines: tuple[Array, ...] = field(repr=False)
    """The points along each axis."""
    normal: tuple[float, ...]

    @classmethod
    def at(
        cls, r: Residual, lines: tuple[Array, ...], spaces: Sequence[Sequence[Splines]], normal: tuple[float, ...]
    ) -> Group:
        tables = []
        for unknown, axes in enumerate(spaces):
            orders = [{j.alpha[i] for j in r.jets if j.unknown == unknown} | {0} for i in range(len(axes))]
            tables.append(
                tuple(
                    {k: a.tabled(t, k) for k in wanted}
                    for a, t, wanted in zip(axes, lines, orders, strict=True)
                )
            )
        return cls(r, tuple(tables), lines, normal)

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
    def terms(self) -> tuple[tuple[int, MultiIndex], ...]:
        """The unknown and the derivative of each term, those with known coefficients first."""
        return tuple((j.unknown, j.alpha) for j in self.residual.jets)

    def jets(self, parts: Sequence[Array]) -> list[Array]:
        """∂^α u of each term at the points, for coefficients of each unknown; what two share is made once."""
        found: dict[tuple[int, MultiIndex], Array] = {}
        for unknown in {k for k, _ in self.terms}:
            alphas = {alpha for k, alpha in self.terms if k == unknown}
            done: dict[MultiIndex, Array] = {(): parts[unknown]}
            for i in range(len(self.lines)):
                for start in {alpha[: i + 1] for alpha in alphas}:
                    done[start] = along(self.tables[unknown][i][start[i]], done[start[:i]], i)
                for start in {alpha[:i] for alpha in alphas}:
                    del done[start]
            found |= {(unknown, alpha): done[alpha] for alpha in alphas}
        return [found[term] for term in self.terms]

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

    rows: Rows
    coefficients: tuple[Array, ...] = field(repr=False)

    def __call__(self, U: Array) -> list[Array]:
        out = []
        parts = self.rows.parts(U)
        for g, a in zip(self.rows.groups, self.coefficients, strict=True):
            jets = g.jets(parts)
            total = a[0] * jets[0]
            for c, jet in zip(a[1:], jets[1:], strict=True):
                total += c * jet
            out.append(total)
        return self.rows.with_single(out, U, 0.0)


@dataclass(frozen=True)
class Rows:
    """All statements of a problem at the points that products of functions along the axes need.

    What is asked once, of an unknown that the others leave free, brings one number more: a
    source that all equations of one kind share, without which they would contradict each other by what is not
    resolved.
    """

    boxed: Boxed
    axes: tuple[Splines, ...]
    spaces: tuple[tuple[Splines, ...], ...]
    """The functions along the axes, of each unknown."""
    groups: tuple[Group, ...]
    """The equations, and the conditions on the sides."""

    @cached_property
    def starts(self) -> tuple[int, ...]:
        """Where the coefficients of each unknown begin, and where all end."""
        counts = [math.prod(a.functions for a in axes) for axes in self.spaces]
        return tuple(np.cumsum([0, *counts]).tolist())

    @property
    def shape(self) -> tuple[int]:
        return (self.starts[-1] + (1 if self.boxed.single else 0),)

    @cached_property
    def shared(self) -> tuple[float, ...]:
        """What the number that is one more is multiplied by in each equation."""
        if any(self.boxed.weak):
            return tuple(float(weak) for weak in self.boxed.weak)
        return tuple(1.0 / (k + 1) for k in range(len(self.boxed.equations)))

    @cached_property
    def single(self) -> tuple[Array, float]:
        """What is asked once, as a row of coefficients and what is left of it at zero."""
        row, value = np.zeros(self.starts[-1]), 0.0
        domain = self.boxed.domain
        assert domain is not None
        for r in self.boxed.single:
            for points in self._points(r, domain):
                data = r.known_data(points.sites[0])
                value += float(np.sum(points.summed(r.rest(points.sites[0], points.normals, data, _NO_JETS))))
                for jet, c in zip(r.linear, r.coefficients(points.sites[0], points.normals, data), strict=True):
                    weights = np.ones(len(c)) if points.weights is None else points.weights.ravel()
                    first, second = (
                        a.at(points.sites[0][:, i], jet.alpha[i]) for i, a in enumerate(self.spaces[jet.unknown])
                    )
                    made = first.T @ ((weights * c)[:, None] * second)
                    row[self.starts[jet.unknown] : self.starts[jet.unknown + 1]] += made.ravel()
        return row, value

    def _points(self, r: Residual, domain: Domain) -> list[PointSet]:
        if not r.region.is_sum:
            return [r.region.place(domain, Points(1, 1), np.random.default_rng(0))]
        edges = [np.array(a.edges) for a in self.axes]
        boxes = [
            np.array([[e[i], e[i + 1]] for e, i in zip(edges, which, strict=True)])
            for which in product(*(range(len(e) - 1) for e in edges))
        ]
        nodes = math.prod(a.size for a in self.axes)
        return [p for box in boxes if len(p := place_in(r.region, domain, box, nodes))]

    def with_single(self, left: list[Array], U: Array, constant: float) -> list[Array]:
        """The rows with the number that is one more, and the row that is one more."""
        if not self.boxed.single:
            return left
        for i, share in enumerate(self.shared):
            left[i] = left[i] + share * U[-1]
        return [*left, np.array([self.single[0] @ U[:-1] + constant])]

    def parts(self, U: Array) -> list[Array]:
        """The coefficients of each unknown along the axes."""
        return [
            U[low:high].reshape([a.functions for a in axes])
            for axes, low, high in zip(self.spaces, self.starts, self.starts[1:], strict=False)
        ]

    def whole(self, parts: Sequence[Array]) -> Array:
        """The same in one."""
        more = [np.zeros(1)] if self.boxed.single else []
        return np.concatenate([*(part.ravel() for part in parts), *more])

    def residual(self, U: Array) -> tuple[list[Array], Linear]:
        """What is left of each statement, and how it changes with U."""
        left, slopes = [], []
        parts = self.parts(U)
        for g in self.groups:
            known = len(g.residual.linear)
            jets = g.jets(parts)
            total = g.rest(jets[known:])
            for c, jet in zip(g.known, jets, strict=False):
                total = total + c * jet
            left.append(total)
            bent = len(jets) > known
            slopes.append(np.concatenate([g.known, g.slopes(jets[known:])]) if bent else g.known)
        constant = self.single[1] if self.boxed.single else 0.0
        return self.with_single(left, U, constant), Linear(self, tuple(slopes))

    def sizes(self, U: Array) -> Array:
        """max|u| of each unknown, at the products of all points of its axes."""
        return np.array(
            [
                np.abs(_along([a.values[0] for a in axes], V)).max(initial=0.0)
                for axes, V in zip(self.spaces, self.parts(U), strict=True)
            ]
        )

    def interpolated(self, values: Sequence[Array]) -> Array:
        """U from the values of each unknown at these points."""
        return self.whole(
            [
                _along([a.from_values for a in axes], V)
                for axes, V in zip(self.spaces, values, strict=True)
            ]
        )

    def in_pieces(self, U: Array) -> list[Array]:
        """The coefficients of each unknown in the pieces, (P₁, n₁, P₂, n₂, …)."""
        return [
            _along([a.smooth for a in axes], V).reshape([k for a in axes for k in (a.pieces, a.size)])
            for axes, V in zip(self.spaces, self.parts(U), strict=True)
        ]


def _along(matrices: Sequence[Array], U: Array) -> Array:
    for i, M in enumerate(matrices):
        U = along(M, U, i)
    return U
