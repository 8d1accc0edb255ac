"""Hand-written pages: their tables and numbers agree with the stored data."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("matplotlib")

from benchmarks import convergence, moving, scale_figure

DOCS = Path(__file__).resolve().parents[1] / "docs"


def page(name: str) -> str:
    return (DOCS / name).read_text(encoding="utf-8")


def stored(name: str) -> Any:
    return json.loads((DOCS / name).read_text(encoding="utf-8"))


def row(*cells: str) -> str:
    return "| " + " | ".join(cells) + " |"


@pytest.fixture(scope="module")
def errors() -> dict[str, tuple[list[int], dict[str, Any]]]:
    """Widths and medians over the seeds, (widths, 2) for H¹ and H², by study and family."""
    return {
        name: (study["widths"], {f: np.median(e, axis=1) for f, e in study["errors"].items()})
        for name, study in stored("data/convergence.json").items()
    }


@pytest.mark.parametrize(
    ("study", "title", "d"),
    [("TC-3", "advection-diffusion", 1), ("TC-5", "Poisson", 2), ("TC-11", "Burgers", 2)],
)
def test_fitted_decays_of_the_convergence_page(errors: Any, study: str, title: str, d: int) -> None:
    widths, medians = errors[study]
    decays = [
        f"{convergence.fitted_decay(widths, medians[family][:, norm], d):.2f}"
        for family in ("broad", "waves")
        for norm in (0, 1)
    ]
    assert row(f"{study}, {title}", str(d), *decays) in page("convergence.md")


@pytest.mark.parametrize(
    ("family", "title"),
    [("waves", "waves, R(N, d)"), ("growing", "broad, R = 4 (N/256)^{1/2}"), ("broad", "broad, R = 4")],
)
def test_fitted_rates_of_the_convergence_page(errors: Any, family: str, title: str) -> None:
    widths, medians = errors["rough"]
    rates = [f"{convergence.fitted_rate(widths, medians[family][:, norm]):.2f}" for norm in (0, 1)]
    assert row(title, *rates) in page("convergence.md")


def test_table_of_the_scale_page() -> None:
    shown = [scale_figure.FACTORS.index(f) for f in (0.5, 1.0, 1.4, 2.0, 2.8)]
    for nodes, cases in stored("data/scale.json")["regimes"].items():
        for case in ("TC-4", "TC-5", "TC-8"):
            assert row(nodes, case, *(f"{cases[case][i]:.0e}" for i in shown)) in page("scale.md")


def test_table_of_evolutions_in_the_guide() -> None:
    assert moving.table() in page("guide/time.md")


def test_calibration_of_the_error_estimate() -> None:
    runs = stored("data/calibration.json")
    covered = np.mean([r["true"] <= r["estimate"] for r in runs])
    ratio = np.median([r["estimate"] / r["true"] for r in runs if r["true"]])
    met = np.mean([r["converged"] for r in runs])
    text = page("trust.md")
    assert row("runs", str(len(runs))) in text
    assert row("true error at most the estimate", f"{covered:.0%}".replace("%", " %")) in text
    assert row("median of estimate / true error", f"{ratio:.1f}") in text
    assert row("converged", f"{met:.0%}".replace("%", " %")) in text
    least = min(r["estimate"] / r["true"] for r in runs if r["true"])
    assert f"The smallest ratio of estimate to true error was {least:.1f}." in text


def test_results_on_unseen_problems() -> None:
    runs, text = stored("data/unseen.json"), page("trust.md")
    covered, met = sum(r["true"] <= r["estimate"] for r in runs), sum(r["converged"] for r in runs)
    assert f"{100 * covered / len(runs):.1f} % ({covered} of {len(runs)})" in text
    assert row("converged", f"{100 * met / len(runs):.1f} %") in text


def test_results_on_unseen_problems_of_version_0_2() -> None:
    every, text = stored("data/unseen-0.2.json"), page("trust.md")
    runs = [r for r in every if None not in (r["estimate"], r.get("true"))]
    covered = sum(r["true"] <= r["estimate"] for r in runs)
    problems = len({r["problem"] for r in every})
    assert f"{len(every)} runs of all {problems} problems" in text
    assert f"{sum(r['converged'] for r in every)} converged" in text
    assert f"In {covered} of {len(runs)} runs with an estimate" in text
    ratio = np.median([r["estimate"] / r["true"] for r in runs])
    assert f"estimate / true error was {ratio:.1f}." in text


def test_finite_element_errors() -> None:
    text = page("benchmarks/fem-and-the-paper.md")
    for case in (f"TC-{i}" for i in range(1, 12) if i != 10):
        shown = [
            f"{error:.1e}"
            for order in (1, 2)
            for run in stored(f"benchmarks/data/fenics-p{order}/{case}.json")
            if run["table"]
            for error in (run["max_error"], run["facts"]["nodal_max_error"])
        ]
        assert f"| {' | '.join(shown)} |" in next(t for t in text.splitlines() if t.startswith(f"| {case} |"))


def test_run_times_of_the_limits_page() -> None:
    """Run times on boxes for seeds 0 to 4, as stated in the text."""
    seconds: dict[str, list[float]] = {}
    for r in stored("data/hard_cells.json")["runs"]:
        seconds.setdefault(r["name"], []).append(r["seconds"])
    text = " ".join(page("limits.md").split())
    for name, sentence, low, high in (
        ("front tanh(20(x+y-1))", "at a slant, takes 0.3 to 0.7 s to 1e-8", 0.25, 0.75),
        ("30 wavelengths", "30 wavelengths across a square takes 1 s to 1e-8", 0.5, 1.5),
        ("cube, smooth", "a smooth Helmholtz problem to 1e-8 less than 1 s", 0.0, 1.0),
        ("cube, peak of 1/20", "a peak of width 1/20 takes 5 to 7 s to 1e-6", 4.5, 7.5),
    ):
        assert sentence in text
        assert low <= min(seconds[name]) <= max(seconds[name]) <= high, name
    corner = next(
        r
        for r in stored("data/hard_cells.json")["runs"]
        if r["name"] == "L-shape in cells" and r["seed"] == 0
    )
    assert f"r^(2/3) takes {corner['cells']} cells and {corner['seconds']:.0f} s to 1e-5" in text
