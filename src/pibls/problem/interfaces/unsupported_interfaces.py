"""Errors for interfaces that are not supported."""

from __future__ import annotations

from collections.abc import Sequence

import sympy as sp

from pibls.errors import ProblemError
from pibls.expressions import Parameter
from pibls.geometry import time_of
from pibls.problem.interfaces.decomposition import SubdomainDecomposition, subdomain_decomposition
from pibls.problem.interfaces.discontinuities import switch_axes
from pibls.problem.interfaces.switches import find_switches
from pibls.problem.problem import Problem


def refuse_unsupported_interfaces(problem: Problem) -> None:
    """Raise a ProblemError for jumps on slanted or curved surfaces that are not supported."""
    jumps = [str(s.expression) for s in problem.breaks.curved if s.coefficient_jumps]
    found = subdomain_decomposition(problem)
    switches = [s for statement in problem.statements for s in statement.form.switches]
    at_integers = any(s.at_integers and len(switch_axes(s, problem.switch_context())) > 1 for s in switches)
    if jumps and (found is None or at_integers):
        raise ProblemError(
            "problem",
            expected="fluxes whose coefficients jump on coordinate planes, or where an expression of two or "
            "three coordinates is zero",
            got=f"a jump at {', '.join(jumps[:3])}",
            remedy="Write it with Piecewise, one formula on each side. Other cases are not supported yet: "
            "smooth the jump, for example with tanh((x - a)/width).",
        )
    if found is not None:
        _refuse_combinations(problem, found)


def _refuse_combinations(problem: Problem, found: SubdomainDecomposition) -> None:
    """Raise a ProblemError for sources and integrals together with interfaces."""
    if problem.breaks.sources:
        raise ProblemError(
            "problem",
            expected="no DiracDelta together with jumps on a slanted or curved surface",
            got="both",
            remedy="This is not supported yet: use a narrow exp(-((x - a)/w)**2) for the source.",
        )
    if found.partition.domain is problem.domain and time_of(problem.domain) is not None:
        for s in problem.statements:
            if s.region.is_integral:
                raise ProblemError(
                    s.name,
                    expected="no integral together with jumps on a moving surface",
                    got="an integral",
                    remedy="This is not supported yet: fix the value at a point instead, on={x: 0, y: 0}.",
                )


def refuse_moving_interfaces(problem: Problem, symbols: Sequence[Parameter], argument: str) -> None:
    """Raise a ProblemError if a parameter moves an interface."""
    for equation in problem.equations:
        residual = equation.lhs - equation.rhs if isinstance(equation, sp.Equality) else sp.sympify(equation)
        for switch in find_switches(residual, problem.coordinates, ()):
            moving = switch.expression.free_symbols & set(symbols)
            if moving and not switch.is_singular:
                raise ProblemError(
                    argument,
                    expected="parameters that do not move jumps",
                    got=f"{sorted(map(str, moving))[0]}, which moves a jump",
                    remedy="Fix it, or replace the jump by a steep smooth function such as tanh.",
                )
