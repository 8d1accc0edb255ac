"""Printing of SymPy expressions as text that parses back to exactly the same expression.

An expression is first printed in conventional notation. If that parses to another expression, because SymPy
simplifies it (2*(x + y) becomes 2*x + 2*y), it is printed again operation by operation, with ``hold(…)``
around those that SymPy must not evaluate. The returned text has been parsed and compared.

SymPy's own string printer is not used: names, derivatives, cases, floats, relations and ``hold`` would all
have to be overridden, which is most of `formatter`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import sympy as sp
from sympy.core.function import AppliedUndef

from pibls.errors import ProblemError
from pibls.expressions import Equation, Expression, Logical, Unknown
from pibls.problem.forms.known import implementation, is_known, is_same_indicator
from pibls.text.formatter import ExpressionFormatter
from pibls.text.names import Names, Value
from pibls.text.parsing import parse_equation, parse_expression, parse_relation


class _Reader(Protocol):
    """A parser of texts: the inverse of a printer."""

    def __call__(self, text: str, names: Names, *, argument: str) -> Value | Logical: ...


class TextPrinter:
    """Prints expressions in the names of a problem.

    >>> names = Names.of("x y", unknowns="u")
    >>> u, x = names.unknowns["u"], names.coordinates["x"]
    >>> TextPrinter(names).equation(sp.Eq(u.diff(x, 2) / 2 - sp.exp(-(x**2)), 0))
    'u_xx/2 - exp(-x^2) = 0'
    """

    def __init__(self, names: Names) -> None:
        self._names = names

    def expression(self, e: Expression, *, argument: str = "expression") -> str:
        """Return the text of an expression."""
        return self._printed(e, argument, parse_expression, lambda formatter: formatter.expression(e).text)

    def equation(self, e: Equation, *, argument: str = "equation") -> str:
        """Return the text of an ``Eq``, or of an expression that is to be zero."""
        if not isinstance(e, sp.Equality):
            return self.expression(e, argument=argument)
        return self._printed(
            e, argument, parse_equation, lambda p: f"{p.expression(e.lhs).text} = {p.expression(e.rhs).text}"
        )

    def relation(self, e: Logical, *, argument: str = "on") -> str:
        """Return the text of a relation."""
        return self._printed(e, argument, parse_relation, lambda formatter: formatter.relation(e).text)

    def _printed(
        self,
        e: Expression | Logical,
        argument: str,
        read: _Reader,
        write: Callable[[ExpressionFormatter], str],
    ) -> str:
        problem: Exception | None = None
        for verbatim in (False, True):
            try:
                text: str = write(ExpressionFormatter(self._names, verbatim=verbatim))
                if self._same(read(text, self._names, argument=argument), e):
                    return text
            except ProblemError as error:
                problem = error
        raise ProblemError(
            argument,
            expected="an expression that can be written as text",
            got=str(e)[:200],
            remedy=f"Rewrite it. The reason: {problem}"
            if problem
            else "Rewrite it; its text has another meaning.",
        )

    def _same(self, a: Expression, b: Expression) -> bool:
        return bool(self._with_named_functions(a) == self._with_named_functions(b))

    def _with_named_functions(self, e: Expression) -> Expression:
        """Replace Python functions by named ones: two applications of one function differ in SymPy."""
        terms = [t for t in e.atoms(AppliedUndef) if is_known(t)]
        if not terms:
            return e
        function_names = {id(f): f"python_{i}" for i, f in enumerate(self._names.functions.values())}

        def name_of(term: Unknown) -> str | None:
            shape = next(
                (n for n, p in self._names.inside_relations.items() if is_same_indicator(p, term > 0)), None
            )
            return function_names.get(id(implementation(term))) if shape is None else f"inside_{shape}"

        return e.xreplace({t: sp.Function(str(name_of(t)))(*t.args) for t in terms})
