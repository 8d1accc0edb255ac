"""The style sheet of the figures, labels that do not overlap, and the panels of ODE systems."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from itertools import combinations
from typing import Any

import numpy as np
import pytest
import sympy as sp

import pibls

matplotlib = pytest.importorskip("matplotlib", reason="plots need matplotlib: pip install 'pibls[plot]'")
matplotlib.use("Agg")
from matplotlib import pyplot as plt  # noqa: E402

from pibls.plot import style  # noqa: E402
from pibls.plot.curves import are_comparable  # noqa: E402
from pibls.plot.style_sheet import COLOURS, style_context  # noqa: E402

x, y, z, t = sp.symbols("x y z t")
k = sp.Symbol("k")


@pytest.fixture(autouse=True)
def _unchanged_settings() -> Iterator[None]:
    before = dict(matplotlib.rcParams)
    yield
    assert dict(matplotlib.rcParams) == before
    plt.close("all")


def laplace(domain: Any, *conditions: Any) -> pibls.Problem:
    """Return Δu = 0; conditions are pairs of a class and its arguments after u."""
    u = sp.Function("u")(*domain.coordinates)
    equation = sum(u.diff(c, 2) for c in domain.coordinates)
    return pibls.Problem(domain, [equation], [kind(u, value, **on) for kind, value, on in conditions])


D, N = pibls.Dirichlet, pibls.Neumann
PLATE = pibls.Box({x: (0, 0.02), y: (0, 0.01)})
SQUARE = pibls.Box({x: (0, 1), y: (0, 1)})
HOLE = pibls.Disk((x, y), (0.5, 0.5), 0.01)
NEAR_HOLE = (x - 0.5) ** 2 + (y - 0.5) ** 2 < 0.01
LONG = 300 + 50 * sp.sin(sp.pi * x) * sp.exp(-(x**2)) + sp.cos(3 * sp.pi * x) * sp.sqrt(1 + x**2) + sp.tanh(x)
FOUR = [
    (D, 300, {"on": sp.Eq(x, 0)}),
    (D, 350, {"on": sp.Eq(x, 0.02)}),
    (N, 0, {"on": sp.Eq(y, 0)}),
    (N, -5, {"on": sp.Eq(y, 0.01)}),
]
PROBLEMS: dict[str, pibls.Problem] = {
    "small plate": laplace(PLATE, *FOUR),
    "small interval": laplace(
        pibls.Interval(x, 0, 0.02), (D, 0, {"on": sp.Eq(x, 0)}), (N, 1, {"on": sp.Eq(x, 0.02)})
    ),
    "interval far from zero": laplace(pibls.Interval(x, 1000, 1000.02), (D, 0, {})),
    "small hole": laplace(
        SQUARE - HOLE, (D, 1, {"on": NEAR_HOLE & (x < 0.5)}), (D, 2, {"on": NEAR_HOLE}), (N, 0, {})
    ),
    "many conditions": laplace(
        SQUARE,
        *((D, i, {"on": sp.Eq(y, 0) & (x >= i / 14) & (x < (i + 1) / 14)}) for i in range(14)),
        (N, 0, {}),
    ),
    "long condition": laplace(
        SQUARE, (D, LONG, {"on": sp.Eq(x, 0) | ((y < 0.123456789) & (x > 0.1))}), (N, 0, {})
    ),
    "wide": laplace(pibls.Box({x: (0, 0.1), y: (0, 0.002)}), (D, 300, {"on": sp.Eq(x, 0)}), (N, 0, {})),
    "tall": laplace(pibls.Box({x: (0, 0.002), y: (0, 0.1)}), (D, 300, {"on": sp.Eq(y, 0)}), (N, 0, {})),
    "small body": laplace(
        pibls.Box({x: (0, 0.02), y: (0, 0.01), z: (0, 0.005)}), (D, 300, {"on": sp.Eq(z, 0)}), (N, 0, {})
    ),
}


def visible_texts(axes: Any, legends: list[Any]) -> list[Any]:
    """Return the tick labels, axis labels, annotations and legend entries of a figure that was drawn."""
    texts = [*axes.texts, *(text for legend in legends for text in legend.get_texts())]
    for axis in axes._axis_map.values():
        low, high = sorted(axis.get_view_interval())
        shown = [tick for tick in axis.get_major_ticks() if low <= tick.get_loc() <= high]
        texts += [axis.label, axis.get_offset_text(), *(tick.label1 for tick in shown)]
    return [text for text in texts if text.get_text() and text.get_visible()]


def extent(text: Any) -> Any:
    """Return the bounding box of a text, without the line of an annotation."""
    return matplotlib.text.Text.get_window_extent(text)


def overlapping(texts: list[Any]) -> list[tuple[str, str]]:
    # Rows of a legend may touch, so boxes are reduced by a pixel.
    boxes = [(text.get_text(), extent(text).padded(-1.0)) for text in texts]
    return [(s, r) for (s, a), (r, b) in combinations(boxes, 2) if a.overlaps(b)]


@pytest.mark.parametrize("name", PROBLEMS)
def test_labels_of_a_problem_do_not_overlap(name: str) -> None:
    axes = PROBLEMS[name].plot()
    figure = axes.figure
    figure.canvas.draw()
    texts = visible_texts(axes, figure.legends)
    assert overlapping(texts) == []
    for text in texts:
        box = extent(text)
        assert box.x0 >= 0, text.get_text()
        assert box.x1 <= figure.bbox.width, text.get_text()
        assert box.y0 >= 0, text.get_text()
        assert box.y1 <= figure.bbox.height, text.get_text()


@pytest.mark.parametrize("layout", [None, "constrained"])
def test_labels_on_given_axes_do_not_overlap(layout: Any) -> None:
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 4), layout=layout)
    PROBLEMS["small plate"].plot(ax=left)
    PROBLEMS["small hole"].plot(ax=right)
    figure.canvas.draw()
    texts = [text for ax in (left, right) for text in visible_texts(ax, [ax.get_legend()])]
    assert overlapping(texts) == []
    assert min(extent(text).y0 for text in texts) >= 0


def test_every_condition_is_numbered_in_the_plot() -> None:
    for name in ("small plate", "small interval", "many conditions"):
        problem = PROBLEMS[name]
        numbers = {text.get_text() for text in problem.plot().texts}
        assert numbers == {str(i + 1) for i in range(len(problem.conditions))}
    assert {text.get_text() for text in PROBLEMS["small hole"].plot().texts} == {"1, 2", "2", "3"}


def test_legend_has_short_numbers() -> None:
    (legend,) = PROBLEMS["small plate"].plot().figure.legends
    assert [text.get_text() for text in legend.get_texts()] == [
        "1: $u = 300$, on the boundary where $x = 0$",
        "2: $u = 350$, on the boundary where $x = 0.02$",
        r"3: $\partial_n u = 0$, on the boundary where $y = 0$",
        r"4: $\partial_n u = -5$, on the boundary where $y = 0.01$",
    ]


# --- systems of ordinary differential equations ---------------------------------------------------


def system(frequency: float, unknown: str = "v") -> pibls.Solution:
    """Return u = cos ω t, v = u' = -ω sin ω t."""
    u, v = sp.Function("u")(t), sp.Function(unknown)(t)
    equations = [u.diff(t) - v, v.diff(t) + frequency**2 * u]
    problem = pibls.Problem(
        pibls.Interval(t, 0, 6 / frequency), equations, [pibls.Initial(u, 1), pibls.Initial(v, 0)]
    )
    return pibls.solve(problem, tol=1e-5)


def test_comparable_unknowns_share_one_axes() -> None:
    solution = system(1.5)
    ax = solution.plot()
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["$u$", "$v$"]
    assert ax.get_ylabel() == "$u$, $v$"
    for line, name in zip(ax.get_lines(), "uv", strict=True):
        np.testing.assert_array_equal(line.get_ydata(), solution[name](line.get_xdata()))
    assert len(ax.figure.axes) == 1
    assert [line.get_color() for line in ax.get_lines()] == list(COLOURS[:2])
    assert solution.plot(units={"u": "m", "v": "m"}).get_ylabel() == "$u$, $v$ (m)"
    assert len(solution.plot(band=True).get_legend().get_texts()) == 3


def test_unknowns_of_unlike_size_or_unit_have_separate_axes() -> None:
    assert len(system(50.0).plot()) == 2
    solution = system(1.5)
    assert len(solution.plot(units={"u": "m", "v": "m/s"})) == 2
    assert len(solution.plot("u", "v")) == 2
    _, given = plt.subplots(1, 2)
    assert solution.plot(ax=given) is given
    _, one = plt.subplots()
    assert solution.plot(ax=one) is one
    assert len(one.get_lines()) == 2


def test_comparable_curves() -> None:
    s = np.linspace(0, 1, 11)
    assert are_comparable([s, -2 * s, 0 * s, np.ones(11)])
    assert not are_comparable([s, 1e-3 * s])
    assert not are_comparable([s, np.full(11, 1e-3)])
    assert not are_comparable([s, np.full(11, 300.0)])
    assert not are_comparable([s, np.full(11, np.nan)])
    assert are_comparable([300 + s, 301 + s])


# --- the style sheet ------------------------------------------------------------------------------


def test_style_sheet_is_accepted_by_matplotlib() -> None:
    with plt.style.context(style):
        assert matplotlib.rcParams["axes.prop_cycle"].by_key()["color"] == list(COLOURS)
        assert not matplotlib.rcParams["axes.spines.top"]


def test_settings_of_the_user_take_precedence() -> None:
    with plt.rc_context({"font.size": 17.0, "lines.linewidth": 4.0}), style_context():
        assert matplotlib.rcParams["font.size"] == 17.0
        assert matplotlib.rcParams["lines.linewidth"] == 4.0
        assert matplotlib.rcParams["legend.frameon"] is False


def test_all_figures_are_drawn_in_the_style(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    solution = system(1.5)
    u = solution.problem.unknowns[0]
    data = pibls.Data(u, {t: [0.5, 1.0, 2.0]}, np.cos(1.5 * np.array([0.5, 1.0, 2.0])), sigma=0.1)
    problem = pibls.Problem(
        pibls.Interval(t, 0, 4), [u.diff(t, 2) + k * u], [pibls.Initial(u, 1), pibls.Initial(u.diff(t), 0)],
        parameters={k: 2.0},
    )  # fmt: skip
    found = pibls.fit(problem, data, {k: (1, 4)})
    monkeypatch.setitem(style, "axes.labelsize", 13.0)
    monkeypatch.setitem(style, "xtick.labelsize", 7.0)
    figures = [
        solution.plot().figure,
        solution.plot_residual()[0].figure,
        solution.plot_error({"u": sp.cos(1.5 * t)}).figure,
        solution.plot_cells().figure,
        PROBLEMS["small plate"].plot().figure,
        found.plot(),
    ]
    for figure in figures:
        figure.canvas.draw()
        axis = figure.axes[0].xaxis
        assert axis.label.get_fontsize() == 13.0
        assert {tick.label1.get_fontsize() for tick in axis.get_major_ticks()} == {7.0}


def test_a_fit_shows_data_curve_and_band() -> None:
    u, times = sp.Function("u")(t), np.linspace(0.1, 2, 12)
    problem = pibls.Problem(
        pibls.Interval(t, 0, 2), [u.diff(t) + k * u], [pibls.Initial(u, 1)], parameters={k: 1.0}
    )
    noise = 0.02 * np.random.default_rng(0).normal(size=12)
    found = pibls.fit(problem, pibls.Data(u, {t: times}, np.exp(-times) + noise, sigma=0.02), {k: (0, 3)})
    figure = found.plot(level=0.9)
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["data", "fit", "90 % band"]
    curve, points = figure.axes[0].get_lines()
    assert len(points.get_xdata()) == 12
    assert points.get_markersize() >= 4
    assert points.get_markeredgecolor() != curve.get_color()
    assert points.get_zorder() > curve.get_zorder()
    assert len(figure.axes[0].collections) == 1
    _, ax = plt.subplots()
    found.plot(ax=ax)
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["data", "fit", "95 % band"]


def test_matplotlib_is_imported_when_a_figure_is_drawn() -> None:
    code = (
        "import sys, pibls.plot, pibls.notebook.problem_plot, pibls.inverse.fit_plot; "
        "assert pibls.plot.style['axes.grid']; sys.exit('matplotlib' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
