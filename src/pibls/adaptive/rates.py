r"""Σ aₖ λᵏ = 0: how fast solutions decay or oscillate along an axis, from an equation's coefficients alone.

With its coefficients frozen at a point, an equation has solutions exp(λ x) along an axis. A large λ whose
solution decays from a side into the domain is a layer at that side, of the width 1/|Re λ|; one that
oscillates is a wave, of the length 2π/|Im λ|, everywhere. Cells that begin as fine as that need not find it
out: what is far from resolved looks equally bad everywhere, and would be divided everywhere.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pibls.adaptive.thresholds import DEFAULT, RATES
from pibls.adaptive.validation.context import Bench
from pibls.arrays import Array
from pibls.geometry import time_of
from pibls.spaces import Branch, CellTree, Node, graded


@dataclass(frozen=True)
class LayerPlane:
    """A plane at which a layer may stand, and how fast that decays."""

    axis: int
    level: float
    rate: float


def roots_along(bench: Bench, axis: int, X: Array) -> Array:
    """All λ at the points X, one row for each; what there is not is nan."""
    found = []
    normals = np.zeros_like(X)
    for r in bench.lowered.residuals:
        if not r.region.is_inside:
            continue
        a = r.coefficients(X, normals, r.known_data(X))
        for unknown in range(bench.lowered.unknowns):
            pure = {
                jet.alpha[axis]: row
                for jet, row in zip(r.linear, a, strict=True)
                if jet.unknown == unknown and sum(jet.alpha) == jet.alpha[axis]
            }
            most = max(pure, default=0)
            if most:
                c = np.array([pure.get(k, np.zeros(len(X))) for k in range(most, -1, -1)])
                # A disc has no points on the sides of its box.
                found.append(np.array([_roots(column, most) for column in c.T]).reshape(len(X), most))
    return np.concatenate(found, axis=1) if found else np.empty((len(X), 0), dtype=complex)


def _roots(c: Array, count: int) -> Array:
    out = np.full(count, np.nan + 0j)
    if np.isfinite(c).all() and c[0] != 0:
        values = np.roots(c)
        out[: len(values)] = values
    return out


def sites(bench: Bench) -> tuple[LayerPlane, ...]:
    """The sides and, on a line, the turning points where a thin layer may stand."""
    out = []
    box = bench.box
    for axis, (low, high) in enumerate(box):
        for level, inwards in ((low, 1.0), (high, -1.0)):
            X = _samples(bench)
            X[:, axis] = level
            X = X[np.asarray(bench.domain.contains(X), dtype=bool)]
            decay = np.nan_to_num(-inwards * roots_along(bench, axis, X).real).max(initial=0.0)
            if decay * (high - low) > RATES.steep:
                out.append(LayerPlane(axis, float(level), float(decay)))
    return (*out, *(_turning(bench) if len(box) == 1 else ()))


def _turning(bench: Bench) -> list[LayerPlane]:
    """Where the fastest solution on a line changes from one that decays to one that grows."""
    (low, high) = bench.box[0]
    x = np.linspace(low, high, 8 * RATES.samples + 2)[1:-1]
    roots = np.nan_to_num(roots_along(bench, 0, x[:, None]).real)
    if not roots.shape[1]:
        return []
    fastest = roots[np.arange(len(x)), np.abs(roots).argmax(axis=1)]
    steep = np.abs(fastest).max() * (high - low) > RATES.steep
    turns = np.flatnonzero((fastest[:-1] * fastest[1:] < 0) & steep)
    return [
        # Next to it the rate grows in proportion to the distance: a layer of Gauss's kind.
        LayerPlane(0, float(x[i] - fastest[i] * (x[i + 1] - x[i]) / (fastest[i + 1] - fastest[i])),
             float(np.sqrt(abs(fastest[i + 1] - fastest[i]) / (x[i + 1] - x[i]))))
        for i in turns[:8]
    ]  # fmt: skip


def waves_across(bench: Bench) -> Array:
    """Wavelengths of the fastest oscillation across the domain, along each axis."""
    X = _samples(bench)
    out = np.zeros(len(bench.box))
    for axis, (low, high) in enumerate(bench.box):
        roots = np.nan_to_num(roots_along(bench, axis, X))
        swings = np.where(np.abs(roots.imag) > np.abs(roots.real), np.abs(roots.imag), 0.0)
        out[axis] = swings.max(initial=0.0) * (high - low) / (2.0 * np.pi)
    return np.where(out > RATES.many, out, 0.0)


@dataclass(frozen=True)
class Walls:
    """Places of the boundary, and how fast what stands there decays into the domain."""

    places: Array
    rates: Array

    def towards(self, tree: CellTree, degree: int, most: int) -> CellTree:
        """The cells at the walls halved until they begin to resolve the layers, at most into so many."""
        limit = RATES.at_walls * RATES.per_degree * degree

        def divide(number: int, box: Array) -> Node:
            inside = ((self.places >= box[:, 0]) & (self.places <= box[:, 1])).all(axis=1)
            length = box[:, 1] - box[:, 0]
            if not inside.any() or length.max() * self.rates[inside].max() <= limit:
                return None
            return graded(
                box, [i for i in range(len(box)) if length[i] > 0.6 * length.max()], box.mean(axis=1), 1
            )

        while True:
            finer = tree.refine(divide)
            if len(finer) == len(tree) or len(finer) > most:
                return tree
            tree = finer


def walls_of(bench: Bench) -> Walls:
    """Where layers stand that are not along the axes: with the coefficients at each place of the boundary."""
    lowered, d = bench.lowered, bench.lowered.dimension
    nowhere = Walls(np.empty((0, d)), np.empty(0))
    if d != 2 or time_of(bench.domain) is not None:
        return nowhere
    wall = bench.domain.boundary(RATES.along_walls, bench.stream(7))
    X, inwards = np.asarray(wall.points), -np.asarray(wall.normals)
    slanted = np.abs(inwards).max(axis=1) < 1.0 - 1e-9
    decay = np.zeros(len(X))
    for r in lowered.residuals:
        if not r.region.is_inside:
            continue
        a = r.coefficients(X, np.zeros_like(X), r.known_data(X))
        order = max((sum(j.alpha) for j in r.linear), default=0)
        for unknown in range(lowered.unknowns):
            along = np.zeros((order + 1, len(X)))
            for jet, row in zip(r.linear, a, strict=True):
                if jet.unknown == unknown:
                    along[sum(jet.alpha)] += row * np.prod(inwards ** np.array(jet.alpha), axis=1)
            roots = np.array([_roots(c, order) for c in along[::-1].T]).reshape(len(X), order)
            decay = np.maximum(decay, np.nan_to_num(-roots.real).max(axis=1, initial=0.0))
    thin = slanted & (decay * float(np.ptp(bench.box, axis=1).max()) > RATES.steep)
    X, decay, inwards = X[thin], decay[thin], inwards[thin]
    # Behind the first row of cells stands what it leaves.
    behind = X + inwards / decay[:, None]
    return Walls(np.concatenate([X, behind]), np.concatenate([decay, decay]))


def _samples(bench: Bench) -> Array:
    inside = next(f.sites[0] for r, f in bench.held_out.items() if r.is_inside)
    return inside[: RATES.samples].copy()


def towards(tree: CellTree, found: tuple[LayerPlane, ...], degree: int) -> CellTree:
    """The cells at the sites halved until they resolve the layers there."""
    limit = RATES.per_degree * degree

    def divide(box: Array) -> Node:
        for site in found:
            low, high = box[site.axis]
            length = high - low
            if not low <= site.level <= high or length * site.rate <= limit:
                continue
            if length < DEFAULT.shortest * (tree.box[site.axis][1] - tree.box[site.axis][0]):
                continue
            within = low + 1e-3 * length < site.level < high - 1e-3 * length
            level = site.level if within else 0.5 * (low + high)
            below, above = box.copy(), box.copy()
            below[site.axis, 1] = above[site.axis, 0] = level
            return Branch(site.axis, float(level), divide(below), divide(above))
        return None

    return tree.refine(lambda _, box: divide(box)) if found else tree
