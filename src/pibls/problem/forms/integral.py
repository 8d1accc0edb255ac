r"""Integrals of the unknowns in conditions, such as ∫ p dx = 0.

A condition with integrals, r = Σᵢ cᵢ ∫ eᵢ + c₀, is one equation (with time, one at each time). In the
least-squares system it is one row: the weighted sum of the rows at the points of a quadrature rule.
"""

from __future__ import annotations

from types import MethodType

import sympy as sp
from sympy.core.function import AppliedUndef
from sympy.printing.printer import Printer

from pibls.errors import ProblemError
from pibls.expressions import Coordinate, Expression
from pibls.geometry import Domain, is_domain, space_of, time_of
from pibls.problem.arguments import IntegrationPlace
from pibls.problem.forms.checks import is_scalar
from pibls.problem.forms.form import Form, SymbolTable
from pibls.problem.forms.known import is_known
from pibls.problem.regions.integral_region import (
    ConstantTerm,
    IntegralRegion,
    IntegrationDomain,
    ShapeInterior,
    SurfacePart,
)
from pibls.problem.regions.selection import boundary_or_inner_region


def _owner_and_method(place: IntegrationPlace) -> tuple[object, str]:
    """Return the shape and "boundary" of ``shape.boundary``; of another place itself and no name."""
    return (place.__self__, place.__name__) if isinstance(place, MethodType) else (place, "")


class IntegrationRange(sp.Atom):  # type: ignore[misc]
    """The range of an integral as an argument of a SymPy expression."""

    def __new__(cls, place: IntegrationPlace) -> IntegrationRange:
        made: IntegrationRange = super().__new__(cls)
        made.place = place
        return made

    def _hashable_content(self) -> tuple[object, ...]:
        owner, method = _owner_and_method(self.place)
        return id(owner), method

    def __eq__(self, other: object) -> bool:
        return isinstance(other, IntegrationRange) and self._hashable_content() == other._hashable_content()

    __hash__ = sp.Atom.__hash__

    def _sympystr(self, printer: Printer) -> str:
        return str(_owner_and_method(self.place)[0])


class integral(sp.Expr):  # type: ignore[misc]  # noqa: N801 - written in equations, like sp.sin
    """The integral ∫ expression, for use inside `Condition`.

    Parameters
    ----------
    expression
        A SymPy expression of the unknowns and their derivatives; on a boundary also `pibls.dn`.
    over
        None: the domain, or the argument ``on`` of the condition. A shape: the part of the domain inside it.
        ``shape.boundary``: the part of the boundary that the shape contributes (``domain.boundary``: all of
        it). A relation, such as ``sympy.Eq(x, 0)``: that part of the boundary, or a line or plane inside.

    >>> import sympy as sp, pibls
    >>> x, y = sp.symbols("x y")
    >>> p = sp.Function("p")(x, y)
    >>> pibls.Condition(sp.Eq(pibls.integral(p), 0)).label
    'Condition(integral(p(x, y)) = 0)'
    """

    is_commutative = True
    is_real = True

    def __new__(cls, expression: Expression, over: IntegrationPlace = None) -> integral:
        if not is_scalar(sp.sympify(expression)):
            raise ProblemError(
                "integral(expression)",
                expected="a SymPy expression of the unknowns and their derivatives",
                got=repr(expression),
                remedy="Write integral(p), or one integral for each component.",
            )
        place = over if isinstance(over, IntegrationRange) else IntegrationRange(over)
        made: integral = super().__new__(cls, sp.sympify(expression), place)
        return made

    @property
    def expression(self) -> Expression:
        """The integrand."""
        return self.args[0]

    @property
    def over(self) -> IntegrationPlace:
        """The range of integration."""
        return self.args[1].place

    def _eval_derivative(self, symbol: Coordinate) -> Expression:
        return sp.Integer(0)

    def _sympystr(self, printer: Printer) -> str:
        inner = printer.doprint(self.args[0])
        return f"integral({inner})" if self.over is None else f"integral({inner}, over={self.args[1]})"


def integral_terms(
    residual: Expression, on: IntegrationPlace, domain: Domain, symbols: SymbolTable, label: str
) -> list[tuple[Form, IntegralRegion]]:
    """Return the terms of a condition with integrals: a form for each range, and one for the constant."""
    marks = {term: sp.Dummy(real=True) for term in _outermost(residual)}
    plain = residual.xreplace(marks)
    space = set(space_of(domain).coordinates)
    back = {mark: term for term, mark in marks.items()}
    rest = plain.xreplace(dict.fromkeys(back, sp.Integer(0)))
    slopes = {term: sp.diff(plain, mark) for term, mark in marks.items()}
    if len(space) == 1 and on is not None and _varies(rest, space):
        # On an interval, the value at an end is an integral over that end.
        line = space_of(domain)
        slopes = {integral(e.expression, line if e.over is None else e.over): c for e, c in slopes.items()}
        slopes[integral(rest, on)], rest = sp.Integer(1), sp.Integer(0)
    if any(_varies(e, space | set(back)) for e in (rest, *slopes.values())):
        raise ProblemError(
            label,
            expected="a sum of integrals times constants, and a constant",
            got=str(residual),
            remedy="Write an equation of integrals only, such as integral(u**2) = 1. Powers and products "
            "of integrals are not supported; values of unknowns beside integrals only on an "
            "interval, where on= names the end.",
            in_file='Write an equation of integrals only: equation = "integral(u^2) = 1".',
        )
    by_place: dict[IntegrationRange, list[Expression]] = {}
    for term, slope in slopes.items():
        by_place.setdefault(term.args[1], []).append(slope * term.expression)
    out: list[tuple[Form, IntegralRegion]] = []
    for place, terms in by_place.items():
        form, extent = _integral_term(sp.Add(*terms), place.place, on, domain, symbols, label)
        out.append((form, IntegralRegion(extent, bool(out))))
    if rest != 0:
        out.append((symbols.equation_form(rest, label), IntegralRegion(ConstantTerm(), True)))
    return out


def _integral_term(
    integrand: Expression,
    place: IntegrationPlace,
    on: IntegrationPlace,
    domain: Domain,
    symbols: SymbolTable,
    label: str,
) -> tuple[Form, IntegrationDomain]:
    """Return the form of an integrand and its range: ``place``, or ``on`` if that is None."""
    if integrand.has(integral):
        raise ProblemError(
            label,
            expected="one integral",
            got="an integral of an integral",
            remedy="Rewrite it without the inner one.",
        )
    extent = integration_domain(on if place is None else place, domain, label, place is None)
    form = symbols.equation_form(integrand, label)
    if form.needs_normal and not extent.has_normal:
        raise ProblemError(
            f"{label}: over",
            expected="a boundary, where the normal is defined",
            got="dn(…) in an integral over an area",
            remedy="Write integral(dn(u), over=shape.boundary), or over=sympy.Eq(x, 0).",
            in_file='Name the part of the boundary with on = "x = 0".',
        )
    return form, extent


def integration_domain(
    over: IntegrationPlace, domain: Domain, label: str, as_on: bool = False
) -> IntegrationDomain:
    """Return the integration domain named by ``over``.

    With ``as_on`` it is the argument ``on`` of a condition, where a shape means its boundary.
    """
    space = space_of(domain)
    if over is None:
        return ShapeInterior(None)
    owner, method = _owner_and_method(over)
    if method == "boundary" and is_domain(owner):
        over, as_on = owner, True
    if not is_domain(over) or as_on:
        return SurfacePart(boundary_or_inner_region(over, space, f"{label}: over"))
    if time_of(over) is not None or tuple(over.coordinates) != tuple(space.coordinates):
        raise ProblemError(
            f"{label}: over",
            expected=f"a shape in {tuple(space.coordinates)}",
            got=repr(over),
            remedy="Use the symbols of the domain, without time.",
        )
    return ShapeInterior(over)


def _varies(e: Expression, symbols: set[Coordinate]) -> bool:
    """Return whether an expression is not constant in space."""
    return bool(e.free_symbols & symbols) or any(not is_known(u) for u in e.atoms(AppliedUndef))


def _outermost(e: Expression) -> list[Expression]:
    if isinstance(e, integral):
        return [e]
    return list(dict.fromkeys(term for part in e.args for term in _outermost(part)))
