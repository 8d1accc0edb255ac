"""Derivatives, gradient, divergence, Laplacian and dot product in the coordinates of a problem."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import sympy as sp
from sympy.core.function import AppliedUndef

from pibls.expressions import Coordinate, Expression
from pibls.problem.interfaces.switches import SWITCHING_FUNCTIONS
from pibls.text.builder import Builder
from pibls.text.complexity import LimitError
from pibls.text.limits import MAX_ORDER
from pibls.text.names import Value


def derivative(builder: Builder, value: Value, variables: Sequence[Coordinate]) -> Value:
    """Return ∂^k f / ∂x₁…∂x_k, componentwise for a vector."""
    if len(variables) > MAX_ORDER:
        raise LimitError(
            f"derivatives of order {MAX_ORDER} or lower",
            f"order {len(variables)}",
            "Write a system of lower order.",
        )
    return map_components(value, lambda f: _derivative(builder, f, variables))


def _derivative(builder: Builder, f: Expression, variables: Sequence[Coordinate]) -> Expression:
    if isinstance(f, AppliedUndef):
        return builder.checked(sp.diff(f, *variables))
    original = f
    for variable in variables:  # one at a time: each result is checked against the limits
        f = builder.differentiate(f, variable)
    if variables and original.has(*SWITCHING_FUNCTIONS) and original.has(AppliedUndef):
        return builder.checked(sp.Derivative(original, *variables))  # a flux: keep jumps under the derivative
    return f


def laplacian(builder: Builder, value: Value, space: Sequence[Coordinate]) -> Value:
    """Return Δf = Σ ∂²f/∂x_i² over the space coordinates, componentwise for a vector."""
    return map_components(value, lambda f: builder.add([_derivative(builder, f, (x, x)) for x in space]))


def gradient(builder: Builder, f: Expression, space: Sequence[Coordinate]) -> Value:
    """Return the gradient ∇f as a tuple."""
    return tuple(_derivative(builder, f, (x,)) for x in space)


def divergence(builder: Builder, v: tuple[Expression, ...], space: Sequence[Coordinate]) -> Expression:
    """Return the divergence ∇·v."""
    return builder.add([_derivative(builder, f, (x,)) for f, x in zip(v, space, strict=True)])


def dot(builder: Builder, a: tuple[Expression, ...], b: tuple[Expression, ...]) -> Expression:
    """Return the dot product a·b."""
    return builder.add([builder.multiply([p, q]) for p, q in zip(a, b, strict=True)])


def map_components(value: Value, f: Callable[[Expression], Expression]) -> Value:
    """Apply f to an expression, or to each component of a vector."""
    return tuple(f(part) for part in value) if isinstance(value, tuple) else f(value)
