"""g(x) = 0: where a coefficient or a source bends, jumps, or is concentrated.

`Piecewise`, `Heaviside`, `sign`, `Abs`, `Max`, `Min`, `floor` … change their law where some function g of
the coordinates vanishes (or, for `floor` and its like, is a whole number). What a problem needs to know of
them is g.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import sympy as sp
from sympy.core.relational import Relational

from pibls.errors import ProblemError

_AT_ZERO = (sp.Abs, sp.sign, sp.Heaviside)
_AT_WHOLE = (sp.floor, sp.ceiling, sp.frac)
_EXTREME = (sp.Max, sp.Min)
_POLES = {sp.tan: sp.cos, sp.sec: sp.cos, sp.cot: sp.sin, sp.csc: sp.sin}
_TURNS = (sp.atan2, sp.arg)
SWITCHING = (*_AT_ZERO, *_AT_WHOLE, *_EXTREME, sp.Mod, sp.Piecewise)
"""Functions that change their law somewhere."""


@dataclass(frozen=True)
class Switch:
    """The zeros of an expression in the internal symbols, or the places where it is a whole number."""

    expression: Any
    whole: bool = False
    hidden: bool = False
    """Whether something is infinite there that a function may make a jump of, as atan(1/x) does."""


def switches_in(expression: Any, coordinates: Collection[Any], jets: Collection[Any]) -> tuple[Switch, ...]:
    """Where an expression changes its law, as far as that depends on the coordinates alone."""
    found: dict[Switch, None] = {}
    for term in sorted(expression.atoms(*SWITCHING), key=sp.default_sort_key):
        for switch in _switches(term):
            symbols = switch.expression.free_symbols
            if symbols & set(coordinates) and not symbols & set(jets):
                found.update(dict.fromkeys(_factors(switch)))
    told = {s.expression for s in found}
    for g in infinite_in(expression):
        symbols = g.free_symbols
        if symbols & set(coordinates) and not symbols & set(jets):
            found.update(
                dict.fromkeys(f for f in _factors(Switch(g, hidden=True)) if f.expression not in told)
            )
    return tuple(s for s in found if s.expression.free_symbols & set(coordinates))


def _switches(term: Any) -> list[Switch]:
    if isinstance(term, sp.Piecewise):
        conditions = [c for _, c in term.args if c not in (sp.true, sp.false)]
        return [
            Switch(r.lhs - r.rhs)
            for c in conditions
            for r in sorted(c.atoms(Relational), key=sp.default_sort_key)
            if not isinstance(r, (sp.Equality, sp.Unequality))  # one point only, as in sin(x)/x
        ]
    if isinstance(term, sp.Mod):
        return [Switch(term.args[0] / term.args[1], whole=True)]
    if isinstance(term, _EXTREME):
        return [Switch(a - b) for a, b in combinations(term.args, 2)]
    return [Switch(term.args[0], whole=isinstance(term, _AT_WHOLE))]


def _factors(switch: Switch) -> list[Switch]:
    """A product vanishes where one of its factors does."""
    if switch.whole or not switch.expression.is_Mul:
        return [switch]
    return [replace(switch, expression=f) for f in switch.expression.args]


def infinite_in(expression: Any) -> list[Any]:
    """What vanishes where a part of an expression is infinite, or turns round: 1/g, tan(g), atan2(g, h)."""
    zeros: dict[Any, None] = {}
    for term in sorted(expression.atoms(sp.Pow, *_POLES, *_TURNS), key=sp.default_sort_key):
        if isinstance(term, sp.Pow):
            if term.exp.is_negative:
                zeros[term.base] = None
        else:
            zeros[_POLES.get(term.func, lambda g: g)(term.args[0])] = None
    return list(zeros)


Planes = tuple[tuple[int, Any], ...]


def point_sources(
    expression: Any, coordinates: tuple[Any, ...], called: tuple[Any, ...], name: str
) -> tuple[Any, dict[Planes, Any]]:
    """r without its deltas, and the strength of each by the planes it lies on.

    δ(c (x - a)) = δ(x - a) / |c|. In messages the coordinates are as they are ``called``.
    """
    if not expression.has(sp.DiracDelta):
        return expression, {}

    def spoken(e: Any) -> Any:
        return e.xreplace(dict(zip(coordinates, called, strict=True)))

    smooth: list[Any] = []
    found: dict[Planes, Any] = {}
    for term in sp.Add.make_args(sp.expand_mul(expression)):
        deltas = [f for f in sp.Mul.make_args(term) if isinstance(f, sp.DiracDelta)]
        strength = sp.Mul(*(f for f in sp.Mul.make_args(term) if f not in deltas))
        if strength.has(sp.DiracDelta):
            raise ProblemError(
                name,
                expected="DiracDelta as a factor of a term",
                got=spoken(sorted(strength.atoms(sp.DiracDelta), key=str)[0]),
                remedy="Write the source as strength*DiracDelta(x - a), plus the rest.",
            )
        if not deltas:
            smooth.append(term)
            continue
        planes = []
        for delta in deltas:
            axis, level, size = _plane(delta, coordinates, name)
            planes.append((axis, level))
            strength = strength.xreplace({coordinates[axis]: level}) / size
        if len({axis for axis, _ in planes}) != len(planes):
            raise ProblemError(
                name,
                expected="at most one DiracDelta of each coordinate in a product",
                got=spoken(sp.Mul(*deltas)),
                remedy="A product of two of them has no meaning.",
            )
        key = tuple(sorted(planes, key=lambda p: p[0]))
        found[key] = found.get(key, 0) + strength
    return sp.Add(*smooth), found


def _plane(delta: Any, coordinates: tuple[Any, ...], name: str) -> tuple[int, Any, Any]:
    g = delta.args[0]
    axes = [i for i, c in enumerate(coordinates) if c in g.free_symbols]
    slope = sp.diff(g, coordinates[axes[0]]) if len(axes) == 1 else sp.nan
    if len(delta.args) > 1 or len(axes) != 1 or slope.free_symbols & set(coordinates):
        raise ProblemError(
            name,
            expected="DiracDelta(x - a) of one coordinate",
            got=f"DiracDelta with {len(axes)} coordinate(s)"
            if len(axes) != 1
            else "a derivative of DiracDelta, or one of a nonlinear argument",
            remedy="A narrow exp(-((x - a)/w)**2) stands for other loads, its derivative for a pair of them.",
        )
    level = sp.expand(-g.xreplace({coordinates[axes[0]]: sp.Integer(0)}) / slope)
    return axes[0], level, sp.Abs(slope)
