r"""Tensor-product spline collocation of a problem on a box: Σ_j a_j(x) ∂^{α_j} u + ρ(x, u, …) = 0.

Each unknown is a tensor product of smooth piecewise polynomials (`basis.polynomials.splines`). Equations are
collocated at the tensor grid of Gauss points, conditions on the sides at the products of these and the ends.
The full matrix is never formed: a derivative is one small matrix along each axis.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import product

import numpy as np

from pibls.arrays import Array, MultiIndex
from pibls.assembly.cell_points import place_in_cell
from pibls.assembly.points import Points, PointSet
from pibls.assembly.tensor_products.box_problem import BoxCondition, BoxProblem
from pibls.basis.polynomials.splines import Splines
from pibls.geometry import Domain
from pibls.linalg.kronecker import apply_along
from pibls.problem.forms.compilation import Residual
from pibls.runtime.caching import cached_property

_NO_DERIVATIVES = np.empty((0, 0))


@dataclass(frozen=True)
class ProductStatement:
    """An equation or a condition on a tensor grid of points."""

    residual: Residual
    tables: tuple[tuple[dict[int, Array], ...], ...] = field(repr=False)
    """Per unknown and axis ∂^k of the functions at the points, (points, functions)."""
    axis_points: tuple[Array, ...] = field(repr=False)
    """The points along each axis."""
    normal: tuple[float, ...]

    @classmethod
    def at(
        cls,
        r: Residual,
        axis_points: tuple[Array, ...],
        spaces: Sequence[Sequence[Splines]],
        normal: tuple[float, ...],
    ) -> ProductStatement:
        tables = []
        for unknown, axes in enumerate(spaces):
            orders = [
                {j.alpha[i] for j in r.derivatives if j.unknown == unknown} | {0} for i in range(len(axes))
            ]
            tables.append(
                tuple(
                    {k: a.tabulate(t, k) for k in wanted}
                    for a, t, wanted in zip(axes, axis_points, orders, strict=True)
                )
            )
        return cls(r, tuple(tables), axis_points, normal)

    @classmethod
    def on_side(
        cls, side: BoxCondition, axes: Sequence[Splines], spaces: Sequence[Sequence[Splines]]
    ) -> ProductStatement:
        """Return a condition at the end of one axis and the interpolation points of the others."""
        level = np.array([axes[side.axis].edges[-side.end]])
        axis_points = tuple(level if i == side.axis else a.interpolation_points for i, a in enumerate(axes))
        normal = tuple(2.0 * side.end - 1.0 if i == side.axis else 0.0 for i in range(len(axes)))
        return cls.at(side.residual, axis_points, spaces, normal)

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(len(x) for x in self.axis_points)

    @cached_property
    def X(self) -> Array:
        """All points, (n, d)."""
        return np.stack(np.meshgrid(*self.axis_points, indexing="ij"), -1).reshape(-1, len(self.axis_points))

    @cached_property
    def normals(self) -> Array:
        return np.broadcast_to(np.array(self.normal), self.X.shape)

    @cached_property
    def data(self) -> Array:
        return self.residual.data_function_values(self.X)

    @cached_property
    def coefficients(self) -> Array:
        """Coefficients of the linear terms, (terms, …)."""
        return self.residual.coefficients(self.X, self.normals, self.data).reshape(-1, *self.shape)

    @property
    def terms(self) -> tuple[tuple[int, MultiIndex], ...]:
        """The unknown and the derivative of each term, linear terms first."""
        return tuple((j.unknown, j.alpha) for j in self.residual.derivatives)

    def derivatives(self, parts: Sequence[Array]) -> list[Array]:
        """Return ∂^α u of each term at the points, for the coefficients of each unknown."""
        found: dict[tuple[int, MultiIndex], Array] = {}
        for unknown in {k for k, _ in self.terms}:
            alphas = {alpha for k, alpha in self.terms if k == unknown}
            done: dict[MultiIndex, Array] = {(): parts[unknown]}
            for i in range(len(self.axis_points)):
                for start in {alpha[: i + 1] for alpha in alphas}:
                    done[start] = apply_along(self.tables[unknown][i][start[i]], done[start[:i]], i)
                for start in {alpha[:i] for alpha in alphas}:
                    del done[start]
            found |= {(unknown, alpha): done[alpha] for alpha in alphas}
        return [found[term] for term in self.terms]

    def rest(self, derivatives: Sequence[Array]) -> Array:
        """Return ρ at the points."""
        J = np.array([j.ravel() for j in derivatives]).reshape(len(derivatives), len(self.X))
        return self.residual.rest(self.X, self.normals, self.data, J).reshape(self.shape)

    def partials(self, derivatives: Sequence[Array]) -> Array:
        """Return ∂ρ/∂J at the points, (terms, …)."""
        J = np.array([j.ravel() for j in derivatives]).reshape(len(derivatives), len(self.X))
        return self.residual.partials(self.X, self.normals, self.data, J).reshape(-1, *self.shape)


@dataclass(frozen=True)
class ProductOperator:
    """Linearized operator: Σ_j a_j ∂^{α_j} at the points of each statement."""

    system: ProductSystem
    coefficients: tuple[Array, ...] = field(repr=False)

    def __call__(self, U: Array) -> list[Array]:
        out = []
        parts = self.system.parts(U)
        for g, a in zip(self.system.statements, self.coefficients, strict=True):
            derivatives = g.derivatives(parts)
            total = a[0] * derivatives[0]
            for c, derivative in zip(a[1:], derivatives[1:], strict=True):
                total += c * derivative
            out.append(total)
        return self.system.with_scalar_row(out, U, 0.0)


@dataclass(frozen=True)
class ProductSystem:
    """All equations and conditions of a problem on the tensor grids that a spline space needs.

    A scalar condition, which fixes an otherwise free constant, adds one unknown number: a source that all
    equations of one kind share. Without it the discrete equations would contradict each other by the
    discretization error.
    """

    box_problem: BoxProblem
    axes: tuple[Splines, ...]
    spaces: tuple[tuple[Splines, ...], ...]
    """The functions along the axes, of each unknown."""
    statements: tuple[ProductStatement, ...]
    """The equations, and the conditions on the sides."""

    @classmethod
    def of(cls, box_problem: BoxProblem, axes: Sequence[Splines]) -> ProductSystem:
        """Build the system for splines along the axes."""
        light = tuple(a.pressure_splines for a in axes) if any(box_problem.is_pressure) else ()
        spaces = tuple(light if is_light else tuple(axes) for is_light in box_problem.is_pressure)
        groups = []
        for r, weak in zip(box_problem.equations, box_problem.is_constraint, strict=True):
            axis_points = tuple(a.pressure_points for a in light) if weak else tuple(a.nodes for a in axes)
            groups.append(ProductStatement.at(r, axis_points, spaces, (0.0,) * len(axes)))
        groups += [ProductStatement.on_side(s, axes, spaces) for s in box_problem.sides]
        return cls(box_problem, tuple(axes), spaces, tuple(groups))

    @cached_property
    def offsets(self) -> tuple[int, ...]:
        """Index of the first coefficient of each unknown, and the total number."""
        counts = [math.prod(a.dimension for a in axes) for axes in self.spaces]
        return tuple(np.cumsum([0, *counts]).tolist())

    @property
    def shape(self) -> tuple[int]:
        return (self.offsets[-1] + (1 if self.box_problem.scalar_conditions else 0),)

    @cached_property
    def source_weights(self) -> tuple[float, ...]:
        """Factor of the additional source in each equation."""
        if any(self.box_problem.is_constraint):
            return tuple(float(weak) for weak in self.box_problem.is_constraint)
        return tuple(1.0 / (k + 1) for k in range(len(self.box_problem.equations)))

    @cached_property
    def scalar_row(self) -> tuple[Array, float]:
        """The scalar condition as a row of coefficients, and its residual at zero."""
        row, value = np.zeros(self.offsets[-1]), 0.0
        domain = self.box_problem.domain
        assert domain is not None
        for r in self.box_problem.scalar_conditions:
            for points in self._points(r, domain):
                X, normals = points.sites[0], points.normals
                data = r.data_function_values(X)
                value += float(np.sum(points.summed(r.rest(X, normals, data, _NO_DERIVATIVES))))
                for derivative, c in zip(r.linear, r.coefficients(X, normals, data), strict=True):
                    weights = np.ones(len(c)) if points.weights is None else points.weights.ravel()
                    first, second = (
                        a.evaluate(X[:, i], derivative.alpha[i])
                        for i, a in enumerate(self.spaces[derivative.unknown])
                    )
                    made = first.T @ ((weights * c)[:, None] * second)
                    row[self.offsets[derivative.unknown] : self.offsets[derivative.unknown + 1]] += (
                        made.ravel()
                    )
        return row, value

    def _points(self, r: Residual, domain: Domain) -> list[PointSet]:
        if not r.region.is_integral:
            return [r.region.sample(domain, Points(1, 1), np.random.default_rng(0))]
        edges = [np.array(a.edges) for a in self.axes]
        boxes = [
            np.array([[e[i], e[i + 1]] for e, i in zip(edges, which, strict=True)])
            for which in product(*(range(len(e) - 1) for e in edges))
        ]
        nodes = math.prod(a.size for a in self.axes)
        return [p for box in boxes if len(p := place_in_cell(r.region, domain, box, nodes))]

    def with_scalar_row(self, left: list[Array], U: Array, constant: float) -> list[Array]:
        """Return the rows with the additional source, and the row of the scalar condition."""
        if not self.box_problem.scalar_conditions:
            return left
        for i, share in enumerate(self.source_weights):
            left[i] = left[i] + share * U[-1]
        return [*left, np.array([self.scalar_row[0] @ U[:-1] + constant])]

    def parts(self, U: Array) -> list[Array]:
        """Return the coefficients of each unknown as a tensor over the axes."""
        return [
            U[low:high].reshape([a.dimension for a in axes])
            for axes, low, high in zip(self.spaces, self.offsets, self.offsets[1:], strict=False)
        ]

    def join(self, parts: Sequence[Array]) -> Array:
        """Return the coefficients of all unknowns as one vector."""
        more = [np.zeros(1)] if self.box_problem.scalar_conditions else []
        return np.concatenate([*(part.ravel() for part in parts), *more])

    def residual(self, U: Array) -> tuple[list[Array], ProductOperator]:
        """Return the residual of each statement, and its linearization about U."""
        left, slopes = [], []
        parts = self.parts(U)
        for g in self.statements:
            known = len(g.residual.linear)
            derivatives = g.derivatives(parts)
            total = g.rest(derivatives[known:])
            for c, derivative in zip(g.coefficients, derivatives, strict=False):
                total = total + c * derivative
            left.append(total)
            is_nonlinear = len(derivatives) > known
            slopes.append(
                np.concatenate([g.coefficients, g.partials(derivatives[known:])])
                if is_nonlinear
                else g.coefficients
            )
        constant = self.scalar_row[1] if self.box_problem.scalar_conditions else 0.0
        return self.with_scalar_row(left, U, constant), ProductOperator(self, tuple(slopes))

    def max_magnitudes(self, U: Array) -> Array:
        """Return max|u| of each unknown on its tensor grid."""
        return np.array(
            [
                np.abs(_along([a.values[0] for a in axes], V)).max(initial=0.0)
                for axes, V in zip(self.spaces, self.parts(U), strict=True)
            ]
        )

    def interpolated(self, values: Sequence[Array]) -> Array:
        """Return U from the values of each unknown on its tensor grid."""
        return self.join(
            [_along([a.from_values for a in axes], V) for axes, V in zip(self.spaces, values, strict=True)]
        )

    def piecewise_coefficients(self, U: Array) -> list[Array]:
        """Return the coefficients of each unknown per spline interval, (P₁, n₁, P₂, n₂, …)."""
        return [
            _along([a.smooth_basis for a in axes], V).reshape(
                [k for a in axes for k in (a.intervals, a.size)]
            )
            for axes, V in zip(self.spaces, self.parts(U), strict=True)
        ]


def _along(matrices: Sequence[Array], U: Array) -> Array:
    for i, M in enumerate(matrices):
        U = apply_along(M, U, i)
    return U
