"""Export to SciPy, xarray, CSV and VTK: files are read back, by other programs where these are installed."""

from __future__ import annotations

import base64
import csv
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import numpy as np
import pytest
import sympy as sp
from scipy import integrate, optimize

import pibls
from pibls.errors import MissingPackageError
from tests import solved_problems
from tests.solved_problems import COORDINATES, t, x, y

u = sp.Function("u")


# --- callable solutions ---------------------------------------------------------------------------


def test_scalars_give_numbers() -> None:
    value = solved_problems.plane()(0.5, 0.25)
    assert isinstance(value, float)
    assert solved_problems.plane()(x=0.5, y=0.25) == value
    assert np.isnan(solved_problems.plane()(5.0, 0.25))


def test_arrays_broadcast() -> None:
    a, b = np.linspace(0, 2, 5)[:, None], np.linspace(0, 1, 3)
    values = solved_problems.plane()(a, b)
    assert values.shape == (5, 3)
    assert values[2, 1] == pytest.approx(solved_problems.plane()(a[2, 0], b[1]), abs=1e-14)
    assert solved_problems.plane()([0.5, 1.0], 0.5).shape == (2,)


def test_quadrature() -> None:
    value, _ = integrate.quad(solved_problems.line(), 0, 2)
    assert value == pytest.approx(np.sin(2), abs=1e-9)
    value, _ = integrate.dblquad(lambda b, a: solved_problems.plane()(a, b), 0, 2, 0, 1)
    assert value == pytest.approx(np.sin(2) * (1 - np.exp(-1)), abs=1e-8)
    value = integrate.fixed_quad(solved_problems.line(), 0, 2, n=12)[0]
    assert value == pytest.approx(np.sin(2), abs=1e-9)


def test_optimisation() -> None:
    hill = solved_problems.solve_for_exact(
        pibls.Box({x: (0, 1), y: (0, 1)}), -((x - sp.Rational(3, 10)) ** 2) + y * (1 - y)
    )
    found = optimize.minimize(lambda p: -hill(*p), [0.5, 0.4], bounds=[(0, 1), (0, 1)])
    np.testing.assert_allclose(found.x, [0.3, 0.5], atol=1e-3)
    root = optimize.brentq(solved_problems.line(), 1.0, 2.0)
    assert root == pytest.approx(np.pi / 2, abs=1e-8)


def test_repeated_expression_is_compiled_once() -> None:
    from pibls.solution.solution import _compiled

    expression = u(x, y).diff(x) ** 2 + 17
    solved_problems.plane().evaluate(expression, 0.5, 0.5)
    before = _compiled.cache_info()
    for value in (0.1, 0.2, 0.3):
        solved_problems.plane().evaluate(expression, value, 0.5)
    after = _compiled.cache_info()
    assert (after.misses, after.hits - before.hits) == (before.misses, 3)


# --- xarray ---------------------------------------------------------------------------------------


def dataset(solution: pibls.Solution, *what: Any, **options: Any) -> Any:
    pytest.importorskip("xarray", reason="to_xarray needs xarray: pip install 'pibls[exchange]'")
    return solution.to_xarray(*what, **options)


def test_dataset() -> None:
    data = dataset(solved_problems.plane(), x=5, y=[0.0, 0.5], units={"x": "m", u(x, y): "K"})
    assert data["u"].dims == ("x", "y")
    assert data["u"].shape == (5, 2)
    np.testing.assert_array_equal(data["x"], np.linspace(0, 2, 5))
    np.testing.assert_array_equal(
        data["u"], solved_problems.plane()(np.linspace(0, 2, 5)[:, None], np.array([0.0, 0.5]))
    )
    assert (data["x"].attrs["units"], data["u"].attrs["units"]) == ("m", "K")
    assert "units" not in data["y"].attrs
    assert data["u"].attrs["estimated_max_error"] == solved_problems.plane().error.max


def test_dataset_metadata() -> None:
    solution = solved_problems.rotation_and_pressure()
    notes = dataset(solution, x=3, y=3).attrs
    assert notes["pibls_version"] == pibls.__version__
    assert notes["status"] == solution.status.name
    assert notes["status_message"] == solution.status.value
    assert notes["estimated_max_error"] == solution.error.max
    assert notes["equations"] == "u(x, y) = -y; v(x, y) = x; p(x, y) = x*y"
    assert "Box" in notes["title"]
    assert all(isinstance(v, (str, int, float)) for v in notes.values())


def test_dataset_of_expressions_and_several_unknowns() -> None:
    data = dataset(solved_problems.rotation_and_pressure(), x=4, y=3)
    assert sorted(data.data_vars) == ["p", "u", "v"]
    w = u(x, t)
    data = dataset(solved_problems.line_in_time(), w, w.diff(x, 2), x=4, t=3)
    assert list(data.data_vars) == ["u", "u_xx"]
    assert "estimated_max_error" not in data["u_xx"].attrs
    assert dataset(solved_problems.unit_box(4))["u"].shape == (21,) * 4


def test_dataset_is_nan_outside_the_domain() -> None:
    data = dataset(solved_problems.ring(), x=21, y=21)
    r = np.hypot(*np.meshgrid(data["x"], data["y"]))
    assert np.array_equal(np.isnan(data["u"]), ~((r >= 0.4 - 1e-9) & (r <= 1 + 1e-9)))


def test_dataset_is_unchanged_by_a_netcdf_file(tmp_path: Path) -> None:
    xarray = pytest.importorskip("xarray", reason="to_xarray needs xarray: pip install 'pibls[exchange]'")
    data = dataset(solved_problems.line_in_time(), x=5, t=3)
    data.to_netcdf(tmp_path / "u.nc", engine="scipy")
    loaded = xarray.load_dataset(tmp_path / "u.nc", engine="scipy")
    np.testing.assert_array_equal(loaded["u"], data["u"])
    assert loaded.attrs["equations"] == data.attrs["equations"]


def test_missing_xarray_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "xarray", None)
    with pytest.raises(MissingPackageError, match=r"to_xarray needs the package xarray.*pibls\[exchange\]"):
        solved_problems.line().to_xarray()


@pytest.mark.parametrize(
    ("grid", "message"),
    [
        ({"z": 3}, r"grid: expected coordinates of the domain \(x, y\), got z"),
        ({"x": 1}, r"grid: x: expected a number of points \(at least 2\)"),
        ({"x": 0.5}, r"Write x=50, or x=\[0.5\] for a single value"),
        ({"x": [1, 0]}, "a list of increasing values"),
        ({"x": [0, np.nan]}, "a list of increasing values"),
        ({"x": "many"}, "a list of increasing values"),
        ({"x": True}, "a number of points"),
    ],
)
def test_invalid_grids(grid: dict[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(pibls.ProblemError, match=message):
        solved_problems.plane().to_csv(tmp_path / "u.csv", **grid)


# --- tables ---------------------------------------------------------------------------------------


def test_table(tmp_path: Path) -> None:
    w = u(x, y)
    path = solved_problems.plane().to_csv(tmp_path / "u.csv", w, w.diff(x), x=3, y=[0.1, 0.7])
    with path.open(newline="") as file:
        names, *rows = csv.reader(file)
    assert names == ["x", "y", "u", "u_x"]
    table = np.array(rows, dtype=float)
    assert table.shape == (6, 4)
    np.testing.assert_array_equal(table[:, 2], solved_problems.plane()(table[:, 0], table[:, 1]))


def test_table_omits_points_outside_the_domain(tmp_path: Path) -> None:
    path = solved_problems.ring().to_csv(tmp_path / "u.csv", x=11, y=11)
    table = np.loadtxt(path, delimiter=",", skiprows=1)
    assert np.isfinite(table).all()
    assert len(table) < 121
    assert np.hypot(table[:, 0], table[:, 1]).min() >= 0.4 - 1e-9


def test_names_with_commas_are_quoted(tmp_path: Path) -> None:
    path = solved_problems.plane().to_csv(tmp_path / "u.csv", sp.Max(u(x, y), 0), x=2, y=2)
    with path.open(newline="") as file:
        assert next(csv.reader(file)) == ["x", "y", "Max(0, u)"]


# --- VTK ------------------------------------------------------------------------------------------


def vtk_arrays(path: Path) -> dict[str, Any]:
    """Return the decoded data arrays of a VTK file by name."""
    out = {}
    types = {"Float64": "<f8", "Int64": "<i8", "UInt8": "u1"}
    for element in ET.parse(path).getroot().iter("DataArray"):
        data = base64.b64decode(element.text or "")
        assert int(np.frombuffer(data[:8], "<u8")[0]) == len(data) - 8
        values = np.frombuffer(data[8:], types[element.attrib["type"]])
        width = int(element.get("NumberOfComponents", 1))
        out[element.attrib["Name"]] = values.reshape(-1, width) if width > 1 else values
    return out


def test_box_is_written_as_an_image(tmp_path: Path) -> None:
    path = solved_problems.plane().to_vtk(tmp_path / "u", x=5, y=3)
    assert path == tmp_path / "u.vti"
    body = ET.parse(path).getroot()[0]
    assert body.attrib == {"WholeExtent": "0 4 0 2 0 0", "Origin": "0.0 0.0 0.0", "Spacing": "0.5 0.5 1.0"}
    values = vtk_arrays(path)["u"].reshape(3, 5)  # the first coordinate runs fastest
    np.testing.assert_array_equal(
        values, solved_problems.plane()(np.linspace(0, 2, 5), np.linspace(0, 1, 3)[:, None])
    )


def test_vtk_metadata(tmp_path: Path) -> None:
    path = solved_problems.plane().to_vtk(tmp_path / "u", x=3, y=3)
    assert "equations: u(x, y) = exp(-y)*cos(x) |" in path.read_text()
    assert vtk_arrays(path)["estimated_max_error"][0] == solved_problems.plane().error.max


def test_vtk_image_in_three_dimensions(tmp_path: Path) -> None:
    path = solved_problems.cuboid().to_vtk(tmp_path / "u.vti", x=2, y=3, z=4)
    values = vtk_arrays(path)["u"].reshape(4, 3, 2)
    assert values[3, 1, 1] == pytest.approx(solved_problems.cuboid()(1.0, 1.0, 3.0), abs=1e-14)


def test_other_shapes_are_written_as_boundary_fitted_meshes(tmp_path: Path) -> None:
    w = u(x, y)
    gradient = {"gradient": (w.diff(x), w.diff(y))}
    path = solved_problems.ring().to_vtk(tmp_path / "u", vectors=gradient, x=21, y=21)
    assert path.suffix == ".vtu"
    found = vtk_arrays(path)
    X, cells = found["Points"], found["connectivity"].reshape(-1, 3)
    assert set(found["types"]) == {5}
    np.testing.assert_array_equal(found["offsets"], 3 * np.arange(1, len(cells) + 1))
    np.testing.assert_array_equal(found["u"], solved_problems.ring()(X[:, 0], X[:, 1]))
    np.testing.assert_allclose(found["gradient"], np.tile([1.0, 1.0, 0.0], (len(X), 1)), atol=1e-3)
    a, b, c = (X[cells[:, k]] for k in range(3))
    area = 0.5 * np.cross(b - a, c - a)[:, 2].sum()
    assert area == pytest.approx(np.pi * (1 - 0.4**2), rel=0.01)


def test_tetrahedra(tmp_path: Path) -> None:
    found = vtk_arrays(solved_problems.ball().to_vtk(tmp_path / "u", x=9, y=9, z=9))
    X, cells = found["Points"], found["connectivity"].reshape(-1, 4)
    assert set(found["types"]) == {10}
    volume = np.linalg.det(X[cells[:, 1:]] - X[cells[:, :1]]).sum() / 6
    assert volume == pytest.approx(4 / 3 * np.pi, rel=0.03)


def test_uneven_grid(tmp_path: Path) -> None:
    found = vtk_arrays(solved_problems.plane().to_vtk(tmp_path / "u", x=[0, 0.1, 2], y=3))
    assert found["connectivity"].reshape(-1, 4).shape == (4, 4)
    assert set(found["types"]) == {9}
    np.testing.assert_array_equal(
        found["u"], solved_problems.plane()(found["Points"][:, 0], found["Points"][:, 1])
    )


def test_series_in_time(tmp_path: Path) -> None:
    path = solved_problems.plane_in_time().to_vtk(tmp_path / "u.pvd", x=5, y=3, t=[0.0, 0.25, 1.0])
    sets = [e.attrib for e in ET.parse(path).getroot().iter("DataSet")]
    assert [s["timestep"] for s in sets] == ["0.0", "0.25", "1.0"]
    values = vtk_arrays(tmp_path / sets[1]["file"])["u"].reshape(3, 5)
    assert values[2, 4] == pytest.approx(solved_problems.plane_in_time()(2.0, 1.0, 0.25), abs=1e-14)
    ring = solved_problems.ring_in_time().to_vtk(tmp_path / "ring", x=9, y=9, t=2)
    assert [e.attrib["file"] for e in ET.parse(ring).getroot().iter("DataSet")] == [
        "ring_0000.vtu",
        "ring_0001.vtu",
    ]


def test_single_time_is_written_as_one_file(tmp_path: Path) -> None:
    assert solved_problems.plane_in_time().to_vtk(tmp_path / "u", at={t: 0.5}, x=3, y=3).suffix == ".vti"
    assert len(list(tmp_path.iterdir())) == 1


def test_line_and_slice(tmp_path: Path) -> None:
    assert len(vtk_arrays(solved_problems.line().to_vtk(tmp_path / "u"))["u"]) == 201
    path = solved_problems.unit_box(4).to_vtk(
        tmp_path / "v", at=dict.fromkeys(COORDINATES[2:4], 0.5), x1=3, x2=3
    )
    assert len(vtk_arrays(path)["u"]) == 9


def test_invalid_vtk_requests(tmp_path: Path) -> None:
    with pytest.raises(pibls.ProblemError, match="at: expected one to three free space coordinates"):
        solved_problems.unit_box(4).to_vtk(tmp_path / "u")
    with pytest.raises(pibls.ProblemError, match=r"path: expected a file name ending in \.vti"):
        solved_problems.plane().to_vtk(tmp_path / "u.vtu")
    with pytest.raises(pibls.ProblemError, match=r"path: expected a file name ending in \.pvd"):
        solved_problems.line_in_time().to_vtk(tmp_path / "u.vti")
    with pytest.raises(pibls.ProblemError, match=r"vectors\['w'\]: expected two or three components"):
        solved_problems.plane().to_vtk(tmp_path / "u", vectors={"w": ("u",)})
    assert not list(tmp_path.iterdir())


def test_meshio_reads_the_mesh(tmp_path: Path) -> None:
    meshio = pytest.importorskip("meshio", reason="reads the file: pip install meshio")
    path = solved_problems.ball().to_vtk(tmp_path / "u", x=7, y=7, z=7)
    mesh = meshio.read(path)
    assert mesh.cells[0].type == "tetra"
    np.testing.assert_array_equal(mesh.point_data["u"], solved_problems.ball()(*mesh.points.T))
