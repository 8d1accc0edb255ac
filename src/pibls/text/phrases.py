"""Expressions as phrases, each with how tightly it binds, so that parentheses stand where needed."""

from __future__ import annotations

from decimal import Context, Decimal
from typing import Any, NamedTuple

import sympy as sp
from mpmath.libmp import repr_dps, to_str
from sympy.core.function import AppliedUndef
from sympy.core.relational import Relational

from pibls.errors import ProblemError
from pibls.problem import dn, integral
from pibls.problem.forms.known import asks_same, implementation, is_known
from pibls.text.limits import MAX_DIGITS
from pibls.text.names import AmbiguousError, Names
from pibls.text.words import CONSTANTS, WRITTEN

OR, AND, COMPARE, SUM, PRODUCT, SIGN, POWER, ATOM = range(1, 9)

_COMPARED = {sp.Eq: "=", sp.Ne: "!=", sp.Lt: "<", sp.Le: "<=", sp.Gt: ">", sp.Ge: ">="}
_NAMED = {value: name for name, value in CONSTANTS.items()}
_FRACTION = 100
"""Denominators up to this one are written as fractions, longer ones as decimals where that is exact."""


class Phrase(NamedTuple):
    """A text, and the level of its outermost operation."""

    text: str
    level: int

    def at(self, level: int) -> str:
        """The text, in parentheses unless it binds at least as tightly."""
        return self.text if self.level >= level else f"({self.text})"


class Phrases:
    """Writes as a person would; ``verbatim``, operation by operation in SymPy's own order."""

    def __init__(self, names: Names, *, verbatim: bool) -> None:
        self._names = names
        self._verbatim = verbatim
        known = (*names.coordinates.items(), *names.values.items())
        self._symbols = {symbol: name for name, symbol in known if isinstance(symbol, sp.Symbol)}
        self._unknowns = {u: name for name, u in names.unknowns.items()}
        self._functions = {id(f): name for name, f in names.functions.items()}

    def piece(self, e: Any) -> Phrase:
        """The text of an expression."""
        if e in self._symbols:
            return Phrase(self._symbols[e], ATOM)
        if e in _NAMED:
            return Phrase(_NAMED[e], ATOM)
        if isinstance(e, sp.Float):
            return Phrase(_float(e), ATOM)
        if isinstance(e, sp.Rational):
            return _rational(e)
        if isinstance(e, sp.Derivative):
            return self._derivative(e)
        if isinstance(e, AppliedUndef):
            return self._applied(e)
        if isinstance(e, sp.Piecewise):
            return self._cases(e)
        if isinstance(e, dn):
            return Phrase(f"dn({self.piece(e.args[0]).text})", ATOM)
        if isinstance(e, integral):
            return Phrase(f"integral({self.piece(e.expression).text})", ATOM)
        piece = self._operation(e)
        if self._verbatim and e.func(*e.args) != e:
            return Phrase(f"hold({piece.text})", ATOM)
        return piece

    def relation(self, e: Any) -> Phrase:
        """The text of a relation."""
        if e in (sp.true, sp.false):
            return Phrase(str(e).lower(), ATOM)
        name = next((n for n, place in self._names.places.items() if asks_same(place, e)), None)
        if name is not None:
            return Phrase(f"inside({name})", ATOM)
        if isinstance(e, Relational) and type(e) in _COMPARED:
            left, right = self.piece(e.lhs).at(SUM), self.piece(e.rhs).at(SUM)
            return Phrase(f"{left} {_COMPARED[type(e)]} {right}", COMPARE)
        if isinstance(e, (sp.And, sp.Or)):
            word, level = ("and", AND) if isinstance(e, sp.And) else ("or", OR)
            return Phrase(f" {word} ".join(self.relation(a).at(level + 1) for a in e.args), level)
        if isinstance(e, sp.Not):
            return Phrase(f"not {self.relation(e.args[0]).at(ATOM)}", AND)
        raise _unspeakable(e)

    def _operation(self, e: Any) -> Phrase:
        if e.is_Add:
            return self._sum(e)
        if e.is_Mul:
            return self._product(e)
        if e.is_Pow:
            return self._power(e.base, e.exp)
        if isinstance(e, sp.Heaviside):
            arguments = e.args[:1] if e.args[1] == sp.Rational(1, 2) else e.args
            return self._call("heaviside", arguments)
        if e.func in WRITTEN:
            return self._call(WRITTEN[e.func], e.args)
        raise _unspeakable(e)

    def _call(self, word: str, arguments: Any) -> Phrase:
        if word in self._names.all():
            raise _unspeakable(word)
        return Phrase(f"{word}({', '.join(self.piece(a).text for a in arguments)})", ATOM)

    def _sum(self, e: Any) -> Phrase:
        if self._verbatim:
            return Phrase(" + ".join(self.piece(a).at(PRODUCT) for a in e.args), SUM)
        text = ""
        for term in e.as_ordered_terms():
            piece = self.piece(term)
            # A sign that stands in front belongs to the sum: a - b, not a + -b.
            if not text:
                text = piece.at(PRODUCT)
            elif piece.text.startswith("-") and piece.level >= PRODUCT:
                text += f" - {piece.text[1:]}"
            else:
                text += f" + {piece.at(PRODUCT)}"
        return Phrase(text, SUM)

    def _product(self, e: Any) -> Phrase:
        if self._verbatim:
            return Phrase("*".join(self.piece(a).at(SIGN) for a in e.args), PRODUCT)
        number, rest = e.as_coeff_Mul()
        above, below = [], []
        for factor in sp.Mul.make_args(rest):
            base, exponent = factor.as_base_exp()
            if factor.is_Pow and isinstance(exponent, sp.Rational) and exponent < 0 and base not in (sp.E, 1):
                below.append(self._power(base, -exponent).at(POWER))
            else:
                above.append(self.piece(factor).at(SIGN))
        sign = ""
        if isinstance(number, sp.Rational):
            sign = "-" if number < 0 else ""
            top, _, bottom = _rational(abs(number)).text.partition("/")
            above = [top] * (top != "1" or not above) + above
            below = [bottom] * bool(bottom) + below
        else:
            above.insert(0, self.piece(number).at(SIGN))
        text = sign + "*".join(above)
        if below:
            text += f"/{below[0]}" if len(below) == 1 else f"/({'*'.join(below)})"
        return Phrase(text, PRODUCT)

    def _power(self, base: Any, exponent: Any) -> Phrase:
        if not self._verbatim:
            if exponent == 1:
                return self.piece(base)
            if exponent == sp.Rational(1, 2):
                return Phrase(f"sqrt({self.piece(base).text})", ATOM)
            if isinstance(exponent, sp.Rational) and exponent < 0:
                return Phrase(f"1/{self._power(base, -exponent).at(POWER)}", PRODUCT)
        return Phrase(f"{self.piece(base).at(ATOM)}^{self.piece(exponent).at(ATOM)}", POWER)

    def _derivative(self, e: Any) -> Phrase:
        # SymPy sorts the variables itself, so that they may be named in the order of the coordinates.
        variables = [name for name, c in self._names.coordinates.items() for v in e.variables if v == c]
        if len(variables) < len(e.variables):
            raise _unspeakable(e)
        inner = e.expr
        if self._verbatim or inner not in self._unknowns:
            if self._verbatim:  # an order of its own, as of one derivative inside of another
                variables = [self._symbols[v] for v in e.variables]
            return Phrase(f"hold(diff({self.piece(inner).text}, {', '.join(variables)}))", ATOM)
        name = self._unknowns[inner]
        for suffix in ("".join(variables), "_".join(variables)):
            short = f"{name}_{suffix}"
            try:
                if self._names.derivative(short) is not None:
                    return Phrase(short, ATOM)
            except AmbiguousError:
                continue
        return Phrase(f"diff({name}, {', '.join(variables)})", ATOM)

    def _applied(self, e: Any) -> Phrase:
        if e in self._unknowns:
            return Phrase(self._unknowns[e], ATOM)
        name = self._functions.get(id(implementation(e))) if is_known(e) else None
        if name is None or not all(a in self._symbols for a in e.args):
            raise _unspeakable(e)
        return Phrase(f"python({', '.join([name, *(self._symbols[a] for a in e.args)])})", ATOM)

    def _cases(self, e: Any) -> Phrase:
        pairs = [(self.piece(a).text, c) for a, c in e.args]
        otherwise = pairs.pop()[0] if pairs[-1][1] == sp.true and len(pairs) > 1 else None
        words = [word for a, c in pairs for word in (self.relation(c).text, a)]
        if otherwise is None:
            return Phrase(f"piecewise({', '.join(words)})", ATOM)
        return Phrase(f"if({', '.join([*words, otherwise])})", ATOM)


def _rational(e: Any) -> Phrase:
    p, q = int(e.p), int(e.q)
    if q == 1:
        return Phrase(str(p), ATOM if p >= 0 else SIGN)
    rest = q
    for prime in (2, 5):
        while rest % prime == 0:
            rest //= prime
    if rest == 1 and q > _FRACTION:
        text = _decimal(p, q)
        if text:
            return Phrase(text, ATOM if p >= 0 else SIGN)
    return Phrase(f"{p}/{q}", PRODUCT)


def _decimal(p: int, q: int) -> str:
    """p/q as an exact decimal, or nothing where it is too long."""
    quotient = Context(prec=MAX_DIGITS - 2).divide(Decimal(p), Decimal(q))
    return str(quotient).replace("E", "e") if quotient.as_integer_ratio() == (p, q) else ""


def _float(e: Any) -> str:
    """float(0.1), with as many digits as it takes."""
    precision = int(e._prec)
    texts = [to_str(e._mpf_, repr_dps(precision) + 2, strip_zeros=True)]
    if precision == 53:
        texts.insert(0, repr(float(e)))
    text = next(t for t in texts if sp.Float(t, precision=precision) == e)
    return f"float({text})" if precision == 53 else f"float({text}, {precision})"


def _unspeakable(e: Any) -> ProblemError:
    return ProblemError(
        "expression",
        expected="functions and names of the language",
        got=str(e)[:100],
        remedy="Rewrite it with the functions of the language.",
    )
