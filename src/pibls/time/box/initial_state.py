r"""Initial state of a time window: coefficients in space of ∂_t^a u(x, t₀) = g_a(x)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from pibls.analysis.steep_data import steep_data_points
from pibls.arrays import Array, Indices
from pibls.assembly.evolutions.semidiscrete import SemidiscreteSystem
from pibls.runtime.caching import cached_property
from pibls.time.box.error_indicators import natural_scale, rounding_scale, space_tails
from pibls.time.box.operator import CollocationOperator
from pibls.time.box.resolution import Resolution, to_coefficients
from pibls.time.initial_values import initial_values_at
from pibls.time.thresholds import TIME_STEPPING


@dataclass(frozen=True)
class CollocationState:
    """State at the start of a window: ∂_t^a of all coefficients, (time derivatives, cells, unknowns, n)."""

    resolution: Resolution
    rates: Array


@dataclass(frozen=True)
class InitialData:
    """The initial conditions of an evolution."""

    operator: CollocationOperator

    def at(self, resolution: Resolution) -> CollocationState:
        """Return the state that interpolates the initial data at a resolution."""
        e, compiled = self.operator.evolution, self.operator.context.compiled
        site = self.operator.grid(resolution, resolution.raw_sizes)
        cells, n, d = site.points.shape
        X = site.points.reshape(-1, d).copy()
        X[:, e.axis] = e.start
        # Gauss nodes lie inside the cells, so data that jump at an interface are one-sided.
        values = initial_values_at(compiled, e, X)
        rates = values.reshape(*values.shape[:2], cells, n).transpose(0, 2, 1, 3)
        assert compiled.unknowns == rates.shape[2]
        return CollocationState(resolution, to_coefficients(rates, resolution))

    def unresolved_tails(self, state: CollocationState) -> Array:
        """Return the relative part of the initial data that a state does not resolve: (cells, axes).

        The spectral tails miss narrow peaks between the nodes, so an interval is also scanned for them.
        """
        tails = space_tails(state.resolution, state.rates)
        if len(self.operator.space_axes) > 1:
            return tails
        X, given = self._scanned_data
        cells = state.resolution.tree.locate(X)
        difference = np.abs(values_at(self.operator, state, X, cells) - given)
        magnitudes = np.maximum(np.abs(given).max(axis=2, keepdims=True), 1e-300)
        missed = np.zeros(len(tails))
        np.maximum.at(missed, cells, (difference / magnitudes).max(axis=(0, 1)))
        return np.maximum(tails, np.where(missed > TIME_STEPPING.max_rounding_tail, missed, 0.0)[:, None])

    @cached_property
    def _scanned_data(self) -> tuple[Array, Array]:
        """Points X on an interval, and the initial data there."""
        e, context = self.operator.evolution, self.operator.context
        axis, box = self.operator.space_axes[0], context.box
        conditions = [context.compiled.residuals[i] for i in e.initial_conditions]
        peaks = np.concatenate(
            [steep_data_points(r, context.comparison_points.all, context.domain)[:, axis] for r in conditions]
        )
        even = (
            box[axis, 0]
            + np.ptp(box[axis]) * (np.arange(TIME_STEPPING.scan_points) + 0.5) / TIME_STEPPING.scan_points
        )
        X = np.full((len(even) + len(peaks), len(box)), e.start)
        X[:, axis] = np.concatenate([even, peaks])
        return X, np.nan_to_num(initial_values_at(self.operator.context.compiled, e, X))

    def incompatibility(
        self, state: CollocationState, system: SemidiscreteSystem, t: float, known: Array
    ) -> float:
        """Return by how much a state violates boundary and continuity conditions at t, relative.

        ``known`` is max abs(u) of each unknown, also at later times: the early tail of a pulse is negligible
        relative to its maximum.
        """
        e, found = self.operator.evolution, state.resolution
        rates = [r[..., None] for r in state.rates]
        # The truncation error of the series is larger in derivatives; it bounds what is known of them.
        noise = TIME_STEPPING.derivative_uncertainty[0] * max(
            float(space_tails(found, state.rates).max()), 2.2e-16
        )
        noise = min(noise, TIME_STEPPING.derivative_uncertainty[1])
        magnitudes = np.maximum(np.abs(state.rates[0]).max(axis=(0, 2)), known)
        out = 0.0
        totals: dict[str, tuple[Array, Array]] = {}
        for g in system.statements[len(self.operator.equations) :]:
            if all(a < e.orders[k] for _, k, _, a in g.terms):
                natural = natural_scale(self.operator, found, magnitudes, math.inf, g)
                alone = SemidiscreteSystem(*system.coefficient_shape, (g,), system.time_order)
                rounding = rounding_scale(self.operator, found, noise * magnitudes, (math.inf, 1), g)
                (scaled,) = alone.at(np.array([t])).scaled_residuals(rates, natural, rounding)
                if g.weights is not None:  # the terms of an integral are spread over several groups
                    before = totals.get(g.name, (np.zeros(1), np.zeros(1)))
                    scaled = scaled[0] + before[0], np.maximum(scaled[1], before[1])
                    totals[g.name] = scaled
                    continue
                out = max(out, _relative_residual(*scaled))
        return max(out, *(_relative_residual(*scaled) for scaled in totals.values())) if totals else out


def _relative_residual(r: Array, magnitudes: Array) -> float:
    size = float(magnitudes.max(initial=0.0))
    return float(np.abs(r).max(initial=0.0)) / size if size > 0 else 0.0


def values_at(operator: CollocationOperator, state: CollocationState, X: Array, cells: Indices) -> Array:
    """Evaluate a state at points of an interval, each in its cell: (time derivatives, unknowns, N)."""
    site = operator.point_site(X, cells, state.resolution)
    table = site.tables((0,) * len(operator.space_axes)).reshape(len(X), -1)
    owners = np.zeros(len(X), dtype=np.intp) if site.cells is None else site.cells
    return np.asarray(np.einsum("xn,axkn->akx", table, state.rates[:, owners]))


def change_resolution(
    operator: CollocationOperator, state: CollocationState, resolution: Resolution
) -> CollocationState:
    """Return the state interpolated to another resolution."""
    if state.resolution == resolution:
        return state
    site = operator.grid(resolution, resolution.raw_sizes)
    X = site.points.reshape(-1, site.points.shape[-1])
    old = state.resolution
    if len(old.sizes) > 1:
        values = operator.values(state.rates, old, resolution)
        return CollocationState(resolution, to_coefficients(values, resolution))
    values = values_at(operator, state, X, old.tree.locate(X))
    values = values.reshape(*values.shape[:2], len(resolution.tree), -1).transpose(0, 2, 1, 3)
    return CollocationState(resolution, to_coefficients(values, resolution))
