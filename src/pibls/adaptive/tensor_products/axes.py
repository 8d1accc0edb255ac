r"""a = e₀ < e₁ < … < e_P = b, n polynomials in each piece: how a box is divided, axis by axis.

Pieces begin where coefficients need them: at layers and for waves that the equation's own rates tell of, at
planes where something jumps. Then each is halved until the coefficients of the solution have fallen in it,
whatever they are along the other axes; towards an end of an axis where they fall as a power, pieces become
smaller in proportion. Where they fall fast, more polynomials are cheaper.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from pibls.adaptive.edges import moved_edges, towards_ends
from pibls.adaptive.rates import sites, waves_across
from pibls.adaptive.thresholds import AXES, DEFAULT, RATES, SIZES
from pibls.adaptive.validation.context import Bench
from pibls.arrays import Array
from pibls.assembly.tensor_products.boxed import Boxed
from pibls.basis.polynomials.splines import Splines
from pibls.spaces import Lattice


@dataclass(frozen=True)
class Axes:
    """The edges along each axis, and the polynomials in each of its pieces."""

    edges: tuple[tuple[float, ...], ...]
    sizes: tuple[int, ...]

    def splines(self, boxed: Boxed) -> tuple[Splines, ...]:
        return tuple(map(Splines, self.edges, self.sizes, boxed.orders, boxed.repeated))

    def lattice(self, unknowns: int) -> Lattice:
        return Lattice(self.edges, self.sizes, unknowns)

    @property
    def functions(self) -> tuple[int, ...]:
        """Along each axis, those that are not smooth too."""
        return tuple((len(e) - 1) * n for e, n in zip(self.edges, self.sizes, strict=True))

    def moved(self, kept: Sequence[tuple[int, float]]) -> Axes:
        """Pieces that reach from the middle of one to the middle of the next, and as many polynomials.

        Planes that are ``kept`` stay edges. What a singular end leaves is less in half of the piece there.
        """
        return replace(
            self,
            edges=tuple(moved_edges(e, {p for a, p in kept if a == i}) for i, e in enumerate(self.edges)),
        )

    def refined(self, spectra: Sequence[Array], limit: float) -> Axes:
        """Finer where coefficients (pieces, degrees), relative to max|u|, have not fallen to the limit."""
        found = [_finer(e, n, S, limit) for e, n, S in zip(self.edges, self.sizes, spectra, strict=True)]
        return Axes(tuple(e for e, _ in found), tuple(n for _, n in found))


def first_axes(bench: Bench, boxed: Boxed) -> Axes:
    """The first pieces."""
    d = len(bench.box)
    n0 = next(n for tol, n in AXES.first if bench.tol >= tol)
    n0 = max(n0, 2 * max(boxed.orders) + 4)
    found = list(sites(bench))
    waves = waves_across(bench)
    edges, sizes = [], []
    for axis, (low, high) in enumerate(bench.box):
        n = n0
        cuts = {float(low), float(high)} | {p for a, p in bench.lowered.interfaces.planes if a == axis}
        if waves[axis] > 0:
            n = AXES.waves
            per = 2.0 * n / math.e * (SIZES.phase * bench.tol) ** (1.0 / n) / math.pi
            cuts |= set(np.linspace(low, high, max(math.ceil(waves[axis] / per), 1) + 1).tolist())
        for site in found:
            if site.axis == axis:
                cuts |= _graded(float(low), float(high), site.level, RATES.per_degree * n / site.rate)
        edges.append(tuple(sorted(cuts)))
        sizes.append(n)
    assert len(edges) == d
    return Axes(tuple(edges), tuple(sizes))


def tail_of(S: Array) -> Array:
    """The largest of the last two coefficients of each piece, (P,): those of odd degrees may vanish."""
    return np.asarray(S[:, -2:].max(axis=1))


def spectra_of(parts: Sequence[Array], sizes: Array) -> list[Array]:
    """The largest coefficients (P, n) along each axis, relative to max|u|, of (P₁, n₁, P₂, n₂, …) for each u.

    Of an unknown of fewer degrees the last ones count as the last.
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


def _finer(edges: tuple[float, ...], n: int, S: Array, limit: float) -> tuple[tuple[float, ...], int]:
    """Pieces that do not fall at an end become smaller towards it; of all others the least sum is sought."""
    P = len(edges) - 1
    # From each degree on the largest coefficient: those of odd degrees may vanish.
    fallen = np.maximum.accumulate(S[:, ::-1], axis=1)[:, ::-1]
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.log10(np.maximum(fallen, 1e-300))
        missing = np.log10(np.maximum(tail_of(S), 1e-300) / limit)
    missing = np.where(missing > 0, missing + AXES.spare, 0.0)
    middle, last = (math.ceil(share * n) for share in AXES.levels)
    rate = (logs[:, middle] - logs[:, last]) / (last - middle)
    whole = edges[-1] - edges[0]
    open_ = (missing > 0) & (np.diff(edges) > DEFAULT.shortest * whole)
    slow = open_ & _falls_as_power(logs)
    ends = np.zeros(P, dtype=bool)
    ends[[0, -1]] = True
    towards = slow & ends
    smooth = open_ & ~towards
    best: tuple[float, int, npt.NDArray[np.bool_]] | None = None
    for size in range(n, max(AXES.most, n) + 1):
        lacking = np.where(smooth, missing - rate * (size - n), 0.0)
        halved = lacking > 0  # once: more of what is not resolved at all would be too many
        total = float(size * (P + halved.sum() + towards.sum()))
        if best is None or total < best[0]:
            best = total, size, halved
    assert best is not None
    at = np.arange(P)
    return towards_ends(edges, towards & (at == 0), towards & (at == P - 1), best[2]), best[1]


def _falls_as_power(logs: Array) -> npt.NDArray[np.bool_]:
    """Whether digits (P, n) fall with the logarithm of the degree, not with the degree: a singular end."""
    degrees = np.arange(AXES.lowest, logs.shape[1], dtype=float)
    left = []
    for s in (np.log(degrees), degrees):
        A = np.stack([np.ones_like(s), s], axis=1)
        L = logs[:, AXES.lowest :].T
        left.append(np.sum((L - A @ np.linalg.lstsq(A, L, rcond=None)[0]) ** 2, axis=0))
    return np.asarray(left[0] < AXES.power * left[1])


def _graded(low: float, high: float, level: float, length: float) -> set[float]:
    """Edges whose distance from a level doubles, from a length on."""
    out = {level}
    for sign in (-1.0, 1.0):
        step = length
        while low < level + sign * step < high and step < 0.6 * (high - low):
            out.add(level + sign * step)
            step *= 3.0
    return out
