r"""Σ_j a_j(x) ∂^{α_j} u + ρ(x, u, …) = 0 at the points of a product of lines: the rows of a problem on a box.

Each unknown is a product of smooth piecewise polynomials along the axes (`basis.polynomials.splines`);
equations are held at the products of Gauss's points, conditions on the sides at the products of those and
the ends. No matrix of all rows is ever made: a derivative is one small matrix along each axis.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import product

import numpy as np

from pibls.arrays import Array, MultiIndex
from pibls.assembly.placing import place_in
from pibls.assembly.points import Points, PointSet
from pibls.assembly.tensor_products.boxed import Boxed
from pibls.basis.polynomials.splines import Splines
from pibls.caching import cached_property
from pibls.geometry import Domain
from pibls.linalg.kronecker import along
from pibls.problem.forms.lowering import Residual

_NO_JETS = np.empty((0, 0))


@dataclass(frozen=True)
class ProductStatement:
    """One statement at a product of points along the axes."""

    residual: Residual
    tables: tuple[tuple[dict[int, Array], ...], ...] = field(repr=False)
    """Of each unknown ∂^k of its functions along each axis at the points, (points, functions)."""
    lines: tuple[Array, ...] = field(repr=False)
    """The points along each axis."""
    normal: tuple[float, ...]

    @classmethod
    def at(
        cls,
        r: Residual,
        lines: tuple[Array, ...],
        spaces: Sequence[Sequence[Splines]],
        normal: tuple[float, ...],
    ) -> ProductStatement:
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

    rows: ProductRows
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
class ProductRows:
    """All statements of a problem at the points that products of functions along the axes need.

    What is asked once, of an unknown that the others leave free, brings one number more: a
    source that all equations of one kind share, without which they would contradict each other by what is not
    resolved.
    """

    boxed: Boxed
    axes: tuple[Splines, ...]
    spaces: tuple[tuple[Splines, ...], ...]
    """The functions along the axes, of each unknown."""
    groups: tuple[ProductStatement, ...]
    """The equations, and the conditions on the sides."""

    @classmethod
    def of(cls, boxed: Boxed, axes: Sequence[Splines]) -> ProductRows:
        """For functions along the axes."""
        light = tuple(a.lighter for a in axes) if any(boxed.light) else ()
        spaces = tuple(light if is_light else tuple(axes) for is_light in boxed.light)
        groups = []
        for r, weak in zip(boxed.equations, boxed.weak, strict=True):
            lines = tuple(a.joined for a in light) if weak else tuple(a.nodes for a in axes)
            groups.append(ProductStatement.at(r, lines, spaces, (0.0,) * len(axes)))
        for s in boxed.sides:
            level = np.array([axes[s.axis].edges[-s.end]])
            lines = tuple(level if i == s.axis else a.traced for i, a in enumerate(axes))
            normal = tuple(2.0 * s.end - 1.0 if i == s.axis else 0.0 for i in range(len(axes)))
            groups.append(ProductStatement.at(s.residual, lines, spaces, normal))
        return cls(boxed, tuple(axes), spaces, tuple(groups))

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
                X, normals = points.sites[0], points.normals
                data = r.known_data(X)
                value += float(np.sum(points.summed(r.rest(X, normals, data, _NO_JETS))))
                for jet, c in zip(r.linear, r.coefficients(X, normals, data), strict=True):
                    weights = np.ones(len(c)) if points.weights is None else points.weights.ravel()
                    first, second = (
                        a.at(X[:, i], jet.alpha[i]) for i, a in enumerate(self.spaces[jet.unknown])
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
            [_along([a.from_values for a in axes], V) for axes, V in zip(self.spaces, values, strict=True)]
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
