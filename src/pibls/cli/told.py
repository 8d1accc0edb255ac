"""What the command says of problems and solutions, for people and for machines."""

from __future__ import annotations

from typing import Any

from rich.table import Table
from rich.text import Text

from pibls.analysis.corners.clashes import clashes
from pibls.analysis.coverage import uncovered
from pibls.cli.missing import missing_conditions
from pibls.notebook.wording import PlainPen, conditions_in_words
from pibls.problem import Problem
from pibls.solution import Solution


def facts_of(solution: Solution) -> dict[str, Any]:
    """A solution for `--json`."""
    return {
        "converged": solution.converged,
        "status": solution.status.name,
        "message": solution.message,
        "nodes": solution.nodes,
        "seconds": solution.seconds,
        "seed": solution.seed,
        "tol": solution.tol,
        "error": {"max": solution.error.max, "l2": solution.error.l2, "checked": solution.error.checked},
        "windows": len(solution.windows),
        "ends_at": solution.notes["stopped"][0] if "stopped" in solution.notes else None,
        "residuals": {name: n.relative for name, n in solution.residuals.items()},
    }


def understood(problem: Problem) -> dict[str, Any]:
    """A problem for `pibls check --json`."""
    pen = PlainPen()
    orders = {}
    jets = [jet for s in problem.statements[: len(problem.equations)] for jet in s.form.jets]
    for i, unknown in enumerate(problem.unknowns):
        orders[str(unknown.func)] = max((sum(j.alpha) for j in jets if j.unknown == i), default=0)
    return {
        "unknowns": [str(u) for u in problem.unknowns],
        "coordinates": [str(c) for c in problem.coordinates],
        "domain": str(problem.domain),
        "linear": problem.is_linear,
        "orders": orders,
        "parameters": {str(k): value for k, value in problem.parameters.items()},
        "equations": [pen.equation(e) for e in problem.equations],
        "conditions": [
            {"name": c.label, "equation": what, "where": where}
            for c, (what, where) in zip(problem.conditions, conditions_in_words(problem, pen), strict=True)
        ],
        "without_condition": list(uncovered(problem)),
        "missing_conditions": list(missing_conditions(problem)),
        "clashes": list(clashes(problem)),
    }


def check_table(facts: dict[str, Any], title: str) -> Table:
    """The same for a person."""
    table = Table(title=Text(title) if title else None, show_header=False, box=None, padding=(0, 2, 0, 0))
    conditions = enumerate(facts["conditions"], 1)  # by these numbers the sketch calls them
    rows = [
        ("unknowns", ", ".join(facts["unknowns"])),
        ("on", facts["domain"]),
        ("kind", "linear" if facts["linear"] else "nonlinear"),
        ("order", ", ".join(f"{u}: {n}" for u, n in facts["orders"].items())),
        *_under("equations", facts["equations"]),
        *_under("parameters", [f"{k} = {value:g}" for k, value in facts["parameters"].items()]),
        *_under("conditions", [f"{i}. {c['equation']}, {c['where']}" for i, c in conditions]),
    ]
    if facts["without_condition"]:
        rows.append(("no condition", f"where {', '.join(facts['without_condition'])}"))
    rows += _under("singular", facts["clashes"])
    for word, text in rows:
        table.add_row(word, Text(text))  # a formula may hold brackets, which are no markup
    return table


def _under(word: str, texts: list[str]) -> list[tuple[str, str]]:
    return [("" if i else word, text) for i, text in enumerate(texts)]
