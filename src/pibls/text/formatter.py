"""Formatting of SymPy expressions as text, with parentheses only where precedence needs them."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Context, Decimal
from typing import NamedTuple

import sympy as sp
from mpmath.libmp import repr_dps, to_str
from sympy.core.function import AppliedUndef
from sympy.core.relational import Relational

from pibls.errors import ProblemError
from pibls.expressions import Expression, Logical
from pibls.problem import dn, integral
from pibls.problem.forms.known import implementation, is_known, is_same_indicator
from pibls.text.function_table import CONSTANTS, SYMPY_TO_TEXT
from pibls.text.limits import MAX_DIGITS
from pibls.text.names import AmbiguousError, Names

OR, AND, COMPARE, SUM, PRODUCT, SIGN, POWER, ATOM = range(1, 9)

_COMPARISON_SIGNS = {sp.Eq: "=", sp.Ne: "!=", sp.Lt: "<", sp.Le: "<=", sp.Gt: ">", sp.Ge: ">="}
_CONSTANT_NAMES = {value: name for name, value in CONSTANTS.items()}
_MAX_DENOMINATOR = 100
"""Larger denominators are written as decimals where that is exact."""


class Fragment(NamedTuple):
    """Formatted text and the precedence of its outermost operation."""

    text: str
    level: int

    def parenthesized(self, level: int) -> str:
        """Return the text, in parentheses unless its precedence is at least ``level``."""
        return self.text if self.level >= level else f"({self.text})"


class ExpressionFormatter:
    """Formats expressions in conventional notation; with ``verbatim`` exactly as SymPy stores them."""

    def __init__(self, names: Names, *, verbatim: bool) -> None:
        self._names = names
        self._verbatim = verbatim
        known = (*names.coordinates.items(), *names.values.items())
        self._symbols = {symbol: name for name, symbol in known if isinstance(symbol, sp.Symbol)}
        self._unknowns = {u: name for name, u in names.unknowns.items()}
        self._functions = {id(f): name for name, f in names.functions.items()}

    def expression(self, e: Expression) -> Fragment:
        """Format an expression."""
        if e in self._symbols:
            return Fragment(self._symbols[e], ATOM)
        if e in _CONSTANT_NAMES:
            return Fragment(_CONSTANT_NAMES[e], ATOM)
        if isinstance(e, sp.Float):
            return Fragment(_float(e), ATOM)
        if isinstance(e, sp.Rational):
            return _rational(e)
        if isinstance(e, sp.Derivative):
            return self._derivative(e)
        if isinstance(e, AppliedUndef):
            return self._applied(e)
        if isinstance(e, sp.Piecewise):
            return self._cases(e)
        if isinstance(e, dn):
            return Fragment(f"dn({self.expression(e.args[0]).text})", ATOM)
        if isinstance(e, integral):
            return Fragment(f"integral({self.expression(e.expression).text})", ATOM)
        expression = self._operation(e)
        if self._verbatim and e.func(*e.args) != e:
            return Fragment(f"hold({expression.text})", ATOM)
        return expression

    def relation(self, e: Logical) -> Fragment:
        """Format a relation."""
        if e in (sp.true, sp.false):
            return Fragment(str(e).lower(), ATOM)
        name = next(
            (n for n, place in self._names.inside_relations.items() if is_same_indicator(place, e)), None
        )
        if name is not None:
            return Fragment(f"inside({name})", ATOM)
        if isinstance(e, Relational) and type(e) in _COMPARISON_SIGNS:
            left, right = self.expression(e.lhs).parenthesized(SUM), self.expression(e.rhs).parenthesized(SUM)
            return Fragment(f"{left} {_COMPARISON_SIGNS[type(e)]} {right}", COMPARE)
        if isinstance(e, (sp.And, sp.Or)):
            operator, level = ("and", AND) if isinstance(e, sp.And) else ("or", OR)
            return Fragment(
                f" {operator} ".join(self.relation(a).parenthesized(level + 1) for a in e.args), level
            )
        if isinstance(e, sp.Not):
            return Fragment(f"not {self.relation(e.args[0]).parenthesized(ATOM)}", AND)
        raise _not_expressible(e)

    def _operation(self, e: Expression) -> Fragment:
        if e.is_Add:
            return self._sum(e)
        if e.is_Mul:
            return self._product(e)
        if e.is_Pow:
            return self._power(e.base, e.exp)
        if isinstance(e, sp.Heaviside):
            arguments = e.args[:1] if e.args[1] == sp.Rational(1, 2) else e.args
            return self._call("heaviside", arguments)
        if e.func in SYMPY_TO_TEXT:
            return self._call(SYMPY_TO_TEXT[e.func], e.args)
        raise _not_expressible(e)

    def _call(self, operator: str, arguments: Sequence[Expression]) -> Fragment:
        if operator in self._names.declared_names():
            raise _not_expressible(operator)
        return Fragment(f"{operator}({', '.join(self.expression(a).text for a in arguments)})", ATOM)

    def _sum(self, e: Expression) -> Fragment:
        if self._verbatim:
            return Fragment(" + ".join(self.expression(a).parenthesized(PRODUCT) for a in e.args), SUM)
        text = ""
        for term in e.as_ordered_terms():
            expression = self.expression(term)
            # A leading sign is merged into the sum: a - b, not a + -b.
            if not text:
                text = expression.parenthesized(PRODUCT)
            elif expression.text.startswith("-") and expression.level >= PRODUCT:
                text += f" - {expression.text[1:]}"
            else:
                text += f" + {expression.parenthesized(PRODUCT)}"
        return Fragment(text, SUM)

    def _product(self, e: Expression) -> Fragment:
        if self._verbatim:
            return Fragment("*".join(self.expression(a).parenthesized(SIGN) for a in e.args), PRODUCT)
        number, rest = e.as_coeff_Mul()
        above, below = [], []
        for factor in sp.Mul.make_args(rest):
            base, exponent = factor.as_base_exp()
            if factor.is_Pow and isinstance(exponent, sp.Rational) and exponent < 0 and base not in (sp.E, 1):
                below.append(self._power(base, -exponent).parenthesized(POWER))
            else:
                above.append(self.expression(factor).parenthesized(SIGN))
        sign = ""
        if isinstance(number, sp.Rational):
            sign = "-" if number < 0 else ""
            top, _, bottom = _rational(abs(number)).text.partition("/")
            above = [top] * (top != "1" or not above) + above
            below = [bottom] * bool(bottom) + below
        else:
            above.insert(0, self.expression(number).parenthesized(SIGN))
        return Fragment(sign + "*".join(above) + _denominator(below), PRODUCT)

    def _power(self, base: Expression, exponent: Expression) -> Fragment:
        if not self._verbatim:
            if exponent == 1:
                return self.expression(base)
            if exponent == sp.Rational(1, 2):
                return Fragment(f"sqrt({self.expression(base).text})", ATOM)
            if isinstance(exponent, sp.Rational) and exponent < 0:
                return Fragment(f"1/{self._power(base, -exponent).parenthesized(POWER)}", PRODUCT)
        return Fragment(
            f"{self.expression(base).parenthesized(ATOM)}^{self.expression(exponent).parenthesized(ATOM)}",
            POWER,
        )

    def _derivative(self, e: Expression) -> Fragment:
        # SymPy sorts the variables, so they may be written in the order of the coordinates.
        variables = [name for name, c in self._names.coordinates.items() for v in e.variables if v == c]
        if len(variables) < len(e.variables):
            raise _not_expressible(e)
        inner = e.expr
        if self._verbatim or inner not in self._unknowns:
            if self._verbatim:  # keep the order, as in nested derivatives
                variables = [self._symbols[v] for v in e.variables]
            return Fragment(f"hold(diff({self.expression(inner).text}, {', '.join(variables)}))", ATOM)
        name = self._unknowns[inner]
        for suffix in ("".join(variables), "_".join(variables)):
            derivative_name = f"{name}_{suffix}"
            try:
                if self._names.derivative(derivative_name) is not None:
                    return Fragment(derivative_name, ATOM)
            except AmbiguousError:
                continue
        return Fragment(f"diff({name}, {', '.join(variables)})", ATOM)

    def _applied(self, e: Expression) -> Fragment:
        if e in self._unknowns:
            return Fragment(self._unknowns[e], ATOM)
        name = self._functions.get(id(implementation(e))) if is_known(e) else None
        if name is None or not all(a in self._symbols for a in e.args):
            raise _not_expressible(e)
        return Fragment(f"python({', '.join([name, *(self._symbols[a] for a in e.args)])})", ATOM)

    def _cases(self, e: Expression) -> Fragment:
        pairs = [(self.expression(a).text, c) for a, c in e.args]
        otherwise = pairs.pop()[0] if pairs[-1][1] == sp.true and len(pairs) > 1 else None
        arguments = [operator for a, c in pairs for operator in (self.relation(c).text, a)]
        if otherwise is None:
            return Fragment(f"piecewise({', '.join(arguments)})", ATOM)
        return Fragment(f"if({', '.join([*arguments, otherwise])})", ATOM)


def _denominator(factors: list[str]) -> str:
    if not factors:
        return ""
    return f"/{factors[0]}" if len(factors) == 1 else f"/({'*'.join(factors)})"


def _rational(e: Expression) -> Fragment:
    p, q = int(e.p), int(e.q)
    if q == 1:
        return Fragment(str(p), ATOM if p >= 0 else SIGN)
    rest = q
    for prime in (2, 5):
        while rest % prime == 0:
            rest //= prime
    if rest == 1 and q > _MAX_DENOMINATOR:
        text = _decimal(p, q)
        if text:
            return Fragment(text, ATOM if p >= 0 else SIGN)
    return Fragment(f"{p}/{q}", PRODUCT)


def _decimal(p: int, q: int) -> str:
    """Return p/q as an exact decimal; empty if it is too long."""
    quotient = Context(prec=MAX_DIGITS - 2).divide(Decimal(p), Decimal(q))
    return str(quotient).replace("E", "e") if quotient.as_integer_ratio() == (p, q) else ""


def _float(e: Expression) -> str:
    """Format a float as float(0.1), with as many digits as are needed to reproduce it."""
    precision = int(e._prec)
    texts = [to_str(e._mpf_, repr_dps(precision) + 2, strip_zeros=True)]
    if precision == 53:
        texts.insert(0, repr(float(e)))
    text = next(t for t in texts if sp.Float(t, precision=precision) == e)
    return f"float({text})" if precision == 53 else f"float({text}, {precision})"


def _not_expressible(e: Expression) -> ProblemError:
    return ProblemError(
        "expression",
        expected="an expression in functions and names known to problem files",
        got=str(e)[:100],
        remedy="Rewrite it with these functions.",
    )
