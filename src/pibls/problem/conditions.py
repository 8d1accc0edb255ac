"""Boundary and initial conditions: B[u] = g on a part of the boundary, I[u] = s at the initial time.

A condition has a residual that must vanish (an expression of the unknowns, their derivatives and `dn`) and a
place ``on`` where it holds. ``on`` is turned into a region by `pibls.problem.regions.selection`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import sympy as sp
from sympy.core.function import AppliedUndef
from sympy.logic.boolalg import Boolean, BooleanFalse, BooleanTrue

from pibls.errors import ProblemError
from pibls.expressions import Coordinate, Equation, Expression, Unknown
from pibls.geometry.checks.arguments import check_coordinate
from pibls.problem.arguments import ConditionValue, Place
from pibls.problem.forms.checks import is_scalar
from pibls.problem.forms.known import as_expression
from pibls.runtime.pickling import HoldsCallables


class dn(sp.Function):  # type: ignore[misc]  # noqa: N801 - written in equations, like sp.sin
    """∂u/∂n = n·∇u, the outward normal derivative, for use inside `Condition`."""

    nargs = 1


def _check_unknown(u: Unknown, owner: str) -> Unknown:
    if not isinstance(u, AppliedUndef):
        raise ProblemError(
            f"{owner}(u)",
            expected='an unknown such as sympy.Function("u")(x, y)',
            got=repr(u),
            remedy="Pass the applied function; for other expressions use Condition(equation, on=…).",
            in_file='Name an unknown; for other expressions write equation = "…".',
        )
    return u


def _label(kind: str, subject: Expression | str, on: Place) -> str:
    where = "" if on is None else f" on {on}"
    return f"{kind}({subject}){where}"


def _name(u: Unknown) -> str:
    return str(u.func)


class BaseCondition(HoldsCallables):
    """Base class of conditions: a residual that must vanish at a place."""

    if TYPE_CHECKING:  # at runtime, dataclasses would take it for the default value of a field

        @property
        def on(self) -> Place: ...

    @property
    def label(self) -> str:
        """The name of the condition in messages."""
        raise NotImplementedError

    def residual(self, coordinates: tuple[Coordinate, ...]) -> Expression:
        """Return the expression that must vanish."""
        raise NotImplementedError


@dataclass(frozen=True)
class Dirichlet(BaseCondition):
    """Dirichlet condition u = value.

    >>> import sympy as sp
    >>> x = sp.Symbol("x")
    >>> Dirichlet(sp.Function("u")(x), 0, on=sp.Eq(x, 0)).label
    'Dirichlet(u) on Eq(x, 0)'
    """

    u: Unknown
    value: ConditionValue
    on: Place = None

    def __post_init__(self) -> None:
        _check_unknown(self.u, "Dirichlet")

    @property
    def label(self) -> str:
        return _label("Dirichlet", _name(self.u), self.on)

    def residual(self, coordinates: tuple[Coordinate, ...]) -> Expression:
        return self.u - as_expression(self.value, coordinates, "Dirichlet(value)")


@dataclass(frozen=True)
class Neumann(BaseCondition):
    """Neumann condition ∂u/∂n = value, with the outward normal n."""

    u: Unknown
    value: ConditionValue
    on: Place = None

    def __post_init__(self) -> None:
        _check_unknown(self.u, "Neumann")

    @property
    def label(self) -> str:
        return _label("Neumann", _name(self.u), self.on)

    def residual(self, coordinates: tuple[Coordinate, ...]) -> Expression:
        return dn(self.u) - as_expression(self.value, coordinates, "Neumann(value)")


@dataclass(frozen=True)
class Robin(BaseCondition):
    """Robin condition alpha·u + beta·∂u/∂n = value, with the outward normal n."""

    u: Unknown
    value: ConditionValue
    alpha: ConditionValue
    beta: ConditionValue
    on: Place = None

    def __post_init__(self) -> None:
        _check_unknown(self.u, "Robin")

    @property
    def label(self) -> str:
        return _label("Robin", _name(self.u), self.on)

    def residual(self, coordinates: tuple[Coordinate, ...]) -> Expression:
        alpha = as_expression(self.alpha, coordinates, "Robin(alpha)")
        beta = as_expression(self.beta, coordinates, "Robin(beta)")
        return alpha * self.u + beta * dn(self.u) - as_expression(self.value, coordinates, "Robin(value)")


BoundaryCondition: TypeAlias = Dirichlet | Neumann | Robin
"""A condition with a given value on a part of the boundary."""


@dataclass(frozen=True)
class Periodic(BaseCondition):
    """Periodic condition: ∂ₓᵏu is equal on the two x-faces, for k below the order of the equations in x."""

    u: Unknown
    x: Coordinate

    def __post_init__(self) -> None:
        _check_unknown(self.u, "Periodic")
        check_coordinate(self.x, "Periodic(x)")

    @property
    def on(self) -> None:
        """None: the region is the two x-faces of the domain."""
        return None

    @property
    def label(self) -> str:
        return f"Periodic({_name(self.u)}, {self.x})"

    def residual(self, coordinates: tuple[Coordinate, ...]) -> Expression:
        """Return the expression that is equal on both faces, as are its x-derivatives."""
        return self.u


@dataclass(frozen=True)
class Initial(BaseCondition):
    """Initial condition u = value, or ∂ᵏu/∂tᵏ = value, at t = t₀ (the left end of an Interval in time)."""

    expression: Expression
    value: ConditionValue

    def __post_init__(self) -> None:
        if not isinstance(self.expression, sp.Expr) or not self.expression.atoms(AppliedUndef):
            raise ProblemError(
                "Initial(expression)",
                expected="an unknown or a derivative of one",
                got=repr(self.expression),
                remedy="Write Initial(u, value) or Initial(u.diff(t), value).",
                in_file='Write initial = "u" or initial = "u_t".',
            )

    @property
    def on(self) -> None:
        """None: the region is the initial time."""
        return None

    @property
    def label(self) -> str:
        e = self.expression
        if isinstance(e, AppliedUndef):
            return f"Initial({_name(e)})"
        if isinstance(e, sp.Derivative) and isinstance(e.expr, AppliedUndef):
            return f"Initial({_name(e.expr)}_{''.join(map(str, e.variables))})"
        return f"Initial({e})"

    def residual(self, coordinates: tuple[Coordinate, ...]) -> Expression:
        return self.expression - as_expression(self.value, coordinates, "Initial(value)")


@dataclass(frozen=True)
class Condition(BaseCondition):
    """Any equation in the unknowns and their derivatives, linear or not, on a part of the boundary."""

    equation: Equation
    on: Place = None

    @property
    def label(self) -> str:
        e = self.equation
        text = f"{e.lhs} = {e.rhs}" if isinstance(e, sp.Equality) else f"{e} = 0"
        return _label("Condition", text, self.on)

    def residual(self, coordinates: tuple[Coordinate, ...]) -> Expression:
        return residual_of(self.equation, "Condition(equation)")


def residual_of(equation: Equation, argument: str) -> Expression:
    """Return lhs - rhs of an equation, or the expression itself if it is not an equation."""
    sides: tuple[Expression, ...] = equation.args if isinstance(equation, sp.Equality) else (equation,)
    if all(is_scalar(side) for side in sides):
        residual = sides[0] - sides[1] if len(sides) == 2 else sides[0]
        if residual.has(sp.nan):
            raise ProblemError(
                argument,
                expected="finite values",
                got=f"{equation}, with NaN",
                remedy="Check it for 0/0 and infinite numbers.",
            )
        return residual
    if isinstance(sides[0], (sp.Basic, sp.MatrixBase)) and not isinstance(sides[0], Boolean):
        raise ProblemError(
            argument,
            expected="one scalar equation",
            got=repr(equation),
            remedy="Write one equation for each component.",
        )
    if isinstance(equation, (bool, np.bool_, BooleanTrue, BooleanFalse)):
        raise ProblemError(
            argument,
            expected="a SymPy Eq or an expression that is equal to zero",
            got=repr(equation),
            remedy="`==` compares in Python, and an Eq without unknowns, or with nan, is true or false: "
            "write sympy.Eq(left, right) with the unknown in it.",
        )
    raise ProblemError(
        argument,
        expected="a SymPy Eq or an expression that is equal to zero",
        got=repr(equation),
        remedy="Build it with SymPy; text is never evaluated.",
    )
