"""docs/benchmarks/pielm-and-the-paper.md, from docs/data/pielm.json."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any

from benchmarks import paper_tables, pielm_range
from benchmarks.pages.reading import LINEAR, Cells, error
from benchmarks.pages.text import filled, names, plain, sci, span, template
from benchmarks.report_tables import Summary, table

Data = dict[str, Any]
Choice = tuple[str, str]
_SHOWN = 10
_NEAR = 5.0
"""Factor within which an error counts as equal to that of the paper."""


def read() -> Data:
    data: Data = json.loads(pielm_range.DATA.read_text())
    return data


def printed(case: str) -> float:
    return paper_tables.ROWS["PIELM"][case][0]


def distance(data: Data, case: str, choice: Choice) -> float:
    """Return the factor (at least 1) between the maximum errors here and in the paper."""
    scale, solver = choice
    ours = data[case][scale][solver][0]
    return math.inf if not 0 < ours < math.inf else math.exp(abs(math.log(ours / printed(case))))


def choices(data: Data) -> list[Choice]:
    """Return the settings that were tried on every case."""
    scales = [pielm_range.label(s) for s in (*pielm_range.SCALES, *pielm_range.WIDE)]
    solvers = list(pielm_range.solvers())
    pairs = [(a, b) for a in scales for b in solvers]
    return [(a, b) for a, b in pairs if all(b in data.get(c, {}).get(a, {}) for c in LINEAR)]


def largest_distance(data: Data, choice: Choice) -> float:
    return max(distance(data, c, choice) for c in LINEAR)


def blanks(data: Data, found: Sequence[Summary]) -> dict[str, str]:
    cells = Cells(found)
    ours = cells.each("pielm", LINEAR, error)
    ranked = sorted(choices(data), key=lambda one: largest_distance(data, one))
    best = ranked[0]
    most = [printed(c) for c in LINEAR if c != "TC-7"]
    return {
        "paper_span": span((printed(c) for c in LINEAR), "sci"),
        "ours_span": span(ours.values(), "sci"),
        "ours_better": names([c for c in LINEAR if ours[c] < printed(c)]),
        "ours_worse": names([c for c in LINEAR if ours[c] >= printed(c)]),
        "count": f"{len(ranked)}",
        "scales": names([f"{s:g}" for s in pielm_range.SCALES if s is not None]),
        "solvers": f"{len(pielm_range.solvers())}",
        "best_scale": best[0],
        "best_solver": best[1],
        "best_factor": plain(largest_distance(data, best)),
        "nearest": _nearest(data, ranked[:_SHOWN]),
        "cases": _cases(data, ranked),
        "wide": names([f"{s:g}" for s in pielm_range.WIDE]),
        **_common(data),
        "paper_spread": plain(max(most) / min(most)),
        "best_span": span(cells.each("pielm-best", LINEAR, error).values(), "sci"),
    }


def _common(data: Data) -> dict[str, str]:
    """Return the R with which plain gelsd is near the paper on most cases, and the best R of the others."""
    scales = [f"{s:g}" for s in (*pielm_range.SCALES, *pielm_range.WIDE) if s is not None]

    def near(scale: str) -> list[str]:
        return [c for c in LINEAR if distance(data, c, (scale, "gelsd")) <= _NEAR]

    common = max(scales, key=lambda s: len(near(s)))
    cases = near(common)
    others = []
    for case in LINEAR:
        if case not in cases:
            best = min(scales, key=lambda s, c=case: distance(data, c, (s, "gelsd")))  # type: ignore[misc]
            factor = distance(data, case, (best, "gelsd"))
            others.append(f"{case} needs R = {best} (a factor of {plain(factor)})")
    # The best smaller R for these cases together.
    lower = min(
        (s for s in scales if float(s) < float(common)),
        key=lambda s: max(data[c][s]["gelsd"][0] for c in cases),
    )
    return {
        "common_scale": common,
        "common_factor": plain(max(distance(data, c, (common, "gelsd")) for c in cases)),
        "common_cases": names(cases),
        "others": f"{'; '.join(others)}.",
        "lower": lower,
        "rise": span(data[c][common]["gelsd"][0] / data[c][lower]["gelsd"][0] for c in cases),
    }


def _nearest(data: Data, ranked: Sequence[Choice]) -> str:
    rows = [
        [*one, *(sci(data[c][one[0]][one[1]][0]) for c in LINEAR), plain(largest_distance(data, one))]
        for one in ranked
    ]
    paper = ["", "*the paper*", *(f"*{sci(printed(c))}*" for c in LINEAR), ""]
    return table(["R", "solver", *LINEAR, "largest factor"], [*rows, paper])


def _cases(data: Data, ranked: Sequence[Choice]) -> str:
    rows = []
    for case in LINEAR:
        near = min(ranked, key=lambda one, c=case: distance(data, c, one))  # type: ignore[misc]
        double = min(
            (c for c in ranked if c[1] == "gelsd"),
            key=lambda one, c=case: distance(data, c, one),  # type: ignore[misc]
        )
        rows.append(
            [
                case,
                sci(printed(case), 1),
                f"{sci(data[case][near[0]][near[1]][0], 1)} (R = {near[0]}, {near[1]})",
                f"{sci(data[case][double[0]]['gelsd'][0], 1)} (R = {double[0]})",
                plain(distance(data, case, double)),
            ]
        )
    return table(["case", "paper", "nearest", "nearest with gelsd", "factor"], rows)


def text(found: Sequence[Summary]) -> str:
    return filled(template("pielm"), blanks(read(), found))
