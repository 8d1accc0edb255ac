r"""∫ e dx: integrals of the unknowns in a condition, such as ∫ p dx = 0.

An integral is a number, and a condition with integrals is one equation for numbers (one at each time,
where there is time): r = Σᵢ cᵢ ∫ eᵢ + c₀. In the system it is one row, the weighted sum of the rows at the
points of a quadrature rule.
"""

from __future__ import annotations

from typing import Any

import sympy as sp
from sympy.core.function import AppliedUndef

from pibls.errors import ProblemError
from pibls.geometry import Domain, is_domain, space_of, time_of
from pibls.problem.forms.checks import is_scalar
from pibls.problem.forms.form import Form, Language
from pibls.problem.forms.known import is_known
from pibls.problem.regions.on import part_of
from pibls.problem.regions.total import Along, Extent, InShape, Nothing, Total


class Over(sp.Atom):  # type: ignore[misc]
    """Where an integral is taken, as an argument of a SymPy expression."""

    def __new__(cls, place: Any) -> Over:
        made: Over = super().__new__(cls)
        made.place = place
        return made

    def _hashable_content(self) -> tuple[Any, ...]:
        return (id(getattr(self.place, "__self__", self.place)), str(getattr(self.place, "__name__", "")))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Over) and self._hashable_content() == other._hashable_content()

    __hash__ = sp.Atom.__hash__

    def _sympystr(self, printer: Any) -> str:
        return str(getattr(self.place, "__self__", self.place))


class integral(sp.Expr):  # type: ignore[misc]  # noqa: N801 - written in equations, like sp.sin
    """∫ expression, for use inside `Condition`.

    Parameters
    ----------
    expression
        A SymPy expression of the unknowns and their derivatives; on a boundary also `pibls.dn`.
    over
        None: the domain, or what the condition names with its ``on``. A shape: what of the domain lies in
        it. ``shape.boundary``: what the shape contributes to the boundary (``domain.boundary``: all of it). A
        relation, such as ``sympy.Eq(x, 0)``: that part of the boundary, or that line or plane inside.

    >>> import sympy as sp, pibls
    >>> x, y = sp.symbols("x y")
    >>> p = sp.Function("p")(x, y)
    >>> pibls.Condition(sp.Eq(pibls.integral(p), 0)).label
    'Condition(integral(p(x, y)) = 0)'
    """

    is_commutative = True
    is_real = True

    def __new__(cls, expression: Any, over: Any = None) -> integral:
        if not is_scalar(sp.sympify(expression)):
            raise ProblemError(
                "integral(expression)",
                expected="a SymPy expression of the unknowns and their derivatives",
                got=repr(expression),
                remedy="Write integral(p), or one integral for each component.",
            )
        place = over if isinstance(over, Over) else Over(over)
        made: integral = super().__new__(cls, sp.sympify(expression), place)
        return made

    @property
    def expression(self) -> Any:
        """What is integrated."""
        return self.args[0]

    @property
    def over(self) -> Any:
        """Where."""
        return self.args[1].place

    def _eval_derivative(self, symbol: Any) -> Any:
        return sp.Integer(0)

    def _sympystr(self, printer: Any) -> str:
        inner = printer._print(self.args[0])
        return f"integral({inner})" if self.over is None else f"integral({inner}, over={self.args[1]})"


def totals(
    residual: Any, on: Any, domain: Domain, language: Language, label: str
) -> list[tuple[Form, Total]]:
    """The terms of a condition with integrals: a form for each place, and one for the constant."""
    marks = {term: sp.Dummy(real=True) for term in _outermost(residual)}
    plain = residual.xreplace(marks)
    space = set(space_of(domain).coordinates)
    back = {mark: term for term, mark in marks.items()}
    rest = plain.xreplace(dict.fromkeys(back, sp.Integer(0)))
    slopes = {term: sp.diff(plain, mark) for term, mark in marks.items()}
    if len(space) == 1 and on is not None and _varies(rest, space):
        # On a line, a value at an end is an integral over that end, and the others are over the line.
        line = space_of(domain)
        slopes = {integral(e.expression, line if e.over is None else e.over): c for e, c in slopes.items()}
        slopes[integral(rest, on)], rest = sp.Integer(1), sp.Integer(0)
    for e in (rest, *slopes.values()):
        if _varies(e, space | set(back)):
            raise ProblemError(
                label,
                expected="integrals times constants, and a constant beside them",
                got=str(residual),
                remedy="An integral is a number: write its equation by itself, such as integral(u**2) = 1; "
                "powers and products of integrals are not solved, and values of unknowns beside them only on "
                "an interval, where on= names the end.",
                in_file='Write its equation by itself: equation = "integral(u^2) = 1".',
            )
    by_place: dict[Any, list[Any]] = {}
    for term, slope in slopes.items():
        by_place.setdefault(term.args[1], []).append(slope * term.expression)
    out: list[tuple[Form, Total]] = []
    for place, terms in by_place.items():
        if sp.Add(*terms).has(integral):
            raise ProblemError(
                label, expected="one integral", got="an integral of an integral", remedy="Take it out."
            )
        extent = extent_of(on if place.place is None else place.place, domain, label, place.place is None)
        form = language.equation(sp.Add(*terms), label)
        if form.needs_normal and not extent.has_normal:
            raise ProblemError(
                f"{label}: over",
                expected="a boundary, where the normal is defined",
                got="dn(…) in an integral over an area",
                remedy="Write integral(dn(u), over=shape.boundary), or over=sympy.Eq(x, 0).",
                in_file='Say where with on = "x = 0".',
            )
        out.append((form, Total(extent, bool(out))))
    if rest != 0:
        out.append((language.equation(rest, label), Total(Nothing(), True)))
    return out


def extent_of(over: Any, domain: Domain, label: str, as_on: bool = False) -> Extent:
    """What ``over`` means; with ``as_on`` it comes from a condition's ``on``, and a shape is its boundary."""
    space = space_of(domain)
    if over is None:
        return InShape(None)
    if getattr(over, "__name__", "") == "boundary" and is_domain(getattr(over, "__self__", None)):
        over, as_on = over.__self__, True
    if not is_domain(over) or as_on:
        return Along(part_of(over, space, f"{label}: over"))
    if time_of(over) is not None or tuple(over.coordinates) != tuple(space.coordinates):
        raise ProblemError(
            f"{label}: over",
            expected=f"a shape in {tuple(space.coordinates)}",
            got=repr(over),
            remedy="Use the symbols of the domain, without time.",
        )
    return InShape(over)


def _varies(e: Any, symbols: set[Any]) -> bool:
    """Whether an expression is no constant in space."""
    return bool(e.free_symbols & symbols) or any(not is_known(u) for u in e.atoms(AppliedUndef))


def _outermost(e: Any) -> list[Any]:
    if isinstance(e, integral):
        return [e]
    return list(dict.fromkeys(term for part in e.args for term in _outermost(part)))
