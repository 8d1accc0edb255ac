"""Switching functions g(x), whose zeros are jumps, kinks, poles or branch points; separation of Dirac deltas.

`Piecewise`, `Heaviside`, `sign`, `Abs`, `Max`, `Min`, `floor` … change their branch where a function g of
the coordinates vanishes (or, for `floor` and similar functions, is an integer). `delta_sources` splits the
Dirac deltas, on planes, lines or points, off an expression.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from itertools import combinations

import sympy as sp
from sympy.core.relational import Relational

from pibls.errors import ProblemError
from pibls.expressions import Coordinate, Expression

_AT_ZERO = (sp.Abs, sp.sign, sp.Heaviside)
_AT_INTEGERS = (sp.floor, sp.ceiling, sp.frac)
_EXTREME = (sp.Max, sp.Min)
_POLES = {sp.tan: sp.cos, sp.sec: sp.cos, sp.cot: sp.sin, sp.csc: sp.sin}
_BRANCH_POINTS = (sp.atan2, sp.arg)
SWITCHING_FUNCTIONS = (*_AT_ZERO, *_AT_INTEGERS, *_EXTREME, sp.Mod, sp.Piecewise)
"""SymPy functions with several branches."""


@dataclass(frozen=True)
class Switch:
    """A switching function in the internal symbols: the branch changes at its zeros, or at integer values."""

    expression: Expression
    at_integers: bool = False
    is_singular: bool = False
    """Whether an inner expression is singular there, which may cause a jump, as in atan(1/x)."""


def find_switches(
    expression: Expression, coordinates: Collection[Coordinate], derivatives: Collection[sp.Symbol]
) -> tuple[Switch, ...]:
    """Return the switching functions of an expression that depend on the coordinates only."""
    found: dict[Switch, None] = {}
    for term in sorted(expression.atoms(*SWITCHING_FUNCTIONS), key=sp.default_sort_key):
        for switch in _switches(term):
            symbols = switch.expression.free_symbols
            if symbols & set(coordinates) and not symbols & set(derivatives):
                found.update(dict.fromkeys(_factors(switch)))
    known = {s.expression for s in found}
    for g in singular_arguments(expression):
        symbols = g.free_symbols
        if symbols & set(coordinates) and not symbols & set(derivatives):
            found.update(
                dict.fromkeys(f for f in _factors(Switch(g, is_singular=True)) if f.expression not in known)
            )
    return tuple(s for s in found if s.expression.free_symbols & set(coordinates))


def _switches(term: Expression) -> list[Switch]:
    if isinstance(term, sp.Piecewise):
        conditions = [c for _, c in term.args if c not in (sp.true, sp.false)]
        return [
            Switch(r.lhs - r.rhs)
            for c in conditions
            for r in sorted(c.atoms(Relational), key=sp.default_sort_key)
            if not isinstance(r, (sp.Equality, sp.Unequality))  # holds at one point only, as in sin(x)/x
        ]
    if isinstance(term, sp.Mod):
        return [Switch(term.args[0] / term.args[1], at_integers=True)]
    if isinstance(term, _EXTREME):
        return [Switch(a - b) for a, b in combinations(term.args, 2)]
    return [Switch(term.args[0], at_integers=isinstance(term, _AT_INTEGERS))]


def _factors(switch: Switch) -> list[Switch]:
    """Return a switch for each factor of a product, which vanishes where one of its factors does."""
    if switch.at_integers or not switch.expression.is_Mul:
        return [switch]
    return [replace(switch, expression=f) for f in switch.expression.args]


def singular_arguments(expression: Expression) -> list[Expression]:
    """Return the functions whose zeros are poles or branch points: g for 1/g, cos(g) for tan(g)."""
    zeros: dict[Expression, None] = {}
    for term in sorted(expression.atoms(sp.Pow, *_POLES, *_BRANCH_POINTS), key=sp.default_sort_key):
        if isinstance(term, sp.Pow):
            if term.exp.is_negative:
                zeros[term.base] = None
        else:
            zeros[_POLES.get(term.func, lambda g: g)(term.args[0])] = None
    return list(zeros)


Planes = tuple[tuple[int, Expression], ...]


def delta_sources(
    expression: Expression, coordinates: tuple[Coordinate, ...], called: tuple[Expression, ...], name: str
) -> tuple[Expression, dict[Planes, Expression]]:
    """Return r without its delta sources, and their strengths by the planes on which they lie.

    δ(c (x - a)) = δ(x - a) / |c|. Messages use the symbols ``called`` for the coordinates.
    """
    if not expression.has(sp.DiracDelta):
        return expression, {}

    def in_user_symbols(e: Expression) -> Expression:
        return e.xreplace(dict(zip(coordinates, called, strict=True)))

    smooth: list[Expression] = []
    found: dict[Planes, Expression] = {}
    for term in sp.Add.make_args(sp.expand_mul(expression)):
        deltas = [f for f in sp.Mul.make_args(term) if isinstance(f, sp.DiracDelta)]
        strength = sp.Mul(*(f for f in sp.Mul.make_args(term) if f not in deltas))
        if strength.has(sp.DiracDelta):
            raise ProblemError(
                name,
                expected="DiracDelta as a factor of a term",
                got=in_user_symbols(sorted(strength.atoms(sp.DiracDelta), key=str)[0]),
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
                got=in_user_symbols(sp.Mul(*deltas)),
                remedy="A product of two of them is undefined.",
            )
        key = tuple(sorted(planes, key=lambda p: p[0]))
        found[key] = found.get(key, 0) + strength
    return sp.Add(*smooth), found


def _plane(
    delta: Expression, coordinates: tuple[Coordinate, ...], name: str
) -> tuple[int, Expression, Expression]:
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
            remedy="Use a narrow exp(-((x - a)/w)**2) for other loads, and its derivative for a dipole.",
        )
    level = sp.expand(-g.xreplace({coordinates[axes[0]]: sp.Integer(0)}) / slope)
    return axes[0], level, sp.Abs(slope)
