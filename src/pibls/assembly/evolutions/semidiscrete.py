r"""Spatial collocation of an evolution: r(∂_t^a u, ∂_x^α u) = 0 at points in space and at given times.

In space the solution is a chain of cells with polynomials in each, or one cell with polynomials or Fourier
modes along each coordinate. Per cell and equation there are as many points as functions, less the number of
continuity conditions; with the boundary conditions that gives as many rows as columns in one dimension, and
more in the plane. The tables of the functions at the points are computed once and shared by all times.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from pibls.arrays import Array, Indices, MultiIndex
from pibls.assembly.evolutions.fourier_modes import FourierModes
from pibls.assembly.evolutions.tensor_layout import TensorLayout
from pibls.linalg.shifted import DensePencil, SparsePencil
from pibls.problem import PartialDerivative
from pibls.problem.forms.compilation import Residual
from pibls.runtime.caching import cached_property
from pibls.runtime.deadline import check_deadline

Term = tuple[int, int, MultiIndex, int]
"""(site, unknown, derivatives in space, derivatives in time)."""


@dataclass(frozen=True)
class Site:
    """Points in cells: the same number for each entry of ``cells``, and the tables of the functions there."""

    cells: Indices | None
    """None: every cell, in order."""
    points: Array
    """(entries, N, d); their time coordinate is not used."""
    tables: Callable[[MultiIndex], Array] = field(repr=False)
    """Returns ∂^α of the functions of the cell, (entries, N, n)."""
    fast_sums: Callable[[MultiIndex, Array], Array] | None = field(default=None, repr=False)
    """Evaluates ∂^α of expansions without a table: (α, (entries, …, n, m)) ↦ (entries, …, N, m)."""

    def sums(self, alpha: MultiIndex, u: Array) -> Array:
        """Return ∂^α Σ u_i f_i at the points, u (entries, …, n, m) ↦ (entries, …, N, m)."""
        if self.fast_sums is not None:
            return self.fast_sums(alpha, u)
        table = self.tables(alpha)
        shaped = table.reshape(len(table), *(1,) * (u.ndim - 3), *table.shape[1:])
        return np.asarray(np.matmul(shaped, u))

    def select_cells(self, u: Array) -> Array:
        """Return the coefficients (cells, …) of the cells of the entries."""
        return u if self.cells is None else u[self.cells]


@dataclass(frozen=True)
class StatementAtTimes:
    """A statement at given times: coefficients (terms, rows, times), and ρ(J) with its derivatives."""

    coefficients: Array
    rest: Callable[[Array], Array]
    """(terms, rows, times) ↦ (rows, times)."""
    partials: Callable[[Array], Array]
    """(terms, rows, times) ↦ (terms, rows, times)."""


@dataclass(frozen=True)
class SemidiscreteStatement:
    """An equation or a condition at all of its points in space."""

    name: str
    sites: tuple[Site, ...]
    terms: tuple[Term, ...]
    """Linear terms first, then the nonlinear ones."""
    linear_count: int
    at: Callable[[Array], StatementAtTimes] = field(repr=False)
    """Returns the statement at given times."""
    weights: Array | None = field(default=None, repr=False)
    """Quadrature weights of an integral: all points form one row, which statements of one name share."""

    @property
    def shape(self) -> tuple[int, int]:
        entries, n, _ = self.sites[0].points.shape
        return entries, n

    @property
    def points(self) -> int:
        return int(np.prod(self.shape))

    @property
    def rows(self) -> int:
        return self.points if self.weights is None else 1

    def summed(self, values: Array) -> Array:
        """Map values (points, …) to those of the rows, (rows, …)."""
        return values if self.weights is None else np.tensordot(self.weights, values, 1)[None]

    def per_point(self, size: Callable[[Term], Array]) -> Array:
        """Return a size per term, given per entry or per point, as (terms, points, 1)."""
        each = (size(term) for term in self.terms)
        found = np.array([np.repeat(values, self.points // len(values)) for values in each])
        return found.reshape(len(self.terms), self.points, 1)

    def cell_blocks(self, block: Array, site: Site, cells: int) -> tuple[Indices, Array]:
        """Map (entries, N, columns) at the points to the cells and (cells, rows of each, columns)."""
        owners = np.arange(cells) if site.cells is None else site.cells
        if self.weights is None:
            return owners, block
        found, where = np.unique(owners, return_inverse=True)
        out = np.zeros((len(found), block.shape[2]))
        np.add.at(out, where, (self.weights.reshape(self.shape)[:, :, None] * block).sum(axis=1))
        return found, out[:, None, :]


def semidiscrete_statement(
    residual: Residual, sites: tuple[Site, ...], normals: Array, axis: int
) -> SemidiscreteStatement:
    """Return the rows of a residual at points, with the coordinate ``axis`` as time."""
    X = sites[0].points.reshape(-1, sites[0].points.shape[-1])
    rows = len(X)

    def term(j: PartialDerivative) -> Term:
        return j.site, j.unknown, without_axis(j.alpha, axis), j.alpha[axis]

    def at(times: Array) -> StatementAtTimes:
        s = len(times)
        Y = np.repeat(X, s, axis=0)
        Y[:, axis] = np.tile(times, rows)
        N = np.repeat(normals.reshape(-1, X.shape[1]), s, axis=0)
        data = residual.data_function_values(Y)
        return StatementAtTimes(
            residual.coefficients(Y, N, data).reshape(-1, rows, s),
            lambda J: residual.rest(Y, N, data, J.reshape(-1, rows * s)).reshape(rows, s),
            lambda J: residual.partials(Y, N, data, J.reshape(-1, rows * s)).reshape(-1, rows, s),
        )

    terms = tuple(map(term, (*residual.linear, *residual.nonlinear)))
    return SemidiscreteStatement(residual.name, sites, terms, len(residual.linear), at)


def without_axis(alpha: MultiIndex, axis: int) -> MultiIndex:
    """Return the derivatives in space: ``alpha`` without the time axis."""
    return tuple(a for i, a in enumerate(alpha) if i != axis)


@dataclass(frozen=True)
class SemidiscreteSystem:
    """All equations and conditions of an evolution at their points in space."""

    cells: int
    unknowns: int
    functions: int
    """Number n of functions of each unknown in each cell."""
    statements: tuple[SemidiscreteStatement, ...]
    time_order: int
    """The highest time derivative."""
    fourier_modes: FourierModes | None = None
    """Fourier modes, if all space coordinates are periodic and there are no other conditions."""
    layout: TensorLayout | None = None
    """Layout, if the rows are tensor products of points along the coordinates of a box."""

    @property
    def coefficient_shape(self) -> tuple[int, int, int]:
        """Cells, unknowns, functions."""
        return self.cells, self.unknowns, self.functions

    @property
    def columns(self) -> int:
        return self.cells * self.unknowns * self.functions

    @cached_property
    def first_rows(self) -> tuple[int, ...]:
        """The first row of each statement, and the total number of rows."""
        out, sums, total = list[int](), dict[str, int](), 0
        for g in self.statements:
            known = None if g.weights is None else sums.get(g.name)
            out.append(total if known is None else known)
            if known is None:
                sums[g.name] = total
                total += g.rows
        return (*out, total)

    @property
    def rows(self) -> int:
        return self.first_rows[-1]

    @property
    def is_linear(self) -> bool:
        return all(g.linear_count == len(g.terms) for g in self.statements)

    def term_values(
        self,
        statement: SemidiscreteStatement,
        rates: Sequence[Array],
        terms: Sequence[Term],
        cache: dict[tuple[int, int, MultiIndex, int], Array] | None = None,
    ) -> Array:
        """Return terms of a statement, (terms, rows, times), for coefficients (cells, unknowns, n, times).

        ``known`` caches values that statements at the same points share.
        """
        out = np.empty((len(terms), statement.points, rates[0].shape[-1]))
        cache = {} if cache is None else cache
        for i, (site, k, alpha, a) in enumerate(terms):
            place = statement.sites[site]
            key = id(place), k, alpha, a
            if key not in cache:
                cache[key] = place.sums(alpha, place.select_cells(rates[a][:, k])).reshape(
                    statement.points, -1
                )
            out[i] = cache[key]
        return out

    def blocks(self, weights: Sequence[Array]) -> Iterator[tuple[Indices, Indices, int, Array]]:
        """Yield (rows, cells, a, block (entries, N, columns of a cell)): the contributions to M_a."""
        n = self.functions
        for g, W, first in zip(self.statements, weights, self.first_rows, strict=False):
            entries, N = g.shape
            found: dict[tuple[int, int], Array] = {}
            for (site, k, alpha, a), w in zip(g.terms, W, strict=True):
                check_deadline()
                block = found.setdefault((site, a), np.zeros((entries, N, n * self.unknowns)))
                block[:, :, k * n : (k + 1) * n] += w.reshape(entries, N, 1) * g.sites[site].tables(alpha)
            for (site, a), block in found.items():
                cells, made = g.cell_blocks(block, g.sites[site], self.cells)
                rows = np.full(len(made), first) if g.weights is not None else first + np.arange(g.rows)
                yield rows.reshape(made.shape[:2]), cells, a, made

    @cached_property
    def pattern(self) -> tuple[Indices, Indices, list[Indices]]:
        """Sparsity pattern in CSC form: column starts, rows of the entries, and positions of each block."""
        width = self.functions * self.unknowns
        keys = []
        for rows, cells, _, _ in self.blocks([np.ones((len(g.terms), g.points)) for g in self.statements]):
            columns = (cells[:, None] * width + np.arange(width))[:, None, :]
            keys.append((columns * self.rows + rows[:, :, None]).ravel())
        found, inverse = np.unique(np.concatenate(keys), return_inverse=True)
        starts = np.searchsorted(found, np.arange(self.columns + 1) * self.rows)
        ends = np.cumsum([len(k) for k in keys])
        # The integer type that SuperLU takes.
        return starts.astype(np.intc), (found % self.rows).astype(np.intc), np.split(inverse, ends[:-1])

    def at(self, times: Array) -> SystemAtTimes:
        """Return the statements at given times."""
        return SystemAtTimes(self, tuple(g.at(times) for g in self.statements))


@dataclass(frozen=True)
class SystemAtTimes:
    """The equations and conditions of an evolution at given times."""

    system: SemidiscreteSystem
    statements: tuple[StatementAtTimes, ...] = field(repr=False)

    def residual(self, rates: Sequence[Array]) -> Array:
        """Return r, (rows, times), for ∂_t^a u as arrays (cells, unknowns, n, times)."""
        out = np.zeros((self.system.rows, rates[0].shape[-1]))
        known: dict[tuple[int, int, MultiIndex, int], Array] = {}
        for g, at_times, first in zip(
            self.system.statements, self.statements, self.system.first_rows, strict=False
        ):
            J = self.system.term_values(g, rates, g.terms, known)
            found = at_times.rest(J[g.linear_count :]) + (at_times.coefficients * J[: g.linear_count]).sum(
                axis=0
            )
            out[first : first + g.rows] += g.summed(found)
        return out

    def scaled_residuals(
        self,
        rates: Sequence[Array],
        natural: Callable[[Term], Array],
        noise: Callable[[Term], Array] | None = None,
    ) -> list[tuple[Array, Array]]:
        """Return for each statement r and the size of its largest term, both (rows, times).

        ``natural`` gives a lower bound of a term in each entry, for a function that varies over a cell or a
        time window: the residual relative to it estimates the error there. ``noise`` is the uncertainty of a
        term; only the part of r above it counts.
        """
        out = []
        for g, at_times in zip(self.system.statements, self.statements, strict=True):
            J = self.system.term_values(g, rates, g.terms)
            rest, parts = at_times.rest(J[g.linear_count :]), at_times.coefficients * J[: g.linear_count]
            slopes = np.concatenate([at_times.coefficients, at_times.partials(J[g.linear_count :])])
            least = np.maximum(np.abs(J), g.per_point(natural))
            r = g.summed(rest + parts.sum(axis=0))
            if noise is not None:
                off = (np.abs(slopes) * g.per_point(noise)).sum(axis=0)
                r = np.sign(r) * np.maximum(np.abs(r) - (off if g.weights is None else 0.0), 0.0)
            sizes = np.maximum(np.nan_to_num(np.abs(slopes) * least).max(axis=0, initial=0.0), np.abs(rest))
            if g.weights is not None:
                sizes = (np.abs(g.weights) @ sizes)[None]
            out.append((r, sizes))
        return out

    def directional_derivative(
        self, rates: Sequence[Array], statement_count: int
    ) -> Callable[[Sequence[Array]], Array]:
        """Return the linear map from changes of ∂_t^a u to changes of the first rows, (rows, times)."""
        some = self.system.statements[:statement_count]
        weights = []
        for g, at_times in zip(some, self.statements, strict=False):
            W = at_times.coefficients
            if len(g.terms) > g.linear_count:
                W = np.concatenate(
                    [W, at_times.partials(self.system.term_values(g, rates, g.terms[g.linear_count :]))]
                )
            weights.append(W)

        def apply(moved: Sequence[Array]) -> Array:
            known: dict[tuple[int, int, MultiIndex, int], Array] = {}
            parts = [
                (W * self.system.term_values(g, moved, g.terms, known)).sum(axis=0)
                for g, W in zip(some, weights, strict=True)
            ]
            return np.concatenate(parts)

        return apply

    def mean_jacobian(self, rates: Sequence[Array]) -> LinearizedOperator:
        """Return ∂r/∂(∂_t^a u), averaged over all times."""
        weights = []
        for g, at_times in zip(self.system.statements, self.statements, strict=True):
            W = at_times.coefficients.mean(axis=-1)
            if len(g.terms) > g.linear_count:
                partials = at_times.partials(self.system.term_values(g, rates, g.terms[g.linear_count :]))
                W = np.concatenate([W, partials.mean(axis=-1)])
            weights.append(W)
        return LinearizedOperator(self.system, weights)

    def has_coefficients(self, weights: Sequence[Array], first: int = 0) -> bool:
        """Whether all coefficients, from statement ``first`` on, equal ``weights`` at every time."""
        return all(
            g.linear_count == len(g.terms) and bool(np.all(at_times.coefficients == W[:, :, None]))
            for g, at_times, W in list(zip(self.system.statements, self.statements, weights, strict=True))[
                first:
            ]
        )


@dataclass(frozen=True)
class LinearizedOperator:
    """Linearized operator Σ_a λ^a M_a, with ∂_t replaced by a number λ."""

    system: SemidiscreteSystem
    weights: list[Array] = field(repr=False)

    def matrices(self) -> DensePencil | SparsePencil:
        """Return M₀, M₁, …, sparse if there is more than one cell."""
        system = self.system
        shape = (system.rows, system.columns)
        blocks = list(system.blocks(self.weights))
        if system.cells == 1:
            out = np.zeros((system.time_order + 1, *shape))
            for rows, _, a, block in blocks:
                out[a, rows.ravel()] += block.reshape(rows.size, -1)
            return DensePencil(tuple(out))
        starts, rows, places = system.pattern
        data = np.zeros((system.time_order + 1, len(rows)))
        for (_, _, a, block), where in zip(blocks, places, strict=True):
            data[a, where] += block.ravel()
        return SparsePencil(shape, starts, rows, data)
