"""Expressions of a problem as LaTeX, and as short names such as u_xx.

Unknowns are written without their arguments. Names of several letters are set upright, so that *temperature*
is one word and not eleven factors.
"""

from __future__ import annotations

from collections.abc import Callable

import sympy as sp
from sympy.core.function import AppliedUndef
from sympy.printing.conventions import split_super_sub
from sympy.printing.latex import LatexPrinter, translate

from pibls.expressions import Coordinate, Equation, Expression, Unknown
from pibls.problem.conditions import dn
from pibls.problem.forms.integral import integral
from pibls.problem.forms.known import is_known


class _Printer(LatexPrinter):  # type: ignore[misc]
    def _print_Symbol(self, symbol: Coordinate, style: str = "plain") -> str:
        return name_latex(symbol.name)

    def _print_AppliedUndef(self, term: Unknown, exp: str | None = None) -> str:
        name = name_latex(str(term.func))
        if is_known(term):
            name += rf"\left({', '.join(self._print(a) for a in term.args)}\right)"
        return name if exp is None else rf"{{{name}}}^{{{exp}}}"

    def _print_Derivative(self, term: Expression) -> str:
        sign = "d" if len(term.expr.free_symbols) == 1 else r"\partial"
        order = sum(n for _, n in term.variable_count)
        below = " ".join(rf"{sign} {self._power(self._print(x), n)}" for x, n in term.variable_count)
        above = self._power(sign, order)
        if isinstance(term.expr, AppliedUndef):
            return rf"\frac{{{above} {self._print(term.expr)}}}{{{below}}}"
        return rf"\frac{{{above}}}{{{below}}} \left({self._print(term.expr)}\right)"

    def _print_dn(self, term: Expression, exp: str | None = None) -> str:
        inner = self._print(term.args[0])
        plain = rf"\frac{{\partial {inner}}}{{\partial n}}"
        if not isinstance(term.args[0], AppliedUndef):
            plain = rf"\frac{{\partial}}{{\partial n}} \left({inner}\right)"
        return plain if exp is None else rf"\left({plain}\right)^{{{exp}}}"

    def _print_integral(self, term: Expression) -> str:
        return rf"\int {self._print(term.expression)}"

    @staticmethod
    def _power(base: str, n: Expression) -> str:
        return base if n == 1 else f"{base}^{{{n}}}"


def name_latex(name: str) -> str:
    r"""Return a name as LaTeX: Greek letters, subscripts, words upright.

    >>> name_latex("theta1"), name_latex("u"), name_latex("temperature")
    ('\\theta_{1}', 'u', '\\mathrm{temperature}')
    """
    if "{" in name or "\\" in name:
        return name  # already LaTeX
    base, above, below = split_super_sub(name)
    letter = str(translate(base))
    if letter == base and len(base) > 1:
        letter = rf"\mathrm{{{base}}}"
    for mark, parts in (("^", above), ("_", below)):
        if parts:
            letter += rf"{mark}{{{' '.join(translate(p) for p in parts)}}}"
    return letter


def latex(expression: Expression) -> str:
    """Return an expression or relation of a problem as LaTeX."""
    return str(_Printer({"mul_symbol": None, "long_frac_ratio": 2}).doprint(sp.sympify(expression)))


def equation_latex(equation: Equation) -> str:
    """Return an equation as LaTeX; an expression that is to be zero as lhs = 0."""
    sides = equation.args if isinstance(equation, sp.Equality) else (equation, 0)
    return f"{latex(sides[0])} = {latex(sides[1])}"


def short_latex(expression: Expression) -> str:
    r"""Return an expression as short LaTeX for axis labels, with u_{xx} for ∂²u/∂x².

    >>> x = sp.Symbol("x")
    >>> short_latex(sp.Function("u")(x).diff(x, 2))
    'u_{xx}'
    """

    def named(u: Unknown, variables: tuple[Coordinate, ...]) -> str:
        name = name_latex(str(u.func))
        below = "".join(name_latex(str(v)) for v in variables)
        name = f"{{{name}}}" if "_" in name and below else name
        return f"{name}_{{{below}}}" if below else name

    return latex(_shortened(expression, named))


def short_name(expression: Expression) -> str:
    """Return an expression as short text for column names, with u_xx for ∂²u/∂x².

    >>> x = sp.Symbol("x")
    >>> u = sp.Function("u")(x)
    >>> short_name(u), short_name(2 * u * u.diff(x, 2))
    ('u', '2*u*u_xx')
    """
    return str(
        _shortened(expression, lambda u, vs: "_".join([str(u.func), *(["".join(map(str, vs))] * bool(vs))]))
    )


def _shortened(expression: Expression, named: Callable[[Unknown, tuple[Coordinate, ...]], str]) -> Expression:
    """Replace each unknown and each derivative of one by a symbol."""
    table: dict[Expression, Expression] = {}
    for term in expression.atoms(sp.Derivative, AppliedUndef):
        u, variables = (term.expr, term.variables) if isinstance(term, sp.Derivative) else (term, ())
        if isinstance(u, AppliedUndef) and not is_known(u):
            table[term] = sp.Symbol(named(u, variables))
    return expression.xreplace(table)


def equation_from_residual(residual: Expression) -> Equation:
    """Return residual = 0 as an equation with the unknowns on the left and the data on the right."""
    unknowns = [t for t in residual.atoms(AppliedUndef) if not is_known(t)]
    data, operator = residual.as_independent(*unknowns, dn, integral, as_Add=True)
    return sp.Eq(operator, -data, evaluate=False)
