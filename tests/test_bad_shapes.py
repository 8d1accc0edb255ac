"""Error messages of invalid shapes and of invalid conditions on shapes."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, cast

import numpy as np
import pytest
import sympy as sp

import pibls
from pibls.errors import ProblemError, ShapeWarning

x, y, z, r, t = sp.symbols("x y z r t")
u = sp.Function("u")(x, y)
XY = (x, y)
SQUARE = pibls.Box({x: (0, 1), y: (0, 1)})
DISK = pibls.Disk(XY, (0.5, 0.5), 0.2)
TRIANGLE = [(0, 0), (1, 0), (0, 1)]
FAR = pibls.Disk(XY, (9, 9), 0.1)
FACE = [(0, 0, 0), (1, 0, 0), (0, 1, 0)]


def problem_on(domain: Any, where: Any) -> pibls.Problem:
    equation = u.diff(x, 2) + u.diff(y, 2)
    return pibls.Problem(domain, [equation], [pibls.Dirichlet(u, 0, on=where), pibls.Dirichlet(u, 1)])


def faces(shape: Any) -> Any:
    return shape.faces


INVALID: dict[str, tuple[Callable[[], Any], str]] = {
    "zero radius": (lambda: pibls.Disk(XY, (0, 0), 0), r"Disk\(radius\): expected a number above 0, got 0"),
    "negative radius": (lambda: pibls.Disk(XY, (0, 0), -1), r"Disk\(radius\).*got -1"),
    "text radius": (lambda: pibls.Disk(XY, (0, 0), "1"), r"Disk\(radius\): expected a real number, got '1'"),
    "three coordinates": (
        lambda: pibls.Disk((x, y, z), (0, 0), 1),
        r"Disk\(coordinates\): expected two coord",
    ),
    "no coordinates": (lambda: pibls.Disk("xy", (0, 0), 1), r"Disk\(coordinates\): expected two coordinates"),
    "same coordinate": (
        lambda: pibls.Disk((x, x), (0, 0), 1),
        r"Disk\(coordinates\).*two coordinates named x",
    ),
    "center of three": (
        lambda: pibls.Disk(XY, (0, 0, 0), 1),
        r"Disk\(center\): expected a number for each of \(x, y\)",
    ),
    "infinite center": (lambda: pibls.Disk(XY, (0, np.inf), 1), r"Disk\(center\): expected a finite number"),
    "positive symbol": (
        lambda: pibls.Disk((sp.Symbol("p", positive=True), y), (0, 0), 1),
        r"Disk\(coordinates\).*declared positive, on \(-1, 1\)",
    ),
    "ball on a line": (lambda: pibls.Ball((x,), (0,), 1), r"Ball\(coordinates\): expected at least 2 coord"),
    "flat ball": (lambda: pibls.Ball((x, y, z), (0, 0, 0), 0), r"Ball\(radius\): expected a number above 0"),
    "flat ellipse": (
        lambda: pibls.Ellipse(XY, (0, 0), (1, 0)),
        r"Ellipse\(radii\): expected a number above 0",
    ),
    "one radius": (
        lambda: pibls.Ellipse(XY, (0, 0), cast(Any, 1)),
        r"Ellipse\(radii\): expected a number for each",
    ),
    "two vertices": (
        lambda: pibls.Polygon(XY, [(0, 0), (1, 0)]),
        r"Polygon\(vertices\): expected at least 3 diff",
    ),
    "repeated vertices": (
        lambda: pibls.Polygon(XY, [(0, 0), (1, 0), (1, 0), (0, 0)]),
        r"Polygon\(vertices\).*at least 3.*got 2",
    ),
    "vertices of three": (
        lambda: pibls.Polygon(XY, [(0, 0, 0)] * 3),
        r"Polygon\(vertices\): expected a list of points",
    ),
    "nan vertex": (
        lambda: pibls.Polygon(XY, [(0, 0), (1, np.nan), (0, 1)]),
        r"Polygon\(vertices\).*finite numbers",
    ),
    "bow tie": (
        lambda: pibls.Polygon(XY, [(0, 0), (1, 1), (1, 0), (0, 1)]),
        r"Polygon\(vertices\): expected an outline that does not intersect.*self-intersection",
    ),
    "line": (
        lambda: pibls.Polygon(XY, [(0, 0), (1, 1), (2, 2), (3, 3.0000000000001)]),
        r"Polygon\(vertices\)",
    ),
    "hole outside": (
        lambda: pibls.Polygon(XY, TRIANGLE, holes=[[(0.5, 0.2), (2, 0.2), (2, 0.3)]]),
        r"Polygon\(holes\[0\]\): expected a hole inside the outline",
    ),
    "touching hole": (
        lambda: pibls.Polygon(XY, TRIANGLE, holes=[[(0, 0), (0.2, 0.1), (0.1, 0.2)]]),
        r"Polygon\(holes\[0\]\).*got a hole that touches the outline",
    ),
    "touching holes": (
        lambda: pibls.Polygon(
            XY, [(0, 0), (9, 0), (0, 9)], holes=[[(1, 1), (2, 1), (1, 2)], [(2, 1), (3, 1), (3, 2)]]
        ),
        r"Polygon\(holes\[1\]\): expected holes that do not touch.*holes\[0\]",
    ),
    "one hole unwrapped": (
        lambda: pibls.Polygon(XY, TRIANGLE, holes=cast(Any, [(0.1, 0.1), (0.2, 0.1), (0.1, 0.2)])),
        r"Polygon\(holes\): expected a list of holes",
    ),
    "spline of two": (
        lambda: pibls.Spline(XY, [(0, 0), (1, 0)]),
        r"Spline\(points\): expected at least 3 diff",
    ),
    "crossing spline": (
        lambda: pibls.Spline(XY, [(0, 0), (1, 1), (1, 0), (0, 1)]),
        r"Spline\(points\).*does not intersect itself",
    ),
    "implicit without bounds": (
        lambda: pibls.Implicit(x**2 - 1, cast(Any, None)),
        r"Implicit\(bounds\): expected \{x: \(low",
    ),
    "implicit on a line": (
        lambda: pibls.Implicit(x**2 - 1, {x: (0, 1)}),
        r"Implicit\(bounds\).*two or three",
    ),
    "implicit text": (
        lambda: pibls.Implicit("x", {x: (0, 1), y: (0, 1)}),
        r"Implicit\(expression\): expected a real",
    ),
    "implicit constant": (
        lambda: pibls.Implicit(sp.Integer(-1), {x: (0, 1), y: (0, 1)}),
        r"Implicit\(expression\).*the constant -1",
    ),
    "implicit parameter": (
        lambda: pibls.Implicit(x - sp.Symbol("a"), {x: (0, 1), y: (0, 1)}),
        r"Implicit\(expression\).*contains a\.",
    ),
    "empty implicit": (
        lambda: faces(pibls.Implicit(x**2 + y**2 + 1, {x: (0, 1), y: (0, 1)})),
        r"which is empty",
    ),
    "implicit squared": (
        lambda: pibls.Implicit((x**2 + y**2 - 1) ** 3, {x: (-2, 2), y: (-2, 2)}).boundary(
            9, np.random.default_rng(0)
        ),
        r"an expression whose gradient is not zero where the expression is zero",
    ),
    "disjoint intersection": (lambda: SQUARE & FAR, r"which is empty"),
    "disjoint within bounds": (
        lambda: faces(pibls.Disk(XY, (0, 0), 1) & pibls.Disk(XY, (1.5, 1.5), 1)),
        r"which is empty",
    ),
    "empty difference": (lambda: faces(DISK - SQUARE), r"which is empty"),
    "difference with itself": (lambda: faces(DISK - DISK), r"which is empty"),
    "other coordinates": (
        lambda: SQUARE - pibls.Disk((x, z), (0, 0), 1),
        r"a - b: expected two shapes with the same coord",
    ),
    "other order": (
        lambda: SQUARE | pibls.Disk((y, x), (0, 0), 1),
        r"a \| b: expected two shapes with the same",
    ),
    "time inside": (
        lambda: SQUARE - DISK.during(t, 0, 1),
        r"a - b: expected shapes without a time coordinate.*which has a time",
    ),
    "moved by a scalar": (
        lambda: DISK.moved(1),
        r"moved\(…\): expected a distance for each of \(x, y\), got 1",
    ),
    "scaled by zero": (lambda: DISK.scaled(0), r"scaled\(factor\): expected a number above 0"),
    "mirrored": (lambda: DISK.scaled((1, -1)), r"scaled\(factor\): expected a number above 0, got -1"),
    "turned line": (
        lambda: pibls.Interval(x, 0, 1).turned(1),
        r"turned\(angle\): expected a shape in two or three",
    ),
    "turned body": (
        lambda: pibls.Ball((x, y, z), (0, 0, 0), 1).turned(1),
        r"turned\(axis\): expected the coordinate",
    ),
    "turned disk": (
        lambda: DISK.turned(1, axis=z),
        r"turned\(axis\): expected none for a shape in the plane",
    ),
    "turn center": (
        lambda: DISK.turned(1, center=cast(Any, 0)),
        r"turned\(center\): expected a number for each",
    ),
    "extruded into itself": (
        lambda: DISK.extruded(x, 0, 1),
        r"extruded\(z\): expected coordinates with different",
    ),
    "extruded downwards": (
        lambda: DISK.extruded(z, 1, 0),
        r"extruded\(low, high\): expected a lower end below",
    ),
    "revolved across the axis": (
        lambda: pibls.Disk((r, z), (0, 0), 1).revolved(x, y),
        r"revolved: profile: expected r >= 0, the distance",
    ),
    "revolved body": (
        lambda: pibls.Ball((x, y, z), (0, 0, 0), 1).revolved(r, t),
        r"revolved: profile: expected a shape",
    ),
    "revolved onto an existing coordinate": (
        lambda: pibls.Disk((x, z), (2, 0), 1).revolved(x, y),
        r"revolved\(x, y\): expected two symbols other",
    ),
    "open solid": (
        lambda: pibls.Solid((x, y, z), [FACE] * 4),
        r"Solid\(triangles\): expected a closed surface.*on one side only",
    ),
    "solid of points": (lambda: pibls.Solid((x, y, z), FACE), r"Solid\(triangles\).*shape \(T, 3, 3\)"),
    "on a foreign shape": (
        lambda: problem_on(SQUARE - DISK, FAR),
        r"Dirichlet\(u\).*a shape that contributes to the boundary",
    ),
    "on a covered shape": (
        lambda: problem_on(SQUARE, pibls.Disk(XY, (5, 5), 1)),
        r"a shape that contributes to the boundary",
    ),
    "on outside": (
        lambda: problem_on(SQUARE - DISK, x > 2),
        r"a relation that holds on some part of the boundary",
    ),
    "point in a hole": (
        lambda: problem_on(SQUARE - DISK, {x: 0.5, y: 0.5}),
        r"expected a point in .*got \{x: 0.5, y: 0.5\}",
    ),
    "periodic disk": (
        lambda: pibls.Problem(DISK, [u.diff(x, 2) + u.diff(y, 2)], [pibls.Periodic(u, x)]),
        r"Periodic\(u, x\): domain: expected an Interval or Box",
    ),
    "class as domain": (
        lambda: pibls.Problem(cast("Any", pibls.Disk), [u.diff(x, 2)], [pibls.Dirichlet(u, 0)]),
        r"domain: expected a shape",
    ),
}


@pytest.mark.parametrize("name", INVALID)
def test_invalid_shape_raises_problem_error(name: str) -> None:
    make, message = INVALID[name]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(ProblemError, match=message):
            make()


def test_operators_reject_other_types() -> None:
    with pytest.raises(TypeError, match="unsupported operand"):
        SQUARE - 1
    with pytest.raises(TypeError, match="unsupported operand"):
        SQUARE | pibls.Disk


@pytest.mark.parametrize(
    "make",
    [
        lambda: faces(SQUARE - FAR),
        lambda: faces(SQUARE | DISK),
        lambda: faces(SQUARE & pibls.Disk(XY, (0.5, 0.5), 5)),
        lambda: faces(SQUARE - DISK - pibls.Disk(XY, (0.5, 0.5), 0.1)),
    ],
)
def test_part_without_effect_warns(make: Callable[[], Any]) -> None:
    with pytest.warns(ShapeWarning, match="has no effect on"):
        make()


def test_everywhere_negative_expression_warns() -> None:
    with pytest.warns(ShapeWarning, match="is the whole box"):
        faces(pibls.Implicit(x**2 + y**2 - 100, {x: (0, 1), y: (0, 1)}))
