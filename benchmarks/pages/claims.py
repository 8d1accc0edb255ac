"""Claims of the paper, each with its evidence and a verdict, for docs/paper.md and the report.

Every number is computed from stored runs. `CLAIMS` names places; tests/test_pages.py checks that each exists.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median

import numpy as np

from benchmarks import assay, assay_forward, assay_holdout, paper_tables
from benchmarks.pages import assay as assay_page
from benchmarks.pages import reading, sensitivity
from benchmarks.pages.reading import ALL, LINEAR, PLANE, Cells, paper, quotient
from benchmarks.pages.text import names, plain, sci, span, with_cases, word
from benchmarks.report_tables import Summary, table

HOLDS, PARTLY, FAILS, OPEN = "holds", "holds in part", "does not hold", "not tested by the paper"
ANSWERED, UNEXAMINED = "answered here", "not examined"
_FACTOR_OF_TEN = 10.0
_ROUNDING = 1e-14
"""Largest error of a solution of magnitude 1 that counts as rounding."""


@dataclass(frozen=True)
class Claim:
    """A claim, its place in the paper, and its evidence."""

    says: str
    where: str
    evidence: Callable[[Cells], tuple[str, str]]
    """Return the verdict and a sentence with numbers."""
    places: tuple[str, ...]
    first: bool = False
    """Whether the claim is at the top of the report."""


def _least_squares(cells: Cells) -> tuple[str, str]:
    return HOLDS, "Algorithms 1 and 2 solve for the output weights only and do not use gradient descent."


def _nonlinear(cells: Cells) -> tuple[str, str]:
    runs = [r for c in paper_tables.TABLE_3 for r in cells("pibls-published", c).finished]
    solved = sum(r["facts"]["status"] == "SOLVED" for r in runs)
    return HOLDS, (
        f"{solved} of {len(runs)} stored runs on TC-9 to TC-11 meet the loss threshold. TC-9 is slow: "
        f"{plain(cells('pibls-published', 'TC-9').seconds)} s, the paper prints "
        f"{plain(paper('PIBLS', 'TC-9')[2])} s."
    )


def _proof(cells: Cells) -> tuple[str, str]:
    return HOLDS, (
        "The proof was followed step by step and its lemma was verified numerically. It gives no rate and "
        "no width, does not cover the least-squares solution, and does not need the enhancement nodes. The "
        "density theorem that it cites was not verified."
    )


def _speed(cells: Cells) -> tuple[str, str]:
    ours = quotient(
        cells.each("pinn1", ALL, reading.seconds), cells.each("pibls-published", ALL, reading.seconds)
    )
    loose = reading.tolerance_speed(cells, "authors")
    fails = {c: v for c, v in ours.items() if v < _FACTOR_OF_TEN}
    gained = [c for c in fails if loose[c] >= _FACTOR_OF_TEN]
    still = {c: loose[c] for c in fails if loose[c] < _FACTOR_OF_TEN}
    count = len(ours) - len(fails)
    return (PARTLY if still else HOLDS), (
        f"PINN #1 takes {plain(min(v for v in ours.values() if v >= _FACTOR_OF_TEN))} to "
        f"{plain(max(ours.values()))} times as long "
        f"on {word(count)} of {word(len(ours))} cases, and with the authors' tolerances also on "
        f"{names(gained)} ({plain(min(loose[c] for c in gained)) if gained else 'none'}×). The claim does "
        f"not hold on {names(list(still))} ({plain(min(still.values())) if still else 'none'}×)."
    )


def _accuracy(cells: Cells) -> tuple[str, str]:
    both = quotient(
        cells.each("pinn1", ALL, reading.error), cells.each("pibls-published", ALL, reading.on_grid)
    )
    return (
        HOLDS,
        f"The maximum error of PINN #1 is {reading.digits(both)} orders of magnitude larger on all cases.",
    )


def _reproduced(cells: Cells) -> tuple[str, str]:
    ratio = quotient(
        cells.each("pibls-published", ALL, reading.on_grid), {c: paper("PIBLS", c)[0] for c in ALL}
    )
    return HOLDS, (
        f"Medians over the seeds are {span(ratio.values())} times the printed maximum errors, measured as "
        "in the paper; cases with a factor above ten: "
        f"{names([c for c, v in ratio.items() if v > _FACTOR_OF_TEN])}."
    )


def _machine_precision(cells: Cells) -> tuple[str, str]:
    found = cells.each("pibls-published", ALL, reading.on_grid)
    exact = [c for c, v in found.items() if v <= _ROUNDING]
    return PARTLY, (
        f"The error of PIBLS as published is at most {sci(_ROUNDING)} on {names(exact)}, and on the others "
        f"{span([v for c, v in found.items() if c not in exact], 'sci')}. That of `pibls` without "
        f"settings is {span(cells.each('pibls', ALL, reading.on_grid).values(), 'sci')} on all eleven cases."
    )


def _global(cells: Cells) -> tuple[str, str]:
    return HOLDS, (
        "A linear problem is one least-squares problem, whose solution is the global minimum of the "
        "residual at the points. The error between the points depends on R and on rounding."
    )


def _pielm(cells: Cells) -> tuple[str, str]:
    best = quotient(
        cells.each("pielm-best", LINEAR, reading.error), cells.each("pibls-published", LINEAR, reading.error)
    )
    return FAILS, (
        f"With its best scale PIELM has {span(best.values())} times the error of PIBLS on the linear cases, "
        "in the same time. The errors in the paper are those of an untuned scale."
    )


def _fem(cells: Cells) -> tuple[str, str]:
    ngsolve = cells.each("ngsolve", PLANE, reading.error)
    faster = quotient(
        cells.each("pibls-published", PLANE, reading.seconds), cells.each("ngsolve", PLANE, reading.seconds)
    )
    more = sum(v < cells("pibls-published", c).max_error for c, v in ngsolve.items())
    return FAILS, (
        f"This holds for low-order elements on the meshes of the paper. High-order elements (NGSolve) are "
        "more accurate than PIBLS as "
        f"published on {word(more)} of {word(len(ngsolve))} cases in the plane and {span(faster.values())} "
        "times faster; "
        "their order and mesh were chosen with the exact solution."
    )


def _every_solver(cells: Cells) -> tuple[str, str]:
    better = {
        c: [
            s
            for s in ("solve-bvp", "ngsolve", "scikit-fem", "tfc", "pypielm")
            if cells.has(s, c) and cells(s, c).max_error < cells("pibls-published", c).max_error
        ]
        for c in ALL
    }
    return FAILS, (
        f"At least one of solve_bvp, NGSolve, scikit-fem, TFC and PyPIELM has a smaller error on "
        f"{word(sum(bool(v) for v in better.values()))} of {word(len(ALL))} cases."
    )


def _pinns_fail(cells: Cells) -> tuple[str, str]:
    return PARTLY, (
        f"On TC-9 PINN #1 has an error of {sci(cells('pinn1', 'TC-9').max_error)} here too. On TC-11, where "
        f"the paper prints {plain(paper('PINN #1', 'TC-11')[0])}, it reaches "
        f"{sci(cells('pinn1', 'TC-11').max_error)}."
    )


def _locelm(cells: Cells) -> tuple[str, str]:
    cases = paper_tables.TABLE_3
    loc, ours = (
        [cells.each(name, cases, value) for value in (reading.error, reading.seconds)]
        for name in ("locelm", "pibls-published")
    )
    return PARTLY, (
        f"Relative to PIBLS its error is {with_cases(quotient(loc[0], ours[0]))}, its time "
        f"{with_cases(quotient(loc[1], ours[1]))}. The report lists the differences between "
        "our adapter and the original."
    )


def _nodes(cells: Cells) -> tuple[str, str]:
    found = sensitivity.read()
    return HOLDS, (
        f"The error levels off as in the paper: on TC-1 at "
        f"{sci(min(sensitivity.medians(found['TC-1'], 'nodes', 'max').values()))}"
        f", on TC-9 at {sci(min(sensitivity.medians(found['TC-9'], 'nodes', 'max').values()))}."
    )


def _near_linear(cells: Cells) -> tuple[str, str]:
    return PARTLY, (
        "At a fixed number of points the time grows with an exponent near one over a limited range. With "
        "points in proportion to the width the exponent is nearly three."
    )


def _range(cells: Cells) -> tuple[str, str]:
    return PARTLY, (
        "TC-9 needs a moderate R, as in the paper. TC-1 is robust over a range of R, but is not solved "
        "for large R; the paper reports no upper limit."
    )


def _automatic(cells: Cells) -> tuple[str, str]:
    return ANSWERED, "`pibls` chooses R from the width by the numerical rank of the basis."


def _real_time(cells: Cells) -> tuple[str, str]:
    published = cells.each("pibls-published", ALL, reading.seconds)
    mine = cells.each("pibls", ALL, reading.seconds)
    frame = 0.04
    return OPEN, (
        f"The paper has no real-time experiment. One solve as published takes "
        f"{span(published.values())} s; "
        f"{word(sum(v < frame for v in published.values()))} of {word(len(ALL))} cases fit into a frame of "
        f"{plain(1000 * frame)} ms. `pibls` takes {span(1000 * v for v in mine.values())} ms; "
        f"{word(sum(v < frame for v in mine.values()))} cases fit. `pibls.sweep` solves for new parameters."
    )


def _design(cells: Cells) -> tuple[str, str]:
    return OPEN, (
        "The paper has no design optimisation. `pibls` has parameter derivatives (`sensitivity`), sweeps "
        "and least-squares fits; a design problem was not studied."
    )


def _first(cells: Cells) -> tuple[str, str]:
    return UNEXAMINED, "This is a statement about the literature."


def _cells(cells: Cells) -> tuple[str, str]:
    stored = json.loads(assay_forward.STORED.read_text())
    scores = [v for c in stored.values() for v in c["published"]["scores"].values()]
    fits = json.loads(assay.STORED.read_text())
    good = [c for c in assay_page.CELLS if fits[f"{c} fisher"]["runs"] > 0.01]
    return PARTLY, (
        f"The forward solution with the published D and r deviates from the measurements by {span(scores)} "
        "times their scatter. The residuals of a fit are consistent with noise on "
        f"{word(len(good))} of {word(len(assay_page.CELLS))} densities; on the others the model is "
        "incomplete. The published settings do not resolve the initial state."
    )


def _generalisation(cells: Cells) -> tuple[str, str]:
    held = assay_holdout.read()
    late = [held["time"][c]["fisher"]["times"][s] for c in assay_page.CELLS for s in assay_page.LATE]
    left = [
        q["times"][s]["score"]
        for c in assay_page.CELLS
        for q in held["replicate"][c].values()
        for s in assay_page.TIMES
    ]
    density = [assay_page.pooled_score(held["density"][c]["times"]) for c in assay_page.CELLS]
    return PARTLY, (
        f"It does not hold in time: fitted to the first day, Fisher-KPP deviates from the second by "
        f"{span([q['score'] for q in late])} times the scatter of the replicates, with a negative bias in "
        f"{sum(q['bias'] < 0 for q in late)} of {len(late)} cases, and 95 % bands contain "
        f"{assay_page.percent(float(np.mean([q['coverage'] for q in late])))} of the data. It holds across "
        f"replicates ({plain(float(np.sqrt(np.mean(np.square(left)))))} times the scatter) and densities "
        f"({span(density)} times). The paper has no held-out data."
    )


def _alternative(cells: Cells) -> tuple[str, str]:
    mine = cells.each("pibls-published", ALL, reading.seconds)
    pinn = cells.each("pinn1", ALL, reading.seconds)
    faster = quotient(mine, cells.each("ngsolve", PLANE, reading.seconds))
    return PARTLY, (
        f"It holds for PINNs (PIBLS is {plain(median(quotient(pinn, mine).values()))} times faster in the "
        "median), but not for traditional methods on these cases (NGSolve is "
        f"{span(v for v in faster.values())} times faster in the plane)."
    )


REPORT = "docs/benchmarks/report.md"
CLAIMS = (
    Claim(
        "One to three orders of magnitude faster than PINNs",
        "both abstracts",
        _speed,
        (f"{REPORT}#reading", "docs/data/tolerances.json", "tests/test_pages.py"),
        True,
    ),
    Claim(
        "Significantly higher accuracy than PINNs",
        "both abstracts",
        _accuracy,
        (f"{REPORT}#reading", "tests/test_pages.py"),
        True,
    ),
    Claim(
        "The printed errors of PIBLS",
        "Tables 2 and 3",
        _reproduced,
        (f"{REPORT}#reading", "docs/data/rounding.json", "tests/test_cases.py"),
        True,
    ),
    Claim("Machine-level precision", "results, conclusion", _machine_precision, (f"{REPORT}#reading",), True),
    Claim(
        "PIELM lacks the power to represent complex solutions",
        "introduction, Table 2",
        _pielm,
        ("docs/benchmarks/pielm-and-the-paper.md", "docs/ablation.md", "tests/test_pages.py"),
        True,
    ),
    Claim(
        "More accurate than high-resolution FEM, at comparable cost",
        "results",
        _fem,
        ("docs/benchmarks/fem-and-the-paper.md", f"{REPORT}#reading", "tests/test_peers_fem.py"),
        True,
    ),
    Claim(
        "A level of precision that surpasses existing PDE solvers",
        "introduction",
        _every_solver,
        (f"{REPORT}#linear-cases-the-papers-table-2", f"{REPORT}#nonlinear-cases-the-papers-table-3"),
        True,
    ),
    Claim(
        "Models real-world biological dynamics such as cell migration",
        "second abstract",
        _cells,
        ("docs/migrating_cells.md#the-authors-experiment", "tests/test_assay_forward.py"),
        True,
    ),
    Claim(
        "Strong generalization from limited data",
        "second abstract",
        _generalisation,
        ("docs/migrating_cells.md#prediction-of-data-that-were-not-fitted", "tests/test_assay_holdout.py"),
        True,
    ),
    Claim(
        "An alternative to deep learning solvers and traditional numerical methods",
        "second abstract",
        _alternative,
        (f"{REPORT}#reading",),
        True,
    ),
    Claim(
        "An alternative for real-time simulation",
        "first abstract",
        _real_time,
        ("docs/guide/parameters.md#sweeps", "tests/test_sweep.py"),
        True,
    ),
    Claim(
        "An alternative for design optimization",
        "first abstract",
        _design,
        ("docs/guide/parameters.md#sensitivities", "tests/test_sensitivity.py"),
        True,
    ),
    Claim(
        "A proof of universal approximation",
        "both abstracts",
        _proof,
        ("docs/theory.md", "tests/test_studies.py"),
        True,
    ),
    Claim(
        "Backpropagation-free: PDE solving as direct least squares",
        "both abstracts",
        _least_squares,
        ("docs/method.md", "src/pibls/nonlinear/least_squares.py::LeastSquares", "tests/test_solver.py"),
    ),
    Claim(
        "Stable convergence on nonlinear equations by perturbed nonlinear least squares",
        "first abstract, introduction",
        _nonlinear,
        (f"{REPORT}#nonlinear-cases-the-papers-table-3", "tests/test_published_method.py"),
    ),
    Claim(
        "The globally optimal solution for the basis in a single step",
        "results",
        _global,
        ("docs/method.md", "tests/test_solver.py"),
    ),
    Claim(
        "PINNs do not converge on TC-9 and TC-11",
        "results",
        _pinns_fail,
        (f"{REPORT}#reading", "tests/test_pages.py"),
    ),
    Claim(
        "locELM lags by two orders of magnitude and is slower on TC-11",
        "results",
        _locelm,
        (f"{REPORT}#nonlinear-cases-the-papers-table-3", "tests/test_benchmark_harness.py"),
    ),
    Claim(
        "Errors saturate with the number of nodes and of points",
        "sensitivity",
        _nodes,
        ("docs/sensitivity.md", "tests/test_studies.py"),
    ),
    Claim(
        "Near-linear cost in the number of nodes",
        "sensitivity",
        _near_linear,
        ("docs/sensitivity.md", "docs/benchmarks/scaling.md", "tests/test_pages.py"),
    ),
    Claim(
        "TC-1 is robust to R above three, TC-9 needs a moderate R",
        "sensitivity",
        _range,
        ("docs/sensitivity.md", "tests/test_pages.py"),
    ),
    Claim(
        "Automatic initialisation is future work",
        "conclusion",
        _automatic,
        ("docs/scale.md", "tests/test_studies.py"),
    ),
    Claim("The first application of broad learning to PDEs", "introduction", _first, ("docs/paper.md",)),
)


def rows(found: Sequence[Summary], link: Callable[[str], str], *, first: bool = False) -> list[list[str]]:
    """Return claim, evidence, verdict and places, of all claims or of those at the top of the report."""
    cells = Cells(found)
    found_rows = []
    for one in CLAIMS:
        if first and not one.first:
            continue
        verdict, evidence = one.evidence(cells)
        found_rows.append(
            [f"{one.says} ({one.where})", evidence, f"**{verdict}**", ", ".join(map(link, one.places))]
        )
    return found_rows


def text(found: Sequence[Summary]) -> str:
    """Return docs/benchmarks/claims.md, the first section of the report."""
    from benchmarks.pages.checklist import ROOT, link

    page = ROOT / "docs/benchmarks/report.md"

    def linked(place: str) -> str:
        return link(place, page)

    found_rows = [[c, e, f"{v}<br />{w}"] for c, e, v, w in rows(found, linked, first=True)]
    return table(["claim", "evidence", "verdict, where"], found_rows) + "\n"


HEADER = ("claim", "evidence", "verdict", "where")
