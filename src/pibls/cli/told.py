"""What the command says of problems and solutions, for people and for machines."""

from __future__ import annotations

from typing import Any

import sympy as sp
from rich.table import Table

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
        "error": {"max": solution.error.max, "l2": solution.error.l2},
        "residuals": {name: n.relative for name, n in solution.residuals.items()},
    }


def understood(problem: Problem) -> dict[str, Any]:
    """A problem for `pibls check --json`."""
    orders = {}
    for unknown in problem.unknowns:
        found = [
            len(derivative.variables)
            for equation in problem.equations
            for derivative in sp.sympify(equation).atoms(sp.Derivative)
            if derivative.expr == unknown
        ]
        orders[str(unknown)] = max(found, default=0)
    return {
        "unknowns": [str(u) for u in problem.unknowns],
        "coordinates": [str(c) for c in problem.coordinates],
        "domain": str(problem.domain),
        "linear": problem.is_linear,
        "orders": orders,
        "equations": [_equation(e) for e in problem.equations],
        "conditions": [
            {"name": s.form.name, "where": _where(s)} for s in problem.statements[len(problem.equations) :]
        ],
    }


def _equation(equation: Any) -> str:
    if isinstance(equation, sp.Eq):
        return f"{equation.lhs} = {equation.rhs}"
    return f"{equation} = 0"


def _where(statement: Any) -> str:
    return type(statement.region).__name__.lower()


def check_table(facts: dict[str, Any], title: str) -> Table:
    """The same for a person."""
    table = Table(title=title or None, show_header=False, box=None, padding=(0, 2, 0, 0))
    table.add_row("unknowns", ", ".join(facts["unknowns"]))
    table.add_row("on", facts["domain"])
    table.add_row("kind", "linear" if facts["linear"] else "nonlinear")
    table.add_row("order", ", ".join(f"{u}: {n}" for u, n in facts["orders"].items()))
    for i, equation in enumerate(facts["equations"]):
        table.add_row("equations" if i == 0 else "", equation)
    for i, condition in enumerate(facts["conditions"]):
        table.add_row("conditions" if i == 0 else "", f"{condition['name']}  [{condition['where']}]")
    return table
