r"""Error estimate ‖u - u*‖ ≲ κ ‖u - ũ‖ from an independent companion solution ũ.

Held-out points show how well the equations hold. The companion solution, drawn independently *at another
scale*, shows how large the error may be. Two draws at the same scale span nearly the same band-limited space
and share their truncation error; another scale avoids that. Without a companion solution the estimate is
infinite and ``checked`` is False.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from pibls.adaptive.thresholds import DEFAULT
from pibls.arrays import Array, Mask
from pibls.assembly.scaled_residuals import ScaledResidual
from pibls.errors import ProblemError
from pibls.problem import PartialDerivative
from pibls.spaces import Space

_BINS = 64
_MAX_LISTED = 3  # stretches of time in a text


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
    """One estimate for each unknown."""
    history: tuple[tuple[float, float], ...] = field(default=(), repr=False, compare=False)
    """(t, estimated error until then), for an evolution; of several unknowns the largest."""
    pair: tuple[tuple[Space, Array], tuple[Space, Array]] | None = field(
        default=None, repr=False, compare=False
    )
    """The two functions that were compared."""
    left_out: tuple[tuple[float, float], ...] = field(default=(), compare=False)
    """(a, b) of an evolution: ``max`` and ``l2`` do not cover the times from a until before b."""

    def with_history(self, history: Iterable[tuple[float, float]], l2: float | None = None) -> ErrorEstimate:
        """Return the estimate with other errors over time, and the largest that is covered as maximum."""
        found = tuple(history)
        covered = [d for t, d in found if not any(is_in_interval(t, layer) for layer in self.left_out)]
        return replace(
            self, history=found, max=max(covered, default=self.max), l2=self.l2 if l2 is None else l2
        )

    def over_time(self) -> tuple[Array, Array]:
        """Return times and the estimated maximum error at each of them, for an evolution.

        All times are included, also those that ``max`` does not cover.
        """
        if not self.checked:
            raise ProblemError(
                "error.over_time()",
                expected="an estimated error",
                got="no estimate, because no companion solution was computed",
                remedy="solution.status gives the reason; a larger time_limit or tol may help.",
            )
        if not self.history:
            raise ProblemError(
                "error.over_time()",
                expected="an evolution: a problem with initial conditions",
                got="a problem that was not integrated in time",
                remedy="error.max holds for the whole domain.",
            )
        times, errors = np.array(self.history).T
        return times, errors

    def __str__(self) -> str:
        if not self.checked:
            return "not estimated: no companion solution was computed"
        text = f"max {self.max:.1e}, L2 {self.l2:.1e}"
        if not self.left_out:
            return text
        spans = ", ".join(f"{a:.6g} to {b:.6g}" for a, b in self.left_out[:_MAX_LISTED])
        more = " and others" if len(self.left_out) > _MAX_LISTED else ""
        return f"{text}, without the times from {spans}{more}, which error.over_time() includes"


def is_in_interval(t: Array | float, layer: tuple[float, float]) -> Mask:
    """Whether times are in the half-open interval from the start of a layer to its end."""
    a, b = layer
    return np.asarray((a <= t) & (t < b) if a <= b else (b < t) & (t <= a))


def combine_unknowns(each: Sequence[ErrorEstimate]) -> ErrorEstimate:
    """Return the estimate of all unknowns: the largest of each, at every time."""
    history = tuple(
        (now[0][0], max(e for _, e in now)) for now in zip(*(e.history for e in each), strict=False)
    )
    left_out = tuple(dict.fromkeys(layer for e in each for layer in e.left_out))
    largest, mean = max(e.max for e in each), max(e.l2 for e in each)
    return ErrorEstimate(largest, mean, each=tuple(each), history=history, left_out=left_out)


UNCHECKED = ErrorEstimate(math.inf, math.inf, checked=False)


@dataclass(frozen=True)
class KnownEstimate:
    """Estimator of a solution whose error is already estimated."""

    error: ErrorEstimate

    def __call__(self) -> ErrorEstimate:
        return self.error


@dataclass(frozen=True)
class Norms:
    """Norms of a residual at held-out points, absolute and relative to the terms of its equation."""

    max: float
    rms: float
    relative: float

    def __str__(self) -> str:
        return f"max {self.max:.1e}, rms {self.rms:.1e}, relative {self.relative:.1e}"


def residual_norms(r: Array, relative: Array) -> Norms:
    """Return the norms of a residual, given at each point absolutely and relative to its terms there."""
    if not len(r):
        return Norms(0.0, 0.0, 0.0)
    size, square, share = float(np.abs(r).max()), float(r @ r), float(relative @ relative)
    if not math.isfinite(size + share):
        return Norms(np.inf, np.inf, np.inf)
    return Norms(size, math.sqrt(square / len(r)), math.sqrt(share / len(r)))


def norms_by_name(judged: Mapping[str, ScaledResidual]) -> dict[str, Norms]:
    """Return the norms of every residual, by name."""
    return {name: residual_norms(j.values, j.relative) for name, j in judged.items()}


@dataclass(frozen=True)
class ComparisonPoints:
    """Points at which two solutions are compared: all points, and an even sample of the domain."""

    all: Array
    even: Array
    axis: int | None = None
    """Index of the time coordinate."""
    left_out: tuple[tuple[float, float], ...] = ()
    """Time intervals that the estimate does not cover; ``even`` has no points in them."""

    @property
    def position_rounding_factor(self) -> float:
        """max|x| over the extent, at least 1: rounding of coordinates in units of rounding of u."""
        extent = np.ptp(self.all, axis=0) if len(self.all) else np.ones(1)
        most = np.abs(self.all).max(axis=0, initial=0.0)
        return float(np.max(most[extent > 0] / extent[extent > 0], initial=1.0))


def unknowns_at(space: Space, w: Array, X: Array, unknowns: int) -> Array:
    """Return every unknown at the points X, (unknowns, n)."""
    derivatives = tuple(PartialDerivative(k, (0,) * X.shape[1]) for k in range(unknowns))
    return space.values((X,), derivatives, w)


def compare(
    first: tuple[Space, Array],
    second: tuple[Space, Array],
    unknowns: int,
    where: ComparisonPoints,
    safety: float | None = None,
    rounding: float | None = None,
) -> ErrorEstimate:
    """Estimate the error of the first solution from an independent second one."""
    X, n = np.concatenate([where.all, where.even]), len(where.all)
    u, other = (unknowns_at(*f, X, unknowns) for f in (first, second))
    difference, sizes = u - other, np.abs(u[:, :n]).max(axis=1, initial=0.0)
    found = error_from_difference(difference[:, :n], difference[:, n:], sizes, where, safety, rounding)
    return replace(found, pair=(first, second))


def error_from_difference(
    difference: Array,
    even: Array,
    sizes: Array,
    where: ComparisonPoints,
    safety: float | None = None,
    rounding: float | None = None,
) -> ErrorEstimate:
    """Return κ times a difference (unknowns, n) plus rounding as error estimate."""
    safety = DEFAULT.safety_factor if safety is None else safety
    min_rounding = DEFAULT.rounding * where.position_rounding_factor
    rounding = min_rounding if rounding is None else max(rounding, min_rounding)
    each = []
    for d, m, size in zip(difference, even, sizes, strict=True):
        rounding_error = rounding * float(size)
        if not (np.isfinite(d).all() and np.isfinite(m).all()):
            each.append(ErrorEstimate(np.inf, np.inf))
            continue
        largest = float(np.abs(d).max(initial=0.0))
        most = float(np.abs(m).max(initial=0.0)) or 1.0  # squares of 1e200 overflow
        mean = most * math.sqrt(float((m / most) @ (m / most)) / len(m)) if m.size else largest
        estimate = ErrorEstimate(
            safety * largest + rounding_error, safety * mean + rounding_error, left_out=where.left_out
        )
        if where.axis is not None:
            history = _error_history(
                np.abs(d), where.all[:, where.axis], safety, rounding_error, where.left_out
            )
            estimate = estimate.with_history(history)
        each.append(estimate)
    return combine_unknowns(each)


def with_lower_bound(error: ErrorEstimate, misfits: Array, rounding: Array | None = None) -> ErrorEstimate:
    """Raise an estimate to known lower bounds of the error of each unknown.

    Where a condition prescribes the values of an unknown, its residual is the error. Next to a singular
    corner two solutions may share that error: for r^(5/2) their difference was 0.4 of it. Near a resonance
    ``rounding`` affects both solutions alike.
    """
    if not error.checked or len(error.each) != len(misfits):
        return error
    moved = np.zeros(len(misfits)) if rounding is None else DEFAULT.condition_error_factor * rounding
    each = tuple(
        replace(
            e,
            max=max(e.max, DEFAULT.condition_error_factor * m, r),
            l2=max(e.l2, r),
            history=tuple((t, max(d, DEFAULT.condition_error_factor * m, r)) for t, d in e.history),
        )
        for e, m, r in zip(error.each, misfits.tolist(), moved.tolist(), strict=True)
    )
    return replace(combine_unknowns(each), pair=error.pair)


def _error_history(
    difference: Array,
    t: Array,
    safety: float,
    rounding_error: float,
    left_out: tuple[tuple[float, float], ...],
) -> Iterator[tuple[float, float]]:
    """Yield the largest difference in each of a number of time bins and their neighbours.

    The error of a window begins with the window: without neighbours, a bin that ends with a few points of
    the next window was too small by a factor of 24. No bin contains both covered and excluded times.
    """
    order = np.argsort(t, kind="stable")
    t, worst = t[order], difference[order]
    kinds = np.zeros(len(t), dtype=np.intp)
    for number, layer in enumerate(left_out):
        kinds[is_in_interval(t, layer)] = number + 1
    cuts = np.flatnonzero(np.diff(kinds)) + 1
    for part in np.split(np.arange(len(t)), cuts) if len(t) else ():
        edges = np.linspace(0, len(part), min(_BINS, len(part)) + 1).astype(int)
        largest = np.pad(np.maximum.reduceat(worst[part], edges[:-1]), 1)
        errors = safety * np.maximum(np.maximum(largest[:-2], largest[1:-1]), largest[2:]) + rounding_error
        yield from zip(t[part][edges[1:] - 1].tolist(), errors.tolist(), strict=True)
