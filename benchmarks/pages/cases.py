"""docs/cases.md: the eleven problems typeset, with settings, our results and the paper's."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import sympy as sp

import pibls
from benchmarks import authors_settings
from benchmarks.pages.reading import ALL, Cells, on_grid
from benchmarks.pages.text import filled, plain, sci, template, word
from benchmarks.report_tables import Summary, table
from pibls.cases.case import Case

_MAX_FORMULA_LENGTH = 40
"""Length above which the formula of a condition is omitted."""


def subscripted(expression: Any) -> Any:
    """Return an expression in subscript notation: ∂²u/∂x² → u_xx, u(x, t) → u."""
    found: dict[Any, Any] = {}
    for derivative in expression.atoms(sp.Derivative):
        letters = "".join(str(v) * int(n) for v, n in derivative.variable_count)
        found[derivative] = sp.Symbol(f"u_{{{letters}}}")
    expression = expression.subs(found)
    functions = expression.atoms(sp.core.function.AppliedUndef)
    return expression.subs(dict.fromkeys(functions, sp.Symbol("u")))


def equation(case: Case) -> str:
    """Return the equation in LaTeX: u_{xx} + u_{yy} = f(x, y)."""
    left, right = case.problem.equations[0].lhs, case.problem.equations[0].rhs
    arguments = ", ".join(sp.latex(c) for c in case.problem.coordinates)
    # Time derivatives first, then by decreasing order.
    terms = sorted(subscripted(left).as_ordered_terms(), key=_rank)
    text = " ".join(_signed(term, first=i == 0) for i, term in enumerate(terms))
    return f"{text} = {0 if right == 0 else f'f({arguments})'}"


def _rank(term: Any) -> tuple[int, int, str]:
    names = [str(s) for s in term.free_symbols if str(s).startswith("u_")]
    time = any("t" in name for name in names)
    order = max((len(n) - 4 for n in names), default=0)
    return (0 if time else 1, -order if not time else 0, str(term))


def _signed(term: Any, *, first: bool) -> str:
    text = sp.latex(term)
    if text.startswith("-"):
        return text if first else f"- {text[1:].strip()}"
    return text if first else f"+ {text}"


def domain(case: Case) -> str:
    """Return the domain in LaTeX: (0, 1) × (0, 1/2)."""
    sides = (
        f"({sp.latex(sp.nsimplify(a))}, {sp.latex(sp.nsimplify(b))})" for a, b in case.problem.domain.bounds
    )
    names = ", ".join(sp.latex(c) for c in case.problem.coordinates)
    inside = names if len(case.problem.coordinates) == 1 else f"({names})"
    return f"{inside} \\in " + r" \times ".join(sides)


def condition(case: Case, one: Any) -> str:
    """Return a condition in LaTeX."""
    kind = type(one).__name__
    if kind == "Dirichlet":
        place = "at both ends" if len(case.problem.coordinates) == 1 else "on the boundary"
        time = any(str(c) == "t" for c in case.problem.coordinates)
        return f"$u$ given {'at both ends of $x$' if time else place}"
    if kind == "Periodic":
        low, high = case.problem.domain.bounds[0]
        return f"$u({low:g}, t) = u({high:g}, t)$"
    t = sp.Symbol("t")
    start = {t: 0}
    unknown = sp.Function("u")(*(c.subs(start) for c in case.problem.coordinates))
    left = sp.latex(unknown)
    if isinstance(one.expression, sp.Derivative):
        left = left.replace("u", "u'", 1)
    value = sp.latex(one.value)
    return f"${left} = {value}$" if len(value) < _MAX_FORMULA_LENGTH else f"${left}$ given"


def settings(case: Case) -> str:
    basis, points = case.published.settings["basis"], case.published.settings["points"]
    features = f"{basis.feature_groups} × {basis.feature_nodes}"
    nodes = f"{features} + {basis.enhancement_groups} × {basis.enhancement_nodes}"
    method = "Algorithm 1" if case.problem.is_linear else "Algorithm 2"
    white = "whitened" if basis.whiten else "not whitened"
    return (
        f"{nodes} = {basis.size:,} nodes, R = {basis.scale:g}, {white}; {points.interior:,} interior points, "
        f"{points.boundary:,} on the boundary, {points.initial:,} at the initial time; {method}"
    )


def results(cells: Cells, case: Case) -> list[float]:
    """Return maximum errors: pibls without settings, with the published ones, and of the paper."""
    mine, published = cells("pibls", case.name), cells("pibls-published", case.name)
    return [on_grid(mine), on_grid(published), case.published.max_error]


def _errors(cell: Summary) -> list[str]:
    """Return maximum and L2 error on the grid or, without grid errors, inside."""
    grid = (cell.grid_max_error, cell.grid_l2_error) if cell.has_grid else (cell.max_error, cell.l2_error)
    return [sci(v, 1) for v in grid]


def marked(values: Sequence[float]) -> list[str]:
    """Return the values as text, the smallest in bold."""
    return [f"**{sci(v, 1)}**" if v == min(values) else sci(v, 1) for v in values]


def summary(cells: Cells) -> str:
    rows = []
    for name in ALL:
        case = pibls.cases[name]
        mine, published = cells("pibls", name), cells("pibls-published", name)
        seconds = [mine.seconds, published.seconds, case.published.seconds]
        link = f"[{name}](#{name.lower()})"
        rows.append([link, case.title, *marked(results(cells, case)), *map(plain, seconds)])
    header = ["case", "problem", "`pibls`", "PIBLS", "paper"]
    return table([*header, "`pibls`, s", "PIBLS, s", "paper, s"], rows)


def section(cells: Cells, name: str) -> str:
    case = pibls.cases[name]
    conditions = ", ".join(condition(case, c) for c in case.problem.conditions)
    arguments = ", ".join(sp.latex(c) for c in case.problem.coordinates)
    mine, published = cells("pibls", name), cells("pibls-published", name)
    rows = [
        ["`pibls`, automatic", *_errors(mine), plain(mine.seconds)],
        ["PIBLS, published settings", *_errors(published), plain(published.seconds)],
        [
            "the paper",
            sci(case.published.max_error, 1),
            sci(case.published.l2_error, 1),
            plain(case.published.seconds),
        ],
    ]
    return "\n\n".join(
        [
            f"## {name}: {case.title} {{ #{name.lower()} }}",
            f"$$\n{equation(case)}, \\qquad {domain(case)}\n$$",
            f"Conditions: {conditions}. Exact solution:",
            f"$$\nu({arguments}) = {sp.latex(case.expression)}\n$$",
            f"Published settings: {settings(case)}.",
            table(["", "max error", "L2 error", "seconds"], rows),
        ]
    )


def authors_table() -> str:
    """Return the table of runs with the settings of the authors' code."""
    data = json.loads(authors_settings.DATA.read_text())
    rows = []
    for name in ALL:
        case, run = pibls.cases[name], data.get(name)
        chosen = case.authors.settings
        points = chosen["points"]
        counts = f"{points.interior:,} / {points.boundary:,} / {points.initial:,}"
        measured = (
            ["not run"] * 3
            if run is None
            else [sci(run["max"], 1), sci(run["rms"], 1), plain(run["seconds"])]
        )
        printed = case.published
        rows.append(
            [name, f"{chosen['seed']}", counts, *measured,
             sci(printed.max_error, 1), sci(printed.l2_error, 1), plain(printed.seconds)]
        )  # fmt: skip
    header = ["case", "seed", "points: interior / boundary / initial", "max error", "RMS error", "seconds"]
    return table([*header, "paper, max", "paper, L2", "paper, s"], rows)


def blanks(found: Sequence[Summary]) -> dict[str, str]:
    cells = Cells(found)
    rows = [[o.what, o.source, o.note] for o in pibls.cases["TC-9"].published.provenance]
    return {
        "seeds": word(min(len(cells(s, c).finished) for s in ("pibls", "pibls-published") for c in ALL)),
        "summary": summary(cells),
        "authors": authors_table(),
        "provenance": table(["setting", "source", "remark"], rows),
        "cases": "\n\n".join(section(cells, name) for name in ALL),
    }


def text(found: Sequence[Summary]) -> str:
    return filled(template("cases"), blanks(found))
