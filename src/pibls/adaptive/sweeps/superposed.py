r"""b(k) = Σⱼ cⱼ(k) b(kⱼ) ⇒ u(k) = Σⱼ cⱼ(k) u(kⱼ): linear problems of which only the data depend on k.

A source or a wall value k g(x), or g₀ + k g₁, has one or two shapes however many values k has. Their
formulas show how many; so many problems are solved, each in whatever way serves it (cells, products,
windows), and all others are sums of these, whose errors are at most the sums of theirs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
import scipy.linalg

from pibls.adaptive.pipeline import Answer
from pibls.adaptive.thresholds import REPEATED
from pibls.adaptive.validation.context import Bench
from pibls.adaptive.validation.estimate import ErrorEstimate, KnownEstimate, Norms, unknowns_at, worst_of
from pibls.arrays import Array
from pibls.caching import cached_property
from pibls.problem import Problem
from pibls.problem.forms.lowering import lower
from pibls.problem.forms.separated import separated_data
from pibls.spaces import Space, Summed
from pibls.status import Status

Function = tuple[Space, Array]


class Summand(Protocol):
    """A solution of one of the problems."""

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
    """Which problems are to be solved, and how the others are sums of them."""

    chosen: tuple[int, ...]
    shares: Array
    """c, (chosen, problems)."""
    where: Array
    """Places at which sums are as large as they get."""

    @classmethod
    def of(cls, problems: Sequence[Problem]) -> Superposition | None:
        """None where the data are no sum of a few shapes, by their formulas."""
        V = separated_data(problems)
        if V is None:
            return None
        _, R, order = scipy.linalg.qr(V, mode="economic", pivoting=True)
        rank = int(np.sum(np.abs(np.diag(R)) > REPEATED.cut * abs(R[0, 0])))
        if rank > REPEATED.shapes * len(problems):
            return None
        chosen = tuple(int(i) for i in order[:rank])
        shares, *_ = np.linalg.lstsq(V[:, chosen], V, rcond=None)
        bench = Bench.of(lower(problems[0]), problems[0].domain, 0, 1e-10)  # for its points
        return cls(chosen, np.asarray(shares, dtype=float), bench.where.all)


@dataclass(frozen=True)
class Sums:
    """Sums of solutions."""

    plan: Superposition
    solved: Sequence[Summand]
    tol: float

    @cached_property
    def _values(self) -> Array:
        """(solutions, unknowns, places)."""
        unknowns = len(self.solved[0].error.each) or 1
        return np.array(
            [unknowns_at(s.space, s.coefficients, self.plan.where, unknowns) for s in self.solved]
        )

    def answer(self, k: int) -> Answer | None:
        """The sum that solves problem number k; None where its error is larger than what was asked for."""
        c, first = self.plan.shares[:, k], self.solved[0]
        error = _error(c, [s.error for s in self.solved])
        sizes = np.abs(np.nan_to_num(np.tensordot(c, self._values, 1))).max(axis=1)
        sizes = np.where(sizes > self.tol * sizes.max(), sizes, sizes.max())
        if not all(e.max <= self.tol * s for e, s in zip(error.each, sizes, strict=True)):
            return None
        space, w = _sum(c, [(s.space, s.coefficients) for s in self.solved])
        residuals = {name: _norms(c, [s.residuals[name] for s in self.solved]) for name in first.residuals}
        return Answer(space, w, first.status, residuals, 1, first.settings, (), KnownEstimate(error), {})


def _sum(c: Array, functions: Sequence[Function]) -> Function:
    if len(c) == 1:
        return functions[0][0], c[0] * functions[0][1]
    spaces, weights = zip(*functions, strict=True)
    return Summed(spaces), np.concatenate([a * w for a, w in zip(c, weights, strict=True)])


def _error(c: Array, errors: Sequence[ErrorEstimate]) -> ErrorEstimate:
    """Σ |cⱼ| eⱼ."""
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
    return replace(worst_of(each), l2=float(a @ [e.l2 for e in errors]), pair=pair)


def _over_time(a: Array, errors: Sequence[ErrorEstimate]) -> tuple[tuple[float, float], ...]:
    if not all(e.history for e in errors):
        return ()
    times = np.unique([t for e in errors for t, _ in e.history])
    grown = a @ [np.interp(times, *np.array(sorted(e.history)).T) for e in errors]
    return tuple(zip(times.tolist(), grown.tolist(), strict=True))


def _norms(c: Array, found: Sequence[Norms]) -> Norms:
    """Those of a sum at most, next to the largest term of any part."""
    a = np.abs(c)
    most, rms = (float(a @ [getattr(n, name) for n in found]) for name in ("max", "rms"))
    terms = max(
        (s * n.rms / n.relative for s, n in zip(a, found, strict=True) if n.relative > 0), default=0.0
    )
    return Norms(most, rms, rms / terms if terms > 0 else 0.0)
