"""Detection of holes, layers, corners and incompatible data, on both sides of each threshold."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import sympy as sp

import pibls
from pibls.adaptive.singular.enrichment import _limit_size
from pibls.adaptive.singular.functions import SingularFunctions
from pibls.analysis.boundary_layers import BoundaryLayers, find_boundary_layers
from pibls.analysis.corners import incompatible_conditions as corners
from pibls.analysis.corners.symbol import _clusters, symbol_of
from pibls.analysis.holes.enrichment import (
    Hole,
    HoleBasisKind,
    HoleEnrichment,
    _decay,
    _with_decays,
    holes_of,
    outer_faces,
)
from pibls.analysis.holes.loops import inscribed_circles, normal_moment, signed_double_area
from pibls.analysis.holes.mirror_images import Image, Mirror, mirror_images
from pibls.geometry import faces_of
from pibls.problem.forms.compilation import compile_problem
from tests.test_pencil import LAPLACE, PLATE, STOKES, XX, YY

x, y, z, t = sp.symbols("x y z t")
u = sp.Function("u")(x, y)
BOX = pibls.Box({x: (0, 1), y: (0, 1)})
DISC = pibls.Disk((x, y), (0, 0), 1)


def laplacian(w: Any, coordinates: Any = (x, y)) -> Any:
    return sum(w.diff(c, 2) for c in coordinates)


def poisson(domain: Any, equation: Any = None, *conditions: Any) -> pibls.Problem:
    equation = laplacian(u) - 1 if equation is None else equation
    return pibls.Problem(domain, [equation], list(conditions) or [pibls.Dirichlet(u, 0)])


# -- holes --


def ellipse(a: float, b: float, n: int = 400) -> Any:
    s = 2.0 * np.pi * np.arange(n) / n
    return np.stack([a * np.cos(s), b * np.sin(s)], axis=1)


def test_number_of_inscribed_circles() -> None:
    assert len(inscribed_circles(ellipse(1.0, 0.95))) == 1
    assert 3 <= len(inscribed_circles(ellipse(3.0, 1.0))) <= 9
    assert 8 <= len(inscribed_circles(ellipse(60.0, 1.0))) <= 24  # the maximum


def test_largest_inscribed_circle_of_a_bent_hole() -> None:
    """The largest inscribed circle of a bent hole is not at its centroid."""
    s = np.linspace(0.0, np.pi, 200)
    outer = np.stack([np.cos(s), np.sin(s)], axis=1)
    inner = 0.7 * outer[::-1]
    (_, _, radius), *_ = inscribed_circles(np.concatenate([outer, inner]))
    assert 0.13 < radius <= 0.151


def hole_enrichment(domain: Any, equation: Any = None) -> HoleEnrichment:
    problem = poisson(domain, equation)
    return holes_of(compile_problem(problem), problem.domain)


def test_orders_of_hole_functions() -> None:
    far, near = (hole_enrichment(BOX - pibls.Disk((x, y), (0.5, 0.5), r)) for r in (0.01, 0.3))
    few: Any = replace(far, images=()).functions(19.5)[0]
    assert 8 <= few.orders <= 16  # the boundary is far away
    assert 0.1 < far.holes[0].decays[0] < 0.3
    assert near.holes[0].decays[0] < 0.9
    touching = (0.0, 0.0, 1.0), (2.0000001, 0.0, 1.0)
    hole = Hole(far.holes[0].faces, (touching[0],), 1.0)
    other = Hole(far.holes[0].faces, (touching[1],), 1.0)
    (decay,) = _with_decays(hole, [hole, other], (), ()).decays
    assert 0.9 < decay < 0.99
    assert max(
        f.orders for f in replace(hole, decays=(0.97,)).functions(41.0, HoleBasisKind(0, 0.0))
    ) in range(60, 240)
    assert max(
        f.orders for f in replace(hole, decays=(0.97,)).functions(41.0, HoleBasisKind(0, 3.0))
    ) in range(20, 80)


def test_limit_point_of_two_circles() -> None:
    """s = a - q²/(a - r²/s)."""
    a, r, q = 3.0, 1.0, 0.5
    s = r / _decay((0.0, 0.0, r), (a, 0.0, q))
    assert s == pytest.approx(a - q * q / (a - r * r / s), rel=1e-12)
    assert _decay((0.0, 0.0, 1.0), (1.9, 0.0, 1.0)) == 1.0


@pytest.mark.parametrize(("ratio", "disc"), [(1.005, True), (1.1, False)])
def test_nearly_circular_hole_is_a_disc(ratio: float, disc: bool) -> None:
    enrichment = hole_enrichment(
        pibls.Box({x: (-40, 40), y: (-40, 40)}) - pibls.Ellipse((x, y), (0, 0), (ratio, 1))
    )
    (hole,) = enrichment.holes
    assert (hole.ring is None) is disc
    if disc:
        assert hole.decays[0] < 0.3
    else:
        assert 0.25 < hole.decays[0] < 0.6


def test_circles_around_an_elliptic_hole() -> None:
    box = pibls.Box({x: (-40, 40), y: (-40, 40)})
    (hole,) = hole_enrichment(box - pibls.Ellipse((x, y), (0, 0), (3, 1))).holes
    assert hole.ring is not None
    assert 20 <= len(hole.ring.circles(19.5)) <= 120
    assert len(hole.ring.centres) > 200
    (thin,) = hole_enrichment(box - pibls.Ellipse((x, y), (0, 0), (3, 0.3))).holes
    assert thin.ring is None  # too many circles
    boundary = hole.boundary_points(100)
    assert 200 <= len(boundary.points) <= 400


@pytest.mark.parametrize(("kappa", "zero"), [(1e-2, True), (1.0, False)])
def test_small_decay_rate_is_zero(kappa: float, zero: bool) -> None:
    enrichment = hole_enrichment(BOX - pibls.Disk((x, y), (0.5, 0.5), 0.01), laplacian(u) - kappa**2 * u - 1)
    assert (enrichment.kind.rate == 0.0) is zero


def test_area_of_a_loop() -> None:
    (circle,) = faces_of(pibls.Disk((x, y), (0, 0), 1))

    assert signed_double_area((circle,)) == pytest.approx(2.0 * np.pi, rel=1e-3)
    assert abs(normal_moment(circle.at(np.linspace(0, 1, 65)[:, None], np.random.default_rng(0)))) > 6.0


# -- images --


def mirror() -> Mirror:
    (side,) = (f for f in faces_of(BOX) if f.plane() == (0, 0.0))
    return Mirror.of(side)


@pytest.mark.parametrize(
    ("depth", "radius", "within_reach"),
    [(0.2, 0.1, True), (0.6, 0.1, False), (0.105, 0.1, True), (0.1005, 0.1, False)],
)
def test_mirror_images_within_reach(depth: float, radius: float, within_reach: bool) -> None:
    images = mirror_images([(depth, 0.5, radius)], (mirror(),), BOX, 1.0)
    assert bool(images) is within_reach


def test_equal_images_are_merged() -> None:
    for distance, count in ((1e-5, 1), (1e-2, 2)):
        circles = [(0.2, 0.5, 0.1), (0.2, 0.5 + distance, 0.1)]
        assert len(mirror_images(circles, (mirror(),), BOX, 1.0)) == count


def test_points_on_a_mirror() -> None:
    image = Image((-0.2, 0.5), 0.1, 0.2, 0)
    assert image.orders(1e-6, 0.5) == 1
    points = mirror().points((image,), [20])
    assert 30 <= len(points.points) <= 100
    near = mirror().points((Image((-0.002, 0.5), 0.001, 0.002, 0),), [20])
    assert 25 <= len(near.points) <= 120  # also for a close image


# -- layers --


def layers_in(domain: Any, width: float, equation: Any = None) -> BoundaryLayers | None:
    equation = -(width**2) * laplacian(u) + u - 1 if equation is None else equation
    problem = poisson(domain, equation)
    return find_boundary_layers(compile_problem(problem), problem.domain, outer_faces(problem.domain))


def test_functions_and_points_of_a_thin_layer() -> None:
    assert layers_in(DISC, 0.5) is None
    layers = layers_in(DISC, 0.1)
    assert layers is not None
    (basis,) = layers.functions(10.0)
    assert 15 <= basis.size <= 60
    (more,) = layers.functions(40.0)
    assert 1.7 < more.size / basis.size < 2.3  # proportional to the square root of the e-folds
    assert 2.0 * basis.size <= len(layers.boundary_points(10.0).points) <= 4.5 * basis.size
    depths = (1.0 - np.linalg.norm(layers.validation_points, axis=1)) / layers.width
    for low, high in ((0.05, 0.2), (0.3, 0.7), (0.8, 1.2), (1.6, 2.4), (3.2, 4.8), (6.4, 9.6)):
        assert 80 <= np.count_nonzero((depths > low) & (depths < high)) <= 320
    assert np.all(depths < 11.0)


def test_directions_of_a_thin_layer() -> None:
    """At every boundary point some function is large."""
    layers = layers_in(pibls.Ellipse((x, y), (0, 0), (2, 1)), 0.02)
    assert layers is not None
    (basis,) = layers.functions(10.0)
    s = np.linspace(0.0, 2.0 * np.pi, 400)
    X = np.stack([2.0 * np.cos(s), np.sin(s)], axis=1)
    assert basis.jets(X, [(0, 0)])[0].max(axis=1).min() > 0.5
    assert basis.size < 400
    assert 1000 <= len(layers.outer_points) <= 6000
    angles = np.sort(np.arctan2(basis.growths[1], basis.growths[0]))
    gaps = np.diff(angles)
    assert gaps.max() / np.median(gaps) < 5.0  # the directions are nearly uniform


def test_layers_in_three_dimensions() -> None:
    w = sp.Function("w")(x, y, z)
    ball = pibls.Ball((x, y, z), (0, 0, 0), 1)
    sizes = []
    for width in (0.1, 0.003):
        equation = -(width**2) * laplacian(w, (x, y, z)) + w - 1
        problem = pibls.Problem(ball, [equation], [pibls.Dirichlet(w, 0)])
        layers = find_boundary_layers(compile_problem(problem), problem.domain, outer_faces(problem.domain))
        assert layers is not None
        sizes.append(layers.functions(12.0)[0].size)
    assert 100 <= sizes[0] <= 600
    assert 800 <= sizes[1] <= 3000  # the maximum


def test_oscillating_functions_of_a_flow() -> None:
    flow = layers_in(DISC, 0.0, -laplacian(u) / 50 + u.diff(x) - 1)
    assert flow is not None
    (few,), (more,) = flow.functions(10.0), flow.functions(20.0)
    oscillating = [np.abs(b.turns).max(axis=0) > 0 for b in (few, more)]
    assert 12 <= oscillating[0].sum() <= 24  # sine and cosine
    assert oscillating[1].sum() > 1.5 * oscillating[0].sum()
    slowest = np.linalg.norm(few.turns[:, oscillating[0]], axis=0).min()
    assert 0.8 < slowest < 2.0  # a period slightly longer than the domain


@pytest.mark.parametrize(("offset", "width", "none"), [(0.05, 0.1, False), (0.5, 0.05, True)])
def test_no_layer_functions_at_reentrant_corners(offset: float, width: float, none: bool) -> None:
    two_discs = pibls.Disk((x, y), (offset, 0), 1) | pibls.Disk((x, y), (-offset, 0), 1)
    assert (layers_in(two_discs, width) is None) is none


@pytest.mark.parametrize(("chord", "none"), [(0.06, False), (0.6, True)])
def test_no_layer_functions_at_straight_sides(chord: float, none: bool) -> None:
    level = math.sqrt(1.0 - 0.25 * chord**2)
    cut = pibls.Disk((x, y), (0, 0), 1) & pibls.Box({x: (-2, 2), y: (-2, level)})
    assert (layers_in(cut, 0.1) is None) is none


# -- the symbol of a system --


def test_symbols_of_systems() -> None:
    assert symbol_of(LAPLACE, 1) is not None
    assert symbol_of(STOKES, 3) is not None  # the pressure has one order less
    four: Any = [{(k, XX): 1.0, (k, YY): 1.0} for k in range(4)]
    assert symbol_of(four, 4) is not None
    anisotropic: Any = [{(0, XX): 1.0, (0, YY): 1e-8}]
    assert symbol_of(anisotropic, 1) is not None
    degenerate: Any = [{(0, XX): 1.0, (0, (1, 1)): -2.0, (0, YY): 1.0 + 1e-8}]
    assert symbol_of(degenerate, 1) is None  # nearly not elliptic
    slightly_elliptic: Any = [{(0, XX): 1.0, (0, (1, 1)): -2.0, (0, YY): 1.0 + 1e-4}]
    assert symbol_of(slightly_elliptic, 1) is not None
    eight: Any = [{(0, (8 - 2 * k, 2 * k)): float(math.comb(4, k)) for k in range(5)}]
    high = symbol_of(eight, 1)
    assert high is None or len(high.families) == 4


def test_symbol_of_five_unknowns_is_not_computed() -> None:
    five: Any = [{(k, XX): 1.0, (k, YY): 1.0} for k in range(5)]
    assert symbol_of(five, 5) is None


def test_unknowns_of_different_orders() -> None:
    """The sixth-order system Δ²u = v, Δv = 0 has weights up to four."""
    biharmonic = {(0, (4, 0)): 1.0, (0, (2, 2)): 2.0, (0, (0, 4)): 1.0}
    rows: Any = [{**biharmonic, (1, (0, 0)): 1.0}, {(1, XX): 1.0, (1, YY): 1.0}]
    assert symbol_of(rows, 2) is not None


def test_symbol_of_sixth_order_is_not_computed() -> None:
    sixth: Any = [{(0, (6 - 2 * k, 2 * k)): float(math.comb(3, k)) for k in range(4)}]
    assert symbol_of(PLATE, 1) is not None
    assert symbol_of(sixth, 1) is None


def test_close_roots_are_clustered() -> None:
    assert len(_clusters([1j, 1j + 1e-3])) == 1
    assert len(_clusters([1j, 1j + 1e-1])) == 2


def test_roots_of_eighth_order() -> None:
    """Two plate equations: the determinant has degree eight and multiple roots."""
    symbol = symbol_of([*PLATE, {(1, k): c for (_, k), c in PLATE[0].items()}], 2)
    assert symbol is not None
    assert np.allclose(symbol.roots, 1j, atol=1e-3)


# -- incompatible data --


@pytest.mark.parametrize(("gap", "incompatible"), [(1e-8, False), (1e-4, True)])
def test_incompatible_boundary_values(gap: float, incompatible: bool) -> None:
    sides = pibls.Dirichlet(u, 1, on=sp.Eq(x, 0)), pibls.Dirichlet(u, 1 + gap, on=x > 0)
    problem = poisson(BOX, laplacian(u), *sides)
    assert bool(corners.incompatible_conditions(problem)) is incompatible


@pytest.mark.parametrize(("left", "nonzero"), [(1e-12, False), (1e-7, True)])
def test_small_value_is_zero_relative_to_values_elsewhere(left: float, nonzero: bool) -> None:
    points: Any = [{x: 0.0}, {x: 0.5}, {x: 0.9}]
    problem = poisson(BOX)
    for where in (0.5, 0.9):
        bump = sp.Piecewise((1, sp.Abs(x - where) < 0.1), (0, True))
        assert corners._is_nonzero(problem, sp.Float(left) + bump, (sp.Float(left),), points) is nonzero


def test_terms_are_evaluated_between_corner_and_centre(monkeypatch: pytest.MonkeyPatch) -> None:
    evaluated: list[Any] = []

    def nonzero(problem: Any, e: Any, terms: Any, points: Any, least: float = 0.0) -> bool:
        evaluated.extend(points[1:])
        return False

    monkeypatch.setattr(corners, "_is_nonzero", nonzero)
    corners.incompatible_conditions(
        poisson(BOX, None, pibls.Dirichlet(u, x, on=sp.Eq(y, 0)), pibls.Dirichlet(u, y, on=y > 0))
    )
    inside = np.array([[float(point[x]), float(point[y])] for point in evaluated])
    distances = np.abs(inside - np.round(inside)).max(axis=1)
    assert len(evaluated)
    assert np.all((distances > 0.1) & (distances < 0.5))


# -- size of the enrichment --


def test_corner_functions_are_reduced_to_a_maximum() -> None:
    class Part:
        def __init__(self, size: int) -> None:
            self.size = size

        def reduced(self, share: float) -> Part:
            return Part(int(share * 400))

    block = SingularFunctions(parts=(Part(400),))  # type: ignore[arg-type]
    (less,) = _limit_size((block,), 100)
    assert 60 <= less.size <= 100
    (least,) = _limit_size((block,), 1)
    assert 20 <= least.size <= 80  # the minimum
