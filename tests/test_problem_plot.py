"""problem.plot(): a figure of the domain and its conditions."""

from __future__ import annotations

from typing import Any

import pytest
import sympy as sp

import pibls

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")

x, y, z, t = sp.symbols("x y z t")
SQUARE = pibls.Box({x: (0, 1), y: (0, 1)})
DISK = pibls.Disk((x, y), (0.5, 0.5), 0.2)
CUBE = pibls.Box({x: (0, 1), y: (0, 1), z: (0, 1)})
DOMAINS: dict[str, Any] = {
    "line": pibls.Interval(x, 0, 1),
    "plate": SQUARE - DISK,
    "plate in time": (SQUARE - DISK).during(t, 0, 1),
    "body": CUBE - pibls.Ball((x, y, z), (1, 1, 1), 0.5),
    "spline": pibls.Spline((x, y), [(1, 0), (0, 1), (-1, 0), (0, -1)]),
}


@pytest.mark.parametrize("name", DOMAINS)
def test_every_condition_is_in_the_legend_once(name: str) -> None:
    domain = DOMAINS[name]
    u = sp.Function("u")(*domain.coordinates)
    equation = sum(u.diff(c, 2) for c in domain.coordinates)
    conditions: list[Any] = [pibls.Dirichlet(u, 0, on=x < 0.3), pibls.Dirichlet(u, 1)]
    if t in domain.coordinates:
        conditions.append(pibls.Initial(u, 0))
    axes = pibls.Problem(domain, [equation], conditions).plot()
    (legend,) = axes.figure.legends
    texts = [text.get_text() for text in legend.get_texts()]
    assert [text.partition(":")[0] for text in texts] == [str(i + 1) for i in range(len(conditions))]
    assert axes.get_xlabel() == "$x$"
    matplotlib.pyplot.close("all")


def test_boundary_without_a_condition_is_dashed() -> None:
    from matplotlib import pyplot

    u = sp.Function("u")(x, y)
    _, axes = pyplot.subplots()
    problem = pibls.Problem(SQUARE - DISK, [u.diff(x, 2) + u.diff(y, 2)], [pibls.Dirichlet(u, 0, on=DISK)])
    assert problem.plot(ax=axes) is axes
    assert sum(line.get_linestyle() == "--" for line in axes.lines) == 4
    pyplot.close("all")


def test_four_dimensions_are_rejected() -> None:
    names = sp.symbols("a b c d")
    u = sp.Function("u")(*names)
    ball = pibls.Ball(names, (0, 0, 0, 0), 1)
    problem = pibls.Problem(ball, [sum(u.diff(c, 2) for c in names)], [pibls.Dirichlet(u, 0)])
    with pytest.raises(pibls.ProblemError, match=r"plot\(\): expected a domain of at most three dimensions"):
        problem.plot()


@pytest.mark.parametrize("region", [x**2 + y**2 < sp.Rational(1, 4), DISK.inside, x < sp.Rational(1, 3)])
def test_interfaces_are_drawn(region: Any) -> None:
    u = sp.Function("u")(x, y)
    k = sp.Piecewise((10, region), (1, True))
    problem = pibls.Problem(SQUARE, [pibls.div(k * pibls.grad(u))], [pibls.Dirichlet(u, 0)])
    axes = problem.plot()
    (legend,) = axes.figure.legends
    assert [text.get_text() for text in legend.get_texts()][1:] == ["where materials or sources change"]
    dotted = [line for line in axes.get_lines() if line.get_linestyle() == ":"]
    assert len(dotted) == 1
