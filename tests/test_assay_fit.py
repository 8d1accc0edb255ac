"""Scratch assay: stored fits against published values, and one fit repeated."""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest
from benchmarks import assay as study

from pibls.cases import assay
from pibls.io import read_problem

ROOT = Path(__file__).resolve().parents[1]
STORED = json.loads(study.STORED.read_text())


@pytest.mark.parametrize("cells", assay.INITIAL_CELLS)
def test_stored_fits_agree_with_published_values(cells: int) -> None:
    """D within 5 % and r within 2 %; for 12,000 cells the published D lies in the interval."""
    stored, (D, r) = STORED[f"{cells} fisher"], assay.PUBLISHED[cells]
    low, high = stored["interval"]["D"]
    assert low < D < high
    assert abs(stored["values"]["r"] / r - 1) < 0.02
    if cells != 12_000:
        assert abs(stored["values"]["D"] / D - 1) < 0.05


def test_page_is_generated_from_stored_results() -> None:
    assert study.PAGE.read_text(encoding="utf-8") == study.page(STORED)
    assert study.PICTURE.exists()


def test_fit_reproduces_stored_values() -> None:
    """From the default start, compared with a coarser tolerance."""
    found = study.fit_model(16_000, crowding=False)
    stored = STORED["16000 fisher"]
    for symbol in found.parameters:
        assert found.values[symbol] == pytest.approx(stored["values"][str(symbol)], rel=2e-3)
        assert found.std[symbol] == pytest.approx(stored["std"][str(symbol)], rel=2e-2)
    assert found.identifiable
    assert found.moved < 0.02


@pytest.mark.parametrize("cells", assay.INITIAL_CELLS)
def test_initial_density_interpolates_the_means(cells: int) -> None:
    problem, rows = assay.problem(cells), assay.experiment(cells)
    first = rows[rows[:, 1] == 0]
    start = assay.initial_density(cells)
    import sympy as sp

    values = sp.lambdify(assay.x, start)(first[:, 0])
    assert values == pytest.approx(first[:, 2:].mean(axis=1), abs=1e-15)
    slope = sp.lambdify(assay.x, start.diff(assay.x))(first[[0, -1], 0])
    assert np.abs(slope).max() < 1e-12
    assert len(assay.data(cells)) == 3 * 4 * 37
    assert problem.parameters[assay.K] == assay.CAPACITY


def test_problem_file_agrees_with_the_module() -> None:
    file = read_problem(ROOT / "docs" / "gallery" / "fits" / "migrating_cells.toml")
    table = Path(str(files("pibls.cases") / "data" / "scratch_assay.csv"))
    (entry,) = file.data
    data, expected = entry.load(table.parent, table), assay.data(10_000)
    assert sorted(data.values) == sorted(expected.values)
    assert {str(c) for c in file.problem.coordinates} == {"x", "t"}
    assert file.fit.unknown == {"D": (1.0, 5000.0), "r": (0.0, 1.0)}
    X = np.column_stack([np.linspace(75, 1875, 50), np.zeros(50)])
    (from_file,) = [s.form for s in file.problem.statements if s.name.startswith("Initial")]
    (from_module,) = [s.form for s in assay.problem(10_000).statements if s.name.startswith("Initial")]
    import sympy as sp

    first, second = (sp.lambdify(f.variables.coordinates, f.rest)(*X.T) for f in (from_file, from_module))
    assert first == pytest.approx(second, abs=2e-8)


def test_unknown_number_of_cells_is_an_error() -> None:
    with pytest.raises(KeyError, match="no experiment with 11000 cells"):
        assay.experiment(11_000)
