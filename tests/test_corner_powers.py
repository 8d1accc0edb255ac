"""Powers at corners, of one equation, of systems, and where interfaces meet."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
import sympy as sp

import pibls
from pibls.analysis.corners import boundary_segments as ends
from pibls.analysis.corners import junctions
from pibls.analysis.corners import scalar_corners as singular
from pibls.analysis.corners import system_corners as wedges
from pibls.analysis.corners.boundary_segments import meeting_ends, opening_angle
from pibls.analysis.corners.pencil import PencilCondition
from pibls.analysis.corners.scalar_corners import VALUES, Corner, corners_of, singular_functions
from pibls.basis import Singular
from pibls.geometry import Boundary, faces_of
from pibls.problem.forms.compilation import compile_problem
from pibls.problem.interfaces.decomposition import subdomain_decomposition
from tests.test_diagnoses import laplacian, poisson
from tests.test_pencil import ELASTIC, LAPLACE, STOKES, free, pencil, values

x, y, z, t = sp.symbols("x y z t")

u = sp.Function("u")(x, y)

BOX = pibls.Box({x: (0, 1), y: (0, 1)})


# -- ends of sides --


def test_an_angle_that_is_none() -> None:
    assert opening_angle(0.0, 1e-6) == 2.0 * math.pi
    assert opening_angle(0.0, 1e-4) == 1e-4


@pytest.mark.parametrize(("apart", "meet"), [(1e-8, True), (1e-6, False)])
def test_ends_that_meet(apart: float, meet: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    first = SimpleNamespace(point=np.zeros(2), is_first=True, direction=0.0)
    last = SimpleNamespace(point=np.array([apart, 0.0]), is_first=False, direction=1.0)
    monkeypatch.setattr(ends, "faces_of", lambda _: [None])
    monkeypatch.setattr(ends, "_ends", lambda *_: [first, last])
    problem = poisson(BOX)
    assert bool(list(meeting_ends(compile_problem(problem), problem.domain))) is meet


@pytest.mark.parametrize(("off", "found"), [(2e-8, True), (5e-6, False)])
def test_where_a_relation_ends_exactly(off: float, found: bool) -> None:
    """Beside that place it holds only up to a slack."""
    (side,) = (f for f in faces_of(BOX) if f.plane() == (1, 0.0))
    relation = SimpleNamespace(expression=sp.Gt(x, 0.3), coordinates=(x, y))
    at = {float(c): side.at(np.array([[c]]), np.random.default_rng(0)).points[0, 0] for c in (0.3, 0.7)}
    cut = next(c for c, place in at.items() if abs(place - 0.3) < 1e-12)
    exact = ends._equality_parameter(side, cut + off, cast("Any", SimpleNamespace(relation=relation)))
    assert (exact == pytest.approx(cut, abs=1e-12)) is found


def test_points_towards_an_end() -> None:
    problem = poisson(BOX)
    one, _ = next(iter(meeting_ends(compile_problem(problem), problem.domain)))
    away = np.sort(np.linalg.norm(one.approach_points.points - one.point, axis=1))
    assert away[-1] == pytest.approx(0.5)
    assert 1e-8 < away[0] < 1e-5
    assert 1.3 < (away[1:] / away[:-1]).min() <= (away[1:] / away[:-1]).max() < 2.5


# -- powers --


def test_powers_of_a_corner() -> None:
    sides = Boundary(np.zeros((0, 2)), np.zeros((0, 2)), ())
    corner = Corner((0.0, 0.0), 0.0, 1.5 * math.pi, ((VALUES, VALUES),), True, sides)
    assert 40.0 < max(corner.powers(0)) < 60.0
    bent = [p for p, *_ in singular._curved_terms(corner, 0, 0.0)]
    lower_ones = [p + j for p, j, *_ in singular._reaction_terms(corner, 0)]
    rich = [p + q for p, q, *_ in singular._general_terms(corner, 0)]
    assert 15.0 < max(bent) < 25.0
    assert 12.0 < max(lower_ones) < 20.0
    assert 4.0 < max(rich) < 8.0
    assert singular._is_integer(2.0 + 1e-7)
    assert not singular._is_integer(2.0 + 1e-5)


@pytest.mark.parametrize(("rate", "moderate"), [(7.0, True), (20.0, False)])
def test_functions_that_grow_too_much_over_the_domain(rate: float, moderate: bool) -> None:
    form: Any = SimpleNamespace(rate=rate, growth=(0.0, 0.0))
    assert singular._is_moderate(form, 1.0) is moderate


def test_poles_in_a_hole() -> None:
    """The cut of a corner that looks into a hole ends in it."""
    square = pibls.Box({x: (-1, 1), y: (-1, 1)}) - pibls.Box({x: (0, 0.3), y: (0, 0.3)})
    problem = poisson(square)
    corner = next(c for c in corners_of(compile_problem(problem), square) if math.hypot(*c.point) < 1e-9)
    made = singular_functions(corner, compile_problem(problem), square)
    assert isinstance(made[0], Singular)
    poles = [p for p, q, log, _ in made[0].terms if p == round(p) and not q and not log]
    assert 10.0 <= max(poles) <= 24.0


# -- pencils --


def test_exponents_are_counted_once() -> None:
    for angle, count in ((1.5 * math.pi, 3), (1.1 * math.pi, 2)):
        made = pencil(LAPLACE, lambda a: values(a, 1), angle)
        found = [alpha.real for alpha, _ in made.exponents(2.1)]
        assert len(found) == count
        assert np.allclose(found, np.arange(1, count + 1) * math.pi / angle, atol=1e-9)


@pytest.mark.parametrize("angle", [0.5, 1.0, 1.5, 2.2])
def test_complex_exponents_of_narrow_corners(angle: float) -> None:
    """sin(λω) = ±λ sin ω, λ = α for Stokes flow between walls: up to imaginary parts of two and more."""
    made = pencil(STOKES, lambda a: values(a, 2), angle)
    found = [alpha for alpha, _ in made.exponents(1.0 + 14.0 / angle) if abs(alpha - 1.0) > 1e-6]
    misses = [min(abs(np.sin(a * angle) - s * a * np.sin(angle)) for s in (1, -1)) for a in found]
    assert max(misses) < 1e-6
    assert len(found) >= 4
    # Between each two of them is one more, so none was left out.
    assert np.diff([a.real for a in found]).max() < 3.6 / angle
    assert max(a.imag for a in found) > 1.0


def test_a_power_that_is_none() -> None:
    """Constants and log r, where fluxes are given on both sides: energies would be infinite."""

    def flux(angle: float) -> list[PencilCondition]:
        return [PencilCondition(angle, ((0, 0, (1, 0), -math.sin(angle)), (0, 0, (0, 1), math.cos(angle))))]

    made = pencil(LAPLACE, flux, 1.5 * math.pi)
    assert [a.real for a, _ in made.exponents(1.6)] == pytest.approx([2 / 3, 4 / 3], abs=1e-8)


def test_null_vectors_and_chains() -> None:
    made = pencil(ELASTIC, free, 2.0 * math.pi, -math.pi)
    exponents = made.exponents(2.6)
    assert made.has_exponents(exponents)
    assert not made.has_exponents([(a + 1e-4, n) for a, n in exponents])
    assert made._null_space(0.5)[0].shape[1] == 2
    assert made._null_space(0.5 + 1e-10)[0].shape[1] == 2
    assert made._null_space(0.5 + 1e-5)[0].shape[1] == 0


# -- corners of systems --


def lid(value: Any) -> pibls.Problem:
    a, b, p = (sp.Function(name)(x, y) for name in "abp")
    rows = [laplacian(a) - p.diff(x), laplacian(b) - p.diff(y), a.diff(x) + b.diff(y)]
    top = sp.Eq(y, 1)
    still = sp.Or(sp.Eq(x, 0), sp.Eq(x, 1), sp.Eq(y, 0))
    conditions = [pibls.Dirichlet(a, value, on=top), pibls.Dirichlet(b, 0), pibls.Dirichlet(a, 0, on=still)]
    return pibls.Problem(BOX, rows, [*conditions, pibls.Condition(p, on={x: 0, y: 0})])


@pytest.mark.parametrize(("jump", "clash"), [(1e-5, False), (1e-2, True)])
def test_a_jump_of_the_data_at_a_corner(jump: float, clash: bool) -> None:
    problem = lid(sp.Float(jump) + sp.sin(sp.pi * x))
    found = wedges.system_corners(compile_problem(problem), problem.domain)
    assert any(w.has_incompatible_data for w in found) is clash


def test_what_lower_terms_bring() -> None:
    problem = lid(1)
    found = wedges.system_corners(compile_problem(problem), problem.domain)
    wedge = next(w for w in found if w.has_incompatible_data)
    place: Any = SimpleNamespace(
        point=wedge.point,
        pencil=wedge.pencil,
        has_incompatible_data=True,
        lower_order=(True, True),
        angle=wedge.angle,
    )
    made = wedges.lower_order_bases(place, wedge.pencil.sectors[0], [(1.3 + 0j, 1), (1.8 + 0j, 1)], BOX, 1.0)
    degrees = {round(float(d), 6) for d in made[0].terms[:, 0]}
    assert 2.3 in degrees
    assert 2.8 not in degrees  # products of high powers are smooth enough
    assert 2.0 <= max(degrees) <= 5.0
    assert 8 <= len({int(j) for j in made[0].terms[:, 2]}) <= 24


def test_smooth_data_of_a_plate_do_not_clash() -> None:
    """Nor does rounding in their differences."""
    fluxes = {sp.Eq(x, 1): y, sp.Eq(x, 0): -y, sp.Eq(y, 1): x, sp.Eq(y, 0): -x}
    sides = [pibls.Neumann(u, flux, on=side) for side, flux in fluxes.items()]
    problem = poisson(BOX, laplacian(laplacian(u)) - 1, pibls.Dirichlet(u, 1 + x * y, on=BOX), *sides)
    found = wedges.system_corners(compile_problem(problem), problem.domain)
    assert len(found) == 4
    assert not any(w.has_incompatible_data for w in found)


# -- where interfaces meet --


@pytest.mark.parametrize(("short", "around"), [(1e-6, True), (1e-3, False)])
def test_a_corner_with_the_domain_all_around_it(short: float, around: bool) -> None:
    sector = SimpleNamespace(start=0.0, stop=2.0 * math.pi - short)
    pencil_of: Any = SimpleNamespace(sectors=[sector])
    made = junctions.Junction((0.0, 0.0), pencil_of, (0,), (False, False))
    assert made.is_full_angle is around


@pytest.mark.parametrize(("off", "moved"), [(2e-5, True), (1e-3, False)])
def test_ends_of_interfaces_are_where_their_lines_meet(off: float, moved: bool) -> None:
    rays: Any = [SimpleNamespace(normal=np.array(n)) for n in ((1.0, 0.0), (0.0, 1.0))]
    point = np.array([off, 0.0])
    found = junctions._crossing(point, [np.array([0.0, 0.3]), np.array([0.2, 0.0])], rays, (), 1.0)
    assert bool(np.linalg.norm(found) < 1e-12) is moved


def test_materials_are_looked_up_beside_a_junction(monkeypatch: pytest.MonkeyPatch) -> None:
    k = sp.Piecewise((400, x + 2 * y < sp.Rational(6, 5)), (1, True))
    problem = pibls.Problem(BOX, [sp.Eq(-pibls.div(k * pibls.grad(u)), 1)], [pibls.Dirichlet(u, 0)])
    materials = subdomain_decomposition(problem)
    assert materials is not None
    places: list[Any] = []
    counts: list[int] = []
    principal_part, lower_terms = wedges.principal_part, wedges.lower_terms

    def principal(lowered: Any, X: Any) -> Any:
        places.append(X[0])
        return principal_part(lowered, X)

    def lower_ones(lowered: Any, symbol: Any, X: Any) -> Any:
        counts.append(len(X))
        return lower_terms(lowered, symbol, X)

    monkeypatch.setattr(junctions, "principal_part", principal)
    monkeypatch.setattr(junctions, "lower_terms", lower_ones)
    found = junctions.junctions_of(compile_problem(problem), BOX, materials)
    ends_of = [np.array([0.2, 0.5 * (1.2 - 0.2)]), np.array([0.0, 0.6]), np.array([1.0, 0.1])]
    assert len(found) == 2
    away = [min(np.linalg.norm(X - end) for end in ends_of) / math.sqrt(2.0) for X in places]
    assert all(3e-5 < a < 3e-4 for a in away)
    assert all(16 <= n <= 64 for n in counts)


@pytest.mark.parametrize(("apart", "count"), [(5e-6, 1), (1e-3, 2)])
def test_ends_of_interfaces_that_are_one(apart: float, count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    def face(y0: float) -> Any:
        def at(U: Any) -> Any:
            points = np.column_stack([U[:, 0] * 0.3, np.full(len(U), y0)])
            return SimpleNamespace(points=points, normals=np.tile([0.0, 1.0], (len(U), 1)))

        return SimpleNamespace(is_closed=False, has_chart=True, at=at)

    seen: list[int] = []

    def junction(point: Any, rays: Any, *_: Any) -> None:
        seen.append(len(rays))

    region = SimpleNamespace(faces=[face(0.5), face(0.5 + apart * math.sqrt(2.0))], pieces=(0, 1))
    materials: Any = SimpleNamespace(between=[SimpleNamespace(region=Keyed(region))])
    monkeypatch.setattr(junctions, "_sides", lambda *_: [])
    monkeypatch.setattr(junctions, "_crossing", lambda point, *_: point)
    monkeypatch.setattr(junctions, "_junction", junction)
    junctions.junctions_of(compile_problem(poisson(BOX)), BOX, materials)
    assert len(seen) == 2 * count


class Keyed:
    """Something with the attributes of another, and a place of its own in tables."""

    def __init__(self, of: Any) -> None:
        self.__dict__.update(vars(of))
