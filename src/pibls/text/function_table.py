"""Functions and constants that a text may use: their names, SymPy equivalents and numeric implementations.

Names are looked up in these tables only, never in Python.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import sympy as sp

from pibls.expressions import Expression

CONSTANTS: dict[str, Expression] = {
    "pi": sp.pi,
    "e": sp.E,
    "euler_gamma": sp.EulerGamma,
    "golden_ratio": sp.GoldenRatio,
    "catalan_constant": sp.Catalan,
    "tribonacci_constant": sp.TribonacciConstant,
}

ELEMENTARY: dict[str, type[sp.Function]] = {
    "sin": sp.sin, "cos": sp.cos, "tan": sp.tan, "cot": sp.cot, "sec": sp.sec, "csc": sp.csc,
    "asin": sp.asin, "acos": sp.acos, "atan": sp.atan, "acot": sp.acot, "asec": sp.asec, "acsc": sp.acsc,
    "sinh": sp.sinh, "cosh": sp.cosh, "tanh": sp.tanh, "coth": sp.coth, "sech": sp.sech, "csch": sp.csch,
    "asinh": sp.asinh, "acosh": sp.acosh, "atanh": sp.atanh, "acoth": sp.acoth, "asech": sp.asech,
    "acsch": sp.acsch, "exp": sp.exp, "abs": sp.Abs, "sign": sp.sign, "floor": sp.floor,
    "ceiling": sp.ceiling, "frac": sp.frac, "sinc": sp.sinc, "erf": sp.erf, "erfc": sp.erfc,
    "re": sp.re, "im": sp.im,
}  # fmt: skip
"""Functions of one argument."""

_SPECIAL_BY_ARGUMENTS: dict[int, str] = {
    1: "erfi erfinv erfcinv gamma loggamma fresnels fresnelc Si Ci Ei LambertW airyai airybi airyaiprime "
    "airybiprime zeta factorial factorial2 subfactorial harmonic bernoulli euler catalan arg",
    2: "erf2 polygamma beta lowergamma uppergamma besselj bessely besseli besselk jn yn hermite legendre "
    "chebyshevt chebyshevu laguerre binomial RisingFactorial FallingFactorial KroneckerDelta zeta LambertW "
    "bernoulli euler",
    3: "gegenbauer assoc_laguerre assoc_legendre",
    4: "jacobi betainc betainc_regularized",
}
"""Number of arguments → functions under their SymPy names; constant arguments must be small."""

SPECIAL_FUNCTIONS: dict[str, tuple[type[sp.Function], tuple[int, ...]]] = {
    name: (vars(sp)[name], tuple(n for n, names in _SPECIAL_BY_ARGUMENTS.items() if name in names.split()))
    for names in _SPECIAL_BY_ARGUMENTS.values()
    for name in names.split()
}

OTHER_FUNCTIONS = {
    "log": (1, 2), "ln": (1, 1), "log2": (1, 1), "log10": (1, 1), "sqrt": (1, 1), "atan2": (2, 2),
    "heaviside": (1, 2), "min": (1, 8), "max": (1, 8), "mod": (2, 2),
}  # fmt: skip
"""Functions that `interpreter.apply` treats one by one → minimum and maximum number of arguments."""

SPECIAL_FORMS = {
    "if": (3, 41), "piecewise": (2, 40), "diff": (2, 34), "laplacian": (1, 1), "grad": (1, 1), "div": (1, 1),
    "dot": (2, 2), "dn": (1, 1), "integral": (1, 1), "hold": (1, 1), "float": (1, 2), "python": (1, 11),
}  # fmt: skip
"""Special forms (`special_forms`) → minimum and maximum number of arguments."""

FUNCTIONS: frozenset[str] = frozenset({*ELEMENTARY, *SPECIAL_FUNCTIONS, *OTHER_FUNCTIONS, *SPECIAL_FORMS})
RESERVED: frozenset[str] = frozenset({*CONSTANTS, *SPECIAL_FORMS, "and", "or", "not", "true", "false"})
"""Reserved words, which cannot be names of coordinates, unknowns or parameters."""

SYMPY_TO_TEXT: dict[type[sp.Basic], str] = {
    **{f: name for name, f in ELEMENTARY.items()},
    **{f: name for name, (f, _) in SPECIAL_FUNCTIONS.items()},
    sp.log: "log",
    sp.atan2: "atan2",
    sp.Min: "min",
    sp.Max: "max",
    sp.Mod: "mod",
}
"""SymPy function → name in a text."""


def argument_counts(name: str) -> tuple[int, ...]:
    """Return the allowed numbers of arguments of a function."""
    if name in SPECIAL_FUNCTIONS:
        return SPECIAL_FUNCTIONS[name][1]
    low, high = OTHER_FUNCTIONS.get(name) or SPECIAL_FORMS.get(name) or (1, 1)
    return tuple(range(low, high + 1))


def _reciprocal(f: Callable[[float], float]) -> Callable[[float], float]:
    return lambda a: 1.0 / f(a)


def _of_reciprocal(f: Callable[[float], float]) -> Callable[[float], float]:
    return lambda a: f(1.0 / a)


NUMERIC_FUNCTIONS: dict[type[sp.Basic], Callable[..., float]] = {
    sp.sin: math.sin, sp.cos: math.cos, sp.tan: math.tan,
    sp.cot: _reciprocal(math.tan), sp.sec: _reciprocal(math.cos), sp.csc: _reciprocal(math.sin),
    sp.asin: math.asin, sp.acos: math.acos, sp.atan: math.atan,
    sp.acot: _of_reciprocal(math.atan), sp.asec: _of_reciprocal(math.acos),
    sp.acsc: _of_reciprocal(math.asin),
    sp.sinh: math.sinh, sp.cosh: math.cosh, sp.tanh: math.tanh,
    sp.coth: _reciprocal(math.tanh), sp.sech: _reciprocal(math.cosh), sp.csch: _reciprocal(math.sinh),
    sp.asinh: math.asinh, sp.acosh: math.acosh, sp.atanh: math.atanh,
    sp.acoth: _of_reciprocal(math.atanh), sp.asech: _of_reciprocal(math.acosh),
    sp.acsch: _of_reciprocal(math.asinh),
    sp.exp: math.exp, sp.log: math.log, sp.Abs: abs, sp.sign: lambda a: math.copysign(1.0, a),
    sp.floor: math.floor, sp.ceiling: math.ceil, sp.frac: lambda a: a - math.floor(a),
    sp.erf: math.erf, sp.erfc: math.erfc, sp.atan2: math.atan2, sp.Min: min, sp.Max: max,
    sp.sinc: lambda a: math.sin(a) / a if a else 1.0, sp.re: lambda a: a, sp.im: lambda a: 0.0,
    sp.Heaviside: lambda a, at_zero: float(a > 0) if a else at_zero, sp.Mod: lambda a, b: a % b,
}  # fmt: skip
"""SymPy function → floating-point implementation, for constants."""

UPPER_BOUNDS: dict[type[sp.Function], float] = {
    sp.sin: 1.0, sp.cos: 1.0, sp.tanh: 1.0, sp.sech: 1.0, sp.asin: 2.0, sp.acos: 4.0, sp.atan: 2.0,
    sp.atan2: 4.0, sp.acot: 2.0, sp.sign: 1.0, sp.erf: 1.0, sp.erfc: 2.0, sp.sinc: 1.0, sp.frac: 1.0,
    sp.Heaviside: 1.0, sp.besselj: 1.0, sp.airyai: 1.0, sp.fresnels: 1.0, sp.fresnelc: 1.0, sp.Si: 2.0,
}  # fmt: skip
"""Bounded functions → an upper bound of their absolute value."""

EXPONENTIAL_GROWTH = (sp.exp, sp.sinh, sp.cosh, sp.erfi, sp.gamma, sp.besseli, sp.airybi, sp.Ei)
"""Functions that grow at least exponentially."""

CHEAP_TO_EVALUATE = (
    sp.log, sp.Abs, sp.sign, sp.Heaviside, sp.Min, sp.Max, sp.atan, sp.acot, sp.tanh, sp.coth, sp.asinh,
    sp.erf, sp.erfc, sp.re, sp.im,
)  # fmt: skip
"""Functions that are evaluated quickly however large their argument is."""
