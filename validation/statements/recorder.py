"""A stand-in for the language of pibls that records what was stated."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import sympy as sp
from sympy.core.function import AppliedUndef

from validation.statements.outlines import (
    CutBox,
    Disk,
    Ellipse,
    Implicit,
    Minus,
    Outline,
    Polygon,
    Spline,
    Timed,
)


@dataclass(frozen=True)
class Recorded:
    """A problem as it was stated."""

    bounds: dict[str, tuple[float, float]]
    time: str | None
    equations: list[sp.Expr]
    conditions: list[Said]
    shape: Outline | None = None
    """The shape in space, unless it is a box."""

    @property
    def coordinates(self) -> list[sp.Symbol]:
        """The coordinates as symbols, in order."""
        return [sp.Symbol(c) for c in self.bounds]

    @property
    def unknowns(self) -> dict[str, AppliedUndef]:
        """The unknown functions by name."""
        found: set[AppliedUndef] = set().union(*(e.atoms(AppliedUndef) for e in self.equations))
        return {str(f.func): f for f in sorted(found, key=str)}


@dataclass(frozen=True)
class Said:
    """One condition as it was stated: `what` is an expression meant to equal `value`."""

    kind: str
    what: Any
    value: Any
    on: Any = None
    extra: Any = None


class Vector:
    """A gradient that remembers its coordinates."""

    def __init__(self, components: Sequence[sp.Expr], coordinates: Sequence[sp.Symbol]) -> None:
        self.components, self.coordinates = list(components), list(coordinates)

    def __rmul__(self, factor: sp.Expr) -> Vector:
        return Vector([factor * c for c in self.components], self.coordinates)


class Space:
    """A box with an optional time."""

    def __init__(self, bounds: Mapping[sp.Symbol, Sequence[Any]], time: sp.Symbol | None = None) -> None:
        self.bounds, self.time = dict(bounds), time

    def during(self, symbol: sp.Symbol, start: Any, end: Any) -> Space:
        return Space({**self.bounds, symbol: (start, end)}, symbol)

    def __sub__(self, other: Outline) -> Outline:
        return Minus(CutBox(self.bounds), other)


class Recorder:
    """The part of the language that the statements use."""

    Disk = Ball = Disk
    Ellipse, Polygon, Spline, Implicit = Ellipse, Polygon, Spline, Implicit

    @staticmethod
    def Interval(symbol: sp.Symbol, a: Any, b: Any) -> Space:
        """The interval from a to b."""
        return Space({symbol: (a, b)})

    @staticmethod
    def Box(bounds: Mapping[sp.Symbol, Sequence[Any]]) -> Space:
        """A box."""
        return Space(bounds)

    @staticmethod
    def Dirichlet(u: Any, value: Any, on: Any = None) -> Said:
        """The unknown is given."""
        return Said("dirichlet", u, value, on)

    @staticmethod
    def Neumann(u: Any, value: Any, on: Any = None) -> Said:
        """The outward derivative is given."""
        return Said("neumann", u, value, on)

    @staticmethod
    def Robin(u: Any, value: Any, alpha: Any, beta: Any, on: Any = None) -> Said:
        """A mixture of both is given."""
        return Said("robin", u, value, on, (alpha, beta))

    @staticmethod
    def Periodic(u: Any, symbol: sp.Symbol) -> Said:
        """Both faces agree."""
        return Said("periodic", u, 0, None, symbol)

    @staticmethod
    def Initial(u: Any, value: Any) -> Said:
        """Given at the start."""
        return Said("initial", u, value)

    @staticmethod
    def Condition(equation: Any, on: Any = None) -> Said:
        """Any equation."""
        what = equation.lhs - equation.rhs if isinstance(equation, sp.Eq) else equation
        return Said("condition", what, 0, on)

    @staticmethod
    def grad(u: Any) -> Vector:
        """The gradient."""
        return Vector([u.diff(c) for c in u.args], u.args)

    @staticmethod
    def div(v: Vector) -> sp.Expr:
        """The divergence in flux form."""
        return sp.Add(*(sp.Derivative(f, c) for f, c in zip(v.components, v.coordinates, strict=True)))

    @staticmethod
    def Problem(
        domain: Space | Outline | Timed, equations: Sequence[Any], conditions: Sequence[Said]
    ) -> Recorded:
        """Record the whole problem."""
        shape = domain.shape if isinstance(domain, Timed) else domain
        zero = [e.lhs - e.rhs if isinstance(e, sp.Eq) else sp.sympify(e) for e in equations]
        return Recorded(
            {str(c): (float(a), float(b)) for c, (a, b) in domain.bounds.items()},
            str(domain.time) if domain.time is not None else None,
            zero,
            list(conditions),
            shape if isinstance(shape, Outline) else None,
        )
