"""Complexity of an expression: number of nodes, depth, number of terms, and a bound of its value.

SymPy and mpmath evaluate constants to any precision that a comparison needs; for a tower such as
exp(exp(exp(10))) they would run out of memory. Every constant must therefore be a finite floating-point
number, and the argument of an exponential must have a finite *bound* |f|, computed with all coordinates and
unknowns of size one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import sympy as sp
from sympy.core.function import AppliedUndef

from pibls.expressions import Expression
from pibls.text.function_table import CHEAP_TO_EVALUATE, EXPONENTIAL_GROWTH, NUMERIC_FUNCTIONS, UPPER_BOUNDS
from pibls.text.limits import MAX_BITS, MAX_EXPONENT, MAX_HEIGHT, MAX_SIZE, MAX_TERMS
from pibls.text.work_budget import spend

_UNIT = 1.3
"""The bound of a coordinate or an unknown."""
_POLE = 1e3
"""The assumed bound of 1/f, that is of the distance of points to a pole."""
_MAX_COUNT = 10**9
"""Upper bound of the number of terms that is counted."""
_NEGATIVE = (
    "Check for the root or logarithm of a negative number; the real cube root is sign(x)*abs(x)^(1/3)."
)


class LimitError(Exception):
    """An expression beyond a limit; the arguments are (expected, got, remedy)."""


@dataclass(frozen=True)
class Complexity:
    """Number of nodes, depth, a bound of |f|, and for a constant its value (NaN if it is not real)."""

    size: int
    height: int
    bound: float
    value: float | None = None
    terms: int = 1
    """Number of terms after expansion."""
    has_unknown: bool = False


class ComplexityMeter:
    """Measures the complexity of expressions, each subexpression once."""

    def __init__(self) -> None:
        self._known: dict[Expression, Complexity] = {}

    def measure(self, expression: Expression) -> Complexity:
        """Return the complexity of an expression; raises `LimitError` if it exceeds a limit."""
        found = self._known.get(expression)
        if found is None:
            spend(2.0)
            found = self._measure(expression)
            self._known[expression] = found
        return found

    def value(self, expression: Expression) -> float | None:
        """Return the value of a constant expression; None if it is not constant."""
        return self.measure(expression).value

    def _measure(self, e: Expression) -> Complexity:
        _check_atom(e)
        if isinstance(e, (sp.Derivative, AppliedUndef)):
            parts = [self.measure(e.args[0])]
            return Complexity(1 + parts[0].size, 1 + parts[0].height, _UNIT, has_unknown=True)
        parts = [self.measure(a) for a in e.args]
        size = 1 + sum(p.size for p in parts)
        height = 1 + max((p.height for p in parts), default=0)
        if size > MAX_SIZE or height > MAX_HEIGHT:
            raise LimitError(
                f"an expression of at most {MAX_SIZE} nodes and depth {MAX_HEIGHT}",
                f"{size} nodes and depth {height}",
                "Simplify it.",
            )
        _check_exponent(e, parts)
        if not isinstance(e, sp.Expr):
            return Complexity(size, height, 1.0)
        if e.is_number:
            value = _value(e, [p.value for p in parts])
            _check_value(e, value)
            return Complexity(size, height, abs(value), value)
        has_unknown, terms = any(p.has_unknown for p in parts), _terms(e, parts)
        _check_terms(terms if has_unknown else 0)
        return Complexity(size, height, _bound(e, parts), None, terms, has_unknown)


def _terms(e: Expression, parts: list[Complexity]) -> int:
    if e.is_Add:
        return sum(p.terms for p in parts)
    if e.is_Mul:
        return min(math.prod(p.terms for p in parts), _MAX_COUNT)
    if e.is_Pow and parts[0].terms > 1 and parts[1].value is not None:
        k = int(abs(parts[1].value))
        return min(math.comb(parts[0].terms + k - 1, k), _MAX_COUNT) if k else 1
    return 1


def _check_atom(e: Expression) -> None:
    if e in (sp.zoo, sp.oo, -sp.oo, sp.nan):
        raise LimitError(
            "finite values",
            "a division by zero, or infinity",
            "Check for a zero in a denominator or a logarithm.",
        )
    if e == sp.I:
        raise LimitError(
            "real values",
            "a complex number",
            _NEGATIVE,
        )
    if isinstance(e, sp.Rational) and bits(e) > MAX_BITS:
        raise LimitError(
            f"exact numbers of at most {MAX_BITS} bits", f"{bits(e)} bits", "Write it as a decimal."
        )


def bits(number: sp.Rational) -> int:
    """Return the number of bits of numerator and denominator of a rational number."""
    return int(number.p).bit_length() + int(number.q).bit_length()


def _check_value(e: Expression, value: float) -> None:
    if math.isnan(value):
        raise LimitError(
            "real values",
            f"the constant {e}, which is not a real number",
            _NEGATIVE,
        )
    if math.isinf(value):
        raise LimitError(
            "numbers in the floating-point range, up to 1e308",
            "a larger constant",
            "Rescale the problem.",
        )


def _check_terms(terms: float) -> None:
    """Raise a LimitError for too many terms in the unknowns."""
    if terms > MAX_TERMS:
        raise LimitError(
            f"at most {MAX_TERMS} terms in the unknowns after expansion",
            f"{terms}",
            "Write lower powers of shorter sums.",
        )


def _check_exponent(e: Expression, parts: list[Complexity]) -> None:
    """Raise a LimitError for a variable with a large exponent."""
    if e.is_Pow and parts[0].value is None and abs(parts[1].value or 0.0) > MAX_EXPONENT:
        raise LimitError(f"exponents of at most {MAX_EXPONENT}", f"{parts[1].value:g}", "Rescale it.")


def _value(e: Expression, parts: list[float | None]) -> float:
    """Return the value of a constant from those of its operands; NaN if not real, inf on overflow."""
    try:
        return _evaluated(e, [math.nan if p is None else p for p in parts])
    except (OverflowError, ZeroDivisionError):
        return math.inf
    except (ValueError, TypeError):
        return math.nan


def _evaluated(e: Expression, values: list[float]) -> float:
    if not values:
        return _number(e)
    if e.is_Add:
        return math.fsum(values)
    if e.is_Mul:
        return math.prod(values)
    if e.is_Pow:
        return math.pow(*values)
    if e.func in NUMERIC_FUNCTIONS:
        return float(NUMERIC_FUNCTIONS[e.func](*values))
    if any(not math.isfinite(v) for v in values):  # includes conditions among the arguments
        return math.nan if not isinstance(e, sp.Piecewise) else 1.0
    return float(e.evalf(15))


def _number(e: Expression) -> float:
    if isinstance(e, sp.Rational):
        return int(e.p) / int(e.q)
    return float(e)


def _bound(e: Expression, parts: list[Complexity]) -> float:
    bounds = [p.bound for p in parts]
    try:
        if not bounds:
            return _UNIT
        if e.is_Add:
            return math.fsum(bounds)
        if e.is_Mul:
            return math.prod(bounds)
        if e.is_Pow:
            return _power_bound(parts[0].bound, parts[1])
        if isinstance(e, EXPONENTIAL_GROWTH):
            return math.exp(bounds[-1])
        return UPPER_BOUNDS.get(e.func, max(_POLE, *bounds))
    except OverflowError:
        return math.inf


def _power_bound(base: float, exponent: Complexity) -> float:
    if exponent.value is None:
        return math.pow(max(base, 2.0), exponent.bound)
    if exponent.value >= 0:
        return math.pow(base, exponent.value)
    return math.pow(_POLE, -exponent.value)


def is_cheap_to_evaluate(f: type[sp.Function]) -> bool:
    """Whether a function can be evaluated quickly at any argument."""
    return f in CHEAP_TO_EVALUATE
