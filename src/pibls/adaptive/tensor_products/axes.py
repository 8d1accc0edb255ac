r"""Partitions of the axes of a box, a = e₀ < e₁ < … < e_P = b, with n polynomials in each interval.

The first intervals follow from boundary layers, wavelengths and planes with jumps. Each interval is then
halved until the coefficients of the solution have decayed along its axis; at an end of an axis where they
decay algebraically, the intervals are graded geometrically. Where they decay fast, more polynomials are used
instead.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from pibls.adaptive.decay_rates import layer_planes, wavelengths_across
from pibls.adaptive.thresholds import AXES, DECAY_RATES, DEFAULT, HP_SELECTION
from pibls.adaptive.validation.context import ValidationContext
from pibls.arrays import Array
from pibls.assembly.tensor_products.box_problem import BoxProblem
from pibls.basis.polynomials.splines import Splines
from pibls.spaces import TensorGridSpace
from pibls.spaces.axis_partition import refine_partition, shifted_edges
from pibls.spaces.spectral_tail import decayed_spectrum, spectral_tail


@dataclass(frozen=True)
class AxisPartitions:
    """Edges along each axis, and the number of polynomials in each of its intervals."""

    edges: tuple[tuple[float, ...], ...]
    sizes: tuple[int, ...]

    def splines(self, boxed: BoxProblem) -> tuple[Splines, ...]:
        return tuple(map(Splines, self.edges, self.sizes, boxed.orders, boxed.periodic))

    def grid_space(self, unknowns: int) -> TensorGridSpace:
        return TensorGridSpace(self.edges, self.sizes, unknowns)

    @property
    def boxes(self) -> int:
        """Number of boxes of the grid."""
        return math.prod(len(e) - 1 for e in self.edges)

    @property
    def functions(self) -> tuple[int, ...]:
        """Number of functions along each axis, without continuity."""
        return tuple((len(e) - 1) * n for e, n in zip(self.edges, self.sizes, strict=True))

    def shifted(self, kept: Sequence[tuple[int, float]]) -> AxisPartitions:
        """Return partitions with edges at the midpoints of the intervals, for a companion solution.

        Planes in ``kept`` stay edges. The error at a singular end is smaller in the halved interval there.
        """
        return replace(
            self,
            edges=tuple(shifted_edges(e, {p for a, p in kept if a == i}) for i, e in enumerate(self.edges)),
        )

    def refined(self, spectra: Sequence[Array], limit: float) -> AxisPartitions:
        """Refine intervals whose coefficients (intervals, degrees), relative to max|u|, exceed the limit."""
        most = AXES.max_polynomials[len(self.edges)]
        found = [
            _refine_axis(e, n, S, limit, most)
            for e, n, S in zip(self.edges, self.sizes, spectra, strict=True)
        ]
        return AxisPartitions(tuple(e for e, _ in found), tuple(n for _, n in found))


def initial_partitions(context: ValidationContext, orders: Sequence[int]) -> AxisPartitions:
    """Return the first partitions for equations of these orders along the axes."""
    d = len(context.box)
    n0 = next(n for tol, n in AXES.initial_degrees if context.tol >= tol)
    n0 = max(n0 if d > 1 else AXES.line_polynomials, 2 * max(orders) + 4)
    found = list(layer_planes(context))
    waves = wavelengths_across(context)
    edges, sizes = [], []
    for axis, (low, high) in enumerate(context.box):
        n = n0
        cuts = {float(low), float(high)} | {p for a, p in context.compiled.interfaces.planes if a == axis}
        if waves[axis] > 0:
            n = max(n, AXES.wave_polynomials)
            per = 2.0 * n / math.e * (HP_SELECTION.wave_tolerance * context.tol) ** (1.0 / n) / math.pi
            cuts |= set(np.linspace(low, high, max(math.ceil(waves[axis] / per), 1) + 1).tolist())
        for site in found:
            if site.axis == axis:
                cuts |= _graded_edges(
                    float(low), float(high), site.level, DECAY_RATES.decay_per_degree * n / site.rate
                )
        edges.append(tuple(sorted(cuts)))
        sizes.append(n)
    assert len(edges) == d
    return AxisPartitions(tuple(edges), tuple(sizes))


def interval_tails(S: Array) -> Array:
    """Return the larger of the last two coefficients of each interval, (P,): odd ones may vanish."""
    return spectral_tail(S, 1, 2, kept=(0,))


def axis_spectra(parts: Sequence[Array], sizes: Array) -> list[Array]:
    """Return the largest coefficients (P, n) along each axis, relative to max|u|.

    ``parts`` are arrays (P₁, n₁, P₂, n₂, …), one for each unknown; those with fewer degrees are aligned at
    the highest degree.
    """
    d = parts[0].ndim // 2
    out = []
    for i in range(d):
        most = max(C.shape[2 * i + 1] for C in parts)
        found = []
        for C, size in zip(parts, sizes, strict=True):
            others = tuple(j for j in range(2 * d) if j // 2 != i)
            S = np.abs(C).max(axis=others) / (size if size > 0 else 1.0)
            found.append(np.pad(S, ((0, 0), (most - S.shape[1], 0)), mode="edge"))
        out.append(np.max(found, axis=0))
    return out


def _refine_axis(
    edges: tuple[float, ...], n: int, S: Array, limit: float, most: int
) -> tuple[tuple[float, ...], int]:
    """Grade intervals at singular ends; otherwise choose between halving and more polynomials by size."""
    P = len(edges) - 1
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.log10(np.maximum(decayed_spectrum(S, 1, kept=(0,)), 1e-300))
        missing = np.log10(np.maximum(interval_tails(S), 1e-300) / limit)
    missing = np.where(missing > 0, missing + AXES.safety_digits, 0.0)
    middle, last = (math.ceil(share * n) for share in AXES.rate_range)
    rate = (logs[:, middle] - logs[:, last]) / (last - middle)
    whole = edges[-1] - edges[0]
    open_ = (missing > 0) & (np.diff(edges) > DEFAULT.min_relative_length * whole)
    slow = open_ & _decays_algebraically(logs)
    ends = np.zeros(P, dtype=bool)
    ends[[0, -1]] = True
    towards = slow & ends
    smooth = open_ & ~towards
    best: tuple[float, int, npt.NDArray[np.bool_]] | None = None
    for size in range(n, max(most, n) + 1):
        lacking = np.where(smooth, missing - rate * (size - n), 0.0)
        halved = lacking > 0  # only once: repeated halving of unresolved intervals would give too many
        total = float(size * (P + halved.sum() + towards.sum()))
        if best is None or total < best[0]:
            best = total, size, halved
    assert best is not None
    at = np.arange(P)
    return refine_partition(edges, towards & (at == 0), towards & (at == P - 1), best[2]), best[1]


def _decays_algebraically(logs: Array) -> npt.NDArray[np.bool_]:
    """Whether coefficients (P, n) decay as a power of the degree, as at a singular end."""
    degrees = np.arange(AXES.min_degree, logs.shape[1], dtype=float)
    left = []
    for s in (np.log(degrees), degrees):
        A = np.stack([np.ones_like(s), s], axis=1)
        L = logs[:, AXES.min_degree :].T
        left.append(np.sum((L - A @ np.linalg.lstsq(A, L, rcond=None)[0]) ** 2, axis=0))
    return np.asarray(left[0] < AXES.max_power_misfit * left[1])


def _graded_edges(low: float, high: float, level: float, length: float) -> set[float]:
    """Return edges whose distance from a level grows by a factor of three, starting at a length."""
    out = {level}
    for sign in (-1.0, 1.0):
        step = length
        while low < level + sign * step < high and step < 0.6 * (high - low):
            out.add(level + sign * step)
            step *= 3.0
    return out
