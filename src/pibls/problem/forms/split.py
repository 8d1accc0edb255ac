r"""r = Σⱼ aⱼ(x) Jⱼ + ρ(x, J): which jets stand linearly, and what they are multiplied with.

Terms that are a product of one jet and something without jets say so themselves. The others are
differentiated, term by term, only by the jets that they hold; whether such a partial depends on a jet is
tried with numbers first, since SymPy's answer may take minutes.
"""

from __future__ import annotations

import cmath
import random
from collections.abc import Collection
from dataclasses import dataclass
from math import prod
from typing import Any

import sympy as sp

from pibls.errors import ProblemError

KINKED = (
    sp.Abs, sp.sign, sp.Max, sp.Min, sp.Heaviside, sp.DiracDelta, sp.floor, sp.ceiling, sp.Mod,
    sp.asin, sp.acos, sp.atan, sp.acot, sp.asec, sp.acsc, sp.atan2, sp.acosh,
)  # fmt: skip
"""Functions that bend, jump, or undo another only on one branch: equal on one side, not on the other."""

_PLACES = (sp.Integer(0), sp.Rational(1, 3), sp.Rational(5, 7))
"""Where a jet is put when the result does not depend on it; zero unless the expression is singular."""


@dataclass(frozen=True)
class Split:
    """r = Σ a s + ρ over jet symbols s, with ∂ρ/∂s for the others."""

    linear: dict[Any, Any]
    partials: dict[Any, Any]
    rest: Any


def split(expression: Any, jets: Collection[Any], name: str) -> Split:
    """The linear part, the rest and its partials, of an expression in jet symbols."""
    known = set(jets)
    easy: dict[Any, list[Any]] = {}
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
    plain = {s: sp.Add(*easy.get(s, ())) for s in jets}
    tangled = {
        s: sp.Add(*(_partial(term, s, name) for term, inside in hard if s in inside))
        for s in jets
        if any(s in inside for _, inside in hard)
    }
    rest = sp.Add(*(term for term, _ in hard))
    bent = _bent(rest)
    settled = {}
    for s, partial in tangled.items():
        coefficient = None if s in bent else _jet_free(partial, known)
        if coefficient is not None:
            settled[s] = coefficient
    if settled:
        rest = _without(rest, settled)
        tangled = {s: _partial(rest, s, name) for s in tangled if s not in settled}
    linear = {s: plain[s] + settled.get(s, 0) for s in jets if s not in tangled}
    rest = sp.Add(rest, *free, *(plain[s] * s for s in tangled))
    return Split(
        {s: a for s, a in linear.items() if a != 0}, {s: p + plain[s] for s, p in tangled.items()}, rest
    )


def _factor_of(term: Any, inside: set[Any]) -> Any:
    """a where the term is a·s for the one jet symbol in it, else None."""
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


def _partial(term: Any, s: Any, name: str) -> Any:
    partial = derivative(term, s)
    if partial.has(sp.Derivative):
        function = sorted(partial.atoms(sp.Derivative), key=str)[0].expr.func
        raise ProblemError(
            name,
            expected="terms that can be differentiated by the unknowns",
            got=f"{function} of an unknown, which has no derivative",
            remedy=f"Rewrite the equation without {function}, or smooth it.",
        )
    return partial


def derivative(e: Any, s: Any) -> Any:
    """∂e/∂s. SymPy's diff asks at every step what is known of signs and zeros, which here is nothing.

    Powers are k uᵏ⁻¹, and not k uᵏ/u, which has no value at u = 0.
    """
    if s not in e.free_symbols:
        return sp.Integer(0)
    if e.is_Symbol:
        return sp.Integer(1)
    if e.is_Add:
        return sp.Add(*(derivative(a, s) for a in e.args))
    if e.is_Mul:
        moving = [(i, a) for i, a in enumerate(e.args) if s in a.free_symbols]
        return sp.Add(*(sp.Mul(*e.args[:i], derivative(a, s), *e.args[i + 1 :]) for i, a in moving))
    if e.is_Pow and s not in e.exp.free_symbols:
        return sp.Mul(e.exp, sp.Pow(e.base, e.exp - 1), derivative(e.base, s))
    return sp.diff(e, s)


def _without(expression: Any, linear: dict[Any, Any]) -> Any:
    """ρ = r - Σ a J: the expression without its linear part."""
    for place in _PLACES:
        moved = expression.xreplace(dict.fromkeys(linear, place))
        if not moved.has(sp.nan, sp.zoo):
            return moved - sum(a * place for a in linear.values())
    return expression - sum(a * s for s, a in linear.items())


def _bent(expression: Any) -> set[Any]:
    """The symbols in which an expression may have kinks: trying it at a few places cannot tell."""
    out: set[Any] = set()
    for e in expression.atoms(*KINKED, sp.Piecewise):
        arguments = [condition for _, condition in e.args] if isinstance(e, sp.Piecewise) else e.args
        out.update(*(a.free_symbols for a in arguments))
    return out


def _jet_free(partial: Any, jets: set[Any]) -> Any:
    """The partial without jet symbols if it does not depend on them, else None."""
    held = partial.free_symbols & jets
    if not held:
        return partial
    if _varies(partial, held):
        return None
    expanded = sp.expand(partial)
    if not expanded.free_symbols & jets:
        return expanded
    # A switch may be off wherever it is tried: a symbol of its own stands for it.
    switches = partial.atoms(*KINKED, sp.Piecewise)
    roots = {p.base for p in partial.atoms(sp.Pow) if p.exp.is_number and p.exp % 1 != 0}
    if any(e.free_symbols & jets for e in switches | roots):
        return None
    smooth = partial.xreplace({e: sp.Dummy(real=True) for e in switches})
    if not all(_vanishes(sp.diff(smooth, s)) for s in sorted(held, key=str)):
        return None
    for place in _PLACES:
        moved = partial.xreplace(dict.fromkeys(held, place))
        if not moved.has(sp.nan, sp.zoo):
            return moved
    return None


_SEEN = 1e-6  # of the size of the terms: more is no rounding
_VALUES = {
    sp.exp: cmath.exp, sp.log: cmath.log, sp.sin: cmath.sin, sp.cos: cmath.cos, sp.tan: cmath.tan,
    sp.sinh: cmath.sinh, sp.cosh: cmath.cosh, sp.tanh: cmath.tanh,
}  # fmt: skip


def _varies(expression: Any, held: set[Any]) -> bool:
    """Whether an expression is seen to depend on these symbols; if not, it may still."""
    generator = random.Random(0)
    ordered = sorted(expression.free_symbols, key=str)
    first = {s: (v, abs(v)) for s in ordered for v in [complex(generator.uniform(0.2, 1.4))]}
    second = first | {
        s: (v, abs(v)) for s in ordered if s in held for v in [complex(generator.uniform(1, 2))]
    }
    try:
        (a, size), (b, other) = _measured(expression, first), _measured(expression, second)
    except (KeyError, ArithmeticError, ValueError):
        return False
    return abs(a - b) > _SEEN * max(size, other)


def _measured(e: Any, seen: dict[Any, tuple[complex, float]]) -> tuple[complex, float]:
    """The value of an expression, and its size without any cancellation between its terms."""
    if e in seen:
        return seen[e]
    if e.is_number:
        value = complex(e)
        found = value, abs(value)
    elif e.is_Add or e.is_Mul:
        parts = [_measured(a, seen) for a in e.args]
        together = sum if e.is_Add else prod
        found = complex(together(v for v, _ in parts)), float(together(s for _, s in parts))
    elif e.is_Pow:
        (base, size), (exponent, _) = _measured(e.base, seen), _measured(e.exp, seen)
        value = base**exponent
        found = value, max(abs(value), size**exponent.real if e.exp.is_Integer and e.exp > 0 else 0.0)
    else:
        value = _VALUES[e.func](_measured(e.args[0], seen)[0])
        found = value, abs(value)
    seen[e] = found
    return found


def _vanishes(expression: Any) -> bool:
    """Whether a smooth expression is zero, next to its own terms, wherever it was tried at 30 digits.

    SymPy's simplify would prove it, but it may take minutes on an ordinary source term.
    """
    if expression == 0:
        return True
    generator = random.Random(0)
    # Decimals as fractions: a Float would round everything it touches to 15 digits.
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


def _size(expression: Any, values: dict[Any, Any]) -> Any:
    """The size of an expression without any cancellation between its terms."""
    if expression.is_Add:
        return sum(_size(e, values) for e in expression.args)
    if expression.is_Mul:
        return sp.prod(_size(e, values) for e in expression.args)
    return abs(expression.xreplace(values).evalf(30))
