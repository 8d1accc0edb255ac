"""What every shape asks of its arguments."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence, Set
from typing import Any

import numpy as np
import sympy as sp

from pibls.arrays import Array
from pibls.errors import ProblemError

SMALLEST, LARGEST = 1e-70, 1e70
"""Sizes of domains. -Δu = 1/L² on (0, L) is solved for L = 1e-70 and 1e80, not for 1e-76 and 1e100, where
squares of second derivatives under- or overflow."""
_DIGITS = 150  # of the 308 that float64 has: powers of lengths are squared


def real_number(value: Any, argument: str) -> float:
    """A finite float from a number or a SymPy constant such as sp.pi."""
    try:
        if isinstance(value, (str, bytes, bytearray, bool, np.bool_)) or np.ndim(value):
            raise TypeError
        number = float(value)
    except OverflowError:
        number = math.inf
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


def check_extent(size: float, argument: str) -> None:
    """Refuse a size whose fourth power is no number of double precision."""
    if not SMALLEST <= size <= LARGEST:
        raise ProblemError(
            argument,
            expected=f"a size from {SMALLEST:g} to {LARGEST:g}",
            got=f"{size:g}",
            remedy="Measure lengths and times in other units: squares of derivatives must be representable.",
        )


def check_place(number: float, argument: str) -> float:
    """A coordinate of a place, unless it is too far away."""
    if abs(number) > LARGEST:
        raise ProblemError(
            argument,
            expected=f"a number between {-LARGEST:g} and {LARGEST:g}",
            got=f"{number:g}",
            remedy="Measure lengths and times in other units: squares of derivatives must be representable.",
        )
    return number


def check_lengths(sides: Array, order: int, argument: str) -> None:
    """Refuse sides (low, high) with a length L, where the square of L^order leaves the range of float64.

    Equations of order 4 are solved on lengths of 1e40 and not of 1e50.
    """
    most = 10.0 ** (_DIGITS / order)
    widths = sides[:, 1] - sides[:, 0]
    if order > 2 and not (np.abs(sides).max() <= most and widths.min() >= 1.0 / most):
        raise ProblemError(
            argument,
            expected=f"lengths and coordinates between {1 / most:.0e} and {most:.0e}, for order {order}",
            got=", ".join(f"({a:g}, {b:g})" for a, b in sides),
            remedy="Measure lengths and times in other units: squares of derivatives must be representable.",
        )


def coordinate(symbol: Any, argument: str) -> Any:
    """A SymPy symbol."""
    if not isinstance(symbol, sp.Symbol):
        raise ProblemError(
            argument,
            expected="a SymPy symbol",
            got=repr(symbol),
            remedy='Make one with sympy.symbols("x").',
        )
    # SymPy simplifies by what was declared: sin(pi*x) becomes 0 for an integer x.
    declared = {
        "an integer": symbol.is_integer,
        "not real": symbol.is_extended_real is False,
        "infinite": symbol.is_finite is False,
        "non-commutative": not symbol.is_commutative,
    }
    for what, holds in declared.items():
        if holds:
            raise _contradiction(argument, symbol, f"declared {what}")
    return symbol


def _contradiction(argument: str, symbol: Any, got: str) -> ProblemError:
    return ProblemError(
        argument,
        expected=f"a symbol {symbol} that may be any real number of the domain",
        got=f"one {got}",
        remedy=f'Write sympy.Symbol("{symbol}", real=True), and use this symbol everywhere.',
    )


def signed(symbol: Any, low: float, high: float, argument: str) -> None:
    """A symbol declared positive or negative must be so between the ends."""
    if low < 0 and symbol.is_nonnegative:
        raise _contradiction(argument, symbol, f"declared positive, on ({low:g}, {high:g})")
    if high > 0 and symbol.is_nonpositive:
        raise _contradiction(argument, symbol, f"declared negative, on ({low:g}, {high:g})")


def distinct(symbols: Sequence[Any], argument: str) -> None:
    """Coordinates are told apart by name, so that solution(x=…, y=…) is possible."""
    names = [str(s) for s in symbols]
    twice = [n for n in names if names.count(n) > 1]
    if twice:
        raise ProblemError(
            argument,
            expected="coordinates with different names",
            got=f"two called {twice[0]}",
            remedy="Symbols with the same name and other assumptions are different: rename one of them.",
        )


def ordered(low: Any, high: Any, argument: str) -> tuple[float, float]:
    """Two ends, the lower one first."""
    a, b = (check_place(real_number(end, argument), argument) for end in (low, high))
    if not a < b:
        raise ProblemError(
            argument,
            expected="a lower end below the upper end",
            got=f"({a:g}, {b:g})",
            remedy="An interval must not be empty: give (low, high) with low < high.",
        )
    check_extent(b - a, argument)
    return a, b


def mentioned(symbols: Sequence[Any]) -> str:
    """(x, y): coordinates as one writes them."""
    return f"({', '.join(map(str, symbols))})"


def several_coordinates(
    symbols: Any, argument: str, *, least: int, most: int | None = None
) -> tuple[Any, ...]:
    """Different SymPy symbols, as many as the shape has dimensions."""
    given = tuple(symbols) if isinstance(symbols, (tuple, list)) else (symbols,)
    if len(given) < least or (most is not None and len(given) > most):
        number = {(2, 2): "two", (3, 3): "three"}.get((least, most or 0), f"at least {least}")
        raise ProblemError(
            argument,
            expected=f"{number} coordinates, such as {'(x, y, z)' if least == 3 else '(x, y)'}",
            got=repr(symbols),
            remedy="Give them as a tuple of SymPy symbols.",
        )
    for symbol in given:
        coordinate(symbol, argument)
    distinct(given, argument)
    return given


def pair_of_coordinates(symbols: Any, argument: str) -> tuple[Any, ...]:
    """The two coordinates of a shape in the plane."""
    return several_coordinates(symbols, argument, least=2, most=2)


def place_of(values: Any, symbols: Sequence[Any], argument: str) -> tuple[float, ...]:
    """One number per coordinate."""
    try:
        if isinstance(values, (str, bytes, Mapping, Set)):
            raise TypeError
        given = tuple(values)
    except TypeError:
        given = ()
    if len(given) != len(symbols):
        raise ProblemError(
            argument,
            expected=f"a number for each of {mentioned(symbols)}",
            got=repr(values),
            remedy=f"Write ({', '.join('0' for _ in symbols)}) with your numbers.",
        )
    return tuple(check_place(real_number(v, argument), argument) for v in given)


def positive(value: Any, argument: str) -> float:
    """A number above zero."""
    number = real_number(value, argument)
    if number <= 0:
        raise ProblemError(
            argument,
            expected="a number above 0",
            got=f"{number:g}",
            remedy="A shape without extent has no inside.",
        )
    check_extent(number, argument)
    return number


def signed_in(symbols: Sequence[Any], bounds: Sequence[tuple[float, float]], argument: str) -> None:
    """Symbols declared positive or negative must be so in the whole shape."""
    for symbol, (low, high) in zip(symbols, bounds, strict=True):
        signed(symbol, low, high, argument)
