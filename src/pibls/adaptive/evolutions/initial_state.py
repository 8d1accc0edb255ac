r"""∂_t^a u(x, t₀) = g_a(x): the coefficients in space that a window begins with."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from pibls.adaptive.evolution import Evolution
from pibls.adaptive.evolutions.line_mesh import Places
from pibls.adaptive.evolutions.resolution import Resolution, coefficients_of
from pibls.adaptive.evolutions.tails import natural_of, noise_of, spectra
from pibls.adaptive.thresholds import BENCH, MARCH
from pibls.adaptive.validation.data_scan import places_of
from pibls.arrays import Array, Numbers
from pibls.assembly.evolutions.lines import Lines
from pibls.caching import cached_property
from pibls.problem.forms.lowering import LoweredProblem


@dataclass(frozen=True)
class State:
    """Where a window begins: ∂_t^a of all coefficients, (rates, cells, unknowns, n)."""

    resolution: Resolution
    rates: Array


@dataclass(frozen=True)
class Beginning:
    """The initial conditions of an evolution."""

    places: Places

    def at(self, resolution: Resolution) -> State:
        """∂_t^a u(x, t₀) from the initial conditions."""
        e, lowered = self.places.evolution, self.places.bench.lowered
        site = self.places.grid(resolution, resolution.raw)
        cells, n, d = site.points.shape
        X = site.points.reshape(-1, d).copy()
        X[:, e.axis] = e.start
        # What jumps at a face is taken from the cell's own side: Gauss's nodes lie inside.
        values = given_at(lowered, e, X)
        rates = values.reshape(*values.shape[:2], cells, n).transpose(0, 2, 1, 3)
        assert lowered.unknowns == rates.shape[2]
        return State(resolution, coefficients_of(rates, resolution))

    def unresolved(self, state: State) -> Array:
        """What is left out of a beginning, relative: (cells, axes).

        What none of its points has seen, is in no series: a narrow cloud is looked for between them.
        """
        across = spectra(state.resolution, state.rates)
        if len(self.places.free) > 1:
            return across
        X, given = self._scanned
        cells = state.resolution.tree.locate(X)
        off = np.abs(values_at(self.places, state, X, cells) - given)
        sizes = np.maximum(np.abs(given).max(axis=2, keepdims=True), 1e-300)
        missed = np.zeros(len(across))
        np.maximum.at(missed, cells, (off / sizes).max(axis=(0, 1)))
        return np.maximum(across, np.where(missed > MARCH.noise, missed, 0.0)[:, None])

    @cached_property
    def _scanned(self) -> tuple[Array, Array]:
        """Many places on a line, and what is given there."""
        e, bench = self.places.evolution, self.places.bench
        axis, box = self.places.free[0], bench.box
        begun = [bench.lowered.residuals[i] for i in e.beginning]
        steep = np.concatenate([places_of(r, bench.where.all, bench.domain)[:, axis] for r in begun])
        even = box[axis, 0] + np.ptp(box[axis]) * (np.arange(BENCH.scanned) + 0.5) / BENCH.scanned
        X = np.full((len(even) + len(steep), len(box)), e.start)
        X[:, axis] = np.concatenate([even, steep])
        return X, np.nan_to_num(given_at(self.places.bench.lowered, e, X))

    def misfit(self, state: State, lines: Lines, t: float, known: Array) -> float:
        """How far a beginning at a time is from what holds at the sides and between the cells, relative.

        ``known`` is how large each unknown is, or becomes, elsewhere: next to a string at rest, what there
        is of a pulse whose time has not come is nothing.
        """
        e, found = self.places.evolution, state.resolution
        rates = [r[..., None] for r in state.rates]
        # What its series leaves out is larger in derivatives: no more is known of the beginning there.
        noise = MARCH.uncertain[0] * max(float(spectra(found, state.rates).max()), 2.2e-16)
        noise = min(noise, MARCH.uncertain[1])
        sizes = np.maximum(np.abs(state.rates[0]).max(axis=(0, 2)), known)
        out = 0.0
        totals: dict[str, tuple[Array, Array]] = {}
        for g in lines.groups[len(self.places.equations) :]:
            if all(a < e.orders[k] for _, k, _, a in g.terms):
                natural = natural_of(self.places, found, sizes, math.inf, g)
                alone = Lines(*lines.extent, (g,), lines.highest)
                noisy = noise_of(self.places, found, noise * sizes, (math.inf, 1), g)
                (judged,) = alone.at(np.array([t])).judged(rates, natural, noisy)
                if g.weights is not None:  # its terms stand in several groups
                    before = totals.get(g.name, (np.zeros(1), np.zeros(1)))
                    judged = judged[0] + before[0], np.maximum(judged[1], before[1])
                    totals[g.name] = judged
                    continue
                out = max(out, _share(*judged))
        return max(out, *(_share(*judged) for judged in totals.values())) if totals else out


def _share(r: Array, sizes: Array) -> float:
    size = float(sizes.max(initial=0.0))
    return float(np.abs(r).max(initial=0.0)) / size if size > 0 else 0.0


def given_at(lowered: LoweredProblem, e: Evolution, X: Array) -> Array:
    """∂_t^a u at points of the start, (rates, unknowns, N): one small system at each of them."""
    wanted = [(a, k) for k, order in enumerate(e.orders) for a in range(order)]
    A = np.zeros((len(X), len(wanted), len(wanted)))
    b = np.zeros((len(X), len(wanted)))
    normals = np.zeros_like(X)
    for row, i in enumerate(e.beginning):
        r = lowered.residuals[i]
        data = r.known_data(X)
        for j, c in zip(r.linear, r.coefficients(X, normals, data), strict=True):
            A[:, row, wanted.index((j.alpha[e.axis], j.unknown))] += c
        b[:, row] = -r.rest(X, normals, data, np.empty((0, len(X))))
    out = np.zeros((max(e.orders), lowered.unknowns, len(X)))
    found = np.linalg.solve(A, b[:, :, None])[:, :, 0]
    for column, (a, k) in enumerate(wanted):
        out[a, k] = found[:, column]
    return out


def values_at(places: Places, state: State, X: Array, cells: Numbers) -> Array:
    """∂_t^a u at points of a line, each in its cell: (rates, unknowns, N)."""
    spots = places.spots(X, cells, state.resolution)
    table = spots.tables((0,) * len(places.free)).reshape(len(X), -1)
    owners = np.zeros(len(X), dtype=np.intp) if spots.cells is None else spots.cells
    return np.asarray(np.einsum("xn,axkn->akx", table, state.rates[:, owners]))


def moved(places: Places, state: State, resolution: Resolution) -> State:
    """The same functions at another resolution."""
    if state.resolution == resolution:
        return state
    site = places.grid(resolution, resolution.raw)
    X = site.points.reshape(-1, site.points.shape[-1])
    old = state.resolution
    if len(old.sizes) > 1:
        values = places.values(state.rates, old, resolution)
        return State(resolution, coefficients_of(values, resolution))
    values = values_at(places, state, X, old.tree.locate(X))
    values = values.reshape(*values.shape[:2], len(resolution.tree), -1).transpose(0, 2, 1, 3)
    return State(resolution, coefficients_of(values, resolution))
