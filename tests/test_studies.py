"""Small versions of the studies behind docs/sensitivity.md, docs/convergence.md and docs/scale.md."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from benchmarks import (
    ablation,
    convergence,
    embedding,
    framework_figure,
    pielm_range,
    scale_figure,
    sensitivity,
)

import pibls
from pibls.basis.scale import scale_for

pytest.importorskip("matplotlib")


def test_sensitivity_study_varies_one_parameter(tmp_path: Path) -> None:
    """One parameter varies, the others keep their published values; the figure is drawn."""
    case = pibls.cases["TC-1"]
    values = {"nodes": (62, 310), "points": (64, 252), "scale": (2.0, 15.1)}
    found = sensitivity.study(case, values, seeds=range(1))
    published = found["published"]
    for parameter in found["sweeps"]:
        steps, runs = sensitivity.curve(found, parameter)
        assert steps == list(values[parameter])
        assert [step[0][parameter] for step in runs] == steps
        for other in {"nodes", "points", "scale"} - {parameter}:
            assert all(step[0][other] == published[other] for step in runs)
    assert found["sweeps"]["nodes"]["310"][0]["max"] < 1e-10
    # Stored results are not measured again: a second seed is added to them.
    before = found["sweeps"]["nodes"]["310"][0]
    sensitivity.study(case, values, seeds=range(2), found=found)
    assert found["sweeps"]["nodes"]["310"][0] is before
    assert all(len(runs) == 2 for runs in found["sweeps"]["scale"].values())
    assert found["automatic"][0]["max"] < 1e-13
    sensitivity.draw({"TC-1": found}, tmp_path / "figure.png")
    assert (tmp_path / "figure.png").stat().st_size > 10_000


@pytest.mark.parametrize("name", ["TC-1", "TC-9"])
def test_sensitivity_runs_through_the_published_settings(name: str) -> None:
    case = pibls.cases[name]
    published = case.published.settings
    for parameter, values in sensitivity.VALUES[name].items():
        same = [sensitivity.settings_with(case, parameter, v) for v in values]
        assert any(s["basis"] == published["basis"] and s["points"] == published["points"] for s in same)
        assert all(s["method"] == published["method"] for s in same)
    for nodes in sensitivity.VALUES[name]["nodes"]:
        assert sensitivity.settings_with(case, "nodes", nodes)["basis"].size == nodes


@pytest.mark.parametrize("name", ["TC-3", "TC-5", "TC-11"])
def test_convergence_study_has_the_exact_solutions(name: str) -> None:
    study, case = convergence.studies()[name], pibls.cases[name]
    X = study.problem.domain.interior(50, np.random.default_rng(1)).T
    values = convergence._evaluate(study.exact, study.problem.coordinates, X)
    np.testing.assert_allclose(values, case.exact(*X), rtol=1e-13)


def test_convergence_in_sobolev_norms(tmp_path: Path) -> None:
    """Errors decrease with the number of features; for limited smoothness the H² errors are larger."""
    data = {}
    for name, study in convergence.studies().items():
        widths = (24, 48) if name == "TC-3" else (64, 128)
        data[name] = convergence.measure(study, widths, seeds=range(1))
        for runs in data[name]["errors"].values():
            first, last = np.array(runs)[0, 0], np.array(runs)[-1, 0]
            assert (last < first).all()
            assert name != "rough" or last[0] < last[1]
    assert len(convergence.summary(data)) == 18
    convergence.draw(data, tmp_path / "figure.png")
    assert (tmp_path / "figure.png").stat().st_size > 10_000


def test_fits_reproduce_given_rates() -> None:
    N = np.array([64.0, 256.0, 512.0, 1024.0])
    assert convergence.fitted_rate(N, 3.0 * N**-1.5) == pytest.approx(1.5)
    assert convergence.fitted_decay(N, 10.0 ** (-0.4 * N**0.5), 2) == pytest.approx(0.4)


def test_scale_rule_is_near_the_best_scale(tmp_path: Path) -> None:
    """With the rule the error is within a factor of 100 of the best; it varies by 10¹⁰ over all scales."""
    data = scale_figure.measure(
        (32, 64), ("TC-5", "TC-7"), nodes=256, steps=(5, 7), seeds=range(1), other_widths=()
    )
    assert data["errors"]["rule"] == scale_for("waves", 256, 2)
    for R, least, at_rule in scale_figure.best(data).values():
        assert 0.5 < R / data["errors"]["rule"] < 2.1
        assert at_rule < 100 * least
    scale_figure.draw(data, tmp_path / "figure.png")
    assert (tmp_path / "figure.png").stat().st_size > 10_000


def test_feature_maps_are_embeddings() -> None:
    """Lemma 1: no immersion with fewer than D nodes; with many, constants close to the population's."""
    assert embedding.constants(1, 2, "tanh", 0)[0] == 0.0
    assert min(embedding.constants(2, 2, "tanh", 0)) > 0.0
    for activation in embedding.ACTIVATIONS:
        immersion, injectivity = embedding.constants(256, 2, activation, 0)
        assert injectivity > 0.1
        assert immersion == pytest.approx(embedding.population(2, activation, 4000), rel=0.35)


def test_embedding_and_framework_figures_are_drawn(tmp_path: Path) -> None:
    data = embedding.measure(dimensions=(1, 2), nodes=(2, 8), seeds=range(2))
    assert list(data["maps"]) == ["tanh, D = 1", "tanh, D = 2", "sin, D = 1", "sin, D = 2"]
    embedding.draw(data, tmp_path / "figure.png")
    framework_figure.draw(tmp_path / "framework.png")
    assert (tmp_path / "figure.png").stat().st_size > 10_000
    assert (tmp_path / "framework.png").stat().st_size > 10_000


def test_interrupted_ablation_is_resumed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ablation, "SEEDS", range(1))
    monkeypatch.setattr(ablation, "SEARCH_SEEDS", range(1))
    monkeypatch.setattr(ablation, "MAX_STEPS_WITHOUT_GAIN", 1)
    store = ablation.Store(tmp_path / "ablation.json")
    case = pibls.cases["TC-2"]
    ablation.measure(case, store)
    reloaded = ablation.Store(tmp_path / "ablation.json")
    assert reloaded.data == store.data
    found = reloaded.data["TC-2"]
    assert {"features only", "broad", "broad, whiten", "waves"} <= set(found["errors"])
    assert set(found["best"]) == set(found["tried"]) == set(found["errors"]) - {"waves"}
    for label, best in found["best"].items():
        errors = {float(scale): np.median(e) for scale, e in found["tried"][label].items()}
        assert best["scale"] == min(errors, key=lambda scale: errors[scale])
        assert len(errors) >= 3
    monkeypatch.setattr(ablation, "max_errors", lambda *_: pytest.fail("measured again"))
    ablation.measure(case, reloaded)


def test_pielm_with_several_solvers() -> None:
    """Normal equations lose half of the digits, single precision more."""
    case = pibls.cases["TC-2"]
    found = {
        name: pielm_range.solve_errors(case, 3.0, solve, 0)[0]
        for name, solve in pielm_range.solvers().items()
    }
    assert found["gelsd"] < 1e-11 < found["normal equations, λ = 1e-08"] < 1e-6
    assert found["gelsd, single precision"] > 1e-7
