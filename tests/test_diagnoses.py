"""What is found of holes, layers and corners: on one side of each threshold this, on the other that."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import sympy as sp

import pibls
from pibls.adaptive.singular.enrichment import _limit_size
from pibls.analysis.boundary_layers import BoundaryLayers, find_boundary_layers
from pibls.analysis.corners import compatibility as corners
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
from pibls.analysis.holes.images import Image, Mirror, mirror_images
from pibls.analysis.holes.loops import inscribed_circles, normal_moment, signed_double_area
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


def test_centres_of_a_hole() -> None:
    assert len(inscribed_circles(ellipse(1.0, 0.95))) == 1
    assert 3 <= len(inscribed_circles(ellipse(3.0, 1.0))) <= 9
    assert 8 <= len(inscribed_circles(ellipse(60.0, 1.0))) <= 24  # not more than that


def test_a_centre_is_looked_for_everywhere() -> None:
    """The widest place of a bent hole is not in its middle."""
    s = np.linspace(0.0, np.pi, 200)
    outer = np.stack([np.cos(s), np.sin(s)], axis=1)
    inner = 0.7 * outer[::-1]
    (_, _, radius), *_ = inscribed_circles(np.concatenate([outer, inner]))
    assert 0.13 < radius <= 0.151


def hole_in(domain: Any, equation: Any = None) -> HoleEnrichment:
    problem = poisson(domain, equation)
    return holes_of(compile_problem(problem), problem.domain)


def test_orders_around_discs() -> None:
    far, near = (hole_in(BOX - pibls.Disk((x, y), (0.5, 0.5), r)) for r in (0.01, 0.3))
    few: Any = replace(far, efolds=19.5, images=()).functions()[0]
    assert 8 <= few.orders <= 16  # so far away hardly anything is seen of it
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


def test_circles_that_mirror_each_other() -> None:
    """s = a - q²/(a - r²/s)."""
    a, r, q = 3.0, 1.0, 0.5
    s = r / _decay((0.0, 0.0, r), (a, 0.0, q))
    assert s == pytest.approx(a - q * q / (a - r * r / s), rel=1e-12)
    assert _decay((0.0, 0.0, 1.0), (1.9, 0.0, 1.0)) == 1.0


@pytest.mark.parametrize(("ratio", "disc"), [(1.005, True), (1.1, False)])
def test_what_is_a_disc(ratio: float, disc: bool) -> None:
    around = hole_in(pibls.Box({x: (-40, 40), y: (-40, 40)}) - pibls.Ellipse((x, y), (0, 0), (ratio, 1)))
    (hole,) = around.holes
    assert (hole.ring is None) is disc
    if disc:
        assert hole.decays[0] < 0.3
    else:
        assert 0.25 < hole.decays[0] < 0.6


def test_a_ring_of_circles() -> None:
    box = pibls.Box({x: (-40, 40), y: (-40, 40)})
    (hole,) = hole_in(box - pibls.Ellipse((x, y), (0, 0), (3, 1))).holes
    assert hole.ring is not None
    assert 20 <= len(hole.ring.circles(19.5)) <= 120
    assert len(hole.ring.centres) > 200
    (thin,) = hole_in(box - pibls.Ellipse((x, y), (0, 0), (3, 0.3))).holes
    assert thin.ring is None  # that would be too many
    rim = hole.boundary_points(100)
    assert 200 <= len(rim.points) <= 400


@pytest.mark.parametrize(("kappa", "zero"), [(1e-2, True), (1.0, False)])
def test_a_rate_that_is_as_good_as_zero(kappa: float, zero: bool) -> None:
    around = hole_in(BOX - pibls.Disk((x, y), (0.5, 0.5), 0.01), laplacian(u) - kappa**2 * u - 1)
    assert (around.kind.rate == 0.0) is zero


def test_the_area_of_a_loop() -> None:
    (circle,) = faces_of(pibls.Disk((x, y), (0, 0), 1))

    assert signed_double_area((circle,)) == pytest.approx(2.0 * np.pi, rel=1e-3)
    assert abs(normal_moment(circle.at(np.linspace(0, 1, 65)[:, None], np.random.default_rng(0)))) > 6.0


# -- images --


def wall() -> Mirror:
    (side,) = (f for f in faces_of(BOX) if f.plane() == (0, 0.0))
    return Mirror.of(side)


@pytest.mark.parametrize(
    ("depth", "radius", "seen"),
    [(0.2, 0.1, True), (0.6, 0.1, False), (0.105, 0.1, True), (0.1005, 0.1, False)],
)
def test_which_images_are_seen(depth: float, radius: float, seen: bool) -> None:
    images = mirror_images([(depth, 0.5, radius)], (wall(),), BOX, 1.0)
    assert bool(images) is seen


def test_images_that_are_the_same() -> None:
    for apart, count in ((1e-5, 1), (1e-2, 2)):
        circles = [(0.2, 0.5, 0.1), (0.2, 0.5 + apart, 0.1)]
        assert len(mirror_images(circles, (wall(),), BOX, 1.0)) == count


def test_points_of_a_wall_that_mirrors() -> None:
    image = Image((-0.2, 0.5), 0.1, 0.2, 0)
    assert image.orders(1e-6, 0.5) == 1
    points = wall().points((image,), [20])
    assert 30 <= len(points.points) <= 100
    near = wall().points((Image((-0.002, 0.5), 0.001, 0.002, 0),), [20])
    assert 25 <= len(near.points) <= 120  # the wall is seen closely enough


# -- layers --


def layers_in(domain: Any, width: float, equation: Any = None) -> BoundaryLayers | None:
    equation = -(width**2) * laplacian(u) + u - 1 if equation is None else equation
    problem = poisson(domain, equation)
    return find_boundary_layers(compile_problem(problem), problem.domain, outer_faces(problem.domain))


def test_thin_layers_have_functions() -> None:
    assert layers_in(DISC, 0.5) is None
    made = layers_in(DISC, 0.1)
    assert made is not None
    (basis,) = made.functions(10.0)
    assert 15 <= basis.size <= 60
    (more,) = made.functions(40.0)
    assert 1.7 < more.size / basis.size < 2.3  # as the root of the digits
    assert 2.0 * basis.size <= len(made.boundary_points(10.0).points) <= 4.5 * basis.size
    depths = (1.0 - np.linalg.norm(made.validation_points, axis=1)) / made.width
    for low, high in ((0.05, 0.2), (0.3, 0.7), (0.8, 1.2), (1.6, 2.4), (3.2, 4.8), (6.4, 9.6)):
        assert 80 <= np.count_nonzero((depths > low) & (depths < high)) <= 320
    assert np.all(depths < 11.0)


def test_directions_of_a_thin_layer() -> None:
    """Nowhere on the wall are all functions small."""
    made = layers_in(pibls.Ellipse((x, y), (0, 0), (2, 1)), 0.02)
    assert made is not None
    (basis,) = made.functions(10.0)
    s = np.linspace(0.0, 2.0 * np.pi, 400)
    X = np.stack([2.0 * np.cos(s), np.sin(s)], axis=1)
    assert basis.jets(X, [(0, 0)])[0].max(axis=1).min() > 0.5
    assert basis.size < 400
    assert 1000 <= len(made.outer_points) <= 6000
    angles = np.sort(np.arctan2(basis.growths[1], basis.growths[0]))
    gaps = np.diff(angles)
    assert gaps.max() / np.median(gaps) < 5.0  # the boundary was looked at in many directions


def test_layers_in_space() -> None:
    w = sp.Function("w")(x, y, z)
    ball = pibls.Ball((x, y, z), (0, 0, 0), 1)
    sizes = []
    for width in (0.1, 0.003):
        equation = -(width**2) * laplacian(w, (x, y, z)) + w - 1
        problem = pibls.Problem(ball, [equation], [pibls.Dirichlet(w, 0)])
        made = find_boundary_layers(compile_problem(problem), problem.domain, outer_faces(problem.domain))
        assert made is not None
        sizes.append(made.functions(12.0)[0].size)
    assert 100 <= sizes[0] <= 600
    assert 800 <= sizes[1] <= 3000  # not more than that


def test_waves_that_a_flow_carries() -> None:
    flow = layers_in(DISC, 0.0, -laplacian(u) / 50 + u.diff(x) - 1)
    assert flow is not None
    (few,), (more,) = flow.functions(10.0), flow.functions(20.0)
    turning = [np.abs(b.turns).max(axis=0) > 0 for b in (few, more)]
    assert 12 <= turning[0].sum() <= 24  # two of each
    assert turning[1].sum() > 1.5 * turning[0].sum()
    slowest = np.linalg.norm(few.turns[:, turning[0]], axis=0).min()
    assert 0.8 < slowest < 2.0  # a period somewhat wider than the domain


@pytest.mark.parametrize(("dent", "width", "bare"), [(0.05, 0.1, False), (0.5, 0.05, True)])
def test_dents_have_none(dent: float, width: float, bare: bool) -> None:
    two = pibls.Disk((x, y), (dent, 0), 1) | pibls.Disk((x, y), (-dent, 0), 1)
    assert (layers_in(two, width) is None) is bare


@pytest.mark.parametrize(("chord", "bare"), [(0.06, False), (0.6, True)])
def test_straight_sides_have_none(chord: float, bare: bool) -> None:
    level = math.sqrt(1.0 - 0.25 * chord**2)
    cut = pibls.Disk((x, y), (0, 0), 1) & pibls.Box({x: (-2, 2), y: (-2, level)})
    assert (layers_in(cut, 0.1) is None) is bare


# -- the symbol of a system --


def test_symbols_of_systems() -> None:
    assert symbol_of(LAPLACE, 1) is not None
    assert symbol_of(STOKES, 3) is not None  # the pressure counts one order less
    four: Any = [{(k, XX): 1.0, (k, YY): 1.0} for k in range(4)]
    assert symbol_of(four, 4) is not None
    nearly: Any = [{(0, XX): 1.0, (0, YY): 1e-8}]
    assert symbol_of(nearly, 1) is not None
    skew: Any = [{(0, XX): 1.0, (0, (1, 1)): -2.0, (0, YY): 1.0 + 1e-8}]
    assert symbol_of(skew, 1) is None  # not elliptic, as good as
    some: Any = [{(0, XX): 1.0, (0, (1, 1)): -2.0, (0, YY): 1.0 + 1e-4}]
    assert symbol_of(some, 1) is not None
    eight: Any = [{(0, (8 - 2 * k, 2 * k)): float(math.comb(4, k)) for k in range(5)}]
    high = symbol_of(eight, 1)
    assert high is None or len(high.families) == 4


def test_five_unknowns_are_too_many() -> None:
    five: Any = [{(k, XX): 1.0, (k, YY): 1.0} for k in range(5)]
    assert symbol_of(five, 5) is None


def test_orders_by_which_unknowns_differ() -> None:
    """Of sixth order as two of them: Δ²u = v, Δv = 0 has weights up to four."""
    biharmonic = {(0, (4, 0)): 1.0, (0, (2, 2)): 2.0, (0, (0, 4)): 1.0}
    rows: Any = [{**biharmonic, (1, (0, 0)): 1.0}, {(1, XX): 1.0, (1, YY): 1.0}]
    assert symbol_of(rows, 2) is not None


def test_equations_of_sixth_order_are_not_looked_at() -> None:
    sixth: Any = [{(0, (6 - 2 * k, 2 * k)): float(math.comb(3, k)) for k in range(4)}]
    assert symbol_of(PLATE, 1) is not None
    assert symbol_of(sixth, 1) is None


def test_roots_that_are_one() -> None:
    assert len(_clusters([1j, 1j + 1e-3])) == 1
    assert len(_clusters([1j, 1j + 1e-1])) == 2


def test_roots_of_eighth_order() -> None:
    """Two plates in one: the determinant is of degree eight and all its coefficients count."""
    made = symbol_of([*PLATE, {(1, k): c for (_, k), c in PLATE[0].items()}], 2)
    assert made is not None
    assert np.allclose(made.roots, 1j, atol=1e-3)


# -- clashes --


@pytest.mark.parametrize(("gap", "clash"), [(1e-8, False), (1e-4, True)])
def test_values_that_clash(gap: float, clash: bool) -> None:
    sides = pibls.Dirichlet(u, 1, on=sp.Eq(x, 0)), pibls.Dirichlet(u, 1 + gap, on=x > 0)
    problem = poisson(BOX, laplacian(u), *sides)
    assert bool(corners.incompatible_conditions(problem)) is clash


@pytest.mark.parametrize(("left", "clash"), [(1e-12, False), (1e-7, True)])
def test_what_is_zero_beside_what_stands_elsewhere(left: float, clash: bool) -> None:
    here: Any = [{x: 0.0}, {x: 0.5}, {x: 0.9}]
    problem = poisson(BOX)
    for where in (0.5, 0.9):
        bump = sp.Piecewise((1, sp.Abs(x - where) < 0.1), (0, True))
        assert corners._is_nonzero(problem, sp.Float(left) + bump, (sp.Float(left),), here) is clash


def test_terms_are_looked_at_on_the_way_to_the_middle(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Any] = []

    def nonzero(problem: Any, e: Any, terms: Any, here: Any, least: float = 0.0) -> bool:
        seen.extend(here[1:])
        return False

    monkeypatch.setattr(corners, "_is_nonzero", nonzero)
    corners.incompatible_conditions(
        poisson(BOX, None, pibls.Dirichlet(u, x, on=sp.Eq(y, 0)), pibls.Dirichlet(u, y, on=y > 0))
    )
    inside = np.array([[float(place[x]), float(place[y])] for place in seen])
    away = np.abs(inside - np.round(inside)).max(axis=1)
    assert len(seen)
    assert np.all((away > 0.1) & (away < 0.5))


# -- functions beside waves --


def test_functions_of_corners_are_reduced() -> None:
    class Part:
        def __init__(self, size: int) -> None:
            self.size = size

        def reduced(self, share: float) -> Part:
            return Part(int(share * 400))

    (less,) = _limit_size((Part(400),), 100)  # type: ignore[arg-type]
    assert 60 <= less.size <= 100
    (least,) = _limit_size((Part(400),), 1)  # type: ignore[arg-type]
    assert 20 <= least.size <= 80  # fewer are no basis
