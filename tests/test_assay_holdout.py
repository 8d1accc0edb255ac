"""Predictions of the scratch assay for data that were not fitted: stored results, and a part recomputed."""

from __future__ import annotations

import json

import numpy as np
import pytest
from benchmarks import assay_holdout as study
from benchmarks.assay import STORED as FITS

from pibls.cases import assay

HELD_OUT = study.read()
FITTED = json.loads(FITS.read_text())
CELLS = [f"{c}" for c in assay.INITIAL_CELLS]


def test_subsets_of_the_data() -> None:
    subset = assay.data(12_000, times=(12.0, 24.0), replicates=(1, 3))
    assert len(subset) == 2 * 2 * 37
    rows = assay.experiment(12_000)
    assert sorted(subset.values) == sorted(rows[np.isin(rows[:, 1], (12.0, 24.0))][:, [2, 4]].ravel())
    start = assay.problem(12_000, replicates=(2,)).statements
    assert str(start) != str(assay.problem(12_000).statements)


def test_score_and_coverage_of_the_mean() -> None:
    """The mean of three measurements is closer to them than the true mean, by √(2/3)."""
    mean = study.at(14_000, 36.0).mean(axis=1)
    assert study.score(14_000, 36.0, mean) == pytest.approx(np.sqrt(2 / 3))
    assert study.coverage(14_000, 36.0, mean - 1, mean + 1) == 1
    assert study.coverage(14_000, 36.0, mean + 1, mean + 2) == 0


def test_logistic_solves_the_logistic_equation() -> None:
    u0, r, h = np.array([1e-4, 8e-4]), 0.05, 1e-4
    slope = (study.logistic(u0, r, 10 + h) - study.logistic(u0, r, 10 - h)) / (2 * h)
    value = study.logistic(u0, r, 10.0)
    assert slope == pytest.approx(r * value * (1 - value / assay.CAPACITY), rel=1e-6)


@pytest.mark.parametrize("cells", assay.INITIAL_CELLS)
def test_held_out_data_are_not_used(cells: int) -> None:
    """Lines are fitted to the five other densities; every study has all times, replicates and densities."""
    changed = {**FITTED, f"{cells} fisher": {"values": {"D": 1e6, "r": 1e6}}}
    line = study.line_through(cells, changed, "D")
    assert line == pytest.approx(
        (HELD_OUT["density"][f"{cells}"]["values"]["D"], HELD_OUT["density"][f"{cells}"]["half"]["D"])
    )
    assert list(HELD_OUT["time"][f"{cells}"]["fisher"]["times"]) == ["36", "48"]
    assert list(HELD_OUT["replicate"][f"{cells}"]) == ["1", "2", "3"]


def test_stored_predictions_are_reproduced() -> None:
    """With the stored D and r of 12 and 24 h, at 16,000 cells."""
    fit = HELD_OUT["time"]["16000"]["fisher"]
    u = study.solution_at_strips(16_000, fit["values"]["D"], fit["values"]["r"])
    for s in study.LATE:
        stored = fit["times"][f"{s:g}"]
        assert study.score(16_000, s, u(s)) == pytest.approx(stored["score"], rel=5e-3)
        value, low, high = np.array(stored["curve"])
        assert u(s) == pytest.approx(value, abs=2e-6)
        assert study.coverage(16_000, s, low, high) == stored["coverage"]


def test_published_conclusions_hold_for_stored_results() -> None:
    late = [HELD_OUT["time"][c]["fisher"]["times"][s] for c in CELLS for s in ("36", "48")]
    assert all(q["bias"] < 0 for q in late)
    assert all(q["coverage"] < 0.95 for q in late)
    for c in CELLS:  # the rate of the first day is below that of two days
        assert HELD_OUT["time"][c]["fisher"]["values"]["r"] < FITTED[f"{c} fisher"]["values"]["r"]
    left = [
        q["times"][s]
        for c in CELLS
        for q in HELD_OUT["replicate"][c].values()
        for s in ("12", "24", "36", "48")
    ]
    assert np.mean([q["coverage"] for q in left]) > 0.85
    inner = [HELD_OUT["density"][c]["times"][s] for c in CELLS[1:-1] for s in ("12", "24", "36", "48")]
    assert np.mean([q["score"] for q in inner]) < 1.15 * np.mean([q["own"] for q in inner])
