r"""Error indicators of a time window: relative spectral tails abs(c_n)/max abs(u) and relative residuals.

The residuals are evaluated at times and points between those of the collocation. They are relative to the
natural size of the terms, which is their size if each unknown varies by max abs(u) over a cell and a
window, plus the rounding errors of the terms.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from pibls.arrays import Array
from pibls.assembly.evolutions.semidiscrete import (
    SemidiscreteStatement,
    SemidiscreteSystem,
    SystemAtTimes,
    Term,
)
from pibls.spaces.spectral_tail import spectral_tail
from pibls.time.box.operator import CollocationOperator
from pibls.time.box.resolution import Resolution, per_interval
from pibls.time.radau_stages import RadauStages
from pibls.time.thresholds import TIME_STEPPING

LAST_WEIGHTS = np.array([0.1, 1.0])  # weights of the last two coefficients in time
CHECK_FRACTIONS = np.array([0.12, 0.55, 0.91])  # fractions of a window between the collocation times


def space_tails(resolution: Resolution, U: Array, scale: Array | None = None) -> Array:
    """Return the relative spectral tails in space of functions (…, cells, unknowns, n): (cells, axes).

    For a single cell that is divided along its axes, the tails of the intervals: (intervals, axes).
    """
    split = np.abs(per_interval(U, resolution))
    if scale is None:
        split = split / np.maximum(split.max(axis=(1, 3), keepdims=True), 1e-300).max(
            axis=tuple(range(4, split.ndim)), keepdims=True
        )
    else:
        split = split / scale.reshape(-1, *(1,) * len(resolution.sizes))
    counts = [len(resolution.tree) * s.intervals for s in resolution.bases]
    out = np.zeros((max(counts), len(counts)))
    for i, (basis, count) in enumerate(zip(resolution.bases, counts, strict=True)):
        n, yes = basis.functions_per_interval, basis.periodic
        coefficients = split.reshape(*split.shape[: 3 + i], basis.intervals, n, -1)
        tails = spectral_tail(coefficients, -2, 4 if yes else 3, kept=(1, coefficients.ndim - 3))
        # The truncation error is a sum: if n modes have decayed by seven digits, their decay rate is 32/n.
        sum_factor = max(n / 32.0, 1.0) if yes else 1.0
        out[:count, i] = sum_factor * tails.ravel()
    return out


def window_spectral_tails(
    operator: CollocationOperator,
    resolution: Resolution,
    U: Array,
    series: Array,
    past_magnitudes: Array,
    min_scale: Array | float = 0.0,
) -> tuple[float, Array, Array]:
    """Return the spectral tail in time, those in space (cells, axes), and max abs(u) of each unknown.

    U holds the coefficients at the collocation times and ``series`` those in time, (cells, unknowns, n, …);
    ``past_magnitudes`` is max abs(u) of each unknown in earlier windows. Tails are relative to max abs(u),
    but to no less than ``min_scale``.
    """
    site, plain = operator.grid(resolution, resolution.raw_sizes), (0,) * len(resolution.sizes)
    values = np.abs(site.sums(plain, U))
    magnitudes = values.max(axis=(0, 2, 3))
    scale = np.maximum(
        np.maximum(past_magnitudes, magnitudes),
        1e-9 * max(float(magnitudes.max()), float(past_magnitudes.max())),
    )
    scale = np.maximum(np.where(scale > 0, scale, 1.0), min_scale)
    last_terms = site.sums(plain, series[..., -2:] * LAST_WEIGHTS)
    time_tail = float((spectral_tail(last_terms, -1, 2, kept=(1,)) / scale).max())
    return time_tail, space_tails(resolution, np.moveaxis(U, -1, 0), scale), magnitudes


def natural_scale(
    operator: CollocationOperator,
    resolution: Resolution,
    magnitudes: Array,
    h: float,
    group: SemidiscreteStatement,
    spatial_weight: float = 1.0,
) -> Callable[[Term], Array]:
    """Return a function for the natural size of a term.

    That is its size if its unknown varies by its magnitude over a cell and a window.

    ``magnitudes`` holds max abs(u) of each unknown; terms with derivatives in space are multiplied by
    ``spatial_weight``.
    """
    boxes = resolution.tree.boxes[:, operator.space_axes, :]
    half = 0.5 * (boxes[:, :, 1] - boxes[:, :, 0])

    def natural(term: Term) -> Array:
        site, k, alpha, a = term
        points_site = group.sites[site]
        lengths = points_site.select_cells(half)
        if resolution.edges:  # the half lengths of the interval of each point
            S = (points_site.points[0][:, operator.space_axes] - boxes[0].mean(axis=1)) / half[0]
            lengths = half * np.stack(
                [s.half_lengths(S[:, i]) for i, s in enumerate(resolution.bases)], axis=1
            )
        scale = np.prod(lengths ** -np.array(alpha, dtype=float), axis=1) * (0.5 * abs(h)) ** -a
        return np.asarray((spatial_weight if sum(alpha) else 1.0) * magnitudes[k] * scale)

    return natural


def rounding_scale(
    operator: CollocationOperator,
    resolution: Resolution,
    series_rounding: Array,
    window: tuple[float, int],
    group: SemidiscreteStatement,
) -> Callable[[Term], Array]:
    """Return a function for the error of a term caused by errors ``series_rounding`` of the unknowns' series.

    ``window`` holds the length of the window and its number of functions in time.
    """
    h, time_functions = window
    natural = natural_scale(operator, resolution, series_rounding, h, group)

    def noise(term: Term) -> Array:
        # ∂^m of the last polynomial at the end of a cell, relative to its values: n^2m/(1·3·…·(2m - 1)).
        orders = zip(
            (*(s.functions_per_interval for s in resolution.bases), time_functions),
            (*term[2], term[3]),
            strict=True,
        )
        derivative_growth = math.prod(n ** (2 * m) / math.prod(range(1, 2 * m, 2)) for n, m in orders)
        return np.asarray(derivative_growth * natural(term))

    return noise


def rounding_errors(
    operator: CollocationOperator,
    at_times: SystemAtTimes,
    rates: list[Array],
    since: float,
    solver_residual: float = 0.0,
) -> Array:
    """Return the possible error of each unknown after the time ``since`` from rounding of its equation.

    ``solver_residual`` is the relative residual of the linear solver. For example, a velocity that stays
    zero because a pressure gradient balances the Coriolis force is not known better than this.
    """
    out = np.zeros(len(operator.matched_unknowns))
    for g, statement_at, k in zip(
        at_times.system.statements, at_times.statements, operator.matched_unknowns, strict=False
    ):
        J = at_times.system.term_values(g, rates, g.terms)
        partials = np.concatenate([statement_at.coefficients, statement_at.partials(J[g.linear_count :])])
        time_order = operator.evolution.orders[k]
        own = [time_order > 0 and (unknown, a) == (k, time_order) for _, unknown, _, a in g.terms]
        rate = np.abs(partials[own]).min(initial=np.inf)
        if any(own) and rate > 0:
            others = np.abs((partials * J)[np.logical_not(own)]).max(initial=0.0)
            out[k] = (
                max(TIME_STEPPING.relative_rounding, 10.0 * solver_residual)
                * others
                * since**time_order
                / rate
            )
    return out


def values_between(
    stages: RadauStages,
    U: Array,
    initial: Array,
    time_order: int,
    h: float,
    orders: tuple[int, ...],
    fractions: Array,
) -> list[Array]:
    """Return ∂_t^a of functions (cells, unknowns, n, s) at ``fractions`` of the window."""
    V = np.polynomial.legendre.legvander(2.0 * fractions - 1.0, stages.count)
    seen = []
    for a, r in enumerate(stages.time_derivatives(U, initial, time_order, h)):
        if a < len(initial):
            nodal_values = np.concatenate([initial[a][..., None], r], axis=-1)
            value = nodal_values @ (V @ stages.series).T
            for k, order in enumerate(orders):
                if order <= a:
                    value[:, k] = r[:, k] @ (V @ stages.series_without_start).T
        else:
            value = r @ (V @ stages.series_without_start).T
        seen.append(value)
    return seen


@dataclass(frozen=True)
class WindowResiduals:
    """Relative residuals of a solved window at ``fractions`` of it, between the collocation times.

    ``past_magnitudes`` is max abs(u) of each unknown in earlier windows, ``series_rounding`` the relative
    error of the series by rounding.
    """

    operator: CollocationOperator
    resolution: Resolution
    stages: RadauStages
    U: Array
    initial: Array
    window: tuple[float, float]
    past_magnitudes: Array
    series_rounding: float
    fractions: Array

    def equations(self, check_system: SemidiscreteSystem) -> Array:
        """Return the relative residual of the equations in each cell, between the collocation points."""
        out = np.zeros(len(self.resolution.tree))
        for r, size in self._scaled_residuals(
            check_system, check_system.statements, TIME_STEPPING.spatial_term_weight
        ):
            r, size = (_by_cell(x, self.resolution) for x in (r, size))
            local = size.max(axis=1)
            left_here = np.sqrt(np.mean(r**2, axis=1)) / np.where(local > 0, local, 1.0)
            out = np.maximum(out, left_here.reshape(len(out), -1).max(axis=1))
        return out

    def conditions(self, system: SemidiscreteSystem) -> float:
        """Return the largest relative residual of conditions and continuity."""
        # The terms of an integral condition are spread over several groups, so it is skipped.
        groups = [g for g in system.statements[len(self.operator.equations) :] if g.weights is None]
        found = (
            np.abs(r) / np.where(size > 0, size, 1.0) for r, size in self._scaled_residuals(system, groups)
        )
        return max((float(r.max(initial=0.0)) for r in found), default=0.0)

    def _scaled_residuals(
        self, system: SemidiscreteSystem, groups: Sequence[SemidiscreteStatement], spatial_weight: float = 1.0
    ) -> Iterator[tuple[Array, Array]]:
        t, h = self.window[0], self.window[1] - self.window[0]
        st, operator = self.stages, self.operator
        seen = values_between(
            st, self.U, self.initial, system.time_order, h, operator.evolution.orders, self.fractions
        )
        magnitudes = np.maximum(self.past_magnitudes, np.abs(self.U).max(axis=(0, 2, 3)))
        for g in groups:
            natural = natural_scale(operator, self.resolution, magnitudes, h, g, spatial_weight)
            noise = rounding_scale(
                operator, self.resolution, self.series_rounding * magnitudes, (h, st.count), g
            )
            alone = SemidiscreteSystem(*system.coefficient_shape, (g,), system.time_order)
            yield from alone.at(t + h * self.fractions).scaled_residuals(seen, natural, noise)


def _by_cell(values: Array, resolution: Resolution) -> Array:
    """Return values (cells × points, times) by cell, or by box if the only cell is divided."""
    if not resolution.edges:
        return values.reshape(len(resolution.tree), -1)
    intervals = [s.intervals for s in resolution.bases]
    # Every interval of an axis has the same number of points.
    raw = [s.nodes(n).size for s, n in zip(resolution.bases, resolution.check_sizes, strict=True)]
    shape = [m for n, p in zip(raw, intervals, strict=True) for m in (p, n // p)]
    d = len(intervals)
    split = values.reshape(*shape, -1).transpose(*range(0, 2 * d, 2), *range(1, 2 * d, 2), 2 * d)
    return np.asarray(split.reshape(int(np.prod(intervals)), -1))
