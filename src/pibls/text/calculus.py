"""∂, ∇, ∇·, Δ and the products of vectors, over the coordinates of a problem."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import sympy as sp
from sympy.core.function import AppliedUndef

from pibls.problem.interfaces.switches import SWITCHING
from pibls.text.exact import Builder
from pibls.text.extent import TooMuchError
from pibls.text.limits import MAX_ORDER
from pibls.text.names import Value


def derivative(builder: Builder, value: Value, variables: Sequence[Any]) -> Value:
    """∂^k f / ∂x₁…∂x_k; of a vector, by component."""
    if len(variables) > MAX_ORDER:
        raise TooMuchError(
            f"derivatives of the order {MAX_ORDER} or lower", str(len(variables)), "Write a system."
        )
    return each(value, lambda f: _derivative(builder, f, variables))


def _derivative(builder: Builder, f: Any, variables: Sequence[Any]) -> Any:
    if isinstance(f, AppliedUndef):
        return builder.checked(sp.diff(f, *variables))
    whole = f
    for variable in variables:  # one by one, so that each result is measured before the next
        f = builder.differentiate(f, variable)
    if variables and whole.has(*SWITCHING) and whole.has(AppliedUndef):
        return builder.checked(sp.Derivative(whole, *variables))  # a flux: what jumps in it stays under ∂
    return f


def laplacian(builder: Builder, value: Value, space: Sequence[Any]) -> Value:
    """Δf = Σ ∂²f/∂x_i² over the coordinates in space."""
    return each(value, lambda f: builder.add([_derivative(builder, f, (x, x)) for x in space]))


def gradient(builder: Builder, f: Any, space: Sequence[Any]) -> Value:
    """∇f."""
    return tuple(_derivative(builder, f, (x,)) for x in space)


def divergence(builder: Builder, v: tuple[Any, ...], space: Sequence[Any]) -> Any:
    """∇·v."""
    return builder.add([_derivative(builder, f, (x,)) for f, x in zip(v, space, strict=True)])


def dot(builder: Builder, a: tuple[Any, ...], b: tuple[Any, ...]) -> Any:
    """a·b."""
    return builder.add([builder.multiply([p, q]) for p, q in zip(a, b, strict=True)])


def each(value: Value, f: Callable[[Any], Any]) -> Value:
    """f of an expression, or of each component of a vector."""
    return tuple(f(part) for part in value) if isinstance(value, tuple) else f(value)
