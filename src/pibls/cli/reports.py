"""Problems and solutions as dictionaries for `--json`, and as tables for the terminal."""

from __future__ import annotations

from typing import Any

from rich.table import Table
from rich.text import Text

from pibls.analysis.corners.incompatible_conditions import incompatible_conditions
from pibls.analysis.coverage import uncovered_boundary
from pibls.cli.missing_conditions import missing_conditions
from pibls.notebook.condition_text import PlainNotation, describe_conditions
from pibls.problem import Problem
from pibls.solution import Solution


def solution_facts(solution: Solution) -> dict[str, object]:
    """Return the outcome of a solve for `--json`."""
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


def problem_facts(problem: Problem) -> dict[str, Any]:
    """Return the contents of a problem for `pibls check --json`."""
    pen = PlainNotation()
    orders = {}
    derivatives = [
        derivative for s in problem.statements[: len(problem.equations)] for derivative in s.form.derivatives
    ]
    for i, unknown in enumerate(problem.unknowns):
        orders[str(unknown.func)] = max((sum(j.alpha) for j in derivatives if j.unknown == i), default=0)
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
            for c, (what, where) in zip(problem.conditions, describe_conditions(problem, pen), strict=True)
        ],
        "without_condition": list(uncovered_boundary(problem)),
        "missing_conditions": list(missing_conditions(problem)),
        "clashes": list(incompatible_conditions(problem)),
    }


def check_table(facts: dict[str, Any], title: str) -> Table:
    """Return the table that `pibls check` prints, from `problem_facts`."""
    table = Table(title=Text(title) if title else None, show_header=False, box=None, padding=(0, 2, 0, 0))
    conditions = enumerate(facts["conditions"], 1)  # the sketch uses the same numbers
    rows = [
        ("unknowns", ", ".join(facts["unknowns"])),
        ("domain", facts["domain"]),
        ("type", "linear" if facts["linear"] else "nonlinear"),
        ("order", ", ".join(f"{u}: {n}" for u, n in facts["orders"].items())),
        *_rows("equations", facts["equations"]),
        *_rows("parameters", [f"{k} = {value:g}" for k, value in facts["parameters"].items()]),
        *_rows("conditions", [f"{i}. {c['equation']}, {c['where']}" for i, c in conditions]),
    ]
    if facts["without_condition"]:
        rows.append(("no condition", f"where {', '.join(facts['without_condition'])}"))
    rows += _rows("incompatible", facts["clashes"])
    rows += _rows("analysis", [f"{name}: {text}" for name, text in facts.get("analysis", {}).items()])
    for heading, text in rows:
        table.add_row(heading, Text(text))  # Text: brackets in a formula are not markup
    return table


def _rows(heading: str, texts: list[str]) -> list[tuple[str, str]]:
    return [("" if i else heading, text) for i, text in enumerate(texts)]
