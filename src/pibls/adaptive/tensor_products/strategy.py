r"""u(x, y, z) = Σ c_{ijk} f_i(x) g_j(y) h_k(z): steady problems on boxes, by products along the axes.

Each axis is divided into pieces, by itself; the factors are polynomials there that join smoothly
(`basis.polynomials.splines`). A sum of one operator along each axis is solved at once, whatever else there
is by steps through the nearest such sum (`solver.products`): N⁴ operations for N³ functions, where a dense
basis of as many would take N⁹. Pieces are divided where the coefficients have not fallen along their axis
(`search.boxes.axes`); a second solution in other pieces is the estimate.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pibls.adaptive.box_detection import boxed_in
from pibls.adaptive.candidate import Attempt, judge, misfits
from pibls.adaptive.strategy import Offer, Plan
from pibls.adaptive.tensor_products.axes import Axes, first_axes, spectra_of, tail_of
from pibls.adaptive.thresholds import CELLS, LOOP, PRODUCTS
from pibls.adaptive.validation.estimate import ErrorEstimate, at_least, compare, norms_by_name, unknowns_at
from pibls.adaptive.work import eliminated, multiplied
from pibls.arrays import Array
from pibls.assembly.tensor_products.boxed import Boxed
from pibls.assembly.tensor_products.products import ProductRows
from pibls.linalg.kronecker import along
from pibls.linalg.threads import sensible_threads
from pibls.nonlinear import Outcome
from pibls.nonlinear.products import SolvedProducts, solved
from pibls.spaces import Space
from pibls.status import Status


@dataclass
class ProductPlan(Plan):
    """Products of piecewise polynomials, divided along each axis where it is hard."""

    guess: Space | None = None
    start: Attempt | None = None
    boxed: Boxed | None = None
    axes: Axes | None = None
    _rounds: int = 0
    _ended: bool = False
    _in_vain: bool = False
    _last: tuple[float, float] | None = None
    """Work and largest tail of the last attempt."""
    _rate: float = 1.0
    _found: tuple[Attempt, ProductRows, SolvedProducts] | None = None
    """The last attempt, with its rows, …"""
    _before: tuple[Attempt, ProductRows, SolvedProducts] | None = None
    """… and the one before."""

    def __post_init__(self) -> None:
        self.boxed = boxed_in(self.bench)

    @property
    def made_no_progress(self) -> bool:
        return self.best is None or self._in_vain or super().made_no_progress

    @property
    def _most(self) -> int:
        return self.budget.max_nodes**2 // PRODUCTS.share

    def offer(self) -> Offer | None:
        if self.boxed is None or self.status is not None or self._ended or self._rounds >= LOOP.rounds:
            return None
        if self.axes is None or self._last is None:
            usual = PRODUCTS.usual[self.bench.lowered.dimension]
            return Offer(0.25 * usual, usual)
        if math.prod(self.axes.functions) > self._most:
            return None
        work, worst = self._last
        expected = max(multiplied(self.axes.functions, 4), work)
        needed = max(math.log10(max(worst, 1e-300) / self.bench.tol), 0.0)
        return Offer(expected, expected * min(max(needed / max(self._rate, 0.2), 1.0), 20.0))

    def hear_of(self, found: Attempt | None) -> None:
        self.start = found if self.start is None else self.start

    def advance(self) -> None:
        assert self.boxed is not None
        self._rounds += 1
        if self.axes is None:
            self.axes = first_axes(self.bench, self.boxed)
            if math.prod(self.axes.functions) > self._most:
                self._ended = True
                return
        made = self._solve(self.axes)
        if made is None:
            self._ended = True
            return
        self._before, self._found = self._found, made
        found, rows, result = made
        bench = self.bench
        sizes = self.scales(found)
        spectra = spectra_of(rows.in_pieces(result.U), sizes)
        worst = max(float(tail_of(S).max()) for S in spectra)
        if self._last is not None and worst > 0:
            self._rate = math.log10(max(self._last[1], 1e-300) / worst)
        self._last = (found.work, worst)
        self.marks.append(found.relative)
        if self.best is None or not self.error.checked:
            self.best = found
        self.tell(found, None, cells=len(self.axes.lattice(1)))
        if self._clashes(rows, result, sizes):
            self._ended = True
            return
        limit = bench.limits.cell_tail * bench.tol
        floor = (
            worst < 1e-9
            and (self._rate < 0.05 or worst < 10.0 * _share(result.moved, sizes))
            and self._rounds > 1
        )
        if worst > limit and not floor:
            self._refine(spectra, limit)
            return
        self._confirm(found, rows, result, spectra, floor)

    def conclude(self) -> None:
        """As long as divisions gain, the last one changed more than it left."""
        if self._before is None or self._found is None or self._rate < CELLS.gaining:
            return
        if self.best is not self._found[0] or not self.error.checked:
            self._keep(self._found[0], self._compared(*self._found, *self._before))

    def may_fit(self, work: float) -> bool:
        return self.budget.allows(self, LOOP.unsure * work)

    def _refine(self, spectra: list[Array], limit: float) -> None:
        assert self.axes is not None
        assert self._found is not None
        finer = self.axes.refined(spectra, limit)
        if finer == self.axes:
            self._ended = True
        self.axes = finer

    def _confirm(
        self, found: Attempt, rows: ProductRows, result: SolvedProducts, spectra: list[Array], floor: bool
    ) -> None:
        """Compare with a second solution, in pieces that end elsewhere."""
        bench = self.bench
        assert self.axes is not None
        made = self._solve(self.axes.moved(bench.lowered.interfaces.planes))
        if made is None:
            self._ended = True
            return
        second, others, other = made
        error = self._compared(found, rows, result, second, others, other)
        self._keep(found, error)
        excess = self.excess(found, error)
        self.tell(found, excess, cells=len(self.axes.lattice(1)))
        if excess <= bench.tol and found.relative < bench.limits.fits:
            self.status = Status.TOLERANCE
        elif floor:
            self.status = Status.FLOOR
        elif excess <= bench.tol:
            self._ended = self._in_vain = True  # two that agree, on what is no solution
        else:
            # Errors fall as tails do.
            worst = max(float(tail_of(S).max()) for S in spectra)
            share = (
                max(0.5 * bench.tol / excess, bench.limits.cell_share)
                if math.isfinite(excess)
                else bench.limits.cell_share
            )
            self._refine(spectra, share * worst)

    def _compared(
        self,
        found: Attempt,
        rows: ProductRows,
        result: SolvedProducts,
        second: Attempt,
        others: ProductRows,
        other: SolvedProducts,
    ) -> ErrorEstimate:
        """The estimate; what it is in each box is noted."""
        bench = self.bench
        per, most = PRODUCTS.looked[len(rows.axes)]
        rng = bench.stream(8, self._rounds)
        lines = [
            _looked_at(np.union1d(a.edges, b.edges), per, most, rng)
            for a, b in zip(rows.axes, others.axes, strict=True)
        ]
        same = [lines] * len(rows.spaces)
        D = np.abs(np.array(_on(rows, result.U, same)) - np.array(_on(others, other.U, same)))
        error = compare(found.function, second.function, len(D), bench.where)
        known = bench.rounding(found.sizes)
        # The last step of either: how far rounding in the equations moves the solution.
        moved = np.maximum(result.moved, other.moved)
        rounding = moved if known is None else np.maximum(moved, known)
        seen = D.reshape(len(D), -1).max(axis=1) * bench.limits.safety / bench.limits.misfit
        worst = D.max(axis=0)
        error = at_least(error, np.maximum(misfits(bench, found.residuals), seen), rounding)
        per_box = np.zeros([a.pieces for a in rows.axes])
        np.maximum.at(per_box, np.ix_(*(a.locate(t) for a, t in zip(rows.axes, lines, strict=True))), worst)
        self.notes["cell_errors"] = bench.limits.safety * per_box.ravel()
        return error

    def _clashes(self, rows: ProductRows, result: SolvedProducts, sizes: Array) -> bool:
        """Whether sides that give values disagree where they meet."""
        if self._rounds < 3:
            return False
        left, _ = rows.residual(result.U)
        many = len(rows.boxed.equations)
        for g, r in zip(rows.groups[many:], left[many:], strict=False):
            k, alpha = g.terms[0]
            values = len(g.terms) == 1 and not any(alpha) and not g.residual.nonlinear
            if values and float(np.abs(r).max()) > PRODUCTS.clash * sizes[k] * float(np.abs(g.known).max()):
                return True
        return False

    def _solve(self, axes: Axes) -> tuple[Attempt, ProductRows, SolvedProducts] | None:
        bench, boxed = self.bench, self.boxed
        assert boxed is not None
        began = time.perf_counter()
        with sensible_threads(1), np.errstate(all="ignore"):
            rows = ProductRows.of(boxed, axes.splines(boxed))
            result = solved(rows, self._first_guess(rows))
            if result is None or not result.holds:
                self.budget.charge(self, multiplied(axes.functions, 4), time.perf_counter() - began)
                return None
            lattice = axes.lattice(len(rows.spaces))
            w = np.concatenate([_by_box(C, axes.sizes) for C in rows.in_pieces(result.U)])
            judged, values = judge(bench, lattice, w)
        outcome = Outcome(w, 0.0, result.steps, Status.SOLVED)
        seconds = time.perf_counter() - began
        work = multiplied(axes.functions, result.solves)
        work += result.eliminations * eliminated(len(lattice), len(rows.spaces) * math.prod(lattice.sizes))
        self.budget.charge(self, work, seconds)
        settings = {"cells": len(lattice), "nodes": math.prod(lattice.sizes)}
        return Attempt(lattice, outcome, norms_by_name(judged), values, seconds, work, settings), rows, result

    def _first_guess(self, rows: ProductRows) -> Array:
        """Where a problem that is not linear begins."""
        lines = [[a.traced for a in axes] for axes in rows.spaces]
        if rows.boxed.is_linear:
            return np.zeros(rows.shape)
        if self._found is not None:
            _, before, result = self._found
            return rows.interpolated(_on(before, result.U, lines))
        function = None if self.guess is None else (self.guess, np.empty(0))
        if self.start is not None and self.start.relative < self.bench.limits.trust_start:
            function = self.start.function
        if function is None:
            return np.zeros(rows.shape)
        values = []
        for unknown, along_axes in enumerate(lines):
            X = np.stack(np.meshgrid(*along_axes, indexing="ij"), -1)
            here = unknowns_at(*function, X.reshape(-1, len(along_axes)), len(lines))[unknown]
            values.append(here.reshape(X.shape[:-1]))
        return rows.interpolated(values)


def _share(moved: Array, sizes: Array) -> float:
    """The largest step, relative to what its unknown is measured against."""
    return float((moved / np.maximum(sizes, 1e-300)).max())


def _looked_at(edges: Array, per: int, most: int, rng: np.random.Generator) -> Array:
    """Points in every piece, closer towards its ends, and at the ends of the axis ever closer.

    What a singular corner leaves in a box of many polynomials is largest within 1/n² of the box.
    """
    h = np.diff(edges)
    count = max(min(per, most // len(h)), 1)
    t = edges[:-1, None] + h[:, None] * (0.5 - 0.5 * np.cos(np.pi * rng.random((len(h), count))))
    near = 10.0 ** -np.linspace(0.3, 4.0, PRODUCTS.ends) * rng.uniform(0.5, 1.0, (2, PRODUCTS.ends))
    ends = [edges[[0, -1]], edges[0] + h[0] * near[0], edges[-1] - h[-1] * near[1]]
    return np.sort(np.concatenate([t.ravel(), *ends]))


def _on(rows: ProductRows, U: Array, lines: Sequence[Sequence[Array]]) -> list[Array]:
    """Each unknown at the products of points along the axes."""
    out = []
    for axes, V, along_axes in zip(rows.spaces, rows.parts(U), lines, strict=True):
        for i, (a, t) in enumerate(zip(axes, along_axes, strict=True)):
            V = along(a.at(t, 0), V, i)
        out.append(V)
    return out


def _by_box(C: Array, sizes: Sequence[int]) -> Array:
    """The coefficients as `Lattice` has them, of an array (P₁, n₁, P₂, n₂, …); missing degrees are zero."""
    d = C.ndim // 2
    C = np.pad(C, [(0, sizes[i // 2] - C.shape[i] if i % 2 else 0) for i in range(2 * d)])
    return np.ascontiguousarray(C.transpose([*range(0, 2 * d, 2), *range(1, 2 * d, 2)])).ravel()
