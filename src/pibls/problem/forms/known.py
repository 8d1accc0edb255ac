"""Python functions k(x, y) as coefficients, sources and boundary values: the function `known`."""

from __future__ import annotations

import copyreg
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import sympy as sp
from sympy.core.function import AppliedUndef, FunctionClass, UndefinedFunction

from pibls.arrays import PointFunction
from pibls.errors import ProblemError
from pibls.expressions import Coordinate, Expression, Logical, Unknown
from pibls.geometry import Domain
from pibls.problem.arguments import ConditionValue
from pibls.problem.forms.checks import is_scalar
from pibls.problem.forms.data_functions import DataFunction, call_at_points
from pibls.runtime.pickling import HoldsCallables, ImplementedFunction, callable_name


@dataclass(frozen=True, eq=False)
class Implementation(HoldsCallables):
    """The Python function behind k(x, y), and its declared discontinuities.

    SymPy would evaluate an attribute ``_imp_`` of a function with its own number types; it ignores this one.
    """

    function: PointFunction
    coordinates: tuple[Coordinate, ...]
    breaks: tuple[tuple[int, float], ...] = ()
    """(argument, level) of each declared discontinuity."""

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Implementation):
            return NotImplemented
        mine, theirs = (self.coordinates, self.breaks), (other.coordinates, other.breaks)
        return self.function is other.function and mine == theirs

    def __hash__(self) -> int:
        return hash((id(self.function), self.coordinates, self.breaks))


def _has_no_value(application: Unknown, precision: int) -> None:
    """Replace SymPy's evaluation, which would take a function named gamma for the gamma function."""


class KnownFunction(UndefinedFunction):  # type: ignore[misc]
    """A SymPy function with an `Implementation`, which can be pickled."""

    @staticmethod
    def of(name: str, implementation: Implementation) -> KnownFunction:
        """Return a function with this name and implementation."""
        return KnownFunction(name, implementation=implementation, _eval_evalf=_has_no_value)


copyreg.pickle(KnownFunction, lambda made: (KnownFunction.of, (made.name, made.implementation)))


def known(
    function: PointFunction,
    *coordinates: Expression,
    breaks: Mapping[Coordinate, Sequence[float]] | None = None,
) -> Unknown:
    """Return k(x, y, …), a SymPy expression for a Python function of arrays.

    It can be used in equations and conditions. The function is called with one float array per coordinate, at
    points of the closed domain, and returns an array of the same length (or a number). It is evaluated, never
    differentiated.

    Parameters
    ----------
    function
        The Python function.
    coordinates
        The coordinates that it depends on, in the order of its arguments.
    breaks
        ``{t: [4.2, 5.0]}``: where the function or its derivatives jump, by coordinate. Cells and time windows
        end there. Without it, jumps of a function of one coordinate, and jumps in time, are searched with
        16384 samples: a pulse narrower than their distance may be missed.

    >>> import sympy as sp
    >>> x = sp.Symbol("x")
    >>> u = sp.Function("u")(x)
    >>> def conductivity(x):
    ...     return 1 + x**2
    >>> known(conductivity, x) * u.diff(x)
    conductivity(x)*Derivative(u(x), x)
    """
    if not callable(function) or isinstance(function, (sp.Basic, FunctionClass)):
        raise ProblemError(
            "known(function)",
            expected="a Python callable of the coordinate arrays",
            got=repr(function),
            remedy="Use a SymPy expression directly where one exists.",
        )
    if not coordinates or not all(isinstance(c, sp.Basic) for c in coordinates):
        raise ProblemError(
            "known(coordinates)",
            expected="the coordinates that the function depends on",
            got=", ".join(map(repr, coordinates)) or "none",
            remedy="Write known(function, x, y) with SymPy symbols.",
        )
    name = callable_name(function)
    made = Implementation(function, coordinates, _read_breaks(breaks, coordinates))
    return KnownFunction.of(name if name.isidentifier() else "known", made)(*coordinates)


def _read_breaks(
    breaks: Mapping[Coordinate, Sequence[float]] | None, coordinates: tuple[Coordinate, ...]
) -> tuple[tuple[int, float], ...]:
    if breaks is None:
        return ()
    remedy = f"Write breaks={{{coordinates[-1]}: [0.5, 1.0]}}."
    if not isinstance(breaks, Mapping):
        raise ProblemError(
            "known(breaks)",
            expected="a mapping from coordinates to the values where the function jumps",
            got=repr(breaks),
            remedy=remedy,
        )
    found: dict[tuple[int, float], None] = {}
    for key, levels in breaks.items():
        place = next((i for i, c in enumerate(coordinates) if key == c or str(key) == str(c)), None)
        if place is None:
            raise ProblemError(
                "known(breaks)",
                expected=f"coordinates that the function depends on ({', '.join(map(str, coordinates))})",
                got=repr(key),
                remedy=remedy,
            )
        try:
            numbers = np.atleast_1d(np.asarray(levels)).astype(float)
        except (TypeError, ValueError):
            numbers = np.full(1, np.nan)
        if numbers.ndim != 1 or not np.isfinite(numbers).all():
            raise ProblemError(
                f"known(breaks)[{key}]", expected="finite numbers", got=repr(levels), remedy=remedy
            )
        found |= dict.fromkeys((place, float(level)) for level in numbers)
    return tuple(sorted(found))


def is_known(application: Expression) -> bool:
    """Return whether an applied function has an implementation, of pibls or of SymPy."""
    if not isinstance(application, AppliedUndef):
        return False
    return _implementation(application) is not None or hasattr(application.func, "_imp_")


def _implementation(application: Unknown) -> Implementation | None:
    """Return the implementation of an applied function of pibls."""
    return application.func.implementation if isinstance(application.func, KnownFunction) else None


def is_shape_indicator(application: Unknown) -> bool:
    """Return whether it is the indicator function of a shape."""
    return isinstance(application.func, ImplementedFunction) and "shape" in application.func.attributes


def indicator_shapes(e: Expression) -> list[Domain]:
    """Return the shapes of the indicator functions in an expression, in a fixed order."""
    terms = [t for t in e.atoms(AppliedUndef) if is_known(t) and is_shape_indicator(t)]
    return [t.func.shape for t in sorted(terms, key=sp.default_sort_key)]


def is_same_indicator(a: Logical, b: Logical) -> bool:
    """Return whether two relations are the condition to be inside the same, or an equal, shape."""
    if a is b:
        return True
    if not (isinstance(a, sp.Gt) and isinstance(b, sp.Gt)):
        return False
    if not all(is_known(e.lhs) and is_shape_indicator(e.lhs) and e.rhs == 0 for e in (a, b)):
        return False
    one, other = a.lhs.func.shape, b.lhs.func.shape
    return one is other or (type(one) is type(other) and bool(one == other))


def implementation(application: Unknown) -> PointFunction:
    """Return the Python function behind k(x, y)."""
    made = _implementation(application)
    function: PointFunction = application.func._imp_ if made is None else made.function
    return function


def with_function_values(
    e: Expression, place: Mapping[Coordinate, float], coordinates: Sequence[Coordinate], domain: Domain
) -> Expression:
    """Return an expression at a point of the domain, with its Python functions evaluated there."""
    e = e.subs(place)
    values = {}
    for term in e.atoms(AppliedUndef):
        made = _implementation(term)
        if made is None or not all(a.is_number for a in term.args):
            continue
        here = dict(place) | dict(zip(made.coordinates, map(float, term.args), strict=True))
        X = np.array([[float(here[c]) for c in coordinates]])
        arguments = tuple(list(coordinates).index(c) for c in made.coordinates)
        data_function = DataFunction(None, made.function, arguments, str(term.func), domain=domain)
        values[term] = sp.Float(call_at_points(data_function, X, "value")[0], 17)
    return e.xreplace(values)


def declared_breaks(application: Unknown) -> tuple[tuple[int, float], ...]:
    """Return (argument, level) of the declared discontinuities of k(x, y)."""
    made = _implementation(application)
    return () if made is None else made.breaks


def as_expression(value: ConditionValue, coordinates: tuple[Coordinate, ...], argument: str) -> Expression:
    """Return a number, expression or callable as one SymPy expression."""
    if isinstance(value, (FunctionClass, sp.Lambda)):
        raise ProblemError(
            argument,
            expected="a number, a SymPy expression or a callable of the coordinate arrays",
            got=f"the function {value} itself",
            remedy=f"Apply it to the coordinates {coordinates}.",
        )
    if callable(value) and not isinstance(value, sp.Basic):
        return known(value, *coordinates)
    if isinstance(value, (str, bytes, bool)) or value is None:
        raise ProblemError(
            argument,
            expected="a number, a SymPy expression or a callable of the coordinate arrays",
            got=repr(value),
            remedy="Text is never evaluated: build the expression with SymPy.",
        )
    try:
        expression = sp.sympify(value)
    except (sp.SympifyError, TypeError, ValueError, AttributeError):
        expression = None
    if not is_scalar(expression):
        raise ProblemError(
            argument,
            expected="one number, SymPy expression or callable of the coordinate arrays",
            got=repr(value),
            remedy="Give one value; for measured data, give a callable that interpolates them.",
        )
    return expression
