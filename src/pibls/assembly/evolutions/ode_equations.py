r"""Residuals and Jacobians of ordinary differential equations F_e(t, u, u', …) = 0, without assembly.

A time window evaluates the residual and its Jacobian at some forty points, thousands of times. They come
directly from the compiled statements. Rows are the derivatives of the unknowns; coefficients that do not
depend on t are numbers.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from pibls.arrays import Array, Indices
from pibls.problem import PartialDerivative
from pibls.problem.forms.compilation import CompiledProblem, Residual
from pibls.runtime.caching import cached_property


@dataclass(frozen=True)
class OrderGroup:
    """Unknowns of the same order m in time, and the rows of their derivatives."""

    order: int
    unknowns: tuple[int, ...]
    first: int
    """Row of the first unknown; the m + 1 derivatives of each are consecutive."""
    columns: slice
    """Positions of the unknowns in the order of the groups."""

    @property
    def rows(self) -> slice:
        return slice(self.first, self.first + (self.order + 1) * len(self.unknowns))


def group_by_order(orders: tuple[int, ...]) -> tuple[OrderGroup, ...]:
    """Return the unknowns grouped by their order."""
    out, row, column = [], 0, 0
    for m in sorted(set(orders)):
        mine = tuple(k for k, order in enumerate(orders) if order == m)
        out.append(OrderGroup(m, mine, row, slice(column, column + len(mine))))
        row, column = out[-1].rows.stop, column + len(mine)
    return tuple(out)


@dataclass(frozen=True)
class ODETables:
    """The parts of the equations that do not depend on the unknowns, at given times."""

    t: Array
    coefficients: Array
    """Coefficients of the linear terms, (equations, rows, n), or (equations, rows, 1) if independent of t."""
    rest: Array
    """Given terms of the linear equations, (equations, n)."""
    data: tuple[Array, ...]


@dataclass(frozen=True)
class ODESystem:
    """All equations of a problem with one coordinate."""

    residuals: tuple[Residual, ...]
    groups: tuple[OrderGroup, ...]
    nonlinear_rows: tuple[tuple[int, Indices], ...]
    """(equation, rows of its nonlinear derivatives)."""
    linear_rows: tuple[Indices, ...]
    """The rows of the linear derivatives of each equation."""
    rows: int
    derivative_orders: Array
    """The order of the derivative of each row."""
    constant_coefficients: Array | None
    """Coefficients of the linear terms, (equations, rows), if none depends on t."""

    @classmethod
    def of(cls, equations: CompiledProblem, orders: tuple[int, ...], at: float) -> ODESystem:
        groups = group_by_order(orders)
        place = {
            (k, j): g.first + i * (g.order + 1) + j
            for g in groups
            for i, k in enumerate(g.unknowns)
            for j in range(g.order + 1)
        }
        residuals = equations.residuals
        linear = tuple(_places(place, r.linear) for r in residuals)
        nonlinear = tuple((e, _places(place, r.nonlinear)) for e, r in enumerate(residuals) if r.nonlinear)
        by_row = np.concatenate([np.tile(np.arange(g.order + 1.0), len(g.unknowns)) for g in groups])
        constant = _constant_coefficients(residuals, linear, len(place), at)
        return cls(residuals, groups, nonlinear, linear, len(place), by_row, constant)

    @property
    def is_linear(self) -> bool:
        return not self.nonlinear_rows

    @cached_property
    def positions(self) -> Indices:
        """Position of each unknown if the unknowns are ordered group by group."""
        return np.argsort([k for g in self.groups for k in g.unknowns])

    def tables(self, t: Array) -> ODETables:
        """Return the parts that do not depend on the unknowns, at times t."""
        n, count = len(t), len(self.residuals)
        X, normals = t[:, None], np.zeros((n, 1))
        data = tuple(r.data_function_values(X) for r in self.residuals)
        if self.constant_coefficients is not None:
            slopes = self.constant_coefficients[:, :, None]
        else:
            slopes = np.zeros((count, self.rows, n))
            for e, r in enumerate(self.residuals):
                a = r.coefficients(X, normals, data[e])
                for row, c in zip(self.linear_rows[e], a, strict=True):
                    slopes[e, row] += c
        rest = np.zeros((count, n))
        for e, r in enumerate(self.residuals):
            if not r.nonlinear:
                rest[e] = _real(r.rest_function(t, 0.0, *r.parameters, *data[e])[0])
        return ODETables(t, slopes, rest, data)

    def residual(self, tables: ODETables, U: Array) -> Array:
        """Return F (equations, n) for the derivatives U (rows, n)."""
        steady = self.constant_coefficients
        out = steady @ U if steady is not None else np.einsum("ern,rn->en", tables.coefficients, U)
        out += tables.rest
        for e, rows in self.nonlinear_rows:
            r = self.residuals[e]
            value = r.rest_function(tables.t, 0.0, *r.parameters, *tables.data[e], *U[rows])[0]
            out[e] += _real(value)
        return np.asarray(out)

    def jacobian(self, tables: ODETables, U: Array, n: int) -> Array:
        """Return ∂F/∂U (equations, rows, n) at the first n times."""
        out = np.empty((len(self.residuals), self.rows, n))
        out[...] = tables.coefficients[:, :, :n]
        for e, rows in self.nonlinear_rows:
            r = self.residuals[e]
            data = (d[:n] for d in tables.data[e])
            values = r.partials_function(tables.t[:n], 0.0, *r.parameters, *data, *U[rows, :n])
            for row, value in zip(rows, values, strict=True):
                out[e, row] += _real(value)
        return out


def _constant_coefficients(
    residuals: tuple[Residual, ...], linear_rows: tuple[Indices, ...], rows: int, at: float
) -> Array | None:
    """Return the coefficients of the linear terms, (equations, rows); None if one of them depends on t."""
    t = np.full(2, at)  # a coefficient that depends on t is an array when t is one
    out = np.zeros((len(residuals), rows))
    for e, r in enumerate(residuals):
        if r.data:
            return None
        with np.errstate(all="ignore"):
            values = r.coefficient_function(t, 0.0, *r.parameters)
        for row, value in zip(linear_rows[e], values, strict=True):
            if np.ndim(value):
                return None
            out[e, row] += np.real(value)
    return out


def _places(place: dict[tuple[int, int], int], derivatives: Iterable[PartialDerivative]) -> Indices:
    return np.array([place[j.unknown, j.alpha[0]] for j in derivatives], dtype=np.intp)


def _real(value: Any) -> Any:
    """Return the real part; some functions return complex numbers with zero imaginary part."""
    if np.iscomplexobj(value):
        return np.where(np.imag(value) == 0, np.real(value), np.nan)
    return value
