"""Meshes of sections of a domain, fitted to its boundary."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import sympy as sp

import pibls
from pibls.sampling import Section, mesh_section
from tests import solved_problems
from tests.solved_problems import Ring, x, y

matplotlib = pytest.importorskip("matplotlib", reason="pictures need matplotlib: pip install 'pibls[plot]'")
matplotlib.use("Agg")
from matplotlib.collections import PolyCollection  # noqa: E402


@pytest.mark.parametrize("n", [7, 20, 33])
def test_mesh_in_the_plane(n: int) -> None:
    mesh = mesh_section(section := Section(Ring(), (0, 1), {}), section.axes((n, n)))
    assert measure(mesh) == pytest.approx(np.pi * (1 - 0.4**2), rel=6 / n**2)
    assert is_conforming(mesh.cells)


def test_mesh_in_space() -> None:
    section = Section(solved_problems.Ball(), (0, 1, 2), {})
    errors = [4 / 3 * np.pi - measure(mesh_section(section, section.axes((n,) * 3))) for n in (8, 16)]
    assert 0 < errors[1] < 0.4 * errors[0]  # second order, from inside
    assert is_conforming(mesh_section(section, section.axes((8, 8, 8))).cells)


def test_mesh_along_a_line() -> None:
    section = Section(Ring(), (0,), {1: 0.0})
    mesh = mesh_section(section, section.axes((12,)))
    assert measure(mesh) == pytest.approx(1.2, abs=1e-8)


def test_mesh_of_a_box_has_no_boundary_facets() -> None:
    section = Section(pibls.Box({x: (0, 1), y: (0, 2)}), (0, 1), {})
    mesh = mesh_section(section, section.axes((4, 5)))
    assert len(mesh.boundary_facets) == 0
    assert measure(mesh) == pytest.approx(2.0)


def measure(mesh: Any) -> float:
    corners = mesh.points[mesh.cells]
    sizes = np.linalg.det(corners[:, 1:] - corners[:, :1])
    assert (sizes > 0).all()
    return float(sizes.sum() / sp.factorial(mesh.points.shape[1]))


def is_conforming(cells: Any) -> bool:
    """Every facet belongs to one simplex or two."""
    k = cells.shape[1]
    facets = np.sort(np.concatenate([np.delete(cells, i, axis=1) for i in range(k)]), axis=1)
    return bool(np.unique(facets, axis=0, return_counts=True)[1].max() <= 2)


def test_polygons_are_not_used_for_maps() -> None:
    """Thousands of antialiased polygons would show white lines between them."""
    assert not any(
        isinstance(c, PolyCollection) for c in solved_problems.plane().plot(resolution=11).collections
    )
