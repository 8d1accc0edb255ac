r"""‖u - u*‖ ≲ κ ‖u - ũ‖: how far to trust a solution.

Held-out points judge how well the equations hold; a second solution, drawn independently *at another
scale*, tells how far the solution may be off. Two draws at the same scale span nearly the same
band-limited space and share their truncation error; another scale breaks that. Without a second solution
there is no estimate: it is infinite, and says so.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from pibls.adaptive.thresholds import DEFAULT
from pibls.arrays import Array
from pibls.assembly.judging import Judged
from pibls.errors import ProblemError
from pibls.problem import Jet
from pibls.spaces import Space

_BINS = 64
_NAMED = 3  # stretches of time in a text


@dataclass(frozen=True)
class ErrorEstimate:
    """Estimated absolute errors: the maximum, and the root mean square over the domain.

    ``checked`` says whether a second, independent solution was compared; otherwise both are infinite. Of an
    evolution ``max`` is the largest of the errors of `over_time` at all times that the estimate covers: all
    but those in ``left_out``, which follow incompatible initial data or a switch.
    """

    max: float
    l2: float
    checked: bool = True
    each: tuple[ErrorEstimate, ...] = field(default=(), repr=False, compare=False)
    """One for each unknown."""
    history: tuple[tuple[float, float], ...] = field(default=(), repr=False, compare=False)
    """(t, estimated error until then), for an evolution; of several unknowns the largest."""
    pair: tuple[tuple[Space, Array], tuple[Space, Array]] | None = field(
        default=None, repr=False, compare=False
    )
    """The two functions that were compared: what else they differ in, they can be asked."""
    left_out: tuple[tuple[float, float], ...] = field(default=(), compare=False)
    """(a, b) of an evolution: ``max`` and ``l2`` do not cover the times from a until before b."""

    def with_history(self, history: Iterable[tuple[float, float]], **changes: Any) -> ErrorEstimate:
        """The same with other errors over time, and the largest that is covered as maximum."""
        found = tuple(history)
        covered = [d for t, d in found if not any(is_within(t, layer) for layer in self.left_out)]
        return replace(self, history=found, max=max(covered, default=self.max), **changes)

    def over_time(self) -> tuple[Array, Array]:
        """Times, and the estimated maximum error at each of them, for an evolution.

        All times are among them, also those that ``max`` does not cover.
        """
        if not self.checked:
            raise ProblemError(
                "error.over_time()",
                expected="an error that was estimated",
                got="no second solution to compare with: the error is unknown at every time",
                remedy="solution.status says why; a larger time_limit or tol may help.",
            )
        if not self.history:
            raise ProblemError(
                "error.over_time()",
                expected="an evolution: a problem with initial conditions",
                got="a problem that was not followed in time",
                remedy="error.max holds for the whole domain.",
            )
        times, errors = np.array(self.history).T
        return times, errors

    def __str__(self) -> str:
        if not self.checked:
            return "not estimated: no second solution was compared"
        text = f"max {self.max:.1e}, L2 {self.l2:.1e}"
        if not self.left_out:
            return text
        spans = ", ".join(f"{a:.6g} to {b:.6g}" for a, b in self.left_out[:_NAMED])
        more = " and others" if len(self.left_out) > _NAMED else ""
        return f"{text}, without the times from {spans}{more}, which error.over_time() has"


def is_within(t: Any, layer: tuple[float, float]) -> Any:
    """Whether a time, or each of some, is in a layer: from its start until before its end."""
    a, b = layer
    return (a <= t) & (t < b) if a <= b else (b < t) & (t <= a)


def worst_of(each: Sequence[ErrorEstimate]) -> ErrorEstimate:
    """That of all unknowns: what is largest of any, at every time too."""
    history = tuple(
        (now[0][0], max(e for _, e in now)) for now in zip(*(e.history for e in each), strict=False)
    )
    left_out = tuple(dict.fromkeys(layer for e in each for layer in e.left_out))
    largest, mean = max(e.max for e in each), max(e.l2 for e in each)
    return ErrorEstimate(largest, mean, each=tuple(each), history=history, left_out=left_out)


UNCHECKED = ErrorEstimate(math.inf, math.inf, checked=False)


@dataclass(frozen=True)
class KnownEstimate:
    """The estimator of a solution whose error is estimated already."""

    error: ErrorEstimate

    def __call__(self) -> ErrorEstimate:
        return self.error


@dataclass(frozen=True)
class Norms:
    """The size of a residual on held-out points, absolute and relative to the terms it is made of."""

    max: float
    rms: float
    relative: float

    def __str__(self) -> str:
        return f"max {self.max:.1e}, rms {self.rms:.1e}, relative {self.relative:.1e}"


def norms_of(r: Array, relative: Array) -> Norms:
    """The norms of a residual, given at each point also relative to its terms there."""
    if not len(r):
        return Norms(0.0, 0.0, 0.0)
    size, square, share = float(np.abs(r).max()), float(r @ r), float(relative @ relative)
    if not math.isfinite(size + share):
        return Norms(np.inf, np.inf, np.inf)
    return Norms(size, math.sqrt(square / len(r)), math.sqrt(share / len(r)))


def norms_by_name(judged: Mapping[str, Judged]) -> dict[str, Norms]:
    """The norms of every residual."""
    return {name: norms_of(j.values, j.relative) for name, j in judged.items()}


@dataclass(frozen=True)
class Where:
    """Points at which two solutions are compared: all of them, and those spread evenly over the domain."""

    all: Array
    even: Array
    axis: int | None = None
    """The coordinate that is time."""
    left_out: tuple[tuple[float, float], ...] = ()
    """Times that the estimate does not cover; ``even`` has none of them."""

    @property
    def far(self) -> float:
        """max|x| over the extent, at least 1: that many roundings of u the rounding of a place is worth."""
        extent = np.ptp(self.all, axis=0) if len(self.all) else np.ones(1)
        most = np.abs(self.all).max(axis=0, initial=0.0)
        return float(np.max(most[extent > 0] / extent[extent > 0], initial=1.0))


def unknowns_at(space: Space, w: Array, X: Array, unknowns: int) -> Array:
    """Every unknown at the points X, (unknowns, n)."""
    jets = tuple(Jet(k, (0,) * X.shape[1]) for k in range(unknowns))
    return space.values((X,), jets, w)


def compare(
    first: tuple[Space, Array],
    second: tuple[Space, Array],
    unknowns: int,
    where: Where,
    safety: float | None = None,
    rounding: float | None = None,
) -> ErrorEstimate:
    """The error of the first, estimated from an independent second solution."""
    X, n = np.concatenate([where.all, where.even]), len(where.all)
    u, other = (unknowns_at(*f, X, unknowns) for f in (first, second))
    difference, sizes = u - other, np.abs(u[:, :n]).max(axis=1, initial=0.0)
    found = estimated(difference[:, :n], difference[:, n:], sizes, where, safety, rounding)
    return replace(found, pair=(first, second))


def estimated(
    difference: Array,
    even: Array,
    sizes: Array,
    where: Where,
    safety: float | None = None,
    rounding: float | None = None,
) -> ErrorEstimate:
    """κ times a difference (unknowns, n), and never below rounding."""
    safety = DEFAULT.safety if safety is None else safety
    usual = DEFAULT.rounding * where.far
    rounding = usual if rounding is None else max(rounding, usual)
    each = []
    for d, m, size in zip(difference, even, sizes, strict=True):
        floor = rounding * float(size)
        if not (np.isfinite(d).all() and np.isfinite(m).all()):
            each.append(ErrorEstimate(np.inf, np.inf))
            continue
        largest = float(np.abs(d).max(initial=0.0))
        most = float(np.abs(m).max(initial=0.0)) or 1.0  # squares of 1e200 overflow
        mean = most * math.sqrt(float((m / most) @ (m / most)) / len(m)) if m.size else largest
        whole = ErrorEstimate(safety * largest + floor, safety * mean + floor, left_out=where.left_out)
        if where.axis is not None:
            history = _by_time(np.abs(d), where.all[:, where.axis], safety, floor, where.left_out)
            whole = whole.with_history(history)
        each.append(whole)
    return worst_of(each)


def at_least(error: ErrorEstimate, misfits: Array, rounding: Array | None = None) -> ErrorEstimate:
    """The same, but not below what is known of the error of each unknown.

    Where a condition gives the values of an unknown, its residual is the error. Two solutions that leave out
    the same there, next to a singular corner, agree: they had 0.4 of the error of r^(5/2). Nor do two
    that agree near a resonance know better than ``rounding``, which moves both.
    """
    if not error.checked or len(error.each) != len(misfits):
        return error
    moved = np.zeros(len(misfits)) if rounding is None else DEFAULT.misfit * rounding
    each = tuple(
        replace(
            e,
            max=max(e.max, DEFAULT.misfit * m, r),
            l2=max(e.l2, r),
            history=tuple((t, max(d, DEFAULT.misfit * m, r)) for t, d in e.history),
        )
        for e, m, r in zip(error.each, misfits.tolist(), moved.tolist(), strict=True)
    )
    return replace(worst_of(each), pair=error.pair)


def _by_time(
    difference: Array, t: Array, safety: float, floor: float, left_out: tuple[tuple[float, float], ...]
) -> Iterator[tuple[float, float]]:
    """The largest difference in each of a number of stretches of time, and in those beside it.

    What a window leaves begins with it: a stretch that ends with a few places of the next window was 24 times
    below. Times that are left out, and those that are not, share no stretch.
    """
    order = np.argsort(t, kind="stable")
    t, worst = t[order], difference[order]
    kinds = np.zeros(len(t), dtype=np.intp)
    for number, layer in enumerate(left_out):
        kinds[is_within(t, layer)] = number + 1
    cuts = np.flatnonzero(np.diff(kinds)) + 1
    for part in np.split(np.arange(len(t)), cuts) if len(t) else ():
        edges = np.linspace(0, len(part), min(_BINS, len(part)) + 1).astype(int)
        largest = np.pad(np.maximum.reduceat(worst[part], edges[:-1]), 1)
        errors = safety * np.maximum(np.maximum(largest[:-2], largest[1:-1]), largest[2:]) + floor
        yield from zip(t[part][edges[1:] - 1].tolist(), errors.tolist(), strict=True)
