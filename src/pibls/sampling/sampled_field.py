"""Named scalar fields f(x) = F(u, ∂u, …; x) of a solution: its unknowns, or expressions of them.

Also the checks of the fields and units that a user requests for tables, plots and exports.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import sympy as sp
from sympy.core.function import AppliedUndef

from pibls.arrays import Array
from pibls.errors import ProblemError
from pibls.expressions import Expression
from pibls.problem import Problem
from pibls.solution import Component, Solution
from pibls.text.typeset import short_latex, short_name


@dataclass(frozen=True)
class SampledField:
    """An expression of the unknowns and their derivatives as a function of points."""

    solution: Solution
    expression: Expression
    name: str
    """The name of the column in a table, such as u_xx."""
    symbol: str
    """The name as LaTeX."""

    @classmethod
    def of(cls, solution: Solution, what: Expression) -> SampledField:
        """Return the field of an unknown (its component, function or name) or of an expression."""
        if isinstance(what, Component):
            expression = what.unknown
        elif isinstance(what, sp.Expr):
            expression = what
        else:
            expression = solution[what].unknown
        return cls(solution, expression, short_name(expression), short_latex(expression))

    def __call__(self, X: Array) -> Array:
        """Return the values at the points X (n, d); NaN outside the domain."""
        return np.asarray(self.solution.evaluate(self.expression, *X.T))


def units_of(problem: Problem, units: Mapping[Expression | str, str] | None) -> dict[str, str]:
    """Return the units {coordinate or unknown, as symbol or name: text} as {name: text}."""
    names = [*map(str, problem.coordinates), *(str(u.func) for u in problem.unknowns)]
    out = {}
    for key, text in (units or {}).items():
        name = str(key.func) if isinstance(key, AppliedUndef) else str(key)
        if name not in names:
            raise ProblemError(
                "units",
                expected=f"coordinates and unknowns ({', '.join(names)})",
                got=name,
                remedy=f'Write units={{"{names[0]}": "m"}}.',
            )
        out[name] = text
    return out


def fields_of(solution: Solution, what: Sequence[Expression]) -> tuple[SampledField, ...]:
    """Return the requested fields; all unknowns if ``what`` is empty."""
    return tuple(SampledField.of(solution, w) for w in (what or solution.problem.unknowns))
