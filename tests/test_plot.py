"""solution.plot(): panels, axis labels and drawn values of every kind of plot."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sympy as sp

import pibls
from pibls.errors import MissingPackageError
from tests import solved_problems
from tests.solved_problems import COORDINATES, Ring, t, x, y, z

matplotlib = pytest.importorskip("matplotlib", reason="pictures need matplotlib: pip install 'pibls[plot]'")
matplotlib.use("Agg")
from matplotlib import pyplot as plt  # noqa: E402
from matplotlib.collections import LineCollection, TriMesh  # noqa: E402
from matplotlib.figure import Figure  # noqa: E402
from matplotlib.quiver import Quiver  # noqa: E402

u = sp.Function("u")


@pytest.fixture(autouse=True)
def _unchanged_settings() -> Iterator[None]:
    plt.close("all")
    before = dict(matplotlib.rcParams)
    yield
    assert dict(matplotlib.rcParams) == before  # plotting does not change the user's settings
    plt.close("all")


def mesh_of(ax: Any) -> Any:
    """Return the only coloured mesh of an Axes."""
    (mesh,) = (c for c in ax.collections if isinstance(c, TriMesh))
    return mesh


def mesh_values(ax: Any) -> tuple[Any, Any]:
    """Return the points of a map and the values there."""
    mesh = mesh_of(ax)
    return np.column_stack([mesh._triangulation.x, mesh._triangulation.y]), mesh.get_array()


def arrows_of(ax: Any) -> Any:
    """Return the only set of arrows of an Axes."""
    (arrows,) = (c for c in ax.collections if isinstance(c, Quiver))
    return arrows


def rendered(ax: Any) -> Any:
    """Render the figure, as saving it would, and return the Axes."""
    np.ravel(np.asarray(ax, dtype=object))[0].get_figure().canvas.draw()
    return ax


# --- one coordinate -------------------------------------------------------------------------------


def test_curve_shows_the_solution() -> None:
    solution = solved_problems.line()
    ax = rendered(solution.plot())
    (curve,) = ax.get_lines()
    np.testing.assert_array_equal(curve.get_ydata(), solution(curve.get_xdata()))
    assert (ax.get_xlabel(), ax.get_ylabel(), ax.get_xlim()) == ("$x$", "$u$", (0.0, 2.0))


def test_band_of_the_estimated_error() -> None:
    solution = solved_problems.line()
    ax = rendered(solution.plot(band=True))
    (band,) = ax.collections
    top = band.get_paths()[0].vertices[:, 1].max()
    assert top == pytest.approx(1.0 + solution.error.max, rel=1e-9)
    assert f"{solution.error.max:.1e}" in ax.get_legend().get_texts()[0].get_text()
    with pytest.raises(pibls.ProblemError, match="band: expected unknowns of the problem"):
        solution.plot(u(x).diff(x), band=True)


def test_labels_with_units() -> None:
    T, theta = sp.Function("temperature"), sp.Symbol("theta")
    problem = pibls.Problem(pibls.Interval(theta, 0, 1), [T(theta) - 1], [pibls.Dirichlet(T(theta), 1)])
    ax = rendered(solved_problems.solve_with_features(problem).plot(units={theta: "rad", T(theta): "K"}))
    assert ax.get_xlabel() == r"$\theta$ (rad)"
    assert ax.get_ylabel() == r"$\mathrm{temperature}$ (K)"
    assert (
        rendered(solved_problems.solve_with_features(problem).plot(units={"temperature": "K"}))
        .get_ylabel()
        .endswith("(K)")
    )
    with pytest.raises(pibls.ProblemError, match="units: expected coordinates and unknowns"):
        solved_problems.line().plot(units={"z": "m"})


def test_curve_along_a_line_of_the_plane() -> None:
    ax = rendered(solved_problems.plane().plot(at={y: 0.5}))
    (curve,) = ax.get_lines()
    np.testing.assert_array_equal(curve.get_ydata(), solved_problems.plane()(curve.get_xdata(), 0.5))
    assert ax.get_title() == "$y = 0.5$"


def test_line_through_a_hole_is_interrupted() -> None:
    (curve,) = rendered(solved_problems.ring().plot(at={"y": 0})).get_lines()
    inside = np.abs(curve.get_xdata()) >= 0.4
    assert np.array_equal(np.isfinite(curve.get_ydata()), inside)


# --- two coordinates ------------------------------------------------------------------------------


def test_map_shows_the_solution() -> None:
    solution = solved_problems.plane()
    ax = rendered(solution.plot())
    P, values = mesh_values(ax)
    np.testing.assert_array_equal(values, solution(*P.T))
    assert ax.get_aspect() == 1.0
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("$x$", "$y$")
    bar = ax.get_figure().axes[1]
    assert bar.get_ylabel() == "$u$"
    assert mesh_of(ax).get_cmap().name == "RdBu_r"
    assert mesh_of(ax).get_clim() == pytest.approx((-np.abs(values).max(), np.abs(values).max()))


def test_scale_of_given_axes_is_kept() -> None:
    figure = Figure()
    ax = figure.add_subplot()
    ax.set_yscale("log")
    assert solved_problems.line().plot(ax=ax) is ax
    assert ax.get_yscale() == "log"
    figure.canvas.draw()


def test_limits_of_a_nearly_constant_curve() -> None:
    solution = solved_problems.plane()
    u = solution.problem.unknowns[0]
    ax = rendered(solution.plot(3 + 1e-14 * u, at={"y": 0.5}))
    assert ax.get_ylim() == pytest.approx((2.7, 3.3))


def test_many_snapshots_have_a_colour_bar() -> None:
    ax = rendered(solved_problems.line_in_time().plot(kind="snapshots", times=20))
    assert len(ax.get_lines()) == 20
    assert ax.get_legend() is None
    assert ax.get_figure().axes[1].get_ylabel() == "$t$"


def test_colour_bar_of_a_wide_map_is_below() -> None:
    u = sp.Function("u")(x, y)
    wide = pibls.Problem(pibls.Box({x: (0, 10), y: (0, 1)}), [u - x * y], [pibls.Dirichlet(u, x * y)])
    ax = rendered(pibls.solve(wide, tol=1e-4).plot())
    bar = ax.get_figure().axes[1]
    assert bar.get_xlabel() == "$u$"
    assert bar.get_position().y1 < ax.get_position().y0


def test_unknown_colour_map_is_reported() -> None:
    with pytest.raises(pibls.ProblemError, match=r"cmap: expected .* got 'viridus'\. Did you mean viridis"):
        solved_problems.plane().plot(cmap="viridus")


def test_plot_error_requires_an_exact_solution() -> None:
    with pytest.raises(pibls.ProblemError, match=r"plot_error\(exact\): expected the exact solution"):
        solved_problems.plane().plot_error()


def test_colour_range_of_values_of_one_sign() -> None:
    solution = solved_problems.plane()
    u = solution.problem.unknowns[0]
    for one_sided in (u**2, u + 0.3):  # from -0.11 to 1.3: the negative part is small
        ax = rendered(solution.plot(one_sided))
        _, values = mesh_values(ax)
        assert mesh_of(ax).get_cmap().name == "viridis"
        assert mesh_of(ax).get_clim() == pytest.approx((values.min(), values.max()))
    assert mesh_of(rendered(solution.plot(x - 1, cmap="viridis"))).get_cmap().name == "viridis"


def test_hole_stays_empty() -> None:
    ax = rendered(solved_problems.ring().plot())
    P, _ = mesh_values(ax)
    corners = P[mesh_of(ax)._triangulation.triangles]
    r = np.hypot(*P.T)
    assert r.min() >= 0.4 - 1e-8
    assert r.max() <= 1 + 1e-8
    a, b = corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]
    area = 0.5 * np.abs(a[:, 0] * b[:, 1] - a[:, 1] * b[:, 0]).sum()
    assert area == pytest.approx(np.pi * (1 - 0.4**2), rel=1e-3)
    (boundary,) = (c for c in ax.collections if isinstance(c, LineCollection))
    ends = np.concatenate([path.vertices for path in boundary.get_paths()])
    distance = np.minimum(np.abs(np.hypot(*ends.T) - 0.4), np.abs(np.hypot(*ends.T) - 1))
    assert distance.max() < 1e-8


def test_hole_is_white_in_the_image() -> None:
    ax = solved_problems.ring().plot(colorbar=False)
    figure = ax.get_figure()
    figure.canvas.draw()
    image = np.asarray(figure.canvas.buffer_rgba())

    def pixel(a: float, b: float) -> Any:
        column, row = ax.transData.transform((a, b))
        return image[image.shape[0] - 1 - int(row), int(column), :3]

    for point in ((0, 0), (0.2, 0.2), (0.95, 0.95)):
        assert pixel(*point).min() == 255
    for point in ((0.7, 0), (0, -0.8)):
        assert pixel(*point).min() < 200


def test_space_time_map_has_no_equal_aspect() -> None:
    ax = rendered(solved_problems.line_in_time().plot())
    P, values = mesh_values(ax)
    np.testing.assert_array_equal(values, solved_problems.line_in_time()(*P.T))
    assert (ax.get_xlabel(), ax.get_ylabel(), ax.get_aspect()) == ("$x$", "$t$", "auto")


def test_slender_domain_is_not_drawn_to_scale() -> None:
    solution = solved_problems.solve_for_exact(pibls.Box({x: (0, 100), y: (0, 1)}), y, nodes=20)
    assert rendered(solution.plot(resolution=21)).get_aspect() == "auto"


@pytest.mark.parametrize("make", [solved_problems.plane, solved_problems.line_in_time, solved_problems.ring])
def test_surface(make: Any) -> None:
    ax = rendered(make().plot(kind="surface", resolution=31))
    assert ax.name == "3d"
    assert ax.get_zlabel() == "$u$"
    (surface,) = ax.collections
    # The corners are private in Matplotlib: before 3.11 they are columns of homogeneous coordinates.
    faces = getattr(surface, "_faces", None)
    corners = surface._vec[:3].T if faces is None else np.concatenate([np.asarray(f) for f in faces])
    np.testing.assert_allclose(corners[:, 2], make()(corners[:, 0], corners[:, 1]), atol=1e-12)


def test_snapshots() -> None:
    ax = rendered(solved_problems.line_in_time().plot(kind="snapshots", times=[0, 0.5, 1]))
    curves = ax.get_lines()
    assert [c.get_label() for c in curves] == ["$t = 0$", "$t = 0.5$", "$t = 1$"]
    for curve, time in zip(curves, (0, 0.5, 1), strict=True):
        np.testing.assert_array_equal(
            curve.get_ydata(), solved_problems.line_in_time()(curve.get_xdata(), time)
        )
    assert len(rendered(solved_problems.line_in_time().plot(kind="snapshots")).get_lines()) == 5


def test_contour_lines_and_colour_map() -> None:
    plain, lined = solved_problems.plane().plot(), solved_problems.plane().plot(levels=5, cmap="cividis")
    assert len(lined.collections) == len(plain.collections) + 1
    assert mesh_of(lined).get_cmap().name == "cividis"


def test_constant_has_one_colour() -> None:
    solution = solved_problems.solve_for_exact(pibls.Box({x: (0, 1), y: (0, 1)}), sp.Integer(3), nodes=120)
    low, high = mesh_of(solution.plot(resolution=11)).get_clim()
    assert (low, high) == pytest.approx((2.7, 3.3))


# --- more coordinates -----------------------------------------------------------------------------


def test_frames_share_one_colour_range() -> None:
    solution = solved_problems.plane_in_time()
    axes = rendered(solution.plot(resolution=21))
    assert [ax.get_title() for ax in axes] == ["$t = 0$", "$t = 0.333$", "$t = 0.667$", "$t = 1$"]
    assert len({mesh_of(ax).get_clim() for ax in axes}) == 1
    for ax, time in zip(axes, np.linspace(0, 1, 4), strict=True):
        P, values = mesh_values(ax)
        np.testing.assert_array_equal(values, solution(*P.T, time))
        assert ax.get_aspect() == 1.0
    assert len(axes[0].get_figure().axes) == 5  # one colour bar for all


def test_one_time_is_one_map() -> None:
    ax = rendered(solved_problems.plane_in_time().plot(at={t: 0.5}, resolution=21))
    P, values = mesh_values(ax)
    np.testing.assert_array_equal(values, solved_problems.plane_in_time()(*P.T, 0.5))


def test_frames_of_several_quantities() -> None:
    w = u(x, y, t)
    axes = rendered(solved_problems.plane_in_time().plot(w, w.diff(x), times=3, resolution=21))
    assert len(axes) == 6
    P, values = mesh_values(axes[3])
    np.testing.assert_array_equal(values, solved_problems.plane_in_time().evaluate(w.diff(x), *P.T, 0.0))
    assert [bar.get_ylabel() for bar in axes[0].get_figure().axes[6:]] == ["$u$", "$u_{x}$"]


def test_slices_of_a_body() -> None:
    axes = rendered(solved_problems.cuboid().plot(resolution=21))
    assert [ax.get_title() for ax in axes] == ["$z = 1.5$", "$y = 1$", "$x = 0.5$"]
    assert [(ax.get_xlabel(), ax.get_ylabel()) for ax in axes] == [
        ("$x$", "$y$"),
        ("$x$", "$z$"),
        ("$y$", "$z$"),
    ]
    P, values = mesh_values(axes[1])
    np.testing.assert_array_equal(values, solved_problems.cuboid()(P[:, 0], 1.0, P[:, 1]))


def test_slices_of_a_body_in_time_show_the_final_time() -> None:
    axes = rendered(solved_problems.cube_in_time().plot(resolution=21))
    assert [ax.get_title() for ax in axes] == [
        "$z = 0.5$, $t = 1$",
        "$y = 0.5$, $t = 1$",
        "$x = 0.5$, $t = 1$",
    ]
    assert len(solved_problems.cube_in_time().plot(times=[0, 1], resolution=11)) == 6


@pytest.mark.parametrize(("d", "panels"), [(4, 6), (5, 10)])
def test_slices_in_many_dimensions(d: int, panels: int) -> None:
    axes = rendered(solved_problems.unit_box(d).plot(resolution=11))
    assert len(axes) == panels
    P, values = mesh_values(axes[0])
    np.testing.assert_array_equal(values, solved_problems.unit_box(d)(*P.T, *([0.5] * (d - 2))))
    assert "x_{3} = 0.5" in axes[0].get_title()
    assert (
        solved_problems.unit_box(d).plot(at=dict.fromkeys(COORDINATES[2:d], 0.1), resolution=11).get_xlabel()
        == "$x_{1}$"
    )


# --- several unknowns, vectors --------------------------------------------------------------------


def test_a_panel_for_each_unknown() -> None:
    solution = solved_problems.rotation_and_pressure()
    axes = rendered(solution.plot(resolution=21))
    names = [bar.get_ylabel() for bar in axes[0].get_figure().axes[3:]]
    assert sorted(names) == ["$p$", "$u$", "$v$"]
    for ax, name in zip(axes, names, strict=True):
        P, values = mesh_values(ax)
        np.testing.assert_array_equal(values, solution[name.strip("$")](*P.T))
    assert len(solution.plot("u", "v", resolution=11)) == 2


def test_arrows() -> None:
    axes = rendered(
        solved_problems.rotation_and_pressure().plot(vector=("u", "v"), resolution=21, units={"u": "m/s"})
    )
    arrows = arrows_of(axes)
    X, Y = arrows.get_offsets().T
    np.testing.assert_allclose(arrows.U, -Y, atol=1e-6)
    np.testing.assert_allclose(arrows.V, X, atol=1e-6)
    P, size = mesh_values(axes)
    np.testing.assert_allclose(size, np.hypot(*P.T), atol=1e-6)
    assert axes.get_figure().axes[1].get_ylabel() == "$|(u, v)|$ (m/s)"


def test_no_arrows_in_a_hole() -> None:
    w = u(x, y)
    ax = rendered(solved_problems.ring().plot(vector=(w.diff(x), w.diff(y)), resolution=21))
    assert np.hypot(*arrows_of(ax).get_offsets().T).min() > 0.4


@pytest.mark.parametrize("make", [solved_problems.plane, solved_problems.ring])
def test_stream_lines(make: Any) -> None:
    w = u(x, y)
    ax = rendered(make().plot(vector=(w.diff(x), w.diff(y)), kind="stream", resolution=21))
    streams = max(
        (c for c in ax.collections if isinstance(c, LineCollection)), key=lambda c: len(c.get_paths())
    )
    points = np.concatenate([p.vertices for p in streams.get_paths()])
    assert len(points) > 50
    if make is solved_problems.ring:
        assert np.hypot(*points.T).min() > 0.3  # within a cell of the hole


def test_arrows_in_time() -> None:
    w = u(x, y, t)
    axes = rendered(solved_problems.plane_in_time().plot(vector=(w, w.diff(x)), times=2, resolution=11))
    assert len(axes) == 2
    assert (
        len(rendered(solved_problems.cuboid().plot(vector=("u", "u"), at={z: 1}, resolution=11)).collections)
        == 2
    )


# --- axes -----------------------------------------------------------------------------------------


def test_given_axes_are_used_and_returned() -> None:
    figure = Figure()
    ax = figure.add_subplot()
    assert solved_problems.plane().plot(ax=ax, resolution=11) is ax
    row = Figure().subplots(1, 3)
    assert solved_problems.rotation_and_pressure().plot(ax=row, resolution=11) is row
    assert not plt.get_fignums()  # nothing is registered with pyplot
    assert solved_problems.plane().plot(ax=[ax], resolution=11) == [ax]


def test_new_figure_is_known_to_pyplot() -> None:
    ax = solved_problems.line().plot()
    assert plt.get_fignums() == [ax.get_figure().number]


def test_vector_graphics_contain_the_map_as_an_image(tmp_path: Path) -> None:
    ax = solved_problems.plane().plot()
    ax.get_figure().savefig(tmp_path / "map.pdf")
    assert (tmp_path / "map.pdf").stat().st_size < 500_000


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"kind": "mapp"}, "Did you mean 'map'"),
        ({"kind": "curve"}, "kind='curve': expected one free coordinate, got the free coordinates x, y"),
        ({"kind": "snapshots"}, "expected one free coordinate in space, and time"),
        ({"kind": "quiver"}, r"Give the two components with vector=\(u, v\)"),
        ({"vector": ("u", "u"), "kind": "map"}, "Omit vector"),
        ({"vector": ("u",)}, r"vector: expected two components \(u, v\)"),
        ({"vector": ("u", "u"), "at": {y: 0}}, "expected two free coordinates in space"),
        ({"at": {z: 0}}, r"at: expected coordinates of the domain \(x, y\), got z"),
        ({"at": {y: 2}}, r"at\[y\]: expected a value between 0 and 1, got 2"),
        ({"at": {x: 0, y: 0}}, "at least one free coordinate"),
        ({"at": 0.5}, "at: expected a dictionary"),
        ({"times": 3}, "times: expected a problem with time"),
        ({"ax": [None, None]}, "ax: expected one Axes, got 2"),
        ({"ax": 3}, "ax: expected matplotlib Axes"),
        ({"resolution": 1}, "resolution: expected a whole number of at least 8"),
        ({"levels": 0.5}, "levels: expected a whole number of at least 1"),
    ],
)
def test_invalid_arguments_are_rejected(arguments: dict[str, Any], text: str) -> None:
    with pytest.raises(pibls.ProblemError, match=text):
        solved_problems.plane().plot(**arguments)


def test_invalid_times_axes_and_quantities_are_rejected() -> None:
    with pytest.raises(pibls.ProblemError, match="times: expected a number of times"):
        solved_problems.line_in_time().plot(times=1)
    with pytest.raises(pibls.ProblemError, match=r"times\[t\]: expected a value between 0 and 1, got 3"):
        solved_problems.line_in_time().plot(kind="snapshots", times=[0, 3])
    with pytest.raises(pibls.ProblemError, match='expected Axes with projection="3d"'):
        solved_problems.plane().plot(kind="surface", ax=Figure().add_subplot())
    with pytest.raises(pibls.ProblemError, match="nothing else to draw beside a vector"):
        solved_problems.plane().plot("u", vector=("u", "u"))
    with pytest.raises(pibls.ProblemError, match="expected one of u, got 'w'"):
        solved_problems.plane().plot("w")
    with pytest.raises(TypeError, match="unexpected keyword argument 'colour'"):
        solved_problems.plane().plot(colour="red")  # type: ignore[call-arg]


def test_section_outside_the_domain_is_rejected() -> None:
    hollow = solved_problems.solve_for_exact(Ring(inner=0.9).during(t, 0, 1), x, nodes=10)
    with pytest.raises(pibls.ProblemError, match="at: expected values for which the section is not empty"):
        hollow.plot(at={x: 0.5, y: 0.5})


def test_without_matplotlib(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [m for m in sys.modules if m.partition(".")[0] == "matplotlib"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingPackageError, match=r"pip install 'pibls\[plot\]'"):
        solved_problems.line().plot()
    assert issubclass(MissingPackageError, ImportError)


def test_deformed_body_is_drawn_with_its_scale() -> None:
    a, b = sp.Function("a")(x, y), sp.Function("b")(x, y)
    plate = pibls.Box({x: (0, 1), y: (0, 1)}) - pibls.Disk((x, y), (0.5, 0.5), 0.2)
    problem = pibls.Problem(
        plate,
        [a.diff(x, 2) + a.diff(y, 2), b.diff(x, 2) + b.diff(y, 2)],
        [pibls.Dirichlet(a, x / 10000), pibls.Dirichlet(b, 0)],
    )
    axes = pibls.solve(problem, tol=1e-6).plot(vector=(a, b), kind="deformed")
    assert axes.get_title() == "displacements × 1000"
    assert axes.get_xlim()[1] > 1.1
    plt.close(axes.figure)
