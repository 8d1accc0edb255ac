"""k(x, y): a Python function as a coefficient of an equation."""

from __future__ import annotations

from typing import Any

import sympy as sp
from sympy.core.function import AppliedUndef, FunctionClass

from pibls.arrays import PointFunction
from pibls.errors import ProblemError
from pibls.pickling import ImplementedFunction
from pibls.problem.forms.checks import is_scalar


def known(function: PointFunction, *coordinates: Any) -> Any:
    """k(x, y, …) from a Python function of arrays, to be used in equations and conditions.

    The function is called with one array per coordinate and returns an array of the same length (or
    a number). It is evaluated at the points, never differentiated.

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
    name = getattr(function, "__name__", type(function).__name__)
    return ImplementedFunction.of(name if name.isidentifier() else "known", function)(*coordinates)


def is_known(application: Any) -> bool:
    """Whether this applied function carries its own implementation."""
    return isinstance(application, AppliedUndef) and hasattr(application.func, "_imp_")


def is_shape(application: Any) -> bool:
    """Whether it asks a shape if a point is inside: that changes on a surface, and nowhere else."""
    return hasattr(application.func, "shape")


def shapes_asked(e: Any) -> list[Any]:
    """The shapes that an expression asks, in an order that is always the same."""
    terms = [t for t in e.atoms(AppliedUndef) if is_known(t) and is_shape(t)]
    return [t.func.shape for t in sorted(terms, key=sp.default_sort_key)]


def asks_same(a: Any, b: Any) -> bool:
    """Whether two conditions ask the same shape, or one equal to it, in the same way."""
    if a is b:
        return True
    if not (isinstance(a, sp.Gt) and isinstance(b, sp.Gt)):
        return False
    if not all(is_known(e.lhs) and is_shape(e.lhs) and e.rhs == 0 for e in (a, b)):
        return False
    one, other = a.lhs.func.shape, b.lhs.func.shape
    return one is other or (type(one) is type(other) and bool(one == other))


def implementation(application: Any) -> PointFunction:
    """The Python function behind k(x, y)."""
    function: PointFunction = application.func._imp_
    return function


def as_expression(value: Any, coordinates: tuple[Any, ...], argument: str) -> Any:
    """A number, expression or callable as one SymPy expression."""
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
            remedy="Give one value; data measured at points go in as a callable that interpolates them.",
        )
    return expression
