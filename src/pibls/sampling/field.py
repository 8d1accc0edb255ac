"""f(x) = F(u, ∂u, …; x): a number at every point of the domain, with a name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import sympy as sp
from sympy.core.function import AppliedUndef

from pibls.arrays import Array
from pibls.errors import ProblemError
from pibls.problem import Problem
from pibls.solution import Component, Solution
from pibls.text.typeset import short_latex, short_name


@dataclass(frozen=True)
class Sampled:
    """An expression of the unknowns and their derivatives, as a function of points."""

    solution: Solution
    expression: Any
    name: str
    """As the column of a table is called: u_xx."""
    symbol: str
    """The same as LaTeX."""

    @classmethod
    def of(cls, solution: Solution, what: Any) -> Sampled:
        """The field of an unknown (itself, its function, its name) or of an expression."""
        if isinstance(what, Component):
            expression = what.unknown
        elif isinstance(what, sp.Expr):
            expression = what
        else:
            expression = solution[what].unknown
        return cls(solution, expression, short_name(expression), short_latex(expression))

    def __call__(self, X: Array) -> Array:
        """Its values at the points X (n, d); NaN outside the domain."""
        return np.asarray(self.solution.evaluate(self.expression, *X.T))


def units_of(problem: Problem, units: Mapping[Any, str] | None) -> dict[str, str]:
    """{coordinate or unknown, itself or by name: text} as {name: text}."""
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


def fields_of(solution: Solution, what: Sequence[Any]) -> tuple[Sampled, ...]:
    """The fields that were asked for; all unknowns where nothing was."""
    return tuple(Sampled.of(solution, w) for w in (what or solution.problem.unknowns))
