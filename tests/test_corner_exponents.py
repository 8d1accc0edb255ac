"""Singular exponents at corners: scalar equations, systems, and junctions of interfaces."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
import sympy as sp

import pibls
from pibls.analysis.corners import boundary_segments as segments
from pibls.analysis.corners import junctions
from pibls.analysis.corners import scalar_corners as scalar
from pibls.analysis.corners import system_corners as systems
from pibls.analysis.corners.boundary_segments import meeting_ends, opening_angle
from pibls.analysis.corners.pencil import PencilCondition
from pibls.analysis.corners.scalar_corners import VALUES, Corner, corners_of, singular_functions
from pibls.basis import Singular
from pibls.geometry import Boundary, faces_of
from pibls.problem.forms.compilation import compile_problem
from pibls.problem.interfaces.decomposition import subdomain_decomposition
from tests.test_analysis_thresholds import laplacian, poisson
from tests.test_pencil import ELASTIC, LAPLACE, STOKES, free, pencil, values

x, y, z, t = sp.symbols("x y z t")

u = sp.Function("u")(x, y)

BOX = pibls.Box({x: (0, 1), y: (0, 1)})


# -- ends of boundary segments --


def test_zero_opening_angle_is_a_slit() -> None:
    assert opening_angle(0.0, 1e-6) == 2.0 * math.pi
    assert opening_angle(0.0, 1e-4) == 1e-4


@pytest.mark.parametrize(("distance", "meet"), [(1e-8, True), (1e-6, False)])
def test_meeting_end_points_segments(distance: float, meet: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    first = SimpleNamespace(point=np.zeros(2), is_first=True, direction=0.0)
    last = SimpleNamespace(point=np.array([distance, 0.0]), is_first=False, direction=1.0)
    monkeypatch.setattr(segments, "faces_of", lambda _: [None])
    monkeypatch.setattr(segments, "_ends", lambda *_: [first, last])
    problem = poisson(BOX)
    assert bool(list(meeting_ends(compile_problem(problem), problem.domain))) is meet


@pytest.mark.parametrize(("off", "found"), [(2e-8, True), (5e-6, False)])
def test_end_of_a_relation_is_located_exactly(off: float, found: bool) -> None:
    """The relation itself is evaluated with a tolerance."""
    (side,) = (f for f in faces_of(BOX) if f.plane() == (1, 0.0))
    relation = SimpleNamespace(expression=sp.Gt(x, 0.3), coordinates=(x, y))
    at = {float(c): side.at(np.array([[c]]), np.random.default_rng(0)).points[0, 0] for c in (0.3, 0.7)}
    cut = next(c for c, coordinate in at.items() if abs(coordinate - 0.3) < 1e-12)
    exact = segments._equality_parameter(side, cut + off, cast("Any", SimpleNamespace(relation=relation)))
    assert (exact == pytest.approx(cut, abs=1e-12)) is found


def test_points_approach_an_end_geometrically() -> None:
    problem = poisson(BOX)
    end, _ = next(iter(meeting_ends(compile_problem(problem), problem.domain)))
    distances = np.sort(np.linalg.norm(end.approach_points.points - end.point, axis=1))
    assert distances[-1] == pytest.approx(0.5)
    assert 1e-8 < distances[0] < 1e-5
    assert 1.3 < (distances[1:] / distances[:-1]).min() <= (distances[1:] / distances[:-1]).max() < 2.5


# -- scalar corners --


def test_largest_powers_of_a_corner() -> None:
    sides = Boundary(np.zeros((0, 2)), np.zeros((0, 2)), ())
    corner = Corner((0.0, 0.0), 0.0, 1.5 * math.pi, ((VALUES, VALUES),), True, sides)
    assert 40.0 < max(corner.powers(0)) < 60.0
    curved = [p for p, *_ in scalar._curved_terms(corner, 0, 0.0)]
    lower_order = [p + j for p, j, *_ in scalar._reaction_terms(corner, 0)]
    general = [p + q for p, q, *_ in scalar._general_terms(corner, 0)]
    assert 15.0 < max(curved) < 25.0
    assert 12.0 < max(lower_order) < 20.0
    assert 4.0 < max(general) < 8.0
    assert scalar._is_integer(2.0 + 1e-7)
    assert not scalar._is_integer(2.0 + 1e-5)


@pytest.mark.parametrize(("rate", "moderate"), [(7.0, True), (20.0, False)])
def test_functions_that_grow_too_much_are_rejected(rate: float, moderate: bool) -> None:
    form: Any = SimpleNamespace(rate=rate, growth=(0.0, 0.0))
    assert scalar._is_moderate(form, 1.0) is moderate


def test_poles_in_a_hole() -> None:
    """The branch cut of a corner of a hole ends in the hole."""
    square = pibls.Box({x: (-1, 1), y: (-1, 1)}) - pibls.Box({x: (0, 0.3), y: (0, 0.3)})
    problem = poisson(square)
    corner = next(c for c in corners_of(compile_problem(problem), square) if math.hypot(*c.point) < 1e-9)
    result = singular_functions(corner, compile_problem(problem), square)
    assert isinstance(result[0], Singular)
    poles = [p for p, q, log, _ in result[0].terms if p == round(p) and not q and not log]
    assert 10.0 <= max(poles) <= 24.0


# -- operator pencils --


def test_exponents_are_counted_once() -> None:
    for angle, count in ((1.5 * math.pi, 3), (1.1 * math.pi, 2)):
        result = pencil(LAPLACE, lambda a: values(a, 1), angle)
        found = [alpha.real for alpha, _ in result.exponents(2.1)]
        assert len(found) == count
        assert np.allclose(found, np.arange(1, count + 1) * math.pi / angle, atol=1e-9)


@pytest.mark.parametrize("angle", [0.5, 1.0, 1.5, 2.2])
def test_complex_exponents_of_narrow_corners(angle: float) -> None:
    """sin(λω) = ±λ sin ω, λ = α for Stokes flow with no-slip sides: including imaginary parts above one."""
    result = pencil(STOKES, lambda a: values(a, 2), angle)
    found = [alpha for alpha, _ in result.exponents(1.0 + 14.0 / angle) if abs(alpha - 1.0) > 1e-6]
    defects = [min(abs(np.sin(a * angle) - s * a * np.sin(angle)) for s in (1, -1)) for a in found]
    assert max(defects) < 1e-6
    assert len(found) >= 4
    # The spacing of real parts shows that no exponent is missing.
    assert np.diff([a.real for a in found]).max() < 3.6 / angle
    assert max(a.imag for a in found) > 1.0


def test_constant_and_logarithm_are_not_exponents() -> None:
    """Constants and log r are excluded for flux conditions on both sides: log r has infinite energy."""

    def flux(angle: float) -> list[PencilCondition]:
        return [PencilCondition(angle, ((0, 0, (1, 0), -math.sin(angle)), (0, 0, (0, 1), math.cos(angle))))]

    result = pencil(LAPLACE, flux, 1.5 * math.pi)
    assert [a.real for a, _ in result.exponents(1.6)] == pytest.approx([2 / 3, 4 / 3], abs=1e-8)


def test_null_space_of_the_pencil() -> None:
    result = pencil(ELASTIC, free, 2.0 * math.pi, -math.pi)
    exponents = result.exponents(2.6)
    assert result.has_exponents(exponents)
    assert not result.has_exponents([(a + 1e-4, n) for a, n in exponents])
    assert result._null_space(0.5)[0].shape[1] == 2
    assert result._null_space(0.5 + 1e-10)[0].shape[1] == 2
    assert result._null_space(0.5 + 1e-5)[0].shape[1] == 0


# -- system corners --


def lid_driven_cavity(value: Any) -> pibls.Problem:
    a, b, p = (sp.Function(name)(x, y) for name in "abp")
    rows = [laplacian(a) - p.diff(x), laplacian(b) - p.diff(y), a.diff(x) + b.diff(y)]
    top = sp.Eq(y, 1)
    at_rest = sp.Or(sp.Eq(x, 0), sp.Eq(x, 1), sp.Eq(y, 0))
    conditions = [pibls.Dirichlet(a, value, on=top), pibls.Dirichlet(b, 0), pibls.Dirichlet(a, 0, on=at_rest)]
    return pibls.Problem(BOX, rows, [*conditions, pibls.Condition(p, on={x: 0, y: 0})])


@pytest.mark.parametrize(("jump", "incompatible"), [(1e-5, False), (1e-2, True)])
def test_jump_of_boundary_data_at_a_corner_is_detected(jump: float, incompatible: bool) -> None:
    problem = lid_driven_cavity(sp.Float(jump) + sp.sin(sp.pi * x))
    corners = systems.system_corners(compile_problem(problem), problem.domain)
    assert any(c.has_incompatible_data for c in corners) is incompatible


def test_functions_of_lower_order_terms() -> None:
    problem = lid_driven_cavity(1)
    corners = systems.system_corners(compile_problem(problem), problem.domain)
    corner = next(c for c in corners if c.has_incompatible_data)
    modified: Any = SimpleNamespace(
        point=corner.point,
        pencil=corner.pencil,
        has_incompatible_data=True,
        lower_order=(True, True),
        angle=corner.angle,
    )
    result = systems.lower_order_bases(
        modified, corner.pencil.sectors[0], [(1.3 + 0j, 1), (1.8 + 0j, 1)], BOX, 1.0
    )
    degrees = {round(float(d), 6) for d in result[0].terms[:, 0]}
    assert 2.3 in degrees
    assert 2.8 not in degrees  # products of high powers are smooth enough
    assert 2.0 <= max(degrees) <= 5.0
    assert 8 <= len({int(j) for j in result[0].terms[:, 2]}) <= 24


def test_smooth_data_of_a_plate_are_compatible() -> None:
    """Rounding in their differences is not an incompatibility."""
    fluxes = {sp.Eq(x, 1): y, sp.Eq(x, 0): -y, sp.Eq(y, 1): x, sp.Eq(y, 0): -x}
    sides = [pibls.Neumann(u, flux, on=side) for side, flux in fluxes.items()]
    problem = poisson(BOX, laplacian(laplacian(u)) - 1, pibls.Dirichlet(u, 1 + x * y, on=BOX), *sides)
    corners = systems.system_corners(compile_problem(problem), problem.domain)
    assert len(corners) == 4
    assert not any(c.has_incompatible_data for c in corners)


# -- junctions of interfaces --


@pytest.mark.parametrize(("missing_angle", "is_full"), [(1e-6, True), (1e-3, False)])
def test_junction_with_full_angle(missing_angle: float, is_full: bool) -> None:
    sector = SimpleNamespace(start=0.0, stop=2.0 * math.pi - missing_angle)
    full_pencil: Any = SimpleNamespace(sectors=[sector])
    result = junctions.Junction((0.0, 0.0), full_pencil, (0,), (False, False))
    assert result.is_full_angle is is_full


@pytest.mark.parametrize(("off", "moved"), [(2e-5, True), (1e-3, False)])
def test_junction_is_moved_to_the_intersection_of_lines(off: float, moved: bool) -> None:
    rays: Any = [SimpleNamespace(normal=np.array(n)) for n in ((1.0, 0.0), (0.0, 1.0))]
    point = np.array([off, 0.0])
    found = junctions._crossing(point, [np.array([0.0, 0.3]), np.array([0.2, 0.0])], rays, (), 1.0)
    assert bool(np.linalg.norm(found) < 1e-12) is moved


def test_coefficients_are_evaluated_beside_a_junction(monkeypatch: pytest.MonkeyPatch) -> None:
    k = sp.Piecewise((400, x + 2 * y < sp.Rational(6, 5)), (1, True))
    problem = pibls.Problem(BOX, [sp.Eq(-pibls.div(k * pibls.grad(u)), 1)], [pibls.Dirichlet(u, 0)])
    materials = subdomain_decomposition(problem)
    assert materials is not None
    evaluation_points: list[Any] = []
    counts: list[int] = []
    principal_part, lower_terms = systems.principal_part, systems.lower_terms

    def principal(compiled: Any, X: Any) -> Any:
        evaluation_points.append(X[0])
        return principal_part(compiled, X)

    def lower_order(compiled: Any, symbol: Any, X: Any) -> Any:
        counts.append(len(X))
        return lower_terms(compiled, symbol, X)

    monkeypatch.setattr(junctions, "principal_part", principal)
    monkeypatch.setattr(junctions, "lower_terms", lower_order)
    found = junctions.junctions_of(compile_problem(problem), BOX, materials)
    end_points = [np.array([0.2, 0.5 * (1.2 - 0.2)]), np.array([0.0, 0.6]), np.array([1.0, 0.1])]
    assert len(found) == 2
    distances = [
        min(np.linalg.norm(X - end) for end in end_points) / math.sqrt(2.0) for X in evaluation_points
    ]
    assert all(3e-5 < a < 3e-4 for a in distances)
    assert all(16 <= n <= 64 for n in counts)


@pytest.mark.parametrize(("distance", "count"), [(5e-6, 1), (1e-3, 2)])
def test_close_end_points_interfaces_are_merged(
    distance: float, count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def face(y0: float) -> Any:
        def at(U: Any) -> Any:
            points = np.column_stack([U[:, 0] * 0.3, np.full(len(U), y0)])
            return SimpleNamespace(points=points, normals=np.tile([0.0, 1.0], (len(U), 1)))

        return SimpleNamespace(is_closed=False, has_chart=True, at=at)

    ray_counts: list[int] = []

    def junction(point: Any, rays: Any, *_: Any) -> None:
        ray_counts.append(len(rays))

    region = SimpleNamespace(faces=[face(0.5), face(0.5 + distance * math.sqrt(2.0))], subdomains=(0, 1))
    materials: Any = SimpleNamespace(interface_residuals=[SimpleNamespace(region=Keyed(region))])
    monkeypatch.setattr(junctions, "_sides", lambda *_: [])
    monkeypatch.setattr(junctions, "_crossing", lambda point, *_: point)
    monkeypatch.setattr(junctions, "_junction", junction)
    junctions.junctions_of(compile_problem(poisson(BOX)), BOX, materials)
    assert len(ray_counts) == 2 * count


class Keyed:
    """Copy of the attributes of an object, hashable by identity."""

    def __init__(self, of: Any) -> None:
        self.__dict__.update(vars(of))
