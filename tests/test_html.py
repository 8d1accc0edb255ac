"""HTML representations of problems and solutions in notebooks."""

from __future__ import annotations

import base64
import re
import sys
from collections.abc import Callable
from html import unescape
from html.parser import HTMLParser
from io import BytesIO
from typing import Any
from xml.etree import ElementTree as ET

import numpy as np
import pytest
import sympy as sp

import pibls
from pibls.text.typeset import equation_latex, latex, name_latex, short_latex, short_name
from tests import solved_problems
from tests.solved_problems import COORDINATES, Ball, Ring, t, x, y, z

U = sp.Function("u")
SQUARE = pibls.Box({x: (0, 1), y: (0, 1)})


class TagChecker(HTMLParser):
    """Parser that fails unless all tags are balanced."""

    VOID = ("img", "br")

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[str] = []

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.seen.append(tag)
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: Any) -> None:
        self.seen.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def assert_balanced(html: str) -> str:
    parser = TagChecker()
    parser.feed(html)
    parser.close()
    assert not parser.open
    return html


def formulas_in(html: str) -> list[str]:
    """Return the LaTeX formulas of an HTML text."""
    return [unescape(a or b) for a, b in re.findall(r"\$\$(.+?)\$\$|\$(.+?)\$", html)]


def svg_of(html: str) -> ET.Element:
    """Return the SVG drawing as an XML element."""
    return ET.fromstring(html[html.index("<svg") : html.index("</svg>") + 6])


def labels(html: str) -> list[str]:
    return [e.text or "" for e in svg_of(html).iter() if e.tag.endswith("text")]


def problem_html(domain: Any, *conditions: Any, equation: Any = None) -> str:
    w = U(*domain.coordinates)
    equation = sum(w.diff(c, 2) for c in domain.coordinates) if equation is None else equation
    return assert_balanced(pibls.Problem(domain, [equation], list(conditions))._repr_html_())


# --- typesetting ----------------------------------------------------------------------------------


def test_latex_of_equations() -> None:
    w, T = U(x, y), sp.Function("temperature")(x, y)
    assert latex(w.diff(x, 2)) == r"\frac{\partial^{2} u}{\partial x^{2}}"
    assert latex(U(x).diff(x)) == r"\frac{d u}{d x}"
    assert latex(w.diff(x, y)) == r"\frac{\partial^{2} u}{\partial x \partial y}"
    assert latex(T**2) == r"{\mathrm{temperature}}^{2}"
    assert latex(pibls.dn(w)) == r"\frac{\partial u}{\partial n}"
    assert latex(pibls.dn(w) ** 2) == r"\left(\frac{\partial u}{\partial n}\right)^{2}"
    assert latex((x * w).diff(x, evaluate=False)) == r"\frac{\partial}{\partial x} \left(x u\right)"
    assert equation_latex(sp.Eq(w, sp.sin(w))) == r"u = \sin{\left(u \right)}"
    assert equation_latex(w - 1) == "u - 1 = 0"
    assert [name_latex(n) for n in ("alpha", "u_1", "x2", r"\hat{u}")] == [
        r"\alpha",
        "u_{1}",
        "x_{2}",
        r"\hat{u}",
    ]


def test_short_names() -> None:
    w, T = U(x, y), sp.Function("T_1")(x, y)
    assert short_latex(w.diff(x, y) ** 2) == "u_{xy}^{2}"
    assert short_latex(T.diff(x)) == "{T_{1}}_{x}"
    assert short_name(w * T.diff(x)) == "T_1_x*u"


# --- problems -------------------------------------------------------------------------------------


def test_problem() -> None:
    w = U(x, y)
    html = problem_html(
        SQUARE,
        pibls.Dirichlet(w, sp.sin(y), on=sp.Eq(x, 0)),
        pibls.Neumann(w, 0, on=sp.And(sp.Eq(y, 1), x > 0.5)),
        pibls.Robin(w, 1, 2, 3),
        pibls.Dirichlet(w, 1, on={x: 0.5, y: 0.5}),
    )
    formulas = formulas_in(html)
    assert r"\frac{\partial^{2} u}{\partial x^{2}} + \frac{\partial^{2} u}{\partial y^{2}} = 0" in formulas
    assert r"u = \sin{\left(y \right)}" in formulas
    assert r"\frac{\partial u}{\partial n} = 0" in formulas
    assert r"2 u + 3 \frac{\partial u}{\partial n} = 1" in formulas
    assert "x = 0.5, y = 0.5" in formulas
    assert "Linear problem" in html
    assert "on the rest of the boundary" in html


def test_condition_numbers_are_drawn_where_the_conditions_hold() -> None:
    w = U(x, y)
    html = problem_html(
        SQUARE,
        pibls.Dirichlet(w, 0, on=sp.Eq(x, 0)),
        pibls.Neumann(w, 0, on=sp.And(sp.Eq(y, 1), x > 0.5)),
        pibls.Dirichlet(w, 1),
    )
    svg = svg_of(html)
    size = float(svg.attrib["viewBox"].split()[2])
    positions = {
        e.text: (float(e.attrib["x"]) / size, float(e.attrib["y"]) / size)
        for e in svg.iter()
        if e.attrib.get("font-weight") == "bold"
    }
    assert positions["1"][0] < 0.25  # left
    assert positions["2"][0] > 0.5 > 0.25 > positions["2"][1]  # right half of the top
    assert [e.text for e in svg.iter() if e.attrib.get("font-weight") == "bold"].count("3") == 3
    assert {"x", "y"} <= set(labels(html))


@pytest.mark.parametrize(
    ("domain", "numbers"),
    [
        (pibls.Interval(x, 0, 1), 2),
        (SQUARE, 4),
        (pibls.Box({x: (0, 1), y: (0, 1), z: (0, 1)}), 6),
        (Ring(), 1),
        (Ball(), 1),
        (SQUARE.during(t, 0, 1), 4),
        (Ring().during(t, 0, 1), 1),
    ],
    ids=str,
)
def test_domains_are_drawn(domain: Any, numbers: int) -> None:
    html = problem_html(domain, pibls.Dirichlet(U(*domain.coordinates), 0))
    assert labels(html).count("1") - labels(html)[-9:].count("1") <= numbers
    assert sum(e.attrib.get("font-weight") == "bold" for e in svg_of(html).iter()) == numbers


def test_more_than_three_dimensions_are_not_drawn() -> None:
    html = problem_html(pibls.Box(dict.fromkeys(COORDINATES, (0, 1))), pibls.Dirichlet(U(*COORDINATES), 0))
    assert "<svg" not in html
    assert "0 < x_{5} < 1" in " ".join(formulas_in(html))


def test_initial_and_periodic_conditions() -> None:
    html = assert_balanced(pibls.cases["TC-7"].problem._repr_html_())
    assert r"u\big|_{x = -1} = u\big|_{x = 1}" in formulas_in(html)
    assert "t = 0" in formulas_in(html)
    bold = [e.text for e in svg_of(html).iter() if e.attrib.get("font-weight") == "bold"]
    assert sorted(str(b) for b in bold) == ["1", "1", "2"]


def test_initial_conditions_without_a_time_axis() -> None:
    w = U(x, y, t)
    domain = SQUARE.during(t, 0, 1)
    html = problem_html(domain, pibls.Dirichlet(w, 0), pibls.Initial(w, x), pibls.Initial(w.diff(t), 0))
    assert "t = 0: 2, 3" in labels(html)


def test_initial_conditions_of_an_interval_in_time() -> None:
    bold = [
        e.text
        for e in svg_of(assert_balanced(pibls.cases["TC-10"].problem._repr_html_())).iter()
        if e.attrib.get("font-weight") == "bold"
    ]
    assert bold == ["1, 2"]


def test_hole_is_not_filled() -> None:
    svg = svg_of(problem_html(Ring(), pibls.Dirichlet(U(x, y), 0)))
    blocks = [e.attrib for e in svg.iter() if e.tag.endswith("rect")]
    area = sum(float(b["width"]) * float(b["height"]) for b in blocks)
    side = 150.0
    assert area / side**2 == pytest.approx(np.pi * (1 - 0.4**2) / 4, rel=0.03)


def test_box_is_one_rectangle() -> None:
    svg = svg_of(problem_html(SQUARE, pibls.Dirichlet(U(x, y), 0)))
    assert sum(e.tag.endswith("rect") for e in svg.iter()) == 1


def test_python_functions_are_shown_by_name() -> None:
    def inflow(a: Any, b: Any) -> Any:
        return a + b

    html = problem_html(SQUARE, pibls.Dirichlet(U(x, y), inflow))
    assert r"u = \mathrm{inflow}\left(x, y\right)" in formulas_in(html)


def test_names_are_escaped() -> None:
    markup = sp.Symbol("<script>alert(1)</script>&")
    w = sp.Function('u"><img src=x onerror=alert(1)>')(markup)
    problem = pibls.Problem(
        pibls.Interval(markup, 0, 1), [w.diff(markup) - 1], [pibls.Dirichlet(w, 0, on={markup: 0})]
    )
    for html in (problem._repr_html_(), solved_problems.solve_with_features(problem, 20)._repr_html_()):
        parser = TagChecker()
        parser.feed(assert_balanced(html))
        assert "script" not in parser.seen
        assert "onerror=alert(1)>" not in html


# --- solutions ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "make",
    [
        solved_problems.line,
        solved_problems.plane,
        solved_problems.ring,
        solved_problems.plane_in_time,
        solved_problems.cuboid,
        solved_problems.rotation_and_pressure,
    ],
)
def test_solution_with_a_plot(make: Callable[[], pibls.Solution]) -> None:
    pytest.importorskip("matplotlib", reason="plots need matplotlib: pip install 'pibls[plot]'")
    from matplotlib import image, pyplot

    solution = make()
    before = pyplot.get_fignums()
    html = assert_balanced(solution._repr_html_())
    data = re.search(r"data:image/png;base64,([A-Za-z0-9+/=]+)", html)
    assert data is not None
    pixels = image.imread(BytesIO(base64.b64decode(data[1])))
    assert pixels[..., :3].std() > 0.05  # not blank
    assert pyplot.get_fignums() == before
    assert solution.status.value.split(":")[0] in unescape(html)
    for name in solution.residuals:
        assert f"residual of {name}" in unescape(html)


def test_solution_without_matplotlib(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [m for m in sys.modules if m.partition(".")[0] == "matplotlib"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    html = assert_balanced(solved_problems.plane()._repr_html_())
    assert "<img" not in html
    assert "estimated error" in html


def test_display_does_not_compute_the_error_estimate() -> None:
    problem = pibls.Problem(pibls.Interval(x, 0, 1), [U(x) - 1], [pibls.Dirichlet(U(x), 1)])
    solution = solved_problems.solve_with_features(problem, 20)
    assert "not estimated yet" in solution._repr_html_()
    assert "error" not in solution.__dict__
    size = solution.error.max
    assert f"max {size:.1e}" in solution._repr_html_()


def test_automatic_solution_shows_its_error() -> None:
    solution = pibls.solve(pibls.cases["TC-2"].problem)
    assert f"max {solution.error.max:.1e}" in solution._repr_html_()
