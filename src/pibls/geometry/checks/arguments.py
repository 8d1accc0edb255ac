"""Validation of the arguments of shapes: numbers, coordinates, points, sizes."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence, Set

import numpy as np
import sympy as sp

from pibls.arrays import Array
from pibls.errors import ProblemError
from pibls.expressions import Coordinate, Number

MIN_SIZE, MAX_SIZE = 1e-70, 1e70
"""Allowed sizes of domains. -Δu = 1/L² on (0, L) is solved for L = 1e-70 and 1e80; it fails for 1e-76 and
1e100, where squares of second derivatives under- or overflow."""
_MAX_EXPONENT = 150  # decimal; float64 has 308, and powers of lengths are squared


def real_number(value: Number, argument: str) -> float:
    """Return a finite float from a number or a SymPy constant such as sp.pi."""
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
            remedy="Truncate an unbounded domain at a finite coordinate.",
        )
    return number


def check_extent(size: float, argument: str) -> None:
    """Raise a ProblemError for a size whose fourth power is not representable in float64."""
    if not MIN_SIZE <= size <= MAX_SIZE:
        raise ProblemError(
            argument,
            expected=f"a size from {MIN_SIZE:g} to {MAX_SIZE:g}",
            got=f"{size:g}",
            remedy="Use other units of length and time: squares of derivatives must be representable.",
        )


def check_magnitude(number: float, argument: str) -> float:
    """Return a coordinate of a point, or raise a ProblemError if its absolute value is too large."""
    if abs(number) > MAX_SIZE:
        raise ProblemError(
            argument,
            expected=f"a number between {-MAX_SIZE:g} and {MAX_SIZE:g}",
            got=f"{number:g}",
            remedy="Use other units of length and time: squares of derivatives must be representable.",
        )
    return number


def check_lengths(sides: Array, order: int, argument: str) -> None:
    """Raise a ProblemError for sides (low, high) of length L if L^(2 order) is not representable in float64.

    Equations of order 4 are solved for lengths of 1e40; they fail for 1e50.
    """
    max_length = 10.0 ** (_MAX_EXPONENT / order)
    widths = sides[:, 1] - sides[:, 0]
    if order > 2 and not (np.abs(sides).max() <= max_length and widths.min() >= 1.0 / max_length):
        raise ProblemError(
            argument,
            expected=f"lengths and coordinates between {1 / max_length:.0e} and {max_length:.0e} "
            f"for order {order}",
            got=", ".join(f"({a:g}, {b:g})" for a, b in sides),
            remedy="Use other units of length and time: squares of derivatives must be representable.",
        )


def check_coordinate(symbol: Coordinate, argument: str) -> Coordinate:
    """Return the symbol, or raise a ProblemError if it cannot be a real coordinate."""
    if not isinstance(symbol, sp.Symbol):
        raise ProblemError(
            argument,
            expected="a SymPy symbol",
            got=repr(symbol),
            remedy='Make one with sympy.symbols("x").',
        )
    # SymPy simplifies by assumptions: sin(pi*x) becomes 0 for an integer x.
    assumptions = {
        "an integer": symbol.is_integer,
        "not real": symbol.is_extended_real is False,
        "infinite": symbol.is_finite is False,
        "non-commutative": not symbol.is_commutative,
    }
    for name, holds in assumptions.items():
        if holds:
            raise _contradiction(argument, symbol, f"declared {name}")
    return symbol


def _contradiction(argument: str, symbol: Coordinate, got: str) -> ProblemError:
    return ProblemError(
        argument,
        expected=f"a symbol {symbol} that can take all real values of the domain",
        got=f"a symbol {got}",
        remedy=f'Write sympy.Symbol("{symbol}", real=True) and use this symbol everywhere.',
    )


def check_sign_assumption(symbol: Coordinate, low: float, high: float, argument: str) -> None:
    """Raise a ProblemError if the range (low, high) contradicts the declared sign of the symbol."""
    if low < 0 and symbol.is_nonnegative:
        raise _contradiction(argument, symbol, f"declared positive, on ({low:g}, {high:g})")
    if high > 0 and symbol.is_nonpositive:
        raise _contradiction(argument, symbol, f"declared negative, on ({low:g}, {high:g})")


def check_distinct_names(symbols: Sequence[Coordinate], argument: str) -> None:
    """Raise a ProblemError unless the names of the coordinates differ: solution(x=…, y=…) needs that."""
    names = [str(s) for s in symbols]
    repeated = [n for n in names if names.count(n) > 1]
    if repeated:
        raise ProblemError(
            argument,
            expected="coordinates with different names",
            got=f"two coordinates named {repeated[0]}",
            remedy="Symbols of the same name with other assumptions are different symbols: rename one.",
        )


def ordered_ends(low: Number, high: Number, argument: str) -> tuple[float, float]:
    """Return the ends (low, high) of an interval as floats, or raise a ProblemError."""
    a, b = (check_magnitude(real_number(end, argument), argument) for end in (low, high))
    if not a < b:
        raise ProblemError(
            argument,
            expected="a lower end below the upper end",
            got=f"({a:g}, {b:g})",
            remedy="An interval must not be empty: give (low, high) with low < high.",
        )
    check_extent(b - a, argument)
    return a, b


def format_coordinates(symbols: Sequence[Coordinate]) -> str:
    """Return the coordinates as text: (x, y)."""
    return f"({', '.join(map(str, symbols))})"


def check_coordinates(
    symbols: Coordinate | Sequence[Coordinate], argument: str, *, least: int, most: int | None = None
) -> tuple[Coordinate, ...]:
    """Return ``least`` to ``most`` SymPy symbols with different names, or raise a ProblemError."""
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
        check_coordinate(symbol, argument)
    check_distinct_names(given, argument)
    return given


def check_two_coordinates(
    symbols: Coordinate | Sequence[Coordinate], argument: str
) -> tuple[Coordinate, ...]:
    """Return the two coordinates of a plane shape, or raise a ProblemError."""
    return check_coordinates(symbols, argument, least=2, most=2)


def point_of(values: Iterable[Number], symbols: Sequence[Coordinate], argument: str) -> tuple[float, ...]:
    """Return a point with one float per coordinate, or raise a ProblemError."""
    try:
        if isinstance(values, (str, bytes, Mapping, Set)):
            raise TypeError
        given = tuple(values)
    except TypeError:
        given = ()
    if len(given) != len(symbols):
        raise ProblemError(
            argument,
            expected=f"a number for each of {format_coordinates(symbols)}",
            got=repr(values),
            remedy=f"Write ({', '.join('0' for _ in symbols)}) with your numbers.",
        )
    return tuple(check_magnitude(real_number(v, argument), argument) for v in given)


def positive_number(value: Number, argument: str) -> float:
    """Return a positive float, or raise a ProblemError."""
    number = real_number(value, argument)
    if number <= 0:
        raise ProblemError(
            argument,
            expected="a number above 0",
            got=f"{number:g}",
            remedy="A shape of zero size has no interior.",
        )
    check_extent(number, argument)
    return number


def check_sign_assumptions(
    symbols: Sequence[Coordinate], bounds: Sequence[tuple[float, float]], argument: str
) -> None:
    """Raise a ProblemError if the bounds contradict the declared signs of the symbols."""
    for symbol, (low, high) in zip(symbols, bounds, strict=True):
        check_sign_assumption(symbol, low, high, argument)
