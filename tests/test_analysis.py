"""The analysis of a problem before it is solved, and how it is shown."""

from __future__ import annotations

import json
import pickle
from pathlib import Path

import pytest
import sympy as sp
from typer.testing import CliRunner

import pibls
from pibls.analysis.singular_points import Strength
from pibls.cli.app import app
from pibls.problem.conditions import BaseCondition

x, y, t, k = sp.symbols("x y t k")
u = sp.Function("u")(x, y)
v = sp.Function("v")(x, t)
SQUARE = pibls.Box({x: (0, 1), y: (0, 1)})
L_SHAPE = pibls.Box({x: (-1, 1), y: (-1, 1)}) - pibls.Box({x: (0, 1), y: (-1, 0)})
LAPLACE = u.diff(x, 2) + u.diff(y, 2)
ROD = pibls.Interval(x, 0, 1).during(t, 0, 1)


def poisson(domain: pibls.Domain, *conditions: BaseCondition) -> pibls.Problem:
    return pibls.Problem(domain, [LAPLACE + 1], list(conditions) or [pibls.Dirichlet(u, 0)])


def test_a_problem_is_analysed_once_for_each_value_of_its_parameters() -> None:
    problem = pibls.Problem(SQUARE, [LAPLACE + k], [pibls.Dirichlet(u, 0)], parameters={k: 1.0})
    assert problem.analysis is problem.analysis
    assert problem.at(k=2.0).analysis is not problem.analysis
    assert pickle.loads(pickle.dumps(problem)).analysis.order == 2


def test_corners_of_a_square_are_weak_and_that_of_an_l_shape_is_essential() -> None:
    assert [p.strength for p in poisson(SQUARE).analysis.singular_points] == [Strength.WEAK] * 4
    strongest = max(poisson(L_SHAPE).analysis.singular_points, key=lambda p: p.strength)
    assert (strongest.point, strongest.strength) == ((0.0, 0.0), Strength.ESSENTIAL)
    assert strongest.reason == "corner of 270°"


def test_evolutions_and_redundant_initial_conditions() -> None:
    heat = v.diff(t) - v.diff(x, 2)
    start = pibls.Initial(v, sp.sin(sp.pi * x))
    rod = pibls.Problem(ROD, [heat], [pibls.Dirichlet(v, 0), start])
    evolution = rod.analysis.evolution
    assert evolution is not None
    assert (evolution.start, evolution.stop, evolution.orders) == (0.0, 1.0, (1,))
    rate = pibls.Initial(v.diff(t), -(sp.pi**2) * sp.sin(sp.pi * x))
    more = pibls.Problem(ROD, [heat], [pibls.Dirichlet(v, 0), start, rate])
    assert [r.name for r in more.analysis.redundant_in_time] == ["Initial(v_t)"]


@pytest.mark.parametrize(
    ("problem", "status"),
    [
        (poisson(SQUARE, pibls.Neumann(u, 0)), "NO_SOLUTION"),
        (poisson(SQUARE, pibls.Dirichlet(u, 0, on=sp.Eq(x, 0))), "UNDETERMINED"),
        (
            pibls.Problem(
                ROD, [v.diff(t) + v.diff(x, 2)], [pibls.Dirichlet(v, 0), pibls.Initial(v, x * (1 - x))]
            ),
            "UNSTABLE",
        ),
    ],
    ids=["flux balance", "missing condition", "backward heat equation"],
)
def test_ill_posed_problems_are_named(problem: pibls.Problem, status: str) -> None:
    found = problem.analysis.ill_posedness
    assert found is not None
    assert found.status.name == status
    assert found.status.value in problem.analysis.summary()


def test_summary_has_a_line_for_each_finding() -> None:
    jump = sp.Piecewise((3, (x - 0.5) ** 2 + (y - 0.5) ** 2 < 0.04), (1, True))
    problem = pibls.Problem(SQUARE, [pibls.div(jump * pibls.grad(u)) + 1], [pibls.Dirichlet(u, 0)])
    lines = problem.analysis.summary().splitlines()
    assert [line.split(":")[0] for line in lines] == ["equations", "type", "subdomains", "singular points"]
    assert "linear, order 2" in lines[0]


def test_check_verbose_shows_the_analysis(tmp_path: Path) -> None:
    path = tmp_path / "problem.toml"
    path.write_text(
        'unknowns = ["u"]\nequations = ["laplacian(u) = -1"]\n[domain]\nx = [0, 1]\ny = [0, 1]\n'
        '[[conditions]]\ndirichlet = "u"\nvalue = 0\n'
    )
    plain = CliRunner().invoke(app, ["check", str(path)])
    verbose = CliRunner().invoke(app, ["check", str(path), "--verbose"])
    assert "4 × corner of 90° (weak)" not in plain.output
    assert "4 × corner of 90° (weak)" in verbose.output
    facts = json.loads(CliRunner().invoke(app, ["check", str(path), "--verbose", "--json"]).output)
    assert facts["analysis"]["type"] == "stationary"
