"""Metadata of exported solutions: the problem, the status and the estimated error."""

from __future__ import annotations

import sympy as sp

from pibls._version import __version__
from pibls.expressions import Equation
from pibls.solution import Solution


def metadata(solution: Solution) -> dict[str, str | float | int]:
    """Return names and values that any file format can store."""
    problem = solution.problem
    names = ", ".join(map(str, problem.unknowns))
    stopped = solution.notes.get("stopped")
    return {
        "title": f"{names} on {problem.domain!r}",
        "equations": "; ".join(equation_text(e) for e in problem.equations),
        "conditions": "; ".join(c.label for c in problem.conditions),
        "domain": repr(problem.domain),
        "status": solution.status.name,
        "status_message": solution.status.value,
        **({} if stopped is None else {"ends_at": float(stopped[0]), "ends_because": str(stopped[1])}),
        "converged": int(solution.converged),
        "estimated_max_error": float(solution.error.max),
        "estimated_l2_error": float(solution.error.l2),
        "tolerance": float(solution.tol),
        "nodes": solution.nodes,
        "seed": solution.seed,
        "source": f"pibls {__version__}",
        "pibls_version": __version__,
    }


def equation_text(equation: Equation) -> str:
    """Return an equation as text, lhs = rhs."""
    sides = equation.args if isinstance(equation, sp.Equality) else (equation, 0)
    return f"{sides[0]} = {sides[1]}"
