r"""Detection and location of jumps and kinks of Python functions of one variable by sampling.

A function is sampled at equidistant points. An interval between two samples is suspect if the next value is
far from the cubic polynomial through the last four, compared with the same error at the samples before. The
neighbourhood of a suspect interval is sampled more finely and searched again, which separates jumps that are
close together. Each suspect interval is then bisected between the polynomials on its two sides until its ends
are adjacent floating-point numbers. If f beside a jump differs from the polynomial on that side, there is a
further jump between them, and the remaining interval is bisected too.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from pibls.arrays import Array, Mask

SAMPLES = 16384
"""Number of intervals between samples; a pulse longer than one of them is found."""
MAX_JUMPS = 2000
"""Maximum number of jumps, and of kinks, of one function that are located."""
_REFINEMENT = 16  # fine samples per interval in the neighbourhood of a suspect interval
_NEIGHBOURS = 5  # intervals on either side of a suspect that are sampled again
_CONTRAST = (
    16.0  # error of extrapolation across a suspect relative to that beside it; smooth functions: below 4
)
_ROUNDING = 64.0  # of max|f| eps: fourth differences due to rounding
_MIN_JUMP = 1e-9  # of max|f|: difference between adjacent numbers that is not rounding of f
_UNRESOLVED = 0.5  # of the first differences: larger fourth differences mean that f is not resolved
_MAX_UNRESOLVED_FRACTION = 0.6  # of such samples, above which f is not resolved anywhere
_PROBES = 64
_NOISY_PROBES = 2  # with different values at adjacent numbers, from which f is noise
_STENCIL = 5  # samples on one side that determine a polynomial
_WEIGHTS = np.array([1.0, -4.0, 6.0, -4.0, 1.0])
_MAX_JUMPS_PER_INTERVAL = 8  # of the fine samples
_LARGEST = float(np.finfo(float).max)
_EPS = float(np.finfo(float).eps)

ScalarFunction = Callable[[Array], Array]
"""A function of an array of points."""


@dataclass(frozen=True)
class Jumps:
    """Jumps and kinks of a function of one variable."""

    levels: tuple[float, ...] = ()
    """The first floating-point number on the upper side of each jump or kink."""
    heights: tuple[float, ...] = ()
    """abs(f(t⁺) - f(t⁻)), relative to max|f|; 0 for a kink."""
    unlocated: float = 0.0
    """Largest height of jumps that are too many to be located."""

    def between(self, low: float, high: float) -> Jumps:
        """Return those inside an interval."""
        inner = [(x, h) for x, h in zip(self.levels, self.heights, strict=True) if low < x < high]
        return Jumps(tuple(x for x, _ in inner), tuple(h for _, h in inner), self.unlocated)


def find_jumps(f: ScalarFunction, low: float, high: float, samples: int = SAMPLES) -> Jumps:
    """Return the jumps and kinks of f on (low, high).

    >>> find_jumps(lambda t: np.where(t < 0.3, 0.0, 1.0 + t), 0.0, 1.0).levels
    (0.3,)
    """
    t = np.linspace(low, high, samples + 1)
    v = _finite(f(t))
    size = float(np.abs(v).max())
    if np.all(v == v[0]):
        return Jumps()
    fourth, steepest, rounding = _differences(t, v, size)
    rough = fourth > _UNRESOLVED * steepest + rounding
    resolved = float(np.mean(rough)) <= _MAX_UNRESOLVED_FRACTION
    everywhere = _jump_everywhere(f, t, size, resolved)
    if everywhere > 0.0:
        return Jumps(unlocated=everywhere)
    suspects = _suspects(t, v, size)
    if resolved:  # jumps that are close together mask each other
        suspects[2:-1] |= rough
    found = _located(f, t, _neighbourhoods(suspects), size) if suspects.any() else Jumps()
    steep = [(x, h) for x, h in zip(found.levels, found.heights, strict=True) if h > 0.0]
    if len(steep) > MAX_JUMPS:
        return Jumps(unlocated=max(h for _, h in steep))
    if len(found.levels) - len(steep) > MAX_JUMPS:  # a long table, or rounding errors
        return Jumps(tuple(x for x, _ in steep), tuple(h for _, h in steep))
    return found


def _finite(v: Array) -> Array:
    return np.asarray(np.nan_to_num(np.asarray(v, dtype=float), nan=0.0, posinf=0.0, neginf=0.0))


def _jump_everywhere(f: ScalarFunction, t: Array, size: float, resolved: bool) -> float:
    """Return the largest jump of a function that jumps nearly everywhere, such as noise; 0 for others.

    Noise differs between adjacent numbers. If the samples do not resolve a function, some of their intervals
    are searched, since it may be a fast oscillation or a train of pulses.
    """
    rng = np.random.default_rng(0)
    x = rng.uniform(t[0], t[-1], _PROBES)
    change = np.abs(_finite(f(np.nextafter(x, t[-1]))) - _finite(f(x))) / size
    if np.sum(change > _MIN_JUMP) >= _NOISY_PROBES:
        return float(change.max())
    if resolved:
        return 0.0
    first = np.unique(rng.integers(0, len(t) - 2 * _NEIGHBOURS, _PROBES))
    found = _located(f, t, [(i, i + 2 * _NEIGHBOURS) for i in first.tolist()], size)
    return max(found.heights, default=0.0)


def _suspects(t: Array, v: Array, size: float) -> Mask:
    """Return which intervals of equidistant samples f cannot be extrapolated across from one side."""
    n = len(v)
    out = np.zeros(n - 1, dtype=np.bool_)
    d, _, rounding = _differences(t, v, size)
    limit = _CONTRAST * d + rounding
    # A smooth fourth difference may vanish at a point: use the largest of three neighbours.
    before = np.maximum(limit, np.maximum(np.roll(limit, 1), np.roll(limit, 2)))
    after = np.maximum(limit, np.maximum(np.roll(limit, -1), np.roll(limit, -2)))
    before[1], before[0] = max(limit[:2]), limit[0]
    after[-2], after[-1] = max(limit[-2:]), limit[-1]
    # From the left: the samples i-3, …, i and i+1 against those up to i; likewise from the right.
    out[4:] |= d[1:] > before[:-1]
    out[:-4] |= d[:-1] > after[1:]
    return out


def _differences(t: Array, v: Array, size: float) -> tuple[Array, Array, Array]:
    """Return, for each five samples, the fourth difference, the largest first one, and the rounding error."""
    n = len(v)
    fourth, first = np.abs(np.convolve(v, _WEIGHTS, mode="valid")), np.abs(np.diff(v))
    steepest = np.max([first[k : n - 4 + k] for k in range(4)], axis=0)
    # Rounding of f, and of t, whose spacing may be coarse relative to the distance of the samples.
    far = np.abs(t).max() / (t[1] - t[0])
    return fourth, steepest, _ROUNDING * _EPS * (size + far * steepest)


def _neighbourhoods(suspects: Mask) -> list[tuple[int, int]]:
    """Return (first, last) sample of the neighbourhoods of suspect intervals, overlapping ones merged."""
    i = np.flatnonzero(suspects)
    first, last = np.maximum(i - _NEIGHBOURS, 0), np.minimum(i + 1 + _NEIGHBOURS, len(suspects))
    starts = np.concatenate([[True], first[1:] > last[:-1]])
    ends = np.concatenate([starts[1:], [True]])
    return list(zip(first[starts].tolist(), last[ends].tolist(), strict=True))


def _located(f: ScalarFunction, t: Array, regions: list[tuple[int, int]], size: float) -> Jumps:
    """Return the jumps and kinks in some ranges of samples."""
    grids = [np.linspace(t[a], t[b], _REFINEMENT * (b - a) + 1) for a, b in regions]
    values = np.split(_finite(f(np.concatenate(grids))), np.cumsum([len(g) for g in grids])[:-1])
    sides = list[tuple[float, float, Array, Array, bool]]()
    for grid, v in zip(grids, values, strict=True):
        padded = np.pad(v, _STENCIL, constant_values=np.nan)
        clear = _suspects(grid, v, size)
        for i in np.flatnonzero(clear).tolist():
            left, right = padded[i + 1 : i + 1 + _STENCIL][::-1], padded[i + 1 + _STENCIL :][:_STENCIL]
            sides.append((grid[i], grid[i + 1], left, right, True))
        for i in np.flatnonzero(_masked(grid, v, size, clear)).tolist():
            sides.append((grid[i], grid[i + 1], _single_sample(v[i]), _single_sample(v[i + 1]), False))
    if not sides:
        return Jumps()
    start, stop, left, right, kinks = (np.array(c) for c in zip(*sides, strict=True))
    suspects = _SearchIntervals(
        start, stop, _Extrapolation.of(left, start, stop), _Extrapolation.of(right, stop, start)
    )
    b, heights = _all_jumps(f, suspects, kinks, size)
    keep = _distinct(b, heights, _NEIGHBOURS * float((t[1] - t[0]) / _REFINEMENT))
    return Jumps(tuple(b[keep].tolist()), tuple(heights[keep].tolist()))


def _single_sample(value: float) -> Array:
    """Return the stencil of a sample whose neighbours are beyond another jump."""
    return np.array([value, *[np.nan] * (_STENCIL - 1)])


def _masked(t: Array, v: Array, size: float, clear: Mask) -> Mask:
    """Return intervals that may contain a masked jump: those near a suspect or a large fourth difference."""
    fourth, steepest, rounding = _differences(t, v, size)
    near = clear.copy()
    near[2:-1] |= fourth > _UNRESOLVED * steepest + rounding
    near = np.convolve(near, np.ones(2 * _NEIGHBOURS + 1), mode="same") > 0.5
    return np.asarray(near & (v[1:] != v[:-1]))


def _all_jumps(
    f: ScalarFunction, suspects: _SearchIntervals, kinks: Mask, size: float
) -> tuple[Array, Array]:
    """Return (levels, heights) of all jumps and kinks in some intervals: one in each, then masked ones."""
    levels, heights = list[Array](), list[Array]()
    for _ in range(_MAX_JUMPS_PER_INTERVAL):
        a, b = suspects.bisected(f)
        before, after = _finite(f(a)), _finite(f(b))
        height = np.abs(after - before) / size
        steep = height > _MIN_JUMP
        levels.append(b[steep | kinks])
        heights.append(np.where(steep, height, 0.0)[steep | kinks])
        # The rest of the interval on either side of a jump, where f differs from the polynomial.
        early = steep & (np.abs(before - suspects.left.at(a)) > _MIN_JUMP * size)
        late = steep & (np.abs(after - suspects.right.at(b)) > _MIN_JUMP * size)
        if not (early | late).any():
            break
        suspects = _SearchIntervals(
            np.concatenate([suspects.start[early], b[late]]),
            np.concatenate([a[early], suspects.stop[late]]),
            suspects.left.only(early).joined(_Extrapolation.constant(after[late])),
            _Extrapolation.constant(before[early]).joined(suspects.right.only(late)),
        )
        kinks = np.zeros(len(suspects.start), dtype=np.bool_)
    return np.concatenate(levels), np.concatenate(heights)


def _distinct(levels: Array, heights: Array, apart: float) -> Array:
    """Return the indices of distinct jumps, and of kinks that are not near a jump or another kink."""
    kept = list[int]()
    jumps = levels[heights > 0.0]
    for i in np.argsort(levels, kind="stable"):
        last = levels[kept[-1]] if kept else -np.inf
        beside = np.abs(jumps - levels[i]).min(initial=np.inf) < apart or levels[i] - last < apart
        if levels[i] > last if heights[i] > 0.0 else not beside:
            kept.append(int(i))
    return np.array(kept, dtype=np.intp)


@dataclass(frozen=True)
class _Extrapolation:
    """Polynomials through the samples on one side of some intervals, by their backward differences."""

    differences: Array
    """(suspects, degrees)."""
    nearest: Array
    """Position of the nearest sample, (suspects,)."""
    step: Array
    """Distance from one sample to the next, towards the interval."""

    @classmethod
    def of(cls, samples: Array, nearest: Array, beyond: Array) -> _Extrapolation:
        """Construct from samples (suspects, _STENCIL), the nearest first, with NaN for missing ones.

        The degree is the highest for which the differences still decrease.
        """
        d = [samples]
        for _ in range(1, _STENCIL):
            d.append(d[-1][:, :-1] - d[-1][:, 1:])
        first = np.stack([column[:, 0] for column in d], axis=1)
        size = np.where(np.isnan(first), np.inf, np.abs(first))
        falls = np.logical_and.accumulate(size[:, 2:] <= np.minimum(size[:, 1:-1], _LARGEST), axis=1)
        chosen = np.concatenate([first[:, :1], np.where(falls, first[:, 1:-1], 0.0)], axis=1)
        return cls(chosen, nearest, beyond - nearest)

    @classmethod
    def constant(cls, values: Array) -> _Extrapolation:
        """Return constant polynomials."""
        d = np.pad(values[:, None], ((0, 0), (0, _STENCIL - 2)))
        return cls(d, np.zeros(len(values)), np.ones(len(values)))

    def only(self, which: Mask) -> _Extrapolation:
        return _Extrapolation(self.differences[which], self.nearest[which], self.step[which])

    def joined(self, other: _Extrapolation) -> _Extrapolation:
        pairs = zip(*((e.differences, e.nearest, e.step) for e in (self, other)), strict=True)
        return _Extrapolation(*(np.concatenate(pair) for pair in pairs))

    def at(self, t: Array) -> Array:
        """Return the values at t, (suspects,)."""
        x = (t - self.nearest) / self.step
        out, term = np.zeros_like(x), np.ones_like(x)
        for j, d in enumerate(self.differences.T):
            out = out + term * d
            term = term * (x + j) / (j + 1.0)
        return out


@dataclass(frozen=True)
class _SearchIntervals:
    """Intervals that are searched for a jump, with the extrapolations of f from their two sides."""

    start: Array
    stop: Array
    left: _Extrapolation
    right: _Extrapolation

    def bisected(self, f: ScalarFunction) -> tuple[Array, Array]:
        """Return adjacent numbers a < b with f(a) closer to the left polynomial and f(b) to the right one."""
        a, b = self.start, self.stop
        least = _EPS * _EPS * (b - a)  # floating-point numbers near zero are closer than that
        while True:
            middle = 0.5 * (a + b)
            going = (middle > a) & (middle < b) & (b - a > least)
            if not going.any():
                return a, b
            v = _finite(f(middle))
            earlier = np.abs(v - self.left.at(middle)) <= np.abs(v - self.right.at(middle))
            a, b = np.where(going & earlier, middle, a), np.where(going & ~earlier, middle, b)
