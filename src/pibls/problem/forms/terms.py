"""Σ cᵢ fᵢ(x): work on the terms of a long sum that need it, and leave the others as they are.

SymPy keeps a thousand recent results. In a sum of more terms each pass evaluates every function again: for
1500 terms a(k) sin(kπx) cos(ky) `doit` alone took half of the time to state a problem.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import sympy as sp

_ENTIRE = (sp.sin, sp.cos, sp.exp, sp.sinh, sp.cosh)
"""Functions whose values SymPy simplifies by the form of the argument alone, not by what is known of it."""
_PLAIN = (sp.Add, sp.Mul, sp.Pow, sp.Symbol, sp.Number, sp.NumberSymbol, *_ENTIRE)


def evaluated(expression: Any) -> Any:
    """`doit` of the terms that may have something left to do; integrals stay."""
    plain, others = _parted(expression)
    done = others.doit(integrals=False, deep=True)
    return done if not plain else sp.Add(done, *plain)


def renamed(expression: Any, table: Mapping[Any, Any]) -> Any:
    """Symbols replaced by other symbols; sines and the like are not simplified again."""
    plain, others = _parted(expression)
    done = others.xreplace(dict(table))
    if not plain:
        return done
    known: dict[Any, Any] = dict(table)
    return sp.Add(done, *(_rebuilt(term, known) for term in plain))


def _parted(expression: Any) -> tuple[list[Any], Any]:
    """The terms of plain functions, and the sum of the others."""
    if not isinstance(expression, sp.Add):
        return [], expression
    plain: list[Any] = []
    others: list[Any] = []
    for term in expression.args:
        (plain if all(isinstance(n, _PLAIN) for n in sp.preorder_traversal(term)) else others).append(term)
    return (plain, sp.Add(*others)) if others else (plain, sp.Integer(0))


def _rebuilt(node: Any, known: dict[Any, Any]) -> Any:
    found = known.get(node)
    if found is None:
        arguments = [_rebuilt(a, known) for a in node.args]
        if all(a is b for a, b in zip(arguments, node.args, strict=True)):
            found = node
        elif isinstance(node, _ENTIRE):
            found = node.func(*arguments, evaluate=False)
        else:
            found = node.func(*arguments)
        known[node] = found
    return found
