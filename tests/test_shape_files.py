"""Shapes in problem files: round trips and error messages."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import sympy as sp

import pibls
from pibls.errors import ProblemError
from pibls.geometry import box_of, space_of
from pibls.io.problem_file import parse_problem
from pibls.io.problem_writer import problem_text
from pibls.problem.interfaces.decomposition import subdomain_decomposition

x, y, z, r, t = sp.symbols("x y z r t")
DISK = pibls.Disk((x, y), (0.5, 0.5), 0.2)
SQUARE = pibls.Box({x: (0, 1), y: (0, 1)})
CORNERS = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], dtype=float)
TETRAHEDRON = pibls.Solid((x, y, z), [CORNERS[list(i)] for i in ((0, 2, 1), (0, 1, 3), (0, 3, 2), (1, 2, 3))])
SHAPES: dict[str, Any] = {
    "disk": DISK,
    "plate": SQUARE - DISK,
    "tree": (SQUARE - DISK) | pibls.Disk((x, y), (1, 1), 0.3) & pibls.Box({x: (0.9, 2), y: (0, 2)}),
    "ellipse": pibls.Ellipse((x, y), (0, 1), (2, 0.5), 0.3),
    "polygon": pibls.Polygon((x, y), [(0, 0), (3, 0), (0, 3)], holes=[[(0.5, 0.5), (1, 0.5), (0.5, 1)]]),
    "spline": pibls.Spline((x, y), [(1, 0), (0, 1.25), (-1, 0), (0, -1)]),
    "implicit": pibls.Implicit(x**4 + sp.sin(y) ** 2 - sp.Rational(1, 2), {x: (-1, 1), y: (-1, 1)}),
    "turned": SQUARE.turned(0.5) - DISK,
    "ball": pibls.Ball((x, y, z), (0, 0, 0.5), 1),
    "rod": (pibls.Disk((x, y), (0, 0), 1) - pibls.Disk((x, y), (0, 0), 0.5)).extruded(z, 0, 2),
    "torus": pibls.Disk((r, z), (2, 0), 0.5).revolved(x, y),
    "solid": TETRAHEDRON,
    "plate in time": (SQUARE - DISK).during(t, 0, 1),
}


def problem_on(domain: Any, *conditions: Any) -> pibls.Problem:
    u = sp.Function("u")(*domain.coordinates)
    space = space_of(domain).coordinates
    return pibls.Problem(domain, [sum(u.diff(c, 2) for c in space)], [*conditions, pibls.Dirichlet(u, 0)])


@pytest.mark.parametrize("name", SHAPES)
def test_shape_round_trips_through_text(name: str) -> None:
    domain = SHAPES[name]
    text = problem_text(problem_on(domain))
    parsed = parse_problem(text).problem.domain
    assert parsed.coordinates == domain.coordinates
    np.testing.assert_allclose(box_of(parsed), box_of(domain), rtol=1e-12)
    low, high = box_of(domain).T
    X = np.random.default_rng(0).uniform(low, high, (500, len(domain.coordinates)))
    assert (parsed.contains(X) == domain.contains(X)).all()
    assert problem_text(problem_on(parsed)) == text


def test_conditions_on_shapes_are_written_with_their_names() -> None:
    plate = SQUARE - DISK
    u = sp.Function("u")(x, y)
    text = problem_text(problem_on(plate, pibls.Neumann(u, 1, on=DISK)))
    assert 'shape = "box - disk"' in text
    assert 'on = "disk"' in text
    parsed = parse_problem(text).problem
    assert parsed.conditions[0].on == DISK
    both = (SQUARE | pibls.Disk((x, y), (1, 1), 0.3)) - DISK
    text = problem_text(problem_on(both, pibls.Neumann(u, 1, on=SQUARE | DISK)))
    assert parse_problem(text).problem.conditions[0].on == SQUARE | DISK


HEAD = 'equations = ["laplacian(u) = 0"]\n[[conditions]]\ndirichlet = "u"\nvalue = 0\n'
DISK_TEXT = "{ disk = { center = { x = 0, y = 0 }, radius = 1 } }"


def read(shapes: str, domain: str) -> Any:
    return parse_problem(f'{HEAD}[shapes]\n{shapes}\n[domain]\nshape = "{domain}"\n').problem.domain


def test_shapes_refer_to_earlier_shapes() -> None:
    domain = read(
        f'a = {DISK_TEXT}\nb = {{ shape = "a", scaled = 0.5, moved = [0.25, 0] }}\n'
        'c = { shape = "a - b", turned = "pi/2", center = { x = 0, y = 0 } }',
        "c",
    )
    assert domain.contains(np.array([[0.0, 0.25], [0.0, -0.9]])).tolist() == [False, True]


def test_operator_precedence_is_that_of_python() -> None:
    a, b, c = (
        f"{n} = {{ disk = {{ center = {{ x = {i / 2}, y = 0 }}, radius = 1 }} }}" for i, n in enumerate("acb")
    )
    text = "\n".join((a, b, c))
    for text_form, parenthesized in (
        ("a | b - c", "a | (b - c)"),
        ("a & b | c", "(a & b) | c"),
        ("a - b & c", "(a - b) & c"),
    ):
        assert read(text, text_form) == read(text, parenthesized)


INVALID_SHAPES = {
    "unknown name": (f"a = {DISK_TEXT}", "b", r"the name of a shape, got 'b'.*Declared shapes are a"),
    "operator": (f"a = {DISK_TEXT}", "a a", r"an operator between two shapes"),
    "bracket": (f"a = {DISK_TEXT}", "(a", r"a closing parenthesis"),
    "missing operand": (f"a = {DISK_TEXT}", "a -", r"the name of a shape, got nothing"),
    "invalid character": (f"a = {DISK_TEXT}", "a * a", r"names of shapes, joined by"),
    "kind": ("a = { circle = { radius = 1 } }", "a", r"a shape \(interval, box, disk.*got 'circle'"),
    "radius": ("a = { disk = { center = { x = 0, y = 0 }, radius = 0 } }", "a", r"a number above 0, got 0"),
    "no radius": ("a = { disk = { center = { x = 0, y = 0 } } }", "a", r"radius of the disk"),
    "center": ("a = { disk = { center = [0, 0], radius = 1 } }", "a", r"a value for each coordinate"),
    "key": (
        "a = { disk = { center = { x = 0, y = 0 }, radius = 1, r = 2 } }",
        "a",
        r"a valid key",
    ),
    "vertices": (
        'a = { polygon = { coordinates = ["x", "y"], vertices = 3 } }',
        "a",
        r"at most 20000 points",
    ),
    "names": (
        'a = { polygon = { coordinates = "xy", vertices = [] } }',
        "a",
        r"the names of the coordinates",
    ),
    "line": (
        'a = { spline = { coordinates = ["x", "y"], points = [[0, 0], [1, 0]] } }',
        "a",
        r"at least 3 diff",
    ),
    "vector": (
        'a = { implicit = { negative = "[x, y]", bounds = { x = [0, 1], y = [0, 1] } } }',
        "a",
        r"a scalar",
    ),
    "unknown symbol": (
        'a = { implicit = { negative = "x + q", bounds = { x = [0, 1], y = [0, 1] } } }',
        "a",
        "q",
    ),
    "extrusion": (
        f'a = {DISK_TEXT}\nb = {{ extrusion = {{ shape = "a" }} }}',
        "b",
        r"a shape and one additional coord",
    ),
    "revolution": (
        f'a = {DISK_TEXT}\nb = {{ revolution = {{ shape = "a", coordinates = ["u"] }} }}',
        "b",
        "two coord",
    ),
    "matrix": (
        f'a = {DISK_TEXT}\nb = {{ shape = "a", matrix = [[1, 0], [0, 0]], offset = [0, 0] }}',
        "b",
        "a regular matrix of 2",
    ),
    "moved": (f'a = {DISK_TEXT}\nb = {{ shape = "a", moved = [1] }}', "b", r"a distance for each"),
    "declared later": (
        f'b = {{ shape = "a", moved = [1, 0] }}\na = {DISK_TEXT}',
        "b",
        r"Declare it under \[shapes\]",
    ),
}


@pytest.mark.parametrize("name", INVALID_SHAPES)
def test_invalid_shape_is_reported(name: str) -> None:
    shapes, domain, message = INVALID_SHAPES[name]
    with pytest.raises(ProblemError, match=message):
        read(shapes, domain)


INSIDE = """
equations = ["div(k*grad(u)) = -f"]

[shapes]
blob = { spline = { coordinates = ["x", "y"], points = [[0.4, 0], [0, 0.3], [-0.4, 0], [0, -0.3]] } }
spot = { disk = { center = { x = 0.6, y = 0.6 }, radius = 0.2 } }

[domain]
x = [-1, 1]
y = [-1, 1]

[definitions]
k = "if(inside(blob), 10, 1)"
f = "if(inside(spot) and x > 0, 1, 0)"

[[conditions]]
dirichlet = "u"
value = 0
"""


def test_inside_conditions_round_trip() -> None:
    """Materials and sources given by the name of a shape, also of a spline, round trip through text."""
    problem = parse_problem(INSIDE).problem
    materials = subdomain_decomposition(problem)
    assert materials is not None
    assert len(materials) == 3
    parsed = parse_problem(problem_text(problem)).problem
    assert "inside(" in problem_text(problem)
    assert problem_text(parsed) == problem_text(problem)
    X = np.array([[0.0, 0.0], [0.6, 0.6], [0.9, -0.9]])
    other = subdomain_decomposition(parsed)
    assert other is not None
    assert [len(set(m.locate(X).tolist())) for m in (materials, other)] == [3, 3]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("inside(blob)", "inside(blub)", "Did you mean blob"),
        ("inside(blob)", "inside(blob, spot)", "the name of a shape in inside"),
        ("inside(blob)", "blob", "a relation such as"),
        ('f = "if(inside(spot) and x > 0, 1, 0)"', 'f = "inside(spot)"', "a known function"),
    ],
)
def test_invalid_inside_condition_is_reported(old: str, new: str, message: str) -> None:
    with pytest.raises(pibls.ProblemError, match=message):
        parse_problem(INSIDE.replace(old, new))
