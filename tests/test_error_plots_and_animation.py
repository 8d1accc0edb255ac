"""Plots of errors and residuals, and animations."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sympy as sp

import pibls
from tests import solved_problems
from tests.solved_problems import t, x, y
from tests.test_plot import _unchanged_settings as _unchanged_settings
from tests.test_plot import matplotlib, mesh_of, mesh_values, rendered

u = sp.Function("u")
Image = pytest.importorskip("PIL.Image", reason="comes with matplotlib")


# --- errors and residuals -------------------------------------------------------------------------


@pytest.mark.parametrize("exact", [sp.cos(x) * sp.exp(-y), lambda a, b: np.cos(a) * np.exp(-b)])
def test_error_map(exact: Any) -> None:
    ax = rendered(solved_problems.plane().plot_error(exact, resolution=21))
    P, values = mesh_values(ax)
    expected = solved_problems.plane()(*P.T) - np.cos(P[:, 0]) * np.exp(-P[:, 1])
    np.testing.assert_allclose(values, expected, atol=1e-15)
    low, high = mesh_of(ax).get_clim()
    assert low == -high == -np.abs(values).max()
    assert mesh_of(ax).get_cmap().name == "RdBu_r"
    assert ax.get_figure().axes[1].get_ylabel() == r"$u - u_{\mathrm{exact}}$"


def test_error_on_a_logarithmic_scale() -> None:
    ax = rendered(
        solved_problems.plane().plot_error(sp.cos(x) * sp.exp(-y) + x / 10, log=True, resolution=21)
    )
    _, values = mesh_values(ax)
    assert (values > 0).all()
    assert isinstance(mesh_of(ax).norm, matplotlib.colors.LogNorm)
    curve = rendered(solved_problems.line().plot_error(sp.cos(x), log=True))
    assert curve.get_yscale() == "log"
    low, high = curve.get_ylim()
    assert high / low < 1e10  # a zero of the error does not stretch the axis to 1e-308


def test_error_curve_has_a_zero_line() -> None:
    ax = rendered(solved_problems.line().plot_error(sp.cos(x)))
    assert list(ax.get_lines()[1].get_ydata()) == [0, 0]


def test_errors_of_several_unknowns() -> None:
    solution = solved_problems.rotation_and_pressure()
    axes = rendered(solution.plot_error({"u": -y, "p": x * y + 1}, resolution=21))
    np.testing.assert_allclose(mesh_values(axes[1])[1], -1.0, atol=1e-6)
    with pytest.raises(pibls.ProblemError, match="exact: expected a dictionary"):
        solution.plot_error(-y)


def test_residual_map() -> None:
    ax = rendered(solved_problems.plane().plot_residual(resolution=21))
    P, values = mesh_values(ax)
    equation = solved_problems.plane().problem.equations[0]
    np.testing.assert_array_equal(values, solved_problems.plane().evaluate(equation.lhs - equation.rhs, *P.T))
    assert ax.get_figure().axes[1].get_ylabel() == r"$\mathrm{residual}$"


def test_residuals_of_several_equations() -> None:
    axes = rendered(solved_problems.rotation_and_pressure().plot_residual(log=True, resolution=21))
    assert len(axes) == 3
    assert axes[0].get_figure().axes[3].get_ylabel() == r"$|\mathrm{residual\ 1}|$"


def test_error_plot_omits_points_where_the_exact_solution_is_nan() -> None:
    ax = rendered(solved_problems.plane().plot_error(lambda a, b: np.where(a > 1, np.nan, a), resolution=21))
    P, _ = mesh_values(ax)
    used = np.unique(mesh_of(ax)._triangulation.triangles)
    assert P[used, 0].max() <= 1


# --- animations -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "make", [solved_problems.line_in_time, solved_problems.plane_in_time, solved_problems.ring_in_time]
)
def test_gif(make: Any, tmp_path: Path) -> None:
    path = make().animate(tmp_path / "animation.gif", frames=4, fps=10, dpi=50, resolution=31)
    with Image.open(path) as animation:
        assert getattr(animation, "n_frames", 1) == 4
        assert animation.info["duration"] == 100
        frames = []
        for k in range(4):
            animation.seek(k)
            frames.append(np.asarray(animation.convert("RGB")).astype(int))
    assert np.abs(frames[0] - frames[3]).max() > 50  # something moves
    assert (frames[0][0, 0] == 255).all()


def test_animation_of_a_vector_field(tmp_path: Path) -> None:
    w = u(x, y, t)
    path = solved_problems.plane_in_time().animate(
        tmp_path / "animation.gif", vector=(w, w.diff(x)), frames=2, dpi=40, resolution=11
    )
    assert path.stat().st_size > 1000


def test_invalid_animations(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(pibls.ProblemError, match="animate: expected a problem with time"):
        solved_problems.plane().animate(tmp_path / "animation.gif")
    with pytest.raises(pibls.ProblemError, match=r"path: expected a file that ends in \.gif"):
        solved_problems.line_in_time().animate(tmp_path / "animation.avi")
    with pytest.raises(pibls.ProblemError, match="frames: expected a whole number of at least 2"):
        solved_problems.line_in_time().animate(tmp_path / "animation.gif", frames=1)
    from matplotlib.animation import FFMpegWriter

    monkeypatch.setattr(FFMpegWriter, "isAvailable", classmethod(lambda cls: False))
    with pytest.raises(pibls.ProblemError, match="no ffmpeg was found"):
        solved_problems.line_in_time().animate(tmp_path / "animation.mp4")
    assert not list(tmp_path.iterdir())


def test_mp4(tmp_path: Path) -> None:
    from matplotlib.animation import FFMpegWriter

    if not FFMpegWriter.isAvailable():
        pytest.skip("videos need the program ffmpeg, which is not installed here")
    path = solved_problems.line_in_time().animate(tmp_path / "animation.mp4", frames=3, dpi=50)
    assert path.read_bytes()[4:8] == b"ftyp"
