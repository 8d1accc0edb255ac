"""a + b, a b, a^b and f(a) in SymPy, each looked at before it is built.

SymPy folds exact numbers while it builds: 9^9^9 would be a number of 370 million digits. So the length
of the result is worked out first, from the lengths of the parts.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import sympy as sp

from pibls.text.effort import cost_of_derivative, cost_of_function, spend
from pibls.text.extent import Ruler, TooMuchError, bits, is_tame
from pibls.text.limits import MAX_BITS, MAX_EXPONENT, MAX_GROWTH, MAX_RADICAL_BITS, MAX_SPECIAL

_LONG = ("Write decimals of fewer digits.", "Write it as a decimal: 0.333 for 1/3.")


class Builder:
    """Builds SymPy expressions within the limits; raises `TooMuchError` before anything long begins."""

    def __init__(self) -> None:
        self._ruler = Ruler()

    def value(self, expression: Any) -> float | None:
        """A constant in floating point; None for anything else."""
        return self._ruler.value(expression)

    def checked(self, expression: Any) -> Any:
        """The expression itself, once it is measured."""
        self._ruler.measure(expression)
        return expression

    def differentiate(self, e: Any, variable: Any) -> Any:
        """∂e/∂variable."""
        spend(cost_of_derivative(e))
        return self.checked(sp.diff(e, variable))

    def add(self, terms: list[Any], *, hold: bool = False) -> Any:
        """Σ terms."""
        spend(2.0 * sum(len(sp.Add.make_args(t)) for t in terms))
        sums: dict[Any, Fraction] = {}
        for term in (t for total in terms for t in sp.Add.make_args(total)):
            coefficient, rest = term.as_coeff_Mul()
            if isinstance(coefficient, sp.Rational):
                _accumulate(sums, rest, coefficient)
        return self.checked(sp.Add(*terms, evaluate=not hold))

    def multiply(self, factors: list[Any], *, hold: bool = False) -> Any:
        """Π factors."""
        spend(2.0 * sum(1 + len(f.args) for f in factors))
        exponents: dict[Any, Fraction] = {}
        length = 0
        for factor in (f for product in factors for f in sp.Mul.make_args(product)):
            base, exponent = factor.as_base_exp()
            coefficient, rest = exponent.as_coeff_Mul()
            if isinstance(factor, sp.Rational):
                length += bits(factor)
            elif isinstance(coefficient, sp.Rational):
                _accumulate(exponents, (base, rest), coefficient)
                if rest == 1 and abs(exponents[base, rest]) > MAX_EXPONENT:
                    raise _steep(float(exponents[base, rest]))
        if length > MAX_BITS:
            raise TooMuchError(f"exact numbers of at most {MAX_BITS} bits", str(length), _LONG[0])
        return self.checked(sp.Mul(*factors, evaluate=not hold))

    def power(self, base: Any, exponent: Any, *, hold: bool = False) -> Any:
        """base ^ exponent."""
        spend(2.0 * (1 + len(base.args)))
        self._check_power(base, exponent)
        return self.checked(sp.Pow(base, exponent, evaluate=not hold))

    def apply(self, f: Any, arguments: list[Any], *, hold: bool = False, special: bool = False) -> Any:
        """f(arguments)."""
        spend(cost_of_function(f, arguments, [self._ruler.measure(a).size for a in arguments]))
        for a in arguments:
            extent = self._ruler.measure(a)
            if special and extent.value is not None and abs(extent.value) > MAX_SPECIAL:
                raise TooMuchError(
                    f"constants of at most {MAX_SPECIAL} in {f.__name__}", f"{extent.value:g}", "Rescale it."
                )
            if not math.isfinite(extent.bound) and not is_tame(f):
                raise TooMuchError(
                    "an expression that stays finite",
                    f"{f.__name__} of something that grows without bound",
                    "Look for exponentials inside of exponentials.",
                )
        if f == sp.exp:
            self._check_logarithms(arguments[0])
        return self.checked(f(*arguments, evaluate=False) if hold else f(*arguments))

    def _check_logarithms(self, argument: Any) -> None:
        """exp(a log b + …) = b^a …: SymPy makes powers of such terms."""
        for term in sp.Add.make_args(argument):
            factors = sp.Mul.make_args(term)
            for logarithm in (f for f in factors if isinstance(f, sp.log)):
                rest = sp.Mul(*(f for f in factors if f is not logarithm))
                self._check_power(logarithm.args[0], rest)

    def _check_power(self, base: Any, exponent: Any) -> None:
        power = self._ruler.measure(exponent)
        if power.value is None:
            # c^f, and f^g = exp(g log f): SymPy takes numbers out of such exponents.
            if power.bound > MAX_GROWTH:
                raise _steep(power.bound)
            return
        size, steepness = self._ruler.measure(base), abs(power.value)
        if size.value is not None:
            _check_constant_power(size.value, power.value)
        if isinstance(base, sp.Rational):
            if bits(base) * steepness > MAX_BITS:
                got = f"a power of {math.ceil(bits(base) * steepness)}"
                raise TooMuchError(
                    f"exact numbers of at most {MAX_BITS} bits", got, "Write a smaller exponent."
                )
            if not exponent.is_Integer and bits(base) > MAX_RADICAL_BITS:
                got = f"a root of {bits(base)}"
                raise TooMuchError(f"roots of numbers of at most {MAX_RADICAL_BITS} bits", got, _LONG[0])
            return
        if steepness > MAX_EXPONENT:
            raise _steep(steepness)
        for factor in sp.Mul.make_args(base):
            inner, outer = factor.as_base_exp()
            if isinstance(inner, sp.Rational) and bits(inner) * steepness > MAX_BITS:
                raise TooMuchError(
                    f"exact numbers of at most {MAX_BITS} bits", "a longer power", "Write a smaller exponent."
                )
            if isinstance(outer, sp.Rational) and abs(float(outer)) * steepness > MAX_EXPONENT:
                raise _steep(abs(float(outer)) * steepness)


def _accumulate(sums: dict[Any, Fraction], key: Any, number: Any) -> None:
    """Add exact numbers that SymPy will add, as long as their sum is short."""
    total = sums.get(key, Fraction(0)) + Fraction(int(number.p), int(number.q))
    if total.numerator.bit_length() + total.denominator.bit_length() > MAX_BITS:
        raise TooMuchError(f"exact numbers of at most {MAX_BITS} bits", "a longer sum of fractions", _LONG[1])
    sums[key] = total


def _steep(exponent: float) -> TooMuchError:
    return TooMuchError(
        f"exponents of at most {MAX_EXPONENT}", f"{exponent:.6g}", "Write a smaller exponent, or exp(…)."
    )


def _check_constant_power(base: float, exponent: float) -> None:
    try:
        math.pow(base, exponent)
    except OverflowError:
        raise TooMuchError(
            "numbers in the range of floating point, up to 1e308",
            f"{base:g} to the power {exponent:g}",
            "Write a smaller exponent.",
        ) from None
    except ValueError:  # a negative base, or zero: SymPy's result tells
        return
