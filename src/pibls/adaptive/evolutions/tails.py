r"""|c_n|/max|u| and |r|/max|terms|: how far the series of a window have fallen, what its equations leave."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from pibls.adaptive.evolutions.line_mesh import Places
from pibls.adaptive.evolutions.resolution import Resolution, in_pieces
from pibls.adaptive.thresholds import MARCH
from pibls.arrays import Array
from pibls.assembly.evolutions.lines import Lines, LineStatement, Moments, Term
from pibls.nonlinear.stages import Stages

LAST = np.array([0.1, 1.0])  # weights of the last two coefficients in time: the next is smaller still
BETWEEN = np.array([0.12, 0.55, 0.91])  # moments at which the equations are not held


def spectra(found: Resolution, U: Array, scale: Array | None = None) -> Array:
    """The last coefficients in space of functions (…, cells, unknowns, n), relative: (cells, axes).

    Of one cell that is divided along its coordinates, those of the pieces along each: (pieces, axes).
    """
    split = np.abs(in_pieces(U, found))
    if scale is None:
        split = split / np.maximum(split.max(axis=(1, 3), keepdims=True), 1e-300).max(
            axis=tuple(range(4, split.ndim)), keepdims=True
        )
    else:
        split = split / scale.reshape(-1, *(1,) * len(found.sizes))
    counts = [len(found.tree) * s.pieces for s in found.strands]
    out = np.zeros((max(counts), len(counts)))
    for i, (strand, count) in enumerate(zip(found.strands, counts, strict=True)):
        n, yes = strand.degrees, strand.repeats
        every = split.reshape(*split.shape[: 3 + i], strand.pieces, n, -1)
        top = every[..., n - (4 if yes else 3) :, :].max(axis=(-2, -1))
        # What is left out is a sum: of n waves that have fallen by seven digits, each next one has by 32/n.
        beyond = max(n / 32.0, 1.0) if yes else 1.0
        out[:count, i] = beyond * top.max(axis=(0, *range(2, top.ndim - 1))).ravel()
    return out


def tails_of(
    places: Places, found: Resolution, U: Array, series: Array, known: Array, least: Array | float = 0.0
) -> tuple[float, Array, Array]:
    """The tail in time; those in space, (cells, axes); max|u| of each unknown.

    U are the coefficients at the moments and ``series`` those in time, (cells, unknowns, n, …); ``known`` is
    how large each unknown was before. None is measured against less than ``least``.
    """
    site, plain = places.grid(found, found.raw), (0,) * len(found.sizes)
    values = np.abs(site.sums(plain, U))
    sizes = values.max(axis=(0, 2, 3))
    scale = np.maximum(np.maximum(known, sizes), 1e-9 * max(float(sizes.max()), float(known.max())))
    scale = np.maximum(np.where(scale > 0, scale, 1.0), least)
    late = np.abs(site.sums(plain, series[..., -2:] * LAST)).max(axis=(0, 2, 3))
    along = float((late / scale).max())
    return along, spectra(found, np.moveaxis(U, -1, 0), scale), sizes


def natural_of(
    places: Places, found: Resolution, sizes: Array, h: float, group: LineStatement, share: float = 1.0
) -> Callable[[Term], Array]:
    """What a term of a group is at least, of unknowns that vary by their size over a cell or window."""
    boxes = found.tree.boxes[:, places.free, :]
    half = 0.5 * (boxes[:, :, 1] - boxes[:, :, 0])

    def natural(term: Term) -> Array:
        site, k, alpha, a = term
        place = group.sites[site]
        lengths = place.of(half)
        if found.edges:  # every point has those of its pieces
            S = (place.points[0][:, places.free] - boxes[0].mean(axis=1)) / half[0]
            lengths = half * np.stack([s.half(S[:, i]) for i, s in enumerate(found.strands)], axis=1)
        scale = np.prod(lengths ** -np.array(alpha, dtype=float), axis=1) * (0.5 * abs(h)) ** -a
        return np.asarray((share if sum(alpha) else 1.0) * sizes[k] * scale)

    return natural


def noise_of(
    places: Places, found: Resolution, left: Array, window: tuple[float, int], group: LineStatement
) -> Callable[[Term], Array]:
    """What a term of a group may be off by, of unknowns whose series are off by ``left``.

    ``window`` has its length and how many functions it has in time.
    """
    h, moments = window
    natural = natural_of(places, found, left, h, group)

    def noise(term: Term) -> Array:
        # ∂^m of the last polynomial at the end of a cell, next to its values: n^2m/(1·3·…·(2m - 1)).
        orders = zip((*(s.degrees for s in found.strands), moments), (*term[2], term[3]), strict=True)
        steep = math.prod(n ** (2 * m) / math.prod(range(1, 2 * m, 2)) for n, m in orders)
        return np.asarray(steep * natural(term))

    return noise


def rounding_of(
    places: Places, moments: Moments, rates: list[Array], since: float, left: float = 0.0
) -> Array:
    """What each unknown may be off by after a time: the terms of its equation are rounded, or ``left`` open.

    A velocity that stays zero, because a pressure and what turns it balance, is no better known than that.
    """
    out = np.zeros(len(places.partner))
    for g, held, k in zip(moments.lines.groups, moments.held, places.partner, strict=False):
        J = moments.lines.jets(g, rates, g.terms)
        slopes = np.concatenate([held.coefficients, held.slopes(J[g.known :])])
        highest = places.evolution.orders[k]
        own = [highest > 0 and (unknown, a) == (k, highest) for _, unknown, _, a in g.terms]
        rate = np.abs(slopes[own]).min(initial=np.inf)
        if any(own) and rate > 0:
            others = np.abs((slopes * J)[np.logical_not(own)]).max(initial=0.0)
            out[k] = max(MARCH.rounded, 10.0 * left) * others * since**highest / rate
    return out


def between_of(
    st: Stages, U: Array, beginning: Array, highest: int, h: float, orders: tuple[int, ...], at: Array
) -> list[Array]:
    """∂_t^a of functions (cells, unknowns, n, s) at shares of the window at which no equation is held."""
    V = np.polynomial.legendre.legvander(2.0 * at - 1.0, st.count)
    seen = []
    for a, r in enumerate(st.rates(U, beginning, highest, h)):
        if a < len(beginning):
            every = np.concatenate([beginning[a][..., None], r], axis=-1)
            value = every @ (V @ st.series).T
            for k, order in enumerate(orders):
                if order <= a:
                    value[:, k] = r[:, k] @ (V @ st.bare).T
        else:
            value = r @ (V @ st.bare).T
        seen.append(value)
    return seen


@dataclass(frozen=True)
class SeenWindow:
    """A window that was solved, at moments that are shares of it, next to what its terms are.

    ``known`` is how large each unknown was before, ``left`` what the series are off by anyway, relative.
    """

    places: Places
    found: Resolution
    stages: Stages
    U: Array
    beginning: Array
    window: tuple[float, float]
    known: Array
    left: float
    at: Array

    def equations(self, checks: Lines) -> Array:
        """How well the equations hold between the points: of each cell."""
        out = np.zeros(len(self.found.tree))
        for r, size in self._judged(checks, checks.groups, MARCH.share):
            r, size = (_by_box(x, self.found) for x in (r, size))
            local = size.max(axis=1)
            left_here = np.sqrt(np.mean(r**2, axis=1)) / np.where(local > 0, local, 1.0)
            out = np.maximum(out, left_here.reshape(len(out), -1).max(axis=1))
        return out

    def sides(self, lines: Lines) -> float:
        """The same of all that holds beside the equations."""
        # Of an integral only all groups of its name together say something.
        groups = [g for g in lines.groups[len(self.places.equations) :] if g.weights is None]
        found = (np.abs(r) / np.where(size > 0, size, 1.0) for r, size in self._judged(lines, groups))
        return max((float(r.max(initial=0.0)) for r in found), default=0.0)

    def _judged(
        self, lines: Lines, groups: Sequence[LineStatement], share: float = 1.0
    ) -> Iterator[tuple[Array, Array]]:
        t, h = self.window[0], self.window[1] - self.window[0]
        st, places = self.stages, self.places
        seen = between_of(st, self.U, self.beginning, lines.highest, h, places.evolution.orders, self.at)
        sizes = np.maximum(self.known, np.abs(self.U).max(axis=(0, 2, 3)))
        for g in groups:
            natural = natural_of(places, self.found, sizes, h, g, share)
            noise = noise_of(places, self.found, self.left * sizes, (h, st.count), g)
            alone = Lines(*lines.extent, (g,), lines.highest)
            yield from alone.at(t + h * self.at).judged(seen, natural, noise)


def _by_box(values: Array, found: Resolution) -> Array:
    """Values (cells × points, times) of each cell, or of each box between the edges of the only one."""
    if not found.edges:
        return values.reshape(len(found.tree), -1)
    pieces = [s.pieces for s in found.strands]
    # As many points in each piece, in all of them along a coordinate a multiple of its pieces.
    raw = [s.nodes(n).size for s, n in zip(found.strands, found.checked, strict=True)]
    shape = [m for n, p in zip(raw, pieces, strict=True) for m in (p, n // p)]
    d = len(pieces)
    split = values.reshape(*shape, -1).transpose(*range(0, 2 * d, 2), *range(1, 2 * d, 2), 2 * d)
    return np.asarray(split.reshape(int(np.prod(pieces)), -1))
