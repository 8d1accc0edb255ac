"""Shapes: boundaries with outward normals and owners, evenly spaced points, sampling in small cells."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
import pytest
import sympy as sp

import pibls
from pibls.arrays import Array, Mask
from pibls.geometry import Boundary, box_of, check_domain, faces_of
from pibls.geometry.faces import level_set as level
from pibls.geometry.faces.level_set import LevelSet
from pibls.geometry.shape import inside_condition
from pibls.problem import BoundaryPart, Interior

x, y, z, r, t = sp.symbols("x y z r t")
XY = (x, y)
SQUARE = pibls.Box({x: (0, 1), y: (0, 1)})
CUBE = pibls.Box({x: (0, 1), y: (0, 1), z: (0, 1)})
DISK = pibls.Disk(XY, (0.5, 0.5), 0.2)
CORNERS = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], dtype=float)
TETRAHEDRON = pibls.Solid((x, y, z), [CORNERS[list(i)] for i in ((0, 2, 1), (0, 1, 3), (0, 3, 2), (1, 2, 3))])


class UserDefinedDisk:
    """A disk that implements only the protocol of a domain."""

    coordinates = XY
    bounds = ((0.3, 0.7), (0.3, 0.7))

    def interior(self, n: int, rng: np.random.Generator) -> Array:
        return DISK.interior(n, rng)

    def boundary(self, n: int, rng: np.random.Generator) -> Boundary:
        return DISK.boundary(n, rng)._replace(owners=(self,) * n)

    def contains(self, X: Array) -> Mask:
        return DISK.contains(X)


USER_DEFINED = UserDefinedDisk()
HOLES = [[(0.5, 0.5), (1, 0.5), (1, 1)], [(2, 1), (2.5, 1), (2.5, 1.5), (2, 1.5)]]
PI = math.pi
# shape, length or area of its boundary, area or volume (None: not known in closed form)
SHAPES: dict[str, tuple[Any, float | None, float | None]] = {
    "disk": (pibls.Disk(XY, (1, 2), 3), 6 * PI, 9 * PI),
    "ellipse": (pibls.Ellipse(XY, (0, 0), (2, 1), 0.7), 9.688448220547675, 2 * PI),
    "polygon": (pibls.Polygon(XY, [(0, 0), (3, 0), (3, 2), (1, 3), (0, 2)], holes=HOLES), None, 7.5 - 0.375),
    "many vertices": (
        pibls.Polygon(XY, [(math.cos(a), math.sin(a)) for a in np.arange(0, 2 * PI, 0.01)]),
        2 * PI,
        PI,
    ),
    "spline": (pibls.Spline(XY, [(1, 0), (0.5, 0.8), (-0.5, 0.9), (-1, 0), (0, -0.7)]), None, None),
    "implicit": (pibls.Implicit(x**2 + y**2 - 1, {x: (-2, 2), y: (-2, 2)}), 2 * PI, PI),
    "implicit, cut": (pibls.Implicit(x**2 + y**2 < 1, {x: (0, 2), y: (-2, 2)}), PI + 2, PI / 2),
    "two components": (
        pibls.Implicit((x**2 + y**2 - 1) * ((x - 3) ** 2 + y**2 - 1), {x: (-2, 5), y: (-2, 2)}),
        4 * PI,
        2 * PI,
    ),
    "plate": (SQUARE - DISK, 4 + 0.4 * PI, 1 - 0.04 * PI),
    "square - disk at corner": (SQUARE - pibls.Disk(XY, (1, 1), 0.5), 3 + PI / 4, 1 - PI / 16),
    "L": (pibls.Box({x: (-1, 1), y: (-1, 1)}) - pibls.Box({x: (0, 1), y: (-1, 0)}), 8, 3),
    "L as union": (pibls.Box({x: (-1, 0), y: (-1, 1)}) | pibls.Box({x: (-1, 1), y: (0, 1)}), 8, 3),
    "adjacent boxes": (SQUARE | pibls.Box({x: (0, 1), y: (1, 2)}), 6, 2),
    "lens": (
        pibls.Disk(XY, (0, 0), 1) & pibls.Disk(XY, (1, 0), 1),
        4 * PI / 3,
        2 * PI / 3 - math.sqrt(3) / 2,
    ),
    "nested": (
        (SQUARE - DISK) | ((pibls.Disk(XY, (1, 1), 0.5) - pibls.Disk(XY, (1, 1), 0.1)) & SQUARE),
        None,
        None,
    ),
    "rotated": (SQUARE.turned(PI / 4) - DISK, 4 + 0.4 * PI, 1 - 0.04 * PI),
    "stretched": (pibls.Disk(XY, (0, 0), 1).scaled((2, 1)), 9.688448220547675, 2 * PI),
    "small cut": (SQUARE - pibls.Disk(XY, (0.3, 0), 1e-4), 4 + (PI - 2) * 1e-4, 1.0),
    "user-defined": (SQUARE - USER_DEFINED, None, 1 - 0.04 * PI),
    "line": (pibls.Interval(x, 0, 3) - pibls.Interval(x, 1, 2), 4, 2),
    "ball": (pibls.Ball((x, y, z), (0, 0, 0), 1), 4 * PI, 4 * PI / 3),
    "rod": (pibls.Disk(XY, (0, 0), 1).extruded(z, 0, 2), 6 * PI, 2 * PI),
    "tube": ((pibls.Disk(XY, (0, 0), 1) - pibls.Disk(XY, (0, 0), 0.5)).extruded(z, 0, 2), 7.5 * PI, 1.5 * PI),
    "user-defined rod": ((SQUARE - USER_DEFINED).extruded(z, 0, 1), None, 1 - 0.04 * PI),
    "torus": (pibls.Disk((r, z), (2, 0), 0.5).revolved(x, y), 4 * PI**2, PI**2),
    "cube - ball": (CUBE - pibls.Ball((x, y, z), (1, 1, 1), 0.5), 6 - 3 * PI / 16 + PI / 8, 1 - PI / 48),
    "cube with hole": (CUBE - DISK.extruded(z, -1, 2), 6 - 0.08 * PI + 0.4 * PI, 1 - 0.04 * PI),
    "rotated cube": (CUBE.turned(0.4, axis=z), 6, 1),
    "implicit body": (
        pibls.Implicit(x**2 + y**2 + z**2 - 1, {x: (-2, 2), y: (-2, 2), z: (-2, 2)}),
        4 * PI,
        4 * PI / 3,
    ),
    "solid": (TETRAHEDRON, 1.5 + math.sqrt(3) / 2, 1 / 6),
    "cut solid": (TETRAHEDRON - pibls.Ball((x, y, z), (0, 0, 0), 0.3), None, 1 / 6 - PI * 0.027 / 6),
}
STEP = 1e-6


def is_boundary_point(shape: Any, X: Array, N: Array) -> Mask:
    inner, outer = (np.asarray(shape.contains(X + sign * STEP * N)) for sign in (-1, 1))
    return np.asarray(inner & ~outer)


@pytest.mark.parametrize("name", SHAPES)
def test_boundary_points_are_on_the_boundary_and_normals_point_outwards(name: str) -> None:
    shape, _, _ = SHAPES[name]
    check_domain(shape, "domain")
    X, N, owners = shape.boundary(1500, np.random.default_rng(0))
    assert len(X) == len(N) == len(owners) == 1500
    np.testing.assert_allclose(np.linalg.norm(N, axis=1), 1.0, atol=1e-12)
    assert np.mean(is_boundary_point(shape, X, N)) > 0.998  # at a corner the adjacent face may be closer
    for face in faces_of(shape):
        found = face.at(np.random.default_rng(1).random((200, face.dimension)), np.random.default_rng(2))
        assert np.mean(is_boundary_point(shape, found.points, found.normals)) > 0.99


@pytest.mark.parametrize("radius", [1e-3, 1e-5])
def test_small_hole_of_a_level_set_is_found(radius: float) -> None:
    hole = radius**2 - (x - 0.3) ** 2 - y**2
    disk = pibls.Implicit(sp.Max(x**2 + y**2 - 1, hole), {x: (-1.1, 1.1), y: (-1.1, 1.1)})
    sizes = sorted(face.measure(np.ones(2)) for face in faces_of(disk))
    assert sizes == pytest.approx([2 * PI * radius, 2 * PI], rel=1e-3)


def test_small_cavity_and_thin_ellipse_of_level_sets(monkeypatch: pytest.MonkeyPatch) -> None:
    box = np.array([[-1.1, 1.1]] * 3)
    body = LevelSet((x**2 + y**2 + z**2 - 1) * ((x - 0.3) ** 2 + y**2 + z**2 - 1e-4), (x, y, z), "body")
    sizes = sorted(face.measure(np.ones(3)) for face in body.faces(box, body))
    assert sizes == pytest.approx([4 * PI * 1e-4, 4 * PI], rel=0.03)
    c, s = math.cos(0.5), math.sin(0.5)
    thin, thinner = (
        LevelSet((c * x + s * y) ** 2 + (b * (c * y - s * x)) ** 2 - 1, XY, "ellipse") for b in (100, 1000)
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert sum(f.measure(np.ones(2)) for f in thin.faces(box[:2], thin)) == pytest.approx(4.001, abs=1e-3)
    monkeypatch.setattr(level, "_GRID_SIZES", {2: (240,)})
    with pytest.warns(pibls.ShapeWarning, match="parts of the boundary were not found"):
        thinner.faces(box[:2], thinner)


def test_gradient_of_a_level_set_with_absolute_value() -> None:
    cylinder = LevelSet(sp.Max(x**2 + y**2 - 1, sp.Abs(z) - 0.5), (x, y, z), "cylinder")
    np.testing.assert_array_equal(cylinder.gradient(np.array([[0.1, 0.2, -0.5]])), [[0.0, 0.0, -1.0]])


@pytest.mark.parametrize("name", SHAPES)
def test_measures_are_exact(name: str) -> None:
    shape, boundary, volume = SHAPES[name]
    d = len(shape.coordinates)
    if boundary is not None:
        measured = sum(face.measure(np.ones(d)) for face in faces_of(shape))
        assert measured == pytest.approx(boundary, rel=1e-3 if d < 3 else 0.03)
    box = box_of(shape)
    X = np.random.default_rng(0).uniform(box[:, 0], box[:, 1], (40_000, d))
    found = float(np.mean(shape.contains(X)) * np.prod(box[:, 1] - box[:, 0]))
    if volume is not None:
        assert found == pytest.approx(volume, rel=0.03)
    assert shape.contains(shape.interior(500, np.random.default_rng(1))).all()


@pytest.mark.parametrize("name", [n for n, (s, _, _) in SHAPES.items() if len(s.coordinates) == 2])
def test_small_cells_get_boundary_points(name: str) -> None:
    """A cell at the boundary gets boundary and interior points, however small it is."""
    shape, _, _ = SHAPES[name]
    X, N, _ = shape.boundary(12, np.random.default_rng(3))
    for size in (0.3, 1e-2, 1e-4) if name != "user-defined" else (0.3, 1e-2):
        for p, n in zip(X, N, strict=True):
            box = np.column_stack([p - size / 2, p + size / 2])
            found = BoundaryPart().sample(shape, pibls.Points(40, 64), np.random.default_rng(0), box)
            Y = found.sites[0]
            assert len(Y) >= (4 if name != "user-defined" else 1)
            assert np.all((box[:, 0] - 1e-9 <= Y) & (box[:, 1] + 1e-9 >= Y))
            assert np.mean(is_boundary_point(shape, Y, found.normals)) > 0.9
            inside = Interior().sample(shape, pibls.Points(40, 64), np.random.default_rng(0), box).sites[0]
            assert len(inside) >= 20
            assert shape.contains(inside).all()
            del n


@pytest.mark.parametrize("name", ["ball", "cube - ball", "torus", "solid", "implicit body"])
def test_cells_of_bodies_get_boundary_points(name: str) -> None:
    shape, _, _ = SHAPES[name]
    X, _, _ = shape.boundary(4, np.random.default_rng(3))
    for size in (0.3, 0.03):
        for p in X:
            box = np.column_stack([p - size / 2, p + size / 2])
            found = BoundaryPart().sample(shape, pibls.Points(40, 120), np.random.default_rng(0), box)
            assert len(found) >= 5
            assert np.mean(is_boundary_point(shape, found.sites[0], found.normals)) > 0.9


def test_points_are_evenly_spaced_on_closed_curves() -> None:
    shapes: list[Any] = [pibls.Disk(XY, (0, 0), 1), pibls.Ellipse(XY, (0, 0), (3, 0.5))]
    for shape in (*shapes, SHAPES["spline"][0], SHAPES["implicit"][0]):
        found = (
            BoundaryPart()
            .sample(shape, pibls.Points(9, 64, rule="chebyshev"), np.random.default_rng(0))
            .sites[0]
        )
        face: Any = shape.faces[0]
        order = np.argsort(face.curve.nearest_parameters(found))
        steps = np.linalg.norm(np.diff(found[order], axis=0), axis=1)
        assert steps.max() < 1.25 * steps.min()
        assert len(found) == 64


def test_owners_are_the_shapes_of_the_construction() -> None:
    first, second = pibls.Disk(XY, (0.25, 0.25), 0.1), pibls.Disk(XY, (0.75, 0.75), 0.1)
    plate = SQUARE - (first | second)
    owners = set(map(id, plate.boundary(500, np.random.default_rng(0)).owners))
    assert owners == {id(SQUARE), id(first), id(second)}
    u = sp.Function("u")(x, y)
    problem = pibls.Problem(
        plate,
        [u.diff(x, 2) + u.diff(y, 2)],
        [pibls.Dirichlet(u, 0, on=SQUARE), pibls.Neumann(u, 1, on=first | second)],
    )
    sample = problem.statements[2].region.sample(plate, pibls.Points(9, 60), np.random.default_rng(0))
    X, N = sample.sites[0], sample.normals
    centers = np.where((X[:, :1] < 0.5), 0.25, 0.75)
    np.testing.assert_allclose(np.hypot(*(X - centers).T), 0.1, rtol=1e-12)
    assert np.all(((X - centers) * N).sum(axis=1) < 0)  # normals point out of the plate, into the hole


def test_corners_of_clipped_faces_are_exact() -> None:
    domain = SQUARE - pibls.Disk(XY, (1, 0), 0.5)
    ends = np.array(
        [face.at(np.array([[0.0], [1.0]]), np.random.default_rng(0)).points for face in domain.faces]
    )
    for corner in ((0.5, 0.0), (1.0, 0.5)):
        assert np.sum(np.abs(ends.reshape(-1, 2) - corner).max(axis=1) < 1e-8) == 2


@pytest.mark.parametrize("name", SHAPES)
def test_inside_condition_agrees_with_contains(name: str) -> None:
    shape, _, _ = SHAPES[name]
    condition = inside_condition(shape)
    box = box_of(shape)
    X = np.random.default_rng(0).uniform(box[:, 0], box[:, 1], (300, len(box)))
    holds = sp.lambdify(shape.coordinates, condition, modules="numpy")(*X.T)
    assert np.mean(holds == shape.contains(X)) > 0.995
    material = sp.Piecewise((2, condition), (1, True))
    assert set(np.unique(sp.lambdify(shape.coordinates, material)(*X.T))) <= {1, 2}


@pytest.mark.parametrize("name", ["disk", "ellipse", "polygon", "spline", "plate", "L", "user-defined"])
def test_translation_rotation_and_scaling(name: str) -> None:
    shape, _, _ = SHAPES[name]
    moved = shape.moved(2, -1).turned(0.3, center=(1, 1)).scaled(1.5, center=(0, 0))
    X = shape.interior(200, np.random.default_rng(0))
    c, s = math.cos(0.3), math.sin(0.3)
    Y = ((X + (2, -1) - 1) @ np.array([[c, s], [-s, c]]) + 1) * 1.5
    assert moved.contains(Y).all()
    P, N, _ = moved.boundary(300, np.random.default_rng(1))
    assert np.mean(is_boundary_point(moved, P, N)) > 0.99
    assert shape.moved(1, 0).moved(-1, 0).contains(X).all()


def test_shape_in_time() -> None:
    domain = (SQUARE - DISK).during(t, 0, 2)
    found = BoundaryPart(owners=(DISK,)).sample(domain, pibls.Points(9, 80), np.random.default_rng(0))
    np.testing.assert_allclose(np.hypot(*(found.sites[0][:, :2] - 0.5).T), 0.2)
    box = np.array([[0.3, 0.5], [0.3, 0.5], [0.5, 1.0]])
    part = BoundaryPart().sample(domain, pibls.Points(9, 80), np.random.default_rng(0), box).sites[0]
    assert len(part) > 10
    assert np.all((part >= box[:, 0] - 1e-9) & (part <= box[:, 1] + 1e-9))


EXACT = sp.exp(x / 2) * sp.sin(y + 0.3) + x * y
BODY = sp.exp(x / 2) * sp.sin(y + 0.3) * sp.cos(z) + x * y * z


def radial_derivative(center: tuple[float, float], sign: int) -> Any:
    """Return the radial derivative of the exact solution on a circle, times ``sign``."""
    dx, dy = x - center[0], y - center[1]
    return sign * (dx * EXACT.diff(x) + dy * EXACT.diff(y)) / sp.sqrt(dx**2 + dy**2)


def relative_error(domain: Any, exact: Any, *conditions: Any) -> float:
    u = sp.Function("u")(*domain.coordinates)
    left, right = (sum(f.diff(c, 2) for c in domain.coordinates) - f for f in (u, exact))
    problem = pibls.Problem(domain, [sp.Eq(left, right)], conditions or [pibls.Dirichlet(u, exact)])
    solution = pibls.solve(problem)
    X = domain.interior(2000, np.random.default_rng(5))
    true = sp.lambdify(domain.coordinates, exact)(*X.T)
    assert solution.converged
    return float(np.abs(solution(*X.T) - true).max() / np.abs(true).max())


@pytest.mark.parametrize("name", ["polygon", "implicit", "spline", "ellipse", "nested", "user-defined"])
def test_smooth_solutions_on_shapes(name: str) -> None:
    assert relative_error(SHAPES[name][0], EXACT) < 1e-9


def test_disk_minus_disk_with_neumann_and_robin_parts() -> None:
    u = sp.Function("u")(x, y)
    outer, inner = pibls.Disk(XY, (0, 0), 1), pibls.Disk(XY, (0.2, 0.1), 0.3)
    outside = pibls.Neumann(u, radial_derivative((0, 0), 1), on=outer)
    inside = pibls.Robin(u, 2 * EXACT + radial_derivative((0.2, 0.1), -1), 2, 1, on=inner)
    assert relative_error(outer - inner, EXACT, outside, inside) < 1e-9


@pytest.mark.parametrize("name", ["ball", "cube - ball"])
def test_smooth_solutions_in_bodies(name: str) -> None:
    assert relative_error(SHAPES[name][0], BODY) < 1e-9
