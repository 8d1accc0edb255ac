"""The cells that close a scratch: what is stored, what is published, and one of them fitted again."""

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
def test_the_published_values(cells: int) -> None:
    """D within 5 % and r within 2 %; for 12,000 cells the published D lies in the interval."""
    one, (D, r) = STORED[f"{cells} fisher"], assay.PUBLISHED[cells]
    low, high = one["interval"]["D"]
    assert low < D < high
    assert abs(one["values"]["r"] / r - 1) < 0.02
    if cells != 12_000:
        assert abs(one["values"]["D"] / D - 1) < 0.05


def test_the_page_is_made_of_what_is_stored() -> None:
    assert study.PAGE.read_text(encoding="utf-8") == study.page(STORED)
    assert study.PICTURE.exists()


def test_stored_values_are_found_again() -> None:
    """From the problem's own start, at a coarser tolerance of the parameters."""
    found = study.fitted(16_000, crowding=False)
    one = STORED["16000 fisher"]
    for symbol in found.parameters:
        assert found.values[symbol] == pytest.approx(one["values"][str(symbol)], rel=2e-3)
        assert found.std[symbol] == pytest.approx(one["std"][str(symbol)], rel=2e-2)
    assert found.identifiable
    assert found.moved < 0.02


@pytest.mark.parametrize("cells", assay.INITIAL_CELLS)
def test_the_beginning_goes_through_the_means(cells: int) -> None:
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


def test_the_problem_file_says_the_same() -> None:
    file = read_problem(ROOT / "docs" / "gallery" / "fits" / "migrating_cells.toml")
    table = Path(str(files("pibls.cases") / "data" / "scratch_assay.csv"))
    (entry,) = file.data
    data, same = entry.load(table.parent, table), assay.data(10_000)
    assert sorted(data.values) == sorted(same.values)
    assert {str(c) for c in file.problem.coordinates} == {"x", "t"}
    assert file.fit.unknown == {"D": (1.0, 5000.0), "r": (0.0, 1.0)}
    X = np.column_stack([np.linspace(75, 1875, 50), np.zeros(50)])
    (mine,) = [s.form for s in file.problem.statements if s.name.startswith("Initial")]
    (theirs,) = [s.form for s in assay.problem(10_000).statements if s.name.startswith("Initial")]
    import sympy as sp

    first, second = (sp.lambdify(f.variables.coordinates, f.rest)(*X.T) for f in (mine, theirs))
    assert first == pytest.approx(second, abs=2e-8)


def test_an_unknown_number_of_cells_is_told() -> None:
    with pytest.raises(KeyError, match="no experiment with 11000 cells"):
        assay.experiment(11_000)
