"""What docs/fit.md says about coverage and peers, between its marks, from stored runs; the rest stays."""

from __future__ import annotations

import json
import re
import textwrap
from pathlib import Path
from typing import Any

from benchmarks.pages.text import names, plain, sci, span
from benchmarks.report_tables import table

DOCS = Path(__file__).resolve().parents[2] / "docs"
FILE = DOCS / "fit.md"
ALIKE = 1.15
"""Times within that factor are not told apart: as much lies between two runs."""


def stored(name: str) -> Any:
    return json.loads((DOCS / "data" / f"{name}.json").read_text(encoding="utf-8"))


def coverage() -> str:
    """How often the intervals held the truth."""
    rows = stored("fit_coverage")
    problems = list(dict.fromkeys(r["problem"] for r in rows))
    held = [round(100 * r["covered"], 1) for r in rows]
    bias = max(abs(r["bias"]) for r in rows)
    return (
        f"In {rows[0]['draws']} draws of noise for each of {len(problems)} problems "
        f"({'; '.join(problems)}) the 95 % "
        f"interval held the truth in {min(held):g} to {max(held):g} % of the draws, and the largest bias "
        "of an estimate "
        f"was {plain(bias)} standard errors of its mean (`python -m benchmarks.fitting cover`)."
    )


def scipy() -> str:
    """Against least_squares over solve_ivp."""
    rows = stored("fit_peers")
    faster = [f"{plain(r['ratio'])} times faster on {r['problem']}" for r in rows if r["ratio"] > ALIKE]
    slower = [
        f"{plain(1 / r['ratio'])} times slower on {r['problem']}" for r in rows if r["ratio"] < 1 / ALIKE
    ]
    alike = [f"as fast on {r['problem']}" for r in rows if 1 / ALIKE <= r["ratio"] <= ALIKE]
    return (
        "The optimum is that of SciPy's `least_squares` over `solve_ivp`, to "
        f"{sci(max(r['difference'] for r in rows))} "
        "(derivatives by differences; partial differential equations by the method of lines on Chebyshev "
        "points). "
        f"In processor time `pibls.fit` is {names(faster + alike + slower)} "
        "(`python -m benchmarks.fitting peers`)."
    )


def deepxde() -> str:
    """Against the inverse problems among DeepXDE's examples."""
    rows, quotients = [], []
    for key, row in stored("fit_deepxde").items():
        name, _, noise = key.rpartition(" ")
        quotients.append(row["deepxde_seconds"] / row["seconds"])
        theirs, ours = (
            max(abs(a / b - 1) for a, b in zip(row[k], row["true"], strict=True))
            for k in ("deepxde", "pibls")
        )
        inside = sum(a <= v <= b for (a, b), v in zip(row["interval"], row["true"], strict=True))
        rows.append(
            [
                name,
                f"{float(noise):.0%}" if float(noise) else "none",
                sci(ours, 1),
                f"{plain(row['seconds'])} s",
                f"{inside} of {len(row['true'])}" if float(noise) else "",
                sci(theirs, 1),
                f"{plain(row['deepxde_seconds'])} s",
            ]
        )
    header = [
        "problem",
        "noise",
        "`pibls.fit`: error",
        "time",
        "true inside of 95 %",
        "DeepXDE: error",
        "time",
    ]
    said = (
        "The inverse problems among DeepXDE's examples, with their equations, points, networks and "
        "numbers of steps: three "
        "parameters of Lorenz's equations from 25 times, and a diffusivity from ten places, without "
        "noise as there, and "
        "with noise of 2 % of the spread of the values. Errors are the largest of the parameters, "
        "relative; time is that "
        f"of the processor, one thread; DeepXDE takes {span(quotients)} times as long, and gives no interval "
        "(`python -m benchmarks.inverse`)."
    )
    return f"{textwrap.fill(said, 115)}\n\n{table(header, rows)}"


def text() -> str:
    """The page with its three parts made anew."""
    page = FILE.read_text(encoding="utf-8")
    for made in (coverage, scipy, deepxde):
        begin = f"<!-- {made.__name__}: written by benchmarks.pages -->"
        pattern = re.compile(f"{re.escape(begin)}.*?<!-- end -->", re.DOTALL)
        if not pattern.search(page):
            raise ValueError(f"docs/fit.md has no {begin}")
        told = made()
        told = told if "\n" in told else textwrap.fill(told, 115, break_on_hyphens=False)
        page = pattern.sub(lambda _, b=begin, t=told: f"{b}\n\n{t}\n\n<!-- end -->", page)  # type: ignore[misc]
    return page
