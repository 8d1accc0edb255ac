"""f(g(x)): what stands inside of functions, where it is steep.

exp(-((x - a)/w)²) is as narrow as one likes, and no number of points finds it; -((x - a)/w)², which stands
inside, is as wide as the domain, and its largest value lies where the function has its own.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

import sympy as sp

_SMOOTH = (
    sp.exp, sp.sin, sp.cos, sp.sinh, sp.cosh, sp.tanh, sp.sech, sp.atan, sp.asinh, sp.erf, sp.erfc, sp.sinc,
)  # fmt: skip
"""Functions that have no singularities, wherever they are asked."""


_SWITCHES = 10**9
"""A condition holds or not within no distance at all: it is as steep as one likes."""


def inner_of(
    expressions: Iterable[Any], coordinates: Collection[Any], parameters: Collection[Any]
) -> tuple[Any, ...]:
    """What smooth functions are taken of, where it depends on the coordinates alone; 1/g is exp(-log g)."""
    own, allowed = set(coordinates), {*coordinates, *parameters}
    found: dict[Any, None] = {}
    for e in expressions:
        if not e.free_symbols & own:
            continue
        for term in sp.preorder_traversal(e):
            if isinstance(term, sp.Piecewise):
                for _, condition in term.args:
                    deep = _depth(condition)
                    if deep is not None and deep.free_symbols & own and deep.free_symbols <= allowed:
                        found[_SWITCHES * deep] = None
                continue
            if isinstance(term, _SMOOTH):
                inside = term.args[0]
            elif isinstance(term, sp.Pow) and term.exp.is_negative:
                inside = sp.log(sp.Abs(term.base))
            else:
                continue
            if inside.free_symbols & own and inside.free_symbols <= allowed and not inside.is_Symbol:
                found[inside] = None
    return tuple(found)


def _depth(condition: Any) -> Any:
    """How far within its bounds a condition holds, most in the middle; None of an equality."""
    if isinstance(condition, (sp.And, sp.Or)):
        parts = [_depth(part) for part in condition.args]
        together = sp.Min if isinstance(condition, sp.And) else sp.Max
        return None if None in parts else together(*parts)
    if isinstance(condition, sp.Rel) and condition.rel_op in ("<", "<=", ">", ">="):
        return condition.gts - condition.lts
    return None
