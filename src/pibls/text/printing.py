"""SymPy → text that reads back as exactly the same expression.

Printed twice if need be: first as a person would write it, and where SymPy would put that together
differently (2*(x + y) becomes 2*x + 2*y), once more operation by operation, with ``hold(…)`` around
those that SymPy must leave alone. What is returned has been read back and compared.

Not SymPy's own printer: names, derivatives, cases, floats, relations and ``hold`` would all have to be
overridden, and they are most of `phrases`.
"""

from __future__ import annotations

from typing import Any

import sympy as sp
from sympy.core.function import AppliedUndef

from pibls.errors import ProblemError
from pibls.problem.forms.known import asks_same, implementation, is_known
from pibls.text.names import Names
from pibls.text.phrases import Phrases
from pibls.text.reading import parse_equation, parse_expression, parse_relation


class Scribe:
    """Writes expressions in the names of a problem.

    >>> names = Names.of("x y", unknowns="u")
    >>> u, x = names.unknowns["u"], names.coordinates["x"]
    >>> Scribe(names).equation(sp.Eq(u.diff(x, 2) / 2 - sp.exp(-(x**2)), 0))
    'u_xx/2 - exp(-x^2) = 0'
    """

    def __init__(self, names: Names) -> None:
        self._names = names

    def expression(self, e: Any, *, argument: str = "expression") -> str:
        """The text of an expression."""
        return self._written(e, argument, parse_expression, lambda pieces: pieces.piece(e).text)

    def equation(self, e: Any, *, argument: str = "equation") -> str:
        """The text of an ``Eq``, or of an expression that is meant to be zero."""
        if not isinstance(e, sp.Equality):
            return self.expression(e, argument=argument)
        return self._written(
            e, argument, parse_equation, lambda p: f"{p.piece(e.lhs).text} = {p.piece(e.rhs).text}"
        )

    def relation(self, e: Any, *, argument: str = "on") -> str:
        """The text of a relation."""
        return self._written(e, argument, parse_relation, lambda pieces: pieces.relation(e).text)

    def _written(self, e: Any, argument: str, read: Any, write: Any) -> str:
        problem: Exception | None = None
        for verbatim in (False, True):
            try:
                text: str = write(Phrases(self._names, verbatim=verbatim))
                if self._same(read(text, self._names, argument=argument), e):
                    return text
            except ProblemError as error:
                problem = error
        raise ProblemError(
            argument,
            expected="an expression that can be written as text",
            got=str(e)[:200],
            remedy=f"The reason: {problem}" if problem else "It reads back as something else.",
        )

    def _same(self, a: Any, b: Any) -> bool:
        return bool(self._anonymous(a) == self._anonymous(b))

    def _anonymous(self, e: Any) -> Any:
        """Python functions by their names: two applications of one function are not equal for SymPy."""
        terms = [t for t in e.atoms(AppliedUndef) if is_known(t)]
        if not terms:
            return e
        numbers = {id(f): f"python_{i}" for i, f in enumerate(self._names.functions.values())}

        def called(term: Any) -> Any:
            asked = next((n for n, p in self._names.places.items() if asks_same(p, term > 0)), None)
            return numbers.get(id(implementation(term))) if asked is None else f"inside_{asked}"

        return e.xreplace({t: sp.Function(str(called(t)))(*t.args) for t in terms})
