"""Output of solutions in cells and time windows, complete or incomplete: plots, animations, tables, files."""

from __future__ import annotations

import itertools
import warnings
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pytest
import sympy as sp

import pibls
from pibls.basis import RandomFourierBasis
from pibls.sampling import computed_domain
from pibls.spaces import CellSpace, CellTree, SingleDomainSpace, TimeWindows

x, y, t = sp.symbols("x y t")


def random_features(box: Any) -> SingleDomainSpace:
    box = np.asarray(box, dtype=float)
    frequencies = np.random.default_rng(0).standard_normal((len(box), 6))
    return SingleDomainSpace((RandomFourierBasis(frequencies, box.mean(axis=1), 0.5 * np.ptp(box, axis=1)),))


def window_solution(domain: Any, until: float, cells: int = 1, **changes: Any) -> pibls.Solution:
    """Return a random function in time windows up to ``until``; the last coordinate is time."""
    u = sp.Function("u")(*domain.coordinates)
    zero = pibls.Problem(domain, [u], [pibls.Initial(u, 0)])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        solution = pibls.solve(zero, basis=pibls.Waves(4, scale=1.0))
    sides = np.array(domain.bounds, dtype=float)
    edges = np.linspace(sides[-1, 0], until, 6)
    parts: list[Any] = []
    for low, high in itertools.pairwise(edges):
        tree = CellTree.grid(np.array([*sides[:-1], (low, high)]), (*(cells,) * (len(sides) - 1), 1))
        bases = tuple(random_features(box) for box in tree.boxes)
        parts.append(bases[0] if cells == 1 else CellSpace(tree, bases))
    space = TimeWindows(len(sides) - 1, tuple(edges.tolist()), tuple(parts))
    coefficients = np.random.default_rng(1).standard_normal(space.columns)
    return replace(solution, space=space, coefficients=coefficients, **changes)


INCOMPLETE: dict[str, Any] = {
    "status": pibls.Status.INCOMPLETE,
    "notes": {"stopped": (0.7, "no window is short enough"), "lost": None},
}
ROD = pibls.Interval(x, 0, 1).during(t, 0, 1)
PLATE = pibls.Box({x: (0, 1), y: (0, 1)}).during(t, 0, 1)


@lru_cache
def incomplete(domain: Any, cells: int = 1) -> pibls.Solution:
    return window_solution(domain, 0.7, cells, **INCOMPLETE)


def test_computed_domain_ends_with_the_solution() -> None:
    assert computed_domain(window_solution(ROD, 1.0)) == ROD
    assert computed_domain(incomplete(ROD)) == pibls.Interval(x, 0, 1).during(t, 0, 0.7)
    line, box = pibls.Interval(t, 0, 1), pibls.Box({x: (0, 1), t: (0, 1)})
    assert computed_domain(replace(incomplete(line))) == pibls.Interval(t, 0, 0.7)
    u = sp.Function("u")(x, t)
    in_box = pibls.Problem(box, [u], [pibls.Dirichlet(u, 0)])
    assert computed_domain(replace(incomplete(ROD), problem=in_box)) == pibls.Box({x: (0, 1), t: (0, 0.7)})


def test_map_ends_with_the_solution() -> None:
    ax = incomplete(ROD, 3).plot()
    assert ax.get_ylim() == pytest.approx((0.0, 0.7))
    plt.close("all")


def test_plot_times_are_within_the_computed_range() -> None:
    axes = incomplete(PLATE).plot(resolution=12)
    assert len(axes) == 4
    assert "0.7" in axes[-1].get_title()
    with pytest.raises(pibls.ProblemError, match=r"between 0 and 0.7.*only defined in the domain"):
        incomplete(PLATE).plot(times=[0.9])
    plt.close("all")


def test_resolution_of_curves_grows_with_the_number_of_windows() -> None:
    line = pibls.Interval(t, 0, 1)
    solution = window_solution(line, 1.0)
    few = len(solution.plot().get_lines()[0].get_xdata())
    edges = np.linspace(0, 1, 401)
    parts = tuple(random_features([(a, b)]) for a, b in itertools.pairwise(edges))
    space = TimeWindows(0, tuple(edges.tolist()), parts)
    many = replace(solution, space=space, coefficients=np.ones(space.columns))
    assert len(many.plot().get_lines()[0].get_xdata()) > 2 * few
    assert np.isfinite(many.plot().get_lines()[0].get_ydata()).all()
    plt.close("all")


def test_animation_of_incomplete_solution(tmp_path: Path) -> None:
    path = incomplete(ROD).animate(tmp_path / "rod.gif", frames=3, dpi=40)
    assert path.stat().st_size > 1000


def test_xarray_of_incomplete_solution() -> None:
    pytest.importorskip("xarray")
    data = incomplete(ROD, 2).to_xarray(x=5, t=8)
    assert float(data["t"].max()) == pytest.approx(0.7)
    assert np.isfinite(data["u"].values).all()
    assert data.attrs["ends_at"] == 0.7
    beyond = incomplete(ROD).to_xarray(x=5, t=[0.5, 0.9])
    assert np.isfinite(beyond["u"].sel(t=0.5)).all()
    assert np.isnan(beyond["u"].sel(t=0.9)).all()


def test_vtk_series_of_incomplete_solution(tmp_path: Path) -> None:
    path = incomplete(PLATE).to_vtk(tmp_path / "plate", x=4, y=4)
    times = [float(part.split('"')[0]) for part in path.read_text().split('timestep="')[1:]]
    assert times[0] == 0.0
    assert times[-1] == pytest.approx(0.7)


def test_csv_of_incomplete_solution(tmp_path: Path) -> None:
    rows = np.loadtxt(incomplete(ROD).to_csv(tmp_path / "rod.csv", x=3, t=5), delimiter=",", skiprows=1)
    assert rows.shape == (15, 3)
    assert np.isfinite(rows).all()


def test_html_states_the_end_time() -> None:
    assert "It ends at 0.7" in incomplete(ROD)._repr_html_()


@pytest.mark.parametrize("outside", [2.0, np.full(3, -1.0)])
def test_values_outside_of_all_windows_are_nan(outside: Any) -> None:
    assert np.isnan(incomplete(ROD, 2)(0.5, outside)).all()
    assert np.isnan(incomplete(ROD)(np.full(2, 0.5), 0.8)).all()


# --- cells ----------------------------------------------------------------------------------------


def rectangles(ax: Any) -> Any:
    (found,) = ax.collections
    return found


def test_windows_with_cells_are_rectangles() -> None:
    solution = incomplete(ROD, 3)
    ax = solution.plot_cells(units={x: "m"})
    collection = rectangles(ax)
    assert len(collection.get_paths()) == 15
    assert collection.get_array() is None
    assert ax.get_ylim() == pytest.approx((0.0, 0.7))
    assert "m" in ax.get_xlabel()
    plt.close("all")


def test_cells_are_coloured_by_their_errors() -> None:
    solution = incomplete(ROD, 3)
    errors = np.logspace(-9, -3, 15)
    coloured = replace(solution, notes={**solution.notes, "cell_errors": errors})
    collection = rectangles(coloured.plot_cells())
    np.testing.assert_allclose(collection.get_array(), errors)
    wrong = replace(solution, notes={**solution.notes, "cell_errors": errors[:4]})
    assert rectangles(wrong.plot_cells()).get_array() is None
    nonfinite = replace(solution, notes={"cell_errors": np.array([np.inf, np.nan, 0.0, *errors[3:]])})
    assert np.isfinite(rectangles(nonfinite.plot_cells()).get_array()).all()
    plt.close("all")


def test_cells_in_three_coordinates_are_drawn_in_a_plane() -> None:
    solution = incomplete(PLATE, 2)
    ax = solution.plot_cells()
    assert len(rectangles(ax).get_paths()) == 4
    assert "0.35" in ax.get_title()
    side = solution.plot_cells(at={y: 0.2})
    assert len(rectangles(side).get_paths()) == 10
    line = solution.plot_cells(at={y: 0.2, x: 0.3})
    assert len(rectangles(line).get_paths()) == 5
    with pytest.raises(pibls.ProblemError, match="at least one free coordinate"):
        solution.plot_cells(at={x: 0, y: 0, t: 0})
    with pytest.raises(pibls.ProblemError, match="cmap"):
        solution.plot_cells(cmap="nothing")
    plt.close("all")


def test_single_domain_is_one_cell() -> None:
    solution = window_solution(ROD, 1.0)
    single = replace(solution, space=random_features(ROD.bounds), coefficients=np.ones(12))
    assert len(rectangles(single.plot_cells()).get_paths()) == 1
    np.testing.assert_array_equal(single.space.cell_boxes(np.array(ROD.bounds)), [ROD.bounds])
    plt.close("all")
