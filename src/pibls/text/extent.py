"""How large an expression is, in nodes, in levels, and in value.

SymPy and mpmath evaluate constants to any precision that a comparison asks for; with a tower such as
exp(exp(exp(10))) inside, they would need more memory than there is. So every constant must be a finite
number of floating point, and what stands in an exponential must have a finite *bound* |f|, taken where
all coordinates and unknowns are of the size one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import sympy as sp
from sympy.core.function import AppliedUndef

from pibls.text.effort import spend
from pibls.text.limits import MAX_BITS, MAX_EXPONENT, MAX_HEIGHT, MAX_SIZE, MAX_TERMS
from pibls.text.words import BOUNDED, EXPLOSIVE, TAME, VALUES

_UNIT = 1.3
"""The bound of a coordinate or an unknown."""
_POLE = 1e3
"""The bound of 1/f: how near to a pole the points come."""
_MANY = 10**9
"""Where counting terms stops."""
_NEGATIVE = "Look for the root or logarithm of a negative number; the real cube root is sign(x)*abs(x)^(1/3)."


class TooMuchError(Exception):
    """What is too much about an expression: (expected, got, remedy)."""


@dataclass(frozen=True)
class Bulk:
    """Nodes, levels, a bound of |f|, and for a constant its value (NaN where it is not real)."""

    size: int
    height: int
    bound: float
    value: float | None = None
    terms: int = 1
    """How many terms it has when it is multiplied out."""
    has_unknown: bool = False


class Ruler:
    """Measures expressions, each part once."""

    def __init__(self) -> None:
        self._known: dict[Any, Bulk] = {}

    def measure(self, expression: Any) -> Bulk:
        """The extent of an expression; raises `TooMuchError` where it is beyond the limits."""
        found = self._known.get(expression)
        if found is None:
            spend(2.0)
            found = self._measure(expression)
            self._known[expression] = found
        return found

    def value(self, expression: Any) -> float | None:
        """A constant in floating point; None for anything else."""
        return self.measure(expression).value

    def _measure(self, e: Any) -> Bulk:
        _check_atom(e)
        if isinstance(e, (sp.Derivative, AppliedUndef)):
            parts = [self.measure(e.args[0])]
            return Bulk(1 + parts[0].size, 1 + parts[0].height, _UNIT, has_unknown=True)
        parts = [self.measure(a) for a in e.args]
        size = 1 + sum(p.size for p in parts)
        height = 1 + max((p.height for p in parts), default=0)
        if size > MAX_SIZE or height > MAX_HEIGHT:
            raise TooMuchError(
                f"an expression of at most {MAX_SIZE} terms and {MAX_HEIGHT} levels",
                f"{size} and {height}",
                "Write it more simply.",
            )
        if e.is_Pow and parts[0].value is None and abs(parts[1].value or 0.0) > MAX_EXPONENT:
            raise TooMuchError(f"exponents of at most {MAX_EXPONENT}", f"{parts[1].value:g}", "Rescale it.")
        if not isinstance(e, sp.Expr):
            return Bulk(size, height, 1.0)
        if e.is_number:
            value = _value(e, [p.value for p in parts])
            _check_value(e, value)
            return Bulk(size, height, abs(value), value)
        has_unknown, terms = any(p.has_unknown for p in parts), _terms(e, parts)
        if has_unknown and terms > MAX_TERMS:
            raise TooMuchError(
                f"at most {MAX_TERMS} terms of the unknowns when it is multiplied out",
                f"{terms}",
                "Write lower powers of shorter sums.",
            )
        return Bulk(size, height, _bound(e, parts), None, terms, has_unknown)


def _terms(e: Any, parts: list[Bulk]) -> int:
    if e.is_Add:
        return sum(p.terms for p in parts)
    if e.is_Mul:
        return min(math.prod(p.terms for p in parts), _MANY)
    if e.is_Pow and parts[0].terms > 1 and parts[1].value is not None:
        k = int(abs(parts[1].value))
        return min(math.comb(parts[0].terms + k - 1, k), _MANY) if k else 1
    return 1


def _check_atom(e: Any) -> None:
    if e in (sp.zoo, sp.oo, -sp.oo, sp.nan):
        raise TooMuchError(
            "finite values",
            "a division by zero, or infinity",
            "Look for a zero in a denominator or logarithm.",
        )
    if e == sp.I:
        raise TooMuchError(
            "real values",
            "a complex number",
            _NEGATIVE,
        )
    if isinstance(e, sp.Rational) and bits(e) > MAX_BITS:
        raise TooMuchError(
            f"exact numbers of at most {MAX_BITS} bits", f"{bits(e)}", "Write it as a decimal."
        )


def bits(number: Any) -> int:
    """The length of an exact number."""
    return int(number.p).bit_length() + int(number.q).bit_length()


def _check_value(e: Any, value: float) -> None:
    if math.isnan(value):
        raise TooMuchError(
            "real values",
            f"the constant {e}, which is not a real number",
            _NEGATIVE,
        )
    if math.isinf(value):
        raise TooMuchError(
            "numbers in the range of floating point, up to 1e308",
            "a constant beyond it",
            "Rescale the problem.",
        )


def _value(e: Any, parts: list[float | None]) -> float:
    """A constant from the values of its parts; NaN where it is not real, infinity where it is too large."""
    values = [math.nan if p is None else p for p in parts]
    try:
        if not values:
            return _number(e)
        if e.is_Add:
            return math.fsum(values)
        if e.is_Mul:
            return math.prod(values)
        if e.is_Pow:
            return math.pow(*values)
        if e.func in VALUES:
            return float(VALUES[e.func](*values))
        if any(not math.isfinite(v) for v in values):  # also a condition among the arguments
            return math.nan if not isinstance(e, sp.Piecewise) else 1.0
        return float(e.evalf(15))
    except OverflowError:
        return math.inf
    except ZeroDivisionError:
        return math.inf
    except (ValueError, TypeError):
        return math.nan


def _number(e: Any) -> float:
    if isinstance(e, sp.Rational):
        return int(e.p) / int(e.q)
    return float(e)


def _bound(e: Any, parts: list[Bulk]) -> float:
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
        if isinstance(e, EXPLOSIVE):
            return math.exp(bounds[-1])
        return BOUNDED.get(e.func, max(_POLE, *bounds))
    except OverflowError:
        return math.inf


def _power_bound(base: float, exponent: Bulk) -> float:
    if exponent.value is None:
        return math.pow(max(base, 2.0), exponent.bound)
    if exponent.value >= 0:
        return math.pow(base, exponent.value)
    return math.pow(_POLE, -exponent.value)


def is_tame(f: Any) -> bool:
    """Whether a function can be evaluated quickly at anything."""
    return f in TAME
