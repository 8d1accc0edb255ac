r"""Superposition for linear problems: b(k) = Σⱼ cⱼ(k) b(kⱼ) ⇒ u(k) = Σⱼ cⱼ(k) u(kⱼ).

Data such as k g(x) or g₀ + k g₁ span a space of dimension one or two, however many values k has. The
dimension follows from their formulas; that many problems are solved, each with its best strategy (cells,
tensor products, time windows), and all others are linear combinations, whose errors are bounded by the
combined errors.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
import scipy.linalg

from pibls.adaptive.request import SolveResult
from pibls.adaptive.thresholds import SWEEPS
from pibls.adaptive.validation.context import ValidationContext
from pibls.adaptive.validation.estimate import (
    ErrorEstimate,
    KnownEstimate,
    Norms,
    combine_unknowns,
    unknowns_at,
)
from pibls.arrays import Array
from pibls.problem import Problem
from pibls.problem.forms.compilation import compile_problem
from pibls.problem.forms.separable_data import separable_factors
from pibls.runtime.caching import cached_property
from pibls.spaces import Space, SumSpace
from pibls.status import Status

Function = tuple[Space, Array]


class SolvedProblem(Protocol):
    """Solution of one of the problems."""

    @property
    def space(self) -> Space: ...
    @property
    def coefficients(self) -> Array: ...
    @property
    def status(self) -> Status: ...
    @property
    def error(self) -> ErrorEstimate: ...
    @property
    def residuals(self) -> Mapping[str, Norms]: ...
    @property
    def settings(self) -> dict[str, Any]: ...


@dataclass(frozen=True)
class Superposition:
    """Indices of the problems to solve, and the weights of the others."""

    solved_indices: tuple[int, ...]
    weights: Array
    """c, (chosen, problems)."""
    points: Array
    """Points at which max|u| of the sums is evaluated."""

    @classmethod
    def of(cls, problems: Sequence[Problem]) -> Superposition | None:
        """Return the superposition; None if the data do not span a space of low dimension."""
        V = separable_factors(problems)
        if V is None:
            return None
        _, R, order = scipy.linalg.qr(V, mode="economic", pivoting=True)
        rank = int(np.sum(np.abs(np.diag(R)) > SWEEPS.relative_cutoff * abs(R[0, 0])))
        if rank > SWEEPS.max_rank_share * len(problems):
            return None
        chosen = tuple(int(i) for i in order[:rank])
        shares, *_ = np.linalg.lstsq(V[:, chosen], V, rcond=None)
        context = ValidationContext.of(
            compile_problem(problems[0]), problems[0].domain, 0, 1e-10
        )  # used for its points
        return cls(chosen, np.asarray(shares, dtype=float), context.comparison_points.all)


@dataclass(frozen=True)
class SuperposedSolutions:
    """Solutions by superposition of solved problems."""

    superposition: Superposition
    solved: Sequence[SolvedProblem]
    tol: float

    @cached_property
    def _values(self) -> Array:
        """Values of the solved problems, (solutions, unknowns, points)."""
        unknowns = len(self.solved[0].error.each) or 1
        return np.array(
            [unknowns_at(s.space, s.coefficients, self.superposition.points, unknowns) for s in self.solved]
        )

    def answer(self, k: int) -> SolveResult | None:
        """Return the solution of problem number k; None if its error exceeds the tolerance."""
        c, first = self.superposition.weights[:, k], self.solved[0]
        error = _error(c, [s.error for s in self.solved])
        sizes = np.abs(np.nan_to_num(np.tensordot(c, self._values, 1))).max(axis=1)
        sizes = np.where(sizes > self.tol * sizes.max(), sizes, sizes.max())
        if not all(e.max <= self.tol * s for e, s in zip(error.each, sizes, strict=True)):
            return None
        space, w = _sum(c, [(s.space, s.coefficients) for s in self.solved])
        residuals = {name: _norms(c, [s.residuals[name] for s in self.solved]) for name in first.residuals}
        return SolveResult(space, w, first.status, residuals, 1, first.settings, (), KnownEstimate(error), {})


def _sum(c: Array, functions: Sequence[Function]) -> Function:
    if len(c) == 1:
        return functions[0][0], c[0] * functions[0][1]
    spaces, weights = zip(*functions, strict=True)
    return SumSpace(spaces), np.concatenate([a * w for a, w in zip(c, weights, strict=True)])


def _error(c: Array, errors: Sequence[ErrorEstimate]) -> ErrorEstimate:
    """Return the error bound Σ |cⱼ| eⱼ."""
    a = np.abs(c)
    parts = [e.each or (e,) for e in errors]
    each = [
        ErrorEstimate(
            float(a @ [e.max for e in mine]),
            float(a @ [e.l2 for e in mine]),
            history=_over_time(a, mine),
            left_out=tuple(dict.fromkeys(layer for e in mine for layer in e.left_out)),
        )
        for mine in zip(*parts, strict=True)
    ]
    pairs = [e.pair for e in errors]
    pair = None
    if all(p is not None for p in pairs):
        pair = (_sum(c, [p[0] for p in pairs if p]), _sum(c, [p[1] for p in pairs if p]))
    return replace(combine_unknowns(each), l2=float(a @ [e.l2 for e in errors]), pair=pair)


def _over_time(a: Array, errors: Sequence[ErrorEstimate]) -> tuple[tuple[float, float], ...]:
    if not all(e.history for e in errors):
        return ()
    times = np.unique([t for e in errors for t, _ in e.history])
    grown = a @ [np.interp(times, *np.array(sorted(e.history)).T) for e in errors]
    return tuple(zip(times.tolist(), grown.tolist(), strict=True))


def _norms(c: Array, found: Sequence[Norms]) -> Norms:
    """Return bounds of the norms of a sum, relative to the largest term of any part."""
    a = np.abs(c)
    most, rms = float(a @ [n.max for n in found]), float(a @ [n.rms for n in found])
    terms = max(
        (s * n.rms / n.relative for s, n in zip(a, found, strict=True) if n.relative > 0), default=0.0
    )
    return Norms(most, rms, rms / terms if terms > 0 else 0.0)
