"""Checks of a problem statement: unknowns, numbers of equations and conditions, repeated equations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import sympy as sp
from sympy.core.function import AppliedUndef

from pibls.errors import ProblemError
from pibls.expressions import Equation, Expression, Unknown
from pibls.geometry import Domain
from pibls.problem.conditions import Condition, Dirichlet, Initial, Neumann, Periodic, Robin
from pibls.problem.forms.form import Form
from pibls.problem.forms.integral import integral
from pibls.problem.forms.known import is_known

if TYPE_CHECKING:
    from pibls.problem.conditions import BaseCondition

CONDITION_TYPES = (Dirichlet, Neumann, Robin, Periodic, Initial, Condition)


def _check_arguments(u: Unknown, domain: Domain) -> None:
    """Raise a ProblemError unless the arguments of an unknown are the coordinates of the domain."""
    if any(not a.is_Symbol and a.free_symbols & set(domain.coordinates) for a in u.args):
        raise ProblemError(
            "equations",
            expected="unknowns at the point itself",
            got=u,
            remedy="Delays, and values at other points than that of the equation, are not supported.",
        )
    if set(u.args) != set(domain.coordinates) or len(u.args) != len(domain.coordinates):
        names = ", ".join(map(str, domain.coordinates))
        raise ProblemError(
            "equations",
            expected=f"unknowns of the coordinates of the domain, such as {u.func}({names})",
            got=u,
            remedy="Apply the unknown to the symbols of the domain (the same objects: a symbol with "
            "other assumptions differs). A function that is no unknown needs a value: "
            f"parameters={{{u}: …}}.",
        )


def find_unknowns(
    equations: tuple[Equation, ...], residuals: tuple[Expression, ...], domain: Domain
) -> tuple[Unknown, ...]:
    """Return the unknowns in the order of the equations, left-hand sides first.

    S' = -bSI, I' = bSI - cI has the unknowns S, I.
    """
    found: list[Unknown] = []
    for equation, residual in zip(equations, residuals, strict=True):
        left = equation.args[0].atoms(AppliedUndef) if isinstance(equation, sp.Equality) else set()
        terms = [t for t in residual.atoms(AppliedUndef) if not is_known(t)]
        ordered = sorted(terms, key=lambda t: (t not in left, sp.default_sort_key(t)))
        found += [t for t in ordered if t not in found]
    for u in found:
        _check_arguments(u, domain)
    functions = [str(u.func) for u in found]
    twice = sorted({n for n in functions if functions.count(n) > 1})
    if twice:
        raise ProblemError(
            "equations",
            expected="the same order of arguments wherever an unknown occurs",
            got=f"{twice[0]} with its coordinates in different orders",
            remedy="Apply each unknown to the coordinates in one order.",
        )
    return tuple(found)


def check_counts(
    equations: Sequence[Equation], conditions: Sequence[BaseCondition], unknowns: Sequence[Unknown]
) -> None:
    if not equations:
        raise ProblemError(
            "equations", expected="at least one equation", got="none", remedy="Write equations=[sympy.Eq(…)]."
        )
    if not unknowns:
        raise ProblemError(
            "equations",
            expected='an unknown such as sympy.Function("u")(x)',
            got="equations without any unknown function",
            remedy="Apply the function to the coordinates: u = sympy.Function('u')(x), not a symbol.",
        )
    if len(equations) < len(unknowns):
        raise ProblemError(
            "equations",
            expected=f"as many equations as unknowns ({len(unknowns)})",
            got=f"{len(equations)} for {', '.join(map(str, unknowns))}",
            remedy="The problem is underdetermined: add the missing equations, or give a function that is "
            f"no unknown a value: parameters={{{unknowns[0]}: …}}.",
        )
    if not conditions:
        raise ProblemError(
            "conditions",
            expected="at least one condition",
            got="none",
            remedy="Without conditions the solution is not unique: add Dirichlet(u, 0), Initial(u, …), ….",
        )
    for c in conditions:
        if not isinstance(c, CONDITION_TYPES):
            raise ProblemError(
                "conditions",
                expected="Dirichlet, Neumann, Robin, Periodic, Initial or Condition",
                got=repr(c),
                remedy="Wrap an equation as Condition(equation, on=…).",
            )


def check_integrals(residuals: tuple[Expression, ...]) -> None:
    for residual in residuals:
        if residual.has(integral):
            raise ProblemError(
                "equations",
                expected="derivatives and values of the unknowns",
                got=sorted(residual.atoms(integral), key=str)[0],
                remedy="Integrals are allowed in conditions: Condition(sympy.Eq(integral(u), 0)). In an "
                "equation, replace the integral by a further unknown v with v' = u.",
            )


def check_interior(forms: tuple[Form, ...], unknowns: tuple[Unknown, ...]) -> None:
    for i, form in enumerate(forms):
        if form.needs_normal:
            raise ProblemError(
                form.name,
                expected="derivatives by the coordinates",
                got="dn(…), the normal derivative",
                remedy="dn is allowed in boundary conditions only.",
            )
        if not form.derivatives:
            raise ProblemError(
                form.name,
                expected="an equation that contains an unknown",
                got=f"{form.rest} = 0: the unknowns cancel",
                remedy="Check the signs, or remove this equation.",
            )
        twin = next((f for f in forms[:i] if replace(f, name=form.name) == form), None)
        if twin is not None:
            raise ProblemError(
                form.name,
                expected="an equation that differs from the others",
                got=f"the same as {twin.name}",
                remedy="A repeated equation determines no further unknown: remove or correct it.",
            )
    for index, u in enumerate(unknowns):
        if not any(derivative.unknown == index for form in forms for derivative in form.derivatives):
            raise ProblemError(
                "equations",
                expected=f"an equation that determines {u}",
                got="none: it cancels in all of them",
                remedy=f"Add an equation for {u}, or remove {u}.",
            )
