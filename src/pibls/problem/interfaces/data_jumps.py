r"""f(t⁻) ≠ f(t⁺): where Python functions jump or bend, found by sampling.

A function is sampled at equidistant places. Between two of them it is suspected to jump where the next value
is far from the cubic polynomial through the last four, compared with how far the values before are from
theirs. The neighbourhood of such a place is sampled more finely and searched again, which separates jumps
that are close together. Each suspect is then bisected between the polynomials on its two sides until its ends
are neighbouring floating-point numbers. Where f beside a jump is not what the polynomial on that side says,
there is one more between them, as after a jump at the very start of f: that stretch is bisected too.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from pibls.arrays import Array, Mask

SAMPLES = 16384
"""Intervals between samples: a pulse that is longer than one of them is found."""
MOST = 2000
"""Jumps of one function that are located, and bends."""
_FINER = 16  # samples between two neighbours of a suspect interval
_REACH = 5  # intervals on either side of a suspect that are sampled again
_CONTRAST = (
    16.0  # how much worse an extrapolation is across a suspect than beside it; smooth functions: below 4
)
_ROUNDING = 64.0  # of max|f| eps: differences of fourth order that are rounding
_JUMP = 1e-9  # of max|f|: a difference between neighbouring numbers that is no rounding of f
_UNRESOLVED = 0.5  # of the first differences: fourth differences of samples that do not resolve f …
_MOSTLY = 0.6  # … anywhere, if so many of them are that large
_PROBES = 64
_NOISY = 2  # probes at which f differs between neighbouring numbers
_STENCIL = 5  # samples on one side that a polynomial is chosen from
_WEIGHTS = np.array([1.0, -4.0, 6.0, -4.0, 1.0])
_ROUNDS = 8  # jumps in one interval of the finer samples, to either side of the first
_LARGEST = float(np.finfo(float).max)
_EPS = float(np.finfo(float).eps)

Course = Callable[[Array], Array]
"""f at an array of places."""


@dataclass(frozen=True)
class Jumps:
    """Where a function of one variable is not smooth."""

    levels: tuple[float, ...] = ()
    """The first number on the upper side of each jump or bend."""
    heights: tuple[float, ...] = ()
    """abs(f(t⁺) - f(t⁻)), relative to max|f|; 0 for a bend."""
    unlocated: float = 0.0
    """The largest height of jumps that were seen and are too many to be located."""

    def between(self, low: float, high: float) -> Jumps:
        """Those inside of an interval."""
        inner = [(x, h) for x, h in zip(self.levels, self.heights, strict=True) if low < x < high]
        return Jumps(tuple(x for x, _ in inner), tuple(h for _, h in inner), self.unlocated)


def jumps_between(f: Course, low: float, high: float, samples: int = SAMPLES) -> Jumps:
    """The jumps and bends of f on (low, high).

    >>> jumps_between(lambda t: np.where(t < 0.3, 0.0, 1.0 + t), 0.0, 1.0).levels
    (0.3,)
    """
    t = np.linspace(low, high, samples + 1)
    v = _finite(f(t))
    size = float(np.abs(v).max())
    if np.all(v == v[0]):
        return Jumps()
    fourth, steepest, rounding = _differences(t, v, size)
    rough = fourth > _UNRESOLVED * steepest + rounding
    resolved = float(np.mean(rough)) <= _MOSTLY
    everywhere = _probed(f, t, size, resolved)
    if everywhere > 0.0:
        return Jumps(unlocated=everywhere)
    suspects = _suspects(t, v, size)
    if resolved:  # jumps that are close together hide each other
        suspects[2:-1] |= rough
    found = _located(f, t, _regions(suspects), size) if suspects.any() else Jumps()
    steep = [(x, h) for x, h in zip(found.levels, found.heights, strict=True) if h > 0.0]
    if len(steep) > MOST:
        return Jumps(unlocated=max(h for _, h in steep))
    if len(found.levels) - len(steep) > MOST:  # a long table, or rounding
        return Jumps(tuple(x for x, _ in steep), tuple(h for _, h in steep))
    return found


def _finite(v: Array) -> Array:
    return np.asarray(np.nan_to_num(np.asarray(v, dtype=float), nan=0.0, posinf=0.0, neginf=0.0))


def _probed(f: Course, t: Array, size: float, resolved: bool) -> float:
    """The largest jump of a function that jumps nearly everywhere; 0 of all others.

    Between neighbouring numbers noise differs. Where the samples do not resolve a function, some of their
    intervals are searched: it may be a fast oscillation, or a train of pulses.
    """
    rng = np.random.default_rng(0)
    x = rng.uniform(t[0], t[-1], _PROBES)
    change = np.abs(_finite(f(np.nextafter(x, t[-1]))) - _finite(f(x))) / size
    if np.sum(change > _JUMP) >= _NOISY:
        return float(change.max())
    if resolved:
        return 0.0
    first = np.unique(rng.integers(0, len(t) - 2 * _REACH, _PROBES))
    found = _located(f, t, [(i, i + 2 * _REACH) for i in first.tolist()], size)
    return max(found.heights, default=0.0)


def _suspects(t: Array, v: Array, size: float) -> Mask:
    """Intervals of equidistant samples across which f cannot be extrapolated from one of their sides."""
    n = len(v)
    out = np.zeros(n - 1, dtype=np.bool_)
    d, _, rounding = _differences(t, v, size)
    limit = _CONTRAST * d + rounding
    # A smooth fourth difference may vanish once: of three neighbours the largest counts.
    before = np.maximum(limit, np.maximum(np.roll(limit, 1), np.roll(limit, 2)))
    after = np.maximum(limit, np.maximum(np.roll(limit, -1), np.roll(limit, -2)))
    before[1], before[0] = max(limit[:2]), limit[0]
    after[-2], after[-1] = max(limit[-2:]), limit[-1]
    # From the left: the samples i-3, …, i and i+1 against those up to i; likewise from the right.
    out[4:] |= d[1:] > before[:-1]
    out[:-4] |= d[:-1] > after[1:]
    return out


def _differences(t: Array, v: Array, size: float) -> tuple[Array, Array, Array]:
    """Of five samples each: the fourth difference, the largest first one, and what rounding makes of it."""
    n = len(v)
    fourth, first = np.abs(np.convolve(v, _WEIGHTS, mode="valid")), np.abs(np.diff(v))
    steepest = np.max([first[k : n - 4 + k] for k in range(4)], axis=0)
    # Rounding of f, and of t, which is far from zero beside the distance of the samples.
    far = np.abs(t).max() / (t[1] - t[0])
    return fourth, steepest, _ROUNDING * _EPS * (size + far * steepest)


def _regions(suspects: Mask) -> list[tuple[int, int]]:
    """(first, last) sample of the neighbourhoods of suspect intervals, those that overlap as one."""
    i = np.flatnonzero(suspects)
    first, last = np.maximum(i - _REACH, 0), np.minimum(i + 1 + _REACH, len(suspects))
    starts = np.concatenate([[True], first[1:] > last[:-1]])
    ends = np.concatenate([starts[1:], [True]])
    return list(zip(first[starts].tolist(), last[ends].tolist(), strict=True))


def _located(f: Course, t: Array, regions: list[tuple[int, int]], size: float) -> Jumps:
    """The jumps and bends in some regions of samples."""
    grids = [np.linspace(t[a], t[b], _FINER * (b - a) + 1) for a, b in regions]
    values = np.split(_finite(f(np.concatenate(grids))), np.cumsum([len(g) for g in grids])[:-1])
    sides = list[tuple[float, float, Array, Array, bool]]()
    for grid, v in zip(grids, values, strict=True):
        padded = np.pad(v, _STENCIL, constant_values=np.nan)
        clear = _suspects(grid, v, size)
        for i in np.flatnonzero(clear).tolist():
            left, right = padded[i + 1 : i + 1 + _STENCIL][::-1], padded[i + 1 + _STENCIL :][:_STENCIL]
            sides.append((grid[i], grid[i + 1], left, right, True))
        for i in np.flatnonzero(_hidden(grid, v, size, clear)).tolist():
            sides.append((grid[i], grid[i + 1], _alone(v[i]), _alone(v[i + 1]), False))
    if not sides:
        return Jumps()
    start, stop, left, right, bends = (np.array(c) for c in zip(*sides, strict=True))
    suspects = _Stretches(
        start, stop, _Extrapolation.of(left, start, stop), _Extrapolation.of(right, stop, start)
    )
    b, heights = _every(f, suspects, bends, size)
    keep = _distinct(b, heights, _REACH * float((t[1] - t[0]) / _FINER))
    return Jumps(tuple(b[keep].tolist()), tuple(heights[keep].tolist()))


def _alone(value: float) -> Array:
    """A sample whose neighbours are beyond another jump."""
    return np.array([value, *[np.nan] * (_STENCIL - 1)])


def _hidden(t: Array, v: Array, size: float, clear: Mask) -> Mask:
    """Intervals that may hold a jump which others hide: all beside a suspect or a rough fourth difference."""
    fourth, steepest, rounding = _differences(t, v, size)
    near = clear.copy()
    near[2:-1] |= fourth > _UNRESOLVED * steepest + rounding
    near = np.convolve(near, np.ones(2 * _REACH + 1), mode="same") > 0.5
    return np.asarray(near & (v[1:] != v[:-1]))


def _every(f: Course, suspects: _Stretches, bends: Mask, size: float) -> tuple[Array, Array]:
    """(levels, heights) of what is in some stretches: first one of each, then what that has hidden."""
    levels, heights = list[Array](), list[Array]()
    for _ in range(_ROUNDS):
        a, b = suspects.bisected(f)
        before, after = _finite(f(a)), _finite(f(b))
        height = np.abs(after - before) / size
        steep = height > _JUMP
        levels.append(b[steep | bends])
        heights.append(np.where(steep, height, 0.0)[steep | bends])
        # What is left of the stretch on either side of a jump, where f beside it does not fit.
        early = steep & (np.abs(before - suspects.left.at(a)) > _JUMP * size)
        late = steep & (np.abs(after - suspects.right.at(b)) > _JUMP * size)
        if not (early | late).any():
            break
        suspects = _Stretches(
            np.concatenate([suspects.start[early], b[late]]),
            np.concatenate([a[early], suspects.stop[late]]),
            suspects.left.only(early).joined(_Extrapolation.constant(after[late])),
            _Extrapolation.constant(before[early]).joined(suspects.right.only(late)),
        )
        bends = np.zeros(len(suspects.start), dtype=np.bool_)
    return np.concatenate(levels), np.concatenate(heights)


def _distinct(levels: Array, heights: Array, apart: float) -> Array:
    """The jumps, each once, and those bends that are not beside a jump or another bend."""
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
    """Where the nearest sample is, (suspects,)."""
    step: Array
    """From one sample to the next, towards the interval."""

    @classmethod
    def of(cls, samples: Array, nearest: Array, beyond: Array) -> _Extrapolation:
        """From samples (suspects, _STENCIL), the nearest first; NaN where there are no more.

        The degree is the highest for which the differences still fall.
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
        """The same everywhere."""
        d = np.pad(values[:, None], ((0, 0), (0, _STENCIL - 2)))
        return cls(d, np.zeros(len(values)), np.ones(len(values)))

    def only(self, which: Mask) -> _Extrapolation:
        return _Extrapolation(self.differences[which], self.nearest[which], self.step[which])

    def joined(self, other: _Extrapolation) -> _Extrapolation:
        pairs = zip(*((e.differences, e.nearest, e.step) for e in (self, other)), strict=True)
        return _Extrapolation(*(np.concatenate(pair) for pair in pairs))

    def at(self, t: Array) -> Array:
        """The values at t, (suspects,)."""
        x = (t - self.nearest) / self.step
        out, term = np.zeros_like(x), np.ones_like(x)
        for j, d in enumerate(self.differences.T):
            out = out + term * d
            term = term * (x + j) / (j + 1.0)
        return out


@dataclass(frozen=True)
class _Stretches:
    """What is searched, between what f is on the two sides of it."""

    start: Array
    stop: Array
    left: _Extrapolation
    right: _Extrapolation

    def bisected(self, f: Course) -> tuple[Array, Array]:
        """Neighbouring numbers a < b with f(a) nearer to the left polynomial and f(b) to the right one."""
        a, b = self.start, self.stop
        least = _EPS * _EPS * (b - a)  # numbers beside zero are closer than that
        while True:
            middle = 0.5 * (a + b)
            going = (middle > a) & (middle < b) & (b - a > least)
            if not going.any():
                return a, b
            v = _finite(f(middle))
            earlier = np.abs(v - self.left.at(middle)) <= np.abs(v - self.right.at(middle))
            a, b = np.where(going & earlier, middle, a), np.where(going & ~earlier, middle, b)
