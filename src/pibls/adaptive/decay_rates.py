r"""Decay and oscillation of solutions along an axis, from the characteristic equation Σ aₖ λᵏ = 0.

With coefficients frozen at a point, an equation has solutions exp(λ x) along an axis. A large λ whose
solution decays from a side into the domain indicates a boundary layer of width 1/|Re λ|; an oscillating one
indicates waves of length 2π/|Im λ|. The first grid resolves both: on a coarser grid the error indicators are
large everywhere, and all cells would be divided.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pibls.adaptive.thresholds import DECAY_RATES, DEFAULT
from pibls.adaptive.validation.context import ValidationContext
from pibls.arrays import Array
from pibls.geometry import time_of
from pibls.spaces import Branch, CellTree, Node, graded_node


@dataclass(frozen=True)
class LayerPlane:
    """A plane at which there may be a layer, and the decay rate of the layer."""

    axis: int
    level: float
    rate: float


def characteristic_roots(context: ValidationContext, axis: int, X: Array) -> Array:
    """Return all λ at the points X, (points, roots), padded with NaN."""
    found = []
    normals = np.zeros_like(X)
    for r in context.compiled.residuals:
        if not r.region.is_interior:
            continue
        a = r.coefficients(X, normals, r.data_function_values(X))
        for unknown in range(context.compiled.unknowns):
            pure = {
                derivative.alpha[axis]: row
                for derivative, row in zip(r.linear, a, strict=True)
                if derivative.unknown == unknown and sum(derivative.alpha) == derivative.alpha[axis]
            }
            most = max(pure, default=0)
            if most:
                c = np.array([pure.get(k, np.zeros(len(X))) for k in range(most, -1, -1)])
                # X may be empty: a disc has no points on the sides of its box.
                found.append(np.array([_roots(column, most) for column in c.T]).reshape(len(X), most))
    return np.concatenate(found, axis=1) if found else np.empty((len(X), 0), dtype=complex)


def _roots(c: Array, count: int) -> Array:
    out = np.full(count, np.nan + 0j)
    if np.isfinite(c).all() and c[0] != 0:
        values = np.roots(c)
        out[: len(values)] = values
    return out


def layer_planes(context: ValidationContext) -> tuple[LayerPlane, ...]:
    """Return the sides and, in 1D, the turning points at which there may be a thin layer."""
    out = []
    box = context.box
    for axis, (low, high) in enumerate(box):
        for level, inwards in ((low, 1.0), (high, -1.0)):
            X = _samples(context)
            X[:, axis] = level
            X = X[np.asarray(context.domain.contains(X), dtype=bool)]
            decay = np.nan_to_num(-inwards * characteristic_roots(context, axis, X).real).max(initial=0.0)
            if decay * (high - low) > DECAY_RATES.min_layer_decay:
                out.append(LayerPlane(axis, float(level), float(decay)))
    return (*out, *(_turning_points(context) if len(box) == 1 else ()))


def _turning_points(context: ValidationContext) -> list[LayerPlane]:
    """Return the points in 1D at which the fastest solution changes from decay to growth."""
    (low, high) = context.box[0]
    x = np.linspace(low, high, 8 * DECAY_RATES.sample_points + 2)[1:-1]
    roots = np.nan_to_num(characteristic_roots(context, 0, x[:, None]).real)
    if not roots.shape[1]:
        return []
    fastest = roots[np.arange(len(x)), np.abs(roots).argmax(axis=1)]
    steep = np.abs(fastest).max() * (high - low) > DECAY_RATES.min_layer_decay
    turns = np.flatnonzero((fastest[:-1] * fastest[1:] < 0) & steep)
    return [
        # The rate grows in proportion to the distance: the layer is a Gaussian.
        LayerPlane(0, float(x[i] - fastest[i] * (x[i + 1] - x[i]) / (fastest[i + 1] - fastest[i])),
             float(np.sqrt(abs(fastest[i + 1] - fastest[i]) / (x[i + 1] - x[i]))))
        for i in turns[:8]
    ]  # fmt: skip


def wavelengths_across(context: ValidationContext) -> Array:
    """Return the number of wavelengths of the fastest oscillation across the domain, along each axis."""
    X = _samples(context)
    out = np.zeros(len(context.box))
    for axis, (low, high) in enumerate(context.box):
        roots = np.nan_to_num(characteristic_roots(context, axis, X))
        swings = np.where(np.abs(roots.imag) > np.abs(roots.real), np.abs(roots.imag), 0.0)
        out[axis] = swings.max(initial=0.0) * (high - low) / (2.0 * np.pi)
    return np.where(out > DECAY_RATES.min_wavelengths, out, 0.0)


@dataclass(frozen=True)
class BoundaryLayerRates:
    """Points of the boundary and the decay rates of layers there."""

    points: Array
    rates: Array

    def refine(self, tree: CellTree, degree: int, most: int) -> CellTree:
        """Halve cells at the boundary until they begin to resolve the layers; at most ``most`` cells."""
        limit = DECAY_RATES.curved_layer_factor * DECAY_RATES.decay_per_degree * degree

        def divide(number: int, box: Array) -> Node:
            inside = ((self.points >= box[:, 0]) & (self.points <= box[:, 1])).all(axis=1)
            length = box[:, 1] - box[:, 0]
            if not inside.any() or length.max() * self.rates[inside].max() <= limit:
                return None
            return graded_node(
                box, [i for i in range(len(box)) if length[i] > 0.6 * length.max()], box.mean(axis=1), 1
            )

        while True:
            finer = tree.refine(divide)
            if len(finer) == len(tree) or len(finer) > most:
                return tree
            tree = finer


def boundary_layer_rates(context: ValidationContext) -> BoundaryLayerRates:
    """Return the decay rates of layers along boundaries that are not parallel to an axis, in 2D."""
    compiled, d = context.compiled, context.compiled.dimension
    nowhere = BoundaryLayerRates(np.empty((0, d)), np.empty(0))
    if d != 2 or time_of(context.domain) is not None:
        return nowhere
    wall = context.domain.boundary(DECAY_RATES.boundary_samples, context.stream(7))
    X, inwards = np.asarray(wall.points), -np.asarray(wall.normals)
    slanted = np.abs(inwards).max(axis=1) < 1.0 - 1e-9
    decay = np.zeros(len(X))
    for r in compiled.residuals:
        if not r.region.is_interior:
            continue
        a = r.coefficients(X, np.zeros_like(X), r.data_function_values(X))
        order = max((sum(j.alpha) for j in r.linear), default=0)
        for unknown in range(compiled.unknowns):
            along = np.zeros((order + 1, len(X)))
            for derivative, row in zip(r.linear, a, strict=True):
                if derivative.unknown == unknown:
                    along[sum(derivative.alpha)] += row * np.prod(
                        inwards ** np.array(derivative.alpha), axis=1
                    )
            roots = np.array([_roots(c, order) for c in along[::-1].T]).reshape(len(X), order)
            decay = np.maximum(decay, np.nan_to_num(-roots.real).max(axis=1, initial=0.0))
    thin = slanted & (decay * float(np.ptp(context.box, axis=1).max()) > DECAY_RATES.min_layer_decay)
    X, decay, inwards = X[thin], decay[thin], inwards[thin]
    # Also refine at the distance 1/decay, where the layer continues behind the first row of cells.
    behind = X + inwards / decay[:, None]
    return BoundaryLayerRates(np.concatenate([X, behind]), np.concatenate([decay, decay]))


def _samples(context: ValidationContext) -> Array:
    inside = next(f.sites[0] for r, f in context.held_out.items() if r.is_interior)
    return inside[: DECAY_RATES.sample_points].copy()


def refine_at_layers(tree: CellTree, found: tuple[LayerPlane, ...], degree: int) -> CellTree:
    """Halve the cells at the layer planes until they resolve the layers."""
    limit = DECAY_RATES.decay_per_degree * degree

    def divide(box: Array) -> Node:
        for site in found:
            low, high = box[site.axis]
            length = high - low
            if not low <= site.level <= high or length * site.rate <= limit:
                continue
            if length < DEFAULT.min_relative_length * (tree.box[site.axis][1] - tree.box[site.axis][0]):
                continue
            level = float(0.5 * (low + high))
            below, above = box.copy(), box.copy()
            below[site.axis, 1] = above[site.axis, 0] = level
            return Branch(site.axis, level, divide(below), divide(above))
        return None

    return tree.refine(lambda _, box: divide(box)) if found else tree
