"""Construction of SymPy sums, products, powers and functions within the limits of `limits`.

SymPy evaluates exact numbers while it builds: 9^9^9 would be a number of 370 million digits. The length of
the result is therefore estimated first, from the lengths of the operands.
"""

from __future__ import annotations

import math
from fractions import Fraction

import sympy as sp

from pibls.expressions import Coordinate, Expression
from pibls.text.complexity import ComplexityMeter, LimitError, bits, is_cheap_to_evaluate
from pibls.text.limits import MAX_BITS, MAX_EXPONENT, MAX_GROWTH, MAX_RADICAL_BITS, MAX_SPECIAL
from pibls.text.work_budget import cost_of_derivative, cost_of_function, spend

_FEWER_DIGITS = "Write decimals with fewer digits."
_AS_DECIMAL = "Write it as a decimal: 0.333 for 1/3."


class Builder:
    """Builds SymPy expressions; raises `LimitError` before an operation that would exceed a limit."""

    def __init__(self) -> None:
        self._meter = ComplexityMeter()

    def value(self, expression: Expression) -> float | None:
        """Return the value of a constant expression; None if it is not constant."""
        return self._meter.value(expression)

    def checked(self, expression: Expression) -> Expression:
        """Return the expression after checking its size, bound and value."""
        self._meter.measure(expression)
        return expression

    def differentiate(self, e: Expression, variable: Coordinate) -> Expression:
        """Return ∂e/∂variable."""
        spend(cost_of_derivative(e))
        return self.checked(sp.diff(e, variable))

    def add(self, terms: list[Expression], *, hold: bool = False) -> Expression:
        """Return Σ terms, unevaluated with ``hold``."""
        spend(2.0 * sum(len(sp.Add.make_args(t)) for t in terms))
        sums: dict[Expression, Fraction] = {}
        for term in (t for total in terms for t in sp.Add.make_args(total)):
            coefficient, rest = term.as_coeff_Mul()
            if isinstance(coefficient, sp.Rational):
                _accumulate(sums, rest, coefficient)
        return self.checked(sp.Add(*terms, evaluate=not hold))

    def multiply(self, factors: list[Expression], *, hold: bool = False) -> Expression:
        """Return Π factors, unevaluated with ``hold``."""
        spend(2.0 * sum(1 + len(f.args) for f in factors))
        exponents: dict[Expression, Fraction] = {}
        length = 0
        for factor in (f for product in factors for f in sp.Mul.make_args(product)):
            base, exponent = factor.as_base_exp()
            coefficient, rest = exponent.as_coeff_Mul()
            if isinstance(factor, sp.Rational):
                length += bits(factor)
            elif isinstance(coefficient, sp.Rational):
                _accumulate(exponents, (base, rest), coefficient)
                if rest == 1 and abs(exponents[base, rest]) > MAX_EXPONENT:
                    raise _exponent_error(float(exponents[base, rest]))
        if length > MAX_BITS:
            raise LimitError(f"exact numbers of at most {MAX_BITS} bits", f"{length} bits", _FEWER_DIGITS)
        return self.checked(sp.Mul(*factors, evaluate=not hold))

    def power(self, base: Expression, exponent: Expression, *, hold: bool = False) -> Expression:
        """Return base ^ exponent, unevaluated with ``hold``."""
        spend(2.0 * (1 + len(base.args)))
        self._check_power(base, exponent)
        return self.checked(sp.Pow(base, exponent, evaluate=not hold))

    def apply(
        self, f: type[sp.Function], arguments: list[Expression], *, hold: bool = False, special: bool = False
    ) -> Expression:
        """Return f(arguments), unevaluated with ``hold``; ``special`` functions take small constants only."""
        spend(cost_of_function(f, arguments, [self._meter.measure(a).size for a in arguments]))
        for a in arguments:
            measured = self._meter.measure(a)
            if special and measured.value is not None and abs(measured.value) > MAX_SPECIAL:
                raise LimitError(
                    f"constants of at most {MAX_SPECIAL} in {f.__name__}",
                    f"{measured.value:g}",
                    "Rescale it.",
                )
            if not math.isfinite(measured.bound) and not is_cheap_to_evaluate(f):
                raise LimitError(
                    "an expression that remains finite",
                    f"{f.__name__} of an expression that overflows",
                    "Check for nested exponentials.",
                )
        if f == sp.exp:
            self._check_logarithms(arguments[0])
        return self.checked(f(*arguments, evaluate=False) if hold else f(*arguments))

    def _check_logarithms(self, argument: Expression) -> None:
        """Check exp(a log b + …), which SymPy rewrites as b^a …"""
        for term in sp.Add.make_args(argument):
            factors = sp.Mul.make_args(term)
            for logarithm in (f for f in factors if isinstance(f, sp.log)):
                rest = sp.Mul(*(f for f in factors if f is not logarithm))
                self._check_power(logarithm.args[0], rest)

    def _check_power(self, base: Expression, exponent: Expression) -> None:
        power = self._meter.measure(exponent)
        if power.value is None:
            # c^f, and f^g = exp(g log f): SymPy extracts numbers from such exponents.
            if power.bound > MAX_GROWTH:
                raise _exponent_error(power.bound)
            return
        size, magnitude = self._meter.measure(base), abs(power.value)
        if size.value is not None:
            _check_constant_power(size.value, power.value)
        if isinstance(base, sp.Rational):
            if bits(base) * magnitude > MAX_BITS:
                got = f"a power of {math.ceil(bits(base) * magnitude)} bits"
                raise LimitError(
                    f"exact numbers of at most {MAX_BITS} bits", got, "Write a smaller exponent."
                )
            if not exponent.is_Integer and bits(base) > MAX_RADICAL_BITS:
                got = f"a root of a number of {bits(base)} bits"
                raise LimitError(f"roots of numbers of at most {MAX_RADICAL_BITS} bits", got, _FEWER_DIGITS)
            return
        if magnitude > MAX_EXPONENT:
            raise _exponent_error(magnitude)
        _check_factor_powers(base, magnitude)


def _check_factor_powers(base: Expression, exponent: float) -> None:
    """Raise a LimitError if a number or a power in a product becomes too large."""
    for factor in sp.Mul.make_args(base):
        inner, outer = factor.as_base_exp()
        if isinstance(inner, sp.Rational) and bits(inner) * exponent > MAX_BITS:
            raise LimitError(
                f"exact numbers of at most {MAX_BITS} bits",
                "a power with more bits",
                "Write a smaller exponent.",
            )
        if isinstance(outer, sp.Rational) and abs(float(outer)) * exponent > MAX_EXPONENT:
            raise _exponent_error(abs(float(outer)) * exponent)


def _accumulate(sums: dict[Expression, Fraction], key: Expression, number: Expression) -> None:
    """Add up exact coefficients as SymPy will do, and check the length of their sum."""
    total = sums.get(key, Fraction(0)) + Fraction(int(number.p), int(number.q))
    if total.numerator.bit_length() + total.denominator.bit_length() > MAX_BITS:
        raise LimitError(
            f"exact numbers of at most {MAX_BITS} bits", "a sum of fractions with more bits", _AS_DECIMAL
        )
    sums[key] = total


def _exponent_error(exponent: float) -> LimitError:
    return LimitError(
        f"exponents of at most {MAX_EXPONENT}", f"{exponent:.6g}", "Write a smaller exponent, or exp(…)."
    )


def _check_constant_power(base: float, exponent: float) -> None:
    try:
        math.pow(base, exponent)
    except OverflowError:
        raise LimitError(
            "numbers in the floating-point range, up to 1e308",
            f"{base:g} to the power {exponent:g}",
            "Write a smaller exponent.",
        ) from None
    except ValueError:  # negative or zero base: checked on the result of SymPy
        return
