r"""r(∂_t^a u, ∂_x^α u) = 0 at points in space and at moments in time: the rows of an evolution.

In space the solution is a chain of cells with polynomials in each, or one piece with polynomials or whole
waves along each coordinate. Per cell and equation there are as many points as functions, less the
derivatives that hold the cells together; with the conditions at the ends that makes as many rows as columns
on a line, and more in the plane. The tables of the functions at the points are made once; moments share them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from pibls.arrays import Array, MultiIndex, Numbers
from pibls.assembly.evolutions.frame import Frame
from pibls.assembly.evolutions.modes import Modes
from pibls.caching import cached_property
from pibls.deadline import check_deadline
from pibls.linalg.shifted import Dense, SparseParts
from pibls.problem import Jet
from pibls.problem.forms.lowering import Residual

Term = tuple[int, int, MultiIndex, int]
"""Site, unknown, derivatives in space, derivatives in time."""


@dataclass(frozen=True)
class Site:
    """Points in cells: for each entry of ``cells`` as many points, and the functions' tables there."""

    cells: Numbers | None
    """None: every cell, in order."""
    points: Array
    """(entries, N, d); the time in them has no meaning."""
    tables: Callable[[MultiIndex], Array] = field(repr=False)
    """∂^α of the functions of the cell, (entries, N, n)."""
    quick: Callable[[MultiIndex, Array], Array] | None = field(default=None, repr=False)
    """∂^α of sums of the functions where no table is needed: (α, (entries, …, n, m)) ↦ (entries, …, N, m)."""

    def sums(self, alpha: MultiIndex, u: Array) -> Array:
        """∂^α Σ u_i f_i at the points, u (entries, …, n, m) ↦ (entries, …, N, m)."""
        if self.quick is not None:
            return self.quick(alpha, u)
        table = self.tables(alpha)
        shaped = table.reshape(len(table), *(1,) * (u.ndim - 3), *table.shape[1:])
        return np.asarray(np.matmul(shaped, u))

    def of(self, u: Array) -> Array:
        """The functions (cells, …) of the entries."""
        return u if self.cells is None else u[self.cells]


@dataclass(frozen=True)
class StatementAt:
    """A statement at some times: coefficients (terms, rows, times), and ρ(J) with its slopes."""

    coefficients: Array
    rest: Callable[[Array], Array]
    """(terms, rows, times) ↦ (rows, times)."""
    slopes: Callable[[Array], Array]
    """(terms, rows, times) ↦ (terms, rows, times)."""


@dataclass(frozen=True)
class LineStatement:
    """One statement at all of its points."""

    name: str
    sites: tuple[Site, ...]
    terms: tuple[Term, ...]
    """Those with known coefficients first, then those that the statement is not linear in."""
    known: int
    at: Callable[[Array], StatementAt] = field(repr=False)
    """Its coefficients at some times."""
    weights: Array | None = field(default=None, repr=False)
    """Of an integral: all points make one row, which groups of one name share."""

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
        """Values (points, …) ↦ those of the rows, (rows, …)."""
        return values if self.weights is None else np.tensordot(self.weights, values, 1)[None]

    def each(self, size: Callable[[Term], Array]) -> Array:
        """What terms have in each entry, or at each point, (terms, points, 1)."""
        each = (size(term) for term in self.terms)
        found = np.array([np.repeat(values, self.points // len(values)) for values in each])
        return found.reshape(len(self.terms), self.points, 1)

    def blocked(self, block: Array, site: Site, cells: int) -> tuple[Numbers, Array]:
        """(entries, N, columns) at the points ↦ the cells and (cells, rows of each, columns)."""
        owners = np.arange(cells) if site.cells is None else site.cells
        if self.weights is None:
            return owners, block
        found, where = np.unique(owners, return_inverse=True)
        out = np.zeros((len(found), block.shape[2]))
        np.add.at(out, where, (self.weights.reshape(self.shape)[:, :, None] * block).sum(axis=1))
        return found, out[:, None, :]


def group_of(residual: Residual, sites: tuple[Site, ...], normals: Array, axis: int) -> LineStatement:
    """The rows of a residual at points, with the coordinate ``axis`` as time."""
    X = sites[0].points.reshape(-1, sites[0].points.shape[-1])
    rows = len(X)

    def term(j: Jet) -> Term:
        return j.site, j.unknown, without(j.alpha, axis), j.alpha[axis]

    def at(times: Array) -> StatementAt:
        s = len(times)
        Y = np.repeat(X, s, axis=0)
        Y[:, axis] = np.tile(times, rows)
        N = np.repeat(normals.reshape(-1, X.shape[1]), s, axis=0)
        data = residual.known_data(Y)
        return StatementAt(
            residual.coefficients(Y, N, data).reshape(-1, rows, s),
            lambda J: residual.rest(Y, N, data, J.reshape(-1, rows * s)).reshape(rows, s),
            lambda J: residual.partials(Y, N, data, J.reshape(-1, rows * s)).reshape(-1, rows, s),
        )

    terms = tuple(map(term, (*residual.linear, *residual.nonlinear)))
    return LineStatement(residual.name, sites, terms, len(residual.linear), at)


def without(alpha: MultiIndex, axis: int) -> MultiIndex:
    """The derivatives in space."""
    return tuple(a for i, a in enumerate(alpha) if i != axis)


@dataclass(frozen=True)
class Lines:
    """All statements of an evolution at all of their points in space."""

    cells: int
    unknowns: int
    functions: int
    """n: of each unknown in each cell."""
    groups: tuple[LineStatement, ...]
    highest: int
    """The highest derivative in time."""
    modes: Modes | None = None
    """Where all coordinates of space repeat themselves, and nothing else holds than the equations."""
    frame: Frame | None = None
    """Where the rows are products of points along the coordinates of a box."""

    @property
    def extent(self) -> tuple[int, int, int]:
        """Cells, unknowns, functions."""
        return self.cells, self.unknowns, self.functions

    @property
    def columns(self) -> int:
        return self.cells * self.unknowns * self.functions

    @cached_property
    def firsts(self) -> tuple[int, ...]:
        """The first row of each group, and how many there are in all."""
        out, sums, total = list[int](), dict[str, int](), 0
        for g in self.groups:
            known = None if g.weights is None else sums.get(g.name)
            out.append(total if known is None else known)
            if known is None:
                sums[g.name] = total
                total += g.rows
        return (*out, total)

    @property
    def rows(self) -> int:
        return self.firsts[-1]

    @property
    def is_linear(self) -> bool:
        return all(g.known == len(g.terms) for g in self.groups)

    def jets(
        self,
        group: LineStatement,
        rates: Sequence[Array],
        terms: Sequence[Term],
        known: dict[tuple[int, int, MultiIndex, int], Array] | None = None,
    ) -> Array:
        """Some terms of a group, (terms, rows, moments), of functions (cells, unknowns, n, moments).

        ``known`` keeps what groups at the same points have in common.
        """
        out = np.empty((len(terms), group.points, rates[0].shape[-1]))
        known = {} if known is None else known
        for i, (site, k, alpha, a) in enumerate(terms):
            place = group.sites[site]
            key = id(place), k, alpha, a
            if key not in known:
                known[key] = place.sums(alpha, place.of(rates[a][:, k])).reshape(group.points, -1)
            out[i] = known[key]
        return out

    def blocks(self, weights: Sequence[Array]) -> Iterator[tuple[Numbers, Numbers, int, Array]]:
        """(rows, cells, a, (entries, N, columns of a cell)): what the statements' terms add to M_a."""
        n = self.functions
        for g, W, first in zip(self.groups, weights, self.firsts, strict=False):
            entries, N = g.shape
            found: dict[tuple[int, int], Array] = {}
            for (site, k, alpha, a), w in zip(g.terms, W, strict=True):
                check_deadline()
                block = found.setdefault((site, a), np.zeros((entries, N, n * self.unknowns)))
                block[:, :, k * n : (k + 1) * n] += w.reshape(entries, N, 1) * g.sites[site].tables(alpha)
            for (site, a), block in found.items():
                cells, made = g.blocked(block, g.sites[site], self.cells)
                rows = np.full(len(made), first) if g.weights is not None else first + np.arange(g.rows)
                yield rows.reshape(made.shape[:2]), cells, a, made

    @cached_property
    def pattern(self) -> tuple[Numbers, Numbers, list[Numbers]]:
        """By columns: where each begins, the rows of the entries, and where those of each block are."""
        width = self.functions * self.unknowns
        keys = []
        for rows, cells, _, _ in self.blocks([np.ones((len(g.terms), g.points)) for g in self.groups]):
            columns = (cells[:, None] * width + np.arange(width))[:, None, :]
            keys.append((columns * self.rows + rows[:, :, None]).ravel())
        found, inverse = np.unique(np.concatenate(keys), return_inverse=True)
        starts = np.searchsorted(found, np.arange(self.columns + 1) * self.rows)
        ends = np.cumsum([len(k) for k in keys])
        # As SuperLU wants them.
        return starts.astype(np.intc), (found % self.rows).astype(np.intc), np.split(inverse, ends[:-1])

    def at(self, times: Array) -> Moments:
        """The statements at some times."""
        return Moments(self, tuple(g.at(times) for g in self.groups))


@dataclass(frozen=True)
class Moments:
    """The statements of an evolution at some times."""

    lines: Lines
    held: tuple[StatementAt, ...] = field(repr=False)

    def residual(self, rates: Sequence[Array]) -> Array:
        """r, (rows, moments), of ∂_t^a u as arrays (cells, unknowns, n, moments)."""
        out = np.zeros((self.lines.rows, rates[0].shape[-1]))
        known: dict[tuple[int, int, MultiIndex, int], Array] = {}
        for g, held, first in zip(self.lines.groups, self.held, self.lines.firsts, strict=False):
            J = self.lines.jets(g, rates, g.terms, known)
            found = held.rest(J[g.known :]) + (held.coefficients * J[: g.known]).sum(axis=0)
            out[first : first + g.rows] += g.summed(found)
        return out

    def judged(
        self,
        rates: Sequence[Array],
        natural: Callable[[Term], Array],
        noise: Callable[[Term], Array] | None = None,
    ) -> list[tuple[Array, Array]]:
        """Of each statement r and the size of its largest term, both (rows, moments).

        ``natural`` gives what a term has in each entry at least, where it varies over a cell or a window: a
        residual next to that is the error that it makes there. ``noise`` is what a term may be off by: of r
        only what is more counts.
        """
        out = []
        for g, held in zip(self.lines.groups, self.held, strict=True):
            J = self.lines.jets(g, rates, g.terms)
            rest, parts = held.rest(J[g.known :]), held.coefficients * J[: g.known]
            slopes = np.concatenate([held.coefficients, held.slopes(J[g.known :])])
            least = np.maximum(np.abs(J), g.each(natural))
            r = g.summed(rest + parts.sum(axis=0))
            if noise is not None:
                off = (np.abs(slopes) * g.each(noise)).sum(axis=0)
                r = np.sign(r) * np.maximum(np.abs(r) - (off if g.weights is None else 0.0), 0.0)
            sizes = np.maximum(np.nan_to_num(np.abs(slopes) * least).max(axis=0, initial=0.0), np.abs(rest))
            if g.weights is not None:
                sizes = (np.abs(g.weights) @ sizes)[None]
            out.append((r, sizes))
        return out

    def changed(self, rates: Sequence[Array], groups: int) -> Callable[[Sequence[Array]], Array]:
        """How the first rows change with ∂_t^a u: changes of these as arrays like them ↦ (rows, moments)."""
        some = self.lines.groups[:groups]
        weights = []
        for g, held in zip(some, self.held, strict=False):
            W = held.coefficients
            if len(g.terms) > g.known:
                W = np.concatenate([W, held.slopes(self.lines.jets(g, rates, g.terms[g.known :]))])
            weights.append(W)

        def apply(moved: Sequence[Array]) -> Array:
            known: dict[tuple[int, int, MultiIndex, int], Array] = {}
            parts = [
                (W * self.lines.jets(g, moved, g.terms, known)).sum(axis=0)
                for g, W in zip(some, weights, strict=True)
            ]
            return np.concatenate(parts)

        return apply

    def slopes(self, rates: Sequence[Array]) -> Operator:
        """∂r/∂(∂_t^a u), the mean over all moments."""
        weights = []
        for g, held in zip(self.lines.groups, self.held, strict=True):
            W = held.coefficients.mean(axis=-1)
            if len(g.terms) > g.known:
                bent = held.slopes(self.lines.jets(g, rates, g.terms[g.known :]))
                W = np.concatenate([W, bent.mean(axis=-1)])
            weights.append(W)
        return Operator(self.lines, weights)

    def has_operator(self, weights: Sequence[Array], first: int = 0) -> bool:
        """Whether all coefficients, from some group on, are those of an operator, at every moment."""
        return all(
            g.known == len(g.terms) and bool(np.all(held.coefficients == W[:, :, None]))
            for g, held, W in list(zip(self.lines.groups, self.held, weights, strict=True))[first:]
        )


@dataclass(frozen=True)
class Operator:
    """Σ_a λ^a M_a, where ∂_t is a number λ."""

    lines: Lines
    weights: list[Array] = field(repr=False)

    def parts(self) -> Dense | SparseParts:
        """M₀, M₁, …, sparse where there are many cells."""
        lines = self.lines
        shape = (lines.rows, lines.columns)
        blocks = list(lines.blocks(self.weights))
        if lines.cells == 1:
            out = np.zeros((lines.highest + 1, *shape))
            for rows, _, a, block in blocks:
                out[a, rows.ravel()] += block.reshape(rows.size, -1)
            return Dense(tuple(out))
        starts, rows, places = lines.pattern
        data = np.zeros((lines.highest + 1, len(rows)))
        for (_, _, a, block), where in zip(blocks, places, strict=True):
            data[a, where] += block.ravel()
        return SparseParts(shape, starts, rows, data)
