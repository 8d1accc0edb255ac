"""The generated parts of docs/fit.md on coverage and on other tools, from stored runs."""

from __future__ import annotations

import json
import re
import textwrap
from pathlib import Path
from typing import Any

from benchmarks.pages.text import plain, sci, span
from benchmarks.report_tables import table

DOCS = Path(__file__).resolve().parents[2] / "docs"
FILE = DOCS / "fit.md"


def stored(name: str) -> Any:
    return json.loads((DOCS / "data" / f"{name}.json").read_text(encoding="utf-8"))


def coverage() -> str:
    """Return the paragraph on how often the intervals contain the true values."""
    rows = stored("fit_coverage")
    problems = list(dict.fromkeys(r["problem"] for r in rows))
    held = [round(100 * r["covered"], 1) for r in rows]
    bias = max(abs(r["bias"]) for r in rows)
    return (
        f"**Coverage.** The 95 % intervals of {len(problems)} problems ({'; '.join(problems)}) were tested "
        f"with {rows[0]['draws']} draws of noise each. They contained the true value in {min(held):g} to "
        f"{max(held):g} % of the draws. The largest bias of an estimate was {plain(bias)} standard errors "
        "of its mean (`python -m benchmarks.fitting cover`)."
    )


def scipy() -> str:
    """Return the comparison with least_squares and solve_ivp."""
    rows = stored("fit_peers")
    said = (
        "**SciPy.** `least_squares` with `solve_ivp` finds the same optimum, to "
        f"{sci(max(r['difference'] for r in rows))}. Its derivatives are finite differences; partial "
        "differential equations are discretised by the method of lines on Chebyshev points. The table shows "
        "processor seconds (`python -m benchmarks.fitting peers`)."
    )
    found = [
        [r["problem"], plain(r["seconds"]), plain(r["scipy"]), plain(r["ratio"])] for r in rows
    ]  # fmt: skip
    return f"{textwrap.fill(said, 115)}\n\n{table(['problem', '`pibls.fit`', 'SciPy', 'ratio'], found)}"


def deepxde() -> str:
    """Return the comparison with the inverse problems of the DeepXDE examples."""
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
        "true values in the 95 % interval",
        "DeepXDE: error",
        "time",
    ]
    said = (
        "**DeepXDE.** These are the inverse problems among DeepXDE's examples, with the same equations, "
        "points, networks and numbers of steps: three parameters of the Lorenz equations from 25 times, and "
        "a diffusivity from ten points. The data are exact, as in the examples, or have noise of 2 % of "
        "their standard deviation. Errors are relative; the table shows the largest error of the parameters. "
        f"Times are processor times with one thread. DeepXDE takes {span(quotients)} times as long and gives "
        "no intervals (`python -m benchmarks.inverse`)."
    )
    return f"{textwrap.fill(said, 115)}\n\n{table(header, rows)}"


def text() -> str:
    """Return the page with its three parts replaced."""
    page = FILE.read_text(encoding="utf-8")
    for made in (coverage, scipy, deepxde):
        begin = f"<!-- {made.__name__}: written by benchmarks.pages -->"
        pattern = re.compile(f"{re.escape(begin)}.*?<!-- end -->", re.DOTALL)
        if not pattern.search(page):
            raise ValueError(f"docs/fit.md has no {begin}")
        part = made()
        part = part if "\n" in part else textwrap.fill(part, 115, break_on_hyphens=False)
        page = pattern.sub(lambda _, b=begin, t=part: f"{b}\n\n{t}\n\n<!-- end -->", page)  # type: ignore[misc]
    return page
