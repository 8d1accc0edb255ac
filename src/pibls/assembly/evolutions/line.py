r"""F_e(t, u, u', …) = 0 at points of a line: the equations of an ordinary problem, with nothing assembled.

A window asks for the residual and its slopes at some forty points, thousands of times. They come straight
from the compiled statements: rows are the derivatives of the unknowns, what does not depend on t is a number.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from pibls.arrays import Array, Numbers
from pibls.problem.forms.lowering import LoweredProblem, Residual


@dataclass(frozen=True)
class Group:
    """Unknowns of the same order m in time, and where their derivatives stand among the rows."""

    order: int
    unknowns: tuple[int, ...]
    first: int
    """The row of the first of them; the m + 1 derivatives of each follow one another."""
    columns: slice
    """Their places among all unknowns, group by group."""

    @property
    def rows(self) -> slice:
        return slice(self.first, self.first + (self.order + 1) * len(self.unknowns))


def grouped(orders: tuple[int, ...]) -> tuple[Group, ...]:
    """The unknowns by their order."""
    out, row, column = [], 0, 0
    for m in sorted(set(orders)):
        mine = tuple(k for k, order in enumerate(orders) if order == m)
        out.append(Group(m, mine, row, slice(column, column + len(mine))))
        row, column = out[-1].rows.stop, column + len(mine)
    return tuple(out)


@dataclass(frozen=True)
class LineTables:
    """What the equations hold at some times, whatever the unknowns are."""

    t: Array
    slopes: Array
    """∂F/∂row of the linear terms, (equations, rows, n), or (equations, rows, 1) where t does not matter."""
    rest: Array
    """The rest of equations that are linear, (equations, n)."""
    data: tuple[Array, ...]


@dataclass(frozen=True)
class Line:
    """All equations of a problem of one coordinate."""

    residuals: tuple[Residual, ...]
    groups: tuple[Group, ...]
    nonlinear: tuple[tuple[int, Numbers], ...]
    """(equation, rows of its nonlinear derivatives)."""
    linear: tuple[Numbers, ...]
    """The rows of the linear ones of each equation."""
    rows: int
    derivatives: Array
    """The order of the derivative of each row."""
    constant: Array | None
    """The slopes of the linear terms, (equations, rows), where none depends on t."""

    @classmethod
    def of(cls, equations: LoweredProblem, orders: tuple[int, ...], at: float) -> Line:
        groups = grouped(orders)
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
        found = cls(residuals, groups, nonlinear, linear, len(place), by_row, None)
        return cls(residuals, groups, nonlinear, linear, len(place), by_row, found._constant(at))

    @property
    def is_linear(self) -> bool:
        return not self.nonlinear

    def _constant(self, at: float) -> Array | None:
        # A coefficient that depends on t is an array when t is one.
        t = np.full(2, at)
        out = np.zeros((len(self.residuals), self.rows))
        for e, r in enumerate(self.residuals):
            if r.data:
                return None
            with np.errstate(all="ignore"):
                values = r._coefficients(t, 0.0, *r.parameters)
            for row, value in zip(self.linear[e], values, strict=True):
                if np.ndim(value):
                    return None
                out[e, row] += np.real(value)
        return out

    def held(self, t: Array) -> LineTables:
        """What does not depend on the unknowns, at these times."""
        n, count = len(t), len(self.residuals)
        X, normals = t[:, None], np.zeros((n, 1))
        data = tuple(r.known_data(X) for r in self.residuals)
        if self.constant is not None:
            slopes = self.constant[:, :, None]
        else:
            slopes = np.zeros((count, self.rows, n))
            for e, r in enumerate(self.residuals):
                a = r.coefficients(X, normals, data[e])
                for row, c in zip(self.linear[e], a, strict=True):
                    slopes[e, row] += c
        rest = np.zeros((count, n))
        for e, r in enumerate(self.residuals):
            if not r.nonlinear:
                rest[e] = _real(r._rest(t, 0.0, *r.parameters, *data[e])[0])
        return LineTables(t, slopes, rest, data)

    def values(self, held: LineTables, U: Array) -> Array:
        """F (equations, n) for the derivatives U (rows, n)."""
        steady = self.constant
        out = steady @ U if steady is not None else np.einsum("ern,rn->en", held.slopes, U)
        out += held.rest
        for e, rows in self.nonlinear:
            r = self.residuals[e]
            value = r._rest(held.t, 0.0, *r.parameters, *held.data[e], *U[rows])[0]
            out[e] += _real(value)
        return np.asarray(out)

    def slopes(self, held: LineTables, U: Array, n: int) -> Array:
        """∂F/∂U (equations, rows, n) at the first n times."""
        out = np.empty((len(self.residuals), self.rows, n))
        out[...] = held.slopes[:, :, :n]
        for e, rows in self.nonlinear:
            r = self.residuals[e]
            data = (d[:n] for d in held.data[e])
            values = r._partials(held.t[:n], 0.0, *r.parameters, *data, *U[rows, :n])
            for row, value in zip(rows, values, strict=True):
                out[e, row] += _real(value)
        return out


def _places(place: dict[tuple[int, int], int], jets: Any) -> Numbers:
    return np.array([place[j.unknown, j.alpha[0]] for j in jets], dtype=np.intp)


def _real(value: Any) -> Any:
    """Some functions answer with complex numbers even where they are real."""
    if np.iscomplexobj(value):
        return np.where(np.imag(value) == 0, np.real(value), np.nan)
    return value
