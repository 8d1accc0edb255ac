"""What every shape asks of its arguments."""

from __future__ import annotations

import math
from typing import Any

import sympy as sp

from pibls.errors import ProblemError


def real_number(value: Any, argument: str) -> float:
    """A finite float from a number or a SymPy constant such as sp.pi."""
    try:
        if isinstance(value, (str, bytes, bool)):
            raise TypeError
        number = float(value)
    except (TypeError, ValueError):
        raise ProblemError(
            argument,
            expected="a real number",
            got=repr(value),
            remedy="Give a number, or a SymPy constant such as sp.pi.",
        ) from None
    if not math.isfinite(number):
        raise ProblemError(
            argument,
            expected="a finite number",
            got=number,
            remedy="Cut an unbounded domain off at a finite place.",
        )
    return number


def coordinate(symbol: Any, argument: str) -> Any:
    """A SymPy symbol."""
    if not isinstance(symbol, sp.Symbol):
        raise ProblemError(
            argument,
            expected="a SymPy symbol",
            got=repr(symbol),
            remedy='Make one with sympy.symbols("x").',
        )
    return symbol


def ordered(low: Any, high: Any, argument: str) -> tuple[float, float]:
    """Two ends, the lower one first."""
    a, b = real_number(low, argument), real_number(high, argument)
    if not a < b:
        raise ProblemError(
            argument,
            expected="a lower end below the upper end",
            got=f"({a:g}, {b:g})",
            remedy="An interval must not be empty: give (low, high) with low < high.",
        )
    return a, b
