"""Checks of expressions: they must be real, finite, and built of functions that NumPy or SciPy evaluate."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import sympy as sp
from sympy.calculus.accumulationbounds import AccumBounds
from sympy.core.expr import AtomicExpr
from sympy.core.function import AppliedUndef

from pibls.errors import ProblemError
from pibls.expressions import Expression

_OPERATORS = (sp.Integral, sp.Sum, sp.Product, sp.Limit, sp.Subs, sp.Order, AccumBounds)
_PRINTABLE = (
    sp.exp, sp.log, sp.sin, sp.cos, sp.tan, sp.sinh, sp.cosh, sp.tanh, sp.asin, sp.acos, sp.atan, sp.atan2,
    sp.Abs, sp.Max, sp.Min, sp.Piecewise, sp.Heaviside, sp.sign, sp.DiracDelta,
)  # fmt: skip
"""Functions that are known to be printable, so that common equations need not be printed for the check.

(DiracDelta is never printed: delta sources are separated from the form.)
"""
_SMOOTH = _PRINTABLE[:12]


@contextmanager
def nesting_guard(argument: str) -> Iterator[None]:
    """Raise a ProblemError instead of a RecursionError for expressions nested too deeply."""
    try:
        yield
    except RecursionError:
        raise ProblemError(
            argument,
            expected=f"expressions nested less deeply (Python allows {sys.getrecursionlimit()} nested calls)",
            got="one that is nested too deeply",
            remedy="Give the inner part as a Python function, known(function, x), or raise "
            "sys.setrecursionlimit.",
        ) from None


def is_scalar(value: object) -> bool:
    """Return whether a value is one SymPy expression, not a matrix or vector of them."""
    return isinstance(value, sp.Expr) and not (value.is_Matrix or value.is_Vector)


def check_terms(expression: Expression, name: str) -> None:
    """Raise a ProblemError at the first term that cannot be evaluated as a real number."""
    for kind in _OPERATORS:
        if expression.has(kind):
            raise ProblemError(
                name,
                expected="algebraic and differential terms only",
                got=sorted(expression.atoms(kind), key=str)[0],
                remedy=f"Rewrite the equation without {kind.__name__}.",
            )
    _check_leaves(expression, name)
    for term in expression.atoms(sp.Pow, sp.Function):
        if term.is_number and term.is_extended_real is False and not term.has(sp.I, sp.zoo):
            raise ProblemError(
                name,
                expected="real values",
                got=f"the complex number {term}",
                remedy="Check for roots of negative numbers; the real root is sympy.real_root(…).",
                in_file="Check for roots of negative numbers; the real cube root is sign(x)*abs(x)^(1/3).",
            )
    for term in expression.atoms(sp.Function):
        if not isinstance(term, (AppliedUndef, *_PRINTABLE)) and not _is_printable(term):
            raise ProblemError(
                name,
                expected="functions that NumPy or SciPy can evaluate",
                got=term,
                remedy=f"Give {term.func} as a Python function, known(function, x).",
            )


def _check_leaves(expression: Expression, name: str) -> None:
    """Raise a ProblemError for units and for numbers that are not finite."""
    for leaf in expression.atoms(AtomicExpr):
        if not isinstance(leaf, (sp.Symbol, sp.Number, sp.NumberSymbol)) and leaf not in (sp.I, sp.zoo):
            raise ProblemError(
                name,
                expected="numbers, coordinates and unknowns",
                got=leaf,
                remedy="Remove units: give numbers in one system of units.",
            )
    for number in expression.atoms(sp.Number):
        if not _is_finite(number):
            raise ProblemError(
                name,
                expected="finite values",
                got="a number beyond the range of floating point"
                if number.is_finite
                else f"an expression with {'NaN' if number is sp.nan else 'infinity'}",
                remedy="Check the equation and its data for a division by zero, or rescale it.",
            )


def checked_expression(expression: Expression) -> Expression:
    """Return the expression; raise a ProblemError unless it is a SymPy expression."""
    if not isinstance(expression, sp.Expr):
        raise ProblemError(
            "expression",
            expected="a SymPy expression of the unknowns and their derivatives",
            got=repr(expression),
            remedy="Build it with SymPy; text is never evaluated.",
        )
    return expression


def check_partials(rest: Expression, written: dict[sp.Symbol, Expression], name: str) -> None:
    """Raise a ProblemError if ρ jumps as a function of J, which Newton's method cannot handle."""
    for term in rest.atoms(sp.Function):
        if isinstance(term, _SMOOTH):
            continue
        for derivative in term.free_symbols & set(written):
            if sp.diff(term, derivative).has(sp.DiracDelta):
                raise ProblemError(
                    name,
                    expected="terms that can be differentiated by the unknowns",
                    got=f"{term.xreplace(written)}, which jumps",
                    remedy="Smooth it, for example with tanh(u/width).",
                )


def _is_finite(number: sp.Number) -> bool:
    try:
        value = float(number)
        return math.isfinite(value) and (value != 0.0 or bool(number.is_zero))
    except (OverflowError, TypeError):
        return False


def _is_printable(term: Expression) -> bool:
    from scipy import special
    from sympy.printing.numpy import SciPyPrinter

    printer = SciPyPrinter({"allow_unknown_functions": False})
    plain = term.func(*(sp.Dummy(real=True) if a.has(AppliedUndef) else a for a in term.args))
    try:
        printed = "Not supported" not in printer.doprint(plain)
    except NotImplementedError:
        printed = False
    # SymPy prints other names unchanged; lambdify then looks them up in SciPy.
    return printed or term.func.__name__ in vars(special)
