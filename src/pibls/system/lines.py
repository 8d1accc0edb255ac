r"""r(∂_t^a u, ∂_x^α u) = 0 at points in space and at moments in time: the rows of an evolution.

In space the solution is a chain of cells with polynomials in each, or one piece with polynomials or whole
waves along each coordinate. Per cell and equation there are as many points as functions, less the
derivatives that hold the cells together; with the conditions at the ends that makes as many rows as columns
on a line, and more in the plane. The tables of the functions at the points are made once; moments share them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import sparse

from pibls.arrays import Array, MultiIndex
from pibls.problem import Jet
from pibls.problem.lowering import Residual
from pibls.space.tree import Numbers

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

    def of(self, u: Array) -> Array:
        """The functions (cells, …) of the entries."""
        return u if self.cells is None else u[self.cells]


@dataclass(frozen=True)
class Held:
    """A statement at some times: coefficients (terms, rows, times), and ρ(J) with its slopes."""

    coefficients: Array
    rest: Callable[[Array], Array]
    """(terms, rows, times) ↦ (rows, times)."""
    slopes: Callable[[Array], Array]
    """(terms, rows, times) ↦ (terms, rows, times)."""


@dataclass(frozen=True)
class Group:
    """One statement at all of its points."""

    name: str
    sites: tuple[Site, ...]
    terms: tuple[Term, ...]
    """Those with known coefficients first, then those that the statement is not linear in."""
    known: int
    at: Callable[[Array], Held] = field(repr=False)
    """Its coefficients at some times."""

    @property
    def shape(self) -> tuple[int, int]:
        entries, n, _ = self.sites[0].points.shape
        return entries, n

    @property
    def rows(self) -> int:
        return int(np.prod(self.shape))


def group_of(residual: Residual, sites: tuple[Site, ...], normals: Array, axis: int) -> Group:
    """The rows of a residual at points, with the coordinate ``axis`` as time."""
    X = sites[0].points.reshape(-1, sites[0].points.shape[-1])
    rows = len(X)

    def term(j: Jet) -> Term:
        return j.site, j.unknown, without(j.alpha, axis), j.alpha[axis]

    def at(times: Array) -> Held:
        s = len(times)
        Y = np.repeat(X, s, axis=0)
        Y[:, axis] = np.tile(times, rows)
        N = np.repeat(normals.reshape(-1, X.shape[1]), s, axis=0)
        data = residual.known_data(Y)
        return Held(
            residual.coefficients(Y, N, data).reshape(-1, rows, s),
            lambda J: residual.rest(Y, N, data, J.reshape(-1, rows * s)).reshape(rows, s),
            lambda J: residual.partials(Y, N, data, J.reshape(-1, rows * s)).reshape(-1, rows, s),
        )

    terms = tuple(map(term, (*residual.linear, *residual.nonlinear)))
    return Group(residual.name, sites, terms, len(residual.linear), at)


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
    groups: tuple[Group, ...]
    highest: int
    """The highest derivative in time."""

    @property
    def extent(self) -> tuple[int, int, int]:
        """Cells, unknowns, functions."""
        return self.cells, self.unknowns, self.functions

    @property
    def columns(self) -> int:
        return self.cells * self.unknowns * self.functions

    @property
    def rows(self) -> int:
        return sum(g.rows for g in self.groups)

    @property
    def is_linear(self) -> bool:
        return all(g.known == len(g.terms) for g in self.groups)

    def jets(self, group: Group, rates: Sequence[Array], terms: Sequence[Term]) -> Array:
        """Some terms of a group, (terms, rows, moments), of functions (cells, unknowns, n, moments)."""
        out = np.empty((len(terms), group.rows, rates[0].shape[-1]))
        for i, (site, k, alpha, a) in enumerate(terms):
            place = group.sites[site]
            out[i] = np.matmul(place.tables(alpha), place.of(rates[a][:, k])).reshape(group.rows, -1)
        return out

    def at(self, times: Array) -> Moments:
        """The statements at some times."""
        return Moments(self, tuple(g.at(times) for g in self.groups))


@dataclass(frozen=True)
class Moments:
    """The statements of an evolution at some times."""

    lines: Lines
    held: tuple[Held, ...] = field(repr=False)

    def residual(self, rates: Sequence[Array]) -> Array:
        """r, (rows, moments), of ∂_t^a u as arrays (cells, unknowns, n, moments)."""
        out = []
        for g, held in zip(self.lines.groups, self.held, strict=True):
            J = self.lines.jets(g, rates, g.terms)
            out.append(held.rest(J[g.known :]) + (held.coefficients * J[: g.known]).sum(axis=0))
        return np.concatenate(out)

    def judged(
        self, rates: Sequence[Array], natural: Callable[[Term], Array] | None = None
    ) -> list[tuple[Array, Array]]:
        """Of each statement r and the size of its largest term, both (rows, moments).

        ``natural`` gives what a term has in each entry at least, where it varies over a cell or a window: a
        residual next to that is the error that it makes there.
        """
        out = []
        for g, held in zip(self.lines.groups, self.held, strict=True):
            J = self.lines.jets(g, rates, g.terms)
            rest, parts = held.rest(J[g.known :]), held.coefficients * J[: g.known]
            slopes = np.concatenate([held.coefficients, held.slopes(J[g.known :])])
            least = np.abs(J)
            if natural is not None:
                floors = np.array([np.repeat(natural(term), g.shape[1]) for term in g.terms])
                least = np.maximum(least, floors[:, :, None])
            sizes = np.maximum(np.nan_to_num(np.abs(slopes) * least).max(axis=0), np.abs(rest))
            out.append((rest + parts.sum(axis=0), sizes))
        return out

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

    def has_operator(self, weights: Sequence[Array]) -> bool:
        """Whether all coefficients are those of an operator, at every moment."""
        return self.lines.is_linear and all(
            bool(np.all(held.coefficients == W[:, :, None]))
            for held, W in zip(self.held, weights, strict=True)
        )


@dataclass(frozen=True)
class Operator:
    """Σ_a λ^a M_a, where ∂_t is a number λ."""

    lines: Lines
    weights: list[Array] = field(repr=False)

    def parts(self) -> list[Any]:
        """M₀, M₁, …: arrays (rows, columns), sparse where there are many cells."""
        lines = self.lines
        n, per_cell = lines.functions, lines.functions * lines.unknowns
        dense = lines.cells == 1
        out: list[Any] = [
            np.zeros((lines.rows, lines.columns)) if dense else [] for _ in range(lines.highest + 1)
        ]
        first = 0
        for g, W in zip(lines.groups, self.weights, strict=True):
            entries, N = g.shape
            blocks: dict[tuple[int, int], Array] = {}
            for (site, k, alpha, a), w in zip(g.terms, W, strict=True):
                block = blocks.setdefault((site, a), np.zeros((entries, N, per_cell)))
                block[:, :, k * n : (k + 1) * n] += w.reshape(entries, N, 1) * g.sites[site].tables(alpha)
            rows = first + np.arange(g.rows).reshape(entries, N)
            for (site, a), block in blocks.items():
                if dense:
                    out[a][first : first + g.rows] += block.reshape(g.rows, per_cell)
                    continue
                own = g.sites[site].cells
                cells = np.arange(lines.cells) if own is None else own
                r = np.broadcast_to(rows[:, :, None], block.shape)
                c = np.broadcast_to(
                    (cells[:, None] * per_cell + np.arange(per_cell))[:, None, :], block.shape
                )
                out[a].append((block.ravel(), r.ravel(), c.ravel()))
            first += g.rows
        if dense:
            return out
        shape = (lines.rows, lines.columns)
        made = []
        for parts in out:
            if not parts:
                made.append(sparse.csc_matrix(shape))
                continue
            data, r, c = (np.concatenate(x) for x in zip(*parts, strict=True))
            made.append(sparse.csc_matrix((data, (r, c)), shape=shape))
        return made
