r"""Splitting of a residual r = Σⱼ aⱼ(x) Jⱼ + ρ(x, J) into its linear and nonlinear parts.

Products of one symbol J and a factor without such symbols are recognized directly. Other terms are
differentiated with respect to the symbols they contain. Whether such a partial depends on a symbol is first
tested numerically, since SymPy may need minutes to decide.
"""

from __future__ import annotations

import cmath
import random
from collections.abc import Collection
from dataclasses import dataclass
from math import prod

import sympy as sp

from pibls.errors import ProblemError
from pibls.expressions import Expression

NONSMOOTH_FUNCTIONS = (
    sp.Abs, sp.sign, sp.Max, sp.Min, sp.Heaviside, sp.DiracDelta, sp.floor, sp.ceiling, sp.Mod,
    sp.asin, sp.acos, sp.atan, sp.acot, sp.asec, sp.acsc, sp.atan2, sp.acosh,
)  # fmt: skip
"""Functions with kinks, jumps or branches: identities that hold on one side may fail on the other."""

_TEST_VALUES = (sp.Integer(0), sp.Rational(1, 3), sp.Rational(5, 7))
"""Values for a symbol on which the result does not depend; the first that is not singular is used."""


@dataclass(frozen=True)
class LinearSplit:
    """r = Σ a s + ρ, with {s: a}, {s: ∂ρ/∂s} for the symbols in ρ, and ρ."""

    linear: dict[sp.Symbol, Expression]
    partials: dict[sp.Symbol, Expression]
    rest: Expression


def _sorted_terms(
    expression: Expression, known: set[sp.Symbol]
) -> tuple[dict[sp.Symbol, list[Expression]], list[Expression], list[tuple[Expression, set[sp.Symbol]]]]:
    """Return the factors of the terms linear in one symbol, the terms without symbols, and the others."""
    easy: dict[sp.Symbol, list[Expression]] = {}
    free, hard = [], []
    for term in sp.Add.make_args(expression):
        inside = term.free_symbols & known
        factor = _factor_of(term, inside)
        if not inside:
            free.append(term)
        elif factor is None:
            hard.append((term, inside))
        else:
            easy.setdefault(next(iter(inside)), []).append(factor)
    return easy, free, hard


def split_linear(expression: Expression, derivatives: Collection[sp.Symbol], name: str) -> LinearSplit:
    """Return the linear part, the rest and its partials of an expression in the symbols of derivatives."""
    known = set(derivatives)
    easy, free, hard = _sorted_terms(expression, known)
    plain = {s: sp.Add(*easy.get(s, ())) for s in derivatives}
    nonlinear = {
        s: sp.Add(*(_partial(term, s, name) for term, inside in hard if s in inside))
        for s in derivatives
        if any(s in inside for _, inside in hard)
    }
    rest = sp.Add(*(term for term, _ in hard))
    kinked = _kinked_symbols(rest)
    constant = {s: _without_derivatives(p, known) for s, p in nonlinear.items() if s not in kinked}
    settled = {s: coefficient for s, coefficient in constant.items() if coefficient is not None}
    if settled:
        rest = _without(rest, settled)
        nonlinear = {s: _partial(rest, s, name) for s in nonlinear if s not in settled}
    linear = {s: plain[s] + settled.get(s, 0) for s in derivatives if s not in nonlinear}
    rest = sp.Add(rest, *free, *(plain[s] * s for s in nonlinear))
    return LinearSplit(
        {s: a for s, a in linear.items() if a != 0}, {s: p + plain[s] for s, p in nonlinear.items()}, rest
    )


def _factor_of(term: Expression, inside: set[sp.Symbol]) -> Expression:
    """Return a if the term is a·s with the only symbol s in it, else None."""
    if len(inside) != 1:
        return None
    (s,) = inside
    if term == s:
        return sp.Integer(1)
    if not term.is_Mul:
        return None
    others = [f for f in term.args if f != s]
    if len(others) != len(term.args) - 1 or any(s in f.free_symbols for f in others):
        return None
    return sp.Mul(*others)


def _partial(term: Expression, s: sp.Symbol, name: str) -> Expression:
    partial = differentiate(term, s)
    if partial.has(sp.Derivative):
        function = sorted(partial.atoms(sp.Derivative), key=str)[0].expr.func
        raise ProblemError(
            name,
            expected="terms that can be differentiated by the unknowns",
            got=f"{function} of an unknown, which has no derivative",
            remedy=f"Rewrite the equation without {function}, or replace it by a smooth function.",
        )
    return partial


def differentiate(e: Expression, s: sp.Symbol) -> Expression:
    """Return ∂e/∂s without SymPy's queries of assumptions, which make its diff slow.

    The derivative of a power is k uᵏ⁻¹ and not k uᵏ/u, which is undefined at u = 0.
    """
    if s not in e.free_symbols:
        return sp.Integer(0)
    if e.is_Symbol:
        return sp.Integer(1)
    if e.is_Add:
        return sp.Add(*(differentiate(a, s) for a in e.args))
    if e.is_Mul:
        moving = [(i, a) for i, a in enumerate(e.args) if s in a.free_symbols]
        return sp.Add(*(sp.Mul(*e.args[:i], differentiate(a, s), *e.args[i + 1 :]) for i, a in moving))
    if e.is_Pow and s not in e.exp.free_symbols:
        return sp.Mul(e.exp, sp.Pow(e.base, e.exp - 1), differentiate(e.base, s))
    return sp.diff(e, s)


def _without(expression: Expression, linear: dict[sp.Symbol, Expression]) -> Expression:
    """Return ρ = r - Σ a J."""
    for place in _TEST_VALUES:
        moved = expression.xreplace(dict.fromkeys(linear, place))
        if not moved.has(sp.nan, sp.zoo):
            return moved - sum(a * place for a in linear.values())
    return expression - sum(a * s for s, a in linear.items())


def _kinked_symbols(expression: Expression) -> set[sp.Symbol]:
    """Return the symbols in which an expression may have kinks, so that a numerical test is inconclusive."""
    out: set[sp.Symbol] = set()
    for e in expression.atoms(*NONSMOOTH_FUNCTIONS, sp.Piecewise):
        arguments = [condition for _, condition in e.args] if isinstance(e, sp.Piecewise) else e.args
        out.update(*(a.free_symbols for a in arguments))
    return out


def _without_derivatives(partial: Expression, derivatives: set[sp.Symbol]) -> Expression:
    """Return the partial without symbols of derivatives if it does not depend on them, else None."""
    contained = partial.free_symbols & derivatives
    if not contained:
        return partial
    if _varies(partial, contained):
        return None
    expanded = sp.expand(partial)
    if not expanded.free_symbols & derivatives:
        return expanded
    # A switch may be off at all test points: replace it by a symbol.
    switches = partial.atoms(*NONSMOOTH_FUNCTIONS, sp.Piecewise)
    roots = {p.base for p in partial.atoms(sp.Pow) if p.exp.is_number and p.exp % 1 != 0}
    if any(e.free_symbols & derivatives for e in switches | roots):
        return None
    smooth = partial.xreplace({e: sp.Dummy(real=True) for e in switches})
    if not all(_vanishes(sp.diff(smooth, s)) for s in sorted(contained, key=str)):
        return None
    for place in _TEST_VALUES:
        moved = partial.xreplace(dict.fromkeys(contained, place))
        if not moved.has(sp.nan, sp.zoo):
            return moved
    return None


_SIGNIFICANT = 1e-6  # of the size of the terms: larger differences are not rounding
_VALUES = {
    sp.exp: cmath.exp, sp.log: cmath.log, sp.sin: cmath.sin, sp.cos: cmath.cos, sp.tan: cmath.tan,
    sp.sinh: cmath.sinh, sp.cosh: cmath.cosh, sp.tanh: cmath.tanh,
}  # fmt: skip


def _varies(expression: Expression, contained: set[sp.Symbol]) -> bool:
    """Return whether an expression depends on these symbols at test values; False is inconclusive."""
    generator = random.Random(0)
    ordered = sorted(expression.free_symbols, key=str)
    first = {s: (v, abs(v)) for s in ordered for v in [complex(generator.uniform(0.2, 1.4))]}
    second = first | {
        s: (v, abs(v)) for s in ordered if s in contained for v in [complex(generator.uniform(1, 2))]
    }
    try:
        (a, size), (b, other) = _value_and_size(expression, first), _value_and_size(expression, second)
    except (KeyError, ArithmeticError, ValueError):
        return False
    return abs(a - b) > _SIGNIFICANT * max(size, other)


def _value_and_size(e: Expression, seen: dict[Expression, tuple[complex, float]]) -> tuple[complex, float]:
    """Return the value of an expression and its size without cancellation between its terms."""
    if e in seen:
        return seen[e]
    if e.is_number:
        value = complex(e)
        found = value, abs(value)
    elif e.is_Add or e.is_Mul:
        parts = [_value_and_size(a, seen) for a in e.args]
        together = sum if e.is_Add else prod
        found = complex(together(v for v, _ in parts)), float(together(s for _, s in parts))
    elif e.is_Pow:
        (base, size), (exponent, _) = _value_and_size(e.base, seen), _value_and_size(e.exp, seen)
        value = base**exponent
        found = value, max(abs(value), size**exponent.real if e.exp.is_Integer and e.exp > 0 else 0.0)
    else:
        value = _VALUES[e.func](_value_and_size(e.args[0], seen)[0])
        found = value, abs(value)
    seen[e] = found
    return found


def _vanishes(expression: Expression) -> bool:
    """Return whether a smooth expression is zero relative to its terms at four test points, with 30 digits.

    SymPy's simplify would prove it, but may take minutes for an ordinary source term.
    """
    if expression == 0:
        return True
    generator = random.Random(0)
    # Decimals as fractions, since a Float would limit the result to 15 digits.
    expression = expression.xreplace({f: sp.Rational(str(f)) for f in expression.atoms(sp.Float)})
    symbols = sorted(expression.free_symbols, key=str)
    for _ in range(4):
        values = {
            s: sp.Float(sp.Rational(generator.choice((-1, 1)) * generator.randint(100, 900), 701), 50)
            for s in symbols
        }
        value = expression.xreplace(values).evalf(30)
        if not value.is_number or value.has(sp.nan, sp.zoo, sp.oo):
            return False
        if abs(value) > sp.Float("1e-20") * _size(expression, values):
            return False
    return True


def _size(expression: Expression, values: dict[sp.Symbol, complex]) -> Expression:
    """Return the size of an expression without cancellation between its terms."""
    if expression.is_Add:
        return sum(_size(e, values) for e in expression.args)
    if expression.is_Mul:
        return sp.prod(_size(e, values) for e in expression.args)
    return abs(expression.xreplace(values).evalf(30))
